"""``linnet bench active``: a person who knows what is right, a workbench, and what its curves say."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from linnet.annotate.exports import export_project
from linnet.annotate.marks import Parts
from linnet.annotate.store import open_store
from linnet.annotate.worker import WORK
from linnet.bench.active_loop import Setting, Simulation
from linnet.bench.active_reader import Habits, right_mentions
from linnet.bench.active_table import (
    FULL,
    Point,
    area,
    count_found,
    count_truths,
    labels_for,
    mean_seconds,
    picture,
    read_points,
    stops,
    summarize,
)
from linnet.corpora import write
from linnet.data import Document, Mention
from linnet.errors import LinnetError
from linnet.kb import KnowledgeBase
from tests.bench.conftest import Run

SAID = (  # the words of a document, and what they mean
    ("seizures", "HP:0001250"), ("small stature", "HP:0004322"), ("Cold", "X:2"), ("a fit", "HP:0001250"),
    ("short toes", "HP:0001831"), ("weariness", "HP:0000001"),
)  # fmt: skip
Said = set[tuple[Parts, tuple[str, ...]]]


def document(number: int) -> Document:
    """Return a document with three mentions, one of which may have a concept that the knowledge base lacks."""
    text, mentions = f"Note {number}.", []
    for words, concept in (SAID[number % 6], SAID[(number + 1) % 6], SAID[(number + 3) % 6]):
        start = len(text) + 1
        text += f" {words},"
        mentions.append(Mention(start, start + len(words), types=("Sign",), source="gold", concepts=(concept,)))
    return Document(f"note-{number}", text, mentions=tuple(mentions))


@pytest.fixture
def source(tmp_path: Path, kb: KnowledgeBase) -> str:
    """The file of a recipe that names a corpus of eighteen documents, and the knowledge base."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    write([document(number) for number in range(12)], folder / "train.jsonl")
    write([document(number) for number in range(12, 18)], folder / "dev.jsonl")
    path = tmp_path / "small.toml"
    path.write_text(f'corpus = "{folder}"\nkb = "{kb.path}"\n[[pipeline]]\nuse = "dictionary"\n', encoding="utf-8")
    return str(path)


def recipe_of(tmp_path: Path, name: str, parts: str, learns: str) -> str:
    """Return the file of a recipe of some parts, one of which learns."""
    path = tmp_path / f"{name}.toml"
    learning = {"dictionary": "aliases = true\n"}  # which it learns
    whole = "".join(f'[[pipeline]]\nuse = "{part}"\n{learning.get(part, "")}' for part in parts.split())
    path.write_text(f'{whole}[[train]]\npart = "{learns}"\n', encoding="utf-8")
    return str(path)


@pytest.fixture
def linking(tmp_path: Path) -> str:
    return recipe_of(tmp_path, "linking", "gold ngram decide", "ngram")


@pytest.fixture
def finding(tmp_path: Path) -> str:
    return recipe_of(tmp_path, "finding", "dictionary decide", "dictionary")


def said(doc: Document) -> Said:
    return {(mention.spans, mention.concepts or ()) for mention in doc.mentions or ()}


@pytest.mark.slow
@pytest.mark.parametrize("given", [False, True])
def test_what_a_reader_does_is_what_is_right(
    source: str,
    linking: str,
    finding: str,
    tmp_path: Path,
    kb: KnowledgeBase,
    given: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Simulation, "_tidy", lambda _: None)
    setting = Setting(source, linking if given else finding, FULL, 1, 100)
    simulation = Simulation(setting, tmp_path / "curve")
    [point] = simulation.run()
    store = open_store(tmp_path / "curve")
    with store.read() as db:
        docs = {doc.id: doc for doc in export_project(db, 1)}
    store.close()
    right = {doc.id: replace(doc, mentions=right_mentions(doc, kb)) for doc in simulation.parts[0]}
    assert {id: said(doc) for id, doc in docs.items()} == {id: said(doc) for id, doc in right.items()}
    assert (point.documents, point.measure) == (12, "all.accuracy@1" if given else "strict.f1")
    assert point.score > 0.5
    assert point.minutes * 60_000 > 12 * Habits().opening
    bare_right, bare_found, right_ones, found = point.anchoring
    assert (bare_right, right_ones) == (bare_found, found)
    assert bare_right + right_ones == 36


@pytest.mark.slow
def test_a_curve_goes_on_where_it_was(source: str, finding: str, tmp_path: Path) -> None:
    setting = Setting(source, finding, "expected_error", 3, 100)
    whole = list(Simulation(setting, tmp_path / "whole").run())
    assert [point.documents for point in whole] == [0, 5, 10, 12]
    assert (whole[0].labels, whole[0].model, whole[0].score > 0) == (0, False, True)
    assert sorted(path.name for path in (tmp_path / "whole").iterdir()) == ["points.jsonl", "setting.json"]
    with contextlib.closing(Simulation(setting, tmp_path / "broken").run()) as broken:
        first = next(broken)
    assert (tmp_path / "broken" / "linnet.db").is_file()
    assert len(list(Simulation(setting, tmp_path / "broken").run())) == 3
    kept = read_points(tmp_path / "broken" / "points.jsonl")
    assert [alike(point) for point in kept] == [
        alike(point) for point in read_points(tmp_path / "whole" / "points.jsonl")
    ]
    assert alike(first)[:3] == alike(kept[0])[:3]
    assert list(Simulation(setting, tmp_path / "broken").run()) == []
    shorter = Simulation(replace(setting, most=5), tmp_path / "short")
    assert len(list(shorter.run())) == 2
    assert len(list(Simulation(setting, tmp_path / "short").run())) == 4  # anew
    assert [alike(point) for point in read_points(shorter.path)] == [alike(point) for point in kept]


def alike(point: Point) -> tuple[object, ...]:
    """Return what does not depend on the clock."""
    return point.documents, point.labels, point.minutes, point.score, point.errors, point.anchoring


def test_a_curve_of_another_setting_is_not_gone_on_with(source: str, finding: str, tmp_path: Path) -> None:
    setting = Setting(source, finding, "random", 1, 5)
    assert len(list(Simulation(setting, tmp_path / "curve").run())) == 2
    for other in (replace(setting, habits=Habits(led=0.2)), replace(setting, untrained="exact")):
        with pytest.raises(LinnetError, match="made otherwise"):
            list(Simulation(other, tmp_path / "curve").run())
    assert list(Simulation(setting, tmp_path / "curve").run()) == []


def test_a_job_that_fails_is_told_and_can_be_tried_again(
    source: str, finding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(source, finding, "random", 1, 5)

    def fail(*_: object) -> None:
        raise LinnetError("no room left")

    with monkeypatch.context() as patched:
        patched.setitem(WORK, "train", fail)
        with pytest.raises(LinnetError, match=r"(?s)train, failed:.*no room left"):
            list(Simulation(setting, tmp_path / "curve").run())
    assert [point.documents for point in Simulation(setting, tmp_path / "curve").run()] == [5]


def test_readers_overlook_what_nothing_suggests(source: str, finding: str, tmp_path: Path) -> None:
    setting = Setting(source, finding, FULL, 1, 100, habits=Habits(overlooked=0.0, led=1.0))
    [point] = Simulation(setting, tmp_path / "curve").run()
    bare_right, bare_found, right, found = point.anchoring
    assert bare_right == bare_found
    assert 0 < found < right


@pytest.mark.slow
def test_the_command(source: str, finding: str, tmp_path: Path, run: Run) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n", encoding="utf-8")
    options = ("--trained", finding, "--strategies", "random,expected_error", "--seeds", "2", "--most", "5")
    done = run("bench", "active", source, *options, "-o", str(tmp_path / "out"), "--docs", str(page))
    assert done.code == 0, done.err
    assert "the truth lies in the 95 % interval in" in done.out
    text = page.read_text(encoding="utf-8")
    assert text.count("| `expected_error` | 2 |") == 1
    assert next((tmp_path / "out").glob("*/curves.svg")).read_text(encoding="utf-8").startswith("<svg ")
    again = run("bench", "active", source, *options, "-o", str(tmp_path / "out"), "--json")
    assert again.code == 0
    assert "documents" not in again.err  # nothing is done twice
    assert len(again.out.splitlines()) == 2
    assert "unknown strategy 'randon'" in run("bench", "active", source, "--strategies", "randon").err


def point(labels: int, score: float, errors: tuple[float, float, float, float] | None = None) -> Point:
    return Point(labels // 10, labels, labels / 2, score, "strict.f1", True, errors, {}, {}, (0, 0, 0, 0))


def test_curves_are_compared_on_the_same_seeds() -> None:
    curves = {
        FULL: {1: [point(1000, 0.8)]},
        "random": {seed: [point(10, 0.4), point(100, 0.6), point(1000, 0.8)] for seed in (1, 2, 3)},
        "better": {seed: [point(10, 0.4), point(100, 0.76 + 0.001 * seed)] for seed in (1, 2, 3)},
        "short": {1: [point(10, 0.4), point(100, 0.5)]},
    }
    better, random, short = summarize(curves)
    assert (better.strategy, better.seeds, short.labels, random.gain, short.p) == ("better", 3, None, None, None)
    assert random.labels == pytest.approx((820.0, 820.0, 820.0))
    assert random.share == pytest.approx(0.82)
    assert better.labels is not None
    assert better.labels[1] < better.labels[0] < 100 < 10 * better.labels[2]
    assert better.minutes == pytest.approx(better.labels[0] / 2)
    assert better.gain is not None
    assert better.gain > 0
    assert better.p is not None
    assert better.p < 0.01
    assert area(curves["random"][1], 10, 100) == pytest.approx(0.5)
    assert labels_for(curves["short"][1], 0.76) is None
    drawn = picture(curves, title="Curves")
    assert drawn.count("<polyline") == 3 + 1  # and 95 % of the full score
    assert drawn.count("<polygon") == 1  # the interval of random drawing
    assert summarize({}) == []


def test_signals_anchoring_and_seconds_are_told() -> None:
    signals = {"stable": (0.9, False)}, {"stable": (0.99, True), "gain": (None, False)}
    one = [replace(point(10, 0.4), signals=signals[0]), replace(point(50, 0.72), signals=signals[1])]
    one[1] = replace(one[1], anchoring=(10, 9, 20, 15), seconds={"draw": 1.0, "train": 4.0})
    other = [replace(point(50, 0.7), anchoring=(0, 0, 0, 0), seconds={"draw": 3.0, "train": 6.0})]
    curves = {FULL: {1: [point(100, 0.8)]}, "random": {1: one, 2: other}}
    gain, stable = stops(curves)
    assert (gain.signal, gain.curves, gain.reached, gain.labels, gain.score) == ("gain", 2, 0, None, None)
    assert (stable.signal, stable.reached, stable.labels) == ("stable", 1, 50)
    assert stable.score == pytest.approx(0.9)
    assert tuple(count_found(curves)) == (0.9, 0.75)
    of_five = next(found for found in mean_seconds(curves) if found.documents == 5)
    assert (of_five.rounds, of_five.total, of_five.steps) == (2, 7.0, {"draw": 2.0, "train": 5.0})


def test_intervals_that_hold_the_truth_are_counted() -> None:
    inside, outside = (5.0, 6.0, 4.0, 8.0), (9.0, 6.0, 4.0, 8.0)
    curves = {
        "random": {1: [point(10, 0.1, outside), point(20, 0.2, inside)], 2: [point(10, 0.1), point(20, 0.2, outside)]}
    }
    assert tuple(count_truths(curves)) == (2, 1, 3, 1)
