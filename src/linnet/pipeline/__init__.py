"""What pipelines are made of: the roles of components, ``>>`` and ``|``; `decide` and its calibration are beside it."""

from linnet.pipeline.allow import Allow
from linnet.pipeline.component import PROPERTIES, Component, Step
from linnet.pipeline.pipeline import Abbreviations, Pipeline, Sentences, Stage
from linnet.pipeline.roles import Detector, Fuse, Joint, Reranker, Retriever, Union, fused_names

__all__ = [
    "PROPERTIES",
    "Abbreviations",
    "Allow",
    "Component",
    "Detector",
    "Fuse",
    "Joint",
    "Pipeline",
    "Reranker",
    "Retriever",
    "Sentences",
    "Stage",
    "Step",
    "Union",
    "fused_names",
]
