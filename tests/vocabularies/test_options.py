"""Reader options as people write them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import LinnetError
from linnet.vocabularies import VOCABULARIES, reader_of
from linnet.vocabularies.options import given_value, options_of


def option_value(vocabulary: str, name: str, value: object, folder: Path | None = None) -> Any:
    return given_value(vocabulary, options_of(vocabulary), name, value, folder=folder)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_option_of_every_reader_is_described(vocabulary: str) -> None:
    keywords = [key for key, one in inspect.signature(reader_of(vocabulary)).parameters.items() if one.kind == 3]
    options = options_of(vocabulary)
    assert list(options) == keywords
    assert all(option.help and option.takes for option in options.values())


@pytest.mark.parametrize(
    ("vocabulary", "name", "text", "value"),
    [
        ("ctd", "slim", "True", True),
        ("ctd", "slim", "no", False),
        ("corpus", "min_count", " 2", 2),
        ("umls", "languages", "ENG, GER,", ("ENG", "GER")),
        ("umls", "subset", "st21pv", "st21pv"),
        ("obo", "prefix", "HP", ("HP",)),
        ("obo", "types", "branch", "branch"),
        ("ncbi-gene", "taxa", "9606,10090", ("9606", "10090")),
        ("snomed", "language", "es", "es"),
        ("table", "columns", "id=Code, name=Label", {"id": "Code", "name": "Label"}),
        ("table", "separator", "", ""),
        ("mesh-table", "trees", "a/b.tsv", Path("a/b.tsv")),
        ("mesh-table", "diseases", "ctd.tsv", Path("ctd.tsv")),
    ],
)
def test_texts(vocabulary: str, name: str, text: str, value: Any) -> None:
    assert option_value(vocabulary, name, text) == value


def test_values_of_a_recipe() -> None:
    assert option_value("umls", "languages", ["ENG"]) == ("ENG",)
    assert option_value("ncbi-gene", "taxa", [9606]) == ("9606",)
    assert option_value("corpus", "min_count", 3) == 3
    assert option_value("table", "columns", {"id": "Code"}) == {"id": "Code"}
    assert option_value("mesh", "replaced", "old.tsv", folder=Path("kb")) == Path("kb/old.tsv")
    assert option_value("mesh", "replaced", "/old.tsv", folder=Path("kb")) == Path("/old.tsv")


@pytest.mark.parametrize(
    ("vocabulary", "name", "value", "message"),
    [
        ("tabel", "x", "1", "did you mean 'table'"),
        ("umls", "language", "ENG", "its options are languages, .*did you mean 'languages'"),
        ("concepts", "x", "1", "concepts has no option 'x'; it has none"),
        ("ctd", "slim", "maybe", "ctd: option slim is 'maybe', expected true or false"),
        ("corpus", "min_count", "two", "expected a whole number"),
        ("corpus", "min_count", "9" * 5000, "expected a whole number"),
        ("corpus", "min_count", True, "expected a whole number"),
        ("mesh", "replaced", "", "expected a path"),
        ("table", "columns", "id", "expected pairs"),
        ("table", "columns", {"id": 3}, "expected pairs"),
        ("umls", "languages", [True], "expected values separated by commas"),
        ("obo", "types", None, "expected one of auto, branch, namespace, none"),
    ],
)
def test_refused(vocabulary: str, name: str, value: object, message: str) -> None:
    with pytest.raises(LinnetError, match=message):
        option_value(vocabulary, name, value)
