"""Questions to linked documents: which ones hold a concept, when, together with what; what one of them holds.

Whatever a person gives is a parameter of the query, never part of its text. A concept asked for is a set of ids:
itself, or itself with all below it, as the knowledge base has it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linnet.errors import FormatError, LinnetError
from linnet.home import check_output
from linnet.kb import KnowledgeBase
from linnet.kb.curies import curie
from linnet.scale.linked_index import Shards, connected, literal, make_index, quoted, shards_of

__all__ = ["WRITTEN", "Asked", "Linked", "ids_under"]

VALUE = "json_extract_string(meta, ?)"
PARTS = {
    "": VALUE,
    "year": f"regexp_extract({VALUE}, '^\\d{{4}}')",
    "month": f"regexp_extract({VALUE}, '^\\d{{4}}-\\d\\d')",
}
TABLES = ("mentions", "documents", "concepts")
WRITTEN = {".csv": "(FORMAT csv, HEADER)", ".parquet": "(FORMAT parquet)", ".jsonl": "(FORMAT json, ARRAY false)"}


@dataclass(frozen=True)
class Asked:
    """What mentions must be to count.

    Args:
        concepts: sets of ids; a document must have one of each set.
        above: the least probability; mentions without one do not count then. None counts all.
        only: assertions of which a mention must have one; none counts all.
    """

    concepts: tuple[frozenset[str], ...]
    above: float | None = None
    only: tuple[str, ...] = ()


def ids_under(kb: KnowledgeBase, id: str) -> frozenset[str]:
    """Return the ids of a concept and of all below it.

    Raises:
        UnknownConceptError: the knowledge base lacks it.
    """
    return frozenset(kb.id(row) for row in np.flatnonzero(kb.mask(under=[id]).array).tolist())


class Linked:
    """Linked documents that can be asked; a context manager.

    Args:
        path: the folder of a job, one of JSON Lines, or one such file.
        index: where its index is kept; by default beside it (`linnet.scale.linked_index`).

    Raises:
        FormatError: there are no linked documents, or they are damaged.
        MissingExtraError: DuckDB is not installed.
    """

    def __init__(self, path: str | Path, *, index: Path | None = None) -> None:
        self.shards: Shards = shards_of(path)
        folder = make_index(self.shards, index)
        self._duckdb, self._db = connected()
        for name in TABLES:
            path = quoted(literal(folder / f"{name}.parquet"))
            self._db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({path})")

    def __enter__(self) -> Linked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index."""
        self._db.close()

    def __len__(self) -> int:
        return int(self._one("SELECT count(*) FROM documents"))

    # --- questions: each leaves its answer in a table ----------------------------------------------------------------

    def documents(self, asked: Asked) -> Answer:
        """Return the documents that hold the concepts asked for: id, how many such mentions, their best probability."""
        self._find(asked)
        where, values = _filter(asked, frozenset().union(*asked.concepts))
        both = "SEMI JOIN hits USING (doc)" if len(asked.concepts) > 1 else ""
        return self._answer(
            f"""
            SELECT id AS document, found.mentions, found.probability FROM (
                SELECT doc, count(DISTINCT mention) AS mentions, max(probability) AS probability
                FROM mentions {both} WHERE {where} GROUP BY doc
            ) AS found JOIN documents USING (doc) ORDER BY doc
            """,
            values,
        )

    def hits(self) -> int:
        """Return how many documents hold the concepts that were asked for last."""
        return int(self._one("SELECT count(*) FROM hits"))

    def by(self, asked: Asked, column: str) -> Answer:
        """Return how many documents hold the concepts asked for, by a value of their meta, and of how many.

        Of a date, ``visit:year`` and ``visit:month`` count by a part.

        Raises:
            LinnetError: no document has this in its meta.
        """
        self._find(asked)
        name, _, part = (column, "", "") if column in self._keys() else column.rpartition(":")
        if part not in PARTS or not name:
            name, part = column, ""
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        answer = self._answer(
            f"""
            SELECT nullif({PARTS[part]}, '') AS value, count(hits.doc) AS documents, count(*) AS "of"
            FROM documents LEFT JOIN hits USING (doc) GROUP BY value HAVING documents > 0 OR value IS NOT NULL
            ORDER BY TRY_CAST(value AS DOUBLE), value
            """,
            [pointer],
        )
        if all(row[0] is None for row in answer.rows()):
            raise LinnetError(f"no document has {column!r} in its meta; some have {', '.join(self._keys()) or 'none'}")
        return answer

    def together(self, asked: Asked, *, by_lift: bool = False, least: int = 1) -> Answer:
        """Return the concepts that occur in the same documents, with counts, lift and pointwise mutual information.

        Args:
            asked: what the documents hold; other mentions must pass the same probability and assertions.
            by_lift: sort by lift instead of by count.
            least: documents that a concept must share with those asked for.
        """
        self._find(asked)
        where, values = _filter(asked)
        base, of_base = "SELECT concept, documents FROM concepts", []
        if values:
            of_base = values
            base = f"SELECT concept, count(DISTINCT doc) AS documents FROM mentions WHERE {where} GROUP BY concept"
        return self._answer(
            f"""
            WITH base AS ({base}), shared AS (
                SELECT concept, count(DISTINCT doc) AS documents FROM mentions SEMI JOIN hits USING (doc)
                WHERE {where} AND concept NOT IN (SELECT unnest(?::VARCHAR[])) GROUP BY concept HAVING documents >= ?
            )
            SELECT concept, shared.documents, base.documents AS "of",
                shared.documents / base.documents * ?::DOUBLE AS lift, log2(lift) AS pmi
            FROM shared JOIN base USING (concept)
            ORDER BY {"lift DESC," if by_lift else ""} shared.documents DESC, concept
            """,
            [*of_base, *values, sorted(frozenset().union(*asked.concepts)), least, len(self) / max(self.hits(), 1)],
        )

    def document(self, id: str) -> Answer:
        """Return the concepts of one document, in the order of its text.

        Raises:
            LinnetError: there is none of this id.
        """
        if not self._one("SELECT count(*) FROM documents WHERE id = ?", [id]):
            raise LinnetError(f"there is no document {id!r}")
        return self._answer(
            """
            SELECT "start", "end", "text", concept, probability, assertion FROM mentions
            WHERE doc = (SELECT min(doc) FROM documents WHERE id = ?) ORDER BY "start", "end", concept
            """,
            [id],
        )

    def asserted(self) -> bool:
        """Return whether any mention has an assertion."""
        return bool(self._one("SELECT count(*) FROM mentions WHERE assertion <> ''"))

    # -----------------------------------------------------------------------------------------------------------------

    def _find(self, asked: Asked) -> None:
        """Put the documents that hold the concepts asked for into the table ``hits``."""
        if not asked.concepts:
            raise LinnetError("no concept is asked for")
        parts, values = [], []
        for ids in asked.concepts:
            where, more = _filter(asked, ids)
            parts.append(f"SELECT DISTINCT doc FROM mentions WHERE {where}")
            values += more
        self._run(f"CREATE OR REPLACE TEMP TABLE hits AS {' INTERSECT '.join(parts)}", values)

    def _answer(self, query: str, values: Sequence[Any]) -> Answer:
        self._run(f"CREATE OR REPLACE TEMP TABLE answer AS {query}", values)
        return Answer(self)

    def _keys(self) -> list[str]:
        found = self._run("SELECT DISTINCT unnest(json_keys(meta)) AS key FROM documents ORDER BY key LIMIT 20", [])
        return [key for (key,) in found.fetchall()]

    def _one(self, query: str, values: Sequence[Any] = ()) -> Any:
        return self._run(query, values).fetchall()[0][0]

    def _run(self, query: str, values: Sequence[Any]) -> Any:
        try:
            return self._db.execute(query, list(values))
        except self._duckdb.Error as error:
            said = str(error).partition("\n")[0]
            raise LinnetError(
                f"the index cannot be asked: {said}; remove {self.shards.place} to make it again"
            ) from error


class Answer:
    """The answer to the last question."""

    def __init__(self, linked: Linked) -> None:
        self._linked = linked

    def __len__(self) -> int:
        return int(self._linked._one("SELECT count(*) FROM answer"))

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return [name for name, *_ in self._linked._run("DESCRIBE answer", []).fetchall()]

    def rows(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return its first rows, all by default."""
        found = self._linked._run("SELECT * FROM answer LIMIT ?", [limit])
        rows: list[tuple[Any, ...]] = found.fetchall()
        return rows

    def write(self, path: str | Path) -> int:
        """Write it as .csv, .parquet or .jsonl, in full or not at all, and return how many rows.

        Raises:
            FormatError: another suffix, or a place that cannot be written to.
        """
        target = check_output(path)
        if (kind := WRITTEN.get(target.suffix.lower())) is None:
            raise FormatError(path, f"answers are written as {', '.join(WRITTEN)}")
        if not target.parent.is_dir():
            raise FormatError(path, f"cannot be written: there is no folder {target.parent}")
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            self._linked._db.execute(f"COPY answer TO {quoted(part)} {kind}")
            part.replace(target)
        except (OSError, self._linked._duckdb.Error) as error:
            raise FormatError(path, f"cannot be written: {error}") from error
        finally:
            part.unlink(missing_ok=True)
        return len(self)


def _filter(asked: Asked, ids: Iterable[str] | None = None) -> tuple[str, list[Any]]:
    """Return a condition on mentions, and its parameters."""
    parts: list[str] = []
    values: list[Any] = []
    if ids is not None:
        parts.append("concept IN (SELECT unnest(?::VARCHAR[]))")
        values.append(sorted(map(curie, ids)))
    if asked.above is not None:
        parts.append("probability >= ?")
        values.append(min(asked.above, float(np.float32(asked.above))))  # a score of 0.9 is 0.8999999761581421
    if asked.only:
        parts.append("assertion IN (SELECT unnest(?::VARCHAR[]))")
        values.append(list(asked.only))
    return " AND ".join(parts) or "true", values
