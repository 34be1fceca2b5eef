"""PubTator: every layout the field uses, faults with their lines, and nothing lost on the way out and back."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import CHARACTERS, LINES, documents

from linnet.corpora import fitting, pubtator
from linnet.corpora.faults import Faults
from linnet.data import Document, Mention, Passage, Span
from linnet.errors import DataError, FormatError, LinnetWarning

Read = Callable[..., list[Document]]

CDR = """\
1|t|Renal and hepatic toxicity
1|a|Of 🧬 lithium.
1\t0\t26\tRenal and hepatic toxicity\tDisease\tD007674|D056486\tRenal toxicity|hepatic toxicity
1\t0\t5\tRenal\tBody
1\t32\t39\tlithium\tChemical\t-1
1\tCID\tD008094\tD007674

2|t|Title alone.
2|a|

"""


@pytest.fixture
def reading(tmp_path: Path) -> Read:
    def read(content: str, **options: Any) -> list[Document]:
        path = tmp_path / "f.txt"
        path.write_bytes(content.encode())
        return list(pubtator.read(path, **options))

    return read


def written(docs: list[Document]) -> str:
    out = io.StringIO()
    assert pubtator.write(docs, out) == len(docs)
    return out.getvalue()


def by_passage(doc: Document) -> str:
    """Write a block for each passage, with offsets of its own, as NLM-Chem has them; relations stand in the last."""
    blocks = []
    for passage in doc.passages:
        start, end = passage.start, passage.end
        mentions = (m for m in doc.mentions or () if start <= m.start and m.end <= end)
        inside = tuple(replace(m, start=m.start - start, end=m.end - start, parts=()) for m in mentions)
        meta = doc.meta if passage is doc.passages[-1] else {}
        title = (Passage(0, end - start, "title"),)
        blocks.append(written([Document(doc.id, doc.text[start:end], title, mentions=inside, meta=meta)]))
    return "".join(blocks)


def test_everything_has_its_place(reading: Read) -> None:
    doc, bare = reading(CDR)
    assert doc == Document(
        "1",
        "Renal and hepatic toxicity\nOf 🧬 lithium.",
        passages=(Passage(0, 26, "title"), Passage(27, 40, "abstract")),
        mentions=(
            Mention(
                0,
                26,
                types=("Disease",),
                source="gold",
                concepts=("MESH:D007674", "MESH:D056486"),
                meta={"conjuncts": "Renal toxicity|hepatic toxicity"},
            ),
            Mention(0, 5, types=("Body",), source="gold"),
            Mention(32, 39, types=("Chemical",), source="gold", concepts=()),
        ),
        meta={
            "relations": [
                {
                    "type": "CID",
                    "args": [{"role": "arg1", "ref": "MESH:D008094"}, {"role": "arg2", "ref": "MESH:D007674"}],
                }
            ]
        },
    )
    assert bare == Document("2", "Title alone.", passages=(Passage(0, 12, "title"),), mentions=())
    assert written([doc, bare]) == CDR


@pytest.mark.parametrize(
    "content",
    [
        CDR.replace("\n", "\r\n"),
        CDR.replace("\n\n", "\n"),
        "\n\n" + CDR.replace("\n", "\n \n") + "\n",
        CDR.rstrip("\n"),
        "\ufeff" + CDR,
    ],
)
def test_line_ends_and_blank_lines_do_not_count(reading: Read, content: str) -> None:
    assert reading(content) == reading(CDR)


def test_no_abstract_line_and_an_empty_title(reading: Read) -> None:
    assert [doc.text for doc in reading("1|t|One\n2|t|\n2|a|Two\n2\t1\t4\tTwo\tX\n3|a|Three\n")] == [
        "One",
        "\nTwo",
        "Three",
    ]


def test_further_passages(reading: Read) -> None:
    content = "1|t|One\n1|a|Two\n1|a|More\n1|results section|Three\n1|p|Four\n1\t13\t18\tThree\tX\n\n"
    (doc,) = reading(content)
    assert [passage.kind for passage in doc.passages] == ["title", "abstract", "abstract", "results section", ""]
    assert doc.text == "One\nTwo\nMore\nThree\nFour"
    assert written([doc]) == content


def test_types_that_hold_commas_are_counted_as_lost() -> None:
    types = (("a,b",), ("A, B",), ("A", "B"), ("A, B", "C"))
    mentions = tuple(Mention(at, at + 1, types=one) for at, one in enumerate(types))
    dropped = Counter[str]()
    [doc] = fitting([Document("1", "fever", mentions=mentions)], "pubtator", dropped)
    assert [mention.types for mention in doc.mentions or ()] == [("a", "b"), ("A, B",), ("A", "B"), ("A, B,C",)]
    assert dropped["types"] == 2


def test_types_and_ids_of_biored_and_medmentions(reading: Read) -> None:
    content = (
        "1|t|NIS in women and V600E.\n1|a|\n"
        "1\t0\t3\tNIS\tT047,T048\tC0024660\n"
        "1\t0\t3\tNIS\tGeneOrGeneProduct\t6528,6529\n"
        "1\t7\t12\twomen\tOrganismTaxon\t9606\n"
        "1\t17\t22\tV600E\tSequenceVariant\tp|SUB|V|600|E\n"
        "1\t17\t22\tV600E\tAmino Acid, Peptide, or Protein\t-\n"
        "1\tAssociation\t6528\tp|SUB|V|600|E\tNovel\n"
        "1\tBind\t9606\t77\tNo\n"
    )
    (doc,) = reading(content)
    assert doc.mentions is not None
    assert [(m.types, m.concepts, m.meta) for m in doc.mentions] == [
        (("T047", "T048"), ("UMLS:C0024660",), {}),
        (("GeneOrGeneProduct",), ("NCBIGene:6528", "NCBIGene:6529"), {"separator": ","}),
        (("OrganismTaxon",), ("NCBITaxon:9606",), {}),
        (("SequenceVariant",), ("p|SUB|V|600|E",), {}),
        (("Amino Acid, Peptide, or Protein",), (), {}),
    ]
    relations = doc.meta["relations"]
    assert relations == (
        {
            "type": "Association",
            "args": ({"role": "arg1", "ref": "NCBIGene:6528"}, {"role": "arg2", "ref": "p|SUB|V|600|E"}),
            "meta": {"novelty": "Novel"},
        },
        {
            "type": "Bind",
            "args": ({"role": "arg1", "ref": "NCBITaxon:9606"}, {"role": "arg2", "ref": "77"}),
            "meta": {"novelty": "No"},
        },
    )
    assert written([doc]) == content.replace("\t-\n", "\t-1\n") + "\n"


# --- NLM-Chem: a block for each passage ------------------------------------------------------------------------------

CHEM = """\
7|t|On zinc
7|a|
7\t3\t7\tzinc\tChemical\tD015032

7|t|Zinc and tin.
7|a|
7\t0\t4\tZinc\tChemical\tD015032
7\t9\t12\ttin\tChemical\tD014001
7\tCID\tD015032\tD014001

8|t|Another
8|a|

"""


def test_offsets_by_passage_become_offsets_of_the_document(reading: Read) -> None:
    doc, other = reading(CHEM)
    assert doc.text == "On zinc\nZinc and tin."
    assert doc.passages == (Passage(0, 7, "title"), Passage(8, 21, ""))
    assert [m.span for m in doc.mentions or ()] == [Span(3, 7), Span(8, 12), Span(17, 20)]
    assert other.id == "8"
    assert by_passage(doc) + by_passage(other) == CHEM
    assert reading(written([doc, other])) == [doc, other]


def test_offsets_of_the_document_in_blocks_by_passage(reading: Read) -> None:
    shifted = CHEM.replace("7\t0\t4\tZ", "7\t8\t12\tZ").replace("7\t9\t12", "7\t17\t20")
    assert reading(shifted) == reading(CHEM)


def test_blocks_that_fit_neither_way_are_refused(reading: Read) -> None:
    with pytest.raises(FormatError, match=r"f\.txt:7: the offsets 1-5 say 'inc '.*'Zinc'.*--on-error skip"):
        reading(CHEM.replace("7\t0\t4\tZ", "7\t1\t5\tZ"))


def test_a_copy_of_a_document_stays_a_document_of_its_own(reading: Read) -> None:
    twice = "1|t|One\n1|a|Two\n\n" * 2
    docs = reading(twice)
    assert [doc.text for doc in docs] == ["One\nTwo", "One\nTwo"]
    assert written(docs) == twice


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n\n", "f.txt: holds no document: expected lines such as"),
        ("hello\n", r"f.txt:1: expected PMID\|t\|text, or PMID, start, end.*found 'hello'"),
        ("1|t\n", r"f.txt:1: expected PMID\|t\|text"),
        ("1||x\n", r"f.txt:1: expected PMID\|t\|text"),
        ("|t|x\n", r"f.txt:1: expected PMID\|t\|text"),
        ("1\t0\t1\tx\tX\n", "f.txt:1: this is an annotation of '1', which has no text before it"),
        ("1|t|x\n\n2\t0\t1\tx\tX\n", "f.txt:3: expected an annotation of '1', the text before it, not of '2'"),
        ("1|t|x\n1\t0\t1\tx\n", "f.txt:2: expected start, end, text, type and ids of a mention, or"),
        ("1|t|x\n1\tzero\t1\tx\tX\t-1\n", "f.txt:2: expected start, end, text, type and ids of a mention, or"),
        ("1|t|x\n1\t0\tone\tX\n", "f.txt:2: expected start, end, text, type and ids of a mention, or"),
        ("1|t|x\n1\tCID\tD000001\t\n", "f.txt:2: expected start, end"),
        ("1|t|x\n1\n", r"f.txt:2: expected PMID\|t\|text"),
        ("1|t|x\n1\t0\t1\tx\tX\t-1\ta|b\tc\n", "f.txt:2: has 8 columns, expected 5 to 7"),
        ("1|t|xy\n1\t0\t1\ty\tX\n", "f.txt:2: the offsets 0-1 say 'x', the line says 'y'; offsets count code points"),
        ("1|t|xy\n1\t1\t3\ty\tX\n", "f.txt:2: the offsets 1-3 lie outside the text of 2 characters"),
        ("1|t|xy\n1\t-9\t2\ty\tX\n", "f.txt:2: the offsets -9-2 are no span"),
        ("1|t|xy\n1\t-1\t2\ty\tX\n", "f.txt:2: mention .* the start must be"),
        ("1|t|xy\n1\t1\t1\t\tX\n", "f.txt:2: mention .* the start must be"),
        ("1|t|xy\n1\t-2\t-1\tx\tX\n", "f.txt:2: mention .* the start must be"),
        ("1|t|x\x00\n", "NUL"),
        ("", "is empty"),
    ],
)
def test_faults_are_named_with_their_line(reading: Read, content: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        reading(content)


@pytest.mark.parametrize(
    ("line", "span"),
    [
        ("0\t4\tzinc", Span(3, 7)),  # misplaced
        ("3\t7\tZINC", Span(3, 7)),  # in place but for case
        ("2\t9\t zinc  ", Span(3, 7)),  # in place but for blanks
        ("13\t16\tTIN", Span(17, 20)),  # misplaced, and in another case
        ("900\t904\tzinc", None),
        ("10\t12\ttungsten", None),
        ("10\t12\t ", None),
    ],
)
def test_repair(reading: Read, line: str, span: Span | None) -> None:
    content = f"1|t|On zinc\n1|a|Zinc and tin.\n1\t{line}\tChemical\tD015032\n"
    with pytest.raises(FormatError, match=r"f\.txt:3: .*; mend it, or read the rest with --on-error skip or repair"):
        reading(content)
    told: list[str] = []
    (doc,) = reading(
        content + content.splitlines()[2] + "\n", faults=Faults("repair", lambda _, done: told.append(done))
    )
    assert told == [f"put at {span.start}-{span.end}" if span else "left out"] * 2
    assert [(m.span, m.concepts) for m in doc.mentions or ()] == ([(span, ("MESH:D015032",))] * 2 if span else [])


def test_repair_by_passage(reading: Read) -> None:
    with pytest.warns(LinnetWarning, match=r"f\.txt:7: the offsets 1-5 say 'inc '.*; put at 0-4$"):
        docs = reading(CHEM.replace("7\t0\t4\tZ", "7\t1\t5\tZ"), faults=Faults("repair"))
    assert docs == reading(CHEM)


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One line.", "1|t|One line.\n1|a|\n\n"),
        ("One\nTwo\nThree", "1|t|One\n1|a|Two Three\n\n"),
        ("One\r\nTwo", "1|t|One\n1|a| Two\n\n"),
        ("One\n", "1|t|One \n1|a|\n\n"),
        ("", "1|t|\n1|a|\n\n"),
    ],
)
def test_text_without_passages(text: str, expected: str) -> None:
    assert written([Document("1", text)]) == expected


@pytest.mark.parametrize("passages", [(Passage(0, 3),), (Passage(0, 3), Passage(3, 7)), (Passage(1, 3), Passage(4, 7))])
def test_passages_that_leave_gaps_are_not_written(passages: tuple[Passage, ...]) -> None:
    assert written([Document("1", "One\nTwo", passages=passages)]) == "1|t|One\n1|a|Two\n\n"


def test_hulls_and_mentions_across_passages(reading: Read) -> None:
    doc = Document(
        "1",
        "big\tred\npain",
        passages=(Passage(0, 7, "title"), Passage(8, 12, "abstract")),
        mentions=(Mention(0, 12, parts=(Span(0, 3), Span(8, 12)), types=("A", "B"), concepts=("HP:1",)),),
    )
    (back,) = reading(written([doc]))
    assert back.mentions == (Mention(0, 12, types=("A", "B"), source="gold", concepts=("HP:1",)),)
    assert back.text == doc.text


def test_relations_that_are_not_between_two_concepts_are_left_out() -> None:
    def relation(*refs: str) -> dict[str, object]:
        return {"type": "R", "args": [{"role": "a", "ref": ref} for ref in refs]}

    kept = relation("HP:1", "MESH:D000001")
    relations = [relation("HP:1"), relation("T1", "HP:1"), {"type": "R"}, kept]
    relations += [{**relation("HP:1", "HP:2"), "type": "7"}, {"args": kept["args"]}, relation("", "HP:1")]
    doc = Document("1", "pain", mentions=(Mention(0, 4, id="T1"),), meta={"relations": relations})  # type: ignore[dict-item]
    assert written([doc]).splitlines()[3:] == ["1\tR\tHP:1\tD000001", ""]


@pytest.mark.parametrize(
    ("docs", "message"),
    [
        ([Document("", "x")], "document '': PubTator has no place for an id"),
        ([Document("a|b", "x")], "no place for an id"),
        ([Document("a\tb", "x")], "no place for an id"),
        ([Document("1", "x"), Document("1", "y")], "document '1' stands twice in a row"),
        (
            [Document("1", "x", mentions=(Mention(0, 1, types=("a\tb",)),))],
            r"document '1': the type 'a\\tb' holds a tab",
        ),
        ([Document("1", "x", mentions=(Mention(0, 1, concepts=("a|b",)),))], "document '1': the ids 'a|b' do not fit"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(docs: list[Document], message: str) -> None:
    with pytest.raises(DataError, match=message):
        written(docs)


# --- there and back --------------------------------------------------------------------------------------------------

CONCEPTS = [
    "MESH:D014262",
    "OMIM:217000",
    "UMLS:C0024660",
    "NCBIGene:6528",
    "NCBITaxon:9606",
    "DBSNP:rs1",
    "HP:1",
    "𝒳:3",
]
KINDS = ["title", "abstract", "", "results section", "𝒳"]
TYPES = ["Gene", "Species", "T047", "𝒳 y"]
FIELD = st.text(st.characters(codec="utf-8", exclude_characters="\x00\t\r\n"), min_size=1, max_size=9)


@st.composite
def held_mentions(draw: st.DrawFn, length: int) -> Mention:
    start = draw(st.integers(0, length - 1))
    concepts = draw(
        st.none() | st.lists(st.sampled_from(CONCEPTS), max_size=3).map(tuple) | st.just(("p|SUB|V|600|E",))
    )
    meta = {}
    if concepts is not None:
        if len(concepts) > 1 and (separator := draw(st.sampled_from(["", "+", ",", ";"]))):
            meta["separator"] = separator
        if conjuncts := draw(st.just("") | FIELD):
            meta["conjuncts"] = conjuncts
    return Mention(
        start,
        draw(st.integers(start + 1, length)),
        types=draw(
            st.lists(st.sampled_from(TYPES), max_size=3).map(tuple) | st.just(("Amino Acid, Peptide, or Protein",))
        ),
        source="gold",
        concepts=concepts,
        meta=meta,
    )


@st.composite
def relations(draw: st.DrawFn) -> dict[str, object]:
    refs = draw(st.lists(st.sampled_from([*CONCEPTS, "p|SUB|V|600|E"]), min_size=2, max_size=2))
    args = tuple({"role": f"arg{i}", "ref": ref} for i, ref in enumerate(refs, 1))
    made: dict[str, object] = {"type": draw(st.sampled_from(["CID", "Bind"])), "args": args}
    if novelty := draw(st.sampled_from(["", "Novel", "No"])):
        made["meta"] = {"novelty": novelty}
    return made


@st.composite
def held(draw: st.DrawFn, id: str) -> Document:
    """Documents with all that PubTator can hold: empty passages in the middle, tabs, nested mentions, several ids."""
    texts = draw(st.lists(LINES, min_size=1, max_size=4))
    texts[-1] = texts[-1] or "x"
    passages, start = [], 0
    for i, text in enumerate(texts):
        passages.append(Passage(start, start + len(text), draw(st.sampled_from(KINDS)) if i else "title"))
        start += len(text) + 1
    found = tuple(draw(st.lists(relations(), max_size=2)))
    return Document(
        id,
        "\n".join(texts),
        passages=tuple(passages),
        mentions=tuple(draw(st.lists(held_mentions(start - 1), max_size=4))),
        meta={"relations": found} if found else {},  # type: ignore[dict-item]
    )


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(held("1"), held("𝒳 2"))
def test_what_it_can_hold_survives(reading: Read, first: Document, second: Document) -> None:
    assert reading(written([first, second])) == [first, second]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(held("1"), held("2"))
def test_by_passage_nothing_within_a_passage_is_lost(reading: Read, first: Document, second: Document) -> None:
    docs = [first, second]
    back = reading("".join(map(by_passage, docs)))
    assert [doc.id for doc in back] == ["1", "2"]
    for doc, again in zip(docs, back, strict=True):
        kinds = ["title", *[""] * (len(doc.passages) - 1)]
        plain = tuple(replace(p, kind=kind) for p, kind in zip(doc.passages, kinds, strict=True))
        inside = [m for p in doc.passages for m in doc.mentions or () if p.start <= m.start and m.end <= p.end]
        assert again == replace(doc, passages=plain, mentions=tuple(inside))


@pytest.mark.parametrize("text", ["Feverish", "Fev\fRISH", "Fev\trish"])
def test_a_letter_between_passages_is_not_lost(reading: Read, text: str) -> None:
    doc = Document("1", text, passages=(Passage(0, 3), Passage(4, 8)))
    (back,) = reading(written([doc]))
    assert back.text == doc.text


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(CHARACTERS, min_size=1, max_size=8), documents())
def test_whatever_is_written_can_be_read(reading: Read, id: str, doc: Document) -> None:
    blank = str.maketrans("\r\n", "  ")
    try:
        content = written([replace(doc, id=id)])
    except DataError:
        return
    (back,) = reading(content)
    assert back.id == id
    text = doc.text.translate(blank)
    assert text.startswith(back.text.translate(blank))
    assert not text[len(back.text) :].strip(" ")
    assert [m.span for m in back.mentions or ()] == [m.span for m in doc.mentions or ()]
