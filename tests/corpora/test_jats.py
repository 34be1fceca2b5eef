"""JATS articles: passages with their titles, tables and figures behind them, what is no text left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.corpora import read
from linnet.errors import FormatError

ARTICLE = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving and Interchange DTD v1.0 20120330//EN" "x.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="research-article"><front><article-meta>
<article-id pub-id-type="pmid">23</article-id><article-id pub-id-type="pmc">35</article-id>
<title-group><article-title>Renal <italic>cysts</italic> and
lithium &#x1F9EC;</article-title></title-group>
<abstract><sec><title>Background</title><p>Cysts occur.</p></sec>
<sec><title>Results</title><p>They grew.</p></sec></abstract>
</article-meta></front><body>
<p>Before all sections<xref ref-type="bibr" rid="b1">[1]</xref>.</p>
<sec sec-type="methods"><label>1.</label><title>Methods</title>
<p>Given<sup><xref ref-type="bibr" rid="b1">2</xref></sup> to
<list><list-item><p>rats</p></list-item><list-item><p>mice</p></list-item></list>;
x<sub>2</sub><tex-math>$x$</tex-math>.</p>
<sec><title>Statistics</title><p>A test<fn><p>A footnote.</p></fn>.
<table-wrap><label>Table 1</label><caption><p>Doses</p></caption><table><tr><th>Drug</th><th>mg</th></tr>
<tr><td>Lithium</td><td>5</td></tr></table><table-wrap-foot><fn><p>Daily.</p></fn></table-wrap-foot></table-wrap></p></sec>
<fig><label>Figure 1</label><caption><title>Cysts.</title><p>Grown.</p></caption><graphic xlink:href="x"/></fig></sec>
</body><back><ref-list><ref id="b1"><mixed-citation>Somebody 2000</mixed-citation></ref></ref-list></back></article>
"""


def given_as(folder: Path, content: str, name: str = "f.nxml") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["f.nxml", "f.xml"])
def test_what_is_read(tmp_path: Path, name: str) -> None:
    [doc] = read(given_as(tmp_path, ARTICLE, name))
    assert doc.id == "PMC35"
    assert doc.meta["ids"] == {"pmid": "23", "pmc": "35"}
    assert doc.meta["references"] == ({"id": "b1", "text": "Somebody 2000"},)
    assert [(p.kind, p.meta.get("section", ""), doc.text[p.start : p.end]) for p in doc.passages] == [
        ("title", "", "Renal cysts and lithium 🧬"),
        ("abstract", "Background", "Cysts occur."),
        ("abstract", "Results", "They grew."),
        ("section", "", "Before all sections[1]."),
        ("section", "Methods", "Given to\nrats\nmice\n; x2."),
        ("section", "Methods / Statistics", "A test."),
        ("table", "", "Table 1 Doses\nDrug\tmg\nLithium\t5"),
        ("figure", "", "Figure 1 Cysts.\nGrown."),
    ]
    assert doc.passages[4].meta["category"] == "methods"
    assert doc.text.count("\n") == 13
    assert doc.mentions is None


def test_articles_in_a_name_space_and_several(tmp_path: Path) -> None:
    article = '<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.0/"><body><p>A {}</p></body></article>'
    two = "".join(article.format(number) for number in (1, 2))
    assert [doc.text for doc in read(given_as(tmp_path, f"<pmc-articleset>{two}</pmc-articleset>"))] == ["A 1", "A 2"]
    [doc] = read(given_as(tmp_path, article))
    assert (doc.id, doc.meta) == ("f", {})


CITED = '<xref ref-type="bibr" rid="b">{}</xref>'
ONE, TWO = CITED.format(1), CITED.format("<sup>2</sup>")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (f"as shown{TWO} here", "as shown here"),
        (f"as shown{TWO}, {TWO}<sup>,</sup>{TWO}, and", "as shown, and"),
        (f"as shown<sup>[{ONE},{ONE}–{ONE}]</sup>.", "as shown."),
        (f"as <sup><bold>{ONE}</bold></sup> shown", "as shown"),
        (f"Ca<sup>2+ {ONE}</sup> in", "Ca2+ in"),
        (f"Ca<sup>{ONE}; 2+</sup> in", "Ca2+ in"),
        (f"SO<sup>(2-),{ONE}</sup>", "SO(2-)"),
        (f"Ca<sup>2<italic>+</italic></sup> of {CITED.format('Smith <sup>3</sup>')}", "Ca2+ of Smith"),
        (f"rats<sup>{ONE}</sup><list><list-item><p>{TWO}mice</p></list-item></list>", "rats\nmice"),
        ('of a disease<xref ref-type="fn" rid="f1">*</xref>, rare', "of a disease, rare"),
        ('rare<sup><xref ref-type="fn">a</xref>,<xref ref-type="fn">b</xref></sup>', "rare"),
        ('see <xref ref-type="fn">footnote 1</xref>', "see footnote 1"),
        (f"in {ONE} and x<sup>2</sup>", "in 1 and x2"),
        ("renal<break/>cysts", "renal cysts"),
    ],
)
def test_citations_and_breaks(tmp_path: Path, written: str, text: str) -> None:
    [doc] = read(given_as(tmp_path, f"<article><body><p>{written}</p></body></article>"))
    assert doc.text == text


ITEMS = "<list><list-item><label>1.</label><p>mitral valve</p></list-item><list-item>prolapse</list-item></list>"
BOX = "<label>Box 1</label><caption><title>Key</title></caption>"
DEFINED = "<def-list><def-item><term>ASD</term><def><p>septal defect</p></def></def-item></def-list>"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("<boxed-text><p>a short</p><p>Stature was normal.</p></boxed-text>", "a short\nStature was normal."),
        (
            f"<boxed-text>{BOX}<sec><title>A</title><p>B</p></sec></boxed-text><p>C</p>",
            "Box 1 Key\nA\nB\nC",
        ),
        (ITEMS, "1. mitral valve\nprolapse"),
        (f"<p>Signs:{ITEMS}and so on</p>", "Signs:\n1. mitral valve\nprolapse\nand so on"),
        ("<verse-group><verse-line>fever</verse-line><verse-line>chills</verse-line></verse-group>", "fever\nchills"),
        (DEFINED, "ASD\nseptal defect"),
        ("<p>He said<disp-quote><p>pain</p><attrib>A. B.</attrib></disp-quote></p>", "He said\npain\nA. B."),
        (
            "<p>Fever <index-term><term>fever</term></index-term> by <code>ls</code> daily.</p>",
            "Fever by ls daily.",
        ),
        (
            "<disp-quote><p>By<disp-formula><label>(1)</label><tex-math/></disp-formula></p><p>Fever.</p></disp-quote>",
            "By (1)\nFever.",
        ),
        ("<p>if<disp-formula>x<label>(1)</label></disp-formula></p><p>holds</p>", "if x (1)\nholds"),
        ("<p>that<disp-formula><label>(1)</label>x</disp-formula>holds</p>", "that (1) x holds"),
    ],
)
def test_what_stands_on_lines_of_its_own(tmp_path: Path, written: str, text: str) -> None:
    [doc] = read(given_as(tmp_path, f"<article><body><sec>{written}</sec></body></article>"))
    assert doc.text == text


def test_tables_in_tables_and_supplements_are_read_once(tmp_path: Path) -> None:
    listed = "<list><list-item>one</list-item><list-item>two</list-item></list>"
    inner = f"<table><tr><td>in</td><td>{listed}</td></tr></table>"
    table = f"<table-wrap><label>T1</label><table><tr><td>out</td><td>{inner}</td></tr></table></table-wrap>"
    supplement = f"<supplementary-material><label>S1</label>{table}</supplementary-material>"
    [doc] = read(given_as(tmp_path, f"<article><body><p>A.</p>{supplement}</body></article>"))
    found = [(passage.kind, doc.text[passage.start : passage.end]) for passage in doc.passages]
    assert found == [("section", "A."), ("supplement", "S1"), ("table", "T1\nout\tin one two")]


def test_appendices_are_read_and_letters_are_not(tmp_path: Path) -> None:
    figure = "<fig><label>{}</label></fig>"
    back = f"<back><app-group><app><p>An appendix.</p>{figure.format(1)}</app></app-group></back>"
    letter = f"<sub-article><body><p>A letter.</p>{figure.format(2)}</body></sub-article>"
    front = f"<front><article-meta><abstract>{figure.format(3)}</abstract></article-meta></front>"
    body = f"<body><p>A text.{figure.format(4)}</p></body><floats-group>{figure.format(5)}</floats-group>"
    [doc] = read(given_as(tmp_path, f"<article>{front}{body}{back}{letter}</article>"))
    assert doc.text == "A text.\nAn appendix.\n3\n4\n1\n5"
    assert [passage.kind for passage in doc.passages][:2] == ["section", "appendix"]


def test_supplements_stand_behind_the_text(tmp_path: Path) -> None:
    supplement = "<supplementary-material><label>S1</label><caption><p>Data.</p></caption></supplementary-material>"
    [doc] = read(given_as(tmp_path, f"<article><body><p>A text.</p>{supplement}</body></article>"))
    found = [(passage.kind, doc.text[passage.start : passage.end]) for passage in doc.passages]
    assert found == [("section", "A text."), ("supplement", "S1 Data.")]


@pytest.mark.parametrize("place", ["back", "floats-group", "floats-wrap"])
def test_figures_and_tables_behind_the_text(tmp_path: Path, place: str) -> None:
    figure = '<fig id="F1"><label>Figure 1</label><caption><p>Mice with fever.</p></caption></fig>'
    table = '<table-wrap id="T1"><label>Table 1</label><table><tr><td>Fever</td></tr></table></table-wrap>'
    objects = f'<sec sec-type="display-objects"><title>Figures and Tables</title>{figure}{table}</sec>'
    [doc] = read(given_as(tmp_path, f"<article><body><p>A text.</p></body><{place}>{objects}</{place}></article>"))
    found = [(passage.kind, doc.text[passage.start : passage.end]) for passage in doc.passages]
    assert found == [("section", "A text."), ("figure", "Figure 1 Mice with fever."), ("table", "Table 1\nFever")]


def test_a_section_whose_title_is_empty_has_that_of_the_one_above(tmp_path: Path) -> None:
    inner = "<sec><title/><p>A.</p><sec><title>Muscle</title><p>B.</p></sec></sec>"
    [doc] = read(given_as(tmp_path, f"<article><body><sec><title>Methods</title>{inner}</sec></body></article>"))
    assert [passage.meta["section"] for passage in doc.passages] == ["Methods", "Methods / Muscle"]


def test_sections_in_reading_order_subtitles_and_kinds_of_abstracts(tmp_path: Path) -> None:
    titles = "<title-group><article-title>Cysts</article-title><subtitle>A review</subtitle></title-group>"
    sections = '<p>Short.</p><sec><title>Aim</title><p>A.</p></sec><sec sec-type="methods"><p>B.</p></sec>'
    front = f'<article-meta>{titles}<abstract abstract-type="graphical">{sections}</abstract></article-meta>'
    body = "<sec><title>1</title><p>C.</p><sec><title>2</title><p>D.</p></sec><p>E.</p><p>F.</p></sec><p>G.</p>"
    [doc] = read(given_as(tmp_path, f"<article><front>{front}</front><body>{body}</body></article>"))
    assert [(p.kind, dict(p.meta), doc.text[p.start : p.end]) for p in doc.passages] == [
        ("title", {}, "Cysts"),
        ("title", {}, "A review"),
        ("abstract", {"category": "graphical"}, "Short."),
        ("abstract", {"category": "graphical", "section": "Aim"}, "A."),
        ("abstract", {"category": "methods"}, "B."),
        ("section", {"section": "1"}, "C."),
        ("section", {"section": "1 / 2"}, "D."),
        ("section", {"section": "1"}, "E.\nF."),
        ("section", {}, "G."),
    ]


def test_characters_that_a_dtd_elsewhere_names(tmp_path: Path) -> None:
    body = "<body><p>TNF-&alpha; &lt;&thinsp;5 &unknown;</p><sec><title>&beta;</title><p>A.</p></sec></body>"
    [doc] = read(given_as(tmp_path, f'<!DOCTYPE article SYSTEM "x.dtd"><article>{body}</article>', "f.xml"))
    assert (doc.text, doc.passages[1].meta["section"]) == ("TNF-α < 5 &unknown;\nA.", "β")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<article><body><p>A</body></article>", "f.nxml:1: no well-formed XML"),
        ('<!DOCTYPE article [<!ENTITY a "b">]><article><body><p>&a;</p></body></article>', "declares XML entities"),
        ("<html><body/></html>", "holds no article"),
        (f"<article><body>{'<p>' * 1500}x{'</p>' * 1500}</body></article>", "nested|well-formed"),
    ],
)
def test_faults(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(read(given_as(tmp_path, content), format="jats"))


def test_prefixes_that_nothing_declares_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nxml"
    path.write_text("<article><front><article-meta/></front><body><p>Renal <ns0:b>cysts</ns0:b>.</p></body></article>")
    with pytest.raises(FormatError, match=r"a\.nxml:1: no well-formed XML"):
        list(read(path, format="jats"))
