"""spaCy's DocBin: as spaCy writes it, as it reads ours, and what happens where spaCy is not installed."""

from __future__ import annotations

import importlib
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import documents

from linnet.corpora import read, write
from linnet.data import Document, Mention, Span
from linnet.errors import FormatError, LinnetWarning, MissingExtraError, how_to_install


@pytest.fixture(scope="module")
def spacy() -> Any:
    return pytest.importorskip("spacy", reason="the extra spacy is not installed")


def test_without_spacy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setattr(importlib, "import_module", refusing)
    (tmp_path / "x.spacy").write_bytes(b"x")
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("spacy"))):
        list(read(tmp_path / "x.spacy"))
    with pytest.raises(MissingExtraError, match="the corpus format spacy needs spacy"):
        write([Document("1", "x")], tmp_path / "o.spacy")
    assert not (tmp_path / "o.spacy").exists()


def refusing(name: str, real: Any = importlib.import_module) -> Any:
    if name == "spacy":
        raise ModuleNotFoundError(name)
    return real(name)


def test_as_spacy_writes_it(spacy: Any, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    doc = nlp("Renal 𝒳 cysts. No fits.")
    doc.set_ents([spacy.tokens.Span(doc, 0, 3, label="Disease", kb_id="MESH:D052177")])
    doc.spans["sc"] = [spacy.tokens.Span(doc, 2, 3, label="Sign"), doc.ents[0]]
    doc[4].is_sent_start = True
    doc.cats = {"note": 1.0}
    spacy.tokens.DocBin(store_user_data=True, docs=[doc, nlp("Well.")]).to_disk(tmp_path / "train.spacy")
    first, second = read(tmp_path / "train.spacy")
    assert (first.id, first.text, second.id, second.mentions) == ("train:1", doc.text, "train:2", ())
    assert first.mentions == (
        Mention(0, 13, types=("Disease",), source="gold", concepts=("MESH:D052177",)),
        Mention(8, 13, types=("Sign",), source="gold"),
    )
    assert first.meta["cats"] == {"note": 1.0}


def test_as_spacy_reads_it(spacy: Any, tmp_path: Path) -> None:
    text = "Non-𝒳-linked renal cysts."
    mentions = (
        Mention(4, 5, types=("Gene",), source="gold"),
        Mention(13, 24, types=("Disease",), source="gold", concepts=("MESH:D052177",)),
        Mention(19, 24, types=("Sign",), source="gold"),
    )
    write([Document("1", text, mentions=mentions)], tmp_path / "o.spacy")
    [doc] = spacy.tokens.DocBin().from_disk(tmp_path / "o.spacy").get_docs(spacy.blank("en").vocab)
    assert doc.text == text
    assert [(e.text, e.label_, e.kb_id_) for e in doc.ents] == [
        ("𝒳", "Gene", ""),
        ("renal cysts", "Disease", "MESH:D052177"),
    ]
    assert [span.text for span in doc.spans["sc"]] == ["𝒳", "renal cysts", "cysts"]


def saved(folder: Path, *docs: Any) -> Path:
    import spacy

    spacy.tokens.DocBin(store_user_data=True, docs=docs).to_disk(folder / "train.spacy")
    return folder / "train.spacy"


def test_ids_of_knowledge_bases_become_curies(spacy: Any, tmp_path: Path) -> None:
    doc = spacy.blank("en")("Well but schizophrenic .")
    places = (("Sign", "NIL"), ("Sign", ""), ("Gene", "6528"), ("Disease", "C0036572"))
    doc.set_ents([spacy.tokens.Span(doc, i, i + 1, label=label, kb_id=id) for i, (label, id) in enumerate(places)])
    [found] = read(saved(tmp_path, doc))
    assert [mention.concepts for mention in found.mentions or ()] == [(), None, ("NCBIGene:6528",), ("UMLS:C0036572",)]
    write([found], tmp_path / "o.spacy")
    [again] = spacy.tokens.DocBin().from_disk(tmp_path / "o.spacy").get_docs(spacy.blank("en").vocab)
    assert [entity.kb_id_ for entity in again.ents] == ["NIL", "", "NCBIGene:6528", "UMLS:C0036572"]


def test_span_groups(spacy: Any, tmp_path: Path) -> None:
    doc = spacy.blank("en")("Renal cysts grew .")

    def span(start: int, end: int, label: str, kb_id: str = "") -> Any:
        return spacy.tokens.Span(doc, start, end, label=label, kb_id=kb_id)

    doc.set_ents([span(0, 2, "Disease", "D052177")])
    doc.spans["sc"] = [span(0, 2, "Disease"), span(0, 2, "Sign"), span(1, 2, "Sign")]
    doc.spans["coref_clusters_1"] = [span(0, 2, ""), span(2, 3, "")]
    with pytest.warns(LinnetWarning, match=r"left out: span groups other than 'sc': coref_clusters_1 \(2\)"):
        [found] = read(saved(tmp_path, doc))
    assert [(found.surface(mention), mention.types, mention.concepts) for mention in found.mentions or ()] == [
        ("Renal cysts", ("Disease",), ("MESH:D052177",)),
        ("Renal cysts", ("Sign",), None),
        ("cysts", ("Sign",), None),
    ]


@pytest.mark.parametrize("id", ["", "o:1", "NIL"])
def test_ids_of_documents_survive(spacy: Any, tmp_path: Path, id: str) -> None:
    doc = Document(id, "Fits.", mentions=(Mention(0, 4, types=("Sign",), source="gold", concepts=("NIL",)),))
    write([doc], tmp_path / "o.spacy")
    assert list(read(tmp_path / "o.spacy")) == [doc]


@pytest.mark.parametrize(
    ("ours", "problem"),
    [
        ("[" * 100_000, "document 1: nested too deeply"),
        ('{"meta": {"a": %s}}' % ("[" * 900 + "]" * 900), "document 1: a value is nested in more than 100"),
        ('{"meta": {"a": NaN}}', "document 1: NaN is not a JSON number"),
        ("[7]", r"document 1: linnet: expected an object, found \[7\]"),
        (7, "document 1: user data 'linnet': expected a text of JSON, found 7"),
    ],
)
def test_damaged_data_of_ours(spacy: Any, tmp_path: Path, ours: Any, problem: str) -> None:
    doc = spacy.blank("en")("Fits.")
    doc.user_data["linnet"] = ours
    with pytest.raises(FormatError, match=problem):
        list(read(saved(tmp_path, doc)))


def test_categories_that_are_no_numbers(spacy: Any, tmp_path: Path) -> None:
    doc = spacy.blank("en")("Fits.")
    doc.cats = {"a": float("nan")}
    with pytest.raises(FormatError, match="document 1: Out of range float values"):
        list(read(saved(tmp_path, doc)))


@pytest.mark.slow
@given(docs=st.lists(documents(), max_size=2))
def test_everything_survives(spacy: Any, docs: list[Document], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "o.spacy"
    write(docs, path)
    assert list(read(path)) == docs


def test_blanks(spacy: Any, tmp_path: Path) -> None:
    mentions = tuple(Mention(*span) for span in (Span(0, 2), Span(1, 3), Span(2, 4), Span(4, 5)))
    doc = Document("1", " a  \n", mentions=mentions)
    write([doc], tmp_path / "o.spacy")
    assert list(read(tmp_path / "o.spacy")) == [doc]


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"no", "is no DocBin: expected what"), (zlib.compress(b"no"), "is no DocBin that spaCy .* can read")],
)
def test_no_docbin(spacy: Any, tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "x.spacy").write_bytes(content)
    with pytest.raises(FormatError, match=problem):
        list(read(tmp_path / "x.spacy"))


def test_bombs(spacy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.corpora.docbin.BOMB_BYTES", 1000)
    (tmp_path / "x.spacy").write_bytes(zlib.compress(b"0" * 1_000_000))
    with pytest.raises(FormatError, match="refused as a bomb"):
        list(read(tmp_path / "x.spacy"))


@pytest.mark.parametrize("key", ["strings", "span_groups"])
def test_texts_and_spans_that_are_not_there(spacy: Any, tmp_path: Path, key: str) -> None:
    doc = spacy.blank("en")("Fits and chills.")
    doc.spans["sc"] = [spacy.tokens.Span(doc, 0, 1, label="Sign")]
    path = saved(tmp_path, doc)
    srsly = importlib.import_module("srsly")
    value = srsly.msgpack_loads(zlib.decompress(path.read_bytes()))
    if key == "strings":
        value[key] = [text for text in value[key] if text != "Sign"]
    else:
        value[key] = [value[key][0].replace((1).to_bytes(4, "big"), (99).to_bytes(4, "big"))]
    path.write_bytes(zlib.compress(srsly.msgpack_dumps(value)))
    with pytest.raises(FormatError, match={"strings": "document 1: KeyError: .*E018", "span_groups": "E035"}[key]):
        list(read(path))
