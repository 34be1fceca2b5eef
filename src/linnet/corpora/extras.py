"""What a format of others has no place for, as one JSON value of ours, which a file carries under the name ``linnet``.

A writer writes what the format holds, reads that again, and adds the difference; a reader puts it back. So nothing is
lost, and a document that the format can hold whole carries nothing of ours. What somebody adds to the file stays: notes
and relations beside our meta, mentions of a document that we had not looked at.
"""

from __future__ import annotations

import json
import re
from typing import Any

from linnet.codec import dumps, from_json, to_json
from linnet.data import Document, Rows
from linnet.errors import DataError

__all__ = ["OWN", "by_ids", "rest", "restored"]

OWN = "linnet"
PLACE = re.compile("[0-9]{1,9}")  # of a mention in the document
DERIVED = frozenset({"text"})  # of a mention: what its offsets say
MORE = "more"  # members of meta that the format holds otherwise or not at all


def by_ids(doc: Document, rows: Rows | None) -> Document:
    """Return `doc` with candidates as ids instead of rows, as they are read without a knowledge base.

    Raises:
        DataError: candidates of another knowledge base than `rows`, or rows without one.
    """
    if any(mention.candidates is not None and not mention.candidates.ids for mention in doc.mentions or ()):
        return from_json(json.loads(dumps(doc, rows)))
    return doc


def rest(doc: Document, again: Document, rows: Rows | None = None) -> dict[str, Any]:
    """Return what of `doc` is not in `again`, which is what a format gives back of it; the names are the codec's.

    A member that `doc` lacks is null. Of meta, ``more`` holds what is not so in `again`, unless that has members
    too many. An id that the format had to give a mention is not taken away.

    Args:
        doc: the document.
        again: the same without what the format cannot hold.
        rows: the knowledge base of its candidates, unless they are ids (`by_ids`).

    Raises:
        DataError: candidates of another knowledge base than `rows`, or rows without one.

    >>> from linnet.data import Mention
    >>> doc = Document("1", "Fits.", mentions=(Mention(0, 4, group="g"),))
    >>> rest(doc, Document("1", "Fits.", mentions=(Mention(0, 4),)))
    {'mentions': {'0': {'group': 'g'}}}
    """
    if doc == again:
        return {}
    wanted, there = to_json(doc, rows), to_json(again)
    ours, theirs = wanted.pop("mentions", None), there.pop("mentions", None)
    found = _difference(wanted, there)
    if ours is None or theirs is None or len(ours) != len(theirs):
        return found if ours == theirs else found | {"mentions": ours}
    changed = {str(i): part for i, pair in enumerate(zip(ours, theirs, strict=True)) if (part := _of_mention(*pair))}
    return found | {"mentions": changed} if changed else found


def _of_mention(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    found = _difference(ours, theirs)
    return {key: value for key, value in found.items() if key not in DERIVED and not (key == "id" and value is None)}


def _difference(wanted: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    keys = dict.fromkeys([*wanted, *there])
    found = {key: wanted.get(key) for key in keys if wanted.get(key) != there.get(key)}
    ours, theirs = wanted.get("meta", {}), there.get("meta", {})
    if "meta" in found and ours.keys() >= theirs.keys():
        del found["meta"]
        found[MORE] = {key: item for key, item in ours.items() if key not in theirs or theirs[key] != item}
    return found


def restored(again: Document, rest: Any, rows: Rows | None = None) -> Document:
    """Return the document that `rest` was made of, its candidates as rows if a knowledge base is given.

    Raises:
        DataError: `rest` does not fit.
    """
    if not rest and rows is None:
        return again
    value = json.loads(dumps(again))
    mentions = value.get("mentions")
    rest = _object(rest or {})
    for key, part in rest.items():
        if key == "mentions" and part is None and mentions:
            continue  # they were added since
        if key == "mentions" and isinstance(part, dict) and isinstance(mentions, list):
            for place, change in part.items():
                if not (PLACE.fullmatch(place) and int(place) < len(mentions)):
                    raise DataError(f"{OWN}.mentions: there is no mention {place!r:.40}")
                _change(mentions[int(place)], _object(change))
        else:
            _change(value, {key: part})
    if "text" in rest:  # what mentions say of it is that of the other
        for mention in mentions or ():
            mention.pop("text", None)
    return from_json(value, rows)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{OWN}: expected an object, found {value!r:.80}")
    return value


def _change(value: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, item in changes.items():
        if key == MORE:
            value["meta"] = _object(value.get("meta", {})) | _object(item)
        elif item is None:
            value.pop(key, None)
        else:
            value[key] = item
    if changes.keys() & {"start", "end", "parts"}:
        value.pop("text", None)
