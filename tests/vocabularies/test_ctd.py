"""CTD's vocabularies: diseases and chemicals, TSV and CSV, of several years; malformed rows and truncated files."""

from __future__ import annotations

import gzip
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetWarning, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.ctd import read_ctd
from linnet.vocabularies.join import JoinReport, join
from linnet.vocabularies.malformed import FEW, Malformed
from linnet.vocabularies.mesh_table import read_mesh_table

HEAD = """# The Comparative Toxicogenomics Database (CTD) - http://ctdbase.org/
#
# Report created: Tue Jun 06 11:31:46 EDT 2017
#
# Fields:
# {}
#
"""
HIERARCHY = ["Definition", "ParentIDs", "TreeNumbers", "ParentTreeNumbers"]
DISEASE = ["DiseaseName", "DiseaseID", "AltDiseaseIDs", *HIERARCHY, "Synonyms", "SlimMappings"]
CHEMICAL = ["ChemicalName", "ChemicalID", "CasRN"]
CHEMICAL_2017 = [*CHEMICAL, *HIERARCHY, "Synonyms"]
STRUCTURES = ["PubChemCID", "PubChemSID", "DTXSID", "InChIKey"]
CHEMICAL_2024 = [*CHEMICAL, *STRUCTURES, *HIERARCHY, "MESHSynonyms", "CTDCuratedSynonyms"]
ROWS = [
    ["Diseases", "MESH:C", "", "", "", "C", "", "", ""],
    [
        "Fever, of a kind",
        "MESH:D000001",
        "DO:DOID:7|OMIM:100|OMIM:200",
        'Hot,  "very".',
        "MESH:C",
        "C23.888|C23.9",
        "C23",
        "Fever|Pyrexia||Fever",
        "Signs and symptoms|Cancer",
    ],
    ["Fever 2", "OMIM:200", "DO:DOID:7|OMIM:100", "", "MESH:D000001|OMIM:200", "", "", "", ""],
]
READ = [
    Concept("MESH:C", (Name("Diseases"),), ("Disease",)),
    Concept(
        "MESH:D000001",
        (Name("Fever, of a kind"), Name("Fever"), Name("Pyrexia")),
        ("Disease",),
        'Hot, "very".',
        ("MESH:C",),
        ("DOID:7",),
    ),
    Concept("OMIM:200", (Name("Fever 2"),), ("Disease",), "", ("MESH:D000001",), ("DOID:7",)),
    Concept("OMIM:100", replaced_by="MESH:D000001"),
]


def tsv(columns: list[str], rows: list[list[str]]) -> str:
    return HEAD.format("\t".join(columns)) + "".join("\t".join(row) + "\n" for row in rows)


def read(folder: Path, text: str, name: str = "CTD.tsv", **options: Any) -> tuple[list[Concept], list[str]]:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        concepts = list(read_ctd(path, **options))
    return concepts, [str(one.message) for one in told]


@pytest.mark.parametrize("name", ["CTD.tsv", "CTD.tsv.gz", "CTD.csv"])
def test_diseases(tmp_path: Path, name: str) -> None:
    text = tsv(DISEASE, ROWS)
    if name.endswith(".csv"):
        cells = (['"{}"'.format(cell.replace('"', '""')) for cell in row] for row in ROWS)
        text = HEAD.format(",".join(DISEASE)) + "".join(",".join(row) + "\r\n" for row in cells)
    concepts, told = read(tmp_path, text, name)
    assert concepts == READ
    assert [concept.origin.rpartition(":")[2] for concept in concepts] == ["8", "9", "10", "9"]
    assert len(told) == 3
    assert "own parent, left out (1): line 10 OMIM:200" in told[0]
    assert "alternative id of a second row, the first keeps it (1): line 10 OMIM:100" in told[1]
    assert "alternative id that has a row of its own, which stays (1): line 9 OMIM:200" in told[2]


def test_slim_classes_and_tree_numbers(tmp_path: Path) -> None:
    concept = read(tmp_path, tsv(DISEASE, ROWS[:2]), slim=True, tree_numbers=True)[0][1]
    assert concept.types == ("Disease", "Signs and symptoms", "Cancer")
    assert concept.xrefs == ("DOID:7", "MESH.TREE:C23.888", "MESH.TREE:C23.9")


def test_chemicals_of_two_years(tmp_path: Path) -> None:
    old = ["Lead", "D007854", "7439-92-1", "A metal.", "MESH:D019216", "D01.268", "D01", "Pb|plumbum"]
    new = ["#1 Lead", "MESH:D007854", "7439-92-1", "5352425", "", "DTXSID2024161", "WABPQHHGFIMREM-UHFFFAOYSA-N"]
    new += ["", "", "", "", "Pb", "lead(II)|Pb"]
    concept = read(tmp_path, tsv(CHEMICAL_2017, [old]))[0][0]
    names = (Name("Lead"), Name("Pb"), Name("plumbum"))
    xrefs = ("CAS:7439-92-1",)
    assert concept == Concept("MESH:D007854", names, ("Chemical",), "A metal.", ("MESH:D019216",), xrefs)
    # below the header a name may begin with #
    concept = read(tmp_path, tsv(CHEMICAL_2024, [["x", "D1", *[""] * 11], new]))[0][1]
    assert [name.text for name in concept.names] == ["#1 Lead", "Pb", "lead(II)"]
    assert concept.xrefs == (
        "CAS:7439-92-1",
        "PUBCHEM.COMPOUND:5352425",
        "COMPTOX:DTXSID2024161",
        "INCHIKEY:WABPQHHGFIMREM-UHFFFAOYSA-N",
    )


GOOD = [["a", f"MESH:D{number:06}", *[""] * 7] for number in range(1, 101)]


def test_malformed_rows_are_named_and_left_out(tmp_path: Path) -> None:
    bad = [["a", "b"], ["", "MESH:D9", *[""] * 7], ["a", "MESH:", *[""] * 7], GOOD[0]]
    concepts, told = read(tmp_path, tsv(DISEASE, GOOD + bad))
    assert len(concepts) == len(GOOD)
    assert len(told) == 1
    assert "4 of 104 rows are malformed and were left out: line 108 has 2 columns, expected 9" in told[0]
    assert "line 109 the name is empty; line 110 'MESH:' is no id; line 111 the id MESH:D000001 stands in" in told[0]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (tsv(DISEASE, [*GOOD[:5], ["a", "b"]]), 13, "1 of 6 rows is malformed, too many"),
        (tsv(DISEASE, GOOD + [["a"]] * 30), 108 + FEW, f"{FEW + 1} of {101 + FEW} rows are malformed, too many"),
        (tsv(DISEASE, GOOD)[:-9], 107, "has 2 columns, expected 9: .*the file is truncated"),
        (tsv(DISEASE, []), None, "holds no rows below its header"),
        (tsv(["DiseaseName", "ID"], GOOD), None, "there is no column 'DiseaseID'"),
        (tsv(["GeneSymbol", "GeneName"], GOOD), 8, "is it CTD_diseases or CTD_chemicals"),
        ("", None, "is empty"),
        (HEAD.format(",".join(DISEASE)) + 'a,MESH:D1,"open\n', 8, "not valid CSV: .*truncated"),
    ],
)
def test_refused(tmp_path: Path, text: str, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path, text)
    assert caught.value.line == line


def test_a_line_without_its_break_is_told(tmp_path: Path) -> None:
    concepts, told = read(tmp_path, tsv(DISEASE, GOOD)[:-1])
    assert len(concepts) == len(GOOD)
    assert "the last line has no line break; the file may be incomplete (1): line 107" in told[0]


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(tsv(DISEASE, GOOD).encode())[:-20])
    with pytest.raises(FormatError, match="gzip file is truncated"):
        list(read_ctd(path))


def test_many_malformed_rows_of_a_large_file() -> None:
    bad = Malformed("a.tsv")
    bad.read = 10_000
    for line in range(100):
        bad.add(line, "x")
    with pytest.warns(LinnetWarning, match="; and 80 more$"):
        bad.finish()
    with pytest.raises(FormatError, match="101 of 10,000 rows are malformed"):
        bad.add(None, "x")


# --- real files ------------------------------------------------------------------------------------------------------

FILE = "kb/CTD_diseases_2017-06.tsv.gz"
TREES = "kb/mesh2015_tree_numbers_dhimmel.tsv.gz"


def gold(path: Path, kind: str = "") -> Iterator[list[str]]:
    """Yield the ids of each mention of a PubTator file, none where it has none."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if len(cells) >= 6 and kind in ("", cells[4]):
                yield [f"MESH:{id}" for id in re.split(r"[|+]", cells[5].strip()) if id != "-1"]


def covered(kb: KnowledgeBase, mentions: list[list[str]]) -> float:
    """Return the share of mentions all of whose ids the knowledge base leads to a concept."""

    def known(id: str) -> bool:
        try:
            kb.row(id)
        except UnknownConceptError:
            return False
        return True

    return sum(bool(ids) and all(known(id) for id in ids) for ids in mentions) / len(mentions)


@pytest.mark.slow
@pytest.mark.data
def test_real_file(data: Path, tmp_path: Path) -> None:
    kb = build_from([Source("ctd", data / FILE)], tmp_path / "ctd.kb")
    assert (len(kb), kb.info["names"], kb.info["retired"]) == (11_865, "77994", "3430")
    assert list(kb.types()) == ["Disease"]
    assert kb.id(kb.row("OMIM:264300")) == "MESH:C537805"
    dev = data / "corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz"
    assert covered(kb, [ids for ids in gold(dev, "Disease") if ids]) == 1.0  # of those with an id


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_bc5cdr_is_covered_by_mesh_and_ctd_joined(data: Path, tmp_path: Path) -> None:
    mesh = read_mesh_table(data / "kb/mesh_merged.tsv.gz", trees=data / TREES, diseases=data / FILE)
    report = JoinReport()
    kb = build(join([mesh, read_ctd(data / FILE)], report=report), tmp_path / "both.kb")
    assert (len(kb), report.by_id, report.ambiguous, report.parents_left_out) == (53_156, 5_955, 0, 1)
    dev = data / "corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz"
    assert covered(kb, list(gold(dev, "Disease"))) >= 0.99
    assert covered(kb, list(gold(dev, "Chemical"))) >= 0.90
    assert covered(kb, list(gold(dev))) == pytest.approx(0.945, abs=0.0005)
