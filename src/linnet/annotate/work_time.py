"""How long a person needs for a document, learned from the milliseconds that the log holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linnet.annotate.unread import Unread
from linnet.errors import DataError

__all__ = ["FEWEST", "Timed", "WorkTime", "fit_work_time"]

FEWEST = 10  # documents; from fewer, three numbers are guesswork
PAUSE = 5.0  # whoever took so many times as long as usual did something else in between
MINUTE = 60_000.0
LEAST = 1_000.0  # ms; nobody opens and closes a document in less


class Timed(NamedTuple):
    """A document that a person finished: characters, predicted mentions to decide on, and milliseconds of work."""

    characters: int
    undecided: int
    milliseconds: float


@dataclass(frozen=True)
class WorkTime:
    """T̂ = opening + character · characters + decision · undecided mentions, all in milliseconds.

    The defaults serve until there is a log. People read 238 words of English non-fiction a minute (Brysbaert 2019),
    which is 42 ms a character; the other two are assumptions: 5 s to open a document, 4 s to judge a mention.

    >>> WorkTime().milliseconds(characters=1500, undecided=10)
    108000.0
    """

    opening: float = 5_000.0
    character: float = 42.0
    decision: float = 4_000.0

    def milliseconds(self, characters: int, undecided: int) -> float:
        """Return the time that a document of this size takes, 1,000 ms at least."""
        return max(LEAST, self.opening + self.character * characters + self.decision * undecided)

    def minutes(self, unread: Unread) -> float:
        """Return the time that a document takes, in minutes."""
        return self.milliseconds(len(unread.document.text), len(unread.mentions)) / MINUTE


def fit_work_time(log: Sequence[Timed], *, default: WorkTime | None = None) -> WorkTime:
    """Return the non-negative least squares fit to a log (Lawson & Hanson 1974), or the default where it is short.

    Documents that took more than five times as long as usual, measured against the default, are left out: the person
    was away. Fewer than ten are too few.

    Raises:
        DataError: a negative or endless time, or a negative size.

    >>> log = [Timed(size, found, 2000 + 30 * size + 1500 * found) for size in range(100, 600, 100) for found in (1, 9)]
    >>> found = fit_work_time(log)
    >>> round(found.opening), round(found.character), round(found.decision)
    (2000, 30, 1500)
    """
    default = default or WorkTime()
    if wrong := [one for one in log if not 0 <= one.milliseconds < np.inf or min(one.characters, one.undecided) < 0]:
        raise DataError(f"work time: {wrong[0]} cannot be; leave it out of the log")
    if len(log) < FEWEST:
        return default
    usual = np.array([default.milliseconds(one.characters, one.undecided) for one in log])
    rows = np.array([(1.0, one.characters, one.undecided) for one in log])
    taken = np.array([one.milliseconds for one in log])
    kept = taken / usual <= PAUSE * np.median(taken / usual)
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to import, and needed here alone

    opening, character, decision = nnls(rows[kept], taken[kept])[0].tolist()
    return WorkTime(opening, character, decision)
