"""What pipelines travel with: a list of their files, and what it may name."""

from __future__ import annotations

from pathlib import PurePosixPath

__all__ = ["MANIFEST", "PICKLED", "is_inside"]

MANIFEST = "linnet.json"  # the list
PICKLED = (".pkl", ".pickle", ".pt", ".pth", ".ckpt")  # what can run code where it is read


def is_inside(name: object) -> bool:
    """Return whether something is the name of a file below the folder that it is put into, and no list of files.

    >>> is_inside("0-dictionary/config.json"), is_inside("../notes.txt")
    (True, False)
    """
    if not isinstance(name, str) or not name or "\\" in name or "\0" in name:
        return False
    parts = PurePosixPath(name).parts
    return not name.startswith("/") and not {"..", "."} & set(parts) and ":" not in name and name != MANIFEST
