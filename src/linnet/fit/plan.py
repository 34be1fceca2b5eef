"""The training plan of a pipeline: its tasks, and the places of its parts, those inside fusions too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from linnet.data import Document
from linnet.errors import RecipeError, did_you_mean
from linnet.pipeline import Pipeline
from linnet.pipeline.component import Component
from linnet.pipeline.decide import Decide
from linnet.pipeline.learner import HANDED_IN, Learner, inner_of, learner_of
from linnet.recipes import config
from linnet.recipes.recipe import Recipe

__all__ = [
    "Task",
    "annotated",
    "from_dev",
    "in_front",
    "learner_at",
    "learners",
    "must_have_dev",
    "needs_documents",
    "needs_gold",
    "needs_texts",
    "note_choice",
    "part_at",
    "parts_of",
    "tasks",
    "with_gold",
    "with_part",
    "without_calibration",
]


@dataclass(frozen=True)
class Task:
    """One part to train: its ``place`` in the pipeline (``(1, 0)`` is the first part of a fusion), name, arguments.

    ``stage`` counts the trainings of one part, which may start from what it learned before.
    """

    place: tuple[int, ...]
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    stage: int = 1

    @property
    def label(self) -> str:
        """The name of the part, with a number from its second training on."""
        return self.name if self.stage == 1 else f"{self.name}-{self.stage}"

    @property
    def folder(self) -> str:
        """The folder that the finished part is kept in."""
        return "-".join([*map(str, self.place), self.label])


def tasks(
    pipeline: Pipeline, tables: Sequence[Mapping[str, Any]], *, source: str, seed: int | None = None
) -> list[Task]:
    """Return what to train, in order.

    Args:
        pipeline: the pipeline of a recipe.
        tables: its ``[[train]]`` tables: ``part`` and arguments of that part. Without any, every part that learns from
            the training documents is trained; ``decide`` and ``fuse``, which learn from dev documents, only if named.
        source: the recipe, for messages.
        seed: of the recipe, for networks whose table names none.

    Raises:
        RecipeError: a table names no part that learns, or has wrong arguments for its part.
    """
    able = learners(pipeline)
    if not tables:
        rest = [task for task in able if learner_at(pipeline, task.place).LEARNS_FROM == "train"]
        return [_with_seed(pipeline, task, seed) for task in rest]
    return [_with_seed(pipeline, task, seed) for task in _choose(pipeline, able, tables, source)]


def _choose(
    pipeline: Pipeline, able: Sequence[Task], tables: Sequence[Mapping[str, Any]], source: str
) -> Sequence[Task]:
    """Return the tasks that ``[[train]]`` tables name, in their order, with their arguments."""
    chosen: list[Task] = []
    problems: list[str] = []
    names = [task.name for task in able]
    for index, table in enumerate(tables):
        name = table.get("part")
        found = [task for task in able if task.name == name]
        if not found:
            hint = did_you_mean(str(name), names) or f"; parts that learn: {', '.join(names) or 'none'}"
            problems.append(f"train[{index}].part: {name!r} does not name a part that learns{hint}")
        args = dict(table)
        args.pop("part", None)
        for task in found:
            stage = 1 + sum(earlier.place == task.place for earlier in chosen)
            chosen.append(Task(task.place, task.name, args, stage))
            found_wrong = _find_problems(learner_at(pipeline, task.place), chosen[-1])
            problems += [f"train[{index}].{problem}" for problem in found_wrong]
    if problems:
        raise RecipeError(source, problems)
    return chosen


def _find_problems(part: Learner, task: Task) -> list[str]:
    """Return which arguments a part would refuse when its turn comes, perhaps hours later."""
    try:
        part.check(task.args)
    except RecipeError as error:
        own = part.keywords.keys() - HANDED_IN
        return [_say_where(problem, task, own) for problem in error.problems]
    return []


def _say_where(problem: str, task: Task, own: Collection[str]) -> str:
    """Return what is wrong with an argument of a training; of a keyword of the part itself, where it belongs."""
    key, _, said = problem.partition(": ")
    if key not in own or not said.startswith("unknown field"):
        return problem
    table = f'[[pipeline{".of" * (len(task.place) - 1)}]] use = "{task.name}"'
    return f"{key}: a keyword of {task.name} itself: it belongs in {table} (--set {task.name}.{key}=…)"


def _with_seed(pipeline: Pipeline, task: Task, seed: int | None) -> Task:
    """Return a task with the recipe's seed, if it trains a network without a seed of its own."""
    if seed is None or "seed" in task.args or not learner_at(pipeline, task.place).NETWORK:
        return task
    return replace(task, args={**task.args, "seed": seed})


def learners(pipeline: Pipeline) -> list[Task]:
    """Return the parts that can learn, in order, those inside fusions before the fusion itself."""
    return [Task(place, config.name_of(part)) for place, part in _walk(pipeline.parts) if _learns(part)]


def _walk(parts: Sequence[Component], above: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Component]]:
    """Yield all parts with their places, those inside fusions before the fusion itself."""
    for index, part in enumerate(parts):
        place = (*above, index)
        yield from _walk(inner_of(part), place)
        yield place, part


def _learns(part: Component) -> bool:
    return isinstance(part, Learner) and part.learns


def from_dev(pipeline: Pipeline, todo: Sequence[Task]) -> list[str]:
    """Return the names of the parts to train that learn from the dev documents."""
    return [task.name for task in todo if learner_at(pipeline, task.place).LEARNS_FROM == "dev"]


def must_have_dev(pipeline: Pipeline, todo: Sequence[Task]) -> list[str]:
    """Return the names of the parts to train that can learn from dev documents alone: fusions.

    Others can learn from what cross-fitted earlier parts say of the training documents; what is inside a fusion is no
    earlier part, and has seen them.
    """
    parts = [(task.name, learner_at(pipeline, task.place)) for task in todo]
    return [name for name, part in parts if part.LEARNS_FROM == "dev" and inner_of(cast("Component", part))]


def without_calibration(pipeline: Pipeline, todo: Sequence[Task]) -> list[Task]:
    """Return the tasks that change answers: a last ``decide`` whose threshold is 0 learns nothing but probabilities."""
    last = len(pipeline.parts) - 1
    parts = [(task, learner_at(pipeline, task.place)) for task in todo]
    calibrates = [isinstance(part, Decide) and part.threshold == 0.0 and task.place == (last,) for task, part in parts]
    return [task for task, alone in zip(todo, calibrates, strict=True) if not alone]


def needs_documents(pipeline: Pipeline, todo: Sequence[Task]) -> bool:
    """Return whether a part to train learns from documents, not from the knowledge base alone."""
    return any(learner_at(pipeline, task.place).needs_documents(task.args) for task in todo)


def needs_gold(pipeline: Pipeline, todo: Sequence[Task]) -> bool:
    """Return whether a part to train learns from what people marked in documents."""
    return any(learner_at(pipeline, task.place).needs_gold(task.args) for task in todo)


def needs_texts(pipeline: Pipeline, todo: Sequence[Task]) -> bool:
    """Return whether a part to train learns from documents whose mentions nobody has marked."""
    parts = [(learner_at(pipeline, task.place), task.args) for task in todo]
    return any(part.needs_documents(args) and not part.needs_gold(args) for part, args in parts)


def note_choice(pipeline: Pipeline, recipe: Recipe, dev: Sequence[Document]) -> None:
    """Have a pipeline know the dev documents that the keywords of its recipe were chosen on, if they were."""
    if recipe.chosen_on == "dev":
        pipeline.seen = pipeline.seen.with_documents(dev=dev)


def annotated(pipeline: Pipeline, todo: Sequence[Task], docs: Sequence[Document]) -> list[Document]:
    """Return the documents whose annotation teaches: scores measured on them would be too high."""
    return with_gold(docs) if needs_gold(pipeline, todo) else []


def with_gold(docs: Sequence[Document]) -> list[Document]:
    """Return the documents that somebody has annotated."""
    return [doc for doc in docs if doc.mentions is not None]


def parts_of(pipeline: Pipeline) -> list[Component]:
    """Return all parts of a pipeline, those inside fusions before the fusion itself."""
    return [part for _, part in _walk(pipeline.parts)]


def part_at(pipeline: Pipeline, place: Sequence[int]) -> Component:
    """Return the part in a place."""
    part = pipeline.parts[place[0]]
    for index in place[1:]:
        part = inner_of(part)[index]
    return part


def learner_at(pipeline: Pipeline, place: Sequence[int]) -> Learner:
    """Return the part in a place, which learns."""
    return learner_of(part_at(pipeline, place))


def in_front(pipeline: Pipeline, place: Sequence[int], done: Sequence[Task]) -> tuple[Pipeline, list[Task]]:
    """Return the parts that stand before a place, and their trainings among those `done`, with the places there.

    What stands before it inside of a component whose parts follow each other (`Learner.CHAIN`) is among them.
    """
    parts: list[Component] = []
    earlier: list[Task] = []
    beside = pipeline.parts
    for depth, index in enumerate(place):
        if not depth or learner_at(pipeline, place[:depth]).CHAIN:
            near = [task for task in done if len(task.place) > depth and task.place[:depth] == tuple(place[:depth])]
            earlier += [
                replace(task, place=(len(parts) + task.place[depth], *task.place[depth + 1 :]))
                for task in near
                if task.place[depth] < index
            ]
            parts += beside[:index]
        beside = tuple(inner_of(beside[index]))
    return pipeline.with_parts(parts), earlier


def with_part(pipeline: Pipeline, place: Sequence[int], part: Component) -> Pipeline:
    """Return a pipeline with another part in a place; fusions that hold it are copied."""
    return pipeline.with_parts(_put(pipeline.parts, place, part))


def _put(parts: Sequence[Component], place: Sequence[int], part: Component) -> list[Component]:
    first, rest = place[0], place[1:]
    if rest:
        holder: Any = learner_of(parts[first])
        part = holder.with_inner(_put(holder.inner, rest, part))
    return [*parts[:first], part, *parts[first + 1 :]]
