"""Trained networks as graphs that ONNX Runtime runs on the CPU, without PyTorch. Needs the extra ``onnx``.

`linnet.nn.onnx` writes them, with PyTorch; here they are read and run, with NumPy, ONNX Runtime and a tokenizer alone.
"""

from __future__ import annotations

import importlib.util

from linnet.errors import MissingExtraError

__all__ = ()

for _module in ("onnxruntime", "tokenizers"):
    if importlib.util.find_spec(_module) is None:
        raise MissingExtraError(_module, extra="onnx", wanted_by="a network run by ONNX Runtime")
