"""MedCATtrainer's export: projects of documents, each with the annotations that people made, checked or threw out.

An annotation that was checked is gold, unless it was thrown out (deleted, terminated, marked irrelevant): those stay in
the document's ``meta["rejected"]``. Without a word on whether it was checked, it was, as MedCAT has it. One that nobody
has looked at is a prediction, with MedCAT's similarity in ``signals["acc"]``. Meta-annotations are
``meta["attributes"]`` of a mention, ``{"Experiencer": "Patient"}``, and where they are those of MedCAT's own models
(Presence, Subject, Time, …) its assertion too; comment, times and what an annotator did otherwise
(``manually_created``, ``alternative``) are ``meta`` by their own names, where there are any. Relations between
annotations are ``meta["relations"]`` of the document with the roles start and end. Annotations are the member
``annotations`` of a document, or ``entities``: a list, or an object that numbers them. Offsets are code points (UTF-16
units where only these give the text of all annotations of a document).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from linnet.corpora.counting import Offsets
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import to_curie
from linnet.data import Assertion, Document, Mention
from linnet.errors import DataError, FormatError
from linnet.text.files import shown
from linnet.text.json_files import Node, nodes
from linnet.vocabularies.malformed import Oddities

__all__ = ["read"]

FLAGS = ("manually_created", "alternative")
NOTED = ("comment", "create_time", "last_modified")
ENDS = ("start_entity", "end_entity")
REJECTED = ("deleted", "killed", "irrelevant")
NUMBER = re.compile(r"[0-9]{1,12}")  # an offset as a text
SAYS: Mapping[tuple[str, str], Assertion] = {
    ("subject", "family"): "family",
    ("experiencer", "family"): "family",
    ("presence", "hypothetical"): "hypothetical",
    ("presence", "false"): "negated",
    ("negation", "yes"): "negated",
    ("time", "past"): "historical",
    ("presence", "true"): "affirmed",
    ("negation", "no"): "affirmed",
}
SNOMED = re.compile(r"S-(\d+)")  # how MedCAT's models of SNOMED CT write ids


def read(path: str | Path, *, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a MedCATtrainer export with text, or of one of its projects alone, plain or gzip.

    A document's id is its name; behind colons stand its number where two have the same name, and the project's name and
    number where two have the same number too: the same document, given to several people.

    Raises:
        FormatError: no JSON (with the line), an export without text, offsets that say another text: with the path of
            the member and what was expected.
    """
    odd = Oddities(shown(path))
    for node in nodes(path):
        alone = "documents" in node.object() and "projects" not in node.object()
        projects = [node] if alone else node.member("projects").items()
        places = [(item, project) for project in projects for item in project.each("documents")]
        for (item, project), id in zip(places, _ids(places), strict=True):
            try:
                yield _document(item, project, id, odd, faults)
            except FormatError as error:
                faults.leave_out(error, whole=True)
            except (DataError, RecursionError) as error:
                faults.leave_out(item.fault(f"{error}: expected what MedCATtrainer exports"), whole=True)
    odd.warn()


def _ids(places: Sequence[tuple[Node, Node]]) -> list[str]:
    """Return an id for each document of a project, as short as tells it from the others."""
    keys = [tuple(node.name(key, "") for node in place for key in ("name", "id")) for place in places]
    sizes = range(1, 5)
    counts = Counter(key[:size] for key in keys for size in sizes)
    enough = (next((size for size in sizes if any(key[:size]) and counts[key[:size]] == 1), len(key)) for key in keys)
    return [":".join(filter(None, key[:size])) for key, size in zip(keys, enough, strict=True)]


def _document(item: Node, project: Node, id: str, odd: Oddities, faults: Faults) -> Document:
    if item.find("text") is None:
        raise item.fault("has no text: export the project with text")
    text = item.text("text")
    kept: list[Node] = []
    rejected: list[Any] = []
    for annotation in _listed(item, "annotations") or _listed(item, "entities"):
        if any(annotation.flag(key) for key in REJECTED):
            rejected.append(annotation.value)
        else:
            kept.append(annotation)
    placed = list(faults.make_each(lambda annotation: (annotation, _place(annotation)), kept))
    offsets = Offsets(text, (place for _, place in placed), faults)
    mentions = faults.make_each(lambda pair: _mention(*pair, offsets), placed)
    others = {"rejected": rejected, "relations": _relations(item, odd), "last_modified": item.text("last_modified", "")}
    meta = {"project": project.name("name", ""), **{key: value for key, value in others.items() if value}}
    return Document(id, text, mentions=tuple(mentions), meta=meta)


def _relations(item: Node, odd: Oddities) -> list[dict[str, Any]]:
    """Return the relations of a document as its ``meta`` has them; those without two ends are counted."""
    found = []
    for relation in item.each("relations"):
        if not all(relation.find(end) for end in ENDS):
            odd.add("relations without start_entity and end_entity, left out", 0, relation.path)
            continue
        args = [{"role": end.removesuffix("_entity"), "ref": relation.name(end)} for end in ENDS]
        rest = {key: value for key, value in relation.object().items() if key not in ("id", "relation", *ENDS)}
        told = {"id": relation.name("id", ""), "type": relation.text("relation", ""), "args": args, "meta": rest}
        found.append({key: value for key, value in told.items() if value})
    return found


def _place(annotation: Node) -> tuple[int, int, str | None]:
    """Return the offsets of an annotation, and the text that it says it has."""
    start, end = (
        int(place.value) if isinstance(place.value, str) and NUMBER.fullmatch(place.value) else place.offset()
        for place in (annotation.member("start"), annotation.member("end"))
    )
    return start, end, annotation.text("value", "") or None


def _mention(annotation: Node, place: tuple[int, int, str | None], offsets: Offsets) -> Mention:
    span = offsets.place(*place, annotation.fault)
    checked = "validated" not in annotation.object() or annotation.flag("validated")
    acc = annotation.find("acc")
    meta: dict[str, Any] = {"author": annotation.name("user")} if annotation.find("user") else {}
    meta |= {key: True for key in FLAGS if annotation.flag(key)}
    meta |= {key: said for key in NOTED if (said := annotation.text(key, ""))}
    return Mention(
        *span,
        id=annotation.name("id", ""),
        source="gold" if checked else "pred",
        concepts=_concepts(annotation.name("cui", "")),
        signals={} if checked or acc is None else {"acc": acc.number()},
        assertion=_assertion(attributes := _attributes(annotation)),
        meta=meta | attributes,
    )


def _concepts(cui: str) -> tuple[str, ...] | None:
    snomed = SNOMED.fullmatch(cui.strip())
    return (f"SNOMEDCT:{snomed[1]}" if snomed else to_curie(cui),) if cui else None


def _attributes(annotation: Node) -> dict[str, Any]:
    """Return the meta-annotations by name; exports hold them as a list, or by name already."""
    values = {one.text("name"): one.name("value", "") for one in _listed(annotation, "meta_anns")}
    return {"attributes": values} if values else {}


def _assertion(meta: Mapping[str, Any]) -> Assertion:
    """Return what the meta-annotations of MedCAT's own models say, of whom first; "" if they say nothing."""
    told = {name.lower(): value.lower() for name, value in meta.get("attributes", {}).items()}
    return next((assertion for (name, value), assertion in SAYS.items() if told.get(name) == value), "")


def _listed(item: Node, key: str) -> list[Node]:
    """Return the items of a member that is a list, or an object of such items; none if it is not there or null."""
    found = item.find(key)
    if found is not None and isinstance(found.value, dict):
        return [found.member(name) for name in found.value]
    return item.each(key)
