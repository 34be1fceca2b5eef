"""Reading XML that people hand in, of any size, possibly hostile: one element at a time.

Parsing streams and never loads a DTD, resolves an entity or opens a connection; declared entities are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from lxml import etree

from linnet.errors import FormatError
from linnet.text.files import open_bytes, shown

__all__ = ["MAX_ELEMENTS", "elements", "elements_of"]

MAX_ELEMENTS = 2_000_000  # that stand between two that are asked for, or within one: a full text has some ten thousand


def elements(path: str | Path, tags: Collection[str], *, kind: str) -> Iterator[etree._Element]:
    """Yield the elements of an XML file, plain or gzip, that have one of `tags`, each when it is complete.

    An element and all that stands before it are freed when the next one is asked for, so that memory stays flat.
    Comments and processing instructions are left out.

    Args:
        path: the file; ``-`` is standard input.
        tags: names of elements; ``{*}name`` in any namespace.
        kind: of the file, for messages.

    Raises:
        FormatError: no well-formed XML (with the line), entity declarations, more than `MAX_ELEMENTS` elements that
            cannot be freed, or as `open_bytes`.
    """
    with open_bytes(path) as stream:
        yield from elements_of(stream, tags, name=shown(path), kind=kind)


def elements_of(stream: BinaryIO, tags: Collection[str], *, name: str, kind: str) -> Iterator[etree._Element]:
    """Yield the elements of XML that a stream gives, as `elements` does of a file; messages call it `name`."""
    wanted = frozenset(tags)
    held = 0
    events = etree.iterparse(
        stream,
        events=("start", "end"),
        load_dtd=False,
        no_network=True,
        resolve_entities=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for event, element in events:
            if event == "start":
                if element.getparent() is None:
                    _refuse_entities(element, name, kind)
                held += 1
                if held > MAX_ELEMENTS:
                    problem = f"more than {MAX_ELEMENTS:,} elements in one record of {kind}: refused as unsafe"
                    raise FormatError(name, problem, line=element.sourceline)
            elif element.tag in wanted or f"{{*}}{element.tag.rpartition('}')[2]}" in wanted:
                yield element
                _forget(element)
                held = 0
    except etree.XMLSyntaxError as error:
        problem = f"no well-formed XML: {error.msg}; is the file truncated?"
        raise FormatError(name, problem, line=error.lineno) from error


def _refuse_entities(element: etree._Element, name: str, kind: str) -> None:
    dtd: Any = element.getroottree().docinfo.internalDTD
    if dtd is not None and dtd.entities():
        raise FormatError(name, f"declares XML entities, which {kind} files do not: refused as unsafe")


def _forget(element: etree._Element) -> None:
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
