"""The annotation workbench: which documents people read next, and when they have read enough."""
