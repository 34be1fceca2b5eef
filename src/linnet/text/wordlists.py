"""Tables that come with Linnet, and this package's: words with rules of their own, word families, sentences' words."""

from __future__ import annotations

from functools import cache
from importlib import resources

__all__ = ["families", "listed", "rows"]


@cache
def rows(package: str, name: str) -> list[list[str]]:
    """Return the rows of a table that comes with a package of Linnet, cut at tabs, comments left out."""
    lines = resources.files(package).joinpath(name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def listed(kind: str, file: str = "words.tsv") -> list[str]:
    """Return the words of one kind; the head of the file says what the kinds are.

    >>> "without" in listed("cue")
    True
    """
    return [word for of, words in rows("linnet.text", file) if of == kind for word in words.split()]


def families() -> list[list[str]]:
    """Return the word families, the words of each.

    >>> ["kidney", "renal", "nephric"] in families()
    True
    """
    return [members.split() for (members,) in rows("linnet.text", "families.tsv")]
