"""Files beside a knowledge base that follow its edits; vectors of names and the concepts nearest to a vector."""
