from __future__ import annotations

import pytest

from linnet.data import Document, Mention, Span
from linnet.errors import MismatchError
from linnet.evaluate import Counts, Report, evaluate
from linnet.kb import KnowledgeBase

TEXT = "seizure and cold and short stature"


def doc(id: str, *mentions: tuple[int, int, tuple[str, ...] | None], source: str = "pred") -> Document:
    made = tuple(Mention(start, end, concepts=concepts, source=source) for start, end, concepts in mentions)  # type: ignore[arg-type]
    return Document(id, TEXT, mentions=made)


def counts(report: Report, name: str) -> tuple[int, int, int]:
    return report[name].right, report[name].predicted, report[name].gold


def test_worked_by_hand() -> None:
    gold = [
        doc("a", (0, 7, ("S",)), (12, 16, ("C",)), (21, 34, ("H",)), source="gold"),
        doc("b", (0, 7, ("S", "T")), (12, 16, ()), source="gold"),
        doc("c", source="gold"),
    ]
    predicted = [
        doc("b", (0, 7, ("T", "X")), (12, 16, ("C",))),  # T right; X and C wrong; S missed
        doc("a", (0, 7, ("S",)), (12, 15, ("C",)), (21, 34, ("X",)), (21, 26, None)),  # S right; C only in document
        doc("c", (0, 7, ("S",))),  # wrong
    ]
    report = evaluate(gold, predicted)
    assert report.documents == 3
    assert counts(report, "mention") == (2, 7, 5)
    assert counts(report, "document") == (3, 7, 5)
    assert report["mention"].precision == pytest.approx(2 / 7)
    assert report["mention"].recall == pytest.approx(2 / 5)
    assert report["mention"].f1 == pytest.approx(4 / 12)


def test_saying_it_twice_counts_once() -> None:
    once, twice = doc("a", (0, 7, ("S",))), doc("a", (0, 7, ("S", "S")), (0, 7, ("S",)))
    for gold, predicted in ((once, twice), (twice, once)):
        report = evaluate([gold], [predicted])
        assert counts(report, "mention") == counts(report, "document") == (1, 1, 1)
    report = evaluate([doc("a", (0, 7, ("S",)), (12, 16, ("S",)))], [once])
    assert counts(report, "mention") == (1, 1, 2)
    assert counts(report, "document") == (1, 1, 1)


def test_nested_and_discontinuous() -> None:
    gold = doc("a", (0, 16, ("A",)), (0, 7, ("B",)))
    predicted = doc("a", (0, 16, ("B",)), (0, 7, ("B",)))
    assert counts(evaluate([gold], [predicted]), "mention") == (1, 2, 2)
    assert counts(evaluate([gold], [predicted]), "document") == (1, 1, 2)
    parts = Document("a", TEXT, mentions=(Mention(0, 16, parts=(Span(0, 3), Span(9, 16)), concepts=("A",)),))
    assert counts(evaluate([gold], [parts]), "mention") == (1, 1, 2)  # the hull is compared


def test_empty() -> None:
    nothing = evaluate([], [])
    assert (nothing.documents, nothing["mention"].f1, nothing["mention"].precision) == (0, 1.0, 1.0)
    silent = evaluate([Document("a", TEXT)], [doc("a")])
    assert counts(silent, "mention") == (0, 0, 0)
    missed = evaluate([doc("a", (0, 7, ("S",)))], [doc("a")])["mention"]
    assert (missed.precision, missed.recall, missed.f1) == (0, 0, 0)
    invented = evaluate([doc("a")], [doc("a", (0, 7, ("S",)))])["mention"]
    assert (invented.precision, invented.recall, invented.f1) == (0, 0, 0)
    assert Counts(5, 5, 5).f1 == 1


def test_retired_ids_are_their_successors(kb: KnowledgeBase) -> None:
    gold = [doc("a", (0, 7, ("HP:0009998", "HP:0009997", "NO:1")), source="gold")]
    predicted = [doc("a", (0, 7, ("HP:0001250", "HP:0009997", "NO:1")))]
    assert counts(evaluate(gold, predicted), "mention") == (2, 3, 3)
    assert counts(evaluate(gold, predicted, kb=kb), "mention") == (3, 3, 3)
    assert counts(evaluate(gold, predicted, kb=kb), "document") == (3, 3, 3)
    both = [doc("a", (0, 7, ("HP:0009998", "HP:0009999", "HP:0001250")))]
    assert counts(evaluate(gold, both, kb=kb), "mention") == (1, 1, 3)


def test_documents_that_do_not_belong_together() -> None:
    a, b = doc("a"), doc("b")
    cases: list[tuple[list[Document], list[Document], str]] = [
        ([a, b], [a], "1 documents are not among the predicted ones: 'b'"),
        ([a], [a, b], "1 documents are not among the gold ones: 'b'"),
        ([a, a], [a], "gold document 'a' stands twice"),
        ([a], [a, a], "predicted document 'a' stands twice"),
        ([a], [Document("a", TEXT + " ")], "1 documents have another text on the other side: 'a'"),
        ([doc(str(i)) for i in range(7)], [], "7 documents .*: '0', '1', '2', '3', '4', …$"),
        ([doc(str(i)) for i in range(5)], [], "'3', '4'$"),
        ([a], [doc("a", (0, 7, ("S",)), source="gold")], "1 predicted documents hold gold mentions.*: 'a'"),
    ]
    for gold, predicted, message in cases:
        with pytest.raises(MismatchError, match=message):
            evaluate(gold, predicted)
