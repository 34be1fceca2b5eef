"""Linnet inside other programs: over HTTP, in spaCy pipelines, as tools for language models; what servers share."""
