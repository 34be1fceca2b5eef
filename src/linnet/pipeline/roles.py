"""The roles components play, and how they are put together: ``detector >> (ngram | exact) >> decide``.

* `Detector` finds mentions, `Retriever` gives each mention candidates, `Reranker` reorders them; `Joint` finds mentions
  and their candidates at once.
* ``>>`` runs one after the other (`linnet.pipeline.pipeline`), ``|`` fuses two retrievers or unites two detectors.
* People's work stays: detectors replace only mentions with ``source="pred"``; a prediction that covers the very span
  of a gold or user mention yields to it.
"""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

from linnet.data import Candidates, Document, Mention
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline.allow import Allow, combined
from linnet.pipeline.component import (
    PROPERTIES,
    Component,
    Overlaps,
    Step,
    check_answers,
    check_parts,
    merge,
    require,
    unite,
    with_candidates,
)
from linnet.pipeline.fusion import Method, checked_weights, examples, fit_weights, fused, numbered
from linnet.pipeline.pipeline import Abbreviations, Pipeline, Sentences, Stage, answered

__all__ = [
    "PROPERTIES",
    "Abbreviations",
    "Allow",
    "Component",
    "Detector",
    "Joint",
    "Pipeline",
    "Reranker",
    "Retriever",
    "Sentences",
    "Stage",
    "Step",
    "fused_names",
]


class Detector(Stage):
    """Finds mentions."""

    GIVES = frozenset({"mentions"})
    DROPS = frozenset({"candidates", "concepts"})  # its mentions replace those that had any

    @abstractmethod
    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Mention]]:
        """Return the mentions of each document."""

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with predicted mentions replaced by those that `detect` finds."""
        require(self, docs)
        found = self.detect(docs, allow=allow)
        check_answers(self, docs, found, each=False)
        return [merge(doc, mentions) for doc, mentions in zip(docs, found, strict=True)]

    def __or__(self, other: object) -> Stage:
        if isinstance(other, Retriever):
            raise _mixture(self, other, finds=self, links=other)
        return Union([self, other]) if isinstance(other, Detector) else super().__or__(other)


class Joint(Detector):
    """Finds mentions and links them at once, or links those that are given.

    Predicted mentions are replaced by those that `detect` finds, with candidates; those of people stay and get theirs
    from `retrieve`. With `find` False nothing is looked for, and `retrieve` links all mentions that are there.
    """

    GIVES = frozenset({"mentions", "candidates"})

    find: bool = True  # a subclass may make a keyword of it

    @property
    def needs(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents must have: mentions too where it finds none."""
        return super().needs if self.find else super().needs | {"mentions"}

    @property
    def gives(self) -> frozenset[str]:
        """Mentions with candidates, or candidates alone."""
        return self.GIVES if self.find else self.GIVES - {"mentions"}

    @property
    def drops(self) -> frozenset[str]:
        """What new mentions lack."""
        return super().drops if self.find else frozenset()

    @abstractmethod
    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Mention]]:
        """Return the mentions of each document, with candidates."""

    @abstractmethod
    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Candidates]]:
        """Return candidates for each mention that the documents hold."""

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with the mentions that `detect` finds and those of people, all with candidates."""
        if not self.find:
            require(self, docs)
            return with_candidates(self, docs, self.retrieve(docs, allow=allow))
        found = super().__call__(docs, allow=allow)
        given = {place: some for place, doc in enumerate(found) if (some := _of_people(doc)).mentions}
        lists = self.retrieve(list(given.values()), allow=allow) if given else ()
        check_answers(self, list(given.values()), lists, each=True)
        for place, candidates in zip(given, lists, strict=True):
            theirs = iter(candidates)
            mentions = (
                m if m.source == "pred" else replace(m, candidates=next(theirs)) for m in found[place].mentions or ()
            )
            found[place] = replace(found[place], mentions=tuple(mentions))
        return found


def _of_people(doc: Document) -> Document:
    return replace(doc, mentions=tuple(mention for mention in doc.mentions or () if mention.source != "pred"))


class Retriever(Stage):
    """Gives every mention its candidates."""

    NEEDS = frozenset({"mentions"})
    GIVES = frozenset({"candidates"})

    @abstractmethod
    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Candidates]]:
        """Return candidates for each mention of each document."""

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with the candidates that `retrieve` finds."""
        require(self, docs)
        return with_candidates(self, docs, self.retrieve(docs, allow=allow))

    def __or__(self, other: object) -> Stage:
        if isinstance(other, Detector):
            raise _mixture(self, other, finds=other, links=self)
        return Fuse([self, other]) if isinstance(other, Retriever) else super().__or__(other)


def _mixture(left: Stage, right: Stage, *, finds: Detector, links: Retriever) -> PipelineError:
    one, other, first, then = (type(part).__name__ for part in (left, right, finds, links))
    return PipelineError(
        f"{one} | {other}: only retrievers and detectors can be fused, each with its like; to look up candidates "
        f"beside those that mentions have already, write {first} >> (Earlier | {then})"
    )


class Reranker(Stage):
    """Reorders the candidates of every mention."""

    NEEDS = frozenset({"mentions", "candidates"})
    GIVES = frozenset({"candidates"})

    @abstractmethod
    def rerank(self, docs: Sequence[Document], /) -> Sequence[Sequence[Candidates]]:
        """Return the reordered candidates of each mention of each document."""

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with reordered candidates; `allow` was applied when they were retrieved."""
        require(self, docs)
        return with_candidates(self, docs, self.rerank(docs))


@dataclass
class Union(Detector):
    """Several detectors as one; of mentions with the same spans and types the earlier detector's is kept.

    Args:
        of: the detectors.
        overlaps: of mentions of two detectors that overlap, ``all`` are kept, the ``longest``, or the ``first``
            detector's. What one detector finds is taken as it is, and people's mentions stay.
    """

    of: Sequence[Detector]
    overlaps: Literal["all", "longest", "first"] = "all"

    def __post_init__(self) -> None:
        check_parts(self, self.of, Detector)
        blind = [type(part).__name__ for part in self.of if isinstance(part, Joint) and not part.find]
        if blind:
            raise PipelineError(f"union: {blind[0]} with find = false finds no mentions; put it behind what finds them")
        if self.overlaps not in get_args(Overlaps):
            raise PipelineError(f"union: overlaps is {self.overlaps!r}, expected all, longest or first")

    def __or__(self, other: object) -> Stage:
        return replace(self, of=[*self.of, other]) if isinstance(other, Detector) else super().__or__(other)

    @property
    def gives(self) -> frozenset[str]:
        """What every part gives."""
        return frozenset.intersection(*(part.gives for part in self.of))

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Mention]]:
        """Return what all parts find, the earlier part first."""
        found = [part.detect(docs, allow=allow) for part in self.of]
        for part, lists in zip(self.of, found, strict=True):
            check_answers(part, docs, lists, each=False)
        return [unite(lists, self.overlaps) for lists in zip(*found, strict=True)]


@dataclass
class Fuse(Retriever):
    """Several retrievers as one: by reciprocal ``rank``, ``weighted`` scores or ``interleaved``, see `fusion`.

    The score of each part is kept as a feature of its candidates, ``ngram`` or ``dense``, say; one that it did not
    find has the lowest that it gave.

    Args:
        of: the retrievers.
        constant: of ``rank``; the larger, the less the first places count more than the next.
        method: reciprocal ranks, weighted sums of scores (of which the best of a list is 1), or the first of each list,
            then the second of each.
        weights: of ``weighted``, one for each retriever; None = equal ones, until `fit` has learned better ones.
    """

    of: Sequence[Retriever]
    constant: float = 60.0
    method: Method = "rank"
    weights: tuple[float, ...] | None = None

    LEARNS_FROM = "dev"

    def __post_init__(self) -> None:
        check_parts(self, self.of, Retriever)
        self.weights = checked_weights(self.weights, len(self.of), method=self.method, constant=self.constant)

    def __or__(self, other: object) -> Stage:
        # `a | b | c` fuses three lists as equals; a fusion in brackets on the right stays one list
        return replace(self, of=[*self.of, other]) if isinstance(other, Retriever) else super().__or__(other)

    @property
    def names(self) -> list[str]:
        """What the scores of each part are called among the features of candidates."""
        return numbered([type(part).__name__.lower() for part in self.of])

    @property
    def learns(self) -> bool:
        """Whether it has weights to learn."""
        return self.method == "weighted"

    @property
    def parameters(self) -> int:
        """What the parts have learned, and the weights."""
        return super().parameters + len(self.weights or ())

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Candidates]]:
        """Return the fused candidates of each mention, with what each part gave them as features."""
        options: dict[str, Any] = {"method": self.method, "constant": self.constant, "weights": self.weights}
        how = functools.partial(fused, **options, names=self.names)
        return [list(map(how, mentions)) for mentions in self._lists(docs, allow)]

    def _lists(self, docs: Sequence[Document], allow: Allow | None = None) -> list[list[tuple[Candidates, ...]]]:
        found = [part.retrieve(docs, allow=allow) for part in self.of]
        for part, lists in zip(self.of, found, strict=True):
            check_answers(part, docs, lists, each=True)
        return [list(zip(*columns, strict=True)) for columns in zip(*found, strict=True)]

    def fit(  # `train` and `args` are for the parts
        self, _train: Sequence[Document], dev: Sequence[Document], /, *,
        before: Component, kb: KnowledgeBase, args: Mapping[str, Any],  # noqa: ARG002
    ) -> Iterator[Step]:  # fmt: skip
        """Learn the weights on `dev`, which no part was trained on: those with the best mean reciprocal rank.

        Raises:
            PipelineError: the method is another than ``weighted``.
            DataError: no mention of one concept that a part retrieves.
        """
        if self.method != "weighted":
            raise PipelineError(f"fuse: method {self.method!r} has no weights to learn; set method to 'weighted'")
        docs = answered(dev, before=before, part=self)
        within = [before, *(before.inner if isinstance(before, Stage) else ())]
        allow = combined(*(part.allow for part in within if isinstance(part, Pipeline)))
        found = itertools.chain.from_iterable(map(examples, dev, docs, self._lists(docs, allow), itertools.repeat(kb)))
        for step, (weights, score) in enumerate(fit_weights(list(found)), 1):
            self.weights = weights
            yield Step(step=step, score=score)

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same fusion of parts without what those that can tell it apart learned from these documents."""
        ids = frozenset(documents)
        return replace(self, of=[part.without(ids) or part for part in self.of])


def fused_names(part: Component) -> list[str]:
    """Return what the scores of fused retrievers are called among the features of candidates that come out of `part`.

    Without a fusion, or where another retriever comes after it, there are none.
    """
    if isinstance(part, Fuse):
        return part.names
    for inner in reversed(part.inner if isinstance(part, Stage) else ()):
        if isinstance(inner, Stage) and "candidates" in inner.gives - inner.needs:
            return fused_names(inner)
    return []
