"""Mentions by any Hugging Face model for token classification, as somebody has trained it.

The labels of the model may be of any scheme of `linnet.text.tagging` (BIO, IOB1, BIOES, BILOU), or types alone ("IO"):
``O``, ``Disease``. Each word gets its most probable label, and labels become mentions by the rule of that module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from linnet.data import Document, FrozenDict, Mention
from linnet.detect.label_types import checked_types, renamed
from linnet.errors import LinnetError, RecipeError
from linnet.frozen import EMPTY
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Detector
from linnet.pipeline.learner import made_once
from linnet.text.tagging import OUTSIDE, decode

if TYPE_CHECKING:
    from linnet.nn.token_classifier import Labelled, TokenClassifier

__all__ = ["HfTagger", "tags_of"]

MODEL = "model"
MARKS = frozenset("BIESLU")


@dataclass(kw_only=True)
class HfTagger(Detector):
    """Finds mentions with a Hugging Face model for token classification, of whatever scheme its labels are.

    Documents are read whole, the long ones in windows that overlap. ``signals["detect"]`` is the mean of the
    probabilities of the labels of a mention's words, as the model gives them.

    Args:
        model: a folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``, or a name in the local cache
            of Hugging Face.
        types: the mention type of each type in the labels; where it is given, other types are left out. Empty = all,
            with the model's own names.
        aggregation: what a word of several pieces gets: the label of its ``first`` piece, the best in the ``average``,
            or, with ``pieces``, each piece its own.
        min_probability: mentions less probable than this are left out.
    """

    model: str
    types: Mapping[str, str] = EMPTY
    aggregation: Literal["first", "average", "pieces"] = "first"
    min_probability: float = 0.0
    folder: Path | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.types = FrozenDict(self.types)
        if not 0 <= self.min_probability <= 1:
            raise RecipeError("hf_tagger", [f"min_probability: {self.min_probability} must be from 0 to 1"])

    @made_once
    def network(self) -> TokenClassifier:
        """The model, read at first use."""
        from linnet.nn.token_classifier import TokenClassifier  # noqa: PLC0415 - imports torch

        network = TokenClassifier.load(self.folder or self.model)
        found = {tag.partition("-")[2] for tag in tags_of(network.labels, self.model)}
        checked_types(self.types, found - {""}, who="hf_tagger")
        return network

    @property
    def parameters(self) -> int:
        """The weights of the model."""
        return sum(weight.numel() for weight in self.network.parameters())

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:  # noqa: ARG002
        """Return the mentions of each document."""
        network = self.network
        tags = tags_of(network.labels, self.model)
        read = network.read([doc.text for doc in docs], aggregation=self.aggregation)
        return [self._mentions(doc.text, labelled, tags) for doc, labelled in zip(docs, read, strict=True)]

    def _mentions(self, text: str, labelled: Labelled, tags: Sequence[str]) -> list[Mention]:
        words, probabilities = labelled
        if not words:
            return []
        best = probabilities.argmax(axis=1)
        sure = probabilities.max(axis=1)
        mentions = []
        for first, last, kind in decode(tags[place] for place in best):
            inside = text[words[first].start : words[last].end]
            start = words[first].start + len(inside) - len(inside.lstrip())
            types = renamed(kind, self.types)
            probability = float(sure[first : last + 1].mean())
            if types is not None and inside.strip() and probability >= self.min_probability:
                end = start + len(inside.strip())
                mentions.append(Mention(start, end, types=types, signals={"detect": probability}))
        return mentions

    def save(self, folder: Path) -> None:
        """Write the component with its model, so that the folder needs nothing besides."""
        super().save(folder)
        self.network.save(folder / MODEL)

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the component that `save` wrote."""
        loaded = super().load(folder, kb=kb, partly=partly)
        loaded.folder = folder.absolute() / MODEL
        return loaded


def tags_of(labels: Iterable[str], model: str) -> list[str]:
    """Return the labels of a model as tags of `linnet.text.tagging`: types alone become the insides of mentions.

    Raises:
        LinnetError: no label says that a word is outside.

    >>> tags_of(["O", "B-Gene", "I-Gene"], "my-model"), tags_of(["O", "Gene", "B-cell"], "my-model")
    (['O', 'B-Gene', 'I-Gene'], ['O', 'I-Gene', 'I-B-cell'])
    """
    labels = list(labels)
    if OUTSIDE not in labels:
        raise LinnetError(
            f"{model}: none of its labels is {OUTSIDE!r}, they are {', '.join(labels[:6])}: it finds no mentions, or "
            "its config.json lacks id2label"
        )
    inside = [label for label in labels if label != OUTSIDE]
    if all(label[0] in MARKS and label[1:2] in ("", "-") for label in inside):
        return labels
    return [label if label == OUTSIDE else f"I-{label}" for label in labels]
