"""The language of letters: short forms, everyday names, statements, typing errors, and names that are no findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linnet.data import Concept, Document, Name
from linnet.detect.dictionary import Dictionary
from linnet.detect.informal import LayFile
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Abbreviations, Pipeline, Sentences
from linnet.text.wordlists import rows

NAMES = {
    "X:1": ["Atrial septal defect"],
    "X:2": ["Autism spectrum disorder", "Autism"],
    "X:3": ["Secundum atrial septal defect"],
    "X:4": ["Dyspnea"],
    "X:5": ["Broad ribs"],
    "X:6": ["Seizure"],
    "X:7": ["Stroke"],
    "X:8": ["Gout"],
    "X:9": ["Hypothyroidism"],
    "X:10": ["Pallor"],
    "X:11": ["Ataxia"],
    "X:12": ["Fatigue"],
    "X:13": ["Deviated nasal septum"],
    "X:14": ["Ptosis", "Eye drops"],
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = [Concept(id, tuple(map(Name, names))) for id, names in NAMES.items()]
    return build(concepts, tmp_path_factory.mktemp("informal") / "small.kb")


def find(kb: KnowledgeBase, text: str, **options: Any) -> list[tuple[str, str]]:
    """Return the words and the concept of each mention."""
    [doc] = Pipeline(Sentences(), Abbreviations(), Dictionary(kb=kb, **options))([Document.of(text)])
    return [(doc.surface(m), kb.id(int(m.candidates.rows[0]))) for m in doc.mentions or () if m.candidates]


def test_undefined_short_forms_are_read_as_what_the_document_speaks_for(kb: KnowledgeBase) -> None:
    clinical = {"short_forms": "clinical"}
    assert find(kb, "Echo: secundum ASD, heart murmur, SOB.") == []
    assert find(kb, "Echo: secundum ASD, heart murmur, SOB.", **clinical) == [("secundum ASD", "X:3"), ("SOB", "X:4")]
    assert find(kb, "The school asks about ASD and ADHD.", **clinical) == [("ASD", "X:2")]
    assert find(kb, "ASD.", **clinical) == []


def test_what_a_document_defines_comes_first(kb: KnowledgeBase) -> None:
    text = "Acute stroke disease (ASD) is rare. Echo: ASD, heart murmur, shunt."
    assert "X:1" not in dict(find(kb, text, short_forms="clinical")).values()


def test_the_probability_of_a_short_form_is_in_the_score(kb: KnowledgeBase) -> None:
    [mentions] = Dictionary(kb=kb, short_forms="clinical").detect([Document.of("SOB. Dyspnea.")])
    assert [round(float(mention.signals["detect"]), 2) for mention in mentions] == [0.8, 1.0]


def test_tables_of_the_user_name_concepts_or_ids(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "ours.tsv"
    path.write_text("FLO\tstroke\nBRD\tX:8\nQQ\tnothing here\n", encoding="utf-8")
    assert find(kb, "FLO, BRD, QQ.", short_forms=str(path)) == [("FLO", "X:7"), ("BRD", "X:8")]
    assert Dictionary(kb=kb, short_forms=str(path)).unknown_forms(str(path)) == ["QQ"]


def test_a_short_form_may_mean_a_concept_that_is_called_so(tmp_path: Path) -> None:
    names = {"L:1": ["EKG"], "L:2": ["GFR", "Glomerular filtration rate"], "L:3": ["CT"]}
    kb = build([Concept(id, tuple(map(Name, some))) for id, some in names.items()], tmp_path / "own.kb")
    path = tmp_path / "ours.tsv"
    path.write_text("EKG\tL:1\nGFR\tL:2\n", encoding="utf-8")
    assert find(kb, "EKG, GFR and CT.", short_forms=str(path)) == [("EKG", "L:1"), ("GFR", "L:2")]


def test_a_short_form_for_two_names_is_two_findings(tmp_path: Path) -> None:
    kb = build([Concept(name, (Name(name),)) for name in ("Diarrhea", "Vomiting")], tmp_path / "two.kb")
    clinical = {"short_forms": "clinical"}
    assert find(kb, "D&V.", **clinical) == [("D", "Diarrhea"), ("V", "Vomiting")]
    assert find(kb, "D & V; N&V", **clinical) == [("D", "Diarrhea"), ("V", "Vomiting")]
    whole = build([Concept("Both", (Name("Diarrhea and vomiting"),)), *kb.concepts()], tmp_path / "one.kb")
    assert find(whole, "D&V", **clinical) == [("D&V", "Both")]


def test_what_is_near_is_no_other_concept(tmp_path: Path) -> None:
    names = ["Recurrent candida infections", "Pedal edema", "Peripheral edema"]
    kb = build([Concept(f"X:{at}", (Name(name),)) for at, name in enumerate(names)], tmp_path / "near.kb")
    assert find(kb, "Oral thrush, calf swelling.", informal=True) == [("calf swelling", "X:2")]
    assert find(kb, "Recurrent thrush, swollen feet.", informal=True) == [
        ("Recurrent thrush", "X:0"),
        ("swollen feet", "X:1"),
    ]


def test_what_is_around_a_name_is_no_other_concept(tmp_path: Path) -> None:
    names = ["Perianal abscess", "Perianal fistula", "Pressure ulcer", "Foot pain", "Small hand", "Hand muscle atrophy"]
    kb = build([Concept(name, (Name(name),)) for name in (*names, "Shuffling gait")], tmp_path / "around.kb")
    text = "Perianal fistulae; pressure sore L heel; sore heel; wasting of small hand muscles; small hands; shuffles."
    assert find(kb, text, informal=True) == [
        ("Perianal fistulae", "Perianal fistula"),
        ("pressure sore L heel", "Pressure ulcer"),
        ("sore heel", "Foot pain"),
        ("wasting of small hand muscles", "Hand muscle atrophy"),
        ("small hands", "Small hand"),
        ("shuffles", "Shuffling gait"),
    ]


def test_numbers_behind_short_forms(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "ours.tsv"
    path.write_text("FLO\tstroke\n", encoding="utf-8")
    assert find(kb, "FLO 100, SOB 100, SOB 100 mg.", short_forms=["clinical", str(path)]) == [
        ("FLO", "X:7"),
        ("SOB", "X:4"),
    ]


def test_a_short_form_that_is_a_name_stays_one(tmp_path: Path) -> None:
    """The usual long form, *type II diabetes mellitus*, is none here, though all of its words stand in names."""
    names = {"L:1": ["Type 2 diabetes", "T2DM"], "L:2": ["Type II error"], "L:3": ["Diabetes mellitus"]}
    kb = build([Concept(id, tuple(map(Name, some))) for id, some in names.items()], tmp_path / "own.kb")
    assert find(kb, "Known T2DM.", short_forms="clinical") == [("T2DM", "L:1")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She is short of breath and looks pale.", [("short of breath", "X:4"), ("looks pale", "X:10")]),
        ("No fits.", [("fits", "X:6")]),
        ("Pale stools.", []),  # an adjective of something else
        ("Pale today, breathless climbing stairs.", [("Pale", "X:10"), ("breathless climbing stairs", "X:4")]),
        ("Ribs slightly broad, no fractures.", [("Ribs broad", "X:5")]),
        ("The ribs are broad.", [("ribs broad", "X:5")]),
        ("Nasal septum deviated.", [("Nasal septum deviated", "X:13")]),
        ("Ribs broad bones.", []),
    ],
)
def test_everyday_names_and_statements(kb: KnowledgeBase, text: str, found: list[tuple[str, str]]) -> None:
    assert find(kb, text) == []
    assert find(kb, text, informal=True) == found


def test_what_is_said_of_coronary_disease(tmp_path: Path) -> None:
    names = build([Concept("X:1", (Name("Coronary artery atherosclerosis"),))], tmp_path / "names.kb")
    text = "KHK. CAD. Coronary artery disease. Coronary heart disease. Coronary atheroma."
    found = find(names, text, short_forms="clinical", informal=True)
    said = ["KHK", "CAD", "Coronary artery disease", "Coronary heart disease", "Coronary atheroma"]
    assert found == [(words, "X:1") for words in said]


def test_typing_errors(kb: KnowledgeBase) -> None:
    text = "Hypothryoidism, known hypothyroidsm. Dear Mrs Hypothryoidism."
    assert find(kb, text) == []
    found = find(kb, text, typos=True)
    assert found == [("Hypothryoidism", "X:9"), ("hypothyroidsm", "X:9")]  # the third is a name


def test_the_table_of_everyday_names_is_well_formed() -> None:
    lines = rows("linnet.text", "lay_names.tsv")
    assert len({phrase for phrase, *_ in lines}) == len(lines) > 1000
    assert {tuple(kind) for _, _, *kind in lines} == {(), ("adjective",), ("exact",)}


@pytest.mark.slow
def test_a_long_form_may_be_the_word_that_makes_the_vocabulary_longer(kb: KnowledgeBase) -> None:
    pipeline = Pipeline(Sentences(), Abbreviations(), Dictionary(kb=kb, informal=True))
    words = ("".join(chr(ord("a") + int(digit)) for digit in str(number)) for number in range(5_000))
    docs = [Document.of(f"Acute {word} blue disease (ABD). ABD.", id=word) for word in words]
    assert len([*pipeline.stream(docs)]) == 5_000  # the first room is for 4,096 words


def test_a_finding_before_and_is_no_part_of_what_follows(tmp_path: Path) -> None:
    names = {
        "X:1": "Fever",
        "X:2": "Febrile seizure",
        "X:3": "Focal seizure",
        "X:4": "Breast cancer",
        "X:5": "Ovarian cancer",
    }
    kb = build([Concept(id, (Name(name),)) for id, name in names.items()], tmp_path / "small.kb")
    assert [id for _, id in find(kb, "Fever and focal seizures.")] == ["X:1", "X:3"]
    assert [id for _, id in find(kb, "Breast and ovarian cancer.")] == ["X:4", "X:5"]


def test_who_bears_a_coordination_is_no_part_of_it(tmp_path: Path) -> None:
    names = ["Cleft lip", "Cleft palate", "Sudden child death", "Seen double"]
    kb = build([Concept(f"X:{at}", (Name(name),)) for at, name in enumerate(names)], tmp_path / "bearers.kb")
    found = find(kb, "Two cleft lip and palate children were seen.")
    assert sorted(found) == [("cleft lip", "X:0"), ("cleft palate", "X:1")]


def test_a_temperature_is_no_fever(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("Fever"),))], tmp_path / "small.kb")
    assert find(kb, "Temp 36.8 C, BP 120/80.", informal=True) == []
    assert find(kb, "Temps at home.", informal=True) == [("Temps", "X:1")]


@pytest.mark.slow
def test_everyday_names_mean_what_they_say(tmp_path: Path) -> None:
    names = ["Myopia", "Hypermetropia", "Motor delay", "Poor motor coordination", "Otitis externa", "Acidemia"]
    names += ["Organic aciduria", "Edema", "Hydrops fetalis", "Cutaneous photosensitivity"]
    names += ["EEG with photoparoxysmal response", "High palate", "Increased circulating lactate concentration"]
    names += ["Abnormality of the lower limb", "Reduced limb movement"]
    synonyms = {"Edema": ["Hydrops"], "Cutaneous photosensitivity": ["Photosensitivity"]}
    concepts = [Concept(name, tuple(map(Name, [name, *synonyms.get(name, [])]))) for name in names]
    kb = build(concepts, tmp_path / "everyday.kb")

    def concepts_in(text: str) -> list[str]:
        return [id for _, id in find(kb, text, informal=True)]

    assert concepts_in("Long sight.") == ["Hypermetropia"]
    assert concepts_in("Short sight.") == ["Myopia"]
    assert concepts_in("Very good fine motor skills, fine coordination.") == []
    assert concepts_in("Gross motor delay, poor gross motor skills.") == ["Motor delay"] * 2
    assert concepts_in("Ears discharging again.") == []
    assert concepts_in("?organic acidaemia, acidaemia") == ["Organic aciduria", "Acidemia"]
    assert concepts_in("Fetal hydrops.") == ["Hydrops fetalis"]
    assert concepts_in("Photosensitivity on EEG; photosensitivity.") == [
        "EEG with photoparoxysmal response",
        "Cutaneous photosensitivity",
    ]
    assert concepts_in("The palate was intact but high arched.") == ["High palate"]
    assert concepts_in("The palate was intact.") == []
    assert concepts_in("Hyperlactataemia.") == ["Increased circulating lactate concentration"]
    assert concepts_in("Limb reduction defect of the left arm.") == []
    assert concepts_in("Abnormality of lower limbs, decreased limb movement.") == [
        "Abnormality of the lower limb",
        "Reduced limb movement",
    ]


def test_short_forms_of_valves_and_pregnancies_speak_for_each_other(tmp_path: Path) -> None:
    names = ["Bicuspid aortic valve", "Aortic regurgitation", "Mitral regurgitation", "Tricuspid regurgitation"]
    names += [
        "Persistent left superior vena cava",
        "Hydrops fetalis",
        "Edema",
        "Polycythemia",
        "Intellectual disability",
    ]
    concepts = [Concept(name, tuple(map(Name, [name, *(["Hydrops"] if name == "Edema" else [])]))) for name in names]
    kb = build(concepts, tmp_path / "valves.kb")

    def concepts_in(text: str) -> list[str]:
        return [id for _, id in find(kb, text, informal=True, short_forms="clinical")]

    valves = ["Bicuspid aortic valve", "Aortic regurgitation", "Mitral regurgitation", "Tricuspid regurgitation"]
    assert concepts_in("Bicuspid AoV, trivial AR. No MR. Mild TR. Echo.") == valves
    assert concepts_in("Persistent left SVC.") == ["Persistent left superior vena cava"]
    assert concepts_in("Mr Doe: AR inheritance, a carrier of the gene. MR.") == []
    assert concepts_in("Stillbirth with hydrops.") == ["Hydrops fetalis"]
    assert concepts_in("Gallbladder hydrops on ultrasound.") == ["Edema"]
    assert concepts_in("PCV 0.45.") == []


def test_everyday_names_are_kept_beside_the_knowledge_base_and_follow_its_edits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = build([Concept(id, tuple(map(Name, names))) for id, names in NAMES.items()], tmp_path / "small.kb")
    assert find(small, "Short of breath.", informal=True) == [("Short of breath", "X:4")]
    assert [path.name for path in Dictionary(kb=small, informal=True).index_files] == ["small.kb.names", "small.kb.lay"]
    with monkeypatch.context() as patch:
        patch.setattr(LayFile, "write", None)  # it is not made again
        assert find(small, "Short of breath.", informal=True) == [("Short of breath", "X:4")]
    assert find(small, "Heavy nose bleeds.", informal=True) == []
    with KnowledgeBase.edit(small.path) as edit:
        edit.add(Concept("X:15", (Name("Epistaxis"),)))
    edited = KnowledgeBase.open(small.path)
    assert find(edited, "Heavy nose bleeds.", informal=True) == [("nose bleeds", "X:15")]


def test_of_a_phrase_that_the_table_holds_twice_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = [["hot turns", "Seizure", "exact"], ["hot turns", "Fatigue"], ["hot spells", "Nothing|Fatigue"]]
    monkeypatch.setattr("linnet.detect.informal.rows", lambda _, name: table if name == "lay_names.tsv" else [])
    small = build([Concept("X:1", (Name("Fatigue"),)), Concept("X:2", (Name("Seizure"),))], tmp_path / "small.kb")
    assert find(small, "Has hot turns.", informal=True) == [("hot turns", "X:2")]
    assert find(small, "Has hot turn.", informal=True) == []
    assert find(small, "Has hot spells.", informal=True) == [("hot spells", "X:1")]


def test_exact_phrases_hold_stop_words_and_capitals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = [["out of sorts", "Fatigue", "exact"], ["AC flare", "Seizure", "exact"], ["at the legs", "Gout", "exact"]]
    monkeypatch.setattr("linnet.detect.informal.rows", lambda _, name: table if name == "lay_names.tsv" else [])
    names = {"X:1": "Fatigue", "X:2": "Seizure", "X:3": "Gout"}
    small = build([Concept(id, (Name(name),)) for id, name in names.items()], tmp_path / "small.kb")
    assert find(small, "She is out of sorts.", informal=True) == [("out of sorts", "X:1")]
    assert find(small, "All sorts.", informal=True) == []
    assert find(small, "No AC flare.", informal=True) == [("AC flare", "X:2")]
    assert find(small, "The ac flare.", informal=True) == []
    assert find(small, "Tired legs.", informal=True) == []


def test_everyday_names_are_kept_by_language(tmp_path: Path) -> None:
    french = Concept("X:1", (Name("Dyspnea", language="fr"), Name("Shortness", language="en")))
    small = build([french], tmp_path / "small.kb")
    for _ in range(2):
        assert find(small, "Short of breath.", informal=True) == [("Short of breath", "X:1")]
        assert find(small, "Short of breath.", informal=True, language="en") == []
