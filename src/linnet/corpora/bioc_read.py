"""From the elements of BioC to documents: text put together, offsets checked, infons sent to their places.

The text of a document is that of its passages (of their sentences, where these hold it), each at its offset; what lies
between two passages is filled with blanks and a line break, between two sentences with blanks, so that offsets hold.
Passages and sentences must stand in order and must not overlap. The text of an annotation must be what stands at its
locations; one that stands up to five characters beside it is moved there, with one warning that counts them.
Locations are sorted, adjacent ones merged; what remains are the parts of a discontinuous mention. Annotations without
location (indexing terms) are kept in ``Document.meta["annotations"]``. Relations of passages and sentences become
relations of the document; where no node says between what, BioRED's infons ``entity1`` and ``entity2`` do. Infons
without a place of their own are ``meta["infons"]`` of document, passage or mention (of a sentence: in
``meta["sentences"]`` of its passage), what stands before the documents ``meta["collection"]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from linnet.codec import from_json
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
)
from linnet.corpora.bioc_fold import fold
from linnet.corpora.bioc_ids import ids_in, prefix_of
from linnet.corpora.bioc_text import Layout, Placed, laid_out, placed
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import to_curie
from linnet.corpora.relations import known_ids
from linnet.data import JSON, Document, Mention, Passage, Rows, Span
from linnet.errors import DataError, FormatError, did_you_mean
from linnet.frozen import EMPTY
from linnet.strict_json import parse
from linnet.vocabularies.oddities import Oddities

__all__ = ["Reader", "relation_meta", "unplaced_meta"]

# our own infons without their prefix; these hold their value as it is, all others as JSON
PLAIN = frozenset({"source", "calibration", "group"})
MENTION = frozenset(
    {"probability", "candidates", "signals", "alternatives", "types", "concepts", "parts", "id", "meta", "infons"}
)
PASSAGE = frozenset({"meta", "infons"})
CHECKED = ("passages", "sentences", "abbreviations", "reviewed")  # in the form of linnet.codec
ENTITIES = ("entity1", "entity2")  # infons of BioRED's relations
DOCUMENT = frozenset({*CHECKED, "mentions", "gaps", "order", "collection", "meta", "infons"})


def _own(infons: Infons, known: frozenset[str]) -> tuple[dict[str, Any], Infons]:
    """Return our own infons as values, and all others."""
    mine: dict[str, Any] = {}
    others: Infons = {}
    for key, value in infons.items():
        if not key.startswith(OWN):
            others[key] = value
            continue
        name = key.removeprefix(OWN)
        if name not in known:
            raise DataError(f"unknown infon {key!r}{did_you_mean(name, known)}; was it written by a newer Linnet?")
        try:
            mine[name] = value if name in PLAIN else parse(str(value))
        except ValueError as error:
            raise DataError(f"the infon {key!r} is not JSON: {error}") from error
    for name in ("infons", "meta"):
        if not isinstance(mine.get(name, {}), dict):
            raise DataError(f"the infon '{OWN}{name}' must hold an object, found {mine[name]!r}")
    return mine, others


def _gaps(mine: Mapping[str, Any], source: BioCDocument) -> Sequence[str]:
    gaps = mine.get("gaps", ())
    if not isinstance(gaps, (list, tuple)) or not all(isinstance(gap, str) for gap in gaps):
        raise DataError(f"the infon '{OWN}gaps' must hold a list of texts, found {gaps!r}")
    if len(gaps) > len(source.passages) + 1:
        raise DataError(f"the infon '{OWN}gaps' holds {len(gaps)} texts for {len(source.passages)} passages")
    return gaps


def _string(infons: Infons, key: str) -> str:
    """Take the infon `key` out, if it is a string, and return it."""
    value = infons.get(key)
    if not isinstance(value, str):
        return ""
    del infons[key]
    return value


def relation_meta(relation: BioCRelation, known: Mapping[str, str] = EMPTY) -> dict[str, JSON]:
    """Return a relation as ``Document.meta["relations"]`` has it; its type is the infon ``type``, else ``relation``.

    Args:
        relation: the relation.
        known: the concepts of the document's mentions, by their form without prefix.

    >>> relation_meta(BioCRelation("R0", {"relation": "CID", "Chemical": "D015760"}))
    {'id': 'R0', 'type': 'CID', 'meta': {'Chemical': 'D015760'}}
    """
    infons = dict(relation.infons)
    type = _string(infons, "type") or _string(infons, "relation")
    args = tuple({"role": node.role, "ref": node.refid} for node in relation.nodes)
    if not args and all(isinstance(id := infons.get(key), str) and id for key in ENTITIES):
        ids = [(key, _string(infons, key)) for key in ENTITIES]
        args = tuple({"role": key, "ref": known.get(id) or to_curie(id)} for key, id in ids)
    value: dict[str, JSON] = {"id": relation.id, "type": type, "args": args, "meta": infons}
    return {key: item for key, item in value.items() if item}


def unplaced_meta(annotation: BioCAnnotation) -> dict[str, JSON]:
    """Return an annotation without location as ``Document.meta["annotations"]`` has it.

    >>> unplaced_meta(BioCAnnotation("1", {"type": "MeSH heading", "identifier": "MESH:D012640"}))
    {'id': '1', 'infons': {'type': 'MeSH heading', 'identifier': 'MESH:D012640'}}
    """
    value: dict[str, JSON] = {"id": annotation.id, "infons": annotation.infons, "text": annotation.text}
    value["fields"] = annotation.fields
    return {key: item for key, item in value.items() if item}


def _annotations(source: BioCDocument) -> Iterator[tuple[BioCAnnotation, int]]:
    """Yield the annotations of a document in the file's order, each with the offset of its passage."""
    for annotation in source.annotations:
        yield annotation, 0
    for passage in source.passages:
        for annotation in passage.annotations:
            yield annotation, passage.offset
        for sentence in passage.sentences:
            for annotation in sentence.annotations:
                yield annotation, passage.offset


def _relations(source: BioCDocument) -> Iterator[BioCRelation]:
    for passage in source.passages:
        for sentence in passage.sentences:
            yield from sentence.relations
        yield from passage.relations
    yield from source.relations


class Reader:
    """Turns the elements of one file into documents, and collects what was odd in ``odd``.

    Args:
        path: how messages name the file.
        rows: a knowledge base that turns the ids of stored candidates into rows.
        fold_composites: whether BC5CDR's individual mentions are folded into their composites.
        faults: what is done about annotations that cannot be read.
    """

    def __init__(
        self, path: str, *, rows: Rows | None = None, fold_composites: bool = False, faults: Faults = STOP
    ) -> None:
        self.path, self.odd, self.faults = path, Oddities(path), faults
        self._rows, self._fold = rows, fold_composites

    def documents(self, source: BioCDocument, collection: BioCCollection) -> Iterator[Document]:
        """Yield the document that `source` describes, unless it is left out."""
        try:
            yield self.document(source, collection)
        except FormatError as error:
            self.faults.leave_out(error, whole=True)

    def document(self, source: BioCDocument, collection: BioCCollection) -> Document:
        """Return the document that `source` describes.

        Raises:
            FormatError: whatever does not fit together, with document, annotation, offset and line.
        """
        try:
            mine, infons = _own(source.infons, DOCUMENT)
            layout = laid_out(source, self.path, gaps=_gaps(mine, source))
            passages = [_passage(*pair) for pair in zip(source.passages, layout.passages, strict=True)]
            doc = Document(source.id, layout.text, tuple(passages), layout.sentences)
            meta = _document_meta(mine, infons, source, collection)
            mentions = self._mentions(source, layout, mine, meta)
            if relations := list(_relations(source)):
                known = known_ids(mentions or ())
                meta["relations"] = [relation_meta(relation, known) for relation in relations]
            doc = replace(doc, mentions=mentions, meta=meta)
            if not mine.keys().isdisjoint(CHECKED):
                told = {key: mine[key] for key in CHECKED if key in mine}
                checked = from_json({"id": doc.id, "text": doc.text, **told})
                doc = replace(doc, **{key: getattr(checked, key) for key in told})
        except DataError as error:
            what = f"document {source.id!r}"
            problem = str(error).removeprefix(f"{what}: ").removeprefix(f"{what}, ")
            raise FormatError(self.path, f"{what}: {problem}", line=source.line) from error
        return fold(doc) if self._fold else doc

    def _mentions(
        self, source: BioCDocument, layout: Layout, mine: Mapping[str, Any], meta: dict[str, JSON]
    ) -> tuple[Mention, ...] | None:
        """Return the mentions, in the order they had; annotations without location go to `meta`."""
        found: list[Mention | None] = []
        unplaced: list[JSON] = []
        for annotation, passage in _annotations(source):
            if annotation.locations:
                try:
                    found.append(self._mention(annotation, passage, source.id, layout.text))
                except FormatError as error:
                    self.faults.leave_out(error)
                    found.append(None)
            else:
                unplaced.append(unplaced_meta(annotation))
        if unplaced:
            meta["annotations"] = unplaced
        if "mentions" in mine and not found:
            return None
        order = mine.get("order")
        if order is None:
            return tuple(mention for mention in found if mention)
        if not isinstance(order, list) or sorted(map(str, order)) != sorted(map(str, range(len(found)))):
            raise DataError(f"the infon '{OWN}order' must order {len(found)} mentions, found {order!r}")
        pairs = sorted(zip(order, found, strict=True), key=lambda pair: int(pair[0]))
        return tuple(mention for _, mention in pairs if mention)

    def _mention(self, annotation: BioCAnnotation, passage: int, document: str, text: str) -> Mention:
        place = placed(annotation, text, passage)
        what = f"document {document!r}, annotation {annotation.id!r}"
        if isinstance(place, str):
            error = FormatError(self.path, f"{what}: {place}", line=annotation.line)
            spans = [Span(offset, offset + length) for offset, length in annotation.locations]
            place = Placed(tuple(sorted(self.faults.move(error, text, annotation.text, spans))))
        if place.overlapped:
            self.odd.add("annotation whose locations overlap, joined", annotation.line or 0, what)
        if place.moved:
            kind = "annotation that stands up to five characters beside its text, moved there"
            self.odd.add(kind, annotation.line or 0, what)
        try:
            return _made(annotation, place.spans, document, text, self._rows)
        except DataError as error:
            problem = str(error).removeprefix(f"document {document!r}, mentions[0]: ")
            raise FormatError(self.path, f"{what}: {problem}", line=annotation.line) from error


def _made(annotation: BioCAnnotation, spans: tuple[Span, ...], document: str, text: str, rows: Rows | None) -> Mention:
    """Return the mention that an annotation with these spans is."""
    mine: dict[str, Any] = {}
    infons = annotation.infons
    if any(key.startswith(OWN) for key in infons):
        mine, infons = _own(infons, MENTION | PLAIN)
    types, concepts, meta = _linked(infons, mine)
    parts = spans if len(spans) > 1 else ()
    if parts and annotation.text and annotation.text != " ".join(text[start:end] for start, end in parts):
        meta["text"] = annotation.text
    if annotation.fields:
        meta["fields"] = annotation.fields
    id = "" if annotation.id.startswith(NONE) else annotation.id
    start, end = spans[0].start, spans[-1].end
    if not mine:
        return Mention(
            start, end, parts=parts, id=id, types=types, source="gold", concepts=concepts, meta=meta or EMPTY
        )
    value: dict[str, Any] = {"start": start, "end": end, "id": id, "types": list(types), "source": "gold"}
    value |= {"parts": [list(part) for part in parts]}
    value |= {} if concepts is None else {"concepts": list(concepts)}
    value |= {key: item for key, item in mine.items() if key != "infons"} | {"meta": meta}
    [mention] = from_json({"id": document, "text": text, "mentions": [value]}, rows).mentions or ()
    return mention


def _linked(infons: Infons, mine: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...] | None, dict[str, JSON]]:
    """Return types, concepts and meta of an annotation with these infons and our own."""
    meta: dict[str, JSON] = dict(mine.get("meta", ()))
    types = _strings(infons.get("type"))
    type = types[0] if len(types) == 1 else ",".join(types)
    concepts: tuple[str, ...] | None = None
    others: Infons = {}
    for key, value in infons.items():
        if key == "type" and types:
            continue
        prefix = prefix_of(key) if concepts is None else None
        ids = None if prefix is None else _id_field(value)
        if prefix is None or ids is None:
            others[key] = value
        else:
            concepts, kept = ids_in(ids, type, prefix)
            meta.update(kept)
    others |= mine.get("infons", {})
    if others:
        meta["infons"] = others
    return types, concepts, meta


def _id_field(value: JSON) -> str | None:
    """Return the value of an id infon as one field, None if it holds no ids; a key that stands twice gives several."""
    if value is None or value == "":
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return "|".join(_strings(value)) or None


def _strings(value: JSON) -> tuple[str, ...]:
    """Return the value of an infon as strings: one, or several where its key stands twice; none of anything else."""
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(str(item) for item in value)
    return ()


def _passage(source: BioCPassage, span: Span) -> Passage:
    mine, infons = _own(source.infons, PASSAGE)
    kind = _string(infons, "type")
    infons |= mine.get("infons", {})
    meta: dict[str, JSON] = dict(mine.get("meta", ()))
    told: list[JSON] = [
        {"start": sentence.offset, "end": sentence.offset + len(sentence.text), "infons": sentence.infons}
        for sentence in source.sentences
        if sentence.infons
    ]
    found: dict[str, JSON] = {"infons": infons, "sentences": told, "fields": source.fields}
    meta |= {key: value for key, value in found.items() if value}
    return Passage(span.start, span.end, kind, meta)


def _document_meta(
    mine: Mapping[str, Any], infons: Infons, source: BioCDocument, collection: BioCCollection
) -> dict[str, JSON]:
    meta: dict[str, JSON] = dict(mine.get("meta", ()))
    if "collection" not in mine and "collection" not in meta and collection != HEADER:
        told = collection.as_meta()
        if told:
            meta["collection"] = told
    infons |= mine.get("infons", {})
    found: dict[str, JSON] = {"infons": infons, "fields": source.fields}
    return meta | {key: value for key, value in found.items() if value}
