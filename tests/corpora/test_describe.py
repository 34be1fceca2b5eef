from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.corpora.describe import Seen, check, describe, seen
from linnet.corpora.splits import repeated, split
from linnet.data import Document, Mention, Span
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase

SPANS = st.tuples(st.integers(0, 18), st.integers(1, 6)).map(lambda pair: Span(pair[0], min(20, sum(pair))))


@given(st.lists(SPANS, max_size=8))
def test_nested_and_overlapping_agree_with_the_obvious(spans: list[Span]) -> None:
    doc = Document("d", "x" * 20, mentions=tuple(Mention(*span) for span in spans))
    counts = describe([doc])
    inside = [s for s in spans if any(o != s and o.start <= s.start and s.end <= o.end for o in spans)]
    crossing = [
        s for s in spans if any(s.start < o.start < s.end < o.end or o.start < s.start < o.end < s.end for o in spans)
    ]
    assert (counts.nested, counts.overlapping) == (len(inside), len(crossing))


def test_counts(kb: KnowledgeBase) -> None:
    doc = Document(
        "d",
        "Cold, fits. Cold feet.",
        mentions=(
            Mention(0, 4, concepts=("X:1", "HP:0009999"), types=("T",)),
            Mention(6, 10, concepts=()),
            Mention(12, 21, parts=(Span(12, 16), Span(17, 21)), concepts=("NO:1",)),
            Mention(17, 21),
        ),
    )
    counts = describe([doc], kb=kb, other=Seen(frozenset({"cold"}), frozenset({"X:1", "NO:1"})))
    assert (counts.documents, counts.sentences, counts.characters, counts.mentions) == (1, 2, 22, 4)
    assert (counts.unannotated, describe([Document("d", "x")]).unannotated) == (0, 1)
    assert (counts.composite, counts.nil, counts.discontinuous, counts.not_linked) == (1, 1, 1, 1)
    assert (counts.covered, counts.covered_concepts) == (1, 2), "a retired id is covered by its successor"
    assert (counts.seen_mentions, counts.seen_concepts, counts.zero_shot) == (1, 1, 1)
    assert seen([doc]).concepts == {"X:1", "HP:0009999", "NO:1"}


def test_check_finds_each_kind(kb: KnowledgeBase) -> None:
    docs = [
        Document("a", "Cold feet", mentions=(Mention(0, 5), Mention(0, 3), Mention(5, 9), Mention(5, 9))),
        Document("a", "Cold feet", mentions=(Mention(0, 4, concepts=("NO:1",)),)),
        Document("b", "Cold feet"),
        Document("c", " "),
    ]
    kinds = [problem.kind for problem in check(docs, kb=kb)]
    assert kinds == [
        "blank at the border",
        "border inside a word",
        "duplicate mention",
        "duplicate document",
        "unknown concept",
        "duplicate text",
        "empty text",
        "not annotated",
        "not annotated",
    ]
    assert list(check([Document("a", "β-cells", mentions=(Mention(0, 1), Mention(2, 7)))])) == []
    assert list(check([Document("a", "Raw text.")])) == []


@given(st.sets(st.text(max_size=5), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_a_split_does_not_depend_on_the_order(ids: set[str], rng: object) -> None:
    docs = [Document(id, f"x {number}") for number, id in enumerate(sorted(ids))]
    shares = {"train": 0.6, "dev": 0.4}
    parts = split(docs, shares)
    rng.shuffle(docs)  # type: ignore[attr-defined]
    again = split(docs, shares)
    assert {name: {doc.id for doc in part} for name, part in parts.items()} == {
        name: {doc.id for doc in part} for name, part in again.items()
    }
    assert sum(map(len, parts.values())) == len(ids)
    assert len(parts["dev"]) == int(0.4 * len(ids) + 1e-9)


@given(st.lists(st.sampled_from(["", "a", "b", "c", "d", "e"]), min_size=1), st.integers(0, 5))
def test_documents_of_one_text_are_in_one_split(texts: list[str], seed: int) -> None:
    docs = [Document(str(number), text) for number, text in enumerate(texts)]
    parts = split(docs, {"train": 0.5, "test": 0.5}, seed=seed)
    assert sorted(doc.id for part in parts.values() for doc in part) == sorted(doc.id for doc in docs)
    assert not {doc.text for doc in parts["train"]} & {doc.text for doc in parts["test"]} - {""}
    assert repeated(docs) == sum(texts.count(text) - 1 for text in set(texts) - {""})


def test_copies_with_other_blanks_and_line_ends_are_copies() -> None:
    docs = [Document(str(number), f"Fever.\nCough {number % 20}.{end}") for number, end in enumerate(["", "\n\n"] * 20)]
    docs += [Document(f"r{number}", f"Fever.\r\nCough {number}.") for number in range(20)]
    parts = split([*docs, Document("blank", " "), Document("empty", "")], {"train": 0.5, "test": 0.5})
    texts = {name: {" ".join(doc.text.split()) for doc in part} - {""} for name, part in parts.items()}
    assert not texts["train"] & texts["test"]
    assert repeated(docs) == 40
    found = [problem.what for problem in check(docs[20:]) if problem.kind == "duplicate text"]
    assert found[0] == "has the text of '20', blanks and line ends aside"
    assert len(found) == 20


def test_splits_that_cannot_be() -> None:
    for shares in ({"a": 0.5}, {"a": 1.5, "b": -0.5}):
        with pytest.raises(LinnetError, match="add up to 1"):
            split([], shares)
    with pytest.raises(LinnetError, match="'1' stands twice"):
        split([Document("1", "x"), Document("1", "y")], {"a": 1.0})
    begin = time.process_time()
    with pytest.raises(LinnetError, match="'last' stands twice"):
        split([Document(id, "x") for id in [*map(str, range(20_000)), "last", "last"]], {"a": 1.0})
    assert time.process_time() - begin < 2, "the time grows with the number of documents, not with its square"
