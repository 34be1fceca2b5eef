"""Concept search for people: what they type is looked up in five tiers, each a query or two, filters inside the query.

Tiers in order: id, exact name, prefix of a name, all words (any order; then with the last word half typed), any word.
Within a tier names of exact scope come before related ones, preferred names before synonyms, shorter before longer,
then by row.

No tier reads more than a fixed number of names, so that the time does not grow with the terminology: it ranks the
first `CAP` names that match and pass the filters, and looks at `SCAN` matching names to find them. Filters that allow
few concepts are turned round: all names of those concepts are looked at, so that nothing of a small type or subtree
is missed however frequent the words are. Whether a concept is in a large subtree is found by climbing from it, the
best names first, until there are enough hits.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from linnet.errors import KnowledgeBaseError
from linnet.text.normalise import basic

__all__ = ["ANY_WORD", "Hit", "hint", "row_number", "search", "sole", "spellings"]

ANY_WORD = "any word"  # the last tier: what matches there lacks words that were asked for

Query = Callable[..., Iterator[Any]]
Lookup = Callable[..., Iterable[Any]]


class Hit(NamedTuple):
    """One found concept: its row, id and preferred name, the name that matched and the tier it matched in."""

    row: int
    id: str
    name: str
    matched: str
    tier: str


class Searched(Protocol):
    """One knowledge base, or several asked as one."""

    def meant(self, id: str) -> str:
        """Return the concept's id that `id` is another spelling of; "" if there is none."""
        ...

    def search(self, text: str, *, limit: int) -> list[Hit]:
        """Return concepts for what a person types."""
        ...


CURIE = re.compile(r"^([A-Z]+)[_ ]?(?=\d)(\w+)$")
BARE = re.compile(r"[A-Z0-9]*\d[A-Z0-9]*")  # an id without its prefix: D003920, 0301, N02BE01
SHOWN = 5  # ids of a name that a message gives
PREFIXES = 40  # prefixes that are tried for it
# A tier ranks at most this many names: a frequent word must not sort a million rows.
CAP = 1000
# A tier with a filter by type looks at this many matching names.
SCAN = 8_000
# A search climbs from this many names at once to find out what is under the given concepts.
STEP = 40
# A word of at most this many names is rare: such names are ranked by how rare the words are that they hold.
RARE = 500
# Filters that allow at most this many concepts are turned round.
FEW = 1_000
# More words than a person types are text pasted by mistake: each one costs a lookup.
WORDS = 32
# The word index knows beginnings of two and three letters. Longer ones it must collect from all words that begin so,
# which is dear for short ones: those are looked up by three letters and checked on the name itself.
INDEXED_PREFIX = 3
LONG_PREFIX = 6

BELOW = "WITH RECURSIVE below(row) AS (VALUES {roots} UNION SELECT concept FROM parents JOIN below ON parent = row) "
PARENTS = "SELECT concept, parent FROM parents WHERE concept IN ({rows})"
MATCHING = "SELECT rowid AS row FROM words WHERE words MATCH ? LIMIT {scan}"
RANKED = f"SELECT rowid AS row, rank AS badness FROM words WHERE words MATCH ? LIMIT {SCAN}"
HAS = "(' ' || n.norm LIKE ?)"  # a normalised name holds no character that is special to LIKE
COLUMNS = "n.row, n.concept, n.text, n.scope, n.position"


class _Filter(NamedTuple):
    """Which concepts may be found: a condition on ``n.concept``, and how many names to look at for it.

    With ``few``, the condition lists the rows of the concepts themselves. ``roots`` are the concepts that those found
    must be under, as far as the condition does not see to it.
    """

    condition: str = ""
    scan: int = CAP
    few: bool = False
    roots: Sequence[int] = ()


class _Climb:
    """Finds out which concepts are one of some roots or under them, and remembers all it met on the way."""

    def __init__(self, query: Query, roots: Sequence[int]) -> None:
        self._query = query
        self._known, self._under = set(roots), set(roots)
        self._below: dict[int, list[int]] = {}  # parent that is not known to be under a root -> children

    def passing(self, found: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield those of `found`, rows and what comes with them, that are under a root, in their order."""
        while chunk := list(itertools.islice(found, STEP)):
            self._learn({row for row, _ in chunk})
            yield from (pair for pair in chunk if pair[0] in self._under)

    def _learn(self, rows: set[int]) -> None:
        """Climb from `rows` to all their ancestors, level by level, and nowhere twice."""
        reached: list[int] = []
        while rows := rows - self._known:
            self._known |= rows
            above: set[int] = set()
            for row, parent in self._query(PARENTS.format(rows=", ".join(map(str, rows)))):
                above.add(parent)
                if parent in self._under:
                    reached.append(row)
                else:
                    self._below.setdefault(parent, []).append(row)
            rows = above
        while reached:
            row = reached.pop()
            if row not in self._under:
                self._under.add(row)
                reached += self._below.pop(row, ())


def search(query: Query, text: str, *, types: Sequence[int], under: Sequence[int], limit: int) -> list[Hit]:
    """Return up to `limit` hits; `query` runs SQL, `types` and `under` are rows of types and of root concepts."""
    hits: dict[int, Hit] = {}
    if limit <= 0:
        return []
    allowed = _filter(query, types, under)
    climb = _Climb(query, allowed.roots)
    for tier, source, values in _tiers(query, text, allowed):
        order = "badness, scope, position > 0, length(text), concept, row"
        sql = f"SELECT concept, text FROM ({source}) ORDER BY {order}"
        found = query(sql, *values)
        for row, matched in climb.passing(found) if allowed.roots else found:
            if row not in hits and (concept := _live(query, row)):
                hits[row] = Hit(row, *concept, matched, tier)
            if len(hits) >= limit:
                return list(hits.values())
    return list(hits.values())


def _live(query: Query, row: int) -> tuple[str, str] | None:
    """Return id and preferred name of the concept in `row`, None if it is retired."""
    sql = (
        "SELECT c.id, n.text FROM concepts c JOIN names n ON n.concept = c.row WHERE c.row = ? AND NOT c.retired "
        "ORDER BY n.position, n.row LIMIT 1"
    )
    return next(query(sql, row), None)


def _filter(query: Query, types: Sequence[int], under: Sequence[int]) -> _Filter:
    """Return the filter; all numbers in it are rows, never a user's."""
    if not types and not under:
        return _Filter()
    any_type = ", ".join(map(str, types))
    of_type = f" AND EXISTS (SELECT 1 FROM types t WHERE t.type IN ({any_type}) AND t.concept = n.concept)"
    if under:
        head = BELOW.format(roots=", ".join(f"({int(row)})" for row in under))
        if few := _few(query, f"{head}SELECT row FROM below"):
            return _Filter(few + (of_type if types else ""), SCAN, few=True)
    if not types:
        return _Filter(roots=under)
    if few := _few(query, f"SELECT DISTINCT concept FROM types WHERE type IN ({any_type})"):
        return _Filter(few, SCAN, few=True, roots=under)
    return _Filter(of_type, SCAN, roots=under)


def _few(query: Query, listing: str) -> str:
    """Return the condition that allows the concepts in `listing` if they are few, else nothing."""
    rows = [row for (row,) in query(f"{listing} LIMIT {FEW + 1}")]
    return f" AND n.concept IN ({', '.join(map(str, rows))})" if len(rows) <= FEW else ""


def _tiers(query: Query, text: str, allowed: _Filter) -> Iterator[tuple[str, str, list[object]]]:
    """Yield name, query and values of each tier."""
    ids = spellings(query, text)
    by_id = (
        f"WITH RECURSIVE ids(id) AS (VALUES {', '.join(['(?)'] * len(ids))} "
        "UNION SELECT successor FROM retired JOIN ids USING (id)) "
        f"SELECT {COLUMNS}, 0 AS badness FROM names n WHERE n.position = 0{allowed.condition} "
        "AND n.concept IN (SELECT row FROM concepts JOIN ids USING (id) WHERE NOT retired)"
    )
    yield "id", by_id, [*ids]
    norm = basic(text)
    if not norm:
        return
    exact = f"SELECT {COLUMNS}, 0 AS badness FROM names n WHERE n.norm = ?{allowed.condition} LIMIT {CAP}"
    yield "exact", exact, [norm]
    beyond = norm + "\U0010ffff"
    if allowed.few:
        yield "prefix", _among_few(allowed, "n.norm > ? AND n.norm < ?"), [norm, beyond]
    else:
        # the index holds the concept, so that names that do not pass are never read
        found = f"SELECT row, concept FROM names WHERE norm > ? AND norm < ? LIMIT {allowed.scan}"
        passing = f"SELECT row FROM ({found}) n WHERE true{allowed.condition} LIMIT {CAP}"
        yield "prefix", _among(passing, _Filter()), [norm, beyond]
    words = list(itertools.islice(dict.fromkeys(norm.split()), WORDS))
    yield from _word_tiers(query, words, allowed)


def row_number(value: Any, what: str) -> int:
    """Return the number of a row.

    Raises:
        KnowledgeBaseError: another kind of value, an id, say, where `what` is expected.
    """
    try:
        return operator.index(value)
    except TypeError as error:
        raise KnowledgeBaseError(f"{value!r} is no {what}") from error


def hint(kb: Searched, id: str) -> str:
    """Return what a message says behind an id that `kb` lacks: which one was meant, or that it is a name."""
    if way := kb.meant(id):
        return f"; did you mean {way!r}?"
    hits = kb.search(id, limit=SHOWN + 1)
    if named := [hit.id for hit in hits if hit.tier == "exact"]:
        more = ", …" if len(named) > SHOWN else ""
        return f"; that is a name, and ids are wanted: {', '.join(named[:SHOWN])}{more}"
    if hits and hits[0].tier == "prefix":
        return f"; did you mean {hits[0].id!r} ({hits[0].name})?"
    return "; `linnet kb search` finds ids"


def spellings(query: Lookup, text: str) -> list[str]:
    """Return what the id `text` may mean: hp:0000118, HP_0000118, HP0000118 and 0000118 are all HP:0000118.

    Prefixes may be written otherwise, and addresses on the web be given (`linnet.kb.curies`). To an id without a prefix
    each of the knowledge base's is given, as far as there are no more than `PREFIXES`.
    """
    from linnet.kb.curies import curie  # noqa: PLC0415 - linking a text asks for no spellings

    text = text.strip()
    upper = text.upper()
    found = [text, CURIE.sub(r"\1:\2", upper), upper.replace("_", ":", 1)]
    found += map(curie, (text, *found[1:]))
    if BARE.fullmatch(upper):
        found += [f"{prefix}:{upper}" for prefix in _prefixes(query)]
    return list(dict.fromkeys(found))


def sole(id: str, found: Iterable[str]) -> str:
    """Return which of the `found` spellings of an id is meant: the id as it stands, or the only one; else ""."""
    ways = list(found)
    return ways[0] if len(ways) == 1 or ways[:1] == [id] else ""


def _prefixes(query: Lookup) -> Iterator[str]:
    """Yield the prefixes of the ids: one lookup each, whatever their number."""
    beyond = ""
    for _ in range(PREFIXES):
        found = next(iter(query("SELECT id FROM concepts WHERE id >= ? ORDER BY id LIMIT 1", beyond)), None)
        if found is None:
            return
        prefix, colon, _local = found[0].partition(":")
        if colon:
            yield prefix
        beyond = prefix + (";" if colon else "\0")  # ";" comes right after ":"


def _word_tiers(query: Query, words: Sequence[str], allowed: _Filter) -> Iterator[tuple[str, str, list[object]]]:
    if allowed.few:
        begun: list[object] = [f"% {_beginning(word)}%" for word in words]
        yield "all words", _among_few(allowed, " AND ".join([HAS] * len(words))), begun
        if len(words) > 1:
            # how many words there are ranks better than where they stand; the values come once for each place
            count = f"({' + '.join([HAS] * len(words))})"
            yield ANY_WORD, _among_few(allowed, f"{count} > 0", badness=f"-{count}"), begun * 2
        return
    quoted = [f'"{word}"' for word in words]
    yield "all words", _among(MATCHING.format(scan=allowed.scan), allowed), [" AND ".join(quoted)]
    last = words[-1]
    if len(last) > 1 and _count(query, quoted[-1]) <= RARE:  # else it is a whole word, not one half typed
        beginning = last if len(last) >= LONG_PREFIX else last[:INDEXED_PREFIX]
        half = " AND ".join([*quoted[:-1], f'"{beginning}" *'])
        values: list[object] = [half] if beginning == last else [half, f"% {last}%"]
        extra = "" if beginning == last else f" AND {HAS}"
        yield "all words", _among(MATCHING.format(scan=SCAN), allowed, extra=extra), values
    if len(words) > 1:
        # the rank of a match costs a look at each match, so that only rare words are ranked; they also say most
        rare = _rarest(query, quoted)
        if rare:
            yield ANY_WORD, _among(RANKED, allowed, badness="s.badness"), [" OR ".join(rare)]
        else:
            yield ANY_WORD, _among(MATCHING.format(scan=allowed.scan), allowed), [" OR ".join(quoted)]


def _among(found: str, allowed: _Filter, *, extra: str = "", badness: str = "0") -> str:
    """Return the query for those of the name rows in `found` that pass the filter."""
    return (
        f"SELECT {COLUMNS}, {badness} AS badness FROM ({found}) s CROSS JOIN names n ON n.row = s.row "
        f"WHERE true{allowed.condition}{extra} LIMIT {CAP}"
    )


def _among_few(allowed: _Filter, condition: str, *, badness: str = "0") -> str:
    """Return the query for those names of the few allowed concepts that satisfy `condition`."""
    return (
        f"SELECT {COLUMNS}, {badness} AS badness FROM names n INDEXED BY names_by_concept "
        f"WHERE true{allowed.condition} AND {condition} LIMIT {CAP}"
    )


def _rarest(query: Query, words: Sequence[str]) -> list[str]:
    """Return the rare ones of `words`, rarest first, as far as they have no more than `RARE` names in all."""
    counts = sorted((count, word) for word in words if 0 < (count := _count(query, word)) <= RARE)
    totals = itertools.accumulate(count for count, _ in counts)
    return [word for (_, word), total in zip(counts, totals, strict=True) if total <= RARE]


def _count(query: Query, word: str) -> int:
    """Return how many names hold `word`, at most one more than makes it rare."""
    found = f"SELECT 1 FROM words WHERE words MATCH ? LIMIT {RARE + 1}"
    (count,) = next(query(f"SELECT count(*) AS number FROM ({found})", word))
    return int(count)


def _beginning(word: str) -> str:
    """Return what the forms of `word` have in common, roughly as the stemmer of the word index sees it.

    >>> _beginning("bodies"), _beginning("failures"), _beginning("acid")
    ('bod', 'failur', 'aci')
    """
    if word.endswith("ies"):
        return word[:-3] or word
    return word[:-2] if len(word) > 5 else word[:-1] if len(word) > 3 else word
