"""Bytes that people hand in as text: what they are if they are none, and where they go wrong."""

from __future__ import annotations

from linnet.errors import FormatError

__all__ = ["decode", "refuse_binary", "refuse_no_text", "refuse_returns"]

BINARY = (
    (b"\xff\xfe\x00\x00", "is UTF-32 text, not UTF-8; convert it with: iconv -f UTF-32 -t UTF-8"),
    (b"\x00\x00\xfe\xff", "is UTF-32 text, not UTF-8; convert it with: iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", "is UTF-16 text, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "is UTF-16 text, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8"),
    (b"\x1f\x8b", "is packed with gzip twice; unpack it once"),
    (b"PK\x03\x04", "is a ZIP archive (or .xlsx, .docx), not text; unpack or export it first"),
    (b"%PDF-", "is a PDF, not text; extract its text first, for example with pdftotext"),
    (b"BZh", "is packed with bzip2; unpack it first, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "is packed with xz; unpack it first, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd; unpack it first, or pack it with gzip"),
    (b"SQLite format 3\x00", "is an SQLite database, not text; `linnet kb export` writes out a knowledge base"),
)


def refuse_binary(head: bytes, path: str) -> None:
    """Refuse a file whose first bytes are those of another encoding or packing.

    Raises:
        FormatError: for `path`, with the way out.

    >>> refuse_binary(b"{", "7.json")
    """
    for magic, problem in BINARY:
        if head.startswith(magic):
            raise FormatError(path, problem)


def decode(data: bytes, path: str, encoding: str, *, offset: int, line: int) -> str:
    """Return the text of `data`, which begins at byte `offset` and in `line` of the file.

    Raises:
        FormatError: NUL bytes or bytes of another encoding, with their offset and line.

    >>> decode("naïve".encode(), "7.txt", "utf-8", offset=0, line=1)
    'naïve'
    """
    nul = data.find(b"\x00")
    if nul >= 0:
        problem = f"holds a NUL byte at offset {offset + nul:,}: it is binary, or UTF-16 without its mark"
        raise FormatError(path, problem, line=line + data.count(b"\n", 0, nul))
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02x} at offset {offset + error.start:,}"
        cure = "convert it with: iconv -f LATIN1 -t UTF-8 (or whatever encoding it has)"
        name = encoding.upper()
        problem = f"not {name}: {where}; {cure}"
        raise FormatError(path, problem, line=line + data.count(b"\n", 0, error.start)) from error


def refuse_returns(data: bytes, path: str) -> None:
    r"""Refuse lines that end in lone carriage returns, which would be one line.

    Args:
        data: the beginning of a file, or its first line.
        path: what messages call the file.

    Raises:
        FormatError: there is no other line break.

    >>> refuse_returns(b"7\r\nFits.", "7.gsc")
    """
    if b"\n" not in data and b"\r" in data.rstrip(b"\r"):
        cure = "convert it with: tr '\\r' '\\n'"
        raise FormatError(path, f"its lines end in lone carriage returns (CR), expected line breaks (LF); {cure}")


def refuse_no_text(head: bytes, path: str) -> None:
    """Refuse a file whose first bytes show that it is no text.

    Raises:
        FormatError: nothing at all, another encoding or packing, NUL bytes, or other line breaks.

    >>> refuse_no_text(b"{", "7.json")
    """
    if not head:
        raise FormatError(path, "is empty")
    refuse_binary(head, path)
    if b"\x00" in head:
        decode(head, path, "utf-8", offset=0, line=1)
    refuse_returns(head, path)
