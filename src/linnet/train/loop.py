"""The one gradient loop: AdamW on the sum of named losses, on one or several processes, resumed where it stopped.

A network says what its examples and losses are (`Trainable`); everything else about learning is the same for all:
order, schedule, accumulation, clipping, mixed precision, evaluation, early stopping, checkpoints, seeds. The loop is a
generator of steps: its caller prints, logs, and stops it by closing it.

The same arguments give the same weights, bit for bit on a CPU, whether or not the training was interrupted. Several
processes divide each step's batch, so that their result is that of one but for rounding (and dropout).
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from linnet.data import Document
from linnet.nn.device import choose_device
from linnet.pipeline.component import Step
from linnet.train.args import TrainArgs
from linnet.train.memory import keep_few_kernels, trim
from linnet.train.model import Trainable, divided_groups, parameter_groups
from linnet.train.randomness import Randomness
from linnet.train.run import Run, Score

__all__ = ["Score", "Trainable", "divided_groups", "parameter_groups", "train"]

logger = logging.getLogger(__name__)

TRIM_EVERY = 10  # steps


def train(
    model: Trainable,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    score: Score | None,
    args: TrainArgs,
    folder: Path | None = None,
    key: str = "",
) -> Iterator[Step]:
    """Train a network in place, one step at a time.

    When the generator ends or is closed, the best weights (with ``keep_best`` and a score) are in the network, and it
    is in evaluation mode. An interruption (SIGINT, SIGTERM) ends it with a checkpoint after the current step. Between
    steps the global random states of Python, numpy and torch are the caller's own.

    Args:
        model: the network, its examples and its losses.
        docs: training documents; may be empty if the model has examples of its own.
        dev: documents for the score.
        score: gives the dev score, higher is better; with several processes each calls it, and the first one's counts.
        args: how to train.
        folder: for checkpoints; a training that was interrupted goes on exactly where it was. Several processes must
            see the same folder. None = nothing is written.
        key: a hash of all else that the result depends on: documents, knowledge base, the weights it starts from.

    Yields:
        Each optimizer step with its mean losses, and the dev score where it was taken.

    Raises:
        LinnetError: no examples, a loss or score that is no finite number, a folder of another training.
        FormatError: a folder whose checkpoints are all damaged.
    """
    device = choose_device()
    outside = Randomness.now(device)
    keep_few_kernels()
    try:
        run = Run(model, docs, dev, score=score, args=args, folder=folder, key=key)
        steps = run.steps()
        while (step := _next_step(steps, run)) is not None:
            if device.type == "cpu" and step.step % TRIM_EVERY == 0:
                trim()
            inside = Randomness.now(device)
            outside.restore()
            try:
                yield step
            except GeneratorExit:
                outside = Randomness.now(device)
                inside.restore()
                run.stop()
                raise
            outside = Randomness.now(device)
            inside.restore()
    finally:
        outside.restore()


def _next_step(steps: Iterator[Step], run: Run) -> Step | None:
    """Return the next step, None after the last; a signal that comes meanwhile is answered when the step is kept."""
    with _signals_deferred() as answers:
        step = next(steps, None)
    try:
        for answer in answers:
            answer()
    except BaseException:
        run.stop()
        raise
    return step


@contextlib.contextmanager
def _signals_deferred() -> Iterator[list[Callable[[], object]]]:
    """Give a list of what is to be done about SIGINT and SIGTERM afterwards; a second signal acts at once."""
    answers: list[Callable[[], object]] = []
    handlers: dict[int, Callable[..., object]] = {}

    def defer(number: int, frame: object) -> None:
        if answers:
            handlers[number](number, frame)
        logger.warning("stopping when this step is done and kept; interrupt again to stop at once and lose it")
        answers.append(lambda: handlers[number](number, frame))

    if threading.current_thread() is threading.main_thread():  # no other may set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(number)):
                handlers[number] = handler
                signal.signal(number, defer)
    try:
        yield answers
    finally:
        for place, handler in handlers.items():
            signal.signal(place, handler)
