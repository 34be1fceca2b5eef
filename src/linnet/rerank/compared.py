"""Columns that come of comparing what mentions say with all names of their candidates, for many mentions at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.rerank.asked import Asked, Bools, Floats, Ints, Rows, joined, ranges
from linnet.rerank.lexicon import Lexicon, Text

__all__ = ["COMPARED", "compare"]

COMPARED = (
    "f1", "f1_gap", "f1_mean", "f1_preferred", "covered", "covering", "exact", "exact_share", "verbatim", "preferred",
    "scope", "surface_exact", "apart_missing", "apart_extra", "head_found", "head_meant", "names",
)  # fmt: skip
MOST_APART = 2  # beyond it, systematic names with many locants would all be wrong
APART = 0.05  # what agreement in numbers and letters is worth beside the share of words when the best name is chosen


def compare(asked: Asked, lexicon: Lexicon) -> Floats:
    """Return the columns `COMPARED`, float32 (columns, candidates); equal questions are answered once."""
    ends = np.append(asked.starts[1:], len(asked.rows))
    slices = zip(asked.questions, asked.starts.tolist(), ends.tolist(), strict=True)
    keys = [(one.query, one.surface, asked.rows[start:end].tobytes()) for one, start, end in slices]
    firsts = {key: place for place, key in reversed(list(enumerate(keys)))}
    distinct = np.unique(list(firsts.values()))
    answered_by = np.searchsorted(distinct, [firsts[key] for key in keys])
    places, of, starts = ranges(asked.starts[distinct], ends[distinct])
    questions = [asked.questions[place] for place in distinct.tolist()]
    texts = {text: lexicon.text(text) for text in {text for one in questions for text in (one.query, one.surface)}}
    queries, surfaces = [texts[one.query] for one in questions], [texts[one.surface] for one in questions]
    values = _compared(asked.rows[places], of, starts, queries, surfaces, lexicon)
    table = np.array([values[name] for name in COMPARED], np.float32)
    return table[:, np.arange(len(asked.rows)) + (starts[answered_by] - asked.starts)[asked.of]]


def _compared(
    rows: Rows, of: Ints, starts: Ints, queries: Sequence[Text], surfaces: Sequence[Text], lexicon: Lexicon
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns by name of candidates in lists, one of each text, that begin at `starts`."""
    names, of_name, firsts = ranges(lexicon.concept_starts[rows], lexicon.concept_starts[rows + 1])
    text = of[of_name]  # that each name is compared with
    places, of_word, word_starts = ranges(lexicon.name_starts[names], lexicon.name_starts[names + 1])
    words = lexicon.name_words[places]
    asked = _Words(queries, lexicon)
    at = asked.places(text[of_word], words)
    shared, apart = np.add.reduceat(asked.weights[at], word_starts), np.add.reduceat(asked.apart[at], word_starts)
    weight = np.array([one.weight for one in queries], np.float32)
    missing = np.array([one.apart for one in queries])[text] - apart
    extra = lexicon.name_apart[names] - apart
    f1 = 2 * shared / (weight[text] + lexicon.weight[names])
    exact = lexicon.keys[names] == np.array([one.key for one in queries])[text]
    worth = f1 - APART * (missing > 0) - APART * (extra > 0) + exact
    best = _firsts(worth >= np.maximum.reduceat(worth, firsts)[of_name], firsts)
    any_exact = np.logical_or.reduceat(exact, firsts)
    sizes = np.diff(np.append(firsts, len(names)))
    heads = lexicon.heads[names[best]]
    asked_heads = np.array([one.head for one in queries])[text]
    is_head = np.logical_or.reduceat(words == asked_heads[of_word], word_starts)
    return {
        "f1": f1[best],
        "f1_gap": f1[best] - np.maximum.reduceat(f1[best], starts)[of],
        "f1_mean": np.add.reduceat(f1, firsts) / sizes,
        "f1_preferred": f1[firsts],
        "covered": shared[best] / weight[of],
        "covering": shared[best] / lexicon.weight[names[best]],
        "exact": any_exact,
        "exact_share": any_exact / np.maximum(np.add.reduceat(any_exact, starts, dtype=np.int64), 1)[of],
        "verbatim": np.logical_or.reduceat(lexicon.raws[names] == np.array([one.raw for one in queries])[text], firsts),
        "preferred": exact[firsts],
        "scope": lexicon.scopes[names[best]],
        "surface_exact": np.logical_or.reduceat(
            lexicon.keys[names] == np.array([one.key for one in surfaces])[text], firsts
        ),
        "apart_missing": missing[best],
        "apart_extra": np.minimum(extra[best], MOST_APART),
        "head_found": is_head[best],
        "head_meant": (heads >= 0) & (asked.weights[asked.places(of, np.maximum(heads, 0))] > 0),
        "names": np.log(sizes),
    }


class _Words:
    """The words that texts ask for: weights, and which tell family members apart; zero of what a text does not hold."""

    def __init__(self, texts: Sequence[Text], lexicon: Lexicon) -> None:
        words = joined([one.words for one in texts], np.int64)
        asked = np.unique(words)
        self._numbers = np.zeros(len(lexicon.words) + 1, np.intp)  # 0: a word that no text holds
        self._numbers[asked] = np.arange(1, len(asked) + 1)
        self._width = len(asked) + 1
        at = self.places(np.repeat(np.arange(len(texts)), [len(one.words) for one in texts]), words)
        self.weights = np.zeros(len(texts) * self._width, np.float32)
        self.apart = np.zeros(len(self.weights), np.int16)
        self.weights[at], self.apart[at] = lexicon.weights[words], lexicon.apart[words]

    def places(self, texts: Ints, words: npt.NDArray[Any]) -> Ints:
        """Return where in the columns what each of `texts` says of each of `words` stands."""
        places: Ints = texts * self._width + self._numbers[words]
        return places


def _firsts(chosen: Bools, starts: Ints) -> Ints:
    """Return the first chosen element of each list; every list has one."""
    places = np.flatnonzero(chosen)
    return places[np.searchsorted(places, starts)]
