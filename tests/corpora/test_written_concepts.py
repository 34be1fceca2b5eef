"""What people write to say which concept is right: ids with and without a prefix, names, and both."""

from __future__ import annotations

import pytest

from linnet.corpora.written_concepts import WrittenConcepts
from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A knowledge base whose ids have no prefix."""
    concepts = [
        Concept("A05", (Name("Acute coronary syndrome"), Name("ACS"))),
        Concept("A05.1", (Name("STEMI"),)),
        Concept("B11", (Name("Asthma"),)),
        Concept("2", (Name("Diabetes mellitus"),)),
        Concept("HP:1", (Name("Fits"),)),
        Concept("C03", (Name("Old sepsis"),), replaced_by="B11"),
        Concept("C04", (Name("Old thing"),), replaced_by=""),
    ]
    return build(concepts, tmp_path_factory.mktemp("kb") / "mine.kb")


@pytest.mark.parametrize(
    ("written", "id"),
    [
        ("A05.1", "A05.1"),
        ("A05.1 STEMI", "A05.1"),
        ("stemi (A05.1)", "A05.1"),
        ("A05: ACS", "A05"),
        ("C03 Old sepsis", "C03"),
        ("HP:1 a name of another language", "HP:1"),
    ],
)
def test_a_name_may_stand_beside_an_id_without_a_prefix(codes: KnowledgeBase, written: str, id: str) -> None:
    assert WrittenConcepts(codes).ids([written]) == (id,)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("A05.1 Asthma", "id and name disagree: A05.1 is 'STEMI', and 'Asthma' is B11: write one of them"),
        ("HP:1 Asthma", "id and name disagree: HP:1 is 'Fits', and 'Asthma' is B11"),
        ("A05.1 STEMY", "id and name disagree: A05.1 is 'STEMI', and 'STEMY' is none of its names"),
        ("gout type 2", "id and name disagree: 2 is 'Diabetes mellitus', and 'gout type' is none of its names"),
        ("C04", "'C04' was retired from mine.kb without a successor"),
        ("old thing", "'old thing' is the name of C04, which is retired and has no successor"),
        ("Old sepsis", "'Old sepsis' is the name of C03, which is retired and became B11 Asthma"),
        ("Z99 STEMI", "no concept has the name 'Z99 STEMI'"),
    ],
)
def test_ids_and_names_that_disagree_are_refused(codes: KnowledgeBase, written: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        WrittenConcepts(codes).ids([written])
