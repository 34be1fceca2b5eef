"""Oddities of vocabulary files that a stated rule settles: collected while reading, told in one warning a kind."""

from __future__ import annotations

from linnet.reporter import warn

__all__ = ["Oddities"]

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
