"""Documents that nothing has seen: folds of the training documents, and what is calibrated on where dev has too few."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from linnet.data import Document
from linnet.errors import LinnetError
from linnet.fit.plan import Task, learner_at, must_have_dev
from linnet.pipeline import Pipeline
from linnet.pipeline.confidence import FEW
from linnet.pipeline.learner import Learner

__all__ = ["enough_dev", "fold_of", "times_again"]


def fold_of(id: str, folds: int) -> int:
    """Return the fold of a document, which its id alone decides.

    >>> fold_of("8701013", 3) in range(3)
    True
    """
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % folds


def times_again(part: Learner, task: Task) -> int:
    """Return how often cross-fitting trains a part again that `task` has trained; 0 = once for each fold."""
    asked = task.args.get("cross_fit", True)
    return asked if part.FOLDS and not isinstance(asked, bool) else part.FOLDS


def enough_dev(
    pipeline: Pipeline,
    task: Task,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    earlier: Sequence[Task],
    folds: int,
) -> Sequence[Document]:
    """Return what a part learns from that learns from dev documents.

    That is `dev`; where it has few mentions, `docs` as well, if parts that have not seen them can answer for each.

    Args:
        pipeline: whose part it is.
        task: its training.
        docs: the training documents that somebody has annotated.
        dev: such dev documents, maybe none.
        earlier: the trainings of parts before it.
        folds: of cross-fitting.

    Raises:
        LinnetError: there are no dev documents, and the part can learn from nothing else.
    """
    if must_have_dev(pipeline, [task]):
        if not dev:
            raise LinnetError(f"{task.name} learns from the dev documents, but there are none")
        return dev
    if sum(len(doc.mentions or ()) for doc in dev) >= FEW or not _can_answer(pipeline, docs, earlier, folds):
        return dev
    return [*docs, *dev]


def _can_answer(pipeline: Pipeline, docs: Sequence[Document], earlier: Sequence[Task], folds: int) -> bool:
    """Return whether earlier parts can be trained again such that, for each document, one has not seen it."""
    parts = [(learner_at(pipeline, task.place), task) for task in earlier]
    if any(part.NETWORK and not part.FOLDS for part, _ in parts):
        return False
    if not all(task.args.get("cross_fit", True) for task in earlier):
        return False
    divided = [folds, *filter(None, (times_again(part, task) for part, task in parts))] if parts else []
    return all(len({fold_of(doc.id, folds) % count for doc in docs}) > 1 for count in divided)
