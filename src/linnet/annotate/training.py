"""Jobs of the kind ``train``: what people decided becomes a model, by the code of ``linnet train``.

The folder of a model and the finished parts and checkpoints beside it depend on the job alone: the worker that takes it
over goes on where the other one was killed, and the weights are those of a training that nobody disturbed.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from linnet import __version__
from linnet.annotate.documents import unique
from linnet.annotate.exports import sources, training_set
from linnet.annotate.held import CancelledError, Held
from linnet.annotate.housekeeping import PARTS
from linnet.annotate.jobs import Train, end
from linnet.annotate.models import MODELS, kb_of, load_model, model_row, project_row, recipe_named, untrained, use
from linnet.annotate.proposals import live_ids
from linnet.annotate.runs import add_model, new_id
from linnet.annotate.scoring import divide, is_worse, score
from linnet.data import Document
from linnet.errors import LinnetError, TrainingError
from linnet.fit.fitting import Done, Progress
from linnet.fit.fitting import train as train_into
from linnet.fit.plan import Task, from_dev, learner_at, must_have_dev, needs_gold, needs_texts, tasks
from linnet.fit.store import corpus_version
from linnet.kb import KnowledgeBase
from linnet.pipeline import Joint, Pipeline
from linnet.recipes.config import load, read_recipe

__all__ = ["train"]

RECIPE = "own_lexical"  # of projects that name none: trained within a minute, on any machine
NAMED = 10  # documents, in the log
WHOLE = "pipeline.toml"  # a folder with it is a complete pipeline


@dataclass(frozen=True)
class _Plan:
    """All that a training starts from."""

    order: Train
    recipe: str
    base: dict[str, Any] | None
    kb: KnowledgeBase | None
    train: Sequence[Document]
    dev: Sequence[Document]
    sources: set[tuple[int, int]]  # document and user of each stream with them


def train(held: Held, data: Path) -> None:
    """Train, score and register a model, and end the job.

    Raises:
        CancelledError: somebody cancelled it; what was finished is removed.
        LinnetError: nothing to learn from, a recipe or model that there is not, or any error of training.
    """
    id = held.job.checkpoint or new_id("m")
    folder = data / MODELS / id
    with held.writing() as db:
        held.keep(db, id)
    try:
        plan = _plan(held)
        if not (folder / WHOLE).is_file():  # else an earlier attempt came as far as that
            _fit(held, plan, data, folder)
        _register(held, plan, data, id)
    except CancelledError:
        shutil.rmtree(_parts(folder), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _parts(folder: Path) -> Path:
    """Return where a training keeps what is finished."""
    return folder.with_name(f"{folder.name}{PARTS}")


def _plan(held: Held) -> _Plan:
    order = Train.model_validate(held.job.args)
    with held.store.read() as db:
        row = project_row(db, held.job.project)
        # where all learns, it learns anew: a model does not depend on the models before it
        id = order.base if order.base is not None or order.parts == "both" else row["model"]
        base = model_row(db, row["id"], id) if id else None
        last = model_row(db, row["id"], row["model"]) if row["model"] else {"card": {}}
        kb = kb_of(row)
        docs = training_set(db, row["id"], order.to or 0, live=live_ids(db, row["id"], kb))
        streams = sources(db, row["id"], order.to or 0)
    if not docs:
        raise LinnetError("nobody has annotated a document yet: there is nothing to learn from")
    learned, dev = (unique(some) for some in divide(docs, order.dev))
    if not learned:
        raise LinnetError("all annotated documents fall into the part that is measured on: annotate some more")
    held.say(f"{len(learned)} documents to learn from, {len(dev)} to measure on{_named(dev)}, up to event {order.to}")
    name = order.recipe or (base or last)["card"].get("recipe") or row["settings"].get("recipe") or RECIPE
    return _Plan(order, name, base, kb, learned, dev, streams)


def _named(docs: Sequence[Document]) -> str:
    more = f" and {len(docs) - NAMED} more" if len(docs) > NAMED else ""
    return f" ({', '.join(doc.id for doc in docs[:NAMED])}{more})" if docs else ""


# --- learning --------------------------------------------------------------------------------------------------------


def _fit(held: Held, plan: _Plan, data: Path, folder: Path) -> None:
    source = recipe_named(plan.recipe, data)
    recipe = read_recipe(source)
    pipeline = load(source, kb=plan.kb) if plan.base is None else load_model(plan.base, data, plan.kb)
    seed = recipe.seed if plan.order.seed is None else plan.order.seed
    able = tasks(pipeline, recipe.train, source=plan.recipe, seed=seed)
    todo = [_limited(pipeline, task, plan.order.minutes) for task in _wanted(held, pipeline, able, plan)]
    learning = {(task.place, task.stage) for task in todo}
    stay = [task for task in able if plan.base is not None and (task.place, task.stage) not in learning]
    folder.parent.mkdir(parents=True, exist_ok=True)
    about = [f"recipe: {plan.recipe}", f"project: {held.job.project}, up to event {plan.order.to}", f"seed: {seed}"]
    steps = train_into(pipeline, todo, plan.train, plan.dev, output=folder, about=about, learned=stay)
    try:
        for news in steps:
            _tell(held, news)
    finally:
        steps.close()  # at once: a network keeps a checkpoint then


def _limited(pipeline: Pipeline, task: Task, minutes: float | None) -> Task:
    """Return a training that ends after some minutes if it is that of a network; others take seconds."""
    if minutes is None or not learner_at(pipeline, task.place).NETWORK:
        return task
    return replace(task, args={**task.args, "max_minutes": minutes})


def _wanted(held: Held, pipeline: Pipeline, todo: Sequence[Task], plan: _Plan) -> list[Task]:
    """Return the trainings of the parts that are to learn and can."""
    wanted = [task for task in todo if plan.order.parts in ("both", *_kinds(pipeline, task))]
    if late := _late(pipeline, wanted, plan):
        wanted = [task for task in wanted if task.name not in late]
        held.say(f"no linked mention to measure on yet: {', '.join(late)} stays as it is")
    if not wanted:
        raise LinnetError(f"{plan.recipe}: no part for {plan.order.parts!r} learns; take another recipe")
    if needs_texts(pipeline, wanted) and not needs_gold(pipeline, wanted):
        raise LinnetError(f"{plan.recipe}: learns from names alone, not from what people decided; take another recipe")
    return wanted


def _late(pipeline: Pipeline, wanted: Sequence[Task], plan: _Plan) -> list[str]:
    """Return the parts that learn from dev documents and have nothing to learn from yet."""
    if _linked(plan.dev):
        return []
    return must_have_dev(pipeline, wanted) if _linked(plan.train) else from_dev(pipeline, wanted)


def _linked(docs: Sequence[Document]) -> bool:
    return any(mention.concepts for doc in docs for mention in doc.mentions or ())


def _kinds(pipeline: Pipeline, task: Task) -> tuple[str, ...]:
    """Return which of ``ner`` and ``linker`` a part belongs to; one that does neither, or weighs both, is of both."""
    part = pipeline.parts[task.place[0]]
    if isinstance(part, Joint) or "concepts" in part.gives:  # probabilities are of spans and concepts together
        return ("ner", "linker")
    if "mentions" in part.gives:  # candidates that a dictionary gives beside them are those of its names
        return ("ner",)
    return ("linker",) if "candidates" in part.gives else ("ner", "linker")


def _tell(held: Held, news: Progress | Done) -> None:
    if isinstance(news, Done):
        held.say(f"{news.part}: {'kept, trained' if news.kept else 'trained'} in {news.seconds:.1f} s")
        held.tell()
        return
    step = news.step
    loss = sum(step.losses.values()) if step.losses else None
    if loss is not None and not math.isfinite(loss):
        raise TrainingError(f"{news.part}: step {step.step}: the loss is {loss}; try a smaller learning rate")
    if step.score is not None:
        held.say(f"{news.part}: step {step.step}: score {step.score:.4f}")
    figures = {name: value for name, value in (("loss", loss), ("score", step.score)) if value is not None}
    result = {"part": news.part, "epoch": step.epoch, "seconds_left": step.seconds_left}
    held.tell(step=step.step, of=step.total or 0, result=result, **figures)


# --- registering -----------------------------------------------------------------------------------------------------


def _register(held: Held, plan: _Plan, data: Path, id: str) -> None:
    """Score the model and what it is to replace on the same documents, and store what came of it, all at once."""
    folder = data / MODELS / id
    shutil.rmtree(_parts(folder), ignore_errors=True)  # of an attempt that was killed behind its last step
    os.sync()  # what the database says is there must be there after a power cut
    pipeline = load(folder, kb=plan.kb)
    measured = _score(held, pipeline, plan, "the new model")
    name = _measure(pipeline, plan.order)
    with held.store.read() as db:
        project = project_row(db, held.job.project)
        in_use = model_row(db, project["id"], project["model"]) if project["model"] else None
    before = _score_rival(held, plan, project, in_use, data) if measured else {}
    worse = bool(before and is_worse(measured, before, name))
    metrics = {**measured, "measure": name, "in_use": {"model": in_use and in_use["id"], **before}}
    value = measured.get("measures", {}).get(name, {}).get("value")
    with held.writing() as db:
        _add(db, held, plan, id, {**metrics, "worse": worse})
        result = {"model": id, "used": False, "worse": worse, "measure": name, "value": value, "predict": None}
        if plan.order.use and not worse:
            result |= {"used": True, "predict": use(db, held.job.project, id, held.job.user)}
        held.say(f"{id}: " + ("in use" if result["used"] else "worse than what is in use" if worse else "kept"))
        end(db, held.job, "succeeded", {**held.news(db), "score": value, "result": result})


def _score_rival(
    held: Held, plan: _Plan, project: dict[str, Any], row: dict[str, Any] | None, data: Path
) -> dict[str, Any]:
    """Return the measures of what a new model is to replace: the model in use, or what predicts without one.

    One that works no more has none, which is said: it must not keep others from taking its place.
    """
    who = f"{row['id']}, in use," if row else "the untrained recipe"
    try:
        rival = load_model(row, data, plan.kb) if row else untrained(project, data)
    except LinnetError as error:
        held.say(f"{who} cannot be measured: {error}")
        return {}
    return _score(held, rival, plan, who)


def _score(held: Held, pipeline: Pipeline, plan: _Plan, who: str) -> dict[str, Any]:
    if not plan.dev:
        return {}
    held.say(f"measuring {who} on {len(plan.dev)} documents")
    return score(pipeline, plan.dev, plan.kb or pipeline.kb, held.tell)


def _measure(pipeline: Pipeline, order: Train) -> str:
    """Return the measure that decides: of what was trained, or of linking alone where mentions are given."""
    if "mentions" in pipeline.needs:
        return "all.accuracy@1"
    return "recognition.strict.f1" if order.parts == "ner" else "strict.f1"


def _count(docs: Sequence[Document]) -> int:
    return sum(len(doc.mentions or ()) for doc in docs)


def _add(db: sa.Connection, held: Held, plan: _Plan, id: str, metrics: dict[str, Any]) -> None:
    to = plan.order.to or 0
    card = {
        "recipe": plan.recipe,
        "parts": plan.order.parts,
        "seed": plan.order.seed,
        "dev": plan.order.dev,
        "documents": {"train": len(plan.train), "dev": len(plan.dev)},
        "held_out": [doc.id for doc in plan.dev],
        "mentions": {"train": _count(plan.train), "dev": _count(plan.dev)},
        "versions": {"train": corpus_version(plan.train), "dev": corpus_version(plan.dev), "linnet": __version__},
        "kb": "" if plan.kb is None else plan.kb.version,
        "job": held.job.id,
        "user": held.job.user,
    }
    parent = None if plan.base is None else str(plan.base["id"])
    add_model(
        db, held.job.project, f"{MODELS}/{id}", to, plan.sources, parent=parent, card=card, metrics=metrics, id=id
    )
