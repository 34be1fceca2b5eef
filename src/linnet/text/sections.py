"""Sections of clinical letters by their headings: family history, past history, medication, examination, plan.

A heading of the table ``sections.tsv`` opens a section where a line begins with it (behind a bullet or number) and it
stands alone, or before a colon or dash; before a colon also behind a full stop, as in notes without line breaks. A
section ends where the next heading or label stands, one of another person's findings or of the past also at a blank
line behind its text: what such a section holds is judged by it, and a letter goes on with the patient of today.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from linnet.text.wordlists import rows

__all__ = ["Section", "find_sections", "is_called_after"]

# Kinds that a blank line ends.
SHORT: Final = frozenset({"family", "past", "birth", "allergies", "medication", "advice", "differential"})
NAME: Final = r"[^\W\d_](?:[\w/&'’ \t-]{0,45}?\w)?"
LINE: Final = re.compile(
    rf"[ \t]*(?:(?:[#*•·–-]|\(?\d{{1,2}}[.)])[ \t]*)?({NAME})[ \t]*(?:(:)|[-–—](?=\s)|(?=\r?(?:\n|\Z)|[ \t]{{2}}\S))"
)
SHORTHAND: Final = re.compile(r"[ \t]*(PMHx?|PSHx?|FHx|DHx?|HPC|HPI|ROS|O/E|OE|On examination)()(?=[ \t]+[^\W_])")
INNER: Final = re.compile(r".*[.;] ([^.;:]+)():", re.DOTALL)
FOLLOWING: Final = re.compile(r"(?:\s{1,2}[^\W\d_a-zäöüß]\w*){1,3}")  # up to three capitalised words
TITLE: Final = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|Miss|Prof|Professor|Sr|Sister|Herr|Frau|Herrn)\.?\s(?:[A-Z]\.?\s?){0,2}\Z"
)
LONGEST: Final = 48  # characters of a heading
BLANK: Final = re.compile(r"\S[^\n]*\n[ \t\r]*\n")


class Section(NamedTuple):
    """A section: its kind, where its heading begins and ends, and where the section ends."""

    kind: str
    start: int
    body: int
    end: int


def find_sections(text: str) -> list[Section]:
    r"""Return the sections of a text in order; what stands before the first heading is in none.

    >>> text = "HISTORY\nFits.\n\nFHx: mum has gout.\nPlan: EEG."
    >>> [(one.kind, text[one.start : one.body], text[one.body : one.end]) for one in find_sections(text)]
    [('present', 'HISTORY', '\nFits.\n\n'), ('family', 'FHx:', ' mum has gout.\n'), ('plan', 'Plan:', ' EEG.')]
    """
    kinds = _kinds()
    labels = sorted(_labels(text), key=lambda match: match.start(1))
    given = ((match, kinds.get(_plain(match[1]), "named")) for match in labels)
    found = [(match, kind) for match, kind in given if kind != "named"]
    sections = []
    for place, (match, kind) in enumerate(found):
        body = match.end()
        end = found[place + 1][0].start(1) if place + 1 < len(found) else len(text)
        if kind in SHORT:
            end = next((label.start(1) for label in labels if body <= label.start(1) < end and label[2]), end)
            blank = BLANK.search(text, body, end)
            end = blank.end() if blank else end
        sections.append(Section(kind, match.start(1), body, end))
    return sections


def _plain(heading: str) -> str:
    return " ".join(heading.lower().replace("&", " and ").split())


def _labels(text: str) -> Iterator[re.Match[str]]:
    """Yield what may be a heading: the beginnings of lines, and of sentences with a colon behind them."""
    at = 0
    while 0 <= at < len(text):
        if match := SHORTHAND.match(text, at) or LINE.match(text, at):
            yield match
        at = text.find("\n", at) + 1 or -1
    colon = text.find(":")
    while colon >= 0:
        if match := INNER.fullmatch(text, max(0, colon - LONGEST), colon + 1):
            yield match
        colon = text.find(":", colon + 1)


def is_called_after(text: str, start: int, end: int) -> bool:
    """Return whether a stretch of text is a person's name, or begins that of a clinic, a ward, a group, a register.

    >>> is_called_after("Seen at the Epilepsy Support Group.", 12, 20), is_called_after("Dr. T. Falls", 7, 12)
    (True, True)
    >>> is_called_after("Fits. Unit: ml", 0, 4), is_called_after("epilepsy clinic", 0, 8)
    (False, False)
    """
    if not text[start].isupper():
        return False
    follows = FOLLOWING.match(text, end)
    words = follows[0].split() if follows else []
    return any(_kinds().get(word.lower()) == "named" for word in words) or bool(
        TITLE.search(text, max(0, start - LONGEST), start)
    )


@functools.cache
def _kinds() -> dict[str, str]:
    """Return the kind of each heading, and of the words behind names."""
    listed = rows("linnet.text", "sections.tsv")
    return {heading.strip(): kind for kind, headings in listed for heading in headings.split("|")}
