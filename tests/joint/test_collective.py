"""The collective dual encoder: spans against a slow reference, learning by heart, chance, batches, windows."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_bert
from torch import Tensor

from linnet.data import Concept, Document, Mention, Name, Span
from linnet.errors import DataError, FormatError, LinnetWarning, PipelineError, RecipeError
from linnet.joint.collective import Collective, CollectiveArgs
from linnet.joint.collective_network import BIO, Places, Words, find_spans, pool, read_documents, span_scores
from linnet.joint.collective_training import CollectiveTraining, learned_documents
from linnet.joint.reading import Found
from linnet.joint.training import Judgement, best_cutoff
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("float32")

SIGNS = ("fever", "cough", "rash", "ataxia", "seizure", "cleft palate", "short stature", "low fever")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "bert", layers=1))


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = [Concept(f"X:{place}", (Name(name), Name(f"{name} syndrome"))) for place, name in enumerate(SIGNS)]
    return build(concepts, tmp_path_factory.mktemp("kb") / "signs.kb")


def documents(count: int = 10, *, shuffle: bool = False) -> list[Document]:
    """Return documents with two mentions each; with `shuffle` the concepts are drawn at random."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(count):
        chosen = [number % len(SIGNS), (number * 3 + 1) % len(SIGNS)]
        text, mentions = f"Patient {number} had ", []
        for sign in chosen:
            concept = f"X:{int(rng.integers(len(SIGNS))) if shuffle else sign}"
            mentions.append(Mention(len(text), len(text) + len(SIGNS[sign]), source="gold", concepts=(concept,)))
            text += f"{SIGNS[sign]} and a dog , then "
        made.append(Document(f"d{number}", text, mentions=tuple(mentions)))
    return made


def fitted(part: Collective, docs: Sequence[Document], **args: Any) -> Collective:
    told = {"epochs": 60, "batch": 5, "lr": 5e-3, "dropout": 0.0, "schedule": "constant", **args}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        list(part.fit(docs, docs, before=Pipeline(), kb=part.kb, args=told))
    return part


def bare(docs: Sequence[Document]) -> list[Document]:
    return [Document(doc.id, doc.text) for doc in docs]


def answers(docs: Sequence[Document]) -> list[list[tuple[int, int, str]]]:
    """Return the spans and first concepts of documents."""
    found = []
    for doc in docs:
        firsts = [
            m.candidates.rows[0] if m.candidates is not None and len(m.candidates) else -1 for m in doc.mentions or ()
        ]
        found.append([(m.start, m.end, f"X:{row}") for m, row in zip(doc.mentions or (), firsts, strict=True)])
    return found


def gold(docs: Sequence[Document]) -> list[list[tuple[int, int, str]]]:
    return [[(m.start, m.end, (m.concepts or ("",))[0]) for m in doc.mentions or ()] for doc in docs]


def share_right(part: Collective, docs: Sequence[Document]) -> float:
    """Return the share of given mentions that are linked right."""
    found, wanted = (itertools.chain.from_iterable(each) for each in (answers(Pipeline(part)(docs)), gold(docs)))
    return float(np.mean([one == other for one, other in zip(found, wanted, strict=True)]))


# --- pieces of the network -------------------------------------------------------------------------------------------


def slow_scores(scores: Tensor, pieces_of: Sequence[Sequence[int]], widest: int) -> dict[tuple[int, int], float]:
    """Score each span by adding up what its pieces have."""
    made = {}
    for first, own in enumerate(pieces_of):
        for last in range(first, min(first + widest, len(pieces_of))):
            if own and pieces_of[last]:
                inside = [piece for word in pieces_of[first : last + 1] for piece in word]
                total = scores[own[0], 0] + scores[pieces_of[last][-1], 1] + sum(scores[piece, 2] for piece in inside)
                made[first, last] = float(total)
    return made


def test_span_scores_are_the_sums_of_a_slow_reference() -> None:
    owners = np.array([0, 0, 1, 3, 3, 3, 4, 6])  # words 2 and 5 have no pieces
    scores = torch.randn(len(owners), 3, generator=torch.Generator().manual_seed(1))
    found = span_scores(scores, Words.of(owners, 7), 3).numpy()
    expected = slow_scores(scores, [np.flatnonzero(owners == word).tolist() for word in range(7)], 3)
    assert {(int(f), int(f + w)) for f, w in np.argwhere(np.isfinite(found))} == expected.keys()
    for (first, last), score in expected.items():
        assert found[first, last - first] == pytest.approx(score, abs=1e-5)


def test_span_scores_stay_exact_in_a_long_text() -> None:
    scores = torch.full((200_000, 3), 1000.1)
    scores[:, :2] = 0
    found = span_scores(scores, Words.of(np.arange(200_000), 200_000), 2)
    assert found[199_000, 1] == pytest.approx(2000.2, abs=1e-2)


def test_mentions_are_the_means_of_their_pieces(kb: KnowledgeBase, encoder: str) -> None:
    network = Collective(kb=kb, encoder=encoder, mode="gold").network
    hidden = torch.randn(9, network.mention.size)
    vectors = pool(network, hidden, Places.of([[(0, 2), (4, 5)], [], [(8, 9)]]), 3)
    assert torch.allclose(vectors[0], hidden[[0, 1, 4]].mean(dim=0), atol=1e-6)
    assert not vectors[1].any()
    assert torch.allclose(vectors[2], hidden[8], atol=1e-6)


def test_ends_are_read_from_first_and_last_piece(kb: KnowledgeBase, encoder: str) -> None:
    network = Collective(kb=kb, encoder=encoder, mode="gold", pooling="ends").network
    hidden = torch.randn(9, network.mention.size)
    vectors = pool(network, hidden, Places.of([[], [(2, 5), (6, 8)]]), 2)
    assert not vectors[0].any()
    assert torch.allclose(vectors[1], (hidden[2] + hidden[7]) / 2, atol=1e-5)  # how W begins


def test_windows_that_overlap_agree_with_one_that_holds_all(kb: KnowledgeBase, encoder: str) -> None:
    part = Collective(kb=kb, encoder=encoder, mode="gold")
    (text,) = part.read([Document("a", "fever and cough " * 12)])
    network = part.network
    (whole,) = read_documents(network, [text], [part.windows(text)])
    part.window = 24
    assert len(part.windows(text)) > 1
    (merged,) = read_documents(network, [text], [part.windows(text)])
    assert merged.shape == whole.shape
    assert merged.isfinite().all()
    assert (merged.norm(dim=1) > 0).all()  # no piece is left unread


def test_flat_and_nested(kb: KnowledgeBase, encoder: str) -> None:
    part = Collective(kb=kb, encoder=encoder, widest=3)
    (text,) = part.read([Document("a", "low fever now")])
    network = part.network
    assert network.head is not None
    torch.nn.init.zeros_(network.head.weight)
    torch.nn.init.zeros_(network.head.bias)
    hidden = torch.zeros(len(text.pieces), network.mention.size)
    nested = find_spans(network, text, hidden, 3, "nested")
    flat = find_spans(network, text, hidden, 3, "flat")
    assert {(one.first, one.last) for one in nested} == {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)}
    words = [word for one in flat for word in range(one.first, one.last + 1)]
    assert len(words) == len(set(words))
    assert flat[0] == Found(0, 0, 0.0)


# --- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["gold", "spans", "bio"])
def test_ten_documents_are_learned_by_heart(mode: Any, kb: KnowledgeBase, encoder: str) -> None:
    docs = documents()
    part = fitted(Collective(kb=kb, encoder=encoder, mode=mode, aliases=False), docs)
    assert answers(Pipeline(part)(docs if mode == "gold" else bare(docs))) == gold(docs)


def test_shuffled_concepts_are_not_learned_for_other_documents(kb: KnowledgeBase, encoder: str) -> None:
    part = fitted(Collective(kb=kb, encoder=encoder, mode="gold", aliases=False), documents(16, shuffle=True), epochs=5)
    docs = documents(40)
    assert share_right(part, docs) < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["gold", "spans", "bio"])
def test_batches_and_orders_change_nothing(mode: Any, kb: KnowledgeBase, encoder: str) -> None:
    docs = documents(8)
    part = fitted(Collective(kb=kb, encoder=encoder, mode=mode), docs, epochs=30)
    asked = docs if mode == "gold" else bare(docs)
    ask = Pipeline(part)
    together = answers(ask(asked))
    assert [answers(ask([doc]))[0] for doc in asked] == together
    assert answers(ask(asked[::-1]))[::-1] == together


@pytest.mark.slow
def test_published_settings_learn_too(kb: KnowledgeBase, encoder: str) -> None:
    docs = documents()
    told = {"similarity": "dot", "temperature": 1.0, "positive": "preferred", "mined": 5, "random": 5, "lr": 1e-3}
    part = Collective(kb=kb, encoder=encoder, mode="gold", pooling="ends", name_pooling="cls", names="preferred")
    fitted(part, docs, only_above=True, in_batch=False, distinct=False, **told)
    assert share_right(part, docs) > 0.8


def test_a_mention_is_not_told_that_its_own_concept_is_wrong(kb: KnowledgeBase, encoder: str) -> None:
    part = Collective(kb=kb, encoder=encoder, mode="gold")
    part.begin()
    training = CollectiveTraining(part, CollectiveArgs(random=3), learned_documents(part, documents()))
    examples = training.examples((), epoch=0, rng=np.random.default_rng(1))
    batch = training.collate(examples)
    linking = [one for example in examples for one in example.linking]
    assert len(batch.own) == len(linking)
    assert not batch.out[torch.arange(len(batch.own)), batch.own].any()
    assert all(one.chosen.rows[0] in one.spared and not set(one.chosen.rows[1:]) & one.spared for one in linking)


def test_what_each_kind_of_negatives_costs_is_watched_and_teaches_nothing(kb: KnowledgeBase, encoder: str) -> None:
    part = Collective(kb=kb, encoder=encoder, mode="gold")
    part.begin()
    training = CollectiveTraining(part, CollectiveArgs(random=3), learned_documents(part, documents()))
    losses = training.loss(training.collate(training.examples((), epoch=0, rng=np.random.default_rng(1))))
    assert [name for name, loss in losses.items() if loss.requires_grad] == ["nll"]
    kinds = {name: loss.item() for name, loss in losses.items() if name != "nll"}
    assert set(kinds) == {"nll batch", "nll mined", "nll random"}
    assert 0 < max(kinds.values()) < losses["nll"].item()


def test_steps_whose_documents_hold_nothing_to_link_are_learned_from_too(kb: KnowledgeBase, encoder: str) -> None:
    text = "A dog had fever"
    unknown = Mention(10, 15, source="gold", concepts=("Y:1",))  # a mention to find, of a concept that is not there
    docs = [*documents(2), Document("z", text, mentions=(unknown,))]
    steps = [step.losses for step in Collective(kb=kb, encoder=encoder, mode="spans").fit(
        docs, docs, before=Pipeline(), kb=kb, args={"epochs": 1, "batch": 1}
    )]  # fmt: skip
    assert 0.0 in [losses["nll"] for losses in steps]
    assert all(losses["detection"] > 0 for losses in steps)


def test_the_best_cutoff_is_that_of_all_cutoffs() -> None:
    rng = np.random.default_rng(2)
    odds, right = rng.normal(size=60), rng.random(60) < 0.4
    f1, cutoff = best_cutoff(Judgement(odds, right, 30))
    kept = odds >= cutoff
    assert f1 == pytest.approx(2 * right[kept].sum() / (kept.sum() + 30))
    assert f1 == pytest.approx(max(2 * right[odds >= at].sum() / ((odds >= at).sum() + 30) for at in odds))


def test_mentions_of_the_same_odds_stay_or_go_together() -> None:
    odds = np.array([27.0, 27.0, 27.0, 1.0])
    f1, cutoff = best_cutoff(Judgement(odds, np.array([True, False, False, False]), 1))
    assert (f1, (odds >= cutoff).tolist()) == (0.5, [True, True, True, False])


def test_where_no_given_mention_has_a_concept_nothing_is_judged(kb: KnowledgeBase, encoder: str) -> None:
    part = Collective(kb=kb, encoder=encoder, mode="gold")
    dev = [Document("v", "fever", mentions=(Mention(0, 5, source="gold", concepts=("elsewhere:1",)),))]
    steps = part.fit(documents(2), dev, before=Pipeline(), kb=kb, args={"epochs": 1, "mined": 0})
    assert [step.score for step in steps] == [None]


@pytest.mark.parametrize("mode", ["spans", "bio"])
def test_dev_documents_without_mentions_leave_the_cutoff_as_none_do(mode: Any, kb: KnowledgeBase, encoder: str) -> None:
    cutoffs = []
    for dev in ([], [Document("n", "Nothing .", mentions=())]):
        part = Collective(kb=kb, encoder=encoder, mode=mode, dictionary=False, long_forms=False)
        list(part.fit(documents(2), dev, before=Pipeline(), kb=kb, args={"epochs": 1, "batch": 5}))
        cutoffs.append(part.cutoff)
    assert cutoffs[0] == cutoffs[1]


@pytest.mark.parametrize("wanted", [0, 5])
def test_where_nothing_found_is_right_no_cutoff_is_chosen(wanted: int) -> None:
    wrong = Judgement(np.array([7.0, 3.0, -1.0]), np.zeros(3, np.bool_), wanted)
    assert best_cutoff(wrong) == (0.0, 0.0)


def test_an_abbreviation_is_read_where_it_is_written_out(kb: KnowledgeBase, encoder: str) -> None:
    doc = Document("a", "Short stature (SS) was seen. SS stayed.", mentions=(Mention(29, 31, source="user"),))
    part = Collective(kb=kb, encoder=encoder, mode="gold")
    asked = [doc]
    for before in Pipeline(part).front:
        asked = before(asked)
    (seen,) = asked
    (text,) = part.read([seen])
    (pieces,) = part.pieces(seen, text, [seen.mentions[0].spans])  # type: ignore[index]
    assert len(pieces) == 2
    assert pieces[0][0] == 0


# --- refusals --------------------------------------------------------------------------------------------------------


def test_gold_finds_nothing(kb: KnowledgeBase, encoder: str) -> None:
    part = fitted(Collective(kb=kb, encoder=encoder, mode="gold"), documents(), epochs=1)
    with pytest.raises(PipelineError, match="finds no mentions"):
        part.detect(documents())


def test_wrong_keywords_are_told_at_once(kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError) as told:
        Collective(kb=kb, k=0, widest=0, window=3, threshold=2.0)
    assert all(name in str(told.value) for name in ("k: 0", "widest: 0", "window: 3", "threshold: 2.0"))


def test_nothing_to_learn_from(kb: KnowledgeBase, encoder: str) -> None:
    with pytest.raises(DataError, match="no mention"):
        fitted(Collective(kb=kb, encoder=encoder), [Document("a", "Well.", mentions=())])


def test_layers_of_another_mode_are_refused(kb: KnowledgeBase, encoder: str, tmp_path: Path) -> None:
    fitted(Collective(kb=kb, encoder=encoder, mode="gold"), documents(), epochs=1).network.save(tmp_path)
    with pytest.raises(FormatError, match="no layers that fit"):
        Collective(kb=kb, mode="spans").read_network(tmp_path)


def test_training_begins_with_a_trained_folder(kb: KnowledgeBase, encoder: str, tmp_path: Path) -> None:
    part = fitted(Collective(kb=kb, encoder=encoder, mode="gold"), documents(), epochs=1)
    part.save(tmp_path / "part")
    other = Collective(kb=kb, encoder=str(tmp_path / "part"), mode="spans", dictionary=False)
    assert other.network.mention.fingerprint() == part.network.mention.fingerprint()


def test_names_in_the_pool_are_encoded_anew_and_others_keep_the_vectors_of_the_first_epoch(
    kb: KnowledgeBase, encoder: str
) -> None:
    part = Collective(kb=kb, mode="gold", encoder=encoder)
    part.begin()
    docs = learned_documents(part, documents(1))
    trainings = [CollectiveTraining(part, CollectiveArgs(mining_pool=size), docs) for size in (0, 2)]
    queries = np.concatenate(
        [part.vectors(part.hidden([doc.text])[0], [m.pieces for m in doc.mentions]) for doc in docs]
    )
    rows = [mention.rows for doc in docs for mention in doc.mentions]
    first = [training.miner.names_near(queries, rows).vectors for training in trainings]
    np.testing.assert_array_equal(first[0], first[1])
    with torch.no_grad():
        for weight in part.network.parameters():
            weight.add_(0.01 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    exact, few = [training.miner.names_near(queries, rows).vectors for training in trainings]
    anew = (few != first[1]).any(axis=1)
    assert 2 <= anew.sum() < len(anew)
    np.testing.assert_allclose(few[anew], exact[anew], atol=1e-5)


@pytest.mark.parametrize("dev", [0, 2])
def test_an_interrupted_training_with_a_pool_goes_on_as_if_it_had_not_been(
    dev: int, kb: KnowledgeBase, encoder: str, tmp_path: Path
) -> None:
    docs = documents(8)

    def train(folder: Path, stops: Sequence[int]) -> dict[str, Tensor]:
        for stop in (*stops, -1):
            part = Collective(kb=kb, encoder=encoder, mode="gold")
            args = {"epochs": 4, "batch": 4, "bf16": False, "lr": 1e-2, "mining_pool": 1, "checkpoints": folder}
            with closing(part.fit(docs, docs[:dev], before=Pipeline(), kb=kb, args=args)) as steps:  # type: ignore[type-var]
                for step in steps:
                    if step.step == stop:
                        break
        return {name: weight.clone() for name, weight in part.network.state_dict().items()}

    whole, resumed = train(tmp_path / "whole", ()), train(tmp_path / "resumed", (5,))
    assert all(torch.equal(resumed[name], weight) for name, weight in whole.items())


@pytest.mark.parametrize("mode", ["spans", "bio", "gold"])
def test_documents_without_word_pieces_and_mentions_without_words_teach_nothing(
    mode: Any, kb: KnowledgeBase, encoder: str
) -> None:
    blank = Document("b", "He had fever ", mentions=(Mention(12, 13, source="gold", concepts=("X:0",)),))
    odd = Document("o", "\x7f", mentions=())
    part = fitted(Collective(kb=kb, encoder=encoder, mode=mode), [*documents(4), odd, blank], epochs=1)
    assert [learned.answers for learned in learned_documents(part, [odd, blank])] == [{}, {}]


def test_what_is_taught_is_what_is_judged(kb: KnowledgeBase, encoder: str) -> None:
    text = "He had cleft and low fever"
    parts = Mention(7, 26, parts=(Span(7, 12), Span(21, 26)), source="gold", concepts=("X:5",))
    twice = [Mention(21, 26, source="gold", concepts=(f"X:{row}",)) for row in (0, 7)]
    [learned] = learned_documents(Collective(kb=kb, encoder=encoder), [Document("d", text, mentions=(parts, *twice))])
    assert learned.answers == {(5, 5): frozenset({0, 7})}
    assert [BIO[label] for label in learned.labels] == ["O", "O", "O", "O", "O", "B"]
