"""Gold × predicted × knowledge base → a `Report`; several of them → `Comparison`s. Pure: nothing is read or run.

`evaluate` is the whole of it. `measure` keeps the counts of every document and the table of mentions too, which
`compare` needs to say whether the difference between two systems is more than chance.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from linnet import __version__
from linnet.corpora.names import documents
from linnet.data import Document, Mention
from linnet.errors import DataError, MismatchError
from linnet.evaluate.answers import Rule
from linnet.evaluate.assertions import assertions
from linnet.evaluate.calibration import Calibration, nil
from linnet.evaluate.end_to_end import end_to_end, recognition_by_type
from linnet.evaluate.errors import confusions, errors
from linnet.evaluate.linked import PROTOCOLS, Linked, Protocol
from linnet.evaluate.linking import linking
from linnet.evaluate.measures import Measure
from linnet.evaluate.pairing import pair_documents
from linnet.evaluate.report import (
    BY_ASSERTION,
    BY_TYPE,
    PARTS,
    About,
    Comparison,
    Figure,
    Reliability,
    Report,
    Wrong,
    drop_surrogates,
)
from linnet.evaluate.slices import slices
from linnet.evaluate.terminology import of_one_terminology
from linnet.evaluate.uncertainty import Adjustment, adjust, intervals, mcnemar, paired_bootstrap
from linnet.kb import KnowledgeBase
from linnet.kb.successors import successor
from linnet.pipeline.component import count_seen, is_reviewed

__all__ = ["Evaluation", "Options", "compare", "evaluate", "fingerprint", "measure", "metric_names"]

Bools = npt.NDArray[np.bool_]
POINTS = 200  # of the risk-coverage curve that a report keeps
CONFUSIONS = 500  # that a report keeps
COMPARED = ("strict.f1", "document.f1")  # beside the accuracy of the protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to evaluate.

    Args:
        protocol: which mentions slices and McNemar's test are about; measures come for all protocols, errors and the
            calibration of concepts at given spans are of all mentions.
        samples: bootstrap draws of each interval; 0 = no intervals.
        seed: of these draws.
        level: share of the draws that an interval holds.
        shown: wrong mentions that a report keeps; all of them are counted.
        classify: class every wrong mention, which takes the hierarchy of the knowledge base.
    """

    protocol: Protocol = "in-kb"
    samples: int = 1000
    seed: int = 13
    level: float = 0.95
    shown: int = 2000
    classify: bool = True

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise DataError(f"protocol {self.protocol!r} is none of {', '.join(PROTOCOLS)}")
        if self.samples < 0 or self.shown < 0:
            raise DataError(f"samples {self.samples} and shown {self.shown} must be at least 0")
        if not 0.0 < self.level < 1.0:
            raise DataError(f"level {self.level} is not between 0 and 1, such as 0.95")


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A report, and what it was made of: measures with the counts of each document, and the table of mentions."""

    report: Report
    measures: Mapping[str, Measure]
    linked: Linked


def evaluate(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    *,
    kb: KnowledgeBase | None = None,
    train: Sequence[Document] | None = None,
    rule: Rule = "all-of",
    about: About | None = None,
    options: Options | None = None,
) -> Report:
    """Return everything there is to say about one system.

    Args:
        gold: documents with gold mentions.
        predicted: the same documents, in any order, with predicted mentions; of several terminologies those of gold's.
        kb: says which concepts can be found at all, and maps retired ids of both sides to their successors; without
            it every concept counts as known, and the protocol ``in-kb`` is ``all``.
        train: documents the system has learned from, for slices such as seen and unseen concepts.
        rule: when an answer of several concepts is right; see `Linked.of`.
        about: names for the report; versions and counts are filled in.
        options: how to evaluate.

    Raises:
        MismatchError: gold and predicted documents do not belong together.
        DataError: something else than documents.

    >>> from linnet.data import Mention
    >>> gold = Document("a", "Fever.", mentions=(Mention(0, 5, source="gold", concepts=("HP:0001945",)),))
    >>> found = Document("a", "Fever.", mentions=(Mention(0, 5, concepts=("HP:0001945",)),))
    >>> evaluate([gold], [found])["in-kb.accuracy@1"].value
    1.0
    """
    return measure(gold, predicted, kb=kb, train=train, rule=rule, about=about, options=options).report


def measure(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    *,
    kb: KnowledgeBase | None = None,
    train: Sequence[Document] | None = None,
    rule: Rule = "all-of",
    about: About | None = None,
    options: Options | None = None,
) -> Evaluation:
    """Return the report of `evaluate` together with what `compare` needs; arguments and errors are the same.

    >>> measure([Document("a", "Fever.", mentions=())], [Document("a", "Fever.", mentions=())]).report.documents
    1
    """
    options = options or Options()
    if kb is None and options.protocol == "in-kb":  # what a knowledge base holds is not known
        options = replace(options, protocol="all")
    gold, predicted = of_one_terminology(list(documents(gold)), list(documents(predicted)), kb=kb)
    pairs = [(one, _keep_reviewed(one, other)) for one, other in pair_documents(gold, predicted, kb=kb)]
    linked = Linked.of(pairs, kb=kb, rule=rule)
    live = successor(kb)
    measures: dict[str, Measure] = {}
    for name in PROTOCOLS:
        measures |= {f"{name}.{one.name}": one for one in linking(linked, protocol=name)}
    for one in (*end_to_end(pairs, live=live), *assertions(pairs, live=live), *_by_type(pairs), *nil(linked)):
        measures[one.name] = one
    masks = slices(linked, kb=kb, train=train)
    found = errors(pairs, linked, kb=kb, slices=masks) if options.classify else []
    sizes = {"gold": len(linked)} | {str(name): int(linked.mask(name).sum()) for name in PROTOCOLS}
    report = Report(
        about=_about(about or About(), kb, pairs, rule=rule, options=options),
        documents=len(pairs),
        seen=count_seen(predicted),
        unannotated=sum(doc.mentions is None for doc in gold),
        mentions=sizes,
        measures=_figures(measures, options),
        slices=_figures(_by_slice(linked, masks, options.protocol), options),
        reliability=_reliability(pairs, linked, live, rule=rule),
        kinds=dict(sorted(Counter(error.kind for error in found).items(), key=lambda item: (-item[1], item[0]))),
        wrong=_sample_evenly(found, options.shown),
        confusions=tuple(confusions(found)[:CONFUSIONS]),
    )
    return Evaluation(report, measures, linked)


@cache
def metric_names() -> frozenset[str]:
    """Return the names of all metrics, without those of one type of mention or one assertion.

    >>> {"in-kb.accuracy@1", "strict.f1", "document.precision"} <= metric_names()
    True
    """
    gold = Document("a", "Fits.", mentions=(Mention(0, 4, concepts=("HP:1",), assertion="affirmed", source="gold"),))
    report = evaluate([gold], [Document("a", "Fits.", mentions=())], options=Options(samples=0))
    return frozenset(name for name in report.measures if not name.startswith((BY_TYPE, BY_ASSERTION)))


def _keep_reviewed(gold: Document, predicted: Document) -> Document:
    """Return what was predicted where gold can judge it: not outside the spans that a person went through."""
    if gold.reviewed is None:
        return predicted
    theirs = {mention.span for mention in gold.mentions or ()}
    kept = (m for m in predicted.mentions or () if m.span in theirs or is_reviewed(gold, m))
    return replace(predicted, mentions=tuple(kept))


def fingerprint(docs: Sequence[Document]) -> str:
    """Return the SHA-256 of what is annotated in documents: ids, texts, spans, types, concepts, assertions.

    >>> docs = [Document.of("Fever."), Document.of("Cough.")]
    >>> fingerprint(docs) == fingerprint(docs[::-1])
    True
    """
    total = hashlib.sha256()
    for doc in sorted(docs, key=lambda doc: doc.id):
        mentions = sorted(
            repr(
                (*(tuple(span) for span in m.spans), m.types, m.concepts, m.alternatives, *filter(None, [m.assertion]))
            )
            for m in doc.mentions or ()
        )
        total.update(repr((doc.id, doc.text, mentions)).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def _about(
    about: About, kb: KnowledgeBase | None, pairs: Sequence[tuple[Document, Document]], *, rule: str, options: Options
) -> About:
    known = {
        "corpus_hash": fingerprint([gold for gold, _ in pairs]),
        "kb": about.kb or ("" if kb is None else drop_surrogates(str(kb.info["name"]) or kb.path.stem)),
        "kb_version": "" if kb is None else kb.version,
        "code": about.code or __version__,
        "rule": rule,
        "protocol": options.protocol,
        "samples": options.samples,
        "seed": options.seed,
        "level": options.level,
    }
    return about.model_copy(update=known)


def _by_type(pairs: Sequence[tuple[Document, Document]]) -> Iterator[Measure]:
    """Yield micro precision, recall and F1 of recognising the mentions of each type, under names with the type.

    None of a system that gives no types at all: it was not asked for them.
    """
    theirs = [mention for _, predicted in pairs for mention in predicted.mentions or ()]
    if theirs and not any(mention.types for mention in theirs):
        return
    for kind, found in recognition_by_type(pairs).items():
        for part, one in zip(PARTS, found, strict=False):
            yield replace(one, name=f"{BY_TYPE}{drop_surrogates(kind)}.{part}")


def _by_slice(linked: Linked, masks: Mapping[str, Bools], protocol: Protocol) -> dict[str, Measure]:
    """Return accuracy@1 over the mentions of each slice that a protocol counts, of slices with any, by name."""
    counted = linked.mask(protocol)
    parts = ((drop_surrogates(name), mask & counted) for name, mask in masks.items())
    return {name: _accuracy(linked, part) for name, part in parts if part.any()}


def _accuracy(linked: Linked, mask: Bools) -> Measure:
    """Return accuracy@1 over the mentions of `mask`."""
    size = len(linked.documents)
    right = np.bincount(linked.doc[mask], weights=linked.right[mask], minlength=size)
    return Measure("accuracy@1", np.stack([right, np.bincount(linked.doc[mask], minlength=size)], axis=1))


def _figures(measures: Mapping[str, Measure], options: Options) -> dict[str, Figure]:
    ends: Sequence[tuple[float, float] | tuple[None, None]] = [(None, None)] * len(measures)
    if options.samples and measures and all(len(one.counts) for one in measures.values()):
        ends = intervals(list(measures.values()), samples=options.samples, seed=options.seed, level=options.level)
    figures = {}
    for (name, one), (low, high) in zip(measures.items(), ends, strict=True):
        sums = one.counts.sum(axis=0)
        above, below = (float(sums[0]), float(sums[1])) if len(sums) == 2 else (None, None)
        figures[name] = Figure(value=one.value, low=low, high=high, above=above, below=below)
    return figures


# --- calibration -----------------------------------------------------------------------------------------------------


def _reliability(
    pairs: Sequence[tuple[Document, Document]],
    linked: Linked,
    live: Callable[[str], str],
    *,
    rule: Rule,
) -> Reliability | None:
    """Return how far to trust probabilities: of the concept where only gold's spans are answered, else of both.

    All gold mentions count: who answers cannot know whether the knowledge base holds what is meant, or any fits.
    """
    given = all({m.span for m in ours.mentions or ()} <= {m.span for m in gold.mentions or ()} for gold, ours in pairs)
    made = Calibration.of_linked(linked) if given else Calibration.of_pairs(pairs, live=live, rule=rule)
    if not len(made):
        return None
    curve = made.risk_coverage()
    kept = np.unique(np.linspace(0, len(curve.risk) - 1, min(POINTS, len(curve.risk))).astype(int))
    points = zip(curve.coverage[kept].tolist(), curve.risk[kept].tolist(), strict=True)
    return Reliability(
        of="given-span" if given else "joint",
        ece=made.ece(),
        brier=made.brier,
        aurc=made.aurc,
        answers=len(made),
        calibrated=any(m.calibration for _, ours in pairs for m in ours.mentions or () if m.probability is not None),
        bins=tuple(made.bins()),
        risk_coverage=tuple(points),
    )


# --- errors ----------------------------------------------------------------------------------------------------------


def _sample_evenly(found: Sequence[Wrong], most: int) -> tuple[Wrong, ...]:
    """Return at most so many errors, evenly from the first document to the last."""
    shown = min(most, len(found))
    return tuple(found[place * len(found) // shown] for place in range(shown))


# --- comparing -------------------------------------------------------------------------------------------------------


def compare(systems: Sequence[Evaluation], *, method: Adjustment = "holm") -> list[Comparison]:
    """Compare every two systems: exact McNemar on accuracy@1 of the protocol, paired bootstrap on it and on F1.

    Probabilities are adjusted for all comparisons that are made. A system that was given the mentions is compared with
    no other on the F1 measures: they would be taken for what it found.

    Raises:
        MismatchError: the systems were not evaluated on the same documents in the same order, or not alike.

    >>> compare([])
    []
    """
    if len({one.report.about.corpus_hash for one in systems}) > 1:
        raise MismatchError("systems can only be compared on the same gold documents; evaluate them in one call")
    if len({one.linked.documents for one in systems}) > 1:
        raise MismatchError(
            "systems can only be compared on gold documents in the same order; evaluate them in one call"
        )
    if len({(one.report.about.kb_version, one.report.about.rule, one.report.about.protocol) for one in systems}) > 1:
        raise MismatchError("systems can only be compared with the same knowledge base, rule and protocol")
    made = [row for a, b in itertools.combinations(systems, 2) for row in _pair(a, b)]
    adjusted = adjust([row.p for row in made], method=method) if made else []
    return [row.model_copy(update={"adjusted": float(p)}) for row, p in zip(made, adjusted, strict=True)]


def _pair(a: Evaluation, b: Evaluation) -> list[Comparison]:
    about = a.report.about
    mask = a.linked.mask(_protocol(about.protocol))
    accuracy = f"{about.protocol}.accuracy@1"
    tests = [(accuracy, "exact McNemar", mcnemar(a.linked.right[mask], b.linked.right[mask]))]
    found = () if a.report.given or b.report.given else COMPARED
    for name in (accuracy, *found) if about.samples else ():
        p = paired_bootstrap(a.measures[name], b.measures[name], samples=about.samples, seed=about.seed)
        tests.append((name, "paired bootstrap", p))
    return [
        Comparison(
            measure=name,
            a=about.system,
            b=b.report.about.system,
            difference=a.measures[name].value - b.measures[name].value,
            test=test,
            p=p,
            adjusted=p,
        )
        for name, test, p in tests
    ]


def _protocol(name: str) -> Protocol:
    return next(known for known in PROTOCOLS if known == name)
