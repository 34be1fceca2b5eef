"""Reads the annotated letters as documents; what they hold is said in the README beside this file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import linnet
from linnet.data import Document, Mention, Span
from linnet.pipeline import Sentences
from linnet.pipeline.component import align, blind
from linnet.pipeline.context import Context

__all__ = ["HERE", "read_assertions", "read_further", "read_letters"]

HERE = Path(__file__).parent


def read_letters(part: Literal["develop", "set_aside"]) -> list[Document]:
    """Return the letters of a half with gold mentions, some with a note in their ``meta``."""
    return [_read(path) for path in sorted((HERE / part).glob("*.json"))]


def read_further(part: Literal["read", "scored"]) -> list[Document]:
    """Return the further letters; mentions of those without concepts have None."""
    return list(linnet.read(HERE / "further" / f"{part}.jsonl"))


def read_assertions(gold: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Yield the assertion of each mention in gold, and the one that `Context` gives it, "" where it drops it."""
    context = Context()
    for doc, read in zip(gold, context(Sentences()(blind(gold, context))), strict=True):
        for theirs, ours in align(doc, read):
            if theirs is not None:
                yield theirs.assertion, ours.assertion if ours is not None else ""


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
