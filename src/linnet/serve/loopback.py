"""Whether a server is asked from its own machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

__all__ = ["host_in", "is_loopback"]


def host_in(header: str) -> str:
    """Return the name in the address that somebody has opened, without the port, as the header ``Host`` has it.

    >>> host_in("localhost:8422"), host_in("[::1]:8422"), host_in("[")
    ('localhost', '::1', '')
    """
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself, seen from itself.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "localhost.example.org", "")]
    [True, True, True, False, False, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
