"""What another system calls its labels, as types of mentions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from linnet.errors import RecipeError, did_you_mean

__all__ = ["checked_types", "renamed"]


def renamed(label: str, types: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the types of a mention with a label; None if it is not wanted.

    >>> renamed("DISO", {"DISO": "Disease"}), renamed("DISO", {}), renamed("DISO", {"CHEM": "Chemical"})
    (('Disease',), ('DISO',), None)
    """
    if types:
        return (types[label],) if label in types else None
    return (label,) if label else ()


def checked_types(types: Mapping[str, str], labels: Collection[str], *, who: str) -> None:
    """Refuse a table of types for labels that the system does not have.

    Raises:
        RecipeError: it names such labels; all of them are named.
    """
    known = sorted(labels)
    problems = [
        f"types.{label}: the model has no such label{did_you_mean(label, known) or '; it has: ' + ', '.join(known)}"
        for label in types
        if label not in known
    ]
    if problems:
        raise RecipeError(who, problems)
