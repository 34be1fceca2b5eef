"""Concepts set aside on disk, so that a stream can be looked at twice without being held in memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from types import TracebackType

from linnet.data import Concept, Name
from linnet.errors import LinnetError

__all__ = ["Spool"]


class Spool:
    """A temporary file of concepts, found again by the place where each was put; gone when closed.

    >>> with Spool() as spool:
    ...     place = spool.put(Concept("X:1", (Name("one"),), origin="x.tsv:2"))
    ...     concept = spool.get(place)
    >>> concept.name, concept.origin
    ('one', 'x.tsv:2')
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed by __exit__
        self._end = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()

    def put(self, concept: Concept) -> int:
        """Append a concept and return its place; all are put before the first is taken back.

        Raises:
            LinnetError: the disk is full.
        """
        fields = [
            concept.id,
            [(name.text, name.scope, name.language, name.source) for name in concept.names],
            concept.types,
            concept.definition,
            concept.parents,
            concept.xrefs,
            concept.replaced_by,
            concept.origin,
        ]
        line = json.dumps(fields).encode() + b"\n"  # ASCII, so that lone surrogates survive as far as the builder
        place = self._end
        try:
            self._file.write(line)
        except OSError as error:
            folder = tempfile.gettempdir()
            raise LinnetError(f"cannot write a temporary file in {folder}: {error.strerror}; set TMPDIR") from error
        self._end += len(line)
        return place

    def get(self, place: int) -> Concept:
        """Return the concept that was put at `place`; concepts in the order they were put are read fastest."""
        if self._file.tell() != place:
            self._file.seek(place)
        return _concept(self._file.readline())

    def __iter__(self) -> Iterator[tuple[int, Concept]]:
        """Yield (place, concept) of all, in the order they were put."""
        place = 0
        self._file.seek(0)
        for line in self._file:
            yield place, _concept(line)
            place += len(line)


def _concept(line: bytes) -> Concept:
    id, names, types, definition, parents, xrefs, replaced_by, origin = json.loads(line)
    return Concept(
        id,
        tuple(Name(*name) for name in names),
        tuple(types),
        definition,
        tuple(parents),
        tuple(xrefs),
        replaced_by,
        origin,
    )
