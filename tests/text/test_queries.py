"""What mentions ask for."""

from __future__ import annotations

import re

from linnet.data import Document, Mention, Span
from linnet.pipeline import Abbreviations, Sentences
from linnet.text.queries import query_texts


def queries(text: str, *surfaces: str) -> list[str]:
    """Return the queries for every place where one of `surfaces` stands."""
    places = [match.span() for match in re.finditer("|".join(map(re.escape, surfaces)), text)]
    doc = Document("d", text, mentions=tuple(Mention(*place) for place in places))
    [doc] = Abbreviations()(Sentences()([doc]))
    return query_texts(doc)


def test_each_occurrence_takes_the_nearest_definition_before() -> None:
    text = "Multiple sclerosis (MS) is common, MS. Mitral stenosis (MS) is not. MS."
    assert queries(text, "MS") == ["Multiple sclerosis"] * 2 + ["Mitral stenosis"] * 2


def test_plural_singular_and_possessive() -> None:
    text = "CNVs (copy number variants): one CNV. Cleft palate (CP): two CPs and a CP's size."
    assert queries(text, "CNV.", "CNV", "CPs", "CP's")[-3:] == ["CNV.", "Cleft palate", "Cleft palate"]
    assert queries(text, "CNVs", "CNV") == ["copy number variants"] * 2


def test_identifiers_are_left_alone() -> None:
    assert queries("Parkinson disease (PD). PD-1", "PD-1") == ["PD-1"]
    assert queries("Parkinson disease (PD) and PD-1", "PD") == ["Parkinson disease", "PD"]


def test_without_mentions_or_abbreviations() -> None:
    assert query_texts(Document.of("CP")) == []
    assert query_texts(Document("d", "a CP", mentions=(Mention(2, 4),))) == ["CP"]
    parts = (Span(0, 2), Span(4, 6))
    [doc] = Abbreviations()(Sentences()([Document("d", "CP, CP: cleft palate (CP)", mentions=(Mention(0, 6, parts),))]))
    assert query_texts(doc) == ["CP CP"]
