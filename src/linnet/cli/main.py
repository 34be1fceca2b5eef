"""All commands in one application, and the handling of their errors."""

from __future__ import annotations

import importlib
import io
import shlex
import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from linnet.cli.common import TERMINAL, App, show_version
from linnet.cli.terminal import stop
from linnet.errors import NO_FILE, FormatError, LinnetError, did_you_mean
from linnet.home import near_name
from linnet.reporter import reporting

__all__ = ["app", "run"]

# Where each command is: imported when it is called, so that linking does not wait for benchmarks and training.
COMMANDS = {
    "link": "linnet.cli.link:link",
    "query": "linnet.cli.query:query",
    "kb": "linnet.cli.kb:app",
    "corpus": "linnet.cli.corpus:app",
    "train": "linnet.cli.train:train",
    "tune": "linnet.cli.tune:tune",
    "evaluate": "linnet.cli.evaluate:evaluate",
    "reproduce": "linnet.cli.reproduce:reproduce",
    "serve": "linnet.cli.serve:app",
    "worker": "linnet.cli.worker:worker",
    "push": "linnet.cli.hub:push",
    "pull": "linnet.cli.hub:pull",
    "mcp": "linnet.cli.mcp:mcp",
    "doctor": "linnet.cli.doctor:doctor",
    "bench": "linnet.bench.app:app",
}


class Commands(TyperGroup):
    """A group whose commands are imported by `get_command`; ``--help`` imports all."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands, in the order of ``--help``."""
        return list(COMMANDS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is named first; of one that there is not, say what may have been meant."""
        if args and args[0] not in COMMANDS:
            ctx.fail(f"No such command {args[0]!r}{_meant(args[0])}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        """Import a command, or return None where there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        found = getattr(importlib.import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            alone = App(add_completion=False)
            alone.command(cmd_name)(found)
            found = alone
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command


def _meant(name: str) -> str:
    """Return what may have been meant by a command that there is not: another one, or a text or file to link."""
    if " " in name or Path(name).exists():
        return f"; to link a text or a file: linnet link {shlex.quote(name)}"
    return did_you_mean(name, COMMANDS) or f"; there are: {', '.join(COMMANDS)}"


app = App(
    cls=Commands,
    name="linnet",
    help="Link the diseases, drugs and phenotypes in text to the concepts of a terminology, offline.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def linnet(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Print the version."),
) -> None:
    """Link the diseases, drugs and phenotypes in text to the concepts of a terminology, offline."""


def run() -> None:
    """Run a command; errors that a user can mend end it with exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 shows escapes, not a traceback
    try:
        with reporting(TERMINAL):
            app()
    except LinnetError as error:
        hint = near_name(Path(error.path)) if isinstance(error, FormatError) and error.problem == NO_FILE else ""
        stop(f"linnet: error: {error}{hint}", 2)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        where = f"{error.filename}: " if error.filename else ""
        stop(f"linnet: error: {where}{error.strerror or error}", 2)
