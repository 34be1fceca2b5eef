"""What is wrong in a file: rows that do not fit its layout, counted up to a limit, and oddities that a rule settles."""

from __future__ import annotations

from pathlib import Path

from linnet.errors import FormatError
from linnet.reporter import warn
from linnet.text.files import open_text

__all__ = ["FEW", "SHARE_OF_ALL", "SHARE_OF_MANY", "Lines", "Malformed", "Oddities"]

FEW = 20  # malformed rows that are named, and that a file of any size may have while it is being read
SHARE_OF_MANY = 0.01  # beyond FEW, the share of the rows read so far that may be malformed
SHARE_OF_ALL = 0.1  # the share that may be malformed at the end: what refuses a short file that is mostly wrong


class Malformed:
    """What one file has in malformed rows; the reader adds one to `read` for every row it meets, good or not.

    >>> bad = Malformed("vocabulary.tsv")
    >>> bad.read = 50
    >>> bad.add(7, "the id is empty")
    >>> from linnet.reporter import Reporter, reporting
    >>> with reporting(Reporter(warn=print)):
    ...     bad.finish()
    vocabulary.tsv: 1 of 50 rows is malformed and was left out: line 7 the id is empty
    """

    def __init__(self, path: object, what: str = "rows") -> None:
        self.read = 0
        self._path, self._what = path, what
        self._count = 0
        self._first: int | None = None
        self._shown: list[str] = []

    def add(self, line: int | None, problem: str) -> None:
        """Note that the row in `line` (None = not known) is left out because of `problem`.

        Raises:
            FormatError: more than `FEW` rows and more than `SHARE_OF_MANY` of those read so far are malformed.
        """
        self._count += 1
        if self._count == 1:
            self._first = line
        if self._count <= FEW:
            self._shown.append(problem if line is None else f"line {line} {problem}")
        if self._count > max(FEW, SHARE_OF_MANY * self.read):
            raise FormatError(self._path, f"{problem}; {self._share()}, too many for this layout", line=line)

    def finish(self) -> None:
        """Tell of what was left out in one LinnetWarning.

        Raises:
            FormatError: more than `SHARE_OF_ALL` of the rows are malformed; it names the first.
        """
        if not self._count:
            return
        if self._count > SHARE_OF_ALL * self.read:
            problem = f"{'; '.join(self._shown)}; {self._share()}, too many for this layout"
            raise FormatError(self._path, problem, line=self._first)
        more = f"; and {self._count - FEW:,} more" if self._count > FEW else ""
        was = "was" if self._count == 1 else "were"
        warn(f"{self._path}: {self._share()} and {was} left out: {'; '.join(self._shown)}{more}")

    def _share(self) -> str:
        verb = "is" if self._count == 1 else "are"
        return f"{self._count:,} of {self.read:,} {self._what} {verb} malformed"


class Lines:
    """The lines of a file with their ends, and the last one given out: one without an end may be cut off."""

    def __init__(self, path: str | Path) -> None:
        self._lines = open_text(path, keep_ends=True)
        self.number, self.last = 0, ""

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        self.last = next(self._lines)
        self.number += 1
        return self.last


SHOWN = 5  # examples in a warning


class Oddities:
    """What was odd in one file: kinds, each with its lines.

    >>> odd = Oddities("hp.obo")
    >>> odd.add("is_a of a term that is not in the file, left out", 7, "HP:1")
    >>> from linnet.reporter import Reporter, reporting
    >>> with reporting(Reporter(warn=print)):
    ...     odd.warn()
    hp.obo: is_a of a term that is not in the file, left out (1): line 7 HP:1
    """

    def __init__(self, path: object) -> None:
        self._path = path
        self._found: dict[str, tuple[int, list[str]]] = {}

    def add(self, kind: str, line: int, what: str) -> None:
        """Note one case of `kind` in `line` (0 = in no one line); only the first few are kept, all are counted."""
        count, examples = self._found.get(kind, (0, []))
        if count < SHOWN:
            examples.append(f"line {line} {what}".rstrip() if line else what)
        self._found[kind] = (count + 1, examples)

    def warn(self) -> None:
        """Issue one LinnetWarning for each kind, with its count and first lines."""
        for kind, (count, examples) in self._found.items():
            more = f"; and {count - SHOWN:,} more" if count > SHOWN else ""
            warn(f"{self._path}: {kind} ({count:,}): {'; '.join(examples)}{more}")
