"""Coordinations expanded into their conjuncts: "breast and ovarian cancer" speaks of breast cancer and ovarian cancer.

What conjuncts share may stand

* at the end: "palmar and plantar pits", "branchial, otic and renal anomalies", "aplasia or hypoplasia of the thumb";
* at the beginning, before a preposition: "hypoplasia of the thumbs, radii and ulnae";
* at the beginning, as one adjective of single nouns: "short fingers and toes".

Nothing is known here about names: every reading is proposed, and whoever asks keeps those that are names of something;
of those that share one adjective, all or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

__all__ = ["Conjunct", "Phrase", "conjuncts", "shared_end"]

# Words that conjuncts share, and words that one has for itself, at most: longer readings are hardly ever names.
SHARED, OWN = 4, 3


class Phrase(NamedTuple):
    """One phrase of a coordination.

    ``words`` are positions of its content words in the text; ``turn`` says how many of them stand before the first
    preposition ("pain in the arm": 1; 0 if there is none); ``ended`` whether the phrase is known to end here;
    ``apart`` whether it begins with an article or a preposition, so that what stands before it cannot share its end.
    """

    words: tuple[int, ...]
    turn: int = 0
    ended: bool = True
    apart: bool = False


class Conjunct(NamedTuple):
    """One reading: positions of the words a conjunct has for itself and of those it shares, both ascending.

    ``turned`` says that a preposition stands between the two, so that a name may hold them in the other order.
    ``of`` is how many readings with the same shared words, this one included, must all be names for any of them to
    hold: in "a febrile illness, vomiting and seizures" nothing but the illness is febrile.
    """

    own: tuple[int, ...]
    shared: tuple[int, ...]
    turned: bool = False
    of: int = 1

    @property
    def words(self) -> tuple[int, ...]:
        """All positions, in the order of the text."""
        return tuple(sorted(self.own + self.shared))


def conjuncts(phrases: Sequence[Phrase], *, unknown: AbstractSet[int] = frozenset()) -> Iterator[Conjunct]:
    """Yield the readings of a coordination whose phrases, in the order of the text, are `phrases`.

    The first phrase may have words before the coordination and the last words behind it; what a phrase has on its own
    (the last conjunct of "breast and ovarian cancer") is no reading, and nor is what holds one of the `unknown` words.

    >>> [reading.words for reading in conjuncts([Phrase((0,)), Phrase((2, 3))])]  # breast [and] ovarian cancer
    [(0, 3)]
    >>> [reading.words for reading in conjuncts([Phrase((0, 1)), Phrase((3,))])]  # short fingers [and] toes
    [(0, 3)]
    >>> phrases = [Phrase((0, 1), turn=1), Phrase((2,)), Phrase((4,))]  # hypoplasia of thumbs, radii [and] ulnae
    >>> [reading.words for reading in conjuncts(phrases)]
    [(0, 2), (0, 4)]
    """
    if len(phrases) < 2 or not all(phrase.words for phrase in phrases):
        return
    if not phrases[-1].apart:
        yield from shared_end(phrases, unknown=unknown)
    # What stands before a coordination may be a list of its own ("a squint, short fingers and toes").
    for start in reversed(range(len(phrases) - 1)):
        if phrases[start].turn:
            yield from _shared_before_preposition(phrases[start:], unknown)
            break
        yield from _shared_adjective(phrases[start:], unknown)


def shared_end(phrases: Sequence[Phrase], *, unknown: AbstractSet[int] = frozenset()) -> Iterator[Conjunct]:
    """Yield the readings in which phrases share the end of the last: all there is to two adjectives and a comma.

    >>> [reading.words for reading in shared_end([Phrase((0,)), Phrase((1, 2))])]  # short, broad fingers
    [(0, 2)]
    """
    *before, last = phrases
    if len(last.words) < 2:
        return
    owns = [own for number, phrase in enumerate(before) for own in _parts(phrase, whole=number > 0, last=True)]
    owns = [own for own in owns if unknown.isdisjoint(own)]
    for cut in range(1, min(len(last.words) - 1, last.turn or OWN, OWN) + 1 if owns else 0):
        for end in range(cut + 1, min(len(last.words), cut + SHARED) + 1):
            if last.words[end - 1] in unknown:
                break
            for own in owns:
                yield Conjunct(own, last.words[cut:end], cut == last.turn)


def _parts(phrase: Phrase, *, whole: bool, last: bool) -> list[tuple[int, ...]]:
    """Return the last or the first words of a phrase, or only all of it where it has borders on both sides."""
    words = phrase.words
    if whole:
        return [words] if len(words) <= OWN else []
    return [words[-length:] if last else words[:length] for length in range(1, min(len(words), OWN) + 1)]


def _shared_before_preposition(phrases: Sequence[Phrase], unknown: AbstractSet[int]) -> Iterator[Conjunct]:
    first, *behind = phrases
    for length in range(1, min(first.turn, SHARED) + 1):
        shared = first.words[first.turn - length : first.turn]
        if shared[0] in unknown:
            return
        for number, phrase in enumerate(behind):
            if not phrase.turn:
                for own in _parts(phrase, whole=number < len(behind) - 1 or phrase.ended, last=False):
                    if unknown.isdisjoint(own):
                        yield Conjunct(own, shared, turned=True)


def _shared_adjective(phrases: Sequence[Phrase], unknown: AbstractSet[int]) -> Iterator[Conjunct]:
    first, *behind = phrases
    if len(first.words) < 2 or any(len(phrase.words) > 1 or phrase.turn for phrase in behind):
        return
    if not unknown.isdisjoint([phrase.words[0] for phrase in behind]):
        return  # all of them or none
    for length in range(1, min(len(first.words) - 1, SHARED) + 1):
        if first.words[-1 - length] in unknown:
            return
        for phrase in behind:
            yield Conjunct(phrase.words, first.words[-1 - length : -1], of=len(behind))
