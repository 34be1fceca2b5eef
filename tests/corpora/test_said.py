"""What relatives do not have is told from what they have, in every form that is written."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.corpora import FORMATS, WRITABLE, fitting, mentions_csv, read, write
from linnet.corpora.frames import to_dicts
from linnet.corpora.said import understood
from linnet.data import Document, Mention

TEXT = "No family history of gout. Mother has migraine."
GOUT = Mention(21, 25, concepts=("HP:0001997",), assertion="family", meta={"denied": True})
MIGRAINE = Mention(38, 46, concepts=("HP:0002076",), assertion="family")
DOC = Document("f", TEXT, mentions=(GOUT, MIGRAINE), meta={"patient_id": "4"})


def converted(name: str, path: Path) -> Counter[str]:
    """Write a document as `linnet corpus convert` does, and return what it announces as lost."""
    dropped: Counter[str] = Counter()
    write(fitting([DOC], name, dropped), path, format=name)
    return dropped


def test_fhir_has_no_history_of_what_is_denied(tmp_path: Path) -> None:
    dropped = converted("fhir", tmp_path / "f.fhir")
    kinds = [entry["resource"] for entry in json.loads((tmp_path / "f.fhir").read_text("utf-8"))["entry"]]
    [history] = [one for one in kinds if one["resourceType"] == "FamilyMemberHistory"]
    assert history["condition"][0]["code"]["text"] == "migraine"
    assert dropped["mentions"] == 1, "gout has no place"
    assert not dropped.keys() & {"mention meta", "what relatives do not have"}, "which is honoured"


@pytest.mark.parametrize("name", [name for name in WRITABLE if "what relatives do not have" not in FORMATS[name].holds])
def test_what_is_lost_is_announced(name: str) -> None:
    dropped: Counter[str] = Counter()
    list(fitting([DOC], name, dropped))
    assert dropped["what relatives do not have"] == 1
    assert not dropped["mention meta"]


@pytest.mark.parametrize("name", ["csv", "xlsx", "html"])
def test_tables_and_pages_give_it_back(name: str, tmp_path: Path) -> None:
    if name == "xlsx":
        pytest.importorskip("openpyxl")
    path = tmp_path / f"f.{name}"
    dropped = converted(name, path)
    assert not dropped.keys() & {"mention meta", "what relatives do not have"}
    texts = [replace(DOC, mentions=None)]
    [doc] = mentions_csv.read_mentions(path, texts) if name == "csv" else read(path, format=name)
    assert [(mention.assertion, dict(mention.meta)) for mention in doc.mentions or ()] == [
        ("family", {"denied": True}),
        ("family", {}),
    ]


def test_rows_say_it() -> None:
    assert [row["assertion"] for row in to_dicts(DOC)] == ["family (denied)", "family"]


def test_what_is_no_assertion_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected one of affirmed, .*family \(denied\), found 'denied'"):
        understood("denied")
