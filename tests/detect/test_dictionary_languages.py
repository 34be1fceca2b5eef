"""Names in other languages: terminologies in the layouts of the translators, and sentences as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.detect.dictionary import Dictionary
from linnet.errors import DataError, KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Abbreviations, Pipeline, Sentences
from linnet.vocabularies.table import read_table
from linnet.vocabularies.umls import read_umls

# MeSH and its translations as the UMLS has them: id, descriptor, then the names by language.
MESH = (
    (
        "C0036572",
        "D012640",
        {"ENG": "Seizures", "GER": "Krampfanfall", "FRE": "Crise d'épilepsie", "SPA": "Convulsión"},
    ),
    (
        "C0016658",
        "D050723",
        {"ENG": "Fractures, Bone", "GER": "Fraktur", "FRE": "Fracture osseuse", "SPA": "Fractura ósea"},
    ),
    (
        "C0004238",
        "D001281",
        {
            "ENG": "Atrial Fibrillation",
            "GER": "Vorhofflimmern",
            "FRE": "Fibrillation auriculaire",
            "SPA": "Fibrilación auricular",
        },
    ),
    (
        "C0022661",
        "D007676",
        {
            "ENG": "Kidney Failure, Chronic",
            "GER": "Niereninsuffizienz, chronische",
            "FRE": "Insuffisance rénale chronique",
            "SPA": "Insuficiencia renal crónica",
        },
    ),
    (
        "C0024796",
        "D008382",
        {"ENG": "Marfan Syndrome", "GER": "Marfan-Syndrom", "FRE": "Syndrome de Marfan", "SPA": "Síndrome de Marfan"},
    ),
    (
        "C0007786",
        "D002545",
        {
            "ENG": "Brain Ischemia",
            "GER": "Hirnischämie",
            "FRE": "Accident ischémique cérébral",
            "SPA": "Isquemia encefálica",
        },
    ),
    ("C0020564", "D006984", {"ENG": "Hypertrophy", "GER": "Hypertrophie", "FRE": "Hypertrophie", "SPA": "Hipertrofia"}),
    ("C0003461", "D001003", {"ENG": "Anal Canal", "GER": "Analkanal", "FRE": "Canal anal", "SPA": "Ano"}),
    ("C0023884", "D008099", {"ENG": "Liver", "GER": "Leber", "FRE": "Foie", "SPA": "Hígado"}),
)
SOURCES = {"ENG": "MSH", "GER": "MSHGER", "FRE": "MSHFRE", "SPA": "MSHSPA"}


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("languages")
    rows, types, number = [], [], 0
    for cui, code, names in sorted(MESH):
        types.append(f"{cui}|T047|B2.2.1.2.1|Disease or Syndrome|AT{cui}||")
        for language, text in names.items():
            number += 1
            atom = f"{cui}|{language}|P|L{number}|PF|S{number}|Y|A{number:04}||M{number}|{code}|{SOURCES[language]}|MH"
            rows.append(f"{atom}|{code}|{text}|0|N||")
    files = {"MRCONSO": rows, "MRSTY": types}
    files["MRREL"] = ["C0036572|A0001|AUI|SIB|C0016658|A0005|AUI||R1||MSH|MSH|||N||"]
    files["MRDEF"] = ["C0036572|A0001|AT1||MSH|Sudden electrical discharges.|N||"]
    files["MRCUI"] = ["C0000007|2002AC|DEL|||||"]
    for name, lines in files.items():
        (folder / f"{name}.RRF").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return build(read_umls(folder, languages=tuple(SOURCES)), folder / "mesh.kb")


def found(kb: KnowledgeBase, text: str, **options: object) -> dict[str, str]:
    """Return what is found in a text: the surface, and the first name of its concept."""
    [doc] = Abbreviations()(Sentences()([Document.of(text)]))
    [mentions] = Dictionary(kb=kb, **options).detect([doc])  # type: ignore[arg-type]
    return {
        text[one.start : one.end]: kb[int(one.candidates.rows[0])].names[0].text for one in mentions if one.candidates
    }


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Zwei Krampfanfälle, Z. n. Frakturen.", {"Krampfanfälle": "Seizures", "Frakturen": "Fractures, Bone"}),
        (
            "de",
            "Nach Krampfanfaellen nun Vorhof-Flimmern.",
            {"Krampfanfaellen": "Seizures", "Vorhof-Flimmern": "Atrial Fibrillation"},
        ),
        ("de", "Wegen chronischer Niereninsuffizienz.", {"chronischer Niereninsuffizienz": "Kidney Failure, Chronic"}),
        (
            "de",
            "Marfan-Syndrom; Marfan Syndrom der Mutter.",
            {"Marfan-Syndrom": "Marfan Syndrome", "Marfan Syndrom": "Marfan Syndrome"},
        ),
        ("de", "HIRNISCHAEMIE des Kindes", {"HIRNISCHAEMIE": "Brain Ischemia"}),
        ("de", "Die Leber ist groß, er will leben, he had seizures.", {"Leber": "Liver"}),
        ("fr", "Antécédent d'accidents ischémiques cérébraux.", {"accidents ischémiques cérébraux": "Brain Ischemia"}),
        ("fr", "Pas d’insuffisance renale chronique.", {"insuffisance renale chronique": "Kidney Failure, Chronic"}),
        ("fr", "Des crises d’epilepsie, deux fois.", {"crises d’epilepsie": "Seizures"}),
        (
            "fr",
            "L'hypertrophie du foie et un syndrome de Marfan",
            {"hypertrophie": "Hypertrophy", "foie": "Liver", "syndrome de Marfan": "Marfan Syndrome"},
        ),
        (
            "es",
            "Tres convulsiones y fracturas óseas.",
            {"convulsiones": "Seizures", "fracturas óseas": "Fractures, Bone"},
        ),
        (
            "es",
            "Mujer de 60 años con insuficiencia renal cronica.",
            {"insuficiencia renal cronica": "Kidney Failure, Chronic"},
        ),
        ("es", "Isquemias encefalicas", {"Isquemias encefalicas": "Brain Ischemia"}),
        ("en", "Seizures, Krampfanfall, Fraktur", {"Seizures": "Seizures"}),
        ("", "Seizures, Krampfanfall", {"Seizures": "Seizures", "Krampfanfall": "Seizures"}),
    ],
)
def test_sentences(mesh: KnowledgeBase, language: str, text: str, expected: dict[str, str]) -> None:
    options = {"short_forms": ["clinical"], "informal": True, "typos": True}
    assert found(mesh, text, language=language) == expected
    assert language in ("", "en") or found(mesh, text, language=language, **options) == expected


def test_conjuncts_share_their_noun(tmp_path: Path) -> None:
    names = [
        ("Akute Bronchitis", "de"),
        ("Chronische Bronchitis", "de"),
        ("Fracture du fémur", "fr"),
        ("Fracture du tibia", "fr"),
    ]
    kb = build(
        [Concept(f"X:{at}", (Name(text, language=tag),)) for at, (text, tag) in enumerate(names)], tmp_path / "a.kb"
    )
    for language, text in (("de", "akute und chronische Bronchitis"), ("fr", "fractures du fémur et du tibia")):
        [mentions] = Dictionary(kb=kb, language=language).detect([Document.of(text)])
        assert len({int(one.candidates.rows[0]) for one in mentions if one.candidates}) == 2


def test_each_language_has_a_table_that_follows_edits(mesh: KnowledgeBase, tmp_path: Path) -> None:
    kb = build(mesh.concepts(), tmp_path / "edited.kb")
    german = Dictionary(kb=kb, language="de")
    german.detect([Document.of("x")])
    Dictionary(kb=kb).detect([Document.of("x")])
    assert not set(german.index_files) & set(Dictionary(kb=kb).index_files)
    with KnowledgeBase.edit(kb.path) as edit:
        edit.add(Concept("UMLS:C0036572", (Name("Anfalls-Leiden", language="de"), Name("Fit"))))
    kb = KnowledgeBase.open(kb.path)
    assert found(kb, "Anfallsleiden, fit", language="de") == {"Anfallsleiden": "Seizures"}


def test_tables_of_translators(tmp_path: Path) -> None:
    """A file without a column for it says its language by the option of the reader."""
    path = tmp_path / "de.tsv"
    path.write_text("id\tname\tsynonyms\nHP:0001250\tKrampfanfall\tEpileptischer Anfall\n", encoding="utf-8")
    kb = build(read_table(path, language="de-AT"), tmp_path / "de.kb")
    assert found(kb, "epileptische Anfälle", language="de") == {"epileptische Anfälle": "Krampfanfall"}


def test_untagged_names_are_of_every_language(tmp_path: Path) -> None:
    names = (Name("Fever"), Name("Febris", language=""), Name("Fieber", language="de"))
    kb = build([Concept("X:1", names)], tmp_path / "a.kb")
    assert list(found(kb, "fever, Febris, Fieber", language="de")) == ["Febris", "Fieber"]


def test_wrong_languages(mesh: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="language is 'ger'"):
        Dictionary(kb=mesh, language="ger")
    kb = build([Concept("X:1", (Name("fever"), Name("fiebre", language="es")))], tmp_path / "a.kb")
    with pytest.raises(KnowledgeBaseError, match=r"no name has the language 'de'; there are en \(1\), es \(1\)"):
        found(kb, "Fieber", language="de")


def test_a_language_that_most_concepts_have_no_name_in_is_told(tmp_path: Path) -> None:
    concepts = [Concept(f"X:{at}", (Name(name),)) for at, name in enumerate(("Brufen", "Voltaren"))]
    kb = build([*concepts, Concept("X:2", (Name("Fieber", language="de"),))], tmp_path / "a.kb")
    with pytest.warns(LinnetWarning, match=r"2 of 3 concepts have no name with the language 'de' or none"):
        assert list(found(kb, "Fieber, Brufen", language="de")) == ["Fieber"]


def test_learned_surfaces_are_of_the_language(mesh: KnowledgeBase) -> None:
    text = "Die Anfallsereignisse."
    gold = Mention(4, 21, source="gold", concepts=("UMLS:C0036572",))
    dictionary = Dictionary(kb=mesh, language="de", aliases=True)
    list(dictionary.fit([Document("a", text, mentions=(gold,))], (), before=Pipeline(), kb=mesh, args={}))
    [[mention]] = dictionary.detect([Document.of("Ein Anfallsereignis.")])
    assert mention.candidates
    assert mesh.id(int(mention.candidates.rows[0])) == "UMLS:C0036572"
