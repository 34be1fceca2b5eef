"""Damage to any file of a trained folder is told: the file is named, and no answer is another one in silence."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contract.test_components import classifier, tiny, trained

from linnet.checksums import write_checksums
from linnet.data import Document
from linnet.detect.dictionary import Dictionary
from linnet.detect.hf_tagger import HfTagger
from linnet.detect.tagger import Tagger
from linnet.errors import FormatError, LinnetError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Fuse, Pipeline, Union
from linnet.pipeline.confidence import FEATURES, Confidence
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.rerank.cross_encoder import CrossEncoder
from linnet.rerank.lexical import Lexical
from linnet.retrieve.dense import Dense
from linnet.retrieve.ngram import Ngram

DOCS = (Document("d", "Two epileptic seizures and a short stature."),)
EDITED = ("config.json", "pipeline.toml")  # of a component and of the whole: people may change these
OTHERS: tuple[Any, ...] = (None, True, -1, 0.5, "x", [], {}, [[1]], {"a": None})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, kb: KnowledgeBase) -> Path:
    """A trained folder of every component that learns or keeps a network, flair aside."""
    dictionary = trained(Dictionary(kb=kb, aliases=True), kb)
    detector = Union([trained(Tagger(kb=kb, encoder=tiny()), kb, epochs=1), HfTagger(model=classifier()), dictionary])
    dense = trained(Dense(kb=kb, encoder=tiny(), pooling="ends", k=5), kb, epochs=1)
    retriever = Fuse([dense, Ngram(kb=kb)], method="weighted", weights=(0.4, 0.6))
    decide = Decide(kb=kb)
    decide.confidence, decide.calibration = Confidence(np.arange(float(len(FEATURES)))), "joint"
    cross = trained(CrossEncoder(kb=kb, encoder=tiny()), kb, epochs=1)
    pipeline = Pipeline(detector, retriever, trained(Lexical(kb=kb), kb), cross, decide)
    made = tmp_path_factory.mktemp("trained") / "folder"
    saving.save(pipeline, made)
    return made


def test_nothing_but_what_people_may_change_is_without_a_checksum(folder: Path) -> None:
    listed = {one.parent / name for one in folder.rglob("checksums.json") for name in json.loads(one.read_bytes())}
    others = {path.name for path in folder.rglob("*") if path.is_file() and path not in listed}
    assert others == {*EDITED, "card.md", "checksums.json", "names.vectors"}
    assert {path.suffix for path in listed} == {".json", ".jsonl", ".npy", ".safetensors"}
    assert all(path.name not in EDITED or path.parent.name.startswith(("model", "mention")) for path in listed)


def damaged(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Yield what may become of a file: cut short, a byte changed, emptied."""
    yield b""
    for place in rng.sample(range(len(data)), min(3, len(data))):
        yield data[:place]
        yield data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def test_files_with_checksums_are_refused(folder: Path) -> None:
    rng = random.Random(13)
    lists = sorted(folder.rglob("checksums.json"))
    for path in [one.parent / name for one in lists for name in json.loads(one.read_bytes())]:
        data = path.read_bytes()
        for other in damaged(data, rng):
            path.write_bytes(other)
            with pytest.raises(FormatError, match="missing or damaged") as error:
                config.load(folder)
            assert error.value.path == str(path)
        path.unlink()
        with pytest.raises(FormatError, match="missing or damaged") as error:
            config.load(folder)
        assert error.value.path == str(path)
        path.write_bytes(data)
    config.load(folder)


def outcome(folder: Path) -> list[Document] | None:
    """Return the answers of a folder, None if it is refused."""
    try:
        return config.load(folder)(DOCS)
    except LinnetError:
        return None


def test_other_files_are_refused_or_change_nothing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(13)
    want = outcome(folder)
    assert want is not None
    for path in (*folder.rglob("checksums.json"), folder / "1-fuse" / "0-dense" / "names.vectors"):
        data = path.read_bytes()
        for other in damaged(data, rng):
            path.write_bytes(other)
            assert outcome(folder) in (want, None)
        path.write_bytes(data)
    assert "names.vectors: damaged, cut short" in caplog.text


def test_what_people_may_change_is_looked_at(folder: Path) -> None:
    rng = random.Random(13)
    for path in (*folder.glob("**/[0-9]-*/config.json"), folder / "pipeline.toml"):
        data = path.read_bytes()
        values = json.loads(data) if path.suffix == ".json" else {}
        changed = [json.dumps({**values, key: rng.choice(OTHERS)}).encode() for key in values]
        for other in (*damaged(data, rng), *changed, b"[" * 100_000, b"[]", b'{"a": ' + b"9" * 5000 + b"}"):
            path.write_bytes(other)
            outcome(folder)
        path.write_bytes(data)


def test_a_part_alone_is_looked_at_and_may_be_saved_over(folder: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    place = Path(shutil.copytree(folder / "4-decide", tmp_path / "part"))
    part = Decide.load(place, kb=kb)
    part.confidence = Confidence(np.ones(len(FEATURES)))
    part.save(place)
    again = Decide.load(place, kb=kb)
    assert again.confidence is not None
    assert again.confidence.weights.tolist() == [1.0] * len(FEATURES)
    write_checksums(place)
    (place / "learned.json").write_bytes(b"{}")
    with pytest.raises(FormatError, match=r"learned\.json: is missing or damaged"):
        Decide.load(place, kb=kb)
