"""Training on Weights & Biases (``linnet train --wandb PROJECT``) and TensorBoard (``--tensorboard DIR``).

W&B is offline unless ``WANDB_MODE`` says otherwise.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from linnet.errors import MissingExtraError
from linnet.fit.fitting import Done, Progress
from linnet.home import writable

__all__ = ["Tracker", "tracking"]


class Tracker:
    """Logs training to W&B and/or TensorBoard, or to neither."""

    def __init__(self, run: Any = None, writer: Any = None) -> None:
        self._run, self._writer = run, writer

    def tell(self, news: Progress | Done) -> None:
        """Log losses, scores, learning rate and epoch under ``part/name``, and seconds of finished parts."""
        if isinstance(news, Done):
            if self._run is not None:
                self._run.summary[f"{news.part}/seconds"] = news.seconds
            if self._writer is not None:
                self._writer.add_scalar(f"{news.part}/seconds", news.seconds, step=0)
            return
        step = news.step
        more = {"score": step.score, "lr": step.lr, "epoch": step.epoch}
        told = {**step.losses, **{name: value for name, value in more.items() if value is not None}}
        if self._run is not None:
            self._run.log({f"{news.part}/{name}": value for name, value in {"step": step.step, **told}.items()})
        if self._writer is not None:
            for name, value in told.items():
                self._writer.add_scalar(f"{news.part}/{name}", value, step=step.step)


@contextmanager
def tracking(project: str | None, config: Mapping[str, Any], *, folder: Path | None = None) -> Iterator[Tracker]:
    """Give a tracker; its W&B run ends with the block, as failed if that fails.

    Args:
        project: of the W&B run; None = do not use or import W&B.
        config: settings of the run, for W&B.
        folder: for TensorBoard's files; None = there are none, and it is not imported.

    Raises:
        MissingExtraError: W&B or TensorBoard is wanted and not installed.
    """
    with ExitStack() as stack:
        writer = None if folder is None else stack.enter_context(_tensorboard(folder))
        run = None if project is None else stack.enter_context(_wandb(project, config))
        yield Tracker(run, writer)


@contextmanager
def _wandb(project: str, config: Mapping[str, Any]) -> Iterator[Any]:
    try:
        wandb = importlib.import_module("wandb")
    except ImportError as error:
        raise MissingExtraError("wandb", extra="wandb", wanted_by="--wandb") from error
    run = wandb.init(project=project, mode=os.environ.get("WANDB_MODE", "offline"), config=dict(config))
    code = 1
    try:
        yield run
        code = 0
    finally:
        run.finish(exit_code=code)


@contextmanager
def _tensorboard(folder: Path) -> Iterator[Any]:
    try:
        summary = importlib.import_module("tensorboard.summary")
    except ImportError as error:
        raise MissingExtraError("tensorboard", extra="tensorboard", wanted_by="--tensorboard") from error
    writer = summary.Writer(str(writable(folder)))
    try:
        yield writer
    finally:
        writer.close()
