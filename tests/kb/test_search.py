from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb import search as kb_search
from linnet.kb.build import build
from linnet.kb.search import PREFIXES, Hit


def concept(id: str, *names: str | Name, types: tuple[str, ...] = (), parents: tuple[str, ...] = ()) -> Concept:
    return Concept(id, tuple(n if isinstance(n, Name) else Name(n) for n in names), types, "", parents)


@pytest.fixture(scope="module")
def tiers(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """One concept for each tier of the text "kidney failure", in the reverse order of the tiers."""
    stream = [
        concept("ANY:1", "Failure of the heart", types=("B",), parents=("ALL:1",)),
        concept("ALL:1", "Failure of one kidney", types=("A", "B")),
        concept("PRE:1", "Kidney failures of old age", types=("A",)),
        concept("PRE:2", "Renal failure", "Kidney failure, acute", types=("B",), parents=("ALL:1",)),
        concept("EXA:3", "Something", Name("kidney failure", "related"), types=("A",)),
        concept("EXA:2", "Something else", "Kidney failure", types=("A",), parents=("EXA:1",)),
        concept("EXA:1", "Kidney-Failure", types=("B",), parents=("PRE:1",)),
        concept("kidney failure", "Odd id"),
    ]
    return build(stream, tmp_path_factory.mktemp("search") / "tiers.kb")


def found(kb: KnowledgeBase, text: str, **filters: object) -> list[str]:
    return [hit.id for hit in kb.search(text, **filters)]  # type: ignore[arg-type]


ORDER = ["kidney failure", "EXA:1", "EXA:2", "EXA:3", "PRE:1", "PRE:2", "ALL:1", "ANY:1"]


def test_tiers_stand_in_order(tiers: KnowledgeBase) -> None:
    hits = tiers.search("kidney failure")
    assert [hit.id for hit in hits] == ORDER
    assert [hit.tier for hit in hits] == ["id"] + ["exact"] * 3 + ["prefix"] * 2 + ["all words", "any word"]
    assert hits[5] == Hit(3, "PRE:2", "Renal failure", "Kidney failure, acute", "prefix")
    assert found(tiers, " KIDNEY  Failure ")[:3] == ORDER[1:4]


@pytest.mark.parametrize("limit", range(-1, 10))
def test_limits_cut_the_same_list(tiers: KnowledgeBase, limit: int) -> None:
    assert found(tiers, "kidney failure", limit=limit) == ORDER[: max(limit, 0)]


def test_filters(tiers: KnowledgeBase) -> None:
    assert found(tiers, "kidney failure", types=["A"]) == ["EXA:2", "EXA:3", "PRE:1", "ALL:1"]
    assert found(tiers, "kidney failure", types=["A", "B"]) == ORDER[1:]
    assert found(tiers, "kidney failure", under=["PRE:1"]) == ["EXA:1", "EXA:2", "PRE:1"]
    assert found(tiers, "kidney failure", under=["EXA:1", "ALL:1"]) == ["EXA:1", "EXA:2", "PRE:2", "ALL:1", "ANY:1"]
    assert found(tiers, "kidney failure", under=["PRE:1"], types=["A"]) == ["EXA:2", "PRE:1"]
    assert found(tiers, "PRE:2", under=["PRE:1"]) == []
    assert found(tiers, "PRE:2", under=["ALL:1"], types=["B"]) == ["PRE:2"]
    with pytest.raises(KnowledgeBaseError, match=r"no semantic type 'a'; did you mean 'A'[?]"):
        tiers.search("x", types=["a"])
    with pytest.raises(UnknownConceptError, match="'NO:1'"):
        tiers.search("x", under=["NO:1"])


@pytest.mark.parametrize("text", ["heart", "heart disease", "dis"])
def test_filters_stand_before_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(kb_search, "CAP", 5)
    many = [concept(f"A:{i}", "Heart", "Heart disease", "Disease of heart", types=("A",)) for i in range(30)]
    last = concept("B:1", "Heart", "Heart disease", "Disease of the heart", types=("B",), parents=("A:3",))
    kb = build([*many, last], tmp_path / "a.kb")
    assert found(kb, text, types=["B"]) == ["B:1"]
    assert "B:1" in found(kb, text, under=["A:3"])


def test_ids_and_retired_ids(kb: KnowledgeBase) -> None:
    assert kb.search("HP:0001250")[0] == Hit(1, "HP:0001250", "Seizure", "Seizure", "id")
    for retired in ("HP:0009999", "HP:0009998", " HP:0009998 "):
        assert found(kb, retired)[:1] == ["HP:0001250"]
    assert found(kb, "HP:0009997") == []


def test_ids_without_their_prefix(tmp_path: Path) -> None:
    ids = ["MESH:D003920", "OMIM:222100", "OMIM:2221001", "UMLS:C0011849", "00017", "Z:D003920", "bare"]
    kb = build([Concept(id, (Name(f"name {at}"),)) for at, id in enumerate(ids)], tmp_path / "kb.kb")
    assert [hit.id for hit in kb.search("d003920")] == ["MESH:D003920", "Z:D003920"]
    assert {hit.tier for hit in kb.search("d003920")} == {"id"}
    assert [found(kb, text) for text in ("222100", "C0011849", "00017")] == [
        ["OMIM:222100"],
        ["UMLS:C0011849"],
        ["00017"],
    ]
    assert (kb.meant("222100"), kb.meant("mesh_D003920"), kb.meant("999999")) == ("OMIM:222100", "MESH:D003920", "")
    for ask in (lambda: kb.mask(under=["222100"]), lambda: kb.search("name", under=["222100"])):
        with pytest.raises(UnknownConceptError, match=r"no concept '222100' in kb.kb .*; did you mean 'OMIM:222100'\?"):
            ask()


def test_other_spellings_of_prefixes_and_addresses(tmp_path: Path) -> None:
    concepts = [Concept("Orphanet:558", (Name("Marfan syndrome"),)), Concept("ORPHA:1", (Name("as it stands"),))]
    kb = build([*concepts, Concept("HP:0001250", (Name("Seizure"),))], tmp_path / "kb.kb")
    for text in ("ORPHA:558", "orphanet_558", "http://www.orpha.net/ORDO/Orphanet_558"):
        assert (found(kb, text)[:1], kb.meant(text)) == (["Orphanet:558"], "Orphanet:558")
    assert found(kb, "ORPHA:1")[:1] == ["ORPHA:1"]
    assert kb.meant("http://purl.obolibrary.org/obo/HP_0001250") == "HP:0001250"


def test_many_prefixes_cost_few_lookups(tmp_path: Path) -> None:
    concepts = [Concept(f"P{at:03}:00017", (Name(f"name {at}"),)) for at in range(PREFIXES + 5)]
    kb = build(concepts, tmp_path / "kb.kb")
    assert len(kb.search("00017", limit=1000)) == PREFIXES


def test_words(kb: KnowledgeBase) -> None:
    assert found(kb, "seizures clonic") == ["HP:0002069", "HP:0001250"]
    assert kb.search("seizures clonic")[0].tier == "all words"
    assert found(kb, "septal atr")[:1] == ["HP:0001631"]  # the last word is half typed
    assert found(kb, "atr septal")[:1] == ["HP:0001631"]
    assert kb.search("atr septal")[0].tier == "any word"
    assert found(kb, "cold") == ["X:1", "X:2"]


HOSTILE = [
    "", " ", "\0", "a\0b", '"', '""', "'", "';DROP TABLE names;--", "*", "^", ":", "-", "+", "(", ")", "{", "norm:x",
    "AND", "OR", "NOT", "NEAR", "NEAR(a b, 3)", "seizure AND", "seizure OR NOT", "NOT seizure", "sei*", "^sei", "a:b",
    "\ud800", "seizure \udfff", "😀", "癫痫", "α", "%", "_", "?1", "\U0010ffff", "e\u0301", "\u202eabc", "²", "ǅ",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(kb: KnowledgeBase, text: str) -> None:
    for filters in ({}, {"types": ["Phenotype"], "under": ["HP:0000118"]}):
        hits = kb.search(text, **filters)  # type: ignore[arg-type]
        assert len(hits) == len({hit.row for hit in hits})
    if "seizure" in text:
        assert found(kb, text)[0] == "HP:0001250"


@settings(deadline=None)
@given(text=st.text(max_size=30) | st.text('ab "*^:()-+ANDORT', max_size=30))
def test_any_text(kb: KnowledgeBase, text: str) -> None:
    assert all(kb.id(hit.row) == hit.id and kb[hit.row].name == hit.name for hit in kb.search(text))


@pytest.mark.parametrize("text", ["seizure " * 50_000, " ".join(f"w{i}" for i in range(50_000)), "x" * 500_000])
def test_very_long_texts_end_soon(kb: KnowledgeBase, text: str) -> None:
    kb.search(text)  # at once; without the limit on words it would be minutes
