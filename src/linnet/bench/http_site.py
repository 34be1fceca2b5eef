"""A linking server for ``linnet bench http``: its process, the texts, and the bulk pipeline to compare with."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from linnet.codec import loads
from linnet.corpora import read
from linnet.corpora.jsonl import line
from linnet.corpora.names import Remembering
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.serve.linking import load_pipelines

__all__ = ["Bulk", "Server", "abstracts", "bulk_rates"]

NOTES = Path(__file__).parents[1] / "demo" / "notes"
TICKS = os.sysconf("SC_CLK_TCK")


def abstracts(data: Path | None, count: int) -> list[Document]:
    """Return so many texts with ids of their own: PubMed abstracts or the notes of the demo, again and again."""
    folder = None if data is None else data / "pubmed"
    files = sorted(folder.glob("*.xml*")) if folder is not None and folder.is_dir() else [NOTES]
    there = [doc for doc in read(list(files)) if folder is None or any(part.kind != "title" for part in doc.passages)]
    if not there:
        raise LinnetError(f"{folder} holds no abstracts: leave out --data for the notes of the demo")
    some = itertools.islice(itertools.cycle(there), count)
    return [Document(f"{place}", doc.text) for place, doc in enumerate(some)]


class Server:
    """``linnet serve --link`` in a process of its own, which can be killed and started again at the same port."""

    def __init__(self, pipeline: str, kbs: Sequence[str], keys: Path, *, workers: int = 1, options: Sequence[str] = ()):
        self._options = ["--link", pipeline, *(part for kb in kbs for part in ("--kb", kb)), "--api-keys", str(keys)]
        self._options += ["--workers", str(workers), *options]
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it and wait until it links.

        Raises:
            LinnetError: it does not start; what it had to say went to stderr.
        """
        command = [sys.executable, "-m", "linnet", "serve", *self._options, "--port", str(self.port)]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        said = next((line for line in self._process.stdout or () if "links at" in line), "")
        if not said:
            raise LinnetError("the server did not start; what it had to say stands above")
        self.port = int(said.rpartition(":")[2])

    def kill(self) -> None:
        """Kill it with all its processes, without a chance to tidy up."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            self._process = None

    def processor(self) -> float | None:
        """Return the seconds of processor time of all its processes; None where the system does not say."""
        if self._process is None:
            return None
        try:
            group = [*_children(self._process.pid), self._process.pid]
            return sum(sum(map(int, _stat(pid)[11:13])) for pid in group) / TICKS
        except OSError:
            return None

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Start it, and kill it at the end."""
        try:
            self.start()
            yield self
        finally:
            self.kill()


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _children(pid: int) -> list[int]:
    found = [
        int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
    ]
    return found + [other for one in found for other in _children(one)]


class Bulk:
    """The same pipeline without a server, in as many processes: rates of documents by what is measured."""

    def __init__(self, pipeline: str, kbs: Sequence[str], *, data: Path | None, count: int, processes: int) -> None:
        place = None if data is None else str(data)
        options = {"pipeline": pipeline, "kbs": list(kbs), "data": place, "count": -(-count // processes)}
        command = [sys.executable, "-m", "linnet.bench.http_site", json.dumps(options)]
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
            for _ in range(processes)
        ]
        for process in self._processes:
            self._read(process)  # it has loaded

    def round(self) -> dict[str, float]:
        """Link all documents once, in all processes at the same time, and return documents a second."""
        for process in self._processes:
            self._say(process)
        rates = [self._read(process) for process in self._processes]
        return {key: sum(one[key] for one in rates) for key in rates[0]}

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.communicate()

    def _say(self, process: subprocess.Popen[str]) -> None:
        if process.stdin is not None:
            process.stdin.write("\n")
            process.stdin.flush()

    def _read(self, process: subprocess.Popen[str]) -> dict[str, float]:
        said = "" if process.stdout is None else process.stdout.readline()
        if not said:
            raise LinnetError("the bulk pipeline failed; what it had to say stands above")
        rates: dict[str, float] = json.loads(said)
        return rates


def bulk_rates(pipeline: str, kbs: Sequence[str], data: str | None, count: int) -> Iterator[dict[str, float]]:
    """Yield documents a second, by the clock and by processor time: linked, and from JSON Lines to JSON Lines."""
    docs = abstracts(None if data is None else Path(data), count)
    [linker] = load_pipelines([pipeline], kbs).values()
    rows = Remembering.of(linker.concepts)
    for doc in linker.stream(docs[:64]):
        line(doc, rows)
    lines = [line(doc) for doc in docs]
    yield {}
    while True:
        began, worked = time.perf_counter(), time.process_time()
        given = [loads(one) for one in lines]
        started, busy = time.perf_counter(), time.process_time()
        linked = list(linker.stream(given))
        seconds, work = time.perf_counter() - started, time.process_time() - busy
        for doc in linked:
            line(doc, rows)
        both, all_work = time.perf_counter() - began, time.process_time() - worked
        found = {"linked": seconds, "written": both, "linked, processor": work, "written, processor": all_work}
        yield {key: len(docs) / max(value, 1e-9) for key, value in found.items()}


def _main() -> None:
    rates = bulk_rates(**json.loads(sys.argv[1]))
    print(json.dumps(next(rates)), flush=True)
    for _ in sys.stdin:
        print(json.dumps(next(rates)), flush=True)


if __name__ == "__main__":
    _main()
