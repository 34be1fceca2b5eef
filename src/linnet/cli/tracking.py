"""Training on Weights & Biases (``linnet train --wandb PROJECT``): offline unless ``WANDB_MODE`` says otherwise."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from linnet.errors import MissingExtraError
from linnet.fitting import Done, Progress

__all__ = ["Tracker", "tracking"]


class Tracker:
    """Says to a run what happens; to none, where nobody wants to know."""

    def __init__(self, run: Any = None) -> None:
        self._run = run

    def tell(self, news: Progress | Done) -> None:
        """Log losses and scores under ``part/name``, and seconds of finished parts in the summary."""
        if self._run is None:
            return
        if isinstance(news, Done):
            self._run.summary[f"{news.part}/seconds"] = news.seconds
            return
        step = news.step
        scores = {} if step.score is None else {"score": step.score}
        told = {"step": step.step, **step.losses, **scores}
        self._run.log({f"{news.part}/{name}": value for name, value in told.items()})


@contextmanager
def tracking(project: str | None, config: Mapping[str, Any]) -> Iterator[Tracker]:
    """Give a tracker; its run ends with the block, as failed if that fails.

    Args:
        project: of the run; None = nothing is tracked and nothing imported.
        config: what the run is told of itself.

    Raises:
        MissingExtraError: W&B is wanted and not installed.
    """
    if project is None:
        yield Tracker()
        return
    try:
        wandb = importlib.import_module("wandb")
    except ImportError as error:
        raise MissingExtraError("wandb", extra="wandb", wanted_by="--wandb") from error
    run = wandb.init(project=project, mode=os.environ.get("WANDB_MODE", "offline"), config=dict(config))
    code = 1
    try:
        yield Tracker(run)
        code = 0
    finally:
        run.finish(exit_code=code)
