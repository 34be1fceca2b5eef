"""Encoders are written for ONNX Runtime, with weights and activations of a byte each. Needs the extra ``onnx``.

The network is written as an ONNX graph and the matrices of its linear layers are quantised, activations as they come;
that happens once for the same weights, and the file is kept under LINNET_HOME; `linnet.graphs` runs it.

A few activations of such networks are many times larger than all others, and would leave these few steps of the 256. So
a layer's inputs are divided, and its weights multiplied, by factors that make both of like size (SmoothQuant, Xiao et
al. 2023, equation 4), measured on random word pieces. Attention itself and the widest inputs of the first layers keep
their numbers. What was tried says docs/decisions/0009-int8-encoders.md.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import logging
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

import torch
from torch import Tensor, nn

from linnet.arrays_file import replaced
from linnet.errors import LinnetError, MissingExtraError
from linnet.graphs.encoder import FACTS, TOKENIZER, GraphEncoder, adds_bytes, open_session
from linnet.home import home, writable
from linnet.nn.encoder import Encoder
from linnet.nn.quiet import quietly
from linnet.text.word_pieces import plain

__all__ = ["OnnxEncoder", "as_graph", "write_graph"]

for _module in ("onnxruntime", "onnx"):
    if importlib.util.find_spec(_module) is None:
        raise MissingExtraError(_module, extra="onnx", wanted_by="an encoder run by ONNX Runtime")

logger = logging.getLogger(__name__)

OPSET = 17  # of the graph: the newest that the exporter writes
KIND = f"int8-{OPSET}"
TEXTS, TOKENS = 64, 16  # random texts that activations are measured on, and how long they are
SHARED, NARROWED = 0.6, 0.8  # how much of its size an input gives to the weights: 0.8 where it is wider than the output
PLAIN = 1 / 3  # of the layers, the first, keep their numbers where inputs are wider than outputs
LEAST = 1e-5
LONGER = 48  # tokens of the texts that a graph is tried with; it is traced with 3
EQUAL = 1e-2  # of the largest number of a vector


class OnnxEncoder(Encoder):
    """An encoder whose vectors ONNX Runtime works out on the CPU, with quantised weights, for code that knows PyTorch.

    Args:
        encoder: the network; it is not changed, and not run any more.

    Raises:
        LinnetError: its kind of network cannot be written as a graph.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.backbone, encoder.tokenizer)
        self._run = as_graph(encoder)

    def forward(self, ids: Tensor, mask: Tensor | Mapping[str, Tensor], **extra: Any) -> Tensor:
        """Return the last hidden states (texts, tokens, size) of token ids (texts, tokens)."""
        if extra or not isinstance(mask, Tensor):
            raise LinnetError(f"ONNX Runtime takes ids and mask alone, not {', '.join(extra)}; use the backend torch")
        return torch.from_numpy(self._run(ids.numpy(), mask.numpy()))

    def fingerprint(self) -> str:
        """Return a hash that tells these vectors from those of the network itself."""
        return self._run.fingerprint()


def as_graph(encoder: Encoder, *, known: bool = False) -> GraphEncoder:
    """Return an encoder with quantised weights that ONNX Runtime runs; its file is made once for the same weights.

    Args:
        encoder: the network, which is not changed.
        known: the graph takes what is added to the embeddings of tokens too.

    Raises:
        LinnetError: its kind of network cannot be written as a graph.
    """
    fingerprint, narrow = f"{encoder.fingerprint()}-{KIND}", not adds_bytes()
    name = f"encoder-{fingerprint}{'-known' if known else ''}{'-narrow' if narrow else ''}.onnx"
    path = writable(home() / "onnx") / name
    if not path.exists():
        logger.info("the encoder is written for ONNX Runtime: %s", path)
        replaced(path, lambda file: write_graph(encoder, file, known=known, narrow=narrow))
    return GraphEncoder(path)


class _Smooth(nn.Module):
    """A linear layer whose inputs are divided by factors (inputs,) that its weights were multiplied by."""

    def __init__(self, layer: nn.Linear, factors: Tensor) -> None:
        super().__init__()
        self.shrink = nn.Parameter(1 / factors)
        self.layer = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None)
        self.layer.weight.data = layer.weight.data * factors
        if layer.bias is not None:
            self.layer.bias.data = layer.bias.data

    def forward(self, inputs: Tensor) -> Tensor:
        found: Tensor = self.layer(inputs * self.shrink)
        return found


class _Graph(nn.Module):
    """The network as a function of tensors to a tensor."""

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone

    def forward(self, ids: Tensor, mask: Tensor, known: Tensor | None = None) -> Tensor:
        backbone = cast("Any", self.backbone)
        read = {"input_ids": ids} if known is None else {"inputs_embeds": backbone.get_input_embeddings()(ids) + known}
        hidden: Tensor = backbone(**read, attention_mask=mask).last_hidden_state
        return hidden


def write_graph(
    encoder: Encoder, file: IO[bytes], *, known: bool = False, narrow: bool = False, small: bool = True
) -> None:
    """Write an encoder as a graph, its tokenizer in the graph's properties.

    Args:
        encoder: the network, which is not changed.
        file: to write to.
        known: the graph takes what is added to the embeddings of tokens too.
        narrow: weights have seven bits, for processors that add products of bytes in 16 bits.
        small: weights are quantised; else the numbers are those of the network.

    Raises:
        LinnetError: its kind of network cannot be written as a graph.
    """
    backbone, left = _smooth(encoder) if small else (_copied(encoder), [])
    with tempfile.TemporaryDirectory() as folder, quietly():
        path = Path(folder) / "whole.onnx"
        nodes = _export(backbone, encoder, path, known=known)
        _compare(backbone, encoder, path, known=known)
        if small:
            kept = [node for node in nodes if any(f"{name}." in node.replace("/", ".") for name in left)]
            path = _quantise(path, kept, narrow=narrow)
        file.write(_with_properties(path, encoder, {"narrow": narrow, "small": small}))


def _copied(encoder: Encoder) -> nn.Module:
    return cast("nn.Module", copy.deepcopy(encoder.backbone)).to("cpu", torch.float32).eval()


def _quantise(whole: Path, kept: list[str], *, narrow: bool) -> Path:
    """Return the file, beside a graph, of the same with quantised weights but for those of some nodes."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped] # noqa: PLC0415 - needed once

    root = logging.getLogger()
    before, root.disabled = list(root.handlers), True  # it recommends a step that changes nothing here
    try:
        quantize_dynamic(
            whole, whole.with_name("small.onnx"), weight_type=QuantType.QInt8, per_channel=True, reduce_range=narrow,
            nodes_to_exclude=kept, extra_options={"MatMulConstBOnly": True},
        )  # fmt: skip
    finally:
        root.disabled, root.handlers = False, before  # it has added one, which would say everything twice
    return whole.with_name("small.onnx")


def _with_properties(path: Path, encoder: Encoder, more: Mapping[str, Any]) -> bytes:
    """Return a graph with what `linnet.graphs.encoder.GraphEncoder` is to know of the encoder."""
    import onnx  # noqa: PLC0415 - needed once

    wordpieces = encoder.backend
    plain(wordpieces)
    facts = {
        "weights": f"{encoder.fingerprint()}-{KIND if more['small'] else 'float32'}", "special": encoder.special,
        "size": encoder.size, "window": encoder.window,
        "parameters": sum(weight.numel() for weight in encoder.backbone.parameters()), **more,
    }  # fmt: skip
    graph = onnx.load(str(path))
    onnx.helper.set_model_props(graph, {FACTS: json.dumps(facts), TOKENIZER: wordpieces.to_str()})
    made: bytes = graph.SerializeToString()
    return made


def _smooth(encoder: Encoder) -> tuple[nn.Module, list[str]]:
    """Return a copy of the network with smooth linear layers, and the names of those that are not quantised."""
    backbone = _copied(encoder)
    largest = _largest(backbone, encoder)
    narrowing = [name for name in largest if _narrows(backbone.get_submodule(name))]
    for name, inputs in largest.items():
        layer = cast("nn.Linear", backbone.get_submodule(name))
        share = NARROWED if _narrows(layer) else SHARED
        weights = layer.weight.abs().amax(0).clamp(min=LEAST)
        factors = inputs.clamp(min=LEAST) ** share / weights ** (1 - share)
        above, _, own = name.rpartition(".")
        setattr(backbone.get_submodule(above), own, _Smooth(layer, factors.clamp(min=1e-3)))
    return backbone, narrowing[: round(PLAIN * len(narrowing))]


def _narrows(layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear) and layer.in_features > layer.out_features


def _largest(backbone: nn.Module, encoder: Encoder) -> dict[str, Tensor]:
    """Return the largest number of each input (inputs,) of the linear layers that are used, by their names."""
    found: dict[str, Tensor] = {}

    def look(name: str) -> Any:
        def hook(_: nn.Module, given: tuple[Tensor, ...]) -> None:
            seen = given[0].abs().flatten(0, -2).amax(0)
            found[name] = torch.maximum(found[name], seen) if name in found else seen

        return hook

    layers = [(name, layer) for name, layer in backbone.named_modules() if isinstance(layer, nn.Linear)]
    hooks = [layer.register_forward_pre_hook(look(name)) for name, layer in layers]
    chance = torch.Generator().manual_seed(13)
    ids = torch.randint(0, len(encoder.tokenizer), (TEXTS, TOKENS), generator=chance)
    ids[:, 0], ids[:, -1] = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    with torch.no_grad():
        _Graph(backbone)(ids, torch.ones_like(ids))
    for hook in hooks:
        hook.remove()
    return found


def _export(backbone: nn.Module, encoder: Encoder, path: Path, *, known: bool) -> list[str]:
    """Write the graph; the numbers of texts and tokens are open. Return the names of its nodes."""
    import onnx  # noqa: PLC0415 - needed once

    start, end = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    ids = torch.tensor([[start, end, end], [start, end, encoder.tokenizer.pad_token_id]])
    given = _given(encoder, ids, torch.tensor([[1, 1, 1], [1, 1, 0]]), known=known)
    axes = {0: "texts", 1: "tokens"}
    try:
        backbone.set_attn_implementation("eager")  # type: ignore[operator] # single steps, which every exporter knows
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of shapes that are constants, and an exporter that will go one day
            torch.onnx.export(
                _Graph(backbone).eval(), tuple(given.values()), str(path), input_names=list(given),
                output_names=["hidden"], dynamic_axes=dict.fromkeys((*given, "hidden"), axes),
                opset_version=OPSET, dynamo=False,
            )  # fmt: skip
    except Exception as error:  # the exporter raises whatever its parts raise
        kind = type(encoder.backbone).__name__
        raise LinnetError(f"{kind} cannot be written for ONNX Runtime ({error}); use the backend torch") from error
    return [node.name for node in onnx.load(str(path)).graph.node]


def _given(encoder: Encoder, ids: Tensor, mask: Tensor, *, known: bool) -> dict[str, Tensor]:
    """Return the inputs of a graph by name; what is known of tokens is random numbers, as large as embeddings."""
    more = {"known": 0.1 * torch.randn(*ids.shape, encoder.size, generator=torch.Generator().manual_seed(13))}
    return {"ids": ids, "mask": mask, **(more if known else {})}


def _compare(backbone: nn.Module, encoder: Encoder, path: Path, *, known: bool) -> None:
    """Refuse a graph that is right for the length it was traced with alone: loops and shapes may have become constants.

    Raises:
        LinnetError: its vectors are not those of the network.
    """
    ids = torch.randint(0, len(encoder.tokenizer), (2, LONGER), generator=torch.Generator().manual_seed(13))
    ids[ids == encoder.tokenizer.pad_token_id] = encoder.tokenizer.sep_token_id
    mask = torch.ones_like(ids)
    mask[1, LONGER // 2 :] = 0
    given = _given(encoder, ids, mask, known=known)
    with torch.no_grad():
        wanted = _Graph(backbone)(*given.values())[mask.bool()]
    run = open_session(path).run(None, {name: values.numpy() for name, values in given.items()})
    found = torch.from_numpy(run[0])[mask.bool()]
    if not (found - wanted).abs().max() <= EQUAL * wanted.abs().max():
        kind = type(encoder.backbone).__name__
        raise LinnetError(f"{kind} cannot be written for ONNX Runtime: its graph is wrong; use the backend torch")
