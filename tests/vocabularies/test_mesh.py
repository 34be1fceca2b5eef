"""MeSH in NLM's four layouts, written here for the tests, and tables of MeSH records."""

from __future__ import annotations

import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError
from linnet.vocabularies.build import Source, build_from
from linnet.vocabularies.mesh import mesh_tree_types, read_mesh

LAYOUTS = Path(__file__).parent / "mesh"
DESC = """<?xml version="1.0"?>
<!DOCTYPE DescriptorRecordSet SYSTEM "https://www.nlm.nih.gov/databases/dtd/nlmdescriptorrecordset_20240101.dtd">
<DescriptorRecordSet LanguageCode = "eng">
{}</DescriptorRecordSet>
"""
FEVER = (LAYOUTS / "fever.xml").read_text(encoding="utf-8")  # one record of a descriptor file
SHORT = """<DescriptorRecord DescriptorClass = "1">
  <DescriptorUI>{}</DescriptorUI>
  <DescriptorName>
   <String>{}</String>
  </DescriptorName>
  <TreeNumberList>
{}  </TreeNumberList>
  <ConceptList>
   <Concept PreferredConceptYN="Y">
    <ConceptUI>M1</ConceptUI>
    <RegistryNumber>EC 3.1.1.7</RegistryNumber>
    <TermList>
    </TermList>
   </Concept>
  </ConceptList>
</DescriptorRecord>
"""


def short(ui: str, name: str, *trees: str) -> str:
    return SHORT.format(ui, name, "".join(f"   <TreeNumber>{number}</TreeNumber>\n" for number in trees))


XML = DESC.format(FEVER + short("D000102", "Signs", "C23.888", "C23") + short("D000103", "Lead", "D01", "J01.5"))
FEVER_NAMES = (
    Name("Fever, Test"),
    Name("Test Fever", source="permuted"),
    Name("FT", source="abbreviation"),
    Name("Hyperpyrexia", "narrow"),
    Name("Temperature Changes", "broad"),
)
DESCRIPTORS = [
    Concept(
        "MESH:D000101",
        FEVER_NAMES,
        ("Disease", "Phenomenon or Process"),
        "An abnormal elevation & more.",
        ("MESH:D000102",),
        ("UNII:37H9VM9WZL",),
    ),
    Concept("MESH:D000102", (Name("Signs"),), ("Disease",), xrefs=("EC:3.1.1.7",)),
    Concept(
        "MESH:D000103",
        (Name("Lead"),),
        ("Chemical", "Technology, Industry and Agriculture"),
        xrefs=("EC:3.1.1.7",),
    ),
]

ASCII = (LAYOUTS / "descriptors.bin").read_text(encoding="utf-8")  # the same records as XML holds
SUPP = """<?xml version="1.0"?>
<!DOCTYPE SupplementalRecordSet SYSTEM "https://www.nlm.nih.gov/databases/dtd/nlmsupplementalrecordset_20240101.dtd">
<SupplementalRecordSet LanguageCode="eng">
{}</SupplementalRecordSet>
"""
SUPP_RECORD = """<SupplementalRecord {}>
  <SupplementalRecordUI>{}</SupplementalRecordUI>
  <SupplementalRecordName>
   <String>{}</String>
  </SupplementalRecordName>
  <Note>A note.
  </Note>
  <HeadingMappedToList>
{}  </HeadingMappedToList>
  <IndexingInformationList>
   <IndexingInformation>
    <DescriptorReferredTo>
     <DescriptorUI>D000199</DescriptorUI>
    </DescriptorReferredTo>
   </IndexingInformation>
  </IndexingInformationList>
  <ConceptList>
   <Concept PreferredConceptYN="Y">
    <ConceptUI>M0001</ConceptUI>
    <SemanticTypeList>
     <SemanticType>
      <SemanticTypeUI>{}</SemanticTypeUI>
     </SemanticType>
    </SemanticTypeList>
    <RegistryNumber>34B0471E08</RegistryNumber>
    <TermList>
     <Term  ConceptPreferredTermYN="N"  IsPermutedTermYN="N"  LexicalTag="TRD"  RecordPreferredTermYN="N">
      <TermUI>T2</TermUI>
      <String>Brand</String>
     </Term>
    </TermList>
   </Concept>
  </ConceptList>
 </SupplementalRecord>
"""
MAPPED = """   <HeadingMappedTo>
    <DescriptorReferredTo>
     <DescriptorUI>{}</DescriptorUI>
    </DescriptorReferredTo>
    <QualifierReferredTo>
     <QualifierUI>*Q000031</QualifierUI>
    </QualifierReferredTo>
   </HeadingMappedTo>
"""


def supplementary(ui: str, *headings: str, scr_class: str = "", semantic: str = "T109") -> str:
    attribute = f'SCRClass = "{scr_class}"' if scr_class else ""
    return SUPP_RECORD.format(attribute, ui, f"name {ui}", "".join(map(MAPPED.format, headings)), semantic)


SUPP_ASCII = """*NEWRECORD
RECTYPE = C
NM = name C000001
RN = 34B0471E08
SY = Brand|T109|T121|TRD|EQV|ES Trade Name|041021|abbcdef
HM = Signs
HM = Lead/*analogs & derivatives
II = Nothing
FR = 14
NO = A note.
ST = {}
UI = C000001

"""


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str, name: str = "mesh") -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def read(path: Path, **options: Any) -> tuple[list[Concept], list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        concepts = list(read_mesh(path, **options))
    return concepts, [str(one.message) for one in told]


@pytest.mark.parametrize("name", ["desc2024.xml", "desc2024.gz"])
def test_descriptors_in_xml(put: Callable[..., Path], name: str) -> None:
    path = put(XML, name)
    assert read(path) == (DESCRIPTORS, [])
    lines = [at for at, line in enumerate(XML.split("\n"), 1) if line.startswith("<DescriptorRecord Desc")]
    assert [concept.origin for concept in read(path)[0]] == [f"{path}:{line}" for line in lines]


def test_descriptors_in_ascii(put: Callable[..., Path]) -> None:
    path = put(ASCII, "d2024.bin")
    concepts, told = read(path)
    assert told == []
    # the layout gives plurals and permuted terms no tag, and keeps entry terms in another order
    names = [FEVER_NAMES[at] for at in (0, 2, 3, 4)] + [Name("Test Fever"), Name("Either")]
    assert concepts[0].names == tuple(names)
    assert [concept.origin for concept in concepts] == [f"{path}:{line}" for line in (1, 22, 30)]
    fields = ("id", "types", "definition", "parents", "xrefs")
    for concept, expected in zip(concepts, DESCRIPTORS, strict=True):
        assert [getattr(concept, one) for one in fields] == [getattr(expected, one) for one in fields]


FIRST = Concept(
    "MESH:C000001",
    (Name("name C000001"), Name("Brand", source="trade name")),
    ("Chemical", "Technology, Industry and Agriculture"),
    "A note.",
    ("MESH:D000103", "MESH:D000102"),
    ("UNII:34B0471E08",),
)


def test_supplementary_records_in_xml(put: Callable[..., Path]) -> None:
    records = [
        supplementary("C000001", "D000102", "*D000103"),
        supplementary("C000002", "D000103", scr_class="3"),
        supplementary("C000003", "*D000102", scr_class="1"),
        supplementary("C000004", scr_class="", semantic="T047"),
        supplementary("C000005", "D000777", semantic="T121"),
    ]
    path = put(SUPP.format("".join(records)), "supp2024.xml")
    concepts, told = read(path, descriptors=put(XML, "desc.xml"))
    assert told == []
    assert concepts[0] == FIRST
    assert [concept.types for concept in concepts[1:]] == [("Disease",), ("Chemical",), ("Disease",), ("Chemical",)]
    alone, told = read(path)
    assert told == []
    assert [concept.types for concept in alone] == [("Chemical",), *[concept.types for concept in concepts[1:]]]
    assert [concept.parents for concept in alone] == [concept.parents for concept in concepts]


def test_supplementary_records_in_ascii(put: Callable[..., Path]) -> None:
    path = put(SUPP_ASCII.format("T109") + SUPP_ASCII.format("T047").replace("C000001", "C000002"), "c2024.bin")
    concepts, told = read(path, descriptors=put(ASCII, "d.bin"))
    assert told == []
    assert concepts[0] == FIRST
    alone, told = read(path)
    assert [(concept.types, concept.parents) for concept in alone] == [(("Chemical",), ()), (("Disease",), ())]
    assert "heading without its id, left out (give the descriptor file) (4): line 1 C000001 'Lead/analogs" in told[0]
    told = read(path, descriptors=put(ASCII.replace("MH = Signs", "MH = Other"), "d.bin"))[1]
    assert "heading that the descriptor file does not hold, left out (2): line 1 C000001 'Signs'" in told[0]


def test_replaced_ids(put: Callable[..., Path]) -> None:
    table = put("D000900\tD000101\nMESH:C000901,D000102\n\nD000902\t\nD000103\tD000101\n", "replaced")
    concepts, _ = read(put(XML), replaced=table)
    assert concepts[3:] == [
        Concept("MESH:D000900", replaced_by="MESH:D000101"),
        Concept("MESH:C000901", replaced_by="MESH:D000102"),
        Concept("MESH:D000902", replaced_by=""),
    ]
    assert concepts[3].origin == f"{table}:1"
    for text, problem in [("D000900 D1\n", "expected an old and a new"), ("D000900\tD000900\n", "own successor")]:
        with pytest.raises(FormatError, match=problem) as caught:
            read(put(XML), replaced=put(text, "replaced"))
        assert caught.value.line == 1


def test_parents_skip_missing_levels_and_close_no_circle(put: Callable[..., Path]) -> None:
    records = [
        short("D000001", "Ethics", "F01.1", "K01.2.3", "F01.1.4"),
        short("D000002", "Morals", "K01.2", "F01.1.5.6"),
        short("D000003", "Nothing Above", "Z01.9.9"),
    ]
    concepts, told = read(put(DESC.format("".join(records))))
    assert [concept.parents for concept in concepts] == [("MESH:D000002",), (), ()]
    assert told[0].endswith("parent that would close a circle, left out (1): D000002 under D000001")


def test_tree_types() -> None:
    assert mesh_tree_types(["D12.776", "D08", "F03", "C1", "F02.1", "Y99", ""]) == (
        "Chemical",
        "Disease",
        "Psychiatry and Psychology",
    )


def test_builds(put: Callable[..., Path], tmp_path: Path) -> None:
    desc, supp = put(XML, "desc.xml"), put(SUPP.format(supplementary("C000001", "D000103")), "supp.xml")
    sources = [Source("mesh", desc), Source("mesh", supp, {"descriptors": str(desc)})]
    kb = build_from(sources, tmp_path / "mesh.kb")
    assert kb[kb.row("MESH:C000001")].parents == ("MESH:D000103",)
    assert kb.search("hyperpyrexia")[0].id == "MESH:D000101"


def many(layout: str) -> str:
    """Return forty records in XML or ASCII, of which one has no name and one comes twice."""
    uis = [*(f"D{number:06}" for number in range(1, 40)), "D000001", "X"]
    if layout == "xml":
        return DESC.format("".join(short(ui, "" if ui == "D000007" else ui) for ui in uis))
    records = ((ui, "" if ui == "D000007" else f"MH = {ui}\n") for ui in reversed(uis))
    return "".join(f"*NEWRECORD\nRECTYPE = D\n{name}no element\nUI = {ui}\n\n" for ui, name in records)


def test_malformed_records_are_named_and_left_out(put: Callable[..., Path]) -> None:
    concepts, told = read(put(many("xml")))
    assert len(concepts) == 38
    assert "3 of 41 records are malformed and were left out: line " in told[0]
    assert " D000007 has no name; line " in told[0]
    assert "the id D000001 stands in the file twice; line " in told[0]
    assert "DescriptorUI is 'X', expected D or C and digits" in told[0]
    with pytest.raises(
        FormatError, match=r"expected 'ELEMENT = value', found 'no element' in line \d+; 21 of 21 records"
    ):
        read(put(many("ascii")))
    concepts, told = read(put(many("ascii").replace("no element\n", "")))
    assert len(concepts) == 38
    assert "line 1 UI is 'X', expected D or C and digits" in told[0]
    assert "D000007 has no MH" in told[0]


DECLARED = '<!DOCTYPE DescriptorRecordSet [<!ENTITY a "b">]>\n<DescriptorRecordSet>' + short("D000001", "&a;")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (XML[:-200], None, "no well-formed XML: .*truncated"),
        (DESC.format(""), None, "holds no record .*is it desc20xx or supp20xx"),
        (DECLARED + "</DescriptorRecordSet>", None, "declares XML entities"),
        (DESC.format(short("D1", "a")), 4, "1 of 1 records is malformed"),
        (ASCII[: ASCII.rindex("UI")], 30, "the last record: UI is ''; the file is truncated"),
        (ASCII.replace("RECTYPE = D", "RECTYPE = Q"), 1, "RECTYPE is 'Q', expected D.*; 3 of 3 records are malformed"),
        ("id\tname\n", None, "expected XML, or ASCII that begins with .NEWRECORD, found b'id.tname"),
        ("", None, "is empty"),
        ("*NEWRECORD2\n", 1, "expected .NEWRECORD, found '.NEWRECORD2'"),
    ],
)
def test_refused(put: Callable[..., Path], text: str, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(put(text))
    if line is not None:
        assert caught.value.line == line


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(SUPP.format(supplementary("C000001", scr_class="1")).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert [concept.id for concept in read_mesh("-")] == ["MESH:C000001"]
    Input.buffer = io.BytesIO(XML.encode())
    with pytest.raises(FormatError, match="descriptors are read twice"):
        list(read_mesh("-"))
