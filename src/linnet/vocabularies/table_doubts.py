"""What the cells of a table may mean other than what is read of them: noted on the way, told at the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Final

from linnet.reporter import warn

__all__ = ["Doubts"]

RETIRED: Final = re.compile(
    "yes|y|true|1|x|ja|j|wahr|retired|withdrawn|obsolete|inactive|deprecated|discontinued|deleted|removed|invalid|"
    "zurückgezogen|obsolet|inaktiv|veraltet|gelöscht|ungültig|eingestellt"
)
LIVE: Final = re.compile("|no|n|false|0|nein|falsch|active|current|live|valid|approved|aktiv|aktuell|gültig|zugelassen")
SHOWN: Final = 5  # values that a warning gives
OTHERS: Final = ("; ", " | ")  # what else stands between synonyms, and seldom inside one
COMMA: Final = ", "  # which stands inside many, too
MANY: Final = 0.2  # share of the cells


class Doubts:
    """What is doubtful in one table."""

    def __init__(self, path: str, separator: str) -> None:
        self._path, self._separator = path, separator
        self._synonyms: Counter[str] = Counter()  # cells, by the other separator that they hold, and "" all of them
        self._separated = False  # whether any cell has the separator
        self._statuses: Counter[str] = Counter()  # what the column of retired concepts holds and nobody knows
        self._line = 0  # of the first of these

    def is_retired(self, status: str, line: int) -> bool:
        """Say whether a cell of the column ``retired`` retires its concept; note one that says neither.

        >>> [Doubts("t.tsv", "|").is_retired(status, 2) for status in ("Withdrawn", "aktiv", "")]
        [True, False, False]
        """
        retired = RETIRED.fullmatch(status.lower()) is not None
        if not retired and not LIVE.fullmatch(status.lower()):
            self._line = self._line or line
            self._statuses[status] += 1
        return retired

    def note_synonyms(self, cell: object) -> None:
        """Note by what the synonyms in a cell may be separated."""
        if isinstance(cell, str) and cell and self._separator:
            marks = (mark for mark in (*OTHERS, COMMA) if mark in cell and mark.strip() != self._separator)
            self._synonyms.update(["", *marks])
            self._separated |= self._separator in cell

    def tell(self, ids: Collection[str]) -> None:
        """Warn of what was noted, and of ids without a prefix: nobody else's agree with them."""
        bare = [id for id in ids if ":" not in id]
        if bare:
            message = (
                f"{len(bare):,} of {len(ids):,} ids have no prefix, for example {bare[0]!r}: they agree "
                f"with those of no corpus and no other terminology; --prefix LOCAL makes LOCAL:{bare[0]} of it "
                "(in a recipe or from Python: prefix)"
            )
            warn(f"{self._path}: {message}")
        self._tell_separators()
        self._tell_statuses()

    def _tell_separators(self) -> None:
        cells = self._synonyms[""]
        for mark in OTHERS if self._separated else (*OTHERS, COMMA):
            if (count := self._synonyms[mark]) > MANY * cells:
                held = f"{count:,} of {cells:,} cells of synonyms hold {mark!r}, which is not the separator"
                warn(f"{self._path}: {held}; --option 'separator={mark.strip()}' makes several names of each")

    def _tell_statuses(self) -> None:
        if not self._statuses:
            return
        shown = ", ".join(f"{value!r} ({count:,})" for value, count in self._statuses.most_common(SHOWN))
        more = " …" if len(self._statuses) > SHOWN else ""
        warn(
            f"{self._path}:{self._line}: the column retired says neither that a concept is retired nor that it is "
            f"live in {self._statuses.total():,} rows: {shown}{more}; these concepts are live: write yes or no there"
        )
