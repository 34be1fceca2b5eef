"""The study of a search on disk: the values to try next, and the results so far.

Values are proposed by Optuna's tree-structured Parzen estimator. The study is an SQLite file that one process writes to
at a time: unfinished trials of an earlier process count as interrupted and start again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linnet.errors import LinnetError, MissingExtraError
from linnet.home import writable
from linnet.recipes.recipe import Range

if TYPE_CHECKING:
    from optuna import Study as Stored
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial as Asked

__all__ = ["STUDY", "Proposal", "Study", "find_choice"]

STUDY = "study.db"
NAME = "linnet"  # of the one study in the file
TOLD = "told"

Space = Mapping[str, "list[Any] | Range"]


class Proposal(NamedTuple):
    """Values to try, and the trial of the study that they belong to."""

    values: dict[str, Any]
    asked: Asked


class Study:
    """The study in a folder.

    Args:
        folder: where it is, or shall be.
        key: what its scores depend on, by name.
        space: what to choose from, by keyword.
        own: what to try first, as `chosen` gives it.

    Raises:
        LinnetError: the folder holds the study of something else, or is not a study, or cannot be written.
        MissingExtraError: Optuna is not installed.
    """

    def __init__(self, folder: Path, *, key: Mapping[str, str], space: Space, own: Mapping[str, Any]) -> None:
        optuna = _optuna()
        from sqlalchemy import URL  # noqa: PLC0415 - comes with optuna

        self.folder, self.space = folder, space
        path = writable(folder).absolute() / STUDY
        with self._explain_failure(f"{path} is not a readable study", "give another folder with -o"):
            storage = optuna.storages.RDBStorage(URL.create("sqlite", database=str(path)).render_as_string())
            self.stored: Stored = optuna.create_study(
                storage=storage, study_name=NAME, direction="maximize", load_if_exists=True
            )
            self._check(key)
            self._requeue(own)

    @contextmanager
    def _explain_failure(
        self, what: str = "", way: str = "make room and run the same command to resume"
    ) -> Iterator[None]:
        """Turn database errors into an error that names the file and a remedy."""
        optuna = _optuna()
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - comes with optuna

        try:
            yield
        except optuna.exceptions.UpdateFinishedTrialError as error:
            message = f"{self.folder}: another process is running this study; run one at a time"
            raise LinnetError(message) from error
        except (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError, AssertionError) as error:
            # Optuna's own words for what the database says are about something else
            reason = str(error.__cause__ or error).partition("\n")[0]
            raise LinnetError(f"{what or f'{self.folder / STUDY} cannot be written'}: {reason}; {way}") from error

    def _check(self, key: Mapping[str, str]) -> None:
        """Refuse the study of something else."""
        if not self.stored.user_attrs and not self.stored.trials:
            self.stored.set_user_attr("key", dict(key))
        found = self.stored.user_attrs.get("key")
        theirs = found if isinstance(found, dict) else {}
        other = [name for name, value in key.items() if theirs.get(name) != value]
        if other:
            message = f"{self.folder} holds the study of another {', '.join(other)}: give another folder with -o"
            raise LinnetError(message)

    def _requeue(self, own: Mapping[str, Any]) -> None:
        """Queue interrupted trials again."""
        states = _optuna().trial.TrialState
        if not self.stored.trials:
            self._enqueue(own)
        for trial in self.stored.get_trials(states=(states.RUNNING,)):
            self.stored.tell(trial.number, state=states.FAIL)
            self._enqueue(trial.params)

    def _enqueue(self, params: Mapping[str, Any]) -> None:
        if params:
            self.stored.enqueue_trial(dict(params))

    def finished(self) -> Iterator[tuple[dict[str, Any], float | None, dict[str, Any]]]:
        """Yield values, score and metadata of each trial that ended: scored, or with a ``problem``."""
        with self._explain_failure():
            trials: list[FrozenTrial] = self.stored.get_trials()
        for trial in trials:
            told = trial.user_attrs.get(TOLD, {})
            if trial.state.is_finished() and (trial.value is not None or told.get("problem")):
                yield self._values(trial.params), trial.value, told

    def ask(self, seed: int, number: int) -> Proposal:
        """Return what to try next, after so many trials (`number`)."""
        with self._explain_failure():
            # a sampler for each trial: one for all would begin anew with each run, and repeat its first proposals
            self.stored.sampler = _sampler(seed, number)
            asked = self.stored.ask({key: _distribution(wanted) for key, wanted in self.space.items()})
        return Proposal(self._values(asked.params), asked)

    def tell(self, proposal: Proposal, score: float | None, **told: Any) -> None:
        """Record the result of a proposal; without a score it was refused."""
        with self._explain_failure():
            proposal.asked.set_user_attr(TOLD, told)
            if score is None:
                self.stored.tell(proposal.asked, state=_optuna().trial.TrialState.FAIL)
            else:
                self.stored.tell(proposal.asked, score)

    def _values(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: json.loads(params[key]) if isinstance(wanted, list) else params[key]
            for key, wanted in self.space.items()
        }


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("optuna", extra="tune", wanted_by="linnet tune") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _sampler(seed: int, number: int) -> Any:
    samplers = _optuna().samplers
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=4).digest()
    return samplers.TPESampler(seed=int.from_bytes(digest, "big"))


def _distribution(wanted: Sequence[Any] | Range) -> Any:
    """Return what Optuna draws from; choices are JSON, which lists and numbers alike can be."""
    distributions = _optuna().distributions
    if not isinstance(wanted, Range):
        return distributions.CategoricalDistribution([json.dumps(value) for value in wanted])
    low, high = wanted.low, wanted.high
    if wanted.step is not None:  # the last step that fits: Optuna's, without its warning
        first, step = Decimal(str(low)), Decimal(str(wanted.step))
        last = first + (Decimal(str(high)) - first) // step * step
        high = int(last) if wanted.whole else float(last)
    if wanted.whole:
        return distributions.IntDistribution(int(low), int(high), log=wanted.log, step=int(wanted.step or 1))
    return distributions.FloatDistribution(float(low), float(high), log=wanted.log, step=wanted.step)


def find_choice(wanted: Sequence[Any] | Range, value: Any) -> Any:
    """Return a value as a study holds it, None if it cannot be chosen.

    >>> find_choice([8, 64], 64), find_choice([8, 64], 9), find_choice(Range(low=8, high=24, step=8), 16)
    ('64', None, 16)
    """
    if not isinstance(wanted, Range):
        plain = json.loads(json.dumps(value, default=str))
        same = [one for one in wanted if one == plain and isinstance(one, bool) == isinstance(plain, bool)]
        return json.dumps(same[0]) if same else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not wanted.low <= value <= wanted.high:
        return None
    if wanted.whole and not isinstance(value, int):
        return None
    steps = 0 if wanted.step is None else (Decimal(str(value)) - Decimal(str(wanted.low))) % Decimal(str(wanted.step))
    return None if steps else value
