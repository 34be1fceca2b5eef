from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from linnet.codec import dumps, from_json, loads, resolve
from linnet.data import Candidates, Document, Mention
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from tests.strategies import documents


@pytest.mark.slow
@given(documents())
def test_nothing_is_lost(doc: Document) -> None:
    line = dumps(doc)
    assert "\n" not in line
    assert loads(line) == doc
    assert dumps(loads(line)) == line


def test_ids_stand_for_rows(kb: KnowledgeBase) -> None:
    row, cold = kb.row("HP:0001250"), kb.row("X:1")
    name = kb.name_row(row, "Epileptic seizure")
    found = Candidates(
        np.array([row, cold, -1]), np.array([0.9, 0.1, 0.05]), names=np.array([name, -1, -1]), kb=kb.version
    )
    doc = Document("d", "fits", mentions=(Mention(0, 4, candidates=found),))
    line = dumps(doc, kb)
    value = json.loads(line)["mentions"][0]["candidates"]
    assert value == {
        "kb": kb.version,
        "ids": ["HP:0001250", "X:1", None],
        "scores": [0.9, 0.1, 0.05],
        "names": ["Epileptic seizure", None, None],
    }
    assert loads(line, kb) == doc
    kept = loads(line)
    assert dumps(kept) == dumps(kept, kb) == line
    assert kept.mentions is not None
    assert kept.mentions[0].candidates is not None
    assert kept.mentions[0].candidates.rows.tolist() == [-1, -1, -1]
    assert resolve(kept.mentions[0].candidates, kb) == found
    assert resolve(found, kb) is found


class Plain:
    """The least that can turn rows into ids and back."""

    def row(self, id: str, /) -> int:
        return int(id)

    def id(self, row: int, /) -> str:
        return str(row)


def test_two_methods_are_enough() -> None:
    found = Candidates(np.array([7, -1]), np.array([1, 0]), names=np.array([3, -1]))
    doc = Document("d", "x", mentions=(Mention(0, 1, candidates=found),))
    back = loads(dumps(doc, Plain()), Plain())
    assert back.mentions is not None
    assert back.mentions[0].candidates == Candidates(np.array([7, -1]), np.array([1, 0]), names=np.array([-1, -1]))


def test_candidates_of_another_knowledge_base_are_refused(kb: KnowledgeBase) -> None:
    doc = Document("d", "x", mentions=(Mention(0, 1, candidates=Candidates(np.array([0]), np.array([1]), kb="old")),))
    with pytest.raises(DataError, match="version old"):
        dumps(doc, kb)
    with pytest.raises(DataError, match=r"pass it to write their ids \(kb=link.kb\)"):
        dumps(doc)
    line = '{"id":"d","text":"x","mentions":[{"start":0,"end":1,"candidates":{"kb":"old","ids":["X:1"],"scores":[1]}}]}'
    with pytest.raises(DataError, match="version old"):
        loads(line, kb)


def test_whether_a_probability_is_calibrated_is_always_said() -> None:
    for calibration, said in (("", "uncalibrated"), ("joint", "joint"), ("given-span", "given-span")):
        doc = Document("d", "x", mentions=(Mention(0, 1, probability=0.5, calibration=calibration),))  # type: ignore[arg-type]
        assert json.loads(dumps(doc))["mentions"][0]["calibration"] == said
        assert loads(dumps(doc)) == doc


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected an object, found list"),
        ({"text": "x"}, "'id' is missing"),
        ({"id": "d"}, "'text' is missing"),
        ({"id": 3, "text": "x"}, "expected a string, found 3"),
        ({"id": "d", "text": "x", "mention": []}, "unknown field 'mention'; did you mean 'mentions'"),
        ({"id": "d", "text": "x", "mentions": {}}, "expected a list"),
        ({"id": "d", "text": "x", "mentions": [3]}, r"mentions\[0\]: expected an object"),
        ({"id": "d", "text": "x", "mentions": [{"start": 0}]}, "'end' is missing"),
        ({"id": "d", "text": "x", "mentions": [{"start": True, "end": 1}]}, "expected an integer"),
        ({"id": "d", "text": "x", "mentions": [{"start": 0, "end": 2}]}, "outside the text of 1"),
        ({"id": "d", "text": "x", "mentions": [{"start": 1, "end": 1}]}, "before the end"),
        ({"id": "d", "text": "ab", "mentions": [{"start": 0, "end": 1, "text": "b"}]}, "code points"),
        ({"id": "d", "text": "x", "mentions": [{"start": 0, "end": 1, "probability": "1"}]}, "expected a number"),
        ({"id": "d", "text": "x", "mentions": [{"start": 0, "end": 1, "concepts": "HP:1"}]}, "expected a list"),
        (
            {"id": "d", "text": "x", "mentions": [{"start": 0, "end": 1, "candidates": {"ids": []}}]},
            "'scores' is missing",
        ),
        (
            {"id": "d", "text": "x", "mentions": [{"start": 0, "end": 1, "candidates": {"ids": ["a"], "scores": []}}]},
            "1 rows but 0 scores",
        ),
        (
            {
                "id": "d",
                "text": "x",
                "mentions": [{"start": 0, "end": 1, "candidates": {"ids": [], "scores": [1e999]}}],
            },
            "finite|rows",
        ),
        ({"id": "d", "text": "x", "sentences": [[0]]}, r"expected \[start, end\]"),
        ({"id": "d", "text": "x", "sentences": [[0, 5]]}, "outside the text"),
        ({"id": "d", "text": "x", "passages": [{"start": 0}]}, r"passages\[0\]"),
        ({"id": "d", "text": "x", "abbreviations": [{"short": [0, 1]}]}, "'long' is missing"),
        ({"id": "d", "text": "x", "meta": []}, "expected an object"),
    ],
)
def test_what_is_no_document_is_refused(value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_json(value)


@pytest.mark.parametrize("line", ["", "{", "[" * 100_000, '{"id": NaN}', "nope"])
def test_what_is_no_json_is_refused(line: str) -> None:
    with pytest.raises(DataError, match="not JSON"):
        loads(line)


def test_numbers_beyond_all_numbers() -> None:
    with pytest.raises(DataError, match="1e999 is larger than numbers can be"):
        loads('{"id":"d","text":"x","meta":{"a":1e999}}')
