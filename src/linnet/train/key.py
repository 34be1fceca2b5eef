"""What tells one training from another: checkpoints of another one are of no use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from linnet.codec import dumps
from linnet.data import Document

__all__ = ["key_of"]


def key_of(told: Any, docs: Iterable[Document], found: Iterable[bytes] = ()) -> str:
    """Return a hash of what the result of a training depends on beside the loop's own arguments.

    Args:
        told: options, arguments and versions, as JSON or text.
        docs: what is learned from and scored by.
        found: what other parts gave for these documents.

    >>> key_of([1], []) == key_of([1], []) != key_of([2], [])
    True
    """
    digest = hashlib.blake2b(json.dumps(told, default=str, sort_keys=True).encode(), digest_size=16)
    for doc in docs:
        digest.update(dumps(doc).encode("utf-8", "surrogatepass"))
    for part in found:
        digest.update(part)
    return digest.hexdigest()
