"""Label Studio's exports: labels, several people, predictions, regions with more to them, offsets of all versions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import read
from linnet.data import Document, Mention
from linnet.errors import FormatError, LinnetWarning

TEXT = "💩 Renal cysts\nafter lithium."


def region(start: int, text: str, *labels: str, id: str = "r1", **others: Any) -> dict[str, Any]:
    value = {"start": start, "end": start + len(text), "text": text, "labels": list(labels)}
    return {"value": value, "id": id, "from_name": "label", "to_name": "note", "type": "labels", **others}


def task(*annotations: Any, **others: Any) -> dict[str, Any]:
    data = {"note": TEXT, "source": "clinic"}
    return {
        "id": 5,
        "annotations": list(annotations),
        "file_upload": "x.csv",
        "predictions": [],
        "data": data,
        **others,
    }


def annotation(*results: Any, **others: Any) -> dict[str, Any]:
    return {
        "id": 12,
        "completed_by": 1,
        "result": list(results),
        "was_cancelled": False,
        "ground_truth": False,
        **others,
    }


def given_as(value: Any, folder: Path) -> Path:
    path = folder / "project-1.json"
    path.write_text(json.dumps(value))
    return path


def only(value: Any, folder: Path) -> Document:
    [doc] = read(given_as(value, folder))
    return doc


def test_what_is_read(tmp_path: Path) -> None:
    concept = {"value": {"start": 2, "end": 13, "text": ["MESH:D052177"]}, "id": "r1", "from_name": "concept"}
    certain = {"value": {"start": 2, "end": 13, "text": "Renal cysts", "choices": ["sure"]}, "id": "r1"}
    results = (
        region(2, "Renal cysts", "Disease"),
        {**concept, "to_name": "note", "type": "textarea"},
        {**certain, "from_name": "certainty", "to_name": "note", "type": "choices"},
        region(20, "lithium", "Chemical", id="r2"),
        {"from_id": "r2", "to_id": "r1", "type": "relation", "direction": "right", "labels": ["causes"]},
        {"value": {"choices": ["good"]}, "from_name": "quality", "to_name": "note", "type": "choices"},
    )
    doc = only([task(annotation(*results))], tmp_path)
    assert (doc.id, doc.text) == ("5", TEXT)
    attributes = {"attributes": {"certainty": ("sure",)}}
    assert doc.mentions == (
        Mention(2, 13, id="r1", types=("Disease",), source="gold", concepts=("MESH:D052177",), meta=attributes),
        Mention(20, 27, id="r2", types=("Chemical",), source="gold"),
    )
    args = ({"role": "from", "ref": "r2"}, {"role": "to", "ref": "r1"})
    relations = ({"type": "causes", "args": args},)
    said = {"attributes": {"quality": ("good",)}, "data": {"source": "clinic"}}
    assert doc.meta == {"author": "1", "relations": relations, **said}


def test_older_versions_counted_utf16_units(tmp_path: Path) -> None:
    broken = region(9, "cysts\nafter", "X", id="r2")
    broken["value"]["text"] = "cysts\\nafter"
    doc = only([task(annotation(region(3, "Renal cysts", "Disease"), broken))], tmp_path)
    assert [doc.surface(mention) for mention in doc.mentions or ()] == ["Renal cysts", "cysts\nafter"]


SMILES = "😀😀😀 no no."
TWICE = [{"start": start, "end": start + 2, "text": "no", "labels": ["N"]} for start in (7, 10)]


@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "text": SMILES, "label": TWICE, "annotator": 3, "annotation_id": 4},
        {
            "id": 1,
            "data": {"text": SMILES},
            "annotations": [annotation(*({"value": value, "to_name": "text"} for value in TWICE))],
        },
    ],
)
def test_a_document_is_counted_in_one_way(tmp_path: Path, value: Any) -> None:
    doc = only([value], tmp_path)
    assert [mention.span for mention in doc.mentions or ()] == [(4, 6), (7, 9)]


def test_several_people(tmp_path: Path) -> None:
    by = {"id": 13, "completed_by": {"id": 2, "email": "b@x.org"}}
    cancelled = annotation(id=14, was_cancelled=True)
    docs = list(read(given_as([task(annotation(region(2, "Renal", "D")), annotation(**by), cancelled)], tmp_path)))
    assert [(doc.id, doc.meta["author"], len(doc.mentions or ())) for doc in docs] == [
        ("5:12", "1", 1),
        ("5:13", "b@x.org", 0),
    ]


def test_predictions(tmp_path: Path) -> None:
    last = {"id": 2, "score": 0.5, "model_version": "v1", "result": [region(2, "Renal", "D", score=0.25)]}
    with pytest.warns(LinnetWarning, match=r"project-1.json: left out: predictions before the last of a task \(1\)"):
        doc = only([task(predictions=[{"id": 1, "result": []}, last], meta={"src": "ehr"})], tmp_path)
    found = [(mention.source, mention.span, mention.signals) for mention in doc.mentions or ()]
    assert found == [("pred", (2, 7), {"score": 0.25})]
    told = {"data": {"source": "clinic"}, "task": {"src": "ehr"}}
    assert doc.meta == {"prediction": {"model_version": "v1", "score": 0.5}, **told}
    with pytest.warns(LinnetWarning, match=r"left out: predictions of tasks with annotations \(1\)"):
        assert only([task(annotation(), predictions=[last])], tmp_path).mentions == ()
    assert only([{"id": 1, "data": {"text": "Fits."}}], tmp_path) == Document("1", "Fits.")


def test_small_and_old_exports(tmp_path: Path) -> None:
    least = {"start": 2, "end": 7, "text": "Renal", "labels": ["D"]}
    times = {"created_at": "2023", "annotator": 3, "annotation_id": 4}
    doc = only([{"id": 5, "text": TEXT, "label": [least], **times}], tmp_path)
    assert doc == Document("5", TEXT, mentions=(Mention(2, 7, types=("D",), source="gold"),), meta={"author": "3"})
    more = {"doctype": "ED note", "tags": [1], "label": [least], "sure": [{"start": 2, "end": 7, "choices": ["x"]}]}
    doc = only([{"id": 5, "text": TEXT, **more, **times}], tmp_path)
    assert doc.meta["data"] == {"doctype": "ED note", "tags": (1,)}
    assert [mention.meta for mention in doc.mentions or ()] == [{"attributes": {"sure": ("x",)}}]
    old = {"id": 5, "data": {"text": TEXT}, "completions": [annotation(region(2, "Renal", "D"))]}
    assert [mention.types for mention in only(old, tmp_path).mentions or ()] == [("D",)]


RENAL = {"start": 2, "end": 7, "text": "Renal"}
CYSTS = {"start": 8, "end": 13, "text": "cysts"}
MADE_BY = {"id": 5, "text": TEXT, "annotator": 3, "annotation_id": 4}


def test_both_layouts_say_the_same_of_a_region(tmp_path: Path) -> None:
    tree, sure, area = {"taxonomy": [["Kidney", "MESH:D052177"]]}, {"choices": ["yes", "no"]}, {"text": ["a", "b"]}
    said = (("concept", "taxonomy", tree), ("sure", "choices", sure), ("note", "textarea", area))
    results = [
        {"value": {**RENAL, **value}, "id": "r1", "from_name": control, "to_name": "note", "type": type}
        for control, type, value in said
    ]
    [mention] = only([task(annotation(region(2, "Renal", "D"), *results))], tmp_path).mentions or ()
    listed = {control: [{**RENAL, **value}] for control, _, value in said}
    doc = only([{**MADE_BY, "label": [{**RENAL, "labels": ["D"]}], **listed}], tmp_path)
    assert doc.mentions == (replace(mention, id=""),)
    assert (mention.concepts, doc.meta) == (("MESH:D052177",), {"author": "3"})


def test_regions_of_json_min_are_known_by_their_offsets(tmp_path: Path) -> None:
    labels = [{**RENAL, "labels": ["D"]}, {**RENAL, "labels": ["E"]}, {**CYSTS, "labels": ["D"]}]
    one, two = ({"taxonomy": [[f"MESH:D00000{number}"]]} for number in (1, 2))
    concepts = [{**RENAL, **one}, {**RENAL, **two}, {**CYSTS, **one}, {**CYSTS, **two}, "x", {"start": [1], "end": 2}]
    doc = only(
        [{**MADE_BY, "label": labels, "concept": concepts, "sure": [{**RENAL, "choices": ["y", "n"]}]}], tmp_path
    )
    sure = {"attributes": {"sure": ("y", "n")}}
    assert [(mention.concepts, mention.meta) for mention in doc.mentions or ()] == [
        (("MESH:D000001",), sure),
        (("MESH:D000002",), sure),
        (None, {}),
    ]
    left = ({"start": 8, "end": 13, "text": "cysts", "taxonomy": ((f"MESH:D00000{number}",),)} for number in (1, 2))
    assert doc.meta["data"] == {"concept": ("x", {"start": (1,), "end": 2}, *left)}


def test_json_min_of_several_people(tmp_path: Path) -> None:
    other, alone = {**MADE_BY, "annotator": 2, "annotation_id": 7}, {**MADE_BY, "id": 6}
    assert [doc.id for doc in read(given_as([MADE_BY, other, alone], tmp_path))] == ["5:4", "5:7", "6"]
    bare = {"id": 5, "text": TEXT, "annotator": 3, "annotation_id": None}
    assert [doc.id for doc in read(given_as([MADE_BY, bare], tmp_path))] == ["5:4", "5:2"]
    path = tmp_path / "lines.json"
    path.write_text("\n".join(map(json.dumps, (MADE_BY, other, alone))))
    assert [doc.id for doc in read(path)] == ["5", "5:7", "6"]


def test_tasks_without_id_are_numbered(tmp_path: Path) -> None:
    bare = {"data": {"text": TEXT}, "annotations": [{"result": []}, {"result": []}]}
    tasks: list[Any] = [bare, {**bare, "id": 7}, {"data": {"text": TEXT}, "predictions": []}]
    names = ["project-1:1:1", "project-1:1:2", "7:1", "7:2", "project-1:3"]
    assert [doc.id for doc in read(given_as(tasks, tmp_path))] == names
    least = [{"text": TEXT, "annotator": 1, "annotation_id": number} for number in (1, 2)]
    assert [doc.id for doc in read(given_as(least, tmp_path))] == ["project-1:1", "project-1:2"]


def test_taxonomies_give_concepts(tmp_path: Path) -> None:
    value = {"start": 2, "end": 7, "text": "Renal", "taxonomy": [["Kidney", "MESH:D052177"]]}
    results = (region(2, "Renal", "D"), {"value": value, "id": "r1", "from_name": "concepts", "type": "taxonomy"})
    [mention] = only([task(annotation(*results))], tmp_path).mentions or ()
    assert mention.concepts == ("MESH:D052177",)


def test_the_values_of_a_control_keep_their_order(tmp_path: Path) -> None:
    place = {"start": 2, "end": 7, "text": "Renal"}
    several = {"value": {**place, "choices": ["sure"], "number": 3, "rating": 4}, "id": "r1", "to_name": "note"}
    bare = {"value": {**place, "number": 5}, "id": "r1"}
    results = (region(2, "Renal", "D"), {**several, "from_name": "more"}, bare)
    [mention] = only([task(annotation(*results))], tmp_path).mentions or ()
    said = {"choices": ("sure",), "number": 3, "rating": 4}
    assert mention.meta["attributes"] == {"more": said, "number": 5}
    [mention] = only([task(annotation({**several, "from_name": "concept"}))], tmp_path).mentions or ()
    assert mention.concepts == ("sure",)


def test_snapshots_without_predictions_and_addresses(tmp_path: Path) -> None:
    by = {"completed_by": {"id": 3, "first_name": "", "email": None}}
    whole = {"id": 13, "result": [region(2, "Renal", "D")]}
    [mention] = only([task(predictions=[whole, 14])], tmp_path).mentions or ()
    assert mention.types == ("D",)
    bare = {"data": {"text": TEXT}, "predictions": [12, 13]}
    first, second = read(given_as([{**bare, "id": 1, "annotations": [annotation(**by)]}, {**bare, "id": 2}], tmp_path))
    assert (first.meta, first.mentions, second.mentions) == ({"author": "3"}, (), None)


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def test_nested_lists_take_no_longer_than_they_are(tmp_path: Path) -> None:
    value = {"start": 2, "end": 7, "text": "Renal", "taxonomy": nested("MESH:D052177", 100)}
    results = (region(2, "Renal", "D"), {"value": value, "id": "r1", "from_name": "concepts", "type": "taxonomy"})
    [mention] = only([task(annotation(*results))], tmp_path).mentions or ()
    assert mention.concepts == ("MESH:D052177",)
    value["taxonomy"] = nested("x", 900)
    with pytest.raises(FormatError, match=r"\[0\]: a value is nested in more than 100 levels: expected"):
        only([task(annotation(*results[:1], {**results[1], "from_name": "tree"}))], tmp_path)


BOX = {"x": 1.5, "y": 2, "width": 30, "height": 4, "rectanglelabels": ["Lesion"]}
DRAWN = {"value": BOX, "id": "r1", "from_name": "label", "to_name": "image", "type": "rectanglelabels"}


@pytest.mark.parametrize("address", ["https://a.org/1.jpg", "/data/upload/1.jpg", "data:image/png;base64,iVBORw0K"])
def test_tasks_of_images_are_left_out(tmp_path: Path, address: str) -> None:
    image = {**task(annotation(DRAWN)), "data": {"image": address}}
    with pytest.warns(LinnetWarning, match=r"left out: tasks whose text is an address \(of an image, .*\) \(1\)$"):
        [doc] = read(given_as([image, task(annotation(region(2, "Renal", "D")))], tmp_path))
    assert doc.text == TEXT
    minimal = {"id": 1, "annotation_id": 2, "image": address, "label": [BOX]}
    with pytest.warns(LinnetWarning, match=r"tasks whose text is an address"):
        assert not list(read(given_as([minimal], tmp_path)))


IN_HTML = {"value": {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "labels": ["D"]}, "to_name": "note"}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            [task(annotation(region(2, "renal", "D")))],
            r"\[0\].annotations\[0\].result\[0\].value: the offsets 2-7 say 'Renal'",
        ),
        ([task(annotation(IN_HTML))], "value.start: is a place in HTML"),
        (
            [task(annotation(region(2, "Renal", "D", to_name="x")))],
            r"data: which member is the text\?.*'note', 'source'",
        ),
        ([task(annotation(region(2, "Renal", 7)))], r"labels\[0\]: expected a text, found 7"),  # type: ignore[arg-type]
        ([{"id": 1, "data": []}], "data: expected an object"),
        ([7], r"\[0\]: expected an object"),
    ],
)
def test_faults_name_their_path(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(read(given_as(value, tmp_path), format="label_studio"))
