"""Keeps the libraries below from talking: reports, progress bars, warnings about forks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from logging import ERROR

__all__ = ["quietly"]

PARALLEL = "TOKENIZERS_PARALLELISM"
_set_for_fork: list[str] = []


@contextmanager
def quietly() -> Iterator[None]:
    """Keep Transformers' reports and progress bars off, and put its settings back afterwards.

    What such a report would say, `linnet.nn.encoder.Encoder.load` checks.
    """
    from transformers.utils import logging  # noqa: PLC0415 - slow to import

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(ERROR)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _before_fork() -> None:
    """Switch threads of tokenizers off for a child: they do not survive a fork, and the library warns on stderr."""
    if PARALLEL not in os.environ:
        os.environ[PARALLEL] = "false"
        _set_for_fork.append(PARALLEL)


def _after_fork() -> None:
    if _set_for_fork:
        del os.environ[_set_for_fork.pop()]


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)
