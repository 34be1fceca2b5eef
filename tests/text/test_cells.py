"""Which delimiter a table has."""

from __future__ import annotations

import pytest

from linnet.text.cells import delimiter_of
from linnet.text.files import MAX_LINE


@pytest.mark.parametrize(
    ("first", "columns", "delimiter"),
    [
        ("Nr;text;age,note\n", 0, ";"),
        ("id;text;age, sex, ward, bed\n", 0, ";"),
        ('"id, of the note";TEXT\n', 0, ";"),
        ('"a;b;c;d",text\n', 0, ","),
        ("Doc-ID\ttext; all of it, really; yes\n", 0, "\t"),
        ("a,b;c\n", 0, ","),
        ("7,Fever; chills; pain; cough\n", 2, ","),
        (f'7;"{"fits, " * 40_000}"\n', 2, ";"),
        ("text\n", 0, ""),
        ("\n", 0, ""),
        ("a,b\rc\n", 0, ","),
        (f"{'a,' * 1000}{'b' * min(MAX_LINE, 200_000)}", 0, ","),
    ],
)
def test_the_delimiter_of_a_table(first: str, columns: int, delimiter: str) -> None:
    assert delimiter_of(first, ["doc_id", "id", "text", "note"], columns=columns) == delimiter
