"""Reports → one self-contained HTML page: tables, curves, slices with intervals, and a browser of the errors.

The figures travel as one JSON island, the page's script draws them. No text becomes markup: the island holds no ``<``,
and the script only ever makes text nodes. A Content-Security-Policy names the page's own script and style by their
hashes and forbids everything else, the network included. The size is bounded by how many errors a report keeps and
`ERRORS`; what is left out is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from linnet.evaluate.curves import draw
from linnet.evaluate.render import caption, tables
from linnet.evaluate.report import Comparison, Report
from linnet.text.web import asset, escape, island, page

__all__ = ["write_page"]

ERRORS = 4000  # that one page holds, shared by its systems: about 3 MB
CONFUSIONS = 100  # of each system


def write_page(reports: Sequence[Report], stream: TextIO, *, comparisons: Sequence[Comparison] = ()) -> None:
    """Write a page of one system, or of several side by side.

    Args:
        reports: at least one; those of several systems are of the same documents.
        stream: an open text stream of any encoding, since the page is ASCII.
        comparisons: how the systems differ.

    >>> import io
    >>> from linnet.evaluate.report import About
    >>> page = io.StringIO()
    >>> write_page([Report(about=About(system="<b>"), documents=1)], page)
    >>> "<b>" in page.getvalue()
    False
    """
    title = " · ".join(report.about.system for report in reports)
    values = {
        "heading": escape(title),
        "caption": escape(caption(reports)),
        "data": island(_data(reports, comparisons)),
        "training": "".join(_training(report) for report in reports),
    }
    body, style, script = (asset("linnet.evaluate", f"page.{kind}") for kind in ("html", "css", "js"))
    stream.write(page(body, values, title=f"{title}: evaluation", style=style, script=script))


def _training(report: Report) -> str:
    """Return figures of how a system was trained."""
    return "".join(
        f'<figure><figcaption dir="auto">{escape(f"{report.about.system}, {title}")}</figcaption>'
        f"{draw(lines, title=title, x='step', y=title)}</figure>"
        for title, lines in report.training.items()
    )


def _data(reports: Sequence[Report], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    share = ERRORS // max(1, len(reports))
    return {
        "protocol": reports[0].about.protocol,
        "level": reports[0].about.level if reports[0].about.samples else None,
        "tables": [
            {"title": table.title, "columns": table.columns, "rows": table.rows}
            for table in tables(reports, comparisons)
        ],
        "systems": [_system(report, share) for report in reports],
    }


def _system(report: Report, share: int) -> dict[str, Any]:
    about = report.about.model_dump(mode="json")
    return {
        "name": report.about.system,
        "about": {key: str(value) for key, value in about.items() if value != ""},
        "measures": {name: _figure(one) for name, one in report.measures.items()},
        "slices": {name: _figure(one) for name, one in report.slices.items()},
        "reliability": report.reliability and report.reliability.model_dump(mode="json"),
        "kinds": report.kinds,
        "wrong": [one.model_dump(mode="json") for one in report.wrong[:share]],
        "confusions": [one.model_dump(mode="json") for one in report.confusions[:CONFUSIONS]],
    }


def _figure(figure: Any) -> list[float | None]:
    numbers = (figure.value, figure.low, figure.high, figure.below)
    return [None if number is None else round(number, 6) for number in numbers]
