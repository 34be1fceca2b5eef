"""spaCy's DocBin (``.spacy``): the binary form of annotated documents that spaCy trains on; extra ``spacy``.

Mentions are entities with label and knowledge base id (``NIL``, spaCy's word for none, is an answer without concepts);
those that overlap others are in the span group ``sc`` too. Other span groups, which hold coreference and the like, are
left out with a warning. Tokens are those of spaCy's rules for English, cut where a mention begins or ends. What spaCy
has no place for is JSON in the user data, under ``linnet`` (`linnet.corpora.extras`); other programs leave it alone.
"""

from __future__ import annotations

import importlib
import itertools
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO, cast

from linnet.corpora.extras import OWN, by_ids, rest, restored
from linnet.corpora.ids import to_curie
from linnet.corpora.names import Remembering
from linnet.corpora.sources import stem
from linnet.data import Document, Mention, Rows, Span, by_position
from linnet.errors import DataError, FormatError, MissingExtraError
from linnet.reporter import warn
from linnet.text.files import BOMB_BYTES, BOMB_RATIO, open_bytes, shown
from linnet.text.json_files import dumps, loads

__all__ = ["import_spacy", "read", "write"]

CHUNK = 1 << 20
GROUP = "sc"  # where spaCy's span categoriser looks
NIL = "NIL"  # what spaCy's entity linker gives what it finds nothing for
ATTRIBUTES = ("ENT_IOB", "ENT_TYPE", "ENT_KB_ID")


def import_spacy() -> Any:
    """Return spaCy.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module("spacy")
    except ModuleNotFoundError as error:
        raise MissingExtraError("spacy", extra="spacy", wanted_by="the corpus format spacy") from error


# --- reading ---------------------------------------------------------------------------------------------------------


def read(path: str | Path, *, rows: Rows | None = None, name: str = "") -> Iterator[Document]:
    """Yield the documents of a DocBin; entities of documents that Linnet did not write are gold.

    A document's id is the name and its number, ``train:7``, unless Linnet wrote it. Its categories stay in
    ``meta["cats"]``, values of custom attributes that are JSON in ``meta["extensions"]``.

    Raises:
        MissingExtraError: spaCy is not installed.
        FormatError: no DocBin, or what unpacks to more than `BOMB_RATIO` times its size.
    """
    spacy = import_spacy()
    file = shown(path)
    with open_bytes(path) as stream:
        packed = stream.read()
    _refuse_bombs(packed, file)
    try:
        docs = list(spacy.tokens.DocBin().from_bytes(packed).get_docs(spacy.vocab.Vocab()))
        left_out = +_left_out(docs)
    except Exception as error:  # whatever spaCy stumbles over in a damaged file
        problem = f"is no DocBin that spaCy {spacy.__version__} can read: {type(error).__name__}: {error}"
        raise FormatError(file, problem) from error
    if left_out:
        named = ", ".join(f"{key} ({count:,})" for key, count in sorted(left_out.items()))
        warn(f"{file}: left out: span groups other than {GROUP!r}: {named}")
    for number, doc in enumerate(docs, 1):
        try:
            yield restored(_document(doc, f"{name or stem(path)}:{number}"), _ours(doc.user_data.get(OWN)), rows)
        except Exception as error:  # spaCy looks up texts and spans late, and what is damaged may lack any of them
            said = isinstance(error, (DataError, ValueError, TypeError))
            problem = str(error) if said else f"{type(error).__name__}: {error}"
            raise FormatError(file, f"document {number}: {problem}") from error


def _left_out(docs: Iterable[Any]) -> Counter[str]:
    """Return how many spans are in groups that are not read: what they stand for, only who made them knows."""
    found: Counter[str] = Counter()
    for doc in docs:
        found.update({str(key): len(spans) for key, spans in doc.spans.items() if key != GROUP})
    return found


def _refuse_bombs(packed: bytes, file: str) -> None:
    limit = max(BOMB_BYTES, BOMB_RATIO * len(packed))
    unpacking, rest, size = zlib.decompressobj(), packed, 0
    try:
        while rest and not unpacking.eof:
            size += len(unpacking.decompress(rest, CHUNK))
            rest = unpacking.unconsumed_tail
            if size > limit:
                raise FormatError(file, f"unpacks to more than {limit:,} bytes: refused as a bomb")
    except zlib.error as error:
        raise FormatError(file, f"is no DocBin: expected what spaCy's DocBin.to_disk writes ({error})") from error


def _document(doc: Any, id: str) -> Document:
    spans = dict.fromkeys(_place(span) for span in (*doc.ents, *doc.spans.get(GROUP, ())))
    linked = {(start, end, label) for start, end, label, kb_id in spans if kb_id}
    found = [
        Mention(start, end, types=(label,) if label else (), source="gold", concepts=_concepts(kb_id, label))
        for start, end, label, kb_id in spans
        if start < end and (kb_id or (start, end, label) not in linked)
    ]
    meta: dict[str, Any] = {"cats": json.loads(json.dumps(doc.cats, allow_nan=False))} if doc.cats else {}
    if extensions := dict(_extensions(doc.user_data)):
        meta["extensions"] = extensions
    sentences = None
    if doc.has_annotation("SENT_START"):
        sentences = tuple(Span(sentence.start_char, sentence.end_char) for sentence in doc.sents)
    return Document(id, doc.text, sentences=sentences, mentions=by_position(found), meta=meta)


def _place(span: Any) -> tuple[int, int, str, str]:
    return span.start_char, span.end_char, span.label_, span.kb_id_


def _concepts(kb_id: str, label: str) -> tuple[str, ...] | None:
    return () if kb_id == NIL else (to_curie(kb_id, label),) if kb_id else None


def _ours(data: Any) -> Any:
    """Return what Linnet wrote beside what spaCy has a place for; None in documents of others."""
    if data is None:
        return None
    if not isinstance(data, str):
        raise DataError(f"user data {OWN!r}: expected a text of JSON, found {data!r:.80}")
    return loads(data)


def _extensions(user_data: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the custom attributes of a whole document that are JSON."""
    for key, value in user_data.items():
        if isinstance(key, tuple) and len(key) == 4 and key[0] == "._." and key[2] is None:
            try:
                yield str(key[1]), json.loads(json.dumps(value, allow_nan=False))
            except (TypeError, ValueError):
                continue


# --- writing ---------------------------------------------------------------------------------------------------------


def write(docs: Iterable[Document], out: TextIO, *, rows: Rows | None = None) -> int:
    """Write documents as one DocBin and return how many; all are held in memory.

    Raises:
        MissingExtraError: spaCy is not installed.
        DataError: candidates of another knowledge base than `rows`, or rows without one.
    """
    spacy = import_spacy()
    known = Remembering.of(rows)
    tokenizer = spacy.blank("en").tokenizer
    store = spacy.tokens.DocBin(attrs=list(ATTRIBUTES), store_user_data=True)
    for doc in docs:
        store.add(_written(by_ids(doc, known), spacy, tokenizer))
    out.flush()
    binary = cast("Any", out).buffer
    binary.write(store.to_bytes())
    return len(store)


def _written(doc: Document, spacy: Any, tokenizer: Any) -> Any:
    try:
        tokens = [Span(token.idx, token.idx + len(token)) for token in tokenizer(doc.text)]
    except UnicodeEncodeError as error:
        raise DataError(f"document {doc.id!r} cannot be written for spaCy: {error}") from error
    words, spaces, begins, ends = _cut(doc, tokens)
    made = spacy.tokens.Doc(tokenizer.vocab, words=words, spaces=spaces)

    def span(mention: Mention) -> Any:
        label, kb_id = (mention.types or ("",))[0], _kb_id(mention)
        return spacy.tokens.Span(made, begins[mention.start], ends[mention.end], label=label, kb_id=kb_id)

    outer, others = _entities(doc)
    made.set_ents([span(mention) for mention in outer])
    if others:
        made.spans[GROUP] = [span(mention) for mention in by_position(doc.mentions or ())]
    # the format has no id of documents
    made.user_data[OWN] = dumps({"id": doc.id} | rest(doc, _document(made, doc.id)), f"document {doc.id!r}")
    return made


def _kb_id(mention: Mention) -> str:
    if mention.concepts is None:
        return ""
    return mention.concepts[0] if mention.concepts else NIL


def _entities(doc: Document) -> tuple[list[Mention], list[Mention]]:
    """Return the mentions that can be spaCy's entities, which have a label and do not overlap, and the others."""
    outer: list[Mention] = []
    others: list[Mention] = []
    end = 0
    for mention in by_position(doc.mentions or ()):
        fits = mention.start >= end and mention.types[:1] not in ((), ("",))
        (outer if fits else others).append(mention)
        end = mention.end if fits else end
    return outer, others


def _cut(doc: Document, tokens: Iterable[Span]) -> tuple[list[str], list[bool], dict[int, int], dict[int, int]]:
    """Return words, whether a blank follows each, and which word begins, or is the last before, a mention's borders.

    A blank between two words belongs to the first, as spaCy has it, unless a mention begins or ends with it.
    """
    starts = {mention.start for mention in doc.mentions or ()}
    stops = {mention.end for mention in doc.mentions or ()}
    borders = sorted({0, len(doc.text), *starts, *stops, *(place for token in tokens for place in token)})
    words: list[str] = []
    spaces: list[bool] = []
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    for start, end in itertools.pairwise(borders):
        word = doc.text[start:end]
        if word == " " and words and not spaces[-1] and start not in starts and end not in stops:
            spaces[-1] = True
            continue
        begins[start] = len(words)
        words.append(word)
        spaces.append(False)
        ends[end] = len(words)
    return words, spaces, begins, ends
