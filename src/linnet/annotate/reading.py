"""Files that people upload, as documents: what is good is kept, what is not is told by file and line.

Everything about a file is unsafe: its name, its content, what it unpacks to. Files are read in a folder of their own
that is gone afterwards, archives as `linnet.fetch` unpacks them.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from linnet.annotate.documents import check_storable
from linnet.annotate.people import LONGEST_NAME
from linnet.corpora import FORMATS, read
from linnet.corpora.faults import LEFT_OUT, Faults
from linnet.corpora.formats import READABLE, suffix
from linnet.corpora.sources import Found, find, stem, texts_of_brat, unique_names
from linnet.data import Document
from linnet.errors import DataError, FormatError, LinnetError, did_you_mean
from linnet.fetch.archive import ROOM, Room, unpack
from linnet.reporter import Reporter, reporting

__all__ = ["KEPT", "Fault", "File", "Read", "paste_id", "read_files"]

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\/]')  # in a name of a file, on whatever system
LONGEST_FILE_NAME = 200  # bytes; most disks take 255
MOST_FAULTS = 1_000
KEPT = "kept"  # what is odd, and read all the same


class File(NamedTuple):
    """An uploaded file: what its sender calls it, and its bytes."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """What could not be read: in which file and line, why, and what was done instead."""

    file: str
    line: int | None
    message: str
    done: str = LEFT_OUT


@dataclass(slots=True)
class Read:
    """The documents of some files, each with its format, and what was wrong with the rest."""

    docs: list[Document] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def tell(self, fault: Fault) -> None:
        """Note a fault, unless there are too many to be read by anybody."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(fault)


def read_files(
    files: Sequence[File],
    *,
    format: str | None = None,
    repair: bool = False,
    room: Room = ROOM,
    aside: Path | None = None,
) -> Read:
    """Return the documents of files and archives.

    Args:
        files: one upload; brat's come in pairs.
        format: of all of them; None finds it out for each.
        repair: put annotations whose offsets miss their text where it stands nearby; else they are left out.
        room: what each archive may unpack to.
        aside: the folder to unpack in; None = that of the system for temporary files.

    Raises:
        DataError: a format that cannot be read.

    >>> found = read_files([File("note.txt", b"Seizures."), File("table.xml", b"<odd/>")])
    >>> [doc.id for doc in found.docs], [(fault.file, fault.line) for fault in found.faults]
    (['note'], [('table.xml', None)])
    """
    if format is not None and format not in READABLE:
        raise DataError(f"{format!r} is no format that can be read{did_you_mean(format, READABLE)}")
    made = Read()
    with tempfile.TemporaryDirectory(dir=aside) as folder:
        where = Path(folder)
        found = [item for number, file in enumerate(files) for item in _placed(file, where / str(number), made, room)]
        _pair(found, where / "all")
        texts = texts_of_brat(found)
        found = [item for item in found if item.path not in texts]
        names = unique_names(found)
        for item in found:
            _read_one(item, names[item], made, format, repair)
    return made


def _placed(file: File, folder: Path, made: Read, room: Room) -> list[Found]:
    """Write a file into a new folder, unpacked if it is an archive."""
    name = file.name.replace("\\", "/").rpartition("/")[2]  # some browsers send the folder too
    name = UNSAFE.sub("_", name).strip(". ") or "upload"
    name = name.encode("utf-8", "replace")[-LONGEST_FILE_NAME:].decode("utf-8", "ignore").lstrip(".")
    folder.mkdir()
    path = folder / name
    path.write_bytes(file.content)
    if not name.lower().endswith(ARCHIVES):
        return [Found(path, name)]
    try:
        unpack(path, folder / "unpacked", room=room)
        suffixes = tuple(dict.fromkeys(ending for one in FORMATS.values() if one.read for ending in one.suffixes))
        return [Found(one.path, f"{name}/{one.relative}") for one in find(folder / "unpacked", suffixes)]
    except FormatError as error:
        made.tell(Fault(name, error.line, _said(error, folder)))
        return []


def _pair(found: list[Found], folder: Path) -> None:
    """Put single files into one folder, where those that belong together stand side by side."""
    folder.mkdir()
    names = set[str]()
    for place, item in enumerate(found):
        target = folder / item.relative
        if "/" not in item.relative and not target.exists():
            found[place] = Found(item.path.rename(target), item.relative)
        elif item.relative in names:  # else it would be named after where it lies on the server
            found[place] = Found(item.path, f"{place + 1}-{item.relative}")
        names.add(found[place].relative)


def _read_one(item: Found, name: str, made: Read, format: str | None, repair: bool) -> None:
    """Add the documents of one file; a file that breaks off leaves those before."""

    def tell(error: FormatError, done: str) -> None:
        made.tell(Fault(item.relative, error.line, _said(error, item.path.parent), done))

    def warn(message: str) -> None:
        made.tell(Fault(item.relative, None, message.replace(f"{item.path.parent}/", ""), KEPT))

    faults = Faults("repair" if repair else "skip", tell, whole=True)
    try:
        with reporting(Reporter(warn=warn)):
            for doc in read([item.path], format=format or _asked(item.path), on_error=faults):
                _add(_named(doc, stem(item.path), name), item.relative, made)
    except LinnetError as error:
        line = error.line if isinstance(error, FormatError) else None
        made.tell(Fault(item.relative, line, _said(error, item.path.parent)))


def _asked(path: Path) -> str | None:
    """Return the format that only a suffix tells, and that readers of folders pass over unless asked."""
    ending = suffix(path)
    return next((name for name, one in FORMATS.items() if one.asked and one.alone and ending in one.suffixes), None)


def _named(doc: Document, stem: str, name: str) -> Document:
    """Return a document that was called as its file is, by the file's name within the upload."""
    if name == stem or not (doc.id == stem or doc.id.startswith(f"{stem}-")):
        return doc
    return replace(doc, id=name + doc.id[len(stem) :])


def _add(doc: Document, file: str, made: Read) -> None:
    if not 0 < len(doc.id) <= LONGEST_NAME:
        said = f"an id has 1 to {LONGEST_NAME} characters, this has {len(doc.id)}: {doc.id[:60]!r}"
        made.tell(Fault(file, None, said))
        return
    try:
        check_storable(doc)
    except DataError as error:
        made.tell(Fault(file, None, str(error)))
    else:
        made.docs.append(doc)


def _said(error: LinnetError, folder: Path) -> str:
    """Return what is wrong without the folders of this machine."""
    said = error.problem if isinstance(error, FormatError) else str(error)
    return said.replace(f"{folder}/", "").replace(str(folder), "the upload")


def paste_id(text: str) -> str:
    """Return the id of a pasted text that has no name: the same text has the same.

    >>> paste_id("Seizures.")
    'paste-494f3c22c127'
    """
    return "paste-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def lines_of(content: bytes) -> Iterator[str]:
    """Yield the lines of a text in UTF-8 that hold something.

    Raises:
        DataError: it is no UTF-8.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"the text is no UTF-8: byte {error.start} is wrong") from error
    yield from (line for line in text.split("\n") if line.strip())
