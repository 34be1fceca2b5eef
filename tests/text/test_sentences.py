"""Sentences: tables of cases, and properties that hold for any text."""

from __future__ import annotations

import itertools
import os
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from linnet.text.sentences import split_sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


# Each case is a list of sentences; joined by one blank they must come apart again.
PROSE = [
    ["Rash nil.", "seizures x1 at 04:00."],
    ["Dr. Smith, 3.5 mg p.o. q.d.", "The dose was halved."],
    ["Given 5 mg i.v. on arrival.", "Then 2 mg b.i.d. for a week."],
    ["Kabuki vs. CHARGE syndrome was discussed.", "Neither fits."],
    ["Facial features, e.g. a broad nose, i.e. one wider than usual.", "See above."],
    ["No AS, mild MR.", "Severe TR.", "Seen by MR. Jones."],
    ["The scan is shown in Fig. 2 and Figs. 3 and 4.", "All are normal."],
    ["Bek. art. Hypertonie und rez. Harnwegsinfekte bei Vit. B12-Mangel.", "Kein stat. Infekt."],
    ["Max. Herzfrequenz 120/min bei ausgepr. Adipositas, li. Vorhof groß, Ödeme abd.", "Die Leber ist normal."],
    ["Smith et al. (2003) described it.", "Jones et al. disagreed."],
    ["This was shown by Smith et al.", "The cohort was small."],
    ["Seen by J. A. Smith and P. Jones.", "He was well."],
    ["Cultures grew E. coli and S. aureus.", "They were treated."],
    ["Contrast was given i.v. MRI followed at 5 p.m. EEG next."],
    ["Vitamin D.", "Serum calcium was low."],
    ["Z. n. Struma und V. a. Schlafapnoe.", "Kein Fieber."],
    ["Tropfen b. Bed. bei Schmerzen.", "Fragl. Aszites, lt. Ehefrau neu."],
    ["She stayed in bed.", "Bed rest helped."],
    ["No hepatitis B.", "Bed rest helped."],
    ["No swelling lt.", "Rash on arm."],
    ["She has hepatitis C.", "Ribavirin was stopped."],
    ["The difference was small (p < .05).", "It was 0.05."],
    ["P = 0. 048 was reported.", "It is a printing error."],
    ["Buffered at pH 7.4.", "The rest was frozen."],
    ['He said "no fits."', "Then he left."],
    ["This is in brackets (as here.) and goes on.", "(This is a sentence.)", "So is this."],
    ["It was there... and then not.", "It was there...", "Then it was not."],
    ["Sample No. 5 was lost.", "Fracture?", "No.", "The film is normal."],
    ["We tested mice.", "p53 was mutated.", "mTOR was not.", "miR-21 rose.", "α-Synuclein fell.", "β2AR too."],
    ["It ended in 2005.", "25 patients were left."],
    ["1. Hypotonia is mild.", "2. Reflexes are brisk."],
    ["The aims were: 1. To measure; 2. To count.", "We did."],
    ["Dexamethasone raises pressure in the rat.", "1. Rats were treated."],
    ["Temp. 38.5 on arrival.", "Max. 40 later."],
    ["temp 38.5.", "no rash.", "denies fits."],
    ["bp 120/80.", "no murmur was heard."],
    ["From the U.S. Food and Drug Administration.", "It left the U.S.", "The label changed."],
    ["It was made by Optics, Inc. in Texas.", "It was bought from Optics, Inc.", "Dr. Lee paid."],
    ["? Kabuki syndrome.", "? seizures or syncope.", "Is it so?", "It is!"],
    ["Solved to 1.9 Å.", "Binding was weak."],
    ["Relapse in MS.", "Attacks were rare."],
    ["At a dose of 10 mg. kg-1. min(-1) it works.", "It is safe."],
    ["Levels were 5 mg per 8 hrs.", "IT was used."],
    ["Leishmania spp. are found here.", "Two Leishmania spp.", "The rest is unknown."],
    ["Seen at 9 a.m. in clinic.", "Seen again at 4 p.m.", "He slept."],
    ["See p. 12 and ref. 3.", "See also ch. 4."],
    ["Eine Epilepsie wurde am 12. Juni und seit 3. Mai ausgeschlossen.", "Sie ist wach."],
    ["Im 3. Lebensjahr, (im 2. Trimenon) und in der 12. Schwangerschaftswoche war alles gut.", "Kein Fieber."],
    ["Die 2. Schwangerschaft verlief gut, ab 30. Schwangerschaftswoche Bluthochdruck.", "Kein Fieber."],
    ["Er ist im Alter von 12.", "Fieber bestand bis 39.", "Kein Husten seit dem 12.", "Keine Atemnot."],
    ["Kein Anhalt f. Epilepsie.", "Keine Zeichen i. S. einer Meningitis.", "Anfall a. e. Epilepsie."],
    ["It lasts 5 m.", "Rats were fed for 3 d.", "Treatment was stopped.", "He is short of vit d.", "Rest is normal."],
    ["Ο ασθενής είναι καλά.", "Δεν έχει πυρετό."],
    ["रोगी ठीक है।", "बुखार नहीं है।"],
    ["Эпилепсия у ребенка.", "Гипотония."],
]

# A text and its sentences.
LAYOUT = [
    ("mother: stroke aged 60.   fatigue++", ["mother: stroke aged 60.", "fatigue++"]),
    ("Seen by Dr.  smith, e.g.  for fits", ["Seen by Dr.  smith, e.g.  for fits"]),
    ("", []),
    (" \n\t ", []),
    ("x", ["x"]),
    ("One.\n\nTwo", ["One.", "Two"]),
    ("one\n \t\ntwo", ["one", "two"]),
    ("HISTORY\nThe boy is two.\nPlan:\n- MRI\n- EEG", ["HISTORY", "The boy is two.", "Plan:", "- MRI", "- EEG"]),
    ("short stature\nhypertelorism\r\nseizures", ["short stature", "hypertelorism", "seizures"]),
    (
        "Complications: proliferative retinopathy, no microalbuminuria, no foot ulcers\nHashimoto's thyroiditis\nGout",
        [
            "Complications: proliferative retinopathy, no microalbuminuria, no foot ulcers",
            "Hashimoto's thyroiditis",
            "Gout",
        ],
    ),  # the longest line of a list is not wrapped
    ("• one\n• two", ["• one", "• two"]),
    ("1) one thing\n2) another\n(c) third", ["1) one thing", "2) another", "(c) third"]),
    (
        "no fever. no rash seen. squint of one eye. no blood in wee. ok",
        ["no fever.", "no rash seen.", "squint of one eye.", "no blood in wee.", "ok"],
    ),
    ("Weight: 3 kg\nLength: 50 cm", ["Weight: 3 kg", "Length: 50 cm"]),
    ("Short stature,\nseizures and\nataxia", ["Short stature,\nseizures and\nataxia"]),
    ("Has short\nstature.", ["Has short\nstature."]),
    (
        "He has short\nstature, a cleft\npalate. He is\nwell.",
        ["He has short\nstature, a cleft\npalate.", "He is\nwell."],
    ),
    ("HISTORY\nshort stature\nseizures.", ["HISTORY", "short stature", "seizures."]),
    ("Findings:\nshort stature\nlong face.", ["Findings:", "short stature", "long face."]),
    ("Plan: see\nagain soon.", ["Plan: see", "again soon."]),
    ("Found today\nshort stature\nlong face", ["Found today", "short stature", "long face"]),
    ("The patient has\nof late\nbeen well", ["The patient has\nof late", "been well"]),
    (
        "Findings were normal.The boy is well. See www.Site.org now",
        ["Findings were normal.", "The boy is well.", "See www.Site.org now"],
    ),
    ("This was shown.3,4 The rest was not.[5] We agree.", ["This was shown.3,4", "The rest was not.[5]", "We agree."]),
    ("日本語。これは文です。「はい。」次", ["日本語。", "これは文です。", "「はい。」", "次"]),
    ("Tokens . Are apart . . . here", ["Tokens .", "Are apart . . . here"]),
    ("A\x00b. C", ["A\x00b.", "C"]),
    ("...", ["..."]),
    ("He slept.  \u00a0 She woke.", ["He slept.", "She woke."]),
]


@pytest.mark.parametrize("sentences", PROSE, ids=lambda sentences: sentences[0][:30])
def test_prose(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences


@pytest.mark.parametrize(("text", "sentences"), LAYOUT, ids=lambda value: repr(value)[:40])
def test_layout(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


@pytest.mark.parametrize("width", [60, 72, 100])
def test_wrapping_makes_no_sentences(width: int) -> None:
    text = (
        "The patient was referred at the age of six years because of short stature and learning difficulties. His "
        "mother is of normal height, and so is his father, whom Dr. Smith saw in the clinic last year. On examination "
        "he had hypertelorism, a broad nasal bridge and short fingers, but no heart murmur. Array testing showed a "
        "deletion of KMT2D. We propose that Kabuki syndrome explains most of what was found in this boy."
    )
    wrapped = textwrap.fill(text, width, break_on_hyphens=False)
    assert [" ".join(sentence.split()) for sentence in split(wrapped)] == split(text)


def test_lines_broken_by_hand_are_wrapped() -> None:
    text = (
        "The parents describe a floppy baby with a weak cry who tires at the breast. He was fed\n"
        "by tube from day 2 because of feeding difficulties. Failure to thrive\n"
        "(FTT) so far is mild, and the weight is followed closely by the community nurses.\n"
        "Plan: see again"
    )
    assert [sentence.split()[0] for sentence in split(text)] == ["The", "He", "Failure", "Plan:"]


def test_labels_begin_sentences() -> None:
    lines = ["Head: mild enlargement of both ventricles, no agenesis of the corpus callosum", "Face: cleft lip"]
    assert split("\n".join(lines)) == lines


def test_long_lines_are_paragraphs() -> None:
    line = "He is well and has no complaints of any kind, as far as he can tell us today in this clinic, and " * 2
    assert len(split(f"{line}stays so\n{line}goes home\nBye")) == 3


def test_numbered_lines_of_full_length_stay_apart() -> None:
    items = [f"{number}. A finding that takes up the whole line and is numbered {'x' * number}" for number in (3, 2, 1)]
    assert split("\n".join(items)) == items


PARTS = (" ", "\n", "\n\n", "\r\n", "\t", "\u2028", "(", ")", '"', "- ", "1. ", ":", ",", "\x00", "long" * 20, "é", "𝛼")
PIECES = st.sampled_from(
    [
        *PARTS,
        "Dr",
        "E",
        "p53",
        "the",
        "The",
        "al",
        "q.d",
        "7",
        "5%",
        "α",
        "fig",
        "No",
        ".",
        "...",
        "?",
        "!",
        "。",
        "।",
        "…",
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_sentences_are_ordered_trimmed_and_complete(text: str) -> None:
    spans = split_sentences(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    covered = {position for start, end in spans for position in range(start, end)}
    assert {position for position, sign in enumerate(text) if not sign.isspace()} <= covered


@given(TEXTS, TEXTS)
def test_a_blank_line_separates(left: str, right: str) -> None:
    joined = f"{left}\n\n{right}"
    shift = len(left) + 2
    expected = [tuple(span) for span in split_sentences(left)]
    expected += [(start + shift, end + shift) for start, end in split_sentences(right)]
    assert [tuple(span) for span in split_sentences(joined)] == expected


HOSTILE = {
    "no full stop": "word " * 400_000,
    "full stops": "." * 1_000_000,
    "spaced full stops": ". " * 100_000,
    "blanks": "a. " + " " * 5_000_000 + "B",
    "quotes": '."' * 500_000,
    "openers": ". " + "(" * 1_000_000,
    "wide stops": "。" * 1_000_000,
    "line breaks": "x y\n" * 100_000,
    "blank lines": "\n" * 1_000_000,
    "abbreviations": "e.g. " * 100_000,
    "citations": "abc.1,1" * 200_000,
    "one word": "a" * 5_000_000 + ". B",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_ends(text: str) -> None:
    split_sentences(text)  # under a second; quadratic time would be hours


@pytest.mark.data
def test_sense_on_abstracts() -> None:
    root = os.environ.get("LINNET_DATA")
    if not root:
        pytest.skip("needs LINNET_DATA, the folder with the real corpora")
    tree = etree.parse(Path(root) / "pubmed" / "medline16n0902_sample.xml.gz")
    abstracts = [" ".join(str(part.xpath("string()")) for part in node) for node in tree.iter("Abstract")]
    counts = [len(split_sentences(abstract)) for abstract in abstracts]
    assert 7 < sum(counts) / len(counts) < 13
