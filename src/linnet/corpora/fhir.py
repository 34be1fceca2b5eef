"""FHIR R4, the form that hospitals exchange: a Bundle for each document, one a line (NDJSON); only written.

A Bundle holds a DocumentReference for the note, a resource for each concept of a mention
(`linnet.corpora.fhir_resources`), and the Provenance of these. It is a transaction of ``PUT`` with ids that depend on
the document's id and the mention's place alone: a server that is sent it twice holds it once.

The note's text is left out unless asked for. The patient is what ``meta`` says (`linnet.corpora.hospital.PATIENT`): a
reference (``Patient/7``) as it stands, anything else as an identifier; without one, the subject says that it is
unknown, for FHIR demands one. A document whose id is a reference (``DocumentReference/9``) is on the server already.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TextIO

from linnet import __version__
from linnet.corpora.fhir_checks import OF_DOCUMENTS, OF_PATIENTS, Checks
from linnet.corpora.fhir_resources import HL7, UNKNOWN, Note, Resource, finding, identity, kind_of
from linnet.corpora.hospital import DATE, PATIENT, RESOURCES, clean, day_of, folded, moment, stated
from linnet.corpora.names import namer
from linnet.data import Document, Mention, Rows
from linnet.errors import LinnetError, did_you_mean
from linnet.frozen import EMPTY

__all__ = ["carried", "write"]

JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
NOTE, PERSON = "DocumentReference", "Patient"
LOCAL = r"/[A-Za-z0-9\-.]{1,64}"
ON_SERVER = re.compile(NOTE + LOCAL)
LITERAL = re.compile(rf"{PERSON}{LOCAL}|https?://\S+|urn:(uuid|oid):\S+")  # of a patient; MRN/7 is none


def write(  # noqa: PLR0913 - the options of a format
    docs: Iterable[Document],
    out: TextIO,
    *,
    rows: Rows | None = None,
    made_by: str = "",
    date: str = "",
    collection: bool = False,
    text: bool = False,
    systems: Mapping[str, str] = EMPTY,
    resources: Mapping[str, str] = EMPTY,
) -> int:
    """Write documents as Bundles, one a line, and return how many there were.

    Mentions without a concept are left out, and those that no resource fits; one warning counts them. Others name codes
    without a code system, and prefixes and types in `systems` and `resources` that nothing here has.

    Args:
        docs: the documents.
        out: the open file.
        rows: a knowledge base for the display of codes; without one, or for ids it does not hold, there is none.
        made_by: what Provenance names beside Linnet; `linnet link` names its pipeline.
        date: when the notes were read, in place of now: 2026-01-31 or 2026-01-31T08:00:00Z.
        collection: write Bundles of type collection, to look at or to send on, in place of transactions.
        text: include the text of the note.
        systems: the code systems of further prefixes, KH=https://example.org/kh; of codes without a prefix
            (no_prefix=…), of identifiers of patients (patient=…) and of documents (document=…).
        resources: which resource concepts of a type, or with a prefix (or no_prefix), are, KH=Condition; or none.

    Raises:
        LinnetError: a date that is none, or an unknown resource.
    """
    for name, kind in resources.items():
        if kind not in RESOURCES:
            hint = did_you_mean(kind, RESOURCES)
            raise LinnetError(f"resources: {name} is {kind!r}, expected one of {', '.join(RESOURCES)}{hint}")
    maker = _Maker(namer(rows), made_by, moment(date).isoformat(), collection, text, systems, resources)
    checks = Checks(rows, systems, resources)
    for doc in docs:
        out.write(JSON.encode(maker.bundle(doc)) + "\n")
        checks.see(doc)
    checks.tell(maker.left)
    return checks.count


def carried(doc: Document, *, resources: Mapping[str, str] = EMPTY, **_others: object) -> Document:
    """Return `doc` with the mentions and meta that a Bundle has a place for."""
    kept = {folded(name) for name in (*PATIENT, *DATE)}
    return replace(
        doc,
        meta={key: value for key, value in doc.meta.items() if folded(key) in kept},
        mentions=tuple(mention for mention in doc.mentions or () if _kinds(mention, resources)),
    )


def _kinds(mention: Mention, resources: Mapping[str, str]) -> list[tuple[int, str, str]]:
    """Return place, id and resource of the concepts of a mention that there are resources for."""
    told = ((place, id, kind_of(id, mention, resources)) for place, id in enumerate(mention.concepts or ()))
    return [one for one in told if one[2]]


class _Maker:
    """Makes Bundles."""

    def __init__(
        self,
        name: Callable[[str], str],
        made_by: str,
        recorded: str,
        collection: bool,
        text: bool,
        systems: Mapping[str, str],
        resources: Mapping[str, str],
    ) -> None:
        self._name, self._made_by, self._recorded = name, made_by, recorded
        self._collection, self._text = collection, text
        self._systems, self._resources = systems, resources
        self.left = 0  # mentions that no resource fits

    def bundle(self, doc: Document) -> Resource:
        """Return the Bundle of one document."""
        space = self._systems.get(OF_DOCUMENTS, "")
        there = doc.id if ON_SERVER.fullmatch(doc.id) else ""
        own = identity(NOTE, space, doc.id)
        note = Note(doc, there or self._reference(NOTE, own), self._subject(doc), day_of(doc), self._systems)
        found = self._findings(note, space)
        all = [*([] if there else [self._document(note, own)]), *found]
        if found:
            all.append(self._provenance(note, identity("Provenance", space, doc.id), found))
        bundle: Resource = {"resourceType": "Bundle", "id": identity("Bundle", space, doc.id)}
        bundle["type"] = "collection" if self._collection else "transaction"
        return bundle | ({"entry": [self._entry(resource) for resource in all]} if all else {})

    def _entry(self, resource: Resource) -> Resource:
        if self._collection:
            return {"fullUrl": f"urn:uuid:{resource['id']}", "resource": resource}
        url = f"{resource['resourceType']}/{resource['id']}"
        return {"resource": resource, "request": {"method": "PUT", "url": url}}

    def _reference(self, kind: str, id: str) -> str:
        return f"urn:uuid:{id}" if self._collection else f"{kind}/{id}"

    def _subject(self, doc: Document) -> Resource:
        said = stated(doc, PATIENT)
        if not said:
            return {**UNKNOWN, "display": "unknown patient"}
        if LITERAL.fullmatch(said):
            return {"reference": said}
        system = self._systems.get(OF_PATIENTS, "")
        return {"type": PERSON, "identifier": ({"system": system} if system else {}) | {"value": said}}

    def _document(self, note: Note, id: str) -> Resource:
        doc, name = note.doc, clean(note.doc.id).strip()
        system = self._systems.get(OF_DOCUMENTS, "")
        made: Resource = {"resourceType": NOTE, "id": id}
        if name:
            made["identifier"] = [({"system": system} if system else {}) | {"value": name}]
        made |= {"status": "current", "subject": note.subject}
        attachment: Resource = {"contentType": "text/plain; charset=utf-8"}
        if self._text and doc.text:
            attachment["data"] = base64.b64encode(doc.text.encode()).decode()
        attachment |= {"title": name} if name else {}
        return made | {"content": [{"attachment": attachment | ({"creation": note.day} if note.day else {})}]}

    def _findings(self, note: Note, space: str) -> list[Resource]:
        made = []
        met: Counter[object] = Counter()
        for mention in note.doc.mentions or ():
            kinds = _kinds(mention, self._resources)
            self.left += not kinds
            for place, id, kind in kinds:
                key = (*map(tuple, mention.spans), mention.terminology, place)
                one = finding(note, mention, id, kind, self._name(id))
                made.append(_with_id(one, identity(space, note.doc.id, key, met[key])))
                met[key] += 1
        return made

    def _provenance(self, note: Note, id: str, found: list[Resource]) -> Resource:
        versions: list[Resource] = [{"type": {"text": "software"}, "value": __version__}]
        if made_by := clean(self._made_by).strip():
            versions.append({"type": {"text": "pipeline"}, "value": made_by})
        device = {"resourceType": "Device", "id": "linnet", "version": versions}
        device["deviceName"] = [{"name": "Linnet", "type": "model-name"}]
        assembler = {"system": f"{HL7}/provenance-participant-type", "code": "assembler", "display": "Assembler"}
        return {
            "resourceType": "Provenance",
            "id": id,
            "contained": [device],
            "target": [{"reference": self._reference(one["resourceType"], one["id"])} for one in found],
            "recorded": self._recorded,
            "agent": [{"type": {"coding": [assembler]}, "who": {"reference": "#linnet"}}],
            "entity": [{"role": "source", "what": {"reference": note.reference}}],
        }


def _with_id(resource: Resource, id: str) -> dict[str, Any]:
    return {"resourceType": resource["resourceType"], "id": id, **resource}
