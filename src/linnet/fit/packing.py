"""Trained folders and their knowledge bases → a bundle: one archive that ``linnet pull FILE`` installs."""

from __future__ import annotations

import gzip
import io
import json
import os
import secrets
import tarfile
from collections.abc import Mapping
from pathlib import Path

from linnet import __version__
from linnet.errors import LinnetError
from linnet.fit.hub_push import Parcel, gather
from linnet.home import PIPELINE_NAME, SEVERAL, sweep, writable
from linnet.recipes.bundle import KB, PIPELINE, Contents, digest_of
from linnet.recipes.listed import MANIFEST
from linnet.recipes.side_by_side import several_of

__all__ = ["pack"]

CARD = "card.md"


def pack(source: str | Path, archive: str | Path, *, name: str, with_kb: bool = True, yes: bool = False) -> Contents:
    """Write a bundle, a tar file packed with gzip; equal files give an equal archive, byte for byte.

    Args:
        source: a trained folder, or a folder of some with ``several.toml`` and ``card.md``.
        archive: the file to write, ``….tar.gz``; one that is there is replaced.
        name: what the pipeline is to be called where it is installed.
        with_kb: whether it brings its knowledge bases along.
        yes: pack despite a licence or a path that speaks against passing it on; the archive says which.

    Raises:
        FormatError: no trained folder, or damage, or files in it that are not of it.
        LinnetError: something speaks against passing it on, or a name that not every system can call a file by.
    """
    source = Path(source)
    parcels = _gathered(source)
    concerns = [f"{parcel.path.name}: {concern}" for parcel in parcels.values() for concern in parcel.concerns]
    if concerns and not yes:
        raise LinnetError(f"{source} was not packed: {'; '.join(concerns)}")
    files = _files(source, parcels, with_kb=with_kb)
    kbs = {_name(parcel): parcel.kb_version for parcel in parcels.values()}
    if odd := [one for one in (name, *kbs) if not PIPELINE_NAME.fullmatch(one)]:
        raise LinnetError(f"{odd[0]!r} cannot be the name of a file everywhere: use letters, digits, - . _ alone")
    contents = Contents(name, {file: digest_of(path) for file, path in files.items()}, kbs, concerns)
    _write(Path(archive), contents, files)
    return contents


def _gathered(source: Path) -> dict[str, Parcel]:
    """Return what is to be packed of each trained folder, by what it is called in the archive."""
    inner = several_of(source)
    return {f"{PIPELINE}{folder.name}/": gather(folder) for folder in inner} or {PIPELINE: gather(source)}


def _files(source: Path, parcels: Mapping[str, Parcel], *, with_kb: bool) -> dict[str, Path]:
    """Return the files by what they are called in the archive."""
    files = {prefix + file: path for prefix, parcel in parcels.items() for file, path in parcel.files.items()}
    if PIPELINE not in parcels:
        files |= {f"{PIPELINE}{file}": source / file for file in (SEVERAL, CARD)}
    if with_kb:
        files |= {f"{KB}{_name(one)}.kb": one.kb.file for one in parcels.values() if one.kb is not None}
    return files


def _name(parcel: Parcel) -> str:
    return Path(parcel.kb_name).stem


def _write(archive: Path, contents: Contents, files: Mapping[str, Path]) -> None:
    told = {"linnet": __version__, "kind": "bundle", **contents._asdict()}
    listed = json.dumps(told, indent=1).encode()
    writable(archive.absolute().parent)
    sweep(archive)
    part = archive.with_name(f".{archive.name}.{secrets.token_hex(4)}.part")
    try:
        with (
            part.open("wb") as raw,
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as made,
        ):
            made.addfile(_entry(MANIFEST, len(listed)), io.BytesIO(listed))
            for name, path in sorted(files.items()):
                with path.open("rb") as file:
                    made.addfile(_entry(name, os.fstat(file.fileno()).st_size), file)
        part.replace(archive)
    finally:
        part.unlink(missing_ok=True)


def _entry(name: str, size: int) -> tarfile.TarInfo:
    """Return the header of a file, without times and owners."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry
