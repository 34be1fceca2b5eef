from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.data import Candidates, Concept, Document, Mention, Name
from linnet.errors import FormatError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Allow, Pipeline, Step
from linnet.pipeline.aliases import Aliases
from linnet.recipes import config, saving
from linnet.retrieve.ngram import Ngram


def doc(id: str, text: str, **answers: tuple[str, ...] | None) -> Document:
    """A document in which each word of `answers` (``_`` is a blank) is linked."""
    mentions = []
    for word, concepts in answers.items():
        start = text.index(word.replace("_", " "))
        mentions.append(Mention(start, start + len(word), source="gold", concepts=concepts))
    return Document(id, text, mentions=tuple(mentions))


TRAIN = (
    doc("1", "A cold day, with a fainting fit.", cold=("X:1",), fainting_fit=("HP:0001250",)),
    doc("2", "The cold and falling sickness", cold=("X:2",), falling_sickness=("HP:0009999",)),
    doc("3", "A cold again", cold=("X:2",)),
    doc(
        "4", "small size or unknown things", small=("HP:0004322", "HP:0000118"), unknown=("Z:9",), things=(), size=None
    ),
)


def fitted(kb: KnowledgeBase, **keywords: Any) -> Ngram:
    ngram = Ngram(kb=kb, **keywords)
    steps = list(ngram.fit(TRAIN, (), before=Pipeline(Ngram(kb=kb)), kb=kb, args={}))
    assert steps == [Step(1, 1)]
    return ngram


def found(ngram: Ngram, text: str, allow: Allow | None = None) -> Candidates:
    [[candidates]] = ngram.retrieve(
        [Document("d", text, mentions=(Mention(0, len(text)),), abbreviations=())], allow=allow
    )
    return candidates


def ids(ngram: Ngram, text: str, allow: Allow | None = None) -> list[str]:
    return [ngram.kb.id(row) for row in found(ngram, text, allow).rows.tolist()]


def test_what_is_collected(kb: KnowledgeBase) -> None:
    aliases = Aliases.of(TRAIN, kb)
    seen = {(text, kb.id(row)): total for (text, row), total in zip(aliases.keys, aliases.totals.tolist(), strict=True)}
    assert seen == {
        ("cold", "X:1"): 1,
        ("cold", "X:2"): 2,
        ("fainting fit", "HP:0001250"): 1,
        ("falling sickness", "HP:0001250"): 1,  # the successor of the retired concept
    }
    shares = dict(zip(aliases.keys, aliases.shares.tolist(), strict=True))
    assert shares["cold", kb.row("X:2")] == pytest.approx(2 / 4)
    assert shares["fainting fit", kb.row("HP:0001250")] == pytest.approx(1 / 2)


def test_long_forms_are_aliases_too(kb: KnowledgeBase) -> None:
    text = "Grand mal attack (GMA) came. GMA went."
    at = text.rindex("GMA")
    gold = Document("a", text, mentions=(Mention(at, at + 3, concepts=("HP:0001250",)),))
    assert {text for text, _ in Aliases.of([gold], kb).keys} == {"gma", "grand mal attack"}


def test_aliases_are_names(kb: KnowledgeBase) -> None:
    assert ids(Ngram(kb=kb), "falling sickness")[:1] != ["HP:0001250"]
    ngram = fitted(kb)
    assert ids(ngram, "falling sickness")[0] == "HP:0001250"
    candidates = found(ngram, "Falling sickness")
    assert candidates.names is not None
    assert candidates.names[0] == -1
    assert candidates == candidates.sorted()
    assert ids(fitted(kb, aliases=False), "falling sickness") == ids(Ngram(kb=kb), "falling sickness")


def test_what_a_name_meant_decides_among_equals(kb: KnowledgeBase) -> None:
    assert ids(Ngram(kb=kb), "cold")[:2] == ["X:1", "X:2"]
    assert ids(fitted(kb), "cold")[:2] == ["X:2", "X:1"]
    equal = found(fitted(kb, prior=0.0), "cold")
    assert [kb.id(row) for row in equal.rows[:2].tolist()] == ["X:1", "X:2"]
    assert equal.scores[0] == equal.scores[1]
    assert equal.names is not None
    assert equal.names[0] >= 0, "an equal name that has a row is kept"


def test_allow_and_k_hold_for_aliases(kb: KnowledgeBase) -> None:
    ngram = fitted(kb, k=1)
    assert ids(ngram, "cold") == ["X:2"]
    assert ids(ngram, "cold", Allow(types=("Temperature",))) == ["X:1"]
    assert ids(ngram, "falling sickness", Allow(ids=())) == []


def test_without_leaves_out_what_documents_brought(kb: KnowledgeBase) -> None:
    ngram = fitted(kb)
    part = ngram.without(["2", "4", "unknown"])
    assert part.index is ngram.index
    retrained = Ngram(kb=kb)
    list(retrained.fit([TRAIN[0], TRAIN[2]], (), before=Pipeline(Ngram(kb=kb)), kb=kb, args={}))
    for text in ("cold", "falling sickness", "fainting fit", "seizure", "sick fit"):
        assert found(part, text) == found(retrained, text)
    assert found(ngram.without([]), "cold") == found(ngram, "cold")
    assert found(ngram.without(["1", "2", "3"]), "cold").rows.tolist() == found(Ngram(kb=kb), "cold").rows.tolist()
    assert ids(ngram, "falling sickness")[0] == "HP:0001250", "the whole is as it was"
    assert found(Ngram(kb=kb).without(["1"]), "cold") == found(Ngram(kb=kb), "cold")


def test_leaving_out_twice_is_leaving_out_once(kb: KnowledgeBase) -> None:
    aliases = Aliases.of(TRAIN, kb)
    once = aliases.without(["2"])
    for more in ([], ["2"], ["2", "unknown"]):
        assert once.without(more).totals.tolist() == once.totals.tolist()
    assert once.without(["3"]).totals.tolist() == aliases.without(["2", "3"]).totals.tolist()


def test_aliases_follow_retired_concepts(tmp_path: Path) -> None:
    names = build([Concept(f"X:{n}", (Name(text),)) for n, text in enumerate(("One", "Two", "Three"))], tmp_path / "a")
    train = [doc("1", "odd thing, odd thing", odd_thing=("X:0",)), doc("2", "odd thing", odd_thing=("X:1",))]
    both = doc("3", "odd thing, odd thing", odd_thing=("X:0",))
    also = Mention(11, 20, source="gold", concepts=("X:1",))
    train.append(replace(both, mentions=(*(both.mentions or ()), also)))
    ngram = Ngram(kb=names)
    list(ngram.fit(train, (), before=Pipeline(Ngram(kb=names)), kb=names, args={}))
    ngram.save(tmp_path / "saved")
    with KnowledgeBase.edit(names.path) as edit:
        edit.retire("X:0", successor="X:1")
    after = KnowledgeBase.open(names.path)
    loaded = Ngram.load(tmp_path / "saved", kb=after)
    assert ids(loaded, "odd thing")[0] == "X:1"
    assert loaded.learned.totals.tolist() == [4]  # of the third document, what it said of both
    assert np.array_equal(loaded.learned.totals, Aliases.of(train, after).totals)
    with KnowledgeBase.edit(names.path) as edit:
        edit.retire("X:1")
    with pytest.warns(LinnetWarning, match=r"what was learned of them is left out: 2 \(X:0, X:1\)"):
        assert len(Ngram.load(tmp_path / "saved", kb=KnowledgeBase.open(names.path)).learned) == 0


def test_saved_loaded_pickled(kb: KnowledgeBase, tmp_path: Path) -> None:
    ngram = fitted(kb)
    pipeline = Pipeline(ngram, kb=kb)
    saving.save(pipeline, tmp_path / "saved")
    [loaded] = config.load(tmp_path / "saved", kb=kb).parts
    assert isinstance(loaded, Ngram)
    moved = pickle.loads(pickle.dumps(ngram))
    for other in (loaded, moved):
        for text in ("cold", "falling sickness"):
            assert found(other, text) == found(ngram, text)
            assert found(other.without(["2"]), text) == found(ngram.without(["2"]), text)
    assert np.array_equal(loaded.learned.totals, ngram.learned.totals)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is no alias"),
        ("[]", "is no alias"),
        ('{"alias": "a", "concept": "X:1"}', "is no alias"),
        ('{"alias": "a", "concept": "X:1", "documents": {"d": 0}}', "is no alias"),
        ('{"alias": "a", "concept": "X:1", "documents": {"d": 1e300}}', "is no alias"),
        ('{"alias": "a", "concept": "X:1", "documents": []}', "is no alias"),
        ('{"alias": 3, "concept": "X:1", "documents": {"d": 1}}', "alias 3 is no text"),
        ('{"alias": "a", "concept": "X:77", "documents": {"d": 1}}', "no concept 'X:77'.*train again"),
        ("[" * 100_000, "is no alias"),
    ],
)
def test_a_damaged_file_of_aliases(kb: KnowledgeBase, tmp_path: Path, line: str, message: str) -> None:
    fitted(kb).save(tmp_path)
    (tmp_path / "aliases.jsonl").write_text(line + "\n")
    with pytest.raises(FormatError, match=rf"aliases\.jsonl:1: .*{message}"):
        Ngram.load(tmp_path, kb=kb)


def test_a_file_of_aliases_that_cannot_be_read(kb: KnowledgeBase, tmp_path: Path) -> None:
    fitted(kb).save(tmp_path)
    (tmp_path / "aliases.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="cannot be read"):
        Ngram.load(tmp_path, kb=kb)
