"""``linnet serve --link`` as a command."""

from __future__ import annotations

import importlib
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from uvicorn.supervisors import Multiprocess

import linnet
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.serve.metrics import FOLDER
from linnet.serve.run import _Together
from tests.serve.running import serving

KEY = "0123456789abcdef"


@pytest.mark.slow
def test_several_processes_answer_and_count_together(local: Pipeline, kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"me {KEY}\n")
    (tmp_path / "mine.toml").write_text('[[pipeline]]\nuse = "dictionary"\n[[pipeline]]\nuse = "decide"\n')
    options = ("dictionary", tmp_path / "mine.toml", "--kb", kb.path, "--api-keys", tmp_path / "keys", "--workers", 2)
    with serving(*options) as (process, port):
        remote = linnet.load(f"http://localhost:{port}", kb=kb, api_key=KEY)
        docs = list(linnet.read(Path(linnet.__file__).parent / "demo" / "notes"))
        assert remote(docs) == local(docs)
        assert linnet.load(f"http://localhost:{port}#mine", api_key=KEY)("Fits.")
        asked = urllib.request.Request(f"http://localhost:{port}/metrics", headers={"X-API-Key": KEY})
        with urllib.request.urlopen(asked) as answer:
            assert 'linnet_documents_total{pipeline="dictionary"} 12.0' in answer.read().decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.slow
def test_a_pipeline_that_there_is_not_ends_all_processes(kb: KnowledgeBase) -> None:
    for workers in ("1", "2"):
        command = [sys.executable, "-m", "linnet", "serve", "--link", "dictionray", "--port", "0", "--workers", workers]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert done.stderr.count("linnet: error: dictionray: 1 problem") == 1
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kb", "hpo"], "--kb goes with --link"), (["--workers", "2"], "--workers goes with --link"),
        (["--link", "hpo", "--database", "x"], "--database and --oidc are of the workbench"),
        (["--link", "--host", "0.0.0.0", "--port", "0"], "without keys, the server listens at this machine alone"),
        (["--link", "hpo", "--data", "site", "--without-keys"], "people have tokens"),
        (["--link", "hpo", "--data", "site", "--workers", "2"], "--workers is of the linking server alone"),
        (["--link", "hpo", "--api-keys", "none"], "none"), ([], "linnet serve --link serves linking alone"),
        (["--link", "hpo", "--port", "{}"], "is in use"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        given = [option.format(other.getsockname()[1]) for option in options]
        done = CliRunner().invoke(importlib.import_module("linnet.cli.main").app, ["serve", *given])
    assert isinstance(done.exception, LinnetError)
    assert re.search(said, str(done.exception))
    assert list(tmp_path.iterdir()) == []


def test_what_waited_in_a_process_that_died_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for name in ("gauge_livesum_4711.db", "counter_4711.db"):
        (tmp_path / name).touch()
    together: Any = object.__new__(_Together)
    together.processes = [SimpleNamespace(pid=4711)]
    replaced = [SimpleNamespace(pid=4712)]
    monkeypatch.setattr(Multiprocess, "keep_subprocess_alive", lambda self: setattr(self, "processes", replaced))
    together.keep_subprocess_alive()
    assert [path.name for path in tmp_path.iterdir()] == ["counter_4711.db"]
