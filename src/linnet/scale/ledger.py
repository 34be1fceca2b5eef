"""What a job of shards has done, kept in its folder so that it goes on after any interruption.

The folder holds the shards, ``errors.jsonl``, ``manifest.json`` and a hidden folder ``.job`` with

* ``journal``: what the job is made of, then a line for each part that is done: its files with their checksums, counts,
  errors. The files were on the disk before the line was written. The last line for a part counts.
* ``ids``: 8 bytes for the id of each document, in the order of the journal, by which ids that come twice are found.
* ``lock``: held by the process that leads the job.
* ``run-…``: shards that are not complete, of one run. A later run renames and removes it, so that what workers of an
  earlier one still write can no longer take the place of a shard.

The same job made in any number of runs, by any number of workers, leaves the same shards, errors and manifest.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from linnet.errors import FormatError, LinnetError
from linnet.home import hold
from linnet.scale.shard_files import ids_in, sha256, sync
from linnet.scale.shards import ID, Done, hash_of
from linnet.text.files import replacing
from linnet.text.json_files import spelled

__all__ = ["ERRORS", "HIDDEN", "MANIFEST", "Ledger", "is_job", "opened"]

logger = logging.getLogger(__name__)

VERSION = 1
HIDDEN = ".job"
JOURNAL, IDS, LOCK = "journal", "ids", "lock"
MANIFEST = "manifest.json"
ERRORS = "errors.jsonl"
OURS = ("shard-*.jsonl", "shard-*.parquet", "documents-*.parquet", MANIFEST, ERRORS)
LISTED = 10_000  # documents whose id came before, which are listed one by one
HEAD = b'{"made of"'  # of a journal
INPUT = "names, sizes or times of change of files, or how they are read"
Key = tuple[int, int]


def is_job(folder: str | Path) -> bool:
    """Return whether a folder is one that a job of shards has written to."""
    return (Path(folder) / HIDDEN / JOURNAL).is_file()


class Ledger:
    """What is done of the job in a folder; `opened` makes one and holds its lock.

    Args:
        folder: the folder.
        made_of: what the result depends on, as JSON values by what messages call them.
        place: where the input is; of the same place, units that have not changed stay.
        units: a digest of each unit of the input.
    """

    def __init__(self, folder: Path, made_of: Mapping[str, Any], place: str, units: Sequence[str]) -> None:
        self.folder, self._hidden = folder, folder / HIDDEN
        self._made_of = json.loads(json.dumps({"version of jobs": VERSION, **made_of}, default=str))
        self._head = _encoded({"made of": self._made_of, "place": place})
        self._place, self._units = place, units
        self._lines: dict[Key, dict[str, Any]] = {}
        self._journal: IO[bytes] | None = None
        self._ids: IO[bytes] | None = None
        self.aside = self._hidden / f"run-{secrets.token_hex(6)}"
        self.total: Counter[str] = Counter()

    @property
    def done(self) -> dict[Key, int | None]:
        """The parts that are done, and how many their units have, where that is known."""
        return {key: told["parts"] for key, told in self._lines.items()}

    @property
    def nothing_but_errors(self) -> str | None:
        """The first reason why documents could not be read or linked, if there is none that could."""
        if self.total["documents"]:
            return None
        return next((told["reason"] for key in sorted(self._lines) for told in self._lines[key]["errors"]), None)

    # --- an earlier run ----------------------------------------------------------------------------------------------

    def load(self, checking: Callable[[int], None]) -> None:
        """Take over what earlier runs of the same job have done; shards that are damaged are linked again.

        Args:
            checking: called with the number of shards looked at.

        Raises:
            LinnetError: they were of another job.
        """
        whole, changed = self._read_journal()
        if self._drop_damaged(checking) or changed:  # their lines must not count again where their ids were
            self._rewrite(self._hidden / JOURNAL)
            whole = _size(self._hidden / JOURNAL)
        self._open(whole)
        for told in self._lines.values():
            self.total.update(told["counts"])
        self._write_manifest([], finished=False)

    def _read_journal(self) -> tuple[int, bool]:
        """Take over the lines of the journal; return how many of its bytes are good, and whether its input has changed.

        Of a job that has linked nothing, nothing is taken over: its options or its input are likely to be mended.
        """
        path = self._hidden / JOURNAL
        if not path.is_file():
            return 0, False
        with path.open("rb") as stream:
            head, whole = stream.readline(), 0
            for text in stream:
                if (told := _parsed(text)) is None:
                    break
                self._lines[told["unit"], told["part"]] = told
                whole = stream.tell()
        if head.startswith(HEAD) and not any(told["counts"]["documents"] for told in self._lines.values()):
            self._lines.clear()
            self.clear()
            return 0, False
        return whole, self._compare(head)

    def _compare(self, head: bytes) -> bool:
        """Return whether files of the input have changed since; what is of these is forgotten."""
        if not self._lines and self._head.startswith(head):  # torn while the job began
            return False
        try:
            read = json.loads(head)
            theirs = read["made of"]
            others = [key for key in {**self._made_of, **theirs} if theirs.get(key) != self._made_of.get(key)]
        except (ValueError, TypeError, KeyError) as error:
            raise LinnetError(f"{self.folder}: its journal is damaged; link everything afresh with --fresh") from error
        if others == ["input"] and self._lines and read.get("place") == self._place:
            self._drop_changed()
            return True
        if others and self._lines:
            named = [f"{key} ({INPUT})" if key == "input" else key for key in others]
            made = f"{self.folder}: what is there was made with another {' and another '.join(named)}"
            raise LinnetError(f"{made}: give another folder, or link everything afresh with --fresh")
        return False

    def _drop_changed(self) -> None:
        before = len(self._lines)
        of_units = dict(enumerate(self._units))
        self._lines = {key: told for key, told in self._lines.items() if told.get("of") == of_units.get(key[0], "")}
        left = len(self._lines)
        said = "%s: files of the input have changed since: of %s finished parts, %s stay, the others are linked again"
        logger.warning(said, self.folder, f"{before:,}", f"{left:,}")

    def _drop_damaged(self, checking: Callable[[int], None]) -> bool:
        """Forget the parts whose shards or ids are damaged; return whether there are any."""
        before, size = len(self._lines), _size(self._hidden / IDS)
        for number, (key, told) in enumerate(list(self._lines.items()), 1):
            fits = told["ids"] + ID * told["counts"]["given"] <= size
            if not (fits and all(self._is_whole(file) for file in told["files"])):
                del self._lines[key]
                named = ", ".join(file["file"] for file in told["files"]) or f"part {key}"
                logger.warning("%s: %s is damaged, or gone: it is linked again", self.folder, named)
            checking(number)
        return len(self._lines) < before

    def _rewrite(self, path: Path) -> None:
        with replacing(path) as out:
            out.write(self._head.decode())
            out.writelines(_encoded(told).decode() for told in self._lines.values())
            out.flush()
            os.fsync(out.fileno())
        sync(path.parent)

    def _is_whole(self, told: Mapping[str, Any]) -> bool:
        path = self.folder / told["file"]
        return (_size(path), sha256(path)) == (told["bytes"], told["sha256"]) if path.is_file() else False

    def _open(self, whole: int) -> None:
        self.aside.mkdir()
        self._ids = (self._hidden / IDS).open("ab")
        self._ids.truncate(
            max((line["ids"] + ID * line["counts"]["given"] for line in self._lines.values()), default=0)
        )
        self._journal = (self._hidden / JOURNAL).open("ab")
        self._journal.truncate(whole)
        self._journal.seek(whole)
        if not whole:
            self._write(self._journal, self._head)
            sync(self._hidden)
            sync(self.folder)

    def clear(self) -> None:
        """Forget what earlier runs have done."""
        for pattern in OURS:
            for path in self.folder.glob(pattern):
                path.unlink()
        (self._hidden / IDS).unlink(missing_ok=True)
        (self._hidden / JOURNAL).unlink(missing_ok=True)  # the last: a folder without one is not taken for a job's

    # --- this run ----------------------------------------------------------------------------------------------------

    def note(self, some: Sequence[Done]) -> None:
        """Keep that parts are done, whose files are on the disk."""
        if not some or self._ids is None or self._journal is None:
            return
        place = self._ids.seek(0, os.SEEK_END)
        lines = []
        for one in some:
            told = {name: getattr(one, name) for name in ("unit", "part", "parts", "files", "counts", "errors")}
            lines.append({**told, "ids": place, "of": self._units[one.unit]})
            place += len(one.ids)
        self._write(self._ids, b"".join(one.ids for one in some))
        self._write(self._journal, b"".join(map(_encoded, lines)))
        for told in lines:
            self._lines[told["unit"], told["part"]] = told
            self.total.update(told["counts"])

    def _write(self, stream: IO[bytes], data: bytes) -> None:
        try:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError as error:
            problem = f"{self.folder} cannot be written: {error.strerror or error}"
            raise LinnetError(f"{problem}; make room and run the same command to go on") from error

    def close(self, *, finished: bool) -> None:
        """Write ``errors.jsonl`` and the manifest, and close what is open.

        Args:
            finished: all parts are done.
        """
        for stream in filter(None, (self._journal, self._ids)):
            with suppress(OSError):
                stream.close()
        _remove(self.aside)
        lines = [self._lines[key] for key in sorted(self._lines)]
        errors = [{**told} for line in lines for told in line["errors"]]
        twice, listed = self._twice(lines) if finished else (0, [])
        with replacing(self.folder / ERRORS) as out:
            out.writelines(spelled(json.dumps(told, ensure_ascii=False)) + "\n" for told in [*errors, *listed])
        self.total["twice"] = twice
        self._write_manifest(lines, finished=finished)
        if finished:
            listed_files = {file["file"] for line in lines for file in line["files"]} | {MANIFEST, ERRORS}
            for path in (path for pattern in OURS for path in self.folder.glob(pattern)):
                if path.name not in listed_files:  # of a worker whose run had ended
                    path.unlink()

    def _write_manifest(self, lines: Sequence[Mapping[str, Any]], *, finished: bool) -> None:
        manifest = {
            "linnet job": VERSION,
            "finished": finished,
            **{name: self.total[name] for name in ("documents", "mentions", "errors", "twice")},
            "made of": self._made_of,
            "shards": [{**file, **_counted(line)} for line in lines for file in line["files"]],
        }
        with replacing(self.folder / MANIFEST) as out:
            out.write(spelled(json.dumps(manifest, indent=1, ensure_ascii=False)) + "\n")

    def _twice(self, lines: Sequence[Mapping[str, Any]]) -> tuple[int, list[dict[str, str]]]:
        """Return how many documents have the id of one before them, and what ``errors.jsonl`` says of the first."""
        raw = np.fromfile(self._hidden / IDS, dtype=np.uint64)
        parts = [raw[line["ids"] // ID : line["ids"] // ID + line["counts"]["given"]] for line in lines]
        hashes = np.concatenate(parts) if parts else raw[:0]
        order = np.argsort(hashes, kind="stable")
        again = order[1:][hashes[order[1:]] == hashes[order[:-1]]]
        before = order[:-1][hashes[order[1:]] == hashes[order[:-1]]]
        if not len(again):
            return 0, []
        ends = np.cumsum([len(part) for part in parts])
        listed = np.sort(again[:LISTED]), before[:LISTED][np.argsort(again[:LISTED])]
        places = zip(*(np.searchsorted(ends, some, "right").tolist() for some in listed), strict=True)
        named = [(_name(lines[one]), _name(lines[other])) for one, other in places]
        ids = self._ids_of(hashes[listed[0]], [one for one, _ in named])
        told = [
            {**({"document": id} if id else {}), "source": one, "reason": f"a document of this id is in {other} too"}
            for id, (one, other) in zip(ids, named, strict=True)
        ]
        return len(again), told

    def _ids_of(self, hashes: Sequence[Any], names: Sequence[str]) -> list[str]:
        """Return the ids that hashes are of, by the names of shards that hold them; "" of documents that failed."""
        wanted = [hash.tobytes() for hash in hashes]
        meant = set(wanted)
        found: dict[bytes, str] = {}
        for name in dict.fromkeys(name for name in names if (self.folder / name).is_file()):
            found.update({hash: id for id in ids_in(self.folder / name) if (hash := hash_of(id)) in meant})
        return [found.get(hash, "") for hash in wanted]


def _name(line: Mapping[str, Any]) -> str:
    return next((str(file["file"]) for file in line["files"]), f"unit {line['unit']}")


def _counted(line: Mapping[str, Any]) -> dict[str, int]:
    return {name: line["counts"][name] for name in ("documents", "mentions")}


def _encoded(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _parsed(text: bytes) -> dict[str, Any] | None:
    """Return a line of the journal; None of one that was not written whole."""
    try:
        told: dict[str, Any] = json.loads(text)
    except ValueError:
        return None
    names = {"unit", "part", "parts", "files", "counts", "errors", "ids"}
    return told if text.endswith(b"\n") and names <= told.keys() else None


def _remove(aside: Path) -> None:
    """Remove the folder of a run whose workers may still write there: first of all it loses the name they know."""
    ended = aside.with_name(f"ended-{secrets.token_hex(6)}")
    with suppress(OSError):
        aside.rename(ended)
    shutil.rmtree(ended, ignore_errors=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


@contextmanager
def opened(
    folder: str | Path, made_of: Mapping[str, Any], *, place: str, units: Sequence[str], fresh: bool = False
) -> Iterator[Ledger]:
    """Give the ledger of a folder, made if needed, and hold its lock while the block runs.

    Args:
        folder: what a job writes to: new, empty, or an earlier job's.
        made_of: as for `Ledger`.
        place: as for `Ledger`.
        units: as for `Ledger`.
        fresh: forget what earlier runs have done.

    Raises:
        FormatError: a folder that holds something else, or cannot be written to.
        LinnetError: another process leads a job there.
    """
    where = Path(folder)
    if where.exists() and not where.is_dir():
        raise FormatError(folder, "is a file: a job of shards writes a folder")
    try:
        others = [path.name for path in where.iterdir() if path.name != HIDDEN] if where.is_dir() else []
        if others and not is_job(where):
            raise FormatError(folder, f"holds {min(others)!r} already: choose a new folder")
        (where / HIDDEN).mkdir(parents=True, exist_ok=True)
        lock = hold(where / HIDDEN / LOCK)
    except (OSError, sqlite3.Error) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FormatError(folder, f"cannot be written to: {said}") from error
    if lock is None:
        raise LinnetError(f"{folder}: another process is linking to it; wait until it is done, or give another folder")
    try:
        ledger = Ledger(where, made_of, place, units)
        for old in chain((where / HIDDEN).glob("run-*"), (where / HIDDEN).glob("ended-*")):
            _remove(old)
        if fresh:
            ledger.clear()
        yield ledger
    finally:
        lock.close()
