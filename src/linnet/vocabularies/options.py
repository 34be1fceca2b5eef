"""The options of readers: what there is, and what people write for them turned into the reader's keywords.

A reader's keyword-only arguments are its options, their annotations say what they take, and the reader's docstring
says what they do. The command line gives texts (``languages=ENG,GER``), recipes TOML values (``languages = ["ENG"]``).
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linnet.errors import LinnetError, did_you_mean
from linnet.home import expanded
from linnet.vocabularies import reader_of

__all__ = ["Option", "given_value", "options_of", "reader_options"]

YES, NO = ("true", "yes", "1"), ("false", "no", "0")
MANY = (Collection, Iterable, Sequence)
FLAG, NUMBER, FILE, TEXT = "true or false", "a whole number", "a path", "a text"
PAIRS, LIST = "pairs OURS=THEIRS,…", "values separated by commas"


class Option(NamedTuple):
    """One option of a reader; ``takes`` says what is written for it, ``default`` is None where nothing is set."""

    name: str
    takes: str
    default: Any
    help: str


def options_of(vocabulary: str) -> dict[str, Option]:
    """Return the options of the format `vocabulary`, by name.

    Raises:
        LinnetError: an unknown format.

    >>> options_of("umls")["languages"].takes
    'values separated by commas'
    """
    return reader_options(reader_of(vocabulary))


def reader_options(reader: Callable[..., object]) -> dict[str, Option]:
    """Return the options of a reader, by name."""
    hints = typing.get_type_hints(reader)
    said = _arguments(inspect.getdoc(reader) or "")
    return {
        name: Option(name, _takes(hints[name]), parameter.default, said.get(name, ""))
        for name, parameter in inspect.signature(reader).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def given_value(
    format: str, known: Mapping[str, Option], name: str, value: object, *, folder: Path | None = None
) -> Any:
    """Return `value`, a text or a TOML value, as the reader of `format` takes it for its option `name`.

    Args:
        format: what messages call the reader.
        known: its options.
        name: one of them.
        value: what a person wrote.
        folder: where relative paths begin; None leaves them as they are.

    Raises:
        LinnetError: an unknown option, or a value that it cannot take.

    >>> given_value("umls", options_of("umls"), "languages", "ENG, GER")
    ('ENG', 'GER')
    """
    if name not in known:
        there = f"its options are {', '.join(known)}" if known else "it has none"
        raise LinnetError(f"{format} has no option {name!r}; {there}{did_you_mean(name, known)}")
    takes = known[name].takes
    made = _from_text(value, takes, folder) if isinstance(value, str) else _from_toml(value, takes)
    if made is None:
        raise LinnetError(f"{format}: option {name} is {value!r:.60}, expected {takes}")
    return made


def _takes(hint: Any) -> str:
    """Return what is written for a keyword with the annotation `hint`, the most special of what it allows."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = typing.get_args(hint) if union else (hint,)
    origins = [typing.get_origin(kind) or kind for kind in kinds]
    for kind, takes in ((bool, FLAG), (int, NUMBER), (Path, FILE), (Mapping, PAIRS)):
        if kind in origins:
            return takes
    if any(kind in origins for kind in MANY):
        return LIST
    choices = [
        choice for kind in kinds if typing.get_origin(kind) is typing.Literal for choice in typing.get_args(kind)
    ]
    return f"one of {', '.join(choices)}" if choices else TEXT


def _from_text(text: str, takes: str, folder: Path | None) -> Any:
    """Return the value of `text`, None if it is none."""
    word = text.strip().lower()
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if takes == FLAG:
        return True if word in YES else False if word in NO else None
    if takes == NUMBER:
        return int(word) if re.fullmatch(r"-?[0-9]{1,18}", word) else None
    if takes == FILE:
        return (folder or Path()) / expanded(text) if text else None
    if takes == PAIRS:
        pairs = [part.partition("=") for part in parts]
        return {ours.strip(): theirs.strip() for ours, _, theirs in pairs} if all(pair[1] for pair in pairs) else None
    return tuple(parts) if takes == LIST else text


def _from_toml(value: object, takes: str) -> Any:
    """Return `value` as the keyword takes it, None if it cannot."""
    if isinstance(value, bool):
        return value if takes == FLAG else None
    if isinstance(value, int):
        return value if takes == NUMBER else None
    if isinstance(value, Mapping):
        texts = all(isinstance(text, str) for text in value.values())
        return dict(value) if takes == PAIRS and texts else None
    if isinstance(value, (list, tuple)):
        plain = all(isinstance(item, (str, int)) and not isinstance(item, bool) for item in value)
        return tuple(map(str, value)) if takes == LIST and plain else None
    return None


def _arguments(doc: str) -> dict[str, str]:
    """Return what the ``Args:`` of a docstring say, by argument."""
    section = re.search(r"^Args:\n((?:    .*\n?)+)", doc, re.MULTILINE)
    found: dict[str, str] = {}
    name = ""
    for line in section[1].splitlines() if section else ():
        head = re.match(r"    (\w+): (.*)", line)
        if head:
            name = head[1]
            found[name] = head[2].strip()
        else:
            found[name] += f" {line.strip()}"
    return found
