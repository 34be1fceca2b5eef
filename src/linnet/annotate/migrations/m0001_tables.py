"""The tables as they were first: people, documents, decisions, models. Events can be added, never changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

REFUSED = "events are never changed: append another one"
SQLITE = """
CREATE TRIGGER event_{0} BEFORE {1} ON event BEGIN SELECT RAISE(ABORT, '{2}'); END
"""
POSTGRESQL = """
CREATE FUNCTION event_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{0}'; END $$;
CREATE TRIGGER event_row BEFORE UPDATE OR DELETE ON event FOR EACH ROW EXECUTE FUNCTION event_stays();
CREATE TRIGGER event_table BEFORE TRUNCATE ON event FOR EACH STATEMENT EXECUTE FUNCTION event_stays();
"""


def upgrade() -> None:
    """Make all tables, and forbid to change events."""
    _people()
    _documents()
    _decisions()
    _models()
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(SQLITE.format(verb.lower(), verb, REFUSED))
    else:
        op.execute(POSTGRESQL.format(REFUSED))


def _key() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _of(table: str, *, null: bool = False, primary_key: bool = False, name: str = "") -> sa.Column[int]:
    target = sa.ForeignKey(f"{table}.id")
    return sa.Column(name or table, sa.Integer, target, nullable=null, primary_key=primary_key)


def _text(name: str, *, null: bool = False, default: str | None = None, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null, server_default=default, primary_key=primary_key)


def _int(name: str, *, null: bool = False, default: str | None = None, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=null, server_default=default, primary_key=primary_key)


def _flag(name: str, default: bool) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.true() if default else sa.false())


def _people() -> None:
    op.create_table(
        "user", _key(), sa.Column("name", sa.Text, nullable=False, unique=True), _text("hash", null=True),
        _flag("admin", False), _flag("disabled", False), _text("made"),
    )  # fmt: skip
    op.create_table(
        "token", _text("hash", primary_key=True), _of("user"), _text("name"), _text("scopes"), _text("made"),
        _text("expires", null=True),
    )  # fmt: skip
    op.create_table(
        "session", _text("hash", primary_key=True), _of("user"), _text("csrf"), _text("made"), _text("expires"),
    )  # fmt: skip
    op.create_table(
        "project", _key(), sa.Column("name", sa.Text, nullable=False, unique=True), _text("kb", default=""),
        _text("settings"), _text("model", null=True), _int("seq", default="0"), _flag("blind", True),
        _flag("archived", False), _text("made"),
    )  # fmt: skip
    op.create_table(
        "member", _of("project", primary_key=True), _of("user", primary_key=True), _text("role"),
    )  # fmt: skip
    op.create_table(
        "guideline", _of("project", primary_key=True), _int("v", primary_key=True), _text("md"), _of("user"),
        _text("made"),
    )  # fmt: skip


def _documents() -> None:
    op.create_table(
        "upload", _key(), _of("project"), _of("user"), _text("name"), _text("sha256"), _text("state"),
        _int("added", default="0"), _text("errors"), _text("made"),
    )  # fmt: skip
    op.create_table(
        "document", _key(), _of("project"), _text("ext_id"), _text("text"), _int("length"), _text("sha256"),
        _text("passages"), _text("sentences", null=True), _text("abbreviations", null=True), _text("gold", null=True),
        _text("reviewed", null=True), _text("meta"), _text("format", default=""), _flag("redacted", False),
        _int("added"),
        sa.UniqueConstraint("project", "sha256", "ext_id"),
    )  # fmt: skip
    op.create_table(
        "round", _key(), _of("project"), _of("user"), _text("strategy"), _int("seed"), _text("model", null=True),
        _text("made"),
    )  # fmt: skip
    op.create_table(
        "assignment", _key(), _of("project"), _of("document"), _of("user", null=True),
        _text("kind", default="annotate"), _text("state", default="open"), _of("round", null=True),
        _text("why", default=""),
        _text("progress", null=True), _flag("suggestions", True),
        _text("lease", null=True), _int("seq", default="0"), _text("made"),
        sa.UniqueConstraint("document", "user", "kind"), sa.Index(None, "project", "user"),
    )  # fmt: skip


def _decisions() -> None:
    op.create_table(
        "event", sa.Column("n", sa.BigInteger, primary_key=True, autoincrement=False), _of("project"),
        _of("assignment", null=True, name="stream"), _int("seq"), _text("at"), _text("actor"), _text("kind"),
        _text("mention"), _text("before", null=True), _text("after", null=True), _text("command", null=True),
        _text("grp"),
        _text("kb", default=""), _text("model", null=True), _text("run", null=True), _int("guideline", null=True),
        _int("ms", null=True), _text("prev"), _text("hash"),
        sa.UniqueConstraint("stream", "seq"), sa.UniqueConstraint("project", "command"),
    )  # fmt: skip
    op.create_table(
        "mention_now", _of("assignment", primary_key=True, name="stream"), _text("mention", primary_key=True),
        _text("parts"), _text("types"), _text("concepts", null=True), _text("alternatives"), _text("nil"),
        _flag("unsure", False),
        _text("source"), _text("origin"), _text("state"), _int("seq"),
    )  # fmt: skip
    op.create_table(
        "comment", _of("assignment", primary_key=True, name="stream"), _text("id", primary_key=True),
        _text("mention"), _text("text"), _text("sha256"), _text("actor"), _text("at"), _flag("live", True),
    )  # fmt: skip
    op.create_table(
        "idem", _text("key", primary_key=True), _of("user", primary_key=True), _text("hash"), _text("answer"),
        _text("expires", null=True),
    )  # fmt: skip


def _models() -> None:
    op.create_table(
        "model", _text("id", primary_key=True), _of("project"), _text("parent", null=True), _text("card"),
        _text("metrics"), _text("path"), _int("data_to_event"), _text("made"),
    )  # fmt: skip
    op.create_table(
        "model_source", sa.Column("model", sa.Text, sa.ForeignKey("model.id"), primary_key=True),
        _of("document", primary_key=True), _of("user", primary_key=True),
    )  # fmt: skip
    op.create_table(
        "run", _text("id", primary_key=True), _of("project"), _int("number"),
        sa.Column("model", sa.Text, sa.ForeignKey("model.id"), nullable=True), _text("kb", default=""),
        _text("state", default="running"), _text("made"), sa.UniqueConstraint("project", "number"),
    )  # fmt: skip
    op.create_table(
        "predicted", sa.Column("run", sa.Text, sa.ForeignKey("run.id"), primary_key=True),
        _of("document", primary_key=True),
    )  # fmt: skip
    op.create_table(
        "prediction", sa.Column("run", sa.Text, sa.ForeignKey("run.id"), primary_key=True),
        _of("document", primary_key=True), _text("id", primary_key=True), _text("address"), _text("parts"),
        _text("types"),
        _text("concepts", null=True), _text("alternatives"), _text("candidates", null=True),
        sa.Column("p", sa.Double, nullable=True), _text("calibration", default=""), _text("signals"),
    )  # fmt: skip
    op.create_table(
        "job", _key(), _of("project"), _of("user", null=True), _text("kind"), _text("args"),
        _text("state", default="queued"), _int("priority", default="0"), _int("attempt", default="0"),
        _text("lease_until", null=True), _text("not_before", null=True), _text("worker", null=True),
        _int("step", default="0"), _int("of", default="0"), sa.Column("loss", sa.Double, nullable=True),
        sa.Column("score", sa.Double, nullable=True), _text("checkpoint", null=True), _flag("cancel", False),
        _text("log_tail", default=""), _int("data_to_event", null=True), _text("result", null=True), _text("made"),
        _text("ended", null=True), sa.Index(None, "state", "priority"),
    )  # fmt: skip
