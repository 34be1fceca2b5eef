"""Mentions with the text around them."""

from __future__ import annotations

from linnet.data import Document, Mention, Span
from linnet.pipeline import Abbreviations, Sentences
from linnet.text.contexts import InContext, in_context


def test_only_so_much_of_a_long_document_is_read_as_can_be_shown() -> None:
    doc = Document("d", "x" * 5000 + " fever " + "y" * 5000, mentions=(Mention(5001, 5006),), abbreviations=())
    [found] = in_context(doc, tokens=50)
    assert (len(found.left), found.text, len(found.right)) == (800, "fever", 800)


def test_parts_and_long_forms_are_what_is_asked_for() -> None:
    doc = Document("d", "cleft lip and palate", mentions=(Mention(0, 20, parts=(Span(0, 5), Span(14, 20))),))
    assert in_context(doc, tokens=50) == [InContext("", "cleft palate", "")]
    short = Document("d", "Cystic heart (CH) was seen. CH grew.", mentions=(Mention(28, 30),))
    [short] = Abbreviations()(Sentences()([short]))
    assert in_context(short, tokens=50)[0].text == "Cystic heart"
    assert in_context(short, tokens=50, long_forms=False)[0].text == "CH"
