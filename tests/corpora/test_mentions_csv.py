"""The CSV of mentions: read back with the texts, alone where it has them, and with other people's columns."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import parts, placed

from linnet.corpora.mentions_csv import COLUMNS, DOCUMENT_TEXT, lacks_texts, read, read_mentions, write
from linnet.data import Concept, Document, Mention, Name, Span
from linnet.errors import DataError, FormatError, LinnetError
from linnet.kb.build import build


def made(folder: Path, content: str | bytes, name: str = "m.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def written(docs: list[Document], *, texts: bool) -> str:
    out = io.StringIO(newline="")
    assert write(docs, out, texts=texts) == len(docs)
    return out.getvalue()


# --- there and back --------------------------------------------------------------------------------------------------

SIGNS = st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("=+-@'\t\r\n\",|;🧬")
WORDS = st.text(SIGNS, min_size=1, max_size=8)
TYPES = WORDS.filter(lambda word: "|" not in word)
IDS = st.sampled_from(["HP:1", "MESH:D014262", "X:ß", "=𝒳:3", "'=x", "a b"])


@st.composite
def mentions(draw: st.DrawFn, length: int) -> Mention:
    return Mention(
        **placed(draw(parts(length, most=6))),
        types=tuple(draw(st.lists(TYPES, max_size=2))),
        source=draw(st.sampled_from(["gold", "user", "pred"])),
        concepts=draw(st.lists(IDS, max_size=2).map(tuple)),
        probability=draw(st.none() | st.integers(0, 1000).map(lambda thousandth: thousandth / 1000)),
        calibration=draw(st.sampled_from(["", "joint", "given-span"])),
        terminology=draw(st.sampled_from(["", "hpo", "=x"])),
    )


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    docs = []
    for id in draw(st.lists(WORDS, unique=True, min_size=1, max_size=3)):
        text = draw(st.text(SIGNS, max_size=20))
        found = st.lists(mentions(len(text)), max_size=3) if text else st.just([])
        docs.append(Document(id, text, mentions=tuple(draw(found))))
    return docs


@pytest.mark.slow
@settings(deadline=None)  # it waits for the disk
@given(documents())
def test_nothing_of_a_mention_is_lost(tmp_path_factory: pytest.TempPathFactory, docs: list[Document]) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert list(read(made(folder, written(docs, texts=True)))) == docs
    bare = [replace(doc, mentions=None) for doc in docs]
    assert list(read_mentions(made(folder, written(docs, texts=False)), bare)) == docs
    assert list(read_mentions(made(folder, written(docs, texts=True)), iter(bare))) == docs


def test_what_is_written(tmp_path: Path) -> None:
    parts = (Span(0, 4), Span(15, 18))
    both = Mention(0, 18, parts=parts, terminology="hpo")
    doc = Document("7", "left and right arm\r\n", mentions=(both, Mention(15, 18, types=("A",))))
    content = written([doc, Document("8", "=")], texts=True)
    assert content == (
        f"\ufeff{','.join(COLUMNS)},{DOCUMENT_TEXT}\n"
        '7,0,18,left arm,«left» and right «arm»,,,,,,,,,pred,0 4;15 18,hpo,"left and right arm\r\n"\n'
        "7,15,18,arm,left and right «arm»,,,,,,,A,,pred,,,\n"
        "8,,,,,,,,,,,,,,,,'=\n"
    )
    assert [len(d.mentions or ()) for d in read(made(tmp_path, content, "m.csv.gz"))] == [2, 0]


def test_long_texts(tmp_path: Path) -> None:
    doc = Document("d", "fits " * 100_000, mentions=())
    assert list(read(made(tmp_path, written([doc], texts=True)))) == [doc]


def test_apostrophes_of_formulas_go_and_come(tmp_path: Path) -> None:
    content = "document,start,end,text,document_text\n'=d,0,2,'+a,'+a\n'x,0,2,'b,'b\n''=,0,1,',''-\n"
    docs = list(read(made(tmp_path, content)))
    assert [(doc.id, doc.text) for doc in docs] == [("=d", "+a"), ("'x", "'b"), ("'=", "'-")]
    assert [cells[:1] + cells[-1:] for cells in csv.reader(written(docs, texts=True).splitlines()[1:])] == [
        ["'=d", "'+a"],
        ["'x", "'b"],
        ["''=", "''-"],
    ]
    number = Document("d", "at -1.5 °C", mentions=(Mention(3, 7, source="gold", concepts=()),))
    assert "d,3,7,-1.5," in written([number], texts=False)
    assert list(read(made(tmp_path, written([number], texts=True)))) == [number]


# --- other people's files --------------------------------------------------------------------------------------------

TEXTS = [Document("1", "no fits"), Document("2", "SLC6A4 🧬 gene"), Document("3", "x")]


def test_foreign_columns(tmp_path: Path) -> None:
    content = (
        "\ufeffPMID;Kind;From;To;Gene ID;who\r\n2;Gene;0;6;6532;me\r\n2;Gene;7;8;;\r\n\r\n1;Sign;3;7;HP:0001250;'=\r\n"
    )
    columns = {"document": "pmid", "types": "Kind", "start": "from", "end": "To", "concepts": "gene id"}
    first, second, third = read_mentions(made(tmp_path, content), TEXTS, columns=columns)
    sign = Mention(3, 7, types=("Sign",), source="gold", concepts=("HP:0001250",), meta={"columns": {"who": "'="}})
    assert first == Document("1", "no fits", mentions=(sign,))
    assert second.mentions == (
        Mention(0, 6, types=("Gene",), source="gold", concepts=("NCBIGene:6532",), meta={"columns": {"who": "me"}}),
        Mention(7, 8, types=("Gene",), source="gold", concepts=()),
    )
    assert third.mentions == ()


def test_a_comma_in_a_heading_cuts_no_file_with_semicolons(tmp_path: Path) -> None:
    path = made(tmp_path, "document;start;end;seen, by whom, when, where\n1;3;7;me\n")
    assert lacks_texts(path)
    doc = next(read_mentions(path, TEXTS))
    assert doc.mentions == (Mention(3, 7, source="gold", meta={"columns": {"seen, by whom, when, where": "me"}}),)
    header = ["document", "start", "end", DOCUMENT_TEXT]
    [doc] = read(made(tmp_path, "7,0,4,Fits; fever; rash; chills\n"), header=header)
    assert doc.text == "Fits; fever; rash; chills"


def test_no_column_of_concepts_says_nothing_of_them(tmp_path: Path) -> None:
    path = made(tmp_path, "document\tstart\tend\n1\t0\t2\n")
    doc = next(read_mentions(path, TEXTS))
    assert doc.mentions == (Mention(0, 2, source="gold"),)


def test_mentions_that_are_there_stay(tmp_path: Path) -> None:
    there = Mention(0, 1)
    [doc] = read_mentions(made(tmp_path, "document,start,end\n1,1,2\n"), [replace(TEXTS[0], mentions=(there,))])
    assert doc.mentions == (there, Mention(1, 2, source="gold"))


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("1,3,8,,,,", "the span 3-8 is empty or lies outside the text of 7 characters of document '1'"),
        ("1,3,3,,,,", "the span 3-3 is empty"),
        ("1,3,7,Fits,,,", "the offsets 3-7 of document '1' say 'fits', the row says 'Fits'; offsets count code points"),
        ("1,-3,7,fits,,,", "expected two numbers for start and end, found '-3' and '7'"),
        ("1,3,,fits,,,", "expected two numbers for start and end, found '3' and ''"),
        ("1,3,7,fits,me,,", "source 'me' is none of gold, user, pred"),
        ("1,3,7,fits,,2,", "probability 2.0 is not between 0 and 1"),
        ("1,3,7,fits,,nan,", "probability nan is not between"),
        ("1,3,7,fits,,high,", "expected a probability from 0 to 1, found 'high'"),
        ("1,3,7,fits,,,3 7", "expected parts such as 0 4;10 14, found '3 7'"),
        ("1,3,7,fi s,,,3 5;6 8", "must be the hull"),
        ("1,3,7,fits,,", "has 6 columns, the header has 7"),
        ("4,3,7,fits,,,", "there is no text for document '4'; mend it"),
        ('"1,3,7,fits,,,', "is not valid CSV"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, row: str, problem: str) -> None:
    header = "document,start,end,text,source,probability,parts\n1,0,2,no,,,\n"
    with pytest.raises(FormatError) as caught:
        list(read_mentions(made(tmp_path, header + row), TEXTS))
    assert problem in str(caught.value)
    assert caught.value.line == 3


def test_hulls_without_parts_are_noticed(tmp_path: Path) -> None:
    path = made(tmp_path, "document,start,end,text\n1,0,7,no its\n")
    with pytest.raises(FormatError, match="say 'no fits', the row says 'no its'"):
        next(read_mentions(path, TEXTS))


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("", None, "is empty"),
        ("\n\n", 1, "there is no column 'document'"),
        ("document,begin,end\n", 1, r"there is no column 'start'; the columns are document, begin, end .*columns="),
        ("documents,start,end\n", 1, "did you mean 'documents'"),
        ("document,start,end,END\n", 1, "two columns are called 'end'"),
        ("document,start,end\n", 1, r"no column 'document_text'.*--texts FOLDER, .*read_mentions\(path, texts\)"),
        ("document,start,end,document_text\na,,,x\nb,,,y\na,,,x\n", 4, "rows of document 'a' stand further up"),
        (
            "document,start,end,document_text\na,,,x\na,0,1,y\n",
            3,
            "has another document_text for document 'a' than line 2",
        ),
        ("document,start,end,document_text\na,0,1,\n", 2, "outside the text of 0 characters"),
        (b"document,start,end,document_text\na,,,\xe9\n", 2, "not UTF-8"),
        (b"document,start,end,document_text\na,,,\0\n", 2, "NUL"),
    ],
)
def test_faults_of_files(tmp_path: Path, content: str | bytes, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        list(read(made(tmp_path, content)))
    assert caught.value.line == line


def test_a_corrected_table_may_be_in_the_encoding_of_a_spreadsheet(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [Document("1", "Frau Müller: Größe 98 cm")]
    path = made(tmp_path, "document;start;end;text;probability;concepts\r\n1;13;18;Größe;0,9;HP:1\r\n".encode("cp1252"))
    [doc] = read_mentions(path, texts, corrected=True)
    assert [(doc.surface(mention), mention.probability) for mention in doc.mentions or ()] == [("Größe", 0.9)]
    assert "read as Windows-1252" in caplog.text
    with pytest.raises(FormatError, match="not UTF-8"):
        list(read_mentions(path, texts))


def test_faults_of_callers(tmp_path: Path) -> None:
    path = made(tmp_path, "document,start,end\n1,0,2\n")
    with pytest.raises(LinnetError, match=r"unknown column 'concept'; columns are .*; did you mean 'concepts'"):
        read_mentions(path, TEXTS, columns={"concept": "x"})
    with pytest.raises(FormatError, match="there is no column 'stop'"):
        list(read_mentions(path, TEXTS, columns={"end": "stop"}))
    with pytest.raises(DataError, match="two of the texts are document '1'"):
        list(read_mentions(path, [TEXTS[0], TEXTS[0]]))


def test_a_file_without_a_first_row_that_names_its_columns(tmp_path: Path) -> None:
    path = made(tmp_path, "7\t0\t5\tHP:1\tFever.\n")
    columns = ("document", "start", "end", "concepts", "document_text")
    [doc] = read(path, header=columns)
    assert doc == Document("7", "Fever.", mentions=(Mention(0, 5, source="gold", concepts=("HP:1",)),))


def test_probabilities_have_four_decimals() -> None:
    doc = Document("d", "Fits.", mentions=(Mention(0, 4, concepts=("A:1",), probability=0.965149998664856),))
    assert written([doc], texts=False).splitlines()[1].split(",")[COLUMNS.index("probability")] == "0.9651"


# --- corrected files -------------------------------------------------------------------------------------------------

LETTER = Document(
    "7", "Frau Müller has fits, no fever.", mentions=(Mention(16, 20, concepts=("HP:0001250",), probability=0.5),)
)


@pytest.mark.parametrize("cut", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_corrected_files_of_any_spreadsheet(tmp_path: Path, cut: str, mark: str) -> None:
    """Excel saves with semicolons and decimal commas where these are usual, other programs without byte order mark."""
    table = csv.DictReader(io.StringIO(written([LETTER], texts=False).removeprefix("\ufeff")))
    [row] = table
    row["probability"] = "0,5"
    added = {"document": "7", "text": "fever", "right_concept": "HP:0001945"}
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, delimiter=cut)
    writer.writeheader()
    writer.writerows([row, added])
    path = made(tmp_path, mark + out.getvalue(), "m.txt")
    [doc] = read_mentions(path, [replace(LETTER, mentions=None)], corrected=True)
    assert doc.mentions == (
        Mention(16, 20, source="gold", concepts=("HP:0001250",), probability=0.5),
        Mention(25, 30, source="gold", concepts=("HP:0001945",)),
    )


def test_corrections_count_in_a_file_that_is_read_alone(tmp_path: Path) -> None:
    content = "document,start,end,text,concepts,correct,right_concept,source,document_text\n"
    content += "7,0,4,Fits,X:1,,X:2|X:3,pred,Fits no fever\n7,5,7,no,X:1,NO,,pred,\n7,8,13,fever,X:4,,,pred,\n"
    [doc] = read(made(tmp_path, content))
    assert doc.mentions == (
        Mention(0, 4, source="gold", concepts=("X:2", "X:3")),
        Mention(8, 13, concepts=("X:4",)),
    )


def test_ids_of_a_knowledge_base_that_look_like_those_of_others_stay(tmp_path: Path) -> None:
    kb = build([Concept(id, (Name(id),)) for id in ("C0018923", "C0018681", "MESH:D005334")], tmp_path / "own.kb")
    doc = Document("1", "fits, fever, ache", mentions=(Mention(0, 4, concepts=("C0018923",)),))
    bare = replace(doc, mentions=None)
    path = made(tmp_path, written([doc], texts=False))
    assert list(read_mentions(path, [bare])) == [doc]
    accepted = Mention(0, 4, source="gold", concepts=("C0018923",))
    said = "document,start,end,text,concepts,right_concept\n1,0,4,fits,C0018923,\n1,6,11,fever,D005334,\n"
    path = made(tmp_path, f"{said}1,13,17,ache,X:1,C0018681\n")
    [found] = read_mentions(path, [bare], corrected=True, kb=kb)
    assert found.mentions == (
        accepted,
        Mention(6, 11, source="gold", concepts=("MESH:D005334",)),
        Mention(13, 17, source="gold", concepts=("C0018681",)),
    )


def test_what_is_formed_like_what_was_linked_is_an_id_as_it_is(tmp_path: Path) -> None:
    said = "document,start,end,concepts,right_concept,source\n7,0,4,C0018923,,pred\n7,5,11,C0018923,C0018681,pred\n"
    [doc] = read_mentions(made(tmp_path, said), [LETTER.bare()], corrected=True)
    assert [mention.concepts for mention in doc.mentions or ()] == [("C0018923",), ("C0018681",)]
