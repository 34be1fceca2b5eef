"""What letters say of parts of the body, vital signs and results."""

from __future__ import annotations

import pytest

from linnet.data import Concept, Document, Name
from linnet.detect.dictionary import Dictionary
from linnet.detect.part_findings import SIGNS
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline, Sentences
from linnet.text.result_ranges import CENTILES
from linnet.text.wordlists import rows

NAMES = {
    "X:1": "Elevated circulating C-reactive protein concentration",
    "X:2": "Anemia",
    "X:3": "Hyperkalemia",
    "X:4": "Hyponatremia",
    "X:5": "Ankle swelling",
    "X:6": "Flank pain",
    "X:7": "Thrombocytosis",
    "X:8": "Increased blood urea nitrogen",
    "X:9": "Elevated circulating creatinine concentration",
    "X:10": "Rheumatoid factor positive",
    "X:11": "Fractured ankle",
    "X:12": "Hypertension",
    "X:13": "Hepatomegaly",
    "X:14": "Vomiting",
    "X:15": "Neck stiffness",
    "X:16": "Proteinuria",
    "X:17": "Elevated circulating creatine kinase concentration",
    "X:18": "Microcephaly",
    "X:19": "Tall stature",
    "X:20": "Weight loss",
    "X:22": "Hyperbilirubinemia",
    "X:23": "Vitamin D deficiency",
    "X:24": "Small for gestational age",
    "X:25": "Decreased body weight",
    "X:26": "Elevated circulating alanine aminotransferase concentration",
    "X:27": "Hyperglycinemia",
    "X:28": "Methylmalonic acidemia",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = [Concept(id, (Name(name),)) for id, name in NAMES.items()]
    return build(concepts, tmp_path_factory.mktemp("parts") / "small.kb")


def find(kb: KnowledgeBase, text: str) -> list[tuple[str, str]]:
    """Return the words and the concept of each mention."""
    dictionary = Dictionary(kb=kb, informal=True, short_forms="clinical")
    [doc] = Pipeline(Sentences(), dictionary)([Document.of(text)])
    return [(doc.surface(m), kb.id(int(m.candidates.rows[0]))) for m in doc.mentions or () if m.candidates]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Raised CRP.", [("Raised CRP", "X:1")]),
        ("CRP up at 19.", [("CRP up", "X:1")]),
        ("K+ 6.1 (high).", [("K+ 6.1 (high)", "X:3")]),
        ("Urine dip: blood ++ protein +++.", [("protein", "X:16")]),
        ("Protein 3+, K+ 4.1", [("Protein 3", "X:16")]),
        ("Platelets 90 (↑ from 40), K 4.1 (↓ from 6.2).", []),
        ("CRP up from 19.", []),
        ("CRP ↑ from the infection.", [("CRP", "X:1")]),
        ("Na 138 K 5.6↑ creatinine 80", [("K 5.6", "X:3")]),
        ("CRP 5, K 4.1 ↓Na", [("Na", "X:4")]),
        ("CRP 287 mg/l ↑ (<5), K 6.1 mmol/l ↑", [("CRP", "X:1"), ("K", "X:3")]),  # a unit is no part of it
        ("CK 2310 U/l ↑. CRP 60 mg/L H.", [("CK", "X:17"), ("CRP H", "X:1")]),
        ("K+ 6.1 (3.5-5.0) H, Na+ 138 (135-145).", [("K+ 6.1", "X:3")]),
        ("Lost approx 5 kg, losing 3-4 kg more.", [("Lost approx 5 kg", "X:20"), ("losing 3-4 kg", "X:20")]),
        ("Bilirubin gesamt 4 ↑, Gesamtbilirubin 5 ↑", [("Bilirubin gesamt 4", "X:22"), ("Gesamtbilirubin 5", "X:22")]),
        ("Vit D deficiency.", [("Vit D deficiency", "X:23")]),
        ("CRP 12 ↑ Na 140", [("CRP 12", "X:1")]),
        ("CRP 12 ↑\nNa 120 ↓\nCK 96\n", [("CRP 12", "X:1"), ("Na 120", "X:4")]),
        ("CRP ↑\nHb ↓\nEnd", [("CRP", "X:1"), ("Hb", "X:2")]),
        ("CRP 12\n↑ K\n", [("K", "X:3")]),
        ("Raised CRP, urea normal.", [("Raised CRP", "X:1")]),
        ("Kreatinin erhöht.", [("Kreatinin erhöht", "X:9")]),
        ("CRP is 42 (H).", [("CRP H", "X:1")]),
        ("CRP remains mildly elevated.", [("CRP elevated", "X:1")]),
        ("Hb 9.8 (L).", [("Hb 9.8 (L)", "X:2")]),
        ("Hb 9.8 g/L (L).", [("Hb L", "X:2")]),
        ("Potassium ........ high", [("Potassium ........ high", "X:3")]),
        ("↓ Na, ↑ K", [("Na", "X:4"), ("K", "X:3")]),
        ("Platelets 520 ↑.", [("Platelets 520", "X:7")]),
        ("Raised urea and creatinine.", [("Raised urea", "X:8"), ("Raised creatinine", "X:9")]),
        ("Urea and creatinine raised.", [("Urea raised", "X:8"), ("creatinine raised", "X:9")]),
        ("RF pos.", [("RF pos", "X:10")]),
        ("High BP.", [("High BP", "X:12")]),
        ("Swelling of both ankles.", [("Swelling of both ankles", "X:5")]),
        ("Ankles puffy by evening.", [("Ankles puffy", "X:5")]),
        ("Pain in her left loin.", [("Pain in her left loin", "X:6")]),
        ("Ankle # in 2009.", [("Ankle", "X:11")]),
        ("Liver not enlarged.", [("Liver enlarged", "X:13")]),  # of which the context says that it is negated
        ("A stiff neck.", [("stiff neck", "X:15")]),
        ("CK 820 (30-200).", [("CK 820", "X:17")]),
        ("CK 820 U/l (ref < 200), Na 138 (135-145).", [("CK 820", "X:17")]),
        ("CK: 1,200 IU/L [normal range 30 – 200]", [("CK: 1,200", "X:17")]),
        ("CK 1.200 (bis 200), K 5,9 (3,5-5,1)", [("CK 1.200", "X:17"), ("K 5,9", "X:3")]),
        ("CK >1000 (30-200 U/l), Na 128 mmol/l (135-145)", [("CK >1000", "X:17"), ("Na 128", "X:4")]),
        ("OFC 48 cm (<3rd centile).", [("OFC 48", "X:18")]),
        ("Head circumference below the 0.4th centile.", [("Head circumference", "X:18")]),
        ("OFC at 0.4th centile, KU <3. Perzentile.", [("OFC", "X:18"), ("KU", "X:18")]),
        ("Head circumference below 0.4th.", [("Head circumference", "X:18")]),
        ("KU 46 cm (<P3), Größe 190 cm (>P97)", [("KU 46", "X:18"), ("Größe 190", "X:19")]),
        (
            "Birth weight 2.41 kg (2nd centile), weight 9 kg (<P3).",
            [("Birth weight 2.41", "X:24"), ("weight 9", "X:25")],
        ),
        ("Gewicht 12 kg (<P3), Geburtsgewicht 2 kg (< P3)", [("Gewicht 12", "X:25"), ("Geburtsgewicht 2", "X:24")]),
        ("Birth OFC 30 cm (1st centile)", [("Birth OFC 30", "X:18")]),
        ("GPT 78 ↑, Thrombozyten 480 Tsd ↑", [("GPT 78", "X:26"), ("Thrombozyten", "X:7")]),
        ("glycine ↑, raised methylmalonic acid", [("glycine", "X:27"), ("raised methylmalonic acid", "X:28")]),
        ("OFC -3.2 SD, height 190 cm (> 97th percentile).", [("OFC", "X:18"), ("height 190", "X:19")]),
    ],
)
def test_what_is_said_of_parts_and_results_is_found(kb: KnowledgeBase, text: str, found: list[tuple[str, str]]) -> None:
    assert sorted((surface.replace(" … ", " "), id) for surface, id in find(kb, text)) == sorted(found)


@pytest.mark.parametrize(
    "text",
    [
        "Hb 98 g/L, Na 128 mmol/L.",
        "Platelets 520 x10^9/L.",
        "Urea 2 l.",
        "CRP normal, high hopes.",
        "CRP 4. High mood.",
        "Na 128\nFluids up",
        "A low sodium diet.",
        "A decrease in the sodium.",
        "No pain, loins clear.",
        "CRP and low mood.",
        "CK 120 (30-200), K 4.9 (3.5-5.1).",
        "CK 820 (2019-2021), K 5.9 (24-11).",
        "CK 820 (previously 30-200), K 5.9 (target 3.5-5.1).",
        "OFC 48 cm (25th centile), height <9th centile, OFC 40th centile, OFC >2nd centile.",
        "OFC 2nd-9th centile, OFC -1 SD.",
        "CK < 820 (30-200).",
        "KU 46 cm (P3), KU P10-P25, OFC (>P3), OFC at 2nd visit, OFC below 2nd visit, OFC 3, weight 3.",
        "Birth weight 3.4 kg (50th centile), glycine 200, GPT 20.",
        "Weighs 70 kg, lost 5 teeth; lost her 5 kg bag; high 12 K.",
    ],
)
def test_what_belongs_to_something_else_is_not_found(kb: KnowledgeBase, text: str) -> None:
    assert find(kb, text) == []


def test_words_that_may_take_each_others_place_are_all_found(kb: KnowledgeBase) -> None:
    assert find(kb, "Threw up twice, has thrown up since.") == [("Threw up", "X:14"), ("thrown up", "X:14")]


def test_qualities_of_the_table_have_words() -> None:
    known = {quality for quality, *_ in rows("linnet.text", "qualities.tsv")}
    used = {cell.partition("=")[0] for _, *cells in rows("linnet.text", "findings.tsv") for cell in cells}
    assert used <= known | {*SIGNS.values(), *CENTILES}
