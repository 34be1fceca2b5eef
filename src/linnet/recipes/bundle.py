"""Bundles: a pipeline, or several side by side, and their knowledge bases in one archive, installed by one command.

The archive holds ``linnet.json``, the list of its files with their SHA-256, ``pipeline/…``, which becomes
``LINNET_HOME/pipelines/NAME``, and ``kb/NAME.kb``. ``pipeline/`` is a trained folder, or a folder of trained folders
that ``several.toml`` names in order: these link side by side (docs/decisions/0031, 0043). Nothing in an archive is
taken on trust: it is unpacked within limits, names that lead elsewhere, links, pickles and files that the list does not
name are refused, and each file is compared.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from linnet.errors import FormatError, KnowledgeBaseError, LinnetError
from linnet.fetch.archive import Room, unpack
from linnet.home import PIPELINE_NAME, home, kb_named, pipelines_folder, put, read_json, scratch, writable
from linnet.kb import KnowledgeBase
from linnet.recipes.components import recipes
from linnet.recipes.knowledge_bases import kb_of_version
from linnet.recipes.listed import MANIFEST, PICKLED, is_inside
from linnet.text.files import replacing_folder

__all__ = ["KB", "PIPELINE", "SUFFIXES", "Contents", "Installed", "digest_of", "install", "read_contents"]

SUFFIXES = (".tar.gz", ".tgz", ".tar", ".zip")  # what an archive is called
PIPELINE = "pipeline/"  # how names of its files begin
KB = "kb/"  # how those of knowledge bases do
ROOM = Room(bytes=4 << 30, files=10_000)


class Contents(NamedTuple):
    """What an archive says that it holds.

    Args:
        name: what the pipeline is called where it is installed.
        files: its files with their SHA-256.
        kbs: the versions of the knowledge bases that it needs, by name; those it brings are files of it.
        concerns: what speaks against passing it on.
    """

    name: str
    files: Mapping[str, str]
    kbs: Mapping[str, str]
    concerns: Sequence[str] = ()

    @classmethod
    def read(cls, path: Path) -> Contents:
        """Return what a file says, as `Contents._asdict` gave it.

        Raises:
            FormatError: it says something else, or names files that are no part of a bundle.
        """
        value = read_json(path)
        name, files, kbs = str(value.get("name", "")), value.get("files"), value.get("kbs")
        if value.get("kind") != "bundle" or not (isinstance(files, dict) and isinstance(kbs, dict)):
            raise FormatError(path.name, "is no list of a bundle of Linnet's")
        if not PIPELINE_NAME.fullmatch(name) or not all(map(PIPELINE_NAME.fullmatch, kbs)):
            raise FormatError(path.name, f"names {name!r} or a knowledge base as no file can be called")
        brought = {f"{KB}{kb}.kb" for kb in kbs}
        for file in files:
            _check_name(path, file, file.startswith(PIPELINE) or file in brought)
        concerns = tuple(map(str, value.get("concerns") or ()))
        told = {file: str(digest) for file, digest in files.items()}
        return cls(name, told, {kb: str(version) for kb, version in kbs.items()}, concerns)


def _check_name(path: Path, file: str, known: bool) -> None:
    if not (is_inside(file) and known):
        raise FormatError(path.name, f"lists {file!r}, which is no part of a bundle: refused as unsafe")
    if Path(file).suffix in PICKLED:
        raise FormatError(path.name, f"lists {file!r}, a pickle, which can run code where it is read: refused")


class Installed(NamedTuple):
    """What was installed: the name and folder of the pipeline, and the file of each knowledge base that is here."""

    name: str
    path: Path
    kbs: Mapping[str, Path]
    missing: Mapping[str, str]  # versions of knowledge bases that it needs, does not bring, and are not here


def install(archive: str | Path, *, output: Path | None = None, sha256: str = "") -> Installed:
    """Unpack a bundle: its pipeline under ``LINNET_HOME/pipelines``, its knowledge bases under ``LINNET_HOME/kb``.

    What is there already, and the same, stays; a knowledge base of the name with another version stays, too, and the
    new one is called after its version: pipelines find theirs by it.

    Args:
        archive: a tar file, plain or packed, or a zip file.
        output: a new folder for the pipeline, instead of the one under LINNET_HOME.
        sha256: of the archive, 64 hexadecimal digits, if it is known.

    Raises:
        FormatError: no archive, damage, anything unsafe, or files that are not what its list or `sha256` says.
        LinnetError: another pipeline is installed under its name.
    """
    archive = Path(archive)
    if not archive.is_file():
        raise FormatError(archive, "there is no such file")
    if sha256 and (found := digest_of(archive)) != sha256.lower():
        raise FormatError(archive, f"its SHA-256 is {found}, not {sha256}: fetch it again, or ask who gave it")
    with scratch(writable(home()), ".install-") as made:
        whole = made / "whole"
        unpack(archive, whole, room=ROOM)
        contents = _checked(archive, whole)
        if output is None and contents.name in recipes():
            way = "give -o FOLDER to install the bundle elsewhere"
            raise LinnetError(f"{contents.name} is the name of a recipe of Linnet's: {way}")
        target = output or pipelines_folder() / contents.name
        same = _is_same(target, contents)
        kbs = {name: _put_kb(whole, name, version) for name, version in contents.kbs.items()}
        if not same:
            writable(target.absolute().parent)
            with replacing_folder(target) as part:
                shutil.copytree(whole / PIPELINE, part, dirs_exist_ok=True)
    there = {name: path for name, path in kbs.items() if path is not None}
    missing = {name: version for name, version in contents.kbs.items() if name not in there}
    return Installed(contents.name, target, there, missing)


def read_contents(archive: Path) -> Contents:
    """Return what the list of an archive says, without comparing its files.

    Raises:
        FormatError: no archive, damage, anything unsafe, or no bundle.
    """
    with tempfile.TemporaryDirectory() as made:
        unpack(archive, Path(made, "list"), only=(MANIFEST,), room=ROOM)
        return Contents.read(Path(made, "list", MANIFEST))


def _checked(archive: Path, whole: Path) -> Contents:
    """Return what an unpacked bundle holds, compared with its files."""
    if not (whole / MANIFEST).is_file():
        raise FormatError(archive, f"holds no {MANIFEST}: it is no bundle of Linnet's")
    contents = Contents.read(whole / MANIFEST)
    there = {path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file()} - {MANIFEST}
    for name in sorted(there ^ contents.files.keys()):
        problem = "is not in its list" if name in there else "is in its list, and not in the archive"
        raise FormatError(archive, f"{name} {problem}: refused; fetch it again, or ask who made it")
    for name, told in contents.files.items():
        if (found := digest_of(whole / name)) != told:
            raise FormatError(archive, f"{name}: its SHA-256 is {found}, {MANIFEST} says {told}: fetch it again")
    if not any(name.startswith(PIPELINE) for name in contents.files):
        raise FormatError(archive, "holds no pipeline")
    return contents


def _is_same(target: Path, contents: Contents) -> bool:
    """Return whether a folder holds what a bundle would put there; False of a new or empty one.

    Raises:
        LinnetError: it holds something else.
    """
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return False
    own = {name.removeprefix(PIPELINE): told for name, told in contents.files.items() if name.startswith(PIPELINE)}
    there = {path.relative_to(target).as_posix(): path for path in target.rglob("*") if path.is_file()}
    if there.keys() == own.keys() and all(digest_of(path) == own[name] for name, path in there.items()):
        return True
    raise LinnetError(f"{target} is there already, with other files, and is not replaced: move it away, or give -o")


def _put_kb(whole: Path, name: str, version: str) -> Path | None:
    """Return the file of a knowledge base, put under LINNET_HOME if it is not there; None if it is nowhere."""
    there = kb_of_version(version)
    if there is not None and there.version == version:
        return there.path
    brought = whole / KB / f"{name}.kb"
    if not brought.is_file():
        return None if there is None else there.path
    kb = KnowledgeBase.open(brought)
    found = kb.version
    kb.close()
    if found != version:
        raise KnowledgeBaseError(f"{KB}{name}.kb has version {found}, {MANIFEST} says {version}")
    own = f"{name}-{version[:12]}"
    free = itertools.chain([name, own], (f"{own}-{number}" for number in itertools.count(2)))
    target = next(path for path in map(kb_named, free) if not path.exists())
    writable(target.parent)
    put(brought, target)
    return target


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
