"""``linnet bench collective`` on a corpus of a few lines."""

from __future__ import annotations

from pathlib import Path

from linnet.bench.collective_steps import Row, draw
from linnet.data import Document, Mention


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    rows = [
        Row(what, f"1 of {n} mentions", n, speed * n, 9.0) for what, speed in (("a", 30), ("b", 2)) for n in (1, 20)
    ]
    draw(tmp_path / "speed.svg", rows)
    drawn = (tmp_path / "speed.svg").read_text()
    assert drawn.count("<polyline") == 2


def test_documents_are_joined_with_their_mentions() -> None:
    from linnet.bench.collective_steps import _with_length, _with_mentions

    doc = Document("a", "fever and cough", mentions=(Mention(0, 5), Mention(10, 15)))
    joined = _with_mentions([doc], 5)
    assert [joined.surface(mention) for mention in joined.mentions or ()] == [
        "fever",
        "cough",
        "fever",
        "cough",
        "fever",
    ]
    assert len(_with_length([doc], 1000).text) >= 1000
