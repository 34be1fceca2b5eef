from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.recipes.config import read_recipe
from linnet.recipes.knowledge_bases import KbSources, build_kb, kb_of_version, open_kb

TABLE = "id\tname\nX:1\tFever\nX:2\tCough\n"
OTHER = "id\tname\nX:2\tCoughing\nX:3\tPain\n"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    (tmp_path / "a.tsv").write_text(TABLE)
    (tmp_path / "b.tsv").write_text(OTHER)
    return tmp_path


def sources(*names: str, **more: str) -> KbSources:
    return KbSources(name="both", build=[{"from": "table", "path": name, **more} for name in names])


def test_sources_are_joined_and_kept_by_content(data: Path) -> None:
    kb = build_kb(sources("a.tsv", "b.tsv"), data=data)
    assert len(kb) == 3
    assert kb.info["name"] == "both"
    before = kb.path.stat().st_mtime_ns
    assert build_kb(sources("a.tsv", "b.tsv"), data=data).path == kb.path
    assert kb.path.stat().st_mtime_ns == before
    assert build_kb(sources("b.tsv", "a.tsv"), data=data).path != kb.path
    assert build_kb(sources("a.tsv", "b.tsv", separator=";"), data=data).path != kb.path
    (data / "a.tsv").write_text(TABLE + "X:4\tItch\n")
    assert len(build_kb(sources("a.tsv", "b.tsv"), data=data)) == 4


def test_a_damaged_file_is_refused_and_named(data: Path) -> None:
    path = build_kb(sources("a.tsv"), data=data).path
    path.write_bytes(b"no database")
    with pytest.raises(
        KnowledgeBaseError, match=r"both-\w+\.kb exists and is not a knowledge base: .* remove it first"
    ):
        build_kb(sources("a.tsv"), data=data)


def test_where_the_files_are(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    with pytest.raises(LinnetError, match=r"where is a\.tsv\? Not in /.*; set --data DIR or LINNET_DATA"):
        build_kb(sources("a.tsv"))
    assert len(build_kb(sources(str(data / "a.tsv")))) == 2
    monkeypatch.setenv("LINNET_DATA", str(data))
    assert len(build_kb(sources("a.tsv"))) == 2
    with pytest.raises(LinnetError, match=r"none\.tsv"):
        build_kb(sources("none.tsv"))


def test_files_are_sought_in_the_data_folder_beside_the_recipe_and_here(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    places = [data / name for name in ("published", "recipes", "here")]
    for place in places:
        place.mkdir()
    recipe = places[1] / "mine.toml"
    recipe.write_text('pipeline = [{use = "gold"}]\nkb.build = [{from = "table", path = "mine.tsv"}]\n')
    monkeypatch.chdir(places[2])
    with pytest.raises(LinnetError) as error:
        read_recipe(recipe).open_kb(data=places[0])
    assert f"where is mine.tsv? Not in {', '.join(map(str, places))}; set" in str(error.value)
    for size, place in enumerate(reversed(places), 1):  # what is sought first is there last
        (place / "mine.tsv").write_text("id\tname\n" + "".join(f"X:{n}\tFever {n}\n" for n in range(size)))
        kb = read_recipe(recipe).open_kb(data=places[0])
        assert kb is not None
        assert len(kb) == size


@pytest.mark.parametrize("name", ["../../x", "/x", "a/b", "x/", "..\0"])
def test_names_that_lead_elsewhere_are_refused(data: Path, name: str) -> None:
    elsewhere = KbSources(name=name, build=[{"from": "table", "path": "a.tsv"}])
    [problem] = elsewhere.problems()
    assert problem.startswith(f"kb.name: {name!r} is no name of a knowledge base: expected one without folders")
    before = sorted(data.rglob("*"))
    with pytest.raises(KnowledgeBaseError, match="is no name of a knowledge base"):
        build_kb(elsewhere, data=data)
    assert sorted(data.rglob("*")) == before


def test_problems_name_their_source() -> None:
    wrong = KbSources(build=[{"path": "a"}, {"from": "table", "path": "a", "prefx": "X"}])
    one, other = wrong.problems()
    assert one.startswith("kb.build[0]: ")
    assert "kb.build[1]: table has no option 'prefx'" in other


def test_what_is_not_there(data: Path) -> None:
    with pytest.raises(KnowledgeBaseError):
        open_kb("nowhere")


def test_the_ontology_inside_a_package_counts_by_its_content(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ontology = data / "hp.obo"
    monkeypatch.setattr("linnet.vocabularies.hpo.hpo_path", lambda: ontology)
    text = "format-version: 1.2\n\n[Term]\nid: HP:0000001\nname: All\n"
    found = []
    for more in ("", "\n[Term]\nid: HP:0000118\nname: Phenotypic abnormality\nis_a: HP:0000001\n"):
        ontology.write_text(text + more)
        found.append(len(build_kb(KbSources(build=[{"from": "hpo"}]))))
    assert found == [1, 2]


def gold(id: str, concept: str) -> str:
    mention = {"start": 0, "end": 5, "source": "gold", "concepts": [concept]}
    return json.dumps({"id": id, "text": "Fever.", "mentions": [mention]}) + "\n"


def test_a_corpus_counts_by_its_content(data: Path) -> None:
    for name, path in (("a.jsonl", "a.jsonl"), ("b.jsonl", str(data / "*.jsonl"))):
        found = []
        for concepts in (["X:1"], ["X:1", "X:2"], ["X:1"]):
            (data / name).write_text("".join(gold(concept, concept) for concept in concepts))
            found.append(build_kb(KbSources(build=[{"from": "corpus", "path": path}]), data=data))
        assert [len(kb) for kb in found] == [1, 2, 1]
        assert found[0].path == found[2].path != found[1].path


def test_a_corpus_known_by_name_counts_by_its_content(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    folder = data / "corpora" / "ncbi_disease"
    folder.mkdir(parents=True)
    sources = KbSources(build=[{"from": "corpus", "path": "ncbi_disease:train"}])
    found = []
    for concepts in (["D1"], ["D1", "D2"]):
        lines = [f"{n}|t|Fever.\n{n}|a|\n{n}\t0\t5\tFever\tDisease\t{id}\n" for n, id in enumerate(concepts)]
        (folder / "NCBItrainset_corpus.txt").write_text("\n".join(lines))
        found.append(build_kb(sources, data=data))
    assert [len(kb) for kb in found] == [1, 2]
    assert build_kb(sources, data=data).path == found[1].path


def test_of_the_concepts_those_of_a_corpus(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    (data / "notes.jsonl").write_text(gold("a", "X:1") + gold("b", "X:9"))
    some = sources("a.tsv", "b.tsv").model_copy(update={"concepts_of": [str(data / "notes.jsonl")]})
    kb = build_kb(some, data=data)
    assert [kb.id(row) for row in range(len(kb))] == ["X:1"]
    assert "1 concepts of the documents are not in" in caplog.text
    assert "such as X:9" in caplog.text
    before = kb.path.stat().st_mtime_ns
    assert build_kb(some, data=data).path == kb.path
    assert kb.path.stat().st_mtime_ns == before
    (data / "notes.jsonl").write_text(gold("a", "X:1") + gold("b", "X:3"))
    assert len(build_kb(some, data=data)) == 2
    (data / "notes.jsonl").write_text(gold("b", "X:9"))
    with pytest.raises(KnowledgeBaseError, match=r"no concept of .* is in the subset: concepts of .*notes\.jsonl"):
        build_kb(some, data=data)


def test_a_subset_of_what_was_edited_is_made_anew(data: Path) -> None:
    (data / "notes.jsonl").write_text(gold("a", "X:1"))
    some = sources("a.tsv").model_copy(update={"concepts_of": [str(data / "notes.jsonl")]})
    before = build_kb(some, data=data)
    with KnowledgeBase.edit(build_kb(sources("a.tsv"), data=data).path) as edit:
        edit.replace(Concept("X:1", (Name("Fever"), Name("Pyrexia"))))
    with pytest.warns(LinnetWarning, match="was edited"):
        after = build_kb(some, data=data)
    assert [name.text for name in after[0].names] == ["Fever", "Pyrexia"]
    assert [name.text for name in before[0].names] == ["Fever"]


def test_edits_of_what_a_recipe_has_built_are_told(data: Path) -> None:
    kb = build_kb(sources("a.tsv"), data=data)
    with KnowledgeBase.edit(kb.path) as edit:
        edit.add(Concept("X:8", (Name("Itch"),)))
    with pytest.warns(LinnetWarning, match="was edited since it was built from the recipe's sources"):
        assert len(build_kb(sources("a.tsv"), data=data)) == 3


@pytest.mark.usefixtures("data")
def test_a_terminology_that_anybody_may_fetch_is_said_to_be_one() -> None:
    with pytest.raises(KnowledgeBaseError, match="linnet kb build --from rxnorm --download` fetches it"):
        open_kb("rxnorm")


def test_a_knowledge_base_is_found_by_its_version(data: Path) -> None:
    first = build_kb(sources("a.tsv"), data=data)
    copy = first.path.with_name("a-copy.kb")
    shutil.copy(first.path, copy)
    with KnowledgeBase.edit(copy) as edit:
        edit.retire("X:2")
    (copy.parent / "a-damaged.kb").write_bytes(b"no database")
    for version in (first.version, KnowledgeBase.open(copy).version):
        found = kb_of_version(version)
        assert found is not None
        assert found.version == version
    first.path.unlink()
    found = kb_of_version(first.version)
    assert found is not None
    assert found.path == copy  # which was of that version before it was edited
    assert kb_of_version("none") is None
