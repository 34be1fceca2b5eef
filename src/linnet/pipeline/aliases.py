"""Names that people used: surfaces of linked mentions as further names of concepts, with how often each meant what.

Counts are kept by document, so that whoever trains on top can leave out what a document itself contributed.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from linnet.data import Document
from linnet.errors import FormatError, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.pipeline.pipeline import Abbreviations, Sentences
from linnet.reporter import warn
from linnet.text.normalise import basic

__all__ = ["Aliases", "Key", "rows_now"]

SHOWN = 5  # ids that a warning names
_TOLD: WeakKeyDictionary[KnowledgeBase, set[str]] = WeakKeyDictionary()  # ids that were warned of, by open file
Key = tuple[str, int]  # an alias, in normal form if not told otherwise, and a concept's row, -1 = none


@dataclass(frozen=True, eq=False)
class Aliases:
    """Pairs of alias and concept in the order ``keys``; ``counts`` by document id, then by place in ``keys``.

    ``totals`` float64 (keys,) is how often each pair was seen in the documents that are not left out. ``origin`` are
    the pairs as they were before edits of the knowledge base, which later edits may bring back.
    """

    keys: tuple[Key, ...]
    counts: Mapping[str, Mapping[int, int]]
    totals: npt.NDArray[np.float64]
    origin: Aliases | None = None

    @classmethod
    def none(cls) -> Aliases:
        """Return no aliases.

        >>> len(Aliases.none())
        0
        """
        return cls.counted({})

    @classmethod
    def of(
        cls,
        docs: Iterable[Document],
        kb: KnowledgeBase,
        *,
        form: Callable[[str], str] = basic,
        unlinked: bool = False,
    ) -> Aliases:
        """Collect the surface and the long form of every mention with one concept that `kb` holds.

        Mentions of several concepts and those linked to nothing give no names. A retired concept stands for its
        successor. Documents without abbreviations are searched for them first.

        Args:
            docs: documents with gold mentions.
            kb: the knowledge base.
            form: what is kept of a text; nothing of one that becomes empty.
            unlinked: mentions linked to nothing, or to a concept that `kb` lacks, give names of the row -1.
        """
        from linnet.text.queries import query_texts  # noqa: PLC0415 - needed where something is learned

        seen: Counter[tuple[str, Key]] = Counter()
        for doc in docs:
            whole = doc if doc.abbreviations is not None else Abbreviations()(Sentences()([doc]))[0]
            for mention, long in zip(whole.mentions or (), query_texts(whole), strict=True):
                known = [kb.row(id) for id in mention.concepts or () if id in kb]
                if len(mention.concepts or ()) > 1 or not (known or unlinked):
                    continue
                [row] = known or [-1]
                seen.update((doc.id, (text, row)) for text in {form(doc.surface(mention)), form(long)} if text)
        return cls.counted(seen)

    @classmethod
    def counted(cls, seen: Mapping[tuple[str, Key], int]) -> Aliases:
        """Return the pairs that were seen so often in a document, by its id and the pair."""
        keys = tuple(sorted({key for _, key in seen}))
        places = {key: place for place, key in enumerate(keys)}
        counts: dict[str, dict[int, int]] = {}
        for (doc, key), count in sorted(seen.items()):
            counts.setdefault(doc, {})[places[key]] = count
        return cls(keys, counts, _sum(len(keys), counts.values()))

    def __len__(self) -> int:
        return len(self.keys)

    def without(self, documents: Iterable[str]) -> Aliases:
        """Return the same pairs, counted without these documents; pairs seen nowhere else count 0."""
        documents = set(documents)
        out = documents & self.counts.keys()
        left_out = _sum(len(self), [self.counts[id] for id in out])
        # nor are they among the counts any more: leaving them out again changes nothing
        kept = {id: some for id, some in self.counts.items() if id not in out}
        origin = None if self.origin is None else self.origin.without(documents)
        return replace(self, counts=kept, totals=self.totals - left_out, origin=origin)

    def rebound(self, kb: KnowledgeBase) -> Aliases:
        """Return the same on the edited knowledge base `kb`: a retired concept's aliases are its successor's.

        Those of concepts that were retired without a successor are left out, with a warning.
        """
        first = self if self.origin is None else self.origin
        rows = {-1: -1, **rows_now(kb, {row for _, row in first.keys if row >= 0})}
        seen: Counter[tuple[str, Key]] = Counter()
        for doc, counts in first.counts.items():
            for place, count in counts.items():
                text, row = first.keys[place]
                if (now := rows[row]) is not None:
                    seen[doc, (text, now)] += count
        return replace(self.counted(seen), origin=first)

    @functools.cached_property
    def shares(self) -> npt.NDArray[np.float64]:
        """p(concept | alias) of each pair (keys,), with one more sighting of the alias that meant something else."""
        _, texts = np.unique([text for text, _ in self.keys] or np.empty(0, "U1"), return_inverse=True)
        shares: npt.NDArray[np.float64] = self.totals / (np.bincount(texts, self.totals)[texts] + 1)
        return shares

    def save(self, path: Path, kb: KnowledgeBase) -> None:
        """Write one JSON line a pair: the alias, the concept's id, and counts by document."""
        by_pair: list[dict[str, int]] = [{} for _ in self.keys]
        for doc, counts in self.counts.items():
            for place, count in counts.items():
                by_pair[place][doc] = count
        with path.open("w", encoding="utf-8") as file:
            for (text, row), documents in zip(self.keys, by_pair, strict=True):
                line = {"alias": text, "concept": None if row < 0 else kb.id(row), "documents": documents}
                file.write(json.dumps(line, ensure_ascii=True) + "\n")

    @classmethod
    def load(cls, path: Path, kb: KnowledgeBase, *, partly: bool = False) -> Aliases:
        """Return what `save` wrote, with `partly` without the aliases of concepts that `kb` lacks.

        Those of concepts that were retired without a successor are left out in any case, with a warning.

        Raises:
            FormatError: the file cannot be read, or a line is not one of ours.
        """
        seen: Counter[tuple[str, Key]] = Counter()
        lost: set[str] = set()
        moved: set[int] = set()
        try:
            for key, count in _read(path, kb, lost, moved, partly=partly):
                seen[key] += count  # of concepts that were retired since, one may have followed another
        except (OSError, UnicodeDecodeError) as error:
            raise FormatError(path, f"cannot be read: {error}; train again") from error
        if not partly:
            _tell_lost(kb, lost)
        found = cls.counted(seen)
        return found.rebound(kb) if moved else found


def rows_now(kb: KnowledgeBase, rows: Iterable[int]) -> dict[int, int | None]:
    """Return the row that each concept or its successor has in an edited `kb`, None of one that was retired without.

    The latter are warned of.
    """
    lost: set[str] = set()
    found = {row: _row_now(kb, kb.id(row), lost) for row in rows}
    _tell_lost(kb, lost)
    return found


def _sum(size: int, counts: Iterable[Mapping[int, int]]) -> npt.NDArray[np.float64]:
    total = np.zeros(size)
    for some in counts:
        total[list(some)] += list(some.values())
    return total


def _row_now(kb: KnowledgeBase, id: str, lost: set[str]) -> int | None:
    """Return the row that a concept or its successor has; None, and the id among those `lost`, if it has none.

    Raises:
        UnknownConceptError: `kb` has never had it.
    """
    try:
        return kb.row(id)
    except UnknownConceptError:
        from linnet.kb.successors import is_retired  # noqa: PLC0415 - most concepts live

        if not is_retired(kb, id):
            raise
        lost.add(id)
        return None


def _row_learned(kb: KnowledgeBase, id: str, lost: set[str], moved: set[int], *, partly: bool) -> int | None:
    """Return the row of a concept, also of a retired one, which is then among those `moved`: it may live again.

    One that never had a row has its successor's; None if it has none, with `partly` for all that were retired without.
    """
    from linnet.kb.successors import retired_row  # noqa: PLC0415 - most concepts live

    now = _row_now(kb, id, lost)
    if (now is None and partly) or (now is not None and kb.id(now) == id):
        return now
    own = retired_row(kb, id)
    moved.update(() if own is None else (own,))
    return now if own is None else own


def _tell_lost(kb: KnowledgeBase, lost: set[str]) -> None:
    """Warn of concepts that were retired without a successor; of each once, as several parts have learned of it."""
    told = _TOLD.setdefault(kb, set())
    if new := sorted(lost - told):
        told.update(new)
        few = ", ".join(new[:SHOWN]) + (", …" if len(new) > SHOWN else "")
        fault = "retired concepts without a successor; what was learned of them is left out"
        warn(f"{kb.path.name} {fault}: {len(new):,} ({few})")


def _read(
    path: Path, kb: KnowledgeBase, lost: set[str], moved: set[int], *, partly: bool
) -> Iterator[tuple[tuple[str, Key], int]]:
    """Yield document, pair and count; the row of a retired concept is its own, and among those `moved`."""
    rows: dict[str | None, int | None] = {None: -1}  # a concept has many aliases, each a line
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                text, concept, documents = record["alias"], record["concept"], record["documents"]
                if concept not in rows:
                    rows[concept] = _row_learned(kb, concept, lost, moved, partly=partly)
                checked = [(str(doc), _positive(count)) for doc, count in documents.items()]
            except UnknownConceptError as error:
                if partly:
                    continue
                raise FormatError(path, f"{error}; train again", line=number) from error
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                problem = "is no alias: expected alias, concept and documents with their counts"
                raise FormatError(path, problem, line=number) from error
            if not isinstance(text, str):
                raise FormatError(path, f"alias {text!r} is no text", line=number)
            if (row := rows[concept]) is not None:
                yield from (((doc, (text, row)), count) for doc, count in checked)


def _positive(count: Any) -> int:
    if not isinstance(count, int) or not 0 < count < 1 << 31:
        raise ValueError(count)
    return count
