"""Signing in and out: passwords, links, sessions and their second secret, tokens, limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import argon2
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from linnet.annotate import signing
from linnet.annotate.api.access import PREFIX
from linnet.annotate.people import add_user, name_of
from linnet.annotate.signing import (
    Attempts,
    TooManyAttemptsError,
    UnknownCallerError,
    first_link,
    make_link,
    make_token,
)
from linnet.annotate.store import open_store
from linnet.annotate.tables import session, token, user
from tests.annotate.api import DONE, Person, Site, listen
from tests.annotate.desk import fresh

PASSWORD = "correct horse battery"


def post(client: TestClient, path: str, json: Any, status: int, **headers: str) -> Any:
    answer = client.post(PREFIX + path, json=json, headers=headers)
    assert answer.status_code == status, answer.text
    return answer


@pytest.fixture(autouse=True, scope="module")
def _quick() -> Iterator[None]:
    """Hash as fast as can be: how slow it is has no effect on what is tested."""
    cheap = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing, "_hasher", lambda: cheap)
        yield


@pytest.fixture
def member(site: Site) -> tuple[str, TestClient, str]:
    """Somebody who has just signed in by a link: name, browser, second secret."""
    name, browser = fresh("alice"), site.stranger()
    with site.store.write() as db:
        link = make_link(db, add_user(db, name))
    answer = post(browser, "/session/password", {"link": link, "password": PASSWORD}, 201)
    return name, browser, answer.json()["csrf"]


def test_the_first_start_gives_one_link_until_it_is_used(tmp_path: Any) -> None:
    store = open_store(tmp_path)
    site = Site(store, tmp_path)
    with store.write() as db:
        first, second = first_link(db), first_link(db)
    post(site.stranger(), "/session/password", {"link": first, "password": PASSWORD}, 401)
    post(site.stranger(), "/session/password", {"link": second, "password": "short"}, 422)
    me = post(site.stranger(), "/session/password", {"link": second, "password": PASSWORD}, 201).json()
    assert me["name"] == "admin"
    post(site.stranger(), "/session/password", {"link": second, "password": PASSWORD}, 401)
    with store.write() as db:
        assert first_link(db) is None
    post(site.stranger(), "/session", {"name": "admin", "password": PASSWORD}, 201)
    store.close()


def test_two_administrators_who_disable_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    site = Site(store, tmp_path)
    one, other = site.person("one", admin=True), site.person("other", admin=True)

    def meanwhile(db: sa.Connection, id: int) -> str:
        """Do what a request of the other did after this one was let in."""
        signing.disable(db, one.user, True)
        return name_of(db, id)

    monkeypatch.setattr("linnet.annotate.api.users.name_of", meanwhile)
    for change in ({"disabled": True}, {"admin": False}):
        refused = one.ask("PATCH", f"/users/{other.user}", 409, json=change).json()
        assert refused["type"] == "/problems/last-admin"
    assert other.get("/me")["admin"]
    store.close()


def test_the_first_link_where_all_administrators_are_disabled(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.write() as db:
        signing.disable(db, add_user(db, "admin", "hash", admin=True), True)
        link = first_link(db)
    me = post(Site(store, tmp_path).stranger(), "/session/password", {"link": link, "password": PASSWORD}, 201).json()
    assert me["name"] == "admin (2)"
    store.close()


def test_secrets_are_kept_as_hashes(site: Site, member: tuple[str, TestClient, str]) -> None:
    name, browser, _ = member
    with site.store.read() as db:
        hash = db.scalar(sa.select(user.c.hash).where(user.c.name == name))
        kept = [*db.scalars(sa.select(session.c.hash)), *db.scalars(sa.select(token.c.hash))]
    assert str(hash).startswith("$argon2id$")
    assert browser.cookies["linnet"] not in kept
    assert all(len(one) == 64 for one in kept)


def test_the_cookie_is_for_this_site_alone(site: Site) -> None:
    name = fresh("bob")
    with site.store.write() as db:
        link = make_link(db, add_user(db, name))
    said = post(site.stranger(), "/session/password", {"link": link, "password": PASSWORD}, 201).headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(said.split("; "))
    assert "Secure" not in said
    behind_tls = TestClient(site.app, base_url="https://linnet.example")
    said = post(behind_tls, "/session", {"name": name, "password": PASSWORD}, 201).headers["set-cookie"]
    assert said.startswith("__Host-linnet=")
    assert "Secure" in said
    me = behind_tls.get(PREFIX + "/me")
    assert "strict-transport-security" in me.headers
    gone = behind_tls.delete(PREFIX + "/session", headers={"X-CSRF-Token": me.json()["csrf"]}).headers["set-cookie"]
    # browsers pass over what would end a cookie of this name, too, unless it is "secure"
    assert {'__Host-linnet=""', "Max-Age=0", "Path=/", "Secure"} <= set(gone.split("; "))


def test_a_proxy_may_ask_for_a_password_of_its_own(site: Site, member: tuple[str, TestClient, str]) -> None:
    _, browser, csrf = member
    browser.headers["Authorization"] = "Basic cm9vdDpyb290"
    assert browser.get(PREFIX + "/me").status_code == 200
    wish = {"name": "script", "scopes": ["read"]}
    post(browser, "/tokens", wish, 403)
    post(browser, "/tokens", wish, 201, **{"X-CSRF-Token": csrf})
    wrong = browser.get(PREFIX + "/me", headers={"Authorization": "Bearer lnt_made-up"})
    assert wrong.status_code == 401  # who sends a token is whoever it says, not whoever is signed in


def test_changes_need_the_second_secret(member: tuple[str, TestClient, str]) -> None:
    _, browser, csrf = member
    assert browser.get(PREFIX + "/me").json()["csrf"] == csrf
    wish = {"name": "script", "scopes": ["read"]}
    assert post(browser, "/tokens", wish, 403).json()["type"] == "/problems/csrf"
    post(browser, "/tokens", wish, 403, **{"X-CSRF-Token": "x" + csrf})
    post(browser, "/tokens", wish, 201, **{"X-CSRF-Token": csrf})


def test_other_sites_cannot_sign_a_browser_in(site: Site, member: tuple[str, TestClient, str]) -> None:
    account = {"name": member[0], "password": PASSWORD}
    post(site.stranger(), "/session", account, 403, **{"Sec-Fetch-Site": "cross-site"})
    post(site.stranger(), "/session", account, 201, **{"Sec-Fetch-Site": "same-origin"})
    form = site.stranger().post(PREFIX + "/session", content='{"name": "a", "password": "b"}')
    assert form.status_code == 422  # what a form of another site can send has no type of JSON


def test_signing_out_ends_the_session(site: Site, member: tuple[str, TestClient, str]) -> None:
    _, browser, csrf = member
    stolen = browser.cookies["linnet"]
    assert browser.delete(PREFIX + "/session", headers={"X-CSRF-Token": csrf}).status_code == 204
    again = site.stranger().get(PREFIX + "/me", headers={"Cookie": f"linnet={stolen}"})
    assert again.status_code == 401
    assert again.headers["www-authenticate"] == "Bearer"


def test_signing_out_ends_what_is_listened_to(
    site: Site, root: Person, member: tuple[str, TestClient, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, browser, csrf = member
    project = site.project(root)
    user = browser.get(PREFIX + "/me").json()["user"]
    root.ask("PUT", f"/projects/{project}/members/{user}", json={"role": "viewer"})
    bench = site.app.state.workbench
    looks = [bench.look(project)]
    monkeypatch.setattr(bench, "held_look", lambda _: looks.pop() if looks else None)
    again = post(site.stranger(), "/session", {"name": name, "password": PASSWORD}, 201)
    other = f"linnet={again.cookies['linnet']}"  # newer than what the stream looks at first
    assert listen(root, project, cookie=other).count(": ping") > 1
    out = {"X-CSRF-Token": csrf}
    mine = f"linnet={browser.cookies['linnet']}"
    told = listen(root, project, during=lambda: browser.delete(PREFIX + "/session", headers=out), cookie=mine)
    after = told.partition(DONE.decode())[2]
    assert after.count(": ping") < 2  # at most that of a look which had begun


def test_five_failures_a_minute(site: Site, member: tuple[str, TestClient, str]) -> None:
    for name in (member[0], fresh("nobody")):  # whether the account exists is not told
        for _ in range(5):
            post(site.stranger(), "/session", {"name": name, "password": "wrong password"}, 401)
        answer = post(site.stranger(), "/session", {"name": name, "password": PASSWORD}, 429)
        assert 0 < int(answer.headers["retry-after"]) <= 61


def test_the_limit_counts_attempts_under_way_and_ends_with_time() -> None:
    at = 0.0
    attempts = Attempts(clock=lambda: at)
    open_ones = [attempts.one("Alice") for _ in range(5)]
    for one in open_ones:
        one.__enter__()
    with pytest.raises(TooManyAttemptsError) as told, attempts.one("alice"):
        pass
    assert told.value.wait == 60
    at = 61.0
    with attempts.one("alice"):
        pass
    for _ in range(4):
        with pytest.raises(UnknownCallerError), attempts.one("alice"):
            raise UnknownCallerError
    with attempts.one("alice"):  # this one is right: the failures are forgotten
        pass
    for _ in range(5):
        with pytest.raises(UnknownCallerError), attempts.one("alice"):
            raise UnknownCallerError


def test_a_new_password_ends_all_sessions(site: Site, member: tuple[str, TestClient, str]) -> None:
    name, browser, csrf = member
    change = {"old": "wrong password", "new": "another password"}
    headers = {"X-CSRF-Token": csrf}
    assert browser.patch(PREFIX + "/me", json=change, headers=headers).status_code == 401
    assert browser.patch(PREFIX + "/me", json={**change, "old": PASSWORD}, headers=headers).status_code == 204
    assert browser.get(PREFIX + "/me").status_code == 401
    post(site.stranger(), "/session", {"name": name, "password": PASSWORD}, 401)
    post(site.stranger(), "/session", {"name": name, "password": "another password"}, 201)


def test_a_sign_in_is_not_later_than_the_change_of_its_password(
    site: Site, member: tuple[str, TestClient, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, browser, csrf = member
    id = browser.get(PREFIX + "/me").json()["user"]
    changes: Iterator[dict[str, Any]] = iter([{"hash": signing.hash_password("another password")}, {"disabled": True}])

    def slow(*given: Any) -> Any:
        account = signing.sign_in(*given)
        with site.store.write() as db:
            db.execute(user.update().where(user.c.id == id).values(next(changes)))
        return account

    monkeypatch.setattr("linnet.annotate.api.session.sign_in", slow)
    assert "changed meanwhile" in post(site.stranger(), "/session", {"name": name, "password": PASSWORD}, 401).text
    change = {"old": "another password", "new": PASSWORD}
    assert browser.patch(PREFIX + "/me", json=change, headers={"X-CSRF-Token": csrf}).status_code == 401


def test_a_sign_in_waits_for_a_change_that_is_under_way(
    site: Site, member: tuple[str, TestClient, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = threading.Event()

    def telling(*given: Any) -> Any:
        account = signing.sign_in(*given)
        checked.set()
        return account

    monkeypatch.setattr("linnet.annotate.api.session.sign_in", telling)
    old = {"name": member[0], "password": PASSWORD}
    with ThreadPoolExecutor(1) as pool:
        with site.store.write() as db:
            account = signing.sign_in(db, member[0], PASSWORD, Attempts())
            signing.change_password(db, account, signing.hash_password("another password"))
            answer = pool.submit(post, site.stranger(), "/session", old, 401)
            assert checked.wait(10)
            time.sleep(0.1)  # it asks for the lock now
        answer.result(10)


def test_nobody_waits_for_a_password_that_is_hashed(
    site: Site, member: tuple[str, TestClient, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, browser, csrf = member
    writing: list[bool] = []
    write, quick = site.store.write, signing._hasher()

    @contextmanager
    def counted() -> Iterator[sa.Connection]:
        with write() as db:
            writing.append(True)
            yield db
            writing.pop()

    class Watched:
        def hash(self, password: str) -> str:
            assert not writing
            return quick.hash(password)

        def verify(self, hash: str, password: str) -> bool:
            assert not writing
            return quick.verify(hash, password)

    monkeypatch.setattr(site.store, "write", counted)
    monkeypatch.setattr(signing, "_hasher", Watched)
    headers = {"X-CSRF-Token": csrf}
    change = {"old": PASSWORD, "new": "another password"}
    assert browser.patch(PREFIX + "/me", json=change, headers=headers).status_code == 204
    post(site.stranger(), "/session", {"name": name, "password": "another password"}, 201)
    with write() as db:
        id = db.scalar(sa.select(user.c.id).where(user.c.name == name)) or 0
        link = make_link(db, id)
    post(site.stranger(), "/session/password", {"link": link, "password": PASSWORD}, 201)


def test_a_new_password_ends_tokens_and_links(site: Site, member: tuple[str, TestClient, str]) -> None:
    name, _, _ = member

    def change(old: str, new: str, **more: bool) -> None:
        """Sign in and change the password."""
        here = site.stranger()
        csrf = post(here, "/session", {"name": name, "password": old}, 201).json()["csrf"]
        body = {"old": old, "new": new, **more}
        assert here.patch(PREFIX + "/me", json=body, headers={"X-CSRF-Token": csrf}).status_code == 204

    def asks(token: str) -> int:
        return site.stranger().get(PREFIX + "/me", headers={"Authorization": f"Bearer {token}"}).status_code

    with site.store.write() as db:
        id = db.scalar(sa.select(user.c.id).where(user.c.name == name)) or 0
        first, link = make_token(db, id, "script", ["read"]), make_link(db, id)
    change(PASSWORD, "another password", keep_tokens=True)
    assert asks(first) == 200
    post(site.stranger(), "/session/password", {"link": link, "password": PASSWORD}, 401)
    change("another password", PASSWORD)
    assert asks(first) == 401
    with site.store.write() as db:
        second, link = make_token(db, id, "script", ["read"]), make_link(db, id)
    assert asks(second) == 200
    post(site.stranger(), "/session/password", {"link": link, "password": PASSWORD}, 201)
    assert asks(second) == 401


def test_tokens_have_scopes_and_end(site: Site, root: Person) -> None:
    project = site.project(root)
    with site.store.write() as db:
        reader = make_token(db, root.user, "reader", ["read"])
    headers = {"Authorization": f"Bearer {reader}"}
    client = site.stranger()
    assert client.get(f"{PREFIX}/projects/{project}", headers=headers).status_code == 200
    refused = client.post(f"{PREFIX}/projects/{project}/pastes", json={"text": "a"}, headers=headers)
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/scope")
    [shown] = [one for one in root.get("/tokens") if one["name"] == "reader"]
    assert reader not in str(root.get("/tokens"))
    root.ask("DELETE", f"/tokens/{shown['token']}", 204)
    root.ask("DELETE", f"/tokens/{shown['token']}", 404)
    assert client.get(f"{PREFIX}/projects/{project}", headers=headers).status_code == 401
    assert client.get(f"{PREFIX}/me", headers={"Authorization": "Bearer lnt_made-up"}).status_code == 401
    assert client.get(f"{PREFIX}/me", headers={"Authorization": "Basic cm9vdDpyb290"}).status_code == 401


def test_tokens_are_made_by_who_has_signed_in(root: Person, member: tuple[str, TestClient, str]) -> None:
    _, browser, csrf = member
    headers = {"X-CSRF-Token": csrf}
    post(browser, "/tokens", {"name": "x", "scopes": ["everything"]}, 422, **headers)
    post(browser, "/tokens", {"name": "x", "scopes": []}, 422, **headers)
    made = post(browser, "/tokens", {"name": "x", "scopes": ["manage"], "days": 1}, 201, **headers).json()["secret"]
    more = {"name": "y", "scopes": ["read", "write", "manage"]}
    refused = post(TestClient(root.site.app), "/tokens", more, 403, Authorization=f"Bearer {made}")
    assert refused.json()["type"] == "/problems/session"
    assert [one["name"] for one in browser.get(PREFIX + "/tokens").json()] == ["x"]


def test_a_token_that_is_ended_listens_no_more(site: Site, root: Person) -> None:
    project = site.project(root)
    viewer = site.member(root, project, "viewer")
    assert listen(viewer, project).count(": ping") > 1
    [shown] = viewer.get("/tokens")
    told = listen(viewer, project, during=lambda: viewer.ask("DELETE", f"/tokens/{shown['token']}", 204))
    assert told.partition(DONE.decode())[2].count(": ping") < 2  # at most that of a look which had begun


def test_links_are_no_tokens(site: Site, root: Person) -> None:
    made = root.post("/users", {"name": fresh("carol")})
    headers = {"Authorization": f"Bearer {made['link']}"}
    assert site.stranger().get(PREFIX + "/me", headers=headers).status_code == 401


def test_users_are_disabled_at_once(site: Site, root: Person) -> None:
    dave = site.person("dave")
    dave.get("/me")
    assert root.ask("PATCH", f"/users/{dave.user}", json={"disabled": True}).json()["name"] == dave.name
    dave.ask("GET", "/me", 401)
    [shown] = [one for one in root.get("/users") if one["user"] == dave.user]
    assert shown["disabled"]
    root.ask("PATCH", f"/users/{root.user}", 409, json={"admin": False})
    root.ask("PATCH", "/users/1000000", 404, json={"admin": True})
    link = root.ask("PATCH", f"/users/{dave.user}", json={"disabled": False, "link": True}).json()["link"]
    post(site.stranger(), "/session/password", {"link": link, "password": PASSWORD}, 201)
