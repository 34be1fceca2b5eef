"""``linnet link``: text in, concepts out."""

from __future__ import annotations

import glob
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from linnet import __version__
from linnet.cli.common import Quiet, Verbose, listen, progress, table
from linnet.config import load
from linnet.corpora import read, write
from linnet.corpora.html import write_html
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.text.files import replacing

__all__ = ["NOTICE", "documents", "hide_gold", "link"]

logger = logging.getLogger(__name__)

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
    keep_gold: Annotated[
        bool, typer.Option(help="Keep gold mentions of the input; they are hidden by default.")
    ] = False,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a recipe's key=value.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link the concepts in texts and show them in a table, a file or a page."""
    listen(quiet=quiet, verbose=verbose)
    linker = load(pipeline, kb=kb, changes=changes or ())
    docs = documents(inputs, source)
    seen = docs if keep_gold else hide_gold(docs, spans="mentions" in linker.needs)
    linked: Iterable[Document] = progress(linker.stream(seen), what="linking", quiet=quiet)
    if html is not None:
        linked = list(linked)  # two outputs from one pass
        with replacing(html) as page:
            write_html(linked, page, kb=linker.kb, title=_title(linked), notice=[_made_by(linker)])
    if output or to:
        write(linked, output or "-", format=to, rows=linker.kb)
    elif linker.kb is not None:
        show(linked, linker.kb)


def _title(docs: Sequence[Document]) -> str:
    return docs[0].id if len(docs) == 1 else f"{len(docs)} documents"


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


def hide_gold(docs: Iterable[Document], *, spans: bool) -> Iterator[Document]:
    """Yield `docs` without gold answers, which a system must not see: only text, passages and user mentions are left.

    With `spans`, for pipelines that link given mentions, start and end of the mentions are left too.
    """
    hidden = 0
    for doc in docs:
        gold = sum(mention.source == "gold" for mention in doc.mentions or ())
        if spans:
            yield doc.spans_only()
        elif gold:
            users = tuple(mention for mention in doc.mentions or () if mention.source == "user")
            yield replace(doc.bare(), mentions=users)
        else:
            yield doc
        hidden += gold
    if hidden and not spans:
        logger.info(
            "%d gold mentions of the input were hidden and are not in the output; --keep-gold keeps them", hidden
        )


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
    return not spaced and (
        "/" in text or "\\" in text or Path(text).suffix in (".txt", ".xml", ".jsonl", ".tsv", ".gz")
    )


def _made_by(linker: Pipeline) -> str:
    return f"Pipeline: {linker.name} ({linker!r}), Linnet {__version__}"


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
