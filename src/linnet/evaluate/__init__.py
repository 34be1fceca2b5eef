"""Gold × predicted documents → figures. Pure: nothing is read, nothing is run."""

from linnet.evaluate.match import Counts, Report, evaluate

__all__ = ["Counts", "Report", "evaluate"]
