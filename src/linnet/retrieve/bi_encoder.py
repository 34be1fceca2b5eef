"""The bi-encoder: a mention in its context and the text of a concept, each as one vector (TrainX: Oberhauser 2020).

    mention  ``[CLS] left [MS] mention [ME] right [SEP]``       (mentions, tokens) -> (mentions, d)
    concept  ``[CLS] name [ENT] description [SEP]``             (names, tokens) -> (names, d)

Both sides are Hugging Face encoders, two of them as published or one for both. What one vector is made of the tokens is
an option of either side: [CLS] as published, or the mean of the mention's or the name's own tokens. The context is
centred on the mention: each side gets half of the room, and what one side leaves goes to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from linnet.errors import FormatError
from linnet.nn.encoder import Encoder
from linnet.nn.pooling import Pool, Pooling
from linnet.nn.texts import TokenText
from linnet.nn.weights import read_weights, write_weights
from linnet.retrieve.contexts import InContext

__all__ = ["BiEncoder", "Templates", "windowed"]

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

    def mentions(self, mentions: Sequence[InContext], encoder: Encoder) -> tuple[list[TokenText], int]:
        """Return the tokens of mentions, and how many mentions are longer than the window.

        Of these the beginning and the end are kept, as many tokens of each.
        """
        pieces = encoder.pieces([part for mention in mentions for part in mention])
        start, end = ([encoder.marker(MENTION_START)], [encoder.marker(MENTION_END)]) if self.markers else ([], [])
        first, last = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
        made, cut = [], 0
        for left, text, right in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
            most = self.tokens - 2 - len(start) - len(end)
            own, was_cut = _ends(text, most)
            cut += was_cut
            before, after = windowed(left, right, most - len(own))
            head = [first, *before, *start]
            ids = (*head, *own, *end, *after, last)
            made.append(TokenText(ids, (len(head), len(head) + len(own))))
        return made, cut

    def names(
        self, names: Sequence[str], encoder: Encoder, descriptions: Sequence[str] | None = None
    ) -> tuple[list[TokenText], int]:
        """Return the tokens of names, each followed by its description as far as the window reaches.

        With them comes how many names are longer than the window, of which the beginning and the end are kept.
        """
        pieces = encoder.pieces(names)
        first, last = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
        further = encoder.pieces(descriptions) if descriptions is not None else [[] for _ in names]
        made, cut = [], 0
        for text, description in zip(pieces, further, strict=True):
            own, was_cut = _ends(text, self.name_tokens - 2)
            cut += was_cut
            rest: list[int] = []
            if description and self.markers:
                rest.append(encoder.marker(ENTITY))
            rest = [*rest, *description][: self.name_tokens - 2 - len(own)]
            made.append(TokenText((first, *own, *rest, last), (1, 1 + len(own))))
        return made, cut


def _ends(pieces: Sequence[int], most: int) -> tuple[list[int], bool]:
    if len(pieces) <= most:
        return list(pieces), False
    tail = most // 2
    return [*pieces[: most - tail], *pieces[len(pieces) - tail :]], True


class BiEncoder(nn.Module):
    """Two encoders, or one that is both, and what makes one vector of each text's tokens.

    Args:
        mention: the encoder of mentions.
        entity: the encoder of names; the same object if it is shared.
        pooling: of mentions.
        name_pooling: of names.
    """

    def __init__(self, mention: Encoder, entity: Encoder, *, pooling: Pooling, name_pooling: Pooling) -> None:
        super().__init__()
        self.mention, self.entity = mention, entity
        self.pool, self.name_pool = Pool(pooling, mention.size), Pool(name_pooling, entity.size)

    @classmethod
    def of(
        cls, name: str | Path, *, shared: bool, pooling: Pooling, name_pooling: Pooling, download: bool = False
    ) -> BiEncoder:
        """Return an untrained bi-encoder from a pre-trained encoder by name or folder."""
        mention = Encoder.load(name, markers=MARKERS, download=download)
        entity = mention if shared else Encoder.load(name, markers=MARKERS, download=download)
        return cls(mention, entity, pooling=pooling, name_pooling=name_pooling)

    def with_onnx(self) -> BiEncoder:
        """Return the same, its encoders run by ONNX Runtime on the CPU."""
        from linnet.nn.onnx import OnnxEncoder  # noqa: PLC0415 - needs the extra onnx

        mention = OnnxEncoder(self.mention)
        made = BiEncoder(
            mention,
            mention if self.shared else OnnxEncoder(self.entity),
            pooling=self.pool.how,
            name_pooling=self.name_pool.how,
        )
        made.pool, made.name_pool = self.pool, self.name_pool
        return made

    @property
    def shared(self) -> bool:
        """Whether one encoder serves both sides."""
        return self.entity is self.mention

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def embeddings(self) -> list[nn.Parameter]:
        """Return the weights below the first layer, of tokens and positions, which training freezes as published."""
        encoders = [self.mention] if self.shared else [self.mention, self.entity]
        lowest = [getattr(encoder.backbone, "embeddings", encoder.embeddings) for encoder in encoders]
        return [parameter for module in lowest for parameter in module.parameters()]

    def mentions(self, ids: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return vectors of mentions, (mentions, tokens) -> (mentions, d)."""
        vectors: Tensor = self.pool(self.mention(ids, mask), mask, spans)
        return vectors

    def names(self, ids: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return vectors of names, (names, tokens) -> (names, d)."""
        vectors: Tensor = self.name_pool(self.entity(ids, mask), mask, spans)
        return vectors

    def forward(self, mentions: tuple[Tensor, ...], names: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Return vectors of mentions and of names."""
        return self.mentions(*mentions), self.names(*names)

    def save(self, folder: Path) -> None:
        """Write the encoders, and the pooling's own weights if there are any."""
        self.mention.save(folder / "mention")
        if not self.shared:
            self.entity.save(folder / "entity")
        weights = {f"{side}.{key}": value for side, pool in self._pools() for key, value in pool.state_dict().items()}
        if weights:
            write_weights(weights, folder / "pooling.safetensors")

    def load_weights(self, folder: Path) -> None:
        """Read the pooling's weights that `save` wrote.

        Raises:
            FormatError: they are of another pooling.
        """
        path = folder / "pooling.safetensors"
        weights = read_weights(path)
        for side, pool in self._pools():
            own = {key.removeprefix(f"{side}."): value for key, value in weights.items() if key.startswith(f"{side}.")}
            if own.keys() != pool.state_dict().keys():
                raise FormatError(path, f"holds no weights for the pooling {pool.how!r}: leave it as it was trained")
            pool.load_state_dict(own)

    @classmethod
    def load(cls, folder: Path, *, pooling: Pooling, name_pooling: Pooling) -> BiEncoder:
        """Return what `save` wrote."""
        mention = Encoder.load(folder / "mention")
        entity = Encoder.load(folder / "entity") if (folder / "entity").is_dir() else mention
        loaded = cls(mention, entity, pooling=pooling, name_pooling=name_pooling)
        loaded.load_weights(folder)
        return loaded

    def _pools(self) -> tuple[tuple[str, Pool], tuple[str, Pool]]:
        return ("mention", self.pool), ("entity", self.name_pool)
