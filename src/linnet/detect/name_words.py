"""Words as numbers: what a word of a name or of a text is looked up by, and how often each was met."""

from __future__ import annotations

import functools
import hashlib
from array import array
from collections.abc import Iterable
from importlib import resources

import numpy as np
import numpy.typing as npt

from linnet.text.abbreviations import without_short_forms
from linnet.text.tokens import form, words
from linnet.text.variants import CONJUNCTIONS, TIES, family, is_stopword, singular

__all__ = ["MASK", "Kind", "Words", "name_codes", "rules", "word_code"]

MASK = (1 << 64) - 1
MAX_WORD = 64  # characters; longer runs are sequences or noise, not words of a name
REMEMBERED = 1 << 20  # words, and hashes not yet merged into the vocabulary, that building holds
_RULES = ["abbreviations.py", "variants.py", "normalise.py", "tokens.py", "wordlists.py", "families.tsv", "words.tsv"]

U64 = npt.NDArray[np.uint64]


class Kind:
    """What a word is to the matcher; ``KNOWN`` words occur in some name of the table."""

    UNKNOWN, KNOWN, STOP, CONJUNCTION, TIE = range(5)


def word_code(surface: str) -> tuple[int, int]:
    """Return hash and `Kind` of a word as it stands in a text or a name, before anyone asks whether it is known.

    Stop words have the hash 0, so that they vanish from sums; so do words too long to be in a name.

    >>> word_code("renal") == word_code("Kidneys"), word_code("of")
    (True, (0, 2))
    """
    if len(surface) > MAX_WORD:
        return 0, Kind.UNKNOWN
    if is_stopword(surface):
        return 0, Kind.STOP
    forms = form(singular(surface)).split()
    kind = Kind.CONJUNCTION if forms[0] in CONJUNCTIONS else Kind.TIE if forms[0] in TIES else Kind.UNKNOWN
    return sum(_hash("and" if form in CONJUNCTIONS else family(form)) for form in forms) & MASK, kind


@functools.lru_cache(maxsize=1 << 16)
def _hash(family: str) -> int:
    return int.from_bytes(hashlib.blake2b(family.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def name_codes(text: str, codes: dict[str, tuple[int, int]]) -> list[int]:
    """Return the hashes of the words of a name that are looked up; `codes` remembers words."""
    found = words(without_short_forms(text))
    return [code for code, kind in [_code(word, codes) for word in found] if kind != Kind.STOP]


def _code(word: str, codes: dict[str, tuple[int, int]]) -> tuple[int, int]:
    code = codes.get(word)
    if code is None:
        if len(codes) >= REMEMBERED:
            codes.clear()  # the frequent words are soon back
        code = codes[word] = word_code(word)
    return code


@functools.cache
def rules() -> str:
    """Return a digest of the rules by which words are hashed: a table made under others is stale."""
    digest = hashlib.blake2b(digest_size=8)
    for module in _RULES:
        digest.update((resources.files("linnet.text") / module).read_bytes())
    return digest.hexdigest()


class Words:
    """The hashes of words, sorted, and how often each was met; complete after `count`."""

    def __init__(self) -> None:
        self.codes: U64 = np.empty(0, np.uint64)
        self.uses: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._met = array("Q")

    def add(self, hashes: Iterable[int]) -> None:
        """Take the words of one name."""
        self._met.extend(hashes)
        if len(self._met) >= REMEMBERED:
            self.count()

    def count(self) -> None:
        """Count what was taken."""
        met, self._met = self._met, array("Q")
        codes, uses = np.unique(np.frombuffer(met or b"", np.uint64), return_counts=True)
        self.join(codes, uses)

    def join(self, codes: U64, uses: npt.NDArray[np.int64]) -> None:
        """Add the counts of other words; a word that is left with none is forgotten."""
        both, place = np.unique(np.concatenate([self.codes, codes]), return_inverse=True)
        total = np.zeros(len(both), np.int64)
        np.add.at(total, place, np.concatenate([self.uses, uses]))
        self.codes, self.uses = both[total > 0], total[total > 0]
