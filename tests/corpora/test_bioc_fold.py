"""BC5CDR's BioC: composites folded, and that the corpus then says what its PubTator files say."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from tests.corpora.bioc_cases import annotation, one, written

from linnet.corpora import bioc_xml
from linnet.corpora.bioc_fold import fold, like_pubtator
from linnet.data import Document, Mention
from linnet.errors import LinnetWarning


def test_composites_are_folded_when_asked(tmp_path: Path) -> None:
    body = annotation("renal or hepatic toxicity", (0, 25), id="c", infons={"type": "D", "MESH": "D1|D2"})
    body += annotation("renal toxicity", (0, 5), (17, 8), id="i1", infons={"type": "D", "MESH": "D1"})
    body += annotation("hepatic toxicity", (9, 16), id="i2", infons={"type": "D", "MESH": "D2"})
    body = body.replace("<infon key='type'>", "<infon key='CompositeRole'>IndividualMention</infon><infon key='type'>")
    body = body.replace("IndividualMention", "CompositeMention", 1)
    body += annotation("toxicity", (17, 8), id="i3", infons={"CompositeRole": "IndividualMention"})
    relation = "<relation id='r'><infon key='type'>t</infon><node refid='i2' role='x'/></relation>"
    text = "<offset>0</offset><text>renal or hepatic toxicity</text>"
    content = f"<collection><document><id>1</id><passage>{text}{body}</passage>{relation}</document></collection>"
    assert [m.id for m in one(tmp_path, content).mentions or ()] == ["c", "i1", "i2", "i3"]
    doc = one(tmp_path, content, fold_composites=True)
    composite, alone = doc.mentions or ()
    assert (composite.id, composite.concepts) == ("c", ("MESH:D1", "MESH:D2"))
    assert composite.meta == {"conjuncts": "renal toxicity|hepatic toxicity"}
    assert (alone.id, alone.meta) == ("i3", {"infons": {"CompositeRole": "IndividualMention"}})
    assert doc.meta["relations"] == ({"id": "r", "type": "t", "args": ({"role": "x", "ref": "c"},)},)
    assert one(tmp_path, written(doc)) == doc


def test_folding_leaves_other_documents_alone() -> None:
    for mentions in (None, (), (Mention(0, 1, id="a", meta={"infons": {"x": "y"}}),)):
        doc = Document("1", "a", mentions=mentions)
        assert fold(doc) is doc
    told = {"infons": {"CompositeRole": "CompositeMention", "x": "y"}}
    alone = {"infons": {"CompositeRole": "IndividualMention"}}
    pair = (Mention(0, 2, meta=told, concepts=("X:1",)), Mention(0, 1, meta=alone, concepts=("X:1",)))
    relation: Any = {"type": "t", "args": [{"role": "r", "ref": "b"}]}
    doc = like_pubtator(Document("1", "ab", mentions=pair, meta={"relations": [relation], "collection": {"key": "k"}}))
    assert doc.mentions == (Mention(0, 2, concepts=("X:1",), meta={"infons": {"x": "y"}, "conjuncts": "a"}),)
    assert doc.meta == {"relations": ({"type": "t", "args": ({"role": "r", "ref": "b"},)},)}


def pubtator(path: Path) -> dict[str, tuple[str, set[object], list[object]]]:
    """Return text, mentions and relations of every document, read as plainly as can be."""
    found = {}
    for block in gzip.decompress(path.read_bytes()).decode().strip().split("\n\n"):
        title, abstract, *rows = block.split("\n")
        mentions: set[object] = set()
        relations: list[object] = []
        for row in rows:
            columns = row.split("\t")
            if columns[1] == "CID":
                relations.append(tuple("MESH:" + id for id in columns[2:4]))
                continue
            ids = tuple("MESH:" + id for id in columns[5].split("|") if id != "-1")
            conjuncts = (columns[6] or None) if len(columns) > 6 else None
            mentions.add((int(columns[1]), int(columns[2]), columns[4], ids, conjuncts))
        id, _, head = title.split("|", 2)
        found[id] = (head + "\n" + abstract.split("|", 2)[2], mentions, relations)
    return found


@pytest.mark.data
@pytest.mark.parametrize(("part", "count", "moved"), [("Training", 9_385, 3), ("Development", 9_591, 1)])
def test_bc5cdr_says_the_same_as_its_pubtator_file(data: Path, part: str, count: int, moved: int) -> None:
    """Once folded; four annotations of the BioC files stand one or two characters beside their text."""
    folder = data / "corpora" / "bc5cdr"
    expected = pubtator(folder / f"CDR_{part}Set.PubTator.txt.gz")
    with pytest.warns(LinnetWarning, match=rf"moved there \({moved}\)"):
        docs = list(bioc_xml.read(folder / f"CDR_{part}Set.BioC.xml.gz", fold_composites=True))
    assert [doc.id for doc in docs] == list(expected)
    assert len(docs) == 500
    assert sum(len(doc.mentions or ()) for doc in docs) == count
    for doc in map(like_pubtator, docs):
        relations: Any = doc.meta.get("relations", ())
        assert (
            doc.text,
            {(m.start, m.end, *m.types, m.concepts, m.meta.get("conjuncts")) for m in doc.mentions or ()},
            [tuple(arg["ref"] for arg in relation["args"]) for relation in relations],
        ) == expected[doc.id]


@pytest.mark.data
def test_bc5cdr_survives(data: Path, tmp_path: Path) -> None:
    path = data / "corpora" / "bc5cdr" / "CDR_DevelopmentSet.BioC.xml.gz"
    with pytest.warns(LinnetWarning, match="moved there"):
        docs = list(bioc_xml.read(path))
    with (tmp_path / "o.xml").open("w", encoding="utf-8", newline="\n") as out:
        bioc_xml.write(docs, out)
    assert list(bioc_xml.read(tmp_path / "o.xml")) == docs


def test_relations_without_a_type() -> None:
    doc = Document("1", "Fits.", mentions=(), meta={"relations": [{"meta": {"Chemical": "D016651"}}]})
    relations: Any = like_pubtator(doc).meta["relations"]
    assert relations[0] == {"type": "", "args": ({"role": "arg1", "ref": "MESH:D016651"},)}
