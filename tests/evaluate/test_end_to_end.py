"""Every way of counting: worked by hand, against slow definitions, and what must not matter."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Document, Mention, Span
from linnet.evaluate.end_to_end import end_to_end, matching_size, meeting, recognition_by_type
from linnet.evaluate.measures import Measure

TEXT = "seizure and cold and short stature"
#       0       8   12   17  21    27      words at these places

Pairs = Sequence[tuple[Document, Document]]


class At(NamedTuple):
    """A mention in short."""

    start: int
    end: int
    concepts: tuple[str, ...] | None = None
    types: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, ...], ...] = ()
    parts: tuple[Span, ...] = ()

    def mention(self) -> Mention:
        return Mention(**self._asdict())


def doc(*mentions: At, id: str = "a") -> Document:
    return Document(id, TEXT, mentions=tuple(mention.mention() for mention in mentions))


def all_of(pairs: Pairs, live: Callable[[str], str] = str) -> dict[str, Measure]:
    measures = end_to_end(pairs, live=live)
    assert len({measure.name for measure in measures}) == len(measures)
    return {measure.name: measure for measure in measures}


def values(pairs: Pairs) -> dict[str, float]:
    return {name: measure.value for name, measure in all_of(pairs).items()}


def prf(found: dict[str, float], name: str, *, macro: bool = False) -> tuple[float, float, float]:
    precision, recall, f1 = (found[f"{name}.{'macro-' * macro}{of}"] for of in ("precision", "recall", "f1"))
    return precision, recall, f1


# ---------------------------------------------------------------- worked by hand

GOLD = doc(At(0, 7, ("S",)), At(12, 16, ("C",)), At(21, 34, ("H",)))
PREDICTED = doc(
    At(0, 7, ("S",)),  # exactly right
    At(12, 20, ("C",)),  # 4 of its 8 characters are C's 4
    At(27, 34, ("H",)),  # all its 7 characters lie in H's 13
    At(21, 26, ("H",)),  # all its 5 do, too
    At(8, 11, ("X",)),  # nothing there
)


def test_one_document_by_hand() -> None:
    found = values([(GOLD, PREDICTED)])
    # 1 of 5 predicted, 1 of 3 gold: F1 = 2·1/8
    for name in ("strict", "strict-parts", "strict-nil", "mention", "recognition.strict", "recognition.typed"):
        assert prf(found, name) == pytest.approx((1 / 5, 1 / 3, 1 / 4)), name
    # no boundary is off by one alone
    assert prf(found, "hunflair2") == pytest.approx((1 / 5, 1 / 3, 1 / 4))
    # one to one: S, C and one of the two H
    assert prf(found, "partial") == pytest.approx((3 / 5, 3 / 3, 6 / 8))
    assert prf(found, "recognition.partial") == pytest.approx((3 / 5, 3 / 3, 6 / 8))
    # every predicted one that touches: S, C, H, H; no gold one is missed: 4/(4 + 0)
    assert prf(found, "a2w-weak") == pytest.approx((4 / 5, 1, 8 / 9))
    # P: (1 + 4/8 + 7/7 + 5/5 + 0)/5; R: (1 + 4/4 + 7/13)/3
    p, r = 3.5 / 5, (2 + 7 / 13) / 3
    assert prf(found, "overlap-maxmax") == pytest.approx((p, r, 2 * p * r / (p + r)))
    # {S, C, H, X} against {S, C, H}
    assert prf(found, "document") == pytest.approx((3 / 4, 1, 6 / 7))
    # the one span that is right has no types on either side
    assert found["typing.accuracy"] == 1
    # gold       U O U O B L (BIO: B O B O B I)
    # predicted  U U B L U U (BIO: B B B I B B)
    assert found["token.bilou.accuracy"] == found["token.bilou-typed.accuracy"] == pytest.approx(1 / 6)
    assert found["token.bio.accuracy"] == found["token.bio-typed.accuracy"] == pytest.approx(3 / 6)


def test_micro_and_macro_by_hand() -> None:
    pairs = [
        (GOLD, PREDICTED),  # P 1/5, R 1/3, F1 1/4
        (doc(At(0, 7, ("S",)), id="b"), doc(At(0, 7, ("S",)), id="b")),  # 1, 1, 1
        (doc(id="c"), doc(At(0, 7, ("S",)), id="c")),  # 0, 0, 0: invented
        (doc(id="d"), doc(id="d")),  # holds nothing, and takes no part in the mean
    ]
    found = values(pairs)
    assert prf(found, "strict") == pytest.approx((2 / 7, 2 / 4, 4 / 11))
    assert prf(found, "strict", macro=True) == pytest.approx((1.2 / 3, (4 / 3) / 3, 1.25 / 3))
    counts = all_of(pairs)["strict.f1"].counts
    assert counts.tolist() == [[1, 5, 1, 3], [1, 1, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_nil_counted_or_not() -> None:
    gold = doc(At(0, 7, ("S",)), At(12, 16, ()), At(21, 34, ()))
    predicted = doc(At(0, 7, ()), At(12, 16, ()), At(21, 34, ("H",)))
    found = values([(gold, predicted)])
    assert prf(found, "strict") == (0, 0, 0)  # H against S
    assert prf(found, "strict-nil") == pytest.approx((1 / 3, 1 / 3, 1 / 3))  # NIL at 12
    assert prf(found, "overlap-maxmax") == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert prf(found, "nil") == (1 / 2, 1 / 2, 1 / 2)
    assert prf(found, "recognition.strict") == (1, 1, 1)
    assert (
        prf(found, "partial")
        == prf(found, "a2w-weak")
        == prf(found, "hunflair2")
        == prf(found, "document")
        == (0, 0, 0)
    )


def test_not_linked_is_not_nil() -> None:
    found = values([(doc(At(0, 7, ()), At(12, 16, ("C",))), doc(At(0, 7), At(12, 16, ("C",))))])
    assert prf(found, "strict-nil") == pytest.approx((1, 1 / 2, 2 / 3))
    assert prf(found, "strict") == prf(found, "recognition.strict") == (1, 1, 1)


def test_nested() -> None:
    gold = doc(At(21, 34, ("H",)), At(21, 26, ("X",)))
    found = values([(gold, doc(At(21, 34, ("X",)), At(21, 26, ("X",))))])
    assert prf(found, "strict") == (1 / 2, 1 / 2, 1 / 2)  # the inner one
    assert prf(found, "partial") == (1 / 2, 1 / 2, 1 / 2)  # gold's one X can be used once
    assert prf(found, "a2w-weak") == pytest.approx((1, 2 / 3, 4 / 5))  # both X touch it; H is missed: 2/(2 + 1)
    assert prf(found, "overlap-maxmax") == pytest.approx(((1 + 5 / 13) / 2, 1 / 2, 2 * (9 / 13) * 0.5 / (9 / 13 + 0.5)))
    assert prf(found, "document") == pytest.approx((1, 1 / 2, 2 / 3))
    assert prf(found, "recognition.strict") == (1, 1, 1)
    assert found["token.bilou.accuracy"] == 1  # the longest is tagged on both sides


def test_discontinuous() -> None:
    parts = (Span(0, 3), Span(12, 16))
    gold = doc(At(0, 16, ("A",), parts=parts))
    hull = values([(gold, doc(At(0, 16, ("A",))))])
    assert prf(hull, "strict") == prf(hull, "recognition.strict") == (1, 1, 1)
    assert prf(hull, "strict-parts") == (0, 0, 0)
    assert prf(hull, "partial") == prf(hull, "recognition.partial") == (1, 1, 1)
    gap = values([(gold, doc(At(4, 11, ("A",))))])
    assert prf(gap, "partial") == prf(gap, "recognition.partial") == (0, 0, 0)  # no character in common
    assert prf(gap, "a2w-weak") == (1, 1, 1)  # knows hulls alone
    assert prf(gap, "overlap-maxmax")[:2] == pytest.approx((7 / 7, 7 / 16))
    both = doc(At(0, 16, ("A",), parts=parts), At(0, 16, ("A",), parts=(Span(0, 5), Span(12, 16))))
    again = values([(both, gold)])
    assert prf(again, "strict") == (1, 1, 1)
    assert prf(again, "strict-parts") == pytest.approx((1, 1 / 2, 2 / 3))
    # gold: "seizure" and "cold" are tagged on their own (U O U O O O); predicted: one span (B I L O O O)
    assert hull["token.bilou.accuracy"] == 3 / 6
    assert hull["token.bio.accuracy"] == 4 / 6  # B O B O O O, B I I O O O


def test_composite() -> None:
    found = values([(doc(At(0, 7, ("S", "T"))), doc(At(0, 7, ("T", "X"))))])
    for name in ("strict", "partial", "a2w-weak", "overlap-maxmax", "document"):
        assert prf(found, name) == (1 / 2, 1 / 2, 1 / 2), name
    assert prf(found, "hunflair2") == (1, 1, 1)  # any concept in common is enough
    assert prf(found, "recognition.strict") == (1, 1, 1)


@pytest.mark.parametrize(
    ("concepts", "strict"),
    [
        (("S",), (1, 1, 1)),
        (("T",), (1, 1, 1)),
        (("U", "V"), (1, 1, 1)),
        (("U",), (0, 0, 0)),  # half of an answer is none, so that the first counts: S is missed
        (("S", "T"), (1 / 2, 1, 2 / 3)),  # one answer counts, not both
        ((), (0, 0, 0)),
    ],
)
def test_alternatives(concepts: tuple[str, ...], strict: tuple[float, float, float]) -> None:
    gold = doc(At(0, 7, ("S",), alternatives=(("T",), ("U", "V"))))
    found = values([(gold, doc(At(0, 7, concepts)))])
    for name in ("strict", "document", "partial", "overlap-maxmax", "a2w-weak", "strict-parts"):
        assert prf(found, name) == pytest.approx(strict), name
    assert prf(found, "hunflair2") == ((1, 1, 1) if concepts else (0, 0, 0))


def test_alternatives_at_another_span() -> None:
    gold = doc(At(21, 34, ("S",), alternatives=(("T",),)))
    found = values([(gold, doc(At(21, 26, ("T",))))])
    assert prf(found, "strict") == (0, 0, 0)
    assert prf(found, "partial") == (1, 1, 1)
    nothing = values([(doc(At(0, 7, ("S",), alternatives=((),))), doc(At(0, 7, ())))])
    assert prf(nothing, "strict-nil") == prf(nothing, "nil") == prf(nothing, "strict") == (1, 1, 1)
    unsaid = values([(doc(At(0, 7, None, alternatives=(("S",),))), doc(At(0, 7, ("S",))))])
    assert prf(unsaid, "strict") == (1, 1, 1)


def test_saying_it_twice_counts_once() -> None:
    once, twice = doc(At(0, 7, ("S",), ("D",))), doc(*[At(0, 7, ("S", "S"), ("D", "D"))] * 2)
    for pair in ((once, twice), (twice, once)):
        for name, measure in all_of([pair]).items():
            assert measure.value == 1, name
            assert measure.counts.max() == (6 if name in TOKENS else not name.startswith("nil.")), name


def test_ids_go_through_live() -> None:
    pair = (doc(At(0, 7, ("OLD", "NEW"))), doc(At(0, 7, ("NEW",))))
    found = all_of([pair], {"OLD": "NEW", "NEW": "NEW"}.__getitem__)
    assert found["strict.f1"].counts.tolist() == [[1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("start", "end", "right"),
    [
        (21, 26, 1),
        (20, 26, 1),
        (22, 26, 1),
        (21, 25, 1),
        (21, 27, 1),
        (20, 27, 0),
        (22, 25, 0),
        (23, 26, 0),
        (21, 28, 0),
    ],
)
def test_one_character_off(start: int, end: int, right: int) -> None:
    found = values([(doc(At(21, 26, ("S",))), doc(At(start, end, ("S",))))])
    assert prf(found, "hunflair2") == (right, right, right)


def test_one_character_off_counts_spans() -> None:
    gold = doc(At(21, 26, ("S",)), At(0, 7, ("T",)))
    predicted = doc(At(21, 26, ("S", "X")), At(20, 26, ("S",)), At(0, 7, ("X",)))
    # spans 21-26 and 20-26 are right, 0-7 is not; gold's 0-7 is missed: 2/(2 + 1)
    assert prf(values([(gold, predicted)]), "hunflair2") == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_typing() -> None:
    gold = doc(At(0, 7, types=("D",)), At(12, 16, types=("D", "T")), At(21, 34, types=("D",)), At(21, 26))
    predicted = doc(At(0, 7, types=("D",)), At(12, 16, types=("T",)), At(27, 34, types=("D",)), At(21, 26))
    found = values([(gold, predicted)])
    # spans in common: 0 (same), 12 ({D, T} against {T}), 21-26 (none on both sides)
    assert found["typing.accuracy"] == pytest.approx(2 / 3)
    # (span, type): 5 gold, 4 predicted, in common 0·D, 12·T, 21-26·none
    assert prf(found, "recognition.typed") == pytest.approx((3 / 4, 3 / 5, 6 / 9))
    by_type = {
        type: [measure.value for measure in measures[:3]]
        for type, measures in recognition_by_type([(gold, predicted)]).items()
    }
    assert by_type == {
        "": [1, 1, 1],
        "D": pytest.approx([1 / 2, 1 / 3, 2 / 5]),
        "T": [1, 1, 1],
    }
    # gold       U/D O U/D O B/D L/D (of D and T the first in the alphabet)
    # predicted  U/D O U/T O U/- U/D
    assert found["token.bilou.accuracy"] == pytest.approx(4 / 6)
    assert found["token.bilou-typed.accuracy"] == pytest.approx(3 / 6)
    assert found["token.bio-typed.accuracy"] == pytest.approx(3 / 6)
    assert found["token.bio.accuracy"] == pytest.approx(5 / 6)


def test_tokens_of_crossing_spans() -> None:
    # 0-16 (three words) is tagged, 12-26 (three words, later) shares "cold" with it and is not; 27-34 is
    pair = (doc(At(0, 16), At(12, 26), At(27, 34)), doc(At(0, 16), At(27, 34)))
    assert values([pair])["token.bilou.accuracy"] == 1
    # half a word is the word; a blank alone is no word
    pair = (doc(At(0, 7), At(11, 12)), doc(At(3, 4)))
    assert values([pair])["token.bilou.accuracy"] == 1


def test_documents_without_words() -> None:
    pair = (Document("a", "…"), Document("a", "…", mentions=(Mention(0, 1),)))
    assert values([pair])["token.bio.accuracy"] == 0  # 0/0, and not everything is empty


# ---------------------------------------------------------------- conventions

TOKENS = ("token.bio.accuracy", "token.bilou.accuracy", "token.bio-typed.accuracy", "token.bilou-typed.accuracy")


def test_nothing_to_find_and_nothing_found() -> None:
    for pairs in ([], [(doc(), doc())], [(Document("a", ""), Document("a", ""))]):
        assert set(values(pairs).values()) == {1.0}
        assert recognition_by_type(pairs) == {}


def test_silence_and_invention() -> None:
    gold = doc(At(0, 7, ("S",), ("D",)))
    for pairs in ([(gold, doc()), (doc(), doc())], [(doc(), gold), (doc(), doc())]):
        found = values(pairs)
        assert all(found[name] == 11 / 12 for name in TOKENS)
        rest = {name: value for name, value in found.items() if name not in TOKENS and not name.startswith("nil")}
        assert set(rest.values()) == {0.0}
        assert found["nil.f1"] == found["nil.macro-f1"] == 1.0


def test_a_document_has_an_accepted_answer_wherever_it_was_found() -> None:
    gold = doc(At(0, 7, ("A",), (), (("B",),)))
    elsewhere = doc(At(12, 16, ("B",)))
    found = values([(gold, elsewhere)])
    assert (found["strict.f1"], found["document.f1"]) == (0.0, 1.0)


# ---------------------------------------------------------------- slow definitions

IDS = st.sampled_from(["A", "B", "C"])
ANSWERS = st.lists(IDS, max_size=2).map(tuple)


@st.composite
def mentions(draw: st.DrawFn) -> At:
    cuts = sorted(draw(st.sets(st.integers(0, 14), min_size=2, max_size=4)))
    parts = tuple(Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    return At(
        parts[0].start,
        parts[-1].end,
        draw(st.none() | ANSWERS),
        tuple(draw(st.lists(st.sampled_from(["t", "u"]), max_size=2))),
        tuple(draw(st.lists(ANSWERS, max_size=2))),
        parts if len(parts) > 1 else (),
    )


@st.composite
def comparisons(draw: st.DrawFn) -> list[tuple[Document, Document]]:
    sizes = draw(st.integers(0, 3))
    some = st.lists(mentions(), max_size=4)
    return [(doc(*draw(some), id=str(at)), doc(*draw(some), id=str(at))) for at in range(sizes)]


Unit = tuple[tuple[Span, ...], str]
Meets = Callable[[Unit, Unit], bool]


def characters(spans: Sequence[Span]) -> set[int]:
    return {at for start, end in spans for at in range(start, end)}


def said(mention: Mention, answer: tuple[str, ...], *, hull: bool) -> set[Unit]:
    spans = (mention.span,) if hull else mention.spans
    return {(spans, id) for id in answer or ("NIL",)}


def units(pair: tuple[Document, Document], meets: Meets, *, hull: bool) -> tuple[set[Unit], set[Unit]]:
    """Return what gold wants and what was predicted, by the words of the docstrings."""
    have = {
        unit
        for mention in pair[1].mentions or ()
        if mention.concepts is not None
        for unit in said(mention, mention.concepts, hull=hull)
    }
    want: set[Unit] = set()
    for mention in pair[0].mentions or ():
        accepted = [*([] if mention.concepts is None else [mention.concepts]), *mention.alternatives]
        answers = [said(mention, answer, hull=hull) for answer in accepted]
        whole = [answer for answer in answers if all(any(meets(one, other) for other in have) for one in answer)]
        want |= next(iter(whole + answers), set())
    return want, have


def same(one: Unit, other: Unit) -> bool:
    return one == other


def touches(one: Unit, other: Unit) -> bool:
    return one[1] == other[1] and bool(characters(one[0]) & characters(other[0]))


def anywhere(one: Unit, other: Unit) -> bool:
    return one[1] == other[1] and (one[1] != "NIL" or one == other)


def near(one: Unit, other: Unit) -> bool:
    [(a, b)], [(c, d)] = one[0], other[0]
    return one[1] == other[1] and abs(a - c) + abs(b - d) <= 1


def largest(want: Sequence[Unit], have: Sequence[Unit], meets: Meets) -> int:
    """Return the size of the largest one-to-one matching, by trying everything."""
    if not want:
        return 0
    first, rest = want[0], want[1:]
    taken = [
        1 + largest(rest, [other for other in have if other != chosen], meets)
        for chosen in have
        if meets(first, chosen)
    ]
    return max([largest(rest, have, meets), *taken])


def links(found: set[Unit]) -> set[Unit]:
    return {unit for unit in found if unit[1] != "NIL"}


def covered(one: Unit, others: set[Unit]) -> float:
    shares = [len(characters(one[0]) & characters(other[0])) for other in others if other[1] == one[1]]
    return max(shares, default=0) / len(characters(one[0]))


def slow(pair: tuple[Document, Document]) -> dict[str, tuple[float, float, float, float]]:
    """Return found, predicted, hit, gold of one document for each way of counting."""
    want, have = units(pair, same, hull=True)
    sets: dict[str, tuple[set[Any], ...]] = {
        "strict": (links(want), links(have)),
        "mention": (links(want), links(have)),
        "strict-nil": (want, have),
        "nil": (want - links(want), have - links(have)),
        "strict-parts": tuple(map(links, units(pair, same, hull=False))),
        "document": ({id for _, id in links(units(pair, anywhere, hull=True)[0])}, {id for _, id in links(have)}),
        "recognition.strict": tuple({m.span for m in side.mentions or ()} for side in pair),
        "recognition.typed": tuple(
            {(m.span, type) for m in side.mentions or () for type in m.types or ("",)} for side in pair
        ),
    }
    found: dict[str, tuple[float, float, float, float]] = {
        name: (len(one & other), len(other), len(one & other), len(one)) for name, (one, other) in sets.items()
    }
    loose, have = map(links, units(pair, touches, hull=False))
    best = largest(sorted(loose), sorted(have), touches)
    found["partial"] = best, len(have), best, len(loose)
    spans: list[set[Unit]] = [{(m.spans, "") for m in side.mentions or ()} for side in pair]
    best = largest(sorted(spans[0]), sorted(spans[1]), touches)
    found["recognition.partial"] = best, len(spans[1]), best, len(spans[0])
    loose, have = units(pair, touches, hull=True)
    shares = sum(covered(one, loose) for one in have), sum(covered(one, have) for one in loose)
    found["overlap-maxmax"] = shares[0], len(have), shares[1], len(loose)
    loose, have = links(loose), links(have)
    right = sum(any(touches(one, other) for other in loose) for one in have)
    missed = sum(not any(touches(one, other) for other in have) for one in loose)
    found["a2w-weak"] = right, len(have), right, right + missed
    accepted = {
        unit
        for m in pair[0].mentions or ()
        for answer in [*([] if m.concepts is None else [m.concepts]), *m.alternatives]
        for unit in links(said(m, answer, hull=True))
    }
    right = len({one[0] for one in have if any(near(one, other) for other in accepted)})
    hit = {one[0] for one in accepted if any(near(one, other) for other in have)}
    missed = len({one[0] for one in accepted} - hit)
    found["hunflair2"] = right, len({one[0] for one in have}), right, right + missed
    return found


@pytest.mark.slow
@given(comparisons())
def test_slow_definitions(pairs: list[tuple[Document, Document]]) -> None:
    fast = all_of(pairs)
    expected = [slow(pair) for pair in pairs]
    names = {name.rsplit(".", 1)[0] for name in fast if name.endswith(".f1")}
    for name in names:
        rows = [row[name] for row in expected]
        counts = np.array(rows, np.float64).reshape(-1, 4)
        np.testing.assert_allclose(fast[f"{name}.f1"].counts, counts, err_msg=name, atol=1e-12)
        np.testing.assert_array_equal(fast[f"{name}.precision"].counts, fast[f"{name}.f1"].counts[:, :2])
        np.testing.assert_array_equal(fast[f"{name}.recall"].counts, fast[f"{name}.f1"].counts[:, 2:])
        held = counts[(counts[:, 1] > 0) | (counts[:, 3] > 0)]
        p, r = ([a / b if b else 0.0 for a, b in held[:, at : at + 2]] for at in (0, 2))
        f1 = [2 * a * b / (a + b) if a + b else 0.0 for a, b in zip(p, r, strict=True)]
        for figure, by_document in (("precision", p), ("recall", r), ("f1", f1)):
            mean = sum(by_document) / len(by_document) if by_document else 1.0
            assert fast[f"{name}.macro-{figure}"].value == pytest.approx(mean), name


@pytest.mark.slow
@given(comparisons(), st.randoms(use_true_random=False))
def test_order_does_not_matter(pairs: list[tuple[Document, Document]], rng: random.Random) -> None:
    def shuffled(document: Document) -> Document:
        return replace(document, mentions=tuple(rng.sample(document.mentions or (), len(document.mentions or ()))))

    mixed = [(shuffled(gold), shuffled(predicted)) for gold, predicted in rng.sample(pairs, len(pairs))]
    assert values(mixed) == pytest.approx(values(pairs))


@pytest.mark.slow
@given(comparisons())
def test_perfect_is_one(pairs: list[tuple[Document, Document]]) -> None:
    def perfect(gold: Document) -> Document:
        found = (replace(m, concepts=next(iter(accepted(m)), None), alternatives=()) for m in gold.mentions or ())
        return replace(gold, mentions=tuple(found))

    def accepted(m: Mention) -> list[tuple[str, ...]]:
        return [*([] if m.concepts is None else [m.concepts]), *m.alternatives]

    found = values([(gold, perfect(gold)) for gold, _ in pairs])
    # HunFlair2's rule asks for any accepted concept, and NIL is none
    assert {name for name, value in found.items() if value != 1 and not name.startswith("hunflair2.")} == set()


@pytest.mark.slow
@given(comparisons())
def test_silence_is_zero(pairs: list[tuple[Document, Document]]) -> None:
    found = all_of([(gold, replace(gold, mentions=())) for gold, _ in pairs])
    for name, measure in found.items():
        if name not in TOKENS and measure.counts.any():
            assert measure.value == 0, name


@pytest.mark.slow
@given(comparisons())
def test_token_labels(pairs: list[tuple[Document, Document]]) -> None:
    def labels(document: Document) -> dict[str, list[tuple[str, str]]]:
        words = [(0, 7), (8, 11), (12, 16), (17, 20), (21, 26), (27, 34)]
        rows = []
        for mention in document.mentions or ():
            for start, end in mention.spans:
                hit = [at for at, (a, b) in enumerate(words) if a < end and start < b]
                rows += [(-len(hit), hit, min(mention.types, default=""))] if hit else []
        bilou, bio = [("O", "")] * 6, [("O", "")] * 6
        for _, hit, type in sorted(rows):
            if all(bilou[at] == ("O", "") for at in hit):
                for at in hit:
                    bilou[at], bio[at] = ("I", type), ("I", type)
                bilou[hit[-1]] = ("L", type)
                bilou[hit[0]] = ("U" if len(hit) == 1 else "B", type)
                bio[hit[0]] = ("B", type)
        return {"bilou": bilou, "bio": bio}

    found = all_of(pairs)
    for scheme in ("bio", "bilou"):
        both = [(labels(gold)[scheme], labels(predicted)[scheme]) for gold, predicted in pairs]
        typed = [[sum(a == b for a, b in zip(*pair, strict=True)), 6] for pair in both]
        bare = [[sum(a[0] == b[0] for a, b in zip(*pair, strict=True)), 6] for pair in both]
        assert found[f"token.{scheme}-typed.accuracy"].counts.tolist() == typed
        assert found[f"token.{scheme}.accuracy"].counts.tolist() == bare


# ---------------------------------------------------------------- joins

INTERVALS = st.sets(
    st.tuples(st.integers(0, 12), st.integers(1, 12), st.sampled_from("xy")).map(
        lambda at: ((Span(at[0], at[0] + at[1]),), at[2])
    ),
    max_size=8,
)


@given(INTERVALS, INTERVALS)
def test_units_that_meet(one: set[Unit], other: set[Unit]) -> None:
    found = list(meeting(one, other))
    assert len(found) == len(set(found))
    assert set(found) == {pair for pair in itertools.product(one, other) if touches(*pair)}


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=10))
def test_largest_matching(edges: set[tuple[int, int]]) -> None:
    def most(rows: Sequence[int], free: frozenset[int]) -> int:
        if not rows:
            return 0
        used = [1 + most(rows[1:], free - {b}) for a, b in edges if a == rows[0] and b in free]
        return max([most(rows[1:], free), *used])

    places = [((Span(at, at + 1),), "x") for at in range(5)]
    assert matching_size([(places[a], places[b]) for a, b in edges]) == most(range(5), frozenset(range(5)))
