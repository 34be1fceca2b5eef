"""Archives from the web: unpacked in full, or refused with the reason and nothing written."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from linnet.errors import FormatError
from linnet.fetch.archive import ROOM, Room, check_archive, unpack

FILES = {"corpus/a.txt": b"Fits.", "corpus/deep/b.xml": b"<x/>", "c.txt": b""}
TAR_MODES = ("w", "w:gz", "w:bz2", "w:xz")


def zipped(path: Path, files: dict[str, bytes] = FILES, *, packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", packing) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return path


def tarred(path: Path, files: dict[str, bytes] = FILES, *, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as out:  # type: ignore[call-overload]
        for name, content in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(content)
            out.addfile(item, io.BytesIO(content))
    return path


def odd(path: Path, **fields: object) -> Path:
    """A tar file with one entry whose header has these fields."""
    with tarfile.open(path, "w:gz") as out:
        item = tarfile.TarInfo("a.txt")
        for name, value in fields.items():
            setattr(item, name, value)
        out.addfile(item, io.BytesIO(b"x" * item.size))
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def refused(archive: Path, folder: Path, *, room: Room | None = None) -> str:
    before = set(folder.parent.iterdir())
    with pytest.raises(FormatError) as caught:
        unpack(archive, folder, room=room or ROOM)
    assert set(folder.parent.iterdir()) == before, "nothing is left behind, here or beside"
    assert str(archive) in str(caught.value)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    return inside / "out"


@pytest.mark.parametrize("make", [zipped, *(lambda path, mode=mode: tarred(path, mode=mode) for mode in TAR_MODES)])
def test_everything_or_what_is_wanted(tmp_path: Path, folder: Path, make: Callable[[Path], Path]) -> None:
    archive = make(tmp_path / "a")
    assert unpack(archive, folder) == [folder / name for name in FILES]
    assert content(folder) == FILES
    few = tmp_path / "few"
    assert unpack(archive, few, only=["*/deep/*.xml"]) == [few / "corpus/deep/b.xml"]
    assert content(few) == {"corpus/deep/b.xml": b"<x/>"}
    with pytest.raises(FormatError, match=r"none of the files wanted \(\*\.ann\)"):
        unpack(archive, tmp_path / "none", only=["*.ann"])


BAD_NAMES = ("../up.txt", "a/../../up.txt", "/etc/passwd", "..", "a\\..\\b.txt", "C:/x.txt", "a\nb", "a/./../b")


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("make", [zipped, tarred])
def test_names_that_lead_out(tmp_path: Path, folder: Path, make: Callable[..., Path], name: str) -> None:
    assert "refused as unsafe" in refused(make(tmp_path / "a", {"good.txt": b"x", name: b"evil"}), folder)


def test_a_name_no_disk_takes(tmp_path: Path, folder: Path) -> None:
    assert "File name too long" in refused(tarred(tmp_path / "a", {"x" * 300: b""}), folder)


@pytest.mark.parametrize("make", [zipped, tarred])
def test_two_files_of_one_name(tmp_path: Path, folder: Path, make: Callable[..., Path]) -> None:
    assert "twice" in refused(make(tmp_path / "a", {"a.txt": b"1", "A.TXT": b"2"}), folder)
    assert "twice" in refused(make(tmp_path / "b", {"a/x": b"1", "a//x": b"2"}), folder)


def test_a_file_where_a_folder_is(tmp_path: Path, folder: Path) -> None:
    assert "cannot be unpacked" in refused(tarred(tmp_path / "a", {"a": b"1", "a/b": b"2"}), folder)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.SYMTYPE, "linkname": "good.txt"},
        {"type": tarfile.LNKTYPE, "linkname": "../../secret"},
        {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5},
        {"type": tarfile.FIFOTYPE},
    ],
)
def test_links_and_devices(tmp_path: Path, folder: Path, fields: dict[str, object]) -> None:
    assert "is a link, a device" in refused(odd(tmp_path / "a", **fields), folder)


def test_a_link_in_a_zip(tmp_path: Path, folder: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a", "w") as out:
        item = zipfile.ZipInfo("link")
        item.external_attr = 0o120777 << 16
        out.writestr(item, "/etc/passwd")
    assert "is a link, a device" in refused(tmp_path / "a", folder)


def test_an_encrypted_zip(tmp_path: Path, folder: Path) -> None:
    archive = zipped(tmp_path / "a", {"a.txt": b"secret"}, packing=zipfile.ZIP_STORED)
    data = bytearray(archive.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    assert "is encrypted" in refused(archive, folder)


SMALL = Room(bytes=1 << 24, free=1 << 16, files=50)


@pytest.mark.parametrize("make", [zipped, tarred, partial(tarred, mode="w:xz")])
def test_bombs(tmp_path: Path, folder: Path, make: Callable[..., Path]) -> None:
    assert "refused as a bomb" in refused(make(tmp_path / "a", {"zeros": bytes(1 << 22)}), folder, room=SMALL)
    many = {f"{number}.txt": b"" for number in range(60)}
    assert "more than 50 entries" in refused(make(tmp_path / "b", many), folder, room=SMALL)
    parts = {f"{number}": bytes(1 << 15) for number in range(40)}
    assert "refused as a bomb" in refused(make(tmp_path / "c", parts), folder, room=SMALL)
    ordinary = os.urandom(1 << 12).hex().encode() * 20
    assert unpack(make(tmp_path / "d", {"a.txt": ordinary}), tmp_path / "fine", room=SMALL)


def test_a_zip_that_lies_about_sizes(tmp_path: Path, folder: Path) -> None:
    archive = zipped(tmp_path / "a", {"zeros": bytes(1 << 22)})
    data = bytearray(archive.read_bytes())
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = struct.pack("<I", 5)
    archive.write_bytes(data)
    assert "damaged" in refused(archive, folder, room=SMALL)


def test_a_tar_with_a_header_that_fills_the_memory(tmp_path: Path, folder: Path) -> None:
    item = tarfile.TarInfo("long")
    item.type, item.size = tarfile.GNUTYPE_LONGNAME, 6 << 30
    archive = tmp_path / "a"
    archive.write_bytes(gzip.compress(item.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    assert "has headers of more than 1,048,576 bytes: refused as a bomb" in refused(archive, folder)


def test_archives_within_archives_are_not_opened(tmp_path: Path, folder: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"../evil.txt": b"x"}).read_bytes()
    archive = zipped(tmp_path / "a", {"x/inner.zip": inner, "x/a.txt": b"Fits."})
    unpack(archive, folder)
    assert content(folder) == {"x/inner.zip": inner, "x/a.txt": b"Fits."}


@pytest.mark.parametrize("packed", [bytes, lambda data: gzip.compress(data, 0)], ids=["tar", "tar.gz"])
def test_a_zip_at_the_end_of_a_tar_is_not_opened(
    tmp_path: Path, folder: Path, packed: Callable[[bytes], bytes]
) -> None:
    inner = zipped(tmp_path / "inner.zip", {"inner.txt": b"x"}).read_bytes()
    files = {"a/real.txt": b"Fits.", "a/extra.zip": inner}
    archive = tmp_path / "a"
    archive.write_bytes(packed(tarred(tmp_path / "plain", files, mode="w").read_bytes()))
    unpack(archive, folder)
    assert content(folder) == dict(sorted(files.items()))


@pytest.mark.parametrize("make", [zipped, *(lambda path, mode=mode: tarred(path, mode=mode) for mode in TAR_MODES)])
def test_damage(tmp_path: Path, folder: Path, make: Callable[[Path], Path]) -> None:
    whole = make(tmp_path / "whole").read_bytes()
    for end in (0, 1, 10, min(700, len(whole) // 3), min(1300, len(whole) // 2)):
        archive = tmp_path / f"cut{end}"
        archive.write_bytes(whole[:end])
        refused(archive, folder)


def test_a_wrong_checksum_inside(tmp_path: Path, folder: Path) -> None:
    data = zipped(tmp_path / "a", {"a.txt": b"Fits and fits."}, packing=zipfile.ZIP_STORED).read_bytes()
    bad = tmp_path / "bad"
    bad.write_bytes(data.replace(b"Fits and fits.", b"Fits and bits."))
    assert "damaged" in refused(bad, folder)


def test_what_is_no_archive(tmp_path: Path, folder: Path) -> None:
    for number, data in enumerate([b"", b"text", gzip.compress(b"text"), bytes(20_000), os.urandom(20_000)]):
        path = tmp_path / str(number)
        path.write_bytes(data)
        said = refused(path, folder)
        assert "no archive" in said or "damaged" in said or "no file" in said
    assert "cannot be unpacked" in refused(tmp_path / "missing", folder)


def test_a_folder_that_is_in_use(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "mine.txt").write_text("x")
    with pytest.raises(FormatError, match=r"holds 'mine\.txt' already"):
        unpack(zipped(tmp_path / "a"), folder)
    assert content(folder) == {"mine.txt": b"x"}


# --- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_packed_in_a_way_that_has_no_limit_of_memory(tmp_path: Path, folder: Path, packing: int) -> None:
    archive = zipped(tmp_path / "a", {"zeros": bytes(1 << 22)}, packing=packing)
    assert f"'zeros' is packed with method {packing}, not deflate: unpack it yourself" in refused(archive, folder)


def test_an_xz_file_that_wants_much_memory_unpacks_to_no_more_than_it_may(tmp_path: Path, folder: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 300 << 20}]
    wide, plain = tmp_path / "wide", tarred(tmp_path / "plain", {"zeros": bytes(1 << 22)}, mode="w").read_bytes()
    wide.write_bytes(lzma.compress(plain, filters=filters))
    assert "refused as a bomb" in refused(wide, folder, room=SMALL)
    assert unpack(wide, folder) == [folder / "zeros"]


def test_an_xz_file_of_several_parts(tmp_path: Path, folder: Path) -> None:
    files = {f"{number}.txt": os.urandom(700_000) for number in range(4)}
    plain = tarred(tmp_path / "plain", files, mode="w").read_bytes()
    parts = [plain[place : place + 500_000] for place in range(0, len(plain), 500_000)]
    archive = tmp_path / "a"
    archive.write_bytes(b"".join(map(lzma.compress, parts)))
    assert len(unpack(archive, folder)) == 4
    assert content(folder) == files
    few = tmp_path / "few"
    assert unpack(archive, few, only=["1.*", "3.*"]) == [few / "1.txt", few / "3.txt"]
    archive.write_bytes(archive.read_bytes()[:-40])
    assert "damaged" in refused(archive, tmp_path / "inside" / "cut")


def headers(path: Path, *items: tuple[bytes, bytes], end: bytes = bytes(1024)) -> Path:
    """A tar file of these headers, by type and content, each followed by an empty file."""
    data = b""
    for number, (kind, said) in enumerate(items):
        item = tarfile.TarInfo(f"{number}")
        item.type, item.size = kind, len(said)
        data += item.tobuf(tarfile.USTAR_FORMAT) + said + bytes(-len(said) % 512)
        data += tarfile.TarInfo(f"{number}.txt").tobuf(tarfile.USTAR_FORMAT)
    path.write_bytes(gzip.compress(data + end))
    return path


def statement(key: str, size: int) -> bytes:
    start = f"{size} {key}=".encode()
    return start + b"A" * (size - len(start) - 1) + b"\n"


def test_a_tar_that_says_much_about_its_files(tmp_path: Path, folder: Path) -> None:
    once = headers(tmp_path / "once", (tarfile.XHDTYPE, statement("comment", 2 << 20)))
    assert "headers of more than" in refused(once, folder)
    room = Room(bytes=1 << 24, free=1 << 20)
    long = [(tarfile.XHDTYPE, statement("comment", 600_000)) for _ in range(3)]
    assert "refused as a bomb" in refused(headers(tmp_path / "long", *long), folder, room=room)
    few = headers(tmp_path / "few", (tarfile.XGLTYPE, statement("comment", 50)))
    assert unpack(few, tmp_path / "fine") == [tmp_path / "fine" / "0.txt"]


def test_what_a_tar_says_of_all_its_files_is_not_kept(tmp_path: Path, folder: Path) -> None:
    said = [(tarfile.XGLTYPE, statement(f"comment{number}", 600_000)) for number in range(40)]
    archive = headers(tmp_path / "a", *said)
    tracemalloc.start()
    assert len(unpack(archive, folder)) == 40
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20, "half of what the headers hold"


def sparse(path: Path, places: bytes) -> Path:
    said = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x", "GNU.sparse.realsize": "10"}
    item = tarfile.TarInfo("x")
    item.size, item.pax_headers = 512, said
    path.write_bytes(gzip.compress(item.tobuf(tarfile.PAX_FORMAT) + places + bytes(1536 - len(places) % 512)))
    return path


def test_a_tar_file_with_holes(tmp_path: Path, folder: Path) -> None:
    assert "a file with holes" in refused(sparse(tmp_path / "a", b"1\n0\n1\n"), folder)
    assert "headers of more than" in refused(sparse(tmp_path / "b", b"999999999\n" + b"0\n" * (1 << 20)), folder)


def test_a_tar_with_a_file_of_less_than_no_bytes(tmp_path: Path, folder: Path) -> None:
    item = bytearray(tarfile.TarInfo("a.txt").tobuf(tarfile.GNU_FORMAT))
    item[124:136] = b"\xff" * 10 + b"\xfc\x00"  # -1,024, as GNU writes it: back to where this header begins
    item[148:156] = b"%06o\x00 " % (sum(item[:148]) + sum(item[156:]) + 8 * 32)
    archive = tmp_path / "a"
    archive.write_bytes(gzip.compress(bytes(item) + bytes(1024)))
    assert "the archive is damaged (a file of -1,024 bytes)" in refused(archive, folder)


# --- looked at before it is unpacked ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [zipped, tarred])
def test_names_that_are_one_on_a_mac(tmp_path: Path, folder: Path, make: Callable[..., Path]) -> None:
    assert "twice" in refused(make(tmp_path / "a", {"caf\u00e9.txt": b"1", "cafe\u0301.txt": b"2"}), folder)


@pytest.mark.parametrize("make", [zipped, tarred])
def test_an_archive_is_looked_at_whole(tmp_path: Path, make: Callable[..., Path]) -> None:
    archive = make(tmp_path / "a")
    check_archive(archive, only=["*.xml"])
    assert list(tmp_path.iterdir()) == [archive], "nothing is written"
    with pytest.raises(FormatError, match=r"none of the files wanted \(\*\.ann\)"):
        check_archive(archive, only=["*.ann"])
    archive.write_bytes(archive.read_bytes()[:-60])
    with pytest.raises(FormatError, match=r"damaged|truncated"):
        check_archive(archive)
