"""Signing in at a provider: who gets in as whom, and every way in which a provider's word can be worth nothing."""

from __future__ import annotations

import base64
import hmac
import importlib
import json
import re
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.testclient import TestClient
from typer.testing import CliRunner

from linnet.annotate import oidc as module
from linnet.annotate.api.access import PREFIX
from linnet.annotate.oidc import Provider, ProviderError, read_settings
from linnet.annotate.people import add_user
from linnet.annotate.signing import disable, first_link, make_link
from linnet.annotate.store import Store, open_store
from linnet.annotate.tables import identity, session, user
from linnet.errors import FormatError, LinnetError, MissingExtraError, RecipeError, how_to_install
from tests.annotate.api import Person, Site
from tests.annotate.desk import fresh
from tests.annotate.provider import DISCOVERY, SECRET, FakeProvider, provider


@pytest.fixture
def there() -> Iterator[FakeProvider]:
    with provider() as made:
        yield made


@pytest.fixture(scope="module")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A workbench where nobody gets in."""
    store = open_store(tmp_path_factory.mktemp("nobody"))
    yield store
    store.close()


def opened(site: Site, there: FakeProvider, **more: Any) -> Site:
    """Return the same workbench with a provider."""
    return Site(site.store, site.folder, there.settings(**{"create": True, **more}))


def start(browser: TestClient, status: int = 200, **body: Any) -> Any:
    answer = browser.post(f"{PREFIX}/oidc", json=body)
    assert answer.status_code == status, answer.text
    return answer.json().get("url", answer.json())


def go(browser: TestClient, place: str) -> Any:
    return browser.get(place, follow_redirects=False)


def enter(browser: TestClient, there: FakeProvider, status: int = 303, **body: Any) -> Any:
    """Sign in, all the way."""
    answer = go(browser, there.sign_in(start(browser, **body)))
    assert answer.status_code == status, answer.text
    return browser.get(f"{PREFIX}/me").json() if status == 303 else answer.json()


# --- who gets in -----------------------------------------------------------------------------------------------------


def test_a_sign_in_from_beginning_to_end(site: Site, there: FakeProvider) -> None:
    here, name = opened(site, there, name="Clinic"), fresh("ann")
    there.claims = {"preferred_username": name, "sub": name}
    browser = here.stranger()
    assert browser.get(f"{PREFIX}/oidc").json() == {"name": "Clinic"}
    began = browser.post(f"{PREFIX}/oidc", json={})
    assert {"HttpOnly", "SameSite=lax", "Max-Age=600"} <= set(began.headers["set-cookie"].split("; "))
    answer = go(browser, there.sign_in(began.json()["url"]))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["cache-control"] == "no-store"
    assert "linnet-oidc" not in browser.cookies
    me = browser.get(f"{PREFIX}/me").json()
    assert (me["name"], me["admin"]) == (name, False)
    assert browser.get(f"{PREFIX}/projects").json() in ([], {"projects": []})
    headers = {"X-CSRF-Token": me["csrf"]}
    assert browser.post(f"{PREFIX}/tokens", json={"name": "x", "scopes": ["read"]}, headers=headers).status_code == 201

    there.claims |= {"preferred_username": "another name"}  # people marry
    assert enter(here.stranger(), there)["user"] == me["user"]
    basic = base64.b64decode(there.auth.removeprefix("Basic ")).decode()
    assert [urllib.parse.unquote_plus(one) for one in basic.split(":")] == ["linnet", SECRET]


def test_names_do_not_make_anybody_somebody_else(site: Site, root: Person, there: FakeProvider) -> None:
    here = opened(site, there)
    names = []
    for number in range(2):
        there.claims = {"preferred_username": f"\0{root.name}\n ", "sub": f"{root.name}-{number}"}
        names.append(enter(here.stranger(), there)["name"])
    assert names == [f"{root.name} (2)", f"{root.name} (3)"]
    there.claims = {"sub": fresh("nameless"), "email": root.name, "email_verified": False}
    assert enter(here.stranger(), there)["name"] == there.claims["sub"]
    there.claims = {"sub": fresh("x"), "name": "\n"}
    assert enter(here.stranger(), there)["name"].startswith("user")
    there.claims = {"sub": fresh("x"), "preferred_username": str(root.user)}  # digits are the number of a user here
    assert enter(here.stranger(), there)["name"].startswith(f"user {root.user}")


def test_who_is_not_known_is_let_in_only_where_that_is_allowed(site: Site, there: FakeProvider) -> None:
    closed, clinic = opened(site, there, create=False), opened(site, there, domains=["Clinic.example"])
    mail = {"email": "ann@clinic.example", "email_verified": True}
    good = {"sub": fresh("s"), **mail}
    cases = (
        (closed, good),
        (clinic, {**good, "email_verified": False}),
        (clinic, {**good, "email_verified": None}),
        (clinic, {**good, "email": "ann@clinic.example.org"}),
        (clinic, {**good, "email": None}),
    )
    for here, claims in cases:
        there.claims = claims
        browser = here.stranger()
        assert "ask an administrator for an invitation" in enter(browser, there, 401)["detail"]
        assert "linnet" not in browser.cookies
    there.claims = good
    assert enter(clinic.stranger(), there)["name"].startswith("ann@clinic.example")
    assert enter(closed.stranger(), there)["name"].startswith("ann@clinic.example")  # is known now


def test_an_invitation_makes_an_account_ones_own(site: Site, there: FakeProvider) -> None:
    here, name = opened(site, there, create=False), fresh("bob")
    with site.store.write() as db:
        id = add_user(db, name, admin=True)
        link = make_link(db, id)
    there.claims = {"sub": fresh("s")}
    enter(here.stranger(), there, 401, link="no-such-link")
    me = enter(here.stranger(), there, link=link)
    assert (me["user"], me["name"], me["admin"]) == (id, name, True)
    assert enter(here.stranger(), there)["user"] == id
    there.claims = {"sub": fresh("s")}  # who finds the link later
    assert "used before" in enter(here.stranger(), there, 401, link=link)["detail"]
    used = here.stranger().post(f"{PREFIX}/session/password", json={"link": link, "password": "a long password"})
    assert used.status_code == 401
    assert start(here.stranger(), 422, link="a;b")["type"] == "/problems/invalid"


def test_the_disabled_stay_out(site: Site, there: FakeProvider) -> None:
    here = opened(site, there)
    there.claims = {"sub": fresh("s")}
    browser = here.stranger()
    me = enter(browser, there)
    with site.store.write() as db:
        disable(db, me["user"], True)
    assert browser.get(f"{PREFIX}/me").status_code == 401
    assert "is disabled" in enter(here.stranger(), there, 401)["detail"]


def test_an_administrator_who_signs_in_there_needs_no_first_link(tmp_path: Path, there: FakeProvider) -> None:
    store = open_store(tmp_path)
    here = Site(store, tmp_path, there.settings())
    with store.write() as db:
        link = first_link(db, there.url)
    assert enter(here.stranger(), there, link=link)["admin"]
    with store.write() as db:
        assert first_link(db, there.url) is None
        assert first_link(db) is not None  # where the provider is given up, nobody is locked out
    store.close()


# --- what is not believed --------------------------------------------------------------------------------------------


def other_key(there: FakeProvider) -> None:
    there.key, keys = ec.generate_private_key(ec.SECP256R1()), {"keys": [there.public()]}
    there.answers["/keys"] = 200, json.dumps(keys).encode()


def public_key_as_secret(there: FakeProvider) -> None:
    """Sign with what everybody knows: PyJWT does not, so do it by hand."""
    known, payload = json.dumps({"keys": [there.public()]}).encode(), there.token("")
    there.answers["/keys"] = 200, known
    secret = there.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    body = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"k1"}').decode().rstrip("=") + "." + payload.split(".")[1]
    sum = base64.urlsafe_b64encode(hmac.digest(secret, body.encode(), "sha256")).decode().rstrip("=")
    there.token = lambda nonce: f"{body}.{sum}"  # type: ignore[method-assign]


def shared_secret(there: FakeProvider) -> None:
    key = {"kty": "oct", "k": base64.urlsafe_b64encode(SECRET.encode() * 2).decode().rstrip("="), "kid": "k1"}
    there.answers["/keys"] = 200, json.dumps({"keys": [key]}).encode()
    there.alg, there.key = "HS256", SECRET.encode() * 2


def unsigned(there: FakeProvider) -> None:
    there.answers["/keys"] = 200, json.dumps({"keys": [there.public()]}).encode()
    there.alg, there.key = "none", None


def short_key(there: FakeProvider) -> None:
    there.alg, there.key = "RS256", rsa.generate_private_key(65537, 1024)


def two_keys(there: FakeProvider) -> None:
    keys = [there.public(), there.public(kid="k2")]
    there.answers["/keys"], there.header = (200, json.dumps({"keys": keys}).encode()), {}


def for_encryption(there: FakeProvider) -> None:
    there.answers["/keys"] = 200, json.dumps({"keys": [there.public(use="enc")]}).encode()


def claims(**said: Any) -> Any:
    def change(there: FakeProvider) -> None:
        there.claims = said

    return change


def no_token(there: FakeProvider) -> None:
    there.token = lambda nonce: "no token"  # type: ignore[method-assign]


WRONG = {
    "nonce": (claims(nonce="another"), "it is of another sign-in"),
    "no nonce": (claims(nonce=None), "it is of another sign-in"),
    "audience": (claims(aud="another client"), "Audience"),
    "no audience": (claims(aud=None), '"aud"'),
    "several": (claims(aud=["linnet", "another"]), "for several"),
    "asked for by another": (claims(azp="another"), "somebody else has asked"),
    "issuer": (claims(iss="https://evil.example"), "Invalid issuer"),
    "expired": (claims(exp=time.time() - 3600), "expired"),
    "no end": (claims(exp=None), '"exp"'),
    "from the future": (claims(iat=time.time() + 3600), "not yet valid"),
    "nobody": (claims(sub=None), '"sub"'),
    "unsigned": (unsigned, "signed by 'none', which proves nothing"),
    "public key as secret": (public_key_as_secret, "signed by 'HS256', which proves nothing"),
    "a shared secret": (shared_secret, "signed by 'HS256', which proves nothing"),
    "signature": (other_key, "Signature verification failed"),
    "short key": (short_key, "key is 1024 bits"),
    "which key": (two_keys, "does not have the key"),
    "key for encryption": (for_encryption, "does not have the key"),
    "no token": (no_token, "Not enough segments"),
}


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize("name", WRONG)
def test_tokens_that_prove_nothing(nobody: Store, tmp_path: Path, there: FakeProvider, name: str) -> None:
    change, said = WRONG[name]
    browser = Site(nobody, tmp_path, there.settings(create=True)).stranger()
    url = start(browser)
    change(there)
    if name == "signature":
        there.key = ec.generate_private_key(ec.SECP256R1())
    answer = go(browser, there.sign_in(url))
    assert answer.status_code == 401
    assert said in answer.json()["detail"]
    assert "linnet" not in browser.cookies
    with nobody.read() as db:
        assert [db.scalar(sa.select(sa.func.count()).select_from(one)) for one in (user, identity, session)] == [0] * 3


@pytest.mark.parametrize("alg", ["RS256", "PS256", "ES384", "EdDSA"])
def test_keys_of_other_kinds(site: Site, there: FakeProvider, alg: str) -> None:
    """Keys need not say what they are for, nor tokens which key it was, if there is one only."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = {"E": lambda: ec.generate_private_key(ec.SECP384R1()), "D": Ed25519PrivateKey.generate}
    key = made.get("D" if alg == "EdDSA" else alg[0], lambda: rsa.generate_private_key(65537, 2048))
    there.alg, there.key, there.header = alg, key(), {}
    there.claims = {"sub": fresh("s"), "aud": ["linnet"], "azp": "linnet"}
    there.answers["/keys"] = 200, json.dumps({"keys": [there.public(), there.public(use="enc")]}).encode()
    enter(opened(site, there).stranger(), there)


def test_a_sign_in_ends_in_the_browser_where_it_began(site: Site, there: FakeProvider) -> None:
    here = opened(site, there)
    there.claims = {"sub": fresh("s")}
    mine, theirs = here.stranger(), here.stranger()
    place = there.sign_in(start(mine))
    other = there.sign_in(start(theirs))
    assert go(here.stranger(), place).json()["type"] == "/problems/sign-in"  # no cookie
    assert go(mine, other).status_code == 400  # somebody else's state
    assert go(mine, place.replace("state=", "state=x")).status_code == 400
    assert go(mine, place.partition("?")[0]).status_code == 400
    # a code that was stolen from another browser: the verifier is not there
    code = urllib.parse.parse_qs(other.partition("?")[2])["code"][0]
    mixed = place.replace(urllib.parse.parse_qs(place.partition("?")[2])["code"][0], code)
    assert "refuses the code" in go(mine, mixed).json()["detail"]
    assert go(mine, place.replace("iss=http", "iss=https")).json()["detail"].startswith("the code is not one of this")
    assert go(mine, place).status_code == 303


def test_a_code_is_good_for_one_time(site: Site, there: FakeProvider) -> None:
    here = opened(site, there)
    there.claims = {"sub": fresh("s")}
    browser = here.stranger()
    place = there.sign_in(start(browser))
    kept = browser.cookies["linnet-oidc"]
    assert go(browser, place).status_code == 303
    assert go(browser, place).status_code == 400  # the cookie is gone
    thief = here.stranger()
    answer = thief.get(place, headers={"Cookie": f"linnet-oidc={kept}"}, follow_redirects=False)
    assert answer.status_code == 401
    assert "linnet" not in thief.cookies


def test_providers_say_no(site: Site, there: FakeProvider, caplog: pytest.LogCaptureFixture) -> None:
    browser = opened(site, there).stranger()
    place = there.sign_in(start(browser))
    state = urllib.parse.parse_qs(place.partition("?")[2])["state"][0]
    callback = place.partition("?")[0]
    refused = go(browser, f"{callback}?error=access_denied&state={state}")
    assert (refused.status_code, refused.json()["detail"]) == (401, "access_denied")
    assert "access_denied" in caplog.text
    assert go(browser, f"{callback}?state={state}").json()["detail"] == "it sent no code"


def test_other_sites_cannot_begin_a_sign_in(site: Site, there: FakeProvider) -> None:
    here = opened(site, there)
    answer = here.stranger().post(f"{PREFIX}/oidc", json={}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    behind_tls = TestClient(here.app, base_url="https://linnet.example")
    said = behind_tls.post(f"{PREFIX}/oidc", json={}).headers["set-cookie"]
    assert said.startswith("__Host-linnet-oidc=")
    assert "Secure" in said


# --- providers that are away, or talk nonsense -----------------------------------------------------------------------


def test_a_provider_that_is_away(there: FakeProvider) -> None:
    at = 0.0
    asks = Provider(there.settings(), clock=lambda: at)
    there.answers[DISCOVERY] = 500, b""
    for _ in range(3):
        with pytest.raises(ProviderError, match="busy or broken"):
            asks.address("secret")
    assert len(there.asked) == 1  # who asks again and again does not make us do so
    del there.answers[DISCOVERY]
    at = 11.0
    assert asks.address("secret").startswith(f"{there.url}/authorize?")
    asks.address("secret")
    assert len(there.asked) == 2
    there.answers[DISCOVERY] = 500, b""
    at = 4000.0
    assert asks.address("secret")  # what it said last is good enough
    assert len(there.asked) == 3


NONSENSE: dict[str, tuple[str, tuple[int, bytes] | dict[str, Any], str]] = {
    "another issuer": (DISCOVERY, {"issuer": "https://evil.example"}, "is of 'https://evil.example', not of"),
    "read by anybody": (DISCOVERY, {"token_endpoint": "http://evil.example/t"}, "expected an address with https"),
    "no address": (DISCOVERY, {"jwks_uri": "javascript:alert(1)"}, "jwks_uri"),
    "no JSON": (DISCOVERY, (200, b"<html>"), "does not answer with JSON"),
    "endless": (DISCOVERY, (200, b" " * 1_100_000), "more than 1,048,576 bytes"),
    "keys": ("/keys", (200, b'{"keys": 5}'), "keys: keys"),
    "no keys": ("/keys", (404, b""), "there is no such file"),
    "no token": ("/token", (200, b'{"access_token": "x"}'), "id_token"),
    "wrong secret": ("/token", (401, b""), "401"),
    "sent on": ("/token", (307, b""), "307"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_providers_that_talk_nonsense(site: Site, there: FakeProvider, name: str) -> None:
    path, answer, said = NONSENSE[name]
    browser = opened(site, there).stranger()
    if isinstance(answer, dict):
        there.found = answer
    else:
        there.answers[path] = answer
    told = start(browser, 502) if path == DISCOVERY else go(browser, there.sign_in(start(browser))).json()
    assert (told["status"], said in told["detail"]) == (502, True), told
    assert "POST /elsewhere" not in there.asked


def test_a_client_is_known_by_its_secret_or_by_none(site: Site, there: FakeProvider) -> None:
    there.claims, there.found = {"sub": fresh("s")}, {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    enter(opened(site, there).stranger(), there)
    assert json.loads(there.auth) == {"client_id": "linnet", "client_secret": SECRET}
    there.client_secret = ""
    there.found = {"authorization_endpoint": f"{there.url}/authorize?tenant=1"}
    url = start(opened(site, there).stranger())
    assert url.startswith(f"{there.url}/authorize?tenant=1&response_type=code&")
    there.found = {"authorization_response_iss_parameter_supported": True}
    browser = opened(site, there).stranger()
    place = there.sign_in(start(browser))
    assert go(browser, place.partition("&iss=")[0]).status_code == 401
    assert go(browser, place).status_code == 303
    assert json.loads(there.auth) == {"client_id": "linnet"}


# --- settings --------------------------------------------------------------------------------------------------------

GOOD = 'issuer = "https://login.example.org/r"\nclient_id = "linnet"\nurl = "https://linnet.example.org/"\n'


def test_settings_come_from_a_file_and_the_secret_from_there_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "oidc.toml"
    path.write_text(GOOD + 'client_secret = "of the file"\n')
    found = read_settings(path)
    assert (found.client_secret, found.create, found.domains) == ("of the file", False, [])
    assert found.callback == "https://linnet.example.org/api/v1/oidc/callback"
    assert "of the file" not in repr(found)
    monkeypatch.setenv(module.SECRET, "of the environment")
    found = read_settings(path, create=True)
    assert (found.client_secret, found.create) == ("of the environment", True)


def test_wrong_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "oidc.toml"
    path.write_text('issuer = "http://login.example.org"\nurl = "ftp://x/?a"\nclient_ID = "x"\ncreate = "yes"\n')
    with pytest.raises(RecipeError) as told:
        read_settings(path)
    assert len(told.value.problems) == 5
    assert "issuer: Value error, expected an address with https" in str(told.value)
    assert "client_ID: unknown field; did you mean 'client_id'?" in str(told.value)
    path.write_text(GOOD.replace("/r", "/r?x"))
    with pytest.raises(RecipeError, match=r"without \? and #"):
        read_settings(path)
    path.write_text("issuer = ")
    with pytest.raises(FormatError, match="is no TOML"):
        read_settings(path)
    app = importlib.import_module("linnet.cli.main").app
    done = CliRunner().invoke(app, ["serve", "--data", str(tmp_path), "--oidc", str(path)])
    assert isinstance(done.exception, FormatError)
    done = CliRunner().invoke(app, ["serve", "--data", str(tmp_path), "--oidc-create"])
    assert isinstance(done.exception, LinnetError)
    monkeypatch.setitem(sys.modules, "jwt", None)
    monkeypatch.delitem(sys.modules, "linnet.annotate.id_token", raising=False)
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("oidc"))):
        read_settings(path)
