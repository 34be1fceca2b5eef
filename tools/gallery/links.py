"""What pipelines find in the paragraph of the gallery: linked once, kept as JSON."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import linnet
from linnet import Document, KnowledgeBase, Mention
from linnet.corpora.splits import split_documents
from linnet.pipeline.context import Context
from linnet.pipeline.pipeline import Sentences
from linnet.recipes.config import read_recipe

__all__ = ["Found", "Linked", "Run", "find_all", "given"]

DIGITS = 3  # of probabilities
TRAINED = re.compile(r"^\* ([\w-]+).*: trained in ([\d.]+) s$", re.MULTILINE)  # of a trained folder's card


@dataclass(frozen=True)
class Found:
    """A mention: its spans (start, end) in characters, its concepts with their names, none of NIL, and a probability.

    ``assertion`` and ``seen``, whether the training documents have all of its concepts, are of what is meant.
    """

    spans: tuple[tuple[int, int], ...]
    concepts: tuple[str, ...]
    names: tuple[str, ...]
    probability: float | None = None
    calibrated: bool = False
    assertion: str = ""
    seen: bool = False


@dataclass(frozen=True)
class Run:
    """What one pipeline found, and how many seconds each of its parts was trained."""

    title: str
    trained: Mapping[str, float]
    found: Sequence[Found]


@dataclass(frozen=True)
class Linked:
    """A text, what is meant in it, and what was found; ``kb`` is the version of the knowledge base."""

    text: str
    kb: str
    concepts: int
    meant: Sequence[Found]
    runs: Sequence[Run]

    def to_json(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_json` made of it."""
        runs = [Run(run["title"], run["trained"], _read(run["found"])) for run in values["runs"]]
        return cls(values["text"], values["kb"], values["concepts"], _read(values["meant"]), runs)


def _read(values: Sequence[Mapping[str, Any]]) -> list[Found]:
    return [
        Found(
            tuple((start, end) for start, end in one["spans"]), tuple(one["concepts"]), tuple(one["names"]),
            one["probability"], one["calibrated"], one["assertion"], one["seen"],
        )
        for one in values
    ]  # fmt: skip


def find_all(plan: Mapping[str, Any], folder: Path, *, data: Path | None = None) -> Linked:
    """Link the paragraph of a plan with each of its pipelines that is there.

    Args:
        plan: of plan.toml.
        folder: the trained pipelines, each in the folder that the plan names.
        data: the corpora; None = those of LINNET_DATA.
    """
    kb = read_recipe(plan["pipeline"][0]["recipe"]).open_kb(data=data)
    assert kb is not None, "the first pipeline is a recipe that names its knowledge base"
    learned = {
        kb.row(concept)
        for doc in split_documents(plan["corpus"], split="train", data=data)
        for mention in doc.mentions or ()
        for concept in mention.concepts or ()
        if concept in kb
    }
    doc = given(plan, kb)
    [asserted] = (Sentences() >> Context(headings="keep"))([doc.spans_only()])
    meant = [
        dataclasses.replace(one, assertion=mention.assertion, seen=all(kb.row(id) in learned for id in one.concepts))
        for one, mention in zip(_found(doc, kb), asserted.mentions or (), strict=True)
    ]
    return Linked(doc.text, kb.version, len(kb), meant, list(_runs(plan, folder, doc, kb)))


def given(plan: Mapping[str, Any], kb: KnowledgeBase) -> Document:
    """Return the paragraph with what is meant in it.

    Raises:
        ValueError: a mention does not stand in the text.
    """
    text, mentions = str(plan["text"]).strip(), []
    begin = 0
    for one in plan["mention"]:
        start = text.index(one["text"], begin)
        begin = start + len(one["text"])
        ids = tuple(kb[id].id for id in one["concepts"])
        mentions.append(Mention(start, begin, source="gold", concepts=ids))
    return Document("gallery", text, mentions=tuple(mentions))


def _runs(plan: Mapping[str, Any], folder: Path, doc: Document, kb: KnowledgeBase) -> Iterator[Run]:
    for one in plan["pipeline"]:
        place = folder / one.get("folder", "")
        if "folder" in one and not (place / "pipeline.toml").is_file():
            continue
        pipeline = linnet.load(str(place)) if "folder" in one else linnet.load(one["recipe"], kb=kb)
        [linked] = pipeline([doc.spans_only() if one.get("given") else doc.bare()])
        trained: dict[str, float] = {}
        if "folder" in one:
            for part, seconds in TRAINED.findall((place / "card.md").read_text(encoding="utf-8")):
                trained[part] = round(trained.get(part, 0.0) + float(seconds), 1)
        yield Run(one["title"], trained, _found(linked, kb))


def _found(doc: Document, kb: KnowledgeBase) -> list[Found]:
    return [
        Found(
            tuple((part.start, part.end) for part in mention.parts) or ((mention.start, mention.end),),
            mention.concepts or (),
            tuple(kb[id].name for id in mention.concepts or ()),
            None if mention.probability is None else round(mention.probability, DIGITS),
            bool(mention.calibration),
        )
        for mention in doc.mentions or ()
    ]
