"""Linnet links named entities in biomedical text to the concepts of a terminology.

>>> import linnet
>>> doc = linnet.Document.of("Short stature and seizures.")
>>> doc.surface(linnet.Mention(0, 13))
'Short stature'

``linnet.load("hpo")`` returns a pipeline, ``linnet.read(path)`` documents, ``linnet.KnowledgeBase.open(name)`` a
knowledge base; ``build``, ``train``, ``calibrate`` and ``evaluate`` make and measure such. All components can be had
from here, and the roles that components of your own derive from. Everything else lives in the modules.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.corpora import read, write
    from linnet.corpora.frames import arrow, frame, to_dicts
    from linnet.corpora.notebook import html
    from linnet.data import Candidates, Concept, Document, Mention, Name, Passage, Span
    from linnet.detect.conjuncts import Conjuncts
    from linnet.detect.consistent import Consistent
    from linnet.detect.dictionary import Dictionary
    from linnet.detect.flair import Flair
    from linnet.detect.gold import Gold
    from linnet.detect.hf_tagger import HfTagger
    from linnet.detect.linkable import Linkable
    from linnet.detect.spacy import Spacy
    from linnet.detect.tagger import Tagger
    from linnet.evaluate import Report, evaluate
    from linnet.fit.training import train
    from linnet.joint.collective import Collective
    from linnet.joint.hierarchical import Hierarchical
    from linnet.kb import KnowledgeBase
    from linnet.pipeline import (
        Allow,
        Component,
        Detector,
        Fuse,
        Joint,
        Pipeline,
        Reranker,
        Retriever,
        Stage,
        Step,
        Union,
    )
    from linnet.pipeline.component import align, blind
    from linnet.pipeline.context import Context
    from linnet.pipeline.decide import Decide, calibrate
    from linnet.pipeline.learner import TrainingStage, made_once
    from linnet.pipeline.pipeline import Abbreviations, Sentences
    from linnet.pipeline.several import several
    from linnet.recipes.config import load
    from linnet.recipes.saving import save
    from linnet.reporter import Reporter, reporting
    from linnet.rerank.cross_encoder import CrossEncoder
    from linnet.rerank.endpoint import Endpoint
    from linnet.rerank.lexical import Lexical
    from linnet.retrieve.bm25 import Bm25
    from linnet.retrieve.dense import Dense
    from linnet.retrieve.earlier import Earlier
    from linnet.retrieve.exact import Exact
    from linnet.retrieve.generate import Generate
    from linnet.retrieve.ngram import Ngram
    from linnet.retrieve.types import Types
    from linnet.train.network import NetworkComponent
    from linnet.vocabularies.build import build

__version__ = "0.1.0"

# Looked up at first use, so that `import linnet` costs next to nothing; components are in `linnet.recipes.components`.
_OFFERED = {
    "linnet.recipes.config": ("load",),
    "linnet.recipes.saving": ("save",),
    "linnet.corpora": ("read", "write"),
    "linnet.corpora.frames": ("arrow", "frame", "to_dicts"),
    "linnet.corpora.notebook": ("html",),
    "linnet.data": ("Candidates", "Concept", "Document", "Mention", "Name", "Passage", "Span"),
    "linnet.pipeline.decide": ("calibrate",),
    "linnet.evaluate": ("Report", "evaluate"),
    "linnet.kb": ("KnowledgeBase",),
    "linnet.pipeline.learner": ("TrainingStage", "made_once"),
    "linnet.pipeline": (
        "Allow",
        "Component",
        "Detector",
        "Joint",
        "Pipeline",
        "Reranker",
        "Retriever",
        "Stage",
        "Step",
    ),
    "linnet.reporter": ("Reporter", "reporting"),
    "linnet.pipeline.component": ("align", "blind"),
    "linnet.pipeline.several": ("several",),
    "linnet.train.network": ("NetworkComponent",),
    "linnet.fit.training": ("train",),
    "linnet.vocabularies.build": ("build",),
}
_PLACES = {name: module for module, names in _OFFERED.items() for name in names}

__all__ = [
    "Abbreviations",
    "Allow",
    "Bm25",
    "Candidates",
    "Collective",
    "Component",
    "Concept",
    "Conjuncts",
    "Consistent",
    "Context",
    "CrossEncoder",
    "Decide",
    "Dense",
    "Detector",
    "Dictionary",
    "Document",
    "Earlier",
    "Endpoint",
    "Exact",
    "Flair",
    "Fuse",
    "Generate",
    "Gold",
    "HfTagger",
    "Hierarchical",
    "Joint",
    "KnowledgeBase",
    "Lexical",
    "Linkable",
    "Mention",
    "Name",
    "NetworkComponent",
    "Ngram",
    "Passage",
    "Pipeline",
    "Report",
    "Reporter",
    "Reranker",
    "Retriever",
    "Sentences",
    "Spacy",
    "Span",
    "Stage",
    "Step",
    "Tagger",
    "TrainingStage",
    "Types",
    "Union",
    "align",
    "arrow",
    "blind",
    "build",
    "calibrate",
    "evaluate",
    "frame",
    "html",
    "load",
    "made_once",
    "read",
    "reporting",
    "save",
    "several",
    "to_dicts",
    "train",
    "write",
]


class _Front(ModuleType):
    """The package: ``train`` and ``evaluate`` are functions here, though packages of these names are imported too."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Travel by name: Spark, Dask and Ray pickle functions with the modules that they use."""
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Front


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'linnet' has no attribute {name!r}")
    components = importlib.import_module("linnet.recipes.components").COMPONENTS.values() if name not in _PLACES else ()
    module = _PLACES.get(name) or next(place.partition(":")[0] for place in components if place.endswith(f":{name}"))
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
