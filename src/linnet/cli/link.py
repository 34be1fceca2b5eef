"""``linnet link``: text in, concepts out."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from linnet import __version__
from linnet.cli.common import Quiet, Verbose, clean, listen, progress, table
from linnet.cli.inputs import documents, hide_gold, refuse_overwriting
from linnet.cli.times import Metrics, Times
from linnet.config import components, load, make, name_of
from linnet.corpora import format_of, write
from linnet.corpora.html import write_html
from linnet.data import Document
from linnet.errors import LinnetError, did_you_mean
from linnet.kb import KnowledgeBase
from linnet.pipeline import Component, Pipeline
from linnet.text.files import replacing

__all__ = ["NOTICE", "link"]

logger = logging.getLogger(__name__)

NOTICE = "Negation and family history are not interpreted: 'no cleft palate' still links cleft palate."
WIDTH = 46  # of the table's column for text


def link(
    inputs: Annotated[list[str], typer.Argument(help="Texts, files, folders, globs, or - for standard input.")],
    kb: Annotated[str | None, typer.Option(help="Knowledge base: a name (hpo) or a file.")] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(help="Recipe (name or file) or trained folder; hpo, or dictionary for another --kb."),
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File to write; - is standard output.")] = None,
    to: Annotated[str | None, typer.Option(help="Output format: jsonl, csv, …; by default what -o ends in.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Input format; guessed by default.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page with highlighted mentions.")] = None,
    keep_gold: Annotated[
        bool, typer.Option(help="Keep gold mentions of the input; they are hidden by default.")
    ] = False,
    detect: Annotated[
        str | None,
        typer.Option(help="Find mentions with this component, such as dictionary, for a pipeline that is given them."),
    ] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a recipe's key=value.")] = None,
    metrics: Metrics = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link the concepts in texts and show them in a table, a file or a page."""
    listen(quiet=quiet, verbose=verbose)
    refuse_overwriting(inputs, [output, html, metrics])
    target = to or (format_of(output) if output else None)
    default = "hpo" if kb in (None, "hpo") else "dictionary"
    times = Times()
    with times.step("load", "pipeline"):
        linker = load(pipeline or default, kb=kb, changes=changes or ())
        linker = linker if detect is None else _detecting(linker, detect)
    docs = documents(inputs, source, rows=linker.kb)
    seen = docs if keep_gold else hide_gold(docs, spans="mentions" in linker.needs)
    linked: Iterable[Document] = progress(
        (times.of_parts(linker) if metrics else linker).stream(seen), what="linking", quiet=quiet
    )
    if html is not None:
        linked = list(linked)  # two outputs from one pass
        with replacing(html) as page:
            write_html(linked, page, kb=linker.kb, title=_title(linked), notice=[_made_by(linker)])
    if target:
        write(linked, output or "-", format=target, rows=linker.kb)
    elif linker.kb is not None:
        show(linked, linker.kb)
    times.write(metrics)


def _detecting(linker: Pipeline, name: str) -> Pipeline:
    """Return a pipeline with a detector in the place of ``gold``, which takes the mentions that are there."""
    if linker.kb is None or name_of(linker.parts[0]) != "gold":
        raise LinnetError(f"--detect {name}: {linker!r} does not begin with gold, so it finds mentions itself")
    if name not in components():
        hint = did_you_mean(name, components()) or ""
        raise LinnetError(f"--detect {name}: there is no such component{hint}")
    try:
        detector = make({"use": name}, linker.kb)
    except TypeError as error:  # made of other components, or of keywords that only a recipe gives
        raise LinnetError(f"--detect {name}: it cannot be made by its name alone; put it into a recipe") from error
    if "mentions" not in getattr(detector, "gives", ()) or "mentions" in detector.needs:
        raise LinnetError(f"--detect {name}: it finds no mentions; dictionary does")
    return Pipeline(detector, *map(_uncalibrated, linker.parts[1:]), name=linker.name, kb=linker.kb)


def _uncalibrated(part: Component) -> Component:
    """Return a part that does not say of probabilities at given spans that they are those of found ones."""
    if getattr(part, "calibration", "") != "given-span":
        return part
    logger.warning("probabilities were fitted to given mentions: of found ones they are marked as not calibrated")
    made = copy.copy(part)
    vars(made)["calibration"] = ""
    return made


def _title(docs: Sequence[Document]) -> str:
    return docs[0].id if len(docs) == 1 else f"{len(docs)} documents"


def _made_by(linker: Pipeline) -> str:
    return f"Pipeline: {linker.name} ({linker!r}), Linnet {__version__}"


def show(docs: Iterable[Document], kb: KnowledgeBase) -> None:
    """Print the linked mentions of each document as a table."""
    starred = False
    for doc in docs:
        rows = list(_rows(doc, kb))
        if not rows:
            print(clean(f"{doc.id}: no concepts found"))
            continue
        table(doc.id, ("text", "concept", "name", "probability"), rows, right=(3,))
        starred |= any(row[-1].endswith("*") for row in rows)
    print(NOTICE)
    if starred:
        print("Probabilities marked * are not calibrated: they rank answers, they are not frequencies.")


def _rows(doc: Document, kb: KnowledgeBase) -> Iterator[tuple[str, str, str, str]]:
    for mention in doc.mentions or ():
        surface = " ".join(doc.surface(mention).split())
        surface = surface if len(surface) <= WIDTH else f"{surface[: WIDTH - 1]}…"
        probability = "" if mention.probability is None else f"{mention.probability:.2f}"
        mark = "" if mention.calibration or mention.probability is None else "*"
        none = "(not linked)" if mention.concepts is None else "NIL"
        for id in mention.concepts or (none,):
            name = kb[kb.row(id)].name if id in kb else ""
            yield surface, id, name, probability + mark
