"""Networks that find mentions and link them at once."""
