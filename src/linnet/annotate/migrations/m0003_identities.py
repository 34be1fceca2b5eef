"""Who somebody is at a provider of sign-ins (OpenID Connect)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "identity",
        sa.Column("issuer", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("user", sa.Integer, sa.ForeignKey("user.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
    )
