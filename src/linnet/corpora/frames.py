"""Mentions of documents as rows of a data frame, one a mention, in the columns of the CSV that ``linnet link`` writes.

What a cell holds, `linnet.corpora.mention_table` says, but that a probability has all its digits and is missing (None,
null) where there is none. Columns that people fill in are empty, as in the CSV, which a frame can be written as.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from linnet.corpora.mention_table import COLUMNS, Cell, tabled
from linnet.corpora.names import documents, holder, known, namer, versions_of
from linnet.data import Document, Rows
from linnet.errors import MissingExtraError
from linnet.reporter import warn

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["arrow", "frame", "to_dicts"]

Docs: TypeAlias = "Document | Iterable[Document]"

WHOLE = ("start", "end")
PROBABILITY = "probability"


def to_dicts(docs: Docs, *, kb: Rows | None = None) -> list[dict[str, Cell | None]]:
    """Return the mentions of documents as rows: column -> cell.

    Args:
        docs: a document, several, or what a pipeline returned or streams.
        kb: what holds the names of the concepts. It need not be given for what a pipeline returned, nor for documents
            with candidates whose knowledge base is open; names that nobody knows are empty.

    Raises:
        DataError: something else than documents.

    >>> from linnet.data import Mention
    >>> fits = Mention(3, 7, concepts=("HP:0001250",), probability=0.5)
    >>> [row] = to_dicts(Document("7", "No fits.", mentions=(fits,)))
    >>> row["document"], row["start"], row["text"], row["concepts"], row["probability"]
    ('7', 3, 'fits', 'HP:0001250', 0.5)
    """
    given = known(docs, kb)
    names: dict[tuple[str, ...], Callable[[str], str]] = {}
    rows: list[dict[str, Cell | None]] = []
    for doc in documents(docs):
        versions = versions_of([doc]) if given is None else ()
        if versions not in names:
            names[versions] = namer(holder(versions) if given is None else given)
        for mention, row in zip(doc.mentions or (), tabled(doc, names[versions]), strict=True):
            rows.append({**dict(zip(COLUMNS, row, strict=True)), PROBABILITY: mention.probability})
    return rows


def frame(docs: Docs, *, kb: Rows | None = None) -> pd.DataFrame:
    """Return the mentions of documents as a pandas DataFrame, one row a mention; arguments as of `to_dicts`.

    Documents with one id, as equal texts have, are warned of: in the frame nothing tells them apart.

    Raises:
        MissingExtraError: pandas is not installed.

    >>> from linnet.data import Mention
    >>> found = frame(Document("7", "No fits.", mentions=(Mention(3, 7, concepts=("HP:0001250",)),)))
    >>> found[["document", "text", "concepts"]].values.tolist()
    [['7', 'fits', 'HP:0001250']]
    """
    pandas = _library("pandas", "linnet.frame")
    kinds = dict.fromkeys(COLUMNS, "str") | dict.fromkeys(WHOLE, "int64") | {PROBABILITY: "float64"}
    given, read = known(docs, kb), list(documents(docs))
    if twice := next((id for id, count in Counter(doc.id for doc in read).items() if count > 1), None):
        warn(f"several documents have the id {twice!r}, as equal texts do: linnet.Document(id, text) tells them apart")
    made: pd.DataFrame = pandas.DataFrame(_columns(read, given)).astype(kinds)
    return made


def arrow(docs: Docs, *, kb: Rows | None = None) -> pa.Table:
    """Return the same as an Arrow table, which Polars, DuckDB and others take without a copy: ``pl.from_arrow(table)``.

    Raises:
        MissingExtraError: PyArrow is not installed.

    >>> arrow(Document("7", "Nothing.")).num_rows
    0
    """
    pyarrow = _library("pyarrow", "linnet.arrow")
    kinds = dict.fromkeys(WHOLE, pyarrow.int64()) | {PROBABILITY: pyarrow.float64()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])
    made: pa.Table = pyarrow.table(_columns(docs, kb), schema=schema)
    return made


def _columns(docs: Docs, kb: Rows | None) -> dict[str, list[Cell | None]]:
    rows = to_dicts(docs, kb=kb)
    return {name: [row[name] for row in rows] for name in COLUMNS}


def _library(name: str, wanted_by: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(name, extra="frames", wanted_by=wanted_by) from error
