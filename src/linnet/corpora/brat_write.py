"""Documents -> brat standoff: a ``.txt`` and an ``.ann`` file each, below one folder (`linnet.corpora.brat`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from linnet.codec import to_json
from linnet.corpora.brat_lines import (
    ABOUT_DOCUMENT,
    ABOUT_MENTION,
    ANNOTATOR,
    ASSERTION,
    Numbers,
    are_attributes,
    are_lines,
    are_notes,
    are_relations,
    file_name,
    id_of,
    is_line,
    is_word,
    references,
)
from linnet.corpora.ids import to_curie
from linnet.corpora.names import namer
from linnet.corpora.plain_text import BREAKS
from linnet.data import Assertion, Document, Mention, Rows
from linnet.errors import DataError, FormatError
from linnet.frozen import EMPTY
from linnet.reporter import warn
from linnet.text.files import replacing, replacing_folder

__all__ = ["annotation_lines", "write_folder"]

BOM = "\ufeff"
T_ID = re.compile(r"T\d+[^\s:\0]*")
R_ID = re.compile(r"R\d+[^\s:\0]*")
LINE_IDS = re.compile(r"[TNAM]\d+[^\s:\0]*|#\d+[^\s:\0]*")
MENTION_TYPE = "Mention"  # of a mention without types, as brat wants one


def write_folder(
    docs: Iterable[Document], folder: str | Path, *, rows: Rows | None = None, aside: Path | None = None
) -> int:
    """Write each document as ``id.txt`` and ``id.ann`` below `folder` and return how many.

    A ``/`` in an id makes a subfolder; what would be no file name is escaped (`linnet.corpora.brat_lines.file_name`),
    and the id is in the file. The folder is there in full or not at all.

    Args:
        docs: the documents, consumed one by one.
        folder: made if it is not there; must be empty.
        rows: the knowledge base of candidates, and for the names beside normalised ids.
        aside: where the folder is written, on the same disk, until it is complete; by default beside it.

    Raises:
        FormatError: a folder that holds files already, or a place that cannot be written to.
        DataError: an id that stands twice; a text with NUL characters.
    """
    with replacing_folder(folder, aside=aside) as root:
        return _write_all(docs, root, rows)


def _write_all(docs: Iterable[Document], root: Path, rows: Rows | None) -> int:
    name = namer(rows)
    seen: set[str] = set()
    gone = 0
    for doc in docs:
        if doc.id in seen:
            raise DataError(f"document {doc.id!r} stands twice: brat has one pair of files for each id")
        seen.add(doc.id)
        lines, left_out = annotation_lines(doc, rows=rows, name=name)
        gone += left_out
        _write_pair(root, doc, lines)
    if gone:
        warn(f"{gone:,} lines of meta['brat'] were not written: what they point at is no longer there")
    return len(seen)


def _write_pair(root: Path, doc: Document, lines: Sequence[str]) -> None:
    base = _place(root, doc.id)
    if "\0" in doc.text:
        raise DataError(f"document {doc.id!r}: its text holds NUL characters, which no text file can")
    try:
        with replacing(f"{base}.txt") as text, replacing(f"{base}.ann") as annotations:
            text.write(BOM + doc.text if doc.text.startswith(BOM) else doc.text)  # readers drop the first
            annotations.writelines(f"{line}\n" for line in lines)
    except UnicodeEncodeError as error:
        problem = f"cannot be written as {error.encoding}: {error.object[error.start : error.end]!r} is no character"
        raise FormatError(f"{base}.txt", problem) from error


def _place(root: Path, id: str) -> Path:
    """Return where below `root` the document `id` belongs, without suffix, its folder made."""
    base = root / file_name(id)
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(base, f"cannot be written: {error.strerror}") from error
    return base


# --- the lines of one document ---------------------------------------------------------------------------------------


def annotation_lines(
    doc: Document, *, rows: Rows | None = None, name: Callable[[str], str] | None = None
) -> tuple[list[str], int]:
    r"""Return the lines of a document's ``.ann`` file, and how many kept ones point at nothing and are left out.

    Args:
        doc: the document.
        rows: the knowledge base of candidates.
        name: from a concept's id to the name beside it, "" for none.

    Raises:
        DataError: what cannot be said as JSON.

    >>> doc = Document("d", "fits", mentions=(Mention(0, 4, types=("Sign",), source="gold", concepts=("HP:1",)),))
    >>> annotation_lines(doc)[0]
    ['T1\tSign 0 4\tfits', 'N1\tReference T1 HP:1']
    """
    return _Lines(doc, rows, name or namer(None)).all()


class _Lines:
    """Makes the lines of one document."""

    def __init__(self, doc: Document, rows: Rows | None, name: Callable[[str], str]) -> None:
        self._doc, self._rows, self._name = doc, rows, name
        self._meta: dict[str, Any] = dict(doc.meta)
        self._kept: list[str] = list(self._meta.pop("brat")) if are_lines(self._meta.get("brat")) else []
        relations = self._meta.pop("relations") if are_relations(self._meta.get("relations")) else ()
        self._relations: tuple[Any, ...] = relations
        self._numbers = Numbers(map(id_of, self._kept))
        self._ids: list[list[str]] = []  # that mentions bring along: first that of the T line
        self._own: list[str] = []  # ids that relations bring along, "" for none
        self._refs: dict[object, str] = {}  # what relations call a mention -> the id of its line

    def all(self) -> tuple[list[str], int]:
        """Return the lines, and the number of kept ones that are left out."""
        mentions = self._doc.mentions or ()
        self._number(mentions)
        kept = len(self._kept)
        lines = [line for mention, ids in zip(mentions, self._ids, strict=True) for line in self._mention(mention, ids)]
        self._drop_dangling({*map(id_of, lines), *self._own})
        lines += self._relation_lines()
        self._drop_dangling(set(map(id_of, lines)))
        return [*lines, *self._document(), *self._kept], kept - len(self._kept)

    def _drop_dangling(self, known: set[str]) -> None:
        """Leave out kept lines that point at nothing, and those that point at them."""
        count = -1
        while count != len(self._kept):
            count = len(self._kept)
            there = known.union(map(id_of, self._kept))
            self._kept = [line for line in self._kept if there.issuperset(references(line))]

    def _number(self, mentions: Sequence[Mention]) -> None:
        """Give out ids: first all that are there already, then new ones."""
        for mention in mentions:
            brought = [*([mention.id] if T_ID.fullmatch(mention.id) else []), *_brought(mention)]
            self._ids.append(list(filter(self._numbers.take, brought)))
        for relation in self._relations:
            id = relation.get("id")
            free = isinstance(id, str) and R_ID.fullmatch(id) and self._numbers.take(id)
            self._own.append(id if free else "")
        for mention, ids in zip(mentions, self._ids, strict=True):
            own = self._id("T", ids)
            ids.insert(0, own)
            self._refs.setdefault(mention.id or own, own)

    def _id(self, kinds: str, ids: list[str]) -> str:
        """Take the first of the ids that begins with one of `kinds`, or a new one."""
        there = [id for id in ids if id[0] in kinds]
        if not there:
            return self._numbers.fresh(kinds[0])
        ids.remove(there[0])
        return there[0]

    def _mention(self, mention: Mention, ids: list[str]) -> Iterator[str]:
        meta: dict[str, Any] = dict(mention.meta)
        own = ids[0]
        if _brought(mention):
            del meta["brat_ids"]
        type = _type(mention)
        spans = ";".join(f"{start} {end}" for start, end in mention.spans)
        yield f"{own}\t{type} {spans}\t{self._doc.surface(mention).translate(BREAKS)}"
        normal = list(self._normalisations(mention, type, meta))
        for tail in normal:
            yield f"{self._id('N', ids)}\tReference {own} {tail}"
        told, left = _assertion(mention)
        for name, item in _attributes(meta, told).items():
            yield f"{self._id('AM', ids)}\t{name} {own}" + ("" if item is True else f" {item}")
        if are_notes(meta.get("notes")):
            for note in meta.pop("notes"):
                kind, text = (ANNOTATOR, note) if isinstance(note, str) else (note["type"], note["text"])
                yield f"{self._id('#', ids)}\t{kind} {own}\t{text}"
        rest = replace(
            mention,
            id="" if mention.id == own else mention.id,
            types=() if mention.types == (type,) else mention.types,
            concepts=None if normal else mention.concepts,
            source="pred",
            assertion=left,
            meta=meta or EMPTY,
        )
        if value := self._rest(rest, mention):
            yield f"{self._id('#', ids)}\t{ABOUT_MENTION} {own}\t{self._json(value)}"

    def _rest(self, rest: Mention, mention: Mention) -> dict[str, Any]:
        """Return what no line says of a mention, as the JSON form of `linnet.codec` names it."""
        value: dict[str, Any] = to_json(Document("", self._doc.text, mentions=(rest,)), self._rows)["mentions"][0]
        for key in ("start", "end", "text", "parts"):
            value.pop(key, None)
        if not mention.types:
            value["types"] = []
        if mention.source != "gold":
            value["source"] = mention.source
        if not mention.assertion and _has_assertion(mention):
            value["assertion"] = ""  # the attribute is somebody else's
        return value

    def _normalisations(self, mention: Mention, type: str, meta: dict[str, Any]) -> Iterator[str]:
        """Yield id and name for each concept, and take from `meta` what says how they are written."""
        concepts = mention.concepts or ()
        raws: Any = meta.get("normalization_ids")
        usable = isinstance(raws, tuple) and len(raws) == len(concepts) and raws != concepts
        ids: tuple[Any, ...] = raws if usable else concepts
        if not all(is_word(id) and to_curie(id, type) == concept for id, concept in zip(ids, concepts, strict=True)):
            return
        if usable:
            del meta["normalization_ids"]
        names: Any = meta.get("normalization_names")
        if _are_names(names, len(concepts)):
            del meta["normalization_names"]
        else:
            names = [self._name(concept).translate(BREAKS) or None for concept in concepts]
        for id, name in zip(ids, names, strict=True):
            yield id if name is None else f"{id}\t{name}"

    def _relation_lines(self) -> Iterator[str]:
        rest = []
        known = self._refs.keys() | {id_of(line) for line in self._kept if line.startswith("E")}
        for relation, brought in zip(self._relations, self._own, strict=True):
            if not _fits(relation, known):
                rest.append(relation)
                continue
            own = brought or self._numbers.fresh("R")
            args = (f"{arg['role']}:{self._refs.get(arg['ref'], arg['ref'])}" for arg in relation["args"])
            yield f"{own}\t{' '.join([relation['type'], *args])}"
            value = {key: relation[key] for key in ("id", "meta") if relation.get(key, own) != own}
            if value:
                yield f"{self._numbers.fresh('#')}\t{ABOUT_MENTION} {own}\t{self._json(value)}"
        if rest:
            self._meta["relations"] = rest

    def _document(self) -> Iterator[str]:
        doc = replace(self._doc, mentions=None, meta=self._meta or EMPTY)
        value = to_json(doc)
        del value["text"]
        if "/" not in self._doc.id and file_name(self._doc.id) == self._doc.id:
            del value["id"]  # else the name of the file does not tell it
        if self._doc.mentions is None:
            value["mentions"] = None
        if value:
            yield f"{self._numbers.fresh('#')}\t{ABOUT_DOCUMENT} _\t{self._json(value)}"

    def _json(self, value: object) -> str:
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError as error:
            raise DataError(f"document {self._doc.id!r} cannot be written as brat: {error}") from error


def _fits(relation: Any, known: Set[object]) -> bool:
    """Whether a line can hold `relation`: a type, and arguments that are mentions or events."""
    args = relation["args"]
    return (
        relation.keys() <= {"id", "type", "args", "meta"}
        and is_word(relation.get("type"))
        and isinstance(relation.get("id", ""), str)
        and bool(args)
        and all(arg.keys() == {"role", "ref"} and is_word(arg["role"]) and ":" not in arg["role"] for arg in args)
        and all(arg["ref"] in known for arg in args)
    )


def _type(mention: Mention) -> str:
    first = mention.types[0] if mention.types else ""
    return re.sub(r"[\s\0]+", "_", first) or MENTION_TYPE


def _assertion(mention: Mention) -> tuple[Assertion, Assertion]:
    """Return the assertion that an attribute says, and that which the note says as the attribute is somebody else's."""
    return ("", mention.assertion) if _has_assertion(mention) else (mention.assertion, "")


def _attributes(meta: dict[str, Any], assertion: str) -> dict[str, str | bool]:
    """Return the attributes of a mention, which are taken from its meta, and its assertion if there is one."""
    attributes = meta.pop("attributes") if are_attributes(meta.get("attributes")) else EMPTY
    return {**attributes, **({ASSERTION: assertion} if assertion else {})}


def _has_assertion(mention: Mention) -> bool:
    """Whether a mention has an attribute of somebody else's that is called as ours."""
    attributes = mention.meta.get("attributes")
    return isinstance(attributes, Mapping) and ASSERTION in attributes


def _brought(mention: Mention) -> tuple[str, ...]:
    ids = mention.meta.get("brat_ids")
    if isinstance(ids, tuple) and all(isinstance(id, str) and LINE_IDS.fullmatch(id) for id in ids):
        return ids
    return ()


def _are_names(names: object, count: int) -> bool:
    if not isinstance(names, tuple) or len(names) != count or all(name is None for name in names):
        return False
    return all(name is None or is_line(name) for name in names)
