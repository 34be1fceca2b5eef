"""Rows of OMOP's NOTE_NLP and NOTE: what is written, exactly, with and without a vocabulary of Athena."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.strategies import documents

from linnet import __version__
from linnet.corpora import fitting, read, write
from linnet.corpora.omop import HASHED, NOTE, NOTE_NLP, note_number, write_notes
from linnet.corpora.omop import write as write_omop
from linnet.corpora.said import SAID, understood
from linnet.data import Document, Mention, Span
from linnet.errors import FormatError, LinnetError, LinnetWarning

DATE = "2026-01-31T08:00:00Z"
FITS = Mention(3, 7, concepts=("HP:0001250",), probability=0.97, assertion="negated")


def table(docs: Iterable[Document], **options: Any) -> list[dict[str, str]]:
    out = io.StringIO()
    write_omop(docs, out, **{"date": DATE, **options})
    out.seek(0)
    return list(csv.DictReader(out))


def test_what_is_written() -> None:
    out = io.StringIO()
    both = Mention(0, 7, parts=(Span(0, 2), Span(3, 7)), concepts=("MESH:D1", "A;=\n1"), terminology="x", source="gold")
    docs = [Document("7", "No fits,\nnow.", mentions=(FITS, both, Mention(0, 2, concepts=())))]
    assert write_omop(docs, out, date=DATE, made_by="hpo", snippet=4) == 1
    when = f"Linnet {__version__}; hpo,2026-01-31,2026-01-31 08:00:00"
    assert out.getvalue() == (
        "note_nlp_id,note_id,section_concept_id,snippet,offset,lexical_variant,note_nlp_concept_id,"
        "note_nlp_source_concept_id,nlp_system,nlp_date,nlp_datetime,term_exists,term_temporal,term_modifiers\n"
        f'1,7,0,"No fits, no",3,fits,0,0,{when},N,Present,'
        "Negation=true;code=HP:0001250;probability=0.97;calibration=uncalibrated\n"
        f'2,7,0,"No fits, no",0,No fits,0,0,{when},,,"code=MESH:D1;terminology=x;source=gold;parts=0-2,3-7"\n'
        f'3,7,0,"No fits, no",0,No fits,0,0,{when},,,"code=A = 1;terminology=x;source=gold;parts=0-2,3-7"\n'
        f"4,7,0,No fit,0,No,0,0,{when},,,\n"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    list(
        zip(
            ["", *SAID],
            [
                ("", "", ""),
                ("Y", "Present", ""),
                ("N", "Present", "Negation=true"),
                ("N", "Present", "Uncertain=true"),
                ("N", "", "Subject=family"),
                ("N", "", "Conditional=true"),
                ("Y", "Past", "History=true"),
                ("N", "", "Negation=true;Subject=family"),
            ],
            strict=True,
        )
    ),
)
def test_what_the_text_says_of_a_term(words: str, told: tuple[str, str, str]) -> None:
    [row] = table([Document("7", "No fits.", mentions=(Mention(3, 7, concepts=("A:1",), **understood(words)),))])
    exists, temporal, modifier = told
    assert (row["term_exists"], row["term_temporal"]) == (exists, temporal)
    assert row["term_modifiers"] == ";".join(filter(None, [modifier, "code=A:1"]))


def test_numbers_of_notes() -> None:
    told = {"17": 17, "0": 0, "999999999999999999": 10**18 - 1}
    assert {id: note_number(Document(id, "")) for id in told} == told
    assert note_number(Document("9", "", meta={"NOTE_ID": "12"})) == 12
    others = ["007", "-1", "1.0", "letter", "9" * 19, "٣"]
    numbers = {note_number(Document(id, "")) for id in others}
    assert len(numbers) == len(others)
    assert all(HASHED <= number < 2**63 for number in numbers), "it fits BIGINT, and nobody counts so far"
    doc = Document("letter 1;2", "No fits.", mentions=(FITS,))
    with pytest.warns(LinnetWarning, match=r"1 notes have no whole number as id or note_id.*BIGINT"):
        [row] = table([doc], first=41)
    assert (row["note_nlp_id"], row["note_id"]) == ("41", str(note_number(doc)))
    assert row["term_modifiers"].endswith(";document=letter 1 2")


def test_columns_hold_what_they_can() -> None:
    text = "x" * 400 + " fits\x02\n" + "y" * 400
    [row] = table([Document("1", text, mentions=(Mention(0, 407, concepts=("A:" + "b" * 3000,)),))])
    assert {name: len(row[name]) for name in ("snippet", "lexical_variant", "term_modifiers")} == {
        "snippet": 250,
        "lexical_variant": 250,
        "term_modifiers": 2000,
    }
    [row] = table([Document("1", "a\tf\x02i\r\nt =s", mentions=(Mention(2, 8, concepts=("A:1",)),))], snippet=0)
    assert (row["lexical_variant"], row["snippet"]) == ("f�i  t", "")


@pytest.mark.parametrize("length", [2, 150, 248])
def test_snippets_show_the_mention_between_its_context(length: int) -> None:
    text = "b" * 400 + "m" * length + "a" * 400
    [row] = table([Document("1", text, mentions=(Mention(400, 400 + length, concepts=("A:1",)),))], snippet=400)
    assert row["snippet"] == "b" * (125 - length // 2) + "m" * length + "a" * (125 - length // 2)


def test_the_document_is_told_of_a_mention_of_many_parts() -> None:
    parts = tuple(Span(place, place + 1) for place in range(0, 1200, 2))
    many = Mention(0, 1199, parts=parts, concepts=("A:1",))
    with pytest.warns(LinnetWarning, match="BIGINT"):
        [row] = table([Document("letter", "a " * 600, mentions=(many,))])
    assert row["term_modifiers"].startswith("code=A:1;document=letter;parts=0-1,2-3,")


def test_what_is_left_out_is_counted() -> None:
    doc = Document("1", "Fits.", mentions=(Mention(0, 4), Mention(0, 4, concepts=())), meta={"ward": 1})
    with pytest.warns(LinnetWarning, match="1 mentions that are not linked have no row"):
        assert len(table([doc])) == 1
    dropped: Counter[str] = Counter()
    [whole] = fitting([doc], "omop", dropped)
    assert len(whole.mentions or ()) == 1
    assert dropped == {"texts": 1, "mentions not linked": 1, "document meta": 1}


# --- Athena ----------------------------------------------------------------------------------------------------------

CONCEPTS = """concept_id\tconcept_name\tdomain_id\tvocabulary_id\tconcept_class_id\tstandard_concept\tconcept_code
4\tAsthma\tCondition\tSNOMED\tDisorder\tS\t195967001
5\t"Asthma\tCondition\tMeSH\tMain\t\tD001249
6\tBoth\tCondition\tMeSH\tMain\t\tD000002
7\tOld\tCondition\tMeSH\tMain\t\tD000003
"""
RELATIONS = """concept_id_1\tconcept_id_2\trelationship_id\tvalid_start_date\tvalid_end_date\tinvalid_reason
4\t4\tMaps to\t19700101\t20991231\t
5\t4\tMaps to\t19700101\t20991231\t
6\t9\tMaps to\t19700101\t20991231\t
6\t4\tMaps to\t19700101\t20991231\t
7\t4\tMaps to\t19700101\t20991231\tD
5\t8\tIs a\t19700101\t20991231\t
"""
OWN = """source_code,source_concept_id,source_vocabulary_id,source_code_description,target_concept_id,invalid_reason
HP:0001250,0,HPO,"Fits, all",377091,
0002099,0,HPO,Asthma,4,
0002100,0,HPO,Gone,4,D
"""


@pytest.fixture
def athena(tmp_path: Path) -> Path:
    (tmp_path / "CONCEPT.csv").write_text(CONCEPTS)
    (tmp_path / "CONCEPT_RELATIONSHIP.csv").write_text(RELATIONS)
    (tmp_path / "SOURCE_TO_CONCEPT_MAP.csv").write_text(OWN)
    return tmp_path


def test_concept_ids(athena: Path) -> None:
    ids = ["SNOMEDCT:195967001", "MESH:D001249", "MESH:D000002", "MESH:D000003", "MESH:D9", "HP:0001250", "HP:0002099"]
    docs = [Document(str(place), "Fits.", mentions=(Mention(0, 4, concepts=(id,)),)) for place, id in enumerate(ids)]
    with pytest.warns(
        LinnetWarning, match=r"2 concepts have no standard concept in .*MESH:D000003, MESH:D9: they are 0"
    ):
        rows = table(docs, vocabulary=athena, vocabularies={"HP": "HPO"})
    found = [(row["note_id"], row["note_nlp_concept_id"], row["note_nlp_source_concept_id"]) for row in rows]
    assert found == [
        ("0", "4", "4"),
        ("1", "4", "5"),
        ("2", "4", "6"),
        ("2", "9", "6"),
        ("3", "0", "7"),
        ("4", "0", "0"),
        ("5", "377091", "0"),
        ("6", "4", "0"),
    ]
    assert [row["note_nlp_id"] for row in rows] == list("12345678")


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("CONCEPT.csv", "concept_id\tvocabulary_id\n", "has no column concept_code"),
        ("CONCEPT.csv", CONCEPTS.replace("5\t", "five\t"), "expected whole numbers as concept ids"),
        ("CONCEPT.csv", f"{CONCEPTS}8\tshort\n", "has 2 columns, the header has 7"),
        ("CONCEPT.csv", CONCEPTS.replace("5\t", "\t"), "expected whole numbers as concept ids"),
        ("CONCEPT.csv", CONCEPTS.replace("5\t", "²\t"), "expected whole numbers as concept ids"),
        ("CONCEPT_RELATIONSHIP.csv", RELATIONS.replace("\t4\tMaps", "\t\tMaps"), "expected whole numbers"),
        ("SOURCE_TO_CONCEPT_MAP.csv", OWN.replace("HPO", "MeSH").replace("377091", ""), "expected whole numbers"),
    ],
)
def test_damaged_vocabularies(athena: Path, file: str, content: str, problem: str) -> None:
    (athena / file).write_text(content)
    with pytest.raises(FormatError, match=problem):
        table([Document("1", "Fits.", mentions=(Mention(0, 4, concepts=("MESH:D1",)),))], vocabulary=athena)


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds neither CONCEPT.csv nor SOURCE_TO_CONCEPT_MAP.csv"):
        table([], vocabulary=tmp_path)
    with pytest.raises(LinnetError, match="numbers from 0 on, found -1"):
        table([], snippet=-1)
    with pytest.raises(LinnetError, match="the corpus format 'omop' cannot be read"):
        read(tmp_path, format="omop")


# --- the notes -------------------------------------------------------------------------------------------------------


def test_notes(tmp_path: Path) -> None:
    meta: dict[str, Any] = {"person_id": 5, "note_date": "2020-05-01", "visit_occurrence_id": 9, "ward": "a"}
    out = io.StringIO()
    assert write_notes([Document("7", 'No "fits"\r\n=now\0', meta=meta)], out) == 1
    assert out.getvalue() == (
        f'{",".join(NOTE)}\n7,5,2020-05-01,,32831,0,,"No ""fits""\r\n=now\ufffd",32678,0,,9,,7,,\n'
    )
    with pytest.warns(LinnetWarning) as told:
        write([Document("letter", "Fits.")], tmp_path / "note.csv", format="omop_note")
    assert [str(one.message).partition(",")[0] for one in told] == [
        "1 notes have no whole number as id or note_id: their note_id is a hash",
        "1 notes have no person_id in their meta",
        "1 notes have no note_date in their meta",
    ]
    dropped: Counter[str] = Counter()
    [whole] = fitting([Document("7", "", mentions=(), meta=meta)], "omop_note", dropped)
    assert dropped == {"document meta": 1}
    assert whole.meta.keys() == meta.keys() - {"ward"}


def test_notes_of_old_line_ends_are_one_row() -> None:
    out = io.StringIO(newline="")
    meta: dict[str, Any] = {"person_id": 5, "note_date": "2020-05-01", "note_title": "a\rb"}
    write_notes([Document("7", "No fits.\rWell.", meta=meta)], out)
    out.seek(0)
    [note] = csv.DictReader(out)
    assert (note["note_text"], note["note_title"]) == ("No fits.\rWell.", "a\rb")


def test_numbers_that_tables_hold_as_floats() -> None:
    meta: dict[str, Any] = {
        "note_id": 12.0,
        "person_id": 5.0,
        "note_date": "2020-05-01",
        "note_title": 2.5,
        "visit_detail_id": True,
    }
    out = io.StringIO()
    write_notes([Document("letter", "Fits.", meta={**meta, "date": "2020-05-01"})], out)
    out.seek(0)
    [note] = csv.DictReader(out)
    assert [note[name] for name in ("note_id", "person_id", "note_title", "visit_detail_id")] == ["12", "5", "2.5", ""]


def test_what_a_database_would_not_take_as_a_note_is_told() -> None:
    metas: list[dict[str, Any]] = [
        {"person_id": "Patient/7", "note_date": "05.03.2024", "visit_occurrence_id": "V1"},
        {"person_id": 8.0, "note_date": "?", "note_datetime": "2024-03-05T10:00:00+01:00"},
    ]
    out = io.StringIO()
    with pytest.warns(LinnetWarning) as told:
        write_notes([Document(str(number), "", meta=meta) for number, meta in enumerate(metas)], out)
    assert [str(one.message).partition(":")[0] for one in told] == [
        "1 notes have a date that cannot be read, such as '05.03.2024'",
        "1 notes have a person_id that is no whole number, such as 'Patient/7'",
        "1 notes have a visit_occurrence_id that is no whole number, such as 'V1'",
    ]
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert [row["note_text"] for row in rows] == [" ", " "], "databases take nothing for NULL"
    told_rows = [(row["person_id"], row["note_date"], row["note_datetime"]) for row in rows]
    assert told_rows == [("Patient/7", "", ""), ("8", "2024-03-05", "2024-03-05 10:00:00")]


def test_a_long_mention_loses_its_blanks_before_its_end() -> None:
    doc = Document("7", f"short{' ' * 300}stature", mentions=(Mention(0, 312, concepts=("HP:0004322",)),))
    assert [row["lexical_variant"] for row in table([doc])] == ["short stature"]


@settings(deadline=None, max_examples=25)
@given(doc=documents())
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_rows_of_any_document(doc: Document) -> None:
    rows = table([doc])
    assert len(rows) == sum(
        max(len(mention.concepts), 1) for mention in doc.mentions or () if mention.concepts is not None
    )
    for row in rows:
        assert tuple(row) == NOTE_NLP
        assert len(row["lexical_variant"]) > 0
        assert all("\n" not in cell and "\r" not in cell for cell in row.values())
    out = io.StringIO(newline="")
    write_notes([doc], out)
    out.seek(0)
    [note] = csv.DictReader(out)
    assert len(note["note_text"]) == max(len(doc.text), 1), "offsets stay, and an empty text is not NULL"
