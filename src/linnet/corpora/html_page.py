"""HTML with highlighted mentions: the page that people read (`linnet.corpora.html`), written as a format and read back.

The page's documents are data for its script, and are read from there: text, mentions, answers and probabilities, of
candidates the best six. Pages of others are refused: what they highlight follows no rule.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from linnet.corpora.counting import Offsets
from linnet.corpora.extras import restored
from linnet.corpora.html import Concepts, write_html
from linnet.corpora.layout import hull
from linnet.corpora.said import understood
from linnet.data import Candidates, Document, Mention, Rows, Span
from linnet.errors import DataError, FormatError
from linnet.text.files import open_text, shown
from linnet.text.json_files import Node, loads

__all__ = ["read", "write"]

ISLAND = re.compile(r'<script type="application/json" data-index="[^"]*">(.*)</script>')
LARGEST = float(np.finfo(np.float32).max)  # what scores are held as
CONCEPTS = '<script type="application/json" id="concepts">'  # what ends the documents of a whole page


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as one page and return how many.

    Raises:
        DataError: candidates of another knowledge base than `rows`, or rows without one.
    """
    given = iter(docs)
    first = list(itertools.islice(given, 2))
    title = first[0].id if len(first) == 1 else "Documents"
    counted = itertools.count()
    passed = (doc for doc, _ in zip(itertools.chain(first, given), counted, strict=False))
    write_html(passed, out, kb=cast("Concepts | None", rows), title=title)
    return next(counted)


def read(path: str | Path, *, rows: Rows | None = None) -> Iterator[Document]:
    """Yield the documents of a page that Linnet wrote, one at a time.

    Raises:
        FormatError: another page, or one that is damaged or cut off; with the line.
    """
    name = shown(path)
    whole = False
    for number, line in enumerate(open_text(path), 1):
        if found := ISLAND.search(line):
            try:
                yield restored(_document(Node(loads(found[1]), name, number)), None, rows)
            except (DataError, ValueError, RecursionError) as error:
                raise FormatError(name, f"this document is damaged: {error}", line=number) from error
        whole = whole or CONCEPTS in line
    if not whole:
        problem = "is no page that Linnet wrote, or is cut off: its documents are not in it"
        raise FormatError(name, f"{problem}; of other pages, save the text and link that")


def _document(node: Node) -> Document:
    text = node.text("text")
    offsets = Offsets(text)
    mentions = None if node.find("mentions") is None else [_mention(one, offsets) for one in node.each("mentions")]
    return Document(node.text("id"), text, mentions=None if mentions is None else tuple(mentions))


def _mention(node: Node, offsets: Offsets) -> Mention:
    spans = [_span(pair, offsets) for pair in node.member("s").items()]
    if not spans:
        raise node.member("s").expected("offsets")
    alternatives = [tuple(id.string() for id in answer.items()) for answer in node.each("a")]
    return Mention(
        *hull(spans),
        types=tuple(type.string() for type in node.each("t")),
        source=cast("Any", node.text("o", "pred")),  # checked by the record
        candidates=_candidates(node.each("x")),
        concepts=None if node.find("c") is None else tuple(id.string() for id in node.each("c")),
        alternatives=tuple(alternatives),
        probability=None if (probability := node.find("p")) is None else probability.number(),
        calibration=cast("Any", node.text("k", "")),
        group=node.text("g", ""),
        terminology=node.text("v", ""),
        **understood(node.text("as", "")),
    )


def _span(pair: Node, offsets: Offsets) -> Span:
    ends = [end.offset() for end in pair.items()]
    span = offsets.units(*ends) if len(ends) == 2 else None
    if span is None:
        raise pair.expected(f"start and end of a span in the text of {len(offsets.text)} characters")
    return span


def _candidates(listed: list[Node]) -> Candidates | None:
    if not listed:
        return None
    entries = [_candidate(one) for one in listed]
    labels = tuple(label for _, _, label in entries)
    return Candidates(
        rows=np.full(len(entries), -1, np.int32),
        scores=np.array([score for _, score, _ in entries], np.float32),
        names=np.full(len(entries), -1, np.int32) if any(labels) else None,
        ids=tuple(id for id, _, _ in entries),
        labels=labels if any(labels) else (),
    )


def _candidate(node: Node) -> tuple[str | None, float, str | None]:
    """Return id (None for NIL), score and label (None where the page has the name elsewhere) of a candidate."""
    items = node.items()
    if len(items) not in (2, 3):
        raise node.expected("id, score and perhaps label of a candidate")
    id, score, label = (*items, Node(None, node.file, node.line))[:3]
    if abs(score.number()) > LARGEST:
        raise score.expected(f"a score up to {LARGEST:.1e}")
    return _or_null(id), score.number(), _or_null(label)


def _or_null(node: Node) -> str | None:
    return None if node.value is None else node.string()
