"""Documents -> PubTator; `linnet.corpora.pubtator` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TextIO

from linnet.corpora.ids import from_curie, to_curie, write_ids
from linnet.corpora.layout import lined_up
from linnet.corpora.plain_text import BREAKING, BREAKS, plain
from linnet.corpora.relations import bare, known_ids, pairs
from linnet.data import Document, Mention, Passage
from linnet.errors import DataError
from linnet.frozen import EMPTY

__all__ = ["KINDS", "carried", "joined", "types_of", "write"]

KINDS = {"t": "title", "a": "abstract", "p": ""}  # how passages are marked; any other mark is itself the kind
MARKS = {kind: mark for mark, kind in KINDS.items()}
FIRST_BREAK = re.compile(r"[\r\n](?=[\s\S])")  # one at the end of the text would leave no abstract


def write(docs: Iterable[Document], out: TextIO) -> int:
    """Write documents as PubTator and return how many.

    Passages that follow each other with one blank or line break between keep their kinds. Any other document is written
    as a title up to its first line break and an abstract. Line breaks inside become blanks, one for one, so that
    offsets hold. Of a discontinuous mention the hull is written; of relations those between two concepts.

    Raises:
        DataError: an id of a document or concept that does not fit in its column, or two documents in a row that
            would be read as one.

    >>> import sys
    >>> seizures = Mention(0, 8, types=("Disease",), concepts=("MESH:D012640",))
    >>> write([Document("1", "Seizures.", mentions=(seizures,))], sys.stdout)  # doctest: +NORMALIZE_WHITESPACE
    1|t|Seizures.
    1|a|
    1 0 8 Seizures Disease D012640
    <BLANKLINE>
    1
    """
    count = 0
    previous = ""
    for doc in docs:
        passages = _passages(doc)
        _check_id(doc.id, passages, previous)
        try:
            _write(doc, passages, out)
        except DataError as error:
            raise DataError(f"document {doc.id!r}: {error}") from error
        previous = doc.id
        count += 1
    return count


def _check_id(id: str, passages: Sequence[tuple[str, str]], previous: str) -> None:
    if not id.strip() or "|" in id or BREAKING.search(id):
        raise DataError(f"document {id!r}: PubTator has no place for an id that is empty or holds |, tab or line break")
    alone = passages[0][0] != "t" or sum(bool(text) for _, text in passages) < 2
    if id == previous and alone:
        raise DataError(f"document {id!r} stands twice in a row: PubTator tells documents apart by their ids")


def _passages(doc: Document) -> list[tuple[str, str]]:
    """Return mark and text of each passage, which joined by one character give the text of the document."""
    text = doc.text.translate(BREAKS)
    if _tile(doc):
        made = [(_mark(passage.kind), text[passage.start : passage.end]) for passage in doc.passages]
        # a further title would begin a new document
        made[1:] = [("title" if mark == "t" else mark, text) for mark, text in made[1:]]
        return made if len(made) > 1 else [*made, ("a", "")]
    found = FIRST_BREAK.search(doc.text)
    first = found.start() if found else len(text)
    return [("t", text[:first]), ("a", text[first + 1 :])]


def carried(doc: Document) -> Document:
    r"""Return `doc` with the text, passages and types of mentions that PubTator gives back of it.

    >>> carried(Document("1", "Title\nOne.\nTwo.")).text
    'Title\nOne. Two.'
    """
    text, passages = joined(_passages(doc))
    back = [types_of(",".join(mention.types)) for mention in doc.mentions or ()]
    if all(types == mention.types for types, mention in zip(back, doc.mentions or (), strict=True)):
        return replace(doc, text=text, passages=passages)
    mentions = (replace(mention, types=types) for types, mention in zip(back, doc.mentions or (), strict=True))
    return replace(doc, text=text, passages=passages, mentions=tuple(mentions))


def types_of(field: str) -> tuple[str, ...]:
    """Return the types that a field gives.

    A list has no blank after its commas; the UMLS's "Amino Acid, Peptide, or Protein" is one type.

    >>> types_of("Disease,Sign"), types_of("Amino Acid, Peptide, or Protein")
    (('Disease', 'Sign'), ('Amino Acid, Peptide, or Protein',))
    """
    if not field:
        return ()
    return (field,) if "," not in field or ", " in field else tuple(field.split(","))


def joined(passages: Sequence[tuple[str, str]]) -> tuple[str, tuple[Passage, ...]]:
    """Return text and passages that marked lines give, without empty passages at the end."""
    count = len(passages)
    while count and not passages[count - 1][1]:
        count -= 1
    return lined_up([(KINDS.get(mark, mark), text, EMPTY) for mark, text in passages[:count]])


def _tile(doc: Document) -> bool:
    """Return whether the passages cover the text but for one blank or line break between each two."""
    place = filled = 0
    for passage in doc.passages:
        if passage.start != place or doc.text[max(place - 1, 0) : place].strip(" \r\n"):
            return False
        place = passage.end + 1
        filled = passage.end if passage.end > passage.start else filled
    # reading drops empty passages at the end, and with them the line breaks before them
    return place == len(doc.text) + 1 and all(mention.end <= filled for mention in doc.mentions or ())


def _mark(kind: str) -> str:
    mark = MARKS.get(kind, kind)
    return "p" if "|" in mark or BREAKING.search(mark) else mark


def _write(doc: Document, passages: Sequence[tuple[str, str]], out: TextIO) -> None:
    text = doc.text.translate(BREAKS)
    lines = [f"{doc.id}|{mark}|{part}" for mark, part in passages]
    lines += [_annotation(doc.id, mention, text) for mention in doc.mentions or ()]
    lines += _relations(doc)
    out.write(plain("\n".join(lines)) + "\n\n")


def _annotation(id: str, mention: Mention, text: str) -> str:
    start, end = mention.start, mention.end
    type = _type(mention.types)
    line = f"{id}\t{start}\t{end}\t{text[start:end]}\t{type}"
    if mention.concepts is None:
        return line
    line = f"{line}\t{write_ids(mention.concepts, type, meta=mention.meta)}"
    conjuncts = mention.meta.get("conjuncts")
    return f"{line}\t{BREAKING.sub(' ', conjuncts)}" if isinstance(conjuncts, str) else line


@lru_cache(1 << 12)
def _type(types: tuple[str, ...]) -> str:
    type = ",".join(types)
    if BREAKING.search(type):
        raise DataError(f"the type {type!r} holds a tab or line break, for which PubTator has no place")
    return type


def _relations(doc: Document) -> list[str]:
    """Return the lines of the relations between two concepts; others have no place in the format.

    A concept is written without its prefix where a mention, or its form, tells it.
    """
    lines = []
    known = known_ids(doc.mentions or ()) if (found := pairs(doc)) else {}
    for relation in map(bare, found):
        refs = (_ref(arg["ref"], known) for arg in relation["args"])
        lines.append("\t".join([doc.id, relation["type"], *refs, *relation.get("meta", EMPTY).values()]))
    return lines


def _ref(ref: str, known: Mapping[str, str]) -> str:
    short = from_curie(ref)
    return short if (known.get(short) or to_curie(short)) == ref else ref
