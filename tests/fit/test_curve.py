from __future__ import annotations

from pathlib import Path

import pytest

from linnet.errors import FormatError
from linnet.fit.curve import Curve, read_curve, training_lines
from linnet.pipeline import Step


def test_a_resumed_training_goes_on_and_its_repeated_steps_count_once(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    first = Curve(path)
    for number in (1, 2, 3):
        first.add("collective", Step(number, losses={"nll": float(number)}, epoch=1))
    again = Curve(path)  # from the checkpoint of step 2
    again.add("collective", Step(3, losses={"nll": 7.0}, epoch=1, score=0.5))
    rows = read_curve(path)
    assert [(row.step, row.metric, row.value) for row in rows] == [
        (1, "nll", 1.0), (2, "nll", 2.0), (3, "nll", 7.0), (3, "dev score", 0.5)
    ]  # fmt: skip
    assert rows[-1].seconds >= rows[0].seconds
    assert again.spent("collective") == rows[-1].seconds
    assert again.spent("lexical") == 0


@pytest.mark.parametrize("left", [0, 20, 60])
def test_a_row_that_a_full_disk_took_half_of_is_written_again(tmp_path: Path, left: int) -> None:
    path = tmp_path / "curve.csv"
    Curve(path).add("collective", Step(1, losses={"nll": 1.0}, epoch=1))
    path.write_bytes(path.read_bytes()[:left])
    again = Curve(path)
    assert again.spent("collective") == 0
    again.add("collective", Step(1, losses={"nll": 2.0}, epoch=1))
    assert [(row.step, row.value) for row in read_curve(path)] == [(1, 2.0)]


def test_losses_and_scores_are_drawn_apart_and_parts_of_one_step_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    curve = Curve(path)
    for number in range(1, 1001):
        curve.add("dense", Step(number, losses={"nll": 1.0 / number}, score=0.5 if number % 500 == 0 else None))
    curve.add("lexical", Step(1, losses={"loss": 1.0}))
    curve.finish("dense", 12.5)
    lines = training_lines(read_curve(path))
    assert list(lines) == ["dense: losses", "dense: dev score"]
    assert len(lines["dense: losses"]["nll"]) == 200
    assert list(lines["dense: dev score"]["dev score"]) == [(500, 0.5), (1000, 0.5)]
    assert [row.value for row in read_curve(path) if row.metric == "seconds"] == [12.5]
    curve.save(tmp_path)
    assert sorted(each.name for each in tmp_path.glob("*.svg")) == [
        "curve-dense-dev-score.svg",
        "curve-dense-losses.svg",
    ]


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "curve.csv").write_text("part,step,epoch,seconds,metric,value\na,one,1,0,nll,2\n")
    with pytest.raises(FormatError, match=r"curve\.csv:2: expected part, step"):
        read_curve(tmp_path / "curve.csv")
