"""What the text says of a finding, in one word: its assertion, or that no relative has it (``meta["denied"]``)."""

from __future__ import annotations

from linnet.data import DENIED, Mention

__all__ = ["is_denied"]


def is_denied(mention: Mention) -> bool:
    """Return whether a mention is what relatives do not have: an assertion that needs a word of `meta`."""
    return mention.assertion == "family" and mention.meta.get(DENIED) is True
