"""The names of a knowledge base as one memory-mapped table, for finding them in text.

A word of a name becomes a 64-bit hash of its family (`linnet.text.variants`); a name becomes the wrapping sum of the
hashes of its words, so that word order, inflection and derivation do not matter for looking it up, and whoever finds
a name compares the words themselves afterwards. The table holds, sorted by that sum: the sum, the name's row, the
concept's row, the number of words, how the name relates to the concept, and the name's text; beside it the hashes of
all words that occur, and a bit filter that answers most lookups without a search.

The file stands beside the knowledge base, is written aside and renamed, and is built again when the knowledge base or
the rules have changed. Building takes about 45 bytes of memory a name, and up to 200 MB for the words it remembers;
texts and finished columns go to the file at once. A name takes 10 to 30 µs, new words most of it.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import json
import mmap
import os
import tempfile
import warnings
from array import array
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import SCOPES
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KbName, KnowledgeBase
from linnet.text.abbreviations import without_short_forms
from linnet.text.tokens import form, words
from linnet.text.variants import CONJUNCTIONS, TIES, family, is_stopword

__all__ = ["MAX_WORDS", "Entry", "Kind", "NameTable", "word_code"]

FORMAT = 3
MAGIC = b"linnet names\n"
MAX_WORDS = 32
MASK = (1 << 64) - 1
MAX_WORD = 64  # characters; longer runs are sequences or noise, not words of a name
ALIGN = 64
LONGEST_NAME = 0xFFFF  # bytes
SHOWN = 3  # names that cannot be found that a warning shows
REMEMBERED = 1 << 20  # words, and hashes not yet merged into the vocabulary, that building holds
CHUNK = 1 << 20  # keys that the filter takes at once
_RULES = ["abbreviations.py", "variants.py", "normalise.py", "tokens.py", "wordlists.py", "families.tsv", "words.tsv"]
PREFERRED = 4  # bit of the scopes column

U64 = npt.NDArray[np.uint64]
COLUMNS = {
    "keys": np.uint64, "offsets": np.uint64, "names": np.int32, "concepts": np.int32, "sizes": np.uint16,
    "lengths": np.uint8, "scopes": np.uint8, "vocabulary": np.uint64, "filter": np.uint8, "text": np.uint8,
}  # fmt: skip


class Kind:
    """What a word is to the matcher; ``KNOWN`` words occur in some name of the table."""

    UNKNOWN, KNOWN, STOP, CONJUNCTION, TIE = range(5)


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


def word_code(surface: str) -> tuple[int, int]:
    """Return hash and `Kind` of a word as it stands in a text or a name, before anyone asks whether it is known.

    Stop words have the hash 0, so that they vanish from sums; so do words too long to be in a name.

    >>> word_code("renal") == word_code("Kidneys"), word_code("of")
    (True, (0, 2))
    """
    if len(surface) > MAX_WORD:
        return 0, Kind.UNKNOWN
    if is_stopword(surface):
        return 0, Kind.STOP
    forms = form(surface).split()
    kind = Kind.CONJUNCTION if forms[0] in CONJUNCTIONS else Kind.TIE if forms[0] in TIES else Kind.UNKNOWN
    return sum(_hash("and" if form in CONJUNCTIONS else family(form)) for form in forms) & MASK, kind


@functools.lru_cache(maxsize=1 << 16)
def _hash(family: str) -> int:
    return int.from_bytes(hashlib.blake2b(family.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class NameTable:
    """An open table, memory-mapped: threads and processes share what they read of it.

    The columns are arrays of n entries sorted by ``keys``, `entry` puts one together; ``vocabulary`` holds the hashes
    of all words, sorted, ``filter`` one bit for the leading bits of every key, ``longest`` the most words of a name.
    """

    def __init__(self, buffer: mmap.mmap, *, header: dict[str, Any]) -> None:
        self.header = header
        for column, dtype in COLUMNS.items():
            offset, count = header["columns"][column]
            setattr(self, column, np.frombuffer(buffer, dtype, count, offset))
        # For one word at a time: items of a memoryview are plain numbers, which takes a tenth of the time.
        self._known = memoryview(buffer)[_slice(header, "vocabulary")].cast("Q")
        self.shift = np.uint64(64 - header["bits"])
        self.longest: int = header["longest"]

    keys: U64
    offsets: U64
    names: npt.NDArray[np.int32]
    concepts: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.uint16]
    lengths: npt.NDArray[np.uint8]
    scopes: npt.NDArray[np.uint8]
    vocabulary: U64
    filter: npt.NDArray[np.uint8]
    text: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, kb: KnowledgeBase) -> NameTable:
        """Return the table of `kb`: opened if it is there and current, else built beside the knowledge base.

        Where the folder cannot be written to, the table is built in a temporary file, with a warning.

        Raises:
            KnowledgeBaseError: the table cannot be written anywhere.
        """
        path = kb.path.with_name(kb.path.name + ".names")
        tag = _tag(kb)
        table = _open(path, tag)
        if table is not None:
            return table
        try:
            return cls.build(kb, path)
        except OSError as error:
            warnings.warn(
                f"{path.parent} cannot be written to ({error.strerror}): the table of names is built again each time",
                LinnetWarning,
                stacklevel=2,
            )
        try:
            with tempfile.TemporaryFile() as file:
                return _write(kb.names(), file, tag=tag)
        except OSError as error:
            raise KnowledgeBaseError(f"the table of names of {kb.path} cannot be written: {error}") from error

    @classmethod
    def build(cls, kb: KnowledgeBase, path: Path) -> NameTable:
        """Build the table of `kb` in the file `path`, which it replaces when it is finished, and open it.

        Raises:
            OSError: the folder cannot be written to.
        """
        return _build_beside(kb.names(), path, tag=_tag(kb))

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


def _slice(header: dict[str, Any], column: str) -> slice:
    offset, count = header["columns"][column]
    return slice(offset, offset + count * np.dtype(COLUMNS[column]).itemsize)


def _tag(kb: KnowledgeBase) -> str:
    return f"{FORMAT}:{kb.version}:{_rules()}"


@functools.cache
def _rules() -> str:
    """Return a digest of the rules by which words are hashed: a table made under others is stale."""
    digest = hashlib.blake2b(digest_size=8)
    for module in _RULES:
        digest.update((resources.files("linnet.text") / module).read_bytes())
    return digest.hexdigest()


def _open(path: Path, tag: str) -> NameTable | None:
    """Return the table in `path`, None if there is none, or it is stale or cut short."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return None
            header = json.loads(file.read(int(file.readline())))
            if header["tag"] != tag or os.fstat(file.fileno()).st_size != header["size"]:
                return None
            return NameTable(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), header=header)
    except (OSError, ValueError, KeyError):
        return None


def _build_beside(names: Iterable[KbName], path: Path, *, tag: str) -> NameTable:
    # A name of its own for every build: two processes may build at once, and the last rename wins with equal content.
    handle, part = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            table = _write(names, file, tag=tag)
        Path(part).chmod(0o644)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return table


def _write(names: Iterable[KbName], file: IO[bytes], *, tag: str) -> NameTable:
    """Write the table of `names` to an empty file open for reading and writing, and open it."""
    header: dict[str, Any] = {"tag": tag, "columns": {}, "size": 0, "bits": 16, "longest": 0}
    room = 2048
    file.write(b" " * room)
    raw, vocabulary = _collect(names, file)
    header["columns"]["text"] = (room, file.tell() - room)
    header["longest"] = max(raw["lengths"], default=0)
    header["bits"] = max(16, (len(raw["keys"]) * 16).bit_length())
    for column, values in _sorted(raw):
        _put(file, header, column, values)
        if column == "keys":
            _put(file, header, "filter", _filter(values, header["bits"]))
    _put(file, header, "vocabulary", vocabulary)
    header["size"] = file.tell()
    packed = json.dumps(header).encode()
    file.seek(0)
    file.write(MAGIC + b"%d\n" % len(packed) + packed)
    file.flush()
    return NameTable(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), header=header)


def _put(file: IO[bytes], header: dict[str, Any], column: str, values: Any) -> None:
    file.write(b"\0" * (-file.tell() % ALIGN))
    header["columns"][column] = (file.tell(), len(values))
    file.write(memoryview(values).cast("B") if len(values) else b"")


def _collect(names: Iterable[KbName], file: IO[bytes]) -> tuple[dict[str, Any], U64]:
    """Write the texts of `names` to `file`; return the other columns in the order given, and the vocabulary."""
    raw = {column: array(code) for column, code in _ARRAYS.items()}
    vocabulary = np.empty(0, np.uint64)
    met: set[int] = set()
    codes: dict[str, tuple[int, int]] = {}
    skipped: list[str] = []
    count, offset = 0, 0
    for name in names:
        found = words(without_short_forms(name.text))
        hashes = [code for code, kind in [_code(word, codes) for word in found] if kind != Kind.STOP]
        data = name.text.encode("utf-8", "surrogatepass")
        if not 0 < len(hashes) <= MAX_WORDS or len(data) > LONGEST_NAME:
            count += 1
            skipped += [name.text] if count <= SHOWN else []
            continue
        met.update(hashes)
        if len(met) > REMEMBERED:
            vocabulary, met = _merged(vocabulary, met), set()
        scope = SCOPES.index(name.scope) | (PREFERRED if name.preferred else 0)
        row = (sum(hashes) & MASK, offset, name.row, name.concept, len(data), len(hashes), scope)
        for column, value in zip(raw.values(), row, strict=True):
            column.append(value)
        offset += file.write(data)
    _warn(count, skipped)
    return raw, _merged(vocabulary, met)


_ARRAYS = {"keys": "Q", "offsets": "Q", "names": "i", "concepts": "i", "sizes": "H", "lengths": "B", "scopes": "B"}


def _merged(vocabulary: U64, met: set[int]) -> U64:
    return np.union1d(vocabulary, np.fromiter(met, np.uint64, len(met)))


def _sorted(raw: dict[str, Any]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the columns sorted by key, ties in the order given; each is let go once the next is asked for."""
    order: npt.NDArray[np.intp] | None = None
    for column in list(raw):
        values = np.frombuffer(raw.pop(column) or b"", COLUMNS[column])
        if order is None:  # the keys come first
            order = np.argsort(values, kind="stable")
        yield column, values[order]


def _code(word: str, codes: dict[str, tuple[int, int]]) -> tuple[int, int]:
    code = codes.get(word)
    if code is None:
        if len(codes) >= REMEMBERED:
            codes.clear()  # the frequent words are soon back
        code = codes[word] = word_code(word)
    return code


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
