from __future__ import annotations

import json
import math
import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.data import Candidates, Document, Mention, Span, mention_id
from linnet.detect.dictionary import Dictionary
from linnet.detect.gold import Gold
from linnet.errors import DataError, FormatError, LinnetWarning, PipelineError, UnknownConceptError
from linnet.fit.fitting import CrossFitted
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Detector, Pipeline, Retriever, Union
from linnet.pipeline.confidence import FEATURES, Confidence, best_threshold
from linnet.pipeline.decide import Decide, calibrate, fold

TEXT = "x" * 100


def found(kb: KnowledgeBase, *pairs: tuple[str | None, float], names: Sequence[int] | None = None) -> Candidates:
    rows = [-1 if id is None else kb.row(id) for id, _ in pairs]
    return Candidates(rows, [score for _, score in pairs], names=names, kb=kb.version)  # type: ignore[arg-type]


def decided(decide: Decide, *mentions: Mention) -> list[Mention]:
    [doc] = decide([Document("d", TEXT, mentions=mentions)])
    return list(doc.mentions or ())


def answer(decide: Decide, candidates: Candidates, **fields: Any) -> Any:
    [mention] = decided(decide, Mention(0, 5, candidates=candidates, **fields))
    assert mention.calibration == ""
    return mention.concepts, mention.probability


# --- uncalibrated ----------------------------------------------------------------------------------------------------


def test_the_first_candidate_is_the_answer(kb: KnowledgeBase) -> None:
    decide = Decide(kb=kb)
    assert answer(decide, found(kb, ("X:1", 0.75), ("X:2", 0.5))) == (("X:1",), 0.75)
    assert answer(decide, found(kb, ("HP:0000118", 0.5))) == (("HP:0000118",), 0.5)  # row 0 is a row
    assert answer(decide, found(kb, ("X:1", 12.0))) == (("X:1",), 1.0)
    assert answer(decide, found(kb, ("X:1", -3.0))) == (("X:1",), 0.0)


def test_ties_share(kb: KnowledgeBase) -> None:
    decide = Decide(kb=kb)
    assert answer(decide, found(kb, ("X:1", 0.5), ("X:2", 0.5))) == (("X:1",), 0.25)
    assert answer(decide, found(kb, ("X:1", 1), ("X:2", 1 - 1e-7), ("HP:0001250", 0.9))) == (("X:1",), 0.5)
    assert answer(decide, found(kb, ("X:1", 1), ("X:2", 1 - 1e-5))) == (("X:1",), 1.0)


def test_thresholds(kb: KnowledgeBase) -> None:
    candidates = found(kb, ("X:1", 0.75))
    assert answer(Decide(kb=kb, threshold=0.75), candidates) == (("X:1",), 0.75)
    assert answer(Decide(kb=kb, threshold=0.76), candidates) == ((), 0.25)
    for score in (0.9, 0.95, 0.97, 0.05):  # singles of 32 bits lie below or above them
        assert answer(Decide(kb=kb, threshold=score), found(kb, ("X:1", score))) == (("X:1",), pytest.approx(score))
    for threshold in (-0.1, 1.1, math.nan, "f2"):
        with pytest.raises(DataError, match="is neither between 0 and 1"):
            Decide(kb=kb, threshold=threshold)  # type: ignore[arg-type]


def test_nil(kb: KnowledgeBase) -> None:
    decide = Decide(kb=kb, threshold=0.5)
    assert answer(decide, Candidates.none(kb.version)) == ((), None)
    assert answer(decide, Candidates.none()) == ((), None)
    assert answer(decide, found(kb, (None, 0.75), ("X:1", 0.5))) == ((), 0.75)
    assert answer(decide, found(kb, (None, 0.25))) == ((), 0.25)


def test_drop(kb: KnowledgeBase) -> None:
    nil = Candidates.none(kb.version)
    mentions = (
        Mention(0, 5, candidates=nil),
        Mention(6, 9, candidates=nil, source="user"),
        Mention(10, 12, candidates=found(kb, ("X:1", 1))),
    )
    kept = decided(Decide(kb=kb, nil="drop"), *mentions)
    assert [(mention.source, mention.concepts) for mention in kept] == [("user", ()), ("pred", ("X:1",))]
    assert len(decided(Decide(kb=kb), *mentions)) == 3


def test_answers_of_people_stay(kb: KnowledgeBase) -> None:
    candidates = found(kb, ("X:1", 1))
    user = Mention(0, 5, source="user", concepts=("X:2",), candidates=candidates)
    nil = Mention(0, 6, source="gold", concepts=())
    open_one = Mention(0, 4, source="user", candidates=candidates)
    assert decided(Decide(kb=kb, fold=False, nil="drop"), user, nil, open_one) == [
        user,
        nil,
        replace(open_one, concepts=("X:1",), probability=1.0),
    ]


def test_ids_without_rows_are_looked_up(kb: KnowledgeBase) -> None:
    read = Candidates([-1, -1], [0.9, 0.1], ids=("HP:0009999", None), kb=kb.version)  # type: ignore[arg-type]
    assert answer(Decide(kb=kb), read)[0] == ("HP:0001250",)
    with pytest.raises(UnknownConceptError, match="NO:1"):
        answer(Decide(kb=kb), Candidates([-1], [0.9], ids=("NO:1",)))  # type: ignore[arg-type]


def test_what_cannot_be_decided(kb: KnowledgeBase) -> None:
    decide = Decide(kb=kb)
    with pytest.raises(PipelineError, match=f"version other cannot be decided with {kb.version}"):
        answer(decide, replace(found(kb, ("X:1", 1)), kb="other"))
    with pytest.raises(PipelineError, match=r"mention .*5.* has none: put a retriever in front"):
        decided(decide, Mention(0, 5))
    with pytest.raises(PipelineError, match="needs mentions, document 'd' has none: put a detector"):
        decide([Document("d", TEXT)])
    assert answer(decide, replace(found(kb, ("X:1", 1)), kb=""))[0] == ("X:1",)


# --- composites ------------------------------------------------------------------------------------------------------


def test_groups_are_folded(kb: KnowledgeBase) -> None:
    one = found(kb, ("X:1", 0.8), ("HP:0001250", 0.2), names=[10, 1])
    two = found(kb, ("X:2", 0.5), ("X:1", 0.9), ("HP:0001250", 0.3)).sorted()
    mentions = (
        Mention(30, 35, candidates=one, source="user", group="g"),
        Mention(10, 20, parts=(Span(10, 12), Span(16, 20)), types=("A", "B"), candidates=one, group="g", id="p1"),
        Mention(0, 5, candidates=one, group="alone"),
        Mention(2, 14, types=("B", "C"), candidates=replace(two, names=None), group="g", id="p2"),
        Mention(40, 45, candidates=one),
    )
    out = decided(Decide(kb=kb), *mentions)
    assert [mention.span for mention in out] == [(0, 5), (2, 20), (30, 35), (40, 45)]
    folded = out[1]
    assert (folded.parts, folded.group, folded.types) == ((), "", ("A", "B", "C"))
    assert folded.id == mention_id("d", [Span(2, 20)], ("A", "B", "C"))
    assert folded.concepts == ("X:1",)  # the first of both
    assert folded.probability == pytest.approx(0.8 * 0.9)
    assert folded.candidates is not None
    assert folded.candidates.rows.tolist() == [kb.row("X:1"), kb.row("X:2"), kb.row("HP:0001250")]
    assert folded.candidates.scores.tolist() == pytest.approx([0.9, 0.5, 0.3])
    assert folded.candidates.names is not None
    assert folded.candidates.names.tolist() == [-1, -1, -1]
    assert folded.candidates.kb == kb.version
    unfolded = decided(Decide(kb=kb, fold=False), *mentions)
    assert [mention.span for mention in unfolded] == [mention.span for mention in mentions]
    assert unfolded[1].group == "g"


def folded(kb: KnowledgeBase, *mentions: Mention) -> list[Mention]:
    return list(fold(Document("d", TEXT, mentions=mentions), kb).mentions or ())


def test_folding_takes_what_it_gets(kb: KnowledgeBase) -> None:
    nil = Mention(0, 3, group="g", concepts=(), probability=0.9, signals={"detect": 0.8, "odd": 1.0})
    sure = Mention(4, 8, group="g", concepts=("X:1",), probability=0.5, calibration="joint", signals={"detect": 0.7})
    [one] = folded(kb, nil, sure)
    assert (one.span, one.concepts, one.signals) == (Span(0, 8), ("X:1",), {"detect": 0.7})
    assert (one.probability, one.calibration) == (0.5, "joint"), "a conjunct without a concept has no part in it"
    [none] = folded(kb, nil, replace(nil, start=1))
    assert (none.concepts, none.probability, none.calibration) == ((), None, "")
    [two] = folded(kb, sure, replace(sure, start=5, concepts=("X:2",)))
    assert (two.concepts, two.probability) == (("X:1", "X:2"), 0.25)
    assert folded(kb) == []


def test_a_composite_yields_to_a_persons_mention(kb: KnowledgeBase) -> None:
    theirs = Mention(0, 8, source="user", concepts=("X:1", "X:2"))
    conjunct = Mention(0, 3, group="g", concepts=("X:1",), probability=0.5)
    assert folded(kb, theirs, conjunct, replace(conjunct, start=4, end=8)) == [theirs]


def test_candidates_that_hold_ids_are_folded_as_rows(kb: KnowledgeBase) -> None:
    parts = [Candidates([-1], [0.9], ids=(id,)) for id in ("X:1", "X:2")]  # type: ignore[arg-type]
    mentions = [Mention(4 * i, 4 * i + 3, group="g", candidates=part) for i, part in enumerate(parts)]
    [one] = folded(kb, *mentions)
    assert one.candidates is not None
    assert sorted(one.candidates.rows.tolist()) == [kb.row("X:1"), kb.row("X:2")]


# --- calibration -----------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Finds(Detector):
    """Finds what the gold documents hold, and as much again beside it."""

    gold: dict[str, Document]

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        return [
            [Mention(m.start, m.end, signals={"detect": 1.0}) for m in self.gold[doc.id].mentions or ()]
            + [Mention(50 + m.start, 50 + m.end, signals={"detect": 0.2}) for m in self.gold[doc.id].mentions or ()]
            for doc in docs
        ]


@dataclass(kw_only=True)
class Tells(Finds):
    """The same, with a hint whether the first candidate will be right."""

    SIGNALS = ("detect", "hint")

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        return [
            [
                replace(m, signals={**m.signals, "hint": float(random.Random(f"{doc.id} {m.start}").random() < 0.6)})
                for m in mentions
            ]
            for doc, mentions in zip(docs, super().detect(docs), strict=True)
        ]


@dataclass(kw_only=True)
class Overconfident(Retriever):
    """Says 0.99 to everything; is right where the second candidate is far."""

    kb: KnowledgeBase
    gold: dict[str, Document]

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        return [[self._one(doc, mention) for mention in doc.mentions or ()] for doc in docs]

    def _one(self, doc: Document, mention: Mention) -> Candidates:
        assert not mention.concepts, "gold has leaked"
        chance = random.Random(f"{doc.id} {mention.start}")
        right = {m.start: (m.concepts or ("X:1",))[0] for m in self.gold[doc.id].mentions or ()}.get(
            mention.start, "X:1"
        )
        if chance.random() < 0.6:
            return found(self.kb, (right, 0.99), ("HP:0000175", 0.3 + 0.1 * chance.random()))
        return found(self.kb, ("HP:0000175", 0.99), (right, 0.8 + 0.1 * chance.random()))


@dataclass(kw_only=True)
class Same(Overconfident):
    """Is right as often, with nothing that says when."""

    def _one(self, doc: Document, mention: Mention) -> Candidates:
        right = {m.start: (m.concepts or ("",))[0] for m in self.gold[doc.id].mentions or ()}.get(mention.start, "X:1")
        wrong = "X:1" if right == "X:2" else "X:2"
        happens = random.Random(f"{doc.id} {mention.start}").random() < 0.6
        return found(self.kb, (right if happens else wrong, 0.99))


def corpus(prefix: str, size: int = 40) -> list[Document]:
    made = []
    for number in range(size):
        chance = random.Random(f"{prefix}{number}")
        mentions = tuple(
            Mention(
                at, at + chance.randint(2, 8), source="gold", concepts=(chance.choice(["X:1", "X:2", "HP:0009999"]),)
            )
            for at in (0, 10, 20, 30)
        )
        made.append(Document(f"{prefix}{number}", TEXT, mentions=mentions))
    return made


def loss(decide: Decide, before: Pipeline, docs: list[Document], *, given: bool) -> float:
    """Return the mean negative log probability of what turned out."""
    losses = []
    for gold in docs:
        want = {(m.span, decide.kb.id(decide.kb.row((m.concepts or ("",))[0]))) for m in gold.mentions or ()}
        [out] = decide(before([gold.spans_only() if given else gold.bare()]))
        for mention in out.mentions or ():
            right = (mention.span, (mention.concepts or ("",))[0]) in want
            probability = min(max(mention.probability or 0.0, 1e-9), 1 - 1e-9)
            losses.append(-math.log(probability if right else 1 - probability))
    return float(np.mean(losses))


def weighing(**weights: float) -> Confidence:
    return Confidence(np.array([weights.get(name, 0.0) for name in FEATURES]))


@pytest.mark.parametrize("given", [True, False])
def test_calibration_helps_on_unseen_documents(kb: KnowledgeBase, tmp_path: Path, given: bool) -> None:
    dev, test = corpus("dev"), corpus("test")
    gold = {doc.id: doc for doc in (*dev, *test)}
    before = Pipeline(Gold() if given else Finds(gold=gold), Overconfident(kb=kb, gold=gold))
    decide = Decide(kb=kb)
    raw = loss(decide, before, test, given=given)
    [step] = decide.fit([], dev, before=before, kb=kb, args={})
    assert (step.step, step.total) == (1, 1)
    fitted = loss(decide, before, test, given=given)
    assert fitted < 0.4 < raw / 2
    assert step.losses["nll"] == pytest.approx(loss(decide, before, dev, given=given), rel=1e-6)
    [out] = decide(before([test[0].spans_only()]))
    assert {mention.calibration for mention in out.mentions or ()} == {"given-span" if given else "joint"}

    decide.save(tmp_path / "decide")
    again = Decide.load(tmp_path / "decide", kb=kb)
    assert again.calibration == decide.calibration
    docs = before([doc.spans_only() for doc in test])
    assert again(docs) == decide(docs)


def test_signals_that_components_declare_are_learned_from(kb: KnowledgeBase, tmp_path: Path) -> None:
    dev, test = corpus("dev"), corpus("test")
    gold = {doc.id: doc for doc in (*dev, *test)}
    losses = {}
    for made in (Finds, Tells):
        before = Pipeline(Union([made(gold=gold)]), Same(kb=kb, gold=gold))
        assert before.signals == made.SIGNALS
        decide = Decide(kb=kb)
        list(decide.fit([], dev, before=CrossFitted(before, list, {}), kb=kb, args={}))
        losses[made] = loss(decide, before, test, given=False)
    assert losses[Tells] < losses[Finds] - 0.1
    assert decide.confidence is not None
    assert set(decide.confidence.signals) == {"hint"}
    decide.save(tmp_path / "decide")
    saved = json.loads((tmp_path / "decide" / "learned.json").read_text())["signals"]["hint"]
    assert saved["weight"] > 1
    assert 0.4 < saved["neutral"] < 0.8
    docs = before([doc.bare() for doc in test])
    assert Decide.load(tmp_path / "decide", kb=kb)(docs) == decide(docs)


def test_a_calibrated_pipeline_says_what_it_was_calibrated_on(kb: KnowledgeBase) -> None:
    dev, other = corpus("dev"), replace(corpus("test", 1)[0], text=f"{TEXT} And more.")
    gold = {doc.id: doc for doc in (*dev, other)}
    link = calibrate(Pipeline(Finds(gold=gold), Overconfident(kb=kb, gold=gold), Decide(kb=kb)), dev)
    assert [doc.meta.get("seen") for doc in link([dev[0].bare(), other.bare()])] == ["dev", None]


def test_a_calibrated_answer_may_be_nil(kb: KnowledgeBase) -> None:
    decide = Decide(kb=kb)
    decide.confidence, decide.calibration = weighing(bias=-2.0), "joint"
    [mention] = decided(decide, Mention(0, 5, candidates=found(kb, ("X:1", 1))))
    assert (mention.concepts, mention.calibration) == (("X:1",), "joint")
    assert mention.probability == pytest.approx(1 / (1 + math.exp(2)))
    decide.threshold = 0.5
    [mention] = decided(decide, Mention(0, 5, candidates=found(kb, ("X:1", 1))))
    assert mention.concepts == ()
    assert mention.probability == pytest.approx(1 / (1 + math.exp(-2)))
    [nothing] = decided(decide, Mention(0, 5, candidates=Candidates.none()))
    assert (nothing.concepts, nothing.probability, nothing.calibration) == ((), None, "")


def test_the_chosen_threshold_is_the_best_of_all() -> None:
    drawn = np.random.default_rng(3)
    for wanted in (1, 10, 40):
        probabilities = drawn.integers(0, 12, 30) / 11  # with ties
        right = drawn.random(30) < probabilities

        def f1(least: float, p: Any = probabilities, r: Any = right, wanted: int = wanted) -> float:
            kept = p >= least
            return float(2 * r[kept].sum() / (kept.sum() + wanted))

        chosen = best_threshold(probabilities, right, wanted)
        assert f1(chosen) == max(f1(least) for least in np.arange(0, 1.01, 0.01))
    assert best_threshold(np.ones(3), np.ones(3, np.bool_), 3) == 0.0
    assert best_threshold(np.array([]), np.array([], np.bool_), 3) == 0.0
    assert best_threshold(np.array([0.5]), np.array([False]), 3) == 0.0


def test_a_threshold_for_the_best_f1_is_learned(kb: KnowledgeBase, tmp_path: Path) -> None:
    dev = corpus("dev")
    before = Pipeline(Finds(gold={doc.id: doc for doc in dev}), Overconfident(kb=kb, gold={doc.id: doc for doc in dev}))
    every, some = Decide(kb=kb), Decide(kb=kb, threshold="f1")
    docs = before([doc.bare() for doc in dev])
    assert some(docs) == every(docs)  # nothing was chosen yet
    for decide in (every, some):
        list(decide.fit([], dev, before=before, kb=kb, args={}))
    assert every.least == 0.0 < some.least < 1.0

    def concepts(decide: Decide) -> list[bool]:
        return [bool(mention.concepts) for doc in decide(docs) for mention in doc.mentions or ()]

    assert sum(concepts(some)) < sum(concepts(every)) == len(concepts(every))
    some.save(tmp_path)
    again = Decide.load(tmp_path, kb=kb)
    assert (again.threshold, again.least) == ("f1", some.least)
    learned = json.loads((tmp_path / "learned.json").read_text())
    del learned["threshold"], learned["weights"]["score_odds"], learned["weights"]["detect_odds"]
    (tmp_path / "learned.json").write_text(json.dumps(learned))
    with pytest.warns(LinnetWarning, match="keeps all answers, because"):  # as earlier versions wrote it
        assert Decide.load(tmp_path, kb=kb).least == 0.0
    (tmp_path / "learned.json").write_text(json.dumps(learned | {"threshold": 7}))
    with pytest.raises(FormatError, match=r"learned\.json"):
        Decide.load(tmp_path, kb=kb)


@pytest.mark.parametrize(("bias", "probability"), [(5000.0, 1.0), (-5000.0, 0.0)])
def test_extreme_weights_do_not_overflow(kb: KnowledgeBase, bias: float, probability: float) -> None:
    decide = Decide(kb=kb)
    decide.confidence = weighing(bias=bias)
    assert answer(decide, found(kb, ("X:1", 1)))[1] == probability


def test_every_feature_counts(kb: KnowledgeBase) -> None:
    mention = Mention(0, 5, candidates=found(kb, ("X:1", 0.75), ("X:2", 0.5)), signals={"detect": 0.5})
    changed = (
        mention,
        replace(mention, candidates=found(kb, ("X:1", 0.5), ("X:2", 0.25))),
        replace(mention, candidates=found(kb, ("X:1", 0.75), ("X:2", 0.25))),
        replace(mention, signals={}),
        replace(mention, end=9),
    )
    decide = Decide(kb=kb)
    decide.confidence = weighing(score=1.0, margin=0.1, detect=0.001, length=0.0001)
    assert len({decided(decide, one)[0].probability for one in changed}) == len(changed)
    decide.confidence = weighing(ties=1.0)
    tied = replace(mention, candidates=found(kb, ("X:1", 0.5), ("X:2", 0.5)))
    assert decided(decide, tied)[0].probability == pytest.approx(2 / 3)  # sigmoid(log 2)
    more = replace(mention, candidates=found(kb, ("X:1", 0.75), ("X:2", 0.5), ("HP:0001250", 0.25)))
    decide.confidence = weighing(lead=1.0)
    leads = [decided(decide, one)[0].probability for one in (mention, more)]
    assert leads == pytest.approx([1 / (1 + math.exp(-0.25)), 1 / (1 + math.exp(-0.375))])
    decide.confidence = weighing(margin=1.0)
    single = replace(mention, candidates=found(kb, ("X:1", 0.5)))
    assert decided(decide, single)[0].probability == pytest.approx(1 / (1 + math.exp(-0.5)))
    decide.confidence = weighing(full=1.0)
    full = replace(mention, candidates=found(kb, ("X:1", 1.0)))
    given = [decided(decide, one)[0].probability for one in (mention, full)]
    assert given == pytest.approx([0.5, 1 / (1 + math.exp(-1))])


def test_semantic_types_count(kb: KnowledgeBase) -> None:
    decide = Decide(kb=kb)
    odds = {"Temperature": 2.0, "Phenotype|Neurology": -2.0, "NIL": 1.0}
    decide.confidence = replace(weighing(types=1.0), types=odds)
    logits = {}
    for id in ("X:1", "HP:0001250", "X:2", None):
        probability = decided(decide, Mention(0, 5, candidates=found(kb, (id, 0.9))))[0].probability
        assert probability is not None
        logits[id] = math.log(probability / (1 - probability))
    assert logits == pytest.approx({"X:1": 2.0, "HP:0001250": -2.0, "X:2": 0.0, None: 1.0})
    assert decided(pickle.loads(pickle.dumps(decide)), Mention(0, 5, candidates=found(kb, (id, 0.9))))


def test_what_cannot_be_learnt_from(kb: KnowledgeBase) -> None:
    dev = corpus("dev", 13)
    gold = {doc.id: doc for doc in dev}
    before = Pipeline(Gold(), Overconfident(kb=kb, gold=gold))
    decide = Decide(kb=kb)
    with pytest.warns(LinnetWarning, match="decide stays uncalibrated: 0 mentions"):
        list(decide.fit([], [], before=before, kb=kb, args={}))
    wrong = [
        replace(doc, mentions=tuple(replace(m, concepts=("HP:0001831",)) for m in doc.mentions or ())) for doc in dev
    ]
    with pytest.warns(LinnetWarning, match="decide stays uncalibrated: 8 mentions"):  # all wrong may be by chance
        list(decide.fit([], wrong[:2], before=before, kb=kb, args={}))
    assert decide.calibration == ""
    with pytest.raises(DataError, match="cannot calibrate: no answer of 52 mentions is right: has"):
        list(decide.fit([], wrong, before=before, kb=kb, args={}))
    with pytest.warns(LinnetWarning, match="decide stays uncalibrated: no answer of 52"):  # the training documents
        list(decide.fit(wrong, wrong, before=before, kb=kb, args={}))
    unlinked = [replace(doc, mentions=tuple(replace(m, concepts=None) for m in doc.mentions or ())) for doc in dev]
    with pytest.warns(LinnetWarning, match="decide stays uncalibrated: 0 mentions"):  # nobody said what they mean
        list(decide.fit([], unlinked, before=before, kb=kb, args={}))


def test_right_answers_alone_teach_one_probability(kb: KnowledgeBase) -> None:
    gold = {doc.id: doc for doc in corpus("dev", 13)}
    before = Pipeline(Gold(), Overconfident(kb=kb, gold=gold))
    said = before([doc.spans_only() for doc in gold.values()])
    right = [replace(doc, mentions=Decide(kb=kb)([doc])[0].mentions) for doc in said]
    decide = Decide(kb=kb)
    with pytest.warns(LinnetWarning, match="52 answers, all right: they all get one probability"):
        [step] = decide.fit([], right, before=before, kb=kb, args={})
    assert step.losses["nll"] == pytest.approx(-math.log(53 / 54))
    assert [m.probability for doc in decide(said) for m in doc.mentions or ()] == pytest.approx([53 / 54] * 52)


def test_what_counts_as_right(kb: KnowledgeBase) -> None:
    decide = Decide(kb=kb)
    gold = Mention(0, 5, concepts=("HP:0009998",), alternatives=(("X:1",), ("X:1", "X:2")))

    def right(gold: Mention, row: int) -> bool:
        told = Mention(0, 5, candidates=found(kb, (kb.id(row) if row >= 0 else None, 1.0)))
        [judged] = decide._judged(Document("d", TEXT, mentions=(gold,)), Document("d", TEXT, mentions=(told,)))
        return judged.right

    assert right(gold, kb.row("HP:0001250"))
    assert right(gold, kb.row("X:1"))
    assert not right(gold, kb.row("X:2"))
    assert not right(gold, -1)
    assert right(Mention(0, 5, concepts=()), -1)
    assert not right(Mention(0, 5, concepts=("NO:1",)), 0)


def test_conjuncts_are_right_as_parts_of_a_composite_which_is_one_answer(kb: KnowledgeBase) -> None:
    """Two concepts of one gold mention, found as two mentions of a group, are no two wrong answers."""
    text = "fever; breast and ovarian cancer"
    whole = Mention(7, 32, concepts=("X:1", "X:2"))

    def conjunct(id: str, parts: tuple[Span, ...]) -> Mention:
        hull = (parts[0].start, parts[-1].end)
        more = parts if len(parts) > 1 else ()
        return Mention(*hull, parts=more, group="g", candidates=found(kb, (id, 0.8)))

    fever = Mention(0, 5, concepts=("HP:0001250",))
    docs = [Document(f"d{number}", text, mentions=(fever, whole)) for number in range(40)]
    told = (
        Mention(0, 5, candidates=found(kb, ("HP:0001250", 0.9))),
        conjunct("X:1", (Span(7, 13), Span(26, 32))),
        conjunct("X:2", (Span(18, 32),)),
    )
    before = Pipeline(Given(mentions=told))
    decide = Decide(kb=kb, threshold="f1")
    with pytest.warns(LinnetWarning, match="120 answers, all right"):
        list(decide.fit([], docs, before=before, kb=kb, args={}))
    [doc] = decide(before([docs[0].bare()]))
    assert [mention.concepts for mention in doc.mentions or ()] == [("HP:0001250",), ("X:1", "X:2")]
    decide.threshold = 0.99  # of the two as one: its probability is their product
    [doc] = decide(before([docs[0].bare()]))
    assert [(m.start, m.end, m.concepts) for m in doc.mentions or ()] == [(0, 5, ("HP:0001250",)), (7, 32, ())]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "{}",
        '{"calibration": "joint", "weights": {}}',
        '{"calibration": "joint", "weights": 3}',
        '{"calibration": "sure", "weights": %s, "types": {}, "curve": null}',
        '{"calibration": [], "weights": %s, "types": {}, "curve": null}',
        '{"calibration": "joint", "weights": %s, "types": [], "curve": null}',
        '{"calibration": "joint", "weights": %s, "types": {"A": "B"}, "curve": null}',
        '{"calibration": "joint", "weights": %s, "types": {"A": NaN}, "curve": null}',
        '{"calibration": "joint", "weights": %s, "types": {}}',
        '{"calibration": "joint", "weights": %s, "types": {}, "curve": null, "signals": ["span"]}',
        '{"calibration": "joint", "weights": %s, "types": {}, "curve": null, "signals": {"s": {"weight": 1}}}',
        '{"calibration": "joint", "weights": %s, "types": {}, "curve": null, "signals": {"s": {"weight": []}}}',
        *(
            '{"calibration": "joint", "weights": %s, "types": {}, "curve": ' + curve + "}"
            for curve in (
                "3",
                "[]",
                "[[], []]",
                "[[1, 2], [0.5]]",
                "[[1, 0], [0, 1]]",
                "[[0, 1], [1, 0]]",
                "[[0], [7]]",
            )
        ),
    ],
)
def test_damaged_calibrations(kb: KnowledgeBase, tmp_path: Path, content: str) -> None:
    Decide(kb=kb, threshold=0.5).save(tmp_path)
    assert Decide.load(tmp_path, kb=kb).threshold == 0.5
    (tmp_path / "learned.json").write_text(content.replace("%s", json.dumps(dict.fromkeys(FEATURES, 0.5))))
    with pytest.raises(FormatError, match=r"learned\.json"):
        Decide.load(tmp_path, kb=kb)
    assert json.loads((tmp_path / "config.json").read_text()) == {"threshold": 0.5, "fold": True, "nil": "keep"}


@dataclass(kw_only=True)
class Given(Detector):
    """Finds what it is told, candidates included."""

    mentions: tuple[Mention, ...]

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        return [list(self.mentions) for _ in docs]


def test_what_nobody_reviewed_is_neither_right_nor_wrong(kb: KnowledgeBase) -> None:
    right = Mention(0, 7, source="gold", concepts=("X:1",))
    gold = [Document(f"d{i}", "seizure seizure", mentions=(right,), reviewed=(Span(0, 7),)) for i in range(50)]
    row = found(kb, ("X:1", 0.9))
    before = Given(mentions=(Mention(0, 7, candidates=row), Mention(8, 15, candidates=row)))
    with pytest.warns(LinnetWarning, match="50 answers, all right"):
        list(Decide(kb=kb).fit((), gold, before=before, kb=kb, args={}))


def test_what_nobody_annotated_is_neither_right_nor_wrong(kb: KnowledgeBase) -> None:
    gold = Document("d", "seizure", mentions=(Mention(0, 7, source="gold", concepts=("X:1",)),))
    before = Given(mentions=(Mention(0, 7, candidates=found(kb, ("X:1", 0.9))),))
    with pytest.warns(LinnetWarning, match="50 answers, all right"):
        list(Decide(kb=kb).fit((), [*[gold] * 50, gold.bare()], before=before, kb=kb, args={}))


def test_any_of_several_gold_mentions_of_one_span_may_be_meant(kb: KnowledgeBase) -> None:
    gold = Mention(0, 7, source="gold", concepts=("X:2",))
    doc = Document("d", "seizure seizure", mentions=(gold, replace(gold, concepts=("X:1",))))
    before = Given(mentions=(Mention(0, 7, candidates=found(kb, ("X:1", 0.9))),))
    with pytest.warns(LinnetWarning, match="50 answers, all right"):
        list(Decide(kb=kb).fit((), [doc] * 50, before=before, kb=kb, args={}))


def test_calibrate_fits_the_last_part_of_a_pipeline(kb: KnowledgeBase) -> None:
    gold = Document("d", "seizure, cold", mentions=(Mention(0, 7, source="gold", concepts=("HP:0001250",)),))
    pipeline = Pipeline(Dictionary(kb=kb), Decide(kb=kb), kb=kb, name="n")
    fitted = calibrate(pipeline, [gold] * 25)
    [doc] = fitted([gold.bare()])
    assert [mention.calibration for mention in doc.mentions or ()] == ["joint", "joint"]
    assert (fitted.name, fitted.kb) == ("n", kb)
    assert pipeline([gold.bare()])[0].mentions[0].calibration == "", "the pipeline itself stays as it was"  # type: ignore[index]
    with pytest.raises(PipelineError, match="ends in decide"):
        calibrate(Pipeline(Dictionary(kb=kb)), [gold])


def test_few_mentions_calibrate_nothing(kb: KnowledgeBase) -> None:
    gold = Document("d", "seizure, cold", mentions=(Mention(0, 7, source="gold", concepts=("HP:0001250",)),))
    pipeline = Pipeline(Dictionary(kb=kb), Decide(kb=kb))
    with pytest.warns(LinnetWarning, match="decide stays uncalibrated: 48 mentions"):
        fitted = calibrate(pipeline, [gold] * 24)
    assert [mention.calibration for mention in fitted([gold.bare()])[0].mentions or ()] == ["", ""]
    assert not fitted.seen
