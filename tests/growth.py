"""Hierarchies of very many levels, and how time grows with them."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

LINEAR = 40  # times as long as a tenth may take, where time grows with the size: its square would take 100 times


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as long `work` takes for `size` as for a tenth of it: the least of three attempts.

    Other work on the machine, and the garbage collector, only add to it; the attempts end with the first good one.
    """

    def seconds(size: int) -> float:
        begin = time.process_time()
        work(size)
        return time.process_time() - begin

    least = math.inf
    for _ in range(3):
        tenth = min(seconds(size // 10) for _ in range(3))
        least = min(least, seconds(size) / tenth)
        if least < LINEAR:
            break
    return least


def noted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[Any]:
    """Return a list to which the arguments of every call of a method are added from now on."""
    calls: list[Any] = []
    original = getattr(owner, name)

    def noting(*args: Any) -> Any:
        calls.append(args)
        return original(*args)

    monkeypatch.setattr(owner, name, noting)
    return calls


def deep(path: Path, levels: int) -> KnowledgeBase:
    """Build a knowledge base of C:0 over C:1 over C:2 and so on; only the first has a name."""
    build([Concept("C:0", (Name("top"),))], path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "WITH RECURSIVE level(row) AS (VALUES (1) UNION ALL SELECT row + 1 FROM level LIMIT ?) "
            "INSERT INTO concepts SELECT row, 'C:' || row, '', 0 FROM level",
            (levels - 1,),
        )
        connection.execute("INSERT INTO parents SELECT row, row - 1 FROM concepts WHERE row > 0")
    return KnowledgeBase.open(path)
