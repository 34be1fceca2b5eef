"""Mentions that are kept because they can be linked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.detect.dictionary import Dictionary
from linnet.detect.linkable import Linkable
from linnet.errors import PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Detector
from linnet.pipeline.decide import Decide
from linnet.pipeline.roles import Union
from linnet.retrieve.ngram import Ngram


@dataclass
class Given(Detector):
    """Finds these words, each with its type."""

    words: tuple[tuple[str, str], ...]

    def detect(self, docs: Sequence[Document], /, **_: Any) -> list[list[Mention]]:
        return [[self._mention(doc, *pair) for pair in self.words if pair[0] in doc.text] for doc in docs]

    def _mention(self, doc: Document, word: str, kind: str) -> Mention:
        start = doc.text.index(word)
        return Mention(start, start + len(word), types=(kind,) if kind else ())


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    concepts = [
        Concept("X:1", (Name("gastric cancer"),), ("Disease",)),
        Concept("X:2", (Name("optic nerve"),), ("Anatomy",)),
        Concept("X:3", (Name("very bad hereditary pain"),), ("Disease",)),
    ]
    return build(concepts, tmp_path / "x.kb")


def found(part: Detector, text: str) -> list[str]:
    doc = Document("1", text)
    [made] = (Union([part]) >> Decide(kb=part.inner[-1].kb))([doc])  # type: ignore[attr-defined]
    return [doc.surface(mention) for mention in made.mentions or ()]


def test_what_no_name_is_like_is_left_out(kb: KnowledgeBase) -> None:
    words = Given((("gastric cancers", "Disease"), ("hereditary gastric cancer", ""), ("bad stomach", "")))
    text = "gastric cancers of the bad stomach; hereditary gastric cancer"
    linked = [found(Linkable([words, Ngram(kb=kb)], min_score=least), text) for least in (0.0, 0.8, 0.99)]
    assert linked == [["gastric cancers", "bad stomach", "hereditary gastric cancer"], ["gastric cancers"], []]


def test_what_is_linked_to_another_type_is_left_out(kb: KnowledgeBase) -> None:
    words = Given((("optic nerve", "Disease"), ("gastric cancer", "Disease")))
    assert found(Linkable([words, Ngram(kb=kb)]), "optic nerve, gastric cancer") == ["gastric cancer"]
    for kind in ("Anatomy", "", "Sign"):  # the knowledge base has no signs: the type is of another vocabulary
        assert found(Linkable([Given((("optic nerve", kind),)), Ngram(kb=kb)]), "optic nerve") == ["optic nerve"]


def test_a_union_takes_what_another_finds_instead(kb: KnowledgeBase) -> None:
    longer = Given((("very bad gastric cancer", ""),))
    both = Union([Dictionary(kb=kb), Linkable([longer, Ngram(kb=kb)], min_score=0.95)], overlaps="longest")
    doc = Document("1", "very bad gastric cancer")
    assert [doc.surface(mention) for mention in (both >> Decide(kb=kb))([doc])[0].mentions or ()] == ["gastric cancer"]


def test_wrong_parts_are_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(PipelineError, match="Ngram finds no mentions; put a detector first"):
        Linkable([Ngram(kb=kb)])
    with pytest.raises(PipelineError, match="no part gives candidates"):
        Linkable([Given(())])
    with pytest.raises(RecipeError, match="min_score: -1 must be 0 or more"):
        Linkable([Dictionary(kb=kb)], min_score=-1)
