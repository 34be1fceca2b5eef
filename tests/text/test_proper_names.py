from __future__ import annotations

import pytest

from linnet.text.proper_names import names_something_else


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("on the stroke unit", "stroke"),
        ("Stroke Unit", "Stroke"),
        ("the heart failure nurse", "heart failure"),
        ("Seen at the Epilepsy Support Group.", "Epilepsy"),
        ("Ataxia Centre", "Ataxia"),
        ("From: Dr. T. Falls, Neurology", "Falls"),
        ("Prof A B Falls saw her.", "Falls"),
        ("Frau Ataxia", "Ataxia"),
        ("uses eye drops", "eye drops"),
        ("keep the headache diary", "headache"),
        ("Seizure rescue plan template", "Seizure"),
        ("Known to the Epilepsy Surgery Service", "Epilepsy"),
        ("She fits in well", "fits"),
        ("Sweat test arranged", "Sweat"),
        ("had glandular fever", "fever"),
        ("He bottom-shuffles", "shuffles"),
        ("a bottom shuffler", "shuffler"),
        ("small hand joints", "small hand"),
        ("hepatitis B vaccination", "hepatitis"),
        ("Epilepsie Ambulanz", "Epilepsie"),
        ("early left heart volume overload", "volume overload"),
    ],
)
def test_units_people_and_things(text: str, name: str) -> None:
    start = text.index(name)
    assert names_something_else(text, start, start + len(name))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the ataxia group", "ataxia"),
        ("Ataxia. Clinic notes", "Ataxia"),
        ("Ataxia and Stroke", "Ataxia"),
        ("Falls often. Neurology", "Falls"),
        ("Mrs Doe has bone pain", "bone pain"),
        ("Dr Doe: falls", "falls"),
        ("glandular fever", "glandular fever"),
        ("No fits in the last year", "fits"),
        ("fits well controlled", "fits"),
        ("treated for the confusion", "confusion"),
        ("He shuffles", "shuffles"),
        ("small hands", "small hands"),
        ("heart failure, volume overload", "volume overload"),
    ],
)
def test_findings(text: str, name: str) -> None:
    start = text.index(name)
    assert not names_something_else(text, start, start + len(name))


def test_a_blank_that_is_marked_names_nothing() -> None:
    assert not names_something_else("Gout.  Ataxia.", 5, 7)
