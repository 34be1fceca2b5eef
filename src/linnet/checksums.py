"""Checksums of the files that Linnet writes and reads again: damage is told before anything is made of it.

A file of ours carries its checksum at its end (`seal`). Those of a trained folder, many of which other libraries read,
are listed beside them in ``checksums.json``. Damage by accident is found, what somebody forges is not.

The checksum is the CRC-32 of the sums of the 64-bit numbers in each 4 KB, which takes a third of the time of that of
all bytes (``docs/decisions/0015-checksums.md``).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from linnet.errors import FormatError
from linnet.home import read_json

__all__ = ["LIST", "SEAL", "check_files", "checksum", "is_sealed", "seal", "write_checksums"]

SEAL = 8  # hexadecimal digits at the end of a file
PAGE = 1 << 12  # bytes that one sum is made of
CHUNK = 1 << 18  # bytes read at once: a file that was mapped instead would count as memory
LIST = "checksums.json"
EDITED = "config.json"  # of a component: people may change its keywords


def checksum(file: IO[bytes], size: int) -> str:
    """Return the checksum of the first `size` bytes of a file, which is left open behind them.

    >>> import io
    >>> checksum(io.BytesIO(b"123456789 and more"), 9)
    '8de32e14'
    """
    file.seek(0)
    found = size % (1 << 32)  # so that zeros at the end count
    for start in range(0, size, CHUNK):
        data = file.read(min(CHUNK, size - start))
        numbers = np.frombuffer(data + bytes(-len(data) % PAGE), "<u8")
        found = zlib.crc32(numbers.reshape(-1, PAGE // 8).sum(axis=1).tobytes(), found)
    return f"{found:08x}"


def seal(file: IO[bytes]) -> None:
    """Write the checksum of a file at its end; it is open for reading and writing."""
    file.write(checksum(file, file.seek(0, os.SEEK_END)).encode())


def is_sealed(file: IO[bytes]) -> bool:
    """Return whether a file ends with the checksum of all before it."""
    size = file.seek(0, os.SEEK_END) - SEAL
    return size >= 0 and checksum(file, size).encode() == file.read()


def write_checksums(folder: Path) -> None:
    """List the checksums of the files of a saved component, except for those that carry one themselves."""
    told = {}
    for name, path in _files(folder):
        with path.open("rb") as file:
            if not is_sealed(file):
                told[name] = checksum(file, file.seek(0, os.SEEK_END))
    if told:
        (folder / LIST).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def check_files(folder: Path) -> None:
    """Compare the files of a saved component with the list that `write_checksums` wrote, if there is one.

    Raises:
        FormatError: a file is missing, cannot be read, or is not the one that was saved.
    """
    if not (folder / LIST).is_file():
        return
    there = dict(_files(folder))
    for name, told in read_json(folder / LIST).items():
        if name not in there or _whole(there[name]) != told:
            problem = f"is missing or damaged: it is not what {LIST} says was saved"
            way_out = f"train again, or copy the folder again; where it was changed on purpose, delete {LIST}"
            raise FormatError(folder / name, f"{problem}; {way_out}")


def _whole(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return checksum(file, file.seek(0, os.SEEK_END))
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from error


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a saved component and what they are called in the list."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in (EDITED, LIST):
            yield name, path
