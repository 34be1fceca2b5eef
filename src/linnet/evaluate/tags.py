"""Token accuracy: documents as the labels that a tagger gives to words (BIO, BILOU), and how many are the same.

Words are those of `linnet.text.tokens`; one belongs to a span if they share a character. The parts of a discontinuous
mention are tagged as spans of their own. A word has one label: of spans that share a word the one with the most words
is tagged (of equals the first, then the one whose type comes first in the alphabet), the others are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linnet.data import Document
from linnet.evaluate.measures import Measure
from linnet.evaluate.units import Corpus, Ints, Labels, Side
from linnet.text.tokens import tokenize

__all__ = ["token_accuracy"]

OUTSIDE, BEGIN, INSIDE, LAST, UNIT = range(5)
_AS_BIO = np.array([OUTSIDE, BEGIN, INSIDE, INSIDE, BEGIN])


def token_accuracy(pairs: Sequence[tuple[Document, Document]], corpus: Corpus) -> list[Measure]:
    """Return the shares of words with the same label on both sides: BIO and BILOU, without and with types.

    Args:
        pairs: gold and predicted documents with the same text.
        corpus: the same documents as columns.

    >>> from linnet.data import Mention
    >>> gold = Document("a", "a common cold", mentions=(Mention(2, 13),))
    >>> near = Document("a", "a common cold", mentions=(Mention(9, 13),))
    >>> measures = token_accuracy([(gold, near)], Corpus.of([(gold, near)], live=str))
    >>> {measure.name: measure.counts.tolist() for measure in measures[:2]}
    {'token.bio.accuracy': [[1.0, 3.0]], 'token.bilou.accuracy': [[1.0, 3.0]]}
    """
    words = [tokenize(gold.text) for gold, _ in pairs]
    counts = np.array([len(tokens.starts) for tokens in words], np.int64)
    doc = np.repeat(np.arange(len(pairs)), counts)
    places = [np.zeros(0, np.int64)]
    starts, ends = (
        np.concatenate(places + [getattr(tokens, edge) for tokens in words]) + corpus.base[doc]
        for edge in ("starts", "ends")
    )
    ranks = _alphabetical(corpus.numbers.types)
    sides = [_tags(corpus, side, starts, ends, ranks) for side in (corpus.gold, corpus.predicted)]
    (tags, types), (other_tags, other_types) = sides
    same_type = types == other_types
    empty = 0.0 if len(corpus.gold.doc) or len(corpus.predicted.doc) else 1.0
    measures = []
    for scheme, same in (("bio", _AS_BIO[tags] == _AS_BIO[other_tags]), ("bilou", tags == other_tags)):
        for name, right in ((scheme, same), (f"{scheme}-typed", same & same_type)):
            sums = np.bincount(doc[right], minlength=len(pairs))
            measures.append(Measure(f"token.{name}.accuracy", np.stack((sums, counts), axis=1).astype(float), empty))
    return sorted(measures, key=lambda measure: "typed" in measure.name)


def _alphabetical(types: Labels) -> Ints:
    """Return the place of every type among all, in the alphabet, int64 (types,); none comes first."""
    ranks = np.zeros(types.size, np.int64)
    ranks[[types[name] for name in sorted(name for name in types if name is not None)]] = np.arange(1, types.size)
    return ranks


def _tags(corpus: Corpus, side: Side, starts: Ints, ends: Ints, ranks: Ints) -> tuple[Ints, Ints]:
    """Return tag and type of every word, int64 (words,) each."""
    type = np.full(len(side.doc), len(ranks), np.int64)
    np.minimum.at(type, side.typed, ranks[side.type])  # of several types the first in the alphabet
    mention, start, end = _segments(corpus, side)
    first = np.searchsorted(ends, start, side="right")
    last = np.searchsorted(starts, end, side="left")
    hit = np.flatnonzero(last > first)
    chosen = hit[_separate(first[hit], last[hit], type[mention[hit]])]
    tags, types = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    first, last, kind = first[chosen], last[chosen], type[mention[chosen]]
    sizes = last - first
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    tags[inside] = INSIDE
    types[inside] = np.repeat(kind, sizes)
    tags[first] = BEGIN
    tags[last - 1] = np.where(sizes == 1, UNIT, LAST)
    return tags, types


def _segments(corpus: Corpus, side: Side) -> tuple[Ints, Ints, Ints]:
    """Return mention, start and end of every stretch of text that is tagged."""
    whole = np.flatnonzero(side.shape == 0)
    parts = list(corpus.numbers.shapes)
    pieces = [
        (mention, int(corpus.base[side.doc[mention]]) + start, int(corpus.base[side.doc[mention]]) + end)
        for mention in np.flatnonzero(side.shape).tolist()
        for start, end in parts[side.shape[mention]]
    ]
    columns = np.array(pieces, np.int64).reshape(-1, 3).T
    mention, start, end = (
        np.concatenate(both) for both in zip((whole, side.start[whole], side.end[whole]), columns, strict=True)
    )
    return mention, start, end


def _separate(first: Ints, last: Ints, type: Ints) -> Ints:
    """Return the stretches of words to tag, so that no two share a word: the longest first."""
    order = np.lexsort((last, first))
    reach = np.maximum.accumulate(last[order])
    opens = np.ones(len(order), np.bool_)  # starts behind all before it: nothing is shared over this border
    opens[1:] = first[order][1:] >= reach[:-1]
    group = np.cumsum(opens) - 1
    alone = np.bincount(group)[group] == 1 if len(group) else opens
    crowded = order[~alone]
    taken: set[int] = set()
    chosen = []
    for at in crowded[np.lexsort((type[crowded], first[crowded], first[crowded] - last[crowded]))].tolist():
        place = range(int(first[at]), int(last[at]))
        if taken.isdisjoint(place):
            taken.update(place)
            chosen.append(at)
    return np.concatenate((order[alone], np.array(chosen, np.int64)))
