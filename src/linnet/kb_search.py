"""Concept search for people: what they type is looked up in five tiers, each one query, filters inside the query.

Tiers in order: id, exact name, prefix of a name, all words (any order), any word. Within a tier names of exact scope
come before related ones, preferred names before synonyms, shorter before longer, then by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from linnet.text.normalise import basic

__all__ = ["Hit", "search"]

Query = Callable[..., Iterator[Any]]


class Hit(NamedTuple):
    """One found concept: its row, id and preferred name, the name that matched and the tier it matched in."""

    row: int
    id: str
    name: str
    matched: str
    tier: str


# A tier reads at most this many names before it ranks them: a frequent word must not sort a million rows.
CURIE = re.compile(r"^([A-Z]+)[_ ]?(?=\d)(\w+)$")
CAP = 2000
# More words than a person types are text pasted by mistake: each one costs a lookup.
WORDS = 32

ALLOWED_UNDER = (
    "WITH RECURSIVE below(row) AS (VALUES {roots} UNION SELECT concept FROM parents JOIN below ON parent = below.row) "
)


def search(query: Query, text: str, *, types: Sequence[int], under: Sequence[int], limit: int) -> list[Hit]:
    """Return up to `limit` hits; `query` runs SQL, `types` and `under` are rows of types and of root concepts."""
    head, condition = _filters(types, under)
    hits: dict[int, Hit] = {}
    for tier, source, values in _tiers(text, condition) if limit > 0 else ():
        sql = (
            f"{head}SELECT n.concept, c.id, n.text FROM ({source}) n JOIN concepts c ON c.row = n.concept "
            "WHERE NOT c.retired ORDER BY n.badness, n.scope, n.position > 0, length(n.text), n.concept, n.row"
        )
        for row, id, matched in query(sql, *values):
            if row not in hits:
                hits[row] = Hit(row, id, _preferred(query, row), matched, tier)
            if len(hits) >= limit:
                return list(hits.values())
    return list(hits.values())


def _filters(types: Sequence[int], under: Sequence[int]) -> tuple[str, str]:
    """Return the head of a query and a condition on ``n.concept``; all numbers in them are rows, never a user's."""
    head = condition = ""
    if under:
        head = ALLOWED_UNDER.format(roots=", ".join(f"({int(row)})" for row in under))
        condition += " AND n.concept IN (SELECT row FROM below)"
    if types:
        condition += f" AND n.concept IN (SELECT concept FROM types WHERE type IN ({', '.join(map(str, types))}))"
    return head, condition


def _tiers(text: str, condition: str) -> Iterator[tuple[str, str, list[object]]]:
    """Yield name, query and values of each tier; `condition` stands inside, so that `CAP` counts what it lets in."""
    columns = "n.row, n.concept, n.text, n.scope, n.position"
    by_id = (
        "WITH RECURSIVE ids(id) AS (VALUES (?1), (?2) UNION SELECT successor FROM retired JOIN ids USING (id)) "
        f"SELECT {columns}, 0 AS badness FROM names n WHERE n.position = 0{condition} "
        "AND n.concept IN (SELECT row FROM concepts JOIN ids USING (id) WHERE NOT retired)"
    )
    # hp:0000118, HP_0000118 and HP0000118 are ways people write HP:0000118
    as_curie = CURIE.sub(r"\1:\2", text.strip().upper())
    yield "id", by_id, [text.strip(), as_curie]
    norm = basic(text)
    if not norm:
        return
    yield "exact", f"SELECT {columns}, 0 AS badness FROM names n WHERE n.norm = ?{condition} LIMIT {CAP}", [norm]
    beyond = norm + "\U0010ffff"
    prefix = f"SELECT {columns}, 0 AS badness FROM names n WHERE n.norm > ? AND n.norm < ?{condition} LIMIT {CAP}"
    yield "prefix", prefix, [norm, beyond]
    words = [f'"{word}"' for word in dict.fromkeys(norm.split())][:WORDS]
    matching = (
        f"SELECT {columns}, {{badness}} AS badness FROM words w JOIN names n ON n.row = w.rowid "
        f"WHERE words MATCH ?{condition} ORDER BY w.rank LIMIT {CAP}"
    )
    # the last word may still be half typed
    yield "all words", matching.format(badness="0"), [" AND ".join([*words[:-1], words[-1] + " *"])]
    if len(words) > 1:
        yield "any word", matching.format(badness="w.rank"), [" OR ".join(words)]


def _preferred(query: Query, row: int) -> str:
    (name,) = next(query("SELECT text FROM names WHERE concept = ? ORDER BY position, row LIMIT 1", row))
    return str(name)
