"""Reading and writing by path: files, folders, patterns, standard input; formats found out; nothing half-written."""

from __future__ import annotations

import errno
import gzip
import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.corpora import FORMATS, growing, read, write
from linnet.corpora.sources import Found, sniff, unique_names
from linnet.data import Document, Mention
from linnet.errors import FormatError, LinnetError
from linnet.text import files

GSC = b"7\nFits.\n0\t4\tFits\tHP:0001250\n"
PUBMED = b"""<?xml version="1.0"?>
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>9</PMID><Article><ArticleTitle>T</ArticleTitle></Article>
</MedlineCitation></PubmedArticle></PubmedArticleSet>"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for name, content in {
        "b.txt": b"B",
        "a/1.txt": b"A1",
        "c/1.txt": b"C1",
        "c/2.txt.gz": gzip.compress(b"C2", mtime=0),
        "d.jsonl": b'{"id":"d1","text":"D"}\n',
        "e.tsv": GSC,
        "f.xml": PUBMED,
        ".hidden.txt": b"H",
        ".git/x.txt": b"H",
        "image.png": b"\x89PNG",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def ids(docs: Iterator[Document]) -> list[str]:
    return [doc.id for doc in docs]


def test_folder(notes: Path) -> None:
    assert ids(read(notes)) == ["a/1", "b", "c/1", "2", "d1", "7", "9"]
    assert ids(read(notes, format="text")) == ["a/1", "b", "c/1", "2"]
    assert ids(read(str(notes / "a"))) == ["1"]


def test_links_are_followed_once(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "z.txt").write_text("Z")
    (notes / "link").symlink_to(tmp_path / "elsewhere")
    (notes / "a" / "circle").symlink_to(notes)
    (notes / "y.txt").symlink_to(tmp_path / "elsewhere" / "z.txt")
    found = ids(read(notes, format="text"))
    assert found.count("z") == found.count("y") == found.count("b") == 1


def test_patterns_and_lists(notes: Path) -> None:
    assert ids(read(f"{notes}/**/*.txt")) == [f"{notes}/a/1", "b", f"{notes}/c/1"]
    assert ids(read([notes / "b.txt", notes / "d.jsonl", Document("x", "")])) == ["b", "d1", "x"]
    odd = notes / "[1].txt"
    odd.write_text("odd")
    assert ids(read(odd)) == ["[1]"]


def test_same_stem_twice(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"y", mtime=0))
    assert ids(read(tmp_path)) == ["a.txt", "a.txt.gz"]


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("note", b"Just text.", "note"),
        ("note.TXT", b'{"id":"x","text":"still text"}', "note"),
        ("export", b'\xef\xbb\xbf{"id":"j","text":""}', "j"),
        ("packed.tsv.gz", gzip.compress(GSC.replace(b"\n", b"\r\n"), mtime=0), "7"),
        ("export.dat", PUBMED, "9"),
        ("l.ndjson", b'\n{"id":"j","text":""}\n', "j"),
    ],
)
def test_format_is_found_out(tmp_path: Path, name: str, content: bytes, wanted: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert ids(read(tmp_path / name)) == [wanted]


@pytest.mark.parametrize("content", [b'{"id":"j","text":""}\n', gzip.compress(b'{"id":"j","text":""}\n', mtime=0)])
@pytest.mark.parametrize("buffered", [True, False])
def test_standard_input(content: bytes, buffered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO(content)
    stdin = io.TextIOWrapper(io.BufferedReader(raw) if buffered else raw)
    monkeypatch.setattr("sys.stdin", stdin)
    assert ids(read("-")) == ["j"]
    stdin.detach()


@pytest.mark.parametrize("ending", [b"", b"\r"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("7.pubtator", b"7|t|Fits.\n7|a|\n7\t0\t4\tFits\tSign\tD012640"),
        ("7.gsc", GSC.strip()),
        ("7.tsv", GSC.strip()),
        ("7.conll", b"Fits\tB-Sign\n.\tO"),
    ],
)
def test_lines_that_end_in_lone_carriage_returns(tmp_path: Path, name: str, content: bytes, ending: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content.replace(b"\n", b"\r") + ending)
    with pytest.raises(FormatError, match="its lines end in lone carriage returns"):
        list(read(path))
    path.write_bytes(content.replace(b"\n", b"\r\n"))
    assert [len(doc.mentions or ()) for doc in read(path)] == [1]
    note = tmp_path / "note.txt"
    note.write_bytes(b"Fits.\rFever.")
    assert [doc.text for doc in read(note)] == ["Fits.\rFever."]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.gsc", "notes"])
def test_a_full_disk_is_said_of_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Full(files._Output):
        def __init__(self, part: Path, path: str | Path, *, private: bool) -> None:
            super().__init__(Path("/dev/full"), path, private=private)

    def unreadable() -> Iterator[Document]:
        yield Document("7", "Fits.")
        raise OSError(errno.EIO, "Input/output error")

    path, format = tmp_path / name, "brat" if name == "notes" else None
    with pytest.raises(OSError, match="Input/output error"):
        write(unreadable(), path, format=format)
    monkeypatch.setattr(files, "_Output", Full)
    with pytest.raises(FormatError, match=f"{name}: cannot be written: No space left on device"):
        write([Document("7", "Fits.")], path, format=format)
    assert not list(tmp_path.iterdir())


class Slow(io.RawIOBase):
    """What another program writes, a piece at a time."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces, self.ends = pieces, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        piece = self.pieces.pop(0) if self.pieces else b""
        self.ends += not piece
        view[: len(piece)] = piece
        return len(piece)


LONG = b"7\nFits. " + b"word " * 4_000 + b"\n0\t4\tFits\tHP:0001250\n"
BIOC = b'[\n{"documents": [\n{"id": "7", "passages": [{"offset": 0, "text": "Fits."}]}]}\n]\n'


@pytest.mark.parametrize(
    "pieces",
    [
        [LONG[at : at + 8_192] for at in range(0, len(LONG), 8_192)],
        BIOC.splitlines(keepends=True),
        [bytes([byte]) for byte in gzip.compress(BIOC, mtime=0)],
    ],
    ids=["a long line", "line by line", "byte by byte"],
)
def test_standard_input_that_comes_in_pieces(pieces: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(pieces)
    stdin = io.TextIOWrapper(io.BufferedReader(slow))
    monkeypatch.setattr("sys.stdin", stdin)
    assert ids(read("-")) == ["7"]
    assert slow.ends == 1, "the end is typed once at a terminal"
    stdin.detach()


@pytest.mark.parametrize("text", ["Fits.", "[1] Fits.", "{A} note"])
def test_text_on_standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert list(read("-")) == [Document("stdin", text)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no.txt", "there is no such file"),
        ("*.none", "no file matches this pattern"),
        ("empty", r"this folder holds no file ending in .jsonl, (?=.*\.xml)(?!.*\.json,.*\.json,)"),
        ("pipe.txt", "is a pipe or a device"),
        ("x.docx", "cannot tell its format from the suffix '.docx'.*text is any note.*text_lines"),
        ("x.xml", "cannot tell its format"),
        ("S800.tsv", "published corpora are read by name, such as s800:all"),
        ("none.json", "json: is empty"),
        ("list.json", "json: is JSON, but of no format that is known"),
        ("other.json", r"json: is JSON, but of no format that is known; say which it is \(--from"),
        ("other", "other: is JSON, but of no format that is known"),
        ("wide.json", "is UTF-16 text, not UTF-8; convert it with: iconv"),
        ("wide.tsv", "holds a NUL byte at offset 1: it is binary, or UTF-16"),
        ("a.zip", "is a ZIP archive"),
        ("a.xml", "is a ZIP archive"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.docx").write_bytes(b"words")
    (tmp_path / "x.xml").write_bytes(b"<html/>")
    (tmp_path / "S800.tsv").write_bytes(b"4932\tsacch001:12345678\t0\t4\tYeast\n")
    (tmp_path / "none.json").write_bytes(b"")
    (tmp_path / "list.json").write_bytes(b'[{"name": "x"}]')
    for name_of_json in ("other.json", "other"):
        (tmp_path / name_of_json).write_bytes(b'{\n  "results": []\n}')
    (tmp_path / "wide.json").write_text('{"documents": []}', encoding="utf-16")
    (tmp_path / "wide.tsv").write_text("7", encoding="utf-16-le")
    for name_of_zip in ("a.zip", "a.xml"):
        with zipfile.ZipFile(tmp_path / name_of_zip, "w") as out:
            out.writestr("a.xml", "<collection/>")
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(FormatError, match=problem):
        list(read(tmp_path / name))


def test_folder_without_permission(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(FormatError, match="folder cannot be read: Permission denied"):
        list(read(notes))


def test_wrong_format_names() -> None:
    with pytest.raises(LinnetError, match=r"unknown corpus format 'jsnl'.*did you mean 'jsonl'"):
        read("x", format="jsnl")
    with pytest.raises(LinnetError, match=r"'pubmed' cannot be written; jsonl, pubtator"):
        write([], "x", format="pubmed")
    with pytest.raises(FormatError, match=r"into a folder: -o FOLDER/ --to parquet"):
        write([], "x.parquet")
    with pytest.raises(FormatError, match=r"no format is written with the suffix '.xyz'.*jsonl"):
        write([], "x.xyz")
    with pytest.raises(FormatError, match=r"the suffix '\.xls'; did you mean '\.xlsx'\?"):
        write([], "x.xls")


DOC = Document("d", "Fits.", mentions=(Mention(0, 4, source="gold", concepts=("HP:0001250",)),))


@pytest.mark.parametrize("name", ["o.jsonl", "o.jsonl.gz", "o.gsc"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    assert write([DOC, DOC], tmp_path / name) == 2
    assert list(read(tmp_path / name)) == [DOC, DOC]


def test_interrupted_writing_leaves_nothing(tmp_path: Path) -> None:
    def docs() -> Iterator[Document]:
        yield DOC
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(docs(), tmp_path / "o.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write([DOC], "-")
    assert capsys.readouterr().out.startswith('{"id":"d"')


def test_text_without_utf8_form(tmp_path: Path) -> None:
    doc = Document("d", "a\ud800", mentions=(Mention(0, 2, concepts=("X:1",)),))
    write([doc], tmp_path / "o.jsonl")
    assert list(read(tmp_path / "o.jsonl")) == [doc]
    for name in ("o.csv", "o.pubtator"):
        with pytest.raises(FormatError, match=r"document 'd' cannot be written as utf-8: '\\ud800' is no character"):
            write([Document("c", "Fits."), doc, Document("e", "Fits.")], tmp_path / name)
        with pytest.raises(FormatError, match="document 'd' cannot be written"):
            growing(tmp_path / name, format=name[2:])([Document("c", "Fits."), doc, Document("e", "Fits.")])
    assert [path.name for path in tmp_path.iterdir()] == ["o.jsonl"]


def test_file_names_that_are_no_utf8_become_ids_that_every_format_holds() -> None:
    assert list(unique_names([Found(Path("b\udcff.txt"), "b\udcff.txt")]).values()) == [r"b\udcff"]


def test_formats_are_importable() -> None:
    import importlib

    for format in FORMATS.values():
        for place in (format.read, format.write):
            if place:
                module, _, function = place.partition(":")
                assert callable(getattr(importlib.import_module(f"linnet.corpora.{module}"), function))


def test_prose_with_tabs_is_not_gsc() -> None:
    assert sniff(b"a\tb\nc\n1\t2\tx\tHP:1\n") is None
    assert sniff(b"\xff\xfe") is None
