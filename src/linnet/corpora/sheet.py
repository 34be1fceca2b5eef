"""A sheet of Excel (``.xlsx``) with the mentions of documents, for people to read, filter and correct; extra ``xlsx``.

The first sheet has a row for each mention, with the columns of `linnet.corpora.mention_table`; all cells but offsets
and probabilities are text, so that nothing is run as a formula or becomes a date. The second, hidden sheet ``texts``
holds the texts, long ones in several rows; the third, hidden one ``found`` what was found, so that reading can count
what people changed. Characters that XML has no place for are written as Excel does: ``_x0007_``.

Reading gives gold: what people left as it was they accepted; what they changed, `linnet.corpora.mention_rows` says. But
if they touched nothing at all, nobody need have read the sheet: mentions stay what they were.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from linnet.corpora.faults import STOP, Faults
from linnet.corpora.mention_changes import FOUND
from linnet.corpora.mention_rows import Table
from linnet.corpora.mention_table import COLUMNS, ROOM, TABLE, Cell, Column, Row, clip, tabled
from linnet.corpora.names import namer
from linnet.corpora.said import SAID
from linnet.data import Document, Rows
from linnet.errors import FormatError
from linnet.text.cells import column_places
from linnet.text.files import shown
from linnet.text.workbook import (
    LAST_ROW,
    Cells,
    cell_text,
    check_room,
    column_names,
    escape,
    import_openpyxl,
    sheet_rows,
)

__all__ = ["read", "write"]

MENTIONS, TEXTS, BEFORE = "mentions", "texts", "found"
TEXT_COLUMNS = ("document", "part", "text")
CLIPPED = ("text", "context", "names")  # what a cell need not hold whole, since the texts and the ids are there
UNREAD = "This is not read. Write the right concept into right_concept, the mention as the letter has it into text."
TOLD = {  # columns -> the values that people choose from, if they do, and what they are told
    "correct": (("yes", "no"), "Yes or empty: it is right. No, and right_concept empty: nothing is named here."),
    "right_concept": (
        (),
        "If concepts are wrong, the right id or name: HP:0001250 or Seizure; several with | between; NIL: none.",
    ),
    "assertion": (SAID, "What the text says of it. Choose another if that is wrong."),
}


# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as one workbook and return how many.

    Args:
        docs: the documents.
        out: the open file, which has a binary ``buffer``.
        rows: a knowledge base for the preferred names; without one, or for ids it does not hold, they stay empty.

    Raises:
        MissingExtraError: openpyxl is not installed.
        DataError: more mentions or texts than a sheet has rows, or ids that are too long for a cell.
    """
    book = _Book(import_openpyxl())
    name = namer(rows)
    count = 0
    try:
        for doc in docs:
            book.add(doc, name)
            count += 1
    except BaseException:
        book.close()
        raise
    out.flush()
    cast("Any", out).buffer.write(book.packed())
    return count


class _Book:
    """A workbook whose rows go to the disk as they come."""

    def __init__(self, openpyxl: Any) -> None:
        self._new = openpyxl.cell.WriteOnlyCell
        self._book = openpyxl.Workbook(write_only=True)
        self._looks = _looks(openpyxl.styles)
        for name, look in self._looks.items():
            self._book.add_named_style(openpyxl.styles.NamedStyle(name, **look))
        self.mentions = self._sheet(MENTIONS, [(column.name, column.width, _style(column)) for column in TABLE])
        for place, column in enumerate(TABLE):
            if column.name in TOLD:
                self._ask(openpyxl, place, column.name)
            elif column.name in ("context", "names"):
                self._refuse(openpyxl, place)
        widths = zip(TEXT_COLUMNS, (16, 8, 100), strict=True)
        self.texts = self._sheet(TEXTS, [(name, width, "plain") for name, width in widths])
        self.found = self._sheet(BEFORE, [(name, 16, "plain") for name in FOUND])
        self.texts.sheet_state = self.found.sheet_state = "hidden"
        self._rows = dict.fromkeys((MENTIONS, TEXTS, BEFORE), 1)

    def _sheet(self, title: str, columns: list[tuple[str, int, str]]) -> Any:
        """Make a sheet of columns, each with its width and style: what people add stays as they type it."""
        sheet = self._book.create_sheet(title)
        for place, (_, width, style) in enumerate(columns):
            dimension = sheet.column_dimensions[_letter(place)]
            dimension.width = width
            for key, value in self._looks[style].items():
                setattr(dimension, key, value)
        sheet.freeze_panes = "A2"
        sheet.append([self._text(sheet, name, "head") for name, _, _ in columns])
        return sheet

    def _ask(self, openpyxl: Any, place: int, column: str) -> None:
        """Say beside the cells of a column what goes into them."""
        values, prompt = TOLD[column]
        rule = openpyxl.worksheet.datavalidation.DataValidation(allow_blank=True, showInputMessage=True)
        rule.promptTitle, rule.prompt = column, prompt
        if values:
            rule.type, rule.formula1, rule.showErrorMessage = "list", f'"{",".join(values)}"', True
            rule.error = f"Choose {' or '.join(values)}, or leave it empty."
        self._rule(rule, place)

    def _refuse(self, openpyxl: Any, place: int) -> None:
        """Let nobody type into a column that is not read."""
        rule = openpyxl.worksheet.datavalidation.DataValidation("custom", "FALSE", showErrorMessage=True, error=UNREAD)
        self._rule(rule, place)

    def _rule(self, rule: Any, place: int) -> None:
        rule.add(f"{_letter(place)}2:{_letter(place)}{LAST_ROW}")
        self.mentions.data_validations.append(rule)

    def add(self, doc: Document, name: Callable[[str], str]) -> None:
        """Add the mentions and the text of a document."""
        for row in tabled(doc, name):
            cells = list(zip(TABLE, row, strict=True))
            self._append(self.mentions, [self._cell(self.mentions, *cell) for cell in cells])
            self._append(self.found, [self._cell(self.found, *cell) for cell in cells if cell[0].name in FOUND])
        for part, start in enumerate(range(0, max(len(doc.text), 1), ROOM), 1):
            text = self._text(self.texts, doc.text[start : start + ROOM])
            self._append(self.texts, [self._text(self.texts, doc.id), part, text])

    def _text(self, sheet: Any, value: str, style: str = "plain") -> Any:
        """Return a cell that is text, whatever it begins with; none of an empty one, which its column styles."""
        if not value:
            return None
        cell = self._new(sheet, escape(value))
        cell.style, cell.data_type = style, "s"
        return cell

    def _cell(self, sheet: Any, column: Column, value: Cell) -> Any:
        """Return the cell of a column."""
        if isinstance(value, str):
            return self._text(sheet, clip(value) if column.name in CLIPPED else value, _style(column))
        cell = self._new(sheet, value)
        cell.style = "number" if isinstance(value, float) else "offset"
        return cell

    def _append(self, sheet: Any, cells: list[Any]) -> None:
        """Add a row."""
        self._rows[sheet.title] += 1
        check_room(self._rows[sheet.title])
        sheet.append(cells)

    def close(self) -> None:
        """End the sheets of a workbook that will not be saved."""
        for sheet in (self.mentions, self.texts, self.found):
            sheet.close()

    def packed(self) -> bytes:
        """Return the file."""
        self.mentions.auto_filter.ref = f"A1:{_letter(len(TABLE) - 1)}{self._rows[MENTIONS]}"
        data = io.BytesIO()
        self._book.save(data)
        return data.getvalue()


def _looks(styles: Any) -> dict[str, dict[str, Any]]:
    """Return how cells look, by the names of their styles."""
    plain = {"number_format": "@", "alignment": styles.Alignment(vertical="top")}
    wrapped = {"number_format": "@", "alignment": styles.Alignment(vertical="top", wrap_text=True)}
    grey, yellow = (styles.PatternFill("solid", fgColor=colour) for colour in ("D9E2EC", "FFF2CC"))
    return {
        "head": {**wrapped, "font": styles.Font(bold=True), "fill": grey},
        "plain": plain,
        "wrapped": wrapped,
        "by hand": {**wrapped, "fill": yellow},
        "number": {**plain, "number_format": "0.00##"},
        "offset": {**plain, "number_format": "0"},
    }


def _letter(place: int) -> str:
    return chr(ord("A") + place)


def _style(column: Column) -> str:
    return "by hand" if column.by_hand else "wrapped" if column.wrap else "plain"


# --- reading ---------------------------------------------------------------------------------------------------------


def read(path: str | Path, *, rows: Rows | None = None, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a workbook that Linnet wrote, with the mentions that people left in it or added.

    Args:
        path: the file.
        rows: a knowledge base for names of concepts in place of ids, and to know ids.
        faults: what is done about rows that cannot be read.

    Raises:
        MissingExtraError: openpyxl is not installed.
        FormatError: no workbook, one without mentions or texts, one that unpacks to more than `BOMB_RATIO` times its
            size, or a row that cannot be read; with its number.
    """
    file, sheets = shown(path), sheet_rows(path, (MENTIONS, TEXTS, BEFORE))
    for title in (MENTIONS, TEXTS):
        if not sheets.get(title):
            problem = f"there is no sheet {title!r} as linnet link -o FILE.xlsx writes it"
            raise FormatError(file, f"{problem}; a table of notes is read with --from table")
    mentions = list(_named(sheets[MENTIONS], file, COLUMNS, ("document", "start", "end")))
    texts = _texts(list(_named(sheets[TEXTS], file, TEXT_COLUMNS, TEXT_COLUMNS)), file)
    found = list(_named(sheets[BEFORE], file, FOUND, FOUND)) if sheets.get(BEFORE) else None  # older files have none
    yield from Table(file, faults, corrected=True, kb=rows, found=found).attach(mentions, texts)


def _named(rows: list[Cells], file: str, known: tuple[str, ...], required: tuple[str, ...]) -> Iterator[Row]:
    """Yield rows by what the first one calls their columns."""
    header = column_names(rows[0][1])
    places = column_places(header, file, {}, known=known, cures=dict.fromkeys(required, ""))
    for number, values in rows[1:]:
        cells = [cell_text(value, header[place], file, number) for place, value in enumerate(values[: len(header)])]
        yield Row.of(number, cells, header, places)


def _texts(rows: list[Row], file: str) -> list[Document]:
    """Return the documents without their mentions, each put together from its parts."""
    parts: dict[str, dict[str, str]] = {}
    for row in rows:
        texts = parts.setdefault(row.cells["document"], {})
        if row.cells["part"] in texts:
            raise FormatError(file, f"sheet {TEXTS!r} has document {row.cells['document']!r} twice", line=row.line)
        texts[row.cells["part"]] = row.cells["text"]
    docs = []
    for id, texts in parts.items():
        if missing := [part for part in map(str, range(1, len(texts) + 1)) if part not in texts]:
            raise FormatError(file, f"sheet {TEXTS!r} lacks part {missing[0]} of document {id!r}")
        docs.append(Document(id, "".join(texts[str(part)] for part in range(1, len(texts) + 1))))
    return docs
