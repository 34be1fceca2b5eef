"""The language of notes: everyday and telegraphic names of concepts, and short forms with the concepts they mean.

``linnet/text/lay_names.tsv`` lists phrases with names; a knowledge base that has one of these names gets the phrase.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from linnet.detect.name_agreement import How, Shape
from linnet.detect.name_search import Batch, Match, Search, Text, View
from linnet.detect.name_table import Kind, NameTable, in_sorted
from linnet.detect.part_findings import PartSearch
from linnet.errors import UnknownConceptError
from linnet.kb import KbName, KnowledgeBase
from linnet.text.known_forms import Senses
from linnet.text.variants import content_words
from linnet.text.wordlists import rows

__all__ = ["LaySearch", "named_senses"]

ADJECTIVE, EXACT = "adjective", "exact"  # kinds of phrases, see the head of the table
LAY = 0.9  # what the score of such a name is multiplied by
LEAST = 0.93  # agreement that it needs: it is no name of a terminology, to which distant forms may belong


class LaySearch(Search):
    """Finds the phrases of the table whose names `search` knows."""

    LONGEST_WITH_INSERTION = 0

    def __init__(self, search: Search) -> None:
        entries, seen = [], set[str]()
        known = functools.cache(lambda names: search.known_name(names.split("|")))
        self._kinds: dict[tuple[str, ...], str] = {}
        for pattern, names, *kind in rows("linnet.text", "lay_names.tsv"):
            found = known(names)
            if found is None:
                continue
            for words in itertools.product(*(word.split("/") for word in pattern.split())):
                phrase = " ".join(words)
                if phrase in seen:
                    continue
                seen.add(phrase)
                entries.append(KbName(found.name, found.concept, phrase, "exact", "", "", preferred=True))
                if kind:
                    self._kinds[tuple(content_words(phrase))] = kind[0]
        super().__init__(NameTable.of_names(entries), informal=True)
        self._parts = PartSearch(search)

    def matches(self, batch: Batch, view: View | None = None, texts: Sequence[Text] = ()) -> Iterator[Match]:
        """Yield every phrase found in `batch`, which another search has read, in no particular order.

        With the `texts` it was read from also what is said of parts of the body, vital signs and results.

        Phrases do not share words with others ("swollen ankles and knees"): there are too few of them.
        """
        if len(batch.surfaces) and len(self.table):
            known = in_sorted(batch.hashes, self.table.vocabulary)
            for at in batch.expanded:
                known[at] = self.vocabulary.knows(batch.surfaces[at])
            kinds = np.where(known, Kind.KNOWN, Kind.UNKNOWN).astype(np.uint8)
            view = view or View(batch)
            yield from self._windows(batch._replace(kinds=kinds), view)
            yield from self._statements(view)
        if texts:
            yield from self._parts.matches(batch, texts)

    def _score(self, surfaces: tuple[str, ...], name: Shape, how: How) -> float:
        kind = self._kinds.get(name.words)
        if kind == ADJECTIVE and how.goes_on > 1:
            return 0.0
        if kind == EXACT and (how.linked or " ".join(surfaces).lower() != " ".join(name.words)):
            return 0.0
        score = super()._score(surfaces, name._replace(linked=False), how._replace(linked=False))
        return score * LAY if score >= LEAST else 0.0


def named_senses(senses: Senses, kb: KnowledgeBase) -> Senses:
    """Return senses with the names of concepts in the place of their ids."""

    def named(text: str) -> tuple[str, ...]:
        try:
            return tuple(name.text for name in kb[kb.row(text)].names) if ":" in text else (text,)
        except UnknownConceptError:
            return (text,)

    return {
        short: [sense._replace(names=tuple(itertools.chain(*map(named, sense.names)))) for sense in some]
        for short, some in senses.items()
    }
