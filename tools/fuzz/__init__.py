"""Damaged files for every reader: ``python -m tools.fuzz``."""
