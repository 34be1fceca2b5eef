"""What the training of a bi-encoder is told: the fields of a ``[[train]]`` table that the gradient loop does not know.

It has two stages, each with fields of its own: ``align``, on the names of the knowledge base alone, and ``finetune``.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from linnet.train.args import PartArgs

__all__ = ["ALIGN", "FINETUNE", "AlignArgs", "DenseArgs"]

ALIGN: Literal["align"] = "align"  # the stages
FINETUNE: Literal["finetune"] = "finetune"
PUBLISHED = {"epochs": 1, "batch": 512, "lr": 2e-5, "schedule": "constant"}  # the loop's arguments for SapBERT


Positive = Annotated[float, Field(ge=1e-4, le=1e4)]


class StageArgs(PartArgs):
    """What both stages have in common: the field that names them."""

    SOURCE: ClassVar[str] = "dense"

    stage: Literal["align", "finetune"] = FINETUNE


class DenseArgs(StageArgs):
    """What the training of a bi-encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        similarity: ``dot`` product as published, or ``cosine``.
        temperature: similarities are divided by it.
        positive: which name of the right concept is the positive: the ``nearest`` so far, a ``random`` one, or the
            ``preferred`` one as published.
        mined: hard negatives a mention, from what the network itself ranks first, mined anew each epoch.
        lexical: negatives a mention from the candidates that the pipeline before gives.
        random: negatives a mention drawn from all concepts.
        distill_k: candidates a mention of the pipeline before, whose scores as shares the network learns as well
            (Hinton et al. 2015): behind a slower ranker, its opinion. They are negatives too.
        only_above: hard negatives are only taken from above the right concept.
        spare_descendants: narrower concepts than the right one are no negatives.
        max_duplicates: mentions an epoch of the same words with the same concepts, drawn anew each epoch; 0 = all.
        max_mentions_per_epoch: mentions an epoch at most, drawn anew each epoch; 0 = all.
        synonyms: pairs of synonyms of the knowledge base, for each mention: 1 = as many.
        freeze_embeddings: leave the embeddings of tokens as they are before training, markers included.
        encode_batch: texts that are encoded at once; a batch of any size needs memory for so many alone (0 = all).
    """

    similarity: Literal["cosine", "dot"] = "cosine"
    temperature: Positive = 0.05
    positive: Literal["nearest", "random", "preferred"] = "nearest"
    mined: NonNegativeInt = 1
    lexical: NonNegativeInt = 0
    random: NonNegativeInt = 0
    distill_k: NonNegativeInt = 0
    only_above: bool = False
    spare_descendants: bool = False
    max_duplicates: NonNegativeInt = 0
    max_mentions_per_epoch: NonNegativeInt = 0
    synonyms: float = Field(default=0.0, ge=0, le=1e4)
    freeze_embeddings: bool = False
    encode_batch: NonNegativeInt = 0


class AlignArgs(StageArgs):
    """What self-alignment (`linnet.retrieve.sapbert`) is told beside `linnet.train.args.TrainArgs`.

    Defaults are those of SapBERT (Liu et al. 2021), for what the loop is told as well: one epoch, 512 pairs a batch, lr
    2e-5, constant.

    Args:
        margin: a triplet counts whose negative is not farther from the anchor than its positive by more than this,
            a difference of distances between vectors of length 1; 2 = all triplets count.
        alpha: sharpness of the loss for synonyms.
        beta: sharpness of the loss for names of different concepts.
        base: the cosine that both are compared with.
        pairs: of synonyms an epoch and concept, drawn anew each epoch, at most.
        tokens: word pieces of a name, special tokens included; the rest is cut off.
        encode_batch: texts that are encoded at once; a batch of any size needs memory for so many alone (0 = all).
    """

    LOOP: ClassVar[Mapping[str, Any]] = MappingProxyType(PUBLISHED)

    margin: float = Field(default=0.2, ge=-2, le=2)
    alpha: Positive = 2.0
    beta: Positive = 50.0
    base: float = Field(default=0.5, ge=-1, le=1)
    pairs: PositiveInt = 50
    tokens: int = Field(default=25, ge=3)
    encode_batch: NonNegativeInt = 0
