"""Documents as several annotators have read them, side by side: their marks, the words, and parts of all this."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from linnet.annotate.span_groups import Mark, Place, marks_of
from linnet.data import Document, Span
from linnet.errors import MismatchError
from linnet.text.tokens import tokenize

__all__ = ["Reading", "by_annotators", "by_type", "read", "types_of"]

Marks = Mapping[str, tuple[Mark, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One document and the marks of all annotators who have finished it, by their names in alphabetical order.

    Args:
        id: of the document.
        length: of its text in characters.
        starts: of its words (`linnet.text.tokens`).
        ends: of its words.
        raw: marks with the spans as they are.
        trimmed: marks without blanks and punctuation at the edges of spans.
    """

    id: str
    length: int
    starts: Sequence[int]
    ends: Sequence[int]
    raw: Marks
    trimmed: Marks

    def places(self, *, trimmed: bool) -> list[set[Place]]:
        """Return the different places that each annotator has marked."""
        return [{mark.place for mark in own} for own in (self.trimmed if trimmed else self.raw).values()]

    def spans(self, type: str) -> list[list[Span]]:
        """Return the spans of each annotator's marks of one type, every part of a discontinuous one for itself."""
        return [
            [span for mark in own if type in types_of(mark) for span in mark.place] for own in self.trimmed.values()
        ]

    def inside(self, type: str) -> npt.NDArray[np.int64]:
        """Return which words share characters with marks of one type: 0 or 1, int64 (annotators, words)."""
        found = np.zeros((len(self.trimmed), len(self.starts)), np.int64)
        for row, spans in zip(found, self.spans(type), strict=True):
            for start, end in spans:
                row[bisect_right(self.ends, start) : bisect_left(self.starts, end)] = 1
        return found


def types_of(mark: Mark) -> tuple[str, ...]:
    """Return the types of a mark, ``("",)`` for one without."""
    return mark.types or ("",)


def read(work: Mapping[str, Mapping[str, Document]], *, live: Callable[[str], str]) -> list[Reading]:
    """Return the documents that two or more annotators have finished, by id.

    Args:
        work: annotator -> id -> document with the annotator's own mentions; None for mentions = not finished.
        live: maps an id to the id to compare: itself, or its successor.

    Raises:
        MismatchError: annotators have read different texts under one id, or an id is not that of its document.

    >>> doc, other = (Document(id, "Fits.", mentions=()) for id in "ab")
    >>> [one.id for one in read({"Alice": {"a": doc, "b": other}, "Bob": {"b": other}}, live=str)]
    ['b']
    """
    finished: dict[str, dict[str, Document]] = {}
    for who in sorted(work):
        for id, doc in work[who].items():
            if doc.id != id:
                raise MismatchError(f"{who}: document {doc.id!r} stands under the id {id!r}; use its own")
            if doc.mentions is not None:
                finished.setdefault(id, {})[who] = doc
    return [_read(finished[id], live) for id in sorted(finished) if len(finished[id]) > 1]


def _read(docs: Mapping[str, Document], live: Callable[[str], str]) -> Reading:
    (first, doc), *others = docs.items()
    for who, other in others:
        if other.text != doc.text:
            raise MismatchError(f"document {doc.id!r}: {who} and {first} have read different texts; compare the same")
    tokens = tokenize(doc.text)
    raw, trimmed = ({who: marks_of(one, live=live, trimmed=cut) for who, one in docs.items()} for cut in (False, True))
    return Reading(doc.id, len(doc.text), tokens.starts.tolist(), tokens.ends.tolist(), raw, trimmed)


def by_annotators(readings: Iterable[Reading], names: Collection[str]) -> list[Reading]:
    """Return the documents that all of some annotators have finished, with their marks alone."""
    return [
        replace(one, raw={who: one.raw[who] for who in names}, trimmed={who: one.trimmed[who] for who in names})
        for one in readings
        if set(names) <= one.raw.keys()
    ]


def by_type(readings: Iterable[Reading], type: str) -> list[Reading]:
    """Return all documents with the marks of one type alone, as if they had no other; ``""`` is no type."""
    return [replace(one, raw=_of_type(one.raw, type), trimmed=_of_type(one.trimmed, type)) for one in readings]


def _of_type(marks: Marks, type: str) -> Marks:
    return {
        who: tuple(mark._replace(types=(type,)) for mark in own if type in types_of(mark)) for who, own in marks.items()
    }
