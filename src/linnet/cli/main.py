"""The commands put together, and what becomes of their errors."""

from __future__ import annotations

import io
import sys

import typer

from linnet.cli import (
    bench,
    bench_ablation,
    bench_dense,
    bench_encode,
    bench_evaluate,
    bench_lexical,
    bench_recognition,
    bench_rerank,
    bench_rerankers,
    corpus,
    evaluate,
    kb,
    link,
    reproduce,
    train,
    tune,
)
from linnet.cli.common import TERMINAL, App, show_version
from linnet.cli.terminal import stop
from linnet.errors import LinnetError
from linnet.reporter import reporting

__all__ = ["app", "run"]

app = App(
    name="linnet",
    help="Link the diseases, drugs and phenotypes in text to the concepts of a terminology, offline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("link")(link.link)
app.add_typer(kb.app, name="kb")
app.add_typer(corpus.app, name="corpus")
app.command("train")(train.train)
app.command("tune")(tune.tune)
app.command("evaluate")(evaluate.evaluate)
app.command("reproduce")(reproduce.reproduce)
bench.app.command("ablation")(bench_ablation.ablation)
bench.app.command("dense")(bench_dense.dense)
bench.app.command("encode")(bench_encode.encode)
bench.app.command("evaluate")(bench_evaluate.evaluate)
bench.app.command("lexical")(bench_lexical.lexical)
bench.app.command("recognition")(bench_recognition.recognition)
bench.app.command("rerank")(bench_rerank.rerank)
bench.app.command("rerankers")(bench_rerankers.rerankers)
app.add_typer(bench.app, name="bench")


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
        stop(f"linnet: error: {error}", 2)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        where = f"{error.filename}: " if error.filename else ""
        stop(f"linnet: error: {where}{error.strerror or error}", 2)
