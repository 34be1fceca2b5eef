"""Who somebody is: passwords, sessions of browsers, tokens of programs, links that set a password, and their limits.

Secrets are handed out once and kept as hashes: passwords as argon2id, all others, long and random, as SHA-256.
There is no default password. The first start, an invitation and a forgotten password all end in a link that is good
for one password and a day.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from linnet.annotate.journal import lock
from linnet.annotate.people import add_user, free_name, storable
from linnet.annotate.tables import identity, member, now, session, token, user
from linnet.errors import DataError, LinnetError, MissingExtraError

try:
    import argon2
except ModuleNotFoundError as error:
    raise MissingExtraError("argon2-cffi", extra="serve", wanted_by="the annotation workbench") from error

__all__ = [
    "FIRST_USER",
    "LINK",
    "SCOPES",
    "Account",
    "Attempts",
    "Caller",
    "TooManyAttemptsError",
    "UnknownCallerError",
    "any_administrator",
    "by_session",
    "by_token",
    "change_password",
    "check_unchanged",
    "disable",
    "first_link",
    "has_secret",
    "hash_password",
    "make_link",
    "make_session",
    "make_token",
    "same_secret",
    "secrets_of",
    "sign_in",
    "sign_out",
    "take_link",
    "use_link",
    "user_of_link",
]

FIRST_USER = "admin"
SCOPES = ("read", "write", "manage")  # of tokens: to look, to work on documents, to administer
LINK = "password"  # the scope of a link; no token has it
SHORTEST, LONGEST = 10, 1_000  # characters of a password; argon2 hashes what it is given
SESSION, LINK_LASTS = timedelta(hours=12), timedelta(days=1)
MOST_ACCOUNTS = 10_000  # that failures are remembered of


class UnknownCallerError(LinnetError):
    """A wrong name or password, or a session, token or link that is not, or no longer, good."""


class TooManyAttemptsError(LinnetError):
    """Too many failures to sign in to one account; ``wait`` is the number of seconds until the next attempt."""

    def __init__(self, wait: int) -> None:
        self.wait = wait
        super().__init__(f"too many failed attempts; try again in {wait} seconds")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request, and with what: ``csrf`` is set for the session of a browser, ``scopes`` limit a token."""

    user: int
    name: str
    admin: bool
    scopes: tuple[str, ...] = SCOPES
    csrf: str = ""


class Account(NamedTuple):
    """Somebody whose password was right; `hash` is what it was checked against."""

    user: int
    hash: str


# --- passwords -------------------------------------------------------------------------------------------------------


@cache
def _hasher() -> argon2.PasswordHasher:
    return argon2.PasswordHasher()  # argon2id, with the costs of RFC 9106


@cache
def _nobody() -> str:
    """Return the hash of a password that nobody has: who does not exist takes as long to refuse as who does."""
    return _hasher().hash(secrets.token_urlsafe())


def hash_password(password: str) -> str:
    """Return what is kept of a password. That takes long, as checking one does: it is done before a transaction writes.

    Raises:
        DataError: it is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise DataError(f"a password has {SHORTEST} to {LONGEST} characters, this has {len(password)}")
    return _hasher().hash(storable(password, "the password"))


def _fits(hash: str, password: str) -> bool:
    try:
        return _hasher().verify(hash, password.encode("utf-8", "surrogatepass"))
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False


@dataclass(slots=True)
class Attempts:
    """Failures to sign in by account, whether it exists or not; so many a minute are allowed."""

    most: int = 5
    seconds: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _failed: dict[str, list[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def one(self, account: str) -> Iterator[None]:
        """Count an attempt as failed while it lasts, so that many at once are no way round the limit.

        Raises:
            TooManyAttemptsError: there were too many.
        """
        key, at = account.casefold(), self.clock()
        with self._lock:
            times = [then for then in self._failed.get(key, ()) if then > at - self.seconds]
            if len(times) >= self.most:
                raise TooManyAttemptsError(max(1, round(times[0] + self.seconds - at + 0.5)))
            while len(self._failed) >= MOST_ACCOUNTS:
                self._failed.pop(next(iter(self._failed)))
            self._failed[key] = [*times, at]
        yield
        with self._lock:  # it did not fail
            self._failed.pop(key, None)


def sign_in(db: sa.Connection, name: str, password: str, attempts: Attempts) -> Account:
    """Return the account with this name and password.

    Raises:
        UnknownCallerError: there is none, or it is disabled; which of these is not said.
        TooManyAttemptsError: this account has failed too often.
    """
    with attempts.one(name):
        row = db.execute(sa.select(user.c.id, user.c.hash, user.c.disabled).where(user.c.name == name)).first()
        known = row is not None and row.hash is not None and not row.disabled
        if not _fits(row.hash if row is not None and known else _nobody(), password) or row is None or not known:
            raise UnknownCallerError("no user has this name and password")
    return Account(row.id, row.hash)


def change_password(db: sa.Connection, account: Account, hash: str, *, keep_tokens: bool = False) -> None:
    """Give an account that has just signed in another password, of which this is the hash.

    All sessions and links end, and unless they are kept all tokens: whoever knew the old password may have made some.

    Raises:
        UnknownCallerError: the account has changed meanwhile.
    """
    check_unchanged(db, account)
    _set_password(db, account.user, hash, keep_tokens=keep_tokens)


def check_unchanged(db: sa.Connection, account: Account) -> None:
    """Refuse an account whose password was changed, or that was disabled, since the password was checked.

    Raises:
        UnknownCallerError: it was.
    """
    lock(db)  # nobody changes a password, or disables an account, until this transaction ends
    row = db.execute(sa.select(user.c.hash, user.c.disabled).where(user.c.id == account.user)).one()
    if row.disabled or row.hash != account.hash:
        raise UnknownCallerError("the account has changed meanwhile: sign in again")


def _set_password(db: sa.Connection, id: int, hash: str, *, keep_tokens: bool) -> None:
    db.execute(user.update().where(user.c.id == id).values(hash=hash))
    db.execute(session.delete().where(session.c.user == id))
    _end_links(db, id)
    if not keep_tokens:
        db.execute(token.delete().where(token.c.user == id))


def disable(db: sa.Connection, id: int, disabled: bool) -> None:
    """Keep a user from signing in, and end what is open, or let the user in again."""
    lock(db)
    db.execute(user.update().where(user.c.id == id).values(disabled=disabled))
    if disabled:
        db.execute(session.delete().where(session.c.user == id))
        db.execute(token.delete().where(token.c.user == id))


# --- secrets ---------------------------------------------------------------------------------------------------------


def _secret(prefix: str) -> tuple[str, str]:
    """Return a new secret and what is kept of it."""
    made = prefix + secrets.token_urlsafe(32)
    return made, _digest(made)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def make_session(db: sa.Connection, id: int) -> tuple[str, str]:
    """Sign a user in: return the secret for the cookie, and that for the header of requests that change something.

    Whether they may is asked in the same transaction, with the `lock`.
    """
    db.execute(session.delete().where(session.c.expires <= now(db)))
    made, hash = _secret("")
    csrf = secrets.token_urlsafe(32)
    values = {"hash": hash, "user": id, "csrf": csrf, "made": now(db), "expires": now(db, SESSION.total_seconds())}
    db.execute(session.insert().values(values))
    return made, csrf


def by_session(db: sa.Connection, secret: str) -> Caller | None:
    """Return who has a session, None if it is over."""
    of_user = sa.select(user.c.id, user.c.name, user.c.admin, session.c.csrf).join(user, user.c.id == session.c.user)
    good = sa.and_(session.c.hash == _digest(secret), session.c.expires > now(db), ~user.c.disabled)
    row = db.execute(of_user.where(good)).first()
    return None if row is None else Caller(row.id, row.name, row.admin, csrf=row.csrf)


def secrets_of(db: sa.Connection, project: int) -> frozenset[str]:
    """Return the hashes of the sessions and tokens that the members of a project have; `has_secret` asks for one."""
    members = sa.select(member.c.user).where(member.c.project == project)
    sessions = sa.select(session.c.hash).where(session.c.user.in_(members), session.c.expires > now(db))
    tokens = sa.select(token.c.hash).where(token.c.user.in_(members), _is_alive(db))
    return frozenset(db.scalars(sessions.union_all(tokens)))


def has_secret(hashes: Collection[str], secret: str) -> bool:
    """Return whether a session or token is one of those with these hashes."""
    return _digest(secret) in hashes


def sign_out(db: sa.Connection, secret: str) -> None:
    """End a session."""
    db.execute(session.delete().where(session.c.hash == _digest(secret)))


def make_token(db: sa.Connection, id: int, name: str, scopes: Iterable[str], days: float | None = None) -> str:
    """Return a new token of a user for a program; without `days` it does not expire.

    Raises:
        DataError: an unknown scope, or none.
    """
    wanted = tuple(scope for scope in SCOPES if scope in (given := set(scopes)))
    if not wanted or len(wanted) < len(given):
        raise DataError(f"scopes of a token are some of {', '.join(SCOPES)}")
    made, hash = _secret("lnt_")
    expires = None if days is None else now(db, timedelta(days=days).total_seconds())
    values = {"hash": hash, "user": id, "name": storable(name, "the name of the token"), "scopes": wanted}
    db.execute(token.insert().values(**values, made=now(db), expires=expires))
    return made


def by_token(db: sa.Connection, secret: str) -> Caller | None:
    """Return who has a token, None if it is not good."""
    row = _of_token(db, secret)
    if row is None or LINK in row.scopes:
        return None
    return Caller(row.id, row.name, row.admin, scopes=tuple(row.scopes))


def _of_token(db: sa.Connection, secret: str) -> Any:
    of_user = sa.select(user.c.id, user.c.name, user.c.admin, token.c.scopes).join(user, user.c.id == token.c.user)
    return db.execute(of_user.where(token.c.hash == _digest(secret), _is_alive(db), ~user.c.disabled)).first()


def _is_alive(db: sa.Connection) -> sa.ColumnElement[bool]:
    return sa.or_(token.c.expires.is_(None), token.c.expires > now(db))


# --- links -----------------------------------------------------------------------------------------------------------


def make_link(db: sa.Connection, id: int) -> str:
    """Return the secret of a link by which a user sets a password, once and within a day; earlier ones end."""
    _end_links(db, id)
    made, hash = _secret("")
    values = {"hash": hash, "user": id, "name": LINK, "scopes": (LINK,), "made": now(db)}
    db.execute(token.insert().values(**values, expires=now(db, LINK_LASTS.total_seconds())))
    return made


def _end_links(db: sa.Connection, id: int) -> None:
    rows = db.execute(sa.select(token.c.hash, token.c.scopes).where(token.c.user == id))
    ended = [row.hash for row in rows if LINK in row.scopes]
    db.execute(token.delete().where(token.c.hash.in_(ended)))


def user_of_link(db: sa.Connection, secret: str) -> int:
    """Return the number of a link's user.

    Raises:
        UnknownCallerError: the link is not good, or was used before.
    """
    row = _of_token(db, secret)
    if row is None or LINK not in row.scopes:
        raise UnknownCallerError("this link was used before or is too old: ask for another one")
    return int(row.id)


def take_link(db: sa.Connection, secret: str) -> int:
    """Use a link up, and return the number of its user.

    Raises:
        UnknownCallerError: the link is not good, or was used before.
    """
    lock(db)  # two who use it at once: one of them
    id = user_of_link(db, secret)
    _end_links(db, id)
    return id


def use_link(db: sa.Connection, secret: str, hash: str) -> int:
    """Set the password, of which this is the hash, of a link's user, whose number is returned.

    What was open ends: links, sessions and tokens.

    Raises:
        UnknownCallerError: the link is not good, or was used before.
    """
    id = take_link(db, secret)
    _set_password(db, id, hash, keep_tokens=False)
    return id


def first_link(db: sa.Connection, issuer: str = "") -> str | None:
    """Return the secret of the link that sets the first password; None once an administrator can sign in.

    That is with a password, or at the provider `issuer`.
    """
    able = _is_administrator()
    theirs = user.c.id.in_(sa.select(identity.c.user).where(identity.c.issuer == issuer))
    if db.execute(sa.select(user.c.id).where(able, user.c.hash.is_not(None) | theirs)).first() is not None:
        return None
    id = any_administrator(db)
    return make_link(db, add_user(db, free_name(db, FIRST_USER), admin=True) if id is None else id)


def any_administrator(db: sa.Connection) -> int | None:
    """Return the number of the first administrator who is not disabled, None if nobody is left."""
    return db.scalar(sa.select(user.c.id).where(_is_administrator()).order_by(user.c.id).limit(1))


def _is_administrator() -> sa.ColumnElement[bool]:
    return sa.and_(user.c.admin, ~user.c.disabled)


def same_secret(one: str, other: str) -> bool:
    """Return whether two secrets are the same, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
