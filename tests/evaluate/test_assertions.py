"""Assertions are measured where both sides have the mention, findings of the patient for the whole document."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linnet.data import Document, Mention
from linnet.evaluate import About, Options
from linnet.evaluate.evaluation import evaluate, fingerprint
from linnet.evaluate.render import tables
from linnet.pipeline.component import blind
from linnet.pipeline.context import Context

TEXT = "fits, cold, rash, gout"
PLACES = {"fits": 0, "cold": 6, "rash": 12, "gout": 18}


def document(source: str, **said: str) -> Document:
    mentions = [
        Mention(PLACES[word], PLACES[word] + 4, concepts=(f"X:{word}",), source=source, assertion=assertion)  # type: ignore[arg-type]
        for word, assertion in said.items()
    ]
    return Document("d", TEXT, mentions=tuple(mentions))


GOLD = document("gold", fits="negated", cold="affirmed", rash="family", gout="affirmed")


def test_counts_of_one_document() -> None:
    found = document("pred", fits="negated", cold="negated", rash="affirmed")
    report = evaluate([GOLD], [found], options=Options(samples=0))
    wanted = {
        "assertion.accuracy": 1 / 3,
        "assertion.negated.precision": 1 / 2,
        "assertion.negated.recall": 1.0,
        "assertion.family.recall": 0.0,
        "assertion.affirmed.precision": 0.0,
        "patient.precision": 0.0,  # rash
        "patient.recall": 0.0,  # of cold and gout
    }
    assert {name: report[name].value for name in wanted} == pytest.approx(wanted)


def test_a_system_without_assertions_says_that_all_is_the_patients() -> None:
    report = evaluate([GOLD], [document("pred", fits="", cold="", gout="")], options=Options(samples=0))
    assert not [name for name in report.measures if name.startswith("assertion")]
    assert report["patient.precision"].value == pytest.approx(2 / 3)
    assert report["patient.recall"].value == 1.0


def test_nothing_is_measured_where_gold_says_nothing() -> None:
    report = evaluate([document("gold", fits="")], [document("pred", fits="negated")], options=Options(samples=0))
    assert not [name for name in report.measures if name.startswith(("assertion", "patient"))]


def test_mentions_of_one_span_that_gold_says_nothing_of_have_partners_of_their_own() -> None:
    theirs = [Mention(0, 4, concepts=("X:1",), source="gold"), Mention(0, 4, concepts=("X:2",), assertion="negated")]
    ours = [Mention(0, 4, concepts=("X:1",), assertion="affirmed", probability=0.9), replace(theirs[1], source="pred")]
    gold, found = (Document("d", TEXT, mentions=tuple(mentions)) for mentions in (theirs, ours))
    assert evaluate([gold], [found], options=Options(samples=0))["assertion.accuracy"].value == 1.0


def test_tables_show_it() -> None:
    found = document("pred", fits="negated", cold="affirmed")
    report = evaluate([GOLD], [found], about=About(system="s"), options=Options(samples=0))
    shown = {
        table.title: dict(zip((row[0] for row in table.rows), table.rows, strict=True)) for table in tables([report])
    }
    assert shown["assertion at the same span"]["accuracy"] == ("accuracy", "1.000")
    assert shown["assertion at the same span, by value"]["negated"] == ("negated", "1.000", "1.000", "1.000")
    assert set(shown["assertion at the same span, by value"]) == {"negated", "affirmed"}, "no figures of the others"
    patient = "findings of the patient (patient)"
    assert shown["end to end, micro-averaged"][patient] == (patient, "1.000", "0.500", "0.667")


def test_the_fingerprint_changes_with_assertions_alone() -> None:
    none = document("gold", fits="")
    assert fingerprint([none]) != fingerprint([document("gold", fits="negated")])


def test_systems_do_not_see_them() -> None:
    [seen] = blind([GOLD], Context())
    assert {mention.assertion for mention in seen.mentions or ()} == {""}
