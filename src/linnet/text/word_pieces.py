"""Texts as the word pieces of a tokenizer, whoever runs the network that reads them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from linnet.errors import LinnetError
from linnet.text.pieces import whole

__all__ = ["Special", "WordPieces", "plain"]


class Special(NamedTuple):
    """The ids of special tokens: for the start and the end of a text, for padding, and for what is masked.

    Encoders have the first three; some networks have no start, and some no mask.
    """

    start: int | None
    end: int | None
    padding: int
    mask: int | None = None


class WordPieces:
    """Reads texts as word pieces; subclasses have the tokenizer.

    Attributes:
        size: numbers in a vector of the network that reads the pieces.
        window: the most tokens of one text, start and end included.
    """

    size: int
    window: int

    @property
    @abstractmethod
    def backend(self) -> Any:
        """The tokenizer, a ``tokenizers.Tokenizer``."""

    @property
    @abstractmethod
    def special(self) -> Special:
        """The ids of special tokens."""

    @property
    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The special tokens that begin and end a text; some tokenizers have none for the beginning."""
        start, end, *_ = self.special
        return (() if start is None else (start,)), (() if end is None else (end,))

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of each text, without special tokens and uncut, however long it is.

        Text is nothing but text: a ``[SEP]`` in it becomes ordinary pieces; `marker` gives the ids of special tokens.
        """
        plain(self.backend)
        found = self.backend.encode_batch_fast(list(map(whole, texts)), add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def located(self, texts: Sequence[str]) -> list[tuple[tuple[int, ...], list[tuple[int, int]]]]:
        """Return the word pieces of each text as `pieces` does, and the characters ``[start, end)`` of each.

        Some tokenizers put the blank before a word into its first piece: characters begin behind it.
        """
        plain(self.backend)
        found = self.backend.encode_batch(list(map(whole, texts)), add_special_tokens=False)
        return [
            (tuple(encoding.ids), [_behind_blanks(text, *span) for span in encoding.offsets])
            for text, encoding in zip(texts, found, strict=True)
        ]

    def marker(self, token: str) -> int:
        """Return the id of a special token.

        Raises:
            LinnetError: the tokenizer has no such special token.
        """
        added = {each.content: number for number, each in self.backend.get_added_tokens_decoder().items()}
        found: int | None = added.get(token)
        if found is None:
            raise LinnetError(f"special token {token!r}: the tokenizer has none such; load the encoder with markers")
        return found


def _behind_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    return start, end


def plain(backend: Any) -> None:
    """Take from a tokenizer what its file may bring along: cutting, padding, special tokens found in text."""
    if backend.truncation is not None:
        backend.no_truncation()
    if backend.padding is not None:
        backend.no_padding()
    if not backend.encode_special_tokens:
        backend.encode_special_tokens = True
