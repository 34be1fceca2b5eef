"""Detectors: text to mentions."""
