"""Short forms that documents do not define: their table, files of users, and which sense a document speaks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.errors import FormatError
from linnet.text.known_forms import KnownForms, clinical, read_senses
from linnet.text.sentences import split_sentences
from linnet.text.tokens import tokenize
from linnet.text.wordlists import rows


def read(text: str, forms: KnownForms | None = None) -> list[str]:
    """Return what the short forms of a text are read as."""
    forms = forms or KnownForms([clinical()], lambda names, _short: names[0])
    borders = [sentence.start for sentence in split_sentences(text)]
    return [found.long for found in forms.occurrences(text, tokenize(text), borders=borders)]


def test_the_table_is_well_formed() -> None:
    fields = {field for field, _ in rows("linnet.text", "clinical_fields.tsv")}
    lines = rows("linnet.text", "short_forms.tsv")
    assert len({short for short, *_ in lines}) > 450
    assert all(2 <= len(line) <= 4 and line[1] for line in lines)
    assert len({(short, names) for short, names, *_ in lines}) == len(lines)
    cues = {cue for _, _, *rest in lines if rest for cue in rest[0].split()}
    assert {"heart", "neuro", "psych", "genes", "lung", "renal", "gut", "endo", "joints", "pregnancy"} <= fields & cues


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Known COPD and T2DM.", ["chronic obstructive pulmonary disease", "type II diabetes mellitus"]),
        ("MS on the MRI brain, optic neuritis last year.", ["multiple sclerosis"]),
        ("Echo: severe MS, mitral valve thickened, murmur.", ["mitral stenosis"]),
        ("Rare PVCs on the Holter.", ["premature ventricular contraction"]),
        ("PE\nHe is well.", []),  # a heading, and nothing that speaks for a sense
        ("No coarct. Palps at night.", ["coarctation of aorta", "palpitations"]),
        ("TTP/HUS excluded, platelets normal.", ["thrombotic thrombocytopenic purpura", "hemolytic-uremic syndrome"]),
        ("HF 90/min, AF 24/min; AF: 26 x/min, HF (88 bpm), AF 16-20/min.", []),
        ("HTN 170/95, HTN: 180/100; HTN 120", ["hypertension"] * 2),
        ("AF, rate 20/min. ECG: AF 88/min. AF since 2 min.", ["atrial fibrillation"] * 3),
        (
            "PVCs 10/min on Holter, NSVT 8 beats.",
            ["premature ventricular contraction", "nonsustained ventricular tachycardia"],
        ),
        ("the VHL gene; BN 52021; acyl-CoA oxidase; Group PS; 11.5 +/- SE", []),
    ],
)
def test_the_document_decides(text: str, meant: list[str]) -> None:
    assert read(text) == meant


def test_one_form_may_mean_two_things_in_one_document() -> None:
    text = "The school asks whether ASD or ADHD explains her behaviour. Echo: ASD, closed with a device."
    assert read(text)[::2] == ["autism spectrum disorder", "atrial septal defect"]


def test_a_sense_that_the_terminology_lacks_may_win_and_yields_nothing() -> None:
    forms = KnownForms([clinical()], lambda names, _short: "mitral stenosis" if "mitral stenosis" in names else "")
    assert read("MS on the MRI brain, optic neuritis last year.", forms) == []
    assert read("Echo: severe MS, mitral valve thickened.", forms) == ["mitral stenosis"]


def test_a_file_of_the_user_replaces_senses_and_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "ours.csv"
    path.write_text('Short form,Meaning\nMS,"morning stiffness|joint stiffness"\nÄ1,fever\n', encoding="utf-8-sig")
    forms = KnownForms([clinical(), read_senses(path)], lambda names, _short: names[0])
    assert read("MS. Ä1.", forms) == ["morning stiffness", "fever"]
    [found, _] = forms.occurrences("MS. Ä1.", tokenize("MS. Ä1."))
    assert found.share == 1


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("AF\tatrial fibrillation\nSOB\n", 2, "'SOB' has no meaning"),
        ("AF,\n", 1, "'AF' has no meaning"),
        ("--\tfever\n", 1, "is no short form"),
        ("AF\tatrial fibrillation\theart\tmuch\n", 1, "the weight 'much' of 'AF' is not a number above 0"),
        ("AF\t...\n", 1, "has no letters; expected a name or the id of a concept"),
        ("# nothing\n", None, "holds no short forms; expected rows of a short form and its meaning"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, content: str, line: int | None, problem: str) -> None:
    path = tmp_path / "ours.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=problem) as told:
        read_senses(path)
    assert str(told.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
