"""Concepts in a sheet of Excel, and what all tables keep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import DataError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.export import COLUMNS, write_table
from linnet.vocabularies.table import read_table

ODD = ("000021", "1e5", "MAR1", "2024-03-01", "3/4", "=1+1", "+1", "-1", "@sum", "'=1", "'n", '"=z"', "TRUE", "#N/A")


@pytest.fixture
def openpyxl() -> Any:
    return pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")


@pytest.mark.parametrize("name", ["out.xlsx", "out.xlsx.gz"])
@pytest.mark.usefixtures("openpyxl")
def test_a_sheet_comes_back_as_the_same_knowledge_base(tmp_path: Path, name: str) -> None:
    concepts = [
        Concept(text, (Name(text), Name(f"{text} _x0041_\a"), Name("Fieber", language="de")), (text,), text)
        for text in ODD
    ]
    concepts[1] = replace(concepts[1], parents=(ODD[0],), xrefs=("MESH:D1", "=1"))
    concepts += [
        Concept("Z:1", (Name("Old"), Name("older")), ("Sign",), replaced_by=ODD[0]),
        Concept("Z:2", replaced_by="000021"),
        Concept("Z:3", (Name("Lost"),), replaced_by=""),
    ]
    kb = build(concepts, tmp_path / "a.kb", whole_retired=True)
    assert write_table(kb.concepts(), tmp_path / name) == len(concepts)
    with pytest.warns(LinnetWarning, match="14 of 17 ids have no prefix, for example '000021'"):
        again = build_from([Source("table", tmp_path / name)], tmp_path / "b.kb")
    assert list(again.concepts()) == list(kb.concepts())
    assert again.version == kb.version


def test_all_cells_are_text_and_new_ones_stay_so(tmp_path: Path, openpyxl: Any) -> None:
    write_table([Concept(text, (Name(text),)) for text in ODD], tmp_path / "out.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx")["concepts"]
    assert [cell.value for cell in sheet[1]] == list(COLUMNS)
    cells = [cell for row in sheet.iter_rows(min_row=2) for cell in row if cell.value]
    assert {(cell.data_type, cell.number_format) for cell in cells} == {("s", "@")}
    assert {sheet.column_dimensions[letter].number_format for letter in "ABI"} == {"@"}
    assert sheet.freeze_panes == "A2"


@pytest.mark.usefixtures("openpyxl")
def test_what_a_sheet_has_no_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.xlsx"
    whole = Concept("Z:1", (Name("🧬" * 16_383 + "x"),))
    write_table([whole], path)
    assert [replace(concept, origin="") for concept in read_table(path)] == [whole]
    before = path.read_bytes()
    long = Concept("Z:2", (Name("a"), Name("b" * 32_000), Name("c" * 800)))
    with pytest.raises(
        DataError, match=r"Z:2, synonyms: 'b+'… has 32,801 characters, more than the 32,767 that a cell"
    ):
        write_table([whole, long], path)
    monkeypatch.setattr("linnet.text.workbook.LAST_ROW", 2)
    with pytest.raises(DataError, match="a sheet of Excel has no more than 2 rows: write CSV"):
        write_table([whole, whole], path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


@pytest.mark.parametrize("ending", ["tsv", "csv", "xlsx", "jsonl"])
def test_names_without_a_language_come_back(tmp_path: Path, ending: str) -> None:
    if ending == "xlsx":
        pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    kb = build([Concept("Z:1", (Name("Aspirin", language=""), Name("Pain killer")))], tmp_path / "a.kb")
    path = tmp_path / f"out.{ending}"
    if ending == "jsonl":
        write_table(kb.concepts(), path)
        again = build_from([Source("concepts", path)], tmp_path / "b.kb")
    else:
        with pytest.warns(LinnetWarning, match="names without a language: 1; build .* with --option language="):
            write_table(kb.concepts(), path)
        again = build_from([Source("table", path, {"language": ""})], tmp_path / "b.kb")
    assert KnowledgeBase.open(again.path).version == kb.version


def test_bars_that_are_written_otherwise_are_told(tmp_path: Path) -> None:
    concept = Concept("Z:1", (Name("a|b"), Name("c")), ("T|U",))
    with pytest.warns(LinnetWarning, match=r"bars in names, types and cross-references \(2\)"):
        write_table([concept], tmp_path / "out.tsv")
