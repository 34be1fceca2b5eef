"""UMLS releases in Rich Release Format: rows written for these tests in the exact published layout."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError, LinnetWarning
from linnet.kb.build import build
from linnet.vocabularies.umls import ST21PV_SOURCES, ST21PV_TYPES, read_umls
from linnet.vocabularies.umls_files import LAYOUTS

# CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF
MRCONSO = """\
C0000001|ENG|P|L01|PF|S01|Y|A01||||MTH|PN|NOCODE|Disorder|0|N||
C0000002|ENG|S|L02|PF|S02|Y|A02||M1|D008288|MSH|MH|D008288|Malaria, NOS|0|N|256|
C0000002|ENG|P|L03|VO|S03|Y|A03||||MSH|ET|D008288|MALARIA|0|N|256|
C0000002|ENG|P|L03|PF|S04|N|A04||||SNOMEDCT_US|SY|61462000|malaria|9|N||
C0000002|ENG|P|L03|PF|S05|Y|A05||||NCI|PT|C34797|Malaria|0|N||
C0000002|ENG|S|L06|PF|S06|Y|A06||||MDR|LLT|10025487|Ague|3|O||
C0000002|GER|P|L07|PF|S07|Y|A07||||MSHGER|MH|D008288|Wechselfieber|3|N||
C0000003|ENG|P|L08|PF|S08|Y|A08||||HPO|PT|HP:0001945|Fever|0|N||
C0000004|GER|P|L09|PF|S09|Y|A09||||MSHGER|MH|D000001|Nur deutsch|3|N||
C0000005|ENG|P|L10|PF|S10|Y|A10||||AIR|PT|X1|Old system|0|N||
"""
MRSTY = """\
C0000001|T047|B2.2.1.2.1|Disease or Syndrome|AT01|256|
C0000002|T047|B2.2.1.2.1|Disease or Syndrome|AT02||
C0000002|T204|A1.1.3|Eukaryote|AT03||
C0000003|T184|A2.2.2|Sign or Symptom|AT04||
C0000004|T047|B2.2.1.2.1|Disease or Syndrome|AT05||
C0000005|T022|A2.1.4.1|Body System|AT06||
"""
# CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF
MRDEF = """\
C0000002|A05|AT11||NCI|The NCI's  definition.|N||
C0000002|A02|AT12||MSH|The one of MeSH.|N||
C0000002|A03|AT13||MSH|A suppressed one.|O||
C0000003|A99|AT14||HPO|Of an atom that is not there.|N||
"""
# CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF: CUI2 is the REL of CUI1
MRREL = """\
C0000001|A01|AUI|CHD|C0000002|A02|AUI|isa|R01||MSH|MSH|||N||
C0000002|A02|AUI|PAR|C0000001|A01|AUI|inverse_isa|R02||MSH|MSH|||N||
C0000001|A01|AUI|CHD|C0000003|A08|AUI|isa|R03||HPO|HPO|||N||
C0000002|A02|AUI|PAR|C0000002|A03|AUI||R04||MSH|MSH|||N||
C0000003|A08|AUI|PAR|C0000005|A10|AUI||R05||AIR|AIR|||O||
C0000003|A08|AUI|RO|C0000002|A02|AUI|PAR|R06||HPO|HPO|||N||
C0000005|A10|AUI|RB|C0000001|A01|AUI||R07||AIR|AIR|||N||
"""
# CUI1 VER REL RELA MAPREASON CUI2 MAPIN
MRCUI = """\
C0000002|1999AA|SY|||C0000003|Y|
C0000006|2001AA|RB|||C0000001|Y|
C0000006|2001AA|SY|||C0000002|Y|
C0000007|2002AC|DEL|||||
C0000008|2003AA|RO|||C0000002|Y|
C0000009|2004AA|SY|||C0000004|N|
"""
FILES = {"MRCONSO": MRCONSO, "MRSTY": MRSTY, "MRDEF": MRDEF, "MRREL": MRREL, "MRCUI": MRCUI}


def release(folder: Path, **changed: str | None) -> Path:
    for name, text in {**FILES, **changed}.items():
        if text is not None:
            (folder / f"{name}.RRF").write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, **options: Any) -> dict[str, Concept]:
    concepts = list(read_umls(release(folder), **options))
    assert len({concept.id for concept in concepts}) == len(concepts)
    return {concept.id.removeprefix("UMLS:"): concept for concept in concepts}


def test_concepts(tmp_path: Path) -> None:
    concepts = read(tmp_path)
    assert list(concepts) == [f"C000000{i}" for i in (1, 2, 3, 5, 6, 7, 8)]
    malaria = concepts["C0000002"]
    assert malaria == Concept(
        "UMLS:C0000002",
        (Name("Malaria", source="NCI"), Name("Malaria, NOS", source="MSH")),
        ("Disease or Syndrome", "Eukaryote"),
        "The one of MeSH.",
        ("UMLS:C0000001",),
        ("NCIT:C34797", "SNOMEDCT:61462000", "MESH:D008288"),
    )
    assert malaria.origin == f"{tmp_path / 'MRCONSO.RRF'}:2"
    assert concepts["C0000003"].xrefs == ("HP:0001945",)
    assert concepts["C0000003"].definition == ""
    assert concepts["C0000001"].xrefs == ()


def test_direction_of_relations(tmp_path: Path) -> None:
    """CHD and PAR say the same; suppressed ones, ones to itself, and PAR in another column do not count."""
    parents = {id: concept.parents for id, concept in read(tmp_path).items() if concept.parents}
    assert parents == {"C0000002": ("UMLS:C0000001",), "C0000003": ("UMLS:C0000001",)}
    assert read(tmp_path, parents=["PAR", "RB"])["C0000005"].parents == ("UMLS:C0000001",)
    mirror = MRREL.replace("C0000005|A10|AUI|RB|C0000001|", "C0000001|A01|AUI|RN|C0000005|")
    concepts = {c.id: c for c in read_umls(release(tmp_path, MRREL=mirror), parents=["RB"])}
    assert [id for id, concept in concepts.items() if concept.parents] == ["UMLS:C0000005"]


def test_circles_are_left_out(tmp_path: Path) -> None:
    circle = "C0000001|A01|AUI|PAR|C0000003|A08|AUI||R08||X|X|||N||\n"
    with pytest.warns(LinnetWarning, match=r"2 parents that are descendants too.*C0000001 under C0000003"):
        concepts = list(read_umls(release(tmp_path, MRREL=MRREL + circle)))
    assert [concept.id for concept in concepts if concept.parents] == ["UMLS:C0000002"]
    build(concepts, tmp_path / "a.kb")


def test_retired(tmp_path: Path) -> None:
    retired = {id: c.replaced_by for id, c in read(tmp_path).items() if c.replaced_by is not None}
    assert retired == {"C0000006": "UMLS:C0000002", "C0000007": "", "C0000008": ""}
    assert read(tmp_path, languages=["GER"])["C0000009"].replaced_by == "UMLS:C0000004"


def test_languages(tmp_path: Path) -> None:
    both = read(tmp_path, languages=["de", "ENG"])["C0000002"]
    assert both.names[0] == Name("Wechselfieber", language="de", source="MSHGER")
    assert [name.text for name in both.names[1:]] == ["Malaria", "Malaria, NOS"]
    assert "C0000004" in read(tmp_path, languages=["GER"])
    with pytest.raises(FormatError, match="nothing passes the filters"):
        read(tmp_path, languages=["FRE"])


def test_suppressed_names_are_related(tmp_path: Path) -> None:
    names = read(tmp_path, suppress=("N", "O"))["C0000002"].names
    assert names[-1] == Name("Ague", "related", source="MDR")


def test_sources(tmp_path: Path) -> None:
    concepts = read(tmp_path, sources=["SNOMEDCT_US", "HPO"])
    assert [id for id, concept in concepts.items() if concept.names] == ["C0000002", "C0000003"]
    assert concepts["C0000002"].names == (Name("malaria", source="SNOMEDCT_US"),)
    assert concepts["C0000002"].definition == ""


@pytest.mark.parametrize("kind", ["T184", "t184", "Sign or Symptom", "sign or symptom"])
def test_types(tmp_path: Path, kind: str) -> None:
    assert [id for id, concept in read(tmp_path, types=[kind]).items() if concept.names] == ["C0000003"]


def test_st21pv(tmp_path: Path) -> None:
    assert (len(ST21PV_TYPES), len(ST21PV_SOURCES)) == (21, 18)
    # levels as published: the root of a tree is level 1
    levels = {"T005": 4, "T017": 3, "T022": 5, "T033": 3, "T038": 4, "T074": 4, "T092": 3, "T103": 4, "T204": 4}
    for tui, level in levels.items():
        assert len(ST21PV_TYPES[tui].removeprefix("A").removeprefix("B").split(".")) + 1 == level
    # diseases stand under T038, symptoms under T033; C0000005 has a wanted type but no wanted source
    concepts = read(tmp_path, subset="st21pv")
    assert [id for id, concept in concepts.items() if concept.names] == ["C0000001", "C0000002", "C0000003"]
    food = MRSTY.replace("B2.2.1.2.1|Disease or Syndrome|AT01", "B2.2.10|Not below B2.2.1|AT01")
    concepts_2 = list(read_umls(release(tmp_path, MRSTY=food), subset="ST21PV"))
    assert [concept.id for concept in concepts_2 if concept.names] == ["UMLS:C0000002", "UMLS:C0000003"]


def test_gzip_and_missing_files(tmp_path: Path) -> None:
    release(tmp_path, MRDEF=None, MRREL=None, MRCUI=None)
    (tmp_path / "MRCONSO.RRF").unlink()
    (tmp_path / "MRCONSO.RRF.gz").write_bytes(gzip.compress(MRCONSO.encode()))
    with pytest.warns(LinnetWarning) as told:
        concepts = list(read_umls(tmp_path))
    assert [concept.id for concept in concepts] == [f"UMLS:C000000{i}" for i in (1, 2, 3, 5)]
    assert ["MRDEF.RRF" in str(w.message) for w in told] == [True, False, False]
    (tmp_path / "MRSTY.RRF").unlink()
    with pytest.raises(FormatError, match=r"MRSTY\.RRF: there is no such file"):
        list(read_umls(tmp_path))


@pytest.mark.parametrize("name", list(FILES))
def test_truncated(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=rf"{name}\.RRF:\d+: the last row is incomplete: the file is truncated"):
        list(read_umls(release(tmp_path, **{name: FILES[name][:-9]})))
    rows = len(FILES[name].splitlines())
    layout = LAYOUTS[name].columns
    files = f"{name}.RRF|x|{','.join(layout)}|{len(layout)}|{rows + 1}|1|\n"
    with pytest.raises(FormatError, match=rf"has {rows} rows, MRFILES says {rows + 1}"):
        list(read_umls(release(tmp_path, MRFILES=files)))


@pytest.mark.parametrize("name", ["MRCONSO", "MRSTY", "MRDEF", "MRCUI"])
def test_unsorted(tmp_path: Path, name: str) -> None:
    lines = FILES[name].splitlines(keepends=True)
    with pytest.raises(FormatError, match=r"stands after C000000\d; the rows must be sorted"):
        list(read_umls(release(tmp_path, **{name: "".join([*lines, lines[0]])})))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("C0000003|ENG|P|too short|", r"line 9 has 4 columns, expected 18"),
        ("X0000003|ENG|P|L|PF|S|Y|A||||MSH|MH|D1|a name|0|N||", "line 9 'X0000003' is no CUI"),
        ("C0000003|ENG|S|L|PF|S|Y|A||||MSH|MH|D1| |0|N||", "line 9 has an empty name"),
    ],
)
def test_malformed_rows_are_told(tmp_path: Path, bad: str, told: str) -> None:
    lines = MRCONSO.splitlines()
    text = "\n".join([*lines[:8], bad, *lines[8:]]) + "\n"
    with pytest.warns(LinnetWarning, match=rf"malformed rows, left out \(1\): {told}"):
        concepts = list(read_umls(release(tmp_path, MRCONSO=text)))
    assert len(concepts) == 7


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"MRCONSO\.RRF:1: has 6 columns, expected 18.*is it the right file"):
        list(read_umls(release(tmp_path, MRCONSO=MRSTY)))
    lines = MRSTY.splitlines(keepends=True)
    many = "".join([lines[0], *["C0000001|T047|\n"] * 150, *lines[1:]])
    with pytest.raises(FormatError, match="101 of 102 rows are malformed"):
        list(read_umls(release(tmp_path, MRSTY=many)))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"languages": []}, "languages is empty"),
        ({"suppress": ["n"]}, "suppress: 'n' is none of N, O, E, Y"),
        ({"subset": "st21"}, "did you mean 'st21pv'"),
        ({"parents": ["CHD"]}, "'CHD' is none of PAR, RB"),
        ({"types": ["T999"]}, "no concept has the semantic type 't999'"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(LinnetError, match=told):
        read(tmp_path, **options)


def test_a_damaged_mrfiles(tmp_path: Path) -> None:
    text = "MRSTY.RRF|d|f|6|6|1|\nMRCONSO.RRF|d|f|18|ten|1|\nMRDEF.RRF|d|f|8|4|1|\n"
    with pytest.warns(LinnetWarning, match=r"MRFILES\.RRF: malformed .* line 2 says that MRCONSO\.RRF has 'ten' rows"):
        assert len(list(read_umls(release(tmp_path, MRFILES=text)))) == 7


@pytest.mark.parametrize("wrong", ["", "CL" + "9" * 15, "CL0000017", "C000\u0662000"])
def test_wrong_cuis_in_later_columns(tmp_path: Path, wrong: str) -> None:
    history = MRCUI.replace("C0000006|2001AA|SY|||C0000002", f"C0000006|2001AA|SY|||{wrong}")
    relations = f"{MRREL}C0000003|A08|AUI|PAR|{wrong}|A01|AUI||R09||HPO|HPO|||N||\n{MRREL.splitlines()[-1]}\n"
    with pytest.warns(LinnetWarning, match="is no CUI") as told:
        concepts = {c.id: c for c in read_umls(release(tmp_path, MRCUI=history, MRREL=relations))}
    assert {str(one.message).partition(".RRF")[0].rpartition("/")[2] for one in told} == {"MRCUI", "MRREL"}
    assert concepts["UMLS:C0000006"].replaced_by == ""
