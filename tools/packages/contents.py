"""What is in a wheel and in a source archive, compared with the working tree."""

from __future__ import annotations

import configparser
import email
import email.message
import os
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tools.packages.places import PackageError

SHIPPED = {"src/linnet/": "linnet/", "recipes/": "linnet/recipes/shipped/"}
LARGEST = 8_000_000  # bytes of a wheel: far more than code, and far less than a terminology or a network


def tracked(root: Path) -> dict[str, Path]:
    """Return the files of a working tree by their names: those that git knows, in an unpacked source archive all.

    What git does not know may be anything: notes of patients that lie in the folder, too.

    Raises:
        PackageError: git is not installed, or does not tell.
    """
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached"]
        try:
            listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", b"") or str(error).encode()
            raise PackageError(f"git says which files are packed, and does not: {os.fsdecode(why).strip()}") from error
        names: Iterable[str] = filter(None, os.fsdecode(listed).split("\0"))
    else:
        names = (path.relative_to(root).as_posix() for path in root.rglob("*") if "__pycache__" not in path.parts)
    return {name: root / name for name in names if (root / name).is_file()}


def faults_of_wheel(wheel: Path, files: Mapping[str, Path], project: Mapping[str, Any], version: str) -> list[str]:
    """Return what is wrong with a wheel: files that lack, are too many or differ from the tree's, and its metadata.

    Args:
        wheel: the archive.
        files: of the working tree, by name.
        project: the table ``project`` of pyproject.toml.
        version: that it must have.
    """
    with zipfile.ZipFile(wheel) as archive:
        inside = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    info = f"linnet-{version}.dist-info/"
    metadata = inside.get(f"{info}METADATA", b"")
    faults = _differences(
        {name: content for name, content in inside.items() if not name.startswith(info)},
        {
            place + name.removeprefix(folder): path
            for folder, place in SHIPPED.items()
            for name, path in files.items()
            if name.startswith(folder)
        },
    )
    faults += faults_of_metadata(email.message_from_bytes(metadata), project, version)
    licences = {name.removeprefix(f"{info}licenses/") for name in inside if name.startswith(f"{info}licenses/")}
    if licences != set(project["license-files"]):
        faults.append(f"licences {sorted(licences)} instead of {sorted(project['license-files'])}")
    points = configparser.ConfigParser()
    points.read_string(inside.get(f"{info}entry_points.txt", b"").decode())
    if not points.has_section("console_scripts") or dict(points["console_scripts"]) != project["scripts"]:
        faults.append("entry_points.txt does not name the command linnet")
    if (size := wheel.stat().st_size) > LARGEST:
        faults.append(f"{size:,} bytes: what is so large in it?")
    return [f"{wheel.name}: {fault}" for fault in faults]


def faults_of_metadata(told: email.message.Message, project: Mapping[str, Any], version: str) -> list[str]:
    """Return what the metadata of a package do not say as pyproject.toml does."""
    extras = sorted(name.replace("_", "-") for name in project["optional-dependencies"])
    wanted = {
        "Name": [project["name"]],
        "Version": [version],
        "License-Expression": [project["license"]],
        "Description-Content-Type": ["text/markdown"],
        "Provides-Extra": extras,
    }
    found = {key: sorted(told.get_all(key, [])) for key in wanted}
    return [f"{key} is {found[key]} instead of {wanted[key]}" for key in wanted if found[key] != wanted[key]]


def faults_of_sdist(sdist: Path, files: Mapping[str, Path], include: Iterable[str], metadata: bytes) -> list[str]:
    """Return what is wrong with a source archive: as of a wheel, whose metadata it must have.

    Args:
        sdist: the archive.
        files: of the working tree, by name.
        include: files and folders that belong into it.
        metadata: of the wheel.
    """
    with tarfile.open(sdist) as archive:
        head = sdist.name.removesuffix(".tar.gz") + "/"
        opened = {entry.name.removeprefix(head): archive.extractfile(entry) for entry in archive if not entry.isdir()}
        inside = {name: stream.read() for name, stream in opened.items() if stream is not None}
    told = inside.pop("PKG-INFO", b"")
    belongs = tuple(include)
    wanted = {
        name: path
        for name, path in files.items()
        if name in {*belongs, "pyproject.toml", ".gitignore"} or name.startswith(tuple(f"{one}/" for one in belongs))
    }
    faults = _differences(inside, wanted)
    if told != metadata:
        faults.append("its metadata are not those of the wheel")
    return [f"{sdist.name}: {fault}" for fault in faults]


def metadata_of(wheel: Path) -> bytes:
    """Return the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name)


def pyproject(root: Path) -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def included(told: Mapping[str, Any]) -> list[str]:
    """Return the files and folders that pyproject.toml names for the source archive."""
    patterns: list[str] = told["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    return [pattern.removeprefix("/") for pattern in patterns]


def _differences(inside: Mapping[str, bytes], wanted: Mapping[str, Path]) -> list[str]:
    faults = [f"lacks {name}" for name in sorted(wanted.keys() - inside.keys())]
    faults += [f"holds {name}, which git does not know there" for name in sorted(inside.keys() - wanted.keys())]
    return faults + [
        f"{name} is not what it is in the tree"
        for name, path in sorted(wanted.items())
        if name in inside and inside[name] != path.read_bytes()
    ]
