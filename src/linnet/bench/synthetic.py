"""Synthetic terminologies of any size: deterministic, fast to make, and shaped like real ones.

Real terminologies of millions of names are licensed or too large to test with. These have what decides the cost of
building, searching and linking: names of one to six words whose frequencies follow Zipf's law while each name holds a
rare word too, synonyms that repeat, reorder or replace words of the preferred name, homonyms, a hierarchy with one to
three parents, few types with very unequal sizes, definitions of some concepts, cross-references that a few share,
retired ids. Their content is nonsense.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from linnet.bench.synthetic_words import Words, words_for
from linnet.data import Concept, Name
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase

__all__ = ["PREFIX", "TYPES", "synthetic"]

PREFIX = "SYN"  # ids are SYN:C0000001 and so on: seven digits, as in the UMLS
# UMLS semantic types as (TUI, tree number, name), by how many concepts the generator gives them
TYPES = (
    ("T204", "A1.1.3", "Eukaryote"),
    ("T109", "A1.4.1.2.1", "Organic Chemical"),
    ("T033", "A2.2", "Finding"),
    ("T061", "B1.3.1.3", "Therapeutic or Preventive Procedure"),
    ("T121", "A1.4.1.1.1", "Pharmacologic Substance"),
    ("T047", "B2.2.1.2.1", "Disease or Syndrome"),
    ("T116", "A1.4.1.2.1.7", "Amino Acid, Peptide, or Protein"),
    ("T023", "A1.2.3.1", "Body Part, Organ, or Organ Component"),
    ("T037", "B2.3", "Injury or Poisoning"),
    ("T028", "A1.2.3.5", "Gene or Genome"),
    ("T191", "B2.2.1.2.1.2", "Neoplastic Process"),
    ("T201", "A2.3.1", "Clinical Attribute"),
    ("T007", "A1.1.2", "Bacterium"),
    ("T059", "B1.3.1.1", "Laboratory Procedure"),
    ("T184", "A2.2.2", "Sign or Symptom"),
    ("T019", "A1.2.2.1", "Congenital Abnormality"),
    ("T074", "A1.3.1", "Medical Device"),
    ("T005", "A1.1.4", "Virus"),
    ("T048", "B2.2.1.2.1.1", "Mental or Behavioral Dysfunction"),
    ("T031", "A1.4.2", "Body Substance"),
)
SOURCES = ("SNOMEDCT_US", "MSH", "NCI", "MTH", "RXNORM", "MDR", "ICD10CM", "OMIM")
LENGTHS = (0.14, 0.27, 0.24, 0.16, 0.11, 0.08)  # share of names of one to six words
MAX_NAMES = 40
DEFINED, RETIRED, HOMONYMS, RELATED, SECOND_TYPE = 0.08, 0.01, 0.02, 0.04, 0.08
XREFS = (0.55, 0.85)  # cumulative shares of concepts with no and with one cross-reference; the rest has two
XREF_PREFIXES = ("SYNA", "SYNB", "SYNC", "SYND")
PARENTS = (0.72, 0.95)  # cumulative shares of concepts with one and with two parents
BLOCK = 4096  # concepts drawn at once
WORD_STEP = 64  # a vocabulary grows with the root of the number of names (Heaps); words per unit


def synthetic(
    concepts: int, *, names_per_concept: float = 2.5, seed: int = 13, seeds_from: KnowledgeBase | None = None
) -> Iterator[Concept]:
    """Yield `concepts` live concepts, and after each hundredth or so a retired id that leads to it.

    The same arguments give the same concepts. Parents come before their children; the first concept is the root.
    About 4,096 concepts and the vocabulary are held in memory.

    Args:
        concepts: how many live ones, at most 9,000,000 (ids have seven digits, retired ones take the rest).
        names_per_concept: the mean, at least 1.
        seed: of the random numbers.
        seeds_from: take the words of this knowledge base instead of the built-in medical morphemes.

    Raises:
        LinnetError: a number outside its range.

    >>> first, second = list(synthetic(2, seed=7))[:2]
    >>> second.id, second.parents, second.name == list(synthetic(2, seed=7))[1].name
    ('SYN:C0000002', ('SYN:C0000001',), True)
    """
    if not 0 < concepts <= 9_000_000:
        raise LinnetError(f"concepts is {concepts:,}, expected 1 to 9,000,000")
    if not 1 <= names_per_concept <= MAX_NAMES / 2:
        raise LinnetError(f"names_per_concept is {names_per_concept}, expected 1 to {MAX_NAMES // 2}")
    rng = np.random.default_rng(seed)
    size = int(WORD_STEP * (concepts * names_per_concept) ** 0.5) + 1000
    words = words_for(size, rng, seeds_from)
    links = np.random.default_rng([seed, 1])  # a stream of its own: links change no name
    retired = concepts
    shared = ["Finding", "Mass", "Cold"]  # names that homonyms take: a few recent ones
    for start in range(0, concepts, BLOCK):
        block = _Block(start, min(BLOCK, concepts - start), names_per_concept, words, rng)
        block.draw_xrefs(concepts, links)
        for place in range(block.size):
            concept = block.concept(place, shared)
            yield concept
            if block.retires[place]:
                retired += 1
                yield Concept(_id(retired), replaced_by=concept.id)


def _id(number: int) -> str:
    return f"{PREFIX}:C{number:07d}"


class _Block:
    """The random numbers of some thousand concepts, drawn at once; everything but the texts is decided here."""

    def __init__(self, start: int, size: int, mean: float, words: Words, rng: np.random.Generator) -> None:
        self.start, self.size = start, size
        counts = np.minimum(1 + rng.poisson(mean - 1, size), MAX_NAMES)
        self.names_from = [0, *np.cumsum(counts).tolist()]
        total = self.names_from[-1]
        self._draw_words(total, words, rng)
        self.kinds = rng.integers(0, 5, total).tolist()
        self.related = (rng.random(total) < RELATED).tolist()
        self.sources = np.minimum(rng.geometric(0.4, total) - 1, len(SOURCES) - 1).tolist()
        self.homonyms = (rng.random(size) < HOMONYMS).tolist()
        self.retires = (rng.random(size) < RETIRED).tolist()
        self.types = np.minimum(rng.geometric(0.16, (size, 2)) - 1, len(TYPES) - 1).tolist()
        self.second = (rng.random(size) < SECOND_TYPE).tolist()
        self.parent_counts = (1 + np.searchsorted(PARENTS, rng.random(size))).tolist()
        numbers = np.arange(start, start + size)
        self.parents = (rng.random((3, size)) * numbers).astype(np.int64).T.tolist()
        self._draw_definitions(words, rng)

    def _draw_words(self, total: int, words: Words, rng: np.random.Generator) -> None:
        lengths = rng.choice(len(LENGTHS), total, p=LENGTHS) + 1
        ends = np.cumsum(lengths)
        drawn = _zipf(words, int(ends[-1]), rng)
        # one word of each name is as rare as any: real names are told apart by such a word
        places = ends - lengths + (rng.random(total) * lengths).astype(np.int64)
        drawn[places] = rng.integers(len(words.words), size=total)
        self.tokens: list[str] = list(map(words.words.__getitem__, drawn.tolist()))
        self.word_ends = [0, *ends.tolist()]
        single = np.flatnonzero(lengths == 1)
        parts = (words.heads, words.middles, words.middles, words.tails)
        columns = [rng.integers(len(part), size=len(single)).tolist() for part in parts]
        for name, a, b, c, d in zip(single.tolist(), *columns, strict=True):
            self.tokens[self.word_ends[name]] = f"{parts[0][a]}{parts[1][b]}o{parts[2][c]}{parts[3][d]}"

    def _draw_definitions(self, words: Words, rng: np.random.Generator) -> None:
        defined = np.flatnonzero(rng.random(self.size) < DEFINED).tolist()
        lengths = rng.integers(8, 30, len(defined)).tolist()
        tokens = list(map(words.words.__getitem__, _zipf(words, sum(lengths), rng).tolist()))
        ends = [0, *accumulate(lengths)]
        self.definitions = {
            place: " ".join(tokens[ends[i] : ends[i + 1]]).capitalize() + "." for i, place in enumerate(defined)
        }

    def draw_xrefs(self, concepts: int, rng: np.random.Generator) -> None:
        """Draw cross-references whose numbers are those of about as many entries as there are `concepts`."""
        counts = np.searchsorted(XREFS, rng.random(self.size)).tolist()
        prefixes = rng.integers(len(XREF_PREFIXES), size=(self.size, 2)).tolist()
        numbers = rng.integers(1, concepts + 1, size=(self.size, 2)).tolist()
        self.xrefs = [
            tuple(dict.fromkeys(f"{XREF_PREFIXES[p]}:{n}" for p, n in zip(ps[:count], ns, strict=False)))
            for count, ps, ns in zip(counts, prefixes, numbers, strict=True)
        ]

    def concept(self, place: int, shared: list[str]) -> Concept:
        number = self.start + place
        types = [TYPES[self.types[place][0]][2]]
        if self.second[place] and self.types[place][1] != self.types[place][0]:
            types.append(TYPES[self.types[place][1]][2])
        parents = dict.fromkeys(self.parents[place][: self.parent_counts[place]]) if number else {}
        return Concept(
            _id(number + 1),
            self._names(place, shared),
            tuple(types),
            self.definitions.get(place, ""),
            tuple([_id(parent + 1) for parent in parents]),
            self.xrefs[place],
        )

    def _names(self, place: int, shared: list[str]) -> tuple[Name, ...]:
        first, end = self.names_from[place], self.names_from[place + 1]
        preferred = self.tokens[self.word_ends[first] : self.word_ends[first + 1]]
        text = " ".join(preferred).capitalize()
        names = {text.lower(): Name(text, source=SOURCES[self.sources[first]])}
        for name in range(first + 1, end):
            text = self._synonym(name, preferred)
            key = text.lower()
            if key not in names:
                names[key] = Name(text, "related" if self.related[name] else "exact", "en", SOURCES[self.sources[name]])
        if self.homonyms[place]:
            text = shared[place % len(shared)]
            names.setdefault(text.lower(), Name(text, source=SOURCES[0]))
            shared[place % len(shared)] = names[next(iter(names))].text
        return tuple(names.values())

    def _synonym(self, name: int, preferred: list[str]) -> str:
        """Return a name that shares words with the preferred one in three cases of five."""
        own = self.tokens[self.word_ends[name] : self.word_ends[name + 1]]
        kind = self.kinds[name]
        if kind == 0 and len(preferred) > 1:
            return f"{preferred[-1].capitalize()}, {' '.join(preferred[:-1])}"
        if kind == 1 and len(preferred) > 1:
            return " ".join([*own[:1], *preferred[1:]]).capitalize()
        if kind == 2:
            return " ".join([*preferred, *own[:1]]).capitalize()
        return " ".join(own).capitalize()


def _zipf(words: Words, size: int, rng: np.random.Generator) -> Any:
    return np.minimum(np.searchsorted(words.cumulative, rng.random(size)), len(words.words) - 1)
