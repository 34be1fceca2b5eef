"""The trained pipelines that are released: built, measured, described, packed."""
