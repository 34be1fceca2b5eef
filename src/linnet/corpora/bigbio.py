"""BigBIO-KB JSON: the knowledge base schema of BigBIO's data sets, a document each object.

===============================================  ====================================================================
member                                           becomes
===============================================  ====================================================================
``document_id`` (``id`` where there is none)     the document's id; without either, name and number in the file
``passages``                                     the text, and passages by type; what lies between them is blank
``entities``: ``id type text offsets``           mentions; several offsets are a discontinuous one
``normalized``: ``db_name db_id``                concepts; all of them hold; an id that means none, such as -1, is NIL;
                                                 an empty list means that nobody linked the mention
``relations``: ``type arg1_id arg2_id``          ``meta["relations"]`` with the roles arg1 and arg2
``events``, ``coreferences``                     ``meta["events"]``, ``meta["coreferences"]`` as they are
===============================================  ====================================================================

Offsets are code points into the whole document. A file is an array of documents, one document, or one a line. What the
schema has no place for is a member ``linnet`` of the document (`linnet.corpora.extras`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from linnet.corpora.extras import OWN, by_ids, rest, restored
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.ids import MISSING, VARIANT, read_ids
from linnet.corpora.layout import MAX_GAP, filler, hull
from linnet.corpora.names import Remembering
from linnet.corpora.sources import stem
from linnet.data import Document, Mention, Passage, Rows, Span
from linnet.errors import DataError, FormatError
from linnet.kb.curies import curie
from linnet.text.json_files import Node, dumps, loads, nodes

__all__ = ["read", "write"]

AS_THEY_ARE = ("events", "coreferences")
ROLES = ("arg1", "arg2")


# --- reading ---------------------------------------------------------------------------------------------------------


def read(path: str | Path, *, rows: Rows | None = None, name: str = "", faults: Faults = STOP) -> Iterator[Document]:
    """Yield the documents of a BigBIO-KB file, plain or gzip; its mentions are gold.

    Raises:
        FormatError: no JSON (with the line), or another schema: with the path of the member and what was expected.
    """
    for count, item in enumerate(_items(path), 1):
        try:
            yield restored(_document(item, f"{name or stem(path)}:{count}", faults), item.object().get(OWN), rows)
        except FormatError as error:
            faults.leave_out(error, whole=True)
        except DataError as error:
            faults.leave_out(item.fault(str(error)), whole=True)


def _items(path: str | Path) -> Iterator[Node]:
    for node in nodes(path):
        yield from node.items() if isinstance(node.value, list) else [node]


def _document(item: Node, name: str, faults: Faults = STOP) -> Document:
    if "passages" not in item.object():
        raise item.fault("is no document of BigBIO's KB schema: it has no passages")
    text, passages = _text(item)
    entities = item.each("entities")
    placed = (entity for entity in entities if entity.each("offsets"))
    mentions = faults.make_each(lambda entity: _mention(entity, text, faults), placed)
    unplaced = [entity.value for entity in entities if not entity.each("offsets")]
    meta: dict[str, Any] = {"bigbio_id": item.name("id", "")}
    id = item.name("document_id", meta["bigbio_id"] or name)
    if meta["bigbio_id"] in ("", id):
        del meta["bigbio_id"]
    if relations := [_relation(relation, id, place) for place, relation in enumerate(item.each("relations"))]:
        meta["relations"] = relations
    meta |= {key: [one.value for one in found] for key in AS_THEY_ARE if (found := item.each(key))}
    meta |= {"entities": unplaced} if unplaced else {}
    return Document(id, text, _given(passages, id, text), mentions=tuple(mentions), meta=meta)


def _text(item: Node) -> tuple[str, list[Passage]]:
    """Return the text that the passages make, blank where none of them stands, and the passages."""
    pieces: list[str] = []
    passages = []
    end = filled = 0
    for passage in sorted(item.each("passages"), key=_first):
        for text, (start, stop) in _stretches(passage):
            filled += start - end
            if start < end or filled > MAX_GAP:
                problem = f"the passage begins at {start}, what stands before it ends at {end}"
                problem += f" (gaps of {filled:,} characters, at most {MAX_GAP:,})" if filled > MAX_GAP else ""
                raise passage.fault(f"{problem}; offsets count code points of the document")
            if len(text) != stop - start:
                problem = (
                    f"the offsets {start}-{stop} have room for {stop - start} characters, the text has {len(text)}"
                )
                raise passage.fault(f"{problem}; offsets count code points of the document")
            pieces += [filler(start - end), text]
            end = stop
        spans = [span for _, span in _stretches(passage)]
        if spans:
            meta = {"id": name} if (name := passage.name("id", "")) else {}
            passages.append(Passage(spans[0].start, spans[-1].end, passage.text("type", ""), meta))
    return "".join(pieces), passages


def _first(passage: Node) -> int:
    spans = [span for _, span in _stretches(passage)]
    return spans[0].start if spans else 0


def _stretches(item: Node) -> list[tuple[str, Span]]:
    """Return the texts of a passage or an entity, each with its offsets."""
    said = _texts(item)
    spans = [_span(offsets) for offsets in item.member("offsets").items()]
    if len(said) == 1 and len(spans) > 1:  # of a discontinuous entity, in some data sets
        return [(said[0].string() if place == 0 else "", span) for place, span in enumerate(spans)]
    if len(said) != len(spans):
        raise item.fault(f"has {len(said)} texts and {len(spans)} offsets, expected as many of both")
    return [(text.string(), span) for text, span in zip(said, spans, strict=True)]


def _texts(item: Node) -> list[Node]:
    """Return the texts of a passage or an entity; some data sets have one that is in no list."""
    texts = item.member("text")
    return [texts] if isinstance(texts.value, str) else texts.items()


def _span(offsets: Node) -> Span:
    pair = offsets.items()
    if len(pair) != 2:
        raise offsets.expected("a start and an end")
    return Span(pair[0].offset(), pair[1].offset())


def _given(passages: Sequence[Passage], id: str, text: str) -> tuple[Passage, ...]:
    """Return passages without ids that counting would give them again; none where one without type is all there is."""
    if [(p.kind, p.meta.get("id"), p.start, p.end) for p in passages] == [("", _passage_id(id, 0), 0, len(text))]:
        return ()
    bare = [
        Passage(p.start, p.end, p.kind) if p.meta.get("id") == _passage_id(id, place) else p
        for place, p in enumerate(passages)
    ]
    return tuple(bare)


def _passage_id(id: str, place: int) -> str:
    return f"{id}_passage_{place}"


def _relation_id(id: str, place: int) -> str:
    return f"{id}_relation_{place}"


def _mention(entity: Node, text: str, faults: Faults) -> Mention:
    stretches = sorted(_stretches(entity), key=lambda stretch: stretch[1])
    spans = [span for _, span in stretches]
    if problem := _disagreement(stretches, text, whole=len(_texts(entity)) < len(spans)):
        said = " ".join(said for said, _ in stretches if said)
        spans = sorted(faults.move(entity.fault(problem), text, said, spans))
    normalized = [dict(one.object()) for one in entity.each("normalized")]
    type = entity.text("type", "")
    concepts = tuple(id for one in entity.each("normalized") for id in _concepts(one, type))
    written_otherwise = normalized != [_normal(id) for id in concepts]
    return Mention(
        *hull(spans),
        id=entity.name("id", ""),
        types=(type,) if type else (),
        source="gold",
        concepts=concepts if normalized else None,
        meta={"normalized": normalized} if written_otherwise else {},
    )


def _disagreement(stretches: Sequence[tuple[str, Span]], text: str, *, whole: bool) -> str:
    """Return what is wrong with the texts or offsets of an entity, if anything is; `whole`: there is one text alone."""
    for said, (start, end) in stretches:
        if not start < end <= len(text):
            return f"the span {start}-{end} is empty or lies outside the text of {len(text)} characters"
        if not whole and text[start:end] != said:
            problem = f"the offsets {start}-{end} say {text[start:end]!r}, the text {said!r}"
            return f"{problem}; offsets count code points of the document"
    return ""


def _concepts(one: Node, type: str) -> tuple[str, ...]:
    """Return the CURIEs of a name and an id, which may be several, or say that there is none (`read_ids`).

    An id that has a prefix of its own keeps it.
    """
    name, id = one.text("db_name", "").strip(), one.name("db_id", "").strip()
    if id in MISSING:
        return ()
    if not name or ":" in id:
        return read_ids(id, type)[0]
    parts = [part.strip() for part in id.split("|")] if not VARIANT.search(id) else [id]
    return tuple(curie(f"{name}:{part}") for part in parts if part not in MISSING)


def _relation(relation: Node, id: str, place: int) -> dict[str, Any]:
    args = [{"role": role, "ref": relation.name(f"{role}_id")} for role in ROLES]
    made: dict[str, Any] = {"type": relation.text("type", ""), "args": args}
    if (name := relation.name("id", "")) not in ("", _relation_id(id, place)):
        made["id"] = name
    normalized = [one.value for one in relation.each("normalized")]
    return made | ({"meta": {"normalized": normalized}} if normalized else {})


# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as one array, a document a line, and return how many.

    Raises:
        DataError: candidates of another knowledge base than `rows`, or rows without one.
    """
    known = Remembering.of(rows)
    count = 0
    for doc in docs:
        out.write((",\n" if count else "[\n") + _line(by_ids(doc, known)))
        count += 1
    out.write("\n]\n" if count else "[]\n")
    return count


def _line(doc: Document) -> str:
    what = f"document {doc.id!r}"
    value = loads(dumps(_written(doc), what))
    if ours := rest(doc, _document(Node(value, what, 1), doc.id)):
        value[OWN] = ours
    return dumps(value, what)


def _written(doc: Document) -> dict[str, Any]:
    """Return a document in BigBIO's schema: whatever of it has a place there."""
    entities: list[Any] = [_entity(doc, mention, place) for place, mention in enumerate(doc.mentions or ())]
    told = {key: doc.meta.get(key) for key in ("entities", *AS_THEY_ARE)}
    listed = {key: list(value) if isinstance(value, (list, tuple)) else [] for key, value in told.items()}
    sound = all(isinstance(one, Mapping) and not one.get("offsets") for one in listed["entities"])
    number = doc.meta.get("bigbio_id")
    return {
        "id": number if isinstance(number, str) and number else doc.id,
        "document_id": doc.id,
        "passages": _passages(doc),
        "entities": entities + (listed["entities"] if sound else []),
        **{key: listed[key] for key in AS_THEY_ARE},
        "relations": _relations(doc),
    }


def _passages(doc: Document) -> list[dict[str, Any]]:
    """Return the passages where they stand in order with nothing but blanks between, else one for the whole text."""
    end = 0
    for passage in (*doc.passages, Passage(len(doc.text), len(doc.text))):
        if passage.start < end or doc.text[end : passage.start] != filler(passage.start - end):
            return [_passage(doc, Passage(0, len(doc.text)), 0)]
        end = passage.end
    held = doc.passages[-1].end if doc.passages else 0
    if (doc.text and not held) or any(mention.end > held for mention in doc.mentions or ()):  # blanks, marked or alone
        return [_passage(doc, Passage(0, len(doc.text)), 0)]
    return [_passage(doc, passage, place) for place, passage in enumerate(doc.passages)]


def _passage(doc: Document, passage: Passage, place: int) -> dict[str, Any]:
    name = passage.meta.get("id")
    return {
        "id": name if isinstance(name, str) and name else _passage_id(doc.id, place),
        "type": passage.kind,
        "text": [doc.text[passage.start : passage.end]],
        "offsets": [[passage.start, passage.end]],
    }


def _entity(doc: Document, mention: Mention, place: int) -> dict[str, Any]:
    normalized: Any = mention.meta.get("normalized")
    if not normalized or not _still(normalized, mention):
        normalized = [_normal(id) for id in mention.concepts or ()]
    return {
        "id": mention.id or f"{doc.id}_entity_{place}",
        "type": mention.types[0] if mention.types else "",
        "text": [doc.text[start:end] for start, end in mention.spans],
        "offsets": [list(span) for span in mention.spans],
        "normalized": normalized,
    }


def _still(normalized: Any, mention: Mention) -> bool:
    """Return whether what an entity was read with means its concepts still."""
    if not isinstance(normalized, (list, tuple)):
        return False
    type = mention.types[0] if mention.types else ""
    try:
        said = [_concepts(Node(one, "", 1), type) for one in normalized]
    except FormatError:
        return False
    return tuple(itertools.chain.from_iterable(said)) == mention.concepts


def _normal(id: str) -> dict[str, str]:
    prefix, colon, local = id.partition(":")
    return {"db_name": prefix, "db_id": local} if colon else {"db_name": "", "db_id": id}


def _relations(doc: Document) -> list[dict[str, Any]]:
    """Return the relations between two: those of more are no relations to BigBIO."""
    told = doc.meta.get("relations")
    found = [_pair(relation, doc.id, place) for place, relation in enumerate(told if isinstance(told, tuple) else ())]
    return [relation for relation in found if relation is not None]


def _pair(relation: Any, id: str, place: int) -> dict[str, Any] | None:
    args = relation.get("args") if isinstance(relation, Mapping) else None
    if not isinstance(args, tuple) or len(args) != 2 or not all(isinstance(arg, Mapping) for arg in args):
        return None
    refs = [arg.get("ref") for arg in args]
    if not all(isinstance(text, str) for text in (*refs, relation.get("type", ""), relation.get("id", ""))):
        return None
    meta = relation.get("meta")
    normalized = meta.get("normalized") if isinstance(meta, Mapping) else None
    return {
        "id": relation.get("id") or _relation_id(id, place),
        "type": relation.get("type", ""),
        "arg1_id": refs[0],
        "arg2_id": refs[1],
        "normalized": normalized if isinstance(normalized, tuple) else [],
    }
