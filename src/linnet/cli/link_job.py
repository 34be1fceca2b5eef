"""``linnet link BIG… -o OUT/``: many documents, linked by several workers and written as shards into a folder."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from linnet.cli.common import EVERY, counter
from linnet.cli.inputs import Given, refuse_overwriting
from linnet.cli.link_options import Loading, Shards
from linnet.cli.outputs import JOB_MADE_BY, made_by
from linnet.cli.terminal import duration
from linnet.corpora import FORMATS
from linnet.corpora.formats import suffix
from linnet.data import Document
from linnet.errors import LinnetError
from linnet.home import near_name
from linnet.pipeline.component import Component, describe_seen
from linnet.pipeline.learner import inner_of
from linnet.pipeline.pipeline import Pipeline
from linnet.recipes.config import recipes
from linnet.text.files import STDIO

if TYPE_CHECKING:
    from linnet.scale.job import Job, Told

__all__ = ["link_shards"]

logger = logging.getLogger(__name__)

FORMAT = "jsonl"
NETWORKS = 3 << 30  # bytes that a worker with networks, and vectors of names, may take


def link_shards(
    given: Given,
    loading: Loading,
    shards: Shards,
    output: str | None,
    to: str | None,
    *,
    refused: Sequence[object] = (),
    fresh: bool = False,
    quiet: bool = False,
) -> None:
    """Do a job of shards, or say what it will cost."""
    from linnet.scale.job import run  # noqa: PLC0415 - few commands are jobs

    job = _job(given, loading, shards, output, to, refused, fresh=fresh)
    if shards.dry_run:
        from linnet.cli.link_cost import say_cost  # noqa: PLC0415 - as above

        say_cost(job)
        return
    progress = _Progress(quiet=quiet)
    try:
        with counter("checking finished shards", quiet=quiet) as checking:
            told = run(job, tell=progress, checking=checking)
    except BaseException as error:
        if progress.documents:
            how = "fix this, then run the same command" if isinstance(error, LinnetError) else "run the same command"
            logger.info("%s: %s documents are finished: %s to go on", output, f"{progress.documents:,}", how)
        raise
    _say(job, told)


def _job(
    given: Given,
    loading: Loading,
    shards: Shards,
    output: str | None,
    to: str | None,
    refused: Sequence[object],
    *,
    fresh: bool,
) -> Job:
    from linnet.scale.job import Job  # noqa: PLC0415 - few commands are jobs
    from linnet.scale.job_key import made_of  # noqa: PLC0415 - as above
    from linnet.scale.units import Inputs  # noqa: PLC0415 - as above

    if STDIO in given.inputs:
        raise LinnetError("a job of shards cannot read standard input, which does not come again: name files")
    if any(refused):
        raise LinnetError("a job of shards writes no page and no times: leave out --html, --metrics and --to-option")
    folder = _folder(output, dry_run=shards.dry_run)
    of_recipe = None if loading.pipeline in recipes() else loading.pipeline
    refuse_overwriting([*given.inputs, *(loading.ids or ()), *(loading.abbreviations or ()), of_recipe], [folder])
    linker = loading()  # so that what is wrong with it is said once, and at once
    texts, splits = given.sorted_out()
    _refuse_words(texts)
    job = Job(
        Inputs(tuple(texts), tuple(splits), given.format, given.options),
        folder,
        loading,
        made_of(linker, {"choice of --keep-gold": given.keep_gold, JOB_MADE_BY: made_by(linker)}),
        workers=shards.workers,
        most=_most_workers(linker),
        format=to or FORMAT,
        size=shards.documents,
        keep_gold=given.keep_gold,
        fresh=fresh,
    )
    if shards.ray is None:
        return job
    from linnet.scale.on_ray import connect  # noqa: PLC0415 - an extra

    gather, cores = connect(shards.ray)
    return replace(job, gather=gather, workers=shards.workers or cores)


def _most_workers(linker: Pipeline) -> int | None:
    """Return how many workers there may be where none are asked for, None for any number.

    Each has networks of its own, and memory for them is not without end; on a graphics card they would share it.
    """
    from linnet.evaluate.meter import available_memory  # noqa: PLC0415 - few commands are jobs
    from linnet.train.network import NetworkComponent  # noqa: PLC0415 - as above

    networks = [part for part in _parts(linker) if isinstance(part, NetworkComponent)]
    if not networks:
        return None
    if find_spec("torch") is not None and any(part.graphs is None for part in networks):
        from linnet.nn.device import choose_device  # noqa: PLC0415 - imports torch

        if choose_device().type != "cpu":
            return 1
    free = available_memory()
    return None if free is None else max(1, free // NETWORKS)


def _parts(linker: Pipeline) -> Iterator[Component]:
    """Yield the components of a pipeline, those inside others too."""
    from linnet.pipeline.several import Several  # noqa: PLC0415 - most texts are linked to one terminology

    for part in linker.parts:
        if isinstance(part, Several):
            for one in part.of:
                yield from _parts(one)
        else:
            yield from (part, *inner_of(part))


def _folder(output: str | None, *, dry_run: bool) -> Path:
    if output is None and dry_run:
        return Path("linked")
    if output is None or output == STDIO:
        raise LinnetError("a job of shards writes a folder: give one with -o OUT/")
    known = {".gz", *(one for format in FORMATS.values() for one in format.suffixes)}
    if suffix(output) in known and not output.endswith("/") and not Path(output).is_dir():
        raise LinnetError(f"a job of shards writes a folder, and {output} looks like a file: give -o {output}/")
    return Path(output)


def _refuse_words(given: Sequence[str | Document]) -> None:
    """Refuse words that were meant for a file or folder: nobody has a job for one word."""
    for one in given:
        if isinstance(one, Document) and len(one.text.split()) < 2:
            raise LinnetError(f"{one.text}: there is no such file or folder{near_name(Path(one.text))}")


class _Progress:
    """Prints a line on how far the job is, but not more often than `EVERY` seconds.

    Args:
        quiet: print nothing.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._said = time.monotonic()
        self._warned = 0
        self._quiet = quiet
        self.documents = 0

    def __call__(self, told: Told) -> None:
        self.documents = told.counts["documents"]
        if self._quiet:
            return
        for message in list(told.said)[self._warned :]:
            logger.warning("warning: %s", message)
        self._warned = len(told.said)
        now = time.monotonic()
        if now - self._said < EVERY:
            return
        self._said = now
        loaded = [f"{told.counts['documents']:,} documents linked", f"{told.rate:,.0f}/s"]
        parts = loaded if told.linking else ["workers load the pipeline"]
        parts += [] if told.left is None else [f"about {duration(told.left)} left"]
        parts += [_counted(told.counts["errors"], "error")] if told.counts["errors"] else []
        parts += [f"{_counted(told.lost, 'worker')} died and had to be replaced"] if told.lost else []
        print(f"linnet: {', '.join(parts)}", file=sys.stderr)


def _counted(count: int, what: str) -> str:
    """Return how many there are.

    >>> _counted(1, "error"), _counted(2_000, "error")
    ('1 error', '2,000 errors')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _say(job: Job, told: Told) -> None:
    """Say what was written, and what of it people should know."""
    counts = told.counts
    what = f"{counts['documents']:,} documents with {counts['mentions']:,} mentions"
    before = f", {told.before:,} of them finished before" if told.before else ""
    rate = f", {told.rate:,.0f} documents/s" if counts["documents"] > told.before else ""
    logger.info("%s: %s%s%s", job.folder, what, before, rate)
    if counts["errors"]:
        told_in = job.folder / "errors.jsonl"
        logger.warning("%s: %s says what could not be read or linked", _counted(counts["errors"], "error"), told_in)
    if counts["twice"]:
        many = f"{counts['twice']:,} documents have the id of another one"
        logger.warning("%s, and all are in the shards: see %s", many, job.folder / "errors.jsonl")
    if counts["hidden"]:
        logger.info("%s gold mentions of the input were hidden; see --keep-gold", f"{counts['hidden']:,}")
    if counts["ungiven"]:
        logger.warning(
            "%s documents have no mentions and were not linked: this pipeline only links given mentions; "
            "add --detect dictionary",
            f"{counts['ungiven']:,}",
        )
    if seen := describe_seen({"train": counts["trained on"], "dev": counts["chosen on"]}):
        logger.warning("the pipeline was %s of these documents: scores measured on them are too high", seen)
