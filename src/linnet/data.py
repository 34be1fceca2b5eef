"""The records that travel through Linnet: immutable, and loss-free for every corpus format.

A `Document` holds text and what is known about it; a `Mention` is a span of that text with types, candidates and
concepts; `Candidates` are columns of rows of one knowledge base; a `Concept` is one entry of a terminology. Offsets
are code points into ``Document.text``, half-open. Components never change a record: they make a changed copy with
`dataclasses.replace`. Their JSON form is `linnet.codec`'s (`docs/formats.md`).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from linnet.errors import DataError, no_string
from linnet.frozen import EMPTY, FrozenDict, freeze

__all__ = [
    "Abbreviation", "Candidates", "Concept", "Document", "FrozenDict", "Mention", "Name", "Passage", "Rows", "Span",
    "mention_id",
]  # fmt: skip

JSON: TypeAlias = "str | int | float | bool | Sequence[JSON] | Mapping[str, JSON] | None"
Source: TypeAlias = Literal["gold", "user", "pred"]
Calibration: TypeAlias = Literal["", "joint", "given-span"]
Assertion: TypeAlias = Literal["", "affirmed", "negated", "uncertain", "family", "hypothetical", "historical"]
Scope: TypeAlias = Literal["exact", "broad", "narrow", "related"]
Ints: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float32]

SOURCES = ("gold", "user", "pred")
CALIBRATIONS = ("", "joint", "given-span")
DENIED = "denied"  # in `Mention.meta`: the text says that relatives do not have it either
ASSERTIONS: tuple[Assertion, ...] = ("affirmed", "negated", "uncertain", "family", "hypothetical", "historical")
SCOPES: tuple[Scope, ...] = ("exact", "broad", "narrow", "related")


class Span(NamedTuple):
    """A half-open range of code points."""

    start: int
    end: int


class Abbreviation(NamedTuple):
    """A short form and the long form that defines it, as spans of the same text (Schwartz & Hearst 2003)."""

    short: Span
    long: Span


@dataclass(frozen=True, slots=True)
class Name:
    """One name of a concept, with the scope its source gives it."""

    text: str
    scope: Scope = "exact"
    language: str = "en"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Concept:
    """One entry of a terminology; ``id`` is a CURIE and ``names[0]`` the preferred name.

    ``replaced_by`` is None for a live concept, the successor's id for a retired one, and ``""`` for one that was
    retired without a successor. ``origin`` says where it was read (``file:line``) and takes no part in comparison.
    """

    id: str
    names: tuple[Name, ...] = ()
    types: tuple[str, ...] = ()
    definition: str = ""
    parents: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    replaced_by: str | None = None
    origin: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """The preferred name, or the id of a concept without names."""
        return self.names[0].text if self.names else self.id


class Rows(Protocol):
    """What turns the rows of `Candidates` into ids and back; a `KnowledgeBase` is one.

    An object that also has ``name(name_row) -> Name`` and ``name_row(row, text) -> int`` keeps the names too.
    """

    def row(self, id: str, /) -> int:
        """Return the row of the concept `id`."""
        ...

    def id(self, row: int, /) -> str:
        """Return the id of the concept in `row`."""
        ...


def _column(values: Any, dtype: type[np.generic], what: str) -> Any:
    array = np.array(values, dtype=dtype)
    if array.ndim != 1:
        raise DataError(f"candidates: {what} must have one dimension, has {array.ndim}")
    return _sealed(array)


def _sealed(array: Any) -> Any:
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidate concepts of one mention as columns, best first, ties by row.

    ``rows`` int32 (n) are rows of the knowledge base of version ``kb``, -1 stands for NIL; ``scores`` float32 (n) are
    finite; ``names`` int32 (n) says which name matched, as a row of the KB's names (-1 = none); ``features`` are
    float32 (n) columns that earlier stages left for later ones. Candidates read without a knowledge base keep
    their ``ids`` (None = NIL) and ``labels`` and have only -1 in ``rows``; `linnet.codec.resolve` turns them into rows.
    """

    rows: Ints
    scores: Floats
    names: Ints | None = None
    features: Mapping[str, Floats] = EMPTY
    kb: str = ""
    ids: tuple[str | None, ...] = ()
    labels: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rows", _column(self.rows, np.int32, "rows"))
        put(self, "scores", _column(self.scores, np.float32, "scores"))
        if self.names is not None:
            put(self, "names", _column(self.names, np.int32, "names"))
        if self.features:
            columns = {key: _column(value, np.float32, f"feature {key!r}") for key, value in self.features.items()}
            put(self, "features", FrozenDict(columns))
        for what, column in self._columns():
            if len(column) != len(self.rows):
                raise DataError(f"candidates: {len(self.rows)} rows but {len(column)} {what}")
        if not all(np.isfinite(column).all() for column in (self.scores, *self.features.values())):
            raise DataError("candidates: scores and features must be finite numbers")

    def __reduce__(self) -> tuple[object, ...]:
        # through the constructor: arrays come out of a pickle writeable
        values = (self.rows, self.scores, self.names, dict(self.features), self.kb, self.ids, self.labels)
        return Candidates, values

    def _columns(self) -> list[tuple[str, Any]]:
        columns: list[tuple[str, Any]] = [("scores", self.scores)]
        columns += [("names", self.names)] if self.names is not None else []
        columns += [(f"values of feature {key!r}", value) for key, value in self.features.items()]
        columns += [(what, value) for what, value in (("ids", self.ids), ("labels", self.labels)) if value]
        return columns

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Candidates):
            return NotImplemented
        ours, theirs = dict(self._columns()), dict(other._columns())
        same = (self.kb, self.ids, self.labels) == (other.kb, other.ids, other.labels) and ours.keys() == theirs.keys()
        return same and all(
            map(np.array_equal, (self.rows, *ours.values()), (other.rows, *(theirs[key] for key in ours)))
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def none(cls, kb: str = "") -> Candidates:
        """Return the empty list: looked for, nothing found."""
        return cls(np.empty(0, np.int32), np.empty(0, np.float32), kb=kb)

    @classmethod
    def of(cls, scores: Mapping[int, float], kb: str = "") -> Candidates:
        """Return candidates of rows with their scores, best first, ties by row.

        >>> Candidates.of({4: 0.5, 9: 0.8}).rows.tolist()
        [9, 4]
        """
        return cls(np.array([*scores], np.int32), np.array([*scores.values()], np.float32), kb=kb).sorted()

    def sorted(self) -> Candidates:
        """Return the same candidates best first, ties by row.

        >>> Candidates([4, 2, 9], [0.5, 0.5, 0.8]).sorted().rows.tolist()
        [9, 2, 4]
        """
        return self.take(np.lexsort((self.rows, -self.scores)))

    def take(self, order: npt.NDArray[np.intp]) -> Candidates:
        """Return the candidates at the positions `order`, in that order."""
        return self._at(order, self.scores[order], self.features)

    def rescored(self, scores: Floats, order: npt.NDArray[np.intp], *, before: str) -> Candidates:
        """Return the candidates at the positions `order` with finite `scores`; their own are the feature `before`."""
        return self._at(order, scores[order], {before: self.scores, **self.features})

    def _at(self, order: npt.NDArray[np.intp], scores: Floats, features: Mapping[str, Floats]) -> Candidates:
        """Return what stands at some positions: it was checked when these candidates were made."""
        ids, labels = (tuple(some[i] for i in order) if some else () for some in (self.ids, self.labels))
        kept = {key: _sealed(value[order]) for key, value in features.items()}
        names = None if self.names is None else _sealed(self.names[order])
        made = object.__new__(Candidates)
        columns: Any = (_sealed(self.rows[order]), _sealed(scores), names, FrozenDict(kept), self.kb, ids, labels)
        for name, value in zip(Candidates.__slots__, columns, strict=True):
            object.__setattr__(made, name, value)
        return made

    def top(self, k: int) -> Candidates:
        """Return the first `k` candidates."""
        return self if k >= len(self) else self.take(np.arange(k))


def _check_spans(spans: Sequence[Span], what: str, length: int) -> None:
    for start, end in spans:
        if not 0 <= start <= end <= length:
            raise DataError(f"{what}: span {start}-{end} lies outside the text of {length} characters")


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that names concepts. None means not done yet, ``()`` means nothing found (NIL).

    ``terminology`` names the knowledge base that it was linked to beside others: a span then has a mention for each.
    ``assertion``: the text says that it is there, is not, may be, is a relative's, may come, is over; "" = unread.
    """

    start: int
    end: int
    parts: tuple[Span, ...] = ()
    id: str = ""
    types: tuple[str, ...] = ()
    source: Source = "pred"
    candidates: Candidates | None = None
    concepts: tuple[str, ...] | None = None
    alternatives: tuple[tuple[str, ...], ...] = ()
    probability: float | None = None
    calibration: Calibration = ""
    signals: Mapping[str, float] = EMPTY
    group: str = ""
    meta: Mapping[str, JSON] = EMPTY
    terminology: str = ""
    assertion: Assertion = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise DataError(f"{self._where()}: the start must be at least 0 and before the end")
        if self.parts:
            _check_parts(self.parts, Span(self.start, self.end), self._where())
        lists: tuple[object, ...] = (self.types, self.concepts)
        if any(isinstance(value, str) for value in lists):
            raise DataError(f"{self._where()}: types and concepts are tuples of texts, found one text")
        if self.source not in SOURCES:
            raise DataError(f"{self._where()}: source {self.source!r} is none of {', '.join(SOURCES)}")
        if self.calibration not in CALIBRATIONS:
            raise DataError(f"{self._where()}: calibration {self.calibration!r} is none of '', 'joint', 'given-span'")
        if self.assertion not in ("", *ASSERTIONS):
            raise DataError(f"{self._where()}: assertion {self.assertion!r} is none of {', '.join(ASSERTIONS)}")
        if self.probability is not None and not 0.0 <= self.probability <= 1.0:
            raise DataError(f"{self._where()}: probability {self.probability} is not between 0 and 1")
        if self.signals is not EMPTY:
            object.__setattr__(self, "signals", freeze(self.signals))
        if self.meta is not EMPTY:
            object.__setattr__(self, "meta", freeze(self.meta))

    def _where(self) -> str:
        return f"mention {self.id or '(no id)'} {self.start}-{self.end}"

    __hash__ = None  # type: ignore[assignment]

    @property
    def span(self) -> Span:
        """Start and end: the hull of a discontinuous mention."""
        return Span(self.start, self.end)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts, or the one span of a continuous mention."""
        return self.parts or (Span(self.start, self.end),)


def _check_parts(parts: tuple[Span, ...], hull: Span, where: str) -> None:
    if len(parts) < 2:
        raise DataError(f"{where}: parts are for discontinuous mentions and come in twos or more")
    if any(start >= end for start, end in parts) or any(a[1] > b[0] for a, b in itertools.pairwise(parts)):
        raise DataError(f"{where}: parts {[tuple(part) for part in parts]} must be ordered and must not overlap")
    if (parts[0][0], parts[-1][1]) != hull:
        raise DataError(f"{where}: start and end must be the hull of the parts {[tuple(part) for part in parts]}")


def mention_id(document_id: str, spans: Sequence[Span], types: Sequence[str] = ()) -> str:
    """Return the stable id of a predicted mention: a hash of document id, spans and types.

    >>> mention_id("note", [Span(0, 5)]) == mention_id("note", [Span(0, 5)])
    True
    """
    key = repr((document_id, [tuple(span) for span in spans], tuple(types)))
    return "p" + hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document: title, abstract, section."""

    start: int
    end: int
    kind: str = ""
    meta: Mapping[str, JSON] = EMPTY

    def __post_init__(self) -> None:
        if self.meta is not EMPTY:
            object.__setattr__(self, "meta", freeze(self.meta))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Document:
    """A text and what is known about it; None means not looked at yet, ``()`` means looked at and nothing found.

    ``reviewed`` are the spans a person has gone through (None = all of it): no negatives are taken outside them.

    >>> doc = Document.of("Short stature and seizures.")
    >>> doc.surface(Mention(0, 13))
    'Short stature'
    """

    id: str
    text: str
    passages: tuple[Passage, ...] = ()
    sentences: tuple[Span, ...] | None = None
    abbreviations: tuple[Abbreviation, ...] | None = None
    mentions: tuple[Mention, ...] | None = None
    reviewed: tuple[Span, ...] | None = None
    meta: Mapping[str, JSON] = EMPTY

    def __post_init__(self) -> None:
        if not (isinstance(self.id, str) and isinstance(self.text, str)):
            raise DataError(f"document: {no_string(id=self.id, text=self.text)}")
        length, where = len(self.text), f"document {self.id!r}"
        for mention in self.mentions or ():
            if mention.end > length:
                span = f"{mention.start}-{mention.end}"
                raise DataError(f"{where}: mention {span} lies outside the text of {length} characters")
        _check_spans([Span(p.start, p.end) for p in self.passages], f"{where}, passages", length)
        _check_spans(self.sentences or (), f"{where}, sentences", length)
        _check_spans(self.reviewed or (), f"{where}, reviewed", length)
        short_and_long = [span for pair in self.abbreviations or () for span in pair]
        _check_spans(short_and_long, f"{where}, abbreviations", length)
        if any(start == end for start, end in short_and_long):
            raise DataError(f"{where}: an abbreviation has an empty span")
        if self.meta is not EMPTY:
            object.__setattr__(self, "meta", freeze(self.meta))

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, text: str, id: str | None = None) -> Document:
        """Return a document of plain text; without an `id` it gets one that depends on the text alone."""
        if id is None:
            id = "d" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return cls(id=id, text=text)

    def surface(self, mention: Mention) -> str:
        """Return the text of a mention, the parts of a discontinuous one joined by a blank."""
        return " ".join(self.text[start:end] for start, end in mention.spans)

    def _repr_html_(self) -> str:
        """Return what notebooks show of it, `linnet.html`: whoever draws comes after the records, at the front door."""
        import linnet  # noqa: PLC0415 - as above

        return linnet.html(self)

    def bare(self) -> Document:
        """Return only what a system may see end to end: id, text, and start, end, kind of the passages."""
        passages = tuple(Passage(p.start, p.end, p.kind) for p in self.passages)
        return Document(id=self.id, text=self.text, passages=passages)

    def spans_only(self, *, types: bool = False) -> Document:
        """Return `bare` plus start, end, parts and id of the mentions: what a system may see given gold spans.

        With `types` their types too, which is another, easier protocol.
        """
        if self.mentions is None:
            return self.bare()
        mentions = tuple(Mention(m.start, m.end, m.parts, m.id, m.types if types else ()) for m in self.mentions)
        return replace(self.bare(), mentions=mentions)


def by_position(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """Return mentions in reading order: by start, then the longer one first, then by parts, terminology and id."""
    return tuple(sorted(mentions, key=lambda m: (m.start, -m.end, m.parts, m.terminology, m.id)))
