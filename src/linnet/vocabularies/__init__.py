"""Vocabularies: files to streams of concepts, one module for each format.

`read_vocabulary` reads by the format's name; the modules load only when asked for.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from linnet.data import Concept
from linnet.errors import LinnetError, did_you_mean
from linnet.reporter import warn
from linnet.text.files import shown

__all__ = ["UNTESTED", "VOCABULARIES", "read_vocabulary", "reader_of"]

VOCABULARIES: dict[str, str] = {
    "concepts": "linnet.vocabularies.concepts:read_concepts",
    "corpus": "linnet.corpora.vocabulary:read_corpus_vocabulary",
    "ctd": "linnet.vocabularies.ctd:read_ctd",
    "hpo": "linnet.vocabularies.hpo:read_hpo",
    "medic": "linnet.vocabularies.medic:read_medic",
    "mesh": "linnet.vocabularies.mesh:read_mesh",
    "mesh-table": "linnet.vocabularies.mesh_table:read_mesh_table",
    "ncbi-gene": "linnet.vocabularies.ncbi:read_ncbi_gene",
    "ncbi-taxonomy": "linnet.vocabularies.ncbi:read_ncbi_taxonomy",
    "obo": "linnet.vocabularies.obo:read_obo",
    "rxnorm": "linnet.vocabularies.rxnorm:read_rxnorm",
    "snomed": "linnet.vocabularies.snomed:read_snomed",
    "table": "linnet.vocabularies.table:read_table",
    "texoo": "linnet.vocabularies.texoo_terms:read_texoo",
    "umls": "linnet.vocabularies.umls:read_umls",
}
# what no published file of was ever read: the readers are written to descriptions, and tested on excerpts made by hand
UNTESTED: dict[str, str] = {
    "ctd": "the vocabulary of chemicals",
    "mesh": "files in ASCII",
    "ncbi-taxonomy": "the whole dump",
    "rxnorm": "its releases",
    "umls": "releases of the UMLS",
}
C1 = re.compile("[\x80-\x9f]")  # control characters; in CP1252 these bytes are letters, quotation marks and dashes


def read_vocabulary(name: str, path: str | Path | None = None, **options: Any) -> Iterator[Concept]:
    """Yield the concepts of the file `path` in the format `name`, one of `VOCABULARIES`.

    Args:
        name: the format.
        path: the file; may be None for "hpo", which comes with an installed package.
        options: the keywords of the format's reader.

    Raises:
        LinnetError: an unknown name or option, or a path that is missing.
        FormatError: a file that cannot be read.

    >>> next(read_vocabulary("hpo", types="none")).name
    'All'
    """
    reader = reader_of(name)
    parameters = inspect.signature(reader).parameters
    known_options = [key for key, value in parameters.items() if value.kind is value.KEYWORD_ONLY]
    for option in options:
        if option not in known_options:
            known = f"its options are {', '.join(known_options)}" if known_options else "it has none"
            raise LinnetError(f"{name} has no option {option!r}; {known}{did_you_mean(option, known_options)}")
    first = next(iter(parameters.values()))
    if path is None and first.default is inspect.Parameter.empty:
        raise LinnetError(
            f"the vocabulary format {name!r} needs the path of a {'folder' if first.name == 'folder' else 'file'}"
        )
    return _watched(reader(path, **options), name if path is None else shown(path))


def _watched(concepts: Iterator[Concept], source: str) -> Iterator[Concept]:
    """Yield concepts, and at their end warn of names with control characters that a wrong encoding makes."""
    count, example = 0, ""
    for concept in concepts:
        for name in concept.names:
            if not name.text.isascii() and C1.search(name.text):
                count += 1
                example = example or f"{name.text!r:.80} of {concept.id}"
        yield concept
    if count:
        hold = "name holds" if count == 1 else "names hold"
        warn(
            f"{source}: {count:,} {hold} control characters (U+0080–U+009F), for example {example}: it looks like "
            "CP1252 read as LATIN1; convert the original with: iconv -f CP1252 -t UTF-8"
        )


def reader_of(name: str) -> Callable[..., Iterator[Concept]]:
    """Return the function that reads the format `name`, one of `VOCABULARIES`.

    Raises:
        LinnetError: an unknown name.

    >>> reader_of("hpo").__name__
    'read_hpo'
    """
    if name not in VOCABULARIES:
        known = f"expected one of {', '.join(VOCABULARIES)}"
        raise LinnetError(f"unknown vocabulary format {name!r}, {known}{did_you_mean(name, VOCABULARIES)}")
    module, _, function = VOCABULARIES[name].partition(":")
    reader: Callable[..., Iterator[Concept]] = getattr(importlib.import_module(module), function)
    return reader
