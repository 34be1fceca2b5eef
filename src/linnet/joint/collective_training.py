"""Training of the collective dual encoder (`linnet.joint.collective`): its examples, losses and dev score.

Two losses are summed (Bhowmik et al. 2021, §3.3 and §3.4): cross-entropy of the right name among negatives for each
mention, and binary cross-entropy of all spans, or cross-entropy of labels. Negatives are drawn at random, and mined
anew each epoch: what the network itself ranks above the right concept. Beyond the paper: the names of a batch are
negatives of each other, similarities may be cosines over a temperature, and documents are not cut into pieces of eight
mentions.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.data import Candidates, Document, Mention, Span
from linnet.errors import DataError
from linnet.index.name_vectors import NameVectors
from linnet.joint.collective import Collective, CollectiveArgs
from linnet.joint.collective import Pieces as Stretches
from linnet.joint.collective_network import (
    BIO,
    CollectiveNetwork,
    Found,
    Places,
    Words,
    pool,
    span_scores,
    word_scores,
)
from linnet.joint.reading import NEUTRAL
from linnet.kb import KnowledgeBase
from linnet.nn.texts import TokenText, padded, token_batches, token_budget
from linnet.nn.vectors import encode, encode_to_learn
from linnet.nn.windows import Pieces, Text, Window
from linnet.pipeline import Component, Pipeline, Step
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.component import blind
from linnet.retrieve.dense_training import NamesToLearn
from linnet.text.words import UNKNOWN, Ints, labels_of, words_in
from linnet.train.args import TrainArgs
from linnet.train.checkpoint import key_of
from linnet.train.judge import CurrentVectors
from linnet.train.loop import parameter_groups, train
from linnet.train.negatives import Spared, collisions, hard, random_rows

__all__ = ["CollectiveTraining", "Example", "LearnedDocument", "fit", "learned_documents"]

logger = logging.getLogger(__name__)

SPARED = 16  # more concepts are looked at for hard negatives than are wanted: some are right, or spared
FEW = 50  # mentions that nothing can be calibrated on

KINDS = ("batch", "mined", "random")  # of negatives: of other mentions, the network's own errors, drawn from all names

Floats = npt.NDArray[np.float32]
Mined = tuple[Candidates, dict[int, int]]  # what was found for a mention; right concept -> place of its nearest name


def fit(
    part: Collective,
    docs: Sequence[Document],
    dev: Sequence[Document],
    *,
    before: Component,  # noqa: ARG001
    kb: KnowledgeBase,
    args: Mapping[str, Any],
) -> Iterator[Step]:
    """Train the network of a component in place, and learn the mentions of `docs` as aliases.

    Raises:
        RecipeError: wrong arguments.
        DataError: no mention of `docs` has a concept of `kb`.
    """
    own, loop = CollectiveArgs.split({key: value for key, value in args.items() if key != "checkpoints"})
    part.begin()
    part.learned = Aliases.of(docs, kb) if part.aliases else Aliases.none()
    seen = learned_documents(part, docs)
    if not any(mention.rows for doc in seen for mention in doc.mentions):
        raise DataError("collective: no mention of the training documents has a concept of the knowledge base")
    training = CollectiveTraining(part, own, seen)
    judged = learned_documents(part, dev)
    network = part.network
    key = key_of([part.config(), vars(own), kb.version, network.mention.fingerprint()], [*docs, *dev])
    score = (lambda _: training.score(judged)) if any(doc.mentions for doc in judged) else None
    try:
        yield from train(training, docs, dev, score=score, args=loop, folder=args.get("checkpoints"), key=key)
    finally:
        network.requires_grad_(True).eval()
        part.hide()
    part.show(training.current.vectors())
    if judged and part.find:
        part.curve, part.cutoff = _calibrate(part, judged, training.answers(judged))


# --- what is learned from --------------------------------------------------------------------------------------------


class LearnedMention(NamedTuple):
    """A mention of a training document: its words, the pieces that its vector is made of, and the right concepts."""

    words: tuple[int, int]
    pieces: Stretches
    rows: frozenset[int]
    text: str


class LearnedDocument(NamedTuple):
    """A training document as the network reads it; ``spans`` are (first, last) word of what a detector should find.

    ``labels`` (words,) are those of BIO, and ``known`` bool (words,) says which words somebody has looked at.
    """

    doc: Document
    text: Text
    mentions: list[LearnedMention]
    spans: frozenset[tuple[int, int]]
    labels: Ints
    known: npt.NDArray[np.bool_]


def learned_documents(part: Collective, docs: Sequence[Document]) -> list[LearnedDocument]:
    """Return documents as a component learns from them."""
    seen = list(docs)
    for before in Pipeline(part).front:
        seen = before(seen)
    made = []
    for doc, text in zip(seen, part.read(blind(seen, part)), strict=True):
        mentions = doc.mentions or ()
        pieces = part.pieces(doc, text, [mention.spans for mention in mentions])
        learned = [
            LearnedMention(words_in(text.words, mention.span), own, _answers(part.kb, mention), doc.surface(mention))
            for mention, own in zip(mentions, pieces, strict=True)
        ]
        labels = labels_of(doc, text.words, BIO, "BIO")
        # a composite has one span; a mention in several parts has none
        spans = frozenset(one.words for one, mention in zip(learned, mentions, strict=True) if not mention.parts)
        made.append(LearnedDocument(doc, text, learned, spans, labels, labels != UNKNOWN))
    return made


def _answers(kb: KnowledgeBase, mention: Mention) -> frozenset[int]:
    """Return the rows of the concepts that are right alone."""
    answers = [mention.concepts or (), *mention.alternatives]
    return frozenset(kb.row(answer[0]) for answer in answers if len(answer) == 1 and answer[0] in kb)


class Linking(NamedTuple):
    """A mention to be linked: its pieces in the window, spared rows, names to tell apart and their concepts.

    The first name is right, the next `mined` ones are hard negatives, the others were drawn at random; several mentions
    that say and mean the same share these.
    """

    pieces: list[Stretches]
    spared: frozenset[int]
    names: tuple[int, ...]
    rows: tuple[int, ...]
    mined: int


class Example(NamedTuple):
    """A window of a document with the mentions that it is to link."""

    doc: LearnedDocument
    window: Window
    linking: list[Linking]


@dataclass
class Batch:
    """Windows of a step in groups of like length, what they are to find, and what their mentions are to mean.

    Attributes:
        groups: the windows.
        words: of all windows, one behind the other.
        spans: whether a mention has this first word and width, float32 (words, widest); -1 where nobody has looked.
        labels: int64 (words,), `UNKNOWN` where nobody has looked.
        owners: the word of each piece, int64 (pieces,).
        places: the pieces of mentions.
        asked: which linking each mention is of, int64 (mentions,).
        names: ids, mask and spans of names.
        out: bool (linkings, names), names that are left out of a mention's loss.
        kinds: int8 (linkings, names), what a name is to a mention: a number of `KINDS`.
        own: the place of the right name, int64 (linkings,).
    """

    groups: list[Pieces]
    words: tuple[Tensor, ...]
    spans: Tensor
    labels: Tensor
    owners: Tensor
    places: tuple[Tensor, ...]
    asked: Tensor
    names: tuple[Tensor, Tensor, Tensor]
    out: Tensor
    kinds: Tensor
    own: Tensor


class CollectiveTraining:
    """What the gradient loop needs to know of a collective dual encoder (`linnet.train.loop.Trainable`)."""

    mines = True  # examples depend on the weights

    def __init__(self, part: Collective, args: CollectiveArgs, docs: Sequence[LearnedDocument]) -> None:
        self.part, self.args, self.docs = part, args, docs
        self.network: CollectiveNetwork = part.network
        self.module: nn.Module = self.network
        self.network.dropout.p = args.dropout
        self.spared = Spared(part.kb)
        self.names = NamesToLearn(part)
        self.current = CurrentVectors(lambda: part.names_file)
        self._pool: tuple[NameVectors, Ints] | None = None

    def groups(self, args: TrainArgs) -> list[dict[str, Any]]:
        """Return the parameters in groups; the layers around the encoders learn faster."""
        named = self.module.named_parameters()
        around = {id(one) for name, one in named if not name.startswith(("mention.", "entity."))}
        made = []
        for group in parameter_groups(self.module, args):
            for faster in (False, True):
                some = [one for one in group["params"] if (id(one) in around) == faster]
                rate = args.lr * self.args.head_lr_multiplier if faster else args.lr
                made += [{**group, "params": some, "lr": rate}] if some else []
        return made

    # --- examples ----------------------------------------------------------------------------------------------------

    def examples(self, docs: Sequence[Document], *, epoch: int, rng: np.random.Generator) -> list[Example]:  # noqa: ARG002
        """Return the windows of all documents, their mentions with negatives mined by the network as it is."""
        mined: Sequence[Sequence[Mined | None]] = [[None] * len(doc.mentions) for doc in self.docs]
        if self.args.mined or self.args.positive == "nearest":
            mined = self._mined()
        made = []
        for doc, found in zip(self.docs, mined, strict=True):
            windows = self.part.windows(doc.text)
            made += [Example(doc, window, list(self._linking(doc, window, found, rng))) for window in windows]
        return made

    def _mined(self) -> list[list[Mined]]:
        """Return what the network finds for each mention, and its nearest name of each right concept."""
        asked = [[mention.pieces for mention in doc.mentions] for doc in self.docs]
        hidden = self.part.hidden([doc.text for doc in self.docs])
        queries = [self.part.vectors(*pair) for pair in zip(hidden, asked, strict=True)]
        names = self._names_near(np.concatenate(queries))
        found = iter(names.search(np.concatenate(queries), self.args.mined + SPARED))
        mined: list[list[Mined]] = []
        for doc, vectors in zip(self.docs, queries, strict=True):
            mined.append([])
            for mention, vector in zip(doc.mentions, vectors, strict=True):
                one = next(found)
                own = {row: self.names.of(row) for row in mention.rows}
                nearest = {row: int(o[int(np.argmax(names.vectors[o] @ vector))]) for row, o in own.items() if len(o)}
                mined[-1].append((Candidates(*one[:2], names=one.names, kb=self.part.kb.version), nearest))
        return mined

    def _names_near(self, queries: Floats) -> NameVectors:
        """Return the vectors of all names by the weights as they are.

        With a pool only the names in it are encoded anew; it is made when mentions are looked up for the first time.
        """
        if not self.args.mining_pool or self.current.are_made:
            return self.current.vectors()
        if self._pool is None:
            names = self.current.vectors()
            found = [
                Candidates(one.rows, one.scores, names=one.names, kb=self.part.kb.version)
                for one in names.search(queries, self.args.mining_pool)
            ]
            near = {self.names.matched(one, place) for one in found for place in range(len(one.rows))}
            own = {place for doc in self.docs for m in doc.mentions for row in m.rows for place in self.names.of(row)}
            self._pool = names, np.array(sorted(near | own), np.int64)
            return names
        earlier, pool = self._pool
        vectors = np.array(earlier.vectors)
        texts = [self.names.tokens(place) for place in pool.tolist()]
        vectors[pool] = encode(self.network.entity, self.network.name_pool, texts, normalise=True)
        return NameVectors(vectors, earlier.concepts, earlier.name_rows, earlier.about)

    def _linking(
        self, doc: LearnedDocument, window: Window, found: Sequence[Mined | None], rng: np.random.Generator
    ) -> Iterator[Linking]:
        """Yield the mentions of a window that have a concept; those that say and mean the same together."""
        alike: dict[Any, list[int]] = {}
        for number, mention in enumerate(doc.mentions):
            inside = [s for s in mention.pieces if window.first <= s[0] < s[1] <= window.last]
            if mention.rows and inside and window.begin <= mention.words[0] < window.end:
                key = (mention.text, mention.rows) if self.args.distinct else number
                alike.setdefault(key, []).append(number)
        for numbers in alike.values():
            mention = doc.mentions[numbers[0]]
            spared = self.spared.of(mention.rows)
            chosen, mined = self._chosen(mention.rows, spared, found[numbers[0]], rng)
            if not chosen:
                continue
            shifted = [
                [(s - window.first, e - window.first) for s, e in doc.mentions[n].pieces
                 if window.first <= s < e <= window.last]
                for n in numbers
            ]  # fmt: skip
            names, rows = tuple(place for _, place in chosen), tuple(row for row, _ in chosen)
            yield Linking(shifted, spared, names, rows, mined)

    def _chosen(
        self, rows: frozenset[int], spared: frozenset[int], mined: Mined | None, rng: np.random.Generator
    ) -> tuple[list[tuple[int, int]], int]:
        """Return concepts and places of names, and how many are hard negatives: the right one, these, random ones.

        Nothing if the right concept has no name.
        """
        args, names = self.args, self.names
        row = sorted(rows)[int(rng.integers(len(rows)))]
        own = names.of(row)
        if not len(own):
            return [], 0
        if mined is not None and args.positive == "nearest":
            chosen = [(row, mined[1][row])]
        else:
            chosen = [(row, names.some(row, rng, args.positive))]
        if mined is not None and args.mined:
            places = hard(mined[0].rows, spared, args.mined, above=rows if args.only_above else None)
            chosen += [(int(mined[0].rows[place]), names.matched(mined[0], place)) for place in places]
        hardest = len(chosen) - 1
        which = "preferred" if self.part.names == "preferred" else "random"
        drawn = random_rows(rng, names.concepts, spared, args.random)
        return [*chosen, *((other, names.some(other, rng, which)) for other in drawn)], hardest

    # --- batches -----------------------------------------------------------------------------------------------------

    def collate(self, examples: Sequence[Example]) -> Batch:
        """Return tensors of windows, those of like length together."""
        lengths = [one.window.last - one.window.first + 2 for one in examples]
        groups = [g.tolist() for g in token_batches(lengths, tokens=token_budget(self.network.device))]
        ordered = [examples[place] for group in groups for place in group]
        sizes = [one.window.last - one.window.first for one in ordered]
        starts = (np.cumsum(sizes) - sizes).tolist()
        read = [
            Pieces.of([(examples[p].doc.text, examples[p].window) for p in group], self.network.mention)
            for group in groups
        ]
        places, asked, linking = _mentions(ordered, starts)
        names, out, kinds, own = self._named(linking)
        shown = padded(names, padding=self.network.entity.tokenizer.pad_token_id)
        return Batch(read, *self._wanted(ordered, starts), places, asked, shown, out, kinds, own)

    def _named(self, linking: Sequence[Linking]) -> tuple[list[TokenText], Tensor, Tensor, Tensor]:
        """Return the names of a batch, each once; which a mention's loss leaves out; their kinds; which is right."""
        concepts = {place: row for one in linking for place, row in zip(one.names, one.rows, strict=True)}
        places = {place: number for number, place in enumerate(concepts)}
        own = np.array([places[one.names[0]] for one in linking], np.int64)
        out = collisions([one.spared for one in linking], list(concepts.values()))
        if not self.args.in_batch:
            out[:] = True
            for number, one in enumerate(linking):
                out[number, [places[name] for name in one.names]] = False
        out[np.arange(len(linking)), own] = False
        kinds = np.zeros(out.shape, np.int8)
        for number, one in enumerate(linking):
            kinds[number, [places[name] for name in one.names[1 + one.mined :]]] = KINDS.index("random")
            kinds[number, [places[name] for name in one.names[1 : 1 + one.mined]]] = KINDS.index("mined")
        names = [self.names.tokens(place) for place in concepts]
        return names, torch.from_numpy(out), torch.from_numpy(kinds), torch.from_numpy(own)

    def _wanted(
        self, examples: Sequence[Example], starts: Sequence[int]
    ) -> tuple[tuple[Tensor, ...], Tensor, Tensor, Tensor]:
        """Return the words of windows, which spans and labels they should have, and the word of each piece."""
        words: list[Words] = []
        spans, labels, owners, count = [], [], [], 0
        for example, start in zip(examples, starts, strict=True):
            doc, window = example.doc, example.window
            of = doc.text.owners[window.first : window.last]
            first, size = int(of[0]), int(of[-1]) + 1 - int(of[0])
            own = Words.of(of - first, size)
            words.append(Words(own.first + start, own.last + start, own.left))
            spans.append(_spans(doc, first, size, self.part.widest, window))
            named = np.full(size, UNKNOWN)
            begin, end = max(window.begin, first), min(window.end, first + size)
            named[begin - first : end - first] = doc.labels[begin:end]
            labels.append(named)
            owners.append(of - first + count)
            count += size
        arrays = [torch.from_numpy(np.concatenate(some)) for some in (spans, labels, owners)]
        joined = tuple(torch.cat(some) for some in zip(*words, strict=True))
        return joined, arrays[0], arrays[1], arrays[2]

    # --- losses ------------------------------------------------------------------------------------------------------

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the loss of linking, the mean of mentions, and that of finding, per mention to be found.

        Beside these, without a gradient, what linking would lose to negatives of one kind alone.
        """
        hidden = torch.cat([self.network(group) for group in batch.groups])  # (pieces, d)
        losses = self._link(batch, hidden)
        if self.network.head is not None:
            losses["detection"] = self.args.detection_weight * self._find(batch, self.network.head(hidden).float())
        return losses

    def _link(self, batch: Batch, hidden: Tensor) -> dict[str, Tensor]:
        wanted = dict(zip(KINDS, (self.args.in_batch, self.args.mined, self.args.random), strict=True))
        watched = [kind for kind in KINDS if wanted[kind]]
        if not len(batch.own):
            return dict.fromkeys(["nll", *(f"nll {kind}" for kind in watched)], hidden.sum() * 0.0)
        mentions = pool(self.network, hidden, Places(*batch.places), len(batch.asked))
        names = encode_to_learn(self.network.names, batch.names, chunk=self.args.encode_batch).float()
        if self.args.similarity == "cosine":
            mentions, names = functional.normalize(mentions, dim=-1), functional.normalize(names, dim=-1)
        scores = (mentions @ names.T) / self.args.temperature  # (mentions, names)
        own, kinds = batch.own[batch.asked], batch.kinds[batch.asked]
        shares = torch.bincount(batch.asked, minlength=len(batch.own))[batch.asked]  # those alike count as one
        scores = scores.masked_fill(batch.out[batch.asked], float("-inf"))

        def mean(left: Tensor) -> Tensor:
            return (functional.cross_entropy(left, own, reduction="none") / shares).sum() / len(batch.own)

        losses = {"nll": mean(scores)}
        with torch.no_grad():
            for kind in watched:
                others = kinds != KINDS.index(kind)
                others[torch.arange(len(own), device=own.device), own] = False
                losses[f"nll {kind}"] = mean(scores.masked_fill(others, float("-inf")))
        return losses

    def _find(self, batch: Batch, scores: Tensor) -> Tensor:
        """Return the loss of all spans over the number of mentions, or the mean loss of words."""
        if self.part.mode == "bio":
            words = word_scores(scores, batch.owners, len(batch.labels))
            known = batch.labels != UNKNOWN
            return functional.cross_entropy(words[known], batch.labels[known], reduction="sum") / max(
                1, int(known.sum())
            )
        found = span_scores(scores, Words(*batch.words), self.part.widest)
        known = (batch.spans >= 0) & found.isfinite()
        loss = functional.binary_cross_entropy_with_logits(found[known], batch.spans[known], reduction="sum")
        return loss / batch.spans[known].sum().clamp(min=1)

    # --- dev score ---------------------------------------------------------------------------------------------------

    def score(self, docs: Sequence[LearnedDocument]) -> float:
        """Return the share of given mentions that are linked right; of found ones F1 at the best cutoff."""
        self.part.show(self.current.vectors())
        if self.part.find:
            return _best_cutoff(*_judged(docs, self.answers(docs)))[0]
        linked = [[mention for mention in doc.mentions if mention.rows] for doc in docs]
        hidden = self.part.hidden([doc.text for doc in docs])
        firsts = self._firsts(hidden, [[mention.pieces for mention in some] for some in linked])
        pairs = [pair for some in zip(firsts, linked, strict=True) for pair in zip(*some, strict=True)]
        return sum(row in mention.rows for row, mention in pairs) / max(1, len(pairs))

    def answers(self, docs: Sequence[LearnedDocument]) -> list[list[tuple[Found, int]]]:
        """Return what is found in documents, each with the row of its first concept, -1 for none."""
        texts = [doc.text for doc in docs]
        hidden = self.part.hidden(texts)
        found = self.part.spans(texts, hidden)
        pieces = []
        for doc, some in zip(docs, found, strict=True):
            words = doc.text.words
            spans = [[Span(words[one.first].start, words[one.last].end)] for one in some]
            pieces.append(self.part.pieces(doc.doc, doc.text, spans))
        firsts = self._firsts(hidden, pieces)
        return [list(zip(*pair, strict=True)) for pair in zip(found, firsts, strict=True)]

    def _firsts(self, hidden: Sequence[Tensor], pieces: Sequence[Sequence[Stretches]]) -> list[list[int]]:
        """Return the row of the first concept of each mention, -1 for none."""
        vectors = [self.part.vectors(*pair) for pair in zip(hidden, pieces, strict=True)]
        found = iter(self.part.search(np.concatenate(vectors), 1))
        return [[int(one.rows[0]) if len(one.rows) else -1 for one in itertools.islice(found, len(v))] for v in vectors]


def _mentions(examples: Sequence[Example], starts: Sequence[int]) -> tuple[Places, Tensor, list[Linking]]:
    """Return the pieces of the mentions of windows whose pieces begin at `starts`, and which linking each is of."""
    pieces: list[Stretches] = []
    asked: list[int] = []
    linking: list[Linking] = []
    for start, example in zip(starts, examples, strict=True):
        for one in example.linking:
            pieces += [[(begin + start, end + start) for begin, end in parts] for parts in one.pieces]
            asked += [len(linking)] * len(one.pieces)
            linking.append(one)
    return Places.of(pieces), torch.tensor(asked, dtype=torch.int64), linking


def _spans(doc: LearnedDocument, first: int, size: int, widest: int, window: Window) -> npt.NDArray[np.float32]:
    """Return which spans of a window are mentions, float32 (words, widest); -1 where it is not the window's to say."""
    wanted = np.zeros((size, widest), np.float32)
    for begin, end in doc.spans:
        if first <= begin and end < first + size and end - begin < widest:
            wanted[begin - first, end - begin] = 1
    own = np.arange(first, first + size)
    wanted[(own < window.begin) | (own >= window.end)] = -1
    unknown = ~doc.known[first : first + size]
    for width in range(widest):  # no negative holds a word that nobody has looked at
        reach = np.array([unknown[word : word + width + 1].any() for word in range(size)])
        wanted[reach & (wanted[:, width] == 0), width] = -1
    return wanted


# --- what is found on dev --------------------------------------------------------------------------------------------


def _judged(
    docs: Sequence[LearnedDocument], answers: Sequence[Sequence[tuple[Found, int]]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], int]:
    """Return the log odds of what was found, whether span and concept are right, and how many mentions there are."""
    odds, right, wanted = [], [], 0
    for doc, found in zip(docs, answers, strict=True):
        gold = {mention.words: mention.rows for mention in doc.mentions}
        wanted += len(gold)
        for one, row in found:
            if doc.known[one.first : one.last + 1].all():
                rows = gold.get((one.first, one.last))
                odds.append(one.odds)
                right.append(rows is not None and (row in rows or not rows))
    return np.array(odds), np.array(right, np.bool_), wanted


def _best_cutoff(odds: npt.NDArray[np.float64], right: npt.NDArray[np.bool_], wanted: int) -> tuple[float, float]:
    """Return the best F1, and the log odds from which on mentions are to be kept for it.

    >>> _best_cutoff(np.array([2.0, 1.0, -1.0]), np.array([True, True, False]), 2)
    (1.0, 0.0)
    """
    if not len(odds):
        return 0.0, 0.0
    order = np.argsort(-odds, kind="stable")
    f1 = 2 * np.cumsum(right[order]) / (np.arange(1, len(odds) + 1) + wanted)
    best = int(np.argmax(f1))
    kept = odds[order]
    behind = kept[best + 1] if best + 1 < len(kept) else kept[best] - 1
    return float(f1[best]), float((kept[best] + behind) / 2)


def _calibrate(
    part: Collective, docs: Sequence[LearnedDocument], answers: Sequence[Sequence[tuple[Found, int]]]
) -> tuple[tuple[float, float], float]:
    """Return slope and shift such that log odds tell how often a span is right (Platt 1999), and the best cutoff."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import, needed for training alone

    _, cutoff = _best_cutoff(*_judged(docs, answers))
    kept = [
        (one.odds, (one.first, one.last) in {mention.words for mention in doc.mentions})
        for doc, found in zip(docs, answers, strict=True)
        for one, _ in found
        if (one.odds >= cutoff or part.mode == "bio") and doc.known[one.first : one.last + 1].all()
    ]
    if len(kept) < FEW or len({right for _, right in kept}) < 2:
        logger.warning("collective: nothing to calibrate on in %d mentions, few or all alike", len(kept))
        return NEUTRAL, cutoff
    model = LogisticRegression(C=1e3).fit(np.array([[odds] for odds, _ in kept]), [right for _, right in kept])
    return (float(model.coef_[0, 0]), float(model.intercept_[0])), cutoff
