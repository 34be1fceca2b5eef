"""The screens as files over HTTP, and the demo that needs no password, on both databases."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from linnet.annotate.api.access import PREFIX
from linnet.annotate.api.app import make_app, routes_of
from linnet.annotate.api.pages import FOLDER, PAGES, Page
from linnet.annotate.api.workbench import Settings
from linnet.annotate.demo import DRAWN, KB, NOTES, SETTINGS, demo_user, make_demo
from linnet.annotate.people import add_user
from linnet.annotate.signing import disable, first_link, hash_password, use_link
from linnet.annotate.store import Store, open_store
from linnet.annotate.tables import identity
from linnet.annotate.worker import Worker
from linnet.errors import DataError, LinnetError
from linnet.kb import KnowledgeBase
from linnet.serve.limits import HEADERS
from tests.annotate.api import Site
from tests.annotate.bench_of_jobs import FAST

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def browser(site: Site) -> TestClient:
    return site.stranger()


def test_every_file_of_the_folder_is_served_to_anybody(browser: TestClient) -> None:
    names = sorted(path.name for path in FOLDER.iterdir())
    assert {"index.html", "app.js", "style.css", "icon.svg", "lit.LICENSE.txt"} <= set(names)
    for name in names:
        answer = browser.get(f"/{name}")
        assert answer.status_code == 200, name
        assert answer.content == (FOLDER / name).read_bytes()
        assert answer.headers["content-type"] == TYPES[Path(name).suffix]
        assert answer.headers["cache-control"] == "no-cache"
        assert all(answer.headers[key] == value for key, value in HEADERS.items())
    assert browser.get("/").content == browser.get("/index.html").content


def test_the_policy_lets_in_nothing_from_elsewhere_and_nothing_inline(browser: TestClient) -> None:
    policy = dict(
        part.strip().partition(" ")[::2] for part in browser.get("/").headers["content-security-policy"].split(";")
    )
    assert policy == {
        "default-src": "'self'", "img-src": "'self' data:", "object-src": "'none'", "base-uri": "'none'",
        "form-action": "'self'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'",
        "trusted-types": "lit-html",
    }  # fmt: skip


def test_a_browser_is_told_that_its_copy_is_good(browser: TestClient) -> None:
    tag = browser.get("/app.js").headers["etag"]
    for same in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = browser.get("/app.js", headers={"If-None-Match": same})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
        assert answer.headers["cache-control"] == "no-cache"
    for other in ('"other"', tag[:-2] + '"', ""):
        assert browser.get("/app.js", headers={"If-None-Match": other}).status_code == 200
    assert browser.get("/style.css", headers={"If-None-Match": tag}).status_code == 200


def test_a_changed_file_has_another_tag(browser: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.annotate.api.pages.FOLDER", tmp_path)
    tags = set()
    for content in ("a", "b", "a"):
        (tmp_path / "index.html").write_text(content)
        answer = browser.get("/")
        tags.add(answer.headers["etag"])
        assert answer.text == content
    assert len(tags) == 2


def test_head_tells_the_same_without_the_file(browser: TestClient) -> None:
    for path in ("/", "/app.js", "/icon.svg"):
        got, head = browser.get(path), browser.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert {**head.headers} == {**got.headers}
    assert browser.head("/nothing.js").status_code == 404


def test_nothing_but_the_files_is_found(
    site: Site, browser: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = tmp_path / "web"
    (web / "sub.js").mkdir(parents=True)
    for name in ("app.js", ".hidden.js", "secrets.toml", "noext", "sub.js/inner.js", "../outside.js", "UPPER.JS"):
        (web / name).write_text("x")
    monkeypatch.setattr("linnet.annotate.api.pages.FOLDER", web)
    assert browser.get("/app.js").status_code == 200
    wrong = (
        "/outside.js", "/%2e%2e/outside.js", "/..%2foutside.js", "/..%5coutside.js", "//outside.js", "/app.js%00",
        "/app.js%2f..%2f..%2foutside.js", "/sub.js", "/sub.js/inner.js", "/sub.js%2finner.js", "/.hidden.js",
        "/secrets.toml", "/noext", "/UPPER.JS", "/index.html", "/", "/%61pp.js%0a", "/C:app.js", "/%ff.js",
        "/" + "a" * 3000 + ".js", "/api", "/api/v1", "/etc/passwd", "/%2fetc%2fpasswd", "/app.jsx", "/app",
    )  # fmt: skip
    for path in wrong:
        answer = browser.get(path, follow_redirects=False)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json", path
        assert answer.headers["cache-control"] == "no-store"
        assert "outside" not in answer.text
    # clients put such paths in order before they send them: these are sent as they are
    for path in (
        "/../outside.js",
        "/./../outside.js",
        "/../web/app.js",
        "/api/../app.js",
        "\\..\\outside.js",
        "..",
    ):
        assert asked(site, path) == 404, path
    assert asked(site, "/app.js") == 200


def asked(site: Site, path: str) -> int:
    """Return the status for a path that no client has changed."""
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        told.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "state": {},
        "headers": [(b"host", b"localhost")], "server": ("localhost", 80), "client": ("localhost", 1),
    }  # fmt: skip
    asyncio.run(site.app(scope, receive, send))
    return int(told[0]["status"])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_files_are_only_read(browser: TestClient, method: str) -> None:
    for path in ("/", "/app.js"):
        answer = browser.request(method, path)
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_the_interface_answers_as_it_did(browser: TestClient) -> None:
    assert browser.get(f"{PREFIX}/session").status_code == 405
    assert browser.get(f"{PREFIX}/nothing").json() == {
        "type": "/problems/not-found",
        "title": "Not Found",
        "status": 404,
    }
    assert browser.get(f"{PREFIX}/me").status_code == 401


# --- the exception from the table of access ---------------------------------------------------------------------------


def test_these_two_routes_and_no_other_ask_nobody(site: Site) -> None:
    assert [route for route in site.app.routes if isinstance(route, Page)] == list(PAGES)
    assert [(route.path, route.methods) for route in PAGES] == [("/", {"GET", "HEAD"}), ("/{name}", {"GET", "HEAD"})]
    assert not any(route.path in ("/", "/{name}") for _, route in routes_of(site.app))
    described = site.app.openapi()["paths"]
    assert all(path.startswith(PREFIX + "/") for path in described)


def test_no_other_kind_of_route_gets_by() -> None:
    class Own(Page):
        pass

    for route in (Route("/", lambda _request: None), Mount("/files", routes=[]), Own("/")):
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        app.router.routes[:] = [*PAGES, route]
        with pytest.raises(LinnetError, match="no route that asks who calls"):
            list(routes_of(app))


# --- the demo --------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A LINNET_HOME whose ``hpo`` is a small one."""
    (tmp_path / "home" / "kb").mkdir(parents=True)
    shutil.copy(kb.path, tmp_path / "home" / "kb" / f"{KB}.kb")
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[Store]:
    """A store of its own, on each database in turn."""
    from tests.annotate.databases import another

    opened = open_store(tmp_path if request.param == "sqlite" else another(request.getfixturevalue("url")))
    yield opened
    opened.close()


def visitor(store: Store, folder: Path, *, demo: bool = True, host: str = "http://localhost:8421") -> TestClient:
    app = make_app(store, Settings(folder, demo=demo))
    return TestClient(app, base_url=host, raise_server_exceptions=False)


def enter(client: TestClient, **headers: str) -> Any:
    return client.post(f"{PREFIX}/session/demo", json={}, headers=headers)


def test_whoever_opens_a_demo_is_its_user(empty: Store, tmp_path: Path) -> None:
    make_demo(empty)
    client = visitor(empty, tmp_path)
    assert client.get(f"{PREFIX}/ping").json()["demo"] is True
    assert client.get(f"{PREFIX}/me").status_code == 401
    answer = enter(client)
    assert answer.status_code == 201
    assert answer.json()["name"] == "you"
    assert "HttpOnly" in answer.headers["set-cookie"]
    me = client.get(f"{PREFIX}/me").json()
    assert me == {"user": answer.json()["user"], "name": "you", "admin": True, "csrf": answer.json()["csrf"]}
    keys = {"X-CSRF-Token": me["csrf"]}
    assert client.post(f"{PREFIX}/projects", json={"name": "mine"}, headers=keys).status_code == 201
    assert client.post(f"{PREFIX}/projects", json={"name": "theirs"}).status_code == 403


@pytest.mark.slow
def test_a_demo_has_notes_that_are_predicted_and_drawn(
    empty: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS, "untrained", "dictionary")  # the recipe for letters names concepts of the whole HPO
    make_demo(empty)
    client = visitor(empty, tmp_path)
    enter(client)
    [project] = client.get(f"{PREFIX}/projects").json()
    assert (project["name"], project["kb"], project["role"]) == ("Demo", KB, "admin")
    path = f"{PREFIX}/projects/{project['project']}"
    assert client.get(path).json()["kb_problem"] == ""
    listed = client.get(f"{path}/documents").json()["documents"]
    assert [one["ext_id"] for one in listed] == sorted(note.stem for note in NOTES.glob("*.txt"))
    work = client.get(f"{path}/assignments").json()["assignments"]
    assert len(work) == DRAWN
    [job] = client.get(f"{path}/jobs").json()
    assert (job["kind"], job["state"]) == ("predict", "queued")
    assert Worker(empty, tmp_path, timing=FAST).work()
    read = [client.get(f"{PREFIX}/assignments/{one['assignment']}").json() for one in work]
    assert all(one["run"] for one in read)  # none is read without suggestions
    assert any(one["open"] for one in read)


def test_a_second_start_changes_nothing(empty: Store, tmp_path: Path) -> None:
    make_demo(empty)
    client = visitor(empty, tmp_path)
    enter(client)

    def state() -> Any:
        paths = ("/users", "/projects", "/projects/1/documents", "/projects/1/assignments", "/projects/1/jobs")
        return [client.get(PREFIX + path).json() for path in paths]

    before = state()
    make_demo(empty)
    assert state() == before


def test_a_start_that_was_killed_is_made_good(empty: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("linnet.annotate.demo.enqueue", lambda *_args, **_more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make_demo(empty)
    with monkeypatch.context() as patch:
        patch.setattr("linnet.annotate.demo.draw_documents", lambda *_args, **_more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make_demo(empty)
    make_demo(empty)
    client = visitor(empty, tmp_path)
    enter(client)
    assert len(client.get(f"{PREFIX}/users").json()) == 1
    [project] = client.get(f"{PREFIX}/projects").json()
    path = f"{PREFIX}/projects/{project['project']}/assignments"
    assert len(client.get(path).json()["assignments"]) == DRAWN


@pytest.mark.slow
def test_elsewhere_the_way_in_is_not_there(empty: Store, tmp_path: Path) -> None:
    make_demo(empty)
    client = visitor(empty, tmp_path, demo=False)
    assert client.get(f"{PREFIX}/ping").json()["demo"] is False
    answer = enter(client)
    assert answer.json() == client.get(f"{PREFIX}/nothing").json()
    assert "set-cookie" not in answer.headers


def test_other_sites_cannot_use_the_way_in(empty: Store, tmp_path: Path) -> None:
    make_demo(empty)
    client = visitor(empty, tmp_path)
    for site in ("cross-site", "same-site"):
        assert enter(client, **{"Sec-Fetch-Site": site}).json()["type"] == "/problems/csrf"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        sent = client.post(f"{PREFIX}/session/demo", content=b"{}", headers={"Content-Type": kind})
        assert sent.status_code == 422, kind
    assert client.post(f"{PREFIX}/session/demo").status_code == 422
    assert client.get(f"{PREFIX}/session/demo").status_code == 405
    assert client.get(f"{PREFIX}/me").status_code == 401


def test_a_name_that_was_made_to_lead_here_is_refused(empty: Store, tmp_path: Path) -> None:
    make_demo(empty)
    for host in ("evil.example", "localhost.evil.example", "192.168.0.5:8421", "0.0.0.0", "[::1", "", "evil.example@x"):
        client = visitor(empty, tmp_path)
        answer = enter(client, Host=host, **{"Sec-Fetch-Site": "same-origin"})
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/host"), host
        assert "set-cookie" not in answer.headers
    for host in ("localhost", "localhost:8421", "LOCALHOST:1", "127.0.0.1:8421", "[::1]:8421"):
        assert enter(visitor(empty, tmp_path), Host=host).status_code == 201, host


def test_a_workbench_of_people_does_not_become_a_demo(empty: Store, tmp_path: Path) -> None:
    with empty.write() as db:
        add_user(db, "you", admin=True)  # a name says nothing
    with pytest.raises(DataError, match="workbench of people with passwords: start it without --demo"):
        make_demo(empty)
    with empty.read() as db:
        assert db.scalar(sa.select(sa.func.count()).select_from(identity)) == 0
    assert enter(visitor(empty, tmp_path)).json()["type"] == "/problems/demo"


def test_a_demo_whose_user_has_a_password_is_none_any_more(empty: Store, tmp_path: Path) -> None:
    make_demo(empty)
    opened = visitor(empty, tmp_path)
    enter(opened)
    with empty.write() as db:  # as the first start without --demo asks for
        link = first_link(db)
        assert link is not None
        use_link(db, link, hash_password("correct horse battery"))
    assert opened.get(f"{PREFIX}/me").status_code == 401  # who came in without one is out
    with pytest.raises(DataError, match="start it without --demo"):
        make_demo(empty)
    assert enter(visitor(empty, tmp_path)).json()["type"] == "/problems/demo"


def test_a_disabled_user_is_not_let_in(empty: Store, tmp_path: Path) -> None:
    make_demo(empty)
    with empty.write() as db:
        disable(db, demo_user(db) or 0, True)
    assert enter(visitor(empty, tmp_path)).status_code == 403


def test_the_knowledge_base_is_built_where_there_is_none(
    empty: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("linnet.annotate.demo.kb_called", asked.append)
    make_demo(empty)
    assert asked == [KB]  # which `linnet.recipes.knowledge_bases.open_kb` builds
    assert os.environ["LINNET_HOME"] == str(home)
