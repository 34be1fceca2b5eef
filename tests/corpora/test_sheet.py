"""Sheets of Excel with mentions: what is written, what people do with them, and what that makes of the documents."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.corpora.test_mentions_csv import documents

from linnet.corpora import fitting, read, write
from linnet.corpora.corrected import read_corrected
from linnet.corpora.faults import Faults
from linnet.corpora.mention_table import COLUMNS, ROOM
from linnet.corpora.said import SAID
from linnet.data import Concept, Document, Mention, Name, Span, by_position
from linnet.errors import DataError, FormatError, LinnetError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.terminologies import Terminologies

openpyxl = pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")

NOTE = "Frau Müller has fits.\r\nNo MAR1 variant. Small hands and feet, no fits at night; febrile seizures."
DOC = Document(
    "007",
    NOTE,
    mentions=(
        Mention(16, 20, concepts=("HP:0001250",), probability=0.9950000047683716, types=("Phenotype",)),
        Mention(26, 30, concepts=(), probability=0.25),
        Mention(40, 60, parts=(Span(40, 45), Span(56, 60)), concepts=("HP:0001773",), probability=0.5),
        Mention(88, 96, concepts=("HP:0001250", "HP:0002069"), source="user"),
    ),
)
UNTOUCHED = "with place, concept and assertion as they were"


def opened(path: Path) -> Any:
    return openpyxl.load_workbook(path)


def column(name: str) -> int:
    return COLUMNS.index(name) + 1


@pytest.fixture
def corrected(tmp_path: Path) -> Callable[..., list[Document]]:
    """Write documents, let somebody change the first sheet, and read them back."""

    def change(*edits: Callable[[Any], object], kb: KnowledgeBase | None = None, docs: Any = (DOC,)) -> list[Document]:
        path = tmp_path / "found.xlsx"
        write(docs, path)
        book = opened(path)
        for edit in edits:
            edit(book["mentions"])
        book.save(path)
        return list(read_corrected(path, None, kb=kb))

    return change


def put(row: int, **cells: object) -> Callable[[Any], object]:
    def edit(sheet: Any) -> None:
        for name, value in cells.items():
            sheet.cell(row, column(name)).value = value

    return edit


def add(**cells: object) -> Callable[[Any], object]:
    return lambda sheet: sheet.append([cells.get(name) for name in COLUMNS])


# --- what is written -------------------------------------------------------------------------------------------------


def test_a_sheet_can_be_read_and_filtered(tmp_path: Path, kb: KnowledgeBase) -> None:
    write([DOC], tmp_path / "found.xlsx", kb=kb)
    book = opened(tmp_path / "found.xlsx")
    sheet = book["mentions"]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert [cell.value for cell in sheet[1]] == list(COLUMNS)
    assert (rows[0]["document"], rows[0]["start"], rows[0]["probability"]) == ("007", 16, 0.995)
    assert rows[0]["names"] == "Seizure"
    assert [row["context"] for row in rows[:3]] == [
        "Frau Müller has «fits».",
        "No «MAR1» variant.",
        "«Small» hands and «feet», no fits at night; febrile seizures.",
    ]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", f"A1:P{len(rows) + 1}")
    assert sheet["E2"].alignment.wrap_text
    assert sheet.column_dimensions["E"].width > 40
    rules = {str(rule.sqref)[0]: rule for rule in sheet.data_validations.dataValidation}
    asked = [COLUMNS[ord(letter) - ord("A")] for letter in rules]
    assert asked == ["context", "names", "assertion", "correct", "right_concept"]
    formulas = ["FALSE", "FALSE", f'"{",".join(SAID)}"', '"yes,no"', None]
    assert [rule.formula1 for rule in rules.values()] == formulas
    assert "This is not read" in rules["G"].error
    assert book["texts"].sheet_state == "hidden"


def test_nothing_is_run_and_nothing_becomes_a_date(tmp_path: Path) -> None:
    text = "=1+1 @SUM +A1 -5 MAR1 0012"
    spans = [(0, 4), (5, 9), (10, 13), (14, 16), (17, 21), (22, 26)]
    doc = Document("-1+1", text, mentions=tuple(Mention(*span, source="gold", concepts=("X:1",)) for span in spans))
    write([doc], tmp_path / "x.xlsx")
    for row in opened(tmp_path / "x.xlsx")["mentions"].iter_rows(min_row=2):
        assert {row[0].data_type, row[3].data_type, row[4].data_type} == {"s"}
        assert {row[0].number_format, row[3].number_format} == {"@"}
    assert list(read(tmp_path / "x.xlsx")) == [doc]


def test_texts_that_cells_have_no_room_for(tmp_path: Path) -> None:
    text = "Fits. \0\x0b_x0007_\r\n🧬" * 4000
    mention = Mention(1, len(text) - 1, source="gold", concepts=("HP:0001250",))
    docs = [Document("long", text, mentions=(mention,)), Document("empty", "", mentions=())]
    write(docs, tmp_path / "x.xlsx.gz")
    assert list(read(tmp_path / "x.xlsx.gz")) == docs
    with pytest.raises(DataError, match="has 32,768 characters, more than the 32,767 that a cell of Excel holds"):
        write([Document("x" * 32_768, "")], tmp_path / "y.xlsx")
    assert not (tmp_path / "y.xlsx").exists()


@settings(deadline=None, max_examples=25)
@given(documents())
def test_what_nobody_changed_was_accepted(tmp_path_factory: pytest.TempPathFactory, docs: list[Document]) -> None:
    path = tmp_path_factory.getbasetemp() / "p.xlsx"
    write(docs, path)
    announced = fitting(docs, "xlsx", Counter())
    assert list(read(path)) == [replace(doc, mentions=by_position(doc.mentions or ())) for doc in announced]


def test_a_sheet_that_nobody_touched_stays_what_was_found(
    corrected: Callable[..., list[Document]], caplog: pytest.LogCaptureFixture
) -> None:
    [doc] = corrected()
    assert [mention.source for mention in doc.mentions or ()] == ["pred", "pred", "pred", "user"]
    assert "nobody changed anything, so what was found is not taken as gold: if people read it all, write yes" in (
        caplog.records[-1].message
    )
    caplog.clear()
    for edit in (put(3, correct="yes"), put(5, text="febrile seizures"), lambda sheet: sheet.delete_rows(2)):
        [doc] = corrected(edit)
        assert {mention.source for mention in doc.mentions or ()} == {"gold"}
    assert "nobody changed" not in caplog.text


# --- what people do --------------------------------------------------------------------------------------------------


def answers(doc: Document) -> list[tuple[str, tuple[str, ...] | None, float | None]]:
    assert all(mention.source == "gold" for mention in doc.mentions or ())
    return [(doc.surface(mention), mention.concepts, mention.probability) for mention in doc.mentions or ()]


def test_corrections(corrected: Callable[..., list[Document]], kb: KnowledgeBase) -> None:
    [doc] = corrected(
        put(2, right_concept="HP:0002069"),
        put(3, correct="no"),
        put(4, correct="no", right_concept="nil"),
        put(5, text="febrile seizures", concepts="HP:0002069"),
        add(document="007", text="small   hands", right_concept="seizure"),
        kb=kb,
    )
    assert answers(doc) == [
        ("fits", ("HP:0002069",), None),
        ("Small feet", (), None),
        ("Small hands", ("HP:0001250",), None),
        ("febrile seizures", ("HP:0002069",), None),
    ]
    assert doc.text == NOTE


def test_rows_may_be_deleted_sorted_and_widened(corrected: Callable[..., list[Document]]) -> None:
    def sort(sheet: Any) -> None:
        rows = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
        for number, row in enumerate(reversed(rows), 2):
            for place, value in enumerate([*row, "seen by AB"], 1):
                sheet.cell(number, place).value = value
        sheet.cell(1, len(COLUMNS) + 1).value = "remark"

    [doc] = corrected(lambda sheet: sheet.delete_rows(3), sort)
    assert [surface for surface, _, _ in answers(doc)] == ["fits", "Small feet", "seizures"]
    assert {mention.meta["columns"]["remark"] for mention in doc.mentions or ()} == {"seen by AB"}  # type: ignore[index,call-overload]
    [doc] = corrected(lambda sheet: sheet.delete_rows(2, 9))
    assert doc.mentions == ()


@pytest.mark.parametrize(
    ("edit", "row", "problem"),
    [
        (put(2, right_concept="Seizur"), 2, "expected an id such as HP:0001250.*found 'Seizur'; names .* need --kb"),
        (
            put(3, correct="x"),
            3,
            r"column correct: expected yes \(or y, .*, no \(or .*nein, .*\), or nothing, found 'x'",
        ),
        (put(4, text="other words"), 4, "say 'Small feet', the row says 'other words'"),
        (put(2, assertion="absent"), 2, "column assertion: expected one of affirmed, negated, .*found 'absent'"),
        (put(2, start=1.5), 2, "expected two numbers for start and end, found '1.5'"),
        (
            put(2, text=dt.date(2026, 3, 1)),
            2,
            "column text: a spreadsheet made a date .* format the cell as text",
        ),
        (
            add(document="007", text="NO", right_concept="X:1"),
            6,
            "'NO' of a row without start and end occurs 2 times in document '007', at 23-25, 62-64",
        ),
        (add(document="007", text="gout", right_concept="X:1"), 6, "'gout' .* does not occur in document '007'"),
        (add(document="007", text="seizures", right_concept="X:1"), 6, "is marked in document '007' already"),
        (add(document="007", text="night"), 6, "adds 'night' without a concept: fill in right_concept"),
        (add(document="7", text="night", right_concept="X:1"), 6, "there is no text for document '7'"),
        (add(document="007", right_concept="X:1"), 6, "says 'X:1' of nothing: fill in document and text"),
        (put(1, start="begin"), 1, "no column 'start'"),
    ],
)
def test_errors_name_the_row(
    corrected: Callable[..., list[Document]], edit: Callable[[Any], object], row: int, problem: str
) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        corrected(edit)
    assert (Path(caught.value.path).name, caught.value.line) == ("found.xlsx", row)


def test_all_rows_that_cannot_be_read_are_named_at_once(corrected: Callable[..., list[Document]]) -> None:
    with pytest.raises(FormatError) as caught:
        corrected(put(4, text="other words"), put(2, start=1.5), add(document="7", text="night", right_concept="X:1"))
    lines = [line.split(": ")[0].rpartition("/")[2] for line in str(caught.value).splitlines()]
    assert lines[:3] == ["found.xlsx:2", "found.xlsx:4", "found.xlsx:6"]
    assert "\n3 such; mend them, or read the rest with --on-error skip" in str(caught.value)
    with pytest.raises(FormatError) as caught:
        corrected(*(add(document="007", text=f"gout {number}", right_concept="X:1") for number in range(30)))
    assert (str(caught.value).count("does not occur"), "\n30 such;" in str(caught.value)) == (20, True)


def test_a_knowledge_base_knows_ids(corrected: Callable[..., list[Document]], kb: KnowledgeBase) -> None:
    with pytest.raises(FormatError, match=r":2: column right_concept: .*HP:9999999"):
        corrected(put(2, right_concept="HP:9999999"), kb=kb)
    with pytest.raises(FormatError, match=r"no concept has the name 'seizur'.*did you mean one of these: HP:0001250"):
        corrected(put(2, right_concept="seizur"), kb=kb)


def test_concepts_that_are_written_over_are_read_as_right_concept_is(
    corrected: Callable[..., list[Document]], kb: KnowledgeBase
) -> None:
    [doc] = corrected(put(2, concepts="HP:0002069 Tonic-clonic seizure"), put(5, concepts="Cleft palate"), kb=kb)
    assert answers(doc)[0] == ("fits", ("HP:0002069",), None)
    assert answers(doc)[3] == ("seizures", ("HP:0000175",), None)
    with pytest.raises(FormatError, match=r":2: column concepts: no concept 'HP:9999999'"):
        corrected(put(2, concepts="HP:9999999"), kb=kb)
    unknown = Document("1", "Fits.", mentions=(Mention(0, 4, concepts=("HP:7",)),))
    [doc] = corrected(put(2, correct="yes"), docs=[unknown], kb=kb)
    assert answers(doc) == [("Fits", ("HP:7",), None)]


def test_what_is_formed_like_the_ids_of_a_sheet_is_one(corrected: Callable[..., list[Document]]) -> None:
    doc = Document("1", "Gout and fits.", mentions=(Mention(0, 4, concepts=("A05.1",)), Mention(9, 13, concepts=())))
    [read_back] = corrected(put(2, right_concept="M10.09"), put(3, concepts="G40.3"), docs=[doc])
    assert [concepts for _, concepts, _ in answers(read_back)] == [("M10.09",), ("G40.3",)]
    with pytest.raises(FormatError, match=r"expected an id such as A05\.1, .* found 'CD4'; names .* need --kb"):
        corrected(put(2, right_concept="CD4"), docs=[doc])


def test_ids_that_look_like_those_of_others_stay(corrected: Callable[..., list[Document]]) -> None:
    found = (Mention(16, 20, concepts=("C0018923",)), Mention(26, 30, concepts=("D005334",), source="gold"))
    [doc] = corrected(put(2, correct="yes"), docs=(replace(DOC, mentions=found),))
    assert answers(doc) == [("fits", ("C0018923",), None), ("MAR1", ("D005334",), None)]


def test_a_name_may_stand_beside_its_id(corrected: Callable[..., list[Document]], kb: KnowledgeBase) -> None:
    beside = (
        put(2, right_concept="HP:0002069 Tonic-clonic seizure"),
        put(5, right_concept="fits (HP:0001250)"),
    )
    for known in (kb, None):
        [doc] = corrected(*beside, kb=known)
        assert [concepts for _, concepts, _ in answers(doc)][::3] == [("HP:0002069",), ("HP:0001250",)]
    with pytest.raises(FormatError, match="'HP:0002069 HP:0001250 fits'"):
        corrected(put(2, right_concept="HP:0002069 HP:0001250 fits"))


@pytest.mark.parametrize(
    ("right", "wrong"), [("ja", "Nein"), ("Richtig", "FALSCH"), (True, False), ("WAHR", "wrong"), (1, 0)]
)
def test_correct_is_said_in_english_or_german(
    corrected: Callable[..., list[Document]], right: object, wrong: object
) -> None:
    [doc] = corrected(put(2, correct=right), put(3, correct=wrong))
    assert [surface for surface, _, _ in answers(doc)] == ["fits", "Small feet", "seizures"]


def test_it_is_said_what_was_corrected(
    corrected: Callable[..., list[Document]], kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    edits = put(2, right_concept="HP:0002069"), put(3, correct="no"), put(4, text="Small hands"), put(5, names="Coma")
    [doc] = corrected(*edits, add(document="007", text="night", right_concept="nil", assertion=" Negated"), kb=kb)
    said, unread = [record.message for record in caplog.records]
    counts = "1 rejected, 1 with another concept, 1 in another place, 1 added"
    assert said.endswith(f"found.xlsx: rows: {counts}, 1 {UNTOUCHED}")
    assert "1 rows have names that are not those of their concepts" in unread
    assert {doc.surface(mention): mention.assertion for mention in doc.mentions or ()}["night"] == "negated"


@pytest.mark.parametrize(
    ("edits", "counts"),
    [
        ([put(2, right_concept="HP:0001250 Seizure")], f"4 {UNTOUCHED}"),
        ([put(3, right_concept="nil")], f"4 {UNTOUCHED}"),
        ([put(5, right_concept="HP:0002069|HP:0001250")], f"4 {UNTOUCHED}"),
        ([put(2, concepts="HP:0002069")], f"1 with another concept, 3 {UNTOUCHED}"),
        ([put(2, assertion=" Negated"), put(3, assertion="affirmed")], f"2 with another assertion, 2 {UNTOUCHED}"),
        (
            [put(2, assertion="negated", right_concept="HP:0002069")],
            f"1 with another concept, 1 with another assertion, 3 {UNTOUCHED}",
        ),
        ([put(2, start=65, end=69)], f"1 in another place, 3 {UNTOUCHED}"),
        ([add(document="007", start=65, end=69, text="fits", right_concept="X:1")], f"1 added, 4 {UNTOUCHED}"),
        ([lambda sheet: sheet.delete_rows(3, 2)], f"2 deleted, 2 {UNTOUCHED}"),
        (
            [put(2, start=65, end=69), put(3, correct="no"), lambda sheet: sheet.delete_rows(5)],
            f"1 rejected, 1 deleted, 1 in another place, 1 {UNTOUCHED}",
        ),
        (
            [add(document="007", start=65, end=69, text="fits", right_concept="X:1"), lambda s: s.delete_rows(2)],
            f"1 deleted, 1 added, 3 {UNTOUCHED}",
        ),
        ([lambda sheet: sheet.parent["found"].delete_rows(1, 9)], "4 with place and concept as they were"),
    ],
)
def test_what_was_corrected_is_counted_against_what_was_found(
    corrected: Callable[..., list[Document]],
    edits: list[Callable[[Any], object]],
    counts: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    corrected(*edits)
    assert caplog.records[-1].message.endswith(f"found.xlsx: rows: {counts}")


def test_a_row_that_is_added_twice_counts_once(
    corrected: Callable[..., list[Document]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    night = {"document": "007", "text": "night", "right_concept": "X:1"}
    others: list[dict[str, str]] = [{}, {"text": "NIGHT"}, {"right_concept": "X:2"}, {"assertion": "negated"}]
    [doc] = corrected(*(add(**{**night, **other}) for other in others))
    assert len(doc.mentions or ()) == 4 + 3
    counts = f"3 added, 1 added a second time and left out, 4 {UNTOUCHED}"
    assert caplog.records[-1].message.endswith(f"rows: {counts}")


def test_what_was_added_in_one_place_and_not_in_others_is_told(
    corrected: Callable[..., list[Document]], caplog: pytest.LogCaptureFixture
) -> None:
    other = Document("8", "No variant of hands, HANDS, handsome; the night, by night.", mentions=())
    hands = add(document="8", start=14, end=19, text="hands", right_concept="X:1")
    corrected(add(document="007", text="night", right_concept="X:2"), hands, docs=(DOC, other))
    [told] = [record.message for record in caplog.records if "unmarked" in record.message]
    assert "which count as rejected ('hands' 2, 'night' 2): add rows for these, too" in told
    caplog.clear()
    corrected(add(document="007", text="night", right_concept="X:2"), put(2, correct="no"))
    assert not [record for record in caplog.records if "unmarked" in record.message]


def test_documents_that_were_taken_out_have_no_deleted_rows(
    corrected: Callable[..., list[Document]], caplog: pytest.LogCaptureFixture
) -> None:
    def take_out(sheet: Any) -> None:
        sheet.delete_rows(6)
        sheet.parent["texts"].delete_rows(3)

    caplog.set_level("INFO")
    corrected(take_out, docs=(DOC, Document("8", "Fits.", mentions=(Mention(0, 4, concepts=("X:1",)),))))
    assert caplog.records[-1].message.endswith(f"rows: 4 {UNTOUCHED}")


def test_a_corrected_concept_has_its_own_types(corrected: Callable[..., list[Document]], kb: KnowledgeBase) -> None:
    edits = (
        put(2, right_concept="HP:0004322"),
        put(3, concepts="X:2"),
        put(4, right_concept="HP:0002069"),
        add(document="007", text="night", right_concept="X:1"),
    )
    typed = replace(DOC, mentions=tuple(replace(m, types=("Neurology",)) for m in DOC.mentions or ()))
    [doc] = corrected(*edits, kb=kb, docs=[typed])
    types = {doc.surface(mention): mention.types for mention in doc.mentions or ()}
    assert types == {
        "fits": ("Phenotype",),
        "MAR1": ("Disease",),
        "Small feet": ("Phenotype", "Neurology"),
        "night": ("Temperature",),
        "seizures": ("Neurology",),
    }
    [doc] = corrected(*edits, docs=[typed])
    assert [mention.types for mention in doc.mentions or ()] == [(), (), (), (), ("Neurology",)]
    [doc] = corrected(put(2, right_concept="nil"), kb=kb, docs=[typed])
    assert next(iter(doc.mentions or ())).types == ()
    tagged = replace(DOC, mentions=tuple(replace(m, types=("DISO",)) for m in DOC.mentions or ()))
    [doc] = corrected(*edits, kb=kb, docs=[tagged])
    assert [mention.types for mention in doc.mentions or ()][:3] == [("DISO",)] * 3


def test_a_sheet_of_several_terminologies(
    corrected: Callable[..., list[Document]], kb: KnowledgeBase, tmp_path: Path
) -> None:
    mesh = build(
        [Concept("MESH:D1", (Name("Seizure"),)), Concept("MESH:D2", (Name("Night Terrors"),))], tmp_path / "mesh.kb"
    )
    both = Terminologies({"hpo": kb, "mesh": mesh})
    edits = (
        put(2, right_concept="Night Terrors"),
        put(3, right_concept="Seizure", terminology="mesh"),
        put(4, right_concept="Seizure", terminology="hpo"),
    )
    [doc] = corrected(*edits, kb=both)
    found = [(mention.concepts, mention.terminology) for mention in doc.mentions or ()]
    assert found[:3] == [(("MESH:D2",), "mesh"), (("MESH:D1",), "mesh"), (("HP:0001250",), "hpo")]
    with pytest.raises(FormatError, match="several concepts have the name 'seizure'"):
        corrected(put(2, right_concept="seizure"), kb=both)


def test_rows_of_a_document_that_there_is_not_can_be_left_out(tmp_path: Path) -> None:
    write([DOC], tmp_path / "found.xlsx")
    book = opened(tmp_path / "found.xlsx")
    put(2, document="007.txt")(book["mentions"])
    book.save(tmp_path / "found.xlsx")
    told: list[str] = []
    faults = Faults("skip", lambda error, _: told.append(error.problem))
    [doc] = read_corrected(tmp_path / "found.xlsx", None, faults=faults)
    assert (len(doc.mentions or ()), told) == (3, ["there is no text for document '007.txt'; did you mean '007'?"])


def test_a_row_that_is_added_is_found_where_nothing_marks_it(corrected: Callable[..., list[Document]]) -> None:
    [doc] = corrected(add(document="007", text="fits", right_concept="HP:0001250"))
    assert [m.span for m in doc.mentions or () if doc.surface(m) == "fits"] == [(16, 20), (65, 69)]


# --- files that are none ---------------------------------------------------------------------------------------------


def packed(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"document,start\n", "is no .xlsx as Excel and LibreOffice save it: BadZipFile"),
        (packed(a=b"x"), "is no .xlsx as Excel and LibreOffice save it: KeyError"),
        (packed(a=bytes(80 << 20)), "refused as a bomb"),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "x.xlsx").write_bytes(content)
    with pytest.raises(FormatError, match=problem):
        list(read(tmp_path / "x.xlsx"))


def test_a_workbook_of_others_is_refused(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(FormatError, match="there is no sheet 'mentions'"):
        list(read(tmp_path / "x.xlsx"))
    with pytest.raises(LinnetError, match="holds its texts: leave out --texts"):
        read_corrected(tmp_path / "x.xlsx", tmp_path)


def test_texts_that_were_cut_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    write([Document("7", "x" * 2 * ROOM, mentions=())], path)
    book = opened(path)
    book["texts"].delete_rows(2)
    book.save(path)
    with pytest.raises(FormatError, match="lacks part 1 of document '7'"):
        list(read(path))
