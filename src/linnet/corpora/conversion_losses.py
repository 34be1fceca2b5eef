"""What a format cannot hold, by kind, so that a conversion names what it drops instead of dropping it silently.

`KINDS` are the things a document can have beyond id and text. Each format says which of them it `holds`
(`linnet.corpora.FORMATS`); `kept` is the document as that format can hold it, `lost` counts the difference. Writers are
given `kept` documents by `linnet corpus convert`, so what is read back is exactly what was announced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from linnet.corpora.plain_text import BREAKS
from linnet.corpora.relations import are_relations, bare, pairs, relations
from linnet.corpora.said import is_denied
from linnet.data import DENIED, Document, Mention, Passage, by_position

__all__ = ["CARRIED", "KINDS", "fitted", "kept", "lost", "present"]

OTHERS = "relations other than of two concepts"
BARE = "ids, roles and meta of relations"
AS_WRITTEN = "conjuncts and ids as written"
DENIALS = "what relatives do not have"
# How a corpus writes several ids of one mention (`linnet.corpora.ids`): more than our record of them needs.
SPELLINGS = frozenset({"conjuncts", "separator", "ids"})


def _mentions(test: Callable[[Mention], Any]) -> Callable[[Document], int]:
    return lambda doc: sum(bool(test(mention)) for mention in doc.mentions or ())


def _entries(listed: Sequence[Any] | None) -> int:
    """Return how many entries a list has; that somebody looked and found none is one thing to lose, too."""
    return 0 if listed is None else max(len(listed), 1)


def _is_relations(doc: Document, key: str) -> bool:
    return key == "relations" and are_relations(doc.meta[key])


def _overlapping(doc: Document) -> int:
    return len(doc.mentions or ()) - len(list(_outermost(doc.mentions or ())))


KINDS: Mapping[str, Callable[[Document], int]] = {
    "texts": lambda doc: int(bool(doc.text)),
    "documents without mentions": lambda doc: int(not doc.mentions),
    "documents not looked at": lambda doc: int(doc.mentions is None),
    "passages": lambda doc: len(doc.passages),
    "passage meta": lambda doc: sum(bool(passage.meta) for passage in doc.passages),
    "sentences": lambda doc: _entries(doc.sentences),
    "abbreviations": lambda doc: _entries(doc.abbreviations),
    "reviewed spans": lambda doc: _entries(doc.reviewed),
    "document meta": lambda doc: len([key for key in doc.meta if not _is_relations(doc, key)]),
    "relations": lambda doc: len(relations(doc)),
    OTHERS: lambda doc: len(relations(doc)) - len(pairs(doc)),
    BARE: lambda doc: sum(bare(relation) != relation for relation in relations(doc)),
    "line breaks": lambda doc: doc.text.count("\n") + doc.text.count("\r"),
    "mentions": lambda doc: len(doc.mentions or ()),
    "overlapping mentions": _overlapping,
    "discontinuous mentions": _mentions(lambda mention: mention.parts),
    "mention ids": _mentions(lambda mention: mention.id),
    "types": _mentions(lambda mention: mention.types),
    "several types": _mentions(lambda mention: len(mention.types) > 1),
    "concepts": _mentions(lambda mention: mention.concepts),
    "several concepts": _mentions(lambda mention: len(mention.concepts or ()) > 1),
    "NIL mentions": _mentions(lambda mention: mention.concepts == ()),
    "mentions not linked": _mentions(lambda mention: mention.concepts is None),
    "alternatives": _mentions(lambda mention: mention.alternatives),
    "sources other than gold": _mentions(lambda mention: mention.source != "gold"),
    "candidates": _mentions(lambda mention: mention.candidates is not None),
    "probabilities": _mentions(lambda mention: mention.probability is not None or mention.calibration),
    "signals": _mentions(lambda mention: mention.signals),
    "groups": _mentions(lambda mention: mention.group),
    "terminologies": _mentions(lambda mention: mention.terminology),
    "assertions": _mentions(lambda mention: mention.assertion),
    DENIALS: _mentions(is_denied),
    AS_WRITTEN: _mentions(lambda mention: mention.meta.keys() & SPELLINGS),
    "mention meta": _mentions(lambda mention: any(_meta_kind(mention, key) == "mention meta" for key in mention.meta)),
}
CARRIED = ("line breaks", "passages")  # what a format with ``carry`` holds in part; `fitted` counts the rest


def present(doc: Document) -> Counter[str]:
    """Return how often a document has each kind of thing.

    >>> sorted(present(Document("d", "fits", mentions=(Mention(0, 4, types=("D",)),))).items())
    [('mentions', 1), ('mentions not linked', 1), ('sources other than gold', 1), ('texts', 1), ('types', 1)]
    """
    return Counter({kind: count for kind, counter in KINDS.items() if (count := counter(doc))})


def lost(doc: Document, holds: frozenset[str]) -> Counter[str]:
    """Return how many things of each kind a format that holds `holds` drops from a document."""
    out = holds if "relations" in holds else holds | {OTHERS, BARE}  # what is said of them, where all are lost
    return Counter({kind: count for kind, count in present(doc).items() if kind not in out})


def _outermost(mentions: tuple[Mention, ...]) -> Iterator[Mention]:
    """Yield mentions in reading order, without those that overlap an earlier or longer one."""
    end = 0
    for mention in by_position(mentions):
        if mention.start >= end:
            end = mention.end
            yield mention


def kept(doc: Document, holds: frozenset[str]) -> Document:
    """Return `doc` as a format that holds `holds` can hold it.

    Mentions of a kind that has no place are left out; a discontinuous one becomes its hull, one with several concepts
    becomes several mentions, of several types the first is kept, line breaks become blanks.

    >>> doc = Document("d", "fits", mentions=(Mention(0, 4, concepts=("A", "B"), source="gold"),))
    >>> holds = frozenset({"mentions", "concepts", "overlapping mentions"})
    >>> [mention.concepts for mention in kept(doc, holds).mentions]
    [('A',), ('B',)]
    """
    return _held(doc, holds) if lost(doc, holds) else doc


def _held(doc: Document, holds: frozenset[str]) -> Document:
    passages = doc.passages if "passages" in holds else ()
    return replace(
        doc,
        text=doc.text if "line breaks" in holds else doc.text.translate(BREAKS),
        passages=passages if "passage meta" in holds else tuple(Passage(p.start, p.end, p.kind) for p in passages),
        sentences=doc.sentences if "sentences" in holds else None,
        abbreviations=doc.abbreviations if "abbreviations" in holds else None,
        reviewed=doc.reviewed if "reviewed spans" in holds else None,
        meta=_kept_meta(doc, holds),
        mentions=_kept_mentions(doc, holds),
    )


def fitted(
    doc: Document, holds: frozenset[str], *, carry: Callable[[Document], Document] | None = None
) -> tuple[Document, Counter[str]]:
    """Return `doc` as a format can hold it, and how much of each kind it drops.

    Args:
        doc: the document.
        holds: the kinds of things that the format has a place for.
        carry: gives a document the text, passages, meta and mentions that are written, where the format holds not all.
    """
    dropped = lost(doc, holds)
    whole = _held(doc, holds) if dropped else doc
    if carry is None:
        return whole, dropped
    carried = carry(whole)
    pairs = zip_longest(whole.text, carried.text) if whole.text != carried.text else ()
    other = Counter(before for before, after in pairs if before != after)
    breaks = other["\n"] + other["\r"]
    dropped["line breaks"] += breaks
    dropped["characters"] += other.total() - breaks
    dropped["passages"] += sum(passage not in carried.passages for passage in whole.passages)
    dropped["document meta"] += len(whole.meta.keys() - carried.meta.keys())
    dropped["mentions"] += len(whole.mentions or ()) - len(carried.mentions or ())
    if not dropped["mentions"]:
        both = zip(whole.mentions or (), carried.mentions or (), strict=True)
        dropped["types"] += sum(before.types != after.types for before, after in both)
    return carried, +dropped


def _kept_meta(doc: Document, holds: frozenset[str]) -> dict[str, Any]:
    meta = {
        key: value
        for key, value in doc.meta.items()
        if ("relations" if _is_relations(doc, key) else "document meta") in holds
    }
    if "relations" in holds and are_relations(meta.get("relations", ())) and relations(doc):
        meta.pop("relations", None)
        if found := _kept_relations(doc, holds):
            meta["relations"] = found
    return meta


def _kept_relations(doc: Document, holds: frozenset[str]) -> tuple[Any, ...]:
    found = relations(doc) if OTHERS in holds else pairs(doc)
    return tuple(found if BARE in holds else map(bare, found))


def _kept_mentions(doc: Document, holds: frozenset[str]) -> tuple[Mention, ...] | None:
    if doc.mentions is None or "mentions" not in holds:
        return None if doc.mentions is None and "documents not looked at" in holds else ()
    mentions = [small for mention in doc.mentions if _fits(mention, holds) for small in _split(mention, holds)]
    reduced = tuple(_reduce(mention, holds) for mention in mentions)
    return reduced if "overlapping mentions" in holds else tuple(_outermost(reduced))


def _fits(mention: Mention, holds: frozenset[str]) -> bool:
    if mention.concepts is None:
        return "mentions not linked" in holds
    return bool(mention.concepts) or "NIL mentions" in holds


def _split(mention: Mention, holds: frozenset[str]) -> list[Mention]:
    if "several concepts" in holds or len(mention.concepts or ()) < 2:
        return [mention]
    return [replace(mention, concepts=(id,)) for id in mention.concepts or ()]


def _reduce(mention: Mention, holds: frozenset[str]) -> Mention:
    """Return a mention without the fields that have no place."""
    empty: dict[str, dict[str, Any]] = {
        "discontinuous mentions": {"parts": ()},
        "mention ids": {"id": ""},
        "several types": {"types": mention.types[:1]},
        "types": {"types": ()},
        "concepts": {"concepts": None},
        "alternatives": {"alternatives": ()},
        "sources other than gold": {"source": "gold"},
        "candidates": {"candidates": None},
        "probabilities": {"probability": None, "calibration": ""},
        "signals": {"signals": {}},
        "groups": {"group": ""},
        "terminologies": {"terminology": ""},
        "assertions": {"assertion": ""},
    }
    out = holds if "assertions" in holds else holds - {DENIALS}  # which is a word more to one of them
    changes: dict[str, Any] = {}
    for kind, fields in empty.items():
        if kind not in holds:
            changes |= fields
    if mention.meta:
        changes["meta"] = {key: value for key, value in mention.meta.items() if _meta_kind(mention, key) in out}
    return replace(mention, **changes) if changes else mention


def _meta_kind(mention: Mention, key: str) -> str:
    if key == DENIED and is_denied(mention):
        return DENIALS
    return AS_WRITTEN if key in SPELLINGS else "mention meta"
