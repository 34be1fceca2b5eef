"""The steps of ``linnet bench serve``."""

from __future__ import annotations

import asyncio
import itertools
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linnet.bench.kb import Gauge
from linnet.bench.queries import draw
from linnet.bench.serve_http import Client
from linnet.bench.serve_people import Desk, Log, annotate, listen, look_up
from linnet.bench.serve_site import Place, add_members, add_place, serving, stored
from linnet.bench.steps import fresh
from linnet.corpora.splits import split_documents
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.evaluate.meter import memory
from linnet.home import kb_path
from linnet.kb import KnowledgeBase
from linnet.recipes.config import open_kb, read_recipe

__all__ = ["Plan", "Report", "Times", "measure_retraining", "measure_serving"]

MESH = "bc5cdr/lexical"  # the recipe that says what MeSH joined with CTD is made of
TARGETS = {"decision": 200.0, "candidates": 100.0, "search": 50.0}  # ms, of the 95th percentile
LARGE = ("3.6 million concepts", 3_600_000, 80.0)
BUSY = 400.0  # ms, of anything while a training runs
SEED = 13
QUERIES = 200  # of each class
FRESH, OTHERS = 40, 100  # documents to learn from again, and to predict


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Args:
        annotators: how many there are.
        seconds: of the measurement without training, and of that with training.
        pause: mean seconds of thought before each act.
        documents: of each project.
        streams: whether each annotator keeps a stream of events open.
        large: whether a knowledge base of 3.6 million concepts is searched, too.
        recipe: what is trained meanwhile.
        data: the folder of corpora and terminologies.
    """

    annotators: int = 50
    seconds: float = 300.0
    pause: float = 2.0
    documents: int = 400
    streams: bool = True
    large: bool = False
    recipe: str = "own_lexical"
    data: Path | None = None


class Times(NamedTuple):
    """How long requests of one kind took, in ms; ``target`` is the most that the 95th percentile may be."""

    phase: str
    what: str
    requests: int
    p50: float
    p95: float
    max: float
    target: float | None

    @property
    def verdict(self) -> str:
        """``"OK"``, ``"slow"``, or ``""`` without a target."""
        return "" if self.target is None else "OK" if self.p95 <= self.target else "slow"


@dataclass
class Report:
    """All that was measured."""

    times: list[Times] = field(default_factory=list)
    gauges: list[Gauge] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)


def measure_serving(plan: Plan) -> Report:
    """Let simulated annotators work at a server of its own process, with a training and without, and look what is kept.

    Raises:
        LinnetError: the server does not start, or a job fails.
    """
    docs = _documents(plan.data, plan.documents)
    names = {"HPO": "hpo", "MeSH": _mesh(plan.data)}
    kbs = {kind: open_kb(name) for kind, name in names.items()}
    if plan.large:
        kbs[LARGE[0]] = _large()
    with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
        site = Path(folder)
        places: dict[str, Place] = {}
        for kind, name in names.items():
            members = add_members(site, 1 + plan.annotators // 2, kind)
            settings = {"annotators": 10, "untrained": "dictionary", "recipe": plan.recipe}
            places[kind] = add_place(site, kind, members, name, docs, **settings)
        with serving(site) as (port, process):
            report, acknowledged = asyncio.run(_phases(plan, places, kbs, port, process))
        found = stored(site, [place.project for place in places.values()])
    told, kept = sum(count for _, count in acknowledged), sum(found.events[id] for id, _ in acknowledged)
    lost = sum(max(0, count - found.events[id]) for id, count in acknowledged)
    report.gauges += [
        Gauge("decisions acknowledged", len(acknowledged), ""),
        Gauge("events acknowledged", told, ""),
        Gauge("stored of these after the server was killed", kept, ""),
        Gauge("lost updates", lost, "", 0.0),
        Gauge("stored more often than acknowledged", kept - told + lost, "", 0.0),
        Gauge("faults in the journals", len(found.problems), "", 0.0),
    ]
    return report


def _documents(data: Path | None, count: int) -> list[Document]:
    docs = [Document(doc.id, doc.text) for doc in split_documents("bc5cdr", split="dev", data=data)][:count]
    if len(docs) < count:
        raise LinnetError(f"BC5CDR's development set has {len(docs)} documents; ask for so many at most")
    return docs


def _mesh(data: Path | None) -> str:
    """Return the name of MeSH joined with CTD, 53,000 concepts, built if it is not there."""
    kb = read_recipe(MESH).open_kb(data=data)
    if kb is None:
        raise LinnetError(f"the recipe {MESH} names no knowledge base")
    return kb.path.stem


def _large() -> KnowledgeBase:
    path = kb_path(f"bench-{LARGE[1]}")
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh("build", path=str(path), concepts=LARGE[1], seed=SEED, quiet=False)
    return KnowledgeBase.open(path)


# --- phases ----------------------------------------------------------------------------------------------------------


async def _phases(
    plan: Plan, places: dict[str, Place], kbs: dict[str, KnowledgeBase], port: int, process: int
) -> tuple[Report, list[tuple[str, int]]]:
    report, acknowledged = Report(), list[tuple[str, int]]()
    for place in places.values():
        await _job(port, place, "predict", {})
    desks = _desks(plan, places, kbs, port)
    for kind in places:
        desk = next(desk for desk in desks if desk.kind == kind)
        await desk.select(1 if kind == "HPO" else plan.documents + 1, [(0, 8)])
        report.gauges.append(Gauge(f"first candidates of {kind}, all read", desk.log.seconds.popitem()[1][0], "s"))
    with_memory: list[Any] = []
    async with _watched(process, with_memory), _listening(plan, desks):
        log = await _work(desks, plan.seconds)
        _add(report, "annotating", log, TARGETS)
        acknowledged += log.acknowledged
        running: list[tuple[float, float]] = []
        teacher = asyncio.create_task(_train_on(port, places["MeSH"], plan.recipe, running))
        log = await _work(desks, plan.seconds)
        await _ended([teacher])
        _add(report, "with a training", log, dict.fromkeys(TARGETS, BUSY))
        acknowledged += log.acknowledged
        trained = sum(min(end, time.monotonic()) - begun for begun, end in running)
        report.gauges += [
            Gauge("trainings and their predictions meanwhile", len(running), ""),
            Gauge("share of that time", min(1.0, trained / plan.seconds), ""),
        ]
        if plan.large:
            log = await _look_up(desks, kbs[LARGE[0]], min(plan.seconds, 60.0))
            _add(report, "searching", log, {"search": LARGE[2]})
    for desk in desks:
        await desk.client.close()
    report.gauges += (
        [
            Gauge("server: most memory of its own", max(one.anonymous for one in with_memory) / 2**20, "MiB"),
            Gauge("server: most of mapped files", max(one.mapped for one in with_memory) / 2**20, "MiB"),
        ]
        if with_memory
        else []
    )
    return report, acknowledged


def _desks(plan: Plan, places: dict[str, Place], kbs: dict[str, KnowledgeBase], port: int) -> list[Desk]:
    made = []
    for kind, place in places.items():
        typed = _typed(kbs[kind])
        for number, member in enumerate(place.members):
            rng = random.Random(f"{kind} {number}")  # noqa: S311 - no secret
            client, version = Client(port, member.token), kbs[kind].version
            made.append(Desk(client, place.project, version, kind, typed, plan.pause, rng, Log()))
    return made


def _typed(kb: KnowledgeBase) -> list[str]:
    """Return what is typed: of all classes that ``linnet bench kb`` measures."""
    classes = draw(kb, QUERIES, seed=SEED)
    return [text for texts in zip(*classes.values(), strict=False) for text, _ in texts]


async def _work(desks: Sequence[Desk], seconds: float) -> Log:
    """Let all work for a while and return what they met."""
    log = Log()
    for desk in desks:
        desk.log = log
    until = time.monotonic() + seconds
    await asyncio.gather(*(annotate(desk, until) for desk in desks))
    return log


async def _look_up(desks: Sequence[Desk], kb: KnowledgeBase, seconds: float) -> Log:
    log, typed, until = Log(), _typed(kb), time.monotonic() + seconds
    searching = [replace(desk, kb=kb.version, kind=LARGE[0], queries=typed, log=log) for desk in desks]
    await asyncio.gather(*(look_up(desk, until) for desk in searching))
    return log


def _add(report: Report, phase: str, log: Log, targets: dict[str, float]) -> None:
    for what, seconds in sorted(log.seconds.items()):
        ms = np.array(seconds) * 1000
        target = next((most for kind, most in targets.items() if what.startswith(kind)), None)
        p50, p95 = np.percentile(ms, (50, 95))
        report.times.append(Times(phase, what, len(ms), float(p50), float(p95), float(ms.max()), target))
    for said, count in log.errors.items():
        report.errors[f"{phase}: {said}"] = count


@asynccontextmanager
async def _listening(plan: Plan, desks: Sequence[Desk]) -> AsyncIterator[None]:
    """Keep a stream open for each annotator."""
    apart = [replace(desk, client=Client(desk.client.port, desk.client.token)) for desk in desks]
    tasks = [asyncio.create_task(listen(desk)) for desk in apart if plan.streams]
    try:
        yield
    finally:
        await _ended(tasks)


@asynccontextmanager
async def _watched(process: int, seen: list[Any]) -> AsyncIterator[None]:
    """Look at the memory of a process twice a second."""

    async def look() -> None:
        while (found := memory(process)) is not None:
            seen.append(found)
            await asyncio.sleep(0.5)

    task = asyncio.create_task(look())
    try:
        yield
    finally:
        await _ended([task])


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# --- jobs ------------------------------------------------------------------------------------------------------------


async def _job(port: int, place: Place, kind: str, args: dict[str, Any]) -> dict[str, Any]:
    """Ask for a job and wait until it is over.

    Raises:
        LinnetError: it failed.
    """
    client = Client(port, place.admin.token)
    asked = await client.ask("POST", f"/projects/{place.project}/jobs", {"kind": kind, "args": args})
    if asked.status != 202:
        raise LinnetError(f"a job of the kind {kind} was refused: {asked.body}")
    try:
        return await _over(client, asked.body["id"])
    finally:
        await client.close()


async def _over(client: Client, id: int) -> dict[str, Any]:
    while True:
        job: dict[str, Any] = (await client.ask("GET", f"/jobs/{id}")).body
        if job["state"] == "succeeded":
            return job
        if job["state"] in ("failed", "cancelled"):
            raise LinnetError(f"job {id}, {job['kind']}, has {job['state']}: {job['log_tail']}")
        await asyncio.sleep(0.2)


async def _train_on(port: int, place: Place, recipe: str, running: list[tuple[float, float]]) -> None:
    """Train one model after the other, and have each predict; note when."""
    for _ in itertools.count():
        begun = time.monotonic()
        running.append((begun, float("inf")))
        try:
            await _train(port, place, recipe)
        finally:  # no longer than that if it has failed, or the time is over
            running[-1] = (begun, time.monotonic())


async def _train(port: int, place: Place, recipe: str) -> tuple[float, float]:
    """Train a model and have it predict; return the seconds of both."""
    started = time.perf_counter()
    job = await _job(port, place, "train", {"recipe": recipe})
    trained = time.perf_counter()
    if job["result"]["predict"] is not None:
        client = Client(port, place.admin.token)
        try:
            await _over(client, job["result"]["predict"])
        finally:
            await client.close()
    return trained - started, time.perf_counter() - trained


def measure_retraining(plan: Plan, recipes: Sequence[str], say: Callable[[str], object]) -> list[Gauge]:
    """Return how long it takes to learn from 40 documents that were annotated, and to predict 100 others.

    Raises:
        LinnetError: the server does not start, or a job fails.
    """
    gold = [doc for doc in split_documents("bc5cdr", split="train", data=plan.data) if doc.mentions][:FRESH]
    bare = _documents(plan.data, OTHERS)
    gauges: list[Gauge] = []
    for recipe in recipes:
        say(recipe)
        with tempfile.TemporaryDirectory(prefix="linnet-bench-") as folder:
            site = Path(folder)
            place = add_place(site, "retrain", add_members(site, 1, "lead"), _mesh(plan.data), [*gold, *bare])
            with serving(site) as (port, _):
                fit, predicted = asyncio.run(_train(port, place, recipe))
        target = 60.0 if recipe == plan.recipe else None
        gauges += [
            Gauge(f"{recipe}: learns from {len(gold)} documents", fit, "s"),
            Gauge(f"{recipe}: predicts {len(bare)} others", predicted, "s"),
            Gauge(f"{recipe}: both", fit + predicted, "s", target),
        ]
    return gauges
