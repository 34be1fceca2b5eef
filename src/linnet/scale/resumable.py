"""Linked documents of a long job, kept beside its output until that is written, so that an interrupted job can resume.

The folder ``OUT.unfinished`` holds

* ``documents``: the finished documents, in the format of the output if that grows (`linnet.corpora.Format`), so that
  it becomes the output when all is done; else as JSON Lines, with all they hold;
* ``progress``: what the job is made of, then a line for each finished batch: how many documents and bytes there are
  with it, a checksum of its bytes, and a digest of all documents that were given up to it;
* ``lock``: held by the process that writes.

A batch counts when its line is there and its bytes are those of the checksum. What a killed process or a power cut has
left behind the last such batch is dropped. A job resumes only if it is made of the same, and if the very documents that
were finished are given again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import shutil
import sqlite3
import stat
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from linnet.codec import loads
from linnet.corpora import growing
from linnet.corpora.jsonl import line
from linnet.corpora.names import Remembering
from linnet.data import Document, Rows
from linnet.errors import FormatError, LinnetError
from linnet.home import check_output, hold, permit, real_path, rename
from linnet.pipeline.component import Component, batches
from linnet.text.files import replacing

__all__ = ["Unfinished", "keeping", "place_of", "rest", "to_disk"]

logger = logging.getLogger(__name__)

VERSION = 1
DOCUMENTS, PROGRESS, LOCK, ASIDE = "documents", "progress", "lock", "output"
JOURNAL = f"{LOCK}-journal"  # which SQLite makes
CHUNK = 1 << 20
JSON_LINES = json.JSONEncoder(separators=(",", ":"))


def place_of(output: str | Path) -> Path:
    """Return the folder that the unfinished documents of an output are kept in: on the same disk, links followed."""
    return Path(f"{real_path(output)}.unfinished")


class _Done(NamedTuple):
    """What is finished: documents and their bytes, the digest of what was given, bytes of the lines that tell of it."""

    documents: int = 0
    size: int = 0
    given: str = ""
    told: int = 0


class Unfinished:
    """The finished documents of one job; `keeping` makes one and holds its lock.

    Args:
        output: the file or folder that is to be written.
        format: what they are kept as, one that grows.
        made_of: what the result depends on beside the documents, as JSON values by what messages call them.
        rows: the knowledge base of candidates.
    """

    def __init__(self, output: str | Path, *, format: str, made_of: Mapping[str, Any], rows: Rows | None) -> None:
        self.output, self.format, self.folder = output, format, place_of(output)
        self._rows = Remembering.of(rows)
        self._written = growing(output, format=format, rows=self._rows)
        told = {"version of what is kept": VERSION, **made_of, "format": format}
        self._made_of = json.loads(json.dumps(told, default=str))
        self._files: list[IO[bytes]] = []
        self._done = _Done()
        self._given = hashlib.blake2b(digest_size=16)

    @property
    def documents(self) -> int:
        """How many documents are finished."""
        return self._done.documents

    @property
    def aside(self) -> Path:
        """Where an output can be written until it is complete; no more than one at a time."""
        return self.folder / ASIDE

    def __len__(self) -> int:
        return self.documents

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents that are finished now, if they are kept as JSON Lines."""
        if self.format != "jsonl":
            raise LinnetError(f"documents that are kept as {self.format} cannot be read again")
        with self._saying(), (self.folder / DOCUMENTS).open("rb") as stream:
            for text in itertools.islice(stream, self.documents):
                yield loads(text.decode(), self._rows)

    # --- resuming ----------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Find out what an earlier process has finished of the same job; what it did not finish is dropped."""
        progress, documents = self.folder / PROGRESS, self.folder / DOCUMENTS
        done = _Done()
        with suppress(FileNotFoundError), self._saying(), progress.open("rb") as told, documents.open("rb") as bytes_:
            head = told.readline()
            if other := self._other(head):
                logger.warning("%s: %s: all documents are linked afresh", self.folder, other)
            else:
                start = _Done(size=len(self._written([])), told=len(head))
                bytes_.seek(start.size)
                done = next(iter(deque(_read_finished(told, bytes_, start), maxlen=1)), start)
                if told.seek(0, os.SEEK_END) != done.told or bytes_.seek(0, os.SEEK_END) != done.size:
                    logger.warning("%s: what was not written whole is linked again", self.folder)
        if not done.documents:
            self.clear()
            return
        self._open("r+b", done)
        self._done = done

    def _other(self, head: bytes) -> str:
        """Return in what an earlier job differs, or nothing."""
        try:
            theirs = json.loads(head)["made of"]
            others = [key for key, ours in self._made_of.items() if theirs.get(key) != ours]
        except (ValueError, TypeError, KeyError, AttributeError):
            return "its beginning is damaged"
        return f"what is finished was made with another {' and another '.join(others)}" if others else ""

    def begins(self, given: Iterator[Document]) -> bool:
        """Take as many of the given documents as are finished, and return whether they are the very ones.

        If they are not, everything is forgotten.
        """
        count = 0
        for doc in itertools.islice(given, self.documents):
            self._note(doc)
            count += 1
        if (count, self._given.hexdigest()) == (self.documents, self._done.given):
            return True
        logger.warning("%s: the documents are not those of before: all are linked afresh", self.folder)
        self.clear()
        return False

    def clear(self) -> None:
        """Forget what was finished."""
        self._given = hashlib.blake2b(digest_size=16)
        self._open("wb", _Done())
        head = self._written([])
        self._done = _Done(size=len(head))
        self._write(0, head)
        self._write(1, JSON_LINES.encode({"made of": self._made_of}).encode() + b"\n")

    def _open(self, mode: str, done: _Done) -> None:
        """Open both files for writing behind what is finished."""
        self.close()
        with self._saying():
            for name, size in ((DOCUMENTS, done.size), (PROGRESS, done.told)):
                self._files.append((self.folder / name).open(mode))
                self._files[-1].truncate(size)
                self._files[-1].seek(size)

    # --- keeping -----------------------------------------------------------------------------------------------------

    def keep(self, given: Sequence[Document], linked: Sequence[Document]) -> None:
        """Keep a finished batch: what was given, and what became of it.

        Raises:
            LinnetError: it cannot be written; what was kept before stays.
        """
        for doc in given:
            self._note(doc)
        data = self._written(linked)
        count, size, digest = self.documents + len(linked), self._done.size + len(data), self._given.hexdigest()
        told = {"documents": count, "bytes": size, "checksum": zlib.crc32(data), "given": digest}
        self._write(0, data)
        self._write(1, JSON_LINES.encode(told).encode() + b"\n")
        self._done = _Done(count, size, given=digest)

    def _note(self, doc: Document) -> None:
        """Add a document that was given to the digest."""
        self._given.update(f"{doc.id}\0{doc.text}\0".encode("utf-8", "surrogatepass"))
        if doc.mentions is not None or doc.reviewed is not None:
            self._given.update(line(doc, self._rows).encode())
        else:  # the same in half the time
            rest = repr((doc.passages, doc.sentences, doc.abbreviations, doc.meta))
            self._given.update(rest.encode("utf-8", "surrogatepass"))

    def _write(self, place: int, data: bytes) -> None:
        with self._saying():
            self._files[place].write(data)
            self._files[place].flush()  # to the system: a killed process loses none of it

    @contextmanager
    def _saying(self) -> Iterator[None]:
        """Say what to do when something cannot be read or written."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = f"{self.folder} cannot be written: {error.strerror or error}"
            raise LinnetError(f"{reason}; make room and run the same command to resume") from error

    def become_output(self) -> None:
        """Make of the finished documents the output itself, which is in the format that they are kept in."""
        self.close()
        finished = self.folder / DOCUMENTS
        if str(self.output).lower().endswith(".gz"):
            with replacing(self.output, aside=self.aside) as out, finished.open(encoding="utf-8", newline="") as text:
                shutil.copyfileobj(text, out, CHUNK)
        else:
            to_disk(finished)
            target = check_output(self.output)
            permit(finished, target)
            rename(finished, target)

    def close(self) -> None:
        """Close the files."""
        while self._files:
            with suppress(OSError):  # what no room was left for, which was said already
                self._files.pop().close()


def _read_finished(told: IO[bytes], documents: IO[bytes], done: _Done) -> Iterator[_Done]:
    """Yield what is finished with each whole batch behind what is `done`."""
    for text in told:
        try:
            value = json.loads(text) if text.endswith(b"\n") else {}
            after = _Done(value["documents"], value["bytes"], value["given"], done.told + len(text))
            data = documents.read(max(after.size - done.size, 0))
            if zlib.crc32(data) != value["checksum"]:
                return
        except (ValueError, KeyError, TypeError):
            return
        yield (done := after)


def rest(
    kept: Unfinished, linker: Component, given: Callable[[], Iterable[Document]], *, again: Callable[[int], None]
) -> Iterator[Document]:
    """Return the documents that are not finished yet, linked and kept batch by batch as they are taken.

    Args:
        kept: what is finished. If other documents are given now, nothing is.
        linker: the pipeline.
        given: gives the documents from the first one on, each time it is called.
        again: called with the number of finished documents compared.
    """
    docs = iter(given())
    if kept.documents:
        if kept.begins(_count(docs, again)):
            logger.info("resuming after %s finished documents", f"{kept.documents:,}")
        else:
            docs = iter(given())
    return _link(kept, linker, docs)


def _count(docs: Iterable[Document], tell: Callable[[int], None]) -> Iterator[Document]:
    for number, doc in enumerate(docs, 1):
        yield doc
        tell(number)


def _link(kept: Unfinished, linker: Component, docs: Iterable[Document]) -> Iterator[Document]:
    for some in batches(docs):
        linked = linker(some)
        kept.keep(some, linked)
        yield from linked


# --- making one ------------------------------------------------------------------------------------------------------


@contextmanager
def keeping(
    output: str | Path,
    *,
    format: str = "jsonl",
    made_of: Mapping[str, Any],
    rows: Rows | None = None,
    fresh: bool = False,
) -> Iterator[Unfinished]:
    """Give what keeps finished documents beside `output`: those of an earlier, interrupted job are there already.

    The folder is removed when the block ends. If the block raises (Ctrl-C too) it stays, unless nothing is finished.

    Args:
        output: the file or folder that is to be written.
        format: what they are kept as.
        made_of: as for `Unfinished`.
        rows: the knowledge base of candidates.
        fresh: forget what an earlier job has finished.

    Raises:
        FormatError: nothing can be written beside `output`.
        LinnetError: another process is writing to it.
    """
    kept = Unfinished(output, format=format, made_of=made_of, rows=rows)
    folder = kept.folder
    with closing(_held(folder, output)):
        try:
            shutil.rmtree(kept.aside) if kept.aside.is_dir() else kept.aside.unlink(missing_ok=True)
            if fresh:
                (folder / PROGRESS).unlink(missing_ok=True)
            kept.load()
            yield kept
        except BaseException as error:
            kept.close()
            if kept.documents:
                how = "run the same command to resume"
                how = f"fix this, then {how}" if isinstance(error, LinnetError) else how
                logger.warning("%s documents are finished: %s", f"{len(kept):,}", how)
            else:
                _remove(folder)
            raise
        kept.close()
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove what is kept, the lock last."""
    for name in (PROGRESS, DOCUMENTS, LOCK, JOURNAL):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # somebody has put something there, or holds the lock on a system that minds
        folder.rmdir()


def _held(folder: Path, output: str | Path) -> sqlite3.Connection:
    """Make the folder, and return what holds its lock."""
    lock = folder / LOCK
    try:
        _make_own(folder, output)
        held = hold(lock)
        while held is not None and not lock.exists():  # who held it before has finished, and removed it
            held.close()
            _make_own(folder, output)
            held = hold(lock)
    except FileNotFoundError as error:
        raise FormatError(output, f"cannot be written: there is no folder {folder.parent}; make it first") from error
    except OSError as error:
        raise FormatError(output, f"cannot be written: {folder}: {error.strerror}") from error
    except sqlite3.Error as error:
        raise FormatError(output, f"cannot be written: {lock}: {error}") from error
    if held is None:
        raise LinnetError(f"{output}: another process is linking to it; wait until it is done, or give another place")
    return held


def _make_own(folder: Path, output: str | Path) -> None:
    """Make the folder, for its owner alone; refuse one in which others may have put what would be written to."""
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        if strange := _strange(folder):
            problem = f"finished documents are kept in {folder}, which {strange}: move that away"
            raise FormatError(output, f"cannot be written: {problem}") from None


def _strange(folder: Path) -> str:
    """Return why a folder is none of ours, or nothing."""
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        return "is no folder"
    if state.st_uid != getattr(os, "geteuid", int)():
        return "belongs to another user"
    with suppress(PermissionError):  # not every disk knows permissions
        folder.chmod(0o700)
    known = {DOCUMENTS, PROGRESS, LOCK, JOURNAL, ASIDE}
    others = [path.name for path in folder.iterdir() if path.name not in known or path.is_symlink()]
    return f"holds {min(others)!r}" if others else ""


def to_disk(*paths: str | Path) -> None:
    """Wait until a power cut would leave the files whole, and those of folders."""
    for path in map(Path, paths):
        if path.is_file():
            with path.open("r+b") as stream:
                os.fsync(stream.fileno())
        elif path.is_dir() and hasattr(os, "sync"):
            os.sync()
