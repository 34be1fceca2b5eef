"""Mentions as rows, pandas and Arrow tables: the columns of the CSV, with the names of concepts."""

from __future__ import annotations

import gc
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import linnet
from linnet.corpora.mention_table import COLUMNS
from linnet.corpora.mentions_csv import read_mentions
from linnet.data import Candidates, Concept, Document, Mention, Name
from linnet.errors import DataError, LinnetWarning, MissingExtraError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build

TEXT = "No short stature | fits. Short fingers and toes."


@pytest.fixture
def link(kb: KnowledgeBase) -> linnet.Pipeline:
    return linnet.load("dictionary", kb=kb)


def names(docs: Any, **more: Any) -> list[str]:
    return [str(row["names"]) for row in linnet.to_dicts(docs, **more)]


NAMES = ["Short stature", "Seizure", "Short toe", "Short finger"]


def test_a_frame_is_what_the_csv_is(link: linnet.Pipeline, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="the extra frames is not installed")
    docs = link([TEXT, "Nothing.", "Fits."])
    frame = linnet.frame(docs)
    linnet.write(docs, tmp_path / "found.csv")
    csv = pandas.read_csv(tmp_path / "found.csv", keep_default_na=False)
    assert tuple(frame.columns) == COLUMNS
    for column in COLUMNS:
        if column == "probability":
            assert frame[column].round(4).tolist() == csv[column].tolist()
        else:
            assert frame[column].tolist() == csv[column].tolist(), column
    assert frame.groupby("names").size()["Seizure"] == 2
    frame.to_csv(tmp_path / "frame.csv", index=False)
    bare = [Document(doc.id, doc.text) for doc in docs]
    back = [m.concepts for doc in read_mentions(tmp_path / "frame.csv", bare) for m in doc.mentions or ()]
    assert back == [m.concepts for doc in docs for m in doc.mentions or ()], "it is read as the CSV is"


def test_documents_of_one_id_are_warned_of(link: linnet.Pipeline) -> None:
    pytest.importorskip("pandas", reason="the extra frames is not installed")
    with pytest.warns(LinnetWarning, match=r"several documents have the id 'd\w+', as equal texts do: .* tells"):
        frame = linnet.frame(link(["Seizures.", "Seizures.", "Fits."]))
    assert len(frame) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linnet.frame(link([Document("1", "Seizures."), Document("2", "Seizures.")]))


@pytest.mark.parametrize("wrong", ["a text", ["a text"], 5])
def test_what_is_no_document_is_refused(wrong: Any) -> None:
    for call in (linnet.to_dicts, linnet.html):
        with pytest.raises(DataError, match=r"as a pipeline returns them, no (str|int)"):
            call(wrong)


def test_empty_frames_have_types() -> None:
    pytest.importorskip("pandas", reason="the extra frames is not installed")
    frame = linnet.frame([])
    assert (len(frame), tuple(frame.columns), str(frame.probability.dtype)) == (0, COLUMNS, "float64")
    unlinked = linnet.frame(Document("1", "Fits.", mentions=(Mention(0, 4),)))
    assert unlinked.probability.isna().all()
    assert unlinked.start.dtype == "int64"
    assert frame.dtypes.equals(unlinked.dtypes)
    assert list(frame.text.str.lower()) == []


def test_polars_takes_the_arrow_table(link: linnet.Pipeline) -> None:
    pytest.importorskip("pyarrow", reason="the extra frames is not installed")
    polars = pytest.importorskip("polars")
    docs = link(TEXT)
    frame = polars.from_arrow(linnet.arrow(docs))
    assert frame.columns == list(COLUMNS)
    assert frame.to_dicts() == linnet.to_dicts(docs)
    assert polars.from_arrow(linnet.arrow([])).schema == frame.schema
    assert polars.DataFrame(linnet.to_dicts(docs))["names"].to_list() == NAMES


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, make in (("pandas", linnet.frame), ("pyarrow", linnet.arrow)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=rf"needs {name}, which is not installed: pip install .*\[frames\]"):
            make([])


def test_names_are_known_without_being_asked_for(link: linnet.Pipeline) -> None:
    docs = link(TEXT)
    assert names(docs) == NAMES
    assert names(list(docs)) == names(docs[0]) == names(link.stream([docs[0]])) == NAMES
    assert names(pickle.loads(pickle.dumps(docs))) == NAMES


@pytest.mark.slow
def test_names_of_closed_knowledge_bases_are_not_known(tmp_path: Path) -> None:
    kb = build([Concept("X:1", (Name("Fits"),))], tmp_path / "x.kb")
    version = kb.version
    doc = Document(
        "1", "Fits.", mentions=(Mention(0, 4, concepts=("X:1",), candidates=Candidates.of({0: 1}, version)),)
    )
    assert names(doc) == ["Fits"]
    kb.close()
    del kb
    gc.collect()
    assert KnowledgeBase.opened(version) is None
    assert names(doc) == [""]
    assert names(doc, kb=KnowledgeBase.open(tmp_path / "x.kb")) == ["Fits"]


def test_several_terminologies_are_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    drugs = build([Concept("RX:1", (Name("Phenobarbital"),))], tmp_path / "drugs.kb")
    link = linnet.several(linnet.load("dictionary", kb=kb), linnet.load("dictionary", kb=drugs))
    docs = link("Phenobarbital for fits.")
    for given in (docs, docs[0]):
        assert [(row["names"], row["terminology"]) for row in linnet.to_dicts(given)] == [
            ("Phenobarbital", "drugs"),
            ("Seizure", "small"),
        ]


def test_what_a_pipeline_returns_is_a_list(link: linnet.Pipeline) -> None:
    docs = link(TEXT)
    assert isinstance(docs, list)
    assert docs == [docs[0]]
    assert type(docs[:1]) is type(docs + docs) is list
    assert type(pickle.loads(pickle.dumps(docs))) is list
    assert repr(docs) == repr([docs[0]])
