"""Files beside a knowledge base that follow its edits: tables, indexes and vectors of its names.

A file is called after the knowledge base, what it is and a hash of the options it was made with, and says in its header
of which version of the knowledge base it is. One that is not there, damaged, or made by other rules is made; one of an
earlier version is brought up to date: what it holds of concepts that have not changed is taken from it. Large files
that would take long to write again may stay as they are, with what edits added in a second file (`SideFile.layers`).

Of several processes that need the same file one makes it, and the others wait for it.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, Stored, kept, open_arrays, replaced
from linnet.errors import KnowledgeBaseError
from linnet.home import hold
from linnet.kb.knowledge_base import KnowledgeBase, Mask

__all__ = ["Earlier", "Layers", "SideFile", "build_once"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
Rows = npt.NDArray[np.int64]

COVERED = "covered"  # the array of the concepts that a second file is of, those without rows too
POLL = 0.2  # seconds between two looks whether another process is done


class Earlier(NamedTuple, Generic[T]):
    """What a file of an earlier version holds, and which of its rows still hold, bool (n,)."""

    content: T
    stay: npt.NDArray[np.bool_]


class Layers(NamedTuple, Generic[T]):
    """What a file holds that was made before some edits, and what these have added.

    ``path`` is the file, ``added`` what the concepts have now that have changed since, ``live`` all others; both are
    None if none has.
    """

    path: Path
    base: T
    added: T | None = None
    live: Mask | None = None


class _File(NamedTuple, Generic[T]):
    stored: Stored
    content: T

    @property
    def version(self) -> str:
        """Of the knowledge base it was made of."""
        return str(self.stored.header["about"]["kb"])

    @property
    def covered(self) -> Rows:
        """The concepts that a second file is of, ascending; none of one that does not say."""
        return self.stored.arrays.get(COVERED, np.empty(0, np.int32)).astype(np.int64)


class SideFile(ABC, Generic[T]):
    """Base of files of a kind, whose content is a T once it is open.

    Args:
        kb: the knowledge base that the file belongs to.
        options: what it is made with, as JSON; others make another file.
        rules: what else it is made by, as JSON; others make it anew.

    Attributes:
        WHAT: what it is, for messages.
        SUFFIX: of its name, behind that of the knowledge base.
        MAGIC: the line it begins with, line break included.
        ARRAYS: names of the arrays that it holds, among them ``concepts`` (n,), the concept of each row.
        ANEW: if a larger share of the concepts has changed, everything is made anew; 0 = at every edit.
    """

    WHAT: ClassVar[str]
    SUFFIX: ClassVar[str]
    MAGIC: ClassVar[bytes]
    ARRAYS: ClassVar[tuple[str, ...]]
    ANEW: ClassVar[float] = 0.0

    def __init__(
        self, kb: KnowledgeBase, options: Mapping[str, Any] | None = None, rules: Mapping[str, Any] | None = None
    ) -> None:
        self.kb = kb
        self.about: dict[str, Any] = json.loads(json.dumps({**(options or {}), **(rules or {})}))
        told = json.dumps(options, sort_keys=True).encode()
        hashed = f"-{hashlib.blake2b(told, digest_size=6).hexdigest()}" if options else ""
        self.path = kb.path.with_name(f"{kb.path.name}.{self.SUFFIX}{hashed}")

    @abstractmethod
    def write(self, writer: ArraysWriter, concepts: Sequence[int] | None, earlier: Earlier[T] | None) -> dict[str, Any]:
        """Write the arrays, and return what else the header shall tell; may be called twice.

        Args:
            writer: of an empty file.
            concepts: whose names are to be read from the knowledge base; None = all.
            earlier: whose rows that stay are to be written too.
        """

    @abstractmethod
    def read(self, stored: Stored) -> T:
        """Return what an open file holds; KeyError, TypeError or ValueError where it is of another shape."""

    @property
    def files(self) -> list[Path]:
        """The existing files of this kind and these options, with their own side files."""
        name = glob.escape(self.path.name)
        found = [*self.path.parent.glob(name), *self.path.parent.glob(f"{name}.*")]
        return sorted(path for path in found if path.suffix != ".part")

    def current(self) -> T:
        """Return what the file holds, opened if it is there and of this version, else made and kept.

        Where the folder cannot be written to, it is made in a temporary file, with a warning.

        Raises:
            KnowledgeBaseError: it cannot be written anywhere.
        """
        return self._update(self.path, self._open(self.path)).content

    def layers(self, *elsewhere: Path) -> Layers[T]:
        """Return what the file holds, and beside it what edits have added since it was made.

        Args:
            elsewhere: files that are looked for first.

        Raises:
            KnowledgeBaseError: it cannot be written anywhere.
        """
        base = None
        for path in (*elsewhere, self.path):
            base = self._open(path)
            if base is not None and (changed := self._find_changed(base)) is not None:
                return self._add_layer(path, base, changed)
        return Layers(self.path, self._update(self.path, base).content)

    def _add_layer(self, path: Path, base: _File[T], changed: Rows) -> Layers[T]:
        if base.version == self.kb.version:
            return Layers(path, base.content)
        beside, since = path.with_name(f"{path.name}.edits"), base.version
        added = self._update(beside, self._open(beside, since=since), changed, since=since)
        live = self.kb.mask().array.copy()
        live[changed] = False
        return Layers(path, base.content, added.content, Mask(live, self.kb.version))

    def make(self, path: Path) -> T:
        """Make everything anew in the file `path`, which it replaces when it is finished.

        Raises:
            OSError: the folder cannot be written to.
        """
        return replaced(path, lambda file: self._write(file, None, None, {})).content

    def _update(self, path: Path, found: _File[T] | None, among: Rows | None = None, **more: str) -> _File[T]:
        """Return the file that was found, or one of this version of the concepts `among` (None = all)."""

        def make(found: _File[T] | None) -> _File[T]:
            earlier, fresh = self._earlier(found, among)
            return kept(path, lambda file: self._write(file, fresh, earlier, more, among), what=self.WHAT)

        def fits(one: _File[T]) -> bool:
            # edits that are undone bring a version back, but what has changed since another one has become more
            return one.version == version and (among is None or np.array_equal(one.covered, among))

        version = self.kb.version
        return build_once(path, found, lambda: self._open(path, **more), make, fits=fits)

    def _open(self, path: Path, **more: str) -> _File[T] | None:
        """Return a file of whatever version; None if there is none that was made of the same."""
        stored = open_arrays(path, self.MAGIC, names=self.ARRAYS)
        about = stored.header.get("about") if stored is not None else None
        if stored is None or not isinstance(about, dict) or "kb" not in about:
            return None
        if any(about.get(key) != value for key, value in {**self.about, **more}.items()):
            return None
        try:
            return _File(stored, self.read(stored))
        except (KeyError, TypeError, ValueError):
            return None

    def _find_changed(self, file: _File[T]) -> Rows | None:
        """Return the concepts that have changed since; None if everything is to be made anew."""
        if file.version == self.kb.version:
            return np.empty(0, np.int64)
        if not self.ANEW:
            return None
        try:
            changed = self.kb.changed_since(file.version)
        except KnowledgeBaseError:
            return None  # of another knowledge base that stood here before
        return None if len(changed) > self.ANEW * len(self.kb) else changed

    def _earlier(self, found: _File[T] | None, among: Rows | None) -> tuple[Earlier[T] | None, list[int] | None]:
        """Return what stays of a file, and the concepts that are to be read again."""
        if found is None or (changed := self._find_changed(found)) is None:
            return None, None if among is None else among.tolist()
        concepts = found.stored.arrays["concepts"]
        stay = ~np.isin(concepts, changed)
        if among is not None:
            # concepts that are no longer among them are again what they were when the other file was made
            stay &= np.isin(concepts, np.intersect1d(among, found.covered))
            changed = np.union1d(np.intersect1d(changed, among), np.setdiff1d(among, found.covered))
        return Earlier(found.content, stay), changed.tolist()

    def _write(
        self,
        file: IO[bytes],
        concepts: Sequence[int] | None,
        earlier: Earlier[T] | None,
        more: Mapping[str, str],
        covered: Rows | None = None,
    ) -> _File[T]:
        writer = ArraysWriter(file, self.MAGIC)
        told = self.write(writer, concepts, earlier)
        if covered is not None:
            writer.put(COVERED, covered.astype(np.int32))
        stored = writer.finish({**told, "about": {**self.about, **more, "kb": self.kb.version}})
        return _File(stored, self.read(stored))


def build_once(
    path: Path,
    found: T | None,
    find: Callable[[], T | None],
    make: Callable[[T | None], T],
    *,
    fits: Callable[[T], bool] = lambda _: True,
) -> T:
    """Return what was found if it fits; else wait for another process that makes it, or make it.

    Args:
        path: the file that is made.
        found: what it holds; None if there is none.
        find: looks again.
        make: is given what was found.
        fits: whether what was found needs no making.
    """
    if found is None or not fits(found):
        with _alone(path) as waited:
            found = find() if waited else found
            if found is None or not fits(found):
                return make(found)
    return found


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Hold the lock of a file while the block makes it, and tell whether another process held it before.

    Where no lock can be made, two may make the file at once: each is whole, and the last stays.
    """
    lock = path.with_name(f".{path.name}.lock")
    held, waited = None, False
    with suppress(sqlite3.Error):
        while (held := hold(lock)) is None:
            if not waited:
                logger.info("%s: another process makes it, waiting until it is done", path)
            waited = True
            time.sleep(POLL)  # in short sleeps, not in SQLite, so that Ctrl-C is heard
    try:
        yield waited
    finally:
        if held is not None:
            held.close()
            with suppress(OSError):  # who waits may have it open, on a system that minds
                lock.unlink()
