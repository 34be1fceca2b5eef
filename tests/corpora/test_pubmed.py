"""PubMed XML: titles and sections as passages, and XML that means harm."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from linnet.corpora import pubmed, read
from linnet.data import Document, Passage
from linnet.errors import FormatError

CITATION = """<MedlineCitation><!-- c --><PMID Version="1">{id}</PMID><Article>
<ArticleTitle>A  <i>title</i> &amp; H<sub>2</sub>O<!-- not text --><?pi not text?>.</ArticleTitle>
<Abstract><AbstractText Label="AIM" NlmCategory="OBJECTIVE">To
see.</AbstractText><AbstractText> </AbstractText><AbstractText>Seen.</AbstractText>
<CopyrightInformation>(c)</CopyrightInformation></Abstract></Article>
<OtherAbstract><AbstractText>Autre.</AbstractText></OtherAbstract>
<CommentsCorrectionsList><CommentsCorrections><PMID>1</PMID></CommentsCorrections></CommentsCorrectionsList>
</MedlineCitation>"""


def made(folder: Path, content: str | bytes) -> Path:
    path = folder / "p.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("wrapped", [True, False])
def test_citations(tmp_path: Path, wrapped: bool) -> None:
    one, two = (CITATION.format(id=id) for id in ("11", "12"))
    if wrapped:
        references = "<PubmedData><ReferenceList/></PubmedData>"
        one, two = (f"<PubmedArticle>{body}{references}</PubmedArticle>" for body in (one, two))
    content = f"<Set>{one}{two}<DeleteCitation><PMID>3</PMID></DeleteCitation></Set>"
    docs = list(pubmed.read(made(tmp_path, content)))
    assert [doc.id for doc in docs] == ["11", "12"]
    assert docs[0] == Document(
        "11",
        "A title & H2O.\nTo see.\nSeen.",
        passages=(
            Passage(0, 14, "title"),
            Passage(15, 22, "abstract", {"label": "AIM", "category": "OBJECTIVE"}),
            Passage(23, 28, "abstract"),
        ),
    )


def test_title_only_books_and_nothing(tmp_path: Path) -> None:
    content = """<Set><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>T</ArticleTitle></Article></MedlineCitation>
<PubmedBookArticle><BookDocument><PMID>2</PMID><ArticleTitle>B</ArticleTitle><Abstract><AbstractText>X</AbstractText>
</Abstract></BookDocument></PubmedBookArticle><MedlineCitation><PMID>3</PMID></MedlineCitation></Set>"""
    assert [(doc.id, doc.text) for doc in pubmed.read(made(tmp_path, content))] == [
        ("1", "T"),
        ("2", "B\nX"),
        ("3", ""),
    ]


def test_other_encodings_of_xml(tmp_path: Path) -> None:
    content = (
        '<?xml version="1.0" encoding="{}"?><S><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>é</ArticleTitle>'
    )
    content += "</Article></MedlineCitation></S>"
    for encoding in ("iso-8859-1", "utf-16"):
        assert next(pubmed.read(made(tmp_path, content.format(encoding).encode(encoding)))).text == "é"


BOMB = "<!DOCTYPE S [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)
BODY = "<S{}><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>{}</ArticleTitle></Article></MedlineCitation></S>"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (BOMB + "]>" + BODY.format("", "&j;"), "declares XML entities"),
        (BOMB + "]>" + BODY.format(" x='&j;'", ""), "XML"),
        ("<!DOCTYPE S [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>" + BODY.format("", "&a;"), "declares XML entities"),
        (
            "<!DOCTYPE S [<!ENTITY % p SYSTEM 'http://127.0.0.1:9/'> %p;]>" + BODY.format("", ""),
            "declares XML entities",
        ),
        (BODY.format("", "&undeclared;"), "no well-formed XML"),
        (BODY.format("", "T")[:-4], "no well-formed XML"),
        ("", "no well-formed XML"),
        ("just words", "no well-formed XML"),
        ("<html/>", "holds no citation"),
        ("<S>\n<MedlineCitation/></S>", "this citation has no PMID"),
        (b"<S>\x00</S>", "no well-formed XML"),
        (gzip.compress(BODY.format("", "T").encode(), mtime=0)[:-9], "truncated"),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(pubmed.read(made(tmp_path, content)))


def test_faults_name_their_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        list(pubmed.read(made(tmp_path, "<S>\n<MedlineCitation/></S>")))
    assert caught.value.line == 2
    with pytest.raises(FormatError) as caught:
        list(pubmed.read(made(tmp_path, "<S>\n\n</T>")))
    assert caught.value.line == 3


@pytest.mark.data
def test_medline_sample() -> None:
    if "LINNET_DATA" not in os.environ:
        pytest.skip("set LINNET_DATA to the folder with the real corpora")
    docs = list(read(Path(os.environ["LINNET_DATA"]) / "pubmed"))
    assert len(docs) == 604
    assert sum(any(passage.kind == "abstract" for passage in doc.passages) for doc in docs) == 526
    assert sum(passage.kind == "abstract" for doc in docs for passage in doc.passages) > 1_300
    for doc in docs:
        assert "\n".join(doc.text[p.start : p.end] for p in doc.passages) == doc.text
