"""What people write to say which concept is right, to ids: an id, a name, or both, as tables and pages show them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linnet.corpora.ids import to_curie
from linnet.data import Rows
from linnet.errors import UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb.successors import Retired, retired

__all__ = ["WrittenConcepts", "held_id"]

AN_ID = re.compile(r"[A-Za-z][\w.-]*:\S+")
ID_INSIDE = re.compile(r"(?<![\w.:-])[A-Za-z][\w.-]*:[\w.-]*[0-9][\w.-]*")  # with a name beside it
AROUND = " \t\r\n()[]{},;:–-"  # what stands between an id and a name
NONE = frozenset({"nil", "none", "no concept", "-"})
WITH_DIGIT = re.compile(r"[0-9]")
SAME_NAME = 50  # concepts that may share a name
SHOWN = 5


@dataclass(frozen=True)
class WrittenConcepts:
    """Reads what people write of concepts.

    Args:
        kb: a knowledge base, or several, that know ids and names of concepts.
        others: ids that are known: without a knowledge base, what is formed like one of them is an id, too.
    """

    kb: Rows | None = None
    others: Collection[str] = ()

    def ids(self, said: Sequence[str], *, type: str = "", terminology: str = "") -> tuple[str, ...]:
        """Return the ids that somebody wrote, or means by names; () for none.

        Args:
            said: the values of a cell.
            type: the type of the mention, which tells what a bare number is.
            terminology: which of several knowledge bases holds them; all are asked without one.

        Raises:
            ValueError: an id or a name that nothing or too much is known of, or both of different concepts.

        >>> WrittenConcepts().ids(["HP:0001250 Seizure", "HP:0001263"]), WrittenConcepts().ids(["NIL"])
        (('HP:0001250', 'HP:0001263'), ())
        """
        values = [value.strip() for value in said]
        if len(values) == 1:
            if values[0].casefold() in NONE:
                return ()
            several = re.split(r"[\s,;]+", values[0])
            values = several if all(map(AN_ID.fullmatch, several)) else values
        kb = getattr(self.kb, "kbs", {}).get(terminology, self.kb)
        return tuple(self._id(kb, value, type) for value in values)

    @cached_property
    def _forms(self) -> frozenset[str]:
        return frozenset(_form(id) for id in self.others)

    @property
    def _expected(self) -> str:
        like = min(filter(WITH_DIGIT.search, self.others), default="HP:0001250")
        return f"expected an id such as {like}, several with | between, or NIL"

    def _id(self, kb: Any, value: str, type: str) -> str:
        stays = kb is None and _form(value) in self._forms
        id = value if stays else held_id(kb, value, type)
        if not self._is_id(kb, id):
            id = self._named(kb, value)
        if self.kb is not None:
            try:
                self.kb.row(id)
            except UnknownConceptError as error:
                raise ValueError(str(error)) from error
        return id

    def _is_id(self, kb: Any, id: str) -> bool:
        if AN_ID.fullmatch(id) or _holds(kb, id):
            return True
        return kb is None and bool(WITH_DIGIT.search(id)) and _form(id) in self._forms

    def _named(self, kb: Any, value: str) -> str:
        """Return the id of the concept with this name, or the id that stands beside a name."""
        search = getattr(kb, "search", None)
        hits = search(value, limit=SHOWN) if search and value else []
        found = {hit.id for hit in hits if hit.tier in ("id", "exact")} or _ids_beside(kb, value)
        if len(found) == 1:
            return str(found.pop())
        if not (search or found):
            raise ValueError(f"{self._expected}, found {value!r}; names of concepts need --kb")
        for one in _retired(kb, value):
            became = f"became {one.successor} {one.successor_name}" if one.successor else "has no successor"
            raise ValueError(f"{value!r} is the name of {one.id}, which is retired and {became}")
        near = ", ".join(f"{hit.id} {hit.name}" for hit in hits)
        how = f"; did you mean one of these: {near}" if near else ""
        many = "several concepts have" if found else "no concept has"
        raise ValueError(f"{many} the name {value!r}: {self._expected}{how}")


def held_id(kb: Any, id: str, type: str = "") -> str:
    """Return an id as the knowledge base has it; one that it lacks, and any without one, as its form tells.

    >>> held_id(None, "C0018923"), held_id(None, "6528", "Gene")
    ('UMLS:C0018923', 'NCBIGene:6528')
    """
    known = to_curie(id, type)
    return id if known == id or _holds(kb, id) else known


def _form(id: str) -> str:
    """Return what ids of one terminology have in common: A05.1 and B20.31 are A9.9."""
    return re.sub(r"[0-9]+", "9", re.sub(r"[A-Z]", "A", id))


def _holds(kb: Any, id: str) -> bool:
    """Return whether a knowledge base has this id, live or retired."""
    if kb is None:
        return False
    try:
        kb.row(id)
    except UnknownConceptError:
        return any(one.id == id for one in _retired(kb, id))
    return True


def _retired(kb: Any, text: str) -> Iterator[Retired]:
    """Yield the retired concepts of this id or name."""
    for one in getattr(kb, "kbs", {"": kb}).values():
        if isinstance(one, KnowledgeBase):
            yield from retired(one, text)


def _ids_beside(kb: Any, value: str) -> set[str]:
    """Return the ids in a text that names their concept, too."""
    found = set(ID_INSIDE.findall(value)) or set(_bare_ids(kb, value))
    for id in found if len(found) == 1 and hasattr(kb, "search") else ():
        _check_name(kb, id, value)
    return found


def _bare_ids(kb: Any, value: str) -> Iterator[str]:
    """Yield the first and the last word of a text where they are ids without a prefix."""
    words = value.split()
    for word in dict.fromkeys([words[0], words[-1]]) if len(words) > 1 else ():
        id = word.strip(AROUND)
        if id and _holds(kb, id):
            yield id


def _check_name(kb: Any, id: str, value: str) -> None:
    """Refuse a name beside an id that is another concept's or, where the id may be a word, no name of this one."""
    name = value.replace(id, "", 1).strip(AROUND)
    if not (name and _holds(kb, id)):
        return
    live, before = (kb[id].id if id in kb else ""), {one.name.casefold() for one in _retired(kb, id)}
    named = [hit.id for hit in kb.search(name, limit=SAME_NAME) if hit.tier == "exact"]
    if live in named or name.casefold() in before or not (named or ":" not in id):
        return
    whose = f"is {', '.join(named[:SHOWN])}" if named else "is none of its names"
    problem = f"id and name disagree: {id} is {kb[id].name if live else 'retired'!r}, and {name!r} {whose}"
    raise ValueError(f"{problem}: write one of them")
