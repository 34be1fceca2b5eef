"""Typing errors: the one word of a vocabulary that a longer word is one edit away from.

An edit puts a letter in, leaves one out, takes another in its place, or changes two neighbours (Damerau 1964, "A
technique for computer detection and correction of spelling errors", CACM 7(3)). The first letter must be right, as it
nearly always is, and so must the last, and the last two where a letter stands for another: most words that differ
there are other words (bacteria and bacterial, lactose and lactase). So are words that differ in their prefix (micro-,
macro-). A German word is none of English ("flaches" and flashes).

Words are looked up by their first four letters or, if the edit is among these, by the first and the last three (the
pigeonhole principle: one edit leaves one of the two as it is), so that few are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from linnet.text.languages import is_german_word
from linnet.text.variants import PREFIXES, family, stem
from linnet.text.wordlists import listed

__all__ = ["SHORTEST", "Misspelt", "one_edit"]

SHORTEST: Final = 7  # letters of a word that is looked at
HEAD, TAIL = 4, 3
ENDING: Final = 2
# Words of general English that stand one edit from a medical word.
REAL: Final = frozenset(map(stem, listed("real", "letter_words.tsv")))


class Misspelt:
    """Words that others may be misspelt forms of; asked for one word at a time.

    >>> words = Misspelt(["cataract", "hypoparathyroidism", "retention"])
    >>> words("catarct"), words("hypoparathyroidsm"), words("cataracts"), words("detention"), words("Retnetion")
    ('cataract', 'hypoparathyroidism', '', '', 'retention')
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._words: dict[tuple[str, str, int], list[str]] = {}
        for word in dict.fromkeys(vocabulary):
            if len(word) >= SHORTEST - 1 and word.isascii() and word.isalpha() and word.islower():
                for key in _keys(word, len(word)):
                    self._words.setdefault(key, []).append(word)

    def __call__(self, word: str) -> str:
        """Return the word that `word` is an edit away from, "" if it is none, too short, or several fit."""
        if not _is_candidate(word):
            return ""
        word = word.lower()
        near = {
            other
            for typed in {word, stem(word)}  # in British and in American spelling
            if len(typed) >= SHORTEST
            for size in (len(typed) - 1, len(typed), len(typed) + 1)
            for key in _keys(typed, size)
            for other in self._words.get(key, ())
            if one_edit(typed, other) and not _are_words(typed, other)
        }
        families = {family(other) for other in near}
        # what is but another form of a word is found without this: "cataracts"
        return min(near) if len(families) == 1 and family(word) not in families else ""


def _is_candidate(word: str) -> bool:
    return (
        len(word) >= SHORTEST
        and word.isascii()
        and word.isalpha()
        and word[1:].islower()
        and stem(word.lower()) not in REAL
        and not is_german_word(word)
    )


def _are_words(word: str, other: str) -> bool:
    """Say whether two words differ where a typing error is less likely than another word."""
    ending = ENDING if len(word) == len(other) else 1
    if word[-ending:] != other[-ending:] and sorted(word) != sorted(other):
        return True
    rests = [word[len(prefix) :] for prefix in PREFIXES if word.startswith(prefix)]
    return any(other.endswith(rest) and other[: -len(rest)] in PREFIXES for rest in rests if rest)


def _keys(word: str, size: int) -> tuple[tuple[str, str, int], tuple[str, str, int]]:
    return (word[:HEAD], "", size), (word[0], word[-TAIL:], size)


def one_edit(word: str, other: str) -> bool:
    """Say whether two words are exactly one edit apart.

    >>> [one_edit("abcd", other) for other in ("abd", "abxcd", "axcd", "acbd", "abcd", "abdcx")]
    [True, True, True, True, False, False]
    """
    if word == other or abs(len(word) - len(other)) > 1:
        return False
    if len(word) > len(other):
        word, other = other, word
    at = next((place for place, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(word))
    if len(word) < len(other):
        return word[at:] == other[at + 1 :]
    rest = word[at + 1 :] == other[at + 1 :]
    return rest or (word[at : at + 2] == other[at : at + 2][::-1] and word[at + 2 :] == other[at + 2 :])
