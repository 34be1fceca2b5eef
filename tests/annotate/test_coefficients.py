"""Coefficients: published examples, and slow obvious references."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from linnet.annotate.coefficients import Cohen, Fleiss, Unitising, Units
from linnet.data import Span

ONCE = np.ones((1, 1))


def test_alpha_of_krippendorffs_example() -> None:
    """Twelve units, four observers, missing values: α nominal .743, interval .849 (Krippendorff 2011, section C)."""
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[int(mark) for mark in column if mark != "."] for column in zip(*observers, strict=True)]
    found = Units([units], values=6)
    values = np.arange(6.0)
    assert found.alpha(np.eye(6)).of(ONCE)[0] == pytest.approx(0.743, abs=5e-4)
    assert found.alpha(1 - (values[:, None] - values) ** 2).of(ONCE)[0] == pytest.approx(0.849, abs=5e-4)


def slow_alpha(units: Sequence[Sequence[int]], distance: Callable[[int, int], float]) -> float:
    """Krippendorff's α by the coincidence matrix, as it is defined."""
    coincidences: dict[tuple[int, int], float] = defaultdict(float)
    for unit in units:
        for pair in itertools.permutations(unit, 2):
            coincidences[pair] += 1 / (len(unit) - 1)
    sums = {
        value: sum(n for (one, _), n in coincidences.items() if one == value) for value in {c for c, _ in coincidences}
    }
    n = sum(sums.values())
    observed = sum(many * distance(*pair) for pair, many in coincidences.items()) / n if n else 0
    expected = sum(sums[c] * sums[k] * distance(c, k) for c, k in itertools.permutations(sums, 2))
    return 1 - observed / (expected / (n * (n - 1))) if expected else math.nan


UNITS = st.lists(st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=5), min_size=1, max_size=4)


@given(UNITS, st.lists(st.sampled_from([0.25, 0.5, 0.75, 1.0]), min_size=25, max_size=25), st.data())
def test_alpha_is_that_of_the_coincidence_matrix(
    documents: list[list[list[int]]], far: list[float], data: st.DataObject
) -> None:
    def distance(one: int, other: int) -> float:
        return 0.0 if one == other else far[5 * min(one, other) + max(one, other)]

    near = np.array([[1 - distance(c, k) for k in range(5)] for c in range(5)])
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(documents), max_size=len(documents)))
    units = [unit for doc, n in zip(documents, times, strict=True) for unit in doc * n]
    [found] = Units(documents, values=5).alpha(near).of(np.array([times], np.float64))
    assert found == pytest.approx(slow_alpha(units, distance), nan_ok=True)


LABELS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


@given(st.lists(LABELS, min_size=1, max_size=4))
def test_cohens_kappa_is_that_of_sklearn(documents: list[list[tuple[int, int]]]) -> None:
    tables = np.zeros((len(documents), 3, 3), np.int64)
    for table, pairs in zip(tables, documents, strict=True):
        for pair in pairs:
            table[pair] += 1
    [found] = Cohen(tables).of(np.ones((1, len(documents))))
    one, other = zip(*(pair for pairs in documents for pair in pairs), strict=True)
    if {*one} == {*other} and len({*one}) == 1:
        assert math.isnan(found)  # where sklearn warns
    else:
        assert found == pytest.approx(cohen_kappa_score(one, other))


def test_fleiss_kappa_of_a_published_example() -> None:
    """Ten subjects, fourteen judges, five categories (the worked example of many textbooks): κ = .210.

    P_1 = (14² - 14)/(14·13) = 1; P_2 = (2² + 6² + 4² + 2² - 14)/182 = .253 and so on; their mean is .378.
    Of 140 judgements 20, 28, 39, 21, 32 are in each category: p_e = .143² + .200² + .279² + .150² + .229² = .213.
    κ = (.378 - .213)/(1 - .213).
    """
    rows = ["0 0 0 0 14", "0 2 6 4 2", "0 0 3 5 6", "0 3 9 2 0", "2 2 8 1 1"]
    rows += ["7 7 0 0 0", "3 2 6 3 0", "2 5 3 2 2", "6 5 2 1 0", "0 2 2 3 7"]
    table = np.array([[int(count) for count in row.split()] for row in rows])
    assert Fleiss.of_subjects([table]).of(ONCE)[0] == pytest.approx(0.210, abs=5e-4)
    halves = Fleiss.of_subjects([table[:3], table[3:]])
    assert halves.of(np.ones((1, 2))) == pytest.approx(Fleiss.of_subjects([table]).of(ONCE))


def slow_unitising(documents: Sequence[tuple[int, Sequence[Sequence[Span]]]]) -> float:
    """α_U section by section, gaps included, all documents read by the same number of annotators."""
    coders = len(documents[0][1])
    length = sum(size for size, _ in documents)
    observed, own = 0, [span for _, people in documents for sections in people for span in sections]
    gaps: list[int] = []
    for size, people in documents:
        parts = []
        for sections in people:
            edges = [0, *(edge for span in sections for edge in span), size]
            between = [(a, b, False) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
            gaps += [b - a for a, b, _ in between]
            parts.append([*((a, b, True) for a, b in sections), *between])
        for ours, theirs in itertools.permutations(parts, 2):
            for (a, b, marked), (c, d, too) in itertools.product(ours, theirs):
                if marked and too and a < d and c < b:
                    observed += (a - c) ** 2 + (b - d) ** 2
                elif marked and not too and c <= a and b <= d:
                    observed += (b - a) ** 2
                elif too and not marked and a <= c and d <= b:
                    observed += (d - c) ** 2
    expected = 0.0
    for a, b in own:
        n = b - a
        expected += (len(own) - 1) / 3 * (2 * n**3 - 3 * n**2 + n)
        expected += n**2 * sum(gap - n + 1 for gap in gaps if gap >= n)
    all_pairs = coders * length * (coders * length - 1) - sum((b - a) * (b - a - 1) for a, b in own)
    if not expected:
        return math.nan
    return 1 - (observed / (coders * (coders - 1) * length**2)) / ((2 / length) * expected / all_pairs)


@st.composite
def sections(draw: st.DrawFn, length: int) -> list[Span]:
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    kept = [Span(a, b) for a, b in itertools.pairwise(cuts)]
    return [
        span for span, keep in zip(kept, draw(st.lists(st.booleans(), min_size=8, max_size=8)), strict=False) if keep
    ]


@given(st.data())
def test_unitising_alpha_section_by_section(data: st.DataObject) -> None:
    coders = data.draw(st.integers(2, 4))
    sizes = data.draw(st.lists(st.integers(2, 30), min_size=1, max_size=3))
    documents = [(size, [data.draw(sections(size)) for _ in range(coders)]) for size in sizes]
    [found] = Unitising(documents).of(np.ones((1, len(documents))))
    assert found == pytest.approx(slow_unitising(documents), nan_ok=True)


def test_unitising_alpha_of_krippendorffs_example() -> None:
    """Two categories in a text of 300 from 150 on (Krippendorff 2004, p. 254): α_U .729 of c, 1 of k.

    c: the sections 225-295 and 220-300 are 5² + 5² apart, 370-400 and 355-375 15² + 25², and 400-420 lies in a gap,
    20²: D_o = 2·(50 + 850 + 400)/(2·300²) = .0144; D_e = .0532.
    """
    c = [[(225, 295), (370, 400)], [(220, 300), (355, 375), (400, 420)]]
    k = [[(180, 240), (300, 350)]] * 2
    for people, expected in ((c, 0.7286), (k, 1.0)):
        moved = [[Span(start - 150, end - 150) for start, end in own] for own in people]
        assert Unitising([(300, moved)]).of(ONCE)[0] == pytest.approx(expected, abs=5e-5)


def test_sections_at_random_agree_by_chance() -> None:
    luck = random.Random(0)
    length, size = 12_000, 20

    def some() -> list[Span]:
        starts = itertools.accumulate(iter(lambda: size + 1 + int(luck.expovariate(1 / 30)), None))
        return [Span(at, at + size) for at in itertools.takewhile(lambda at: at + size <= length, starts)]

    assert abs(Unitising([(length, [some(), some(), some()])]).of(ONCE)[0]) < 0.05
