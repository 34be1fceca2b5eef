"""A trained collective dual encoder without PyTorch: encoders as graphs, the layers around them in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from linnet.errors import FormatError
from linnet.graphs.encoder import GraphEncoder, read_encoders, save_encoders
from linnet.graphs.layers import UNFIT, known_of_pieces, linear, read_layers, write_layers
from linnet.graphs.vectors import LEAST, GraphPool, encode
from linnet.joint.found_spans import choose_spans, find_labelled, span_scores
from linnet.joint.reading import Found
from linnet.text.token_batches import TokenText
from linnet.text.windows import PaddedWindows, Text, Window, read_pieces

__all__ = ["GraphCollective"]

Floats = npt.NDArray[np.float32]

LAYERS = "layers.arrays"


class GraphCollective:
    """What reads documents and names, as `linnet.joint.collective_network.CollectiveNetwork` does.

    Args:
        mention: reads documents, and what is known of their words where mentions are looked for.
        entity: reads names.
        name_pool: of names.
        layers: ``shapes``, ``head`` and, with a dictionary, ``matches`` where mentions are looked for; ``ends`` where
            a mention is its ends.
    """

    is_graph = True  # PyTorch does not run it

    def __init__(
        self, mention: GraphEncoder, entity: GraphEncoder, *, name_pool: GraphPool, layers: Mapping[str, Floats]
    ) -> None:
        self.mention, self.entity = mention, entity
        self.name_pool, self._layers = name_pool, layers

    def as_graph(self) -> Self:
        """Return itself."""
        return self

    @property
    def parameters(self) -> int:
        """The weights of the encoders and the layers around them."""
        encoders = {each.fingerprint(): each.parameters for each in (self.mention, self.entity)}
        return sum(encoders.values()) + sum(each.size for each in self._layers.values())

    def encode_names(self, texts: Sequence[TokenText]) -> Floats:
        """Return vectors of names, float32 (names, d) of length 1."""
        return encode(self.entity, self.name_pool, texts)

    def read_documents(self, texts: Sequence[Text], windows: Sequence[Sequence[Window]]) -> list[Floats]:
        """Return the vectors of the word pieces of each text, float32 (pieces, d), as `read_pieces` does."""
        return read_pieces(texts, windows, self._encode, size=self.mention.size, tokens=self.mention.budget)

    def _encode(self, some: list[tuple[Text, Window]]) -> list[Floats]:
        hidden = self._read(PaddedWindows.of(some, self.mention))
        return [own[1 : window.last - window.first + 1] for own, (_, window) in zip(hidden, some, strict=True)]

    def _read(self, batch: PaddedWindows) -> Floats:
        if "shapes" not in self._layers:
            return self.mention(batch.ids, batch.mask)
        known = known_of_pieces(batch, self._layers["shapes"], self._layers.get("matches"))
        return self.mention(batch.ids, batch.mask, known)

    def vectors(self, hidden: Floats, mentions: Sequence[Sequence[tuple[int, int]]]) -> Floats:
        """Return the vectors of mentions, stretches of pieces, float32 (mentions, d) of length 1; 0 for one without."""
        found = np.zeros((len(mentions), self.mention.size), np.float32)
        for number, parts in enumerate(mentions):
            pieces = [piece for part in parts for piece in range(*part)]
            if not pieces:
                continue
            if "ends.weight" in self._layers:
                ends = np.concatenate([hidden[pieces[0]], hidden[pieces[-1]]])
                found[number] = linear(ends, self._layers, "ends")
            else:
                found[number] = hidden[pieces].mean(axis=0)
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), LEAST)
        return found

    def find_spans(self, text: Text, hidden: Floats, widest: int, overlaps: Literal["flat", "nested"]) -> list[Found]:
        """Return the spans of a text that may be mentions, best first."""
        if not len(hidden):
            return []
        scores = linear(hidden, self._layers, "head")
        return choose_spans(span_scores(scores, text.owners, len(text.words), widest), overlaps)

    def find_chunks(self, texts: Sequence[Text], hidden: Sequence[Floats]) -> list[list[Found]]:
        """Return the mentions of the best labels of each text."""
        return find_labelled(texts, [linear(own, self._layers, "head") for own in hidden])

    def save(self, folder: Path) -> None:
        """Write the encoders and the layers around them.

        Raises:
            OSError: they cannot be written.
        """
        save_encoders(self.mention, self.entity, folder)
        write_layers(self._layers, folder / LAYERS)

    @classmethod
    def load(cls, folder: Path, *, name_pooling: str, ends: bool, finds: bool, features: int) -> GraphCollective:
        """Return what `save` wrote; arguments as of `CollectiveNetwork`.

        Raises:
            FormatError: it is no such network.
        """
        mention, entity = read_encoders(folder)
        layers = read_layers(folder / LAYERS)
        wanted = {"ends.weight": ends, "head.weight": finds, "shapes": finds, "matches": bool(finds and features)}
        wrong = any((name in layers) != wants for name, wants in wanted.items())
        if wrong or (wanted["matches"] and len(layers["matches"]) != features):
            raise FormatError(folder / LAYERS, UNFIT)
        return cls(mention, entity, name_pool=GraphPool(name_pooling), layers=layers)
