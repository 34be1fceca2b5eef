"""Encoders with a decoder, made on the spot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.tiny_models import tiny_bert, tiny_model, tiny_seq2seq
from torch import Tensor
from transformers import AutoTokenizer, EncoderDecoderModel

from linnet.errors import FormatError, LinnetError
from linnet.nn.decoding import CachedDecoding
from linnet.nn.quiet import quietly
from linnet.nn.seq2seq import Seq2Seq
from linnet.nn.texts import padded
from linnet.text.token_batches import TokenText

TEXTS = (
    "short stature",
    "cleft palate and renal cyst",
    "seizure",
    "heart and heart",
    "cyst",
    "and",
    "of",
    "renal",
)
FOLLOWING = ("cyst", "seizures", "short stature and cleft", "of", "palate", "heart attack", "renal cyst", "and of")


@pytest.fixture(scope="module", params=["t5", "bart"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_seq2seq(tmp_path_factory.mktemp("seq2seq") / request.param, request.param)


@pytest.fixture(scope="module")
def network(folder: Path) -> Seq2Seq:
    return Seq2Seq.load(folder)


def tensors(network: Seq2Seq, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return ids and mask of texts that end as their tokenizer says."""
    end = network.tokenizer.eos_token_id
    ids, mask, _ = padded([TokenText((*own, end), (0, 0)) for own in network.pieces(texts)], padding=0)
    return ids, mask


def scores(network: Seq2Seq, texts: Sequence[str], following: Sequence[str]) -> Tensor:
    ids, mask = tensors(network, texts)
    with torch.no_grad():
        return network.logits(network.encode(ids, mask), mask, tensors(network, following)[0])


def test_what_it_is(network: Seq2Seq) -> None:
    assert (network.size, network.window) == (32, 128)
    assert not network.backbone.training
    assert network.tokenizer.cls_token_id is None
    assert network.pieces(["Short [SEP]"])[0][0] == network.tokenizer.convert_tokens_to_ids("short")
    assert network.tokenizer.eos_token_id not in network.pieces(["Short [SEP]"])[0]
    assert network.encode(*tensors(network, ["short stature", "cleft"])).shape == (2, 3, 32)


def test_one_and_eight_texts_at_a_time_agree(network: Seq2Seq) -> None:
    together = scores(network, TEXTS, FOLLOWING)
    for row, (text, following) in enumerate(zip(TEXTS, FOLLOWING, strict=True)):
        [alone] = scores(network, [text], [following])
        assert torch.allclose(together[row, : len(alone)], alone, atol=1e-5)


def test_scores_are_those_of_transformers(network: Seq2Seq) -> None:
    ids, mask = tensors(network, TEXTS)
    targets, _ = tensors(network, FOLLOWING)
    with torch.no_grad():
        wanted = network.backbone(input_ids=ids, attention_mask=mask, labels=targets).logits
    assert torch.allclose(scores(network, TEXTS, FOLLOWING), wanted, atol=1e-6)


def test_places_that_are_asked_for_have_the_scores_that_they_have_among_all(network: Seq2Seq) -> None:
    ids, mask = tensors(network, TEXTS)
    targets, _ = tensors(network, FOLLOWING)
    at = torch.rand(targets.shape, generator=torch.Generator().manual_seed(1)) < 0.5
    with torch.no_grad():
        found = network.logits(network.encode(ids, mask), mask, targets, at)
    everything = scores(network, TEXTS, FOLLOWING)
    assert torch.allclose(found, everything[at], atol=1e-6)
    assert torch.equal(scores(network, TEXTS, FOLLOWING), everything)  # which is not asked for the next time


def test_a_place_sees_what_is_before_it_alone(network: Seq2Seq) -> None:
    one, other = scores(network, ["cleft", "cleft"], ["short stature and cleft", "short stature of palate"])
    assert torch.allclose(one[:3], other[:3], atol=1e-6)
    assert not torch.allclose(one[3], other[3], atol=1e-3)


def test_gradients_reach_encoder_and_decoder(folder: Path) -> None:
    network = Seq2Seq.load(folder)
    ids, mask = tensors(network, TEXTS)
    targets, _ = tensors(network, FOLLOWING)
    network.logits(network.encode(ids, mask), mask, targets).logsumexp(dim=2).sum().backward()  # type: ignore[no-untyped-call]
    assert all(weight.grad is not None and weight.grad.any() for weight in network.embeddings.parameters())
    lacking = [name for name, weight in network.named_parameters() if weight.grad is None]
    assert lacking == []


def test_saved_and_loaded_it_is_the_same(network: Seq2Seq, folder: Path, tmp_path: Path) -> None:
    network.save(tmp_path / "saved")
    files = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= files
    assert not [name for name in files if name.endswith((".bin", ".pkl", ".pt"))]
    again = Seq2Seq.load(tmp_path / "saved")
    assert again.fingerprint() == network.fingerprint() == Seq2Seq.load(folder).fingerprint()
    assert (again.start, again.window) == (network.start, network.window)
    assert torch.equal(scores(again, TEXTS, FOLLOWING), scores(network, TEXTS, FOLLOWING))
    with torch.no_grad():
        next(again.parameters())[0, 0] += 1e-3
    assert again.fingerprint() != network.fingerprint()


def test_loading_draws_nothing(folder: Path) -> None:
    state = torch.get_rng_state()
    Seq2Seq.load(folder)
    assert torch.equal(torch.get_rng_state(), state)


def test_an_encoder_alone_is_refused(tiny: Path) -> None:
    with pytest.raises(LinnetError, match=r"bert has no decoder.*linnet\.nn\.encoder\.Encoder reads it"):
        Seq2Seq.load(tiny)


@pytest.fixture
def copied(network: Seq2Seq, tmp_path: Path) -> Path:
    network.save(tmp_path / "copied")
    return tmp_path / "copied"


def without(path: Path, key: str) -> None:
    if path.exists():
        path.write_text(
            json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != key})
        )


def test_a_decoder_that_begins_with_nothing_is_refused(copied: Path) -> None:
    for name in ("config.json", "generation_config.json"):
        without(copied / name, "decoder_start_token_id")
    if json.loads((copied / "config.json").read_text())["model_type"] == "bart":
        assert Seq2Seq.load(copied).start == 2  # Transformers knows it
        return
    with pytest.raises(LinnetError, match="no decoder_start_token_id"):
        Seq2Seq.load(copied)


def test_a_tokenizer_without_an_end_is_refused(copied: Path) -> None:
    without(copied / "tokenizer_config.json", "eos_token")
    with pytest.raises(LinnetError, match=r"needs a fast tokenizer \(tokenizer.json\) with tokens for end and padding"):
        Seq2Seq.load(copied)


def test_weights_that_are_missing_or_no_numbers_are_refused(copied: Path) -> None:
    file = copied / "model.safetensors"
    weights = load_file(file)
    lost = next(name for name in weights if "encoder" in name and "1.weight" not in name)
    save_file({name: value for name, value in weights.items() if name != lost}, file, {"format": "pt"})
    with pytest.raises(LinnetError, match=rf"1 weights of .* are missing .* such as '{lost}'"):
        Seq2Seq.load(copied)
    weights[lost].view(-1)[0] = float("nan")
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(FormatError, match="is no finite number"):
        Seq2Seq.load(copied)


# --- pairs of one encoder --------------------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> Seq2Seq:
    return Seq2Seq.pair(tiny_bert(tmp_path / "bert"), markers=["[MS]"])


def test_both_sides_of_a_pair_begin_with_the_encoder_and_share_its_vocabulary(pair: Seq2Seq) -> None:
    sides: Any = pair.backbone
    encoder, decoder = sides.encoder.state_dict(), sides.decoder.bert.state_dict()
    assert all(torch.equal(decoder[name], weight) for name, weight in encoder.items())
    assert sides.decoder.cls.predictions.decoder.weight is pair.embeddings.weight
    assert pair.marker("[MS]") < len(pair.embeddings.weight)
    assert (pair.size, pair.window) == (32, 512)
    assert (pair.start, pair.end) == (pair.tokenizer.cls_token_id, pair.tokenizer.sep_token_id)


def test_a_pair_saved_and_loaded_is_the_same(pair: Seq2Seq, tmp_path: Path) -> None:
    pair.save(tmp_path / "saved")
    loaded = Seq2Seq.load(tmp_path / "saved")
    assert loaded.fingerprint() == pair.fingerprint()
    sides: Any = loaded.backbone
    assert sides.decoder.cls.predictions.decoder.weight is loaded.embeddings.weight
    assert len(load_file(tmp_path / "saved" / "model.safetensors")) < len(pair.backbone.state_dict())


def test_a_pair_of_others_keeps_the_vocabulary_of_its_decoder(tmp_path: Path) -> None:
    sides = [tiny_bert(tmp_path / str(seed), layers=1, seed=seed) for seed in (1, 2)]
    with quietly():
        made = EncoderDecoderModel.from_encoder_decoder_pretrained(*map(str, sides))
        made.config.decoder_start_token_id, made.config.pad_token_id = 2, 0
        made.train(mode=False)
        made.save_pretrained(tmp_path / "foreign")
        AutoTokenizer.from_pretrained(sides[0]).save_pretrained(tmp_path / "foreign")
    loaded = Seq2Seq.load(tmp_path / "foreign")
    loaded.save(tmp_path / "again")
    ids = torch.tensor([[2, 20, 21, 3]])
    with torch.no_grad():
        wanted = made(input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=ids).logits
        for one in (loaded, Seq2Seq.load(tmp_path / "again")):
            backbone: Any = one.backbone
            found = backbone(input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=ids).logits
            assert torch.allclose(found, wanted, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["roberta", "bert of another size"])
def test_pairs_of_other_kinds_are_decoded_by_their_own_code(decoder: str, tmp_path: Path) -> None:
    kind, size = ("roberta", 32) if decoder == "roberta" else ("bert", 16)
    sides = [tiny_model(tmp_path / "a", kind, layers=1), tiny_model(tmp_path / "b", kind, layers=1, size=size)]
    with quietly():
        made = EncoderDecoderModel.from_encoder_decoder_pretrained(*map(str, sides))
        made.config.decoder_start_token_id, made.config.pad_token_id = 2, 0
        made.save_pretrained(tmp_path / "foreign")
        AutoTokenizer.from_pretrained(sides[0]).save_pretrained(tmp_path / "foreign")
    loaded = Seq2Seq.load(tmp_path / "foreign")
    assert not loaded.packed
    ids = torch.tensor([[2, 20, 21, 3]])
    with torch.inference_mode():
        encoded, mask = loaded.encode(ids, torch.ones_like(ids)), torch.ones_like(ids)
        wanted = loaded.logits(encoded, mask, torch.tensor([[5, 7, 6]]))[0, -1].log_softmax(-1)
        begun = loaded.begin(encoded, mask, [[loaded.start, 5]])
        begun.extend(torch.tensor([0]), torch.tensor([7]))
        found = begun.log_probabilities(torch.zeros(len(wanted), dtype=torch.long), torch.arange(len(wanted)))
        assert torch.allclose(found, wanted, atol=1e-5)


def test_a_pair_is_made_the_same_again_and_draws_nothing(pair: Seq2Seq, tmp_path: Path) -> None:
    before = torch.random.get_rng_state()
    again = Seq2Seq.pair(tmp_path / "bert", markers=["[MS]"])
    assert torch.equal(torch.random.get_rng_state(), before)
    assert again.fingerprint() == pair.fingerprint()


@pytest.mark.parametrize("packed", [True, False])
def test_what_follows_is_as_probable_read_at_once_or_token_by_token(pair: Seq2Seq, *, packed: bool) -> None:
    ids = torch.randint(4, 12, (3, 7), generator=torch.Generator().manual_seed(1))
    mask, following = torch.ones_like(ids), ids[:, :4]
    vocabulary = len(pair.tokenizer)
    rows, tokens = torch.arange(3).repeat_interleave(vocabulary), torch.arange(vocabulary).repeat(3)
    with torch.inference_mode():
        encoded = pair.encode(ids, mask)
        wanted = pair.logits(encoded, mask, following).log_softmax(-1)
        prompts = [[pair.start]] * 3
        begun = pair.begin(encoded, mask, prompts) if packed else CachedDecoding(pair.backbone, encoded, mask, prompts)
        for place in range(4):
            logs = begun.log_probabilities(rows, tokens).view(3, vocabulary)
            assert torch.allclose(logs, wanted[:, place], atol=1e-5)
            begun.extend(torch.arange(3), following[:, place])


def test_rows_of_a_pair_do_not_know_of_each_other(pair: Seq2Seq) -> None:
    ids = torch.randint(4, 12, (3, 7), generator=torch.Generator().manual_seed(2))
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3, [1] * 6 + [0]])
    prompts = [[pair.start, 5, 6, 7], [pair.start], [pair.start, 8]]
    # rows that went on, and the two tokens they went on with: a text is forgotten, and one row goes on as two
    steps = [([0, 0, 2], [4, 5, 6]), ([0, 1, 1], [7, 8, 9])]
    written = {0: (0, [4, 7]), 1: (0, [5, 8]), 2: (0, [5, 9])}
    with torch.inference_mode():
        begun = pair.begin(pair.encode(ids, mask), mask, prompts)
        for rows, tokens in steps:
            begun.extend(torch.tensor(rows), torch.tensor(tokens))
        for row, (text, tokens) in written.items():
            own = slice(text, text + 1)
            shown = torch.tensor([[*prompts[text][1:], *tokens, 10]])
            wanted = pair.logits(pair.encode(ids[own], mask[own]), mask[own], shown)[0, -1].log_softmax(-1)
            found = begun.log_probabilities(torch.full_like(wanted, row, dtype=torch.long), torch.arange(len(wanted)))
            assert torch.allclose(found, wanted, atol=1e-5)
