"""The cross-encoder, with an encoder of a few weights made on the spot."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from linnet.data import Candidates, Concept, Document, Mention, Name, Span
from linnet.errors import DataError, FormatError, LinnetWarning, PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Abbreviations, Pipeline, Sentences
from linnet.rerank.cross_encoder import CrossArgs, CrossEncoder, Reader, features
from linnet.rerank.cross_network import CrossNetwork
from linnet.rerank.cross_training import CrossTraining, fit_skip_threshold, learned_documents, weigh
from linnet.retrieve.ngram import Ngram
from linnet.text.packing import PACKINGS, Packing
from tests.growth import LINEAR, growth
from tests.tiny_models import tiny_bert

pytestmark = pytest.mark.usefixtures("float32")

NAMES = ("cold wind", "cold sickness", "cold water", "warm wind", "warm sickness", "warm water")
HINTS = ("blew", "patient", "river")
SENTENCE = "The {hint} had a {word} here."
WORDS = sorted({word for name in NAMES for word in name.split()} | {*HINTS, "the", "had", "a", "here"})


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=WORDS, layers=2))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    concepts = (
        Concept(f"X:{n}", (Name(text),), ("kind",), definition=f"What {text} is.") for n, text in enumerate(NAMES)
    )
    return build(concepts, tmp_path / "x.kb")


def notes(count: int = 10) -> list[Document]:
    """Documents of two sentences, whose mentions only the words around them tell apart."""
    docs = []
    for number in range(count):
        text, mentions = "", []
        for place in range(2):
            which = (number + place) % 6
            word = ("cold", "warm")[which // 3]
            sentence = SENTENCE.format(hint=HINTS[which % 3], word=word)
            start = len(text) + sentence.index(word)
            mentions.append(Mention(start, start + 4, source="gold", concepts=(f"X:{which}",)))
            text += sentence + " "
        docs.append(Document(f"n{number}", text, mentions=tuple(mentions)))
    return Abbreviations()(Sentences()(docs))


def front(kb: KnowledgeBase) -> Pipeline:
    return Pipeline(Ngram(kb=kb, k=6, long_forms=False), kb=kb)


def fitted(cross: CrossEncoder, docs: list[Document], kb: KnowledgeBase, **args: Any) -> CrossEncoder:
    given = {"epochs": 2, "batch": 8, "lr": 3e-3, "schedule": "constant", "warmup": 0.1, "top_k": 6, **args}
    list(cross.fit(docs, [], before=front(kb), kb=kb, args=given))
    return cross


def right(cross: CrossEncoder, docs: list[Document], kb: KnowledgeBase) -> float:
    found = cross(answered(kb, docs))
    pairs = [
        (gold.concepts, ours.candidates)
        for doc, seen in zip(docs, found, strict=True)
        for gold, ours in zip(doc.mentions or (), seen.mentions or (), strict=True)
    ]
    return float(
        np.mean([wanted == (kb.id(int(have.rows[0])),) for wanted, have in pairs if have is not None and wanted])
    )


def answered(kb: KnowledgeBase, docs: list[Document]) -> list[Document]:
    return Abbreviations()(Sentences()(front(kb)([doc.spans_only() for doc in docs])))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packing", "loss", "isolated"), [("base", "pairs", False), ("passage", "list", False), ("multi", "pairs", True)]
)
def test_ten_documents_by_heart(kb: KnowledgeBase, bert: str, packing: Packing, loss: str, isolated: bool) -> None:
    docs = notes()
    cross = CrossEncoder(
        kb=kb, encoder=bert, packing=packing, top_k=6, candidate="name", isolated=isolated, use_first_stage_scores=False
    )
    assert (
        right(fitted(cross, docs, kb, loss=loss, epochs=150, lr=2e-3, schedule="linear", dropout=0.0), docs, kb) == 1.0
    )


def test_permuted_answers_are_at_chance(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(18)
    chance = random.Random(3)
    permuted = []
    for doc in docs[:12]:
        mentions = [replace(m, concepts=(f"X:{chance.randrange(6)}",)) for m in doc.mentions or ()]
        permuted.append(replace(doc, mentions=tuple(mentions)))
    cross = CrossEncoder(kb=kb, encoder=bert, packing="multi", top_k=6, candidate="name")
    assert right(fitted(cross, permuted, kb, epochs=10), docs[12:], kb) < 0.7


def test_an_untrained_one_says_so(kb: KnowledgeBase, bert: str) -> None:
    with pytest.raises(PipelineError, match="cross_encoder has not been trained"):
        CrossEncoder(kb=kb, encoder=bert, top_k=3)(answered(kb, notes(4)))


def test_where_the_network_is_of_no_use_the_stage_before_decides(kb: KnowledgeBase, bert: str) -> None:
    docs = [replace(doc, id=f"{doc.id}.{turn}") for turn in range(6) for doc in notes(10)]
    chance = random.Random(3)
    best = [sorted(range(6), key=lambda row: (row % 3, row)), sorted(range(6), key=lambda row: (-row, row))]
    first = []
    for doc in docs:  # the first candidate is right nine times of ten, whatever the text says
        mentions = []
        for mention in doc.mentions or ():
            rows = best[chance.randrange(2)]
            right = rows[0] if chance.random() < 0.9 else rows[1]
            found = Candidates(np.array(rows, np.int32), np.geomspace(0.9, 0.01, 6, dtype=np.float32), kb=kb.version)
            mentions.append(replace(mention, candidates=found, concepts=(f"X:{right}",)))
        first.append(replace(doc, mentions=tuple(mentions)))
    cross = CrossEncoder(kb=kb, encoder=bert, top_k=6)
    network = cross.network
    said, right_ones = [], []
    for doc in first:
        for found, mention in zip(cross.resolved(doc), doc.mentions or (), strict=True):
            said.append(features(found))
            right_ones.append(np.array([(f"X:{row}",) == mention.concepts for row in found.rows], np.int64))
    noise = np.random.default_rng(1)
    weigh(
        network,
        [(one, noise.normal(size=6).astype(np.float32), own) for one, own in zip(said, right_ones, strict=True)],
    )
    chosen = [int((one @ network.heard.numpy() + noise.normal(size=6) * float(network.voice)).argmax()) for one in said]
    assert np.mean([place == 0 for place in chosen]) == 1.0
    told = [(one, own * 4.0 - 2 + noise.normal(size=6), own) for one, own in zip(said, right_ones, strict=True)]
    weigh(network, [(one, margins.astype(np.float32), own) for one, margins, own in told])
    sums = [one @ network.heard.numpy() + margins * float(network.voice) for one, margins, _ in told]
    assert np.mean([bool(own[total.argmax()]) for total, own in zip(sums, right_ones, strict=True)]) > 0.95


def scores(cross: CrossEncoder, docs: list[Document]) -> list[dict[int, float]]:
    return [
        dict(zip(m.candidates.rows.tolist(), m.candidates.scores.tolist(), strict=True))
        for doc in cross(docs)
        for m in doc.mentions or ()
        if m.candidates is not None
    ]


def close(one: list[dict[int, float]], other: list[dict[int, float]], within: float) -> bool:
    return all(
        a.keys() == b.keys() and all(abs(a[row] - b[row]) <= within for row in a)
        for a, b in zip(one, other, strict=True)
    )


def permuted(doc: Document, order: list[int]) -> Document:
    mentions = []
    for mention in doc.mentions or ():
        found = mention.candidates
        assert found is not None
        # equal scores and ranks, so that the company is all that changes
        some = Candidates(np.array(order, np.int32), np.ones(len(order), np.float32), kb=found.kb)
        mentions.append(replace(mention, candidates=some))
    return replace(doc, mentions=tuple(mentions))


def test_isolated_candidates_know_neither_company_nor_order(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(4)
    cross = CrossEncoder(kb=kb, encoder=bert, packing="parallel", isolated=True, use_first_stage_scores=False, top_k=6)
    fitted(cross, docs, kb, loss="pairs")
    seen = answered(kb, docs)
    one = scores(cross, [permuted(doc, [0, 1, 2, 3, 4, 5]) for doc in seen])
    assert close(one, scores(cross, [permuted(doc, [5, 3, 1, 0, 2, 4]) for doc in seen]), 1e-4)
    few = scores(cross, [permuted(doc, [4, 2]) for doc in seen])
    assert all(
        abs(whole[row] - value) <= 1e-4 for whole, part in zip(one, few, strict=True) for row, value in part.items()
    )
    for packing in PACKINGS:
        other = pickle.loads(pickle.dumps(cross))
        other.packing = packing
        assert close(one, scores(other, [permuted(doc, [0, 1, 2, 3, 4, 5]) for doc in seen]), 1e-3), packing
    cross.isolated = False
    company = scores(cross, [permuted(doc, [5, 3, 1, 0, 2, 4]) for doc in seen])
    assert not close(scores(cross, [permuted(doc, [0, 1, 2, 3, 4, 5]) for doc in seen]), company, 1e-4)


def test_one_by_one_and_together(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(8)
    for isolated in (False, True):
        cross = fitted(CrossEncoder(kb=kb, encoder=bert, isolated=isolated), docs, kb)
        seen = answered(kb, docs)
        alone = [found for doc in seen for found in scores(cross, [doc])]
        assert close(scores(cross, seen), alone, 1e-4)


def test_what_is_too_long_for_a_window_is_told(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(2)
    cross = fitted(CrossEncoder(kb=kb, encoder=bert, packing="base", candidate="definition"), docs, kb)
    cross(answered(kb, docs))
    cross.window = 16  # of which a pair has 5
    with pytest.warns(LinnetWarning, match=r"\d+ mentions or candidates are too long for a window: their ends are not"):
        cross(answered(kb, docs))


def test_saved_and_loaded(kb: KnowledgeBase, bert: str, tmp_path: Path) -> None:
    docs = notes(6)
    cross = fitted(CrossEncoder(kb=kb, encoder=bert, packing="passage", candidate="definition"), docs, kb)
    cross.save(tmp_path / "saved")
    loaded = CrossEncoder.load(tmp_path / "saved", kb=kb)
    seen = answered(kb, docs)
    assert loaded.compete
    assert close(scores(cross, seen), scores(loaded, seen), 1e-5)
    assert close(scores(cross, seen), scores(pickle.loads(pickle.dumps(cross)), seen), 1e-5)
    (tmp_path / "saved" / "learned.json").write_text("{}")
    with pytest.raises(FormatError, match=r"learned\.json: nothing that this Linnet can use \(KeyError"):
        CrossEncoder.load(tmp_path / "saved", kb=kb)


def test_an_interrupted_training_ends_as_an_unbroken_one(kb: KnowledgeBase, bert: str, tmp_path: Path) -> None:
    docs = notes(6)
    args = {"epochs": 3, "batch": 4, "bf16": False, "checkpoint_every": "1 steps", "checkpoints": tmp_path / "kept"}
    whole = CrossEncoder(kb=kb, encoder=bert)
    list(whole.fit(docs, docs[:2], before=front(kb), kb=kb, args={**args, "checkpoints": None}))
    broken = CrossEncoder(kb=kb, encoder=bert)
    for step in broken.fit(docs, docs[:2], before=front(kb), kb=kb, args=args):
        if step.step == 4:
            break
    again = CrossEncoder(kb=kb, encoder=bert)
    list(again.fit(docs, docs[:2], before=front(kb), kb=kb, args=args))
    theirs, ours = (list(one.network.state_dict().values()) for one in (whole, again))
    assert all(torch.equal(one, two) for one, two in zip(theirs, ours, strict=True))


def test_mentions_that_the_stage_before_is_sure_of_are_left(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(4)
    cross = fitted(CrossEncoder(kb=kb, encoder=bert, skip_threshold=0.0), docs, kb)
    seen = answered(kb, docs)
    assert cross(seen) == seen
    cross.skip_threshold = 2.0
    assert cross(seen) != seen


def test_from_how_sure_mentions_are_left_is_fitted(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(8)
    cross = CrossEncoder(kb=kb, encoder=bert)
    fitted(cross, docs, kb)
    assert cross.skip_threshold is None
    learned = learned_documents(cross, docs, before=front(kb), args=CrossArgs(top_k=5))
    first = [float(said[0, 0]) for one in learned for said in one.read.features]
    assert fit_skip_threshold(cross, learned, max_accuracy_loss=1.0) == min(first)
    assert fit_skip_threshold(cross, [], max_accuracy_loss=1.0) is None
    wrong = [one._replace(labels=[own * 0 for own in one.labels]) for one in learned]
    assert fit_skip_threshold(cross, wrong, max_accuracy_loss=0.0) == min(first)
    list(cross.fit(docs, docs, before=front(kb), kb=kb, args={"epochs": 1, "max_accuracy_loss": 1.0}))
    assert cross.skip_threshold == min(first)


def test_a_byte_a_number_says_about_the_same(kb: KnowledgeBase, bert: str, tmp_path: Path, home: Path) -> None:
    docs = notes(6)
    fitted(CrossEncoder(kb=kb, encoder=bert, packing="multi"), docs, kb).save(tmp_path / "saved")
    seen = answered(kb, docs)
    small = CrossEncoder.load(tmp_path / "saved", kb=kb)
    small.backend = "onnx"
    assert close(scores(CrossEncoder.load(tmp_path / "saved", kb=kb), seen), scores(small, seen), 0.1)
    assert (home / "onnx").is_dir()
    with pytest.raises(RecipeError, match="onnx cannot keep candidates apart"):
        CrossEncoder(kb=kb, encoder=bert, backend="onnx", isolated=True)


def test_what_is_right_where_it_was_not_found(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(6)
    cross = CrossEncoder(kb=kb, encoder=bert)
    for add_gold, most in ((False, 2), (True, 3)):
        args = CrossArgs(top_k=2, add_gold=add_gold)
        labels = [own for one in learned_documents(cross, docs, before=front(kb), args=args) for own in one.labels]
        assert max(map(len, labels)) == most
        assert all(own.max() == 1 for own in labels) == add_gold


def test_the_loss_is_the_plain_one(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(4)
    cross = CrossEncoder(kb=kb, encoder=bert, packing="base", top_k=3)
    for loss in ("pairs", "list"):
        args = CrossArgs(top_k=3, loss=loss)
        learned = learned_documents(cross, docs, before=front(kb), args=args)
        training = CrossTraining(cross, args, learned)
        examples = training.examples(docs, epoch=0, rng=np.random.default_rng(0))
        assert len(examples) == 8
        found = float(training.loss(training.collate(examples))[loss].detach())
        margins = cross.score([one.read for one in learned], alone=True)
        none = float(cross.network.none.detach())
        terms: list[float] = []
        for one, lists in zip(learned, margins, strict=True):
            for labels, own in zip(one.labels, lists, strict=True):
                if loss == "pairs":
                    terms += [float(np.log1p(np.exp(-m if label else m))) for label, m in zip(labels, own, strict=True)]
                else:
                    total = np.exp(own).sum() + np.exp(none)
                    good = np.exp(own[labels == 1]).sum() if (labels == 1).any() else np.exp(none)
                    terms.append(float(-np.log(good / total)))
        assert found == pytest.approx(np.mean(terms), abs=0.02)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"top_k": 0}, "top_k: 0 must be at least 1"), ({"window": 9999}, "window: 9999 must be at most 512")],
)
def test_wrong_options(kb: KnowledgeBase, bert: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        _ = CrossEncoder(kb=kb, encoder=bert, **given).network


def test_wrong_arguments(kb: KnowledgeBase, bert: str) -> None:
    cross, docs = CrossEncoder(kb=kb, encoder=bert), notes(2)
    with pytest.raises(RecipeError) as error:
        fitted(cross, docs, kb, top_k=True, loss="lists", add_gold=1, lrr=1)
    assert len(error.value.problems) == 4
    wrong = [replace(doc, mentions=tuple(replace(m, concepts=("Y:1",)) for m in doc.mentions or ())) for doc in docs]
    with pytest.raises(DataError, match="no mention of the training documents has a right candidate"):
        fitted(cross, wrong, kb)


def test_weights_are_fitted_on_what_will_be_linked(kb: KnowledgeBase, bert: str) -> None:
    docs = notes(20)
    cross = CrossEncoder(kb=kb, encoder=bert, top_k=6)
    seen: list[int] = []

    def weighed(network: CrossNetwork, said: Sequence[tuple[Any, Any, Any]]) -> None:
        seen.extend(len(labels) for _, _, labels in said)
        weigh(network, said)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("linnet.rerank.cross_training.weigh", weighed)
        fitted(cross, docs, kb, top_k=2, add_gold=True, held_out=0.2, epochs=1)
    assert len(seen) == 8  # mentions of four documents
    assert min(seen) > 3  # candidates, of which the network has learned from two and a right one


def test_a_second_one_goes_on_from_what_the_first_said(kb: KnowledgeBase, bert: str, tmp_path: Path) -> None:
    docs, blind = notes(), [doc.spans_only() for doc in notes()]
    one = front(kb) >> fitted(CrossEncoder(kb=kb, encoder=bert, top_k=6), docs, kb)
    second = CrossEncoder(kb=kb, encoder=bert, top_k=2)
    list(second.fit(docs, [], before=one, kb=kb, args={"epochs": 1, "batch": 8}))
    second.save(tmp_path / "second")
    for last in (second, CrossEncoder.load(tmp_path / "second", kb=kb)):
        both = (one >> last)(blind)
        for doc, said in zip(one(blind), both, strict=True):
            for mention, again in zip(doc.mentions or (), said.mentions or (), strict=True):
                assert mention.candidates is not None
                assert again.candidates is not None
                assert set(again.candidates.rows[:2].tolist()) == set(mention.candidates.rows[:2].tolist())
                kept = zip(again.candidates.rows.tolist(), again.candidates.features["before2"].tolist(), strict=True)
                found = zip(mention.candidates.rows.tolist(), mention.candidates.scores.tolist(), strict=True)
                assert dict(kept) == dict(found)
        assert last(both) == both


def test_the_time_to_read_a_sentence_grows_with_its_mentions(kb: KnowledgeBase, bert: str) -> None:
    def read(count: int) -> None:
        mentions = tuple(Mention(6 * n, 6 * n + 4) for n in range(count))
        doc = Document("list", "cold, " * count, sentences=(Span(0, 6 * count),), mentions=mentions)
        (text,) = reader.read(doc, [Candidates.none(kb.version)] * count).texts
        assert (text.places[1], text.places[-1]) == ((2, 3), (2 * count - 2, 2 * count - 1))

    reader = Reader(CrossEncoder(kb=kb, encoder=bert).network.encoder, kb, candidate="name", long_forms=False)
    assert growth(read, 4_000) < LINEAR


def test_nothing_is_trained_where_training_fails(kb: KnowledgeBase, bert: str) -> None:
    docs = [replace(doc, mentions=()) for doc in notes(3)]
    cross = CrossEncoder(kb=kb, encoder=bert)
    with pytest.raises(DataError):
        fitted(cross, docs, kb)
    with pytest.raises(PipelineError, match="cross_encoder has not been trained"):
        cross(answered(kb, notes(2)))
