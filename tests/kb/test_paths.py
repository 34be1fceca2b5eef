"""Ways through the hierarchy, also where it has two roots, two ways or a circle."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.paths import path_between, path_up

ABOVE = {"X:r": (), "X:a": ("X:r",), "X:b": ("X:a", "X:s"), "X:c": ("X:a",), "X:s": (), "X:d": ("X:b",)}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = [Concept(id, (Name(id),), parents=parents) for id, parents in ABOVE.items()]
    return build(concepts, tmp_path_factory.mktemp("tree") / "tree.kb", sources=[{"vocabulary": "test"}])


def ids(kb: KnowledgeBase, rows: tuple[int, ...]) -> str:
    return "".join(kb.id(row)[-1] for row in rows)


@pytest.mark.parametrize(("start", "way"), [("d", "dbs"), ("c", "car"), ("r", "r")])
def test_the_shortest_way_to_a_root(tree: KnowledgeBase, start: str, way: str) -> None:
    found = path_up(tree, tree.row(f"X:{start}"))
    assert (ids(tree, found.rows), found.top) == (way, len(way) - 1)


@pytest.mark.parametrize(
    ("start", "end", "way", "top"),
    [
        ("d", "c", "dbac", "a"),
        ("c", "d", "cabd", "a"),
        ("d", "s", "dbs", "s"),
        ("r", "c", "rac", "r"),
        ("b", "b", "b", "b"),
    ],
)
def test_the_way_over_the_nearest_common_ancestor(
    tree: KnowledgeBase, start: str, end: str, way: str, top: str
) -> None:
    found = path_between(tree, tree.row(f"X:{start}"), tree.row(f"X:{end}"))
    assert found is not None
    assert (ids(tree, found.rows), ids(tree, (found.rows[found.top],))) == (way, top)


def test_no_common_ancestor(tree: KnowledgeBase) -> None:
    assert path_between(tree, tree.row("X:c"), tree.row("X:s")) is None


def test_a_circle_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    class Circle:
        def parents(self, row: int) -> np.ndarray:
            return np.array([(row + 1) % 3])

    found = path_up(Circle(), 0)  # type: ignore[arg-type]
    assert found.rows == (0,)
