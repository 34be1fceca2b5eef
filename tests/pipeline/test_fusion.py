from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention
from linnet.detect.gold import Gold
from linnet.errors import DataError, LinnetError, PipelineError, RecipeError
from linnet.fit.fitting import Done, train
from linnet.fit.plan import tasks
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Fuse, Pipeline, Retriever
from linnet.pipeline.component import Fits
from linnet.pipeline.fusion import Example, fit_weights, interleaved, reciprocal_rank, relative_scores, weighted_sum
from linnet.recipes import config, saving
from linnet.retrieve.bm25 import Bm25
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram


def listed(rows: list[int], scores: list[float], names: list[int] | None = None, kb: str = "v") -> Candidates:
    return Candidates(rows, scores, names=names, kb=kb)  # type: ignore[arg-type]


ONE = listed([7, 5, 3], [0.8, 0.4, 0.2], [70, -1, 30])
TWO = listed([5, 9, 7], [3.0, -1.0, -3.0], [50, 90, 71])
NONE = Candidates.none("v")


def test_weighted_sums_by_hand() -> None:
    found = weighted_sum([ONE, TWO, NONE], weights=[2, 1, 1])
    # relative scores: 7 -> 1 and 0, 5 -> 1/2 and 1, 3 -> 1/4, 9 -> 1/3
    want = {5: (2 * 0.5 + 1) / 4, 7: 2 / 4, 3: 2 * 0.25 / 4, 9: (1 / 3) / 4}
    assert found.rows.tolist() == [5, 7, 3, 9]
    assert found.scores.tolist() == pytest.approx([want[row] for row in (5, 7, 3, 9)])
    assert found.names is not None
    assert found.names.tolist() == [50, 70, 30, 90]
    assert found.kb == "v"


def test_interleaved_by_hand() -> None:
    found = interleaved([ONE, NONE, TWO])
    assert found.rows.tolist() == [7, 5, 9, 3]
    assert found.scores.tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert found.names is not None
    assert found.names.tolist() == [70, 50, 90, 30]
    assert interleaved([TWO, ONE]).rows.tolist() == [5, 7, 9, 3]


def test_nothing_to_fuse() -> None:
    for fused in (reciprocal_rank([NONE, NONE]), weighted_sum([NONE], weights=[1]), interleaved([NONE, NONE])):
        assert fused == Candidates([], [], names=[], kb="v")  # type: ignore[arg-type]


def test_versions_do_not_mix() -> None:
    other = listed([1], [1.0], kb="w")
    for call in (reciprocal_rank, interleaved, lambda lists: weighted_sum(lists, weights=[1, 1])):
        with pytest.raises(PipelineError, match=r"cannot be fused: \['v', 'w'\]"):
            call([ONE, other])


def test_candidates_of_no_named_version_are_of_any() -> None:
    for call in (reciprocal_rank, interleaved, lambda lists: weighted_sum(lists, weights=[1, 1])):
        assert call([ONE, Candidates.none()]) == call([ONE, NONE])
        assert call([Candidates.none(), Candidates.none()]).kb == ""


@pytest.mark.parametrize(
    ("scores", "want"),
    [
        ([], []),
        ([0, 0], [1, 1]),
        ([-2, -2], [1, 1]),
        ([0.5], [1]),
        ([2, 0], [1, 0]),
        ([0, -4], [1, 0]),
        ([3e38, -3e38], [1, 0]),
    ],
)
def test_relative_scores(scores: list[float], want: list[float]) -> None:
    assert relative_scores(np.array(scores, np.float32)).tolist() == want


LISTS = st.lists(
    st.dictionaries(st.integers(0, 9), st.floats(-3, 3, width=32), max_size=6).map(
        lambda some: listed(list(some), list(some.values())).sorted()
    ),
    min_size=1,
    max_size=4,
)


@given(LISTS, st.lists(st.floats(0, 5), min_size=4, max_size=4))
def test_what_holds_of_every_fusion(lists: list[Candidates], weights: list[float]) -> None:
    weights = [weight + 0.01 for weight in weights[: len(lists)]]
    for found in (reciprocal_rank(lists), interleaved(lists), weighted_sum(lists, weights=weights)):
        assert set(found.rows.tolist()) == {row for some in lists for row in some.rows.tolist()}
        assert found == found.sorted()
        assert all((found.scores >= 0) & (found.scores <= 1))
    turns = itertools.chain.from_iterable(itertools.zip_longest(*(some.rows.tolist() for some in lists)))
    assert interleaved(lists).rows.tolist() == list(dict.fromkeys(row for row in turns if row is not None))


# --- options ---------------------------------------------------------------------------------------------------------


@dataclass
class Fixed(Retriever):
    """Gives every mention the same list."""

    found: Candidates = field(default_factory=lambda: ONE)

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        return [[self.found for _ in doc.mentions or ()] for doc in docs]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mean"}, "method 'mean' is none of rank, weighted, interleaved"),
        ({"weights": (1, 1)}, "method 'rank' takes no weights"),
        ({"method": "interleaved", "weights": (1, 1)}, "method 'interleaved' takes no weights"),
        ({"method": "weighted", "weights": (1,)}, "1 weights for 2 retrievers"),
        ({"method": "weighted", "weights": (1, -1)}, "must be finite, none below 0, and one above"),
        ({"method": "weighted", "weights": (0, 0)}, "must be finite, none below 0, and one above"),
        ({"method": "weighted", "weights": (1, math.nan)}, "must be finite"),
        ({"method": "weighted", "weights": (1e308, 1e308)}, "must be finite"),
        ({"method": "weighted", "weights": ("a", 1)}, "are no list of numbers"),
        ({"method": "weighted", "weights": 3}, "are no list of numbers"),
        ({"constant": math.nan}, "constant nan must be at least 0"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        Fuse([Fixed(), Fixed(TWO)], **options)


def test_methods_of_the_component() -> None:
    docs = [Document("d", "x", mentions=(Mention(0, 1),)), Document("e", "", mentions=())]
    parts = [Fixed(), Fixed(TWO)]
    for fuse, want in (
        (Fuse(parts), reciprocal_rank([ONE, TWO])),
        (Fuse(parts, method="interleaved"), interleaved([ONE, TWO])),
        (Fuse(parts, method="weighted"), weighted_sum([ONE, TWO], weights=[1, 1])),
        (Fuse(parts, method="weighted", weights=(3, 1)), weighted_sum([ONE, TWO], weights=[3, 1])),
    ):
        [[found], nothing] = fuse.retrieve(docs)
        assert (replace(found, features={}), nothing) == (want, [])
        for some, (name, scores) in zip((ONE, TWO), sorted(found.features.items()), strict=True):
            assert name in ("fixed", "fixed-2")
            theirs = dict(zip(some.rows.tolist(), some.scores.tolist(), strict=True))
            assert scores.tolist() == [theirs.get(row, min(theirs.values())) for row in found.rows.tolist()]
        assert isinstance(fuse, Fits)
    three = Fuse(parts, method="interleaved") | Fixed(NONE)
    assert isinstance(three, Fuse)
    assert (len(three.of), three.method) == (3, "interleaved")
    with pytest.raises(PipelineError, match="2 weights for 3 retrievers"):
        Fuse(parts, method="weighted", weights=(3, 1)) | Fixed()


RECIPE = """
[[pipeline]]
use = "gold"
[[pipeline]]
use = "fuse"
method = "weighted"
weights = [0.25, 0.75]
[[pipeline.of]]
use = "bm25"
[[pipeline.of]]
use = "exact"
level = "family"
"""


def test_recipes_and_saved_pipelines(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(RECIPE)
    pipeline = config.load(path, kb=kb)
    want = Fuse([Bm25(kb=kb), Exact(kb=kb, level="family")], method="weighted", weights=(0.25, 0.75))
    assert pipeline.parts[1] == want
    saving.save(pipeline, tmp_path / "saved")
    again = config.load(tmp_path / "saved", kb=kb)
    assert again.parts[1] == want
    docs = [Document("d", "seizure, epileptic", mentions=(Mention(0, 18),))]
    assert again(docs) == pipeline(docs)
    path.write_text(RECIPE.replace('"weighted"', '"mean"').replace("0.25, ", '"a", '))
    with pytest.raises(RecipeError, match=r"(?s)pipeline\[1\].method.*pipeline\[1\].weights"):
        config.read_recipe(path)


# --- learning --------------------------------------------------------------------------------------------------------


def ranked(examples: list[Example], weights: Sequence[float]) -> float:
    """Return the mean reciprocal rank the slow way."""
    total = 0.0
    for scores, right in examples:
        sums = [sum(w * s for w, s in zip(weights, row, strict=True)) for row in scores.tolist()]
        best = max(s for s, yes in zip(sums, right, strict=True) if yes)
        total += 1 / (1 + sum(s >= best - 1e-12 for s, yes in zip(sums, right, strict=True) if not yes))
    return total / len(examples)


def made(seed: int, lists: int) -> list[Example]:
    draw = np.random.default_rng(seed)
    some = []
    for _ in range(30):
        right = np.zeros(6, np.bool_)
        right[draw.integers(6)] = True
        scores = draw.random((6, lists))
        scores[right, 0] += 0.5  # the first list knows more
        some.append(Example(scores, right))
    return some


@pytest.mark.parametrize("seed", range(4))
def test_two_weights_are_the_best_of_the_grid(seed: int) -> None:
    examples = made(seed, 2)
    steps = list(fit_weights(examples))
    weights, score = steps[-1]
    assert sum(weights) == pytest.approx(1)
    assert score == pytest.approx(ranked(examples, weights))
    assert score == pytest.approx(max(ranked(examples, (n / 20, 1 - n / 20)) for n in range(21)))
    assert steps[0][0] == (0.5, 0.5)
    assert steps[0][1] == pytest.approx(ranked(examples, (0.5, 0.5)))
    assert [score for _, score in steps] == sorted(score for _, score in steps)


@pytest.mark.parametrize("lists", [1, 3, 4])
def test_more_or_fewer_weights_never_get_worse(lists: int) -> None:
    examples = made(9, lists)
    *_, (weights, score) = fit_weights(examples)
    assert all(weight >= 0 for weight in weights)
    assert sum(weights) == pytest.approx(1)
    assert score >= ranked(examples, (1 / lists,) * lists) - 1e-9
    assert weights[0] == max(weights)


def test_fit_learns_which_part_is_right(kb: KnowledgeBase) -> None:
    right, wrong = kb.row("HP:0001250"), kb.row("HP:0000175")
    good, bad = listed([right, wrong], [1, 0.5], kb=kb.version), listed([wrong, right], [1, 0.2], kb=kb.version)
    fuse = Fuse([Fixed(bad), Fixed(good)], method="weighted")
    dev = [Document("d", "fits here", mentions=(Mention(0, 4, source="gold", concepts=("HP:0001250",)),))]
    steps = list(fuse.fit([], dev, before=Pipeline(Gold()), kb=kb, args={}))
    assert steps[-1].score == 1.0
    assert fuse.weights is not None
    assert fuse.weights[1] > fuse.weights[0]
    [[found]] = fuse.retrieve(dev)
    assert found.rows.tolist() == [right, wrong]
    fewer = fuse.without(["d"])
    assert (fewer.weights, fewer.of) == (fuse.weights, fuse.of)


@pytest.mark.parametrize("concepts", [None, (), ("X:404",), ("HP:0001250", "HP:0000175"), ("HP:0004322",)])
def test_nothing_to_learn_from(kb: KnowledgeBase, concepts: tuple[str, ...] | None) -> None:
    fuse = Fuse([Fixed(listed([kb.row("HP:0001250")], [1], kb=kb.version))], method="weighted")
    dev = [Document("d", "fits here", mentions=(Mention(0, 4, source="gold", concepts=concepts),))]
    with pytest.raises(DataError, match="no mention of the dev documents has a right candidate"):
        list(fuse.fit([], dev, before=Gold(), kb=kb, args={}))
    with pytest.raises(PipelineError, match="method 'rank' has no weights to learn"):
        list(Fuse([Exact(kb=kb)]).fit([], dev, before=Gold(), kb=kb, args={}))


@pytest.fixture
def docs() -> list[Document]:
    texts = {"Epileptic seizures": "HP:0001250", "stature, short": "HP:0004322", "fingers short": "HP:0009381"}
    return [
        Document(f"{text}{n}", text, mentions=(Mention(0, len(text), source="gold", concepts=(id,)),))
        for text, id in texts.items()
        for n in range(3)
    ]


def test_a_pipeline_with_a_fusion_is_trained(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pipeline(method: Any) -> Pipeline:
        return Pipeline(Gold(), Fuse([Ngram(kb=kb), Exact(kb=kb)], method=method), kb=kb)

    assert [task.name for task in tasks(pipeline("weighted"), [], source="r")] == ["ngram"]
    todo = tasks(pipeline("weighted"), [{"part": "ngram"}, {"part": "fuse"}], source="r")
    assert [(task.name, task.place) for task in todo] == [("ngram", (1, 0)), ("fuse", (1,))]
    with pytest.raises(RecipeError, match="'fuse' does not name a part that learns; parts that learn: ngram"):
        tasks(pipeline("rank"), [{"part": "fuse"}], source="r")
    with pytest.raises(LinnetError, match="fuse learns from the dev documents, but there are none"):
        list(train(pipeline("weighted"), todo, docs, [], output=tmp_path / "out"))
    made = pipeline("weighted")
    monkeypatch.setattr(saving, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(train(made, todo, docs, docs, output=tmp_path / "out"))
    monkeypatch.undo()
    steps = list(train(pipeline("weighted"), todo, docs, docs, output=tmp_path / "out"))
    assert [step.kept for step in steps if isinstance(step, Done)] == [True, True]
    fuse = config.load(tmp_path / "out", kb=kb).parts[1]
    assert isinstance(fuse, Fuse)
    assert fuse.weights == made.parts[1].weights  # type: ignore[attr-defined]
    assert fuse.weights is not None
    assert len(fuse.of[0].learned) > 0  # type: ignore[attr-defined]


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt
