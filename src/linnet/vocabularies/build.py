"""From source files to a knowledge base, with their provenance."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linnet.data import Concept
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.kb_build import build
from linnet.text.files import STDIO
from linnet.vocabularies import read_vocabulary
from linnet.vocabularies.hpo import HPO_CITATION, HPO_LICENCE, hpo_path
from linnet.vocabularies.obo import read_obo_header

__all__ = ["Source", "build_from"]


@dataclass(frozen=True)
class Source:
    """One source of concepts: the vocabulary that reads it, its file (None for ``hpo``), and the reader's options."""

    vocabulary: str
    path: Path | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def concepts(self) -> Iterator[Concept]:
        """Yield the concepts of the source."""
        return read_vocabulary(self.vocabulary, self.path, **self.options)

    def provenance(self) -> dict[str, str]:
        """Return what a knowledge base keeps of where it came from: vocabulary, file, sha256, release, licence."""
        path = hpo_path() if self.path is None and self.vocabulary == "hpo" else self.path
        found = {"vocabulary": self.vocabulary}
        if path is not None and path.is_dir():
            found |= {"folder": path.name}
        elif path is not None and str(path) != STDIO:
            with path.open("rb") as file:
                found |= {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        if path is not None and self.vocabulary in ("hpo", "obo"):
            found |= {"release": read_obo_header(path).get("data-version", "")}
        if self.vocabulary == "hpo":
            found |= {"citation": HPO_CITATION, "licence": HPO_LICENCE}
        return found


def build_from(
    sources: Sequence[Source],
    path: str | Path,
    *,
    name: str = "",
    progress: Callable[[int], None] | None = None,
) -> KnowledgeBase:
    """Build the knowledge base `path` from one or more sources, one after the other.

    Raises:
        FormatError: a source cannot be read.
        KnowledgeBaseError: its concepts cannot be kept, for example an id that two sources hold.
    """
    # every source is begun before its provenance is taken, so that a missing file is reported by its reader
    begun = [_begun(source.concepts()) for source in sources]
    provenance = [source.provenance() for source in sources]
    return build(itertools.chain.from_iterable(begun), path, name=name, sources=provenance, progress=progress)


def _begun(concepts: Iterator[Concept]) -> Iterator[Concept]:
    return itertools.chain(list(itertools.islice(concepts, 1)), concepts)
