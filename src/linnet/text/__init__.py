"""Text without models: files, sentences, abbreviations, tokens, normalisation, coordination."""
