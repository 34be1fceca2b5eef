"""Self-alignment on synonyms, with encoders of a few weights made on the spot."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.tiny_models import tiny_bert

from linnet.data import Concept, Document, Mention, Name
from linnet.detect.gold import Gold
from linnet.errors import DataError, RecipeError
from linnet.fit.fitting import Done, _load_finished, cross_fit, fit_part, train
from linnet.fit.plan import Task, tasks
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.nn.encoder import Encoder
from linnet.pipeline import Component, Pipeline
from linnet.pipeline.learner import learner_of
from linnet.recipes import config, saving
from linnet.retrieve.dense import AlignArgs, Dense
from linnet.retrieve.dense_network import BiEncoder
from linnet.retrieve.dense_training import Alignment, _pairs, namesakes

NAMES = tuple(tuple(f"{one}{two}" for one in ("kar", "mel", "tos", "bin")) for two in ("", "us", "in", "ol", "ea", "y"))
WORDS = [name for names in NAMES for name in names]
PLAIN: dict[str, Any] = {
    "pooling": "cls",
    "name_pooling": "cls",
    "markers": False,
    "context": False,
}  # as SapBERT reads
QUICK: dict[str, Any] = {"stage": "align", "batch": 12, "lr": 5e-3, "epochs": 2, "bf16": False}
ENOUGH = 40  # epochs


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=WORDS, layers=1))


def kb_of(path: Path, names: Sequence[Sequence[str]]) -> KnowledgeBase:
    return build([Concept(f"X:{i}", tuple(map(Name, texts))) for i, texts in enumerate(names)], path)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return kb_of(tmp_path / "names.kb", NAMES)


@pytest.fixture
def dense(kb: KnowledgeBase, bert: str) -> Dense:
    return Dense(kb=kb, encoder=bert, k=4, **PLAIN)


def notes(count: int = 6) -> list[Document]:
    """Return documents with a mention each of a text that is no name, in words of the encoder."""
    texts = [f"{WORDS[i % 6]} {WORDS[6 + i % 5]}" for i in range(count)]
    return [
        Document(f"n{i}", f"It was {text}.", sentences=(), abbreviations=(), mentions=(
            Mention(7, 7 + len(text), source="gold", concepts=(f"X:{i % 6}",)),
        ))
        for i, text in enumerate(texts)
    ]  # fmt: skip


def aligned(dense: Dense, dev: Sequence[Document] = (), **args: Any) -> Dense:
    for _ in dense.fit([], dev, before=Pipeline(dense), kb=dense.kb, args={**QUICK, **args}):
        pass
    return dense


def synonyms_found(dense: Dense) -> float:
    """Return the share of names whose nearest other name is of the same concept in `NAMES`."""
    vectors = dense.encode_names(WORDS)
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -2)
    concept = np.arange(len(WORDS)) // len(NAMES[0])
    return float((concept[similarities.argmax(axis=1)] == concept).mean())


def state(dense: Dense) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in dense.network.state_dict().items()}


def same_weights(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(weight, other[name]) for name, weight in one.items())


def near(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Return whether weights are the same but for what the smallest of learning rates changes."""
    return all(torch.allclose(weight, other[name], rtol=0, atol=1e-7) for name, weight in one.items())


# --- hierarchy and definitions ---------------------------------------------------------------------------------------


@pytest.fixture
def family(tmp_path: Path) -> KnowledgeBase:
    """The concepts of `NAMES`: the second is the parent of the last four; two have a definition."""
    concepts = [
        Concept(
            f"X:{i}", tuple(map(Name, texts)), parents=("X:1",) if i > 1 else (), definition="kar mel" if i < 2 else ""
        )
        for i, texts in enumerate(NAMES)
    ]
    return build(concepts, tmp_path / "family.kb")


def test_pairs_of_relatives_come_along(family: KnowledgeBase, bert: str) -> None:
    training = Alignment(Dense(kb=family, encoder=bert, **PLAIN), AlignArgs(relatives=2, pairs=3))
    made = training.examples((), epoch=1, rng=np.random.default_rng(1))
    assert made.shape == (6, 3, 2), "as many pairs as without"
    for pairs in training.rows[made]:
        assert (pairs[:, 0] == pairs[:, 1]).all(), "synonyms"
        if pairs[0, 0]:
            assert 0 not in pairs[1:], "no stranger, as there are relatives enough"
    assert training.collate(list(made)).rows.tolist()[:3] == training.rows[made[0, :, 0]].tolist()


@pytest.mark.slow
def test_a_parent_is_nearer_than_a_stranger(family: KnowledgeBase, bert: str) -> None:
    def nearness(kinship: float) -> tuple[float, float]:
        vectors = aligned(Dense(kb=family, encoder=bert, **PLAIN), epochs=ENOUGH // 2, kinship=kinship).encode_names(
            WORDS
        )
        means = vectors.reshape(len(NAMES), -1, vectors.shape[1]).mean(axis=1)
        return float((means[2:] @ means[1]).mean()), float((means[1:] @ means[0]).mean())

    parent, stranger = nearness(0.3)
    assert parent > stranger + 0.1
    assert parent > nearness(0.0)[0] + 0.1


def test_definitions_are_names(family: KnowledgeBase, bert: str) -> None:
    dense = Dense(kb=family, encoder=bert, **PLAIN)
    without, with_them = (Alignment(dense, AlignArgs(definitions=told)) for told in (False, True))
    assert len(with_them.tokens) == len(without.tokens) + 2
    assert [len(own) for own in with_them.synonyms] == [5, 5, 4, 4, 4, 4]


# --- an encoder for others -------------------------------------------------------------------------------------------


def test_weights_of_two_bytes_are_kept_so_and_another_component_begins_with_them(
    dense: Dense, kb: KnowledgeBase, tmp_path: Path
) -> None:
    pipeline = Gold() >> dense
    todo = tasks(pipeline, [{"part": "dense", **QUICK, "half": True}], source="terms")
    for _ in train(pipeline, todo, (), (), output=tmp_path / "terms"):  # no document, and no vectors of names
        pass
    model = tmp_path / "terms" / "1-dense" / "model" / "mention" / "model.safetensors"
    assert not (tmp_path / "terms" / "1-dense" / "names.vectors").exists()
    assert {values.dtype for values in load_file(model).values()} == {torch.float16}
    other = Dense(kb=kb, encoder=str(tmp_path / "terms"), **PLAIN)
    assert same_weights(state(other), state(cast("Dense", pipeline.parts[1])))
    assert synonyms_found(other) == synonyms_found(dense)


# --- what is learned -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_synonyms_become_neighbours_and_shuffled_ones_do_not(dense: Dense, bert: str, tmp_path: Path) -> None:
    assert synonyms_found(dense) <= 0.5
    assert synonyms_found(aligned(dense, epochs=ENOUGH)) >= 0.95
    mixed = random.Random(3).sample(WORDS, len(WORDS))
    shuffled = kb_of(tmp_path / "shuffled.kb", [mixed[i : i + 4] for i in range(0, len(mixed), 4)])
    assert synonyms_found(aligned(Dense(kb=shuffled, encoder=bert, **PLAIN), epochs=ENOUGH)) <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"encode_batch": 8}, {"pairs": 2, "epochs": 100}, {"accumulate": 2, "margin": 2.0}]
)
def test_synonyms_become_neighbours_with_other_settings(dense: Dense, options: dict[str, Any]) -> None:
    assert synonyms_found(aligned(dense, **{"epochs": ENOUGH, **options})) >= 0.95


def test_the_dev_score_is_taken_and_the_best_weights_are_kept(dense: Dense) -> None:
    steps = list(dense.fit([], notes(), before=Pipeline(dense), kb=dense.kb, args={**QUICK, "epochs": 3}))
    scores = [step.score for step in steps if step.score is not None]
    assert len(scores) == 3
    bare = [doc.spans_only() for doc in notes()]
    found = dense.retrieve([replace(doc, sentences=(), abbreviations=()) for doc in bare])
    assert np.mean([int(each.rows[0]) == i for i, [each] in enumerate(found)]) == pytest.approx(max(scores))


def test_an_interrupted_alignment_ends_like_one_that_was_not(kb: KnowledgeBase, bert: str, tmp_path: Path) -> None:
    args = {**QUICK, "epochs": 3, "checkpoint_every": 1}

    def losses(dense: Dense, count: int, **more: Any) -> list[float]:
        steps = dense.fit([], [], before=Pipeline(dense), kb=kb, args={**args, **more})
        found = [step.losses["multi_similarity"] for step, _ in zip(steps, range(count), strict=False)]
        steps.close()  # type: ignore[attr-defined]
        return found

    whole, first, second = (Dense(kb=kb, encoder=bert, **PLAIN) for _ in range(3))
    want = losses(whole, 99)
    assert len(want) == 9
    seen = losses(first, 4, checkpoints=tmp_path / "training")
    assert losses(second, 99, checkpoints=tmp_path / "training") == want[5:]  # zip took one more
    assert seen == want[:4]
    assert same_weights(state(whole), state(second))


# --- stages ----------------------------------------------------------------------------------------------------------


def test_fine_tuning_goes_on_with_what_was_aligned(dense: Dense, bert: str) -> None:
    frozen = {"stage": "finetune", "batch": 4, "lr": 1e-12, "epochs": 1, "bf16": False}
    before = state(aligned(dense))

    def tuned(part: Dense, **args: Any) -> dict[str, torch.Tensor]:
        for _ in part.fit(notes(), [], before=Pipeline(part), kb=part.kb, args={**frozen, **args}):
            pass
        return state(part)

    assert near(tuned(dense), before)
    assert len(dense.learned) == 6
    # each fine-tuning begins with what was aligned, whatever one before made of it, and a copy's too
    assert not near(tuned(dense, lr=1e-3), before)
    assert near(tuned(dense), before)
    assert near(tuned(copy.copy(dense)), before)
    fresh = Dense(kb=dense.kb, encoder=bert, **PLAIN)
    assert not near(tuned(fresh), before)
    # alignment itself starts afresh, and learns nothing from documents
    assert same_weights(state(aligned(dense)), before)
    assert len(dense.learned) == 0


def test_a_copy_is_aligned_without_the_original_noticing(dense: Dense) -> None:
    before = state(aligned(dense))
    aligned(copy.copy(dense), epochs=1)
    assert same_weights(state(dense), before)
    assert same_weights(state(copy.copy(dense)), before)


def test_what_was_aligned_is_saved_and_fine_tuned_after_loading(dense: Dense, tmp_path: Path) -> None:
    pipeline = Pipeline(aligned(dense), kb=dense.kb)
    saving.save(pipeline, tmp_path / "saved")
    again = config.load(tmp_path / "saved")
    assert again(notes()) == pipeline(notes())
    saving.save(again, tmp_path / "twice")
    [loaded] = config.load(tmp_path / "twice").parts
    assert isinstance(loaded, Dense)
    for _ in loaded.fit(notes(), [], before=again, kb=dense.kb, args={"lr": 1e-12, "epochs": 1, "bf16": False}):
        pass
    assert near(state(loaded), state(dense))


TABLES = [
    {"part": "dense", **QUICK},
    {"part": "dense", "batch": 4, "lr": 1e-3, "epochs": 2, "bf16": False},
]


def pipeline_of(kb: KnowledgeBase, bert: str) -> Pipeline:
    return Pipeline(Gold(), Dense(kb=kb, encoder=bert, k=4, **PLAIN), kb=kb)


def test_both_stages_are_trained_kept_and_resumed(kb: KnowledgeBase, bert: str, tmp_path: Path) -> None:
    docs, whole = notes(), pipeline_of(kb, bert)
    todo = tasks(whole, TABLES, source="recipe")
    assert [task.folder for task in todo] == ["1-dense", "1-dense-2"]
    news = list(train(whole, todo, docs, (), output=tmp_path / "whole"))
    assert [(one.part, one.kept) for one in news if isinstance(one, Done)] == [("dense", False), ("dense-2", False)]
    halted = train(pipeline_of(kb, bert), todo, docs, (), output=tmp_path / "halted")
    for one in halted:
        if isinstance(one, Done):
            break
    halted.close()
    news = list(train(pipeline_of(kb, bert), todo, docs, (), output=tmp_path / "halted"))
    assert [(one.part, one.kept) for one in news if isinstance(one, Done)] == [("dense", True), ("dense-2", False)]
    trained = [config.load(tmp_path / name).parts[1] for name in ("whole", "halted")]
    assert same_weights(*(state(part) for part in trained if isinstance(part, Dense)))


def test_what_was_kept_still_knows_how_it_was_aligned(dense: Dense, bert: str, tmp_path: Path) -> None:
    todo = tasks(pipeline_of(dense.kb, bert), TABLES, source="recipe")
    part: Component = dense
    for number, task in enumerate(todo):  # each stage kept, and loaded by an attempt that goes on behind it
        whole = Pipeline(Gold(), part, kb=dense.kb)
        list(fit_part(whole, task, notes(), (), done=todo[:number]))
        cast("Dense", whole.parts[1]).save(tmp_path / task.folder)
        part = _load_finished(learner_of(part), tmp_path / task.folder, dense.kb)
    assert isinstance(part, Dense)
    assert part.owes_nothing(todo[0].args)


def test_folds_of_cross_fitting_share_what_was_aligned(
    kb: KnowledgeBase, bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, pipeline = notes(), pipeline_of(kb, bert)
    dense = pipeline.parts[1]
    assert isinstance(dense, Dense)
    before = state(aligned(dense))
    tiny: dict[str, Any] = {"lr": 1e-12, "epochs": 1, "bf16": False}
    done = [Task((1,), "dense", QUICK), Task((1,), "dense", tiny, 2)]
    for stage in (1, 2):
        if stage == 2:
            list(dense.fit(docs, [], before=pipeline, kb=kb, args=tiny))
        with monkeypatch.context() as patch:
            patch.setattr("linnet.retrieve.dense_training.align_synonyms", None)  # nothing is aligned again
            crossed: Any = cross_fit(pipeline, done[:stage], docs, folds=2)
        parts = [fold.parts[1] for fold in crossed.folds]
        assert len(parts) == 2
        assert all(near(state(part), before) for part in parts)
        assert [part.network is dense.network for part in parts] == [stage == 1] * 2
    dense.begun = None  # as after an interruption: it is aligned again, and that is what fine-tuning goes on with
    crossed = cross_fit(pipeline, done, docs, folds=2)
    assert all(near(state(fold.parts[1]), before) for fold in crossed.folds)


# --- pairs and the loss ----------------------------------------------------------------------------------------------


def test_pairs_are_all_or_so_many_different_ones() -> None:
    rng = np.random.default_rng(1)
    for count in (2, 3, 11, 40):
        every = {tuple(sorted(pair)) for pair in _pairs(count, 10**6, rng).tolist()}
        assert len(every) == count * (count - 1) // 2
        some = [tuple(sorted(pair)) for pair in _pairs(count, 30, rng).tolist()]
        assert len(some) == len(set(some)) == min(30, len(every))
        assert set(some) <= every
    drawn = {tuple(sorted(pair)) for _ in range(200) for pair in _pairs(11, 5, rng).tolist()}
    assert len(drawn) == 55


def test_names_that_are_read_alike_are_no_pair(bert: str, tmp_path: Path) -> None:
    kb = kb_of(tmp_path / "same.kb", [("kar", "KAR", "mel"), ("tos", "Tos")])
    made = Alignment(Dense(kb=kb, encoder=bert, **PLAIN), AlignArgs())
    assert [own.tolist() for own in made.synonyms] == [[0, 2]]


def test_concepts_that_share_a_name_are_not_pushed_apart(bert: str, tmp_path: Path) -> None:
    kb = kb_of(tmp_path / "shared.kb", [("kar", "mel"), ("tos", "Mel."), ("bin", "karus"), ("+", "melus"), ("-", "y")])
    made = Alignment(Dense(kb=kb, encoder=bert, **PLAIN), AlignArgs())
    assert made.namesakes.tolist() == namesakes(list(kb.names()), concepts=5).tolist() == [0 * 5 + 1, 1 * 5 + 0]
    rows = torch.tensor([0, 1, 2, 0])
    positive, negative = made.compared(rows)
    assert positive.int().tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert negative.int().tolist() == [[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]


def test_the_loss_leaves_out_namesakes_and_the_order_of_a_batch(dense: Dense) -> None:
    made = Alignment(dense, AlignArgs(margin=2.0))
    pairs = made.examples([], epoch=0, rng=np.random.default_rng(1))
    assert len(pairs) == 6 * 6

    def loss(examples: Any) -> float:
        with torch.no_grad():
            return float(made.loss(made.collate(examples))["multi_similarity"])

    whole = loss(pairs)
    assert loss(np.random.default_rng(2).permutation(pairs)) == pytest.approx(whole, rel=1e-5)
    assert loss(pairs[:, ::-1]) == pytest.approx(whole, rel=1e-5)
    made.namesakes = torch.arange(36)  # as if all concepts were called alike
    assert loss(pairs) < whole


def test_the_loss_is_in_full_precision(dense: Dense) -> None:
    made = Alignment(dense, AlignArgs())
    batch = made.collate(made.examples([], epoch=0, rng=np.random.default_rng(1)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert made.loss(batch)["multi_similarity"].dtype == torch.float32


def test_long_names_are_cut_as_published(bert: str, tmp_path: Path) -> None:
    kb = kb_of(tmp_path / "long.kb", [(" ".join(WORDS), "kar")])
    made = Alignment(Dense(kb=kb, encoder=bert, **PLAIN), AlignArgs(tokens=6))
    encoder = made.dense.network.entity
    assert encoder.tokenizer.decode(list(made.tokens[0].ids)) == f"[CLS] {' '.join(WORDS[:4])} [SEP]"


# --- arguments -------------------------------------------------------------------------------------------------------


def test_published_settings_are_the_defaults() -> None:
    own, loop = AlignArgs.split({"stage": "align"})
    assert (own.margin, own.alpha, own.beta, own.base, own.pairs, own.tokens) == (0.2, 2.0, 50.0, 0.5, 50, 25)
    assert (loop.lr, loop.weight_decay, loop.batch, loop.epochs, loop.schedule) == (2e-5, 1e-2, 512, 1, "constant")


def test_wrong_arguments_are_all_named(dense: Dense) -> None:
    wrong: dict[str, Any] = {
        "epoch": 1, "margin": 3, "alpha": 0, "beta": "50", "base": True, "pairs": 0, "tokens": 2.5, "encode_batch": -1,
        "lr": 0, "mined": 1,
    }  # fmt: skip
    with pytest.raises(RecipeError) as caught:
        aligned(dense, **wrong)
    assert str(caught.value).startswith("dense: 10 problems")
    for name in wrong:
        assert f"\n  {name}: " in str(caught.value)
    with pytest.raises(RecipeError, match="stage: expected one of align, finetune, found 'aline'"):
        aligned(dense, stage="aline")


def test_what_cannot_be_aligned_is_refused(kb: KnowledgeBase, bert: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="set shared to true"):
        aligned(Dense(kb=kb, encoder=bert, shared=False))
    lonely = kb_of(tmp_path / "lonely.kb", [("kar",), ("mel", "MEL")])
    with pytest.raises(DataError, match=r"no concept of .* has two names"):
        aligned(Dense(kb=lonely, encoder=bert))


# --- a checkpoint as it is -------------------------------------------------------------------------------------------


def plain_vectors(folder: str, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return [CLS] of ``[CLS] text [SEP]``, of length 1, by Transformers alone."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        hidden = model(**tokenizer(list(texts), padding=True, return_tensors="pt")).last_hidden_state[:, 0]
    return np.asarray(torch.nn.functional.normalize(hidden, dim=1))


def test_a_checkpoint_in_the_layout_of_hugging_face_is_read_as_published(dense: Dense, bert: str) -> None:
    assert {path.name for path in Path(bert).iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert dense.encode_names(WORDS) == pytest.approx(plain_vectors(bert, WORDS), abs=0.02)
    docs = notes()
    asked = plain_vectors(bert, [doc.surface((doc.mentions or ())[0]) for doc in docs])
    scores = (asked @ plain_vectors(bert, WORDS).T).reshape(len(docs), len(NAMES), -1).max(axis=2)
    for [found], want in zip(dense.retrieve(docs), scores, strict=True):
        assert found.scores == pytest.approx(want[found.rows], abs=0.02)
        assert found.scores[0] == pytest.approx(want.max(), abs=0.02)


def test_mentions_without_context_are_encoded_once_for_each_text(dense: Dense, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = notes() + [replace(doc, id=f"again {doc.id}", text=doc.text.replace("It was", "As for")) for doc in notes()]
    encoder = dense.network.mention
    seen: list[str] = []
    pieces = Encoder.pieces

    def counted(self: Encoder, texts: Sequence[str]) -> list[list[int]]:
        seen.extend(text for text in texts if text)
        return pieces(self, texts)

    assert dense.names_index  # made before anything is counted
    monkeypatch.setattr(Encoder, "pieces", counted)
    found = dense.retrieve(docs)
    assert sorted(seen) == sorted({doc.surface((doc.mentions or ())[0]) for doc in docs})
    assert len(seen) == 6
    assert found[:6] != found[1:7]
    assert all(np.array_equal(one[0].rows, other[0].rows) for one, other in zip(found[:6], found[6:], strict=True))
    [text], _ = dense.templates.mentions(dense.contexts(docs[0]), encoder)
    assert encoder.tokenizer.decode(list(text.ids)) == f"[CLS] {seen[0]} [SEP]"
    seen.clear()
    replace(dense, context=True).retrieve(docs)
    assert len(seen) == 2 * 6 * 3  # left, mention and right
    assert isinstance(dense.network, BiEncoder)
