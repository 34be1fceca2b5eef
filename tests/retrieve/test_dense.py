"""The bi-encoder and its retrieval, with encoders of a few weights made on the spot."""

from __future__ import annotations

import copy
import pickle
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_bert
from torch.nn import functional

from linnet.data import Candidates, Concept, Document, Mention, Name
from linnet.detect.conjuncts import Conjuncts
from linnet.detect.gold import Gold
from linnet.errors import DataError, LinnetError, LinnetWarning, RecipeError, how_to_install
from linnet.evaluate.cost import cost
from linnet.index.name_vectors import NameVectors
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.edit import edit
from linnet.pipeline import Abbreviations, Allow, Pipeline, Sentences
from linnet.pipeline.aliases import Aliases
from linnet.recipes import config, saving
from linnet.retrieve import dense_training
from linnet.retrieve.dense import Dense, DenseArgs
from linnet.retrieve.dense_network import BiEncoder
from linnet.retrieve.dense_training import DenseTraining, fit
from linnet.retrieve.ngram import Ngram
from linnet.text.contexts import in_context
from linnet.train.judge import Linked, linked_mentions

NAMES = (
    ("seizure", "fit", "convulsion"),
    ("short stature", "small height"),
    ("cleft palate", "palate cleft"),
    ("renal cyst", "cyst of kidney"),
    ("heart attack", "infarction"),
    ("fever", "pyrexia"),
)

SURFACES = ("fits", "smallness", "open palate", "cysts", "coronary event", "hot skin")
WORDS = sorted({word for texts in (*NAMES, SURFACES) for text in texts for word in text.split()} | {"and", "patient"})


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=WORDS, layers=1))


@pytest.fixture
def names(tmp_path: Path) -> KnowledgeBase:
    stream = [
        Concept(f"X:{i}", tuple(map(Name, texts)), ("odd" if i % 2 else "even",), definition=f"What {texts[0]} is.")
        for i, texts in enumerate(NAMES)
    ]
    return build(stream, tmp_path / "names.kb")


@pytest.fixture
def dense(names: KnowledgeBase, bert: str) -> Dense:
    return Dense(kb=names, encoder=bert, k=4)


def note(number: int, text: str, surface: str, *ids: str) -> Document:
    """Return a document with one gold mention."""
    at = text.index(surface)
    mention = Mention(at, at + len(surface), source="gold", concepts=ids)
    return Abbreviations()(Sentences()([Document(f"n{number}", text, mentions=(mention,))]))[0]


def notes(count: int = 10, *, shift: int = 0) -> list[Document]:
    """Return documents whose mentions look like none of the names."""
    return [
        note(i, f"Patient {i} had {SURFACES[i % 6]} last year.", SURFACES[i % 6], f"X:{(i + shift * (i // 6)) % 6}")
        for i in range(count)
    ]


# --- texts -----------------------------------------------------------------------------------------------------------


def test_mentions_longer_than_the_window_keep_their_ends_and_are_counted(dense: Dense) -> None:
    text = "seizure " + "and " * 80 + "cyst"
    long = Document("l", text, mentions=(Mention(0, len(text)),), sentences=(), abbreviations=())
    with pytest.warns(LinnetWarning, match="1 mentions are longer than 50 word pieces"):
        [[found]] = dense.retrieve([long])
    assert len(found) == 4


def test_names_longer_than_the_window_are_counted(bert: str, tmp_path: Path) -> None:
    long = " ".join(["seizure"] * 60)
    kb = build([Concept("X:1", (Name(long), Name("fit"), Name(f"{long} fit")))], tmp_path / "long.kb")
    with pytest.warns(LinnetWarning, match="2 names are longer than 50 word pieces"):
        assert Dense(kb=kb, encoder=bert).names_index.search(np.ones((1, 32), np.float32), 2)


# --- looking up ------------------------------------------------------------------------------------------------------


def test_the_best_names_are_those_of_a_slow_comparison(dense: Dense) -> None:
    docs = notes(6)
    vectors = {name.row: dense.encode_names([name.text])[0] for name in dense.kb.names()}
    for doc, [found] in zip(docs, dense.retrieve(docs), strict=True):
        query = dense.encode_mentions(in_context(doc, tokens=50))[0]
        scores: dict[int, float] = {}
        for name in dense.kb.names():
            scores[name.concept] = max(scores.get(name.concept, -1.0), float(query @ vectors[name.row]))
        assert found.scores == pytest.approx([scores[row] for row in found.rows.tolist()], abs=0.02)
        assert found.scores[0] == pytest.approx(max(scores.values()), abs=0.02)
        assert found.kb == dense.kb.version


def test_the_margin_is_a_signal(dense: Dense) -> None:
    [doc] = dense(notes(1))
    [mention] = doc.mentions or ()
    assert mention.candidates is not None
    first, second = mention.candidates.scores[:2].tolist()
    assert mention.signals["margin"] == pytest.approx(first - second)
    assert first > second > 0


def test_a_mask_is_kept_to_and_k_is_honoured_after_it(dense: Dense) -> None:
    odd = Allow(types=("odd",))
    for [found] in dense.retrieve(notes(4), allow=odd):
        assert sorted(found.rows.tolist()) == [1, 3, 5]


def test_it_can_be_sent_to_another_process(dense: Dense) -> None:
    docs = notes(3)
    want = dense(docs)
    assert pickle.loads(pickle.dumps(dense))(docs) == want


def test_texts_of_any_kind_are_read(dense: Dense) -> None:
    for text in ("\ud800", "癫痫", "😀", "β", "x" * 3000):
        doc = Document("d", text, mentions=(Mention(0, len(text)),), sentences=(), abbreviations=())
        [[found]] = dense.retrieve([doc]) if len(text) < 99 else [[dense.retrieve(notes(1))[0][0]]]
        assert len(found) == 4


def test_nothing_is_near_a_mention_without_word_pieces(dense: Dense) -> None:
    blanks = ("\0", " ", "\u200b", "\ufe0f")
    docs = [
        Document(
            repr(text), f"fit {text} fever", mentions=(Mention(0, 3), Mention(4, 5)), sentences=(), abbreviations=()
        )
        for text in blanks
    ]
    for learned in (Aliases.none(), Aliases.of(notes(3), dense.kb)):
        dense.learned = learned
        for some, none in dense.retrieve(docs):
            assert (len(some), len(none), none.kb) == (4, 0, dense.kb.version)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"k": 0}, "k: 0 must be at least 1"),
        ({"tokens": 3}, "tokens: 3 must be at least 8"),
        ({"pooling": "markers", "markers": False}, "needs markers"),
        ({"definitions": True}, "set names to 'preferred'"),
    ],
)
def test_wrong_options_are_refused(names: KnowledgeBase, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(RecipeError, match=problem):
        Dense(kb=names, **options)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from linnet.data import Document, Mention
from linnet.errors import MissingExtraError
from linnet.evaluate.cost import cost
from linnet.kb import KnowledgeBase
from linnet.retrieve.dense import Dense

dense = Dense(kb=KnowledgeBase.open(sys.argv[1]))
doc = Document("d", "fever", mentions=(Mention(0, 5),), sentences=(), abbreviations=())
for call in (
    lambda: dense.retrieve([doc]),
    lambda: dense.encode_names(["fever"]),
    lambda: list(dense.fit([doc], [], before=None, kb=dense.kb, args={})),
):
    try:
        call()
    except MissingExtraError as error:
        print(error)
"""


def test_without_torch_it_says_what_to_install(names: KnowledgeBase) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, names.path], capture_output=True, text=True, check=True)
    assert done.stdout.count(how_to_install("neural")) == 3


# --- learning --------------------------------------------------------------------------------------------------------

QUICK = {"batch": 8, "lr": 5e-3, "bf16": False, "schedule": "constant"}


def taught(dense: Dense, docs: list[Document], dev: list[Document] = [], **args: Any) -> Dense:  # noqa: B006
    for _ in dense.fit(docs, dev, before=Pipeline(dense), kb=dense.kb, args={**QUICK, **args}):
        pass
    return dense


def share_right(dense: Dense, docs: list[Document]) -> float:
    bare = [replace(doc, mentions=tuple(replace(m, concepts=None) for m in doc.mentions or ())) for doc in docs]
    right = 0
    for doc, [found] in zip(docs, dense.retrieve(bare), strict=True):
        [mention] = doc.mentions or ()
        assert mention.concepts
        right += dense.kb.id(int(found.rows[0])) == mention.concepts[0]
    return right / len(docs)


SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "as published": (
        {"shared": False, "pooling": "cls", "name_pooling": "cls", "names": "preferred", "definitions": True},
        {
            "similarity": "dot",
            "temperature": 1.0,
            "positive": "preferred",
            "mined": 0,
            "freeze_embeddings": True,
            "lr": 2e-3,
            "epochs": 200,
        },
    ),
    "all negatives": ({"pooling": "ends"}, {"mined": 2, "random": 2, "spare_descendants": True, "only_above": True}),
    "synonyms and chunks": ({"pooling": "markers"}, {"synonyms": 0.5, "encode_batch": 8, "lr": 3e-3}),
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_ten_documents_are_learned_by_heart(names: KnowledgeBase, bert: str, setting: str) -> None:
    options, args = SETTINGS[setting]
    dense = Dense(kb=names, encoder=bert, aliases=False, **options)
    taught(dense, notes(), notes(), **{"epochs": 80, "evaluate_every": "10 epochs", **args})  # the best on dev is kept
    assert share_right(dense, notes()) >= 0.99


def many(count: int, text: str, labels: Any) -> list[Document]:
    """Return documents with `text` around each of the surfaces in turn, the n-th one meaning ``labels(n)``."""
    texts = [text.format(SURFACES[i % 6], i) for i in range(count)]
    return [note(i, t, SURFACES[i % 6], f"X:{labels(i)}") for i, t in enumerate(texts)]


@pytest.mark.slow
def test_shuffled_labels_teach_nothing_and_true_ones_what_holds_elsewhere(names: KnowledgeBase, bert: str) -> None:
    unseen = many(12, "Later {} came in year {}.", lambda i: i % 6)
    right = Dense(kb=names, encoder=bert, aliases=False)
    taught(right, many(36, "Patient {1} had {0} last year.", lambda i: i % 6), epochs=30)
    assert share_right(right, unseen) >= 0.9
    # each surface means each of the concepts once: this says nothing about any; one training may be lucky
    labelled = many(36, "Patient {1} had {0} last year.", lambda i: (i + i // 6) % 6)
    args: dict[str, Any] = {"epochs": 20, "batch": 18}
    shuffled = [taught(Dense(kb=names, encoder=bert, aliases=False), labelled, seed=n, **args) for n in range(4)]
    assert statistics.mean(share_right(dense, unseen) for dense in shuffled) <= 0.5


def test_training_names_are_aliases(names: KnowledgeBase, bert: str) -> None:
    dense = taught(Dense(kb=names, encoder=bert), notes(), epochs=1, lr=1e-6)
    [[found]] = dense.retrieve([replace(notes(5)[4], mentions=tuple(Mention(14, 28) for _ in range(1)))])
    assert len(dense.learned) == 6
    assert found.names is not None
    assert -1 in found.names.tolist()


def test_its_parameters_are_counted(dense: Dense) -> None:
    taught(dense, notes(), epochs=1)
    docs = [doc.spans_only() for doc in notes(2)]
    found = cost(lambda: Pipeline(Gold(), dense, kb=dense.kb), docs, repeats=1)
    assert found.parameters == sum(weight.numel() for weight in dense.network.parameters()) > 1000


def test_saved_and_loaded_it_answers_alike(dense: Dense, tmp_path: Path) -> None:
    docs = notes()
    taught(dense, docs, epochs=2)
    pipeline = Pipeline(dense, kb=dense.kb)
    saving.save(pipeline, tmp_path / "saved")
    want = pipeline(docs)
    again = config.load(tmp_path / "saved")
    assert again(docs) == want
    assert not list(tmp_path.rglob("*.pkl")) + list(tmp_path.rglob("*.bin"))
    saving.save(again, tmp_path / "twice")
    assert config.load(tmp_path / "twice")(docs) == want
    (tmp_path / "saved" / "0-dense" / "model" / "mention" / "model.safetensors").unlink()
    with pytest.raises(LinnetError, match=r"model\.safetensors: is missing or damaged"):
        config.load(tmp_path / "saved")(docs)


def test_a_folder_is_found_from_anywhere(dense: Dense, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saving.save(Pipeline(taught(dense, notes(), epochs=1), kb=dense.kb), tmp_path / "saved")
    monkeypatch.chdir(tmp_path)
    loaded = config.load("saved")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert loaded(notes())


def test_an_interrupted_training_ends_like_one_that_was_not(names: KnowledgeBase, bert: str, tmp_path: Path) -> None:
    docs, args = notes(), {**QUICK, "epochs": 4, "checkpoint_every": 1}
    whole = Dense(kb=names, encoder=bert)
    losses = [step.losses["nll"] for step in whole.fit(docs, [], before=Pipeline(whole), kb=names, args=args)]
    args = {**args, "checkpoints": tmp_path / "training"}
    first = Dense(kb=names, encoder=bert)
    steps = first.fit(docs, [], before=Pipeline(first), kb=names, args=args)
    seen = [next(steps).losses["nll"] for _ in range(3)]
    steps.close()  # type: ignore[attr-defined]
    second = Dense(kb=names, encoder=bert)
    seen += [step.losses["nll"] for step in second.fit(docs, [], before=Pipeline(second), kb=names, args=args)]
    assert seen == losses
    for name, weight in whole.network.state_dict().items():
        assert torch.equal(weight, second.network.state_dict()[name]), name


def test_a_copy_is_trained_without_the_original_noticing(dense: Dense) -> None:
    taught(dense, notes(), epochs=1)
    before = {name: weight.clone() for name, weight in dense.network.state_dict().items()}
    taught(copy.copy(dense), notes(), epochs=2)
    assert all(torch.equal(weight, before[name]) for name, weight in dense.network.state_dict().items())


def test_aliases_can_be_left_out_and_the_network_changed(names: KnowledgeBase, bert: str) -> None:
    dense = taught(Dense(kb=names, encoder=bert), notes(10), epochs=1)
    asked = [doc.spans_only() for doc in notes(2)]
    assert all(-1 in found.names.tolist() for [found] in dense.retrieve(asked) if found.names is not None)
    fewer = dense.without(["n0", "n6"])  # the documents with the first surface
    [[gone], [still]] = fewer.retrieve(asked)
    assert fewer.network is dense.network
    assert gone.names is not None
    assert dict(zip(gone.rows.tolist(), gone.names.tolist(), strict=True)).get(0) != -1
    assert still.names is not None
    assert -1 in still.names.tolist()
    other = taught(Dense(kb=names, encoder=bert), notes(5), epochs=2)
    changed = dense.with_network(other)
    assert len(changed.learned) == len(dense.learned)
    assert np.allclose(changed.encode_names(["fever"]), other.encode_names(["fever"]))
    assert np.allclose(dense.encode_names(["fever"]), fewer.encode_names(["fever"]))
    assert not np.allclose(dense.encode_names(["fever"]), other.encode_names(["fever"]), atol=1e-3)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda dense: pickle.loads(pickle.dumps(dense))])
def test_a_copy_knows_what_was_learned(dense: Dense, again: Any) -> None:
    taught(dense, notes(), epochs=3)
    assert again(dense)(notes()) == dense(notes())


def test_a_training_that_is_stopped_leaves_vectors_of_its_last_weights(dense: Dense) -> None:
    args = {**QUICK, "evaluate_every": "2 steps", "keep_best": False, "epochs": 9}
    steps = dense.fit(notes(), notes(6), before=Pipeline(dense), kb=dense.kb, args=args)
    for _ in range(3):
        next(steps)
    steps.close()  # type: ignore[attr-defined]
    index = dense.names_index
    assert isinstance(index, NameVectors)
    assert np.allclose(index.vectors, dense.encode_names([name.text for name in dense.kb.names()]), atol=1e-6)


def test_patience_stops_nothing_where_there_are_no_dev_documents(
    dense: Dense, caplog: pytest.LogCaptureFixture
) -> None:
    taught(dense, notes(), epochs=1, patience=2)
    assert "patience = 2 stops nothing" in caplog.text


def test_candidates_that_nobody_gives_are_refused(dense: Dense) -> None:
    with pytest.raises(RecipeError, match="lexical: no part before gives candidates"):
        list(dense.fit(notes(), [], before=Pipeline(Gold(), kb=dense.kb), kb=dense.kb, args={**QUICK, "lexical": 2}))


def test_a_window_larger_than_the_encoders_is_refused(names: KnowledgeBase, bert: str) -> None:
    with pytest.raises(RecipeError, match="600 and 50 must be at most 512"):
        taught(Dense(kb=names, encoder=bert, tokens=600), notes(), mined=0, positive="random")


def test_a_pooling_that_was_not_trained_is_refused(dense: Dense, tmp_path: Path) -> None:
    taught(dense, notes(), epochs=1)
    saving.save(Pipeline(dense, kb=dense.kb), tmp_path / "saved")
    with pytest.raises(LinnetError, match=r"dense\.pooling: was trained with 'span', not with 'ends'"):
        config.load(tmp_path / "saved", changes=['dense.pooling="ends"'])
    changed = config.load(tmp_path / "saved")
    changed.parts[0].pooling = "ends"  # type: ignore[attr-defined]
    with pytest.raises(LinnetError, match="holds no weights for the pooling 'ends'"):
        changed(notes())


def test_the_preferred_name_is_the_first_of_its_concept_after_an_edit_too(names: KnowledgeBase, bert: str) -> None:
    with edit(names.path) as changes:
        changes.replace(Concept("X:0", (Name("absence"), Name("seizure"))))
    kb = KnowledgeBase.open(names.path)
    made = training(Dense(kb=kb, encoder=bert), notes(1), mined=0, positive="preferred")
    [place] = {made.names.some(0, np.random.default_rng(1), "preferred")}
    assert [name.text for name in kb.names()][place] == "absence"


def test_the_best_weights_on_dev_are_kept(names: KnowledgeBase, bert: str) -> None:
    dense = Dense(kb=names, encoder=bert, aliases=False)
    args = {**QUICK, "epochs": 6, "patience": 2}
    scores = [
        step.score
        for step in dense.fit(notes(), notes(6), before=Pipeline(dense), kb=names, args=args)
        if step.score is not None
    ]
    assert share_right(dense, notes(6)) == pytest.approx(max(scores))


def test_wrong_arguments_are_all_named(dense: Dense) -> None:
    wrong: dict[str, Any] = {"epoch": 1, "mined": -1, "similarity": "cosin", "lr": 0}
    with pytest.raises(RecipeError) as caught:
        taught(dense, notes(), **wrong)
    for problem in ("epoch: unknown field; did you mean 'epochs'", "mined: expected", "similarity: expected", "lr:"):
        assert problem in str(caught.value)


def test_documents_that_teach_nothing_are_refused(dense: Dense) -> None:
    with pytest.raises(DataError, match="no mention of the training documents"):
        taught(dense, [note(1, "Nothing known.", "Nothing", "Y:1")])


# --- the loss --------------------------------------------------------------------------------------------------------


def training(dense: Dense, docs: list[Document], **args: Any) -> DenseTraining:
    linked = [
        Linked(in_context(doc, tokens=50)[0], frozenset({int((doc.mentions or ())[0].concepts[0][2:])}), None)  # type: ignore[index]
        for doc in docs
    ]
    return DenseTraining(dense, DenseArgs(**args), linked)


def test_the_same_concept_twice_in_a_batch_is_no_negative_of_itself(dense: Dense) -> None:
    made = training(dense, [*notes(6), *notes(6)], mined=0)
    batch = made.collate(made.examples([], epoch=0, rng=np.random.default_rng(1)))
    assert batch.own.tolist() == list(range(12))
    for place in range(12):
        assert batch.out[place].nonzero().flatten().tolist() == [(place + 6) % 12]


def test_vectors_that_training_begins_with_are_kept_for_the_next(
    names: KnowledgeBase, bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    plainly = Dense.encode_cut_names

    def counted(self: Dense, texts: list[str], *more: Any) -> Any:
        made.append(len(texts))
        return plainly(self, texts, *more)

    monkeypatch.setattr(Dense, "encode_cut_names", counted)
    first = taught(Dense(kb=names, encoder=bert, aliases=False), notes(6), epochs=2)
    every, whole = len(made), sum(map(len, NAMES))
    assert made == [whole] * every
    second = taught(Dense(kb=names, encoder=bert, aliases=False), notes(6), epochs=2)
    assert len(made) == 2 * every - 1
    for name, weight in first.network.state_dict().items():
        assert torch.equal(weight, second.network.state_dict()[name]), name


def test_mentions_that_are_alike_are_drawn_anew_each_epoch(dense: Dense) -> None:
    made = training(dense, notes(60), mined=0, max_duplicates=2)
    drawn = []
    for epoch in range(3):
        examples = made.examples([], epoch=epoch, rng=np.random.default_rng(epoch))
        assert sorted(example.rows[0] for example in examples) == [i for i in range(6) for _ in range(2)]
        drawn.append({example.mention.ids for example in examples})
    assert len(training(dense, notes(60), mined=0).examples([], epoch=0, rng=np.random.default_rng(1))) == 60
    assert drawn[0] != drawn[1] or drawn[1] != drawn[2]
    for alike, most, count in ((0, 7, 7), (2, 7, 7), (1, 60, 6), (0, 99, 60)):
        some = training(dense, notes(60), mined=0, max_duplicates=alike, max_mentions_per_epoch=most)
        assert len(some.examples([], epoch=0, rng=np.random.default_rng(1))) == count


def test_the_loss_is_that_of_a_slow_sum(dense: Dense) -> None:
    made = training(dense, notes(5), mined=1, temperature=0.1)
    examples = made.examples([], epoch=0, rng=np.random.default_rng(1))
    with torch.no_grad():
        loss = float(made.loss(made.collate(examples))["nll"])
    model = dense.network
    total = 0.0
    for example in examples:
        scores = []
        for other in examples:
            for name, row in zip(other.names, other.rows, strict=True):
                own = other is example and name is example.names[0]
                if own or row not in example.spared:
                    scores.append((own, _cosine(model, example.mention, name) / 0.1))
        values = torch.tensor([score for _, score in scores])
        [right] = [place for place, (own, _) in enumerate(scores) if own]
        total += float(torch.logsumexp(values, 0) - values[right])
    assert loss == pytest.approx(total / len(examples), abs=1e-4)


@pytest.mark.parametrize("distill_k", [0, 3])
def test_of_two_processes_each_sees_the_names_of_both(
    dense: Dense, monkeypatch: pytest.MonkeyPatch, distill_k: int
) -> None:
    docs = [*notes(6), *notes(3)]  # some concepts are on both sides
    teacher = Candidates(np.array([1, 0], np.int32), np.array([0.75, 0.25], np.float32))
    linked = [Linked(in_context(doc, tokens=50)[0], frozenset({n % 6}), teacher) for n, doc in enumerate(docs)]
    made = DenseTraining(dense, DenseArgs(mined=1, distill_k=distill_k, temperature=0.1), linked)
    examples = made.examples([], epoch=0, rng=np.random.default_rng(1))
    sides = [made.collate(examples[:5]), made.collate(examples[5:])]
    with torch.no_grad():
        whole = made.loss(made.collate(examples))
        vectors = [functional.normalize(dense.network.names(*side.names), dim=-1) for side in sides]
        halves = []
        for number, side in enumerate(sides):
            both = iter([torch.cat(vectors), torch.cat([some.rows for some in sides])])
            monkeypatch.setattr(dense_training, "gathered", lambda _, both=both: next(both))
            monkeypatch.setattr(dense_training, "rows_before", lambda _, n=number: n * len(sides[0].rows))
            halves.append(made.loss(side))
    assert whole.keys() == ({"nll", "distillation"} if distill_k else {"nll"})
    for name, value in whole.items():
        parts = [len(side.own) * float(half[name]) for side, half in zip(sides, halves, strict=True)]
        assert sum(parts) / 9 == pytest.approx(float(value), abs=1e-4)


def test_a_teachers_shares_are_learned(dense: Dense) -> None:
    docs = notes(6)
    teacher = [Candidates(np.array([(i + 1) % 6, i], np.int32), np.array([0.75, 0.25], np.float32)) for i in range(6)]
    linked = [
        Linked(in_context(doc, tokens=50)[0], frozenset({place}), found)
        for place, (doc, found) in enumerate(zip(docs, teacher, strict=True))
    ]
    made = DenseTraining(dense, DenseArgs(distill_k=3, mined=0, temperature=0.1), linked)
    examples = made.examples([], epoch=0, rng=np.random.default_rng(1))
    assert [example.rows for example in examples] == [(i, (i + 1) % 6) for i in range(6)]
    assert all(example.shares == (0.25, 0.75) for example in examples)
    with torch.no_grad():
        loss = float(made.loss(made.collate(examples))["distillation"])
    total = 0.0
    for example in examples:
        values = torch.tensor([_cosine(dense.network, example.mention, name) / 0.1 for name in example.names])
        total -= float((torch.tensor(example.shares) * torch.log_softmax(values, 0)).sum())
    assert loss == pytest.approx(total / len(examples), abs=1e-4)


def test_negatives_can_come_from_the_pipeline_before(names: KnowledgeBase, bert: str) -> None:
    dense = Dense(kb=names, encoder=bert)
    args = {**QUICK, "epochs": 1, "lexical": 2, "distill_k": 2, "mined": 0}
    [step] = dense.fit(notes(6), [], before=Pipeline(Gold(), Ngram(kb=names)), kb=names, args=args)
    assert set(step.losses) == {"nll", "distillation"}


def test_candidates_of_the_pipeline_before_stay_with_their_mentions(names: KnowledgeBase, bert: str) -> None:
    with edit(names.path) as changes:
        changes.add(Concept("X:6", (Name("cleft lip"),)))
    kb = KnowledgeBase.open(names.path)
    text = "Patient had cleft lip and palate, fever."
    composite = Mention(12, 32, source="gold", concepts=("X:6",))
    fever = Mention(34, 39, source="gold", concepts=("X:5",))
    doc = Abbreviations()(Sentences()([Document("c", text, mentions=(composite, fever))]))[0]
    dense = Dense(kb=kb, encoder=bert)
    before = Pipeline(Gold(), Conjuncts(kb=kb), Ngram(kb=kb))
    assert len(before([doc.spans_only()])[0].mentions or ()) == 3
    found = {one.context.text: one.candidates for one in linked_mentions(dense, [doc], before)}
    assert found["cleft lip and palate"] is None
    assert found["fever"] is not None
    assert found["fever"].rows[0] == kb.row("X:5")


def _cosine(model: BiEncoder, mention: Any, name: Any) -> float:
    def one(text: Any) -> tuple[torch.Tensor, ...]:
        return torch.tensor([text.ids]), torch.ones(1, len(text.ids)), torch.tensor([text.span])

    with torch.no_grad():
        left, right = model.mentions(*one(mention)), model.names(*one(name))
        return float(torch.nn.functional.cosine_similarity(left, right))


def test_chunks_have_the_gradient_of_the_whole_batch(dense: Dense) -> None:
    grads = []
    for chunk in (0, 2):
        made = training(dense, notes(6), mined=1, encode_batch=chunk)
        dense.network.zero_grad()
        examples = made.examples([], epoch=0, rng=np.random.default_rng(1))
        made.loss(made.collate(examples))["nll"].backward()  # type: ignore[no-untyped-call]
        grads.append([p.grad.clone() for p in dense.network.parameters() if p.grad is not None])
    assert len(grads[0]) == len(grads[1]) > 10
    for one, other in zip(*grads, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_negatives_are_never_right_answers(names: KnowledgeBase, bert: str) -> None:
    dense = Dense(kb=names, encoder=bert)
    made = training(dense, notes(6), mined=2, random=3)
    for example in made.examples([], epoch=0, rng=np.random.default_rng(1)):
        assert example.rows[0] in example.spared
        assert len(example.rows) >= 3
        assert not set(example.rows[1:]) & example.spared


def test_fit_is_the_components_own(dense: Dense) -> None:
    steps = list(fit(dense, notes(4), [], before=Pipeline(dense), kb=dense.kb, args={**QUICK, "epochs": 1}))
    assert [step.step for step in steps] == [1]
    assert set(steps[0].losses) == {"nll"}
