"""The columns of a table of mentions, for CSV and for the sheets of Excel: one row a mention.

Several values in a cell are joined by ``|``. Offsets are code points, half-open; of a discontinuous mention they are
the hull, and parts says ``0 4;10 14``. The column context is the sentence, with the mention in «». Columns that are
filled in by hand (`linnet.corpora.mention_rows`) are written empty.

A new column is one more entry of `TABLE`; what is read back of it, `linnet.corpora.mention_rows` says.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from linnet.corpora.said import said
from linnet.data import Document, Mention, Span
from linnet.text.sentences import split_sentences

__all__ = [
    "COLUMNS",
    "DECIMALS",
    "ROOM",
    "TABLE",
    "UNCALIBRATED",
    "Cell",
    "Column",
    "Row",
    "carried",
    "clip",
    "join",
    "split",
    "tabled",
]

Cell: TypeAlias = "str | int | float"

DECIMALS = 4  # of probabilities: what a spreadsheet shows, without the noise of single precision
UNCALIBRATED = "uncalibrated"  # how a person reads the record's ""
ROOM = 4_000  # characters that a cell of Excel holds, even if each is written as _x0007_: it has room for 32,767
REACH = 200  # characters of the sentence that are shown before a mention, and behind it


class Shown(NamedTuple):
    """A mention to be shown: with its document, the names of concepts and the sentences of the document."""

    doc: Document
    mention: Mention
    name: Callable[[str], str]
    sentences: Sequence[Span]

    @property
    def concepts(self) -> tuple[str, ...]:
        """The answer, empty if there is none yet."""
        return self.mention.concepts or ()


def _names(one: Shown) -> str:
    names = [one.name(id) for id in one.concepts]
    return join(names) if any(names) else ""


def _probability(one: Shown) -> Cell:
    return "" if one.mention.probability is None else round(one.mention.probability, DECIMALS)


def _calibration(one: Shown) -> str:
    return one.mention.calibration or ("" if one.mention.probability is None else UNCALIBRATED)


def _parts(one: Shown) -> str:
    return ";".join(f"{start} {end}" for start, end in one.mention.parts)


def _context(one: Shown) -> str:
    """Return the sentence of a mention, or the sentences that it touches, on one line."""
    mention, text, sentences = one.mention, one.doc.text, one.sentences
    since = bisect_right(sentences, mention.start, key=lambda span: span.end)
    until = bisect_left(sentences, mention.end, key=lambda span: span.start)
    start, end = mention.span
    if since < until:
        start, end = min(start, sentences[since].start), max(end, sentences[until - 1].end)
    first, last = max(start, mention.start - REACH), min(end, mention.end + REACH)
    pieces = ["…" if first > start else "", text[first : mention.start]]
    for part, following in itertools.pairwise([*mention.spans, Span(last, last)]):
        pieces += [f"«{text[part.start : part.end]}»", text[part.end : following.start]]
    return " ".join("".join([*pieces, "…" if last < end else ""]).split())


class Column(NamedTuple):
    """One column: what its cells are, and how wide a sheet shows it."""

    name: str
    cell: Callable[[Shown], Cell]
    width: int = 12  # characters
    wrap: bool = False
    by_hand: bool = False  # for people to fill in


TABLE = (
    Column("document", lambda one: one.doc.id, 16),
    Column("start", lambda one: one.mention.start, 8),
    Column("end", lambda one: one.mention.end, 8),
    Column("text", lambda one: one.doc.surface(one.mention), 26, wrap=True),
    Column("context", _context, 64, wrap=True),
    Column("concepts", lambda one: join(one.concepts), 16),
    Column("names", _names, 30, wrap=True),
    Column("assertion", lambda one: said(one.mention), 14),
    Column("probability", _probability, 11),
    Column("correct", lambda _: "", 9, by_hand=True),
    Column("right_concept", lambda _: "", 24, wrap=True, by_hand=True),
    Column("types", lambda one: join(one.mention.types)),
    Column("calibration", _calibration),
    Column("source", lambda one: one.mention.source, 8),
    Column("parts", _parts),
    Column("terminology", lambda one: one.mention.terminology),
)
COLUMNS = tuple(column.name for column in TABLE)


class Row(NamedTuple):
    """One row: our columns by name, the others, and the line it begins in."""

    line: int
    cells: Mapping[str, str]
    others: Mapping[str, str]

    @classmethod
    def of(cls, line: int, row: Sequence[str], header: Sequence[str], places: Mapping[str, int]) -> Row:
        """Return the row of these cells, of which ours are at `places`."""
        ours = set(places.values())
        others = {header[place]: cell for place, cell in enumerate(row) if place not in ours and cell}
        return cls(line, {column: row[place] for column, place in places.items()}, others)

    @property
    def types(self) -> tuple[str, ...]:
        """The types that it says."""
        return split(self.cells["types"]) if self.cells.get("types") else ()


def tabled(doc: Document, name: Callable[[str], str]) -> Iterator[list[Cell]]:
    """Yield the row of each mention of a document, cells as in `TABLE`.

    >>> from linnet.corpora.names import namer
    >>> doc = Document("7", "Tall. No fits seen.", mentions=(Mention(9, 13, concepts=("HP:0001250",)),))
    >>> next(tabled(doc, namer(None)))[:6]
    ['7', 9, 13, 'fits', 'No «fits» seen.', 'HP:0001250']
    """
    if not doc.mentions:
        return
    sentences = split_sentences(doc.text) if doc.sentences is None else doc.sentences
    for mention in doc.mentions:
        one = Shown(doc, mention, name, sentences)
        yield [column.cell(one) for column in TABLE]


def carried(doc: Document) -> Document:
    """Return `doc` with the probabilities that a table gives back."""
    if all(mention.probability is None for mention in doc.mentions or ()):
        return doc
    return replace(doc, mentions=tuple(map(_rounded, doc.mentions or ())))


def _rounded(mention: Mention) -> Mention:
    probability = mention.probability
    return mention if probability is None else replace(mention, probability=round(probability, DECIMALS))


def clip(text: str) -> str:
    """Return what a cell of a sheet shows of a text."""
    return text if len(text) <= ROOM else f"{text[: ROOM - 1]}…"


def join(values: Sequence[str]) -> str:
    r"""Return several values as one cell; a bar or backslash inside a value gets a backslash in front.

    >>> split(join(["c|DEL|13|", "a\\b"]))
    ('c|DEL|13|', 'a\\b')
    """
    return "|".join(value.replace("\\", "\\\\").replace("|", "\\|") for value in values)


def split(cell: str) -> tuple[str, ...]:
    """Return the values that `join` was given."""
    if "\\" not in cell:
        return tuple(cell.split("|"))
    values = [""]
    characters = iter(cell)
    for character in characters:
        if character == "|":
            values.append("")
        else:
            values[-1] += next(characters, "") if character == "\\" else character
    return tuple(values)
