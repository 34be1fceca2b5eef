"""The concepts whose names are nearest in meaning to a text, by the vectors of a pipeline that has made some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linnet.annotate.searching import Nearest
from linnet.fit.plan import parts_of
from linnet.pipeline import Pipeline
from linnet.retrieve.name_searcher import VECTORS, NameSearcher

__all__ = ["nearest_of"]


def nearest_of(pipeline: Pipeline) -> Nearest | None:
    """Return what finds concepts by the vectors of a pipeline; None if it has none, or would have to make them first.

    Only the names of the knowledge base are compared, not the surfaces that the pipeline has learned from documents.
    """
    for part in parts_of(pipeline):
        if isinstance(part, NameSearcher) and _has_vectors(part):
            return _Nearest(part)
    return None


def _has_vectors(part: NameSearcher[Any]) -> bool:
    trained = part.folder is not None and part.folder.with_name(VECTORS).exists()
    return trained or part.names_file.path.exists()


class _Nearest:
    """Looks up names in the vectors of a part, which are opened at once."""

    def __init__(self, part: NameSearcher[Any]) -> None:
        self._part, self._names = part, part.names_index

    def __call__(self, text: str, count: int) -> Iterable[tuple[int, int]]:
        """Return the rows of the nearest concepts and of their names; nothing is near a text without word pieces."""
        vectors = self._part.encode_names([text])
        if not vectors.any():
            return []
        [found] = self._names.search(vectors, count)
        return list(zip(found.rows.tolist(), found.names.tolist(), strict=True))
