"""Mentions as a network reads them: with the text around them."""

from __future__ import annotations

from typing import NamedTuple

from linnet.data import Document
from linnet.text.queries import query_texts

__all__ = ["InContext", "in_context"]

LONG_WORD = 16  # characters a word piece is taken to have when a context is cut before it is tokenized


class InContext(NamedTuple):
    """A mention as it is asked for, between the texts to its left and right."""

    left: str
    text: str
    right: str


def in_context(doc: Document, *, tokens: int, long_forms: bool = True, context: bool = True) -> list[InContext]:
    """Return every mention of a document with as much text around it as `tokens` word pieces can be made of.

    The text is the mention's own, its parts put together if it is discontinuous, or the long form of an abbreviation
    that the document defines. Without `context` it stands alone, so that mentions of the same text are equal.
    """
    mentions = doc.mentions or ()
    texts = query_texts(doc) if long_forms else [doc.surface(mention) for mention in mentions]
    if not context:
        return [InContext("", text, "") for text in texts]
    reach = tokens * LONG_WORD
    return [
        InContext(
            doc.text[max(0, mention.start - reach) : mention.start], text, doc.text[mention.end : mention.end + reach]
        )
        for mention, text in zip(mentions, texts, strict=True)
    ]
