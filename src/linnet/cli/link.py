"""``linnet link``: text in, concepts out."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen, progress, table
from linnet.config import load
from linnet.corpora import read, write
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline

__all__ = ["NOTICE", "link"]

NOTICE = "Negation and family history are not interpreted: 'no cleft palate' still links cleft palate."
WIDTH = 46  # of the table's column for text


def link(
    inputs: Annotated[list[str], typer.Argument(help="Texts, files, folders, globs, or - for standard input.")],
    kb: Annotated[str | None, typer.Option(help="Knowledge base: a name (hpo) or a file.")] = None,
    pipeline: Annotated[str, typer.Option(help="Recipe (name or file) or trained folder.")] = "hpo",
    output: Annotated[str | None, typer.Option("--output", "-o", help="File to write; - is standard output.")] = None,
    to: Annotated[str | None, typer.Option(help="Output format: jsonl or csv; by default what -o ends in.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Input format; guessed by default.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page with highlighted mentions.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a recipe's key=value.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link the concepts in texts and show them in a table, a file or a page."""
    listen(quiet=quiet, verbose=verbose)
    docs = documents(inputs, source)
    linker = load(pipeline, kb=kb, changes=changes or ())
    linked: Iterable[Document] = progress(linker.stream(docs), what="linking", quiet=quiet)
    if html is not None:
        kept = list(linked)  # two outputs from one pass
        write(kept, html, format="html", kb=linker.kb, title=f"{len(kept)} documents", notice=[NOTICE, _made_by(linker)])
        linked = kept
    if output or to:
        write(linked, output or "-", format=to, kb=linker.kb)
    elif linker.kb is not None:
        show(linked, linker.kb)


def documents(inputs: Iterable[str], format: str | None) -> Iterator[Document]:
    """Yield the documents that command line arguments name, with unique ids.

    An argument that is ``-``, an existing path, or a glob is read; one that looks like a path but is none is an error;
    anything else is a text.
    """
    seen: dict[str, int] = {}
    for number, text in enumerate(inputs, 1):
        docs = read(text, format=format) if _is_source(text) else iter([Document.of(text, f"text-{number}")])
        for doc in docs:
            count = seen[doc.id] = seen.get(doc.id, 0) + 1
            if count > 1:
                raise LinnetError(f"document id {doc.id!r} comes twice in the input ({text}); ids must be unique")
            yield doc


def _is_source(text: str) -> bool:
    if text == "-":
        return True
    try:
        if Path(text).exists():
            return True
    except OSError:  # too long for a path
        return False
    if not text.strip():
        raise LinnetError("an empty text was given: nothing to link")
    spaced = any(character.isspace() for character in text)
    if glob.has_magic(text) and not spaced:
        return True
    return not spaced and ("/" in text or "\\" in text or Path(text).suffix in (".txt", ".xml", ".jsonl", ".tsv", ".gz"))


def _made_by(linker: Pipeline) -> str:
    kb = linker.kb
    base = f"{kb.info['name']}, version {kb.version}" if kb is not None else "none"
    releases = ", ".join(source.get("release", "") for source in kb.sources) if kb is not None else ""
    return f"Knowledge base: {base}{f' ({releases})' if releases else ''}; pipeline: {linker.name} ({linker!r})"


def show(docs: Iterable[Document], kb: KnowledgeBase) -> None:
    """Print the linked mentions of each document as a table."""
    for doc in docs:
        rows = list(_rows(doc, kb))
        if not rows:
            print(f"{doc.id}: no concepts found")
            continue
        table(doc.id, ("text", "concept", "name", "probability"), rows, right=(3,))
    print(NOTICE)
    print("Probabilities marked * are not calibrated: they rank answers, they are not frequencies.")


def _rows(doc: Document, kb: KnowledgeBase) -> Iterator[tuple[str, str, str, str]]:
    for mention in doc.mentions or ():
        surface = " ".join(doc.surface(mention).split())
        surface = surface if len(surface) <= WIDTH else f"{surface[: WIDTH - 1]}…"
        probability = "" if mention.probability is None else f"{mention.probability:.2f}"
        mark = "" if mention.calibration or mention.probability is None else "*"
        for id in mention.concepts or ("NIL",):
            name = kb[kb.row(id)].name if id in kb else ""
            yield surface, id, name, probability + mark
