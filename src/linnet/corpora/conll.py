r"""CoNLL: one token a line, in columns; a blank line ends a sentence; tags say what is a mention (BIO, BIOES, BILOU).

Documents begin with ``-DOCSTART-`` (an id may follow in brackets), ``# newdoc id = x`` or ``#doc x``; a file without
such lines is one document. Columns are cut at tabs, in files without tabs at blanks. Which is which says a line
``# global.columns = FORM … TAG`` (as in CoNLL-U Plus), or the caller; else the first is the token and the last the tag.

==========  ===========================  ===========================================================================
column      names in the header          holds
==========  ===========================  ===========================================================================
``token``   FORM, TOKEN, WORD            the token
``tag``     TAG, NER, LABEL              its tag (`linnet.text.tagging`)
``ids``     IDS, CONCEPTS, CONCEPT       ids of the mention's concepts, ``|`` between; ``NIL`` or ``-1``: it has none;
                                         ``_``, ``-``, ``O`` or nothing: not said
``start``   START                        code points before the token, from the start of the document's text
``end``     END                          the same for its end
``misc``    MISC                         ``SpaceAfter=No``, ``SpacesAfter=\n``, ``SpacesBefore=\s`` as in CoNLL-U, with
                                         ``\s \t \n \r \p \\`` for blank, tab, breaks, ``|`` and backslash
==========  ===========================  ===========================================================================

Text is put together from the tokens: with offsets, blanks fill what is between; without, a blank stands between
tokens and a line break between sentences; ``misc`` overrules both. Other columns (parts of speech) are not read.

The writer's columns are ``FORM LINNET:START LINNET:END LINNET:TAG LINNET:IDS MISC``. In the two of the middle that may
hold anything, blanks, breaks, ``|`` and ``%`` inside a type or id are written ``%20`` and so on, and several types of a
mention stand in its tag with ``|`` between. Texts and sentences come back exactly; of mentions, spans, types and ids.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from linnet.corpora.conll_lines import COLUMNS, Block, Layout, Lines, Row
from linnet.corpora.conll_write import lost, unescape, unescape_blanks, write
from linnet.corpora.ids import to_curie
from linnet.corpora.sources import stem
from linnet.data import Document, Mention, Span
from linnet.errors import DataError, FormatError, LinnetError, did_you_mean
from linnet.reporter import warn
from linnet.text.files import open_text, shown
from linnet.text.tagging import OUTSIDE, SCHEMES, Chunk, Scheme, decode, faults, scheme_named

__all__ = ["COLUMNS", "lost", "read", "write"]

MAX_GAP = 1_000_000  # characters between two tokens; more is a fault of the offsets, and costs memory
NOT_SAID = frozenset(["", "_", "-", OUTSIDE])
NONE = frozenset(["NIL", "-1"])
NUMBER = re.compile(r"[0-9]{1,12}")


def read(
    path: str | Path,
    *,
    columns: Mapping[str, int | str] | None = None,
    scheme: str | None = None,
    strict: bool = False,
    name: str = "",
) -> Iterator[Document]:
    """Yield the documents of a file in columns; mentions are gold, sentences are those of the file.

    Tags that break the rules of their scheme are read by the rule of `linnet.text.tagging`; one warning counts them.

    Args:
        path: the file, plain or gzip, UTF-8.
        columns: our column -> the file's, as its name in the header or its place, counted from 0, or from -1 at the
            end: ``{"tag": 2, "ids": -1}``.
        scheme: BIO, IOB1, BIOES or BILOU, to be held to; None takes the first of these that fits all tags,
            else the first that has their marks.
        strict: refuse tags that break the rules; without a `scheme`, those that break the rules of every scheme.
        name: what ids begin with for documents that have none of their own: ``name:2`` for the second; a file without
            marked documents is the document `name`. The file's stem when empty.

    Raises:
        LinnetError: an unknown column or scheme.
        FormatError: a row with other columns, numbers of tokens in place of words, what is no tag, offsets that do not
            fit the token or the one before, tokens of one mention with different ids; with the line.
    """
    for ours in columns or ():
        if ours not in COLUMNS:
            near = did_you_mean(ours, COLUMNS)
            raise LinnetError(f"columns: unknown column {ours!r}; columns are {', '.join(COLUMNS)}{near}")
    tally = _Tally(shown(path), (scheme_named(scheme),) if scheme else SCHEMES, strict)
    return _read(path, columns or {}, tally, name or stem(path))


def _read(path: str | Path, columns: Mapping[str, int | str], tally: _Tally, name: str) -> Iterator[Document]:
    lines = Lines(shown(path), columns)
    looked = False
    for block in lines.blocks(open_text(path, by_line=True), name):
        if not looked and (looked := any(block.sentences)):
            lines.check(block)
        yield _document(block, lines.layout, tally)
    tally.warn()


# --- documents -------------------------------------------------------------------------------------------------------


def _document(block: Block, layout: Layout | None, tally: _Tally) -> Document:
    sentences = [rows for rows in block.sentences if rows]
    if layout is None or not sentences:
        return Document(block.id, "", sentences=(), mentions=())
    text, spans = _text(sentences, layout)
    mentions: list[Mention] = []
    for rows, tokens in zip(sentences, spans, strict=True):
        tags = [row.cells[layout.places["tag"]] for row in rows]
        try:
            chunks = decode(tags)
        except DataError as error:
            raise FormatError(layout.path, str(error), line=_bad_line(tags, rows, None)) from error
        tally.add(tags, rows)
        mentions += _mentions(chunks, rows, tokens, layout)
    hulls = tuple(Span(tokens[0].start, tokens[-1].end) for tokens in spans)
    return Document(block.id, text, sentences=hulls, mentions=tuple(mentions))


def _bad_line(tags: Sequence[str], rows: Sequence[Row], scheme: Scheme | None) -> int | None:
    """Return the line of the first tag that is none of `scheme` (None = of any)."""
    for tag, row in zip(tags, rows, strict=True):
        try:
            decode([tag], scheme)
        except DataError:
            return row.line
    return None


def _text(sentences: Sequence[Sequence[Row]], layout: Layout) -> tuple[str, list[list[Span]]]:
    """Return the text that the tokens make, and the spans of the tokens of each sentence."""
    pieces: list[str] = []
    spans: list[list[Span]] = []
    end = 0
    after: str | None = ""
    for number, rows in enumerate(sentences):
        spans.append([])
        for place, row in enumerate(rows):
            token = row.cells[layout.places["token"]]
            if not token:
                raise FormatError(layout.path, "has an empty token", line=row.line)
            before, following = _blanks(row, layout)
            if number or place:
                default = " " if place else "\n"
                before = before if after is None else after + (before or "")
            else:
                default = ""
            gap = _gap(row, token, end, before, default, layout)
            start = end + len(gap)
            end = start + len(token)
            pieces += (gap, token)
            spans[-1].append(Span(start, end))
            after = following
    pieces.append(after or "")
    return "".join(pieces), spans


def _gap(row: Row, token: str, end: int, said: str | None, default: str, layout: Layout) -> str:
    """Return what stands before `token`: what the columns say, else blanks up to its offset, else `default`."""
    if "start" not in layout.places:
        return default if said is None else said
    cells = [row.cells[layout.places[which]] for which in ("start", "end")]
    if not all(NUMBER.fullmatch(cell) for cell in cells):
        problem = f"expected two offsets, found {cells[0]!r} and {cells[1]!r}"
        raise FormatError(layout.path, problem, line=row.line)
    start, stop = map(int, cells)
    if stop - start != len(token):
        problem = f"the offsets {start}-{stop} do not fit the {len(token)} characters of {token!r}"
        raise FormatError(layout.path, f"{problem}; offsets count code points", line=row.line)
    if not 0 <= start - end <= MAX_GAP:
        problem = f"the token before ends at {end}, this one begins at {start}: expected {end} to {end + MAX_GAP}"
        raise FormatError(layout.path, f"{problem}; offsets count from the document's start", line=row.line)
    if said is not None and len(said) != start - end:
        problem = f"the offsets leave {start - end} characters before this token, SpacesAfter says {said!r}"
        raise FormatError(layout.path, problem, line=row.line)
    return said or " " * (start - end)


def _blanks(row: Row, layout: Layout) -> tuple[str | None, str | None]:
    """Return what the columns say that stands before and after a token; None for nothing."""
    if "misc" in layout.places:
        cell = row.cells[layout.places["misc"]]
    else:
        cell = next((cell for cell in row.cells[1:] if "SpaceAfter=No" in cell), "")
    if "Space" not in cell:
        return None, None
    values = dict(item.partition("=")[::2] for item in cell.split("|"))
    before, after = values.get("SpacesBefore"), values.get("SpacesAfter")
    if after is None and values.get("SpaceAfter") == "No":
        after = ""
    return None if before is None else unescape_blanks(before), None if after is None else unescape_blanks(after)


def _mentions(
    chunks: Iterable[Chunk], rows: Sequence[Row], tokens: Sequence[Span], layout: Layout
) -> Iterator[Mention]:
    place = layout.places.get("ids")
    inside = -1
    for first, last, type in chunks:
        types = tuple(map(unescape, type.split("|"))) if layout.ours and type else (type,) if type else ()
        concepts = None
        if place is not None:
            _refuse_ids(rows[inside + 1 : first], place, layout.path)
            concepts = _concepts(rows[first : last + 1], place, type, layout)
        inside = last
        yield Mention(tokens[first].start, tokens[last].end, types=types, source="gold", concepts=concepts)
    if place is not None:
        _refuse_ids(rows[inside + 1 :], place, layout.path)


def _refuse_ids(rows: Iterable[Row], place: int, path: str) -> None:
    for row in rows:
        if row.cells[place] not in NOT_SAID:
            raise FormatError(path, f"has the id {row.cells[place]!r} outside a mention", line=row.line)


def _concepts(rows: Sequence[Row], place: int, type: str, layout: Layout) -> tuple[str, ...] | None:
    said = [row for row in rows if row.cells[place] not in NOT_SAID]
    if not said:
        return None
    ids = said[0].cells[place]
    for row in said:
        if row.cells[place] != ids:
            problem = f"has the id {row.cells[place]!r}, the same mention has {ids!r} in line {said[0].line}"
            raise FormatError(layout.path, problem, line=row.line)
    if ids in NONE:
        return ()
    return tuple(unescape(id) if layout.ours else to_curie(id, type) for id in ids.split("|"))


# --- schemes ---------------------------------------------------------------------------------------------------------


class _Tally:
    """Counts, for every scheme that the marks met so far allow, the tags that break its rules."""

    def __init__(self, path: str, schemes: Sequence[Scheme], strict: bool) -> None:
        self._path, self._strict = path, strict
        self._schemes = schemes
        self._counts: Counter[Scheme] = Counter(dict.fromkeys(schemes, 0))
        self._lines: dict[Scheme, int] = {}

    def add(self, tags: Sequence[str], rows: Sequence[Row]) -> None:
        if all(tag == OUTSIDE for tag in tags):
            return
        for scheme in list(self._counts):
            try:
                places = faults(tags, scheme)
            except DataError as error:
                del self._counts[scheme]
                if not self._counts:
                    line = _bad_line(tags, rows, self._schemes[0] if len(self._schemes) == 1 else None)
                    problem = "mixes the marks of several schemes" if line is None else str(error)
                    raise FormatError(self._path, problem, line=line or rows[0].line) from error
                continue
            if places:
                self._counts[scheme] += len(places)
                self._lines.setdefault(scheme, rows[min(places[0], len(rows) - 1)].line)
        if self._strict and min(self._counts.values()):
            scheme = self.best
            raise FormatError(self._path, f"this tag breaks the rules of {scheme}", line=self._lines[scheme])

    @property
    def best(self) -> Scheme:
        """The first scheme whose rules nothing breaks, else the first whose marks fit."""
        return min(self._counts, key=lambda scheme: (self._counts[scheme] > 0, SCHEMES.index(scheme)))

    def warn(self) -> None:
        count = self._counts[self.best]
        if count:
            where = f"{count:,} tags break the rules of {self.best}, the first in line {self._lines[self.best]}"
            warn(f"{self._path}: {where}; what does not continue the mention before it begins a new one")
