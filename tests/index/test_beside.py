"""Files beside a knowledge base: made once, brought up to date, waited for, as good as none when damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from linnet.arrays_file import ArraysWriter, Stored, replaced
from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.home import hold
from linnet.index.beside import Beside, Earlier
from linnet.kb import KnowledgeBase
from linnet.kb_build import build
from linnet.kb_edit import edit

READ: list[str] = []  # every name that was read from a knowledge base


class Lengths(Beside[Any]):
    """How long names are, by their rows; if they are longer than some length."""

    WHAT: ClassVar[str] = "list of lengths"
    SUFFIX: ClassVar[str] = "lengths"
    MAGIC: ClassVar[bytes] = b"lengths\n"
    ARRAYS: ClassVar[tuple[str, ...]] = ("rows", "concepts", "lengths")
    ANEW: ClassVar[float] = 0.25

    def __init__(self, kb: KnowledgeBase, longer: int = 0, rules: int = 1) -> None:
        super().__init__(kb, {"longer": longer}, {"rules": rules})

    def write(self, writer: ArraysWriter, concepts: Sequence[int] | None, earlier: Earlier[Any] | None) -> dict[str, Any]:
        names = [name for name in self.kb.names(concepts) if len(name.text) > self.about["longer"]]
        READ.extend(name.text for name in names)
        rows = np.array([(name.row, name.concept, len(name.text)) for name in names], np.int32).reshape(-1, 3)
        if earlier is not None:
            rows = np.concatenate([rows, earlier.content["all"][earlier.stay]])
        for place, column in enumerate(self.ARRAYS):
            writer.put(column, rows[:, place])
        return {"count": len(rows)}

    def read(self, stored: Stored) -> Any:
        columns = [stored.arrays[name] for name in self.ARRAYS]
        return {"all": np.stack(columns, axis=1)[: stored.header["count"]]}
