"""Files that people name, found, told apart by suffix and content, and read by the module of their format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from linnet.corpora.faults import Faults
from linnet.corpora.formats import FORMATS, GIVEN, READABLE, resolve, suffix
from linnet.corpora.sources import Found, find, is_json, lines_of_bigbio, sniff, texts_of_brat, unique_names
from linnet.data import Document
from linnet.errors import FormatError
from linnet.text.files import head, shown
from linnet.text.raw_input import refuse_no_text

__all__ = ["read_sources"]


def read_sources(
    sources: Sequence[str | Path | Document], format: str | None, options: Mapping[str, Any]
) -> Iterator[Document]:
    """Yield the documents of files, folders and patterns; see `linnet.corpora.read`.

    Args:
        sources: what is named, and documents, which are passed on.
        format: of the files; None finds it out for each.
        options: keywords of readers by name; ``faults`` is what is done about annotations that cannot be read.

    Raises:
        FormatError: no such file, nothing found, a pipe or device, a format that cannot be told, damage.
    """
    on_error = options["faults"]
    faults = on_error if isinstance(on_error, Faults) else Faults(on_error)
    wanted = (FORMATS[format],) if format else FORMATS.values()
    kinds = (known.suffixes for known in wanted if known.read and (format or not known.asked))
    suffixes = tuple(dict.fromkeys(chain.from_iterable(kinds)))
    found: list[Found | Document] = []
    for source in sources:
        found += [source] if isinstance(source, Document) else find(source, suffixes)
    texts = texts_of_brat(item for item in found if isinstance(item, Found))
    found = [item for item in found if isinstance(item, Document) or item.path not in texts]
    names = unique_names([item for item in found if isinstance(item, Found)])
    for item in found:
        if isinstance(item, Document):
            yield item
        else:
            given = {**options, "faults": faults, "name": names[item]}
            yield from faults.guard_file(_read_file(item.path, format, given))


def _read_file(path: Path, format: str | None, options: Mapping[str, Any]) -> Iterator[Document]:
    chosen = FORMATS[format or _guess(path)]
    reader = resolve(chosen.read)
    try:
        yield from reader(path, **{key: options[key] for key in options if key in chosen.options or key not in GIVEN})
    except RecursionError as error:
        raise FormatError(shown(path), "holds a value that is nested too deeply") from error


def _guess(path: str | Path) -> str:
    """Return the format that `path` is in, by suffix where that says it, else by content."""
    ending = suffix(path)
    for name, format in FORMATS.items():
        if format.alone and format.read and ending in format.suffixes and name != "text":
            return "bigbio" if name == "jsonl" and lines_of_bigbio(head(path)) else name
    first = head(path)
    content = sniff(first)
    if ending in FORMATS["text"].suffixes:
        return content if content == "pubtator" else "text"  # PubTator is published as .txt; notes are anything
    if content:
        return content
    ours = [name for name, format in FORMATS.items() if format.read and ending in format.suffixes]
    if len(ours) == 1:
        return ours[0]  # its reader says what is wrong, with the line
    if not ending and not is_json(first):
        return "text"
    refuse_no_text(first, shown(path))
    problem = f"cannot tell its format from the suffix {ending!r} and the content"
    if is_json(first):
        problem = "is JSON, but of no format that is known"
    named = "published corpora are read by name, such as s800:all with --data DIR (docs/corpora.md)"
    raise FormatError(shown(path), f"{problem}; say which it is (--from, or format=): {', '.join(READABLE)}; {named}")
