"""The lexical reranker: a conditional logit over what names, counts and the document say of each candidate.

No network: columns (`linnet.rerank.features`) with one weight each, learned from documents with gold mentions. Behind a
fusion the scores of its parts are columns; which those are is found when it is trained, and kept. The
score of a candidate is its probability among the candidates of its mention; NIL, of which nothing is known here, comes
last. What the training documents say of a name is counted without a mention's own document while the weights are
learned, so that the weights fit counts from elsewhere, which is what there is later on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from linnet.codec import resolve
from linnet.data import Candidates, Document, Mention
from linnet.errors import DataError, FormatError, KnowledgeBaseError, PipelineError, RecipeError
from linnet.errors import did_you_mean as near
from linnet.home import read_json
from linnet.kb import KnowledgeBase
from linnet.pipeline import Reranker, fused_names
from linnet.pipeline.component import Component, Step, align
from linnet.pipeline.pipeline import answered
from linnet.reporter import warn
from linnet.rerank.asked import joined
from linnet.rerank.counts import Counts, answers
from linnet.rerank.features import FEATURES, GROUPS, SEEN, Floats, Known, columns_of, further, table
from linnet.rerank.lexicon import Lexicon
from linnet.rerank.logit import Lists, Logit, softmax

__all__ = ["Lexical"]

PENALTIES = (3.0, 10.0, 30.0)
FROM_PRIOR = (3.0, 30.0, 300.0)  # of squared distances from a prior: few documents stay close to it
PRIORS = Path(__file__).parent / "priors"  # model.json of rerankers that were trained on corpora in the public domain
FOLDS = 4
BLOCK = 256  # mentions that are reranked together, and the rest of their document
FEW = 50  # mentions; fewer teach no weights


@dataclass(kw_only=True)
class Lexical(Reranker):
    """Reorders candidates by names, training counts, types, document and popularity; has to be trained.

    Args:
        kb: the knowledge base of the candidates.
        omit: kinds of columns to do without (`linnet.rerank.features.GROUPS`); the scores of parts of a fusion, but for
            ``dense``, go with ``retrieval``.
        mentions: how many mentions the weights are learned from at most; counts are made of all.
        seed: of the choice of these, by document.
        penalty: of squared weights (`linnet.rerank.logit`); None chooses one by cross-validation.
        prior: weights that those learned here are pulled to: those of a corpus that Linnet has with it
            (``bc5cdr``), or the file ``model.json`` of a trained reranker; "" pulls them to 0. Few documents do not
            teach weights (`docs/benchmarks.md`, annotation).

    Raises:
        RecipeError: ``omit`` names no kind of columns, or others than it was trained with, or ``mentions`` or
            ``penalty`` is not positive.
    """

    kb: KnowledgeBase
    omit: tuple[str, ...] = ()
    mentions: int = 20_000
    seed: int = 13
    penalty: float | None = None
    prior: str = ""
    known: Known | None = field(default=None, init=False, repr=False)
    model: Logit | None = field(default=None, init=False, repr=False)
    parts: tuple[str, ...] = field(default=(), init=False, repr=False)  # of a fusion, with columns of their own
    _omitted: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # when it was trained
    fitted_penalty: float | None = field(default=None, init=False, repr=False, compare=False)  # of the last `fit`

    FOLDS: ClassVar[int] = 5  # it is trained again for so many parts of the documents (`linnet.fit.fitting`)
    NEEDS = frozenset({"mentions", "abbreviations", "candidates"})
    LEARNED = frozenset({"mentions", "seed", "penalty", "prior"})  # and ``omit``, which is checked against the weights
    USES_DEV = False

    def __post_init__(self) -> None:
        self.omit = tuple(self.omit)
        problems = [
            f"omit: unknown kind of columns {name!r}{near(name, GROUPS) or '; there are: ' + ', '.join(GROUPS)}"
            for name in self.omit
            if name not in GROUPS
        ]
        problems += [] if self.mentions >= 1 else [f"mentions: {self.mentions} must be at least 1"]
        if self.penalty is not None and not 0 < self.penalty < math.inf:
            problems.append(f"penalty: {self.penalty} must be a number above 0; leave it out to have one chosen")
        if self.model is not None and set(self.omit) != set(self._omitted):
            problems.append(f"omit: {list(self.omit)}, but it was trained with {list(self._omitted)}; train it again")
        if problems:
            raise RecipeError("lexical", problems)

    @property
    def parameters(self) -> int:
        """The weights of the columns."""
        return self.model.weights.size if self.model is not None else 0

    def rerank(self, docs: Sequence[Document], /) -> list[list[Candidates]]:
        """Return the candidates of each mention with their probabilities; the earlier score is kept as a feature.

        Raises:
            PipelineError: the reranker was not trained, or the candidates are of another knowledge base version.
        """
        if self.known is None or self.model is None:
            raise PipelineError("lexical has not been trained: run linnet train, and link with the folder it writes")
        out: list[list[Candidates]] = []
        for block in _blocks([self.prepared(doc) for doc in docs]):
            columns, lengths = table(block, self.known, self.parts)
            scores = self.model.score(columns[:, self._columns()])
            lists = [one.candidates or Candidates.none(self.kb.version) for doc in block for one in doc.mentions or ()]
            reranked = _reranked(lists, scores, lengths)
            out += [[next(reranked) for _ in doc.mentions or ()] for doc in block]
        return out

    def prepared(self, doc: Document) -> Document:
        """Return `doc` with candidates as rows of this knowledge base."""
        return replace(doc, mentions=tuple(self._resolved(mention) for mention in doc.mentions or ()))

    def _resolved(self, mention: Mention) -> Mention:
        candidates = mention.candidates
        if candidates is None:
            return mention
        if candidates.kb and candidates.kb != self.kb.version:
            raise PipelineError(
                f"candidates of knowledge base version {candidates.kb} cannot be reranked with {self.kb.version}"
            )
        resolved = resolve(candidates, self.kb)
        return mention if resolved is candidates else replace(mention, candidates=resolved)

    def _columns(self) -> Any:
        """Return which columns are used, bool (features)."""
        names = columns_of(self.parts)
        omitted = {name for kind in self.omit for name in GROUPS[kind]}
        if "retrieval" in self.omit:
            omitted.update(set(names) - set(FEATURES))
        return np.array([name.removeprefix(SEEN) not in omitted for name in names])

    def _used(self) -> list[str]:
        """Return the names of the columns that are used."""
        return [name for name, used in zip(columns_of(self.parts), self._columns(), strict=True) if used]

    # --- training ----------------------------------------------------------------------------------------------------

    def require_files(self) -> None:
        """Refuse a prior that is not there."""
        if self.prior:
            _read_prior(self.prior, FEATURES)

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],  # noqa: ARG002
        /,
        *,
        before: Component,
        kb: KnowledgeBase,
        args: Mapping[str, Any],  # noqa: ARG002
    ) -> Iterator[Step]:
        """Learn counts and weights from `train`; a penalty not given is chosen by cross-validation over its documents.

        `before` must not know the answers of the documents it is given: `linnet.fit.fitting` sees to that.

        Raises:
            DataError: no mention with a right candidate.
            RecipeError: there is no such prior.
            FormatError: the prior is damaged.
        """
        self.parts = further(fused_names(before))
        prior = _read_prior(self.prior, self._used()) if self.prior else None  # before what takes time
        self.known, lists = self.examples(train, before=before, kb=kb)
        lists = lists.take(np.add.reduceat(lists.right, lists.starts) > 0) if len(lists) else lists
        if not len(lists):
            problem = "lexical: no mention of the training documents has a right candidate to learn from"
            raise DataError(f"{problem}: a detector before it that has learned too little finds none of them")
        if len(lists) < FEW and not self.prior:
            warn(f"lexical was trained on {len(lists)} mentions: too few for weights that can be trusted")
        lists = lists.take(self._sample(lists), self._columns())
        losses: dict[float, float] = {}
        tried = () if self.penalty is not None else PENALTIES if prior is None else FROM_PRIOR
        folds = lists.groups % FOLDS
        for step, penalty in enumerate(tried, 1):
            losses[penalty] = _held_out(lists, folds, penalty, prior)
            yield Step(step=step, total=len(tried) + 1, losses={"nll": losses[penalty]})
        best = self.penalty or min(losses, key=lambda penalty: losses[penalty])
        self.model, self.fitted_penalty, self._omitted = Logit.fit(lists, penalty=best, prior=prior), best, self.omit
        yield Step(step=len(tried) + 1, total=len(tried) + 1, losses={"nll": self.model.loss(lists)})

    def _sample(self, lists: Lists) -> Any:
        """Return which mentions to learn from, bool (mentions): those of whole documents, drawn at random."""
        documents, sizes = np.unique(lists.groups, return_counts=True)
        order = np.random.default_rng(self.seed).permutation(len(documents))
        enough = int(np.searchsorted(np.cumsum(sizes[order]), self.mentions)) + 1
        return np.isin(lists.groups, documents[order[:enough]])

    def examples(
        self, docs: Sequence[Document], *, before: Component, kb: KnowledgeBase, known: Known | None = None
    ) -> tuple[Known, Lists]:
        """Return what is known and the candidates of the gold mentions that have any and a concept of `kb`.

        Args:
            docs: documents with gold mentions.
            before: what gives them candidates.
            kb: the knowledge base.
            known: from other documents; None counts these, each for the others alone.
        """
        predicted = [self.prepared(doc) for doc in answered(docs, before=before, part=self)]
        gold = [replace(doc, abbreviations=seen.abbreviations) for doc, seen in zip(docs, predicted, strict=True)]
        leave_out = known is None
        known = known or Known.of(Lexicon.build(kb), Counts.of(gold, kb))
        tables: list[Floats] = []
        right, groups = [], []
        for number, (theirs, ours) in enumerate(zip(gold, predicted, strict=True)):
            own = known.minus(Counts.of([theirs], kb)) if leave_out else known
            columns, lengths = table([ours], own, self.parts)
            each = np.split(columns, np.cumsum(lengths)[:-1])  # one, of nothing, where there are no mentions
            found = {id(mention): some for mention, some in zip(ours.mentions or (), each, strict=False)}
            for mention, seen in align(theirs, ours):
                accepted = answers(mention, kb) if mention else []
                if seen is not None and seen.candidates is not None and len(seen.candidates) and accepted:
                    tables.append(found[id(seen)])
                    right.append(np.isin(seen.candidates.rows, [rows[0] for rows in accepted if len(rows) == 1]))
                    groups.append(number)
        return known, _lists(tables, right, groups, len(columns_of(self.parts)))

    # --- cross-fitting -----------------------------------------------------------------------------------------------

    def without(self, documents: Iterable[str]) -> Self:  # noqa: ARG002
        """Return the same: `with_network` has put one in its place that has not seen the documents."""
        return self

    def rebound(self, kb: KnowledgeBase) -> Self:
        """Return the same reranker on the edited knowledge base `kb`: its names are read again, counts follow."""
        made = super().rebound(kb)
        if self.known is not None and kb.version != self.kb.version:
            made.known = Known.of(Lexicon.build(kb), self.known.counts.rebound(kb))
        return made

    # --- saving ------------------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write the keywords and, if trained, lexicon, counts and weights."""
        super().save(folder)
        if self.known is not None and self.model is not None:
            self.known.lexicon.save(folder / "lexicon")
            self.known.counts.save(folder / "counts.jsonl")
            columns = zip(self._used(), self.model.weights, self.model.means, self.model.scales, strict=True)
            weights = {name: {"weight": w, "mean": mean, "scale": scale} for name, w, mean, scale in columns}
            model = {"kb": self.kb.version, "parts": list(self.parts), "features": weights}
            (folder / "model.json").write_text(json.dumps(model, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        """Return the reranker that `save` wrote.

        Raises:
            FormatError: a file is damaged, or the columns are those of another version of Linnet.
            KnowledgeBaseError: it was trained with another knowledge base.
        """
        reranker = super().load(folder, kb=kb, partly=partly)
        path = folder / "model.json"
        if not path.is_file():
            return reranker
        saved = read_json(path)
        if not reranker.kb.comes_from(str(saved.get("kb"))):
            raise KnowledgeBaseError(
                f"{folder} was trained with version {saved.get('kb')} of its knowledge base, "
                f"{reranker.kb.path} has version {reranker.kb.version}: train it again"
            )
        values = _values(path, saved)
        if not isinstance(parts := saved.get("parts", []), list):  # earlier versions wrote none
            raise FormatError(path, f"parts: expected a list, found {parts!r}; train again")
        reranker.parts = tuple(map(str, parts))
        if list(values) != reranker._used():
            raise FormatError(path, "has other columns than this Linnet computes; train the pipeline again")
        reranker.model = Logit(*np.array(list(values.values()), np.float64).T)
        reranker._omitted = reranker.omit
        same = saved["kb"] == reranker.kb.version  # else it was edited: names are read again, counts follow
        lexicon = Lexicon.load(folder / "lexicon") if same else Lexicon.build(reranker.kb)
        counts = Counts.load(folder / "counts.jsonl")
        reranker.known = Known.of(lexicon, counts if same else counts.rebound(reranker.kb))
        return reranker


def _blocks(docs: Sequence[Document]) -> Iterator[list[Document]]:
    """Yield documents together: enough mentions to make operations on arrays worth while, and a bound on memory."""
    block: list[Document] = []
    mentions = 0
    for doc in docs:
        if mentions >= BLOCK:
            yield block
            block, mentions = [], 0
        block.append(doc)
        mentions += len(doc.mentions or ())
    yield block


def _reranked(lists: Sequence[Candidates], scores: Any, lengths: Any) -> Iterator[Candidates]:
    """Yield candidates with probabilities as scores, the earlier ones kept as the feature ``retrieval``.

    Args:
        lists: the candidates of each mention.
        scores: float64 (candidates), those of all mentions.
        lengths: int64 (mentions), how many each has.
    """
    rows = joined([candidates.rows for candidates in lists], np.int32)
    of = np.repeat(np.arange(len(lists)), lengths)
    probabilities, real = np.zeros(len(rows), np.float32), rows >= 0
    if real.any():
        probabilities[real] = softmax(scores[real], np.flatnonzero(np.diff(of[real], prepend=-1)))
    ends = np.cumsum(lengths)
    order = np.lexsort((rows, -probabilities, of)) - (ends - lengths)[of]
    for candidates, start, end in zip(lists, (ends - lengths).tolist(), ends.tolist(), strict=True):
        if not len(candidates):
            yield candidates
            continue
        yield candidates.rescored(probabilities[start:end], order[start:end], before="retrieval")


def _read_prior(name: str, columns: Sequence[str]) -> Logit:
    """Return the weights of a prior; a column that it lacks begins with a weight of 0.

    Raises:
        RecipeError: there is none of this name.
        FormatError: the file holds no weights.
    """
    ours = {path.stem: path for path in PRIORS.glob("*.json")}
    path = ours.get(name, Path(name))
    if not path.is_file():
        raise RecipeError("lexical", [f"prior: {name!r} is neither a file nor one of {', '.join(sorted(ours))}"])
    found = _values(path, read_json(path))
    nothing = (0.0, 0.0, 1.0)
    return Logit(*np.array([found.get(column, nothing) for column in columns], np.float64).T)


def _values(path: Path, saved: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Return weight, mean and scale of each column in what `Lexical.save` wrote to ``model.json``.

    Raises:
        FormatError: it is damaged.
    """
    try:
        found = {
            name: (float(item["weight"]), float(item["mean"]), float(item["scale"]))
            for name, item in saved["features"].items()
        }
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise FormatError(path, f"no weights that this Linnet can use ({error!r}); train again") from error
    if not np.isfinite(list(found.values())).all():
        raise FormatError(path, "a weight is no finite number; train again")
    return found


def _held_out(lists: Lists, folds: Any, penalty: float, prior: Logit | None = None) -> float:
    """Return the mean loss of mentions with weights learned from the other folds' documents."""
    total = 0.0
    for fold in np.unique(folds):
        outside, inside = lists.take(folds != fold), lists.take(folds == fold)
        if len(outside):
            total += Logit.fit(outside, penalty=penalty, prior=prior).loss(inside) * len(inside)
    return total / len(lists)


def _lists(tables: list[Floats], right: list[Any], groups: list[int], columns: int) -> Lists:
    lengths = np.array([len(columns) for columns in tables], np.int64)
    return Lists(
        table=np.concatenate(tables) if tables else np.zeros((0, columns), np.float32),
        right=np.concatenate(right) if right else np.zeros(0, np.bool_),
        starts=np.cumsum(lengths) - lengths,
        groups=np.array(groups, np.int64),
    )
