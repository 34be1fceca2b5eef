"""Label Studio's export (JSON and JSON-MIN): tasks with the regions of a text that people labelled.

Every annotation of a task that was not cancelled is a document, gold; where a task has several, their ids are
``task:annotation`` and ``meta["author"]`` says whose they are. A task with predictions alone gives those of the last,
one with neither has no mentions (None). What was said of a region beside its labels (choices, text areas, taxonomies)
is in ``meta["attributes"]`` by the name of the control, as an object where a control said several things; a control
called ``concept`` or ``concepts`` gives concepts.
Relations between regions are ``meta["relations"]``.

Offsets are code points; older versions counted UTF-16 units, which the text of the region tells. The text of a task is
the member of its data that is called as regions call it, or ``text``, or the only text there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from linnet.corpora.counting import Offsets
from linnet.corpora.ids import to_curie
from linnet.data import Document, Mention, Source
from linnet.errors import DataError
from linnet.text.json_files import Node, nodes

__all__ = ["read"]

MADE = ("annotations", "completions")
CONCEPTS = ("concept", "concepts")
SPAN = frozenset({"start", "end", "text", "labels", "globalOffsets", "confidence"})
ARGUMENTS = {"right": ("from_id", "to_id"), "left": ("to_id", "from_id"), "bi": ("from_id", "to_id")}


def read(path: str | Path) -> Iterator[Document]:
    """Yield the documents of an export, plain or gzip: an array of tasks, one task, or one a line.

    Raises:
        FormatError: no JSON (with the line), tasks without text, regions of something else than plain text, offsets
            that say another text: with the path of the member and what was expected.
    """
    for node in nodes(path):
        tasks = node.items() if isinstance(node.value, list) else [node]
        names = dict.fromkeys(name for task in tasks for name in _names(task))
        for task in tasks:
            try:
                yield from _documents(task, list(names)) if "data" in task.object() else [_minimal(task)]
            except (DataError, RecursionError) as error:
                raise task.fault(f"{error}: expected the values that controls of Label Studio give") from error


def _names(task: Node) -> Iterator[str]:
    """Yield what the regions of a task call the text that they are in."""
    for one in (*(one for key in MADE for one in task.each(key)), *_predictions(task)):
        for result in one.each("result"):
            yield result.text("to_name", "")


def _predictions(task: Node) -> list[Node]:
    """Return the predictions that are there whole: snapshots may hold no more than their numbers."""
    return [one for one in task.each("predictions") if isinstance(one.value, dict)]


def _documents(task: Node, names: Sequence[str]) -> Iterator[Document]:
    made = [one for key in MADE for one in task.each(key)]
    done = [one for one in made if not one.flag("was_cancelled")]
    id = task.name("id", "")
    source: Source = "gold" if done else "pred"
    sets = done or _predictions(task)[-1:]
    for one in sets:
        results = one.each("result")
        text = _text(task.member("data"), [result.text("to_name", "") for result in results] or names)
        meta = {"author": _author(one)} if one.find("completed_by") else {}
        name = f"{id}:{one.name('id', '')}" if len(sets) > 1 else id
        yield _document(name, text, results, source, meta)
    if not sets:
        yield Document(id, _text(task.member("data"), names))


def _author(annotation: Node) -> str:
    who = annotation.member("completed_by")
    if not isinstance(who.value, dict):
        return annotation.name("completed_by")
    return who.text("email", "") or who.name("id")


def _minimal(task: Node) -> Document:
    """Return a task of JSON-MIN, whose data and regions are members of one object."""
    found = [task.member(key) for key, value in task.object().items() if isinstance(value, list)]
    regions = [
        one for listed in found for one in listed.items() if isinstance(one.value, dict) and "labels" in one.value
    ]
    text = _text(Node({"text": None, **_texts(task)}, task.file, task.line, task.path), [])
    offsets = Offsets(text)
    mentions = tuple(_mention(region, offsets, "gold", region.each("labels"), {}) for region in regions)
    meta = {"author": task.name("annotator")} if task.find("annotator") else {}
    return Document(task.name("id", ""), text, mentions=mentions, meta=meta)


def _texts(task: Node) -> Mapping[str, str]:
    """Return the texts of a minimal task that are no times."""
    return {key: value for key, value in task.object().items() if isinstance(value, str) and not key.endswith("_at")}


def _text(data: Node, names: Sequence[str]) -> str:
    """Return the text that regions are in."""
    texts = {key: value for key, value in data.object().items() if isinstance(value, str)}
    for key in (*dict.fromkeys(names), "text"):
        if key in texts:
            return texts[key]
    if len(texts) != 1:
        there = ", ".join(map(repr, texts)) or "none"
        raise data.fault(f"which member is the text? Expected {'text'!r}, or one text alone; the texts are {there}")
    return next(iter(texts.values()))


def _document(id: str, text: str, results: Sequence[Node], source: Source, meta: Mapping[str, Any]) -> Document:
    offsets = Offsets(text)
    regions: dict[str, list[Node]] = {}
    relations = []
    for place, result in enumerate(results):
        if result.text("type", "") == "relation":
            relations.append(_relation(result))
        elif result.find("value") and "start" in result.member("value").object():
            regions.setdefault(result.name("id", f"no id {place}"), []).append(result)
    mentions = tuple(_region(results, offsets, source) for results in regions.values())
    others = {"relations": relations} if relations else {}
    return Document(id, text, mentions=mentions, meta={**meta, **others})


def _region(results: Sequence[Node], offsets: Offsets, source: Source) -> Mention:
    """Return a region with all that was said of it."""
    labels: list[Node] = []
    attributes: dict[str, Any] = {}
    for result in results:
        value = result.member("value")
        labels += value.each("labels")
        said = {key: item for key, item in value.object().items() if key not in SPAN}
        if result.text("type", "") == "textarea":
            said["text"] = value.value.get("text")
        control = result.text("from_name", "")
        attributes |= {control: said if len(said) > 1 else next(iter(said.values()))} if control and said else said
    first = next((one for one in results if one.find("value") and one.value.get("type") != "textarea"), results[0])
    return _mention(first.member("value"), offsets, source, labels, attributes, id=first.name("id", ""))


def _mention(
    value: Node,
    offsets: Offsets,
    source: Source,
    labels: Sequence[Node],
    attributes: Mapping[str, Any],
    *,
    id: str = "",
) -> Mention:
    start, end = value.member("start"), value.member("end")
    if isinstance(start.value, str):
        raise start.fault("is a place in HTML; only regions of plain text (the tag Text) are read")
    surface = value.value.get("text")
    span = offsets.span(start.offset(), end.offset(), surface if isinstance(surface, str) else None)
    if span is None:
        said = f"the offsets {start.value}-{end.value} say {offsets.text[start.value : end.value]!r:.80}"
        raise value.fault(f"{said}, the text {surface!r:.80}; offsets count code points of the task's text")
    types = tuple(label.string() for label in labels)
    told = [item for key in CONCEPTS for item in _told(attributes.get(key))]
    rest = {key: item for key, item in attributes.items() if key not in CONCEPTS}
    return Mention(
        span.start,
        span.end,
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
