"""Label Studio's export (JSON and JSON-MIN): tasks with the regions of a text that people labelled.

Every annotation of a task that was not cancelled is a document, gold; where a task has several, their ids are
``task:annotation`` and ``meta["author"]`` says whose they are. A task with predictions alone gives those of the last,
one with neither has no mentions (None). What was said of a region beside its labels (choices, text areas, taxonomies)
is in ``meta["attributes"]`` by the name of the control, as an object where a control said several things; a control
called ``concept`` or ``concepts`` gives concepts, the score of a region is ``signals["score"]``.
Relations between regions are ``meta["relations"]``. What was said of the whole text is ``meta["attributes"]`` of the
document; ``meta["data"]`` holds the other members of the task's data (of JSON-MIN, where choices stand among them, all
but who and when and what is about a region), ``meta["task"]`` the task's own ``meta``, ``meta["prediction"]`` model and
score of a prediction. Predictions beside annotations, all but the last, and tasks whose text is an address (of an
image, a recording, or a text that the export does not hold) are left out and counted in a warning; drafts, cancelled
annotations and times are left out without.

JSON-MIN repeats a task for each of its annotations, and offsets tell which region a control is about. Tasks without id
are called by the file and their number.

Offsets are code points; older versions counted UTF-16 units, which the texts of the regions tell. The text of a task is
the member of its data that is called as regions call it, or ``text``, or the only text there is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from linnet.corpora.counting import Offsets
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import to_curie
from linnet.corpora.sources import stem
from linnet.data import Document, Mention, Source
from linnet.errors import DataError, FormatError
from linnet.reporter import warn
from linnet.text.files import shown
from linnet.text.json_files import Node, nodes

__all__ = ["read"]

MADE = ("annotations", "completions")
CONCEPTS = ("concept", "concepts")
SPAN = frozenset({"start", "end", "text", "labels", "globalOffsets", "confidence"})
WORK = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"})  # of JSON-MIN
ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|/data/|data:\w+/)\S+")
ARGUMENTS = {"right": ("from_id", "to_id"), "left": ("to_id", "from_id"), "bi": ("from_id", "to_id")}


def read(path: str | Path, *, name: str = "", faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of an export, plain or gzip: an array of tasks, one task, or one a line.

    Raises:
        FormatError: no JSON (with the line), tasks without text, regions of something else than plain text, offsets
            that say another text: with the path of the member and what was expected.
    """
    left_out: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for node in nodes(path):
        tasks = node.items() if isinstance(node.value, list) else [node]
        names = dict.fromkeys(name for task in tasks for name in _names(task))
        for task, id in zip(tasks, _ids(tasks, name or stem(path), seen), strict=True):
            try:
                data = _data(task)
                if ADDRESS.fullmatch(data.text(_key(data, [*_names(task), *names]))):
                    left_out["tasks whose text is an address (of an image, a recording, a text elsewhere)"] += 1
                elif _whole(task):
                    yield from _documents(task, id, list(names), left_out, faults)
                else:
                    yield _minimal(task, id, faults)
            except FormatError as error:
                faults.leave_out(error, whole=True)
            except (DataError, RecursionError) as error:
                problem = f"{error}: expected the values that controls of Label Studio give"
                faults.leave_out(task.fault(problem), whole=True)
    if left_out := +left_out:
        named = ", ".join(f"{what} ({count:,})" for what, count in sorted(left_out.items()))
        warn(f"{shown(path)}: left out: {named}")


def _whole(task: Node) -> bool:
    """Return whether a task is one of JSON; in JSON-MIN its data are not apart."""
    return "data" in task.object()


def _ids(tasks: Sequence[Node], name: str, seen: Counter[str]) -> list[str]:
    """Return the ids of tasks, with that of the annotation behind where JSON-MIN repeats a task; `seen` counts them."""
    ids = [task.name("id", "") or f"{name}:{number}" for number, task in enumerate(tasks, seen.total() + 1)]
    here, told = Counter(ids), []
    for id, task in zip(ids, tasks, strict=True):
        seen[id] += 1
        again = max(here[id], seen[id]) > 1 and not _whole(task)
        told.append(f"{id}:{task.name('annotation_id', '') or seen[id]}" if again else id)
    return told


def _names(task: Node) -> Iterator[str]:
    """Yield what the regions of a task call the text that they are in."""
    for one in (*(one for key in MADE for one in task.each(key)), *_predictions(task)):
        for result in one.each("result"):
            yield result.text("to_name", "")


def _predictions(task: Node) -> list[Node]:
    """Return the predictions that are there whole: snapshots may hold no more than their numbers."""
    return [one for one in task.each("predictions") if isinstance(one.value, dict)]


def _documents(task: Node, id: str, names: Sequence[str], left_out: Counter[str], faults: Faults) -> Iterator[Document]:
    made = [one for key in MADE for one in task.each(key)]
    done = [one for one in made if not one.flag("was_cancelled")]
    predictions = _predictions(task)
    if done:
        left_out["predictions of tasks with annotations"] += len(predictions)
    else:
        left_out["predictions before the last of a task"] += len(predictions[:-1])
    sets = done or predictions[-1:]
    for place, one in enumerate(sets, 1):
        results = one.each("result")
        text, meta = _text(task, [result.text("to_name", "") for result in results] or names)
        if one.find("completed_by"):
            meta["author"] = _author(one)
        if not done and (about := {key: one.value[key] for key in ("model_version", "score") if one.find(key)}):
            meta["prediction"] = about
        name = f"{id}:{one.name('id', '') or place}" if len(sets) > 1 else id
        yield _document(name, text, results, "gold" if done else "pred", meta, faults)
    if not sets:
        text, meta = _text(task, names)
        yield Document(id, text, meta=meta)


def _author(annotation: Node) -> str:
    who = annotation.member("completed_by")
    if not isinstance(who.value, dict):
        return annotation.name("completed_by")
    return who.text("email", "") or who.name("id")


def _minimal(task: Node, id: str, faults: Faults) -> Document:
    """Return a task of JSON-MIN, whose data and regions are members of one object."""
    key = _key(_data(task), [])
    members = {name: task.member(name) for name in task.object() if name not in WORK and name != key}
    lists = [member.items() for member in members.values() if isinstance(member.value, list)]
    regions = [one for listed in lists for one in listed if _labelled(one.value)]
    offsets = Offsets(task.text(key), map(_place, regions), faults)
    attributes: list[dict[str, Any]] = [{} for _ in regions]
    places: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for region, said in zip(regions, attributes, strict=True):
        places.setdefault(_place(region)[:2], []).append(said)
    data = {
        name: rest for name, member in members.items() if (rest := _rest(name, member.value, places)) not in (None, [])
    }
    mentions = faults.make_each(
        lambda pair: _mention(pair[0], offsets, "gold", pair[0].each("labels"), pair[1]),
        zip(regions, attributes, strict=True),
    )
    meta: dict[str, Any] = {"author": task.name("annotator")} if task.find("annotator") else {}
    return Document(id, offsets.text, mentions=tuple(mentions), meta=meta | ({"data": data} if data else {}))


def _labelled(item: Any) -> bool:
    return isinstance(item, dict) and "labels" in item


def _rest(control: str, value: Any, places: Mapping[tuple[Any, Any], Sequence[dict[str, Any]]]) -> Any:
    """Return what a member of a task holds beside regions, and give them, by their offsets, what it says of them.

    Where several regions have the same offsets, one word is about all of them, as many words as there are regions are
    about one each; any others stay.
    """
    if not isinstance(value, list):
        return value
    rest: list[Any] = []
    found: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for item in value:
        place = (item.get("start"), item.get("end")) if isinstance(item, dict) else ()
        if len(place) == 2 and all(isinstance(at, int) for at in place) and place in places and not _labelled(item):
            found.setdefault(place, []).append(item)
        elif not _labelled(item):
            rest.append(item)
    for place, items in found.items():
        regions = places[place]
        said = items * len(regions) if len(items) == 1 else items
        if len(said) != len(regions):
            rest += items
            continue
        for attributes, item in zip(regions, said, strict=True):
            attributes.update(_attribute(control, item, area=isinstance(item.get("text"), list)))
    return rest


def _data(task: Node) -> Node:
    """Return the data of a task; those of a minimal one are its texts that are no times."""
    if _whole(task):
        return task.member("data")
    texts = {key: value for key, value in task.object().items() if isinstance(value, str) and not key.endswith("_at")}
    return Node({"text": None, **texts}, task.file, task.line, task.path)


def _text(task: Node, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the text that regions are in, and what a document's ``meta`` keeps of the task beside it."""
    data = _data(task)
    key = _key(data, names)
    others = {"data": {name: value for name, value in data.object().items() if name != key}}
    others["task"] = dict(task.member("meta").object()) if task.find("meta") else {}
    return data.text(key), {name: value for name, value in others.items() if value}


def _key(data: Node, names: Sequence[str]) -> str:
    """Return the member of a task's data that is the text that regions are in."""
    texts = {key: value for key, value in data.object().items() if isinstance(value, str)}
    for key in (*dict.fromkeys(names), "text"):
        if key in texts:
            return key
    if len(texts) != 1:
        there = ", ".join(map(repr, texts)) or "none"
        raise data.fault(f"which member is the text? Expected {'text'!r}, or one text alone; the texts are {there}")
    return next(iter(texts))


def _document(
    id: str, text: str, results: Sequence[Node], source: Source, meta: Mapping[str, Any], faults: Faults
) -> Document:
    regions: dict[str, list[Node]] = {}
    relations = []
    attributes: dict[str, Any] = {}
    for place, result in enumerate(results):
        if result.text("type", "") == "relation":
            relations.append(_relation(result))
        elif result.find("value") and "start" in result.member("value").object():
            regions.setdefault(result.name("id", f"no id {place}"), []).append(result)
        elif result.find("value"):
            attributes |= _said(result)
    placed = list(faults.make_each(lambda said: (said, _place(_first(said).member("value"))), regions.values()))
    offsets = Offsets(text, (place for _, place in placed), faults)
    mentions = tuple(faults.make_each(lambda pair: _region(pair[0], offsets, source), placed))
    others: dict[str, Any] = {"attributes": attributes, "relations": relations}
    return Document(id, text, mentions=mentions, meta={**meta, **{key: told for key, told in others.items() if told}})


def _region(results: Sequence[Node], offsets: Offsets, source: Source) -> Mention:
    """Return a region with all that was said of it."""
    labels: list[Node] = []
    attributes: dict[str, Any] = {}
    for result in results:
        labels += result.member("value").each("labels")
        attributes |= _said(result)
    first = _first(results)
    found = _mention(first.member("value"), offsets, source, labels, attributes, id=first.name("id", ""))
    scores = [score.number() for result in results if (score := result.find("score"))]
    return replace(found, signals={"score": scores[0]}) if scores else found


def _first(results: Sequence[Node]) -> Node:
    """Return which result of a region says where it is: a text area has a text of its own there."""
    return next((one for one in results if one.find("value") and one.value.get("type") != "textarea"), results[0])


def _place(value: Node) -> tuple[int, int, str | None]:
    """Return the offsets of a region, and the text that it says it has."""
    start, end = value.member("start"), value.member("end")
    if isinstance(start.value, str):
        raise start.fault("is a place in HTML; only regions of plain text (the tag Text) are read")
    surface = value.value.get("text")
    return start.offset(), end.offset(), surface if isinstance(surface, str) else None


def _said(result: Node) -> dict[str, Any]:
    """Return what a control said beside labels, by its name."""
    area = result.text("type", "") == "textarea"
    return _attribute(result.text("from_name", ""), result.member("value").object(), area=area)


def _attribute(control: str, value: Mapping[str, Any], *, area: bool) -> dict[str, Any]:
    """Return what the value of a control says beside labels; that of a text area is in place of the region's text."""
    said = {key: item for key, item in value.items() if key not in SPAN}
    if area:
        said["text"] = value.get("text")
    return {control: said if len(said) > 1 else next(iter(said.values()))} if control and said else said


def _mention(
    value: Node,
    offsets: Offsets,
    source: Source,
    labels: Sequence[Node],
    attributes: Mapping[str, Any],
    *,
    id: str = "",
) -> Mention:
    span = offsets.place(*_place(value), value.fault)
    types = tuple(label.string() for label in labels)
    told = [item for key in CONCEPTS for item in _told(attributes.get(key))]
    rest = {key: item for key, item in attributes.items() if key not in CONCEPTS}
    return Mention(
        *span,
        id=id,
        types=types,
        source=source,
        concepts=tuple(to_curie(item, *types[:1]) for item in told) or None,
        meta={"attributes": rest} if rest else {},
    )


def _told(value: Any) -> list[str]:
    """Return the texts in what a control said; of a path of a taxonomy the last."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in _told(item)]
    listed = value if isinstance(value, list) else [value]
    return [text for item in listed if (text := _last(item)) is not None]


def _last(value: Any) -> str | None:
    """Return the last text in lists of lists, however deep, or None."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            return item
        waiting += item if isinstance(item, list) else []
    return None


def _relation(result: Node) -> dict[str, Any]:
    """Return a relation with the roles from and to; one that points to the left is turned round."""
    ends = ARGUMENTS.get(result.text("direction", "right"), ARGUMENTS["right"])
    args = [{"role": role, "ref": result.name(key)} for role, key in zip(("from", "to"), ends, strict=True)]
    labels = [label.string() for label in result.each("labels")]
    return {"type": ",".join(labels), "args": args}
