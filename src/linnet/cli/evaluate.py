"""``linnet evaluate``: gold against the predictions of one system or of several."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from linnet.cli.common import Metrics, Quiet, Verbose, listen, table
from linnet.cli.inputs import refuse_overwriting
from linnet.cli.terminal import say
from linnet.cli.times import Times
from linnet.corpora import read
from linnet.corpora.catalog import corpus_named
from linnet.corpora.formats import FORMATS, suffix
from linnet.corpora.mentions_csv import lacks_texts, read_mentions
from linnet.corpora.splits import taught
from linnet.corpora.vocabulary import documents
from linnet.data import Document
from linnet.errors import LinnetError, did_you_mean
from linnet.evaluate import About, Comparison, Options, Report, compare, measure
from linnet.evaluate.files import check_reports, write_reports
from linnet.evaluate.linked import PROTOCOLS, Protocol
from linnet.evaluate.render import caption, tables, to_json
from linnet.evaluate.terminology import of_one_terminology, unknown_ids
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import describe_seen
from linnet.recipes.config import open_kb
from linnet.recipes.knowledge_bases import kb_of_version

__all__ = ["evaluate", "show"]

logger = logging.getLogger(__name__)

OLD = ("mention", "document")  # measures that --json shows with their counts, by part


Base = Annotated[
    str | None,
    typer.Option(
        help="Knowledge base: defines which concepts can be found, maps retired ids to successors; "
        "default: the one that made the predictions, if it is under LINNET_HOME."
    ),
]
Output = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", help="Also write the report: .json, .csv, .md or .html; repeatable."),
]
Source = Annotated[str | None, typer.Option("--from", help="Format of GOLD; guessed by default.")]
Data = Annotated[
    Path | None, typer.Option(envvar="LINNET_DATA", help="Folder of the known corpora.", show_default=False)
]
Samples = Annotated[int, typer.Option(min=0, help="Bootstrap draws of the intervals; 0 = no intervals.")]
AsPredicted = Annotated[
    bool,
    typer.Option(
        "--as-predicted",
        help="Treat all mentions of PREDICTED as predictions, for PubTator, BioC, brat and the like.",
    ),
]


class _Out(NamedTuple):
    """Reports and how they differ: what every output shows."""

    reports: Sequence[Report]
    comparisons: Sequence[Comparison]


def evaluate(
    gold: Annotated[str, typer.Argument(help="Documents with gold mentions: a file, or a known corpus: bc5cdr:dev.")],
    predicted: Annotated[list[str], typer.Argument(help="The same documents with predicted mentions, one file each.")],
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Name of a system, in the order given; default: its file.")
    ] = None,
    kb: Base = None,
    train: Annotated[
        str | None, typer.Option(help="Training documents of the systems: adds slices of seen and unseen concepts.")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help=f"Mentions that count (docs/measures.md): {', '.join(PROTOCOLS)}.")
    ] = "in-kb",
    rule: Annotated[
        str, typer.Option(help="Answers with several concepts: all-of = all must be right, any-of = one is enough.")
    ] = "all-of",
    output: Output = None,
    to: Annotated[list[Path] | None, typer.Option("--to", hidden=True)] = None,  # what -o was called
    samples: Samples = 1000,
    source: Source = None,
    as_predicted: AsPredicted = False,
    data: Data = None,
    metrics: Metrics = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Score predictions against gold: linking, end to end, calibration, errors; several systems side by side."""
    listen(quiet=quiet, verbose=verbose)
    outputs = [*(output or ()), *(to or ())]
    check_reports(outputs)
    refuse_overwriting([gold, *predicted, train, kb], [*outputs, metrics], data=data)
    names = _name_systems(name or [], predicted)
    options = Options(protocol=_protocol(protocol), samples=samples)
    base = None if kb is None else open_kb(kb)
    times = Times()
    with times.step("read", gold) as wanted:
        wanted.extend(_read_gold(gold, source, data))
    learned = None if train is None else _marked(train, list(documents(train, data=data)))
    systems = _read_all(names, predicted, wanted, times, as_predicted=as_predicted)
    systems = {system: _of_gold(wanted, found, base) for system, found in systems.items()}
    base = _find_kb(systems.values()) if base is None else base
    _warn_of_unknown(wanted, systems, base)
    measured = []
    for system, found in systems.items():
        with times.step("measure", system) as docs:
            docs.extend(found)
            about = _about(gold, system)
            one = measure(wanted, found, kb=base, train=learned, rule=_rule(rule), about=about, options=options)
        measured.append(one)
    with times.step("compare"):
        out = _Out([one.report for one in measured], compare(measured))
    times.write(metrics)
    write_reports(out.reports, outputs, comparisons=out.comparisons)
    _warn_of_seen(out.reports)
    _warn_of_unannotated(gold, out.reports[0])
    if as_json:
        print(_json(out))
    elif not quiet or not outputs:
        show(out.reports, out.comparisons)


def _about(gold: str, system: str) -> About:
    name, _, split = gold.partition(":")
    if corpus_named(name):
        return About(corpus=gold, split=split, system=system)
    return About(corpus=Path(gold).name, system=system)


def _read_gold(name: str, source: str | None, data: Path | None) -> list[Document]:
    docs = list(documents(name, format=source, data=data))
    if not docs:
        raise LinnetError(f"{name} holds no documents to compare with")
    if all(doc.mentions is None for doc in docs):
        raise LinnetError(f"{name} holds no annotations to compare with: give documents with gold mentions")
    if {mention.source for doc in docs for mention in doc.mentions or ()} == {"pred"}:
        logger.warning("%s is what a pipeline found, and counts as gold here: the gold comes first", name)
    return _marked(name, docs)


def _marked(name: str, docs: list[Document]) -> list[Document]:
    """Return documents with what people marked, and all that is in them where nobody says to have marked anything."""
    found = Counter(mention.source for doc in docs for mention in doc.mentions or ())
    if set(found) <= {"pred"} or not found["pred"]:
        return docs
    count = f"{found['pred']:,}"
    logger.warning("%s: mentions that a pipeline found, and nobody marked, are left out: %s", name, count)
    return [taught(doc) for doc in docs]


def _warn_of_unannotated(gold: str, report: Report) -> None:
    if report.unannotated:
        told = f"{report.unannotated:,} of {report.documents:,} documents of {gold}"
        way = "to leave them out, remove their texts and link the rest; an empty .ann marks a text without mentions"
        logger.warning("nobody annotated %s: every mention found there counts as wrong; %s", told, way)


def _read_all(
    names: Sequence[str], paths: Sequence[str], gold: Sequence[Document], times: Times, *, as_predicted: bool
) -> dict[str, list[Document]]:
    """Return the predictions of each system."""
    systems: dict[str, list[Document]] = {}
    for system, path in zip(names, paths, strict=True):
        with times.step("read", system) as systems[system]:
            systems[system].extend(_read_predictions(path, gold, as_predicted=as_predicted))
    return systems


def _read_predictions(path: str, gold: Sequence[Document], *, as_predicted: bool) -> list[Document]:
    """Return documents with predicted mentions, gold ones among them left for `measure` to refuse.

    A CSV of mentions without their texts is about those of `gold`.
    """
    alone = suffix(path) in FORMATS["csv"].suffixes and Path(path).is_file() and lacks_texts(path)
    docs = list(read_mentions(path, (Document(doc.id, doc.text) for doc in gold)) if alone else read(path))
    if as_predicted:
        return [
            replace(doc, mentions=tuple(replace(mention, source="pred") for mention in doc.mentions or ()))
            for doc in docs
        ]
    sources = {mention.source for doc in docs for mention in doc.mentions or ()}
    if sources == {"gold"}:
        raise LinnetError(
            f"{path} contains only gold mentions: gold comes first, then what systems found; if a system made them, "
            "use --as-predicted"
        )
    return docs


def _of_gold(gold: Sequence[Document], found: Sequence[Document], kb: KnowledgeBase | None) -> list[Document]:
    """Return predictions of the terminology of gold, and say which others were left out."""
    _, kept = of_one_terminology(gold, found, kb=kb)
    ours, all_of_them = _terminologies(kept), _terminologies(found)
    if len(ours) < len(all_of_them):
        others = ", ".join(sorted(all_of_them - ours))
        logger.info("measured are the mentions of %s; those of %s are left out", ", ".join(ours), others)
    return kept


def _terminologies(docs: Iterable[Document]) -> set[str]:
    return {mention.terminology for doc in docs for mention in doc.mentions or ()} - {""}


def _find_kb(systems: Iterable[Sequence[Document]]) -> KnowledgeBase | None:
    """Return the knowledge base under LINNET_HOME that the predictions name, if they all name the same one."""
    lists = (mention.candidates for docs in systems for doc in docs for mention in doc.mentions or ())
    versions = sorted({candidates.kb for candidates in lists if candidates is not None} - {""})
    found = kb_of_version(versions[0]) if len(versions) == 1 else None
    if found is not None:
        logger.info("measured with the knowledge base %s, which made the predictions", found.path)
    else:
        named = f"version {' and '.join(versions)}" if versions else "none"
        where = f", looked for in {kb_folder()}" if len(versions) == 1 else ""
        logger.warning("no knowledge base: the predictions name %s%s; give --kb", named, where)
    return found


def _warn_of_seen(reports: Sequence[Report]) -> None:
    for report in reports:
        if seen := describe_seen(report.seen):
            logger.warning("%s was %s of these documents: its scores on them are too high", report.about.system, seen)


def _warn_of_unknown(gold: Sequence[Document], systems: Mapping[str, list[Document]], kb: KnowledgeBase | None) -> None:
    for system, found in systems.items():
        if kb is not None and (unknown := unknown_ids(gold, found, kb)):
            logger.warning("%s: %s", system, unknown)


def _protocol(name: str) -> Protocol:
    for known in PROTOCOLS:
        if name == known:
            return known
    raise LinnetError(
        f"unknown protocol {name!r}, expected one of {', '.join(PROTOCOLS)}{did_you_mean(name, PROTOCOLS)}"
    )


def _rule(name: str) -> Literal["all-of", "any-of"]:
    if name == "all-of":
        return "all-of"
    if name == "any-of":
        return "any-of"
    raise LinnetError(f"unknown rule {name!r}, expected all-of or any-of{did_you_mean(name, ('all-of', 'any-of'))}")


def _name_systems(given: Sequence[str], predicted: Sequence[str]) -> list[str]:
    """Return a name for each system, all different."""
    if given and len(given) != len(predicted):
        raise LinnetError(f"{len(predicted)} files of predictions but {len(given)} --name: give one for each, or none")
    names = list(given) or [Path(path).stem for path in predicted]
    if not given and len(set(names)) < len(names):
        names = list(predicted)
    if twice := [name for name in names if names.count(name) > 1]:
        raise LinnetError(f"two systems are called {twice[0]!r}: give each a different name with --name")
    return names


def show(reports: Sequence[Report], comparisons: Sequence[Comparison] = ()) -> None:
    """Print the headline tables."""
    say(caption(reports))
    if reports[0].about.samples:
        print(f"[…] are {reports[0].about.level:.0%} intervals, bootstrap by document")
    for one in tables(reports, comparisons):
        print()
        numbers = () if one.title == "differences" else range(1, len(one.columns))
        table(one.title, one.columns, one.rows, right=numbers)
    if reports[0].kinds:
        print()
        names = [report.about.system for report in reports]
        kinds = dict.fromkeys(kind for report in reports for kind in report.kinds)
        rows = [(kind, *(f"{report.kinds.get(kind, 0):,}" for report in reports)) for kind in kinds]
        table("errors, of all mentions", ("kind", *names), rows, right=range(1, len(names) + 1))


def _json(out: _Out) -> str:
    """Return one system's report with the counts of `OLD` in front, or the reports of several."""
    if len(out.reports) > 1:
        return to_json(out.reports, out.comparisons).rstrip("\n")
    [report] = out.reports
    values = {"documents": report.documents, **{name: _counts(report, name) for name in OLD}}
    return json.dumps({**values, **report.model_dump(mode="json")})


def _counts(report: Report, name: str) -> dict[str, float]:
    """Return precision, recall and F1 of a measure with the counts they are made of."""
    precision, recall, f1 = (report.measures[f"{name}.{part}"] for part in ("precision", "recall", "f1"))
    return {
        "precision": precision.value,
        "recall": recall.value,
        "f1": f1.value,
        "right": _to_int(precision.above),
        "predicted": _to_int(precision.below),
        "gold": _to_int(recall.below),
    }


def _to_int(number: float | None) -> int:
    return round(number or 0.0)
