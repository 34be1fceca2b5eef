"""The roles components play, and how they are put together: ``detector >> (ngram | exact) >> decide``.

A component takes a batch of documents and returns changed copies. It declares what it `needs` and what it `gives`
among `PROPERTIES`, so that a pipeline that cannot work is refused when it is composed, not after an hour.

* `Detector` finds mentions, `Retriever` gives each mention candidates, `Reranker` reorders them.
* ``>>`` runs one after the other, ``|`` fuses two retrievers or unites two detectors.
* People's work stays: detectors replace only mentions with ``source="pred"``; a prediction that covers the very span
  of a gold or user mention yields to it.
"""

from __future__ import annotations

import functools
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from linnet.checksums import LIST, check_files
from linnet.data import Candidates, Document, Mention
from linnet.errors import FormatError, PipelineError
from linnet.fusion import Method, checked_weights, examples, fit_weights, fused, numbered
from linnet.home import read_json
from linnet.kb import KnowledgeBase
from linnet.roles import (
    PROPERTIES,
    Allow,
    Component,
    Learner,
    Overlaps,
    Seen,
    Step,
    Texts,
    batches,
    blind,
    check_order,
    check_parts,
    documents_of,
    merge,
    require,
    unite,
    with_candidates,
)
from linnet.text.abbreviations import find_abbreviations
from linnet.text.sentences import split_sentences

__all__ = [
    "PROPERTIES",
    "Abbreviations",
    "Allow",
    "Component",
    "Detector",
    "Pipeline",
    "Reranker",
    "Retriever",
    "Sentences",
    "Stage",
    "Step",
]

NOTHING: frozenset[str] = frozenset()


class Stage(Learner, ABC):
    """Base of Linnet's own components: dataclasses whose fields are their recipe's keywords (``kb`` is handed in)."""

    NEEDS: ClassVar[frozenset[str]] = NOTHING
    GIVES: ClassVar[frozenset[str]] = NOTHING
    LEARNED: ClassVar[frozenset[str]] = NOTHING  # keywords that cannot be changed once it is trained

    @property
    def needs(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents must have, for its inner components too."""
        of: Sequence[Component] = getattr(self, "of", ())
        return self.NEEDS.union(*(part.needs for part in of))

    @property
    def gives(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents have afterwards."""
        return self.GIVES

    @abstractmethod
    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return changed copies of `docs`, in order."""

    def __rshift__(self, after: Component) -> Pipeline:
        return Pipeline(self, after)

    def __or__(self, other: object) -> Stage:
        raise PipelineError(
            f"{type(self).__name__} | {type(other).__name__}: only retrievers and detectors can be fused"
        )

    def config(self) -> dict[str, Any]:
        """Return the keywords that make this component again, the knowledge base and its own parts aside."""
        names: list[str] = [item.name for item in fields(self) if item.init] if is_dataclass(self) else []
        values = {name: getattr(self, name) for name in names if name not in ("kb", "of")}
        # a tuned number is often NumPy's, which no file format knows
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}

    def save(self, folder: Path) -> None:
        """Write the component into `folder`; components that learn add their arrays."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LIST).unlink(missing_ok=True)  # of what stood here before
        (folder / "config.json").write_text(json.dumps(self.config(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None) -> Self:
        """Return the component that `save` wrote."""
        check_files(folder)
        keywords = {k: tuple(v) if isinstance(v, list) else v for k, v in read_json(folder / "config.json").items()}
        if kb is not None and "kb" in getattr(cls, "__dataclass_fields__", {}):
            keywords["kb"] = kb
        try:
            return cls(**keywords)
        except TypeError as error:
            raise FormatError(folder / "config.json", f"{error}; save the pipeline again") from error


# --- roles -----------------------------------------------------------------------------------------------------------


class Detector(Stage):
    """Finds mentions."""

    GIVES = frozenset({"mentions"})

    @abstractmethod
    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Sequence[Sequence[Mention]]:
        """Return the mentions of each document."""

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with predicted mentions replaced by those that `detect` finds."""
        require(self, docs)
        found = self.detect(docs, allow=allow)
        return [merge(doc, mentions) for doc, mentions in zip(docs, found, strict=True)]

    def __or__(self, other: object) -> Stage:
        return Union([self, other]) if isinstance(other, Detector) else super().__or__(other)


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
        return with_candidates(docs, self.retrieve(docs, allow=allow))

    def __or__(self, other: object) -> Stage:
        return Fuse([self, other]) if isinstance(other, Retriever) else super().__or__(other)


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
        return with_candidates(docs, self.rerank(docs))


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
        return [unite(lists, self.overlaps) for lists in zip(*found, strict=True)]


@dataclass
class Fuse(Retriever):
    """Several retrievers as one: by reciprocal ``rank``, ``weighted`` scores or ``interleaved`` (`linnet.fusion`).

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

    def __post_init__(self) -> None:
        check_parts(self, self.of, Retriever)
        self.weights = checked_weights(self.weights, len(self.of), method=self.method, constant=self.constant)

    def __or__(self, other: object) -> Stage:
        # `a | b | c` fuses three lists as equals; a fusion in brackets on the right stays one list
        return replace(self, of=[*self.of, other]) if isinstance(other, Retriever) else super().__or__(other)

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
        names = numbered([type(part).__name__.lower() for part in self.of])
        how = functools.partial(fused, method=self.method, constant=self.constant, weights=self.weights, names=names)
        return [list(map(how, mentions)) for mentions in self._lists(docs, allow)]

    def _lists(self, docs: Sequence[Document], allow: Allow | None = None) -> list[list[tuple[Candidates, ...]]]:
        found = [part.retrieve(docs, allow=allow) for part in self.of]
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
        whole = Pipeline(*getattr(before, "parts", (before,)), self)
        docs = blind(dev, whole)
        for part in (*whole.front, before):
            docs = part(docs)
        found = itertools.chain.from_iterable(map(examples, dev, docs, self._lists(docs), itertools.repeat(kb)))
        for step, (weights, score) in enumerate(fit_weights(list(found)), 1):
            self.weights = weights
            yield Step(step=step, score=score)

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same fusion of parts without what those that can tell it apart learned from these documents."""
        ids = frozenset(documents)
        return replace(self, of=[part.without(ids) if hasattr(part, "without") else part for part in self.of])


# --- pieces every document needs -------------------------------------------------------------------------------------


@dataclass
class Sentences(Stage):
    """Sets the sentences of documents that have none."""

    GIVES = frozenset({"sentences"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with sentences."""
        return [doc if doc.sentences is not None else replace(doc, sentences=split_sentences(doc.text)) for doc in docs]


@dataclass
class Abbreviations(Stage):
    """Sets the abbreviations that documents define, for those not looked at yet."""

    NEEDS = frozenset({"sentences"})
    GIVES = frozenset({"abbreviations"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with abbreviations."""
        require(self, [doc for doc in docs if doc.abbreviations is None])
        return [
            replace(doc, abbreviations=find_abbreviations(doc.text, doc.sentences or ()))
            if doc.abbreviations is None
            else doc
            for doc in docs
        ]


# --- pipelines -------------------------------------------------------------------------------------------------------


class Pipeline(Stage):
    """Components one after the other; itself a component. Checked when made.

    `Sentences` and `Abbreviations` are put in front when a part needs them and nothing gives them.
    ``name``, ``kb``, ``seen``: the recipe or folder it was loaded from, what it links to, what it has learned from.

    Raises:
        PipelineError: a part is no component, or needs what only a later part gives.
    """

    def __init__(self, *parts: Component, name: str = "", kb: KnowledgeBase | None = None) -> None:
        self.name, self.kb, self.seen = name, kb, Seen.of(parts)
        flat: list[Component] = []
        for part in parts:
            if isinstance(part, type) or not isinstance(part, Component):
                what = getattr(part, "__name__", type(part).__name__)
                raise PipelineError(f"{what} is no component that a pipeline can hold: give an object, not a class")
            flat += part.parts if isinstance(part, Pipeline) else [part]
            self.kb = self.kb or getattr(part, "kb", None)
        self.parts: tuple[Component, ...] = tuple(flat)
        self.front = _front(self.parts)
        check_order(self.parts)

    @property
    def inner(self) -> Sequence[Learner]:
        """The parts, but for those of other kinds than Linnet's own."""
        return [part for part in self.parts if isinstance(part, Learner)]

    @property
    def needs(self) -> frozenset[str]:
        """What the documents themselves must bring."""
        have, needed = set[str](), set[str]()
        for part in (*self.front, *self.parts):
            needed |= part.needs - have
            have |= part.gives
        return frozenset(needed)

    @property
    def gives(self) -> frozenset[str]:
        """What any part gives."""
        return frozenset().union(*(part.gives for part in self.parts))

    def __call__(self, docs: Texts, /, *, allow: Allow | None = None) -> list[Document]:
        """Return documents or texts, one or several, as documents after all parts."""
        require(self, out := documents_of(docs))
        for part in (*self.front, *self.parts):
            out = part(out, allow=allow)
        return self.seen.note(out)

    def names(self, mention: Mention) -> tuple[str, ...]:
        """Return the preferred name of each concept of a mention, the id of one that `kb` does not hold."""
        return tuple([self.kb[id].name if self.kb and id in self.kb else id for id in mention.concepts or ()])

    def stream(self, docs: Iterable[Document], *, batch: int = 64, allow: Allow | None = None) -> Iterator[Document]:
        """Yield the documents of an endless source, `batch` at a time, or fewer where they are long."""
        if batch < 1:
            raise PipelineError(f"batch {batch} must be at least 1")
        for some in batches(docs, batch):
            yield from self(some, allow=allow)

    def __repr__(self) -> str:
        return " >> ".join(type(part).__name__ for part in self.parts)


def _front(parts: Sequence[Component]) -> tuple[Component, ...]:
    needed = frozenset().union(*(part.needs for part in parts))
    given = frozenset().union(*(part.gives for part in parts))
    front: list[Component] = [Sentences()] if needed & {"sentences", "abbreviations"} - given else []
    if "abbreviations" in needed - given:
        front.append(Abbreviations())
    return tuple(front)
