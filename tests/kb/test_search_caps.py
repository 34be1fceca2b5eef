"""Search of large terminologies: the same results by either way of filtering, and work that is bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.bench.synthetic import synthetic
from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
from linnet.kb import search as kb_search
from linnet.kb.build import build
from linnet.kb.search import search

TEXTS = ["disease", "acute left", "di", "chronic disorder of", "structure hae", "of", "hae", "left fracture zzz"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(synthetic(8000), tmp_path_factory.mktemp("large") / "large.kb")


def ids(kb: KnowledgeBase, text: str, **filters: Any) -> list[str]:
    return [hit.id for hit in kb.search(text, **filters)]


@pytest.mark.parametrize("text", TEXTS)
def test_filters_hold_by_either_way(large: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    root = "SYN:C0000040"
    kinds = list(large.types())
    for filters in (
        {"types": [kinds[0]]},
        {"types": kinds[-2:]},
        {"under": [root]},
        {"types": kinds[:3], "under": [root]},
    ):
        mask = large.mask(types=filters.get("types"), under=filters.get("under"))
        lists = []
        for few in (0, 100_000):
            monkeypatch.setattr(kb_search, "FEW", few)
            hits = large.search(text, limit=50, **filters)
            assert all(hit.row in mask for hit in hits)
            lists.append([hit.row for hit in hits if hit.tier in ("id", "exact", "prefix")])
        if max(map(len, lists)) < 50:
            assert lists[0] == lists[1]


def test_a_small_type_is_found_behind_a_frequent_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Concept(f"A:{i}", (Name(f"acute disease {i}"),), ("A",)) for i in range(300)]
    last = Concept("B:1", (Name("Chronic diseases"),), ("B",), parents=("A:7",))
    kb = build([*many, last], tmp_path / "a.kb")
    monkeypatch.setattr(kb_search, "SCAN", 50)
    monkeypatch.setattr(kb_search, "CAP", 20)
    for filters in ({"types": ["B"]}, {"under": ["B:1"]}, {"types": ["B"], "under": ["A:7"]}):
        for text in ("disease", "disease chronic", "dis", "seldom disease"):
            assert ids(kb, text, **filters) == ["B:1"]


def test_a_small_type_in_a_large_subtree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Concept(f"A:{i}", (Name(f"acute disease {i}"),), ("A",), parents=("R:1",)) for i in range(300)]
    kinds = [Concept(f"B:{i}", (Name("Chronic diseases"),), ("B",), parents=(f"R:{i}",)) for i in (1, 2)]
    kb = build([Concept("R:1", (Name("root"),)), Concept("R:2", (Name("other"),)), *many, *kinds], tmp_path / "a.kb")
    for name, value in (("SCAN", 50), ("CAP", 20), ("FEW", 100)):
        monkeypatch.setattr(kb_search, name, value)
    for text in ("disease", "disease chronic", "dis", "seldom disease"):
        assert ids(kb, text, types=["B"], under=["R:1"]) == ["B:1"]


def test_no_query_reads_more_than_its_cap(large: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_search, "CAP", 30)
    counts: list[int] = []

    def counting(sql: str, *values: object) -> Iterator[Any]:
        rows = list(large._rows(sql, *values))
        counts.append(len(rows))
        return iter(rows)

    for text in TEXTS:
        assert search(counting, text, types=(), under=(), limit=10_000)
    assert max(counts) == 30


def test_half_typed_words(large: KnowledgeBase) -> None:
    concept = next(large[row] for row in range(len(large)) if len(large[row].name.split()) == 3)
    first, middle, last = concept.name.lower().split()
    for end in range(3, len(last)):
        assert concept.id in ids(large, f"{middle} {first} {last[:end]}")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("root", ["SYN:C0000001", "SYN:C0000009", "SYN:C0000300"])
def test_climbing_finds_what_is_under_a_concept(
    large: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, text: str, root: str
) -> None:
    monkeypatch.setattr(kb_search, "FEW", 0)
    monkeypatch.setattr(kb_search, "CAP", 1 << 20)
    below = large.mask(under=[root])
    wanted = [hit.row for hit in large.search(text, limit=100_000) if hit.row in below]
    assert [hit.row for hit in large.search(text, under=[root], limit=100_000)] == wanted
    assert [hit.row for hit in large.search(text, under=[root], limit=7)] == wanted[:7]


def test_nothing_is_climbed_from_twice(large: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_search, "FEW", 0)
    climbed: list[tuple[int, int]] = []

    def counting(sql: str, *values: object) -> Iterator[Any]:
        rows = list(large._rows(sql, *values))
        if sql.startswith("SELECT concept, parent"):
            climbed.extend(rows)
        return iter(rows)

    root = large.row("SYN:C0000300")
    below = large.mask(under=["SYN:C0000300"])
    hits = search(counting, "disease", types=(), under=[root], limit=1000)
    assert all(hit.row in below for hit in hits)
    assert 0 < len(climbed) == len(set(climbed))


def test_what_is_far_below_is_found() -> None:
    levels = 100_000
    asked: list[str] = []

    def parents(sql: str, *_: object) -> Iterator[tuple[int, int]]:
        asked.append(sql)
        return ((int(row), int(row) - 1) for row in re.findall(r"\d+", sql) if row != "0")

    rows = [levels, levels // 2, 7, 0]
    climb = kb_search._Climb(parents, [1])
    assert [row for row, _ in climb.passing((row, "") for row in rows)] == rows[:3]
    assert len(asked) <= levels + 1


def test_a_search_goes_as_deep_as_the_terminology(tmp_path: Path) -> None:
    chain = (Concept(f"C:{i}", (Name(f"stage {i}"),), parents=(f"C:{i - 1}",) if i else ()) for i in range(7000))
    kb = build(chain, tmp_path / "a.kb")
    for text in ("stage 6999", "C:6999", "6999 stage"):
        assert ids(kb, text, under=["C:1"])[0] == "C:6999"
