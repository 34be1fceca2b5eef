"""A workbench with people who talk to it over HTTP, for tests."""

from __future__ import annotations

import asyncio
import atexit
import functools
import itertools
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import fastapi
import sqlalchemy as sa
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.testclient import TestClient

from linnet.annotate.api.access import PREFIX
from linnet.annotate.api.app import make_app
from linnet.annotate.api.workbench import Settings
from linnet.annotate.oidc import OidcSettings
from linnet.annotate.people import add_user
from linnet.annotate.runs import add_predictions, end_run, start_run
from linnet.annotate.signing import make_token
from linnet.annotate.store import Store
from linnet.annotate.tables import document
from linnet.data import Document, Mention
from tests.annotate.desk import fresh

DONE = b": done\n\n"  # a comment in the stream
numbers = itertools.count()


@functools.cache
def event_loop() -> BlockingPortal:
    """The event loop of all clients, in a thread until the process ends: one for each request takes as long as that."""
    lasting = start_blocking_portal()
    atexit.register(lasting.__exit__, None, None, None)
    return lasting.__enter__()


def client_of(app: fastapi.FastAPI) -> TestClient:
    client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
    client.portal = event_loop()
    return client


@dataclass(eq=False)
class Person:
    """Somebody with a token: short ways to ask."""

    site: Site
    name: str
    user: int
    token: str
    client: TestClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = client_of(self.site.app)
        self.client.headers["Authorization"] = f"Bearer {self.token}"

    def ask(self, method: str, path: str, status: int | None = 200, /, **more: Any) -> Any:
        """Send a request, check its status, and return the answer."""
        answer = self.client.request(method, PREFIX + path, **more)
        assert status in (None, answer.status_code), f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def get(self, path: str, **more: Any) -> Any:
        return self.ask("GET", path, 200, **more).json()

    def post(self, path: str, json: Any, status: int = 201, **more: Any) -> Any:
        return self.ask("POST", path, status, json=json, **more).json()

    def upload(self, project: int, *files: tuple[str, bytes], status: int = 201, **data: str) -> Any:
        sent = [("files", (name, content)) for name, content in files]
        return self.ask("POST", f"/projects/{project}/uploads", status, files=sent, data=data).json()

    def work(self, assignment: int) -> Any:
        return self.get(f"/assignments/{assignment}")

    def command(self, assignment: int, op: str, mention: str = "", status: int = 200, **fields: Any) -> Any:
        """Give one command, on what is there now."""
        seq = self.work(assignment)["seq"]
        return self.send(assignment, seq, status, self.made(op, mention, **fields)).json()

    def send(self, assignment: int, seq: int | None, status: int, *commands: Any) -> Any:
        headers = {} if seq is None else {"If-Match": f'"{seq}"'}
        path = f"/assignments/{assignment}/commands"
        return self.ask("POST", path, status, json={"commands": commands}, headers=headers)

    @staticmethod
    def made(op: str, mention: str = "", **fields: Any) -> dict[str, Any]:
        return {"id": f"c{next(numbers)}-{uuid.uuid4().hex[:8]}", "op": op, "mention": mention, **fields}


@dataclass(eq=False)
class Site:
    """An application on a store."""

    store: Store
    folder: Path
    oidc: OidcSettings | None = None

    @cached_property
    def app(self) -> fastapi.FastAPI:
        limits: dict[str, Any] = {"largest_body": 200_000, "largest_upload": 2_000_000, "poll": 0.01, "ping": 0.02}
        return make_app(self.store, Settings(self.folder, oidc=self.oidc, **limits))

    def person(self, name: str = "somebody", *, admin: bool = False) -> Person:
        """Return a new user of the workbench."""
        with self.store.write() as db:
            name = fresh(name)
            user = add_user(db, name, admin=admin)
            token = make_token(db, user, "test", ["read", "write", "manage"])
        return Person(self, name, user, token)

    def stranger(self) -> TestClient:
        """Return the browser of somebody who has not signed in."""
        return client_of(self.app)

    def project(self, owner: Person, **more: Any) -> int:
        return int(owner.post("/projects", {"name": fresh("project"), **more})["project"])

    def member(self, owner: Person, project: int, role: str, name: str = "") -> Person:
        """Return a new member of a project."""
        made = self.person(name or role)
        owner.ask("PUT", f"/projects/{project}/members/{made.user}", json={"role": role})
        return made

    def predict(self, project: int, id: int, *mentions: Mention) -> str:
        """Store predictions for a document, as a worker does."""
        with self.store.write() as db:
            text = str(db.scalar(sa.select(document.c.text).where(document.c.id == id)))
            run = start_run(db, project)
            add_predictions(db, run, id, Document("d", text, mentions=mentions))
            end_run(db, run)
        return run


def listen(person: Person, project: int, last: int | str | None = None, during: Any = None, cookie: str = "") -> str:
    """Return what the stream of a project tells until nothing is new, while something is done.

    Who has a cookie shows it instead of the person's token. `DONE` stands where that something was done.
    """
    told: list[bytes] = []

    async def silent(times: int, listening: asyncio.Task[None]) -> None:
        """Wait until the server has looked so often and found nothing new, or has ended the stream."""
        wanted = b"".join(told).count(b": ping") + times
        while b"".join(told).count(b": ping") < wanted and not listening.done():
            await asyncio.sleep(0.01)

    async def run() -> None:
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            told.append(message.get("body", b""))
            if message["type"] == "http.response.start":
                assert message["status"] == 200

        headers = [(b"cookie", cookie.encode()) if cookie else (b"authorization", f"Bearer {person.token}".encode())]
        headers += [] if last is None else [(b"last-event-id", str(last).encode())]
        path = f"{PREFIX}/projects/{project}/stream"
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
            "server": ("localhost", 80), "client": ("localhost", 1), "state": {},
        }  # fmt: skip
        listening = asyncio.create_task(person.site.app(scope, receive, send))
        await silent(1, listening)
        if during is not None:
            await asyncio.to_thread(during)
            told.append(DONE)
        await silent(2, listening)  # the look before the first one may have begun too early
        gone.set()
        await asyncio.wait_for(listening, 5)

    asyncio.run(run())
    return b"".join(told).decode()
