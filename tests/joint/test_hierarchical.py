"""Linking as classification: five variants learn by heart, chance, batches, a slow loss, concepts never seen."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_bert

from linnet.data import Concept, Document, Mention, Name, Span
from linnet.errors import DataError, FormatError, LinnetWarning, PipelineError, RecipeError
from linnet.index.name_vectors import NameVectors
from linnet.joint.hierarchical import Hierarchical, HierarchicalArgs
from linnet.joint.hierarchical_training import HierarchicalTraining, learned_documents
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.text.windows import Text, Window, sentence_windows
from linnet.train.args import TrainArgs

pytestmark = pytest.mark.usefixtures("float32")

SIGNS = ("fever", "cough", "rash", "ataxia", "seizure", "cleft palate", "short stature", "low fever")
TYPES = ("Finding", "Disorder")
VARIANTS = ("pt_single", "pt_multi", "pt_hierarchical", "pe_single", "pe_hierarchical")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "bert", layers=1))


def concepts() -> list[Concept]:
    return [Concept(f"X:{place}", (Name(name), Name(f"{name} syndrome"))) for place, name in enumerate(SIGNS)]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(concepts(), tmp_path_factory.mktemp("kb") / "signs.kb")


def documents(count: int = 10, *, shuffle: bool = False) -> list[Document]:
    """Return documents with two mentions each, of two types; with `shuffle` the concepts are drawn at random."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(count):
        text, mentions = f"Patient {number} had ", []
        for sign in (number % len(SIGNS), (number * 3 + 1) % len(SIGNS)):
            concept = f"X:{int(rng.integers(len(SIGNS))) if shuffle else sign}"
            span = (len(text), len(text) + len(SIGNS[sign]))
            mentions.append(Mention(*span, source="gold", types=(TYPES[sign % 2],), concepts=(concept,)))
            text += f"{SIGNS[sign]} and a dog . Then "
        made.append(Document(f"d{number}", text, mentions=tuple(mentions)))
    return made


def fitted(part: Hierarchical, docs: Sequence[Document], **args: Any) -> Hierarchical:
    loop = {"epochs": 40, "batch": 5, "lr": 4e-3, "schedule": "constant", "evaluate_every": 10}
    told = {**loop, "head_lr_multiplier": 3.0, "dropout": 0.0, **args}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        list(part.fit(docs, docs, before=Pipeline(), kb=part.kb, args=told))
    return part


def small(kb: KnowledgeBase, encoder: str, **keywords: Any) -> Hierarchical:
    return Hierarchical(kb=kb, encoder=encoder, **{"lstm": 64, "layers": 1, **keywords})


def answers(docs: Sequence[Document]) -> list[tuple[int, int, tuple[str, ...], str]]:
    """Return spans, types and first concepts."""
    return [
        (m.start, m.end, m.types, f"X:{m.candidates.rows[0] if m.candidates is not None and len(m.candidates) else -1}")
        for doc in docs
        for m in doc.mentions or ()
    ]


def gold(docs: Sequence[Document]) -> list[tuple[int, int, tuple[str, ...], str]]:
    return [(m.start, m.end, m.types, (m.concepts or ("",))[0]) for doc in docs for m in doc.mentions or ()]


def f1(part: Hierarchical, docs: Sequence[Document]) -> float:
    """Return F1 of spans, types and first concepts from the text alone."""
    bare = [Document(doc.id, doc.text) for doc in docs]
    found, wanted = [
        {(number, *one) for number, doc in enumerate(some) for one in read([doc])}
        for some, read in ((Pipeline(part)(bare), answers), (docs, gold))
    ]
    return 2 * len(found & wanted) / max(1, len(found) + len(wanted))


# one output layer each: what the other one changes is tested below
@pytest.mark.parametrize(
    ("variant", "rows"), list(zip(VARIANTS, ("plain", "tied", "plain", "names", "tied"), strict=True))
)
def test_ten_documents_are_learned_by_heart(variant: Any, rows: Any, kb: KnowledgeBase, encoder: str) -> None:
    docs = documents()
    part = fitted(small(kb, encoder, variant=variant, rows=rows), docs)
    assert f1(part, docs) > 0.85  # of spans, types and concepts; the best weights are those that link best


@pytest.mark.slow
def test_shuffled_concepts_are_not_learned_for_other_documents(kb: KnowledgeBase, encoder: str) -> None:
    part = fitted(small(kb, encoder, rows="plain"), documents(shuffle=True))
    assert f1(part, documents(24)) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["pt_hierarchical", "pe_single"])
def test_batches_and_orders_change_nothing(variant: Any, kb: KnowledgeBase, encoder: str) -> None:
    part = fitted(small(kb, encoder, variant=variant, context="sentences"), documents(), epochs=10)
    bare = [Document(doc.id, doc.text) for doc in documents()]
    together = Pipeline(part)(bare)
    alone = list(itertools.chain.from_iterable(Pipeline(part)([doc]) for doc in bare))
    assert answers(together) == answers(alone) == answers(Pipeline(part)(bare[::-1])[::-1])


@pytest.mark.parametrize(("variant", "rows"), [("pt_multi", "plain"), ("pe_hierarchical", "names")])
def test_the_loss_of_linking_is_that_of_a_slow_reference(
    variant: Any, rows: Any, kb: KnowledgeBase, encoder: str
) -> None:
    """Classes of the batch alone, Nil in front of them where words are classified."""
    part = small(kb, encoder, variant=variant, rows=rows)
    part.begin()
    part.types = TYPES
    docs = learned_documents(part, documents(2))
    training = HierarchicalTraining(part, HierarchicalArgs(nil_weight=0.25), docs)
    batch = training.collate(training.examples((), epoch=0, rng=np.random.default_rng(1)))
    loss = float(training.loss(batch)["linking"].detach())
    said = part.read_documents([doc.doc for doc in docs], [doc.text for doc in docs], find=True)
    network = part.network
    assert network.rows is not None
    wanted = sorted({next(iter(mention.rows)) for doc in docs for mention in doc.mentions})
    table = network.rows.weight.detach() if training.begun is None else network.rows.weight.detach() + training.begun
    classes = torch.stack([network.nil.detach(), *(table[row] for row in wanted)])
    lost = []
    for doc, one in zip(docs, said, strict=True):
        of_words = {word: m for m in doc.mentions for word in range(m.words[0], m.words[1] + 1)}
        if part.per_token:
            for word, vector in enumerate(one.linking):
                place = 1 + wanted.index(next(iter(of_words[word].rows))) if word in of_words else 0
                lost.append(-float((classes @ vector).log_softmax(0)[place]) * (1.0 if place else 0.25))
        for mention in () if part.per_token else doc.mentions:
            vector = one.linking[mention.words[0] : mention.words[1] + 1].mean(dim=0)
            scores = torch.nn.functional.cosine_similarity(classes[1:], vector[None]) / 0.05
            lost.append(-float(scores.log_softmax(0)[wanted.index(next(iter(mention.rows)))]))
    assert loss == pytest.approx(np.mean(lost), rel=1e-4)


def test_only_rows_of_the_batch_are_touched(kb: KnowledgeBase, encoder: str) -> None:
    part = small(kb, encoder, rows="plain")
    part.begin()
    part.types = tuple(sorted(TYPES))
    assert not part.network.rows.weight.any()  # type: ignore[union-attr]
    fitted(part, documents(1), epochs=2)
    changed = part.network.rows.weight.detach().any(dim=1)  # type: ignore[union-attr]
    assert changed.nonzero()[:, 0].tolist() == [0, 1]


def test_random_classes_are_those_of_other_documents(kb: KnowledgeBase, encoder: str) -> None:
    part = small(kb, encoder, rows="plain")
    part.begin()
    part.types = tuple(sorted(TYPES))
    docs = learned_documents(part, documents(3))
    met = {row for doc in docs for mention in doc.mentions for row in mention.rows}
    for count, wanted in ((0, set()), (len(met), met)):
        training = HierarchicalTraining(part, HierarchicalArgs(random=count), docs)
        [first, *_] = training.examples((), epoch=0, rng=np.random.default_rng(1))
        own = {row for one in first.linking for row in one.mention.rows}
        [classes] = training.collate([first]).classes
        assert set(classes.tolist()) == own | wanted
        for one in first.linking:
            assert one.chosen is not None
            assert one.chosen.rows[0] in one.mention.rows
            assert not set(one.chosen.rows[1:]) & one.mention.rows


def test_rows_learn_at_a_rate_of_their_own(kb: KnowledgeBase, encoder: str) -> None:
    part = small(kb, encoder, rows="plain")
    part.begin()
    args = HierarchicalArgs(head_lr_multiplier=3.0, row_lr_multiplier=50.0)
    groups = HierarchicalTraining(part, args, []).groups(TrainArgs(lr=1e-3))
    assert part.network.rows is not None
    rates = [group["lr"] for group in groups for one in group["params"] if one is part.network.rows.weight]
    assert rates == [pytest.approx(0.05)]
    assert max(group["lr"] for group in groups if not group.get("rows")) == pytest.approx(3e-3)


def test_recognition_and_typing_do_not_tune_the_reader(kb: KnowledgeBase, encoder: str) -> None:
    part = small(kb, encoder)
    part.begin()
    part.types = TYPES
    training = HierarchicalTraining(part, HierarchicalArgs(), learned_documents(part, documents(2)))
    losses = training.loss(training.collate(training.examples((), epoch=0, rng=np.random.default_rng(1))))
    reader = part.network.mention.embeddings.weight
    (losses["recognition"] + losses["typing"]).backward(retain_graph=True)  # type: ignore[no-untyped-call]
    assert reader.grad is None or not reader.grad.any()
    losses["linking"].backward()  # type: ignore[no-untyped-call]
    assert reader.grad is not None and reader.grad.any()


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "met"), [("tied", True), ("names", True), ("plain", False)])
def test_concepts_that_were_added_are_linked_where_rows_are_of_names(
    rows: Any, met: bool, kb: KnowledgeBase, encoder: str, tmp_path: Path
) -> None:
    part = fitted(small(kb, encoder, rows=rows, find=False), documents(), epochs=5)
    part.save(tmp_path / "part")
    added = build([*concepts(), Concept("X:8", (Name("zebra stripes"),))], tmp_path / "more.kb")
    moved = Hierarchical.load(tmp_path / "part", kb=added)
    doc = Document("n", "It had zebra stripes", mentions=(Mention(7, 20, source="gold"),))
    (mention,) = Pipeline(moved)([doc])[0].mentions or ()
    assert mention.candidates is not None
    assert (8 in mention.candidates.rows.tolist()) is met


def test_rows_begin_as_the_preferred_name_that_an_edit_gave(encoder: str, tmp_path: Path) -> None:
    path = build(concepts(), tmp_path / "signs.kb").path
    with KnowledgeBase.edit(path) as edit:
        edit.replace(Concept("X:0", (Name("pyrexia"), Name("fever"))))
    part = small(KnowledgeBase.open(path), encoder, rows="names", dictionary=False)
    part.begin()
    training = HierarchicalTraining(part, HierarchicalArgs(), learned_documents(part, documents(1)))
    assert training.begun is not None
    assert np.allclose(training.begun[0], part.encode_names(["pyrexia"])[0], atol=1e-5)
    index = part.names_index
    assert isinstance(index, NameVectors)
    assert np.allclose(training.begun[index.concepts.tolist()], index.vectors, atol=1e-5)


def test_a_merged_concept_hands_on_its_row(encoder: str, tmp_path: Path) -> None:
    def scores(moved: Hierarchical) -> dict[str, float]:
        (mention, _) = Pipeline(moved)([documents(1)[0].spans_only()])[0].mentions or ()
        assert mention.candidates is not None
        found = zip(mention.candidates.rows.tolist(), mention.candidates.scores.tolist(), strict=True)
        return {moved.kb.id(row): round(score, 4) for row, score in found}

    path = build(concepts(), tmp_path / "signs.kb").path
    part = fitted(small(KnowledgeBase.open(path), encoder, rows="plain", find=False), documents(), epochs=1)
    part.save(tmp_path / "part")
    earlier = scores(part)
    assert len(earlier) == len(SIGNS)
    with KnowledgeBase.edit(path) as edit:
        edit.add(Concept("N:1", (Name("pyrexia"),)))
        edit.merge("N:1", "X:0")
    edited = KnowledgeBase.open(path)
    expected = {"N:1": earlier.pop("X:0"), **earlier}
    assert scores(part.rebound(edited)) == scores(Hierarchical.load(tmp_path / "part", kb=edited)) == expected


def test_a_merged_concept_hands_on_what_its_name_has_learned(encoder: str, tmp_path: Path) -> None:
    path = build(concepts(), tmp_path / "signs.kb").path
    part = fitted(small(KnowledgeBase.open(path), encoder, rows="names", find=False), documents(), epochs=3, lr=2e-2)
    part.save(tmp_path / "part")
    assert isinstance(part.names_index, NameVectors)
    earlier = part.names_index.vectors[part.names_index.concepts == 0]
    assert not np.allclose(earlier, part.encode_names(["fever"]), atol=1e-3)
    with KnowledgeBase.edit(path) as edit:
        edit.add(Concept("N:1", (Name("pyrexia"),)))
        edit.merge("N:1", "X:0")
    edited = KnowledgeBase.open(path)
    for moved in (part.rebound(edited), Hierarchical.load(tmp_path / "part", kb=edited)):
        index, row = moved.names_index, edited.row("X:0")
        assert isinstance(index, NameVectors)
        own = index.concepts == row
        assert [edited.name(name).text for name in index.name_rows[own].tolist()] == ["pyrexia", "fever"]
        assert np.allclose(index.vectors[own], np.concatenate([part.encode_names(["pyrexia"]), earlier]), atol=1e-5)


def test_mentions_that_bilou_cannot_hold_are_counted(
    kb: KnowledgeBase, encoder: str, caplog: pytest.LogCaptureFixture
) -> None:
    docs = documents()
    inside = Mention(docs[5].text.index("palate"), docs[5].text.index("palate") + 6, concepts=("X:1",), source="gold")
    docs[5] = replace(docs[5], mentions=(*(docs[5].mentions or ()), inside))
    fitted(small(kb, encoder), docs, epochs=1)
    assert "1 mentions overlap longer ones" in caplog.text


@pytest.mark.slow
def test_published_settings_learn_too(kb: KnowledgeBase, encoder: str) -> None:
    docs = documents()
    part = small(kb, encoder, variant="pt_hierarchical", rows="plain", context="sentences", window=128,
                 decoding="labels", dictionary=False, residual=False)  # fmt: skip
    assert f1(fitted(part, docs, nil_weight=0.125, epochs=50, batch=15), docs) > 0.8


def test_sentences_are_read_with_their_neighbours() -> None:
    words = [Span(2 * place, 2 * place + 1) for place in range(9)]
    text = Text(words, np.zeros(9, np.int64), np.arange(9), np.zeros(9, np.int64), np.zeros((0, 2), np.int64))
    sentences = [Span(0, 5), Span(6, 11), Span(12, 17)]
    around = sentence_windows(text, sentences, 100, around=1)
    assert around == [Window(0, 6, 0, 3), Window(0, 9, 3, 6), Window(3, 9, 6, 9)]
    assert sentence_windows(text, sentences, 5, around=1) == [
        Window(0, 5, 0, 3),
        Window(2, 7, 3, 6),
        Window(5, 9, 6, 9),
    ]
    assert sentence_windows(text, sentences, 2, around=0)[:2] == [Window(0, 2, 0, 2), Window(2, 3, 2, 3)]
    assert sentence_windows(text, [], 100, around=1) == [Window(0, 9, 0, 9)]


def test_no_word_of_a_long_sentence_is_cut() -> None:
    words = [Span(4 * place, 4 * place + 3) for place in range(3)]
    owners = np.repeat(np.arange(3), 3)
    text = Text(words, np.zeros(9, np.int64), owners, np.zeros(3, np.int64), np.zeros((0, 2), np.int64))
    read = sentence_windows(text, [Span(0, 12)], 4, around=0)
    assert read == [Window(0, 3, 0, 1), Window(3, 6, 1, 2), Window(6, 9, 2, 3)]
    longer = sentence_windows(text, [Span(0, 12)], 2, around=0)  # than a window: all pieces are read
    assert [(one.first, one.last) for one in longer] == [(0, 2), (2, 3), (3, 5), (5, 6), (6, 8), (8, 9)]


def test_a_sentence_without_word_pieces_is_read_by_nobody(
    kb: KnowledgeBase, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linnet.joint.hierarchical_network.token_budget", lambda _: 8)  # a batch for each window
    part = small(kb, encoder, context="sentences", dictionary=False)
    part.begin()
    doc = Document("d", "fever \x07 \x07", sentences=(Span(0, 7), Span(8, 9)))
    [said] = part.read_documents([doc], part.read([doc]), find=True)
    assert said.linking.abs().sum(dim=1).ne(0).tolist() == [True, False, False]


def test_wrong_keywords_are_told_at_once(kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError, match=r"lstm: 0 must be at least 1[\s\S]*threshold[\s\S]*'labels' is of variants"):
        Hierarchical(kb=kb, lstm=0, threshold=2.0, decoding="labels")


def test_nothing_to_learn_from(kb: KnowledgeBase, encoder: str) -> None:
    with pytest.raises(DataError, match="no mention of the training documents"):
        fitted(small(kb, encoder), [Document("d", "fever", mentions=())])


def test_without_find_it_finds_nothing(kb: KnowledgeBase, encoder: str) -> None:
    part = fitted(small(kb, encoder, find=False), documents(), epochs=1)
    with pytest.raises(PipelineError, match="finds no mentions"):
        part.detect(documents())


def test_layers_of_another_variant_are_refused(kb: KnowledgeBase, encoder: str, tmp_path: Path) -> None:
    part = fitted(small(kb, encoder, rows="plain"), documents(), epochs=1)
    part.save(tmp_path)
    (tmp_path / "model" / "concepts.json").write_text("{}")
    with pytest.raises(FormatError, match="holds no list of ids"):
        _ = Hierarchical.load(tmp_path, kb=kb).network


def test_a_part_with_another_network_has_the_types_that_this_knows(kb: KnowledgeBase, encoder: str) -> None:
    docs = documents(4)
    odd = replace(
        docs[0], id="odd", mentions=tuple(replace(one, types=("Aardvark",)) for one in docs[0].mentions or ())
    )
    part, half = (fitted(small(kb, encoder), some, epochs=1) for some in ([odd, *docs], docs))
    made = part.with_network(half)
    assert (part.types, made.types) == (("Aardvark", *sorted(TYPES)), tuple(sorted(TYPES)))
    assert {kind for doc in Pipeline(made)(docs) for one in doc.mentions or () for kind in one.types} <= set(TYPES)
