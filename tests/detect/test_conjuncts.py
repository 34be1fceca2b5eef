from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Abbreviation, Concept, Document, Mention, Name, Span
from linnet.detect.conjuncts import Conjuncts, readings
from linnet.detect.gold import Gold
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline.decide import Decide
from linnet.retrieve.exact import Exact

NAMES = (
    "breast cancer", "ovarian cancer", "lung cancer", "cleft lip", "cleft palate", "cancer of the ureter",
    "cancer of the bladder", "head and neck cancer", "head cancer", "neck cancer", "lip", "WAGR syndrome",
)  # fmt: skip


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    stream = (Concept(f"X:{place}", (Name(name),)) for place, name in enumerate(NAMES))
    return build(stream, tmp_path_factory.mktemp("conjuncts") / "a.kb")


def given_mention(text: str, **values: object) -> Document:
    mention = Mention(0, len(text), **values)  # type: ignore[arg-type]
    return Document("d", text, mentions=(mention,), sentences=(), abbreviations=())


def apart(kb: KnowledgeBase, text: str) -> list[str]:
    [out] = Conjuncts(kb=kb)([given_mention(text)])
    return sorted(out.surface(mention) for mention in out.mentions or ())


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("breast and ovarian cancer", ["breast cancer", "ovarian cancer"]),
        ("breast, lung and/or ovarian cancers", ["breast cancers", "lung cancers", "ovarian cancers"]),
        ("breast, lung, or ovarian cancer", ["breast cancer", "lung cancer", "ovarian cancer"]),
        ("cleft lip and palate", ["cleft lip", "cleft palate"]),
        ("cancer of the ureter and bladder", ["cancer of the bladder", "cancer of the ureter"]),
        ("cancer of the ureter or the bladder", ["cancer of the ureter or the bladder"]),
        ("head and neck cancer", ["head and neck cancer"]),  # a name as a whole
        ("breast and skin cancer", ["breast and skin cancer"]),  # one conjunct is no name
        ("breast cancer", ["breast cancer"]),
        ("breast cancer, ovarian cancer", ["breast cancer, ovarian cancer"]),  # no conjunction
        ("and cancer", ["and cancer"]),
        ("breast and", ["breast and"]),
        ("sand or cancer", ["sand or cancer"]),
    ],
)
def test_coordinations(names: KnowledgeBase, text: str, want: list[str]) -> None:
    assert apart(names, text) == want


def test_conjuncts_share_a_group_and_keep_what_the_mention_had(names: KnowledgeBase) -> None:
    doc = given_mention("breast and ovarian cancer", id="T1", types=("Disease",), meta={"negated": True})
    [out] = Conjuncts(kb=names)([doc])
    first, second = out.mentions or ()
    assert first.parts == (Span(0, 6), Span(19, 25))
    assert (second.start, second.end, second.parts) == (11, 25, ())
    assert first.group == second.group == "T1"
    assert len({first.id, second.id, "T1"}) == 3
    assert all(m.types == ("Disease",) and m.meta["negated"] for m in (first, second))


def test_they_are_folded_into_one_answer_over_the_same_span(names: KnowledgeBase) -> None:
    pipeline = Gold() >> Conjuncts(kb=names) >> Exact(kb=names) >> Decide(kb=names)
    doc = Document("d", "In breast and ovarian cancer.", mentions=(Mention(3, 28, id="T1", source="gold"),))
    [out] = pipeline([doc.spans_only()])
    [mention] = out.mentions or ()
    assert mention.span == (3, 28)
    assert mention.concepts == ("X:0", "X:1")


def test_short_forms_of_the_document_are_meant(names: KnowledgeBase) -> None:
    text = "Xyz disease (XD). XD or lung cancer"
    doc = Document("d", text, mentions=(Mention(18, 35),), sentences=(Span(0, 35),))
    pair = Abbreviation(Span(13, 15), Span(0, 11))
    one = replace(doc, abbreviations=(pair,))
    assert len(Conjuncts(kb=names)([one])[0].mentions or ()) == 1  # "XD cancer" is no name: nothing is shared


def test_people_and_discontinuous_mentions_stay(names: KnowledgeBase) -> None:
    for values in ({"source": "gold"}, {"source": "user"}, {"parts": (Span(0, 6), Span(19, 25))}, {"group": "g"}):
        doc = given_mention("breast and ovarian cancer", id="a", **values)
        assert Conjuncts(kb=names)([doc]) == [doc]


def test_a_conjunct_yields_to_what_a_person_marked(names: KnowledgeBase) -> None:
    doc = given_mention("breast and ovarian cancer")
    theirs = Mention(11, 25, id="u", source="user", concepts=("X:1",))
    [out] = Conjuncts(kb=names)([replace(doc, mentions=(*(doc.mentions or ()), theirs))])
    assert [(m.source, out.surface(m)) for m in out.mentions or ()] == [
        ("pred", "breast cancer"),
        ("user", "ovarian cancer"),
    ]


@given(st.lists(st.sampled_from(["breast", "cancer", "and", "or", ",", "of", " ", "\n", "and/or", "癌"]), max_size=12))
def test_readings_lie_inside_and_lose_nothing(words: list[str]) -> None:
    text = " ".join(words)
    for reading in readings(text):
        assert len(reading) >= 2
        for spans in reading:
            assert all(0 <= start < end <= len(text) for start, end in spans)
            assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


def test_long_mentions_cost_nothing() -> None:
    assert list(readings("breast and " * 10_000)) == []
    assert list(readings("a, " * 60 + "and b")) == []
