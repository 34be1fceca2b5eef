"""SNOMED CT snapshots in RF2: rows written for these tests in the exact published layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError, LinnetWarning
from linnet.kb.build import build
from linnet.vocabularies.snomed import read_snomed

CORE = "900000000000207008"
FSN, SYNONYM, DEFINITION = "900000000000003001", "900000000000013009", "900000000000550004"
US, GB = "900000000000509007", "900000000000508004"
PREFERRED, ACCEPTABLE = "900000000000548007", "900000000000549004"
SAME_AS, REPLACED_BY, MOVED_TO = "900000000000527005", "900000000000526001", "900000000000524003"
CASE, INFERRED, SOME = "900000000000448009", "900000000000011006", "900000000000451002"

CONCEPTS = [("138875005", 1), ("404684003", 1), ("22298006", 1), ("300001", 0), ("300002", 0), ("300003", 0)]
DESCRIPTIONS = [  # id, active, concept, type, term
    ("11", 1, "138875005", FSN, "SNOMED CT Concept (SNOMED RT+CTV3)"),
    ("12", 1, "404684003", FSN, "Clinical finding (finding)"),
    ("13", 1, "404684003", SYNONYM, "Clinical finding"),
    ("14", 1, "22298006", FSN, "Myocardial infarction (disorder)"),
    ("15", 1, "22298006", SYNONYM, "MI - myocardial infarction"),
    ("16", 1, "22298006", SYNONYM, "Heart attack"),
    ("17", 0, "22298006", SYNONYM, "Infarct of the heart"),
    ("18", 1, "22298006", SYNONYM, "heart  Attack"),
    ("19", 1, "300001", FSN, "Infarction (of heart) (disorder)"),
]
RELATIONS = [  # active, source, destination, type
    (1, "404684003", "138875005", "116680003"),
    (1, "22298006", "404684003", "116680003"),
    (0, "22298006", "138875005", "116680003"),
    (1, "22298006", "138875005", "363698007"),
    (1, "300001", "404684003", "116680003"),
]
ACCEPTABILITY = [
    (1, US, "13", PREFERRED),
    (1, US, "15", ACCEPTABLE),
    (1, US, "16", PREFERRED),
    (1, GB, "15", PREFERRED),
]
HISTORY = [  # active, refset, component, target
    (1, REPLACED_BY, "300001", "404684003"),
    (1, SAME_AS, "300001", "22298006"),
    (1, SAME_AS, "300002", "300001"),
    (1, MOVED_TO, "300003", "22298006"),
    (0, SAME_AS, "300003", "22298006"),
]
HEADERS = {
    "Concept": "id effectiveTime active moduleId definitionStatusId",
    "Description": "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId",
    "Relationship": "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId "
    "characteristicTypeId modifierId",
    "Language": "id effectiveTime active moduleId refsetId referencedComponentId acceptabilityId",
    "Association": "id effectiveTime active moduleId refsetId referencedComponentId targetComponentId",
}
PATHS = {
    "Concept": "Terminology/sct2_Concept_Snapshot_INT_20240101.txt",
    "Description": "Terminology/sct2_Description_Snapshot-en_INT_20240101.txt",
    "Definition": "Terminology/sct2_TextDefinition_Snapshot-en_INT_20240101.txt",
    "Relationship": "Terminology/sct2_Relationship_Snapshot_INT_20240101.txt",
    "Language": "Refset/Language/der2_cRefset_LanguageSnapshot-en_INT_20240101.txt",
    "Association": "Refset/Content/der2_cRefset_AssociationSnapshot_INT_20240101.txt",
}


def table(kind: str, rows: list[list[object]]) -> str:
    lines = [HEADERS[kind].split(), *([str(cell) for cell in row] for row in rows)]
    return "".join("\t".join(line) + "\r\n" for line in lines)


def files() -> dict[str, str]:
    day = "20240101"
    definition = [["91", day, 1, CORE, "22298006", "en", DEFINITION, "Death of heart  muscle.", CASE]]
    return {
        "Concept": table("Concept", [[id, day, active, CORE, "900000000000074008"] for id, active in CONCEPTS]),
        "Description": table(
            "Description", [[id, day, on, CORE, of, "en", kind, term, CASE] for id, on, of, kind, term in DESCRIPTIONS]
        ),
        "Definition": table("Description", definition),
        "Relationship": table(
            "Relationship",
            [[20 + i, day, on, CORE, a, b, 0, kind, INFERRED, SOME] for i, (on, a, b, kind) in enumerate(RELATIONS)],
        ),
        "Language": table("Language", [[f"u{i}", day, on, CORE, *rest] for i, (on, *rest) in enumerate(ACCEPTABILITY)]),
        "Association": table("Association", [[f"v{i}", day, on, CORE, *rest] for i, (on, *rest) in enumerate(HISTORY)]),
    }


def release(folder: Path, **changed: str | None) -> Path:
    for kind, text in {**files(), **changed}.items():
        path = folder / "Snapshot" / PATHS[kind]
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text, encoding="utf-8", newline="")
    return folder


def test_concepts(tmp_path: Path) -> None:
    concepts = {concept.id: concept for concept in read_snomed(release(tmp_path))}
    assert list(concepts) == [f"SNOMEDCT:{id}" for id, _ in CONCEPTS]
    assert concepts["SNOMEDCT:22298006"] == Concept(
        "SNOMEDCT:22298006",
        (Name("Heart attack"), Name("Myocardial infarction"), Name("MI - myocardial infarction")),
        ("disorder",),
        "Death of heart muscle.",
        ("SNOMEDCT:404684003",),
    )
    assert concepts["SNOMEDCT:22298006"].origin.endswith("sct2_Concept_Snapshot_INT_20240101.txt:4")
    assert concepts["SNOMEDCT:138875005"].names == (Name("SNOMED CT Concept"),)
    assert concepts["SNOMEDCT:138875005"].types == ("SNOMED RT+CTV3",)
    assert len(build(concepts.values(), tmp_path / "a.kb")) == 3


def test_older_releases_call_the_file_of_associations_otherwise(tmp_path: Path) -> None:
    place = release(tmp_path) / "Snapshot" / PATHS["Association"]
    expected = list(read_snomed(tmp_path))
    place.rename(place.with_name("der2_cRefset_AssociationReferenceSnapshot_INT_20150131.txt"))
    assert list(read_snomed(tmp_path)) == expected


def test_retired(tmp_path: Path) -> None:
    retired = {c.id: c for c in read_snomed(release(tmp_path)) if c.replaced_by is not None}
    assert [concept.replaced_by for concept in retired.values()] == ["SNOMEDCT:22298006", "SNOMEDCT:22298006", ""]
    assert retired["SNOMEDCT:300001"].name == "Infarction (of heart)"
    assert not any(concept.parents or concept.types for concept in retired.values())


def test_successors_in_a_circle(tmp_path: Path) -> None:
    rows = [["v1", 1, 1, CORE, SAME_AS, "300001", "300002"], ["v2", 1, 1, CORE, SAME_AS, "300002", "300001"]]
    concepts = list(read_snomed(release(tmp_path, Association=table("Association", [list(row) for row in rows]))))
    assert [concept.replaced_by for concept in concepts[3:]] == ["", "", ""]


def test_dialects(tmp_path: Path) -> None:
    release(tmp_path)
    for dialect in ("en-gb", GB):
        assert [c.name for c in read_snomed(tmp_path, dialect=dialect)][2] == "MI - myocardial infarction"
    with pytest.raises(LinnetError, match="dialect is 'en-au'"):
        next(read_snomed(tmp_path, dialect="en-au"))
    with pytest.raises(FormatError, match="no preferred terms for the dialect 12"):
        next(read_snomed(tmp_path, dialect="12"))


def test_parents_that_are_not_active_are_told(tmp_path: Path) -> None:
    rows: list[list[object]] = [["29", 1, 1, CORE, "22298006", "300001", 0, "116680003", INFERRED, SOME]]
    with pytest.warns(LinnetWarning, match=r"is-a of a concept that is not active.*22298006 is a 300001"):
        concepts = list(read_snomed(release(tmp_path, Relationship=table("Relationship", rows))))
    assert not any(concept.parents for concept in concepts)


def test_concepts_without_a_description_are_told(tmp_path: Path) -> None:
    text = files()["Description"].replace("\t138875005\t", "\t404684003\t")
    with pytest.warns(LinnetWarning, match="active concept without a description in 'en'"):
        assert len(list(read_snomed(release(tmp_path, Description=text)))) == 5


def test_nothing_leads_to_a_concept_without_a_description(tmp_path: Path) -> None:
    concept = table("Concept", [["500", "20240101", 1, CORE, "900000000000074008"]]).partition("\n")[2]
    history = table("Association", [["v9", "20240101", 1, CORE, SAME_AS, "300003", "500"]]).partition("\n")[2]
    changed = {"Concept": files()["Concept"] + concept, "Association": files()["Association"] + history}
    with pytest.warns(LinnetWarning, match="active concept without a description"):
        concepts = {c.id: c for c in read_snomed(release(tmp_path, **changed))}
    assert (concepts["SNOMEDCT:300003"].replaced_by, "SNOMEDCT:500" in concepts) == ("", False)
    assert len(build(concepts.values(), tmp_path / "a.kb")) == 3


def test_without_definitions(tmp_path: Path) -> None:
    assert not any(concept.definition for concept in read_snomed(release(tmp_path, Definition=None)))


@pytest.mark.parametrize("kind", [kind for kind in PATHS if kind != "Definition"])
def test_missing_and_doubled_files(tmp_path: Path, kind: str) -> None:
    with pytest.raises(FormatError, match="in it or below: is it an RF2 release with snapshots"):
        list(read_snomed(release(tmp_path / "a", **{kind: None})))
    release(tmp_path / "b")
    path = tmp_path / "b" / "Snapshot" / PATHS[kind].replace("INT", "US1000124")
    path.write_text("x")
    with pytest.raises(FormatError, match="too; give the folder of one release"):
        list(read_snomed(tmp_path / "b"))


@pytest.mark.parametrize("kind", list(PATHS))
def test_truncated_and_other_columns(tmp_path: Path, kind: str) -> None:
    text = files()[kind]
    cut = text[: text.rindex("\t")]
    with pytest.raises(FormatError, match=r"truncated|right file"):
        list(read_snomed(release(tmp_path, **{kind: cut})))
    with pytest.raises(FormatError, match=r":1: expected the columns id, effectiveTime, active.*found key"):
        list(read_snomed(release(tmp_path, **{kind: text.replace("id\t", "key\t", 1)})))


def test_malformed_rows_are_told(tmp_path: Path) -> None:
    text = files()["Concept"].replace("300001\t20240101\t0", "300001\t20240101\tyes")
    with pytest.warns(LinnetWarning, match="line 5 active is 'yes', expected 0 or 1"):
        assert len(list(read_snomed(release(tmp_path, Concept=text)))) == 5
