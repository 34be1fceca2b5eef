"""Reports → rows of a generated table in a Markdown page; rows of other recipes stay."""

from __future__ import annotations

from collections.abc import Sequence

from linnet.evaluate.linked import PROTOCOLS
from linnet.evaluate.report import Report

__all__ = ["BEGIN", "END", "put_rows"]

BEGIN = "<!-- Rows by `linnet reproduce`: do not edit between these lines. -->"
END = "<!-- End of the rows by `linnet reproduce`. -->"
ACCURACY = {f"{protocol}.accuracy@1": f"@1 {protocol}" for protocol in PROTOCOLS}
RECALL = {f"in-kb.recall@{k}": f"@{k} in-kb" for k in (5, 20, 64)}
END_TO_END = {"strict.f1": "strict F1", "document.f1": "document F1"}
COST = ("documents/s", "mentions/s", "load s", "peak MiB", "index MiB")
COLUMNS = ("recipe", "corpus", *ACCURACY.values(), *RECALL.values(), *END_TO_END.values(), *COST)
NOTHING = "–"


def put_rows(text: str, reports: Sequence[Report]) -> str:
    """Return `text` with a row for each report between its two marks; the marks are added at its end if need be.

    A row takes the place of that of the same recipe and corpus. Rows are in the order of recipe and corpus, so the
    same reports give the same text whatever came first.

    >>> from linnet.evaluate.report import About
    >>> report = Report(about=About(system="bc5cdr/exact", corpus="bc5cdr:dev"), documents=500)
    >>> once = put_rows("# Benchmarks", [report])
    >>> once == put_rows(once, [report]), once.count("bc5cdr/exact")
    (True, 1)
    """
    if BEGIN in text and END in text:
        before, _, rest = text.partition(BEGIN)
        inside, _, after = rest.partition(END)
    else:
        before, inside, after = (text.rstrip() + "\n\n" if text.strip() else ""), "", "\n"
    rows = {_key(line): line for line in inside.splitlines() if line.startswith("| `")}
    rows |= {_key(line): line for line in map(_row, reports)}
    head = [f"| {' | '.join(COLUMNS)} |", "|---|---|" + "---:|" * (len(COLUMNS) - 2)]
    return before + "\n".join([BEGIN, *head, *(rows[key] for key in sorted(rows)), END]) + after


def _key(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.split("|")[1:3])


def _row(report: Report) -> str:
    names = [f"`{_plain(text)}`" for text in (report.about.system, report.about.corpus)]
    figures = [_figure(report, name) for name in (*ACCURACY, *RECALL, *END_TO_END)]
    cost = report.cost
    costs = [NOTHING] * len(COST)
    if cost is not None:
        costs = [
            f"{cost.documents_per_second:,.0f}", f"{cost.mentions_per_second:,.0f}", f"{cost.load_seconds:.2f}",
            NOTHING if cost.anonymous_bytes is None else f"{cost.anonymous_bytes / 2**20:,.0f}",
            f"{cost.index_bytes / 2**20:,.0f}",
        ]  # fmt: skip
    return f"| {' | '.join([*names, *figures, *costs])} |"


def _figure(report: Report, name: str) -> str:
    found = report.measures.get(name)
    return NOTHING if found is None else str(found)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "/").replace("`", "'")
