"""A tagger of Flair: how it is put together, asked, kept, and how it learns.

What is kept is text, JSON and safetensors. Flair's own files are pickles, which run the code that they hold when they
are loaded, and PyTorch's loader that allows nothing but weights does not read them. So the folder is this::

    embeddings/words.txt                             a word and its numbers a line
    embeddings/forward.json forward.safetensors      a language model: its characters and sizes; its weights
    embeddings/backward.json backward.safetensors
    tagger.json tagger.safetensors                   labels and sizes; the weights of all that is above embeddings

A language model that Flair offers, such as ``pubmed-forward``, is converted once, by who trusts the file::

    model = flair.models.LanguageModel.load_language_model("pubmed-forward.pt")
    linnet.detect.flair_model.write_language_model(model, pathlib.Path("my-embeddings"))

It learns by gradient descent whose rate falls when dev documents gain nothing, until it is too small: Flair's early
stop. The embeddings come from a folder or are made of the training documents first: a vector for each word that stands
there twice, which goes on learning with the tagger, and a language model over characters in either direction, which
does not.
"""

from __future__ import annotations

import itertools
import json
import logging
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from linnet.errors import DataError, FormatError, LinnetError
from linnet.home import expanded, read_json
from linnet.nn.device import choose_device
from linnet.nn.weights import check_finite, read_weights, write_weights
from linnet.pipeline.component import Step
from linnet.text.tagging import Chunk
from linnet.train.args import Arguments

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the many libraries that Flair stands on
    import flair
    from flair.data import Dictionary, Sentence
    from flair.embeddings import FlairEmbeddings, StackedEmbeddings, WordEmbeddings
    from flair.models import LanguageModel, SequenceTagger
    from flair.training_utils import AnnealOnPlateau, store_embeddings

__all__ = ["FlairArgs", "FlairModel", "Found", "Layers", "Marked", "fit", "read_embeddings", "write_language_model"]

LABEL = "ner"  # what Flair calls this kind of label
DIRECTIONS = {"forward": True, "backward": False}
EMBEDDINGS = "embeddings"
SENTENCES = 32  # of a batch
WINDOW = 100  # characters that the gradient of a language model goes back
COLUMNS = 32  # stretches of text that a language model reads side by side, at most
WINDOWS = 30  # of each stretch, at least: with fewer steps than these a language model of a short text learns nothing
RARE = 2  # words that stand in the training documents less often are all alike
CLIP = 5.0
SPREAD = 0.5  # of the numbers of words that nothing is known of yet, as published vectors have it
LM_RATE, LM_CLIP = 5e-3, 0.25

Marked = tuple[list[str], list[Chunk]]  # the tokens of a sentence and its mentions

logging.getLogger("flair").setLevel(logging.WARNING)  # it tells of every step


class Found(NamedTuple):
    """A mention in a sentence: its first and last token, its type, and how sure the tagger is of it."""

    first: int
    last: int
    type: str
    sure: float


class FlairModel:
    """A trained tagger."""

    def __init__(self, tagger: Any) -> None:
        self.tagger = tagger.eval()

    def parameters(self) -> Iterator[Any]:
        """Return the weights, those of its embeddings included."""
        weights: Iterator[Any] = self.tagger.parameters()
        return weights

    def predict(self, texts: Sequence[Sequence[str]]) -> list[list[Found]]:
        """Return the mentions in sentences of tokens; none is empty."""
        sentences = [Sentence(list(tokens)) for tokens in texts]
        self.tagger.predict(sentences, mini_batch_size=SENTENCES, label_name=LABEL)
        return [
            [
                Found(label.data_point[0].idx - 1, label.data_point[-1].idx - 1, label.value, float(label.score))
                for label in sentence.get_labels(LABEL)
            ]
            for sentence in sentences
        ]

    def save(self, folder: Path) -> None:
        """Write the tagger and its embeddings to `folder`, made if needed."""
        place = folder / EMBEDDINGS
        place.mkdir(parents=True, exist_ok=True)
        tuned = False
        for part in self.tagger.embeddings.embeddings:
            if isinstance(part, WordEmbeddings):
                tuned = part.fine_tune
                _write_words(part, place / "words.txt")
            else:
                write_language_model(part.lm, place)
        weights = {
            name: value.detach().cpu()
            for name, value in self.tagger.state_dict().items()
            if not name.startswith("embeddings.")
        }
        labels = self.tagger.label_dictionary.get_items()
        about = {"labels": labels, "hidden": self.tagger.hidden_size, "words_tuned": tuned}
        (folder / "tagger.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
        write_weights(weights, folder / "tagger.safetensors")

    @classmethod
    def load(cls, folder: Path) -> FlairModel:
        """Return the tagger that `save` wrote, on the device to be used.

        Raises:
            FormatError: the folder is damaged.
        """
        flair.device = choose_device()
        about = read_json(folder / "tagger.json")
        try:
            embeddings = read_embeddings(folder / EMBEDDINGS, tune=about["words_tuned"])
            tagger = _tagger(embeddings, dictionary_of(about["labels"]), about["hidden"], saved=True)
            missing, unknown = tagger.load_state_dict(read_weights(folder / "tagger.safetensors"), strict=False)
        except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise FormatError(folder, f"{str(error).splitlines()[0]}; save the pipeline again") from error
        lost = [*unknown, *(name for name in missing if not name.startswith("embeddings."))]
        if lost:
            raise FormatError(folder, f"{len(lost)} weights do not fit, such as {lost[0]!r}; save the pipeline again")
        return cls(tagger)


# --- putting together ------------------------------------------------------------------------------------------------


def new_tagger(embeddings: Sequence[Any], types: Sequence[str], hidden: int, *, dropout: float) -> Any:
    """Return a tagger of mentions of some types that has learned nothing yet.

    `dropout` is the share of numbers that Flair hides from it while it learns, the same ones of all words of a
    sentence; a trained tagger hides none.
    """
    tags = dictionary_of(types)
    tags.span_labels = True
    return _tagger(embeddings, tags, hidden, saved=False, dropout=dropout)


def _tagger(embeddings: Sequence[Any], tags: Any, hidden: int, *, saved: bool, dropout: float = 0.0) -> Any:
    return SequenceTagger(
        StackedEmbeddings(list(embeddings)), tags, LABEL,
        tag_format="BIOES", hidden_size=hidden, use_crf=True, init_from_state_dict=saved, locked_dropout=dropout,
    )  # fmt: skip


def dictionary_of(items: Sequence[str], *, unknown: bool = False) -> Any:
    """Return items as Flair numbers them, after one for all unknown items if that is wanted."""
    made = Dictionary(add_unk=unknown)
    for item in items:
        made.add_item(item)
    return made


def words_of(words: Sequence[str], vectors: torch.Tensor, *, tune: bool) -> Any:
    """Return embeddings of words; `vectors` (words + 1, d) has one more for all other words."""
    places = {word: place for place, word in enumerate(words)}
    length = vectors.shape[1]
    made = WordEmbeddings(None, vocab=places, embedding_length=length, name="words", fine_tune=tune, force_cpu=False)
    with torch.no_grad():
        made.embedding.weight.copy_(vectors)
    return made


def language_model(characters: Sequence[str], *, forward: bool, size: int, embedding: int = 32) -> Any:
    """Return a language model over characters that has learned nothing yet."""
    made = dictionary_of(characters, unknown=True)
    return LanguageModel(made, is_forward_lm=forward, hidden_size=size, nlayers=1, embedding_size=embedding)


# --- files -----------------------------------------------------------------------------------------------------------


def read_embeddings(folder: Path, *, tune: bool = False) -> list[Any]:
    """Return the embeddings in a folder: vectors of words, and language models forward and backward.

    Args:
        folder: as the start of this module says; parts may be missing.
        tune: the vectors of words go on learning.

    Raises:
        LinnetError: no embeddings there, or damaged ones.
    """
    found: list[Any] = []
    if (folder / "words.txt").is_file():
        found.append(words_of(*_read_words(folder / "words.txt"), tune=tune))
    kept = [name for name in DIRECTIONS if (folder / f"{name}.json").is_file()]
    found += [FlairEmbeddings(_read_language_model(folder, name)) for name in kept]
    if not found:
        hint = "; Flair's .pt files are converted first (linnet.detect.flair_model)" if any(folder.glob("*.pt")) else ""
        raise LinnetError(f"{folder} holds no embeddings: expected words.txt, forward.json or backward.json{hint}")
    return found


def _write_words(part: Any, path: Path) -> None:
    rows = part.embedding.weight.detach().cpu().numpy()
    with path.open("w", encoding="utf-8") as stream:
        for word, row in zip([*part.vocab, "<unk>"], rows, strict=True):
            stream.write(f"{word} {' '.join(str(number) for number in row)}\n")


def _read_words(path: Path) -> tuple[list[str], torch.Tensor]:
    """Return words and their vectors, with one more for all others, which is 0 if the file has none."""
    words: list[str] = []
    rows: list[list[float]] = []
    other: list[float] | None = None
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            word, *values = line.rstrip().split(" ")
            if number == 1 and len(values) == 1:
                continue  # the head of a word2vec file: how many words, how many numbers
            try:
                row = [float(value) for value in values]
            except ValueError as error:
                raise FormatError(path, f"line {number}: expected a word and numbers, {error}") from error
            if not row or (rows and len(row) != len(rows[0])):
                raise FormatError(
                    path, f"line {number}: {len(row)} numbers, expected {len(rows[0]) if rows else 'some'}"
                )
            if word == "<unk>":
                other = row
            else:
                words.append(word)
                rows.append(row)
    if not rows:
        raise FormatError(path, "holds no word")
    vectors = torch.tensor([*rows, other or [0.0] * len(rows[0])])
    check_finite([("words", vectors)], path)
    return words, vectors


def write_language_model(model: Any, folder: Path) -> None:
    """Write a language model of Flair as JSON and safetensors, called by its direction, to a folder that is there."""
    name = "forward" if model.is_forward_lm else "backward"
    about = {
        "characters": model.dictionary.get_items(),
        "hidden_size": model.hidden_size,
        "nlayers": model.nlayers,
        "embedding_size": model.embedding_size,
        "nout": model.nout,
        "dropout": model.dropout,
        "recurrent_type": model.recurrent_type,
        "has_decoder": model.decoder is not None,
    }
    (folder / f"{name}.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
    weights = {key: value.detach().cpu() for key, value in model.state_dict().items()}
    write_weights(weights, folder / f"{name}.safetensors")


def _read_language_model(folder: Path, name: str) -> Any:
    about = read_json(folder / f"{name}.json")
    characters = dictionary_of(about.pop("characters"))
    model = LanguageModel(characters, is_forward_lm=DIRECTIONS[name], **about)
    model.load_state_dict(read_weights(folder / f"{name}.safetensors"))
    return model.eval()


# --- training --------------------------------------------------------------------------------------------------------


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
    layers: Layers, train: Sequence[Marked], dev: Sequence[Marked], *, args: Mapping[str, Any]
) -> Generator[Step, None, FlairModel]:
    """Train a tagger, a step an epoch, and return the one that was best on `dev`.

    Raises:
        RecipeError: `args` that this training does not know.
        DataError: no mention to learn from.
    """
    told = FlairArgs.of(args)
    flair.device = choose_device()
    types = sorted({chunk.type for _, chunks in train for chunk in chunks})
    if not types:
        raise DataError("flair: no mention in the training documents to learn from")
    state = torch.random.get_rng_state()
    flair.set_seed(told.seed)
    try:
        tagger = new_tagger(_embeddings(layers, train, told), types, layers.hidden, dropout=told.dropout)
        yield from _epochs(tagger, train, dev, told)
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
