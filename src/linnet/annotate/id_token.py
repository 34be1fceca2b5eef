"""Who somebody is, as a provider of sign-ins has signed it: ID tokens of OpenID Connect, verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linnet.annotate.signing import UnknownCallerError, same_secret
from linnet.errors import MissingExtraError

try:
    import jwt
except ModuleNotFoundError as error:
    raise MissingExtraError("pyjwt", extra="oidc", wanted_by="signing in at a provider") from error

__all__ = ["ALGORITHMS", "verify"]

# signed by a key that the provider alone has; never "none", and never one that both sides know
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
LEEWAY = 60.0  # seconds that clocks may differ


def verify(token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, audience: str, nonce: str) -> dict[str, Any]:
    """Return what a token says, if `issuer` has signed it with one of `keys`, for `audience` and this one sign-in.

    Args:
        token: as the provider gave it.
        keys: of the provider, as JSON Web Keys.
        issuer: whose token it is.
        audience: whom it is for.
        nonce: what was sent along when the sign-in began.

    Raises:
        UnknownCallerError: anything about it is wrong.
    """
    try:
        key = _key(jwt.get_unverified_header(token), keys)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=audience,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": REQUIRED, "enforce_minimum_key_length": True},
        )
    except jwt.PyJWTError as error:
        raise _refused(str(error)) from error
    if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and "azp" not in claims:
        raise _refused("it is for several, and does not say who asked for it")
    if claims.get("azp", audience) != audience:
        raise _refused("somebody else has asked for it")
    if not same_secret(str(claims.get("nonce", "")), nonce):
        raise _refused("it is of another sign-in")
    return claims


def _key(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]) -> jwt.PyJWK:
    """Return the key that a token says it is signed with."""
    if header.get("alg") not in ALGORITHMS:
        raise _refused(f"it is signed by {header.get('alg')!r}, which proves nothing")
    signing = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") != "oct"]
    found = signing if "kid" not in header else [key for key in signing if key.get("kid") == header["kid"]]
    if len(found) != 1:
        raise _refused("the provider does not have the key that it is signed with")
    return jwt.PyJWK(dict(found[0]), found[0].get("alg", header["alg"]))


def _refused(why: str) -> UnknownCallerError:
    return UnknownCallerError(f"the provider's word cannot be relied on: {why}; sign in again")
