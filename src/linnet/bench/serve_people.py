"""Simulated annotators of ``linnet bench serve``: they read, decide, search and select as people do, only faster."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from linnet.bench.serve_http import Answer, Client

__all__ = ["Desk", "Log", "annotate", "listen", "look_up"]

WORD = re.compile(r"\w{4,}")
ACCEPT, REJECT, SEARCH = 0.55, 0.65, 0.85  # up to these: what becomes of a prediction; above, a new mention is made
SHOWN = 20  # hits that a picker asks for
DRAWN = 10  # documents that somebody takes at a time
LATEST = 0.1  # of the time, by which all have begun: not all at once


@dataclass
class Log:
    """What all annotators met: seconds by kind of request, answers that were errors, and what was acknowledged."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    acknowledged: list[tuple[str, int]] = field(default_factory=list)  # ids of commands, and how many events they made
    messages: int = 0  # of streams

    def note(self, kind: str, answer: Answer) -> Any:
        """Note an answer and return its body."""
        self.seconds[kind].append(answer.seconds)
        if answer.status >= 400:
            self.errors[f"{kind}: {answer.status} {answer.body.get('type', '')} {answer.body.get('detail', '')}"] += 1
        return answer.body if answer.status < 400 else {}


@dataclass
class Desk:
    """Where one annotator sits.

    Args:
        client: their connection.
        project: the number of the project.
        kb: the version of its knowledge base.
        kind: what measurements of this knowledge base are called.
        queries: what they type when they search.
        pause: mean seconds of thought before each act.
        rng: their own chance.
        log: that of all.
    """

    client: Client
    project: int
    kb: str
    kind: str
    queries: Sequence[str]
    pause: float
    rng: random.Random
    log: Log
    made: int = 0

    async def ask(self, what: str, method: str, path: str, body: Any = None) -> Any:
        """Send a request, note how long it took, and return what came back."""
        return self.log.note(what, await self.client.ask(method, path, body))

    async def think(self) -> None:
        """Let some time pass, often little and sometimes much."""
        await asyncio.sleep(self.rng.expovariate(1 / self.pause) if self.pause else 0)

    async def search(self) -> list[str]:
        """Type something into the picker and return the concepts found."""
        asked = urlencode({"q": self.rng.choice(self.queries), "limit": SHOWN})
        found = await self.ask(f"search in {self.kind}", "GET", f"/kb/{self.kb}/search?{asked}")
        return [hit["id"] for hit in found.get("hits", ())]

    async def select(self, document: int, parts: list[tuple[int, int]]) -> list[str]:
        """Select a span and return the concepts that are offered."""
        asked = {"document": document, "parts": parts}
        path = f"/projects/{self.project}/candidates"
        found = await self.ask(f"candidates of {self.kind}", "POST", path, asked)
        return [one["id"] for one in found.get("candidates", ()) if one["id"]]

    async def decide(self, stream: int, seq: int, op: str, **fields: Any) -> int:
        """Give a command and return the number of the last event."""
        self.made += 1
        id = f"{self.client.token[-12:]}.{self.made}"
        body = {"commands": [{"id": id, "op": op, "ms": int(self.pause * 1000), **fields}]}
        sent = await self.client.ask("POST", f"/assignments/{stream}/commands", body, headers={"If-Match": f'"{seq}"'})
        answer = self.log.note("decision", sent)
        if sent.status == 200:
            self.log.acknowledged.append((id, len(answer["mentions"])))
        return int(answer.get("seq", seq))


async def annotate(desk: Desk, until: float) -> None:
    """Work through one document after the other until a time of ``time.monotonic``, or until the server is gone."""
    await asyncio.sleep(desk.rng.uniform(0, LATEST * max(0.0, until - time.monotonic())))
    with suppress(OSError, asyncio.IncompleteReadError):
        while time.monotonic() < until:
            drawn = await desk.ask("sample", "POST", f"/projects/{desk.project}/samples", {"n": DRAWN})
            for stream in drawn.get("assignments", ()):
                if time.monotonic() < until:
                    await _read(desk, stream, until)
            if not drawn.get("assignments"):
                await desk.think()


async def _read(desk: Desk, stream: int, until: float) -> None:
    work = await desk.ask("open a document", "GET", f"/assignments/{stream}")
    doc = await desk.ask("text of it", "GET", f"/projects/{desk.project}/documents/{work['document']}")
    seq, words = work["seq"], [found.span() for found in WORD.finditer(doc["text"])]
    for key in work["open"]:
        await desk.think()
        if time.monotonic() >= until:
            return
        seq = await _act(desk, work, key, words, seq)
    await desk.decide(stream, seq, "done")


async def _act(desk: Desk, work: Any, key: str, words: Sequence[tuple[int, int]], seq: int) -> int:
    """Decide on a prediction, or make a mention of words elsewhere, and return the number of the last event."""
    chance, stream, seen = desk.rng.random(), work["id"], {"kb": desk.kb, "seen": {"run": work["run"]}}
    if chance < ACCEPT:
        return await desk.decide(stream, seq, "accept", mention=key, **seen)
    if chance < REJECT:
        return await desk.decide(stream, seq, "reject", mention=key, **seen)
    if chance < SEARCH or not words:
        found = (await desk.search())[:1]
        return await desk.decide(stream, seq, "link", mention=key, concepts=found, **seen)
    first = desk.rng.randrange(len(words))
    span = (words[first][0], words[min(first + desk.rng.randrange(3), len(words) - 1)][1])
    found = (await desk.select(work["document"], [span]))[:1]
    return await desk.decide(stream, seq, "create", parts=[span], concepts=found, kb=desk.kb)


async def listen(desk: Desk) -> None:
    """Keep a stream of events open, as each browser does, and count what it tells."""
    try:
        with suppress(OSError, asyncio.IncompleteReadError):
            async for line in desk.client.lines(f"/projects/{desk.project}/stream"):
                desk.log.messages += line.startswith(b"event:")
    finally:
        await desk.client.close()


async def look_up(desk: Desk, until: float) -> None:
    """Search one thing after the other until a time of ``time.monotonic``."""
    while time.monotonic() < until:
        await desk.think()
        await desk.search()
