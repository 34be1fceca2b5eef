from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

import linnet.recipes.components
from linnet.data import Concept, Document, Mention, Name
from linnet.detect.gold import Gold
from linnet.errors import FormatError, KnowledgeBaseError, LinnetError, LinnetWarning, PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Allow, Fuse, Pipeline, Stage
from linnet.pipeline.confidence import FEATURES, Confidence
from linnet.pipeline.decide import Decide
from linnet.recipes import config, keywords
from linnet.recipes.config import components, load, open_kb, read_recipe, recipes
from linnet.recipes.recipe import check_value, toml_value
from linnet.recipes.saving import save
from linnet.rerank.lexical import Lexical
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram

RECIPE = """
kb = "hpo"
[[pipeline]]
use = "gold"
[[pipeline]]
use = "fuse"
[[pipeline.of]]
use = "exact"
[[pipeline.of]]
use = "ngram"
k = 8
ngram_range = [2, 3]
[[pipeline]]
use = "decide"
threshold = 0.2
[expect]
"dev.f1" = 1
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "r.toml"
    path.write_text(RECIPE)
    return path


def problems(path: Path, *changes: str) -> tuple[str, ...]:
    with pytest.raises(RecipeError) as raised:
        read_recipe(path, changes=changes)
    return raised.value.problems


# --- reading ---------------------------------------------------------------------------------------------------------


def test_shipped_recipes_are_right() -> None:
    assert "hpo" in recipes()
    for name, path in recipes().items():
        assert read_recipe(name) == read_recipe(path)


def test_recipes(recipe: Path) -> None:
    read = read_recipe(recipe)
    assert (read.kb, read.seed, read.expect) == ("hpo", 13, {"dev.f1": 1.0})
    assert [part["use"] for part in read.pipeline] == ["gold", "fuse", "decide"]


def test_all_wrong_fields_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("""
kb = 3
sede = 7
seed = "x"
[[pipeline]]
use = "dictionray"
[[pipeline]]
use = "dictionary"
overlap = "longest"
overlaps = "longst"
[[pipeline]]
use = "decide"
threshold = "high"
nil = 3
zzz = 1
[[pipeline]]
use = "zzz"
[[pipeline]]
threshold = 3
[[pipeline]]
use = "fuse"
[[pipeline.of]]
use = "ngram"
kk = 3
[[pipeline]]
use = "fuse"
constant = "x"
[[pipeline]]
use = "exact"
[[pipeline.of]]
use = "ngram"
[[pipeline]]
use = "sentences"
x = 1
[expect]
f1 = "good"
""")
    found = problems(path, "ngrm.k=3", "nonsense", "decid.fold=true")
    wanted = [
        "ngrm.k=3: no part 'ngrm' in the pipeline; did you mean 'ngram'?",
        "nonsense: expected key=value",
        "decid.fold=true: no part 'decid' in the pipeline; did you mean 'decide'?",
        "kb: expected a text, found 3",
        "seed: expected a whole number, found 'x'",
        "expect.f1: expected a number, found 'good'",
        "sede: unknown field; did you mean 'seed'?",
        "pipeline[0].use: unknown component 'dictionray'; did you mean 'dictionary'?",
        "pipeline[1].overlap: unknown field of dictionary; did you mean 'overlaps'?",
        "pipeline[1].overlaps: expected 'longest' or 'all', found 'longst'",
        "pipeline[2].zzz: unknown field of decide; it has: threshold, fold, nil",
        "pipeline[2].threshold: expected a number or 'f1', found 'high'",
        "pipeline[2].nil: expected 'keep' or 'drop', found 3",
        "pipeline[5].of[0].kk: unknown field of ngram; did you mean 'k'?",
        "pipeline[6].constant: expected a number, found 'x'",
        "pipeline[6].of: missing; fuse puts several components together, each a [[pipeline.of]] table",
        "pipeline[7].of: exact is not made of other components",
        "pipeline[8].x: unknown field of sentences; it has: no fields",
    ]
    for message in wanted:
        assert message in found
    assert any(
        m.startswith("pipeline[3].use: unknown component 'zzz'; there are: abbreviations, bm25, collective, conj")
        for m in found
    )
    assert any(m.startswith("pipeline[4].use: missing; name a component: abbreviations") for m in found)
    assert len(found) == len(wanted) + 2


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"", ["pipeline: missing"]),
        (b"pipeline = []", ["pipeline: List should have at least 1 item after validation, not 0, found []"]),
        (b"pipeline = 3", ["pipeline: expected a list, found 3"]),
        (b"pipeline = [3]", ["pipeline.0: expected a table, found 3"]),
        (b"kb = ", ["not TOML: Invalid value (at end of document)"]),
    ],
)
def test_what_is_no_recipe(tmp_path: Path, content: bytes, messages: list[str]) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(content)
    assert list(problems(path)) == messages
    more = problems(path, "decide.k=3")
    assert more[-1] == messages[-1]


def test_hostile_toml(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("a = " + "[" * 100_000)
    assert problems(path)[0].startswith("not TOML: ")
    path.write_bytes(b"\xff")
    assert problems(path)[0].startswith("not UTF-8: byte 0xff at offset 0")


@pytest.mark.parametrize("changes", ["ngram.k=3", {"ngram.k": 3}])
def test_changes_are_a_list(recipe: Path, changes: Any) -> None:
    with pytest.raises(RecipeError) as caught:
        config.load(recipe, changes=changes)
    [problem] = caught.value.problems
    assert problem == f"changes: a list of 'part.field=value', such as ['decide.threshold=0.95'], not {changes!r}"


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000], ids=["digits", "brackets"])
def test_hostile_changes(recipe: Path, text: str) -> None:
    [found] = problems(recipe, f"ngram.k={text}")
    assert found.startswith(f"ngram.k: not a value ({len(text):,} characters)")
    assert problems(recipe, f"ngram.k=0x{'f' * 5000}")[0].startswith("ngram.k: an integer of 20,000 bits")


def test_a_list_is_said_to_be_expected(recipe: Path) -> None:
    wanted = 'pipeline[0].types: expected a list such as ["Disease", "Chemical"], found \'Disease,Chemical\''
    assert problems(recipe, "pipeline=[{use='dictionary', types='Disease,Chemical'}]") == (wanted,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('ngram.k="32"', "pipeline[1].of[1].k: expected a whole number, found '32'"),
        ("ngram.k=32.0", "pipeline[1].of[1].k: expected a whole number, found 32.0"),
        ("ngram.k=true", "pipeline[1].of[1].k: expected a whole number, found True"),
        ('ngram.ngram_range=[2, "3"]', "pipeline[1].of[1].ngram_range: expected a whole number, found '3'"),
        ("ngram.long_forms=1", "pipeline[1].of[1].long_forms: expected true or false, found 1"),
        ('ngram.long_forms="yes"', "pipeline[1].of[1].long_forms: expected true or false, found 'yes'"),
        ('decide.threshold="0.5"', "pipeline[2].threshold: expected a number or 'f1', found '0.5'"),
    ],
)
def test_no_value_is_turned_into_another(recipe: Path, change: str, message: str) -> None:
    assert problems(recipe, change) == (message,)


def test_what_toml_writes_as_something_else(recipe: Path, kb: KnowledgeBase) -> None:
    changes = ["ngram.k=32", "ngram.ngram_range=[2, 4]", "ngram.max_features=9", "fuse.constant=3"]
    fuse = load(recipe, kb=kb, changes=changes).parts[1]
    ngram = Ngram(kb=kb, k=32, ngram_range=(2, 4), max_features=9)
    assert fuse == Fuse([Exact(kb=kb), ngram], constant=3.0)
    assert not check_value(TypeAdapter(Path), "a/\udcff.txt", "encoder")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("3", "names: expected a table, found 3"),
        ('{informal = "yes"}', "names.informal: expected true or false, found 'yes'"),
        ('{min_precision = "a"}', "names.min_precision: expected a number, found 'a'"),
        ('{types = "Drug"}', "names.types: expected a list such as [\"Drug\"], found 'Drug'"),
        ('{overlaps = "any"}', "names.overlaps: expected 'longest' or 'all', found 'any'"),
        ("{typo = true}", "names.typo: unknown field of dictionary; did you mean 'typos'?"),
    ],
)
def test_a_table_of_keywords_of_another_component(recipe: Path, names: str, message: str) -> None:
    assert problems(recipe, f"pipeline=[{{use='tagger', names={names}}}]") == (f"pipeline[0].{message}",)
    choices = f'tune={{"tagger.names" = [{{typos = true}}, {names}]}}'
    assert problems(recipe, "pipeline=[{use='tagger'}]", choices) == (f"tune.tagger.{message}",)


@pytest.mark.parametrize("names", ['{language = "xx"}', "{min_precision = 2}"])
def test_values_that_another_component_refuses(recipe: Path, kb: KnowledgeBase, names: str) -> None:
    name = names[1:].partition(" ")[0]
    with pytest.raises(RecipeError, match=rf"r\.toml: 1 problem\n  pipeline\[0\]\.names: {name} is "):
        load(recipe, kb=kb, changes=[f"pipeline=[{{use='tagger', names={names}}}]"])


def test_a_knowledge_base_is_no_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    build([Concept("A:1", (Name("ache"),))], tmp_path / "kb" / "rheum.kb")
    [said] = problems(Path("rheum"))
    assert said.endswith("; rheum is a knowledge base: load('dictionary', kb='rheum'), and --kb rheum in the shell")


def test_missing_recipes(tmp_path: Path) -> None:
    assert problems(Path("hp0")) == ("no such recipe or file; did you mean 'hpo'?",)
    [said] = problems(Path("/no/such.toml"))
    assert said.startswith("no such recipe or file; shipped recipes: dictionary, ")
    assert len(said) < 300, "recipes of a corpus are one entry"
    named = said.partition("recipes: ")[2].split(", ")
    assert {name if "/" not in name else f"{name.partition('/')[0]}/…" for name in recipes()} == set(named)
    assert "; at the Hugging Face Hub it is hf:ward/letters@v2;" in problems(Path("ward/letters@v2"))[0]
    assert not any("Hub" in problems(Path(path))[0] for path in ("ward/letters.toml", "/ward/letters", "../letters"))
    assert problems(tmp_path) == ("is a folder, expected a file",)
    (tmp_path / "pipeline.toml").touch()
    [problem] = problems(tmp_path)
    assert f"; --set tagger.encoder={tmp_path} lets" in problem, "a trained folder"
    for folder in ("ncbi_disease", "ncbi_disease/"):
        assert "; recipes of this corpus: ncbi_disease/" in problems(Path(folder))[0]
    assert "no such recipe" in problems(Path("a\0b"))[0]


def test_recipes_that_never_end_or_lead_nowhere(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        assert problems(path)[0].startswith("is a pipe or a device")
    assert problems(tmp_path / "circle") == ("cannot be read: Too many levels of symbolic links",)


# --- changes ---------------------------------------------------------------------------------------------------------


def test_changes(recipe: Path) -> None:
    read = read_recipe(
        recipe,
        changes=[
            "seed=7",
            "corpus=bc5cdr",
            'kb="my kb"',
            "decide.fold=false",
            "decide.threshold = 0.5",
            "decide.nil=drop",
            "retrieve.k=32",
            "ngram.ngram_range=[1, 5]",
            '"ngram".min_df=2',
            "description=a=b",
        ],
    )
    assert (read.seed, read.corpus, read.kb, read.description) == (7, "bc5cdr", "my kb", "a=b")
    assert read.pipeline[2] == {"use": "decide", "threshold": 0.5, "fold": False, "nil": "drop"}
    exact, ngram = read.pipeline[1]["of"]
    assert exact == {"use": "exact", "k": 32}
    assert ngram == {"use": "ngram", "k": 32, "ngram_range": [1, 5], "min_df": 2}
    assert read_recipe(recipe, changes=["detect.types=true"]).pipeline[0] == {"use": "gold", "types": True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("seed", "seed: expected key=value"),
        ("=3", "=3: expected key=value"),
        ("seed=x", "seed: expected a whole number, found 'x'"),
        ("seed=", "seed: expected a whole number, found ''"),
        ("rerank.k=3", "rerank.k=3: no part 'rerank' in the pipeline; it has: gold, fuse, exact, ngram, decide"),
        ("ngram.kk=3", "pipeline[1].of[1].kk: unknown field of ngram; did you mean 'k'?"),
        ("ngram.k=abc", "pipeline[1].of[1].k: expected a whole number"),
        ("decide.use=decied", "pipeline[2].use: unknown component 'decied'; did you mean 'decide'?"),
    ],
)
def test_wrong_changes(recipe: Path, change: str, message: str) -> None:
    [problem] = problems(recipe, change)
    assert problem.startswith(message)


# --- making ----------------------------------------------------------------------------------------------------------


def test_load_makes_what_the_recipe_says(recipe: Path, kb: KnowledgeBase) -> None:
    pipeline = load(recipe, kb=kb, changes=["fuse.constant=3", "exact.level=case"])
    assert repr(pipeline) == "Gold >> Fuse >> Decide"
    assert (pipeline.name, pipeline.kb) == (str(recipe), kb)
    fuse = pipeline.parts[1]
    assert fuse == Fuse([Exact(kb=kb, level="case"), Ngram(kb=kb, k=8, ngram_range=(2, 3))], constant=3.0)
    assert load(recipe, kb=kb.path).kb is not None
    assert load(recipe, kb=str(kb.path))([Document("d", "cold", mentions=(Mention(0, 4),))])[0].mentions


def test_kb_is_needed(tmp_path: Path, kb: KnowledgeBase) -> None:
    path = tmp_path / "r.toml"
    path.write_text('[[pipeline]]\nuse = "sentences"\n')
    with pytest.raises(RecipeError, match="kb: missing; name a knowledge base"):
        load(path)
    assert load(path, kb=kb).kb is kb
    assert load(path, changes=[f"kb={kb.path}"]).kb is not None
    with pytest.raises(KnowledgeBaseError, match="No such file"):
        load(path, kb="no-such-kb")


def test_wrong_values_are_found_when_made(recipe: Path, kb: KnowledgeBase) -> None:
    with pytest.raises(LinnetError, match=r"r\.toml: 1 problem\n  pipeline\[\d\]\.threshold 2\.0 is neither between"):
        load(recipe, kb=kb, changes=["decide.threshold=2"])
    with pytest.raises(RecipeError, match=r"r\.toml: 1 problem\n  pipeline\[1\]\.of\[1\]\.k: 0 must be at least 1"):
        load(recipe, kb=kb, changes=["ngram.k=0"])


def test_fusing_what_cannot_be_fused(tmp_path: Path, kb: KnowledgeBase) -> None:
    path = tmp_path / "r.toml"
    path.write_text('[[pipeline]]\nuse = "fuse"\n[[pipeline.of]]\nuse = "gold"\n')
    with pytest.raises(PipelineError, match="fuse puts retrievers together; Gold is no retriever"):
        load(path, kb=kb)


def test_hpo_is_built_when_first_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    asked: list[Any] = []

    def fake(sources: Sequence[Any], path: Path, **keywords: Any) -> KnowledgeBase:
        asked.append((sources[0].vocabulary, path, keywords))
        return build([Concept("HP:1", (Name("a"),))], path)

    monkeypatch.setattr("linnet.vocabularies.build.build_from", fake)
    assert len(open_kb("hpo")) == len(open_kb("hpo")) == 1
    assert asked == [("hpo", tmp_path / "kb" / "hpo.kb", {"name": "hpo"})]


# --- plugins ---------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Shout(Stage):
    """A component of another package."""

    loud: bool
    GIVES = frozenset({"sentences"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        return list(docs)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("shouting")
    module.Shout = Shout  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "shouting", module)
    monkeypatch.setattr(Shout, "__module__", "shouting")
    points = [
        metadata.EntryPoint("shout", "shouting:Shout", "linnet.components"),
        metadata.EntryPoint("gone", "no_such_module:X", "linnet.components"),
        metadata.EntryPoint("half", "shouting:Whisper", "linnet.components"),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: points if group == "linnet.components" else [])
    for user in (config, keywords):
        monkeypatch.setattr(user, "keywords_of", keywords.keywords_of.__wrapped__)
    monkeypatch.setattr(linnet.recipes.components, "_plugins", linnet.recipes.components._plugins.__wrapped__)


def test_plugins(plugins: None, tmp_path: Path, kb: KnowledgeBase) -> None:
    assert components()["shout"] == "shouting:Shout"
    path = tmp_path / "r.toml"
    path.write_text('[[pipeline]]\nuse = "shout"\n')
    assert problems(path) == ("pipeline[0].loud: missing; shout needs it",)
    pipeline = load(path, kb=kb, changes=["shout.loud=true"])
    assert pipeline.parts == (Shout(loud=True),)
    save(pipeline, tmp_path / "saved")
    assert load(tmp_path / "saved").parts == (Shout(loud=True),)


def test_a_plugin_with_a_name_of_ours_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [metadata.EntryPoint("decide", "shouting:Shout", "linnet.components")]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: points if group == "linnet.components" else [])
    monkeypatch.setattr(linnet.recipes.components, "_plugins", linnet.recipes.components._plugins.__wrapped__)
    with pytest.warns(LinnetWarning, match="component 'decide' of the package shouting is not used, since Linnet has"):
        assert components()["decide"] == "linnet.pipeline.decide:Decide"  # our own names are not taken over


@pytest.mark.parametrize(("name", "message"), [("gone", "No module named"), ("half", "no attribute 'Whisper'")])
def test_broken_plugins(plugins: None, tmp_path: Path, name: str, message: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(f'[[pipeline]]\nuse = "{name}"\n')
    with pytest.raises(LinnetError, match=f"the component '{name}' is .* cannot be loaded: .*{message}"):
        read_recipe(path)


# --- saving ----------------------------------------------------------------------------------------------------------


def fitted(kb: KnowledgeBase) -> Pipeline:
    decide = Decide(kb=kb, threshold=0.25)
    decide.confidence, decide.calibration = Confidence(np.arange(float(len(FEATURES)))), "joint"
    parts = (Fuse([Fuse([Exact(kb=kb)], constant=1), Ngram(kb=kb, k=5, ngram_range=(1, 2))]), decide)
    return Pipeline(*parts, kb=kb)


def test_trained_folders(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "model"
    save(fitted(kb), folder)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "0-fuse/0-fuse/0-exact/config.json",
        "0-fuse/1-ngram/config.json",
        "1-decide/checksums.json",
        "1-decide/config.json",
        "1-decide/learned.json",
        "card.md",
        "pipeline.toml",
    ]
    values = tomllib.loads((folder / "pipeline.toml").read_text())
    assert (values["kb"], values["kb_version"]) == (str(kb.path), kb.version)
    assert values["pipeline"][0]["of"][1] == {"use": "ngram", "k": 5, "ngram_range": [1, 2]}
    card = (folder / "card.md").read_text()
    assert "# Fuse >> Decide" in card
    assert f"small, version {kb.version}, 10 concepts" in card
    again = load(folder)
    assert again.parts[0] == Fuse(
        [Fuse([Exact(kb=again.kb)], constant=1.0), Ngram(kb=again.kb, k=5, ngram_range=(1, 2))]  # type: ignore[arg-type]
    )
    decide = again.parts[1]
    assert isinstance(decide, Decide)
    assert decide.confidence is not None
    assert decide.confidence.weights.tolist() == list(range(len(FEATURES)))
    assert (decide.threshold, decide.calibration) == (0.25, "joint")


def test_trained_folders_say_what_they_have_seen(kb: KnowledgeBase, tmp_path: Path) -> None:
    [learned, chosen] = docs = [Document.of("Seizure."), Document.of("Cold.")]
    link = load("dictionary", kb=kb)
    save(link, tmp_path / "untrained")
    assert not (tmp_path / "untrained" / "seen.json").exists()
    link.seen = link.seen.with_documents(train=[learned], dev=[chosen])
    save(link, tmp_path / "trained")
    assert [doc.meta["seen"] for doc in load(tmp_path / "trained", kb=kb)(docs)] == ["train", "dev"]
    card = (tmp_path / "trained" / "card.md").read_text()
    assert "seen (seen.json): trained on 1, chosen or calibrated on 1" in card


def test_changes_to_trained_folders(kb: KnowledgeBase, tmp_path: Path) -> None:
    save(fitted(kb), tmp_path / "model")
    pipeline = load(tmp_path / "model", changes=["decide.threshold=0.75", "ngram.k=3", "ngram.ngram_range=[1, 3]"])
    decide, fuse = pipeline.parts[1], pipeline.parts[0]
    assert isinstance(decide, Decide)
    assert isinstance(fuse, Fuse)
    assert (decide.threshold, decide.calibration) == (0.75, "joint")
    assert fuse.of[1] == Ngram(kb=pipeline.kb, k=3, ngram_range=(1, 3))  # type: ignore[arg-type]
    with pytest.raises(LinnetError, match="threshold"):
        load(tmp_path / "model", changes=["decide.threshold=7"])


def test_what_was_learned_with_an_option_keeps_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    save(Pipeline(Gold(), Ngram(kb=kb), Lexical(kb=kb, penalty=1.0), Decide(kb=kb), kb=kb), tmp_path / "model")
    with pytest.raises(RecipeError, match=r"lexical.penalty: was trained with 1.0, not with 2.0(.|\n)*or train again"):
        load(tmp_path / "model", changes=["lexical.penalty=2.0"])
    assert load(tmp_path / "model", changes=["lexical.penalty=1.0"]).parts[2].config()["penalty"] == 1.0  # type: ignore[attr-defined]


def test_nothing_is_overwritten(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    save(fitted(kb), tmp_path / "empty")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(LinnetError, match="empty exists and is not empty: give a new folder"):
        save(fitted(kb), tmp_path / "empty")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(LinnetError, match="file exists and is not empty"):
        save(fitted(kb), tmp_path / "file")
    with pytest.raises(LinnetError, match="cannot make the folder"):
        save(fitted(kb), tmp_path / "file" / "below")


class Anonymous(Shout):
    """Registered nowhere."""


class Foreign:
    needs = gives = frozenset({"mentions"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        return list(docs)


def test_what_cannot_be_saved_leaves_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    cases = [
        (Pipeline(Exact(kb=kb), Anonymous(loud=True), kb=kb), "Anonymous has no name: register it"),
        (Pipeline(Foreign(), Exact(kb=kb), kb=kb), "Foreign cannot be saved"),
        (Pipeline(Anonymous(loud=True)), "has no knowledge base to name"),
    ]
    for pipeline, message in cases:
        with pytest.raises(LinnetError, match=message):
            save(pipeline, tmp_path / "model")
        assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["a b.kb", 'quo"te\\.kb', "😀ß.kb", "tab\t.kb", "del\x7f.kb"])
def test_any_path_of_a_knowledge_base(tmp_path: Path, name: str) -> None:
    kb = build([Concept("X:1", (Name("a"),))], tmp_path / name)
    save(Pipeline(Exact(kb=kb), kb=kb), tmp_path / "model")
    assert load(tmp_path / "model").kb is not None


def test_another_knowledge_base_is_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    save(fitted(kb), tmp_path / "model")
    other = build([Concept("X:1", (Name("a"),))], tmp_path / "other.kb")
    with pytest.raises(
        KnowledgeBaseError, match=f"made with version {kb.version} .*other.kb has version {other.version}"
    ):
        load(tmp_path / "model", kb=other)


def test_damaged_folders(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save(fitted(kb), folder)
    (folder / "0-fuse/1-ngram/config.json").write_text("{")
    with pytest.raises(FormatError, match=r"1-ngram/config\.json: not JSON"):
        load(folder)
    (folder / "0-fuse/1-ngram/config.json").unlink()
    with pytest.raises(FormatError, match=r"1-ngram/config\.json: cannot be read"):
        load(folder)
    (folder / "pipeline.toml").unlink()
    with pytest.raises(RecipeError, match=r"pipeline\.toml: 1 problem"):
        load(folder)


def test_toml_values() -> None:
    values = [True, False, 3, -0.5, 1e300, "a'b\"\\\n", ["x", 1, [True]], (1, 2)]
    assert tomllib.loads(f"v = {toml_value(values)}")["v"] == [*values[:-1], [1, 2]]


def test_a_field_of_one_stage_of_training_is_changed_there_alone() -> None:
    def tables(change: str) -> list[object]:
        field = change.partition("=")[0].rpartition(".")[2]
        return [table.get(field) for table in config.read_recipe("ncbi_disease/generate", changes=[change]).train]

    assert tables("train.generate.target=random") == [None, "random"]
    assert tables("train.generate.definitions=0.5") == [0.5, None]
    assert tables("train.generate.lr=0.001") == [0.001, 0.001]
    assert tables("train.generate.targt=random") == ["random", "random"]  # refused with what there is
