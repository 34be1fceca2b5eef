from __future__ import annotations

from pathlib import Path

import pytest
from tests.tiny_models import tiny_bert

from linnet.nn.encoder import Encoder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny BERT."""
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def encoder(tiny: Path) -> Encoder:
    """A tiny encoder; not to be changed."""
    return Encoder.load(tiny)
