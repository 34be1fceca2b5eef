"""One curve of ``linnet bench active``: a workbench, somebody who annotates in it, and a model after each round.

All is done by the code of the workbench: documents are drawn by `linnet.annotate.drawing`, decided on by commands, and
jobs of a worker train and predict. A curve that was interrupted goes on with the round that it was in.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from linnet.annotate.assignments import read
from linnet.annotate.documents import add_documents
from linnet.annotate.drawing import draw_documents, predicted_documents
from linnet.annotate.errors_left import count_errors
from linnet.annotate.jobs import enqueue
from linnet.annotate.journal import last_number
from linnet.annotate.models import RECIPES, load_model, model_row, project_row
from linnet.annotate.outlook import outlook
from linnet.annotate.people import add_project, add_user
from linnet.annotate.sampling import DEFAULT, RANDOM
from linnet.annotate.store import FILE, Store, open_store
from linnet.annotate.tables import assignment, document, event, job, mention_now, model, project, round_, user
from linnet.annotate.worker import Worker
from linnet.bench.active_reader import Habits, Reader, right_mentions
from linnet.bench.active_table import FULL, Point, read_points
from linnet.corpora.splits import has_split, split, split_documents
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.evaluate import Options, evaluate
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import blind
from linnet.recipes.config import load, read_recipe, recipes
from linnet.text.files import replacing

__all__ = ["Setting", "Simulation"]

SIZES = (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 500)  # documents that have been read when a model is trained
SETTING = "setting.json"  # what a curve is of
GAIN = 0.01  # in the score, that an hour of work is worth
HALF, TWO = 0.5, 2
LONGEST = 500  # characters of a failed job's log that are shown
MINUTE = 60_000.0  # milliseconds

T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    Args:
        source: a recipe that names a corpus and a knowledge base.
        trained: the recipe that models are trained by; where its mentions are given, linking alone is simulated.
        strategy: how documents are drawn; ``full`` reads all at once.
        seed: of the strategy, and of what the reader overlooks.
        most: documents that are read at most.
        untrained: the recipe that predicts until there is a model.
        habits: how the reader works.
        data: the folder of the corpora.
    """

    source: str
    trained: str
    strategy: str
    seed: int
    most: int
    untrained: str = "dictionary"
    habits: Habits = field(default_factory=Habits)
    data: Path | None = None


@dataclass
class Simulation:
    """One curve.

    Args:
        setting: what is simulated.
        folder: where its points are kept (``points.jsonl``) with what they are of, and the workbench until it is done.
    """

    setting: Setting
    folder: Path

    @property
    def path(self) -> Path:
        """The file of the points."""
        return self.folder / "points.jsonl"

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base of the recipe."""
        found = read_recipe(self.setting.source).open_kb(data=self.setting.data)
        if found is None:
            raise LinnetError(f"{self.setting.source}: kb: missing; name a knowledge base")
        return found

    @cached_property
    def parts(self) -> tuple[list[Document], list[Document]]:
        """The documents to read, and those that models are measured on."""
        name = read_recipe(self.setting.source).corpus
        dev = list(split_documents(name, split="dev", data=self.setting.data))
        if has_split(name, "train"):
            return list(split_documents(name, split="train", data=self.setting.data)), dev
        halves = split(dev, {"pool": HALF, "test": HALF})
        return halves["pool"], halves["test"]

    @cached_property
    def given(self) -> bool:
        """Whether mentions are given, so that linking alone is simulated."""
        return any(part.get("use") == "gold" for part in read_recipe(self.setting.trained).pipeline)

    @property
    def sizes(self) -> list[int]:
        """How many documents have been read at the end of each round."""
        all_of_it = len(self.parts[0])
        if self.setting.strategy == FULL:
            return [all_of_it]
        most = min(self.setting.most, all_of_it)
        return [*([] if self.given else [0]), *(size for size in SIZES if size < most), most]

    def run(self) -> Generator[Point]:
        """Yield the points that are not there yet; a curve that is to become longer begins anew."""
        self._check_setting()
        points = read_points(self.path)
        done = {point.documents for point in points}
        left = [size for size in self.sizes if size not in done]
        if done and left and max(left) > max(done) and not (self.folder / FILE).exists():
            points, left = [], self.sizes
        if not left:
            return
        store = open_store(self.folder)
        try:
            bench = _Bench(self, store)
            for size in left:
                points.append(bench.round(size))
                with replacing(self.path) as stream:  # whole, so that a kill leaves no half of a line
                    stream.writelines(json.dumps(asdict(point)) + "\n" for point in points)
                yield points[-1]
        finally:
            store.close()
        self._tidy()

    def _check_setting(self) -> None:
        """Note what is simulated, and refuse to go on with a curve of something else.

        Raises:
            LinnetError: the folder holds the curve of another setting, or of another version of the knowledge base.
        """
        kept = {key: value for key, value in asdict(self.setting).items() if key not in ("data", "most")}
        text = json.dumps({**kept, "kb": self.kb.version}, indent=1)
        path = self.folder / SETTING
        if path.is_file() and path.read_text(encoding="utf-8") != text:
            raise LinnetError(f"{self.folder} holds a curve that was made otherwise ({SETTING}): take another --output")
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _tidy(self) -> None:
        """Remove all but the points and what they are of."""
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in (self.path.name, SETTING):
                path.unlink()


class _Bench:
    """A workbench with one project, one reader and one worker."""

    def __init__(self, simulation: Simulation, store: Store) -> None:
        self.setting, self.given, self.kb = simulation.setting, simulation.given, simulation.kb
        self.store, self.data = store, simulation.folder
        self.pool, self.test = simulation.parts
        self.recipe = _own_recipe(self.setting.trained, self.data)
        self.worker = Worker(store, self.data)
        self.project, self.user = self._begin()
        gold = {doc.id: doc for doc in self.pool}
        self.reader = Reader(store, self.user, gold, self.kb, self.setting.habits, self.setting.seed)
        self.seconds: dict[str, float] = {}

    def _begin(self) -> tuple[int, int]:
        """Return the numbers of the project and its reader, which are made if need be."""
        with self.store.write() as db:
            there = db.scalar(sa.select(project.c.id))
            if there is not None:
                return int(there), int(db.scalar(sa.select(user.c.id)) or 0)
            who = add_user(db, "reader", admin=True)
            settings = {"untrained": self.setting.untrained, "recipe": self.recipe}
            made = add_project(db, "simulated", who, kb=str(self.kb.path), settings=settings)
            add_documents(db, made, who, [self._uploaded(doc) for doc in self.pool])
            if not self.given:
                enqueue(db, made, "predict", user=who)
            return made, who

    def _uploaded(self, doc: Document) -> Document:
        """Return a document as it is uploaded: without mentions, or with those that are given and not linked."""
        if not self.given:
            return replace(doc, mentions=None, reviewed=None)
        return replace(
            doc, mentions=tuple(replace(one, concepts=None, alternatives=()) for one in right_mentions(doc, self.kb))
        )

    def round(self, size: int) -> Point:
        """Read until so many documents are done, train, predict, and measure."""
        self.seconds = {}
        self._work("predict")  # before there is a model
        if size:
            self._timed("draw", lambda: self._draw(size))
            self._timed("read", self._read)
            self._order_training()
            self._work("train")
            self._work("predict")
        score = self._timed("measure", self._measure)
        return self._point(*score)

    def _order_training(self) -> None:
        with self.store.write() as db:
            if db.scalar(sa.select(model.c.id).where(model.c.data_to_event == last_number(db))) is None:
                enqueue(db, self.project, "train", {"recipe": self.recipe, "use": True}, user=self.user)

    def _timed(self, what: str, run: Callable[[], T]) -> T:
        began = time.perf_counter()
        try:
            return run()
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - began

    def _work(self, kind: str) -> None:
        """Do the jobs of a kind that wait; one that fails, or waits to be tried again, ends the command."""
        worker = Worker(self.store, self.data, kinds=(kind,))
        while self._timed(kind, worker.work):
            pass
        with self.store.read() as db:
            last = db.execute(sa.select(job).where(job.c.kind == kind).order_by(job.c.id.desc())).mappings().first()
        if last is not None and last["state"] != "succeeded":
            raise LinnetError(f"{self.data}: job {last['id']}, {kind}, {last['state']}: {last['log_tail'][-LONGEST:]}")

    def _draw(self, size: int) -> None:
        with self.store.read() as db:
            there = int(db.scalar(sa.select(sa.func.count()).select_from(assignment)) or 0)
            models = int(db.scalar(sa.select(sa.func.count()).select_from(model)) or 0)
        if there >= size:  # of an attempt before
            return
        strategy = RANDOM if self.setting.strategy == FULL else self.setting.strategy
        seed = 1000 * self.setting.seed + there
        if strategy == "version_disagreement" and models < TWO:  # which it compares
            strategy = DEFAULT
        draw_documents(self.store, self.project, self.user, size - there, strategy=strategy, seed=seed)

    def _read(self) -> None:
        with self.store.read() as db:
            waiting = db.scalars(sa.select(assignment.c.id).where(assignment.c.state != "done")).all()
        for stream in waiting:
            self.reader.annotate(stream)

    def _measure(self) -> tuple[float, bool]:
        """Return the score on the test documents of the model in use, and whether there is one."""
        with self.store.read() as db:
            row = project_row(db, self.project)
            used = model_row(db, self.project, row["model"]) if row["model"] else None
        if used is None and self.given:
            return 0.0, False
        pipeline = load_model(used, self.data, self.kb) if used else load(self.setting.untrained, kb=self.kb)
        found = list(pipeline.stream(blind(self.test, pipeline)))
        report = evaluate(self.test, found, kb=self.kb, options=Options(samples=0, classify=False))
        return float(report[self.measure].value or 0.0), used is not None

    @property
    def measure(self) -> str:
        """What is measured: exact span and concept, or the first concept of given mentions."""
        return "all.accuracy@1" if self.given else "strict.f1"

    def _point(self, score: float, trained: bool) -> Point:
        with self.store.read() as db:
            seen = outlook(db, self.project, self.user, gain=GAIN)
            documents = int(db.scalar(sa.select(sa.func.count()).where(assignment.c.state == "done")) or 0)
            labels = int(db.scalar(sa.select(sa.func.count()).select_from(mention_now)) or 0)
            minutes = float(db.scalar(sa.select(sa.func.sum(event.c.ms))) or 0) / MINUTE
            errors = None
            if seen.left is not None and seen.unread:
                errors = (self._errors_left(db), seen.left.value, seen.left.low, seen.left.high)
            anchoring = self._anchoring(db)
            drawn = str(db.scalar(sa.select(round_.c.strategy).order_by(round_.c.id.desc()).limit(1)) or "")
        signals = {one.name: (one.value, one.reached) for one in seen.signals}
        told = (self.measure, trained, errors, signals, self.seconds, anchoring, drawn)
        return Point(documents, labels, minutes, score, *told)

    def _errors_left(self, db: sa.Connection) -> float:
        """Return how many errors the run of the last round really leaves in documents that nobody has read."""
        used = db.scalar(sa.select(round_.c.run).order_by(round_.c.id.desc()).limit(1))
        rows = db.execute(sa.select(document.c.id, document.c.ext_id, document.c.text, document.c.meta)).mappings()
        read_ones = set(db.scalars(sa.select(assignment.c.document)))
        unread = {row["id"]: dict(row) for row in rows if row["id"] not in read_ones}
        found = predicted_documents(db, used, unread, brief=True)
        return float(sum(self._errors(unread[id], one) for id, one in found.items()))

    def _errors(self, row: Mapping[str, Any], found: Document) -> int:
        doc = self.reader.gold[row["ext_id"]]
        right = tuple(replace(one, source="user") for one in right_mentions(doc, self.kb))
        return count_errors(replace(doc, mentions=right), found)

    def _anchoring(self, db: sa.Connection) -> tuple[int, int, int, int]:
        """Return how many mentions were right and how many of them were found, without suggestions and with them."""
        counts = [0, 0, 0, 0]
        for row in db.execute(sa.select(assignment.c.id, assignment.c.suggestions)).all():
            reading = read(db, row.id, (), brief=True)
            standing = {mark.parts for mark in reading.mentions().values()}
            right = {one.spans for one in right_mentions(self.reader.gold[reading.document["ext_id"]], self.kb)}
            counts[2 * row.suggestions] += len(right)
            counts[2 * row.suggestions + 1] += len(right & standing)
        return counts[0], counts[1], counts[2], counts[3]


def _own_recipe(source: str, data: Path) -> str:
    """Return the name by which jobs know a recipe: a file of one's own is copied to where they look for it."""
    if source in recipes():
        return source
    path = Path(source)
    (data / RECIPES).mkdir(exist_ok=True)
    shutil.copyfile(path, data / RECIPES / path.name)
    return path.stem
