"""Examples of components that another package adds: one that finds and links, one that spells names, a ranker."""
