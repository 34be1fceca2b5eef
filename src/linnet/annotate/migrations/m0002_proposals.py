"""Concepts that somebody misses in the knowledge base, and what curators say of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _text(name: str, *, default: str | None = None, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null, server_default=default)


def _of(table: str, *, null: bool = False, name: str = "") -> sa.Column[int]:
    return sa.Column(name or table, sa.Integer, sa.ForeignKey(f"{table}.id"), nullable=null)


def upgrade() -> None:
    """Make the table of proposals."""
    op.create_table(
        "proposal", sa.Column("id", sa.Text, primary_key=True), _of("project"), _of("user"), _text("kb"),
        _text("name"), _text("types"), _text("parent", default=""), _text("note", default=""), _text("made"),
        _text("state", default="open"), sa.Column("number", sa.BigInteger, nullable=True),
        _text("concept", default=""), _text("why", default=""), _of("user", null=True, name="curator"),
        _text("decided", null=True), sa.UniqueConstraint("project", "number"),
    )  # fmt: skip
