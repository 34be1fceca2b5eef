"""Folders of trained folders that link side by side: their list, ``several.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from linnet.errors import FormatError
from linnet.home import PIPELINE_NAME, SEVERAL
from linnet.text.files import read_text

__all__ = ["several_of"]


def several_of(folder: Path) -> list[Path]:
    """Return the trained folders that a folder holds side by side, in order; none of a trained folder.

    Raises:
        FormatError: its ``several.toml`` names no folders in it.
    """
    path = folder / SEVERAL
    if not path.is_file():
        return []
    try:
        value = tomllib.loads(read_text(path))
    except ValueError as error:
        raise FormatError(path, f"not TOML: {error}") from error
    names = value.get("of")
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise FormatError(path, 'expected two folders or more beside it: of = ["diseases", "phenotypes"]')
    for name in names:
        if not PIPELINE_NAME.fullmatch(name) or not (folder / name).is_dir():
            raise FormatError(path, f"of: there is no folder {name!r} beside it")
    return [folder / name for name in names]
