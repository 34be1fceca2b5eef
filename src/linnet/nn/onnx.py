"""An encoder run by ONNX Runtime with weights and activations of a byte each. Needs the extra ``onnx``.

The network is written as an ONNX graph and the matrices of its linear layers are quantised, activations as they come;
that happens once for the same weights, and the file is kept under LINNET_HOME. A few activations of such networks are
many times larger than all others, and would leave these few steps of the 256. So a layer's inputs are divided, and
its weights multiplied, by factors that make both of like size (SmoothQuant, Xiao et al. 2023, equation 4), measured on
random word pieces. Attention itself and the widest inputs of the first layers keep their numbers. What was tried says
docs/decisions/0009-int8-encoders.md.
"""

from __future__ import annotations

import copy
import importlib.util
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
from linnet.home import home, writable
from linnet.nn.encoder import Encoder
from linnet.nn.quiet import quietly

__all__ = ["OnnxEncoder"]

for _module in ("onnxruntime", "onnx"):
    if importlib.util.find_spec(_module) is None:
        raise MissingExtraError(_module, extra="onnx", wanted_by="an encoder run by ONNX Runtime")

logger = logging.getLogger(__name__)

OPSET = 17  # of the graph: the newest that the exporter writes
KIND = f"int8-{OPSET}"
TEXTS, TOKENS = 64, 16  # random texts that activations are measured on, and how long they are
SHARED, NARROWED = 0.6, 0.8  # how much of its size an input gives to the weights: 0.8 where it is wider than the output
VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")  # processors that add products of bytes without overflow
PLAIN = 1 / 3  # of the layers, the first, keep their numbers where inputs are wider than outputs
LEAST = 1e-5
LONGER = 48  # tokens of the texts that a graph is tried with; it is traced with 3
EQUAL = 1e-2  # of the largest number of a vector


class OnnxEncoder(Encoder):
    """An encoder whose vectors ONNX Runtime works out on the CPU, with quantised weights.

    Args:
        encoder: the network; it is not changed, and not run any more.

    Raises:
        LinnetError: its kind of network cannot be written as a graph.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.backbone, encoder.tokenizer)
        self._weights = encoder.fingerprint()
        self._session = _session(_export_once(encoder, self._weights))

    def forward(self, ids: Tensor, mask: Tensor | Mapping[str, Tensor], **extra: Any) -> Tensor:
        """Return the last hidden states (texts, tokens, size) of token ids (texts, tokens)."""
        if extra or not isinstance(mask, Tensor):
            raise LinnetError(f"ONNX Runtime takes ids and mask alone, not {', '.join(extra)}; use the backend torch")
        found = self._session.run(None, {"ids": ids.numpy(), "mask": mask.numpy()})[0]
        return torch.from_numpy(found)

    def fingerprint(self) -> str:
        """Return a hash that tells these vectors from those of the network itself."""
        return f"{self._weights}-{KIND}"


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

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden: Tensor = self.backbone(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden


def _export_once(encoder: Encoder, fingerprint: str) -> Path:
    """Return the file of the quantised graph, made if it is not there."""
    narrow = not _adds_bytes()
    path = writable(home() / "onnx") / f"{fingerprint}-{KIND}{'-narrow' if narrow else ''}.onnx"
    if not path.exists():
        logger.info("the encoder is written for ONNX Runtime: %s", path)
        replaced(path, lambda file: _write(encoder, file, narrow=narrow))
    return path


def _adds_bytes() -> bool:
    """Return whether the processor adds products of bytes exactly; others of its kind cut sums off at 16 bits."""
    found: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return found.get("architecture") != "x86_64" or any(found.get(kind) for kind in VNNI)


def _write(encoder: Encoder, file: IO[bytes], *, narrow: bool) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped] # noqa: PLC0415 - needed once

    backbone, plain = _smooth(encoder)
    with tempfile.TemporaryDirectory() as folder, quietly():
        whole, small = Path(folder) / "whole.onnx", Path(folder) / "small.onnx"
        kept = [
            node
            for node in _export(backbone, encoder, whole)
            if any(f"{name}." in node.replace("/", ".") for name in plain)
        ]
        _compare(backbone, encoder, whole)
        root = logging.getLogger()
        before, root.disabled = list(root.handlers), True  # it recommends a step that changes nothing here
        try:
            quantize_dynamic(
                whole, small, weight_type=QuantType.QInt8, per_channel=True, reduce_range=narrow, nodes_to_exclude=kept,
                extra_options={"MatMulConstBOnly": True},
            )  # fmt: skip
        finally:
            root.disabled, root.handlers = False, before  # it has added one, which would say everything twice
        file.write(small.read_bytes())


def _smooth(encoder: Encoder) -> tuple[nn.Module, list[str]]:
    """Return a copy of the network with smooth linear layers, and the names of those that are not quantised."""
    backbone = cast("nn.Module", copy.deepcopy(encoder.backbone)).to("cpu", torch.float32).eval()
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


def _export(backbone: nn.Module, encoder: Encoder, path: Path) -> list[str]:
    """Write the graph; the numbers of texts and tokens are open. Return the names of its nodes."""
    import onnx  # noqa: PLC0415 - needed once

    start, end = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    ids = torch.tensor([[start, end, end], [start, end, encoder.tokenizer.pad_token_id]])
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    axes = {0: "texts", 1: "tokens"}
    try:
        backbone.set_attn_implementation("eager")  # type: ignore[operator] # single steps, which every exporter knows
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of shapes that are constants, and an exporter that will go one day
            torch.onnx.export(
                _Graph(backbone).eval(), (ids, mask), str(path), input_names=["ids", "mask"],
                output_names=["hidden"], dynamic_axes={"ids": axes, "mask": axes, "hidden": axes},
                opset_version=OPSET, dynamo=False,
            )  # fmt: skip
    except Exception as error:  # the exporter raises whatever its parts raise
        kind = type(encoder.backbone).__name__
        raise LinnetError(f"{kind} cannot be written for ONNX Runtime ({error}); use the backend torch") from error
    return [node.name for node in onnx.load(str(path)).graph.node]


def _compare(backbone: nn.Module, encoder: Encoder, path: Path) -> None:
    """Refuse a graph that is right for the length it was traced with alone: loops and shapes may have become constants.

    Raises:
        LinnetError: its vectors are not those of the network.
    """
    ids = torch.randint(0, len(encoder.tokenizer), (2, LONGER), generator=torch.Generator().manual_seed(13))
    ids[ids == encoder.tokenizer.pad_token_id] = encoder.tokenizer.sep_token_id
    mask = torch.ones_like(ids)
    mask[1, LONGER // 2 :] = 0
    with torch.no_grad():
        wanted = _Graph(backbone)(ids, mask)[mask.bool()]
    found = torch.from_numpy(_session(path).run(None, {"ids": ids.numpy(), "mask": mask.numpy()})[0])[mask.bool()]
    if not (found - wanted).abs().max() <= EQUAL * wanted.abs().max():
        kind = type(encoder.backbone).__name__
        raise LinnetError(f"{kind} cannot be written for ONNX Runtime: its graph is wrong; use the backend torch")


def _session(path: Path) -> Any:
    import onnxruntime  # type: ignore[import-untyped] # noqa: PLC0415 - takes a moment to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise LinnetError(f"{path} cannot be opened ({error}); delete it to have it made again") from error
