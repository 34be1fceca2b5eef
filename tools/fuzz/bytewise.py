"""Damage to bytes, whatever they mean: one to four changes each, by a random generator alone."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable

NUMBERS = (
    b"-1", b"0", b"1", b"2147483648", b"9" * 30, b"9" * 5_000, b"1e999", b"1e-400", b"NaN", b"-0", b"+5", b"0x10",
    b"1_000", b"0005", b" 5 ", "٣".encode(), "１２".encode(), "²".encode(), b"1.5", b"",
)  # fmt: skip
TEXTS = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\u202e".encode(), "🧬".encode(), b"\r",
    b"\t", b"\n", b"|", b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"&#0;", b"&x;", b"]]>", b"<!--", b"..", b"../",
    b"/", b"null", b"{}", b"[]", b"true", b"", b"-", b":", b"=", b"%s", b" ", b"A" * 5_000, b"\x0b", b"\x1c",
    "\x85".encode(), "e\u0301".encode(), "\ufffe".encode(), b"HP:0001250", b"MESH:", b",", b";", b"#", b"^", b"!",
)  # fmt: skip
NESTS = ((b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"), (b'[{"passages":', b"}]"))
NUMBER = re.compile(rb"\d+")
TOKEN = re.compile(rb"[\w:.-]+")
DEPTH = 3_000


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _slice(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = _place(data, rng)
    return start, min(len(data), start + rng.choice((1, 2, 8, 40, 400)))


def flip(data: bytes, rng: random.Random) -> bytes:
    """One bit."""
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """The rest is missing."""
    return data[: _place(data, rng)]


def leave_out(data: bytes, rng: random.Random) -> bytes:
    """A piece is missing."""
    start, end = _slice(data, rng)
    return data[:start] + data[end:]


def repeat(data: bytes, rng: random.Random) -> bytes:
    """A piece stands there several times."""
    start, end = _slice(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def insert(data: bytes, rng: random.Random) -> bytes:
    """Something odd stands between."""
    place = _place(data, rng)
    return data[:place] + rng.choice(TEXTS) + data[place:]


def _replaced(pattern: re.Pattern[bytes], data: bytes, new: bytes, rng: random.Random) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + new + data[match.end() :]


def number(data: bytes, rng: random.Random) -> bytes:
    """A number is another."""
    return _replaced(NUMBER, data, rng.choice(NUMBERS), rng)


def off_by_some(data: bytes, rng: random.Random) -> bytes:
    """A number is a little wrong."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    near = str(int(match[0][:15]) + rng.choice((-1, 1, 7, 1000))).encode()
    return data[: match.start()] + near + data[match.end() :]


def token(data: bytes, rng: random.Random) -> bytes:
    """A word stands where another should, or something odd."""
    words = TOKEN.findall(data)
    return _replaced(TOKEN, data, rng.choice([*words[:200], *TEXTS]), rng)


def lines(data: bytes, rng: random.Random) -> bytes:
    """Lines in another order, twice, or one of them missing."""
    rows = data.split(b"\n")
    first, second = rng.randrange(len(rows)), rng.randrange(len(rows))
    how = rng.randrange(3)
    if how == 0:
        rows[first], rows[second] = rows[second], rows[first]
    elif how == 1:
        rows.insert(second, rows[first])
    else:
        del rows[first]
    return b"\n".join(rows)


def cells(data: bytes, rng: random.Random) -> bytes:
    """A cell of a line is missing, stands twice, in another's place, or is something odd."""
    rows = data.split(b"\n")
    row = rng.randrange(len(rows))
    between = next((mark for mark in (b"\t", b"|", b",", b" ") if mark in rows[row]), b":")
    cut = rows[row].split(between)
    first, second = rng.randrange(len(cut)), rng.randrange(len(cut))
    how = rng.randrange(4)
    if how == 0:
        del cut[first]
    elif how == 1:
        cut.insert(second, cut[first])
    elif how == 2:
        cut[first], cut[second] = cut[second], cut[first]
    else:
        cut[first] = rng.choice((*NUMBERS, *TEXTS))
    rows[row] = between.join(cut)
    return b"\n".join(rows)


def deep(rng: random.Random, most: int = DEPTH) -> int:
    """Return how deep something is nested: as often up to ten times as up to a hundred."""
    return min(most, int(10 ** rng.uniform(0, 3.5)))


def nest(data: bytes, rng: random.Random) -> bytes:
    """Something opens very often, and closes or not."""
    start, end = _slice(data, rng)
    depth = deep(rng)
    opens, closes = rng.choice(NESTS)
    return data[:start] + opens * depth + data[start:end] + closes * (depth * rng.randrange(2)) + data[end:]


def packed(data: bytes, rng: random.Random) -> bytes:
    """Packed with gzip, and perhaps damaged then, or packed twice."""
    made = gzip.compress(data, mtime=0)
    return rng.choice((made, flip(made, rng), cut(made, rng), gzip.compress(made, mtime=0)))


def recoded(data: bytes, rng: random.Random) -> bytes:
    """In another encoding."""
    return data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "latin-1")), "replace")


def noise(_data: bytes, rng: random.Random) -> bytes:
    """Nothing but noise."""
    return rng.randbytes(rng.choice((0, 1, 50, 3_000)))


Change = Callable[[bytes, random.Random], bytes]
CHANGES: tuple[Change, ...] = (
    flip, flip, cut, leave_out, repeat, insert, insert, number, number, off_by_some, token, token, lines,
    cells, cells, nest,
)  # fmt: skip
WHOLE: tuple[Change, ...] = (packed, recoded, noise)


def changed(data: bytes, rng: random.Random) -> bytes:
    """Return damaged bytes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(CHANGES)(data, rng)
    return rng.choice(WHOLE)(data, rng) if rng.random() < 0.03 else data
