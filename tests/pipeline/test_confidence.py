"""What is learned from judged answers: types, the rising curve, and how well frequencies hold on real documents."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from linnet.corpora.catalog import read_corpus
from linnet.data import Candidates, Document, Mention
from linnet.detect.dictionary import Dictionary
from linnet.detect.gold import Gold
from linnet.errors import LinnetWarning
from linnet.evaluate.calibration import Calibration
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.successors import successor
from linnet.pipeline import Allow, Pipeline
from linnet.pipeline.confidence import ENOUGH, FEATURES, Confidence, features
from linnet.pipeline.decide import Decide
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram
from linnet.vocabularies.ctd import read_ctd
from linnet.vocabularies.join import join
from linnet.vocabularies.mesh_table import read_mesh_table


def judged(size: int, seed: int = 0) -> tuple[np.ndarray, list[str], np.ndarray, list[str]]:
    """Answers right with the frequency score², or never if they are of type C, four in each document."""
    chance = np.random.default_rng(seed)
    scores, kinds = chance.random(size), chance.choice(["A", "B", "C"], size).tolist()
    columns = np.array([features(Mention(0, 9, candidates=Candidates([0], [score]))) for score in scores])  # type: ignore[arg-type]
    right = (chance.random(size) < scores**2) & (np.array(kinds) != "C")
    return columns, kinds, right, [f"d{at // 4}" for at in range(size)]


@pytest.mark.parametrize(("size", "curved"), [(ENOUGH - 4, False), (4000, True)])
def test_frequencies_are_learned(size: int, curved: bool) -> None:
    columns, kinds, right, documents = judged(size)
    confidence = Confidence.fit(columns, kinds, right, documents=documents)
    assert (confidence.curve is not None) is curved
    unseen = judged(20_000, seed=1)
    found = Calibration(confidence(unseen[0], unseen[1]), unseen[2])
    assert found.ece() < (0.025 if curved else 0.08)
    assert confidence.types["C"] < -1 < 0 < confidence.types["A"]
    again = Confidence.from_json(json.loads(json.dumps(confidence.to_json())))
    assert again(*unseen[:2]).tolist() == confidence(*unseen[:2]).tolist()


def test_the_curve_rises_and_is_never_certain() -> None:
    columns, kinds, right, documents = judged(2000)
    curve = Confidence.fit(columns, kinds, right, documents=documents).curve
    assert curve is not None
    assert (np.diff(curve[0]) > 0).all()
    assert (np.diff(curve[1]) >= 0).all()
    assert 0 < curve[1][0] < curve[1][-1] < 1


def test_the_order_of_answers_has_no_influence() -> None:
    columns, kinds, right, documents = judged(2000)
    one = Confidence.fit(columns, kinds, right, documents=documents)
    order = np.random.default_rng(5).permutation(len(right))
    moved = [[values[at] for at in order] for values in (kinds, documents)]
    other = Confidence.fit(columns[order], moved[0], right[order], documents=moved[1])
    assert other(columns, kinds) == pytest.approx(one(columns, kinds), abs=1e-3)


def test_no_curve_where_documents_are_few_or_all_alike() -> None:
    columns, kinds, right, _ = judged(1200)
    assert Confidence.fit(columns, kinds, right, documents=["d"] * 1200).curve is None
    lone = np.arange(1200) == 0  # the one right answer: without its document there is nothing to learn from
    documents = [f"d{at}" for at in range(1200)]
    assert Confidence.fit(columns, kinds, lone, documents=documents).curve is None


def test_types_that_were_never_seen_are_as_good_as_any() -> None:
    weights = np.array([float(name == "types") for name in FEATURES])
    columns = features(Mention(0, 9, candidates=Candidates([0], [0.5])))[None]  # type: ignore[arg-type]
    assert Confidence(weights, {"A": 2.0})(columns, ["B"]).tolist() == [0.5]
    assert Confidence(weights, EMPTY)(columns, [""]).tolist() == [0.5]


def test_signals_of_components_are_learned_from_and_neutral_where_they_lack() -> None:
    chance = np.random.default_rng(3)
    told = chance.random(800)
    known = chance.random(800) < 0.7
    candidates = Candidates([0], [0.5])  # type: ignore[arg-type]
    mentions = [
        Mention(0, 9, candidates=candidates, signals={"margin of spans": value} if seen else {})
        for value, seen in zip(told, known, strict=True)
    ]
    right = chance.random(800) < told
    columns = np.array([features(mention, ["margin of spans"]) for mention in mentions])
    assert np.isnan(columns[~known, -1]).all()
    documents, kinds = [f"d{at // 4}" for at in range(800)], ["A"] * 800
    confidence = Confidence.fit(columns, kinds, right, documents=documents, signals=["margin of spans"])
    assert dict(confidence.signals) == {"margin of spans": pytest.approx(told[known].mean())}
    low, lacking, high = (
        features(Mention(0, 9, candidates=candidates, signals=signals), confidence.signals)
        for signals in ({"margin of spans": 0.1}, {}, {"margin of spans": 0.9})
    )
    found = confidence(np.array([low, lacking, high]), ["A"] * 3)
    assert found == pytest.approx([0.1, right.mean(), 0.9], abs=0.1)
    average = features(Mention(0, 9, candidates=candidates, signals=confidence.signals), confidence.signals)
    assert confidence(average[None], ["A"]) == pytest.approx(found[1:2])
    assert confidence.parameters == len(FEATURES) + 1 + len(confidence.types)
    again = Confidence.from_json(json.loads(json.dumps(confidence.to_json())))
    assert again.signals == confidence.signals
    assert again(columns, kinds).tolist() == confidence(columns, kinds).tolist()


def test_calibrations_from_before_signals_are_read() -> None:
    columns, kinds, right, documents = judged(200)
    confidence = Confidence.fit(columns, kinds, right, documents=documents)
    saved = confidence.to_json()
    assert saved.pop("signals") == {}
    assert Confidence.from_json(saved)(columns, kinds).tolist() == confidence(columns, kinds).tolist()


def test_where_all_are_right_signals_do_not_matter() -> None:
    columns = np.hstack([judged(9)[0], np.full((9, 1), np.nan)])
    with pytest.warns(LinnetWarning, match="all right"):
        confidence = Confidence.fit(columns, ["A"] * 9, np.ones(9, np.bool_), documents=["d"] * 9, signals=["span"])
    assert confidence(columns, ["A"] * 9) == pytest.approx([10 / 11] * 9)


# --- real documents --------------------------------------------------------------------------------------------------


class Answered:
    """A component that ran before: gives what it gave then."""

    def __init__(self, pipeline: Pipeline, docs: list[Document]) -> None:
        self.needs, self.gives = pipeline.needs, pipeline.gives
        blind = [doc.spans_only() if "mentions" in self.needs else doc.bare() for doc in docs]
        self.found = {doc.id: doc for doc in pipeline(blind)}

    def __call__(self, docs: list[Document], /, *, allow: Allow | None = None) -> list[Document]:
        return [self.found[doc.id] for doc in docs]


@pytest.fixture
def both(data: Path, tmp_path: Path) -> KnowledgeBase:
    kb, path = data / "kb", tmp_path / "both.kb"
    diseases = kb / "CTD_diseases_2017-06.tsv.gz"
    trees = kb / "mesh2015_tree_numbers_dhimmel.tsv.gz"
    with pytest.warns(LinnetWarning):
        mesh = read_mesh_table(kb / "mesh_merged.tsv.gz", trees=trees, diseases=diseases)
        return build(join([mesh, read_ctd(diseases)]), path)


def pipeline(name: str, kb: KnowledgeBase) -> Pipeline:
    if name == "dictionary":
        return Pipeline(Dictionary(kb=kb))
    if name == "exact":
        return Gold() >> Exact(kb=kb)
    return Gold() >> Ngram(kb=kb, k=16)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_frequencies_hold_on_the_other_half_of_bc5cdr_dev(both: KnowledgeBase, data: Path) -> None:
    dev = list(read_corpus("bc5cdr", split="dev", data=data))
    for name in ("exact", "dictionary", "ngram"):
        found = errors_of_halves(Answered(pipeline(name, both), dev), dev, both)
        # what single halves differ by is chance: their documents are not the same
        assert np.mean(found) <= 0.03, name
        assert max(found) <= 0.04, name


def errors_of_halves(before: Answered, dev: list[Document], both: KnowledgeBase) -> list[float]:
    """Return the calibration errors of halves, each of what the other one has taught."""
    found = []
    for seed in range(5):
        shuffled = random.Random(seed).sample(dev, len(dev))
        half, rest = shuffled[: len(dev) // 2], shuffled[len(dev) // 2 :]
        decide = Decide(kb=both)
        assert len(list(decide.fit((), half, before=before, kb=both, args={}))) == 1  # type: ignore[arg-type]
        pairs = list(zip(rest, decide(before(rest)), strict=True))
        found.append(Calibration.of_pairs(pairs, live=successor(both)).ece())
    return found
