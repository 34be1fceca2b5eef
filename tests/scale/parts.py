"""Pipelines that workers of these tests load, and workers that work in this process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from linnet.data import Document, Mention
from linnet.pipeline import Allow, Pipeline
from linnet.scale.crew import Loaded, Lost, News, where_of
from linnet.scale.shards import Load, Settings, Task, Worker


class Marker:
    """Marks the first word; some words make it fail, kill the process, or take its time."""

    needs: frozenset[str] = frozenset()
    gives = frozenset({"mentions"})

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        out = []
        for doc in docs:
            if "fails" in doc.text:
                raise ValueError("a word that fails")
            if "dies" in doc.text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "slowly" in doc.text:
                time.sleep(0.004)
            mention = Mention(0, 4, concepts=("X:1",), probability=1 / 3)
            out.append(Document(doc.id, doc.text, mentions=(mention,), meta=doc.meta))
        return out


def marking() -> Pipeline:
    return Pipeline(Marker())


class Inline:
    """Workers that work in this process, one after the other; some parts are lost on the way."""

    def __init__(self, size: int, load: Load, settings: Settings, lose: Sequence[int] = ()) -> None:
        self.size, self._settings, self._lose, self._count = size, settings, lose, 0
        self._workers = [Worker(load, settings) for _ in range(size)]
        self._tasks: dict[int, Task] = {}
        self._loaded = False

    def give(self, worker: int, task: Task) -> None:
        self._tasks[worker] = task

    def news(self, seconds: float) -> list[News]:
        if not self._loaded:
            self._loaded = True
            return [News(worker, Loaded(0.1)) for worker in range(self.size)]
        said = []
        for worker, task in self._tasks.items():
            self._count += 1
            if self._count in self._lose:
                said += [News(worker, Lost(where_of(self._settings, task))), News(worker, Loaded(0.1))]
            else:
                said.append(News(worker, self._workers[worker](task)))
        self._tasks = {}
        return said

    def close(self) -> None:
        self._workers.clear()


def notes(folder: Path, count: int, *, word: str = "Fits", files: int = 1) -> Path:
    """Write so many documents into some files of JSON Lines; return their folder."""
    folder.mkdir(exist_ok=True)
    for file in range(files):
        numbers = range(count * file // files, count * (file + 1) // files)
        lines = [f'{{"id":"d{number}","text":"{word} of rage {number}."}}\n' for number in numbers]
        (folder / f"part{file}.jsonl").write_text("".join(lines))
    return folder


def seen(folder: Path) -> dict[str, bytes]:
    """Return all files of a job that people see."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
