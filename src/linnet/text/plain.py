"""Texts without what nobody sees: one kind of blank, composed letters, no soft hyphens; and the places in both.

Word processors and PDF files put no-break spaces, soft hyphens and decomposed letters into texts. The dictionary reads
words through them; whatever looks for words of its own reads `Plain`, and says where in the text they stand.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from linnet.data import Document, Span
from linnet.frozen import changed
from linnet.text.normalise import INVISIBLE

__all__ = ["Plain", "plain", "plain_document"]

BLANKS: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
MARKS: Final = "\u0300-\u036f"
ODD: Final = re.compile(f"[{BLANKS}{MARKS}{INVISIBLE}]")
SEEN: Final = re.compile(rf"[{INVISIBLE}]+|[{BLANKS}]|\w[{INVISIBLE}]*[{MARKS}][{MARKS}{INVISIBLE}]*")
DELETE: Final = str.maketrans("", "", INVISIBLE)


@dataclass(frozen=True)
class Plain:
    r"""A text without what nobody sees, and where its places lie in the text as it is.

    >>> one = Plain.of("Kei\u00adne\u00a0A\u0308rzte")
    >>> one.text, one.origin(7), one.place(9)
    ('Keine Ärzte', 9, 7)
    """

    text: str
    ours: Sequence[int]
    theirs: Sequence[int]

    @classmethod
    def of(cls, text: str) -> Plain:
        """Return the plain form of a text."""
        ours, theirs, parts, last, at = [0], [0], list[str](), 0, 0
        for match in SEEN.finditer(text):
            parts += text[last : match.start()], _seen(match[0])
            at, last = at + match.start() - last, match.end()
            if len(parts[-1]) != len(match[0]):
                ours += at, at + len(parts[-1])
                theirs += match.span()
            at += len(parts[-1])
        return cls("".join((*parts, text[last:])), ours, theirs)

    def place(self, at: int) -> int:
        """Return the place in the plain text of a place in the text as it is."""
        return _translate(at, self.theirs, self.ours)

    def origin(self, at: int) -> int:
        """Return the place in the text as it is of a place in the plain text."""
        return _translate(at, self.ours, self.theirs)


def _seen(odd: str) -> str:
    return " " if odd.isspace() else unicodedata.normalize("NFC", odd.translate(DELETE))


def _translate(at: int, known: Sequence[int], wanted: Sequence[int]) -> int:
    last = bisect_right(known, at) - 1
    place = wanted[last] + at - known[last]
    return min(place, wanted[last + 1]) if last + 1 < len(wanted) else place


def plain(text: str) -> str:
    r"""Return the plain form of a text.

    >>> plain("Kei\u00adne\u00a0Ataxie")
    'Keine Ataxie'
    """
    return text if text.isascii() or not ODD.search(text) else Plain.of(text).text


def plain_document(doc: Document) -> tuple[Document, Plain | None]:
    """Return a document of the plain form of a text, with its sentences and mentions in order; None: it is plain.

    So is one with a mention that nobody sees.
    """
    if doc.text.isascii() or not ODD.search(doc.text):
        return doc, None
    form = Plain.of(doc.text)

    def moved(span: Span) -> Span:
        return Span(form.place(span.start), form.place(span.end))

    spans = [[moved(span) for span in mention.spans] for mention in doc.mentions or ()]
    if any(span.start == span.end for parts in spans for span in parts):
        return doc, None
    mentions = tuple(
        changed(mention, start=parts[0].start, end=parts[-1].end, parts=tuple(parts) if mention.parts else ())
        for mention, parts in zip(doc.mentions or (), spans, strict=True)
    )
    sentences = tuple(map(moved, doc.sentences or ()))
    return Document(doc.id, form.text, sentences=sentences, mentions=mentions), form
