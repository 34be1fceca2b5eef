r"""brat standoff: the text in ``name.txt``, what is known about it in ``name.ann``, a line each.

=================================================  ==================================================================
line                                               becomes
=================================================  ==================================================================
``T1⇥Drug 0 4;10 14⇥left arm``                     a mention ``T1`` of type Drug, with parts
``N1⇥Reference T1 MESH:D003920⇥a name``            a concept of T1 (several: all hold); names, where there are any, in
                                                   ``meta["normalization_names"]``; ids that are no CURIEs as written
                                                   in ``meta["normalization_ids"]``
``A1⇥Assertion T1 negated``                        the assertion of T1, if it is one of ours
``A1⇥Negation T1``, ``A2⇥Certainty T1 low``        ``meta["attributes"]`` of T1, ``{"Negation": True, …}``; ``M`` alike
``#1⇥AnnotatorNotes T1⇥a text``                    ``meta["notes"]`` of T1; other types as ``{"type": …, "text": …}``
``R1⇥Treats Arg1:T1 Arg2:T2``                      ``meta["relations"]`` of the document
``E1⇥Bind:T1 Theme:T2``, ``*⇥Equiv T1 T2`` and     ``meta["brat"]`` of the document: the lines as they are
what hangs on them
=================================================  ==================================================================

``⇥`` is a tab. Reading and writing gives the same lines, in another order at most (R and A lines lose blanks at their
ends; fragments come in order), and N, A and # lines are counted through. Where a line in ``meta["brat"]`` points at
one, ``meta["brat_ids"]`` of its mention keeps their ids.

What has no line of its own is written as JSON (the names are those of `linnet.codec`), of a mention or relation in a
note of type ``LinnetNote``, of the document in one of type ``LinnetDocument``; brat shows them as comments and keeps
them. A mention without a note of that type is gold. An id such as ``ward/1``, which makes a folder, or ``../1``, whose
files are called ``%2E./1``, is in that note, and is the document's as long as its files are called so: a copy under
another name has that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from linnet.codec import from_json
from linnet.corpora.brat_lines import (
    ABOUT_DOCUMENT,
    ABOUT_MENTION,
    ANNOTATOR,
    ASSERTION,
    Entry,
    dangling,
    file_name,
    id_of,
    is_word,
    named_today,
    references,
)
from linnet.corpora.brat_write import write_folder
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.formats import suffix
from linnet.corpora.ids import to_curie
from linnet.corpora.layout import hull
from linnet.corpora.names import namer
from linnet.corpora.sources import find, stem
from linnet.data import ASSERTIONS, Assertion, Document, Mention, Rows, Span
from linnet.errors import DataError, FormatError
from linnet.reporter import warn
from linnet.strict_json import parse
from linnet.text.files import STDIO, open_text, read_text, shown

__all__ = ["read", "write_folder"]

SUFFIXES = (".ann", ".txt")
BLANKS = str.maketrans("\r\n\t", "   ")
ID = re.compile(r"[TREAMN]\d+[^\s:\0]*")
SPANS = re.compile(r"([^\s\0]+) ([0-9]{1,12} [0-9]{1,12}(?:;[0-9]{1,12} [0-9]{1,12})*)")
NORMAL = re.compile(r"Reference (T[^\s:\0]+) ([^\s\0]+)")
ATTRIBUTE = re.compile(r"([^\s\0]+) ([TERN][^\s:\0]*)(?: (\S.*))?")
RELATION = re.compile(r"([^\s\0]+)((?: [^\s:\0]+:[^\s\0]+)+)\s*")
NOTE = re.compile(r"(#\d+[^\s:\0]*)\t([^\s\0]+) ([^\s\0]+)\t(.*)")
EXPECTED = {
    "T": "a type, offsets such as 0 4 or 0 4;10 14, a tab and the text",
    "N": "Reference, the id of a mention and that of a concept, and after a tab its name",
    "A": "a name, the id it belongs to, and a value if it has one",
    "R": "a type and arguments such as Arg1:T1 Arg2:T2",
    "E": "a type with its trigger and arguments such as Bind:T1 Theme:T2",
    "*": "Equiv and ids",
}


def read(
    path: str | Path, *, rows: Rows | None = None, name: str = "", faults: Faults = STOP, note_prefix: str = ""
) -> Iterator[Document]:
    """Yield the document of a pair of files, or those of all pairs below a folder, in sorted order.

    A text without an ``.ann`` file is a document whose mentions nobody has looked for (None).

    Args:
        path: the ``.ann`` file, the ``.txt`` file or a folder; either file may be packed with gzip.
        rows: turns the ids of stored candidates into rows; names that are its preferred ones are not kept.
        name: the id of the one document; the file's stem when empty. Documents of a folder are called by their path
            below it, without suffix.
        faults: what is done about lines that cannot be read, and an ``.ann`` file without its text; what points at a
            line that is left out is left out too.
        note_prefix: of the concepts that notes of annotators (AnnotatorNotes) are where they hold one word: ICDO makes
            8000/6 the concept ICDO:8000/6; empty leaves them notes.

    Raises:
        FormatError: an ``.ann`` file without its text, a line that is none of brat's, a repeated id, a reference to
            nothing, offsets that are outside the text or say another text; with the line.
    """
    reader = _Reader(rows, faults, note_prefix)
    if Path(path).is_dir():
        ids = {Path(file.relative).with_name(stem(file.path)).as_posix(): file.path for file in find(path, SUFFIXES)}
    else:
        ids = {name or stem(path): Path(path)}
    for id, file in ids.items():
        text, annotations = _pair(file)
        if text is None:
            missing = file.with_name(f"{stem(file)}.txt")
            faults.leave_out(FormatError(file, f"its text {missing} is missing"))
        else:
            yield reader.document(id, text, annotations)
    reader.warn(shown(path))


def _pair(path: Path) -> tuple[Path | None, Path | None]:
    """Return text and annotations that belong to either, as far as they are there; one of them is."""
    if str(path) == STDIO or suffix(path) not in SUFFIXES:
        raise FormatError(shown(path), "brat keeps a document in two files: expected a .ann or .txt file or a folder")
    files = []
    for ending in (".txt", ".ann"):
        there = [file for packed in ("", ".gz") if (file := path.with_name(stem(path) + ending + packed)).exists()]
        if len(there) > 1:
            raise FormatError(there[0], f"stands beside {there[1].name}: which of them is meant? Remove one")
        files.append(there[0] if there else None)
    text, annotations = files
    if text is None and annotations is None:
        raise FormatError(path, "there is no such file")
    return text, annotations


# --- lines -----------------------------------------------------------------------------------------------------------


class _Annotations:
    """The lines of one ``.ann`` file, sorted by what they speak of."""

    def __init__(self, path: str, text: str, faults: Faults, note_prefix: str) -> None:
        self.path, self.text, self._faults, self._prefix = path, text, faults, note_prefix
        self.entries: dict[str, Entry] = {}
        self.relations: dict[str, dict[str, Any]] = {}
        self.document: dict[str, Any] = {}
        self.kept: dict[int, str] = {}  # lines by number
        self.unordered = 0
        self._lines: dict[str, int] = {}  # id -> where it stands
        self._left_out: set[str] = set()
        self._pointing: list[tuple[int, str, list[str]]] = []  # number, id and what it points at
        self._later: list[tuple[int, str]] = []  # lines that belong to mentions

    def read(self, lines: Iterator[str]) -> None:
        """Take in all lines: first those that others point at."""
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._take(self._first, number, line)
        for number, line in self._later:
            self._take(self._second, number, line)
        for number, own, id in dangling(self._pointing, self._lines.keys() - self._left_out):
            self._faults.leave_out(self._missing(number, id))
            self._left_out.add(own)
            self.kept.pop(number, None)
            self.relations.pop(own, None)

    def _take(self, read: Callable[[int, str], None], number: int, line: str) -> None:
        try:
            read(number, line)
        except FormatError as error:
            self._faults.leave_out(error)
            if self._lines.get(id_of(line)) == number:
                self._left_out.add(id_of(line))

    def _missing(self, number: int, id: str, where: str = "is nowhere in this file") -> FormatError:
        where = "was left out" if id in self._left_out else where
        return FormatError(self.path, f"points at {id!r}, which {where}", line=number)

    def _first(self, number: int, line: str) -> None:
        id, tab, _ = line.partition("\t")
        kind = "A" if id[:1] == "M" else id[:1]
        if kind == "#":
            note = NOTE.fullmatch(line)
            if note is None:
                self._keep(number, line)
                return
        elif not tab or not (id == "*" or ID.fullmatch(id)):
            problem = f"expected an id such as T1, R1, E1, A1, N1, * or #1 and a tab, found {line[:60]!r}"
            raise FormatError(self.path, problem, line=number)
        if id != "*" and self._lines.setdefault(id, number) != number:
            raise FormatError(self.path, f"the id {id} stands in line {self._lines[id]} already", line=number)
        if kind == "T":
            self._mention(number, id, line)
        elif kind == "R":
            self._relation(number, id, line)
        else:
            self._later.append((number, line))

    def _keep(self, number: int, line: str) -> None:
        self.kept[number] = line
        self._pointing.append((number, id_of(line), references(line)))

    def _refuse(self, number: int, kind: str, line: str) -> FormatError:
        return FormatError(self.path, f"expected {EXPECTED[kind]}, found {line[:60]!r}", line=number)

    def _mention(self, number: int, id: str, line: str) -> None:
        columns = line.split("\t", 2)
        found = SPANS.fullmatch(columns[1])
        if len(columns) != 3 or found is None:
            raise self._refuse(number, "T", line)
        given = [Span(*map(int, pair.split(" "))) for pair in found[2].split(";")]
        if problem := self._disagreement(given, found[2], columns[2]):
            said = columns[2].rstrip() if len(given) > 1 else columns[2]
            given = self._faults.move(FormatError(self.path, problem, line=number), self.text, said, given)
        self.unordered += sorted(given) != given
        self.entries[id] = Entry(number, found[1], tuple(sorted(given)))

    def _disagreement(self, given: Sequence[Span], offsets: str, said: str) -> str:
        """Return what is wrong with the spans of a mention, if anything is."""
        end = 0
        for start, stop in sorted(given):
            if not end <= start < stop <= len(self.text):
                problem = f"is empty, overlaps another or lies outside the text of {len(self.text)} characters"
                return f"the span {start}-{stop} {problem}"
            end = stop
        surface = " ".join(self.text[start:stop] for start, stop in given)
        if surface.translate(BLANKS).rstrip() == said.translate(BLANKS).rstrip():
            return ""
        problem = f"the offsets {offsets} say {surface!r}, the line says {said!r}"
        return f"{problem}; offsets count code points of the .txt file"

    def _relation(self, number: int, id: str, line: str) -> None:
        found = RELATION.fullmatch(line.partition("\t")[2])
        if found is None:
            raise self._refuse(number, "R", line)
        args = [word.partition(":")[::2] for word in found[2].split()]
        self._pointing.append((number, id, [ref for _, ref in args]))
        self.relations[id] = {"id": id, "type": found[1], "args": [{"role": role, "ref": ref} for role, ref in args]}

    def _second(self, number: int, line: str) -> None:
        id, _, rest = line.partition("\t")
        kind = "A" if id[0] == "M" else id[0]
        if kind == "#":
            self._note(number, line)
        elif kind == "N" and (normal := NORMAL.fullmatch(rest.partition("\t")[0])):
            entry = self._entry(number, normal[1])
            _, tab, name = rest.partition("\t")
            entry.concepts.append((normal[2], name if tab else None))
            entry.ids.append(id)
        elif kind == "A" and (attribute := ATTRIBUTE.fullmatch(rest.rstrip())):
            name, target, value = attribute.groups()
            known = self.entries.get(target)
            if known is None or name in known.attributes or "\t" in (value or ""):
                self._keep(number, line)
                return
            known.attributes[name] = value or True
            known.ids.append(id)
        elif kind in "NA" or len(references(line)) < (1 if kind == "E" else 2):
            raise self._refuse(number, kind, line)
        else:
            self._keep(number, line)

    def _note(self, number: int, line: str) -> None:
        id, type, target, text = NOTE.fullmatch(line).groups()  # type: ignore[union-attr]
        if type == ABOUT_DOCUMENT:
            self.document = self._json(number, text)
        elif type == ABOUT_MENTION and target in self.relations:
            value = self._json(number, text)
            if not (value.keys() <= {"id", "meta"} and isinstance(value.get("id", ""), str)):
                raise FormatError(self.path, f"expected id and meta of a relation, found {text[:60]!r}", line=number)
            self.relations[target] |= value
        elif type == ABOUT_MENTION:
            entry = self._entry(number, target)
            entry.rest |= self._json(number, text)
            entry.ids.append(id)
        elif target in self.entries:
            entry = self.entries[target]
            if type == ANNOTATOR and self._prefix and is_word(text):
                entry.concepts.append((text if ":" in text else f"{self._prefix}:{text}", None))
                return
            entry.notes.append(text if type == ANNOTATOR else {"type": type, "text": text})
            entry.ids.append(id)
        else:
            self._keep(number, line)

    def _entry(self, number: int, id: str) -> Entry:
        if id not in self.entries:
            raise self._missing(number, id, "is no mention of this file")
        return self.entries[id]

    def _json(self, number: int, text: str) -> dict[str, Any]:
        try:
            value = parse(text)
        except ValueError as error:
            raise FormatError(self.path, f"this note of Linnet's is not JSON: {error}", line=number) from error
        if not isinstance(value, dict):
            raise FormatError(self.path, f"this note of Linnet's is no JSON object: {text[:60]!r}", line=number)
        return value


# --- documents -------------------------------------------------------------------------------------------------------


class _Reader:
    """Makes documents of pairs of files and counts what was odd about them."""

    def __init__(self, rows: Rows | None, faults: Faults, note_prefix: str) -> None:
        self._rows, self._faults, self._note_prefix = rows, faults, note_prefix
        self._name: Callable[[str], str] = namer(rows)
        self._unordered = 0

    def document(self, id: str, text_path: Path, path: Path | None) -> Document:
        """Return the document of a text and, unless `path` is None, its annotations."""
        text = read_text(text_path)
        if path is None:
            return Document(id, text)
        found = _Annotations(str(path), text, self._faults, self._note_prefix)
        found.read(open_text(path, may_be_empty=True))
        self._unordered += found.unordered
        unseen = found.document.pop("mentions", ()) is None and not found.entries
        id = _noted(id, found.document.pop("id", None), path)
        try:
            doc = from_json({**found.document, "id": id, "text": text})
        except DataError as error:
            raise FormatError(path, f"its {ABOUT_DOCUMENT}: {error}") from error
        pointed = {id for line in found.kept.values() for id in references(line)}
        mentions = [self._mention(own, entry, found, pointed) for own, entry in found.entries.items()]
        names = {own: mention.id for own, mention in zip(found.entries, mentions, strict=True)}
        relations = [_renamed(relation, names) for relation in found.relations.values()]
        meta = dict(doc.meta)
        if relations:
            others = meta.get("relations", ())
            meta["relations"] = (*relations, *(others if isinstance(others, tuple) else ()))
        if found.kept:
            meta["brat"] = tuple(found.kept.values())
        return replace(doc, mentions=None if unseen else tuple(mentions), meta=meta)

    def _mention(self, own: str, entry: Entry, found: _Annotations, pointed: set[str]) -> Mention:
        rest = entry.rest
        mention = Mention(*hull(entry.spans))
        if rest:
            try:
                parts = [list(part) for part in mention.parts]
                value = {**rest, "start": mention.start, "end": mention.end, "parts": parts}
                [mention] = from_json({"id": "", "text": found.text, "mentions": [value]}, self._rows).mentions or ()
            except DataError as error:
                problem = f"the {ABOUT_MENTION} of {own}: {error}"
                raise FormatError(found.path, problem, line=entry.line) from error
        attributes = dict(entry.attributes)
        if "assertion" not in rest and attributes.get(ASSERTION) in ASSERTIONS:
            mention = replace(mention, assertion=cast("Assertion", attributes.pop(ASSERTION)))
        concepts, said = self._concepts(entry)
        brat_ids = [own, *entry.ids] if rest.get("id", own) != own else entry.ids
        meta: dict[str, Any] = {
            **said,
            **({"attributes": attributes} if attributes else {}),
            **({"notes": entry.notes} if entry.notes else {}),
            **({"brat_ids": brat_ids} if pointed.intersection(brat_ids) else {}),
            **mention.meta,
        }
        return replace(
            mention,
            id=rest.get("id", own),
            types=mention.types if "types" in rest else (entry.type,),
            source=rest.get("source", "gold"),
            concepts=concepts or mention.concepts,
            meta=meta,
        )

    def _concepts(self, entry: Entry) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the concepts of a mention, and what its N lines say that these do not."""
        raws = [raw for raw, _ in entry.concepts]
        concepts = tuple(to_curie(raw, entry.type) for raw in raws)
        names = [name for _, name in entry.concepts]
        meta: dict[str, Any] = {} if list(concepts) == raws else {"normalization_ids": raws}
        told = zip(concepts, names, strict=True)
        if any(name is not None and (not name or name != self._name(concept)) for concept, name in told):
            meta["normalization_names"] = names
        return concepts, meta

    def warn(self, path: str) -> None:
        """Say what was odd, once."""
        if self._unordered:
            problem = f"{self._unordered:,} mentions had their fragments out of order; they were put in order"
            warn(f"{path}: {problem}")


def _noted(name: str, noted: object, path: Path) -> str:
    """Return the id that Linnet's note gives, where `name` ends its path and the file still has it, else `name`."""
    if not isinstance(noted, str) or not f"/{file_name(noted)}".endswith(f"/{named_today(name)}"):
        return name
    place = named_today(path.absolute().with_name(stem(path)).as_posix())
    return noted if place.endswith(f"/{file_name(noted)}") else name


def _renamed(relation: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    args = [{**arg, "ref": names.get(arg["ref"], arg["ref"])} for arg in relation["args"]]
    return {**relation, "args": args}
