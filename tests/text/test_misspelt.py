"""Typing errors: what is taken for a misspelt word, and what is a word of its own."""

from __future__ import annotations

import random
import string

import pytest

from linnet.text.misspelt import SHORTEST, Misspelt, one_edit

WORDS = [
    "hypothyroidism",
    "hyperthyroidism",
    "seizures",
    "microcephaly",
    "pneumonia",
    "diabetes",
    "hemorrhage",
    "carrier",
]


@pytest.fixture(scope="module")
def misspelt() -> Misspelt:
    return Misspelt([*WORDS, "macrocephaly", "caries", "bacterial", "patent", "lesions", "modifier"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hypothryoidism", "hypothyroidism"),
        ("Seizuers", "seizures"),
        ("pneumonai", "pneumonia"),
        ("microcephlay", "microcephaly"),
        ("haemorrage", "hemorrhage"),
    ],
)
def test_one_edit_is_mended(misspelt: Misspelt, typed: str, meant: str) -> None:
    assert misspelt(typed) == meant


@pytest.mark.parametrize(
    "word", ["seizure", "lessons", "patient", "carries", "bacteria", "modified", "SEIZUERS", "pneumoniaexx", "lesion"]
)
def test_other_words_stay(misspelt: Misspelt, word: str) -> None:
    assert misspelt(word) == ""


def test_the_last_two_letters_tell_words_apart() -> None:
    words = Misspelt(["ibuprofen", "paracetamol"])
    assert [words(word) for word in ("ibuprofin", "paracetamal", "paracetamo")] == ["", "", ""]
    assert [words(word) for word in ("ibuprofne", "paracetamool")] == ["ibuprofen", "paracetamol"]


def test_prefixes_that_change_the_meaning_stay() -> None:
    assert Misspelt(["macrocephaly"])("microcephaly") == ""


def test_the_index_finds_what_comparing_all_words_finds(misspelt: Misspelt) -> None:
    rng = random.Random(13)
    for word in WORDS * 20:
        at, letter = rng.randrange(1, len(word) - 2), rng.choice(string.ascii_lowercase)
        typed = rng.choice(
            [word[:at] + word[at + 1 :], word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :]]
        )
        near = [other for other in WORDS if one_edit(typed, other)]
        if len(typed) >= SHORTEST and near == [word] and (found := misspelt(typed)):
            assert found == word
