"""Networks: encoders, the texts they read and the vectors they give. Needs the extra ``neural``.

Modules are imported one by one; importing any of them without the extra says which package is missing.
"""

from __future__ import annotations

import importlib.util
import os

from linnet.errors import MissingExtraError

__all__ = ()

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when huggingface_hub is imported, which comes later
for _module in ("torch", "transformers", "tokenizers", "safetensors"):
    if importlib.util.find_spec(_module) is None:
        raise MissingExtraError(_module, extra="neural", wanted_by="an encoder")
