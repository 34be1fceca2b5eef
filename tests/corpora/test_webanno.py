"""WebAnno TSV 3.3 in INCEpTION's layout: stacked, nested, across sentences, escaped, beyond the BMP."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from linnet.corpora import read
from linnet.data import Mention, Span
from linnet.errors import FormatError, LinnetWarning

NER = "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value"
SPANS = "#T_SP=webanno.custom.Span|value"


def given_as(folder: Path, *lines: str, header: str = NER) -> Path:
    path = folder / "note.tsv"
    path.write_text("\n".join(["#FORMAT=WebAnno TSV 3.3", header, "", "", *lines, ""]), encoding="utf-8")
    return path


def test_what_is_read(tmp_path: Path) -> None:
    [doc] = read(
        given_as(
            tmp_path,
            "#Text=Renal 🫘 cysts .",
            "1-1\t0-5\tRenal\thttp://purl.obolibrary.org/obo/HP_0000107[1]|*[2]\tDisease[1]|Organ[2]\t",
            "1-2\t6-8\t🫘\thttp://purl.obolibrary.org/obo/HP_0000107[1]|*[2]\tDisease[1]|Organ[2]\t",
            "1-3\t9-14\tcysts\thttp://purl.obolibrary.org/obo/HP_0000107[1]\tDisease[1]\t",
            "1-4\t15-16\t.\t_\t_\t",
            "",
            "#Text=After\\tlithium .",
            "2-1\t17-22\tAfter\t_\t_\t",
            "2-2\t23-30\tlithium\tD008094\tDrug\\_x\t",
            "2-2.1\t23-25\tli\t*\t*\t",
            "2-3\t31-32\t.\t_\t_\t",
        )
    )
    assert (doc.id, doc.text) == ("note", "Renal 🫘 cysts .\nAfter\tlithium .")
    assert doc.sentences == (Span(0, 15), Span(16, 31))
    layer = {"layer": "NamedEntity"}
    assert doc.mentions == (
        Mention(0, 13, types=("Disease",), source="gold", concepts=("HP:0000107",), meta=layer),
        Mention(0, 7, types=("Organ",), source="gold", meta=layer),
        Mention(22, 29, types=("Drug_x",), source="gold", concepts=("MESH:D008094",), meta=layer),
        Mention(22, 24, types=("NamedEntity",), source="gold", meta=layer),
    )


def test_addresses_become_curies(tmp_path: Path) -> None:
    address = "https://meshb.nlm.nih.gov/record/ui?ui=D005334"
    [doc] = read(given_as(tmp_path, "#Text=Fever", f"1-1\t0-5\tFever\t{address}\tSign\t"))
    assert [mention.concepts for mention in doc.mentions or ()] == [("MESH:D005334",)]


def test_an_annotation_of_several_sentences(tmp_path: Path) -> None:
    lines = ("#Text=He loves .", "1-1\t0-2\tHe\t_\t", "1-2\t3-8\tloves\tX[4]\t", "1-3\t9-10\t.\tX[4]\t", "")
    more = ("#Text=She does", "2-1\t11-14\tShe\tX[4]\t", "2-2\t15-19\tdoes\tX|Y\t")
    [doc] = read(given_as(tmp_path, *lines, *more, header=SPANS))
    assert [(doc.surface(mention), mention.types) for mention in doc.mentions or ()] == [
        ("loves .\nShe", ("X",)),
        ("does", ("X",)),
        ("does", ("Y",)),
    ]


def test_backslashes_before_what_divides(tmp_path: Path) -> None:
    lines = ("#Text=a b c d", "1-1\t0-1\ta\tA\\\\[1]\t", "1-2\t2-3\tb\tA\\\\[1]|B\\\\|C\\|\\[2]\t")
    [doc] = read(given_as(tmp_path, *lines, "1-3\t4-5\tc\tD\\\t", "1-4\t6-7\td\tE\\\\\\[1]\t", header=SPANS))
    assert [(doc.surface(mention), mention.types) for mention in doc.mentions or ()] == [
        ("a b", ("A\\",)),
        ("b", ("B\\",)),
        ("b", ("C|[2]",)),
        ("c", ("D\\",)),
        ("d", ("E\\[1]",)),
    ]


@pytest.mark.parametrize("token", ["[a\\b]", "\\[a\\\\b\\]"])
def test_tokens_may_be_escaped_or_not(tmp_path: Path, token: str) -> None:
    lines = ("#Text= \\[a\\\\b\\] \\\\", f"1-1\t1-6\t{token}\tX\t", "1-2\t7-8\t\\\tY\t")
    [doc] = read(given_as(tmp_path, *lines, header=SPANS))
    assert [doc.surface(mention) for mention in doc.mentions or ()] == ["[a\\b]", "\\"]


def test_gaps_between_sentences_are_limited_in_all(tmp_path: Path) -> None:
    begins = [i * 600_000 for i in range(3)]
    lines = [line for at in begins for line in ("#Text=a", f"{at}-1\t{at}-{at + 1}\ta\t_\t")]
    [doc] = read(given_as(tmp_path, *lines[:4], header=SPANS))
    assert len(doc.text) == 600_001
    with pytest.raises(FormatError, match="begins at 1,200,000: expected gaps of at most 1,048,576 units") as caught:
        list(read(given_as(tmp_path, *lines, header=SPANS)))
    assert caught.value.line == 10


def test_sentences_of_several_lines_and_blanks_before(tmp_path: Path) -> None:
    lines = ("#Text=This is", "#Text=a test", "1-1\t1-5\tThis\t_\t", "1-2\t6-8\tis\tX[1]\t", "1-3\t9-10\ta\tX[1]\t")
    [doc] = read(given_as(tmp_path, *lines, "1-4\t11-15\ttest\t_\t", header=SPANS))
    assert (doc.text, [doc.surface(mention) for mention in doc.mentions or ()]) == ("\nThis is\na test", ["is\na"])


def test_other_layers(tmp_path: Path) -> None:
    header = "\n".join(
        [
            "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue|coarseValue",
            "#T_SP=webanno.custom.Finding|",
            "#T_SP=webanno.custom.Host|ROLE_webanno.custom.Host:links_webanno.custom.Link|uima.tcas.Annotation|note",
            "#T_RL=webanno.custom.Relation|BT_webanno.custom.Finding",
        ]
    )
    lines = (
        "#Text=Renal cysts",
        "1-1\t0-5\tRenal\tJJ\tADJ\t*\tpart\t1-2\tmild\t_\t",
        "1-1.1\t0-0\t\t_\t_\t*\t_\t_\t_\t_\t",
    )
    path = given_as(tmp_path, *lines, "1-2\t6-11\tcysts\tNN\tNOUN\t_\t_\t_\t_\t1-1\t", header=header)
    with pytest.warns(
        LinnetWarning, match=r"out: annotations of POS \(2\), annotations of Relation \(1\), annotations of no .*slots"
    ):
        [doc] = read(path)
    assert doc.mentions == (
        Mention(0, 5, types=("Finding",), source="gold", meta={"layer": "Finding"}),
        Mention(0, 5, types=("Host",), source="gold", meta={"layer": "Host", "note": "mild"}),
    )


def test_without_annotations(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [doc] = read(given_as(tmp_path, "#Text=Well", "1-1\t0-4\tWell", header=""))
    assert (doc.text, doc.mentions) == ("Well", ())


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        (["1-1\t0-4\tWell\t_\t"], 5, "expected #Text= before the tokens"),
        (["#Text=Well", "1-1\t0-4\tWell\t_\t_\t"], 6, "has 2 columns behind the token, the header names 1"),
        (["#Text=Well", "1-1\t0-9\tWell\t_\t"], 6, "the offsets 0-9 are not in the sentence, 0-4; they count UTF-16"),
        (["#Text=Well", "Well"], 6, "expected a token such as 1-1"),
        (
            ["#Text=a", "1-1\t0-1\ta\t_\t", "#Text=b", "2-1\t0-1\tb\t_\t"],
            8,
            "the sentence begins at 0, what stands before",
        ),
        (
            ["#Text=😀 Fever rose", "1-1\t0-1\t😀\t_\t", "1-2\t2-7\tFever\tX\t"],
            7,
            "the offsets 2-7 say ' Feve', the token 'Fever'; offsets count UTF-16 units",
        ),
        (["#Text=No  fever .", "1-1\t0-2\tNo\t_\t", "1-2\t3-8\tfever\tX\t"], 7, "say ' feve', the token 'fever'"),
        (["#Text=No fever", "1-2\t3-8\tfever\t_\t", "1-2.1\t4-5\tf\tX\t"], 7, "say 'e', the token 'f'"),
        (["#Text=🫘", "1-1\t0-2\t🫘\t_\t", "1-1.1\t0-1\t\tX\t"], 7, "the offsets 0-1 are inside a character"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, lines: list[str], line: int, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        list(read(given_as(tmp_path, *lines, header=SPANS)))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("content", "problem"),
    [("#FORMAT=WebAnno TSV 2", "expected #FORMAT=WebAnno TSV 3.3"), ("#FORMAT=WebAnno TSV 3.3\n", "holds no document")],
)
def test_other_files(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "x.tsv").write_text(content)
    with pytest.raises(FormatError, match=problem):
        list(read(tmp_path / "x.tsv", format="webanno"))
