"""The steps of ``linnet bench peers``: one finder of names each, with the same names and the same texts.

A finder is made of (identifier, name) pairs, the preferred name of each concept before its others, and gives the spans
of a text with their identifiers. Where a name belongs to several concepts it means the first. `PEERS` says how each
peer is used; what is not said there is its default.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linnet import __version__
from linnet.bench.everything_steps import reference
from linnet.bench.http_site import abstracts
from linnet.bench.measured import MIB
from linnet.bench.peers import MEASURES, NGRAM, PEERS, RECIPE, SIMILAR, WINDOW
from linnet.bench.steps import answer
from linnet.corpora.splits import split_documents
from linnet.data import Document, Mention
from linnet.evaluate import Options, evaluate
from linnet.evaluate.meter import Meter, memory
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.component import blind
from linnet.recipes.config import load, read_recipe

__all__ = ["MAKERS", "STEPS"]

TEXTS = 526
TURNS = 3  # runs through the texts that fit into the time
SHORTEST = 3  # characters, as in QuickUMLS
WORD, BREAK = re.compile(r"\w+(?:['’\-]\w+)*"), re.compile(r"[.;:!?,()\[\]\n]")

Found = Iterable[tuple[int, int, str]]
Find = Callable[[str], Found]
Names = Sequence[tuple[str, str]]


def _whole(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def _apart(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return spans of which no two overlap, the first ones given before others."""
    kept: list[tuple[int, int, str]] = []
    for start, end, id in found:
        if all(end <= other or start >= until for other, until, _ in kept):
            kept.append((start, end, id))
    return kept


def _first(names: Names) -> dict[str, str]:
    """Return what each name means, in lower case."""
    ids: dict[str, str] = {}
    for id, name in names:
        ids.setdefault(name.lower(), id)
    return ids


def _automaton(names: Names) -> Find:
    import ahocorasick  # noqa: PLC0415 - an extra, as in all that follow

    automaton = ahocorasick.Automaton()
    for name, id in _first(names).items():
        automaton.add_word(name, (len(name), id))
    automaton.make_automaton()

    def find(text: str) -> Found:
        lower = text.lower()
        if len(lower) != len(text):  # of some letters the small one is longer
            lower = "".join(one if len(one.lower()) > 1 else one.lower() for one in text)
        spans = [(end + 1 - length, end + 1, id) for end, (length, id) in automaton.iter(lower)]
        whole = (span for span in spans if _whole(lower, span[0], span[1]))
        return _apart(sorted(whole, key=lambda span: (span[0], -span[1])))

    return find


def _flashtext(names: Names) -> Find:
    from flashtext import KeywordProcessor  # noqa: PLC0415

    processor = KeywordProcessor()
    for name, id in _first(names).items():
        processor.add_keyword(name, id)
    return lambda text: [(start, end, id) for id, start, end in processor.extract_keywords(text, span_info=True)]


def _gilda(names: Names) -> Find:
    from gilda import Grounder, Term  # noqa: PLC0415
    from gilda.ner import annotate  # noqa: PLC0415
    from gilda.process import normalize  # noqa: PLC0415

    preferred: dict[str, str] = {}
    terms = []
    for id, name in names:
        status = "synonym" if id in preferred else "name"
        terms.append(Term(normalize(name), name, "HP", id, preferred.setdefault(id, name), status, "bench"))
    grounder = Grounder(terms)
    grounder.gilda_disambiguators = {}  # else it downloads them
    _ = grounder.prefix_index  # made at first use
    return lambda text: [(one.start, one.end, one.matches[0].term.id) for one in annotate(text, grounder=grounder)]


def _simstring(names: Names) -> Find:
    from simstring.database.dict import DictDatabase  # noqa: PLC0415
    from simstring.feature_extractor.character_ngram import CharacterNgramFeatureExtractor  # noqa: PLC0415
    from simstring.measure.jaccard import JaccardMeasure  # noqa: PLC0415
    from simstring.searcher import Searcher  # noqa: PLC0415
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415

    ids = _first(names)
    database = DictDatabase(CharacterNgramFeatureExtractor(NGRAM))
    for name in ids:
        database.add(name)
    searcher = Searcher(database, JaccardMeasure())

    def spans(text: str) -> Iterator[tuple[int, int]]:
        words = [(one.start(), one.end(), one[0].lower() in ENGLISH_STOP_WORDS) for one in WORD.finditer(text)]
        for first, (start, _, stop) in enumerate(words):
            for _, end, stops in () if stop else words[first : first + WINDOW]:
                if BREAK.search(text, start, end):
                    break
                if not stops and end - start >= SHORTEST:
                    yield start, end

    def find(text: str) -> Found:
        found = []
        for start, end in spans(text):
            for name, score in itertools.islice(searcher.ranked_search(text[start:end].lower(), SIMILAR).items(), 1):
                found.append((score, end - start, start, ids[name]))
        best = sorted(found, key=lambda one: (-one[0], -one[1], one[2]))
        return sorted(_apart((start, start + length, id) for _, length, start, id in best))

    return find


MAKERS: dict[str, Callable[[Names], Find]] = {
    "ahocorasick": _automaton, "flashtext": _flashtext, "gilda": _gilda, "simstring": _simstring,
}  # fmt: skip


def _names(kb: KnowledgeBase) -> list[tuple[str, str]]:
    """Return the names that the recipe's dictionary looks for, preferred ones before others."""
    [under] = [part["under"] for part in read_recipe(RECIPE).pipeline if part["use"] == "dictionary"]
    rows = np.flatnonzero(kb.mask(under=under).array).tolist()
    names = sorted(kb.names(rows), key=lambda one: not one.preferred)
    return [(kb.id(one.concept), one.text) for one in names]


def _linked(find: Find, docs: Iterable[Document]) -> Iterator[Document]:
    for doc in docs:
        mentions = (Mention(start, end, concepts=(id,)) for start, end, id in find(doc.text))
        yield Document(doc.id, doc.text, mentions=tuple(mentions))


class _Made(NamedTuple):
    """A finder that is ready, the seconds it took to make, and by how many MiB the process has grown."""

    link: Callable[[Sequence[Document]], list[Document]]
    seconds: float
    grown: float | None


def _make(name: str, kb: KnowledgeBase) -> _Made:
    names = _names(kb)
    if name != "linnet":
        MAKERS[name](names[:1])  # imports what it needs
    gc.collect()
    before = memory()
    with Meter() as meter:
        if name == "linnet":
            pipeline: Pipeline = load(RECIPE, kb=kb)
            pipeline([Document.of("fever")])  # makes the table of names
            link: Callable[[Sequence[Document]], list[Document]] = lambda docs: list(pipeline.stream(docs))  # noqa: E731
        else:
            find = MAKERS[name](names)
            link = lambda docs: list(_linked(find, docs))  # noqa: E731
    after = memory()
    grown = None if before is None or after is None else (after.anonymous - before.anonymous) / MIB
    return _Made(link, meter.processor, grown)


def _step(name: str, kb: str, data: str | None, seconds: float) -> dict[str, Any]:
    """Return what was measured of a finder; `kb` is copied, so that nothing of it is made yet."""
    place = None if data is None else Path(data)
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        os.environ.setdefault("PYSTOW_HOME", folder)  # where gilda would keep what it downloads
        copy = build(KnowledgeBase.open(kb).concepts(), Path(folder) / "copy.kb")
        made = _make(name, copy)
        gold = list(split_documents("gsc_plus", split="dev", data=place))
        found = made.link(blind(gold, load(RECIPE, kb=copy)))
        report = evaluate(gold, found, kb=copy, options=Options(samples=0, classify=False))
        figures = {key: float(report[key].value or 0.0) for key in MEASURES}
        rate, per_reference = _speed(made.link, abstracts(place, TEXTS), seconds)
    package = PEERS[name].package
    version = metadata.version(package) if package else __version__
    return {
        **figures, "version": version, "index s": made.seconds, "index MiB": made.grown,
        "abstracts/s": rate, "per reference": per_reference,
    }  # fmt: skip


def _speed(link: Callable[[Sequence[Document]], object], docs: Sequence[Document], limit: float) -> tuple[float, float]:
    """Return the documents of a processor second, and those of the time of the reference job, in turns with it.

    A finder for which `limit` seconds are too few reads as many of them as it can, every so many-th.
    """
    few = docs[:: max(1, len(docs) // 8)]
    started = time.process_time()
    link(few)
    each = (time.process_time() - started) / len(few)
    some = docs[:: max(1, int(len(docs) * each * TURNS / limit) + 1)]
    fixed, ours = [], []
    for _ in range(TURNS):
        fixed.append(reference())
        started = time.process_time()
        link(some)
        ours.append(time.process_time() - started)
    return len(some) / min(ours), len(some) * min(fixed) / min(ours)


STEPS: dict[str, Callable[..., dict[str, Any]]] = {name: partial(_step, name) for name in PEERS}


if __name__ == "__main__":
    answer(STEPS)
