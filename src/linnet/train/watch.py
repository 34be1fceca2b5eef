"""The dev scores of a training: which weights are the best, and when to stop."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

__all__ = ["Watch"]


@dataclass
class Watch:
    """What the dev scores say so far.

    Args:
        min_gain: by what share of the last gain's score a score must exceed it to count as another.
        best: the highest score.
        gained: the score of the last gain.
        waited: evaluations since then.

    >>> watch = Watch(min_gain=0.1)
    >>> [(watch.see(score), watch.waited) for score in (0.5, 0.52, 0.56, 0.55)]
    [(True, 0), (True, 1), (True, 0), (False, 1)]
    """

    min_gain: float = 0.0
    best: float | None = None
    gained: float | None = None
    waited: int = 0

    def see(self, score: float) -> bool:
        """Note a score, and return whether it is the best so far."""
        least = 0.0 if self.gained is None else self.gained + self.min_gain * abs(self.gained)
        if self.gained is None or (score > self.gained and score >= least):
            self.gained, self.waited = score, 0
        else:
            self.waited += 1
        if self.best is not None and score <= self.best:
            return False
        self.best = score
        return True

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it."""
        return dataclasses.asdict(self)
