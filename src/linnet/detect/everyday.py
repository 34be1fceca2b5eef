"""Everyday words of English that are names of concepts too, mostly brands: where they stand for no concept.

Drug vocabularies and the supplementary records of MeSH call things *Art*, *Drive*, *Ice* and *Rest*. Written as words
they are hardly ever meant; in capitals they are acronyms (ART), but for a heading ("PLAN" over the end of a letter).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from linnet.detect.name_search import Batch, Match, Text
from linnet.text.tokens import form
from linnet.text.variants import stem
from linnet.text.wordlists import listed

__all__ = ["everyday_word", "without_everyday"]

EVERYDAY = frozenset(map(stem, listed("everyday")))
CAPITAL = EVERYDAY | frozenset(listed("capital"))


@functools.lru_cache(maxsize=1 << 16)
def everyday_word(surface: str) -> bool:
    """Return whether this is an everyday word, and not written as an acronym.

    >>> [everyday_word(surface) for surface in ("Drives", "ice", "ICE", "aspirin")]
    [True, True, False, False]
    """
    return not _in_capitals(surface) and stem(form(surface)) in EVERYDAY


def without_everyday(batch: Batch, texts: Sequence[Text]) -> Callable[[Match], bool]:
    """Return whether a match found in `batch`, which is of `texts`, is more than one everyday word."""

    def meant(match: Match) -> bool:
        if len(match.words) > 1:
            return True
        [at] = match.words
        surface = batch.surfaces[at]
        if not _in_capitals(surface):
            return not everyday_word(surface)
        text = texts[batch.texts[at]].text
        return surface.lower() not in CAPITAL or not _is_heading(text, int(batch.starts[at]), int(batch.ends[at]))

    return meant


def _in_capitals(surface: str) -> bool:
    return len(surface) > 1 and surface.isupper()


def _is_heading(text: str, start: int, end: int) -> bool:
    """Return whether a word is all that stands in its line, or before a colon at its beginning."""
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    return (not before or before.endswith("\n")) and (not after or after[0] in "\n\r:")
