"""Finished parts of a training, kept beside the output folder until all parts are trained.

The output is put together in there too, and moved to its place when it is complete: a training that is killed, or has
no room left, leaves no half-written pipeline behind and can be resumed.

Of several processes that train together (``torchrun``, ``accelerate launch``) the first one writes, the others read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from linnet.checksums import write_checksums
from linnet.codec import dumps
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.home import hold, read_json, real_path, writable
from linnet.text.files import replacing

__all__ = ["Finished", "alone", "corpus_version", "first_process", "is_moving"]

NAME = "finished.json"
WHOLE = "whole"
MOVING = "moving"  # holds the key once files are put into a folder that was there
RECIPE = "pipeline.toml"  # a folder without it is not a pipeline: it is moved last


def first_process() -> bool:
    """Return whether this is the first, or the only one, of the processes that train together."""
    return os.environ.get("RANK", "0") in ("", "0")


@contextmanager
def alone(output: Path) -> Iterator[None]:
    """Keep other trainings from the folder `output`, and from the finished parts beside it, while the block runs.

    They would remove each other's parts. Where no lock can be made, nothing keeps them away.

    Raises:
        LinnetError: another process trains into it, or nothing can be written beside it.
    """
    if not first_process():
        yield
        return
    target = real_path(output)
    lock, held = writable(target.parent) / f".{target.name}.lock", None
    with suppress(sqlite3.Error):
        held = hold(lock)
        if held is None:
            raise LinnetError(f"{output}: another process trains into it: wait until it is done, or give another -o")
    try:
        yield
    finally:
        if held is not None:
            with suppress(OSError):  # on a system that minds it stays
                lock.unlink()  # before it is closed: another process might hold it by then
            held.close()


class Finished:
    """The finished parts of one training.

    Args:
        folder: what they are kept in; the parts of another training that lie there are removed.
        key: a hash of all that the training depends on.

    `seconds` holds how long each finished part took. Other folders within are left to parts that are not finished yet.

    Raises:
        LinnetError: the folder holds something that is not of a training, or cannot be made or written to.
    """

    def __init__(self, folder: Path, *, key: str) -> None:
        self.folder, self.key = folder, key
        self.seconds: dict[str, float] = {}
        path = (writable(folder) if first_process() else folder) / NAME
        found = read_json(path) if path.is_file() else {}
        if found.get("key") == key and isinstance(found.get("parts"), dict):
            self.seconds = {str(name): float(seconds) for name, seconds in found["parts"].items()}
        elif first_process():
            self._check(path)
            for other in folder.iterdir():
                shutil.rmtree(other) if other.is_dir() else other.unlink()
            self._write()  # so that checkpoints of the first part are found to be of this training

    def keep(self, name: str, save: Callable[[Path], object], *, seconds: float) -> None:
        """Save the part called `name` in its folder, and note that it is finished."""
        self.seconds[name] = seconds
        if first_process():
            with self._explain_failure():
                save(self.folder / name)
                write_checksums(self.folder / name)
            self._write()

    @contextmanager
    def publish(self, output: Path) -> Iterator[Path]:
        """Give a folder to write the pipeline to; it becomes `output`, new or empty, and what was kept is removed.

        Raises:
            LinnetError: it cannot be written; `output` is as it was, or holds some of it (`is_moving`).
        """
        made = self.folder / WHOLE
        shutil.rmtree(made, ignore_errors=True)  # of an attempt that was killed just here
        with self._explain_failure():
            yield made
        with self._explain_failure(output):
            if not output.exists():
                made.rename(output)
            else:  # a process may have it as its working folder, and it may be the root of a drive
                (self.folder / MOVING).write_text(self.key, encoding="ascii")
                for path in sorted(made.iterdir(), key=lambda path: path.name == RECIPE):
                    shutil.rmtree(output / path.name, ignore_errors=True)  # as above, or there was no room for it
                    shutil.move(path, output / path.name)
        (self.folder / MOVING).unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    def _check(self, path: Path) -> None:
        if not path.exists() and any(self.folder.iterdir()):
            message = f"{self.folder} is reserved for finished parts but contains something else"
            raise LinnetError(f"{message}: move it, or give another -o")

    @contextmanager
    def _explain_failure(self, place: Path | None = None) -> Iterator[None]:
        """Turn errors of writing to `place`, else to the finished parts, into an error with a remedy."""
        try:
            yield
        except OSError as error:
            # of a folder that is copied to another disk, shutil names every file
            said = error.args[0][0][-1] if isinstance(error, shutil.Error) else error.strerror or error
            reason = f"{place or self.folder} cannot be written: {said}"
            raise LinnetError(
                f"{reason}; make room and run the same command to resume: finished parts are kept"
            ) from error

    def _write(self) -> None:
        with self._explain_failure(), replacing(self.folder / NAME) as stream:  # other processes may be reading it
            json.dump({"key": self.key, "parts": self.seconds}, stream)


def is_moving(folder: Path, *, key: str) -> bool:
    """Return whether a training was interrupted while it put its pipeline into an empty folder, which has some of it.

    Args:
        folder: of its finished parts.
        key: as of `Finished`.
    """
    path = folder / MOVING
    return path.is_file() and path.read_text(encoding="ascii", errors="replace") == key


def corpus_version(docs: Sequence[Document]) -> str:
    """Return a hash of documents with all they hold, whatever their order.

    >>> a, b = Document.of("Fever.", "a"), Document.of("Cough.", "b")
    >>> corpus_version([a, b]) == corpus_version([b, a]) != corpus_version([a])
    True
    """
    total = 0
    for doc in docs:
        line = dumps(doc).encode("utf-8", "surrogatepass")
        total += int.from_bytes(hashlib.blake2b(line, digest_size=8).digest(), "big")
    return f"{total % (1 << 64):016x}"
