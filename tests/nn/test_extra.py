from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys

import pytest

import linnet.nn
from linnet.errors import MissingExtraError, how_to_install


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=re.escape(f"not installed: {how_to_install('neural')}")):
        runpy.run_path(str(linnet.nn.__file__))


def test_nothing_is_told_to_hugging_face() -> None:
    # in a process of its own: what other tests have imported first does not count
    code = "import linnet.nn; from huggingface_hub import constants; assert constants.HF_HUB_DISABLE_TELEMETRY"
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
