"""Documents as what a cross-encoder packs: sentences as word pieces, with the mentions in them and their candidates."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document, Span
from linnet.kb import KnowledgeBase
from linnet.nn.encoder import Encoder
from linnet.rerank.cross_args import CandidateText
from linnet.text.packing import Asked, Text
from linnet.text.queries import query_texts

__all__ = ["FEATURES", "Read", "Reader"]

FEATURES = ("score", "log", "gap", "rank")  # what the stage before says of a candidate
LEAST = 1e-6
NAMES = 1 << 18  # texts of candidates that are kept as word pieces


class Read(NamedTuple):
    """A document as it is packed.

    Attributes:
        texts: joined sentences with their mentions, in order; those without mentions are left out.
        asked: the mentions, those without candidates too.
        features: float32 (candidates, `FEATURES`) of each mention.
    """

    texts: list[Text]
    asked: list[Asked]
    features: list[npt.NDArray[np.float32]]


class Reader:
    """Turns documents into word pieces.

    Args:
        encoder: whose word pieces they are.
        kb: the knowledge base of the candidates.
        candidate: what stands for a candidate: its preferred ``name``; the name that ``matched``, with the preferred
            one behind it where that is another; or the name with types and ``definition``.
        long_forms: abbreviations that the document defines are written out as mentions.
    """

    def __init__(self, encoder: Encoder, kb: KnowledgeBase, *, candidate: CandidateText, long_forms: bool) -> None:
        self.encoder, self.kb, self.candidate, self.long_forms = encoder, kb, candidate, long_forms
        self._pieces = lru_cache(maxsize=NAMES)(self._read_candidate)

    def read(self, doc: Document, lists: Sequence[Candidates]) -> Read:
        """Return a document with the candidates `lists`, one for each of its mentions."""
        mentions = doc.mentions or ()
        surfaces = query_texts(doc) if self.long_forms else [doc.surface(mention) for mention in mentions]
        asked = [
            Asked(tuple(pieces), tuple(self._candidates(found)))
            for pieces, found in zip(self.encoder.pieces(surfaces), lists, strict=True)
        ]
        return Read(self._texts(doc), asked, [features(found) for found in lists])

    # --- texts -------------------------------------------------------------------------------------------------------

    def _texts(self, doc: Document) -> list[Text]:
        groups = _joined(doc)
        if not groups:
            return []
        spans = [span for span, _ in groups]
        starts = [passage.start for passage in sorted(doc.passages, key=lambda passage: passage.start)]
        encoded = self.encoder.located([doc.text[span.start : span.end] for span in spans])
        texts = []
        for (span, numbers), (pieces, offsets) in zip(groups, encoded, strict=True):
            places = []
            for number in numbers:
                mention = (doc.mentions or ())[number]
                places.append(_place(offsets, mention.start - span.start, mention.end - span.start))
            texts.append(Text(pieces, tuple(numbers), tuple(places), bisect.bisect_right(starts, span.start)))
        return texts

    # --- candidates --------------------------------------------------------------------------------------------------

    def _candidates(self, found: Candidates) -> list[tuple[int, ...]]:
        names = found.names if found.names is not None and self.candidate == "matched" else [-1] * len(found)
        return [self._pieces(int(row), int(name)) for row, name in zip(found.rows, names, strict=True)]

    def _read_candidate(self, row: int, name: int) -> tuple[int, ...]:
        (pieces,) = self.encoder.pieces([self._candidate_text(row, name)])
        return tuple(pieces)

    def _candidate_text(self, row: int, name: int) -> str:
        if row < 0:
            return ""
        concept = self.kb[row]
        if self.candidate == "definition":
            return "; ".join(filter(None, (concept.name, ", ".join(concept.types), concept.definition)))
        matched = self.kb.name(name).text if name >= 0 else concept.name
        return matched if matched.casefold() == concept.name.casefold() else f"{matched} ({concept.name})"


def _joined(doc: Document) -> list[tuple[Span, list[int]]]:
    """Return the sentences that hold mentions, those that one mention crosses as one, with the mentions' numbers."""
    sentences = sorted(doc.sentences or (), key=lambda span: span.start) or [Span(0, len(doc.text))]
    starts = [span.start for span in sentences]
    joined: list[tuple[int, int, list[int]]] = []  # first and last sentence
    mentions = doc.mentions or ()
    for number in sorted(range(len(mentions)), key=lambda place: mentions[place].start):
        mention = mentions[number]
        first = max(0, bisect.bisect_right(starts, mention.start) - 1)
        last = max(first, bisect.bisect_left(starts, mention.end) - 1)
        if joined and first <= joined[-1][1]:
            before = joined[-1]
            joined[-1] = (before[0], max(before[1], last), [*before[2], number])
        else:
            joined.append((first, last, [number]))
    spans = []
    for first, last, numbers in joined:
        end = max(sentences[last].end, *(mentions[number].end for number in numbers))
        start = min(sentences[first].start, *(mentions[number].start for number in numbers))
        spans.append((Span(start, end), numbers))
    return spans


def _place(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """Return which pieces stand for the characters from `start` to `end`, at least one if there is any."""
    first = bisect.bisect_right([stop for _, stop in offsets], start)
    last = bisect.bisect_left([begin for begin, _ in offsets], end)
    first = min(first, max(0, len(offsets) - 1))
    return first, min(len(offsets), max(last, first + 1))


def features(found: Candidates) -> npt.NDArray[np.float32]:
    """Return what the stage before says of candidates, float32 (candidates, `FEATURES`)."""
    scores = found.scores.astype(np.float32)
    if not len(scores):
        return np.zeros((0, len(FEATURES)), np.float32)
    logs = np.log(np.clip(scores, LEAST, None))
    ranks = np.log1p(np.arange(len(scores), dtype=np.float32))
    return np.stack([scores, logs, scores - scores.max(), ranks], axis=1).astype(np.float32)
