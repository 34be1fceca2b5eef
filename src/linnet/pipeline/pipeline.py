"""What every component of Linnet's own is, and components one after the other: ``detector >> retriever >> decide``.

A component takes a batch of documents and returns changed copies. It declares what it `needs`, what it `gives` and
what it `drops` among `PROPERTIES`, so that a pipeline that cannot work is refused when it is composed, not after an
hour.
`linnet.pipeline` holds the roles that components play, and gives all of these names on.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from linnet.checksums import LIST, check_files
from linnet.data import Document, Mention
from linnet.errors import FormatError, KnowledgeBaseError, PipelineError
from linnet.frozen import changed
from linnet.home import read_json
from linnet.kb import KnowledgeBase
from linnet.pipeline.allow import Allow, combined
from linnet.pipeline.component import Component, Seen, Texts, batches, blind, documents_of, each_document, require
from linnet.pipeline.learner import HANDED_IN, Learner
from linnet.text.abbreviations import find_abbreviations
from linnet.text.sentences import split_sentences

if TYPE_CHECKING:
    from linnet.kb.terminologies import Terminologies

__all__ = ["Abbreviations", "Linked", "Pipeline", "Sentences", "Stage", "answered", "check_order", "prepared"]

NOTHING: frozenset[str] = frozenset()
DRAWN = 50  # documents that a notebook draws by itself: a thousand take half a minute, and 20 MB of it
LEARNED = "learned.json"  # what a component has learned, if that are values for JSON
# What gives each of `PROPERTIES` again, for messages.
GIVEN_BY = {
    "sentences": "sentences",
    "abbreviations": "abbreviations",
    "mentions": "a detector",
    "types": "a detector",
    "candidates": "a retriever (earlier | ngram keeps those that are there and finds others)",
    "concepts": "decide",
    "assertion": "context",
}


class Stage(Learner, ABC):
    """Base of Linnet's own components: dataclasses whose fields are their recipe's keywords (``kb`` is handed in)."""

    NEEDS: ClassVar[frozenset[str]] = NOTHING
    GIVES: ClassVar[frozenset[str]] = NOTHING
    DROPS: ClassVar[frozenset[str]] = NOTHING
    SIGNALS: ClassVar[tuple[str, ...]] = ()  # names in `Mention.signals` that calibration learns from

    @property
    def needs(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents must have, for its inner components too."""
        return self.NEEDS.union(*(part.needs for part in self.inner))

    @property
    def gives(self) -> frozenset[str]:
        """Which of `PROPERTIES` documents have afterwards."""
        return self.GIVES

    @property
    def drops(self) -> frozenset[str]:
        """Which of `PROPERTIES` no longer hold afterwards: what it or an inner component drops and it does not give."""
        return self.DROPS.union(*(part.drops for part in self.inner if isinstance(part, Stage))) - self.gives

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals that it gives mentions for calibration, those of inner components included."""
        inner = (name for part in self.inner if isinstance(part, Stage) for name in part.signals)
        return tuple(dict.fromkeys([*self.SIGNALS, *inner]))

    @property
    def terminologies(self) -> Terminologies | None:
        """The knowledge bases that it links to, where there are several."""
        return None

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
        values = {name: value for name, value in self.keywords.items() if name not in HANDED_IN}
        # a tuned number is often NumPy's, which no file format knows
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}

    def save(self, folder: Path) -> None:
        """Write the component into `folder`, with its `learned_values`; components that learn arrays add them."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LIST).unlink(missing_ok=True)  # of what stood here before
        (folder / "config.json").write_text(json.dumps(self.config(), indent=2) + "\n", encoding="utf-8")
        (folder / LEARNED).unlink(missing_ok=True)
        if values := self.learned_values():
            (folder / LEARNED).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:  # noqa: ARG003
        """Return the component that `save` wrote; with `partly` without what is of concepts that `kb` lacks."""
        check_files(folder)
        keywords = {k: tuple(v) if isinstance(v, list) else v for k, v in read_json(folder / "config.json").items()}
        made: Any = cls
        if kb is not None and is_dataclass(made) and "kb" in {item.name for item in fields(made)}:
            keywords["kb"] = kb
        try:
            loaded: Self = made(**keywords)
        except TypeError as error:
            raise FormatError(folder / "config.json", f"{error}; save the pipeline again") from error
        if (path := folder / LEARNED).is_file():
            values = read_json(path)
            try:
                loaded.restore_values(values)
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
                raise FormatError(path, f"nothing that this Linnet can use ({error!r}); train again") from error
        return loaded


# --- pieces every document needs -------------------------------------------------------------------------------------


@dataclass
class Sentences(Stage):
    """Sets the sentences of documents that have none."""

    GIVES = frozenset({"sentences"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with sentences."""
        return [doc if doc.sentences is not None else changed(doc, sentences=split_sentences(doc.text)) for doc in docs]


@dataclass
class Abbreviations(Stage):
    """Sets the abbreviations that documents define, for those not looked at yet."""

    NEEDS = frozenset({"sentences"})
    GIVES = frozenset({"abbreviations"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with abbreviations."""
        require(self, [doc for doc in docs if doc.abbreviations is None])
        return [
            changed(doc, abbreviations=find_abbreviations(doc.text, doc.sentences or ()))
            if doc.abbreviations is None
            else doc
            for doc in docs
        ]


# --- pipelines -------------------------------------------------------------------------------------------------------


class Linked(list[Document]):
    """Documents that a pipeline has gone through: a list that notebooks draw, and that frames know names from.

    ``concepts`` holds the concepts of their answers; it does not travel to other processes: there it is a plain list.
    """

    def __init__(self, docs: Iterable[Document], concepts: KnowledgeBase | Terminologies | None) -> None:
        super().__init__(docs)
        self.concepts = concepts

    def __reduce_ex__(self, protocol: Any, /) -> tuple[Any, ...]:
        return list, (list(self),)

    def _repr_html_(self) -> str:
        from linnet.corpora.notebook import html  # noqa: PLC0415 - few are looked at

        drawn = html(Linked(self[:DRAWN], self.concepts))
        if len(self) <= DRAWN:
            return drawn
        return f"{drawn}<p>The first {DRAWN} of {len(self):,} documents; linnet.html(docs) draws all.</p>"


class Pipeline(Stage):
    """Components one after the other; itself a component. Checked when made.

    `Sentences` and `Abbreviations` are put in front when a part needs them and nothing gives them.
    ``name``, ``kb``, ``seen``: the recipe or folder it was loaded from, what it links to, what it has learned from.
    ``allow`` are conditions on what may be answered that hold in every call, those of pipelines among the parts too.

    Raises:
        PipelineError: a part is no component, or needs what only a later part gives or an earlier one drops.
    """

    def __init__(
        self, *parts: Component, name: str = "", kb: KnowledgeBase | None = None, allow: Allow | None = None
    ) -> None:
        self.name, self.kb = name, kb
        self.seen: Seen = Seen(ChainMap(*(part.seen for part in parts if isinstance(part, Pipeline))))
        self.allow: Allow | None = combined(allow, *(part.allow for part in parts if isinstance(part, Pipeline)))
        flat: list[Component] = []
        for part in parts:
            if isinstance(part, type) or not isinstance(part, Component):
                what = part.__name__ if isinstance(part, type) else type(part).__name__
                raise PipelineError(f"{what} is no component that a pipeline can hold: give an object, not a class")
            flat += part.parts if isinstance(part, Pipeline) else [part]
            self.kb = self.kb or (part.linked_kb if isinstance(part, Learner) else None)
        self.parts: tuple[Component, ...] = tuple(flat)
        self.front = _front(self.parts)
        check_order(self.parts)

    @property
    def inner(self) -> Sequence[Component]:
        """The parts."""
        return self.parts

    @property
    def linked_kb(self) -> KnowledgeBase | None:
        """The knowledge base."""
        return self.kb

    @property
    def terminologies(self) -> Terminologies | None:
        """The knowledge bases that a part links to, where there are several."""
        return next((found for part in self.parts if isinstance(part, Stage) and (found := part.terminologies)), None)

    @property
    def concepts(self) -> KnowledgeBase | Terminologies | None:
        """What holds the concepts of its answers."""
        return self.kb or self.terminologies

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
        """What any part gives and no later one drops."""
        have = NOTHING
        for part in self.parts:
            have = (have - _drops(part)) | part.gives
        return have

    @property
    def drops(self) -> frozenset[str]:
        """What any part drops and no later one gives."""
        gone = NOTHING
        for part in self.parts:
            gone = (gone | _drops(part)) - part.gives
        return gone

    def __call__(self, docs: Texts, /, *, allow: Allow | None = None) -> list[Document]:
        """Return documents or texts, one or several, as documents after all parts."""
        require(self, out := documents_of(docs))
        allow = combined(allow, self.allow)
        for part in (*self.front, *self.parts):
            out = part(out, allow=allow)
        return Linked(self.seen.note(out), self.concepts)

    def with_parts(self, parts: Iterable[Component]) -> Pipeline:
        """Return a pipeline of other parts, under the same name, with the same knowledge base, conditions and texts."""
        made = Pipeline(*parts, name=self.name, kb=self.kb, allow=self.allow)
        made.seen = self.seen
        return made

    def rebound(self, kb: KnowledgeBase) -> Pipeline:
        """Return the same pipeline on its knowledge base as edits have made it; no network is read again.

        What is open does not follow edits: whoever asks it is told to begin again, and this is how.

        Raises:
            KnowledgeBaseError: `kb` is another one, or lacks what something was learned of, or what ``allow`` names.
        """
        self.require_edited(kb)
        parts = (part.rebound(kb) if isinstance(part, Learner) else part for part in self.parts)
        own = None if self.kb is None else kb  # one of several terminologies is on none of its own
        made = Pipeline(*parts, name=self.name, kb=own, allow=self.allow)
        held = made.concepts
        if made.allow and held is not None and (problem := next(made.allow.problems(held), None)):
            raise KnowledgeBaseError(f"allow.{problem}")
        made.seen = self.seen
        return made

    def names(self, mention: Mention) -> tuple[str, ...]:
        """Return the preferred name of each concept of a mention, the id of one that no knowledge base holds."""
        if not isinstance(mention, Mention):
            raise PipelineError(f"names are those of a mention, not of {mention!r}: kb[id].name is that of a concept")
        held = self.concepts
        return tuple([held[id].name if held and id in held else id for id in mention.concepts or ()])

    def stream(
        self, docs: Iterable[str | Document], *, batch: int = 64, allow: Allow | None = None
    ) -> Iterator[Document]:
        """Yield the documents or texts of an endless source, linked `batch` at a time, or fewer where they are long."""
        if batch < 1:
            raise PipelineError(f"batch {batch} must be at least 1")
        for some in batches(each_document(docs), batch):
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


def prepared(docs: Sequence[Document], part: Component) -> list[Document]:
    """Return documents with the sentences and abbreviations that `part` needs, where nothing gives them.

    >>> [doc] = prepared([Document.of("Fits.")], Abbreviations())
    >>> len(doc.sentences)
    1
    """
    out = list(docs)
    for step in Pipeline(part).front:
        out = step(out)
    return out


def answered(docs: Sequence[Document], *, before: Component, part: Component) -> list[Document]:
    """Return documents as `part` sees them behind `before` when they are linked: without what people marked."""
    whole = Pipeline(before, part)  # whose front may give what `before` alone does not ask for
    return before(prepared(blind(docs, whole), whole))


def check_order(parts: Sequence[Component]) -> None:
    """Refuse parts of which one needs what only a later one gives, or what an earlier one dropped."""
    have: set[str] = set()
    dropped: dict[str, Component] = {}  # property -> the part after which it no longer holds
    for place, part in enumerate(parts):
        who = type(part).__name__
        for name in sorted(part.needs - have):
            later = next((other for other in parts[place + 1 :] if name in other.gives - other.needs), None)
            if later is not None:
                then = type(later).__name__
                raise PipelineError(f"{who} needs {name}, which only the later {then} gives: put {then} before {who}")
            if name in dropped:
                first, way = type(dropped[name]).__name__, GIVEN_BY[name]
                raise PipelineError(
                    f"{who} needs {name}, which do not hold after {first}: put {way} between {first} and {who}"
                )
        have = (have - _drops(part)) | part.gives
        dropped.update(dict.fromkeys(_drops(part), part))
        for name in part.gives:
            dropped.pop(name, None)


def _drops(part: Component) -> frozenset[str]:
    return part.drops if isinstance(part, Stage) else NOTHING
