"""What a format cannot hold, by kind, so that a conversion names what it drops instead of dropping it silently.

`KINDS` are the things a document can have beyond id and text. Each format says which of them it `holds`
(`linnet.corpora.FORMATS`); `kept` is the document as that format can hold it, `lost` counts the difference. Writers are
given `kept` documents by `linnet corpus convert`, so what is read back is exactly what was announced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from linnet.data import Document, Mention, Passage, by_position

__all__ = ["ALL", "KINDS", "kept", "lost", "present"]


# How a corpus writes several ids of one mention (`linnet.corpora.ids`): more than our record of them needs.
SPELLINGS = frozenset({"conjuncts", "separator", "ids"})


def _mentions(test: Callable[[Mention], Any]) -> Callable[[Document], int]:
    return lambda doc: sum(bool(test(mention)) for mention in doc.mentions or ())


def _overlapping(doc: Document) -> int:
    return len(doc.mentions or ()) - len(list(_outermost(doc.mentions or ())))


KINDS: Mapping[str, Callable[[Document], int]] = {
    "texts": lambda doc: int(bool(doc.text)),
    "documents without mentions": lambda doc: int(not doc.mentions),
    "documents not looked at": lambda doc: int(doc.mentions is None),
    "passages": lambda doc: len(doc.passages),
    "passage meta": lambda doc: sum(bool(passage.meta) for passage in doc.passages),
    "sentences": lambda doc: len(doc.sentences or ()),
    "abbreviations": lambda doc: len(doc.abbreviations or ()),
    "reviewed spans": lambda doc: len(doc.reviewed or ()),
    "document meta": lambda doc: len([key for key in doc.meta if key != "relations"]),
    "relations": lambda doc: len(_relations(doc)),
    "line breaks": lambda doc: doc.text.count("\n"),
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
    "id spellings": _mentions(lambda mention: mention.meta.keys() & SPELLINGS),
    "mention meta": _mentions(lambda mention: mention.meta.keys() - SPELLINGS),
}
ALL = frozenset(KINDS)


def present(doc: Document) -> Counter[str]:
    """Return how often a document has each kind of thing.

    >>> sorted(present(Document("d", "fits", mentions=(Mention(0, 4, types=("D",)),))).items())
    [('mentions', 1), ('mentions not linked', 1), ('sources other than gold', 1), ('texts', 1), ('types', 1)]
    """
    return Counter({kind: count for kind, counter in KINDS.items() if (count := counter(doc))})


def lost(doc: Document, holds: frozenset[str]) -> Counter[str]:
    """Return how many things of each kind a format that holds `holds` drops from a document."""
    return Counter({kind: count for kind, count in present(doc).items() if kind not in holds})


def _relations(doc: Document) -> Any:
    return doc.meta.get("relations", ())


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
    if not lost(doc, holds):
        return doc
    meta = {
        key: value
        for key, value in doc.meta.items()
        if ("relations" if key == "relations" else "document meta") in holds
    }
    passages = doc.passages if "passages" in holds else ()
    return replace(
        doc,
        text=doc.text if "line breaks" in holds else doc.text.replace("\n", " "),
        passages=passages if "passage meta" in holds else tuple(Passage(p.start, p.end, p.kind) for p in passages),
        sentences=doc.sentences if "sentences" in holds else None,
        abbreviations=doc.abbreviations if "abbreviations" in holds else None,
        reviewed=doc.reviewed if "reviewed spans" in holds else None,
        meta=meta,
        mentions=_kept_mentions(doc, holds),
    )


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
    }
    changes: dict[str, Any] = {}
    for kind, fields in empty.items():
        if kind not in holds:
            changes |= fields
    if mention.meta:
        changes["meta"] = {key: value for key, value in mention.meta.items() if _meta_kind(key) in holds}
    return replace(mention, **changes) if changes else mention


def _meta_kind(key: str) -> str:
    return "id spellings" if key in SPELLINGS else "mention meta"
