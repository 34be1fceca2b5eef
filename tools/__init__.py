"""Programs for those who work on Linnet; nothing that its users import."""
