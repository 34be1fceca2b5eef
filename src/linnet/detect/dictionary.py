"""The dictionary: every name of a knowledge base, found in text.

Names are found word by word (`linnet.detect.name_search`): inflected, derived, in another order around a preposition,
with one word in between, and inside coordinations; how far a match is from the name as it is written lowers its score.
Where a document defines an abbreviation, its occurrences mean what the definition means, and nothing else.

Negation, family history and the like are not interpreted: "no cleft palate" yields a mention of cleft palate.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document, FrozenDict, Mention, Span, by_position, mention_id
from linnet.detect.name_search import Batch, Match, Search, Text
from linnet.detect.name_table import NameTable, table_path
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Detector
from linnet.text.pieces import pieces
from linnet.text.short_forms import ShortForms

__all__ = ["Dictionary"]

# Texts are read in lots of so many characters: enough to make array operations worth while, and a bound on memory.
LOT = 1 << 16
# A longer text is read in pieces, cut at the last sentence border before this many characters, or at a blank.
PIECE = 1 << 20

Overlaps = Literal["longest", "all"]
Choice = tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]  # rows, names, scores, best first


class Finding(NamedTuple):
    """The names found for one set of words of a document."""

    words: tuple[int, ...]
    own: tuple[int, ...]
    group: int
    choice: Choice


@dataclass(kw_only=True)
class Dictionary(Detector):
    """Finds the names of `kb` in documents and gives each mention the concepts it names, best first.

    Args:
        kb: the knowledge base.
        overlaps: "longest" keeps, of overlapping matches, the one with the most words; "all" keeps nested ones too,
            but for those inside a longer match of the same concept.
        types: only concepts of one of these semantic types; none = all, and a string is one.
        under: only these concepts and their descendants; none = all, and a string is one.

    Raises:
        DataError: `kb` is no knowledge base, or `overlaps` neither of the two.

    >>> import tempfile
    >>> from linnet.data import Concept, Name
    >>> from linnet.kb_build import build
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kb = build([Concept("HP:0000175", (Name("Cleft palate"),))], f"{folder}/small.kb")
    ...     [found] = Dictionary(kb=kb).detect([Document.of("No cleft lip or palate.")])
    >>> found[0].spans
    (Span(start=3, end=8), Span(start=16, end=22))
    """

    kb: KnowledgeBase
    overlaps: Overlaps = "longest"
    types: Sequence[str] = ()
    under: Sequence[str] = ()

    NEEDS = frozenset({"sentences", "abbreviations"})
    GIVES = frozenset({"mentions", "candidates"})

    def __post_init__(self) -> None:
        if not isinstance(self.kb, KnowledgeBase):
            raise DataError(f"dictionary: kb is a {type(self.kb).__name__}, give what KnowledgeBase.open returns")
        if self.overlaps not in get_args(Overlaps):
            choices = " or ".join(map(repr, get_args(Overlaps)))
            raise DataError(f"dictionary: overlaps is {self.overlaps!r}, must be {choices}")
        self.types = (self.types,) if isinstance(self.types, str) else tuple(self.types)
        self.under = (self.under,) if isinstance(self.under, str) else tuple(self.under)

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        """Return the mentions of each document, in reading order."""
        mentions: list[list[Mention]] = [[] for _ in docs]
        wanted = self._wanted(allow)
        for lot in _lots(docs):
            batch = self._search.read([piece.text for piece in lot])
            matches = self._search.matches(batch)
            chosen = [match for match in matches if wanted[match.concept]] if wanted else matches
            for number, mention in self._mentions(batch, chosen, lot, docs):
                mentions[number].append(mention)
        return [list(by_position(found)) for found in mentions]

    def _wanted(self, allow: Allow | None) -> list[bool] | None:
        """Return for each row of the knowledge base whether it may be found; None = any."""
        own = Allow(types=tuple(self.types) or None, under=tuple(self.under) or None)
        allowed = [own, allow, *(allow.also if allow else ())]
        masks = [_mask(item, self.kb) for item in allowed if item is not None and item != Allow()]
        wanted: list[bool] = functools.reduce(np.logical_and, masks).tolist() if masks else []
        return wanted or None

    @property
    def index_files(self) -> list[Path]:
        """The table of names."""
        return [table_path(self.kb)]

    @functools.cached_property
    def _search(self) -> Search:
        return Search(NameTable.of(self.kb))

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key in self.__dataclass_fields__}

    def _mentions(
        self, batch: Batch, matches: Iterable[Match], lot: Sequence[_Piece], docs: Sequence[Document]
    ) -> Iterator[tuple[int, Mention]]:
        """Yield which document a mention is of, and the mention, of what was found in one lot of texts."""
        findings = _findings(matches)
        findings.sort(key=lambda found: (-len(found.words), -found.choice[2][0], found.words, found.own))
        findings = _longest(findings) if self.overlaps == "longest" else _nested(findings)
        groups = _groups(findings)
        offsets = np.array([piece.offset for piece in lot], np.int64)[batch.texts]
        starts, ends = (batch.starts + offsets).tolist(), (batch.ends + offsets).tolist()
        texts: list[int] = batch.texts.tolist()
        seen: set[tuple[int, tuple[Span, ...]]] = set()
        for found in findings:
            number, parts = lot[texts[found.words[0]]].document, _parts(found, starts, ends)
            if (number, parts) not in seen:
                seen.add((number, parts))
                group = f"coordination-{starts[groups[found.words]]}" if found.words in groups else ""
                yield number, self._mention(docs[number].id, parts, found.choice, group)

    def _mention(self, document: str, parts: tuple[Span, ...], choice: Choice, group: str) -> Mention:
        types = self._types(choice[0][0])
        return Mention(
            parts[0].start,
            parts[-1].end,
            parts=parts if len(parts) > 1 else (),
            id=mention_id(document, parts, types),
            types=types,
            candidates=self._candidates(choice),
            signals=_signals(choice[2][0]),
            group=group,
        )

    @functools.cached_property
    def _types(self) -> functools._lru_cache_wrapper[tuple[str, ...]]:
        typed = bool(self.kb.types())
        return functools.lru_cache(maxsize=1 << 14)(lambda row: self.kb.types_of(row) if typed else ())

    @functools.cached_property
    def _candidates(self) -> functools._lru_cache_wrapper[Candidates]:
        # The same name is found again and again, and candidates never change, so that mentions may share them.
        return functools.lru_cache(maxsize=1 << 14)(self._make_candidates)

    def _make_candidates(self, choice: Choice) -> Candidates:
        rows, names, scores = choice
        return Candidates(rows, scores, names=np.array(names, np.int32), kb=self.kb.version)  # type: ignore[arg-type]


# --- reading ---------------------------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    document: int
    offset: int
    text: Text


def _lots(docs: Sequence[Document]) -> Iterator[list[_Piece]]:
    lot: list[_Piece] = []
    size = 0
    for number, doc in enumerate(docs):
        for piece in _pieces(number, doc):
            if lot and size + len(piece.text.text) > LOT:
                yield lot
                lot, size = [], 0
            lot.append(piece)
            size += len(piece.text.text)
    if lot:
        yield lot


def _pieces(number: int, doc: Document) -> Iterator[_Piece]:
    """Yield a document in pieces that are short enough to be read at once; nearly always it is one."""
    borders = [sentence.start for sentence in doc.sentences or ()]
    forms = ShortForms.of(doc) if doc.abbreviations else None
    for start, end in pieces(doc.text, borders, PIECE):
        inner = [at - start for at in borders[bisect_left(borders, start) : bisect_left(borders, end)]]
        yield _Piece(number, start, Text(doc.text[start:end], inner, forms, start))


# --- choosing --------------------------------------------------------------------------------------------------------


def _findings(matches: Iterable[Match]) -> list[Finding]:
    """Return matches put together by the words they hold; of several names of a concept the best one speaks for it."""
    spans: dict[tuple[tuple[int, ...], tuple[int, ...], int], dict[int, tuple[float, int]]] = {}
    for match in matches:
        concepts = spans.setdefault((match.words, match.own, match.group), {})
        known = concepts.get(match.concept)
        if known is None or (-known[0], known[1]) > (-match.score, match.name):
            concepts[match.concept] = (match.score, match.name)
    return [Finding(*span, _choice(concepts)) for span, concepts in spans.items()]


def _choice(concepts: dict[int, tuple[float, int]]) -> Choice:
    rows = sorted(concepts, key=lambda row: (-concepts[row][0], row)) if len(concepts) > 1 else list(concepts)
    return tuple(rows), tuple([concepts[row][1] for row in rows]), tuple([concepts[row][0] for row in rows])


def _longest(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, best first, that claim no word which a better one claims; conjuncts may share theirs."""
    taken: set[int] = set()
    kept = []
    for found in findings:
        claimed = found.own or range(found.words[0], found.words[-1] + 1)
        if taken.isdisjoint(claimed):
            taken.update(claimed)
            kept.append(found)
    return kept


def _nested(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, longest first, but for those inside another one of the same concept."""
    inside: dict[tuple[int, int], Finding] = {}  # concept and word -> the longest finding whose hull holds the word
    kept = []
    for found in findings:
        concept, first, last = found.choice[0][0], found.words[0], found.words[-1]
        outer = inside.get((concept, first))
        if outer is None or outer is not inside.get((concept, last)):
            kept.append(found)
            for word in range(first, last + 1):
                inside.setdefault((concept, word), found)
    return kept


def _groups(findings: Sequence[Finding]) -> dict[tuple[int, ...], int]:
    """Return the words of findings that belong to one coordination with others -> the position of its conjunction."""
    conjuncts = [found for found in findings if found.own]
    shared = [frozenset(found.words).difference(found.own) for found in conjuncts]
    holders: dict[int, list[Finding]] = {word: [] for words in shared for word in words}
    for found in findings if holders else ():
        for word in [word for word in found.words if word in holders]:
            holders[word].append(found)
    groups: dict[tuple[int, ...], int] = {}
    for conjunct, words in zip(conjuncts, shared, strict=True):
        others = [other.words for other in holders[min(words)] if other is not conjunct and words.issubset(other.words)]
        if others:
            groups.update(dict.fromkeys([conjunct.words, *others], conjunct.group))
    return groups


def _parts(found: Finding, starts: Sequence[int], ends: Sequence[int]) -> tuple[Span, ...]:
    """Return where the words of a finding stand: in one stretch, or in the parts of a conjunct."""
    if not found.own:
        return (Span(starts[found.words[0]], ends[found.words[-1]]),)
    parts: list[Span] = []
    previous = None
    for word in found.words:
        if previous is not None and word == previous + 1:
            parts[-1] = Span(parts[-1].start, ends[word])
        else:
            parts.append(Span(starts[word], ends[word]))
        previous = word
    return tuple(parts)


@functools.lru_cache(maxsize=1 << 12)
def _signals(score: float) -> Mapping[str, float]:
    """Return the signals of a mention; those with the same score share them, because they never change."""
    return FrozenDict(detect=score)


def _mask(allow: Allow, kb: KnowledgeBase) -> npt.NDArray[np.bool_]:
    """Return which rows `allow` lets be found: the types of a mention will be those of its concept."""
    allowed = allow.mask(kb).array
    special, fits = np.zeros_like(allowed), np.zeros_like(allowed)
    known = kb.types() if allow.by_type else {}
    for kind, further in allow.by_type:
        if kind in known:  # others are types of mentions that some other detector makes
            rows = kb.mask(types=(kind,)).array
            special |= rows
            fits |= rows & further.mask(kb).array
    return allowed & (fits | ~special)
