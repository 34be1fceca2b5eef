"""brat: the same lines back, nothing lost in between, faults with their line, and no way out of the folder."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies
from tests.strategies import jsons, spans

from linnet.corpora import read as read_any
from linnet.corpora.brat import read, write_folder
from linnet.corpora.brat_lines import file_name
from linnet.corpora.brat_write import annotation_lines
from linnet.corpora.faults import Faults
from linnet.data import Abbreviation, Candidates, Concept, Document, Mention, Name, Passage, Span
from linnet.errors import DataError, FormatError, LinnetWarning, UnknownConceptError


def pair(folder: Path, text: str | bytes, annotations: str | bytes | None, name: str = "a") -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for suffix, content in ((".txt", text), (".ann", annotations)):
        if content is not None:
            data = content if isinstance(content, bytes) else content.encode()
            (folder / f"{name}{suffix}").write_bytes(data)
    return folder / f"{name}.ann"


def one(path: Path) -> Document:
    [doc] = read(path)
    return doc


TEXT = "left and right arm\nno fits 🧬"
LINES = """T1\tLimb 0 4;15 18\tleft arm
T2\tLimb 9 18\tright arm
T3\tSign 22 26\tfits
T4\tSpan 15 21\tarm no
N1\tReference T1 MESH:D001132\tArm
N2\tReference T1 UMLS:C0446516
N3\tReference T3 HP:0001250\tSeizure
A1\tNegation T3
A2\tCertainty T3 very low
#1\tAnnotatorNotes T3\tsee\tabove
#2\tLemma T3\tfit
R1\tPartOf Arg1:T1 Arg2:T2
R2\tSees Arg1:T3 Arg2:E1
E1\tMove:T2 Theme:T1 Theme2:T3
*\tEquiv T1 T2
A3\tSpeculation E1
#3\tAnnotatorNotes E1\tnote on an event
# a free comment
"""


@pytest.mark.parametrize(("prefix", "concepts"), [("", (None, None)), ("ICDO", (("ICDO:8140/3/H",), ("HGNC:1097",)))])
def test_codes_in_notes(tmp_path: Path, prefix: str, concepts: Sequence[tuple[str, ...] | None]) -> None:
    (tmp_path / "a.txt").write_text("Adenocarcinoma BRAF")
    lines = ["T1\tMORFOLOGIA_NEOPLASIA 0 14\tAdenocarcinoma", "#1\tAnnotatorNotes T1\t8140/3/H"]
    lines += ["#2\tAnnotatorNotes T1\tnot sure", "T2\tGene 15 19\tBRAF", "#3\tAnnotatorNotes T2\thgnc:1097"]
    (tmp_path / "a.ann").write_text("\n".join(lines) + "\n")
    [doc] = read(tmp_path / "a.ann", note_prefix=prefix)
    first, second = doc.mentions or ()
    assert (first.concepts, second.concepts) == concepts
    assert first.meta["notes"] == (("not sure",) if prefix else ("8140/3/H", "not sure"))
    assert list(read_any(tmp_path, format="brat", options={"note_prefix": prefix})) == [doc]


def test_what_lines_become(tmp_path: Path) -> None:
    doc = one(pair(tmp_path, TEXT, LINES))
    assert doc == Document(
        "a",
        TEXT,
        mentions=(
            Mention(
                0,
                18,
                parts=(Span(0, 4), Span(15, 18)),
                id="T1",
                types=("Limb",),
                source="gold",
                concepts=("MESH:D001132", "UMLS:C0446516"),
                meta={"normalization_names": ("Arm", None)},
            ),
            Mention(9, 18, id="T2", types=("Limb",), source="gold"),
            Mention(
                22,
                26,
                id="T3",
                types=("Sign",),
                source="gold",
                concepts=("HP:0001250",),
                meta={
                    "normalization_names": ("Seizure",),
                    "attributes": {"Negation": True, "Certainty": "very low"},
                    "notes": ("see\tabove", {"type": "Lemma", "text": "fit"}),
                },
            ),
            Mention(15, 21, id="T4", types=("Span",), source="gold"),
        ),
        meta={
            "relations": [
                {"id": "R1", "type": "PartOf", "args": [{"role": "Arg1", "ref": "T1"}, {"role": "Arg2", "ref": "T2"}]},
                {"id": "R2", "type": "Sees", "args": [{"role": "Arg1", "ref": "T3"}, {"role": "Arg2", "ref": "E1"}]},
            ],
            "brat": (
                "# a free comment",
                "E1\tMove:T2 Theme:T1 Theme2:T3",
                "*\tEquiv T1 T2",
                "A3\tSpeculation E1",
                "#3\tAnnotatorNotes E1\tnote on an event",
            ),
        },
    )


ODD = """T7\tLimb 0 4\tleft
T2\tSign 22 26\tfits
N5\tReference T7 D001132\tArm
N2\tReference T7 X:1\t
A9\tNegation T2
A2\tNegation T2
M1\tSpeculation T7
A4\tNegation N5
#9\tAnnotatorNotes A9\tsure
#2\tAnnotatorNotes T2\t
#\tAnnotatorNotes T2\tno id
R3\tPartOf Arg1:T7 Arg2:T2
#11\tAnnotatorNotes R3\tnote on a relation
"""


@pytest.mark.parametrize("lines", [LINES, ODD, "", "T1\tA-b 0 1\tl\n", "T1\tX 19 21\tno\nA1\tNegation T1 x\n"])
def test_the_same_lines_come_back(tmp_path: Path, lines: str) -> None:
    doc = one(pair(tmp_path, TEXT, lines))
    assert write_folder([doc], tmp_path / "out") == 1
    assert (tmp_path / "out" / "a.txt").read_text() == TEXT
    again = (tmp_path / "out" / "a.ann").read_text()
    assert sorted(again.splitlines()) == sorted(lines.splitlines())
    assert one(tmp_path / "out" / "a.ann") == doc


def test_ids_of_lines_are_kept_only_where_another_line_points_at_them(tmp_path: Path) -> None:
    [first, second] = one(pair(tmp_path, TEXT, ODD)).mentions or ()
    assert first.meta["brat_ids"] == ("N5", "N2", "M1")
    assert first.meta["normalization_ids"] == ("D001132", "X:1")
    assert first.concepts == ("MESH:D001132", "X:1")
    assert second.meta["brat_ids"] == ("A9", "#2")
    lines = [line for line in ODD.splitlines() if not line.startswith(("A4", "#9", "#\t"))]
    doc = one(pair(tmp_path, TEXT, "\n".join(lines), "b"))
    assert not any("brat_ids" in mention.meta for mention in doc.mentions or ())
    write_folder([doc], tmp_path / "out")
    assert one(tmp_path / "out" / "b.ann") == doc


def test_lines_that_point_at_what_was_removed(tmp_path: Path) -> None:
    doc = one(pair(tmp_path, TEXT, LINES))
    less = replace(doc, mentions=(doc.mentions or ())[1:])
    with pytest.warns(LinnetWarning, match="4 lines of meta") as caught:
        write_folder([less], tmp_path / "out")
    assert len(caught) == 1
    again = one(tmp_path / "out" / "a.ann")
    assert again.mentions == less.mentions
    assert again.meta["brat"] == ("# a free comment",)
    assert again.meta["relations"] == doc.meta["relations"]


def test_names_of_the_knowledge_base(tmp_path: Path) -> None:
    class Kb:
        def row(self, id: str, /) -> int:
            if id != "HP:0001250":
                raise UnknownConceptError(id)
            return 0

        def id(self, row: int, /) -> str:
            return "HP:0001250"

        def __getitem__(self, row: int) -> Concept:
            return Concept("HP:0001250", (Name("Seizure"),))

    mentions = tuple(
        Mention(22, 26, id=id, types=("S",), source="gold", concepts=(concept,))
        for id, concept in (("T1", "HP:0001250"), ("T2", "HP:1"))
    )
    doc = Document("a", TEXT, mentions=mentions)
    write_folder([doc], tmp_path / "o", rows=Kb())
    assert "N1\tReference T1 HP:0001250\tSeizure\n" in (tmp_path / "o" / "a.ann").read_text()
    [again] = read(tmp_path / "o", rows=Kb())
    assert again == doc
    [mention, _] = one(tmp_path / "o" / "a.txt").mentions or ()
    assert mention.meta == {"normalization_names": ("Seizure",)}


# --- there and back --------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
METAS = st.dictionaries(
    TEXTS | st.sampled_from(["attributes", "notes", "brat", "relations", "normalization_names", "normalization_ids"]),
    jsons(TEXTS, leaves=4)
    | st.lists(TEXTS, min_size=1, max_size=2)
    | st.dictionaries(TEXTS, TEXTS | st.just(value=True), max_size=2),
    max_size=3,
)
IDS = st.sampled_from(["HP:1", "MESH:D014262", "X:ß", "𝒳:3", "a b:c", "D014262", "", "x"])


def mentions(length: int) -> st.SearchStrategy[Mention]:
    return strategies.mentions(
        length,
        ids=st.sampled_from(["T1", "T2", "T7x", "R1", "m 1", "𝒳", "N1"]),
        types=TEXTS | st.sampled_from(["Sign", "Gene"]),
        concepts=IDS,
        keys=TEXTS,
        metas=METAS,
        found=strategies.candidates(TEXTS, IDS, most=3, labelled=False),
        where=partial(strategies.parts, most=6),
    )


@st.composite
def relations(draw: st.DrawFn, refs: list[str]) -> dict[str, object]:
    args = st.fixed_dictionaries(
        {"role": st.sampled_from(["Arg1", "a b", "x:y"]), "ref": st.sampled_from([*refs, "MESH:D1"])}
    )
    return {
        "id": draw(st.sampled_from(["R1", "R2", "r.1", ""])),
        "type": draw(st.sampled_from(["CID", "part of"])),
        "args": tuple(draw(st.lists(args, max_size=2))),
        **draw(st.sampled_from([{}, {"meta": {"note": "x"}}])),
    }


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=2, max_size=40))
    some = st.lists(spans(len(text)), max_size=2)
    pairs = st.lists(st.builds(Abbreviation, spans(len(text)), spans(len(text))), max_size=2)
    found = draw(st.none() | st.lists(mentions(len(text)), max_size=4).map(tuple))
    meta = {key: value for key, value in draw(METAS).items() if key not in ("relations", "brat")}
    some_relations = relations([mention.id for mention in found or ()])
    related = draw(st.lists(some_relations, max_size=3, unique_by=lambda relation: str(relation["id"])))
    if related:
        meta["relations"] = related
    return Document(
        draw(st.sampled_from(["d", "a/b/c.1", "𝒳 x"])),
        text,
        passages=tuple(Passage(a, b, draw(st.sampled_from(["", "title"])), draw(METAS)) for a, b in draw(some)),
        sentences=draw(st.none() | some.map(tuple)),
        abbreviations=draw(st.none() | pairs.map(tuple)),
        mentions=found,
        reviewed=draw(st.none() | some.map(tuple)),
        meta=meta,
    )


@pytest.mark.slow
@settings(deadline=None)  # it waits for the disk
@given(doc=documents())
def test_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, doc: Document) -> None:
    folder = tmp_path_factory.getbasetemp() / "out"
    shutil.rmtree(folder, ignore_errors=True)
    assert write_folder([doc], folder) == 1
    [again] = read(folder)

    def order(relation: object) -> str:
        return json.dumps(relation, sort_keys=True)

    def settled(doc: Document) -> Document:  # relations that lines hold come before the others
        found = doc.meta.get("relations", ())
        assert isinstance(found, tuple)
        rest = {key: value for key, value in doc.meta.items() if key != "relations"}
        return replace(doc, meta={**rest, "sorted": sorted(map(order, found))})

    assert settled(again) == settled(doc)
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    shutil.rmtree(folder)
    write_folder([again], folder)
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_mentions_without_ids_get_new_ones(tmp_path: Path) -> None:
    mentions = (Mention(0, 1), Mention(1, 2, id="T2"), Mention(2, 3, id="x"), Mention(3, 4, id="T2"))
    write_folder([Document("a", "abcd", mentions=mentions)], tmp_path / "o")
    doc = one(tmp_path / "o" / "a.ann")
    assert [mention.id for mention in doc.mentions or ()] == ["T1", "T2", "x", "T2"]
    lines = (tmp_path / "o" / "a.ann").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines if line.startswith("T")] == ["T1", "T2", "T3", "T4"]
    assert '#3\tLinnetNote T3\t{"id":"x","types":[],"source":"pred"}' in lines


def test_somebody_works_on_in_brat(tmp_path: Path) -> None:
    mentions = (Mention(22, 26, id="m1", types=("Sign",), source="gold", concepts=()),)
    related: list[Any] = [{"id": "r", "type": "Is", "args": [{"role": "of", "ref": "m1"}]}]
    write_folder([Document("a", TEXT, mentions=mentions, meta={"relations": related})], tmp_path / "o")
    with (tmp_path / "o" / "a.ann").open("a") as out:
        out.write("T2\tLimb 0 4\tleft\nN1\tReference T1 HP:1\nR2\tIs of:T2\nE1\tGo:T1\nA1\tDone T1\n")
    doc = one(tmp_path / "o" / "a.ann")
    first, _ = doc.mentions or ()
    assert (first.id, first.concepts, first.meta["attributes"]) == ("m1", ("HP:1",), {"Done": True})
    assert [str(r) for r in doc.meta["relations"]] == [  # type: ignore[union-attr]
        "{'id': 'r', 'type': 'Is', 'args': ({'role': 'of', 'ref': 'm1'},)}",
        "{'id': 'R2', 'type': 'Is', 'args': ({'role': 'of', 'ref': 'T2'},)}",
    ]
    assert first.meta["brat_ids"] == ("T1", "#1", "N1", "A1")
    shuffled = replace(doc, mentions=(doc.mentions or ())[::-1])
    write_folder([shuffled], tmp_path / "p")
    again = one(tmp_path / "p" / "a.ann")
    assert again.meta["brat"] == ("E1\tGo:T1",)
    assert [m.id for m in again.mentions or ()] == ["T2", "m1"]


@pytest.mark.parametrize(
    "meta",
    [
        {"notes": (1, "a")},
        {"notes": ("a\nb",)},
        {"notes": ({"type": "LinnetNote", "text": "{}"},)},
        {"attributes": {"a b": True}},
        {"attributes": {"a": 1}},
        {"attributes": {"a": " b"}},
        {"normalization_names": ("a",)},
        {"brat_ids": ("T9", "x")},
    ],
)
def test_what_only_looks_like_a_line_is_kept_as_json(tmp_path: Path, meta: dict[str, Any]) -> None:
    doc = Document("a", TEXT, mentions=(Mention(0, 4, id="T1", types=("A",), source="gold", meta=meta),))
    write_folder([doc], tmp_path / "o")
    assert one(tmp_path / "o" / "a.ann") == doc
    assert "#1\tLinnetNote T1" in (tmp_path / "o" / "a.ann").read_text()


def test_not_looked_at_is_not_nothing_found(tmp_path: Path) -> None:
    write_folder([Document("a", "x"), Document("b", "x", mentions=())], tmp_path / "o")
    assert [doc.mentions for doc in read(tmp_path / "o")] == [None, ()]
    assert (tmp_path / "o" / "b.ann").read_bytes() == b""
    with (tmp_path / "o" / "a.ann").open("a") as out:
        out.write("T1\tA 0 1\tx\n")
    assert len(one(tmp_path / "o" / "a.ann").mentions or ()) == 1


def test_a_text_that_begins_with_a_byte_order_mark(tmp_path: Path) -> None:
    doc = Document("a", "\ufeffx", mentions=(Mention(1, 2, id="T1", types=("A",), source="gold"),))
    write_folder([doc], tmp_path / "o")
    assert one(tmp_path / "o" / "a.ann") == doc


# --- files and folders -----------------------------------------------------------------------------------------------


def test_pairs_of_a_folder(tmp_path: Path) -> None:
    for name in ("b", "a/x", "a/b.1", "c"):
        pair(tmp_path, "fits", None if name == "c" else "T1\tA 0 4\tfits", name)
    (tmp_path / "annotation.conf").write_text("[entities]")
    assert [(doc.id, doc.mentions is None) for doc in read(tmp_path)] == [
        ("a/b.1", False),
        ("a/x", False),
        ("b", False),
        ("c", True),
    ]
    assert [doc.id for doc in read(tmp_path / "a" / "b.1.txt")] == ["b.1"]
    assert [doc.id for doc in read(tmp_path / "a" / "b.1.ann", name="n")] == ["n"]


def test_ids_with_folders_come_back(tmp_path: Path) -> None:
    docs = [Document(id, "Fits.", mentions=()) for id in ("icu/2", "ward/1", "3")]
    write_folder(docs, tmp_path / "b")
    assert {doc.id for doc in read_any(tmp_path / "b")} == {"icu/2", "ward/1", "3"}
    assert list(read_any(tmp_path / "b" / "ward" / "1.ann")) == list(read(tmp_path / "b" / "ward")) == [docs[1]]
    assert not (tmp_path / "b" / "3.ann").read_text(), "only where the name alone is another"
    (tmp_path / "b" / "ward").rename(tmp_path / "b" / "home")
    assert {doc.id for doc in read_any(tmp_path / "b")} == {"icu/2", "1", "3"}


def test_texts_beside_annotations_are_no_documents_and_no_surprise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_folder([Document("1", "Fits.", mentions=())], tmp_path / "b")
    (tmp_path / "b" / "1.ann").write_bytes(gzip.compress((tmp_path / "b" / "1.ann").read_bytes()))
    (tmp_path / "b" / "1.ann").rename(tmp_path / "b" / "1.ann.gz")
    for format in ("brat", None):
        assert [doc.mentions for doc in read_any(tmp_path / "b", format=format)] == [()]
    assert not caplog.text


def test_packed_pairs(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"fits"))
    (tmp_path / "a.ann").write_bytes(b"\xef\xbb\xbfT1\tA 0 4\tfits\r\n\r\n")
    for path in (tmp_path, tmp_path / "a.ann", tmp_path / "a.txt.gz"):
        assert one(path).mentions == (Mention(0, 4, id="T1", types=("A",), source="gold"),)
    (tmp_path / "a.txt").write_bytes(b"fits")
    with pytest.raises(FormatError, match=r"stands beside a.txt.gz: which of them is meant"):
        one(tmp_path / "a.ann")


def test_crlf_in_the_text(tmp_path: Path) -> None:
    path = pair(tmp_path, b"no\r\nfits\r\n", b"T1\tA 0 8\tno  fits\r\nT2\tA 4 9\tfits\r\r\nT3\tA 1 4\to\r\n")
    assert [doc.surface(m) for doc in read(path) for m in doc.mentions or ()] == ["no\r\nfits", "fits\r", "o\r\n"]
    with pytest.raises(FormatError, match=r"the offsets 3 7 say '\\nfit', the line says 'fits'; .* the .txt file"):
        one(pair(tmp_path, b"no\r\nfits\r\n", b"T1\tA 3 7\tfits\n", "b"))


def test_fragments_out_of_order(tmp_path: Path) -> None:
    path = pair(tmp_path, TEXT, "T1\tLimb 15 18;0 4\tarm left\n")
    with pytest.warns(LinnetWarning, match="1 mentions had their fragments out of order"):
        assert (one(path).mentions or ())[0].parts == (Span(0, 4), Span(15, 18))


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        ("T1\tA 0 99\tx", 1, "the span 0-99 is empty, overlaps another or lies outside the text of 28 characters"),
        ("\nT1\tA 2 2\t", 2, "the span 2-2 is empty"),
        ("T1\tA 4 2\tx", 1, "the span 4-2 is empty"),
        ("T1\tA 0 4;3 8\tleft t and", 1, "the span 3-8 is empty, overlaps another"),
        ("T1\tA 0 4\tLeft", 1, "the offsets 0 4 say 'left', the line says 'Left'"),
        ("T1\tA 0 4", 1, "expected a type, offsets such as 0 4"),
        ("T1\tA\t0 4\tleft", 1, "expected a type, offsets such as 0 4"),
        ("T1\tA -1 4\tleft", 1, "expected a type, offsets"),
        ("T1\tA 0 99999999999999999999\tleft", 1, "expected a type, offsets"),
        ("T1 A 0 4 left", 1, "expected an id such as T1, R1, E1, A1, N1, [*] or #1 and a tab, found 'T1 A 0 4 left'"),
        ("X1\tA 0 4\tleft", 1, "expected an id such as T1"),
        ("T\tA 0 4\tleft", 1, "expected an id such as T1"),
        ("T1\tA 0 4\tleft\nT1\tA 0 4\tleft", 2, "the id T1 stands in line 1 already"),
        ("T1\tA 0 4\tleft\nA1\tN T1\n#1\tX T1\t\n#1\tX T1\t", 4, "the id #1 stands in line 3"),
        ("N1\tReference T1 X:1", 1, "points at 'T1', which is no mention"),
        ("T1\tA 0 4\tleft\nN1\tReference T1", 2, "expected Reference, the id of a mention"),
        ("T1\tA 0 4\tleft\nN1\tOther T1 X:1", 2, "expected Reference"),
        ("R1\tIs Arg1:T1 Arg2:T2", 1, "points at 'T1', which is nowhere"),
        ("R1\tIs T1 T2", 1, "expected a type and arguments such as Arg1:T1"),
        ("E1\tGo:T1", 1, "points at 'T1', which is nowhere"),
        ("E1\t", 1, "expected a type with its trigger"),
        ("E1\tGo", 1, "points at ''"),
        ("*\tEquiv T1", 1, "expected Equiv and ids"),
        ("*\tEquiv T1 T2", 1, "points at 'T1'"),
        ("A1\tNegation", 1, "expected a name, the id it belongs to"),
        ("A1\tNegation T1", 1, "points at 'T1'"),
        ("#1\tAnnotatorNotes T1\tx", 1, "points at 'T1'"),
        ("#1\tLinnetNote T1\t{}", 1, "points at 'T1', which is no mention"),
        ("T1\tA 0 4\tleft\n#1\tLinnetNote T1\t{", 2, "not JSON"),
        ("T1\tA 0 4\tleft\n#1\tLinnetNote T1\t" + "[" * 9999, 2, "not JSON"),
        ("T1\tA 0 4\tleft\n#1\tLinnetNote T1\t[]", 2, "is no JSON object: '\\[\\]'"),
        ('T1\tA 0 4\tleft\n#1\tLinnetNote T1\t{"typs":[]}', 1, "LinnetNote of T1: .*did you mean 'types'"),
        ('T1\tA 0 4\tleft\n#1\tLinnetNote T1\t{"source":"me"}', 1, "source 'me' is none of"),
        ('T1\tA 0 4\tleft\nR1\tIs a:T1\n#1\tLinnetNote R1\t{"args":1}', 3, "expected id and meta of a relation"),
        ('#1\tLinnetDocument _\t{"sentences":[[0,999]]}', None, "its LinnetDocument: .*outside the text"),
        (b"T1\tA 0 4\tleft\nT2\tA 0 1\t\xe9", 2, "not UTF-8: byte 0xe9"),
        (b"T1\tA 0 4\tle\0t", 1, "NUL"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, lines: str | bytes, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        one(pair(tmp_path, TEXT, lines))
    assert caught.value.line == line
    assert caught.value.path.endswith("a.ann")


def test_annotations_without_their_text_are_a_fault_of_their_document(tmp_path: Path) -> None:
    (tmp_path / "a.ann").write_text("T1\tD 0 4\tFits\n")
    pair(tmp_path, TEXT, "", name="b")
    told: list[str] = []
    faults = Faults("skip", lambda error, done: told.append(f"{error} {done}"))
    assert [doc.id for doc in read_any(tmp_path, on_error=faults)] == ["b"]
    assert [doc.id for doc in read(tmp_path, faults=faults)] == ["b"]
    assert len(told) == 2
    assert told[0].endswith("a.txt is missing left out")


def test_faults_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.ann").write_text("")
    with pytest.raises(FormatError, match=r"a\.ann: its text .*a\.txt is missing"):
        one(tmp_path / "a.ann")
    with pytest.raises(FormatError, match=r"b\.txt: there is no such file"):
        one(tmp_path / "b.txt")
    for path in ("-", tmp_path / "a.tsv"):
        with pytest.raises(FormatError, match="brat keeps a document in two files"):
            list(read(path))
    (tmp_path / "e").mkdir()
    with pytest.raises(FormatError, match=r"holds no file ending in .ann, .txt"):
        list(read(tmp_path / "e"))
    with pytest.raises(FormatError, match=r"l\.txt:1: not UTF-8"):
        one(pair(tmp_path, b"\xe9", "", "l"))


STRANGE = [
    "../x", "a/../../x", "/etc/x", "a//x", "a/%~/x", "a/", "", "%~", ".hidden", "%2Ehidden", "a\0", "a\nb", "..\\x",
    "a\\x", "a%41", "aA", "%", "100 %", "ü/../x", "ß" * 101, "ß" * 102, f"ward/{'.' * 300}",
    "PMID:1", "urn:uuid:1/x", 'a<b>|"?*', "PMID%3A1",
]  # fmt: skip


def test_ids_that_are_no_file_names(tmp_path: Path) -> None:
    docs = [Document(id, "x", mentions=()) for id in STRANGE]
    folder = tmp_path / "in" / "out"
    assert write_folder(docs, folder) == len(docs)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {*folder.rglob("*.txt"), *folder.rglob("*.ann")}
    for found in (read(folder), read_any(folder)):
        assert {doc.id: doc for doc in found} == {doc.id: doc for doc in docs}
    with pytest.raises(FormatError, match="is no character"):
        write_folder([Document("\ud800", "x", mentions=())], tmp_path / "half")


@given(st.lists(st.text(st.sampled_from("./%~2E\\é\0")), unique=True))
def test_no_two_ids_have_the_same_file(ids: list[str]) -> None:
    assert len({file_name(id) for id in ids}) == len(ids)


def test_a_copy_of_an_escaped_file_has_its_own_name(tmp_path: Path) -> None:
    write_folder([Document(".a", "x", mentions=())], tmp_path / "o")
    for path in (tmp_path / "o").iterdir():
        path.rename(path.with_stem("b"))
    assert [doc.id for doc in read(tmp_path / "o")] == ["b"]


def test_files_that_were_called_as_no_file_is_on_windows_are_read(tmp_path: Path) -> None:
    write_folder([Document("ward/PMID:1", "x", mentions=())], tmp_path / "o")
    for path in (tmp_path / "o" / "ward").iterdir():
        assert ":" not in path.name
        path.rename(path.with_name(path.name.replace("%3A", ":")))
    assert [doc.id for doc in read(tmp_path / "o")] == ["ward/PMID:1"]


def test_long_ids_fit(tmp_path: Path) -> None:
    doc = Document(f"{'a' * 200}/{'b' * 200}", "x", mentions=())
    write_folder([doc], tmp_path / "o")
    assert list(read(tmp_path / "o")) == [doc]
    with pytest.raises(FormatError, match="cannot be written: File name too long"):
        write_folder([Document("/".join(["a" * 200] * 40), "x")], tmp_path / "p")


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(FormatError, match=r"holds 'a.txt' already: choose a new folder"):
        write_folder([Document("a", "x")], tmp_path)
    assert (tmp_path / "a.txt").read_text() == "mine"
    with pytest.raises(FormatError, match="cannot be written to: Not a directory"):
        write_folder([], tmp_path / "a.txt")
    with pytest.raises(FormatError, match="cannot be written"):
        write_folder([Document("a", "x"), Document("a.txt/b", "x")], tmp_path / "o")


def test_what_brat_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'a' stands twice"):
        write_folder([Document("a", "x"), Document("a", "y")], tmp_path / "o")
    with pytest.raises(DataError, match="NUL characters"):
        write_folder([Document("a", "x\0")], tmp_path / "p")
    with pytest.raises(FormatError, match="is no character"):
        write_folder([Document("a", "x\ud800")], tmp_path / "q")
    with pytest.raises(DataError, match="cannot be written as brat"):
        write_folder([Document("a", "x", meta={"x": float("nan")})], tmp_path / "r")
    assert list(tmp_path.iterdir()) == [], "there in full or not at all"
    found = Candidates(np.array([1], np.int32), np.array([1], np.float32))
    with pytest.raises(DataError, match="knowledge base"):
        annotation_lines(Document("a", "x", mentions=(Mention(0, 1, candidates=found),)))


def test_assertions_are_attributes(tmp_path: Path) -> None:
    mentions = (
        Mention(0, 4, id="T1", types=("D",), source="gold", assertion="negated"),
        Mention(5, 9, id="T2", types=("D",), source="gold", meta={"attributes": {"Assertion": "negated"}}),
        Mention(
            5, 9, id="T3", types=("D",), source="gold", assertion="family", meta={"attributes": {"Assertion": "x"}}
        ),
    )
    doc = Document("d", "fits cold", mentions=mentions)
    write_folder([doc], tmp_path / "out")
    assert "\tAssertion T1 negated\n" in (tmp_path / "out/d.ann").read_text()
    [back] = read(tmp_path / "out")
    assert back == doc
