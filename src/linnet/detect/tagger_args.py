"""What the training of a tagger is told: those fields of a ``[[train]]`` table that the gradient loop does not know.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from linnet.train.args import PartArgs

__all__ = ["TaggerArgs"]


class TaggerArgs(PartArgs):
    """What the training of a tagger is told beside `linnet.train.args.TrainArgs`.

    Args:
        supervision: what says which words are mentions: ``gold``, people; or ``names``, the matches of the dictionary,
            in documents that need no annotation (`linnet.detect.silver`). Nothing is chosen or calibrated then.
        outside_weight: of words outside of mentions in the loss; 1 = as much as others.
        regularisation: ``r-drop``, two passes with different dropout must agree (Liang et al. 2021); ``adversarial``, a
            second pass with embeddings moved against the gradient (Miyato et al. 2017).
        strength: of the regularisation: the weight of the disagreement, or the length of the move.
        networks: how many are trained, with seeds of their own; their answers are averaged.
        dropout: share of numbers of each word's vector that are forgotten while the layers above the encoder learn.
        encoder_dropout: the same inside the encoder, which makes training a third slower on a CPU.
        head_lr_multiplier: how many times the learning rate of the encoder the layers around it have, which begin with
            nothing.
        frozen: layers of the encoder from below that do not learn, its embeddings included; 0 = all learn.
    """

    SOURCE: ClassVar[str] = "tagger"

    supervision: Literal["gold", "names"] = "gold"
    outside_weight: float = Field(default=1.0, ge=0, le=100)
    regularisation: Literal["none", "r-drop", "adversarial"] = "none"
    strength: float = Field(default=1.0, ge=0, le=100)
    networks: PositiveInt = 1
    dropout: float = Field(default=0.2, ge=0, le=0.9)
    encoder_dropout: float = Field(default=0.0, ge=0, le=0.9)
    head_lr_multiplier: float = Field(default=10.0, ge=0, le=1000)
    frozen: NonNegativeInt = 0
