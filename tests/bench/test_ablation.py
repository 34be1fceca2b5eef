"""Ingredients left out one by one, on documents that a reranker can learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from linnet.bench.ablation import HABITS, NO_RANKER, WHOLE, Ablation, Outcome, Variant, ablate, compare
from linnet.data import Document
from linnet.errors import LinnetError, RecipeError
from linnet.fit.fitting import train
from linnet.fit.plan import tasks
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.recipes.config import load
from linnet.rerank.features import GROUPS
from tests.rerank.conftest import CONCEPTS, SENTENCES, document

RECIPE = ("gold", "conjuncts", "ngram", "lexical", "decide")
TRAIN = ("ngram", "lexical")
pytestmark = pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(CONCEPTS, tmp_path_factory.mktemp("base") / "base.kb")


def documents(first: int, count: int) -> list[Document]:
    return [document(n, [SENTENCES[(n + step) % len(SENTENCES)] for step in (0, 1, 3)]) for n in range(first, count)]


def task(
    folder: Path, base: KnowledgeBase, parts: Sequence[str] = RECIPE, learn: Sequence[str] = TRAIN, more: str = ""
) -> Ablation:
    """Return the ablation of a recipe; `more` are lines for its last part."""
    path = folder / "recipe.toml"
    tables = "".join(f'[[pipeline]]\nuse = "{part}"\n' for part in parts) + more
    path.write_text(f'kb = "{base.path}"\n' + tables + "".join(f'[[train]]\npart = "{part}"\n' for part in learn))
    dev = [*documents(30, 38), document(99, [("IDDM", "MESH:2"), ("sugar", "MESH:1"), ("fever", "MESH:404")])]
    return Ablation(source=str(path), kb=base, train=documents(0, 20), chosen_on=(), dev=dev)


@pytest.fixture(scope="module")
def outcomes(base: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    """Every outcome of the recipe with all ingredients."""
    return list(ablate(task(tmp_path_factory.mktemp("recipe"), base)))


def right(dev: Sequence[Document], found: Sequence[Document]) -> list[bool]:
    """Say which mentions of concepts that are known have the right answer, one after the other."""
    return [
        theirs.concepts == ours.concepts
        for gold, predicted in zip(dev, found, strict=True)
        for theirs, ours in zip(gold.mentions or (), predicted.mentions or (), strict=True)
        if theirs.concepts != ("MESH:404",)
    ]


@pytest.mark.slow
def test_there_is_a_row_for_each_ingredient(outcomes: list[Outcome]) -> None:
    habits = [f"ngram: {name}" for name in HABITS]
    columns = [f"lexical: {kind}" for kind in GROUPS]
    assert [one.variant.without for one in outcomes if one.variant.pipeline == WHOLE] == [
        "", *columns, "lexical", *habits, "conjuncts",
    ]  # fmt: skip
    assert [one.variant.without for one in outcomes if one.variant.pipeline == NO_RANKER] == ["", *habits, "conjuncts"]
    assert {len(one.right) for one in outcomes} == {26}
    assert all(set(one.recall) == {20, 64} for one in outcomes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "parts", "changes"),
    [
        ("", RECIPE, []),
        ("lexical: names", RECIPE, ['lexical.omit=["names"]', "lexical.penalty={penalty}"]),
        ("lexical", ("gold", "conjuncts", "ngram", "decide"), []),
        ("ngram: training aliases", RECIPE, ["ngram.aliases=false"]),
        ("ngram: prior of aliases", RECIPE, ["ngram.prior=0"]),
        ("ngram: all but 3-grams", RECIPE, ["ngram.ngram_range=[3, 3]"]),
        ("conjuncts", ("gold", "ngram", "lexical", "decide"), []),
    ],
)
def test_it_is_what_training_with_these_changes_gives(
    outcomes: list[Outcome], base: KnowledgeBase, tmp_path: Path, without: str, parts: Sequence[str], changes: list[str]
) -> None:
    found = next(one for one in outcomes if one.variant.without == without)
    whole = task(tmp_path, base, parts, [part for part in TRAIN if part in parts])
    changes = [change.format(penalty=outcomes[0].penalty) for change in changes]
    made = load(whole.source, kb=base, changes=changes)
    todo = tasks(made, whole.recipe.train, source=whole.source)
    assert list(train(made, todo, whole.train, (), output=tmp_path / "out"))
    linked = load(tmp_path / "out", kb=base)([doc.spans_only() for doc in whole.dev])
    assert found.right.tolist() == right(whole.dev, linked)


def test_what_matters_is_told_from_what_does_not(outcomes: list[Outcome]) -> None:
    rows = {(row.pipeline, row.without): row for row in compare(outcomes)}
    assert rows[WHOLE, ""].difference is None
    assert rows[WHOLE, "lexical: mention types"].difference == 0.0  # given spans have none
    assert rows[WHOLE, "lexical: mention types"].p == 1.0
    lost = rows[NO_RANKER, "ngram: training aliases"]
    assert lost.difference is not None
    assert lost.difference < -0.1
    assert rows[WHOLE, "lexical"].accuracy == rows[NO_RANKER, ""].accuracy


def test_columns_are_left_out_under_one_penalty(outcomes: list[Outcome]) -> None:
    assert outcomes[0].penalty in (3.0, 10.0, 30.0)
    assert {one.penalty for one in outcomes if one.variant.without.startswith("lexical: ")} == {outcomes[0].penalty}
    assert {one.penalty for one in outcomes if one.variant.pipeline == NO_RANKER} == {None}


def test_equal_variants_are_measured_once(
    base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcomes: list[Outcome]
) -> None:
    measured: list[Variant] = []

    def measure(_self: Ablation, variant: Variant) -> Outcome:
        measured.append(variant)
        return Outcome(variant, np.ones(3, np.bool_), {}, None, 1.0)

    monkeypatch.setattr(Ablation, "measure", measure)
    told = list(ablate(task(tmp_path, base)))
    assert len(told) == len(outcomes) == len(measured) + 1
    assert len({(one.changes, one.removed) for one in measured}) == len(measured)
    [again] = [one for one in told if not one.seconds]
    assert (again.variant.pipeline, again.variant.without) == (NO_RANKER, "")


def test_ingredients_that_are_not_there_are_not_left_out(base: KnowledgeBase, tmp_path: Path) -> None:
    def names(*arguments: object, **more: str) -> list[str]:
        return [one.without for one in task(tmp_path, base, *arguments, **more).variants()]  # type: ignore[arg-type]

    retriever = ("gold", "ngram")
    habits = ["ngram: long forms", "ngram: word boundaries", "ngram: sublinear tf", "ngram: all but 3-grams"]
    assert names(retriever, ()) == habits  # untrained: no aliases
    learned = ["ngram: training aliases", "ngram: prior of aliases"]
    assert names(retriever, ("ngram",)) == [*learned, *habits]
    assert names(retriever, ("ngram",), more="aliases = false\n") == habits
    changed = "long_forms = false\nngram_range = [3, 3]\n"
    assert names(retriever, ("ngram",), more=changed) == [*learned, *habits[1:3]]
    left = names(("gold", "exact", "lexical"), ("lexical",), more='omit = ["names", "heads"]\n')
    assert left == [*(f"lexical: {kind}" for kind in GROUPS if kind not in ("names", "heads")), "lexical", ""]


def test_columns_left_out_already_stay_left_out(base: KnowledgeBase, tmp_path: Path) -> None:
    made = task(tmp_path, base, ("gold", "exact", "lexical"), ("lexical",), 'omit = ["names"]\n').variants(10.0)
    assert made[0].changes == ('lexical.omit=["names", "retrieval"]', "lexical.penalty=10.0")


def test_p_is_exact_and_adjusted_for_the_table() -> None:
    def outcome(pipeline: str, without: str, first: int, last: int) -> Outcome:
        return Outcome(
            Variant(pipeline, without), (np.arange(20) >= first) & (np.arange(20) < last), {20: 1.0}, None, 1.0
        )

    told = [
        outcome(WHOLE, "", 0, 12), outcome(WHOLE, "a", 8, 13), outcome(WHOLE, "b", 0, 10),
        outcome(NO_RANKER, "", 3, 8), outcome(NO_RANKER, "a", 3, 13),
    ]  # fmt: skip
    rows = compare(told)
    ps = [min(1.0, 2 * sum(math.comb(n, k) for k in range(few + 1)) / 2**n) for n, few in ((9, 1), (2, 0), (5, 0))]
    assert [row.p for row in rows] == pytest.approx([None, ps[0], ps[1], None, ps[2]])
    # Holm by hand: 0.0390625 and 0.5 and 0.0625 of three comparisons
    assert [row.adjusted for row in rows] == pytest.approx([None, 3 * ps[0], ps[1], None, 2 * ps[2]])
    assert [row.difference for row in rows] == pytest.approx([None, -0.35, -0.1, None, 0.25])
    assert [row.mentions for row in rows] == [20] * 5


def test_what_cannot_be_compared(base: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no part with ingredients to leave out; such are lexical, ngram, conjuncts"):
        task(tmp_path, base, ("gold", "exact", "decide"), ()).variants()
    with pytest.raises(RecipeError, match=r"lexical is not trained; add \[\[train\]\] with part"):
        task(tmp_path, base, learn=("ngram",)).variants()
    known = task(tmp_path, base, ("gold", "ngram", "decide"), ())
    lost = Ablation(source=known.source, kb=base, train=(), chosen_on=(), dev=[document(1, [("x", "MESH:404")])])
    with pytest.raises(LinnetError, match="no gold mention has a concept of"):
        next(ablate(lost))
