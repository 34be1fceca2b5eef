"""The measures that neleval has, too, are the same to 1e-9 on 200 random comparisons."""

from __future__ import annotations

import json

import pytest
from tests.evaluate.neleval_cases import CASES, EXPECTED, MACRO, MEASURES, pairs

from linnet.evaluate.end_to_end import end_to_end

# What neleval calls measures, and what they are called here.
NELEVAL = {
    "strong_link_match": "strict",
    "strong_all_match": "strict-nil",
    "strong_nil_match": "nil",
    "strong_mention_match": "recognition.strict",
    "strong_typed_mention_match": "recognition.typed",
    "entity_match": "document",
    "overlap-maxmax::span+kbid": "overlap-maxmax",
}

ROWS: list[dict[str, list[float]]] = json.loads(EXPECTED.read_text(encoding="utf-8"))


def test_every_measure_has_a_counterpart() -> None:
    assert len(ROWS) == CASES == 200
    assert set(NELEVAL) == set(MEASURES)


def test_agreement() -> None:
    worst, counted = 0.0, dict.fromkeys(NELEVAL, 0)
    for seed, row in enumerate(ROWS):
        found = {measure.name: measure for measure in end_to_end(pairs(seed), live=str)}
        for theirs, ours in NELEVAL.items():
            measures = [found[f"{ours}.{figure}"] for figure in ("precision", "recall", "f1")]
            if not measures[-1].counts.any():  # neleval says 0 where there is nothing to find and nothing was found
                assert (row[theirs], [measure.value for measure in measures]) == ([0.0] * 3, [1.0] * 3)
                continue
            counted[theirs] += 1
            differences = (abs(a.value - b) for a, b in zip(measures, row[theirs], strict=True))
            worst = max(worst, *differences)
        for theirs in MACRO:
            for figure, expected in zip(("precision", "recall", "f1"), row[f"{theirs};macro"], strict=True):
                worst = max(worst, abs(found[f"{NELEVAL[theirs]}.macro-{figure}"].value - expected))
    assert worst < 1e-9
    assert min(counted.values()) > 100


def test_the_cases_are_not_trivial() -> None:
    values = [row["overlap-maxmax::span+kbid"][2] for row in ROWS]
    assert 0.3 < sum(values) / len(values) < 0.9
    assert len({round(value, 6) for value in values}) > 150
    assert ROWS[0]["strong_all_match"] == pytest.approx([0.625, 2 / 3, 0.64516129])
