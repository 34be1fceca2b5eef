"""The gallery's second half: published figures (papers.toml) beside the nearest rows of docs/benchmarks.md."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from linnet.evaluate.rows import NOTHING, PageTable

__all__ = ["papers", "read_rows"]

PAPERS = Path(__file__).parent / "papers.toml"
BENCHMARKS = Path(__file__).parents[2] / "docs" / "benchmarks.md"
MADE_BY = ("linnet reproduce", "linnet bench rerankers")  # the tables that are looked in
HEAD = ("data", "system", "measure", "table", "published (test)", "ours (dev)", "our recipe, measure")

INTRODUCTION = """\
## Figures of the papers beside ours

**No ranking follows from these tables.** The papers' figures are of test splits, ours of development splits, on which
our recipes were made. Encoders, terminologies and the way mentions are counted differ too. They show what a family was
published with, and what this code gets out of it with a small encoder (MiniLM). A dash: the benchmarks have no such
row, mostly for want of UMLS or of the corpus.
"""

Rows = Mapping[str, Mapping[str, str]]


def papers() -> str:
    """Return the section: a table for each paper."""
    rows = read_rows(BENCHMARKS.read_text(encoding="utf-8"))
    found = tomllib.loads(PAPERS.read_text(encoding="utf-8"))["paper"]
    return "\n".join([INTRODUCTION, *(_section(paper, rows) for paper in found)])


def read_rows(text: str) -> Rows:
    """Return the rows of a page's generated tables: recipe → column → figure, without its interval.

    >>> table = PageTable(by="linnet reproduce", columns=("recipe", "corpus", "@1"), texts=2, key=2)
    >>> read_rows(table.put("", [("a/b", "a:dev", "0.712 [0.6, 0.8]")]))["a/b"]["@1"]
    '0.712'
    """
    return {
        cells[0].strip("`"): {name: cell.partition(" [")[0] for name, cell in zip(names, cells, strict=True)}
        for by in MADE_BY
        for names, cells in _lines(text, by)
    }


def _lines(text: str, by: str) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield the column names and the cells of each row of one table."""
    table = PageTable(by=by, columns=(), texts=0, key=0)
    inside = text.partition(table.begin)[2].partition(table.end)[0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in inside.splitlines() if line.startswith("|")]
    for cells in lines[2:]:
        yield lines[0], cells


def _section(paper: Mapping[str, Any], rows: Rows) -> str:
    lines = [f"### {paper['title']}\n", f"{paper['cited']} ([the family]({paper['page']})). {paper['note'].strip()}\n"]
    lines += [_line(HEAD), "|---|---|---|---|---:|---:|---|", *(_line(_cells(one, rows)) for one in paper["figures"])]
    return "\n".join(lines) + "\n"


def _cells(figure: Mapping[str, Any], rows: Rows) -> list[str]:
    published = str(Decimal(str(figure["published"])) / 100)  # with all its digits
    about = [figure["data"], figure["system"], figure["measure"], figure.get("table", NOTHING), published]
    if "recipe" not in figure:
        return [*about, NOTHING, NOTHING]
    ours = f"{float(rows[figure['recipe']][figure['column']]):.3f}"
    return [*about, ours, f"`{figure['recipe']}`, {figure['column']}"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
