"""The dictionary: every name of a knowledge base, found in text.

Names are found word by word (`linnet.detect.name_search`): inflected, derived, in another order around a preposition,
with one word in between, and inside coordinations; how far a match is from the name as it is written lowers its score.
Where a document defines an abbreviation, its occurrences mean what the definition means, and nothing else.
Annotated documents teach it further surfaces, and which names are hardly ever meant (`Learned`).

Negation, family history and the like are not interpreted: "no cleft palate" yields a mention of cleft palate, of
which `linnet.pipeline.context` says that it is negated.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document, FrozenDict, Mention, Span, by_position, mention_id
from linnet.detect.findings import (
    MEANS,
    Choice,
    Finding,
    Placed,
    gather,
    longest,
    nested,
    place,
    text_of,
    without_everyday,
)
from linnet.detect.informal import LayFile, LaySearch, named_senses
from linnet.detect.name_search import Batch, Match, Search, SurfaceSearch, Text, View
from linnet.detect.name_table import MAX_WORDS, NamesFile, NameTable, name_codes
from linnet.errors import DataError, KnowledgeBaseError, PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Abbreviations, Allow, Component, Detector, Sentences, Step
from linnet.pipeline.aliases import Aliases, Key
from linnet.pipeline.component import is_reviewed
from linnet.pipeline.learner import made_once
from linnet.text.known_forms import CLINICAL, clinical, read_senses
from linnet.text.languages import is_german, language_of
from linnet.text.misspelt import Misspelt
from linnet.text.pieces import pieces
from linnet.text.short_forms import ShortForms

if TYPE_CHECKING:
    from linnet.detect.german import GermanSearch

__all__ = ["Dictionary"]

# Texts are read in lots of so many characters: a batch of abstracts is one, and it bounds the memory of arrays.
LOT = 1 << 17
# A longer text is read in pieces, cut at the last sentence border before this many characters, or at a blank.
PIECE = 1 << 20
FOLDS = 10  # parts of the training documents; what is found in one is judged without what it taught
NO_NAME = -1  # the name row of a surface
PRIOR = 0.1  # how much more a surface counts that meant nothing but this concept in training
SMOOTHING = 1.0  # findings with the share of the level above that are added to those of each

Overlaps = Literal["longest", "all"]


# --- what is learned -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Learned:
    """Surfaces of mentions with their concepts, and what was found with its concept, in all and where it was marked."""

    surfaces: Aliases
    found: Aliases
    marked: Aliases

    @classmethod
    def none(cls) -> Self:
        """Return what is known before training."""
        return cls(Aliases.none(), Aliases.none(), Aliases.none())

    @classmethod
    def of(cls, docs: Iterable[Document], kb: KnowledgeBase) -> Self:
        """Return the surfaces of documents with gold mentions and abbreviations; nothing was found yet."""
        return cls(Aliases.of(docs, kb, form=_findable, unlinked=True), Aliases.none(), Aliases.none())

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same without what these documents (ids) taught."""
        ids = frozenset(documents)
        return type(self)(self.surfaces.without(ids), self.found.without(ids), self.marked.without(ids))

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same on the edited knowledge base `kb`."""
        return type(self)(self.surfaces.rebound(kb), self.found.rebound(kb), self.marked.rebound(kb))

    def save(self, folder: Path, kb: KnowledgeBase) -> None:
        """Write one file of each."""
        for name, counts in vars(self).items():
            counts.save(folder / f"{name}.jsonl", kb)

    @classmethod
    def load(cls, folder: Path, kb: KnowledgeBase, *, partly: bool = False) -> Self:
        """Return what `save` wrote, with `partly` without what is of concepts that `kb` lacks.

        Raises:
            FormatError: a file cannot be read, or a line is not one of ours.
        """
        files = (folder / f"{name}.jsonl" for name in cls.__dataclass_fields__)
        return cls(*(Aliases.load(path, kb, partly=partly) for path in files))


def _findable(surface: str) -> str:
    """Return a surface, or nothing if it cannot be found in a text."""
    return surface if 0 < len(name_codes(surface, {})) <= MAX_WORDS else ""


def learned_matches(names: Iterable[Match], surfaces: Iterable[Match], learned: Aliases) -> Iterator[Match]:
    """Yield matches of names and of surfaces, with scores that tell how often a surface meant its concept."""
    for match in names:
        yield match._replace(score=match.score / (1 + PRIOR))
    totals, shares = learned.totals.tolist(), learned.shares.tolist()
    for match in surfaces:
        if totals[match.name]:
            score = match.score * (1 + PRIOR * shares[match.name]) / (1 + PRIOR)
            yield match._replace(name=NO_NAME, score=score)


class Precision:
    """How likely what is found is marked, from what was found and marked in annotated documents.

    That is the share of a surface's findings that were marked, smoothed by that of its concept, which is smoothed by
    that of the concept's semantic types, and that by the share of all that is found: a surface that was never met is
    believed as far as others of its concept or type are. Short forms that a table explains are smoothed by each other,
    not by the names of the concept, nor are these by them. All is counted by document, so that a document's own
    mentions can be left out.

    >>> found = Aliases.counted({("a", ("fever", 0)): 3, ("a", ("cold", 1)): 3})
    >>> marked = Aliases.counted({("a", ("fever", 0)): 3})
    >>> precision = Precision(found, marked, lambda row: ("Sign",))
    >>> [round(precision(*key), 2) for key in (("fever", 0), ("pyrexia", 0), ("cold", 1), ("ache", 2))]
    [0.97, 0.88, 0.03, 0.5]
    """

    def __init__(self, found: Aliases, marked: Aliases, types_of: Callable[[int], tuple[str, ...]]) -> None:
        self._types_of = types_of
        self._found, self._marked = (self._sums(counts) for counts in (found, marked))

    def __call__(self, text: str, row: int) -> float:
        """Return the share of what was found that was marked, for a text in normal form and its concept's row."""
        share = 0.5
        for level in self._levels(text, row):
            share = (self._marked[level] + SMOOTHING * share) / (self._found[level] + SMOOTHING)
        return share

    def _sums(self, counts: Aliases) -> Counter[tuple[object, ...]]:
        sums: Counter[tuple[object, ...]] = Counter()
        for (text, row), total in zip(counts.keys, counts.totals.tolist(), strict=True):
            sums.update(dict.fromkeys(self._levels(text, row), total))
        return sums

    def _levels(self, text: str, row: int) -> list[tuple[object, ...]]:
        """Return what a finding is counted as, from all findings to its own."""
        whole = (self._types_of(row) if row >= 0 else None, (row, MEANS in text), text)
        return [whole[:depth] for depth in range(len(whole) + 1)]


# --- the component ---------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Dictionary(Detector):
    """Finds the names of `kb` in documents and gives each mention the concepts it names, best first.

    Args:
        kb: the knowledge base.
        overlaps: "longest" keeps, of overlapping matches, the one with the most words; "all" keeps nested ones too,
            but for those inside a longer match of the same concept.
        types: only concepts of one of these semantic types; none = all, and a string is one.
        under: only these concepts and their descendants; none = all, and a string is one.
        aliases: surfaces of training mentions are found too; they have the name row -1, and no candidates if they
            were linked to nothing.
        min_precision: what was marked in a smaller share of its occurrences in the training documents is not found.
        everyday: names that are one everyday word ("Art", "Drive", "Ice") are found; not wanted of drugs in letters.
        short_forms: what forms mean that no document defines: "clinical" (Linnet's table) or files, the last wins.
        informal: the language of notes is read, too: everyday names (*short of breath*, `linnet.detect.informal`) and
            statements (*ears small*, *ribs are slightly broad*); in German texts German names (`linnet.detect.german`).
        typos: longer words that no name holds are read as the word of a name that is one edit away, if there is one.
        language: "de", "en", "es" or "fr": only names with this tag, or with none, are found, in the word forms of the
            language; "" = all, as English. The table of `short_forms`, `informal` and `typos` only know English.

    With `aliases` or `min_precision` it learns, and ``signals["detect"]`` is that share; else it is the score of the
    match, which is lower for what is read as something else: by a probability for short forms and typing errors.

    Raises:
        DataError: `kb` is no knowledge base, `overlaps` or `language` none of those, or `min_precision` no share.

    >>> import tempfile
    >>> from linnet.data import Concept, Name
    >>> from linnet.kb.build import build
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
    aliases: bool = False
    min_precision: float = 0.0
    everyday: bool = True
    short_forms: Sequence[str] = ()
    informal: bool = False
    typos: bool = False
    language: str = ""
    learned: Learned = field(default_factory=Learned.none, init=False, repr=False, compare=False)

    NEEDS = frozenset({"sentences", "abbreviations"})
    GIVES = frozenset({"mentions", "candidates"})
    LEARNED = frozenset({"aliases"})
    USES_DEV = False

    def __post_init__(self) -> None:
        if not isinstance(self.kb, KnowledgeBase):
            raise DataError(f"dictionary: kb is a {type(self.kb).__name__}, give what KnowledgeBase.open returns")
        if self.overlaps not in get_args(Overlaps):
            choices = " or ".join(map(repr, get_args(Overlaps)))
            raise DataError(f"dictionary: overlaps is {self.overlaps!r}, must be {choices}")
        if not 0 <= self.min_precision <= 1:
            raise DataError(f"dictionary: min_precision is {self.min_precision}, must be from 0 to 1")
        language_of(self.language)
        self.types = (self.types,) if isinstance(self.types, str) else tuple(self.types)
        self.under = (self.under,) if isinstance(self.under, str) else tuple(self.under)
        self.short_forms = (self.short_forms,) if isinstance(self.short_forms, str) else tuple(self.short_forms)

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        """Return the mentions of each document, in reading order."""
        mentions: list[list[Mention]] = [[] for _ in docs]
        wanted = self._wanted(allow)
        for lot in _lots(docs):
            for placed in self._find([piece.text for piece in lot], wanted)[1]:
                number = lot[placed.text].document
                mentions[number].append(self._mention(docs[number].id, placed))
        return [list(by_position(found)) for found in mentions]

    def read(self, docs: Sequence[Document]) -> list[list[Mention]]:
        """Return the mentions of documents as they come: sentences and abbreviations are found first."""
        return self.detect(Abbreviations()(Sentences()(docs)))

    def _wanted(self, allow: Allow | None) -> list[bool] | None:
        """Return for each row of the knowledge base, and at the end for none, whether it may be found; None = any."""
        own = Allow(types=tuple(self.types) or None, under=tuple(self.under) or None)
        allowed = [own, allow, *(allow.also if allow else ())]
        try:
            masks = [_mask(item, self.kb) for item in allowed if item is not None and item != Allow()]
        except KnowledgeBaseError as error:
            if problem := next(own.problems(self.kb), None):
                raise PipelineError(f"dictionary.{problem}") from error
            raise
        wanted: list[bool] = functools.reduce(np.logical_and, masks).tolist() if masks else []
        return [*wanted, False] if wanted else None

    @property
    def learns(self) -> bool:
        """Whether its keywords ask for something that has to be learned."""
        return self.aliases or self.min_precision > 0

    @property
    def index_files(self) -> list[Path]:
        """The table of names, and that of everyday names."""
        language = language_of(self.language)
        lay = LayFile(self.kb, language).files if self.informal and language.english else []
        return [*NamesFile(self.kb, language).files, *lay]

    @made_once
    def _search(self) -> Search:
        language = language_of(self.language)
        table = NameTable.of(self.kb, language)
        forms = [one for one in self.short_forms if one != CLINICAL or language.english]
        senses = [clinical() if one == CLINICAL else named_senses(read_senses(one), self.kb) for one in forms]
        misspelt = Misspelt(table.words()) if self.typos and language.english else None
        return Search(table, misspelt=misspelt, senses=senses, informal=self.informal and language.english)

    def unknown_forms(self, source: str) -> list[str]:
        """Return the short forms of one of its tables of which the knowledge base knows no sense."""
        senses = named_senses(read_senses(source), self.kb)
        return [short for short, some in senses.items() if not any(self._search.write_out(one.names) for one in some)]

    @made_once
    def _lay(self) -> LaySearch:
        return LaySearch(self._search, self.kb)

    @made_once
    def _german(self) -> GermanSearch:
        from linnet.detect.german import GermanSearch  # noqa: PLC0415 - most texts are not German

        return GermanSearch(self._search)

    @made_once
    def _surfaces(self) -> SurfaceSearch:
        return SurfaceSearch.of(self.learned.surfaces.keys, language_of(self.language))

    @made_once
    def _precision(self) -> Precision:
        return Precision(self.learned.found, self.learned.marked, self._types)

    def _find(self, texts: Sequence[Text], wanted: Sequence[bool] | None) -> tuple[Batch, Iterator[Placed]]:
        """Return the words of some texts, and what is found among them."""
        batch = self._search.read(texts)
        view = View(batch)
        matches: Iterable[Match] = self._search.matches(batch, view)
        if not self.everyday:
            matches = filter(without_everyday(batch, texts), matches)
        if len(self.learned.surfaces):
            matches = list(matches)
            matches = learned_matches(matches, self._surfaces.beside(batch, matches), self.learned.surfaces)
        if self._search.informal:
            matches = [*matches, *self._lay.matches(batch, view, texts)]
            german = [number for number, text in enumerate(texts) if is_german(text.text)]
            matches += self._german.within(batch, texts, german) if german else []
        findings = gather([match for match in matches if wanted[match.concept]] if wanted else matches)
        if len(self.learned.found):
            findings = list(self._trusted(batch, findings))
        findings.sort(key=lambda found: (-len(found.words), -found.choice[2][0], found.words, found.own))
        return batch, place(batch, texts, longest(findings) if self.overlaps == "longest" else nested(findings))

    def _trusted(self, batch: Batch, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings that are marked often enough, with their precision."""
        for found in findings:
            precision = self._precision(text_of(batch, found), found.choice[0][0])
            if precision >= self.min_precision:
                yield found._replace(precision=precision)

    def _mention(self, document: str, placed: Placed) -> Mention:
        _, (_, _, _, choice, precision), parts, group = placed
        types = self._types(choice[0][0])
        return Mention(
            parts[0].start,
            parts[-1].end,
            parts=parts if len(parts) > 1 else (),
            id=mention_id(document, parts, types),
            types=types,
            candidates=self._candidates(choice),
            signals=_signals(choice[2][0] if precision is None else precision),
            group=group,
        )

    @made_once
    def _types(self) -> functools._lru_cache_wrapper[tuple[str, ...]]:
        typed = bool(self.kb.types())
        return functools.lru_cache(maxsize=1 << 14)(lambda row: self.kb.types_of(row) if typed and row >= 0 else ())

    @made_once
    def _candidates(self) -> functools._lru_cache_wrapper[Candidates]:
        # The same name is found again and again, and candidates never change, so that mentions may share them.
        return functools.lru_cache(maxsize=1 << 14)(self._make_candidates)

    def _make_candidates(self, choice: Choice) -> Candidates:
        rows, names, scores = choice
        if rows[0] < 0:
            return Candidates.none(self.kb.version)
        return Candidates(rows, scores, names=np.array(names, np.int32), kb=self.kb.version)  # type: ignore[arg-type]

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],  # noqa: ARG002 - nothing is chosen
        /,
        *,
        before: Component,  # noqa: ARG002 - names are found in the text alone
        kb: KnowledgeBase,
        args: Mapping[str, Any],  # noqa: ARG002 - the options are the component's own
    ) -> Iterator[Step]:
        """Learn the surfaces of `train`, and how often what is found in it was marked; forget what was learned before.

        What is found in a document is judged without the surfaces that it brought itself.
        """
        docs = Abbreviations()(Sentences()([_reviewed(doc) for doc in train if doc.mentions is not None]))
        self.learned = Learned.of(docs, kb) if self.aliases else Learned.none()
        self.forget("_surfaces", "_precision")
        found: Counter[tuple[str, Key]] = Counter()
        marked: Counter[tuple[str, Key]] = Counter()
        for some in (docs[fold::FOLDS] for fold in range(FOLDS)):
            fewer = self.without([doc.id for doc in some])
            for id, key, right in (one for doc in some for one in fewer._judged(doc)):
                found[id, key] += 1
                marked[id, key] += right
        self.learned = replace(self.learned, found=Aliases.counted(found), marked=Aliases.counted(+marked))
        yield Step(1, 1)

    def _judged(self, doc: Document) -> Iterator[tuple[str, Key, bool]]:
        """Yield a document's id, what is found in it, and whether it was marked: of a coordination, it or the whole."""
        gold = {mention.spans for mention in doc.mentions or ()}
        for lot in _lots([doc]):
            batch, found = self._find([piece.text for piece in lot], self._wanted(None))
            placed, groups = list(found), dict[str, list[Span]]()
            for one in placed:
                groups.setdefault(one.group, []).extend(one.parts)
            for one in placed:
                spans = groups[one.group] if one.group else one.parts
                hull = Span(min(spans).start, max(span.end for span in spans))
                if is_reviewed(doc, hull):
                    key = (text_of(batch, one.found), one.found.choice[0][0])
                    yield doc.id, key, one.parts in gold or (bool(one.group) and (hull,) in gold)

    def without(self, documents: Iterable[str]) -> Self:
        """Return the same dictionary without what it learned from these documents (ids): for cross-fitting.

        It shares the tables of names, so that it costs next to nothing.
        """
        fewer = replace(self)
        fewer.learned = self.learned.without(documents)
        fewer.share(self, "_search", "_types", *(["_surfaces"] if len(self.learned.surfaces) else []))
        return fewer

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same component on the edited knowledge base `kb`, with what it learned."""
        made = super().rebound(kb)
        made.learned = self.learned.rebound(kb)
        return made

    def save(self, folder: Path) -> None:
        """Write the component, and what it learned."""
        super().save(folder)
        if self.learns:
            self.learned.save(folder, self.kb)

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote; with `partly` without what is of concepts that `kb` lacks."""
        loaded = super().load(folder, kb=kb, partly=partly)
        if loaded.learns:
            loaded.learned = Learned.load(folder, loaded.kb, partly=partly)
        return loaded


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


def _reviewed(doc: Document) -> Document:
    """Return a document with the mentions that lie in what a person went through."""
    return replace(doc, mentions=tuple(mention for mention in doc.mentions or () if is_reviewed(doc, mention)))


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
