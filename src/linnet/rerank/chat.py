"""A chat-completions endpoint, as OpenAI's and many local servers speak it: who it is, one request, what was answered.

Address and key come from the environment alone (``LINNET_ENDPOINT``, ``LINNET_ENDPOINT_KEY``), never from a recipe or a
trained folder: a folder of somebody else's cannot send text or a key anywhere.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from linnet.errors import LinnetError
from linnet.fetch.web import LIMITS, check_url, post, receive
from linnet.home import home
from linnet.strict_json import parse
from linnet.text.files import replacing

__all__ = ["ADDRESS", "KEY", "Kept", "Reply", "Server", "server_of"]

ADDRESS = "LINNET_ENDPOINT"  # environment variables
KEY = "LINNET_ENDPOINT_KEY"
LONGEST = 1 << 20  # bytes of an answer


class Reply(NamedTuple):
    """What a server said, and how many tokens it counted for question and answer (0 = it did not say)."""

    text: str
    tokens: int


@dataclass(frozen=True)
class Server:
    """A server of chat completions: its base URL, ``http://localhost:11434/v1`` say, and the key that it wants, if any.

    >>> urls = ("http://127.0.0.1:8000/v1", "http://[::1]/v1", "https://127.0.0.1.example/v1")
    >>> [Server(url).local for url in urls]
    [True, True, False]
    """

    url: str
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """The name or number of the machine."""
        return urlsplit(self.url).hostname or ""

    @property
    def local(self) -> bool:
        """Whether it is this machine: nothing that is sent there leaves it."""
        with suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"

    def ask(self, request: bytes, *, timeout: float) -> Reply:
        """Send a request (JSON) and return the answer; no other address gets it, whatever the server says.

        Args:
            request: the body, as it is sent.
            timeout: seconds without a single byte, and until the whole answer is there.

        Raises:
            LinnetError: no answer, another status than 200, or an answer that is no chat completion.
        """
        url, limits = f"{self.url}/chat/completions", replace(LIMITS, timeout=timeout)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        body, until = b"", time.monotonic() + timeout
        with post(url, request, headers, limits=limits, direct=self.local) as answer:
            while len(body) <= LONGEST and (data := receive(answer, url, limits=limits)):
                body += data
                if time.monotonic() > until:
                    raise LinnetError(f"{url}: the answer is not complete after {timeout:g} seconds")
        if len(body) > LONGEST:
            raise LinnetError(f"{url}: the answer has more than {LONGEST:,} bytes")
        try:
            value = parse(body.decode("utf-8"))
            text, usage = value["choices"][0]["message"]["content"] or "", value.get("usage") or {}
            # half a surrogate pair, which JSON can name, could be written into no file
            text = text.encode("utf-8", "backslashreplace").decode("utf-8")
            return Reply(text, max(0, int(usage.get("total_tokens") or 0)))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
            raise LinnetError(f"{url}: the answer is no chat completion") from error


def server_of() -> Server | None:
    """Return the server that the environment names, None if it names none.

    Raises:
        LinnetError: the address is no HTTP address, or the key cannot be sent.
    """
    url, key = os.environ.get(ADDRESS, "").strip().rstrip("/"), os.environ.get(KEY, "").strip()
    if not url:
        return None
    try:
        check_url(url)
    except LinnetError as error:
        raise LinnetError(f"{ADDRESS}: {error}; it is such as http://localhost:11434/v1") from error
    if set("?#") & set(url):
        raise LinnetError(f"{ADDRESS}: {url!r} has a ? or #; expected a base address such as http://localhost:11434/v1")
    if not key.isascii() or not key.isprintable():
        raise LinnetError(f"{KEY}: the key holds characters that cannot be sent; set it again")
    return Server(url, key)


class Kept:
    """Answers on disk by the exact request, under ``LINNET_HOME``: what was asked once is not asked again.

    A file holds the answer; of address, request and so of the text it has a hash alone.
    """

    def __init__(self, server: Server) -> None:
        self.server, self.folder = server, home() / "endpoint"

    def path(self, request: bytes) -> Path:
        """Return the file of the answer to a request."""
        told = hashlib.sha256(self.server.url.encode() + b"\n" + request).hexdigest()
        return self.folder / f"{told}.json"

    def find(self, request: bytes) -> Reply | None:
        """Return the answer that was kept, None if there is none that can be read."""
        try:
            value = json.loads(self.path(request).read_text(encoding="utf-8"))
            return Reply(str(value["text"]), int(value["tokens"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, request: bytes, reply: Reply) -> None:
        """Keep an answer; where the folder cannot be written to, it is asked for again next time."""
        with suppress(OSError, LinnetError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self.path(request)) as file:
                json.dump(reply._asdict(), file)
