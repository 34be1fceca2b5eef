"""Reports → files, each in the format that its name ends in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linnet.errors import LinnetError
from linnet.evaluate.page import write_page
from linnet.evaluate.render import to_csv, to_json, to_markdown
from linnet.evaluate.report import Comparison, Report
from linnet.text.files import replacing

__all__ = ["check_reports", "write_reports"]

SUFFIXES = (".json", ".csv", ".md", ".html")


def check_reports(outputs: Sequence[Path]) -> None:
    """Refuse files that no report is written to.

    Raises:
        LinnetError: a name that ends in something else.
    """
    for path in outputs:
        if path.suffix.lower() not in SUFFIXES:
            raise LinnetError(f"-o {path}: expected a name that ends in one of {', '.join(SUFFIXES)}")


def write_reports(
    reports: Sequence[Report], outputs: Sequence[Path], *, comparisons: Sequence[Comparison] = ()
) -> None:
    """Write reports, and how they differ, to each of some files: .json, .csv, .md or .html."""
    for path in outputs:
        with replacing(path) as stream:
            suffix = path.suffix.lower()
            if suffix == ".html":
                write_page(reports, stream, comparisons=comparisons)
            elif suffix == ".csv":
                stream.write(to_csv(reports))
            elif suffix == ".md":
                stream.write(to_markdown(reports, comparisons))
            else:
                stream.write(to_json(reports, comparisons))
