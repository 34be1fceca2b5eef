"""``python -m tests.scale.lead SOURCE OUT WORKERS [ADDRESS]``: leads a job, in a process that tests kill."""

from __future__ import annotations

import sys
from pathlib import Path

from linnet.scale.job import Job, run
from linnet.scale.units import Inputs
from tests.scale.parts import marking


def main(source: str, out: str, workers: str) -> None:
    run(Job(Inputs((source,)), Path(out), marking, {"pipeline": 1}, workers=int(workers), size=50))


if __name__ == "__main__":
    main(*sys.argv[1:])
