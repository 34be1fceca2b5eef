"""The steps of ``linnet bench http``: many clients of one text each, strangers beside them, a server that is killed."""

from __future__ import annotations

import asyncio
import json
import socket
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linnet.bench.http_site import Bulk, Server, abstracts
from linnet.bench.kb import Gauge
from linnet.bench.serve_http import Client
from linnet.data import Document
from linnet.pipeline import Pipeline
from linnet.pipeline.remote import load_remote
from linnet.serve.linking import load_pipelines

__all__ = ["Plan", "Report", "measure_http"]

KEYS = {"polite": "polite-" + "k" * 16, "greedy": "greedy-" + "k" * 16}  # of a server that ends with the measurement
COST = 20.0  # % of the bulk pipeline's throughput that HTTP may cost
STUCK, GREEDY = 5, 4  # connections that send half a request, or one large request after the other
LARGE = 200  # documents of a greedy request
CHECKED = 200  # documents whose answers are compared


@dataclass(frozen=True)
class Plan:
    """What is measured: so many texts, of so many clients at once."""

    docs: int = 2_000
    clients: int = 100
    pipeline: str = "hpo"
    kbs: tuple[str, ...] = ()
    workers: int = 1
    repeats: int = 3
    data: Path | None = None


class Round(NamedTuple):
    """One run through all texts: seconds, those of each answer, and how often what status came."""

    seconds: float
    times: list[float]
    statuses: Counter[int]

    @property
    def rate(self) -> float:
        """Texts that were linked a second."""
        return self.statuses[200] / self.seconds


@dataclass
class Report:
    """All that was measured."""

    gauges: list[Gauge] = field(default_factory=list)
    errors: Counter[int] = field(default_factory=Counter)  # statuses other than 200


def measure_http(plan: Plan) -> Report:
    """Measure the server beside the bulk pipeline, in turn, then with strangers beside, then killed and started again.

    Raises:
        LinnetError: the server or the pipeline does not start.
    """
    docs, report = abstracts(plan.data, plan.docs), Report()
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        keys = Path(folder) / "keys"
        keys.write_text("".join(f"{name} {key}\n" for name, key in KEYS.items()))
        server = Server(plan.pipeline, plan.kbs, keys, workers=plan.workers)
        with server.running():
            report.gauges += _in_turn(plan, server, docs, report)
            with _strangers(server.port, docs):
                report.gauges += _times("beside a stuck and a greedy client: ", _ask_all(plan, server, docs, report))
            [local] = load_pipelines([plan.pipeline], plan.kbs).values()
            report.gauges += _killed(server, docs[:CHECKED], local)
    return report


def _in_turn(plan: Plan, server: Server, docs: Sequence[Document], report: Report) -> list[Gauge]:
    """Run both through all texts, in turn, several times: what else the machine does is the same for both."""
    bulk = Bulk(plan.pipeline, plan.kbs, data=plan.data, count=plan.docs, processes=plan.workers)
    try:
        _ask_all(plan, server, docs[: plan.clients], report)  # so that all processes are warm
        alone, asked, work = list[dict[str, float]](), list[Round](), list[float]()
        for _ in range(plan.repeats):
            alone.append(bulk.round())
            before = server.processor()
            asked.append(_ask_all(plan, server, docs, report))
            after = server.processor()
            work += [] if before is None or after is None else [(after - before) / len(docs)]
    finally:
        bulk.close()
    rates = {key: statistics.median(one[key] for one in alone) for key in alone[0]}
    http = statistics.median(one.rate for one in asked)
    shares = [one.rate / other["written"] for one, other in zip(asked, alone, strict=True)]
    strict = [one.rate / other["linked"] for one, other in zip(asked, alone, strict=True)]
    share = statistics.median(shares)
    gauges = [
        Gauge("bulk pipeline", rates["linked"], "texts/s"),
        Gauge("bulk pipeline, JSON Lines read and written", rates["written"], "texts/s"),
        Gauge(f"over HTTP, {plan.clients} requests at once", http, "texts/s"),
        Gauge("share of the bulk pipeline, read and written", 100 * share, "%"),
        Gauge("share of the bulk pipeline alone", 100 * statistics.median(strict), "%"),
        Gauge("what HTTP costs of the throughput", 100 * (1 - share), "%", COST),
    ]
    if work:
        spent = 1e3 * statistics.median(work)
        per_text = 1e3 * plan.workers / rates["written, processor"]
        gauges += [
            Gauge("processor time of a text, bulk, read and written", per_text, "ms"),
            Gauge("processor time of a text, over HTTP", spent, "ms"),
        ]
    return gauges + _times("fastest round: ", max(asked, key=lambda one: one.rate))


def _times(what: str, done: Round) -> list[Gauge]:
    p50, p95 = (1e3 * float(np.percentile(done.times, share)) for share in (50, 95))
    failed = done.statuses.total() - done.statuses[200]
    return [
        Gauge(f"{what}rate", done.rate, "texts/s"),
        Gauge(f"{what}p50", p50, "ms"),
        Gauge(f"{what}p95", p95, "ms"),
        Gauge(f"{what}requests that failed", failed, "", 0.0),
    ]


def _ask_all(plan: Plan, server: Server, docs: Sequence[Document], report: Report) -> Round:
    bodies = [json.dumps({"documents": [{"id": doc.id, "text": doc.text}]}).encode() for doc in docs]
    done = asyncio.run(_ask(server.port, bodies, plan.clients))
    report.errors.update({status: count for status, count in done.statuses.items() if status != 200})
    return done


async def _ask(port: int, bodies: Sequence[bytes], clients: int) -> Round:
    """Send all bodies, each client the next one as soon as it has its answer."""
    left, times, statuses = iter(bodies), list[float](), Counter[int]()

    async def client() -> None:
        connection = Client(port, KEYS["polite"], prefix="")
        for body in left:
            answer = await connection.ask("POST", "/link", body)
            times.append(answer.seconds)
            statuses[answer.status] += 1
        await connection.close()

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return Round(time.perf_counter() - started, times, statuses)


@contextmanager
def _strangers(port: int, docs: Sequence[Document]) -> Iterator[None]:
    """Keep connections that have sent half a request, and others that send one large request after the other."""
    large = json.dumps({"texts": [doc.text for doc in docs[:LARGE]]}).encode()
    head = f"POST /link HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEYS['greedy']}\r\n"
    half = f"{head}Content-Length: 1000\r\n\r\n".encode() + b'{"text": "Sei'
    stopping = threading.Event()

    async def greedy() -> None:
        connection = Client(port, KEYS["greedy"], prefix="")
        while not stopping.is_set():
            answer = await connection.ask("POST", "/link", large)
            if answer.status != 200:  # it is told to wait, and waits the least
                await asyncio.sleep(0.2)
        await connection.close()

    async def crowd() -> None:
        await asyncio.gather(*(greedy() for _ in range(GREEDY)))

    stuck = [socket.create_connection(("127.0.0.1", port)) for _ in range(STUCK)]
    for one in stuck:
        one.sendall(half)
    thread = threading.Thread(target=asyncio.run, args=(crowd(),))
    thread.start()
    try:
        time.sleep(0.5)
        yield
    finally:
        stopping.set()
        thread.join()
        for one in stuck:
            one.close()


def _killed(server: Server, docs: Sequence[Document], local: Pipeline) -> list[Gauge]:
    """Kill the server while clients link, start it again, and count answers that are lost, or that differ."""
    address, done, half = f"http://127.0.0.1:{server.port}", list[Document](), threading.Event()

    def link(doc: Document) -> Document:
        [linked] = remote([doc])
        done.append(linked)
        if len(done) > len(docs) // 2:
            half.set()
        return linked

    remote = load_remote(address, kb=local.kb, api_key=KEYS["polite"])
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(link, doc) for doc in docs]
        half.wait(60)
        server.kill()
        before = len(done)
        server.start()
        answers = [one.result() for one in asked]
    here = local(list(docs))
    return [
        Gauge("answers before the server was killed", before, ""),
        Gauge("answers lost", len(docs) - len(answers), "", 0.0),
        Gauge("answers that differ from those of the local pipeline", _differing(answers, here), "", 0.0),
    ]


def _differing(answers: Sequence[Document], here: Sequence[Document]) -> int:
    return sum(one != other for one, other in zip(answers, here, strict=True))
