"""How a retriever answers for whole batches; what it is asked, says `linnet.text.queries`."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence

from linnet.data import Candidates, Document
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Allow, Retriever
from linnet.text.contexts import InContext, in_context
from linnet.text.queries import query_texts

__all__ = ["ContextRetriever", "IndexedRetriever", "TextRetriever", "look_up"]


class IndexedRetriever(Retriever):
    """Base of retrievers with indexes of their own, which look up what mentions say or what they stand for.

    Attributes:
        kb: what is searched.
        long_forms: abbreviations that the document defines are looked up written out.
    """

    NEEDS = frozenset({"mentions", "abbreviations"})

    kb: KnowledgeBase
    long_forms: bool = True

    @property
    def needs(self) -> frozenset[str]:
        """What documents must have: abbreviations only if they are looked up."""
        return self.NEEDS if self.long_forms else frozenset({"mentions"})


class TextRetriever(IndexedRetriever):
    """Base of retrievers that answer text by text."""

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return candidates for each mention of each document; equal texts are looked up once."""
        return look_up(docs, self.candidates, kb=self.kb, allow=allow, long_forms=self.long_forms)

    def candidates(self, texts: Sequence[str], mask: Mask | None) -> list[Candidates]:
        """Return the candidates of each text among the rows of `mask` (None = all)."""
        return [self._candidates(text, mask) for text in texts]

    def _candidates(self, text: str, mask: Mask | None) -> Candidates:
        """Return the candidates of one text, where `candidates` does not answer for many at once."""
        raise NotImplementedError


class ContextRetriever(IndexedRetriever):
    """Base of retrievers that read mentions with the text around them.

    Attributes:
        tokens: word pieces of a mention with its context.
        context: mentions are read with the text around them; else alone.
    """

    tokens: int
    context: bool

    def contexts(self, doc: Document) -> list[InContext]:
        """Return the mentions of a document as they are read."""
        return in_context(doc, tokens=self.tokens, long_forms=self.long_forms, context=self.context)

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return candidates for each mention of each document; equal mentions in equal contexts are looked up once."""
        asked = [
            [
                (one, mention.types if allow else ())
                for one, mention in zip(self.contexts(doc), doc.mentions or (), strict=True)
            ]
            for doc in docs
        ]
        wanted = list(dict.fromkeys(key for keys in asked for key in keys))
        masks = {types: allow.mask(self.kb, types) if allow else None for types in dict.fromkeys(t for _, t in wanted)}
        found = self.find([mention for mention, _ in wanted], [masks[types] for _, types in wanted])
        known = dict(zip(wanted, found, strict=True))
        return [[known[key] for key in keys] for keys in asked]

    @abstractmethod
    def find(self, mentions: Sequence[InContext], masks: Sequence[Mask | None]) -> list[Candidates]:
        """Return the candidates of mentions, each among the rows of its mask (None = all)."""


def look_up(
    docs: Sequence[Document],
    find: Callable[[Sequence[str], Mask | None], Sequence[Candidates]],
    *,
    kb: KnowledgeBase,
    allow: Allow | None,
    long_forms: bool = True,
) -> list[list[Candidates]]:
    """Return for each mention of each document what `find` gives for its text; equal texts are looked up once.

    Args:
        docs: with mentions, and with abbreviations if `long_forms`.
        find: from texts and the rows that are allowed (None = all) to the candidates of each.
        kb: what the rows are of.
        allow: which concepts may be answered.
        long_forms: look up abbreviations that the document defines written out.
    """
    asked: list[list[tuple[tuple[str, ...], str]]] = []
    for doc in docs:
        mentions = doc.mentions or ()
        texts = query_texts(doc) if long_forms else [doc.surface(mention) for mention in mentions]
        kinds = [mention.types if allow else () for mention in mentions]
        asked.append(list(zip(kinds, texts, strict=True)))
    known: dict[tuple[tuple[str, ...], str], Candidates] = {}
    wanted: dict[tuple[str, ...], dict[str, None]] = {}  # the texts of each combination of types, in order
    for types, text in itertools.chain.from_iterable(asked):
        wanted.setdefault(types, {})[text] = None
    for types, theirs in wanted.items():
        found = find([*theirs], allow.mask(kb, types) if allow else None)
        known.update(zip([(types, text) for text in theirs], found, strict=True))
    return [[known[key] for key in keys] for keys in asked]
