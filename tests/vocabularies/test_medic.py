"""MEDIC in BioSyn's layout: merged rows, alternative ids, ids of three forms, faults."""

from __future__ import annotations

import gzip
import re
import warnings
from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetWarning
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.medic import read_medic

TEXT = """C||Diseases
D000001|100|C000009||Fever|Pyrexia
200|C000009||SPASTIC  PARAPLEGIA 45|SPG45

D000001|D000001|300||Fever|Hyperthermia
OMIM:300||Heat
"""


def read(folder: Path, text: str, type: str = "Disease") -> tuple[list[Concept], list[str]]:
    path = folder / "medic.txt"
    path.write_bytes(text.encode())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        concepts = list(read_medic(path, type=type))
    return concepts, [str(one.message) for one in told]


def test_rows_of_one_id_are_one_concept(tmp_path: Path) -> None:
    concepts, told = read(tmp_path, TEXT)
    assert concepts == [
        Concept("MESH:C", (Name("Diseases"),), ("Disease",)),
        Concept("MESH:D000001", (Name("Fever"), Name("Pyrexia"), Name("Hyperthermia")), ("Disease",)),
        Concept("OMIM:200", (Name("SPASTIC PARAPLEGIA 45"), Name("SPG45")), ("Disease",)),
        Concept("OMIM:300", (Name("Heat"),), ("Disease",)),
        Concept("OMIM:100", replaced_by="MESH:D000001"),
        Concept("MESH:C000009", replaced_by="MESH:D000001"),
    ]
    assert [concept.origin.rpartition(":")[2] for concept in concepts] == ["1", "2", "3", "6", "2", "2"]
    assert "row of its own, which stays (1): line 2 MESH:D000001|OMIM:300" in told[0]
    assert "of a second concept, the first keeps it (1): line 3 OMIM:200|MESH:C000009" in told[1]


def test_type(tmp_path: Path) -> None:
    assert read(tmp_path, "D000001||Lead\n", "Chemical")[0][0].types == ("Chemical",)
    assert read(tmp_path, "D000001||Lead\n", "")[0][0].types == ()


GOOD = "".join(f"{number}||name {number}\n" for number in range(1, 41))


def test_malformed_rows_are_named_and_left_out(tmp_path: Path) -> None:
    concepts, told = read(tmp_path, GOOD + "41|name\nX1||name\n42|| |\n")
    assert len(concepts) == 40
    assert "3 of 43 rows are malformed and were left out: line 41 expected ids||names, found no '||'" in told[0]
    assert "line 42 'X1' is no id: expected C…, D…, digits or PREFIX:…; line 43 the name is empty" in told[0]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (GOOD + "x\n" * 5, 41, "5 of 45 rows are malformed, too many"),
        (GOOD + "41|", 41, "found no '||'; the file is truncated"),
        ("just words\n", 1, "1 of 1 rows is malformed"),
        ("\n\n", None, "holds no rows"),
        ("", None, "is empty"),
    ],
)
def test_refused(tmp_path: Path, text: str, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem.replace("|", r"\|")) as caught:
        read(tmp_path, text)
    assert caught.value.line == line


def test_a_line_without_its_break_is_told(tmp_path: Path) -> None:
    concepts, told = read(tmp_path, "1||a\n2||b")
    assert len(concepts) == 2
    assert "the last line has no line break; the file may be incomplete (1): line 2" in told[0]


def gold(path: Path) -> list[list[str]]:
    """Return the ids of each mention of a PubTator file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    mentions = [re.split(r"[|+]", row[5].strip()) for row in rows if len(row) >= 6]
    return [[f"MESH:{id}" if id[0] in "CD" else f"OMIM:{id.removeprefix('OMIM:')}" for id in ids] for ids in mentions]


@pytest.mark.slow
@pytest.mark.data
def test_real_file(data: Path, tmp_path: Path) -> None:
    path = data / "kb/medic_2012-07-06_biosyn.txt.gz"
    with pytest.warns(LinnetWarning, match=r"stays \(1\): line 5006 MESH:D010190\|OMIM:260350"):
        kb = build_from([Source("medic", path)], tmp_path / "medic.kb")
    assert (len(kb), kb.info["names"], kb.info["retired"]) == (11_915, "76237", "3027")
    for part in ("train", "develop"):
        mentions = gold(data / f"corpora/ncbi_disease/NCBI{part}set_corpus.txt.gz")
        assert len(mentions) == {"train": 5_145, "develop": 787}[part]
        for id in {id for ids in mentions for id in ids}:
            assert kb.row(id) >= 0  # all are covered; an unknown id would raise
