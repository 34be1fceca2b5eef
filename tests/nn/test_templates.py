"""Mentions and names as tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.nn.encoder import Encoder
from linnet.text.contexts import InContext
from linnet.text.templates import MARKERS, Templates, windowed


@pytest.fixture(scope="module")
def marked(tiny: Path) -> Encoder:
    return Encoder.load(tiny, markers=MARKERS)


def shown(encoder: Encoder, ids: tuple[int, ...]) -> str:
    return str(encoder.tokenizer.decode(list(ids)))


def test_templates_are_those_of_the_paper(marked: Encoder) -> None:
    [mention], cut = Templates().mentions([InContext("short ", "cleft palate", " and seizure")], marked)
    assert shown(marked, mention.ids) == "[CLS] short [MS] cleft palate [ME] and seizure [SEP]"
    assert shown(marked, mention.ids[slice(*mention.span)]) == "cleft palate"
    assert cut == 0
    [name], cut = Templates().names(["cleft palate"], marked, ["heart of palate"])
    assert cut == 0
    assert shown(marked, name.ids) == "[CLS] cleft palate [ENT] heart of palate [SEP]"
    assert shown(marked, name.ids[slice(*name.span)]) == "cleft palate"
    [plain], _ = Templates(markers=False).mentions([InContext("short ", "palate", "")], marked)
    assert shown(marked, plain.ids) == "[CLS] short palate [SEP]"


@pytest.mark.parametrize("tokens", [8, 9, 20, 50])
def test_the_context_is_centred_and_the_window_kept(marked: Encoder, tokens: int) -> None:
    left, right = "heart attack and " * 30, " of renal cyst" * 30
    [text], _ = Templates(tokens=tokens).mentions([InContext(left, "cleft palate", right)], marked)
    assert len(text.ids) == tokens
    before, after = text.span[0] - 2, tokens - text.span[1] - 2
    assert abs(before - after) <= 1
    [text], _ = Templates(tokens=tokens).mentions([InContext("", "cleft palate", right)], marked)
    assert (text.span, len(text.ids)) == ((2, 4), tokens)


def test_no_token_of_a_context_is_lost_that_fits() -> None:
    for left in range(6):
        for right in range(6):
            for room in range(12):
                before, after = windowed(list(range(left)), list(range(100, 100 + right)), room)
                assert len(before) + len(after) == min(room, left + right)
                assert before == list(range(left))[left - len(before) :]
                assert after == list(range(100, 100 + right))[: len(after)]
