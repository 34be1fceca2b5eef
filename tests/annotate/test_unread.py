"""How sure a model is of a document: probabilities, what may be right, disagreement of versions, vectors, time."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.annotate.cold_start import ColdStart, cold_start
from linnet.annotate.unread import NIL, OTHER, Unread, disagreement, entropy, outcomes, probability, surface_vector
from linnet.annotate.work_time import Timed, WorkTime, fit_work_time
from linnet.data import Candidates, Document, Mention
from linnet.errors import DataError

TEXT = "Short stature, seizures and a cleft palate."


def candidates(
    *scores: float, rows: tuple[int, ...] = (), ids: tuple[str | None, ...] = (), kb: str = ""
) -> Candidates:
    return Candidates(rows or range(len(scores)), scores, kb=kb, ids=ids)  # type: ignore[arg-type]


def doc(*mentions: Mention, id: str = "d") -> Document:
    return Document(id, TEXT, mentions=mentions)


# --- probabilities ---------------------------------------------------------------------------------------------------


def test_an_answer_without_a_probability_is_even_odds_and_a_span_without_one_as_sure_as_its_detector() -> None:
    assert probability(Mention(0, 5)) == 0.5
    assert probability(Mention(0, 5, signals={"detect": 0.9})) == 0.9
    assert probability(Mention(0, 5, signals={"detect": 0.9}, candidates=Candidates.none(), concepts=())) == 0.5
    assert probability(Mention(0, 5, signals={"detect": 0.9}, probability=0.0)) == 0.0


def test_mentions_of_people_are_certain() -> None:
    found = Unread(doc(Mention(0, 5, source="gold"), Mention(6, 13, source="user", probability=0.1)))
    assert found.mentions == ()
    assert found.expected_errors == 0.0


def test_improbable_mentions_are_missed_spans_unless_a_predicted_one_covers_them() -> None:
    kept = Mention(0, 13, signals={"detect": 0.8})
    people = Mention(26, 42, source="user", signals={"detect": 0.1})
    inside, apart, hardly = (
        Mention(start, end, signals={"detect": value})
        for start, end, value in ((6, 13, 0.3), (15, 23, 0.2), (24, 27, 0.04))
    )
    earlier = doc()
    found = Unread.of(doc(kept, inside, apart, hardly, people), threshold=0.5, earlier=earlier)
    assert found.document.mentions == (kept, people)
    assert found.missed == (0.2,)
    assert found.earlier is earlier


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(DataError, match=r"1\.5 is no probability"):
        Unread(doc(), missed=(0.1, 1.5))
    with pytest.raises(DataError, match="another text"):
        Unread(doc(), earlier=Document("d", "Other."))
    with pytest.raises(DataError, match="one row of finite"):
        Unread(doc(), vector=[[1.0]]).direction()


# --- what may be right -----------------------------------------------------------------------------------------------


def test_what_is_left_is_shared_as_a_softmax_does_that_agrees_on_the_first() -> None:
    scores, sharpness = np.array([0.9, 0.7, 0.6, 0.1]), 5.0
    softmax = np.exp(sharpness * scores) / np.exp(sharpness * scores).sum()
    found = outcomes(Mention(0, 5, candidates=candidates(*scores), probability=float(softmax[0])))
    assert [found[row] for row in range(4)] == pytest.approx(softmax, rel=1e-5)
    scaled = outcomes(Mention(0, 5, candidates=candidates(*(30 * scores - 7)), probability=float(softmax[0])))
    assert [scaled[row] for row in range(4)] == pytest.approx(softmax, rel=1e-5)


def test_nil_takes_what_the_detector_leaves() -> None:
    found = outcomes(Mention(0, 5, candidates=candidates(0.9, 0.5), probability=0.6, signals={"detect": 0.7}))
    assert found == pytest.approx({0: 0.6, NIL: 0.3, 1: 0.1})


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        (Mention(0, 5, probability=0.7), {OTHER: 0.7, NIL: 0.3}),  # found, not looked up
        (Mention(0, 5, candidates=Candidates.none(), concepts=()), {NIL: 0.5, OTHER: 0.5}),
        (Mention(0, 5, candidates=candidates(0.9), probability=0.7), {0: 0.7, NIL: 0.3}),
        (Mention(0, 5, candidates=candidates(0.9, 0.2), concepts=(), probability=0.7), {0: 0.3, NIL: 0.7}),  # rejected
        (Mention(0, 5, candidates=candidates(0.9, rows=(-1,)), concepts=(), probability=0.7), {NIL: 0.7, OTHER: 0.3}),
        (
            Mention(0, 5, candidates=candidates(0.9, 0.8, rows=(-1, 4)), concepts=(), probability=0.7),
            {NIL: 0.7, OTHER: 0.0, 4: 0.3},
        ),
        (
            Mention(0, 5, candidates=candidates(0.9, 0.5, rows=(3, -1)), probability=0.7, signals={"detect": 0.9}),
            {3: 0.7, NIL: 0.3},
        ),
        (
            Mention(0, 5, candidates=candidates(0.9, 0.9, rows=(-1, -1), ids=("X:1", None)), probability=0.7),
            {"X:1": 0.7, NIL: 0.3},
        ),
        (Mention(0, 5, candidates=candidates(0.9, 0.9, 0.9), probability=0.9), {0: 0.9, NIL: 0, 1: 0.05, 2: 0.05}),
        (Mention(0, 5, candidates=candidates(0.9, 0.8, 0.1), probability=0.0), {0: 0, NIL: 0, 1: 0.5, 2: 0.5}),
    ],
)
def test_outcomes_by_hand(mention: Mention, expected: dict[int | str | None, float]) -> None:
    assert outcomes(mention) == pytest.approx(expected)


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9),
    st.floats(0, 1),
    st.floats(0, 1),
    st.booleans(),
)
def test_outcomes_sum_to_one_and_keep_the_order_of_the_candidates(
    scores: list[float], sure: float, detect: float, rejected: bool
) -> None:
    ranked = candidates(*sorted(scores, reverse=True))
    concepts = () if rejected else ("X:1",)
    found = outcomes(Mention(0, 5, candidates=ranked, concepts=concepts, probability=sure, signals={"detect": detect}))
    assert sum(found.values()) == pytest.approx(1.0)
    assert all(0 <= value <= 1 for value in found.values())
    others = [found[row] for row in range(1, len(ranked)) if row in found]
    assert all(one >= other - 1e-12 for one, other in itertools.pairwise(others))


def test_entropy_of_equal_chances() -> None:
    assert entropy([0.25] * 4) == pytest.approx(math.log(4))
    assert math.copysign(1.0, entropy([1.0, 0.0])) == 1.0


def test_versions_disagree_by_the_divergence_of_what_may_be_right() -> None:
    old, new = (doc(Mention(0, 5, candidates=candidates(0.9, 0.1), probability=p)) for p in (0.9, 0.1))
    by_hand = math.log(2) - (-0.9 * math.log(0.9) - 0.1 * math.log(0.1))  # p̄ = (½, ½)
    assert disagreement(old, new) == pytest.approx(by_hand)
    assert disagreement(new, old) == pytest.approx(by_hand)
    assert disagreement(old, old) == 0.0
    # a span that one of them alone predicts: the other says NIL
    found = doc(Mention(0, 5, probability=1.0), Mention(6, 13, probability=0.9))
    assert disagreement(found, doc(Mention(6, 13, probability=0.9))) == pytest.approx(math.log(2))
    assert disagreement(doc(), doc()) == 0.0


def test_rows_of_two_knowledge_bases_are_not_compared_but_ids_are() -> None:
    old, new = (doc(Mention(0, 5, candidates=candidates(0.9, kb=kb), probability=1.0)) for kb in ("a", "b"))
    with pytest.raises(DataError, match="different knowledge bases"):
        disagreement(old, new)
    old, new = (
        doc(Mention(0, 5, candidates=candidates(0.9, rows=(-1,), ids=("X:1",), kb=kb), probability=1.0))
        for kb in ("a", "b")
    )
    assert disagreement(old, new) == 0.0


def test_vectors_of_surfaces_do_not_depend_on_case_and_are_zero_without_mentions() -> None:
    one = Document("d", "Gout gout", mentions=(Mention(0, 4),))
    other = replace(one, mentions=(Mention(5, 9),))
    assert surface_vector(one).tolist() == surface_vector(other).tolist()
    assert np.linalg.norm(surface_vector(one)) == pytest.approx(1.0)
    assert not Unread(replace(one, mentions=())).direction().any()
    assert Unread(one, vector=[3.0, 4.0]).direction().tolist() == [0.6, 0.8]


# --- time ------------------------------------------------------------------------------------------------------------


def made_log(size: int, noise: float = 0.0) -> list[Timed]:
    chance = np.random.default_rng(4)
    found = []
    for _ in range(size):
        characters, undecided = int(chance.integers(200, 4000)), int(chance.integers(0, 40))
        usual = 8_000 + 25 * characters + 2_500 * undecided
        found.append(Timed(characters, undecided, usual * float(np.exp(noise * chance.normal()))))
    return found


def test_made_up_coefficients_are_recovered() -> None:
    exact = fit_work_time(made_log(12))
    assert (exact.opening, exact.character, exact.decision) == pytest.approx((8_000, 25, 2_500), rel=1e-6)
    noisy = fit_work_time(made_log(400, noise=0.3))
    assert (noisy.character, noisy.decision) == pytest.approx((25, 2_500), rel=0.15)


def test_pauses_do_not_count() -> None:
    log = made_log(40)
    for at in (3, 17):
        log[at] = log[at]._replace(milliseconds=3_600_000.0)
    found = fit_work_time(log)
    assert (found.opening, found.character, found.decision) == pytest.approx((8_000, 25, 2_500), rel=1e-6)


def test_no_part_of_the_time_is_negative() -> None:
    log = [Timed(size, 5, 60_000.0 - size) for size in range(100, 2100, 100)]
    found = fit_work_time(log)
    assert found.character == 0.0
    assert min(found.opening, found.decision) >= 0


def test_short_logs_leave_the_default() -> None:
    assert fit_work_time(made_log(9)) == WorkTime()
    mine = WorkTime(1.0, 2.0, 3.0)
    assert fit_work_time([], default=mine) is mine
    assert mine.milliseconds(0, 0) == 1_000.0  # nobody is faster
    with pytest.raises(DataError, match="leave it out"):
        fit_work_time([Timed(10, 1, -1.0)])


def test_minutes_count_predicted_mentions_alone() -> None:
    unread = Unread(doc(Mention(0, 5), Mention(6, 13, source="user")))
    expected = (5_000 + 42 * len(TEXT) + 4_000) / 60_000
    assert WorkTime().minutes(unread) == pytest.approx(expected)


# --- cold start ------------------------------------------------------------------------------------------------------


def read_and_predicted(number: int, right: int, of: int = 5, sure: float = 0.8) -> tuple[Document, Document]:
    """A document of `of` mentions; of the predicted ones, `right` are."""
    text = "x" * of
    people = tuple(Mention(at, at + 1, source="user", concepts=("X:1",)) for at in range(of))
    model = tuple(Mention(at, at + 1, concepts=(f"X:{1 if at < right else 2}",), probability=sure) for at in range(of))
    return Document(str(number), text, mentions=people), Document(str(number), text, mentions=model)


def test_the_cold_start_ends_with_links_documents_and_calibration() -> None:
    pairs = [read_and_predicted(number, right=4) for number in range(10)]
    read = [gold for gold, _ in pairs]
    found = cold_start(read, pairs)
    assert (found.links, found.documents) == (50, 10)
    assert found.ece == pytest.approx(0.0)
    assert found.over
    assert (found.links_left, found.documents_left, found.ece_left) == (0, 0, 0.0)


def test_how_far_off_it_is() -> None:
    pairs = [read_and_predicted(number, right=2) for number in range(6)]
    found = cold_start([gold for gold, _ in pairs], pairs)
    assert (found.links_left, found.documents_left, found.over) == (20, 4, False)
    assert [found.ece, found.ece_least] == pytest.approx([0.4, 0.4])  # all documents are alike
    assert found.ece_left == pytest.approx(0.3)
    many = [read_and_predicted(number, right=2) for number in range(20)]
    assert not cold_start([gold for gold, _ in many], many).over  # badly calibrated
    assert not cold_start([gold for gold, _ in many], []).over  # not known
    assert cold_start([], []) == ColdStart(0, 0, None)


@pytest.mark.slow
def test_few_answers_do_not_look_worse_calibrated_than_they_are() -> None:
    chance = np.random.default_rng(1)
    found = []
    for _ in range(200):
        pairs = [read_and_predicted(n, int(chance.binomial(5, 0.8)), sure=0.8) for n in range(10)]
        found.append(cold_start([gold for gold, _ in pairs], pairs).over)
    assert np.mean(found) > 0.9


@pytest.mark.slow
def test_what_errs_together_does_not_count_as_many_answers() -> None:
    """Documents are wholly right or wholly wrong: eighty answers say no more than sixteen."""
    chance = np.random.default_rng(3)
    found = []
    for _ in range(200):
        pairs = [read_and_predicted(n, 5 * int(chance.random() < 0.8)) for n in range(16)]
        found.append(cold_start([gold for gold, _ in pairs], pairs).over)
    assert np.mean(found) > 0.9


@pytest.mark.slow
def test_answers_of_many_probabilities_do_not_either() -> None:
    chance = np.random.default_rng(2)
    over = dict.fromkeys((0.0, 0.3), 0)
    for shift in over:
        for _ in range(100):
            pairs = []
            for number in range(20):
                sure = float(chance.uniform(0.3, 0.95))
                pairs.append(read_and_predicted(number, int(chance.binomial(5, sure - shift)), sure=sure))
            over[shift] += cold_start([gold for gold, _ in pairs], pairs).over
    assert over[0.0] > 90
    assert over[0.3] < 5


def test_links_count_that_people_made_nil_included() -> None:
    mentions = (
        Mention(0, 5, source="user", concepts=()),
        Mention(6, 13, source="gold", concepts=("X:1",)),
        Mention(15, 23, source="user"),  # a span without a decision
        Mention(24, 27, concepts=("X:1",)),
    )
    found = cold_start([doc(*mentions), doc(id="e")], [])
    assert (found.links, found.documents) == (2, 1)
