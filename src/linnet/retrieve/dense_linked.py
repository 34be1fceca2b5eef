"""The mentions that a bi-encoder learns from or is judged by, and what its training depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.data import Document
from linnet.pipeline import Component, Pipeline
from linnet.retrieve.dense_args import AlignArgs, DenseArgs
from linnet.roles import align, blind
from linnet.train.judge import Linked
from linnet.train.key import key_of

if TYPE_CHECKING:
    from linnet.retrieve.dense import Dense

__all__ = ["linked_mentions", "training_key"]


def linked_mentions(dense: Dense, docs: Sequence[Document], before: Component | None) -> list[Linked]:
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
    dense: Dense,
    docs: Sequence[Document],
    dev: Sequence[Document],
    own: DenseArgs | AlignArgs,
    linked: Sequence[Linked] = (),
) -> str:
    """Return a hash of what the result of a training depends on beside the loop's own arguments."""
    told = [dense.config(), vars(own), dense.kb.version, dense.module.mention.fingerprint()]
    # what the parts before found depends on what they had learned
    found = [one.candidates for one in linked if one.candidates is not None]
    return key_of(told, [*docs, *dev], (some.rows.tobytes() + some.scores.tobytes() for some in found))
