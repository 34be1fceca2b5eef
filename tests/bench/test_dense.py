from __future__ import annotations

import json
from pathlib import Path

import pytest

from linnet.bench.dense import variants
from linnet.bench.synthetic import synthetic
from linnet.kb.build import build
from tests.cli.conftest import Run
from tests.tiny_models import tiny_bert


def test_without_data_it_says_where_to_look(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_DATA", raising=False)
    done = run("bench", "dense")
    assert done.code == 2
    assert "LINNET_DATA" in done.err
    assert "--kb" in done.err


@pytest.mark.slow
def test_a_knowledge_base_of_ones_own(run: Run, tmp_path: Path) -> None:
    kb = build(synthetic(200), tmp_path / "small.kb")
    bert = tiny_bert(tmp_path / "bert", words=["acute", "chronic", "disease"], layers=1)
    arguments = ("bench", "dense", "--kb", kb.path, "--queries", 40, "--encoder", bert)
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    flat, hnsw, ivf, added = map(json.loads, done.out.splitlines())
    assert 0 < added["1,000 concepts added s"] < 60
    assert flat["names/s"] > 0
    assert [row["index"] for row in (flat, hnsw, ivf)] == ["flat", "hnsw", "ivf"]
    assert flat["recall@1"] == flat["recall@20"] == 1
    for row in (hnsw, ivf):
        assert row["names"] == flat["names"] > 200
        assert all(row[what] > 0 for what in ("build s", "file MB", "open ms", "median ms", "to exact", "recall@20"))
    shown = run(*arguments).out
    assert "TrainX: exact to HNSW" in shown
    assert "1,000 concepts added to a copy are found after" in shown
    assert len(list(tmp_path.glob("*.vectors-*"))) == 3
    done = run(*arguments, "--backend", "tensor")
    assert (done.code, "expected torch or onnx" in done.err) == (2, True)
    assert "--index hsnw: expected one of" in run(*arguments, "--index", "hsnw").err
    out = run(*arguments, "--backend", "onnx", "--index", "ivf", "--json").out
    assert (out.count('"index"'), out.count("names/s")) == (2, 1)


def test_variants_are_new_and_the_same_each_time() -> None:
    texts = ["acute renal failure", "chronic liver disease", "heart block", "fever"]
    made = [name.text for concept in variants(texts, 20) for name in concept.names]
    assert len(set(made)) == len(made) == 20
    assert not set(made) & set(texts)
    assert made == [name.text for concept in variants(texts, 20) for name in concept.names]
