"""A tiny encoder. What needs torch is imported by the fixtures: without it the tests are skipped one by one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from linnet.nn.encoder import Encoder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny BERT."""
    from tests.tiny_models import tiny_bert

    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def encoder(tiny: Path) -> Encoder:
    """A tiny encoder; not to be changed."""
    from linnet.nn.encoder import Encoder

    return Encoder.load(tiny)
