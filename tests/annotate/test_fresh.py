"""What a pipeline says of a span that a person has just selected."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.annotate.fresh import candidates_of, linker_of
from linnet.data import Concept, Document, Name, Span
from linnet.kb.build import build
from linnet.recipes.config import load


def test_a_threshold_does_not_change_the_probability_of_the_first_candidate(tmp_path: Path) -> None:
    """What is too improbable for an answer is NIL with the probability that the concept is wrong."""
    kb = build([Concept("X:1", (Name("acute gout"),)), Concept("X:2", (Name("gut"),))], tmp_path / "x.kb")
    doc = Document("d", "Acute gouty pain.")
    every, none = (
        candidates_of(linker_of(load("dictionary", kb=kb, changes=[change]), kb), kb, doc, (Span(0, 11),))
        for change in ("decide.threshold=0.0", "decide.threshold=1.0")
    )
    assert every.candidates == none.candidates
    assert every.candidates[0].id == "X:1"
    assert every.probability is not None
    assert 0.0 < every.probability < 1.0 != pytest.approx(2 * every.probability)
    assert none.probability == pytest.approx(every.probability)
