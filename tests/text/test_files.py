"""Opening and writing files: gzip, encodings, damage, bombs, and nothing half-written."""

from __future__ import annotations

import errno
import gzip
import io
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.errors import FormatError
from linnet.text import files
from linnet.text.files import open_bytes, open_text, read_text, replacing, replacing_folder


def made(folder: Path, content: bytes, name: str = "f.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress], ids=["plain", "gzip"])
def test_lines_are_split_at_newlines_only(tmp_path: Path, pack: object) -> None:
    text = "a\r\nb\x0bc\u2028d\n\ne\rf"
    path = made(tmp_path, pack(text.encode()), "whatever.name")  # type: ignore[operator]
    assert list(open_text(path)) == ["a", "b\x0bc\u2028d", "", "e\rf"]
    assert "".join(open_text(path, keep_ends=True)) == read_text(path) == text


def test_gzip_of_several_members(tmp_path: Path) -> None:
    assert list(open_text(made(tmp_path, gzip.compress(b"a\n") + gzip.compress(b"b\n")))) == ["a", "b"]


def test_blocks_do_not_change_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 7)
    lines = ["é" * n for n in range(12)]
    assert list(open_text(made(tmp_path, "\n".join(lines).encode()))) == lines


def test_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = made(tmp_path, b"\xef\xbb\xbfid\tname\n")
    assert list(open_text(path)) == ["id\tname"]
    assert read_text(path) == "id\tname\n"


@pytest.mark.parametrize(
    ("content", "problem", "line"),
    [
        ("ok\ncafé\n".encode("latin-1"), "byte 0xe9 at offset 6; convert it with: iconv -f CP1252 -t UTF-8", 2),
        (b"\xef\xbb\xbfok\n\xff", "byte 0xff at offset 6", 2),
        (b"ok\n\nab\x00c", "NUL byte at offset 6", 3),
        ("word".encode("utf-16"), "iconv -f UTF-16", None),
        ("word".encode("utf-32"), "iconv -f UTF-32", None),
        ("word".encode("utf-16-le"), "NUL byte at offset 1", 1),
        (b"PK\x03\x04rest", "ZIP archive", None),
        (b"%PDF-1.7", "PDF", None),
        (b"{\\rtf1 Dear", "RTF", None),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "Word or Excel", None),
        (gzip.compress(b"word" * 1000, mtime=0)[:-9], "truncated", None),
        (gzip.compress(b"word" * 1000, mtime=0)[:20], "truncated", None),
        (b"\x1f\x8b\x08\x00garbage that is no deflate stream", "damaged", None),
        (b"\x1f\x8bno method of deflating", "damaged", None),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, problem: str, line: int | None) -> None:
    path = made(tmp_path, content)
    for read in (read_text, lambda p: list(open_text(p))):
        with pytest.raises(FormatError, match=problem) as caught:
            read(path)
        assert caught.value.line == line
        assert caught.value.path == str(path)


def test_damage_after_the_first_block_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 4)
    with pytest.raises(FormatError, match="byte 0xe9 at offset 11") as caught:
        list(open_text(made(tmp_path, b"one\ntwo\ncaf\xe9\n")))
    assert caught.value.line == 3


def test_empty(tmp_path: Path) -> None:
    path = made(tmp_path, b"")
    with pytest.raises(FormatError, match="is empty"):
        list(open_text(path))
    assert list(open_text(path, may_be_empty=True)) == []
    assert read_text(path) == ""


def test_bomb_is_refused_and_dense_text_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BOMB_BYTES", 1 << 16)
    bomb = made(tmp_path, gzip.compress(b"a\n" * (1 << 22)))
    with pytest.raises(FormatError, match="gzip bomb"):
        list(open_text(bomb))
    dense = made(tmp_path, gzip.compress(os.urandom(1 << 17).hex().encode()))
    assert len(read_text(dense)) == 1 << 18


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 16)
    monkeypatch.setattr(files, "MAX_LINE", 100)
    monkeypatch.setattr(files, "MAX_TEXT", 100)
    path = made(tmp_path, b"x" * 200)
    with pytest.raises(FormatError, match="line of more than 100 bytes"):
        list(open_text(path))
    with pytest.raises(FormatError, match="larger than 100 bytes"):
        read_text(path)


def test_a_short_text_takes_little_memory(tmp_path: Path) -> None:
    path = made(tmp_path, b"Fits.")
    tracemalloc.start()
    try:
        read_text(path)
        assert tracemalloc.get_traced_memory()[1] < files.MAX_TEXT / 16
    finally:
        tracemalloc.stop()


def test_other_encodings_are_read_when_asked_for(tmp_path: Path) -> None:
    assert list(open_text(made(tmp_path, "café\n".encode("latin-1")), encoding="latin-1")) == ["café"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, problem in ((tmp_path, "folder"), (tmp_path / "pipe", "pipe"), (tmp_path / "no", "no such file")):
        with pytest.raises(FormatError, match=problem), open_bytes(path):
            pass
    with pytest.raises(FormatError, match="cannot be read"), open_bytes("a\x00b"):
        pass


def test_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = made(tmp_path, b"x")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"), open_bytes(path):
        pass


@pytest.mark.parametrize("content", [b"a\nb\n", gzip.compress(b"a\nb\n", mtime=0)])
def test_standard_input_stays_open(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr("sys.stdin", stdin)
    assert list(open_text("-")) == ["a", "b"]
    assert not stdin.closed
    stdin.detach()


def test_a_file_that_is_a_mount_of_its_own_takes_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `docker run -v ./out.jsonl:/out.jsonl` makes one."""

    def busy(_part: Path, target: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy", str(target))

    path = tmp_path / "out.jsonl"
    path.touch()
    before = path.stat().st_ino
    monkeypatch.setattr(Path, "replace", busy)
    with replacing(path) as out:
        out.write("all of it")
        assert not path.read_text()
    assert (path.read_text(), path.stat().st_ino) == ("all of it", before)
    assert [each.name for each in tmp_path.iterdir()] == ["out.jsonl"]


def test_writing_replaces_at_the_end(tmp_path: Path) -> None:
    path = made(tmp_path, b"old")
    with replacing(path) as out:
        out.write("né\r\n")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == "né\r\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.iterdir()}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_what_replaces_a_file_is_read_by_the_same_people(tmp_path: Path, mode: int) -> None:
    path = made(tmp_path, b"old")
    path.chmod(mode)
    with replacing(path) as out:
        out.write("new")
        assert modes(tmp_path) == {mode}, "from the start"
    assert path.read_text() == "new"
    assert modes(tmp_path) == {mode}
    with replacing_folder(tmp_path / "new") as part:
        assert part.stat().st_mode & 0o777 == 0o755
    (tmp_path / "new").chmod(0o700)
    with replacing_folder(tmp_path / "new") as part:
        assert part.stat().st_mode & 0o777 == 0o700


def test_interrupted_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = made(tmp_path, b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as out:
        out.write("new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_gzip_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.GZ"):
        with replacing(tmp_path / name) as out:
            out.write("text\n")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.GZ").read_bytes()
    assert read_text(tmp_path / "a.gz") == "text\n"


def test_writing_through_a_link_and_to_a_device(tmp_path: Path) -> None:
    path = made(tmp_path, b"old")
    link = tmp_path / "link"
    link.symlink_to(path)
    with replacing(link) as out:
        out.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    with replacing("/dev/null") as out:
        out.write("gone")
    assert Path("/dev/null").is_char_device()


def test_writing_to_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    ends = [(os.open(tmp_path / "fifo", os.O_RDWR), tmp_path / "fifo")]
    end, other = os.pipe()
    ends.append((end, Path(f"/dev/fd/{other}")))  # what /dev/stdout is a link to
    for end, path in ends:
        with replacing(path) as out:
            out.write("text")
        assert os.read(end, 9) == b"text"
        os.close(end)
    os.close(other)
    assert (tmp_path / "fifo").is_fifo()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("mine.kb", b"SQLite format 3\x00 and more", "is a database, which nothing else replaces"),
        ("mine.toml", b"[[pipeline]]", "is a recipe, which nothing else replaces"),
        ("trained/card.md", b"# card", "belongs to the trained pipeline .*trained: give another name"),
        ("trained/0-ngram/model/config.json", b"{}", "belongs to the trained pipeline .*trained: give another name"),
    ],
)
def test_what_is_needed_is_not_replaced(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / "trained" / "0-ngram" / "model").mkdir(parents=True)
    for other in ("pipeline.toml", "card.md"):
        made(tmp_path / "trained", b"", other)
    path = made(tmp_path, content, name)
    (tmp_path / "link.txt").symlink_to(path)
    for place in (path, tmp_path / "link.txt"):
        with pytest.raises(FormatError, match=said), replacing(place):
            pass
    assert path.read_bytes() == content


def test_what_may_be_replaced(tmp_path: Path) -> None:
    for name, kind in (("best.toml", "recipe"), ("trained/report.json", ""), ("recipes/0-mine/out.csv", "")):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        made(path.parent, b"old", path.name)
        made(path.parent.parent, b"", "pipeline.toml")
        with replacing(path, kind=kind) as out:
            out.write("new")
        assert path.read_text() == "new"


def test_a_file_that_is_read_only_stays(tmp_path: Path) -> None:
    path = made(tmp_path, b"old")
    path.chmod(0o444)
    with pytest.raises(FormatError, match="is read-only: give another name"), replacing(path):
        pass
    assert path.read_bytes() == b"old"


def test_writing_where_it_cannot_be(tmp_path: Path) -> None:
    path = made(tmp_path, b"old")
    for target, problem in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "x", "no folder"),
        (path / "x", "cannot be written"),
    ):
        with pytest.raises(FormatError, match=problem), replacing(target):
            pass


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with replacing("-") as out:
        out.write("é\n")
    assert capsys.readouterr().out == "é\n"


# --- files that change while they are read ---------------------------------------------------------------------------


def appended(path: Path) -> None:
    with path.open("ab") as out:
        out.write(b"more\n")


def cut_short(path: Path) -> None:
    os.truncate(path, 20)


def written_anew(path: Path) -> None:
    path.write_bytes(path.read_bytes()[::-1])


def written_in_secret(path: Path) -> None:
    time.sleep(0.02)  # the clock of a file system ticks every 4 to 10 ms
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, (1, 1))  # as rsync and cp -p do


@pytest.mark.slow
@pytest.mark.parametrize("change", [appended, cut_short, written_anew, written_in_secret])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"line\n" * 1_000_000)
    os.utime(path, (1, 1))
    lines = open_text(path)
    assert next(lines) == "line"
    change(path)
    with pytest.raises(FormatError, match="was changed while it was read: read it again, or a copy of it"):
        list(lines)
    assert list(open_text(path)), "read again it is taken as it is"


def test_a_packed_file_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"".join(os.urandom(40).hex().encode() + b"\n" for _ in range(50_000))))
    lines = open_text(path)
    next(lines)
    os.truncate(path, 1_500_000)
    with pytest.raises(FormatError, match=r"changed while it was read.*before that: the gzip file"):
        list(lines)


def test_a_file_that_is_removed_or_replaced_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"line\n" * 500_000)
    lines = open_text(path)
    next(lines)
    (tmp_path / "new").write_bytes(b"new\n")
    (tmp_path / "new").replace(path)
    assert len(list(lines)) == 499_999


def test_packed_twice(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"text")))
    with pytest.raises(FormatError, match="packed with gzip twice"):
        list(open_text(path))


# --- folders ---------------------------------------------------------------------------------------------------------


def test_a_folder_that_another_process_filled_meanwhile(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    said = r"out: cannot be put in its place .*did another process write there meanwhile"
    with pytest.raises(FormatError, match=said), replacing_folder(folder) as part:
        (part / "sub").mkdir()
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "theirs.txt").write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing is left beside"
    assert [path.name for path in folder.rglob("*.txt")] == ["theirs.txt"]


def test_folders_of_writers_that_died_are_removed(tmp_path: Path) -> None:
    day = time.time() - 90_000
    for name, age in ((".out.01234567.part", day), (".out.abcdef01.part", time.time()), ("outabcdefgh.part", day)):
        (tmp_path / name / "sub").mkdir(parents=True)
        os.utime(tmp_path / name, (age, age))
    with replacing_folder(tmp_path / "out"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.abcdef01.part", "out", "outabcdefgh.part"]
