"""What stands around a finding and says that it is absent, doubtful, a relative's, may come or is over: triggers.

The table ``triggers.tsv`` holds them, in English and German; its head says how. `find_triggers` looks each word of a
sentence up in one tree of all triggers, the longest of those that begin there wins, so that *no increase in* is not
*no*. The words are tokens: hyphens and full stops are none, and the same tokens cut the table and the text.

Sources: the idea of triggers, pseudo-triggers and terminations is that of NegEx (Chapman et al. 2001) and ConText
(Harkema et al. 2009).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from linnet.text.wordlists import rows

__all__ = [
    "Found",
    "Trigger",
    "are_names",
    "cut",
    "days_of_stay",
    "find_triggers",
    "fold",
    "is_lasting",
    "lower",
    "names_of_relatives",
    "past_years",
    "places",
    "states",
    "words_of",
]

ACRONYM: Final = re.compile(r"\b(?:AS|IT|IS|AN|AM|BE|HE|ALL|US|ON|AT|CAN)\b")
WRITTEN: Final = re.compile("[a-zäöüß]{3}")  # what shouted text does not hold
NEAR: Final = 24  # characters around a short form
TOKEN: Final = re.compile(
    r"\w+(?:'t\b)?|\?{1,2}|[;:,()/&↑↓]|[-=]>|→|(?<!\S)(?:-{1,2}|=)(?!\S)|[–—]"
    r"|\+{2,4}|(?<=\s)\+(?=\s*(?:[,;.]|$))"  # a plus behind a finding, not between two
)
ENDS: Final = ("", "\n", ".", ",", ";", ")")  # behind a question mark that questions what stands before it
SIGNS: Final = frozenset(["?", "??", "->", "=>", "→", "-", "--", "=", "–", "—"])
YEAR: Final = re.compile(r"(?:19|20)\d\d(?!\d)s?")
DAY: Final = re.compile(r"\b(?:HD|POD|d)\d{1,2}\b")  # of a stay: *sepsis d15*, *nosebleed on HD4*
NAME: Final = r"([A-ZÄÖÜ][a-zäöüß]{2,20})\b"
OF: Final = r"\b(?:[Hh]is|[Hh]er|[Yy]our|[Tt]heir|[Mm]y|[Tt]he|[Ii]hre?|[Ss]eine?)\s"
NAMED: Final = re.compile(rf"{OF}(?:\w+\s)?([a-zäöüß]+),?\s{NAME}|{NAME},\s{OF[2:]}([a-zäöüß]+)\b")
SHORT: Final = 4  # words of a name in a list
ANY: Final = "{any}"  # stands for any word in triggers
NUMBER: Final = "{number}"  # and this for any number
WORD: Final = re.compile(r"[a-zäöüß]+")
END: Final = ""  # the key of a tree's node that holds the triggers which end there
Tree: TypeAlias = dict[str, Any]
Sets: TypeAlias = dict[str, tuple[str, ...]]  # of each word the names of the sets that it is in


class Trigger(NamedTuple):
    """What a trigger says, where it looks for findings, and how far; the head of the table has the values.

    ``spare`` counts tokens at its end that must be there, and may belong to another trigger.
    """

    kind: str
    direction: str
    reach: str
    spare: int = 0


NEVER: Final[frozenset[str]] = frozenset()
NOTHING: Final[tuple[int, Sequence[Trigger]]] = (0, ())


class _Table(NamedTuple):
    """The tree of triggers; of words, sets and those that may follow (None: any); what names lasting diseases."""

    tree: Tree
    sets: Sets
    after: Mapping[str, frozenset[str] | None]
    lasting: frozenset[str]
    phrases: tuple[str, ...]
    endings: tuple[str, ...]
    passing: frozenset[str]


class Found(NamedTuple):
    """A trigger in a sentence: its tokens are those from `first` up to and without `last`."""

    trigger: Trigger
    first: int
    last: int


def lower(text: str) -> str:
    """Return a text in small letters, of the same length, with straight apostrophes.

    >>> len(lower("İ can’t")), lower("Can’t")
    (7, "can't")
    """
    small = text.lower()
    if len(small) != len(text):
        small = "".join(one if len(one := sign.lower()) == 1 else sign for sign in text)
    return small.replace("’", "'")


def fold(text: str) -> str:
    """Return `lower` of a text, in which short forms that spell little words keep their capitals: no *as* is an *AS*.

    Of shouted text nobody can tell.

    >>> fold("Murmur, no AS on echo."), fold("NO MURMUR AS BEFORE")
    ('murmur, no AS on echo.', 'no murmur as before')
    """
    small = lower(text)
    for match in ACRONYM.finditer(text):
        start, end = match.span()
        if WRITTEN.search(text, max(start - NEAR, 0), end + NEAR):
            small = small[:start] + match[0] + small[end:]
    return small


def cut(text: str, start: int, end: int) -> list[str]:
    """Return words and signs between two places of a text in small letters; hyphens and full stops are none.

    A question mark stands before what it questions (``?x``) or touches what it follows (``x?``); arrows are dashes.

    >>> cut("?gout, since may (r/o x-linked)", 0, 31)
    ['?x', 'gout', ',', 'since', 'may', '(', 'r', '/', 'o', 'x', 'linked', ')']
    """
    words = TOKEN.findall(text, start, end)
    if SIGNS.isdisjoint(words):
        return words
    return [_sign(match, end) if match[0] in SIGNS else match[0] for match in TOKEN.finditer(text, start, end)]


def places(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the words of `cut` begin and end.

    >>> places("no gout", 0, 7)
    [(0, 2), (3, 7)]
    """
    return [match.span() for match in TOKEN.finditer(text, start, end)]


def _sign(match: re.Match[str], end: int) -> str:
    if match[0][0] != "?":
        return "-"
    before = match.string[match.start() - 1 : match.start()]
    follows = match.string[match.end() : end].lstrip(" \t\r")
    return "x?" if before.strip(" \t\r\n(/:;,–-") or follows[:1] in ENDS else "?x"


def past_years(text: str) -> frozenset[str]:
    """Return the years in a text, without the last one if there are several: that is when it was written.

    >>> sorted(past_years("Seen 2/3/2021: appendicitis 2015, gout 2019.")), past_years("appendicitis 2015")
    (['2015', '2019'], frozenset({'2015'}))
    """
    years = frozenset(YEAR.findall(text))
    return years - {max(years)} if len(years) > 1 else years


def days_of_stay(text: str) -> dict[str, str]:
    """Return the short forms of days in a text, in small letters: what was on such a day is told as past.

    >>> days_of_stay("CoNS sepsis d15, nosebleed on HD4")
    {'d15': '{day}', 'hd4': '{day}'}
    """
    return {match.lower(): "{day}" for match in DAY.findall(text)}


def names_of_relatives(text: str) -> dict[str, str]:
    """Return the first names, in small letters, of the relatives that a text introduces, and what relative each is.

    >>> names_of_relatives("His mum Nerys and Wilma, your sister, came; seen by Sister Brown.")
    {'nerys': 'mum', 'wilma': 'sister'}
    """
    relatives = words_of("relative")
    found = {}
    for match in NAMED.finditer(text) if not relatives.isdisjoint(WORD.findall(text)) else ():
        relative, name = (match[1], match[2]) if match[1] else (match[4], match[3])
        if relative in relatives and name.lower() not in text:
            found[name.lower()] = relative
    return found


def find_triggers(words: Sequence[str], meant: Mapping[str, str] | None = None) -> Iterator[Found]:
    """Yield the triggers of a sentence in order; they do not overlap, and of those that begin together the longest is.

    Args:
        words: of the sentence (`cut`).
        meant: what some words stand for: past years for ``{year}``, names of relatives for a relative.

    >>> [(found.trigger.kind, found.first, found.last) for found in find_triggers("no increase in no rash".split())]
    [('pseudo', 0, 3), ('negated', 3, 4)]
    """
    table = _table()
    words = [meant.get(word, word) for word in words] if meant else words
    free = 0
    for place, (word, following) in enumerate(itertools.pairwise((*words, END))):
        after = table.after.get(NUMBER if word.isdigit() else word, NEVER)
        if place >= free and (after is None or following in after or (NUMBER in after and following.isdigit())):
            end, ending = _walk(table.tree, table.sets, words, place)
            for trigger in ending:
                free = end - trigger.spare
                yield Found(trigger, place, free)


def _walk(node: Tree, sets: Sets, words: Sequence[str], at: int) -> tuple[int, Sequence[Trigger]]:
    """Return the triggers that end furthest from `at` on, and where; none end at 0."""
    best: tuple[int, Sequence[Trigger]] = (at, node[END]) if END in node else NOTHING
    if at < len(words):
        word = words[at]
        for key in (word, *sets.get(word, ()), ANY) if not word.isdigit() else (word, NUMBER, ANY):
            if key in node:
                end, ending = _walk(node[key], sets, words, at + 1)
                if end > best[0]:
                    best = end, ending
                elif end and end == best[0] and at < end:
                    best = end, _together(best[1], ending)
    return best


def _together(some: Sequence[Trigger], others: Sequence[Trigger]) -> Sequence[Trigger]:
    """Return triggers of the same words; those that name them outright, `some`, say whether nothing is said."""
    if some[0].kind == "pseudo":
        return some
    return [*some, *(one for one in others if one not in some and one.kind != "pseudo")]


def is_lasting(surface: str) -> bool:
    """Return whether the name of a finding says that it lasts, once it is there.

    >>> is_lasting("type 2 diabetes"), is_lasting("gestational diabetes"), is_lasting("cardiomyopathy")
    (True, False, True)
    >>> is_lasting("high blood pressure"), is_lasting("low blood pressure")
    (True, False)
    """
    table = _table()
    words = cut(lower(surface), 0, len(surface))
    named = any(word in table.lasting or word.endswith(table.endings) for word in words)
    named = named or any(phrase in f"_{'_'.join(words)}_" for phrase in table.phrases)
    return named and table.passing.isdisjoint(words)


def states(item: Sequence[str]) -> bool:
    """Whether an item of a list says something of its own: *LA dilated*, *liver edge 3 cm*, *cough since May*.

    >>> [states(item.split()) for item in ("LA severely dilated", "liver edge 3 cm", "oedema +", "rash", "dilated")]
    [True, True, True, False, False]
    """
    if len(item) < 2:
        return False
    measured = any(word.isdigit() or word.startswith("++") for word in item)
    return measured or item[-1][0] == "+" or item[-1] in words_of("state") or not words_of("since").isdisjoint(item)


def are_names(words: Sequence[str]) -> bool:
    """Return whether the items of a list are names alone.

    >>> [are_names(line.split()) for line in ("rash , sore throat", "rash , cough since May")]
    [True, False]
    """
    items = [list(item) for comma, item in itertools.groupby(words, lambda word: word == ",") if not comma]
    return all(len(item) <= SHORT and not states(item) for item in items)


@functools.cache
def words_of(name: str) -> frozenset[str]:
    """Return the words of a set of the table.

    >>> "von" in words_of("preposition"), "vom" in words_of("preposition")
    (True, False)
    """
    return frozenset(word for word, names in _table().sets.items() if f"{{{name}}}" in names)


@functools.cache
def _table() -> _Table:
    """Return the table as it is looked up."""
    tree: Tree = {}
    sets: Sets = {}
    names: dict[str, list[str]] = {"lasting": [], "passing": []}
    for kind, name, reach, listed in rows("linnet.text", "triggers.tsv"):
        if kind == "set":
            for word in _spellings(listed.split()):
                sets[word] = (*sets.get(word, ()), f"{{{name}}}")
        elif kind in names:
            names[kind] += listed.split()
        else:
            for trigger in _spellings(listed.split("|")):
                _plant(tree, trigger, kind, name, reach)
    endings = tuple(word[1:] for word in names["lasting"] if word[0] == "-")
    phrases = tuple(f"_{word}_" for word in names["lasting"] if "_" in word)
    lasting, passing = frozenset(names["lasting"]), frozenset(names["passing"])
    return _Table(tree, sets, _after(tree, sets), lasting, phrases, endings, passing)


def _spellings(listed: Iterable[str]) -> Iterator[str]:
    """Yield what is listed, also as it is typed in haste: *dont*, *hasnt*."""
    for one in listed:
        yield one
        if "n't" in one:
            yield one.replace("n't", "nt")


def _after(tree: Tree, sets: Sets) -> dict[str, frozenset[str] | None]:
    """Return which words may follow one that begins a trigger: most words that begin none are passed over."""
    members: dict[str, set[str]] = {}
    for word, names in sets.items():
        for name in names:
            members.setdefault(name, set()).add(word)
    after: dict[str, frozenset[str] | None] = {}
    numbers = [key for key in tree if key == NUMBER or key.isdigit()]
    for word in tree.keys() | sets.keys():
        if nodes := [tree[key] for key in (numbers if word in numbers else (word, *sets.get(word, ()))) if key in tree]:
            keys = frozenset().union(*nodes)
            following = (keys & {NUMBER}).union(*(members.get(key, {key}) for key in keys))
            after[word] = None if keys & {END, ANY} else following
    return after


def _plant(tree: Tree, words: str, kind: str, direction: str, reach: str) -> None:
    own, _, spare = (list(itertools.chain.from_iterable(map(_cut, part.split()))) for part in words.partition("<"))
    node = tree
    for word in (*own, *spare):
        node = node.setdefault(word, {})
    node.setdefault(END, []).append(Trigger(kind, direction, reach, len(spare)))


def _cut(word: str) -> list[str]:
    """Return a word of the table as tokens; names of sets and the two question marks are one each."""
    if word[0] == "{" or word in ("?x", "x?", "-"):
        return [word]
    return cut(word, 0, len(word))
