"""Linnet links named entities in biomedical text to the concepts of a terminology.

>>> import linnet
>>> doc = linnet.Document.of("Short stature and seizures.")
>>> doc.surface(linnet.Mention(0, 13))
'Short stature'

``linnet.load("hpo")`` returns a pipeline, ``linnet.read(path)`` documents, ``linnet.KnowledgeBase.open(name)`` a
knowledge base. Everything else lives in the modules.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.config import load, save
    from linnet.corpora import read, write
    from linnet.data import Candidates, Concept, Document, Mention, Name, Passage, Span
    from linnet.decide import calibrate
    from linnet.kb import KnowledgeBase
    from linnet.pipeline import Allow, Pipeline
    from linnet.reporter import Reporter, reporting

__version__ = "0.1.0"

# Looked up at first use, so that `import linnet` costs next to nothing.
_PLACES = {
    "Allow": "linnet.pipeline",
    "Candidates": "linnet.data",
    "Concept": "linnet.data",
    "Document": "linnet.data",
    "KnowledgeBase": "linnet.kb",
    "Mention": "linnet.data",
    "Name": "linnet.data",
    "Passage": "linnet.data",
    "Pipeline": "linnet.pipeline",
    "Reporter": "linnet.reporter",
    "Span": "linnet.data",
    "calibrate": "linnet.decide",
    "load": "linnet.config",
    "read": "linnet.corpora",
    "reporting": "linnet.reporter",
    "save": "linnet.config",
    "write": "linnet.corpora",
}

__all__ = [
    "Allow",
    "Candidates",
    "Concept",
    "Document",
    "KnowledgeBase",
    "Mention",
    "Name",
    "Passage",
    "Pipeline",
    "Reporter",
    "Span",
    "calibrate",
    "load",
    "read",
    "reporting",
    "save",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'linnet' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
