"""From ordered candidates to the answer: concepts or NIL, with a probability, and composites folded back.

Uncalibrated, the probability is the first candidate's score, cut to 0 … 1 and shared among candidates that tie with it;
``calibration`` is then ``""``. `Decide.fit` learns from dev documents how often such an answer is right
(`linnet.pipeline.confidence`). Fitted behind a detector it gives P(span and concept right) (``"joint"``), behind gold
spans P(concept right | span) (``"given-span"``); the two are different numbers and are never mixed.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from linnet.data import Calibration, Candidates, Document, Mention, Span, by_position, mention_id
from linnet.errors import DataError, PipelineError
from linnet.frozen import changed
from linnet.kb import KnowledgeBase
from linnet.pipeline.allow import Allow
from linnet.pipeline.component import Component, Step, blind, identity, is_reviewed
from linnet.pipeline.confidence import FEATURES, TIE, Confidence, best_threshold, features, why_none
from linnet.pipeline.learner import made_once
from linnet.pipeline.pipeline import Pipeline, Stage
from linnet.reporter import warn

__all__ = ["Decide", "calibrate", "fold"]

Hull: TypeAlias = tuple[int, int]  # from where to where a mention lies
TINY = np.finfo(np.float64).tiny


@dataclass(kw_only=True)
class Decide(Stage):
    """Sets concepts and probability of every mention; answers that people gave stay.

    Args:
        kb: the knowledge base of the candidates.
        threshold: an answer less probable than this becomes NIL, ``()``. ``"f1"``: the one with which the documents
            that it is calibrated on have the best strict F1; 0 until then.
        fold: put the conjuncts of one group together again as one mention of several concepts.
        nil: ``keep`` mentions without a concept, or ``drop`` predicted ones.
    """

    kb: KnowledgeBase
    threshold: float | Literal["f1"] = 0.0
    fold: bool = True
    nil: Literal["keep", "drop"] = "keep"
    confidence: Confidence | None = field(default=None, init=False)
    calibration: Calibration = field(default="", init=False)
    chosen: float = field(default=0.0, init=False)

    LEARNS_FROM = "dev"
    NEEDS = frozenset({"mentions", "candidates"})
    GIVES = frozenset({"concepts"})

    def __post_init__(self) -> None:
        if self.threshold == "f1":
            return
        number = isinstance(self.threshold, (int, float, np.number)) and not isinstance(self.threshold, bool)
        if not number or not 0.0 <= self.threshold <= 1.0:
            raise DataError(f'decide: threshold {self.threshold!r} is neither between 0 and 1 nor "f1"')

    @property
    def least(self) -> float:
        """The probability that an answer needs: the threshold that was given, or the one that was chosen."""
        if self.threshold == "f1":
            return self.chosen
        return min(float(self.threshold), float(np.float32(self.threshold)))  # a score of 0.9 is 0.8999999761581421

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:  # noqa: ARG002
        """Return `docs` with concepts and probabilities."""
        return [self._document(doc, self.least) for doc in docs]

    def _document(self, doc: Document, least: float) -> Document:
        if doc.mentions is None:
            raise PipelineError(f"Decide needs mentions, document {doc.id!r} has none: put a detector in front")
        pairs = [(mention, self._answer(mention)) for mention in doc.mentions]
        people = {id(answered) for mention, answered in pairs if _is_answered(mention)}
        found = changed(doc, mentions=tuple(answered for _, answered in pairs))
        if self.fold and any(mention.group for mention in found.mentions or ()):
            found = fold(found, self.kb)  # a composite is one answer, with one probability
        rest = [one if id(one) in people else _reject(one, least) for one in found.mentions or ()]
        return changed(found, mentions=tuple(rest if self.nil == "keep" else filter(_is_kept, rest)))

    def _answer(self, mention: Mention) -> Mention:
        candidates = mention.candidates
        if _is_answered(mention):
            return mention
        if candidates is None:
            raise PipelineError(f"Decide needs candidates, mention {mention.span} has none: put a retriever in front")
        if candidates.kb and candidates.kb != self.kb.version:
            raise PipelineError(
                f"candidates of knowledge base version {candidates.kb} cannot be decided with {self.kb.version}"
            )
        if len(candidates) == 0:
            return replace(mention, concepts=(), probability=None, calibration="")
        # candidates read without a knowledge base still hold ids
        row = int(_with_rows(candidates.top(1) if candidates.ids else candidates, self.kb).rows[0])
        return changed(
            mention,
            concepts=() if row < 0 else (self.kb.id(row),),
            probability=self._probability(mention, candidates, row),
            calibration=self.calibration,
        )

    def _probability(self, mention: Mention, candidates: Candidates, row: int) -> float:
        if self.confidence is None:
            first = min(max(float(candidates.scores[0]), 0.0), 1.0)
            return (
                first / int((candidates.scores >= candidates.scores[0] - TIE).sum()) if len(candidates) > 1 else first
            )
        columns = features(mention, self.confidence.signals)
        return float(self.confidence(columns[None], [self._kind(row)])[0])

    @made_once
    def _kind(self) -> Callable[[int], str]:
        """From a concept to its semantic types as one text; the same concepts are asked for again and again."""
        return functools.cache(lambda row: "|".join(self.kb.types_of(row)) if row >= 0 else "NIL")

    @property
    def used_dev(self) -> bool:
        """Whether there were mentions enough to calibrate on."""
        return bool(self.calibration)

    @property
    def parameters(self) -> int:
        """What calibration has learned."""
        return self.confidence.parameters if self.confidence is not None else 0

    # --- calibration -------------------------------------------------------------------------------------------------

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Component,
        kb: KnowledgeBase,  # noqa: ARG002
        args: Mapping[str, Any],  # noqa: ARG002
    ) -> Iterator[Step]:
        """Fit the probability on `dev`, for whose documents nothing in `before` answers that has seen them; one step.

        Signals that parts of `before` declare are learned from besides what `FEATURES` names.
        With fewer than ``FEW`` answers it stays uncalibrated, which is warned of; so it does where all are wrong and
        some are of `train`.

        Raises:
            DataError: there are enough answers, none of `train`, and all of them are wrong.
        """
        pipeline = before if isinstance(before, Pipeline) else Pipeline(before)
        pairs = list(zip(dev, pipeline(blind(dev, before)), strict=True))
        answers = [answer for gold, predicted in pairs for answer in self._judged(gold, predicted)]
        right = np.array([answer.right for answer in answers], np.bool_)
        self.confidence, self.calibration, self.chosen = None, "", 0.0
        if problem := why_none(right, own=set(map(identity, train)).isdisjoint(map(identity, dev))):
            warn(f"decide stays uncalibrated: {problem}")
            yield Step(step=1, total=1)
            return
        signals = [name for name in pipeline.signals if name not in FEATURES]
        columns = np.array([features(answer.mention, signals) for answer in answers])
        kinds = [self._kind(answer.row) for answer in answers]
        documents = [answer.document for answer in answers]
        self.confidence = Confidence.fit(columns, kinds, right, documents=documents, signals=signals)
        self.calibration = "given-span" if "mentions" in before.needs else "joint"
        found = self.confidence(columns, kinds)
        self.chosen = self._best_threshold(pairs)
        happened = np.where(right, found, 1.0 - found)
        yield Step(step=1, total=1, losses={"nll": float(-np.log(np.maximum(happened, TINY)).mean())})

    def _judged(self, gold: Document, predicted: Document) -> Iterator[_Judged]:
        """Yield the predicted mentions that have candidates and whether the first is right.

        Where a corpus gives one span several mentions, any of them may be meant; what lies outside the spans that a
        person went through, in a document that nobody annotated, or where nobody said which concept is meant, is
        neither right nor wrong. A conjunct that is folded is right if the whole mention has its concept among others.
        """
        answers = _by_hull(gold)
        hulls = _hulls(predicted.mentions or ()) if self.fold else {}
        for mention in predicted.mentions or ():
            accepted = self._accepted(gold, answers, mention, hulls.get(mention.group))
            if accepted is None or mention.candidates is None or not len(mention.candidates):
                continue
            row = int(_with_rows(mention.candidates.top(1), self.kb).rows[0])
            id, part = (self.kb.id(row) if row >= 0 else None), mention.group in hulls
            right = any(id in answer if part else answer == ([] if id is None else [id]) for answer in accepted)
            yield _Judged(gold.id, mention, row, right)

    def _accepted(
        self, gold: Document, answers: Mapping[Hull, Sequence[Mention]], mention: Mention, hull: Hull | None = None
    ) -> list[list[str]] | None:
        """Return the sorted ids, retired concepts followed, of each answer that people accept; None if nobody knows."""
        theirs = answers.get(hull or (mention.start, mention.end), [])
        if not theirs:
            return [] if gold.mentions is not None and is_reviewed(gold, mention) else None
        accepted = [answer for one in theirs for answer in (one.concepts, *one.alternatives) if answer is not None]
        live = [{self.kb.id(self.kb.row(id)) if id in self.kb else id for id in answer} for answer in accepted]
        return list(map(sorted, live)) or None

    def _best_threshold(self, pairs: Sequence[tuple[Document, Document]]) -> float:
        """Return the threshold with which answers, composites in one piece, have the best strict F1."""
        probabilities: list[float] = []
        right: list[bool] = []
        wanted = 0
        for gold, predicted in pairs:
            answers = _by_hull(gold)
            wanted += sum(bool(mention.concepts) for mention in gold.mentions or ())
            for mention in self._document(predicted, 0.0).mentions or ():
                accepted = self._accepted(gold, answers, mention)
                if mention.concepts and accepted is not None:
                    probabilities.append(mention.probability or 0.0)
                    right.append(sorted(mention.concepts) in accepted)
        return best_threshold(np.array(probabilities), np.array(right, np.bool_), wanted)

    def learned_values(self) -> dict[str, Any]:
        """Return what was fitted, if anything was."""
        if self.confidence is None:
            return {}
        return {"calibration": self.calibration, "threshold": self.chosen, **self.confidence.to_json()}

    def restore_values(self, values: Mapping[str, Any]) -> None:
        """Take what `learned_values` gave."""
        self.confidence, self.calibration = Confidence.from_json(values), _check_calibration(values["calibration"])
        self.chosen = _share(values.get("threshold", 0.0))  # calibrations of earlier versions chose none
        if self.threshold == "f1" and "threshold" not in values:
            warn('decide: threshold "f1" keeps all answers, because this pipeline was calibrated before it was learned')


def calibrate(pipeline: Pipeline, dev: Sequence[Document]) -> Pipeline:
    """Return `pipeline` with its last part, a `Decide`, fitted on `dev`: documents with 50 gold mentions or more.

    With fewer answers it stays uncalibrated, which is warned of.

    Raises:
        PipelineError: the last part is no `Decide`.
        DataError: there are enough answers, and all of them are wrong.
    """
    last = pipeline.parts[-1]
    if not isinstance(last, Decide):
        raise PipelineError(f"calibrate needs a pipeline that ends in decide, found {pipeline!r}")
    fitted = replace(last)
    for _ in fitted.fit((), dev, before=Pipeline(*pipeline.parts[:-1], allow=pipeline.allow), kb=last.kb, args={}):
        pass
    made = Pipeline(*pipeline.parts[:-1], fitted, name=pipeline.name, kb=pipeline.kb, allow=pipeline.allow)
    made.seen = pipeline.seen.with_documents(dev=dev if fitted.calibration else ())
    return made


def _is_answered(mention: Mention) -> bool:
    """Whether a person has answered; a detector looks up candidates for its own mentions alone."""
    return mention.source != "pred" and (mention.concepts is not None or mention.candidates is None)


def _is_kept(mention: Mention) -> bool:
    return bool(mention.concepts) or mention.source != "pred"


def _reject(mention: Mention, least: float) -> Mention:
    """Return a mention without its concepts if these are too improbable; its probability is that they are wrong."""
    if not mention.concepts or mention.probability is None or mention.probability >= least:
        return mention
    return changed(mention, concepts=(), probability=1.0 - mention.probability)


def _by_hull(doc: Document) -> dict[Hull, list[Mention]]:
    found: dict[Hull, list[Mention]] = {}
    for mention in doc.mentions or ():
        found.setdefault((mention.start, mention.end), []).append(mention)
    return found


def _hulls(mentions: Sequence[Mention]) -> dict[str, Hull]:
    """Return from where to where each group of several mentions lies."""
    groups: dict[str, list[Mention]] = {}
    for mention in mentions:
        if mention.group and mention.source == "pred":
            groups.setdefault(mention.group, []).append(mention)
    return {
        name: (min(one.start for one in group), max(one.end for one in group))
        for name, group in groups.items()
        if len(group) > 1
    }


def _share(number: Any) -> float:
    if not 0.0 <= float(number) <= 1.0:
        raise ValueError(f"{number} is not between 0 and 1")
    return float(number)


def _check_calibration(calibration: Any) -> Calibration:
    if calibration not in ("joint", "given-span"):
        raise ValueError(f"calibration {calibration!r} is neither 'joint' nor 'given-span'")
    known: Calibration = calibration
    return known


class _Judged(NamedTuple):
    """A predicted mention of a document, its first candidate, and whether that is right."""

    document: str
    mention: Mention
    row: int
    right: bool


# --- composites ------------------------------------------------------------------------------------------------------


def fold(doc: Document, kb: KnowledgeBase) -> Document:
    """Return `doc` with the predicted mentions of one group made one: all their concepts, over the hull of their spans.

    A composite over the very span of a person's mention yields to it, as any prediction does.
    """
    groups: dict[str, list[Mention]] = {}
    alone: list[Mention] = []
    for mention in doc.mentions or ():
        if mention.group and mention.source == "pred":
            groups.setdefault(mention.group, []).append(mention)
        else:
            alone.append(mention)
    taken = {mention.spans for mention in alone if mention.source != "pred"}
    folded = [_fold(doc, group, kb) if len(group) > 1 else group[0] for group in groups.values()]
    kept = [mention for mention in folded if mention.spans not in taken]
    return replace(doc, mentions=by_position([*alone, *kept]))


def _fold(doc: Document, group: Sequence[Mention], kb: KnowledgeBase) -> Mention:
    start, end = min(mention.start for mention in group), max(mention.end for mention in group)
    types = tuple(dict.fromkeys(kind for mention in group for kind in mention.types))
    concepts = dict.fromkeys(id for mention in group for id in mention.concepts or ())
    probabilities = [one.probability for one in group if one.concepts and one.probability is not None]
    known = set.intersection(*(set(mention.signals) for mention in group))
    return replace(
        group[0],
        start=start,
        end=end,
        parts=(),
        id=mention_id(doc.id, [Span(start, end)], types),
        types=types,
        concepts=tuple(concepts),
        candidates=_merge([_with_rows(mention.candidates, kb) for mention in group if mention.candidates is not None]),
        # all of its concepts hold, taken as independent; a conjunct that names none has no part in that
        probability=math.prod(probabilities) if probabilities else None,
        calibration=next((one.calibration for one in group if one.concepts and one.probability is not None), ""),
        signals={name: min(mention.signals[name] for mention in group) for name in known},
        group="",
    )


def _with_rows(candidates: Candidates, kb: KnowledgeBase) -> Candidates:
    """Return candidates with rows of `kb`, which those lack that were read from a file without it."""
    if not candidates.ids:
        return candidates
    from linnet.codec import resolve  # noqa: PLC0415 - brings the JSON form of documents along

    return resolve(candidates, kb)


def _merge(lists: Sequence[Candidates]) -> Candidates | None:
    """Return the candidates of all lists, of each concept the best."""
    if not lists:
        return None
    names = [c.names if c.names is not None else np.full(len(c), -1, np.int32) for c in lists]
    columns = [
        zip(c.rows.tolist(), c.scores.tolist(), n.tolist(), strict=True) for c, n in zip(lists, names, strict=True)
    ]
    best: dict[int, tuple[float, int]] = {}
    for row, score, name in itertools.chain.from_iterable(columns):
        if row not in best or score > best[row][0]:
            best[row] = (score, name)
    rows, kept = np.array(list(best), np.int32), list(best.values())
    scores = np.array([score for score, _ in kept], np.float32)
    return Candidates(rows, scores, names=np.array([name for _, name in kept], np.int32), kb=lists[0].kb).sorted()
