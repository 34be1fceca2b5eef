"""The same request twice, because the first answer was lost on the way: it is done once and answered twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from linnet.annotate.journal import lock
from linnet.annotate.store import Store
from linnet.annotate.tables import idem, now
from linnet.serve.problems import Problem

__all__ = ["answer_once"]

KEPT = timedelta(hours=24)
AT_WORK = timedelta(minutes=10)  # after which a request that was never answered counts as one that failed
LONGEST_KEY = 200
BOUNDARY = re.compile(r'(?<=^multipart/form-data);\s*boundary="?([^\s";]+)"?', re.IGNORECASE)
KEPT_HEADERS = ("etag", "location")


async def answer_once(
    store: Store, user: int, request: Request, handle: Callable[[Request], Coroutine[Any, Any, Response]]
) -> Response:
    """Return the answer to a request with an ``Idempotency-Key``: the first one, if there was one within 24 hours.

    Raises:
        Problem: the key was used for another request, or the first one is still at work.
    """
    key = request.headers["Idempotency-Key"]
    if not 0 < len(key) <= LONGEST_KEY:
        raise Problem(400, "idempotency-key", detail=f"an Idempotency-Key has 1 to {LONGEST_KEY} characters")
    kind, body = _without_boundary(request.headers.get("content-type", ""), await request.body())
    asked = [request.method, request.url.path, request.url.query, kind]
    hash = hashlib.sha256(json.dumps(asked).encode() + body).hexdigest()
    kept = await run_in_threadpool(_begin, store, f"post:{key}", user, hash)
    if kept is not None:
        return Response(kept["body"], kept["status"], {**kept["headers"], "Idempotent-Replay": "true"})
    try:
        response = await handle(request)
    except BaseException:
        await run_in_threadpool(_forget, store, f"post:{key}", user)
        raise
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    answer = {
        "body": bytes(response.body).decode(),
        "status": response.status_code,
        "headers": {**headers, "Content-Type": response.headers.get("content-type", "application/json")},
    }
    await run_in_threadpool(_keep, store, f"post:{key}", user, answer)
    return response


def _without_boundary(kind: str, body: bytes) -> tuple[str, bytes]:
    """Return a form without what stands between its parts: whoever sends it again takes another one, by chance."""
    found = BOUNDARY.search(kind)
    if found is None:
        return kind, body
    return BOUNDARY.sub("", kind), body.replace(b"--" + found[1].encode("latin-1"), b"--")


def _begin(store: Store, key: str, user: int, hash: str) -> Any:
    """Return the answer that is kept; None if this is the first request, which is noted."""
    ours = sa.and_(idem.c.key == key, idem.c.user == user)
    with store.write() as db:
        lock(db)  # the same request may come again before this one is noted
        db.execute(idem.delete().where(ours, idem.c.expires < now(db)))
        row = db.execute(sa.select(idem.c.hash, idem.c.answer).where(ours)).first()
        if row is None:
            values = {"key": key, "user": user, "hash": hash, "answer": {}, "expires": now(db, AT_WORK.total_seconds())}
            db.execute(idem.insert().values(values))
            return None
    if row.hash != hash:
        raise Problem(422, "idempotency-key", "The key was used for another request", "take a new Idempotency-Key")
    if not row.answer:
        raise Problem(409, "at-work", "The first request is still at work", headers={"Retry-After": "1"})
    return row.answer


def _keep(store: Store, key: str, user: int, answer: Any) -> None:
    ours = sa.and_(idem.c.key == key, idem.c.user == user)
    with store.write() as db:
        db.execute(idem.update().where(ours).values(answer=answer, expires=now(db, KEPT.total_seconds())))


def _forget(store: Store, key: str, user: int) -> None:
    with store.write() as db:
        db.execute(idem.delete().where(idem.c.key == key, idem.c.user == user))
