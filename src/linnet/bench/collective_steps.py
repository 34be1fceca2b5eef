"""The steps of ``linnet bench collective``."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.bench.measured import MIB, best_seconds, dev_documents, open_kb
from linnet.data import Document, Mention
from linnet.evaluate import curves
from linnet.evaluate.meter import peak_resident
from linnet.joint.collective import Collective
from linnet.kb import KnowledgeBase
from linnet.nn.device import choose_device
from linnet.pipeline import Pipeline
from linnet.recipes.config import read_recipe
from linnet.rerank.cross_encoder import CrossEncoder
from linnet.retrieve.dense import Dense
from linnet.retrieve.ngram import Ngram
from linnet.text.files import replacing

__all__ = ["Row", "draw", "measure_all"]

SIDE = 128  # tokens on each side of a mention that is read alone
COUNTS = (1, 5, 20, 50, 100, 200)  # mentions of a document
LONG = 100_000  # characters of the longest document


@dataclass(frozen=True)
class Row:
    """How fast a network reads mentions.

    Args:
        what: the network, and what it reads.
        documents: what they are, or how many.
        mentions: how many there are.
        speed: mentions a second.
        memory: MiB, the highest of the process up to then.
    """

    what: str
    documents: str
    mentions: int
    speed: float
    memory: float

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return dataclasses.asdict(self)


def measure_all(
    source: str,
    *,
    encoder: str,
    most: int,
    cross: bool,
    data: Path | None,
    counts: Sequence[int] = COUNTS,
    long: int = LONG,
) -> list[Row]:
    """Return a row of each network, then those of documents of different sizes, the last of `long` characters.

    Raises:
        RecipeError: the recipe names no corpus or knowledge base.
    """
    recipe = read_recipe(source)
    known = open_kb(recipe, source, data=data)
    docs = dev_documents(recipe, most, data=data)
    one_pass = Collective(kb=known, encoder=encoder, mode="gold")
    finds = Collective(kb=known, encoder=encoder, mode="spans", dictionary=False)
    for part in Pipeline(one_pass).front:
        docs = part(docs)
    alone = Dense(kb=known, encoder=encoder, tokens=2 * SIDE, long_forms=False)
    shipped = Dense(kb=known, encoder=encoder)
    count = str(len(docs))
    rows = [
        _row("collective, given mentions", count, docs, functools.partial(_read, one_pass, docs)),
        _row("collective, spans", count, docs, functools.partial(_find, finds, docs)),
        _row(f"the same, each mention alone, {SIDE} tokens a side", count, docs, functools.partial(_read, alone, docs)),
        _row("dense as shipped", count, docs, functools.partial(_read, shipped, docs)),
    ]
    if importlib.util.find_spec("onnxruntime") is not None and choose_device().type == "cpu":
        small, finds_small = _by_graph(one_pass), _by_graph(finds)
        rows.append(_row("collective, given mentions, int8", count, docs, functools.partial(_read, small, docs)))
        rows.append(_row("collective, spans, int8", count, docs, functools.partial(_find, finds_small, docs)))
    if cross:
        rows.append(_cross(known, encoder, docs))
    for size in counts:
        made = [_with_mentions(docs, size)]
        for part, what in ((one_pass, rows[0].what), (shipped, rows[3].what)):
            rows.append(_row(what, f"1 of {size} mentions", made, functools.partial(_read, part, made)))
    whole = [_with_length(docs, long)]
    return [*rows, _row(rows[1].what, f"1 of {long:,} characters", whole, functools.partial(_find, finds, whole))]


def _by_graph(part: Collective) -> Collective:
    """Return the same as ONNX Runtime runs it, with weights of a byte each."""
    made = copy.copy(part)
    made.network = part.network.as_graph()
    return made


def _row(what: str, documents: str, docs: Sequence[Document], run: Callable[[], object]) -> Row:
    """Return the speed of the better of two runs."""
    seconds = best_seconds(run, 2)
    mentions = sum(len(doc.mentions or ()) for doc in docs)
    return Row(what, documents, mentions, mentions / seconds, peak_resident() / MIB)


def _read(part: Collective | Dense, docs: Sequence[Document]) -> None:
    """Make the vectors of all mentions."""
    if isinstance(part, Dense):
        part.encode_mentions([mention for doc in docs for mention in part.contexts(doc)])
        return
    texts = part.read(docs)
    for doc, text, hidden in zip(docs, texts, part.hidden(texts), strict=True):
        part.vectors(hidden, part.pieces(doc, text, [mention.spans for mention in doc.mentions or ()]))


def _find(part: Collective, docs: Sequence[Document]) -> None:
    """Score all spans."""
    texts = part.read(docs)
    part.find_mentions(texts, part.hidden(texts))


def _cross(kb: KnowledgeBase, encoder: str, docs: Sequence[Document]) -> Row:
    """Return the speed of a cross-encoder over a few of the documents."""
    few = docs[: max(1, len(docs) // 20)]
    asked = Pipeline(Ngram(kb=kb, k=64))(few)
    part = CrossEncoder(kb=kb, encoder=encoder)
    part.trained = True  # its speed does not depend on what it has learned
    return _row("cross-encoder, 64 candidates", str(len(few)), few, functools.partial(part, asked))


def _with_mentions(docs: Sequence[Document], count: int) -> Document:
    """Return a document of as many mentions: texts of others, one behind the other."""
    text = ""
    mentions: list[Mention] = []
    for number in range(count):  # as often through all documents as it takes
        doc = docs[number % len(docs)]
        start = len(text)
        mentions += [Mention(one.start + start, one.end + start, source="gold") for one in doc.mentions or ()]
        text += doc.text + "\n"
        if len(mentions) >= count:
            break
    return Document("joined", text, mentions=tuple(mentions[:count]), abbreviations=(), sentences=())


def _with_length(docs: Sequence[Document], characters: int) -> Document:
    """Return a document of at least so many characters."""
    size = sum(len(doc.text) + 1 for doc in docs)
    many = list(docs) * (1 + characters // size)
    kept, length = [], 0
    for doc in many:
        if length >= characters:
            break
        kept.append(doc)
        length += len(doc.text) + 1
    return _with_mentions(kept, sum(len(doc.mentions or ()) for doc in kept))


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Write a picture, SVG, of mentions a second by mentions a document, both logarithmic."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.documents.endswith(" mentions"):
            lines.setdefault(row.what, []).append((row.mentions, row.speed))
    title = "Mentions a second by mentions of a document"
    with replacing(path) as stream:
        stream.write(
            curves.draw(lines, title=title, x="mentions of a document", y="mentions a second", log=True) + "\n"
        )
