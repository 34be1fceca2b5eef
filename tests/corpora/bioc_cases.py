"""BioC XML made on the spot, read and written: what the tests of several modules share."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from linnet.corpora import bioc_xml
from linnet.data import Document


def made(folder: Path, content: str | bytes, name: str = "f.xml") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def annotation(text: str, *locations: tuple[int, int], infons: dict[str, str] | None = None, id: str = "T1") -> str:
    told = "".join(f"<infon key='{key}'>{value}</infon>" for key, value in (infons or {}).items())
    placed = "".join(f"<location offset='{offset}' length='{length}'/>" for offset, length in locations)
    return f"<annotation id='{id}'>{told}{placed}<text>{text}</text></annotation>"


def one(folder: Path, content: str, **options: Any) -> Document:
    [doc] = bioc_xml.read(made(folder, content), **options)
    return doc


def written(doc: Document, **options: Any) -> str:
    out = io.StringIO()
    assert bioc_xml.write([doc], out, **options) == 1
    return out.getvalue()
