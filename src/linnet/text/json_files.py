"""Reading JSON that people hand in: every value with its line, every member with the path that messages name.

A file holds one JSON text, several one after the other, or one a line. A text that is spread over lines is held as a
whole; beyond `MAX_TEXT` characters it is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import DataError, FormatError
from linnet.strict_json import DECODER, bounded, said
from linnet.strict_json import parse as loads
from linnet.text.files import MAX_TEXT, open_text, shown

__all__ = ["SURROGATE", "Node", "dumps", "loads", "nodes", "spelled", "whole"]

SURROGATE = re.compile("[\ud800-\udfff]")


def dumps(value: Any, what: str) -> str:
    r"""Return `value` as JSON on one line.

    Raises:
        DataError: it holds what JSON lacks; the message begins with `what`.

    >>> dumps({"text": "ß\ud800"}, "document '1'")
    '{"text":"ß\\ud800"}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} cannot be written as JSON: {error}") from error
    return spelled(text)


def spelled(text: str) -> str:
    """Return JSON with halves of surrogate pairs spelled out: they have no UTF-8 form."""
    return SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def whole(line: str, lines: Iterator[str], number: int, path: str) -> Iterator[tuple[Any, int]]:
    """Yield the values, each with its line, of a text that begins with `line` and takes in all others.

    Args:
        line: the first line.
        lines: those that follow.
        number: of the first line.
        path: how messages name the file.

    Raises:
        FormatError: no JSON, with the line, or too long, or of too many lists, for one text.
    """
    pieces, size = [line], len(line)
    for more in lines:
        pieces.append(more)
        size += len(more) + 1
        if size > MAX_TEXT:
            problem = f"holds one JSON text of more than {MAX_TEXT:,} characters"
            raise FormatError(path, f"{problem}: put each document on a line of its own", line=number)
    text = "\n".join(pieces)
    at = counted = 0
    begins = number
    try:
        bounded(text)
    except ValueError as error:
        raise FormatError(path, f"{error}: put each document on a line of its own", line=number) from error
    while (at := _skipped(text, at)) < len(text):
        begins += text.count("\n", counted, at)
        counted = at
        try:
            value, at = DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise FormatError(path, f"no JSON: {error.msg}", line=number + error.lineno - 1) from error
        except RecursionError as error:
            raise FormatError(path, "no JSON: nested too deeply", line=begins) from error
        except ValueError as error:
            raise FormatError(path, f"no JSON: {said(error)}", line=begins) from error
        yield value, begins


def _skipped(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def nodes(path: str | Path) -> Iterator[Node]:
    """Yield the JSON values of a file, plain or gzip.

    Raises:
        FormatError: no JSON, with the line, or as `open_text`.
    """
    name = shown(path)
    lines = open_text(path)
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        try:
            value = loads(line)
        except ValueError:
            for spread, begins in whole(line, lines, number, name):
                yield Node(spread, name, begins)
        else:
            yield Node(value, name, number)


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value and where it stands: file, line of the outermost value, path of members below that.

    >>> node = Node({"documents": [{"id": 7}]}, "f.json", 1)
    >>> node.each("documents")[0].text("id")
    Traceback (most recent call last):
    ...
    linnet.errors.FormatError: f.json:1: documents[0].id: expected a text, found 7
    """

    value: Any
    file: str
    line: int
    path: str = ""

    def fault(self, problem: str) -> FormatError:
        """Return the error to raise of this value."""
        return FormatError(self.file, f"{self.path}: {problem}" if self.path else problem, line=self.line)

    def expected(self, what: str) -> FormatError:
        """Return the error that `what` was expected instead of this value."""
        return self.fault(f"expected {what}, found {self.value!r:.80}")

    def object(self) -> Mapping[str, Any]:
        """Return the value as an object."""
        if not isinstance(self.value, dict):
            raise self.expected("an object")
        return self.value

    def member(self, key: str) -> Node:
        """Return a member that must be there."""
        if key not in self.object():
            raise self.fault(f"the member {key!r} is missing; there are {', '.join(map(repr, self.value)) or 'none'}")
        return Node(self.value[key], self.file, self.line, f"{self.path}.{key}" if self.path else key)

    def find(self, key: str) -> Node | None:
        """Return a member, or None if it is not there or null."""
        return None if self.object().get(key) is None else self.member(key)

    def items(self) -> list[Node]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.expected("a list")
        return [Node(item, self.file, self.line, f"{self.path}[{i}]") for i, item in enumerate(self.value)]

    def each(self, key: str) -> list[Node]:
        """Return the items of a member that is a list; none if it is not there or null."""
        found = self.find(key)
        return [] if found is None else found.items()

    def string(self) -> str:
        """Return the value as a text."""
        if not isinstance(self.value, str):
            raise self.expected("a text")
        return self.value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a member that is a text; `default`, if there is one, where it is not there or null."""
        found = self.find(key)
        if found is None and default is not None:
            return default
        return self.member(key).string()

    def name(self, key: str, default: str | None = None) -> str:
        """Return a member that is a text or a whole number, such as an id, as a text."""
        found = self.find(key)
        if found is not None and isinstance(found.value, int) and not isinstance(found.value, bool):
            return str(found.value)
        return self.text(key, default)

    def offset(self) -> int:
        """Return the value as a whole number that is not negative."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            raise self.expected("a whole number that is not negative")
        return self.value

    def number(self) -> float:
        """Return the value as a finite number; whole numbers in JSON may be larger than any that is."""
        try:
            found = math.nan if isinstance(self.value, (bool, str)) else float(self.value)
        except (TypeError, OverflowError):
            found = math.nan
        if not math.isfinite(found):
            raise self.expected("a finite number")
        return found

    def flag(self, key: str) -> bool:
        """Return whether a member is there and true."""
        found = self.find(key)
        if found is not None and not isinstance(found.value, bool):
            raise found.expected("true or false")
        return found is not None and found.value
