"""How Flair's tagger learns: gradient descent whose rate falls when dev documents gain nothing, until it is too small.

That is Flair's early stop. The embeddings come from a folder or are made of the training documents first: a vector for
each word that stands there twice, which goes on learning with the tagger, and a language model over characters in
either direction, which does not.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import flair
import numpy as np
import torch
from flair.data import Sentence
from flair.embeddings import FlairEmbeddings
from flair.training_utils import AnnealOnPlateau, store_embeddings
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from linnet.data import Document
from linnet.detect.flair_model import (
    DIRECTIONS,
    LABEL,
    FlairModel,
    language_model,
    new_tagger,
    read_embeddings,
    words_of,
)
from linnet.detect.flair_texts import Marked, marked_sentences
from linnet.errors import DataError
from linnet.home import expanded
from linnet.nn.device import choose_device
from linnet.pipeline.component import Step
from linnet.text.tagging import Chunk
from linnet.train.args import Arguments

__all__ = ["FlairArgs", "Layers", "fit"]

WINDOW = 100  # characters that the gradient of a language model goes back
COLUMNS = 32  # stretches of text that a language model reads side by side, at most
WINDOWS = 30  # of each stretch, at least: with fewer steps than these a language model of a short text learns nothing
RARE = 2  # words that stand in the training documents less often are all alike
CLIP = 5.0
SPREAD = 0.5  # of the numbers of words that nothing is known of yet, as published vectors have it
LM_RATE, LM_CLIP = 5e-3, 0.25


class FlairArgs(Arguments):
    """What the training is told; the defaults are Flair's.

    Args:
        epochs: passes over the documents at most.
        batch: sentences of a step.
        lr: the first learning rate.
        patience: epochs without a gain after which the rate is multiplied with `anneal`.
        anneal: a share.
        least_lr: training stops when the rate is below it.
        dropout: share of the numbers hidden in each sentence; 0 for a few documents, which are to be learned whole.
        characters_epochs: passes over the documents for each language model that is made.
        seed: of all that is drawn.
    """

    SOURCE: ClassVar[str] = "flair"

    epochs: PositiveInt = 100
    batch: PositiveInt = 32
    lr: PositiveFloat = 0.1
    patience: NonNegativeInt = 3
    anneal: float = Field(default=0.5, gt=0, lt=1)
    least_lr: PositiveFloat = 1e-4
    dropout: float = Field(default=0.5, ge=0, lt=1)
    characters_epochs: PositiveInt = 5
    seed: NonNegativeInt = 13


class Layers(Protocol):
    """What a tagger is made of; `linnet.detect.flair.Flair` says what each of these is."""

    embeddings: str
    words: int
    characters: int
    hidden: int


def fit(
    layers: Layers, train: Sequence[Document], dev: Sequence[Document], *, args: Mapping[str, Any]
) -> Generator[Step, None, FlairModel]:
    """Train a tagger, a step an epoch, and return the one that was best on `dev`.

    Raises:
        RecipeError: `args` that this training does not know.
        DataError: no mention to learn from.
    """
    told = FlairArgs.of(args)
    flair.device = choose_device()
    marked, judged = marked_sentences(train), marked_sentences(dev)
    types = sorted({chunk.type for _, chunks in marked for chunk in chunks})
    if not types:
        raise DataError("flair: no mention in the training documents to learn from")
    state = torch.random.get_rng_state()
    flair.set_seed(told.seed)
    try:
        tagger = new_tagger(_embeddings(layers, marked, told), types, layers.hidden, dropout=told.dropout)
        yield from _epochs(tagger, marked, judged, told)
    finally:
        torch.random.set_rng_state(state)
    return FlairModel(tagger)


def _epochs(tagger: Any, train: Sequence[Marked], dev: Sequence[Marked], told: FlairArgs) -> Iterator[Step]:
    """Train until the early stop, and leave the best weights in the tagger."""
    drawn = np.random.default_rng(told.seed)
    sentences = [_sentence(*row) for row in train]
    optimizer = torch.optim.SGD(tagger.parameters(), lr=told.lr)
    by_score = bool(dev)
    rate = AnnealOnPlateau(optimizer, mode="max" if by_score else "min", factor=told.anneal, patience=told.patience)
    best, kept = float("-inf"), dict[str, torch.Tensor]()
    for epoch in range(1, told.epochs + 1):
        lr = optimizer.param_groups[0]["lr"]
        if lr < told.least_lr:
            break
        loss = _epoch(tagger, [sentences[place] for place in drawn.permutation(len(sentences))], optimizer, told.batch)
        score = _f1(tagger, dev) if by_score else None
        rate.step(loss if score is None else score, loss)
        worth = -loss if score is None else score
        if worth > best:
            best, kept = worth, {name: value.detach().clone() for name, value in tagger.state_dict().items()}
        yield Step(step=epoch, total=told.epochs, losses={"crf": loss}, score=score, epoch=epoch, lr=lr)
    tagger.load_state_dict(kept)


def _epoch(tagger: Any, sentences: Sequence[Any], optimizer: torch.optim.Optimizer, size: int) -> float:
    """Take a step for each batch; return the mean loss of a token."""
    tagger.train()
    total, tokens = 0.0, 0
    for start in range(0, len(sentences), size):
        batch = list(sentences[start : start + size])
        optimizer.zero_grad()
        loss, count = tagger.forward_loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tagger.parameters(), CLIP)
        optimizer.step()
        store_embeddings(batch, "cpu")  # what does not learn need not be made again
        total, tokens = total + float(loss.detach()), tokens + count
    return total / max(tokens, 1)


def _f1(tagger: Any, rows: Sequence[Marked]) -> float:
    """Return the strict F1 of mentions and their types."""
    tagger.eval()
    found = FlairModel(tagger).predict([tokens for tokens, _ in rows])
    right = sum(len({item[:3] for item in ours} & set(theirs)) for ours, (_, theirs) in zip(found, rows, strict=True))
    total = sum(map(len, found)) + sum(len(chunks) for _, chunks in rows)
    return 2 * right / total if total else 1.0


def _sentence(words: Sequence[str], chunks: Sequence[Chunk]) -> Any:
    sentence = Sentence(list(words))
    for first, last, kind in chunks:
        sentence[first : last + 1].add_label(LABEL, kind)
    return sentence


# --- embeddings ------------------------------------------------------------------------------------------------------


def _embeddings(layers: Layers, rows: Sequence[Marked], told: FlairArgs) -> list[Any]:
    """Return embeddings of a folder, or made of sentences."""
    if layers.embeddings:
        return read_embeddings(expanded(layers.embeddings))
    made: list[Any] = []
    if layers.words:
        counts = Counter(word.lower() for words, _ in rows for word in words)
        frequent = sorted(word for word, count in counts.items() if count >= RARE)
        made.append(words_of(frequent, SPREAD * torch.randn(len(frequent) + 1, layers.words), tune=True))
    if layers.characters:
        text = "\n".join(" ".join(words) for words, _ in rows) + "\n"
        counts = Counter(text)
        characters = sorted(character for character, count in counts.items() if count >= RARE)
        for forward in DIRECTIONS.values():
            model = language_model(characters, forward=forward, size=layers.characters)
            _learn_text(model, text if forward else text[::-1], told.characters_epochs)
            made.append(FlairEmbeddings(model))
    return made


def _learn_text(model: Any, text: str, epochs: int) -> None:
    """Train a language model to tell the next character, column by column of the text."""
    places = torch.tensor(model.dictionary.get_idx_for_items(list(text)), device=flair.device)
    columns = max(1, min(COLUMNS, len(places) // (WINDOW * WINDOWS)))
    length = len(places) // columns
    table = places[: length * columns].view(columns, length).t()  # (characters, columns)
    optimizer = torch.optim.Adam(model.parameters(), lr=LM_RATE)
    model.train()
    for _, start in itertools.product(range(epochs), range(0, length - 1, WINDOW)):
        if start == 0:
            hidden = model.init_hidden(columns)
        read = table[start : min(start + WINDOW, length - 1)]
        follow = table[start + 1 : start + 1 + len(read)]
        optimizer.zero_grad()
        logits, _, hidden = model.forward(read.contiguous(), hidden)
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), follow.reshape(-1))
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), LM_CLIP)
        optimizer.step()
        hidden = tuple(state.detach() for state in hidden)
    model.eval()
