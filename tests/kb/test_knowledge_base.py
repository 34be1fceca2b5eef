from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, UnknownConceptError
from linnet.home import home, kb_folder, writable
from linnet.kb import APPLICATION_ID, SCHEMA_VERSION, KnowledgeBase, Mask, kb_path
from linnet.kb.build import build
from linnet.kb.terminologies import Terminologies
from linnet.vocabularies.stored import concepts_by_id, edges, retired_by_id


def copy(kb: KnowledgeBase, folder: Path) -> Path:
    return Path(shutil.copy(kb.path, folder / "copy.kb"))


# --- one concept -----------------------------------------------------------------------------------------------------


def test_rows_and_concepts(kb: KnowledgeBase) -> None:
    assert len(kb) == 10
    row = kb.row("HP:0001250")
    assert kb.id(row) == "HP:0001250"
    concept = kb[row]
    assert concept == Concept(
        "HP:0001250",
        (Name("Seizure"), Name("Epileptic seizure"), Name("Fits", "related")),
        ("Phenotype", "Neurology"),
        "An event of abnormal electrical activity in the brain.",
        ("HP:0000118",),
        ("UMLS:C0036572",),
    )
    assert "HP:0001250" in kb
    assert "HP:7" not in kb
    assert repr(kb).endswith("concepts=10)")


def test_the_integers_of_candidates_are_rows_too(kb: KnowledgeBase) -> None:
    row = np.int32(kb.row("HP:0002069"))
    assert kb[row].id == kb.id(np.int32(row)) == "HP:0002069"  # type: ignore[index]
    assert kb.name(np.int64(0)).text == "Phenotypic abnormality"  # type: ignore[arg-type]
    assert kb.name_row(row, "Tonic-clonic seizure") == 4  # type: ignore[arg-type]
    assert kb.ancestors(row).tolist() == [0, 1]  # type: ignore[arg-type]


def test_names(kb: KnowledgeBase) -> None:
    names = list(kb.names())
    assert [name.row for name in names] == list(range(len(names))) == list(range(16))
    for name in names:
        assert kb.name(name.row) == Name(name.text, name.scope, name.language, name.source)
        assert kb.name_row(name.concept, name.text) == name.row
    assert kb.name_row(kb.row("X:1"), "Seizure") == -1
    with pytest.raises(UnknownConceptError, match="no name row 99"):
        kb.name(99)


def test_many_names_at_once(kb: KnowledgeBase) -> None:
    rows = [15, 1, 3, 1, 0]
    assert kb.name_texts(rows) == [kb.name(row).text for row in rows]
    assert kb.name_texts([]) == []
    with pytest.raises(UnknownConceptError, match="no name row 999"):
        kb.name_texts([1, 999])


def test_concepts_by_id(kb: KnowledgeBase) -> None:
    assert kb["HP:0001250"] == kb["HP:0009998"] == kb[1], "retired ids lead to their successors"
    with pytest.raises(UnknownConceptError, match=r"no concept '0001250' in .*; did you mean 'HP:0001250'\?"):
        kb["0001250"]


def test_who_gives_a_name_is_told_the_ids(kb: KnowledgeBase) -> None:
    several = Terminologies({"small": kb})
    for name, said in (
        ("seizure", r"no concept 'seizure' in .*; that is a name, and ids are wanted: HP:0001250"),
        ("Cold", "; that is a name, and ids are wanted: X:1, X:2"),
        ("seiz", r"; did you mean 'HP:0001250' \(Seizure\)\?"),
        ("sniffles", "; `linnet kb search` finds ids"),
        ("", "; `linnet kb search` finds ids"),
    ):
        for ask in (
            lambda name=name: kb[name],
            lambda name=name: kb.mask(ids=[name]),
            lambda name=name: kb.mask(under=[name]),
            lambda name=name: several[name],
        ):
            with pytest.raises(UnknownConceptError, match=f"{said}$"):
                ask()


def test_a_name_of_many_concepts_gives_a_few_ids(tmp_path: Path) -> None:
    kb = build([Concept(f"X:{number}", (Name("Cold"),)) for number in range(9)], tmp_path / "cold.kb")
    with pytest.raises(UnknownConceptError, match=r"ids are wanted: X:0, X:1, X:2, X:3, X:4, …$"):
        kb["cold"]


def test_what_is_no_row_is_said_with_what_to_ask_instead(kb: KnowledgeBase) -> None:
    asked: Any = kb
    for ask, said in (
        (lambda: asked.name("HP:0001250"), r"kb\['HP:0001250'\]\.name is the preferred name"),
        (lambda: asked.names(3), r"3 is not a list of rows: kb\[3\]\.names"),
        (lambda: list(asked.names(["HP:0001250"])), r"'HP:0001250' is no row of a concept: kb\[id\]\.names"),
        (lambda: asked.id("HP:0001250"), "'HP:0001250' is no row of a concept"),
        (lambda: asked[None], "None is no row or id of a concept"),
    ):
        with pytest.raises(KnowledgeBaseError, match=said):
            ask()


def test_find_takes_the_normalised_form(kb: KnowledgeBase) -> None:
    assert [(kb.id(name.concept), name.text) for name in kb.find("cold")] == [("X:1", "Cold"), ("X:2", "Cold")]
    assert [name.scope for name in kb.find("fits")] == ["related"]
    assert list(kb.find("Cold")) == list(kb.find("")) == []


@pytest.mark.parametrize("id", ["HP:0009999", "HP:0009998"])
def test_retired_ids_lead_to_their_successor(kb: KnowledgeBase, id: str) -> None:
    assert kb.row(id) == kb.row("HP:0001250")
    assert id in kb


def test_dead_ends_and_unknown_ids(kb: KnowledgeBase) -> None:
    with pytest.raises(UnknownConceptError, match=r"'HP:0009997' was retired from small\.kb without a successor"):
        kb.row("HP:0009997")
    for id in ("HP:7", "", "\ud800", "hp:0001250"):
        assert id not in kb
    with pytest.raises(UnknownConceptError, match=r"no concept 'HP:7' in small\.kb \(version "):
        kb.row("HP:7")
    for row in (10, -1, 2**63, -(2**70)):
        with pytest.raises(UnknownConceptError, match="10 rows"):
            kb.id(row)
        with pytest.raises(UnknownConceptError, match="10 rows"):
            kb[row]


def test_a_circle_or_gap_of_successors_in_a_damaged_file_ends(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = copy(kb, tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO retired VALUES ('A', 'B', ''), ('B', 'A', ''), ('C', 'D', '')")
    damaged = KnowledgeBase.open(path)
    with pytest.raises(UnknownConceptError, match="'A' was retired"):
        damaged.row("A")
    with pytest.raises(UnknownConceptError, match="no concept 'D'"):
        damaged.row("C")


def test_tombstones_keep_their_row_and_are_found_nowhere(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = copy(kb, tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:  # what editing will do
        connection.execute("UPDATE concepts SET retired = 1 WHERE id = 'X:1'")
        connection.execute("INSERT INTO retired VALUES ('X:1', 'X:2', 'Cold')")
    edited = KnowledgeBase.open(path)
    old, new = kb.row("X:1"), kb.row("X:2")
    assert (len(edited), edited.row("X:1"), edited.id(old)) == (10, new, "X:1")
    assert edited[old] == Concept("X:1", (Name("Cold"),), ("Temperature",), replaced_by="X:2")
    assert [concept.id for concept in edited.concepts()].count("X:1") == 1
    assert {name.concept for name in edited.find("cold")} == {new}
    assert old not in {name.concept for name in edited.names()}
    assert "Temperature" not in edited.types()
    assert [hit.id for hit in edited.search("cold")] == [hit.id for hit in edited.search("X:1")] == ["X:2"]
    assert (old in edited.mask(), len(edited.mask(types=["Temperature"])), len(edited.mask())) == (False, 0, 9)
    assert ids(edited, edited.mask(ids=["X:1"])) == {"X:2"}


def test_concepts_end_with_the_retired_ones(kb: KnowledgeBase) -> None:
    concepts = list(kb.concepts())
    assert [concept.id for concept in concepts[:3]] == ["HP:0000118", "HP:0001250", "HP:0002069"]
    assert concepts[10:] == [
        Concept("HP:0009999", (Name("Old seizure"),), replaced_by="HP:0001250"),
        Concept("HP:0009998", (), replaced_by="HP:0009999"),
        Concept("HP:0009997", (Name("Nothing"),), replaced_by=""),
    ]


def test_what_a_file_says_of_itself(kb: KnowledgeBase) -> None:
    assert kb.types() == {"Phenotype": 8, "Neurology": 2, "Disease": 1, "Temperature": 1}
    assert kb.sources == [{"vocabulary": "test"}]
    [made] = kb.history
    assert (made["version"], made["action"], made["concepts"], made["names"]) == (kb.version, "built", 10, 16)
    assert kb.info["name"] == "small"
    assert kb.info["retired"] == "3"


# --- masks -----------------------------------------------------------------------------------------------------------


def ids(kb: KnowledgeBase, mask: Mask) -> set[str]:
    return {kb.id(row) for row in range(len(kb)) if row in mask}


def test_masks_join_their_conditions(kb: KnowledgeBase) -> None:
    assert len(kb.mask()) == 10
    assert ids(kb, kb.mask(types=["Neurology"])) == {"HP:0001250", "HP:0002069"}
    assert ids(kb, kb.mask(types=["Neurology", "Disease"])) == {"HP:0001250", "HP:0002069", "X:2"}
    assert ids(kb, kb.mask(ids=["X:1", "HP:0009998"])) == {"X:1", "HP:0001250"}
    assert ids(kb, kb.mask(under=["HP:0001250"])) == {"HP:0001250", "HP:0002069"}
    assert len(kb.mask(under=["HP:0000118"])) == 8
    assert ids(kb, kb.mask(under=["HP:0002069", "X:1"])) == {"HP:0002069", "X:1"}
    assert ids(kb, kb.mask(types=["Disease", "Neurology"], under=["HP:0000118"], ids=["X:2", "HP:0002069"])) == {
        "HP:0002069"
    }
    for none in (kb.mask(types=[]), kb.mask(ids=[]), kb.mask(under=[])):
        assert len(none) == 0
    with pytest.raises(UnknownConceptError, match="HP:7"):
        kb.mask(ids=["HP:7"])
    with pytest.raises(KnowledgeBaseError, match="no semantic type 'Diseases'; did you mean 'Disease'"):
        kb.mask(types=["Diseases"])
    with pytest.raises(KnowledgeBaseError, match="'Zzz'; it has Phenotype, Neurology, Disease, Temperature"):
        kb.mask(types=["Zzz"])


def test_masks_combine_within_one_version(kb: KnowledgeBase) -> None:
    neurology, disease = kb.mask(types=["Neurology"]), kb.mask(types=["Disease"])
    assert ids(kb, neurology | disease) == {"HP:0001250", "HP:0002069", "X:2"}
    assert len(neurology & disease) == 0
    assert -1 not in neurology
    assert 10 not in neurology
    for combine in (Mask.__and__, Mask.__or__):
        with pytest.raises(KnowledgeBaseError, match="two knowledge base versions"):
            combine(neurology, Mask(neurology.array, "other"))


def test_a_type_given_twice_counts_once_and_none_is_said(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("a"),), ("T", "T"))], tmp_path / "a.kb")
    assert kb.types() == {"T": 1}
    bare = build([Concept("X:1", (Name("a"),))], tmp_path / "b.kb")
    with pytest.raises(KnowledgeBaseError, match="it has none"):
        bare.mask(types=["T"])


def test_ancestors(tmp_path: Path) -> None:
    def concept(id: str, *parents: str) -> Concept:
        return Concept(id, (Name(id),), parents=parents)

    kb = build([concept("D", "B", "C"), concept("A"), concept("B", "A"), concept("C", "A")], tmp_path / "a.kb")
    assert kb.ancestors(0).tolist() == [1, 2, 3]
    assert kb.ancestors(1).tolist() == []
    assert [kb.parents(row).tolist() for row in (0, 1)] == [[2, 3], []]
    for ask in (kb.parents, kb.children, kb.ancestors):
        assert ask(kb.id(0)).tolist() == ask(0).tolist(), "as kb[…] takes both"
        with pytest.raises(UnknownConceptError, match="no concept 'X:99'"):
            ask("X:99")
        with pytest.raises(KnowledgeBaseError, match=r"1\.5 is no row or id of a concept"):
            ask(1.5)  # type: ignore[arg-type]
    assert kb[0].parents == ("B", "C")


# --- files -----------------------------------------------------------------------------------------------------------


def test_names_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kb: KnowledgeBase) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    assert kb_path("hpo") == kb_folder() / "hpo.kb" == tmp_path / "kb" / "hpo.kb"
    assert kb_path("hpo.kb") == Path("hpo.kb")
    assert kb_path("a/hpo") == Path("a/hpo")
    for name in ("../", "/", "", ".", "hpo/", "h\0po"):
        with pytest.raises(KnowledgeBaseError, match="is no name of a knowledge base: expected one without folders"):
            kb_path(name)
    monkeypatch.chdir(tmp_path)
    shutil.copy(kb.path, "bare")
    assert kb_path("bare") == Path("bare")
    assert KnowledgeBase.open("bare").version == kb.version
    kb_folder().mkdir()
    shutil.copy(kb.path, kb_folder() / "mine.kb")
    assert KnowledgeBase.open("mine").version == kb.version
    with pytest.raises(KnowledgeBaseError, match=r"No such file.*; there are: mine; `linnet kb build` makes one$"):
        KnowledgeBase.open("none")


def test_home_is_the_variable_or_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "h"))
    assert home() == tmp_path / "h"
    monkeypatch.delenv("LINNET_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert home() == tmp_path / "linnet"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert home() == Path.home() / ".local" / "share" / "linnet"
    assert writable(tmp_path / "a" / "b").is_dir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(Exception, match="is read-only; set LINNET_HOME"):
        writable(tmp_path)


@pytest.mark.parametrize("name", ["a b.kb", "100%?#.kb", "ß😀.kb", "quo'te\".kb"])
def test_odd_file_names(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    shutil.copy(kb.path, path)
    assert KnowledgeBase.open(path)[0].name == "Phenotypic abnormality"
    assert KnowledgeBase(Path(f"/{path}"))[0].name == "Phenotypic abnormality"  # two slashes in front


def test_a_name_that_is_no_unicode(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.kb")
    shutil.copy(kb.path, path)
    assert len(KnowledgeBase.open(path)) == 10


def damage(path: Path, offset: int, value: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(value)


def test_what_is_no_knowledge_base_is_refused(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    path = copy(kb, tmp_path)
    whole = path.read_bytes()
    cases: list[tuple[bytes, str]] = [
        (b"", "is not a knowledge base .the file is empty"),
        (b"id\tname\n", "no SQLite file"),
        (whole[:50], "truncated: 50 bytes of at least 100"),
        (whole[:-1], f"truncated: {len(whole) - 1} bytes of {len(whole)}; copy"),
        (whole[:100], "truncated: 100 bytes of"),
        (whole[:60] + b"\0\0\0\x01" + whole[64:], "format version 1, this Linnet reads 2: build it again"),
        (whole[:68] + b"\0\0\0\0" + whole[72:], "an SQLite file but not a Linnet"),
        (whole[:100] + b"\xff" * (len(whole) - 100), "cannot be read as a knowledge base: "),
    ]
    for content, message in cases:
        path.write_bytes(content)
        with pytest.raises(KnowledgeBaseError, match=message) as raised:
            KnowledgeBase.open(path)
        assert str(path) in str(raised.value)
    with pytest.raises(KnowledgeBaseError, match=r"Is a directory; `linnet kb build` makes one"):
        KnowledgeBase(tmp_path)
    os.mkfifo(tmp_path / "pipe.kb")
    for device in (tmp_path / "pipe.kb", Path("/dev/zero")):
        with pytest.raises(KnowledgeBaseError, match="is a pipe or a device"):
            KnowledgeBase.open(device)
    with pytest.raises(KnowledgeBaseError, match="No such file"):
        KnowledgeBase.open(tmp_path / "none.kb")
    with pytest.raises(KnowledgeBaseError, match="null byte"):
        KnowledgeBase.open("a\0b.kb")


def test_foreign_sqlite_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.kb"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(KnowledgeBaseError, match="SQLite file but not"):
        KnowledgeBase.open(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    with pytest.raises(KnowledgeBaseError, match=r"it has not the tables of one: 'changes', .*; build it again"):
        KnowledgeBase.open(path)


ENDLESS = "WITH RECURSIVE more(a, b) AS (VALUES ('version', 'x') UNION ALL SELECT a, b FROM more) SELECT"


@pytest.mark.parametrize(
    ("odd", "name"),
    [
        (f"DROP TABLE info; CREATE VIEW info AS {ENDLESS} a AS key, b AS value FROM more", "info"),
        (f"DROP TABLE parents; CREATE VIEW parents AS {ENDLESS} 1 AS concept, 2 AS parent FROM more", "parents"),
        ("CREATE TRIGGER late AFTER INSERT ON names BEGIN DELETE FROM names; END", "late"),
        ("CREATE VIRTUAL TABLE other USING fts5(x)", "other"),
        ("CREATE TABLE more (x)", "more"),
        ("CREATE VIEW sqlite_more AS SELECT 1", "sqlite_more"),
        ("DROP INDEX names_by_norm", "names_by_norm"),
        ("DROP TABLE words", "words"),
    ],
)
def test_a_file_with_other_tables_is_refused(kb: KnowledgeBase, tmp_path: Path, odd: str, name: str) -> None:
    path = copy(kb, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(odd.replace("VIEW sqlite_more", "VIEW plain_more"))
        if "sqlite_more" in odd:
            connection.executescript(
                "PRAGMA writable_schema = ON; UPDATE sqlite_master SET name = 'sqlite_more', tbl_name = 'sqlite_more', "
                "sql = 'CREATE VIEW sqlite_more AS SELECT 1' WHERE name = 'plain_more'"
            )
    for way in (KnowledgeBase.open, lambda path: KnowledgeBase.edit(path).__enter__()):
        with pytest.raises(KnowledgeBaseError, match=rf"copy\.kb: cannot be read .*'{name}'.*; build it again"):
            way(path)


def test_what_sqlite_notes_of_its_own_is_no_other_table(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = copy(kb, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ANALYZE")
    assert len(KnowledgeBase.open(path)) == 10


def refusals(path: Path) -> Iterator[str]:
    """Ask a knowledge base everything; yield the messages it refuses to answer with."""
    try:
        kb = KnowledgeBase.open(path)
    except KnowledgeBaseError as error:
        yield str(error)
        return
    rows = range(len(kb))
    for question in (
        lambda: [kb[row] for row in rows],
        lambda: [(kb.id(row), kb.types_of(row), kb.parents(row), kb.ancestors(row)) for row in rows],
        lambda: [kb.name(row) for row in range(16)],
        lambda: list(kb.names()),
        lambda: list(kb.concepts()),
        lambda: list(kb.definitions()),
        lambda: [kb.mask(), kb.mask(types=["Phenotype"]), kb.mask(under=["HP:0000118"])],
        lambda: [kb.search(text) for text in ("HP:0000118", "seizure", "sei", "abnormality of the", "tonic seizures")],
        lambda: [kb.types(), kb.history, kb.sources, kb.changed_since(kb.version)],
        lambda: [kb.row("HP:0009999")],
        lambda: [list(concepts_by_id(kb)), list(retired_by_id(kb)), edges(kb)],
    ):
        try:
            question()
        except KnowledgeBaseError as error:
            yield str(error)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE names SET text = x'ff41' WHERE row = 3",
        "UPDATE names SET text = CAST(x'ff' AS TEXT) WHERE row = 3",
        "UPDATE names SET language = x'00', row = row + 100",
        "UPDATE names SET scope = 99 WHERE row = 15",
        "UPDATE names SET scope = -1 WHERE row = 0",
        "UPDATE names SET row = 1 << 40 WHERE row = 14",
        "UPDATE concepts SET row = 1 << 40 WHERE row = 9",
        "UPDATE concepts SET row = -7 WHERE row = 5",
        "UPDATE concepts SET id = x'41' WHERE row = 2",
        "UPDATE concepts SET definition = x'41' WHERE row = 1",
        "UPDATE retired SET successor = x'41'",
        "UPDATE parents SET parent = 1 << 33",
        "UPDATE parents SET concept = 10 WHERE parent = 0",
        "UPDATE parents SET parent = 1.5",
        "UPDATE types SET concept = 'HP'",
        "UPDATE type_names SET name = x'00' WHERE type = 0",
        "UPDATE xrefs SET xref = 1e300 || x'ff'",
        "UPDATE history SET at = NULL",
        "UPDATE history SET concepts = 'many'",
        "INSERT INTO changes VALUES (7, -1)",
        "UPDATE info SET value = x'00' WHERE key = 'name'",
        "UPDATE info SET value = '7' WHERE key = 'sources'",
        "UPDATE info SET value = '[7]' WHERE key = 'sources'",
        "UPDATE info SET value = printf('%.5000c', '[') WHERE key = 'sources'",
        "UPDATE info SET value = 'many' WHERE key = 'concepts'",
        "DELETE FROM info WHERE key = 'built'",
        "DELETE FROM words_data",
    ],
)
def test_damaged_values_are_refused_when_they_are_read(kb: KnowledgeBase, tmp_path: Path, damage: str) -> None:
    path = copy(kb, tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    said = [message for message in refusals(path) if "cannot be read" in message or "is damaged" in message]
    assert said
    assert all(message.startswith(str(path)) and message.endswith("; build it again") for message in said)


def test_what_is_not_damaged_is_answered(kb: KnowledgeBase) -> None:
    assert list(refusals(kb.path)) == []


def test_a_message_that_quotes_no_text_is_told(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = copy(kb, tmp_path)
    path.write_bytes(
        path.read_bytes().replace(b"CREATE INDEX names_by_norm", b"CREATE \xff\xfe\xfd\xfc\xfb names_by_norm")
    )
    for way in (KnowledgeBase.open, lambda path: KnowledgeBase.edit(path).__enter__()):
        with pytest.raises(KnowledgeBaseError, match=r"copy\.kb: cannot be read .*; build it again"):
            way(path)


def test_pages_of_64_kib_are_counted(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = copy(kb, tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("PRAGMA page_size = 65536; VACUUM;")
    assert len(KnowledgeBase.open(path)) == 10
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(KnowledgeBaseError, match="truncated"):
        KnowledgeBase.open(path)


def test_damage_found_later_names_the_file(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = copy(kb, tmp_path)
    opened = KnowledgeBase.open(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE names")
    with pytest.raises(KnowledgeBaseError, match=r"copy\.kb: cannot be read as a knowledge base: "):
        list(opened.names())


def test_it_never_writes(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = copy(kb, tmp_path)
    before = path.read_bytes()
    opened = KnowledgeBase.open(path)
    opened.search("seizure")
    list(opened.concepts())
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["copy.kb"]
    with pytest.raises(KnowledgeBaseError, match="readonly"):
        list(opened._rows("DELETE FROM names"))


def test_closing_is_no_end(kb: KnowledgeBase, tmp_path: Path) -> None:
    opened = KnowledgeBase.open(copy(kb, tmp_path))
    opened.close()
    opened.close()
    assert opened[0].id == "HP:0000118"


# --- threads and processes -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_threads_share_it(kb: KnowledgeBase, tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    opened = KnowledgeBase.open(copy(kb, tmp_path))

    def work(seed: int) -> list[object]:
        found: list[object] = []
        for turn in range(30):
            row = (seed + turn) % len(opened)
            found += [opened[row], opened.id(row), opened.search("short")[0].id, len(opened.mask(types=["Phenotype"]))]
        found.append([name.row for name in opened.names()])
        opened.close()
        return found

    parallel = list(pool.map(work, range(16)))
    assert parallel == [work(seed) for seed in range(16)]


def test_a_generator_may_be_finished_by_another_thread(kb: KnowledgeBase) -> None:
    names = kb.names()
    first = next(names)
    with ThreadPoolExecutor(1) as pool:
        assert [first, *pool.submit(list, names).result()] == list(kb.names())


def test_pickling_reopens(kb: KnowledgeBase) -> None:
    data = pickle.dumps(kb)
    assert len(data) < 500
    again = pickle.loads(data)
    assert again is not kb
    assert (again.path, again.version, again[1]) == (kb.path, kb.version, kb[1])
    code = "import pickle, sys; kb = pickle.load(sys.stdin.buffer); sys.stdout.write(kb[1].name)"
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert done.stdout == b"Seizure"


def test_a_file_that_was_replaced_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    kb = build([Concept("X:1", (Name("a"),))], path)
    data = pickle.dumps(kb)
    new = build([Concept("X:2", (Name("b"),))], path)
    message = f"has changed: version {new.version}, expected {kb.version}"
    with pytest.raises(KnowledgeBaseError, match=message):
        pickle.loads(data)
    assert kb[0].id == "X:1"  # this thread still has the old file
    with ThreadPoolExecutor(1) as pool, pytest.raises(KnowledgeBaseError, match=message):
        pool.submit(kb.__getitem__, 0).result()
    kb.close()
    with pytest.raises(KnowledgeBaseError, match=message):
        kb[0]


def test_definitions(kb: KnowledgeBase) -> None:
    what = "An event of abnormal electrical activity in the brain."
    assert list(kb.definitions()) == [(kb.row("HP:0001250"), what)]


def test_definitions_of_retired_concepts_are_none(tmp_path: Path) -> None:
    stream = [Concept("X:1", (Name("a"),), definition="One."), Concept("X:2", (Name("b"),), definition="Two.")]
    path = build(stream, tmp_path / "a.kb").path
    with KnowledgeBase.edit(path) as edit:
        edit.retire("X:1", "X:2")
    assert list(KnowledgeBase.open(path).definitions()) == [(1, "Two.")]
