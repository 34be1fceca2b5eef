"""What the errors of the workbench are in HTTP."""

from __future__ import annotations

from linnet.annotate.oidc import ProviderError
from linnet.annotate.problems import BusyError, ConflictError, NotFoundError, RefusedError, UnsettledError
from linnet.annotate.signing import TooManyAttemptsError, UnknownCallerError
from linnet.errors import LinnetError
from linnet.serve.problems import Problem, of_ours

__all__ = ["of_workbench"]

STATUS: dict[type[LinnetError], int] = {UnknownCallerError: 401, NotFoundError: 404, ProviderError: 502}


def of_workbench(error: LinnetError) -> Problem:
    """Return what an error is in HTTP."""
    said = str(error)
    if isinstance(error, ConflictError):
        more = {"seq": error.seq, "conflicts": [one._asdict() for one in error.differences]}
        return Problem(409, "conflict", "Changed since you read it", said, more=more)
    if isinstance(error, UnsettledError):
        left = [{"parts": parts, "text": text} for parts, text in error.left.items()]
        return Problem(409, "unsettled", "Readers still differ", said, more={"left": left})
    if isinstance(error, RefusedError):
        return Problem(422, "refused", "A command makes no sense", said, more={"command": error.command})
    if isinstance(error, TooManyAttemptsError):
        return Problem(429, detail=said, headers={"Retry-After": str(error.wait)})
    if isinstance(error, BusyError):
        return Problem(503, detail=said, headers={"Retry-After": "1"})
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), None)
    return of_ours(error) if status is None else Problem(status, detail=said)
