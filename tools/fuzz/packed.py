"""Damage to what is packed: inside, with sums and lengths that are right again, where no unpacker refuses it.

Tar and zip archives also get entries that no good one has: links, devices, names that lead outside, false sizes.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import random
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from typing import Literal

from tools.fuzz import bytewise
from tools.fuzz.trees import Tree

NAMES = (
    "../x", "/abs/x", "a/../../x", "", ".", "..", "a" * 300, "a/" * 200 + "x", "a\\..\\x", "C:x", "a/x.txt", "a",
    "A/X.TXT",    "a\x00b", "\ud800", "é", "e\u0301", " ", "a/x.txt/b", "nul", "-", "x\n",
)  # fmt: skip
TYPES = (
    tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE,
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.CONTTYPE, b"Z",
)  # fmt: skip
SIZES = (0, 1, 511, 512, 513, 1 << 20, 1 << 33, (1 << 62) + 1)
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
MODES = (0o100644, 0o120777, 0o040755, 0o020644, 0o010644, 0)
CENTRAL = b"PK\x01\x02"

Change = Callable[[bytes, random.Random], bytes]
STREAMS: dict[bytes, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {  # magic -> unpack, pack
    b"\x1f\x8b": (gzip.decompress, partial(gzip.compress, compresslevel=1, mtime=0)),
    b"BZh": (bz2.decompress, partial(bz2.compress, compresslevel=1)),
    b"\xfd7zXZ": (lzma.decompress, partial(lzma.compress, preset=0)),
}
UNWRITABLE = (OSError, ValueError, LookupError, OverflowError, struct.error, zlib.error, tarfile.TarError)


def unpacked_changed(data: bytes, rng: random.Random, change: Change) -> bytes | None:
    """Return a packed file whose content is changed (by `change` where it is no archive); None if it is none."""
    try:
        for magic, (unpack, pack) in STREAMS.items():
            if data.startswith(magic):
                return pack(change(unpack(data), rng))
        if data.startswith(b"PK\x03\x04"):
            return _zip_changed(data, rng, change)
        if data[257:262] == b"ustar":
            return _tar_changed(data, rng, change)
        return _docbin_changed(data, rng) if data[:1] == b"\x78" else None
    except (*UNWRITABLE, zipfile.BadZipFile):  # what is odd enough cannot be written
        return None


def _docbin_changed(data: bytes, rng: random.Random) -> bytes | None:
    """Return a DocBin of spaCy, which is MessagePack with more of it inside, in zlib; None where spaCy is missing."""
    try:
        srsly = importlib.import_module("srsly")
    except ModuleNotFoundError:
        return None
    plain = zlib.decompress(data)
    if rng.random() < 0.2:
        return zlib.compress(bytewise.changed(plain, rng))
    tree = Tree(srsly.msgpack_loads(plain), rng, json=False)
    inner = [key for key in ("user_data", "span_groups") if isinstance(tree.value.get(key), list)]
    if inner and rng.random() < 0.5:
        items = tree.value[rng.choice(inner)]
        place = rng.randrange(len(items))
        value = srsly.msgpack_loads(items[place], use_list=True) if items[place] else None
        items[place] = srsly.msgpack_dumps(Tree(value, rng, json=False).changed().value)
    else:
        tree.changed()
    return zlib.compress(srsly.msgpack_dumps(tree.value))


def _tar_changed(data: bytes, rng: random.Random, change: Change) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as opened:
        entries = []
        for item in opened:
            stream = opened.extractfile(item)
            entries.append((item, stream.read() if stream else b""))
    form: Literal[0, 1, 2] = rng.choice((0, 1, 2))
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(entries))
        item, content = entries[place]
        how = rng.randrange(7)
        if how == 0:
            item.name = rng.choice(NAMES)
        elif how == 1:
            item.type, item.linkname = rng.choice(TYPES), rng.choice(NAMES)
        elif how == 2:
            item.size = rng.choice(SIZES)
        elif how == 3:
            item.pax_headers, form = (
                {rng.choice(("path", "size", "linkpath", "x")): rng.choice(NAMES)},
                tarfile.PAX_FORMAT,
            )
        elif how == 4:
            entries += [entries[place]] * rng.choice((1, 50))
        elif how == 5:
            item.mode, item.uid, item.mtime = rng.choice(MODES), rng.choice((0, 1 << 40)), rng.choice((0, 1 << 40))
        else:
            content = change(content, rng)
            item.size = len(content)
            entries[place] = item, content
    made = [item.tobuf(form, "utf-8", "surrogatepass") + _whole(content) for item, content in entries]
    plain = b"".join(made) + bytes(rng.choice((1024, 1024, 10_240, 512, 0)))
    return _header_changed(plain, rng) if rng.random() < 0.2 else plain


def _whole(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


def _header_changed(data: bytes, rng: random.Random) -> bytes:
    """Return a tar file with damage to its first header, whose sum is right again."""
    block = bytearray(bytewise.flip(data[:512], rng))
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data[512:]


def _zip_changed(data: bytes, rng: random.Random, change: Change) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        entries = [(item.filename, opened.read(item)) for item in opened.infolist()]
    place = rng.randrange(len(entries))
    name, content = entries[place]
    how = rng.randrange(4)
    if how == 0:
        entries[place] = rng.choice(NAMES), content
    elif how == 1:
        entries[place] = name, change(content, rng)
    elif how == 2:
        entries += [entries[place]] * rng.choice((1, 50))
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", rng.choice(PACKED)) as packed:
        warnings.simplefilter("ignore")  # about names that stand twice
        for number, (name, content) in enumerate(entries):
            item = zipfile.ZipInfo(name)
            item.compress_type = packed.compression
            if how == 3 and number == place:
                item.external_attr = rng.choice(MODES) << 16
            packed.writestr(item, content)
    return _directory_changed(out.getvalue(), rng) if rng.random() < 0.4 else out.getvalue()


def _directory_changed(data: bytes, rng: random.Random) -> bytes:
    """Return a zip archive whose directory says something else of an entry: its size, method, flags, place …"""
    begin = data.find(CENTRAL)
    field = begin + rng.choice((6, 8, 10, 16, 20, 22, 24, 26, 28, 30, 34, 38, 40, 42, 44))
    new = rng.choice((b"\xff\xff", b"\x00\x00", b"\x01\x00", rng.randbytes(2)))
    return data[:field] + new + data[field + 2 :]
