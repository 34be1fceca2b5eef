"""An index over linked documents: Parquet files beside them, made once and made again when they change.

The folder ``OUT/.index`` holds

* ``mentions.parquet``: a row for each concept of each mention, sorted by concept, so that a query reads the few row
  groups that hold what it asks for: concept, doc, mention (its place in the document), start, end, text, probability,
  assertion;
* ``documents.parquet``: doc (a number), id, meta (JSON), mentions (how many), in the order of the shards;
* ``concepts.parquet``: in how many documents and mentions each concept occurs;
* ``state.json``: names, sizes and times of change of the shards that it was made from.

DuckDB makes it, in memory that is bounded whatever there is to sort, beside its place, and renames it.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from linnet.corpora.said import NO_RELATIVE
from linnet.data import DENIED
from linnet.errors import FormatError, LinnetError, MissingExtraError
from linnet.home import sweep_folders
from linnet.text.files import open_text
from linnet.text.json_files import SURROGATE

__all__ = ["Shards", "connected", "literal", "make_index", "quoted", "shards_of"]

logger = logging.getLogger(__name__)

VERSION = 4
INDEX, STATE, MANIFEST = ".index", "state.json", "manifest.json"
OURS = {"mentions.parquet", "documents.parquet", "concepts.parquet", STATE}
TRIES = 3  # to put an index in its place while others do
MEMORY = "2GB"  # that DuckDB may take before it sorts on disk
LONGEST = 64 << 20  # bytes of one document; DuckDB takes twice that for each thread that reads
THREADS = 4
MENTION = (
    'STRUCT("start" INTEGER, "end" INTEGER, "text" VARCHAR, concepts VARCHAR[], probability DOUBLE, assertion VARCHAR, '
    "meta JSON)"
)
FIELDS = {"id": "VARCHAR", "meta": "JSON", "mentions": f"{MENTION}[]"}
ESCAPED = "\\ud"  # how half a surrogate pair begins in JSON
ROWS = 32_768  # of a row group: what is skipped or read as one


class Shards(NamedTuple):
    """The files of linked documents: of mentions too, where these are apart."""

    documents: list[Path]
    mentions: list[Path]
    made_of: dict[str, Any]  # what the manifest of a job tells of its pipeline
    place: Path  # where the index is kept by default

    def state(self) -> list[list[object]]:
        """Return what changes when a shard does."""
        stats = [(path, path.stat()) for path in (*self.documents, *self.mentions)]
        return [[path.name, stat.st_size, stat.st_mtime_ns] for path, stat in stats]


def shards_of(path: str | Path) -> Shards:
    """Return the linked documents that are at `path`: the folder of a job, one of JSON Lines, or one such file.

    Raises:
        FormatError: there are none.
    """
    place = Path(path)
    if place.is_file():
        return Shards([place], [], {}, place.with_name(f".{place.name}.index"))
    if not place.is_dir():
        raise FormatError(path, "there is no such file or folder of linked documents")
    manifest = _manifest(place / MANIFEST)
    if manifest.get("finished") is False:
        logger.warning("%s: the job that writes there is not finished: what is there now is queried", path)
    mentions, documents = _tables(place)
    if not mentions:
        documents = _lines_of(place)
    if not documents:
        unfinished = "is of a job that has finished no shard yet, or linked no document"
        other = "holds no linked documents: neither shard-… of a job nor JSON Lines (.jsonl)"
        raise FormatError(path, unfinished if manifest else other)
    made_of = manifest.get("made of")
    return Shards(documents, mentions, made_of if isinstance(made_of, dict) else {}, place / INDEX)


def _tables(place: Path) -> tuple[list[Path], list[Path]]:
    """Return the tables of mentions in a folder, and those of documents; one without the other is being written."""
    found = [sorted(place.glob(f"{name}-*.parquet")) for name in ("shard", "documents")]
    whole = set.intersection(*({_part(path) for path in some} for some in found))
    if found[0] and not whole:
        raise FormatError(place, "has shard-….parquet without documents-….parquet beside them")
    mentions, documents = ([path for path in some if _part(path) in whole] for some in found)
    return mentions, documents


def _part(path: Path) -> str:
    return path.name.partition("-")[2]


def _lines_of(folder: Path) -> list[Path]:
    """Return the files of JSON Lines in a folder."""
    found = sorted(file for ending in ("jsonl", "jsonl.gz") for file in folder.glob(f"*.{ending}"))
    return [file for file in found if file.name != "errors.jsonl" and not file.name.startswith(".")]


def _manifest(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(path, f"cannot be read: {error}") from error
    return found if isinstance(found, dict) and "linnet job" in found else {}


def make_index(shards: Shards, place: Path | None = None) -> Path:
    """Return the folder of the index, made now unless it is there and of these very shards.

    Raises:
        FormatError: a shard that is damaged or holds no linked documents, or a place that cannot be written to.
        MissingExtraError: DuckDB is not installed.
    """
    folder = place or shards.place
    state = {"version": VERSION, "shards": shards.state()}
    if _is_of(folder, state):
        return folder
    if folder.is_dir() and (others := {path.name for path in folder.iterdir()} - OURS):
        raise FormatError(folder, f"holds {min(others)!r}, which is of no index: name a new folder with --index")
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    logger.info("indexing %s shards into %s", f"{len(shards.documents):,}", folder)
    try:
        sweep_folders(folder)
        part.mkdir(parents=True)
        _build(shards, part)
        (part / STATE).write_text(json.dumps(state), encoding="utf-8")
        _put(part, folder, state)
    except OSError as error:
        told = f"the index cannot be written: {error.strerror or error}; name another place: --index DIR"
        raise FormatError(folder, told) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _is_of(folder: Path, state: dict[str, Any]) -> bool:
    with suppress(OSError, ValueError, RecursionError):
        return bool(json.loads((folder / STATE).read_text(encoding="utf-8")) == state)
    return False


def _put(part: Path, folder: Path, state: dict[str, Any]) -> None:
    """Give an index its place, unless another process has put the same there: then that may be read already."""
    for left in reversed(range(TRIES)):
        if _is_of(folder, state):
            return
        with suppress(FileNotFoundError):
            old = folder.rename(folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part"))
            shutil.rmtree(old, ignore_errors=True)
        try:
            part.rename(folder)
        except OSError:  # another one came between
            if not left:
                raise
        else:
            return


def _build(shards: Shards, part: Path) -> None:
    duckdb, connection = connected(part / "build.db", temporary=part / "tmp")
    try:
        connection.execute("SET preserve_insertion_order = true")
        if shards.mentions:
            _load_parquet(connection, shards)
        else:
            try:
                _load_json(connection, shards)
            except duckdb.InvalidInputException as error:
                if "surrogate" not in str(error):
                    raise
                copies = [_without_halves(path, part) for path in shards.documents]
                _load_json(connection, shards._replace(documents=copies))
        rows = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS})"
        connection.execute(f"""
            COPY (SELECT * FROM mentions ORDER BY concept, doc, start) TO {quoted(part / "mentions.parquet")} {rows};
            COPY (SELECT * FROM documents ORDER BY doc) TO {quoted(part / "documents.parquet")} {rows};
            COPY (
                SELECT concept, count(DISTINCT doc) AS documents, count(*) AS mentions
                FROM mentions GROUP BY concept ORDER BY concept
            ) TO {quoted(part / "concepts.parquet")} {rows}
        """)
    except duckdb.OutOfMemoryException as error:
        raise LinnetError(f"{part.parent}: the index needs more memory than {MEMORY}: {error}") from error
    except duckdb.Error as error:
        said = str(error).partition("\n")[0]
        what = shards.documents[0].parent if len(shards.documents) > 1 else shards.documents[0]
        expected = "expected JSON Lines or a job's folder, as linnet link writes them"
        raise FormatError(what, f"these are no linked documents, or damaged; {expected}: {said}") from error
    finally:
        connection.close()
    for path in (*part.glob("build.db*"), *part.glob("*.jsonl")):
        path.unlink()
    shutil.rmtree(part / "tmp", ignore_errors=True)


def _without_halves(path: Path, folder: Path) -> Path:
    """Return a copy, in `folder`, of a shard that has � for halves of surrogate pairs, which DuckDB does not read."""
    copy = folder / f"{secrets.token_hex(4)}.jsonl"
    with copy.open("w", encoding="utf-8", newline="\n") as out:
        for line in open_text(path, may_be_empty=True):
            whole = line
            if ESCAPED in line.lower():
                with suppress(ValueError):  # DuckDB says what is wrong with it
                    whole = json.dumps(json.loads(line), ensure_ascii=False)
            out.write(SURROGATE.sub("\ufffd", whole) + "\n")
    return copy


def _load_json(connection: Any, shards: Shards) -> None:
    connection.execute(
        f"""
        CREATE TABLE given AS SELECT (row_number() OVER () - 1)::INTEGER AS doc, id, meta, mentions
        FROM read_json(?, format = 'newline_delimited', columns = {_struct(FIELDS)}, maximum_object_size = {LONGEST})
        """,
        [_literal(shards.documents)],
    )
    [(without,)] = connection.execute("SELECT count(*) FROM given WHERE id IS NULL").fetchall()
    if without:
        raise FormatError(shards.place.parent, f"{without:,} lines have no id: these are no linked documents")
    connection.execute(f"""
        CREATE VIEW documents AS SELECT doc, id, meta::VARCHAR AS meta, coalesce(len(mentions), 0)::INTEGER AS mentions
        FROM given;
        CREATE VIEW mentions AS SELECT unnest(m.concepts) AS concept, doc, mention, m."start" AS "start",
            m."end" AS "end", m."text" AS "text", m.probability AS probability,
            CASE WHEN m.assertion = 'family' AND json_extract(m.meta, '$.{DENIED}')::VARCHAR = 'true'
                THEN '{NO_RELATIVE}' ELSE coalesce(m.assertion, '') END AS assertion
        FROM (SELECT doc, unnest(mentions) AS m, unnest(range(len(mentions)))::INTEGER AS mention FROM given)
    """)


def _load_parquet(connection: Any, shards: Shards) -> None:
    connection.execute(
        """
        CREATE TABLE documents AS SELECT (row_number() OVER () - 1)::INTEGER AS doc, document AS id, meta,
            mentions::INTEGER AS mentions
        FROM read_parquet(?)
        """,
        [_literal(shards.documents)],
    )
    connection.execute(  # by their places: ids may come twice
        """
        CREATE TABLE found AS SELECT owners.id, doc, mention, given.*
        FROM (SELECT id, doc, unnest(range(mentions))::INTEGER AS mention FROM documents ORDER BY doc) AS owners
            POSITIONAL JOIN (
                SELECT document, concepts, "start", "end", "text", probability, assertion FROM read_parquet(?)
            ) AS given
        """,
        [_literal(shards.mentions)],
    )
    [(strange,)] = connection.execute("SELECT count(*) FROM found WHERE id IS DISTINCT FROM document").fetchall()
    if strange:
        told = f"shard-….parquet and documents-….parquet do not belong together ({strange:,} mentions)"
        raise FormatError(shards.mentions[0].parent, told)
    # ids are joined by bars, and have a backslash in front of their own (`linnet.corpora.mention_table.join`)
    connection.execute(r"""
        CREATE VIEW mentions AS SELECT
            regexp_replace(unnest(regexp_extract_all(concepts, '(?:[^|\\]|\\.)+')), '\\(.)', '\1', 'g') AS concept,
            doc, mention,
            "start"::INTEGER AS "start", "end"::INTEGER AS "end", "text", probability,
            coalesce(assertion, '') AS assertion
        FROM found WHERE concepts <> ''
    """)


def _struct(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: '{kind}'" for name, kind in fields.items()) + "}"


def _literal(paths: list[Path]) -> list[str]:
    """Return paths as DuckDB reads them: not as patterns, which name other files."""
    return [literal(path) for path in paths]


def literal(path: Path) -> str:
    """Return a path as a pattern that it alone matches.

    >>> literal(Path("run[1]/a*"))
    'run[[]1]/a[*]'
    """
    return re.sub(r"[*?[]", r"[\g<0>]", str(path))


def quoted(path: Path | str) -> str:
    """Return a path as SQL writes a text.

    >>> quoted(Path("it's"))
    "'it''s'"
    """
    return "'" + str(path).replace("'", "''") + "'"


def connected(database: Path | None = None, *, temporary: Path | None = None) -> tuple[Any, Any]:
    """Return DuckDB and a connection that loads nothing from the network.

    Raises:
        MissingExtraError: DuckDB is not installed.
        LinnetError: it cannot be opened.
    """
    try:
        duckdb = importlib.import_module("duckdb")
    except ModuleNotFoundError as error:
        raise MissingExtraError("duckdb", extra="query", wanted_by="linnet query") from error
    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "memory_limit": MEMORY,
        "threads": min(THREADS, os.cpu_count() or 1),
    }
    if temporary is not None:
        settings["temp_directory"] = str(temporary)
    try:
        return duckdb, duckdb.connect(":memory:" if database is None else str(database), config=settings)
    except duckdb.Error as error:
        raise LinnetError(f"DuckDB cannot be started: {error}") from error
