"""``linnet kb``: build, list, describe, search and export knowledge bases."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, counter, file_size, listen, progress, table
from linnet.config import open_kb
from linnet.detect.name_table import NameTable
from linnet.errors import LinnetError
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase, kb_path
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.export import write_table

__all__ = ["app"]

app = typer.Typer(help="Build, list, describe, search and export knowledge bases.", no_args_is_help=True)


@app.command("build")
def build(
    files: Annotated[list[Path] | None, typer.Argument(help="Source files; none for hpo.")] = None,
    vocabulary: Annotated[
        list[str] | None,
        typer.Option(
            "--from", help="What reads them: hpo, obo, table, ctd, medic, mesh, umls, …; one for all or one for each."
        ),
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File, or a name under LINNET_HOME.")] = None,
    separator: Annotated[str, typer.Option(help="Between the values of one cell of a table.")] = "|",
    prefix: Annotated[str, typer.Option(help="Prefix for the ids of a table without one: MESH.")] = "",
    columns: Annotated[
        list[str] | None, typer.Option("--column", help="Name of a table's column: synonyms=Synonyms.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Build a knowledge base from the files of a terminology.

    A table has the columns id, name, and any of synonyms, types, definition, parents, xrefs, replaced_by, language,
    scope; several values in a cell are separated by |.
    """
    listen(quiet=quiet, verbose=verbose)
    sources = _sources(files or [], vocabulary or [], columns or [], {"prefix": prefix, "separator": separator})
    name = output or (sources[0].vocabulary if sources[0].path is None else "")
    if not name:
        raise LinnetError("say what to build: -o NAME (under LINNET_HOME) or -o FILE.kb")
    if name == "hpo" and any(source.vocabulary not in ("hpo", "obo") for source in sources):
        raise LinnetError("the name hpo is the Human Phenotype Ontology's: give your knowledge base another with -o")
    started = time.perf_counter()
    with counter("concepts", quiet=quiet) as count:
        kb = build_from(sources, kb_path(name), progress=count)
    NameTable.of(kb)  # so that the first text to be linked need not wait for it
    if not quiet:
        took = time.perf_counter() - started
        print(
            f"{kb.path}: {int(kb.info['concepts']):,} concepts, {int(kb.info['names']):,} names, "
            f"{int(kb.info['retired']):,} retired ids, {file_size(kb.path)}, version {kb.version}, {took:.1f} s"
        )


def _sources(files: list[Path], vocabularies: list[str], columns: list[str], table: dict[str, str]) -> list[Source]:
    if not vocabularies:
        raise LinnetError("say what the files are: --from hpo, obo, table, ctd, medic, mesh, umls, snomed, …")
    if not files:
        if vocabularies != ["hpo"]:
            raise LinnetError(f"--from {' --from '.join(vocabularies)} needs files; only hpo comes with the package")
        return [Source("hpo")]
    if len(vocabularies) == 1:
        vocabularies *= len(files)
    if len(vocabularies) != len(files):
        raise LinnetError(f"{len(files)} files but {len(vocabularies)} --from: give one for all, or one for each")
    options: dict[str, object] = dict(table)
    if columns:
        options["columns"] = dict(_pair(column) for column in columns)
    return [
        Source(vocabulary, path, options if vocabulary == "table" else {})
        for vocabulary, path in zip(vocabularies, files, strict=True)
    ]


def _pair(column: str) -> tuple[str, str]:
    ours, equals, theirs = column.partition("=")
    if not equals:
        raise LinnetError(f"--column {column}: expected OURS=THEIRS, for example synonyms=Synonyms")
    return ours, theirs


@app.command("list")
def list_all(quiet: Quiet = False, verbose: Verbose = False) -> None:
    """List the knowledge bases under LINNET_HOME."""
    listen(quiet=quiet, verbose=verbose)
    paths = sorted(kb_folder().glob("*.kb"))
    if not paths:
        print(f"no knowledge bases in {kb_folder()}; `linnet kb build --from hpo` makes one")
        return
    rows = []
    for path in paths:
        try:
            info = KnowledgeBase.open(path).info
            rows.append((path.stem, info["concepts"], info["names"], info["version"], info["built"], file_size(path)))
        except LinnetError as error:
            rows.append((path.stem, "", "", "", str(error), file_size(path)))
    table(str(kb_folder()), ("name", "concepts", "names", "version", "built", "size"), rows, right=(1, 2, 5))


@app.command("info")
def info(
    kb: Annotated[str, typer.Argument(help="Name or file.")], quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """Describe a knowledge base: counts, types, sources with their licences, history."""
    listen(quiet=quiet, verbose=verbose)
    base = open_kb(kb)
    print(f"{base.info['name']}: {base.path}, {file_size(base.path)}")
    for key in ("version", "built", "concepts", "names", "retired"):
        print(f"  {key}: {base.info[key]}")
    for name, count in base.types().items():
        print(f"  type {name}: {count}")
    for source in base.sources:
        print("  source:")
        for key, value in source.items():
            print(f"    {key}: {value}")
    for entry in base.history:
        print(f"  {entry['at']}  {entry['action']}: version {entry['version']}, {entry['concepts']} concepts")


@app.command("search")
def search(
    kb: Annotated[str, typer.Argument(help="Name or file.")],
    text: Annotated[list[str], typer.Argument(help="An id, a name, its beginning, or words of it.")],
    types: Annotated[list[str] | None, typer.Option("--type", help="Only concepts of this type; repeatable.")] = None,
    under: Annotated[list[str] | None, typer.Option(help="Only this concept and its descendants; repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 10,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Search concepts by id, name, beginning of a name, or words."""
    listen(quiet=quiet, verbose=verbose)
    hits = open_kb(kb).search(" ".join(text), types=types or (), under=under or (), limit=limit)
    if not hits:
        print(f"nothing found for {' '.join(text)!r}")
        return
    rows = [(hit.id, hit.name, hit.matched if hit.matched != hit.name else "", hit.tier) for hit in hits]
    table("", ("concept", "name", "matched", "by"), rows)


@app.command("export")
def export(
    kb: Annotated[str, typer.Argument(help="Name or file.")],
    output: Annotated[str, typer.Option("--output", "-o", help="File: .tsv, .jsonl, also .gz; - is standard output.")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write a knowledge base to a file: .jsonl keeps everything (`--from concepts` reads it), .tsv is for people."""
    listen(quiet=quiet, verbose=verbose)
    base = open_kb(kb)
    concepts = progress(base.concepts(), what="concepts", total=len(base), quiet=quiet)
    count = write_table(concepts, output)
    if not quiet:
        print(f"{output}: {count:,} concepts", file=sys.stderr)
