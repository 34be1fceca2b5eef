"""The tables of triggers and headings are what their heads say, and triggers are found longest first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.text import triggers
from linnet.text.scopes import find_scopes
from linnet.text.sections import find_sections
from linnet.text.triggers import cut, find_triggers, lower, places
from linnet.text.wordlists import rows

KINDS = {"negated", "uncertain", "family", "hypothetical", "historical", "past", "present", "done", "need"}
DIRECTIONS = {"forward", "backward", "either", "answer", "opening", "closing", "condition", "contrast", "around"}
TABLE = rows("linnet.text", "triggers.tsv")


def test_the_table_of_triggers_is_whole() -> None:
    sets = {name for kind, name, _, _ in TABLE if kind == "set"}
    for kind, direction, reach, listed in TABLE:
        if kind in KINDS:
            assert direction in DIRECTIONS, listed
            assert reach in ("phrase", "list", "sentence", "next", "bracket", "clause"), listed
        elif kind in ("pseudo", "stop"):
            assert (direction, reach) in {("-", "-"), ("-", "list"), ("-", "sentence"), ("-", "clause")}, listed
        else:
            assert kind in ("set", "lasting", "passing")
        assert set(re.findall(r"\{(\w+)\}", listed)) <= sets | {"year", "day", "number", "any"}
        assert all(listed.split("|")), listed
        assert lower(listed) == listed


def test_every_trigger_is_found_alone() -> None:
    """What no text can hold, for its signs are cut otherwise, would never be found."""
    for kind, _, _, listed in TABLE:
        for trigger in listed.split("|") if kind in KINDS else ():
            if "{" not in trigger and "<" not in trigger:
                words = trigger.replace("?x", "?").split()
                text = " ".join(words) + (" fits" if "?x" in trigger else "")
                text = text.replace(" x?", "fits?").replace("x?", "fits?")
                found = list(find_triggers(cut(text, 0, len(text))))
                assert any(one.trigger.kind == kind for one in found), trigger


def test_of_two_that_begin_together_the_longer_is_found() -> None:
    found = find_triggers(cut(text := "cannot be excluded; no increase in fits, not only", 0, len(text)))
    assert [one.trigger.kind for one in found] == ["uncertain", "pseudo", "pseudo"]


def test_words_and_places_belong_together() -> None:
    text = lower("Mum’s x-linked FITS?? -- r/o (p.r.n.) → no… ?")
    words = cut(text, 0, len(text))
    spans = places(text, 0, len(text))
    assert words == [
        "mum",
        "s",
        "x",
        "linked",
        "fits",
        "x?",
        "-",
        "r",
        "/",
        "o",
        "(",
        "p",
        "r",
        "n",
        ")",
        "-",
        "no",
        "x?",
    ]
    assert len(spans) == len(words)
    assert [text[slice(*span)] for span in spans[:5]] == words[:5]


def test_letters_whose_small_form_is_longer_keep_their_places() -> None:
    assert len(lower("İstanbul: no FITS")) == len("İstanbul: no FITS")


def test_brackets_keep_what_stands_in_them() -> None:
    text = "scoliosis (fever possible) and rash (resolved)"
    found = {scope.kind: text[scope.start : scope.end] for scope in find_scopes(text, 0, len(text), lambda *_: False)}
    assert found["uncertain"].strip() == "fever"
    assert "rash" in found["historical"]


def test_headings_in_one_line_and_unknown_ones() -> None:
    text = "PMH: asthma. FHx: gout. Note: well\nAllergien:\nPenicillin\nWeight: 3 kg\nsocial history was taken"
    assert [(one.kind, text[one.start : one.end].strip()) for one in find_sections(text)] == [
        ("past", "PMH: asthma."),
        ("family", "FHx: gout. Note: well"),
        ("allergies", "Allergien:\nPenicillin"),
    ]


def test_a_family_history_on_one_line_ends_with_its_sentences() -> None:
    text = "FH: mother has gout.\nFather well.\nRash on both arms.\nFH: gout in her\nMother. Rash.\n\nFH:\nGout.\nBald."
    assert [text[one.body : one.end].strip() for one in find_sections(text)] == [
        "mother has gout.\nFather well.",
        "gout in her\nMother. Rash.",
        "Gout.\nBald.",
    ]


class Anything(dict[str, Any]):
    """Every word may begin a trigger, whatever follows it."""

    def get(self, key: str, default: Any = None) -> None:
        return None


WORDS = sorted(
    {word for _, _, _, listed in TABLE for word in cut(re.sub(r"\{\w+\}|[|<]", " ", listed), 0, len(listed))}
)


@given(st.lists(st.sampled_from([*WORDS, "3", "72", "2015", "{year}", "", "gout"]), max_size=12))
def test_words_that_are_passed_over_begin_no_trigger(words: list[str]) -> None:
    found = list(find_triggers(words))
    whole = triggers._table()._replace(after=Anything())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triggers, "_table", lambda: whole)
        assert found == list(find_triggers(words))
