"""What components promise each other: the `Component` and `Fits` protocols, `Allow`, and how documents are compared.

`linnet.pipeline` holds the roles that implement them and gives all of these names on.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

from linnet.data import Candidates, Document, Mention, Span, by_position, mention_id
from linnet.errors import PipelineError
from linnet.frozen import EMPTY, FrozenDict, changed
from linnet.kb import KnowledgeBase
from linnet.pipeline.allow import Allow
from linnet.reporter import warn
from linnet.text.normalise import one_line

__all__ = [
    "PROPERTIES",
    "Allow",
    "Component",
    "Fits",
    "Overlaps",
    "Seen",
    "Step",
    "Texts",
    "align",
    "batches",
    "blind",
    "check_answers",
    "check_parts",
    "count_seen",
    "describe_seen",
    "documents_of",
    "each_document",
    "identity",
    "is_reviewed",
    "merge",
    "require",
    "unite",
    "with_candidates",
]

Texts: TypeAlias = str | Document | Sequence[str | Document]
Overlaps: TypeAlias = Literal["all", "longest", "first"]

PROPERTIES = ("sentences", "abbreviations", "mentions", "types", "candidates", "concepts", "assertion")
SEEN_AS = {"train": "trained on", "dev": "chosen or calibrated on"}
MISSING = ("None", "nan", "<NA>", "NaT")  # what pandas has in the place of a text
LONGEST_PATH = 250  # characters of a text that may be meant as the path of a file
BATCH_TEXT = 200_000  # characters: 64 abstracts have half as many, a document of 40 pages is nearly a batch of its own


@runtime_checkable
class Component(Protocol):
    """All that command line, server, evaluation and pipeline know of a component."""

    @property
    def needs(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents must have."""
        ...

    @property
    def gives(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents have afterwards."""
        ...

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return changed copies of `docs`, in order."""
        ...


@dataclass(frozen=True)
class Step:
    """One step of something that learns, for progress and logs.

    Args:
        step: 1 for the first.
        total: how many there will be, as far as is known.
        losses: by name; the sum of those with a gradient is minimised.
        score: on the dev documents, where it was taken after this step.
        epoch: 1 for the first.
        seconds_left: how long the rest will take at this pace.
        lr: the learning rate of this step.
    """

    step: int
    total: int | None = None
    losses: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    score: float | None = None
    epoch: int | None = None
    seconds_left: float | None = None
    lr: float | None = None


@runtime_checkable
class Fits(Protocol):
    """Anything that learns from documents: calibration, TF-IDF, fusion weights, taggers, encoders."""

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        """Learn from `train`, choose on `dev`; `before` is the pipeline up to this part."""
        ...

    def save(self, folder: Path) -> None:
        """Write what was learned."""
        ...


def align(gold: Document, predicted: Document) -> list[tuple[Mention | None, Mention | None]]:
    """Pair the mentions of two versions of a document, one to one: by id and span, else by span; None = no partner.

    Gold mentions come in their order, then the predicted ones that found no partner.
    """
    theirs, ours = gold.mentions or (), predicted.mentions or ()
    partners: dict[int, int] = {}  # place in gold -> place in predicted
    left = set(range(len(ours)))
    for key in (lambda m: (m.id, m.spans) if m.id else None, lambda m: m.spans):
        places: dict[Any, list[int]] = {}
        for place in sorted(left, reverse=True):
            places.setdefault(key(ours[place]), []).append(place)
        for place, mention in enumerate(theirs):
            if place not in partners and key(mention) is not None and (same := places.get(key(mention))):
                partners[place] = same.pop()
        left.difference_update(partners.values())
    pairs: list[tuple[Mention | None, Mention | None]] = [
        (mention, ours[partners[place]] if place in partners else None) for place, mention in enumerate(theirs)
    ]
    return pairs + [(None, ours[place]) for place in sorted(left)]


def is_reviewed(doc: Document, mention: Mention | Span) -> bool:
    """Return whether a person went through the whole span of `mention`, so that what `doc` lacks there is wrong."""
    spans = doc.reviewed
    return spans is None or any(start <= mention.start and mention.end <= end for start, end in spans)


def batches(docs: Iterable[Document], size: int = 64) -> Iterator[list[Document]]:
    """Yield documents some at a time: at most `size`, and fewer where they are long.

    A batch depends on nothing before it, so that whoever begins at one of them goes on with the same ones.

    >>> docs = [Document.of("x" * length, str(length)) for length in (150_000, 90_000, 1, 2)]
    >>> [[doc.id for doc in some] for some in batches(docs)]
    [['150000', '90000'], ['1', '2']]
    """
    some: list[Document] = []
    room = BATCH_TEXT
    for doc in docs:
        some.append(doc)
        room -= len(doc.text)
        if len(some) >= size or room <= 0:
            yield some
            some, room = [], BATCH_TEXT
    if some:
        yield some


def blind(docs: Sequence[Document], component: Component) -> list[Document]:
    """Return `docs` as `component` may see them when it is trained, linked or judged; nothing else hides gold.

    A component that needs mentions sees their spans, and one that needs ``types`` (``gold(types=true)``) their types
    as well; every other component sees the text alone.
    """
    needs = component.needs
    if "mentions" not in needs:
        return [doc.bare() for doc in docs]
    return [doc.spans_only(types="types" in needs) for doc in docs]


def identity(doc: Document) -> tuple[str, str]:
    """Return what tells documents apart: id and text, whatever its blanks. Files often number theirs alike, from 0 on.

    >>> identity(Document("0", "Fits.")) == identity(Document("0", "Cough."))
    False
    """
    return doc.id, one_line(doc.text)


class Seen(FrozenDict[str]):
    """The texts that a pipeline was trained on (``train``), or chosen or calibrated on (``dev``).

    Figures that are measured on them flatter it. Keys are the ids that `Document.of` gives to the texts on `one_line`:
    copies with other blanks count too. Older trained folders have those of the texts as they were, which still count.

    >>> seen = Seen().with_documents(train=[Document.of("Fits.")])
    >>> [doc.meta.get("seen") for doc in seen.note([Document("a", "Fits."), Document("b", "Cough.")])]
    ['train', None]
    """

    def with_documents(self, *, train: Sequence[Document] = (), dev: Sequence[Document] = ()) -> Self:
        """Return these texts and those of more documents; what was trained on stays that."""
        learned = {_key(one_line(doc.text)): "train" for doc in train}
        chosen = {_key(one_line(doc.text)): "dev" for doc in dev}
        return type(self)({**chosen, **self, **learned})

    def note(self, docs: list[Document]) -> list[Document]:
        """Return documents that say in ``meta["seen"]`` that they are among these, where they are."""
        if not self:
            return docs
        found = [self.get(_key(one_line(doc.text))) or self.get(_key(doc.text)) for doc in docs]
        return [
            replace(doc, meta={**doc.meta, "seen": how}) if how else doc for doc, how in zip(docs, found, strict=True)
        ]


def _key(text: str) -> str:
    return Document.of(text).id


def count_seen(docs: Iterable[Document]) -> Counter[str]:
    """Return how many documents say that a pipeline has seen them (`Seen.note`), by how.

    >>> count_seen([Document("a", "Fits.", meta={"seen": "train"}), Document("b", "Cough.")])
    Counter({'train': 1})
    """
    return Counter(how for doc in docs if isinstance(how := doc.meta.get("seen"), str) and how in SEEN_AS)


def describe_seen(counts: Mapping[str, int]) -> str:
    """Return what `count_seen` found in words, "" for nothing.

    >>> describe_seen({"dev": 1, "train": 2000})
    'trained on 2,000, chosen or calibrated on 1'
    """
    return ", ".join(f"{said} {counts[how]:,}" for how, said in SEEN_AS.items() if counts.get(how))


def require(component: Component, docs: Sequence[Document]) -> None:
    """Refuse what is no list of documents, and documents that lack what `component` needs, before any work is done."""
    if isinstance(docs, (str, Document)) or not all(isinstance(doc, Document) for doc in docs):
        way = "give [linnet.Document.of(text)], or put it into a pipeline, which takes texts"
        raise PipelineError(f"{type(component).__name__} takes a list of documents: {way}")
    for needed in (name for name in PROPERTIES if name in component.needs):
        for doc in docs:
            if not _holds(doc, needed):
                who = type(component).__name__
                way = "mark them, or put a detector in front" if needed == "mentions" else "put a component in front"
                raise PipelineError(f"{who} needs {needed}, document {doc.id!r} has none: {way}")


def _holds(doc: Document, name: str) -> bool:
    if name in ("sentences", "abbreviations", "mentions"):
        return getattr(doc, name) is not None
    if doc.mentions is None:
        return False
    if name == "types":
        return True  # a mention may have none
    return all(getattr(mention, name) not in (None, "") for mention in doc.mentions)


def merge(doc: Document, found: Iterable[Mention]) -> Document:
    """Return `doc` with its predicted mentions replaced by `found`; gold and user mentions stay and win their span."""
    kept = [mention for mention in doc.mentions or () if mention.source != "pred"]
    taken = {mention.spans for mention in kept}
    new: dict[tuple[str, tuple[Span, ...]], Mention] = {}
    for mention in found:
        if mention.spans not in taken:
            id = mention.id or mention_id(doc.id, mention.spans, mention.types)
            new.setdefault((id, mention.spans), mention if mention.id else replace(mention, id=id))
    return changed(doc, mentions=by_position([*kept, *new.values()]))


def check_answers(part: object, docs: Sequence[Document], found: Any, *, each: bool) -> None:
    """Refuse answers of `part` that are not one list for each document and, with `each`, one item for each mention.

    The items are candidates with `each`, else mentions.
    """
    who, kind = type(part).__name__, Candidates if each else Mention
    if not isinstance(found, Collection):
        raise PipelineError(f"{who} returned no list but {type(found).__name__}: a list for each document is expected")
    if len(found) != len(docs):
        given = f"{len(found)} lists for {len(docs)} documents, from {docs[0].id if docs else ''!r} on"
        raise PipelineError(f"{who} returned {given}: a list for each is expected")
    for doc, items in zip(docs, found, strict=True):
        if not isinstance(items, Collection):
            given = f"no list but {type(items).__name__} for document {doc.id!r}"
            raise PipelineError(f"{who} returned {given}: a list is expected")
        if wrong := next((type(item).__name__ for item in items if not isinstance(item, kind)), None):
            given = f"{wrong} for document {doc.id!r}"
            raise PipelineError(f"{who} returned {given}: linnet.{kind.__name__} is expected")
        if each and len(items) != len(doc.mentions or ()):
            given = f"{len(items)} items for the {len(doc.mentions or ())} mentions of document {doc.id!r}"
            raise PipelineError(f"{who} returned {given}: one for each is expected")


def with_candidates(part: object, docs: Sequence[Document], found: Sequence[Sequence[Candidates]]) -> list[Document]:
    """Return documents with the candidates that `part` found: for each document those of its mentions, in order.

    Raises:
        PipelineError: there are too few or too many of them.
    """
    check_answers(part, docs, found, each=True)
    return [
        replace(
            doc,
            mentions=tuple(
                changed(mention, candidates=candidates)
                for mention, candidates in zip(doc.mentions or (), lists, strict=True)
            ),
        )
        for doc, lists in zip(docs, found, strict=True)
    ]


def unite(lists: Sequence[Sequence[Mention]], overlaps: Overlaps = "all") -> list[Mention]:
    """Return the mentions of several detectors; of those with the same spans and types the first list's is kept.

    Args:
        lists: of each detector what it found, the first one first.
        overlaps: ``all`` keeps whatever overlaps; ``longest`` keeps the longer of two mentions that overlap, of equally
            long ones the earlier list's; ``first`` keeps the earlier list's. Mentions of one list never rule each other
            out, and those of people are kept whatever they overlap.

    >>> lists = [[Mention(0, 4, id="a")], [Mention(0, 4, id="b"), Mention(0, 9, id="c")]]
    >>> [[mention.id for mention in unite(lists, how)] for how in ("all", "longest", "first")]
    [['a', 'c'], ['c'], ['a']]
    """
    found = _join(lists)
    if overlaps == "all":
        return [mention for _, mention in found]
    length = (lambda mention: mention.end - mention.start) if overlaps == "longest" else lambda _: 0
    ranked = sorted(found, key=lambda item: (item[1].source == "pred", -length(item[1]), item[0], item[1].start))
    kept: list[tuple[int, Mention]] = []
    for number, mention in ranked:
        others = (other for list_, other in kept if list_ != number)
        if mention.source != "pred" or not any(_overlap(mention, other) for other in others):
            kept.append((number, mention))
    return [mention for _, mention in sorted(kept, key=lambda item: item[0])]


def _join(lists: Sequence[Sequence[Mention]]) -> list[tuple[int, Mention]]:
    """Return the mentions of all lists with the number of their list; a prediction yields to what is there already."""
    found: list[tuple[int, Mention]] = []
    for number, mentions in enumerate(lists):
        taken = {(mention.spans, mention.types) for _, mention in found}
        people = {(one.spans, one.types) for _, one in found if one.source != "pred"}
        own = [one for one in mentions if (one.spans, one.types) not in (taken if one.source == "pred" else people)]
        theirs = {(one.spans, one.types) for one in own if one.source != "pred"}  # in whose place no prediction stays
        found = [item for item in found if item[1].source != "pred" or (item[1].spans, item[1].types) not in theirs]
        found += [(number, mention) for mention in own]
    return found


def _overlap(one: Mention, other: Mention) -> bool:
    return any(a.start < b.end and b.start < a.end for a in one.spans for b in other.spans)


def documents_of(docs: Texts) -> list[Document]:
    """Return one document or text, or several, as a list of documents."""
    return list(each_document(docs))


def each_document(docs: str | Document | Iterable[str | Document]) -> Iterator[Document]:
    """Yield one document or text, or several, as documents, one at a time.

    Raises:
        PipelineError: something else is among them.
    """
    several: Iterable[object] = docs if isinstance(docs, Iterable) and not isinstance(docs, str) else [docs]
    if isinstance(several, Mapping) or hasattr(several, "columns"):  # which yield keys, or names of columns
        given = f"a pipeline takes text or documents, no {type(several).__name__}"
        raise PipelineError(f"{given}: give a list of texts, or of linnet.Document(id, text)")
    told = False
    for item in several:
        if isinstance(item, str) and not told and len(item) < LONGEST_PATH and os.path.isfile(item):  # noqa: PTH113 - faster
            warn(f"{item!r} is linked as a text, but is a file: linnet.read reads it")
            told = True
        doc = Document.of(item) if isinstance(item, str) else item
        if not isinstance(doc, Document):
            way = "leave out what has no text" if str(item) in MISSING else "linnet.read reads files"
            raise PipelineError(f"a pipeline takes text or documents, no {type(doc).__name__}: {way}")
        yield doc


def check_parts(whole: object, parts: Sequence[object], role: type) -> None:
    """Refuse parts of a fusion that play another role than `role`."""
    wrong = [type(part).__name__ for part in parts if not isinstance(part, role)]
    if wrong or not parts:
        who, what = type(whole).__name__.lower(), role.__name__.lower()
        raise PipelineError(f"{who} puts {what}s together; {', '.join(wrong) or 'nothing'} is no {what}")
