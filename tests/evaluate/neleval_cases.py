"""Two hundred random comparisons, and what neleval 3.1.1 says about them (`neleval_expected.json`).

``python -m tests.evaluate.neleval_cases`` writes that file anew where neleval is installed (``pip install
neleval==3.1.1``). It is no dependency: it is published as source alone, and asks `collections` for names that Python
3.10 took away.

Spans nest and cross, but those of one concept (or NIL) on one side never overlap: neleval's ``overlap-*`` walk both
sides at once, and where spans of one concept are nested it overlooks pairs.
"""

from __future__ import annotations

import collections
import collections.abc
import importlib
import io
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

from linnet.data import Document, Mention

CASES = 200
EXPECTED = Path(__file__).with_name("neleval_expected.json")
MEASURES = (
    "strong_mention_match",
    "strong_typed_mention_match",
    "strong_link_match",
    "strong_nil_match",
    "strong_all_match",
    "entity_match",
    "overlap-maxmax::span+kbid",
)
MACRO = ("strong_mention_match", "strong_all_match")
FIGURES = ("precision", "recall", "fscore")
TEXT = "x" * 40
IDS = ("A", "B", "C", "")
TYPES = ("t", "u")


class Found(NamedTuple):
    """One annotation; no id is NIL."""

    start: int
    end: int
    id: str
    type: str


def pick(rng: random.Random, count: int) -> int:
    return int(rng.random() * count)  # random() alone is the same in every version of Python


def one(rng: random.Random) -> Found:
    start = pick(rng, len(TEXT) - 1)
    end = start + 1 + pick(rng, min(8, len(TEXT) - start))
    return Found(start, end, IDS[pick(rng, len(IDS))], TYPES[pick(rng, len(TYPES))])


def apart(found: list[Found]) -> list[Found]:
    kept: list[Found] = []
    for each in found:
        if all(each.id != other.id or each.end <= other.start or other.end <= each.start for other in kept):
            kept.append(each)
    return kept


def changed(rng: random.Random, gold: Found) -> Found:
    match pick(rng, 5):
        case 0:
            return gold._replace(id=IDS[pick(rng, len(IDS))])
        case 1:
            return gold._replace(end=min(len(TEXT), gold.end + 1 + pick(rng, 4)))
        case 2:
            return gold._replace(type=TYPES[pick(rng, len(TYPES))])
        case 3:
            return one(rng)
    return gold


def case(seed: int) -> list[tuple[list[Found], list[Found]]]:
    """Return gold and predicted annotations of a few documents, each with gold."""
    rng = random.Random(seed)
    documents = []
    for _ in range(1 + pick(rng, 4)):
        gold = apart([one(rng) for _ in range(1 + pick(rng, 6))])
        missed = rng.random() * 0.6
        predicted = [changed(rng, each) for each in gold if rng.random() >= missed]
        documents.append((gold, apart([*predicted, *(one(rng) for _ in range(pick(rng, 3)))])))
    return documents


def pairs(seed: int) -> list[tuple[Document, Document]]:
    def document(name: int, found: list[Found]) -> Document:
        mentions = (Mention(at.start, at.end, concepts=(at.id,) if at.id else (), types=(at.type,)) for at in found)
        return Document(str(name), TEXT, mentions=tuple(mentions))

    return [(document(name, gold), document(name, found)) for name, (gold, found) in enumerate(case(seed))]


def tsv(seed: int, side: int) -> str:
    """Return one side in neleval's format, whose ends are inclusive."""
    return "".join(
        f"{name}\t{at.start}\t{at.end - 1}\t{at.id or 'NIL'}\t1.0\t{at.type}\n"
        for name, sides in enumerate(case(seed))
        for at in sides[side]
    )


def measured(seed: int) -> dict[str, list[float]]:
    """Return what neleval finds."""
    neleval: Any = importlib.import_module("neleval.evaluate")
    reader: Any = importlib.import_module("neleval.document")
    predicted, gold = (list(reader.Reader(io.StringIO(tsv(seed, side)))) for side in (1, 0))
    found = neleval.Evaluate(predicted, gold, measures=list(MEASURES), fmt="none")()
    by_document = neleval.Evaluate(predicted, gold, measures=list(MACRO), fmt="none", group_by=["docid"])()
    figures = {name: [found[name][figure] for figure in FIGURES] for name in found}
    for name in MACRO:
        macro = by_document[f"{name};docid=<macro>"]
        figures[f"{name};macro"] = [macro[figure] for figure in FIGURES]
    return figures


if __name__ == "__main__":
    for name in collections.abc.__all__:
        setattr(collections, name, getattr(collections.abc, name))
    rows = (json.dumps(measured(seed)) for seed in range(CASES))
    EXPECTED.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
