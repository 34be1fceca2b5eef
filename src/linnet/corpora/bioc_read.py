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

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from linnet.corpora.bioc import (
    HEADER,
    NONE,
    BioCAnnotation,
    BioCCollection,
    BioCDocument,
    BioCPassage,
    BioCRelation,
    Infons,
)
from linnet.corpora.bioc_fold import fold
from linnet.corpora.bioc_text import Placed, laid_out, placed
from linnet.corpora.extras import OWN, restored
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import ids_in, prefix_of, to_curie
from linnet.corpora.layout import hull
from linnet.corpora.relations import known_ids
from linnet.data import ASSERTIONS, JSON, Document, Mention, Passage, Rows, Span
from linnet.errors import DataError, FormatError
from linnet.frozen import EMPTY
from linnet.strict_json import parse
from linnet.vocabularies.malformed import Oddities

__all__ = ["ASSERTION", "Reader", "relation_meta", "unplaced_meta"]

ENTITIES = ("entity1", "entity2")  # infons of BioRED's relations
ASSERTION = "assertion"  # infon of a mention, ours if it holds one of our values
SOURCE = "linnet:source"  # what predictions had before there was one infon of ours: they must not become gold


def _ours(infons: Infons) -> dict[str, Any]:
    """Return what the infon of ours holds, nothing if it is not there."""
    told = infons.get(OWN, "{}")
    try:
        value = parse(told) if isinstance(told, str) else told
    except ValueError as error:
        raise DataError(f"the infon {OWN!r} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"the infon {OWN!r} must hold an object, found {value!r:.80}")
    return value


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

    >>> relation_meta(BioCRelation("R0", infons={"relation": "CID", "Chemical": "D015760"}))
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

    >>> unplaced_meta(BioCAnnotation("1", infons={"type": "MeSH heading", "identifier": "MESH:D012640"}))
    {'id': '1', 'infons': {'type': 'MeSH heading', 'identifier': 'MESH:D012640'}}
    """
    value: dict[str, JSON] = {"id": annotation.id, "infons": annotation.infons, "text": annotation.text}
    value["fields"] = annotation.fields
    return {key: item for key, item in value.items() if item}


def _annotations(source: BioCDocument, meta: dict[str, JSON]) -> list[tuple[BioCAnnotation, int]]:
    """Return the annotations of a document in the file's order, each with the offset of its passage.

    Those without location go to `meta`.
    """
    found = [(annotation, 0) for annotation in source.annotations]
    for passage in source.passages:
        found += [(annotation, passage.offset) for annotation in passage.annotations]
        for sentence in passage.sentences:
            found += [(annotation, passage.offset) for annotation in sentence.annotations]
    if unplaced := [unplaced_meta(annotation) for annotation, _ in found if not annotation.locations]:
        meta["annotations"] = unplaced
    return [pair for pair in found if pair[0].locations]


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
            ours = _ours(source.infons)
            layout = laid_out(source, self.path)
            passages = [_passage(*pair) for pair in zip(source.passages, layout.passages, strict=True)]
            meta = _document_meta(source, collection)
            mentions: list[Mention] = []
            found: dict[str, Any] = {}
            for annotation, passage in _annotations(source, meta):
                try:
                    mentions.append(self._mention(annotation, passage, source.id, layout.text))
                except FormatError as error:
                    self.faults.leave_out(error)
                    continue
                if OWN in annotation.infons:
                    found[str(len(mentions) - 1)] = _ours(annotation.infons)
            if relations := list(_relations(source)):
                known = known_ids(mentions)
                meta["relations"] = [relation_meta(relation, known) for relation in relations]
            doc = Document(
                source.id, layout.text, tuple(passages), layout.sentences, mentions=tuple(mentions), meta=meta
            )
            doc = _whole(doc, ours, found, self._rows)
        except DataError as error:
            what = f"document {source.id!r}"
            problem = str(error).removeprefix(f"{what}: ").removeprefix(f"{what}, ")
            raise FormatError(self.path, f"{what}: {problem}", line=source.line) from error
        return fold(doc) if self._fold else doc

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
            return _made(annotation, place.spans, text)
        except DataError as error:
            raise FormatError(self.path, f"{what}: {error}", line=annotation.line) from error


def _whole(doc: Document, ours: Mapping[str, Any], found: Mapping[str, Any], rows: Rows | None) -> Document:
    """Return `doc` with what is ours, of the document and by the place of mentions, unless somebody changed these."""
    rest = {key: value for key, value in ours.items() if key != "order"} | ({"mentions": found} if found else {})
    doc = restored(doc, rest, rows) if rest else doc
    order, mentions = ours.get("order"), doc.mentions or ()
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(map(str, range(len(mentions)))):
        return doc
    pairs = sorted(zip(order, mentions, strict=True), key=lambda pair: int(pair[0]))
    return replace(doc, mentions=tuple(mention for _, mention in pairs))


def _made(annotation: BioCAnnotation, spans: tuple[Span, ...], text: str) -> Mention:
    """Return the mention that an annotation with these spans is."""
    infons = dict(annotation.infons)
    assertion = infons.pop(ASSERTION) if infons.get(ASSERTION) in ASSERTIONS else ""
    types, concepts, meta = _linked(infons)
    if len(spans) > 1 and annotation.text and annotation.text != " ".join(text[start:end] for start, end in spans):
        meta["text"] = annotation.text
    if annotation.fields:
        meta["fields"] = annotation.fields
    return Mention(
        *hull(spans),
        id="" if annotation.id.startswith(NONE) else annotation.id,
        types=types,
        source=cast("Any", annotation.infons.get(SOURCE, "gold")),
        concepts=concepts,
        assertion=cast("Any", assertion),
        meta=meta or EMPTY,
    )


def _linked(infons: Infons) -> tuple[tuple[str, ...], tuple[str, ...] | None, dict[str, JSON]]:
    """Return types, concepts and meta of an annotation with these infons."""
    meta: dict[str, JSON] = {}
    types = _strings(infons.get("type"))
    type = types[0] if len(types) == 1 else ",".join(types)
    concepts: tuple[str, ...] | None = None
    others: Infons = {}
    for key, value in infons.items():
        if key == OWN or (key == "type" and types):
            continue
        prefix = prefix_of(key) if concepts is None else None
        ids = None if prefix is None else _id_field(value)
        if prefix is None or ids is None:
            others[key] = value
        else:
            concepts, kept = ids_in(ids, type, prefix)
            meta.update(kept)
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
    infons = dict(source.infons)
    kind = _string(infons, "type")
    told: list[JSON] = [
        {"start": sentence.offset, "end": sentence.offset + len(sentence.text), "infons": sentence.infons}
        for sentence in source.sentences
        if sentence.infons
    ]
    found: dict[str, JSON] = {"infons": infons, "sentences": told, "fields": source.fields}
    return Passage(span.start, span.end, kind, {key: value for key, value in found.items() if value})


def _document_meta(source: BioCDocument, collection: BioCCollection) -> dict[str, JSON]:
    infons = {key: value for key, value in source.infons.items() if key != OWN}
    told = {} if collection == HEADER else collection.as_meta()
    found: dict[str, JSON] = {"collection": told, "infons": infons, "fields": source.fields}
    return {key: value for key, value in found.items() if value}
