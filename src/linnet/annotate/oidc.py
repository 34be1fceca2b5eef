"""Signing in at a provider that people have anyway: OpenID Connect, authorization code flow with PKCE.

Settings are a TOML file for ``linnet serve --oidc``::

    issuer = "https://login.example.org/realms/clinic"
    client_id = "linnet"
    client_secret = "..."                # or LINNET_OIDC_SECRET; without, the client is a public one
    url = "https://linnet.example.org"   # of the workbench, as browsers know it
    name = "Clinic account"
    create = true                        # let in who was not invited, as --oidc-create does
    domains = ["example.org"]            # but only with a verified e-mail address of these

The provider has to send people back to ``url`` + ``/api/v1/oidc/callback``. A sign-in needs no memory of the server:
state, nonce and the verifier of the code are made from one secret, which is in a cookie of the browser that began.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib
import os
import threading
import time
import tomllib
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from linnet.annotate.signing import UnknownCallerError
from linnet.errors import FormatError, LinnetError, RecipeError, wrong_field
from linnet.fetch.web import Limits, WebError, ask, check_url, post, receive
from linnet.strict_json import parse
from linnet.text.files import read_text

__all__ = ["CALLBACK", "SECRET", "Claims", "OidcSettings", "Provider", "ProviderError", "derive", "read_settings"]

CALLBACK = "/api/v1/oidc/callback"
SECRET = "LINNET_OIDC_SECRET"  # noqa: S105 - the environment variable that holds one
HERE = ("localhost", "127.0.0.1", "::1")
LIMITS = Limits(timeout=10.0)
LARGEST = 1 << 20  # bytes of an answer
KEPT, AGAIN = 3600.0, 10.0  # seconds that a provider's addresses hold, and until it is asked again after a failure

Model = TypeVar("Model", bound=BaseModel)


class ProviderError(LinnetError):
    """The provider cannot be asked, or what it answers makes no sense."""


def _safe(url: str) -> str:
    """Return an address if nobody on the way to it can read along."""
    try:
        parts = urllib.parse.urlsplit(check_url(url))
    except LinnetError as error:
        raise ValueError(str(error)) from error
    if parts.scheme != "https" and parts.hostname not in HERE:
        raise ValueError("expected an address with https")
    return url


def _base(url: str) -> str:
    if {"?", "#"} & set(_safe(url)):
        raise ValueError("expected an address without ? and #")
    return url


Url = Annotated[str, AfterValidator(_safe)]
Base = Annotated[str, AfterValidator(_base)]


class OidcSettings(BaseModel):
    """What there is to know of a provider.

    Args:
        issuer: its address, as its tokens name it.
        client_id: what it calls the workbench.
        client_secret: what it knows the workbench by, "" for a public client.
        url: the address of the workbench.
        name: what people know the provider by.
        scopes: what is asked for.
        create: whether those are let in who were not invited; they have no rights in any project.
        domains: of these e-mail domains alone, if there are any.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    issuer: Base
    client_id: str = Field(min_length=1)
    client_secret: str = Field("", repr=False)
    url: Base
    name: str = Field("Single sign-on", min_length=1, max_length=100)
    scopes: list[str] = ["openid", "profile", "email"]
    create: bool = False
    domains: list[str] = []

    @property
    def callback(self) -> str:
        """Where the provider sends people back to."""
        return self.url.rstrip("/") + CALLBACK


def read_settings(path: str | Path, *, create: bool = False) -> OidcSettings:
    """Return the settings in a file; the secret may be in the environment instead, and `create` be said beside it.

    Raises:
        FormatError: no TOML.
        RecipeError: wrong fields, all at once.
        MissingExtraError: without the extra ``oidc``.
    """
    importlib.import_module("linnet.annotate.id_token")  # the extra is missed now, and not at the first sign-in
    try:
        values = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(path, f"is no TOML: {error}") from error
    values |= {"client_secret": os.environ[SECRET]} if SECRET in os.environ else {}
    try:
        return OidcSettings.model_validate(values | ({"create": True} if create else {}))
    except ValidationError as error:
        known = OidcSettings.model_fields
        said = [wrong_field(one, known, ".".join(map(str, one["loc"]))) for one in error.errors()]
        raise RecipeError(path, said) from error


def derive(secret: str, what: str) -> str:
    """Return one of the secrets of a sign-in (``state``, ``nonce``, ``verifier``), which do not tell each other.

    >>> len(derive("the secret in the cookie", "state"))
    43
    """
    return _url64(hmac.digest(secret.encode(), what.encode(), "sha256"))


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class _Found(BaseModel):
    """What a provider says of itself."""

    issuer: str
    authorization_endpoint: Url
    token_endpoint: Url
    jwks_uri: Url
    token_endpoint_auth_methods_supported: list[str] = ["client_secret_basic"]
    authorization_response_iss_parameter_supported: bool = False


class _Keys(BaseModel):
    keys: list[dict[str, Any]]


class _Tokens(BaseModel):
    id_token: str = Field(max_length=100_000)


class _Said(BaseModel):
    """What a verified token says of somebody."""

    sub: str = Field(min_length=1, max_length=255)
    preferred_username: str = ""
    name: str = ""
    email: str = ""
    email_verified: bool = False


class Claims(NamedTuple):
    """Who somebody is at a provider: ``subject`` for ever; the name and the verified e-mail address ("": none) now."""

    issuer: str
    subject: str
    name: str
    email: str


class Provider:
    """A provider of sign-ins; threads share it."""

    def __init__(
        self, settings: OidcSettings, *, limits: Limits = LIMITS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self._limits, self._clock = limits, clock
        self._asking = threading.Lock()
        self._known: _Found | None = None
        self._fault, self._until = "", -1.0

    def address(self, secret: str) -> str:
        """Return where somebody signs in whose browser has the secret.

        Raises:
            ProviderError: the provider cannot be asked.
        """
        challenge = hashlib.sha256(derive(secret, "verifier").encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.settings.callback,
            "scope": " ".join(self.settings.scopes),
            "state": derive(secret, "state"),
            "nonce": derive(secret, "nonce"),
            "code_challenge": _url64(challenge),
            "code_challenge_method": "S256",
        }
        place = self._found().authorization_endpoint
        return f"{place}{'&' if '?' in place else '?'}{urllib.parse.urlencode(query)}"

    def claims(self, code: str, secret: str, issuer: str = "") -> Claims:
        """Return who has signed in, for the code that the provider gave the browser.

        Args:
            code: good for one time.
            secret: what the browser has kept.
            issuer: who gave the code, as the browser says; "" if it does not.

        Raises:
            UnknownCallerError: the code is not good, or what it led to is not.
            ProviderError: the provider cannot be asked, or answers nonsense.
        """
        from linnet.annotate.id_token import verify  # noqa: PLC0415 - needs the extra `oidc`

        found, settings = self._found(), self.settings
        if issuer != settings.issuer and (issuer or found.authorization_response_iss_parameter_supported):
            raise UnknownCallerError("the code is not one of this provider: sign in again")
        tokens = self._tokens(found, code, derive(secret, "verifier"))
        keys = self._get(found.jwks_uri, _Keys).keys  # each time: keys change, and sign-ins are rare
        nonce = derive(secret, "nonce")
        told = verify(tokens.id_token, keys, issuer=settings.issuer, audience=settings.client_id, nonce=nonce)
        said = _model(_Said, told, settings.issuer)
        email = said.email if said.email_verified else ""
        name = said.preferred_username or said.name or email or said.sub
        return Claims(settings.issuer, said.sub, name, email)

    def _tokens(self, found: _Found, code: str, verifier: str) -> _Tokens:
        fields = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        fields["redirect_uri"] = self.settings.callback
        id, secret = self.settings.client_id, self.settings.client_secret
        headers = {"Accept": "application/json"}
        if secret and "client_secret_basic" in found.token_endpoint_auth_methods_supported:
            both = ":".join(urllib.parse.quote_plus(one) for one in (id, secret))
            headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        else:
            fields |= {"client_id": id} | ({"client_secret": secret} if secret else {})
        try:
            with post(found.token_endpoint, fields, headers, limits=self._limits) as response:
                return _model(_Tokens, _read(response, found.token_endpoint, self._limits), found.token_endpoint)
        except WebError as error:
            if error.refused:  # as it answers to a code that was used before
                raise UnknownCallerError(f"the provider refuses the code: sign in again ({error})") from error
            raise ProviderError(str(error)) from error

    def _found(self) -> _Found:
        """Return the provider's addresses; if it cannot be asked, those it had."""
        with self._asking:
            if self._clock() >= self._until:
                self._until = self._clock() + AGAIN
                try:
                    self._known = self._discover()
                    self._until = self._clock() + KEPT
                except ProviderError as error:
                    self._fault = str(error)
            if self._known is None:
                raise ProviderError(self._fault)
            return self._known

    def _discover(self) -> _Found:
        place = self.settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
        found = self._get(place, _Found)
        if found.issuer != self.settings.issuer:
            raise ProviderError(f"{place}: is of {found.issuer!r}, not of {self.settings.issuer!r}")
        return found

    def _get(self, url: str, model: type[Model]) -> Model:
        try:
            with ask(url, {"Accept": "application/json"}, limits=self._limits) as response:
                return _model(model, _read(response, url, self._limits), url)
        except WebError as error:
            raise ProviderError(str(error)) from error


def _read(response: Any, url: str, limits: Limits) -> Any:
    data = b""
    while chunk := receive(response, url, limits=limits):
        data += chunk
        if len(data) > LARGEST:
            raise ProviderError(f"{url}: answers with more than {LARGEST:,} bytes")
    try:
        return parse(data.decode("utf-8"))
    except ValueError as error:
        raise ProviderError(f"{url}: does not answer with JSON ({error})") from error


def _model(model: type[Model], value: Any, where: str) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fault = error.errors()[0]
        raise ProviderError(f"{where}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error
