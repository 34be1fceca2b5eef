"""The language of notes: everyday and telegraphic names of concepts, and short forms with the concepts they mean.

``linnet/text/lay_names.tsv`` lists phrases with names; a knowledge base that has one of these names gets the phrase.
Which it gets is kept in a file beside it: to find out takes longer than all else that a first note needs.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import numpy as np

from linnet.arrays_file import ArraysWriter, Stored
from linnet.detect.name_agreement import How, Shape
from linnet.detect.name_search import Batch, Match, Search, Text, View
from linnet.detect.name_table import COLUMNS, FORMAT, Kind, NameTable, in_sorted, rules, write_names
from linnet.detect.part_findings import PartSearch
from linnet.errors import UnknownConceptError
from linnet.kb import KbName, KnowledgeBase
from linnet.kb.side_files import Earlier, SideFile
from linnet.text.known_forms import Senses
from linnet.text.languages import ENGLISH, Language
from linnet.text.variants import content_words
from linnet.text.wordlists import rows

__all__ = ["LayFile", "LaySearch", "named_senses"]

TABLE = "lay_names.tsv"
# whose change makes the file stale
MADE_BY = (("linnet.text", TABLE), ("linnet.detect", "name_agreement.py"), ("linnet.detect", "name_search.py"))
ADJECTIVE, EXACT = "adjective", "exact"  # kinds of phrases, see the head of the table
LAY = 0.9  # what the score of such a name is multiplied by
LEAST = 0.93  # agreement that it needs: it is no name of a terminology, to which distant forms may belong


def _phrases() -> Iterator[tuple[str, str, str]]:
    """Yield each phrase of the table with its names, and its kind or nothing."""
    for pattern, names, *kind in rows("linnet.text", TABLE):
        for words in itertools.product(*(word.split("/") for word in pattern.split())):
            yield " ".join(words), names, "".join(kind)


class LayFile(SideFile[NameTable]):
    """The phrases whose names a knowledge base has in a language, in their file."""

    WHAT = "table of everyday names"
    SUFFIX = "lay"
    MAGIC = b"linnet lay names\n"
    ARRAYS = COLUMNS

    def __init__(self, kb: KnowledgeBase, language: Language = ENGLISH) -> None:
        self.language = language
        digest = hashlib.blake2b(digest_size=8)
        for package, file in MADE_BY:
            digest.update((resources.files(package) / file).read_bytes())
        options = {"language": language.code} if language.code else None
        super().__init__(kb, options, rules={"format": FORMAT, "rules": rules(), "made by": digest.hexdigest()})

    def write(
        self,
        writer: ArraysWriter,
        concepts: Sequence[int] | None,  # noqa: ARG002 - all, at every edit
        earlier: Earlier[NameTable] | None,  # noqa: ARG002 - the same
    ) -> dict[str, Any]:
        """Write the columns of a table of names."""
        return write_names(self._named(), writer)

    def read(self, stored: Stored) -> NameTable:
        """Return the table over the columns of a file."""
        return NameTable(stored)

    def _named(self) -> Iterator[KbName]:
        search = Search(NameTable.of(self.kb, self.language), informal=True)
        seen = set[str]()
        known = functools.cache(lambda names: search.known_name(names.split("|")))
        for phrase, names, _ in _phrases():
            found = known(names) if phrase not in seen else None
            if found is not None:
                seen.add(phrase)
                yield KbName(found.name, found.concept, phrase, "exact", "", "", preferred=True)


class LaySearch(Search):
    """Finds the phrases of the table whose names `search`, that of `kb`, knows."""

    LONGEST_WITH_INSERTION = 0

    def __init__(self, search: Search, kb: KnowledgeBase) -> None:
        super().__init__(LayFile(kb, search.language).current(), informal=True)
        kinds: dict[str, str] = {}  # of a phrase that the table holds twice the first counts
        for phrase, _, kind in _phrases():
            kinds.setdefault(phrase, kind)
        self._kinds = {tuple(content_words(phrase)): kind for phrase, kind in kinds.items() if kind}
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
        if kind == EXACT and not _is_exact(surfaces, name, how):
            return 0.0
        score = super()._score(surfaces, name._replace(linked=False), how._replace(linked=False))
        return score * LAY if score >= LEAST else 0.0


def _is_exact(surfaces: Sequence[str], name: Shape, how: How) -> bool:
    """Whether words stand as a phrase has them, capitals too if it has any; its stop words may be others."""
    if name.linked != how.linked and (how.linked or len(name.words) == 1):  # *at the legs* would be any legs
        return False
    found, own = " ".join(surfaces), " ".join(name.words)
    return (found if own != own.lower() else found.lower()) == own


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
