"""``linnet kb add``, ``retire``, ``merge`` and ``update``: change a knowledge base, each in one transaction."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen, progress
from linnet.cli.kb_build import FromOption, ReaderOption, read_sources
from linnet.cli.terminal import say
from linnet.data import Concept, Name
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.edit import Edit
from linnet.recipes.config import open_kb
from linnet.vocabularies.typed_edits import add_by_hand, meant
from linnet.vocabularies.update import update as update_kb

__all__ = ["add", "merge", "retire", "update"]

SHOWN = 10  # ids
ENGLISH = "en"  # as of rows of a table that do not say it

Base = Annotated[str, typer.Argument(help="Name or file of the knowledge base.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check and count, but change nothing.")]


def add(
    kb: Base,
    files: Annotated[list[Path] | None, typer.Argument(help="Files of concepts; or give one with --id.")] = None,
    vocabulary: FromOption = None,
    options: ReaderOption = None,
    id: Annotated[str, typer.Option("--id", help="Id of one concept, new or known.")] = "",
    name: Annotated[str, typer.Option(help="Its preferred name; of a known concept, another name.")] = "",
    synonyms: Annotated[list[str] | None, typer.Option("--synonym", help="Another name; repeatable.")] = None,
    language: Annotated[str, typer.Option(help="Language of --name and --synonym; '' for names of all.")] = ENGLISH,
    types: Annotated[list[str] | None, typer.Option("--type", "--types", help="A semantic type; repeatable.")] = None,
    definition: Annotated[str, typer.Option(help="Its definition.")] = "",
    parents: Annotated[list[str] | None, typer.Option("--parent", help="Id of a parent; repeatable.")] = None,
    xrefs: Annotated[list[str] | None, typer.Option("--xref", help="A cross-reference; repeatable.")] = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Add concepts to a knowledge base, or names, types and parents to known concepts; nothing is removed.

    To remove or correct a name, export the knowledge base, edit the file and build it again (docs/terminologies.md).
    """
    listen(quiet=quiet, verbose=verbose)
    if bool(files) == bool(id):
        why = "files and --id are two ways" if files else "nothing to add"
        raise LinnetError(f"{why}: give FILE… with --from, or one concept with --id and --name")
    if len(id.split()) > 1:
        raise LinnetError(f"--id {id!r} contains a blank: expected a prefix and a local id, such as LOCAL:17")
    one = Concept(
        id.strip(),
        tuple(Name(text, language=language.strip()) for text in [name, *(synonyms or [])] if text),
        tuple(types or ()),
        definition,
        tuple(parents or ()),
        tuple(xrefs or ()),
    )
    if files and (one != Concept("") or language != ENGLISH):
        raise LinnetError(
            "--name, --synonym, --language, --type, --definition, --parent, --xref are for one concept, with --id"
        )
    with _open_edit(kb, dry_run=dry_run, quiet=quiet) as change:
        if id:
            add_by_hand(change, one, named=bool(name))
            if name and not quiet:
                _say_synonym(open_kb(kb), meant(change, one.id), name)
        for source in read_sources(files, vocabulary or [], options=options or []) if files else ():
            for concept in progress(source.concepts(), what="concepts", quiet=quiet):
                change.add(concept)
            change.cite(source.provenance())


def retire(
    kb: Base,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="The concepts to retire.")],
    successor: Annotated[str, typer.Option(help="The concept that replaces them.")] = "",
    dry_run: DryRun = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Retire concepts: they are no longer found, their ids lead to the successor, their children move up."""
    listen(quiet=quiet, verbose=verbose)
    with _open_edit(kb, dry_run=dry_run, quiet=quiet) as change:
        for id in ids:
            change.retire(meant(change, id), successor and meant(change, successor))


def merge(
    kb: Base,
    kept: Annotated[str, typer.Argument(metavar="KEPT", help="The concept that stays.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER", help="The concepts that become part of it.")],
    dry_run: DryRun = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Merge concepts: one gets the names, types, parents and children of the others, whose ids lead to it."""
    listen(quiet=quiet, verbose=verbose)
    with _open_edit(kb, dry_run=dry_run, quiet=quiet) as change:
        for other in others:
            change.merge(meant(change, kept), meant(change, other))


def update(
    kb: Base,
    new: Annotated[str, typer.Argument(help="What it shall be like: name or file of another knowledge base.")],
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Even if most concepts would be retired.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Bring a knowledge base to the state of another one, its next release: pipelines trained with it stay usable.

    Names and definitions of concepts become those of the new one; concepts that it lacks are retired. What you have
    added yourself is lost, unless the new one has it: add it to that first. `linnet kb diff` shows what will change.
    """
    listen(quiet=quiet, verbose=verbose)
    base, other = open_kb(kb), open_kb(new)
    if base.path.samefile(other.path):
        raise LinnetError(f"{kb} and {new} are one file: build the release under another name")
    written = functools.partial(progress, what="concepts", quiet=quiet)
    counts = update_kb(base.path, other, dry_run=dry_run, other=yes, progress=written)
    _say_counts(base.path, counts, dry_run=dry_run, quiet=quiet)


def _say_synonym(base: KnowledgeBase, id: str, name: str) -> None:
    """Say that a name given to a concept that was there already is not its preferred one."""
    if id in base and (known := base[id]).id == id and known.name != name:
        say(f"{id}: {name!r} is a synonym, the preferred name stays {known.name!r}; to rename, export and build again")


@contextmanager
def _open_edit(kb: str, *, dry_run: bool, quiet: bool) -> Iterator[Edit]:
    """Give an edit of the knowledge base and say what came of it."""
    path = open_kb(kb).path
    with KnowledgeBase.edit(path, dry_run=dry_run) as change:
        yield change
    _say_counts(path, change.counts, restored=change.restored, dry_run=dry_run, quiet=quiet)


def _say_counts(
    path: Path, counts: Mapping[str, int], *, restored: Sequence[str] = (), dry_run: bool, quiet: bool
) -> None:
    if quiet:
        return
    done = ", ".join(f"{what} {count:,}" for what, count in counts.items() if count)
    if restored:
        shown = ", ".join(restored[:SHOWN]) + (" …" if len(restored) > SHOWN else "")
        done += f" (were retired, and live again: {shown})"
    if dry_run or not done:
        say(f"{path}: {f'would have {done}' if done else 'nothing to change'}")
        return
    base = KnowledgeBase.open(path)
    now = f"{int(base.info['concepts']):,} concepts, {int(base.info['names']):,} names"
    say(f"{path}: {done}; now {now}, version {base.version}")
