"""How much is heard of a cross-encoder, and how much of the stage before it.

A network that learned beside the scores of a good first stage would learn little: what is already right teaches
nothing. So it learns alone, and when it has, the weights of both are fitted on documents that neither has seen (stacked
generalisation, Wolpert 1992), as a conditional logit over the candidates of each mention and none of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from linnet.rerank.cross_network import CrossNetwork
from linnet.rerank.cross_texts import FEATURES
from linnet.rerank.logit import Lists, Logit

__all__ = ["weigh"]

PENALTY = 1.0  # what a squared weight of a standardised column costs, as of one mention

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


def weigh(network: CrossNetwork, seen: Sequence[tuple[Floats, Floats, Labels]]) -> None:
    """Fit the weights of a network and of the stage before it.

    Args:
        network: its `heard`, `voice` and `none` are set.
        seen: of each mention, what the stage before says of its candidates (candidates, `FEATURES`), what the network
            alone says (candidates,), and whether they are right, 1 or 0; of some mention one is.
    """
    none = float(network.none.detach())
    tables = [_table(said, margins, none) for said, margins, _ in seen]
    rights = [np.append(labels == 1, not (labels == 1).any()) for _, _, labels in seen]
    lengths = np.array([len(table) for table in tables])
    lists = Lists(np.concatenate(tables), np.concatenate(rights), np.cumsum(lengths) - lengths, np.arange(len(tables)))
    fitted = Logit.fit(lists, penalty=PENALTY)
    weights = torch.from_numpy((fitted.weights / fitted.scales).astype(np.float32))
    count = len(FEATURES)
    with torch.no_grad():
        network.heard.copy_(weights[:count])
        network.voice.copy_(weights[count : count + 1])
        network.none.copy_(weights[count : count + 1] * none + weights[count + 1 :])


def _table(said: Floats, margins: Floats, none: float) -> Floats:
    """Return the columns of the candidates of a mention, with a last row for none of them."""
    table = np.zeros((len(margins) + 1, len(FEATURES) + 2), np.float32)
    table[:-1, : len(FEATURES)] = said
    table[:-1, -2] = margins
    table[-1, -2:] = none, 1.0
    return table
