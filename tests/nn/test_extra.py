from __future__ import annotations

import os
import runpy
import sys

import pytest

import linnet.nn
from linnet.errors import MissingExtraError


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"needs torch, which is not installed: pip install 'linnet\[neural\]'"):
        runpy.run_path(str(linnet.nn.__file__))


def test_nothing_is_told_to_hugging_face() -> None:
    from huggingface_hub import constants

    assert constants.HF_HUB_DISABLE_TELEMETRY
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"]
