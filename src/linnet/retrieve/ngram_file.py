"""The n-gram index of a knowledge base as one memory-mapped file beside it.

The file is called after the knowledge base and the options, holds the version of the knowledge base and a digest of
the rules, is written aside and renamed, and is built again when it is stale, cut short or no such file.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import mmap
import os
import tempfile
import warnings
from importlib import resources
from pathlib import Path
from typing import IO, Any

import numpy as np

from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.retrieve.ngram_build import build
from linnet.retrieve.ngram_index import ARRAYS, NgramIndex
from linnet.retrieve.ngram_text import Analysis

__all__ = ["index_path", "open_index"]

FORMAT = 1
MAGIC = b"linnet ngrams\n"
ROOM = 4096  # bytes for the header
ALIGN = 64


def index_path(kb: KnowledgeBase, analysis: Analysis) -> Path:
    """Return the file of the index of `kb` with these options.

    The file of another version of the knowledge base has the same name: it is of no use any more.
    """
    options = json.dumps(dataclasses.asdict(analysis), sort_keys=True)
    digest = hashlib.blake2b(options.encode(), digest_size=4).hexdigest()
    return kb.path.with_name(f"{kb.path.name}.ngrams-{digest}")


def open_index(kb: KnowledgeBase, analysis: Analysis) -> NgramIndex:
    """Return the index of all names of `kb`: opened if it is there and current, else built beside the knowledge base.

    Where the folder cannot be written to, the index is built in a temporary file, with a warning.

    Raises:
        KnowledgeBaseError: the index cannot be written anywhere.
    """
    path = index_path(kb, analysis)
    tag = f"{FORMAT}:{kb.version}:{_rules()}:{dataclasses.astuple(analysis)}"
    index = _open(path, tag, analysis)
    if index is not None:
        return index
    made = build(((name.row, name.concept, name.text) for name in kb.names()), analysis)
    try:
        return _write_beside(made, path, tag=tag)
    except OSError as error:
        warnings.warn(
            f"{path.parent} cannot be written to ({error.strerror}): the n-gram index is built again each time",
            LinnetWarning,
            stacklevel=2,
        )
    try:
        with tempfile.TemporaryFile() as file:
            return _write(made, file, tag=tag)
    except OSError as error:
        raise KnowledgeBaseError(f"the n-gram index of {kb.path} cannot be written: {error}") from error


@functools.cache
def _rules() -> str:
    """Return a digest of the rules by which names become n-grams and weights: an index made under others is stale."""
    digest = hashlib.blake2b(digest_size=8)
    for package, module in (("text", "normalise"), ("retrieve", "ngram_text"), ("retrieve", "ngram_build")):
        digest.update((resources.files(f"linnet.{package}") / f"{module}.py").read_bytes())
    return digest.hexdigest()


def _open(path: Path, tag: str, analysis: Analysis) -> NgramIndex | None:
    """Return the index in `path`, None if there is none, or it is stale or cut short."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return None
            header = json.loads(file.read(ROOM - len(MAGIC)))
            if header["tag"] != tag or os.fstat(file.fileno()).st_size != header["size"]:
                return None
            return _mapped(file, header, analysis)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _mapped(file: IO[bytes], header: dict[str, Any], analysis: Analysis) -> NgramIndex:
    buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays = {}
    for name in ARRAYS:
        offset, count, dtype = header["arrays"][name]
        arrays[name] = np.frombuffer(buffer, np.dtype(dtype), count, offset)
    return NgramIndex(arrays, analysis)


def _write_beside(index: NgramIndex, path: Path, *, tag: str) -> NgramIndex:
    # A name of its own for every build: two processes may build at once, and the last rename wins with equal content.
    handle, part = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            opened = _write(index, file, tag=tag)
        Path(part).chmod(0o644)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return opened


def _write(index: NgramIndex, file: IO[bytes], *, tag: str) -> NgramIndex:
    """Write an index to an empty file open for reading and writing, and open it there."""
    header: dict[str, Any] = {"tag": tag, "arrays": {}}
    file.write(b" " * ROOM)
    for name in ARRAYS:
        file.write(b"\0" * (-file.tell() % ALIGN))
        values = np.ascontiguousarray(index.arrays[name])
        header["arrays"][name] = (file.tell(), len(values), values.dtype.str)
        file.write(values.tobytes() if values.dtype.kind == "U" else values.data)
    header["size"] = file.tell()
    packed = MAGIC + json.dumps(header).encode()
    file.seek(0)
    file.write(packed)
    file.flush()
    return _mapped(file, header, index.analysis)
