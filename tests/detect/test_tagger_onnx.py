"""A tagger that ONNX Runtime runs, beside the same run by PyTorch, and without PyTorch at all."""

from __future__ import annotations

import json
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra neural is not installed")  # before what needs it in another module

from tests.detect.test_tagger import bert, fitted, found, gold, kb, notes

from linnet.data import Document
from linnet.detect.tagger import Tagger
from linnet.detect.tagger_graph import GraphTagger
from linnet.errors import FormatError, MissingExtraError, how_to_install
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.recipes import config, saving
from linnet.text.word_scores import emissions

pytestmark = pytest.mark.usefixtures("float32")
__all__ = ["bert", "kb"]  # fixtures


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("torch", "transformers", "safetensors", "onnx", "accelerate")))
import json, linnet
from linnet.recipes import saving
link = linnet.load(sys.argv[1])
docs = link([linnet.Document(str(n), text) for n, text in enumerate(json.load(sys.stdin))])
saving.save(link, sys.argv[2])
json.dump([[[m.start, m.end, m.types, m.signals["detect"]] for m in doc.mentions] for doc in docs], sys.stdout)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"dictionary": True, "epochs": 30},
        {"lstm": 8, "decoding": "crf", "head_lr_multiplier": 1.0, "epochs": 60},
        {"networks": 2},
    ],
)
def test_scores_are_those_of_the_network(bert: str, kb: KnowledgeBase, options: dict[str, Any]) -> None:
    docs = notes()
    tagger = fitted(bert, kb, docs, **options)
    texts = tagger.read(notes(6, seed=4))
    windows = [tagger.windows(text) for text in texts]
    graphs = [network.as_graph() for network in tagger.network]
    for one, other in zip(emissions(texts, windows, tagger.network), emissions(texts, windows, graphs), strict=True):
        assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.99
    assert tagger.chunks(texts, graphs)
    assert graphs[0].parameters * len(graphs) == tagger.parameters


@pytest.mark.slow
def test_trained_saved_moved_and_run_without_torch(
    bert: str, kb: KnowledgeBase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    docs, dev = notes(20), notes(30, seed=5)
    with caplog.at_level(logging.INFO):
        tagger = fitted(bert, kb, docs, dev, backend="onnx", dictionary=True, epochs=10)
    assert "tagger: F1 of recognition on dev " in caplog.text
    assert " in int8 by ONNX Runtime: " in caplog.text
    assert tagger.curve != (1.0, 0.0)
    saving.save(Pipeline(tagger), tmp_path / "made")
    place = Path(shutil.move(tmp_path / "made", tmp_path / "moved"))
    files = sorted(path.relative_to(place / "0-tagger" / "model").as_posix() for path in place.rglob("0/*"))
    assert files == ["graphs/0/encoder.onnx", "graphs/0/layers.arrays"]
    loaded = config.load(place)
    bare = [doc.bare() for doc in dev]
    linked = loaded(bare)
    assert isinstance(loaded.parts[0].network[0], GraphTagger)  # type: ignore[attr-defined]
    right = sum(map(len, map(set.__and__, found(tagger, dev), found(loaded.parts[0], dev))))  # type: ignore[arg-type]
    assert right >= 0.95 * sum(map(len, found(tagger, dev)))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(place), str(tmp_path / "again")],
        input=json.dumps([doc.text for doc in bare]), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = [[[m.start, m.end, list(m.types), m.signals["detect"]] for m in doc.mentions or ()] for doc in linked]
    assert json.loads(done.stdout) == said
    assert config.load(tmp_path / "again")(bare) == linked  # saved again without PyTorch, its weights came along
    other = config.load(tmp_path / "again", changes=["tagger.backend=torch"])
    assert found(other.parts[0], dev) == found(tagger, dev)  # type: ignore[arg-type]


def test_a_network_trained_for_torch_is_run_too(bert: str, kb: KnowledgeBase, tmp_path: Path, home: Path) -> None:
    docs = notes()
    fitted(bert, kb, docs).save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger", kb=kb)
    loaded.backend = "onnx"
    assert found(loaded, docs) == gold(docs)
    assert len(list((home / "onnx").iterdir())) == 1
    loaded.folder, loaded.trained = None, False
    assert loaded.graphs is None


def test_other_graphs_are_refused(bert: str, kb: KnowledgeBase, tmp_path: Path) -> None:
    tagger = fitted(bert, kb, notes(), epochs=1, backend="onnx")
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger", kb=kb)
    loaded.types = ("Disease",)
    with pytest.raises(FormatError, match="no layers that fit"):
        Pipeline(loaded)([Document.of("gout")])
    (tmp_path / "tagger" / "model" / "graphs" / "0" / "encoder.onnx").write_bytes(b"")
    with pytest.raises(FormatError, match="cannot be opened"):
        Pipeline(Tagger.load(tmp_path / "tagger", kb=kb))([Document.of("gout")])


def test_training_says_what_to_install_before_it_begins(
    bert: str, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "linnet.graphs", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("onnx"))):
        fitted(bert, kb, notes(), backend="onnx")
