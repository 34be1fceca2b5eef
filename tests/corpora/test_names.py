"""What a knowledge base is asked once for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from linnet.corpora import names
from linnet.corpora.names import Remembering


class Rows:
    """A knowledge base that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def id(self, row: int, /) -> str:
        return f"X:{row}"

    def row(self, id: str, /) -> int:
        return int(id[2:])

    def name_texts(self, rows: Sequence[int]) -> list[str]:
        self.asked.append(list(rows))
        return [f"name {row}" for row in rows]


def test_names_are_asked_for_at_once_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "REMEMBERED", 4)
    rows = Rows()
    known = Remembering(rows)
    assert known.name_texts([3, 1, 3]) == ["name 3", "name 1", "name 3"]
    assert known.name_texts([1, 2]) == ["name 1", "name 2"]
    assert known.name_texts([1]) == ["name 1"]
    assert rows.asked == [[3, 1, 3], [2]]
    assert known.name_texts([4, 5, 1]) == ["name 4", "name 5", "name 1"]  # too many to remember all
    assert rows.asked[2:] == [[4, 5, 1]]
    assert not hasattr(Remembering(_Bare()), "name_texts")


class _Bare:
    """A knowledge base without names."""

    def id(self, row: int, /) -> str:
        return str(row)

    def row(self, id: str, /) -> int:
        return int(id)
