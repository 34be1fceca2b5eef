"""Linnet links named entities in biomedical text to the concepts of a terminology."""

__version__ = "0.1.0"
