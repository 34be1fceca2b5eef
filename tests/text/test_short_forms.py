"""Short forms: where they stand, and which definition holds."""

from __future__ import annotations

from linnet.data import Abbreviation, Document, Span
from linnet.text.abbreviations import find_abbreviations, without_short_forms
from linnet.text.sentences import split_sentences
from linnet.text.short_forms import ShortForms
from linnet.text.tokens import tokenize


def expanded(text: str) -> list[str]:
    """Return the short forms of a text with what they mean."""
    sentences = split_sentences(text)
    forms = ShortForms(text, find_abbreviations(text, sentences))
    tokens, borders = tokenize(text), [start for start, _ in sentences]
    found = list(forms.occurrences(text, tokens, borders=borders))
    for one in found:
        start = int(tokens.starts[one.first])
        assert forms.meaning(text, start, one.end, borders=borders) == one.long
    return [f"{text[int(tokens.starts[one.first]) : one.end]}={one.long}" for one in found]


def test_the_nearest_definition_before_holds() -> None:
    text = "HR rose. Heart rate (HR): HR. Hazard ratio (HR): HR, HRs."
    assert [pair.split("=")[1] for pair in expanded(text)] == ["Heart rate"] * 3 + ["Hazard ratio"] * 3


def test_the_longest_short_form_holds_and_takes_its_words() -> None:
    text = "apolipoprotein (apo), apolipoprotein E (apo E): apo E, apo."
    assert expanded(text)[-2:] == ["apo E=apolipoprotein E", "apo=apolipoprotein"]


def test_a_spelling_of_two_short_forms_is_first_of_all_itself() -> None:
    text = "phenobarbital (PB) and polar bodies (PBs): PB, PBs"
    assert expanded(text)[-2:] == ["PB=phenobarbital", "PBs=polar bodies"]


def test_long_texts_are_read_with_an_offset() -> None:
    text = "Heart rate (HR): HR. Hazard ratio (HR): HR"
    forms = ShortForms(text, find_abbreviations(text, split_sentences(text)))
    assert forms.meaning("HR", 0, 2) == forms.meaning("HR", 0, 2, offset=17) == "Heart rate"
    assert forms.meaning("HR", 0, 2, offset=40) == "Hazard ratio"


def test_capitals() -> None:
    text = "Acute lymphoblastic leukemia (ALL). ALL is rare. ALL PATIENTS. AN ALL CASE WITH HR. ALL."
    assert expanded(text) == [f"ALL={text[:28]}"] * 3


def test_nothing_to_expand() -> None:
    text = "a word (AW)"
    empty = [Abbreviation(Span(0, 0), Span(0, 6)), Abbreviation(Span(7, 8), Span(0, 6))]
    empty += [Abbreviation(Span(8, 10), Span(1, 2))]
    assert not ShortForms(text, empty)
    assert list(ShortForms(text, empty).occurrences(text, tokenize(text))) == []
    assert not ShortForms.of(Document.of(text))


def test_time_is_linear_in_the_definitions() -> None:
    pairs = "".join(f"x{number} (X{number}) " for number in range(20_000))
    starts = [at for at, sign in enumerate(pairs) if sign == "("]
    ends = [at for at, sign in enumerate(pairs) if sign == ")"]
    found = [Abbreviation(Span(at + 1, end), Span(at - end + at, at - 1)) for at, end in zip(starts, ends, strict=True)]
    assert len(list(ShortForms(pairs, found).occurrences(pairs, tokenize(pairs)))) == 20_000  # quadratic: minutes


def test_names_without_their_own_short_forms() -> None:
    assert without_short_forms("Heart rate [HR]") == "Heart rate"
    assert without_short_forms("HR (heart rate) low") == "HR (heart rate) low"
    assert without_short_forms("Heart rate (HR) or hazard ratio (HZ), low") == "Heart rate or hazard ratio , low"
    assert without_short_forms("(") == "("
