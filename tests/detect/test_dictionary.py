"""The dictionary: what is found, what is not, and that it holds whatever the text."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Concept, Document, Name, Span
from linnet.detect.dictionary import Dictionary
from linnet.detect.name_agreement import How, agree, shape
from linnet.detect.name_search import Search, Text
from linnet.detect.name_table import NameTable
from linnet.errors import DataError, PipelineError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Abbreviations, Allow, Pipeline, Sentences

NAMES: dict[str, Sequence[str | Name]] = {
    "stature": ["Short stature"],
    "seizure": ["Seizure", "Epileptic seizure"],
    "hypotonia": ["Hypotonia"],
    "kidney": ["Abnormality of the kidney"],
    "kidney malformation": ["Kidney malformation"],
    "thumb": ["Hypoplasia of the thumb"],
    "thumb aplasia": ["Thumb agenesis"],
    "radius": ["Hypoplastic radius"],
    "finger": ["Short finger"],
    "toe": ["Short toe"],
    "palate": ["Cleft palate"],
    "breast": ["Carcinoma, Breast", "Breast cancer"],
    "ovary": ["Ovarian cancer"],
    "cancer": ["Cancer"],
    "nose": ["Short nose"],
    "face": ["Long face"],
    "recurrent infections": ["Infections, recurrent"],
    "anemia": ["Hemolytic anemia"],
    "heart": ["Heart disease"],
    "disease": ["Disease"],
    "cat": ["CAT"],
    "ms": ["MS", "Multiple sclerosis"],
    "adhd": ["ADHD", "Attention deficit hyperactivity disorder"],
    "tic": ["Tic"],
    "history": ["Family history of cancer"],
    "no speech": ["No speech"],
    "hepatitis a": ["Hepatitis A"],
    "tumor": ["Tumor", Name("Growth", "related")],
    "growth": ["Growth"],
    "mandible": ["Mandibular hyperplasia"],
    "oral": ["Oral and maxillofacial tumor"],
    "branchial": ["Branchial anomaly"],
    "ear": ["Ear anomaly"],
    "tooth": ["Born with a tooth"],
    "sclerosis": ["Multiple sclerosis lesion"],
    "mitral": ["Mitral stenosis"],
    "insulin": ["Insulin-dependent diabetes"],
    "not insulin": ["Non-insulin-dependent diabetes"],
    "febrile": ["Febrile seizure"],
    "vomiting": ["Vomiting"],
    "septal": ["Septal defect"],
    "septal e": ["Septal defect E"],
    "hormone": ["Releasing hormone (RH) low in blood"],
    "variant": ["Copy number variant"],
    "lung": ["Chronic obstructive lung disease"],
    "hypo": ["Hypothyroidism"],
    "hyper": ["Hyperthyroidism"],
    "low ear": ["Low-set ears"],
    "nsaid": ["NSAIDs"],
    "uti": ["UTIs"],
    "snri": ["SNRI"],
    "rotated ear": ["Posteriorly rotated ears"],
    "poisoning": ["Poisoning (alcohol)"],
    "metformin": ["Metformin"],
    "augmentin": ["Amoxicillin/Clavulanic acid"],
    "metformin 500": ["Metformin 500 mg"],
    "paracetamol 1": ["Paracetamol 1g"],
}
MakeDictionary = Callable[..., Dictionary]


def concept(id: str, names: Sequence[str | Name]) -> Concept:
    texts = [Name(name) if isinstance(name, str) else name for name in names]
    return Concept(f"X:{id.replace(' ', '_')}", tuple(texts), types=("Finding",))


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = [concept(id, texts) for id, texts in NAMES.items()]
    return build(concepts, tmp_path_factory.mktemp("names") / "names.kb")


def found(kb: KnowledgeBase, text: str, **options: object) -> set[tuple[str, str]]:
    """Return (surface, id) of what is found in a text on its own."""
    [doc] = Pipeline(Dictionary(kb=kb, **options))([Document.of(text)])  # type: ignore[arg-type]
    return {(doc.surface(m), kb.id(int(m.candidates.rows[0]))[2:]) for m in doc.mentions or () if m.candidates}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Short stature and seizures.", {("Short stature", "stature"), ("seizures", "seizure")}),
        ("SHORT STATURE", {("SHORT STATURE", "stature")}),
        ("short-stature", {("short-stature", "stature")}),
        ("shortstature, seizuresx", set()),
        ("a hypotonic infant", {("hypotonic", "hypotonia")}),
        ("the child is hypotonic.", {("hypotonic", "hypotonia")}),
        ("hypotonic solutions", set()),
        ("renal abnormality", {("renal abnormality", "kidney")}),
        ("renal malformations", {("renal malformations", "kidney_malformation")}),
        ("malformations of both the kidneys", set()),
        ("malformations of the kidneys", {("malformations of the kidneys", "kidney_malformation")}),
        ("thumb hypoplasia", {("thumb hypoplasia", "thumb")}),
        ("stature short", set()),
        ("a long nose, short of breath", set()),
        ("nose; short", set()),
        ("nose. Short", set()),
        ("nose\n\nshort", set()),
        ("infections, recurrent", {("infections, recurrent", "recurrent_infections")}),
        ("recurrent infections", {("recurrent infections", "recurrent_infections")}),
        ("breast carcinoma", {("breast carcinoma", "breast")}),
        ("hyperplasia of the mandibular condyles", set()),
        ("hyperplasia of the mandible", {("hyperplasia of the mandible", "mandible")}),
        ("hemolytic nonspherocytic anemia", set()),  # "nonspherocytic" is in no name
        ("short breast finger", {("short breast finger", "finger")}),
        ("heart kidney disease", set()),
        ("short with finger", set()),
        ("born with teeth", {("born with teeth", "tooth")}),
        ("with a tooth-borne", set()),
        ("a born tooth", set()),
        ("hypo-tonia", {("hypo-tonia", "hypotonia")}),
        ("hypo\u2010tonia", {("hypo\u2010tonia", "hypotonia")}),
        ("insulin\u2013dependent diabetes", {("insulin\u2013dependent diabetes", "insulin")}),
        ("non\u2013insulin-dependent diabetes", {("non\u2013insulin-dependent diabetes", "not_insulin")}),
        ("non insulin dependent diabetes", {("non insulin dependent diabetes", "not_insulin")}),
        ("non\u2011febrile seizures", {("seizures", "seizure")}),
        ("Non febrile seizures", {("seizures", "seizure")}),
        ("Has short\nstature.", {("short\nstature", "stature")}),
        ("non-hemolytic anemia, anti-tumor, pre-seizure", set()),
        ("hepatitis A", {("hepatitis A", "hepatitis_a")}),
        ("hepatitis a", set()),
        ("oral and maxillofacial tumours", {("oral and maxillofacial tumours", "oral")}),
        ("clavulanic acid/amoxicillin", {("clavulanic acid/amoxicillin", "augmentin")}),
        ("Poisoning (alcohol), fall.", {("Poisoning (alcohol)", "poisoning")}),
        ("(after poisoning alcohol)", {("poisoning alcohol", "poisoning")}),
        ("metformin 500mg, 850mg", {("metformin 500mg", "metformin_500")}),
        ("metformin850mg", {("metformin", "metformin")}),
        ("metformin 850mg, paracetamol 1 g", {("metformin", "metformin"), ("paracetamol 1 g", "paracetamol_1")}),
    ],
)
def test_found(names: KnowledgeBase, text: str, expected: set[tuple[str, str]]) -> None:
    assert found(names, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("breast and ovarian cancer", {("breast cancer", "breast"), ("ovarian cancer", "ovary")}),
        ("breast/ovarian cancer", {("breast cancer", "breast"), ("ovarian cancer", "ovary")}),
        ("breast, skin, or ovarian cancer", {("breast cancer", "breast"), ("ovarian cancer", "ovary")}),
        ("short fingers and toes", {("short fingers", "finger"), ("short toes", "toe")}),
        ("short fingers and long toes", {("short fingers", "finger")}),
        ("cleft lip and palate", {("cleft palate", "palate")}),
        ("hypoplasia of the thumbs and radii", {("hypoplasia of the thumbs", "thumb"), ("hypoplasia radii", "radius")}),
        (
            "aplasia or hypoplasia of the thumb",
            {("aplasia thumb", "thumb_aplasia"), ("hypoplasia of the thumb", "thumb")},
        ),
        ("branchial and ear anomalies", {("branchial anomalies", "branchial"), ("ear anomalies", "ear")}),
        ("breast cancer and ovarian cancer", {("breast cancer", "breast"), ("ovarian cancer", "ovary")}),
        ("short and tall", set()),
        ("a febrile illness, vomiting and seizures", {("vomiting", "vomiting"), ("seizures", "seizure")}),
        ("short fingers, vomiting and toes", {("short fingers", "finger"), ("vomiting", "vomiting")}),
        (
            "short fingers, toes and noses",
            {("short fingers", "finger"), ("short toes", "toe"), ("short noses", "nose")},
        ),
        ("cleft lip and/or palate", {("cleft palate", "palate")}),
        ("breast and/or ovarian cancer", {("breast cancer", "breast"), ("ovarian cancer", "ovary")}),
        ("hypo- and hyperthyroidism", {("hypo", "hypo"), ("hyperthyroidism", "hyper")}),
        ("hyper\u2010 or hypo-thyroidism", {("hyper", "hyper"), ("hypo-thyroidism", "hypo")}),
        ("hypo- and thyroid", set()),
        ("and- and", set()),
        (
            "low-set, posteriorly rotated ears",
            {("low-set ears", "low_ear"), ("posteriorly rotated ears", "rotated_ear")},
        ),
        ("breast, ovarian cancer", {("ovarian cancer", "ovary")}),
        ("an ear anomaly and a long face", {("ear anomaly", "ear"), ("long face", "face")}),
        ("and", set()),
        ("or cancer and", {("cancer", "cancer")}),
    ],
)
def test_coordination(names: KnowledgeBase, text: str, expected: set[tuple[str, str]]) -> None:
    assert found(names, text) == expected


def test_conjuncts_have_parts_and_share_a_group(names: KnowledgeBase) -> None:
    doc = Document.of("Familial breast and ovarian cancer.")
    breast, ovary = Dictionary(kb=names).detect([doc])[0]
    assert breast.spans == (Span(9, 15), Span(28, 34))
    assert breast.span == Span(9, 34)
    assert ovary.spans == (Span(20, 34),)
    assert breast.group == ovary.group != ""
    [alone] = Dictionary(kb=names).detect([Document.of("cleft lip and palate")])[0]
    assert alone.group == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no cleft palate", {("cleft palate", "palate")}),
        ("without seizures", {("seizures", "seizure")}),
        ("denies short stature", {("short stature", "stature")}),
        ("short no finger", set()),
        ("cleft not palate", set()),
        ("Family history of cancer", {("Family history of cancer", "history")}),
        ("mother with cancer", {("cancer", "cancer")}),
        ("no speech", {("no speech", "no_speech")}),
        ("no clear speech", set()),
    ],
)
def test_negation_and_family_are_never_part_of_a_span(
    names: KnowledgeBase, text: str, expected: set[tuple[str, str]]
) -> None:
    assert found(names, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a cat", set()),
        ("CAT", set()),  # an acronym of three letters that nothing defines
        ("MS", set()),
        ("multiple sclerosis (MS). MS is treated", {("multiple sclerosis", "ms"), ("MS", "ms")}),
        ("ADHD", {("ADHD", "adhd")}),
        ("adhd", set()),
        ("NSAIDs, an NSAID", {("NSAIDs", "nsaid"), ("NSAID", "nsaid")}),  # the names are plurals here
        ("UTIs, a UTI", {("UTIs", "uti"), ("UTI", "uti")}),
        ("SNRIs, an SNRI", {("SNRIs", "snri"), ("SNRI", "snri")}),
        ("nsaid, uti, utis, Nsaids, snris", set()),
        ("a tic, Tics", {("tic", "tic"), ("Tics", "tic")}),
        ("TIC", set()),
        ("disease", set()),
        ("the patient's diseases", set()),
        ("1, 2", set()),
    ],
)
def test_short_and_general_names(names: KnowledgeBase, text: str, expected: set[tuple[str, str]]) -> None:
    assert found(names, text) == expected


def test_abbreviations(names: KnowledgeBase) -> None:
    text = "Short stature (SS) and a careful assessment test (CAT). CAT was done; SS, SSs, SSX, xSS. SS-type."
    assert found(names, text) == {("Short stature", "stature"), ("SS", "stature"), ("SSs", "stature")}
    # a short form stands for its long form inside names too
    assert ("OV cancer", "ovary") in found(names, "ovarian (OV) cells; OV cancer")


def test_an_abbreviation_of_something_else_is_not_linked(names: KnowledgeBase) -> None:
    text = "Anxious dogs have doors (ADHD). ADHD again."
    assert found(names, text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Multiple sclerosis (MS) is common, MS. Mitral stenosis (MS) is not. MS.",
            ["Multiple sclerosis=ms", "MS=ms", "MS=ms", "Mitral stenosis=mitral", "MS=mitral", "MS=mitral"],
        ),
        ("MS. Mitral stenosis (MS).", ["MS=mitral", "Mitral stenosis=mitral", "MS=mitral"]),
        (
            "Septal defect (SD), septal defect E (SD E). SD E. SD.",
            ["Septal defect=septal", "SD=septal", "septal defect E=septal_e", "SD E=septal_e", "SD E=septal_e",
             "SD=septal"],
        ),
        ("Cleft palate (CP). CP-1 CP-L1 CP/CP CP-DOS LC-CP 2\u2013CP.", ["Cleft palate=palate", "CP=palate"]),
        ("Cleft palate (CP). CP-like, CP's", ["Cleft palate=palate", "CP=palate", "CP=palate", "CP=palate"]),
        (
            "Cleft palate (CP), short nose (SN): CP/SN",
            ["Cleft palate=palate", "CP=palate", "short nose=nose", "SN=nose", "CP=palate", "SN=nose"],
        ),
        (
            "CNVs (copy number variants): a CNV.",
            ["CNVs=variant", "copy number variants=variant", "CNV=variant"],
        ),
        ("Cleft palate (CP): all CPs.", ["Cleft palate=palate", "CP=palate", "CPs=palate"]),
        ("Cleft palate (CP). Non-CP patients, non CP patients", ["Cleft palate=palate", "CP=palate"]),
        (
            "Chronic obstructive lung disease (COLD). COLD. ALL OF THEM HAD COLD HANDS.",
            ["Chronic obstructive lung disease=lung", "COLD=lung", "COLD=lung"],
        ),
        ("Releasing hormone (RH) low in blood", ["Releasing hormone (RH) low in blood=hormone"]),
        ("Releasing hormone low in blood", ["Releasing hormone low in blood=hormone"]),
        ("Septal defect (SD) E", ["Septal defect (SD) E=septal_e"]),
        ("Septal defect (SD), E", ["Septal defect=septal", "SD=septal"]),
    ],
)  # fmt: skip
def test_what_short_forms_mean(names: KnowledgeBase, text: str, expected: list[str]) -> None:
    [doc] = Pipeline(Dictionary(kb=names))([Document.of(text)])
    linked = [(doc.surface(m), names.id(int(m.candidates.rows[0]))[2:]) for m in doc.mentions or () if m.candidates]
    assert [f"{surface}={id}" for surface, id in linked] == expected


def test_scope_of_definitions_in_a_text_read_in_pieces(names: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Multiple sclerosis (MS) is common. MS. Mitral stenosis (MS) is not. MS."
    [doc] = Abbreviations()(Sentences()([Document.of(text)]))
    expected = Dictionary(kb=names).detect([doc])
    monkeypatch.setattr("linnet.detect.dictionary.PIECE", 36)
    assert Dictionary(kb=names).detect([doc]) == expected
    assert len(expected[0]) == 6


def test_longest_and_all(names: KnowledgeBase) -> None:
    text = "epileptic seizures and ovarian cancer"
    assert found(names, text) == {("epileptic seizures", "seizure"), ("ovarian cancer", "ovary")}
    nested = found(names, text, overlaps="all")
    assert nested == {("epileptic seizures", "seizure"), ("ovarian cancer", "ovary"), ("cancer", "cancer")}


def test_ambiguous_names_give_several_candidates(names: KnowledgeBase) -> None:
    [mention] = Dictionary(kb=names).detect([Document.of("growth")])[0]
    assert mention.candidates is not None
    assert [names.id(row) for row in mention.candidates.rows] == ["X:growth", "X:tumor"]
    assert mention.candidates.kb == names.version
    assert mention.candidates.names is not None
    assert [names.name(row).text for row in mention.candidates.names] == ["Growth", "Growth"]
    assert mention.signals["detect"] == pytest.approx(1.0)
    assert mention.types == ("Finding",)


def test_scores_fall_with_the_distance_from_the_name() -> None:
    kidney = shape("Abnormality of the kidney")
    texts = [
        ("Abnormality", "kidney"),
        ("ABNORMALITY", "kidney"),
        ("abnormalities", "kidney"),
        ("abnormality", "renal"),
    ]
    scores = [agree(text, kidney) for text in texts]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0
    assert len(set(scores)) == 4
    assert 0 < agree(("kidney", "abnormality"), kidney) < 1
    assert agree(("kidney", "cat"), kidney) == 0
    assert agree(("kidney",), kidney) == 0
    assert agree(("nose", "short"), shape("Short nose"), How(linked=True)) > 0


def test_types_under_and_allow(kb: KnowledgeBase) -> None:
    text = "Seizure, short stature, cold."

    def rows(**options: object) -> set[str]:
        return {id for _, id in found(kb, text, **options)}

    assert rows() == {":0001250", ":0004322", "1"}
    assert rows(types=("Neurology",)) == {":0001250"}
    assert rows(under=["HP:0000118"]) == {":0001250", ":0004322"}
    dictionary = Dictionary(kb=kb)
    [mentions] = dictionary.detect([Document.of(text)], allow=Allow(types=("Disease",)))
    assert [kb.id(int(m.candidates.rows[0])) for m in mentions if m.candidates] == ["X:2"]


def test_one_string_is_one_type(kb: KnowledgeBase) -> None:
    assert {id for _, id in found(kb, "Seizure, cold.", types="Disease")} == {"2"}
    assert {id for _, id in found(kb, "Seizure, cold.", under="HP:0000118")} == {":0001250"}
    with pytest.raises(PipelineError, match=r"dictionary\.under: small\.kb has no concept 'HP:9999999'"):
        found(kb, "Seizure.", under=["HP:9999999"])


def test_what_a_type_allows(kb: KnowledgeBase) -> None:
    doc = Document.of("Seizure, short stature, cold.")

    def rows(**by_type: Allow) -> set[str]:
        [mentions] = Dictionary(kb=kb).detect([doc], allow=Allow(by_type=tuple(by_type.items())))
        return {kb.id(int(row)) for m in mentions if m.candidates for row in m.candidates.rows}

    everything = {"HP:0001250", "HP:0004322", "X:1", "X:2"}
    assert rows(Disease=Allow(ids=("X:2",))) == everything
    assert rows(Disease=Allow(ids=("X:1",))) == everything - {"X:2"}
    assert rows(Nowhere=Allow(ids=("X:1",))) == everything
    neurology = Allow(ids=("HP:0001250",))
    assert rows(Phenotype=Allow(ids=("X:1",)), Neurology=neurology) == {"HP:0001250", "X:1", "X:2"}


def test_wrong_options(kb: KnowledgeBase) -> None:
    with pytest.raises(DataError, match="overlaps is 'some', must be 'longest' or 'all'"):
        Dictionary(kb=kb, overlaps="some")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"kb is a str, give what KnowledgeBase\.open returns"):
        Dictionary(kb="hpo")  # type: ignore[arg-type]


# --- whatever the text ------------------------------------------------------------------------------------------------


def test_empty(names: KnowledgeBase) -> None:
    dictionary = Dictionary(kb=names)
    assert dictionary.detect([]) == []
    assert dictionary.detect([Document.of(""), Document.of(" .\x00 "), Document.of("of the")]) == [[], [], []]


def test_odd_characters(names: KnowledgeBase) -> None:
    assert found(names, "😀 short\x00stature 𝒳") == {("short\x00stature", "stature")}
    assert len(Dictionary(kb=names).detect([Document.of("short\nstature")])[0]) == 1
    assert found(names, "hypo\u00adtonia") == {("hypo\u00adtonia", "hypotonia")}
    assert found(names, "s\u0301eizure") == {("s\u0301eizure", "seizure")}
    assert found(names, "\ud800 seizure") == {("seizure", "seizure")}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from("short stature and of, cancer breast. MS(no)/-\n ")), max_size=6))
def test_any_text(names: KnowledgeBase, texts: list[str]) -> None:
    docs = Abbreviations()(Sentences()([Document.of(text, str(n)) for n, text in enumerate(texts)]))
    together = Dictionary(kb=names).detect(docs)
    assert together == [Dictionary(kb=names).detect([doc])[0] for doc in docs]
    for doc, mentions in zip(docs, together, strict=True):
        for mention in mentions:
            first, last = doc.text[mention.start], doc.text[mention.end - 1]
            assert first.isalnum()
            assert last.isalnum()


def sample(count: int) -> list[Document]:
    rng = random.Random(3)
    words = [word for texts in NAMES.values() for name in texts if isinstance(name, str) for word in name.split()]
    words += ["and", "of", "the", "patient,", "no", "with.", "MS", "Multiple sclerosis (MS)"]
    texts = [" ".join(rng.choices(words, k=rng.randrange(5, 60))) for _ in range(count)]
    return Abbreviations()(Sentences()([Document.of(text, str(n)) for n, text in enumerate(texts)]))


def test_stop_words_behind_the_last_word_do_not_matter(names: KnowledgeBase) -> None:
    assert found(names, "short stature, the.") == {("short stature", "stature")}


@pytest.mark.parametrize("overlaps", ["longest", "all"])
def test_batches_do_not_matter(names: KnowledgeBase, overlaps: str) -> None:
    docs = sample(40)
    dictionary = Dictionary(kb=names, overlaps=overlaps)  # type: ignore[arg-type]
    together = dictionary(docs)
    assert together == [doc for at in range(0, 40, 8) for doc in dictionary(docs[at : at + 8])]
    assert together == [doc for one in docs for doc in dictionary([one])]
    assert together == Dictionary(kb=names, overlaps=overlaps)(docs)  # type: ignore[arg-type]
    assert sum(len(doc.mentions or ()) for doc in together) > 100


def test_longest_mentions_do_not_overlap(names: KnowledgeBase) -> None:
    for doc in Dictionary(kb=names)(sample(40)):
        plain = [m for m in doc.mentions or () if not m.parts]
        assert all(one.end <= other.start for one, other in itertools.pairwise(plain))


def test_long_texts_are_read_in_pieces(names: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    [whole] = Sentences()([Document.of("Short stature with seizures was seen. " * 50 + "multiple sclerosis (MS), MS")])
    [whole] = Abbreviations()([whole])
    expected = Dictionary(kb=names).detect([whole])
    monkeypatch.setattr("linnet.detect.dictionary.PIECE", 100)
    monkeypatch.setattr("linnet.detect.dictionary.LOT", 150)
    assert Dictionary(kb=names).detect([whole]) == expected
    assert len(expected[0]) == 103
    no_sentences = Document.of("seizures " * 100)
    assert len(Dictionary(kb=names).detect([no_sentences])[0]) == 100
    assert Dictionary(kb=names).detect([Document.of("x" * 1000)]) == [[]]


@pytest.mark.slow
def test_a_sentence_of_ten_thousand_words(names: KnowledgeBase) -> None:
    text = "short and stature of cancer or " * 2500
    assert len(Dictionary(kb=names).detect([Document.of(text)])[0]) > 2000


def test_pickles_and_threads(names: KnowledgeBase, pool: ThreadPoolExecutor) -> None:
    docs = sample(30)
    dictionary = Dictionary(kb=names)
    expected = Dictionary(kb=names).detect(docs)
    copy = pickle.loads(pickle.dumps(dictionary))
    assert copy.detect(docs) == expected
    assert list(pool.map(dictionary.detect, [docs] * 4)) == [expected] * 4


def test_remembered_words_are_bounded(names: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(NameTable.of(names))
    monkeypatch.setattr(Search, "MOST_WORDS", 10)
    many = [" ".join(f"w{n}x{m}" for m in range(2000)) for n in range(5)]
    for text in many:
        assert len(search.read([Text(text)]).surfaces) == 2000
    assert len(search.vocabulary) == 2000
    assert np.all(search.read([Text("x" * 100)]).hashes == 0)
