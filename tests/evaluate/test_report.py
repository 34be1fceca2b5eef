"""Evaluation whole: what `evaluate` gives, that it travels through JSON, and what `compare` says of two systems."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention, Span
from linnet.errors import DataError, MismatchError
from linnet.evaluate import About, Figure, Options, Report, compare, evaluate, measure
from linnet.evaluate.evaluation import fingerprint
from linnet.evaluate.render import tables, to_json
from linnet.evaluate.report import BY_TYPE
from linnet.evaluate.uncertainty import adjust, paired_bootstrap
from linnet.kb import KnowledgeBase

TEXT = "Seizures and short stature, cleft palate."
SPANS = {(0, 8): "HP:0001250", (13, 26): "HP:0004322", (28, 40): "HP:0000175"}
QUICK = Options(samples=50)


def gold_mention(span: tuple[int, int]) -> Mention:
    return Mention(*span, types=("Phenotype",), source="gold", concepts=(SPANS[span],))


def documents(count: int = 6) -> list[Document]:
    return [Document(str(n), TEXT, mentions=tuple(map(gold_mention, SPANS))) for n in range(count)]


def answers(docs: list[Document], kb: KnowledgeBase, *, wrong: int = 0) -> list[Document]:
    """Return predictions at gold's spans; those of the first `wrong` documents name another concept first."""
    found = []
    for number, doc in enumerate(docs):
        mentions = []
        for mention in doc.mentions or ():
            rows = [kb.row((mention.concepts or ("",))[0]), kb.row("X:1")]
            rows = rows[::-1] if number < wrong else rows
            candidates = Candidates(np.array(rows, np.int32), np.array([0.9, 0.5], np.float32), kb=kb.version)
            changed = replace(mention, source="pred", candidates=candidates, concepts=(kb.id(rows[0]),))
            mentions.append(replace(changed, probability=0.9))
        found.append(replace(doc, mentions=tuple(mentions)))
    return found


def test_a_report_prints_its_measures_by_name(kb: KnowledgeBase) -> None:
    docs = documents()
    report = evaluate(docs, answers(docs, kb), kb=kb, options=QUICK)
    for line, (name, figure) in zip(str(report).splitlines(), report.measures.items(), strict=True):
        assert line.split("  ", 1)[0] == name
        assert line.endswith(f"  {figure}")


def test_a_perfect_prediction_is_1_and_an_empty_one_0(kb: KnowledgeBase) -> None:
    docs = documents()
    perfect = evaluate(docs, answers(docs, kb), kb=kb, options=QUICK)
    empty = evaluate(docs, [replace(doc, mentions=()) for doc in docs], kb=kb, options=QUICK)
    for name in (
        "all.accuracy@1",
        "in-kb.accuracy@1",
        "in-kb-genbioel.recall@1",
        "in-kb.mrr",
        "strict.f1",
        "mention.f1",
    ):
        assert (perfect[name].value, empty[name].value) == (1.0, 0.0), name
    assert perfect.kinds == {}
    assert sum(empty.kinds.values()) == 18
    assert perfect.reliability is not None
    assert perfect.reliability.of == "given-span"
    assert empty.reliability is None


def test_calibration_of_what_is_not_calibrated_is_said_to_be_so(kb: KnowledgeBase) -> None:
    docs = documents()
    raw = answers(docs, kb)
    fitted = [
        replace(doc, mentions=tuple(replace(mention, calibration="given-span") for mention in doc.mentions or ()))
        for doc in raw
    ]
    reports = [evaluate(docs, ours, kb=kb, options=QUICK) for ours in (raw, fitted)]
    [table] = [table for table in tables(reports) if table.title == "calibration"]
    [row] = [row for row in table.rows if row[0] == "expected calibration error"]
    assert row[1:] == ("0.100 (probabilities are uncalibrated)", "0.100")


def test_a_concept_where_none_fits_is_as_wrong_at_given_spans_as_anywhere() -> None:
    theirs = Document("a", TEXT, mentions=(Mention(0, 8, concepts=()), Mention(28, 40, concepts=("X:1",))))
    said = [Mention(*span, concepts=("X:1",), probability=0.9) for span in ((0, 8), (28, 40), (13, 26))]
    ours, more = (replace(theirs, mentions=tuple(said[:size])) for size in (2, 3))
    given, found = (evaluate([theirs], [one], options=QUICK).reliability for one in (ours, more))
    assert given is not None
    assert found is not None
    assert (given.of, given.answers, found.of, found.answers) == ("given-span", 2, "joint", 3)
    assert (given.ece, found.ece) == pytest.approx((0.9 - 1 / 2, 0.9 - 1 / 3))


def test_half_wrong(kb: KnowledgeBase) -> None:
    docs = documents()
    report = evaluate(docs, answers(docs, kb, wrong=3), kb=kb, options=QUICK)
    figure = report["in-kb.accuracy@1"]
    assert (figure.value, figure.above, figure.below) == (0.5, 9.0, 18.0)
    assert figure.low is not None
    assert figure.high is not None
    assert 0.0 <= figure.low <= 0.5 <= figure.high <= 1.0
    assert report["in-kb.recall@2"].value == 1.0
    assert report.mentions == {"gold": 18, "all": 18, "in-kb": 18, "in-kb-genbioel": 18}
    assert sum(report.kinds.values()) == len(report.wrong) == 9
    wrong = report.wrong[0]
    assert (wrong.surface, wrong.gold, wrong.predicted, wrong.rank) == ("Seizures", ("HP:0001250",), ("X:1",), 2)
    assert wrong.before + wrong.surface + wrong.after == TEXT
    assert [(one.gold, one.predicted, one.count) for one in report.confusions] == [
        (("HP:0000175",), ("X:1",), 3), (("HP:0001250",), ("X:1",), 3), (("HP:0004322",), ("X:1",), 3),
    ]  # fmt: skip


def test_few_errors_are_kept_from_all_over_and_all_are_counted(kb: KnowledgeBase) -> None:
    docs = documents(10)
    report = evaluate(docs, answers(docs, kb, wrong=10), kb=kb, options=Options(samples=0, shown=5))
    assert sum(report.kinds.values()) == 30
    assert [wrong.document for wrong in report.wrong] == ["0", "2", "4", "6", "8"]
    assert report["strict.f1"].low is None
    assert str(report["strict.f1"]) == "0.000"


def test_a_report_travels_as_json(kb: KnowledgeBase) -> None:
    docs = documents()
    about = About(system="a", corpus="c:dev", split="dev", pipeline="gold >> exact")
    report = evaluate(docs, answers(docs, kb, wrong=2), kb=kb, about=about, options=QUICK)
    again = Report.of_json(report.to_json())
    assert again == report
    assert again.to_json() == report.to_json()
    assert again["dev.in-kb.accuracy@1"] == report["in-kb.accuracy@1"]
    assert (again.about.kb_version, again.about.corpus_hash) == (kb.version, fingerprint(docs))
    with pytest.raises(DataError, match=r"no metric 'dev.in-kb.acuracy@1'; did you mean 'dev.in-kb.accuracy@1'"):
        report["dev.in-kb.acuracy@1"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"documents": "x"}', '{"about": {}, "documents": -1}',
                                  '{"about": {}, "documents": 1, "measures": {"a": {"value": NaN}}}'])  # fmt: skip
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="not a report"):
        Report.of_json(text)


@given(st.text(), st.text())
def test_any_text_travels(system: str, kind: str) -> None:
    about = About(system=system)
    report = Report(about=about, documents=0, kinds={kind: 1}, measures={kind: Figure(value=0.1)})
    assert Report.of_json(report.to_json()) == report


def test_halves_of_characters_do_not_stop_a_report() -> None:
    gold = Document("\ud800", "\ud800ab", mentions=(Mention(0, 3, source="gold", concepts=("X:1\udfff",)),))
    report = evaluate([gold], [replace(gold, mentions=())], options=Options(samples=0))
    assert report.wrong[0].surface == "?ab"
    assert json.loads(report.to_json())["wrong"][0]["gold"] == ["X:1?"]


def test_names_of_files_and_types_in_another_encoding_do_not_stop_a_report() -> None:
    gold = Document("a", "Fits.", mentions=(Mention(0, 4, types=("\udcff",), source="gold", concepts=("X:1",)),))
    found = replace(gold, mentions=(Mention(0, 4, concepts=("X:1",)),))
    about = [About(system=name, corpus="gold\udcff.jsonl") for name in ("\udcff", "b")]
    one, other = (measure([gold], [found], about=name, options=Options(samples=0)) for name in about)
    assert json.loads(one.report.to_json())["about"]["corpus"] == "gold?.jsonl"
    assert one.report.slices["type.?"].value == 1.0
    assert to_json([one.report, other.report], compare([one, other])).encode()


def test_order_has_no_influence(kb: KnowledgeBase) -> None:
    docs = documents()
    found = answers(docs, kb, wrong=2)
    mixed = [replace(doc, mentions=(doc.mentions or ())[::-1]) for doc in found[::-1]]
    one = evaluate(docs, found, kb=kb, options=QUICK)
    other = evaluate([replace(doc, mentions=(doc.mentions or ())[::-1]) for doc in docs], mixed, kb=kb, options=QUICK)
    assert one.measures == other.measures
    assert one.about == other.about


def test_nothing_at_all() -> None:
    report = evaluate([], [])
    assert (report.documents, report.slices, report.wrong) == (0, {}, ())
    assert Report.of_json(report.to_json()) == report


def test_train_adds_slices(kb: KnowledgeBase) -> None:
    docs = documents()
    found = answers(docs, kb)
    without = evaluate(docs, found, kb=kb, options=QUICK)
    with_train = evaluate(docs, found, kb=kb, train=docs[:1], options=QUICK)
    assert set(without.slices) < set(with_train.slices)
    assert with_train.slices["seen-concept"].below == 18


def test_wrong_options_are_refused() -> None:
    with pytest.raises(DataError, match="protocol 'none' is none of all, in-kb"):
        Options(protocol="none")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="level 1"):
        Options(level=1.0)
    with pytest.raises(DataError, match="at least 0"):
        Options(samples=-1)


def test_nil_at_given_spans_and_anywhere_are_two_measures() -> None:
    theirs = Document("a", TEXT, mentions=(Mention(0, 8, source="gold", concepts=()),))
    ours = replace(theirs, mentions=(Mention(0, 8, concepts=()), Mention(13, 26, concepts=())))
    report = evaluate([theirs], [ours], options=QUICK)
    assert (report["nil.precision"].value, report["given-span.nil.precision"].value) == (0.5, 1.0)
    silent = evaluate(documents(1), [replace(doc, mentions=()) for doc in documents(1)], options=QUICK)
    assert silent["nil.f1"].value == silent["given-span.nil.f1"].value == 1.0


def test_errors_are_in_the_slices_of_their_own_mention() -> None:
    nested = (
        Mention(0, 26, types=("A",), source="gold", concepts=("A",)),
        Mention(1, 26, types=("B",), source="gold", concepts=("B",), parts=(Span(1, 8), Span(20, 26))),
    )
    report = evaluate(
        [Document("a", TEXT, mentions=nested)],
        [Document("a", TEXT, mentions=(Mention(0, 26, concepts=("A",)), Mention(0, 26, concepts=("C",))))],
        options=QUICK,
    )
    slices = {error.kind: error.slices for error in report.wrong}
    assert "discontinuous" in slices["boundary"]
    assert {"type.B"} == {name for name in slices["boundary"] if name.startswith("type.")}
    report = evaluate(
        [Document("a", TEXT, mentions=nested[:1])],
        [Document("a", TEXT, mentions=(Mention(0, 26, concepts=("A",)), Mention(0, 26, concepts=("C",))))],
        options=QUICK,
    )
    assert [(error.kind, error.slices) for error in report.wrong] == [("spurious", ())]


def test_what_nobody_went_through_is_not_wrong() -> None:
    theirs = Document("a", TEXT, mentions=(Mention(0, 8, source="gold", concepts=("A",)),), reviewed=(Span(0, 9),))
    ours = Document("a", TEXT, mentions=(Mention(0, 8, concepts=("A",)), Mention(13, 26, concepts=("B",))))
    assert evaluate([theirs], [ours], options=QUICK)["strict.f1"].value == 1.0
    assert evaluate([replace(theirs, reviewed=None)], [ours], options=QUICK)["strict.precision"].value == 0.5


def test_recognition_of_each_type_is_reported(kb: KnowledgeBase) -> None:
    docs = documents(2)
    report = evaluate(docs, [*answers(docs, kb)[:1], replace(docs[1], mentions=())], kb=kb, options=QUICK)
    names = ("precision", "recall", "f1")
    untyped = [replace(docs[0], mentions=(Mention(0, 8),)), docs[1].bare()]
    assert not [name for name in evaluate(docs, untyped, options=QUICK).measures if name.startswith(BY_TYPE)]
    assert [report[f"recognition.type.Phenotype.{name}"].value for name in names] == [1.0, 0.5, 2 / 3]


# --- comparing -------------------------------------------------------------------------------------------------------


def test_equal_systems_do_not_differ_and_others_do(kb: KnowledgeBase) -> None:
    docs = documents(20)
    systems = [
        measure(docs, answers(docs, kb, wrong=wrong), kb=kb, about=About(system=name), options=QUICK)
        for name, wrong in (("a", 0), ("b", 0), ("c", 20))
    ]
    rows = compare(systems)
    assert {(row.a, row.b) for row in rows} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert all(row.adjusted >= row.p for row in rows)
    same = [row for row in rows if (row.a, row.b) == ("a", "b")]
    assert all((row.difference, row.p) == (0.0, 1.0) for row in same)
    accuracy, drawn = [row for row in rows if (row.b, row.measure, row.a) == ("c", "in-kb.accuracy@1", "a")]
    # 60 mentions that a alone gets right: 2 × 0.5⁶⁰
    assert accuracy.p == pytest.approx(2 * 0.5**60)
    assert accuracy.difference == drawn.difference == 1.0
    assert (accuracy.test, drawn.test) == ("exact McNemar", "paired bootstrap")
    assert drawn.p == paired_bootstrap(
        *(one.measures["in-kb.accuracy@1"] for one in systems[::2]), samples=QUICK.samples, seed=QUICK.seed
    )


def test_p_is_adjusted_for_the_comparisons_that_are_shown(kb: KnowledgeBase) -> None:
    docs = documents(3)
    given, worse = (answers(docs, kb, wrong=wrong) for wrong in (0, 2))
    found = [replace(doc, mentions=(doc.mentions or ())[1:]) for doc in worse]
    systems = [
        measure(docs, ours, kb=kb, about=About(system=name), options=QUICK)
        for name, ours in (("given", given), ("worse", worse), ("found", found))
    ]
    rows = compare(systems[:2])  # both were given the mentions: nothing is said end to end
    assert [row.measure for row in rows] == ["in-kb.accuracy@1"] * 2
    assert [row.adjusted for row in rows] == list(adjust([row.p for row in rows]))
    assert {one.measure for one in compare(systems[1:])} == {"in-kb.accuracy@1"}
    assert len(compare([systems[2], replace(systems[2])])) == 4


def test_what_cannot_be_compared_is_refused(kb: KnowledgeBase) -> None:
    docs = documents(2)
    one = measure(docs, answers(docs, kb), kb=kb, options=QUICK)
    with pytest.raises(MismatchError, match="same gold documents"):
        compare([one, measure(docs[:1], answers(docs[:1], kb), kb=kb, options=QUICK)])
    with pytest.raises(MismatchError, match="same knowledge base"):
        compare([one, measure(docs, answers(docs, kb), kb=kb, options=Options(samples=0, protocol="all"))])
    other_order = measure(docs[::-1], answers(docs, kb), kb=kb, options=QUICK)
    with pytest.raises(MismatchError, match="same order"):  # whose rows would be compared with other documents' rows
        compare([one, other_order])
    assert compare([one]) == []
