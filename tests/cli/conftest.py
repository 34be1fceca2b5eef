from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from linnet.cli import main
from linnet.kb import KnowledgeBase


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process and return its exit code and output."""

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["linnet", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty LINNET_HOME."""
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def recipe(tmp_path: Path, kb: KnowledgeBase) -> Path:
    """A recipe over the small knowledge base."""
    path = tmp_path / "small.toml"
    path.write_text(f'kb = "{kb.path}"\n[[pipeline]]\nuse = "dictionary"\n[[pipeline]]\nuse = "decide"\nfold = false\n')
    return path
