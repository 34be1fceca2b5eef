"""What relations are in ``Document.meta["relations"]``, which anybody may fill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from linnet.corpora.ids import from_curie, to_curie
from linnet.corpora.plain_text import BREAKING
from linnet.data import Document, Mention
from linnet.frozen import EMPTY, freeze

__all__ = ["are_relations", "bare", "is_relation", "known_ids", "pairs", "relations"]


def relations(doc: Document) -> list[Mapping[str, Any]]:
    """Return the relations of a document: objects whose ``args``, if any, have a text ``role`` and a text ``ref`` each.

    Whatever else stands there is meta like any other, which no format but those that hold all meta can write.

    >>> pair = {"type": "CID", "args": [{"role": "drug", "ref": "T1"}, {"role": "disease", "ref": "T2"}]}
    >>> len(relations(Document("1", "", meta={"relations": [pair, None]})))
    1
    """
    found: Any = doc.meta.get("relations")
    return [one for one in found if is_relation(one)] if _listed(found) else []


def pairs(doc: Document) -> list[Mapping[str, Any]]:
    """Return the relations that have a type and two concepts, which is what fits into a line of PubTator.

    >>> args = [{"role": "drug", "ref": "MESH:D1"}, {"role": "disease", "ref": "MESH:D2"}]
    >>> len(pairs(Document("1", "", meta={"relations": [{"type": "CID", "args": args}, {"type": "CID", "args": []}]})))
    1
    """
    ids = {mention.id for mention in doc.mentions or ()}
    return [relation for relation in relations(doc) if _is_pair(relation, ids)]


def bare(relation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a relation as a line of PubTator gives it back: without id, roles, and meta but ``novelty``.

    BioRED's BioC calls that ``novel``.
    """
    args = [
        {"role": f"arg{place}", "ref": to_curie(arg.get("ref", ""))}
        for place, arg in enumerate(relation.get("args", ()), 1)
    ]
    meta = relation.get("meta", EMPTY)
    novelty = meta.get("novelty", meta.get("novel"))
    told = isinstance(novelty, str) and novelty.strip() == novelty != "" and not BREAKING.search(novelty)
    kept = {"meta": {"novelty": novelty}} if told else {}
    made: Mapping[str, Any] = freeze({"type": relation.get("type", ""), "args": args, **kept})
    return made


def _is_pair(relation: Mapping[str, Any], ids: Set[str]) -> bool:
    type, args = relation.get("type", ""), relation.get("args", ())
    # a type that is a number would be read as the start of a mention
    typed = bool(type.strip("- ")) and not type.strip().lstrip("-").isdecimal()
    refs = [arg.get("ref", "") for arg in args]
    plain = all(text.strip() == text and not BREAKING.search(text) for text in (type, *refs))
    return typed and plain and len(refs) == 2 and all(refs) and ids.isdisjoint(refs)


def known_ids(mentions: Iterable[Mention]) -> dict[str, str]:
    """Return the concepts of mentions by the form without prefix that relations give them."""
    known: dict[str, str] = {}
    for mention in mentions:
        for concept in mention.concepts or ():
            known.setdefault(from_curie(concept), concept)
    return known


def are_relations(value: Any) -> bool:
    """Return whether `value` is a list of relations and nothing else."""
    return _listed(value) and all(map(is_relation, value))


def is_relation(value: Any) -> bool:
    """Return whether `value` is a relation, so that ``type``, ``args`` and ``meta`` are what their names say."""
    if not isinstance(value, Mapping) or not _listed(value.get("args", ())):
        return False
    sound = all(isinstance(arg, Mapping) and _texts(arg, "role", "ref") for arg in value.get("args", ()))
    return sound and isinstance(value.get("type", ""), str) and isinstance(value.get("meta", {}), Mapping)


def _texts(arg: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(arg.get(key, ""), str) for key in keys)


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
