"""Words and their labels."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Document, Mention, Span
from linnet.text.tagging import Chunk
from linnet.text.words import UNKNOWN, gold_chunks, label_names, labels_of, spans_of


def test_nothing_is_learned_from_what_nobody_reviewed() -> None:
    doc = Document("a", "gout then zinc then gout", mentions=(Mention(0, 4, types=("Disease",)),))
    names = label_names(["Disease"], "BIO")
    assert labels_of(doc, spans_of(doc.text), names, "BIO").tolist() == [1, 0, 0, 0, 0]
    seen = replace(doc, reviewed=(Span(0, 9),))
    assert labels_of(seen, spans_of(doc.text), names, "BIO").tolist() == [1, 0, UNKNOWN, UNKNOWN, UNKNOWN]


def test_of_overlapping_mentions_the_longest_is_learned() -> None:
    mentions = (Mention(0, 4), Mention(0, 10), Mention(5, 10), Mention(11, 20, parts=(Span(11, 13), Span(17, 20))))
    doc = Document("a", "cold fever of it had", mentions=mentions)
    labels = labels_of(doc, spans_of(doc.text), label_names([""], "BIOES"), "BIOES")
    assert gold_chunks(labels, label_names([""], "BIOES")) == [Chunk(0, 1, ""), Chunk(2, 4, "")]


@given(st.text(max_size=60))
def test_words_cover_all_letters_and_digits(text: str) -> None:
    words = spans_of(text)
    covered = {place for start, end in words for place in range(start, end)}
    assert all(letter.isspace() or not letter.isalnum() for place, letter in enumerate(text) if place not in covered)
