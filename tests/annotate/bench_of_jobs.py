"""A project to train in: a small knowledge base, documents with GOLD mentions, workers in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import linnet
from linnet.annotate.documents import add_documents
from linnet.annotate.jobs import Job, Timing, enqueue, find
from linnet.annotate.people import add_project, add_user
from linnet.annotate.store import Store
from linnet.annotate.worker import Worker
from linnet.data import Concept, Document, Mention, Name
from linnet.kb.build import build
from tests.annotate.desk import fresh

ORGANS = ("heart", "liver", "kidney", "lung", "brain", "skin", "eye", "bone")
ILLS = ("pain", "failure", "cancer", "swelling")
FAST = Timing(lease=1.5, beat=0.2, look=0.05, grace=0.3, told=0.5, idle=0.05, backoff=0.2)
# a worker that kills itself, as nothing can be told beforehand of one that is killed: at the n-th step, or never
PROGRAM = """
import os, signal, sys
from pathlib import Path
from linnet.annotate import predicting, training
from linnet.annotate.store import open_store
from linnet.annotate.worker import Worker
from tests.annotate.bench_of_jobs import FAST

where, data, kill = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
steps = 0
def counted(module, name):
    real = getattr(module, name)
    def told(*args):
        global steps
        steps += 1
        if steps == kill:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*args)
    setattr(module, name, told)
counted(training, "_tell")
counted(predicting, "_store")
worker = Worker(open_store(where), data, timing=FAST)
print("ready", flush=True)
while not worker.work():
    pass
"""


def make_kb(path: Path, more: tuple[str, ...] = ()) -> Path:
    """Build a knowledge base of 32 concepts, and of some `more` with other ills."""
    names = [f"{organ} {ill}" for ill in more for organ in ORGANS]
    names = [f"{organ} {ill}" for organ in ORGANS for ill in ILLS] + names
    concepts = [
        Concept(f"X:{n}", (Name(name), Name(f"{name.split()[1]} of the {name.split()[0]}")))
        for n, name in enumerate(names)
    ]
    build(concepts, path)
    return path


def documents(count: int, start: int = 0) -> list[Document]:
    """Return documents in which each sentence has a mention, every third under a name that only they tell."""
    docs = []
    for number in range(start, start + count):
        text, mentions = "", []
        for place in range(6):
            which = (number * 5 + place * 7) % (len(ORGANS) * len(ILLS))
            organ, ill = ORGANS[which // len(ILLS)], ILLS[which % len(ILLS)]
            said = f"{organ}y {ill}" if which % 3 == 0 else f"{organ} {ill}"
            begin = len(text) + len("She had ")
            mentions.append(
                Mention(begin, begin + len(said), types=("Disease",), source="gold", concepts=(f"X:{which}",))
            )
            text += f"She had {said}. "
        docs.append(Document(f"case-{number}", text, mentions=tuple(mentions)))
    return docs


@dataclass
class Bench:
    """A project with documents, a folder of data, and workers."""

    store: Store
    where: str
    data: Path
    project: int
    user: int

    @classmethod
    def open(cls, store: Store, where: str, data: Path, kb: Path, count: int = 12) -> Bench:
        with store.write() as db:
            user = add_user(db, fresh("carol"))
            project = add_project(db, fresh("project"), user, kb=str(kb))
            if count:
                add_documents(db, project, user, documents(count))
        return cls(store, where, data, project, user)

    def upload(self, docs: list[Document]) -> list[int]:
        with self.store.write() as db:
            return add_documents(db, self.project, self.user, docs).new

    def ask(self, kind: str, args: dict[str, Any] | None = None, **more: Any) -> int:
        with self.store.write() as db:
            return enqueue(db, self.project, kind, args, **more)

    def job(self, id: int) -> Job:
        with self.store.read() as db:
            return find(db, id)

    def worker(self, **more: Any) -> Worker:
        return Worker(self.store, self.data, **{"timing": FAST, **more})

    def do(self, kind: str, args: dict[str, Any] | None = None, **more: Any) -> Job:
        """Ask for a job, have it done here, and return it; jobs that others left are done too."""
        id, worker = self.ask(kind, args, **more), self.worker()
        while self.job(id).state == "queued" and worker.work():
            pass
        return self.job(id)

    def process(self, kill: int = 0) -> subprocess.Popen[str]:
        """Start a worker that does one job, or kills itself at a step."""
        root = Path(linnet.__file__).parents[2]
        env = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, self.where, str(self.data), str(kill)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
