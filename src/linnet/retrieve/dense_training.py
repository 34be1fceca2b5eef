"""Training of the bi-encoder (`linnet.retrieve.dense`), in two stages: on synonyms, and on the mentions of documents.

**Mentions.** As published (TrainX, §3): cross-entropy over the names of a batch, of which a mention's own is right, by
dot product. Beyond: cosines over a temperature; hard negatives, mined anew each epoch from what the network itself
takes for the mention, or drawn from a lexical retriever's answers; pairs of synonyms of the knowledge base, which teach
names that no mention has; large batches in the memory of small ones; a slower ranker's opinion to learn from.

**Synonyms.** Self-alignment of one encoder on the synonyms of a knowledge base (SapBERT: Liu et al. 2021):

    name  ``[CLS] name [SEP]``      (names, tokens) -> (names, d), as the component pools names

A batch holds pairs of synonyms. Its names are compared with each other: those of one concept are drawn together, those
of different concepts pushed apart, as far as they are part of a hard triplet (`linnet.nn.losses`). No document is
needed. What differs from the published code: concepts that share a name are not pushed apart; names keep their case,
which is the tokenizer's matter; pairs are drawn anew each epoch; the names of all processes are compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from linnet.data import Candidates, Document
from linnet.errors import DataError, RecipeError
from linnet.kb import KbName, KnowledgeBase
from linnet.nn.losses import hard_triplets, multi_similarity
from linnet.nn.texts import framed, padded
from linnet.nn.vectors import encode_to_learn
from linnet.pipeline import Component, Step
from linnet.pipeline.aliases import Aliases
from linnet.retrieve.dense import ALIGN, AlignArgs, Dense, DenseArgs
from linnet.retrieve.dense_network import BiEncoder
from linnet.retrieve.name_searcher import NameSearcher
from linnet.text.normalise import basic
from linnet.text.token_batches import TokenText
from linnet.train.args import TrainArgs
from linnet.train.checkpoint import key_of
from linnet.train.judge import Judge, Linked, accuracy, judged, linked_mentions
from linnet.train.loop import parameter_groups, train
from linnet.train.negatives import Spared, collisions, hard, random_rows
from linnet.train.network import tell_loss
from linnet.train.processes import gathered, rows_before

__all__ = [
    "Alignment",
    "DenseTraining",
    "Example",
    "NamesToLearn",
    "SynonymBatch",
    "fit",
    "namesakes",
]

Ints = npt.NDArray[np.int64]
SPARED = 16  # more concepts are looked at for hard negatives than are wanted: some are right, or spared

Mined = tuple[Candidates, dict[int, int]]  # what was found for a mention; right concept -> place of its nearest name


def fit(
    dense: Dense,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,
    kb: KnowledgeBase,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the encoders on the mentions of `docs`, and learn these as aliases; arguments as of the component's `fit`.

    In the stage ``align`` the encoder is aligned on the synonyms of the knowledge base, and `docs` is not looked at.

    Raises:
        RecipeError: wrong arguments, or a component of two encoders that are to be aligned.
        DataError: no mention of `docs` has a concept of `kb`, or no concept has synonyms to be aligned.
    """
    dense.learned = Aliases.none()
    if dense.stage == ALIGN:
        yield from align_synonyms(dense, dev, args=args)
        return
    dense.learned = Aliases.of(docs, kb) if dense.aliases else Aliases.none()
    _ = dense.network  # read first, whatever `before` draws at random
    yield from finetune(dense, docs, dev, before=before, args=args)


def training_key(
    dense: Dense,
    docs: Sequence[Document],
    dev: Sequence[Document],
    own: DenseArgs | AlignArgs,
    linked: Sequence[Linked] = (),
) -> str:
    """Return a hash of what the result of a training depends on beside the loop's own arguments."""
    told = [dense.config(), vars(own), dense.kb.version, dense.network.mention.fingerprint()]
    # what the parts before found depends on what they had learned
    found = [one.candidates for one in linked if one.candidates is not None]
    return key_of(told, [*docs, *dev], (some.rows.tobytes() + some.scores.tobytes() for some in found))


# --- on the mentions of documents -------------------------------------------------------------------------------------


def finetune(
    dense: Dense,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network of a component in place on the mentions of documents.

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
    _tell_loss(dense, on)


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

    def __init__(self, dense: Dense, args: DenseArgs, linked: Sequence[Linked]) -> None:
        self.dense, self.args, self.linked = dense, args, linked
        self.module: nn.Module = dense.network
        self.spared = Spared(dense.kb, descendants=args.spare_descendants)
        self.names = NamesToLearn(dense)
        self.judge = Judge(dense, lambda: dense.names_file)

    @property
    def model(self) -> BiEncoder:
        """The network."""
        network: BiEncoder = self.dense.network
        return network

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameters by their weight decay, those that are frozen left out."""
        if self.args.freeze_embeddings:
            for parameter in self.model.embeddings():
                parameter.requires_grad_(False)
        return parameter_groups(self.module, args)

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


class NamesToLearn:
    """The names of a knowledge base as a component compares them: tokens, and which belong to which concept.

    Places number them in the order of `linnet.index.name_vectors`.
    """

    def __init__(self, dense: NameSearcher[Any]) -> None:
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


# --- on synonyms ------------------------------------------------------------------------------------------------------


def align_synonyms(dense: Dense, dev: Sequence[Document], *, args: Mapping[str, Any]) -> Iterator[Step]:
    """Align the network of a component in place on the synonyms of its knowledge base.

    Raises:
        RecipeError: wrong arguments, or a component of two encoders.
        DataError: no concept has two names.
    """
    own, loop = AlignArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    if not dense.shared:
        raise RecipeError("dense", ["stage: 'align' trains one encoder for mentions and names; set shared to true"])
    training = Alignment(dense, own)
    if not training.synonyms:
        raise DataError(f"dense: no concept of {dense.kb.path} has two names that could be aligned")
    folder, key = args.get("checkpoints"), training_key(dense, (), dev, own)
    judge, on = Judge(dense, lambda: dense.names_file), linked_mentions(dense, dev, None)
    try:
        yield from train(training, (), dev, score=judge.score(on), args=loop, folder=folder, key=key)
    finally:  # what was shown for a score is of other weights
        dense.hide()
    if own.half:
        dense.network.half().float()
    if on:  # else names are encoded when they are looked for: another stage may come before that
        dense.show(judge.vectors())
    _tell_loss(dense, on)


def _tell_loss(dense: Dense, linked: Sequence[Linked]) -> None:
    """Say what a trained component loses on dev where ONNX Runtime will run it."""
    if dense.backend == "onnx" and linked:
        tell_loss(dense.NAME, "recall@1", accuracy(dense, linked), accuracy(dense.by_graph, linked))


class SynonymBatch(NamedTuple):
    """Tensors: ids (names, tokens), mask and spans of names, and the rows of their concepts, int64 (names,)."""

    texts: tuple[Tensor, Tensor, Tensor]
    rows: Tensor


class Alignment:
    """What the gradient loop needs to know of self-alignment (`linnet.train.loop.Trainable`)."""

    def __init__(self, dense: Dense, args: AlignArgs) -> None:
        self.dense, self.args = dense, args
        self.module: nn.Module = dense.network
        names = list(dense.kb.names())
        texts = [(name.text, name.concept) for name in names]
        texts += [(text, row) for row, text in dense.kb.definitions()] if args.definitions else []
        encoder = dense.network.entity
        self.tokens = framed(encoder, [text for text, _ in texts], most=min(args.tokens, encoder.window))
        self.rows = np.array([concept for _, concept in texts], np.int64)  # (names,)
        self.synonyms = self._synonyms()
        self.concepts = len(dense.kb)
        self.namesakes = torch.from_numpy(namesakes(names, concepts=self.concepts))
        edges = _edges(dense.kb) if args.relatives or args.kinship else np.empty((0, 2), np.int64)
        self.near = _relatives(edges, {int(self.rows[own[0]]): number for number, own in enumerate(self.synonyms)})
        both = np.concatenate([edges, edges[:, ::-1]])
        self.kin = torch.from_numpy(both[:, 0] * self.concepts + both[:, 1])

    def _synonyms(self) -> list[Ints]:
        """Return the places of the names of each concept that has several: one of those that are read alike."""
        places: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
        for place, (text, row) in enumerate(zip(self.tokens, self.rows.tolist(), strict=True)):
            places[row].setdefault(text.ids, place)
        return [np.array(list(own.values())) for own in places.values() if len(own) > 1]

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return all parameters, which decay alike, as published."""
        return parameter_groups(self.module, args, no_decay=())

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> Any:  # noqa: ARG002
        """Return the pairs of synonyms of an epoch as places of names, one array int64 (pairs, 2).

        With relatives an example is a pair and one of each of them, int64 (examples, 1 + relatives, 2), as many pairs
        in all. Where there are fewer, others are drawn.
        """
        pairs = np.concatenate([own[_pairs(len(own), self.args.pairs, rng)] for own in self.synonyms])
        if not self.args.relatives:
            return pairs
        chosen = rng.choice(pairs, max(1, len(pairs) // (1 + self.args.relatives)), replace=False)
        return np.array([[pair, *self._beside(int(self.rows[pair[0]]), rng)] for pair in chosen])

    def _beside(self, concept: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Yield a pair of names of as many relatives of a concept as are wanted."""
        near = rng.permutation(self.near.get(concept, np.empty(0, np.int64)))[: self.args.relatives]
        others = rng.integers(len(self.synonyms), size=self.args.relatives - len(near))
        for number in (*near.tolist(), *others.tolist()):
            yield rng.choice(self.synonyms[number], 2, replace=False)

    def collate(self, examples: Sequence[Ints]) -> SynonymBatch:
        """Return tensors of pairs: the first names of all, then the second ones."""
        places = np.stack(examples).reshape(-1, 2).T.ravel()
        texts = padded(
            [self.tokens[place] for place in places], padding=self.dense.network.entity.tokenizer.pad_token_id
        )
        return SynonymBatch(texts, torch.from_numpy(self.rows[places]))

    def loss(self, batch: SynonymBatch) -> dict[str, Tensor]:
        """Return the multi-similarity loss of the pairs in hard triplets, among the names of all processes."""
        own = encode_to_learn(self.dense.network.names, batch.texts, chunk=self.args.encode_batch)
        vectors, rows = gathered(functional.normalize(own.float(), dim=-1)), gathered(batch.rows)
        args = self.args
        # beta times the rounding of bfloat16 would be a large error
        with torch.autocast(vectors.device.type, enabled=False):
            similarities = vectors @ vectors.T  # (names, names)
            if args.kinship:
                similarities = similarities - args.kinship * torch.isin(self._codes(rows), self.kin.to(rows.device))
            pairs = hard_triplets(similarities, *self.compared(rows), margin=args.margin)
            loss = multi_similarity(similarities, *pairs, alpha=args.alpha, beta=args.beta, base=args.base)
        return {"multi_similarity": loss}

    def compared(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return which names of a batch belong together, and which do not, bool (names, names), by their concepts.

        Names of concepts that share a name are neither.
        """
        same = rows[:, None] == rows
        itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        return same & ~itself, ~same & ~torch.isin(self._codes(rows), self.namesakes.to(rows.device))

    def _codes(self, rows: Tensor) -> Tensor:
        """Return a number for each pair of the concepts of a batch, int64 (names, names)."""
        return rows[:, None] * self.concepts + rows


def _edges(kb: KnowledgeBase) -> Ints:
    """Return the concepts and their parents, int64 (edges, 2)."""
    edges = [(row, parent) for row in range(len(kb)) for parent in kb.parents(row).tolist()]
    return np.array(edges, np.int64).reshape(-1, 2)


def _relatives(edges: Ints, known: Mapping[int, int]) -> dict[int, Ints]:
    """Return parents, children and siblings of concepts, those that are known, by what they are known as.

    >>> {concept: near.tolist() for concept, near in _relatives(np.array([[1, 0], [2, 0]]), {0: 5, 1: 6, 2: 7}).items()}
    {1: [5, 7], 0: [6, 7], 2: [5, 6]}
    """
    parents, children = defaultdict(list), defaultdict(list)
    for child, parent in edges.tolist():
        parents[child].append(parent)
        children[parent].append(child)
    found: dict[int, Ints] = {}
    for concept in dict.fromkeys(edges.ravel().tolist()):
        siblings = [other for parent in parents[concept] for other in children[parent]]
        near = {*parents[concept], *children[concept], *siblings} - {concept}
        found[concept] = np.array(sorted(known[row] for row in near & known.keys()), np.int64)
    return found


def _pairs(count: int, most: int, rng: np.random.Generator) -> Ints:
    """Return pairs of different numbers below `count`, (pairs, 2): all of them, or so many drawn at random.

    >>> _pairs(3, 50, np.random.default_rng(1)).tolist(), len(_pairs(1000, 50, np.random.default_rng(1)))
    ([[0, 1], [0, 2], [1, 2]], 50)
    """
    total = count * (count - 1) // 2
    if total <= most:
        return np.stack(np.triu_indices(count, 1), axis=1)
    chosen = rng.choice(total, most, replace=False)
    # pairs are numbered (0, 1), (0, 2), (1, 2), (0, 3) …: those up to a second number s are s (s + 1) / 2
    starts = np.arange(count) * (np.arange(count) - 1) // 2
    second = np.searchsorted(starts, chosen, side="right") - 1
    return np.stack([chosen - starts[second], second], axis=1)


def namesakes(names: Sequence[KbName], *, concepts: int) -> Ints:
    """Return the pairs of concepts that share a name when spelling is left aside, each pair (a, b) as a · concepts + b.

    Both orders of a pair are there.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for name in names:
        rows[basic(name.text) or name.text].add(name.concept)
    shared = [sorted(own) for own in rows.values() if len(own) > 1]
    return np.array(sorted({a * concepts + b for own in shared for a in own for b in own if a != b}), np.int64)
