"""Rerankers: components that reorder candidates."""
