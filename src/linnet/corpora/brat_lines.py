"""How brat files are called, what a line may look like, and how lines that lack an id are numbered (`brat`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from linnet.data import Span

__all__ = [
    "ABOUT_DOCUMENT",
    "ABOUT_MENTION",
    "ANNOTATOR",
    "ASSERTION",
    "Entry",
    "Numbers",
    "are_attributes",
    "are_lines",
    "are_notes",
    "are_relations",
    "dangling",
    "file_name",
    "id_of",
    "is_line",
    "is_word",
    "named_today",
    "references",
]

ANNOTATOR = "AnnotatorNotes"
ASSERTION = "Assertion"  # the attribute that says whether a finding is there
ABOUT_MENTION = "LinnetNote"  # a note with what has no line of its own: of a mention or relation, as JSON
ABOUT_DOCUMENT = "LinnetDocument"  # the same of the whole document; its target is "_"

WORD = re.compile(r"[^\s\0]+")
LINE = re.compile(r"[^\n\0]*(?<!\r)")
ANNOTATION_ID = re.compile(r"(?:[TREAMN]|#)\d+[^\s:]*")
LONGEST = 200  # bytes of one part of a path: room for suffixes within the 255 that file systems allow
NOT_EVERYWHERE = re.compile(r'[<>:"|?*]')  # what Windows takes for something else, and `linnet.fetch.archive` refuses
# in one part of a path
UNSAFE = re.compile(rf"^\.|[\\\0-\x1f\x7f\ud800-\udfff]|{NOT_EVERYWHERE.pattern}|%(?=[0-9A-Fa-f]{{2}}|~)")
MARK = "%~"  # in front of the hash of a part that is too long, and the name of an empty part


def file_name(id: str) -> str:
    """Return the path, without suffix, of a document's files: its id, with escapes where that would be no safe path.

    No two ids have the same one.

    >>> file_name("ward/1"), file_name("../x"), file_name("a//b"), file_name("PMID:1")
    ('ward/1', '%2E./x', 'a/%~/b', 'PMID%3A1')
    """
    return "/".join(_safe(part) for part in id.split("/"))


def named_today(path: str) -> str:
    """Return a path of `file_name` as it would be called now: earlier ones may hold what is no name on Windows.

    >>> named_today("ward/PMID:1"), named_today("ward/PMID%3A1")
    ('ward/PMID%3A1', 'ward/PMID%3A1')
    """
    return NOT_EVERYWHERE.sub(_escaped, path)


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{one:02X}" for one in found[0].encode("utf-8", "surrogatepass"))


def _safe(part: str) -> str:
    safe = UNSAFE.sub(_escaped, part)
    if len(safe.encode()) <= LONGEST:
        return safe or MARK
    end = MARK + hashlib.sha256(safe.encode()).hexdigest()[:32]
    return safe.encode()[: LONGEST - len(end)].decode("utf-8", "ignore") + end


def is_word(value: object) -> TypeGuard[str]:
    """Whether `value` can stand between two blanks of a line."""
    return isinstance(value, str) and bool(WORD.fullmatch(value))


def is_line(value: object) -> TypeGuard[str]:
    """Whether `value` can stand at the end of a line and be read back."""
    return isinstance(value, str) and bool(LINE.fullmatch(value))


def are_lines(value: object) -> TypeGuard[tuple[str, ...]]:
    """Whether `value` is what a document's ``meta["brat"]`` holds: lines that are not blank."""
    return isinstance(value, tuple) and all(is_line(line) and line.strip() for line in value)


def are_attributes(value: object) -> TypeGuard[Mapping[str, str | bool]]:
    """Whether `value` is what a mention's ``meta["attributes"]`` holds: values by name, True for those without one."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(is_word(name) and (item is True or _is_value(item)) for name, item in value.items())
    )


def _is_value(value: object) -> bool:
    return is_line(value) and bool(value) and value.strip() == value and "\t" not in value


def are_notes(value: object) -> TypeGuard[tuple[str | Mapping[str, str], ...]]:
    """Whether `value` is what a mention's ``meta["notes"]`` holds: texts, or objects of another type and a text."""
    return isinstance(value, tuple) and bool(value) and all(is_line(note) or _is_typed(note) for note in value)


def _is_typed(note: object) -> bool:
    if not isinstance(note, Mapping) or note.keys() != {"type", "text"}:
        return False
    return is_word(note["type"]) and is_line(note["text"]) and note["type"] not in (ANNOTATOR, ABOUT_MENTION)


def are_relations(value: object) -> TypeGuard[tuple[Mapping[str, Any], ...]]:
    """Whether `value` is what a document's ``meta["relations"]`` holds, with arguments at all."""
    return isinstance(value, tuple) and all(isinstance(item, Mapping) and _has_arguments(item) for item in value)


def _has_arguments(relation: Mapping[str, Any]) -> bool:
    args = relation.get("args")
    return isinstance(args, tuple) and all(isinstance(arg, Mapping) for arg in args)


def id_of(line: str) -> str:
    """Return what stands before the first tab of a line: its id."""
    return line.partition("\t")[0]


def references(line: str) -> list[str]:
    r"""Return the ids that a line of events, equivalences, attributes, normalisations or notes points at.

    >>> references("E1\tBind:T1 Theme:T2"), references("*\tEquiv T1 T2"), references("#1\tLemma E3\tbind")
    (['T1', 'T2'], ['T1', 'T2'], ['E3'])
    """
    id, _, rest = line.partition("\t")
    words = rest.partition("\t")[0].split(" ")
    if id.startswith("E"):
        return [word.partition(":")[2] for word in words if word]
    if id == "*":
        return [word for word in words[1:] if word]
    if id.startswith("#"):
        return words[1:2] if len(words) == 2 and words[0] and ANNOTATION_ID.fullmatch(id) else []
    return words[1:2]


def dangling(pointing: Iterable[tuple[int, str, list[str]]], known: Set[str]) -> Iterator[tuple[int, str, str]]:
    """Yield number, id and missing reference of the lines that point at nothing known, and of those that point at them.

    >>> list(dangling([(4, "E1", ["T1", "T2"]), (5, "E2", ["E1"]), (6, "E3", ["T1"])], {"T1", "E1", "E2", "E3"}))
    [(4, 'E1', 'T2'), (5, 'E2', 'E1')]
    """
    users: dict[str, dict[int, str]] = {}
    for number, own, ids in pointing:
        for id in ids:
            users.setdefault(id, {})[number] = own
    missing = [id for id in users if id not in known]
    told: set[int] = set()
    for id in missing:  # which grows
        for number, own in users.get(id, {}).items():
            if number not in told:
                yield number, own, id
                told.add(number)
                missing.append(own)


@dataclass(slots=True)
class Entry:
    """A mention on its way: its T line, and what other lines say of it."""

    line: int
    type: str
    spans: tuple[Span, ...]
    concepts: list[tuple[str, str | None]] = field(default_factory=list)
    attributes: dict[str, str | bool] = field(default_factory=dict)
    notes: list[str | dict[str, str]] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)  # of these lines


class Numbers:
    """Gives out ids that are free.

    >>> numbers = Numbers(["T1"])
    >>> numbers.fresh("T"), numbers.take("T7"), numbers.take("T7"), numbers.fresh("N")
    ('T2', True, False, 'N1')
    """

    def __init__(self, used: Iterable[str]) -> None:
        self._used = set(used)
        self._last: dict[str, int] = {}

    def take(self, id: str) -> bool:
        """Mark `id` as used; return whether it was free."""
        free = id not in self._used
        self._used.add(id)
        return free

    def fresh(self, kind: str) -> str:
        """Return the next free id that begins with `kind`."""
        number = self._last.get(kind, 0) + 1
        while f"{kind}{number}" in self._used:
            number += 1
        self._last[kind] = number
        self._used.add(f"{kind}{number}")
        return f"{kind}{number}"
