from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from tests.tiny_models import tiny_spacy

from linnet.data import Document
from linnet.detect.spacy import Spacy
from linnet.errors import LinnetError, MissingExtraError, RecipeError, how_to_install

TEXT = "Short stature, seizures and a renal cyst."
needs_spacy = pytest.mark.skipif(importlib.util.find_spec("spacy") is None, reason="needs the extra spacy")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_spacy(tmp_path_factory.mktemp("spacy") / "pipeline")


def blank(**pipes: dict[str, Any]) -> Any:
    import spacy

    nlp = spacy.blank("en")
    for name, config in pipes.items():
        nlp.add_pipe(name, config=config)
    return nlp


def found(detector: Spacy, text: str = TEXT) -> set[tuple[str, tuple[str, ...]]]:
    [mentions] = detector.detect([Document.of(text)])
    return {(text[m.start : m.end], m.types) for m in mentions}


@pytest.mark.slow
@needs_spacy
def test_entities_and_spans(pipeline: Path) -> None:
    detector = Spacy(model=str(pipeline))
    assert {("seizures", ("SIGN",)), ("renal cyst", ("CYST",))} <= found(detector)
    [mentions] = detector.detect([Document.of(TEXT)])
    scored = [m.signals["detect"] for m in mentions if m.signals]
    assert scored, "spancat says how sure it is"
    assert all(0 <= score <= 1 for score in scored)
    assert found(Spacy(model=str(pipeline), types={"CYST": "Disease"})) == {("renal cyst", ("Disease",))}
    with pytest.raises(RecipeError, match="did you mean 'CYST'"):
        Spacy(model=str(pipeline), types={"CYSTS": "Disease"}).detect([])


@needs_spacy
def test_offsets_count_characters(pipeline: Path) -> None:
    text = "😀 \ud800 癫痫\u200b\r\n renal cyst, \t renal  cyst renal cyst"
    [mentions] = Spacy(model=str(pipeline), types={"CYST": "Cyst"}).detect([Document.of(text)])
    assert [text[m.start : m.end] for m in mentions] == ["renal cyst", "renal cyst"]


@needs_spacy
def test_long_documents_are_read_in_pieces(pipeline: Path) -> None:
    detector = Spacy(model=str(pipeline), types={"CYST": "Cyst"})
    detector.nlp.max_length = 60
    text = "A renal cyst was seen, but nothing else. " * 20 + "renal cyst " * 20
    [mentions] = detector.detect([Document.of(text)])
    assert [text[m.start : m.end] for m in mentions] == ["renal cyst"] * 40
    assert len({m.span for m in mentions}) == 40


@needs_spacy
def test_what_is_no_pipeline(tmp_path: Path) -> None:
    with pytest.raises(LinnetError, match=r"no pipeline 'en_core_sci_smm'.*installed pipelines: none"):
        Spacy(model="en_core_sci_smm").detect([])
    with pytest.raises(LinnetError, match="cannot be loaded as a spaCy pipeline"):
        Spacy(model=str(tmp_path)).detect([])
    blank(sentencizer={}).to_disk(tmp_path / "sentences")
    with pytest.raises(LinnetError, match="finds neither entities nor spans, it has: sentencizer"):
        Spacy(model=str(tmp_path / "sentences")).detect([])


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=re.escape(f"not installed: {how_to_install('spacy')}")):
        Spacy(model="en_core_sci_sm").detect([Document.of(TEXT)])


@pytest.mark.slow
@needs_spacy
def test_a_saved_detector_needs_its_pipeline_no_more(pipeline: Path, tmp_path: Path) -> None:
    Spacy(model=str(pipeline)).save(tmp_path / "saved")
    loaded = Spacy.load(tmp_path / "saved")
    loaded.model = "gone"
    assert found(loaded) == found(Spacy(model=str(pipeline)))
