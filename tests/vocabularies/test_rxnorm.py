"""RxNorm releases: rows written for these tests in the published layout; no published file was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Concept, Name
from linnet.errors import FormatError, LinnetError
from linnet.vocabularies.rxnorm import read_rxnorm

# RXCUI LAT TS LUI STT SUI ISPREF RXAUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF
RXNCONSO = """\
29046|ENG||||||12254378|12254378|29046||RXNORM|IN|29046|lisinopril||N|4096|
29046|ENG||||||2597|||E7199S1YWR|MTHSPL|SU|E7199S1YWR|LISINOPRIL ANHYDROUS||N||
29046|ENG||||||2598|||0093-1|MTHSPL|DP|0093-1|lisinopril 5 MG ORAL TABLET [X Pharma]||N||
29046|ENG||||||2599||||RXNORM|SY|29046|Lisinopril  (anhydrous)||N||
29046|ENG||||||2600||||RXNORM|SY|29046|old lisinopril||O||
29046|ENG||||||2601||||GS|BN|77|Somebody's name||N||
104376|ENG||||||1||||RXNORM|BN|104376|Zestril||N|4096|
203644|ENG||||||2||||RXNORM|SY|203644|ZESTRIL dihydrate||N||
203644|ENG||||||3||||RXNORM|PIN|203644|lisinopril dihydrate||N|4096|
314076|ENG||||||4||||RXNORM|SCD|314076|lisinopril 10 MG Oral Tablet||N|4096|
317541|ENG||||||5||||RXNORM|DF|317541|Oral Tablet||N|4096|
9999|ENG||||||6||||RXNORM|IN|9999|withdrawn||O||
8888|ENG||||||7|||X|MTHSPL|SU|X|WATER||N||
"""
# RXCUI1 RXAUI1 STYPE1 REL RXCUI2 RXAUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF
# (RXCUI2 is the RELA of RXCUI1)
RXNREL = """\
29046||CUI|RN|104376||CUI|tradename_of|1||RXNORM|||||4096|
104376||CUI|RB|29046||CUI|has_tradename|2||RXNORM|||||4096|
29046||CUI|RN|203644||CUI|form_of|3||RXNORM|||||4096|
317541||CUI|RO|314076||CUI|has_dose_form|4||RXNORM|||||4096|
|12254378|AUI|SY||2597|AUI|form_of|5||RXNORM||||||
"""


def release(folder: Path, **changes: str) -> Path:
    """Write a release into `folder`/rrf, as its archive unpacks."""
    (folder / "rrf").mkdir(exist_ok=True)
    for name, text in ({"RXNCONSO": RXNCONSO, "RXNREL": RXNREL} | changes).items():
        (folder / "rrf" / f"{name}.RRF").write_text(text, encoding="utf-8")
    return folder


def test_ingredients_and_brands(tmp_path: Path) -> None:
    names = (Name("lisinopril", source="RXNORM"), Name("Lisinopril (anhydrous)", source="RXNORM"))
    fda = Name("LISINOPRIL ANHYDROUS", source="MTHSPL")
    expected = [
        Concept("RXNORM:29046", (*names, fda), ("Ingredient",), xrefs=("UNII:E7199S1YWR",)),
        Concept("RXNORM:104376", (Name("Zestril", source="RXNORM"),), ("Brand name",), parents=("RXNORM:29046",)),
        Concept(
            "RXNORM:203644",
            (Name("lisinopril dihydrate", source="RXNORM"), Name("ZESTRIL dihydrate", source="RXNORM")),
            ("Precise ingredient",),
            parents=("RXNORM:29046",),
        ),
    ]
    found = list(read_rxnorm(release(tmp_path)))
    assert found == expected
    assert found[0].origin == f"{tmp_path / 'rrf' / 'RXNCONSO.RRF'}:1"
    assert list(read_rxnorm(tmp_path / "rrf")) == expected, "the folder of the files themselves"


def test_kinds_and_a_release_without_relations(tmp_path: Path) -> None:
    release(tmp_path)
    (tmp_path / "rrf" / "RXNREL.RRF").unlink()
    found = {concept.id: concept.types for concept in read_rxnorm(tmp_path, kinds=["SCD", "DF"])}
    assert found == {"RXNORM:314076": ("Clinical drug",), "RXNORM:317541": ("Dose form",)}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"RXNCONSO\.RRF: there is no such file"):
        list(read_rxnorm(tmp_path))
    release(tmp_path)
    with pytest.raises(LinnetError, match="kinds: 'INN' is none of IN, PIN"):
        list(read_rxnorm(tmp_path, kinds=["INN"]))
    with pytest.raises(FormatError, match="no concept of the kinds SBD"):
        list(read_rxnorm(tmp_path, kinds=["SBD"]))
    for rows, problem in [
        (RXNCONSO[:-9], ":13: the last row is incomplete"),
        (RXNCONSO.replace("29046|ENG", "C29046|ENG", 1), ":1: has the id 'C29046'"),
        ("29046|lisinopril\n", ":1: has 2 columns"),
    ]:
        with pytest.raises(FormatError, match=problem):
            list(read_rxnorm(release(tmp_path, RXNCONSO=rows)))
