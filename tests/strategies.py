"""Hypothesis strategies that the tests of several formats share.

`documents` makes documents with everything a record can hold. A format that holds less passes its own strategies for
the parts it holds.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from linnet.data import Abbreviation, Candidates, Document, Mention, Passage, Span

# no NUL: a file with one is refused as binary
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x00\ufeff")
WORDS = st.text(CHARACTERS, min_size=1, max_size=40)
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\x00\ufeff\r\n"), max_size=40)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
METAS = st.dictionaries(WORDS, JSONS, max_size=3)
CURIES = st.sampled_from(["HP:1", "MESH:D014262", "OMIM:217000", "UMLS:C0024660", "NCBIGene:6528", "X:ß", "𝒳:3"])
FLOATS = st.floats(-1e6, 1e6, width=32)


@st.composite
def spans(draw: st.DrawFn, length: int) -> Span:
    start = draw(st.integers(0, length - 1))
    return Span(start, draw(st.integers(start + 1, length)))


@st.composite
def candidates(draw: st.DrawFn) -> Candidates:
    n = draw(st.integers(0, 4))
    labels = draw(st.none() | st.lists(st.none() | WORDS, min_size=n, max_size=n))
    column = st.lists(FLOATS, min_size=n, max_size=n)
    return Candidates(
        rows=np.full(n, -1, np.int32),
        scores=np.array(draw(column), np.float32),
        names=None if labels is None else np.full(n, -1, np.int32),
        features={key: np.array(draw(column), np.float32) for key in draw(st.sets(WORDS, max_size=2))},
        kb=draw(st.sampled_from(["", "abc"])),
        ids=tuple(draw(st.lists(st.none() | CURIES, min_size=n, max_size=n))),
        labels=tuple(labels or ()),
    )


@st.composite
def mentions(draw: st.DrawFn, length: int) -> Mention:
    """Mentions of a text of `length` characters: nested, discontinuous, composite, alternative, NIL, predicted."""
    cuts = sorted(draw(st.sets(st.integers(0, length), min_size=2, max_size=4)))
    parts = tuple(Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    return Mention(
        parts[0].start,
        parts[-1].end,
        parts=parts if len(parts) > 1 else (),
        id=draw(st.sampled_from(["", "T1", "𝒳"])),
        types=tuple(draw(st.lists(WORDS, max_size=2))),
        source=draw(st.sampled_from(["gold", "user", "pred"])),
        candidates=draw(st.none() | candidates()),
        concepts=draw(st.none() | st.lists(CURIES, max_size=3).map(tuple)),
        alternatives=tuple(draw(st.lists(st.lists(CURIES, max_size=2).map(tuple), max_size=2))),
        probability=draw(st.none() | st.floats(0, 1)),
        calibration=draw(st.sampled_from(["", "joint", "given-span"])),
        signals=draw(st.dictionaries(WORDS, st.floats(allow_nan=False, allow_infinity=False), max_size=2)),
        group=draw(st.sampled_from(["", "g1"])),
        meta=draw(METAS),
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
