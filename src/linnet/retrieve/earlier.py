"""The candidates that mentions have already, as a retriever: what is there is fused with what others find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linnet.codec import resolve
from linnet.data import Candidates, Document, Mention
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase, Mask
from linnet.pipeline import Allow, Retriever

__all__ = ["Earlier"]


@dataclass(kw_only=True)
class Earlier(Retriever):
    """Returns the candidates that mentions have, as far as they are allowed, and none for mentions without.

    Other retrievers throw away what is there. Behind a part that links what it finds, ``joint >> (earlier | ngram) >>
    decide`` fuses its candidates with those of n-grams; in a recipe::

        [[pipeline]]
        use = "dictionary"
        [[pipeline]]
        use = "fuse"
        [[pipeline.of]]
        use = "earlier"
        [[pipeline.of]]
        use = "ngram"

    Args:
        kb: the knowledge base of the candidates.

    >>> import tempfile
    >>> from linnet.data import Concept, Name
    >>> from linnet.kb.build import build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("X:1", (Name("Cold"),))], f"{folder}/small.kb")
    ...     mentions = (Mention(0, 4, candidates=Candidates([0], [0.5], kb=kb.version)), Mention(9, 14))
    ...     [found] = Earlier(kb=kb).retrieve([Document("d", "Cold and fever", mentions=mentions)])
    >>> [candidates.scores.tolist() for candidates in found]
    [[0.5], []]
    """

    kb: KnowledgeBase

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return the candidates of each mention of each document.

        Raises:
            PipelineError: they are of another version of the knowledge base.
        """
        masks: dict[tuple[str, ...], Mask] = {}
        if allow is not None:
            kinds = {mention.types for doc in docs for mention in doc.mentions or ()}
            masks = {types: allow.mask(self.kb, types) for types in kinds}
        return [[self._of(mention, masks.get(mention.types)) for mention in doc.mentions or ()] for doc in docs]

    def _of(self, mention: Mention, mask: Mask | None) -> Candidates:
        found = mention.candidates
        if found is None:
            return Candidates.none(self.kb.version)
        if found.kb and found.kb != self.kb.version:
            raise PipelineError(f"candidates of knowledge base version {found.kb} are not of {self.kb.version}")
        found = replace(resolve(found, self.kb), kb=self.kb.version)
        if mask is None:
            return found
        allowed = (found.rows < 0) | mask.array[found.rows]  # NIL is no concept that one may forbid
        return found if allowed.all() else found.take(np.flatnonzero(allowed))
