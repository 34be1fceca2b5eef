"""Training in one call: a recipe or a pipeline, and documents with gold, become a pipeline that has learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from linnet.corpora.splits import with_dev
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.fit.fitting import Done, Progress, fit_part
from linnet.fit.fitting import train as train_into
from linnet.fit.plan import Task, annotated, learner_at, note_choice, tasks
from linnet.fit.preflight import check_teachable
from linnet.fit.store import alone
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.recipes.config import load, read_recipe

__all__ = ["Done", "Progress", "train", "train_in_place"]


def train(
    pipeline: str | Path | Pipeline,
    docs: Sequence[Document],
    dev: Sequence[Document] = (),
    *,
    output: str | Path | None = None,
    kb: str | Path | KnowledgeBase | None = None,
    changes: Sequence[str] = (),
    progress: Callable[[Progress | Done], object] | None = None,
) -> Pipeline:
    """Train the parts of a pipeline that learn, in order, and return it.

    Args:
        pipeline: a recipe, by name or file, whose ``[[train]]`` tables say which parts learn and how; or a pipeline,
            all of whose parts learn that do so from `docs`, in place.
        docs: the training documents, with gold mentions and ids of their own.
        dev: other documents with gold, by which parts choose, stop early or calibrate themselves. Without any, the
            share of `docs` with gold that the recipe's ``dev_share`` says, which are not trained on then.
        output: a new folder, which `linnet.load` reads; an interrupted training resumes when this is called
            with the same one again. None writes nothing.
        kb: a knowledge base instead of the recipe's.
        changes: to the recipe, such as ``train.dense.epochs=1``.
        progress: called with each step of a part, and with each part that is done.

    Raises:
        RecipeError: the recipe has wrong fields.
        LinnetError: nothing to learn, or nothing to learn from; a folder that holds something, or that another process
            trains into.

    >>> import tempfile, linnet
    >>> pain = linnet.Mention(0, 16, source="gold", concepts=("X:1",))
    >>> docs = [linnet.Document("note", "Pain of the head.", mentions=(pain,))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = linnet.build([linnet.Concept("X:1", (linnet.Name("Headache"),))], f"{folder}/x.kb")
    ...     link = linnet.train(linnet.Gold() >> linnet.Ngram(kb=kb) >> linnet.Decide(kb=kb), docs)
    ...     link(docs[0].spans_only())[0].mentions[0].concepts
    ('X:1',)
    """
    if isinstance(pipeline, Pipeline):
        if kb is not None or changes:
            raise LinnetError("kb and changes work with recipes only: build the pipeline as you want it")
        made, source, tables, seed = pipeline, repr(pipeline), [], None
    else:
        recipe, source = read_recipe(pipeline, changes=changes), str(pipeline)
        made, tables, seed = load(pipeline, kb=kb, changes=changes), recipe.train, recipe.seed
        note_choice(made, recipe, dev)
        docs, dev = with_dev(docs, dev, recipe.dev_share, seed=recipe.seed)
    todo = tasks(made, tables, source=source, seed=seed)
    if not todo:
        raise LinnetError(f"{source}: no part learns, so there is nothing to train")
    if output is None:
        train_in_place(made, todo, docs, dev, progress=progress)
        used_dev = any(learner_at(made, task.place).used_dev for task in todo)
        made.seen = made.seen.with_documents(train=annotated(made, todo, docs), dev=dev if used_dev else ())
        return made
    with alone(Path(output)):
        for news in train_into(made, todo, docs, dev, output=Path(output), about=(f"pipeline: {source}",)):
            if progress:
                progress(news)
    return load(output, kb=made.kb)


def train_in_place(
    pipeline: Pipeline,
    todo: Sequence[Task],
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    progress: Callable[[Progress | Done], object] | None = None,
) -> None:
    """Train the parts of a pipeline as `train` does, and write nothing; `progress` is called with what `train` yields.

    Raises:
        LinnetError: no documents, or a duplicate id.
    """
    if todo:
        check_teachable(pipeline, todo, docs, dev)
    tell = progress or (lambda _: None)
    for number, task in enumerate(todo):
        start = time.perf_counter()
        for step in fit_part(pipeline, task, docs, dev, done=todo[:number]):
            tell(Progress(task.label, step))
        tell(Done(task.label, time.perf_counter() - start))
