"""What a retriever asks for, see `linnet.text.queries`, and how it answers for whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linnet.data import Candidates, Document
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Allow
from linnet.text.queries import query_texts

__all__ = ["look_up", "query_texts"]


def look_up(
    docs: Sequence[Document],
    find: Callable[[str, Mask | None], Candidates],
    *,
    kb: KnowledgeBase,
    allow: Allow | None,
    long_forms: bool = True,
) -> list[list[Candidates]]:
    """Return for each mention of each document what `find` gives for its text; equal texts are looked up once.

    Args:
        docs: with mentions, and with abbreviations if `long_forms`.
        find: from a text and the rows that are allowed (None = all) to candidates.
        kb: what the rows are of.
        allow: which concepts may be answered.
        long_forms: look up abbreviations that the document defines written out.
    """
    known: dict[tuple[str, tuple[str, ...]], Candidates] = {}
    masks: dict[tuple[str, ...], Mask] = {}
    found: list[list[Candidates]] = []
    for doc in docs:
        mentions = doc.mentions or ()
        texts = query_texts(doc) if long_forms else [doc.surface(mention) for mention in mentions]
        lists = []
        for text, mention in zip(texts, mentions, strict=True):
            types = mention.types if allow else ()
            if allow and types not in masks:
                masks[types] = allow.mask(kb, types)
            if (text, types) not in known:
                known[text, types] = find(text, masks.get(types))
            lists.append(known[text, types])
        found.append(lists)
    return found
