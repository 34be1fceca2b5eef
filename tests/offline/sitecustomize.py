"""Blocks every socket but loopback and Unix ones, here and (through PYTHONPATH) in every Python the tests start."""

import sys
from typing import Any

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")


def _allowed(address: Any) -> bool:
    if isinstance(address, (str, bytes)):  # the path of a Unix socket
        return True
    return not (isinstance(address, tuple) and address) or _is_loopback(address[0])


def _is_loopback(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    return name is None or name == "" or str(name).startswith(LOOPBACK)


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.bind") and not _allowed(args[1]):
        raise OSError(f"blocked in tests: {event} {args[1]}")
    if event in ("socket.getaddrinfo", "socket.gethostbyname") and not _is_loopback(args[0]):
        raise OSError(f"blocked in tests: {event} {args[0]}")


sys.addaudithook(_watch)
