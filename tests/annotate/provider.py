"""A provider of sign-ins on this machine, as good or as bad as a test wants it."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from linnet.annotate.oidc import CALLBACK, OidcSettings

DISCOVERY = "/.well-known/openid-configuration"
SECRET = "a secret of both: %+"


@dataclass(eq=False)
class FakeProvider:
    """Signs anybody in, and says of them what ``claims`` say."""

    url: str = ""
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    header: dict[str, Any] = field(default_factory=lambda: {"kid": "k1"})
    alg: str = "ES256"
    client_secret: str = SECRET
    claims: dict[str, Any] = field(default_factory=dict)  # instead of those of a good token; None: without
    found: dict[str, Any] = field(default_factory=dict)  # the same for what it says of itself
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)  # paths that it answers otherwise
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    auth: str = ""

    def settings(self, **more: Any) -> OidcSettings:
        given = {"issuer": self.url, "client_id": "linnet", "client_secret": self.client_secret}
        return OidcSettings.model_validate({**given, "url": "http://localhost", **more})

    def sign_in(self, url: str) -> str:
        """Do what a browser and somebody with a password do here; return the path and query of where it goes then."""
        place, _, query = url.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, strict_parsing=True))
        assert place == f"{self.url}/authorize"
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == (
            "code",
            "linnet",
            "S256",
        )
        assert asked["redirect_uri"] == f"http://localhost{CALLBACK}"
        assert asked["scope"].split()[0] == "openid"
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return f"{CALLBACK}?{urllib.parse.urlencode({'code': code, 'state': asked['state'], 'iss': self.url})}"

    def public(self, **more: Any) -> dict[str, Any]:
        """Return its key for others."""
        algorithm = jwt.algorithms.get_default_algorithms()[self.alg]
        made: dict[str, Any] = algorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {**made, "kid": "k1", **more}

    def token(self, nonce: str) -> str:
        now = time.time()
        usual = {"iss": self.url, "sub": "s-1", "aud": "linnet", "exp": now + 300, "iat": now, "nonce": nonce}
        said = {name: value for name, value in {**usual, **self.claims}.items() if value is not None}
        return jwt.encode(said, self.key, self.alg, headers=self.header)

    def answer(self, method: str, path: str, body: str, auth: str) -> tuple[int, bytes]:
        self.asked.append(f"{method} {path}")
        if path in self.answers:
            return self.answers[path]
        if path == DISCOVERY:
            places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
            usual = {"issuer": self.url} | {name: f"{self.url}/{place}" for name, place in places.items()}
            return 200, json.dumps({**usual, **self.found}).encode()
        if path == "/keys":
            return 200, json.dumps({"keys": [self.public()]}).encode()
        if (method, path) == ("POST", "/token"):
            return self._token(dict(urllib.parse.parse_qsl(body, strict_parsing=True)), auth)
        return 404, b""

    def _token(self, sent: dict[str, str], auth: str) -> tuple[int, bytes]:
        begun = self.codes.pop(sent["code"], None)  # each is good for one time
        challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=")
        if begun is None or begun["code_challenge"] != challenge.decode():
            return 400, b'{"error": "invalid_grant"}'
        assert (sent["grant_type"], sent["redirect_uri"]) == ("authorization_code", begun["redirect_uri"])
        self.auth = auth or json.dumps({name: value for name, value in sent.items() if name.startswith("client")})
        return 200, json.dumps({"id_token": self.token(begun["nonce"]), "token_type": "Bearer"}).encode()


@contextmanager
def provider() -> Iterator[FakeProvider]:
    """Run a provider at a free port of this machine."""
    made = FakeProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_any("GET", "")

        def do_POST(self) -> None:
            self.do_any("POST", self.rfile.read(int(self.headers["Content-Length"])).decode())

        def do_any(self, method: str, body: str) -> None:
            status, content = made.answer(method, self.path, body, self.headers.get("Authorization", ""))
            self.send_response(status)
            if status == 307:
                self.send_header("Location", f"{made.url}/elsewhere")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        running = threading.Thread(target=server.serve_forever, args=(0.01,))
        running.start()
        yield made
        server.shutdown()
        running.join()
