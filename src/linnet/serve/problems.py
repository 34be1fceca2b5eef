"""Every error as problem details for HTTP interfaces (RFC 9457), with one type for each kind of error."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from linnet.errors import LinnetError, MissingExtraError, UnknownConceptError

__all__ = ["MEDIA_TYPE", "RESPONSES", "Problem", "handle_errors", "invalid", "not_found", "of_ours", "problem_of"]

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
# what any route may answer, for the description of the interface
RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "What went wrong (RFC 9457)",
        "content": {
            MEDIA_TYPE: {
                "schema": {
                    "type": "object",
                    "required": ["type", "title", "status"],
                    "properties": {
                        "type": {"type": "string"},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {"type": "string"},
                        "errors": {"type": "array", "items": {"type": "object"}},
                    },
                }
            }
        },
    }
}


class Problem(HTTPException):
    """An answer that refuses a request.

    Args:
        status: of HTTP.
        type: the last part of the problem's type, such as ``csrf``; what the status is called when empty.
        title: a short sentence, the same for every problem of this type.
        detail: what is wrong with this request, and what helps.
        headers: of the answer.
        more: other members of the answer.
    """

    def __init__(
        self,
        status: int,
        type: str = "",
        title: str = "",
        detail: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        phrase = HTTPStatus(status).phrase
        self.type, self.title = type or phrase.lower().replace(" ", "-"), title or phrase
        self.more = dict(more or {})
        super().__init__(status, detail, dict(headers or {}))

    @property
    def body(self) -> dict[str, Any]:
        """What the answer holds."""
        said = {"type": f"/problems/{self.type}", "title": self.title, "status": self.status_code}
        return {**said, **({"detail": self.detail} if self.detail else {}), **self.more}

    def answer(self) -> Response:
        """Return the answer."""
        # half a surrogate pair of the request, which UTF-8 has no place for, is escaped as JSON has it: \ud800
        content = json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        return Response(content, self.status_code, self.headers, media_type=MEDIA_TYPE)


def not_found(what: str) -> Problem:
    """Return the answer for what does not exist, or that the asker must not know of: the two look the same."""
    return Problem(404, detail=f"there is no such {what}")


def handle_errors(
    app: FastAPI,
    headers: Mapping[str, str],
    ours: Callable[[LinnetError], Problem] | None = None,
    *,
    unrouted: Mapping[int, str] | None = None,
) -> None:
    """Make all errors of an application such answers; those to mistakes of ours get `headers` here and nowhere else.

    `ours` says what Linnet's own errors are; `of_ours` without it. `unrouted`: details where no route answers, by
    status.
    """

    async def problem(_request: Request, error: Exception) -> Response:
        told = problem_of(error, ours or of_ours)
        if unrouted and not isinstance(error, Problem) and not told.detail:
            told.detail = unrouted.get(told.status_code, "")
        answer = told.answer()
        if answer.status_code == 500:
            answer.headers.update(headers)
        return answer

    for kind in (HTTPException, RequestValidationError, LinnetError, Exception):
        app.add_exception_handler(kind, problem)


def of_ours(error: LinnetError) -> Problem:
    """Return what one of Linnet's own errors is in HTTP."""
    if isinstance(error, UnknownConceptError):
        return Problem(404, detail=str(error))
    if isinstance(error, MissingExtraError):
        return Problem(503, detail=str(error))
    return Problem(422, "refused-data", "The data cannot be used", str(error))


def problem_of(error: Exception, ours: Callable[[LinnetError], Problem] = of_ours) -> Problem:
    """Return what any error is in HTTP; what nobody expected is logged, and its answer says nothing of it."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        detail = "" if error.detail == HTTPStatus(error.status_code).phrase else str(error.detail)
        return Problem(error.status_code, detail=detail, headers=error.headers)
    if isinstance(error, RequestValidationError):
        return invalid(error.errors())
    if isinstance(error, LinnetError):
        return ours(error)
    logger.error("a request failed", exc_info=error)
    return Problem(500, detail="this is a mistake in Linnet; the server's log says more")


def _worded(error: Mapping[str, Any]) -> str:
    """Return what pydantic says of a value, without its words for our classes and for surplus fields."""
    if error["type"] == "extra_forbidden":
        return "there is no such field"
    if error["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return "Input should be an object"
    return str(error["msg"])


def invalid(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """Return the answer to values that are not as expected, as FastAPI or pydantic has found them."""
    said = []
    for error in errors:
        place, *path = error["loc"]
        pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
        said.append({"in": str(place), "pointer": pointer, "message": _worded(error)})
    if any(error["type"] == "json_invalid" for error in errors):
        return Problem(400, "not-json", "The body is not JSON", more={"errors": said})
    return Problem(422, "invalid", "Some values are not as expected", more={"errors": said})
