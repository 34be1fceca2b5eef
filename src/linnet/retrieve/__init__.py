"""Retrievers: mentions to candidates."""
