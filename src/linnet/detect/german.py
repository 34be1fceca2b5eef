"""German letters beside English ones: what they call findings, whatever language the names of the terminology are in.

``linnet/text/german_names.tsv`` lists German names with names that a terminology in English has. They are looked
for, in the word forms of German, in texts that are German; what is found is told in the words of the batch that another
search has read, so that both can be weighed against each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from linnet.detect.name_agreement import How, Shape
from linnet.detect.name_search import Batch, Match, Search, Text
from linnet.detect.name_table import NameTable
from linnet.kb import KbName
from linnet.text.languages import language_of
from linnet.text.wordlists import rows

__all__ = ["GermanSearch"]

SCORE: Final = 0.9  # what the score of such a name is multiplied by
FALSE_FRIEND: Final = 1.01  # the same where a name of the terminology is written so and means something else


class GermanSearch(Search):
    """Finds the German names of the concepts that `search` knows."""

    LONGEST_WITH_INSERTION = 0

    def __init__(self, search: Search) -> None:
        entries = list[KbName]()
        self._false_friends = set[tuple[str, ...]]()
        german = language_of("de")
        for forms, names, *mark in rows("linnet.text", "german_names.tsv"):
            found = search.known_name(names.split("|"))
            if found is not None:
                row, name = found.concept, found.name
                entries += [KbName(name, row, form, "exact", "", "", preferred=True) for form in forms.split("|")]
                self._false_friends |= {tuple(german.content_words(form)) for form in forms.split("|") if mark}
        super().__init__(NameTable.of_names(entries, german))

    def _score(self, surfaces: tuple[str, ...], name: Shape, how: How) -> float:
        share = FALSE_FRIEND if name.words in self._false_friends else SCORE
        return super()._score(surfaces, name, how) * share

    def within(self, batch: Batch, texts: Sequence[Text], numbers: Sequence[int]) -> Iterator[Match]:
        """Yield every name found in some of `texts` by their numbers, in the words of `batch`, read from them all."""
        own = self.read([texts[number] for number in numbers])
        places = _places(own, batch, numbers)
        for match in self.matches(own):
            words = [places[at] for at in match.words]
            if all(words):  # else it holds what is no word to the other search
                yield Match(
                    tuple(at for some in words for at in some),
                    match.name,
                    match.concept,
                    match.score,
                    tuple(at for word in match.own for at in places[word]),
                    next(iter(places[match.group]), -1) if match.group >= 0 else -1,
                )


def _places(own: Batch, batch: Batch, numbers: Sequence[int]) -> list[range]:
    """Return for each word of `own`, read from some texts by their numbers, the words of `batch` at the same place."""
    text = np.array(numbers, np.int64)[own.texts]
    width = 1 + max(int(batch.ends.max(initial=0)), int(own.ends.max(initial=0)))
    starts = batch.texts.astype(np.int64) * width + batch.starts
    first = np.searchsorted(starts, text * width + own.starts)
    last = np.searchsorted(starts, text * width + own.ends)
    return [range(*pair) for pair in zip(first.tolist(), last.tolist(), strict=True)]
