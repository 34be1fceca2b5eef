"""What a span of spaCy's documents knows of its mention (``span._.linnet``), and where spaCy keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

from spacy.tokens import Doc, Span

from linnet.corpora.names import Remembering, namer
from linnet.corpora.said import is_denied
from linnet.data import Candidates, Mention
from linnet.kb import KnowledgeBase

__all__ = ["NAME", "NIL", "Candidate", "Describer", "Link", "forget", "set_extension", "store"]

NIL = "NIL"  # what spaCy's entity linker gives what it finds nothing for
SHOWN = 10  # candidates that a span shows
NAME = "linnet"
STORED = ("._.", NAME)


class Candidate(TypedDict):
    """A concept that a mention may mean; the id is None for none (NIL)."""

    id: str | None
    name: str
    score: float


class Link(TypedDict):
    """What is known of a mention: values that spaCy can store and send to other processes."""

    id: str | None
    name: str
    concepts: list[str]
    names: list[str]
    types: list[str]
    probability: float | None
    calibration: str
    assertion: str
    denied: bool
    start: int
    end: int
    parts: list[list[int]]
    candidates: list[Candidate]
    component: str


class Describer:
    """Says of a mention what `Link` holds, and asks a knowledge base once for each concept.

    Args:
        kb: holds the concepts.
        component: which found the mention, by its name.
    """

    def __init__(self, kb: KnowledgeBase, component: str = NAME) -> None:
        self._component = component
        self._rows = Remembering(kb)
        self._name = namer(kb)

    def __call__(self, mention: Mention) -> Link:
        """Return what a span of the mention shows."""
        concepts = [*(mention.concepts or ())]
        names = [self._name(id) for id in concepts]
        return {
            "id": concepts[0] if concepts else None,
            "name": names[0] if names else "",
            "concepts": concepts,
            "names": names,
            "types": [*mention.types],
            "probability": mention.probability,
            "calibration": mention.calibration,
            "assertion": mention.assertion,
            "denied": is_denied(mention),
            "start": mention.start,
            "end": mention.end,
            "parts": [[start, end] for start, end in mention.spans],
            "candidates": [*self._candidates(mention.candidates)],
            "component": self._component,
        }

    def _candidates(self, candidates: Candidates | None) -> Iterator[Candidate]:
        best = candidates.top(SHOWN) if candidates is not None else Candidates.none()
        ids = best.ids or [None if row < 0 else self._rows.id(row) for row in best.rows.tolist()]
        for id, score in zip(ids, best.scores.tolist(), strict=True):
            yield {"id": id, "name": "" if id is None else self._name(id), "score": score}


# spaCy's own place for what is known of a span: there it moves with the span where documents are joined or cut; a list,
# as several mentions may be aligned with the same tokens
def store(span: Span, link: Link) -> None:
    """Keep what is known of a span's mention."""
    kept: dict[Any, Any] = span.doc.user_data
    kept.setdefault((*STORED, span.start_char, span.end_char), []).append(link)


def _stored(span: Span) -> Link | None:
    """Return what is known of a span: of the mention with its concept, or of the first one for a span without."""
    kept: dict[Any, Any] = span.doc.user_data
    links: list[Link] = kept.get((*STORED, span.start_char, span.end_char), [])
    own = (link for link in links if span.kb_id_ in ("", link["id"] or NIL))
    return next(own, None)


def forget(doc: Doc, component: str) -> None:
    """Remove what an earlier pass of a component has stored; what others have found stays."""
    kept: dict[Any, Any] = doc.user_data
    for key in [key for key in kept if isinstance(key, tuple) and key[:2] == STORED]:
        kept[key] = [link for link in kept[key] if link.get("component", component) != component]
        if not kept[key]:
            del kept[key]


def set_extension() -> None:
    """Make ``span._.linnet``."""
    if not Span.has_extension(NAME):
        Span.set_extension(NAME, getter=_stored)
