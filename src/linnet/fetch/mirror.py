"""Where files are fetched from and kept: the publisher's address or a site's mirror, and the folder of downloads.

A site with a mirror of its own sets ``LINNET_MIRROR`` to the address of a folder that holds the files under their
usual names; ``FILE.sha256`` beside one is then used to check it. Files are kept in the folder ``downloads`` under
``LINNET_HOME``.
"""

from __future__ import annotations

import os
import re
import urllib.parse
from pathlib import Path

from linnet.errors import LinnetError
from linnet.fetch.file import SHA256
from linnet.fetch.web import Limits, WebError, ask, check_url, receive
from linnet.home import home

__all__ = ["MIRROR", "downloads_folder", "file_name", "mirror", "mirrored", "offered"]

MIRROR = "LINNET_MIRROR"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
CHECKSUM = 1 << 12  # bytes of a checksum file: one line


def downloads_folder() -> Path:
    """Return the folder of the files that were fetched; it need not exist yet."""
    return home() / "downloads"


def mirror() -> str:
    """Return the address of the site's mirror, ``""`` if it has none."""
    return os.environ.get(MIRROR, "").strip().rstrip("/")


def mirrored(url: str, *, name: str = "") -> str:
    """Return where the mirror keeps the file of an address, under `name` if that is given; `url` if there is no mirror.

    Raises:
        LinnetError: the mirror is no web address.
    """
    place = mirror()
    return check_url(f"{place}/{name or file_name(url)}") if place else url


def file_name(url: str) -> str:
    """Return the last part of an address if it can be the name of a file, else nothing.

    >>> file_name("https://purl.obolibrary.org/obo/hp.obo"), file_name("https://example.org/?id=7")
    ('hp.obo', '')
    """
    name = urllib.parse.urlsplit(url).path.rpartition("/")[2]
    return name if NAME.fullmatch(name) or "{" in name else ""


def offered(url: str, *, limits: Limits) -> str:
    """Return the sha256 that a mirror offers beside a file, or nothing.

    Raises:
        WebError: the mirror cannot be asked.
        LinnetError: what lies there is no sha256.
    """
    beside, data = f"{url}.sha256", b""
    try:
        with ask(beside, limits=limits) as response:
            while len(data) < CHECKSUM and (chunk := receive(response, beside, limits=limits)):
                data += chunk
    except WebError as error:
        if error.missing:
            return ""
        raise
    first = data[:CHECKSUM].partition(b" ")[0].strip().decode("ascii", "replace").lower()
    if not SHA256.fullmatch(first):
        raise LinnetError(f"{beside}: holds no sha256, but {first[:40]!r}")
    return first
