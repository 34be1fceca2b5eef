"""Pages to follow with a shell: their commands run one after the other, and print what the page says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
DRUGS = "id\tname\nRXCUI:40254\tvalproate\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LINNET_HOME with the HPO, and a table in the place of RxNorm, which is downloaded."""
    home = tmp_path_factory.mktemp("home")
    (home / "drugs.tsv").write_text(DRUGS, encoding="utf-8")
    for args in (["hpo", "--quiet"], ["table", str(home / "drugs.tsv"), "-o", "rxnorm"]):
        command = [sys.executable, "-m", "linnet", "kb", "build", *args[1:], "--from", args[0]]
        subprocess.run(command, env=os.environ | {"LINNET_HOME": str(home)}, check=True, capture_output=True)
    return home


def plain(text: str) -> str:
    """Return a text without the lines of tables and with single blanks."""
    return " ".join(re.sub(r"[─-╿]", " ", text).split())


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tutorial.md", "how-to.md"])
def test_commands_run_and_print_what_the_page_says(page: str, home: Path, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    (tmp_path / "src").symlink_to(ROOT / "src")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, args in {"linnet": "-m linnet", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {args} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    environment = os.environ | {"LINNET_HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "200"}
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert blocks
    for commands, shown in blocks:
        done = subprocess.run(
            ["sh", "-ec", commands], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        printed = plain(done.stdout + done.stderr)
        for line in re.split(r"\n|…", shown):
            assert plain(line) in printed, commands
