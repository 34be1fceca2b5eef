"""One request to a web server: http and https alone, guarded, with every fault put into a sentence.

Proxies come from the environment (``https_proxy``, ``no_proxy``), certificates from the system (``SSL_CERT_FILE`` adds
another authority). Redirects are followed a limited number of times, never to another scheme, never from https back to
http, because what is fetched has no signature, and never from the web to this machine or its own link, where servers
answer that nobody else may ask.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import re
import socket
import ssl
import string
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, cast

from linnet import __version__
from linnet.errors import LinnetError

__all__ = ["LIMITS", "Limits", "PassingError", "WebError", "ask", "check_url", "post", "receive"]

USER_AGENT = f"linnet/{__version__}"
USUAL = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
ANSWERS = (200, 206, 304, 416)  # what the caller's conditions and ranges can lead to
MISSING = (404, 410)
HERE = ("localhost", "127.0.0.1", "::1")
PASSING = (408, 429, 500, 502, 503, 504)
CHUNK = 1 << 18
HEAD_SECONDS, HEAD_BYTES = 60.0, 1 << 18  # of the lines before the content, or before the next part of it
SECRET = re.compile(r":.*@", re.DOTALL)  # a user's name and password in an address, however badly it is written


@dataclass(frozen=True)
class Limits:
    """How long and how often a server is asked, and how much is taken from it."""

    timeout: float = 30.0  # seconds without a single byte
    crawl: float = 120.0  # seconds in which at least `least` bytes must come
    least: int = 1 << 14
    tries: int = 4  # requests for one file, each going on where the last one stopped
    pause: float = 1.0  # seconds before the second try, doubled before each further one
    patience: float = 60.0  # seconds that a server may ask to wait, with Retry-After
    size: int = 4 << 30  # bytes of one file, as served
    queue: float = 1800.0  # seconds to wait for another process that fetches the same file


LIMITS = Limits()


class WebError(LinnetError):
    """A file that could not be fetched; `missing` where the server says there is no such file.

    `refused` where it says that the request itself is wrong (status 400).
    """

    def __init__(self, message: str, *, missing: bool = False, refused: bool = False) -> None:
        self.missing, self.refused = missing, refused
        super().__init__(message)


class PassingError(WebError):
    """A fault that another try may mend, after `wait` seconds if the server named them."""

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        self.wait = wait
        super().__init__(message)


def check_url(url: str) -> str:
    """Return `url` if it is the address of a file on a web server.

    Raises:
        LinnetError: another scheme, no host, a password, blanks or control characters.

    >>> check_url("https://example.org/hp.obo")
    'https://example.org/hp.obo'
    """
    try:
        parts = urllib.parse.urlsplit(url)
        port_ok = parts.port != 0
        (parts.hostname or "").encode("idna")  # as the socket will
    except UnicodeError as error:
        problem = "its host has an empty part, or one of more than 63 letters"
        raise LinnetError(f"{_masked(url)!r} is no web address: {problem}") from error
    except ValueError as error:
        said = error if "@" not in url else "its host or port is none"  # the error might quote the password
        raise LinnetError(f"{_masked(url)!r} is no web address: {said}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        raise LinnetError(f"{_masked(url)!r} is no web address: expected https://HOST/FILE (or http://)")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise LinnetError(f"{_masked(url)!r} is no web address: write blanks and letters outside ASCII as %XX")
    if parts.username is not None or parts.password is not None:
        message = f"the address at {parts.hostname} holds a user name or password, which would be kept in plain text"
        raise LinnetError(f"{message}: fetch the file by hand and build from it")
    return url


def _masked(url: str) -> str:
    """Return `url` as messages may show it: they go to logs."""
    return SECRET.sub("://***@", url)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to the web alone; every other status is left to the caller."""

    max_redirections = 8

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage
    ) -> http.client.HTTPResponse | None:
        place = headers.get("Location") or headers.get("URI") or ""
        fp.close()  # unread: nobody looks at the body, which may have no end
        quoted = urllib.parse.quote(place, safe=string.punctuation, encoding="latin-1")  # as headers are read
        try:
            target = check_url(quoted and urllib.parse.urljoin(req.full_url, quoted))
        except (LinnetError, ValueError) as error:
            raise WebError(f"{req.full_url}: redirects to {_masked(place)[:200]!r}, which is not followed") from error
        if _scheme(req.full_url) == "https" != _scheme(target):
            raise WebError(
                f"{req.full_url}: redirects from https to {target[:200]}, which anybody on the way could change"
            )
        if _is_near(target) and not _is_near(req.full_url):
            raise WebError(f"{req.full_url}: redirects to {target[:200]} on this machine or its own link: not followed")
        answer = super().http_error_302(req, fp, code, msg, headers)
        return cast("http.client.HTTPResponse | None", answer)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: what is sent is for one server."""

    def redirect_request(self, *_: Any) -> None:
        """Leave it to the caller."""


def _scheme(url: str) -> str:
    """Return the scheme of an address in lower case, however it is written."""
    return urllib.parse.urlsplit(url).scheme


def _is_near(url: str) -> bool:
    """Return whether the host of an address is this machine, or on its own link."""
    try:
        found = socket.getaddrinfo(urllib.parse.urlsplit(url).hostname, None, type=socket.SOCK_STREAM)
    except OSError:  # connecting will say so, and a proxy may know it
        return False
    hosts = [ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found]
    hosts = [getattr(host, "ipv4_mapped", None) or host for host in hosts]
    return any(host.is_loopback or host.is_link_local or host.is_unspecified for host in hosts)


class _Lines(io.BufferedReader):
    """What a server sends; its lines (status, headers, sizes of chunks) must come within a time and a size."""

    waited, taken = 0.0, 0

    def readline(self, size: int | None = -1, /) -> bytes:
        line, limit = b"", HEAD_BYTES if size is None or size < 0 else size
        while not line.endswith(b"\n") and len(line) < limit:
            began = time.monotonic()
            there = self.peek()  # waits no longer than for the next bytes, whatever they are
            self.waited += time.monotonic() - began
            part = self.read(min(there.find(b"\n") + 1 or len(there), limit - len(line)))
            if not part:
                break
            line += part
            self.taken += len(part)
            if self.waited > HEAD_SECONDS or self.taken > HEAD_BYTES:
                said = f"{self.taken:,} bytes in {self.waited:,.0f} seconds"
                raise http.client.HTTPException(f"its headers do not end: {said}")
        return line

    def read1(self, size: int = -1, /) -> bytes:
        self.waited, self.taken = 0.0, 0
        return super().read1(size)


class _Answer(http.client.HTTPResponse):
    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fp = _Lines(self.fp.detach())


class _Limited(urllib.request.AbstractHTTPHandler):
    """Opens connections whose answers are `_Answer`."""

    def do_open(self, http_class: Any, req: urllib.request.Request, **options: Any) -> http.client.HTTPResponse:
        def connected(host: str, **more: Any) -> http.client.HTTPConnection:
            connection: http.client.HTTPConnection = http_class(host, **more)
            connection.response_class = _Answer
            return connection

        return super().do_open(connected, req, **options)


class _Http(_Limited, urllib.request.HTTPHandler):
    pass


class _Https(_Limited, urllib.request.HTTPSHandler):
    pass


class _Statuses(urllib.request.HTTPDefaultErrorHandler):
    """Leaves to the caller every status that is no redirect."""

    def http_error_default(self, _request: Any, answer: Any, *_: Any) -> Any:
        return answer


def ask(url: str, headers: Mapping[str, str] | None = None, *, limits: Limits = LIMITS) -> http.client.HTTPResponse:
    """Send a GET request and return the open answer, whose status is one of 200, 206, 304, 416.

    Args:
        url: see `check_url`.
        headers: conditions and ranges.
        limits: of these, the timeout is used.

    Raises:
        PassingError: the server is busy or broken, or the connection timed out or was cut.
        WebError: everything else that keeps the answer from coming.
    """
    request = urllib.request.Request(check_url(url), headers={**USUAL, **(headers or {})})  # noqa: S310 - checked
    # the opener also knows files and FTP, which neither `check_url` nor `_Redirects` lets through
    return _answer(request, _Redirects, ANSWERS, limits)


def post(
    url: str,
    fields: Mapping[str, str] | bytes,
    headers: Mapping[str, str] | None = None,
    *,
    limits: Limits = LIMITS,
    direct: bool = False,
) -> http.client.HTTPResponse:
    """Send the fields of a form and return the open answer, whose status is 200; it is not sent on to elsewhere.

    Args:
        url: see `check_url`.
        fields: names and values, or a body that is sent as it is.
        headers: beside the usual ones.
        limits: of these, the timeout is used.
        direct: never over a proxy.

    Raises:
        PassingError: the server is busy or broken, or the connection timed out or was cut.
        WebError: everything else that keeps the answer from coming.
    """
    body = fields if isinstance(fields, bytes) else urllib.parse.urlencode(fields).encode()
    request = urllib.request.Request(check_url(url), body, {**USUAL, **(headers or {})})  # noqa: S310 - checked
    return _answer(request, _Stays, (200,), limits, *([urllib.request.ProxyHandler({})] if direct else ()))


def _answer(
    request: urllib.request.Request,
    redirects: type[urllib.request.HTTPRedirectHandler],
    answers: tuple[int, ...],
    limits: Limits,
    *more: urllib.request.BaseHandler,
) -> http.client.HTTPResponse:
    """Send a request and return the open answer, if its status is one of `answers`."""
    url = request.full_url
    try:
        opener = urllib.request.build_opener(_Http, _Https, redirects, _Statuses, *more)
        response: http.client.HTTPResponse = opener.open(request, timeout=limits.timeout)
    except urllib.error.HTTPError as error:  # raised for redirects that lead nowhere, and for nothing else
        error.close()
        raise WebError(f"{url}: redirects in a circle or too often (last status {error.code})") from error
    except OSError as error:
        raise _explained(url, error, limits) from error
    except (http.client.InvalidURL, ValueError) as error:  # `url` is checked; not quoted, for it may hold a password
        problem = "the address of the proxy (http_proxy, https_proxy) is none: expected http://HOST:PORT"
        raise WebError(f"{url}: {problem}") from error
    except http.client.HTTPException as error:
        raise _explained(url, error, limits) from error
    if response.status in answers:
        return response
    with response:
        raise _refused(url, response, limits)


def receive(response: http.client.HTTPResponse, url: str, *, limits: Limits = LIMITS) -> bytes:
    """Return the next bytes of an answer, as soon as there are some; none at its end.

    Raises:
        PassingError: the connection timed out or was cut.
    """
    try:
        return response.read1(CHUNK)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _explained(url, error, limits) from error


def _refused(url: str, response: http.client.HTTPResponse, limits: Limits) -> WebError:
    status, said = response.status, _plain(f"{response.status} {response.reason}")
    if status in MISSING:
        return WebError(f"{url}: there is no such file ({said})", missing=True)
    if status in (401, 403):
        return WebError(f"{url}: the server does not give it to a program ({said})")
    if status not in PASSING:
        return WebError(f"{url}: the server answered {said}", refused=status == 400)
    asked = response.headers.get("Retry-After", "").strip()  # a date is passed over
    wait = float(asked[:12]) if asked.isascii() and asked.isdigit() else None
    if wait is not None and wait > limits.patience:
        return WebError(f"{url}: the server is busy ({said}) and asks to wait {wait:,.0f} seconds: try again then")
    return PassingError(f"{url}: the server is busy or broken ({said})", wait=wait)


def _plain(words: object) -> str:
    """Return what a server or the system said in one line of decent length."""
    return " ".join(str(words).split())[:200]


def _explained(url: str, error: Exception, limits: Limits) -> WebError:
    """Return what `error`, met while talking to a server, means to people."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    host, passing, proxy = urllib.parse.urlsplit(url).hostname, False, "is a proxy needed (https_proxy)?"
    if isinstance(cause, ssl.SSLCertVerificationError):
        cure = "where a proxy opens TLS, set SSL_CERT_FILE to its authority's certificate"
        said = f"the certificate is not trusted ({cause.verify_message}); {cure}"
    elif isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
        said = f"no secure connection ({_plain(cause.reason or cause)}): does the server speak https?"
    elif isinstance(cause, socket.gaierror):
        said = f"the host {host} is not found ({cause.strerror}); is there a network, and {proxy}"
    elif isinstance(cause, ConnectionRefusedError):
        said = f"{host} refuses the connection; {'is the server running?' if host in HERE else proxy}"
    elif isinstance(cause, TimeoutError):
        said, passing = f"no answer for {limits.timeout:g} seconds", True
    elif isinstance(cause, (ConnectionError, ssl.SSLEOFError, http.client.HTTPException, ValueError)):
        said, passing = f"the connection was cut ({_plain(cause) or type(cause).__name__})", True
    else:
        said = (
            f"cannot be reached ({_plain(getattr(cause, 'strerror', None) or cause)}); is there a network, and {proxy}"
        )
    return PassingError(f"{url}: {said}") if passing else WebError(f"{url}: {said}")
