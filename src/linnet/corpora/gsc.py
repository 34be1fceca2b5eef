r"""GSC+: gold abstracts for the Human Phenotype Ontology, in blocks of lines.

A block is an id line, a line with the text, and a line ``start TAB end TAB text TAB id`` for every annotation; a blank
line ends it. Offsets are code points into the text line; annotations may nest, and one span may carry several ids, on
a line each (Groza et al., *Automatic concept recognition using the Human Phenotype Ontology reference and test suite
corpora*, Database 2015; corrected as GSC+ by Lobo et al., *Identifying human phenotype terms by combining machine
learning and validation rules*, BioMed Research International 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from linnet.corpora.faults import STOP, Faults
from linnet.corpora.plain_text import BREAKS, plain
from linnet.data import Document, Mention, Span
from linnet.errors import DataError, FormatError
from linnet.kb.curies import curie
from linnet.reporter import warn
from linnet.text.files import open_text, shown

__all__ = ["read", "write"]

SHOWN = 5  # documents without text that a warning names
DIGITS = 12  # more make no offset that any file could have


def read(path: str | Path, *, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a GSC+ file; each annotation line is one gold mention with one concept.

    Raises:
        FormatError: a block without text, an annotation with other columns, or one whose text is not what its offsets
            say; with the line.
    """
    block: list[tuple[int, str]] = []
    for number, line in enumerate(open_text(path, by_line=True), 1):
        if line.strip():
            block.append((number, line))
        elif block:
            yield _document(block, shown(path), faults)
            block = []
    if block:
        yield _document(block, shown(path), faults)


def _document(block: Sequence[tuple[int, str]], path: str, faults: Faults) -> Document:
    (line, id), *rest = block
    if "\t" in id:
        raise FormatError(path, f"expected a line with a document's id, found {id[:60]!r}", line=line)
    if not rest:
        raise FormatError(path, f"document {id.strip()!r} has no line with its text", line=line)
    text = rest[0][1]
    mentions = faults.make_each(lambda numbered: _mention(*numbered, text, path, faults), rest[1:])
    return Document(id.strip(), text, mentions=tuple(mentions))


def _mention(line: int, annotation: str, text: str, path: str, faults: Faults) -> Mention:
    columns = annotation.split("\t", 2)
    tail = columns[-1].rsplit("\t", 1)  # the text between may hold tabs
    if len(columns) != 3 or len(tail) != 2:
        problem = f"expected start, end, text and id with tabs between, found {annotation[:60]!r}"
        raise FormatError(path, problem, line=line)
    surface, concept = tail[0], tail[1].strip()
    if not (all(c.isdecimal() and len(c) <= DIGITS for c in columns[:2]) and concept):
        problem = f"expected two numbers and an id, found {columns[0]!r}, {columns[1]!r} and {concept!r}"
        raise FormatError(path, problem, line=line)
    start, end = int(columns[0]), int(columns[1])
    if not start < end <= len(text) or text[start:end] != surface:
        problem = f"the offsets {start}-{end} say {text[start:end]!r}, the line says {surface!r}"
        if not start < end <= len(text):
            problem = f"the span {start}-{end} is empty or lies outside the text of {len(text)} characters"
        error = FormatError(path, f"{problem}; offsets count code points of the text line", line=line)
        [(start, end)] = faults.move(error, text, surface, [Span(start, end)])
    return Mention(start, end, source="gold", concepts=(curie(concept),))


def write(docs: Iterable[Document], out: TextIO) -> int:
    """Write documents as GSC+ and return how many.

    A mention with several concepts takes a line for each; of a discontinuous one the hull is written. Line breaks in
    the text become blanks, one for one, so that offsets hold. Mentions without a concept have no place in the format:
    they are left out, with one warning that counts them; so are documents without text, which the warning names.

    Raises:
        DataError: an id of a document or concept that does not fit in a line, or NUL
            characters.
    """
    count = left_out = 0
    empty: list[str] = []
    for doc in docs:
        text = doc.text.translate(BREAKS)
        if not text.strip():
            empty.append(doc.id)
            continue
        if not doc.id.strip() or doc.id.split("\n")[0].split("\t")[0].strip() != doc.id:
            raise DataError(f"document {doc.id!r}: its id is empty or holds blanks at its ends, tabs or line breaks")
        lines = [doc.id, text]
        for mention in doc.mentions or ():
            left_out += not mention.concepts
            surface = text[mention.start : mention.end]
            ids = [_concept(concept, doc.id) for concept in mention.concepts or ()]
            lines += [f"{mention.start}\t{mention.end}\t{surface}\t{id}" for id in ids]
        try:
            out.write(plain("\n".join(lines)) + "\n\n")
        except DataError as error:
            raise DataError(f"document {doc.id!r}: {error}") from error
        count += 1
    if empty:
        named = ", ".join(map(repr, empty[:SHOWN])) + (" …" if len(empty) > SHOWN else "")
        warn(f"{len(empty):,} documents without text were not written: GSC+ cannot hold them: {named}")
    if left_out:
        warn(f"{left_out:,} mentions without a concept were not written: GSC+ has no place for them")
    return count


def _concept(id: str, doc: str) -> str:
    if not id or id != id.strip() or id != "".join(id.splitlines()) or "\t" in id:
        raise DataError(f"document {doc!r}: the concept {id!r} is empty or holds blanks at its ends, or tabs")
    return id
