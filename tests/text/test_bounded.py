"""Small files that would be large in memory: XML without records, JSON of empty lists, nesting without end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from linnet import strict_json
from linnet.corpora import read
from linnet.data import Document
from linnet.errors import DataError, FormatError
from linnet.frozen import DEEPEST, freeze
from linnet.text import xml_files


def test_elements_that_are_no_records_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_files, "MAX_ELEMENTS", 1000)
    path = tmp_path / "x.xml.gz"
    for inside in ("{}", "<document><id>1</id>{}</document>"):
        path.write_bytes(gzip.compress(f"<collection>{inside.format('<a/>' * 1000)}</collection>".encode()))
        with pytest.raises(FormatError, match=r"x\.xml\.gz:1: more than 1,000 elements in one record of BioC"):
            list(read(path))


def test_records_are_counted_each_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_files, "MAX_ELEMENTS", 10)
    path = tmp_path / "x.xml"
    document = "<document><id>{}</id><passage><offset>0</offset><text>Fits.</text></passage></document>"
    inside = "".join(document.format(number) for number in range(20))
    path.write_text(f"<collection>{inside}</collection>")
    assert len(list(read(path))) == 20


@pytest.mark.parametrize("end", ["\n", "\n\n{}"])
def test_lists_of_nothing_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr(strict_json, "MAX_LISTS", 1000)
    for name, value in (("x.json", '{"documents": [%s]}'), ("x.jsonl", '{"id": "1", "text": "", "meta": {"a": [%s]}}')):
        path = tmp_path / name
        path.write_text(value % ",".join(["[]"] * 1000) + (end if name == "x.json" else "\n"))
        with pytest.raises(FormatError, match=rf"{name}:1: .*more than 1,000 lists and objects in one JSON text"):
            list(read(path, format="texoo" if name == "x.json" else "jsonl"))


@pytest.mark.parametrize("depth", [DEEPEST + 1, 600, 990, 3000, 100_000])
@pytest.mark.parametrize(
    ("format", "value"),
    [
        ("jsonl", '{{"id":"a","text":"Fits.","meta":{{"a":{}}}}}'),
        ("texoo", '{{"documents":[{{"text":"a","id":"1","x":{}}}]}}'),
        ("bioc_json", '{{"documents":[{{"id":"1","infons":{{"x":{}}},"passages":[]}}]}}'),
        ("medcat", '{{"projects":[{{"documents":{}}}]}}'),
        ("bigbio", '[{{"id":"1","passages":[],"events":[{}]}}]'),
    ],
)
def test_nesting_without_end_is_refused(tmp_path: Path, format: str, value: str, depth: int) -> None:
    path = tmp_path / "x.json"
    path.write_text(value.format("[" * depth + "]" * depth))
    with pytest.raises(FormatError, match=r"x\.json:1: .*(nested|expected an object)"):
        list(read(path, format=format))


def test_what_is_nested_as_far_as_may_be_comes_back(tmp_path: Path) -> None:
    value: object = 1
    for _ in range(DEEPEST):
        value = [value]
    doc = Document("1", "Fits.", meta={"a": value})  # type: ignore[dict-item]
    assert json.loads(json.dumps(doc.meta))["a"] == value
    with pytest.raises(DataError, match="more than 100 levels"):
        freeze([[value]])


def test_values_one_after_the_other_know_their_lines(tmp_path: Path) -> None:
    task = json.dumps({"id": 1, "data": {"text": "Fits."}, "annotations": []}, indent=1)
    path = tmp_path / "x.json"
    path.write_text("\n\n".join([task] * 50 + ['{"id": 2, "data": 7}']))
    with pytest.raises(FormatError, match=rf"x\.json:{50 * (task.count(chr(10)) + 2) + 1}: data: expected an object"):
        list(read(path, format="label_studio"))


@pytest.mark.parametrize("end", ["", "\n{}"])
def test_numbers_of_thousands_of_digits(tmp_path: Path, end: str) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"documents": [], "a": %s}%s' % ("7" * 5000, end))  # noqa: UP031 - braces
    with pytest.raises(FormatError, match=r"x\.json:1: no JSON: an integer with too many digits"):
        list(read(path, format="texoo"))
