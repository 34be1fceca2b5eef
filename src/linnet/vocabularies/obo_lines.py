r"""The lines of OBO 1.2 and 1.4 files: stanzas of ``tag: value`` with the line numbers that messages need.

Written from the format's description (Day-Richter, *The OBO Flat File Format Specification, version 1.2*, and the
OBO 1.4 guide), with the liberties that published files take: CRLF, lines continued by a backslash, tags that are not
in the specification, blanks at the ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from linnet.data import Name, Scope
from linnet.errors import FormatError
from linnet.reporter import warn
from linnet.text.files import shown
from linnet.vocabularies.malformed import Lines

__all__ = ["OTHERS", "Stanza", "Value", "first_word", "plain", "quoted", "read_stanzas", "synonym", "unescape"]

OTHERS = "OWL, OBO graphs and Turtle are not read: robot convert --input FILE --output FILE.obo makes OBO of them"
QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
SYNONYM_REST = re.compile(r"\s*([^\s\[{!]*)\s*([^\s\[{!]*)")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPES = {"n": "\n", "W": " ", "t": "\t"}
COMMENT = re.compile(r"(?:^|(?<=\s))!.*$", re.DOTALL)
MODIFIERS = re.compile(r'\s\{\s*[\w:./-]+\s*=\s*"?[^{}]*\}$')
STANZA = re.compile(r"\[(\w+)\]\s*(?:!.*)?$")
SCOPES: dict[str, Scope] = {"EXACT": "exact", "BROAD": "broad", "NARROW": "narrow", "RELATED": "related"}


class Value(NamedTuple):
    """The raw value of a tag and the line it begins in."""

    line: int
    text: str


@dataclass(slots=True)
class Stanza:
    """One stanza: its kind (``""`` is the header), the line of its ``[Kind]``, and its tags in the file's order."""

    kind: str
    line: int
    tags: dict[str, list[Value]] = field(default_factory=dict)


def _joined(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number, line), lines that end in a backslash joined with the next."""
    started, parts = 0, ""
    lines = Lines(path)
    for text in lines:
        number, line = lines.number, text.rstrip("\r\n")
        if line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            started, parts = started or number, parts + line[:-1]
        elif parts:
            yield started, parts + line
            started, parts = 0, ""
        else:
            yield number, line
    if parts:
        yield started, parts
    if lines.number and not lines.last.endswith("\n"):
        warn(f"{shown(path)}:{lines.number}: the last line has no line break; the file may be incomplete")


def read_stanzas(path: Path) -> Iterator[Stanza]:
    """Yield the header (a stanza of kind ``""``) and then every stanza of an OBO file.

    Raises:
        FormatError: the file cannot be read as text, is no OBO file, or has a line that is no ``tag: value``.
    """
    stanza = Stanza("", 1)
    for number, line in _joined(path):
        tag, colon, value = line.partition(":")
        if colon and line[0] not in " \t![":
            stanza.tags.setdefault(tag, []).append(Value(number, value))
        elif not (stripped := line.strip()) or stripped[0] == "!":
            continue
        elif match := STANZA.match(stripped):
            yield stanza
            stanza = Stanza(match[1], number)
        elif colon and stripped[0] != "[":
            stanza.tags.setdefault(tag.strip(), []).append(Value(number, value))
        else:
            problem = f"expected 'tag: value', '[Term]' or a comment, found {stripped[:60]!r}"
            kind = "" if stanza.kind or stanza.tags else f"; is this an OBO file? {OTHERS}"
            raise FormatError(shown(path), problem + kind, line=number)
    yield stanza


# --- values ----------------------------------------------------------------------------------------------------------


def unescape(text: str) -> str:
    r"""Return `text` with the escapes of OBO resolved.

    >>> unescape(r"a\:b \"c\" d\\n")
    'a:b "c" d\\n'
    """
    return ESCAPE.sub(lambda match: ESCAPES.get(match[1], match[1]), text) if "\\" in text else text


def plain(text: str) -> str:
    r"""Return an unquoted value without comment, trailing modifiers, escapes and superfluous blanks.

    A comment begins at an exclamation mark after a blank, so that a name may hold one inside.

    >>> plain(' Short  stature {xref="PMID:1"} ! as a finding ')
    'Short stature'
    """
    if "!" in text:
        text = COMMENT.sub("", text)
    text = text.strip()
    if text.endswith("}"):
        text = MODIFIERS.sub("", " " + text)
    return " ".join(unescape(text).split())


def first_word(text: str) -> str:
    """Return the identifier at the start of a value.

    >>> first_word(' HP:0000118 {source="x"} ! Phenotypic abnormality')
    'HP:0000118'
    """
    words = text.split(None, 1)
    return unescape(words[0].partition("{")[0]) if words and words[0] != "!" else ""


def quoted(value: Value, path: object, tag: str) -> tuple[str, str]:
    """Return the quoted string at the start of a value, unescaped, and what follows it.

    Raises:
        FormatError: there is no quoted string, or its closing quote is missing.
    """
    match = QUOTED.match(value.text)
    if match is None:
        opened = value.text.lstrip().startswith('"')
        problem = "the closing quote is missing" if opened else "expected a quoted text"
        raise FormatError(shown(str(path)), f"{tag}: {problem}: {value.text.strip()[:60]}", line=value.line)
    return unescape(match[1]), value.text[match.end() :]


def synonym(value: Value, path: object, scope: Scope | None = None) -> Name:
    """Return the name that a synonym line gives; its ``source`` is the synonym type, such as ``layperson``.

    Args:
        value: the value of the tag.
        path: for messages.
        scope: what an old tag such as ``exact_synonym`` says; otherwise the line says it, or it is "related".
    """
    text, rest = quoted(value, path, "synonym")
    match = SYNONYM_REST.match(rest)
    words = [word for word in match.groups() if word] if match else []
    if words and words[0].upper() in SCOPES:
        scope = scope or SCOPES[words.pop(0).upper()]
    return Name(" ".join(text.split()), scope or "related", source=words[0] if words else "")
