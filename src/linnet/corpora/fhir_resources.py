"""Mentions as resources of FHIR R4: Condition, Observation, MedicationStatement, FamilyMemberHistory.

What the text says of a finding (`assertion`) decides:

============  ====================================  =======================  =======================
assertion     Condition                             Observation              MedicationStatement
============  ====================================  =======================  =======================
affirmed      active, unconfirmed                   true, POS                unknown
negated       refuted                               false, NEG               not-taken
uncertain     active, provisional                   no value, IND            unknown
historical    inactive, unconfirmed                 true, POS, a period      completed
family        FamilyMemberHistory                   FamilyMemberHistory      left out
hypothetical  left out                              left out                 intended
(unread)      unconfirmed, no clinical status       no value                 unknown
============  ====================================  =======================  =======================

A period is in the past: it ends with the note, or nobody knows when; all other findings have a day, or none.
What people have marked (``gold``, ``user``) is confirmed and final in place of unconfirmed and preliminary. A drug that
is affirmed is not "active": that the text names it does not say that it is taken, it may be what an allergy is to.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from linnet.corpora.hospital import NONE, TERMINOLOGIES, clean, prefix_of, resource_of, surface
from linnet.corpora.said import is_denied
from linnet.data import Document, Mention

__all__ = ["HL7", "NO_PREFIX", "UNKNOWN", "Note", "Resource", "finding", "identity", "key_of", "kind_of", "mapped"]

Resource: TypeAlias = dict[str, Any]

HL7 = "http://terminology.hl7.org/CodeSystem"
DERIVED = "http://hl7.org/fhir/StructureDefinition/derivation-reference"
OWN = "urn:x-linnet:fhir:mention"
TERMINOLOGY = "urn:x-linnet:terminology:"
NO_PREFIX = "no_prefix"  # what options call the prefix of codes that have none
DECIMALS = 4  # of a probability
FAMILY = "FamilyMemberHistory"
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
UNKNOWN = {"extension": [{"url": ABSENT, "valueCode": "unknown"}]}
MADE = {"system": f"{HL7}/v3-ObservationValue", "code": "AIAST", "display": "Artificial Intelligence asserted"}
VERIFIED = {"negated": "refuted", "uncertain": "provisional"}
CLINICAL = {"affirmed": "active", "uncertain": "active", "historical": "inactive"}
SEEN = {"affirmed": ("POS", True), "historical": ("POS", True), "negated": ("NEG", False), "uncertain": ("IND", None)}
MEANT = {"POS": "Positive", "NEG": "Negative", "IND": "Indeterminate"}
TAKEN = {"negated": "not-taken", "historical": "completed", "hypothetical": "intended"}


class Note(NamedTuple):
    """What all resources of a document share."""

    doc: Document
    reference: str  # to its DocumentReference
    subject: Resource
    day: str
    systems: Mapping[str, str]


def identity(*key: object) -> str:
    """Return an id that depends on `key` alone: what is loaded twice is there once.

    >>> identity("7", 0) == identity("7", 0)
    True
    """
    # not repr, which escapes what this Python's Unicode does not know yet
    digest = hashlib.blake2b(ascii(key).encode(), digest_size=16).digest()
    return str(uuid.UUID(bytes=digest, version=5))


def key_of(id: str) -> str:
    """Return what options call the prefix of a concept's id.

    >>> key_of("HP:0001250"), key_of("A01")
    ('HP', 'no_prefix')
    """
    return prefix_of(id)[0] or NO_PREFIX


def mapped(id: str, types: tuple[str, ...], chosen: Mapping[str, str]) -> str:
    """Return the resource that a concept is, by what a user chose for its types or prefix, else as we know it."""
    named = (chosen[name] for name in (*types, key_of(id)) if name in chosen)
    return next(named, "") or resource_of(id, types)


def kind_of(id: str, mention: Mention, chosen: Mapping[str, str]) -> str:
    """Return the resource that says what a mention says of a concept, or nothing if none does.

    What relatives do not have either (``meta["denied"]``) is no history of theirs.

    >>> kind_of("HP:0001250", Mention(0, 4, assertion="family"), {})
    'FamilyMemberHistory'
    >>> kind_of("HP:0001250", Mention(0, 4, assertion="family", meta={"denied": True}), {})
    ''
    """
    resource = mapped(id, mention.types, chosen)
    drug = resource == "MedicationStatement"
    if resource == NONE or (mention.assertion == "hypothetical" and not drug):
        return ""
    if mention.assertion == "family":
        return "" if drug or is_denied(mention) else FAMILY
    return resource


def finding(note: Note, mention: Mention, id: str, kind: str, name: str) -> Resource:
    """Return what a mention says of one of its concepts, without its id.

    Args:
        note: the document.
        mention: the mention.
        id: the concept's id.
        kind: the resource, as `kind_of` has it.
        name: the concept's preferred name, if it is known.
    """
    concept: Resource = {"coding": [_coding(id, name, note.systems)]}
    if (text := surface(note.doc, mention)).strip():
        concept["text"] = text
    head: Resource = {"resourceType": kind}
    if mention.source == "pred":
        head["meta"] = {"security": [MADE]}
    head["extension"] = [*_places(note, mention), _told(mention)]
    return head | MAKERS[kind](note, mention, concept)


def _condition(note: Note, mention: Mention, concept: Resource) -> Resource:
    told: Resource = {}
    if mention.assertion in CLINICAL:
        told["clinicalStatus"] = _code("condition-clinical", CLINICAL[mention.assertion])
    sure = "confirmed" if mention.source != "pred" and mention.assertion else "unconfirmed"
    told["verificationStatus"] = _code("condition-ver-status", VERIFIED.get(mention.assertion, sure))
    told |= {"code": concept, "subject": note.subject}
    return told | ({"recordedDate": note.day} if note.day else {})


def _observation(note: Note, mention: Mention, concept: Resource) -> Resource:
    told: Resource = {"status": "preliminary" if mention.source == "pred" else "final"}
    told |= {"code": concept, "subject": note.subject}
    told |= _time(note, past=mention.assertion == "historical")
    sign, value = SEEN.get(mention.assertion, ("", None))
    if value is None:
        told["dataAbsentReason"] = _code("data-absent-reason", "unknown")
    else:
        told["valueBoolean"] = value
    if sign:
        told["interpretation"] = [_code("v3-ObservationInterpretation", sign, MEANT[sign])]
    return told | {"derivedFrom": [{"reference": note.reference}]}


def _time(note: Note, *, past: bool) -> Resource:
    """Return when a finding was seen: on the day of the note, or before it; nobody knows without that day."""
    if past:
        return {"effectivePeriod": {"end": note.day} if note.day else {"_end": UNKNOWN}}
    return {"effectiveDateTime": note.day} if note.day else {"_effectiveDateTime": UNKNOWN}


def _medication(note: Note, mention: Mention, concept: Resource) -> Resource:
    told: Resource = {"status": TAKEN.get(mention.assertion, "unknown"), "medicationCodeableConcept": concept}
    told["subject"] = note.subject
    return told | ({"dateAsserted": note.day} if note.day else {}) | {"derivedFrom": [{"reference": note.reference}]}


def _relative(note: Note, _mention: Mention, concept: Resource) -> Resource:
    told: Resource = {"status": "partial", "patient": note.subject}
    told |= {"date": note.day} if note.day else {}
    return told | {
        "relationship": _code("v3-RoleCode", "FAMMEMB", "family member"),
        "condition": [{"code": concept}],
    }


MAKERS = {
    "Condition": _condition,
    "Observation": _observation,
    "MedicationStatement": _medication,
    FAMILY: _relative,
}


def _code(system: str, code: str, display: str = "") -> Resource:
    shown = {"display": display} if display else {}
    return {"coding": [{"system": f"{HL7}/{system}", "code": code} | shown]}


def _coding(id: str, name: str, systems: Mapping[str, str]) -> Resource:
    prefix, local = prefix_of(clean(id))
    known = TERMINOLOGIES.get(prefix)
    system = systems.get(prefix or NO_PREFIX) or (known.system if known else "")
    if prefix and not system:
        system = TERMINOLOGY + quote(prefix, safe="")
    code = " ".join((f"{prefix}:{local}" if known and known.form == "curie" else local).split())
    told = {"system": system, "code": code, "display": clean(name).strip()}
    return {key: value for key, value in told.items() if value} or {"display": "no code"}


def _places(note: Note, mention: Mention) -> list[Resource]:
    """Return where a mention stands in the note: HL7's extension, one for each part of a discontinuous one."""
    return [
        {
            "url": DERIVED,
            "extension": [
                {"url": "reference", "valueReference": {"reference": note.reference}},
                {"url": "offset", "valueInteger": start},
                {"url": "length", "valueInteger": end - start},
            ],
        }
        for start, end in mention.spans
    ]


def _told(mention: Mention) -> Resource:
    """Return what FHIR has no place for, in an extension of ours."""
    told: list[Resource] = [{"url": "source", "valueCode": mention.source}]
    if mention.assertion:
        told.append({"url": "assertion", "valueCode": mention.assertion})
    if mention.probability is not None:
        told.append({"url": "probability", "valueDecimal": round(mention.probability, DECIMALS)})
    if mention.probability is not None or mention.calibration:
        told.append({"url": "calibration", "valueCode": mention.calibration or "uncalibrated"})
    if terminology := clean(mention.terminology).strip():
        told.append({"url": "terminology", "valueString": terminology})
    told += [{"url": "type", "valueString": text} for type in mention.types if (text := clean(type).strip())]
    return {"url": OWN, "extension": told}
