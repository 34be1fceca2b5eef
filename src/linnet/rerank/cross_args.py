"""What the training of a cross-encoder is told: those fields of a ``[[train]]`` table that the loop does not know.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from linnet.train.args import TrainArgs, split_table

__all__ = ["CandidateText", "CrossArgs"]

CandidateText = Literal["name", "matched", "definition"]  # what stands for a candidate (`linnet.rerank.cross_texts`)


@dataclass(frozen=True, kw_only=True)
class CrossArgs:
    """What the training of a cross-encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        top_k: candidates of a mention that it learns from, the first ones of the stage before.
        loss: ``pairs``, cross-entropy of each pair as published, or ``list``, of the right candidate among those of its
            mention and none of them.
        add_gold: put the right concept behind the candidates where the stage before has not found it.
        spare: how much accuracy on the dev documents may be lost by leaving mentions that the stage before is sure of
            as they are; from how sure, `CrossEncoder.sure`, is fitted on these documents. None reads all.
        held_out: share of the documents that the network does not learn from: on them is fitted how much is heard of
            it and of the stage before, if that is heard at all.
        dropout: share of numbers that the encoder forgets while it learns; None leaves it what its checkpoint says.
    """

    top_k: int = 5
    loss: Literal["pairs", "list"] = "list"
    add_gold: bool = False
    spare: float | None = None
    held_out: float = 0.1
    dropout: float | None = None

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[Self, TrainArgs]:
        """Return a ``[[train]]`` table as what this training is told and what the loop is told.

        Raises:
            RecipeError: unknown or wrong fields, all of them at once.
        """
        return split_table(cls, values, _problems(values), source="cross")


def _problems(values: Mapping[str, Any]) -> list[str]:
    problems = []
    top = values.get("top_k", 1)
    if not isinstance(top, int) or isinstance(top, bool) or top < 1:
        problems.append(f"top_k: expected a whole number from 1, found {top!r}")
    if values.get("loss", "list") not in ("pairs", "list"):
        problems.append(f"loss: expected one of pairs, list, found {values['loss']!r}")
    if not isinstance(values.get("add_gold", False), bool):
        problems.append(f"add_gold: expected true or false, found {values['add_gold']!r}")
    spare = values.get("spare")
    if spare is not None and (isinstance(spare, bool) or not isinstance(spare, (int, float)) or not 0 <= spare <= 1):
        problems.append(f"spare: expected a share from 0 to 1, such as 0.001, found {spare!r}")
    held = values.get("held_out", 0.1)
    if isinstance(held, bool) or not isinstance(held, (int, float)) or not 0 < held <= 0.5:
        problems.append(f"held_out: expected a share above 0, up to 0.5, found {held!r}")
    dropout = values.get("dropout")
    if dropout is not None and (
        isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout < 1
    ):
        problems.append(f"dropout: expected a share from 0 to below 1, such as 0.1, found {dropout!r}")
    return problems
