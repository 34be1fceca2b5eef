"""What relations are in ``Document.meta["relations"]``, which anybody may fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linnet.data import Document

__all__ = ["are_relations", "is_relation", "relations"]


def relations(doc: Document) -> list[Mapping[str, Any]]:
    """Return the relations of a document: objects whose ``args`` have a text ``role`` and a text ``ref`` each.

    Whatever else stands there is meta like any other, which no format but those that hold all meta can write.

    >>> pair = {"type": "CID", "args": [{"role": "drug", "ref": "T1"}, {"role": "disease", "ref": "T2"}]}
    >>> len(relations(Document("1", "", meta={"relations": [pair, None]})))
    1
    """
    found: Any = doc.meta.get("relations")
    return [one for one in found if is_relation(one)] if _listed(found) else []


def are_relations(value: Any) -> bool:
    """Return whether `value` is a list of relations and nothing else."""
    return _listed(value) and all(map(is_relation, value))


def is_relation(value: Any) -> bool:
    """Return whether `value` is a relation, so that ``type``, ``args`` and ``meta`` are what their names say."""
    if not isinstance(value, Mapping) or not _listed(value.get("args")):
        return False
    sound = all(isinstance(arg, Mapping) and _texts(arg, "role", "ref") for arg in value["args"])
    return sound and isinstance(value.get("type", ""), str) and isinstance(value.get("meta", {}), Mapping)


def _texts(arg: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(arg.get(key, ""), str) for key in keys)


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
