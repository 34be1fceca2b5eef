"""Agreement: figures worked by hand, distances as they are defined, whole documents, and what must not matter."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.annotate.agreement import Agreement, Figure, Slice, compare_annotators
from linnet.annotate.distances import MISSING, NIL, Hierarchy, Value, similarities
from linnet.data import Concept, Document, Mention, Name, Span
from linnet.errors import DataError, MismatchError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
TEXT = " ".join(WORDS)
PLACES = {word: Span(TEXT.index(word), TEXT.index(word) + len(word)) for word in WORDS}

Work = Mapping[str, Mapping[str, Document]]


def at(word: str, concepts: tuple[str, ...] | None = None, type: str = "", **more: Any) -> Mention:
    return Mention(*PLACES[word], concepts=concepts, types=(type,) if type else (), **more)


def doc(*mentions: Mention, id: str = "a", text: str = TEXT) -> Document:
    return Document(id, text, mentions=mentions)


def compare(*people: Document, kb: KnowledgeBase | None = None, samples: int = 20) -> Slice:
    """Compare people on one document each of the same id."""
    work = {f"annotator {number}": {one.id: one} for number, one in enumerate(people)}
    return compare_annotators(work, kb=kb, samples=samples).overall


def value(slice: Slice, name: str) -> float | None:
    return slice.figures[name].value


def make_kb(
    path: Path, parents: Mapping[str, tuple[str, ...]], retired: Mapping[str, str] | None = None
) -> KnowledgeBase:
    live = [Concept(id, (Name(id),), parents=above) for id, above in parents.items()]
    gone = [Concept(id, (Name(id),), replaced_by=to) for id, to in (retired or {}).items()]
    return build([*live, *gone], path / "small.kb")


# X has two parents:          R
#                           /   \
#                          A     B
#                        /  \     \
#                      A1   A2     |
#                    / |  \   \    |
#                 A11 A12  \   A21 |
#                           `- X --'
TREE: dict[str, tuple[str, ...]] = {
    "T:R": (), "T:A": ("T:R",), "T:B": ("T:R",), "T:A1": ("T:A",), "T:A2": ("T:A",), "T:A11": ("T:A1",),
    "T:A12": ("T:A1",), "T:A21": ("T:A2",), "T:X": ("T:A1", "T:B"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("tree"), TREE, {"T:OLD": "T:A11"})


# --- six units by hand -----------------------------------------------------------------------------------------------

SIX = [  # the last one is marked by the first annotator alone
    ("T:OLD", "T:A11"), ("T:A11", "T:A12"), ("T:A1", "T:A11"), ("T:A21", None), ("T:X", "T:X"), ("T:A2", "-"),
]  # fmt: skip


def six_units() -> tuple[Document, Document]:
    def links(side: int) -> list[Mention]:
        chosen = [(word, pair[side]) for word, pair in zip(WORDS, SIX, strict=False)]
        return [at(word, () if id is None else (id,), "T") for word, id in chosen if id != "-"]

    return doc(*links(0)), doc(*links(1))


def test_six_units_nominal_and_steps(tree: KnowledgeBase) -> None:
    """OLD is A11 now, so that the matched units hold A11 ×4, X ×2, and A12, A1, A21, NIL once each: n = 10.

    nominal: D_o = 2·3/10 (units 2, 3, 4 differ, both ways), D_e = (10² - 4² - 2² - 4·1²)/90 = 76/90.
    steps: D_o = 2·(½ + ¼ + 1)/10 = 3.5/10: siblings, parent and child, NIL. For D_e, n_c·n_k·δ of all pairs:
      A11 with A12 4·½ = 2, with A1 4·¼ = 1, with A21 4 (in common they have A, on the second level), with X 8·½ = 4,
      with NIL 4: 15; A12 with A1 ¼, A21 1, X 2·½, NIL 1: 3¼; A1 with A21 1, X 2·¼, NIL 1: 2½;
      A21 with X 2, NIL 1: 3; X with NIL 2. Together 25¾, both ways 51½: D_e = 51.5/90.
    """
    found = compare(*six_units(), kb=tree)
    assert (found.documents, found.units, found.matched) == (1, 6, 5)
    assert value(found, "matched") == pytest.approx(5 / 6)
    assert value(found, "link.nominal") == pytest.approx(1 - (6 / 10) / (76 / 90))  # 0.2895
    assert value(found, "link.steps") == pytest.approx(1 - (3.5 / 10) / (51.5 / 90))  # 0.3883


def test_six_units_information(tree: KnowledgeBase) -> None:
    """N = 9: IC is 1 for leaves, a for A (6 below it), b for A1 (3 below it), 0 for R.

    Similarities: b for two of A11, A12, X (in common they have A1); p = 2b/(b + 1) for A1 with any of them;
    a for A21 with any of them (A); q = 2a/(b + 1) for A1 with A21. By numbers of pairs of values (4·1 + 4·2 + 1·2 = 14
    of the first sort, 4 + 1 + 2 = 7 of the second and of the third, 1 of the fourth, 9 with NIL):
    """
    a, b = 1 - math.log(7) / math.log(9), 1 - math.log(4) / math.log(9)
    p, q = 2 * b / (b + 1), 2 * a / (b + 1)
    observed = 2 * ((1 - b) + (1 - p) + 1) / 10
    expected = 2 * (14 * (1 - b) + 7 * (1 - p) + 7 * (1 - a) + (1 - q) + 9) / 90
    assert value(compare(*six_units(), kb=tree), "link.information") == pytest.approx(1 - observed / expected)  # 0.3298


def test_six_units_end_to_end(tree: KnowledgeBase) -> None:
    """The sixth unit adds A2 and MISSING: n = 12, and both have distance 1 where nothing else is said.

    nominal: D_o = 2·4/12, D_e = (12² - 4² - 2² - 6·1²)/132 = 118/132.
    steps: D_o = 2·(½ + ¼ + 1 + 1)/12. D_e has 25¾ from above; A2 with A11 4, A12 1, A1 ½ (siblings), A21 ¼, X 2,
      NIL 1, MISSING 1: 9¾; MISSING with the ten others 10. Together 45½, both ways 91.
    """
    found = compare(*six_units(), kb=tree)
    assert value(found, "end-to-end.nominal") == pytest.approx(1 - (8 / 12) / (118 / 132))  # 0.2542
    assert value(found, "end-to-end.steps") == pytest.approx(1 - (5.5 / 12) / (91 / 132))  # 0.3352
    assert value(found, "span.exact.raw") == pytest.approx(10 / 11)
    assert value(found, "span.overlap.trimmed") == pytest.approx(10 / 11)


def test_six_units_words(tree: KnowledgeBase) -> None:
    """Ten words: inside for both five, for the first alone one, outside for both four.

    Cohen: p_o = 9/10, p_e = (6·5 + 4·5)/100 = 1/2. Fleiss: 11 of 20 judgements are "inside",
    p_e = (11² + 9²)/20² = 202/400.
    """
    found = compare(*six_units(), kb=tree)
    assert value(found, "cohen.T") == pytest.approx((0.9 - 0.5) / (1 - 0.5))
    assert value(found, "fleiss.T") == pytest.approx((0.9 - 0.505) / (1 - 0.505))
    assert value(found, "prevalence.T") == pytest.approx(11 / 20)


def test_confusions_of_six_units(tree: KnowledgeBase) -> None:
    one, other = six_units()
    found = compare_annotators({"Alice": {"a": one}, "Bob": {"a": other}}, kb=tree, samples=1).confusions
    assert [(one.one, one.other, one.count, one.distances["steps"]) for one in found] == [
        (NIL, (("T:A21",),), 1, 1.0),
        ((("T:A11",),), (("T:A12",),), 1, 0.5),
        ((("T:A1",),), (("T:A11",),), 1, 0.25),
    ]
    assert {one.documents for one in found} == {("a",)}


def test_frequent_confusions_come_first_and_few_are_shown() -> None:
    twice, once = ("one", "two"), ("three",)
    alice = doc(*(at(word, ("T:1",)) for word in twice), *(at(word, ("T:3",)) for word in once))
    bob = doc(*(at(word, ("T:2",)) for word in twice), *(at(word, ("T:4",)) for word in once))
    work = {"Alice": {"a": alice}, "Bob": {"a": bob}}
    assert [one.count for one in compare_annotators(work, samples=1).confusions] == [2, 1]
    assert len(compare_annotators(work, samples=1, most=1).confusions) == 1


# --- distances -------------------------------------------------------------------------------------------------------


def matrix(hierarchy: Hierarchy | None, kind: Any, *values: Value) -> dict[tuple[int, int], float]:
    found = similarities(values, kind=kind, hierarchy=hierarchy)
    assert np.array_equal(found, found.T)
    return {(a, b): 1 - float(found[a, b]) for a in range(len(values)) for b in range(len(values))}


def far(hierarchy: Hierarchy, kind: Any, one: str, other: str) -> float:
    return matrix(hierarchy, kind, ((one,),), ((other,),))[0, 1]


def test_steps_take_the_nearest_way(tmp_path: Path) -> None:
    more = {"T:A111": ("T:A11",), "T:A121": ("T:A12",), "T:A112": ("T:A11", "T:A12")}
    hierarchy = Hierarchy(make_kb(tmp_path, TREE | more))
    expected = {
        ("T:X", "T:A1"): 0.25, ("T:X", "T:B"): 0.25,  # both its parents
        ("T:X", "T:R"): 0.5,  # by way of B a grandparent
        ("T:X", "T:A11"): 0.5, ("T:A", "T:B"): 0.5,  # siblings, also on the second level
        ("T:A112", "T:A111"): 0.5, ("T:A112", "T:A121"): 0.5,  # half-siblings on both sides
        ("T:A111", "T:A121"): 0.75,  # cousins below A1, which is on the third level
        ("T:A111", "T:A12"): 0.75, ("T:A111", "T:X"): 0.75,
        ("T:A11", "T:A21"): 1.0, ("T:A111", "T:A"): 1.0,  # only A and R in common
        ("T:A11", "T:R"): 1.0, ("T:A21", "T:B"): 1.0, ("T:A21", "T:unknown"): 1.0,
    }  # fmt: skip
    assert {pair: far(hierarchy, "steps", *pair) for pair in expected} == expected
    assert [hierarchy.depth(hierarchy.row(id) or 0) for id in ("T:R", "T:B", "T:X", "T:A112")] == [0, 1, 2, 4]


def test_information_of_several_parents(tree: KnowledgeBase) -> None:
    """X and A11 have A1 in common, X and B only B itself, A21 and B nothing but the root."""
    hierarchy = Hierarchy(tree)
    of_a1, of_b = 1 - math.log(4) / math.log(9), 1 - math.log(2) / math.log(9)
    assert far(hierarchy, "information", "T:X", "T:A11") == pytest.approx(1 - of_a1)
    assert far(hierarchy, "information", "T:X", "T:B") == pytest.approx(1 - 2 * of_b / (1 + of_b))
    assert far(hierarchy, "information", "T:A21", "T:B") == 1.0
    assert far(hierarchy, "information", "T:R", "T:unknown") == 1.0


@st.composite
def hierarchies(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    ids = [f"T:{number}" for number in range(draw(st.integers(1, 12)))]
    return {
        id: tuple(sorted(draw(st.sets(st.sampled_from(ids[:n]), max_size=3)))) if n else () for n, id in enumerate(ids)
    }


@settings(max_examples=20)
@given(hierarchies())
def test_distances_as_they_are_defined(
    tmp_path_factory: pytest.TempPathFactory, parents: dict[str, tuple[str, ...]]
) -> None:
    def above(id: str) -> set[str]:
        return {id}.union(*(above(parent) for parent in parents[id]))

    def depth(id: str) -> int:
        return 1 + min(map(depth, parents[id])) if parents[id] else 0

    def grand(id: str) -> set[str]:
        return {over for parent in parents[id] for over in parents[parent]}

    def content(id: str) -> float:
        return 1 - math.log(sum(id in above(other) for other in parents)) / math.log(max(2, len(parents)))

    def steps(one: str, other: str) -> float:
        ways = [0.0] if one == other else [1.0]
        ways += [0.25] if one in parents[other] or other in parents[one] else []
        ways += [0.5] if one in grand(other) or other in grand(one) or {*parents[one]} & {*parents[other]} else []
        ways += [0.75] if any(depth(id) > 1 for id in above(one) & above(other)) else []
        return min(ways)

    def information(one: str, other: str) -> float:
        shared, both = max([0.0, *map(content, above(one) & above(other))]), content(one) + content(other)
        return 0.0 if one == other else 1 - 2 * shared / both if both else 1.0

    hierarchy = Hierarchy(make_kb(tmp_path_factory.mktemp("kb"), parents))
    values: list[Value] = [((id,),) for id in parents]
    for kind, slow in (("steps", steps), ("information", information)):
        found = matrix(hierarchy, kind, *values)
        for (a, one), (b, other) in itertools.product(enumerate(parents), repeat=2):
            assert found[a, b] == pytest.approx(slow(one, other), abs=1e-12), (kind, one, other)


def test_composites_and_alternatives(tree: KnowledgeBase) -> None:
    values: list[Value] = [
        (("T:A11", "T:A12"),),
        (("T:A1", "T:A11", "T:A21"),),
        (("T:A1",),),
        (("T:A2",), ("T:X",)),  # A2 or X
        (("T:A11",), ("T:A12", "T:B")),  # A11 alone, or A12 with B
        NIL,
        MISSING,
    ]
    found = matrix(Hierarchy(tree), "steps", *values)
    assert found[0, 1] == pytest.approx(1 - (1 + 0.75) / 3)  # A11 with itself, A12 with its parent A1, A21 with nothing
    assert found[0, 2] == pytest.approx(1 - 0.75 / 2)
    assert found[2, 3] == found[2, 4] == 0.25  # A1 and its child X, or its child A11
    assert found[0, 4] == 0.5  # half of it is A11, or A12
    assert found[3, 4] == 0.5  # X and A11 are siblings; X and B make 1 - 0.75 / 2
    assert {found[at, other] for at in (5, 6) for other in range(7) if at != other} == {1.0}
    assert {found[at, at] for at in range(7)} == {0.0}


def test_nominal_needs_no_hierarchy_and_the_others_do() -> None:
    assert similarities([(("T:1",),), (("T:2",),)]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(DataError, match="need the hierarchy"):
        similarities([], kind="steps")
    with pytest.raises(DataError, match="'far' is none of"):
        similarities([], kind="far")  # type: ignore[arg-type]


# --- whole documents -------------------------------------------------------------------------------------------------


def test_a_missing_mention_counts() -> None:
    """What both have marked is linked alike: only end to end shows that most was missed."""
    alice = doc(*(at(word, (f"T:{n % 3}",)) for n, word in enumerate(WORDS)))
    bob = doc(*(at(word, (f"T:{n % 3}",)) for n, word in enumerate(WORDS[:3])))
    found = compare(alice, bob)
    assert value(found, "link.nominal") == 1.0
    assert (found.matched, found.units, value(found, "matched")) == (3, 10, 0.3)
    # by Alice 4, 3 and 3 of T:0, T:1 and T:2, by Bob one of each and 7 MISSING: n = 20, in all 5, 4, 4 and 7
    assert value(found, "end-to-end.nominal") == pytest.approx(1 - (14 / 20) / ((400 - 25 - 16 - 16 - 49) / 380))


def test_missing_is_a_value_that_two_of_three_can_share() -> None:
    everybody, alone = at("one", ("T:1",)), at("two", ("T:2",))
    found = compare(doc(everybody, alone), doc(everybody), doc(everybody))
    # units (1, 1, 1) and (2, M, M): D_o = (2/2 + 2/2)/6, D_e = (36 - 9 - 1 - 4)/30
    assert value(found, "end-to-end.nominal") == pytest.approx(1 - (2 / 6) / (22 / 30))
    assert value(found, "link.nominal") is None  # one value, no variation
    assert (found.units, found.matched) == (2, 1)


def test_unsure_and_unlinked_are_missing_values_but_mentions() -> None:
    alice = doc(at("one", ("T:1",)), at("two", ("T:2",)), at("three", ("T:3",), meta={"unsure": True}), at("four"))
    bob = doc(at("one", ("T:1",)), at("two", ("T:2",)), at("three", ("T:4",)), at("four", ("T:5",)))
    found = compare(alice, bob)
    assert value(found, "link.nominal") == value(found, "end-to-end.nominal") == 1.0
    assert value(found, "span.exact.raw") == value(found, "matched") == 1.0


def test_raw_and_trimmed_spans() -> None:
    text = "He has (seizures), often."
    found = compare(doc(Mention(7, 18), text=text), doc(Mention(8, 16), text=text))
    names = ("span.exact.raw", "span.overlap.raw", "span.exact.trimmed", "span.overlap.trimmed")
    assert [value(found, name) for name in names] == [0.0, pytest.approx(16 / 19), 1.0, 1.0]


def test_nested_mentions_are_compared_level_by_level() -> None:
    text = "left ventricular hypertrophy was seen"
    outer, inner = Mention(0, 28, types=("Disease",)), Mention(5, 16, types=("Disease",))
    heart = Mention(5, 16, types=("Anatomy",))
    found = compare(doc(outer, inner, heart, text=text), doc(outer, heart, text=text))
    assert value(found, "unitising.Disease.0") == value(found, "unitising.Anatomy.0") == 1.0
    # on the second level one has 11 of 37 characters, the other nothing: the gaps, 5, 21 and 37, have 11 + 27 places
    # for it, so that D_o = 2·11²/(2·37²) and D_e = (2/37)·11²·38/(74·73 - 11·10)
    expected = (2 / 37) * 121 * 38 / (74 * 73 - 110)
    assert value(found, "unitising.Disease.1") == pytest.approx(1 - (121 / 37**2) / expected)
    assert value(found, "cohen.Disease") == value(found, "cohen.Anatomy") == 1.0  # of words inside
    assert (value(found, "prevalence.Disease"), value(found, "prevalence.Anatomy")) == (3 / 5, 1 / 5)
    assert value(found, "span.exact.raw") == 1.0  # the inner place is marked, as Anatomy


def test_discontinuous_mentions() -> None:
    text = "breast and ovarian cancer"
    whole, broken = Mention(0, 25, types=("D",)), Mention(0, 25, (Span(0, 6), Span(19, 25)), types=("D",))
    found = compare(doc(whole, text=text), doc(broken, text=text))
    assert value(found, "span.exact.raw") == 0.0
    assert value(found, "span.overlap.raw") == pytest.approx(2 * 12 / (25 + 12))
    # of four words both have the first and the last: p_o = 1/2 = p_e
    assert value(found, "cohen.D") == pytest.approx(0.0)
    assert found.matched == 1
    same = compare(doc(broken, text=text), doc(broken, text=text))
    assert value(same, "span.exact.raw") == value(same, "unitising.D.0") == value(same, "cohen.D") == 1.0


def test_types_apart() -> None:
    alice = doc(at("one", ("T:1",), "Drug"), at("two", ("T:2",), "Drug"), at("three", ("T:3",)))
    bob = doc(at("one", ("T:1",), "Drug"), at("two", ("T:2",), "Disease"), at("three", ("T:3",)))
    found = compare_annotators({"Alice": {"a": alice}, "Bob": {"a": bob}}, samples=5)
    assert list(found.types) == ["", "Disease", "Drug"]
    assert {type: value(part, "span.exact.raw") for type, part in found.types.items()} == {
        "": 1.0, "Disease": 0.0, "Drug": pytest.approx(2 / 3),
    }  # fmt: skip
    assert (value(found.types["Drug"], "cohen.Drug") or 0) == value(found.overall, "cohen.Drug")
    assert not [name for name in found.types["Drug"].figures if name.endswith(".Disease")]
    assert value(found.overall, "span.exact.raw") == value(found.overall, "link.nominal") == 1.0


def three_readers() -> dict[str, dict[str, Document]]:
    """Alice has finished a, b, c; Bob a, b and begun c; Carol b, d."""

    def some(id: str, *words: str) -> Document:
        return doc(*(at(word, (f"T:{word}",), "T") for word in words), id=id)

    return {
        "Alice": {"a": some("a", "one", "two"), "b": some("b", "one"), "c": some("c", "two")},
        "Bob": {"b": some("b", "one", "two"), "a": some("a", "one"), "c": Document("c", TEXT)},
        "Carol": {"b": some("b", "two"), "d": some("d", "one")},
    }


def test_only_what_two_have_finished_counts() -> None:
    found = compare_annotators(three_readers(), samples=5)
    assert found.annotators == ("Alice", "Bob", "Carol")
    assert [(pair.annotators, pair.documents) for pair in found.pairs] == [
        (("Alice", "Bob"), 2), (("Alice", "Carol"), 1), (("Bob", "Carol"), 1),
    ]  # fmt: skip
    assert found.overall.documents == 2
    # a: Alice–Bob 1 of 2 and 1; b: 1 of 1 and 2, 0 of 1 and 1, 1 of 2 and 1. Summed, not a mean of means
    assert value(found.overall, "span.exact.raw") == pytest.approx(2 * (1 + 1 + 0 + 1) / (3 + 3 + 2 + 3))
    assert found.matrix("span.exact.raw") == [
        [None, pytest.approx(2 / 3), 0.0], [pytest.approx(2 / 3), None, pytest.approx(2 / 3)],
        [0.0, pytest.approx(2 / 3), None],
    ]  # fmt: skip
    assert "cohen.T" not in found.overall.figures
    assert all("cohen.T" in pair.figures for pair in found.pairs)
    assert {one for row in found.matrix("no such figure") for one in row} == {None}


def test_with_and_without_suggestions() -> None:
    found = compare_annotators(three_readers(), suggested=["a"], samples=5).suggestions
    assert {name: part.documents for name, part in found.items()} == {"with": 1, "without": 1}
    assert value(found["with"], "span.exact.raw") == pytest.approx(2 / 3)
    assert compare_annotators(three_readers(), samples=5).suggestions == {}
    none = compare_annotators(three_readers(), suggested=["a", "b"], samples=5).suggestions["without"]
    assert (none.documents, none.figures) == (0, {})


def test_nothing_to_compare() -> None:
    for work in ({}, {"Alice": {"a": doc()}}, {"Alice": {"a": doc()}, "Bob": {"b": doc(id="b")}}):
        found = compare_annotators(work)
        assert (found.annotators, found.pairs, found.overall.documents) == ((), (), 0)
    empty = compare(doc(), doc())
    assert {figure.value for figure in empty.figures.values()} == {None}
    assert value(compare(doc(text=""), doc(text="")), "span.exact.raw") is None


def test_documents_that_do_not_belong_together() -> None:
    with pytest.raises(MismatchError, match="Bob and Alice have read different texts"):
        compare_annotators({"Alice": {"a": doc()}, "Bob": {"a": doc(text="another")}})
    with pytest.raises(MismatchError, match="Alice: document 'a' stands under the id 'b'"):
        compare_annotators({"Alice": {"b": doc()}})
    with pytest.raises(DataError, match="samples: 0 draws"):
        compare(doc(at("one")), doc(), samples=0)


def test_intervals_and_records(tree: KnowledgeBase) -> None:
    luck = random.Random(3)

    def one(n: int) -> dict[str, Document]:
        return {
            f"d{n}": doc(*(at(word, (luck.choice(["T:A11", "T:X"]),)) for word in luck.sample(WORDS, 8)), id=f"d{n}")
        }

    work: Work = {who: {id: d for n in range(12) for id, d in one(n).items()} for who in ("Alice", "Bob", "Carol")}
    found = compare_annotators(work, kb=tree, samples=100, seed=5)
    for name, figure in found.overall.figures.items():
        if figure.value is not None:
            assert figure.low is not None, name
            assert figure.high is not None, name
            assert figure.low <= figure.value <= figure.high, name
    assert found == compare_annotators(work, kb=tree, samples=100, seed=5)
    other = compare_annotators(work, kb=tree, samples=100, seed=6)
    assert other.overall.figures["link.steps"].low != found.overall.figures["link.steps"].low
    record = json.loads(json.dumps(found.to_record(), allow_nan=False))
    assert record["overall"]["figures"]["link.nominal"].keys() == {"value", "low", "high"}
    assert (record["kb"], record["samples"], record["seed"], record["level"]) == (tree.version, 100, 5, 0.95)
    assert record["pairs"][0]["annotators"] == ["Alice", "Bob"]
    assert Figure(None) == Figure(None, None, None)


def test_random_labels_are_chance() -> None:
    luck = random.Random(7)
    ids = [f"T:{number}" for number in range(5)]
    people = ["Alice", "Bob", "Carol"]

    def one(n: int) -> Document:
        words = luck.sample(WORDS, 5)
        return doc(*(at(word, (luck.choice(ids),), "T") for word in words), id=f"d{n}")

    work = {who: {f"d{n}": one(n) for n in range(80)} for who in people}
    found = compare_annotators(work, samples=1).overall
    for name in ("link.nominal", "fleiss.T"):
        assert abs(value(found, name) or 0.0) < 0.1, name


# --- what must not matter --------------------------------------------------------------------------------------------

TEXTS = {"a": TEXT, "b": "breast and (ovarian) cancer, fits", "c": "x"}
IDS = st.sampled_from(["T:1", "T:2", "T:A11", "T:OLD"])


@st.composite
def marked(draw: st.DrawFn, id: str) -> Document:
    def mention() -> Mention:
        cuts = sorted(draw(st.sets(st.integers(0, len(TEXTS[id])), min_size=2, max_size=4)))
        spans = [Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
        return Mention(
            spans[0].start,
            spans[-1].end,
            tuple(spans) if len(spans) > 1 else (),
            types=tuple(draw(st.lists(st.sampled_from(["P", "Q"]), max_size=2))),
            concepts=draw(st.none() | st.lists(IDS, max_size=2).map(tuple)),
            alternatives=tuple(draw(st.lists(st.lists(IDS, max_size=2).map(tuple), max_size=1))),
        )

    return Document(id, TEXTS[id], mentions=tuple(mention() for _ in range(draw(st.integers(0, 4)))))


@st.composite
def works(draw: st.DrawFn) -> dict[str, dict[str, Document]]:
    return {
        who: {id: draw(marked(id)) for id in draw(st.lists(st.sampled_from([*TEXTS]), unique=True))}
        for who in ["Alice", "Bob", "Carol", "Dave"][: draw(st.integers(2, 4))]
    }


def shuffled(work: Work, luck: random.Random) -> dict[str, dict[str, Document]]:
    def mixed(items: Any) -> list[Any]:
        found = list(items)
        luck.shuffle(found)
        return found

    return {
        who: {id: Document(id, one.text, mentions=tuple(mixed(one.mentions))) for id, one in mixed(docs.items())}
        for who, docs in mixed(work.items())
    }


@settings(max_examples=15)
@given(works(), st.randoms(use_true_random=False))
def test_no_order_matters(tree: KnowledgeBase, work: dict[str, dict[str, Document]], luck: random.Random) -> None:
    found = compare_annotators(work, kb=tree, samples=3)
    assert found == compare_annotators(shuffled(work, luck), kb=tree, samples=3)
    in_bounds(found)


def in_bounds(found: Agreement) -> None:
    for part in (found.overall, *found.pairs, *found.types.values()):
        for name, figure in part.figures.items():
            if figure.value is not None:
                assert figure.value <= 1 + 1e-9, name
                assert figure.value >= 0 or name.partition(".")[0] not in ("span", "prevalence", "matched"), name


@settings(max_examples=15)
@given(works())
def test_perfect_agreement_is_one(tree: KnowledgeBase, work: dict[str, dict[str, Document]]) -> None:
    """Whoever copies what another has done agrees in everything that can be told from chance."""
    found = compare_annotators(
        {"Alice": work["Alice"], "Copy": work["Alice"], "Third": work["Alice"]}, kb=tree, samples=10
    )
    for part in (found.overall, *found.pairs, *found.types.values()):
        for name, figure in part.figures.items():
            if figure.value is not None and not name.startswith("prevalence"):
                assert figure.value == pytest.approx(1.0), name
    assert found.confusions == ()
