"""One reader under `tools.fuzz`: all its mutations, and its larger files, in a process of its own.

A process that dies, or hangs where no signal reaches it, is a fault of the mutation it was at; the next process goes on
behind it.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import multiprocessing
import random
import re
import resource
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import linnet
from linnet.errors import FormatError, LinnetError, LinnetWarning
from tools.fuzz import growth
from tools.fuzz.mutations import mutated
from tools.fuzz.seeds import Files, Target
from tools.fuzz.watch import Hang, Peak, consumed, left, limited, reserved

CPU = 5.0  # seconds of processor time that one mutation may take
SILENCE = 180.0  # seconds without news from a process, after which it hangs where no signal reaches it
NEWS = 200  # mutations between two signs of life
MEMORY = 4 << 30  # bytes of address space that a process may take beyond what it begins with
STAYS = 48.0  # MB that a process may have grown by since a tenth of its mutations: caches have bounds of this order
PEAK = 200.0  # MB above what its seeds take that a mutation may take, freed again or not
PACKAGE = Path(linnet.__file__).parent
SHM = Path("/dev/shm")  # memory instead of a disk, where there is some
SHOWN = 3  # cases of one fault that are kept
LIVES = 10  # processes of one reader that may die


@dataclass
class Result:
    """What the mutations of one target came to."""

    name: str
    mutations: int = 0
    accepted: int = 0
    refused: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[str]] = field(default_factory=dict)  # fault -> where its inputs are kept
    seconds: float = 0.0  # of processor time: other work on the machine does not count
    slowest: float = 0.0
    peak: float = 0.0  # MB
    grown: float = 0.0  # MB
    reached: int = 0  # the next step

    @property
    def good(self) -> bool:
        return not self.faults

    def row(self) -> str:
        return (
            f"{self.name:33}{self.mutations:>10,}{self.accepted:>10,}{self.refused:>10,}{len(self.errors):>8,}"
            f"{self.seconds:>9.1f}{self.slowest:>9.2f}{self.peak:>9.1f}{self.grown:>9.1f}"
            f"  {'ok' if self.good else 'FAULTS'}"
        )


HEAD = (
    f"{'reader':33}{'mutations':>10}{'accepted':>10}{'refused':>10}{'errors':>8}"
    f"{'seconds':>9}{'slowest':>9}{'MB peak':>9}{'MB stay':>9}"
)


def kind(error: LinnetError) -> str:
    """Return what an error says, without the values of this one case."""
    text = error.problem if isinstance(error, FormatError) else str(error)
    return _without_values(text)[:50]


def _without_values(text: str) -> str:
    text = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "'…'", text)
    return re.sub(r"/\S+", "PATH", re.sub(r"[\d,.]*\d", "#", text))


def fault_of(error: BaseException) -> str:
    """Return the exception and the last place in Linnet that it came through; what it says where it came from none."""
    places = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(PACKAGE)
    ]
    if places:
        return f"{type(error).__name__} at {Path(places[-1].filename).name}:{places[-1].lineno}"
    return f"{type(error).__name__}: {_without_values(str(error))[:100]}"


def mutation(target: Target, options: argparse.Namespace, number: int) -> tuple[int, dict[str, bytes], random.Random]:
    """Return which seed a mutation is of, its files, and the random generator for reading it."""
    rng = random.Random(f"{options.seed}:{target.name}:{number}")
    seed = rng.randrange(len(target.seeds))
    return seed, mutated(target.seeds[seed], rng), rng


def keep(
    result: Result, fault: str, files: Mapping[str, bytes], options: argparse.Namespace, said: object = ""
) -> None:
    """Keep the files that led to a fault, of the first few of its kind."""
    kept = result.faults.setdefault(fault, [])
    if len(kept) < SHOWN:
        digest = hashlib.sha256(b"".join(files.values())).hexdigest()[:10]
        place = Path(options.keep) / result.name.replace("/", "-") / digest
        put(files, place)
        kept.append(f"{place} {str(said)[:120]}".strip())


def put(files: Mapping[str, bytes | None], folder: Path) -> None:
    """Write files into a folder; remove those that are None."""
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


class Run:
    """The steps of one target from where another process stopped: its mutations, then ways to make its files larger.

    Args:
        target: what is read.
        options: of the command line.
        result: what the steps before came to.
        step: shared with the process that waits: the step this one is at.
        skipped: steps at which a process died.
    """

    def __init__(
        self, target: Target, options: argparse.Namespace, result: Result, step: Any, skipped: frozenset[int]
    ) -> None:
        self.target, self.options, self.result, self.step, self.skipped = target, options, result, step, skipped
        self.usual = 0.0  # MB that the seeds take

    def whole(self, news: Connection) -> None:
        """Run the steps and send the result, in between too."""
        limit = reserved() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        logging.disable()
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LinnetWarning)
        with tempfile.TemporaryDirectory(dir=SHM if SHM.is_dir() else None) as folder:
            self.seeds(Path(folder))
            self.mutations(Path(folder), news)
            self.larger(Path(folder), news)
        news.send(self.result)

    def seeds(self, folder: Path) -> None:
        """Write the seeds and see what memory they take, the second time, when modules are loaded."""
        for place, seed in enumerate(self.target.seeds):
            put(seed, folder / str(place) / "in")
            for _ in range(2):
                peak = Peak()
                consumed(self.target.read(folder / str(place) / "in", random.Random(0)))
                shutil.rmtree(folder / str(place) / "in" / "out", ignore_errors=True)
            self.usual = max(self.usual, peak.rise())

    def mutations(self, folder: Path, news: Connection) -> None:
        started, before = time.process_time() - self.result.seconds, 0.0
        tenth = max(self.result.reached, self.options.mutations // 10)
        for number in range(self.result.reached, self.options.mutations):
            self.step.value = number
            if number not in self.skipped:
                self.one(number, folder)
            if number == tenth:
                before = left()
            if number % NEWS == 0:
                self.result.seconds = time.process_time() - started
                self.result.reached = number + 1
                news.send(self.result)
        self.result.seconds = time.process_time() - started
        self.result.reached = max(self.result.reached, self.options.mutations)
        if before:
            self.result.grown = max(0.0, left() - before)
        if self.result.grown > STAYS:
            self.result.faults[f"{self.result.grown:.0f} MB of memory stay behind"] = ["all of them"]

    def one(self, number: int, folder: Path) -> None:
        """Put one mutation into the folder of its seed, read it, and note what came of it."""
        seed, files, rng = mutation(self.target, self.options, number)
        folder = folder / str(seed) / "in"
        changed = _changed(self.target.seeds[seed], files)
        put({name: files.get(name) for name in changed}, folder)
        self.result.mutations += 1
        peak, started = Peak(), time.process_time()
        try:
            with limited(CPU):
                consumed(self.target.read(folder, rng))
            self.result.accepted += 1
        except LinnetError as error:
            self.result.refused += 1
            self.result.errors[kind(error)] += 1
        except (Exception, Hang) as error:
            keep(self.result, fault_of(error), files, self.options, said=error)
        self.result.slowest = max(self.result.slowest, time.process_time() - started)
        risen = peak.rise() - self.usual
        self.result.peak = max(self.result.peak, risen)
        if risen > PEAK:
            keep(self.result, f"takes more than {PEAK:.0f} MB above what its seed takes", files, self.options)
        put({name: self.target.seeds[seed][name] for name in changed}, folder)
        shutil.rmtree(folder / "out", ignore_errors=True)

    def larger(self, folder: Path, news: Connection) -> None:
        """Read larger and larger files."""
        started = time.process_time() - self.result.seconds
        ways = growth.ways(self.target, self.options.larger, self.options.seed)
        for number, sized in enumerate(ways, self.options.mutations):
            self.step.value = number
            if number >= self.result.reached and number not in self.skipped:
                self.grow(sized, folder / "larger" / "in")
            self.result.seconds = time.process_time() - started
            self.result.reached = max(self.result.reached, number + 1)
            news.send(self.result)

    def grow(self, sized: growth.Sized, folder: Path) -> None:
        """Read a file and one several times as large; if that takes too long, a still larger one: it may be chance."""
        first: Files = {}
        took: list[growth.Taken] = []
        try:
            for more in range(3):
                files = sized(growth.SMALL * growth.TIMES**more)
                first = first or files
                put(files, folder)
                took.append(growth.taken(folder, self.target))
                shutil.rmtree(folder)
                fault = growth.fault(*took[-2:]) if more else ""
                if more and not fault:
                    return
            keep(self.result, fault, first, self.options)
        except (Exception, Hang) as error:
            shutil.rmtree(folder, ignore_errors=True)
            keep(self.result, fault_of(error), first, self.options, said=error)


def _changed(seed: Mapping[str, bytes], files: Mapping[str, bytes]) -> list[str]:
    return [name for name, content in seed.items() if files.get(name) is not content]


def fuzz(target: Target, options: argparse.Namespace) -> Result:
    """Return what the mutations of a target came to, also if its process dies or hangs."""
    context = multiprocessing.get_context("fork")
    result, skipped = Result(target.name), frozenset[int]()
    step = context.RawValue("q", 0)
    while len(skipped) < LIVES:
        mine, others = context.Pipe(duplex=False)
        run = Run(target, options, result, step, skipped)
        process = context.Process(target=run.whole, args=(others,))
        process.start()
        others.close()
        fault = "hangs where no signal reaches it"
        try:
            while mine.poll(SILENCE):
                result = mine.recv()
        except EOFError:
            process.join()
            fault = f"the process dies with exit status {process.exitcode}" if process.exitcode else ""
        finally:
            process.kill()
            process.join()
            mine.close()
        if not fault:
            break
        skipped |= {step.value}
        files = mutation(target, options, step.value)[1] if step.value < options.mutations else {}
        keep(result, fault, files, options)
    return result
