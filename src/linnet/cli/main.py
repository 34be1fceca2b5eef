"""The commands put together, and what happens when one of them ends early."""

from __future__ import annotations

import sys

import typer

from linnet.cli import bench, evaluate, kb, link
from linnet.cli.common import show_version
from linnet.errors import LinnetError

__all__ = ["app", "main"]

INTERRUPTED = 130

app = typer.Typer(
    name="linnet",
    help="Link the diseases, drugs and phenotypes in text to the concepts of a terminology, offline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("link")(link.link)
app.add_typer(kb.app, name="kb")
app.command("evaluate")(evaluate.evaluate)
app.add_typer(bench.app, name="bench")


@app.callback()
def linnet(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Print the version."),
) -> None:
    """Link the diseases, drugs and phenotypes in text to the concepts of a terminology, offline."""


def main() -> None:
    """Run the command line; the console script's entry point."""
    try:
        app()
    except LinnetError as error:
        _stop(f"linnet: error: {error}", 2)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # what Typer makes of Ctrl-C
            _stop(
                "linnet: interrupted; no file was changed, and what went to standard output is incomplete", INTERRUPTED
            )
        raise


def _stop(message: str, code: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)
