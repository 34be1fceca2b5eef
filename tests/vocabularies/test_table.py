"""Tables: TSV, CSV and JSON Lines with named columns, and every fault with its line."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError, LinnetWarning
from linnet.vocabularies import VOCABULARIES, read_vocabulary
from linnet.vocabularies.export import write_table
from linnet.vocabularies.table import read_table


def read(folder: Path, text: str, name: str = "t.tsv", **options: Any) -> list[Concept]:
    path = folder / name
    path.write_bytes(text.encode())
    return list(read_table(path, **options))


FULL = [
    Concept(
        "Z:1",
        names=(Name("Lion", language="de"), Name("leo", "broad", "de"), Name("big cat", "broad", "de")),
        types=("Animal", "Cat"),
        definition="A cat, big.",
        parents=("Z:2",),
        xrefs=("MESH:D007949",),
    ),
    Concept("Z:2", names=(Name("Cat"),)),
    Concept("Z:3", replaced_by="Z:2"),
    Concept("Z:4", replaced_by=""),
]
HEADER = ["id", "Name", "synonyms", "types", "definition", "parents", "xrefs", "replaced_by", "language", "scope", "x"]
ROWS = [
    ["Z:1", " Lion ", "leo| big  cat||leo", "Animal|Cat", "A cat, big.", "Z:2", "MSH:D007949", "", "de", "Broad", "?"],
    ["Z:2", "Cat", "", "", "", "", "", "", "", "", ""],
    ["Z:3", "", "", "", "", "", "", "Z:2", "", "", ""],
    ["Z:4", "", "", "", "", "", "", "-", "", "", ""],
]


def test_a_file_without_a_first_row_that_names_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("Z:1\tfever\tpyrexia|febrile\nZ:2\trash\t\n")
    first, second = read_vocabulary("table", path, header=("id", "name", "synonyms"))
    assert [name.text for name in first.names] == ["fever", "pyrexia", "febrile"]
    assert second.id == "Z:2"
    first, _ = read_vocabulary("table", path, header=("code", "label", "x"), columns={"id": "code", "name": "label"})
    assert [name.text for name in first.names] == ["fever"]


def test_a_column_says_what_is_retired(tmp_path: Path) -> None:
    text = "id\tname\treplaced_by\tStatus\nZ:1\ta\t\tObsolete\nZ:2\tb\t\tactive\nZ:3\tc\tZ:2\tyes\nZ:4\td\t-\t\n"
    concepts = read(tmp_path, text, columns={"retired": "Status"})
    assert [concept.replaced_by for concept in concepts] == ["", None, "Z:2", ""]
    lines = '{"id":"Z:1","name":"a","retired":true}\n{"id":"Z:2","name":"b","retired":false}\n'
    assert [concept.replaced_by for concept in read(tmp_path, lines)] == ["", None]


def test_retired_concepts_need_no_name(tmp_path: Path) -> None:
    lines = '{"id":"Z:1","name":"a"}\n{"id":"Z:2","retired":true}\n{"id":"Z:3","replaced_by":"Z:1"}\n'
    assert read(tmp_path, lines)[1:] == [Concept("Z:2", replaced_by=""), Concept("Z:3", replaced_by="Z:1")]
    with pytest.raises(FormatError, match="there is no field 'name'"):
        read(tmp_path, '{"id":"Z:2","retired":false}\n')


def test_words_for_retired_and_live_in_two_languages(tmp_path: Path) -> None:
    words = ["withdrawn", "Discontinued", "deleted", "invalid", "ja", "zurückgezogen", "X"]
    rows = [
        f"Z:{at};n{at};{word}" for at, word in enumerate([*words, "no", "nein", "active", "Aktiv", "0", "false", ""])
    ]
    concepts = read(tmp_path, "id;name;status\n" + "\n".join(rows) + "\n", columns={"retired": "status"})
    assert [concept.replaced_by for concept in concepts] == [""] * 7 + [None] * 7


def test_words_for_neither_retired_nor_live_are_told(tmp_path: Path) -> None:
    text = "id\tname\tretired\treplaced_by\nZ:1\ta\tno\t\nZ:2\tb\ton hold\t\nZ:3\tc\tsoon\t\nZ:4\td\tsoon\tZ:1\n"
    with pytest.warns(LinnetWarning, match=r"t.tsv:3: the column retired .* in 2 rows: 'on hold' \(1\), 'soon' \(1\)"):
        assert [concept.replaced_by for concept in read(tmp_path, text)] == [None, None, None, "Z:1"]


def test_cp1252_read_as_latin1_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes("id\tname\tsynonyms\nZ:1\t„Fieber“\tHitze\nZ:2\tHusten\tTussis – akut\n".encode("cp1252"))
    with pytest.raises(FormatError, match="iconv -f CP1252 -t UTF-8"):
        list(read_vocabulary("table", path))
    path.write_text(path.read_bytes().decode("latin1"))
    with pytest.warns(LinnetWarning, match=r"2 names hold control characters .* '\\x84Fieber\\x93' of Z:1: .*CP1252"):
        list(read_vocabulary("table", path))


def test_tsv(tmp_path: Path) -> None:
    text = "\r\n".join("\t".join(cells) for cells in [HEADER, *ROWS[:1], [], *ROWS[1:], []])
    concepts = read(tmp_path, text)
    assert concepts == FULL
    assert [concept.origin.rpartition(":")[2] for concept in concepts] == ["2", "4", "5", "6"]


@pytest.mark.parametrize("mark", [",", ";", "/"])
def test_csv(tmp_path: Path, mark: str) -> None:
    text = "\n".join(mark.join(f'"{cell}"' for cell in cells) for cells in [HEADER, *ROWS]) + "\n"
    assert read(tmp_path, text, delimiter="/" if mark == "/" else None) == FULL


def test_a_comma_in_a_heading_cuts_no_table_with_semicolons(tmp_path: Path) -> None:
    [concept] = read(tmp_path, "id;name;note, date, author, source\nZ:1;Lion, big;x\n")
    assert (concept.id, concept.name) == ("Z:1", "Lion, big")
    [concept] = read(tmp_path, "Z:1,Lion; leo; cat\n", header=["id", "name"])
    assert concept.name == "Lion; leo; cat"


def test_json_lines(tmp_path: Path) -> None:
    text = """{"id": "Z:1", "name": "Lion", "synonyms": ["leo", "big cat"], "types": "Animal|Cat", "definition":
"A cat, big.", "parents": ["Z:2"], "xrefs": "MESH:D007949", "language": "de", "scope": "broad", "other": {}}
{"id": "Z:2", "name": "Cat", "synonyms": [], "replaced_by": null}

{"id": "Z:3", "replaced_by": "Z:2"}
{"id": "Z:4", "replaced_by": "-"}""".replace('definition":\n', 'definition":')
    assert read(tmp_path, text) == FULL


def test_columns_and_prefix(tmp_path: Path) -> None:
    text = "#UI\tLabel\tParent\nD1\tone\tD2\nOMIM:7\ttwo\t\n12\tthree\tMESH:D1\n"
    options: dict[str, Any] = {"columns": {"id": "ui", "name": "Label", "parents": "Parent"}, "prefix": "MESH"}
    concepts = read(tmp_path, text, **options)
    assert [(concept.id, concept.parents) for concept in concepts] == [
        ("MESH:D1", ("MESH:D2",)),
        ("OMIM:7", ()),
        ("MESH:12", ("MESH:D1",)),
    ]
    records = '{"ui": 12, "Label": "one", "Parent": "D2"}'
    options["columns"]["id"] = "ui"
    assert read(tmp_path, records, **options)[0].id == "MESH:12"


def test_quotes_and_separators(tmp_path: Path) -> None:
    assert read(tmp_path, 'id\tname\tsynonyms\nZ:1\t"half\ta|b\n', separator="")[0].names == (
        Name('"half'),
        Name("a|b"),
    )
    concepts = read(tmp_path, 'id,name\nZ:1,"two\nlines"\nZ:2,"a ""b"""\n')
    assert [concept.name for concept in concepts] == ["two lines", 'a "b"']
    assert concepts[1].origin.endswith(":4")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("id\tnames\nZ:1\ta\n", 1, "there is no column 'name'; the columns are id, names; did you mean 'names'"),
        ("id\tname\tname\nZ:1\ta\tb\n", 1, "two columns are called 'name'"),
        ("id\tname\nZ:1\ta\nZ:2\n", 3, "has 1 columns, the header has 2: id, name"),
        ("id\tname\nZ:1\ta\tb\n", 2, "has 3 columns"),
        ("id\tname\nZ:1\ta\nZ:1\tb\n", 3, "the id Z:1 stands in line 2 already"),
        ("id\tname\n\tb\n", 2, "the id is empty"),
        ("id\tname\nZ:1\t \n", 2, "the name is empty"),
        ("id\tname\nZ 1\ta\n", 2, "holds a blank"),
        ("id\tname\tparents\nZ:1\ta\tthe b\n", 2, "'the b' holds a blank; the column 'parents' holds ids of concepts"),
        ("id\tname\tparents\nZ:1\ta\tZ:2|Z:1\n", 2, "Z:1 is its own parent"),
        ("id\tname\treplaced_by\nZ:1\ta\tZ:1\n", 2, "Z:1 is its own successor"),
        ("id\tname\tscope\nZ:1\ta\texakt\n", 2, "the scope 'exakt' is none of .*did you mean 'exact'"),
        ("id\tname\n", None, "no rows"),
        ("just words\n", 1, "the first row should name the columns"),
        ("\nid\tname\n", 1, "the first row should name the columns"),
        (",,\n", 1, "there is no column 'id'"),
        ("Z:1\tfever\n", 1, "there is no column 'id'.*--column id=…, .*--option header=id,name"),
        ('id,name\nZ:1,"open\nZ:2,b\n', 2, "is a quotation mark left open"),
        ('{"id": "Z:1", "name": "a"}\n{"id": "Z:2"', 2, "not JSON"),
        ('{"id": "Z:1", "nam": "a"}', 1, "there is no field 'name'; the fields are id, nam; did you mean 'nam'"),
        ('{"id": ["Z:1"], "name": "a"}', 1, "column 'id': expected one text, found a list"),
        ('{"id": "Z:1", "name": 1.5}', 1, "field 'name': expected a text or a list of texts, found 1.5"),
        ('{"id": "Z:1", "name": "\\ud800"}', 1, "not JSON: .*surrogates"),
        ('{"id": "Z:1", "name": "a"}\n[1]', 2, "expected a JSON object, found list"),
        ("{}", 1, "there is no field 'id'"),
        ("", None, "is empty"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, text: str, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path, text)
    assert caught.value.line == line


GOOD = "".join(f"Z:{number}\tname {number}\n" for number in range(30))


def test_malformed_rows_are_named_and_left_out(tmp_path: Path) -> None:
    with pytest.warns(
        LinnetWarning, match=r"3 of 33 rows are malformed and were left out: line 32 has 3 columns"
    ) as told:
        concepts = read(tmp_path, f"id\tname\n{GOOD}Z:30\tx\ty\nZ:31\t\nZ:1\tz\n")
    assert len(concepts) == 30
    assert "line 33 the name is empty; line 34 the id Z:1 stands in line 3 already" in str(told[0].message)
    records = "".join(f'{{"id": "Z:{number}", "name": "x"}}\n' for number in range(30))
    with pytest.warns(LinnetWarning, match=r"line 31 not JSON: .*; line 32 there is no field 'id'"):
        assert len(read(tmp_path, records + '{"id"\n{}\n')) == 30
    with pytest.raises(FormatError, match=r"21 of 51 rows are malformed, too many for this layout"):
        read(tmp_path, "id\tname\n" + GOOD + "Z:1\tagain\n" * 30)


@pytest.mark.parametrize("end", ["Z:30", "Z:30\tx\ty", '{"id": "Z'])
def test_a_last_row_that_is_none_means_a_truncated_file(tmp_path: Path, end: str) -> None:
    text = '{"id": "Z:1", "name": "x"}\n' * 1 + end if end.startswith("{") else "id\tname\n" + GOOD + end
    with pytest.raises(FormatError, match="the file is truncated"):
        read(tmp_path, text)
    with pytest.warns(LinnetWarning, match=r"t.tsv:32: the last line has no line break; the file may be incomplete"):
        assert len(read(tmp_path, "id\tname\n" + GOOD + "Z:30\tx")) == 31


def test_ids_without_a_prefix_are_told(tmp_path: Path) -> None:
    text = "id\tname\nZ:1\tx\nD000001\ty\n7\tz\n"
    with pytest.warns(
        LinnetWarning,
        match=r"t.tsv: 2 of 3 ids have no prefix, for example 'D000001'.*--prefix LOCAL makes LOCAL:D000001",
    ):
        assert len(read(tmp_path, text)) == 3
    assert len(read(tmp_path, text, prefix="MESH")) == 3


def test_cells_with_another_separator_are_told(tmp_path: Path) -> None:
    rows = "id\tname\tsynonyms\nZ:1\tFever\tpyrexia; febris\nZ:2\tCough\t\nZ:3\tPain\tache\n"
    with pytest.warns(LinnetWarning, match=r"1 of 2 cells of synonyms hold '; ', .* --option 'separator=;' makes"):
        read(tmp_path, rows)
    first, *_ = read(tmp_path, rows, separator=";")
    assert [name.text for name in first.names] == ["Fever", "pyrexia", "febris"]
    read(tmp_path, rows, separator="")
    with pytest.warns(LinnetWarning, match=r"hold ' \| '"):
        read(tmp_path, rows.replace(";", " |"), separator="/")
    commas = rows.replace(";", ",")
    with pytest.warns(LinnetWarning, match=r"1 of 2 cells of synonyms hold ', ', .* --option 'separator=,' makes"):
        read(tmp_path, commas)
    read(tmp_path, commas.replace("ache", "ache|dolor"))  # the separator is known: commas are of names


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(LinnetError, match=r"unknown column 'nam'.*did you mean 'name'"):
        read(tmp_path, "id\tname\nZ:1\ta\n", columns={"nam": "name"})
    with pytest.raises(FormatError, match="there is no column 'label'; the columns are id, name"):
        read(tmp_path, "id\tname\nZ:1\ta\n", columns={"name": "label"})
    with pytest.raises(FormatError, match=r"no line has a field 'syns'.*did you mean 'syn'"):
        read(tmp_path, '{"id": "Z:1", "name": "a", "syn": []}', columns={"synonyms": "syns"})
    with pytest.raises(LinnetError, match="expected one character"):
        read(tmp_path, "id\tname\nZ:1\ta\n", delimiter="tab")


def test_wrong_encoding_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress("id\tname\nZ:1\tcafé\n".encode("latin-1")))
    with pytest.raises(FormatError, match="byte 0xe9") as caught:
        list(read_table(path))
    assert caught.value.line == 2


def test_vocabularies_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("id\tname\n1\ta\n")
    assert [concept.id for concept in read_vocabulary("table", path, prefix="Z")] == ["Z:1"]
    assert [concept.id for concept in read_vocabulary("table", path, prefix="chebi")] == ["CHEBI:1"]
    assert next(read_vocabulary("hpo")).id == "HP:0000001"
    with pytest.raises(LinnetError, match=r"unknown vocabulary format 'tabel'.*did you mean 'table'"):
        read_vocabulary("tabel", path)
    with pytest.raises(LinnetError, match=r"table has no option 'prefxi'.*did you mean 'prefix'"):
        read_vocabulary("table", path, prefxi="Z")
    with pytest.raises(LinnetError, match="needs the path of a file"):
        read_vocabulary("obo")
    assert set(VOCABULARIES) >= {"concepts", "hpo", "obo", "table"}


@pytest.mark.slow
@pytest.mark.data
def test_mesh() -> None:
    if "LINNET_DATA" not in os.environ:
        pytest.skip("set LINNET_DATA to the folder with the real terminologies")
    path = Path(os.environ["LINNET_DATA"]) / "kb" / "mesh_merged.tsv.gz"
    concepts = list(read_table(path, prefix="MESH"))
    assert len(concepts) == 47_246
    assert concepts[0] == Concept("MESH:D000001", names=(Name("Calcimycin"),))
    assert all(concept.id.startswith("MESH:") for concept in concepts)


def test_a_table_that_is_exported_runs_nothing_and_comes_back(tmp_path: Path) -> None:
    texts = ("=1+1", "+cmd", "-1+cmd", "@sum", "'=x", "''-y", '"=z"', '\'"=z"', "-1", "-2.5", "'-1", "fits", "'n")
    concepts = [
        Concept(f"Z:{number}", (Name(text), Name(f"{text}s")), (text,), text) for number, text in enumerate(texts)
    ]
    concepts += [Concept("=Z:90", (Name("a"),), xrefs=("@Z:1",)), Concept("Z:91", replaced_by="")]
    write_table(concepts, tmp_path / "out.tsv")
    cells = [cell for line in (tmp_path / "out.tsv").read_text().splitlines() for cell in line.split("\t")]
    run = [cell for cell in cells if re.match(r'"?[=+@-]', cell) and not re.fullmatch(r"-[0-9.]*", cell)]
    assert not run
    assert {"-", "-1", "-2.5"} <= set(cells)
    write_table(concepts, tmp_path / "out.csv")
    for name in ("out.tsv", "out.csv"):
        back = list(read_table(tmp_path / name))
        assert [replace(concept, origin="") for concept in back] == concepts


def test_rows_of_a_concept_in_several_languages_are_one_concept(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    rows = [
        "id,name,synonyms,types,language",
        "Z:1,Fever,Pyrexia,Sign,en",
        "Z:1,Fieber,,Sign|Zeichen,de",
        "Z:2,Gout,,,",
    ]
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    first, second = read_vocabulary("table", path)
    assert [(name.text, name.language) for name in first.names[::2]] == [("Fever", "en"), ("Fieber", "de")]
    assert (first.types, second.id) == (("Sign", "Zeichen"), "Z:2")
    path.write_text("\n".join([*rows[:2], rows[3], rows[2], ""]), encoding="utf-8")
    with pytest.raises(FormatError, match=r"Z:1 stands in line 2 already.*one below the other"):
        list(read_vocabulary("table", path))


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    book = openpyxl.Workbook()
    rows: list[list[object]] = [
        ["ID", "name", "synonyms", "changed"],
        ["000021", "Heart failure", "weak heart|_x0041_", dt.date(2024, 3, 1)],
        [],
        [22, "Fever", None, None, None, "look this up"],
        [23.0, "'=1+1"],
    ]
    for row in rows:
        book.active.append(row)
    for title in ("notes", "2024"):
        book.create_sheet(title).append(["not read"])
    book.save(tmp_path / "t.xlsx")
    with pytest.warns(LinnetWarning, match="of its sheets the first is read, 'Sheet', and not 'notes', '2024'"):
        found = list(read_vocabulary("table", tmp_path / "t.xlsx", prefix="HAUS"))
    assert [concept.id for concept in found] == ["HAUS:000021", "HAUS:22", "HAUS:23"]
    assert [[name.text for name in concept.names] for concept in found] == [
        ["Heart failure", "weak heart", "A"],
        ["Fever"],
        ["=1+1"],
    ]
    for title in ("notes", "2024"):
        del book[title]
    book.active["B5"] = dt.date(2024, 3, 1)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(FormatError, match=r"line 5 column name: a spreadsheet made a date of what was typed"):
        list(read_table(tmp_path / "t.xlsx"))
    book.active["A1"] = "number"
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(FormatError, match=r"the columns are number, name, synonyms, changed \(say"):
        list(read_table(tmp_path / "t.xlsx"))
    openpyxl.Workbook().save(tmp_path / "t.xlsx")
    with pytest.raises(FormatError, match="there is no column 'id'"):
        list(read_table(tmp_path / "t.xlsx"))


def test_a_column_of_a_workbook_that_is_nearly_one_of_ours_is_told(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    book = openpyxl.Workbook()
    for row in (["id", "name", "synonym"], ["Z:1", "fever", "heat"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.warns(LinnetWarning, match=r"t.xlsx:1: the column 'synonym' is not used; did you mean 'synonyms'"):
        list(read_table(tmp_path / "t.xlsx"))


def test_the_first_row_of_a_workbook_need_not_name_its_columns(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    book = openpyxl.Workbook()
    book.active.append(["Z:1", "fever"])
    book.save(tmp_path / "t.xlsx")
    [concept] = read_table(tmp_path / "t.xlsx", header=("id", "name"))
    assert (concept.id, concept.name) == ("Z:1", "fever")
