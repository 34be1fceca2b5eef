"""What notebooks show of documents: the page, whole and safe, in a frame."""

from __future__ import annotations

from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest

import linnet
from linnet.corpora.html import write_html
from linnet.data import Candidates, Concept, Document, Mention, Name
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline.pipeline import Linked

ATTACK = "</iframe><script>alert(1)</script>\" ' &quot; <b onclick=x> fits \x00 \ud800 é"


class Frame(HTMLParser):
    """The tags of a drawing, and the attributes of its frame."""

    def __init__(self, drawn: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.frame: dict[str, str | None] = {}
        self.feed(drawn)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.frame = dict(attrs) if tag == "iframe" else self.frame


@pytest.fixture
def link(kb: KnowledgeBase, tmp_path: Path) -> linnet.Pipeline:
    """A pipeline whose knowledge base no other test opens: documents alone find theirs by its version."""
    concepts = [*kb.concepts(), Concept("OWN:1", (Name("Notebook"),))]
    own = build(concepts, tmp_path / "own.kb", sources=[{"vocabulary": "test"}])
    return linnet.load("dictionary", kb=own)


def test_it_is_the_page_of_the_command(link: linnet.Pipeline) -> None:
    docs = link("No fits.")
    page = StringIO()
    write_html(docs, page, kb=link.kb, title=docs[0].id)
    for drawn in (docs._repr_html_(), docs[0]._repr_html_(), linnet.html(list(docs)), linnet.html(docs, kb=link.kb)):  # type: ignore[attr-defined]
        frame = Frame(drawn)
        assert frame.tags == ["div", "p", "iframe"]
        assert frame.frame["srcdoc"] == page.getvalue()
        assert "allow-same-origin" not in str(frame.frame["sandbox"])
        assert '"n":"Seizure"' in str(frame.frame["srcdoc"])
        assert len(drawn) < 65_000
    assert "1 mentions" in docs._repr_html_()  # type: ignore[attr-defined]


def test_no_text_becomes_markup(link: linnet.Pipeline) -> None:
    doc = link(Document('<b>"id', ATTACK))[0]
    drawn = linnet.html([doc, doc])
    assert drawn.isascii()
    assert Frame(drawn).tags == ["div", "p", "iframe"]
    inner = Frame(str(Frame(drawn).frame["srcdoc"]))
    assert "b" not in inner.tags
    assert inner.tags.count("script") == 4, "two documents, the concepts, and the page's own"


def test_documents_of_nobody_are_drawn_too() -> None:
    rows = Mention(0, 4, concepts=("X:1",), candidates=Candidates.of({7: 0.5}, "another"))
    doc = Document("1", "Fits.", mentions=(rows, Mention(0, 5)))
    assert "X:1" in str(Frame(linnet.html(doc)).frame["srcdoc"])
    assert Frame(linnet.html([])).tags == ["div", "p", "iframe"]
    assert Frame(linnet.html(Document.of(""))).tags == ["div", "p", "iframe"]


def test_another_knowledge_base_is_refused(link: linnet.Pipeline) -> None:
    other = Document("1", "Fits.", mentions=(Mention(0, 4, candidates=Candidates.of({0: 0.5}, "another")),))
    with pytest.raises(DataError, match="link again"):
        linnet.html(other, kb=link.kb)


def test_of_many_documents_the_first_are_drawn(link: linnet.Pipeline) -> None:
    docs = link([f"Seizures of number {number}." for number in range(51)])
    assert isinstance(docs, Linked)
    drawn = docs._repr_html_()
    assert "The first 50 of 51 documents" in drawn
    assert "number 49." in drawn
    assert "number 50." not in drawn
    assert "number 50." in linnet.html(docs)
    assert "documents; linnet" not in Linked(docs[:50], docs.concepts)._repr_html_()
