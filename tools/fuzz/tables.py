"""Seeds of fuzzing: a table, a database and an archive of articles, each made by the library that reads it."""

from __future__ import annotations

import io
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from tools.fuzz.excerpts import JATS

__all__ = ["archive", "database", "table"]

ROWS = [("1", "Seizures, 🧬 and fits.", 2020), ("2", None, 2021), ("3", "Fever.", None)]


def table() -> bytes:
    """Return a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    out = io.BytesIO()
    ids, notes, years = zip(*ROWS, strict=True)
    parquet.write_table(pa.table({"id": ids, "note": notes, "year": years}), out)
    return out.getvalue()


def database() -> bytes:
    """Return an SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.sqlite"
        with closing(sqlite3.connect(path)) as made, made:
            made.execute("PRAGMA page_size = 512")
            made.execute("CREATE TABLE notes (id TEXT, note TEXT, year INTEGER)")
            made.executemany("INSERT INTO notes VALUES (?, ?, ?)", ROWS)
        return path.read_bytes()


def archive() -> bytes:
    """Return a tar file, packed, with two articles."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as made:
        for number in (35, 36):
            data = JATS.replace(">35<", f">{number}<").encode()
            info = tarfile.TarInfo(f"PMC000xxxxxx/PMC{number}.xml")
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return out.getvalue()
