"""Word forms of German, French and Spanish: which count as one, and which do not."""

from __future__ import annotations

import pytest

from linnet.errors import DataError
from linnet.text import variants
from linnet.text.languages import ENGLISH, LANGUAGES, Language, is_german, language_of
from linnet.text.tokens import form


def stems(language: Language, words: str) -> set[str]:
    return {language.stem(language.form(word)) for word in words.split()}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "de",
            "Krampfanfall Krampfanfälle Krampfanfällen Krampfanfalls Krampfanfalles Krampfanfaelle Krampfanfa\u0308lle",
        ),
        ("de", "Fraktur Frakturen"),
        ("de", "akut akute akuter akutes akuten akutem"),
        ("de", "Abszess Abszesse Abszesses Abszessen"),
        ("de", "Karzinom Carcinom Karzinome Karzinoms"),
        ("de", "Ödem Oedem Ödeme Ödems"),
        ("de", "Aneurysma Aneurysmen Aneurysmata"),
        ("de", "Arthritis Arthritiden"),
        ("de", "Ereignis Ereignisse Ereignissen Ereignisses"),
        ("de", "Fuß Fuss Füße Füßen"),
        ("de", "Anämie Anaemie Anämien"),
        ("de", "Ulkus Ulcus Ulzera"),
        ("de", "Glied Glieder Gliedern"),
        ("fr", "cérébral cérébrale cérébraux cérébrales cerebral"),
        ("fr", "veineux veineuse veineuses"),
        ("fr", "artériel artérielle artérielles"),
        ("fr", "élevé élevée élevés élevées"),
        ("fr", "actif active actives"),
        ("fr", "œdème œdèmes oedeme"),
        ("fr", "genou genoux"),
        ("fr", "aigu aiguë aigus"),
        ("es", "infección infecciones infeccion"),
        ("es", "riñón riñones"),
        ("es", "crónico crónica crónicos crónicas cronicas"),
        ("es", "dolor dolores"),
        ("es", "luz luces"),
    ],
)
def test_forms_of_one_word(code: str, words: str) -> None:
    assert len(stems(LANGUAGES[code], words)) == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("de", "Thrombus Thrombose"),
        ("de", "Leber Leben"),
        ("de", "Niere Nase"),
        ("fr", "foie fois"),
        ("fr", "rat rate"),
        ("es", "año ano"),
        ("es", "caso casa"),
    ],
)
def test_forms_of_other_words(code: str, words: str) -> None:
    assert len(stems(LANGUAGES[code], words)) == len(words.split())


def test_english_is_as_it_was() -> None:
    for language in (ENGLISH, LANGUAGES["en"]):
        assert language.english
        assert (language.stem, language.family, language.form) == (variants.stem, variants.family, form)
        assert language.content_words("Abnormality of the kidney") == ["Abnormality", "kidney"]


def test_every_word_of_the_lists_is_in_normal_form() -> None:
    for language in LANGUAGES.values():
        for words in (language.stopwords, language.conjunctions, language.ties):
            assert {language.form(word) for word in words} == words
        assert not language.stopwords & language.ties


def test_length_of_a_text_stays() -> None:
    for code, text in (("fr", "L'infarctus de l’œil, aujourd'hui"), ("de", "Vorhof-Flimmern und EKG-Befund")):
        language = LANGUAGES[code]
        assert len(language.joined(language.without_elision(text))) == len(text)
    assert LANGUAGES["fr"].without_elision("aujourd'hui, L'œil") == "aujourd'hui, l œil"


def test_unknown_language() -> None:
    assert language_of("de") is LANGUAGES["de"]
    with pytest.raises(DataError, match="language is 'german', expected en, de, fr, es or nothing"):
        language_of("german")


@pytest.mark.parametrize("text", ["Kra\u0308mpfe, Hypotonie", "Kei\u00adne Ataxie", "ke\u200bine Ataxie"])
def test_german_with_signs_that_nobody_sees(text: str) -> None:
    assert is_german(text)
