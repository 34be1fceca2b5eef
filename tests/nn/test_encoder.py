from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tests.tiny_models import tiny_bert, tiny_seq2seq

from linnet.errors import FormatError, LinnetError
from linnet.nn.encoder import Encoder
from linnet.nn.texts import framed, padded


def states(encoder: Encoder, *texts: str) -> torch.Tensor:
    ids, mask, _ = padded(framed(encoder, texts), padding=0)
    with torch.no_grad():
        return encoder.forward(ids, mask)


def test_what_it_is(encoder: Encoder) -> None:
    assert (encoder.size, encoder.window) == (32, 512)
    assert not encoder.training
    assert not encoder.backbone.training
    assert getattr(encoder.backbone, "pooler", None) is None
    assert states(encoder, "short stature", "cleft").shape == (2, 4, 32)


def test_pieces_are_those_of_the_tokenizer(encoder: Encoder) -> None:
    texts = ["Short stature", "", "cleft-palate", "zebra"]
    wanted = encoder.tokenizer(texts, add_special_tokens=False)["input_ids"]
    assert encoder.pieces(texts) == wanted
    assert encoder.pieces([]) == []
    assert encoder.tokenizer.convert_ids_to_tokens(encoder.pieces(["Zebra"])[0]) == ["z", "##e", "##b", "##r", "##a"]


def test_pieces_of_a_long_text_are_not_cut(tiny: Path, tmp_path: Path) -> None:
    rules = json.loads((tiny / "tokenizer.json").read_text())
    rules["truncation"] = {"max_length": 8, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}
    rules["padding"] = {
        "strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "[PAD]",
    }  # fmt: skip
    folder = tiny_bert(tmp_path / "cutting", seed=1)
    (folder / "tokenizer.json").write_text(json.dumps(rules))
    encoder = Encoder.load(folder)
    assert list(map(len, encoder.pieces(["cleft " * 3000, "cleft"]))) == [3000, 1]
    encoder.tokenizer(["cleft"], padding="max_length", truncation=True, max_length=4)  # leaves its settings behind
    assert list(map(len, encoder.pieces(["cleft " * 3000, "cleft"]))) == [3000, 1]


def test_half_a_character_is_read_as_a_sign(encoder: Encoder) -> None:
    assert encoder.pieces(["cleft \ud83d palate"]) == encoder.pieces(["cleft ? palate"])


def test_text_is_never_taken_for_a_special_token(tiny: Path) -> None:
    encoder = Encoder.load(tiny, markers=["[MS]"])
    pieces = encoder.pieces(["a [SEP] b [MS] c"])[0]
    assert not {encoder.marker("[MS]"), encoder.tokenizer.sep_token_id} & set(pieces)
    assert encoder.tokenizer.unk_token_id not in pieces


def test_markers_get_embeddings_of_their_own(encoder: Encoder, tiny: Path) -> None:
    marked = Encoder.load(tiny, markers=["[MS]", "[ME]", "[MS]", "[MASK]"])
    old, new = (each.embeddings.weight for each in (encoder, marked))
    assert len(new) == len(old) + 2 == marked.backbone.config.vocab_size
    assert torch.equal(new[: len(old)], old)
    assert {marked.marker("[MS]"), marked.marker("[ME]")} == {len(old), len(old) + 1}
    assert marked.marker("[MASK]") == encoder.marker("[MASK]")
    start, end = new[marked.marker("[MS]")], new[marked.marker("[ME]")]
    assert not torch.equal(start, end)
    assert (start - old.mean(dim=0)).abs().max() < old.std()


def test_markers_are_the_same_in_any_order_and_under_any_seed(tiny: Path) -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one = Encoder.load(tiny, markers=["[MS]", "[ME]"])
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    other = Encoder.load(tiny, markers=["[ME]", "[MS]"])
    rows = [each.embeddings.weight[each.marker("[MS]")] for each in (one, other)]
    assert torch.equal(*rows)


def test_rows_to_spare_are_used(tmp_path: Path) -> None:
    plain = Encoder.load(tiny_bert(tmp_path / "plain"))
    plain.backbone.resize_token_embeddings(len(plain.tokenizer) + 5, mean_resizing=False)
    plain.save(tmp_path / "spare")
    marked = Encoder.load(tmp_path / "spare", markers=["[MS]"])
    weight = marked.embeddings.weight
    assert len(weight) == len(plain.tokenizer) + 5
    known = weight[: len(plain.tokenizer)]
    assert (weight[marked.marker("[MS]")] - known.mean(dim=0)).abs().max() < known.std()


def test_an_unknown_marker_is_named(encoder: Encoder) -> None:
    with pytest.raises(LinnetError, match=r"'\[MS\]'.*load the encoder with markers"):
        encoder.marker("[MS]")


def test_saved_and_loaded_it_is_the_same(tiny: Path, tmp_path: Path) -> None:
    marked = Encoder.load(tiny, markers=["[MS]", "[ME]"])
    marked.save(tmp_path / "saved")
    files = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= files
    assert not [name for name in files if name.endswith((".bin", ".pkl", ".pt"))]
    assert str(tiny) not in "".join(path.read_text() for path in (tmp_path / "saved").glob("*.json"))
    again = Encoder.load(tmp_path / "saved", markers=["[MS]"])
    assert again.fingerprint() == marked.fingerprint()
    assert again.marker("[ME]") == marked.marker("[ME]")
    assert again.window == marked.window
    assert torch.equal(states(again, "renal cyst"), states(marked, "renal cyst"))


def test_a_full_disk_is_an_error_of_the_system(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("No space left on device")

    monkeypatch.setattr(encoder.backbone, "save_pretrained", full)
    with pytest.raises(OSError, match="No space left"):
        encoder.save(tmp_path / "saved")


def test_the_fingerprint_follows_weights_and_tokenizer(encoder: Encoder, tiny: Path) -> None:
    before = encoder.fingerprint()
    assert before == Encoder.load(tiny).fingerprint()
    encoder.tokenizer(["cleft"], padding="max_length", truncation=True, max_length=4)
    assert encoder.fingerprint() == before
    changed = Encoder.load(tiny)
    with torch.no_grad():
        next(changed.parameters())[0, 0] += 1e-3
    assert changed.fingerprint() != before
    assert Encoder.load(tiny, markers=["[MS]"]).fingerprint() != before


def test_weights_that_are_missing_are_named(tiny: Path, tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "short", layers=1)
    (folder / "config.json").write_text((tiny / "config.json").read_text())  # of two layers
    with pytest.raises(LinnetError, match=r"weights of BertModel are missing.*encoder\.layer\.1\."):
        Encoder.load(folder)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "nan")
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.LayerNorm.bias"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(FormatError, match=r"model\.safetensors: a weight of 'embeddings.LayerNorm.bias' is no finite"):
        Encoder.load(folder)


def test_what_is_no_encoder_is_refused(tiny: Path, tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "odd")
    (folder / "config.json").write_text('{"model_type": "nobody-knows"}')
    with pytest.raises(LinnetError, match="cannot be loaded as an encoder"):
        Encoder.load(folder)
    (folder / "config.json").write_text((tiny / "config.json").read_text())
    (folder / "model.safetensors").write_bytes((tiny / "model.safetensors").read_bytes()[:1000])
    with pytest.raises(LinnetError, match="cannot be loaded as an encoder"):
        Encoder.load(folder)


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_no_kernel_is_fetched_that_a_file_names(encoder: Encoder, tmp_path: Path, key: str) -> None:
    folder = tiny_bert(tmp_path / "kernel")
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, key: "kernels-community/flash-attn2"}))
    made = Encoder.load(folder)
    assert made.backbone.config._attn_implementation == encoder.backbone.config._attn_implementation == "sdpa"
    assert made.fingerprint() == encoder.fingerprint()


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_an_encoder_with_a_decoder_is_refused(kind: str, tmp_path: Path) -> None:
    folder = tiny_seq2seq(tmp_path / kind, kind)
    with pytest.raises(LinnetError, match=rf"{kind} is an encoder with a decoder.*linnet\.nn\.seq2seq\.Seq2Seq reads"):
        Encoder.load(folder)


def test_a_tokenizer_without_a_frame_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bare")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    for key in ("cls_token", "sep_token"):
        settings.pop(key, None)
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "tokenizer_class": "TokenizersBackend"}))
    with pytest.raises(LinnetError, match="start, end and padding"):
        Encoder.load(folder)


def test_positions_that_start_behind_the_padding_shorten_the_window(tmp_path: Path) -> None:
    from transformers import RobertaConfig, RobertaModel

    folder = tiny_bert(tmp_path / "roberta", window=4096)
    config = RobertaConfig(
        vocab_size=200, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=34, pad_token_id=1,
    )  # fmt: skip
    RobertaModel(config).save_pretrained(folder)
    encoder = Encoder.load(folder)
    assert encoder.window == 32
    ids = torch.full((1, 32), 5)
    assert encoder(ids, torch.ones_like(ids)).shape == (1, 32, 16)


@pytest.mark.slow
def test_loading_and_forking_say_nothing(tiny: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from linnet.nn.encoder import Encoder\n"
        f"encoder = Encoder.load({str(tiny)!r}, markers=['[MS]'])\n"
        f"encoder.save(Path({str(tmp_path / 'saved')!r}))\n"
        "pieces = encoder.pieces(['short stature'] * 2000)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if encoder.pieces(['short stature'] * 2000) == pieces else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert 'TOKENIZERS_PARALLELISM' not in os.environ\n"
    )
    quiet = ("-W", "ignore::DeprecationWarning")  # Python's own, of any fork beside threads
    done = subprocess.run([sys.executable, *quiet, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
