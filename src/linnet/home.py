"""Where knowledge bases and models live: ``LINNET_HOME``, else the XDG data folder of the user."""

from __future__ import annotations

import os
from pathlib import Path

from linnet.errors import LinnetError

__all__ = ["home", "kb_folder", "writable"]


def home() -> Path:
    """Return the folder of everything Linnet builds; it need not exist yet."""
    if path := os.environ.get("LINNET_HOME"):
        return Path(path).expanduser()
    if path := os.environ.get("XDG_DATA_HOME"):
        return Path(path).expanduser() / "linnet"
    return Path.home() / ".local" / "share" / "linnet"


def kb_folder() -> Path:
    """Return the folder of the knowledge bases that have names."""
    return home() / "kb"


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
