"""``linnet link``: text in, concepts out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from linnet.cli.common import Metrics, Quiet, Verbose, counter, listen, progress
from linnet.cli.inputs import Given, check_texts, documents, refuse_overwriting, row_options
from linnet.cli.link_options import (
    Changes,
    Columns,
    Detect,
    DryRun,
    Forms,
    Fresh,
    From,
    Ids,
    Kb,
    KeepGold,
    Loading,
    Of,
    OfType,
    Only,
    Output,
    Overwrite,
    Page,
    Query,
    Ray,
    ShardDocuments,
    Shards,
    Texts,
    To,
    ToOption,
    Under,
    Workers,
)
from linnet.cli.outputs import Outputs, writer_options
from linnet.cli.written import refuse_changed
from linnet.corpora import format_of
from linnet.data import Document
from linnet.pipeline import Pipeline
from linnet.pipeline.component import count_seen, describe_seen
from linnet.recipes.config import recipes
from linnet.recipes.linking import NOTICE, hide_gold
from linnet.text.files import STDIO

if TYPE_CHECKING:
    from linnet.cli.times import Times
    from linnet.scale.resumable import Unfinished

__all__ = ["link"]

logger = logging.getLogger(__name__)


def link(
    inputs: Texts,
    kb: Kb = None,
    pipeline: Of = None,
    output: Output = None,
    to: To = None,
    to_options: ToOption = None,
    source: From = None,
    columns: Columns = None,
    query: Query = None,
    html: Page = None,
    keep_gold: KeepGold = False,
    detect: Detect = None,
    abbreviations: Forms = None,
    changes: Changes = None,
    types: OfType = None,
    under: Under = None,
    ids: Ids = None,
    fresh: Fresh = False,
    overwrite: Overwrite = False,
    only: Only = None,
    workers: Workers = None,
    ray: Ray = None,
    shard_documents: ShardDocuments = 1_000,
    dry_run: DryRun = False,
    metrics: Metrics = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Link the concepts in texts and show them in a table, a file or a page."""
    listen(quiet=quiet, verbose=verbose)
    check_texts(inputs)
    loading = Loading(pipeline, kb, changes, detect, abbreviations, only, types, under, ids)
    shards = Shards(workers, ray, shard_documents, dry_run)
    whole = Given(tuple(inputs), *row_options(inputs, source, columns, query), keep_gold)
    if shards.wanted(output, to):
        from linnet.cli.link_job import link_shards  # noqa: PLC0415 - few commands are jobs

        link_shards(whole, loading, shards, output, to, refused=(html, metrics, to_options), fresh=fresh, quiet=quiet)
        return
    outputs = _outputs(output, to, html, to_options)
    lasting = outputs.lasting if STDIO not in inputs else None  # what came from there does not come again
    read = [*inputs, *(ids or ()), *(abbreviations or ()), None if pipeline in recipes() else pipeline]
    refuse_overwriting(read, [output, html, metrics, lasting and _place_of(lasting)])
    refuse_changed(output, html, overwrite=overwrite)
    times = _times() if metrics else None
    with nullcontext() if times is None else times.step("load", "pipeline"):
        linker = loading()
    timed = linker if times is None else times.of_parts(linker)
    given, tally = partial(_read_given, whole, linker), _Tally()
    if lasting is None:
        outputs.write(tally(progress(timed.stream(given()), what="linking", quiet=quiet)), linker)
    else:
        with _keeping(lasting, outputs, linker, {"choice of --keep-gold": keep_gold}, fresh=fresh) as kept:
            tally.before = kept.documents
            outputs.write_kept(kept, tally(_link_rest(kept, timed, given, quiet=quiet)), linker)
    _tell(output, tally, linker)
    if times is not None:
        times.write(metrics)


def _outputs(output: str | None, to: str | None, page: Path | None, options: Sequence[str] | None) -> Outputs:
    format = to or (format_of(output) if output else None)
    return Outputs(output or STDIO, format, page, writer_options(format, options))


def _tell(output: str | None, tally: _Tally, linker: Pipeline) -> None:
    """Say what was written, and warn of documents that the pipeline learned from."""
    if output is not None and output != STDIO:
        logger.info("%s: %s", output, tally)
        if tally.mentions and not tally.told:
            logger.info(NOTICE)
    if seen := describe_seen(tally.seen):
        logger.warning("%s was %s of these documents: scores measured on them are too high", linker.name, seen)


def _times() -> Times:
    from linnet.cli.times import Times  # noqa: PLC0415 - needed where somebody asks for times

    return Times()


@dataclass
class _Tally:
    """Counts linked documents, and their mentions, while they are taken."""

    documents: int = 0
    mentions: int = 0
    before: int = 0  # documents that an earlier, interrupted job has finished
    seen: Counter[str] = field(default_factory=Counter)
    told: bool = False  # something is said of some mention: affirmed, negated …

    def __call__(self, docs: Iterable[Document]) -> Iterator[Document]:
        for doc in docs:
            self.documents += 1
            self.mentions += len(doc.mentions or ())
            self.seen.update(count_seen([doc]))
            self.told = self.told or any(mention.assertion for mention in doc.mentions or ())
            yield doc

    def __str__(self) -> str:
        now = f"{self.documents:,} documents with {self.mentions:,} mentions"
        return f"{now}, after {self.before:,} documents finished before" if self.before else now


def _read_given(whole: Given, linker: Pipeline) -> Iterable[Document]:
    """Return the documents as the pipeline may see them."""
    docs = documents(whole.inputs, whole.format, rows=linker.kb, options=dict(whole.options))
    return docs if whole.keep_gold else hide_gold(docs, linker)


# --- what is kept of a job that is interrupted: a table on the terminal needs none of it -----------------------------


def _place_of(lasting: Path) -> Path:
    from linnet.scale.resumable import place_of  # noqa: PLC0415 - see above

    return place_of(lasting)


def _keeping(
    lasting: Path, outputs: Outputs, linker: Pipeline, choices: Mapping[str, object], *, fresh: bool
) -> AbstractContextManager[Unfinished]:
    from linnet.scale.job_key import made_of  # noqa: PLC0415 - see above
    from linnet.scale.resumable import keeping  # noqa: PLC0415 - see above

    told = made_of(linker, choices)
    return keeping(lasting, format=outputs.kept_as, made_of=told, rows=linker.concepts, fresh=fresh)


def _link_rest(
    kept: Unfinished, linker: Pipeline, given: Callable[[], Iterable[Document]], *, quiet: bool
) -> Iterator[Document]:
    """Return the documents that are not finished yet, linked and kept while they are taken."""
    from linnet.scale.resumable import rest  # noqa: PLC0415 - see above

    nothing = not kept.documents
    with counter("comparing finished documents", total=kept.documents, quiet=quiet or nothing) as again:
        docs = rest(kept, linker, given, again=again)
    return progress(docs, what="linking", before=kept.documents, quiet=quiet)
