"""From documents to the elements of BioC: what BioC has a place for goes there, the rest into our own infons.

Passages are written as such where they stand in order and only blank text lies outside them; otherwise the document
becomes one passage, and ours stand in an infon. A mention goes to the passage it starts in, with all its locations.
"""

from __future__ import annotations

import itertools
import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, cast

from linnet.codec import to_json
from linnet.corpora.bioc import (
    HEADER,
    NONE,
    OWN,
    BioCAnnotation,
    BioCCollection,
    BioCDocument,
    BioCPassage,
    BioCRelation,
    Infons,
    Location,
    Node,
)
from linnet.corpora.bioc_ids import ids_out, prefix_of
from linnet.corpora.bioc_read import relation_meta, unplaced_meta
from linnet.corpora.bioc_text import MAX_GAP, filler
from linnet.corpora.relations import is_relation
from linnet.data import JSON, Document, Passage, Rows, Span
from linnet.errors import DataError

__all__ = ["ILLEGAL", "Writer"]

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # no characters of XML 1.0
OWN_VALUES = ("probability", "candidates", "signals", "alternatives")  # of a mention, in linnet.codec's form
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

    def begin(self, doc: Document | None) -> BioCCollection:
        """Return what stands before the documents: what the first of them was read with, else our own `HEADER`."""
        told = doc.meta.get("collection") if doc else None
        if isinstance(told, Mapping) and told:
            value = {**told, "infons": told.get("infons", {}), "fields": told.get("fields", {})}
            try:
                header = BioCCollection(**cast("Any", value))
            except TypeError:  # other keys than ours
                return self.header
            texts = (header.source, header.date, header.key, header.version)
            kept = isinstance(header.infons, Mapping) and isinstance(header.fields, Mapping)
            kept = kept and MEMBERS.isdisjoint(header.fields)
            kept = kept and all(isinstance(text, str) and (self.native or not ILLEGAL.search(text)) for text in texts)
            if kept and not (header.fields and not self.native) and all(map(self._plain, *_pairs(header.infons))):
                self.header = header if header.as_meta() == told else self.header
        return self.header

    def document(self, doc: Document) -> BioCDocument:
        """Return `doc` as BioC.

        Raises:
            DataError: candidates of another knowledge base than `rows`, or rows without one; numbers that JSON lacks;
                a document without id.
        """
        if not doc.id:
            raise DataError(f"document {doc.id!r} has no id, and BioC has no place for such documents")
        value = to_json(doc, self.rows)
        own: dict[str, Any] = {key: value[key] for key in ("sentences", "abbreviations", "reviewed") if key in value}
        if doc.mentions is None:
            own["mentions"] = None
        source = BioCDocument(doc.id)
        meta = self._meta(doc, source, own)
        self._passages(doc, source, value, own)
        self._annotations(doc, source, value, own)
        if source.passages:
            meta = self._unplaced(meta, source.passages[0])
        source.infons, source.fields = self._infons(meta, own, doc.id)
        return source

    # --- infons ---

    def _plain(self, key: str, value: JSON) -> bool:
        """Return whether an infon can be written under its own name and with its value as it is."""
        if key.startswith(OWN) or not isinstance(key, str):
            return False
        if self.native:
            return True
        return isinstance(value, str) and not ILLEGAL.search(key) and not ILLEGAL.search(value)

    def _infons(
        self, meta: Mapping[str, JSON], own: dict[str, Any], document: str, *, reserved: Any = None
    ) -> tuple[Infons, Mapping[str, JSON]]:
        """Return infons for `meta` and for `own` values, and the members that a JSON object has beside BioC's.

        ``reserved(key)`` tells infons that would be taken for something else under their own name.
        """
        rest = dict(meta)
        infons: Infons = {}
        fields: Mapping[str, JSON] = {}
        told = rest.get("infons")
        if isinstance(told, Mapping) and told:
            del rest["infons"]
            infons = {k: v for k, v in told.items() if self._plain(k, v) and not (reserved and reserved(k))}
            others = {key: item for key, item in told.items() if key not in infons}
            own |= {"infons": others} if others else {}
        members = rest.get("fields")
        if self.native and isinstance(members, Mapping) and members and MEMBERS.isdisjoint(members):
            fields = cast("Mapping[str, JSON]", rest.pop("fields"))
        own |= {"meta": rest} if rest else {}
        return infons | {OWN + key: self._value(item, document) for key, item in own.items()}, fields

    def _value(self, value: Any, document: str) -> str:
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError as error:
            raise DataError(f"document {document!r} cannot be written as BioC: {error}") from error
        return text if self.native else ILLEGAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

    def _meta(self, doc: Document, source: BioCDocument, own: dict[str, Any]) -> dict[str, JSON]:
        """Return the meta that has no place in `source`, which gets the relations."""
        meta = dict(doc.meta)
        expected = None if self.header == HEADER else self.header.as_meta()
        if "collection" not in meta:
            if expected is not None:
                own["collection"] = None
        elif expected is not None and meta["collection"] == expected:
            del meta["collection"]
        relations = meta.get("relations")
        if isinstance(relations, Sequence) and not isinstance(relations, str) and relations:
            made = [self._relation(relation) for relation in relations]
            if None not in made:
                source.relations = cast("list[BioCRelation]", made)
                del meta["relations"]
        return meta

    def _relation(self, relation: Any) -> BioCRelation | None:
        """Return a relation as BioC, None if it would not be read back as it is."""
        if not is_relation(relation):
            return None
        infons = {"type": relation.get("type", ""), **cast("Any", relation.get("meta") or {})}
        args = relation.get("args", ())
        if not all(arg.keys() == {"role", "ref"} and arg["ref"] for arg in args):
            return None
        nodes = [Node(arg["ref"], arg["role"]) for arg in args]
        made = BioCRelation(relation.get("id", ""), {k: v for k, v in infons.items() if k != "type" or v}, nodes)
        texts = (made.id, *itertools.chain(*nodes))
        sound = all(isinstance(text, str) for text in texts) and all(map(self._plain, *_pairs(made.infons)))
        return made if sound and relation_meta(made) == relation else None

    def _unplaced(self, meta: dict[str, JSON], passage: BioCPassage) -> dict[str, JSON]:
        """Write annotations without location into `passage` and return the meta without them, if they fit there."""
        told = meta.get("annotations")
        made = []
        for item in cast("Any", told) if isinstance(told, Sequence) else ():
            if not isinstance(item, Mapping) or not isinstance(item.get("infons", {}), Mapping):
                return meta
            annotation = BioCAnnotation(
                str(item.get("id", "")), dict(item.get("infons", {})), text=str(item.get("text", ""))
            )
            if unplaced_meta(annotation) != item or not all(map(self._plain, *_pairs(annotation.infons))):
                return meta
            made.append(annotation)
        if not made:
            return meta
        passage.annotations += made
        return {key: value for key, value in meta.items() if key != "annotations"}

    # --- text ---

    def _passages(self, doc: Document, source: BioCDocument, value: Mapping[str, Any], own: dict[str, Any]) -> None:
        gaps = _gaps(doc.text, doc.passages)
        if gaps is None:
            own["passages"] = value.get("passages", [])
            source.passages = [BioCPassage(0, doc.text)]
            return
        if gaps != [*(filler(len(gap)) for gap in gaps[:-1]), ""]:
            own["gaps"] = gaps
        for passage in doc.passages:
            infons: Infons = {"type": passage.kind} if passage.kind else {}
            others, fields = self._infons(passage.meta, {}, doc.id, reserved=lambda key: key == "type")
            text = doc.text[passage.start : passage.end]
            source.passages.append(BioCPassage(passage.start, text, infons | others, fields=fields))

    # --- mentions ---

    def _annotations(self, doc: Document, source: BioCDocument, value: Mapping[str, Any], own: dict[str, Any]) -> None:
        starts = [passage.offset for passage in source.passages]
        places: list[int] = []
        for i, mention in enumerate(value.get("mentions", ())):
            place = max(bisect_right(starts, mention["start"]) - 1, 0)
            places.append(place)
            source.passages[place].annotations.append(self._annotation(mention, i, doc.id))
        order = sorted(range(len(places)), key=places.__getitem__)
        if order != list(range(len(places))):
            own["order"] = order

    def _annotation(self, mention: Mapping[str, Any], number: int, document: str) -> BioCAnnotation:
        """Return the annotation for a mention in `linnet.codec`'s form."""
        own = {key: mention[key] for key in OWN_VALUES if key in mention}
        types, meta = tuple(mention.get("types", ())), dict(mention.get("meta", ()))
        type = ",".join(types)
        infons: Infons = {"type": type} if type else {}
        if types != ((type,) if type else ()):
            own["types"] = types
        if "concepts" in mention:
            out = ids_out(tuple(mention["concepts"]), type, meta)
            if out is None or ILLEGAL.search(out[0]):
                own["concepts"] = mention["concepts"]
            else:
                infons["identifier"] = out[0]
                meta = {key: item for key, item in meta.items() if key not in out[1]}
        spans = [Span(*part) for part in mention.get("parts", ())] or [Span(mention["start"], mention["end"])]
        if any(a.end == b.start for a, b in itertools.pairwise(spans)):
            own["parts"] = spans  # they would be merged when read
        id = mention.get("id", "")
        if id.startswith(NONE):
            own["id"] = id
        linked = "identifier" in infons
        others, fields = self._infons(
            meta,
            own,
            document,
            reserved=lambda key: key in ("type", "identifier") or (not linked and prefix_of(key) is not None),
        )
        infons |= others
        infons |= {OWN + key: mention[key] for key in ("calibration", "group") if key in mention}
        if mention.get("source", "pred") != "gold":
            infons[OWN + "source"] = mention.get("source", "pred")
        locations = [Location(start, end - start) for start, end in spans]
        return BioCAnnotation(id or f"{NONE}{number}", infons, locations, mention["text"], fields)


def _pairs(infons: Mapping[str, JSON]) -> tuple[list[str], list[JSON]]:
    return list(infons), list(infons.values())


def _gaps(text: str, passages: Sequence[Passage]) -> list[str] | None:
    """Return the text before each passage and after the last, None if BioC's passages cannot be these."""
    if not passages:
        return None if text else [""]
    gaps: list[str] = []
    end = 0
    for passage in passages:
        if passage.start < end:
            return None
        gaps.append(text[end : passage.start])
        end = passage.end
    gaps.append(text[end:])
    blank = all(not gap or gap.isspace() for gap in gaps)
    return gaps if blank and sum(map(len, gaps)) <= MAX_GAP else None
