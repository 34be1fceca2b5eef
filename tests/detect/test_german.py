"""German letters read with a terminology in English."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Concept, Document, Name
from linnet.detect.dictionary import Dictionary
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline, Sentences
from linnet.text.languages import english_lead
from linnet.text.wordlists import rows

NAMES = ("Seizure", "Fever", "Pes planus", "Atrial fibrillation", "Type II diabetes mellitus", "Headache", "Neck pain")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = [Concept(f"X:{number}", (Name(name),)) for number, name in enumerate(NAMES)]
    return build(concepts, tmp_path_factory.mktemp("german") / "small.kb")


def find(kb: KnowledgeBase, *texts: str, informal: bool = True) -> list[tuple[str, str]]:
    """Return the words and the first name of the concept of each mention."""
    pipeline = Pipeline(Sentences(), Dictionary(kb=kb, informal=informal))
    docs = pipeline([Document(str(number), text) for number, text in enumerate(texts)])
    return [
        (doc.surface(one), kb[int(one.candidates.rows[0])].name)
        for doc in docs
        for one in doc.mentions or ()
        if one.candidates
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Z. n. zwei Krampfanfällen, kein Fieber, keine Allergien.",
            [("Krampfanfällen", "Seizure"), ("Fieber", "Fever")],
        ),
        ("Die Füße: Knick-Senkfüße mit der Zeit und nicht schlimm.", [("Knick-Senkfüße", "Pes planus")]),
        (
            "Bekannt sind das Vorhofflimmern und der Diabetes mellitus Typ 2.",
            [("Vorhofflimmern", "Atrial fibrillation"), ("Diabetes mellitus Typ 2", "Type II diabetes mellitus")],
        ),
        ("Ausschluss eines Krampfanfalls, Mann und die Frau.", [("Krampfanfalls", "Seizure")]),
        ("Kein Bezug: er hat kein Leiden und die Mutter ist gesund.", []),
    ],
)
def test_german_names_are_found_in_german_texts(kb: KnowledgeBase, text: str, found: list[tuple[str, str]]) -> None:
    assert find(kb, text) == found
    assert find(kb, text, informal=False) == []
    english = "He has fever."  # texts are read together, each in its language
    assert find(kb, english, text, english) == [("fever", "Fever"), *found, ("fever", "Fever")]


def test_german_words_are_no_typing_errors_of_english_ones(tmp_path: Path) -> None:
    names = [(Name("Long philtrum"),), (Name("Flat face"),), (Name("Photopsia"), Name("Flashes")), (Name("Seizures"),)]
    kb = build([Concept(some[0].text, some) for some in names], tmp_path / "typos.kb")
    pipeline = Pipeline(Sentences(), Dictionary(kb=kb, informal=True, typos=True))

    def names_in(text: str) -> list[str]:
        [doc] = pipeline([Document.of(text)])
        return [kb[int(one.candidates.rows[0])].name for one in doc.mentions or () if one.candidates]

    assert names_in("langes flaches Philtrum") == ["Long philtrum"]
    assert names_in("flaches Gesicht") == ["Flat face"]
    assert names_in("Flaches EEG.") == []
    assert names_in("Der Seizuers und die Frau, kein Befund.") == []
    assert names_in("He has seizuers and flashess.") == ["Seizures", "Photopsia"]
    assert names_in("Mr Müller has seizuers.") == ["Seizures"], "one German word makes no sentence German"
    assert names_in("Seizuers. Transferred from Köln, to the ward Süd.") == ["Seizures"]
    letter = "Der Mann und die Frau, kein Befund. {} Das ist nicht bekannt."
    assert names_in(letter.format("The report says that he had seizuers.")) == ["Seizures"]
    assert names_in(letter.format("Flaches Seizuers.")) == []


def test_a_long_german_text_is_looked_at_once_for_all_its_odd_words(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def lead(text: str) -> int:
        looked.append(len(text))
        return english_lead(text)

    monkeypatch.setattr("linnet.detect.name_reading.english_lead", lead)
    text = "Der Mann und die Frau, kein Befund. " + "Husten, seizuers und seizuers.\n" * 40
    Pipeline(Sentences(), Dictionary(kb=kb, informal=True, typos=True))([Document.of(text)])
    assert len(text) < sum(looked) <= 2 * len(text)


def test_english_texts_are_not_read_as_german(kb: KnowledgeBase) -> None:
    text = "A case of Fieber and Krampfanfall, as the Germans say."
    assert find(kb, f"{text} {'We saw the man again, and he was well. ' * 8}") == []


@pytest.mark.parametrize("text", ["Krampfanfall.", "Pat. klagt über Krampfanfall", "MRT: Krampfanfall"])
def test_brief_texts_with_a_german_name_are_german(kb: KnowledgeBase, text: str) -> None:
    assert find(kb, text) == [("Krampfanfall", "Seizure")]


def test_a_terminology_without_such_names_finds_nothing(tmp_path: Path) -> None:
    small = build([Concept("X:0", (Name("Zebra"),))], tmp_path / "small.kb")
    assert find(small, "Kein Fieber, keine Krampfanfälle und nicht krank.") == []


def test_a_false_friend_is_german_in_german_texts(tmp_path: Path) -> None:
    names = build([Concept(name, (Name(name),)) for name in ("Constipation", "Obstipation")], tmp_path / "friends.kb")
    assert find(names, "Die Obstipation und die Frau sind bekannt.") == [("Obstipation", "Constipation")]
    assert find(names, "Severe obstipation.", "Obstipation.") == [
        ("obstipation", "Obstipation"),
        ("Obstipation", "Obstipation"),
    ]


def test_some_names(tmp_path: Path) -> None:
    names = ("Intention tremor", "Action tremor", "Abdominal distention")
    kb = build([Concept(name, (Name(name),)) for name in names], tmp_path / "some.kb")
    assert find(kb, "Intentionstremor rechts, kein Haltetremor, Abdomen leicht gebläht.") == [
        ("Intentionstremor", "Intention tremor"),
        ("Haltetremor", "Action tremor"),
        ("Abdomen leicht gebläht", "Abdominal distention"),
    ]


def test_the_table_is_well_formed() -> None:
    lines = rows("linnet.text", "german_names.tsv")
    forms = [form for some, *_ in lines for form in some.split("|")]
    assert len(set(forms)) == len(forms) > 1000
    assert all(form == form.strip() and form for form in forms)


@pytest.mark.slow
def test_german_names_of_findings_in_children(tmp_path: Path) -> None:
    names = {
        "Rot-Grün-Blindheit": "Red-green dyschromatopsia",
        "Blindheit": "Blindness",
        "Lernbehinderung": "Intellectual disability, borderline",
        "Lernstörung": "Specific learning disability",
        "taube Finger": "Hypoesthesia",
        "Finger sind taub": "Hypoesthesia",
        "gehörlos": "Hearing impairment",
        "Zerebralparese": "Cerebral palsy",
        "ADHS": "Attention deficit hyperactivity disorder",
        "Muskeldystrophie": "Muscular dystrophy",
        "Hypertrichose": "Hypertrichosis",
        "Nierenagenesie": "Renal agenesis",
        "Dysmetrie": "Dysmetria",
        "Neurofibrome": "Neurofibroma",
        "CAL-Flecken": "Cafe-au-lait spot",
        "Optikusgliom": "Optic nerve glioma",
        "Wutanfälle": "Abnormal temper tantrums",
        "Zahnfehlstellung": "Dental malocclusion",
        "schmales Oberlippenrot": "Thin upper lip vermilion",
        "tiefsitzende dysplastische Ohren": "Low-set ears",
    }
    kb = build([Concept(name, (Name(name),)) for name in dict.fromkeys(names.values())], tmp_path / "child.kb")
    for german, name in names.items():
        assert find(kb, f"Die Mutter und das Kind: {german}, nicht mehr.") == [(german, name)]
    assert find(kb, "Das Kind ist nicht taub und wird von der Mutter gebracht.") == []
    assert find(kb, "Hat tiefsitzende dysplastische Ohren.") == [("tiefsitzende dysplastische Ohren", "Low-set ears")]
