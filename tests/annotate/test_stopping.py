"""Errors left in simulated projects whose truth is known, and signals worked out by hand."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from linnet.annotate.errors_left import ErrorsLeft, Round, count_errors, errors_left, missed_by_both
from linnet.annotate.stopping import errors_signal, gain_signal, kappa, stability_signal
from linnet.data import Document, Mention
from linnet.errors import DataError

TEXT = "Gout, ague, rickets and fits."


def people(start: int, end: int, *concepts: str, nil: bool = False, **told: object) -> Mention:
    answer = concepts if concepts or nil else None
    return Mention(start, end, source="user", concepts=answer, **told)  # type: ignore[arg-type]


def found(*mentions: Mention) -> Document:
    return Document("d", TEXT, mentions=mentions)


# --- counting errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "predicted", "errors"),
    [
        ([people(0, 4, "X:1")], [Mention(0, 4, concepts=("X:1",))], 0),
        ([people(0, 4, "X:1")], [Mention(0, 4, concepts=("X:2",))], 1),  # another concept
        ([people(0, 4, "X:1")], [], 1),  # overlooked
        ([], [Mention(0, 4, concepts=("X:1",))], 1),  # no mention
        ([people(0, 4, "X:1")], [Mention(6, 10, concepts=("X:1",))], 2),
        ([people(0, 4, "X:1")], [Mention(0, 10, concepts=("X:1",))], 1),  # moved
        ([people(0, 4, "X:1"), people(6, 10, "X:2")], [Mention(0, 10, concepts=("X:1",))], 2),  # moved, and one more
        ([people(0, 10, "X:1"), people(0, 4, "X:2")], [Mention(0, 10, concepts=("X:1",))], 1),  # the inner one lacks
        ([people(0, 4, nil=True)], [Mention(0, 4, concepts=())], 0),
        ([people(0, 4, nil=True)], [Mention(0, 4, concepts=("X:1",))], 1),
        ([people(0, 4)], [Mention(0, 4, concepts=("X:1",))], 0),  # unsure of the concept
        ([people(0, 4, "X:1")], [Mention(0, 4)], 0),  # a detector alone
        ([people(0, 4, "X:1", alternatives=(("X:2",),))], [Mention(0, 4, concepts=("X:2",))], 0),
        ([people(0, 4, "X:1", "X:2")], [Mention(0, 4, concepts=("X:2", "X:1"))], 0),
        ([people(0, 4, "X:1"), Mention(6, 10, concepts=("X:3",))], [Mention(0, 4, concepts=("OLD:1",))], 0),
    ],
)
def test_errors_are_corrections(read: list[Mention], predicted: list[Mention], errors: int) -> None:
    live = {"OLD:1": "X:1"}
    assert count_errors(found(*read), found(*predicted), live=lambda name: live.get(name, name)) == errors


# --- errors left -----------------------------------------------------------------------------------------------------


class Project(NamedTuple):
    """600 documents, and what a model that is too sure of itself expects of them."""

    expected: np.ndarray
    errors: np.ndarray


def project(chance: np.random.Generator, size: int = 600) -> Project:
    """Documents of 1 to 20 mentions, each wrong with a chance of its own, of which the model sees four tenths."""
    mentions = chance.integers(1, 21, size)
    wrong = chance.beta(1.5, 4.0, size)
    return Project(mentions * wrong**1.5 * 0.8, chance.binomial(mentions, wrong))


def read_round(
    made: Project, chance: np.random.Generator, pool: np.ndarray, random: int, active: int
) -> list[np.ndarray]:
    """Return the random documents of a round, and those for which the model expects most errors of the others."""
    drawn = chance.choice(pool, random, replace=False)
    rest = np.setdiff1d(pool, drawn)
    return [drawn, rest[np.argsort(-made.expected[rest])[:active]]]


def as_round(made: Project, pool: np.ndarray, read: np.ndarray, random: np.ndarray) -> Round:
    return Round(
        {str(at): float(made.expected[at]) for at in pool},
        {str(at): float(made.errors[at]) for at in read},
        [str(at) for at in random],
    )


def test_the_estimate_by_hand() -> None:
    one = Round({"a": 1.0, "b": 2.0, "c": 0.5, "d": 0.5}, {"a": 2.0, "b": 1.0, "c": 2.5}, ["a", "b"])
    # 4 + 4 / 2 · ((2 − 1) + (1 − 2)) − 5.5
    assert one.estimate() == pytest.approx(-1.5)
    assert one.unread == {"d"}
    assert one.differences().tolist() == [1.0, -1.0]
    left = errors_left([one])
    assert left.value == pytest.approx(-1.5)
    assert (left.low, left.high, left.random) == (-math.inf, math.inf, 2)


def test_the_estimate_is_unbiased_though_the_model_is_not_calibrated() -> None:
    chance, rows = np.random.default_rng(11), []
    for _ in range(300):
        made = project(chance)
        pool = np.arange(600)
        drawn, picked = read_round(made, chance, pool, 24, 96)
        read = np.concatenate([drawn, picked])
        unread = np.setdiff1d(pool, read)
        one = as_round(made, pool, read, drawn)
        left = errors_left([one])
        truth = float(made.errors[unread].sum())
        scaled = float(made.errors[drawn].mean()) * len(unread)
        rows.append((truth, left.value, made.expected[unread].sum(), scaled, left.low <= truth <= left.high))
    truth, ours, models, scaled, inside = np.mean(rows, axis=0)
    assert abs(ours - truth) < 0.04 * truth
    assert models < 0.6 * truth  # the model's own sum
    assert scaled > 1.15 * truth  # random documents scaled up, though the worst ones were read already
    assert inside >= 0.9


def test_rounds_are_pooled_without_bias_and_are_more_exact_together() -> None:
    chance, single, pooled = np.random.default_rng(12), [], []
    for _ in range(300):
        made = project(chance)
        pool, batches, read = np.arange(600), [], np.empty(0, np.int64)
        for _ in range(4):
            batch = read_round(made, chance, pool, 6, 24)
            batches.append((pool, batch[0]))
            read = np.concatenate([read, *batch])
            pool = np.setdiff1d(pool, read)
        rounds = [as_round(made, before, np.intersect1d(before, read), drawn) for before, drawn in batches]
        truth = float(made.errors[pool].sum())
        left = errors_left(rounds)
        assert left.random == 24
        pooled.append((left.value - truth, left.low <= truth <= left.high, truth))
        single.append(rounds[0].estimate() - truth)
    differences, inside, truths = np.array(pooled, np.float64).T
    assert abs(differences.mean()) < 0.04 * truths.mean()
    assert differences.std() < 0.65 * np.std(single)
    assert inside.mean() >= 0.9


def test_more_random_documents_give_narrower_intervals() -> None:
    chance = np.random.default_rng(3)
    made, pool, widths = project(chance), np.arange(600), []
    for size in (6, 24, 96, 400, 599):
        drawn = chance.choice(pool, size, replace=False)
        left = errors_left([as_round(made, pool, drawn, drawn)])
        assert left.low < left.value < left.high
        widths.append(left.high - left.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 20
    assert errors_left([as_round(made, pool, pool, pool)]) == ErrorsLeft(0.0, 0.0, 0.0, 600)


def test_a_single_error_gives_a_wide_interval_but_no_endless_one() -> None:
    pool = {f"d{at}": 0.05 + at / 10_000 for at in range(600)}
    read = {f"d{at}": 1.0 if at == 7 else 0.0 for at in range(24)}
    left = errors_left([Round(pool, read, [*read])])
    differences = [read[id] - pool[id] for id in read]
    standard_error = 600 * math.sqrt(576 / 600 / 24) * float(np.std(differences, ddof=1))
    assert 2.0 * standard_error < left.high - left.value < 4.2 * standard_error


@pytest.mark.parametrize("count", [5, 10, 30])
def test_no_error_found_and_none_expected_does_not_mean_none(count: int) -> None:
    pool = {f"d{at}": 0.0 for at in range(600)}
    read = {f"d{at}": 0.0 for at in range(count)}
    left = errors_left([Round(pool, read, [*read])])
    at_most = (
        -math.log(0.05) / count * (600 - count)
    )  # the one-sided bound of a Poisson variable of which none was seen
    assert left.value == 0.0
    assert 0.3 * at_most < left.high < 2.0 * at_most


def test_neither_the_order_of_documents_nor_of_time_matters() -> None:
    chance = np.random.default_rng(3)
    made, pool = project(chance, 50), np.arange(50)
    drawn, picked = read_round(made, chance, pool, 8, 8)
    read = np.concatenate([drawn, picked])
    one, other = as_round(made, pool, read, drawn), as_round(made, pool[::-1], read[::-1], drawn[::-1])
    assert errors_left([one]) == errors_left([one]) == errors_left([other])
    wide, narrow = errors_left([one], level=0.99), errors_left([one], level=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_rounds_of_which_nothing_random_was_read_say_nothing() -> None:
    pool = {f"d{at}": 0.5 for at in range(20)}
    read = {f"d{at}": float(at % 3) for at in range(8)}
    told = Round(pool, read, [*read][:6])
    assert errors_left([told, Round(pool, read, [])]) == errors_left([told])
    with pytest.raises(DataError, match="no random document"):
        errors_left([Round(pool, read, [])])
    with pytest.raises(DataError, match="left different documents unread"):
        errors_left([told, Round(pool | {"new": 1.0}, read, ["d0"])])
    with pytest.raises(DataError, match=r"level 1\.5"):
        errors_left([told], level=1.5)


def test_rounds_that_cannot_be_are_refused() -> None:
    with pytest.raises(DataError, match="'b' was read but was not in the pool"):
        Round({"a": 1.0}, {"b": 1.0}, [])
    with pytest.raises(DataError, match="'a' was not read"):
        Round({"a": 1.0}, {}, ["a"])
    with pytest.raises(DataError, match="named twice"):
        Round({"a": 1.0}, {"a": 1.0}, ["a", "a"])
    with pytest.raises(DataError, match=r"-1\.0 errors found in 'a'"):
        Round({"a": 1.0}, {"a": -1.0}, [])


# --- what both missed ------------------------------------------------------------------------------------------------


def test_chapman_by_hand() -> None:
    there, missed = missed_by_both(50, 40, 30)
    assert there == pytest.approx(51 * 41 / 31 - 1)
    assert missed == pytest.approx(there - 60)
    assert missed_by_both(0, 0, 0) == (0.0, 0.0)
    assert missed_by_both(7, 3, 3).missed == 0.0  # the second found nothing that the first lacks
    with pytest.raises(DataError, match="check the counts"):
        missed_by_both(3, 5, 4)


def test_chapman_finds_what_independent_readers_missed() -> None:
    chance, off = np.random.default_rng(2), []
    for _ in range(400):
        one, other = chance.random(200) < 0.8, chance.random(200) < 0.7
        counts = (int(mask.sum()) for mask in (one, other, one & other))
        off.append(missed_by_both(*counts).missed - int((~one & ~other).sum()))
    assert abs(np.mean(off)) < 1.0


# --- signals ---------------------------------------------------------------------------------------------------------


def test_the_upper_bound_has_to_be_below_the_target() -> None:
    left = ErrorsLeft(30.0, 12.0, 48.0, 24)
    reached, not_yet = errors_signal(left, 1000), errors_signal(left, 900)
    assert (reached.value, reached.limit, reached.reached) == (0.048, 0.05, True)
    assert reached.numbers == {"errors": 30.0, "mentions": 1000.0, "random": 24.0}
    assert not not_yet.reached
    assert errors_signal(left, 900, target=0.1).reached
    for unknown in (errors_signal(left, 0), errors_signal(left._replace(high=math.inf), 1000)):
        assert (unknown.value, unknown.reached) == (None, False)


def test_kappa_by_hand() -> None:
    # words: Gout ague rickets and fits
    old = found(Mention(0, 4, concepts=("X:1",)), Mention(6, 10, concepts=("X:2",)))
    new = found(Mention(0, 4, concepts=("X:1",)), Mention(6, 10, concepts=("X:3",)))
    # p_o = 4/5; p_e = (1·1 + 3·3) / 25: neither X:2 nor X:3 is a label of both
    assert kappa([old], [new]) == pytest.approx((0.8 - 0.4) / 0.6)
    assert kappa([new], [old]) == pytest.approx((0.8 - 0.4) / 0.6)
    assert kappa([old, new], [old, new]) == 1.0
    assert kappa([found()], [found()]) == 1.0
    assert kappa([old], [found()]) == pytest.approx(0.0)
    typed = found(Mention(0, 4, types=("Disease",), concepts=("X:1",)), Mention(6, 10, concepts=("X:2",)))
    assert kappa([old], [typed]) < 1.0
    with pytest.raises(DataError, match="same documents"):
        kappa([old], [])
    with pytest.raises(DataError, match="no word"):
        kappa([], [])


def test_what_people_annotated_takes_no_part_in_kappa() -> None:
    assert kappa([found(people(0, 4, "X:1"))], [found()]) == 1.0


def test_predictions_have_to_be_stable_three_rounds_running() -> None:
    told = stability_signal([0.2, 0.99, 0.995, 0.999])
    assert (told.value, told.reached) == (0.99, True)
    assert told.numbers == {"rounds": 3.0, "change": pytest.approx(4 * 0.01 / 0.99)}
    assert not stability_signal([0.999, 0.98, 0.999]).reached
    assert not stability_signal([0.999, 0.999]).reached
    assert stability_signal([]).value is None
    assert "change" not in stability_signal([-0.1]).numbers  # no bound


def test_the_expected_gain_of_a_made_up_curve() -> None:
    curve = [(t, 0.9 - 0.8 * t**-0.4) for t in (15.0, 30.0, 60.0, 120.0, 240.0)]
    told = gain_signal(curve, limit=0.01)
    assert told.value == pytest.approx(0.8 * (240**-0.4 - 300**-0.4), rel=1e-6)
    assert (told.numbers["top"], told.numbers["b"], told.numbers["c"]) == pytest.approx((0.9, 0.8, 0.4))
    assert told.reached is (told.value is not None and told.value < 0.01)
    assert gain_signal(curve, limit=0.0001).reached is False
    longer = gain_signal(curve, limit=0.01, minutes=120).value
    assert longer is not None
    assert told.value is not None
    assert longer > told.value


def test_curves_that_fall_gain_nothing_and_short_ones_say_nothing() -> None:
    falling = gain_signal([(t, 0.8 - t / 1000) for t in (10.0, 20.0, 40.0, 80.0)], limit=0.01)
    assert (falling.value, falling.reached) == (0.0, True)
    short = gain_signal([(10.0, 0.5), (20.0, 0.6), (20.0, 0.61), (40.0, 0.7)], limit=0.01)
    assert (short.value, short.reached) == (None, False)
    assert gain_signal([], limit=0.01).value is None
    with pytest.raises(DataError, match="above 0"):
        gain_signal([(0.0, 0.5)], limit=0.01)
