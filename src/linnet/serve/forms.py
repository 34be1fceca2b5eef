"""What is asked of ``POST /link``, and examples of the answers for the description of the interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from linnet.codec import from_json
from linnet.data import Document, Rows
from linnet.errors import LinnetError
from linnet.pipeline import Allow
from linnet.serve.problems import Problem, invalid
from linnet.serve.settings import Settings
from linnet.strict_json import parse

__all__ = ["ANSWER", "ASKED", "LINE", "Conditions", "Wanted", "documents_in", "read_wanted"]


MOST_FIELDS = 20  # of an object that are looked at: each that there is not is an error of its own
MOST_CONDITIONS = 10_000  # values of `allow`: a million of them would keep a pipeline for a minute


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")

    # with fail_fast, the first of a million wrong values is told
    @model_validator(mode="before")
    @classmethod
    def _cut(cls, value: object) -> object:
        return dict(islice(value.items(), MOST_FIELDS)) if isinstance(value, Mapping) else value


class Conditions(_Form):
    """Which concepts may be answered; all that is given must hold."""

    types: list[str] | None = Field(None, fail_fast=True, description="concepts of one of these types")
    under: list[str] | None = Field(None, fail_fast=True, description="these concepts and what is below them")
    ids: list[str] | None = Field(None, fail_fast=True, description="these concepts")

    def allow(self) -> Allow:
        """Return the conditions as pipelines take them.

        Raises:
            Problem: 413, they have too many values.
        """
        if (count := sum(len(one or ()) for one in (self.types, self.under, self.ids))) > MOST_CONDITIONS:
            raise _too_large(f"allow has {count:,} values, at most {MOST_CONDITIONS:,}")
        types, under, ids = (None if one is None else tuple(one) for one in (self.types, self.under, self.ids))
        return Allow(types=types, under=under, ids=ids)


class Wanted(_Form):
    """One of ``text``, ``texts`` and ``documents``."""

    text: str | None = Field(None, description="one text")
    texts: list[str] | None = Field(None, fail_fast=True, description="several texts")
    documents: list[dict[str, Any]] | None = Field(
        None,
        fail_fast=True,
        description="documents in Linnet's JSON form, with `id` and `text`, and mentions where these are given",
    )
    pipeline: str | None = Field(None, description="a name of `GET /pipelines`; its first one if left out")
    allow: Conditions | None = None


ASKED = {
    "one text": {"value": {"text": "Short stature and seizures."}},
    "several texts": {"value": {"texts": ["Seizures.", "No cleft palate."], "pipeline": "hpo"}},
    "documents": {"value": {"documents": [{"id": "note-1", "text": "Seizures."}], "allow": {"under": ["HP:0012638"]}}},
}
LINE = {
    "id": "note-1",
    "text": "Seizures.",
    "mentions": [
        {
            "start": 0,
            "end": 8,
            "text": "Seizures",
            "concepts": ["HP:0001250"],
            "probability": 0.97,
            "calibration": "uncalibrated",
        }
    ],
}
ANSWER = {"pipeline": "hpo", "documents": [LINE], "names": {"HP:0001250": "Seizure"}}


def read_wanted(body: bytes) -> Wanted:
    """Return what the body of a request asks for.

    Raises:
        Problem: 400 for what is no JSON, 422 for wrong fields.
    """
    try:
        value = parse(body.decode())
    except UnicodeDecodeError as error:
        why = f"byte {body[error.start]:#04x} at {error.start}: send it in UTF-8"
        raise Problem(400, "not-json", "The body is not UTF-8", why) from error
    except ValueError as error:
        raise Problem(400, "not-json", "The body is not JSON", str(error)) from error
    try:
        wanted = Wanted.model_validate(value)
    except ValidationError as error:
        raise invalid([{**one, "loc": ("body", *one["loc"])} for one in error.errors()]) from error
    if sum(part is not None for part in (wanted.text, wanted.texts, wanted.documents)) != 1:
        raise Problem(422, "invalid", "Some values are not as expected", "give one of text, texts and documents")
    return wanted


def documents_in(wanted: Wanted, rows: Rows | None, settings: Settings) -> Sequence[Document]:
    """Return the documents of a request.

    Raises:
        Problem: 413 where they are too many or too long, 422 for what is no document.
    """
    texts = [wanted.text] if wanted.text is not None else wanted.texts or []
    given = wanted.documents or []
    if (count := len(texts) + len(given)) > settings.documents:
        raise _too_large(f"{count:,} documents, at most {settings.documents:,} at once: send several requests")
    try:
        docs = [Document.of(text) for text in texts] + [from_json(value, rows) for value in given]
    except (LinnetError, UnicodeError) as error:
        raise Problem(422, "refused-data", "The data cannot be used", str(error)) from error
    sizes = [len(doc.text) for doc in docs]
    if sizes and max(sizes) > settings.text:
        raise _too_large(f"a text of {max(sizes):,} characters, at most {settings.text:,}: send it in parts")
    if sum(sizes) > settings.request:
        raise _too_large(f"{sum(sizes):,} characters, at most {settings.request:,} at once: send several requests")
    return docs


def _too_large(detail: str) -> Problem:
    return Problem(413, "too-large", "The request is too large", detail)
