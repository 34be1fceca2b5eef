"""One vector for a text or for a mention in it, from the vectors of its tokens.

* ``cls``: that of the first token, as TrainX (Oberhauser et al. 2020, section 3) and the names of the collective dual
  encoder (Bhowmik et al. 2021) have it.
* ``mean``: the mean over all tokens, special ones included, as sentence encoders such as MiniLM are trained for.
* ``span``: the mean over the tokens of the mention (Bhowmik et al. 2021, end to end).
* ``ends``: W [h_i; h_j] + b of the first and last token of the mention (Bhowmik et al. 2021, gold mentions).
* ``markers``: the mean over the tokens in front of the mention and after it, which are its markers.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from linnet.errors import LinnetError, did_you_mean

__all__ = ["Pool", "Pooling"]

Pooling = Literal["cls", "mean", "span", "ends", "markers"]


class Pool(nn.Module):
    """Pools the tokens of texts in one of the ways of this module.

    ``ends`` has weights, W (size, 2 · size) and b (size,), which start as the mean of both ends; the others have none.

    Args:
        how: the way.
        size: numbers in the vector of a token, and in the one that is given.

    >>> pool, spans = Pool("span", 1), torch.tensor([[1, 3]])
    >>> pool(torch.tensor([[[9.0], [1.0], [2.0], [9.0]]]), torch.ones(1, 4), spans)
    tensor([[1.5000]])
    """

    def __init__(self, how: Pooling, size: int) -> None:
        super().__init__()
        if how not in get_args(Pooling):
            known = get_args(Pooling)
            raise LinnetError(f"pooling {how!r}: not known{did_you_mean(how, known)}; one of {', '.join(known)}")
        self.how, self.size = how, size
        if how == "ends":
            self.both = nn.Linear(2 * size, size)
            with torch.no_grad():
                self.both.weight.copy_(torch.eye(size).repeat(1, 2) / 2)
                self.both.bias.zero_()

    def forward(self, hidden: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return one vector a text (texts, size), float32 unless it is autocast.

        Args:
            hidden: vectors of tokens, (texts, tokens, size).
            mask: 1 for tokens, 0 for padding, (texts, tokens).
            spans: ``[start, end)`` in tokens, (texts, 2). An empty span has the mean 0. For ``markers`` there must be a
                token in front of the span and one after it.
        """
        if self.how == "cls":
            return hidden[:, 0].float()
        if self.how == "mean":
            return _mean(hidden, mask)
        start, end = spans.unbind(1)
        if self.how == "span":
            places = torch.arange(hidden.shape[1], device=hidden.device)
            return _mean(hidden, (places >= start[:, None]) & (places < end[:, None]))
        rows = torch.arange(len(hidden), device=hidden.device)
        if self.how == "markers":
            return (hidden[rows, start - 1].float() + hidden[rows, end].float()) / 2
        ends = torch.cat([hidden[rows, start], hidden[rows, torch.maximum(end - 1, start)]], dim=1)
        pooled: Tensor = self.both(ends)
        return pooled

    def extra_repr(self) -> str:
        """Return what the way of pooling is, for ``print``."""
        return f"{self.how!r}, {self.size}"


def _mean(hidden: Tensor, chosen: Tensor) -> Tensor:
    """Return the means (texts, size) over the tokens where `chosen` (texts, tokens) is not 0."""
    weights = chosen.float()
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1)
    return (hidden.float() * weights[:, :, None]).sum(dim=1)
