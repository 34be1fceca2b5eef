"""What is trained for ONNX Runtime links where there is no PyTorch, and as it does where there is."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tiny_models import tiny_bert

from linnet.data import Document, Mention
from linnet.detect.dictionary import Dictionary
from linnet.detect.tagger import Tagger
from linnet.errors import LinnetWarning
from linnet.joint.collective import Collective
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.rerank.cross_encoder import CrossEncoder
from linnet.retrieve.dense import Dense
from linnet.retrieve.exact import Exact

pytestmark = pytest.mark.usefixtures("float32")

TEXTS = (
    "Short stature and recurrent seizures; no cleft palate.",
    "Seizures and epileptic seizures of the short stature",
    "A seizure, then short fingers.",
    "",
)
NAMES = {"seizures": "HP:0001250", "short stature": "HP:0004322", "short fingers": "HP:0009381"}
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("torch", "transformers", "safetensors", "onnx", "accelerate", "huggingface_hub")))
import json, linnet
docs = [linnet.Document(str(n), text) for n, text in enumerate(json.load(sys.stdin))]
for folder in sys.argv[1:]:
    for doc in linnet.load(folder)(docs):
        ms = doc.mentions
        rows = [[m.start, m.end, m.types, m.concepts or (), m.signals.get("detect"), m.probability] for m in ms]
        print(json.dumps(rows))
"""


def documents(repeats: int) -> list[Document]:
    docs = []
    for number, text in enumerate(TEXTS[:3] * repeats):
        mentions = tuple(
            Mention(at, at + len(name), source="gold", types=("Sign",), concepts=(id,))
            for name, id in NAMES.items()
            for at in [text.lower().find(name)]
            if at >= 0
        )
        docs.append(Document(f"t{number}", text, mentions=tuple(sorted(mentions, key=lambda m: m.start))))
    return docs


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", layers=1))


def learned(part: Any, before: Pipeline, kb: KnowledgeBase, **args: object) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        dev = [replace(doc, id=f"dev{doc.id}") for doc in documents(1)]
        list(part.fit(documents(4), dev, before=before, kb=kb, args=args))
    return part


@pytest.mark.slow
def test_all_parts_link_without_torch(
    bert: str, kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    base: dict[str, Any] = {"kb": kb, "encoder": bert, "backend": "onnx"}
    fast = {"epochs": 25, "lr": 5e-3}
    with caplog.at_level(logging.INFO):
        tagger = learned(Tagger(**base), Pipeline(), kb, **fast)
        dense = learned(Dense(**base, k=5), Pipeline(), kb, epochs=2)
        cross = learned(CrossEncoder(**base), Pipeline(Exact(kb=kb)), kb, epochs=2)
        spans = learned(Collective(**base), Pipeline(), kb, **fast, positive="preferred", mined=0)
        labels = learned(Collective(**base, mode="bio", pooling="ends", shared=False), Pipeline(), kb, **fast, mined=0)
        given = learned(Collective(**base, mode="gold", name_pooling="cls"), Pipeline(), kb, epochs=1)
    for told in (
        "tagger: F1 of recognition on dev ", "dense: recall@1 on dev ", "cross_encoder: accuracy on dev ",
        "collective: F1 of mentions with their concepts on dev ", "collective: accuracy on dev ",
    ):  # fmt: skip
        assert told in caplog.text
    pipelines = [
        Pipeline(tagger, dense, cross, Decide(kb=kb)),
        Pipeline(spans, Decide(kb=kb)),
        Pipeline(labels, Decide(kb=kb)),
        Pipeline(Dictionary(kb=kb), given, Decide(kb=kb)),
    ]
    folders = [str(tmp_path / str(number)) for number in range(len(pipelines))]
    said = []
    for pipeline, folder in zip(pipelines, folders, strict=True):
        saving.save(pipeline, folder)
        docs = config.load(folder)([Document(str(n), text) for n, text in enumerate(TEXTS)])
        said += [
            [[m.start, m.end, list(m.types), list(m.concepts or ()), m.signals.get("detect"), m.probability]
             for m in doc.mentions or ()] for doc in docs
        ]  # fmt: skip
        before = pipeline([Document(str(n), text) for n, text in enumerate(TEXTS)])
        ours = [{m.span for m in doc.mentions or ()} for doc in before]
        theirs = [{m.span for m in doc.mentions or ()} for doc in docs]
        assert sum(map(len, map(set.__and__, ours, theirs))) >= 0.7 * sum(map(len, ours)) > 0
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *folders], input=json.dumps(TEXTS), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == said
