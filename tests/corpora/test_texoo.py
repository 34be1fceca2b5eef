"""TeXoo JSON: TrainX's layout byte for byte, offsets of both kinds, faults by their path, terminologies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import documents

from linnet.corpora import read, texoo, write
from linnet.data import Candidates, Concept, Document, Mention, Name, Passage
from linnet.errors import FormatError, LinnetWarning
from linnet.vocabularies.export import write_table
from linnet.vocabularies.texoo_terms import read_texoo

TEXT = "Chédiak-Higashi syndrome (🧬 LYST).\n"


def annotation(begin: int, text: str, ref: str | None, **others: Any) -> dict[str, Any]:
    """An annotation as TrainX's samples have it."""
    plain = {"source": "GOLD", "confidence": 1.0, "refId": ref, "class": "NamedEntityAnnotation", "candidates": []}
    return {"begin": begin, "length": len(text), "text": text, **plain, **others}


def document(*annotations: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    plain = {"begin": 0, "length": 36, "text": TEXT, "id": "27773526", "title": None, "language": "en", "type": None}
    return {**plain, "annotations": list(annotations), "class": "Document", **others}


def dataset(*docs: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "sample_train", "language": "en", "documents": list(docs), "queries": []}


def given_as(value: Any, folder: Path, name: str = "f.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


NAMED = annotation(0, "Chédiak-Higashi syndrome", "C0007965")
MENTIONED = {
    **annotation(29, "LYST", None, **{"class": "MentionAnnotation"}),
    "type": "GENERIC",
    "source": "TRAIN",
    "confidence": 0.0,
}
SECTION = {"class": "SectionAnnotation", "source": "GOLD", "begin": 0, "length": 24, "sectionLabel": "disease.abstract"}
SAMPLES = [
    dataset(document(NAMED)),
    dataset(document(), document(NAMED, id="2", title="Syndromes")),
    dataset(document(annotation(29, "LYST", "C1", source="PRED", confidence=1.7, candidates=["C1", "C2"], uid=4))),
    dataset(document(annotation(29, "LYST", "1130", source="SILVER", confidence=0.25))),
    dataset(document(annotation(29, "LYST", None, source="USER"), MENTIONED)),
    dataset(document(NAMED, {**SECTION, "sectionHeading": "Abstract"}, {**SECTION, "source": "PRED"}, MENTIONED)),
    dataset(document({**SECTION}, NAMED)),
    dataset(document(annotation(28, "LYST", "C1"), length=7416)),  # code points, and a length that is wrong
    dataset(document(annotation(3, "", "C1"), {"class": "Token", "begin": 0, "length": 4})),
    dataset(document(NAMED, id=None, title="Chédiak", language="fr")),
    dataset({key: value for key, value in document(NAMED, title="x").items() if key != "id"}),
    dataset(
        document(annotations=None), document(annotation(29, "LYST", "C1", source="PRED", confidence=1), length=36.0)
    ),
    dataset({key: value for key, value in document(title="x").items() if key != "annotations"}),
    dataset(document({**NAMED, "confidence": 1, "uid": True, "more": [1, 1.0, None]}, id=27773526)),
    {"id": "https://en.wikipedia.org/wiki/x", "language": "en", "type": "disease", "text": TEXT, "annotations": []},
]


@pytest.mark.parametrize("value", SAMPLES)
def test_files_survive_a_round_trip(tmp_path: Path, value: Any) -> None:
    docs = list(read(given_as(value, tmp_path), format="texoo"))
    write(docs, tmp_path / "again.texoo")
    again = json.loads((tmp_path / "again.texoo").read_text(encoding="utf-8"))
    expected = (
        value if "documents" in value else {"name": "linnet", "language": None, "queries": [], "documents": [value]}
    )
    assert json.dumps(again, sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_lists_of_documents_are_read(tmp_path: Path) -> None:
    """As WikiSection is published."""
    docs = list(read(given_as([document(NAMED), document(SECTION, id="2")], tmp_path), format="texoo"))
    assert [(doc.id, len(doc.mentions or ()), len(doc.passages)) for doc in docs] == [("27773526", 1, 0), ("2", 0, 1)]


def test_a_name_that_was_made_up_is_not_written(tmp_path: Path) -> None:
    [doc] = read(given_as(dataset(document(NAMED, id=None)), tmp_path), format="texoo")
    assert doc.id == "f:1"
    for id, expected in (("f:1", None), ("mine", "mine")):
        write([replace(doc, id=id)], tmp_path / "again.texoo")
        [again] = json.loads((tmp_path / "again.texoo").read_text(encoding="utf-8"))["documents"]
        assert again["id"] == expected
        assert ("linnet" in again) == (id == "mine")


@pytest.mark.slow
def test_long_documents_beyond_the_first_plane_are_read_and_written(tmp_path: Path) -> None:
    """Counting UTF-16 units again for each annotation took minutes."""
    text = "𝛼 renal cysts. " * 4_000
    mentions = tuple(Mention(at + 2, at + 13, source="gold") for at in range(0, len(text), 15))
    write([Document("1", text, mentions=mentions)], tmp_path / "x.texoo")
    [doc] = read(tmp_path / "x.texoo")
    assert [mention.span for mention in doc.mentions or ()] == [mention.span for mention in mentions]


def test_what_is_read(tmp_path: Path) -> None:
    pred = annotation(29, "LYST", "1130", source="PRED", confidence=0.5, type="Gene")
    pred["candidates"] = [{"refId": "C0007965", "confidence": 0.5}]
    [doc] = texoo.read(given_as(dataset(document(SECTION, NAMED, pred, MENTIONED)), tmp_path))
    assert doc.id == "27773526"
    assert doc.passages == (Passage(0, 24, "disease.abstract"),)
    named, predicted, mentioned = doc.mentions or ()
    assert named == Mention(0, 24, source="gold", concepts=("UMLS:C0007965",))
    assert replace(predicted, candidates=None) == Mention(
        28, 32, types=("Gene",), concepts=("NCBIGene:1130",), probability=0.5
    )
    assert isinstance(predicted.candidates, Candidates)
    assert predicted.candidates.ids == ("UMLS:C0007965",)
    assert (mentioned.source, mentioned.types, mentioned.concepts) == ("gold", ("GENERIC",), None)
    assert doc.surface(mentioned) == "LYST"


def test_what_was_changed_since_is_written(tmp_path: Path) -> None:
    [doc] = texoo.read(given_as(dataset(document(annotation(29, "LYST", "weird", confidence=3))), tmp_path))
    [mention] = doc.mentions or ()
    changed = replace(doc, mentions=(replace(mention, concepts=("UMLS:C1519254",)), Mention(0, 7, concepts=())))
    write([changed], tmp_path / "o.texoo")
    [written] = json.loads((tmp_path / "o.texoo").read_text(encoding="utf-8"))["documents"]
    assert [one["refId"] for one in written["annotations"]] == ["C1519254", None]
    assert list(read(tmp_path / "o.texoo")) == [changed]


def test_a_plain_document_carries_nothing_of_ours(tmp_path: Path) -> None:
    mention = Mention(4, 8, source="gold", types=("Gene",), concepts=("NCBIGene:1130",))
    write([Document("1", "a 🧬 LYST", mentions=(mention,))], tmp_path / "o.texoo")
    [value] = json.loads((tmp_path / "o.texoo").read_text(encoding="utf-8"))["documents"]
    assert "linnet" not in value
    assert (value["length"], value["annotations"][0]["begin"]) == (9, 5)  # UTF-16 units


@pytest.mark.slow
@given(docs=st.lists(documents(), max_size=2))
def test_everything_survives(docs: list[Document], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "o.texoo"
    write(docs, path)
    assert list(texoo.read(path)) == docs


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "x"}, "the member 'text' is missing; there are 'name'"),
        (dataset({"id": "1"}), r"f.json:1: documents\[0\]: the member 'text' is missing"),
        (
            dataset(document(annotation(0, "Chediak", "C1"))),
            r"documents\[0\].annotations\[0\]: .* say 'Chédiak'.*UTF-16",
        ),
        (dataset(document(annotation(36, "x", "C1"))), r"annotations\[0\]: the span is empty or lies outside"),
        (
            dataset(document({"class": "NamedEntityAnnotation", "begin": -1, "length": 1})),
            "begin: expected a whole number",
        ),
        (
            dataset(document(annotation(29, "LYST", "C1", confidence="high"))),
            "confidence: expected a number, found 'high'",
        ),
        (dataset(document(annotation(29, "LYST", "C1", source=3))), "source: expected a text, found 3"),
        (dataset(document(annotations={})), r"documents\[0\].annotations: expected a list"),
        (dataset({**document(), "linnet": {"mentions": {"4": {}}}}), "there is no mention '4'"),
        (dataset({**document(), "linnet": {"mentions": {"4" * 5000: {}}}}), "there is no mention '4444"),
        (dataset({**document(), "linnet": 7}), "expected an object, found 7"),
        ({"documents": 7}, "documents: expected a list, found 7"),
        ([1], "expected an object"),
    ],
)
def test_faults_name_their_path(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(texoo.read(given_as(value, tmp_path)))


def test_no_json(tmp_path: Path) -> None:
    (tmp_path / "f.texoo").write_text('{"documents": [\n {"text": }\n]}')
    with pytest.raises(FormatError, match=r"f.texoo:2: no JSON"):
        list(read(tmp_path / "f.texoo"))


# --- terminologies ---------------------------------------------------------------------------------------------------


def entry(id: str, title: str | None, text: str = "") -> dict[str, Any]:
    return document(id=id, title=title, text=text, type="UMLS concept")


def test_terminology(tmp_path: Path) -> None:
    path = given_as(
        dataset(entry("C0015967", '"Fever, unspecified",Pyrexia, "Hot ""spell"""', "A high\n temperature.")), tmp_path
    )
    [concept] = read_texoo(path)
    assert concept == Concept(
        "UMLS:C0015967",
        (Name("Fever, unspecified"), Name("Pyrexia"), Name('Hot "spell"')),
        ("UMLS concept",),
        "A high temperature.",
    )
    with pytest.warns(LinnetWarning, match=r"\.texoo cannot hold, and was not given: retired ids \(1\); \.jsonl keeps"):
        write_table([concept, Concept("UMLS:C0000001", replaced_by="")], tmp_path / "o.texoo")
    assert list(read_texoo(tmp_path / "o.texoo")) == [concept]
    [other] = read_texoo(given_as(dataset(entry("7", "Fits")), tmp_path), prefix="X")
    assert other.id == "X:7"
    [other] = read_texoo(given_as(dataset(entry("7", "Fits")), tmp_path), prefix="chebi")
    assert other.id == "CHEBI:7"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (dataset(), "holds no documents, and so no concepts"),
        (dataset(entry("", "x")), r"documents\[0\].id: expected an id"),
        (
            dataset(entry("C0015967", "a"), entry("C0015967", "b")),
            r"documents\[1\]: the id UMLS:C0015967 stands further up",
        ),
        (dataset(entry("C0015967", '"open')), r"documents\[0\].title: expected names as a row of CSV"),
    ],
)
def test_faults_of_terminologies(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(read_texoo(given_as(value, tmp_path)))


def test_a_number_beyond_all_numbers_is_refused(tmp_path: Path) -> None:
    annotation = (
        '{"class":"NamedEntityAnnotation","begin":0,"length":4,"text":"fits","source":"PRED","confidence":1e999}'
    )
    path = tmp_path / "x.texoo"
    path.write_text(f'{{"name":"x","documents":[{{"id":"n","text":"fits","annotations":[{annotation}]}}]}}')
    with pytest.raises(FormatError, match="1e999 is larger than numbers can be"):
        list(read(path))
