"""``linnet kb build`` of several sources, of corpora, and with options of readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.codec import dumps
from linnet.data import Document, Mention
from linnet.kb import KnowledgeBase

from .conftest import Run

CTD = "# Fields:\n# ChemicalName\tChemicalID\tCasRN\n#\nHeat\tMESH:D2\t\nAspirin\tMESH:D9\t50-78-2\n"


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    (tmp_path / "terms.tsv").write_text("id\tname\txrefs\nD1\tFever\t\nD2\tPain\tX:2\n")
    (tmp_path / "ctd.tsv").write_text(CTD)
    (tmp_path / "more.tsv").write_text("id\tname\txrefs\nX:1\tPyrexia\tMESH:D1\n")
    return [tmp_path / name for name in ("terms.tsv", "ctd.tsv", "more.tsv")]


def test_several_sources_are_joined_counted_and_recorded(run: Run, home: Path, sources: list[Path]) -> None:
    formats = ("--from", "table", "--from", "ctd", "--from", "table", "--option", "1:prefix=MESH")
    done = run("kb", "build", *sources, *formats, "-o", "mine")
    joined = "sources of 2 and 2 and 1 concepts joined to 3: 1 by id, 0 by retired id, 1 by cross-reference"
    assert (done.code, joined in done.out) == (0, True), done.err
    kb = KnowledgeBase.open("mine")
    assert [name.text for name in kb[kb.row("X:1")].names] == ["Fever", "Pyrexia"]
    info = run("kb", "info", "mine").out
    for line in ("options: prefix=MESH", "same by id: 1", "same by cross-reference: 1", "file: ctd.tsv"):
        assert line in info
    done = run("kb", "build", *sources, *formats, "--no-xref", "-o", "mine")
    assert "joined to 4: 1 by id, 0 by retired id, 0 by cross-reference" in done.out
    done = run("kb", "build", "-q", *sources, *formats, "-o", "mine")
    assert (done.out, done.err) == ("", "")


def test_names_of_several_concepts_are_counted(run: Run, home: Path, tmp_path: Path) -> None:
    rows = ["A:1\tSchwindel\t", "A:2\tVertigo\tschwindel|Drehschwindel", "A:3\tGicht\tGicht "]
    (tmp_path / "a.tsv").write_text("\n".join(["id\tname\tsynonyms", *rows, ""]))
    done = run("kb", "build", tmp_path / "a.tsv", "--from", "table", "-o", "mine")
    assert "1 name belongs to several concepts: 'Schwindel' to A:1, A:2\n" in done.out
    (tmp_path / "a.tsv").write_text("\n".join(["id\tname\tsynonyms", *rows[1:], ""]))
    assert "belong" not in run("kb", "build", tmp_path / "a.tsv", "--from", "table", "-o", "mine").out
    more = [f"{prefix}:{number}\tname {number}" for number in range(7) for prefix in "AB"]
    (tmp_path / "b.tsv").write_text("\n".join(["id\tname", *more, ""]))
    done = run("kb", "build", tmp_path / "b.tsv", "--from", "table", "-o", "mine")
    shown = "; ".join(f"'name {number}' to A:{number}, B:{number}" for number in range(5))
    assert f"7 names belong to several concepts: {shown}; …\n" in done.out


def test_conflicts_are_said(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\tname\nA:1\tone\n")
    (tmp_path / "b.tsv").write_text("id\tname\txrefs\nB:1\tx\tA:1\nB:2\ty\tA:1\n")
    done = run("kb", "build", tmp_path / "a.tsv", tmp_path / "b.tsv", "--from", "table", "-o", "mine")
    assert "2 kept apart because it is ambiguous with which they belong: B:1 and A:1; B:2 and A:1" in done.out


def test_options_go_to_the_readers_that_have_them(run: Run, home: Path, sources: list[Path]) -> None:
    formats = ("--from", "table", "--from", "ctd", "--from", "table")
    assert run("kb", "build", *sources, *formats, "--option", "prefix=Q", "-o", "mine").code == 0
    kb = KnowledgeBase.open("mine")
    assert "Q:D1" in kb
    assert [source.get("options") for source in kb.sources[:3]] == ["prefix=Q", None, "prefix=Q"]
    # what is said of one source wins over --prefix, which is for all tables
    options = ("--prefix", "MESH", "--option", "3:prefix=Z", "--option", "table:columns=name=name")
    assert run("kb", "build", *sources, *formats, *options, "-o", "mine").code == 0
    shown = [source.get("options") for source in KnowledgeBase.open("mine").sources[:3]]
    assert shown == ["prefix=MESH columns=name=name", None, "prefix=Z columns=name=name"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("prefix", "expected KEY=VALUE"),
        ("=MESH", "expected KEY=VALUE"),
        (
            "prefxi=MESH",
            "no such option; table has columns, header, delimiter, separator, prefix, language; did you mean 'prefix'?",
        ),
        ("obo:prefix=HP", "there is no source 'obo'; there are table, numbers 1 to 1"),
        ("2:prefix=HP", "there is no source '2'"),
        ("delimiter=tab", "expected one character"),
        ("columns=id", "columns is 'id', expected pairs"),
    ],
)
def test_wrong_options_are_said(run: Run, home: Path, sources: list[Path], option: str, said: str) -> None:
    done = run("kb", "build", sources[0], "--from", "table", "--option", option, "-o", "mine")
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (home / "kb" / "mine.kb").exists()


def test_a_corpus_becomes_a_knowledge_base(run: Run, home: Path, tmp_path: Path) -> None:
    mentions = [Mention(*span, source="gold", concepts=("HP:0001250",)) for span in ((0, 4), (6, 14), (16, 20))]
    doc = Document("d1", "Fits. Seizures. Fits.", mentions=tuple(mentions))
    (tmp_path / "gold.jsonl").write_text(dumps(doc) + "\n")
    arguments = ("kb", "build", tmp_path / "gold.jsonl", "--from", "corpus", "-o", "gold")
    assert "1 concepts, 2 names" in run(*arguments).out
    assert "1 concepts, 1 names" in run(*arguments, "--option", "min_count=2").out
    done = run(*arguments, "--option", "min_count=0")
    assert (done.code, "min_count is 0" in done.err) == (2, True)
    done = run("kb", "build", "bc5cdr:dve", "--from", "corpus", "-o", "gold", "--option", f"data={tmp_path}")
    assert (done.code, "did you mean 'dev'" in done.err) == (2, True)
    done = run("kb", "build", "bc5cdr", "--from", "corpus", "-o", "gold")
    assert (done.code, "say which split of bc5cdr" in done.err) == (2, True)


@pytest.mark.data
def test_a_known_corpus_states_its_terms(run: Run, home: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_DATA", str(data))
    done = run("kb", "build", "bc5cdr:train,dev", "--from", "corpus", "-o", "gold")
    assert done.code == 0, done.err
    [source] = KnowledgeBase.open("gold").sources
    assert source["name"] == "bc5cdr:train,dev"
    assert source["licence"].startswith("a work of the United States Government")


def test_edits_are_not_lost_by_building_again(run: Run, home: Path, sources: list[Path], kb: KnowledgeBase) -> None:
    build = ("kb", "build", sources[0], "--from", "table", "--prefix", "X", "-o", "mine")
    assert run(*build).code == run(*build).code == 0  # what nobody has edited is made anew
    assert run("kb", "add", "mine", "--id", "X:9", "--name", "Chills").code == 0
    for again in (build, ("kb", "subset", kb.path, "--types", "Disease", "-o", "mine")):
        done = run(*again)
        assert done.code == 2
        assert "mine.kb has been edited since it was built (1 times, last " in done.err
        assert "X:9" in KnowledgeBase.open("mine")
    assert run(*build, "--replace").code == 0
    assert "X:9" not in KnowledgeBase.open("mine")
    KnowledgeBase.open("mine").path.write_bytes(b"SQLite format 3\0damaged")
    assert "exists and is not a knowledge base" in run(*build).err


def test_names_like_short_forms_are_counted(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "terms.tsv"
    known = "X:4\tKoronare Herzkrankheit\tKHK\nX:5\tHerzinfarkt\tMI\n"  # KHK is found: its long form is a name, too
    terms = "X:1\tClotting\tINR|Flu|12\nX:2\tThyrotropin\tTSH\nX:3\tRash\tSTSH\n"
    source.write_text(f"id\tname\tsynonyms\n{terms}{known}")
    out = run("kb", "build", source, "--from", "table", "-o", "mine").out
    assert "  names written like short forms (INR, TSH, MI): 3, found only where the text defines them, others " in out
    source.write_text("id\tname\n" + "".join(f"X:{number}\tT{number}\n" for number in range(6)))
    assert "short forms (T0, T1, T2, T3, T4, …): 6" in run("kb", "build", source, "--from", "table", "-o", "mine").out
    source.write_text("id\tname\nX:1\tClotting\n")
    assert "short forms" not in run("kb", "build", source, "--from", "table", "-o", "mine").out
