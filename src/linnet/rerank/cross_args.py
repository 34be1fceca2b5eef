"""What the training of a cross-encoder is told: those fields of a ``[[train]]`` table that the loop does not know.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from linnet.train.args import PartArgs

__all__ = ["CandidateText", "CrossArgs"]

CandidateText = Literal["name", "matched", "definition"]  # what stands for a candidate (`linnet.rerank.cross_texts`)


class CrossArgs(PartArgs):
    """What the training of a cross-encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        top_k: candidates of a mention that it learns from, the first ones of the stage before.
        loss: ``pairs``, cross-entropy of each pair as published, or ``list``, of the right candidate among those of its
            mention and none of them.
        add_gold: put the right concept behind the candidates where the stage before has not found it.
        max_accuracy_loss: how much accuracy on the dev documents may be lost by leaving mentions that the stage before
            is sure of as they are; from how sure, `CrossEncoder.skip_threshold`, is fitted on these documents. None
            reads all.
        held_out: share of the documents that the network does not learn from: on them is fitted how much is heard of
            it and of the stage before, if that is heard at all.
        dropout: share of numbers that the encoder forgets while it learns; None leaves it what its checkpoint says.
    """

    SOURCE: ClassVar[str] = "cross_encoder"

    top_k: PositiveInt = 5
    loss: Literal["pairs", "list"] = "list"
    add_gold: bool = False
    max_accuracy_loss: float | None = Field(default=None, ge=0, le=1)
    held_out: float = Field(default=0.1, gt=0, le=0.5)
    dropout: float | None = Field(default=None, ge=0, lt=1)
