"""A terminology out of annotated documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.errors import LinnetError
from linnet.kb.build import build
from linnet.vocabularies.corpus_concepts import read_corpus_concepts

TEXT = "Fits and Fever; fits, breast and  ovarian cancer."


def gold(surface: str, *concepts: str, start: int = 0, **fields: Any) -> Mention:
    at = TEXT.index(surface, start)
    fields = {"source": "gold", "concepts": concepts, "types": ("Disease",), **fields}
    return Mention(at, at + len(surface), **fields)


def concepts(*mentions: Mention, min_count: int = 1) -> list[Concept]:
    return list(
        read_corpus_concepts([Document("d1", TEXT, mentions=mentions), Document("d2", "")], min_count=min_count)
    )


def test_names_by_frequency_and_types_by_majority() -> None:
    fits, again = gold("Fits", "X:1", types=("Sign", "Finding")), gold("fits", "X:1")
    found = concepts(fits, again, gold("fits", "X:1", source="user"), gold("Fever", "X:2", types=()))
    assert found == [
        Concept("X:1", (Name("fits"), Name("Fits")), ("Disease",)),
        Concept("X:2", (Name("Fever"),)),
    ]
    assert [concept.origin for concept in found] == ["d1:0", "d1:9"]
    both = concepts(gold("Fits", "X:1", types=("A", "B")), gold("fits", "X:1", types=("B", "A")))
    assert both[0].types == ("A", "B")
    assert concepts(fits, again, again, min_count=2)[0].names == (Name("fits"),)
    assert concepts(fits, min_count=2)[0].names == (Name("Fits"),)


def test_predictions_and_nil_are_no_concepts() -> None:
    mentions = [gold("Fits", "X:1", source="pred"), gold("Fits"), gold("Fits", concepts=None), gold("Fever", "X:2")]
    assert [concept.id for concept in concepts(*mentions)] == ["X:2"]
    with pytest.raises(LinnetError, match="no mention in these documents has a concept"):
        concepts(*mentions[:3])
    with pytest.raises(LinnetError, match="min_count is 0"):
        concepts(*mentions, min_count=0)


def test_composite_mentions() -> None:
    surface = "breast and  ovarian cancer"
    whole = gold(surface, "X:1", "X:2")
    stated = gold(surface, "X:1", "X:2", meta={"conjuncts": "breast cancer|ovarian cancer"})
    wrong = gold(surface, "X:1", "X:2", meta={"conjuncts": "breast cancer"})
    related = (Name("breast and ovarian cancer", "related"),)
    assert [concept.names for concept in concepts(whole)] == [related, related]
    assert [concept.names for concept in concepts(wrong)] == [related, related]
    assert [concept.names for concept in concepts(whole, stated)] == [
        (Name("breast cancer"),),
        (Name("ovarian cancer"),),
    ]


def test_alternatives_and_parts() -> None:
    at = TEXT.index("breast")
    end = TEXT.index("cancer") + 6
    parts: Any = ((at, at + 6), (end - 6, end))
    mention = Mention(at, end, parts, source="gold", concepts=("X:1",), alternatives=(("X:3",),))
    assert concepts(mention) == [
        Concept("X:1", (Name("breast cancer"),)),
        Concept("X:3", (Name("breast cancer"),)),
    ]


def test_builds(tmp_path: Path) -> None:
    kb = build(read_corpus_concepts([Document("d1", TEXT, mentions=(gold("Fits", "X:1"),))]), tmp_path / "a.kb")
    assert kb.search("fits")[0].id == "X:1"


def test_concepts_without_an_id() -> None:
    doc = Document("d", "Fits.", mentions=(Mention(0, 4, source="gold", concepts=("X:1", "")),))
    with pytest.raises(LinnetError, match="document 'd', mention 0-4: a concept without id"):
        list(read_corpus_concepts([doc]))
