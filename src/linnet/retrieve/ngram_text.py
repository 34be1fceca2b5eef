"""What character n-grams are taken of a name: the options of Sanz-Cruzado & Lever (2025), and word boundaries.

A name is a sum of *units*: its words, or the whole of it. N-grams never cross the border of a unit, and a blank at
either end of a unit lets them know where it begins and ends. What a unit is made of does not depend on the name it
stands in, so whatever is known about a unit is known once for all names that hold it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from linnet.text.normalise import basic

__all__ = ["Analysis", "CharSide"]

CharSide: TypeAlias = Literal["none", "front", "back", "separate", "together"]
FRONT, BACK = "<", ">"  # never in a normalised name: they keep the n-grams of the two halves apart


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """How a text becomes units and a unit n-grams; two equal ones make equal indexes.

    The texts are compared in the form of `linnet.text.normalise.basic`.

    >>> Analysis().units("Renal-cell carcinoma")
    [' renal ', ' cell ', ' carcinoma ']
    >>> sorted(Analysis(ngram_range=(3, 3)).grams(" cell "))
    [' ce', 'cel', 'ell', 'll ']
    >>> Analysis(word_boundaries=False, char_side="separate", char_count=12).units("Renal-cell carcinoma")
    ['< renal  ', '> cinoma ']
    """

    ngram_range: tuple[int, int] = (2, 4)
    min_df: int = 1
    max_features: int | None = None
    char_side: CharSide = "none"
    char_count: int = 16
    word_boundaries: bool = True
    sublinear_tf: bool = True

    def problems(self) -> list[str]:
        """Return what is wrong with the options, all at once."""
        low, high = self.ngram_range
        problems = [] if 1 <= low <= high else [f"ngram_range: {[low, high]} must be 1 <= shortest <= longest"]
        problems += [] if self.min_df >= 1 else [f"min_df: {self.min_df} must be at least 1"]
        if self.max_features is not None and self.max_features < 1:
            problems.append(f"max_features: {self.max_features} must be at least 1")
        if self.char_side not in (sides := get_args(CharSide)):
            problems.append(f"char_side: {self.char_side!r} is none of {', '.join(sides)}")
        least = 2 if self.char_side in ("separate", "together") else 1
        if self.char_side != "none" and self.char_count < least:
            problems.append(f"char_count: {self.char_count} must be at least {least} for char_side {self.char_side!r}")
        return problems

    def units(self, text: str) -> list[str]:
        """Return the units of a text in order; none when it holds no letter and no digit."""
        norm = basic(text)
        if self.char_side == "none":
            return self._padded(norm)
        count = self.char_count
        if self.char_side == "front":
            return self._padded(norm[:count])
        if self.char_side == "back":
            return self._padded(norm[-count:])
        front, back = norm[: count // 2], norm[-(count // 2) :]
        tags = (FRONT, BACK) if self.char_side == "separate" else ("", "")
        return [tag + unit for tag, half in zip(tags, (front, back), strict=True) for unit in self._padded(half)]

    def _padded(self, norm: str) -> list[str]:
        if self.word_boundaries:
            return [f" {word} " for word in norm.split()]
        return [f" {norm} "] if norm else []

    def grams(self, unit: str) -> list[str]:
        """Return the n-grams of a unit, as often as they occur; those of a half carry the mark of its side."""
        tag, body = (unit[0], unit[1:]) if unit[0] in (FRONT, BACK) else ("", unit)
        low, high = self.ngram_range
        return [
            tag + body[start : start + size]
            for size in range(low, min(high, len(body)) + 1)
            for start in range(len(body) - size + 1)
        ]

    def frequencies(self, units: Iterable[str]) -> dict[str, float]:
        """Return the term frequency of each n-gram in a text of these units.

        With ``sublinear_tf`` it is 1 + ln(count) within a unit; frequencies of units are added, so that the vector of
        a name is the sum of those of its units.
        """
        total: dict[str, float] = {}
        for unit in units:
            for gram, count in Counter(self.grams(unit)).items():
                total[gram] = total.get(gram, 0.0) + (1.0 + math.log(count) if self.sublinear_tf else count)
        return total
