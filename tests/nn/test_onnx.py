"""Encoders run by ONNX Runtime beside the same encoders run by PyTorch."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.tiny_models import tiny_bert

import linnet.nn.onnx
from linnet.corpora.catalog import read_corpus
from linnet.data import Concept, Document, Mention, Name
from linnet.errors import LinnetError, MissingExtraError, how_to_install
from linnet.graphs.encoder import GraphEncoder
from linnet.kb.build import build
from linnet.nn.encoder import Encoder
from linnet.nn.onnx import OnnxEncoder
from linnet.nn.pooling import Pool
from linnet.nn.texts import framed, padded
from linnet.nn.vectors import encode
from linnet.pipeline import Pipeline
from linnet.retrieve.dense import Dense
from linnet.text.contexts import InContext
from linnet.vocabularies import read_vocabulary

WORDS = ["fever", "heart", "attack", "of", "the", "kidney", "cyst"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=WORDS, layers=2))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def cosines(one: npt.NDArray[np.float32], other: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    found: npt.NDArray[np.float32] = (one * other).sum(axis=1)
    return found


def test_vectors_are_near_those_of_the_network(bert: str) -> None:
    encoder = Encoder.load(bert)
    texts = framed(encoder, ["fever", "heart attack", "cyst of the kidney", "the fever of the heart attack"])
    pool = Pool("mean", encoder.size)
    plain = encode(encoder, pool, texts, normalise=True, bf16=False)
    small = encode(OnnxEncoder(encoder), pool, texts, normalise=True)
    assert cosines(plain, small).min() > 0.98
    alone = np.concatenate([encode(OnnxEncoder(encoder), pool, [text], normalise=True) for text in texts])
    assert cosines(small, alone).min() > 0.98  # activations are quantised by what stands in a batch


def test_the_graph_is_made_once_and_tells_itself_apart(bert: str, home: Path) -> None:
    encoder = Encoder.load(bert)
    first = OnnxEncoder(encoder)
    [kept] = (home / "onnx").iterdir()
    before = kept.stat().st_mtime_ns
    assert OnnxEncoder(Encoder.load(bert)).fingerprint() == first.fingerprint() != encoder.fingerprint()
    assert kept.stat().st_mtime_ns == before
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(LinnetError, match=r"\.onnx: cannot be opened .* delete it to have it made again"):
        OnnxEncoder(encoder)


def test_what_the_graph_does_not_take_is_refused(bert: str) -> None:
    encoder = OnnxEncoder(Encoder.load(bert))
    ids, mask, _ = padded(framed(encoder, ["fever"]), padding=0)
    with pytest.raises(LinnetError, match="not token_type_ids; use the backend torch"):
        encoder(ids, mask, token_type_ids=ids)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("onnx"))):
        runpy.run_path(str(linnet.nn.onnx.__file__))


def test_a_bi_encoder_is_trained_by_pytorch_and_linked_with_either(bert: str, tmp_path: Path) -> None:
    names = ("fever", "heart attack", "kidney cyst")
    kb = build([Concept(f"X:{n}", (Name(text),)) for n, text in enumerate(names)], tmp_path / "x.kb")
    docs = [
        Document(f"d{n}", text, mentions=(Mention(0, len(text), source="gold", concepts=(f"X:{n % 3}",)),))
        for n, text in enumerate(names * 4)
    ]
    dense = Dense(kb=kb, encoder=bert, backend="onnx", long_forms=False)
    list(dense.fit(docs, [], before=Pipeline(dense), kb=kb, args={"epochs": 2, "batch": 4}))
    assert not isinstance(dense.network.mention, GraphEncoder)
    dense.save(tmp_path / "saved")
    loaded = Dense.load(tmp_path / "saved", kb=kb)
    assert isinstance(loaded.network.mention, GraphEncoder)
    assert loaded.network.entity is loaded.network.mention
    bare = [doc.spans_only() for doc in docs[:3]]
    for [one], [other] in zip(dense.retrieve(bare), loaded.retrieve(bare), strict=True):
        assert one.rows[0] == other.rows[0]
        assert one.scores[0] == pytest.approx(other.scores[0], abs=0.05)
    loaded.save(tmp_path / "again")  # the network's own weights
    assert len(list((tmp_path / "again").rglob("model.safetensors"))) == 1


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_on_real_vectors_it_costs_less_than_half_a_point(data: Path, tmp_path: Path) -> None:
    """A sixth of the distinct mentions of NCBI Disease among the names of their concepts and 90 others, by MiniLM."""
    docs = [doc for split in ("train", "dev") for doc in read_corpus("ncbi_disease", split=split, data=data)]
    medic = list(read_vocabulary("medic", data / "kb" / "medic_2012-07-06_biosyn.txt.gz"))
    kb = build(medic, tmp_path / "medic.kb")
    gold = sorted(
        {
            (doc.surface(mention), kb.row(mention.concepts[0]))
            for doc in docs
            for mention in doc.mentions or ()
            if mention.concepts and len(mention.concepts) == 1 and mention.concepts[0] in kb
        }
    )[::6]
    texts = [
        (name.text, name.concept) for name in kb.names(sorted({row for _, row in gold} | {*range(0, len(kb), 128)}))
    ]
    right = []
    for backend in ("torch", "onnx"):
        dense = Dense(kb=kb, backend=backend)
        names = dense.encode_names([text for text, _ in texts])
        asked = dense.encode_mentions([InContext("", text, "") for text, _ in gold])
        best = (asked @ names.T).argmax(axis=1)
        right.append(np.mean([texts[place][1] == row for place, (_, row) in zip(best, gold, strict=True)]))
    assert right[0] > 0.5
    assert right[1] > right[0] - 0.005, right
