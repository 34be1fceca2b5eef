"""A terminology made of an annotated corpus: its labels as concepts, their surface forms as names.

For systems without a terminology, and for ids that a terminology lacks. What people annotated counts, predictions do
not. A mention of one concept gives it a name; so does each conjunct of a composite mention where the corpus states
them (``meta["conjuncts"]``). The whole surface of a composite mention names none of its concepts exactly: it becomes
a related name, and only of concepts that have no other. Held are the concepts and their distinct surface forms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from linnet.data import Concept, Document, Mention, Name, Scope
from linnet.errors import LinnetError

__all__ = ["read_corpus_concepts"]


@dataclass(slots=True)
class _Seen:
    """What the corpus says of one concept; counters keep the order of first sight."""

    origin: str
    exact: Counter[str] = field(default_factory=Counter)
    related: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    typed: int = 0  # mentions that have types


def read_corpus_concepts(docs: Iterable[Document], *, min_count: int = 1) -> Iterator[Concept]:
    """Yield the concepts that people annotated, in the order of their first mention.

    Names are surface forms, the most frequent first (ties: the first seen), blanks run together, case kept. Types are
    those that more than half of a concept's mentions have, else the most frequent. ``origin`` is the document and
    offset of the first mention.

    Args:
        docs: the corpus; read once.
        min_count: leave out surface forms seen less often, except a concept's most frequent one.

    Raises:
        LinnetError: `min_count` is less than 1, no mention in `docs` has a concept, or one without an id.

    >>> doc = Document("d1", "Fits. No fits.", mentions=(
    ...     Mention(0, 4, source="gold", types=("Phenotype",), concepts=("HP:0001250",)),
    ...     Mention(9, 13, source="gold", types=("Phenotype",), concepts=("HP:0001250",)),
    ... ))
    >>> [concept] = read_corpus_concepts([doc])
    >>> [name.text for name in concept.names], concept.types
    (['Fits', 'fits'], ('Phenotype',))
    """
    if min_count < 1:
        raise LinnetError(f"min_count is {min_count}, expected 1 or more")
    found: dict[str, _Seen] = {}
    for doc in docs:
        for mention in doc.mentions or ():
            if mention.source != "pred":
                _add(doc, mention, found)
    if not found:
        raise LinnetError("no mention in these documents has a concept: give documents with gold annotations")
    for id, seen in found.items():
        yield Concept(id, _names(seen, min_count), _types(seen), origin=seen.origin)


def _add(doc: Document, mention: Mention, found: dict[str, _Seen]) -> None:
    surface = " ".join(doc.surface(mention).split())
    for answer in (mention.concepts or (), *mention.alternatives):
        surfaces = _surfaces(mention, answer, surface)
        for id, (text, scope) in zip(answer, surfaces, strict=True):
            if not id.strip():
                raise LinnetError(f"document {doc.id!r}, mention {mention.start}-{mention.end}: a concept without id")
            seen = found.setdefault(id, _Seen(f"{doc.id}:{mention.start}"))
            (seen.exact if scope == "exact" else seen.related)[text or id] += 1
            seen.types.update(mention.types)
            seen.typed += bool(mention.types)


def _surfaces(mention: Mention, answer: tuple[str, ...], surface: str) -> list[tuple[str, Scope]]:
    """Return what names each concept of one answer, and how well."""
    if len(answer) == 1:
        return [(surface, "exact")]
    stated = mention.meta.get("conjuncts")
    conjuncts = [" ".join(text.split()) for text in stated.split("|")] if isinstance(stated, str) else []
    if len(conjuncts) == len(answer) and all(conjuncts):
        return [(text, "exact") for text in conjuncts]
    return [(surface, "related")] * len(answer)


def _names(seen: _Seen, min_count: int) -> tuple[Name, ...]:
    scope: Scope = "exact" if seen.exact else "related"
    counts = (seen.exact or seen.related).most_common()
    return tuple(Name(text, scope) for at, (text, count) in enumerate(counts) if at == 0 or count >= min_count)


def _types(seen: _Seen) -> tuple[str, ...]:
    counts = seen.types.most_common()
    return tuple(kind for at, (kind, count) in enumerate(counts) if at == 0 or 2 * count > seen.typed)
