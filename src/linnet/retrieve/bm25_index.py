"""An inverted index of short texts with BM25 weights (Robertson & Zaragoza 2009), in NumPy.

What a word adds to the score of a text depends on the two alone and is worked out beforehand, so that a search adds up
the lists of its words. Inverse document frequencies are ln(1 + (n - df + 0.5) / (df + 0.5)), which is never negative;
the constant factor k1 + 1 is left out, so that no word adds more than its inverse document frequency.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from linnet.text.normalise import basic
from linnet.text.variants import stem

__all__ = ["Bm25Index", "build", "word_counts"]

Ints = npt.NDArray[np.int32]
Places = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

FEW = 8  # lists with fewer places than one in so many texts are sorted, others are added up in an array of all texts


def word_counts(text: str) -> Counter[str]:
    """Return how often each word occurs in a text, words compared by their stem.

    >>> word_counts("Tumours of the tumor")
    Counter({'tumor': 2, 'of': 1, 'the': 1})
    """
    return Counter(stem(word) for word in basic(text).split())


class Bm25Index:
    """Texts and the lists of their words.

    ``terms`` is word → place of its list; ``ends`` (terms + 1,) delimits ``places`` and ``weights``, which texts hold
    a word and what it adds to their score; ``idf`` (terms,); ``concepts`` and ``names`` (texts,) belong to texts.
    """

    def __init__(
        self,
        terms: Mapping[str, int],
        lists: tuple[Places, Ints, npt.NDArray[np.float32]],
        idf: Floats,
        texts: tuple[Ints, Ints],
    ) -> None:
        self.terms, self.idf = terms, idf
        self.ends, self.places, self.weights = lists
        self.concepts, self.names = texts

    def __len__(self) -> int:
        return len(self.concepts)

    def search(self, words: Mapping[str, int]) -> tuple[Places, Floats]:
        """Return the places of all texts with one of these words, ascending, and their scores; words count times."""
        known = [(self.terms[word], count) for word, count in sorted(words.items()) if word in self.terms]
        slices = [(slice(self.ends[term], self.ends[term + 1]), count) for term, count in known]
        if not slices:
            return np.empty(0, np.intp), np.empty(0)
        places = np.concatenate([self.places[at] for at, _ in slices])
        weights = np.concatenate([self.weights[at] * np.float64(count) for at, count in slices])
        if len(places) * FEW < len(self):
            some, order = np.unique(places, return_inverse=True)
            return some.astype(np.intp), np.bincount(order, weights).astype(np.float64, copy=False)
        sums = np.bincount(places, weights, minlength=len(self)).astype(np.float64, copy=False)
        some = np.flatnonzero(sums)
        return some, sums[some]

    def highest(self, words: Mapping[str, int]) -> float:
        """Return a score that no text reaches; words that no text holds are as rare as can be."""
        unknown = math.log(1 + (len(self) + 0.5) / 0.5)
        return sum(
            count * (float(self.idf[self.terms[word]]) if word in self.terms else unknown)
            for word, count in words.items()
        )


def build(texts: Iterable[tuple[int, int, str]], *, k1: float, b: float) -> Bm25Index:
    """Return the index of `texts`, each a row of its own (of a name, say), its concept's row, and a text.

    Texts without letters and digits are left out.

    >>> index = build([(0, 0, "renal cyst"), (1, 1, "renal failure")], k1=1.2, b=0.75)
    >>> places, scores = index.search(word_counts("Cysts, renal"))
    >>> index.concepts[places].tolist(), bool(scores[0] > scores[1])
    ([0, 1], True)
    """
    terms: dict[str, int] = {}
    rows, concepts, sizes, lengths = array("i"), array("i"), array("i"), array("i")
    words, counts = array("i"), array("i")
    for row, concept, text in texts:
        found = word_counts(text)
        if found:
            rows.append(row)
            concepts.append(concept)
            sizes.append(len(found))
            lengths.append(found.total())
            words.extend([terms.setdefault(word, len(terms)) for word in found])
            counts.extend(found.values())
    total = len(rows)
    by_word, occurrences = np.array(words, np.int32), np.array(counts, np.float64)
    size = np.array(lengths, np.float64)
    frequencies = np.bincount(by_word, minlength=len(terms))
    idf = np.log1p((total - frequencies + 0.5) / (frequencies + 0.5))
    relative = size / size.mean() if total else size
    longer = np.repeat(k1 * (1 - b + b * relative), np.array(sizes, np.intp))
    weights = idf[by_word] * occurrences / (occurrences + longer)
    order = np.argsort(by_word, kind="stable")
    places = np.repeat(np.arange(total, dtype=np.int32), np.array(sizes, np.intp))[order]
    ends = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.intp)
    lists = (ends, places, weights[order].astype(np.float32))
    return Bm25Index(terms, lists, idf, (np.array(concepts, np.int32), np.array(rows, np.int32)))
