"""``linnet corpus``: convert, count, check, split and prepare annotated documents."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from linnet.cli.common import App, Quiet, Verbose, listen, progress, say_lost, table
from linnet.cli.fetching import fetching
from linnet.cli.inputs import reader_options, refuse_overwriting
from linnet.cli.link_options import Columns, ToOption
from linnet.cli.outputs import MADE_BY, maker_of, names_maker, note_sources, writer_options
from linnet.cli.terminal import say
from linnet.corpora import FORMATS, fitting, format_of, write
from linnet.corpora.catalog import CORPORA, Corpus, corpus_named, read_corpus, splits_of
from linnet.corpora.corpus_download import download_corpus
from linnet.corpora.corrected import is_corrected, read_corrected
from linnet.corpora.describe import Stats, check, describe, seen
from linnet.corpora.faults import LEFT_OUT, Faults, OnError
from linnet.corpora.following import follow
from linnet.corpora.sources import stem
from linnet.corpora.splits import repeated, split
from linnet.corpora.vocabulary import documents
from linnet.data import Document
from linnet.errors import FormatError, LinnetError
from linnet.kb import KnowledgeBase
from linnet.recipes.config import open_kb
from linnet.recipes.knowledge_bases import open_kbs
from linnet.reporter import Reporter, reporting

__all__ = ["app"]

logger = logging.getLogger(__name__)

app = App(
    help="Convert, count, check, split and prepare annotated documents.", no_args_is_help=True, add_completion=False
)

Source = Annotated[str, typer.Argument(help="File, folder, glob, -, or a known corpus with its split: bc5cdr:dev.")]
Data = Annotated[
    Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the known corpora.", show_default=False)
]
From = Annotated[str | None, typer.Option("--from", help="Input format (docs/formats.md); guessed by default.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="Option of the reader of --from: note_prefix=ICDO; repeatable (docs/formats.md)."),
]
Kb = Annotated[str | None, typer.Option(help="Knowledge base: a name or a file.")]
Errors = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="What to do with unreadable annotations: stop, skip, or repair (move to where the text occurs nearby, "
        "else skip). Each is listed.",
    ),
]


def _open(kb: str | None) -> KnowledgeBase | None:
    return None if kb is None else open_kb(kb)


def _count_faults(on_error: OnError) -> Faults:
    return Faults(on_error, lambda error, done: logger.warning("%s: %s", done, error))


# --- convert ---------------------------------------------------------------------------------------------------------


@app.command("convert")
def convert(
    source: Source,
    output: Annotated[str, typer.Argument(help="File (folder for brat) to write; - is standard output.")] = "",
    out: Annotated[str, typer.Option("--output", "-o", hidden=True)] = "",  # as other commands name it
    format: From = None,
    to: Annotated[str | None, typer.Option(help="Output format; default: by the suffix of OUTPUT.")] = None,
    options: Options = None,
    columns: Columns = None,
    to_options: ToOption = None,
    texts: Annotated[
        str | None,
        typer.Option(help="SOURCE is a corrected CSV or TSV of mentions; the texts are here: a file, folder or glob."),
    ] = None,
    kbs: Annotated[
        list[str] | None,
        typer.Option(
            "--kb",
            help="Knowledge base, a name or a file: retired ids become their successors, and those that it lacks are "
            "named. Repeatable, for several terminologies.",
        ),
    ] = None,
    on_error: Errors = "stop",
    data: Data = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write documents in another format, or after a new release (--kb), and name what that format cannot hold.

    A corrected .xlsx, or a CSV with --texts, becomes gold; with --kb it may hold names of concepts.
    """
    listen(quiet=quiet, verbose=verbose)
    if bool(output) == bool(out):
        raise LinnetError("say once where to write: linnet corpus convert SOURCE OUTPUT")
    output = output or out
    target = to or format_of(output)
    told = writer_options(target, to_options)
    if names_maker(target, told) and (maker := maker_of(source)):
        told[MADE_BY] = maker
    refuse_overwriting([source, texts], [output], data=data)
    base, faults = open_kbs(kbs or ()), _count_faults(on_error)
    if is_corrected(source, texts):
        if format or options or columns:
            raise LinnetError(f"--from, --option and --columns are for other files than {source}, a corrected table")
        found = read_corrected(source, texts, kb=base, faults=faults)
    else:
        given = reader_options(source, format, options, columns)
        found = documents(source, data=data, faults=faults, **given)
    if base is not None:
        found = follow(found, base, where=output)
    sources: set[str] = set()
    docs = note_sources(progress(found, what="documents", quiet=quiet), sources)
    dropped: Counter[str] = Counter()
    count = write(fitting(docs, target, dropped, told), output, format=target, kb=base, options=told)
    logger.info("%s: %s documents", output, f"{count:,}")
    say_lost(dropped, target)
    if "pred" in sources and names_maker(target, told):
        logger.info("%s does not say which pipeline found these mentions: --to-option made_by=NAME does", output)


# --- stats and check -------------------------------------------------------------------------------------------------


@app.command("stats")
def stats(
    source: Source,
    format: From = None,
    options: Options = None,
    columns: Columns = None,
    kb: Kb = None,
    other: Annotated[str | None, typer.Option(help="Another split: count what both share.")] = None,
    on_error: Errors = "stop",
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Count documents, mentions and concepts; coverage by a knowledge base, overlap with another split."""
    listen(quiet=quiet, verbose=verbose)
    faults = _count_faults(on_error)
    there = None if other is None else seen(documents(other, data=data, faults=faults))
    found = documents(source, data=data, faults=faults, **reader_options(source, format, options, columns))
    docs = progress(found, what="documents", quiet=quiet)
    counts = describe(docs, kb=_open(kb), other=there)
    if as_json:
        print(json.dumps(_as_json(counts)))
        return
    table(source, ("", "count", "share of mentions"), _stat_rows(counts), right=(1, 2))


def _as_json(counts: Stats) -> dict[str, Any]:
    values = {item.name: getattr(counts, item.name) for item in dataclasses.fields(counts)}
    return {**values, "concepts": len(counts.concepts), "types": dict(counts.types.most_common())}


def _stat_rows(counts: Stats) -> Iterator[tuple[str, str, str]]:
    shared = ("nested", "overlapping", "discontinuous", "composite", "nil", "not_linked")
    compared = ("covered", "seen_mentions", "seen_concepts", "zero_shot")
    for name, value in _as_json(counts).items():
        if name == "types" or value is None:
            continue
        share = f"{value / counts.mentions:.1%}" if name in (*shared, *compared) and counts.mentions else ""
        yield name.replace("_", " "), f"{value:,}", share
    for name, value in counts.types.most_common(20):
        yield f"type {name}", f"{value:,}", f"{value / counts.mentions:.1%}"


@app.command("check")
def check_all(
    source: Source,
    format: From = None,
    options: Options = None,
    columns: Columns = None,
    kb: Kb = None,
    limit: Annotated[int, typer.Option(min=0, help="Problems to show of each kind.")] = 10,
    data: Data = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look for wrong offsets, duplicates, odd borders and unknown concepts; exit with 1 if anything was found."""
    listen(quiet=quiet, verbose=verbose)
    counts: Counter[str] = Counter()
    shown: list[tuple[str, str, str]] = []

    def note(kind: str, document: str, what: str) -> None:
        counts[kind] += 1
        if counts[kind] <= limit:
            shown.append((kind, document, what))

    def tell(error: FormatError, done: str) -> None:
        note("unreadable" if done == LEFT_OUT else "wrong offsets", "", str(error))

    repairs: list[str] = []
    with reporting(Reporter(warn=repairs.append)):
        try:
            faults = Faults("repair", tell, whole=True)
            found = documents(source, data=data, faults=faults, **reader_options(source, format, options, columns))
            for problem in check(progress(found, what="documents", quiet=quiet), kb=_open(kb)):
                note(*problem)
        except FormatError as error:
            note("unreadable", "", str(error))
    for repair in repairs:
        note("mended when read", "", repair)
    if not counts:
        say(f"{source}: nothing found")
        return
    table(source, ("problem", "document", "what"), shown)
    say(", ".join(f"{kind}: {count:,}" for kind, count in counts.most_common()))
    raise typer.Exit(1)


# --- split and prepare -----------------------------------------------------------------------------------------------


@app.command("split")
def split_all(
    source: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder, one file per split.")],
    shares: Annotated[str, typer.Option(help="Names and shares of the splits.")] = "train=0.8,dev=0.1,test=0.1",
    seed: Annotated[int, typer.Option(help="Seed of the random split.")] = 13,
    format: From = None,
    options: Options = None,
    columns: Columns = None,
    to: Annotated[str, typer.Option(help="Output format.")] = "jsonl",
    on_error: Errors = "stop",
    data: Data = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Split documents at random, the same way on every machine, into a folder that holds no splits yet."""
    listen(quiet=quiet, verbose=verbose)
    wanted = _parse_shares(shares)
    _refuse_splits(output, {"train", "dev", "test", *wanted})
    refuse_overwriting([source], [output / name for name in wanted], data=data)
    given = reader_options(source, format, options, columns)
    found = documents(source, data=data, faults=_count_faults(on_error), **given)
    docs = list(found)
    parts = split(docs, wanted, seed=seed)
    if twins := repeated(docs):
        logger.info("%s documents have the text of another one: they are in its split", f"{twins:,}")
    if empty := [name for name, part in parts.items() if wanted[name] and not part]:
        few = f"{len(docs):,} documents are too few for {', '.join(f'{name}={wanted[name]:g}' for name in empty)}"
        raise LinnetError(f"{few}: nothing is written; raise the share (--shares), leave it out, or annotate more")
    dropped: Counter[str] = Counter()
    for name, part in parts.items():
        path = _split_path(output, name, to)
        write(fitting(part, to, dropped), path, format=to)
        logger.info("%s: %s documents", path, f"{len(part):,}")
    say_lost(dropped, to)


def _parse_shares(text: str) -> dict[str, float]:
    shares = {}
    for item in text.split(","):
        name, equals, share = item.strip().partition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            equals = ""
        if not equals or not name or "/" in name or not math.isfinite(shares[name]):
            raise LinnetError(f"--shares {text}: expected name=share,…, for example train=0.8,dev=0.2")
    return shares


def _refuse_splits(folder: Path, names: set[str]) -> None:
    """Refuse to write splits beside others, which they would replace, or share documents with."""
    there = sorted(folder.iterdir()) if folder.is_dir() else ()
    if used := next((path for path in there if stem(path) in names), None):
        raise LinnetError(f"{folder} holds {used.name!r} already: choose a new folder, or move that away")


def _split_path(folder: Path, name: str, to: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    suffixes = FORMATS[to].suffixes if to in FORMATS and not FORMATS[to].write_folder else ()
    return folder / f"{name}{suffixes[0] if suffixes else ''}"


@app.command("prepare")
def prepare(
    name: Annotated[
        str,
        typer.Argument(
            help="A known corpus; NAME/LAYOUT selects a layout. Untested on published files: "
            f"{', '.join(chain.from_iterable(corpus.untested for corpus in CORPORA.values()))}."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder, one file per split.")],
    to: Annotated[str, typer.Option(help="Output format: jsonl, bioc, …")] = "jsonl",
    kb: Kb = None,
    absent: Annotated[
        Literal["keep", "drop"], typer.Option(help="What to do with mentions of concepts that --kb lacks.")
    ] = "keep",
    on_error: Errors = "stop",
    data: Data = None,
    download: Annotated[
        bool, typer.Option("--download", help="Download the corpus first, if it is freely available.")
    ] = False,
    urls: Annotated[
        list[str] | None, typer.Option("--url", help="With --download: another address; one per file.")
    ] = None,
    sha256: Annotated[
        list[str] | None, typer.Option("--sha256", help="With --download: the expected checksum; one per file.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write the splits of a known corpus that are found, with or without mentions absent from a knowledge base.

    The folds of a cross-validation become a folder each.
    """
    listen(quiet=quiet, verbose=verbose)
    if (urls or sha256) and not download:
        raise LinnetError("--url and --sha256 need --download")
    corpus = corpus_named(name)
    if corpus is None:
        read_corpus(name, split="train", data=data)  # says which corpora and layouts there are
        return
    base = _open(kb)
    if absent == "drop" and base is None:
        raise LinnetError("--absent drop needs --kb: absent from which knowledge base?")
    if download:
        if data is not None and not data.is_dir():  # before anything is fetched
            raise LinnetError(f"the data folder {data} does not exist; set --data or LINNET_DATA")
        with fetching(quiet=quiet) as begin:
            folder = download_corpus(name, urls=urls or (), sha256=sha256 or (), progress=begin)
        logger.info("%s: %s", folder, corpus.licence)
    folds = corpus.folds if "/" not in name else ()
    written = 0
    for fold in folds or ("",):
        source, place = (f"{name}/{fold}", output / fold) if fold else (name, output)
        for part in splits_of(source):
            written += _prepare_split(source, part, place, to, base, absent == "drop", data, _count_faults(on_error))
    if not written:
        raise _no_split(name, corpus)
    if corpus.terminologies:
        named = " or ".join(f"--from {item}" for item in corpus.terminologies)
        logger.info("its concepts: linnet kb build --download %s", named)


def _no_split(name: str, corpus: Corpus) -> LinnetError:
    fetched = " or fetch it with --download" if corpus.downloads else f" or get it from {corpus.page}"
    return LinnetError(f"no split of {name} was found: set --data or LINNET_DATA to the folder of the corpora{fetched}")


def _prepare_split(
    name: str,
    part: str,
    output: Path,
    to: str,
    base: KnowledgeBase | None,
    drop: bool,
    data: Path | None,
    faults: Faults,
) -> bool:
    """Write one split, if it is found, and return whether it was."""
    try:
        found = read_corpus(name, split=part, data=data, faults=faults)
    except FormatError as error:  # it is not there; what is there and damaged is an error below
        logger.info("%s: left out, %s", part, error)
        return False
    path = _split_path(output, part, to)
    refuse_overwriting([f"{name}:{part}"], [path], data=data)
    docs = list(found)
    counts: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    kept_docs = (_remove_absent(doc, base, counts, drop=drop) for doc in docs)
    write(fitting(kept_docs, to, dropped), path, format=to)
    done = "dropped" if drop else "kept"
    missing = f", {counts['absent']:,} absent from the knowledge base, {done}" if base is not None else ""
    logger.info("%s: %s documents, %s mentions%s", path, f"{len(docs):,}", f"{counts['all']:,}", missing)
    say_lost(dropped, to)
    return True


def _remove_absent(doc: Document, kb: KnowledgeBase | None, counts: Counter[str], *, drop: bool) -> Document:
    mentions = doc.mentions or ()
    counts["all"] += len(mentions)
    if kb is None:
        return doc
    there = [mention for mention in mentions if all(id in kb for id in mention.concepts or ())]
    counts["absent"] += len(mentions) - len(there)
    return dataclasses.replace(doc, mentions=tuple(there)) if drop else doc
