"""What waits: turns of clients, sizes of batches, conditions that are not mixed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from linnet.data import Document
from linnet.pipeline import Allow
from linnet.serve.jobs import Job
from linnet.serve.queue import Full, Waiting
from linnet.serve.settings import Settings


def made(client: str, *texts: str, allow: Allow | None = None) -> Job:
    async def make() -> Job:
        return Job([Document.of(text) for text in texts], client, allow)

    return asyncio.run(make())


def queue(*jobs: Job, **limits: int) -> Waiting:
    waiting = Waiting(Settings(**limits), coming=lambda: False)
    assert all(waiting.put(job) for job in jobs)
    return waiting


def texts(batch: Sequence[object]) -> list[str]:
    return [item.doc.text for item in batch]  # type: ignore[attr-defined]


def test_nobody_waits_for_a_greedy_one() -> None:
    waiting = queue(made("greedy", *"abcdef"), made("one", "1"), made("two", "2"), batch=4)
    assert texts(waiting.take()) == ["a", "1", "2", "b"]
    assert texts(waiting.take()) == list("cdef")
    assert (waiting.documents, waiting.characters) == (0, 0)


def test_batches_are_neither_long_nor_mixed() -> None:
    under = Allow(under=("X:1",))
    waiting = queue(made("a", "x" * 9, "y" * 9), made("b", "z"), made("c", "u", allow=under), batch_text=10)
    assert texts(waiting.take()) == ["x" * 9, "z"]
    assert texts(waiting.take()) == ["u"]
    assert texts(waiting.take()) == ["y" * 9]
    waiting = queue(made("a", "x" * 99), batch_text=10)
    assert texts(waiting.take()) == ["x" * 99]


def test_who_was_passed_over_is_next() -> None:
    under = Allow(under=("X:1",))
    waiting = queue(made("a", *"aaaaaa"), made("other", "u", "u", allow=under), made("b", *"bbbbbb"), batch=2)
    assert [texts(waiting.take()) for _ in range(4)] == [["a", "b"], ["u", "u"], ["a", "b"], ["a", "b"]]
    waiting = queue(made("a", *"aaaaaa"), made("long", "x" * 9), made("b", *"bbbbbb"), batch=2, batch_text=9)
    assert [texts(waiting.take()) for _ in range(3)] == [["a", "b"], ["x" * 9], ["a", "b"]]


def test_what_nobody_waits_for_is_not_linked() -> None:
    gone = made("a", "x", "y")
    gone.abandoned = True
    waiting = queue(gone, made("a", "z"))
    assert texts(waiting.take()) == ["z"]


def test_what_is_full_and_what_is_closed() -> None:
    waiting = queue(made("a", "x" * 200), waiting=100)  # more than there is room for: alone it is taken
    with pytest.raises(Full, match="the queue is full"):
        waiting.put(made("b", "y"))
    waiting = queue(made("a", "x" * 40), waiting=100)
    with pytest.raises(Full, match="the client's share"):
        waiting.put(made("a", "x" * 20))
    waiting.close()
    assert not waiting.put(made("b", "y"))
    assert texts(waiting.take()) == ["x" * 40]
    assert waiting.take() == []
