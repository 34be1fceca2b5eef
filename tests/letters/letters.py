"""Reads the annotated letters as documents; what they hold is said in the README beside this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from linnet.data import Document, Mention, Span

__all__ = ["ASSERTIONS", "read_letters"]

HERE = Path(__file__).parent
ASSERTIONS = ("affirmed", "negated", "uncertain", "family", "hypothetical", "historical")


def read_letters(part: Literal["develop", "set_aside"]) -> list[Document]:
    """Return the letters of a half with gold mentions, whose ``meta`` has the assertion and, at times, a note."""
    return [_read(path) for path in sorted((HERE / part).glob("*.json"))]


def _read(path: Path) -> Document:
    found = json.loads(path.read_text(encoding="utf-8"))
    mentions = [
        Mention(
            one["start"],
            one["end"],
            parts=tuple(Span(*part) for part in one.get("parts", ())),
            source="gold",
            concepts=tuple(one["concepts"]),
            meta={key: one[key] for key in ("assertion", "note") if key in one},
        )
        for one in found["mentions"]
    ]
    meta = {key: found[key] for key in ("speciality", "style", "language")}
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return Document(found["id"], text, mentions=tuple(mentions), meta=meta)
