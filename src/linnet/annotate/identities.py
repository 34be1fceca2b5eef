"""People who sign in at a provider: who they are here.

Somebody is known by the provider and the number that it has for them, never by a name or an e-mail address: these go
from one person to another. Who is not known is let in by an invitation, whose link makes the account one's own, or as
a new user without rights, where that is allowed.
"""

from __future__ import annotations

import sqlalchemy as sa

from linnet.annotate.journal import lock
from linnet.annotate.oidc import Claims, OidcSettings
from linnet.annotate.people import LONGEST_NAME, add_user, free_name
from linnet.annotate.signing import UnknownCallerError, take_link
from linnet.annotate.tables import identity, now, user

__all__ = ["user_of"]

ROOM = 15  # characters before a name and behind it


def user_of(db: sa.Connection, claims: Claims, settings: OidcSettings, link: str = "") -> int:
    """Return the user who has signed in, a new one if need be.

    Args:
        db: a connection that writes.
        claims: what the provider says.
        settings: whether, and whom, it lets in who is not known.
        link: the secret of an invitation, "" without; it is used up by who is not known yet.

    Raises:
        UnknownCallerError: nobody here is that person, or is disabled, or the invitation is not good.
    """
    lock(db)  # somebody may sign in for the first time twice
    mine = sa.and_(identity.c.issuer == claims.issuer, identity.c.subject == claims.subject)
    row = db.execute(sa.select(user.c.id, user.c.disabled).join(identity, identity.c.user == user.c.id).where(mine))
    if (known := row.first()) is not None:
        if known.disabled:
            raise UnknownCallerError("this account is disabled: ask an administrator")
        return int(known.id)
    id = take_link(db, link) if link else _new(db, claims, settings)
    db.execute(identity.insert().values(issuer=claims.issuer, subject=claims.subject, user=id, made=now(db)))
    return id


def _new(db: sa.Connection, claims: Claims, settings: OidcSettings) -> int:
    domain = claims.email.rpartition("@")[2].casefold()
    if not settings.create or (settings.domains and domain not in {one.casefold() for one in settings.domains}):
        raise UnknownCallerError("nobody here has this account: ask an administrator for an invitation")
    return add_user(db, free_name(db, _clean(claims.name)))


def _clean(wanted: str) -> str:
    """Return a name that may be given: staff numbers alone are none here."""
    clean = "".join(c for c in wanted if c.isprintable()).strip()[: LONGEST_NAME - ROOM] or "user"
    return f"user {clean}" if clean.isdecimal() else clean
