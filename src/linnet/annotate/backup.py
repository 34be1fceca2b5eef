"""A workbench in one file, made while people work: its database as it was at one moment, and the files its rows name.

The file is a zip archive: the database, models, finished exports, recipes of one's own and, where they are wanted,
knowledge bases; ``manifest.json`` lists them with their checksums. Models and exports are complete before a row names
them and stay as they are, so that what the rows of that moment name can be copied after it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Literal

import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext
from pydantic import BaseModel, ConfigDict, Field

from linnet import __version__
from linnet.annotate.dumps import dumped
from linnet.annotate.journal import last_number
from linnet.annotate.models import RECIPES
from linnet.annotate.tables import event, job, model, now, project
from linnet.errors import DataError, FormatError, LinnetError
from linnet.home import kb_path, real_path
from linnet.kb import KnowledgeBase
from linnet.reporter import warn

__all__ = [
    "DATA",
    "DATABASE",
    "KBS",
    "MANIFEST",
    "Manifest",
    "Packed",
    "back_up",
    "digest",
    "folders_of",
    "holds",
    "kb_version",
]

MANIFEST = "manifest.json"
DATABASE = "database"  # a folder of the archive, as are the next two
DATA = "data"
KBS = "kb"
BLOCK = 1 << 20


class Packed(BaseModel):
    """A file of a backup."""

    model_config = ConfigDict(extra="forbid")

    bytes: int
    sha256: str


class Manifest(BaseModel):
    """What a backup says of itself.

    Args:
        made: when, by the clock of the database.
        tables: the version of the tables.
        events: the number of the last event.
        kbs: the knowledge bases of its projects and their versions, "" for those that were not there.
        missing: folders of models and exports that rows name and that were not there.
        files: all that is in it but the manifest.
    """

    model_config = ConfigDict(extra="forbid")

    format: Literal["linnet backup"] = "linnet backup"
    version: Literal[1] = 1
    linnet: str = __version__
    database: Literal["sqlite", "postgresql"]
    made: str
    tables: str
    events: int
    kbs: dict[str, str]
    missing: list[str]
    files: dict[str, Packed] = Field(default_factory=dict)


def back_up(archive: str | Path, data: Path, database: str | None = None, *, kbs: bool = False) -> Manifest:
    """Write the workbench in the folder `data` into a new file, and return what is in it; the server may run meanwhile.

    Args:
        archive: the file to make, which must not be there.
        data: the folder of the workbench.
        database: the URL of its database where that is not in the folder.
        kbs: take the knowledge bases of its projects too, not only their names and versions.

    Raises:
        DataError: there is no workbench.
        FormatError: the archive is there already, or cannot be made.
        LinnetError: PostgreSQL's programs are not there, or fail.
    """
    with _new_file(archive) as out, tempfile.TemporaryDirectory(prefix=".backup-", dir=_beside(archive)) as aside:
        scratch = Path(aside)  # private, and on the disk that has to have room anyway
        with dumped(database or data, scratch) as (file, db):
            manifest, folders = _about(db, data)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packing:
            manifest.files[f"{DATABASE}/{file.name}"] = _pack(packing, file, f"{DATABASE}/{file.name}")
            for path in _files(data, [*folders, RECIPES]):
                name = f"{DATA}/{path.relative_to(data).as_posix()}"
                manifest.files[name] = _pack(packing, path, name)
            for name in manifest.kbs if kbs else ():
                _take_kb(packing, manifest, name, scratch)
            packing.writestr(MANIFEST, manifest.model_dump_json(indent=1) + "\n")
    return manifest


def _beside(archive: str | Path) -> Path:
    return real_path(archive).parent


@contextmanager
def _new_file(archive: str | Path) -> Iterator[IO[bytes]]:
    """Give a file to write that gets its name when it is complete; nobody else may read it."""
    target = real_path(archive)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    if target.exists():
        raise FormatError(archive, "is there already: a backup does not replace anything, give another name")
    try:
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise FormatError(archive, f"cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w+b") as out:
            yield out
            out.flush()
            os.fsync(handle)
        part.rename(target)
    finally:
        part.unlink(missing_ok=True)


def _about(db: sa.Connection, data: Path) -> tuple[Manifest, list[str]]:
    """Return what there is to say of a workbench, and the folders of its models and exports that are there."""
    named = folders_of(db)
    there = [folder for folder in named if holds(data, folder)]
    missing = [folder for folder in named if folder not in there]
    if missing:
        warn(f"{', '.join(missing)}: named in the database, but not in {data}: the backup is without")
    kbs = db.scalars(sa.select(project.c.kb).where(project.c.kb != "").distinct().order_by(project.c.kb))
    manifest = Manifest(
        database="sqlite" if db.dialect.name == "sqlite" else "postgresql",
        made=db.scalar(sa.select(now(db))) or "",
        tables=MigrationContext.configure(db).get_current_revision() or "",
        events=last_number(db),
        kbs={name: kb_version(name) for name in kbs},
        missing=missing,
    )
    return manifest, there


def folders_of(db: sa.Connection) -> list[str]:
    """Return the folders of the data that rows name: of models, and of exports since the last text was erased.

    Erasing a text removes the exports of its project that are done (`linnet.annotate.exporting.erase`).
    """
    erased = sa.select(sa.func.max(event.c.at)).where(event.c.project == job.c.project, event.c.kind == "redact")
    kept = job.c.ended >= sa.func.coalesce(erased.scalar_subquery(), "")
    done = sa.select(job.c.result).where(job.c.kind == "export", job.c.state == "succeeded", kept).order_by(job.c.id)
    exports = [str(result["file"]).rpartition("/")[0] for result in db.scalars(done) if result]
    return [*db.scalars(sa.select(model.c.path).order_by(model.c.id)), *exports]


def holds(data: Path, name: str) -> bool:
    """Return whether there is a folder of this name, and below `data`.

    >>> holds(Path("/"), "../tmp"), holds(Path("/"), "/tmp")
    (False, False)
    """
    return ".." not in Path(name).parts and not name.startswith("/") and (data / name).is_dir()


def kb_version(name: str) -> str:
    """Return the version of the knowledge base that is called `name` here, "" if there is none."""
    try:
        return KnowledgeBase.open(kb_path(name)).version
    except LinnetError:
        return ""


def _files(data: Path, folders: list[str]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(path for path in (data / folder).rglob("*") if path.is_file() and not path.is_symlink())


def _take_kb(packing: zipfile.ZipFile, manifest: Manifest, name: str, scratch: Path) -> None:
    """Add a knowledge base, as it is between two edits."""
    if not manifest.kbs[name]:
        warn(f"there is no knowledge base {name!r} here: the backup is without")
        return
    copy = scratch / f"{name}.kb"
    try:
        with closing(sqlite3.connect(kb_path(name))) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    except sqlite3.Error as error:
        raise DataError(f"{kb_path(name)}: cannot be copied: {error}") from error
    manifest.kbs[name] = KnowledgeBase.open(copy).version
    place = f"{KBS}/{name}.kb"
    manifest.files[place] = _pack(packing, copy, place)
    copy.unlink()


def _pack(packing: zipfile.ZipFile, path: Path, name: str) -> Packed:
    """Add a file, and return its size and checksum as it was read."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    total, size = hashlib.sha256(), 0
    with path.open("rb") as file, packing.open(entry, "w", force_zip64=True) as out:
        while block := file.read(BLOCK):
            out.write(block)
            total.update(block)
            size += len(block)
    return Packed(bytes=size, sha256=total.hexdigest())


def digest(path: Path) -> Packed:
    """Return the size and checksum of a file."""
    with path.open("rb") as file:
        return Packed(bytes=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())
