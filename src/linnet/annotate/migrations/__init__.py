"""How the tables came to be, one step after the other: files here are added to, never changed."""
