from __future__ import annotations

import csv
import io
import json

from linnet.evaluate import About, Figure, Report
from linnet.evaluate.page import write_page
from linnet.evaluate.render import caption, tables, to_csv, to_json, to_markdown
from linnet.evaluate.report import BY_TYPE, Comparison
from linnet.evaluate.rows import DETAILS, REPORTS, PageTable, put_rows


def report(system: str = "a", value: float = 0.5, corpus: str = "c:dev") -> Report:
    figure = Figure(value=value, low=value - 0.1, high=value + 0.1, above=5, below=10)
    measures = {f"{name}.accuracy@1": figure for name in ("all", "in-kb")} | {
        f"strict.{part}": figure for part in ("precision", "recall", "f1")
    }
    return Report(about=About(system=system, corpus=corpus), documents=3, measures=measures, slices={"nested": figure})


def test_one_system_shows_precision_and_recall() -> None:
    found = {table.title: table for table in tables([report()])}
    assert found["linking of gold mentions (mentions not found count as wrong), protocol in-kb"].rows == (
        ("accuracy@1", "0.500 [0.400, 0.600]"),
    )
    assert found["end to end, micro-averaged"].columns == ("", "precision", "recall", "F1")


def test_several_systems_stand_side_by_side() -> None:
    comparison = Comparison(measure="strict.f1", a="a", b="b", difference=-0.25, test="t", p=0.00001, adjusted=0.02)
    found = {table.title: table for table in tables([report(), report("b", 0.75)], [comparison])}
    assert found["end to end, micro-averaged"].rows[0][1:] == ("0.500 [0.400, 0.600]", "0.750 [0.650, 0.850]")
    assert found["differences"].rows == (("a − b", "strict.f1", "-0.250", "t", "<0.0001", "0.0200"),)
    assert tables([]) == []


def test_nothing_end_to_end_of_a_system_that_was_given_the_mentions() -> None:
    one = Figure(value=1.0)
    spans = {"recognition.strict.f1": one, f"{BY_TYPE}Disease.recall": one, f"{BY_TYPE}Disease.f1": one}
    given = report("given").model_copy(update={"measures": {**report().measures, **spans}})
    alone, both = tables([given]), tables([given, report("b")])
    assert [table.title.partition(" ")[0] for table in alone] == ["linking"]
    assert [table.title.partition(" ")[0] for table in both] == ["linking", "end"]
    assert both[1].rows[0][1:] == ("–", "0.500 [0.400, 0.600]")
    assert "given was given the gold mentions (or found exactly those)" in caption([given, report("b")])
    assert "strict.f1" in to_json([given])


def test_no_knowledge_base_is_said() -> None:
    known = report().model_copy(update={"about": About(kb="mesh", kb_version="1f0c")})
    coverage = {"all.coverage": Figure(value=1.0)}
    found = [one.model_copy(update={"measures": {**one.measures, **coverage}}) for one in (report(), known)]
    assert ["known to the KB, of all" in [row[0] for row in tables([one])[0].rows] for one in found] == [False, True]
    assert ["every concept counts as known" in caption([one]) for one in found] == [True, False]


def test_few_documents_are_said_with_what_is_drawn_from_them() -> None:
    drawn, many = report(), report().model_copy(update={"documents": 20})
    alone = report().model_copy(update={"about": About(samples=0)})
    assert ["under 20 documents are few" in caption([one]) for one in (drawn, many, alone)] == [True, False, False]
    page = io.StringIO()
    write_page([drawn], page)
    assert all("under 20 documents are few" in text for text in (to_markdown([drawn]), page.getvalue()))


def test_csv_has_every_figure_and_runs_nothing() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([report("=cmd()")]))))
    assert len(rows) == 6
    assert rows[0]["system"] == "'=cmd()"
    assert {row["kind"] for row in rows} == {"measure", "slice"}
    assert float(rows[0]["value"]) == 0.5


def test_json_of_several_systems() -> None:
    both = json.loads(to_json([report(), report("b")]))
    assert [system["about"]["system"] for system in both["systems"]] == ["a", "b"]
    assert Report.of_json(to_json([report()])) == report()


def test_markdown_cells_hold_any_text() -> None:
    text = to_markdown([report("a|b <script>\n# c")])
    assert "<script>" not in text
    assert text.splitlines()[0] == "# a\\|b &lt;script> # c"
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths <= {3, 4, 5}


def test_rows_are_replaced_added_and_sorted() -> None:
    page = put_rows("# Benchmarks\n", [report("b"), report("a")])
    assert page.index("`a`") < page.index("`b`")
    page = page.replace(REPORTS.end, REPORTS.end + "\n\nAfter.")
    changed = put_rows(page, [report("b", 0.7)])
    assert changed.startswith("# Benchmarks\n\n" + REPORTS.begin)
    assert changed.rstrip().endswith("After.")
    assert "0.700" in changed
    assert changed.count("`b`") == 1
    assert "`a`" in changed
    one, other = put_rows(put_rows("", [report("a")]), [report("b")]), put_rows("", [report("b"), report("a")])
    assert one == other
    assert put_rows("", [report("x|`y")]).count("`x/'y`") == 1


def test_a_second_table_holds_the_measures_of_papers() -> None:
    measures = {"in-kb.accuracy@1": 0.5, "in-kb.map": 0.75, "strict.f1": 0.4, "overlap-maxmax.f1": 0.6}
    made = Report(
        about=About(system="x", corpus="c:dev"), documents=1, training_seconds=120.0,
        measures={name: Figure(value=value) for name, value in measures.items()},
    )  # fmt: skip
    page = put_rows("", [made], detailed=True)
    assert page.index(REPORTS.begin) < page.index(DETAILS.begin)
    row = page[page.index(DETAILS.begin) :].splitlines()[3]
    assert row == "| `x` | `c:dev` | 0.500 | 0.750 | – | – | – | – | – | – | 0.400 | – | 0.600 | – | 2 min |"
    given = made.model_copy(update={"measures": {**made.measures, "recognition.strict.f1": Figure(value=1.0)}})
    assert "0.400" not in put_rows("", [given], detailed=True).split(DETAILS.begin)[1]


def test_rows_about_the_same_are_replaced_together() -> None:
    table = PageTable(by="it", columns=("recipe", "without", "@1"), texts=2, key=1)
    page = table.put("", [("b", "names", "0.5"), ("b", "heads", "0.7"), ("a", "x|y", "0.1")])
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert lines == ["| `a` | x/y | 0.1 |", "| `b` | names | 0.5 |", "| `b` | heads | 0.7 |"]
    changed = table.put(page, [("b", "document", "0.3")])
    assert [line for line in changed.splitlines() if line.startswith("| `")] == [lines[0], "| `b` | document | 0.3 |"]
    assert put_rows(page, [report("b")]).startswith(page.rstrip())  # another command's table
