"""OBO files to concepts: any OBO 1.2 or 1.4 file as really published; OWL, OBO graphs and Turtle are not read.

How a file's facts become `Concept` records:

- ``name`` is the preferred name, synonyms follow in the file's order with their scope (none stated: related); the
  synonym's type (``layperson``, ``abbreviation``) is the name's ``source``. A synonym that repeats a name with the
  same scope is left out.
- ``is_a`` alone gives parents; targets that are not in the file are left out with a warning.
- ``xref`` is kept up to the first blank; prefixes, of ids too, have the usual spelling (`linnet.kb.curies`).
- ``alt_id`` gives a retired concept that leads to the term, unless a stanza has that id.
- An obsolete term is retired: ``replaced_by`` is followed to a live term; without one, a live term that has the id as
  ``alt_id`` is its successor; ``consider`` is a suggestion for people and not used. It keeps names and definition.
- Typedefs and instances are not concepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from linnet.data import SCOPES, Concept, Name
from linnet.errors import FormatError, LinnetError, did_you_mean
from linnet.kb.curies import curie
from linnet.kb.cycles import ends_of
from linnet.text.files import shown
from linnet.vocabularies.malformed import Oddities
from linnet.vocabularies.obo_lines import OTHERS, Stanza, Value, first_word, plain, quoted, read_stanzas, synonym

__all__ = ["Types", "read_obo", "read_obo_header"]

Types: TypeAlias = Literal["auto", "branch", "namespace", "none"]
TYPES = ("auto", "branch", "namespace", "none")
OLD_SYNONYMS = {f"{scope}_synonym": scope for scope in SCOPES}
XREFS = ("xref", "xref_analog", "xref_unk")


def read_obo_header(path: str | Path) -> dict[str, str]:
    """Return the header of an OBO file (``data-version``, ``ontology``, ``default-namespace`` and so on).

    A ``property_value`` stands under its relation (``dc:title``, ``terms:license``); values of a tag that occurs
    several times are joined by line breaks.

    Raises:
        FormatError: the file cannot be read, or is no OBO file.
    """
    header = next(read_stanzas(Path(path)))
    found: dict[str, list[str]] = {}
    for tag, values in header.tags.items():
        for value in values:
            if tag == "property_value":
                relation, _, rest = value.text.strip().partition(" ")
                text = quoted(Value(value.line, rest), path, tag)[0] if rest.startswith('"') else first_word(rest)
                found.setdefault(relation, []).append(text)
            else:
                found.setdefault(tag, []).append(plain(value.text))
    return {tag: "\n".join(texts) for tag, texts in found.items()}


def read_obo(
    path: str | Path, *, prefix: str | Sequence[str] | None = None, types: Types = "auto"
) -> Iterator[Concept]:
    """Yield the concepts of an OBO file: its terms in the file's order, then the retired alternative ids.

    Args:
        path: the file, plain or gzip.
        prefix: keep only ids with this prefix ("HP") or these: files often carry stubs of other ontologies.
        types: what `Concept.types` holds: "namespace", the term's namespace; "branch", the names of the direct
            children of the root that lie above the term (in the HPO "Phenotypic abnormality", "Mode of
            inheritance", …); "none"; "auto" takes namespaces where the file has several and branches otherwise.

    Raises:
        FormatError: a file that cannot be read, with the line.
        LinnetError: `types` is none of the four.
    """
    if types not in TYPES:
        raise LinnetError(f"types is {types!r}, expected one of {', '.join(TYPES)}{did_you_mean(types, TYPES)}")
    terms = _Terms(path, [prefix] if isinstance(prefix, str) else prefix)
    type_of = terms.types(types)
    for id, stanza in terms.stanzas.items():
        yield terms.concept(id, stanza, type_of.get(id, ()))
    for id, (owner, line) in terms.alternatives.items():
        if id not in terms.stanzas and terms.wanted(id):
            yield Concept(id, replaced_by=terms.live(owner), origin=terms.origin(line))
    terms.odd.warn()


class _Terms:
    """All terms of one file by id, and what has to be known of all before one can be told."""

    def __init__(self, path: str | Path, prefix: Sequence[str] | None) -> None:
        self.path = shown(path)
        self.odd = Oddities(self.path)
        self._prefixes = None if prefix is None else {curie(f"{one}:").removesuffix(":") for one in prefix}
        self.stanzas: dict[str, Stanza] = {}
        self.others: set[str] = set()  # terms in the file that the prefix leaves out
        self.namespace = ""
        for stanza in read_stanzas(Path(path)):
            if stanza.kind == "Term":
                self._add(stanza)
            elif not stanza.kind:
                self.namespace = self._text(stanza, "default-namespace")
        if not self.stanzas:
            kind = f" with the prefix {', '.join(prefix)}" if prefix else ""
            raise FormatError(self.path, f"holds no [Term] stanza{kind}: is it a complete OBO file? {OTHERS}")
        obsolete = {id: self._word(stanza, "is_obsolete").lower() for id, stanza in self.stanzas.items()}
        self.retired = {id for id, word in obsolete.items() if word in ("true", "1")}
        self.alternatives = self._alternatives()
        self._ends = ends_of({id: self._successor(id) for id in self.retired})

    def origin(self, line: int) -> str:
        return f"{self.path}:{line}"

    def wanted(self, id: str) -> bool:
        return self._prefixes is None or id.partition(":")[0] in self._prefixes

    def _add(self, stanza: Stanza) -> None:
        id = self._word(stanza, "id")
        if not id:
            raise FormatError(self.path, "this [Term] stanza has no id", line=stanza.line)
        if id in self.stanzas:
            problem = f"the id {id} has a [Term] stanza already in line {self.stanzas[id].line}"
            raise FormatError(self.path, problem, line=stanza.line)
        if self.wanted(id):
            self.stanzas[id] = stanza
        else:
            self.others.add(id)

    # --- tags

    def _texts(self, stanza: Stanza, tag: str, read: Callable[[str], str] = plain) -> Iterator[tuple[int, str]]:
        for line, raw in stanza.tags.get(tag, ()):
            text = read(raw)
            if not text:
                raise FormatError(self.path, f"the tag {tag!r} has no value", line=line)
            yield line, text

    def _text(self, stanza: Stanza, tag: str) -> str:
        return next((text for _, text in self._texts(stanza, tag)), "")

    def _words(self, stanza: Stanza, tag: str) -> Iterator[tuple[int, str]]:
        return ((line, curie(word)) for line, word in self._texts(stanza, tag, first_word))

    def _word(self, stanza: Stanza, tag: str) -> str:
        return next((word for _, word in self._words(stanza, tag)), "")

    # --- retired ids

    def _alternatives(self) -> dict[str, tuple[str, int]]:
        """Return alternative id -> (the term that has it, line); live terms are asked before obsolete ones."""
        found: dict[str, tuple[str, int]] = {}
        for id in [*(id for id in self.stanzas if id not in self.retired), *sorted(self.retired)]:
            for line, other in self._words(self.stanzas[id], "alt_id"):
                if other in self.stanzas and other not in self.retired:
                    if other != id:
                        self.odd.add("alt_id that is a live term itself, ignored", line, other)
                elif other in found and found[other][0] != id:
                    self.odd.add("alt_id of a second term, the first keeps it", line, other)
                else:
                    found[other] = (id, line)
        return found

    def live(self, id: str) -> str:
        """Return the live term that `id` leads to, or ``""``."""
        end = self._ends.get(id, id)
        return end if end in self.stanzas and end not in self.retired else ""

    def _successor(self, id: str) -> str:
        known = [word for _, word in self._words(self.stanzas[id], "replaced_by") if word in self.stanzas]
        return known[0] if known else self.alternatives.get(id, ("", 0))[0]

    def _replaced_by(self, id: str, stanza: Stanza) -> str | None:
        if id not in self.retired:
            return None
        found = list(self._words(stanza, "replaced_by"))
        target = self.live(id)
        for line, word in found:
            if word not in self.stanzas and word not in self.others:
                self.odd.add("replaced_by a term that is not in the file, ignored", line, word)
        if len(found) > 1:
            self.odd.add("more than one replaced_by, the first is taken", found[1][0], id)
        elif found and not target and not any(word in self.others for _, word in found):
            self.odd.add("replaced_by leads to no live term", found[0][0], f"{id} -> {found[0][1]}")
        return target

    # --- hierarchy and types

    def parents(self, id: str, *, tell: bool = False) -> tuple[str, ...]:
        if id in self.retired:
            return ()
        found = []
        for line, parent in self._words(self.stanzas[id], "is_a"):
            if parent in self.stanzas and parent not in self.retired:
                found.append(parent)
            elif tell and parent in self.retired:
                self.odd.add("is_a of an obsolete term, left out", line, f"{id} is_a {parent}")
            elif tell and parent not in self.others:
                self.odd.add("is_a of a term that is not in the file, left out", line, f"{id} is_a {parent}")
        return tuple(dict.fromkeys(found))

    def types(self, types: Types) -> Mapping[str, tuple[str, ...]]:
        namespaces = {id: self._text(stanza, "namespace") or self.namespace for id, stanza in self.stanzas.items()}
        if types == "auto":
            types = "namespace" if len(set(namespaces.values())) > 1 else "branch"
        if types == "namespace":
            return {id: (name,) for id, name in namespaces.items() if name and id not in self.retired}
        return self._branches() if types == "branch" else {}

    def _branches(self) -> dict[str, tuple[str, ...]]:
        children: dict[str, list[str]] = {}
        roots = []
        for id in self.stanzas:
            above = self.parents(id)
            for parent in above:
                children.setdefault(parent, []).append(id)
            if not above and id not in self.retired:
                roots.append(id)
        found: dict[str, tuple[str, ...]] = {}
        for branch in dict.fromkeys(child for root in roots for child in children.get(root, ())):
            name = self._text(self.stanzas[branch], "name") or branch
            below, stack = {branch}, [branch]
            while stack:
                new = [child for child in children.get(stack.pop(), ()) if child not in below]
                below.update(new)
                stack += new
            for id in below:
                found[id] = (*found.get(id, ()), name)
        return found

    # --- the concept

    def concept(self, id: str, stanza: Stanza, types: tuple[str, ...]) -> Concept:
        definition = stanza.tags.get("def")
        xrefs = (curie(first_word(text)) for tag in XREFS for _, text in stanza.tags.get(tag, ()))
        return Concept(
            id,
            names=self._names(id, stanza),
            types=types,
            definition=quoted(definition[0], self.path, "def")[0].strip() if definition else "",
            parents=self.parents(id, tell=True),
            xrefs=tuple(dict.fromkeys(xref for xref in xrefs if xref)),
            replaced_by=self._replaced_by(id, stanza),
            origin=self.origin(stanza.line),
        )

    def _names(self, id: str, stanza: Stanza) -> tuple[Name, ...]:
        names = [Name(text) for _, text in self._texts(stanza, "name")]
        for line, text in list(self._texts(stanza, "name"))[1:]:
            self.odd.add("second name of a term, taken as an exact synonym", line, f"{id} {text!r}")
        if not names:
            self.odd.add("term without a name, called by its first synonym or its id", stanza.line, id)
        names += [synonym(value, self.path) for value in stanza.tags.get("synonym", ())]
        for tag, scope in OLD_SYNONYMS.items():
            names += [synonym(value, self.path, scope) for value in stanza.tags.get(tag, ())]
        unique: dict[tuple[str, str], Name] = {}
        for name in names:
            if name.text:
                unique.setdefault((name.text, name.scope), name)
        if not unique and id not in self.retired:
            return (Name(id),)  # one nameless term must not keep the others out
        return tuple(unique.values())
