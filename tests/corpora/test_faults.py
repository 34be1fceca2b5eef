"""Annotations that cannot be read: refused, left out or put where their text stands, and each of them told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import read
from linnet.corpora.faults import Faults, OnError
from linnet.corpora.misplaced import find_near, nearby
from linnet.data import Document, Span
from linnet.errors import FormatError, LinnetWarning

TEXT = "Fever again. No chills."
BIOC = """<collection><source/><date/><key/><document><id>1</id><passage><offset>0</offset><text>{text}</text>
<annotation id="1"><location offset="16" length="6"/><text>chills</text></annotation>
<annotation id="2"><location offset="17" length="5"/><text>FEVER</text></annotation>
<annotation id="3"><location offset="0" length="4"/><text>rash</text></annotation>
<annotation id="4"><location offset="-1" length="4"/><text>Feve</text></annotation>
</passage></document></collection>"""


def annotation(start: int, end: int, text: str) -> dict[str, Any]:
    return {"id": f"{start}-{end}", "infons": {}, "text": text, "locations": [{"offset": start, "length": end - start}]}


def region(start: object, end: int, text: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": text, "labels": ["Sign"]}
    return {"id": f"{start}-{end}", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def entity(start: int, end: int, text: str) -> dict[str, Any]:
    return {"id": f"{start}-{end}", "type": "Sign", "text": [text], "offsets": [[start, end]], "normalized": []}


SPANS: list[tuple[Any, int, str]] = [(16, 22, "chills"), (17, 22, "FEVER"), (0, 4, "rash")]
MEDCAT = [{"start": start, "end": end, "value": text, "cui": "C1"} for start, end, text in SPANS] + [{"start": "x"}]
# an annotation that is right, one whose text stands elsewhere, one whose text stands nowhere, and what is none
FILES: dict[str, dict[str, str]] = {
    "pubtator": {
        "f.pubtator": f"1|a|{TEXT}\n1\t16\t22\tchills\tSign\n1\t17\t22\tFEVER\tSign\n1\t0\t4\trash\tSign\nX\t1\n"
    },
    "gsc": {"f.tsv": f"1\n{TEXT}\n16\t22\tchills\tHP:1\n17\t22\tFEVER\tHP:2\n0\t4\trash\tHP:3\n5\tx\tagain\tHP:4\n"},
    "brat": {
        "f.txt": TEXT,
        "f.ann": "T1\tSign 16 22\tchills\nT2\tSign 17 22\tFEVER\nT3\tSign 0 4\trash\nT9\tSign\n",
    },
    "bioc": {"f.xml": BIOC.format(text=TEXT)},
    "bioc_json": {
        "f.json": json.dumps(
            {
                "id": "1",
                "passages": [
                    {"offset": 0, "text": TEXT, "annotations": [*(annotation(*span) for span in SPANS), {"infons": 1}]}
                ],
            }
        )
    },
    "csv": {
        "f.csv": "document,start,end,text,document_text\n"
        f"1,16,22,chills,{TEXT}\n1,17,22,FEVER,\n1,0,4,rash,\n1,x,4,rash,\n"
    },
    "bigbio": {
        "f.json": json.dumps(
            {
                "document_id": "1",
                "passages": [{"text": [TEXT], "offsets": [[0, len(TEXT)]]}],
                "entities": [*(entity(*span) for span in SPANS), {"offsets": [[0]], "text": ["x"]}],
            }
        )
    },
    "medcat": {"f.json": json.dumps({"projects": [{"documents": [{"text": TEXT, "annotations": MEDCAT}]}]})},
    "label_studio": {
        "f.json": json.dumps(
            {
                "data": {"text": TEXT},
                "annotations": [{"result": [*(region(*span) for span in SPANS), region("/p[1]", 9, "x")]}],
            }
        )
    },
    "texoo": {
        "f.json": json.dumps(
            {
                "class": "Document",
                "text": TEXT,
                "annotations": [{"begin": start, "length": end - start, "text": text} for start, end, text in SPANS]
                + [{"begin": 90, "length": 2}],
            }
        )
    },
}


def given_as(format: str, folder: Path) -> Path:
    for name, content in FILES[format].items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder / list(FILES[format])[-1]


def told_of(path: Path, on_error: OnError, format: str | None = None) -> tuple[list[Document], list[tuple[str, str]]]:
    """Return the documents, and file, line and what was done of each fault."""
    told: list[tuple[str, str]] = []

    def tell(error: FormatError, done: str) -> None:
        assert Path(error.path) == path
        told.append((error.problem, done))

    return list(read(path, format=format, on_error=Faults(on_error, tell))), told


@pytest.mark.parametrize("format", FILES)
def test_what_is_done_in_every_format(tmp_path: Path, format: str) -> None:
    path = given_as(format, tmp_path)
    with pytest.raises(FormatError, match=r"; mend it, or read the rest with --on-error skip or repair") as caught:
        list(read(path, format=format))
    assert Path(caught.value.path) == path
    [doc], told = told_of(path, "skip", format)
    assert [doc.surface(mention) for mention in doc.mentions or ()] == ["chills"]
    assert [done for _, done in told] == ["left out"] * 3
    [doc], told = told_of(path, "repair", format)
    mended = ["Fever"] if format != "texoo" else []  # whose offsets are written again as they were
    assert sorted(doc.surface(mention) for mention in doc.mentions or ()) == [*mended, "chills"]
    assert sorted(done for _, done in told) == ["left out"] * (3 - len(mended)) + ["put at 0-5"] * len(mended)


def test_by_default_each_is_a_warning(tmp_path: Path) -> None:
    path = given_as("gsc", tmp_path)
    with pytest.warns(LinnetWarning) as told:
        list(read(path, on_error="repair"))
    counted = "offsets count code points of the text line"
    assert [str(one.message).removeprefix(f"{path}:") for one in told] == [
        f"4: the offsets 17-22 say 'hills', the line says 'FEVER'; {counted}; put at 0-5",
        f"5: the offsets 0-4 say 'Feve', the line says 'rash'; {counted}; left out",
        "6: expected two numbers and an id, found '5', 'x' and 'HP:4'; left out",
    ]


def test_what_points_at_a_line_of_brat_that_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(TEXT)
    lines = [
        "T1\tSign 0 5\tFever",
        "T2\tSign 0 4\trash",
        "N1\tReference T2 HP:1",
        "A1\tNegation T2",
        "R1\tOf Arg1:T1 Arg2:T2",
    ]
    lines += ["E1\tSee:T2", "#1\tLemma E1\tx", "A2\tSure T1", "R2\tOf Arg1:T1 Arg2:T1", "#2\tAnnotatorNotes R1\tsays"]
    (tmp_path / "f.ann").write_text("\n".join(lines) + "\n")
    [doc], told = told_of(tmp_path / "f.ann", "skip")
    [mention] = doc.mentions or ()
    assert mention.meta["attributes"] == {"Sure": True}
    relations: Any = doc.meta["relations"]
    assert [relation["id"] for relation in relations] == ["R2"]
    assert "brat" not in doc.meta
    assert [problem for problem, _ in told[1:]] == [
        f"points at {id!r}, which was left out" for id in ("T2", "T2", "T2", "T2", "R1", "E1")
    ]


def test_parts_of_discontinuous_mentions_are_moved(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("A left or right arm.")
    (tmp_path / "f.ann").write_text("T1\tSite 3 7;17 20\tleft arm\nT2\tSite 2 4;5 6\tleft arm\n")
    [doc], told = told_of(tmp_path / "f.ann", "repair")
    assert [mention.spans for mention in doc.mentions or ()] == [(Span(2, 6), Span(16, 19))]
    assert [done for _, done in told] == ["put at 2-6;16-19", "left out"]


def test_quotes_that_became_blanks() -> None:
    assert nearby('so-called "fits"', 9, "Of  so-called  fits  here") == Span(4, 19)
    assert nearby('"fits"', 0, "Of  fits  here") == Span(4, 8)
    assert nearby('""', 0, "Of    here") is None


def test_a_part_of_a_word_is_not_taken_for_the_word() -> None:
    assert nearby("MI", 22, "A family history of mi") == Span(20, 22)
    assert nearby("MI", 2, "A family history") is None, "an acronym in another case"
    assert nearby("arm", 12, "Some harm, one arm") == Span(15, 18)
    assert nearby("cancer", 1, "Anticancer drugs") == Span(4, 10)
    assert nearby("Cancer", 1, "Anticancer drugs") == Span(4, 10)


def test_parts_that_would_overlap_are_near_to_nothing() -> None:
    assert find_near("arm arm", [Span(0, 3), Span(4, 7)], "an arm") is None


def test_blocks_of_pubtator_are_counted_as_most_mentions_say(tmp_path: Path) -> None:
    path = tmp_path / "f.pubtator"
    path.write_text("7|t|Zinc\n7|a|\n\n7|t|Tin, iron.\n7|a|\n7\t5\t8\tTin\tC\n7\t10\t14\tiron\tC\n7\t5\t8\tlead\tC\n")
    [doc], told = told_of(path, "skip")
    assert [doc.surface(mention) for mention in doc.mentions or ()] == ["Tin", "iron"]
    assert len(told) == 1


def test_documents_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "A"}\n{"id": 2}\n{"id": "3", "text": "C"}\n')
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.jsonl").write_text('{"id": "4", "text": "D"}\n')
    told: list[str] = []
    faults = Faults("repair", lambda error, _: told.append(Path(error.path).name), whole=True)
    assert [doc.id for doc in read(tmp_path, on_error=faults)] == ["1", "3", "4"]
    assert told == ["a.jsonl", "b.json"]
    with pytest.raises(FormatError, match=r"a\.jsonl:2"):
        list(read(tmp_path, on_error="skip"))
