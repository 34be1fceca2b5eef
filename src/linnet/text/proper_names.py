"""Names of findings that name something else: a unit, a clinic, a register, a vaccine, a person.

Looked at is the text right behind and before a finding: "Stroke Unit", "heart failure nurse", "Tinnitus Support Group",
"hepatitis B vaccination", "Dr Gout"; longer names of something else that hold it ("glandular fever"); and a few things
are written as findings are ("eye drops"). Words that stand behind findings in other uses, too (group, centre), count
only in capitals behind a capital ("Ataxia Centre", but "the ataxia group"); a short form counts where it is part of
the label of a screening ("ROP screening: ...").
"""

from __future__ import annotations

import re
from typing import Final

from linnet.text.wordlists import listed

__all__ = ["names_something_else"]

REACH: Final = 64  # characters looked at
NEAR: Final = 32  # the same for names that a finding is a part of


def _words(kind: str) -> list[str]:
    return listed(kind, "letter_words.tsv")


def _any(words: list[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_QUALIFIERS, _BODIES = _any(_words("qualifier")), _any(_words("body"))
_GROUPS, _TITLES = (_any([word.capitalize() for word in _words(kind)]) for kind in ("group", "title"))
_BEHIND: Final = re.compile(rf"(?:[ -](?i:{_QUALIFIERS}|[a-e]))*[ -](?:(?i:{_BODIES})s?|(?P<group>{_GROUPS})s?)\b")
_THINGS: Final = re.compile(_any([thing.replace("-", "[- ]") for thing in _words("thing")]), re.IGNORECASE)
_OTHERS: Final = re.compile(rf"\b(?:{_any([name.replace('-', '[- ]') for name in _words('other')])})\b", re.IGNORECASE)
_OF_OTHERS: Final = frozenset(word for name in _words("other") for word in name.split("-"))
_SCREENED: Final = re.compile(r" screening(?= ?:)")
_TITLE: Final = re.compile(rf"\b(?:{_TITLES})\.? +")
_FORENAMES: Final = re.compile(r"(?:[A-Z](?:\.|\b) *|[A-Z][a-z]+ +){0,3}")


def names_something_else(text: str, start: int, end: int) -> bool:
    """Say whether what stands at `start` to `end` of a text is part of the name of something that is no finding.

    >>> def ask(text, name):
    ...     return names_something_else(text, text.index(name), text.index(name) + len(name))
    >>> ask("on the stroke unit", "stroke"), ask("From: Dr T. Falls, SpR", "Falls"), ask("the ataxia group", "ataxia")
    (True, True, False)
    >>> ask("Tinnitus Support Group", "Tinnitus"), ask("hepatitis B vaccination", "hepatitis"), ask("Ataxia", "Ataxia")
    (True, True, False)
    """
    if _THINGS.fullmatch(text, start, end):
        return True
    if text[start:end].isupper() and _SCREENED.match(text, end):
        return True
    if not _OF_OTHERS.isdisjoint(text[start:end].lower().split()[:1]):  # other detectors mark blanks, too
        others = _OTHERS.finditer(text, max(start - NEAR, 0), end + NEAR)
        if any(name.start() <= start and end <= name.end() and name.span() != (start, end) for name in others):
            return True
    behind = _BEHIND.match(text, end, end + REACH)
    if behind and (behind["group"] is None or text[start].isupper()):
        return True
    titles = _TITLE.finditer(text, max(start - REACH, 0), start) if text[start].isupper() else ()
    return any(_FORENAMES.fullmatch(text, title.end(), start) for title in titles)
