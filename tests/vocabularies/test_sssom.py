"""Cross-references as SSSOM."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.curies import ADDRESSES, of_address
from linnet.vocabularies.sssom import write_sssom

HPO = {
    "vocabulary": "hpo",
    "release": "hp/releases/2025-01-16",
    "licence": "free, https://hpo.jax.org/app/license: cite",
}
SEIZURE = Concept("HP:0001250", (Name("Seizure"),), xrefs=("UMLS:C0036572", "SNOMEDCT:91175000"))


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    concepts = [
        SEIZURE,
        Concept("HP:0000118", (Name('Abnormal "shape"\tof it'),), xrefs=("MESH:D000013", "MESH:D000013")),
        Concept("HP:0000707", (Name("None"),)),
        Concept("HP:0009999", (Name("Old"),), xrefs=("MESH:D1",), replaced_by="HP:0001250"),
    ]
    return build(concepts, tmp_path / "signs.kb", sources=[HPO])


def read(path: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """Return the metadata and the cells of a file."""
    yaml = pytest.importorskip("yaml")
    lines = path.read_text("utf-8").splitlines()
    head = [line for line in lines if line.startswith("#")]
    assert lines[: len(head)] == head
    return yaml.safe_load("\n".join(line[1:] for line in head)), [line.split("\t") for line in lines[len(head) :]]


def test_the_whole_file(tmp_path: Path, kb: KnowledgeBase) -> None:
    path = tmp_path / "out.sssom.tsv"
    assert write_sssom(kb, path) == 3
    text = path.read_text("utf-8")
    [set_id] = re.findall(r"^#mapping_set_id: (https://w3id\.org/sssom/mappings/[0-9a-f-]{36})$", text, re.MULTILINE)
    [version] = re.findall(rf'^#mapping_set_version: "?{kb.version}"?$', text, re.MULTILINE)
    assert text == "\n".join(
        [
            "#curie_map:",
            "#  HP: http://purl.obolibrary.org/obo/HP_",
            "#  MESH: http://id.nlm.nih.gov/mesh/",
            "#  SNOMEDCT: http://snomed.info/id/",
            "#  UMLS: https://uts.nlm.nih.gov/uts/umls/concept/",
            "#  oboInOwl: http://www.geneontology.org/formats/oboInOwl#",
            f"#mapping_set_id: {set_id}",
            version,
            "#mapping_set_title: Cross-references of signs",
            "#license: https://hpo.jax.org/app/license",
            "#subject_source_version: hp/releases/2025-01-16",
            "subject_id\tsubject_label\tpredicate_id\tobject_id\tmapping_justification",
            'HP:0000118\t"Abnormal ""shape"" of it"\toboInOwl:hasDbXref\tMESH:D000013\tsemapv:UnspecifiedMatching',
            "HP:0001250\tSeizure\toboInOwl:hasDbXref\tSNOMEDCT:91175000\tsemapv:UnspecifiedMatching",
            "HP:0001250\tSeizure\toboInOwl:hasDbXref\tUMLS:C0036572\tsemapv:UnspecifiedMatching",
            "",
        ]
    )
    assert read(path)[0]["mapping_set_version"] == kb.version
    write_sssom(kb, tmp_path / "again.sssom.tsv.gz")
    assert gzip.decompress((tmp_path / "again.sssom.tsv.gz").read_bytes()) == path.read_bytes()


def test_a_release_that_was_edited_and_licences_that_differ_are_not_claimed(tmp_path: Path, kb: KnowledgeBase) -> None:
    path = tmp_path / "out.sssom.tsv"
    with kb.edit(kb.path) as change:
        change.add(Concept("HP:0000707", xrefs=("MESH:D2",)))
    write_sssom(KnowledgeBase.open(kb.path), path)
    told = read(path)[0]
    assert (told["license"], "subject_source_version" in told) == ("https://hpo.jax.org/app/license", False)
    joined = {"vocabulary": "joined", "by": "id"}
    for other in ({"vocabulary": "table"}, {"vocabulary": "ctd", "licence": "https://ctdbase.org/about/legal.jsp"}):
        write_sssom(build([SEIZURE], tmp_path / "b.kb", sources=[HPO, other, joined]), path)
        told = read(path)[0]
        assert (told["license"], "subject_source_version" in told) == (
            "https://w3id.org/sssom/license/unspecified",
            False,
        )


def test_prefixes_without_an_address_are_declared_and_told(tmp_path: Path) -> None:
    one = Concept("NO:1", (Name("a"),), xrefs=("Fyler:4868", "semapv:x", "MESH:D1"))
    path = tmp_path / "out.sssom.tsv"
    with pytest.warns(LinnetWarning, match=r"not known: Fyler \(1\), NO \(1\); curie_map"):
        write_sssom(build([one], tmp_path / "no: 1 #2.kb"), path)
    told, rows = read(path)
    unknown = "http://w3id.org/sssom/unknown_prefix/"
    assert told["curie_map"] == {
        "NO": f"{unknown}NO/",
        "Fyler": f"{unknown}Fyler/",
        "MESH": ADDRESSES["MESH"],
        "oboInOwl": ADDRESSES["oboInOwl"],
    }
    assert told["mapping_set_title"] == "Cross-references of no: 1 #2"
    assert [row[3] for row in rows[1:]] == ["Fyler:4868", "MESH:D1", "semapv:x"]


def test_what_is_no_curie_is_left_out_and_told(tmp_path: Path) -> None:
    odd = ("17", "https://example.org/1", "MESH:", "MESH:D 1", "9x:1", "X:a|b")
    kb = build([Concept("MESH:D2", (Name("a"),), xrefs=(*odd, "MESH:D3"))], tmp_path / "a.kb")
    with pytest.warns(LinnetWarning, match="as SSSOM holds CURIEs alone: 6, such as '17'"):
        assert write_sssom(kb, tmp_path / "out.sssom.tsv") == 1
    kb = build([Concept("17", (Name("a"),), xrefs=("MESH:D3",))], tmp_path / "b.kb")
    with (
        pytest.warns(LinnetWarning, match="CURIEs alone: 1, such as '17'"),
        pytest.raises(KnowledgeBaseError, match=r"b\.kb has no cross-references that SSSOM can hold"),
    ):
        write_sssom(kb, tmp_path / "none.sssom.tsv")
    assert not (tmp_path / "none.sssom.tsv").exists()


def test_addresses_stand_for_one_prefix_each_and_are_read_as_it() -> None:
    assert len(set(ADDRESSES.values())) == len(ADDRESSES)
    locals = {"MESH": "D1", "UMLS": "C0000001", "wikidata": "Q1", "NCIT": "C1", "DBSNP": "rs1", "EC": "1.1"}
    for prefix, begin in ADDRESSES.items():
        address = f"{begin}{locals.get(prefix, '1')}"
        assert of_address(address) in (f"{prefix}:{locals.get(prefix, '1')}", address)
    assert of_address(f"{ADDRESSES['ICD10CM']}E11.9") == f"{ADDRESSES['ICD10CM']}E11.9"
