"""Mentions in their contexts, and names with their descriptions, as the tokens that become one vector.

    mention  ``[CLS] left [MS] mention [ME] right [SEP]``
    name     ``[CLS] name [ENT] description [SEP]``

The context is centred on the mention: each side gets half of the room, and what one side leaves goes to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linnet.text.contexts import InContext
from linnet.text.token_batches import TokenText
from linnet.text.word_pieces import WordPieces

__all__ = ["MARKERS", "Templates", "windowed"]

MENTION_START, MENTION_END, ENTITY = "[MS]", "[ME]", "[ENT]"
MARKERS = (MENTION_START, MENTION_END, ENTITY)


def windowed(left: Sequence[int], right: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """Return the ends of two contexts that are next to the mention, `room` tokens together if there are so many.

    >>> windowed([1, 2, 3, 4], [5, 6, 7, 8], 4), windowed([1], [5, 6, 7, 8], 4)
    (([3, 4], [5, 6]), ([1], [5, 6, 7]))
    """
    room = max(room, 0)
    before = min(len(left), max(room // 2, room - len(right)))
    return list(left[len(left) - before :]), list(right[: room - before])


@dataclass(frozen=True)
class Templates:
    """How texts become tokens.

    Args:
        tokens: of a mention with its context, special tokens included.
        name_tokens: of a name with its description, special tokens included.
        markers: put [MS] and [ME] around mentions, and [ENT] behind names.
    """

    tokens: int = 50
    name_tokens: int = 50
    markers: bool = True

    def mentions(self, mentions: Sequence[InContext], encoder: WordPieces) -> tuple[list[TokenText], int]:
        """Return the tokens of mentions, and how many mentions are longer than the window.

        Of these the beginning and the end are kept, as many tokens of each.
        """
        pieces = encoder.pieces([part for mention in mentions for part in mention])
        start, end = ([encoder.marker(MENTION_START)], [encoder.marker(MENTION_END)]) if self.markers else ([], [])
        first, last = encoder.frame
        made, cut = [], 0
        for left, text, right in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
            most = self.tokens - len(first) - len(last) - len(start) - len(end)
            own, was_cut = _ends(text, most)
            cut += was_cut
            before, after = windowed(left, right, most - len(own))
            head = [*first, *before, *start]
            ids = (*head, *own, *end, *after, *last)
            made.append(TokenText(ids, (len(head), len(head) + len(own))))
        return made, cut

    def names(
        self, names: Sequence[str], encoder: WordPieces, descriptions: Sequence[str] | None = None
    ) -> tuple[list[TokenText], int]:
        """Return the tokens of names, each followed by its description as far as the window reaches.

        With them comes how many names are longer than the window, of which the beginning and the end are kept.
        """
        pieces = encoder.pieces(names)
        first, last = encoder.frame
        further = encoder.pieces(descriptions) if descriptions is not None else [[] for _ in names]
        room = self.name_tokens - len(first) - len(last)
        made, cut = [], 0
        for text, description in zip(pieces, further, strict=True):
            own, was_cut = _ends(text, room)
            cut += was_cut
            rest: list[int] = []
            if description and self.markers:
                rest.append(encoder.marker(ENTITY))
            rest = [*rest, *description][: room - len(own)]
            made.append(TokenText((*first, *own, *rest, *last), (len(first), len(first) + len(own))))
        return made, cut


def _ends(pieces: Sequence[int], most: int) -> tuple[list[int], bool]:
    if len(pieces) <= most:
        return list(pieces), False
    tail = most // 2
    return [*pieces[: most - tail], *pieces[len(pieces) - tail :]], True
