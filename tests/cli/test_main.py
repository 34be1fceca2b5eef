from __future__ import annotations

import pytest

from linnet import __version__

from .conftest import Run

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
    assert run("lnik").code == 2
    assert run("link", "--no-such").code == 2
