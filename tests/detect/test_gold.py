from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from linnet.data import Candidates, Document, Mention, Span
from linnet.detect.gold import Gold
from linnet.errors import LeakError, PipelineError
from linnet.fit.fitting import CrossFitted
from linnet.pipeline import Pipeline, Sentences
from linnet.pipeline.component import blind
from linnet.recipes.linking import hide_gold

TEXT = "short fingers and toes"


def test_spans_pass() -> None:
    mentions = (
        Mention(0, 13, id="T1", source="gold"),
        Mention(0, 22, parts=(Span(0, 5), Span(18, 22)), id="T2"),
        Mention(0, 13, id="T1b"),  # a second annotation of the same stretch
        Mention(6, 13, id="T2"),  # an id that stands twice in the source
    )
    doc = Document("d", TEXT, mentions=mentions)
    [out] = Gold()([doc])
    assert out.mentions is not None
    assert set(map(repr, out.mentions)) == {repr(mentions[0]), repr(mentions[1]), repr(mentions[3])}
    [blind] = Gold()([doc.spans_only()])
    assert blind.mentions is not None
    assert sorted((m.spans, m.id) for m in blind.mentions) == sorted((m.spans, m.id) for m in mentions)


def test_mentions_without_ids_get_one() -> None:
    [doc] = Gold()([Document("d", TEXT, mentions=(Mention(0, 5),))])
    assert doc.mentions is not None
    assert doc.mentions[0].id


@pytest.mark.parametrize(
    ("leak", "message"),
    [
        ({"concepts": ("X:1",)}, "gold concepts must not"),
        ({"concepts": ()}, "gold concepts must not"),
        ({"candidates": Candidates.none()}, "gold candidates must"),
        ({"alternatives": (("X:1",),)}, "gold alternatives must"),
        ({"types": ("A",)}, "gold types must"),
        ({"types": ("A",), "concepts": ("X:1",)}, "gold concepts, types must"),
    ],
)
def test_answers_are_refused(leak: dict[str, Any], message: str) -> None:
    docs = [Document("e", "x"), Document("d", TEXT, mentions=(Mention(0, 5), Mention(6, 13, **leak)))]
    with pytest.raises(LeakError, match=f"document 'd', mention 6-13: {message}"):
        Gold()([docs[1]])
    assert Gold()([docs[1].spans_only()])


def test_types_pass_when_asked_for() -> None:
    doc = Document("d", TEXT, mentions=(Mention(0, 5, types=("A",)),))
    [out] = Gold(types=True)([doc])
    assert out.mentions is not None
    assert out.mentions[0].types == ("A",)
    with pytest.raises(LeakError, match="concepts"):
        Gold(types=True)([Document("d", TEXT, mentions=(Mention(0, 5, concepts=()),))])


def test_documents_need_mentions() -> None:
    with pytest.raises(PipelineError, match="Gold needs mentions, document 'd' has none"):
        Gold()([Document("d", TEXT)])


TYPED = Document("d", TEXT, mentions=(Mention(0, 5, types=("A",), source="gold", concepts=("X:1",)),), meta={"a": 1})


@pytest.mark.parametrize(
    ("linker", "seen"),
    [
        (Pipeline(Sentences()), None),
        (Pipeline(Gold()), (Mention(0, 5),)),
        (Pipeline(Sentences(), Gold(types=True)), (Mention(0, 5, types=("A",)),)),
    ],
    ids=["text", "spans", "spans and types"],
)
def test_whoever_hides_gold_shows_the_same(linker: Pipeline, seen: tuple[Mention, ...] | None) -> None:
    [shown] = blind([TYPED], linker)
    assert (shown.mentions, shown.meta) == (seen, {})
    assert blind([TYPED], CrossFitted(linker, lambda: [linker], {})) == [shown]
    [linked] = hide_gold([TYPED], linker)
    assert replace(linked, mentions=linked.mentions or None) == shown
