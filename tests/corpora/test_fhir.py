"""FHIR Bundles: what is written, exactly; every resource is valid R4; a second load gives the same ids."""

from __future__ import annotations

import base64
import io
import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora.test_formats import Kb
from tests.strategies import documents

from linnet.corpora import fitting, read, write
from linnet.corpora.fhir import carried
from linnet.corpora.fhir import write as write_fhir
from linnet.corpora.fhir_resources import identity
from linnet.data import ASSERTIONS, Document, Mention, Span
from linnet.errors import FormatError, LinnetError, LinnetWarning

pytestmark = pytest.mark.filterwarnings("ignore:.*unknown patient")

DATE = "2026-01-31"
FITS = Mention(3, 7, types=("Phenotype",), concepts=("HP:0001250",), probability=0.97, assertion="negated")
DOC = Document("7", "No fits.", mentions=(FITS,), meta={"patient_id": "Patient/4", "date": "2020-05-01"})


def bundles(docs: Iterable[Document], **options: Any) -> list[dict[str, Any]]:
    out = io.StringIO()
    write_fhir(docs, out, **{"date": DATE, **options})
    return [json.loads(line) for line in out.getvalue().split("\n") if line]  # an id may hold U+2028


def resources(docs: Iterable[Document], **options: Any) -> list[dict[str, Any]]:
    return [entry["resource"] for bundle in bundles(docs, **options) for entry in bundle.get("entry", ())]


def findings(*mentions: Mention, text: str = "Metformin for asthma.", **options: Any) -> list[dict[str, Any]]:
    made = resources([Document("7", text, mentions=mentions)], **options)
    return [one for one in made if one["resourceType"] not in ("DocumentReference", "Provenance")]


def test_a_bundle() -> None:
    [bundle] = bundles([DOC], made_by="hpo")
    note, fits, origin = (entry["resource"] for entry in bundle["entry"])
    assert [entry["request"] for entry in bundle["entry"]] == [
        {"method": "PUT", "url": f"{one['resourceType']}/{one['id']}"} for one in (note, fits, origin)
    ]
    reference = {"reference": f"DocumentReference/{note['id']}"}
    assert {key: bundle[key] for key in bundle if key != "entry"} == {
        "resourceType": "Bundle",
        "id": bundle["id"],
        "type": "transaction",
    }
    assert note == {
        "resourceType": "DocumentReference",
        "id": note["id"],
        "identifier": [{"value": "7"}],
        "status": "current",
        "subject": {"reference": "Patient/4"},
        "content": [
            {"attachment": {"contentType": "text/plain; charset=utf-8", "title": "7", "creation": "2020-05-01"}}
        ],
    }
    hl7 = "http://terminology.hl7.org/CodeSystem"
    place = [
        {"url": "reference", "valueReference": reference},
        {"url": "offset", "valueInteger": 3},
        {"url": "length", "valueInteger": 4},
    ]
    told = [
        {"url": "source", "valueCode": "pred"},
        {"url": "assertion", "valueCode": "negated"},
        {"url": "probability", "valueDecimal": 0.97},
        {"url": "calibration", "valueCode": "uncalibrated"},
        {"url": "type", "valueString": "Phenotype"},
    ]
    machine = {
        "system": f"{hl7}/v3-ObservationValue",
        "code": "AIAST",
        "display": "Artificial Intelligence asserted",
    }
    negative = {"system": f"{hl7}/v3-ObservationInterpretation", "code": "NEG", "display": "Negative"}
    assert fits == {
        "resourceType": "Observation",
        "id": fits["id"],
        "meta": {"security": [machine]},
        "extension": [
            {"url": "http://hl7.org/fhir/StructureDefinition/derivation-reference", "extension": place},
            {"url": "urn:x-linnet:fhir:mention", "extension": told},
        ],
        "status": "preliminary",
        "code": {"coding": [{"system": "http://human-phenotype-ontology.org", "code": "HP:0001250"}], "text": "fits"},
        "subject": {"reference": "Patient/4"},
        "effectiveDateTime": "2020-05-01",
        "valueBoolean": False,
        "interpretation": [{"coding": [negative]}],
        "derivedFrom": [reference],
    }
    assert origin["target"] == [{"reference": f"Observation/{fits['id']}"}]
    assert origin["recorded"] == "2026-01-31T00:00:00+00:00"
    assert origin["entity"] == [{"role": "source", "what": reference}]
    [device] = origin["contained"]
    assert [version["type"]["text"] for version in device["version"]] == ["software", "pipeline"]
    assert device["version"][1]["value"] == "hpo"
    assert origin["agent"][0]["who"] == {"reference": f"#{device['id']}"}


CONDITION = {
    "": (None, "unconfirmed", "unconfirmed"),
    "affirmed": ("active", "unconfirmed", "confirmed"),
    "negated": (None, "refuted", "refuted"),
    "uncertain": ("active", "provisional", "provisional"),
    "historical": ("inactive", "unconfirmed", "confirmed"),
}
OBSERVATION = {
    "": (None, None),
    "affirmed": (True, "POS"),
    "negated": (False, "NEG"),
    "uncertain": (None, "IND"),
    "historical": (True, "POS"),
}
MEDICATION = {"negated": "not-taken", "historical": "completed", "hypothetical": "intended"}


def coded(value: Any) -> str | None:
    first = value[0] if isinstance(value, list) else value
    return None if first is None else str(first["coding"][0]["code"])


@pytest.mark.filterwarnings("ignore:.*no place in FHIR")
@pytest.mark.parametrize("assertion", ["", *ASSERTIONS])
def test_what_the_text_says_of_a_finding(assertion: Any) -> None:
    disease, sign, drug = (
        Mention(14, 20, concepts=(id,), assertion=assertion, source="pred")
        for id in ("MONDO:0004979", "HP:0002099", "RXNORM:6809")
    )
    by_people = Mention(14, 20, concepts=("MONDO:0004979",), assertion=assertion, source="gold")
    made = findings(disease, by_people, sign, drug)
    if assertion == "family":
        assert [one["resourceType"] for one in made] == ["FamilyMemberHistory"] * 3
        assert coded(made[0]["relationship"]) == "FAMMEMB"
        assert coded(made[0]["condition"][0]["code"]) == "MONDO:0004979"
        return
    if assertion != "hypothetical":
        clinical, machine, people = CONDITION[assertion]
        for one, sure in zip(made[:2], (machine, people), strict=True):
            assert (one["resourceType"], coded(one.get("clinicalStatus"))) == ("Condition", clinical)
            assert coded(one["verificationStatus"]) == sure
        assert ("meta" in made[0], "meta" in made[1]) == (True, False), "what people marked is not a machine's"
        assert made[2]["resourceType"] == "Observation"
        assert (made[2].get("valueBoolean"), coded(made[2].get("interpretation"))) == OBSERVATION[assertion]
        assert ("dataAbsentReason" in made[2]) == (OBSERVATION[assertion][0] is None)
    assert (made[-1]["resourceType"], made[-1]["status"]) == (
        "MedicationStatement",
        MEDICATION.get(assertion, "unknown"),
    )
    assert coded(made[-1]["medicationCodeableConcept"]) == "6809"


def test_findings_of_the_past_end_before_the_note() -> None:
    past = Mention(3, 7, concepts=("HP:0001250",), assertion="historical")
    made = resources([Document("7", "No fits.", mentions=(past,), meta={"date": "2020-05-01"})])[1]
    assert made["effectivePeriod"] == {"end": "2020-05-01"}
    undated = findings(past)[0]
    assert undated["effectivePeriod"]["_end"]["extension"][0]["valueCode"] == "unknown", "it has ended, unknown when"
    assert not [key for key in undated if "DateTime" in key]
    assert "_effectiveDateTime" in findings(replace(past, assertion="affirmed"))[0]


@pytest.mark.filterwarnings("ignore:.*without a prefix")
def test_kinds_and_code_systems() -> None:
    made = findings(
        Mention(0, 9, concepts=("MESH:D008687",), types=("Chemical",)),
        Mention(14, 20, concepts=("MESH:D001249",), types=("Disease",)),
        Mention(14, 20, concepts=("SNOMEDCT:195967001", "KH:A 1"), terminology="house"),
        Mention(14, 20, concepts=("bare",)),
        systems={"KH": "https://example.org/kh"},
        resources={"KH": "Condition"},
        rows=Kb(),
    )
    assert [one["resourceType"] for one in made] == [
        "MedicationStatement",
        "Condition",
        "Observation",
        "Condition",
        "Observation",
    ]
    codes = [(one.get("code") or one["medicationCodeableConcept"])["coding"][0] for one in made]
    assert codes == [
        {"system": "http://id.nlm.nih.gov/mesh", "code": "D008687"},
        {"system": "http://id.nlm.nih.gov/mesh", "code": "D001249"},
        {"system": "http://snomed.info/sct", "code": "195967001"},
        {"system": "https://example.org/kh", "code": "A 1"},
        {"code": "bare"},
    ]
    assert findings(Mention(0, 1, concepts=("Ü/1:2",)))[0]["code"]["coding"] == [
        {"system": "urn:x-linnet:terminology:%C3%9C%2F1", "code": "2"}
    ]
    assert findings(Mention(0, 1, concepts=("X:0",)), rows=Kb())[0]["code"]["coding"][0]["display"] == "zero"


def warnings_of(*mentions: Mention, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        findings(*mentions, **options)
    return [str(one.message) for one in met if "unknown patient" not in str(one.message)]


def test_codes_without_a_prefix() -> None:
    bare, asthma = Mention(14, 20, concepts=("A01",)), Mention(14, 20, concepts=("MONDO:0004979",))
    [told] = warnings_of(bare, bare, asthma)
    assert told.startswith("codes without a prefix, such as 'A01': 1; they have no code system")
    assert told.endswith("give systems=no_prefix=URI")
    left_out = replace(bare, assertion="hypothetical")
    assert [told[:10] for told in warnings_of(left_out)] == ["1 mentions"], "no code that is not written"
    assert [told[:10] for told in warnings_of(bare, resources={"no_prefix": "none"})] == ["1 mentions"]
    options: dict[str, Any] = {
        "systems": {"no_prefix": "https://example.org/kh"},
        "resources": {"no_prefix": "Condition"},
    }
    assert not warnings_of(bare, **options)
    [made] = findings(bare, **options)
    assert (made["resourceType"], made["code"]["coding"]) == (
        "Condition",
        [{"system": "https://example.org/kh", "code": "A01"}],
    )


def test_options_that_name_nothing_are_told() -> None:
    asthma = Mention(14, 20, concepts=("KH:7",), types=("Diagnosis",))
    systems = {"kh": "https://example.org/kh", "patient": "https://example.org/mrn"}
    assert warnings_of(asthma, systems=systems) == [
        "systems: no code has the prefix 'kh'; there are KH; did you mean 'KH'?"
    ]
    [told] = warnings_of(asthma, resources={"Diagnose": "Condition", "KH": "Condition"})
    assert told == (
        "resources: no concept has the type or prefix 'Diagnose'; there are the types Diagnosis and the prefixes KH; "
        "did you mean 'Diagnosis'?"
    )
    assert not warnings_of(asthma, systems={"KH": "https://example.org/kh"}, resources={"Diagnosis": "Condition"})
    assert not warnings_of(systems=systems, resources={"X": "none"}), "nothing was found"


def test_types_of_the_knowledge_base_are_known() -> None:
    class Typed(Kb):
        def types(self) -> dict[str, int]:
            return {"Frequency": 3}

    asthma = Mention(14, 20, concepts=("KH:7",), types=("Diagnosis",))
    assert not warnings_of(asthma, rows=Typed(), resources={"Frequency": "none"})


def test_what_is_left_out_is_counted() -> None:
    mentions = (
        Mention(0, 2),
        Mention(0, 2, concepts=()),
        Mention(0, 2, concepts=("NCBIGene:672",)),
        Mention(0, 2, concepts=("HP:0012825",), types=("Clinical modifier",)),
        Mention(0, 2, concepts=("HP:0001250",), assertion="hypothetical"),
        FITS,
    )
    doc = Document("7", "No fits.", mentions=mentions, meta={"ward": "3", "Patient": "9"})
    with pytest.warns(LinnetWarning, match="5 mentions have no place in FHIR"):
        assert len(resources([doc])) == 3
    assert carried(doc).mentions == (FITS,)
    assert carried(doc).meta == {"Patient": "9"}
    dropped: Counter[str] = Counter()
    [whole] = fitting([doc], "fhir", dropped)
    assert whole.mentions == (FITS,)
    assert dropped == {"texts": 1, "mentions not linked": 1, "NIL mentions": 1, "mentions": 3, "document meta": 1}
    dropped.clear()
    [_] = fitting([doc], "fhir", dropped, {"text": True, "resources": {"NCBIGene": "Observation"}})
    assert (dropped["texts"], dropped["mentions"]) == (0, 2)


def test_notes_without_a_patient_are_told() -> None:
    with pytest.warns(
        LinnetWarning, match="1 notes have no patient_id in their meta: their subject is an unknown patient"
    ):
        resources([DOC, Document("8", "Well.")])


def test_ids_stay_and_are_one_for_each() -> None:
    twice = Document("7", "No fits.", mentions=(FITS, FITS, Mention(3, 7, concepts=("HP:1", "HP:2"), terminology="x")))
    ids = [one["id"] for one in resources([twice])]
    assert len(set(ids)) == len(ids) == 6
    assert ids == [one["id"] for one in resources([twice], date="2027-01-31")]
    other = [one["id"] for one in resources([twice], systems={"document": "https://example.org/ward"})]
    assert not {*ids} & {*other}, "notes of another system"


def test_texts_patients_and_documents() -> None:
    systems = {"patient": "https://example.org/mrn", "document": "https://example.org/note"}
    text = "Fièvre\r\nfits"
    docs = [Document("n\x01", text, meta={"PERSON_ID": 17}), Document("m", text), Document("DocumentReference/9", "")]
    first, second = resources(docs, text=True, systems=systems)
    assert base64.b64decode(first["content"][0]["attachment"]["data"]).decode() == text
    assert first["identifier"] == [{"system": "https://example.org/note", "value": "n�"}]
    assert first["subject"]["identifier"] == {"system": "https://example.org/mrn", "value": "17"}
    assert second["subject"]["extension"][0]["valueCode"] == "unknown"
    assert bundles(docs)[2].keys() == {"resourceType", "id", "type"}, "the note is there already"
    on_server = Document("DocumentReference/9", "No fits.", mentions=(FITS,))
    assert [one["resourceType"] for one in resources([on_server])] == ["Observation", "Provenance"]
    assert resources([on_server])[0]["derivedFrom"] == [{"reference": "DocumentReference/9"}]


@pytest.mark.parametrize(
    ("said", "identifier"),
    [(math.nan, None), (math.inf, None), (True, None), (17.0, "17"), (1e17, "100000000000000000"), ("MRN/7", "MRN/7")],
)
def test_what_is_no_patient_and_no_reference(said: Any, identifier: str | None) -> None:
    subject = resources([Document("7", "", meta={"patient_id": said})])[0]["subject"]
    assert subject.get("identifier", {}).get("value") == identifier
    assert "reference" not in subject


@pytest.mark.parametrize(
    ("meta", "day"),
    [
        ({"date": "20200203T101500"}, "2020-02-03"),
        ({"date": 20200203}, "2020-02-03"),
        ({"date": "20200203101500+0100"}, "2020-02-03"),  # of HL7
        ({"date": 1611100400}, None),  # seconds
        ({"date": "2020-0203"}, None),
        ({"date": "2020-02-30"}, None),
        ({"note_date": "unknown", "note_datetime": "2020-02-03T10:15:00Z"}, "2020-02-03"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*date")
def test_days_of_notes(meta: dict[str, Any], day: str | None) -> None:
    [note] = resources([Document("7", "", meta=meta)])
    assert note["content"][0]["attachment"].get("creation") == day


def test_dates_that_are_none_are_counted() -> None:
    docs = [Document(str(place), "", meta={"date": told}) for place, told in enumerate(["3.2.2020", "", "2020-02-03"])]
    with pytest.warns(LinnetWarning, match="1 notes have a date that cannot be read, such as '3.2.2020'"):
        resources(docs)


def test_ids_are_the_same_on_every_python() -> None:
    new = "\U0001fae8"  # a character from Unicode 15 on, which repr shows as it is from Python 3.12 on
    assert identity(new) == "b65d6481-a22f-50cf-b2cf-f1834134a686"


def test_collections() -> None:
    [bundle] = bundles([DOC], collection=True)
    assert bundle["type"] == "collection"
    note, fits, origin = bundle["entry"]
    assert note.keys() == {"fullUrl", "resource"}
    assert fits["resource"]["derivedFrom"] == [{"reference": note["fullUrl"]}]
    assert origin["resource"]["target"] == [{"reference": fits["fullUrl"]}]


def test_parts_of_a_mention() -> None:
    split = Mention(0, 8, parts=(Span(0, 2), Span(3, 8)), concepts=("HP:1",))
    [made] = findings(split, text="No\tfits\x02.")
    assert made["code"]["text"] == "No fits�"
    assert [one["extension"][1]["valueInteger"] for one in made["extension"][:2]] == [0, 3]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"date": "soon"}, "date 'soon': expected a date such as"),
        ({"resources": {"X": "condition"}}, "X is 'condition', expected one of .*; did you mean 'Condition'"),
    ],
)
def test_wrong_options(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(LinnetError, match=problem):
        bundles([DOC], **options)


def test_it_is_only_written(tmp_path: Any) -> None:
    path = tmp_path / "x.fhir"
    assert write([DOC], path, options={"date": DATE}) == 1
    with pytest.raises(LinnetError, match="the corpus format 'fhir' cannot be read"):
        read(path, format="fhir")
    with pytest.raises(FormatError, match="fhir is written and cannot be read"):
        list(read(path))
    path.rename(tmp_path / "x.ndjson")
    with pytest.raises(FormatError, match=r"unknown field 'resourceType' \(FHIR is written, not read\)"):
        list(read(tmp_path / "x.ndjson"))
    with pytest.raises(LinnetError, match=r"the writer of fhir has no option 'texts'.*did you mean 'text'"):
        write([DOC], path, options={"texts": True})


LINKED = documents()


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(doc=LINKED, kind=st.sampled_from(["Condition", "Observation", "MedicationStatement"]), flag=st.booleans())
@pytest.mark.filterwarnings("ignore:.*no place in FHIR", "ignore:.*without a prefix", "ignore:resources:")
def test_every_bundle_is_valid(doc: Document, kind: str, flag: bool) -> None:
    bundle = pytest.importorskip("fhir.resources.R4B.bundle", reason="fhir.resources is not installed")
    told = dict.fromkeys(("UMLS", "X", "MESH", "NCBIGene"), kind)
    [made] = bundles([doc], resources=told, collection=flag, text=flag)
    again = bundle.Bundle.model_validate(made)
    assert len(again.entry or ()) == len(made.get("entry", ()))


def test_a_date_that_cannot_be_read_is_told() -> None:
    docs = [Document(str(number), "", meta={"date": told}) for number, told in enumerate(("5.3.2024", "2024-03-05"))]
    with pytest.warns(LinnetWarning, match=r"1 notes have a date that cannot be read, such as '5\.3\.2024'"):
        bundles(docs)
