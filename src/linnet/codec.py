"""The JSON form of a document: one object a line, ids instead of rows, defaults left out, nothing lost.

``dumps(doc, rows)`` turns the rows of candidates into ids with anything that has ``id(row)``; ``loads(line, rows)``
turns them back with ``row(id)``. Without it candidates stay as ids until `resolve`. Mentions carry their ``text`` for
human readers; reading checks it, so that offsets counted in bytes or UTF-16 units are noticed at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linnet.data import Abbreviation, Candidates, Document, Mention, Passage, Rows, Span
from linnet.errors import DataError, did_you_mean
from linnet.frozen import EMPTY
from linnet.strict_json import parse

__all__ = ["dumps", "from_json", "loads", "resolve", "to_json", "with_ids"]

UNCALIBRATED = "uncalibrated"  # how a person reads the record's ""


def dumps(doc: Document, rows: Rows | None = None) -> str:
    """Return `doc` as one line of JSON (without the line break).

    Raises:
        DataError: candidates hold rows and `rows` is None, or the rows belong to another knowledge base.

    >>> dumps(Document("n1", "Seizures.", mentions=(Mention(0, 8, concepts=("HP:0001250",)),)))
    '{"id":"n1","text":"Seizures.","mentions":[{"start":0,"end":8,"text":"Seizures","concepts":["HP:0001250"]}]}'
    """
    try:
        return json.dumps(to_json(doc, rows), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise DataError(f"document {doc.id!r} cannot be written as JSON: {error}") from error


def loads(line: str, rows: Rows | None = None) -> Document:
    """Return the document that `dumps` wrote.

    Raises:
        DataError: the line is not JSON, or not a document.

    >>> loads('{"id":"n1","text":"Seizures."}').text
    'Seizures.'
    """
    try:
        value = parse(line)
    except ValueError as error:
        raise DataError(f"not JSON: {error}") from error
    return from_json(value, rows)


# --- writing ---------------------------------------------------------------------------------------------------------


def to_json(doc: Document, rows: Rows | None = None) -> dict[str, Any]:
    """Return `doc` as JSON-ready dictionaries and lists."""
    value: dict[str, Any] = {"id": doc.id, "text": doc.text}
    if doc.passages:
        value["passages"] = [_passage_to_json(passage) for passage in doc.passages]
    if doc.sentences is not None:
        value["sentences"] = [list(span) for span in doc.sentences]
    if doc.abbreviations is not None:
        value["abbreviations"] = [{"short": list(a.short), "long": list(a.long)} for a in doc.abbreviations]
    if doc.mentions is not None:
        value["mentions"] = [_mention_to_json(mention, doc, rows) for mention in doc.mentions]
    if doc.reviewed is not None:
        value["reviewed"] = [list(span) for span in doc.reviewed]
    if doc.meta:
        value["meta"] = doc.meta
    return value


def _passage_to_json(passage: Passage) -> dict[str, Any]:
    value: dict[str, Any] = {"start": passage.start, "end": passage.end}
    if passage.kind:
        value["kind"] = passage.kind
    if passage.meta:
        value["meta"] = passage.meta
    return value


def _mention_to_json(mention: Mention, doc: Document, rows: Rows | None) -> dict[str, Any]:
    value: dict[str, Any] = {"start": mention.start, "end": mention.end, "text": doc.surface(mention)}
    if mention.parts:
        value["parts"] = [list(part) for part in mention.parts]
    for key in ("id", "types", "alternatives", "signals", "group", "terminology", "assertion", "meta"):
        if item := getattr(mention, key):
            value[key] = item
    if mention.source != "pred":
        value["source"] = mention.source
    if mention.concepts is not None:
        value["concepts"] = mention.concepts
    if mention.probability is not None:
        value["probability"] = mention.probability
    if mention.probability is not None or mention.calibration:
        value["calibration"] = mention.calibration or UNCALIBRATED
    if mention.candidates is not None:
        value["candidates"] = _candidates_to_json(mention.candidates, rows)
    return value


def _shortest(column: Any) -> list[float]:
    # the shortest decimal that gives the same float32 back: 0.9 rather than 0.8999999761581421
    return [float(str(item)) for item in column]


def _candidates_to_json(candidates: Candidates, rows: Rows | None) -> dict[str, Any]:
    value: dict[str, Any] = {"kb": candidates.kb} if candidates.kb else {}
    value["ids"] = candidates.ids if candidates.ids else _ids(candidates, rows)
    value["scores"] = _shortest(candidates.scores)
    if candidates.labels:
        value["names"] = candidates.labels
    elif candidates.names is not None:
        value["names"] = _labels(candidates, rows)
    if candidates.features:
        value["features"] = {key: _shortest(column) for key, column in candidates.features.items()}
    return value


def _ids(candidates: Candidates, rows: Rows | None) -> list[str | None]:
    if rows is None:
        if (candidates.rows == -1).all():
            return [None] * len(candidates)
        raise DataError("candidates hold rows of a knowledge base: pass it to write their ids (kb=link.kb)")
    _same_version(candidates.kb, rows)
    return [None if row < 0 else rows.id(int(row)) for row in candidates.rows]


def _labels(candidates: Candidates, rows: Rows | None) -> list[str | None]:
    texts: Callable[[Sequence[int]], list[str]] | None = getattr(rows, "name_texts", None)
    if candidates.names is None or texts is None:
        return [None] * len(candidates)
    named: list[int] = candidates.names[candidates.names >= 0].tolist()
    text_of = dict(zip(named, texts(named), strict=True))
    return [text_of.get(row) for row in candidates.names.tolist()]


def _same_version(version: str, rows: Rows) -> None:
    theirs = getattr(rows, "version", version)
    if version and theirs != version:
        raise DataError(f"candidates were made with knowledge base version {version}, this one is {theirs}")


# --- reading ---------------------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """How one field is read: a converter, and whether it must be there."""

    convert: Callable[[Any], Any]
    required: bool = False


def _take(value: Any, fields: Mapping[str, Field], what: str) -> dict[str, Any]:
    """Return the converted fields of JSON object `value`, naming what is unknown, missing or of the wrong kind."""
    if not isinstance(value, dict):
        raise DataError(f"{what}: expected an object, found {type(value).__name__}")
    for key in value:
        if key not in fields:
            hint = " (FHIR is written, not read)" if key == "resourceType" else did_you_mean(key, fields)
            raise DataError(f"{what}: unknown field {key!r}{hint}")
    taken: dict[str, Any] = {}
    for key, (convert, required) in fields.items():
        if key in value:
            try:
                taken[key] = convert(value[key])
            except (TypeError, ValueError, OverflowError) as error:
                raise DataError(f"{what}: field {key!r}: {error}") from error
        elif required:
            raise DataError(f"{what}: field {key!r} is missing")
    return taken


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, found {value!r}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, found {value!r}")
    return float(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected an integer, found {value!r}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {value!r}")
    return value


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(_string(item) for item in _list(value))


def _optional_strings(value: Any) -> tuple[str | None, ...]:
    return tuple(None if item is None else _string(item) for item in _list(value))


def _string_lists(value: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(_strings(item) for item in _list(value))


def _span(value: Any) -> Span:
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError(f"expected [start, end], found {value!r}")
    return Span(_integer(value[0]), _integer(value[1]))


def _spans(value: Any) -> tuple[Span, ...]:
    return tuple(_span(item) for item in _list(value))


def _numbers(value: Any) -> list[float]:
    return [_number(item) for item in _list(value)]


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {value!r}")
    return value


def _number_mapping(value: Any) -> dict[str, float]:
    return {key: _number(item) for key, item in _mapping(value).items()}


def _columns(value: Any) -> dict[str, list[float]]:
    return {key: _numbers(item) for key, item in _mapping(value).items()}


def _calibration(value: Any) -> str:
    text = _string(value)
    return "" if text == UNCALIBRATED else text


PASSAGE = {
    "start": Field(_integer, required=True),
    "end": Field(_integer, required=True),
    "kind": Field(_string),
    "meta": Field(_mapping),
}
ABBREVIATION = {"short": Field(_span, required=True), "long": Field(_span, required=True)}
CANDIDATES = {
    "kb": Field(_string),
    "ids": Field(_optional_strings, required=True),
    "scores": Field(_numbers, required=True),
    "names": Field(_optional_strings),
    "features": Field(_columns),
}
MENTION = {
    "start": Field(_integer, required=True),
    "end": Field(_integer, required=True),
    "text": Field(_string),
    "parts": Field(_spans),
    "id": Field(_string),
    "types": Field(_strings),
    "source": Field(_string),
    "candidates": Field(_mapping),
    "concepts": Field(_strings),
    "alternatives": Field(_string_lists),
    "probability": Field(_number),
    "calibration": Field(_calibration),
    "signals": Field(_number_mapping),
    **dict.fromkeys(("group", "terminology", "assertion"), Field(_string)),
    "meta": Field(_mapping),
}
DOCUMENT = {
    "id": Field(_string, required=True),
    "text": Field(_string, required=True),
    "passages": Field(_list),
    "sentences": Field(_spans),
    "abbreviations": Field(_list),
    "mentions": Field(_list),
    "reviewed": Field(_spans),
    "meta": Field(_mapping),
}


def from_json(value: Any, rows: Rows | None = None) -> Document:
    """Return the document that JSON `value` describes; candidates become rows when `rows` is given.

    Raises:
        DataError: an unknown, missing or ill-typed field, or a record that contradicts itself.
    """
    fields = _take(value, DOCUMENT, "document")
    what = f"document {fields['id']!r}"
    for key, make in (("passages", _passage), ("abbreviations", _abbreviation)):
        if key in fields:
            fields[key] = tuple(make(item, f"{what}, {key}[{i}]") for i, item in enumerate(fields[key]))
    mentions = fields.pop("mentions", None)
    doc = Document(**fields)
    if mentions is None:
        return doc
    made = tuple(_mention(item, doc, f"{what}, mentions[{i}]", rows) for i, item in enumerate(mentions))
    return Document(**fields, mentions=made)


def _passage(value: Any, what: str) -> Passage:
    return Passage(**_take(value, PASSAGE, what))


def _abbreviation(value: Any, what: str) -> Abbreviation:
    return Abbreviation(**_take(value, ABBREVIATION, what))


def _mention(value: Any, doc: Document, what: str, rows: Rows | None) -> Mention:
    fields = _take(value, MENTION, what)
    text = fields.pop("text", None)
    if "candidates" in fields:
        fields["candidates"] = _candidates(fields["candidates"], f"{what}.candidates", rows)
    try:
        mention = Mention(**fields)
    except DataError as error:
        raise DataError(f"{what}: {error}") from error
    if mention.end > len(doc.text):
        raise DataError(f"{what}: end {mention.end} lies outside the text of {len(doc.text)} characters")
    if text is not None and doc.surface(mention) != text:
        raise DataError(
            f"{what}: the offsets {mention.start}-{mention.end} say {doc.surface(mention)!r}, the field 'text' says "
            f"{text!r}; offsets count code points"
        )
    return mention


def _candidates(value: Any, what: str, rows: Rows | None) -> Candidates:
    fields = _take(value, CANDIDATES, what)
    ids, labels = fields["ids"], fields.get("names", ())
    try:
        kept = Candidates(
            rows=np.full(len(ids), -1, np.int32),
            scores=np.array(fields["scores"], np.float32),
            names=np.full(len(ids), -1, np.int32) if "names" in fields else None,
            features={key: np.array(column, np.float32) for key, column in fields.get("features", EMPTY).items()},
            kb=fields.get("kb", ""),
            ids=ids,
            labels=labels,
        )
        return kept if rows is None else resolve(kept, rows)
    except DataError as error:
        raise DataError(f"{what}: {error}") from error


def resolve(candidates: Candidates, rows: Rows) -> Candidates:
    """Return candidates that were read without a knowledge base with rows of `rows` instead of ids.

    Raises:
        DataError: they were made with another version of the knowledge base.
        UnknownConceptError: an id that `rows` does not hold (whatever ``rows.row`` raises).
    """
    if not candidates.ids:
        return candidates
    _same_version(candidates.kb, rows)
    found = [-1 if id is None else rows.row(id) for id in candidates.ids]
    name_row: Callable[[int, str], int] | None = getattr(rows, "name_row", None)
    names: Sequence[int] | None = None
    if candidates.names is not None:
        labels = candidates.labels or (None,) * len(found)
        names = [
            -1 if label is None or name_row is None or row < 0 else name_row(row, label)
            for row, label in zip(found, labels, strict=True)
        ]
    return Candidates(
        rows=np.array(found, np.int32),
        scores=candidates.scores,
        names=None if names is None else np.array(names, np.int32),
        features=candidates.features,
        kb=candidates.kb,
    )


def with_ids(candidates: Candidates, rows: Rows) -> Candidates:
    """Return candidates with the ids and names of `rows` in the place of rows, as they are read without it.

    Raises:
        DataError: they were made with another version of the knowledge base.
    """
    if candidates.ids or not len(candidates):
        return candidates
    unknown = np.full(len(candidates), -1, np.int32)
    return Candidates(
        rows=unknown,
        scores=candidates.scores,
        names=None if candidates.names is None else unknown,
        features=candidates.features,
        kb=candidates.kb,
        ids=tuple(_ids(candidates, rows)),
        labels=() if candidates.names is None else (*_labels(candidates, rows),),
    )
