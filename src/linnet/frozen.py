"""Dictionaries and JSON values that refuse to change, so that records can share them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

__all__ = ["EMPTY", "FrozenDict", "freeze"]

V = TypeVar("V")


class FrozenDict(dict[str, V]):
    """A dictionary that refuses to change, so that records can share it; pickles, compares and prints like a dict.

    >>> FrozenDict(a=1) == {"a": 1}
    True
    """

    def __init__(self, *args: Any, **kwargs: V) -> None:
        super().__init__({str(key): freeze(value) for key, value in dict(*args, **kwargs).items()})

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("records are immutable: make a changed copy with dataclasses.replace")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenDict, (dict(self),)


EMPTY: FrozenDict[Any] = FrozenDict()


def freeze(value: Any) -> Any:
    """Return JSON `value` with tuples for lists and frozen dictionaries for dictionaries, at every level."""
    if isinstance(value, FrozenDict):
        return value
    if isinstance(value, Mapping):
        return FrozenDict(value) if value else EMPTY
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item) for item in value)
    return value
