"""Plain text, JSON Lines, GSC+ and the CSV of mentions: what is kept, and faults with their lines."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import pytest

from linnet.corpora import gsc, jsonl, mentions_csv, read, text
from linnet.data import Candidates, Concept, Document, Mention, Name, Span
from linnet.errors import DataError, FormatError, LinnetWarning, UnknownConceptError


def made(folder: Path, content: bytes, name: str = "f.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


# --- text ------------------------------------------------------------------------------------------------------------


def test_text_is_kept_character_for_character(tmp_path: Path) -> None:
    content = "\ufeffFièvre\r\n\tet 🧬\u2028 fin \n\n"
    path = made(tmp_path, content.encode())
    assert list(text.read(path)) == [Document("f", content[1:])]
    assert list(text.read(path, name="n")) == [Document("n", content[1:])]


def test_lines(tmp_path: Path) -> None:
    path = made(tmp_path, b"one\r\n \n two \nthree", "n.txt.gz")
    assert list(text.read_lines(path)) == [Document("n:1", "one"), Document("n:3", " two "), Document("n:4", "three")]


def test_empty_text(tmp_path: Path) -> None:
    path = made(tmp_path, b"")
    with pytest.warns(LinnetWarning, match="is empty, taken as a document without text"):
        assert list(text.read(path)) == [Document("f", "")]
    with pytest.warns(LinnetWarning, match="is empty, it gives no documents"):
        assert list(text.read_lines(path)) == []


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [(b"a\nb\xe9", 2, "byte 0xe9 at offset 3"), (b"a\n\nb\x00", 3, "NUL byte at offset 4")],
)
def test_what_is_no_text(tmp_path: Path, content: bytes, line: int, problem: str) -> None:
    for reader in (text.read, text.read_lines):
        with pytest.raises(FormatError, match=problem) as caught:
            list(reader(made(tmp_path, content)))
        assert caught.value.line == line


def test_a_long_line(tmp_path: Path) -> None:
    size = 5_000_000
    assert len(next(text.read_lines(made(tmp_path, b"fits " * (size // 5)))).text) == size


# --- JSON Lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [b'{"id":"b"}', b"{", b"[]", b'{"id":"b","text":"x","mentions":[{"start":1,"end":9}]}'])
def test_json_lines_name_the_line(tmp_path: Path, bad: bytes) -> None:
    path = made(tmp_path, b'{"id":"a","text":"x"}\n\n' + bad, "f.jsonl")
    docs = jsonl.read(path)
    assert next(docs).id == "a"
    with pytest.raises(FormatError) as caught:
        next(docs)
    assert caught.value.line == 3


def test_json_lines_without_lines(tmp_path: Path) -> None:
    assert list(jsonl.read(made(tmp_path, b"\n"))) == []
    with pytest.warns(LinnetWarning, match="is empty, it gives no documents"):
        assert list(jsonl.read(made(tmp_path, b""))) == []


class Kb:
    """The least that writers ask of a knowledge base."""

    concepts = (Concept("X:0", (Name("zero"),)), Concept("X:1", (Name("=one"),)))

    def row(self, id: str, /) -> int:
        if id not in ("X:0", "X:1"):
            raise UnknownConceptError(id)
        return int(id[2:])

    def id(self, row: int, /) -> str:
        return f"X:{row}"

    def __getitem__(self, row: int) -> Concept:
        return self.concepts[row]


def test_names_of_a_knowledge_base_that_no_text_file_holds_stop_no_job() -> None:
    class Nul(Kb):
        concepts = (Concept("X:0", (Name("ze\0ro"),)), Concept("X:1", (Name("one"),)))

    out = io.StringIO()
    doc = Document("d", "Fits.", mentions=(Mention(0, 4, concepts=("X:0",)),))
    assert mentions_csv.write([doc, doc], out, rows=Nul()) == 2
    assert "ze\ufffdro" in out.getvalue()


def test_candidates_go_through_the_knowledge_base(tmp_path: Path) -> None:
    doc = Document(
        "d",
        "Fits.",
        mentions=(
            Mention(0, 4, candidates=Candidates(np.array([1, -1], np.int32), np.array([0.5, 0.25], np.float32))),
        ),
    )
    out = io.StringIO()
    assert jsonl.write([doc], out, rows=Kb()) == 1
    assert '"ids":["X:1",null]' in out.getvalue()
    path = made(tmp_path, out.getvalue().encode(), "f.jsonl")
    assert list(jsonl.read(path, rows=Kb())) == [doc]
    with pytest.raises(DataError, match="knowledge base"):
        jsonl.write([doc], out)


# --- GSC+ ------------------------------------------------------------------------------------------------------------


def test_gsc(tmp_path: Path) -> None:
    content = (
        "1\r\nβ-fits and fits\r\n2\t6\tfits\tHP:1\r\n2\t6\tfits\tHP:2\r\n\r\n\r\n2\r\n a\tb\r\n1\t4\ta\tb\tHP:3\r\n"
    )
    assert list(gsc.read(made(tmp_path, content.encode()))) == [
        Document(
            "1",
            "β-fits and fits",
            mentions=tuple(Mention(2, 6, source="gold", concepts=(id,)) for id in ("HP:1", "HP:2")),
        ),
        Document("2", " a\tb", mentions=(Mention(1, 4, source="gold", concepts=("HP:3",)),)),
    ]


def test_prefixes_in_gsc_have_one_spelling(tmp_path: Path) -> None:
    content = b"1\nFever.\n0\t5\tFever\thp:0001945\n0\t5\tFever\tORPHA:558\n0\t5\tFever\tC0015967\n"
    [doc] = gsc.read(made(tmp_path, content))
    assert [mention.concepts for mention in doc.mentions or ()] == [("HP:0001945",), ("Orphanet:558",), ("C0015967",)]


def test_gsc_without_mentions(tmp_path: Path) -> None:
    assert list(gsc.read(made(tmp_path, b"1\nText.\n"))) == [Document("1", "Text.", mentions=())]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"1\n\n2\ntext\n", 1, "document '1' has no line with its text"),
        (b"1\t2\ntext\n", 1, "expected a line with a document's id"),
        (b"1\nFits.\n0\t4\tfits\tHP:1\n", 3, "offsets 0-4 say 'Fits', the line says 'fits'"),
        (b"1\nFits.\n0\t4\tFits\n", 3, "expected start, end, text and id"),
        (b"1\nFits.\n0 4 Fits HP:1\n", 3, "expected start, end, text and id"),
        (b"1\nFits.\n0\tx\tFits\tHP:1\n", 3, "expected two numbers and an id"),
        (b"1\nFits.\n-1\t4\tFits\tHP:1\n", 3, "expected two numbers"),
        (b"1\nFits.\n0\t4\tFits\t \n", 3, "expected two numbers and an id"),
        (b"1\nFits.\n0\t9\tFits\tHP:1\n", 3, "span 0-9 is empty or lies outside the text of 5"),
        (b"1\nFits.\n2\t2\t\tHP:1\n", 3, "span 2-2 is empty"),
        (b"", None, "is empty"),
    ],
)
def test_gsc_faults_name_their_line(tmp_path: Path, content: bytes, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        list(gsc.read(made(tmp_path, content)))
    assert caught.value.line == line


def test_gsc_writing(tmp_path: Path) -> None:
    parts = (Span(0, 1), Span(3, 4))
    doc = Document(
        "1",
        "a\r\nb c",
        mentions=(
            Mention(0, 4, parts=parts, source="gold", concepts=("X:1", "X:2")),
            Mention(5, 6),
            Mention(5, 6, concepts=()),
        ),
    )
    out = io.StringIO()
    with pytest.warns(LinnetWarning, match="2 mentions without a concept"):
        assert gsc.write([doc], out) == 1
    assert out.getvalue() == "1\na  b c\n0\t4\ta  b\tX:1\n0\t4\ta  b\tX:2\n\n"
    [again] = gsc.read(made(tmp_path, out.getvalue().encode()))
    assert [(m.span, m.concepts) for m in again.mentions or ()] == [((0, 4), ("X:1",)), ((0, 4), ("X:2",))]


@pytest.mark.parametrize(
    ("doc", "problem"),
    [
        (Document("", "a"), "its id"),
        (Document("a\tb", "a"), "its id"),
        (Document("a\nb", "a"), "its id"),
        (Document(" a", "a"), "its id"),
    ],
)
def test_gsc_refuses_what_it_cannot_hold(doc: Document, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        gsc.write([doc], io.StringIO())


@pytest.mark.data
def test_gsc_plus(tmp_path: Path) -> None:
    if "LINNET_DATA" not in os.environ:
        pytest.skip("set LINNET_DATA to the folder with the real corpora")
    docs = list(read(Path(os.environ["LINNET_DATA"]) / "corpora" / "gsc_plus"))
    assert (len(docs), sum(len(doc.mentions or ()) for doc in docs)) == (22, 173)
    with (tmp_path / "o.tsv").open("w", newline="") as out:
        assert gsc.write(docs, out) == 22
    assert list(gsc.read(tmp_path / "o.tsv")) == docs


# --- CSV -------------------------------------------------------------------------------------------------------------


def test_csv_of_mentions() -> None:
    doc = Document(
        "-d",
        '=Fits, "bad"\nones',
        mentions=(
            Mention(0, 5, concepts=("X:1",), types=("A", "B"), probability=0.25),
            Mention(5, 17, concepts=("X:0", "X:9"), probability=0.5, calibration="joint", source="user"),
            Mention(1, 5),
        ),
    )
    out = io.StringIO()
    assert mentions_csv.write([doc, Document("e", "")], out, rows=Kb()) == 2
    assert out.getvalue().startswith("\ufeff"), "Excel shows MÃ¼ller without"
    header, *rows = csv.reader(io.StringIO(out.getvalue()[1:]))
    assert tuple(header) == mentions_csv.COLUMNS
    assert rows == [
        [
            "'-d",
            "0",
            "5",
            "'=Fits",
            '«=Fits», "bad"',
            "X:1",
            "'=one",
            "",
            "0.25",
            "",
            "",
            "A|B",
            "uncalibrated",
            "pred",
            "",
            "",
        ],
        [
            "'-d",
            "5",
            "17",
            ', "bad"\nones',
            '\'=Fits«, "bad" ones»',
            "X:0|X:9",
            "zero|",
            "",
            "0.5",
            "",
            "",
            "",
            "joint",
            "user",
            "",
            "",
        ],
        ["'-d", "1", "5", "Fits", '\'=«Fits», "bad"', "", "", "", "", "", "", "", "", "pred", "", ""],
    ]


def test_csv_without_knowledge_base() -> None:
    out = io.StringIO()
    mentions_csv.write([Document("d", "@Fits", mentions=(Mention(0, 5, concepts=("X:1",)),))], out)
    assert out.getvalue().splitlines()[1] == "d,0,5,'@Fits,«@Fits»,X:1,,,,,,,,pred,,"
