"""Concept search while annotating: tiers from what is surely meant to what may be, each concept in its first one.

Tiers in order: id, exact name, used here, beginning of a name, all words, similar in character n-grams, by meaning, any
word. Those of names are the knowledge base's (`linnet.kb.search`). Within a tier concepts of the types that are
expected come first. The last three are *late*: without them, the list is the beginning of the whole one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from linnet.annotate.uses import Use
from linnet.data import Concept
from linnet.errors import UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.retrieve.ngram_index import NgramIndex
from linnet.text.normalise import basic

__all__ = ["LATE", "TIERS", "Hit", "Search", "Sources", "search"]

ID, EXACT, USED, PREFIX, ALL_WORDS = "id", "exact", "used here", "prefix", "all words"
SIMILAR, MEANING, ANY_WORD = "similar", "by meaning", "any word"
TIERS = (ID, EXACT, USED, PREFIX, ALL_WORDS, SIMILAR, MEANING, ANY_WORD)
LATE = (SIMILAR, MEANING, ANY_WORD)
SHORTEST = 3  # letters of what similar names are looked up for
LIKE = 0.4  # cosine that a similar name reaches: names below have a syllable in common
POOL = 100  # similar concepts that are looked through for those that pass a filter
NAMES_KEPT = 1 << 14  # concepts whose names are kept in their normalised form

Nearest: TypeAlias = Callable[[str, int], Iterable[tuple[int, int]]]  # text, count -> rows of concepts and of names


class Hit(NamedTuple):
    """A concept that was found, and how often it is used in the project.

    ``row`` is None for one that the project has beyond its knowledge base.
    """

    row: int | None
    id: str
    name: str
    matched: str
    tier: str
    types: tuple[str, ...]
    used: int = 0


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is looked for.

    Args:
        text: what a person has typed.
        types: only concepts of one of these types.
        under: only these concepts and what is below them.
        first: types that are expected: their concepts come first in each tier.
        limit: how many at most.
        late: whether to look in the late tiers too.
    """

    text: str
    types: Sequence[str] = ()
    under: Sequence[str] = ()
    first: Sequence[str] = ()
    limit: int = 20
    late: bool = True

    @functools.cached_property
    def norm(self) -> str:
        """The text as names are compared."""
        return basic(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What there is to search beside the names of the knowledge base.

    Args:
        uses: of concepts in the project, as `linnet.annotate.uses.Uses.count` gives them.
        new: concepts that the project has beyond its knowledge base.
        similar: the index of names by n-grams.
        nearest: finds the concepts with the names nearest in meaning.
    """

    uses: Mapping[Use, int] = field(default_factory=dict)
    new: Sequence[Concept] = ()
    similar: NgramIndex | None = None
    nearest: Nearest | None = None


def search(kb: KnowledgeBase, wanted: Search, sources: Sources) -> list[Hit]:
    """Return concepts for what a person types, best first.

    Raises:
        KnowledgeBaseError: a type that there is not.
        UnknownConceptError: no concept to search below.
    """
    uses = _grouped(kb, sources.uses)
    early = [*_by_name(kb, wanted), *_new(kb, wanted, sources.new), *_used(kb, wanted, uses)]
    # the order within a tier is that of its source, but for the types that are expected
    early.sort(key=lambda hit: (TIERS.index(hit.tier), not _expected(wanted, hit.types)))
    found: dict[str, Hit] = {}
    for tier in TIERS:
        if len(found) >= wanted.limit or (tier in LATE and not wanted.late):
            break
        for hit in _late(kb, wanted, sources, tier) or (hit for hit in early if hit.tier == tier):
            found.setdefault(hit.id, hit)
    counts = {id: one.count for id, one in uses.items()}
    return [hit._replace(used=counts.get(hit.id, 0)) for hit in list(found.values())[: wanted.limit]]


# --- the names of the knowledge base ---------------------------------------------------------------------------------


def _by_name(kb: KnowledgeBase, wanted: Search) -> Iterator[Hit]:
    """Yield what the knowledge base finds, of each tier those of the expected types first."""
    expected = [type for type in wanted.first if not wanted.types or type in wanted.types]
    for types in ([expected] if expected else []) + [list(wanted.types)]:
        for hit in kb.search(wanted.text, types=types, under=wanted.under, limit=wanted.limit):
            yield Hit(hit.row, hit.id, hit.name, hit.matched, hit.tier, kb.types_of(hit.row))


def _passes(kb: KnowledgeBase, wanted: Search, row: int, types: Sequence[str]) -> bool:
    """Return whether a concept passes the filters."""
    if wanted.types and set(types).isdisjoint(wanted.types):
        return False
    roots = {kb.row(id) for id in wanted.under}
    return not roots or row in roots or not roots.isdisjoint(kb.ancestors(row).tolist())


def _expected(wanted: Search, types: Sequence[str]) -> bool:
    return not set(types).isdisjoint(wanted.first)


def _match(wanted: Search, norm: str) -> str | None:
    """Return the tier in which a normalised name matches the text, None if it does not.

    >>> [_match(Search(text="heart att"), name) for name in ("heart att", "heart attack", "attack of heart", "heart")]
    ['exact', 'prefix', 'all words', None]
    """
    if not wanted.norm:
        return None
    if norm == wanted.norm:
        return EXACT
    if norm.startswith(wanted.norm):
        return PREFIX
    padded = f" {norm}"
    return ALL_WORDS if all(f" {word}" in padded for word in wanted.norm.split()) else None


# --- what the project adds -------------------------------------------------------------------------------------------


class _Names(NamedTuple):
    """A concept with its names, normalised and as they are; ``begun`` are all of the former, a blank before each."""

    row: int
    id: str
    name: str
    types: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    begun: str


@functools.lru_cache(NAMES_KEPT)
def _names(kb: KnowledgeBase, id: str) -> _Names | None:
    """Return the live concept that an id means, None if there is none."""
    try:
        row = kb.row(id)
    except UnknownConceptError:
        return None
    concept = kb[row]
    names = tuple((basic(name.text), name.text) for name in concept.names)
    begun = "".join(f" {norm}" for norm, _ in names)
    return _Names(row, concept.id, concept.name, concept.types, names, begun)


@dataclass(slots=True)
class _Used:
    """A concept in use: how often, for which words, and its names if the knowledge base has it."""

    known: _Names | None
    count: int = 0
    words: set[str] = field(default_factory=set)


def _grouped(kb: KnowledgeBase, uses: Mapping[Use, int]) -> dict[str, _Used]:
    """Return the concepts in use by id; those that were retired count for their successors."""
    found: dict[str, _Used] = {}
    for use, count in uses.items():
        known = _names(kb, use.concept)
        one = found.setdefault(use.concept if known is None else known.id, _Used(known))
        one.count += count
        one.words |= {use.words} - {""}
    return found


def _used(kb: KnowledgeBase, wanted: Search, uses: Mapping[str, _Used]) -> list[Hit]:
    """Return the concepts that are in use and match by a name or by words they were chosen for; most used first."""
    begun = [f" {word}" for word in wanted.norm.split()]
    hits: list[tuple[int, Hit]] = []
    for one in uses.values():
        known = one.known
        if known is None:
            continue
        there = known.begun + "".join(f" {words}" for words in one.words)
        if not all(word in there for word in begun):
            continue  # next to all: the names of all that are used take long to look at one by one
        if (text := _best(wanted, (*known.names, *((words, words) for words in one.words)))) is None:
            continue
        if _passes(kb, wanted, known.row, known.types):
            hits.append((one.count, Hit(known.row, known.id, known.name, text, USED, known.types)))
    hits.sort(key=lambda pair: (-pair[0], len(pair[1].matched), pair[1].id))
    return [hit for _, hit in hits]


def _best(wanted: Search, names: Iterable[tuple[str, str]]) -> str | None:
    """Return the name, given with its normalised form, that matches best, None if none does."""
    found = [(TIERS.index(tier), len(text), text) for norm, text in names if (tier := _match(wanted, norm)) is not None]
    return min(found)[2] if found else None


def _new(kb: KnowledgeBase, wanted: Search, new: Sequence[Concept]) -> Iterator[Hit]:
    """Yield the project's own concepts that match, in the order of their numbers."""
    for concept in new:
        if concept.replaced_by is not None:
            continue
        same = concept.id.casefold() == wanted.text.strip().casefold()
        tier = ID if same else _match(wanted, basic(concept.name))
        if tier is not None and _new_passes(kb, wanted, concept):
            yield Hit(None, concept.id, concept.name, concept.name, tier, concept.types)


def _new_passes(kb: KnowledgeBase, wanted: Search, concept: Concept) -> bool:
    """Return whether one of the project's own concepts passes the filters: it is where its parent is."""
    if wanted.types and set(concept.types).isdisjoint(wanted.types):
        return False
    above = [known.row for id in concept.parents if (known := _names(kb, id)) is not None]
    below = Search(text="", under=wanted.under)
    return not wanted.under or any(_passes(kb, below, row, ()) for row in above)


# --- late tiers ------------------------------------------------------------------------------------------------------


def _late(kb: KnowledgeBase, wanted: Search, sources: Sources, tier: str) -> list[Hit]:
    """Return what is found by similarity, if that is what the tier is and there is something to find it with."""
    # filters leave some out
    count = max(POOL, wanted.limit) if wanted.types or wanted.under else wanted.limit
    found: Iterable[tuple[int, int]] = ()
    if tier == SIMILAR and sources.similar is not None and len(wanted.norm) >= SHORTEST:
        rows, scores, names = sources.similar.search(wanted.text, count)
        alike = scores >= LIKE
        found = zip(rows[alike].tolist(), names[alike].tolist(), strict=True)
    elif tier == MEANING and sources.nearest is not None:
        found = sources.nearest(wanted.text, count)
    hits: list[Hit] = []
    for row, name in found:
        concept = kb[row]
        if _passes(kb, wanted, row, concept.types):
            hits.append(Hit(row, concept.id, concept.name, kb.name(name).text, tier, concept.types))
        if len(hits) >= wanted.limit:
            break
    return sorted(hits, key=lambda hit: not _expected(wanted, hit.types))
