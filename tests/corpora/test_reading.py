"""Files that cannot be read: all are named at once, and nothing is read twice where all can be."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import linnet
from linnet.errors import FormatError

LATIN = "Sj\u00f6gren".encode("latin-1")


def notes(folder: Path, bad: set[int], count: int = 20) -> Path:
    for number in range(count):
        (folder / f"{number:02}.txt").write_bytes(LATIN if number in bad else b"Seizures.")
    return folder


def problem(folder: Path) -> list[str]:
    with pytest.raises(FormatError) as caught:
        list(linnet.read(folder))
    return str(caught.value).splitlines()


def test_all_bad_files_are_named(tmp_path: Path) -> None:
    lines = problem(notes(tmp_path, {3, 4, 19}))
    assert lines[0].startswith(f"{tmp_path / '03.txt'}:1: not UTF-8: ")
    assert lines[1] == "  2 files behind it cannot be read either:"
    assert [line.split(": ")[0] for line in lines[2:]] == [f"  {tmp_path / name}.txt:1" for name in ("04", "19")]


def test_one_bad_file_is_said_as_ever(tmp_path: Path) -> None:
    assert len(problem(notes(tmp_path, {3}))) == 1


def test_ten_are_named_and_the_others_counted(tmp_path: Path) -> None:
    lines = problem(notes(tmp_path, set(range(2, 20))))
    assert lines[1] == "  17 files behind it cannot be read either:"
    assert sum(".txt:1: " in line for line in lines) == 10
    assert lines[-1] == "  … and 8 more"
    assert len(problem(notes(tmp_path, set(range(10))))) == 11, "ten are all"


def test_looking_ahead_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Iterator[float] = iter([0.0, 1.0, 2.0, 3.0, 99.0])
    monkeypatch.setattr("linnet.corpora.reading.time.monotonic", lambda: next(clock))
    lines = problem(notes(tmp_path, set(range(20))))
    assert lines[1] == "  3 of the next 3 files cannot be read either:"


def test_looking_ahead_is_silent(tmp_path: Path) -> None:
    notes(tmp_path, {0, 3})
    (tmp_path / "02.txt").write_bytes(b"")  # is read with a warning
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(problem(tmp_path)) == 3


def test_what_is_read_before_is_given(tmp_path: Path) -> None:
    docs = linnet.read(notes(tmp_path, {2, 5}))
    assert [next(docs).id, next(docs).id] == ["00", "01"]
    with pytest.raises(FormatError, match=r"02\.txt"):
        next(docs)


def test_letters_of_word_are_told_how_to_save(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a.docx", "b.pdf", "~$a.docx", "~$note.txt"):  # the last two are what Word leaves beside open files
        (tmp_path / name).write_bytes(b"\x05\0")
    cure = "save those of Word, PDF and RTF as plain text"
    with pytest.raises(FormatError, match=f"this folder holds no file ending in .*; {cure}"):
        list(linnet.read(tmp_path))
    (tmp_path / "note.txt").write_text("Seizures.")
    assert [doc.id for doc in linnet.read(tmp_path)] == ["note"]
    assert "files that were not read, as their endings are not known: 2: .docx (1), .pdf (1)" in caplog.text
    assert cure in caplog.text


def test_tables_of_a_folder_are_named_by_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,Fits.\n")
    with pytest.raises(
        FormatError, match=r"holds no file ending in \.parquet, .*; name those .* by a pattern"
    ) as error:
        list(linnet.read(tmp_path, format="table"))
    pattern = str(error.value).rsplit("'", 2)[1]
    assert [doc.text for doc in linnet.read(pattern, format="table")] == ["Fits."]
