"""Abbreviations: tables of definitions found and not found, and properties that hold for any text."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Span
from linnet.text.abbreviations import find_abbreviations
from linnet.text.sentences import split_sentences


def found(text: str) -> list[tuple[str, str]]:
    pairs = find_abbreviations(text, split_sentences(text))
    return [(text[short.start : short.end], text[long.start : long.end]) for short, long in pairs]


DEFINED = [
    # the published algorithm
    ("an atrial septal defect (ASD) was seen", ["ASD=atrial septal defect"]),
    ("a heat shock transcription factor (HSF)", ["HSF=heat shock transcription factor"]),
    ("the ASD (atrial septal defect) was closed", ["ASD=atrial septal defect"]),
    ("failure to thrive (FTT)", ["FTT=failure to thrive"]),
    ("the area under the curve (AUC)", ["AUC=area under the curve"]),
    ("methylenedioxymethamphetamine (MDMA)", ["MDMA=methylenedioxymethamphetamine"]),
    ("tissue-type plasminogen activator (tPA)", ["tPA=tissue-type plasminogen activator"]),
    ("patent ductus arteriosus (PDA) and patent foramen ovale (PFO)",
     ["PDA=patent ductus arteriosus", "PFO=patent foramen ovale"]),
    ("apolipoprotein E (apo E)", ["apo E=apolipoprotein E"]),
    ("optical coherence tomography (OCT). The OCT", ["OCT=optical coherence tomography"]),
    # digits, hyphens, Greek
    ("human immunodeficiency virus type 1 (HIV-1)", ["HIV-1=human immunodeficiency virus type 1"]),
    ("5-hydroxytryptamine (5-HT)", ["5-HT=5-hydroxytryptamine"]),
    ("interferon gamma (IFN-γ)", ["IFN-γ=interferon gamma"]),
    ("tumor necrosis factor-α (TNF-alpha)", ["TNF-alpha=tumor necrosis factor-α"]),
    ("transforming growth factor β1 (TGFβ1)", ["TGFβ1=transforming growth factor β1"]),
    # brackets
    ("magnetic resonance imaging [MRI]", ["MRI=magnetic resonance imaging"]),
    ("cytokines (tumor necrosis factor (TNF))", ["TNF=tumor necrosis factor"]),
    ("(atrial septal defect [ASD])", ["ASD=atrial septal defect"]),
    ("fragile X syndrome(FXS)", ["FXS=fragile X syndrome"]),
    ("highly active antiretroviral (ARV) treatment (HAART)",
     ["ARV=antiretroviral", "HAART=highly active antiretroviral (ARV) treatment"]),
    ("N-(4-hydroxyphenyl) retinamide (4-HPR)", ["4-HPR=N-(4-hydroxyphenyl) retinamide"]),
    ("poly (lactic-co-glycolic acid) (PLGA)", ["PLGA=poly (lactic-co-glycolic acid)"]),
    ("sodium nitroprusside (5 mg) (SNP)", ["SNP=sodium nitroprusside"]),
    # several short forms, words in front, quotes, punctuation
    ("retinopathy of prematurity (ROP; see below)", ["ROP=retinopathy of prematurity"]),
    ("fetal alcohol syndrome (FAS, also FASD)", ["FAS=fetal alcohol syndrome", "FASD=fetal alcohol syndrome"]),
    ("heart rate (hereafter HR)", ["HR=heart rate"]),
    ("heart rate (abbreviated as HR)", ["HR=heart rate"]),
    ("heart rate (“HR”)", ["HR=heart rate"]),
    ("heart rate (HR.)", ["HR=heart rate"]),
    ("MRI (magnetic resonance imaging; 3 T)", ["MRI=magnetic resonance imaging"]),
    # plurals
    ("copy number variants (CNVs)", ["CNVs=copy number variants"]),
    ("single nucleotide polymorphism (SNPs)", ["SNPs=single nucleotide polymorphism"]),
    # borders of the long form
    ("the tetralogy (TY)", ["TY=tetralogy"]),
    ("in vitro fertilization (IVF)", ["IVF=in vitro fertilization"]),
    ("anti-tumor necrosis factor (TNF)", ["TNF=tumor necrosis factor"]),
    ("Sprague-Dawley rats (SD)", ["SD=Sprague-Dawley"]),
    ("methods: atrial septal defect (ASD)", ["ASD=atrial septal defect"]),
    ("and/or atrial septal defect (ASD)", ["ASD=atrial septal defect"]),
    # letters inside a word give way to initials
    ("newly diagnosed multiple myeloma (MM)", ["MM=multiple myeloma"]),
    ("known as attenuated adenomatous polyposis coli (AAPC)", ["AAPC=attenuated adenomatous polyposis coli"]),
    ("the International Index of Erectile Function (IIEF)", ["IIEF=International Index of Erectile Function"]),
    ("relapsed/refractory (R/R) disease", ["R/R=relapsed/refractory"]),
    ("mice given methotrexate (MTX)", ["MTX=methotrexate"]),
    ("an acute arachidonic acid (AA)", ["AA=arachidonic acid"]),
    # names of compounds
    ("binding of [(3)H]saxitoxin (STX)", ["STX=saxitoxin"]),
    ("uptake of [3H]-dopamine (DA)", ["DA=dopamine"]),
    ("1,2-dimethylhydrazine (1,2-DMH) and more", ["1,2-DMH=1,2-dimethylhydrazine"]),
    # lower case
    ("given intravenously (iv)", ["iv=intravenously"]),
    ("intravenous (i.v.) fluids", ["i.v.=intravenous"]),
    ("base pair (bp)", ["bp=base pair"]),
    ("İn an atrial septal defect (ASD)", ["ASD=atrial septal defect"]),
]  # fmt: skip

NOT_DEFINED = [
    "no brackets at all",
    "an atrial septal defect. (ASD) is short",  # another sentence
    "shown before (Figure 1) and (Table 2) and (see below)",
    "in percent (%) of all (n = 12; p < 0.05) and (95%)",
    "of (i) the heart, (ii) the liver, (iii) in vitro viability, (iv) in vivo",
    "Ca(2+) and [3H]thymidine and poly(ADP)ribose",
    "the anatomy of people (TAP",
    "a closed one) (and an open one",
    "mismatched atrial septal defect (ASD]",
    "type two (II) and intensive insulin (II)",
    "studied by BS line or other resistance (BS line)",
    "conversion in patients undergoing cyclosporine (CsA)",  # two words behind the last letter
    "mean weight (in kilograms)",
    "the men were old (then)",
    "every compound here (2a) has (A) label",
    "SGK1 (sgk1(-/-)) mice",
    "Aspirin (acetylsalicylic acid)",
    "five mutants (9 Fm)",
    "() [] (( )) ( )",
    "of the whole (OW)",
    "in ten cases (1,200) and more (2,3 and 4)",
]


@pytest.mark.parametrize(("text", "pairs"), DEFINED, ids=lambda value: str(value)[:40])
def test_defined(text: str, pairs: list[str]) -> None:
    assert [f"{short}={long}" for short, long in found(text)] == pairs


@pytest.mark.parametrize("text", NOT_DEFINED)
def test_not_defined(text: str) -> None:
    assert found(text) == []


def test_the_window_is_that_of_the_paper() -> None:
    filler = "x " * 5
    assert found(f"alpha {'x ' * 2}beta (AB)") == [("AB", "alpha x x beta")]
    assert found(f"alpha {filler}beta (AB)") == []  # two letters: four words at most


def test_a_definition_lies_in_one_of_the_sentences_given() -> None:
    text = "atrial septal defect (ASD)"
    assert find_abbreviations(text, []) == ()
    assert find_abbreviations(text, [Span(0, 10)]) == ()
    assert find_abbreviations(text, [Span(0, 7), Span(7, len(text))]) == ()
    assert len(find_abbreviations(text, [Span(0, len(text))])) == 1


def test_a_second_definition_is_kept() -> None:
    assert found("heart rate (HR) fell. Hazard ratio (HR) rose.") == [("HR", "heart rate"), ("HR", "Hazard ratio")]


PARTS = (
    "(TGF-β)",
    "(SNPs)",
    "single nucleotide polymorphism",
    "HR",
    "heart rate",
    "İ",
    "(iv)",
    "-",
    "/",
    "anti-",
    "\n",
)
PIECES = st.sampled_from(
    [
        *PARTS,
        "atrial",
        "septal",
        "defect",
        "(ASD)",
        "[ASD]",
        "(",
        ")",
        "[",
        "]",
        " ",
        " ",
        ". ",
        "; ",
        ", ",
        "of",
        "alpha",
        "β",
    ]
)
TEXTS = st.one_of(st.text(alphabet="aAbB sS1-(). [];α", max_size=80), st.lists(PIECES, max_size=30).map("".join))


def reduced(text: str) -> list[str]:
    """Letters and digits, Greek ones as their Latin initials."""
    folded = text.replace("İ", "i").lower().translate(str.maketrans("αβ", "ab"))
    return [sign for sign in folded if sign.isalnum()]


@given(TEXTS)
def test_short_forms_occur_in_long_forms_in_order(text: str) -> None:
    sentences = split_sentences(text)
    for short, long in find_abbreviations(text, sentences):
        assert 0 <= short.start < short.end <= len(text)
        assert 0 <= long.start < long.end <= len(text)
        assert short.end <= long.start or long.end <= short.start
        assert any(
            start <= min(short.start, long.start) and max(short.end, long.end) <= end for start, end in sentences
        )
        surface = text[long.start : long.end]
        assert surface == surface.strip()
        letters = iter(reduced(surface))
        wanted = reduced(text[short.start : short.end])
        missing = [sign for sign in wanted if sign not in letters]  # consumes the letters: a test of order
        assert missing == [] or (missing == ["s"] and text[short.end - 1] == "s")


HOSTILE = {
    "brackets": "(" * 1_000_000,
    "pairs": "()" * 200_000,
    "short forms": "(AB) " * 50_000,
    "nested": "(" * 300_000 + ")" * 300_000,
    "nested short forms": "(AB " * 100_000 + ")" * 100_000,
    "long sentence": "a b c " * 500_000 + "(ABC)",
    "long word": "a" * 3_000_000 + " (ABC)",
    "mismatched": "(]" * 300_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_ends(text: str) -> None:
    find_abbreviations(text, [Span(0, len(text))])  # under a second; quadratic time would be hours


@pytest.mark.data
def test_well_known_abbreviations_of_bc5cdr() -> None:
    root = os.environ.get("LINNET_DATA")
    if not root:
        pytest.skip("needs LINNET_DATA, the folder with the real corpora")
    path = Path(root) / "corpora" / "bc5cdr" / "CDR_TrainingSet.PubTator.txt.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    pairs = {pair for line in lines if "|a|" in line[:20] for pair in found(line.split("|a|", 1)[1])}
    assert len(pairs) > 300
    assert pairs >= {
        ("PD", "Parkinson's disease"),
        ("NMDA", "N-methyl-D-aspartate"),
        ("HBV", "hepatitis B virus"),
        ("fMRI", "functional magnetic resonance imaging"),
        ("ESRD", "end-stage renal disease"),
    }
