"""What the training of a tagger is told: those fields of a ``[[train]]`` table that the gradient loop does not know.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from linnet.train.args import TrainArgs, split_table

__all__ = ["TaggerArgs"]

Regularisation = Literal["none", "r-drop", "adversarial"]
HIGHEST = {"nil_weight": 100, "strength": 100, "dropout": 0.9, "encoder_dropout": 0.9, "faster": 1000}
CHOICES = ("none", "r-drop", "adversarial")


@dataclass(frozen=True, kw_only=True)
class TaggerArgs:
    """What the training of a tagger is told beside `linnet.train.args.TrainArgs`.

    Args:
        nil_weight: of words outside of mentions in the loss; 1 = as much as others.
        regularisation: ``r-drop``, two passes with different dropout must agree (Liang et al. 2021); ``adversarial``, a
            second pass with embeddings moved against the gradient (Miyato et al. 2017).
        strength: of the regularisation: the weight of the disagreement, or the length of the move.
        networks: how many are trained, with seeds of their own; their answers are averaged.
        dropout: share of numbers of each word's vector that are forgotten while the layers above the encoder learn.
        encoder_dropout: the same inside the encoder, which makes training a third slower on a CPU.
        faster: how many times the learning rate of the encoder the layers around it have, which begin with nothing.
        frozen: layers of the encoder from below that do not learn, its embeddings included; 0 = all learn.
    """

    nil_weight: float = 1.0
    regularisation: Regularisation = "none"
    strength: float = 1.0
    networks: int = 1
    dropout: float = 0.2
    encoder_dropout: float = 0.0
    faster: float = 10.0
    frozen: int = 0

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[Self, TrainArgs]:
        """Return a ``[[train]]`` table as what this training is told and what the loop is told.

        Raises:
            RecipeError: unknown or wrong fields, all of them at once.
        """
        return split_table(cls, values, _problems(values), source="tagger")


def _problems(values: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, high in HIGHEST.items():
        value = values.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= high:
            problems.append(f"{name}: expected a number from 0 to {high}, found {value!r}")
    for name, low in (("networks", 1), ("frozen", 0)):
        value = values.get(name, low)
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            problems.append(f"{name}: expected a whole number from {low}, found {value!r}")
    if values.get("regularisation", "none") not in CHOICES:
        problems.append(f"regularisation: expected one of {', '.join(CHOICES)}, found {values['regularisation']!r}")
    return problems
