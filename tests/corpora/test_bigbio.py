"""BigBIO-KB JSON: what its data sets hold is read and written again, all documents survive, faults name their path."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import documents

from linnet.corpora import bigbio, read, write
from linnet.data import Document, Mention, Passage, Span
from linnet.errors import FormatError

TITLE, ABSTRACT = "Renal 𝒳 cysts", "Left and right cysts after lithium."


def entity(id: str, type: str, offsets: list[list[int]], *normalized: tuple[str, str]) -> dict[str, Any]:
    text = f"{TITLE} {ABSTRACT}"
    return {
        "id": id,
        "type": type,
        "text": [text[start:end] for start, end in offsets],
        "offsets": offsets,
        "normalized": [{"db_name": name, "db_id": local} for name, local in normalized],
    }


def document(**others: Any) -> dict[str, Any]:
    """A document as BigBIO's loaders make it."""
    end = len(TITLE)
    made: dict[str, Any] = {
        "id": "0",
        "document_id": "227508",
        "passages": [
            {"id": "1", "type": "title", "text": [TITLE], "offsets": [[0, end]]},
            {"id": "2", "type": "abstract", "text": [ABSTRACT], "offsets": [[end + 1, end + 1 + len(ABSTRACT)]]},
        ],
        "entities": [
            entity("3", "Disease", [[0, 13]], ("MESH", "D052177"), ("OMIM", "173900")),
            entity("4", "Disease", [[14, 18], [29, 34]]),
            entity("5", "Chemical", [[41, 48]], ("MESH", "D008094")),
            {"id": "6", "type": "Species", "text": ["patient"], "offsets": [], "normalized": []},
        ],
        "events": [
            {"id": "7", "type": "Cause", "trigger": {"text": ["after"], "offsets": [[35, 40]]}, "arguments": []}
        ],
        "coreferences": [{"id": "8", "entity_ids": ["3", "4"]}],
        "relations": [{"id": "9", "type": "CID", "arg1_id": "5", "arg2_id": "3", "normalized": []}],
    }
    return {**made, **others}


@pytest.mark.parametrize("name", ["b.jsonl", "b.ndjson"])
def test_json_lines_of_data_sets(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    lines = json.dumps(document()) + "\n" + json.dumps(document(document_id="2"))
    path.write_text(lines)
    assert list(read(path)) == list(read(path, format="bigbio"))
    assert [doc.id for doc in read(path)] == ["227508", "2"]
    with pytest.raises(FormatError, match=r"'document_id'.*; it looks like bigbio: say so \(--from, or format=\)"):
        list(read(path, format="jsonl"))
    ours = {"text": "Fits.", "id": "1", "passages": [], "meta": {"document_id": "7"}}
    path.write_text(json.dumps(ours))
    assert [doc.meta for doc in read(path)] == [{"document_id": "7"}]


NONE = [
    ([("MESH", "-1")], ()),
    ([(None, -1)], ()),
    ([("ncbi_gene", "-")], ()),
    ([("UMLS", "")], ()),
    ([("UMLS", None)], ()),
    ([("MESH", "D1|D2")], ("MESH:D1", "MESH:D2")),
    ([("MESH", "D1|-1")], ("MESH:D1",)),
    ([("MESH", "-1"), ("OMIM", "173900")], ("OMIM:173900",)),
    ([("", "D052177|D008094")], ("MESH:D052177", "MESH:D008094")),
    ([], None),
]


@pytest.mark.parametrize(("normalized", "expected"), NONE)
def test_ids_that_mean_none_are_no_concepts(tmp_path: Path, normalized: Any, expected: Any) -> None:
    """BC5CDR's loader passes -1 on, others number and null; several ids of one name are several concepts."""
    value = [document(entities=[entity("3", "Disease", [[0, 13]], *normalized)])]
    [doc] = read(given_as(value, tmp_path), format="bigbio")
    assert [mention.concepts for mention in doc.mentions or ()] == [expected]
    write([doc], tmp_path / "again.bigbio")
    assert json.loads((tmp_path / "again.bigbio").read_text())[0]["entities"] == value[0]["entities"]


def test_a_text_of_an_entity_needs_no_list(tmp_path: Path) -> None:
    one = entity("3", "Disease", [[0, 13]], ("MESH", "D052177")) | {"text": TITLE}
    [listed] = read(given_as([document(entities=[one | {"text": [TITLE]}])], tmp_path), format="bigbio")
    [doc] = read(given_as([document(entities=[one])], tmp_path), format="bigbio")
    assert doc == listed
    apart = {"id": "4", "type": "Disease", "text": "Left cysts", "offsets": [[14, 18], [29, 34]], "normalized": []}
    [doc] = read(given_as([document(entities=[apart])], tmp_path), format="bigbio")
    assert [mention.spans for mention in doc.mentions or ()] == [(Span(14, 18), Span(29, 34))]
    with pytest.raises(FormatError, match=r"entities\[0\]: the offsets 0-13 say 'Renal 𝒳 cysts', the text 'Left'"):
        list(read(given_as([document(entities=[one | {"text": "Left"}])], tmp_path), format="bigbio"))


def test_documents_without_id_are_numbered(tmp_path: Path) -> None:
    bare = {key: value for key, value in document().items() if key not in ("id", "document_id")}
    path = given_as([bare, bare | {"id": "7"}, bare | {"document_id": None}], tmp_path)
    assert [doc.id for doc in read(path, format="bigbio")] == [f"{path.stem}:1", "7", f"{path.stem}:3"]
    write([Document("", "Fits.")], tmp_path / "x.bigbio")
    assert [doc.id for doc in read(tmp_path / "x.bigbio")] == [""]


def test_gaps_do_not_add_up_to_a_bomb(tmp_path: Path) -> None:
    passages = [{"id": str(i), "type": "", "text": ["x"], "offsets": [[i * 1001, i * 1001 + 1]]} for i in range(2000)]
    value = [document(passages=passages, entities=[], relations=[])]
    with pytest.raises(FormatError, match=r"passages\[1049\]: .* \(gaps of 1,049,000 characters, at"):
        list(read(given_as(value, tmp_path), format="bigbio"))


def test_marked_blanks_survive(tmp_path: Path) -> None:
    for doc in (
        Document("1", "\n", mentions=(Mention(0, 1, id="a", source="gold"),)),
        Document("1", "Fits\n", passages=(Passage(0, 4),), mentions=(Mention(3, 5, id="a", source="gold"),)),
    ):
        write([doc], tmp_path / "x.bigbio")
        assert list(read(tmp_path / "x.bigbio")) == [doc]


def given_as(value: Any, folder: Path) -> Path:
    path = folder / "f.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_what_is_read(tmp_path: Path) -> None:
    [doc] = read(given_as([document()], tmp_path))
    assert (doc.id, doc.text) == ("227508", f"{TITLE}\n{ABSTRACT}")
    assert [(p.kind, p.start, p.end) for p in doc.passages] == [("title", 0, 13), ("abstract", 14, 49)]
    assert doc.mentions == (
        Mention(0, 13, id="3", types=("Disease",), source="gold", concepts=("MESH:D052177", "OMIM:173900")),
        Mention(14, 34, parts=(Span(14, 18), Span(29, 34)), id="4", types=("Disease",), source="gold"),
        Mention(41, 48, id="5", types=("Chemical",), source="gold", concepts=("MESH:D008094",)),
    )
    args = ({"role": "arg1", "ref": "5"}, {"role": "arg2", "ref": "3"})
    assert doc.meta["relations"] == ({"id": "9", "type": "CID", "args": args},)
    assert {"events", "coreferences", "entities", "bigbio_id"} <= doc.meta.keys()


@pytest.mark.parametrize(
    ("name", "id", "type", "concept"),
    [
        ("MESH", "D003561", "Chemical", "MESH:D003561"),
        ("UMLS", "C0000001", "", "UMLS:C0000001"),
        ("HPO", "HP:0001250", "", "HP:0001250"),
        ("EntrezGene", "672", "Gene", "NCBIGene:672"),
        ("NCBI Taxon", "9606", "Species", "NCBITaxon:9606"),
        ("chebi", "1", "", "CHEBI:1"),
        ("SNOMED CT", "1", "", "SNOMEDCT:1"),
        ("Ensembl", "672", "Gene", "Ensembl:672"),
        ("NCBI Gene", "672", "Gene", "NCBIGene:672"),
        ("", "672", "Gene", "NCBIGene:672"),
    ],
)
def test_concepts(tmp_path: Path, name: str, id: str, type: str, concept: str) -> None:
    value = document(entities=[entity("3", type, [[0, 13]], (name, id))])
    [doc] = read(given_as([value], tmp_path))
    assert [mention.concepts for mention in doc.mentions or ()] == [(concept,)]
    write([doc], tmp_path / "o.bigbio")
    [again] = json.loads((tmp_path / "o.bigbio").read_text(encoding="utf-8"))
    assert again == value


def test_a_file_survives_a_round_trip(tmp_path: Path) -> None:
    value = [document(), document(document_id="2", entities=[], events=[], coreferences=[], relations=[])]
    write(list(read(given_as(value, tmp_path))), tmp_path / "o.bigbio")
    assert json.loads((tmp_path / "o.bigbio").read_text(encoding="utf-8")) == value


def test_arrangements(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(f"{json.dumps(document())}\n{json.dumps(document(document_id='2'))}\n")
    assert [doc.id for doc in read(path)] == ["227508", "2"]
    assert [doc.id for doc in read(given_as(document(), tmp_path))] == ["227508"]


def test_text_without_passages_is_one_passage(tmp_path: Path) -> None:
    doc = Document("1", "a 🧬 b", mentions=())
    write([doc], tmp_path / "o.bigbio")
    [value] = json.loads((tmp_path / "o.bigbio").read_text(encoding="utf-8"))
    assert value["passages"] == [{"id": "1_passage_0", "type": "", "text": ["a 🧬 b"], "offsets": [[0, 5]]}]
    assert "linnet" not in value
    assert list(read(tmp_path / "o.bigbio")) == [doc]


def test_what_bigbio_has_no_place_for_travels_along(tmp_path: Path) -> None:
    mentions = (Mention(0, 1, id="T1", concepts=(), group="g"),)
    doc = Document("1", "a b", passages=(Passage(1, 3), Passage(0, 1)), mentions=mentions)
    write([doc], tmp_path / "o.bigbio")
    [value] = json.loads((tmp_path / "o.bigbio").read_text(encoding="utf-8"))
    assert set(value["linnet"]) == {"passages", "mentions"}
    assert list(read(tmp_path / "o.bigbio")) == [doc]


@pytest.mark.slow
@given(docs=st.lists(documents(), max_size=2))
def test_everything_survives(docs: list[Document], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "o.bigbio"
    write(docs, path)
    for doc, again in zip(docs, bigbio.read(path), strict=True):
        assert with_ids(doc, again) == again


def with_ids(doc: Document, again: Document) -> Document:
    """Return `doc` with the ids that BigBIO had to give mentions without any."""
    pairs = zip(doc.mentions or (), again.mentions or (), strict=True)
    mentions = tuple(replace(ours, id=ours.id or theirs.id) for ours, theirs in pairs)
    return replace(doc, mentions=None if doc.mentions is None else mentions)


LONE = {"id": "1", "type": "t", "text": ["abc"], "offsets": [[0, 3]]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([{"id": "1"}], r"f.json:1: \[0\]: is no document of BigBIO's KB schema: it has no passages"),
        (
            [document(passages=[{**LONE, "offsets": [[0, 4]]}])],
            r"passages\[0\]: the offsets 0-4 have room for 4 characters",
        ),
        ([document(passages=[LONE, {**LONE, "offsets": [[2, 5]]}])], r"passages\[1\]: the passage begins at 2"),
        ([document(passages=[{**LONE, "text": ["a", "b"]}])], "has 2 texts and 1 offsets"),
        ([document(passages=[{**LONE, "offsets": [[0]]}])], r"offsets\[0\]: expected a start and an end"),
        (
            [document(entities=[{**LONE, "text": ["cysts"]}])],
            r"entities\[0\]: the offsets 0-3 say 'Ren', the text 'cysts'",
        ),
        (
            [document(entities=[{**LONE, "offsets": [[0, 99]]}])],
            r"entities\[0\]: the span 0-99 is empty or lies outside",
        ),
        ([document(entities=[{**LONE, "offsets": [[0, -3]]}])], "expected a whole number"),
        ([document(relations=[{"id": "1", "type": "x"}])], r"relations\[0\]: the member 'arg1_id' is missing"),
        (7, "expected an object, found 7"),
    ],
)
def test_faults_name_their_path(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(read(given_as(value, tmp_path), format="bigbio"))
