"""Archives of PubMed Central's open-access articles (``oa_comm_xml.PMC000xxxxxx.baseline.….tar.gz``), one by one.

Nothing is unpacked to disk. What `linnet.fetch.archive` refuses is refused here: names that lead elsewhere, links,
bombs. Files other than ``.xml`` and ``.nxml`` are passed over.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from linnet.corpora import jats
from linnet.corpora.faults import STOP, Faults
from linnet.corpora.sources import stem
from linnet.data import Document
from linnet.errors import FormatError
from linnet.fetch.archive import Room, members
from linnet.text.files import STDIO
from linnet.text.remote import is_url

__all__ = ["read"]

ARTICLES = ("*.xml", "*.nxml")
LONGEST = 256 << 20  # bytes of an article
ROOM = Room(bytes=1 << 40, files=10_000_000)  # nothing stays: what comes out is read and forgotten


def read(path: str | Path, *, faults: Faults = STOP) -> Iterator[Document]:
    """Yield the articles of an archive, in its order, as `linnet.corpora.jats` reads each.

    An article that cannot be read is left out where `faults` says so; messages name archive and article.

    Raises:
        FormatError: no archive, damage, anything unsafe in it, no article, or one that cannot be read.
    """
    if str(path) == STDIO or is_url(path):
        raise FormatError(path, "archives are read from this disk: copy it here, or unpack it")
    for name, content in members(path, only=ARTICLES, room=ROOM):
        yield from _article(f"{path}/{name}", stem(name.name), content.read(LONGEST + 1), faults)


def _article(where: str, name: str, data: bytes, faults: Faults) -> Iterator[Document]:
    if len(data) > LONGEST:
        faults.leave_out(FormatError(where, f"is larger than {LONGEST:,} bytes, too large for an article"))
        return
    try:
        yield from jats.articles(io.BytesIO(data), name, where=where)
    except FormatError as error:
        faults.leave_out(error)
