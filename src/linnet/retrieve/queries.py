"""What a retriever asks for, see `linnet.text.queries`."""

from linnet.text.queries import query_texts

__all__ = ["query_texts"]
