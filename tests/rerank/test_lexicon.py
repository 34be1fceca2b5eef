from __future__ import annotations

import math
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import Concept, Name
from linnet.errors import FormatError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.rerank.lexicon import Lexicon, name_words, text_key
from linnet.text.normalise import basic


@pytest.fixture(scope="module")
def lexicon(mesh: KnowledgeBase) -> Lexicon:
    return Lexicon.build(mesh)


def test_names_of_concepts_are_found_again(mesh: KnowledgeBase, lexicon: Lexicon) -> None:
    words = {text_key(word): word for name in mesh.names() for word in name_words(name.text)}
    for row in range(len(mesh)):
        names = range(*lexicon.concept_starts[row : row + 2])
        concept = mesh[row]
        assert [int(lexicon.keys[name]) for name in names] == [text_key(basic(item.text)) for item in concept.names]
        assert [int(lexicon.raws[name]) for name in names] == [text_key(item.text) for item in concept.names]
        for name, item in zip(names, concept.names, strict=True):
            numbers = lexicon.name_words[slice(*lexicon.name_starts[name : name + 2])]
            found = [words[int(lexicon.words[number])] for number in numbers if number < len(lexicon.words)]
            assert found == list(dict.fromkeys(name_words(item.text)))
            assert lexicon.name_apart[name] == sum(len(w) == 1 or w.isdigit() or w == "beta" for w in found)


def test_tombstones_have_a_name_that_nothing_equals(tmp_path: Path) -> None:
    kb = build((Concept("X:1", (Name("Fever"),)), Concept("X:2", (Name("Cough"),))), tmp_path / "a.kb")
    with closing(sqlite3.connect(kb.path)) as connection, connection:  # what editing a knowledge base leaves behind
        connection.execute("UPDATE concepts SET retired = 1 WHERE id = 'X:1'")
        connection.execute("INSERT INTO retired VALUES ('X:1', 'X:2', 'Fever')")
    lexicon = Lexicon.build(KnowledgeBase.open(kb.path))
    assert lexicon.keys[0] == -1
    assert lexicon.name_words[0] == len(lexicon.words)
    assert lexicon.keys[1] == text_key("cough")


def test_weights_are_inverse_document_frequencies(mesh: KnowledgeBase, lexicon: Lexicon) -> None:
    concepts = [c for c in mesh.concepts() if c.replaced_by is None]
    frequency = Counter(word for c in concepts for word in {w for n in c.names for w in name_words(n.text)})
    for word, count in frequency.items():
        [number] = lexicon.text(word).words
        assert lexicon.weights[number] == pytest.approx(math.log((len(mesh) + 1) / (count + 1)))
    assert lexicon.text("zebra").weight == pytest.approx(math.log(len(mesh) + 1))


def test_texts_in_its_terms(lexicon: Lexicon) -> None:
    two, ii = lexicon.text("type 2 diabetes"), lexicon.text("Diabetes, type II")
    assert sorted(two.words) == sorted(ii.words)
    assert two.apart == ii.apart == 1
    assert two.head == ii.head  # diabetes, before the comma and at the end
    assert lexicon.text("zebra").head == -1
    assert len(lexicon.text("").words) == 0
    assert lexicon.text("").weight > 0


@given(st.text(max_size=40))
def test_any_text_can_be_asked(name: str) -> None:
    assert text_key(name) >= 0
    assert all(name_words(name))


def test_it_is_saved_and_opened(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "a")
    again = Lexicon.load(tmp_path / "a")
    for name, values in vars(lexicon).items():
        assert np.array_equal(getattr(again, name), values), name
        assert getattr(again, name).dtype == values.dtype


HUGE = b"\x93NUMPY\x01\0v\0" + b"{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }".ljust(118)


@pytest.mark.parametrize("content", [b"", b"not numpy", None, HUGE % 2**33, HUGE % 2**70, HUGE.replace(b"}", b"(")])
def test_damage_is_told(lexicon: Lexicon, tmp_path: Path, content: bytes | None) -> None:
    lexicon.save(tmp_path / "a")
    path = tmp_path / "a" / "keys.npy"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(FormatError, match=r"keys\.npy.*train the pipeline again"):
        Lexicon.load(tmp_path / "a")


def test_no_object_is_ever_unpickled(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "a")
    np.save(tmp_path / "a" / "keys.npy", np.array([{"a": 1}] * 50), allow_pickle=True)
    with pytest.raises(FormatError, match=r"keys\.npy"):
        Lexicon.load(tmp_path / "a")


def test_names_without_words(tmp_path: Path) -> None:
    lexicon = Lexicon.build(build((Concept("X:1", (Name("+/-"),)),), tmp_path / "a.kb"))
    assert len(lexicon.words) == 0
    assert lexicon.text("fever").head == -1
    lexicon.save(tmp_path / "a")
    assert len(Lexicon.load(tmp_path / "a").words) == 0
