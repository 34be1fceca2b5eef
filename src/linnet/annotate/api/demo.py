"""Signing in without a password, in a demo alone. Elsewhere this route is as if it were not there."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from linnet.annotate.api.guard import Bench, make_router
from linnet.annotate.api.session import Body, begin
from linnet.annotate.demo import demo_user
from linnet.serve.loopback import host_in, is_loopback
from linnet.serve.problems import Problem

__all__ = ["router"]

router = make_router()


class Nothing(Body):
    """An empty object: forms of other sites cannot send JSON, and so not even that."""


@router.post("/session/demo", status_code=201)
def begin_demo(
    bench: Bench,
    request: Request,
    response: Response,
    body: Nothing,  # noqa: ARG001 - it has to be there
) -> dict[str, Any]:
    """Sign in to a demo, where whoever uses this machine is its only user; ``csrf`` as of every other session."""
    if not bench.settings.demo:
        raise Problem(404)
    if not is_loopback(host_in(request.headers.get("Host", ""))):
        # a name of another site that was made to lead here: for browsers, that site's pages are then this server's own
        raise Problem(403, "host", "A demo is for this machine alone", "open it as http://localhost")
    with bench.store.write() as db:
        user = demo_user(db)
        if user is None:
            raise Problem(403, "demo", "The demo has ended", "its user has a password now: start it without --demo")
        return begin(db, request, response, user)
