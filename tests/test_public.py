"""What `import linnet` gives: functions and components, whatever was imported before them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import linnet
from linnet.errors import DataError, LinnetError, RecipeError
from linnet.fit.training import Done, Progress
from linnet.recipes.components import COMPONENTS

RECIPE = """kb = "{kb}"
[[pipeline]]
use = "gold"
[[pipeline]]
use = "ngram"
[[pipeline]]
use = "decide"
"""


@pytest.fixture
def kb(tmp_path: Path) -> linnet.KnowledgeBase:
    return linnet.build([linnet.Concept("X:1", (linnet.Name("Headache"),))], tmp_path / "x.kb")


@pytest.fixture
def doc() -> linnet.Document:
    pain = linnet.Mention(0, 16, source="gold", concepts=("X:1",))
    return linnet.Document("note", "Pain of the head.", mentions=(pain,))


@pytest.fixture
def recipe(tmp_path: Path, kb: linnet.KnowledgeBase) -> Path:
    path = tmp_path / "r.toml"
    path.write_text(RECIPE.format(kb=kb.path))
    return path


def test_every_component_can_be_had_from_one_place() -> None:
    assert {place.partition(":")[2] for place in COMPONENTS.values()} <= set(linnet.__all__)
    assert linnet.Dictionary.__module__ == "linnet.detect.dictionary"
    assert issubclass(linnet.Tagger, linnet.NetworkComponent)


def test_functions_are_not_hidden_by_packages_of_their_names() -> None:
    script = """
import linnet, linnet.train.args, linnet.evaluate.report
assert callable(linnet.train) and callable(linnet.evaluate)
from linnet.evaluate import Report
assert linnet.Report is Report and linnet.train.__module__ == "linnet.fit.training"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_package_travels_by_name() -> None:
    """Spark, Dask and Ray pickle a function together with the modules that it uses."""
    assert pickle.loads(pickle.dumps(linnet)) is linnet


def test_a_recipe_is_trained_into_a_folder(recipe: Path, doc: linnet.Document, tmp_path: Path) -> None:
    told: list[Progress | Done] = []
    link = linnet.train(recipe, [doc], output=tmp_path / "trained", progress=told.append)
    assert [one.part for one in told if isinstance(one, Done)] == ["ngram"]
    for pipeline in (link, linnet.load(tmp_path / "trained")):
        predicted = pipeline([doc.spans_only()])
        assert linnet.evaluate([doc], predicted, kb=pipeline.kb)["in-kb.accuracy@1"].value == 1.0
        assert pipeline.seen
    with pytest.raises(LinnetError, match="exists and is not empty"):
        linnet.train(recipe, [doc], output=tmp_path / "trained")


def test_a_recipe_says_what_share_is_kept_to_choose_on(recipe: Path, doc: linnet.Document, tmp_path: Path) -> None:
    docs = [replace(doc, id=str(number), text=f"{doc.text} {number}") for number in range(8)]
    texts = [linnet.Document(f"text {number}", f"Text {number}.") for number in range(8)]
    for name, changes, dev, learned in (
        ("plain", (), (), 16),
        ("share", ("dev_share=0.25",), (), 14),  # of those that people have annotated
        ("given", ("dev_share=0.25",), (replace(doc, id="dev", text="Pain of the head!"),), 16),
    ):
        link = linnet.train(recipe, [*docs, *texts], dev, changes=changes, output=tmp_path / name)
        assert f"training documents: {learned}," in (tmp_path / name / "card.md").read_text()
        assert len(link.seen) == learned - 8, "n-grams choose nothing, and texts teach them nothing"


@pytest.mark.parametrize("folder", [True, False])
def test_documents_that_keywords_were_chosen_on_are_seen(
    recipe: Path, doc: linnet.Document, tmp_path: Path, folder: bool
) -> None:
    dev = [replace(doc, id="dev", text="Pain of the head!")]
    output = tmp_path / "trained" if folder else None
    for chosen, seen in (("dev", ["dev", "train"]), ("cv", ["train"])):
        link = linnet.train(recipe, [doc], dev, changes=[f"chosen_on={chosen}"], output=output and output / chosen)
        assert sorted(link.seen.values()) == seen


def test_a_pipeline_is_trained_in_place(kb: linnet.KnowledgeBase, doc: linnet.Document) -> None:
    told: list[Progress | Done] = []
    link = linnet.Gold() >> linnet.Ngram(kb=kb) >> linnet.Decide(kb=kb)
    assert linnet.train(link, [doc], progress=told.append) is link
    assert any(isinstance(one, Done) for one in told)
    assert link.seen
    with pytest.raises(LinnetError, match="no part learns"):
        linnet.train(linnet.Gold() >> linnet.Exact(kb=kb), [doc])
    with pytest.raises(LinnetError, match="build the pipeline as you want it"):
        linnet.train(link, [doc], changes=["seed=1"])


def test_wrong_fields_of_a_recipe_are_named(recipe: Path, doc: linnet.Document) -> None:
    with pytest.raises(RecipeError, match=r"ngrm\.k=1: no part 'ngrm' in the pipeline; did you mean 'ngram'"):
        linnet.train(recipe, [doc], changes=["ngrm.k=1"])


def test_what_is_no_document_is_refused(doc: linnet.Document, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert linnet.write(doc, path) == 1
    for call in (
        lambda: linnet.write(["x"], path),  # type: ignore[list-item]
        lambda: linnet.evaluate([doc], ["x"]),  # type: ignore[list-item]
        lambda: linnet.evaluate("x", [doc]),  # type: ignore[arg-type]
    ):
        with pytest.raises(DataError, match="documents are expected, as a pipeline returns them, no str"):
            call()
    with pytest.raises(LinnetError, match=r"expected the name of a file, found list: linnet.write\(docs, path\)"):
        linnet.write(str(path), [doc])  # type: ignore[arg-type]


def test_files_are_built_together(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.tsv" for number in range(2)]
    for number, path in enumerate(paths):
        path.write_text(f"id\tname\n{number}\tname {number}\n")
    kb = linnet.build(paths, tmp_path / "both.kb", format="table", options={"prefix": "X"})
    assert [kb.id(row) for row in range(len(kb))] == ["X:0", "X:1"]
    with pytest.raises(LinnetError, match=r"0\.tsv: say what it is with format=, one of concepts, "):
        linnet.build(paths[0], tmp_path / "x.kb")
    with pytest.raises(LinnetError, match="did you mean 'table'"):
        linnet.build(paths, tmp_path / "x.kb", format="tabel")
