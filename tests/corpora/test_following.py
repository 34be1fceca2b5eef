"""Documents that follow their terminology: successors in the place of retired ids, and what is said of lost ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.corpora.following import follow
from linnet.data import Concept, Document, Mention, Name
from linnet.errors import LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.terminologies import Terminologies


@pytest.fixture
def new(tmp_path: Path) -> KnowledgeBase:
    concepts = [
        Concept("H:1", (Name("fits"),)),
        Concept("H:2", replaced_by="H:3"),
        Concept("H:3", replaced_by="H:1"),
        Concept("H:4", replaced_by=""),
    ]
    return build(concepts, tmp_path / "new.kb")


def gold(*concepts: str, alternatives: tuple[tuple[str, ...], ...] = ()) -> Mention:
    return Mention(0, 4, source="gold", concepts=concepts, alternatives=alternatives)


def test_retired_ids_become_their_successors(new: KnowledgeBase, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    mentions = (
        gold("H:2"),
        gold("H:1", "H:2"),
        gold("H:1", alternatives=(("H:3",), ("H:2",))),
        gold(),
        Mention(0, 4, concepts=("H:3",)),
        Mention(0, 4),
    )
    docs = [Document("a", "Fits.", mentions=mentions), Document("b", "Fits."), Document("c", "", mentions=())]
    first, *rest = follow(docs, new, where="g.jsonl")
    assert [mention.concepts for mention in first.mentions or ()] == [("H:1",)] * 3 + [(), ("H:1",), None]
    assert first.mentions is not None
    assert first.mentions[2].alternatives == (("H:1",),)
    assert rest == docs[1:]
    [said] = [record.message for record in caplog.records]
    assert said == "g.jsonl: retired ids replaced by their successors: 5 (H:2 → H:1: 3, H:3 → H:1: 2)"


def test_ids_that_are_lost_stay_and_are_named(new: KnowledgeBase) -> None:
    doc = Document("a", "Fits.", mentions=(gold("H:9"), gold("H:4", "H:1"), gold("H:9", "H:2")))
    place = "a 0-4 'Fits'"
    with pytest.warns(LinnetWarning) as told:
        [followed] = follow([doc], new, where="g")
    assert [str(one.message) for one in told] == [
        f"g: ids retired from new.kb without a successor, left as they are: 1 (H:4: 1), in {place}",
        f"g: ids that new.kb lacks, left as they are: 2 (H:9: 2), in {place}, {place}",
    ]
    found = [mention.concepts for mention in followed.mentions or ()]
    assert found == [("H:9",), ("H:4", "H:1"), ("H:9", "H:1")]
    many = [Document(str(number), "Fits.", mentions=(gold(f"H:{number}"),)) for number in range(10, 40)]
    with pytest.warns(LinnetWarning, match=r"30 \(H:10: 1, .*, …\), in 10 0-4 .*29 0-4 'Fits', …; linnet corpus check"):
        assert list(follow(many, new, where="g")) == many


def test_several_terminologies_are_followed(new: KnowledgeBase, tmp_path: Path) -> None:
    other = build([Concept("M:1", (Name("fits"),)), Concept("M:2", replaced_by="M:1")], tmp_path / "other.kb")
    doc = Document("a", "Fits.", mentions=(gold("H:2"), gold("M:2")))
    [followed] = follow([doc], Terminologies({"h": new, "m": other}), where="g")
    assert [mention.concepts for mention in followed.mentions or ()] == [("H:1",), ("M:1",)]
