"""Documents as Flair's tagger reads them: the tokens of each sentence, and the mentions among them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from linnet.data import Document, Span
from linnet.pipeline import Sentences
from linnet.text.pieces import whole
from linnet.text.tagging import Chunk

__all__ = ["NO_TYPE", "Marked", "marked_sentences", "tokens_of"]

NO_TYPE = "mention"  # what the tagger calls mentions without a type
WORD = re.compile(r"[^\W_]+|[^\s]")

Marked = tuple[list[str], list[Chunk]]  # the tokens of a sentence and its mentions


def tokens_of(doc: Document) -> list[list[Span]]:
    """Return the tokens of each sentence of a document: runs of letters and digits, and single signs.

    >>> doc = Document("d", "No p.o. food. Fits.", sentences=(Span(0, 13), Span(14, 19)))
    >>> [[doc.text[start:end] for start, end in tokens] for tokens in tokens_of(doc)]
    [['No', 'p', '.', 'o', '.', 'food', '.'], ['Fits', '.']]
    """
    found = []
    for start, end in doc.sentences or ():
        tokens = [Span(*word.span()) for word in WORD.finditer(doc.text, start, end)]
        if tokens:
            found.append(tokens)
    return found


def marked_sentences(docs: Sequence[Document]) -> list[Marked]:
    """Return the sentences of documents with their mentions."""
    rows = []
    for doc in Sentences()(docs):
        wanted = [(m.span, m.types[0] if m.types else NO_TYPE) for m in doc.mentions or () if not m.parts]
        for tokens in tokens_of(doc):
            words = [whole(doc.text[start:end]) for start, end in tokens]
            rows.append((words, _chunks(tokens, wanted)))
    return rows


def _chunks(tokens: Sequence[Span], wanted: Sequence[tuple[Span, str]]) -> list[Chunk]:
    """Return the mentions in a sentence as tokens; of those that overlap the longest: tags can hold no more."""
    found: list[Chunk] = []
    inside = [item for item in wanted if item[0].start < tokens[-1].end and tokens[0].start < item[0].end]
    for span, kind in sorted(inside, key=lambda item: item[0].start - item[0].end):
        touched = [place for place, token in enumerate(tokens) if token.start < span.end and span.start < token.end]
        if touched and not any(one.first <= touched[-1] and touched[0] <= one.last for one in found):
            found.append(Chunk(touched[0], touched[-1], kind))
    return sorted(found)
