"""Orders that strategies give, worked out by hand, and what holds for every batch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.annotate.sampling import DEFAULT, NIL_LINKS, STRATEGIES, Batch, Known, confidence, draw, order
from linnet.annotate.unread import Unread
from linnet.annotate.work_time import WorkTime
from linnet.data import Candidates, Document, Mention
from linnet.errors import DataError

A_MINUTE = Known(time=WorkTime(opening=60_000, character=0, decision=0))  # whatever a document is like


def unread(
    id: str, *mentions: Mention, length: int = 40, earlier: Sequence[Mention] | None = None, **told: object
) -> Unread:
    found = Document(id, "x" * length, mentions=mentions)
    before = None if earlier is None else replace(found, mentions=tuple(earlier))
    return Unread(found, earlier=before, **told)  # type: ignore[arg-type]


def sure(*probabilities: float, scores: Sequence[float] = (), concepts: tuple[str, ...] | None = None) -> list[Mention]:
    found = Candidates(range(len(scores)), scores) if scores else None  # type: ignore[arg-type]
    return [
        Mention(at, at + 1, probability=value, candidates=found, concepts=concepts)
        for at, value in enumerate(probabilities)
    ]


def values(pool: Sequence[Unread], strategy: str, known: Known | None = None) -> dict[str, float]:
    batch = draw(pool, len(pool), strategy=strategy, seed=1, known=known, random_share=0.0)
    return {sample.id: sample.value for sample in batch.samples if sample.value is not None}


# --- strategies ------------------------------------------------------------------------------------------------------


def test_trainx_asks_for_the_document_with_the_least_certain_annotation() -> None:
    def annotated(*pairs: tuple[float, float]) -> list[Mention]:
        return [Mention(at, at + 1, signals={"detect": p, "margin": gap}) for at, (p, gap) in enumerate(pairs)]

    pool = [
        unread("surest", *annotated((0.99, 0.6), (0.95, 0.5))),  # min 1.45
        unread("one doubt", *annotated((0.99, 0.6), (0.99, 0.6), (0.4, 0.05))),  # min 0.45
        unread("middling", *annotated((0.7, 0.2))),  # 0.9
        unread("close call", *annotated((0.9, 0.01))),  # 0.91: without the margin it would be among the surest
        unread("nothing"),
    ]
    assert order(pool, strategy="trainx", seed=3) == ["one doubt", "middling", "close call", "surest", "nothing"]
    found = values(pool, "trainx")
    assert found["one doubt"] == pytest.approx(-0.45)
    assert found["surest"] == pytest.approx(-1.45)
    assert found["nothing"] == -3.0


def test_trainx_takes_scores_where_the_retriever_left_no_margin() -> None:
    def scored(*scores: float) -> Mention:
        return Mention(0, 1, candidates=Candidates(range(len(scores)), scores), signals={"detect": 0.5})  # type: ignore[arg-type]

    found = [confidence(scored(*scores)) for scores in ((0.75, 0.25), (0.75,), (), (30.0, 2.0))]
    assert found == [1.0, 1.25, 0.5, 2.5]
    assert confidence(Mention(0, 1)) == 1.0  # a span that was given


def test_least_confident_looks_at_one_mention() -> None:
    pool = [unread("a", *sure(0.9, 0.9, 0.9)), unread("b", *sure(0.6)), unread("c", *sure(1.0, 0.3)), unread("d")]
    assert order(pool, strategy="least_confident", seed=3) == ["c", "b", "a", "d"]
    assert values(pool, "least_confident") == pytest.approx({"a": 0.1, "b": 0.4, "c": 0.7, "d": 0.0})


def test_margin_and_entropy_see_what_else_is_probable() -> None:
    pool = [
        unread("two", *sure(0.5, scores=(0.9, 0.8))),  # ½, ½
        unread("many", *sure(0.5, scores=(0.9, 0.1, 0.1, 0.1, 0.1))),  # ½ and four of ⅛
        unread("certain", *sure(1.0, scores=(0.9, 0.8))),
        unread("none"),
    ]
    assert values(pool, "margin") == pytest.approx({"two": 1.0, "many": 0.625, "certain": 0.0, "none": 0.0})
    assert order(pool, strategy="margin", seed=1)[:2] == ["two", "many"]
    found = values(pool, "entropy")
    assert found["two"] == pytest.approx(math.log(2))
    assert found["many"] == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(8))
    assert order(pool, strategy="entropy", seed=1)[:2] == ["many", "two"]


def test_version_disagreement_asks_where_two_models_differ() -> None:
    pool = [
        unread("same", *sure(0.5), earlier=sure(0.5)),
        unread("new span", *sure(0.9, 0.9), earlier=sure(0.9)),
        unread("shift", *sure(0.9), earlier=sure(0.7)),
        unread("uploaded since", *sure(0.5)),
    ]
    assert order(pool, strategy="version_disagreement", seed=1)[:2] == ["new span", "shift"]
    found = values(pool, "version_disagreement")
    assert found["same"] == found["uploaded since"] == 0.0
    with pytest.raises(DataError, match="train twice"):
        order(pool[-1:], strategy="version_disagreement", seed=1)


def test_expected_error_is_a_rate() -> None:
    time = WorkTime(opening=0, character=60, decision=3_000)  # 1,000 characters a minute, 20 mentions a minute
    pool = [
        unread("long", *sure(*[0.8] * 20), length=4000),  # 4 errors in 5 minutes
        unread("short", *sure(0.5), length=450),  # ½ in ½
        unread("overlooked", length=1000, missed=(0.25, 0.5)),  # ¾ in 1
        unread("certain", *sure(1.0), length=50),
    ]
    assert values(pool, "expected_error", Known(time=time)) == pytest.approx(
        {"long": 0.8, "short": 1.0, "overlooked": 0.75, "certain": 0.0}
    )
    assert order(pool, seed=1, known=Known(time=time)) == ["short", "long", "overlooked", "certain"]
    assert DEFAULT == "expected_error"


def test_diverse_batches_leave_out_what_is_like_the_documents_before() -> None:
    pool = [
        unread("best", *sure(0.0), vector=[2.0, 0.0]),  # V = 1
        unread("twin", *sure(0.1), vector=[1.0, 0.0]),  # 0.9 · (1 − 1)
        unread("kin", *sure(0.2), vector=[0.6, 0.8]),  # 0.8 · (1 − 0.6)
        unread("other", *sure(0.7), vector=[0.0, 1.0]),  # 0.3 · (1 − 0), then · (1 − 0.8)
        unread("opposite", *sure(0.9), vector=[-1.0, 0.0]),  # 0.1
        unread("empty", missed=(0.9,), vector=[0.0, 0.0]),
    ]
    assert order(pool, strategy="diverse", seed=1, known=A_MINUTE)[:4] == ["best", "kin", "opposite", "other"]
    found = values(pool, "diverse", A_MINUTE)
    assert found == pytest.approx({"best": 1.0, "kin": 0.32, "opposite": 0.1, "other": 0.06, "twin": 0.0, "empty": 0.0})


def test_k_centres_are_the_farthest_from_what_was_read_and_picked() -> None:
    pool = [
        unread("read", *sure(0.0), vector=[1.0, 0.1]),
        unread("near", *sure(0.0), vector=[0.8, 0.6]),
        unread("across", *sure(1.0), vector=[0.0, 1.0]),
        unread("opposite", *sure(1.0), vector=[-1.0, 0.0]),
        unread("empty", vector=[0.0, 0.0]),
    ]
    known = Known(read=[[5.0, 0.0]])
    assert order(pool, strategy="k_centre", seed=1, known=known)[:3] == ["opposite", "across", "near"]
    assert values(pool, "k_centre", known) == pytest.approx(
        {"opposite": 2.0, "across": 1.0, "near": 0.2, "read": 1 - 1 / math.hypot(1, 0.1), "empty": 0.0}
    )
    with pytest.raises(DataError, match=r"\(documents, 2\)"):
        order(pool, strategy="k_centre", seed=1, known=Known(read=[[1.0, 2.0, 3.0]]))
    with pytest.raises(DataError, match="differ in length"):
        order([*pool, unread("f", *sure(0.0))], strategy="k_centre", seed=1)


def test_diverse_batches_without_vectors_compare_surfaces() -> None:
    texts = ("gouty arthritis", "gouty arthritis", "seizures")
    pool = [
        Unread(Document(str(at), text, mentions=(Mention(0, len(text), probability=0.1 + at / 100),)))
        for at, text in enumerate(texts)
    ]
    assert order(pool, strategy="diverse", seed=1, known=A_MINUTE) == ["0", "2", "1"]


def test_coverage_asks_for_concepts_that_nobody_has_linked() -> None:
    pool = [
        unread("well known", *sure(0.5, concepts=("X:1",))),  # ½ · 1/√100
        unread("new", *sure(0.9, concepts=("X:2",))),  # 0.1 · 1
        unread("both", *sure(0.9, concepts=("X:1", "X:2"))),  # 0.1 · 1.1
        unread("nil", *sure(0.9, concepts=())),  # 0.1 · 1/√4
    ]
    known = replace(A_MINUTE, links={"X:1": 99, NIL_LINKS: 3})
    assert values(pool, "coverage", known) == pytest.approx({"well known": 0.05, "new": 0.1, "both": 0.11, "nil": 0.05})
    assert order(pool, strategy="coverage", seed=1, known=known)[:2] == ["both", "new"]


def test_random_gives_every_document_the_same_chance() -> None:
    pool = [unread(name, *sure(0.1 * at)) for at, name in enumerate("abcdef")]
    first = Counter(order(pool, strategy="random", seed=seed)[0] for seed in range(3000))
    assert max(first.values()) < 3000 / 6 + 5 * math.sqrt(3000 * 5 / 36)
    assert min(first.values()) > 3000 / 6 - 5 * math.sqrt(3000 * 5 / 36)


def test_stratified_gives_sources_and_lengths_their_share() -> None:
    made = [("a", 10)] * 30 + [("a", 2000)] * 30 + [("b", 10)] * 20 + [("b", 2000)] * 20
    pool = [Unread(Document(str(at), "x" * size, meta={"source": name})) for at, (name, size) in enumerate(made)]
    times = Counter[str]()
    for seed in range(400):
        batch = draw(pool, 10, strategy="stratified", seed=seed)
        assert all(sample.random for sample in batch.samples)
        found = Counter(made[int(sample.id)] for sample in batch.samples)
        assert found == {("a", 10): 3, ("a", 2000): 3, ("b", 10): 2, ("b", 2000): 2}
        times.update(batch.random)
    assert len(times) == 100
    assert max(times.values()) < 40 + 6 * math.sqrt(400 * 0.1 * 0.9)
    other = [Unread(replace(one.document, meta={"ward": one.document.meta["source"]})) for one in pool]
    assert draw(other, 10, strategy="stratified", seed=1, known=Known(source="ward")).random == (
        draw(pool, 10, strategy="stratified", seed=1).random
    )


def test_stratified_takes_each_document_once_whatever_the_numbers() -> None:
    for size in range(1, 12):
        pool = [unread(str(at), length=at + 1) for at in range(size)]
        for n in range(1, size + 1):
            assert len({sample.id for sample in draw(pool, n, strategy="stratified", seed=n).samples}) == n


# --- batches ---------------------------------------------------------------------------------------------------------


@st.composite
def pools(draw_: st.DrawFn) -> list[Unread]:
    chances = st.sampled_from([0.0, 0.25, 0.5, 1.0])  # with many ties
    made = []
    for at in range(draw_(st.integers(0, 12))):
        mentions = sure(*draw_(st.lists(chances, max_size=3)), scores=draw_(st.sampled_from([(), (0.9, 0.8)])))
        earlier = sure(*draw_(st.lists(chances, max_size=3)))
        length = draw_(st.integers(5, 9))
        made.append(
            unread(
                f"d{at}", *mentions, length=length, earlier=earlier, missed=tuple(draw_(st.lists(chances, max_size=1)))
            )
        )
    return made


@given(
    pools(), st.sampled_from([*STRATEGIES]), st.integers(1, 15), st.integers(0, 5), st.randoms(use_true_random=False)
)
def test_what_holds_for_every_batch(pool: list[Unread], strategy: str, n: int, seed: int, shuffle: object) -> None:
    batch = draw(pool, n, strategy=strategy, seed=seed)
    moved = [*pool]
    shuffle.shuffle(moved)  # type: ignore[attr-defined]
    assert draw(moved, n, strategy=strategy, seed=seed) == batch  # neither order nor time matters
    ids = [sample.id for sample in batch.samples]
    assert len(set(ids)) == len(ids) == min(n, len(pool))
    assert batch.pool == tuple(sorted(one.id for one in pool))
    assert set(ids) <= set(batch.pool)
    by_chance = strategy in ("random", "stratified")
    assert len(batch.random) == (len(ids) if by_chance else min(len(ids), max(2, math.ceil(len(ids) / 5))))
    assert all((sample.value is None) is sample.random for sample in batch.samples)
    assert all(sample.suggestions for sample in batch.samples if not sample.random)
    active = [sample.value for sample in batch.samples if sample.value is not None]
    assert active == sorted(active, reverse=True)
    assert sorted(order(pool, strategy=strategy, seed=seed)) == [*batch.pool]


def made_pool(size: int = 100) -> list[Unread]:
    chance = np.random.default_rng(8)
    return [unread(f"d{at}", *sure(*chance.random(4))) for at in range(size)]


def test_random_documents_are_random_whatever_the_model_says() -> None:
    pool = made_pool(50)
    best = order(pool, seed=0)[:8]
    times = Counter[str]()
    for seed in range(500):
        times.update(draw(pool, 10, seed=seed).random)
    expected = 500 * 2 / 50
    assert sum(times[id] for id in best) == pytest.approx(8 * expected, rel=0.25)
    assert max(times.values()) < expected + 6 * math.sqrt(expected)


def test_active_documents_are_the_best_of_the_rest() -> None:
    pool = made_pool()
    batch = draw(pool, 10, seed=4)
    expected = [id for id in order(pool, seed=4) if id not in batch.random][:8]
    assert [sample.id for sample in batch.samples if not sample.random] == expected


def test_random_documents_stand_anywhere() -> None:
    pool = made_pool(40)
    places = Counter(
        at for seed in range(300) for at, sample in enumerate(draw(pool, 10, seed=seed).samples) if sample.random
    )
    assert len(places) == 10
    assert min(places.values()) > 30


def test_a_tenth_of_the_random_documents_come_without_suggestions() -> None:
    pool = made_pool()
    batches = [draw(pool, 20, seed=seed) for seed in range(400)]
    bare = sum(not sample.suggestions for batch in batches for sample in batch.samples)
    assert bare / sum(len(batch.random) for batch in batches) == pytest.approx(0.1, abs=0.025)
    # with one seed for a whole project, too
    everything = draw(made_pool(1000), 1000, seed=1, random_share=1.0).samples
    assert sum(not sample.suggestions for sample in everything) == pytest.approx(100, abs=35)
    assert all(sample.suggestions for sample in draw(pool, 50, seed=2, bare_share=0.0).samples)


def test_ties_are_broken_by_the_seed() -> None:
    pool = [unread(name, *sure(0.5)) for name in "abcdefgh"]
    assert len({tuple(order(pool, seed=seed)) for seed in range(20)}) == 20


def test_shares_of_random_documents() -> None:
    pool = made_pool()
    assert [len(draw(pool, n, seed=1).random) for n in (1, 2, 3, 10, 11, 15, 16, 100)] == [1, 2, 2, 2, 3, 3, 4, 20]
    assert draw(pool, 10, seed=1, random_share=0.0).random == ()
    assert len(draw(pool, 10, seed=1, random_share=0.5).random) == 5


def test_empty_pools_give_empty_batches() -> None:
    for strategy in STRATEGIES:
        assert draw([], 5, strategy=strategy, seed=1) == Batch((), strategy, 1, ())
        assert order([], strategy=strategy, seed=1) == []


def test_documents_without_mentions_are_read_last() -> None:
    pool = [unread(f"empty{at}") for at in range(3)] + [unread("doubt", *sure(0.5), earlier=sure(0.1))]
    for strategy in sorted(STRATEGIES.keys() - {"random", "stratified"}):
        assert order(pool, strategy=strategy, seed=1)[0] == "doubt"


def test_what_cannot_be_drawn_is_refused() -> None:
    pool = made_pool(3)
    with pytest.raises(DataError, match="did you mean 'entropy'"):
        draw(pool, 1, strategy="entropi", seed=1)
    with pytest.raises(DataError, match="there are random, "):
        order(pool, strategy="?", seed=1)
    with pytest.raises(DataError, match="'d1' is in the pool twice"):
        draw([*pool, pool[1]], 1, seed=1)
    with pytest.raises(DataError, match="one or more"):
        draw(pool, 0, seed=1)
    with pytest.raises(DataError, match=r"1\.5 is not between"):
        draw(pool, 1, seed=1, bare_share=1.5)
