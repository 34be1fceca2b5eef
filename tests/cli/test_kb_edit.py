from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from linnet.kb import KnowledgeBase

from .conftest import Run


@pytest.fixture
def mine(home: Path, kb: KnowledgeBase) -> Path:
    """A knowledge base named mine."""
    (home / "kb").mkdir(parents=True)
    return Path(shutil.copy(kb.path, home / "kb" / "mine.kb"))


def test_one_concept(run: Run, mine: Path) -> None:
    done = run(
        *("kb", "add", "mine", "--id", "X:3", "--name", "Heat rash", "--synonym", "Miliaria", "--type", "Disease"),
        *("--definition", "Red spots.", "--parent", "X:2", "--xref", "Y:1"),
    )
    assert (done.code, done.err) == (0, "")
    assert "added 1; now 11 concepts, 18 names, version " in done.out
    kb = KnowledgeBase.open("mine")
    concept = kb[kb.row("X:3")]
    assert [name.text for name in concept.names] == ["Heat rash", "Miliaria"]
    assert (concept.types, concept.definition, concept.parents, concept.xrefs) == (
        ("Disease",),
        "Red spots.",
        ("X:2",),
        ("Y:1",),
    )
    assert "changed 1" in run("kb", "add", "mine", "--id", "X:3", "--synonym", "Prickly heat").out
    assert "nothing to change" in run("kb", "add", "mine", "--id", "X:3", "--synonym", "Prickly heat").out
    assert run("kb", "add", "mine", "--id", "X:3", "--synonym", "Sweat rash", "-q").out == ""
    assert "X:3" in run("kb", "search", "mine", "sweat").out
    assert "changed 1: version" in run("kb", "info", "mine").out


def test_names_in_other_languages(run: Run, mine: Path, tmp_path: Path) -> None:
    assert "changed 1" in run("kb", "add", "mine", "--id", "X:2", "--synonym", "Erkältung", "--language", "de").out
    run("kb", "add", "mine", "--id", "X:3", "--name", "Ötzi", "--language", "", "--synonym", "Ozzy")
    kb = KnowledgeBase.open("mine")
    names = {name.text: name.language for id in ("X:2", "X:3") for name in kb[id].names}
    assert names == {"Cold": "en", "Common cold": "en", "Erkältung": "de", "Ötzi": "", "Ozzy": ""}
    done = run("kb", "add", "mine", tmp_path / "x.tsv", "--from", "table", "--language", "de")
    assert (done.code, "--language, --type, --definition, --parent, --xref are for one concept" in done.err) == (
        2,
        True,
    )


def test_a_name_of_a_known_concept_is_said_to_be_a_synonym(run: Run, mine: Path) -> None:
    old = KnowledgeBase.open("mine")["X:1"].name
    out = run("kb", "add", "mine", "--id", "X:1", "--name", "Cold (INN)").out
    assert f"X:1: 'Cold (INN)' is a synonym, the preferred name stays {old!r}; to rename, export" in out
    assert "is a synonym" not in run("kb", "add", "mine", "--id", "X:1", "--name", old).out
    assert "is a synonym" not in run("kb", "add", "mine", "--id", "X:7", "--name", "Hives").out


def test_a_type_that_was_not_there_is_told(run: Run, mine: Path) -> None:
    done = run("kb", "add", "mine", "--id", "X:3", "--name", "Heat rash", "--type", "Diseas", "--type", "Disease")
    assert "no semantic type 'Diseas' before: it begins with X:3; did you mean 'Disease'?" in done.err
    assert done.err.count("semantic type") == 1
    assert KnowledgeBase.open("mine").types()["Diseas"] == 1
    assert run("kb", "add", "mine", "--id", "X:3", "--type", "Diseas").err == ""
    assert run("kb", "add", "mine", "--id", "X:4", "--name", "Hives", "--types", "Rash", "-q").err == ""


def test_a_new_id_without_a_prefix_is_told(run: Run, mine: Path) -> None:
    done = run("kb", "add", "mine", "--id", "000200", "--name", "Heat rash")
    assert done.code == 0
    assert "the id '000200' has no prefix, and those that are there have one, such as 'HP:0000118'" in done.err
    assert run("kb", "add", "mine", "--id", "000201", "--name", "Hives").err == ""  # one is there without a prefix


def test_files_in_one_transaction(run: Run, mine: Path, tmp_path: Path) -> None:
    table = tmp_path / "more.tsv"
    table.write_text("id\tname\tsynonyms\treplaced_by\n7\tHives\tWheals;Urticaria\t\n8\tOld hives\t\tN:7\n")
    options = ("--from", "table", "--option", "prefix=N", "--option", "separator=;")
    before = mine.read_bytes()
    done = run("kb", "add", "mine", table, *options, "--dry-run")
    assert "would have added 1, retired ids 1" in done.out
    assert mine.read_bytes() == before
    assert "added 1, retired ids 1; now 11 concepts, 19 names" in run("kb", "add", "mine", table, *options).out
    kb = KnowledgeBase.open("mine")
    assert kb.row("N:8") == kb.row("N:7") == 10
    assert (kb.sources[1]["vocabulary"], kb.sources[1]["file"]) == ("table", "more.tsv")
    out = tmp_path / "all.jsonl"
    assert run("kb", "export", "mine", "-o", out).code == 0
    assert "nothing to change" in run("kb", "add", "mine", out, "--from", "concepts", "--dry-run").out
    bad = tmp_path / "bad.tsv"
    bad.write_text("id\tname\tparents\nB:1\tFirst\t\nX:2\tCold\tB:1\nB:1\tFirst\tX:2\n")
    before = mine.read_bytes()
    assert run("kb", "add", "mine", table, bad, "--from", "table").code == 2
    assert mine.read_bytes() == before


def test_retire_and_merge(run: Run, mine: Path) -> None:
    assert "retired 1; now 9 concepts" in run("kb", "retire", "mine", "X:1", "--successor", "X:2").out
    assert "merged 2" in run("kb", "merge", "mine", "HP:0009381", "HP:0001831", "HP:0004322").out
    kb = KnowledgeBase.open("mine")
    assert kb.row("X:1") == kb.row("X:2")
    assert len(kb[kb.row("HP:0001831")].names) == 6
    back = run("kb", "add", "mine", "--id", "X:1", "--name", "Cold").out
    assert "restored 1 (were retired, and live again: X:1)" in back
    assert "would have retired 2" in run("kb", "retire", "mine", "X:2", "HP:0001631", "--dry-run").out


def test_it_becomes_its_next_release(run: Run, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "next.tsv").write_text(
        "id\tname\treplaced_by\nX:1\tChill\t\nX:2\t\tX:1\nX:7\tNew\t\n", encoding="utf-8"
    )
    run("kb", "build", tmp_path / "next.tsv", "--from", "table", "-o", "next")
    before = KnowledgeBase.open("mine")
    live = int(before.info["concepts"])
    told = f"retired {live - 1}, added 1, changed 1"
    refused = run("kb", "update", "mine", "next", "--dry-run")
    assert (refused.code, "such as HP:0000118: is it another terminology?" in refused.err) == (2, True), refused.err
    assert f"would have {told}" in run("kb", "update", "mine", "next", "--dry-run", "--yes").out
    assert KnowledgeBase.open("mine").version == before.version
    assert run("kb", "update", "mine", "next").err == refused.err
    assert f"{told}; now 2 concepts, 2 names, version " in run("kb", "update", "mine", "next", "--yes").out
    assert "nothing changed" in run("kb", "diff", "mine", "next").out
    assert run("kb", "update", "mine", "next", "-q").out == ""
    assert "nothing to change" in run("kb", "update", "mine", "next").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "mine"), "nothing to add"),
        (("add", "mine", "a.tsv", "--id", "X:3"), "files and --id are two ways"),
        (("add", "mine", "a.tsv", "--name", "x", "--from", "table"), "are for one concept, with --id"),
        (("add", "mine", "--id", "X 3", "--name", "x"), "--id 'X 3' contains a blank"),
        (("retire", "mine", "0004322"), "no concept '0004322' in mine.kb; did you mean 'HP:0004322'?"),
        (("add", "mine", "a.tsv"), "name the format of the files: --from"),
        (("add", "mine", "none.tsv", "--from", "table"), "none.tsv"),
        (("add", "mine", "none.tsv", "--from", "tabel"), "did you mean 'table'"),
        (("add", "mine", "--id", "X:3"), "'X:3' has no name"),
        (("add", "mine", "--id", "0004322", "--name", "Short"), "did you mean 'HP:0004322'?"),
        (("add", "mine", "--id", "0004322", "--synonym", "Short", "--dry-run"), "did you mean 'HP:0004322'?"),
        (("add", "mine", "--id", "X:3", "--synonym", "Short"), "a new concept needs --name; no concept 'X:3'"),
        (("add", "mine", "--id", "X:3", "--name", "a", "--parent", "HP:0000117"), "did you mean 'HP:0000"),
        (("add", "mine", "--id", "X:3", "--name", "a", "--parent", "HP:0009999"), "it leads to 'HP:0001250'"),
        (("add", "mine", "--id", "HP:0000118", "--parent", "HP:0002069"), "cyclic parents"),
        (("add", "mine", "--id", "X:1", "--parent", "X:1"), "cyclic parents: X:1 -> X:1"),
        (("add", "none", "--id", "X:3", "--name", "a"), "none.kb"),
        (("retire", "mine", "HP:0001251"), "no concept 'HP:0001251' in mine.kb; did you mean"),
        (("retire", "mine", "X:1", "--successor", "HP:0009999"), "is retired in mine.kb; it leads to 'HP:0001250'"),
        (("retire", "mine", "X:1", "X:1"), "'X:1' is retired in mine.kb"),
        (("merge", "mine", "X:1", "X:1"), "cannot be merged with itself"),
        (("merge", "mine", "X:1", "X:2", "X:9"), "no concept 'X:9'"),
        (("update", "mine", "mine"), "are one file: build the release under another name"),
        (("update", "mine", "next"), "next.kb"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    run: Run, mine: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = mine.read_bytes()
    done = run("kb", *arguments)
    assert (done.code, said in done.err) == (2, True), done.err
    assert mine.read_bytes() == before


def test_what_edits_changed_since_a_version(run: Run, mine: Path) -> None:
    old = KnowledgeBase.open("mine").version
    run("kb", "add", "mine", "--id", "X:3", "--name", "Heat rash")
    middle = KnowledgeBase.open("mine").version
    run("kb", "retire", "mine", "X:1", "--successor", "X:2")
    run("kb", "retire", "mine", "X:3")
    told = run("kb", "info", "mine").out.splitlines()
    assert told[-3].endswith(f"added 1: version {middle}, 11 concepts, 1 new, changed or retired")
    assert "new, changed or retired" not in told[-4], "all that is in a new file is new"
    out = run("kb", "info", "mine", "--since", old).out
    assert "2 new, changed or retired since version" in out
    assert run("kb", "info", "mine", "--since", old[:9]).out == out
    for said in ("X:1", "leads to X:2", "Heat rash", "without a successor"):
        assert said in out
    rows = [json.loads(line) for line in run("kb", "info", "mine", "--since", middle, "--json").out.splitlines()]
    assert rows == [
        {"id": "X:1", "name": "Cold", "retired": True, "successor": "X:2"},
        {"id": "X:3", "name": "Heat rash", "retired": True, "successor": ""},
    ]
    new = KnowledgeBase.open("mine").version
    assert f"no concept has changed since version {new}" in run("kb", "info", "mine", "--since", new).out
    assert run("kb", "info", "mine", "--since", new, "--json").out == ""
    done = run("kb", "info", "mine", "--since", f"{old[:-1]}_")
    assert (done.code, f"mine.kb never was of this version; did you mean {old!r}?" in done.err) == (2, True)
    done = run("kb", "info", "mine", "X:2", "--since", old)
    assert (done.code, "X:2 and --since are two questions" in done.err) == (2, True)


def test_what_a_knowledge_base_is_as_json(run: Run, mine: Path) -> None:
    kb = KnowledgeBase.open("mine")
    told = json.loads(run("kb", "info", "mine", "--json").out)
    assert told["history"] == kb.history
    assert (told["version"], told["concepts"], told["types"]) == (kb.version, 10, kb.types())
    [line] = run("kb", "info", "mine", "X:2", "--json").out.splitlines()
    assert json.loads(line)["names"] == [{"text": "Cold"}, {"text": "Common cold"}]
