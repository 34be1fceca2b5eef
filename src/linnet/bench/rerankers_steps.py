"""The steps of ``linnet bench rerankers``: one first stage, cross-encoders behind it, and what each gets right."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import statistics
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from linnet.bench.measured import open_kb
from linnet.corpora import read, write
from linnet.corpora.catalog import read_corpus
from linnet.data import Document
from linnet.errors import LinnetError, RecipeError
from linnet.evaluate import Options, measure
from linnet.evaluate.evaluation import fingerprint
from linnet.evaluate.linked import Protocol
from linnet.evaluate.uncertainty import mcnemar
from linnet.fit.experiment import code_version
from linnet.fit.fitting import FOLDS, cross_fit, fit_part
from linnet.fit.plan import Task, learner_at, part_at, tasks
from linnet.fit.unseen import fold_of
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.component import Component, blind
from linnet.recipes.config import load, name_of, read_recipe
from linnet.recipes.recipe import Recipe
from linnet.rerank.cross_encoder import CrossArgs, CrossEncoder
from linnet.rerank.cross_training import fit_skip_threshold, learned_documents

__all__ = ["Bench", "Row", "System", "add_letters"]

logger = logging.getLogger(__name__)

CROSS = "cross_encoder"
PROTOCOL: Protocol = "in-kb"
OPTIONS = Options(protocol=PROTOCOL, samples=0, classify=False, shown=0)
ALONE = "use_first_stage_scores=false"  # a change that is made to what was trained, for the network has learned alone
BATCH = 64  # documents
DONE = "done"  # a file that is written last
ALPHA = 0.05

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A system: a recipe's cross-encoder, applied in some way.

    Args:
        recipe: its name; "CORPUS/(first stage)" for the shared first stage.
        applied: the keywords that differ from the recipe's.
        right: bool (mentions,), whether each mention whose concept the knowledge base holds is linked right.
        trained_seconds: of the cross-encoder, its candidates given.
        annotations: mentions a second that it learned from, each time they were read.
        seconds: for all dev documents, at the measured speed.
        speed: mentions a second.
        letter: what others call it.
        better: letters of the systems it is better than.
        p: of McNemar's test against the first stage, adjusted.
    """

    recipe: str
    applied: str
    right: Bools
    trained_seconds: float | None = None
    annotations: float | None = None
    seconds: float | None = None
    speed: float | None = None
    letter: str = ""
    better: str = ""
    p: float | None = None

    @property
    def accuracy(self) -> float:
        """The share that is right."""
        return float(self.right.mean())

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON has it, its accuracy in the place of its mentions."""
        values = {key: value for key, value in asdict(self).items() if key != "right"}
        return {**values, "accuracy": self.accuracy}


class System(NamedTuple):
    """A row without its speed, and what is run to measure that: cross-encoders with documents of the first stage."""

    row: Row
    runs: list[tuple[CrossEncoder, list[Document]]]


def add_letters(rows: Sequence[Row]) -> list[Row]:
    """Return rows with letters, and for each those of the systems it is better than.

    >>> first = Row(recipe="x/(first stage)", applied="", right=np.arange(40) < 10)
    >>> best = Row(recipe="x/cross", applied="", right=np.arange(40) < 30)
    >>> [(row.letter, row.better) for row in add_letters([first, best])]
    [('a', ''), ('b', 'a')]
    """
    letters = [one + two for one in ("", *string.ascii_lowercase) for two in string.ascii_lowercase]
    named = [replace(row, letter=letter) for row, letter in zip(rows, letters, strict=False)]
    pairs = max(1, len(named) * (len(named) - 1) // 2)
    made = []
    for row in named:
        below = [other for other in named if other.accuracy < row.accuracy]
        better = [other.letter for other in below if mcnemar(row.right, other.right) * pairs < ALPHA]
        p = None if row is named[0] else min(1.0, mcnemar(row.right, named[0].right) * pairs)
        made.append(replace(row, better=" ".join(better), p=p))
    return made


class _Answered:
    """A pipeline that has answered already."""

    needs: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()

    def __init__(self, docs: Sequence[Document]) -> None:
        self._docs = {doc.id: doc for doc in docs}

    def __call__(self, docs: Sequence[Document], **_: Any) -> list[Document]:
        return [self._docs[doc.id] for doc in docs]


@dataclass
class Bench:
    """Recipes with one first stage.

    Args:
        recipes: by name.
        kb: their knowledge base.
        train: gold documents.
        dev: gold documents.
        folder: for what is trained.
        sample: documents that speed is measured on.
        repeats: rounds of it.
    """

    recipes: Mapping[str, Recipe]
    sources: Mapping[str, str]
    kb: KnowledgeBase
    train: Sequence[Document]
    dev: Sequence[Document]
    folder: Path
    sample: int
    repeats: int
    _answers: dict[str, list[Document]] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: Sequence[str], folder: Path, data: Path | None, *, sample: int, repeats: int) -> Bench:
        """Return what is measured.

        Raises:
            RecipeError: recipes of several first stages, or without a cross-encoder.
        """
        recipes = {_name(source): read_recipe(source) for source in sources}
        first = next(iter(recipes.values()))
        for name, recipe in recipes.items():
            if CROSS not in [table["use"] for table in recipe.pipeline] or not _describe(recipe, CROSS):
                raise RecipeError(name, ["pipeline: has no cross that is trained, which is what is measured"])
            if _before(recipe) != _before(first):
                raise RecipeError(name, ["pipeline: the parts before cross differ from those of the first recipe"])
        kb = open_kb(first, sources[0], data=data)
        train, dev = (list(read_corpus(first.corpus, split=split, data=data)) for split in ("train", "dev"))
        named = dict(zip(recipes, sources, strict=True))
        return cls(recipes, named, kb, train, dev, folder, sample, repeats)

    # --- the first stage ---------------------------------------------------------------------------------------------

    def first_stage(self) -> Row:
        """Return what is right before any cross-encoder has looked at it."""
        corpus = next(iter(self.recipes.values())).corpus
        return Row(recipe=f"{corpus}/(first stage)", applied="", right=self._right(self.answers("dev")))

    def answers(self, split: str) -> list[Document]:
        """Return the documents of ``train`` or ``dev`` as the first stage leaves them, which has not seen them."""
        if split not in self._answers:
            recipe = next(iter(self.recipes.values()))
            told = [_before(recipe), self.kb.version, fingerprint(self.train), fingerprint(self.dev), code_version()]
            place = self.folder / f"first-{_hash(told)}"
            if not (place / "dev.jsonl").exists():
                self._ask(place)
            for each in ("train", "dev"):
                self._answers[each] = list(read(place / f"{each}.jsonl", kb=self.kb))
        return self._answers[split]

    def _ask(self, place: Path) -> None:
        name = next(iter(self.recipes))
        pipeline = load(self.sources[name], kb=self.kb)
        done: list[Task] = []
        for task in self._tasks(name, pipeline):
            if task.name == CROSS:
                break
            logger.info("%s is trained", task.label)
            list(fit_part(pipeline, task, self.train, (), done=done))
            done.append(task)
        before = Pipeline(*pipeline.parts[: _at(pipeline)], kb=self.kb, allow=pipeline.allow)
        logger.info("the first stage is asked about documents that it has not seen")
        asked = cross_fit(before, done, self.train, folds=FOLDS)
        place.mkdir(parents=True, exist_ok=True)
        front = Pipeline(pipeline.parts[_at(pipeline)]).front  # sentences and abbreviations, if nothing gave them yet
        write(_through(front, asked(blind(self.train, before))), place / "train.jsonl", kb=self.kb)
        write(_through(front, list(before.stream(blind(self.dev, before)))), place / "dev.jsonl", kb=self.kb)

    def _tasks(self, name: str, pipeline: Pipeline) -> list[Task]:
        recipe = self.recipes[name]
        todo = tasks(pipeline, recipe.train, source=self.sources[name], seed=recipe.seed)
        return [task for task in todo if learner_at(pipeline, task.place).LEARNS_FROM == "train"]

    # --- the cross-encoders ------------------------------------------------------------------------------------------

    def systems(self, name: str, apply: Sequence[str], max_accuracy_loss: float | None) -> Iterator[System]:
        """Yield the systems of a recipe: as it is, with each change, and with sure mentions left."""
        trained = self._trained(name)
        pace = trained.pace
        plain = self._link(name, "", trained)
        row = replace(plain.row, trained_seconds=pace.get("seconds"), annotations=pace.get("annotations/s"))
        yield plain._replace(row=row)
        for change in apply:
            yield self._link(name, change, self._change(name, trained, change))
        if max_accuracy_loss is not None:
            yield self._skip_sure(name, trained, max_accuracy_loss)

    def time_systems(self, systems: Sequence[System]) -> list[Row]:
        """Return the rows of systems with their speed: each is timed once in every round, its documents read before."""
        rounds = [[sum(_seconds(*run) for run in one.runs) for one in systems] for _ in range(self.repeats)]
        every = sum(len(doc.mentions or ()) for doc in self.answers("dev"))
        rows = []
        for one, seconds in zip(systems, map(statistics.median, zip(*rounds, strict=True)), strict=True):
            speed = sum(len(doc.mentions or ()) for _, docs in one.runs for doc in docs) / seconds
            rows.append(replace(one.row, speed=speed, seconds=every / speed))
        return rows

    def _trained(self, name: str) -> CrossEncoder:
        """Return the trained cross-encoder of a recipe."""
        pipeline = load(self.sources[name], kb=self.kb)
        (task,) = [task for task in self._tasks(name, pipeline) if task.name == CROSS]
        cross: Any = part_at(pipeline, task.place)
        told = [cross.config(), task.args, _before(self.recipes[name]), self.kb.version, fingerprint(self.train)]
        key = _hash([*told, cross.network.encoder.fingerprint(), code_version()])
        place = self.folder / f"{name}-{key}"
        if not (place / DONE).exists():
            logger.info("%s: cross_encoder is trained", name)
            args = {**task.args, "checkpoints": place.with_name(f"{place.name}.training")}
            before: Any = _Answered(self.answers("train"))
            list(cross.fit(self.train, (), before=before, kb=self.kb, args=args))
            cross.save(place)
            (place / DONE).touch()
        return CrossEncoder.load(place, kb=self.kb)

    def _change(self, name: str, trained: CrossEncoder, change: str) -> CrossEncoder:
        """Return the same cross-encoder with other keywords, as ``--apply`` gives them."""
        keywords = [one for one in change.split() if one != ALONE]
        fresh = load(self.sources[name], kb=self.kb, changes=[f"{CROSS}.{one}" for one in keywords])
        made = cast("CrossEncoder", part_at(fresh, (_at(fresh),)))
        made.folder, made.compete = trained.folder, trained.compete
        if len(keywords) < len(change.split()):
            made.network.speak_alone()
        return made

    def _link(self, name: str, applied: str, cross: CrossEncoder) -> System:
        asked = self.answers("dev")
        row = Row(recipe=name, applied=applied, right=self._right(_after(cross, asked)))
        return System(row, [(cross, asked[: self.sample])])

    def _skip_sure(self, name: str, trained: CrossEncoder, max_accuracy_loss: float) -> System:
        """Return a cross-encoder that leaves mentions, from a threshold that the other half of dev has given."""
        halves: list[list[Document]] = [[], []]
        for doc in self.dev:
            halves[fold_of(doc.id, 2)].append(doc)
        before: Any = _Answered(self.answers("dev"))
        judged = [
            learned_documents(trained, half, before=before, args=CrossArgs(top_k=trained.top_k)) for half in halves
        ]
        sampled = {doc.id for doc in self.dev[: self.sample]}
        found: dict[str, Document] = {}
        runs = []
        for half, other in ((0, 1), (1, 0)):
            cross = copy.copy(trained)
            cross.skip_threshold = fit_skip_threshold(trained, judged[other], max_accuracy_loss=max_accuracy_loss)
            logger.info("%s: skip_threshold %s", name, cross.skip_threshold)
            asked = before(halves[half])
            found |= {doc.id: doc for doc in _after(cross, asked)}
            runs.append((cross, [doc for doc in asked if doc.id in sampled]))
        right = self._right([found[doc.id] for doc in self.dev])
        return System(Row(recipe=name, applied=f"max_accuracy_loss={max_accuracy_loss:g}", right=right), runs)

    def _right(self, found: Sequence[Document]) -> Bools:
        linked = measure(self.dev, self._decide(found), kb=self.kb, options=OPTIONS).linked
        right: Bools = linked.right[linked.mask(PROTOCOL)]
        if not len(right):
            raise LinnetError("no gold mention has a concept of the knowledge base: nothing to compare")
        return right

    def _decide(self, docs: Sequence[Document]) -> list[Document]:
        pipeline = load(next(iter(self.sources.values())), kb=self.kb)
        return _through(pipeline.parts[_at(pipeline) + 1 :], docs)


def _after(part: Component, docs: Sequence[Document]) -> list[Document]:
    return [doc for start in range(0, len(docs), BATCH) for doc in part(docs[start : start + BATCH])]


def _through(parts: Sequence[Component], docs: Sequence[Document]) -> list[Document]:
    for part in parts:
        docs = _after(part, docs)
    return list(docs)


def _seconds(cross: CrossEncoder, docs: Sequence[Document]) -> float:
    began = time.perf_counter()
    _after(cross, docs)
    return time.perf_counter() - began


def _at(pipeline: Pipeline) -> int:
    return [name_of(part) for part in pipeline.parts].index(CROSS)


def _before(recipe: Recipe) -> list[Any]:
    """Return all that the answers of the first stage depend on."""
    uses = [table["use"] for table in recipe.pipeline]
    place = uses.index(CROSS) if CROSS in uses else len(uses)
    return [
        recipe.corpus,
        recipe.kb,
        recipe.seed,
        recipe.pipeline[:place],
        [t for t in recipe.train if t["part"] != CROSS],
    ]


def _describe(recipe: Recipe, name: str) -> list[Any]:
    return [table for table in recipe.train if table.get("part") == name]


def _hash(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=repr).encode()).hexdigest()[:12]


def _name(source: str) -> str:
    return source if not source.endswith(".toml") else Path(source).stem
