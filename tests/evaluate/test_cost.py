from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linnet.data import Document, Mention
from linnet.evaluate import cost as module
from linnet.evaluate.cost import Meter, cost, size_on_disk


class Linker:
    """Marks the first character, and counts what it is asked to do."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.weights = np.zeros(6)

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
    assert (found.documents, found.mentions, found.index_bytes, found.parameters) == (8, 8, 5, 6)
    assert dict(found.rows())["documents/s"] == "4 (median of 3 warm runs)"


def test_memory_is_the_peak_of_the_block_and_files_apart() -> None:
    with Meter() as before:
        pass
    with Meter() as meter:
        held = np.ones(8 << 20)  # 64 MiB
        looked = False
        while not looked and meter.anonymous is not None:  # until the sampling thread has had its turn
            looked = meter.anonymous - (before.anonymous or 0) > 50 << 20
            time.sleep(0.01)
        assert held.sum() > 0
        del held
    if meter.anonymous is None or before.anonymous is None:
        pytest.skip("this system does not tell anonymous memory")
    assert meter.anonymous - before.anonymous > 50 << 20
    assert meter.mapped is not None


@pytest.mark.parametrize("text", [None, "", "RssAnon:\t\n", "RssAnon:\t 5 kB\n", "no colon"])
def test_systems_that_do_not_tell_memory(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "status"
    if text is not None:
        path.write_text(text)
    assert module._memory(path) == (None, None)


def test_sizes_count_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"123")
    assert size_on_disk([tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "none"]) == 3
