"""Damage to values that are read before they mean anything: what JSON and MessagePack hold.

A file is parsed, a member or an item is changed, and the whole is written again, so that the damage is met behind the
parser: by what looks at members, kinds and offsets.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

from tools.fuzz import bytewise

TEXTS = (
    "\ud800", "\udfff\ud800", "\x00", "\ufeff", "\ufffe", "\x0b", "\x85", "\u2028", "A" * 3_000, "", "  ", "\r", "\t",
    "HP:0001250", "MESH:", "：", "|", "%", "null", "é", "e\u0301", "🧬", "..", "-1", "<b>&amp;</b>", "'\"\\", "１２",
    "1_000", "+5", " 5 ", "1e3", "²", "9" * 5_000, "0005", "{}", "[1]", "T1", "/",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, -0.0, 10**12, 2**31, 2**63, 1e308, "", [], {}, [[]], [None], {"a": None},
    {"": {}},    [1, "a"], [-1, 0], [0, 1], ["", ""],
)  # fmt: skip
LITERALS = ("1e999", "-1e999", "1E400", "-0", "1e2", "5.0", "9" * 4_000, "9" * 5_000, "1e-400", "NaN", "-Infinity")
PAIRS = (("[", "]"), ('{"a":', "}"))
DEEPEST, DEEPEST_VALUE = 1_000, 60  # of what is written as text, and of what is copied as a value of Python
BRACKET = re.compile(r"[][{}]")

Place = tuple[Any, Any]  # a dictionary or a list, and a key of it


def places(value: Any) -> list[Place]:
    """Return every place of a value where another can be put."""
    found: list[Place] = []
    left = [value]
    while left:
        holder = left.pop()
        keys: Iterable[Any] = holder if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                left.append(holder[key])
    return found


def text_changed(text: str, rng: random.Random) -> str:
    """Return a text that is a little or entirely another; if it holds JSON, as our own fields do, the values are."""
    if text[:1] in ("{", "[") and rng.random() < 0.7 and (made := _inner(text, rng)) is not None:
        return made
    how = rng.randrange(5)
    place = rng.randrange(len(text) + 1)
    if how == 0:
        return rng.choice(TEXTS)
    if how == 1:
        return text[:place]
    if how == 2:
        return text[:place] + rng.choice(TEXTS) + text[place:]
    try:
        number = bytewise.number if how == 3 else bytewise.off_by_some
        return number(text.encode(), rng).decode()
    except UnicodeEncodeError:  # it was damaged before
        return text


def _inner(text: str, rng: random.Random) -> str | None:
    if _deep(text):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return Tree(value, rng).changed().text()


def _deep(text: str) -> bool:
    """Return whether a text was nested before: its values are too deep to be parsed and copied."""
    steps = (1 if found[0] in "[{" else -1 for found in BRACKET.finditer(text))
    return max(itertools.accumulate(steps), default=0) > DEEPEST_VALUE


class Tree:
    """A value with damage; `text` writes it as JSON, with what no value can say: odd numbers, keys twice, great depth.

    Args:
        value: what a parser returned.
        rng: the random generator.
        json: whether it will be written as JSON; otherwise everything in it is a value of Python.
    """

    def __init__(self, value: Any, rng: random.Random, *, json: bool = True) -> None:
        self.root, self.rng, self.json = [value], rng, json
        self.raw: list[str] = []  # texts that stand for values; their marks are put into the tree

    def changed(self) -> Tree:
        """Change one to three places."""
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            found = places(self.root)
            if not found:
                break
            holder, key = self.rng.choice(found[1:] or found)  # the root itself only when it is all there is
            self.rng.choice(CHANGES)(self, holder, key)
        return self

    @property
    def value(self) -> Any:
        return self.root[0] if self.root else None

    def text(self) -> str:
        """Return the value as JSON."""
        rng = self.rng
        text = json.dumps(self.value, ensure_ascii=rng.random() < 0.5, indent=1 if rng.random() < 0.1 else None)
        for number in reversed(range(len(self.raw))):  # a later one may hold an earlier
            text = text.replace(json.dumps(_mark(number)), self.raw[number])
        return text

    def stands_for(self, text: str) -> str:
        """Return the mark that will be replaced by a text."""
        self.raw.append(text)
        return _mark(len(self.raw) - 1)


def _mark(number: int) -> str:
    return f"\x01{number}\x01"


def _drop(_: Tree, holder: Any, key: Any) -> None:
    del holder[key]


def _odd(tree: Tree, holder: Any, key: Any) -> None:
    holder[key] = copy.deepcopy(tree.rng.choice((*VALUES, tree.rng.choice(TEXTS))))


def _twice(tree: Tree, holder: Any, key: Any) -> None:
    """Put an item into its list again, once or often; a member into its object under the same key."""
    if isinstance(holder, list):
        again = tree.rng.choice((1, 1, 2, 50))
        holder[key:key] = [copy.deepcopy(holder[key]) for _ in range(again)]
    elif tree.json and isinstance(key, str):
        holder[tree.stands_for(json.dumps(key))] = copy.deepcopy(tree.rng.choice((*VALUES, holder[key])))


def _other_kind(tree: Tree, holder: Any, key: Any) -> None:
    """Say the same as a value of another kind."""
    old = holder[key]
    way = tree.rng.randrange(2)
    if isinstance(old, str):
        holder[key] = int(old) if way and old.isascii() and old.isdigit() and len(old) < 50 else [old]
    elif isinstance(old, list):
        holder[key] = {str(place): item for place, item in enumerate(old)} if way or not old else old[0]
    elif isinstance(old, dict):
        holder[key] = list(old.values()) if way else [old]
    else:
        holder[key] = str(old) if way else [old]


def _other_place(tree: Tree, holder: Any, key: Any) -> None:
    """Put a value from elsewhere here."""
    there, where = tree.rng.choice(places(tree.root))
    holder[key] = copy.deepcopy(there[where])


def _swap(tree: Tree, holder: Any, key: Any) -> None:
    leaves = [(there, where) for there, where in places(tree.root) if not isinstance(there[where], (dict, list))]
    if leaves and not isinstance(holder[key], (dict, list)):
        there, where = tree.rng.choice(leaves)
        holder[key], there[where] = there[where], holder[key]


def _rename(tree: Tree, holder: Any, key: Any) -> None:
    if isinstance(holder, dict):
        known = [name for _, name in places(tree.root) if isinstance(name, str)]
        new = tree.rng.choice((*known, tree.rng.choice(TEXTS), str(key).upper(), f"{key}s"))
        holder[new] = holder.pop(key)


def _near(tree: Tree, holder: Any, key: Any) -> None:
    """Change a number or a text a little."""
    old, rng = holder[key], tree.rng
    if isinstance(old, str):
        holder[key] = text_changed(old, rng)
    elif isinstance(old, bytes):
        holder[key] = _bytes_changed(old, rng)
    elif isinstance(old, (int, float)) and not isinstance(old, bool) and math.isfinite(old):
        holder[key] = old + rng.choice((-1, 1, 2, 7, 1_000, -1_000, 0.5))


def _bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """Return other bytes: often as numbers of 32 bits, which is what arrays are stored as."""
    if len(data) >= 4 and rng.random() < 0.5:
        place = rng.randrange(len(data) // 4) * 4
        return (
            data[:place] + rng.choice((-1, 0, 1, 2, 2**31 - 1)).to_bytes(4, "little", signed=True) + data[place + 4 :]
        )
    return rng.choice((bytewise.flip, bytewise.cut, bytewise.leave_out, bytewise.repeat))(data, rng)


def _literal(tree: Tree, holder: Any, key: Any) -> None:
    literal = tree.rng.choice(LITERALS)
    if tree.json:
        holder[key] = tree.stands_for(literal)
    elif len(literal) < 20:
        holder[key] = float(literal)


def _nested(tree: Tree, holder: Any, key: Any) -> None:
    """Put a value deep into brackets, all of which close."""
    opens, closes = tree.rng.choice(PAIRS)
    depth = bytewise.deep(tree.rng, DEEPEST)
    if tree.json:
        holder[key] = tree.stands_for(opens * depth + json.dumps(holder[key]) + closes * depth)
    else:
        for _ in range(min(depth, DEEPEST_VALUE)):
            holder[key] = [holder[key]] if opens == "[" else {"a": holder[key]}


Change = Callable[[Tree, Any, Any], None]
CHANGES: tuple[Change, ...] = (
    _near, _near, _near, _near, _odd, _odd, _other_kind, _other_kind, _drop, _drop, _twice, _other_place, _swap,
    _rename, _literal, _nested,
)  # fmt: skip


def json_changed(data: bytes, rng: random.Random) -> bytes | None:
    """Return a JSON file, or one with a JSON text in each line, of which a text is another; None if it is neither."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if _deep(text):
        return None
    try:
        made = Tree(json.loads(text), rng).changed().text()
    except ValueError:
        made = _line_changed(text, rng)
    if rng.random() < 0.03:
        made = rng.choice((f"\ufeff{made}", f"{made}\n{made}", f" {made}\n\n"))
    return made.encode("utf-8", "surrogatepass") if made else None


def _line_changed(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    used = [number for number, line in enumerate(lines) if line.strip()]
    if used:
        number = rng.choice(used)
        made = _inner(lines[number], rng)
        if made is not None:
            lines[number] = made
            return "\n".join(lines)
    return ""


def island_changed(data: bytes, rng: random.Random) -> bytes | None:
    """Return a page of HTML with one of the JSON texts in its scripts changed; None if there are none."""
    begin = b'<script type="application/json"'
    pieces = data.split(begin)
    if len(pieces) < 2:
        return None
    number = rng.randrange(1, len(pieces))
    head, _, rest = pieces[number].partition(b">")
    island, _, tail = rest.partition(b"</script>")
    made = json_changed(island, rng)
    if made is None:
        return None
    pieces[number] = head + b">" + made.replace(b"\n", b" ").replace(b"</", b"<\\/") + b"</script>" + tail
    return begin.join(pieces)
