"""Where knowledge bases and models live (``LINNET_HOME``, else the XDG data folder of the user) and their settings."""

from __future__ import annotations

import errno
import glob
import itertools
import json
import os
import re
import secrets
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from linnet.errors import FormatError, KnowledgeBaseError, LinnetError, did_you_mean

__all__ = [
    "MAGIC",
    "PIPELINE_NAME",
    "SEVERAL",
    "TRAINED",
    "check_output",
    "expanded",
    "hold",
    "home",
    "kb_folder",
    "kb_named",
    "kb_path",
    "near_name",
    "permit",
    "pipelines_folder",
    "put",
    "read_json",
    "real_path",
    "rename",
    "scratch",
    "sweep",
    "sweep_folders",
    "writable",
]

LISTED = 1_000  # names in a folder, among which one is looked for that is nearly right
STALE = 86_400.0  # seconds after which nobody writes to an unfinished file any more
MAGIC = b"SQLite format 3\x00"  # how every database of SQLite begins
TRAINED = ("pipeline.toml", "card.md")  # what every trained folder holds
SEVERAL = "several.toml"  # of a folder of trained folders: ``of = ["diseases", "phenotypes"]``, which link side by side
PIPELINE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)  # of what is installed, and of each part of it


def home() -> Path:
    """Return the folder of everything Linnet builds; it need not exist yet."""
    if path := os.environ.get("LINNET_HOME"):
        return expanded(path)
    if path := os.environ.get("XDG_DATA_HOME"):
        return expanded(path) / "linnet"
    return expanded("~") / ".local" / "share" / "linnet"


def expanded(path: str | Path) -> Path:
    """Return `path` with ``~`` written out.

    Raises:
        LinnetError: nobody knows whose home that is, as in a container without users.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise LinnetError(
            f"{path}: there is no such home folder ({error}); set LINNET_HOME or give a full path"
        ) from error


def kb_folder() -> Path:
    """Return the folder of the knowledge bases that have names."""
    return home() / "kb"


def pipelines_folder() -> Path:
    """Return the folder of the pipelines that were installed by name."""
    return home() / "pipelines"


def kb_named(name: str) -> Path:
    """Return the file of the knowledge base that is called `name`.

    Raises:
        KnowledgeBaseError: a name that leads somewhere else.

    >>> kb_named("mesh").name
    'mesh.kb'
    """
    if not name or Path(name).name != name or "\0" in name:
        raise KnowledgeBaseError(f"{name!r} is no name of a knowledge base: expected one without folders, such as mesh")
    return kb_folder() / f"{name}.kb"


def kb_path(name: str | Path) -> Path:
    """Return the file of a knowledge base given by name or path: a path if it has a suffix, folder or exists.

    >>> kb_path("work/mine.kb").as_posix()
    'work/mine.kb'
    """
    path = expanded(name)
    if path.suffix or len(path.parts) > 1 or path.is_file():
        return path
    return kb_named(str(name))


def writable(folder: Path) -> Path:
    """Return `folder`, made if needed.

    Raises:
        LinnetError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LinnetError(f"cannot make the folder {folder}: {error.strerror}; set LINNET_HOME or -o") from error
    if not os.access(folder, os.W_OK):
        raise LinnetError(f"the folder {folder} is read-only; set LINNET_HOME to one you may write to, or use -o")
    return folder


def near_name(path: Path) -> str:
    """Return ``"; did you mean 'x'?"`` for the file or folder beside `path` that is called nearly so, or ``""``."""
    with suppress(OSError, ValueError), os.scandir(path.parent) as there:  # which may not be listed, or is no folder
        return did_you_mean(path.name, [found.name for found in itertools.islice(there, LISTED)])
    return ""


def real_path(path: str | Path) -> Path:
    """Return `path` with links followed, as far as they lead anywhere.

    Raises:
        FormatError: it holds a NUL character.
    """
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise FormatError(path, f"is no path: {error}") from error


def check_output(path: str | Path, *, kind: str = "") -> Path:
    """Return the file that writing to `path` makes or replaces, links followed; a pipe or a device as it is given.

    Args:
        path: what is to be written.
        kind: what it will be, ``database`` or ``recipe``; nothing else replaces one.

    Raises:
        FormatError: a folder, or a file that must stay: it is read-only, a database, a recipe, or of a trained folder.
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        return Path(path)
    target = real_path(path)
    if target.is_dir():
        raise FormatError(path, "is a folder, expected the name of a file to write")
    if not target.exists():
        return target
    for folder in target.parents if target.name in TRAINED else target.parents[1:]:
        if all((folder / name).is_file() for name in TRAINED):
            raise FormatError(path, f"belongs to the trained pipeline {folder}: give another name")
    if (found := _kind(target)) not in ("", kind):
        raise FormatError(path, f"is a {found}, which nothing else replaces: give another name, or remove it first")
    if not (os.access(target, os.W_OK) and target.stat().st_mode & 0o222):  # root may write to anything
        raise FormatError(path, "is read-only: give another name, or allow writing to it")
    return target


def _kind(path: Path) -> str:
    """Return what a file is that others may need, nothing of an ordinary one."""
    if path.suffix.lower() == ".toml":
        return "recipe"
    with suppress(OSError), path.open("rb") as file:  # what may not be read may be replaced
        if file.read(len(MAGIC)) == MAGIC:
            return "database"
    return ""


def permit(part: Path, path: Path) -> bool:
    """Give the file or folder `part` the permissions of `path`, which it will replace; return whether there is one.

    Who may not read the one must not read the other either: call it before anything private is written.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode) & 0o777
    except OSError:
        return False
    if stat.S_IMODE(part.stat().st_mode) != mode:  # not every disk knows permissions: there they are equal
        part.chmod(mode)
    return True


def sweep(path: Path) -> None:
    """Remove what builds of the file `path` that died have left beside it, once it is a day old."""
    name = glob.escape(path.name)
    for pattern in (f"{name}????????.part", f".{name}.????????.part"):  # as `tempfile` names them
        for part in path.parent.glob(pattern):
            with suppress(OSError):  # another process may have been quicker, or owns it
                if time.time() - part.stat().st_mtime > STALE:
                    part.unlink()


def sweep_folders(path: Path, *, age: float = STALE) -> None:
    """Remove what fillings of the folder `path` that died have left beside it, once it is `age` seconds old."""
    # as `linnet.text.files` names them
    _remove_folders(path.parent, f".{glob.escape(path.name)}.????????.part", age=age)


def _remove_folders(beside: Path, pattern: str, *, age: float) -> None:
    for left in beside.glob(pattern):
        with suppress(OSError):  # another process may have been quicker, or owns it
            if left.is_dir() and not left.is_symlink() and time.time() - left.stat().st_mtime >= age:
                shutil.rmtree(left)


@contextmanager
def scratch(folder: Path, prefix: str) -> Iterator[Path]:
    """Give a folder in `folder`, called `prefix` and something, that is removed when the block ends.

    Those that processes left which died are removed once they are a day old.
    """
    _remove_folders(folder, f"{glob.escape(prefix)}*", age=STALE)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder) as made:
        yield Path(made)


def put(made: Path, path: Path) -> None:
    """Move a file that is complete to `path`, which is there in full or not at all, even if it is on another disk."""
    sweep(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        shutil.move(made, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def rename(part: Path, path: Path) -> None:
    """Give a file that is complete the name `path`; a file there that is a mount of its own takes its content.

    Containers mount single files, whose names no other file can take.
    """
    try:
        part.replace(path)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        shutil.copyfile(part, path)
        part.unlink()


def hold(lock: Path) -> sqlite3.Connection | None:
    """Return what holds the lock of a file, made if needed, until it is closed; None if another process holds it.

    It is SQLite's lock, which works on every system and ends with the process that holds it.

    Raises:
        sqlite3.Error: the file cannot be made, or not be locked.
    """
    connection = sqlite3.connect(lock, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return None
        raise
    return connection


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file of a saved component.

    Raises:
        FormatError: it cannot be read, or holds no JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}; save the pipeline again") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(path, f"not JSON: {error}; save the pipeline again") from error
    if not isinstance(value, dict):
        raise FormatError(path, "holds no JSON object; save the pipeline again")
    return value
