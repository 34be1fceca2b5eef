"""Bring a knowledge base to the state of another one, such as the next release of its terminology, by edits.

The file keeps its rows, so that what was made with it follows as it follows every edit: trained folders, the files
beside it, projects of the workbench. A file that is built anew has other rows and is another knowledge base.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError
from linnet.kb import KnowledgeBase
from linnet.reporter import warn
from linnet.vocabularies.diff import pairs
from linnet.vocabularies.stored import edited_by_hand, retired_by_id

__all__ = ["update"]

SHOWN = 5  # ids that a warning names
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")  # in the name of a release: hp/releases/2025-01-16


def update(
    path: Path,
    new: KnowledgeBase,
    *,
    dry_run: bool = False,
    other: bool = False,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> Counter[str]:
    """Edit the knowledge base `path` until it says what `new` says of every concept, in one transaction.

    Concepts that `new` lacks are retired: without a successor, unless `new` knows the id as retired. Ids that only
    `path` knows as retired stay. The sources of `new` are added to those of `path`. A warning names concepts that were
    edited by hand and of which `new` says something else, or nothing; another one says if `new` is an older release.

    Args:
        path: the file to change.
        new: what it shall be like.
        dry_run: check and count everything, and keep nothing.
        other: `new` may be another terminology, which lacks most concepts.
        progress: wraps the ids that are written, to show how far it is.

    Returns:
        how many concepts were added, changed, restored, retired and redirected (`linnet.kb.edit.Edit`).

    Raises:
        KnowledgeBaseError: one of the two cannot be read or written, `path` was edited meanwhile, or `new` lacks
            most of its concepts.

    >>> import tempfile
    >>> from linnet.kb.build import build
    >>> from linnet.vocabularies.diff import diff
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     old = build([Concept("X:1", (Name("one"),)), Concept("X:2", (Name("two"),))], f"{folder}/old.kb")
    ...     new = build([Concept("X:1", (Name("uno"), Name("one")))], f"{folder}/new.kb")
    ...     counts = update(old.path, new)
    ...     list(diff(KnowledgeBase.open(old.path), new)), dict(+counts)
    ([], {'retired': 1, 'changed': 1})
    """
    old = KnowledgeBase.open(path)
    own = edited_by_hand(old)
    found = _compare(old, new)
    if not other:
        _refuse_another(old, new, found.gone)
    _warn(old, new, sorted(own.intersection(itertools.chain(*found))))
    with KnowledgeBase.edit(path, dry_run=dry_run) as edit:
        if edit.version != old.version:
            raise KnowledgeBaseError(f"{path} was edited while it was read: update it again")
        edit.why, edit.withdraws = f"update to {new.path.stem} {new.version}: ", True
        for one in retired_by_id(new):  # before the others: children of what is retired move up, and are set after
            edit.add(Concept(one.id, (Name(one.name),) if one.name else (), replaced_by=one.successor))
        for id in found.gone:
            edit.add(Concept(id, replaced_by=""))
        for id in progress(found.added):  # before parents are looked up: a retired one would lead to its successor
            edit.add(new[id])
        for id in progress([*edit.restored, *found.changed]):  # what a restored one had is there again
            edit.replace(new[id])
        for source in new.sources:
            if source not in old.sources:
                edit.cite(source)
    return edit.counts


class _Differences(NamedTuple):
    """Ids: live in the old one and unknown, or retired, in the new one; live in both, and differing; new."""

    gone: list[str]
    retired: list[str]
    changed: list[str]
    added: list[str]


def _compare(old: KnowledgeBase, new: KnowledgeBase) -> _Differences:
    found = _Differences([], [], [], [])
    for id, was, now, retired, _ in pairs(old, new):
        if was is not None and now is not None:
            if _says(was) != _says(now):
                found.changed.append(id)
        elif now is not None:
            found.added.append(id)
        elif was is not None:
            (found.retired if retired else found.gone).append(id)
    return found


def _says(concept: Concept) -> Concept:
    """Return a concept without the order of what has none: an edit puts parents last that come later than it."""
    unordered = (concept.types, concept.parents, concept.xrefs)
    types, parents, xrefs = (tuple(sorted(some)) for some in unordered)
    return replace(concept, types=types, parents=parents, xrefs=xrefs)


def _refuse_another(old: KnowledgeBase, new: KnowledgeBase, gone: list[str]) -> None:
    live = int(old.info["concepts"])
    if len(gone) > live / 2:
        raise KnowledgeBaseError(
            f"{new.path.name} does not know {len(gone):,} of the {live:,} concepts of {old.path.name}, such as "
            f"{gone[0]}: is it another terminology? Nothing was changed; --yes retires them"
        )


def _warn(old: KnowledgeBase, new: KnowledgeBase, own: list[str]) -> None:
    """Warn of an older release, and of concepts that were edited by hand."""
    was, now = _days(old), _days(new)
    for release in sorted(was.keys() & now.keys()):
        if now[release] < was[release]:
            warn(f"{new.path.name} is an older release ({now[release]}) than {old.path.name} ({was[release]})")
    if own:
        few = ", ".join(own[:SHOWN]) + (", …" if len(own) > SHOWN else "")
        warn(f"edited by hand, and of which {new.path.name} says something else, or nothing: {len(own):,} ({few})")


def _days(kb: KnowledgeBase) -> dict[str, str]:
    """Return the latest day of the releases of each name that a knowledge base was made of."""
    found: dict[str, str] = {}
    for release in (source.get("release", "") for source in kb.sources):
        if day := DAY.search(release):
            name = DAY.sub("", release)
            found[name] = max(day.group(), found.get(name, ""))
    return found
