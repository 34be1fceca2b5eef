"""MedCATtrainer's export: projects of documents, each with the annotations that people made, checked or threw out.

An annotation that was checked is gold, unless it was thrown out (deleted, terminated, marked irrelevant): those stay in
the document's ``meta["rejected"]``. One that nobody has looked at is a prediction, with MedCAT's similarity in
``signals["acc"]``. Meta-annotations are ``meta["attributes"]`` of a mention: ``{"Experiencer": "Patient"}``. Offsets
are code points (UTF-16 units where only these give the annotation's text).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linnet.corpora.counting import Offsets
from linnet.corpora.ids import to_curie
from linnet.data import Document, Mention
from linnet.errors import DataError
from linnet.text.json_files import Node, nodes

__all__ = ["read"]

REJECTED = ("deleted", "killed", "irrelevant")
SNOMED = re.compile(r"S-(\d+)")  # how MedCAT's models of SNOMED CT write ids


def read(path: str | Path) -> Iterator[Document]:
    """Yield the documents of a MedCATtrainer export with text, plain or gzip.

    A document's id is its name, with its number behind a colon where two have the same name.

    Raises:
        FormatError: no JSON (with the line), an export without text, offsets that say another text: with the path of
            the member and what was expected.
    """
    for node in nodes(path):
        projects = node.member("projects").items()
        names = Counter(item.name("name", "") for project in projects for item in project.each("documents"))
        for project in projects:
            for item in project.each("documents"):
                yield _document(item, project, names)


def _document(item: Node, project: Node, names: Counter[str]) -> Document:
    if item.find("text") is None:
        raise item.fault("has no text: export the project with text")
    name, number = item.name("name", ""), item.name("id", "")
    text = item.text("text")
    offsets = Offsets(text)
    mentions: list[Mention] = []
    rejected: list[Any] = []
    for annotation in item.each("annotations"):
        if any(annotation.flag(key) for key in REJECTED):
            rejected.append(annotation.value)
        else:
            mentions.append(_mention(annotation, offsets))
    meta: dict[str, Any] = {"project": project.name("name", "")} | ({"rejected": rejected} if rejected else {})
    id = name if names[name] == 1 and name else f"{name}:{number}" if name else number
    return Document(id, text, mentions=tuple(mentions), meta=meta)


def _mention(annotation: Node, offsets: Offsets) -> Mention:
    start, end = annotation.member("start").offset(), annotation.member("end").offset()
    value = annotation.text("value", "") or None
    span = offsets.span(start, end, value)
    if span is None:
        problem = f"the offsets {start}-{end} say {offsets.text[start:end]!r:.80}, the value {value!r}"
        raise annotation.fault(f"{problem}; offsets count code points of the text")
    cui = SNOMED.sub(r"SNOMEDCT:\1", annotation.name("cui", ""))
    checked = annotation.flag("validated")
    acc = annotation.find("acc")
    meta = {"author": annotation.name("user")} if annotation.find("user") else {}
    try:
        return Mention(
            span.start,
            span.end,
            id=annotation.name("id", ""),
            source="gold" if checked else "pred",
            concepts=(to_curie(cui),) if cui else None,
            signals={} if checked or acc is None else {"acc": float(acc.value)},
            meta=meta | _attributes(annotation),
        )
    except (DataError, TypeError, ValueError) as error:
        raise annotation.fault(str(error)) from error


def _attributes(annotation: Node) -> dict[str, Any]:
    """Return the meta-annotations by name; exports hold them as a list, or by name already."""
    found = annotation.find("meta_anns")
    if found is None:
        return {}
    listed = [found.member(name) for name in found.value] if isinstance(found.value, dict) else found.items()
    values = {one.text("name"): one.name("value", "") for one in listed}
    return {"attributes": values} if values else {}
