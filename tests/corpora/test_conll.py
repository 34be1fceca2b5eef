"""Columns of tokens: text, sentences and mentions come back, what cannot is counted, faults have their line."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import parts, placed, spans

from linnet.corpora.conll import lost, read, write
from linnet.data import Document, Mention, Span
from linnet.errors import DataError, FormatError, LinnetError, LinnetWarning
from linnet.text.tagging import SCHEMES


def made(folder: Path, content: str | bytes, name: str = "f.conll") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def written(docs: Sequence[Document], scheme: str = "BIO") -> str:
    out = io.StringIO()
    assert write(docs, out, scheme=scheme) == len(docs)
    return out.getvalue()


def brief(doc: Document) -> list[tuple[str, tuple[str, ...], tuple[str, ...] | None]]:
    return [(doc.surface(m), m.types, m.concepts) for m in doc.mentions or ()]


# --- there and back --------------------------------------------------------------------------------------------------

ALPHABET = "ab1-.,#\n\t\r \u00a0\u2028\x85\\|%β🧬\u0301_"
LABELS = st.sampled_from(["A", "B-C", "a|b", "50%", " ", "", "_", "O", "\0", "\tß"])
IDS = st.sampled_from(["MESH:D014262", "NIL", "_", "-1", "a|b", "x y", "", "%", "𝒳:3"])


@st.composite
def mentions(draw: st.DrawFn, length: int) -> Mention:
    return Mention(
        **placed(draw(parts(length))),
        source="gold",
        types=tuple(draw(st.lists(LABELS, max_size=2))),
        concepts=draw(st.none() | st.lists(IDS, max_size=2).map(tuple)),
    )


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(ALPHABET, max_size=30) | st.text(st.characters(codec="utf-8", exclude_characters="\0")))
    if not text:
        return Document(draw(st.sampled_from(["e", "# x"])), "", mentions=())
    return Document(
        draw(st.sampled_from(["d", "newdoc id = x", "= 7", "a  b", "🧬"])),
        text,
        sentences=draw(st.none() | st.lists(spans(len(text)), max_size=3).map(tuple)),
        mentions=tuple(draw(st.lists(mentions(len(text)), max_size=4))),
    )


def same_but(doc: Document, again: Document, gone: Counter[str]) -> None:
    """Assert that `again` is `doc` less what `gone` counts."""
    assert again.id == doc.id
    assert again.text == ("" if gone["texts of blanks only"] else doc.text)
    kept = list(again.mentions or ())
    before = list(doc.mentions or ())
    untouched = [mention for mention in kept if mention in before]
    assert len(kept) - len(untouched) == gone["blanks at mention borders"]
    left_out = sum(
        gone[f"{kind}"]
        for kind in ("discontinuous mentions", "nested mentions", "overlapping mentions", "mentions of blanks only")
    )
    assert len(kept) == len(before) - left_out
    missing = Counter(doc.sentences or ()) - Counter(again.sentences or ())
    assert missing.total() == gone["sentence spans"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@settings(deadline=None)  # it waits for the disk
@given(docs=st.lists(documents(), min_size=1, max_size=2))
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, scheme: str, docs: list[Document]) -> None:
    gone = sum((lost(doc) for doc in docs), Counter())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        content = written(docs, scheme)
    assert [str(warning.message) for warning in caught] == (
        [f"the columns of CoNLL cannot hold and do not have: {kinds(gone)}"] if gone else []
    )
    path = made(tmp_path_factory.getbasetemp(), content)
    again = list(read(path, scheme=scheme, strict=True))
    assert list(read(path)) == again
    for doc, other in zip(docs, again, strict=True):
        same_but(doc, other, lost(doc))
        assert not lost(other)
    assert written(again, scheme) == content


def kinds(gone: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(gone.items()))


@given(documents())
def test_lost_is_what_a_slow_look_finds(doc: Document) -> None:
    gone = lost(doc)
    whole = [m for m in doc.mentions or () if not m.parts]
    assert gone["discontinuous mentions"] == len(doc.mentions or ()) - len(whole)
    blank = [m for m in whole if not doc.surface(m).strip()]
    assert gone["mentions of blanks only"] == len(blank)
    spans = []
    for m in whole:
        if m not in blank:
            surface = doc.surface(m)
            start = m.start + len(surface) - len(surface.lstrip())
            spans.append((start, start + len(surface.strip())))
    kept: list[tuple[int, int]] = []
    nested = crossing = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if any(a <= start and end <= b for a, b in kept):
            nested += 1
        elif any(start < b and a < end for a, b in kept):
            crossing += 1
        else:
            kept.append((start, end))
    assert (gone["nested mentions"], gone["overlapping mentions"]) == (nested, crossing)


def test_what_is_written() -> None:
    doc = Document(
        "7",
        "Early-onset  fits.\nNone\n",
        mentions=(
            Mention(2, 11, types=("Age of onset", "T2"), concepts=("HP:1", "HP:2")),
            Mention(13, 17, types=("Sign",), concepts=()),
            Mention(19, 23),
        ),
        sentences=(Span(0, 18), Span(19, 23)),
    )
    assert written([doc], "BIOES").splitlines() == [
        "# global.columns = FORM LINNET:START LINNET:END LINNET:TAG LINNET:IDS MISC",
        "# newdoc id = 7",
        "Ea\t0\t2\tO\t_\tSpaceAfter=No",
        "rly\t2\t5\tB-Age%20of%20onset|T2\tHP:1|HP:2\tSpaceAfter=No",
        "-\t5\t6\tI-Age%20of%20onset|T2\tHP:1|HP:2\tSpaceAfter=No",
        "onset\t6\t11\tE-Age%20of%20onset|T2\tHP:1|HP:2\t_",
        "fits\t13\t17\tS-Sign\tNIL\tSpaceAfter=No",
        r".	17	18	O	_	SpacesAfter=\n",
        "",
        r"None	19	23	S	_	SpacesAfter=\n",
        "",
    ]


def test_what_is_lost() -> None:
    doc = Document(
        "d",
        "left arm and leg ",
        sentences=(Span(0, 8), Span(8, 17)),
        mentions=(
            Mention(0, 9),
            Mention(5, 8),
            Mention(5, 12),
            Mention(8, 9),
            Mention(0, 16, parts=(Span(0, 4), Span(13, 16))),
        ),
    )
    with pytest.warns(LinnetWarning) as caught:
        text = written([doc, Document("e", " ")])
    [warning] = caught
    assert str(warning.message) == (
        "the columns of CoNLL cannot hold and do not have: 1 blanks at mention borders, 1 discontinuous mentions, "
        "1 mentions of blanks only, 1 nested mentions, 1 overlapping mentions, 1 sentence spans, 1 texts of blanks only"
    )
    assert "left\t0\t4\tB\t_\t_\narm\t5\t8\tI\t_\t_\n\nand\t9\t12\tO" in text


def test_a_mention_across_sentences_joins_them() -> None:
    doc = Document("d", "A b. C d.", sentences=(Span(0, 4), Span(5, 9)), mentions=(Mention(2, 6),))
    assert lost(doc) == {"sentence spans": 2}
    with pytest.warns(LinnetWarning, match="2 sentence spans"):
        assert written([doc]).count("\n\n") == 1


@pytest.mark.parametrize("id", ["", " a", "a\tb", "a\nb", "a\0"])
def test_ids_that_do_not_fit(id: str) -> None:
    with pytest.raises(DataError, match="its id is empty"):
        written([Document(id, "a")])


def test_nul() -> None:
    with pytest.raises(DataError, match="holds NUL"):
        written([Document("d", "a\0b")])


# --- other people's files --------------------------------------------------------------------------------------------


def test_conll_2003(tmp_path: Path) -> None:
    content = (
        "-DOCSTART- -X- O O\r\n\r\nNo NN I-NP O\r\nfits NNS I-NP I-Sign\r\nspasms NNS I-NP B-Sign\r\n"
        "of IN I-PP I-Sign\r\n\r\n# NN I-NP O\r\n\u00a0 x y I-Sign\r\n-DOCSTART- (12 EU)\n\nx NN I O\n"
    )
    first, second = read(made(tmp_path, content, "n.txt"), strict=True)
    assert (first.id, first.text, second.id, second.text) == ("n:1", "No fits spasms of\n# \u00a0", "12 EU", "x")
    assert first.sentences == (Span(0, 17), Span(18, 21))
    assert brief(first) == [
        ("fits", ("Sign",), None),
        ("spasms of", ("Sign",), None),
        ("\u00a0", ("Sign",), None),
    ]
    assert second.mentions == ()


def test_one_document_without_marks(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf# a comment\n# text = Fits\n\nFits\tB-Sign\n\t\n\n# sent_id = 2\nno\tO\n\n"
    [doc] = read(made(tmp_path, content))
    assert (doc.id, doc.text, brief(doc)) == ("f", "Fits\nno", [("Fits", ("Sign",), None)])
    [doc] = read(made(tmp_path, content), name="n")
    assert doc.id == "n"


@pytest.mark.parametrize(
    ("mark", "id"),
    [
        ("#doc 17", "17"),
        ("# doc_id = a b ", "a b"),
        ("# newdoc", "f:1"),
        ("# newdoc id: x", "x"),
        ("#Document = =", "="),
    ],
)
def test_marks_of_documents(tmp_path: Path, mark: str, id: str) -> None:
    docs = list(read(made(tmp_path, f"{mark}\nFits O\n{mark}\n")))
    assert [doc.id for doc in docs] == [id, id.replace(":1", ":2")]
    assert docs[1] == Document(id.replace(":1", ":2"), "", sentences=(), mentions=())


def test_columns_by_name_and_place(tmp_path: Path) -> None:
    content = (
        "# global.columns = ID FORM X:NE LINK MISC\n1\tFits\tU-A\tD012640|C565009\tX=1\n2\t.\tO\t_\tSpaceAfter=No\n"
    )
    path = made(tmp_path, content)
    choices: list[dict[str, int | str]] = [
        {"tag": "x:ne", "ids": "link"},
        {"tag": 2, "ids": -2},
        {"tag": "NE", "ids": 3, "token": "FORM"},
    ]
    for columns in choices:
        [doc] = read(path, columns=columns)
        assert (doc.text, brief(doc)) == ("Fits .", [("Fits", ("A",), ("MESH:D012640", "MESH:C565009"))])


def test_blanks_as_conll_u_says(tmp_path: Path) -> None:
    content = "(\tO\tSpaceAfter=No\na\tO\t_\nb\tO\tX=1|SpaceAfter=No\n\nc\tO\t_\n"
    [doc] = read(made(tmp_path, content), columns={"tag": 1})
    assert (doc.text, doc.sentences) == ("(a bc", (Span(0, 4), Span(4, 5)))
    [doc] = read(made(tmp_path, content.replace("No", "Yes")), columns={"tag": 1, "misc": 2})
    assert doc.text == "( a b\nc"
    content = "a\tO\tSpacesBefore=\\s\\s\nb\tO\tSpacesAfter=\\t\\q\n"
    [doc] = read(made(tmp_path, content), columns={"tag": 1, "misc": 2})
    assert doc.text == "  a b\t\\q"


def test_offsets_fill_with_blanks(tmp_path: Path) -> None:
    [doc] = read(made(tmp_path, "a 2 3 O\n\nb 5 6 B-X\n"), columns={"start": 1, "end": 2})
    assert (doc.text, brief(doc)) == ("  a  b", [("b", ("X",), None)])


def test_ids_of_a_mention(tmp_path: Path) -> None:
    content = "a B-Gene _\nb I-Gene 17\nc B-X -1\nd I-X _\ne B-X -\nf O O\n"
    [doc] = read(made(tmp_path, content), columns={"tag": 1, "ids": 2})
    assert brief(doc) == [("a b", ("Gene",), ("NCBIGene:17",)), ("c d", ("X",), ()), ("e", ("X",), None)]


# --- broken rules ----------------------------------------------------------------------------------------------------


def test_broken_rules_are_counted_once(tmp_path: Path) -> None:
    content = "a B-X\nb O\nc I-X\nd I-Y\n\ne I-Y\n"
    with pytest.warns(LinnetWarning) as caught:
        [doc] = read(made(tmp_path, content))
    [warning] = caught
    assert "f.conll: 3 tags break the rules of BIO, the first in line 3" in str(warning.message)
    assert [surface for surface, _, _ in brief(doc)] == ["a", "c", "d", "e"]
    with pytest.warns(LinnetWarning, match="1 tags break the rules of IOB1, the first in line 1"):
        assert [doc] == list(read(made(tmp_path, content), scheme="iob"))


@pytest.mark.parametrize(
    ("content", "scheme", "line", "problem"),
    [
        ("a O\nb I-X\n", "BIO", 2, "breaks the rules of BIO"),
        ("a B-X\n", "IOB1", 1, "breaks the rules of IOB1"),
        ("a B-X\n\nb O\n", "BIOES", 1, "breaks the rules of BIOES"),
        ("a B-X\nb O\n", "BILOU", 2, "breaks the rules of BILOU"),
        ("a B-X\nb O\nc I-X\n", None, 3, "breaks the rules of BIO"),
        ("a B-X\nb E-Y\n", None, 2, "breaks the rules of BIOES"),
    ],
)
def test_strict(tmp_path: Path, content: str, scheme: str | None, line: int, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        list(read(made(tmp_path, content), scheme=scheme, strict=True))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("", None, "is empty"),
        ("\n\n", None, "holds no tokens"),
        ("# only a comment\n", None, "holds no tokens"),
        ("a\n", 1, "1 columns are too few, expected one for each of: token in 0, tag in 0"),
        ("a O\nb x O\n", 2, "has 3 columns, expected 2 with blanks between"),
        ("a\tO\nb O\n", 2, "has 1 columns, expected 2 with tabs between"),
        ("a\tO\n\tO\n", 2, "has an empty token"),
        ("a O\nb Sign\n", 2, "'Sign' is no tag: expected O, or one of"),
        ("a B-X\nb E-X\n\nc L-X\n", 4, "mixes the marks of several schemes"),
        ("# global.columns = FORM NERT\na\tO\n", 2, "there is no column for 'tag' among FORM, NERT"),
        ("# global.columns = FORM TAG START\na\tO\t0\n", 2, "there is no column for 'end' among"),
        ("# global.columns = FORM TAG\na\tO\n\n# global.columns = FORM NER\n", 4, "names the columns anew"),
        ("a O\n\n# global.columns = FORM TAG\n", 3, "names the columns anew"),
        (b"a O\nb\xe9 O\n", 2, "not UTF-8"),
        (b"a O\nb\0 O\n", 2, "NUL"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, content: str | bytes, line: int | None, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        list(read(made(tmp_path, content)))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("b\t2\t3\tO\tX:1\t_", "has the id 'X:1' outside a mention"),
        ("b\t2\t3\tI\tX:1\t_", "has the id 'X:1', the same mention has 'X:2' in line 2"),
        ("b\t2\t4\tI\t_\t_", "offsets 2-4 do not fit the 1 characters of 'b'"),
        ("b\t-2\t-1\tI\t_\t_", "expected two offsets, found '-2' and '-1'"),
        ("b\t0\t1\tI\t_\t_", "the token before ends at 1, this one begins at 0"),
        ("b\t99000000\t99000001\tI\t_\t_", "expected 1 to 1000001"),
        ("b\t2\t3\tI\t_\tSpacesBefore=\\s\\s", "leave 1 characters before this token, SpacesAfter says '  '"),
        ("b\t2\t3\tE\t_\t_", "'E' is no tag: expected O, or one of B, I, alone"),
    ],
)
def test_faults_of_cells(tmp_path: Path, row: str, problem: str) -> None:
    header = "# global.columns = FORM START END TAG IDS MISC\na\t0\t1\tB\tX:2\t_\n"
    with pytest.raises(FormatError) as caught:
        list(read(made(tmp_path, f"{header}{row}\n"), scheme="BIO"))
    assert problem in str(caught.value)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"tagg": 1}, "unknown column 'tagg'; columns are token, .*; did you mean 'tag'"),
        ({"tag": 2}, "columns, 'tag': there is no column 2 among 2"),
        ({"tag": -3}, "there is no column -3 among 2"),
        ({"tag": "NER"}, "there is no column 'NER'; the file does not name its columns: give its place"),
        ({"tag": 0}, "too few"),
        ({"start": 1}, "no column for 'end'"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, columns: dict[str, int | str], problem: str) -> None:
    with pytest.raises(LinnetError, match=problem):
        list(read(made(tmp_path, "a O\n"), columns=columns))


def test_a_named_column_that_is_not_there(tmp_path: Path) -> None:
    path = made(tmp_path, "# global.columns = FORM NERT\na\tO\n")
    with pytest.raises(FormatError, match="the header names FORM, NERT; did you mean 'NERT'"):
        list(read(path, columns={"tag": "NERTS"}))


def test_unknown_schemes(tmp_path: Path) -> None:
    with pytest.raises(LinnetError, match="unknown tagging scheme 'BIX'"):
        read(tmp_path / "x", scheme="BIX")
    with pytest.raises(LinnetError, match="unknown tagging scheme 'BIX'"):
        write([], io.StringIO(), scheme="BIX")


UD = """# newdoc
# text = Don't worry
1-2	Don't	_	_
1	Do	AUX	O
2	n't	PART	O
3	worry	VERB	B-Sign

1	Fever	NOUN	B-Sign
1.1	is	AUX	O
"""


def test_numbers_of_tokens_are_not_their_words(tmp_path: Path) -> None:
    path = tmp_path / "ud.conll"
    path.write_text(UD)
    with pytest.raises(FormatError, match="first column numbers the tokens") as caught:
        list(read(path))
    assert caught.value.line == 3
    plain = UD.replace("1-2\tDon't\t_\t_\n", "").replace("1.1\tis\tAUX\tO\n", "")
    path.write_text(plain)
    [doc] = read(path, columns={"token": 1})
    assert doc.text == "Do n't worry\nFever"
    path.write_text("# global.columns = ID FORM UPOS TAG\n" + plain)
    assert [doc.text for doc in read(path)] == ["Do n't worry\nFever"]


@pytest.mark.parametrize("text", ["1\tO\n2\tO\n", "1\tCD\tO\n\n1\tCD\tO\n", "1\tCD\tO\n2\tCD\tO\n\nof\tIN\tO\n"])
def test_words_that_are_numbers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "n.conll"
    path.write_text(text)
    assert [doc.text[0] for doc in read(path)] == ["1"]
