"""Training of the bi-encoder (`linnet.retrieve.bi_encoder`): its examples, negatives and losses.

As published (TrainX, §3): cross-entropy over the names of a batch, of which a mention's own is right, by dot product.
Beyond: cosines over a temperature; hard negatives, mined anew each epoch from what the network itself takes for the
mention, or drawn from a lexical retriever's answers; pairs of synonyms of the knowledge base, which teach names that no
mention has; large batches in the memory of small ones; a slower ranker's opinion to learn from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from linnet.data import Candidates, Document
from linnet.errors import DataError, RecipeError
from linnet.nn.texts import TokenText, padded
from linnet.nn.vectors import encode_to_learn
from linnet.pipeline import Component, Step
from linnet.retrieve.bi_encoder import BiEncoder
from linnet.retrieve.dense_args import DenseArgs
from linnet.retrieve.dense_linked import RetrieverInTraining, linked_mentions, training_key
from linnet.train.args import TrainArgs
from linnet.train.judge import Judge, Linked, judged
from linnet.train.loop import parameter_groups
from linnet.train.negatives import Spared, collisions, hard, random_rows
from linnet.train.processes import gathered, rows_before

__all__ = ["DenseTraining", "Example", "fit"]

SPARED = 16  # more concepts are looked at for hard negatives than are wanted: some are right, or spared

Mined = tuple[Candidates, dict[int, int]]  # what was found for a mention; right concept -> place of its nearest name


class Example(NamedTuple):
    """A mention, or a name that stands for one: its tokens, spared rows, names to tell apart and their concepts.

    The first name is right, the others are negatives. ``shares`` says how a teacher divides its belief among the first
    names, no share for a mention without a teacher.
    """

    mention: TokenText
    by_name: bool
    spared: frozenset[int]
    names: tuple[TokenText, ...]
    rows: tuple[int, ...]
    shares: tuple[float, ...] = ()


class Batch(NamedTuple):
    """Tensors: ids, mask, spans of mentions, of names that stand for mentions, and of names; what is left out.

    ``out`` bool (mentions, names): names that are right for a mention, but not its own positive; ``own`` (mentions,).
    ``shares`` float32 (mentions, names), what a teacher believes, -1 for names it was not asked about. ``rows`` int64
    (names,), their concepts, and ``spared`` int64 (mentions, most), what is right for a mention, -1 for nothing: for
    names of other processes.
    """

    mentions: tuple[Tensor, Tensor, Tensor]
    synonyms: tuple[Tensor, Tensor, Tensor]
    names: tuple[Tensor, Tensor, Tensor]
    out: Tensor
    own: Tensor
    shares: Tensor
    rows: Tensor
    spared: Tensor


class DenseTraining:
    """What the gradient loop needs to know of a bi-encoder (`linnet.train.loop.Trainable`)."""

    mines = True  # examples depend on the weights

    def __init__(self, dense: RetrieverInTraining, args: DenseArgs, linked: Sequence[Linked]) -> None:
        self.dense, self.args, self.linked = dense, args, linked
        self.module: nn.Module = dense.network
        self.spared = Spared(dense.kb, descendants=args.spare_descendants)
        self.names = _Names(dense)
        self.judge = Judge(dense, lambda: dense.names_file)

    @property
    def model(self) -> BiEncoder:
        """The network."""
        return self.dense.network

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameters by their weight decay, those that are frozen left out."""
        if self.args.freeze_embeddings:
            for parameter in self.model.embeddings():
                parameter.requires_grad_(False)
        return parameter_groups(self.module, args)

    # --- examples ----------------------------------------------------------------------------------------------------

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> list[Example]:  # noqa: ARG002
        """Return an example for each mention, with negatives mined by the network as it is, and pairs of synonyms."""
        linked = self._drawn(rng)
        texts, _ = self.dense.templates.mentions([one.context for one in linked], self.model.mention)
        mined: Sequence[Mined | None] = [None] * len(texts)
        if self.args.mined or self.args.positive == "nearest":
            mined = self._mined(linked)
        made = [self._example(one, text, found, rng) for one, text, found in zip(linked, texts, mined, strict=True)]
        return made + self._synonyms(rng, round(self.args.synonyms * len(made)))

    def _drawn(self, rng: np.random.Generator) -> Sequence[Linked]:
        """Return the mentions of an epoch: all, or as many as are wanted of those that are alike, and of all."""
        if not (self.args.max_duplicates or self.args.max_mentions_per_epoch):
            return self.linked
        alike, most = self.args.max_duplicates or len(self.linked), self.args.max_mentions_per_epoch or len(self.linked)
        seen: Counter[tuple[str, frozenset[int]]] = Counter()
        drawn: list[int] = []
        for place in rng.permutation(len(self.linked)).tolist():
            key = self.linked[place].context.text, self.linked[place].rows
            seen[key] += 1
            if seen[key] <= alike and len(drawn) < most:
                drawn.append(place)
        return [self.linked[place] for place in sorted(drawn)]

    def _mined(self, linked: Sequence[Linked]) -> list[Mined]:
        """Return what the network finds for each mention, and its nearest name of each right concept."""
        vectors = self.judge.vectors()
        queries = self.dense.encode_mentions([one.context for one in linked])
        found_for_all = vectors.search(queries, self.args.mined + SPARED)
        mined = []
        for one, query, found in zip(linked, queries, found_for_all, strict=True):
            nearest = {}
            for row in one.rows:
                own = self.names.of(row)
                if len(own):
                    nearest[row] = int(own[int(np.argmax(vectors.vectors[own] @ query))])
            mined.append((Candidates(*found[:2], names=found.names, kb=self.dense.kb.version), nearest))
        return mined

    def _example(self, one: Linked, text: TokenText, mined: Mined | None, rng: np.random.Generator) -> Example:
        args, spared = self.args, self.spared.of(one.rows)
        row = sorted(one.rows)[int(rng.integers(len(one.rows)))]
        place = mined[1].get(row) if mined is not None and args.positive == "nearest" else None
        chosen = [(row, self.names.some(row, rng, args.positive) if place is None else place)]
        shares = self._taught(one, spared, chosen)
        for found, count in ((mined[0] if mined else None, args.mined), (one.candidates, args.lexical)):
            if found is not None and count:
                places = hard(found.rows, spared, count, above=one.rows if args.only_above else None)
                chosen += [(int(found.rows[p]), self.names.matched(found, p)) for p in places]
        for other in random_rows(rng, self.names.concepts, spared, args.random):
            chosen.append((other, self.names.some(other, rng, "random")))
        names = tuple(self.names.tokens(place) for _, place in chosen)
        return Example(text, False, spared, names, tuple(row for row, _ in chosen), shares)

    def _taught(self, one: Linked, spared: frozenset[int], chosen: list[tuple[int, int]]) -> tuple[float, ...]:
        """Add a teacher's wrong candidates to `chosen`, which holds the right one; return its shares of all."""
        found = one.candidates
        if not self.args.distill_k or found is None or not len(found.rows):
            return ()
        places = hard(found.rows, spared, self.args.distill_k)
        right = sum(float(score) for row, score in zip(found.rows, found.scores, strict=True) if int(row) in spared)
        scores = np.maximum([right, *(float(found.scores[place]) for place in places)], 0.0)
        if not scores.sum():
            return ()
        chosen += [(int(found.rows[place]), self.names.matched(found, place)) for place in places]
        return tuple((scores / scores.sum()).tolist())

    def _synonyms(self, rng: np.random.Generator, count: int) -> list[Example]:
        """Return pairs of names of concepts drawn at random from those that have several."""
        several = self.names.several
        if not count or not len(several):
            return []
        made = []
        for row in rng.choice(several, count, replace=count > len(several)).tolist():
            own = self.names.of(row)
            one, other = rng.choice(own, 2, replace=False).tolist()
            spared = self.spared.of([row])
            made.append(Example(self.names.tokens(one), True, spared, (self.names.tokens(other),), (row,)))
        return made

    # --- loss --------------------------------------------------------------------------------------------------------

    def collate(self, examples: Sequence[Example]) -> Batch:
        """Return tensors of examples: mentions first, then names that stand for mentions."""
        ordered = sorted(examples, key=lambda example: example.by_name)
        rows = [row for example in ordered for row in example.rows]
        sizes = np.array([len(example.rows) for example in ordered])
        own = np.cumsum(sizes) - sizes
        out = collisions([example.spared for example in ordered], rows)
        out[np.arange(len(ordered)), own] = False
        sides = [[e.mention for e in ordered if e.by_name == by_name] for by_name in (False, True)]
        names = [name for example in ordered for name in example.names]
        tokenizer = self.model.mention.tokenizer
        mentions, synonyms, shown = (padded(texts, padding=tokenizer.pad_token_id) for texts in (*sides, names))
        shares = np.full(out.shape if self.args.distill_k else (0, 0), -1, np.float32)
        for place, example in enumerate(ordered if self.args.distill_k else ()):
            shares[place, own[place] : own[place] + len(example.shares)] = example.shares
        right = [torch.tensor(sorted(example.spared)) for example in ordered]
        spared = pad_sequence(right, batch_first=True, padding_value=-1)
        arrays = [torch.from_numpy(array) for array in (out, own, shares, np.array(rows))]
        return Batch(mentions, synonyms, shown, arrays[0], arrays[1], arrays[2], arrays[3], spared)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the cross-entropy of the right names among all of the batch, and with a teacher that to its shares."""
        model = self.model
        sides = ((model.mentions, batch.mentions), (model.names, batch.synonyms))
        chunk = self.args.encode_batch
        asked = torch.cat([encode_to_learn(encode, texts, chunk=chunk) for encode, texts in sides if len(texts[0])])
        names = encode_to_learn(model.names, batch.names, chunk=chunk)  # (names, d)
        if self.args.similarity == "cosine":
            asked, names = functional.normalize(asked, dim=-1), functional.normalize(names, dim=-1)
        names, out, own, shares = _of_all_processes(batch, names)
        scores = (asked @ names.T).float() / self.args.temperature  # (mentions, names)
        losses = {"nll": functional.cross_entropy(scores.masked_fill(out, float("-inf")), own)}
        if len(shares):
            losses["distillation"] = _to_shares(scores, shares)
        return losses


def _of_all_processes(batch: Batch, names: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the vectors of all processes' names, and for these ``out``, ``own`` and ``shares`` of the own mentions."""
    names, rows, start = gathered(names), gathered(batch.rows), rows_before(batch.rows)
    if len(rows) == len(batch.rows):
        return names, batch.out, batch.own, batch.shares
    own = batch.own + start
    out = torch.stack([torch.isin(rows, spared) for spared in batch.spared])
    out[torch.arange(len(own), device=own.device), own] = False
    shares = batch.shares
    if len(shares):
        shares = shares.new_full((len(own), len(rows)), -1.0)
        shares[:, start : start + len(batch.rows)] = batch.shares
    return names, out, own, shares


def _to_shares(scores: Tensor, shares: Tensor) -> Tensor:
    """Return the cross-entropy from shares (mentions, names), -1 = not asked, to scores: the mean over all mentions."""
    asked = shares >= 0
    known = asked.any(dim=1)
    logs = functional.log_softmax(scores[known].masked_fill(~asked[known], float("-inf")), dim=1)
    products = torch.where(asked[known], shares[known] * logs, 0.0)
    return -products.sum() / len(scores)


class _Names:
    """The names of a knowledge base as a component compares them: tokens, and which belong to which concept.

    Places number them in the order of `linnet.index.name_vectors`.
    """

    def __init__(self, dense: RetrieverInTraining) -> None:
        names = [name for name in dense.kb.names() if dense.names == "all" or name.preferred]
        descriptions = [dense.kb[name.concept].definition for name in names] if dense.definitions else None
        self._tokens, _ = dense.templates.names([name.text for name in names], dense.network.entity, descriptions)
        rows = np.array([name.concept for name in names], np.int32)
        self._order = np.lexsort((np.array([not name.preferred for name in names], np.bool_), rows))
        self._row_places = {int(name.row): place for place, name in enumerate(names)}
        self.concepts, self._starts, sizes = np.unique(rows[self._order], return_index=True, return_counts=True)
        self._sizes = dict(
            zip(self.concepts.tolist(), zip(self._starts.tolist(), sizes.tolist(), strict=True), strict=True)
        )
        self.several = self.concepts[sizes > 1]

    def of(self, row: int) -> Any:
        """Return the places of a concept's names, the preferred one first; none for a concept without names."""
        start, size = self._sizes.get(int(row), (0, 0))
        return self._order[start : start + size]

    def some(self, row: int, rng: np.random.Generator, which: str) -> int:
        """Return the place of the preferred name of a concept, or of one drawn at random."""
        own = self.of(row)
        return int(own[0] if which != "random" else own[int(rng.integers(len(own)))])

    def matched(self, found: Candidates, place: int) -> int:
        """Return the place of the name by which a candidate was found; of an alias the preferred name's."""
        row = -1 if found.names is None else int(found.names[place])
        known = self._row_places.get(row)
        return int(self.of(int(found.rows[place]))[0]) if known is None else known

    def tokens(self, place: int) -> TokenText:
        """Return the tokens of a name."""
        text: TokenText = self._tokens[place]
        return text


# --- training --------------------------------------------------------------------------------------------------------


def fit(
    dense: RetrieverInTraining,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network of a component in place; `linnet.retrieve.dense.Dense.fit` says how it is called.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention with a concept that the knowledge base has.
    """
    own, loop = DenseArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    folder = args.get("checkpoints")
    linked = linked_mentions(dense, docs, before if own.lexical or own.distill_k else None)
    if not linked:
        raise DataError("dense: no mention of the training documents has a concept of the knowledge base")
    if (own.lexical or own.distill_k) and all(one.candidates is None for one in linked):
        problem = "no part before gives candidates to take: put a retriever in front, or leave them out"
        raise RecipeError("dense", [f"{name}: {problem}" for name in ("lexical", "distill_k") if getattr(own, name)])
    training = DenseTraining(dense, own, linked)
    key = training_key(dense, docs, dev, own, linked)
    judge, on = training.judge, linked_mentions(dense, dev, None)
    yield from judged(training, judge, docs, dev, linked=on, args=loop, folder=folder, key=key)
