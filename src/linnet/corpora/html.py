"""Documents -> one self-contained HTML page for people who read the notes: open it, share it, print it, offline.

Documents travel as JSON islands, one each, written as they come; the page's script draws one document at a time. What
is known of a concept is written once, after the documents. No text becomes markup: islands hold no ``<``, and the
script only ever makes text nodes. A Content-Security-Policy names the page's own script and style by their hashes and
forbids everything else, the network included. The page is pure ASCII, so the encoding of the stream does not matter.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TextIO

from linnet.corpora.counting import utf16_units
from linnet.corpora.said import said
from linnet.data import Candidates, Concept, Document, Mention, by_position
from linnet.errors import DataError, UnknownConceptError
from linnet.text.web import asset, escape, island, page

__all__ = ["Concepts", "write_html"]

RUNNERS = 6  # candidates shown on a card; the others are counted
SNIPPET = 60  # characters of text that tell one document of the list from another
BRANCH_SHARE = 0.8  # a concept above more of the page's concepts than this tells them too little apart to be a branch
SAMPLE = 1_000  # concepts of a page by which that is judged
DOCUMENTS = "<!--documents-->"


class Concepts(Protocol):
    """What the page needs of a knowledge base; a `KnowledgeBase` is one.

    The attributes ``version`` (compared with that of candidates) and ``info`` (a mapping with ``name``, ``version`` and
    ``sources``, a JSON list of mappings of vocabulary, release, licence and citation) are used when they are there.
    """

    def __getitem__(self, row: int, /) -> Concept:
        """Return the concept in `row`."""
        ...

    def row(self, id: str, /) -> int:
        """Return the row of the concept `id`, of its successor if it is retired; else raise UnknownConceptError."""
        ...


def write_html(
    docs: Iterable[Document], stream: TextIO, *, kb: Concepts | None, title: str, notice: Sequence[str] = ()
) -> None:
    r"""Write `docs` to `stream` as one self-contained page.

    Documents are taken and written one by one; what stays in memory are ids and names of the concepts seen.

    Args:
        docs: linked documents; their mentions may lack concepts, candidates and probabilities.
        stream: an open text stream of any encoding.
        kb: names, definitions and parents of the concepts; without it the page shows ids.
        title: heading of the page.
        notice: lines shown at its top, such as the pipeline that made it.

    Raises:
        DataError: candidates hold rows and `kb` is None or of another version.

    >>> import io
    >>> page = io.StringIO()
    >>> write_html([Document.of("A <b> & c.")], page, kb=None, title="Notes")
    >>> "<b>" in page.getvalue(), "A \\u003cb\\u003e \\u0026 c." in page.getvalue()
    (False, True)
    """
    shelf = _Shelf(kb)
    source, *provenance = [*_knowledge_base_lines(kb), *notice]
    values = {
        "source": escape(source),
        "provenance": "".join(f'<li dir="auto">{escape(line)}</li>' for line in provenance),
    }
    files = ("page.html", "page.css", "page.js", "card.js")
    body, style, script, card = (asset("linnet.corpora", name) for name in files)
    whole = page(body, values, title=title, style=style, script=script + card)
    head, tail = whole.split(DOCUMENTS)
    stream.write(head)
    for doc in docs:
        stream.write(_document_island(doc, shelf))
    stream.write('<script type="application/json" id="concepts">{')
    for position, (id, entry) in enumerate(shelf.entries()):
        stream.write(f"{',' if position else ''}\n{island(id)}:{island(entry)}")
    stream.write("}</script>")
    stream.write(tail)


def _knowledge_base_lines(kb: Concepts | None) -> list[str]:
    """Return which knowledge base names and definitions come from, and what its sources ask to be said."""
    if kb is None:
        return ["No knowledge base was given: concepts are shown by their ids."]
    info: Mapping[str, str] = getattr(kb, "info", {})
    version = info.get("version") or getattr(kb, "version", "") or "unknown"
    sources = json.loads(info.get("sources", "[]"))
    releases = ", ".join(str(source["release"]) for source in sources if source.get("release"))
    name = " ".join(filter(None, [info.get("name", ""), f"({releases})" if releases else ""]))
    lines = [" ".join(filter(None, ["Knowledge base:", name, f"version {version}"]))]
    for source in sources:
        facts = [str(source[key]) for key in ("vocabulary", "release", "licence", "citation") if source.get(key)]
        lines += [f"From {', '.join(facts)}"] if facts else []
    return lines


# --- documents -------------------------------------------------------------------------------------------------------


def _document_island(doc: Document, shelf: _Shelf) -> str:
    """Return `doc` as a script element: what lists and filters need in an attribute, the rest inside."""
    mentions = None if doc.mentions is None else by_position(doc.mentions)
    ids = dict.fromkeys(id for mention in mentions or () for id in mention.concepts or ())
    types = dict.fromkeys(type for mention in mentions or () for type in mention.types)
    terminologies = dict.fromkeys(mention.terminology for mention in mentions or ()).keys() - {""}
    shelf.answers.update(ids)
    snippet = " ".join(doc.text[: 2 * SNIPPET].split())[:SNIPPET]
    index = escape(island([doc.id, len(mentions or ()), snippet, *map(list, (ids, types, sorted(terminologies)))]))
    units = utf16_units(doc.text)
    value = {
        "id": doc.id,
        "text": doc.text,
        "mentions": None if mentions is None else [_mention(mention, units, shelf) for mention in mentions],
    }
    return f'<script type="application/json" data-index="{index}">{island(value)}</script>\n'


def _mention(mention: Mention, units: Sequence[int], shelf: _Shelf) -> dict[str, Any]:
    """Return the short form of a mention: defaults are left out and made up for by the script."""
    value: dict[str, Any] = {"s": [[units[start], units[end]] for start, end in mention.spans]}
    if mention.concepts is not None:
        value["c"] = mention.concepts
    others = {"t": mention.types, "v": mention.terminology, "g": mention.group, "as": said(mention)}
    value |= {key: item for key, item in others.items() if item}
    if mention.source != "pred":
        value["o"] = mention.source
    if mention.probability is not None:
        value["p"] = mention.probability
    if mention.probability is not None or mention.calibration:
        value["k"] = mention.calibration
    if mention.alternatives:
        value["a"] = mention.alternatives
        shelf.others.update(dict.fromkeys(id for ids in mention.alternatives for id in ids))
    if mention.candidates is not None and len(mention.candidates):
        best = mention.candidates.top(RUNNERS)
        value["x"] = [list(entry) for entry in _candidates(best, shelf)]
        value["y"] = len(mention.candidates) - len(best)
    return value


def _candidates(candidates: Candidates, shelf: _Shelf) -> Iterator[tuple[Any, ...]]:
    """Yield (id or None for NIL, score) of each candidate, and its label where it was read without knowledge base."""
    ids = candidates.ids or tuple(shelf.id(int(row), candidates.kb) for row in candidates.rows)
    shelf.others.update(dict.fromkeys(id for id in ids if id is not None))
    labels = candidates.labels or (None,) * len(ids)
    for id, score, label in zip(ids, candidates.scores, labels, strict=True):
        number = float(str(score))  # the shortest decimal of a float32
        yield (id, number) if label is None or shelf.find(id or "") else (id, number, label)


# --- concepts --------------------------------------------------------------------------------------------------------


class _Shelf:
    """The concepts a page speaks of: answers are described in full, other candidates by name."""

    def __init__(self, kb: Concepts | None) -> None:
        self.kb = kb
        self.version: str = getattr(kb, "version", "")
        self.answers: dict[str, None] = {}
        self.others: dict[str, None] = {}
        self._ids: dict[int, str] = {}
        self._names: dict[str, str] = {}

    def id(self, row: int, version: str) -> str | None:
        """Return the id in `row` of the knowledge base `version`, None for NIL."""
        if row < 0:
            return None
        if self.kb is None:
            raise DataError(f"candidates hold row {row} of a knowledge base that was not given: pass it as kb")
        if version and self.version and version != self.version:
            raise DataError(
                f"candidates belong to knowledge base version {version}, the one given is {self.version}: "
                "link again, or give the one they were linked with"
            )
        if row not in self._ids:
            concept = self.kb[row]
            self._ids[row], self._names[concept.id] = concept.id, concept.name
        return self._ids[row]

    def find(self, id: str) -> Concept | None:
        """Return the concept `id`, or None if the knowledge base does not hold it."""
        if self.kb is None:
            return None
        try:
            return self.kb[self.kb.row(id)]
        except UnknownConceptError:
            return None

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield id and description of every concept: name, and for answers definition, synonyms, parents, branch."""
        branches: dict[str, str] = {}
        for ids in self._by_terminology():
            branches |= _Lineage(self).branches(ids)
        for id in self.answers:
            if concept := self.find(id):
                yield id, self._describe(concept, id, branches.get(id, ""))
        for id in dict.fromkeys(itertools.chain(branches.values(), self.others)):
            if id not in self.answers and (name := self._name(id)):
                yield id, {"n": name}

    def _by_terminology(self) -> Collection[list[str]]:
        """Return the answers of each terminology: the branches of one would be too wide beside another."""
        kbs: Mapping[str, Container[str]] = getattr(self.kb, "kbs", {})
        groups: dict[str, list[str]] = {}
        for id in self.answers:
            groups.setdefault(next((name for name, kb in kbs.items() if id in kb), ""), []).append(id)
        return groups.values()

    def _describe(self, concept: Concept, id: str, branch: str) -> dict[str, Any]:
        entry: dict[str, Any] = {"n": concept.name}
        if concept.id != id:
            entry["r"] = concept.id
        entry["d"] = concept.definition
        spellings: dict[str, str] = {}
        for name in concept.names:
            spellings.setdefault(name.text.casefold(), name.text)
        entry["s"] = list(spellings.values())[1:]
        entry["p"] = [self._name(parent) or parent for parent in concept.parents]
        entry["b"] = branch
        return {key: value for key, value in entry.items() if value}

    def _name(self, id: str) -> str:
        if id not in self._names:
            concept = self.find(id)
            self._names[id] = concept.name if concept else ""
        return self._names[id]


class _Lineage:
    """The ancestors of some concepts, to sort them into the branches that a reader can tell apart by colour."""

    def __init__(self, shelf: _Shelf) -> None:
        self.shelf = shelf
        self.parents: dict[str, tuple[str, ...]] = {}

    def branches(self, ids: Iterable[str]) -> dict[str, str]:
        """Return a branch for each of `ids` that has one: the nearest by steps, ties by id."""
        answers = list(ids)
        order = self._climb(answers)
        children: dict[str, list[str]] = {}
        for child, parents in self.parents.items():
            for parent in parents:
                children.setdefault(parent, []).append(child)
        rim = {node: node for node in self._level(answers, order, children)}
        found: dict[str, str] = {}
        while rim:
            found.update(rim)
            near = [(branch, child) for node, branch in rim.items() for child in children.get(node, ())]
            rim = {child: branch for branch, child in sorted(near, reverse=True) if child not in found}
        return {id: found[id] for id in answers if id in found}

    def _climb(self, ids: Iterable[str]) -> list[str]:
        """Return `ids` and all above them, each before what is above it, as far as there are no circles."""
        above_first: list[str] = []
        waiting = [(id, False) for id in ids]
        while waiting:
            id, done = waiting.pop()
            if done:
                above_first.append(id)
            elif id not in self.parents:
                concept = self.shelf.find(id)
                self.parents[id] = concept.parents if concept else ()
                waiting += [(id, True), *((parent, False) for parent in self.parents[id])]
        return above_first[::-1]

    def _level(self, ids: Sequence[str], order: Sequence[str], children: Mapping[str, Sequence[str]]) -> set[str]:
        """Return the branches: from the roots down for as long as one concept is above nearly everything."""
        chosen = ids[:: len(ids) // SAMPLE + 1]
        below = dict.fromkeys(order, 0) | {id: 1 << place for place, id in enumerate(chosen)}  # a bit for each of them
        changed = True
        while changed:  # once, where there are no circles
            changed = False
            for id in order:
                for parent in self.parents[id]:
                    if below[id] & ~below[parent]:
                        below[parent] |= below[id]
                        changed = True
        wide = {id for id, bits in below.items() if bits.bit_count() > BRANCH_SHARE * len(chosen) and id in children}
        wide -= set(ids)
        found = dict.fromkeys(node for node, parents in self.parents.items() if not parents)
        waiting = list(found)
        while waiting:
            if (node := waiting.pop()) in wide:
                new = [child for child in children[node] if child not in found]
                found.update(dict.fromkeys(new))
                waiting += new
        return found.keys() - wide
