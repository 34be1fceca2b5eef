"""The table of names: built once, opened often, rebuilt when stale, never half-written."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Concept, Document, Name
from linnet.detect.dictionary import Dictionary
from linnet.detect.name_table import NameTable, word_code
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb_build import build


def found(kb: KnowledgeBase, text: str) -> set[tuple[str, str]]:
    """Return (surface, id) of what is found in a text on its own."""
    doc = Document.of(text)
    mentions = Dictionary(kb=kb).detect([doc])[0]
    return {(doc.surface(m), kb.id(int(m.candidates.rows[0]))[2:]) for m in mentions if m.candidates}


def small(folder: Path, *names: str, name: str = "small.kb") -> KnowledgeBase:
    return build([Concept(f"X:{n}", (Name(text),)) for n, text in enumerate(names)], folder / name)


def test_a_table_of_one_name(tmp_path: Path) -> None:
    kb = small(tmp_path, "Seizure")
    assert found(kb, "Two seizures.") == {("seizures", "0")}
    assert (tmp_path / "small.kb.names").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.kb", "small.kb.names"]


def test_names_that_hold_nothing_are_counted(tmp_path: Path) -> None:
    kb = small(tmp_path, "Seizure", "+/-", "of the", "x " * 40)
    with pytest.warns(LinnetWarning, match="3 names hold no words"):
        table = NameTable.of(kb)
    assert len(table) == 1


def test_a_table_of_nothing(tmp_path: Path) -> None:
    kb = small(tmp_path, "+")
    with pytest.warns(LinnetWarning):
        assert found(kb, "Two seizures.") == set()
    assert len(NameTable.of(kb)) == 0


def test_tables_are_reused_and_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = small(tmp_path, "Seizure")
    NameTable.of(kb)
    path = tmp_path / "small.kb.names"
    made = path.stat().st_mtime_ns, path.stat().st_ino
    NameTable.of(kb)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == made
    kb = small(tmp_path, "Seizure", "Cough")
    assert len(NameTable.of(kb)) == 2
    monkeypatch.setattr("linnet.detect.name_table.FORMAT", 0)
    inode = path.stat().st_ino
    NameTable.of(kb)
    assert path.stat().st_ino != inode


@pytest.mark.parametrize("damage", [b"", b"linnet names\n", b"linnet names\n7\n{", b"something else", None])
def test_damaged_tables_are_rebuilt(tmp_path: Path, damage: bytes | None) -> None:
    kb = small(tmp_path, "Seizure")
    NameTable.of(kb)
    path = tmp_path / "small.kb.names"
    path.write_bytes(path.read_bytes()[:-10] if damage is None else damage)
    assert len(NameTable.of(kb)) == 1
    assert found(kb, "seizure") == {("seizure", "0")}


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = small(tmp_path, "Seizure")

    def refuse(**_options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("linnet.detect.name_table.tempfile.mkstemp", refuse)
    with pytest.warns(LinnetWarning, match="Read-only"):
        assert len(NameTable.of(kb)) == 1
    assert not (tmp_path / "small.kb.names").exists()


def test_a_build_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = small(tmp_path, "Seizure")

    def fail(*_values: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linnet.detect.name_table._filter", fail)
    with pytest.raises(KeyboardInterrupt):
        NameTable.of(kb)
    assert [path.name for path in tmp_path.iterdir()] == ["small.kb"]


def test_equal_sums_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.detect.name_table._hash", lambda _family: 5)
    kb = small(tmp_path, "Seizure", "Cough", "Short stature")
    assert found(kb, "Fever, cough, short nose.") == {("cough", "1")}


def test_nowhere_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = small(tmp_path, "Seizure")

    def refuse(**_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("linnet.detect.name_table.tempfile.mkstemp", refuse)
    monkeypatch.setattr("linnet.detect.name_table.tempfile.TemporaryFile", refuse)
    with pytest.warns(LinnetWarning, match="No space"), pytest.raises(KnowledgeBaseError, match="cannot be written"):
        NameTable.of(kb)


def test_words_without_end_are_no_words() -> None:
    assert word_code("x" * 65) == (0, 0)
    assert word_code("x" * 64)[0] != 0
