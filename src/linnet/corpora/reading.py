"""From files to documents. Where one cannot be read, those behind it are looked at, so that all are named at once.

That costs nothing where all files can be read, and at most `SECONDS` where one cannot: millions of notes are not read
for it. Files elsewhere are not fetched for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from linnet.corpora.faults import Faults
from linnet.corpora.formats import FORMATS, GIVEN, resolve
from linnet.corpora.sources import Named, guess, locate
from linnet.data import Document
from linnet.errors import FormatError, LinnetError
from linnet.reporter import Reporter, reporting
from linnet.text.files import STDIO, shown

__all__ = ["read_file", "read_sources"]

SHOWN = 10  # files that an error names
SECONDS = 10.0


def read_sources(
    sources: Sequence[str | Path | Document], format: str | None, options: Mapping[str, Any]
) -> Iterator[Document]:
    """Yield the documents of files, folders and patterns; see `linnet.corpora.read`.

    Args:
        sources: what is named, and documents, which are passed on.
        format: of the files; None finds it out for each.
        options: keywords of readers by name; ``faults`` is what is done about annotations that cannot be read.

    Raises:
        FormatError: no such file, nothing found, a pipe or device, a format that cannot be told, damage; it names the
            files behind that cannot be read either.
    """
    on_error = options["faults"]
    faults = on_error if isinstance(on_error, Faults) else Faults(on_error)
    items = locate(sources, format)
    for number, item in enumerate(items, 1):
        if isinstance(item, Document):
            yield item
            continue
        try:
            yield from read_file(item, format, {**options, "faults": faults})
        except FormatError as error:
            if type(error) is not FormatError:  # another time it may be read
                raise
            silent = Faults(faults.on_error, lambda _error, _done: None)
            behind = [file for file in items[number:] if isinstance(file, Named)]
            raise _with_others(error, behind, format, {**options, "faults": silent}) from error


def read_file(file: Named, format: str | None, options: Mapping[str, Any]) -> Iterator[Document]:
    """Yield the documents of one file; arguments as of `read_sources`, but that ``faults`` is a `Faults`."""
    faults: Faults = options["faults"]
    given = {**options, "name": file.name, **dict(file.options)}
    yield from faults.guard_file(_read_file(file.path, file.format or format, given))


def _read_file(path: Path | str, format: str | None, options: Mapping[str, Any]) -> Iterator[Document]:
    chosen = FORMATS[format or guess(path)]
    reader = resolve(chosen.read)
    try:
        yield from reader(path, **{key: options[key] for key in options if key in chosen.options or key not in GIVEN})
    except RecursionError as error:
        raise FormatError(shown(path), "holds a value that is nested too deeply") from error


def _with_others(
    error: FormatError, behind: Iterable[Named], format: str | None, options: Mapping[str, Any]
) -> FormatError:
    """Return the error of a file, with those of the files behind it."""
    end = time.monotonic() + SECONDS
    others: list[str] = []
    looked, whole = 0, True
    with reporting(Reporter(warn=lambda _message: None)):
        for file in behind:
            if isinstance(file.path, str) or str(file.path) == STDIO:
                continue
            if time.monotonic() > end:
                whole = False
                break
            looked += 1
            if problem := _problem(file, format, options):
                others.append(problem)
    if not others:
        return error
    files = f"{len(others):,} file{'s' if len(others) > 1 else ''} behind it"
    count = files if whole else f"{len(others):,} of the next {looked:,} files"
    rest = [f"… and {len(others) - SHOWN + 1:,} more"] if len(others) >= SHOWN else []
    told = [error.problem, f"{count} cannot be read either:", *others[: SHOWN - 1], *rest]
    return FormatError(error.path, "\n  ".join(told), line=error.line)


def _problem(file: Named, format: str | None, options: Mapping[str, Any]) -> str:
    """Return why a file cannot be read, "" if it can."""
    try:
        deque(read_file(file, format, options), maxlen=0)
    except LinnetError as error:
        return str(error)
    return ""
