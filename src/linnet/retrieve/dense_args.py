"""What the training of a bi-encoder is told: the fields of a ``[[train]]`` table that the gradient loop does not know.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from linnet.errors import RecipeError, did_you_mean
from linnet.train.args import TrainArgs

__all__ = ["DenseArgs"]


@dataclass(frozen=True, kw_only=True)
class DenseArgs:
    """What the training of a bi-encoder is told beside `linnet.train.args.TrainArgs`.

    Args:
        similarity: ``dot`` product as published, or ``cosine``.
        temperature: similarities are divided by it.
        positive: which name of the right concept is the positive: the ``nearest`` so far, a ``random`` one, or the
            ``preferred`` one as published.
        mined: hard negatives a mention, from what the network itself ranks first, mined anew each epoch.
        lexical: negatives a mention from the candidates that the pipeline before gives.
        random: negatives a mention drawn from all concepts.
        taught: candidates a mention of the pipeline before, whose scores as shares the network learns as well (Hinton
            et al. 2015): behind a slower ranker, its opinion. They are negatives too.
        only_above: hard negatives are only taken from above the right concept.
        spare_descendants: narrower concepts than the right one are no negatives.
        alike: mentions an epoch of the same words with the same concepts, drawn anew each epoch; 0 = all of them.
        synonyms: pairs of synonyms of the knowledge base, for each mention: 1 = as many.
        freeze_embeddings: leave the embeddings of tokens as they are before training, markers included.
        chunk: texts that are encoded at once; a batch of any size needs memory for so many alone (0 = all at once).
    """

    similarity: Literal["cosine", "dot"] = "cosine"
    temperature: float = 0.05
    positive: Literal["nearest", "random", "preferred"] = "nearest"
    mined: int = 1
    lexical: int = 0
    random: int = 0
    taught: int = 0
    only_above: bool = False
    spare_descendants: bool = False
    alike: int = 0
    synonyms: float = 0.0
    freeze_embeddings: bool = False
    chunk: int = 0

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[DenseArgs, TrainArgs]:
        """Return a ``[[train]]`` table as what this training is told and what the loop is told.

        Raises:
            RecipeError: unknown or wrong fields, all of them at once.
        """
        own = {item.name for item in fields(cls)}
        problems = _problems({key: value for key, value in values.items() if key in own})
        others = {key: value for key, value in values.items() if key not in own}
        known = {item.name for item in fields(TrainArgs)}
        for key in [key for key in others if key not in known]:
            hint = did_you_mean(key, own | known) or f"; it has: {', '.join(sorted(own | known))}"
            problems.append(f"{key}: unknown field{hint}")
            del others[key]
        try:
            loop = TrainArgs.of(others, source="dense")
        except RecipeError as error:
            raise RecipeError("dense", [*problems, *error.problems]) from error
        if problems:
            raise RecipeError("dense", problems)
        return cls(**{key: value for key, value in values.items() if key in own}), loop


def _problems(values: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, choices in (("similarity", ("cosine", "dot")), ("positive", ("nearest", "random", "preferred"))):
        if values.get(name, choices[0]) not in choices:
            problems.append(f"{name}: expected one of {', '.join(choices)}, found {values[name]!r}")
    for name in ("mined", "lexical", "random", "taught", "alike", "chunk"):
        value = values.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            problems.append(f"{name}: expected a whole number from 0, found {value!r}")
    for name, least in (("temperature", 1e-4), ("synonyms", 0.0)):
        value = values.get(name, 1.0)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= 1e4:
            problems.append(f"{name}: expected a number from {least:g} to 10000, found {value!r}")
    flags = [name for name in ("only_above", "spare_descendants", "freeze_embeddings") if name in values]
    problems += [
        f"{name}: expected true or false, found {values[name]!r}"
        for name in flags
        if not isinstance(values[name], bool)
    ]
    return problems
