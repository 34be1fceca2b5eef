"""Vectors of names and the concepts nearest to a vector."""
