"""Files beside a knowledge base: made once, brought up to date, waited for, as good as none when damaged."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.arrays_file import ArraysWriter, Stored, open_arrays, replaced
from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.home import hold
from linnet.kb import KnowledgeBase, side_files
from linnet.kb.build import build
from linnet.kb.edit import Edit, edit
from linnet.kb.side_files import Earlier, Layers, SideFile

Rows = dict[int, tuple[int, int]]  # name row -> concept, length
READ: list[str] = []  # every name that is read from a knowledge base


class Lengths(SideFile[Rows]):
    """How long names are that are longer than some length."""

    WHAT = "list of lengths"
    SUFFIX = "lengths"
    MAGIC = b"lengths\n"
    ARRAYS = ("rows", "concepts", "lengths")
    ANEW = 0.25

    def __init__(self, kb: KnowledgeBase, longer: int = 0, rules: int = 1) -> None:
        super().__init__(kb, {"longer": longer}, {"rules": rules})

    def write(
        self, writer: ArraysWriter, concepts: Sequence[int] | None, earlier: Earlier[Rows] | None
    ) -> dict[str, Any]:
        names = [name for name in self.kb.names(concepts) if len(name.text) > self.about["longer"]]
        READ.extend(name.text for name in names)
        found = [(name.row, name.concept, len(name.text)) for name in names]
        if earlier is not None:
            old = [(row, *told) for row, told in earlier.content.items()]
            found += [row for row, stays in zip(old, earlier.stay, strict=True) if stays]
        for name, column in zip(self.ARRAYS, np.array(found, np.int32).reshape(-1, 3).T, strict=True):
            writer.put(name, column)
        return {"count": len(found)}

    def read(self, stored: Stored) -> Rows:
        rows, concepts, lengths = (stored.arrays[name].tolist() for name in self.ARRAYS)
        assert isinstance(stored.header["count"], int)
        return dict(zip(rows, zip(concepts, lengths, strict=True), strict=True))


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    READ.clear()
    concepts = [Concept(f"X:{n}", (Name(f"fever {n}"), Name("heat" * (n + 1)))) for n in range(16)]
    return build(concepts, tmp_path / "a.kb")


def edited(kb: KnowledgeBase, *work: Any) -> KnowledgeBase:
    """Return the knowledge base after some edits, with nothing read yet."""
    with edit(kb.path) as change:
        for one in work:
            one(change)
    READ.clear()
    return KnowledgeBase.open(kb.path)


def wanted(kb: KnowledgeBase, longer: int = 0) -> Rows:
    return {name.row: (name.concept, len(name.text)) for name in kb.names() if len(name.text) > longer}


def add(id: str, *texts: str) -> Any:
    return lambda change: change.add(Concept(id, tuple(map(Name, texts))))


def seen(layers: Layers[Rows]) -> Rows:
    """Return the rows of both layers, none of which is in both."""
    base = {row: told for row, told in layers.base.items() if layers.live is None or told[0] in layers.live}
    added = layers.added or {}
    assert not base.keys() & added.keys()
    return base | added


def test_it_is_made_once_for_each_of_the_options(kb: KnowledgeBase) -> None:
    assert Lengths(kb).current() == wanted(kb)
    assert len(READ) == 32
    assert Lengths(kb).current() == Lengths(kb).layers().base == wanted(kb)
    assert len(READ) == 32
    assert Lengths(kb, longer=10).current() == wanted(kb, 10) != wanted(kb)
    ours, theirs = Lengths(kb).path, Lengths(kb, longer=10).path
    assert set(kb.path.parent.iterdir()) == {kb.path, ours, theirs}
    assert Lengths(kb).files == [ours]
    READ.clear()
    assert Lengths(kb, rules=2).path == ours
    assert Lengths(kb, rules=2).current() == wanted(kb)
    assert len(READ) == 32


def test_after_an_edit_only_what_changed_is_read(kb: KnowledgeBase) -> None:
    Lengths(kb).current()
    kb = edited(kb, add("X:new", "new rash"), lambda change: change.retire("X:3"), add("X:5", "fifth"))
    assert Lengths(kb).current() == wanted(kb)
    assert sorted(READ) == sorted(["new rash", "fifth", "fever 5", "heat" * 6])
    assert Lengths(kb).files == [Lengths(kb).path]
    kb = edited(kb, lambda change: change.cite({"vocabulary": "obo"}))
    assert Lengths(kb).current() == wanted(kb)
    assert READ == []


def test_after_many_edits_everything_is_made_anew(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    Lengths(kb).current()
    kb = edited(kb, *(add(f"N:{n}", f"new {n}") for n in range(8)))
    assert Lengths(kb).current() == wanted(kb)
    assert len(READ) == 40
    monkeypatch.setattr(Lengths, "ANEW", 0.0)
    kb = edited(kb, add("N:9", "new 9"))
    assert Lengths(kb).current() == wanted(kb)
    assert len(READ) == 41


def test_layers_leave_the_file_as_it_is(kb: KnowledgeBase) -> None:
    Lengths(kb).layers()
    path = Lengths(kb).path
    whole = path.read_bytes()
    kb = edited(kb, add("X:new", "new rash"), lambda change: change.retire("X:3"))
    layers = Lengths(kb).layers()
    assert seen(layers) == wanted(kb)
    assert (READ, layers.path, path.read_bytes()) == (["new rash"], path, whole)
    kb = edited(kb, add("X:newer", "newer rash"))
    assert seen(Lengths(kb).layers()) == wanted(kb)
    assert READ == ["newer rash"]
    assert Lengths(kb).files == [path, path.with_name(f"{path.name}.edits")]
    kb = edited(kb, *(add(f"N:{n}", f"new {n}") for n in range(3)))
    layers = Lengths(kb).layers()
    assert (layers.added, layers.live, layers.base) == (None, None, wanted(kb))


def test_layers_after_an_edit_that_was_undone(kb: KnowledgeBase) -> None:
    Lengths(kb).layers()
    kb = edited(kb, add("X:3", "third"))
    assert seen(Lengths(kb).layers()) == wanted(kb)
    before = kb.version
    kb = edited(kb, lambda change: change.retire("X:7"))
    kb = edited(kb, add("X:7"))
    assert kb.version == before
    assert seen(Lengths(kb).layers()) == wanted(kb)
    assert sorted(READ) == ["fever 7", "heat" * 8], "X:7 alone is read"
    kb = edited(kb, add("X:9", "ninth"))
    assert seen(Lengths(kb).layers()) == wanted(kb)
    assert sorted(READ) == sorted(["fever 9", "heat" * 10, "ninth"])


def test_layers_that_do_not_say_what_they_are_of_are_made_anew(kb: KnowledgeBase) -> None:
    Lengths(kb).layers()
    kb = edited(kb, add("X:3", "third"))
    file = Lengths(kb)
    file.layers()
    beside = file.path.with_name(f"{file.path.name}.edits")
    stored = open_arrays(beside, file.MAGIC, names=file.ARRAYS)
    assert stored is not None

    def write_as_before(target: Any) -> None:
        writer = ArraysWriter(target, file.MAGIC)
        for name in file.ARRAYS:
            writer.put(name, stored.arrays[name])
        writer.finish({key: value for key, value in stored.header.items() if key != "arrays"})

    replaced(beside, write_as_before)
    READ.clear()
    assert seen(Lengths(kb).layers()) == wanted(kb)
    assert sorted(READ) == sorted(["fever 3", "heat" * 4, "third"])


def test_layers_over_a_file_that_stands_elsewhere(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "trained").mkdir()
    other = tmp_path / "trained" / "lengths"
    Lengths(kb).make(other)
    kb = edited(kb, add("X:new", "new rash"))
    layers = Lengths(kb).layers(tmp_path / "missing", other)
    assert (seen(layers), layers.path, READ) == (wanted(kb), other, ["new rash"])
    assert not Lengths(kb).files
    assert Lengths(kb, longer=3).layers(other).path == Lengths(kb, longer=3).path


@pytest.mark.parametrize("seed", range(6))
def test_any_edits_leave_what_is_made_anew(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(Lengths, "ANEW", 2.0)  # never anew
    rng = random.Random(seed)
    Lengths(kb).current()
    Lengths(kb, longer=6).layers()

    def something(change: Edit) -> None:
        id = f"X:{rng.randint(0, 18)}"
        if rng.random() < 0.5 and id in kb:
            change.retire(id)
        else:
            change.add(Concept(id, (Name("new " * rng.randint(1, 4) + id),)))

    for _ in range(8):
        kb = edited(kb, something)
        if rng.random() < 0.5:
            assert Lengths(kb).current() == wanted(kb)
        if rng.random() < 0.5:
            assert seen(Lengths(kb, longer=6).layers()) == wanted(kb, 6)


def test_another_knowledge_base_in_the_same_place(kb: KnowledgeBase) -> None:
    Lengths(kb).current()
    other = build([Concept("Y:1", (Name("gout"),))], kb.path)
    assert Lengths(other).current() == wanted(other)


@pytest.mark.parametrize("about", [None, 7, {}, {"rules": 1}, {"longer": 0, "rules": 1, "kb": "other"}])
def test_a_file_that_tells_something_else_is_as_good_as_none(kb: KnowledgeBase, about: Any) -> None:
    def write(file: Any) -> None:
        writer = ArraysWriter(file, Lengths.MAGIC)
        for name in Lengths.ARRAYS:
            writer.put(name, np.arange(3, dtype=np.int32))
        writer.finish({"count": 3, "about": about})

    replaced(Lengths(kb).path, write)
    assert Lengths(kb).current() == wanted(kb)


def test_a_damaged_file_is_made_again(kb: KnowledgeBase, caplog: pytest.LogCaptureFixture) -> None:
    Lengths(kb).current()
    path = Lengths(kb).path
    whole = path.read_bytes()
    for damaged in (b"", whole[:-9], whole[:99] + bytes([whole[99] ^ 1]) + whole[100:]):
        path.write_bytes(damaged)
        assert Lengths(kb).layers().base == wanted(kb)
        assert path.read_bytes() == whole
    assert caplog.text.count("it is built again") == 2  # what is empty is no file of this kind


def test_a_folder_that_cannot_be_written_to(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_options: object) -> None:
        raise OSError(30, "Read-only file system")

    def no_lock(path: Path) -> Any:
        return hold(path / "no such folder" / "lock")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr(side_files, "hold", no_lock)
    with pytest.warns(LinnetWarning, match=r"Read-only file system\): the list of lengths is built again each time"):
        assert Lengths(kb).current() == wanted(kb)
    assert list(kb.path.parent.iterdir()) == [kb.path]
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.warns(LinnetWarning), pytest.raises(KnowledgeBaseError, match="cannot be written, nor"):
        Lengths(kb).current()


def test_who_comes_later_waits_and_opens_what_was_made(kb: KnowledgeBase, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "linnet")
    path = Lengths(kb).path
    held = hold(path.with_name(f".{path.name}.lock"))
    assert held is not None
    found: list[Rows] = []
    waiting = threading.Thread(target=lambda: found.append(Lengths(KnowledgeBase.open(kb.path)).current()))
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive()
    assert "another process makes it" in caplog.text
    Lengths(kb).make(path)
    READ.clear()
    held.close()
    waiting.join(60)
    assert (found, READ) == ([wanted(kb)], [])
    assert set(kb.path.parent.iterdir()) == {kb.path, path}


KILLED = """
import os, sys
from pathlib import Path
from linnet.kb import KnowledgeBase
from tests.kb.test_side_files import Lengths

class Killed(Lengths):
    def write(self, writer, concepts, earlier):
        super().write(writer, concepts, earlier)
        os._exit(9)

Killed(KnowledgeBase.open(Path(sys.argv[1]))).current()
"""


def test_a_build_that_was_killed_holds_nobody_up(kb: KnowledgeBase) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", KILLED, str(kb.path)], cwd=root, check=False)
    assert done.returncode == 9
    [unfinished] = kb.path.parent.glob("*.part")
    assert len(list(kb.path.parent.iterdir())) > 2  # the lock is there, but nobody holds it
    assert Lengths(kb).files == []
    assert Lengths(kb).current() == wanted(kb)
    assert set(kb.path.parent.iterdir()) == {kb.path, Lengths(kb).path, unfinished}


def test_a_build_that_fails_leaves_nothing(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Lengths, "write", fail)
    with pytest.raises(KeyboardInterrupt):
        Lengths(kb).current()
    assert list(kb.path.parent.iterdir()) == [kb.path]
