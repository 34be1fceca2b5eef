"""Rows of a generated table in a Markdown page; rows of other recipes stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from linnet.evaluate.linked import PROTOCOLS
from linnet.evaluate.report import Report
from linnet.text.files import read_text, replacing

__all__ = ["DETAILS", "END_TO_END", "NOTHING", "REPORTS", "PageTable", "put_rows"]

ACCURACY = {f"{protocol}.accuracy@1": f"@1 {protocol}" for protocol in PROTOCOLS}
RECALL = {f"in-kb.recall@{k}": f"@{k} in-kb" for k in (5, 20, 64)}
END_TO_END = {"strict.f1": "strict F1", "document.f1": "document F1"}
ECE = "ECE"
COST = ("documents/s", "mentions/s", "load s", "peak MiB", "index MiB")
RANKS = {
    "in-kb.accuracy@1": "P@1", "in-kb.map": "MAP", "in-kb.recall@10": "R@10",
    "in-kb.normalised.accuracy@1": "P@1 normalised", "in-kb.normalised.map": "MAP normalised",
}  # fmt: skip
MATCHES = {
    "recognition.strict.f1": "mentions F1", "strict.precision": "strict P", "strict.recall": "strict R",
    "strict.f1": "strict F1", "partial.f1": "partial F1", "overlap-maxmax.f1": "proportional F1",
}  # fmt: skip
NOTHING = "–"


@dataclass(frozen=True, kw_only=True)
class PageTable:
    """A table between two marks of a page.

    Args:
        by: the command that makes its rows.
        columns: their names, those of texts first.
        texts: how many columns are texts.
        key: how many columns say what a row is about; they are set as code.
    """

    by: str
    columns: Sequence[str]
    texts: int
    key: int

    @property
    def begin(self) -> str:
        """The mark before the table."""
        return f"<!-- Rows by `{self.by}`: do not edit between these lines. -->"

    @property
    def end(self) -> str:
        """The mark behind the table."""
        return f"<!-- End of the rows by `{self.by}`. -->"

    def put(self, text: str, rows: Sequence[Sequence[str]]) -> str:
        """Return `text` with rows between the two marks, which are added at its end if need be.

        Rows take the place of all that are about the same. They are in the order of what they are about and, where
        that is the same, in the order given: the same rows give the same text whatever came first.

        >>> table = PageTable(by="linnet", columns=("recipe", "figure"), texts=1, key=1)
        >>> once = table.put("# Benchmarks", [("b", "0.7"), ("b", "0.5"), ("a", "0.3")])
        >>> print(table.put(once, [("b", "0.9")]))
        # Benchmarks
        <BLANKLINE>
        <!-- Rows by `linnet`: do not edit between these lines. -->
        | recipe | figure |
        |---|---:|
        | `a` | 0.3 |
        | `b` | 0.9 |
        <!-- End of the rows by `linnet`. -->
        <BLANKLINE>
        """
        if self.begin in text and self.end in text:
            before, _, rest = text.partition(self.begin)
            inside, _, after = rest.partition(self.end)
        else:
            before, inside, after = (text.rstrip() + "\n\n" if text.strip() else ""), "", "\n"
        numbers = len(self.columns) - self.texts
        head = [f"| {' | '.join(self.columns)} |", "|" + "---|" * self.texts + "---:|" * numbers]
        kept = self._by_key(line for line in inside.splitlines() if line.startswith("| `"))
        kept |= self._by_key(map(self._line, rows))
        lines = [line for key in sorted(kept) for line in kept[key]]
        return before + "\n".join([self.begin, *head, *lines, self.end]) + after

    def write(self, page: Path, rows: Sequence[Sequence[str]]) -> None:
        """Put rows into a file with `put`.

        Raises:
            FormatError: it is no text.
            OSError: it cannot be written.
        """
        text = self.put(read_text(page), rows)
        with replacing(page) as stream:
            stream.write(text)

    def _line(self, row: Sequence[str]) -> str:
        texts = [_escape(text) for text in row[: self.texts]]
        return (
            f"| {' | '.join([*(f'`{text}`' for text in texts[: self.key]), *texts[self.key :], *row[self.texts :]])} |"
        )

    def _by_key(self, lines: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
        found: dict[tuple[str, ...], list[str]] = {}
        for line in lines:
            found.setdefault(tuple(cell.strip() for cell in line.split("|")[1 : 1 + self.key]), []).append(line)
        return found


REPORTS = PageTable(
    by="linnet reproduce",
    columns=("recipe", "corpus", *ACCURACY.values(), *RECALL.values(), *END_TO_END.values(), ECE, *COST),
    texts=2,
    key=2,
)
DETAILS = PageTable(
    by="linnet reproduce --detailed",
    columns=("recipe", "corpus", *RANKS.values(), *MATCHES.values(), "ms/mention", "trained in"),
    texts=2,
    key=2,
)


def put_rows(text: str, reports: Sequence[Report], *, detailed: bool = False) -> str:
    """Return `text` with a row for each report in the table `REPORTS`; one of the same recipe and corpus is replaced.

    With `detailed` the table `DETAILS` gets one too: what the papers on dual encoders show.

    >>> from linnet.evaluate.report import About
    >>> report = Report(about=About(system="bc5cdr/exact", corpus="bc5cdr:dev"), documents=500)
    >>> once = put_rows("# Benchmarks", [report])
    >>> once == put_rows(once, [report]), once.count("bc5cdr/exact")
    (True, 1)
    """
    text = REPORTS.put(text, list(map(_row, reports)))
    return DETAILS.put(text, list(map(_details, reports))) if detailed else text


def _row(report: Report) -> list[str]:
    names = [report.about.system, report.about.corpus]
    figures = [_figure(report, name) for name in (*ACCURACY, *RECALL, *END_TO_END)]
    cost = report.cost
    costs = [NOTHING] * len(COST)
    if cost is not None:
        costs = [
            f"{cost.documents_per_second:,.0f}", f"{cost.mentions_per_second:,.0f}", f"{cost.load_seconds:.2f}",
            NOTHING if cost.anonymous_bytes is None else f"{cost.anonymous_bytes / 2**20:,.0f}",
            f"{cost.index_bytes / 2**20:,.0f}",
        ]  # fmt: skip
    return [*names, *figures, _calibration_error(report), *costs]


def _calibration_error(report: Report) -> str:
    """Return the expected calibration error, where somebody made frequencies of the scores."""
    found = report.reliability
    return f"{found.ece:.3f}" if found is not None and found.calibrated else NOTHING


def _details(report: Report) -> list[str]:
    matches = [NOTHING if report.given else _value(report, name) for name in MATCHES]
    speed = report.cost.mentions_per_second if report.cost else 0.0
    time = f"{1000 / speed:.1f}" if speed else NOTHING
    trained = NOTHING if report.training_seconds is None else f"{report.training_seconds / 60:.0f} min"
    return [
        report.about.system, report.about.corpus, *(_value(report, name) for name in RANKS), *matches, time, trained
    ]  # fmt: skip


def _value(report: Report, name: str) -> str:
    found = report.measures.get(name)
    return NOTHING if found is None else f"{found.value:.3f}"


def _figure(report: Report, name: str) -> str:
    found = report.measures.get(name)
    return NOTHING if found is None else str(found)


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("|", "/").replace("`", "'")
