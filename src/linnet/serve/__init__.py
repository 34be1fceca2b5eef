"""Linnet inside other programs: a part of spaCy pipelines (`linnet.serve.spacy_component`)."""
