"""``linnet kb subset`` and ``linnet kb diff``: a part of a knowledge base, and what changed between two."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from linnet.cli.common import Quiet, Verbose, counter, listen, progress, table
from linnet.cli.inputs import read_ids, refuse_overwriting
from linnet.cli.kb_build import ReplaceOption, finish
from linnet.cli.terminal import say
from linnet.corpora.formats import suffix
from linnet.corpora.vocabulary import documents, gold_ids
from linnet.errors import FormatError, LinnetError
from linnet.kb import KnowledgeBase, Mask
from linnet.recipes.config import open_kb
from linnet.reporter import warn
from linnet.text.cells import quote_formula
from linnet.text.files import replacing
from linnet.vocabularies import diff as differ
from linnet.vocabularies import subset as part
from linnet.vocabularies.build import target
from linnet.vocabularies.diff import KINDS, Change, Survival

__all__ = ["diff", "subset"]

SHOWN = 5  # ids that a message names
COLUMNS = ("kind", "id", "name", "before", "after")

Kb = Annotated[str, typer.Argument(help="Name or file.")]
Data = Annotated[
    Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the known corpora.", show_default=False)
]


# --- subset ----------------------------------------------------------------------------------------------------------


def subset(
    kb: Kb,
    output: Annotated[str, typer.Option("--output", "-o", help="File, or a name under LINNET_HOME.")],
    types: Annotated[
        list[str] | None, typer.Option("--type", "--types", help="Concepts of this type; repeatable.")
    ] = None,
    under: Annotated[list[str] | None, typer.Option(help="This concept and its descendants; repeatable.")] = None,
    ids: Annotated[
        list[str] | None, typer.Option(help="This concept, or those in a file of ids, one per line; repeatable.")
    ] = None,
    concepts_of: Annotated[
        list[str] | None,
        typer.Option(help="The gold concepts of documents: a path, or bc5cdr:train,dev; repeatable."),
    ] = None,
    ancestors: Annotated[
        bool, typer.Option("--ancestors", help="Also all ancestors of the selected concepts.")
    ] = False,
    descendants: Annotated[
        bool, typer.Option("--descendants", help="Also all descendants of the selected concepts.")
    ] = False,
    bridge: Annotated[
        bool, typer.Option("--bridge", help="Replace parents left out by their nearest kept ancestors.")
    ] = False,
    data: Data = None,
    replace: ReplaceOption = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make a knowledge base of the concepts that satisfy all conditions.

    Of one option given several times, one has to hold; of different options, all. Retired ids that lead to chosen
    concepts are kept; parents that were not chosen are left out.
    """
    listen(quiet=quiet, verbose=verbose)
    base = open_kb(kb)
    if not (types or under or ids or concepts_of):
        raise LinnetError(
            "select concepts with --type, --under, --ids or --concepts-of; to copy everything, copy the file"
        )
    path = target(output, replace=replace)
    refuse_overwriting([base.path, *(ids or ()), *(concepts_of or ())], [path], data=data, kind="database")
    started = time.perf_counter()
    chosen = base.mask(types=types or None, under=under or None)
    if ids:
        chosen &= _mask_ids(base, [id for text in ids for id in read_ids(text)], "--ids")
    if concepts_of:
        docs = (doc for source in concepts_of for doc in documents(source, data=data))
        gold = gold_ids(progress(docs, what="documents", quiet=quiet))
        if not gold:
            raise LinnetError(f"--concepts-of: {', '.join(concepts_of)} contains no gold concepts: is it annotated?")
        chosen &= _mask_ids(base, gold, "--concepts-of")
    if len(chosen) and (ancestors or descendants):
        chosen = part.widened(base, chosen, ancestors=ancestors, descendants=descendants)
    given = {"types": types, "under": under, "ids": ids, "concepts of": concepts_of}
    conditions = {name: " | ".join(values) for name, values in given.items() if values}
    flags = {"ancestors": ancestors, "descendants": descendants, "bridge": bridge}
    conditions |= {name: "yes" for name, on in flags.items() if on}
    with counter("concepts", total=len(chosen), quiet=quiet) as count:
        made = part.subset(base, chosen, path, conditions=conditions, bridge=bridge, progress=count)
    finish(made, started, quiet=quiet)


def _mask_ids(kb: KnowledgeBase, ids: Iterable[str], option: str) -> Mask:
    """Return the mask of `ids`; those that the knowledge base lacks are counted and named in a warning."""
    mask, unknown = part.mask_of(kb, ids)
    if unknown:
        few = ", ".join(unknown[:SHOWN]) + (", …" if len(unknown) > SHOWN else "")
        meant = f"; did you mean {way!r}?" if (way := kb.meant(unknown[0])) else ""
        warn(f"{option}: {len(unknown):,} ids are not in {kb.path.name} and were left out: {few}{meant}")
    return mask


# --- diff ------------------------------------------------------------------------------------------------------------


def diff(
    old: Annotated[str, typer.Argument(help="The older knowledge base: name or file.")],
    new: Annotated[str, typer.Argument(help="The newer knowledge base: name or file.")],
    limit: Annotated[int, typer.Option(min=0, help="Changes to show of each kind.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File for all changes: .tsv or .jsonl, also .gz.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", hidden=True)] = None,  # what -o was called
    corpus: Annotated[
        str | None,
        typer.Option(help="Also count which gold concepts of these documents survive: a path, or gsc_plus:dev."),
    ] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if anything changed.")] = False,
    data: Data = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare two knowledge bases by id: what was added, retired, removed, moved, renamed, or changed otherwise."""
    listen(quiet=quiet, verbose=verbose)
    before, after = open_kb(old), open_kb(new)
    output = output or to
    refuse_overwriting([corpus], [output], data=data)
    survived = None
    if corpus is not None:
        if not (gold := gold_ids(documents(corpus, data=data))):
            raise LinnetError(
                f"--corpus: {corpus} contains no gold concepts: is it annotated, or what a pipeline found? "
                "Of the latter, `linnet corpus check FILE --kb NEW` tells which ids are not known any more"
            )
        survived = differ.survival(gold, before, after)
    changes = progress(differ.diff(before, after), what="changes", quiet=quiet)
    counts: Counter[str] = Counter()
    shown: dict[str, list[Change]] = {kind: [] for kind in KINDS}
    for change in _write_all(changes, output):
        counts[change.kind] += 1
        if len(shown[change.kind]) < limit:
            shown[change.kind].append(change)
    if as_json:
        print(json.dumps(_as_json((before, after), counts, shown, survived), ensure_ascii=False))
    else:
        _print(f"{_label(before)} → {_label(after)}", counts, shown)
        if survived is not None:
            _print_survival(str(corpus), survived, limit)
    if exit_code and counts:
        raise typer.Exit(1)


def _write_all(changes: Iterable[Change], to: str | None) -> Iterator[Change]:
    """Yield changes while they are written to the file `to`, if there is one."""
    ending = ".jsonl" if to is None else suffix(to)
    if ending not in (".tsv", ".jsonl"):
        raise FormatError(to, "expected a name that ends in .tsv or .jsonl, plain or .gz")
    with nullcontext(None) if to is None else replacing(to) as out:
        if out is not None and ending == ".tsv":
            out.write("\t".join(COLUMNS) + "\n")
        for change in changes:
            _write(change, out, tsv=ending == ".tsv")
            yield change


def _write(change: Change, out: TextIO | None, *, tsv: bool) -> None:
    if out is None:
        return
    if not tsv:
        out.write(json.dumps(change._asdict(), ensure_ascii=False) + "\n")
        return
    cells = (change.kind, change.id, change.name, " | ".join(change.before), " | ".join(change.after))
    out.write("\t".join(quote_formula(" ".join(cell.split())) for cell in cells) + "\n")


def _label(kb: KnowledgeBase) -> str:
    return f"{kb.path.stem} ({kb.version})"


def _print(title: str, counts: Counter[str], shown: dict[str, list[Change]]) -> None:
    if not counts:
        say(f"{title}: nothing changed")
        return
    rows = [(kind, f"{counts[kind]:,}", what) for kind, what in KINDS.items()]
    table(title, ("", "concepts", "what"), rows, right=(1,))
    for kind, changes in shown.items():
        if changes:
            more = f", the first {len(changes):,} of {counts[kind]:,}" if counts[kind] > len(changes) else ""
            cells = [(one.id, one.name, " | ".join(one.before), " | ".join(one.after)) for one in changes]
            table(f"{kind}{more}", ("concept", "name", "before", "after"), cells)


def _print_survival(corpus: str, survived: Survival, limit: int) -> None:
    total = sum(ids.total() for ids in survived.fates().values())
    rows = [
        (
            fate,
            f"{ids.total():,}",
            f"{ids.total() / total:.1%}" if total else "",
            f"{len(ids):,}",
            _examples(ids, survived, limit),
        )
        for fate, ids in survived.fates().items()
    ]
    # a title would be folded to the width of its table
    say(f"{corpus}: {survived.share():.1%} of {total:,} annotated concepts lead to a concept of the newer one")
    table("", ("", "annotations", "share", "ids", "for example"), rows, right=(1, 2, 3))


def _examples(ids: Counter[str], survived: Survival, limit: int) -> str:
    found = [id for id, _count in ids.most_common(min(limit, SHOWN))]
    return ", ".join(f"{id} → {survived.successors[id]}" if id in survived.successors else id for id in found)


def _as_json(
    kbs: Sequence[KnowledgeBase], counts: Counter[str], shown: dict[str, list[Change]], survived: Survival | None
) -> dict[str, Any]:
    value: dict[str, Any] = {
        side: {"name": kb.info["name"], "version": kb.version, "concepts": int(kb.info["concepts"])}
        for side, kb in zip(("old", "new"), kbs, strict=True)
    }
    value["counts"] = {kind: counts[kind] for kind in KINDS}
    value["changes"] = {kind: [change._asdict() for change in changes] for kind, changes in shown.items()}
    if survived is not None:
        fates = {fate: {"annotations": ids.total(), "ids": dict(ids)} for fate, ids in survived.fates().items()}
        value["corpus"] = {"share": survived.share(), **fates, "successors": survived.successors}
    return value
