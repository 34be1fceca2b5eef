"""MedCATtrainer's export: what people checked is gold, what they threw out is no mention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import read
from linnet.data import Mention
from linnet.errors import FormatError, LinnetWarning

TEXT = "🩺 Left knee pain, no ACL tear."
FLAGS = {"validated": True, "correct": True, "deleted": False, "alternative": False, "killed": False}


DEEP: list[Any] = []
for _ in range(900):
    DEEP = [DEEP]


def annotation(start: int, value: str, cui: str, **others: Any) -> dict[str, Any]:
    plain = {"id": 9, "user": "ann", "cui": cui, "value": value, "start": start, "end": start + len(value)}
    return {**plain, **FLAGS, "manually_created": False, "acc": 1.0, "meta_anns": [], **others}


def export(*annotations: Any, **others: Any) -> dict[str, Any]:
    doc = {"id": 7, "name": "Subject 7", "text": TEXT, "last_modified": "2020", "annotations": annotations, **others}
    return {"projects": [{"name": "Knees", "id": 1, "cuis": "", "tuis": "", "documents": [doc]}]}


def given_as(value: Any, folder: Path) -> Path:
    path = folder / "MedCAT_Export.json"
    path.write_text(json.dumps(value))
    return path


def test_what_is_read(tmp_path: Path) -> None:
    meta_anns = [{"name": "Experiencer", "value": "Patient", "acc": 1.0, "validated": True}]
    rejected = annotation(24, "tear", "C0043246", correct=False, deleted=True)
    value = export(
        annotation(7, "knee", "S-72696002", meta_anns=meta_anns),
        annotation(12, "pain", "C0030193", validated=False, correct=False, acc=0.5),
        annotation(2, "Left", "7771000", meta_anns={"Experiencer": meta_anns[0]}, user=None),
        rejected,
        annotation(21, "ACL", "C1", killed=True),
    )
    [doc] = read(given_as(value, tmp_path))
    attributes = {"attributes": {"Experiencer": "Patient"}}
    assert (doc.id, doc.text, doc.meta["project"]) == ("Subject 7", TEXT, "Knees")
    assert doc.mentions == (
        Mention(7, 11, id="9", source="gold", concepts=("SNOMEDCT:72696002",), meta={"author": "ann", **attributes}),
        Mention(12, 16, id="9", concepts=("UMLS:C0030193",), signals={"acc": 0.5}, meta={"author": "ann"}),
        Mention(2, 6, id="9", source="gold", concepts=("7771000",), meta=attributes),
    )
    found: Any = doc.meta["rejected"]
    assert [one["value"] for one in found] == ["tear", "ACL"]


def test_what_annotators_did_otherwise(tmp_path: Path) -> None:
    times = {"create_time": "2021-03-01T10:00:00Z", "last_modified": None}
    one = annotation(7, "knee", "C1", id=1, user=None, alternative=True, manually_created=True, comment="hm", **times)
    relation = {"id": 3, "start_entity": 1, "end_entity": 9, "relation": "near", "validated": True}
    value = export(one, annotation(12, "pain", "C2"), relations=[relation, {"relation": "nowhere"}])
    with pytest.warns(LinnetWarning, match=r"without start_entity and end_entity, left out \(1\): .*relations\[1\]"):
        [doc] = read(given_as(value, tmp_path))
    first, second = doc.mentions or ()
    said = {"create_time": "2021-03-01T10:00:00Z", "comment": "hm"}
    assert first.meta == {"manually_created": True, "alternative": True, **said}
    assert second.meta == {"author": "ann"}
    args = ({"role": "start", "ref": "1"}, {"role": "end", "ref": "9"})
    told = {"id": "3", "type": "near", "args": args, "meta": {"validated": True}}
    assert doc.meta == {"project": "Knees", "relations": (told,), "last_modified": "2020"}


def test_offsets_of_a_browser(tmp_path: Path) -> None:
    [doc] = read(given_as(export(annotation(8, "knee", "C1")), tmp_path))  # UTF-16 units
    assert [doc.surface(mention) for mention in doc.mentions or ()] == ["knee"]


def test_a_document_is_counted_in_one_way(tmp_path: Path) -> None:
    text, terms = "😀😀😀 no no.", (annotation(7, "no", "C1"), annotation(10, "no", "C2"))
    [doc] = read(given_as(export(*terms, text=text), tmp_path))
    assert [mention.span for mention in doc.mentions or ()] == [(4, 6), (7, 9)]


FAILURE = {"cui": "C0035078", "start": 7, "end": 21}


@pytest.mark.parametrize("entities", [[FAILURE], {"1": FAILURE}])
@pytest.mark.parametrize("key", ["annotations", "entities"])
def test_annotations_by_number_and_by_another_name(tmp_path: Path, key: str, entities: Any) -> None:
    value = {"projects": [{"documents": [{key: entities, "text": "He has kidney failure"}]}]}
    [doc] = read(given_as(value, tmp_path))
    assert doc.mentions == (Mention(7, 21, source="gold", concepts=("UMLS:C0035078",)),)


def test_offsets_as_texts(tmp_path: Path) -> None:
    [doc] = read(given_as(export(annotation(7, "knee", "C1") | {"start": "7", "end": "11"}), tmp_path))
    assert [mention.span for mention in doc.mentions or ()] == [(7, 11)]


def test_documents_of_the_same_name(tmp_path: Path) -> None:
    value = export()
    [project] = value["projects"]
    project["documents"] += [{**project["documents"][0], "id": 8}, {"id": 9, "name": "", "text": "", "annotations": []}]
    assert [doc.id for doc in read(given_as(value, tmp_path))] == ["Subject 7:7", "Subject 7:8", "9"]


def test_documents_that_several_people_annotated(tmp_path: Path) -> None:
    value = export()
    [project] = value["projects"]
    value["projects"] += [{**project, "name": "Legs"}, {**project, "name": "Legs", "id": 2}]
    assert [doc.id for doc in read(given_as(value, tmp_path))] == [
        "Subject 7:7:Knees",
        "Subject 7:7:Legs:1",
        "Subject 7:7:Legs:2",
    ]


def test_what_says_not_that_it_was_checked_was(tmp_path: Path) -> None:
    value = annotation(7, "knee", "C1")
    del value["validated"]
    [doc] = read(given_as(export(value, annotation(7, "knee", "C1", validated=None)), tmp_path))
    assert [mention.source for mention in doc.mentions or ()] == ["gold", "pred"]


def test_only_ids_of_snomed_look_like_them(tmp_path: Path) -> None:
    found = export(*(annotation(7, "knee", cui) for cui in ("HPS-12", "S-12a", " S-12")))
    [doc] = read(given_as(found, tmp_path))
    assert [mention.concepts for mention in doc.mentions or ()] == [("HPS-12",), ("S-12a",), ("SNOMEDCT:12",)]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (export(text=None), r"projects\[0\].documents\[0\]: has no text: export the project with text"),
        (export(annotation(7, "knees", "C1")), r"annotations\[0\]: the offsets 7-12 say 'knee ', the text 'knees'"),
        (export(annotation(7, "knee", "C1", validated="yes")), "validated: expected true or false"),
        (
            export(annotation(7, "knee", "C1", validated=False, acc=[])),
            r"\[0\].acc: expected a finite number",
        ),
        (export(annotation(7, "knee", "C1", validated=False, acc="NaN")), "acc: expected a finite number, found 'NaN'"),
        (export(annotation(7, "knee", "C1", validated=False, acc=True)), "acc: expected a finite number, found True"),
        (
            export(annotation(7, "knee", "C1", validated=False, acc=10**400)),
            "a finite number, found 10000",
        ),
        (export(annotation(7, "knee", "C1", deleted=True, tags=DEEP)), r"documents\[0\]: a value is nested"),
        (export({"start": "x7", "end": 9}), "start: expected a whole number"),
        ({"projects": {}}, "projects: expected a list"),
    ],
)
def test_faults_name_their_path(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(read(given_as(value, tmp_path), format="medcat"))


def test_a_project_alone(tmp_path: Path) -> None:
    value = export(annotation(7, "knee", "S-72696002"))
    whole = list(read(given_as(value, tmp_path)))
    [project] = value["projects"]
    assert list(read(given_as(project, tmp_path))) == whole
    project |= {"name": 'a "b" [c]: {', "cuis": None}
    assert [doc.mentions for doc in read(given_as(project, tmp_path))] == [doc.mentions for doc in whole]


@pytest.mark.parametrize(
    ("told", "assertion"),
    [
        ({"Presence": "False"}, "negated"),
        ({"Presence": "False", "Subject": "Family"}, "family"),
        ({"Presence": "Hypothetical", "Time": "Past"}, "hypothetical"),
        ({"Presence": "True", "Time": "Past"}, "historical"),
        ({"Presence": "True", "Subject": "Patient", "Time": "Recent"}, "affirmed"),
        ({"Severity": "high"}, ""),
    ],
)
def test_meta_annotations_of_its_own_models_are_assertions(
    tmp_path: Path, told: dict[str, str], assertion: str
) -> None:
    meta_anns = [{"name": name, "value": value} for name, value in told.items()]
    path = given_as(export(annotation(7, "knee", "1", meta_anns=meta_anns)), tmp_path)
    [doc] = read(path)
    [mention] = doc.mentions or ()
    assert (mention.assertion, mention.meta["attributes"]) == (assertion, told)
