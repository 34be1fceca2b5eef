r"""PubTator: title and abstract on a line each, then a line for every mention and relation.

::

    8871666|t|Combined deficiencies of C6 and C7                      PMID, t or a or another passage, text
    8871666|a|Two sibs ...
    8871666   0   34   Combined ... C7   Disease   OMIM:612446|OMIM:610102        start, end, text, type, ids
    8871666   CID   D016651   D014262              a relation: type, two ids, and in BioRED whether it is novel

with tabs between the columns. Offsets are code points into the passages, joined by one character each: a line break
in `Document.text`. A type may be a list (``T047,T048``); of ids there may be several (`linnet.corpora.ids`), ``-1``
says that a mention has none, and without that column nothing is said about linking. A seventh column holds the texts
of the conjuncts of a composite mention.

NLM-Chem repeats the PMID for each passage of an article, with offsets that start afresh each time. Blocks of one line
of text that follow each other with the same PMID are read as one document, and its offsets are counted in the one of
the two ways that agrees with the texts of its mentions.

tmVar 3: variants of genes in PubTator's layout, whose last column holds fields of several kinds.

::

    tmVar:p|SUB|V|600|E;HGVS:p.V600E;VariantGroup:2;CorrespondingGene:673;RS#:113488022;CA#:123643

A variant's concepts are its numbers in dbSNP; without one it is NIL. The other fields stay in ``meta["variant"]``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import joined as joined_ids
from linnet.corpora.ids import read_ids, to_curie, variant
from linnet.corpora.plain_text import BREAKS
from linnet.corpora.pubtator_write import joined, types_of, write
from linnet.corpora.relations import known_ids
from linnet.data import JSON, Document, FrozenDict, Mention, Passage, Source, Span
from linnet.errors import DataError, FormatError
from linnet.frozen import EMPTY
from linnet.text.files import open_text, shown

__all__ = ["read", "read_tmvar", "write"]

GOLD: Source = "gold"

Numbered = tuple[int, str]  # a line and its number


class Tail(NamedTuple):
    """What the columns after a mention's text say."""

    types: tuple[str, ...]
    concepts: tuple[str, ...] | None
    meta: Mapping[str, JSON]


@dataclass(slots=True)
class Block:
    """The lines from one title to the next: passages as mark and text, then annotations."""

    id: str
    passages: list[tuple[str, str]]
    annotations: list[Numbered] = field(default_factory=list)

    @property
    def single(self) -> bool:
        """Whether no more than one of its passages has text, as where each passage of an article is a block."""
        return sum(bool(text) for _, text in self.passages) <= 1


def read(path: str | Path, *, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a PubTator file; its mentions have the source "gold".

    Relations are in ``doc.meta["relations"]``, separators and conjuncts in the ``meta`` of their mention. Blank lines
    do not count, and neither does an empty last passage (``PMID|a|``).

    Raises:
        FormatError: a line of no known form, an annotation before its text or of another document, offsets that do
            not give the text of the mention; with the line.
    """
    name = shown(path)
    reader = _Reader(name, faults)
    group: list[Block] = []
    for block in _blocks(open_text(path, by_line=True), name, faults):
        if group and not (block.id == group[0].id and block.single):
            yield reader.document(group)
            group = []
        group.append(block)
    if not group:
        raise FormatError(name, "holds no document: expected lines such as 8871666|t|Title of the abstract")
    yield reader.document(group)


def _blocks(lines: Iterable[str], name: str, faults: Faults) -> Iterator[Block]:
    block, prefix = None, "\t"
    for item in enumerate(lines, 1):
        number, line = item
        if block is not None and line.startswith(prefix):
            block.annotations.append(item)
        elif line and not line.isspace():
            try:
                id, mark, text = _text_line(line, block, name, number)
            except FormatError as error:
                faults.leave_out(error)
                continue
            if block is not None and mark != "t" and id == block.id:
                block.passages.append((mark, text))
                continue
            if block is not None:
                yield block
            block, prefix = Block(id, [(mark, text)]), f"{id}\t"
    if block is not None:
        yield block


def _text_line(line: str, block: Block | None, name: str, number: int) -> tuple[str, str, str]:
    id, bar, rest = line.partition("|")
    mark, second, text = rest.partition("|")
    if bar and second and id.strip() and mark and "\t" not in id and "\t" not in mark:
        return id, mark, text
    wanted = "expected PMID|t|text, or PMID, start, end, text, type and ids with tabs between"
    if "\t" in line.partition("|")[0]:
        other = line.partition("\t")[0]
        wanted = f"this is an annotation of {other!r}, which has no text before it"
        if block is not None:
            wanted = f"expected an annotation of {block.id!r}, the text before it, not of {other!r}"
    raise FormatError(name, f"{wanted}; found {line[:60]!r}", line=number)


class _Reader:
    """Makes documents of blocks."""

    def __init__(self, name: str, faults: Faults) -> None:
        self._name, self._faults = name, faults

    def document(self, group: Sequence[Block]) -> Document:
        """Return the document of one block, or of several that hold a passage each."""
        if len(group) == 1:
            text, passages = joined(group[0].passages)
            parts = [(group[0].annotations, text, 0)]
        else:
            text, passages, parts = _by_passage(group)
        mentions: list[Mention] = []
        relations: list[Numbered] = []
        for lines, part, base in parts:
            self._mentions(lines, part, base, mentions, relations)
        meta: Mapping[str, Any] = EMPTY
        if relations:
            known = known_ids(mentions)
            found = tuple(self._faults.make_each(lambda item: self._relation(item, known), relations))
            meta = {"relations": found} if found else EMPTY
        return Document(group[0].id, text, passages=passages, mentions=tuple(mentions), meta=meta)

    def _mentions(
        self, annotations: list[Numbered], text: str, base: int, mentions: list[Mention], relations: list[Numbered]
    ) -> None:
        """Append the mentions of `annotations`, whose offsets count in `text` and move by `base`, and the relations."""
        # this loop is the reader's speed: one split, one comparison with the text, one look-up of the last columns
        length = len(text)
        for item in annotations:
            try:
                _, first, last, surface, tail = item[1].split("\t", 4)
                start, end = int(first), int(last)
            except ValueError:
                relations.append(item)
                continue
            try:
                if text[start:end] != surface or end > length:
                    start, end, tail = self._elsewhere(item, text)
                types, concepts, meta = _tail(tail)
                start, end = start + base, end + base
                mentions.append(Mention(start, end, (), "", types, GOLD, None, concepts, (), None, "", EMPTY, "", meta))
            except FormatError as error:
                self._faults.leave_out(error)
            except (DataError, ValueError) as error:
                self._faults.leave_out(FormatError(self._name, str(error), line=item[0]))

    def _elsewhere(self, item: Numbered, text: str) -> tuple[int, int, str]:
        """Return start, end and the last columns of a line whose text and offsets seem to disagree."""
        number, line = item
        _, first, last, rest = line.split("\t", 3)
        start, end = int(first), int(last)
        if 0 <= start < end <= len(text):  # the text may hold tabs, or break where the line has a blank
            surface = text[start:end].translate(BREAKS)
            if rest.startswith(f"{surface}\t"):
                return start, end, rest[len(surface) + 1 :]
        surface, _, tail = rest.partition("\t")
        error = FormatError(self._name, _disagreement(surface, start, end, text), line=number)
        [span] = self._faults.move(error, text, surface, [Span(start, end)])
        return *span, tail

    def _relation(self, item: Numbered, known: Mapping[str, str]) -> Mapping[str, JSON]:
        number, line = item
        _, type, *rest = line.split("\t")
        if len(rest) not in (2, 3) or type.strip().lstrip("-").isdecimal() or not all(rest[:2]):
            expected = "expected start, end, text, type and ids of a mention, or type and two ids of a relation"
            raise FormatError(self._name, f"{expected}, with tabs between; found {line[:60]!r}", line=number)
        args = [
            {"role": f"arg{place}", "ref": known.get(id.strip()) or to_curie(id)}
            for place, id in enumerate(rest[:2], 1)
        ]
        relation: dict[str, Any] = {"type": type, "args": args}
        if len(rest) == 3:
            relation["meta"] = {"novelty": rest[2]}
        return relation


@lru_cache(1 << 16)
def _tail(columns: str) -> Tail:
    r"""Return what the columns after the text of a mention say.

    >>> _tail("T047,T048\tC0024660")
    Tail(types=('T047', 'T048'), concepts=('UMLS:C0024660',), meta={})
    """
    type, *rest = columns.split("\t")
    if len(rest) > 2:
        raise ValueError(f"has {len(rest) + 5} columns, expected 5 to 7: PMID, start, end, text, type, ids, conjuncts")
    types = types_of(type)
    if not rest:
        return Tail(types, None, EMPTY)
    concepts, meta = read_ids(rest[0], type)
    if len(rest) == 2 and rest[1]:
        meta = FrozenDict({**meta, "conjuncts": rest[1]})
    return Tail(types, concepts, meta)


Parts = list[tuple[list[Numbered], str, int]]  # annotations, the text their offsets count in, where that begins


def _by_passage(group: Sequence[Block]) -> tuple[str, tuple[Passage, ...], Parts]:
    """Return text and passages of a document in several blocks, and its annotations with the text they count in."""
    merged: list[tuple[str, str]] = []
    for block in group:
        mark, text = next(((mark, text) for mark, text in block.passages if text), block.passages[0])
        # every block calls its passage a title; only the first one is
        merged.append((mark if mark != "t" or not merged else "p", text))
    full, passages = joined(merged)
    parts: Parts = []
    start = 0
    for block, (_, text) in zip(group, merged, strict=True):
        parts.append((block.annotations, text, start))
        start += len(text) + 1
    whole: Parts = [(block.annotations, full, 0) for block in group]
    return full, passages, min(parts, whole, key=_misfits)


def _misfits(parts: Parts) -> int:
    """Return how many mentions have offsets that do not give their text."""
    count = 0
    for lines, text, _ in parts:
        for _, line in lines:
            columns = line.split("\t", 3)
            if len(columns) == 4 and columns[1].isdecimal() and columns[2].isdecimal():
                surface = text[int(columns[1]) : int(columns[2])].translate(BREAKS)
                count += not (surface and columns[3].startswith(f"{surface}\t"))
    return count


def _disagreement(surface: str, start: int, end: int, text: str) -> str:
    if not 0 <= start < end:
        return f"the offsets {start}-{end} are no span: the start must be at least 0 and before the end"
    says = f"say {text[start:end]!r}" if end <= len(text) else f"lie outside the text of {len(text)} characters"
    return (
        f"the offsets {start}-{end} {says}, the line says {surface!r}; offsets count code points of the passages, "
        "joined by one character each"
    )


VARIANT = re.compile(r"tmVar:|VariantGroup:|Va1iantGroup:|RS#:|HGVS:|[cgmnpr]?\|[A-Z]{2,}\||(?:DBSNP:)?rs\d")


def read_tmvar(path: str | Path, *, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of the corpus.

    Raises:
        FormatError: as PubTator.
    """
    for doc in read(path, faults=faults):
        yield dataclasses.replace(doc, mentions=tuple(map(_variant_mention, doc.mentions or ())))


def _variant_mention(mention: Mention) -> Mention:
    field = _variant_field(mention)
    if not VARIANT.match(field):
        return mention
    concepts, others = variant(field)
    meta = {key: value for key, value in mention.meta.items() if key not in ("separator", "ids")}
    if others:
        meta["variant"] = FrozenDict(others)
    return dataclasses.replace(mention, concepts=concepts, meta=meta)


def _variant_field(mention: Mention) -> str:
    """Return the column that the concepts of a mention were read from."""
    ids = mention.meta.get("ids")
    return ids if isinstance(ids, str) else joined_ids(mention.concepts or (), str(mention.meta.get("separator", "|")))
