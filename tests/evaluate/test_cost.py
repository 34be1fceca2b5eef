from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linnet.data import Document, Mention
from linnet.evaluate.cost import cost, size_on_disk


class Linker:
    """Marks the first character, and counts what it is asked to do."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, docs: Sequence[Document]) -> list[Document]:
        self.calls.append(len(docs))
        return [replace(doc, mentions=(Mention(0, 1),)) for doc in docs]


def test_speed_is_that_of_the_median_warm_run(tmp_path: Path) -> None:
    # loading takes 2 s; the warm runs take 4, 1 and 2 s
    times = iter([0.0, 2.0, 10.0, 14.0, 20.0, 21.0, 30.0, 32.0])
    linker = Linker()
    (tmp_path / "index").write_bytes(b"12345")
    docs = [Document.of(str(n)) for n in range(8)]
    found = cost(lambda: linker, docs, repeats=3, index=[tmp_path], clock=lambda: next(times))
    assert linker.calls == [1, 8, 8, 8, 8]
    assert (found.documents_per_second, found.mentions_per_second, found.load_seconds) == (4.0, 4.0, 2.0)
    assert (found.slowest, found.fastest) == (2.0, 8.0)
    assert (found.documents, found.mentions, found.index_bytes, found.parameters) == (8, 8, 5, 0)
    assert dict(found.rows())["documents/s"] == "4 (median of 3 warm runs)"


def test_sizes_count_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"123")
    assert size_on_disk([tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "none"]) == 3
