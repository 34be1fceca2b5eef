"""Training of the network that writes names (`linnet.retrieve.generate`), in two stages.

**Pre-training** on the knowledge base alone (Yuan et al. 2022, section 2.2): sentences made of names and definitions
(`linnet.train.from_kb`), of which one name is the mention and another is to be written. **Fine-tuning** on the mentions
of documents (2.3): of the right concept's names the one is written that is most like the mention by TF-IDF of its
three-letter strings. Both minimise the cross-entropy of the name's tokens behind the prompt, with label smoothing.

Beyond: with ``preference`` the right name is also to be more probable than the wrong names which the beams of the
network as it is find for the mention, mined anew each epoch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Document
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.nn.seq2seq import Seq2Seq
from linnet.nn.texts import padded, token_budget
from linnet.pipeline import Component, Step
from linnet.retrieve.generate import PRETRAIN, Generate, GenerateArgs, PretrainArgs
from linnet.text.contexts import InContext
from linnet.text.token_batches import TokenText, token_batches
from linnet.train.args import TrainArgs
from linnet.train.checkpoint import key_of
from linnet.train.from_kb import FromKb
from linnet.train.judge import Linked, linked_mentions
from linnet.train.loop import Score, parameter_groups, train

__all__ = ["Finetuning", "Pretraining", "SimilarNames", "fit"]


def fit(
    part: Generate,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,  # noqa: ARG001 - nothing that comes before is learned from
    kb: KnowledgeBase,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network on the mentions of `docs`; arguments as of the component's `fit`.

    In the stage ``pretrain`` it is trained on the names of the knowledge base, and `docs` is not looked at.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention of `docs` has a concept of `kb`, or it has no names.
    """
    values = {key: value for key, value in args.items() if key != "checkpoints"}
    folder: Path | None = args.get("checkpoints")
    training: Training
    own: PretrainArgs | GenerateArgs
    if part.stage == PRETRAIN:
        own, loop = PretrainArgs.split(values)
        training, docs = Pretraining(part, own), ()
    else:
        own, loop = GenerateArgs.split(values)
        training = Finetuning(part, own, docs)
    told = [part.config(), vars(own), kb.version, part.network.fingerprint()]
    yield from train(
        training, docs, dev, score=dev_score(part, dev, own.judged), args=loop, folder=folder,
        key=key_of(told, [*docs, *dev], ()),
    )  # fmt: skip


def dev_score(part: Generate, dev: Sequence[Document], most: int) -> Score | None:
    """Return what gives the share of dev mentions whose first candidate is right; None without a mention.

    Args:
        part: writes.
        dev: documents.
        most: mentions that are looked at, spread evenly; 0 = all.
    """
    linked = linked_mentions(part, dev)
    if most and len(linked) > most:
        linked = [linked[place] for place in np.linspace(0, len(linked) - 1, most).astype(int).tolist()]
    if not linked:
        return None

    def score(_: Sequence[Document]) -> float:
        found = part.find([one.context for one in linked], [None] * len(linked))
        right = (len(c.rows) > 0 and int(c.rows[0]) in one.rows for one, c in zip(linked, found, strict=True))
        return sum(right) / len(linked)

    return score


class Example(NamedTuple):
    """What the encoder reads, the prompt, the name that is to be written, and wrong names."""

    text: TokenText
    prompt: Sequence[int]
    name: Sequence[int]
    wrong: tuple[Sequence[int], ...] = ()


class Group(NamedTuple):
    """Tensors of texts of like length: their ids and mask (texts, tokens); what follows each, and what is learned.

    ``following`` int64 (names, targets) has prompt and name, ``learned`` bool the same where a token is learned;
    ``texts`` int64 (names,) says of which text each is, ``right`` bool (names,) which are right.
    """

    ids: Tensor
    mask: Tensor
    following: Tensor
    learned: Tensor
    texts: Tensor
    right: Tensor


class Training:
    """What the gradient loop needs to know of both stages (`linnet.train.loop.Trainable`)."""

    def __init__(
        self, part: Generate, *, label_smoothing: float, preference: float = 0.0, sharpness: float = 1.0
    ) -> None:
        self.part, self.label_smoothing = part, label_smoothing
        self.preference, self.sharpness = preference, sharpness
        self.module: nn.Module = part.network

    @property
    def network(self) -> Seq2Seq:
        """The network."""
        return self.part.network

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return all parameters by their weight decay."""
        return parameter_groups(self.module, args)

    def made(self, examples: Sequence[Any]) -> list[Example]:
        """Return the examples as tokens."""
        return list(examples)

    def collate(self, examples: Sequence[Any]) -> list[Group]:
        """Return tensors of examples, those of like length together; of each the right name first, then wrong ones."""
        made = self.made(examples)
        budget = token_budget(next(self.network.parameters()).device)
        groups = token_batches([_count_tokens(one) for one in made], tokens=budget)
        return [self._group([made[place] for place in group.tolist()]) for group in groups]

    def _group(self, examples: Sequence[Example]) -> Group:
        padding = self.network.tokenizer.pad_token_id
        ids, mask, _ = padded([example.text for example in examples], padding=padding)
        rows = [(place, name) for place, one in enumerate(examples) for name in (one.name, *one.wrong)]
        prompts = [examples[place].prompt for place, _ in rows]
        width = max(len(prompt) + len(name) for prompt, (_, name) in zip(prompts, rows, strict=True))
        following = np.full((len(rows), width), padding, np.int64)
        learned = np.zeros((len(rows), width), np.bool_)
        for row, (prompt, (_, name)) in enumerate(zip(prompts, rows, strict=True)):
            begin, end = len(prompt), len(prompt) + len(name)
            following[row, :begin] = prompt
            following[row, begin:end] = name
            learned[row, begin:end] = True
        texts = np.array([place for place, _ in rows], np.int64)
        arrays = (following, learned, texts, np.diff(texts, prepend=-1) > 0)
        return Group(ids, mask, *(torch.from_numpy(array) for array in arrays))

    def loss(self, batch: Sequence[Group]) -> dict[str, Tensor]:
        """Return the cross-entropy of right names, and with wrong names by how little these are less probable.

        The second loss is -log σ(sharpness · (right - wrong)), of mean log probabilities of tokens.
        """
        nll, preference = zip(*(self._losses(group) for group in batch), strict=True)
        tokens = sum(int(group.learned[group.right].sum()) for group in batch)
        losses = {"nll": torch.stack(nll).sum() / tokens}
        if self.preference:
            wrong = sum(int((~group.right).sum()) for group in batch)
            losses["preference"] = self.preference * torch.stack(preference).sum() / max(1, wrong)
        return losses

    def _losses(self, group: Group) -> tuple[Tensor, Tensor]:
        """Return the sums of the cross-entropy over tokens of right names, and of the other loss over wrong names."""
        network = self.network
        encoded, mask = network.encode(group.ids, group.mask)[group.texts], group.mask[group.texts]
        logits = network.logits(encoded, mask, group.following, group.learned).float()  # (learned tokens, vocabulary)
        tokens, names = group.following[group.learned], group.learned.nonzero()[:, 0]
        right = group.right[names]
        nll = functional.cross_entropy(
            logits[right], tokens[right], label_smoothing=self.label_smoothing, reduction="sum"
        )
        wrong = ~group.right
        if not self.preference or not wrong.any():
            return nll, nll.new_zeros(())
        logs = -functional.cross_entropy(logits, tokens, reduction="none")
        means = logs.new_zeros(len(wrong)).index_add(0, names, logs) / torch.bincount(names, minlength=len(wrong))
        first = group.right.nonzero().squeeze(1)
        gain = means[first][group.texts[wrong]] - means[wrong]
        return nll, -functional.logsigmoid(self.sharpness * gain).sum()

    def name(self, text: str) -> list[int]:
        """Return the tokens of a name as they are written, with the end."""
        return [*self.network.pieces([self.part.form(text)])[0], self.network.end]


def _count_tokens(one: Example) -> int:
    """Return the tokens that are read and written for an example, those of padding between its names included."""
    names = (one.name, *one.wrong)
    return len(one.text.ids) + len(names) * (len(one.prompt) + max(map(len, names)))


class Pretraining(Training):
    """Training on the sentences made of a knowledge base; examples become texts when they are needed.

    Raises:
        DataError: it has no names.
    """

    def __init__(self, part: Generate, args: PretrainArgs) -> None:
        super().__init__(part, label_smoothing=args.label_smoothing)
        self.from_kb = FromKb(part.kb, definitions=args.definitions)
        if not len(self.from_kb):
            raise DataError(f"generate: {part.kb.path} has no names to write")

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> Any:  # noqa: ARG002
        """Return an example for each name, int64 (names, 2), as `FromKb.drawn` does."""
        return self.from_kb.drawn(rng)

    def made(self, examples: Sequence[Any]) -> list[Example]:
        """Return the sentences of examples as tokens."""
        made = [self.from_kb.example(drawn) for drawn in examples]
        return _tokens(self, [one.mention for one in made], [self.name(one.target) for one in made])


class Finetuning(Training):
    """Training on the mentions of documents.

    Raises:
        DataError: no mention has a concept that the knowledge base has.
    """

    def __init__(self, part: Generate, args: GenerateArgs, docs: Sequence[Document]) -> None:
        super().__init__(
            part, label_smoothing=args.label_smoothing, preference=args.preference, sharpness=args.sharpness
        )
        self.args, self.linked = args, linked_mentions(part, docs)
        self.mines = args.preference > 0  # examples depend on the weights
        if not self.linked:
            raise DataError("generate: no mention of the training documents has a concept of the knowledge base")
        self.names: dict[int, list[str]] = defaultdict(list)
        for name in part.kb.names():
            own = self.names[name.concept]
            own.insert(0 if name.preferred else len(own), name.text)  # which edits put behind others
        self.similar = SimilarNames(self.names) if args.target == "similar" else None

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> list[Example]:  # noqa: ARG002
        """Return an example for each mention, with the wrong names that the network as it is writes if it is to."""
        linked = [one for one in self.linked if any(self.names[row] for row in one.rows)]
        targets = [self.name(self._target(one, rng)) for one in linked]
        made = _tokens(self, [one.context for one in linked], targets)
        return [one._replace(wrong=wrong) for one, wrong in zip(made, self._wrong(linked), strict=True)]

    def _target(self, one: Linked, rng: np.random.Generator) -> str:
        """Return the name of a right concept that is to be written."""
        rows = [row for row in sorted(one.rows) if self.names[row]]
        names = self.names[rows[int(rng.integers(len(rows)))]]
        if self.similar is not None:
            return self.similar.nearest(one.context.text, [name for row in rows for name in self.names[row]])
        if self.args.target == "random":
            return names[int(rng.integers(len(names)))]
        return min(names, key=len) if self.args.target == "shortest" else names[0]

    def _wrong(self, linked: Sequence[Linked]) -> list[tuple[Sequence[int], ...]]:
        """Return the wrong names that are written for mentions, as tokens."""
        if not self.preference:
            return [()] * len(linked)
        kb, form = self.part.kb, self.part.form
        found = self.part.find([one.context for one in linked], [None] * len(linked))
        texts = {name.row: name.text for name in kb.names()}
        made: list[tuple[Sequence[int], ...]] = []
        for one, some in zip(linked, found, strict=True):
            names = some.names if some.names is not None else ()
            wrong = [texts[int(name)] for row, name in zip(some.rows, names, strict=True) if int(row) not in one.rows]
            right = {form(text) for row in one.rows for text in self.names[row]}  # which other concepts may have too
            made.append(tuple(self.name(text) for text in wrong if form(text) not in right))
        return made


def _tokens(training: Training, mentions: Sequence[InContext], names: Sequence[Sequence[int]]) -> list[Example]:
    """Return examples; of a name that is longer than the decoder's window, which no beam can end, the beginning."""
    texts, _ = training.part.inputs(mentions)
    window = training.network.window
    return [
        Example(text, prompt, name[: window - len(prompt)])
        for text, prompt, name in zip(texts, training.part.prompts(mentions), names, strict=True)
    ]


class SimilarNames:
    """Finds the name most like a mention by the cosine of TF-IDF vectors of three-letter strings within words.

    Args:
        names: of each concept; how rare a string is among all of them makes its weight.
    """

    def __init__(self, names: Mapping[int, Sequence[str]]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - slow to import

        self._vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))
        self._vectors.fit(name for own in names.values() for name in own)
        self._known: dict[tuple[str, tuple[str, ...]], str] = {}

    def nearest(self, mention: str, names: Sequence[str]) -> str:
        """Return the name that is most like a mention, of equals the first."""
        key = mention, tuple(names)
        if key not in self._known:
            rows = self._vectors.transform([mention, *names])
            self._known[key] = names[int(np.argmax((rows[1:] @ rows[0].T).toarray().ravel()))]
        return self._known[key]
