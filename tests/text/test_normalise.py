"""Name normalisation and word families."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linnet.text.normalise import basic
from linnet.text.tokens import GLUED, MEASURE, words
from linnet.text.variants import content_words, family, is_stopword, stem


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Short Stature", "short stature"),
        ("low-set  ears", "low set ears"),
        ("Alzheimer's disease", "alzheimers disease"),
        ("Alzheimer\u2019s disease", "alzheimers disease"),
        ("Ménière", "meniere"),
        ("Me\u0301nie\u0300re", "meniere"),
        ("β-thalassemia", "beta thalassemia"),
        ("TGFβ1", "tgf beta 1"),
        ("Ελληνικά", "ελληνικα"),
        ("ﬁbrosis", "fibrosis"),
        ("Ｆｅｖｅｒ", "fever"),
        ("cœliac Ærø Łódź", "coeliac aero lodz"),
        ("hyper\u00adtension", "hypertension"),
        ("a\x00b", "a b"),
        ("Straße", "strasse"),
        ("😀", ""),
        ("", ""),
        ("5'-nucleotidase_2", "5 nucleotidase 2"),
    ],
)
def test_basic(name: str, expected: str) -> None:
    assert basic(name) == expected


@given(st.text())
def test_basic_is_stable(name: str) -> None:
    assert basic(basic(name)) == basic(name)


@given(st.text(st.characters(codec="latin-1")))
def test_basic_of_a_text_is_that_of_its_words(text: str) -> None:
    assume(not MEASURE.search(text) and not GLUED.search(text))  # "5mg" is two words
    joined = " ".join(form for word in words(text) for form in basic(word).split())
    assert joined == basic(text)


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("seizures", "seizure"), ("abnormalities", "abnormality"), ("abscesses", "abscess"), ("patches", "patch"),
        ("headaches", "headache"), ("ulnae", "ulna"), ("radii", "radius"), ("cortices", "cortex"),
        ("diagnoses", "diagnosis"), ("metastases", "metastasis"), ("carcinomata", "carcinoma"), ("teeth", "tooth"),
        ("arthritides", "arthritis"), ("viruses", "virus"), ("causes", "cause"), ("noses", "nose"), ("toes", "toe"),
        ("foramina", "foramen"), ("tumours", "tumor"), ("oedema", "edema"), ("anaemia", "anemia"),
        ("diarrhoea", "diarrhea"), ("oesophagus", "esophagus"), ("generalised", "generalized"), ("fibres", "fiber"),
        ("paralysed", "paralyzed"), ("leucocytes", "leukocyte"), ("foetal", "fetal"), ("aetiology", "etiology"),
    ],
)  # fmt: skip
def test_stem(plural: str, singular: str) -> None:
    assert stem(plural) == stem(singular) == singular


@pytest.mark.parametrize("word", ["pancreas", "diabetes", "abscess", "stenosis", "lens", "toe", "four", "il2", "ω3s"])
def test_stem_leaves_alone(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    "line",
    [
        "hypotonia hypotonic", "retarded retardation", "macrocephaly macrocephalic macrocephalia",
        "renal kidneys kidney",
        "stenosis stenotic", "obese obesity", "absent absence", "dilated dilatation dilation", "epilepsy epileptic",
        "hypoplasia hypoplastic underdeveloped", "abnormality anomalies malformed", "calcified calcification",
        "ventricle ventricular", "retina retinal", "spastic spasticity", "tumor neoplasms", "cardiac heart", "ii 2",
        "deformity deformed deformities", "vertebral vertebrae", "itching pruritus", "fused fusion",
        "irregularity irregular",
    ],
)  # fmt: skip
def test_family_joins(line: str) -> None:
    assert len({family(word) for word in line.split()}) == 1


@pytest.mark.parametrize(
    "line",
    [
        "arteritis artery", "iris iritis", "hypertension hypotension", "macrocephaly microcephaly", "ilium ileum",
        "aplasia dysplasia", "colon colitis", "neurosis neuritis",
    ],
)  # fmt: skip
def test_family_keeps_apart(line: str) -> None:
    one, other = line.split()
    assert family(one) != family(other)


@given(st.text())
def test_every_word_has_a_family(word: str) -> None:
    assert isinstance(family(word), str)


def test_content_words() -> None:
    assert content_words("Loss of the vision in a limb") == ["Loss", "vision", "limb"]
    assert content_words("Vitamin A deficiency") == ["Vitamin", "A", "deficiency"]
    assert is_stopword("\u00ad") or is_stopword("")
    assert not is_stopword("x" * 1000)
