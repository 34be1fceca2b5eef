"""The result of an evaluation as loss-free JSON records: metrics, slices, calibration, errors, cost, versions.

A `Report` belongs to one system. It keeps no documents beyond the context of the errors it shows, so it can be sent
where the corpus cannot go; everything that draws or prints (`linnet.evaluate.render`, `linnet.evaluate.page`) reads
nothing else.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError

from linnet.errors import DataError, did_you_mean
from linnet.evaluate.cost import Cost

__all__ = [
    "BY_TYPE",
    "PARTS",
    "About",
    "Bin",
    "Comparison",
    "Confusion",
    "Figure",
    "Reliability",
    "Report",
    "Wrong",
    "drop_surrogates",
]


def drop_surrogates(value: Any) -> Any:
    """Return a text without halves of characters, which JSON cannot exchange, and another value as it is."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(drop_surrogates)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]
PARTS = ("precision", "recall", "f1")  # of every way of counting that has them
BY_TYPE = "recognition.type."  # begins the names of the measures of one type
BY_ASSERTION = "assertion."  # begins those of assertions: their accuracy, and the measures of each value


class Record(BaseModel):
    """A frozen record; unknown fields, infinities and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class About(Record):
    """What was compared, by names and versions.

    Args:
        system: what the predictions are called beside others.
        corpus: name of the gold documents, mostly ``corpus:split``.
        split: the split alone; it starts the names of metrics in a recipe's ``[expect]``.
        corpus_hash: SHA-256 of the gold documents, whatever their order (`linnet.evaluate.evaluation.fingerprint`).
        kb: name of the knowledge base; "" = none was given, every concept counts as known.
        kb_version: its version.
        pipeline: what made the predictions, where that is known.
        code: version of Linnet.
        rule: ``all-of`` or ``any-of``.
        protocol: which mentions slices and McNemar's test are about.
        samples: bootstrap draws of the intervals; 0 = no intervals.
        seed: of these draws.
        level: share of the draws that an interval holds.
    """

    system: Text = "system"
    corpus: Text = ""
    split: Text = ""
    corpus_hash: str = ""
    kb: Text = ""
    kb_version: str = ""
    pipeline: Text = ""
    code: str = ""
    rule: str = "all-of"
    protocol: str = "in-kb"
    samples: Count = 1000
    seed: int = 13
    level: Share = 0.95


class Figure(Record):
    """One metric with its interval; `above` and `below` are its numerator and denominator, if it is a ratio.

    >>> str(Figure(value=0.895, low=0.8846, high=0.9052))
    '0.895 [0.885, 0.905]'
    """

    value: FiniteFloat
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None

    def __str__(self) -> str:
        ends = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.value:.3f}{ends}"


class Bin(Record):
    """One bin of a reliability diagram: mean probability, share of right answers, answers."""

    confidence: Share
    accuracy: Share
    count: Count


class Reliability(Record):
    """How far probabilities can be believed.

    Args:
        of: what they are probabilities of: ``given-span``, the concept at gold's spans; ``joint``, span and concept.
        ece: expected calibration error.
        brier: Brier score.
        aurc: area under the risk-coverage curve.
        answers: how many have a probability.
        calibrated: whether any prediction says what its probability was calibrated for; else the figures are of scores
            that nobody made frequencies of.
        bins: the reliability diagram.
        risk_coverage: pairs of share answered and share of these wrong.
    """

    of: Literal["given-span", "joint"]
    ece: float
    brier: float
    aurc: float
    answers: Count
    calibrated: bool = True
    bins: tuple[Bin, ...] = ()
    risk_coverage: tuple[tuple[float, float], ...] = ()


class Wrong(Record):
    """One wrong mention with its context.

    Args:
        kind: the first of `linnet.evaluate.errors.KINDS` that holds.
        document: the id of the document.
        start: of the gold mention; of the prediction if that is spurious.
        end: likewise.
        surface: its text.
        before: up to 60 characters of text in front of it.
        after: up to 60 characters of text behind it.
        gold: the ids that gold names, () for NIL or nothing.
        predicted: the ids that were answered, () for NIL or nothing.
        gold_names: the preferred name of each, "" where it is not known.
        predicted_names: likewise.
        rank: the smallest k such that the first k candidates hold an accepted answer, 0 = none do.
        probability: of the answer, None where none is given.
        tags: the other kinds that hold, and `linnet.evaluate.errors.NOT_IN_KB`.
        found: the span of the prediction, None where there is none.
        slices: the names of those that its gold mention is in; of a spurious one none.
    """

    kind: str
    document: Text
    start: Count
    end: Count
    surface: Text
    before: Text = ""
    after: Text = ""
    gold: tuple[Text, ...] = ()
    predicted: tuple[Text, ...] = ()
    gold_names: tuple[Text, ...] = ()
    predicted_names: tuple[Text, ...] = ()
    rank: Count = 0
    probability: float | None = None
    tags: tuple[str, ...] = ()
    found: tuple[Count, Count] | None = None
    slices: tuple[Text, ...] = ()


class Confusion(Record):
    """How often one answer was given where gold has another; the fields are those of an error."""

    gold: tuple[Text, ...]
    predicted: tuple[Text, ...]
    gold_names: tuple[Text, ...] = ()
    predicted_names: tuple[Text, ...] = ()
    count: Count


class Report(Record):
    """All that was found about one system.

    Args:
        about: names and versions.
        documents: how many.
        seen: those that the system was trained on (``train``), or chosen or calibrated on (``dev``), where it says so.
        unannotated: those in which nobody has looked for mentions: they count as documents without any.
        mentions: gold mentions, and how many each protocol counts, by its name; ``gold`` = all of them.
        measures: metric by dotted name: ``in-kb.accuracy@1``, ``strict.f1``.
        slices: accuracy@1 of the mentions of a slice; `Figure.below` is their number.
        reliability: None where no mention has a probability.
        kinds: wrong mentions by kind, all of them.
        wrong: those that are shown, at most as many as the evaluation was asked to keep.
        confusions: most frequent first.
        cost: time and memory, where they were measured.
        training: how the pipeline was trained: title -> metric -> pairs of step and value.
        training_seconds: of all its parts.

    >>> report = Report(documents=1, measures={"in-kb.accuracy@1": Figure(value=0.5)}, about=About(split="dev"))
    >>> Report.of_json(report.to_json()) == report
    True
    >>> report["dev.in-kb.accuracy@1"].value
    0.5
    """

    about: About
    documents: Count
    seen: dict[str, Count] = {}
    unannotated: Count = 0
    mentions: dict[str, Count] = {}
    measures: dict[str, Figure] = {}
    slices: dict[str, Figure] = {}
    reliability: Reliability | None = None
    kinds: dict[str, Count] = {}
    wrong: tuple[Wrong, ...] = ()
    confusions: tuple[Confusion, ...] = ()
    cost: Cost | None = None
    training: dict[str, dict[str, tuple[tuple[float, float], ...]]] = {}
    training_seconds: float | None = None

    @property
    def given(self) -> bool:
        """Whether the predictions are at all of gold's spans and nowhere else: most likely these were given."""
        found = self.measures.get("recognition.strict.f1")
        return found is not None and found.value == 1.0

    def __getitem__(self, name: str) -> Figure:
        """Return a metric by its name, with or without the split in front.

        Raises:
            DataError: there is none of that name.
        """
        found = self.measures.get(name)
        split, dot, rest = name.partition(".")
        if found is None and dot and split == self.about.split:
            found = self.measures.get(rest)
        if found is None:
            known = [*self.measures, *(f"{self.about.split}.{key}" for key in self.measures if self.about.split)]
            raise DataError(f"the report has no metric {name!r}{did_you_mean(name, known)}")
        return found

    def __str__(self) -> str:
        """Return the measures, one a line, by the names that ``report[name]`` takes."""
        width = max(map(len, self.measures), default=0)
        return "\n".join(f"{name:{width}}  {figure}" for name, figure in self.measures.items())

    def to_json(self) -> str:
        """Return the report as indented JSON, the same text for the same report."""
        return self.model_dump_json(indent=1) + "\n"

    @classmethod
    def of_json(cls, text: str | bytes) -> Report:
        """Return the report that `to_json` wrote.

        Raises:
            DataError: the text is none; the first wrong fields are named.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise DataError(f"not a report: {_problems(error)}; evaluate again to make one") from error


class Comparison(Record):
    """Two systems on one measure: a − b, and whether chance alone would do.

    ``test`` names how `p` was found, ``adjusted`` is it after adjusting for all comparisons made.
    """

    measure: str
    a: Text
    b: Text
    difference: float
    test: str
    p: Share
    adjusted: Share


def _problems(error: ValidationError) -> str:
    shown = [f"{'.'.join(map(str, item['loc'])) or 'text'}: {item['msg']}" for item in error.errors()[:3]]
    return "; ".join(shown)
