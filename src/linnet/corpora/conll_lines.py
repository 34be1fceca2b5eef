"""The lines of a file in columns: documents, sentences, cells, and which column is which (`linnet.corpora.conll`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from linnet.corpora.conll_write import HEADER
from linnet.errors import FormatError, did_you_mean

__all__ = ["COLUMNS", "Block", "Layout", "Lines", "Row"]

COLUMNS = {
    "token": ("form", "token", "word"),
    "tag": ("tag", "ner", "label"),
    "ids": ("ids", "concepts", "concept"),
    "start": ("start",),
    "end": ("end",),
    "misc": ("misc",),
}
NUMBER = re.compile(r"-?[0-9]{1,4}")
NAMES = re.compile(r"#\s*global\.columns\s*=\s*(.*)")
ASSUMED = ("token", "tag")  # the first column and the last, where nothing says which is which
PART = re.compile(r"\d+[-.]\d+")  # numbers of CoNLL-U for words of several tokens, and for what is not written
SENTENCES = 5  # looked at to see what a column holds
DOCSTART = "-DOCSTART-"
NEWDOC = re.compile(r"#\s*(?:newdoc|document|doc)(?:[ _]id)?(?:\s*[=:]\s*|\s+|$)(.*)", re.IGNORECASE)


class Row(NamedTuple):
    """One line with a token."""

    line: int
    cells: list[str]


@dataclass(slots=True)
class Block:
    """The lines of one document."""

    id: str
    sentences: list[list[Row]] = field(default_factory=lambda: [[]])


class Layout(NamedTuple):
    """Where the columns of a file are, as positions from 0."""

    path: str
    width: int
    tabs: bool
    places: dict[str, int]
    ours: bool  # types and ids are escaped as the writer does it


class Lines:
    """Cuts a file into documents, sentences and cells; ``layout`` is known as soon as there is a token."""

    def __init__(self, path: str, columns: Mapping[str, int | str]) -> None:
        self._path, self._columns = path, columns
        self._header: list[str] = []
        self.layout: Layout | None = None

    def blocks(self, lines: Iterable[str], name: str) -> Iterator[Block]:
        """Yield the documents that `lines` hold; `name` is for those without an id."""
        block: Block | None = None
        count = 0
        for number, line in enumerate(lines, 1):
            start = self._start(line)
            if start is not None:
                if block is not None:
                    yield block
                count += 1
                block = Block(start or f"{name}:{count}")
            elif not line.strip(" \t\r"):
                if block is not None and block.sentences[-1]:
                    block.sentences.append([])
            elif not self._comment(line, number, at_start=block is None or not block.sentences[-1]):
                if block is None:
                    count, block = 1, Block(name)
                block.sentences[-1].append(Row(number, self._cells(line, number)))
        if block is None:
            raise FormatError(self._path, "holds no tokens, expected one a line")
        yield block

    def check(self, block: Block) -> None:
        """Refuse a file whose first column, taken for the words, numbers them, as in CoNLL-U.

        Raises:
            FormatError: it counts from 1 in each of the first sentences of `block`, and no header or caller says so.
        """
        if self.layout is None or self._header or "token" in self._columns or self.layout.width <= len(ASSUMED):
            return
        sentences = list(islice(filter(None, block.sentences), SENTENCES))
        first = [[row.cells[0] for row in rows if not PART.fullmatch(row.cells[0])] for rows in sentences]
        if max(map(len, first)) > 1 and all(cells == [str(n + 1) for n in range(len(cells))] for cells in first):
            problem = "the first column numbers the tokens of each sentence, expected the words"
            cure = "name the columns in a first line, such as # global.columns = ID FORM TAG, or in Python"
            raise FormatError(self._path, f"{problem}; {cure}: columns={{'token': 1}}", line=sentences[0][0].line)

    @staticmethod
    def _start(line: str) -> str | None:
        """Return the id of the document that `line` begins, "" if it begins one without an id."""
        if line.startswith(DOCSTART):
            begin, end = line.find("("), line.rfind(")")
            return line[begin + 1 : end].strip() if 0 <= begin < end else ""
        if line.startswith("#") and "\t" not in line and (found := NEWDOC.fullmatch(line)):
            return found[1].strip()
        return None

    def _comment(self, line: str, number: int, *, at_start: bool) -> bool:
        """Whether `line` holds no token; a line that begins with ``#`` does if it has as many columns as the others."""
        if not line.startswith("#"):
            return False
        if names := NAMES.fullmatch(line):
            header = names[1].split()
            if self._header not in ([], header) or (self.layout and not self._header):
                raise FormatError(self._path, "names the columns anew: a file has them once", line=number)
            self._header = header
            return True
        if "\t" in line:
            return False
        return self.layout is None or (at_start and len(_split(line, tabs=self.layout.tabs)) != self.layout.width)

    def _cells(self, line: str, number: int) -> list[str]:
        if self.layout is None:
            self.layout = _layout(self._path, self._header, line, self._columns, number)
        cells = _split(line, tabs=self.layout.tabs)
        if len(cells) != self.layout.width:
            between = "tabs" if self.layout.tabs else "blanks"
            problem = f"has {len(cells)} columns, expected {self.layout.width} with {between} between"
            raise FormatError(self._path, problem, line=number)
        return cells


def _split(line: str, *, tabs: bool) -> list[str]:
    # only the blank itself: no-break spaces and their kin stand inside tokens
    return line.split("\t") if tabs else [cell for cell in line.split(" ") if cell]


def _layout(path: str, header: list[str], row: str, columns: Mapping[str, int | str], line: int) -> Layout:
    tabs = "\t" in row
    width = len(header) or len(_split(row, tabs=tabs))
    names = [name.casefold().rpartition(":")[2] for name in header]
    places: dict[str, int] = {}
    for ours, known in COLUMNS.items():
        if ours in columns:
            places[ours] = _place(columns[ours], header, width, FormatError(path, f"columns, {ours!r}", line=line))
        elif found := [names.index(name) for name in known if name in names]:
            places[ours] = found[0]
    if not header:
        for ours, place in zip(ASSUMED, (0, width - 1), strict=True):
            places.setdefault(ours, place)
    missing = [ours for ours in ASSUMED if ours not in places]
    if missing or ("start" in places) != ("end" in places):
        ours = missing[0] if missing else "end" if "start" in places else "start"
        problem = f"there is no column for {ours!r} among {', '.join(header)}"
        raise FormatError(path, f"{problem}; say which it is: columns={{{ours!r}: ...}}", line=line)
    if len(set(places.values())) < len(places):
        what = ", ".join(f"{ours} in {place}" for ours, place in places.items())
        raise FormatError(path, f"{width} columns are too few, expected one for each of: {what}", line=line)
    return Layout(path, width, tabs, places, ours=header == HEADER)


def _place(wanted: int | str, header: list[str], width: int, fault: FormatError) -> int:
    if isinstance(wanted, str) and not header and NUMBER.fullmatch(wanted):  # from the command line
        wanted = int(wanted)
    if isinstance(wanted, int):
        if -width <= wanted < width:
            return wanted % width
        raise FormatError(fault.path, f"{fault.problem}: there is no column {wanted} among {width}", line=fault.line)
    names = [name.casefold() for name in header]
    bare = [name.rpartition(":")[2] for name in names]
    for known in (names, bare):
        if wanted.casefold() in known:
            return known.index(wanted.casefold())
    there = f"the header names {', '.join(header)}" if header else "the file does not name its columns: give its place"
    near = did_you_mean(wanted, header)
    raise FormatError(fault.path, f"{fault.problem}: there is no column {wanted!r}; {there}{near}", line=fault.line)
