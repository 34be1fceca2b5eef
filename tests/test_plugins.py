"""Components of another package (`tests/plugins`): named by an entry point, with nothing but what linnet offers."""

from __future__ import annotations

import ast
import importlib
import json
import pickle
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet.cli.diagnosis import diagnose
from linnet.data import Candidates, Document, Mention
from linnet.detect.gold import Gold
from linnet.errors import LinnetError, PipelineError, RecipeError
from linnet.fit.fitting import CrossFitted, Done, cross_fit, train
from linnet.fit.plan import learners, tasks
from linnet.fit.training import train_in_place
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Pipeline
from linnet.pipeline.decide import Decide
from linnet.recipes import components, config, saving
from linnet.retrieve.earlier import Earlier
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram

PACKAGE = Path(__file__).parent / "plugins"
LONGEST = 50  # lines of an example

NOTES = (
    ("short stature", "HP:0004322"), ("seizures", "HP:0001250"), ("short fingers", "HP:0009381"), ("cold", "X:2"),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the package installed: on the path, with its entry points where installers write them."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    place = tmp_path_factory.mktemp("site") / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"{name} = {target}" for name, target in project["entry-points"]["linnet.components"].items()]
    (place / "entry_points.txt").write_text("\n".join(["[linnet.components]", *lines, ""]))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place.parent)
        patch.syspath_prepend(PACKAGE)
        components._plugins.cache_clear()
        yield
    components._plugins.cache_clear()


def notes(count: int = 24) -> list[Document]:
    """Return documents of which each has two mentions."""
    docs = []
    for number in range(count):
        (first, a), (other, b) = NOTES[number % 4], NOTES[(number // 4) % 4]
        text = f"{first} and {other}, case {number}"
        begin = len(first) + 5
        spans = ((0, len(first), a), (begin, begin + len(other), b))
        mentions = tuple(Mention(s, e, source="gold", concepts=(id,)) for s, e, id in spans)
        docs.append(Document(f"d{number}", text, mentions=mentions))
    return docs


def made(name: str, kb: KnowledgeBase, **keywords: Any) -> Any:
    """Return a component as a recipe makes it."""
    return config.make({"use": name, **keywords}, kb)


def taught(name: str, kb: KnowledgeBase) -> Any:
    """Return a component that has learned from notes."""
    part = made(name, kb)
    list(part.fit(notes(), (), before=Pipeline(Gold(), Ngram(kb=kb)), kb=kb, args={}))
    return part


NAMES = ("recall", "spelling", "overlap")


def around(name: str, part: Any, kb: KnowledgeBase) -> Pipeline:
    """Return a pipeline in which a component has its place."""
    fronts: dict[str, list[Any]] = {"recall": [], "spelling": [Gold()], "overlap": [Gold(), Ngram(kb=kb)]}
    return Pipeline(*fronts[name], part, kb=kb)


def linked(pipeline: Pipeline, docs: Sequence[Document]) -> list[Document]:
    return pipeline(linnet.pipeline.component.blind(docs, pipeline))


def test_the_examples_are_short_and_import_what_is_public() -> None:
    for path in (PACKAGE / "linnet_examples").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert len(source.splitlines()) <= LONGEST, path.name
        nodes = list(ast.walk(ast.parse(source)))
        froms = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        assert {name for name in froms | plain if name.startswith("linnet")} <= {"linnet"}
        used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store)}
        own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        assert not {name for name in used - own if name.startswith("_")}


@pytest.mark.parametrize("name", NAMES)
def test_recipes_name_them(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    (tmp_path / "r.toml").write_text(f'[[pipeline]]\nuse = "{name}"\nwords = 3\n')
    with pytest.raises(RecipeError, match=rf"pipeline\[0\].words: unknown field of {name}"):
        config.load(tmp_path / "r.toml", kb=kb)
    assert config.name_of(made(name, kb)) == name


@pytest.mark.parametrize("name", NAMES)
def test_they_keep_the_contract(kb: KnowledgeBase, name: str) -> None:
    pipeline = around(name, taught(name, kb), kb)
    docs = linnet.pipeline.component.blind(notes(), pipeline)
    before = [doc.text for doc in docs]
    whole = pipeline(docs)
    assert whole == [doc for one in docs for doc in pipeline([one])]  # whatever the batch
    assert [doc.text for doc in whole] == before
    assert pipeline([]) == []
    assert pipeline(linnet.pipeline.component.blind([Document("e", "", mentions=())], pipeline))[0].mentions == ()
    for doc in whole:
        for mention in doc.mentions or ():
            assert mention.candidates is not None
            assert mention.candidates.kb == kb.version
            assert (np.diff(mention.candidates.scores) <= 0).all()
    only = pipeline(docs, allow=Allow(ids=("HP:0001250",)))
    rows = {row for doc in only for one in doc.mentions or () if one.candidates for row in one.candidates.rows.tolist()}
    assert rows <= {kb.row("HP:0001250")}


@pytest.mark.parametrize("name", NAMES)
def test_they_are_copied_pickled_and_saved(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    pipeline = around(name, taught(name, kb), kb)
    saving.save(pipeline, tmp_path / "saved")
    docs = notes()
    wanted = linked(pipeline, docs)
    assert linked(config.load(tmp_path / "saved", kb=kb), docs) == wanted
    assert linked(pickle.loads(pickle.dumps(pipeline)), docs) == wanted
    [learned] = (tmp_path / "saved").rglob("learned.json")
    learned.write_text("{}")
    with pytest.raises(LinnetError, match=r"learned\.json"):
        config.load(tmp_path / "saved", kb=kb)


def test_a_folder_names_the_package_that_is_not_installed(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saving.save(Pipeline(Gold(), Earlier(kb=kb) | made("spelling", kb), Decide(kb=kb), kb=kb), tmp_path / "saved")
    assert diagnose()["plugins"]["spelling"] == "linnet-examples 0.1"
    monkeypatch.setattr(components, "_plugins", dict)
    told = "the component 'spelling' is of the package linnet-examples 0.1, which is not installed"
    with pytest.raises(RecipeError, match=told):
        config.load(tmp_path / "saved", kb=kb)


def test_a_joint_component_links_what_people_marked_and_its_candidates_are_fused(kb: KnowledgeBase) -> None:
    recall = taught("recall", kb)
    text = "seizures, no cleft palate"
    person = Mention(13, 25, source="user")
    [doc] = Pipeline(recall, Earlier(kb=kb) | Ngram(kb=kb), Decide(kb=kb))([Document("d", text, mentions=(person,))])
    found = {doc.surface(one): (one.source, one.concepts) for one in doc.mentions or ()}
    assert found == {"seizures": ("pred", ("HP:0001250",)), "cleft palate": ("user", ("HP:0000175",))}
    both = [one.candidates.features for one in doc.mentions or () if one.candidates]
    assert all({"earlier", "ngram"} <= set(features) for features in both)
    with pytest.raises(PipelineError, match=r"Recall >> \(Earlier"):
        recall | Ngram(kb=kb)
    given = Pipeline(Gold(), replace_keywords(recall, find=False))
    assert [len(doc.mentions or ()) for doc in linked(given, notes(3))] == [2, 2, 2]


def replace_keywords(part: Any, **keywords: Any) -> Any:
    copied = pickle.loads(pickle.dumps(part))
    for name, value in keywords.items():
        setattr(copied, name, value)
    return copied


def test_a_retriever_is_fused_with_others(kb: KnowledgeBase) -> None:
    fused = Pipeline(Gold(), taught("spelling", kb) | Exact(kb=kb), Decide(kb=kb))
    found = [one.concepts for doc in linked(fused, notes(8)) for one in doc.mentions or ()]
    wanted = [one.concepts for doc in notes(8) for one in doc.mentions or ()]
    assert found == wanted


def crossed(pipeline: Pipeline, docs: Sequence[Document]) -> CrossFitted:
    """Return a pipeline trained on documents, to answer for these as if it had not seen them."""
    todo = tasks(pipeline, [], source="r")
    train_in_place(pipeline, todo, docs, ())
    found = cross_fit(pipeline, todo, docs, folds=4)
    assert isinstance(found, CrossFitted)
    return found


def test_nothing_answers_for_documents_that_it_has_seen(kb: KnowledgeBase) -> None:
    docs = notes()
    rare = replace(docs[0], id="rare", text="wolf gait", mentions=(Mention(0, 9, source="gold", concepts=("X:2",)),))
    pipeline = around("recall", made("recall", kb), kb)
    behind = crossed(pipeline, [*docs, rare])
    assert len(pipeline([rare.bare()])[0].mentions or ()) == 1
    assert len(behind([rare.bare()])[0].mentions or ()) == 0  # another fold's answer
    behind = crossed(around("spelling", made("spelling", kb), kb), [*docs, rare])
    parts: list[Any] = [fold.parts[1] for fold in behind.folds]
    networks = {
        id(part.network): part.network for part in parts
    }  # trained again as often as it says, whatever the folds
    assert sorted("wo" in network for network in networks.values()) == [False, True]


def test_signals_that_a_component_declares_are_calibrated_with(kb: KnowledgeBase) -> None:
    docs = [replace(doc, id=f"{doc.id}-{turn}") for turn in range(3) for doc in notes()]
    pipeline = Pipeline(made("recall", kb), Decide(kb=kb), kb=kb)
    todo = learners(pipeline)
    wrong = [replace(doc, mentions=(doc.mentions or ())[:1]) for doc in docs]  # the second is right half of the time
    train_in_place(pipeline, todo, docs[:24], wrong)
    decide = pipeline.parts[-1]
    assert isinstance(decide, Decide)
    assert decide.confidence is not None
    assert set(decide.confidence.signals) == {"times"}
    assert json.loads(json.dumps(decide.learned_values()))["signals"].keys() == {"times"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:decide:linnet.errors.LinnetWarning")
@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_training_goes_on(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    def attempt(stop: bool) -> list[Done]:
        pipeline = Pipeline(*around(name, made(name, kb), kb).parts, Decide(kb=kb), kb=kb)
        news = train(pipeline, learners(pipeline), notes(), notes(40), output=tmp_path / "out")
        done = []
        for one in news:
            if isinstance(one, Done):
                done.append(one)
                if stop and one.part == name:
                    news.close()
                    break
        return done

    assert not (attempt(stop=True)[-1].kept or (tmp_path / "out").exists())
    kept = {one.part: one.kept for one in attempt(stop=False)}
    assert kept[name]
    assert not kept["decide"]
    assert (tmp_path / "out" / "pipeline.toml").exists()


def test_the_command_line_knows_them() -> None:
    module = importlib.import_module("linnet_examples.recall")
    assert module.Recall in linnet.Joint.__subclasses__()
    code = "from linnet.recipes.components import components; print(components()['recall'])"
    path = json.dumps(sys.path)
    script = f"import json, sys; sys.path = json.loads({path!r}); {code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "linnet_examples.recall:Recall"


def test_candidates_of_another_version_are_named(kb: KnowledgeBase) -> None:
    stale = Mention(0, 4, candidates=Candidates.of({0: 1.0}, "other"))
    with pytest.raises(PipelineError, match="version"):
        Pipeline(Earlier(kb=kb) | Ngram(kb=kb))([Document("d", "cold", mentions=(stale,))])
