"""Reading XML that people hand in, of any size, possibly hostile: one element at a time.

Parsing streams and never loads a DTD, resolves an entity or opens a connection; declared entities are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from linnet.errors import FormatError
from linnet.text.files import open_bytes, shown

__all__ = ["elements"]


def elements(path: str | Path, tags: Collection[str], *, kind: str) -> Iterator[etree._Element]:
    """Yield the elements of an XML file, plain or gzip, that have one of `tags`, each when it is complete.

    An element and all that stands before it are freed when the next one is asked for, so that memory stays flat.
    Comments and processing instructions are left out.

    Args:
        path: the file; ``-`` is standard input.
        tags: names of elements.
        kind: of the file, for messages.

    Raises:
        FormatError: no well-formed XML (with the line), entity declarations, or as `open_bytes`.
    """
    name = shown(path)
    with open_bytes(path) as stream:
        events = etree.iterparse(
            stream,
            events=("start", "end"),
            tag=tuple(tags),
            load_dtd=False,
            no_network=True,
            resolve_entities=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            for place, (event, element) in enumerate(events):
                if not place:
                    _refuse_entities(element, name, kind)
                if event == "end":
                    yield element
                    _forget(element)
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
