"""From documents to the elements of BioC; what BioC has no place for becomes an infon of ours, by reading them again.

Every passage is written as one, and text that lies in none as one without infons; where passages overlap, or there are
none, the text is one passage. A mention goes to the passage it starts in, with all its locations.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from linnet.corpora.bioc import (
    HEADER,
    NONE,
    BioCAnnotation,
    BioCCollection,
    BioCDocument,
    BioCPassage,
    BioCRelation,
    Infons,
    Location,
    Node,
)
from linnet.corpora.bioc_read import ASSERTION, Reader
from linnet.corpora.extras import OWN, rest
from linnet.corpora.ids import ids_out
from linnet.corpora.layout import filler
from linnet.corpora.relations import relations
from linnet.data import JSON, Document, Mention, Rows
from linnet.errors import DataError
from linnet.text.json_files import dumps

__all__ = ["ILLEGAL", "Writer"]

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # no characters of XML 1.0
LONG = 100  # characters between passages that are no longer left out
MEMBERS = frozenset(  # of BioC's JSON objects, at any level
    {"source", "date", "key", "version", "documents", "id", "infons", "passages", "annotations", "relations", "offset"}
    | {"text", "sentences", "locations", "bioctype"}
)


class Writer:
    """Turns documents into the elements of one file.

    Args:
        native: the file is JSON, where infons may hold any value and objects further members; XML holds only strings.
        rows: the knowledge base that candidates belong to.
    """

    def __init__(self, *, native: bool, rows: Rows | None = None) -> None:
        self.native, self.rows = native, rows
        self.header = HEADER
        self._reader = Reader("what was written")

    def begin(self, doc: Document | None) -> BioCCollection:
        """Return what stands before the documents: what the first of them was read with, else our own `HEADER`."""
        told = doc.meta.get("collection") if doc else None
        if isinstance(told, Mapping):
            texts = [self._text(told.get(key)) for key in ("source", "date", "key", "version")]
            header = BioCCollection(*texts, infons=self._infons(told), fields=self._fields(told))
            self.header = header if header.as_meta() else HEADER
        return self.header

    def document(self, doc: Document) -> BioCDocument:
        """Return `doc` as BioC.

        Raises:
            DataError: candidates of another knowledge base than `rows`, or rows without one; numbers that JSON lacks;
                a document without id.
        """
        if not doc.id:
            raise DataError(f"document {doc.id!r} has no id, and BioC has no place for such documents")
        passages = self._passages(doc)
        source = BioCDocument(doc.id, passages, infons=self._infons(doc.meta), fields=self._fields(doc.meta))
        source.relations = list(filter(None, map(self._relation, relations(doc))))
        order = self._place(doc, passages)
        if order != sorted(order):
            doc = replace(doc, mentions=tuple((doc.mentions or ())[number] for number in order))
        if passages:
            passages[0].annotations += self._unplaced(doc.meta.get("annotations"))
        ours = rest(doc, self._reader.document(source, self.header), self.rows)
        ours |= {"order": order} if order != sorted(order) else {}
        annotations = [one for passage in passages for one in passage.annotations if one.locations]
        for place, part in (ours.pop("mentions") if ours.get("mentions") else {}).items():
            annotations[int(place)].infons[OWN] = self._value(part, doc.id)
        source.infons |= {OWN: self._value(ours, doc.id)} if ours else {}
        return source

    # --- infons ---

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) and (self.native or not ILLEGAL.search(value)) else ""

    def _infons(self, meta: Mapping[str, JSON]) -> Infons:
        """Return those of the infons in `meta` that can be written under their own name and as they are."""
        told = meta.get("infons")
        found: Mapping[str, JSON] = told if isinstance(told, Mapping) else {}
        return {
            key: value
            for key, value in found.items()
            if not key.startswith(OWN)
            and (self.native or (isinstance(value, str) and not ILLEGAL.search(key) and not ILLEGAL.search(value)))
        }

    def _fields(self, meta: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return the members in `meta` that a JSON object has beside BioC's."""
        told = meta.get("fields")
        return told if self.native and isinstance(told, Mapping) and MEMBERS.isdisjoint(told) else {}

    def _value(self, value: Any, document: str) -> str:
        text = dumps(value, f"document {document!r}")
        return text if self.native else ILLEGAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

    def _relation(self, relation: Mapping[str, Any]) -> BioCRelation | None:
        """Return a relation as BioC, None if an argument refers to nothing."""
        args = relation.get("args", ())
        if not all(arg.get("ref") for arg in args):
            return None
        infons = {**relation.get("meta", {}), **({"type": relation["type"]} if relation.get("type") else {})}
        nodes = [Node(arg["ref"], arg.get("role", "")) for arg in args]
        return BioCRelation(self._text(relation.get("id")), nodes, infons=self._infons({"infons": infons}))

    def _unplaced(self, told: JSON) -> list[BioCAnnotation]:
        """Return annotations without location."""
        listed: Any = told if isinstance(told, Sequence) else ()
        return [
            BioCAnnotation(self._text(item.get("id")), text=self._text(item.get("text")), infons=self._infons(item))
            for item in listed
            if isinstance(item, Mapping)
        ]

    # --- text and mentions ---

    def _passages(self, doc: Document) -> list[BioCPassage]:
        if any(a.end > b.start for a, b in itertools.pairwise(doc.passages)):
            return [BioCPassage(0, doc.text)]
        found: list[BioCPassage] = []
        end = 0
        for passage in doc.passages:
            gap = doc.text[end : passage.start]
            if gap != filler(len(gap)) or len(gap) > LONG:
                found.append(BioCPassage(end, gap))
            end = passage.end
            infons: Infons = {"type": passage.kind} if passage.kind else {}
            infons = {**infons, **self._infons(passage.meta), **infons}
            text, fields = doc.text[passage.start : end], self._fields(passage.meta)
            found.append(BioCPassage(passage.start, text, infons=infons, fields=fields))
        return found if end == len(doc.text) else [*found, BioCPassage(end, doc.text[end:])]

    def _place(self, doc: Document, passages: Sequence[BioCPassage]) -> list[int]:
        """Put the mentions into their passages, and return their numbers in the order they have there."""
        starts = [passage.offset for passage in passages]
        mentions = doc.mentions or ()
        places = [max(bisect_right(starts, mention.start) - 1, 0) for mention in mentions]
        for number, (mention, place) in enumerate(zip(mentions, places, strict=True)):
            passages[place].annotations.append(self._annotation(doc, mention, number))
        return sorted(range(len(places)), key=places.__getitem__)

    def _annotation(self, doc: Document, mention: Mention, number: int) -> BioCAnnotation:
        type = ",".join(mention.types)
        infons: Infons = {"type": type} if type else {}
        infons |= {ASSERTION: mention.assertion} if mention.assertion else {}
        ids = None if mention.concepts is None else ids_out(mention.concepts, type, mention.meta)
        if ids is not None and self._text(ids):
            infons["identifier"] = ids
        if mention.meta:  # the first infon that holds ids is the one that is read
            infons = {**infons, **self._infons(mention.meta), **infons}
        locations = [Location(start, end - start) for start, end in mention.spans]
        id, text = mention.id or f"{NONE}{number}", doc.surface(mention)
        return BioCAnnotation(id, locations, text, infons=infons, fields=self._fields(mention.meta))
