"""Words and gaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.text.tokens import Gap, form, gap_kind, tokenize, words


@given(st.text())
def test_words_and_gaps_make_the_text(text: str) -> None:
    tokens = tokenize(text)
    pieces = [tokens.gaps[0]]
    for surface, gap in zip(tokens.surfaces, tokens.gaps[1:], strict=True):
        pieces += [surface, gap]
    assert "".join(pieces) == text
    found = zip(tokens.surfaces, tokens.starts.tolist(), tokens.ends.tolist(), strict=True)
    assert all(text[start:end] == surface for surface, start, end in found)
    assert words(text) == tokens.surfaces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("... !", []),
        ("Alzheimer's", ["Alzheimer's"]),
        ("'quoted'", ["quoted"]),
        ("x-linked IL-2/3", ["x", "linked", "IL", "2", "3"]),
        ("snake_case", ["snake", "case"]),
        ("pre-auricular non-small-cell", ["pre-auricular", "non-small", "cell"]),
        ("non-AD Anti-D anti-5 non-1 pre-AD", ["non-AD", "Anti-D", "anti-5", "non-1", "pre", "AD"]),
        ("non\u2010x non\u2011x non\u2013x non\u2212x", ["non\u2010x", "non\u2011x", "non\u2013x", "non\u2212x"]),
        ("Non febrile, non\nfebrile, non, x anti x", ["Non febrile", "non\nfebrile", "non", "x", "anti", "x"]),
        ("lip and/or palate, hand/or, And/Or.", ["lip", "and/or", "palate", "hand", "or", "And/Or"]),
        (
            "pre- and post-op, non-non-abc, pre-x1, Pre-\n",
            ["pre", "and", "post", "op", "non-non", "abc", "pre", "x1", "Pre"],
        ),
        ("Me\u0301nie\u0300re's", ["Me\u0301nie\u0300re's"]),
        ("a\x00b", ["a", "b"]),
        ("𝒳😀y", ["𝒳", "y"]),
        (
            "500mg, 2.5µg/kg and 12IE; 17q21, p53, 5x",
            ["500", "mg", "2", "5", "µg", "kg", "and", "12", "IE", "17q21", "p53", "5x"],
        ),
        ("Ramipril5mg, Lasix2.5mg", ["Ramipril", "5", "mg", "Lasix", "2", "5", "mg"]),
        ("B12 CYP2D6 HLA-B27 COX2 T3 CA125 H2g", ["B12", "CYP2D6", "HLA", "B27", "COX2", "T3", "CA125", "H2g"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_prefix_is_joined() -> None:
    assert form("Pre-eclampsia") == form("preeclampsia") == "preeclampsia"
    assert form("non\u2013insulin") == form("Non insulin") == form("non-insulin") == "noninsulin"
    assert form("and/or") == "and"


def test_offsets_are_code_points() -> None:
    assert tokenize("😀 β").starts.tolist() == [2]


@pytest.mark.parametrize(
    ("gap", "kind"),
    [
        (" ", Gap.JOIN), ("\n", Gap.JOIN), ("  ", Gap.JOIN), ("-", Gap.JOIN), ("\u2013", Gap.JOIN), (' "', Gap.JOIN),
        ("\x00", Gap.JOIN), ("", Gap.JOIN), ("/", Gap.SLASH), (",", Gap.COMMA), (", ", Gap.COMMA), (",\n", Gap.COMMA),
        ("\u2212", Gap.JOIN),
        (" - ", Gap.BREAK), (". ", Gap.BREAK), (".", Gap.BREAK), ("; ", Gap.BREAK), (" (", Gap.BREAK),
        (":", Gap.BREAK), ("\u2014", Gap.BREAK), (" / ", Gap.BREAK), ("+", Gap.BREAK),
        ("\n\n", Gap.PARAGRAPH), (".\n \n", Gap.PARAGRAPH), (": ", Gap.PARAGRAPH), (":\n", Gap.PARAGRAPH),
    ],
)  # fmt: skip
def test_gap_kinds(gap: str, kind: int) -> None:
    assert gap_kind(gap) == kind
