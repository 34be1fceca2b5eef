"""Small knowledge bases for tests that compare several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.data import Concept
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

Make = Callable[..., KnowledgeBase]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Build a knowledge base of the given concepts, in a file of its own."""
    count = iter(range(1000))

    def made(*concepts: Concept) -> KnowledgeBase:
        return build(concepts, tmp_path / f"{next(count)}.kb")

    return made
