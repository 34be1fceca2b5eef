"""Files of arrays: what was put in comes out, damage is noticed, unfinished files do not stay."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from linnet.arrays_file import ArraysWriter, Stored, kept, open_arrays, replaced
from linnet.errors import KnowledgeBaseError, LinnetWarning

MAGIC = b"some arrays\n"
ARRAYS = {
    "numbers": np.arange(5, dtype=np.int32),
    "none": np.empty(0, np.float32),
    "words": np.array(["β", "cell"]),
    "turned": np.arange(6, dtype=np.uint64)[::-2],
}


def write(file: IO[bytes]) -> Stored:
    writer = ArraysWriter(file, MAGIC)
    for name, values in ARRAYS.items():
        writer.put(name, values)
    file.write("claimed".encode("utf-16-le"))
    writer.claim("text", np.uint16)
    return writer.finish({"tag": "v1"})


def test_what_was_put_in_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for stored in (replaced(path, write), open_arrays(path, MAGIC, names=ARRAYS)):
        assert stored is not None
        assert stored.header["tag"] == "v1"
        for name, values in ARRAYS.items():
            assert stored.arrays[name].dtype == values.dtype
            assert stored.arrays[name].tolist() == values.tolist()
            assert not stored.arrays[name].flags.writeable
        assert stored.arrays["text"].tobytes().decode("utf-16-le") == "claimed"
        assert all(place % 64 == 0 for place, _, _ in stored.header["arrays"].values())
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    replaced(path, write)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_arrays_that_are_not_there(tmp_path: Path) -> None:
    replaced(tmp_path / "a", write)
    assert open_arrays(tmp_path / "a", MAGIC, names=["numbers", "other"]) is None
    assert open_arrays(tmp_path / "a", b"other arrays\n", names=[]) is None
    assert open_arrays(tmp_path / "b", MAGIC, names=[]) is None


@pytest.mark.parametrize(
    "header", [b"", b"\0", b"[]", b"{}", b'{"arrays": {"numbers": [1e9, 5, "<i4"]}}', b'{"arrays": {"n": [64, 1]}}']
)
def test_headers_of_all_kinds(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "a"
    replaced(path, write)
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b'{"tag"')] + header)
    assert open_arrays(path, MAGIC, names=[]) is None


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replaced(path, write)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert open_arrays(path, MAGIC, names=ARRAYS) is None, length


def test_every_changed_byte_is_noticed_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a"
    replaced(path, write)
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert open_arrays(path, MAGIC, names=ARRAYS) is None, place
    assert caplog.messages == [f"{path}: damaged, cut short or of an earlier format: it is built again"] * (
        len(data) - len(MAGIC)
    )


def test_a_build_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replaced(path, write)

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replaced(path, fail)
    assert open_arrays(path, MAGIC, names=ARRAYS) is not None
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_parts_of_dead_builds_are_removed(tmp_path: Path) -> None:
    yesterday = time.time() - 100_000
    for name in ("aabcdefgh.part", "a12345678.part", "bcdefghij.part", "a"):
        (tmp_path / name).write_bytes(b"old")
        os.utime(tmp_path / name, (yesterday, yesterday))
    (tmp_path / "aijklmnop.part").write_bytes(b"of a build that is going on")
    replaced(tmp_path / "a", write)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "aijklmnop.part", "bcdefghij.part"]


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.warns(LinnetWarning, match=r"\(Read-only file system\): the list is built again each time"):
        assert kept(tmp_path / "a", write, what="list").arrays["numbers"].tolist() == [0, 1, 2, 3, 4]
    assert not (tmp_path / "a").exists()
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.warns(LinnetWarning), pytest.raises(KnowledgeBaseError, match=r"the list .*/a cannot be written, nor"):
        kept(tmp_path / "a", write, what="list")
