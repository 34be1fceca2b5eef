"""The annotation workbench: what several people mark and link in documents, and how far they agree."""
