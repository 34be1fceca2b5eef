r"""TeXoo JSON, the format of TeXoo and TrainX: a data set of documents with annotations.

=======================================  ============================================================================
member                                   becomes
=======================================  ============================================================================
``begin`` and ``length``                 a span; UTF-16 units, as Java counts, unless the annotations' texts tell that
                                         the file counts code points
``refId``                                the concept; null in a NamedEntityAnnotation is NIL, in a MentionAnnotation
                                         nobody has linked it yet
``source``                               GOLD and TRAIN gold, USER user, PRED and SILVER pred
``confidence``                           the probability; 1 of what people annotated is none
``candidates``                           candidates, where they are objects of ``refId`` and ``confidence``
``type``                                 the type of a mention
SectionAnnotation (GOLD)                 a passage
=======================================  ============================================================================

All other members, of the data set too, stay in ``meta["texoo"]`` and ``meta["dataset"]``, so that reading and writing
gives the same JSON. What TeXoo has no place for is a member ``linnet`` of the document (`linnet.corpora.extras`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from linnet.corpora.counting import Offsets, utf16_units
from linnet.corpora.extras import OWN, by_ids, rest, restored
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import short, to_curie
from linnet.corpora.names import Remembering
from linnet.corpora.sources import stem
from linnet.data import Candidates, Document, Mention, Passage, Rows, Source, Span
from linnet.errors import DataError, FormatError
from linnet.text.json_files import Node, dumps, loads, nodes

__all__ = ["read", "write"]

HEADER: Mapping[str, Any] = {"name": "linnet", "language": None, "queries": []}
SOURCES: Mapping[Any, Source] = {"GOLD": "gold", "TRAIN": "gold", "USER": "user"}  # what else there is, a program made
SECTION = "SectionAnnotation"
MENTIONS = ("NamedEntityAnnotation", "MentionAnnotation")
MENTION = "mention"  # stands for the next mention, or section, in the order of annotations
LARGEST = float(np.finfo(np.float32).max)
UNITS, POINTS = "UTF-16 units", "code points"


# --- reading ---------------------------------------------------------------------------------------------------------


def read(path: str | Path, *, rows: Rows | None = None, name: str = "", faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a TeXoo data set, or of a file that is one TeXoo document; `faults` mend no offsets.

    Raises:
        FormatError: no JSON (with the line), or no TeXoo: with the path of the member and what was expected.
    """
    for count, (item, header) in enumerate(_items(path), 1):
        try:
            doc = _Reader(item, f"{name or stem(path)}:{count}", faults).document(header)
            yield restored(doc, item.value.get(OWN), rows)
        except FormatError as error:
            faults.leave_out(error, whole=True)
        except DataError as error:
            faults.leave_out(item.fault(str(error)), whole=True)


def _items(path: str | Path) -> Iterator[tuple[Node, Mapping[str, Any]]]:
    """Yield the documents of data sets, of lists as WikiSection has them, and those that stand alone; with a header."""
    for node in nodes(path):
        if isinstance(node.value, list):
            yield from ((item, HEADER) for item in node.items())
        elif "documents" in node.object():
            header = {key: value for key, value in node.value.items() if key != "documents"}
            yield from ((item, header) for item in node.member("documents").items())
        else:
            yield node, HEADER


class _Reader:
    """Makes one document; keeps of its members what `_Writer` would not write again."""

    def __init__(self, node: Node, name: str, faults: Faults = STOP) -> None:
        self._node, self._name, self._faults = node, name, faults
        self._text = node.text("text")
        self._offsets = Offsets(self._text)
        self._counts = self._counted()
        self._written = _Place(self._text, self._counts)

    def _counted(self) -> str:
        """Return how the document counts: in the way in which all annotations say what their offsets do."""
        if self._offsets.same or all(self._agrees(item, UNITS) for item in self._node.each("annotations")):
            return UNITS
        return POINTS if all(self._agrees(item, POINTS) for item in self._node.each("annotations")) else UNITS

    def _agrees(self, item: Node, counts: str) -> bool:
        span, surface = self._place(item, counts), item.find("text")
        return span is not None and (surface is None or surface.value == self._text[span.start : span.end])

    def _place(self, item: Node, counts: str) -> Span | None:
        begin, length = item.member("begin").offset(), item.member("length").offset()
        where = self._offsets.units if counts == UNITS else self._offsets.points
        return where(begin, begin + length)

    def document(self, header: Mapping[str, Any]) -> Document:
        mentions: list[Mention] = []
        passages: list[Passage] = []
        order: list[Any] = []
        for item in self._node.each("annotations"):
            kind, source = item.text("class", MENTIONS[0]), item.object().get("source")
            span = self._place(item, self._counts)
            if kind in MENTIONS and not (span is None and item.value["length"] == 0):
                found = list(self._faults.make_each(partial(self._mention, span=span), [item]))
                mentions += found
                order += [MENTION] * len(found)
            elif kind == SECTION and source == "GOLD" and span is not None:
                passages.append(self._passage(item, span))
                order.append(SECTION)
            else:
                order.append(dict(item.object()))
        kept: dict[str, Any] = {} if self._counts == UNITS else {"counts": self._counts}
        if order != sorted(order, key=lambda entry: entry != SECTION) or any(isinstance(e, dict) for e in order):
            kept["annotations"] = order
        if self._node.find("id") is None:
            kept["name"] = self._name  # that nobody but we gave it
        doc = Document(self._node.name("id", self._name), self._text, tuple(passages), mentions=tuple(mentions))
        meta = {"dataset": dict(header)} if header != HEADER else {}
        plain = replace(doc, meta={"texoo": kept} if kept else {})
        kept |= _difference(self._node.value, _Writer(plain).document(), known=(*self._listed(), OWN))
        return replace(doc, meta=meta | ({"texoo": kept} if kept else {}))

    def _listed(self) -> tuple[str, ...]:
        """Return the member that lists annotations, unless it is not there or null."""
        return ("annotations",) if self._node.find("annotations") is not None else ()

    def _mention(self, item: Node, span: Span | None) -> Mention:
        surface = item.text("text", "")
        if span is None:
            raise item.fault(f"the span is empty or lies outside the text of {len(self._text)} characters")
        if surface and self._text[span.start : span.end] != surface:
            said = f"begin and length say {self._text[span.start : span.end]!r}, the text {surface!r}"
            raise item.fault(f"{said}; begin and length count {UNITS} or, throughout a document, {POINTS}")
        mention = _mention(span, item)
        kept = _difference(item.value, _annotation(mention, self._written))
        return replace(mention, meta={"texoo": kept}) if kept else mention

    def _passage(self, item: Node, span: Span) -> Passage:
        passage = Passage(span.start, span.end, item.text("sectionLabel", ""))
        kept = _difference(item.value, _section(passage, self._written))
        return replace(passage, meta={"texoo": kept}) if kept else passage


def _mention(span: Span, item: Node) -> Mention:
    """Return what an annotation says, which stands at `span`."""
    source = item.text("source", "GOLD")
    ref, type = item.name("refId", ""), item.find("type")
    types = (type.value,) if type is not None and isinstance(type.value, str) and type.value else ()
    unlinked = None if item.text("class", MENTIONS[0]) == MENTIONS[1] else ()
    origin = SOURCES.get(source, "pred")
    return Mention(
        *span,
        source=origin,
        types=types,
        concepts=(to_curie(ref, *types),) if ref else unlinked,
        candidates=_candidates(item),
        probability=_probability(item, origin),
    )


def _probability(item: Node, source: Source) -> float | None:
    confidence = item.find("confidence")
    if confidence is None:
        return None
    if isinstance(confidence.value, bool) or not isinstance(confidence.value, (int, float)):
        raise confidence.expected("a number")
    certain = confidence.value == 1 and source != "pred"  # what everything has that people annotated
    return float(confidence.value) if 0 <= confidence.value <= 1 and not certain else None


def _candidates(item: Node) -> Candidates | None:
    """Return candidates that are written as we write them; other programs have their own ways, which are kept."""
    listed = item.each("candidates")
    pairs = [(one.value.get("refId"), one.value.get("confidence")) for one in listed if isinstance(one.value, dict)]
    sound = all(isinstance(ref, str) and isinstance(score, float) and abs(score) < LARGEST for ref, score in pairs)
    if not pairs or not sound or len(pairs) != len(listed):
        return None
    ids = tuple(to_curie(str(ref)) for ref, _ in pairs)
    return Candidates(np.full(len(ids), -1, np.int32), np.array([score for _, score in pairs]), ids=ids)


def _difference(given: Mapping[str, Any], made: Mapping[str, Any], known: Sequence[str] = ()) -> dict[str, Any]:
    """Return the members of `given` that are not so in `made`, and under ``absent`` those that it lacks."""
    kept = {
        key: item for key, item in given.items() if key not in known and (key not in made or not _same(made[key], item))
    }
    absent = [key for key in made if key not in given]
    return {"members": kept} | ({"absent": absent} if absent else {}) if kept or absent else {}


def _same(made: Any, given: Any) -> bool:
    """Return whether two values are the same JSON: 1, 1.0 and true are equal, and are written differently."""
    if made != given:
        return False
    return made is given or isinstance(made, str) or json.dumps(made) == json.dumps(given)


# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as one TeXoo data set, a document a line, and return how many.

    The data set is called what the first document was read with.

    Raises:
        DataError: candidates of another knowledge base than `rows`, or rows without one.
    """
    known = Remembering.of(rows)
    header: Mapping[str, Any] = HEADER
    count = 0
    for doc in docs:
        if not count:
            told = doc.meta.get("dataset")
            header = told if isinstance(told, Mapping) and "documents" not in told else HEADER
            out.write(_head(header))
        out.write((",\n" if count else "\n") + _line(by_ids(doc, known), header))
        count += 1
    out.write("\n]}\n" if count else _head(header) + "\n]}\n")
    return count


def _head(header: Mapping[str, Any]) -> str:
    return dumps({**header, "documents": []}, "the data set").removesuffix("]}")


def _line(doc: Document, header: Mapping[str, Any]) -> str:
    what = f"document {doc.id!r}"
    value = loads(dumps(_Writer(doc).document(), what))
    again = _Reader(Node(value, what, 1), doc.id).document(header)
    if ours := rest(doc, again):
        value[OWN] = ours
    return dumps(value, what)


class _Place:
    """The text of a document, and how offsets into it are counted."""

    def __init__(self, text: str, counts: str) -> None:
        self.text = text
        self._units = range(len(text) + 1) if counts == POINTS else utf16_units(text)

    def members(self, span: Span) -> dict[str, int]:
        """Return begin and length of a span."""
        begin = self._units[span.start]
        return {"begin": begin, "length": self._units[span.end] - begin}


class _Writer:
    """Makes the TeXoo document of one of ours."""

    def __init__(self, doc: Document) -> None:
        self._doc = doc
        self._kept = _kept(doc.meta)
        self._place = _Place(doc.text, POINTS if self._kept.get("counts") == POINTS else UNITS)

    def document(self) -> dict[str, Any]:
        """Return the document with its annotations, sections first unless it was read otherwise."""
        doc = self._doc
        whole = self._place.members(Span(0, len(doc.text)))
        plain = {"class": "Document", "id": doc.id, "title": None, "language": None, "type": None}
        made = {**plain, **whole, "text": doc.text, "annotations": self._annotations()}

        def fits(whole: Mapping[str, Any]) -> bool:
            named = whole.get("id")
            same = doc.id == (self._kept.get("name") if named is None else str(named))
            same = same and whole.get("text") == doc.text and OWN not in whole
            return same and (whole.get("annotations") or []) == made["annotations"]

        return _with_kept(made, self._kept, fits)

    def _annotations(self) -> list[Any]:
        sections = [_section(passage, self._place) for passage in self._doc.passages]
        mentions = [_annotation(mention, self._place) for mention in self._doc.mentions or ()]
        order = self._kept.get("annotations")
        default = [SECTION] * len(sections) + [MENTION] * len(mentions)
        marks = order if isinstance(order, list) else default
        if (marks.count(SECTION), marks.count(MENTION)) != (len(sections), len(mentions)) or not _marks(marks):
            marks = default + [mark for mark in marks if isinstance(mark, dict)]
        waiting = {SECTION: iter(sections), MENTION: iter(mentions)}
        return [mark if isinstance(mark, dict) else next(waiting[mark]) for mark in marks]


def _marks(marks: Sequence[Any]) -> bool:
    return all(isinstance(mark, dict) or mark in (SECTION, MENTION) for mark in marks)


def _kept(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what reading kept in a record's meta, as the JSON it was."""
    kept = meta.get("texoo")
    thawed: Mapping[str, Any] = loads(json.dumps(kept)) if isinstance(kept, Mapping) else {}
    return thawed


def _with_kept(made: dict[str, Any], kept: Mapping[str, Any], fits: Any) -> dict[str, Any]:
    """Return `made` with the members that it was read with, if they still say the same."""
    members, absent = kept.get("members", {}), kept.get("absent", [])
    if not isinstance(members, dict) or not isinstance(absent, list):
        return made
    whole = {key: value for key, value in {**made, **members}.items() if key not in absent}
    return whole if fits(whole) else made


def _section(passage: Passage, place: _Place) -> dict[str, Any]:
    where = place.members(Span(passage.start, passage.end))
    made = {"class": SECTION, "source": "GOLD", **where, "sectionLabel": passage.kind}
    return _with_kept(made, _kept(passage.meta), lambda whole: where.items() <= whole.items())


def _annotation(mention: Mention, place: _Place) -> dict[str, Any]:
    """Return a mention as TrainX has it; one that nobody has linked is a MentionAnnotation."""
    person = mention.source != "pred"
    made: dict[str, Any] = {
        **place.members(mention.span),
        "text": place.text[mention.start : mention.end],
        "source": mention.source.upper(),
        "confidence": 1.0 if person and mention.probability is None else mention.probability,
        "refId": short(mention.concepts[0], *mention.types[:1]) if mention.concepts else None,
        "class": MENTIONS[mention.concepts is None],
        "candidates": _listed(mention.candidates),
    }
    if mention.types:
        made["type"] = mention.types[0]

    def fits(whole: Mapping[str, Any]) -> bool:
        if not {key: made[key] for key in ("begin", "length")}.items() <= whole.items():
            return False
        try:
            return _mention(mention.span, Node(dict(whole), "", 1)) == replace(mention, meta={})
        except FormatError:
            return False

    return _with_kept(made, _kept(mention.meta), fits)


def _listed(candidates: Candidates | None) -> list[dict[str, Any]]:
    if candidates is None:
        return []
    pairs = zip(candidates.ids, candidates.scores, strict=False)
    return [{"refId": short(id), "confidence": float(str(score))} for id, score in pairs if id is not None]
