"""German letters beside English ones: what they call findings, whatever language the names of the terminology are in.

``linnet/text/german_names.tsv`` lists German names with names that a terminology in English has. They are looked
for, in the word forms of German, in texts that are German; what is found is told in the words of the batch that another
search has read, so that both can be weighed against each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from linnet.detect.name_search import Batch, Match, Search, Text
from linnet.detect.name_table import NameTable
from linnet.kb import KbName
from linnet.text.languages import language_of
from linnet.text.wordlists import rows

__all__ = ["GermanSearch"]

SCORE: Final = 0.9  # what the score of such a name is multiplied by


class GermanSearch(Search):
    """Finds the German names of the concepts that `search` knows."""

    LONGEST_WITH_INSERTION = 0

    def __init__(self, search: Search) -> None:
        entries = list[KbName]()
        for forms, names in rows("linnet.text", "german_names.tsv"):
            found = search.known_name(names.split("|"))
            if found is not None:
                row, name = found.concept, found.name
                entries += [KbName(name, row, form, "exact", "", "", preferred=True) for form in forms.split("|")]
        super().__init__(NameTable.of_names(entries, language_of("de")))

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
                    match.score * SCORE,
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
