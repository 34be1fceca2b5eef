from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from tests.tiny_models import tiny_bert, tiny_token_classifier

from linnet.data import Document
from linnet.detect.hf_tagger import HfTagger, tags_of
from linnet.errors import FormatError, LinnetError, RecipeError
from linnet.nn.token_classifier import TokenClassifier, windows

BIO = ("O", "B-Sign", "I-Sign", "B-Cyst", "I-Cyst")
SAYS = {"short": "B-Sign", "stature": "I-Sign", "seizures": "B-Sign", "renal": "B-Cyst", "cyst": "I-Cyst"}
TEXT = "Short stature, seizures and of renal cyst."


def found(tagger: HfTagger, text: str = TEXT) -> list[tuple[str, tuple[str, ...]]]:
    [mentions] = tagger.detect([Document.of(text)])
    return [(text[m.start : m.end], m.types) for m in mentions]


WANTED = [("Short stature", ("Sign",)), ("seizures", ("Sign",)), ("renal cyst", ("Cyst",))]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (BIO, SAYS),
        (
            ("O", "B-Sign", "E-Sign", "S-Sign", "I-Sign", "B-Cyst", "E-Cyst"),
            {**SAYS, "stature": "E-Sign", "seizures": "S-Sign", "cyst": "E-Cyst"},
        ),
        (
            ("O", "B-Sign", "L-Sign", "U-Sign", "B-Cyst", "L-Cyst"),
            {**SAYS, "stature": "L-Sign", "seizures": "U-Sign", "cyst": "L-Cyst"},
        ),
        (("Cyst", "O", "Sign"), {piece: label[2:] for piece, label in SAYS.items()}),
    ],
    ids=["BIO", "BIOES", "BILOU", "IO"],
)
def test_every_scheme(tmp_path: Path, labels: tuple[str, ...], says: dict[str, str]) -> None:
    tagger = HfTagger(model=str(tiny_token_classifier(tmp_path / "m", labels, says=says)))
    assert found(tagger) == WANTED
    [mentions] = tagger.detect([Document.of(TEXT)])
    assert all(0.5 < mention.signals["detect"] <= 1 for mention in mentions)
    assert found(tagger, "") == []


def test_types_are_renamed_and_others_left_out(tmp_path: Path) -> None:
    model = str(tiny_token_classifier(tmp_path / "m", BIO, says=SAYS))
    assert found(HfTagger(model=model, types={"Cyst": "Disease"})) == [("renal cyst", ("Disease",))]
    with pytest.raises(RecipeError, match="did you mean 'Cyst'"):
        HfTagger(model=model, types={"Cysts": "Disease"}).detect([Document.of(TEXT)])
    assert found(HfTagger(model=model, min_probability=1.0)) == []
    with pytest.raises(RecipeError, match="min_probability: 2"):
        HfTagger(model=model, min_probability=2)


def test_labels_belong_to_words_or_to_pieces(tmp_path: Path) -> None:
    says = {"seizure": "B-Sign", "##r": "O", "x": "O", "##y": "B-Sign", "##z": "B-Sign"}
    model = str(tiny_token_classifier(tmp_path / "m", BIO, says=says))
    text = "Seizurer xyz"
    assert found(HfTagger(model=model), text) == [("Seizurer", ("Sign",))]
    assert found(HfTagger(model=model, aggregation="average"), text)[-1] == ("xyz", ("Sign",))
    assert [surface for surface, _ in found(HfTagger(model=model, aggregation="pieces"), text)] == ["Seizure", "y", "z"]


def test_a_long_document_is_read_to_its_end(tmp_path: Path) -> None:
    tagger = HfTagger(model=str(tiny_token_classifier(tmp_path / "m", BIO, says=SAYS)))
    text = " ".join([TEXT] * 400)
    assert len(text) > 16_000
    assert found(tagger, text) == WANTED * 400


def test_shorter_windows_lose_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = TokenClassifier.load(tiny_token_classifier(tmp_path / "m", BIO))
    text = " ".join([TEXT] * 6)
    [once] = model.read([text])
    model.window = 60
    monkeypatch.setattr("linnet.nn.token_classifier.OVERLAP", 30)
    [twice] = model.read([text])
    assert once.words == twice.words
    assert len(once.words) == 9 * 6
    assert np.allclose(twice.probabilities.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 11, 100])
@pytest.mark.parametrize("overlap", [0, 1, 2, 3, 99])
def test_every_piece_is_taken_from_one_window(count: int, overlap: int) -> None:
    parts = windows(count, 6, overlap)
    assert [place for part in parts for place in range(part.first, part.last)] == list(range(count))
    assert all(part.start <= part.first < part.last <= part.end <= part.start + 6 for part in parts)
    for one, other in itertools.pairwise(parts):
        assert one.end - other.start >= min(overlap, 3)


def test_what_is_no_token_classifier(tmp_path: Path) -> None:
    encoder = tiny_bert(tmp_path / "encoder")
    with pytest.raises(LinnetError, match="not trained to label tokens"):
        TokenClassifier.load(encoder)
    folder = tiny_token_classifier(tmp_path / "nan", BIO)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"][0, 0] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(FormatError, match=r"model\.safetensors: a weight of 'classifier.weight' is no finite number"):
        TokenClassifier.load(folder)
    with pytest.raises(LinnetError, match="nor a folder"):
        HfTagger(model="./nowhere").detect([])
    with pytest.raises(LinnetError, match="lacks id2label"):
        tags_of(["LABEL_0", "LABEL_1"], "m")


def test_no_kernel_is_fetched_that_a_file_names(tmp_path: Path) -> None:
    folder = tiny_token_classifier(tmp_path / "m", BIO, says=SAYS)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "_attn_implementation": "kernels-community/attn"}))
    assert found(HfTagger(model=str(folder))) == WANTED


def test_a_saved_detector_needs_its_model_no_more(tmp_path: Path) -> None:
    folder = tiny_token_classifier(tmp_path / "m", BIO, says=SAYS)
    HfTagger(model=str(folder), types={"Cyst": "Disease"}).save(tmp_path / "saved")
    folder.rename(tmp_path / "gone")
    loaded = HfTagger.load(tmp_path / "saved")
    assert found(loaded) == [("renal cyst", ("Disease",))]
    assert json.loads((tmp_path / "saved" / "config.json").read_text())["types"] == {"Cyst": "Disease"}
