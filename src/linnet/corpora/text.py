"""Plain text: one document a file, or one document a line.

The text is the file's, character for character (a byte order mark aside): CRLF stays two characters, so that offsets
fit what other programs count. Documents are not normalised in any way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linnet.corpora.sources import stem
from linnet.data import Document
from linnet.reporter import warn
from linnet.text.files import open_text, read_text, shown

__all__ = ["read", "read_lines"]


def read(path: str | Path, *, name: str = "") -> Iterator[Document]:
    """Yield the file as one document, its id is `name`; an empty file is an empty document, with a warning.

    Raises:
        FormatError: no UTF-8 text, with the byte offset and line.
    """
    text = read_text(path)
    if not text:
        warn(f"{shown(path)}: is empty, taken as a document without text")
    yield Document(name or stem(path), text)


def read_lines(path: str | Path, *, name: str = "") -> Iterator[Document]:
    """Yield each line that is not blank as a document; its id is `name` and the line's number, ``notes:7``.

    Raises:
        FormatError: no UTF-8 text, with the byte offset and line.
    """
    lines = 0
    for lines, line in enumerate(open_text(path, may_be_empty=True), 1):
        if line.strip():
            yield Document(f"{name or stem(path)}:{lines}", line)
    if not lines:
        warn(f"{shown(path)}: is empty, it gives no documents")
