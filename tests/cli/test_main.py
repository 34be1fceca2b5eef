from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from linnet import __version__
from linnet.data import Concept, Name
from linnet.kb.build import build

from .conftest import Run

FORGED = "e\x1b]0;x\x07\nlinnet: error: forged"  # a file name, an id, a type …

COMMANDS = [("link",), ("kb",), ("evaluate",), ("bench",), ("kb", "build"), ("kb", "search"), ("bench", "dictionary")]


def test_version(run: Run) -> None:
    assert run("--version").out == f"linnet {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(run: Run, command: tuple[str, ...]) -> None:
    done = run(*command, "--help")
    assert done.code == 0
    assert "Usage" in done.out


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    assert "link" in run().out + run().err


def test_unknown_commands_and_options(run: Run) -> None:
    def said(command: str) -> str:
        return " ".join(run(command).err.replace("│", " ").split())  # whatever the width of the terminal

    assert run("lnik").code == 2
    assert "did you mean 'link'?" in said("lnik")
    assert "there are: link, query" in said("bogus")
    assert "linnet link 'No fits'" in said("No fits")
    assert run("link", "--no-such").code == 2


def test_completion_is_installed_by_the_whole_command_alone(run: Run) -> None:
    for command in ("kb", "corpus", "bench"):
        assert "--install-completion" not in run(command, "--help").out


def test_no_message_moves_the_cursor_or_passes_for_another(run: Run, tmp_path: Path, home: Path) -> None:
    terms, notes, letters = tmp_path / f"{FORGED}.obo", tmp_path / f"{FORGED}.jsonl", tmp_path / FORGED
    terms.write_text("[Term]\nid: X:1\x1b[2J\nname: rash\nreplaced_by: X:2\nreplaced_by: X:3\nis_obsolete: true\n\n"
                     "[Term]\nid: X:4\nname: fits\n")  # fmt: skip
    notes.write_text("")
    letters.mkdir()
    (letters / "a.txt").write_text("Fits.")
    (letters / f"a.{FORGED}").write_text("Fits.")
    hostile = build([Concept("X:1", (Name("fits"),), types=(FORGED,))], tmp_path / f"{FORGED}.kb")
    for command in (
        ("kb", "build", terms, "--from", "obo", "-o", home / f"{FORGED}.kb"),  # warnings, and what was made
        ("kb", "info", hostile.path),
        ("kb", "search", hostile.path, FORGED),
        ("kb", "export", hostile.path, "-o", tmp_path / f"{FORGED}.tsv"),
        ("kb", "add", hostile.path, "--id", "X:1", "--type", FORGED),
        ("link", letters, "--kb", hostile.path, "-o", tmp_path / f"{FORGED}.csv"),  # the log
        ("link", notes, "--kb", hostile.path),
        ("link", terms, "--kb", hostile.path),  # an error
        ("evaluate", letters, letters),
        ("reproduce", terms),  # an error of several lines
    ):
        done = run(*command)
        lines = (done.out + done.err).splitlines()
        assert lines, command
        assert not any("\x1b" in line or "\x07" in line or line.startswith("linnet: error: forged") for line in lines)


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_closed_streams(run: Run, recipe: Path, monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    monkeypatch.setattr(sys, stream, None)
    expected = {
        "stdin": (2, "linnet: error: standard input: is closed: pipe a text to it, or name a file to read\n"),
        "stdout": (2, "linnet: error: standard output: is closed: name a file to write to\n"),
        "stderr": (0, ""),
    }
    source = "-" if stream == "stdin" else "Seizures today."
    done = run("link", source, "--pipeline", recipe, "--to", "jsonl")
    assert (done.code, done.err) == expected[stream]


def test_too_little_memory_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MemoryError("Unable to allocate 3.00 TiB")

    monkeypatch.setattr(importlib.import_module("linnet.cli.main"), "run", fail)
    done = run("kb", "list")
    assert done.code == 2
    assert done.err.startswith("linnet: error: not enough memory (Unable to allocate 3.00 TiB): ")


def test_what_takes_one_value_is_given_once(run: Run, recipe: Path) -> None:
    for command, said in (
        (("evaluate", "a", "b", "--kb", "c", "--kb", "d"), "--kb takes one value but was given 2, the last 'd'"),
        (("link", "Fits.", "-o", "a.csv", "--output=b.csv", "-oc.csv"), "--output takes one value but was given 3"),
        (("kb", "search", "hpo", "fits", "--limit", 1, "--limit", 2), "--limit takes one value"),
        (("corpus", "stats", "a", "--data", "b", "--data", "b"), "--data takes one value"),
        (("bench", "dictionary", "--kb", "a", "--kb", "b"), "--kb takes one value"),
    ):
        done = run(*command)
        assert (done.code, done.err.startswith(f"linnet: error: {said}")) == (2, True), done.err
    several = ("--set", "decide.threshold=0.1", "--set", "decide.fold=false", "-q", "-q")
    assert run("link", "Fits today.", "--pipeline", recipe, *several).code == 0


def test_what_is_written_is_called_alike() -> None:
    commands: Any = typer.main.get_command(importlib.import_module("linnet.cli.main").app)
    for place in ("link", "train", "tune", "evaluate", "reproduce", "kb build", "kb subset", "kb diff", "kb export"):
        command = functools.reduce(lambda group, name: group.get_command(None, name), place.split(), commands)
        assert ["--output", "-o"] in [option.opts for option in command.params], place
