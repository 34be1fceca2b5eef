"""The corpus formats: where each is read and written, what its files are called, and what it can hold."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import FormatError

__all__ = ["ALL", "FORMATS", "GIVEN", "READABLE", "WRITABLE", "Format", "parted", "readable", "resolve", "suffix"]


@dataclass(frozen=True, slots=True)
class Format:
    """Where a format is read and written, as "module:function" of this folder, and the suffixes its files have.

    A reader is called with the path of a file, plain or gzip, a writer with the documents and the open text file, both
    with those of the keywords that ``options`` names: ``rows`` (a knowledge base that turns the ids of stored
    candidates into rows, and back; without it they stay ids), ``name`` (what to call documents that have no id, with
    their number where there may be several; the file's stem when empty) and ``faults`` (what is done about annotations
    that cannot be read).
    ``alone`` tells formats that their suffix alone identifies; the others are recognised by content. ``holds`` names
    what the format can hold (`linnet.corpora.conversion_losses`), ``carry`` the function that gives a document what
    comes back of its text, passages and probabilities, where not all does; a format with ``write_folder`` makes several
    files. Files of one that is ``asked`` for are read from a folder only when the format is named. ``untested`` says
    that no published file of it was ever read. ``gains`` are options of the writer and what the format holds with them.
    ``needs`` is a function that imports the package of an extra, or says that it is missing.
    """

    read: str | None
    write: str | None
    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()
    alone: bool = False
    holds: frozenset[str] = frozenset()
    carry: str | None = None
    write_folder: str | None = None
    grows: bool = False
    asked: bool = False
    untested: bool = False
    gains: tuple[tuple[str, str], ...] = ()
    needs: str | None = None


LINKS = frozenset({"texts", "documents without mentions", "mentions", "overlapping mentions", "concepts"})
ANNOTATIONS = LINKS | {"types", "several concepts", "NIL mentions", "mentions not linked"}
# All that a document can have beyond its id, which `linnet.corpora.conversion_losses` counts.
ALL = (
    ANNOTATIONS
    | {"documents not looked at", "document meta", "line breaks", "passages", "passage meta", "sentences"}
    | {"abbreviations", "reviewed spans", "relations", "relations other than of two concepts"}
    | {"ids, roles and meta of relations", "conjuncts and ids as written", "discontinuous mentions", "mention ids"}
    | {"several types", "alternatives", "sources other than gold", "candidates", "probabilities", "signals", "groups"}
    | {"terminologies", "assertions", "what relatives do not have", "mention meta"}
)
# Of meta what they have a place for: their ``carry`` says which keys that is.
HELD_IN_HOSPITALS = (
    LINKS
    | {"types", "several types", "several concepts", "discontinuous mentions", "sources other than gold"}
    | {"probabilities", "terminologies", "assertions", "what relatives do not have"}
    | {"document meta", "line breaks", "documents not looked at"}
) - {"texts"}

FORMATS: dict[str, Format] = {
    "jsonl": Format(
        "jsonl:read",
        "jsonl:write",
        (".jsonl", ".ndjson"),
        options=("rows", "faults"),
        alone=True,
        holds=ALL,
        grows=True,
    ),
    "pubtator": Format(
        "pubtator:read",
        "pubtator:write",
        (".pubtator",),
        options=("faults",),
        holds=ANNOTATIONS | {"passages", "several types", "relations", "line breaks", "conjuncts and ids as written"},
        carry="pubtator_write:carried",
        grows=True,
    ),
    "bioc": Format("bioc_xml:read", "bioc_xml:write", (".xml",), options=("rows", "faults"), holds=ALL),
    "bioc_json": Format("bioc_json:read", "bioc_json:write", (".json",), options=("rows", "faults"), holds=ALL),
    "brat": Format(
        "brat:read",
        None,
        (".ann",),
        options=("rows", "name", "faults"),
        alone=True,
        holds=ALL,
        write_folder="brat_write:write_folder",
    ),
    "conll": Format(
        "conll:read",
        "conll_write:write",
        (".conll", ".bio", ".iob"),
        options=("name",),
        holds=(ANNOTATIONS | {"line breaks", "several types"}) - {"overlapping mentions"},
    ),
    "text": Format("text:read", None, (".txt", ".text"), options=("name",), alone=True),
    "text_lines": Format("text:read_lines", None, (), options=("name",)),
    "gsc": Format("gsc:read", "gsc:write", (".gsc", ".tsv"), options=("faults",), holds=LINKS),
    "pubmed": Format("pubmed:read", None, (".xml",)),
    "csv": Format(
        "mentions_csv:read",
        "mentions_csv:write",
        (".csv",),
        options=("rows", "faults"),
        alone=True,
        holds=(
            ANNOTATIONS
            | {"several types", "discontinuous mentions", "sources other than gold", "probabilities", "terminologies"}
            | {"assertions", "what relatives do not have"}
        )
        - {"mentions not linked", "texts", "documents without mentions"},
        carry="mention_table:carried",
        grows=True,
    ),
    "xlsx": Format(
        "sheet:read",
        "sheet:write",
        (".xlsx",),
        options=("rows", "faults"),
        alone=True,
        holds=(
            ANNOTATIONS
            | {"several types", "discontinuous mentions", "sources other than gold", "probabilities", "terminologies"}
            | {"line breaks", "assertions", "what relatives do not have"}
        )
        - {"mentions not linked"},
        carry="mention_table:carried",
        asked=True,
        needs="sheet:import_openpyxl",
    ),
    "texoo": Format("texoo:read", "texoo:write", (".texoo", ".json"), options=("rows", "name", "faults"), holds=ALL),
    "bigbio": Format(
        "bigbio:read",
        "bigbio:write",
        (".bigbio", ".json"),
        options=("rows", "name", "faults"),
        holds=ALL,
        untested=True,
    ),
    "spacy": Format(
        "docbin:read",
        "docbin:write",
        (".spacy",),
        options=("rows", "name"),
        alone=True,
        holds=ALL,
        asked=True,
        needs="docbin:import_spacy",
    ),
    "html": Format(
        "html_page:read",
        "html_page:write",
        (".html", ".htm"),
        options=("rows",),
        alone=True,
        holds=ANNOTATIONS
        | {"documents not looked at", "line breaks", "several types", "discontinuous mentions"}
        | {"alternatives", "groups", "sources other than gold", "probabilities", "terminologies"}
        | {"assertions", "what relatives do not have"},
        asked=True,
    ),
    "fhir": Format(
        None,
        "fhir:write",
        (".fhir",),
        options=("rows",),
        holds=HELD_IN_HOSPITALS,
        carry="fhir:carried",
        gains=(("text", "texts"),),
    ),
    "omop": Format(
        None,
        "omop:write",
        (".omop",),
        holds=(HELD_IN_HOSPITALS | {"NIL mentions"})
        - {"types", "several types", "documents without mentions", "documents not looked at"},
        carry="omop:carried",
    ),
    "omop_note": Format(
        None,
        "omop:write_notes",
        (".note",),
        holds=frozenset(
            {"texts", "document meta", "line breaks", "documents without mentions", "documents not looked at"}
        ),
        carry="omop:carried_note",
    ),
    "webanno": Format("webanno:read", None, (".tsv",), options=("name",)),
    "jats": Format("jats:read", None, (".nxml", ".xml"), options=("name",)),
    "medcat": Format("medcat:read", None, (".json",), options=("faults",)),
    "pubmed_release": Format("pubmed_release:read", None, (".xml",), asked=True),
    "pmc_archive": Format("pmc_archive:read", None, (".tar", ".tgz"), options=("faults",), alone=True),
    "table": Format("tables:read", None, (".parquet", ".arrow", ".feather"), options=("name",), alone=True),
    "sql": Format("sql:read", None, (".sqlite", ".sqlite3", ".db"), options=("name",), alone=True, asked=True),
    "label_studio": Format("label_studio:read", None, (".json",), options=("name", "faults")),
}
GIVEN = ("rows", "name", "faults")
READABLE = tuple(name for name, format in FORMATS.items() if format.read)
WRITABLE = tuple(name for name, format in FORMATS.items() if format.write or format.write_folder)


def resolve(place: str | None) -> Callable[..., Any]:
    """Return the function "module:function" of this folder; its module loads now."""
    module, _, function = (place or "").partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f"linnet.corpora.{module}"), function)
    return found


def suffix(path: str | Path) -> str:
    """Return the last suffix in lower case, ``.gz`` aside.

    >>> suffix("a/b.JSONL.gz"), suffix("-")
    ('.jsonl', '')
    """
    return parted(path)[1].lower()


def readable(ending: str, path: str | Path) -> str:
    """Return a suffix, unless it is one of formats that are only written.

    Raises:
        FormatError: it is.

    >>> readable(".omop", "a.omop")
    Traceback (most recent call last):
    ...
    linnet.errors.FormatError: a.omop: omop is written and cannot be read: read the documents it was made of
    """
    for name, format in FORMATS.items():
        if format.read is None and ending in format.suffixes:
            raise FormatError(path, f"{name} is written and cannot be read: read the documents it was made of")
    return ending


def parted(path: str | Path) -> tuple[str, str]:
    """Return the name of a file without its last suffix, and that, ``.gz`` aside; folders hold millions of files.

    >>> parted("a/b.JSONL.gz"), parted(".hidden"), parted("a.")
    (('b', '.JSONL'), ('.hidden', ''), ('a.', ''))
    """
    name = path.name if isinstance(path, Path) else Path(path).name
    if name[-3:].lower() == ".gz":
        name = name[:-3]
    dot = name.rfind(".")
    return (name[:dot], name[dot:]) if 0 < dot < len(name) - 1 else (name, "")
