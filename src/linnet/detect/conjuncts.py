"""Composite mentions taken apart: "breast and ovarian cancer" becomes "breast cancer" and "ovarian cancer".

Corpora mark such a coordination as one mention of several concepts. Each conjunct becomes a mention of its own, of one
``group``, with the words it shares as one of its `parts`; it is linked like any other, and `decide` folds the group
back into one mention with all concepts. A mention is taken apart only where the whole is no name of the knowledge
base and all that comes of it are.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linnet.data import Document, Mention, Span, mention_id
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Stage
from linnet.pipeline.component import merge, require
from linnet.text.normalise import basic
from linnet.text.short_forms import ShortForms
from linnet.text.variants import stem

__all__ = ["Conjuncts", "is_name", "readings"]

LONGEST = 200  # characters of a mention; what is longer is a sentence
MOST = 8  # conjuncts
JOINT = re.compile(r"\s*,\s*(?:and/or|and|or|as well as)\s+|\s+(?:and/or|and|or|as well as)\s+|,\s+")
FINAL = re.compile(r"\b(?:and|or|as well as)\b")
TURN = re.compile(r"\s(?:of|in)(?:\s+(?:the|a|an|his|her|their))?\s+")
WORD = re.compile(r"\S+")


def readings(text: str) -> Iterator[tuple[tuple[Span, ...], ...]]:
    """Yield the ways to take a coordination apart, the likeliest first: for each conjunct its spans of `text`.

    What conjuncts share may stand at the end ("breast and ovarian cancer"), at the beginning before a preposition
    ("cancer of the breast and ovary"), or, with single words, at the beginning ("cleft lip and palate").

    >>> text = "breast and ovarian cancer"
    >>> [[" ".join(text[a:b] for a, b in spans) for spans in reading] for reading in readings(text)]
    [['breast cancer', 'ovarian cancer']]
    """
    if len(text) > LONGEST or not FINAL.search(text):
        return
    borders = [0, *(at for joint in JOINT.finditer(text) for at in joint.span()), len(text)]
    phrases = [Span(*pair) for pair in zip(borders[::2], borders[1::2], strict=True)]
    if not 2 <= len(phrases) <= MOST or any(not text[start:end].strip() for start, end in phrases):
        return
    first, *between, last = phrases
    for word in list(WORD.finditer(text, last.start))[1:]:
        shared = Span(word.start(), last.end)
        yield (*((phrase, shared) for phrase in (first, *between)), (last,))
    if turn := TURN.search(text, first.start, first.end):
        shared = Span(first.start, len(text[: turn.end()].rstrip()))
        yield ((first,), *((shared, phrase) for phrase in (*between, last)))
    single = all(" " not in text[start:end].strip() for start, end in phrases[1:])
    for word in reversed(list(WORD.finditer(text, first.start, first.end))[1:] if single else []):
        shared = Span(first.start, len(text[: word.start()].rstrip()))
        yield ((first,), *((shared, phrase) for phrase in (*between, last)))


@dataclass(kw_only=True)
class Conjuncts(Stage):
    """Takes predicted mentions that are coordinations apart, one mention for each conjunct, of one group.

    Args:
        kb: the knowledge base whose names say what is a conjunct.
    """

    kb: KnowledgeBase

    NEEDS = frozenset({"mentions", "abbreviations"})
    GIVES = frozenset({"mentions"})
    DROPS = frozenset({"candidates", "concepts"})  # conjuncts have none

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with coordinations taken apart; mentions of people stay as they are."""
        require(self, docs)
        return [self._document(doc) for doc in docs]

    def _document(self, doc: Document) -> Document:
        short = ShortForms.of(doc)
        predicted = [mention for mention in doc.mentions or () if mention.source == "pred"]
        return merge(doc, [piece for mention in predicted for piece in self._apart(doc, mention, short)])

    def _apart(self, doc: Document, mention: Mention, short: ShortForms) -> list[Mention]:
        """Return the conjuncts of a mention, or the mention itself."""
        if mention.parts or mention.group:
            return [mention]
        text = doc.surface(mention)
        for reading in readings(text):
            if is_name(self.kb, text):
                break
            spans = [tuple(Span(mention.start + a, mention.start + b) for a, b in conjunct) for conjunct in reading]
            if all(self._is_meant(doc, conjunct, short) for conjunct in spans):
                group = mention.id or mention_id(doc.id, mention.spans, mention.types)
                return [_conjunct(doc, mention, conjunct, group) for conjunct in spans]
        return [mention]

    def _is_meant(self, doc: Document, spans: tuple[Span, ...], short: ShortForms) -> bool:
        """Whether a conjunct is a name, or a short form that the document defines."""
        if len(spans) == 1 and short and short.meaning(doc.text, spans[0].start, spans[0].end) is not None:
            return True
        return is_name(self.kb, " ".join(doc.text[start:end] for start, end in spans))


def _conjunct(doc: Document, mention: Mention, spans: tuple[Span, ...], group: str) -> Mention:
    return Mention(
        spans[0].start,
        spans[-1].end,
        parts=spans if len(spans) > 1 else (),
        id=mention_id(doc.id, spans, mention.types),
        types=mention.types,
        signals=mention.signals,
        group=group,
        meta=mention.meta,
    )


def is_name(kb: KnowledgeBase, text: str) -> bool:
    """Return whether the knowledge base has such a name, or its singular; case and signs do not count."""
    return _is_normal_name(kb, basic(text))


@functools.lru_cache(maxsize=1 << 14)
def _is_normal_name(kb: KnowledgeBase, norm: str) -> bool:
    words = norm.split()
    if not words:
        return False
    singular = " ".join([*words[:-1], stem(words[-1])])
    return any(next(iter(kb.find(form)), None) is not None for form in dict.fromkeys((norm, singular)))
