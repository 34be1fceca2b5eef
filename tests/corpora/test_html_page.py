"""The page that people read, read back: what it holds is what was written, other pages are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import documents

from linnet.corpora import FORMATS, read, write
from linnet.corpora.conversion_losses import kept
from linnet.corpora.html import write_html
from linnet.data import Candidates, Document, Mention, Span, by_position
from linnet.errors import FormatError


@pytest.mark.slow
@given(docs=st.lists(documents(), max_size=3))
def test_what_the_page_holds_is_read_back(docs: list[Document], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "o.html"
    seen = [replace(doc, sentences=None, abbreviations=None, reviewed=None) for doc in docs]  # () is counted as nothing
    held = [kept(doc, FORMATS["html"].holds) for doc in seen]
    assert write(held, path) == len(docs)
    assert list(read(path)) == [replace(doc, mentions=ordered(doc.mentions)) for doc in held]


def ordered(mentions: tuple[Mention, ...] | None) -> tuple[Mention, ...] | None:
    """Return mentions as the page has them: in reading order."""
    return None if mentions is None else by_position(mentions)


def test_probabilities_are_whole(tmp_path: Path) -> None:
    mentions = tuple(Mention(i, i + 1, probability=p) for i, p in enumerate((1 / 3, 0.99999999, 1e-9, 0.0)))
    write([Document("1", "Fits.", mentions=mentions)], tmp_path / "o.html")
    assert next(read(tmp_path / "o.html")).mentions == mentions


def test_the_page_of_link_is_read_back(tmp_path: Path) -> None:
    candidates = Candidates(np.full(2, -1), np.array([0.5, 0.25]), ids=("MESH:D052177", None), labels=("Cysts", None))
    mention = Mention(
        2, 13, parts=(Span(2, 7), Span(8, 13)), concepts=("MESH:D052177",), probability=0.5, candidates=candidates
    )
    doc = Document("</script>", "𝒳-renal cysts <b>", mentions=(mention,))
    with (tmp_path / "o.html").open("w") as page:
        write_html([doc], page, kb=None, title="Notes", notice=["Pipeline: ngram"])
    [out] = read(tmp_path / "o.html")
    [found] = out.mentions or ()
    assert replace(out, mentions=()) == replace(doc, mentions=())
    assert replace(found, candidates=None) == replace(mention, candidates=None)
    assert found.candidates is not None
    assert (found.candidates.ids, found.candidates.labels) == (candidates.ids, candidates.labels)


def with_member(key: str, value: str) -> Callable[[str], str]:
    return lambda page: page.replace('"s":[[0,4]]', f'"{key}":{value},"s":[[0,4]]')


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda page: "<!doctype html><p>A note.", "is no page that Linnet wrote, or is cut off"),
        (lambda page: page[: page.index('id="concepts"')], "is cut off"),
        (lambda page: page.replace('"text":"', '"text":7,"t":"'), "text: expected a text, found 7"),
        (lambda page: page.replace('"s":[[0,4]]', '"s":[[0,9]]'), r"mentions\[0\].s\[0\]: expected start and end"),
        (lambda page: page.replace('"s":[[0,4]]', '"o":"me","s":[[0,4]]'), "source 'me' is none of"),
        (lambda page: page.replace('"s":[[0,4]]', '"s":[[0,4]'), "this document is damaged"),
        *(
            (with_member("p", value), r"mentions\[0\].p: expected a finite number")
            for value in ('"x"', "[1]", "{}", "true")
        ),
        (with_member("p", "2"), "probability 2.0 is not between 0 and 1"),
        (with_member("x", '[["a",{}]]'), r"mentions\[0\].x\[0\]\[1\]: expected a finite number, found {}"),
        (with_member("x", "[[1,0.5]]"), r"x\[0\]\[0\]: expected a text, found 1"),
        (with_member("x", '[["a",0.5,7]]'), r"x\[0\]\[2\]: expected a text, found 7"),
        (with_member("x", '[["a",1e39]]'), r"x\[0\]\[1\]: expected a score up to 3.4e\+38, found 1e\+39"),
        (with_member("x", '[["a"]]'), r"x\[0\]: expected id, score and perhaps label of a candidate"),
        (with_member("p", "[" * 800 + "]" * 800), "recursion|expected a finite number"),
    ],
)
def test_faults(tmp_path: Path, change: object, problem: str) -> None:
    path = tmp_path / "o.html"
    write([Document("1", "Fits.", mentions=(Mention(0, 4),))], path)
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(FormatError, match=problem):
        list(read(path))


def test_pages_in_a_folder_are_read_only_when_asked_for(tmp_path: Path) -> None:
    write([Document("1", "Fits.")], tmp_path / "o.html")
    write([Document("2", "Fits.")], tmp_path / "o.jsonl")
    assert [doc.id for doc in read(tmp_path)] == ["2"]
    assert [doc.id for doc in read(tmp_path, format="html")] == ["1"]
