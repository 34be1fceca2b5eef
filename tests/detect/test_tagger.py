"""The tagger, with an encoder of a few weights made on the spot."""

from __future__ import annotations

import itertools
import pickle
import random
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_bert

from linnet.data import Concept, Document, Mention, Name, Span
from linnet.detect.tagger import Tagger
from linnet.errors import DataError, FormatError, PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.nn.windows import Pieces
from linnet.pipeline import Pipeline
from linnet.reporter import Reporter, reporting
from linnet.text.word_scores import decoded, emissions
from linnet.text.words import gold_chunks, spans_of

pytestmark = pytest.mark.usefixtures("float32")

THINGS = (
    ("Disease", "cold fever"),
    ("Disease", "gout"),
    ("Disease", "flu"),
    ("Drug", "warm salt"),
    ("Drug", "zinc"),
    ("Drug", "lead"),
)
FILLERS = ("the", "patient", "had", "took", "and", "then", "no", "more", "of", "it")
WORDS = sorted({word for _, name in THINGS for word in name.split()} | set(FILLERS))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=WORDS, layers=1, size=32))


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = (Concept(f"X:{n}", (Name(name),), (kind,)) for n, (kind, name) in enumerate(THINGS))
    return build(concepts, tmp_path_factory.mktemp("kb") / "x.kb")


def notes(count: int = 10, seed: int = 0, words: int = 12) -> list[Document]:
    """Documents of random words, the names of things among them."""
    rng = random.Random(seed)
    docs = []
    for number in range(count):
        text, mentions = "", []
        for _ in range(words):
            text += rng.choice(FILLERS) + " "
            if rng.random() < 0.3:
                kind, name = rng.choice(THINGS)
                mentions.append(Mention(len(text), len(text) + len(name), source="gold", types=(kind,)))
                text += name + rng.choice((" ", ", ", " "))
        docs.append(Document(f"n{number}", text.strip(), mentions=tuple(mentions)))
    return docs


def fitted(bert: str, kb: KnowledgeBase, docs: list[Document], dev: Any = (), **more: Any) -> Tagger:
    keywords = {name: more.pop(name) for name in list(more) if name in signature(Tagger).parameters}
    tagger = Tagger(kb=kb, encoder=bert, **{"dictionary": False, **keywords})
    args = {"epochs": 12, "batch": 4, "lr": 5e-3, "schedule": "constant", "dropout": 0.0, **more}
    for _ in tagger.fit(docs, dev, before=Pipeline(), kb=kb, args=args):
        pass
    return tagger


def found(tagger: Tagger, docs: list[Document]) -> list[set[tuple[Span, tuple[str, ...]]]]:
    linked = Pipeline(tagger)([doc.bare() for doc in docs])
    return [{(mention.span, mention.types) for mention in doc.mentions or ()} for doc in linked]


def gold(docs: list[Document]) -> list[set[tuple[Span, tuple[str, ...]]]]:
    return [{(mention.span, mention.types) for mention in doc.mentions or ()} for doc in docs]


# --- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "BIO"},
        {"scheme": "BILOU", "decoding": "crf"},
        {"dictionary": True, "lstm": 32, "head_lr_multiplier": 1.0, "epochs": 60},
        {"regularisation": "r-drop", "dropout": 0.1},
        {"regularisation": "adversarial", "strength": 0.1},
        {"networks": 2, "outside_weight": 0.5},
    ],
)
def test_ten_documents_are_learned_by_heart(bert: str, kb: KnowledgeBase, options: dict[str, Any]) -> None:
    docs = notes()
    assert found(fitted(bert, kb, docs, **options), docs) == gold(docs)


@pytest.mark.slow
def test_shuffled_mentions_teach_nothing_that_holds_elsewhere(bert: str, kb: KnowledgeBase) -> None:
    docs, others = notes(30), notes(seed=1)
    rng = random.Random(3)

    def moved(doc: Document) -> Document:
        words = rng.sample(spans_of(doc.text), len(doc.mentions or ()))
        mentions = (
            replace(m, start=word.start, end=word.end) for m, word in zip(doc.mentions or (), words, strict=True)
        )
        return replace(doc, mentions=tuple(mentions))

    right = [fitted(bert, kb, docs), fitted(bert, kb, [moved(doc) for doc in docs])]
    shares = [sum(map(len, map(set.__and__, found(one, others), gold(others)))) for one in right]
    total = sum(map(len, gold(others)))
    assert shares[0] > 0.9 * total
    assert shares[1] < 0.35 * total


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"dictionary": True}, {"lstm": 8, "decoding": "crf"}])
def test_one_and_eight_documents_at_a_time_agree(bert: str, kb: KnowledgeBase, options: dict[str, Any]) -> None:
    tagger = fitted(bert, kb, notes(), **options)
    docs = [doc.bare() for words in (3, 12, 30) for doc in notes(3, seed=words, words=words)]
    together = Pipeline(tagger)(docs)
    for doc, alone in zip(together, [Pipeline(tagger)([doc])[0] for doc in docs], strict=True):
        assert [m.span for m in doc.mentions or ()] == [m.span for m in alone.mentions or ()]
        for one, other in zip(doc.mentions or (), alone.mentions or (), strict=True):
            assert one.signals["detect"] == pytest.approx(other.signals["detect"], abs=1e-4)


@pytest.mark.slow
def test_a_dictionary_finds_what_no_document_taught(bert: str, kb: KnowledgeBase) -> None:
    docs = [doc for doc in notes(80, words=5) if "zinc" not in doc.text and "gout" not in doc.text]
    new = Document("new", "then the patient took zinc and had gout")
    tagger = fitted(bert, kb, docs, dictionary=True)
    assert found(tagger, [new]) == [{(Span(22, 26), ("Drug",)), (Span(35, 39), ("Disease",))}]


@pytest.mark.slow
def test_what_is_reviewed_in_part_is_learned_in_part(bert: str, kb: KnowledgeBase) -> None:
    docs = notes(20)
    half = [replace(doc, reviewed=(Span(0, len(doc.text) // 2),)) for doc in docs]
    half = [replace(doc, mentions=tuple(m for m in doc.mentions or () if m.end <= len(doc.text) // 2)) for doc in half]
    unseen = [replace(doc, id=f"u{doc.id}", mentions=None) for doc in docs]
    tagger = fitted(bert, kb, [*half, *unseen], docs, decoding="crf")
    right = sum(map(len, map(set.__and__, found(tagger, docs), gold(docs))))
    assert right > 0.6 * sum(map(len, gold(docs)))  # what stands in places that were never reviewed is harder


def test_a_stopped_training_leaves_what_it_had(bert: str, kb: KnowledgeBase) -> None:
    tagger = Tagger(kb=kb, encoder=bert, dictionary=False)
    steps = tagger.fit(notes(), (), before=Pipeline(), kb=kb, args={"epochs": 2})
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert len(Pipeline(tagger)([Document.of("gout")])) == 1


# --- probabilities ---------------------------------------------------------------------------------------------------


def test_probabilities_are_shares_of_all_labellings(bert: str, kb: KnowledgeBase) -> None:
    tagger = fitted(bert, kb, notes(), scheme="BIO", decoding="crf", epochs=2)
    [network] = tagger.network
    labels, rules = tagger.labels, network.chain
    torch.manual_seed(0)
    scores = torch.randn(4, len(labels)).numpy()
    [chunks] = decoded([scores], network.chain, labels)
    weights: dict[tuple[int, ...], float] = {}
    for row in itertools.product(range(len(labels)), repeat=4):
        total = rules.begin[row[0]] + rules.end[row[-1]] + sum(float(scores[n, label]) for n, label in enumerate(row))
        weights[row] = float(np.exp(float(total + sum(rules.follow[pair] for pair in itertools.pairwise(row)))))
    for chunk, odds in chunks:
        share = sum(w for row, w in weights.items() if chunk in gold_chunks(np.array(row), labels))
        assert 1 / (1 + np.exp(-odds)) == pytest.approx(share / sum(weights.values()), abs=1e-4)
    assert chunks


@pytest.mark.slow
def test_probabilities_are_calibrated_on_dev(bert: str, kb: KnowledgeBase) -> None:
    tagger = fitted(bert, kb, notes(4), notes(300, seed=9), epochs=4)
    assert tagger.curve != (1.0, 0.0)
    docs = notes(300, seed=11)
    linked = Pipeline(tagger)([doc.bare() for doc in docs])
    told, right = [], []
    for doc, answers in zip(linked, gold(docs), strict=True):
        for mention in doc.mentions or ():
            told.append(mention.signals["detect"])
            right.append((mention.span, mention.types) in answers)
    assert np.mean(told) == pytest.approx(np.mean(right), abs=0.05)


def test_the_least_probable_are_left_out(bert: str, kb: KnowledgeBase) -> None:
    tagger = fitted(bert, kb, notes(4), notes(80, seed=9), epochs=4)
    docs = [doc.bare() for doc in notes(20, seed=11)]
    before = [m for doc in Pipeline(tagger)(docs) for m in doc.mentions or ()]
    tagger.min_probability = float(np.median([mention.signals["detect"] for mention in before]))
    after = [m for doc in Pipeline(tagger)(docs) for m in doc.mentions or ()]
    assert after == [mention for mention in before if mention.signals["detect"] >= tagger.min_probability]
    assert 0 < len(after) < len(before)


def test_probabilities_of_long_texts_are_exact(bert: str, kb: KnowledgeBase) -> None:
    tagger = fitted(bert, kb, notes(), scheme="BIO", decoding="crf", epochs=2)
    [network] = tagger.network
    with torch.no_grad():
        assert network.follow is not None
        network.follow.add_(2.0)  # which no row of labels can tell from 0, and which adds up
    torch.manual_seed(0)
    scores = torch.randn(3000, len(tagger.labels)).numpy()
    [short], [long] = (
        decoded([scores[:40]], network.chain, tagger.labels),
        decoded([scores], network.chain, tagger.labels),
    )
    near = dict(long)
    same = [(odds, near[chunk]) for chunk, odds in short[:-3] if chunk in near]
    assert len(same) > 3
    assert all(one == pytest.approx(other, abs=1e-3) for one, other in same)


# --- windows ---------------------------------------------------------------------------------------------------------


def test_windows_agree_with_the_whole_text_that_fits(bert: str, kb: KnowledgeBase) -> None:
    tagger = fitted(bert, kb, notes(20, words=60))
    docs = notes(4, seed=21, words=60)
    whole = found(tagger, docs)
    tagger.window = 40
    assert all(len(tagger.windows(text)) > 2 for text in tagger.read(docs))
    parts = found(tagger, docs)
    same, total = sum(map(len, map(set.__and__, whole, parts))), sum(map(len, whole))
    assert same >= 0.95 * total


@pytest.mark.slow
def test_training_in_windows_cuts_no_mention(bert: str, kb: KnowledgeBase) -> None:
    docs = notes(6, words=60)
    tagger = fitted(bert, kb, docs, window=24, decoding="crf", epochs=25)
    assert found(tagger, docs) == gold(docs)


def test_scores_are_those_of_one_window_alone(bert: str, kb: KnowledgeBase) -> None:
    tagger = fitted(bert, kb, notes(), epochs=1)
    texts = tagger.read(notes(5, seed=2))
    together = emissions(texts, [tagger.windows(text) for text in texts], tagger.network)
    [network] = tagger.network
    for text, scores in zip(texts, together, strict=True):
        [window] = tagger.windows(text)
        with torch.inference_mode():
            alone = network(Pieces.of([(text, window)], network.encoder))[0].numpy()
        np.testing.assert_allclose(scores, alone, atol=1e-5)


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("text", ["\x00\x01 the patient had gout \x02", "\x00", "\x00 \x01", ""])
def test_signs_that_no_word_piece_stands_for_are_no_mentions(bert: str, kb: KnowledgeBase, text: str) -> None:
    docs = [*notes(), Document("odd", text), Document("odder", "\x00")]
    tagger = fitted(bert, kb, docs, lstm=4)
    [found] = Pipeline(tagger)([Document.of(text)])
    assert all(found.surface(mention).isalpha() for mention in found.mentions or ())


# --- saving, errors --------------------------------------------------------------------------------------------------


def test_saved_and_loaded_it_finds_the_same(bert: str, kb: KnowledgeBase, tmp_path: Path) -> None:
    docs = notes()
    tagger = fitted(bert, kb, docs, docs, dictionary=True, decoding="crf", networks=2, epochs=3)
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger", kb=kb)
    bare = [doc.bare() for doc in docs]
    assert Pipeline(loaded)(bare) == Pipeline(tagger)(bare)
    assert Pipeline(pickle.loads(pickle.dumps(tagger)))(bare) == Pipeline(tagger)(bare)


def test_another_tagger_is_refused(bert: str, kb: KnowledgeBase, tmp_path: Path) -> None:
    tagger = fitted(bert, kb, notes(), epochs=1)
    tagger.save(tmp_path / "tagger")
    (tmp_path / "tagger" / "learned.json").write_text('{"types": []}')
    with pytest.raises(FormatError, match="nothing that this Linnet can use"):
        Tagger.load(tmp_path / "tagger", kb=kb)
    (tmp_path / "tagger" / "learned.json").write_text('{"stage": "", "types": [], "marks": [], "curve": [NaN, 0]}')
    with pytest.raises(FormatError, match="no finite numbers"):
        Tagger.load(tmp_path / "tagger", kb=kb)
    tagger.save(tmp_path / "other")
    loaded = Tagger.load(tmp_path / "other", kb=kb)
    loaded.scheme = "BIO"
    with pytest.raises(FormatError, match="no layers that fit"):
        Pipeline(loaded)([Document.of("gout")])


def test_what_cannot_be_is_refused(bert: str, kb: KnowledgeBase) -> None:
    with pytest.raises(PipelineError, match="has not been trained"):
        Pipeline(Tagger(kb=kb, encoder=bert))([Document.of("gout")])
    with pytest.raises(RecipeError, match="window: -1") as problems:
        Tagger(kb=kb, window=-1, min_probability=2.0, lstm=-1)
    assert len(problems.value.problems) == 3
    with pytest.raises(RecipeError, match="window: 900 must be at most 512"):
        fitted(bert, kb, notes(), window=900)
    with pytest.raises(DataError, match="no mention to learn from"):
        fitted(bert, kb, [Document.of("gout")])
    wrong = {"outside_weight": -1, "networks": 0, "regularisation": "much", "epoch": 3}
    with pytest.raises(RecipeError) as refused:
        fitted(bert, kb, notes(), **wrong)
    assert len(refused.value.problems) == 4


def test_people_keep_their_mentions(bert: str, kb: KnowledgeBase) -> None:
    docs = notes()
    tagger = fitted(bert, kb, docs)
    doc = docs[0]
    theirs = replace((doc.mentions or ())[0], source="user", types=("Other",))
    [after] = Pipeline(tagger)([replace(doc.bare(), mentions=(theirs,))])
    assert theirs in (after.mentions or ())
    assert len(after.mentions or ()) == len(doc.mentions or ())


# --- learning from names ---------------------------------------------------------------------------------------------


def test_names_teach_where_nobody_has_marked_anything(bert: str, kb: KnowledgeBase) -> None:
    docs = notes(40)
    bare = [doc.bare() for doc in docs]
    tagger = fitted(bert, kb, bare, supervision="names", dev=docs[:5])
    assert found(tagger, docs) == gold(docs)
    assert tagger.types == ("Disease", "Drug")
    assert not tagger.used_dev
    assert tagger.curve == (1.0, 0.0)


def test_gold_is_not_looked_at_where_names_teach(bert: str, kb: KnowledgeBase) -> None:
    docs = notes(12)
    one = fitted(bert, kb, docs, supervision="names", epochs=2)
    two = fitted(bert, kb, [replace(doc, mentions=()) for doc in docs], supervision="names", epochs=2)
    assert torch.equal(one.network[0].head.weight, two.network[0].head.weight)


def test_only_names_that_are_asked_for_teach(bert: str, kb: KnowledgeBase, tmp_path: Path) -> None:
    docs = notes(20)
    tagger = fitted(bert, kb, docs, supervision="names", names={"types": ["Drug"]}, epochs=1)
    assert tagger.types == ("Drug",)
    tagger.save(tmp_path / "kept")
    loaded = Tagger.load(tmp_path / "kept", kb=kb)
    assert (loaded.names, loaded.supervision, loaded.used_dev) == ({"types": ("Drug",)}, "names", False)
    assert found(loaded, docs) == found(tagger, docs)


def test_how_far_the_reading_of_texts_is_can_be_heard(kb: KnowledgeBase, bert: str) -> None:
    told: list[tuple[str, int, int]] = []
    docs = [Document(str(number), "nothing of it") for number in range(70)]
    with reporting(Reporter(lambda *news: told.append(news))), pytest.raises(DataError, match="no mention to learn"):
        fitted(bert, kb, docs, supervision="names")
    assert told[:2] == [("texts searched for names", done, 70) for done in (64, 70)]
    assert told[2:72] == [("texts divided into words", done, 70) for done in range(1, 71)]
    assert told[72:] == [("texts read", done, 70) for done in (64, 70)]


def test_a_tagger_that_is_told_the_names_cannot_learn_from_them(bert: str, kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError, match="dictionary: false is needed"):
        fitted(bert, kb, notes(2), supervision="names", dictionary=True)
    with pytest.raises(RecipeError, match=r"names\.typo: unknown field; did you mean 'typos'"):
        Tagger(kb=kb, names={"typo": True})
    with pytest.raises(DataError, match="no mention to learn from"):
        fitted(bert, kb, [Document("1", "nothing of it")], supervision="names")
