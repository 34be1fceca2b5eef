from __future__ import annotations

import builtins
import itertools
import re
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention
from linnet.errors import DataError, LinnetError, MissingExtraError, RecipeError, how_to_install
from linnet.fit.study import STUDY
from linnet.fit.tuning import Search, Trial, best, tune, write_best
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Retriever, Step
from linnet.recipes import config
from linnet.recipes.recipe import Recipe

GOLD = "HP:0001250"
RUNS: list[tuple[float, frozenset[str], frozenset[str]]] = []  # each training: level, train, dev


@dataclass(kw_only=True)
class Knob(Retriever):
    """Right in so many of ten documents as its level says, whatever it learned; 7 is refused, and 8 learns nothing."""

    kb: KnowledgeBase
    level: float = 1.0
    sizes: tuple[int, ...] = (1, 2)
    learned: frozenset[str] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        if self.level == 7:
            raise RecipeError("knob", ["level: 7 is no level"])

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        assert not self.learned & {doc.id for doc in docs}
        assert all(mention.concepts is None for doc in docs for mention in doc.mentions or ())
        right, wrong = self.kb.row(GOLD), (self.kb.row(GOLD) + 1) % len(self.kb)
        return [[self._one(right if int(doc.id) % 10 < self.level else wrong)] for doc in docs]

    def _one(self, row: int) -> Candidates:
        return Candidates(np.array([row], np.int32), np.ones(1, np.float32), kb=self.kb.version)

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Any,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        if self.level == 8:
            raise DataError("knob: nothing to learn from")
        self.learned = frozenset(doc.id for doc in train)
        RUNS.append((self.level, self.learned, frozenset(doc.id for doc in dev)))
        yield Step(1, 1)


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(config.COMPONENTS, "knob", f"{Knob.__module__}:{Knob.__qualname__}")
    RUNS.clear()


def documents(ids: range) -> list[Document]:
    mention = Mention(0, 7, source="gold", concepts=(GOLD,))
    return [Document(str(id), f"Seizure {id}.", mentions=(mention,)) for id in ids]


@pytest.fixture
def make(tmp_path: Path, kb: KnowledgeBase) -> Any:
    def made(tune: str = '"knob.level" = [1, 4, 9]', level: float = 4, more: str = "", **options: Any) -> Search:
        path = tmp_path / "recipe.toml"
        parts = (
            f'[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "knob"\nlevel = {level}\n[[pipeline]]\nuse = "decide"\n'
        )
        path.write_text(f'kb = "{kb.path}"\n{parts}{more}\n[tune]\n{tune}\n')
        chosen: dict[str, Any] = {"train": documents(range(30)), "dev": documents(range(100, 120)), **options}
        return Search(source=str(path), kb=kb, **chosen)

    return made


@pytest.mark.slow
def test_the_best_is_found_and_what_was_tried_is_known(make: Any, tmp_path: Path) -> None:
    search = make()
    trials = list(tune(search, tmp_path / "out", trials=10))
    assert [trial.number for trial in trials] == list(range(1, 11))
    assert trials[0].values == {"knob.level": 4}  # the recipe's own first
    assert all(trial.score == pytest.approx(trial.values["knob.level"] / 10) for trial in trials)
    seen = {trial.values["knob.level"] for trial in trials}
    assert len(RUNS) == len(seen) == 3  # nothing is trained twice
    assert all(trials[trial.same - 1].values == trial.values for trial in trials if trial.same)
    assert {dev for _, _, dev in RUNS} == {frozenset()}  # what is scored on, nothing chooses on
    found = write_best(search, trials, tmp_path / "best.toml")
    assert found.values == {"knob.level": 9}
    text = (tmp_path / "best.toml").read_text()
    assert f"trial {found.number} of 10, in-kb.accuracy@1 0.9000 with split dev" in text
    assert config.read_recipe(tmp_path / "best.toml").pipeline[1] == {"use": "knob", "level": 9}
    assert "tune" not in tomllib.loads(text)


def test_the_best_recipe_finds_what_lies_beside_the_first(make: Any, tmp_path: Path) -> None:
    search = make()
    data, recipe = tmp_path / "data", Path(search.source)
    data.mkdir()
    for place, name in ((recipe.parent, "terms"), (data, "more")):
        (place / f"{name}.tsv").write_text("id\tname\nX:1\tFits\n")
    sources = ", ".join(f'{{from = "table", path = "{name}.tsv"}}' for name in ("terms", "more"))
    text = recipe.read_text()
    recipe.write_text(text[text.index("[[pipeline]]") :] + f'[kb]\nname = "t"\nbuild = [{sources}]\n')
    for folder, terms in ((tmp_path, "terms.tsv"), (tmp_path / "tuned", str(tmp_path / "terms.tsv"))):
        folder.mkdir(exist_ok=True)
        write_best(search, [Trial(1, {"knob.level": 9}, 0.9, 1.0)], folder / "best.toml", data=data)
        best = config.read_recipe(folder / "best.toml")
        assert [table["path"] for table in best.kb.build] == [terms, "more.tsv"]  # type: ignore[union-attr]
        opened = best.open_kb(data=data)
        assert opened is not None
        assert len(opened) == 1


@pytest.mark.slow
def test_it_goes_on_as_if_nothing_had_happened(make: Any, tmp_path: Path) -> None:
    search = make('"knob.level" = {low = 0.5, high = 9.5}\n"knob.sizes" = [[1, 2], [2, 3]]')
    whole = [(t.values, t.score) for t in tune(search, tmp_path / "whole", trials=12, seed=5)]
    for cut in (1, 4):
        for _ in itertools.islice(tune(search, tmp_path / "parts", trials=12, seed=5), cut):
            pass
    again = [(t.values, t.score) for t in tune(search, tmp_path / "parts", trials=12, seed=5)]
    assert again == whole
    runs = len(RUNS)
    assert [(t.values, t.score) for t in tune(search, tmp_path / "parts", trials=5, seed=5)] == whole
    assert len(RUNS) == runs
    other = [(t.values, t.score) for t in tune(search, tmp_path / "other", trials=3, seed=6)]
    assert other != whole[:3]


@pytest.mark.slow
def test_an_interrupted_trial_is_made_again(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = make('"knob.level" = {low = 0.5, high = 9.5}')
    whole = [t.values for t in tune(search, tmp_path / "whole", trials=6)]

    def stop(*_: object) -> float:
        raise KeyboardInterrupt

    list(tune(search, tmp_path / "cut", trials=3))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Search, "measure", stop)
        list(tune(search, tmp_path / "cut", trials=6))
    assert [t.values for t in tune(search, tmp_path / "cut", trials=6)] == whole


def test_cross_validation(make: Any, tmp_path: Path) -> None:
    search = make(split="cv", tune='"knob.level" = [9]')
    [trial] = tune(search, tmp_path / "out", trials=1)
    assert trial.score == pytest.approx(0.9)
    held = [frozenset(map(str, range(30))) - learned for _, learned, _ in RUNS]
    assert len(held) == 3
    assert sorted(itertools.chain(*held), key=int) == [str(id) for id in range(30)]
    assert {len(dev) for _, _, dev in RUNS} == {20}


def test_copies_of_a_text_are_held_out_together(make: Any, tmp_path: Path) -> None:
    copies = [replace(doc, id=str(int(doc.id) + 30)) for doc in documents(range(30))]
    list(tune(make(split="cv", train=[*documents(range(30)), *copies]), tmp_path / "out", trials=1))
    assert all((str(id) in learned) is (str(id + 30) in learned) for _, learned, _ in RUNS for id in range(30))
    search = make(split="cv", train=[*documents(range(2)), *copies[:2]])
    with pytest.raises(LinnetError, match="2 documents of different text are too few for 3 folds"):
        list(tune(search, tmp_path / "few", trials=1))


@pytest.mark.parametrize("split", ["dev", "cv"])
def test_documents_that_nobody_has_annotated_are_not_scored_on(make: Any, tmp_path: Path, split: str) -> None:
    text = Document("text", "Nobody has read this.")
    search = make(split=split, train=[text, *documents(range(30))], dev=[text, *documents(range(100, 120))])
    assert next(tune(search, tmp_path / "out", trials=1)).score == pytest.approx(0.4)
    assert len(search.gold) == (20 if split == "dev" else 30)


def test_values_that_components_refuse(make: Any, tmp_path: Path) -> None:
    search = make('"knob.level" = [7]')
    trials = list(tune(search, tmp_path / "out", trials=2))
    assert [(t.score, t.problem, t.same) for t in trials] == [
        (None, "pipeline[1].level: 7 is no level", 0),
        (None, trials[0].problem, 1),
    ]
    assert [replace(t, seconds=0) for t in tune(search, tmp_path / "out", trials=2)] == [
        replace(t, seconds=0) for t in trials
    ]
    with pytest.raises(LinnetError, match=r"no trial has a score: pipeline\[1\].level: 7"):
        write_best(search, trials, tmp_path / "best.toml")
    assert not (tmp_path / "best.toml").exists()


def test_values_with_which_nothing_is_learned(make: Any, tmp_path: Path) -> None:
    search = make('"knob.level" = [4, 8]')
    trials = list(tune(search, tmp_path / "out", trials=6))
    assert {(t.values["knob.level"], t.score is None) for t in trials} == {(4, False), (8, True)}
    assert {t.problem for t in trials if t.score is None} == {"knob: nothing to learn from"}
    again = list(tune(search, tmp_path / "out", trials=6))  # it is known, and not begun anew
    assert [replace(t, seconds=0) for t in again] == [replace(t, seconds=0) for t in trials]


def no_lock(lock: Path) -> None:
    raise sqlite3.OperationalError(str(lock))


def test_a_second_process_is_refused_and_the_first_goes_on(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = make('"knob.level" = {low = 0.5, high = 9.5}')
    measure = Search.measure

    def meanwhile(self: Search, values: Mapping[str, Any]) -> float:
        with pytest.raises(LinnetError, match="another process trains into it: wait until it is done"):
            list(tune(search, tmp_path / "out", trials=2))
        return measure(self, values)

    monkeypatch.setattr(Search, "measure", meanwhile)
    assert [trial.number for trial in tune(search, tmp_path / "out", trials=2)] == [1, 2]


def test_one_process_at_a_time_where_no_lock_can_be_made(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linnet.fit.store.hold", no_lock)
    search = make('"knob.level" = {low = 0.5, high = 9.5}')
    measure = Search.measure

    def interrupted(self: Search, values: Mapping[str, Any]) -> float:
        monkeypatch.setattr(Search, "measure", measure)
        assert len(list(tune(search, tmp_path / "out", trials=2))) == 2
        return measure(self, values)

    monkeypatch.setattr(Search, "measure", interrupted)
    with pytest.raises(LinnetError, match="another process is running this study; run one at a time"):
        list(tune(search, tmp_path / "out", trials=2))
    assert len(list(tune(search, tmp_path / "out", trials=3))) == 3


def test_a_full_disk(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import optuna

    def full(*_: object, **__: object) -> None:
        reason = OSError("database or disk is full")
        raise optuna.exceptions.StorageInternalError("An exception is raised during the commit.") from reason

    with monkeypatch.context() as patch:
        patch.setattr(optuna.study.Study, "tell", full)
        with pytest.raises(LinnetError, match=r"study\.db cannot be written: database or disk is full; make room"):
            list(tune(make(), tmp_path / "out", trials=1))
    assert len(list(tune(make(), tmp_path / "out", trials=1))) == 1


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8))
def test_best_is_the_first_of_the_highest(scores: list[float | None]) -> None:
    trials = [Trial(n, {}, score, 0.0) for n, score in enumerate(scores, 1)]
    if all(score is None for score in scores):
        with pytest.raises(LinnetError, match="no trial has a score: "):
            best(trials)
    else:
        top = max(score for score in scores if score is not None)
        assert best(trials).number == scores.index(top) + 1


@pytest.mark.slow
def test_ranges_keep_their_bounds_and_steps(make: Any, tmp_path: Path) -> None:
    search = make('"knob.level" = {low = 1, high = 9, step = 3}')
    levels = [t.values["knob.level"] for t in tune(search, tmp_path / "a", trials=6)]
    assert set(levels) <= {1, 4, 7}
    search = make('"knob.level" = {low = 0.25, high = 0.9, step = 0.25}', level=0.5)
    levels = [t.values["knob.level"] for t in tune(search, tmp_path / "b", trials=5)]
    assert set(levels) <= {0.25, 0.5, 0.75}
    assert levels[0] == 0.5
    search = make('"knob.level" = {low = 0.01, high = 1, log = true}')
    assert all(0.01 <= t.values["knob.level"] <= 1 for t in tune(search, tmp_path / "c", trials=4))


def test_time_is_kept(make: Any, tmp_path: Path) -> None:
    assert list(tune(make(), tmp_path / "out", trials=5, timeout=0)) == []
    assert len(RUNS) == 0


def test_another_study_is_not_mixed_in(make: Any, tmp_path: Path) -> None:
    list(tune(make(), tmp_path / "out", trials=1))
    other = documents(range(50))
    for search, seed, said in (
        (make(level=9), 13, "recipe"),
        (make(train=other), 13, "training documents"),
        (make(dev=other), 13, "dev documents"),
        (make(split="cv"), 13, "split"),
        (make(score="all.accuracy@1"), 13, "score"),
        (make(), 14, "seed"),
    ):
        with pytest.raises(LinnetError, match=f"study of another {said}: give another folder"):
            list(tune(search, tmp_path / "out", trials=1, seed=seed))


@pytest.mark.parametrize("content", [b"no database" * 100, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_study_that_is_none(make: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / STUDY).write_bytes(content)
    with pytest.raises(LinnetError, match=r"study\.db is not a readable study"):
        list(tune(make(), tmp_path / "out", trials=1))


@pytest.mark.parametrize("name", ["a?b=c", "50%", "x#y", "ü ñ", "%41"])
def test_any_name_of_a_folder(make: Any, tmp_path: Path, name: str) -> None:
    list(tune(make(), tmp_path / name, trials=1))
    assert (tmp_path / name / STUDY).is_file()


def test_what_is_refused_before_any_trial(make: Any, tmp_path: Path) -> None:
    def said(search: Search) -> str:
        with pytest.raises(LinnetError) as caught:
            list(tune(search, tmp_path / "out", trials=1))
        assert not RUNS
        return str(caught.value)

    assert "did you mean 'in-kb.accuracy@1'" in said(make(score="in-kb.acuracy@1"))
    assert "no documents with gold mentions" in said(make(dev=[]))
    fuse = '[[pipeline]]\nuse = "fuse"\nmethod = "weighted"\n[[pipeline.of]]\nuse = "knob"\n[[train]]\npart = "fuse"'
    assert "train: fuse learns from the dev documents that trials are scored on; use --split cv" in said(
        make(more=fuse)
    )
    assert "does not name a part that learns" in said(make(more='[[train]]\npart = "gold"'))
    with pytest.raises(RecipeError, match="tune: missing"):
        make("")


def test_the_extra_is_named(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **more: Any) -> Any:
        if name == "optuna":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=rf"linnet tune needs optuna.*{re.escape(how_to_install('tune'))}"):
        list(tune(make(), tmp_path / "out", trials=1))


def test_keys_and_values_are_checked_with_the_recipe(make: Any) -> None:
    wrong = """
"knob.levle" = [1]
"knbo.level" = [1]
"level" = [1]
"knob.level" = ["x", 2]
"knob.sizes" = {low = 1, high = 3}
"gold.types" = {low = 2, high = 1, lg = 3}
"""
    with pytest.raises(RecipeError) as caught:
        make(wrong)
    text = "\n".join(caught.value.problems)
    for said in (
        "tune.knob.levle: unknown field 'levle' of knob; did you mean 'level'?",
        "tune.knbo.level: no part 'knbo' in the pipeline; did you mean 'knob'?",
        'tune.level: expected a part and its keyword in quotes, such as "ngram.k"',
        "tune.knob.level: expected a number, found 'x'",
        "tune.knob.sizes: ",
        "tune.gold.types.lg: unknown field; did you mean 'log'?",
    ):
        assert said in text


@pytest.mark.parametrize(
    "tune", ["ngram.k = [8]", '"fuse.k" = 8', '"a" = {}', '"" = [1]', '"." = [1]', '"x.y" = [nan]']
)
def test_hostile_tables(make: Any, tune: str) -> None:
    with pytest.raises(RecipeError):
        make(tune)


def test_whole_keywords_want_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        '[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "exact"\n[tune]\n"exact.k" = {low = 1.0, high = 9.0}\n'
    )
    with pytest.raises(RecipeError, match="expected a whole number, found"):
        config.read_recipe(path)
    path.write_text(path.read_text().replace(".0", ""))
    assert list(config.read_recipe(path).tune) == ["exact.k"]


@pytest.mark.parametrize("name", [*config.recipes(), "fused"])
def test_a_recipe_as_toml_is_the_same(name: str, tmp_path: Path) -> None:
    path = config.recipes().get(name, tmp_path / "fused.toml")
    if name == "fused":
        path.write_text(
            'kb = "a \\"b\\""\n[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "fuse"\n[[pipeline.of]]\nuse = "ngram"\n'
            'ngram_range = [2, 3]\n[[pipeline.of]]\nuse = "exact"\n[[train]]\npart = "ngram"\n"odd key" = {a = 1}\n'
            '[tune]\n"ngram.k" = [1]\n[expect]\n"dev.in-kb.recall@20" = 0.5\n'
        )
    recipe = config.read_recipe(path)
    (tmp_path / "again.toml").write_text(recipe.to_toml())
    again = config.read_recipe(tmp_path / "again.toml")
    assert again.model_dump() == recipe.model_copy(update={"tune": {}}).model_dump()
    assert isinstance(again, Recipe)


@pytest.mark.parametrize("split", ["dev", "cv"])
def test_parts_choose_on_the_share_that_the_recipe_keeps(make: Any, tmp_path: Path, split: str) -> None:
    train = documents(range(30))
    search = make(split=split, dev=documents(range(100, 120)) if split == "dev" else [])
    recipe = Path(search.source)
    recipe.write_text(f"dev_share = 0.2\n{recipe.read_text()}")
    list(tune(replace(search), tmp_path / "out", trials=1))
    assert len(RUNS) == (1 if split == "dev" else 3)
    for _, learned, chosen_on in RUNS:
        assert chosen_on
        assert chosen_on | learned <= {doc.id for doc in train}
        assert not chosen_on & learned


@pytest.mark.parametrize("split", ["dev", "cv"])
def test_texts_without_annotation_are_learned_from_and_not_scored(
    make: Any, tmp_path: Path, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Knob, "needs_gold", classmethod(lambda *_: False))
    search = make(split=split, texts=[Document("text", "Nobody has read this.")])
    assert next(tune(search, tmp_path / "out", trials=1)).score == pytest.approx(0.4)
    assert all("text" in learned for _, learned, _ in RUNS)
