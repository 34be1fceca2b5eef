"""Hypothesis strategies that the tests of several formats share.

`documents` makes documents with everything a record can hold. A format that holds less passes its own strategies for
the parts it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from linnet.data import Abbreviation, Candidates, Document, Mention, Passage, Span

# no NUL: a file with one is refused as binary
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x00\ufeff")
WORDS = st.text(CHARACTERS, min_size=1, max_size=40)
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\x00\ufeff\r\n"), max_size=40)


def jsons(texts: st.SearchStrategy[str], *, most: int = 3, leaves: int = 5) -> st.SearchStrategy[Any]:
    """Any JSON value with these texts, lists and objects of at most `most` items."""
    numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=most) | st.dictionaries(texts, inner, max_size=most),
        max_leaves=leaves,
    )


JSONS = jsons(WORDS)
METAS = st.dictionaries(WORDS, JSONS, max_size=3)
CURIES = st.sampled_from(["HP:1", "MESH:D014262", "OMIM:217000", "UMLS:C0024660", "NCBIGene:6528", "X:ß", "𝒳:3"])
IDS = st.sampled_from(["", "T1", "𝒳"])
FLOATS = st.floats(-1e6, 1e6, width=32)


@st.composite
def spans(draw: st.DrawFn, length: int) -> Span:
    start = draw(st.integers(0, length - 1))
    return Span(start, draw(st.integers(start + 1, length)))


@st.composite
def parts(draw: st.DrawFn, length: int, most: int = 4) -> tuple[Span, ...]:
    """The parts of a mention in a text of `length` characters, with at most `most` borders in all."""
    cuts = sorted(draw(st.sets(st.integers(0, length), min_size=2, max_size=most)))
    return tuple(Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))


def placed(spans: tuple[Span, ...]) -> dict[str, Any]:
    """Return the fields of a mention that say where it stands."""
    return {"start": spans[0].start, "end": spans[-1].end, "parts": spans if len(spans) > 1 else ()}


@st.composite
def candidates(
    draw: st.DrawFn,
    texts: st.SearchStrategy[str] = WORDS,
    ids: st.SearchStrategy[str] = CURIES,
    *,
    most: int = 4,
    labelled: bool = True,
) -> Candidates:
    """At most `most` candidates by id, NIL among them, some with labels if they may be."""
    n = draw(st.integers(0, most))
    labels = draw(st.none() | st.lists(st.none() | texts, min_size=n, max_size=n)) if labelled else None
    column = st.lists(FLOATS, min_size=n, max_size=n)
    return Candidates(
        rows=np.full(n, -1, np.int32),
        scores=np.array(draw(column), np.float32),
        names=None if labels is None else np.full(n, -1, np.int32),
        features={key: np.array(draw(column), np.float32) for key in draw(st.sets(texts, max_size=2))},
        kb=draw(st.sampled_from(["", "abc"])),
        ids=tuple(draw(st.lists(st.none() | ids, min_size=n, max_size=n))),
        labels=tuple(labels or ()),
    )


@st.composite
def mentions(
    draw: st.DrawFn,
    length: int,
    *,
    ids: st.SearchStrategy[str] = IDS,
    types: st.SearchStrategy[str] = WORDS,
    concepts: st.SearchStrategy[str] = CURIES,
    keys: st.SearchStrategy[str] = WORDS,
    metas: st.SearchStrategy[Any] = METAS,
    found: st.SearchStrategy[Candidates] | None = None,
    where: Callable[[int], st.SearchStrategy[tuple[Span, ...]]] = parts,
) -> Mention:
    """Mentions of a text of `length` characters: nested, discontinuous, composite, alternative, NIL, predicted."""
    return Mention(
        **placed(draw(where(length))),
        id=draw(ids),
        types=tuple(draw(st.lists(types, max_size=2))),
        source=draw(st.sampled_from(["gold", "user", "pred"])),
        candidates=draw(st.none() | (candidates() if found is None else found)),
        concepts=draw(st.none() | st.lists(concepts, max_size=3).map(tuple)),
        alternatives=tuple(draw(st.lists(st.lists(concepts, max_size=2).map(tuple), max_size=2))),
        probability=draw(st.none() | st.floats(0, 1)),
        calibration=draw(st.sampled_from(["", "joint", "given-span"])),
        signals=draw(st.dictionaries(keys, st.floats(allow_nan=False, allow_infinity=False), max_size=2)),
        group=draw(st.sampled_from(["", "g1"])),
        assertion=draw(st.sampled_from(["", "negated", "family"])),
        meta=draw(metas | st.just({"denied": True})),
        terminology=draw(st.sampled_from(["", "hpo"])),
    )


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Documents with everything a record can hold."""
    text = draw(st.text(CHARACTERS, min_size=2, max_size=60))
    some = st.lists(spans(len(text)), max_size=3)
    pairs = st.lists(st.builds(Abbreviation, spans(len(text)), spans(len(text))), max_size=2)
    return Document(
        draw(WORDS),
        text,
        passages=tuple(Passage(a, b, draw(st.sampled_from(["", "title"])), draw(METAS)) for a, b in draw(some)),
        sentences=draw(st.none() | some.map(tuple)),
        abbreviations=draw(st.none() | pairs.map(tuple)),
        mentions=draw(st.none() | st.lists(mentions(len(text)), max_size=4).map(tuple)),
        reviewed=draw(st.none() | some.map(tuple)),
        meta=draw(METAS),
    )
