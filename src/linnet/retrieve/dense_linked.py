"""The mentions that a bi-encoder learns from or is judged by, and what its training depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from linnet.data import Document
from linnet.index.name_vectors import NameVectorsFile
from linnet.kb import KnowledgeBase
from linnet.nn.templates import Templates
from linnet.pipeline import Component, Pipeline
from linnet.pipeline.component import align, blind
from linnet.retrieve.bi_encoder import BiEncoder
from linnet.retrieve.dense_args import AlignArgs, DenseArgs
from linnet.text.contexts import InContext
from linnet.train.judge import FindsByVectors, Linked
from linnet.train.key import key_of

__all__ = ["RetrieverInTraining", "linked_mentions", "training_key"]


class RetrieverInTraining(FindsByVectors, Component, Protocol):
    """A component of a bi-encoder: how it reads mentions and names, and how it compares them."""

    kb: KnowledgeBase
    names: Literal["all", "preferred"]
    definitions: bool
    shared: bool

    @property
    def network(self) -> BiEncoder:
        """Its network."""
        ...

    @property
    def templates(self) -> Templates:
        """How texts become tokens."""
        ...

    @property
    def names_file(self) -> NameVectorsFile:
        """The file of the vectors of all names, by the network as it is."""
        ...

    def config(self) -> dict[str, Any]:
        """Return its keywords."""
        ...

    def contexts(self, doc: Document) -> list[InContext]:
        """Return the mentions of a document as they are read."""
        ...


def linked_mentions(dense: RetrieverInTraining, docs: Sequence[Document], before: Component | None) -> list[Linked]:
    """Return the mentions of documents that have a concept of the knowledge base, with candidates of `before`.

    Mentions that `before` does not answer as they are, such as composites that it takes apart, come without.
    """
    seen = list(docs)
    for part in Pipeline(dense).front:
        seen = part(seen)
    answered = before(blind(docs, before)) if before is not None else []
    linked = []
    for number, doc in enumerate(seen):
        pairs = align(doc, answered[number]) if before is not None else []
        for place, (mention, context) in enumerate(zip(doc.mentions or (), dense.contexts(doc), strict=True)):
            answers = [mention.concepts or (), *mention.alternatives]
            ids = [answer[0] for answer in answers if len(answer) == 1 and answer[0] in dense.kb]
            if ids:
                partner = pairs[place][1] if pairs else None
                found = partner.candidates if partner is not None else None
                linked.append(Linked(context, frozenset(dense.kb.row(id) for id in ids), found))
    return linked


def training_key(
    dense: RetrieverInTraining,
    docs: Sequence[Document],
    dev: Sequence[Document],
    own: DenseArgs | AlignArgs,
    linked: Sequence[Linked] = (),
) -> str:
    """Return a hash of what the result of a training depends on beside the loop's own arguments."""
    told = [dense.config(), vars(own), dense.kb.version, dense.network.mention.fingerprint()]
    # what the parts before found depends on what they had learned
    found = [one.candidates for one in linked if one.candidates is not None]
    return key_of(told, [*docs, *dev], (some.rows.tobytes() + some.scores.tobytes() for some in found))
