"""The n-gram index of a knowledge base as one memory-mapped file beside it.

The file (`linnet.arrays_file`) is called after the knowledge base and the options and holds the version of the
knowledge base and a digest of the rules; it is built again when it is stale or no such file.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import IO

from linnet.arrays_file import ArraysWriter, Stored, kept, open_arrays
from linnet.kb import KnowledgeBase
from linnet.retrieve.ngram_build import build
from linnet.retrieve.ngram_index import ARRAYS, NgramIndex
from linnet.retrieve.ngram_text import Analysis

__all__ = ["index_path", "open_index"]

FORMAT = 2
MAGIC = b"linnet ngrams\n"


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
    stored = open_arrays(path, MAGIC, names=ARRAYS)
    if stored is None or stored.header.get("tag") != tag:
        made = build(((name.row, name.concept, name.text) for name in kb.names()), analysis)
        stored = kept(path, functools.partial(_write, made, tag), what="n-gram index")
    return NgramIndex(stored.arrays, analysis)


def _write(index: NgramIndex, tag: str, file: IO[bytes]) -> Stored:
    writer = ArraysWriter(file, MAGIC)
    for name in ARRAYS:
        writer.put(name, index.arrays[name])
    return writer.finish({"tag": tag})


@functools.cache
def _rules() -> str:
    """Return a digest of the rules by which names become n-grams and weights: an index made under others is stale."""
    digest = hashlib.blake2b(digest_size=8)
    for package, module in (("text", "normalise"), ("retrieve", "ngram_text"), ("retrieve", "ngram_build")):
        digest.update((resources.files(f"linnet.{package}") / f"{module}.py").read_bytes())
    return digest.hexdigest()
