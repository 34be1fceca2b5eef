"""Every slice on mentions that are in it and mentions that are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Abbreviation, Concept, Document, Mention, Name, Span
from linnet.errors import DataError
from linnet.evaluate.linked import Linked
from linnet.evaluate.seen import TrainingMentions
from linnet.evaluate.slices import SLICES, slices
from linnet.kb import KnowledgeBase
from linnet.kb.build import build


def marked(text: str, *surfaces: str | tuple[str, tuple[str, ...]], id: str = "a") -> Document:
    """A document with a mention at the first place of each surface; the answer is its own name unless given."""
    made = []
    for item in surfaces:
        surface, concepts = item if isinstance(item, tuple) else (item, (item,))
        start = text.index(surface)
        made.append(Mention(start, start + len(surface), concepts=concepts, source="gold"))
    return Document(id, text, mentions=tuple(made))


def sliced(
    *docs: Document, kb: KnowledgeBase | None = None, train: list[Document] | TrainingMentions | None = None
) -> dict[str, list[str]]:
    """The surfaces in each slice."""
    linked = Linked.of([(doc, Document(doc.id, doc.text)) for doc in docs], kb=kb)
    masks = slices(linked, kb=kb, train=train)
    texts = [linked.texts[at].surface(mention) for at, mention in zip(linked.doc, linked.gold, strict=True)]
    assert all(mask.shape == (len(linked),) and mask.dtype == np.bool_ for mask in masks.values())
    return {name: [texts[at] for at in mask.nonzero()[0]] for name, mask in masks.items()}


def test_words_and_types() -> None:
    text = "fits, short stature, all of that, and IL-2 receptor alpha chain."
    doc = marked(text, "fits", "short stature", "all of that", "IL-2 receptor alpha chain")
    found = sliced(doc)
    assert [found[f"words.{n}"] for n in ("1", "2", "3")] == [["fits"], ["short stature"], ["all of that"]]
    assert found["words.4+"] == ["IL-2 receptor alpha chain"]
    assert found["genbioel.single-word"] == ["fits"]
    assert len(found["genbioel.multi-word"]) == 3
    mentions = (Mention(0, 4, types=("Sign", "Disease"), concepts=()), Mention(6, 11, types=("Sign",), concepts=()))
    found = sliced(Document("a", text, mentions=mentions))
    assert (found["type.Disease"], found["type.Sign"]) == (["fits"], ["fits", "short"])
    assert list(found)[-2:] == ["type.Disease", "type.Sign"]


def test_shapes() -> None:
    text = "left and right arm pain, fever, fever"
    mentions = (
        Mention(0, 18, parts=(Span(0, 4), Span(15, 18)), concepts=("A",)),
        Mention(9, 23, concepts=("B", "C")),
        Mention(15, 18, concepts=("D", "D")),
        Mention(25, 30, concepts=("E",)),
        Mention(25, 30, concepts=("F",), alternatives=(("G", "H"),)),
        Mention(32, 37, concepts=(), alternatives=(("G", "H"),)),
    )
    found = sliced(Document("a", text, mentions=mentions))
    assert found["discontinuous"] == ["left arm"]
    assert found["composite"] == ["right arm pain", "fever"]
    # "left and right" crosses "right arm pain" and holds "arm"; two mentions of one span hold nothing
    assert found["nested"] == ["left arm", "right arm pain", "arm"]


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, 9))
    return start, draw(st.integers(start + 1, 10))


@given(st.lists(spans(), max_size=8))
def test_nested_is_containment(pairs: list[tuple[int, int]]) -> None:
    doc = Document("a", "abcdefghij", mentions=tuple(Mention(*span, concepts=()) for span in pairs))
    linked = Linked.of([(doc, doc)], kb=None)

    def holds(a: Mention, b: Mention) -> bool:
        return a.span != b.span and a.start <= b.start and b.end <= a.end

    expected = [any(holds(m, o) or holds(o, m) for o in linked.gold) for m in linked.gold]
    assert slices(linked, kb=None)["nested"].tolist() == expected


def test_abbreviations_are_looked_for_where_nobody_did() -> None:
    text = "Atrial septal defect (ASD). ASDs close. VSD (not) defined. Arm (A)."
    doc = marked(text, "Atrial septal defect", "ASD", "ASDs", "VSD")
    assert sliced(doc)["abbreviation"] == ["ASD", "ASDs"]
    none = Document("a", text, abbreviations=(), mentions=doc.mentions)
    assert sliced(none)["abbreviation"] == []
    at = text.index("VSD")
    given_ = (Abbreviation(Span(at, at + 3), Span(0, 20)),)
    sentences = (Span(0, 27), Span(28, 66))
    told = Document("a", text, abbreviations=given_, sentences=sentences, mentions=doc.mentions)
    assert sliced(told)["abbreviation"] == ["VSD"]


TRAIN = [
    marked("Fits and fever.", ("Fits", ("A",)), ("fever", ("B", "C")), id="1"),
    marked("FITS; cough", ("FITS", ("A",)), ("cough", ()), id="2"),
    Document("3", "unread", mentions=(Mention(0, 6),)),
    Document("4", "none"),
]


def test_seen_in_training() -> None:
    text = "fits, fever, seizures, cough, rash, spots, unread"
    answers = {"fits": ("A",), "fever": ("A",), "seizures": ("A",), "cough": ("B",), "rash": ("B", "Z"), "spots": ()}
    found = sliced(marked(text, *answers.items(), ("unread", ("Z",))), train=TRAIN)
    assert found["seen-mention"] == ["fits", "fever", "cough", "unread"]
    assert found["unseen-mention"] == found["genbioel.unseen-mention"] == ["seizures", "rash", "spots"]
    assert found["seen-concept"] == ["fits", "fever", "seizures", "cough"]
    assert found["zero-shot"] == found["frequency.0"] == found["genbioel.unseen-concept"] == ["rash", "unread"]
    assert found["seen-pair"] == ["fits"]
    assert found["frequency.1"] == ["cough"]
    assert found["frequency.2-5"] == ["fits", "fever", "seizures"]
    assert found["genbioel.popular-concept"] == ["fits", "fever", "seizures", "cough"]
    assert sliced(marked(text, *answers.items()), train=TrainingMentions.of(TRAIN)).keys() == found.keys()


@pytest.mark.parametrize(
    ("count", "band"), [(0, "0"), (1, "1"), (2, "2-5"), (5, "2-5"), (6, "6-20"), (20, "6-20"), (21, ">20")]
)
def test_bands(count: int, band: str) -> None:
    seen = TrainingMentions(frozenset(), {"A": count} if count else {}, frozenset())
    found = sliced(marked("fits", ("fits", ("A",))), train=seen)
    assert [name for name, surfaces in found.items() if name.startswith("frequency.") and surfaces] == [
        f"frequency.{band}"
    ]


def test_seen_counts_by_successor(kb: KnowledgeBase) -> None:
    docs = [marked("fits", ("fits", (id, "HP:0001250"))) for id in ("HP:0009998", "HP:0009999")]
    assert TrainingMentions.of(docs, kb=kb).concepts == {"HP:0001250": 2}
    assert TrainingMentions.of(docs).concepts == {"HP:0009998": 1, "HP:0009999": 1, "HP:0001250": 2}
    found = sliced(marked("fits", ("fits", ("HP:0009998",))), kb=kb, train=docs)
    assert found["frequency.2-5"] == ["fits"]


def test_names(kb: KnowledgeBase) -> None:
    text = "Seizure, cold, epileptic seizures, seizing, short STATURE, +/-, rash, other"
    answers = {
        "Seizure": ("HP:0009998",),
        "cold": ("X:2",),
        "epileptic seizures": ("HP:0001250",),
        "seizing": ("HP:0001250",),
        "short STATURE": ("X:1",),
        "+/-": ("HP:0001250",),
        "rash": ("NO:1",),
        "other": (),
    }
    found = sliced(marked(text, *answers.items()), kb=kb)
    assert found["homonym"] == ["cold"]
    assert found["exact-name"] == found["similarity.1"] == ["Seizure", "cold"]
    wrong = ["epileptic seizures", "seizing", "short STATURE", "+/-", "rash"]
    assert found["not-exact-name"] == found["genbioel.not-direct-match"] == wrong
    assert found["similarity.0.8"] == ["epileptic seizures"]  # 16 of the 17 + 18 - 16 trigrams
    assert found["similarity.0.5"] == []
    assert found["similarity.0"] == wrong[1:]


def test_the_nearest_name_of_any_accepted_answer(tmp_path: Path) -> None:
    concepts = [Concept("A", (Name("abcd"),)), Concept("B", (Name("abcx"), Name("-"))), Concept("C", (Name("zz"),))]
    kb = build(concepts, tmp_path / "k.kb", sources=[{"vocabulary": "test"}])
    mentions = (
        Mention(0, 4, concepts=("C",), alternatives=(("B",),)),
        Mention(5, 9, concepts=("C", "A")),
        Mention(10, 14, concepts=("C",)),
    )
    found = sliced(Document("a", "abcy abcd abce", mentions=mentions), kb=kb)
    assert found["similarity.0"] == ["abcy", "abce"]  # 2 of 6: " ab", "abc"
    assert found["similarity.1"] == found["exact-name"] == ["abcd"]


def test_the_same_mention_is_either_or(kb: KnowledgeBase) -> None:
    docs = [
        marked("seizures and colds and rash", ("seizures", ("HP:0001250",)), ("colds", ("X:1",)), ("rash", ("NO:1",)))
    ]
    found = sliced(*docs, kb=kb, train=TRAIN)
    for family in (
        ("seen-mention", "unseen-mention"),
        ("seen-concept", "zero-shot"),
        ("exact-name", "not-exact-name"),
        [name for name in SLICES if name.startswith("frequency.")],
        [name for name in SLICES if name.startswith("similarity.")],
        [name for name in SLICES if name.startswith("words.")],
        ("genbioel.single-word", "genbioel.multi-word"),
    ):
        assert sorted(surface for name in family for surface in found[name]) == ["colds", "rash", "seizures"]


def test_only_what_can_be_known(kb: KnowledgeBase) -> None:
    doc = marked("fits", "fits")
    for base, train in ((None, None), (kb, None), (None, TRAIN), (kb, TRAIN)):
        given_ = {"", *(["kb"] if base else []), *(["train"] if train else [])}
        assert list(sliced(doc, kb=base, train=train)) == [
            name for name, item in SLICES.items() if item.needs in given_
        ]
    nothing = slices(Linked.of([], kb=kb), kb=kb, train=TRAIN)
    assert list(nothing) == list(SLICES)
    assert all(len(mask) == 0 for mask in nothing.values())


def test_a_table_without_documents_is_refused() -> None:
    doc = marked("fits", "fits")
    with pytest.raises(DataError, match=r"need the documents of the mentions: .* Linked\.of"):
        slices(replace(Linked.of([(doc, doc)], kb=None), texts=()), kb=None)
