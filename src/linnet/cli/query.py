"""``linnet query``: which of many linked documents hold a concept, when, together with what."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnet.cli.common import Quiet, Verbose, listen, table
from linnet.cli.inputs import refuse_overwriting
from linnet.cli.link_options import assertions
from linnet.cli.terminal import say
from linnet.cli.written import refuse_changed, remember
from linnet.corpora.names import namer
from linnet.data import ASSERTIONS
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.curies import curie
from linnet.kb.search import hint
from linnet.kb.terminologies import Terminologies
from linnet.recipes.config import open_kb
from linnet.recipes.knowledge_bases import kb_of_version

if TYPE_CHECKING:
    from linnet.scale.linked_query import Answer, Asked, Linked

__all__ = ["query"]

logger = logging.getLogger(__name__)

VERSION, SEVERAL = "version of the knowledge base", "terminologies"  # as a job tells them in its manifest
WORDS = ("document", "value", "text", "concept", "assertion")  # columns that hold no numbers
CONCEPT = "concept"  # the column that names are put beside

AN_ID = re.compile(r"\d|:")  # is in all ids of terminologies, and in few words

Base = KnowledgeBase | Terminologies | None  # what the documents were linked to

Only = Annotated[
    list[str] | None,
    typer.Option(help=f"Only mentions with this assertion: {', '.join(ASSERTIONS)}; several with commas."),
]
Limit = Annotated[int, typer.Option(min=1, help="Rows to show; -o writes all.")]


def query(
    linked: Annotated[Path, typer.Argument(help="Folder that linnet link wrote to, or a .jsonl file of it.")],
    concepts: Annotated[list[str] | None, typer.Option("--concept", help="Documents with this concept.")] = None,
    others: Annotated[list[str] | None, typer.Option("--with", help="… and with this one too; repeatable.")] = None,
    under: Annotated[bool, typer.Option("--under", help="Count all concepts below these too.")] = False,
    above: Annotated[
        float | None, typer.Option(min=0, max=1, help="Only mentions with at least this probability.")
    ] = None,
    only: Only = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Count by a value of meta: year; of a date: visit:year, visit:month."),
    ] = None,
    together: Annotated[bool, typer.Option("--together", help="Count the concepts in the same documents.")] = False,
    lift: Annotated[bool, typer.Option("--lift", help="With --together: sort by lift, not by count.")] = False,
    least: Annotated[int, typer.Option(min=1, help="With --together: they share so many documents.")] = 1,
    document: Annotated[str | None, typer.Option(metavar="ID", help="The concepts of this document.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to .csv, .parquet or .jsonl.")] = None,
    kb: Annotated[str | None, typer.Option(help="Knowledge base of --under and of names; default: the job's.")] = None,
    index: Annotated[Path | None, typer.Option(help="Folder of the index; default: .index beside the shards.")] = None,
    limit: Limit = 20,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is not Linnet's.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Ask linked documents: which hold a concept, how many by year, together with what; or what one of them holds.

    The first question makes an index beside the documents; it is made again when they change.
    """
    listen(quiet=quiet, verbose=verbose)
    given = [one for some in (concepts, others) for text in some or () for one in _listed(text)]
    _refuse(given, others, by, document, together=together, concepts=concepts)
    if (lift or least > 1) and not together:
        raise LinnetError("--lift and --least are of --together: add it")
    refuse_overwriting([linked], [output])
    refuse_changed(output, overwrite=overwrite)
    from linnet.scale.linked_query import Asked, Linked  # noqa: PLC0415 - after what can be refused at once

    with Linked(linked, index=index) as there:
        base = _base(kb, there, needed=under)
        asked = Asked(tuple(_ids(one, base, under=under) for one in given), above, tuple(_only(only)))
        if document is not None:
            answer, title = there.document(document), document
        elif by is not None:
            answer, title = there.by(asked, by), _told(there, asked)
        elif together:
            answer, title = there.together(asked, by_lift=lift, least=least), _told(there, asked)
        else:
            answer, title = there.documents(asked), _told(there, asked)
        if output is None:
            _show(answer, title, base, limit)
        else:
            logger.info("%s: %s rows; %s", output, f"{answer.write(output):,}", title)
            remember(output)


def _listed(text: str) -> list[str]:
    """Return the ids that one value lists, or the whole of it where it is none: a name may have blanks and commas.

    >>> _listed("HP:0001250, HP:0001263"), _listed("D001281"), _listed("Seizures, febrile")
    (['HP:0001250', 'HP:0001263'], ['D001281'], ['Seizures, febrile'])
    """
    several = [one for one in re.split(r"[\s,]+", text) if one]
    return several if all(map(AN_ID.search, several)) else [text.strip()]


def _refuse(
    given: Sequence[str],
    others: Sequence[str] | None,
    by: str | None,
    document: str | None,
    *,
    together: bool,
    concepts: Sequence[str] | None,
) -> None:
    """Refuse questions that contradict themselves."""
    if document is not None and (given or by or together):
        raise LinnetError("--document asks what one document holds: leave out the other questions")
    if document is None and not concepts:
        raise LinnetError("say what is asked for: --concept HP:0001250" + (" beside --with" if others else ""))
    if by is not None and together:
        raise LinnetError("--by and --together are two questions: ask one after the other")


def _only(only: list[str] | None) -> Sequence[str]:
    return assertions(only) if only else ()


def _base(name: str | None, there: Linked, *, needed: bool) -> Base:
    """Return the knowledge base that is named, or those that the documents were linked to, as far as they are here."""
    if name is not None:
        return open_kb(name)
    told = {version: kb_of_version(version) for version in _versions(there.shards.made_of)}
    found = [kb for kb in told.values() if kb is not None]
    if needed and not (found and len(found) == len(told)):
        gone = ", ".join(version for version in told if told[version] is None)
        why = f"version {gone} is not among those here" if gone else "the documents do not tell which"
        raise LinnetError(f"--under follows a knowledge base, and {why}: name it with --kb")
    return Terminologies({kb.path.stem: kb for kb in found}) if len(found) > 1 else next(iter(found), None)


def _versions(made_of: Mapping[str, Any]) -> list[str]:
    """Return the versions of the knowledge bases that a job has linked to."""
    return [str(one[VERSION]) for one in (made_of, *made_of.get(SEVERAL, ())) if one.get(VERSION)]


def _ids(id: str, base: Base, *, under: bool) -> frozenset[str]:
    """Return the ids that count for the one that was asked for: its successor's too, if it is retired."""
    written = curie(id)
    kbs = base.kbs.values() if isinstance(base, Terminologies) else () if base is None else (base,)
    kb = next((kb for kb in kbs if written in kb), None)
    if kb is None:
        if problem := _problem(id, base):
            if under:
                raise LinnetError(problem)
            logger.warning("%s", problem)
        return frozenset([written])
    if not under:
        return frozenset([written, kb.id(kb.row(written))])
    from linnet.scale.linked_query import ids_under  # noqa: PLC0415 - see above

    return ids_under(kb, written) | {written}


def _problem(id: str, base: Base) -> str:
    """Return what is wrong with an id that no knowledge base here holds; documents may hold it nevertheless."""
    if base is not None:
        return f"there is no concept {curie(id)!r} in {base.path.name}{hint(base, id)}"
    return "" if AN_ID.search(id) else f"{id!r} looks like a name, and ids are wanted: linnet kb search finds them"


def _told(there: Linked, asked: Asked) -> str:
    """Return how many documents are meant; say what may be wrong where there is none."""
    count, of = there.hits(), len(there)
    if not count and asked.only and not there.asserted():
        logger.warning("no mention says whether it is affirmed: link with a pipeline that has the part context")
    return f"{count:,} of {of:,} documents"


def _show(answer: Answer, title: str, base: Base, limit: int) -> None:
    columns, rows = answer.columns, answer.rows(limit)
    named, name = base is not None and CONCEPT in columns, namer(base)
    shown = [[_cell(cell) for cell in row] + ([name(row[columns.index(CONCEPT)])] if named else []) for row in rows]
    numbers = [place for place, name in enumerate(columns) if name not in WORDS]
    if not shown:
        say(title)
        return
    table(title, [*columns, *(["name"] if named else [])], shown, right=numbers)
    if (rest := len(answer) - len(rows)) > 0:
        say(f"… and {rest:,} more: --limit shows, -o FILE writes them")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
