"""How far a long step has come: told by the part that does it, shown by whoever listens.

A network may read one long document for minutes; meanwhile whoever waits for that document wants to see it move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["listening", "tell"]

Listener = Callable[[str, int, int], None]

_listeners: list[Listener] = []


def tell(what: str, done: int, total: int) -> None:
    """Tell who listens that so many of the `total` things called `what` are done."""
    for listener in tuple(_listeners):
        listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let `listener` hear what is told while the block runs, in any thread.

    >>> with listening(print):
    ...     tell("pairs", 3, 9)
    pairs 3 9
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
