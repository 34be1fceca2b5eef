"""``linnet serve --demo``: a workbench to try, which asks for no password, on this machine alone."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path

from linnet.errors import LinnetError
from linnet.home import home
from linnet.serve.loopback import is_loopback

__all__ = ["check_sockets", "demo_folder"]

FOLDER = "demo-workbench"  # under LINNET_HOME


def demo_folder(data: Path | None) -> Path:
    """Return the folder of a demo, the one that was named or that under LINNET_HOME."""
    return home() / FOLDER if data is None else data


def check_sockets(host: str, sockets: Iterable[socket.socket]) -> None:
    """Refuse addresses that other machines reach.

    Raises:
        LinnetError: there is one.
    """
    if not all(is_loopback(str(one.getsockname()[0])) for one in sockets):
        raise LinnetError(f"--demo asks for no password, so it listens at this machine alone: leave out --host {host}")
