"""Words of a text with their offsets, and what stands between them.

A word is a run of letters and digits, with apostrophes inside ("Alzheimer's", "5'-nucleotidase" is two words), with a
prefix that a hyphen sets off ("pre-auricular", but not "low-set"), and with whatever accents or invisible characters
belong to it; everything else is a gap. "Non" and "anti" turn whatever follows into something else, so that they belong
to an acronym or a number, too ("non-AD"), and "non" even to what a blank sets off ("non febrile"). "And/or" is one
word, "500mg" two. `form` is the normal form of one word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.text.normalise import APOSTROPHES, INVISIBLE, basic
from linnet.text.wordlists import listed

__all__ = [
    "GLUED", "HYPHENS", "INNER", "INSIDE", "MEASURE", "Gap", "Tokens", "belongs", "form", "gap_kind", "tokenize",
    "words",
]  # fmt: skip

INSIDE = rf"\u0300-\u036f{INVISIBLE}"
# A number and the unit that nothing sets off from it: "500mg" is as good as "500 mg".
_UNIT = r"(?=(?:k?g|m[gl]|[mcd]m|[mµμn]?mol|[µμu]g|mcg|ng|dl|dL|mL|I[UE]|mval)(?![^\W_]))"
MEASURE = re.compile(rf"[0-9]+{_UNIT}")
_GLUED = rf"[^\W\d_]{{3,}}(?=[0-9]+(?:[.,][0-9]+)?{_UNIT})"  # a name that nothing sets off from its dose
GLUED = re.compile(_GLUED)
_WORD = re.compile(rf"({_GLUED}|[0-9]+{_UNIT}|[^\W_]+(?:[{INSIDE}{APOSTROPHES}]+[^\W_]+)*[{INSIDE}]*)")
_PREFIXES = frozenset(listed("prefix"))
_TURNING = frozenset(("non", "anti"))
HYPHENS = "-\u2010\u2011\u2013\u2212"  # also the dash and the minus sign, which are taken for one
_INNER = str.maketrans("", "", HYPHENS + " \n")
_HYPHEN_SET = frozenset(HYPHENS)
_RARE = ("non ", "non\n", "and/or")  # looked for first: hyphens between words are few, blanks are all there is
INNER = _HYPHEN_SET | {" ", "\n", "/"}
_THREE_LETTERS = re.compile(r"[^\W\d_]{3}")
_TIGHT = re.compile(r"[\s\"'\u2018-\u201f`*_\x00]*|[-\u2010-\u2013\u2212]")


class Gap:
    """Kinds of gaps between two words, from the weakest to the strongest.

    ``JOIN``: blanks, one line break, quotes, or a hyphen that touches both words; ``SLASH``: a slash that touches
    both words; ``COMMA``: a comma and blanks; ``BREAK``: any other punctuation; ``PARAGRAPH``: an empty line, or the
    colon and blank behind a heading.
    """

    JOIN, SLASH, COMMA, BREAK, PARAGRAPH = range(5)


class Tokens(NamedTuple):
    """The words of one text; offsets are code points, half-open.

    ``surfaces`` has n words, ``starts`` and ``ends`` are int64 (n,), ``gaps`` has n + 1 strings: what stands before
    the first word, between the words, and after the last one.
    """

    surfaces: list[str]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    gaps: list[str]


def tokenize(text: str) -> Tokens:
    """Return the words of `text`, with no limit on its length.

    >>> tokens = tokenize("Alzheimer's disease, early-onset")
    >>> tokens.surfaces, tokens.starts.tolist(), tokens.gaps
    (["Alzheimer's", 'disease', 'early', 'onset'], [0, 12, 21, 27], ['', ' ', ', ', '-', ''])
    """
    pieces = _pieces(text)
    borders = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
    return Tokens(pieces[1::2], borders[:-1:2], borders[1::2], pieces[::2])


def _pieces(text: str) -> list[str]:
    """Return gaps and words in turn, beginning and ending with a gap."""
    pieces = _WORD.split(text)
    folded = text.lower()
    signs = INNER if any(map(folded.__contains__, _RARE)) else _HYPHEN_SET
    inner = [2 * at for at, gap in enumerate(pieces[2:-2:2], 1) if gap in signs]
    inside = [at for at in inner if belongs(pieces[at - 1], pieces[at], pieces[at + 1])] if inner else inner
    if not inside:
        return pieces
    joined, done = [], 0
    for at in inside:
        if at > done:  # not behind a prefix that has just been joined
            joined += [*pieces[done : at - 1], pieces[at - 1] + pieces[at] + pieces[at + 1]]
            done = at + 2
    return joined + pieces[done:]


def belongs(word: str, gap: str, following: str) -> bool:
    """Return whether `word` is the first part of the word that goes on with `following` behind `gap`."""
    prefix = word.lower()
    if gap == "/":
        return prefix == "and" and following.lower() == "or"
    if gap.isspace():
        return prefix == "non"
    return prefix in _PREFIXES and (prefix in _TURNING or _THREE_LETTERS.match(following) is not None)


def words(text: str) -> list[str]:
    """Return the words of `text` without their offsets: what `tokenize` calls surfaces.

    >>> words("Alzheimer's disease, early-onset")
    ["Alzheimer's", 'disease', 'early', 'onset']
    """
    return _pieces(text)[1::2]


def form(word: str) -> str:
    """Return the normal form of a word: `basic` of it, a prefix joined to it, "and" for "and/or".

    >>> form("Pre-auricular"), form("non febrile"), form("β2")
    ('preauricular', 'nonfebrile', 'beta 2')
    """
    return basic(word.partition("/")[0].translate(_INNER))


def gap_kind(gap: str) -> int:
    r"""Return the `Gap` kind of what stands between two words.

    >>> [gap_kind(gap) for gap in (" ", "-", "\n", "/", ", ", "; ", " - ", ":", "\n\n", ": ")]
    [0, 0, 0, 1, 2, 3, 3, 3, 4, 4]
    """
    if gap.count("\n") > 1 or (":" in gap and gap[-1].isspace()):
        return Gap.PARAGRAPH
    if _TIGHT.fullmatch(gap):
        return Gap.JOIN
    return Gap.SLASH if gap == "/" else Gap.COMMA if gap.strip() == "," else Gap.BREAK
