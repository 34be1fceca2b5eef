"""The tables of the workbench, the same in SQLite and PostgreSQL.

They are made by the files in ``migrations/``, which are only ever added to; a test compares the two. Times are texts
in UTC of one form (`now`), so that they sort; JSON is text with one form for each value, so that it can be hashed.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from linnet.annotate.marks import canonical

__all__ = [
    "METADATA",
    "Json",
    "assignment",
    "clock",
    "comment",
    "document",
    "event",
    "guideline",
    "idem",
    "identity",
    "job",
    "member",
    "mention_now",
    "model",
    "model_source",
    "now",
    "predicted",
    "prediction",
    "project",
    "proposal",
    "round_",
    "run",
    "session",
    "token",
    "upload",
    "user",
]


class Json(sa.types.TypeDecorator[Any]):
    """A JSON value as canonical text; None is NULL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        """Return the text that is stored."""
        return None if value is None else canonical(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002
        """Return the value of a stored text."""
        return None if value is None else json.loads(value)


CLOCKS = {
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{:+.3f} seconds')",
    "postgresql": "to_char((clock_timestamp() + interval '{:+.3f} seconds') AT TIME ZONE 'UTC', "
    """'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""",
}


def clock(dialect: str, ahead: float = 0.0) -> sa.ColumnElement[str]:
    """Return what `now` does, for queries that are made before there is a connection."""
    return sa.literal_column(CLOCKS[dialect].format(ahead), sa.Text())


def now(db: sa.Connection, ahead: float = 0.0) -> sa.ColumnElement[str]:
    """Return the database's clock, as in ``2026-03-01T12:30:00.250Z``: machines that share a database share it.

    `ahead` is how many seconds later than now is meant.
    """
    return clock(db.dialect.name, ahead)


METADATA = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _key() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _of(table: str, *, null: bool = False, primary_key: bool = False, name: str = "") -> sa.Column[int]:
    """Return a column that refers to the row of another table."""
    target = sa.ForeignKey(f"{table}.id")
    return sa.Column(name or table, sa.Integer, target, nullable=null, primary_key=primary_key)


def _text(name: str, *, null: bool = False, default: str | None = None, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null, server_default=default, primary_key=primary_key)


def _json(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, Json, nullable=null)


def _int(name: str, *, null: bool = False, default: str | None = None, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=null, server_default=default, primary_key=primary_key)


def _flag(name: str, default: bool) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.true() if default else sa.false())


# --- people ----------------------------------------------------------------------------------------------------------

# a name never changes: events, which never change either, name their author by it
user = sa.Table(
    "user", METADATA, _key(), sa.Column("name", sa.Text, nullable=False, unique=True), _text("hash", null=True),
    _flag("admin", False), _flag("disabled", False), _text("made"),
)  # fmt: skip
token = sa.Table(
    "token", METADATA, _text("hash", primary_key=True), _of("user"), _text("name"), _json("scopes"), _text("made"),
    _text("expires", null=True),
)  # fmt: skip
session = sa.Table(
    "session", METADATA, _text("hash", primary_key=True), _of("user"), _text("csrf"), _text("made"), _text("expires"),
)  # fmt: skip
# who somebody is at a provider of sign-ins
identity = sa.Table(
    "identity", METADATA, _text("issuer", primary_key=True), _text("subject", primary_key=True), _of("user"),
    _text("made"),
)  # fmt: skip
# `model` is the one in use, `seq` the version of the settings
project = sa.Table(
    "project", METADATA, _key(), sa.Column("name", sa.Text, nullable=False, unique=True), _text("kb", default=""),
    _json("settings"), _text("model", null=True), _int("seq", default="0"), _flag("blind", True),
    _flag("archived", False), _text("made"),
)  # fmt: skip
member = sa.Table(
    "member", METADATA, _of("project", primary_key=True), _of("user", primary_key=True), _text("role"),
)  # fmt: skip
guideline = sa.Table(
    "guideline", METADATA, _of("project", primary_key=True), _int("v", primary_key=True), _text("md"), _of("user"),
    _text("made"),
)  # fmt: skip

# --- documents and who works on them ---------------------------------------------------------------------------------

upload = sa.Table(
    "upload", METADATA, _key(), _of("project"), _of("user"), _text("name"), _text("sha256"), _text("state"),
    _int("added", default="0"), _json("errors"), _text("made"),
)  # fmt: skip
# `length` in code points and `sha256` outlive the text; `added` is the number of the event that brought it
document = sa.Table(
    "document", METADATA, _key(), _of("project"), _text("ext_id"), _text("text"), _int("length"), _text("sha256"),
    _json("passages"), _json("sentences", null=True), _json("abbreviations", null=True), _json("gold", null=True),
    _json("reviewed", null=True), _json("meta"), _text("format", default=""), _flag("redacted", False), _int("added"),
    sa.UniqueConstraint("project", "sha256", "ext_id"),
)  # fmt: skip
# `pool` are the documents that nobody had begun, as ranges of their numbers, `run` the one that predicted them
round_ = sa.Table(
    "round", METADATA, _key(), _of("project"), _of("user"), _text("strategy"), _int("seed"), _text("model", null=True),
    _text("made"), _json("pool", null=True), _text("run", null=True),
)  # fmt: skip
# `user` is NULL for a stream that all members share; its number is what events call `stream`
assignment = sa.Table(
    "assignment", METADATA, _key(), _of("project"), _of("document"), _of("user", null=True),
    _text("kind", default="annotate"), _text("state", default="open"), _of("round", null=True),
    _text("why", default=""),
    _json("progress", null=True), _flag("suggestions", True),
    _text("lease", null=True), _int("seq", default="0"), _text("made"),
    sa.UniqueConstraint("document", "user", "kind"), sa.Index(None, "project", "user"),
)  # fmt: skip

# --- decisions -------------------------------------------------------------------------------------------------------

# `stream` is NULL for what is done to the project: uploads, redactions
event = sa.Table(
    "event", METADATA, sa.Column("n", sa.BigInteger, primary_key=True, autoincrement=False), _of("project"),
    _of("assignment", null=True, name="stream"), _int("seq"), _text("at"), _text("actor"), _text("kind"),
    _text("mention"), _json("before", null=True), _json("after", null=True), _text("command", null=True),
    _text("grp"),
    _text("kb", default=""), _text("model", null=True), _text("run", null=True), _int("guideline", null=True),
    _int("ms", null=True), _text("prev"), _text("hash"),
    sa.UniqueConstraint("stream", "seq"), sa.UniqueConstraint("project", "command"),
)  # fmt: skip
mention_now = sa.Table(
    "mention_now", METADATA, _of("assignment", primary_key=True, name="stream"), _text("mention", primary_key=True),
    _json("parts"), _json("types"), _json("concepts", null=True), _json("alternatives"), _text("nil"),
    _flag("unsure", False),
    _text("source"), _text("origin"), _text("state"), _int("seq"),
)  # fmt: skip
# texts of comments: apart from their events, so that they can be erased; `live` says whether the comment stands
comment = sa.Table(
    "comment", METADATA, _of("assignment", primary_key=True, name="stream"), _text("id", primary_key=True),
    _text("mention"), _text("text"), _text("sha256"), _text("actor"), _text("at"), _flag("live", True),
)  # fmt: skip
# concepts that somebody misses in the knowledge base; `number` is given when a curator accepts one, in that order, and
# `concept` is the one of the knowledge base that is meant
proposal = sa.Table(
    "proposal", METADATA, _text("id", primary_key=True), _of("project"), _of("user"), _text("kb"), _text("name"),
    _json("types"), _text("parent", default=""), _text("note", default=""), _text("made"),
    _text("state", default="open"), _int("number", null=True), _text("concept", default=""),
    _text("why", default=""), _of("user", null=True, name="curator"), _text("decided", null=True),
    sa.UniqueConstraint("project", "number"),
)  # fmt: skip
# answers that a repeated request gets again; those of commands never expire
idem = sa.Table(
    "idem", METADATA, _text("key", primary_key=True), _of("user", primary_key=True), _text("hash"), _json("answer"),
    _text("expires", null=True),
)  # fmt: skip

# --- models and what they say ----------------------------------------------------------------------------------------

model = sa.Table(
    "model", METADATA, _text("id", primary_key=True), _of("project"), _text("parent", null=True), _json("card"),
    _json("metrics"), _text("path"), _int("data_to_event"), _text("made"),
)  # fmt: skip
# whose labels of which document a model has learned from, those of its parents too
model_source = sa.Table(
    "model_source", METADATA, sa.Column("model", sa.Text, sa.ForeignKey("model.id"), primary_key=True),
    _of("document", primary_key=True), _of("user", primary_key=True),
)  # fmt: skip
run = sa.Table(
    "run", METADATA, _text("id", primary_key=True), _of("project"), _int("number"),
    sa.Column("model", sa.Text, sa.ForeignKey("model.id"), nullable=True), _text("kb", default=""),
    _text("state", default="running"), _text("made"), sa.UniqueConstraint("project", "number"),
)  # fmt: skip
# the documents a run is through with: one without predictions has a row here alone
predicted = sa.Table(
    "predicted", METADATA, sa.Column("run", sa.Text, sa.ForeignKey("run.id"), primary_key=True),
    _of("document", primary_key=True),
)  # fmt: skip
prediction = sa.Table(
    "prediction", METADATA, sa.Column("run", sa.Text, sa.ForeignKey("run.id"), primary_key=True),
    _of("document", primary_key=True), _text("id", primary_key=True), _text("address"), _json("parts"), _json("types"),
    _json("concepts", null=True), _json("alternatives"), _json("candidates", null=True),
    sa.Column("p", sa.Double, nullable=True), _text("calibration", default=""), _json("signals"),
    _text("assertion", default=""),
)  # fmt: skip
job = sa.Table(
    "job", METADATA, _key(), _of("project"), _of("user", null=True), _text("kind"), _json("args"),
    _text("state", default="queued"), _int("priority", default="0"), _int("attempt", default="0"),
    _text("lease_until", null=True), _text("not_before", null=True), _text("worker", null=True),
    _int("step", default="0"), _int("of", default="0"), sa.Column("loss", sa.Double, nullable=True),
    sa.Column("score", sa.Double, nullable=True), _text("checkpoint", null=True), _flag("cancel", False),
    _text("log_tail", default=""), _int("data_to_event", null=True), _json("result", null=True), _text("made"),
    _text("ended", null=True), sa.Index(None, "state", "priority"),
)  # fmt: skip
