"""What the training of a bi-encoder is told: the fields of a ``[[train]]`` table that the gradient loop does not know.

It has two stages, each with fields of its own: ``align``, on the names of the knowledge base alone, and ``finetune``.

Nothing here imports torch, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from linnet.train.args import TrainArgs, split_table

__all__ = ["ALIGN", "FINETUNE", "AlignArgs", "DenseArgs"]

ALIGN = "align"  # the stages
FINETUNE = "finetune"
PUBLISHED = {"epochs": 1, "batch": 512, "lr": 2e-5, "schedule": "constant"}  # the loop's arguments for SapBERT


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
        most: mentions an epoch at most, drawn anew each epoch; 0 = all.
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
    most: int = 0
    synonyms: float = 0.0
    freeze_embeddings: bool = False
    chunk: int = 0

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[DenseArgs, TrainArgs]:
        """Return a ``[[train]]`` table as what this training is told and what the loop is told.

        Raises:
            RecipeError: unknown or wrong fields, all of them at once.
        """
        problems = [*_problems(values), *_stage(values)]
        return split_table(cls, values, problems, source="dense", besides=("stage",))


@dataclass(frozen=True, kw_only=True)
class AlignArgs:
    """What self-alignment (`linnet.retrieve.sapbert`) is told beside `linnet.train.args.TrainArgs`.

    Defaults are those of SapBERT (Liu et al. 2021), for what the loop is told as well: one epoch, 512 pairs a batch, lr
    2e-5, constant.

    Args:
        margin: a triplet counts whose negative is not farther from the anchor than its positive by more than this,
            a difference of distances between vectors of length 1; 2 = all triplets count.
        alpha: sharpness of the loss for synonyms.
        beta: sharpness of the loss for names of different concepts.
        base: the cosine that both are compared with.
        pairs: of synonyms an epoch and concept, drawn anew each epoch, at most.
        tokens: word pieces of a name, special tokens included; the rest is cut off.
        chunk: texts that are encoded at once; a batch of any size needs memory for so many alone (0 = all at once).
    """

    margin: float = 0.2
    alpha: float = 2.0
    beta: float = 50.0
    base: float = 0.5
    pairs: int = 50
    tokens: int = 25
    chunk: int = 0

    @classmethod
    def split(cls, values: Mapping[str, Any]) -> tuple[AlignArgs, TrainArgs]:
        """Return a ``[[train]]`` table as what this training is told and what the loop is told.

        Raises:
            RecipeError: unknown or wrong fields, all of them at once.
        """
        problems = [*_align_problems(values), *_stage(values)]
        return split_table(cls, values, problems, source="dense", defaults=PUBLISHED, besides=("stage",))


def _stage(values: Mapping[str, Any]) -> list[str]:
    stage = values.get("stage", FINETUNE)
    return [] if stage in (ALIGN, FINETUNE) else [f"stage: expected one of {ALIGN}, {FINETUNE}, found {stage!r}"]


def _problems(values: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, choices in (("similarity", ("cosine", "dot")), ("positive", ("nearest", "random", "preferred"))):
        if values.get(name, choices[0]) not in choices:
            problems.append(f"{name}: expected one of {', '.join(choices)}, found {values[name]!r}")
    for name in ("mined", "lexical", "random", "taught", "alike", "most", "chunk"):
        problems += _whole(values, name, 0)
    for name, least in (("temperature", 1e-4), ("synonyms", 0.0)):
        problems += _real(values, name, least, 1e4)
    flags = [name for name in ("only_above", "spare_descendants", "freeze_embeddings") if name in values]
    problems += [
        f"{name}: expected true or false, found {values[name]!r}"
        for name in flags
        if not isinstance(values[name], bool)
    ]
    return problems


def _align_problems(values: Mapping[str, Any]) -> list[str]:
    ranges = {"margin": (-2.0, 2.0), "alpha": (1e-4, 1e4), "beta": (1e-4, 1e4), "base": (-1.0, 1.0)}
    problems = [problem for name, (least, most) in ranges.items() for problem in _real(values, name, least, most)]
    for name, fewest in (("pairs", 1), ("tokens", 3), ("chunk", 0)):
        problems += _whole(values, name, fewest)
    return problems


def _whole(values: Mapping[str, Any], name: str, least: int) -> list[str]:
    value = values.get(name, least)
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return []
    return [f"{name}: expected a whole number from {least}, found {value!r}"]


def _real(values: Mapping[str, Any], name: str, least: float, most: float) -> list[str]:
    value = values.get(name, most)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
        return []
    return [f"{name}: expected a number from {least:g} to {most:g}, found {value!r}"]
