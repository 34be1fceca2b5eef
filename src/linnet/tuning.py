"""Choice of a pipeline's keywords: trials of what ``[tune]`` allows, each trained and scored, in a study on disk.

Values are proposed by Optuna's tree-structured Parzen estimator, from the scores so far; the first trial takes the
recipe's own values, where the choice holds them. The study is an SQLite file, so an interrupted search goes on where it
was, with the trials that it would have had. It belongs to one recipe, corpus, knowledge base, score and seed.

A trial is scored on documents it has not learned from: on the dev documents, which then nothing chooses on, or by
cross-validation on the training documents, each third by a pipeline that learned from the other two.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from linnet import __version__
from linnet.config import load, name_of, read_recipe
from linnet.data import Document
from linnet.errors import DataError, LinnetError, MissingExtraError, PipelineError, RecipeError
from linnet.evaluate import Options, evaluate
from linnet.fitting import corpus_version, fold_of, parts_of, tasks, train_in_place
from linnet.home import writable
from linnet.kb import KnowledgeBase
from linnet.recipe import Recipe, toml_value
from linnet.roles import blind
from linnet.space import Range
from linnet.text.files import replacing

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial as Asked

__all__ = ["Search", "Trial", "best", "changes_of", "tune", "write_best"]

STUDY = "study.db"
NAME = "linnet"  # of the one study in the file
THIRDS = 3
OPTIONS = Options(samples=0, classify=False, shown=0)

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """What came of some values.

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
    """What is searched for, and with what documents.

    Args:
        source: name or file of a recipe with a ``[tune]`` table.
        kb: the knowledge base.
        train: the training documents.
        dev: the dev documents.
        split: ``dev``, or ``cv`` for cross-validation on `train`, while parts may choose on `dev`.
        score: name of the figure that is to be large, as in a report.
        changes: ``key=value`` pairs for the recipe, as for `linnet.config.read_recipe`.

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
    recipe: Recipe = field(init=False)

    def __post_init__(self) -> None:
        recipe = read_recipe(self.source, changes=self.changes)
        if not recipe.tune:
            raise RecipeError(self.source, ['tune: missing; say what to choose from, such as "ngram.k" = [8, 64]'])
        object.__setattr__(self, "recipe", recipe)

    @property
    def gold(self) -> Sequence[Document]:
        """The documents that trials are scored on."""
        return self.dev if self.split == "dev" else self.train

    def check(self) -> None:
        """Refuse what could not be tuned, before hours are spent on it.

        Raises:
            LinnetError: no documents to score on, no such score, or a part that learns from them.
        """
        if not self.gold or not any(doc.mentions for doc in self.gold):
            raise LinnetError(f"no documents with gold mentions to score on with split {self.split!r}")
        todo = tasks(load(self.source, kb=self.kb, changes=self.changes), self.recipe.train, source=self.source)
        if self.split == "dev" and any(task.name == "decide" for task in todo):
            raise RecipeError(
                self.source, ["train: decide learns from the dev documents that trials are scored on; use --split cv"]
            )
        nothing = [doc.bare() for doc in self.gold]
        _ = evaluate(self.gold, nothing, kb=self.kb, options=OPTIONS)[self.score]

    def measure(self, values: Values) -> float:
        """Return the score of some values.

        Raises:
            RecipeError: components refuse them.
        """
        changes = [*self.changes, *changes_of(values)]
        predicted: list[Document] = []
        for learned, chosen_on, held in self._divided():
            try:
                pipeline = load(self.source, kb=self.kb, changes=changes)
            except (DataError, PipelineError) as error:
                raise RecipeError(self.source, [str(error)]) from error
            todo = tasks(pipeline, self.recipe.train, source=self.source)
            train_in_place(pipeline, todo, learned, chosen_on)
            predicted += pipeline.stream(blind(held, pipeline))
        return evaluate(self.gold, predicted, kb=self.kb, options=OPTIONS)[self.score].value

    def _divided(self) -> Iterator[tuple[Sequence[Document], Sequence[Document], Sequence[Document]]]:
        """Yield documents to learn from, to choose on, to link."""
        if self.split == "dev":
            yield self.train, (), self.dev
            return
        places = [fold_of(doc.id, THIRDS) for doc in self.train]
        for third in sorted(set(places)):
            pairs = list(zip(self.train, places, strict=True))
            rest = [doc for doc, place in pairs if place != third]
            yield rest, self.dev, [doc for doc, place in pairs if place == third]

    def own(self) -> dict[str, Any]:
        """Return the values that the recipe itself has, where they can be chosen, as the study holds them."""
        found: dict[str, Any] = {}
        for part in parts_of(load(self.source, kb=self.kb, changes=self.changes)):
            for key, wanted in self.recipe.tune.items():
                target, _, name = key.rpartition(".")
                called = name_of(part) == target or type(part).__module__.startswith(f"linnet.{target}.")
                chosen = _chosen(wanted, getattr(part, name, None)) if called else None
                if chosen is not None:
                    found.setdefault(key, chosen)
        return found

    def key(self, seed: int) -> dict[str, str]:
        """Return what scores depend on, by name."""
        told = self.recipe.model_dump(mode="json", exclude={"expect", "description", "kb"})
        text = json.dumps(told, sort_keys=True)
        return {
            "recipe": hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
            "training documents": corpus_version(self.train),
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
        LinnetError: the folder holds the study of something else, or what is no study.
        MissingExtraError: Optuna is not installed.
    """
    search.check()
    study = _study(folder, search, seed)
    space = {key: _distribution(wanted) for key, wanted in search.recipe.tune.items()}
    known = _finished(study, search)
    yield from known
    start = time.monotonic()
    while len(known) < trials and (timeout is None or time.monotonic() - start < timeout):
        # a sampler for each trial: one for all would begin anew with each run, and repeat its first proposals
        study.sampler = _sampler(seed, len(known))
        asked = study.ask(space)
        done = _tried(search, len(known) + 1, _values(asked.params, search), known)
        asked.set_user_attr("told", {"seconds": done.seconds, "problem": done.problem, "same": done.same})
        _tell(study, asked, done.score)
        known.append(done)
        yield done


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("optuna", extra="tune", wanted_by="linnet tune") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _study(folder: Path, search: Search, seed: int) -> Study:
    """Open or begin the study of a folder; trials that were interrupted are put in line again."""
    optuna = _optuna()
    from sqlalchemy import URL  # noqa: PLC0415 - comes with optuna
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    path = writable(folder).absolute() / STUDY
    try:
        storage = optuna.storages.RDBStorage(URL.create("sqlite", database=str(path)).render_as_string())
        study: Study = optuna.create_study(storage=storage, study_name=NAME, direction="maximize", load_if_exists=True)
        _same(study, search.key(seed), folder)
        _continued(study, search)
    except (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise LinnetError(f"{path} is no study that can be read: {reason}; give another folder with -o") from error
    return study


def _same(study: Study, key: Mapping[str, str], folder: Path) -> None:
    """Refuse the study of something else."""
    if not study.user_attrs and not study.trials:
        study.set_user_attr("key", dict(key))
    found = study.user_attrs.get("key")
    theirs = found if isinstance(found, dict) else {}
    other = [name for name, value in key.items() if theirs.get(name) != value]
    if other:
        raise LinnetError(f"{folder} holds the study of another {', '.join(other)}: give another folder with -o")


def _continued(study: Study, search: Search) -> None:
    running = _optuna().trial.TrialState.RUNNING
    if not study.trials:
        _enqueue(study, search.own())
    for trial in study.get_trials(states=(running,)):
        study.tell(trial.number, state=_optuna().trial.TrialState.FAIL)
        _enqueue(study, trial.params)


def _enqueue(study: Study, params: Mapping[str, Any]) -> None:
    if params:
        study.enqueue_trial(dict(params))


def _sampler(seed: int, number: int) -> Any:
    samplers = _optuna().samplers
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=4).digest()
    return samplers.TPESampler(seed=int.from_bytes(digest, "big"))


def _tell(study: Study, asked: Asked, score: float | None) -> None:
    if score is None:
        study.tell(asked, state=_optuna().trial.TrialState.FAIL)
    else:
        study.tell(asked, score)


def _finished(study: Study, search: Search) -> list[Trial]:
    """Return the trials of earlier runs that were scored or refused."""
    found: list[Trial] = []
    for trial in study.get_trials():
        told = trial.user_attrs.get("told", {})
        if trial.state.is_finished() and (trial.value is not None or told.get("problem")):
            values = _values(trial.params, search)
            score, problem = trial.value, str(told.get("problem", ""))
            seconds, same = float(told.get("seconds", 0.0)), int(told.get("same", 0))
            found.append(Trial(len(found) + 1, values, score, seconds, problem, same))
    return found


def _tried(search: Search, number: int, values: Values, known: Sequence[Trial]) -> Trial:
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


# --- values ----------------------------------------------------------------------------------------------------------


def _distribution(wanted: list[Any] | Range) -> Any:
    """Return what Optuna draws from; choices are JSON, which lists and numbers alike can be."""
    distributions = _optuna().distributions
    if isinstance(wanted, list):
        return distributions.CategoricalDistribution([json.dumps(value) for value in wanted])
    low, high = wanted.low, wanted.high
    if wanted.step is not None:  # the last step that fits: Optuna's, without its warning
        first, step = Decimal(str(low)), Decimal(str(wanted.step))
        last = first + (Decimal(str(high)) - first) // step * step
        high = int(last) if wanted.whole else float(last)
    if wanted.whole:
        return distributions.IntDistribution(int(low), int(high), log=wanted.log, step=int(wanted.step or 1))
    return distributions.FloatDistribution(float(low), float(high), log=wanted.log, step=wanted.step)


def _values(params: Mapping[str, Any], search: Search) -> dict[str, Any]:
    return {
        key: json.loads(params[key]) if isinstance(wanted, list) else params[key]
        for key, wanted in search.recipe.tune.items()
    }


def _chosen(wanted: list[Any] | Range, value: Any) -> Any:
    """Return a value as it can be chosen, None if it cannot."""
    if isinstance(wanted, list):
        plain = json.loads(json.dumps(value, default=str))
        same = [one for one in wanted if one == plain and isinstance(one, bool) == isinstance(plain, bool)]
        return json.dumps(same[0]) if same else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not wanted.low <= value <= wanted.high:
        return None
    if wanted.whole and not isinstance(value, int):
        return None
    steps = 0 if wanted.step is None else (Decimal(str(value)) - Decimal(str(wanted.low))) % Decimal(str(wanted.step))
    return None if steps else value


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
        reasons = "; ".join(dict.fromkeys(trial.problem for trial in trials)) or "none was made in the time given"
        raise LinnetError(f"no trial has a score: {reasons}")
    return max(scored, key=lambda trial: (trial.score or 0.0, -trial.number))


def write_best(search: Search, trials: Sequence[Trial], path: Path, *, kb: str | None = None) -> Trial:
    """Write the recipe with the best values, which can be trained; return their trial.

    Args:
        search: what was searched for.
        trials: all of them.
        path: of the recipe.
        kb: the name of a knowledge base instead of the recipe's.

    Raises:
        LinnetError: no trial has a score.
    """
    found = best(trials)
    recipe = read_recipe(search.source, changes=[*search.changes, *changes_of(found.values)])
    if kb is not None:
        recipe = recipe.model_copy(update={"kb": kb})
    lines = [
        f"Chosen by linnet tune from the recipe {toml_value(search.source)}:",
        f"trial {found.number} of {len(trials)}, {search.score} {found.score:.4f} with split {search.split}.",
        *(f"  {toml_value(key)} = {toml_value(value)}" for key, value in found.values.items()),
    ]
    with replacing(path) as out:
        out.write("".join(f"# {line}\n" for line in lines) + "\n" + recipe.to_toml())
    return found
