"""Tables, databases and stores as inputs: what becomes of rows, what is refused and how, and that memory is bounded."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import linnet
from linnet.corpora import read
from linnet.corpora.fhir import carried
from linnet.corpora.hospital import PATIENT, day_of, stated
from linnet.data import Document
from linnet.errors import FormatError, LinnetError, LinnetWarning

pa = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")
fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")

ROWS: dict[str, list[Any]] = {
    "note_id": [7, 8, 9],
    "Note": ["Seizures.", None, "Fièvre 🧬."],
    "year": [2020, 2021, None],
    "seen": [dt.date(2020, 1, 2), None, None],
    "codes": [["a"], [], None],
}
DOCS = [
    Document("7", "Seizures.", meta={"year": 2020, "seen": "2020-01-02", "codes": ["a"]}),
    Document("9", "Fièvre 🧬.", meta={}),
]
LEFT = pytest.mark.filterwarnings("ignore:.*1 rows without a text were left out:linnet.errors.LinnetWarning")


def made(path: Path, columns: dict[str, list[Any]] | None = None) -> Path:
    from pyarrow import feather, ipc, parquet

    table = pa.table(ROWS if columns is None else columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        with path.open("wb") as out, ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    return path


def database(path: Path, *more: str) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE notes (id INTEGER, text TEXT, year INTEGER)")
        db.executemany("INSERT INTO notes VALUES (?, ?, ?)", [(7, "Seizures.", 2020), (8, None, 1), (9, "Fits.", None)])
        for statement in more:
            db.execute(statement)
    return path


# --- tables ----------------------------------------------------------------------------------------------------------


@LEFT
@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
def test_rows_become_documents(tmp_path: Path, suffix: str) -> None:
    path = made(tmp_path / f"t{suffix}")
    assert list(linnet.read(path)) == DOCS
    assert list(read(tmp_path)) == DOCS, "in a folder too"


@pytest.mark.parametrize(("cut", "name"), [(",", "n.csv"), (";", "n.CSV"), ("\t", "n.tsv"), (",", "n.csv.gz")])
def test_a_csv_of_notes(tmp_path: Path, cut: str, name: str) -> None:
    rows = [["note_id", "body", "patient_id"], ["7", '"Fits,\r\nfever; ""no""\trash."', "4"], ["8", "", ""]]
    content = "".join(f"{cut.join(row)}\n" for row in rows).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found = list(read(tmp_path / name, format="table"))
    assert found == [Document("7", 'Fits,\r\nfever; "no"\trash.', meta={"patient_id": "4"}), Document("8", "")]
    options = {"columns": {"id": "patient_id", "text": "note_id"}}
    [first, last] = read(tmp_path / name, format="table", options=options)
    assert (first.id, first.text, last.id, dict(last.meta)) == ("4", "7", "n:2", {})


@pytest.mark.parametrize(
    "header", ["Note ID;Patient ID;Datum;Text", "note-id;patient-id;Datum;TEXT", "NoteID;PatientId;Datum;text"]
)
def test_names_of_columns_as_people_write_them(tmp_path: Path, header: str) -> None:
    (tmp_path / "x.csv").write_text(f"{header}\nN1;P1;2024-03-05;Fits.\n")
    [doc] = read(tmp_path / "x.csv", format="table")
    assert (doc.id, doc.text, stated(doc, PATIENT), day_of(doc)) == ("N1", "Fits.", "P1", "")
    [doc] = read(tmp_path / "x.csv", format="table", options={"columns": {"date": "Datum"}})
    assert (stated(doc, PATIENT), day_of(doc)) == ("P1", "2024-03-05")
    assert list(carried(doc).meta.values()) == ["P1", "2024-03-05"], "FHIR has a place for them"


def test_a_comma_in_a_heading_cuts_no_table_with_semicolons(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id;text;Alter,note\n7;Fever, chills;z\n")
    [doc] = read(tmp_path / "x.csv", format="table")
    assert (doc.id, doc.text, dict(doc.meta)) == ("7", "Fever, chills", {"Alter,note": "z"})


def test_columns_that_nothing_reads_are_told_where_none_is_an_id(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Nr;Patient;Datum;Text\nN1;P1;2024;Fits.\n")
    said = r"no column is called like an id, documents are called x:1, x:2 …; 'Nr', 'Datum' only go into the metadata"
    with pytest.warns(LinnetWarning, match=said):
        [doc] = read(tmp_path / "x.csv", format="table")
    assert doc.id == "x:1"
    (tmp_path / "x.csv").write_text("Patient;Text\nP1;Fits.\n")
    [doc] = read(tmp_path / "x.csv", format="table")  # no warning: all is read


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_columns_of_patient_and_date_can_be_named(tmp_path: Path, name: str) -> None:
    row = {"nr": "N1", "fall": "P1", "am": "2024-03-05", "text": "Fits."}
    as_csv = "".join(f"{','.join(cells)}\n" for cells in (row, row.values()))
    (tmp_path / name).write_text(as_csv if name == "x.csv" else json.dumps(row))
    options = {"columns": {"id": "nr", "patient": "fall", "date": "am"}}
    [doc] = read(tmp_path / name, format="table", options=options)
    assert doc == Document("N1", "Fits.", meta={"patient_id": "P1", "note_date": "2024-03-05"})
    (tmp_path / name).write_text(
        as_csv.replace("nr", "Patient ID") if name == "x.csv" else json.dumps(row | {"Patient ID": 7})
    )
    with pytest.raises(FormatError, match="has a column 'Patient ID' beside the one that --columns gives for that"):
        list(read(tmp_path / name, format="table", options={"columns": {"patient": "fall"}}))


def test_a_workbook_of_notes(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    book = openpyxl.Workbook()
    rows = [
        ("Pat", "Befund", "Datum", None),
        (7.0, "Fits_x000D_\nand fever.", dt.datetime(2024, 3, 5), "aside"),
        ("P8", None, None, None),
        (9, "Cough.", dt.datetime(2024, 3, 5, 8, 30), None),
    ]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "n.xlsx")
    options = {"columns": {"id": "Pat", "text": "Befund", "date": "Datum"}}
    with pytest.warns(LinnetWarning, match="1 rows without a text"):
        docs = list(read(tmp_path / "n.xlsx", format="table", options=options))
    assert docs == [
        Document("7", "Fits\r\nand fever.", meta={"note_date": "2024-03-05"}),
        Document("9", "Cough.", meta={"note_date": "2024-03-05T08:30:00"}),
    ]
    with pytest.raises(FormatError, match=r"no sheet 'mentions' .*; a table of notes is read with --from table"):
        list(read(tmp_path / "n.xlsx", format="xlsx"))


def test_a_csv_of_notes_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("id,text\n7,Fits, fever\n")
    with pytest.raises(FormatError, match=r"n\.csv:2: has 3 columns, the header has 2: id, text"):
        list(read(tmp_path / "n.csv", format="table"))
    (tmp_path / "n.csv").write_text("id,words\n7,Fits\n")
    with pytest.raises(FormatError, match="which column is the text"):
        list(read(tmp_path / "n.csv", format="table"))
    with pytest.raises(FormatError, match="a table of notes, not of mentions, is read with --from table"):
        list(read(tmp_path / "n.csv"))


@pytest.mark.parametrize("name", ["n.jsonl", "n.ndjson.gz", "n.json"])
def test_json_of_notes_with_fields_of_ones_own(tmp_path: Path, name: str) -> None:
    notes = [
        {"note_id": 7, "year": 2020, "note_text": "Fits."},
        {"ward": ["3"], "note_text": "Cough."},
        {"note_id": "x", "note_text": None},
    ]
    text = json.dumps(notes, indent=1) if name == "n.json" else "\n".join(map(json.dumps, notes))
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with pytest.warns(LinnetWarning, match="1 rows without a text"):
        first, second = read(tmp_path / name, format="table")
    assert (first.id, first.text, dict(first.meta)) == ("7", "Fits.", {"year": 2020})
    assert (second.id, second.text, list(second.meta)) == ("n:2", "Cough.", ["ward"])
    options = {"columns": {"text": "note_text", "id": "year"}}
    with pytest.warns(LinnetWarning):
        assert [doc.id for doc in read(tmp_path / name, format="table", options=options)] == ["2020", "n:2"]


def test_columns_as_the_command_line_has_them(tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_text('{"note": "Fits."}')
    with pytest.raises(FormatError, match="columns are 'text=note', expected a dictionary"):
        list(read(tmp_path / "n.jsonl", format="table", options={"columns": "text=note"}))


def test_json_of_notes_that_is_none(tmp_path: Path) -> None:
    for text, said in (
        ('{"id": 7, "words": "Fits."}', "which column is the text"),
        ("7", r"n\.jsonl:1: expected an object with the columns of a row, found int"),
        ('{"text": 7}', "row 1: the text is of type int"),
        ('{"text": ', "no JSON"),
    ):
        (tmp_path / "n.jsonl").write_text(text)
        with pytest.raises(FormatError, match=said):
            list(read(tmp_path / "n.jsonl", format="table"))
    (tmp_path / "n.jsonl").write_text("[]")
    with pytest.warns(LinnetWarning, match="is empty"):
        assert list(read(tmp_path / "n.jsonl", format="table")) == []


def test_json_lines_of_others_are_told_that_they_are_tables(tmp_path: Path) -> None:
    for text, told in (
        ('{"id": 7, "text": "Fits."}', True),
        ('{"id": "7", "text": "Fits.", "ward": 3}', True),
        ('{"id": "7", "text": "Fits.", "mentions": 3}', False),
        ('{"id": "7", "text": "Fits."', False),
    ):
        (tmp_path / "n.jsonl").write_text(text)
        with pytest.raises(FormatError) as caught:
            list(read(tmp_path / "n.jsonl"))
        assert ("--from table" in str(caught.value)) == told, text


def test_whole_numbers_that_gaps_made_floats_are_whole_ids(tmp_path: Path) -> None:
    path = made(tmp_path / "t.parquet", {"id": [7.0, None, 8.5], "text": ["a", "b", "c"]})
    assert [doc.id for doc in read(path)] == ["7", "t:2", "8.5"]


def test_rows_without_text_are_told_and_ids_made(tmp_path: Path) -> None:
    path = made(tmp_path / "t.parquet", {"text": ["a", None, None, "b"]})
    with pytest.warns(LinnetWarning, match=r"t\.parquet: 2 rows without a text were left out"):
        assert [doc.id for doc in read(path)] == ["t:1", "t:4"]


def test_columns_are_chosen(tmp_path: Path) -> None:
    path = made(tmp_path / "t.parquet", {"text": ["a"], "other": ["b"], "key": ["k"]})
    options = {"columns": {"text": "other", "id": "key"}}
    assert list(read(path, format="table", options=options)) == [Document("k", "b", meta={"text": "a"})]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({"a": ["x"], "b": ["y"]}, {}, r"which column is the text\? its columns are 'a', 'b'; say it: --columns"),
        ({"note": ["x"]}, {"text": "Note"}, r"has no column 'Note' \(for the text\); its columns are 'note'; did you"),
        ({"note": ["x"]}, {"txt": "note"}, "columns are given for text, id, patient and date, not for 'txt'"),
        ({"text": [1]}, {}, "row 1: the text is of type int"),
        ({"text": [b"\xff"]}, {}, "row 1: the text is not UTF-8"),
        (
            {"document": ["1"], "start": [0], "end": [4], "text": ["Fits"], "concepts": ["HP:0001250"]},
            {},
            "a table of mentions",
        ),
    ],
)
def test_wrong_columns(tmp_path: Path, columns: dict[str, list[Any]], options: dict[str, str], said: str) -> None:
    path = made(tmp_path / "t.parquet", columns)
    with pytest.raises(FormatError, match=said):
        list(read(path, format="table", options={"columns": options}))


def test_tables_that_are_none(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole.parquet").read_bytes()
    for name, data in {
        "text": b"not a table",
        "empty": b"",
        "cut": whole[:-20],
        "bent": whole[:60] + bytes(60) + whole[120:],
        "packed": gzip.compress(whole, mtime=0),
        "old": b"FEA1" + whole[4:],
    }.items():
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(data)
        with pytest.raises(FormatError, match=str(path)):
            list(read(path))


@pytest.mark.slow
def test_memory_is_that_of_a_batch(tmp_path: Path) -> None:
    from pyarrow import parquet

    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    path = tmp_path / "t.parquet"
    with parquet.ParquetWriter(path, schema) as out:
        for start in range(0, 200_000, 20_000):
            ids = list(range(start, start + 20_000))
            out.write_table(pa.table({"id": ids, "text": [f"{id} seizures " * 40 for id in ids]}, schema=schema))
    before = pa.default_memory_pool().max_memory()
    assert sum(1 for _ in read(path)) == 200_000
    assert pa.default_memory_pool().max_memory() - before < 60 << 20, "all of it is 120 MB"


# --- databases -------------------------------------------------------------------------------------------------------


@LEFT
def test_a_database_by_address_and_by_file(tmp_path: Path) -> None:
    path = database(tmp_path / "n.sqlite")
    docs = [Document("7", "Seizures.", meta={"year": 2020}), Document("9", "Fits.")]
    for source in (path, f"sqlite:///{path}"):
        assert list(read(source)) == docs
        options: dict[str, Any] = {"query": "/* all */ select text as t, id from notes where id > 7 -- b"}
        options["columns"] = {"text": "t"}
        assert [doc.id for doc in read(source, format="sql", options=options)] == ["9"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select text from letters", "the database says: no such table: letters"),
        ("selekt", "the query is no SELECT"),
        ("delete from notes", "the query is no SELECT"),
        ("/* x */ drop table notes", "the query is no SELECT"),
        ("with a as (select 1) delete from notes", "(readonly|read-only) database|gives no rows"),
        ("select id from notes", "which column is the text"),
    ],
)
def test_wrong_queries_change_nothing(tmp_path: Path, query: str, said: str) -> None:
    path = database(tmp_path / "n.db")
    before = path.read_bytes()
    with pytest.raises(LinnetError, match=said):
        list(read(path, format="sql", options={"query": query}))
    assert path.read_bytes() == before


def test_databases_that_are_none(tmp_path: Path) -> None:
    database(tmp_path / "two.db", "CREATE TABLE letters (id, text)")
    with pytest.raises(FormatError, match=r"2 of its tables have such a text: say which.*letters \(id, text\)"):
        list(read(tmp_path / "two.db"))
    (tmp_path / "text.db").write_text("not a database")
    with pytest.raises(FormatError, match="is no SQLite database"):
        list(read(tmp_path / "text.db"))
    whole = database(tmp_path / "whole.db").read_bytes()
    (tmp_path / "bent.db").write_bytes(whole[:100] + bytes(3000) + whole[3100:])
    with pytest.raises(FormatError, match="the database says"):
        list(read(tmp_path / "bent.db"))
    with pytest.raises(FormatError, match="there is no file"):
        list(read(f"sqlite:///{tmp_path}/none.db"))
    assert not (tmp_path / "none.db").exists()


def test_passwords_are_not_told_and_drivers_are_named() -> None:
    with pytest.raises(LinnetError, match="driver oracledb is not installed") as caught:
        list(read("oracle://ann:secret@127.0.0.1/x", format="sql", options={"query": "select 1"}))
    assert "secret" not in str(caught.value)


# --- stores ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def store() -> Iterator[Any]:
    found = fsspec.filesystem("memory")
    found.store.clear()
    found.pseudo_dirs[:] = [""]
    yield found
    found.store.clear()


@LEFT
def test_files_in_stores(store: Any, tmp_path: Path) -> None:
    store.pipe("/b/n/1.txt", b"One.")
    store.pipe("/b/n/deep/2.jsonl.gz", gzip.compress(b'{"id":"two","text":"Two."}\n'))
    store.pipe("/b/n/.hidden.txt", b"No.")
    store.pipe("/b/t.parquet", made(tmp_path / "t.parquet").read_bytes())
    assert [doc.id for doc in read("memory://b/n")] == ["1", "two"]
    assert [doc.id for doc in read("memory://b/n/*.txt")] == ["1"]
    assert [doc.id for doc in read("memory://b/n/1.txt")] == ["1"]
    assert list(read("memory://b/t.parquet")) == DOCS
    path = tmp_path / "a b.txt"
    path.write_text("Local.")
    assert next(read(f"file://{path}")).text == "Local."


def test_what_is_not_in_a_store(store: Any) -> None:
    store.pipe("/b/x.xyz", b"\0")
    store.pipe("/b/cut.txt.gz", b"\x1f\x8b\x08\0")
    for url, said in {
        "memory://b/none.txt": "there is no such file",
        "memory://b/*.txt": "no file matches",
        "memory://b/cut.txt.gz": "truncated",
        "https://127.0.0.1/a.txt": "files at https:// are not read: download it first",
        "zip://a.txt::https://127.0.0.1/a.zip": "files at zip:// are not read: known are s3",
        "gs://bucket/a.txt": "gs:// needs gcsfs, which is not installed: pip install gcsfs",
    }.items():
        with pytest.raises(LinnetError, match=said):
            list(read(url))
