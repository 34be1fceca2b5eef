"""Gold × predicted documents → metrics. Pure: nothing is read, nothing is run."""

from linnet.evaluate.evaluation import Evaluation, Options, compare, evaluate, measure
from linnet.evaluate.report import About, Comparison, Figure, Report

__all__ = ["About", "Comparison", "Evaluation", "Figure", "Options", "Report", "compare", "evaluate", "measure"]
