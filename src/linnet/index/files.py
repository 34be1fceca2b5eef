"""Files of Faiss indexes: what Faiss writes, then what the index was made of, so that a file tells if it is whole.

A file ends with a JSON header, the length of the header, a line that says what it is, and a checksum of all before it:
Faiss follows the links of a graph wherever they lead. It is written aside and renamed: until a new index is complete
the old one is there. Faiss maps it into memory and does not mind the rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from linnet.arrays_file import replaced
from linnet.checksums import SEAL, is_sealed, seal
from linnet.errors import FormatError

__all__ = ["faiss", "read_index", "write_index"]

DAMAGED = "a damaged index; delete it to have it built again"
MAGIC = b"\nlinnet index 1\n"
DIGITS = 20  # of the length of the header


def faiss() -> Any:
    """Return the package Faiss, which only those who search approximately wait for."""
    import faiss as package  # noqa: PLC0415 - takes a moment to import

    return package


def write_index(index: Any, path: Path, about: dict[str, Any]) -> None:
    """Write a Faiss index and what it was made of; the file is there in full or not at all.

    Raises:
        OSError: the folder cannot be written to, or the disk is full.
    """

    def write(file: Any) -> None:
        try:
            faiss().write_index(index, faiss().PyCallbackIOWriter(file.write))
        except RuntimeError as error:  # what Faiss makes of a full disk
            raise OSError(28, str(error)) from error
        header = json.dumps(about).encode()
        file.write(header + b"%*d" % (DIGITS, len(header)) + MAGIC)
        seal(file)

    replaced(path, write)


def read_index(path: Path, about: dict[str, Any]) -> Any:
    """Return a Faiss index, memory-mapped.

    Args:
        path: the file.
        about: what it must have been made of.

    Raises:
        FormatError: there is no such file, it is cut short or damaged, or was made of something else.
    """
    found = _header(path)
    if found != about:
        keys = [key for key in sorted(about | found) if found.get(key) != about.get(key)]
        told = "; ".join(f"{key}: {found.get(key)!r}, expected {about.get(key)!r}" for key in keys)
        raise FormatError(path, f"an index of something else ({told}); delete it to have it built again")
    try:
        return faiss().read_index(str(path), faiss().IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise FormatError(path, DAMAGED) from error


def _header(path: Path) -> dict[str, Any]:
    tail = DIGITS + len(MAGIC) + SEAL
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - tail))
            end = file.read()
            if not end[:-SEAL].endswith(MAGIC):
                raise FormatError(path, "no index, or one that is cut short; delete it to have it built again")
            if not is_sealed(file):
                raise FormatError(path, DAMAGED)
            length = int(end[:DIGITS])
            file.seek(size - tail - length)
            return dict(json.loads(file.read(length)))
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from error
    except (TypeError, ValueError) as error:
        raise FormatError(path, DAMAGED) from error
