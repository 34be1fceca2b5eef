"""One document, one meaning."""

from __future__ import annotations

import pytest

from linnet.data import Document, Mention
from linnet.detect.consistent import Consistent
from linnet.errors import RecipeError
from linnet.pipeline import Pipeline


def surfaces(text: str, *found: str, detect: float = 0.99, **options: object) -> list[str]:
    """Return the surfaces of all mentions after the first place of each of `found` is a mention."""
    mentions = tuple(
        Mention(text.index(one), text.index(one) + len(one), types=("Kind",), signals={"detect": detect})
        for one in found
    )
    doc = Document("a", text, mentions=mentions)
    [after] = Pipeline(Consistent(**options))([doc])  # type: ignore[arg-type]
    assert all(mention.types == ("Kind",) for mention in after.mentions or ())
    return [after.surface(mention) for mention in after.mentions or ()]


def test_words_that_stand_twice_are_found_twice() -> None:
    assert surfaces("Cold fever, then cold fever.", "Cold fever") == ["Cold fever", "cold fever"]
    assert surfaces("Cold fever, then cold fever.", "Cold fever", repeats=False) == ["Cold fever"]
    assert surfaces("Cold fever, then cold fever.", "Cold fever", detect=0.5) == ["Cold fever"]


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("No AS, as it was.", "AS"),  # short: only as it is written
        ("NaCl and nacl", "NaCl"),
        ("dopamine and dopamine-beta-hydroxylase", "dopamine"),
        ("renal failure and renal, failure", "renal failure"),
        ("gout and gouty", "gout"),
    ],
)
def test_what_only_looks_alike_is_left(text: str, one: str) -> None:
    assert surfaces(text, one) == [one]


def test_mentions_that_are_there_stay() -> None:
    text = "zinc and zinc salt"
    assert surfaces(text, "zinc", "zinc salt") == ["zinc", "zinc salt"]


def test_a_short_form_follows_its_long_form() -> None:
    text = "Multiple sclerosis (MS) is rare. She had MS."
    assert surfaces(text, "Multiple sclerosis") == ["Multiple sclerosis", "MS", "MS"]
    assert surfaces(text, "Multiple sclerosis", abbreviations=False) == ["Multiple sclerosis"]


def test_names_that_stand_hundreds_of_times() -> None:
    text = "zinc and " * 2000
    mentions = tuple(Mention(place, place + 4) for place in range(0, 9 * 1000, 9))
    [after] = Consistent(abbreviations=False)([Document("a", text, mentions=mentions)])
    assert len(after.mentions or ()) == 2000


def test_sure_is_a_probability() -> None:
    with pytest.raises(RecipeError, match="min_probability: 2"):
        Consistent(min_probability=2)
