"""What the text says of a finding, in one word: its assertion, or that no relative has it (``meta["denied"]``)."""

from __future__ import annotations

from typing import Any

from linnet.data import ASSERTIONS, DENIED, Mention

__all__ = ["NO_RELATIVE", "SAID", "is_denied", "said", "understood"]

NO_RELATIVE = "family (denied)"
SAID = (*ASSERTIONS, NO_RELATIVE)


def is_denied(mention: Mention) -> bool:
    """Return whether a mention is what relatives do not have: an assertion that needs a word of `meta`."""
    return mention.assertion == "family" and mention.meta.get(DENIED) is True


def said(mention: Mention) -> str:
    """Return what the text says of a mention, as tables and pages have it.

    >>> said(Mention(0, 4, assertion="family")), said(Mention(0, 4, assertion="family", meta={"denied": True}))
    ('family', 'family (denied)')
    """
    return NO_RELATIVE if is_denied(mention) else mention.assertion


def understood(text: str) -> dict[str, Any]:
    """Return the fields of a mention for what `said` returned.

    Raises:
        ValueError: it is none of `SAID`.

    >>> understood("family (denied)")
    {'assertion': 'family', 'meta': {'denied': True}}
    """
    if text == NO_RELATIVE:
        return {"assertion": "family", "meta": {DENIED: True}}
    if text and text not in SAID:
        raise ValueError(f"expected one of {', '.join(SAID)}, found {text!r}")
    return {"assertion": text}
