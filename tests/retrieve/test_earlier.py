"""The candidates that mentions have, kept beside those that others find."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow
from linnet.pipeline.fusion import fused
from linnet.retrieve.earlier import Earlier
from linnet.retrieve.exact import Exact

TEXT = "Seizure, seizure and a cold."

lists = st.lists(st.integers(0, 9), unique=True, max_size=5)


@settings(deadline=None)
@given(st.lists(st.none() | lists, max_size=4))
def test_what_is_there_is_fused_with_what_is_found(kb: KnowledgeBase, there: list[list[int] | None]) -> None:
    def made(rows: list[int] | None) -> Candidates | None:
        return None if rows is None else Candidates(rows, np.linspace(1, 0.5, len(rows)), kb=kb.version)  # type: ignore[arg-type]

    mentions = tuple(Mention(0, 7, id=str(place), candidates=made(rows)) for place, rows in enumerate(there))
    doc = Document("d", TEXT, mentions=mentions, sentences=(), abbreviations=())
    exact = Exact(kb=kb)
    [found] = (Earlier(kb=kb) | exact)([doc])
    for before, after in zip(mentions, found.mentions or (), strict=True):
        own = before.candidates or Candidates.none(kb.version)
        names = ["earlier", "exact"]
        want = fused([own, exact._candidates("Seizure", None)], method="rank", constant=60.0, weights=None, names=names)
        assert after == replace(before, candidates=want)
    assert Earlier(kb=kb)([doc])[0].mentions == tuple(
        replace(one, candidates=one.candidates or Candidates.none(kb.version)) for one in mentions
    )


def test_earlier_candidates_keep_to_what_is_allowed(kb: KnowledgeBase) -> None:
    candidates = Candidates([-1, *range(len(kb))], np.linspace(1, 0, len(kb) + 1), kb=kb.version)  # type: ignore[arg-type]
    doc = Document("d", TEXT, mentions=(Mention(0, 7, candidates=candidates),))
    allow = Allow(types=("Disease",))
    [[found]] = Earlier(kb=kb).retrieve([doc], allow=allow)
    assert found.rows.tolist() == [-1, *np.flatnonzero(allow.mask(kb).array)]
    [[unbound]] = Earlier(kb=kb).retrieve([replace(doc, mentions=(Mention(0, 7, candidates=replace(found, kb="")),))])
    assert unbound == found
    other = replace(doc, mentions=(Mention(0, 7, candidates=replace(candidates, kb="other")),))
    with pytest.raises(PipelineError, match=f"candidates of knowledge base version other are not of {kb.version}"):
        Earlier(kb=kb).retrieve([other])
