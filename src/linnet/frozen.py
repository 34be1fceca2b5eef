"""Dictionaries and JSON values that refuse to change, so that records can share them, and changed copies of records."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

from linnet.errors import DataError

__all__ = ["EMPTY", "FrozenDict", "changed", "freeze"]

V = TypeVar("V")
R = TypeVar("R")
DEEPEST = 100  # levels of a value; beyond some hundred, neither pickle nor json can write what they could read


class FrozenDict(dict[str, V]):
    """A dictionary that refuses to change, so that records can share it; pickles, compares and prints like a dict.

    >>> FrozenDict(a=1) == {"a": 1}
    True
    """

    def __init__(self, *args: Any, **kwargs: V) -> None:
        super().__init__({str(key): _freeze(value, 1) for key, value in dict(*args, **kwargs).items()})

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("records are immutable: make a changed copy with dataclasses.replace")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (dict(self),)


EMPTY: FrozenDict[Any] = FrozenDict()


def freeze(value: Any) -> Any:
    """Return JSON `value` with tuples for lists and frozen dictionaries for dictionaries, at every level.

    Raises:
        DataError: more than `DEEPEST` levels.
    """
    return _freeze(value, 0)


def _freeze(value: Any, level: int) -> Any:
    if isinstance(value, FrozenDict):
        return value
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if level > DEEPEST:
        raise DataError(f"a value is nested in more than {DEEPEST} levels")
    if isinstance(value, Mapping):
        made: FrozenDict[Any] = FrozenDict()
        dict.update(made, {str(key): _freeze(item, level + 1) for key, item in value.items()})
        return made if made else EMPTY
    return tuple(_freeze(item, level + 1) for item in value)


def changed(record: R, **values: Any) -> R:
    """Return a changed copy of a dataclass, checked like every other, in half the time of `dataclasses.replace`.

    Its constructor must take all fields, in their order.

    >>> from linnet.data import Passage
    >>> changed(Passage(0, 5, "title"), end=7)
    Passage(start=0, end=7, kind='title', meta={})
    """
    kind: Any = type(record)
    read, places = _fields(kind)
    made = [*read(record)]
    for name, value in values.items():
        made[places[name]] = value
    copy: R = kind(*made)
    return copy


@functools.cache
def _fields(kind: type[Any]) -> tuple[operator.attrgetter[tuple[Any, ...]], dict[str, int]]:
    """Return what reads all fields of a record, and the place of each."""
    names = [one.name for one in fields(kind)]
    return operator.attrgetter(*names), {name: place for place, name in enumerate(names)}
