"""Approximate search against a slow, exact one, and its files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from linnet.errors import FormatError
from linnet.index import approximate
from linnet.index.approximate import Approximate, Hnsw, Ivf
from linnet.index.flat import Flat
from linnet.kb import Mask

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
KINDS = (Hnsw, Ivf)
LEAST = {"hnsw": 0.97, "ivf": 0.8}  # these few vectors lie in all directions: cells help little
SIZE, CONCEPTS, NAMES = 16, 400, 3000


@pytest.fixture(scope="module")
def data() -> tuple[Floats, Ints, Floats]:
    """Vectors of names around the centre of their concept, the concepts, and queries near some names."""
    rng = np.random.default_rng(13)
    rows = rng.integers(0, CONCEPTS, NAMES).astype(np.int32)
    vectors = _unit(rng.normal(size=(CONCEPTS, SIZE))[rows] + 0.5 * rng.normal(size=(NAMES, SIZE)))
    queries = _unit(vectors[rng.choice(NAMES, 60, replace=False)] + 0.1 * rng.normal(size=(60, SIZE)))
    return vectors, rows, queries


def _unit(values: npt.NDArray[np.floating]) -> Floats:
    unit: Floats = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.SUFFIX)
def index(request: pytest.FixtureRequest, data: tuple[Floats, Ints, Floats]) -> Approximate:
    kind: type[Approximate] = request.param
    return kind.build(data[0], data[1])


def recall(index: Approximate, data: tuple[Floats, Ints, Floats], k: int, mask: Mask | None = None) -> float:
    """Return the share of the exact first k that are among those found, which are checked by the way."""
    vectors, rows, queries = data
    masks = [mask] * len(queries)
    want, have = Flat(vectors, rows).search(queries, k, masks), index.search(queries, k, masks)
    shares = []
    for query, exact, found in zip(queries, want, have, strict=True):
        assert len(found.rows) == len(exact.rows)
        assert len(set(found.rows.tolist())) == len(found.rows)
        assert found.rows.dtype == found.names.dtype == np.int32
        assert rows[found.names].tolist() == found.rows.tolist()
        assert found.scores == pytest.approx(vectors[found.names] @ query, abs=1e-6)
        assert (np.diff(found.scores) <= 0).all()
        assert mask is None or mask.array[found.rows].all()
        common = set(exact.rows.tolist()) & set(found.rows.tolist())
        shares.append(len(common) / len(exact.rows) if len(exact.rows) else 1.0)
    return float(np.mean(shares))


@pytest.mark.parametrize("k", [1, 20])
def test_nearly_all_that_exact_search_finds_is_found(
    index: Approximate, data: tuple[Floats, Ints, Floats], k: int
) -> None:
    assert recall(index, data, k) >= LEAST[index.SUFFIX]


@pytest.mark.parametrize("share", [0.9, 0.3, 0.02, 0.0])
@pytest.mark.parametrize("few", [0, 200])
def test_masks_are_kept_to_and_k_is_honoured(
    index: Approximate, data: tuple[Floats, Ints, Floats], monkeypatch: pytest.MonkeyPatch, share: float, few: int
) -> None:
    monkeypatch.setattr(approximate, "FEW", few)
    mask = Mask(np.random.default_rng(3).random(CONCEPTS) < share, "v")
    assert recall(index, data, 20, mask) >= LEAST[index.SUFFIX]


def test_cells_find_as_much_where_few_names_are_allowed(
    data: tuple[Floats, Ints, Floats], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"FEW": 0, "FEWEST": 1, "PER_CELL": 30, "SAMPLE": 100}.items():
        monkeypatch.setattr(approximate, name, value)
    index = Ivf.build(data[0], data[1])
    mask = Mask(np.arange(CONCEPTS) % 10 == 0, "v")
    assert recall(index, data, 5, mask) >= recall(index, data, 5) > 0.2  # three of a hundred cells
    assert capfd.readouterr() == ("", "")  # Faiss says what it would like to be taught with


@pytest.mark.parametrize("k", [CONCEPTS - 1, 10_000])
def test_all_concepts_can_be_asked_for(index: Approximate, data: tuple[Floats, Ints, Floats], k: int) -> None:
    assert recall(index, data, k) == 1.0


def test_each_query_has_a_mask_of_its_own(index: Approximate, data: tuple[Floats, Ints, Floats]) -> None:
    odd, even = (Mask(np.arange(CONCEPTS) % 2 == rest, "v") for rest in (1, 0))
    found = index.search(data[2][:3], 5, [odd, None, even])
    assert all(found[0].rows % 2 == 1)
    assert all(found[2].rows % 2 == 0)
    assert found[1].rows.tolist() == index.search(data[2][1:2], 5)[0].rows.tolist()


def test_one_at_a_time_finds_the_same(index: Approximate, data: tuple[Floats, Ints, Floats]) -> None:
    together = index.search(data[2], 5)
    for query, found in zip(data[2], together, strict=True):
        [alone] = index.search(query[None], 5)
        assert alone.rows.tolist() == found.rows.tolist()


def test_a_concept_with_most_of_the_names_does_not_hide_the_others() -> None:
    vectors = _unit(np.r_[np.tile([[1.0, 0.0]], (500, 1)), [[0.0, 1.0]], [[0.6, 0.8]]])
    rows = np.r_[np.zeros(500), 1, 2].astype(np.int32)
    for kind in KINDS:
        [found] = kind.build(vectors, rows).search(vectors[:1], 3)
        assert found.rows.tolist() == [0, 2, 1]
        assert found.names.tolist()[1:] == [501, 500]


@pytest.mark.parametrize("kind", KINDS)
def test_no_names_and_no_queries(kind: type[Approximate], data: tuple[Floats, Ints, Floats]) -> None:
    empty = kind.build(np.zeros((0, SIZE), np.float32), np.zeros(0, np.int32))
    assert [found.rows.tolist() for found in empty.search(data[2][:2], 3)] == [[], []]
    assert kind.build(data[0][:5], data[1][:5]).search(data[2][:0], 3) == []


def test_progress_is_told(data: tuple[Floats, Ints, Floats], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "BLOCK", 1000)
    told: list[int] = []
    Hnsw.build(data[0], data[1], progress=told.append)
    assert told == [1000, 2000, 3000]


# --- files -----------------------------------------------------------------------------------------------------------

ABOUT = {"kb": "v1", "encoder": "e"}


def test_what_was_saved_finds_the_same(index: Approximate, data: tuple[Floats, Ints, Floats], tmp_path: Path) -> None:
    path = tmp_path / "names.index"
    index.save(path, ABOUT)
    again = type(index).open(path, data[0], data[1], ABOUT)
    want = [found.rows.tolist() for found in index.search(data[2], 7)]
    assert [found.rows.tolist() for found in again.search(data[2], 7)] == want


def test_a_damaged_or_foreign_file_is_refused_by_name(
    index: Approximate, data: tuple[Floats, Ints, Floats], tmp_path: Path
) -> None:
    kind, path = type(index), tmp_path / "names.index"
    with pytest.raises(FormatError, match=r"names\.index.*cannot be read"):
        kind.open(path, data[0], data[1], ABOUT)
    index.save(path, ABOUT)
    whole = path.read_bytes()
    with pytest.raises(FormatError, match=r"names\.index.*kb: 'v1', expected 'v2'"):
        kind.open(path, data[0], data[1], {**ABOUT, "kb": "v2"})
    with pytest.raises(FormatError, match=r"vectors: 3000, expected 2999"):
        kind.open(path, data[0][1:], data[1][1:], ABOUT)
    for cut in (0, 10, 1000, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(FormatError, match=r"names\.index.*no index, or one that is cut short"):
            kind.open(path, data[0], data[1], ABOUT)
    changed = (whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(0, len(whole), 5003))
    for damaged in (whole[5000:], *changed):  # of the first the end is there, the beginning is not
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"names\.index.*damaged"):
            kind.open(path, data[0], data[1], ABOUT)


def test_a_crash_leaves_the_old_index(
    index: Approximate, data: tuple[Floats, Ints, Floats], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "names.index"
    index.save(path, ABOUT)
    before = path.read_bytes()

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        index.save(path, {**ABOUT, "kb": "v2"})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["names.index"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_os_error(index: Approximate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "mkstemp", lambda **_: (_full(), str(tmp_path / "part")))
    with pytest.raises(OSError, match=r"."):
        index.save(tmp_path / "names.index", ABOUT)


def _full() -> int:
    return os.open("/dev/full", os.O_RDWR)


@pytest.mark.parametrize("kind", [Flat, Hnsw, Ivf])
def test_equal_names_come_by_row_whatever_is_searched_beside_them(kind: Any) -> None:
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(600, 48)).astype(np.float32)
    vectors[300:] = vectors[:300]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    concepts = np.arange(600, dtype=np.int32)
    index = kind(vectors, concepts) if kind is Flat else kind.build(vectors, concepts)
    queries = vectors[:64] + 0.1 * chance.normal(size=(64, 48)).astype(np.float32)
    together = index.search(queries, 2)
    alone = [index.search(query[None], 2)[0] for query in queries]
    for one, other in zip(together, alone, strict=True):
        assert one.rows.tolist() == other.rows.tolist()
        assert one.scores.tolist() == other.scores.tolist()
        assert one.scores[0] == one.scores[1]
        assert one.rows[1] == one.rows[0] + 300
