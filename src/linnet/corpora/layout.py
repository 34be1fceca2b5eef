"""Texts put together from passages, and mentions from spans, as the readers of several formats do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linnet.data import JSON, Passage, Span

__all__ = ["MAX_GAP", "filler", "hull", "lined_up"]

MAX_GAP = 1 << 20  # characters that may lie between the passages of one document


def filler(size: int) -> str:
    r"""Return what stands for the characters between two passages.

    >>> filler(0), filler(1), filler(3)
    ('', '\n', '  \n')
    """
    return " " * (size - 1) + "\n" if size else ""


def lined_up(parts: Sequence[tuple[str, str, Mapping[str, JSON]]]) -> tuple[str, tuple[Passage, ...]]:
    """Return text and passages that parts make (kind, text and meta of each), with a line break between two.

    >>> lined_up([("title", "Fits.", {}), ("abstract", "None seen.", {})])[1][1].start
    6
    """
    passages, start = [], 0
    for kind, text, meta in parts:
        passages.append(Passage(start, start + len(text), kind, meta))
        start += len(text) + 1
    return "\n".join(text for _, text, _ in parts), tuple(passages)


def hull(spans: Sequence[Span]) -> tuple[int, int, tuple[Span, ...]]:
    """Return start, end and parts of a mention that stands at `spans`, which are in order.

    >>> hull([Span(0, 4)]), hull([Span(0, 4), Span(9, 12)])[:2]
    ((0, 4, ()), (0, 12))
    """
    return spans[0].start, spans[-1].end, tuple(spans) if len(spans) > 1 else ()
