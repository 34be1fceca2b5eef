"""Edits of a knowledge base as people type them: ids in any of their spellings, with slips of the pen."""

from __future__ import annotations

from dataclasses import replace

from linnet.data import Concept
from linnet.errors import UnknownConceptError, did_you_mean
from linnet.kb.edit import Edit
from linnet.reporter import warn
from linnet.vocabularies.curies import curie

__all__ = ["add_by_hand", "meant"]


def meant(change: Edit, id: str) -> str:
    """Return an id that was typed as the knowledge base has it, else in the spelling that it has in all files."""
    try:
        change.row(id)
    except UnknownConceptError:
        return curie(id)
    return id


def add_by_hand(change: Edit, concept: Concept) -> None:
    """Add one concept, or what it has beyond one that is there; warn of semantic types that nothing had before.

    Raises:
        UnknownConceptError: a parent that is not there, which a file may name where it is of another terminology.
        LinnetError: as of `linnet.kb.edit.Edit.add`.
    """
    above = tuple(meant(change, parent) for parent in concept.parents)
    one = replace(concept, id=meant(change, concept.id), parents=above, xrefs=tuple(map(curie, concept.xrefs)))
    for parent in one.parents:
        if parent != one.id:
            change.row(parent)
    known = change.types()
    for new in [name for name in one.types if name not in known]:
        warn(f"there was no semantic type {new!r} before: it begins with {one.id}{did_you_mean(new, known)}")
    change.add(one)
