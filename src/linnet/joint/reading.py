"""The base of joint components: documents become words and word pieces, with marks of what the dictionary knows.

Nothing here imports torch before a network is needed, so that recipes can be checked where it is not installed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeInt

from linnet.data import Candidates, Document, Mention, Span, mention_id
from linnet.detect.dictionary import Dictionary
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Joint
from linnet.pipeline.learner import made_once
from linnet.retrieve.name_searcher import NameSearcher, with_margins
from linnet.text.windows import Text, read
from linnet.text.words import KINDS
from linnet.train.args import PartArgs

__all__ = ["NEUTRAL", "Found", "JointNetwork", "NegativesArgs"]

Network = TypeVar("Network")

AT_ONCE = 200_000  # characters of documents whose vectors are held at the same time
NEUTRAL = (1.0, 0.0)  # slope and shift that leave log odds as they are
LARGEST = 30.0  # log odds


class Found(NamedTuple):
    """A mention that was found: its first and last word, and the log odds that it is one."""

    first: int
    last: int
    odds: float


class NegativesArgs(PartArgs):
    """Which names a mention learns to tell from the right one.

    Args:
        positive: which name of the right concept is the positive: the ``nearest`` so far, a ``random`` one, or the
            ``preferred`` one as published.
        mined: hard negatives a mention, from what the network itself ranks first, mined anew each epoch.
        mining_pool: from the second epoch on, hard negatives are mined among the names that were nearest to any mention
            in the first one, so many each, and only these names are encoded anew; 0 = among all names, as published.
        random: negatives a mention drawn from all concepts.
        only_above: hard negatives are only taken from above the right concept, as published.
    """

    positive: Literal["nearest", "random", "preferred"] = "nearest"
    mined: NonNegativeInt = 3
    mining_pool: NonNegativeInt = 0
    random: NonNegativeInt = 0
    only_above: bool = False


class JointNetwork(NameSearcher[Network], Joint):
    """A joint component whose network reads the words of documents.

    Attributes:
        encoder: what the network reads with before it has learned anything.
        dictionary: words of names of the knowledge base are marked as such, where mentions are looked for.
        threshold: mentions less probable are left out; None = as training found best.
        marks: features of dictionary matches, in the order that the network knows them by.
        curve: slope and shift that make probabilities of the log odds of mentions (Platt 1999).
        cutoff: log odds of the least probable mention that is kept without a threshold, the best on dev.
    """

    kb: KnowledgeBase
    k: int
    encoder: str
    dictionary: bool
    threshold: float | None
    marks: tuple[str, ...]
    curve: tuple[float, float]
    cutoff: float

    KEPT = frozenset({"network", "_tokens"})

    @property
    def needs(self) -> frozenset[str]:
        """Mentions where none are looked for, and what the dictionary needs."""
        return super().needs | self._names.needs if self._asks_dictionary else super().needs

    @property
    def _asks_dictionary(self) -> bool:
        return self.find and self.dictionary

    @made_once
    def _names(self) -> Dictionary:
        return Dictionary(kb=self.kb)

    @property
    def index_files(self) -> list[Path]:
        """The vectors of names beside the knowledge base, and the table of names, if the dictionary is asked."""
        return [*super().index_files, *(self._names.index_files if self._asks_dictionary else [])]

    def encoders(self, folder: Path | None) -> tuple[str | Path, str | Path]:
        """Return what the encoders of documents and of names are read from.

        Args:
            folder: of a trained network; None = begin with `encoder`, which may be the folder of another trained part.
        """
        begin = Path(self.encoder) if folder is None else folder
        for inside in ("mention", "model/mention", "model/model-0"):
            if (begin / inside).is_dir():
                entity = (begin / inside).with_name("entity")
                return begin / inside, entity if entity.is_dir() else begin / inside
        return self.encoder, self.encoder

    @made_once
    def _tokens(self) -> Any:
        from linnet.nn.encoder import Encoder  # noqa: PLC0415 - imports torch

        return Encoder.load(self.encoders(self.folder)[0])

    @property
    def reads(self) -> Any:
        """What makes word pieces: the encoder of documents, of the network where there is one already."""
        made: Any = self.made.get("network") or (self.network if self.graphs is not None else None)
        return made.mention if made is not None else self._tokens

    def read(self, docs: Sequence[Document]) -> list[Text]:
        """Return documents as words and word pieces, with what the dictionary says of them."""
        known = self._names.read(docs) if self._asks_dictionary else None
        return read(docs, self.reads, known=known, features={name: place for place, name in enumerate(self.marks)})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        """Return `docs` with mentions, candidates, and the margin of the first before the second among the signals."""
        return [with_margins(doc) for doc in super().__call__(docs, allow=allow)]

    # --- answering ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def read_documents(self, docs: Sequence[Document], texts: Sequence[Text], *, find: bool) -> Sequence[Any]:
        """Return what the network says of each document; without `find` it is only asked to link."""

    @abstractmethod
    def find_mentions(self, texts: Sequence[Text], said: Sequence[Any]) -> list[list[Found]]:
        """Return the mentions that may be in each text, whatever their odds."""

    @abstractmethod
    def mention_vectors(
        self, doc: Document, text: Text, said: Any, mentions: Sequence[Sequence[Span]]
    ) -> npt.NDArray[np.float32]:
        """Return the vectors of mentions, given as their parts, float32 (mentions, d); 0 for one that nobody reads."""

    def type_of(self, said: Any, found: Found) -> str:  # noqa: ARG002
        """Return the type of a mention, "" where types are not told apart."""
        return ""

    def is_kept(self, found: Found) -> bool:
        """Return whether a mention is probable enough."""
        if self.threshold is not None:
            return self.probability(found.odds) >= self.threshold
        return found.odds >= self.cutoff

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        """Return the mentions of each document, in reading order, with candidates.

        Raises:
            PipelineError: nothing has been learned, or no mentions are looked for.
        """
        self.require_trained()
        if not self.find:
            raise PipelineError(f"{self.NAME}: it links given mentions and finds no mentions; put it behind what does")
        made: list[list[Mention]] = []
        for some in _portions(docs):
            texts = self.read(some)
            said = self.read_documents(some, texts, find=True)
            for doc, text, own, found in zip(some, texts, said, self.find_mentions(texts, said), strict=True):
                mentions = [self._mention(doc.id, text, own, one) for one in sorted(found) if self.is_kept(one)]
                lists = self._candidates(doc, text, own, mentions, allow)
                made.append([replace(one, candidates=few) for one, few in zip(mentions, lists, strict=True)])
        return made

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        """Return candidates for each mention that the documents hold."""
        self.require_trained()
        made = []
        for some in _portions(docs):
            texts = self.read(some)
            for doc, text, own in zip(some, texts, self.read_documents(some, texts, find=False), strict=True):
                made.append(self._candidates(doc, text, own, doc.mentions or (), allow))
        return made

    def _mention(self, document: str, text: Text, said: Any, found: Found) -> Mention:
        span = Span(text.words[found.first].start, text.words[found.last].end)
        types = (kind,) if (kind := self.type_of(said, found)) else ()
        signals = {"detect": self.probability(found.odds)}
        return Mention(*span, id=mention_id(document, [span], types), types=types, signals=signals)

    def _candidates(
        self, doc: Document, text: Text, said: Any, mentions: Sequence[Mention], allow: Allow | None
    ) -> list[Candidates]:
        if not mentions:
            return []
        vectors = self.mention_vectors(doc, text, said, [mention.spans for mention in mentions])
        masks = {types: allow.mask(self.kb, types) if allow else None for types in {m.types for m in mentions}}
        return self.search(vectors, self.k, [masks[mention.types] for mention in mentions])

    # --- learning ----------------------------------------------------------------------------------------------------

    def probability(self, odds: float) -> float:
        """Return how probable a mention of some log odds is."""
        slope, shift = self.curve
        return float(1 / (1 + np.exp(-np.clip(slope * odds + shift, -LARGEST, LARGEST))))

    def begin(self) -> None:
        """Forget what was learned beside the network; say which matches of the dictionary it will know."""
        self.curve = NEUTRAL
        known = sorted(self.kb.types() or ("",)) if self._asks_dictionary else ()
        self.marks = tuple(f"{place}-{kind}" for kind in known for place in KINDS)

    def learned_values(self) -> dict[str, Any]:
        """Return its features, and what it learned of probabilities."""
        cutoff = self.cutoff if np.isfinite(self.cutoff) else None
        return {**super().learned_values(), "marks": self.marks, "curve": self.curve, "cutoff": cutoff}

    def restore_values(self, values: Any) -> None:
        """Take what `learned_values` gave.

        Raises:
            ValueError: the curve is not of finite numbers.
        """
        super().restore_values(values)
        self.marks = tuple(map(str, values["marks"]))
        slope, shift = map(float, values["curve"])
        if not np.isfinite([slope, shift]).all():
            raise ValueError(f"the curve {values['curve']} is not of finite numbers")
        self.curve = (slope, shift)
        self.cutoff = -np.inf if values["cutoff"] is None else float(values["cutoff"])
        if np.isnan(self.cutoff) or self.cutoff == np.inf:
            raise ValueError(f"the cutoff {self.cutoff} is no finite number")


def _portions(docs: Sequence[Document]) -> Iterator[list[Document]]:
    """Yield documents some at a time, so that the vectors of not too many are held."""
    portion: list[Document] = []
    size = 0
    for doc in docs:
        if portion and size + len(doc.text) > AT_ONCE:
            yield portion
            portion, size = [], 0
        portion.append(doc)
        size += len(doc.text)
    if portion:
        yield portion
