"""``linnet kb``: build, list, describe, search, export and compare knowledge bases."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from linnet.cli import kb_build, kb_compare, kb_edit, kb_info
from linnet.cli.common import App, AsJson, Quiet, Verbose, counter, file_size, listen, progress, table
from linnet.cli.terminal import say
from linnet.errors import LinnetError, did_you_mean
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase
from linnet.kb.search import ANY_WORD, Hit
from linnet.kb.successors import Retired, retired
from linnet.recipes.config import open_kb
from linnet.retrieve.similar import SIMILAR
from linnet.retrieve.similar import search as find_similar
from linnet.vocabularies.export import write_table
from linnet.vocabularies.sssom import is_sssom, write_sssom

__all__ = ["app"]

INSTEAD = {SIMILAR: "similar names", ANY_WORD: "names with some of them"}  # tiers that say less than all words


class _Commands(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is named first; of one that there is not, say what may have been meant."""
        if args and args[0] not in self.commands:
            there = f"; there are: {', '.join(self.commands)}; a concept is shown by: linnet kb info hpo HP:0001250"
            ctx.fail(f"No such command {args[0]!r}{did_you_mean(args[0], self.commands) or there}")
        return super().resolve_command(ctx, args)


app = App(
    cls=_Commands,
    help="Build, list, describe, search, export and compare knowledge bases.",
    no_args_is_help=True,
    add_completion=False,
)


app.command("build")(kb_build.build)


@app.command("list")
def list_all(quiet: Quiet = False, verbose: Verbose = False) -> None:
    """List the knowledge bases under LINNET_HOME."""
    listen(quiet=quiet, verbose=verbose)
    paths = sorted(kb_folder().glob("*.kb"))
    if not paths:
        say(f"no knowledge bases in {kb_folder()}; `linnet kb build --from hpo` makes one")
        return
    rows = []
    for path in paths:
        try:
            info = KnowledgeBase.open(path).info
            rows.append((path.stem, info["concepts"], info["names"], info["version"], info["built"], file_size(path)))
        except LinnetError as error:
            rows.append((path.stem, "", "", "", str(error), file_size(path)))
    table(str(kb_folder()), ("name", "concepts", "names", "version", "built", "size"), rows, right=(1, 2, 5))


app.command("info")(kb_info.info)


@app.command("search")
def search(
    kb: Annotated[str, typer.Argument(help="Name or file.")],
    text: Annotated[list[str], typer.Argument(help="An id, a name, the beginning of a name, or words.")],
    types: Annotated[
        list[str] | None, typer.Option("--type", "--types", help="Only concepts of this type; repeatable.")
    ] = None,
    under: Annotated[list[str] | None, typer.Option(help="Only this concept and its descendants; repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of results.")] = 10,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Search concepts by id, name, beginning of a name, or words, else similar names; retired ones by id or name."""
    listen(quiet=quiet, verbose=verbose)
    asked, base = " ".join(text), open_kb(kb)
    gone = retired(base, asked, limit=limit)
    find = base.search if gone else functools.partial(find_similar, base)
    hits = find(asked, types=types or (), under=under or (), limit=limit)
    (_print_json if as_json else _print_hits)(asked, gone, hits)


def _print_json(_asked: str, gone: Sequence[Retired], hits: Sequence[Hit]) -> None:
    for one in gone:
        print(json.dumps({"id": one.id, "name": one.name, "retired": True, "successor": one.successor}))
    for hit in hits:
        print(json.dumps({"id": hit.id, "name": hit.name, "matched": hit.matched, "by": hit.tier}))


def _print_hits(asked: str, gone: Sequence[Retired], hits: Sequence[Hit]) -> None:
    for one in gone:
        after = f"leads to {one.successor} {one.successor_name}" if one.successor else "without a successor"
        say(f"{one.id} {one.name} is retired, {after}: texts are not linked to it")
    if not hits:
        if not gone:
            say(f"nothing found for {asked!r}")
        return
    tiers = {hit.tier for hit in hits}
    if tiers <= INSTEAD.keys():
        other = [what for tier, what in INSTEAD.items() if tier in tiers]
        say(f"no name has all words of {asked!r}; {' and '.join(other)}")
    rows = [(hit.id, hit.name, hit.matched if hit.matched != hit.name else "", hit.tier) for hit in hits]
    table("", ("concept", "name", "matched", "by"), rows)


@app.command("export")
def export(
    kb: Annotated[str, typer.Argument(help="Name or file.")],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="File: .tsv, .csv, .xlsx, .jsonl, .texoo, .sssom.tsv, also .gz; - is standard output.",
        ),
    ],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write the concepts of a knowledge base to a file: .jsonl for `--from concepts`, .tsv, .csv or .xlsx for people.

    These keep retired ids, successors and the languages of names; .jsonl keeps their scopes and sources too; .texoo
    keeps names, first types and definitions. None keeps the sources, the history and the rows of the knowledge base.
    .sssom.tsv holds the cross-references alone, as the Simple Standard for Sharing Ontological Mappings has them.
    """
    listen(quiet=quiet, verbose=verbose)
    base = open_kb(kb)
    if is_sssom(output):
        with counter("concepts", total=int(base.info["concepts"]), quiet=quiet) as done:
            count = write_sssom(base, output, progress=done)
        if not quiet:
            say(f"{output}: {count:,} cross-references", error=True)
        return
    concepts = progress(base.concepts(), what="concepts", total=len(base), quiet=quiet)
    count = write_table(concepts, output)
    if not quiet:
        say(f"{output}: {count:,} concepts", error=True)


app.command("subset")(kb_compare.subset)
app.command("diff")(kb_compare.diff)
app.command("add")(kb_edit.add)
app.command("retire")(kb_edit.retire)
app.command("merge")(kb_edit.merge)
app.command("update")(kb_edit.update)
