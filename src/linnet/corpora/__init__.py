"""Corpora: files to documents and back, one module for each format.

`read` takes files, folders, patterns and standard input and finds out the format; `write` writes beside the target
and renames, so that a file is there in full or not at all. The modules load only when asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.corpora.losses import ALL
from linnet.corpora.sources import Found, find, sniff, suffix, unique_names
from linnet.data import Document, Rows
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.text.files import STDIO, head, replacing, shown

__all__ = ["FORMATS", "Format", "format_of", "read", "write"]


@dataclass(frozen=True, slots=True)
class Format:
    """Where a format is read and written, as "module:function", and the suffixes its files have.

    A reader is called with the path, a writer with the documents and the open text file, both with those of the
    keywords ``rows`` (a knowledge base) and ``name`` (what to call documents that have no id) that ``options`` names.
    ``alone`` tells formats that their suffix alone identifies; the others are recognised by content. ``holds`` names
    what the format can hold (`linnet.corpora.losses`); a format with ``write_folder`` makes several files.
    """

    read: str | None
    write: str | None
    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()
    alone: bool = False
    holds: frozenset[str] = frozenset()
    write_folder: str | None = None


LINKS = frozenset({"texts", "documents without mentions", "mentions", "overlapping mentions", "concepts"})
ANNOTATIONS = LINKS | {"types", "several concepts", "NIL mentions", "mentions not linked"}

FORMATS: dict[str, Format] = {
    "jsonl": Format(
        "linnet.corpora.jsonl:read",
        "linnet.corpora.jsonl:write",
        (".jsonl", ".ndjson"),
        options=("rows",),
        alone=True,
        holds=ALL,
    ),
    "pubtator": Format(
        "linnet.corpora.pubtator:read",
        "linnet.corpora.pubtator:write",
        (".pubtator",),
        holds=ANNOTATIONS | {"passages", "several types", "relations", "line breaks", "id spellings"},
    ),
    "bioc": Format(
        "linnet.corpora.bioc_xml:read",
        "linnet.corpora.bioc_xml:write",
        (".xml",),
        options=("rows",),
        holds=ALL,
    ),
    "bioc_json": Format(
        "linnet.corpora.bioc_json:read",
        "linnet.corpora.bioc_json:write",
        (".json",),
        options=("rows",),
        holds=ALL,
    ),
    "brat": Format(
        "linnet.corpora.brat:read",
        None,
        (".ann",),
        options=("rows", "name"),
        alone=True,
        holds=ALL,
        write_folder="linnet.corpora.brat_write:write_folder",
    ),
    "conll": Format(
        "linnet.corpora.conll:read",
        "linnet.corpora.conll_write:write",
        (".conll", ".bio", ".iob"),
        options=("name",),
        holds=(ANNOTATIONS | {"line breaks", "several types"}) - {"overlapping mentions"},
    ),
    "text": Format("linnet.corpora.text:read", None, (".txt", ".text"), options=("name",), alone=True),
    "text_lines": Format("linnet.corpora.text:read_lines", None, (), options=("name",)),
    "gsc": Format("linnet.corpora.gsc:read", "linnet.corpora.gsc:write", (".gsc", ".tsv"), holds=LINKS),
    "pubmed": Format("linnet.corpora.pubmed:read", None, (".xml",)),
    "csv": Format(
        "linnet.corpora.mentions_csv:read",
        "linnet.corpora.mentions_csv:write",
        (".csv",),
        options=("rows",),
        alone=True,
        holds=(ANNOTATIONS | {"several types", "discontinuous mentions", "sources other than gold", "probabilities"})
        - {"mentions not linked", "texts", "documents without mentions"},
    ),
}
READABLE = tuple(name for name, format in FORMATS.items() if format.read)
WRITABLE = tuple(name for name, format in FORMATS.items() if format.write or format.write_folder)


def read(
    source: str | Path | Iterable[str | Path | Document], *, format: str | None = None, rows: Rows | None = None
) -> Iterator[Document]:
    """Yield the documents of a file, a folder, a pattern such as ``notes/**/*.txt``, or standard input (``-``).

    Args:
        source: one of these or several; documents among several are passed on. Folders are read recursively in sorted
            order: files with a suffix of `format`, or of any format; links are followed, hidden files are not read.
        format: one of `FORMATS`; None finds it out, for each file, from suffix and content.
        rows: a knowledge base that turns the ids of stored candidates into rows.

    Raises:
        LinnetError: an unknown format, or one that is only written.
        FormatError: no such file, nothing found, a pipe or device, a format that cannot be told, damage.

    >>> [doc.id for doc in read([Document.of("Seizures.", id="note")])]
    ['note']
    """
    if format is not None:
        _check(format, READABLE, "read")
    return _read([source] if isinstance(source, (str, Path)) else source, format, rows)


def _read(sources: Iterable[str | Path | Document], format: str | None, rows: Rows | None) -> Iterator[Document]:
    wanted = (FORMATS[format],) if format else FORMATS.values()
    suffixes = tuple(suffix for known in wanted if known.read for suffix in known.suffixes)
    found: list[Found | Document] = []
    for source in sources:
        found += [source] if isinstance(source, Document) else find(source, suffixes)
    found = _without_texts_of_brat(found)
    names = unique_names([item for item in found if isinstance(item, Found)])
    for item in found:
        if isinstance(item, Document):
            yield item
        else:
            chosen = FORMATS[format or _guess(item.path)]
            options = {"rows": rows, "name": names[item]}
            reader = _resolve(chosen.read)
            yield from reader(item.path, **{key: options[key] for key in chosen.options})


def _without_texts_of_brat(found: Sequence[Found | Document]) -> list[Found | Document]:
    """Leave out the ``.txt`` of every ``.ann``: brat's reader reads it with its annotations."""
    pairs = {item.path.with_suffix(".txt") for item in found if isinstance(item, Found) and item.path.suffix == ".ann"}
    return [item for item in found if isinstance(item, Document) or item.path not in pairs]


def write(docs: Iterable[Document], path: str | Path, *, format: str | None = None, rows: Rows | None = None) -> int:
    """Write documents to `path` and return how many; ``-`` is standard output.

    Args:
        docs: the documents, consumed one by one.
        path: the file; replaced only when all is written. ``.gz`` at the end packs it.
        format: one of `FORMATS`; None takes it from the suffix, and JSON Lines for standard output.
        rows: the knowledge base that candidates and names belong to.

    Raises:
        LinnetError: an unknown format, or one that is only read.
        FormatError: a suffix of no format, or a place that cannot be written to.
        DataError: a document that the format cannot hold.
    """
    if format is None:
        format = format_of(path)
    _check(format, WRITABLE, "written")
    options = {"rows": rows} if "rows" in FORMATS[format].options else {}
    if place := FORMATS[format].write_folder:
        if str(path) == STDIO:
            raise LinnetError(f"{format} is a folder of files and cannot go to standard output: name a folder")
        written: int = _resolve(place)(docs, Path(path), **options)
        return written
    try:
        with replacing(path) as out:
            count: int = _resolve(FORMATS[format].write)(docs, out, **options)
    except UnicodeEncodeError as error:
        problem = f"cannot be written as {error.encoding}: {error.object[error.start : error.end]!r} is no character"
        raise FormatError(shown(path), problem) from error
    return count


def _check(format: str, known: tuple[str, ...], done: str) -> None:
    if format not in FORMATS:
        expected = f"expected one of {', '.join(known)}"
        raise LinnetError(f"unknown corpus format {format!r}, {expected}{did_you_mean(format, known)}")
    if format not in known:
        raise LinnetError(f"the corpus format {format!r} cannot be {done}; {', '.join(known)} can")


def _resolve(place: str | None) -> Callable[..., Any]:
    module, _, function = (place or "").partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _guess(path: str | Path) -> str:
    """Return the format that `path` is in, by suffix where that says it, else by content."""
    ending = suffix(path)
    for name, format in FORMATS.items():
        if format.alone and format.read and ending in format.suffixes and name != "text":
            return name
    content = sniff(head(path))
    if ending in FORMATS["text"].suffixes:
        return content if content == "pubtator" else "text"  # PubTator is published as .txt; notes are anything
    if content:
        return content
    ours = [name for name, format in FORMATS.items() if format.read and ending in format.suffixes]
    if len(ours) == 1:
        return ours[0]  # its reader says what is wrong, with the line
    if not ending:
        return "text"
    problem = f"cannot tell its format from the suffix {ending!r} and the content"
    raise FormatError(shown(path), f"{problem}; say which it is (--from, or format=): {', '.join(READABLE)}")


def format_of(path: str | Path) -> str:
    """Return the format that is written to a path with this suffix, the first of a format's own."""
    if str(path) == STDIO:
        return "jsonl"
    ending = suffix(path)
    for name in WRITABLE:
        if ending in FORMATS[name].suffixes[:1]:
            return name
    problem = f"no format is written with the suffix {ending!r}"
    raise FormatError(shown(path), f"{problem}; say which you want (--to, or format=): {', '.join(WRITABLE)}")
