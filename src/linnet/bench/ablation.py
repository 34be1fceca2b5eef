"""Ablation: the metrics of a pipeline retrained without each ingredient, and whether the difference is significant.

An ingredient is a kind of columns of the lexical reranker, a habit of the n-gram retriever, or a part as a whole. Each
is left out alone, everything that learns is trained anew, and the pipeline links the dev split's mentions; where there
is a reranker, the same is done without it, so that what the retriever loses can be told from what the reranker mends.
Other changes of a recipe can be measured in the same way.
Which of the same mentions two pipelines get right is compared by McNemar's exact test, adjusted by Holm's procedure
for all comparisons of the recipe (`linnet.evaluate.uncertainty`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data import Document
from linnet.errors import LinnetError, RecipeError
from linnet.evaluate import Options, measure
from linnet.evaluate.linked import Protocol
from linnet.evaluate.uncertainty import adjust, mcnemar
from linnet.fit.plan import Task, parts_of, tasks, without_calibration
from linnet.fit.training import train_in_place
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.pipeline.component import Component, blind
from linnet.recipes.config import load, name_of, read_recipe
from linnet.recipes.recipe import Recipe, toml_value
from linnet.rerank.features import GROUPS
from linnet.rerank.lexical import Lexical
from linnet.retrieve.ngram import Ngram

__all__ = ["NO_RANKER", "PROTOCOL", "RECALL_AT", "WHOLE", "Ablation", "Outcome", "Row", "Variant", "ablate", "compare"]

WHOLE = "whole"
NO_RANKER = "no ranker"
RANKER, RETRIEVER, CONJUNCTS = "lexical", "ngram", "conjuncts"  # parts, as recipes call them
PROTOCOL: Protocol = "in-kb"
RECALL_AT = (20, 64)
OPTIONS = Options(protocol=PROTOCOL, samples=0, classify=False, shown=0)
LEARNED: dict[str, tuple[str, Any]] = {"training aliases": ("aliases", False), "prior of aliases": ("prior", 0.0)}
HABITS: dict[str, tuple[str, Any]] = {  # ingredient → keyword of the retriever, and its value without it
    **LEARNED,
    "long forms": ("long_forms", False),
    "word boundaries": ("word_boundaries", False),
    "sublinear tf": ("sublinear_tf", False),
    "all but 3-grams": ("ngram_range", (3, 3)),
}

Changes = tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """A recipe without one ingredient.

    Args:
        pipeline: `WHOLE` or `NO_RANKER`: what the ingredient is left out of.
        without: the ingredient, "" = none; of a part, ``part: ingredient``; or the changes, where they are told.
        changes: ``key=value`` pairs for the recipe, as for `linnet.recipes.config.read_recipe`.
        removed: names of the parts that are left out.
    """

    pipeline: str = WHOLE
    without: str = ""
    changes: Changes = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a variant gets right.

    Args:
        variant: the variant.
        right: bool (mentions,), over the mentions of `PROTOCOL` by document and place, the same of all variants.
        recall: share of these with an accepted answer among the first candidates, by number of candidates in
            `RECALL_AT`; left out where mentions have no candidates.
        penalty: of the reranker's weights, None without a reranker.
        seconds: that training and linking took.
    """

    variant: Variant
    right: npt.NDArray[np.bool_]
    recall: dict[int, float]
    penalty: float | None
    seconds: float


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        pipeline: `WHOLE` or `NO_RANKER`.
        without: the ingredient that is left out, "" = none.
        accuracy: share of the mentions with the right answer, accuracy@1.
        recall: as in `Outcome`.
        mentions: how many were linked.
        difference: of the accuracy from that of the pipeline with everything, None in the row of that pipeline.
        p: exact McNemar against the pipeline with everything, of this comparison alone.
        adjusted: `p` adjusted for all comparisons of the table.
    """

    pipeline: str
    without: str
    accuracy: float
    recall: dict[int, float]
    mentions: int
    difference: float | None = None
    p: float | None = None
    adjusted: float | None = None


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A recipe whose ingredients are left out one by one, and the documents to do it with.

    Args:
        source: name or file of the recipe.
        kb: the knowledge base.
        train: the training documents; nothing is trained if the recipe has no ``[[train]]`` table.
        chosen_on: documents that parts may choose on, none of `dev`.
        dev: the documents whose gold mentions are linked.
        varied: changes of the recipe that are measured instead of ingredients left out, each group of them together.
        changes: of the recipe for all that is measured.

    Raises:
        RecipeError: the recipe is wrong.
    """

    source: str
    kb: KnowledgeBase
    train: Sequence[Document]
    chosen_on: Sequence[Document]
    dev: Sequence[Document]
    varied: Sequence[Changes] = ()
    changes: Changes = ()
    recipe: Recipe = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "recipe", read_recipe(self.source, changes=self.changes))

    def variants(self, penalty: float | None = None) -> list[Variant]:
        """Return everything that is compared with the whole pipeline.

        Args:
            penalty: of the reranker's weights where columns are left out; None has it chosen for each.

        Raises:
            RecipeError: the recipe has no ingredient that is known here, or its reranker is not trained.
        """
        if self.varied:
            made = [Variant(without=" ".join(changes), changes=changes) for changes in self.varied]
            for variant in made:
                self._todo(self._pipeline(variant), variant)
            return made
        whole = self._pipeline(Variant())
        trained = [task.name for task in self._todo(whole, Variant())]
        parts = parts_of(whole)
        ranked = any(isinstance(part, Lexical) for part in whole.parts)
        if ranked and RANKER not in trained:
            raise RecipeError(self.source, [f'train: {RANKER} is not trained; add [[train]] with part = "{RANKER}"'])
        shared = list(_habits(parts, trained=RETRIEVER in trained))
        if any(name_of(part) == CONJUNCTS for part in whole.parts):
            shared.append(Variant(without=CONJUNCTS, removed=(CONJUNCTS,)))
        columns = list(_columns(parts, penalty))
        if not columns and not shared:
            known = f"{RANKER}, {RETRIEVER}, {CONJUNCTS}"
            raise RecipeError(self.source, [f"pipeline: no part with ingredients to leave out; such are {known}"])
        if not ranked:
            return shared
        bare = [replace(one, pipeline=NO_RANKER, removed=(RANKER, *one.removed)) for one in (Variant(), *shared)]
        return [*columns, Variant(without=RANKER, removed=(RANKER,)), *shared, *bare]

    def measure(self, variant: Variant) -> Outcome:
        """Return what a variant gets right once it is trained.

        Raises:
            LinnetError: it cannot be trained, or no gold mention has a concept of the knowledge base.
        """
        start = time.perf_counter()
        pipeline = self._pipeline(variant)
        train_in_place(pipeline, self._todo(pipeline, variant), self.train, self.chosen_on)
        predicted = list(pipeline.stream(blind(self.dev, pipeline)))
        seconds = time.perf_counter() - start
        found = measure(self.dev, predicted, kb=self.kb, options=OPTIONS)
        right = found.linked.right[found.linked.mask(PROTOCOL)]
        if not len(right):
            raise LinnetError(f"{self.source}: no gold mention has a concept of {self.kb.path}: nothing to compare")
        figures = {k: found.report.measures.get(f"{PROTOCOL}.recall@{k}") for k in RECALL_AT}
        recall = {k: figure.value for k, figure in figures.items() if figure is not None}
        penalties = [part.fitted_penalty for part in pipeline.parts if isinstance(part, Lexical)]
        return Outcome(variant, right, recall, penalties[0] if penalties else None, seconds)

    def _pipeline(self, variant: Variant) -> Pipeline:
        made = load(self.source, kb=self.kb, changes=(*self.changes, *variant.changes))
        kept = [part for part in made.parts if name_of(part) not in variant.removed]
        return Pipeline(*kept, name=made.name, kb=self.kb, allow=made.allow)

    def _todo(self, pipeline: Pipeline, variant: Variant) -> list[Task]:
        recipe = read_recipe(self.source, changes=(*self.changes, *variant.changes))
        tables = [table for table in recipe.train if table.get("part") not in variant.removed]
        todo = tasks(pipeline, tables, source=self.source, seed=recipe.seed) if tables else []
        return without_calibration(pipeline, todo)


def _columns(parts: Sequence[Component], penalty: float | None) -> Iterator[Variant]:
    """Yield what leaves out each kind of the reranker's columns that it has, under the penalty of all columns."""
    kept = () if penalty is None else (f"{RANKER}.penalty={penalty!r}",)
    for part in parts:
        if isinstance(part, Lexical):
            for kind in GROUPS:
                if kind not in part.omit:
                    omit = toml_value([*part.omit, kind])
                    yield Variant(without=f"{RANKER}: {kind}", changes=(f"{RANKER}.omit={omit}", *kept))


def _habits(parts: Sequence[Component], *, trained: bool) -> Iterator[Variant]:
    """Yield what leaves out each habit of the retriever that it has."""
    found = [part for part in parts if isinstance(part, Ngram)]
    for name, (key, value) in HABITS.items():
        idle = name in LEARNED and not (trained and any(part.aliases for part in found))
        if not idle and any(getattr(part, key) != value for part in found):
            yield Variant(without=f"{RETRIEVER}: {name}", changes=(f"{RETRIEVER}.{key}={toml_value(value)}",))


def ablate(ablation: Ablation) -> Iterator[Outcome]:
    """Yield the outcome of the whole pipeline, then that of each variant; equal ones are measured once.

    Where columns of the reranker are left out, the penalty is the one that was chosen with all of them.

    Raises:
        LinnetError: as `Ablation.variants` and `Ablation.measure`, the former before anything is trained.
    """
    ablation.variants()
    whole = ablation.measure(Variant())
    yield whole
    known: dict[tuple[Changes, tuple[str, ...]], Outcome] = {}
    for variant in ablation.variants(whole.penalty):
        key = variant.changes, variant.removed
        known[key] = replace(known[key], variant=variant, seconds=0.0) if key in known else ablation.measure(variant)
        yield known[key]


def compare(outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the rows of a table, each outcome against that of the same pipeline with everything.

    >>> all_right = Outcome(Variant(), np.ones(9, np.bool_), {20: 1.0}, None, 1.0)
    >>> half = Outcome(Variant(without="conjuncts"), np.arange(9) > 5, {20: 1.0}, None, 1.0)
    >>> [(row.without, round(row.accuracy, 3), row.adjusted) for row in compare([all_right, half])]
    [('', 1.0, None), ('conjuncts', 0.333, 0.03125)]
    """
    everything = {one.variant.pipeline: one for one in outcomes if not one.variant.without}
    rows = []
    for one in outcomes:
        variant, base = one.variant, everything[one.variant.pipeline]
        row = Row(variant.pipeline, variant.without, float(one.right.mean()), one.recall, len(one.right))
        if one is not base:
            difference = row.accuracy - float(base.right.mean())
            row = replace(row, difference=difference, p=mcnemar(base.right, one.right))
        rows.append(row)
    adjusted = iter(adjust([row.p for row in rows if row.p is not None]))
    return [row if row.p is None else replace(row, adjusted=next(adjusted)) for row in rows]
