"""Edits of a knowledge base as people type them: ids in any of their spellings, with slips of the pen."""

from __future__ import annotations

from dataclasses import replace

from linnet.data import Concept
from linnet.errors import UnknownConceptError, did_you_mean
from linnet.kb.curies import curie
from linnet.kb.edit import Edit
from linnet.reporter import warn

__all__ = ["add_by_hand", "meant"]


def meant(change: Edit, id: str) -> str:
    """Return an id that was typed as the knowledge base has it, else in the spelling that it has in all files."""
    try:
        change.row(id)
    except UnknownConceptError:
        return curie(id)
    return id


def add_by_hand(change: Edit, concept: Concept, *, named: bool = True) -> None:
    """Add one concept, or what it has beyond one that is there; warn of what no other has: its types, no prefix.

    Args:
        change: the edit.
        concept: as it was typed.
        named: whether its first name is to be its preferred one; without one there is none to begin with.

    Raises:
        UnknownConceptError: a parent that is not there, which a file may name where it is of another terminology; a
            new id that is another spelling of one that is there; or a new concept with names that is not `named`.
        LinnetError: as of `linnet.kb.edit.Edit.add`.
    """
    above = tuple(meant(change, parent) for parent in concept.parents)
    one = replace(concept, id=meant(change, concept.id), parents=above, xrefs=tuple(map(curie, concept.xrefs)))
    _check_new(change, one, named=named)
    for parent in one.parents:
        if parent != one.id:
            change.row(parent)
    known = change.types()
    for new in [name for name in one.types if name not in known]:
        warn(f"there was no semantic type {new!r} before: it begins with {one.id}{did_you_mean(new, known)}")
    change.add(one)


def _check_new(change: Edit, concept: Concept, *, named: bool) -> None:
    """Refuse or warn of an id that seems to be mistyped, as far as there is no such concept."""
    id, known = concept.id, change.meant(concept.id)
    if known == id:
        return
    if known or (concept.names and not named):
        try:
            change.row(id)
        except UnknownConceptError as error:
            raise error if known else UnknownConceptError(f"a new concept needs --name; {error}") from None
    example = change.example()
    if ":" not in id and ":" in example:
        warn(f"the id {id!r} has no prefix, and those that are there have one, such as {example!r}")
