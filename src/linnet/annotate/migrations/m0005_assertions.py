"""What the text says of a predicted finding: exports keep it for suggestions that were accepted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of what was predicted before nothing is known."""
    op.add_column("prediction", sa.Column("assertion", sa.Text, nullable=False, server_default=""))
