from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.data import SCOPES, Concept, Name
from linnet.errors import FormatError
from linnet.vocabularies.concepts import read_concepts, write_concepts

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
NAMES = st.builds(
    Name, TEXTS, st.sampled_from(SCOPES), st.sampled_from(["en", "de"]), st.sampled_from(["", "layperson"])
)
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
CONCEPTS = st.builds(
    Concept,
    TEXTS,
    st.lists(NAMES, max_size=3).map(tuple),
    LISTS,
    st.text(st.characters(codec="utf-8"), max_size=20),
    LISTS,
    LISTS,
    st.none() | st.just("") | TEXTS,
)


@given(st.lists(CONCEPTS, min_size=1, max_size=5))
def test_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, concepts: list[Concept]) -> None:
    out = io.StringIO()
    assert write_concepts(concepts, out) == len(concepts)
    path = tmp_path_factory.mktemp("concepts") / "all.jsonl"
    path.write_text(out.getvalue(), encoding="utf-8", newline="\n")
    assert list(read_concepts(path)) == concepts


def test_the_line_is_kept_and_blank_lines_are_not_concepts(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text('\n{"id":"A"}\n\n{"id":"B"}\n')
    assert [concept.origin for concept in read_concepts(path)] == [f"{path}:2", f"{path}:4"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", "expected a concept as a JSON object"),
        ("{}", "field 'id' is missing"),
        ('{"id":3}', "expected a text, found 3"),
        ('{"id":"A","name":"x"}', "unknown field 'name'.*did you mean 'names'"),
        ('{"id":"A","names":"x"}', "expected a list"),
        ('{"id":"A","names":["x"]}', "expected a name as a JSON object"),
        ('{"id":"A","names":[{"text":"x","scope":"exakt"}]}', "did you mean 'exact'"),
        ('{"id":"A","names":[{"scope":"exact"}]}', "field 'text' is missing"),
        ('{"id":"A","types":"T"}', "expected a list of texts"),
        ('{"id":"A","parents":[1]}', "expected a list of texts"),
    ],
)
def test_what_is_no_concept_is_named_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text('{"id":"Z"}\n' + line + "\n")
    with pytest.raises(FormatError, match=said) as error:
        list(read_concepts(path))
    assert (error.value.line, error.value.path) == (2, str(path))
