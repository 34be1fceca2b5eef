"""BioC as it lies in a file, XML or JSON: the tree of elements, before it becomes documents.

A collection holds documents, a document passages, a passage a text or sentences; annotations point into the text and
relations at annotations; every one of them carries infons, which are keys with values (Comeau et al., *BioC: a
minimalist approach to interoperability for biomedical text processing*, Database 2013). Offsets count characters from
the start of the document, in passages, sentences and annotations alike. Turned into a `linnet.data.Document` by
`linnet.corpora.bioc_read`, made from one by `linnet.corpora.bioc_write`.

What BioC has no place for is the infon ``linnet`` of an annotation or of the document: JSON, made as
`linnet.corpora.extras` tells, and in a document's also ``order``, that of the mentions, where it is not the passages'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from linnet.data import JSON

__all__ = [
    "DIGITS",
    "HEADER",
    "KINDS",
    "LISTS",
    "NONE",
    "NUMBERS",
    "BioCAnnotation",
    "BioCCollection",
    "BioCDocument",
    "BioCPassage",
    "BioCRelation",
    "BioCSentence",
    "Infons",
    "Kind",
    "Location",
    "Node",
]

NONE = "linnet:none"  # begins the ids of annotations for mentions without one: tools of the field expect an id
DIGITS = 100  # more make no offset that any file could have, and Python refuses thousands
Infons: TypeAlias = dict[str, JSON]  # XML: strings, or a list of strings where a key stands twice; JSON: any value


class Location(NamedTuple):
    """Where an annotation stands: characters from the start of the document."""

    offset: int
    length: int


class Node(NamedTuple):
    """What takes part in a relation, and as what."""

    refid: str
    role: str


@dataclass(slots=True, kw_only=True)
class Element:
    """What all elements but locations and nodes have.

    ``fields`` are members of a JSON object that BioC does not have; ``line`` is where the element stands in its file.
    """

    infons: Infons = field(default_factory=dict)
    fields: Mapping[str, JSON] = field(default_factory=dict)
    line: int | None = field(default=None, compare=False)


@dataclass(slots=True)
class BioCAnnotation(Element):
    """A stretch of text, in several locations if discontinuous."""

    id: str = ""
    locations: list[Location] = field(default_factory=list)
    text: str = ""


@dataclass(slots=True)
class BioCRelation(Element):
    """A relation between annotations or other relations."""

    id: str = ""
    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Marked(Element):
    annotations: list[BioCAnnotation] = field(default_factory=list)
    relations: list[BioCRelation] = field(default_factory=list)


@dataclass(slots=True)
class BioCSentence(_Marked):
    """A sentence with its own offset and text."""

    offset: int = 0
    text: str = ""


@dataclass(slots=True)
class BioCPassage(_Marked):
    """A part of a document; ``text`` is None where only sentences give it."""

    offset: int = 0
    text: str | None = None
    sentences: list[BioCSentence] = field(default_factory=list)


@dataclass(slots=True)
class BioCDocument(_Marked):
    """A document: passages, and the annotations and relations that stand beside them."""

    id: str = ""
    passages: list[BioCPassage] = field(default_factory=list)


@dataclass(slots=True)
class BioCCollection(Element):
    """What stands before the documents of a collection."""

    source: str = ""
    date: str = ""
    key: str = ""
    version: str = ""

    def as_meta(self) -> dict[str, JSON]:
        """Return what a document's ``meta["collection"]`` keeps of it: everything that is not empty.

        >>> BioCCollection(source="PubTator", key="PubTator.key").as_meta()
        {'source': 'PubTator', 'key': 'PubTator.key'}
        """
        values: dict[str, JSON] = {"source": self.source, "date": self.date, "key": self.key, "version": self.version}
        values |= {"infons": self.infons, "fields": self.fields}
        return {key: value for key, value in values.items() if value}


HEADER = BioCCollection(source="Linnet", key="linnet.key")  # of documents that came without a collection


class Kind(NamedTuple):
    """How elements of one name look in a file.

    ``attributes`` and ``children`` are members of an object in JSON; in XML a child in the plural stands for any number
    of elements. ``lacks`` is what to say where the first member that must be there is not. ``strict``: members that
    BioC does not have are left out.
    """

    make: Callable[..., Any]
    attributes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    needs: str = ""
    lacks: str = ""
    strict: bool = False


NUMBERS = frozenset({"offset", "length"})
OFFSET = ("infons", "offset", "text")
MARKS = ("annotations", "relations")
KINDS = {
    "collection": Kind(BioCCollection, children=("source", "date", "key", "version", "infons")),
    "document": Kind(
        BioCDocument, children=("id", "infons", "passages", *MARKS), needs="id", lacks="this document has no id"
    ),
    "passage": Kind(
        BioCPassage, children=(*OFFSET, "sentences", *MARKS), needs="offset", lacks="this passage has no offset"
    ),
    "sentence": Kind(
        BioCSentence, children=(*OFFSET, *MARKS), needs="offset", lacks="this sentence has no offset", strict=True
    ),
    "annotation": Kind(BioCAnnotation, ("id",), ("infons", "locations", "text")),
    "relation": Kind(BioCRelation, ("id",), ("infons", "nodes"), strict=True),
    "location": Kind(Location, ("offset", "length"), strict=True),
    "node": Kind(Node, ("refid", "role"), needs="refid", lacks="a node without refid", strict=True),
}
LISTS = {f"{name}s": name for name in KINDS if name not in ("collection", "document")}
