"""The options of ``linnet link``, and what they ask for: a pipeline, which other processes can load too, and shards."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.inputs import make_allow
from linnet.corpora import FORMATS
from linnet.data import ASSERTIONS, Assertion
from linnet.errors import LinnetError, did_you_mean
from linnet.pipeline import Pipeline
from linnet.recipes.config import load
from linnet.recipes.linking import add_detector, add_short_forms, default_recipe, find_untrained, keep_only
from linnet.text.files import STDIO

__all__ = [
    "Changes",
    "Columns",
    "Detect",
    "DryRun",
    "Forms",
    "Fresh",
    "From",
    "Ids",
    "Kb",
    "KeepGold",
    "Loading",
    "Of",
    "OfType",
    "Only",
    "Output",
    "Overwrite",
    "Page",
    "Query",
    "Ray",
    "ShardDocuments",
    "Shards",
    "Texts",
    "To",
    "ToOption",
    "Under",
    "Workers",
    "assertions",
]

logger = logging.getLogger(__name__)

SHARDS = ("jsonl", "parquet")  # formats

Texts = Annotated[
    list[str],
    typer.Argument(help="Texts, files, folders, globs, addresses (s3://…, sqlite:///…), or - for standard input."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="id=ID,text=NOTE",
        help="Columns of a table or query with id, text, patient and date; default: those with usual names "
        "(docs/inputs.md).",
    ),
]
Query = Annotated[
    str | None, typer.Option(help="SELECT to read from a database: --query 'select id, text from notes'.")
]
Kb = Annotated[
    list[str] | None,
    typer.Option(help="Knowledge base: a name (hpo) or a file; repeatable: mentions of each, side by side."),
]
Of = Annotated[
    str | None,
    typer.Option(help="Recipe (name or file) or trained folder; default: hpo, or dictionary for another --kb."),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", help="File to write; - is standard output, OUT/ a folder, for many texts."),
]
To = Annotated[str | None, typer.Option(help="Output format: jsonl, csv, fhir, omop, …; default: by the suffix of -o.")]
ToOption = Annotated[
    list[str] | None,
    typer.Option(
        "--to-option", help="Option of the writer of --to, KEY=VALUE; repeatable (docs/reference/formats.md)."
    ),
]
From = Annotated[str | None, typer.Option("--from", help="Input format (docs/formats.md); guessed by default.")]
Page = Annotated[Path | None, typer.Option(help="Also write a page with highlighted mentions.")]
KeepGold = Annotated[bool, typer.Option(help="Keep gold mentions of the input; default: hide them.")]
Detect = Annotated[
    str | None,
    typer.Option(help="Detector for a pipeline that only links given mentions, for example dictionary."),
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Change a key of the recipe, decide.threshold=0.9; repeatable.")
]
OfType = Annotated[
    list[str] | None,
    typer.Option("--type", "--types", help="Link only to concepts of this type; several with commas; repeatable."),
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
    bool, typer.Option("--overwrite", help="Replace an output that people or other programs changed or made.")
]


Only = Annotated[
    list[str] | None,
    typer.Option(help=f"Write only mentions with this assertion: {', '.join(ASSERTIONS)}; several with commas."),
]

Forms = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="TSV or CSV of short forms and what they mean in your texts; repeatable."),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes that link; they write shards into -o OUT/; by default all cores."),
]
Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The same on a Ray cluster: its address, or local."),
]
ShardDocuments = Annotated[int, typer.Option(min=1, help="Documents in each shard of a job (-o OUT/).")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Link a sample, and say what the whole will cost; write nothing.")
]


@dataclass(frozen=True)
class Loading:
    """Loads a pipeline, or those of several knowledge bases side by side, when it is called.

    Args:
        pipeline: recipe (name or file) or trained folder; None takes the default one of a knowledge base.
        kbs: knowledge bases by name or file.
        changes: of keys of the recipe.
        detect: a detector for a pipeline that only links given mentions.
        abbreviations: files of short forms.
        only: assertions of the mentions that are kept.
        types: link only to concepts of these types.
        under: link only to these concepts and their descendants.
        ids: link only to these concepts, or those in files.
    """

    pipeline: str | None = None
    kbs: Sequence[str] | None = None
    changes: Sequence[str] | None = None
    detect: str | None = None
    abbreviations: Sequence[str] | None = None
    only: Sequence[str] | None = None
    types: Sequence[str] | None = None
    under: Sequence[str] | None = None
    ids: Sequence[str] | None = None

    def __call__(self) -> Pipeline:
        """Return the pipeline, with the conditions on what it may answer.

        Raises:
            LinnetError: it cannot be loaded, or options do not fit it.
        """
        linkers = [self._load(kb) for kb in self.kbs or (None,)]
        if len(linkers) == 1:
            linker = linkers[0]
        else:
            from linnet.pipeline.several import several  # noqa: PLC0415 - most texts are linked to one

            linker = several(*linkers)
        chosen = make_allow(linker.concepts, self.types or (), self.under or (), self.ids or ())
        return Pipeline(linker, name=linker.name, kb=linker.kb, allow=chosen)

    def _load(self, kb: str | None) -> Pipeline:
        name = self.pipeline or default_recipe(kb)
        linker = load(name, kb=kb, changes=self.changes or ())
        _warn_of_untrained(*find_untrained(name, changes=self.changes or ()))
        linker = linker if self.detect is None else add_detector(linker, self.detect)
        linker = add_short_forms(linker, self.abbreviations or ())
        return keep_only(linker, assertions(self.only)) if self.only else linker


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


def _warn_of_untrained(recipe: str, parts: Sequence[str]) -> None:
    if parts:
        told = f"{recipe} is untrained ({', '.join(parts)})"
        logger.warning("%s: run linnet train %s -o DIR, then link with --pipeline DIR", told, recipe)


@dataclass(frozen=True)
class Shards:
    """The options of a job of shards."""

    workers: int | None = None
    ray: str | None = None
    documents: int = 1_000
    dry_run: bool = False

    def wanted(self, output: str | None, to: str | None) -> bool:
        """Return whether the output is a folder of shards, and no file or folder of one format."""
        if self.workers is not None or self.ray is not None or self.dry_run:
            return True
        if output is None or output == STDIO:
            return False
        if (Path(output) / ".job").is_dir():
            return True
        if to is None and not (Path(output).suffix or output.endswith("/")):
            many = f"or -o {output}/, a folder, for many documents"
            raise LinnetError(f"{output} does not tell the format: give -o {output}.jsonl or --to, {many}")
        if output.endswith("/") and to in FORMATS and to not in SHARDS and not FORMATS[to].write_folder:
            one = f"for one file give -o {output.rstrip('/')}.{to}, or write shards and linnet corpus convert them"
            raise LinnetError(f"{output} is a folder of shards, as {' or '.join(SHARDS)}, not as {to}: {one}")
        return output.endswith("/") and to in (None, *SHARDS)
