"""Who is told of warnings and of progress."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import linnet
from linnet.corpora import read
from linnet.data import Document
from linnet.errors import LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Pipeline, Stage
from linnet.recipes.config import load
from linnet.reporter import Reporter, reporting, tell, warn


@dataclass
class Slow(Stage):
    """Tells of each document while another thread does the same."""

    together: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        for number, doc in enumerate(docs, 1):
            self.together.wait(20)
            tell(doc.id, number, len(docs))
            warn(f"{doc.id} is odd")
            self.together.wait(20)
        return list(docs)


def test_each_thread_has_its_own(pool: ThreadPoolExecutor, kb: KnowledgeBase) -> None:
    together = threading.Barrier(2)

    def link(who: str) -> tuple[list[tuple[str, int, int]], list[str]]:
        progress: list[tuple[str, int, int]] = []
        warned: list[str] = []
        linker = Pipeline(Slow(together), *load("dictionary", kb=kb).parts)
        docs = [Document.of("A seizure.", f"{who}{number}") for number in range(20)]
        with linnet.reporting(linnet.Reporter(lambda *news: progress.append(news), warned.append)):
            linker(docs[:10])
            list(linker.stream(docs[10:], batch=5))
        return progress, warned

    for who, (progress, warned) in zip("ab", pool.map(link, "ab"), strict=True):
        assert warned == [f"{who}{number} is odd" for number in range(20)]
        assert progress[10:] == [(f"{who}{10 + n}", n % 5 + 1, 5) for n in range(10)]


def test_by_default_python_is_told_whose_line_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    with pytest.warns(LinnetWarning, match="is empty, it gives no documents") as caught:
        list(read(tmp_path / "a.jsonl"))
    assert caught[0].filename == __file__
    tell("pairs", 1, 2)


def test_the_one_before_comes_back() -> None:
    outer: list[str] = []
    inner: list[str] = []
    with reporting(Reporter(warn=outer.append)), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="stop"), reporting(Reporter(warn=inner.append)):
            warn("one")
            raise ValueError("stop")
        warn("two")
    assert (outer, inner) == (["two"], ["one"])
