"""The Pythons of this machine, in which Linnet is tested and installed."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def candidates(version: str) -> Iterator[Path]:
    """Yield Pythons of a version: this one, those on the search path, the system's, those of pyenv."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        yield Path(sys.base_prefix) / "bin" / f"python{version}"
    for folder in [*os.get_exec_path(), "/usr/bin"]:
        yield from (path for path in [Path(folder) / f"python{version}"] if is_python(path, version))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    with contextlib.suppress(PermissionError):  # another user's
        yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))


def is_python(path: Path, version: str) -> bool:
    """Return whether a path runs as a Python of a version; some only say that they are not chosen."""
    try:
        if not path.is_file():
            return False
    except PermissionError:
        return False
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return told.returncode == 0 and re.match(rf"Python {re.escape(version)}\.", told.stdout) is not None


def installed(version: str) -> list[Path]:
    """Return the Pythons of a version that are installed here: each once, whatever it is called by."""
    found: dict[str, Path] = {}
    for path in candidates(version):
        told = subprocess.run(
            [path, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=False
        )
        if told.returncode == 0:
            found.setdefault(told.stdout.strip(), Path(told.stdout.strip()) / "bin" / f"python{version}")
    return [path for path in found.values() if path.is_file()]
