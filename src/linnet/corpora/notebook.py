"""Documents as notebooks show them: the page of `linnet.corpora.html` in a frame of its own.

The frame holds the page itself, so a saved notebook shows it anywhere, offline. It is sandboxed: the page's script runs
apart from the notebook's, and the page's style does not reach the notebook. A notebook that is not trusted shows no
frames; what stands behind it says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from io import StringIO
from typing import Any, cast

from linnet.corpora.html import Concepts, write_html
from linnet.corpora.names import documents, holder, known, versions_of
from linnet.data import Document, Rows
from linnet.text.web import escape

__all__ = ["html"]

LINE = 75  # characters of a line, about
LINE_HEIGHT, ROW_HEIGHT, FURNITURE = 35, 50, 170  # pixels: of a line, of a concept in the list, of the rest
LEAST, MOST = 220, 560  # pixels
SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox allow-modals"
FRAME = (
    '<div style="position:relative;height:{height}px"><p>{fallback}</p>'
    '<iframe title="{title}" sandbox="{sandbox}" srcdoc="{page}" '
    'style="position:absolute;inset:0;width:100%;height:100%;border:0"></iframe></div>'
)


def html(docs: Document | Iterable[Document], *, kb: Rows | None = None) -> str:
    """Return the HTML that draws documents in a notebook, which draws what a pipeline returns by itself.

    Args:
        docs: a document, several, or what a pipeline returned.
        kb: what holds the names of the concepts. It need not be given for what a pipeline returned, nor for documents
            with candidates whose knowledge base is open; without any, ids are shown.

    Raises:
        DataError: the candidates are of another version of the knowledge base, or something else than documents.

    >>> drawn = html(Document.of("A <b> & c."))
    >>> "<iframe" in drawn, "<b>" in drawn
    (True, False)
    """
    given = list(documents(docs))
    kb = known(docs, kb) or holder(versions_of(given))
    page = StringIO()
    title = given[0].id if len(given) == 1 else f"{len(given)} documents"
    shown = given if kb is not None else [_without_rows(doc) for doc in given]
    write_html(shown, page, kb=cast("Concepts | None", kb), title=title)
    found = sum(len(doc.mentions or ()) for doc in given)
    return FRAME.format(
        height=min(max(FURNITURE + _height(given[0]), LEAST), MOST) if given else LEAST,
        fallback=escape(f"{title}: {found} mentions. Trust this notebook to see them drawn."),
        title=escape(title),
        sandbox=SANDBOX,
        page=escape(page.getvalue()),
    )


def _height(doc: Document) -> int:
    """Return how high a document is: its text, or the list of its concepts beside it."""
    lines = sum(len(line) // LINE + 1 for line in doc.text.split("\n"))
    concepts = {mention.concepts for mention in doc.mentions or ()}
    return max(LINE_HEIGHT * lines, ROW_HEIGHT * len(concepts))


def _without_rows(doc: Document) -> Document:
    """Return a document without the candidates that only a knowledge base can name."""
    if doc.mentions is None:
        return doc
    mentions: list[Any] = [
        mention if mention.candidates is None or mention.candidates.ids else replace(mention, candidates=None)
        for mention in doc.mentions
    ]
    return replace(doc, mentions=tuple(mentions))
