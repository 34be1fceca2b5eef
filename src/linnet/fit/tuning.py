"""Choice of a pipeline's keywords: trials of what ``[tune]`` allows, each trained and scored, in a study on disk.

Values are proposed from the scores so far (`linnet.fit.study`); the first trial takes the recipe's own values, where
the choice holds them. The study is a file, so an interrupted search resumes with the trials that it would
have had. It belongs to one recipe, corpus, knowledge base, score and seed.

A trial is scored on documents it has not learned from: on the dev documents, which then nothing chooses on, or by
cross-validation on the training documents, each third by a pipeline that learned from the other two. What chooses for
itself does so on the share of the training documents that ``dev_share`` of the recipe keeps.
"""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from linnet import __version__
from linnet.corpora.splits import folds, with_dev
from linnet.data import Document
from linnet.errors import DataError, LinnetError, PipelineError, RecipeError, TrainingError
from linnet.evaluate import Options, evaluate
from linnet.fit.plan import must_have_dev, parts_of, tasks, with_gold, without_calibration
from linnet.fit.store import alone, corpus_version
from linnet.fit.study import STUDY, Study, find_choice
from linnet.fit.training import train_in_place
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import blind
from linnet.pipeline.learner import learner_of
from linnet.recipes.config import load, name_of, read_recipe
from linnet.recipes.knowledge_bases import KbSources
from linnet.recipes.recipe import Recipe, toml_value
from linnet.text.files import replacing

__all__ = ["Search", "Trial", "best", "changes_of", "tune", "write_best"]

THIRDS = 3
OPTIONS = Options(samples=0, classify=False, shown=0)

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """The result of one set of values.

    Args:
        number: 1 for the first.
        values: by key of ``[tune]``.
        score: None if components refuse these values.
        seconds: that training, linking and scoring took; 0 when the score is that of the trial ``same``.
        problem: why they are refused.
        same: the number of an earlier trial with these values, 0 = there is none.
    """

    number: int
    values: Values
    score: float | None
    seconds: float
    problem: str = ""
    same: int = 0


@dataclass(frozen=True, kw_only=True)
class Search:
    """The search: recipe, search space and documents.

    Args:
        source: name or file of a recipe with a ``[tune]`` table.
        kb: the knowledge base.
        train: the training documents.
        dev: the dev documents.
        split: ``dev``, or ``cv`` for cross-validation on `train`, while parts may choose on `dev`.
        score: name of the metric to maximise, as in a report.
        changes: ``key=value`` pairs for the recipe, as for `linnet.recipes.config.read_recipe`.
        texts: documents without annotation that all trials learn from as well, and that none is scored on.

    Raises:
        RecipeError: the recipe is wrong, or has nothing to tune.
    """

    source: str
    kb: KnowledgeBase
    train: Sequence[Document]
    dev: Sequence[Document]
    split: Literal["dev", "cv"] = "dev"
    score: str = "in-kb.accuracy@1"
    changes: Sequence[str] = ()
    texts: Sequence[Document] = ()
    recipe: Recipe = field(init=False)

    def __post_init__(self) -> None:
        recipe = read_recipe(self.source, changes=self.changes)
        if not recipe.tune:
            raise RecipeError(self.source, ['tune: missing; say what to choose from, such as "ngram.k" = [8, 64]'])
        object.__setattr__(self, "recipe", recipe)

    @property
    def gold(self) -> Sequence[Document]:
        """The documents that trials are scored on: those that somebody has annotated."""
        return with_gold(self.dev if self.split == "dev" else self.train)

    def check(self) -> None:
        """Refuse what cannot be tuned, before hours are spent on it.

        Raises:
            LinnetError: no documents to score on, or too few, no such score, or a part that learns from them.
        """
        if not self.gold or not any(doc.mentions for doc in self.gold):
            raise LinnetError(f"no documents with gold mentions to score on with split {self.split!r}")
        if self.split == "cv":
            folds(self.gold, THIRDS)  # of too few documents, or of one id, there are none
        pipeline = load(self.source, kb=self.kb, changes=self.changes)
        names = must_have_dev(pipeline, tasks(pipeline, self.recipe.train, source=self.source))
        if self.split == "dev" and names and not self.recipe.dev_share:
            problem = f"{names[0]} learns from the dev documents that trials are scored on; use --split cv"
            raise RecipeError(self.source, [f"train: {problem}"])
        if "concepts" not in pipeline.gives and not self.score.rpartition(".")[2].startswith("recall"):
            problem = (
                f"the pipeline has no decide, so {self.score} is always 0; add decide at its end, or tune a recall"
            )
            raise RecipeError(self.source, [f"pipeline: {problem}"])
        _ = evaluate(self.gold, blind(self.gold, pipeline), kb=self.kb, options=OPTIONS)[self.score]

    def measure(self, values: Values) -> float:
        """Return the score of some values.

        Raises:
            RecipeError: components refuse them, or find nothing to learn from with them.
        """
        changes = [*self.changes, *changes_of(values)]
        predicted: list[Document] = []
        for learned, chosen_on, held in self._divide():
            try:
                pipeline = load(self.source, kb=self.kb, changes=changes)
            except (DataError, PipelineError) as error:
                raise RecipeError(self.source, [str(error)]) from error
            recipe = read_recipe(self.source, changes=changes)
            todo = tasks(pipeline, recipe.train, source=self.source, seed=recipe.seed)
            try:
                train_in_place(pipeline, without_calibration(pipeline, todo), [*learned, *self.texts], chosen_on)
            except (DataError, TrainingError) as error:  # n-grams too rare to retrieve what is right, a rate too high
                raise RecipeError(self.source, [str(error)]) from error
            predicted += pipeline.stream(blind(held, pipeline))
        return evaluate(self.gold, predicted, kb=self.kb, options=OPTIONS)[self.score].value

    def _divide(self) -> Iterator[tuple[Sequence[Document], Sequence[Document], Sequence[Document]]]:
        """Yield documents to learn from, to choose on, to link."""
        keep = functools.partial(with_dev, share=self.recipe.dev_share, seed=self.recipe.seed)
        if self.split == "dev":
            yield *keep(self.train, ()), self.gold
            return
        for held in folds(self.gold, THIRDS, seed=self.recipe.seed):
            ids = {doc.id for doc in held}
            yield *keep([doc for doc in self.train if doc.id not in ids], self.dev), held

    def own(self) -> dict[str, Any]:
        """Return the values that the recipe itself has, where they can be chosen, as the study holds them."""
        found: dict[str, Any] = {}
        for part in parts_of(load(self.source, kb=self.kb, changes=self.changes)):
            for key, wanted in self.recipe.tune.items():
                target, _, name = key.rpartition(".")
                called = name_of(part) == target or type(part).__module__.startswith(f"linnet.{target}.")
                value = find_choice(wanted, learner_of(part).keywords.get(name)) if called else None
                if value is not None:
                    found.setdefault(key, value)
        for key, wanted in self.recipe.tune.items():
            for table in self.recipe.train:
                target, _, name = key.rpartition(".")
                value = find_choice(wanted, table.get(name)) if target == f"train.{table.get('part')}" else None
                if value is not None:
                    found.setdefault(key, value)
        return found

    def key(self, seed: int) -> dict[str, str]:
        """Return what scores depend on, by name."""
        told = self.recipe.model_dump(mode="json", exclude={"expect", "description", "kb"})
        text = json.dumps(told, sort_keys=True)
        return {
            "recipe": hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
            "training documents": corpus_version([*self.train, *self.texts]),
            "dev documents": corpus_version(self.dev),
            "knowledge base": self.kb.version,
            "split": self.split,
            "score": self.score,
            "seed": str(seed),
            "version of Linnet": __version__,
        }


def changes_of(values: Values) -> list[str]:
    """Return values as ``key=value`` pairs.

    >>> changes_of({"ngram.k": 8})
    ['ngram.k=8']
    """
    return [f"{key}={toml_value(value)}" for key, value in values.items()]


# --- the study -------------------------------------------------------------------------------------------------------


def tune(search: Search, folder: Path, *, trials: int, seed: int = 13, timeout: float | None = None) -> Iterator[Trial]:
    """Yield trials, those of earlier runs in this folder first, until there are so many.

    Args:
        search: what is searched for.
        folder: of the study.
        trials: how many there shall be, earlier ones included.
        seed: of the values that are proposed.
        timeout: seconds after which this run begins no other trial.

    Raises:
        LinnetError: the folder holds the study of something else, or is not a study, or cannot be written; another
            process is running the study.
        MissingExtraError: Optuna is not installed.
    """
    search.check()
    with alone(folder / STUDY):
        study = Study(folder, key=search.key(seed), space=search.recipe.tune, own=search.own())
        known: list[Trial] = []
        for values, score, told in study.finished():
            seconds, problem, same = (told.get(key, 0) for key in ("seconds", "problem", "same"))
            known.append(Trial(len(known) + 1, values, score, float(seconds), str(problem or ""), int(same)))
        yield from known
        start = time.monotonic()
        while len(known) < trials and (timeout is None or time.monotonic() - start < timeout):
            proposal = study.ask(seed, len(known))
            done = _try_values(search, len(known) + 1, proposal.values, known)
            study.tell(proposal, done.score, seconds=done.seconds, problem=done.problem, same=done.same)
            known.append(done)
            yield done


def _try_values(search: Search, number: int, values: Values, known: Sequence[Trial]) -> Trial:
    """Return the trial of some values; what was tried before is known, as training is repeatable."""
    for other in known:
        if other.values == values:
            return Trial(number, values, other.score, 0.0, other.problem, other.same or other.number)
    start = time.perf_counter()
    score, problem = None, ""
    try:
        score = search.measure(values)
    except RecipeError as error:
        problem = "; ".join(error.problems)
    return Trial(number, values, score, time.perf_counter() - start, problem)


# --- the outcome -----------------------------------------------------------------------------------------------------


def best(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the highest score, the first of equals.

    Raises:
        LinnetError: there is none with a score.

    >>> best([Trial(1, {}, 0.8, 1.0), Trial(2, {}, 0.9, 1.0), Trial(3, {}, 0.9, 1.0)]).number
    2
    """
    scored = [trial for trial in trials if trial.score is not None]
    if not scored:
        reasons = "; ".join(dict.fromkeys(trial.problem for trial in trials)) or "none finished in the given time"
        raise LinnetError(f"no trial has a score: {reasons}")
    return max(scored, key=lambda trial: (trial.score or 0.0, -trial.number))


def write_best(
    search: Search, trials: Sequence[Trial], path: Path, *, kb: str | None = None, data: str | Path | None = None
) -> Trial:
    """Write the recipe with the best values, which can be trained; return their trial.

    Args:
        search: what was searched for.
        trials: all of them.
        path: of the recipe.
        kb: the name of a knowledge base instead of the recipe's.
        data: the folder that relative paths of its sources begin in; None takes the environment variable LINNET_DATA.

    Raises:
        LinnetError: no trial has a score.
    """
    found = best(trials)
    recipe = read_recipe(search.source, changes=[*search.changes, *changes_of(found.values)])
    used = recipe.kb.moved(path.parent, data=data) if kb is None and isinstance(recipe.kb, KbSources) else kb
    recipe = recipe.model_copy(update={"chosen_on": search.split, **({} if used is None else {"kb": used})})
    lines = [
        f"Chosen by linnet tune from the recipe {toml_value(search.source)}:",
        f"trial {found.number} of {len(trials)}, {search.score} {found.score:.4f} with split {search.split}.",
        *(f"  {toml_value(key)} = {toml_value(value)}" for key, value in found.values.items()),
    ]
    with replacing(path, kind="recipe") as out:
        out.write("".join(f"# {line}\n" for line in lines) + "\n" + recipe.to_toml())
    return found
