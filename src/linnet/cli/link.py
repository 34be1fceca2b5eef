"""``linnet link``: text in, concepts out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.cli.common import Metrics, Quiet, Verbose, counter, listen, progress
from linnet.cli.inputs import check_texts, documents, make_allow, refuse_overwriting, row_options
from linnet.cli.outputs import Outputs
from linnet.cli.written import refuse_changed, remember
from linnet.corpora import format_of
from linnet.data import ASSERTIONS, Assertion, Document
from linnet.errors import LinnetError, did_you_mean
from linnet.pipeline import Pipeline
from linnet.pipeline.component import count_seen, describe_seen
from linnet.recipes.config import load, recipes
from linnet.recipes.linking import (
    add_detector,
    add_short_forms,
    default_recipe,
    find_untrained,
    hide_gold,
    keep_only,
)
from linnet.text.files import STDIO

if TYPE_CHECKING:
    from linnet.cli.times import Times
    from linnet.scale.resumable import Unfinished

__all__ = ["Only", "assertions", "link"]

logger = logging.getLogger(__name__)


OfType = Annotated[
    list[str] | None,
    typer.Option("--type", "--types", help="Link only to concepts of this type, or of T1,T2; repeatable."),
]
Under = Annotated[list[str] | None, typer.Option(help="Link only to this concept and its descendants; repeatable.")]
Ids = Annotated[
    list[str] | None,
    typer.Option(help="Link only to this concept, or to those in a file of ids, one per line; repeatable."),
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Link everything afresh; ignore what an interrupted job finished.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output that was changed since Linnet wrote it, or is another's.")
]


Only = Annotated[
    list[str] | None,
    typer.Option(help=f"Write only mentions that are this, or A1,A2, of {', '.join(ASSERTIONS)}; repeatable."),
]

Forms = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="TSV or CSV of short forms and what they mean in your texts; repeatable."),
]


Inputs = Annotated[
    list[str],
    typer.Argument(help="Texts, files, folders, globs, addresses (s3://…, sqlite:///…), or - for standard input."),
]
Columns = Annotated[
    str | None,
    typer.Option(metavar="id=ID,text=NOTE", help="Columns of a table or query; default: those called so."),
]
Query = Annotated[
    str | None, typer.Option(help="SELECT to read from a database: --query 'select id, text from notes'.")
]


def link(
    inputs: Inputs,
    kb: Annotated[
        list[str] | None,
        typer.Option(help="Knowledge base: a name (hpo) or a file; repeatable: mentions of each, side by side."),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(help="Recipe (name or file) or trained folder; default: hpo, or dictionary for another --kb."),
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File to write; - is standard output.")] = None,
    to: Annotated[str | None, typer.Option(help="Output format: jsonl, csv, …; default: by the suffix of -o.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Input format; guessed by default.")] = None,
    columns: Columns = None,
    query: Query = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page with highlighted mentions.")] = None,
    keep_gold: Annotated[bool, typer.Option(help="Keep gold mentions of the input; default: hide them.")] = False,
    detect: Annotated[
        str | None,
        typer.Option(help="Detector for a pipeline that only links given mentions, for example dictionary."),
    ] = None,
    abbreviations: Forms = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a key of the recipe.")] = None,
    types: OfType = None,
    under: Under = None,
    ids: Ids = None,
    fresh: Fresh = False,
    overwrite: Overwrite = False,
    only: Only = None,
    metrics: Metrics = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link the concepts in texts and show them in a table, a file or a page."""
    listen(quiet=quiet, verbose=verbose)
    check_texts(inputs)
    outputs = Outputs(output or STDIO, to or (format_of(output) if output else None), html)
    lasting = outputs.lasting if STDIO not in inputs else None  # what came from there does not come again
    read = [*inputs, *(ids or ()), *(abbreviations or ()), None if pipeline in recipes() else pipeline]
    refuse_overwriting(read, [output, html, metrics, lasting and _place_of(lasting)])
    refuse_changed(output, html, overwrite=overwrite)
    times = _times() if metrics else None
    with nullcontext() if times is None else times.step("load", "pipeline"):
        linker = _load(pipeline, kb or [], changes or (), detect, abbreviations or (), only or ())
        chosen = make_allow(linker.concepts, types or (), under or (), ids or ())
        linker = Pipeline(linker, name=linker.name, kb=linker.kb, allow=chosen)
    timed = linker if times is None else times.of_parts(linker)
    given = partial(_read_given, inputs, (source, columns, query), linker, keep_gold=keep_gold)
    tally = _Tally()
    if lasting is None:
        outputs.write(tally(progress(timed.stream(given()), what="linking", quiet=quiet)), linker)
    else:
        choices = {"choice of --keep-gold": keep_gold}
        with _keeping(lasting, outputs, linker, choices, fresh=fresh) as kept:
            tally.before = kept.documents
            outputs.write_kept(kept, tally(_link_rest(kept, timed, given, quiet=quiet)), linker)
    remember(output, html)
    _tell(output, tally, linker)
    if times is not None:
        times.write(metrics)


def _tell(output: str | None, tally: _Tally, linker: Pipeline) -> None:
    """Say what was written, and warn of documents that the pipeline learned from."""
    if output is not None and output != STDIO:
        logger.info("%s: %s", output, tally)
    if seen := describe_seen(tally.seen):
        logger.warning("%s was %s of these documents: scores measured on them are too high", linker.name, seen)


def _load(
    pipeline: str | None,
    kbs: Sequence[str],
    changes: Sequence[str],
    detect: str | None,
    abbreviations: Sequence[str],
    only: Sequence[str],
) -> Pipeline:
    """Return the pipeline of a knowledge base, or those of several side by side."""
    linkers = []
    for kb in kbs or (None,):
        name = pipeline or default_recipe(kb)
        linker = load(name, kb=kb, changes=changes)
        _warn_of_untrained(*find_untrained(name, changes=changes))
        linker = linker if detect is None else add_detector(linker, detect)
        linker = add_short_forms(linker, abbreviations)
        linkers.append(keep_only(linker, assertions(only)) if only else linker)
    if len(linkers) == 1:
        return linkers[0]
    from linnet.pipeline.several import several  # noqa: PLC0415 - most texts are linked to one

    return several(*linkers)


def assertions(given: Sequence[str]) -> list[Assertion]:
    """Return the values of ``--only``."""
    values = [value.strip() for text in given for value in text.split(",") if value.strip()]
    for value in values:
        if value not in ASSERTIONS:
            hint = did_you_mean(value, ASSERTIONS) or f"; expected {', '.join(ASSERTIONS)}"
            raise LinnetError(f"--only {value}: there is no such assertion{hint}")
    if not values:
        raise LinnetError(f"--only selects nothing; expected {', '.join(ASSERTIONS)}")
    return [value for value in ASSERTIONS if value in values]


def _times() -> Times:
    from linnet.cli.times import Times  # noqa: PLC0415 - needed where somebody asks for times

    return Times()


@dataclass
class _Tally:
    """Counts linked documents, and their mentions, while they are taken."""

    documents: int = 0
    mentions: int = 0
    before: int = 0  # documents that an earlier, interrupted job has finished
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, docs: Iterable[Document]) -> Iterator[Document]:
        for doc in docs:
            self.documents += 1
            self.mentions += len(doc.mentions or ())
            self.seen.update(count_seen([doc]))
            yield doc

    def __str__(self) -> str:
        now = f"{self.documents:,} documents with {self.mentions:,} mentions"
        return f"{now}, after {self.before:,} documents finished before" if self.before else now


def _warn_of_untrained(recipe: str, parts: Sequence[str]) -> None:
    if parts:
        told = f"{recipe} is untrained ({', '.join(parts)})"
        logger.warning("%s: run linnet train %s -o DIR, then link with --pipeline DIR", told, recipe)


def _read_given(
    inputs: Sequence[str], kind: tuple[str | None, str | None, str | None], linker: Pipeline, *, keep_gold: bool
) -> Iterable[Document]:
    """Return the documents as the pipeline may see them; `kind` is the format, the columns and the query."""
    format, options = row_options(inputs, *kind)
    docs = documents(inputs, format, rows=linker.kb, options=options)
    return docs if keep_gold else hide_gold(docs, linker)


# --- what is kept of a job that is interrupted: a table on the terminal needs none of it -----------------------------


def _place_of(lasting: Path) -> Path:
    from linnet.scale.resumable import place_of  # noqa: PLC0415 - see above

    return place_of(lasting)


def _keeping(
    lasting: Path, outputs: Outputs, linker: Pipeline, choices: Mapping[str, object], *, fresh: bool
) -> AbstractContextManager[Unfinished]:
    from linnet.scale.job_key import made_of  # noqa: PLC0415 - see above
    from linnet.scale.resumable import keeping  # noqa: PLC0415 - see above

    told = made_of(linker, choices)
    return keeping(lasting, format=outputs.kept_as, made_of=told, rows=linker.concepts, fresh=fresh)


def _link_rest(
    kept: Unfinished, linker: Pipeline, given: Callable[[], Iterable[Document]], *, quiet: bool
) -> Iterator[Document]:
    """Return the documents that are not finished yet, linked and kept while they are taken."""
    from linnet.scale.resumable import rest  # noqa: PLC0415 - see above

    nothing = not kept.documents
    with counter("comparing finished documents", total=kept.documents, quiet=quiet or nothing) as again:
        docs = rest(kept, linker, given, again=again)
    return progress(docs, what="linking", before=kept.documents, quiet=quiet)
