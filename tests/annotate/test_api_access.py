"""Who may do what: the table against the routes, and every role at every route."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from linnet.annotate.api.access import ACCESS, ANYONE, PREFIX, SITE, USER
from linnet.annotate.api.app import _check_routes, routes_of
from linnet.annotate.api.guard import make_router
from linnet.annotate.journal import lock
from linnet.annotate.people import ROLES, add_user, change_settings
from linnet.errors import LinnetError
from linnet.serve.limits import HEADERS
from tests.annotate.api import Person, Site
from tests.annotate.desk import fresh

NOBODY = "1000000"


@pytest.fixture(scope="module")
def people(site: Site, root: Person) -> dict[str, Any]:
    """One of each role in a project, somebody of none, and what the project has."""
    project = site.project(root)
    owner = site.member(root, project, "admin")
    made: dict[str, Any] = {role: site.member(owner, project, role) for role in ROLES}
    doc = owner.post(f"/projects/{project}/pastes", {"text": "Seizures."})["added"][0]
    given = {"documents": [doc], "users": [made["annotator"].user]}
    [work] = owner.post(f"/projects/{project}/assignments", given)["assignments"]
    job = owner.post(f"/projects/{project}/jobs", {"kind": "predict"}, 202)["id"]
    ids = {"project": project, "document": doc, "assignment": work, "job": job, "model": "none", "user": NOBODY}
    return {**made, "outsider": site.person(), "site": root, "ids": ids}


@pytest.mark.slow
def test_each_route_is_in_the_table_and_none_else(site: Site) -> None:
    found = {f"{method} {route.path.removeprefix(PREFIX)}" for method, route in routes_of(site.app)}
    assert found == set(ACCESS)


def test_a_route_nobody_answers_for_is_refused() -> None:
    app, router = FastAPI(docs_url=None, redoc_url=None, openapi_url=None), make_router()

    @router.get("/secrets")
    def secrets() -> str:
        return "all"

    app.router.routes.extend(router.routes)
    with pytest.raises(LinnetError, match="nobody says who may call GET /api/v1/secrets"):
        _check_routes(app)
    app.router.routes[:] = [Route("/x", lambda _request: None)]
    with pytest.raises(LinnetError, match="no route that asks who calls"):
        _check_routes(app)
    app.router.routes.clear()
    with pytest.raises(LinnetError, match="routes that there are not"):
        _check_routes(app)


def path_of(route: str, ids: dict[str, Any]) -> str:
    more = {"kb": "x", "version": "x", "concept": "x", "format": "jsonl", "token": "0" * 16, "proposal": "x"}
    asked = f"?project={ids['project']}" if route.endswith("/propose") else ""
    return re.sub(r"{(\w+)}", lambda found: str({**more, **ids}[found[1]]), route) + asked


@pytest.mark.parametrize("key", [key for key in ACCESS if not key.endswith("/stream")])
def test_role_by_route(site: Site, people: dict[str, Any], key: str) -> None:
    """A refused role gets 403, who is no member 404, who is nobody 401; everybody else gets past the door."""
    method, route = key.split()
    ids, access = people["ids"], ACCESS[key]
    sent: dict[str, Any] = {"json": {"nonsense": 1}} if method in ("POST", "PATCH", "PUT") else {}
    # a request that cannot succeed: what comes back tells whether it was let in, and changes nothing
    path = path_of(route, {**ids, "document": NOBODY} if method == "DELETE" else ids)
    if "/oidc" in route:  # no provider is set
        assert site.stranger().request(method, PREFIX + path).json() == site.stranger().get(PREFIX + "/none").json()
        return
    if ANYONE in access.who:
        assert site.stranger().request(method, PREFIX + path, **sent).status_code in (200, 422)
        return
    assert site.stranger().request(method, PREFIX + path, **sent).status_code == 401
    answers = {name: people[name].ask(method, path, None, **sent) for name in (*ROLES, "outsider")}
    if SITE in access.who:
        assert {answer.status_code for answer in answers.values()} == {403}
        assert people["site"].ask(method, path, None, **sent).status_code != 403
        return
    if USER in access.who:
        assert not {answer.status_code for answer in answers.values()} & {401, 403}
        return
    assert answers["outsider"].status_code == 404
    if "{model}" in route:
        return  # there is none: nobody finds it
    refused = {name for name in ROLES if answers[name].status_code == 403 and "/problems/role" in answers[name].text}
    assert refused == set(ROLES) - access.who


def test_a_number_that_is_none_is_not_found(root: Person) -> None:
    for id in ("0", "-1", "1.5", "x", "9" * 30, "%00", "٣"):
        root.ask("GET", f"/projects/{id}/documents", 404)
        root.ask("GET", f"/assignments/{id}", 404)


@pytest.mark.parametrize("key", [key for key in ACCESS if not key.endswith("/stream")])
def test_numbers_that_no_row_can_have(people: dict[str, Any], root: Person, key: str) -> None:
    method, route = key.split()
    ids, wide = people["ids"], ("99999999999", "9" * 20, "-" + "9" * 20)
    known = root.get("/openapi.json")["paths"].get(PREFIX + route, {}).get(method.lower(), {})
    asked = [one["name"] for one in known.get("parameters", ()) if one["in"] == "query"]
    sent: dict[str, Any] = {"json": {"role": "viewer"}} if method in ("POST", "PATCH", "PUT") else {}
    for who, number in itertools.product((people["admin"], people["site"]), wide):
        for name in re.findall(r"{(project|document|assignment|job|user)}", route):
            assert who.ask(method, path_of(route, {**ids, name: number}), None, **sent).status_code in range(400, 500)
        for name in asked if method == "GET" else ():
            assert who.ask(method, path_of(route, ids), None, params={name: number}).status_code < 500


def test_digits_are_the_number_of_a_user(site: Site, root: Person) -> None:
    project, meant = site.project(root), site.person()
    with site.store.write() as db:  # as an earlier version did
        other = add_user(db, str(meant.user), digits=True)
    path = f"/projects/{project}/members/{meant.user}"
    assert root.ask("PUT", path, json={"role": "viewer"}).json()["name"] == meant.name
    root.ask("PUT", f"/projects/{project}/members/{other}", json={"role": "curator"})
    root.ask("DELETE", path, 204)
    assert {one["user"] for one in root.get(f"/projects/{project}/members")} == {root.user, other}
    with site.store.write() as db:
        add_user(db, NOBODY, digits=True)
    root.ask("PUT", f"/projects/{project}/members/{NOBODY}", 404, json={"role": "viewer"})


def test_problems_are_problem_details_everywhere(site: Site, root: Person) -> None:
    project = site.project(root)
    cases: tuple[tuple[str, str, dict[str, Any], int], ...] = (
        ("GET", "/nothing", {}, 404), ("PUT", "/me", {}, 405), ("GET", f"/projects/{NOBODY}", {}, 404),
        ("POST", "/projects", {"json": {"name": 5}}, 422), ("POST", "/projects", {"json": {"name": ""}}, 422),
        ("POST", "/projects", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400),
        ("PATCH", f"/projects/{project}", {"json": {"blind": False}}, 428),
        ("PATCH", f"/projects/{project}", {"json": {"blind": False}, "headers": {"If-Match": '"9"'}}, 412),
        ("PATCH", f"/projects/{project}", {"json": {"blind": False}, "headers": {"If-Match": "x"}}, 400),
        ("POST", f"/projects/{project}/pastes", {"json": {"text": "a" * 300_000}}, 413),
        ("POST", f"/projects/{project}/history", {"content": b"\xff"}, 422),
        ("POST", f"/projects/{project}/history", {"content": b"[1]"}, 422),
        ("GET", f"/projects/{project}/exports/nothing", {}, 404), ("GET", "/kb/none", {}, 404),
        ("GET", "/kb/none/search?q=a", {}, 404), ("GET", "/jobs/1000000", {}, 404),
        ("DELETE", f"/projects/{project}/members/{root.user}", {}, 409),
        ("PUT", f"/projects/{project}/members/nobody-here", {"json": {"role": "viewer"}}, 404),
    )  # fmt: skip
    for method, path, sent, status in cases:
        answer = root.ask(method, path, status, **sent)
        assert answer.headers["content-type"] == "application/problem+json", (path, answer.headers)
        body = answer.json()
        assert body["status"] == status
        assert body["type"].startswith("/problems/")
        assert body["title"]
        assert all(answer.headers[name] == value for name, value in HEADERS.items())
        assert answer.headers["cache-control"] == "no-store"


def test_validation_points_at_the_field(root: Person) -> None:
    [error] = root.post("/projects", {"name": "x", "settings": {"annotators": 0}}, 422)["errors"]
    assert error["pointer"] == "/settings/annotators"


def test_a_body_that_hides_its_size_is_cut_off(site: Site, root: Person) -> None:
    def parts() -> Any:
        for _ in range(100):
            yield b" " * 10_000

    path = f"/projects/{site.project(root)}/pastes"
    root.ask("POST", path, 413, content=parts(), headers={"Content-Type": "application/json"})


def test_a_mistake_of_ours_says_nothing_of_itself(
    site: Site, root: Person, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    project = site.project(root)
    monkeypatch.setattr("linnet.annotate.api.projects.project_of", lambda *_: 1 / 0)
    answer = root.ask("GET", f"/projects/{project}", 500)
    assert all(answer.headers[name] == value for name, value in HEADERS.items())
    assert "ZeroDivisionError" not in answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "ZeroDivisionError" in caplog.text


def test_settings_are_changed_by_who_has_read_them(site: Site, root: Person) -> None:
    project = site.project(root)
    answer = root.ask("GET", f"/projects/{project}")
    tag = {"If-Match": answer.headers["etag"]}
    changed = root.ask("PATCH", f"/projects/{project}", json={"blind": False}, headers=tag)
    assert (changed.json()["blind"], changed.headers["etag"]) == (False, '"1"')
    root.ask("PATCH", f"/projects/{project}", 412, json={"blind": True}, headers=tag)
    change = {"settings": {"annotators": 3}}
    root.ask("PATCH", f"/projects/{project}", json=change, headers={"If-Match": '"1"'})
    kept = root.ask(
        "PATCH", f"/projects/{project}", json={"settings": {"strategy": "margin"}}, headers={"If-Match": '"2"'}
    )
    assert kept.json()["settings"]["annotators"] == 3
    for wrong in ({"untrained": "../../etc"}, {"recipe": "dictionray"}, {"strategy": "best"}):
        root.ask("PATCH", f"/projects/{project}", 422, json={"settings": wrong}, headers={"If-Match": '"3"'})
    for kb in ("../x", "/etc/passwd", "no-such-kb"):
        root.ask("PATCH", f"/projects/{project}", 422, json={"kb": kb}, headers={"If-Match": '"3"'})


def test_archived_projects_are_read_only(site: Site, root: Person) -> None:
    project = site.project(root)
    root.ask("PATCH", f"/projects/{project}", json={"archived": True}, headers={"If-Match": '"0"'})
    assert root.post(f"/projects/{project}/pastes", {"text": "a"}, 409)["type"] == "/problems/archived"
    root.get(f"/projects/{project}/documents")
    root.ask("PATCH", f"/projects/{project}", json={"archived": False}, headers={"If-Match": '"1"'})
    root.post(f"/projects/{project}/pastes", {"text": "a"})


def test_the_same_request_twice(site: Site, root: Person) -> None:
    name = {"name": site.person().name + "-project"}
    key = {"Idempotency-Key": "k-" + name["name"]}
    first = root.ask("POST", "/projects", 201, json=name, headers=key)
    again = root.ask("POST", "/projects", 201, json=name, headers=key)
    assert again.json() == first.json()
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["idempotent-replay"] == "true"
    root.ask("POST", "/projects", 422, json={"name": "another"}, headers=key)
    other = site.person(admin=True)  # keys are everybody's own
    other.ask("POST", "/projects", 422, json=name, headers=key)
    key = {"Idempotency-Key": "again-" + name["name"]}
    root.ask("POST", "/projects", 422, json=name, headers=key)  # the name is taken: a refusal is not kept
    root.ask("POST", "/projects", 201, json={"name": name["name"] + "2"}, headers=key)
    root.ask("POST", "/projects", 400, json=name, headers={"Idempotency-Key": "k" * 300})


def test_the_same_key_with_another_query_is_another_request(site: Site, root: Person) -> None:
    path, key = f"/projects/{site.project(root)}/guidelines", {"Idempotency-Key": fresh("query")}
    root.ask("POST", f"{path}?a=1", 201, json={"md": "x"}, headers=key)
    problem = root.ask("POST", f"{path}?a=2", 422, json={"md": "x"}, headers=key).json()
    assert problem["type"] == "/problems/idempotency-key"
    assert root.ask("POST", f"{path}?a=1", 201, json={"md": "x"}, headers=key).headers["idempotent-replay"] == "true"


def test_the_same_upload_twice(site: Site, root: Person) -> None:
    """A client that sends a form again puts another boundary between its parts."""
    path, key = f"/projects/{site.project(root)}/uploads", {"Idempotency-Key": fresh("form")}

    def send(text: bytes, status: int) -> Any:
        return root.ask("POST", path, status, files=[("files", ("a.txt", text))], headers=key)

    first = send(b"Fits.", 201)
    again = send(b"Fits.", 201)
    assert (again.json(), again.headers["idempotent-replay"]) == (first.json(), "true")
    send(b"Fever.", 422)
    assert len(root.get(path)["uploads"]) == 1


def test_the_same_request_at_once_is_done_once(site: Site, root: Person) -> None:
    path = f"/projects/{site.project(root)}/guidelines"
    for _ in range(5):
        key, together = {"Idempotency-Key": fresh("at-once")}, threading.Barrier(6)

        def ask(key: dict[str, str] = key, together: threading.Barrier = together) -> int:
            together.wait()
            return int(root.ask("POST", path, None, json={"md": key["Idempotency-Key"]}, headers=key).status_code)

        with ThreadPoolExecutor(6) as pool:
            statuses = [asked.result() for asked in [pool.submit(ask) for _ in range(6)]]
        assert set(statuses) <= {201, 409}  # 409: the first one is still at work
    assert len(root.get(path)) == 5


def digest(content: bytes, name: str = "sha256") -> str:
    return base64.b64encode(hashlib.new(name, content).digest()).decode()


def test_a_body_that_changed_on_the_way_is_refused(site: Site, root: Person) -> None:
    path = f"/projects/{site.project(root)}/uploads"
    sent = root.client.build_request("POST", PREFIX + path, files=[("files", ("a.txt", b"Seizures."))])
    content, kind = sent.read(), {"Content-Type": sent.headers["content-type"]}
    right, longer = f"sha-256=:{digest(content)}:", f"sha-512=:{digest(content, 'sha512')}:"
    wrong = f"sha-256=:{digest(content + b' ')}:"
    for header in (wrong, f"{longer}, {wrong}", "sha-256=:AAAA:"):
        problem = root.ask("POST", path, 400, content=content, headers={**kind, "Content-Digest": header}).json()
        assert problem["type"] == "/problems/content-digest"
    for header in ("sha-256", "sha-256=:A:", "sha-256=abc", f"{right}, md5"):
        root.ask("POST", path, 400, content=content, headers={**kind, "Content-Digest": header})
    assert root.get(path)["uploads"] == []
    assert root.get(path.replace("uploads", "documents"))["documents"] == []
    for header in (right, f"{right}, {longer}", "md5=:AAAA:", ""):
        root.ask("POST", path, 201, content=content, headers={**kind, "Content-Digest": header})
    once = {**kind, "Content-Digest": wrong, "Idempotency-Key": "digest"}
    root.ask("POST", path, 400, content=content, headers=once)
    root.ask("POST", path, 201, content=content, headers={**once, "Content-Digest": right})


def test_the_digest_of_a_body_that_comes_in_pieces(site: Site, root: Person) -> None:
    path = f"/projects/{site.project(root)}/pastes"
    whole = b'{"text": "Seizures."}'

    def pieces() -> Any:
        yield whole[:5]
        yield whole[5:]

    kind = {"Content-Type": "application/json"}
    root.ask("POST", path, 400, content=pieces(), headers={**kind, "Content-Digest": f"sha-256=:{digest(b'')}:"})
    root.ask("POST", path, 201, content=pieces(), headers={**kind, "Content-Digest": f"sha-256=:{digest(whole)}:"})


def test_a_project_keeps_an_admin_who_can_act(site: Site, root: Person) -> None:
    project = site.project(root)
    other = site.member(root, project, "admin")
    root.ask("PATCH", f"/users/{other.user}", json={"disabled": True})
    me = f"/projects/{project}/members/{root.user}"
    assert root.ask("DELETE", me, 409).json()["type"] == "/problems/last-admin"
    root.ask("PUT", me, 409, json={"role": "viewer"})
    root.ask("PATCH", f"/users/{other.user}", json={"disabled": False})
    root.ask("DELETE", me, 204)
    root.ask("PATCH", f"/users/{other.user}", json={"disabled": True})
    assert root.get(f"/projects/{project}")["role"] == "admin"  # who would else nobody could make one


def test_who_disables_the_last_admin_of_a_project_becomes_its_admin(site: Site, root: Person) -> None:
    first, second, nobody = (site.project(root) for _ in range(3))
    other = site.member(root, first, "admin")
    root.ask("PUT", f"/projects/{second}/members/{other.user}", json={"role": "admin"})
    root.ask("PUT", f"/projects/{nobody}/members/{other.user}", json={"role": "curator"})
    root.ask("DELETE", f"/projects/{first}/members/{root.user}", 204)
    answer = root.ask("PATCH", f"/users/{other.user}", json={"disabled": True}).json()
    assert answer["projects"] == [first]
    assert root.get(f"/projects/{first}")["role"] == "admin"
    answer = root.ask("PATCH", f"/users/{other.user}", json={"disabled": False}).json()
    assert answer["projects"] == []


def test_two_projects_that_are_given_one_name_at_once(site: Site, root: Person) -> None:
    first, second = site.project(root), site.project(root)
    name = fresh("name")

    def rename() -> Any:
        return root.ask("PATCH", f"/projects/{second}", 422, json={"name": name}, headers={"If-Match": '"0"'})

    with ThreadPoolExecutor() as others:
        with site.store.write() as db:
            lock(db)
            change_settings(db, first, 0, {"name": name})
            answer = others.submit(rename)
            time.sleep(0.2)  # it has asked by now, or waits
        assert f"there is a project '{name}' already" in answer.result().json()["detail"]
