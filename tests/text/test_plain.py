"""Plain texts: what is seen stays, and places go there and back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Document, Mention, Span
from linnet.text.plain import Plain, plain, plain_document

SIGNS = st.sampled_from([*"aÄ. \n", "\u00a0", "\u2009", "\u00ad", "\u200b", "\u0308", "o\u0308", "\ufeff", "é"])
TEXTS = st.lists(SIGNS, max_size=30).map("".join)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Kei\u00adne\u00a0Ataxie", "Keine Ataxie"),
        ("mo\u0308glich\u202f5", "möglich 5"),
        ("a\u00ad\u00ad\u200bb", "ab"),
        ("mo\u00ad\u0308glich", "möglich"),
        ("x\u0308\u0300", unicodedata.normalize("NFC", "x\u0308\u0300")),
        ("Fieber, Müdigkeit", "Fieber, Müdigkeit"),
    ],
)
def test_what_is_seen(text: str, seen: str) -> None:
    assert plain(text) == seen == Plain.of(text).text


@given(TEXTS)
def test_places_go_there_and_back(text: str) -> None:
    form = Plain.of(text)
    places = [form.place(at) for at in range(len(text) + 1)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, len(form.text))
    for at in range(len(form.text)):
        start, end = form.origin(at), form.origin(at + 1)
        assert form.place(start) == at
        assert start < end
    assert plain(form.text) == form.text


def test_documents_keep_their_mentions_in_order() -> None:
    text = "Kei\u00adne Ohren\u00a0klein, tief"
    parts = (Span(7, 12), Span(20, 24))
    doc = Document("d", text, sentences=(Span(0, 24),), mentions=(Mention(7, 24, parts=parts), Mention(7, 12)))
    seen, form = plain_document(doc)
    assert form is not None
    assert [seen.surface(mention) for mention in seen.mentions or ()] == ["Ohren tief", "Ohren"]
    assert seen.sentences == (Span(0, 23),)


def test_a_sentence_of_nothing_stays() -> None:
    doc = Document("d", "Husten\n\u200b\nFieber", sentences=(Span(0, 6), Span(7, 8), Span(9, 15)), mentions=())
    seen, _ = plain_document(doc)
    assert seen.sentences == (Span(0, 6), Span(7, 7), Span(8, 14))


def test_documents_that_are_plain_or_have_mentions_of_nothing_stay() -> None:
    for doc in (Document("d", "Müde"), Document("d", "Mü\u00adde", mentions=(Mention(2, 3),))):
        assert plain_document(doc) == (doc, None)
