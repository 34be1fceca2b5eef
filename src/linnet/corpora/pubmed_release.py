"""PubMed as NLM publishes it: baseline and update files (``pubmed25n0001.xml.gz`` …), each citation once, the newest.

Of the citations with one PMID the highest version counts, of the same version that of the latest file and place; what a
file deletes (DeleteCitation) is gone unless a later file has it again. The files are read twice: first for what they
hold, by their tags alone, then for the citations that count, in the order of files. In between, the numbers of all
citations lie on disk in parts that are sorted one by one; what counts is an array on disk, a byte a citation, which is
kept in ``LINNET_HOME/releases`` while the files stay the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from lxml import etree

from linnet.arrays_file import ArraysWriter, open_arrays, replaced
from linnet.corpora.pubmed import CITATIONS, WRAPPERS, citation_document
from linnet.data import Document
from linnet.errors import FormatError, LinnetError
from linnet.home import home, writable
from linnet.reporter import tell
from linnet.text.files import absolute, open_bytes, shown
from linnet.text.remote import is_url, list_files
from linnet.text.xml_files import elements

__all__ = ["index", "read"]

EVENT = re.compile(
    rb"<(?:MedlineCitation|BookDocument)\b[^>]*>\s*<PMID\b([^>]*)>\s*(\d{1,10})\s*</PMID>"
    rb"|<Delete(?:Citation|Document)\s*>(.*?)</Delete(?:Citation|Document)\s*>",
    re.DOTALL,
)
BEGIN = re.compile(rb"<(?:MedlineCitation|BookDocument)\b|<Delete(?:Citation|Document)\s*>")
PMID = re.compile(rb"<PMID\b([^>]*)>\s*(\d{1,10})\s*</PMID>")
VERSION = re.compile(rb"Version\s*=\s*[\"'](\d{1,5})[\"']")
ENDS = (b"</MedlineCitation>", b"</BookDocument>", b"</DeleteCitation>", b"</DeleteDocument>")
RECORD = np.dtype([("pmid", "<u4"), ("version", "<u4"), ("place", "<i8")])  # in the order of what happened
GONE = -1  # the place of what is deleted
PARTS = 64  # that the numbers of all citations are sorted in: of all of PubMed 10 MB each
CHUNK = 4 << 20
LONGEST = 64 << 20  # bytes of one citation
MAGIC = b"linnet pubmed release 1\n"
KEPT = 5  # indexes; the oldest go


class _Event(NamedTuple):
    """A citation, or one that is deleted."""

    pmid: int
    version: int
    deleted: bool


def read(path: str | Path, *, kept: str | None = None) -> Iterator[Document]:
    """Yield those citations of one file of a release that count.

    Args:
        path: the file.
        kept: what `index` returned for the release; by default the file is a release of its own.

    Raises:
        FormatError: as `linnet.corpora.pubmed.read`; or the file is not the one that was counted.
        LinnetError: the index is not there.
    """
    where = Path(index([path]) if kept is None else kept)
    name, stored = shown(path), open_arrays(where, MAGIC, names=("counts",))
    if stored is None:
        raise LinnetError(f"{where}: what counts of this release is not there: do all machines share LINNET_HOME?")
    if (place := str(absolute(path))) not in stored.header["files"]:
        raise FormatError(name, "is no file of this release")
    number = stored.header["files"].index(place)
    start, end = stored.header["starts"][number : number + 2]
    counts = stored.arrays["counts"][start:end]
    count = 0
    for element in elements(path, (*CITATIONS, *WRAPPERS), kind="PubMed"):
        if element.tag in CITATIONS:
            if count < len(counts) and counts[count]:
                yield citation_document(element, name)
            count += 1
    if count != len(counts):
        raise FormatError(name, f"holds {count:,} citations, {len(counts):,} when they were counted: was it changed?")


def index(files: Sequence[str | Path]) -> str:
    """Return the file that tells which citations of a release count; it is made unless it is there.

    Args:
        files: of the release, in its order.

    Raises:
        FormatError: one that cannot be read, or holds neither citations nor deletions.
    """
    files = [absolute(file) for file in files]
    described = json.dumps([[str(file), *_state(file)] for file in files]).encode()
    path = writable(home() / "releases") / f"{hashlib.blake2b(described, digest_size=12).hexdigest()}.kept"
    if open_arrays(path, MAGIC, names=("counts",)) is None:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
            starts = _scan_all(files, Path(folder))
            replaced(path, lambda out: _resolve(Path(folder), files, starts, out))
        for old in sorted(path.parent.glob("*.kept"), key=lambda one: one.stat().st_mtime)[:-KEPT]:
            with suppress(OSError):
                old.unlink()
    with suppress(OSError):  # one that is used is the last to go
        path.touch()
    return str(path)


def _state(file: str | Path) -> tuple[int, int | str]:
    if is_url(file):
        [listed] = list_files(str(file))
        return listed.size, listed.changed
    try:
        state = Path(file).stat()
    except OSError as error:
        raise FormatError(file, f"cannot be read: {error.strerror}") from error
    return state.st_size, state.st_mtime_ns


# --- first pass ------------------------------------------------------------------------------------------------------


def _scan_all(files: Sequence[str | Path], folder: Path) -> list[int]:
    """Write what happens to each citation to files by PMID; return at which number each file's citations begin."""
    starts = [0]
    with ExitStack() as stack:
        parts = [stack.enter_context((folder / str(part)).open("wb")) for part in range(PARTS)]
        for number, file in enumerate(files, 1):
            records = _records(file, starts[-1])
            which = records["pmid"] % PARTS
            for part in np.unique(which):
                parts[part].write(records[which == part].tobytes())
            starts.append(starts[-1] + int(np.count_nonzero(records["place"] != GONE)))
            tell("files of the release", number, len(files))
    return starts


def _records(file: str | Path, start: int) -> npt.NDArray[Any]:
    events = _scan(file)
    if events is None:  # it is not written as NLM does
        events = list(_parse(file))
    if not events:
        raise FormatError(shown(file), "holds no citation and deletes none: is it PubMed XML?")
    records = np.zeros(len(events), RECORD)
    pmid, version, deleted = (np.array(column) for column in zip(*events, strict=True))
    if pmid.max() > np.iinfo(np.uint32).max:
        raise FormatError(shown(file), f"{pmid.max()} is no PMID")
    records["pmid"], records["version"] = pmid, version
    records["place"] = np.where(deleted, GONE, start + np.cumsum(~deleted) - 1)
    return records


def _scan(file: str | Path) -> list[_Event] | None:
    """Return what a file holds and deletes, by its tags; None if they do not stand as in NLM's files."""
    events: list[_Event] = []
    rest = b""
    with open_bytes(file) as stream:
        while chunk := stream.read(CHUNK):
            rest += chunk
            cut = max(at + len(end) if (at := rest.rfind(end)) >= 0 else 0 for end in ENDS)
            block, rest = rest[:cut], rest[cut:]
            if not _note(block, events) or len(rest) > LONGEST:
                return None
    return events if events and not BEGIN.search(rest) else None


def _note(block: bytes, events: list[_Event]) -> bool:
    """Add what happens in a part of a file; return whether nothing was overlooked."""
    seen = 0
    for found in EVENT.finditer(block):
        seen += 1
        if found[3] is None:
            events.append(_Event(int(found[2]), _version(found[1]), deleted=False))
        else:
            events += [_Event(int(one[2]), _version(one[1]), deleted=True) for one in PMID.finditer(found[3])]
    return seen == len(BEGIN.findall(block))


def _version(attributes: bytes) -> int:
    found = VERSION.search(attributes)
    return int(found[1]) if found else 1


def _parse(file: str | Path) -> Iterator[_Event]:
    """Yield what a file holds and deletes, read as XML."""
    for element in elements(file, (*CITATIONS, *WRAPPERS), kind="PubMed"):
        deleted = str(element.tag).startswith("Delete")
        for pmid in element.findall("PMID") if deleted or element.tag in CITATIONS else ():
            id, version = (pmid.text or "").strip(), str(pmid.get("Version", "1"))
            if not (id.isdecimal() and version.isdecimal()):
                raise FormatError(shown(file), f"{id!r} is no PMID, or {version!r} no version", line=_line(pmid))
            yield _Event(int(id), int(version), deleted)
            if not deleted:
                break
        else:
            if element.tag in CITATIONS:
                raise FormatError(shown(file), "this citation has no PMID", line=_line(element))


def _line(element: etree._Element) -> int | None:
    return cast("int | None", element.sourceline)


# --- what counts -----------------------------------------------------------------------------------------------------


def _resolve(folder: Path, files: Sequence[str | Path], starts: list[int], out: IO[bytes]) -> None:
    counts = np.zeros(starts[-1], np.uint8)
    for part in range(PARTS):
        counts[_newest(np.fromfile(folder / str(part), RECORD))] = 1
    writer = ArraysWriter(out, MAGIC)
    writer.put("counts", counts)
    writer.finish({"files": [str(file) for file in files], "starts": starts})


def _newest(records: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the places of the citations that count, out of all that happened, in order.

    >>> happened = np.array([(7, 1, 0), (7, 2, 1), (8, 1, 2), (7, 2, 3), (8, 1, GONE), (9, 1, 4)], RECORD)
    >>> _newest(happened).tolist()
    [3, 4]
    """
    records = records[np.lexsort((records["version"], records["pmid"]))]  # which keeps the order of the others
    pmid, version = records["pmid"], records["version"]
    last = np.append((pmid[1:] != pmid[:-1]) | (version[1:] != version[:-1]), True)[: len(records)]
    records = records[last & (records["place"] != GONE)]
    pmid = records["pmid"]
    places: npt.NDArray[np.int64] = records["place"][np.append(pmid[1:] != pmid[:-1], True)[: len(records)]]
    return places
