"""What was decided, as files: documents in any format that is written, and histories that other workbenches take in."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from linnet.annotate.api.guard import Asked, Asker, Bench, make_router
from linnet.annotate.api.projects import openable_kb
from linnet.annotate.api.workbench import Workbench
from linnet.annotate.blind import visible_streams
from linnet.annotate.exporting import told_apart
from linnet.annotate.exports import export_project
from linnet.annotate.history import history, import_history
from linnet.annotate.housekeeping import DOWNLOADS
from linnet.annotate.models import project_row
from linnet.annotate.proposals import live_ids
from linnet.annotate.reading import lines_of
from linnet.corpora import FORMATS, WRITABLE, fitting, write
from linnet.data import Document
from linnet.errors import DataError
from linnet.kb import KnowledgeBase
from linnet.serve.problems import not_found
from linnet.strict_json import parse

__all__ = ["router"]

router = make_router()
UpTo = Annotated[int | None, Query(ge=0, le=2**53, description="The number of the last event that counts.")]
NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
HISTORY = "application/x-ndjson"


class _Whole(FileResponse):
    """A file that is made anew for each request: whoever asks for a part gets all, since the one before may differ."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


@router.get("/projects/{project}/exports/{format}", response_class=FileResponse)
def export(
    bench: Bench,
    asker: Asked,
    project: int,
    format: str,
    to: UpTo = None,
) -> FileResponse:
    """Return what the project's people agree on, as far as I may see their work; a folder comes as a zip file.

    Names of concepts are those of the project's knowledge base, while it can be opened.
    Of documents with the same id the later ones are numbered (``a#2``). The header ``Linnet-Left-Out`` counts what the
    format cannot hold, and such ids.
    """
    if format not in WRITABLE:
        raise not_found(f"format; there are {', '.join(WRITABLE)}")
    kb = openable_kb(bench, project)
    with bench.store.read() as db:
        row, live = project_row(db, project), live_ids(db, project, kb)
        docs = export_project(db, project, to=to, streams=visible_streams(db, project, asker.user), live=live)
    downloads = bench.settings.data / DOWNLOADS
    downloads.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = tempfile.mkdtemp(dir=downloads)
    try:
        name = NO_NAME.sub("-", row["name"]).strip("-.")[:80] or "export"
        path, dropped = _written(docs, Path(folder), name, format, kb)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    headers = {"Linnet-Left-Out": json.dumps(dict(dropped)), "Accept-Ranges": "none"}
    gone = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return _Whole(path, filename=path.name, headers=headers, background=gone)


def _written(
    docs: list[Document], folder: Path, name: str, format: str, kb: KnowledgeBase | None
) -> tuple[Path, Counter[str]]:
    """Write documents and return the file, and what the format could not hold."""
    dropped = Counter[str]()
    known = FORMATS[format]
    path = folder / (name + (known.suffixes[0] if known.write else ""))
    write(fitting(told_apart(docs, dropped), format, dropped), path, format=format, kb=kb)
    if path.is_dir():
        path = Path(shutil.make_archive(str(folder / name), "zip", path))
    return path, dropped


@router.get("/projects/{project}/history", response_class=StreamingResponse)
def export_history(bench: Bench, asker: Asked, project: int, to: UpTo = None) -> StreamingResponse:
    """Return all documents with all events that I may see, one document a line."""
    headers = {"Content-Disposition": 'attachment; filename="history.jsonl"'}
    return StreamingResponse(_lines(bench, asker, project, to), media_type=HISTORY, headers=headers)


def _lines(bench: Workbench, asker: Asker, project: int, to: int | None) -> Iterator[str]:
    with bench.store.read() as db:
        for line in history(db, project, visible_streams(db, project, asker.user), to=to):
            yield json.dumps(line, ensure_ascii=False) + "\n"


@router.post(
    "/projects/{project}/history",
    status_code=201,
    openapi_extra={"requestBody": {"required": True, "content": {HISTORY: {"schema": {"type": "string"}}}}},
)
async def take_history(bench: Bench, asker: Asked, project: int, request: Request) -> dict[str, int]:
    """Add the documents and events of a history; what is there already is left as it is."""
    content = await request.body()
    return {"events": await run_in_threadpool(_import, bench, asker, project, content)}


def _import(bench: Workbench, asker: Asker, project: int, content: bytes) -> int:
    lines: list[Any] = []
    for number, line in enumerate(lines_of(content), 1):
        try:
            lines.append(parse(line))
        except ValueError as error:
            raise DataError(f"line {number} of the history is not JSON: {error}") from error
    with bench.store.write() as db:
        return import_history(db, project, asker.user, lines)
