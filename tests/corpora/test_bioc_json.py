"""BioC JSON: its arrangements, values that XML has no place for, and faults."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import bioc_json, bioc_xml
from linnet.data import Document, Mention, Passage, Span
from linnet.errors import DataError, FormatError, LinnetWarning


def made(folder: Path, content: Any) -> Path:
    path = folder / "f.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(text.encode())
    return path


def document(id: str = "1", **more: Any) -> dict[str, Any]:
    annotation = {
        "id": "T1",
        "infons": {"type": "Gene", "identifier": "12"},
        "text": "Fits",
        "locations": [{"offset": 0, "length": 4}],
    }
    passage = {"offset": 0, "infons": {"type": "title"}, "text": "Fits.", "annotations": [annotation]}
    return {"id": id, "passages": [passage], **more}


FITS = Document(
    "1",
    "Fits.",
    passages=(Passage(0, 5, "title"),),
    mentions=(Mention(0, 4, id="T1", types=("Gene",), source="gold", concepts=("NCBIGene:12",)),),
)
TWO = [document("1"), document("2")]


@pytest.mark.parametrize(
    "content",
    [
        {"source": "", "date": "", "key": "", "infons": {}, "documents": TWO},
        json.dumps({"documents": TWO}, indent=2),
        {"PubTator3": TWO},
        TWO,
        json.dumps(TWO, indent=1),
        "".join(json.dumps(item) + "\n" for item in TWO),
        "\n".join(json.dumps(item, indent=1) for item in TWO),
        " ".join(json.dumps(item) for item in TWO),
        '{"documents":[\n' + ",\n".join(json.dumps(item) for item in TWO) + "\n]}\n",
        json.dumps({"documents": TWO[:1]}) + "\n\n" + json.dumps({"PubTator3": TWO[1:]}),
    ],
)
def test_arrangements(tmp_path: Path, content: Any) -> None:
    docs = list(bioc_json.read(made(tmp_path, content)))
    assert docs[0] == FITS
    assert [doc.id for doc in docs] == ["1", "2"]


def test_gzip_and_a_document_of_pubtator_3(tmp_path: Path) -> None:
    value = document(
        id=29355051,  # type: ignore[arg-type]
        _id="29355051|None",
        pmid=29355051,
        authors=["A"],
        infons={},
        relations=[
            {
                "id": "R1",
                "infons": {"score": 0.9, "type": "Association", "role1": {"identifier": "12"}},
                "nodes": [{"refid": "0", "role": "0,1"}],
            }
        ],
    )
    value["passages"][0]["annotations"][0]["infons"] |= {"valid": True, "normalized": [12], "name": None}
    value["passages"][0]["annotations"][0]["score"] = 1
    value["passages"][0]["year"] = 2018
    path = tmp_path / "f.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"PubTator3": [value]}).encode()))
    [doc] = bioc_json.read(path)
    assert doc.id == "29355051"
    assert doc.meta == {
        "fields": {"_id": "29355051|None", "pmid": 29355051, "authors": ("A",)},
        "relations": (
            {
                "id": "R1",
                "type": "Association",
                "args": ({"role": "0,1", "ref": "0"},),
                "meta": {"score": 0.9, "role1": {"identifier": "12"}},
            },
        ),
    }
    [mention] = doc.mentions or ()
    assert mention.meta == {"infons": {"valid": True, "normalized": (12,), "name": None}, "fields": {"score": 1}}
    assert doc.passages[0].meta == {"fields": {"year": 2018}}
    out = io.StringIO()
    bioc_json.write([doc], out)
    assert '"linnet"' not in out.getvalue()
    assert list(bioc_json.read(made(tmp_path, out.getvalue()))) == [doc]
    xml = io.StringIO()
    bioc_xml.write([doc], xml)
    (tmp_path / "f.xml").write_text(xml.getvalue(), encoding="utf-8")
    assert list(bioc_xml.read(tmp_path / "f.xml")) == [doc]


@pytest.mark.parametrize(
    ("infons", "types", "concepts"),
    [
        ({"type": "Gene", "identifier": 12}, ("Gene",), ("NCBIGene:12",)),
        ({"type": "Gene", "identifier": None}, ("Gene",), ()),
        ({"type": ["Gene", "Protein"], "identifier": ["X:1", "X:2"]}, ("Gene", "Protein"), ("X:1", "X:2")),
        ({"type": 3, "identifier": {"a": 1}}, (), None),
        (None, (), None),
    ],
)
def test_values_of_infons(
    tmp_path: Path, infons: Any, types: tuple[str, ...], concepts: tuple[str, ...] | None
) -> None:
    value = document()
    value["passages"][0]["annotations"][0]["infons"] = infons
    [doc] = bioc_json.read(made(tmp_path, value))
    [mention] = doc.mentions or ()
    assert (mention.types, mention.concepts) == (types, concepts)
    out = io.StringIO()
    bioc_json.write([doc], out)
    assert list(bioc_json.read(made(tmp_path, out.getvalue()))) == [doc]


def test_sentences_and_annotations_of_the_document(tmp_path: Path) -> None:
    sentence = {"offset": 3, "text": "Fits.", "annotations": [], "infons": {"n": 1}}
    annotation = {"id": 4, "text": "Fits", "locations": [{"offset": "3", "length": 4}]}
    value = {"id": "1", "passages": [{"offset": 0, "text": "", "sentences": [sentence]}], "annotations": [annotation]}
    [doc] = bioc_json.read(made(tmp_path, value))
    assert (doc.text, doc.sentences) == ("   Fits.", (Span(3, 8),))
    assert doc.mentions == (Mention(3, 7, id="4", source="gold"),)


def test_members_without_a_place_are_told(tmp_path: Path) -> None:
    value = document(relations=[{"id": "R", "nodes": [{"refid": "T1", "x": 1}], "y": 2}])
    with pytest.warns(LinnetWarning, match=r"member that BioC does not have, left out \(2\): line 1 'y'; line 1 'x'"):
        list(bioc_json.read(made(tmp_path, value)))


def changed(where: str, value: Any) -> dict[str, Any]:
    """Return a document with one member changed; `where` is a path such as ``passages.0.offset``."""
    doc: Any = document()
    *path, last = where.split(".")
    place = doc
    for key in path:
        place = place[int(key)] if isinstance(place, list) else place[key]
    place[last] = value
    assert isinstance(doc, dict)
    return doc


ANNOTATION = "passages.0.annotations.0"


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("", None, "is empty"),
        ("no", 1, "no JSON: Expecting value"),
        ("[1]", 1, "expected a collection"),
        ("[NaN]", 1, "NaN is not a JSON number"),
        ("[" * 100_000, 1, "no JSON: (maximum recursion|nested too deeply)"),
        ('{"x": 1}', 1, r"expected a collection .* found an object with 'x'"),
        ("{}", 1, "found an object with nothing"),
        (f"{json.dumps(TWO[0])}\n\n{{", 3, "no JSON"),
        (f"{json.dumps(TWO[0])}\n3\n", 2, "expected a collection"),
        ('{"documents":[\n' + json.dumps(TWO[0]) + ",\n", None, "ends before the collection is closed"),
        ('{"documents":[\n' + json.dumps(TWO[0]) + "\n" + json.dumps(TWO[1]), 3, "expected ']}'"),
        ('{"documents":[\n' + json.dumps(TWO[0]) + ",\n]}", 3, "expected a document on this line"),
        ('{"a" "documents":[\n', 1, "no JSON"),
        ("\n" + json.dumps({"id": "", "passages": []}), 2, "has no id"),
        ({"id": ["1"], "passages": []}, 1, "'id': expected a string"),
        (changed("passages", [1]), 1, "document '1': 'passages': expected a list of objects"),
        (changed("passages", {"a": 1}), 1, "'passages': expected a list"),
        (changed("passages.0.offset", -1), 1, "'offset': expected a number that is not negative, found -1"),
        (changed("passages.0.offset", 1.0), 1, "'offset': expected a number"),
        (changed("passages.0.offset", True), 1, "'offset': expected a number"),
        (changed("passages.0.text", 1), 1, "'text': expected a string"),
        (changed("infons", []), 1, "'infons': expected an object"),
        (changed(f"{ANNOTATION}.text", "Fit"), 1, "document '1', annotation 'T1': its locations 0-4 say 'Fits'"),
        (changed(f"{ANNOTATION}.locations", [{"offset": 0}]), 1, "'length': expected a number"),
        (changed(f"{ANNOTATION}.locations", [{"offset": 0, "length": 0}]), 1, "length 0"),
        (changed(f"{ANNOTATION}.infons", {"linnet:source": 1}), 1, "source"),
        (changed(f"{ANNOTATION}.infons", {"linnet": '{"candidates":[]}'}), 1, "expected an object"),
        (changed(f"{ANNOTATION}.infons", {"linnet": []}), 1, "must hold an object"),
        (changed("relations", [{"nodes": [{}]}]), 1, "a node without refid"),
        ({"source": 1, "documents": []}, 1, "'source': expected a string"),
    ],
)
def test_refused(tmp_path: Path, content: Any, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        list(bioc_json.read(made(tmp_path, content)))
    assert caught.value.line == line


def test_one_text_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.text.json_files.MAX_TEXT", 100)
    with pytest.raises(FormatError, match="put each document on a line of its own"):
        list(bioc_json.read(made(tmp_path, json.dumps(TWO, indent=1))))


def test_written_files_are_read_one_document_at_a_time(tmp_path: Path) -> None:
    docs = [FITS, Document("2", "a\ud800b\x01", meta={"infons": {"n": 1}})]
    out = io.StringIO()
    assert bioc_json.write(docs, out) == 2
    assert json.loads(out.getvalue())["source"] == "Linnet"
    cut = "\n".join(out.getvalue().split("\n")[:2])
    reading = bioc_json.read(made(tmp_path, cut))
    assert next(reading) == FITS
    assert list(bioc_json.read(made(tmp_path, out.getvalue()))) == docs
    out = io.StringIO()
    assert bioc_json.write([], out) == 0
    assert json.loads(out.getvalue())["documents"] == []
    assert list(bioc_json.read(made(tmp_path, out.getvalue()))) == []


def test_what_json_cannot_hold() -> None:
    for meta in ({"x": float("nan")}, {"infons": {"x": float("inf")}}):
        with pytest.raises(DataError, match="document '1' cannot be written as"):
            bioc_json.write([Document("1", "a", meta=meta)], io.StringIO())


@pytest.mark.data
def test_bc5cdr_survives(data: Path, tmp_path: Path) -> None:
    with pytest.warns(LinnetWarning, match="moved there"):
        docs = list(bioc_xml.read(data / "corpora" / "bc5cdr" / "CDR_DevelopmentSet.BioC.xml.gz"))
    with (tmp_path / "o.json").open("w", encoding="utf-8", newline="\n") as out:
        bioc_json.write(docs, out)
    assert list(bioc_json.read(tmp_path / "o.json")) == docs
