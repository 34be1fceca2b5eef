"""Whether time grows faster than content: files made larger by what stands in them again and again.

A piece is taken out of a seed (an item of a list, an element, lines, a cell, the text of a value) and put in its place
so often that the file has the size asked for; its first number counts, or not, since many readers refuse ids that stand
twice. What writers make of many documents, or of a long one, comes first.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from linnet.errors import LinnetError
from tools.fuzz.seeds import Files, Target
from tools.fuzz.trees import places
from tools.fuzz.watch import Peak, limited

SMALL, TIMES = 500_000, 4  # bytes, and how much more the larger file has
ALLOWED = 9.0  # times as long as the small file the large may take: three for each doubling
FLOOR = 0.5  # seconds below which it does not matter
HELD = 400.0  # MB at the peak for the large file
LIMIT = 30.0  # seconds for one file
MARK = "\x02"
NUMBER = re.compile(rb"\d+")

Sized = Callable[[int], Files]  # about so many bytes


@dataclass(frozen=True, slots=True)
class Repeated:
    """A piece between what stands before it and behind it."""

    head: bytes
    piece: bytes
    tail: bytes
    joint: bytes
    counts: bool

    def sized(self, size: int) -> bytes:
        """Return about so many bytes."""
        made: list[bytes] = []
        room = size - len(self.head) - len(self.tail)
        for copy in self._copies():
            made.append(copy)
            room -= len(copy) + len(self.joint)
            if room <= 0:
                break
        return self.head + self.joint.join(made) + self.tail

    def _copies(self) -> Iterator[bytes]:
        found = NUMBER.search(self.piece)
        if not found or not self.counts:
            yield from itertools.repeat(self.piece or b"x")
            return
        first, width = int(found[0][:9]), len(found[0])
        parts = re.split(rb"(?<!\d)" + found[0] + rb"(?!\d)", self.piece)
        yield from ((b"%0*d" % (width, number)).join(parts) for number in itertools.count(first))


def ways(target: Target, pieces: int, seed: str) -> Iterator[Sized]:
    """Yield ways to make larger files for a reader."""
    if target.larger and pieces:
        larger = target.larger
        yield lambda size: larger(size, False)
        if not target.name.startswith("kb/"):
            yield lambda size: larger(size, True)
    for number in range(pieces):
        made = _repeated(target, random.Random(f"{seed}:{target.name}:larger:{number}"))
        if made:
            yield made


def _repeated(target: Target, rng: random.Random) -> Sized | None:
    files = rng.choice(target.seeds)
    name = rng.choice(sorted(files))
    found = piece(files[name], rng)
    return (lambda size: {**files, name: found.sized(size)}) if found else None


def piece(data: bytes, rng: random.Random) -> Repeated | None:
    """Return a piece of a file; None of one that is not text."""
    counts = rng.random() < 0.7
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    first = text[:200].lstrip()[:1]
    if first in ("{", "["):
        return _of_json(text, counts, rng)
    if first == "<" and (found := _of_xml(data, counts, rng)):
        return found
    return _of_lines(data, counts, rng)


def _of_json(text: str, counts: bool, rng: random.Random) -> Repeated:
    """Return an item of a list, the text of a value, or a line where each has a JSON text."""
    before, after = "", ""
    try:
        value: Any = json.loads(text)
    except ValueError:
        lines = text.splitlines(keepends=True)
        number = rng.randrange(len(lines))
        before, text, after = "".join(lines[:number]), lines[number], "".join(lines[number + 1 :])
        if rng.randrange(2):
            return Repeated(before.encode(), text.encode(), after.encode(), b"", counts)
        value = json.loads(text)
    found = [(there, key) for there, key in places([value]) if isinstance(there, list) or isinstance(there[key], str)]
    holder, key = rng.choice(found[1:] or found)
    old = holder[key]
    whole = isinstance(holder, list) and not (isinstance(old, str) and rng.randrange(2))
    inner = json.dumps(old, ensure_ascii=False)
    holder[key] = MARK
    mark = json.dumps(MARK)
    head, _, tail = json.dumps(value, ensure_ascii=False).partition(mark if whole else mark[1:-1])
    made = inner if whole else inner[1:-1]
    return Repeated((before + head).encode(), made.encode(), (tail + after).encode(), b", " if whole else b"", counts)


def _of_xml(data: bytes, counts: bool, rng: random.Random) -> Repeated | None:
    """Return an element, or a text."""
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None
    elements = [one for one in root.iter() if isinstance(one.tag, str)][1:]
    if not elements:
        return None
    element = rng.choice(elements)
    if element.text and element.text.strip() and rng.random() < 0.3:
        plain, element.text = element.text, "MARK"
        marked, made = b"MARK", re.sub("[<&]", " ", plain).encode()
    else:
        marked, made = b"<MARK/>", etree.tostring(element, encoding="utf-8")
        mark = etree.Element("MARK")
        element.getparent().replace(element, mark)  # type: ignore[union-attr] # none of them is the root
        mark.tail = None
    head, _, tail = etree.tostring(root.getroottree(), encoding="utf-8").partition(marked)
    return Repeated(head, made, tail, b"", counts)


def _of_lines(data: bytes, counts: bool, rng: random.Random) -> Repeated:
    """Return some lines, what stands between blank ones, or a word."""
    how = rng.randrange(3)
    pattern = (rb"(?:[^\n]*\n){1,3}", rb"(?:[^\n]+\n)+\n?", rb"[^\s|,]+[\s|,]?")[how]
    found = list(re.finditer(pattern, data))
    if not found:
        return Repeated(data, b"x", b"", b"", counts)
    match = rng.choice(found)
    return Repeated(data[: match.start()], match[0], data[match.end() :], b"", counts)


@dataclass(frozen=True, slots=True)
class Taken:
    """What reading a file took: seconds, and MB at the peak."""

    seconds: float
    megabytes: float


def taken(folder: Path, target: Target) -> Taken:
    """Read a file to its end, or to where it is refused."""
    rng = random.Random(0)  # so that formats are told apart by name
    peak, started = Peak(), time.process_time()
    with limited(LIMIT):
        try:
            for _ in target.read(folder, rng):
                pass
        except LinnetError:
            pass
    return Taken(time.process_time() - started, peak.rise())


def fault(small: Taken, large: Taken) -> str:
    """Return what is wrong with what a file and one `TIMES` as large took; nothing if all is in proportion."""
    if large.seconds > FLOOR and large.seconds > ALLOWED * max(small.seconds, 0.01):
        return f"{TIMES} times the content takes {large.seconds / max(small.seconds, 0.01):.0f} times as long"
    if large.megabytes > HELD:
        return f"takes more than {HELD:.0f} MB for {SMALL * TIMES:,} bytes"
    return ""
