"""The annotation workbench: what people decide about mentions, kept as events that are never changed."""
