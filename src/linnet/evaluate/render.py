"""Reports → tables, and tables → CSV, Markdown and JSON. Nothing is printed; the command line shows the `Table`s."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linnet.data import ASSERTIONS
from linnet.evaluate.report import BY_TYPE, PARTS, About, Comparison, Figure, Reliability, Report
from linnet.evaluate.uncertainty import FEW
from linnet.pipeline.component import describe_seen
from linnet.text.cells import quote_formula

__all__ = ["Table", "caption", "tables", "to_csv", "to_json", "to_markdown"]

LINKING = (
    ("accuracy@1", "accuracy@1"), ("recall@5", "recall@5"), ("recall@20", "recall@20"), ("recall@64", "recall@64"),
    ("mrr", "MRR"), ("map", "MAP"),
)  # fmt: skip
END_TO_END = (
    ("strict", "same span + concept (strict)"), ("partial", "overlapping span + concept (partial)"),
    ("document", "concepts of each document (document)"), ("patient", "findings of the patient (patient)"),
    ("recognition.strict", "same span (recognition.strict)"),
)  # fmt: skip
NOTHING = "–"
NO_KB = "no knowledge base: every concept counts as known, other ids of a concept count as wrong; give --kb"
TOO_FEW = f"under {FEW} documents are few: intervals are too narrow, p of the bootstrap is too small"
UNCALIBRATED = "probabilities are uncalibrated"
GIVEN = "was given the gold mentions (or found exactly those): no end-to-end metrics"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts: title, names of the columns, rows; all columns but the first hold numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def caption(reports: Sequence[Report]) -> str:
    """Return one line that says what was compared, under which protocol and rule, and what flatters the systems.

    >>> from linnet.evaluate.report import About
    >>> about = About(corpus="bc5cdr:dev", kb="mesh", kb_version="1f0c")
    >>> caption([Report(about=about, documents=500, mentions={"gold": 9591, "in-kb": 9064})])
    'bc5cdr:dev: 500 documents, 9,591 mentions, 9,064 of them in-kb; knowledge base mesh (1f0c); all-of'
    """
    report = reports[0]
    about = report.about
    mentions = report.mentions.get("gold", 0)
    counted = report.mentions.get(about.protocol, 0)
    kb = f"knowledge base {about.kb} ({about.kb_version[:12]})" if about.kb_version else NO_KB
    name = f"{about.corpus}: " if about.corpus else ""
    documents = f"{report.documents:,} document{'' if report.documents == 1 else 's'}"
    kind = "with a concept" if about.protocol == "all" else about.protocol
    sizes = f"{documents}, {mentions:,} mentions, {counted:,} of them {kind}"
    notes = [
        *([TOO_FEW] * bool(about.samples and 0 < report.documents < FEW)),
        *(
            [f"{report.unannotated:,} of the documents have no annotation: every mention found there counts as wrong"]
            * bool(report.unannotated)
        ),
        *(f"{one.about.system} was {seen} of the documents" for one in reports if (seen := describe_seen(one.seen))),
        *(f"{one.about.system} {GIVEN}" for one in reports if one.given),
    ]
    return "; ".join([f"{name}{sizes}", kb, about.rule, *notes])


def tables(reports: Sequence[Report], comparisons: Sequence[Comparison] = ()) -> list[Table]:
    """Return the headline tables of one system or of several side by side: what people read first.

    What a system that was given the mentions says of whole texts is left out: it would be taken for what it found.

    >>> from linnet.evaluate.report import About
    >>> report = Report(about=About(), documents=1, measures={"in-kb.accuracy@1": Figure(value=0.5)})
    >>> tables([report])[0].rows
    (('accuracy@1', '0.500'),)
    """
    if not reports:
        return []
    about = reports[0].about
    names = tuple(report.about.system for report in reports)
    found = [report.model_copy(update={"measures": {}}) if report.given else report for report in reports]
    made = [
        _side_by_side(
            f"linking of gold mentions (mentions not found count as wrong), protocol {about.protocol}",
            reports,
            names,
            _linking(about),
        ),
        _prf("end to end, micro-averaged", found, names, END_TO_END),
        _prf("same span, by type", found, names, _types(found)),
        _side_by_side("assertion at the same span", reports, names, [("assertion.accuracy", "accuracy")]),
        _prf("assertion at the same span, by value", reports, names, [(f"assertion.{one}", one) for one in ASSERTIONS]),
        _calibration(reports, names),
        _differences(comparisons),
        _costs(reports, names),
    ]
    return [table for table in made if table.rows]


def _linking(about: About) -> list[tuple[str, str]]:
    known = [("all.coverage", "known to the KB, of all")] if about.kb_version else []
    return [*((f"{about.protocol}.{key}", label) for key, label in LINKING), *known]


def _side_by_side(
    title: str, reports: Sequence[Report], names: tuple[str, ...], wanted: Iterable[tuple[str, str]]
) -> Table:
    rows = [
        (label, *(_text(report.measures.get(key)) for report in reports))
        for key, label in wanted
        if any(key in report.measures for report in reports)
    ]
    return Table(title, ("", *names), tuple(rows))


def _text(figure: Figure | None) -> str:
    return NOTHING if figure is None else str(figure)


def _types(reports: Sequence[Report]) -> list[tuple[str, str]]:
    """Return the types that gold has and some system has found: types of another vocabulary say nothing."""
    found: dict[str, None] = {}
    for report in reports:
        for name, figure in report.measures.items():
            if name.startswith(BY_TYPE) and name.endswith(".recall") and figure.value > 0:
                found[name.removesuffix(".recall")] = None
    return [(name, name.removeprefix(BY_TYPE) or "no type") for name in sorted(found)]


def _prf(title: str, reports: Sequence[Report], names: tuple[str, ...], keys: Sequence[tuple[str, str]]) -> Table:
    """Return precision, recall and F1 of one system, or the F1 of several."""
    if len(reports) > 1:
        wanted = [(f"{key}.f1", f"{label}, F1") for key, label in keys]
        return _side_by_side(title, reports, names, wanted)
    measures = reports[0].measures
    rows = [
        (label, *(_text(measures.get(f"{key}.{part}")) for part in PARTS))
        for key, label in keys
        if f"{key}.f1" in measures
    ]
    return Table(title, ("", "precision", "recall", "F1"), tuple(rows))


def _calibration(reports: Sequence[Report], names: tuple[str, ...]) -> Table:
    found = [report.reliability for report in reports]
    if not any(found):
        return Table("", (), ())
    lines = [[NOTHING] * 4 if one is None else _trust(one) for one in found]
    labels = ("probability is of", "expected calibration error", "Brier score", "area under risk–coverage")
    rows = tuple((label, *(line[place] for line in lines)) for place, label in enumerate(labels))
    return Table("calibration", ("", *names), rows)


def _trust(one: Reliability) -> list[str]:
    what = "span and concept" if one.of == "joint" else "concept, span given"
    error, *others = (f"{value:.3f}" for value in (one.ece, one.brier, one.aurc))
    return [what, error if one.calibrated else f"{error} ({UNCALIBRATED})", *others]


def _differences(comparisons: Sequence[Comparison]) -> Table:
    rows = tuple(
        (f"{one.a} − {one.b}", one.measure, f"{one.difference:+.3f}", one.test, _p(one.p), _p(one.adjusted))
        for one in comparisons
    )
    return Table("differences", ("systems", "measure", "difference", "test", "p", "p (Holm)"), rows)


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _costs(reports: Sequence[Report], names: tuple[str, ...]) -> Table:
    if not any(report.cost for report in reports):
        return Table("", (), ())
    found = [dict(report.cost.rows()) if report.cost else {} for report in reports]
    labels = next(list(rows) for rows in found if rows)
    return Table(
        "cost", ("", *names), tuple((label, *(rows.get(label, NOTHING) for rows in found)) for label in labels)
    )


# --- files -----------------------------------------------------------------------------------------------------------


def to_csv(reports: Sequence[Report]) -> str:
    r"""Return every metric of every system as CSV, one per line; a cell that a spreadsheet would run is quoted.

    Kinds are ``measure``, ``slice``, ``calibration`` and ``error``: how many mentions are wrong in which way.

    >>> to_csv([]).strip()
    'system,kind,name,value,low,high,above,below'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("system", "kind", "name", "value", "low", "high", "above", "below"))
    for report in reports:
        system, trust = quote_formula(report.about.system), report.reliability
        for kind, figures in (("measure", report.measures), ("slice", report.slices)):
            for name, one in figures.items():
                numbers = (one.value, one.low, one.high, one.above, one.below)
                writer.writerow((system, kind, quote_formula(name), *numbers))
        found = {"ece": trust.ece, "brier": trust.brier, "aurc": trust.aurc} if trust else {}
        for name, value in found.items():
            writer.writerow((system, "calibration", f"{trust.of}.{name}" if trust else "", value, *[None] * 4))
        for name, count in report.kinds.items():
            writer.writerow((system, "error", quote_formula(name), count, *[None] * 4))
    return stream.getvalue()


def to_json(reports: Sequence[Report], comparisons: Sequence[Comparison] = ()) -> str:
    """Return one report as `Report.to_json` does, several as ``{"systems": […], "comparisons": […]}``."""
    if len(reports) == 1:
        return reports[0].to_json()
    values = {
        "systems": [report.model_dump(mode="json") for report in reports],
        "comparisons": [one.model_dump(mode="json") for one in comparisons],
    }
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def to_markdown(reports: Sequence[Report], comparisons: Sequence[Comparison] = ()) -> str:
    r"""Return the headline tables, all metrics and the slices as Markdown.

    >>> from linnet.evaluate.report import About
    >>> print(to_markdown([Report(about=About(system="a|b"), documents=1)]).splitlines()[0])
    # a\|b
    """
    lines = [f"# {_escape(' · '.join(report.about.system for report in reports)) or 'Nothing'}", ""]
    for report in reports[:1]:
        made = f"Linnet {report.about.code}; gold SHA-256 {report.about.corpus_hash[:12]}"
        lines += [f"{_escape(caption(reports))}. {_escape(made)}.", ""]
    lines += [f"{_escape(f'{a.system}: {a.pipeline}')}\n" for a in (report.about for report in reports) if a.pipeline]
    for table in tables(reports, comparisons):
        lines += _markdown(table)
    names = tuple(report.about.system for report in reports)
    for title, found in (("slices, accuracy@1", "slices"), ("all measures", "measures")):
        keys = dict.fromkeys(key for report in reports for key in getattr(report, found))
        rows = [
            (key, _size(reports, found, key), *(_text(getattr(report, found).get(key)) for report in reports))
            for key in keys
        ]
        lines += _markdown(Table(title, ("", "of", *names), tuple(rows))) if rows else []
    return "\n".join(lines).rstrip() + "\n"


def _size(reports: Sequence[Report], found: str, key: str) -> str:
    sizes = {one.below for report in reports if (one := getattr(report, found).get(key)) and one.below is not None}
    return f"{sizes.pop():,.0f}" if len(sizes) == 1 else ""


def _markdown(table: Table) -> list[str]:
    head = [f"## {_escape(table.title)}", "", f"| {' | '.join(map(_escape, table.columns))} |"]
    rule = "|---|" + "---:|" * (len(table.columns) - 1)
    return [*head, rule, *(f"| {' | '.join(map(_escape, row))} |" for row in table.rows), ""]


def _escape(text: str) -> str:
    """Return `text` with what Markdown would take for markup or the end of a cell made harmless."""
    plain = " ".join(text.split())
    escaped = re.sub(r"([\\|*`])", r"\\\1", plain)
    return escaped.replace("<", "&lt;").replace("](", "]\\(")  # brackets alone are no link
