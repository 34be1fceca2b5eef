"""Times in the future, by the database's clock: all that share a database agree on when something is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from linnet.annotate.tables import now

__all__ = ["later"]


def later(db: sa.Connection, wait: timedelta) -> str:
    """Return the time after `wait`, in the form of all times of the store."""
    at = datetime.fromisoformat(str(db.scalar(sa.select(now(db))))).astimezone(UTC) + wait
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
