"""What is in a corpus: counts, coverage by a knowledge base, overlap with another split, and what looks wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from linnet.data import Document, Mention, Span
from linnet.kb import KnowledgeBase
from linnet.text.normalise import basic, one_line
from linnet.text.sentences import split_sentences

__all__ = ["Problem", "Seen", "Stats", "check", "describe", "seen"]


@dataclass
class Stats:
    """Counts of a corpus. Mentions, unless said otherwise; ``concepts`` are distinct ids, ``types`` mentions by type.

    ``unannotated`` are documents in which nobody has looked for mentions.
    ``nested`` lie inside another mention, ``overlapping`` share text with one while neither lies inside the other;
    ``covered`` have all their concepts in the knowledge base, ``covered_concepts`` counts ids. ``seen_mentions`` have a
    surface that the other split has, ``seen_concepts`` only concepts that it has, ``zero_shot`` one that it lacks.
    """

    documents: int = 0
    unannotated: int = 0
    characters: int = 0
    passages: int = 0
    sentences: int = 0
    mentions: int = 0
    nested: int = 0
    overlapping: int = 0
    discontinuous: int = 0
    composite: int = 0
    nil: int = 0
    not_linked: int = 0
    covered: int | None = None
    covered_concepts: int | None = None
    seen_mentions: int | None = None
    seen_concepts: int | None = None
    zero_shot: int | None = None
    concepts: set[str] = field(default_factory=set)
    types: Counter[str] = field(default_factory=Counter)


class Seen(NamedTuple):
    """What another split has: normalised surfaces and concept ids."""

    surfaces: frozenset[str]
    concepts: frozenset[str]


def seen(docs: Iterable[Document]) -> Seen:
    """Return surfaces (`linnet.text.normalise.basic`) and concepts of a split."""
    surfaces: set[str] = set()
    concepts: set[str] = set()
    for doc in docs:
        for mention in doc.mentions or ():
            surfaces.add(basic(doc.surface(mention)))
            concepts.update(mention.concepts or ())
    return Seen(frozenset(surfaces), frozenset(concepts))


def describe(docs: Iterable[Document], *, kb: KnowledgeBase | None = None, other: Seen | None = None) -> Stats:
    """Count what documents hold, reading them once.

    Args:
        docs: the corpus.
        kb: counts the mentions and concepts that it covers; retired ids count as covered by their successors.
        other: another split, for what was seen there.

    >>> describe([Document("d", "A. B.", mentions=(Mention(0, 1, concepts=()),))]).nil
    1
    """
    stats = Stats()
    known: dict[str, bool] = {}
    if kb is not None:
        stats.covered = 0
    if other is not None:
        stats.seen_mentions = stats.seen_concepts = stats.zero_shot = 0
    for doc in docs:
        _count_document(doc, stats)
        for mention in doc.mentions or ():
            _count_mention(mention, stats)
            if kb is not None and mention.concepts:
                stats.covered = (stats.covered or 0) + _covers(kb, mention.concepts, known)
            if other is not None:
                _compare(doc, mention, stats, other)
    if kb is not None:
        stats.covered_concepts = sum(known.get(id, False) for id in stats.concepts)
    return stats


def _count_document(doc: Document, stats: Stats) -> None:
    stats.documents += 1
    stats.unannotated += doc.mentions is None
    stats.characters += len(doc.text)
    stats.passages += len(doc.passages)
    stats.sentences += len(doc.sentences if doc.sentences is not None else split_sentences(doc.text))
    inside, crossing = _overlaps({mention.span for mention in doc.mentions or ()})
    stats.nested += sum(mention.span in inside for mention in doc.mentions or ())
    stats.overlapping += sum(mention.span in crossing for mention in doc.mentions or ())


def _overlaps(spans: set[Span]) -> tuple[set[Span], set[Span]]:
    """Return the spans that lie inside another one, and those that share text with one while neither lies inside."""
    inside: set[Span] = set()
    crossing: set[Span] = set()
    open_spans: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        open_spans = [other for other in open_spans if other.end > span.start]
        for other in open_spans:
            if other.end >= span.end:
                inside.add(span)
            elif other.start < span.start:
                crossing |= {span, other}
        open_spans.append(span)
    return inside, crossing


def _count_mention(mention: Mention, stats: Stats) -> None:
    stats.mentions += 1
    stats.discontinuous += bool(mention.parts)
    stats.composite += len(mention.concepts or ()) > 1
    stats.nil += mention.concepts == ()
    stats.not_linked += mention.concepts is None
    stats.concepts.update(mention.concepts or ())
    stats.types.update(mention.types)


def _covers(kb: KnowledgeBase, concepts: Iterable[str], known: dict[str, bool]) -> bool:
    for id in concepts:
        if id not in known:
            known[id] = id in kb
    return all(known[id] for id in concepts)


def _compare(doc: Document, mention: Mention, stats: Stats, other: Seen) -> None:
    stats.seen_mentions = (stats.seen_mentions or 0) + (basic(doc.surface(mention)) in other.surfaces)
    if mention.concepts:
        all_seen = all(id in other.concepts for id in mention.concepts)
        stats.seen_concepts = (stats.seen_concepts or 0) + all_seen
        stats.zero_shot = (stats.zero_shot or 0) + (not all_seen)


# --- what looks wrong ------------------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """Something that looks wrong: its kind, the document, and what exactly."""

    kind: str
    document: str
    what: str


def check(docs: Iterable[Document], *, kb: KnowledgeBase | None = None) -> Iterator[Problem]:
    """Yield what looks wrong in documents that could be read: duplicates, odd borders, ids the knowledge base lacks.

    Documents without annotations are told last, and only where others have some.
    """
    met: set[str] = set()
    unannotated: dict[str, None] = {}
    texts: dict[str, str] = {}
    for doc in docs:
        if doc.id in met:
            yield Problem("duplicate document", doc.id, "its id stands twice")
        met.add(doc.id)
        text = one_line(doc.text)
        if text and (first := texts.setdefault(text, doc.id)) != doc.id:
            yield Problem("duplicate text", doc.id, f"has the text of {first!r}, blanks and line ends aside")
        if not text:
            yield Problem("empty text", doc.id, "has no text")
        if doc.mentions is None:
            unannotated[doc.id] = None
        yield from _check_mentions(doc, kb)
    if unannotated.keys() != met:
        for id in unannotated:
            yield Problem("not annotated", id, "nobody has looked for mentions: an empty .ann says that there are none")


def _check_mentions(doc: Document, kb: KnowledgeBase | None) -> Iterator[Problem]:
    twice = Counter((mention.spans, mention.types, mention.concepts) for mention in doc.mentions or ())
    for mention in doc.mentions or ():
        where = f"{mention.start}-{mention.end} {doc.surface(mention)!r:.60}"
        if twice.pop((mention.spans, mention.types, mention.concepts), 1) > 1:
            yield Problem("duplicate mention", doc.id, where)
        surface = doc.text[mention.start : mention.end]
        if surface != surface.strip():
            yield Problem("blank at the border", doc.id, where)
        elif _cuts_word(doc.text, mention.span):
            yield Problem("border inside a word", doc.id, where)
        for id in mention.concepts or ():
            if kb is not None and id not in kb:
                yield Problem("unknown concept", doc.id, f"{where}: {id}")


def _cuts_word(text: str, span: Span) -> bool:
    before = text[span.start - 1 : span.start + 1] if span.start else ""
    after = text[span.end - 1 : span.end + 1]
    return any(len(pair) == 2 and pair.isalnum() for pair in (before, after))
