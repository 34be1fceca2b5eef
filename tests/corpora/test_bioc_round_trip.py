"""BioC, XML and JSON: whatever a document holds is there again after writing and reading."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import strategies
from tests.strategies import jsons, spans

from linnet.corpora import bioc_json, bioc_xml
from linnet.data import Abbreviation, Document, Mention, Passage, Span

ANY = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
SAFE = st.text(
    st.characters(codec="utf-8", exclude_characters=[*map(chr, range(32)), "\ufffe", "\uffff"])
    | st.sampled_from("\t\n\r &<>\"'|,"),
    min_size=1,
    max_size=20,
)
JSONS = jsons(ANY, most=2, leaves=4)
KEYS = ANY | st.sampled_from(
    ["type", "MESH", "identifier", "linnet:group", "linnet:infons", "a\tb", "relation", "assertion"]
)
RELATIONS = st.lists(
    st.fixed_dictionaries(
        {"type": SAFE},
        optional={
            "id": SAFE,
            "args": st.lists(st.fixed_dictionaries({"role": SAFE, "ref": SAFE}), min_size=1, max_size=2),
            "meta": st.dictionaries(KEYS, ANY | JSONS, max_size=2),
        },
    ),
    max_size=2,
)
METAS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "infons": st.dictionaries(KEYS, ANY | st.just("negated") | JSONS, max_size=3) | JSONS,
        "fields": st.dictionaries(ANY | st.sampled_from(["id", "pmid", "documents"]), JSONS, max_size=2) | JSONS,
        "collection": st.dictionaries(st.sampled_from(["source", "date", "infons", "fields", "x"]), ANY | JSONS)
        | JSONS,
        "relations": RELATIONS | JSONS,
        "annotations": st.lists(
            st.fixed_dictionaries({"id": SAFE}, optional={"infons": st.dictionaries(KEYS, ANY), "text": SAFE})
        )
        | JSONS,
        "sentences": JSONS,
        "text": JSONS,
        "separator": st.sampled_from(["|", "+", ",", ";", "+,", "", "ab"]) | JSONS,
        "ids": st.sampled_from(["MESH:D1|-1", "-1", "x"]) | JSONS,
        "x": JSONS,
    },
)
IDS = st.sampled_from(
    ["HP:1", "MESH:D000002", "NCBIGene:6", "NCBITaxon:9", "X:ß", "𝒳:3", "7", "a|b", "", "-1", "p|SUB|V|1|M"]
)
TYPES = st.sampled_from(["Gene", "Species", "Disease", "", "A,B"]) | SAFE


@st.composite
def parts(draw: st.DrawFn, length: int) -> tuple[Span, ...]:
    found = draw(strategies.parts(length))
    start, end = found[0]
    if len(found) == 1 and end - start > 1 and draw(st.booleans()):
        return Span(start, start + 1), Span(start + 1, end)  # adjacent
    return found


def mentions(length: int) -> st.SearchStrategy[Mention]:
    ids = st.sampled_from(["", "T1", "𝒳", " ", "linnet:none0"]) | SAFE
    found = strategies.candidates(ANY, IDS, most=3)
    return strategies.mentions(
        length, ids=ids, types=TYPES, concepts=IDS, keys=ANY, metas=METAS, found=found, where=parts
    )


@st.composite
def passages(draw: st.DrawFn, length: int) -> tuple[Passage, ...]:
    if draw(st.booleans()):  # anywhere
        found = draw(st.lists(spans(length), max_size=3))
    else:  # one after the other
        cuts = sorted(draw(st.lists(st.integers(0, length), min_size=2, max_size=5)))
        found = [Span(a, b) for a, b in itertools.pairwise(cuts)]
    return tuple(Passage(a, b, draw(st.sampled_from(["", "title"])), draw(METAS)) for a, b in found)


@st.composite
def documents(draw: st.DrawFn, texts: st.SearchStrategy[str] = SAFE) -> Document:
    text = draw(texts.map(lambda text: text + " x") | st.just("A b.\n \nC d."))
    some = st.lists(spans(len(text)), max_size=3)
    pairs = st.lists(st.builds(Abbreviation, spans(len(text)), spans(len(text))), max_size=2)
    return Document(
        draw(texts),
        text,
        passages=draw(passages(len(text))),
        sentences=draw(st.none() | some.map(tuple)),
        abbreviations=draw(st.none() | pairs.map(tuple)),
        mentions=draw(st.none() | st.lists(mentions(len(text)), max_size=4).map(tuple)),
        reviewed=draw(st.none() | some.map(tuple)),
        meta=draw(METAS),
    )


CAREFUL = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=30
)


@pytest.mark.slow
@CAREFUL
@given(docs=st.lists(documents(), max_size=2))
def test_nothing_is_lost_in_xml(tmp_path: Path, docs: list[Document]) -> None:
    out = io.StringIO()
    assert bioc_xml.write(docs, out) == len(docs)
    path = tmp_path / "d.xml"
    path.write_bytes(out.getvalue().encode())
    assert list(bioc_xml.read(path)) == docs


@pytest.mark.slow
@CAREFUL
@given(docs=st.lists(documents(st.text(min_size=1, max_size=20)), max_size=2))
def test_nothing_is_lost_in_json(tmp_path: Path, docs: list[Document]) -> None:
    out = io.StringIO()
    assert bioc_json.write(docs, out) == len(docs)
    path = tmp_path / "d.json"
    path.write_bytes(out.getvalue().encode())
    assert list(bioc_json.read(path)) == docs


def test_assertions_are_infons(tmp_path: Path) -> None:
    docs = [Document("d", "fits", mentions=(Mention(0, 4, id="1", source="gold", assertion="negated"),))]
    for format, name in ((bioc_xml, "d.xml"), (bioc_json, "d.json")):
        out = io.StringIO()
        format.write(docs, out)
        (tmp_path / name).write_text(out.getvalue())
        assert list(format.read(tmp_path / name)) == docs
    assert '"assertion": "negated"' in out.getvalue().replace('":"', '": "')
