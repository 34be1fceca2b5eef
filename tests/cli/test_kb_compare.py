"""``linnet kb subset`` and ``linnet kb diff``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from linnet.codec import dumps
from linnet.data import Concept, Document, Mention, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

from .conftest import Run


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """Documents with the gold ids HP:0004322 and HP:0009999 (retired), and one that no knowledge base here has."""
    ids = ("HP:0004322", "HP:0009999", "Z:1")
    mentions = tuple(Mention(at, at + 1, source="gold", concepts=(id,)) for at, id in enumerate(ids))
    path = tmp_path / "gold.jsonl"
    path.write_text(dumps(Document("d1", "abc", mentions=mentions)) + "\n")
    return path


def ids(kb: KnowledgeBase) -> list[str]:
    return [kb.id(row) for row in range(len(kb))]


def test_all_conditions_hold(run: Run, home: Path, kb: KnowledgeBase) -> None:
    done = run("kb", "subset", kb.path, "-o", "part", "--type", "Neurology", "--type", "Disease")
    assert (done.code, "3 concepts" in done.out) == (0, True)
    assert ids(KnowledgeBase.open("part")) == ["HP:0001250", "HP:0002069", "X:2"]
    run("kb", "subset", kb.path, "-o", "part", "--types", "Neurology", "--under", "HP:0002069")
    part = KnowledgeBase.open("part")
    assert ids(part) == ["HP:0002069"]
    assert part.sources == [
        {
            "vocabulary": "subset",
            "of": "small",
            "version": kb.version,
            "concepts": "1",
            "types": "Neurology",
            "under": "HP:0002069",
        },
        *kb.sources,
    ]


def test_concepts_of_a_corpus(run: Run, home: Path, kb: KnowledgeBase, gold: Path) -> None:
    done = run("kb", "subset", kb.path, "-o", "part", "--concepts-of", gold, "--ancestors")
    assert "--concepts-of: 1 ids are not in small.kb and were left out: Z:1" in done.err
    part = KnowledgeBase.open("part")
    assert ids(part) == ["HP:0000118", "HP:0001250", "HP:0004322"]
    assert part[1].parents == ("HP:0000118",)
    assert part.id(part.row("HP:0009999")) == "HP:0001250"
    assert part.sources[0]["ancestors"] == "yes"
    assert "concepts of: " in run("kb", "info", "part").out


def test_a_corpus_without_gold_tells_nothing_of_what_survives(run: Run, kb: KnowledgeBase, tmp_path: Path) -> None:
    found = tmp_path / "found.jsonl"
    found.write_text(dumps(Document("7", "Fits.", mentions=(Mention(0, 4, concepts=("HP:0001250",)),))) + "\n")
    assert "contains no gold concepts" in run("kb", "diff", kb.path, kb.path, "--corpus", found).err


def test_ids_of_files_and_bridges(run: Run, home: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "ids.tsv").write_text("# chosen\nHP:0002069\tTonic-clonic seizure\n\n")
    arguments = ("kb", "subset", kb.path, "-o", "part", "--ids", tmp_path / "ids.tsv", "--ids", "HP:0000118")
    assert run(*arguments).code == 0
    assert KnowledgeBase.open("part")[1].parents == ()
    assert run(*arguments, "--bridge").code == 0
    assert KnowledgeBase.open("part")[1].parents == ("HP:0000118",)
    assert run("kb", "subset", kb.path, "-o", "part", "--ids", "HP:0001250", "--descendants").code == 0
    assert ids(KnowledgeBase.open("part")) == ["HP:0001250", "HP:0002069"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "select concepts with"),
        (("--type", "Diseases"), "did you mean 'Disease'"),
        (("--under", "Z:1"), "no concept 'Z:1'"),
        (("--ids", "Z:1"), "no concept of small.kb is in the subset: ids Z:1"),
        (("--ids", "none/ids.txt"), "there is no such file of ids"),
        (("--ids", "ids.TXT"), "there is no such file of ids"),
        (("--ids", "0004322"), "left out: 0004322; did you mean 'HP:0004322'?"),
        (("--under", "hp_0004322"), "did you mean 'HP:0004322'?"),
        (("--concepts-of", "none.jsonl"), "none.jsonl"),
        (("--type", "Disease", "--under", "HP:0000118"), "types Disease, under HP:0000118"),
    ],
)
def test_subsets_that_cannot_be_made(
    run: Run, home: Path, kb: KnowledgeBase, arguments: tuple[str, ...], said: str
) -> None:
    done = run("kb", "subset", kb.path, "-o", "part", *arguments)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (home / "kb" / "part.kb").exists()


def test_names_that_a_subset_cannot_have_and_documents_without_gold(
    run: Run, home: Path, kb: KnowledgeBase, tmp_path: Path
) -> None:
    done = run("kb", "subset", kb.path, "-o", "hpo", "--type", "Disease")
    assert (done.code, "the name hpo is the Human Phenotype Ontology's" in done.err) == (2, True)
    (tmp_path / "bare.jsonl").write_text(dumps(Document("d1", "abc")) + "\n")
    done = run("kb", "subset", kb.path, "-o", "part", "--concepts-of", tmp_path / "bare.jsonl")
    assert (done.code, "bare.jsonl contains no gold concepts: is it annotated?" in done.err) == (2, True)


def test_a_copy_is_called_by_its_own_name(run: Run, kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "copy.kb").write_bytes(kb.path.read_bytes())
    assert (
        f"small ({kb.version}) → copy ({kb.version}): nothing changed"
        in run("kb", "diff", kb.path, tmp_path / "copy.kb").out
    )
    assert run("kb", "info", tmp_path / "copy.kb").out.startswith("copy: ")


@pytest.fixture
def newer(kb: KnowledgeBase, tmp_path: Path) -> Path:
    concepts = [
        Concept("HP:0000118", (Name("Phenotypic abnormality"),), ("Phenotype",)),
        Concept("HP:0001250", (Name("Seizures"), Name("Seizure")), ("Phenotype",), parents=("HP:0000118",)),
        Concept("HP:0004322", replaced_by="HP:0000118"),
        Concept("N:1", (Name("[bold]new[/bold]"),)),
    ]
    return build(concepts, tmp_path / "newer.kb").path


def test_counts_first_then_examples(run: Run, kb: KnowledgeBase, newer: Path, gold: Path) -> None:
    done = run("kb", "diff", kb.path, newer, "--limit", "2", "--corpus", gold)
    assert done.code == 0
    rows = [line.split("│")[1:3] for line in done.out.splitlines() if line.count("│") == 4]
    counts = {kind.strip(): number.strip() for kind, number in rows}
    assert (counts["added"], counts["retired"], counts["removed"], counts["renamed"]) == ("1", "1", "7", "1")
    assert "removed, the first 2 of 7" in done.out
    assert "[bold]new[/bold]" in done.out
    assert "66.7% of 3 annotated concepts" in done.out
    assert "HP:0004322 → HP:0000118" in done.out
    assert "Z:1" in done.out


def test_as_json_and_in_files(run: Run, kb: KnowledgeBase, newer: Path, gold: Path, tmp_path: Path) -> None:
    done = run("kb", "diff", kb.path, newer, "--json", "--limit", "1", "--corpus", gold, "--to", tmp_path / "a.tsv")
    value = json.loads(done.out)
    assert (value["old"]["concepts"], value["new"]["concepts"], value["counts"]["removed"]) == (10, 3, 7)
    assert len(value["changes"]["removed"]) == 1
    assert value["changes"]["retired"][0]["after"] == ["HP:0000118"]
    assert value["corpus"]["successors"] == {"HP:0004322": "HP:0000118", "HP:0009999": "HP:0001250"}
    rows = (tmp_path / "a.tsv").read_text().splitlines()
    assert rows[0] == "kind\tid\tname\tbefore\tafter"
    assert len(rows) == 1 + sum(value["counts"].values())
    assert "retired\tHP:0004322\tShort stature\t\tHP:0000118" in rows
    assert run("kb", "diff", kb.path, newer, "-q", "-o", tmp_path / "a.jsonl.gz").code == 0
    lines = gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line)["kind"] for line in lines] == [row.split("\t")[0] for row in rows[1:]]


def test_no_spreadsheet_runs_a_change(run: Run, tmp_path: Path) -> None:
    for name in ("old", "new"):
        build([Concept("X:1", (Name(f"=cmd({name})"),))], tmp_path / f"{name}.kb")
    assert run("kb", "diff", tmp_path / "old.kb", tmp_path / "new.kb", "-q", "--to", tmp_path / "a.tsv").code == 0
    [_, renamed, *_] = (tmp_path / "a.tsv").read_text().splitlines()
    assert renamed.split("\t")[2:] == ["'=cmd(new)", "'=cmd(old)", "'=cmd(new)"]


def test_nothing_changed_and_exit_codes(run: Run, kb: KnowledgeBase, newer: Path, tmp_path: Path) -> None:
    done = run("kb", "diff", kb.path, kb.path, "--exit-code")
    assert (done.code, "nothing changed" in done.out) == (0, True)
    assert run("kb", "diff", kb.path, newer, "--exit-code").code == 1
    done = run("kb", "diff", kb.path, newer, "--to", tmp_path / "a.xlsx")
    assert (done.code, "ends in .tsv or .jsonl" in done.err) == (2, True)
    assert run("kb", "diff", kb.path, "none").code == 2
    done = run("kb", "diff", kb.path, newer, "--limit", "0")
    assert "the first" not in done.out
