"""Command line arguments → documents: texts, files, folders, globs, standard input."""

from __future__ import annotations

import errno
import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from linnet.corpora import FORMATS, options_of, read
from linnet.data import Document
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.frozen import EMPTY
from linnet.home import check_output, near_name, real_path
from linnet.kb import KnowledgeBase
from linnet.pipeline.component import Allow
from linnet.reporter import warn
from linnet.text.files import open_text
from linnet.text.remote import is_database, is_store, is_url

if TYPE_CHECKING:
    from linnet.kb.terminologies import Terminologies

__all__ = [
    "Given", "check_texts", "documents", "make_allow", "read_ids", "reader_options", "refuse_overwriting",
    "row_options",
]  # fmt: skip

STDIO = "-"
SPLIT = re.compile(r"([a-z][a-z0-9_]*(?:/[a-z0-9_-]+)?):([a-z0-9_]+)")  # of a corpus: bc5cdr:dev
MOST_WORDS = 20  # that the name of a file may be torn into
LISTS = (".txt", ".tsv", ".csv", ".gz")  # what ends so is meant to be a file of ids
SPLITS = ("train", "dev", "test")  # what is meant for one even where no corpus is called so
ROWS = ("table", "sql")  # formats of which a row is a document
PACKED = (".gz", ".zip", ".docx", ".doc", ".pdf", ".rtf", ".html", ".htm", ".md")
SUFFIXES = frozenset(PACKED).union(*(format.suffixes for format in FORMATS.values()))


class Given(NamedTuple):
    """What is to be linked: arguments, the format of files, options of its reader, whether gold mentions are kept."""

    inputs: tuple[str, ...]
    format: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    keep_gold: bool = False

    def sorted_out(self) -> tuple[list[str | Document], list[str]]:
        """Return files and the like with the texts as documents, and splits of known corpora."""
        sources: list[str | Document] = []
        splits: list[str] = []
        for number, text in enumerate(self.inputs, 1):
            if _is_source(text):
                sources.append(text)
            elif _is_split(text):
                splits.append(text)
            else:
                sources.append(Document.of(text, f"text-{number}"))
        return sources, splits


def documents(
    inputs: Sequence[str],
    format: str | None,
    *,
    rows: KnowledgeBase | None = None,
    options: Mapping[str, Any] = EMPTY,
    data: Path | None = None,
) -> Iterator[Document]:
    """Yield the documents that command line arguments name, with unique ids.

    An argument that is ``-``, an existing path, a glob or an address is read, and a split of a known corpus,
    ``bc5cdr:dev``; one that looks like a path or a split but is none is an error; anything else is a text (see
    `check_texts`). ``options`` are of the reader of ``format``, ``data`` is the folder of the known corpora.

    Raises:
        LinnetError: an empty text, or a document id that comes twice.
        FormatError: a file that cannot be read.
    """
    others, splits = Given(tuple(inputs)).sorted_out()
    seen: set[str] = set()
    marked = (_of_corpus(one, data) for one in splits)
    for doc in itertools.chain(read(others, format=format, kb=rows, options=options), *marked):
        if doc.id in seen:
            why = "is a file named twice, or an output read as input?"
            if format in ROWS:
                why = "if a patient has several notes, name a column that tells them apart: --columns id=NR,patient=ID"
            raise LinnetError(f"document id {doc.id!r} occurs twice in the input; ids must be unique: {why}")
        seen.add(doc.id)
        yield doc


def row_options(
    inputs: Sequence[str], format: str | None, columns: str | None, query: str | None
) -> tuple[str | None, tuple[tuple[str, Any], ...]]:
    """Return the format that ``--columns`` and ``--query`` mean, and the options of its reader as pairs.

    >>> row_options(["notes.db"], None, "id=ID,text=NOTE", None)
    ('sql', (('columns', {'id': 'ID', 'text': 'NOTE'}),))
    """
    if columns is None and query is None:
        return format, ()
    from linnet.vocabularies.options import given_value  # noqa: PLC0415 - needed where rows are read

    if format is None:
        format = "sql" if query is not None or any(map(_holds_a_database, inputs)) else "table"
    given = {key: value for key, value in (("columns", columns), ("query", query)) if value is not None}
    known = options_of(format)
    return format, tuple((key, given_value(format, known, key, value)) for key, value in given.items())


def _holds_a_database(text: str) -> bool:
    """Return whether an argument is the address of a database, or called like a file of SQLite."""
    return is_database(text) or Path(text).suffix.lower() in FORMATS["sql"].suffixes


def reader_options(source: str, format: str | None, texts: Sequence[str] | None, columns: str | None) -> dict[str, Any]:
    """Return the format and the options of its reader out of ``--from``, ``--option`` and ``--columns``, by keyword.

    >>> reader_options("notes.csv", None, None, "text=NOTE")
    {'format': 'table', 'options': {'columns': {'text': 'NOTE'}}}
    """
    from linnet.vocabularies.options import given_value  # noqa: PLC0415 - texts have none

    format, named = row_options([source], format, columns, None)
    if texts and format is None:
        raise LinnetError(f"--option {texts[0]} needs --from: name the format")
    pairs = [text.partition("=") for text in texts or ()]
    given = {key: given_value(str(format), options_of(str(format)), key, value) for key, _, value in pairs}
    return {"format": format, "options": {**given, **dict(named)}}


def read_ids(text: str) -> list[str]:
    """Return the ids that one ``--ids`` means: the first cells of a file's lines, or itself."""
    if text != STDIO and not Path(text).is_file():
        if "/" in text or Path(text).suffix.lower() in LISTS:
            raise FormatError(text, "there is no such file of ids")
        return [text]
    cells = (line.split("\t")[0].strip() for line in open_text(text))
    return [cell for cell in cells if cell and not cell.startswith("#")]


def make_allow(
    kb: KnowledgeBase | Terminologies | None, types: Sequence[str], under: Sequence[str], ids: Sequence[str]
) -> Allow | None:
    """Return the conditions that ``--types``, ``--under`` and ``--ids`` set; values may be separated by commas.

    Raises:
        LinnetError: what the knowledge base lacks, by option, or there is none.
    """
    if not (types or under or ids):
        return None
    if kb is None:
        raise LinnetError("--types, --under and --ids choose from a knowledge base, and the pipeline has none")
    known = kb.types()
    wanted = [one for text in types for one in ([text] if text in known else _cells(text))]
    roots = [one for text in under for one in _cells(text)]
    rows = [one for text in ids for some in _cells(text) for one in read_ids(some)]
    for option, given, meant in (("types", types, wanted), ("under", under, roots), ("ids", ids, rows)):
        if given and not meant:
            raise LinnetError(f"--{option} selects no concept")
    chosen = Allow(types=tuple(wanted) or None, under=tuple(roots) or None, ids=tuple(rows) or None)
    if problems := list(chosen.problems(kb)):
        raise LinnetError("\n  ".join(f"--{problem}" for problem in problems))
    return chosen


def _cells(text: str) -> list[str]:
    return [text] if Path(text).is_file() else [cell.strip() for cell in text.split(",") if cell.strip()]


def check_texts(inputs: Sequence[str]) -> None:
    """Refuse a text that came word by word, without quotation marks, or looks like a path; warn of what may be a file.

    Raises:
        LinnetError: the words as one text, or how to link what looks like a path.
    """
    if not all(map(os.path.lexists, inputs)):
        _refuse_torn(inputs)
    for text in inputs:
        if "/" not in text or _is_address(text):
            continue
        if _is_source(text) and not os.path.lexists(text) and not _ends_or_matches(text):
            raise LinnetError(
                f"{text}: no such file{near_name(Path(text))}; if it is a text: echo {quote(text)} | linnet link -"
            )
    words = [text for text in inputs if not (_is_source(text) or _is_split(text) or any(map(str.isspace, text)))]
    if 1 < len(words) == len(inputs):
        raise LinnetError(
            f'{len(words)} words that name no file: for one text write linnet link "{" ".join(words)}"; '
            "write texts of one word each to a file, one per line (--from text_lines)"
        )
    for word in words:
        if hint := near_name(Path(word)):
            warn(f"{word!r} is linked as a text: there is no such file{hint}")


def _refuse_torn(words: Sequence[str]) -> None:
    """Refuse words that together are the name of a file or folder with blanks in it."""
    for start, end in itertools.combinations(range(min(len(words), MOST_WORDS) + 1), 2):
        path = " ".join(words[start:end])
        if end - start > 1 and os.path.lexists(path):
            raise LinnetError(f'put what has blanks in its name into quotation marks: "{path}"')


def _is_split(text: str) -> bool:
    """Return whether a text names a split; ``finding:allergy`` is a text."""
    found = SPLIT.fullmatch(text)
    if found is None or found[2] in SPLITS:
        return found is not None
    from linnet.corpora.catalog import CORPORA  # noqa: PLC0415 - a text needs no catalog

    return found[1].partition("/")[0] in CORPORA


def _of_corpus(text: str, data: Path | None) -> Iterator[Document]:
    from linnet.corpora.catalog import CORPORA, read_corpus  # noqa: PLC0415 - a text needs no catalog

    name, _, split = text.rpartition(":")
    if name.partition("/")[0] not in CORPORA:
        hint = did_you_mean(name, CORPORA) or f"; there are: {', '.join(CORPORA)}"
        raise LinnetError(f"{text}: there is no corpus {name!r}{hint}; if this is a text, write it to a file")
    return read_corpus(name, split=split, data=data)


def _is_address(text: str) -> bool:
    """Return whether a text is the address of a database or a store, or of what neither is and no sentence either."""
    return is_database(text) or is_store(text) or (is_url(text) and not any(map(str.isspace, text)))


def _is_source(text: str) -> bool:
    if text == STDIO or _is_address(text):
        return True
    if not text.strip():
        raise LinnetError("an empty text was given: nothing to link")
    try:
        Path(text).lstat()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise LinnetError(f"{text}: cannot be read: {error.strerror}") from error
    except ValueError:  # a NUL character
        return False
    else:
        return True
    return "\n" not in text and not _is_split(text) and _looks_like_path(text)


def _looks_like_path(text: str) -> bool:
    """Return whether a text that names no file was meant to: it ends like a file name, or is one word with a slash."""
    spaced = any(character.isspace() for character in text)
    if Path(text).suffix.lower() in SUFFIXES or ("*" in text and "/" in text):
        return True
    return not spaced and (glob.has_magic(text) or "/" in text or "\\" in text)


def _ends_or_matches(text: str) -> bool:
    """Return whether a text can hardly be anything but a file's name or a glob."""
    return Path(text).suffix.lower() in SUFFIXES or glob.has_magic(text)


def refuse_overwriting(
    inputs: Iterable[str | Path | None],
    outputs: Iterable[str | Path | None],
    *,
    data: Path | None = None,
    kind: str = "",
) -> None:
    """Refuse to write to what is read, into a folder that is read, to one place twice, or over a file that must stay.

    Args:
        inputs: files, folders, globs and splits of known corpora; anything else is a text.
        outputs: files and folders to write.
        data: the folder of the known corpora; LINNET_DATA by default.
        kind: what is written, for `linnet.home.check_output`.

    Raises:
        LinnetError: naming the place.
    """
    given = [Path(output) for output in outputs if output is not None and str(output) != STDIO]
    if not given:
        return
    places = [real_path(output) for output in given]
    for output, place in zip(given, places, strict=True):
        if places.count(place) > 1:
            raise LinnetError(f"{place} would be written twice: give each output its own path")
        if not place.is_dir():
            check_output(output, kind=kind)
    for text in (str(text) for text in inputs if text):
        for path in _paths(text, data):
            read_path = real_path(path)
            for place in places:
                within = read_path.is_dir() and place.is_relative_to(read_path)
                if within or read_path.is_relative_to(place):
                    how = "lies in a folder that is" if within and place != read_path else "is"
                    raise LinnetError(f"{place} {how} read as input ({text}): choose another output")


def _paths(text: str, data: Path | None) -> Iterable[Path]:
    """Return the files and folders that an argument names; none of a text, or of what reading will refuse."""
    from linnet.corpora.vocabulary import corpus_paths, known_corpus  # noqa: PLC0415 - a text needs no catalog

    if known_corpus(text):
        with suppress(LinnetError):
            return corpus_paths(text, data=data)
    if text == STDIO or _is_address(text) or not _is_source(text):
        return ()
    return map(Path, glob.iglob(text, recursive=True) if glob.has_magic(text) else [text])  # noqa: PTH207 - takes absolute patterns
