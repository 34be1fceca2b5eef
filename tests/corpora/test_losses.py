"""What a conversion drops is what it says it drops: reading back gives the document as announced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.corpora import FORMATS, WRITABLE, fitting, read, write
from linnet.corpora.conversion_losses import KINDS, kept, lost, present
from linnet.corpora.formats import ALL
from linnet.corpora.mentions_csv import read_mentions
from linnet.data import Abbreviation, Candidates, Document, Mention, Passage, Span, by_position
from linnet.errors import DataError, FormatError

WORD = st.sampled_from(["renal", "cysts", "and", "β-cell", "𝒳", "tumour", "of"])
TYPE = st.sampled_from(["Disease", "Chemical"])
ID = st.sampled_from(["MESH:D014262", "OMIM:217000", "UMLS:C0024660", "DBSNP:rs1"])


BARE = {"type": "CID", "args": ({"role": "arg1", "ref": "MESH:D1"}, {"role": "arg2", "ref": "MESH:D2"})}
PAIR = {**BARE, "id": "R1"}
OF_CONCEPTS = [{"role": "drug", "ref": "MESH:D1"}, {"role": "disease", "ref": "MESH:D2"}]
OTHER_RELATIONS: list[dict[str, Any]] = [
    {"type": "CID", "args": OF_CONCEPTS, "id": "R2", "meta": {"sure": "no"}},
    {"type": "CID", "args": [*OF_CONCEPTS, {"role": "dose", "ref": "MESH:D3"}], "id": "R3"},
    {"type": "CID", "args": [{"role": "arg1", "ref": "mesh:D1"}, {"role": "arg2", "ref": "MESH:D2"}], "meta": {}},
    {"type": "7", "args": OF_CONCEPTS, "id": "R4"},
    {"type": "CID", "args": [{"role": "arg1", "ref": "T1"}, {"role": "arg2", "ref": "MESH:D2"}], "id": "R5"},
    {"type": "CID", "id": "R6"},
]

BOTH = [name for name in WRITABLE if FORMATS[name].read]
NEEDS = {"spacy": "spacy", "xlsx": "openpyxl"}  # of other packages


@st.composite
def tame(draw: st.DrawFn) -> Document:
    """A document with everything in it, in a text that every format takes: words, one line a passage."""
    words = [draw(st.lists(WORD, min_size=2, max_size=6)) for _ in range(2)]
    title, abstract = (" ".join(line) for line in words)
    text = f"{title}\n{abstract}"
    borders = [at for at in range(len(text) + 1) if at in (0, len(text)) or " " in text[at - 1 : at + 1]]
    passages = (
        Passage(0, len(title), "title", draw(st.sampled_from([{}, {"section": "T"}]))),
        Passage(len(title) + 1, len(text), "abstract"),
    )
    starts = [at for at in borders if at < len(title) and text[at : at + 1].strip()]
    mentions = [draw(mention(text, starts, title)) for _ in range(draw(st.integers(0, 4)))]
    told = st.lists(st.sampled_from([PAIR, *OTHER_RELATIONS]), max_size=3, unique_by=lambda one: str(one.get("id")))
    meta: dict[str, Any] = {"relations": related} if (related := draw(told)) else {}
    return Document(
        draw(st.sampled_from(["1", "23"])),
        text,
        passages=passages,
        abbreviations=(Abbreviation(Span(0, 1), Span(1, 2)),) if draw(st.booleans()) else None,
        reviewed=(Span(0, 2),) if draw(st.booleans()) else None,
        mentions=tuple(unique(mentions)),
        meta=meta | ({"source": "made"} if draw(st.booleans()) else {}),
    )


def unique(mentions: list[Mention]) -> Iterator[Mention]:
    """Yield mentions in reading order, one for each span: formats order mentions of one span as they like."""
    seen = set()
    for one in sorted(mentions, key=lambda m: (m.start, m.end)):
        if one.span not in seen:
            seen.add(one.span)
            yield one


@st.composite
def mention(draw: st.DrawFn, text: str, starts: list[int], title: str) -> Mention:
    start = draw(st.sampled_from(starts))
    ends = [at for at in range(start + 1, len(title) + 1) if text[at - 1] != " " and text[at] in " \n"]
    end = draw(st.sampled_from(ends))
    cut = text.find(" ", start, end)
    split = cut > 0 and draw(st.booleans())
    candidates = Candidates(np.array([-1]), np.array([0.5]), ids=("MESH:D014262",), kb="v")
    return Mention(
        start,
        end,
        parts=(Span(start, cut), Span(cut + 1, end)) if split else (),
        id=draw(st.sampled_from(["", f"T{start + 1}{end}"])),
        types=draw(st.sampled_from([("Disease",), ("Disease", "Chemical")])),
        source=draw(st.sampled_from(["gold", "user", "pred"])),
        concepts=draw(st.none() | st.lists(ID, max_size=2, unique=True).map(tuple)),
        alternatives=draw(st.sampled_from([(), (("OMIM:217000",),)])),
        candidates=draw(st.sampled_from([None, candidates])),
        probability=draw(st.sampled_from([None, 0.25, 0.1234567890123])),
        signals=draw(st.sampled_from([{}, {"detect": 0.5}])),
        group=draw(st.sampled_from(["", "g"])),
        assertion=draw(st.sampled_from(["", "negated", "family"])),
        meta=draw(st.sampled_from([{}, {"author": "a"}, {"denied": True}, {"author": "a", "denied": True}])),
        terminology=draw(st.sampled_from(["", "hpo"])),
    )


def back(doc: Document, name: str, folder: Path) -> Document:
    """Write a document in a format and read it again."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    if FORMATS[name].write_folder:
        write([doc], folder / "brat", format=name)
        [out] = read(folder / "brat", format=name)
        return out
    path = folder / f"doc{(*FORMATS[name].suffixes, '.x')[0]}"
    write([doc], path, format=name)
    [out] = read_mentions(path, [replace(doc, mentions=None)]) if name == "csv" else read(path, format=name)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(doc=tame())
def test_what_is_read_back_is_what_was_announced(
    name: str, tmp_path_factory: pytest.TempPathFactory, doc: Document
) -> None:
    [announced] = fitting([doc], name, Counter())
    out = back(announced, name, tmp_path_factory.mktemp("x"))
    if name == "conll":  # it cannot but say sentences
        out = replace(out, sentences=None)
    if name in ("html", "xlsx"):  # they have mentions in reading order
        announced = replace(announced, mentions=announced.mentions and by_position(announced.mentions))
    if name in ("brat", "bioc", "bioc_json", "bigbio"):  # a mention without an id is given one
        ids = {m.spans: m.id for m in announced.mentions or ()}
        out = replace(out, mentions=tuple(replace(m, id=ids[m.spans]) for m in out.mentions or ()))
    assert out == announced


@given(doc=tame(), holds=st.frozensets(st.sampled_from(sorted(KINDS))))
def test_kept_documents_lose_nothing_more(doc: Document, holds: frozenset[str]) -> None:
    assert lost(doc, ALL) == Counter()
    assert kept(doc, ALL) is doc
    reduced = kept(doc, holds)
    # what is left of a document has these whatever happens: they are announced, and nothing can be taken away
    always = {"texts", "documents without mentions", "documents not looked at", "mentions not linked", "NIL mentions"}
    assert lost(reduced, holds - always).keys() <= always
    assert present(reduced).keys() <= present(doc).keys() | {"overlapping mentions"} | always


@pytest.mark.parametrize("name", [name for name in BOTH if name != "csv"])
def test_formats_are_found_out(name: str, tmp_path: Path) -> None:
    """Without being told the format, a file or folder is read as what it was written as, each document once."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    mentions = (Mention(0, 5, source="gold", types=("Disease",), concepts=("MESH:D014262",)),)
    docs = [Document(id, "Fever and cough.", mentions=mentions) for id in ("1", "2")]
    place = tmp_path / ("brat" if FORMATS[name].write_folder else f"x{FORMATS[name].suffixes[0]}")
    write([kept(doc, FORMATS[name].holds) for doc in docs], place, format=name)
    out = list(read(place))
    assert [doc.id for doc in out] == ["1", "2"]
    assert [mention.span for doc in out for mention in doc.mentions or ()] == [(0, 5), (0, 5)]


def test_csv_says_that_it_has_no_texts(tmp_path: Path) -> None:
    doc = Document("1", "Fever.", mentions=(Mention(0, 5, source="gold", concepts=("A:x|y", "B\\")),))
    assert lost(doc, FORMATS["csv"].holds) == Counter({"texts": 1})
    write([doc], tmp_path / "x.csv")
    [out] = read_mentions(tmp_path / "x.csv", [replace(doc, mentions=None)])
    assert out == doc
    with pytest.raises(FormatError, match=r"document_text.*convert --texts FOLDER"):
        list(read(tmp_path / "x.csv"))


BROKEN = ("Title\n\nFever.\nCough.\r\nPain.\n", "one\rtwo", "a\r\nb", "\n", "Fits.", "Fits.\n", "\r\nFits.")


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("name", ["pubtator", "gsc", "texoo", "bigbio", "bioc", "bioc_json", "jsonl", "html", "brat"])
def test_line_breaks_come_back_or_are_announced(name: str, text: str, tmp_path: Path) -> None:
    doc = Document("1", text, mentions=())
    dropped: Counter[str] = Counter()
    [announced] = fitting([doc], name, dropped)
    assert dropped["line breaks"] == sum(a != b for a, b in zip(text, announced.text, strict=True))
    if name == "gsc" and not text.strip():
        return
    assert back(announced, name, tmp_path).text == announced.text


def test_passages_that_pubtator_moves_are_announced() -> None:
    passages = (Passage(0, 4, "title"), Passage(4, 9, "abstract"), Passage(9, 9, "empty"))
    dropped: Counter[str] = Counter()
    [announced] = fitting([Document("1", "Fits seen", passages=passages, mentions=())], "pubtator", dropped)
    assert dropped == {"passages": 3}
    assert announced.passages == (Passage(0, 9, "title"),)


@pytest.mark.parametrize("name", [name for name in WRITABLE if FORMATS[name].holds == ALL])
def test_references_to_nothing_come_back(name: str, tmp_path: Path) -> None:
    told: dict[str, Any] = {"type": "CID", "args": ({"role": "drug", "ref": ""}, {"role": "disease", "ref": "MESH:D2"})}
    doc = Document("1", "Fits seen", mentions=(), meta={"relations": [told]})
    assert back(doc, name, tmp_path).meta["relations"] == (told,)


@pytest.mark.parametrize("told", OTHER_RELATIONS)
def test_relations_that_pubtator_cannot_hold_are_announced(told: Any, tmp_path: Path) -> None:
    mentions = (Mention(0, 4, id="T1", source="gold", types=("Disease",), concepts=("MESH:D1",)),)
    doc = Document("1", "Fits seen", mentions=mentions, meta={"relations": [told]})
    dropped: Counter[str] = Counter()
    [announced] = fitting([doc], "pubtator", dropped)
    assert dropped["relations other than of two concepts"] == ("meta" not in told)
    assert dropped["ids, roles and meta of relations"] == 1
    assert back(announced, "pubtator", tmp_path).meta == announced.meta
    assert announced.meta.get("relations", ()) == (() if "meta" not in told else (BARE,))


@pytest.mark.parametrize("told", [None, "abc", ["x"], [{"args": 7}, PAIR], [{"args": [{"ref": 7}]}], {"a": 1}, [None]])
@pytest.mark.parametrize("name", BOTH)
def test_what_is_no_relation_is_meta_like_any_other(name: str, told: Any, tmp_path: Path) -> None:
    mentions = (Mention(0, 4, id="T1", source="gold", types=("Disease",), concepts=("MESH:D1",)),)
    doc = Document("1", "Fits seen", mentions=mentions, meta={"relations": told})
    dropped: Counter[str] = Counter()
    [announced] = fitting([doc], name, dropped)
    assert dropped["document meta"] == (FORMATS[name].holds != ALL)
    assert back(announced, name, tmp_path).meta.get("relations") == announced.meta.get("relations")


def test_lists_without_entries_are_announced() -> None:
    doc = Document("1", "Fits", sentences=(), abbreviations=(), reviewed=(), mentions=())
    gone = lost(doc, FORMATS["html"].holds)
    assert {kind: gone[kind] for kind in ("sentences", "abbreviations", "reviewed spans")} == dict.fromkeys(
        ("sentences", "abbreviations", "reviewed spans"), 1
    )


ODD = [
    ("NUL characters", Document("1\0", "Fits.", mentions=())),
    ("NUL characters", Document("1", "Fi\0ts.", mentions=(Mention(0, 4, source="gold", concepts=("A:1",)),))),
    ("begins with U.FEFF", Document("\ufeff1", "Fits.", mentions=())),
    (
        "or tabs|not fit",
        Document("1", "Fits.", mentions=(Mention(0, 4, concepts=("A:1\tB",)),)),
    ),
]


@pytest.mark.parametrize("name", ["pubtator", "gsc", "csv"])
@pytest.mark.parametrize(("problem", "doc"), ODD)
def test_what_reading_would_refuse_is_not_written(name: str, problem: str, doc: Document, tmp_path: Path) -> None:
    if name == "csv" and ("NUL" not in problem or not doc.mentions):
        pytest.skip("a cell can hold it, or nothing is written")
    with pytest.raises(DataError, match=problem):
        write([doc], tmp_path / "x", format=name)
    assert not list(tmp_path.iterdir())
