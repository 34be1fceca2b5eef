"""``linnet kb info``: what a knowledge base holds and has been through, one concept of it, or what edits changed."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from linnet.cli.common import Quiet, Verbose, file_size, listen, table
from linnet.cli.terminal import say
from linnet.data import Concept
from linnet.errors import LinnetError, did_you_mean
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor
from linnet.recipes.config import open_kb
from linnet.vocabularies.concepts import write_concepts

__all__ = ["info"]

COUNTS = ("concepts", "names", "retired")


def info(
    kb: Annotated[str, typer.Argument(help="Name or file.")],
    concept: Annotated[str | None, typer.Argument(help="An id, HP:0001250: describe this concept instead.")] = None,
    since: Annotated[
        str | None, typer.Option(help="List the concepts that edits added, changed or retired since this version.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; with --since a line for each concept.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Describe a knowledge base: counts, types, sources with their licences, history; or one concept of it.

    The history has a line for each edit, with how many concepts it added, changed or retired; --since VERSION lists
    those of all edits after that version. `linnet kb diff` says what differs between two files.
    """
    listen(quiet=quiet, verbose=verbose)
    base = open_kb(kb)
    if concept is not None and since is not None:
        raise LinnetError(f"{concept} and --since are two questions: leave one out")
    if since is not None:
        _tell_changes(base, since, as_json=as_json)
    elif concept is None:
        (_print_json if as_json else _print)(base)
    elif as_json:
        write_concepts([_meant(base, concept)], sys.stdout)
    else:
        _describe(base, _meant(base, concept))


def _print(base: KnowledgeBase) -> None:
    say(f"{base.path.stem}: {base.path}, {file_size(base.path)}")
    for key in ("version", "built", *COUNTS):
        say(f"  {key}: {base.info[key]}")
    for name, count in base.types().items():
        say(f"  type {name}: {count}")
    for source in base.sources:
        say("  source:")
        for key, value in source.items():
            say(f"    {key}: {value}")
    for entry in base.history:
        changed = f", {entry['changed']:,} new, changed or retired" if entry["changed"] else ""
        say(f"  {entry['at']}  {entry['action']}: version {entry['version']}, {entry['concepts']} concepts{changed}")


def _print_json(base: KnowledgeBase) -> None:
    told: dict[str, Any] = {key: base.info[key] for key in ("name", "version", "built")}
    told |= {key: int(base.info[key]) for key in COUNTS}
    told |= {"file": str(base.path), "types": base.types(), "sources": base.sources, "history": base.history}
    print(json.dumps(told, ensure_ascii=False))


def _meant(kb: KnowledgeBase, id: str) -> Concept:
    return kb[kb.meant(id) or id]


def _describe(kb: KnowledgeBase, found: Concept) -> None:
    say(f"{found.id}  {found.name}")
    for name in found.names[1:]:
        say(f"  {name.scope} name: {name.text}" + (f" ({name.language})" if name.language != "en" else ""))
    for kind in found.types:
        say(f"  type: {kind}")
    for row in kb.parents(found.id).tolist():
        say(f"  parent: {kb.id(row)}  {kb[row].name}")
    if found.definition:
        say(f"  definition: {found.definition}")


def _tell_changes(base: KnowledgeBase, version: str, *, as_json: bool) -> None:
    """Print the concepts that were added, changed or retired since a version, or since the one that begins so.

    Raises:
        LinnetError: the file never was of this version.
    """
    had = [entry["version"] for entry in base.history]
    begun = {one for one in had if one.startswith(version)}
    version = begun.pop() if version and len(begun) == 1 else version
    if not base.comes_from(version):
        hint = did_you_mean(version, had) or f"; it had {', '.join(had[-3:])}"
        other = "`linnet kb diff` compares it with another file"
        raise LinnetError(f"--since {version}: {base.path.name} never was of this version{hint}; {other}")
    changed = [base[row] for row in base.changed_since(version).tolist()]
    if as_json:
        for concept in changed:
            print(json.dumps(_as_json(base, concept), ensure_ascii=False))
    elif changed:
        title = f"{len(changed):,} new, changed or retired since version {version}"
        table(title, ("concept", "name", ""), [(one.id, one.name, _state(base, one)) for one in changed])
    else:
        say(f"no concept has changed since version {version}")


def _as_json(base: KnowledgeBase, concept: Concept) -> dict[str, object]:
    gone = {} if concept.replaced_by is None else {"retired": True, "successor": _leads_to(base, concept)}
    return {"id": concept.id, "name": concept.name, **gone}


def _state(base: KnowledgeBase, concept: Concept) -> str:
    if concept.replaced_by is None:
        return ""
    after = _leads_to(base, concept)
    return f"retired, leads to {after}" if after else "retired, without a successor"


def _leads_to(base: KnowledgeBase, concept: Concept) -> str:
    """Return the live concept that a retired one leads to, ``""`` if there is none."""
    live = successor(base)(concept.id)
    return "" if live == concept.id else live
