"""Words that are names by accident: everyday words, headings."""

from __future__ import annotations

from typing import Any

import pytest

from linnet.data import Concept, Document, Name
from linnet.detect.dictionary import Dictionary
from linnet.detect.findings import EVERYDAY
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Abbreviations, Pipeline, Sentences
from linnet.text.variants import stem

NAMES = {
    "chemical": ["Ice", "Water", "Art", "Sterile Water"],
    "acronym": ["DRIVE", "PLAN"],
    "falls": ["Fall", "Neck pain", "Pain", "Bone", "Allergy, Latex", "Latex"],
    "drug": ["Diabetal"],
    "finding": ["Hypotonia", "Cyanosis", "Autism", "Epilepsy"],
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    rows = [Concept(f"X:{kind}/{name}", (Name(name),)) for kind, some in NAMES.items() for name in some]
    return build(rows, tmp_path_factory.mktemp("names") / "names.kb")


def found(kb: KnowledgeBase, text: str, **options: Any) -> list[str]:
    pipeline = Pipeline(Sentences(), Abbreviations(), Dictionary(kb=kb, **options))
    [doc] = pipeline([Document("d", text)])
    return [doc.surface(mention) for mention in doc.mentions or ()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Drinks water. Ice and art.", []),
        ("Rinsed with sterile water.", ["sterile water"]),
        ("On DRIVE since 2019. Drive home.", ["DRIVE"]),
        ("PLAN\n1. physiotherapy", []),
        ("Seen.\n  PLAN: physiotherapy", []),
        ("Has PLAN, a rare disease.", ["PLAN"]),
    ],
)
def test_everyday_words(names: KnowledgeBase, text: str, expected: list[str]) -> None:
    assert found(names, text, everyday=False) == expected
    assert set(expected) <= set(found(names, text)), "without the option they are names like others"


def test_they_are_found_by_default(names: KnowledgeBase) -> None:
    assert found(names, "Drinks water. Ice and art.") == ["water", "Ice", "art"]


def test_no_name_goes_over_the_colon_of_a_heading(names: KnowledgeBase) -> None:
    assert found(names, "ALLERGY: Latex gloves.") == ["Latex"]
    assert found(names, "Allergy, latex.") == ["Allergy, latex"]


def test_adjectives_are_those_of_findings(names: KnowledgeBase) -> None:
    text = "Hypotonic, cyanotic, autistic, epileptic, diabetic."
    assert found(names, text) == ["Hypotonic", "cyanotic", "autistic", "epileptic"]


def test_every_word_is_its_own_stem() -> None:
    assert all(stem(word) == word for word in EVERYDAY)
