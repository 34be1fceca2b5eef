"""Tables of mentions that people went through, as gold: sheets of Excel, which hold their texts, and CSV with texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linnet.corpora import read
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.formats import FORMATS, suffix
from linnet.data import Document, Rows
from linnet.errors import LinnetError

__all__ = ["is_corrected", "read_corrected"]


def is_corrected(path: str | Path, texts: str | Path | None) -> bool:
    """Return whether a file is to be read as a table that people corrected.

    >>> is_corrected("found.xlsx", None), is_corrected("found.csv", None), is_corrected("found.csv", "notes/")
    (True, False, True)
    """
    return texts is not None or suffix(path) in FORMATS["xlsx"].suffixes


def read_corrected(
    path: str | Path, texts: str | Path | None, *, kb: Rows | None = None, faults: Faults = STOP
) -> Iterator[Document]:
    """Return the documents of a corrected table, their mentions gold (`linnet.corpora.mention_rows`).

    Args:
        path: a sheet of Excel that `linnet link` wrote, or a table with commas, semicolons or tabs between cells.
        texts: where the texts are, of a table that is no sheet of Excel: a file, a folder or a pattern.
        kb: one, or several, that understand names of concepts in place of ids, and refuses ids that it does not hold.
        faults: what is done about rows that cannot be read.

    Raises:
        LinnetError: texts beside a sheet that has them.
        FormatError: a row that cannot be read, or a document without a text; with the row.
    """
    from linnet.corpora import mentions_csv, sheet  # noqa: PLC0415 - needed where there is a table

    if texts is None:
        return sheet.read(path, rows=kb, faults=faults)
    if suffix(path) in FORMATS["xlsx"].suffixes:
        raise LinnetError(f"{path} holds its texts: leave out --texts {texts}")
    return mentions_csv.read_mentions(path, read(texts, on_error=faults), corrected=True, kb=kb, faults=faults)
