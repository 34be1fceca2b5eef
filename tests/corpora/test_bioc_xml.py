"""BioC XML: what is kept, what is refused with its line, and that nothing of a document is lost."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.corpora.bioc_cases import annotation, made, one, written

from linnet.corpora import bioc_xml, fitting, write
from linnet.data import Candidates, Document, Mention, Passage, Span
from linnet.errors import DataError, FormatError, LinnetWarning

HEAD = "<source>S</source><date>D</date><key>K</key>"


def xml(body: str, head: str = HEAD) -> str:
    return f"<collection>{head}{body}</collection>"


def document(body: str, id: str = "1") -> str:
    return xml(f"<document><id>{id}</id>{body}</document>", head="")


def passage(text: str, body: str = "", offset: int = 0) -> str:
    return f"<passage><offset>{offset}</offset><text>{text}</text>{body}</passage>"


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_collection(tmp_path: Path) -> None:
    body = """<infon key="year">1999</infon><passage><infon key="type">title</infon><infon key="n">1</infon>
<offset>2</offset><text>Fi&lt;s β 🧬.</text><annotation id="T1"><infon key="type">Disease</infon>
<infon key="MESH">D1|OMIM:2</infon><infon key="note">odd</infon><location offset="2" length="4"/><text>Fi&lt;s</text>
</annotation></passage><passage><offset>13</offset><text>None.</text>
<relation id="P"><infon key="type">CID</infon></relation></passage>
<relation id="R1"><infon key="type">CID</infon><infon key="score">1</infon><node refid="T1" role="a"/></relation>"""
    content = xml(f"<infon key='x'>y</infon><document><id>7</id>{body}</document><document><id>8</id></document>")
    doc, empty = bioc_xml.read(made(tmp_path, gzip.compress(content.encode()), "f.xml.gz"))
    collection: dict[str, Any] = {"source": "S", "date": "D", "key": "K", "infons": {"x": "y"}}
    assert doc == Document(
        "7",
        " \nFi<s β 🧬. \nNone.",
        passages=(Passage(2, 11, "title", {"infons": {"n": "1"}}), Passage(13, 18)),
        mentions=(
            Mention(
                2,
                6,
                id="T1",
                types=("Disease",),
                source="gold",
                concepts=("MESH:D1", "OMIM:2"),
                meta={"infons": {"note": "odd"}},
            ),
        ),
        meta={
            "infons": {"year": "1999"},
            "collection": collection,
            "relations": [
                {"id": "P", "type": "CID"},
                {"id": "R1", "type": "CID", "args": [{"role": "a", "ref": "T1"}], "meta": {"score": "1"}},
            ],
        },
    )
    assert empty == Document("8", "", mentions=(), meta={"collection": collection})


def test_sentences_give_the_text_where_passages_have_none(tmp_path: Path) -> None:
    fits = annotation("Fits", (5, 4), infons={"identifier": "-1"})
    sentences = f"""<sentence><infon key="k">v</infon><offset>5</offset><text>Fits.</text>{fits}
<relation id="r"><infon key="relation">x</infon></relation></sentence>
<sentence><offset>12</offset><text>None.</text></sentence>"""
    doc = one(tmp_path, document(f"<passage><offset>5</offset>{sentences}</passage>{passage('End', offset=18)}"))
    assert (doc.text, doc.sentences) == ("    \nFits.  None.\nEnd", (Span(5, 10), Span(12, 17)))
    assert doc.mentions == (Mention(5, 9, id="T1", source="gold", concepts=()),)
    assert doc.passages[0] == Passage(5, 17, meta={"sentences": [{"start": 5, "end": 10, "infons": {"k": "v"}}]})
    assert doc.meta == {"relations": ({"id": "r", "type": "x"},)}
    assert one(tmp_path, written(doc)) == doc
    both = passage("Fits. No.", "<sentence><offset>6</offset><text>No.</text></sentence>")
    assert one(tmp_path, document(both)).sentences == (Span(6, 9),)


def test_relations_of_biored_name_concepts_in_infons(tmp_path: Path) -> None:
    aspirin = annotation("Aspirin", (0, 7), infons={"type": "ChemicalEntity", "identifier": "D001241"})
    gene = annotation("COX2", (8, 4), infons={"type": "GeneOrGeneProduct", "identifier": "5743"}, id="2")
    infons = {"entity1": "D001241", "entity2": "5743", "novel": "Novel", "type": "Negative_Correlation"}
    told = "".join(f'<infon key="{key}">{value}</infon>' for key, value in infons.items())
    relation = f'<relation id="R0">{told}</relation>'
    doc = one(tmp_path, document(passage("Aspirin COX2.", aspirin + gene) + relation, id="7"))
    args = [{"role": "entity1", "ref": "MESH:D001241"}, {"role": "entity2", "ref": "NCBIGene:5743"}]
    relations: Any = [{"id": "R0", "type": "Negative_Correlation", "args": args, "meta": {"novel": "Novel"}}]
    assert doc == replace(doc, meta={"relations": relations})
    assert one(tmp_path, written(doc)) == doc
    path = tmp_path / "f.pubtator"
    dropped: Counter[str] = Counter()
    assert write(fitting([doc], "pubtator", dropped), path) == 1
    assert path.read_text().splitlines()[-2] == "7\tNegative_Correlation\tD001241\t5743\tNovel"
    assert dropped == {"mention ids": 2, "ids, roles and meta of relations": 1}


@pytest.mark.parametrize(
    ("infons", "concepts", "meta"),
    [
        ({}, None, {}),
        ({"type": "Gene", "NCBI Gene": "12"}, ("NCBIGene:12",), {}),
        ({"type": "Gene", "identifier": "12;13"}, ("NCBIGene:12", "NCBIGene:13"), {"separator": ";"}),
        ({"identifier": "MESH:D000001,MESH:D000002"}, ("MESH:D000001", "MESH:D000002"), {"separator": ","}),
        ({"MeSH": "D000001+D000002"}, ("MESH:D000001", "MESH:D000002"), {"separator": "+"}),
        ({"OMIM": "217000", "MESH": "D1"}, ("OMIM:217000",), {"infons": {"MESH": "D1"}}),
        ({"concept_id": "C0000001"}, ("UMLS:C0000001",), {}),
        ({"identifier": ""}, (), {}),
        ({"identifier": "None"}, (), {}),
        ({"identifier": "p|SUB|V|600|E"}, ("p|SUB|V|600|E",), {}),
        ({"NCBI_Taxonomy": "9606"}, ("NCBITaxon:9606",), {}),
    ],
)
def test_ids(tmp_path: Path, infons: dict[str, str], concepts: tuple[str, ...] | None, meta: dict[str, object]) -> None:
    doc = one(tmp_path, document(passage("Fits", annotation("Fits", (0, 4), infons=infons))))
    [mention] = doc.mentions or ()
    assert (mention.concepts, mention.meta) == (concepts, meta)
    assert one(tmp_path, written(doc)) == doc


def test_keys_that_stand_twice(tmp_path: Path) -> None:
    infons = "".join(
        f"<infon key='{key}'>{value}</infon>"
        for key, value in (
            ("type", "A"),
            ("type", "B"),
            ("MESH", "D000001"),
            ("MESH", "D000002"),
            ("x", "1"),
            ("x", "2"),
        )
    )
    body = f"<annotation id='1'>{infons}<location offset='0' length='4'/><text>Fits</text></annotation>"
    doc = one(tmp_path, document(passage("Fits", body)))
    [mention] = doc.mentions or ()
    assert (mention.types, mention.concepts) == (("A", "B"), ("MESH:D000001", "MESH:D000002"))
    assert mention.meta == {"infons": {"x": ("1", "2")}}
    assert one(tmp_path, written(doc)) == doc


def test_locations(tmp_path: Path) -> None:
    text = "short fingers and toes"
    body = annotation("toes short", (18, 4), (0, 5)) + annotation("short fingers", (0, 6), (6, 7))
    body += annotation("short fingers and toes", (0, 5), (18, 4)) + annotation("", (0, 5))
    doc = one(tmp_path, document(passage(text, body)))
    two = (Span(0, 5), Span(18, 22))
    assert [(m.span, m.parts, m.meta) for m in doc.mentions or ()] == [
        ((0, 22), two, {"text": "toes short"}),
        ((0, 13), (), {}),
        ((0, 22), two, {"text": text}),
        ((0, 5), (), {}),
    ]
    assert one(tmp_path, written(doc)) == doc


def test_what_stands_beside_its_text_is_moved(tmp_path: Path) -> None:
    body = annotation("fingers", (8, 7)) + annotation("short toes", (0, 5), (17, 4))
    body += annotation("short fi", (0, 5), (3, 5)).replace("short fi<", "<")
    with pytest.warns(LinnetWarning) as told:
        doc = one(tmp_path, document(passage("short fingers and toes", body)))
    assert [m.spans for m in doc.mentions or ()] == [((6, 13),), ((0, 5), (18, 22)), ((0, 8),)]
    assert [str(warning.message).split(": ", 1)[1].split(":")[0] for warning in told] == [
        "annotation that stands up to five characters beside its text, moved there (2)",
        "annotation whose locations overlap, joined (1)",
    ]


def test_annotations_without_location_are_kept(tmp_path: Path) -> None:
    heading = annotation("", infons={"type": "MeSH", "identifier": "MESH:D012640"}, id="9")
    doc = one(tmp_path, document(passage("Fits") + passage("None", heading, offset=5)))
    assert doc.mentions == ()
    assert doc.meta == {"annotations": ({"id": "9", "infons": {"type": "MeSH", "identifier": "MESH:D012640"}},)}
    assert one(tmp_path, written(doc)) == doc
    assert 'key="linnet"' not in written(doc)


def test_elements_that_bioc_does_not_have(tmp_path: Path) -> None:
    body = passage(
        "A<!-- c -->B<?pi x?>C<![CDATA[<]]>", "<b/>" + annotation("A", (0, 1)).replace("<text>", "<c/><text>")
    )
    content = xml(f"<a/><document><id>1</id>{body}<a/></document>")
    with pytest.warns(LinnetWarning, match=r"left out \(4\): line 1 <a>; line 1 <b>"):
        assert one(tmp_path, content).text == "ABC<"


# --- refusals --------------------------------------------------------------------------------------------------------

FITS = passage("Fits", annotation("Fits", (0, 4)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "no well-formed XML"),
        ("<collection>", "no well-formed XML"),
        ("<html/>", "expected the element <collection>"),
        ("<a><collection/></a>", "expected the element <collection>"),
        (document(FITS, id=""), "has no id"),
        (xml("<document><id>1</id><document><id>2</id></document></document>"), "not a child of the collection"),
        (document("<passage><text>A</text></passage>"), "passage has no offset"),
        (
            document("<passage><offset>0</offset><sentence><text>A</text></sentence></passage>"),
            "sentence has no offset",
        ),
        (document("<passage><offset>-1</offset></passage>"), "not negative as an offset or length, found '-1'"),
        (document("<passage><offset/></passage>"), "found ''"),
        (document(passage("Fits") + passage("None", offset=3)), "starts at offset 3, before the end 4"),
        (document(passage("Fits", offset=5) + passage("None")), "starts at offset 0, before the end 9"),
        (document(passage("Fits", offset=9_999_999)), "leaves gaps of more than 1,048,576"),
        (document(passage("Fits") + passage("None", offset=10**30)), "leaves gaps of more than"),
        (
            document(passage("Fits", "<sentence><offset>1</offset><text>Fit</text></sentence>")),
            "the passage says 'its'",
        ),
        (document(passage("Fits", annotation("Fits", (0, 3)))), "say 'Fit', its text says 'Fits'"),
        (document(passage("Fits", annotation("", (4, 1)))), "lie outside the text of 4 characters"),
        (document(passage("Fits", annotation("Fi", (3, 2), (0, 9)))), "lie outside the text of 4 characters"),
        (document(passage("Fits", annotation("", (0, 0)))), "length 0, expected at least one"),
        (document(passage("Fits", annotation("Fits", (0, 4), (2, 0)))), "length 0, expected at least one"),
        (document(FITS.replace("length='4'", "")), "expected a number"),
        (document(FITS.replace("key=", "kay=") + "<infon>x</infon>"), "an infon without key"),
        (document("<relation><node role='x'/></relation>"), "a node without refid"),
        (document(passage("Fi<b>ts</b>")), "<text> holds b, expected only text"),
        ("<!DOCTYPE collection SYSTEM 'BioC.dtd'>" + document(passage("a&nbsp;b")), "holds an undeclared entity"),
        ("<!DOCTYPE collection SYSTEM 'BioC.dtd'>" + document("&nbsp;"), "undeclared entity"),
        (
            document(passage("No fits here, not at all, ") + passage("Fits.", annotation("Fits", (0, 4)), offset=30)),
            "these count from the start of the passage",
        ),
        (document(passage("äääääääää fits", annotation("fits", (19, 4)))), "these count UTF-8 bytes"),
        (document(passage("🧬🧬🧬🧬🧬🧬🧬 fits", annotation("fits", (15, 4)))), "these count UTF-16 units"),
        (document("<infon key='linnet'>{\"pasages\":[]}</infon>"), "did you mean 'passages'"),
        (document("<infon key='linnet'>[[</infon>"), "is not JSON"),
        (document("<infon key='linnet'>[]</infon>" + FITS), "must hold an object"),
        (document("<infon key='linnet'>{\"sentences\":[[0,9]]}</infon>"), "outside the text"),
        (document("<infon key='linnet'>{\"more\":1}</infon>"), "expected an object"),
        (document('<infon key=\'linnet\'>{"meta":1,"more":{}}</infon>'), "expected an object"),
        (
            document(passage("Fits", annotation("Fits", (0, 4), infons={"linnet": '{"probability":2}'}))),
            "between 0 and 1",
        ),
        (document(passage("Fits", annotation("Fits", (0, 4), infons={"linnet:source": "x"}))), "source 'x' is none of"),
    ],
)
def test_refused(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(bioc_xml.read(made(tmp_path, content)))


BOMB = "<!DOCTYPE collection [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (BOMB + "]>" + document(passage("&j;")), "declares XML entities"),
        (BOMB + "]>" + xml("").replace("<collection", "<collection x='&j;'"), "XML"),
        ("<!DOCTYPE c [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>" + document(passage("&a;")), "declares XML entities"),
        ("<!DOCTYPE c [<!ENTITY % p SYSTEM 'http://127.0.0.1:9/'> %p;]>" + document(""), "declares XML entities"),
        (document(passage("&undeclared;")), "no well-formed XML"),
        (gzip.compress(document(FITS).encode(), mtime=0)[:-9], "truncated"),
    ],
)
def test_xml_that_means_harm(tmp_path: Path, content: str | bytes, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        list(bioc_xml.read(made(tmp_path, content)))


def test_faults_name_their_line(tmp_path: Path) -> None:
    wrong = "<collection>\n<document><id>7</id>\n<passage>\n" + passage("Fits", annotation("Fat", (0, 3))).replace(
        "<passage>", "", 1
    ).replace("<annotation", "\n<annotation")
    with pytest.raises(FormatError, match=r"document '7', annotation 'T1'") as caught:
        list(bioc_xml.read(made(tmp_path, wrong + "</document></collection>")))
    assert caught.value.line == 5
    with pytest.raises(FormatError, match=r"f\.xml:3: no well-formed XML"):
        list(bioc_xml.read(made(tmp_path, "<collection>\n\n</T>")))


# --- writing ---------------------------------------------------------------------------------------------------------


def test_ordinary_documents_need_nothing_of_ours(tmp_path: Path) -> None:
    doc = Document(
        "1",
        "Fits & <more>\r\nNone.",
        passages=(Passage(0, 14, "title"), Passage(15, 20, "abstract", {"infons": {"a\n\"b\"\t'c'": "d"}})),
        mentions=(
            Mention(
                0,
                6,
                id="a",
                types=("Disease",),
                source="gold",
                concepts=("MESH:D1", "MESH:D2"),
                meta={"separator": "+"},
            ),
            Mention(0, 4, parts=(Span(0, 2), Span(3, 4)), id="b", source="gold", concepts=()),
            Mention(15, 19, id="c", types=("Gene",), source="gold", concepts=("NCBIGene:1",)),
            Mention(15, 19, id="d", source="gold"),
        ),
        meta={"relations": [{"type": "CID", "args": [{"role": "arg1", "ref": "MESH:D1"}]}]},
    )
    text = written(doc)
    assert 'key="linnet"' not in text
    assert text.startswith(
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection>'
    )
    assert '<infon key="identifier">MESH:D1+MESH:D2</infon>' in text
    assert '<infon key="identifier">1</infon>' in text
    assert one(tmp_path, text) == doc


class Kb:
    """The least that writers ask of a knowledge base."""

    def row(self, id: str, /) -> int:
        return int(id[2:])

    def id(self, row: int, /) -> str:
        return f"X:{row}"


def test_predictions_are_readable_infons(tmp_path: Path) -> None:
    found = Candidates(np.array([7, -1]), np.array([0.9, 0.5]), features={"ngram": np.array([1, 2])})
    mention = Mention(
        0,
        4,
        candidates=found,
        concepts=("X:7",),
        probability=0.93,
        calibration="joint",
        signals={"margin": 0.4},
        group="g",
        types=("A", "B"),
        alternatives=(("X:8",),),
    )
    doc = Document("1", "Fits", mentions=(mention,))
    text = written(doc, rows=Kb()).replace("&quot;", '"')
    for key, value in (("type", "A,B"), ("identifier", "X:7")):
        assert f'<infon key="{key}">{value}</infon>' in text
    [ours] = re.findall('<infon key="linnet">({"types".*?)</infon>', text)
    assert json.loads(ours) == {
        "types": ["A", "B"],
        "alternatives": [["X:8"]],
        "signals": {"margin": 0.4},
        "group": "g",
        "probability": 0.93,
        "calibration": "joint",
        "candidates": {"ids": ["X:7", None], "scores": [0.9, 0.5], "features": {"ngram": [1.0, 2.0]}},
        "source": None,
    }
    assert one(tmp_path, text, rows=Kb()) == doc
    [kept] = one(tmp_path, text).mentions or ()
    assert kept.candidates is not None
    assert kept.candidates.ids == ("X:7", None)
    with pytest.raises(DataError, match="pass it to write"):
        written(doc)


def test_somebody_works_on_in_the_file(tmp_path: Path) -> None:
    """What is ours stands at its annotation, so that others may be added and taken away."""
    passages = (Passage(0, 5, "title"), Passage(6, 10, "abstract"))
    mentions = (Mention(6, 10, probability=0.5), Mention(0, 4, group="g"), Mention(0, 2, source="gold"))
    doc = Document("1", "Fits. None", passages=passages, mentions=mentions, meta={"x": 1})
    text = written(doc)
    assert one(tmp_path, text) == doc
    less = re.sub('<annotation id="linnet:none2">.*?</annotation>', "", text)
    assert one(tmp_path, less).mentions == (mentions[1], mentions[0])
    added = written(replace(doc, mentions=None)).replace(
        "</text></passage>", "</text>" + annotation("Fits", (0, 4)) + "</passage>", 1
    )
    assert one(tmp_path, added).mentions == (Mention(0, 4, id="T1", source="gold"),)
    relation = '<relation id="R"><infon key="type">t</infon></relation></document>'
    found = one(tmp_path, text.replace("</document>", relation))
    assert found.meta == {"x": 1, "relations": ({"id": "R", "type": "t"},)}


@pytest.mark.parametrize("text", ["Fits.", " Fits. ", "Fits.\n\nNo", "Fits." + " " * 200 + "\n", "a Fits. b"])
def test_text_that_lies_in_no_passage(tmp_path: Path, text: str) -> None:
    start = text.index("F")
    doc = Document("1", text, passages=(Passage(start, start + 5, "title"),), mentions=())
    xml = written(doc)
    assert one(tmp_path, xml) == doc
    assert '<passage><infon key="type">title</infon>' in xml
    told = re.findall("<offset>([0-9]+)</offset><text>([^<]*)</text>", xml)
    assert all(text.startswith(said, int(offset)) for offset, said in told)
    assert "".join(said for _, said in told) == text


def test_predictions_of_an_earlier_version_are_no_gold(tmp_path: Path) -> None:
    body = annotation("Fits", (0, 4), infons={"linnet:source": "pred", "linnet:probability": "0.5"})
    doc = one(tmp_path, document(passage("Fits", body)))
    assert [mention.source for mention in doc.mentions or ()] == ["pred"]
    assert one(tmp_path, written(doc)) == doc


def test_collections_of_several_documents(tmp_path: Path) -> None:
    collection: dict[str, Any] = {"source": "S", "infons": {"a": "b"}}
    docs = [
        Document("1", "", mentions=(), meta={"collection": collection}),
        Document("2", "", mentions=(), meta={"collection": {"source": "T"}}),
        Document("3", "", mentions=()),
    ]
    for order in (docs, docs[::-1]):
        out = io.StringIO()
        assert bioc_xml.write(order, out) == 3
        assert list(bioc_xml.read(made(tmp_path, out.getvalue()))) == order
    empty = io.StringIO()
    assert bioc_xml.write([], empty) == 0
    assert list(bioc_xml.read(made(tmp_path, empty.getvalue()))) == []


@pytest.mark.parametrize(
    ("doc", "problem"),
    [
        (Document("1", "ab\x07c"), r"document '1': XML cannot hold U\+0007, at offset 2 of its text"),
        (Document("1", "ab\ufffe"), r"U\+FFFE, at offset 2"),
        (Document("1", "\ud800"), r"U\+D800, at offset 0"),
        (Document("1\x00", "a"), r"U\+0000, in its id"),
        (Document("1", "a", mentions=(Mention(0, 1, types=("\x01",)),)), r"U\+0001, in its id, or in an id, type"),
        (Document("1", "a", mentions=(Mention(0, 1, meta={"x": float("nan")}),)), "document '1' cannot be written"),
    ],
)
def test_what_xml_cannot_hold(doc: Document, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        written(doc)


def test_infons_that_stand_often_are_read_in_linear_time(tmp_path: Path) -> None:
    """Each made a list of all before it: two megabytes took half a minute."""
    infons = '<infon key="type">Disease</infon>' * 100_000
    path = made(tmp_path, f"<collection><document><id>1</id>{infons}</document></collection>")
    [doc] = bioc_xml.read(path)
    assert doc.meta["infons"] == {"type": ("Disease",) * 100_000}
