"""Reads the annotated letters as documents; what they hold is said in the README beside this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from linnet.data import Document, Mention, Span

__all__ = ["HERE", "read_letters"]

HERE = Path(__file__).parent


def read_letters(part: Literal["develop", "set_aside"]) -> list[Document]:
    """Return the letters of a half with gold mentions, some with a note in their ``meta``."""
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
            assertion=one["assertion"],
            meta={"note": one["note"]} if "note" in one else {},
        )
        for one in found["mentions"]
    ]
    meta = {key: found[key] for key in ("speciality", "style", "language")}
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return Document(found["id"], text, mentions=tuple(mentions), meta=meta)
