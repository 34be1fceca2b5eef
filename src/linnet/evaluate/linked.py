"""The gold mentions of all documents beside what was answered at them: the table that linking is measured on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Mention

__all__ = ["PROTOCOLS", "Linked", "Protocol"]

Protocol = Literal["all", "in-kb", "in-kb-genbioel"]
PROTOCOLS: Sequence[Protocol] = get_args(Protocol)


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """One row for each gold mention, by document and place in the text; all columns have the shape (mentions,).

    Args:
        documents: the ids of all documents, those without mentions included, in gold's order.
        doc: int32, place of the mention's document in `documents`.
        gold: the mentions as annotated.
        predicted: the mentions predicted at the same span, None where there is none.
        right: bool, the answer (``concepts``) is one that gold accepts.
        rank: int32, the smallest k such that the first k candidates hold an accepted answer; 0 = none do.
        precision: float64, average precision of the candidates over the ids of the answer.
        in_kb: bool, the knowledge base holds every concept of an accepted answer.
        nil: bool, gold says that no concept fits.
        overlapping: bool, the mention shares a character with another gold mention.
        probability: float64, of the answer; NaN where none is given.
    """

    documents: tuple[str, ...]
    doc: npt.NDArray[np.int32]
    gold: tuple[Mention, ...]
    predicted: tuple[Mention | None, ...]
    right: npt.NDArray[np.bool_]
    rank: npt.NDArray[np.int32]
    precision: npt.NDArray[np.float64]
    in_kb: npt.NDArray[np.bool_]
    nil: npt.NDArray[np.bool_]
    overlapping: npt.NDArray[np.bool_]
    probability: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.gold)

    def mask(self, protocol: Protocol) -> npt.NDArray[np.bool_]:
        """Return which mentions a protocol counts, bool (mentions,).

        ``all``: every mention with a concept; ``in-kb``: those whose concepts the knowledge base holds;
        ``in-kb-genbioel``: of these, the ones that overlap no other mention (Yuan et al. 2022).
        """
        kept = ~self.nil
        if protocol != "all":
            kept = kept & self.in_kb
        return kept & ~self.overlapping if protocol == "in-kb-genbioel" else kept
