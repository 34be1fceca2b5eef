from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from linnet.kb import KnowledgeBase

from .conftest import Run

TABLE = (
    "id\tname\tsynonyms\ttypes\treplaced_by\nD1\tFever\tPyrexia|High temperature\tFinding\t\nD2\tOld fever\t\t\tD1\n"
)


def test_a_table_becomes_a_knowledge_base_under_home(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text(TABLE)
    done = run("kb", "build", source, "--from", "table", "--prefix", "MESH", "-o", "mine")
    assert done.code == 0
    assert "1 concepts, 3 names, 1 retired ids" in done.out
    assert (home / "kb" / "mine.kb").is_file()
    assert "mine" in run("kb", "list").out
    info = run("kb", "info", "mine").out
    assert "terms.tsv" in info
    assert "type Finding: 1" in info
    concept = run("kb", "info", "mine", "MESH:D1").out
    for said in ("MESH:D1  Fever\n", "exact name: Pyrexia\n", "type: Finding\n"):
        assert said in concept
    assert "no concept 'fever'" in run("kb", "info", "mine", "fever").err
    told = run("kb", "show", "mine").err.replace("│", " ")
    assert "a concept is shown by: linnet kb info hpo HP:0001250" in " ".join(told.split())
    told = run("kb", "serach", "mine").err.replace("│", " ")
    assert "did you mean 'search'" in " ".join(told.split())
    assert "MESH:D1" in run("kb", "search", "mine", "high", "temp").out
    assert "MESH:D1" in run("kb", "search", "mine", "MESH:D2").out, "a retired id leads to its successor"
    assert "nothing found" in run("kb", "search", "mine", "zzz").out


def test_columns_of_other_names(run: Run, tmp_path: Path, home: Path) -> None:
    source = tmp_path / "terms.csv"
    source.write_text("Code,Label,Alias\nA:1,Fever,Pyrexia\n")
    columns = [f"--column={pair}" for pair in ("id=Code", "name=Label", "synonyms=Alias")]
    assert run("kb", "build", source, "--from", "table", "-o", "mine", *columns).code == 0
    assert "A:1" in run("kb", "search", "mine", "pyrexia").out
    done = run("kb", "build", source, "--from", "table", "-o", "mine", "--column", "Code")
    assert (done.code, "expected OURS=THEIRS" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("kb", "build", "-o", "x"), "--from"),
        (("kb", "build", "--from", "obo", "-o", "x"), "needs files"),
        (("kb", "build", "terms.tsv", "--from", "table"), "-o"),
        (("kb", "build", "terms.tsv", "--from", "tabel", "-o", "x"), "did you mean 'table'"),
        (("kb", "build", "a", "b", "--from", "obo", "--from", "obo", "--from", "obo", "-o", "x"), "2 files but 3"),
        (("kb", "build", "none.tsv", "--from", "table", "-o", "x"), "none.tsv"),
        (("kb", "info", "none"), "none.kb"),
        (("kb", "search", "none", "x"), "none.kb"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, home: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert said in done.err


def test_malformed_rows_are_counted_and_named(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text("id\tname\n" + "".join(f"D{number}\tname {number}\n" for number in range(30)) + "D30\n")
    done = run("kb", "build", source, "--from", "table", "-o", "mine")
    assert (done.code, "30 concepts" in done.out) == (0, True)
    assert "1 of 31 rows is malformed and was left out: line 32 has 1 columns" in done.err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("id\tlabel\nA\tx\n", "bad.tsv:1"),
        ("id\tname\nA\tx\nA\ty\n", "bad.tsv:3"),
        ("id\tname\tparents\nA\tx\tB\nB\ty\tA\n", "bad.tsv:2"),
        ("id\tname\treplaced_by\nA\tx\t\nB\ty\tC\n", "bad.tsv:3"),
    ],
    ids=["missing column", "duplicate id", "cyclic parents", "successor that leads nowhere"],
)
def test_bad_tables_name_file_and_line_and_leave_nothing(
    run: Run, home: Path, tmp_path: Path, rows: str, said: str
) -> None:
    source = tmp_path / "bad.tsv"
    source.write_text(rows)
    done = run("kb", "build", source, "--from", "table", "-o", "bad")
    assert done.code == 2
    assert said in done.err
    assert not list((home / "kb").glob("*")) if (home / "kb").exists() else True


def test_export_and_build_again_give_the_same_version(run: Run, home: Path, tmp_path: Path, kb: KnowledgeBase) -> None:
    for name in ("all.jsonl", "all.jsonl.gz"):
        out = tmp_path / name
        assert run("kb", "export", kb.path, "-o", out).code == 0
        assert run("kb", "build", out, "--from", "concepts", "-o", "again").code == 0
        assert KnowledgeBase.open("again").version == kb.version
    assert gzip.decompress((tmp_path / "all.jsonl.gz").read_bytes()) == (tmp_path / "all.jsonl").read_bytes()


def test_export_for_spreadsheets_says_what_it_drops(run: Run, home: Path, tmp_path: Path, kb: KnowledgeBase) -> None:
    out = tmp_path / "all.tsv"
    done = run("kb", "export", kb.path, "-o", out)
    assert ".tsv cannot hold, and was not given: scopes and sources of names (1); .jsonl keeps" in done.err
    assert run("kb", "build", out, "--from", "table", "-o", "again").code == 0
    assert len(KnowledgeBase.open("again")) == len(kb)
    done = run("kb", "export", kb.path, "-o", tmp_path / "all.xls")
    assert (done.code, ".csv, .xlsx, .texoo or .sssom.tsv (cross-references), plain or .gz" in done.err) == (2, True)
    done = run("kb", "export", kb.path, "-o", tmp_path / "all.texoo")
    parents = sum(len(concept.parents) for concept in kb.concepts())
    assert f"parents ({parents}), " in done.err
    assert "retired ids (" in done.err


def test_export_of_cross_references(run: Run, home: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "terms.tsv", tmp_path / "all.sssom.tsv"
    source.write_text("id\tname\txrefs\nMESH:D1\tFever\tUMLS:C0015967|HP:0001945\nMESH:D2\tCough\t\n")
    run("kb", "build", source, "--from", "table", "-o", "mine")
    assert run("kb", "export", "mine", "-o", out).err == f"{out}: 2 cross-references\n"
    assert "MESH:D1\tFever\toboInOwl:hasDbXref\tHP:0001945\t" in out.read_text()


def test_the_diff_after_editing_a_table_is_what_was_edited(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    rows = ["H:1\tGrippe\tInfluenza\tde", "H:1\tFlu\t\ten", "H:2\tÖdem\t\tde", "H:3\tPain\tAche\ten"]
    source.write_text("\n".join(["id\tname\tsynonyms\tlanguage", *rows, ""]))
    assert run("kb", "build", source, "--from", "table", "-o", "ours").code == 0
    out = tmp_path / "edit.tsv"
    assert run("kb", "export", "ours", "-o", out).err == f"{out}: 3 concepts\n"
    assert out.read_bytes().startswith(b"\xef\xbb\xbfid\t")  # for spreadsheets
    out.write_text(out.read_text().replace("Grippe", "Virusgrippe").replace("Ache", ""))
    assert run("kb", "build", out, "--from", "table", "-o", "new").code == 0
    said = run("kb", "diff", "ours", "new").out
    assert re.findall(r"(renamed|names added|names removed)\W+(\d+)", said) == [
        ("renamed", "1"),
        ("names added", "1"),
        ("names removed", "2"),
    ]


def test_a_read_only_home_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "file" / "home"))
    source = tmp_path / "terms.tsv"
    source.write_text(TABLE)
    done = run("kb", "build", source, "--from", "table", "-o", "mine")
    assert done.code == 2
    assert "LINNET_HOME" in done.err


def test_an_empty_home_and_a_damaged_file_are_listed(run: Run, home: Path) -> None:
    assert "no knowledge bases" in run("kb", "list").out
    (home / "kb").mkdir(parents=True)
    (home / "kb" / "odd.kb").write_text("not SQLite")
    assert "is not a knowledge base" in " ".join(run("kb", "list").out.split())


def test_search_filters(run: Run, kb: KnowledgeBase) -> None:
    out = run("kb", "search", kb.path, "cold", "--types", "Disease").out
    assert ("X:2" in out, "X:1" in out) == (True, False)
    out = run("kb", "search", kb.path, "seizure", "--under", "HP:0002069").out
    assert ("HP:0002069" in out, "HP:0001250" in out) == (True, False)
    done = run("kb", "search", kb.path, "cold", "--type", "Diseases")
    assert (done.code, "did you mean 'Disease'" in done.err) == (2, True)


def test_similar_names_where_there_are_no_others(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text(
        "id\tname\tsynonyms\ttypes\nA:1\tSeizure\tEpileptic fit\tsign\nA:2\tNiereninsuffizienz\t\tdisease\n"
        "A:3\tKardiomyopathie\t\tdisease\nA:4\tHeart failure\t\tdisease\nA:5\tKidney failure\t\tsign\n"
    )
    run("kb", "build", source, "--from", "table", "-o", "mine")
    for text, id in (("siezure", "A:1"), ("insuffizienz", "A:2"), ("myopathie", "A:3")):
        out = run("kb", "search", "mine", text).out
        assert f"no name has all words of {text!r}; similar names" in out
        assert (id in out, "similar name" in out) == (True, True)
    out = run("kb", "search", "mine", "hart failure").out
    assert "; similar names" in out
    assert out.index("A:4") < out.index("A:5")
    both = run("kb", "search", "mine", "heart failure").out
    assert ("exact" in both, "any word" in both, "no name has all words" in both) == (True, True, False)
    assert "A:2" not in run("kb", "search", "mine", "insuffizienz", "--type", "sign").out
    found = run("kb", "search", "mine", "siezure", "--json").out.splitlines()
    assert json.loads(found[0]) == {"id": "A:1", "name": "Seizure", "matched": "Seizure", "by": "similar name"}
    [exact] = run("kb", "search", "mine", "epileptic fit", "--json").out.splitlines()
    assert json.loads(exact) == {"id": "A:1", "name": "Seizure", "matched": "Epileptic fit", "by": "exact"}
    assert "similar" not in run("kb", "search", "mine", "nieren").out, "what begins so is no guess"
    assert "nothing found for 'qqxx'" in run("kb", "search", "mine", "qqxx").out


def test_nothing_but_a_knowledge_base_is_replaced(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text(TABLE)
    done = run("kb", "build", source, "--from", "table", "-o", source)
    assert (done.code, "is not a knowledge base" in done.err, source.read_text()) == (2, True, TABLE)
    done = run("kb", "build", source, "--from", "table", "-o", "hpo")
    assert (done.code, "give your knowledge base another" in done.err) == (2, True)


def test_misspelt_columns_and_other_separators(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text("id\tname\tsynonym\nA:1\tFever\tPyrexia;Heat\n")
    done = run("kb", "build", source, "--from", "table", "-o", "mine")
    assert "'synonym' is not used; did you mean 'synonyms'?" in done.err
    source.write_text("id\tname\tsynonyms\nA:1\tFever\tPyrexia;Heat\n")
    done = run("kb", "build", source, "--from", "table", "-o", "mine", "--separator", ";")
    assert "1 concepts, 3 names" in done.out
    assert "not read" not in done.err


def test_columns_that_are_not_read_are_named(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text("id\tname\tSynonyme\tEnglish name\tRemark\nA:1\tFieber\tPyrexie\tFever\tx\n")
    command = ("kb", "build", source, "--from", "table", "-o", "mine", "--column", "synonyms=English name")
    assert f"{source}: columns that are not read: Synonyme, Remark\n" in run(*command).err
    done = run(*command, "--column", "synonyms=Synonyme")
    assert done.code == 2
    assert "--column synonyms: two columns are given, 'English name' and 'Synonyme', and one is read" in done.err


def test_ids_as_people_write_them(run: Run, kb: KnowledgeBase) -> None:
    for text in ("hp:0001250", "HP_0001250", "HP0001250", " HP:0001250 "):
        assert "HP:0001250" in run("kb", "search", kb.path, text).out


def test_codes_and_retired_concepts_are_found(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text(
        "id\tname\tsynonyms\treplaced_by\nAPO:0950\tCelecoxib\t\t\nAPO:0301\tRofecoxib\tVioxx\t-\n"
        "APO:L001\tOld coxib\t\tAPO:0950\nAPO:0402\tIbuprofen\t\t\nATC:77\tone\t\t\nAPO:77\ttwo\t\t\n"
    )
    run("kb", "build", source, "--from", "table", "-o", "apo")
    assert "APO:0402" in run("kb", "search", "apo", "0402").out
    for text in ("0301", "APO:0301", "vioxx", "Rofecoxib"):
        out = run("kb", "search", "apo", text).out
        assert ("APO:0301 Rofecoxib is retired, without a successor" in out, "nothing found" in out) == (True, False)
    out = run("kb", "search", "apo", "l001").out
    assert "APO:L001 Old coxib is retired, leads to APO:0950 Celecoxib" in out
    assert "nothing found for 'bextra'" in run("kb", "search", "apo", "bextra").out
    [told] = run("kb", "search", "apo", "l001", "--json").out.splitlines()[:1]
    assert json.loads(told) == {"id": "APO:L001", "name": "Old coxib", "retired": True, "successor": "APO:0950"}
    assert {"ATC:77", "APO:77"} <= set(run("kb", "search", "apo", "77").out.split())
    assert run("kb", "info", "apo", "0402").out.startswith("APO:0402  ")
    for command in (("retire", "apo", "0402"), ("add", "apo", "--id", "0402", "--name", "Brufen")):
        assert "did you mean 'APO:0402'?" in run("kb", *command).err
    assert "did you mean" not in run("kb", "retire", "apo", "77").err  # two have it


def test_own_knowledge_bases_link_with_the_plain_recipe(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    source.write_text(TABLE)
    assert run("kb", "build", source, "--from", "table", "-o", "mine").code == 0
    assert "D1" in run("link", "-q", "High temperature.", "--kb", "mine").out
