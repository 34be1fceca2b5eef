from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Abbreviation, Candidates, Concept, Document, Mention, Name, Span
from linnet.errors import PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Allow
from linnet.retrieve.exact import Exact


def retrieved(exact: Exact, text: str, allow: Allow | None = None, types: tuple[str, ...] = ()) -> Candidates:
    doc = Document("d", text, mentions=(Mention(0, len(text), types=types),), abbreviations=())
    [[found]] = exact.retrieve([doc], allow=allow)
    return found


@pytest.fixture(scope="module")
def scopes(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    stream = [
        Concept("B:1", (Name("other"), Name("Rash", "broad"))),
        Concept("R:1", (Name("other"), Name("Rash", "related"), Name("rash", "related"))),
        Concept("N:1", (Name("other"), Name("Rash", "narrow"))),
        Concept("E:2", (Name("rash"),)),
        Concept("E:1", (Name("Rash"), Name("RASH"))),
        Concept("E:3", (Name("rash"), Name("Rash", "broad"))),
        Concept("X:1", (Name("+/-"),)),
    ]
    return build(stream, tmp_path_factory.mktemp("exact") / "a.kb")


def test_scores_follow_scope_and_case(scopes: KnowledgeBase) -> None:
    found = retrieved(Exact(kb=scopes), "Rash")
    assert [scopes.id(row) for row in found.rows] == ["E:1", "E:2", "E:3", "N:1", "R:1", "B:1"]
    assert found.scores.tolist() == pytest.approx([1, 0.98, 0.98, 0.9, 0.8, 0.7])
    assert found.names is not None
    assert [scopes.name(int(name)).text for name in found.names] == ["Rash", "rash", "rash", "Rash", "Rash", "Rash"]
    assert found.kb == scopes.version


def test_case_level(scopes: KnowledgeBase) -> None:
    found = retrieved(Exact(kb=scopes, level="case"), "RASH")
    assert [scopes.id(row) for row in found.rows] == ["E:1"]
    assert len(retrieved(Exact(kb=scopes, level="case"), "rAsh")) == 0


def test_k(scopes: KnowledgeBase) -> None:
    assert [scopes.id(row) for row in retrieved(Exact(kb=scopes, k=2), "Rash").rows] == ["E:1", "E:2"]
    with pytest.raises(RecipeError, match="k: 0 must be at least 1"):
        Exact(kb=scopes, k=0)


@pytest.mark.parametrize("text", ["+/-", "?", "no such name", "\ud800", "𝒳", "癫痫"])
def test_nothing_found_is_an_empty_list(scopes: KnowledgeBase, text: str) -> None:
    assert retrieved(Exact(kb=scopes), text) == Candidates([], [], names=[], kb=scopes.version)  # type: ignore[arg-type]


def test_allow(kb: KnowledgeBase) -> None:
    exact = Exact(kb=kb, k=1)
    for allow, want in (
        (None, ["X:1"]),
        (Allow(types=("Disease",)), ["X:2"]),
        (Allow(ids=("X:2",)), ["X:2"]),
        (Allow(types=["Phenotype"]), []),  # type: ignore[arg-type]
        (Allow(under="HP:0000118"), []),  # type: ignore[arg-type]
        (Allow(by_type=(("Illness", Allow(types=("Disease",))),)), ["X:2"]),
        (Allow(types=("Temperature",), by_type=(("Illness", Allow(types=("Disease",))),)), []),
        (Allow(by_type=(("Other", Allow(types=("Disease",))),)), ["X:1"]),
    ):
        found = retrieved(exact, "cold", allow, types=("Illness",))
        assert [kb.id(row) for row in found.rows] == want, allow
    both = Allow(by_type=(("A", Allow(types=("Disease",))), ("B", Allow(types=("Temperature",)))))
    assert len(retrieved(Exact(kb=kb), "cold", both, types=("A", "B"))) == 2


def test_abbreviations_are_written_out(kb: KnowledgeBase) -> None:
    text = "Atrial septal defect (ASD). ASD"
    pair = Abbreviation(Span(22, 25), Span(0, 20))
    doc = Document("d", text, mentions=(Mention(28, 31), Mention(0, 20)), abbreviations=(pair,))
    found = Exact(kb=kb).retrieve([doc])[0]
    assert [[kb.id(row) for row in candidates.rows] for candidates in found] == [["HP:0001631"], ["HP:0001631"]]


def test_wrong_keywords(kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError, match="k: 0 must be at least 1") as caught:
        Exact(kb=kb, k=0, level="cases")  # type: ignore[arg-type]
    assert "level: 'cases' is none of case, basic, family" in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"abbreviations": ()}, "Exact needs mentions"), ({"mentions": ()}, "Exact needs abbreviations")],
)
def test_needs(kb: KnowledgeBase, tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        Exact(kb=kb)([Document("d", "x", **fields)])


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    stream = [
        Concept("K:1", (Name("Abnormality of the kidney"),)),
        Concept("K:2", (Name("Renal abnormalities", "related"),)),
        Concept("V:1", (Name("Vitamin A"), Name("A"))),
        Concept("V:2", (Name("Vitamin"), Name("of the"), Name("+"))),
        Concept("H:1", (Name("Hypotonia"), Name("hypotonic"))),
        Concept("癫:1", (Name("癫痫"), Name("σύνδρομο Down"))),
    ]
    return build(stream, tmp_path_factory.mktemp("families") / "a.kb")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Abnormality of the kidney", {"K:1": 1.0, "K:2": 0.72}),
        ("ABNORMALITY OF THE KIDNEY", {"K:1": 0.98, "K:2": 0.72}),
        ("kidney abnormality", {"K:1": 0.9, "K:2": 0.72}),
        ("kidney kidney abnormality", {}),
        ("vitamin a", {"V:1": 0.98}),
        ("vitamins", {"V:2": 0.9}),
        ("of the", {"V:2": 1.0}),
        ("the of", {"V:2": 0.9}),
        ("A", {"V:1": 1.0}),
        ("hypotonic", {"H:1": 1.0}),
        ("癫痫", {"癫:1": 1.0}),
        ("Down σύνδρομο", {"癫:1": 0.9}),
        ("x" * 10_000, {}),
        ("kidney " * 2_000, {}),
        ("+", {}),
        ("\ud800", {}),
    ],
)
def test_family_level(families: KnowledgeBase, text: str, want: dict[str, float]) -> None:
    found = retrieved(Exact(kb=families, level="family"), text)
    scores = dict(zip(map(families.id, found.rows.tolist()), found.scores.tolist(), strict=True))
    assert scores == pytest.approx(want)
    assert found.kb == families.version


def test_family_level_keeps_to_masks_and_k(families: KnowledgeBase) -> None:
    only = retrieved(Exact(kb=families, level="family", k=1), "kidney abnormality", Allow(ids=("K:2",)))
    assert [families.id(row) for row in only.rows] == ["K:2"]


def test_digests_that_collide_do_no_harm(families: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.retrieve.exact._digest", lambda _key: 7)
    found = retrieved(Exact(kb=families, level="family"), "vitamins")
    assert [families.id(row) for row in found.rows] == ["V:2"]


def test_copies_read_the_names_again(families: KnowledgeBase) -> None:
    exact = Exact(kb=families, level="family")
    want = retrieved(exact, "kidney abnormality")
    moved = pickle.loads(pickle.dumps(exact))
    assert "_families" not in moved.__dict__
    assert retrieved(moved, "kidney abnormality") == want
