"""A workbench from a file that `linnet.annotate.backup` made, into an empty place and whole, or not at all.

Nothing is taken on trust that can be checked: names in the archive, checksums, the version of the tables, the chains of
the events, the folders that rows name. What a person may do who writes an archive by hand stays: a database can hold
any users. So restore files that you have made yourself, or that come from where you have.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import sqlalchemy as sa
from pydantic import ValidationError

from linnet.annotate.backup import DATA, DATABASE, KBS, MANIFEST, Manifest, digest, folders_of, holds, kb_version
from linnet.annotate.dumps import empty, fill, is_empty
from linnet.annotate.journal import check, last_number
from linnet.annotate.store import FILE, open_store
from linnet.annotate.tables import project, session
from linnet.errors import DataError, FormatError
from linnet.fetch.archive import Room, unpack
from linnet.home import kb_named
from linnet.reporter import warn
from linnet.text.files import read_text, replacing_folder

__all__ = ["restore"]

ROOM = Room(bytes=1 << 44, files=2_000_000)  # models and databases are larger than anybody's upload
SHOWN = 3  # of many problems
KINDS = {"sqlite": "a database in the folder of the workbench", "postgresql": "PostgreSQL"}


def restore(archive: str | Path, data: Path, database: str | None = None) -> Manifest:
    """Make the folder `data`, new or empty, and the database what they were when a backup was made.

    Tables of an earlier version of Linnet are brought up to date; all sessions of browsers end. Knowledge bases in the
    backup are added under LINNET_HOME where there are none of their names.

    Args:
        archive: the file of `linnet.annotate.backup.back_up`.
        data: the folder of the workbench.
        database: the URL of an empty PostgreSQL database, for a backup of one.

    Raises:
        FormatError: the archive is no backup, damaged or unsafe, or the folder is not empty.
        DataError: the database is not empty, of another kind or of a later version, or its events were changed.
        LinnetError: PostgreSQL's programs are not there, or fail.
    """
    if database is not None and not is_empty(database):
        raise DataError("the database is not empty: make a new one (createdb) and restore into that")
    begun = False
    try:
        with replacing_folder(data) as made:
            made.chmod(0o700)  # what is inside may be about patients
            inside = made / ".backup"
            manifest = _unpacked(archive, inside, database)
            begun = True
            _place(inside, made, database)
            _check(made, manifest, archive, database)
            _add_kbs(manifest, inside / KBS)
            shutil.rmtree(inside)
    except BaseException:
        if database is not None and begun:
            empty(database)
        raise
    return manifest


def _unpacked(archive: str | Path, folder: Path, database: str | None) -> Manifest:
    """Unpack a backup and return its manifest, when all files are those that it names."""
    there = {path.relative_to(folder).as_posix(): path for path in unpack(archive, folder, room=ROOM)}
    if MANIFEST not in there:
        raise FormatError(archive, f"is no backup of a workbench: it has no {MANIFEST}")
    try:
        manifest = Manifest.model_validate_json(read_text(there.pop(MANIFEST)))
    except ValidationError as error:
        fault = error.errors()[0]
        said = f"its {MANIFEST} says {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
        raise FormatError(archive, f"is no backup that this version of Linnet can read: {said}") from error
    wrong = sorted(set(there) ^ set(manifest.files))
    wrong += [name for name in there if name in manifest.files and digest(there[name]) != manifest.files[name]]
    if wrong:
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        problem = f"is damaged: {', '.join(wrong[:SHOWN])}{more} differ from what its {MANIFEST} says"
        raise FormatError(archive, f"{problem}; take another backup")
    if sum(name.startswith(f"{DATABASE}/") for name in there) != 1:
        raise FormatError(archive, "is no backup of a workbench: it has no database, or several")
    wanted = "sqlite" if database is None else "postgresql"
    if manifest.database != wanted:
        way_out = "give --database" if database is None else "leave --database out"
        raise DataError(f"{archive}: is a backup of {KINDS[manifest.database]}, not of {KINDS[wanted]}: {way_out}")
    return manifest


def _place(inside: Path, made: Path, database: str | None) -> None:
    """Put files and database where a workbench has them."""
    file = next((inside / DATABASE).iterdir())
    if database is None:
        file.rename(made / FILE)
    else:
        fill(database, file)
    for path in sorted((inside / DATA).glob("*")):
        path.rename(made / path.name)


def _check(made: Path, manifest: Manifest, archive: str | Path, database: str | None) -> None:
    """Bring the tables up to date, and refuse a database whose events or files are not those that were."""
    store = open_store(database or made)
    try:
        with store.write() as db:
            problems = [said for id in db.scalars(sa.select(project.c.id)).all() for said in check(db, id)]
            if last_number(db) != manifest.events:
                problems.append(f"its last event is {last_number(db)}, not {manifest.events}")
            gone = [name for name in folders_of(db) if name not in manifest.missing and not holds(made, name)]
            problems += [f"{name} is named, but not in the backup" for name in gone]
            db.execute(session.delete())
    except sa.exc.DBAPIError as error:
        problems = [f"its tables are not those of Linnet ({error.orig})"]
    finally:
        store.close()
    if problems:
        more = f" (and {len(problems) - SHOWN} more)" if len(problems) > SHOWN else ""
        said = "; ".join(problems[:SHOWN])
        raise DataError(f"{archive}: the database was changed by other means than Linnet's: {said}{more}")


def _add_kbs(manifest: Manifest, folder: Path) -> None:
    """Add the knowledge bases that came along and are not here, and say which others will be missed."""
    for name, version in manifest.kbs.items():
        source, target = folder / f"{name}.kb", kb_named(name)
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)
        elif version and kb_version(name) != version:
            warn(f"the knowledge base {name!r} is not here in version {version}, which the projects were made with")
