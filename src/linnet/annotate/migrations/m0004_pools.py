"""What each round was drawn from, and the run that predicted it then: the errors left are estimated from them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; rounds that were drawn before have none of it."""
    for name in ("pool", "run"):
        op.add_column("round", sa.Column(name, sa.Text, nullable=True))
