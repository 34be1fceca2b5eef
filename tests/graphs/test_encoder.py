"""Encoders as graphs: the numbers of the network, whatever stands beside a text in its batch."""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.tiny_models import tiny_bert, tiny_model

from linnet.errors import FormatError, LinnetWarning
from linnet.graphs import encoder as graphs
from linnet.graphs.encoder import GraphEncoder, thread_count
from linnet.nn.encoder import Encoder
from linnet.nn.onnx import as_graph, write_graph
from linnet.text.word_pieces import WordPieces

TEXTS = ("short stature", "a cleft palate and a heart attack of the renal cyst", "seizures")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder.load(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny"), markers=["[MS]"])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def written(encoder: Encoder, path: Path, *, known: bool = False, small: bool = False, narrow: bool = False) -> Path:
    buffer = io.BytesIO()
    write_graph(encoder, buffer, known=known, small=small, narrow=narrow)
    path.write_bytes(buffer.getvalue())
    return path


def batch(reader: WordPieces, longest: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and mask of the texts, padded to at least so many tokens."""
    start, end = reader.frame
    rows = [[*start, *pieces, *end] for pieces in reader.pieces(TEXTS)]
    ids = np.full((len(rows), max(longest, *map(len, rows))), reader.special.padding, np.int64)
    for row, own in enumerate(rows):
        ids[row, : len(own)] = own
    return ids, (ids != reader.special.padding).astype(np.int64)


@pytest.mark.parametrize("kind", ["bert", "roberta", "modernbert", "deberta"])
def test_without_rounding_it_gives_the_numbers_of_the_network(kind: str, tmp_path: Path) -> None:
    encoder = Encoder.load(tiny_model(tmp_path / kind, kind))
    graph = GraphEncoder(written(encoder, tmp_path / "float.onnx"))
    ids, mask = batch(encoder)
    with torch.inference_mode():
        wanted = encoder(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
    np.testing.assert_allclose(graph(ids, mask)[mask > 0], wanted[mask > 0], atol=2e-5, rtol=1e-4)


def test_what_is_known_of_tokens_is_added_to_their_embeddings(bert: Encoder, tmp_path: Path) -> None:
    graph = GraphEncoder(written(bert, tmp_path / "float.onnx", known=True))
    ids, mask = batch(bert)
    known = np.random.default_rng(0).normal(size=(*ids.shape, bert.size)).astype(np.float32)
    with torch.inference_mode():
        inputs = bert.embeddings(torch.from_numpy(ids)) + torch.from_numpy(known)
        hidden = bert.backbone(inputs_embeds=inputs, attention_mask=torch.from_numpy(mask)).last_hidden_state.numpy()
    np.testing.assert_allclose(graph(ids, mask, known)[mask > 0], hidden[mask > 0], atol=2e-5, rtol=1e-4)


def test_padding_and_company_change_nothing(bert: Encoder, tmp_path: Path) -> None:
    graph = GraphEncoder(written(bert, tmp_path / "float.onnx"))
    ids, mask = batch(bert)
    together = graph(ids, mask)
    for longest in (0, 40):
        for row, length in enumerate(mask.sum(axis=1).tolist()):
            wide = max(length, longest)
            own = np.full((1, wide), bert.special.padding, np.int64)
            own[0, :length] = ids[row, :length]
            alone = graph(own, (np.arange(wide) < length).astype(np.int64)[None])
            np.testing.assert_allclose(alone[0, :length], together[row, :length], atol=2e-5, rtol=1e-4)


def test_with_a_byte_a_number_it_stays_near(bert: Encoder) -> None:
    graph = as_graph(bert)
    ids, mask = batch(bert)
    with torch.inference_mode():
        wanted = bert(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()[mask > 0]
    for found in (graph(ids, mask)[mask > 0], graph(*batch(bert, 60))[:, : ids.shape[1]][mask > 0]):
        lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(wanted, axis=1)
        assert ((found * wanted).sum(axis=1) / lengths).min() > 0.98


def test_it_reads_texts_as_the_network_does(bert: Encoder, tmp_path: Path) -> None:
    as_graph(bert).save(tmp_path / "elsewhere" / "encoder.onnx")
    graph = GraphEncoder(tmp_path / "elsewhere" / "encoder.onnx")
    texts = ["Short stature [SEP] [MS]", "naïve \ud800 癫痫", ""]
    assert graph.pieces(texts) == bert.pieces(texts)
    assert graph.located(texts) == bert.located(texts)
    assert (graph.special, graph.frame, graph.window, graph.size) == (bert.special, bert.frame, bert.window, bert.size)
    assert graph.marker("[MS]") == bert.marker("[MS]")
    assert graph.parameters == sum(weight.numel() for weight in bert.backbone.parameters())


def test_another_file_is_refused(bert: Encoder, tmp_path: Path) -> None:
    import onnx

    with pytest.raises(FormatError, match="cannot be opened"):
        GraphEncoder(tmp_path / "nothing.onnx")
    path = written(bert, tmp_path / "float.onnx")
    graph = onnx.load(str(path))
    for problem, properties in (("is no encoder", {}), ("is no encoder", {"linnet": "{}", "tokenizer": "{}"})):
        del graph.metadata_props[:]
        onnx.helper.set_model_props(graph, properties)
        path.write_bytes(graph.SerializeToString())
        with pytest.raises(FormatError, match=problem):
            GraphEncoder(path)
    facts = {"special": [1, 2, 0, None], "size": 1, "window": 9, "parameters": 3, "weights": "x", "narrow": True}
    onnx.helper.set_model_props(graph, {"linnet": json.dumps({**facts, "small": True}), "tokenizer": "{}"})
    path.write_bytes(graph.SerializeToString())
    with pytest.raises(FormatError, match="holds no tokenizer"):
        GraphEncoder(path).pieces(["a"])


def test_bytes_that_a_processor_does_not_add_are_told(
    bert: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "adds_bytes", lambda: False)
    with pytest.warns(LinnetWarning, match="does not: answers may be worse"):
        GraphEncoder(written(bert, tmp_path / "small.onnx", small=True))
    GraphEncoder(written(bert, tmp_path / "narrow.onnx", small=True, narrow=True))


def test_processors_that_add_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "PROCESSOR", tmp_path / "cpuinfo")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert not graphs.adds_bytes.__wrapped__()
    (tmp_path / "cpuinfo").write_text("flags: sse2 avx512_vnni\n")
    assert graphs.adds_bytes.__wrapped__()
    (tmp_path / "cpuinfo").write_text("flags: sse2 avx2\n")
    assert not graphs.adds_bytes.__wrapped__()
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert graphs.adds_bytes.__wrapped__()


def test_as_many_threads_as_told_or_as_there_are_processors() -> None:
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert [thread_count({"OMP_NUM_THREADS": told}) for told in ("3", "4,2", "", "x", "0")] == [3, 4, own, own, own]


def test_the_room_imports_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('torch', 'transformers', 'safetensors', 'onnx')));"
        "import linnet.graphs.encoder, linnet.graphs.layers, linnet.detect.tagger_graph"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
