"""Benchmarks are commands: they are run as those are."""

from tests.cli.conftest import Run, home, recipe, run

__all__ = ["Run", "home", "recipe", "run"]
