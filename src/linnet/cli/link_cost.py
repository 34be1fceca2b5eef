"""``linnet link --dry-run``: what a job will cost, as a table."""

from __future__ import annotations

from linnet.cli.common import table
from linnet.cli.terminal import duration, say
from linnet.evaluate.meter import mib
from linnet.scale.cost import SHARD, Cost, estimate
from linnet.scale.job import Job

__all__ = ["say_cost"]


def say_cost(job: Job) -> None:
    """Link a sample, and print what the whole will cost."""
    cost = estimate(job)
    table("", ("of the whole job", "about"), _rows(cost), right=(1,))
    if cost.errors:
        say(f"{cost.errors:,} of the sample could not be read or linked.", error=True)


def _rows(cost: Cost) -> list[tuple[str, str]]:
    own, mapped = cost.memory
    rate = f"{cost.rate:,.0f}" if cost.sample > SHARD else "too few to tell"
    return [
        ("documents", f"{'at least ' if cost.at_least else ''}{cost.documents:,}"),
        ("documents/s of a worker, on a core of its own", rate),
        (f"time of {cost.workers:,} worker{'s' if cost.workers > 1 else ''}", duration(cost.seconds)),
        ("memory of each worker", mib(own)),
        ("memory of files that workers share", mib(mapped)),
        ("disk", _gib(cost.disk)),
        ("documents linked to tell this", f"{cost.sample:,}"),
    ]


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 1 << 30 else mib(size)
