"""Concepts as JSON Lines: Linnet's own exchange form, which keeps them whole.

One object a line: ``id``, ``names`` (objects of ``text`` and, where they differ from the defaults, ``scope``,
``language``, ``source``), ``types``, ``definition``, ``parents``, ``xrefs``, ``replaced_by`` (for retired concepts:
the successor's id, or ``""``). What is empty is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from linnet.data import SCOPES, Concept, Name
from linnet.errors import FormatError, did_you_mean
from linnet.kb.curies import curie
from linnet.strict_json import parse
from linnet.text.files import open_text, shown

__all__ = ["read_concepts", "write_concepts"]

DEFAULTS = Name("")
LISTS = ("types", "parents", "xrefs")
FIELDS = ("id", "names", "definition", "replaced_by", *LISTS)
NAME_FIELDS = ("text", "scope", "language", "source")


def write_concepts(concepts: Iterable[Concept], out: TextIO) -> int:
    r"""Write concepts, one a line, and return how many.

    >>> import io
    >>> out = io.StringIO()
    >>> write_concepts([Concept("HP:0001250", (Name("Seizure"), Name("Fits", "related")))], out)
    1
    >>> out.getvalue()
    '{"id":"HP:0001250","names":[{"text":"Seizure"},{"text":"Fits","scope":"related"}]}\n'
    """
    count = 0
    for concept in concepts:
        value: dict[str, Any] = {"id": concept.id}
        if concept.names:
            value["names"] = [_name(name) for name in concept.names]
        if concept.definition:
            value["definition"] = concept.definition
        value |= {key: getattr(concept, key) for key in LISTS if getattr(concept, key)}
        if concept.replaced_by is not None:
            value["replaced_by"] = concept.replaced_by
        out.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
        count += 1
    return count


def _name(name: Name) -> dict[str, str]:
    value = {"text": name.text}
    for key in NAME_FIELDS[1:]:
        if getattr(name, key) != getattr(DEFAULTS, key):
            value[key] = getattr(name, key)
    return value


def read_concepts(path: str | Path) -> Iterator[Concept]:
    """Yield the concepts that `write_concepts` wrote, plain or gzip.

    Raises:
        FormatError: a line that is no such concept, with its number and what was expected.
    """
    source = shown(path)
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        try:
            value = parse(line)
        except ValueError as error:
            raise FormatError(source, f"not JSON: {error}", line=number) from error
        try:
            yield _concept(value, f"{source}:{number}")
        except (TypeError, ValueError) as error:
            raise FormatError(source, str(error), line=number) from error


def _concept(value: Any, origin: str) -> Concept:
    _known(value, FIELDS, "a concept")
    names = value.get("names", [])
    if not isinstance(names, list):
        raise TypeError(f"field 'names': expected a list, found {names!r:.60}")
    return Concept(
        id=curie(_text(value, "id", required=True)),
        names=tuple(_read_name(name) for name in names),
        definition=_text(value, "definition"),
        replaced_by=curie(_text(value, "replaced_by")) if "replaced_by" in value else None,
        origin=origin,
        types=_texts(value, "types"),
        parents=tuple(map(curie, _texts(value, "parents"))),
        xrefs=tuple(map(curie, _texts(value, "xrefs"))),
    )


def _read_name(value: Any) -> Name:
    _known(value, NAME_FIELDS, "a name")
    scope = _text(value, "scope") or DEFAULTS.scope
    if scope not in SCOPES:
        raise ValueError(f"the scope {scope!r} is none of {', '.join(SCOPES)}{did_you_mean(scope, SCOPES)}")
    language = _text(value, "language") if "language" in value else DEFAULTS.language
    return Name(_text(value, "text", required=True), scope, language, _text(value, "source"))


def _known(value: Any, fields: Sequence[str], what: str) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"expected {what} as a JSON object, found {value!r:.60}")
    for key in value:
        if key not in fields:
            raise ValueError(f"unknown field {key!r} of {what}; it has {', '.join(fields)}{did_you_mean(key, fields)}")


def _text(value: Mapping[str, Any], key: str, *, required: bool = False) -> str:
    text = value.get(key, "")
    if not isinstance(text, str):
        raise TypeError(f"field {key!r}: expected a text, found {text!r:.60}")
    if required and not text:
        raise ValueError(f"field {key!r} is missing or empty")
    return text


def _texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = value.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"field {key!r}: expected a list of texts, found {texts!r:.60}")
    return tuple(texts)
