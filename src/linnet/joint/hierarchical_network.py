"""The network of `linnet.joint.hierarchical`: words become labels of recognition and typing, and vectors of linking.

    reader    ``[CLS] pieces [SEP]`` -> the mean of the pieces of each word               (windows, words, d)
    single    a reader for each task
    multi     one reader, from which each task takes its layer
    hierarchical  one reader; each task has a BiLSTM that sees the reader's words and what the BiLSTM below says:
              recognition, typing, linking. Recognition and typing do not tune the reader.

Where the output layer is made of names, and with ``residual`` above BiLSTMs, the vectors of linking are those of the
reader plus what its layer says, which is 0 in the beginning: they begin as what the encoder makes of names, and linking
need not wait until BiLSTMs that begin with nothing have learned to tell words apart.

Layers behind the task's words are linear, so that the mean of a mention's words can be taken behind them: this is what
a vector of an entity is (Wiatrak and Iso-Sipila 2020, §2).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.errors import FormatError
from linnet.nn.attention import use_plain_steps
from linnet.nn.crf import Rules, rules_of
from linnet.nn.device import autocast
from linnet.nn.encoder import Encoder
from linnet.nn.pooling import Pool, Pooling
from linnet.nn.texts import token_budget
from linnet.nn.vectors import EncodesNames
from linnet.nn.weights import restore_layers, save_layers
from linnet.nn.windows import Pieces, embed, mean_of_pieces, run_lstm
from linnet.text.token_batches import token_batches
from linnet.text.windows import Text, Window
from linnet.text.words import SHAPES

__all__ = [
    "BILOU",
    "LINKING",
    "RECOGNITION",
    "TASKS",
    "TYPING",
    "Between",
    "HierarchicalNetwork",
    "Outputs",
    "mean_of_words",
    "normal",
    "read_concepts",
    "read_documents",
]

RECOGNITION = "recognition"
TYPING = "typing"
LINKING = "linking"
TASKS = (RECOGNITION, TYPING, LINKING)
BILOU = ["O", "B", "I", "L", "U"]

Sharing = Literal["single", "multi", "hierarchical"]

HEADS = "heads.safetensors"
CONCEPTS = "concepts.json"
SPREAD = 0.02  # of the weights that nothing has learned
SUREST = 30.0
TOGETHER = 32  # windows that a BiLSTM reads at once


class Between(NamedTuple):
    """The BiLSTMs of tasks: their size each way, their layers, and whether they see the reader's words too.

    ``residual``: the reader's words are added to the vectors of linking.
    """

    size: int
    layers: int
    shortcuts: bool
    residual: bool


class Outputs(NamedTuple):
    """What the network says of words, one behind the other: float32 (words, labels), (words, types), (words, d)."""

    recognition: Tensor
    typing: Tensor
    linking: Tensor


class Read(NamedTuple):
    """What readers see of windows: for each task float32 (windows, own words, d), and how many of the words are own."""

    words: dict[str, Tensor]
    lengths: Tensor


class Reader(nn.Module):
    """An encoder with what is known of words added to its input, and the mean of the pieces of each word.

    Args:
        encoder: reads word pieces.
        features: how many features matches of the dictionary have; 0 = there is no dictionary.
    """

    def __init__(self, encoder: Encoder, features: int) -> None:
        super().__init__()
        self.encoder = encoder
        use_plain_steps(encoder.backbone)
        self.shapes = nn.Embedding(len(SHAPES), encoder.size)
        self.matches = nn.Embedding(features, encoder.size) if features else None
        for layer in (self.shapes, self.matches):
            if layer is not None:
                nn.init.normal_(layer.weight, std=SPREAD)

    def forward(self, batch: Pieces) -> Tensor:
        """Return the vectors of words, float32 (windows, words, d)."""
        inputs = embed(batch, self.encoder, self.shapes, self.matches)
        hidden = self.encoder.backbone(inputs_embeds=inputs, attention_mask=batch.mask).last_hidden_state
        return mean_of_pieces(hidden, batch)


class HierarchicalNetwork(nn.Module, EncodesNames):
    """Readers, the layers of three tasks, and the output layer of linking.

    Args:
        encoders: an encoder for each task, by its name; of all tasks but linking none if they share that of linking.
        entity: reads names and stays as it is; None = that of linking reads them, or nothing does.
        name_pooling: of names.
        sharing: of the tasks.
        typing_labels: how many labels of typing; 0 = there is nothing to tell apart.
        features: of matches of the dictionary; 0 = there is no dictionary.
        between: the BiLSTMs of a ``hierarchical`` network.
        concepts: ids of the concepts that have a row of their own, which is all 0 in the beginning.
    """

    def __init__(
        self,
        encoders: Mapping[str, Encoder],
        entity: Encoder | None,
        *,
        name_pooling: Pooling,
        sharing: Sharing,
        typing_labels: int,
        features: int,
        between: Between,
        concepts: Sequence[str],
    ) -> None:
        super().__init__()
        self.sharing, self.shortcuts, self.concepts = sharing, between.shortcuts, list(concepts)
        size = encoders[LINKING].size
        self.entity = encoders[LINKING] if entity is None else entity
        self.name_pool = Pool(name_pooling, self.entity.size)
        of_names = entity is not None or not concepts
        self.adds_words = of_names or (between.residual and sharing == "hierarchical")
        self.widths = {RECOGNITION: len(BILOU), TYPING: typing_labels, LINKING: self.entity.size}
        self.tasks = [task for task in TASKS if task != TYPING or typing_labels]
        with torch.random.fork_rng(devices=[]):  # the same each time, whatever was drawn before
            torch.manual_seed(13)
            self.readers = nn.ModuleDict({task: Reader(encoder, features) for task, encoder in encoders.items()})
            self.between = nn.ModuleDict(self._lstms(size, between) if sharing == "hierarchical" else {})
            width = 2 * between.size if sharing == "hierarchical" else size
            self.heads = nn.ModuleDict({task: nn.Linear(width, self.widths[task]) for task in self.tasks})
            if self.adds_words:
                nn.init.zeros_(self.heads[LINKING].weight)  # type: ignore[arg-type]
                nn.init.zeros_(self.heads[LINKING].bias)  # type: ignore[arg-type]
            self.nil = nn.Parameter(torch.randn(self.entity.size) * SPREAD)
            self.rows = nn.Embedding(len(concepts), self.entity.size, sparse=True) if concepts else None
            if self.rows is not None:
                nn.init.zeros_(self.rows.weight)  # one that no step moves is no rival of those that have learned
        self.dropout = nn.Dropout(0.0)
        self.allowed = rules_of(BILOU, "BILOU")

    def _lstms(self, size: int, between: Between) -> dict[str, nn.LSTM]:
        """Return the BiLSTM of each task, the lowest first."""
        made: dict[str, nn.LSTM] = {}
        below = 0
        for task in self.tasks:
            seen = below + (size if self.shortcuts or not below else 0)
            made[task] = nn.LSTM(seen, between.size, between.layers, bidirectional=True, batch_first=True)
            below = 2 * between.size
        return made

    @property
    def mention(self) -> Encoder:
        """The encoder that linking reads documents with."""
        encoder: Encoder = self.readers[LINKING].encoder  # type: ignore[assignment]
        return encoder

    @property
    def encoders(self) -> list[Encoder]:
        """All of them: those that read documents, and that of names."""
        return [*(reader.encoder for reader in self.readers.values()), self.entity]  # type: ignore[list-item]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.nil.device

    @property
    def rules(self) -> Rules:
        """What labels may follow each other."""
        return Rules(*(rule.to(self.device) for rule in self.allowed))

    def names(self, ids: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return vectors of names, (names, tokens) -> (names, d)."""
        vectors: Tensor = self.name_pool(self.entity(ids, mask), mask, spans)
        return vectors

    def forward(self, batch: Pieces, tasks: Collection[str] = TASKS) -> Outputs:
        """Return what is said of the words that belong to the windows, in the order of the windows.

        Of tasks that are not among `tasks` nothing is said, (words, 0).
        """
        return self.say([self.read(batch, tasks)], tasks)

    def read(self, batch: Pieces, tasks: Collection[str] = TASKS) -> Read:
        """Return the vectors of the words that belong to the windows."""
        lengths = (batch.own[:, 1] - batch.own[:, 0]).clamp(min=0)
        wanted = {task: reader for task, reader in self.readers.items() if task in tasks or task == LINKING}
        return Read({task: self._own(self.dropout(reader(batch)), batch) for task, reader in wanted.items()}, lengths)

    def say(self, batches: Sequence[Read], tasks: Collection[str] = TASKS) -> Outputs:
        """Return what is said of the words of batches, one behind the other, as of `forward`."""
        read, lengths = _joined(batches)
        held = torch.arange(read[LINKING].shape[1], device=self.device) < lengths[:, None]  # (windows, own words)
        if self.sharing == "hierarchical":
            words = self._upwards(read[LINKING], lengths)
        else:
            words = {task: read.get(task, read[LINKING]) for task in self.tasks}
        with torch.autocast(self.device.type, enabled=False):
            said = {task: self.heads[task](words[task][held]) for task in self.tasks if task in tasks}
            if self.adds_words:
                said[LINKING] = said[LINKING] + read[LINKING][held]
        nothing = read[LINKING].new_zeros(int(held.sum()), 0)
        return Outputs(*(said.get(task, nothing) for task in TASKS))

    @staticmethod
    def _own(words: Tensor, batch: Pieces) -> Tensor:
        """Return the vectors of the words that belong to the windows, (windows, own words, d): context is dropped."""
        begin, end = batch.own[:, 0], batch.own[:, 1]
        count = int((end - begin).max())
        places = (begin[:, None] + torch.arange(count, device=words.device)).clamp(max=words.shape[1] - 1)
        return words.gather(1, places[:, :, None].expand(-1, -1, words.shape[2]))

    def _upwards(self, words: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Return what the BiLSTM of each task says of words, (windows, own words, 2 lstm)."""
        made: dict[str, Tensor] = {}
        below: Tensor | None = None
        for task in self.tasks:
            own = words if task == LINKING else words.detach()  # the reader is tuned by linking alone
            seen = [own] if below is None else [own, below] if self.shortcuts else [below]
            lstm: nn.LSTM = self.between[task]  # type: ignore[assignment]
            with torch.autocast(self.device.type, enabled=False):
                below = run_lstm(lstm, torch.cat(seen, dim=2), lengths.clamp(min=1))
            below = self.dropout(below)
            made[task] = below
        return made

    def save(self, folder: Path) -> None:
        """Write the encoders and the layers around them."""
        for task, reader in self.readers.items():
            reader.encoder.save(folder / ("mention" if task == LINKING else task))  # type: ignore[union-attr, operator]
        if self.entity is not self.mention:
            self.entity.save(folder / "entity")
        save_layers(self, folder / HEADS, encoders=self.encoders)
        (folder / CONCEPTS).write_text(json.dumps(self.concepts), "utf-8")

    def restore(self, folder: Path) -> None:
        """Take the layers around the encoders that `save` wrote.

        Raises:
            FormatError: they are not those that are wanted.
        """
        restore_layers(self, folder / HEADS, encoders=self.encoders)


# --- documents -------------------------------------------------------------------------------------------------------


def read_documents(
    network: HierarchicalNetwork,
    texts: Sequence[Text],
    windows: Sequence[Sequence[Window]],
    tasks: Collection[str] = TASKS,
) -> list[Outputs]:
    """Return what the network says of the words of each text; words that nobody reads are in no mention."""
    widths = [network.widths[task] for task in TASKS]
    made = [Outputs(*(torch.zeros(len(text.words), width) for width in widths)) for text in texts]
    for one in made:
        one.recognition[:, 0] = SUREST
    parts = [(number, one) for number, some in enumerate(windows) for one in some if _has_own(texts[number], one)]
    with torch.inference_mode(), autocast(network.device):
        for group in _groups([w.last - w.first + 2 for _, w in parts], token_budget(network.device)):
            some = [[parts[row] for row in rows.tolist()] for rows in group]
            _read_group(network, texts, some, tasks, made)
    return made


def _has_own(text: Text, window: Window) -> bool:
    """Return whether a window reads a word that belongs to it; none reads a sentence of control characters."""
    if window.last <= window.first:
        return False
    return max(window.begin, int(text.owners[window.first])) < min(window.end, int(text.owners[window.last - 1]) + 1)


def _read_group(
    network: HierarchicalNetwork,
    texts: Sequence[Text],
    group: Sequence[Sequence[tuple[int, Window]]],
    tasks: Collection[str],
    into: Sequence[Outputs],
) -> None:
    """Write what the network says of batches of windows, each with the number of its text, to their places in texts."""
    batches = [Pieces.of([(texts[number], window) for number, window in some], network.mention) for some in group]
    said = network.say([network.read(batch.to(network.device), tasks) for batch in batches], tasks)
    read = [part for some in group for part in some]
    starts = [int(texts[number].owners[window.first]) for number, window in read]
    _put([into[number] for number, _ in read], torch.cat([batch.own for batch in batches]), said, starts)


def _groups(lengths: Sequence[int], tokens: int) -> Iterator[list[npt.NDArray[np.intp]]]:
    """Yield batches for the encoder in groups of `TOGETHER` windows, which an LSTM reads in half of the time."""
    group: list[npt.NDArray[np.intp]] = []
    for rows in token_batches(lengths, tokens=tokens):
        group.append(rows)
        if sum(map(len, group)) >= TOGETHER:
            yield group
            group = []
    if group:
        yield group


def _joined(batches: Sequence[Read]) -> Read:
    """Return batches as one, filled up to the longest of them."""
    if len(batches) == 1:
        return batches[0]
    longest = max(read.words[LINKING].shape[1] for read in batches)
    words = {
        task: torch.cat([functional.pad(read.words[task], (0, 0, 0, longest - read.words[task].shape[1]))
                         for read in batches])
        for task in batches[0].words
    }  # fmt: skip
    return Read(words, torch.cat([read.lengths for read in batches]))


def _put(into: Sequence[Outputs], own: Tensor, said: Outputs, starts: Sequence[int]) -> None:
    """Write what is said of the own words of windows to their places in texts, but for tasks that say nothing.

    Args:
        into: the texts of the windows.
        own: first and last word of the windows that belong to them, int64 (windows, 2).
        said: of these words.
        starts: the first word of each window.
    """
    sizes = (own[:, 1] - own[:, 0]).clamp(min=0).tolist()
    for task, values in enumerate(said):
        if values.shape[1]:
            places = zip(into, starts, own[:, 0].tolist(), torch.split(values.float().cpu(), sizes), strict=True)
            for text, start, begin, vectors in places:
                text[task][start + begin : start + begin + len(vectors)] = vectors


def normal(vectors: Tensor, *, cosine: bool) -> Tensor:
    """Return vectors as they are compared: of length 1 where cosines are."""
    return functional.normalize(vectors, dim=-1) if cosine else vectors


def mean_of_words(vectors: Tensor, words: Sequence[np.ndarray]) -> Tensor:
    """Return the mean vectors of mentions that are given by their words, (mentions, d); 0 for one without words."""
    if not words:
        return vectors.new_zeros(0, vectors.shape[1])
    owner = torch.from_numpy(np.repeat(np.arange(len(words)), [len(some) for some in words])).to(vectors.device)
    places = torch.from_numpy(np.concatenate(words).astype(np.int64)).to(vectors.device)
    sums = vectors.new_zeros(len(words), vectors.shape[1]).index_add(0, owner, vectors[places])
    return sums / torch.bincount(owner, minlength=len(words)).clamp(min=1)[:, None]


def read_concepts(folder: Path) -> list[str]:
    """Return the ids of the concepts that the rows of a saved network are of.

    Raises:
        FormatError: the file is missing or damaged.
    """
    path = folder / CONCEPTS
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(path, f"holds no ids of concepts ({error})") from error
    if not isinstance(found, list):
        raise FormatError(path, "holds no list of ids of concepts")
    return [str(one) for one in found]
