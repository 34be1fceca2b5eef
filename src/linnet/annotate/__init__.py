"""The annotation workbench: what people mark and link in documents, read next, and agree on; events never change."""
