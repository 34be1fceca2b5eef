"""The word lists of this package: ``words.tsv`` (words treated by a rule of their own) and ``families.tsv``."""

from __future__ import annotations

from importlib import resources

__all__ = ["families", "listed"]


def _lines(file: str) -> list[str]:
    """Return the lines of a table of this package, comments left out."""
    lines = (resources.files("linnet.text") / file).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


_WORDS = [line.partition("\t") for line in _lines("words.tsv")]


def listed(kind: str) -> list[str]:
    """Return the words of one kind; the head of ``words.tsv`` says what the kinds are.

    >>> "without" in listed("cue")
    True
    """
    return [word for name, _, words in _WORDS if name == kind for word in words.split()]


def families() -> list[list[str]]:
    """Return the word families, the words of each.

    >>> ["kidney", "renal", "nephric"] in families()
    True
    """
    return [line.split() for line in _lines("families.tsv")]
