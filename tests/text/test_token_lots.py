"""Words of many texts at once are those of each."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from linnet.text.token_lots import tokenize_lot
from linnet.text.tokens import gap_kind, tokenize

PIECES = (
    *(
        "a",
        "b",
        "1",
        "²",
        "é",
        "é",
        "İ",
        "😀",
        "\ud800",
        "non",
        "Non",
        "anti",
        "pre",
        "and",
        "or",
        "early",
        "febrile",
        "mg",
        "abc",
    ),
    *(" ", "  ", "\t", "\n", "\xa0", "\0", "\xad", "-", "\u2010", "'", "’", "ʼ", "/", ":", ",", "_", "(", ")", "."),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20)


@given(st.lists(TEXTS, max_size=4))
@example(
    [
        "",
        "lip and/or palate non febrile non-AD pre-auricular",
        "non-non-abc non",
        " (x) ",
        "500mg non-5mg 2.5mg/ml 3mgx x5mg abc5mg abc2.5mg's abc5mgx non-abc5mg",
    ]
)
def test_words_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    lot = tokenize_lot(texts)
    for number, text in enumerate(texts):
        alone, words = tokenize(text), lot.words(number)
        assert words.surfaces == alone.surfaces
        assert (words.starts.tolist(), words.ends.tolist()) == (alone.starts.tolist(), alone.ends.tolist())
        places = range(int(lot.firsts[number]), int(lot.firsts[number + 1]))
        assert list(map(lot.gap, places)) == alone.gaps[:-1]
        assert lot.gaps[places].tolist() == list(map(gap_kind, alone.gaps[:-1]))
    assert len(lot.surfaces) == lot.firsts[-1] if texts else not lot.surfaces
