"""What reading must not do: take long, take much memory, give what cannot be written and read again."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import re
import resource
import signal
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from pathlib import Path
from types import FrameType

from linnet import codec
from linnet.data import Concept, Document
from linnet.errors import LinnetError

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MB = 1e6


class Hang(BaseException):
    """Reading took too long; no reader catches this."""


class UnfaithfulError(AssertionError):
    """A reader gave a record that breaks off, or changes, on its way through the codec."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Hang` after so many seconds of processor time."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise Hang(f"took more than {seconds:g} seconds")

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Peak:
    """How far memory rises above where it was, freed again or not, in MB.

    Linux forgets the highest mark when told to; where it cannot be told, only what goes beyond all marks is seen.
    """

    def __init__(self) -> None:
        with contextlib.suppress(OSError):
            CLEAR.write_text("5", encoding="ascii")
        self._before = resident()
        self._mark = _highest()

    def rise(self) -> float:
        """Return how far memory has risen since."""
        now = _highest()
        return now - self._before if now > self._mark else 0.0


def _highest() -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+)", STATUS.read_text(encoding="utf-8"))
    except OSError:
        found = None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024 / MB


def resident() -> float:
    """Return the memory of this process in MB."""
    pages = _pages()
    if pages is None:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    return pages[1] * resource.getpagesize() / MB


def reserved() -> int:
    """Return the address space of this process in bytes, 0 where the system does not tell."""
    pages = _pages()
    return pages[0] * resource.getpagesize() if pages else 0


def _pages() -> list[int] | None:
    """Return how many pages the process has reserved, how many of them it has in memory, and more."""
    try:
        return [int(count) for count in Path("/proc/self/statm").read_text(encoding="ascii").split()]
    except OSError:
        return None


def left() -> float:
    """Return the memory of this process in MB, after what is no longer used was given back to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # not of the C library of GNU
        ctypes.CDLL(None).malloc_trim(0)  # what one peak has scattered is no leak
    return resident()


def consumed(items: Iterable[object]) -> int:
    """Read to the end and return how much came.

    Raises:
        UnfaithfulError: a document that the codec does not give back as it is, or a concept with values of wrong kinds.
    """
    count = 0
    for item in items:
        count += 1
        if isinstance(item, Document):
            _check_document(item)
        elif isinstance(item, Concept):
            _check_concept(item)
    return count


def _check_document(doc: Document) -> None:
    try:
        again = codec.loads(codec.dumps(doc))
    except LinnetError as error:
        raise UnfaithfulError(f"a document cannot be written and read again: {error}") from error
    if again != doc:
        raise UnfaithfulError(f"document {doc.id!r} is another after the codec")


def _check_concept(concept: Concept) -> None:
    texts = (concept.id, concept.definition, *concept.types, *concept.parents, *concept.xrefs)
    names = [part for name in concept.names for part in astuple(name)]
    for text in (*texts, *names, concept.replaced_by or ""):
        if not isinstance(text, str):
            raise UnfaithfulError(f"concept {concept.id!r} has {text!r} where a text belongs")
    if not concept.id:
        raise UnfaithfulError("a concept has no id")
