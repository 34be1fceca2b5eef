"""A file from the web into a folder: resumed where it broke off, checked, and there in full or not at all.

Beside the file ``hp.obo`` stand ``.hp.obo.json`` (where it came from, what the server calls its state, its sha256),
while it is fetched ``.hp.obo.part`` with ``.hp.obo.part.json``, and ``.hp.obo.lock``, which one process holds at a
time. A file that arrived but is not what it should be is set aside as ``hp.obo.rejected``; an older ``hp.obo`` stays.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from linnet.errors import FormatError, LinnetError
from linnet.fetch.web import LIMITS, Limits, PassingError, WebError, ask, check_url, receive
from linnet.home import hold, permit, writable
from linnet.text.files import replacing

__all__ = ["SHA256", "Fetched", "Progress", "alone", "fetch", "full", "on_disk"]

Progress: TypeAlias = Callable[[int, int | None], None]  # bytes there, bytes in all (None: the server does not say)

SHA256 = re.compile(r"[0-9a-f]{64}")
RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/(?:([0-9]{1,18})|\*)")
BEGIN = 512  # bytes that tell a web page from a file
PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype html|html|head|script)", re.IGNORECASE)


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched: where it is, and what is known of it."""

    path: Path
    url: str
    sha256: str
    at: str  # when it was fetched, UTC
    etag: str = ""
    modified: str = ""  # Last-Modified, as the server wrote it
    fresh: bool = field(default=True, compare=False)  # False: it was there already, and unchanged at the server


def fetch(
    url: str,
    path: str | Path,
    *,
    sha256: str = "",
    check: Callable[[Path], None] | None = None,
    progress: Progress | None = None,
    limits: Limits = LIMITS,
) -> Fetched:
    """Fetch `url` into the file `path`, unless it is there and the server says that it has not changed.

    A download that breaks off is taken up again where it stopped, now or by the next call, if the server can do
    that and the file there has not changed; otherwise it begins anew. The bytes are kept as served, gzip included.

    Args:
        url: an http or https address.
        path: the file to make; an older one is replaced at the end.
        sha256: what the file must have, as 64 hexadecimal digits. A file there that has it is taken without asking
            the server.
        check: raises LinnetError if the file, still under another name, is not what was expected.
        progress: called with the bytes there and the bytes in all.
        limits: of time, tries and size.

    Raises:
        WebError: the file could not be fetched; what came so far is kept.
        LinnetError: a wrong argument, a checksum that differs, a folder or disk that cannot take the file.

    >>> fetch("file:///etc/hosts", "hosts")
    Traceback (most recent call last):
        ...
    linnet.errors.LinnetError: 'file:///etc/hosts' is no web address: expected https://HOST/FILE (or http://)
    """
    check_url(url)
    wanted = sha256.strip().lower()
    if wanted and not SHA256.fullmatch(wanted):
        raise LinnetError(f"{sha256!r} is no sha256: expected 64 hexadecimal digits")
    path = Path(path).absolute()
    writable(path.parent)
    with alone(path, limits):
        kept = _kept(path)
        if kept and wanted and kept.sha256 == wanted:
            return kept
        if kept and (kept.url != url or wanted):
            kept = None
        job = _Job(url, path, wanted, check, progress, limits, kept)
        return job.run()


def _kept(path: Path) -> Fetched | None:
    """Return what is known of the file `path`, or None if it is not, or no longer, the one that was fetched."""
    note = _read_note(path.with_name(f".{path.name}.json"))
    try:
        found = _digest(path)
    except OSError:
        return None
    if not {"url", "sha256", "at"} <= set(note) or note["sha256"] != found:
        return None
    known = {item.name for item in fields(Fetched)} - {"path", "fresh"}
    return Fetched(path, fresh=False, **{key: value for key, value in note.items() if key in known})


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_note(path: Path) -> dict[str, str]:
    """Return the texts of a note; nothing if it is missing, damaged or of another form: it can always be made anew."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    items = value.items() if isinstance(value, dict) else ()
    # what is no plain text could not be sent back to the server
    return {key: text for key, text in items if isinstance(text, str) and text.isascii() and text.isprintable()}


def _write_note(path: Path, note: Mapping[str, object]) -> None:
    with replacing(path) as out:
        json.dump(note, out, indent=1)


@dataclass
class _Job:
    """One file on its way."""

    url: str
    path: Path
    sha256: str
    check: Callable[[Path], None] | None
    progress: Progress | None
    limits: Limits
    kept: Fetched | None

    def __post_init__(self) -> None:
        self.part = self.path.with_name(f".{self.path.name}.part")
        self.part_note = self.path.with_name(f".{self.path.name}.part.json")

    def run(self) -> Fetched:
        """Try as often as the limits say, each time from where the last try stopped."""
        try:
            return self._tries()
        finally:
            if not self._note():  # nobody can go on with it
                with suppress(OSError):  # the fault that brought us here is the one to report
                    self.part.unlink(missing_ok=True)
                    self.part_note.unlink(missing_ok=True)

    def _tries(self) -> Fetched:
        for tried in range(1, self.limits.tries + 1):
            try:
                return self._try()
            except PassingError as error:
                if tried == self.limits.tries:
                    there = self.part.stat().st_size if self._note() else 0
                    kept = f"; {there:,} bytes are kept, and the next download goes on from there" if there else ""
                    raise WebError(f"{error}; gave up after {tried} tries{kept}") from error
                wait = self.limits.pause * 2 ** (tried - 1) if error.wait is None else error.wait
                time.sleep(min(wait, self.limits.patience))
        raise LinnetError(f"a download needs at least one try, not {self.limits.tries}")

    def _try(self) -> Fetched:
        note = self._note()
        done = self.part.stat().st_size if note else 0
        if note and done == _size(note):  # what is left to do was broken off
            return self._finish()
        with ask(self.url, self._conditions(note, done), limits=self.limits) as response:
            if response.status == http.client.NOT_MODIFIED:
                if self.kept is None:
                    raise WebError(f"{self.url}: the server says that a file is unchanged which it never gave")
                return self.kept
            start, total = self._begin(response, note, done)
            self._refuse(start, total)
            if not start:
                self._begin_part(response, total)
            there = self._take(response, start, total)
        if total is not None and there != total:
            raise PassingError(f"{self.url}: ended after {there:,} of {total:,} bytes")
        return self._finish()

    def _note(self) -> dict[str, str]:
        """Return the note of a part that can be gone on with, else nothing."""
        note = _read_note(self.part_note)
        usable = note.get("url") == self.url and _validator(note) and self.part.is_file()
        return note if usable and self.part.stat().st_size else {}

    def _conditions(self, note: Mapping[str, str], done: int) -> dict[str, str]:
        if note:
            return {"Range": f"bytes={done}-", "If-Range": _validator(note)}
        found: dict[str, str] = {}
        if self.kept and self.kept.etag:
            found["If-None-Match"] = self.kept.etag
        if self.kept and self.kept.modified:
            found["If-Modified-Since"] = self.kept.modified
        return found

    def _begin(self, response: http.client.HTTPResponse, note: Mapping[str, str], done: int) -> tuple[int, int | None]:
        """Return the offset at which the answer begins and the size of the whole file.

        An answer that fits no offset throws the part away, so that the next try begins anew.
        """
        if response.status == http.client.OK:
            return 0, response.length
        range_ = RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        if response.status == http.client.PARTIAL_CONTENT and note and range_ and int(range_[1]) == done:
            known = _size(note)
            total = int(range_[3] or (int(range_[2]) + 1 if known is None else known))
            if _same(response, note) and known in (None, total):
                return done, total
        with on_disk(self.path):
            self.part.unlink(missing_ok=True)
        raise PassingError(f"{self.url}: the server cannot go on where the download stopped", wait=0)

    def _refuse(self, start: int, total: int | None) -> None:
        if total is None:
            return
        if total > self.limits.size:
            raise WebError(f"{self.url}: has {total:,} bytes, more than the limit of {self.limits.size:,}")
        with on_disk(self.path):
            free = shutil.disk_usage(self.path.parent).free
        if total - start > free:
            raise full(self.path, f" for {total - start:,} bytes")

    def _begin_part(self, response: http.client.HTTPResponse, total: int | None) -> None:
        with on_disk(self.path):
            self.part_note.unlink(missing_ok=True)  # in this order no note ever describes the bytes of another file
            self.part.write_bytes(b"")
            size = {} if total is None else {"size": str(total)}
            _write_note(self.part_note, {"url": self.url, **size, **_state(response)})

    def _take(self, response: http.client.HTTPResponse, start: int, total: int | None) -> int:
        """Append the answer to the part and return the bytes there."""
        there = start
        then, came = time.monotonic(), start
        with on_disk(self.path), self.part.open("ab") as out:
            while chunk := receive(response, self.url, limits=self.limits):
                there += len(chunk)
                if there > self.limits.size:
                    out.truncate(0)
                    raise WebError(f"{self.url}: is larger than the limit of {self.limits.size:,} bytes")
                out.write(chunk)
                if self.progress:
                    self.progress(there, total)
                if (now := time.monotonic()) > then + self.limits.crawl:
                    if there < came + self.limits.least:
                        slow = f"{there - came:,} bytes in {now - then:,.0f} seconds"
                        raise PassingError(f"{self.url}: the server hardly sends anything any more ({slow})")
                    then, came = now, there
            out.flush()
            os.fsync(out.fileno())
        return there

    def _finish(self) -> Fetched:
        with on_disk(self.path):
            with self.part.open("rb") as part:
                begin = part.read(BEGIN)
            if PAGE.match(begin):
                self.part.unlink()
                raise WebError(f"{self.url}: answered with a web page instead of the file")
            digest = _digest(self.part)
        if self.sha256 and digest != self.sha256:
            aside = self._set_aside()
            raise LinnetError(
                f"{self.url}: has the sha256 {digest}, expected {self.sha256}; it was set aside as {aside}"
            )
        if self.check:
            try:
                self.check(self.part)
            except LinnetError as error:
                problem = error.problem if isinstance(error, FormatError) else error
                aside = self._set_aside()
                raise WebError(f"{self.url}: {problem}; it was set aside as {aside}") from error
        note = _read_note(self.part_note)  # a 206 may leave out what the 200 before it said
        made = Fetched(
            self.path,
            self.url,
            digest,
            datetime.now(UTC).isoformat(timespec="seconds"),
            note.get("etag", ""),
            note.get("modified", ""),
        )
        kept = {key: value for key, value in asdict(made).items() if key not in ("path", "fresh")}
        with on_disk(self.path):
            permit(self.part, self.path)
            self.part.replace(self.path)
            _write_note(self.path.with_name(f".{self.path.name}.json"), kept)
            self.part_note.unlink(missing_ok=True)
        return made

    def _set_aside(self) -> Path:
        aside = self.path.with_name(f"{self.path.name}.rejected")
        with on_disk(self.path):
            self.part.replace(aside)
            self.part_note.unlink(missing_ok=True)
        return aside


def _state(response: http.client.HTTPResponse) -> dict[str, str]:
    """Return what the server calls the state of the file: its ETag and its date."""
    return {"etag": response.headers.get("ETag", ""), "modified": response.headers.get("Last-Modified", "")}


def _size(note: Mapping[str, str]) -> int | None:
    """Return the bytes of the whole file of which a part is there, if the server said them."""
    size = note.get("size", "")
    return int(size) if re.fullmatch(r"[0-9]{1,18}", size) else None


def _same(response: http.client.HTTPResponse, note: Mapping[str, str]) -> bool:
    """Say whether an answer about the rest of a file says nothing else of its state than the answer before it."""
    now = _state(response)
    return all(not now[key] or not note.get(key) or now[key] == note[key] for key in now)


def _validator(note: Mapping[str, str]) -> str:
    """Return what tells whether a half-fetched file is still the same; a weak ETag does not promise equal bytes."""
    etag = note.get("etag", "")
    return etag if etag and not etag.startswith("W/") else note.get("modified", "")


POLL = 0.2  # seconds between two looks whether another process is done


@contextmanager
def alone(path: Path, limits: Limits) -> Iterator[None]:
    """Hold the lock of the file or folder `path`, which need not exist, in a folder that does.

    Raises:
        LinnetError: another process holds it for longer than the limits say, or the disk takes no locks.
    """
    lock = path.with_name(f".{path.name}.lock")
    deadline = time.monotonic() + limits.queue
    with on_disk(path):
        try:
            while (held := hold(lock)) is None:
                if time.monotonic() > deadline:
                    raise LinnetError(f"{path}: another process is still fetching it; try again when it is done")
                time.sleep(POLL)  # in short sleeps, not in SQLite, so that Ctrl-C is heard
        except sqlite3.Error as error:
            raise LinnetError(f"{path}: cannot be locked ({error}); set LINNET_HOME to another disk") from error
    with closing(held):
        yield


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Put what the disk refuses into a sentence; faults of the network are no longer OSErrors here.

    Raises:
        LinnetError: what the disk refused, for `path`.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise full(path) from error
        said = getattr(error, "strerror", None) or error
        raise LinnetError(f"{path}: cannot be written ({said}); set LINNET_HOME to another folder") from error


def full(path: Path, needed: str = "") -> LinnetError:
    """Return the error of a disk that has no room for `path`; `needed` says for how much."""
    cure = "make room or set LINNET_HOME to another disk, and run it again: it goes on where it stopped"
    return LinnetError(f"{path}: no space left in {path.parent}{needed}; {cure}")
