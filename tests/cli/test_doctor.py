"""What ``linnet doctor`` says of extras, folders and knowledge bases; completion in a shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from linnet.cli.diagnosis import CORE, EXTRAS, PACKAGED, diagnose
from linnet.data import Concept, Name
from linnet.detect.dictionary import Dictionary
from linnet.errors import how_to_install
from linnet.home import kb_named
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def healthy(home: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one knowledge base."""
    monkeypatch.delenv("LINNET_DATA", raising=False)
    monkeypatch.delenv("LINNET_ENDPOINT", raising=False)
    kb_named("small").parent.mkdir(parents=True)
    shutil.copy(kb.path, kb_named("small"))
    return home


def told(run: Run, code: int = 0) -> Any:
    done = run("doctor", "--json")
    assert done.code == code, done.err
    return json.loads(done.out)


def test_it_tells_what_is_here(healthy: Path, run: Run, kb: KnowledgeBase) -> None:
    found = told(run)
    assert found["problems"] == []
    assert found["folders"]["LINNET_HOME"]["path"] == str(healthy)
    [small] = found["knowledge_bases"]
    assert (small["name"], small["version"], small["concepts"], small["side_files"]) == ("small", kb.version, 10, [])
    assert set(found["extras"]) == set(EXTRAS)
    shown = run("doctor")
    assert shown.code == 0
    assert "nothing is broken" in shown.out
    assert kb.version in shown.out


def test_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    def names(lines: list[str]) -> set[str]:
        found = {re.split(r"[<>=\[ ]", line)[0] for line in lines}
        return found - {"linnet"}

    assert set(EXTRAS) == extras.keys() - {"dev"}
    assert {name: set(extra.packages) for name, extra in EXTRAS.items()} == {
        name: names(lines) for name, lines in extras.items() if name != "dev"
    }
    assert set(CORE) == names(project["dependencies"])


def test_missing_extras_come_with_what_installs_them(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    real = metadata.version

    def version(name: str) -> str:
        if name == "optuna":
            raise metadata.PackageNotFoundError(name)
        return "4.57.1" if name == "transformers" else real(name)

    monkeypatch.setattr("linnet.cli.diagnosis.metadata.version", version)
    extras = diagnose()["extras"]
    assert extras["tune"]["missing"] == {"optuna": "not installed"}
    assert extras["tune"]["install"] == how_to_install("tune")
    assert extras["neural"]["missing"].get("transformers") == "has version 4.57.1, expected >=5"


def test_side_files_follow_edits(healthy: Path, run: Run) -> None:
    Pipeline(Dictionary(kb=KnowledgeBase.open("small")))("Seizures.")
    [small] = told(run)["knowledge_bases"]
    assert [file["state"] for file in small["side_files"]] == ["current"]
    with KnowledgeBase.edit("small") as change:
        change.add(Concept("X:9", (Name("Nine"),)))
    [small] = told(run)["knowledge_bases"]
    assert [file["state"] for file in small["side_files"]] == ["of an earlier version: follows at next use"]
    assert "to be renewed at next use" in run("doctor").out


def test_what_is_broken_is_told_and_ends_with_1(healthy: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kb_named("small")
    path.write_bytes(path.read_bytes()[:5000])
    monkeypatch.setenv("LINNET_DATA", str(healthy / "nowhere"))
    monkeypatch.setenv("LINNET_ENDPOINT", "nonsense")
    problems = told(run, code=1)["problems"]
    assert [problem.split(" ")[0] for problem in problems] == ["LINNET_DATA:", "knowledge", "LINNET_ENDPOINT:"]
    shown = run("doctor")
    assert shown.code == 1
    assert "broken: knowledge base small:" in shown.out


def test_encoders_of_the_cache_are_found(healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    for name, weights in (("whole", "model.safetensors"), ("pickled", "pytorch_model.bin")):
        snapshot = tmp_path / "cache" / f"models--someone--{name}" / "snapshots" / "0"
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text("{}")
        (snapshot / weights).write_text("")
    names = [encoder["name"] for encoder in diagnose()["encoders"]]
    assert "someone/whole" in names
    assert "someone/pickled" not in names


def test_the_packaged_encoder_is_the_one_there_is() -> None:
    source = (ROOT / "src" / "linnet" / "nn" / "checkpoints.py").read_text(encoding="utf-8")
    assert all(f'"{name}"' in source for name in PACKAGED)
    assert source.count("Packaged(") == 2, "its class, and the one encoder"


def test_nothing_heavy_is_imported(healthy: Path) -> None:
    code = (
        "import sys; from linnet.cli.diagnosis import diagnose; diagnose(); "
        "heavy = {'torch', 'transformers', 'huggingface_hub', 'mcp', 'spacy', 'sqlalchemy'}; "
        "sys.exit(str(heavy & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"


@pytest.mark.slow
def test_devices_ask_pytorch(healthy: Path) -> None:
    pytest.importorskip("torch")
    assert "cpu" in diagnose(devices=True)["devices"]["found"][-1]


def test_devices_that_cannot_be_asked_are_told(healthy: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("LINNET_DEVICE", "banana")
    ended = run("doctor", "--devices")
    assert (ended.code, "broken: devices: device 'banana'" in ended.out) == (1, True)
    monkeypatch.setitem(sys.modules, "linnet.nn.device", None)  # as where a library of PyTorch is missing
    assert "devices: import of" in diagnose(devices=True)["problems"][-1]


@pytest.mark.slow
def test_completion_works_in_bash(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    program = Path(sys.executable).with_name("linnet")
    if bash is None or not program.exists():
        pytest.skip("needs bash, and linnet as a program")
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}

    def say(script: str) -> str:
        done = subprocess.run(
            [bash, "--norc", "-c", script], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # a second command: else bash becomes linnet, which looks for the shell that it was called from
    assert "bash completion installed" in say("linnet --install-completion bash; exit $?")
    asks = "source ~/.bashrc; complete -p linnet; COMP_WORDS=(linnet kb bu); COMP_CWORD=2; _linnet_completion linnet; "
    assert say(f'{asks} echo "${{COMPREPLY[@]}}"').splitlines()[-1] == "build"
