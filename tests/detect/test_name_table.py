"""The table of names: built once, opened often, rebuilt when stale, never half-written."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from linnet.bench.synthetic import synthetic
from linnet.data import SCOPES, Concept, Document, Name
from linnet.detect import name_table
from linnet.detect.dictionary import Dictionary
from linnet.detect.name_table import MASK, Kind, NamesFile, NameTable, name_codes, word_code
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.edit import Edit
from linnet.text.abbreviations import without_short_forms
from linnet.text.languages import Language
from linnet.text.tokens import words


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
    with pytest.warns(LinnetWarning, match="3 names hold nothing but signs"):
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


@pytest.mark.parametrize(
    "damage", [b"", b"linnet names\n", b"linnet names\n7\n{", b"linnet names\n%20d\n[]" % 34, b"something else", None]
)
def test_damaged_tables_are_rebuilt(tmp_path: Path, damage: bytes | None) -> None:
    kb = small(tmp_path, "Seizure")
    NameTable.of(kb)
    path = tmp_path / "small.kb.names"
    path.write_bytes(path.read_bytes()[:-10] if damage is None else damage)
    assert len(NameTable.of(kb)) == 1
    assert found(kb, "seizure") == {("seizure", "0")}


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    kb = small(tmp_path, "Seizure")
    NameTable.of(kb)
    path = tmp_path / "small.kb.names"
    whole = path.read_bytes()
    for place in (*range(100, len(whole), 499), whole.index(b"Seizure")):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert found(kb, "seizure") == {("seizure", "0")}
        assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = small(tmp_path, "Seizure")

    def refuse(**_options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.warns(LinnetWarning, match=r"Read-only file system\): the table of names is built again each time"):
        assert len(NameTable.of(kb)) == 1
    assert not (tmp_path / "small.kb.names").exists()
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.warns(LinnetWarning), pytest.raises(KnowledgeBaseError, match="cannot be written"):
        NameTable.of(kb)


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


@pytest.mark.parametrize("held", [1, 7, 1 << 18])
def test_columns_are_what_the_names_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    """However little is held in memory at once, the table is the sorted list of its names."""
    monkeypatch.setattr(name_table, "REMEMBERED", held)
    monkeypatch.setattr(name_table, "CHUNK", held)
    kb = build(synthetic(300), tmp_path / "a.kb")
    table = NamesFile(kb).make(tmp_path / "a.names")
    rows, known = [], set()
    for name in kb.names():
        hashes = [code for code, kind in map(word_code, words(without_short_forms(name.text))) if kind != Kind.STOP]
        if hashes:
            known.update(hashes)
            rows.append((sum(hashes) & MASK, name.row, name.concept, len(hashes), name.text))
    rows.sort()
    columns = (table.keys.tolist(), table.names.tolist(), table.concepts.tolist(), table.lengths.tolist())
    found = [(*values, table.entry(at).text) for at, values in enumerate(zip(*columns, strict=True))]
    assert found == rows
    assert table.vocabulary.tolist() == sorted(known)
    assert table.longest == max(row[3] for row in rows)
    places, entries = table.find(table.keys)
    assert places.tolist() == list(range(len(table)))
    assert table.keys[entries].tolist() == table.keys.tolist()
    absent = table.keys + np.uint64(1)
    assert set(table.find(absent)[0].tolist()) == {
        at for at, key in enumerate(absent.tolist()) if key in {row[0] for row in rows}
    }
    assert int(np.unpackbits(table.filter).sum()) == len({row[0] >> int(table.shift) for row in rows})


def test_words_without_end_are_no_words() -> None:
    assert word_code("x" * 65) == (0, 0)
    assert word_code("x" * 64)[0] != 0


def test_an_edit_hashes_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table brought up to date holds what one built anew holds: entries, words, and how often they are used."""
    concepts = [Concept(f"X:{n}", (Name(f"fever of kind k{n}"), Name(f"heat h{n} fever"))) for n in range(40)]
    kb = build(concepts, tmp_path / "edited.kb")
    NameTable.of(kb)
    with KnowledgeBase.edit(kb.path) as edit:
        edit.add(Concept("X:new", (Name("new rash"), Name("rash"))))
        edit.add(Concept("X:3", (Name("third fever"),)))
        edit.retire("X:5")
        edit.merge("X:6", "X:7")
    kb = KnowledgeBase.open(kb.path)
    hashed: list[str] = []

    def watched(text: str, codes: dict[str, tuple[int, int]], language: Language) -> list[int]:
        hashed.append(text)
        return name_codes(text, codes, language)

    monkeypatch.setattr(name_table, "name_codes", watched)
    table = NameTable.of(kb)
    assert 0 < len(hashed) < 20
    anew = NamesFile(kb).make(tmp_path / "anew.names")
    assert [table.entry(row) for row in range(len(table))] == [anew.entry(row) for row in range(len(anew))]
    for column in ("keys", "names", "concepts", "lengths", "scopes", "vocabulary", "uses", "filter"):
        assert np.array_equal(getattr(table, column), getattr(anew, column)), column
    hashed.clear()
    assert len(NameTable.of(kb)) == len(table)
    assert hashed == []  # it is opened the next time


def test_another_knowledge_base_in_the_same_place(tmp_path: Path) -> None:
    NameTable.of(build([Concept("X:1", (Name("fever"),))], tmp_path / "one.kb"))
    kb = build([Concept("X:2", (Name("rash"),))], tmp_path / "one.kb")
    assert [entry.text for entry in map(NameTable.of(kb).entry, range(1))] == ["rash"]


def test_a_file_built_anew_of_the_same_concepts(tmp_path: Path) -> None:
    """Editing and building anew number names differently, so the one's table is not the other's."""
    path = small(tmp_path, "Fever", "Rash").path
    with KnowledgeBase.edit(path) as edit:
        edit.add(Concept("X:0", (Name("Heat"),)))
    edited = KnowledgeBase.open(path)
    assert len(NameTable.of(edited)) == 3
    kb = build([*edited.concepts()], path)
    assert list(kb.concepts()) == [Concept("X:0", (Name("Fever"), Name("Heat"))), Concept("X:1", (Name("Rash"),))]
    assert kb.version != edited.version
    table = NameTable.of(kb)
    assert {kb.name(table.entry(row).name).text: table.entry(row).text for row in range(len(table))} == {
        text: text for text in ("Fever", "Heat", "Rash")
    }


WORDS = ["fever", "failures", "failure", "renal", "kidney", "of", "the", "-", "\u03b1", "type 2", "and", "x" * 70]


def some_names(rng: random.Random) -> tuple[Name, ...]:
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 4))]
    return tuple(Name(text, rng.choice(SCOPES)) for text in texts)


def edit_something(kb: KnowledgeBase, edit: Edit, rng: random.Random) -> None:
    one, other = (f"X:{rng.randint(0, 16)}" for _ in range(2))
    names = list(kb[kb.row(one)].names) if one in kb and rng.random() < 0.5 else list(some_names(rng))
    rng.shuffle(names)
    work = {
        "add": lambda: edit.add(Concept(one, some_names(rng))),
        "replace": lambda: edit.replace(Concept(one, tuple(names))),
        "retire": lambda: edit.retire(one),
        "merge": lambda: edit.merge(one, other),
    }
    with suppress(KnowledgeBaseError):
        work[rng.choice(list(work))]()


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
@pytest.mark.parametrize("seed", range(8))
def test_any_edits_leave_the_table_that_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(NamesFile, "ANEW", 2.0)  # never anew
    rng = random.Random(seed)
    path = build([Concept(f"X:{n}", some_names(rng)) for n in range(12)], tmp_path / "a.kb").path
    NameTable.of(KnowledgeBase.open(path))
    for _ in range(8):
        before = KnowledgeBase.open(path)
        with KnowledgeBase.edit(path) as edit:
            for _ in range(rng.randint(1, 4)):
                edit_something(before, edit, rng)
        if rng.random() < 0.3:
            continue  # two edits at once
        kb = KnowledgeBase.open(path)
        table, anew = NameTable.of(kb), NamesFile(kb).make(tmp_path / "anew.names")
        (tmp_path / "anew.names").unlink()
        for column in ("keys", "names", "concepts", "sizes", "lengths", "scopes", "vocabulary", "uses", "filter"):
            assert np.array_equal(getattr(table, column), getattr(anew, column)), column
        entries = [table.entry(row) for row in range(len(table))]
        assert entries == [anew.entry(row) for row in range(len(anew))]
        assert [entry.text for entry in entries] == [kb.name(entry.name).text for entry in entries]
        assert (table.longest, table.shift) == (anew.longest, anew.shift)
