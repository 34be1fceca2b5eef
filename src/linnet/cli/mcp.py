"""``linnet mcp``: tools for language models on standard input and output."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from linnet.cli.common import Quiet, Verbose, listen
from linnet.recipes.config import load
from linnet.recipes.linking import default_recipe

__all__ = ["mcp"]

logger = logging.getLogger(__name__)


def mcp(
    kb: Annotated[str | None, typer.Option(help="Knowledge base: a name (hpo) or a file.")] = None,
    pipeline: Annotated[
        str | None, typer.Option(help="Recipe or trained folder. Default: the dictionary of the knowledge base.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Serve the tools link, search, concept and path to a language model, by the Model Context Protocol over stdio."""
    from linnet.serve.mcp_server import serve  # noqa: PLC0415 - all others do without the extra

    listen(quiet=quiet, verbose=verbose)
    if sys.stdin.isatty():
        logger.info("a program that starts this server talks to it on standard input; end it with Ctrl-C")
    serve(load(pipeline or default_recipe(kb), kb=kb))
