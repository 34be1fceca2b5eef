"""The cross-encoder on encoders of other classes than BERT, made on the spot: ModernBERT, Longformer and so on."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.data import Document, Mention, Span
from linnet.errors import LinnetError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.rerank.cross_encoder import CrossEncoder
from linnet.text.packing import PACKINGS, Packing
from tests.tiny_models import tiny_model

from .test_cross_encoder import (
    HINTS,
    WORDS,
    answered,
    close,
    fitted,
    front,
    kb,
    notes,
    permuted,
    right,
    scores,
)  # fmt: skip

__all__ = ["kb"]

pytestmark = pytest.mark.usefixtures("float32")

LONG = 1024


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of encoders that read 1,024 tokens, and 8 on each side where their attention is local."""
    folder = tmp_path_factory.mktemp("encoders")
    for kind in ("deberta", "longformer", "modernbert", "mpnet", "roberta"):
        tiny_model(folder / kind, kind, words=WORDS, window=LONG)
    return folder


def long_notes(count: int, each: int) -> list[Document]:
    """Documents of 28 mentions, `each` a sentence, of which the word before says the meaning."""
    docs = []
    for number in range(count):
        text, mentions, ends = "", [], [0]
        for place in range(28):
            which = (number + place) % 6
            hint, word = HINTS[which % 3], ("cold", "warm")[which // 3]
            start = len(text) + len(hint) + 1
            mentions.append(Mention(start, start + 4, source="gold", concepts=(f"X:{which}",)))
            text += f"{hint} {word} "
            ends += [len(text)] * (place % each == each - 1)
        sentences = tuple(Span(start, end) for start, end in itertools.pairwise(ends))
        docs.append(Document(f"n{number}", text, mentions=tuple(mentions), sentences=sentences, abbreviations=()))
    return docs


@pytest.mark.slow
@pytest.mark.parametrize(("packing", "each"), [("multi", 28), ("document", 7)])
@pytest.mark.parametrize("kind", ["modernbert", "longformer"])
def test_long_sequences(
    kb: KnowledgeBase, encoders: Path, tmp_path: Path, kind: str, packing: Packing, each: int
) -> None:
    docs = long_notes(8, each)
    cross = CrossEncoder(kb=kb, encoder=str(encoders / kind), packing=packing, top_k=6, use_first_stage_scores=False)
    args = {"epochs": 3, "batch": 4, "lr": 3e-3, "schedule": "constant", "top_k": 6}
    steps = list(cross.fit(docs, [], before=front(kb), kb=kb, args=args))
    assert len(steps) == 6
    assert steps[-1].losses["list"] < steps[0].losses["list"]
    seen = [replace(doc, sentences=given.sentences) for doc, given in zip(answered(kb, docs), docs, strict=True)]
    packed, _ = cross.packed([cross.reader.read(doc, cross.resolved(doc)) for doc in seen])
    assert len(packed) == 8
    assert all(512 < len(one) <= LONG for one in packed)
    together = scores(cross, seen)
    assert close(together, [found for doc in seen for found in scores(cross, [doc])], 1e-4)
    cross.save(tmp_path / "saved")
    assert close(together, scores(CrossEncoder.load(tmp_path / "saved", kb=kb), seen), 1e-5)
    assert close(together, scores(pickle.loads(pickle.dumps(cross)), seen), 1e-5)


def test_ten_documents_by_heart(kb: KnowledgeBase, encoders: Path) -> None:
    docs, encoder = notes(), str(encoders / "modernbert")
    cross = CrossEncoder(
        kb=kb, encoder=encoder, packing="multi", top_k=6, candidate="name", use_first_stage_scores=False
    )
    assert right(fitted(cross, docs, kb, epochs=50, lr=2e-3, schedule="linear"), docs, kb) == 1.0


# --- isolated candidates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["modernbert", "roberta"])
def test_isolated_candidates_know_neither_company_nor_order(
    kb: KnowledgeBase, encoders: Path, tmp_path: Path, kind: str
) -> None:
    docs = notes(4)
    cross = CrossEncoder(kb=kb, encoder=str(encoders / kind), isolated=True, use_first_stage_scores=False, top_k=6)
    fitted(cross, docs, kb, loss="pairs")
    seen = answered(kb, docs)
    one = scores(cross, [permuted(doc, [0, 1, 2, 3, 4, 5]) for doc in seen])
    assert close(one, scores(cross, [permuted(doc, [5, 3, 1, 0, 2, 4]) for doc in seen]), 1e-4)
    few = scores(cross, [permuted(doc, [4, 2]) for doc in seen])
    assert close([{row: whole[row] for row in (4, 2)} for whole in one], few, 1e-4)
    for packing in PACKINGS:
        other = pickle.loads(pickle.dumps(cross))
        other.packing = packing
        assert close(one, scores(other, [permuted(doc, [0, 1, 2, 3, 4, 5]) for doc in seen]), 1e-3), packing
    cross.save(tmp_path / "saved")
    loaded = CrossEncoder.load(tmp_path / "saved", kb=kb)
    assert close(one, scores(loaded, [permuted(doc, [0, 1, 2, 3, 4, 5]) for doc in seen]), 1e-4)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("longformer", "LongformerModel cannot keep candidates apart: in most of its attention a token sees near ones"),
        ("mpnet", "MPNetModel cannot keep candidates apart: their scores would depend on company"),  # index distances
        ("deberta", "DebertaV2Model cannot keep candidates apart: it takes no mask of pairs"),
    ],
)
def test_where_candidates_cannot_be_isolated(kb: KnowledgeBase, encoders: Path, kind: str, why: str) -> None:
    cross = CrossEncoder(kb=kb, encoder=str(encoders / kind), isolated=True)
    with pytest.raises(RecipeError, match=f"isolated: {why}.*; set isolated to false"):
        fitted(cross, notes(2), kb)
    cross.isolated = False
    assert cross.network.encoder.window == LONG - (kind == "mpnet")


# --- global attention ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_longformer_is_not_run_by_onnx(
    kb: KnowledgeBase, encoders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    fitted(CrossEncoder(kb=kb, encoder=str(encoders / "longformer")), notes(2), kb, epochs=1).save(tmp_path / "saved")
    loaded = CrossEncoder.load(tmp_path / "saved", kb=kb)
    loaded.backend = "onnx"
    with pytest.raises(
        LinnetError, match="LongformerModel cannot be written for ONNX Runtime: its graph is wrong; use"
    ):
        loaded(answered(kb, notes(2)))
    assert list((tmp_path / "home" / "onnx").iterdir()) == []


def test_a_modernbert_is_run_by_onnx(
    kb: KnowledgeBase, encoders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    docs = notes(6)
    cross = fitted(CrossEncoder(kb=kb, encoder=str(encoders / "modernbert"), packing="document"), docs, kb)
    cross.save(tmp_path / "saved")
    small = CrossEncoder.load(tmp_path / "saved", kb=kb)
    small.backend = "onnx"
    assert close(scores(cross, answered(kb, docs)), scores(small, answered(kb, docs)), 0.1)
