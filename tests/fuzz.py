"""Feed every reader damaged files: ``python tests/fuzz.py [--mutations N] [--seed N] [NAME…]`` (``make fuzz``).

Seeds are what our own writers write, excerpts kept in `tests.fuzz_seeds`, and beginnings of the real files under
LINNET_DATA where they are. Each mutation of a seed must give documents (or concepts, or files) or an error of
`linnet.errors`; within `CPU` seconds, and without memory left behind. A reader runs in a process of its own, every
mutation follows from seed and number alone. What is neither is printed with its file, which is kept; exit status 1.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import logging
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from linnet.errors import FormatError, LinnetError, LinnetWarning
from tests.fuzz_mutations import mutated
from tests.fuzz_seeds import Target, targets

MUTATIONS = 10_000
CPU = 5.0  # seconds of processor time that one mutation may take
SILENCE = 180.0  # seconds without news from a process, after which it hangs where no signal reaches it
NEWS = 200  # mutations between two signs of life
MEMORY = 4 << 30  # bytes of address space a process may have
GROWTH = 48.0  # MB that a process may have grown by since a tenth of its mutations: caches have bounds of this order
SHM = Path("/dev/shm")  # memory instead of a disk, where there is some
SHOWN = 3  # cases of one fault that are kept


class Hang(BaseException):
    """One mutation took too long; no reader catches this."""


@dataclass
class Result:
    """What the mutations of one target came to."""

    name: str
    mutations: int = 0
    accepted: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[str]] = field(default_factory=dict)  # fault -> where its inputs are kept
    seconds: float = 0.0  # of processor time: other work on the machine does not count
    slowest: float = 0.0
    grown: float = 0.0  # MB

    @property
    def good(self) -> bool:
        return not self.faults

    def row(self) -> str:
        refused = self.mutations - self.accepted - sum(map(len, self.faults.values()))
        return (
            f"{self.name:28}{self.mutations:>10,}{self.accepted:>10,}{refused:>10,}{len(self.errors):>8,}"
            f"{self.seconds:>9.1f}{self.slowest:>9.2f}{self.grown:>8.1f}  {'ok' if self.good else 'FAULTS'}"
        )


HEAD = (
    f"{'reader':28}{'mutations':>10}{'accepted':>10}{'refused':>10}{'errors':>8}"
    f"{'seconds':>9}{'slowest':>9}{'MB more':>8}"
)


def kind(error: LinnetError) -> str:
    """Return what an error says, without the values of this one case."""
    text = error.problem if isinstance(error, FormatError) else str(error)
    text = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "'…'", text)
    return re.sub(r"/\S+", "PATH", re.sub(r"[\d,.]*\d", "#", text))[:50]


def resident() -> float:
    """Return the memory of this process in MB, after a collection of what is no longer used."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize() / 1e6


def fault_of(error: BaseException) -> str:
    """Return the exception and the last place in Linnet that it came through."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "/linnet/" in frame.filename]
    where = f"{Path(places[-1].filename).name}:{places[-1].lineno}" if places else "?"
    return f"{type(error).__name__} at {where}: {str(error)[:120]}"


class Run:
    """All mutations of one target, in a process of its own."""

    def __init__(self, target: Target, options: argparse.Namespace) -> None:
        self.target, self.options = target, options
        self.result = Result(target.name)

    def whole(self, news: Connection) -> None:
        """Run the mutations and send the result."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGPROF, _too_long)
        logging.disable()
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LinnetWarning)
        started, before = time.process_time(), 0.0
        with tempfile.TemporaryDirectory(dir=SHM if SHM.is_dir() else None) as folder:
            for place, seed in enumerate(self.target.seeds):
                _put(seed, Path(folder) / str(place) / "in")
            for number in range(self.options.mutations):
                self.one(number, Path(folder))
                if number == self.options.mutations // 10:
                    before = resident()
                if number % NEWS == 0:
                    news.send(number)
        self.result.seconds = time.process_time() - started
        self.result.grown = max(0.0, resident() - before)
        if self.result.grown > GROWTH:
            self.result.faults[f"{self.result.grown:.0f} MB of memory stay behind"] = ["all of them"]
        news.send(self.result)

    def one(self, number: int, folder: Path) -> None:
        """Put one mutation into the folder of its seed, read it, and note what came of it."""
        rng = random.Random(f"{self.options.seed}:{self.target.name}:{number}")
        seed = rng.randrange(len(self.target.seeds))
        files = mutated(self.target.seeds[seed], rng)
        folder = folder / str(seed) / "in"
        changed = _changed(self.target.seeds[seed], files)
        _put({name: files.get(name) for name in changed}, folder)
        self.result.mutations += 1
        started = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_PROF, CPU)
            for _ in self.target.read(folder, rng):
                pass
            self.result.accepted += 1
        except LinnetError as error:
            self.result.errors[kind(error)] += 1
        except (Exception, Hang) as error:
            self.keep(fault_of(error), files)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self.result.slowest = max(self.result.slowest, time.process_time() - started)
        _put({name: self.target.seeds[seed][name] for name in changed}, folder)
        shutil.rmtree(folder / "out", ignore_errors=True)

    def keep(self, fault: str, files: dict[str, bytes]) -> None:
        """Keep the files that led to a fault, of the first few of its kind."""
        kept = self.result.faults.setdefault(fault, [])
        if len(kept) < SHOWN:
            digest = hashlib.sha256(b"".join(files.values())).hexdigest()[:10]
            place = Path(self.options.keep) / self.target.name.replace("/", "-") / digest
            _put(files, place)
            kept.append(str(place))


def _changed(seed: Mapping[str, bytes], files: Mapping[str, bytes]) -> list[str]:
    return [name for name, content in seed.items() if files.get(name) is not content]


def _put(files: Mapping[str, bytes | None], folder: Path) -> None:
    """Write files into a folder; remove those that are None."""
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise Hang(f"took more than {CPU:g} seconds")


def fuzz(target: Target, options: argparse.Namespace) -> Result:
    """Return what the mutations of a target came to, also if its process died or hangs."""
    context = multiprocessing.get_context("fork")
    mine, others = context.Pipe(duplex=False)
    process = context.Process(target=Run(target, options).whole, args=(others,))
    process.start()
    others.close()
    last = 0
    try:
        while mine.poll(SILENCE):
            said = mine.recv()
            if isinstance(said, Result):
                return said
            last = int(said)
        fault = f"hangs after mutation {last}, where no signal reaches it"
    except EOFError:
        process.join()
        fault = f"the process died after mutation {last} with exit status {process.exitcode}"
    finally:
        process.kill()
        process.join()
    return Result(target.name, faults={fault: [f"mutations {last} to {last + NEWS} of seed {options.seed}"]})


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="readers, such as pubtator or kb/mesh; all by default")
    parser.add_argument("--mutations", type=int, default=MUTATIONS, help="of each reader")
    parser.add_argument("--seed", type=int, default=13, help="another seed is other mutations")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "linnet-fuzz"), help="folder of faults")  # noqa: PTH118
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Fuzz the named targets, or all, and print a line for each."""
    options = parsed(arguments)
    everything = targets()
    wanted = [target for target in everything if not options.names or target.name in options.names]
    if unknown := set(options.names) - {target.name for target in everything}:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(one.name for one in everything)}")
    results = []
    sys.stdout.write(f"{HEAD}\n")
    for target in wanted:
        results.append(fuzz(target, options))
        sys.stdout.write(f"{results[-1].row()}\n")
        sys.stdout.flush()
    for result in results:
        for fault, places in result.faults.items():
            sys.stdout.write(f"\n{result.name}: {fault}\n  {places[0]}\n")
    total = sum(result.mutations for result in results)
    seconds = sum(result.seconds for result in results)
    faults = sum(len(result.faults) for result in results)
    sys.stdout.write(
        f"\n{len(results)} readers, {total:,} mutations, {seconds:,.0f} s of processor time, {faults} faults\n"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
