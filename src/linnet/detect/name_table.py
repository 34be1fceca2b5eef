"""The names of a knowledge base as one memory-mapped table, for finding them in text.

A word of a name becomes a 64-bit hash of its family (`linnet.text.variants`); a name becomes the wrapping sum of the
hashes of its words, so that word order, inflection and derivation do not matter for looking it up, and whoever finds
a name compares the words themselves afterwards. The table holds, sorted by that sum: the sum, the name's row, the
concept's row, the number of words, how the name relates to the concept, and the name's text; beside it the hashes of
all words that occur, and a bit filter that answers most lookups without a search.

The file (`linnet.arrays_file`) stands beside the knowledge base. After an edit of the knowledge base only the names of
the concepts that changed are hashed again; when the rules have changed, or the knowledge base is another, the table is
built anew. Building takes about 45 bytes of memory a name, and up to 200 MB for the words it remembers; texts and
finished columns go to the file at once. A name takes 10 to 30 µs, new words most of it.
"""

from __future__ import annotations

import bisect
import functools
import tempfile
import warnings
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, Stored, kept, open_arrays, replaced
from linnet.data import SCOPES
from linnet.detect.name_words import MASK, Words, name_codes, rules
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KbName, KnowledgeBase

__all__ = ["MAX_WORDS", "Entry", "NameTable", "table_path"]

FORMAT = 5
MAGIC = b"linnet names\n"
MAX_WORDS = 32
LONGEST_NAME = 0xFFFF  # bytes
SHOWN = 3  # names that cannot be found that a warning shows
CHUNK = 1 << 20  # keys that the filter takes at once
PREFERRED = 4  # bit of the scopes column
MANY = 0.2  # share of changed concepts from which building anew is worth it

U64 = npt.NDArray[np.uint64]
COLUMNS = (
    "keys", "offsets", "names", "concepts", "sizes", "lengths", "scopes", "vocabulary", "uses", "filter", "text",
)  # fmt: skip


class Entry(NamedTuple):
    """One row of the table.

    ``name`` and ``concept`` are rows of the knowledge base, ``scope`` is an index into ``data.SCOPES``, and
    ``preferred`` says whether it is the first name of its concept.
    """

    name: int
    concept: int
    scope: int
    preferred: bool
    text: str


class NameTable:
    """An open table, memory-mapped: threads and processes share what they read of it.

    The columns are arrays of n entries sorted by ``keys``, `entry` puts one together; ``vocabulary`` holds the hashes
    of all words, sorted, ``uses`` how often each stands in a name, ``filter`` one bit for the leading bits of every
    key; ``longest`` is the most words of a name.
    """

    def __init__(self, stored: Stored) -> None:
        self.header = stored.header
        for column in COLUMNS:
            setattr(self, column, stored.arrays[column])
        # For one word at a time: items of a memoryview are plain numbers, which takes a tenth of the time.
        self._known = self.vocabulary.data
        self.shift = np.uint64(64 - stored.header["bits"])
        self.longest: int = stored.header["longest"]

    keys: U64
    offsets: U64
    names: npt.NDArray[np.int32]
    concepts: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.uint16]
    lengths: npt.NDArray[np.uint8]
    scopes: npt.NDArray[np.uint8]
    vocabulary: U64
    uses: npt.NDArray[np.uint32]
    filter: npt.NDArray[np.uint8]
    text: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, kb: KnowledgeBase) -> NameTable:
        """Return the table of `kb`: opened if it is there and current, else built beside the knowledge base.

        Where the folder cannot be written to, the table is built in a temporary file, with a warning.

        Raises:
            KnowledgeBaseError: the table cannot be written anywhere.
        """
        path = table_path(kb)
        table = _open(path)
        if table is not None and table.header["kb"] == kb.version:
            return table
        return kept(path, functools.partial(_write, kb, _earlier(table, kb)), what="table of names")

    @classmethod
    def build(cls, kb: KnowledgeBase, path: Path) -> NameTable:
        """Build the table of `kb` in the file `path`, which it replaces when it is finished, and open it.

        A table of an earlier version of the same knowledge base that stands in `path` is made use of.

        Raises:
            OSError: the folder cannot be written to.
        """
        return replaced(path, functools.partial(_write, kb, _earlier(_open(path), kb)))

    @classmethod
    def of_names(cls, names: Iterable[KbName]) -> NameTable:
        """Return a table of names that stand in no knowledge base, in a temporary file."""
        with tempfile.TemporaryFile() as file:
            writer = ArraysWriter(file, MAGIC)
            return _finished(writer, *_collect(names, file), version="")

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: U64) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return for `keys` (n,) which of them are in the table, and the first entry of each that is.

        Returns:
            positions in `keys` (m,) and entries (m,); the entries of one key follow each other.
        """
        slots = keys >> self.shift
        maybe = np.flatnonzero(self.filter[slots >> np.uint64(3)] >> (slots & np.uint64(7)).astype(np.uint8) & 1)
        wanted = keys[maybe]
        entries = np.searchsorted(self.keys, wanted)
        entries[entries == len(self.keys)] = 0
        found = self.keys[entries] == wanted
        return maybe[found], entries[found]

    def knows(self, hash: int) -> bool:
        """Say whether some name holds a word of this hash."""
        at = bisect.bisect_left(self._known, hash)
        return at < len(self._known) and self._known[at] == hash

    def entry(self, row: int) -> Entry:
        """Return row `row` of the table."""
        start = int(self.offsets[row])
        text = self.text[start : start + int(self.sizes[row])].tobytes().decode("utf-8", "surrogatepass")
        scope = int(self.scopes[row])
        return Entry(int(self.names[row]), int(self.concepts[row]), scope & ~PREFERRED, bool(scope & PREFERRED), text)

    def after(self, row: int) -> int:
        """Return the first row behind `row` that has another key."""
        return int(np.searchsorted(self.keys, self.keys[row], side="right"))


def table_path(kb: KnowledgeBase) -> Path:
    """Return the file of the table of names of `kb`."""
    return kb.path.with_name(f"{kb.path.name}.names")


def _tag(version: str) -> str:
    return f"{FORMAT}:{version}:{rules()}"


def _open(path: Path) -> NameTable | None:
    """Return the table in `path`, of whatever version of the knowledge base; None if there is none."""
    stored = open_arrays(path, MAGIC, names=COLUMNS)
    if stored is None or stored.header.get("tag") != _tag(str(stored.header.get("kb"))):
        return None  # of another format, or made by other rules
    return NameTable(stored)


class _Earlier(NamedTuple):
    """A table of an earlier version, and the rows of the concepts that have changed since."""

    table: NameTable
    changed: npt.NDArray[np.int64]


def _earlier(table: NameTable | None, kb: KnowledgeBase) -> _Earlier | None:
    if table is None:
        return None
    try:
        changed = kb.changed_since(table.header["kb"])
    except KnowledgeBaseError:
        return None  # of another knowledge base that stood here before
    return None if len(changed) > len(kb) * MANY else _Earlier(table, changed)


def _write(kb: KnowledgeBase, earlier: _Earlier | None, file: IO[bytes]) -> NameTable:
    """Write the table of `kb` to an empty file open for reading and writing, and open it."""
    writer = ArraysWriter(file, MAGIC)
    if earlier is None:
        raw, words = _collect(kb.names(), file)
    else:
        raw, words = _updated(kb, file, earlier)
    return _finished(writer, raw, words, version=kb.version)


def _finished(writer: ArraysWriter, raw: dict[str, Any], words: Words, *, version: str) -> NameTable:
    """Write all columns behind the texts, and open the table."""
    writer.claim("text", np.uint8)
    header = {"tag": _tag(version), "kb": version, "longest": int(raw["lengths"].max(initial=0))}
    header["bits"] = bits = max(16, (len(raw["keys"]) * 16).bit_length())
    for column, values in _sorted(raw):
        writer.put(column, values)
        if column == "keys":
            writer.put("filter", _filter(values, bits))
    writer.put("vocabulary", words.codes)
    writer.put("uses", words.uses.astype(np.uint32))
    return NameTable(writer.finish(header))


def _collect(names: Iterable[KbName], file: IO[bytes]) -> tuple[dict[str, Any], Words]:
    """Write the texts of `names` to `file`; return the other columns in the order given, and the words."""
    raw = {column: array(code) for column, code in _ARRAYS.items()}
    met = Words()
    codes: dict[str, tuple[int, int]] = {}
    skipped: list[str] = []
    count, offset = 0, 0
    for name in names:
        hashes = name_codes(name.text, codes)
        data = name.text.encode("utf-8", "surrogatepass")
        if not 0 < len(hashes) <= MAX_WORDS or len(data) > LONGEST_NAME:
            count += 1
            skipped += [name.text] if count <= SHOWN else []
            continue
        met.add(hashes)
        scope = SCOPES.index(name.scope) | (PREFERRED if name.preferred else 0)
        row = (sum(hashes) & MASK, offset, name.row, name.concept, len(data), len(hashes), scope)
        for column, value in zip(raw.values(), row, strict=True):
            column.append(value)
        offset += file.write(data)
    _warn(count, skipped)
    met.count()
    return {column: np.frombuffer(values or b"", _ARRAYS[column]) for column, values in raw.items()}, met


def _updated(kb: KnowledgeBase, file: IO[bytes], earlier: _Earlier) -> tuple[dict[str, Any], Words]:
    """Do what `_collect` does for all names of `kb`, taking those of unchanged concepts from an earlier table."""
    old, changed = earlier
    stays = ~np.isin(old.concepts, changed)
    start = file.tell()
    new, met = _collect(kb.names(changed.tolist()), file)
    shift = file.tell() - start
    file.write(old.text.data)  # texts that nobody points at any more go with the next building anew
    columns: dict[str, Any] = {}
    for column in _ARRAYS:
        kept = getattr(old, column)[stays]
        columns[column] = np.concatenate([new[column], kept + np.uint64(shift) if column == "offsets" else kept])
    order = np.argsort(columns["names"], kind="stable")  # as all names come
    gone = Words()
    codes: dict[str, tuple[int, int]] = {}
    for row in np.flatnonzero(~stays):
        gone.add(name_codes(old.entry(int(row)).text, codes))
    gone.count()
    met.join(old.vocabulary, old.uses.astype(np.int64))
    met.join(gone.codes, -gone.uses)
    return {column: values[order] for column, values in columns.items()}, met


# columns that are collected, with their types as `array` and NumPy name them
_ARRAYS = {"keys": "Q", "offsets": "Q", "names": "i", "concepts": "i", "sizes": "H", "lengths": "B", "scopes": "B"}


def _sorted(raw: dict[str, Any]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the columns sorted by key, ties in the order given; each is let go once the next is asked for."""
    order: npt.NDArray[np.intp] | None = None
    for column in list(raw):
        values = raw.pop(column)
        if order is None:  # the keys come first
            order = np.argsort(values, kind="stable")
        yield column, values[order]


def _filter(keys: U64, bits: int) -> npt.NDArray[np.uint8]:
    """Return a bit array of 2^bits in which the bit of each key's leading bits is set."""
    filter = np.zeros(1 << (bits - 3), np.uint8)
    for start in range(0, len(keys), CHUNK):
        slots = keys[start : start + CHUNK] >> np.uint64(64 - bits)
        np.bitwise_or.at(filter, slots >> np.uint64(3), np.uint8(1) << (slots & np.uint64(7)).astype(np.uint8))
    return filter


def _warn(count: int, skipped: list[str]) -> None:
    if count:
        warnings.warn(
            f"{count:,} names hold no words, or more than {MAX_WORDS}, and cannot be found in text: "
            + ", ".join(repr(text[:60]) for text in skipped),
            LinnetWarning,
            stacklevel=2,
        )
