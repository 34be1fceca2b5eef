"""A knowledge base that becomes its next release by edits, and what was trained with it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.detect.dictionary import Dictionary
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.vocabularies import update as module
from linnet.vocabularies.diff import diff
from linnet.vocabularies.stored import retired_by_id
from linnet.vocabularies.update import update

from .conftest import Make

WORDS = ("renal", "cyst", "short", "finger", "cardiac", "pain", "chronic", "skin", "lesion", "b12")
TYPES = ("Disease", "Sign", "Chemical")


def release(chance: random.Random, size: int) -> list[Concept]:
    """Return concepts, live and retired, in any order: those of two releases share ids and little else."""
    ids = [f"X:{number}" for number in chance.sample(range(2 * size), size)]
    concepts = []
    for place, id in enumerate(ids):
        names = [Name(" ".join(chance.sample(WORDS, 3)), chance.choice(("exact", "broad"))) for _ in range(3)]
        parents = tuple(chance.sample(ids[:place], min(place, 2)))
        xrefs = tuple(chance.sample(("A:1", "B:2", "C:3"), 2))
        concepts.append(
            Concept(id, tuple(dict.fromkeys(names)), (chance.choice(TYPES),), chance.choice(WORDS), parents, xrefs)
        )
    others = [f"X:{number}" for number in range(2 * size) if f"X:{number}" not in ids]
    retired = [Concept(id, replaced_by=chance.choice([*ids, ""])) for id in chance.sample(others, size // 3)]
    chance.shuffle(made := concepts + retired)
    return made


@pytest.mark.parametrize("seed", range(4))
def test_it_says_what_the_new_one_says(make: Make, seed: int) -> None:
    chance = random.Random(seed)
    old = make(*release(chance, 60))
    for _ in range(3):
        new = make(*release(chance, 60))
        update(old.path, new, other=True)
        old = KnowledgeBase.open(old.path)
        assert list(diff(old, new)) == []
        assert (old.info["concepts"], old.info["names"]) == (new.info["concepts"], new.info["names"])
        for one in retired_by_id(new):
            assert (one.id in old) == (one.id in new)
            assert one.id not in new or old[one.id].id == new[one.id].id
        assert not +update(old.path, new)
        assert KnowledgeBase.open(old.path).version == old.version


def test_a_successor_that_is_withdrawn_is_none_any_more(make: Make) -> None:
    one = Concept("X:1", (Name("one"),))
    old, new = (make(one, Concept("X:2", (Name("two"),), replaced_by=to)) for to in ("X:1", ""))
    assert [change.kind for change in diff(old, new)] == ["redirected"]
    assert dict(+update(old.path, new)) == {"redirected": 1}
    assert "X:2" not in (updated := KnowledgeBase.open(old.path))
    assert list(diff(updated, new)) == []
    assert not +update(old.path, new)


def test_a_dry_run_counts_and_keeps_nothing(make: Make) -> None:
    old, new = make(Concept("X:1", (Name("one"),))), make(Concept("X:2", (Name("two"),)))
    with pytest.raises(
        KnowledgeBaseError, match=r"does not know 1 of the 1 concepts of .*, such as X:1: is it another"
    ):
        update(old.path, new, dry_run=True)
    assert dict(+update(old.path, new, dry_run=True, other=True)) == {"added": 1, "retired": 1}
    assert "X:1" in old


def test_sources_of_the_new_one_are_cited_once(tmp_path: Path) -> None:
    concepts = [Concept("X:1", (Name("one"),))], [Concept("X:1", (Name("uno"),))]
    old, new = (
        build(some, tmp_path / f"{release}.kb", sources=[{"vocabulary": "obo", "release": release}])
        for some, release in zip(concepts, ("2017", "2024"), strict=True)
    )
    update(old.path, new)
    assert [one["release"] for one in KnowledgeBase.open(old.path).sources] == ["2017", "2024"]


def test_an_older_release_is_told(tmp_path: Path) -> None:
    old, new, other = (
        build([Concept("X:1", (Name(day),))], tmp_path / f"{day}.kb", sources=[{"release": f"{ontology}/{day}"}])
        for ontology, day in (("hp", "2024-12-12"), ("hp", "2025-01-16"), ("doid", "2023-01-01"))
    )
    with pytest.warns(LinnetWarning, match=r"2024-12-12\.kb is an older release \(2024-12-12\) than 2025"):
        update(new.path, old, dry_run=True)
    update(old.path, new)  # warnings are errors here
    update(old.path, other)


def test_an_edit_meanwhile_is_not_undone(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = make(Concept("X:1", (Name("one"),))), make(Concept("X:1", (Name("uno"),)))
    compare = module._compare

    def edited(*kbs: KnowledgeBase) -> object:
        found = compare(*kbs)
        with KnowledgeBase.edit(old.path) as edit:
            edit.add(Concept("X:9", (Name("nine"),)))
        return found

    monkeypatch.setattr(module, "_compare", edited)
    with pytest.raises(KnowledgeBaseError, match="was edited while it was read: update it again"):
        update(old.path, new)
    assert "X:9" in KnowledgeBase.open(old.path)


def test_what_was_trained_with_it_follows(make: Make, tmp_path: Path) -> None:
    fever, rash, ague = (Concept(f"X:{n}", (Name(name),)) for n, name in enumerate(("Fever", "Rash", "Ague")))
    old = make(fever, rash, ague)
    text = "Feels hot, itchy spots, shivers."
    marked = [Mention(6, 9, concepts=("X:0",)), Mention(11, 22, concepts=("X:1",)), Mention(24, 31, concepts=("X:2",))]
    gold = Document("d", text, mentions=tuple(replace(one, source="gold") for one in marked))
    dictionary = Dictionary(kb=old, aliases=True)
    list(dictionary.fit([gold], [], before=Pipeline(), kb=old, args={}))
    saving.save(dictionary >> Decide(kb=old), tmp_path / "trained")
    new = make(Concept("Y:7", (Name("Eruption"),)), fever, Concept("X:1", replaced_by="Y:7"))
    update(old.path, new)
    with pytest.warns(LinnetWarning, match=r"what was learned of them is left out: 1 \(X:2\)"):
        pipeline = config.load(tmp_path / "trained", kb=KnowledgeBase.open(old.path))
    [doc] = pipeline([Document("e", text)])
    assert [(doc.surface(one), one.concepts) for one in doc.mentions or ()] == [
        ("hot", ("X:0",)),
        ("itchy spots", ("Y:7",)),
    ]


def test_what_was_edited_by_hand_is_named(make: Make) -> None:
    release = [Concept(f"X:{number}", (Name(f"Name {number}"),)) for number in range(8)]
    retired = Concept("X:2", replaced_by="X:0")
    old, new = make(*release), make(release[0], release[1], retired, *release[3:7], Concept("X:7", (Name("Other"),)))
    with KnowledgeBase.edit(old.path) as edit:
        edit.add(Concept("LOCAL:1", (Name("Ward fever"),)))
        for id in ("X:1", "X:2"):
            edit.add(Concept(id, (Name("Ward name"),)))
        edit.retire("X:3")
        edit.replace(Concept("X:4", (Name("Name four"),)))
        edit.replace(release[4])  # as it was
    told = r"edited by hand, and of which .* says something else, or nothing: 4 \(LOCAL:1, X:1, X:2, X:3\)"
    for dry_run in (True, False):
        with pytest.warns(LinnetWarning, match=told):
            update(old.path, new, dry_run=dry_run)
    kb = KnowledgeBase.open(old.path)
    assert kb.history[-1]["action"] == f"update to {new.path.stem} {new.version}: changed 2, restored 1, retired 2"
    assert not +update(kb.path, new), "nothing is left to warn of"
    update(kb.path, make(*(Concept(f"X:{number}", (Name("Next"),)) for number in range(8))))  # nor in the next release
