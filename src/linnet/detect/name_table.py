"""The names of a knowledge base as one memory-mapped table, for finding them in text.

A word of a name becomes a 64-bit hash of its family (`linnet.text.variants`); a name becomes the wrapping sum of the
hashes of its words, so that word order, inflection and derivation do not matter for looking it up, and whoever finds
a name compares the words themselves afterwards. The table holds, sorted by that sum: the sum, the name's row, the
concept's row, the number of words, how the name relates to the concept, and the name's text; beside it the hashes of
all words that occur, and a bit filter that answers most lookups without a search.

The file stands beside the knowledge base (`linnet.kb.side_files`). After an edit only the names of the concepts that
changed are hashed again. Building takes about 45 bytes of memory a name, and up to 200 MB for the words it remembers;
texts and finished columns go to the file at once. A name takes 10 to 30 µs, new words most of it.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.arrays_file import ArraysWriter, Stored
from linnet.data import SCOPES
from linnet.errors import KnowledgeBaseError
from linnet.kb import KbName, KnowledgeBase
from linnet.kb.side_files import Earlier, SideFile
from linnet.reporter import warn
from linnet.text.abbreviations import without_short_forms
from linnet.text.languages import ENGLISH, Language
from linnet.text.variants import singular

__all__ = [
    "COLUMNS",
    "FORMAT",
    "MASK",
    "MAX_WORDS",
    "U64",
    "Entry",
    "Kind",
    "NameTable",
    "NamesFile",
    "in_sorted",
    "name_codes",
    "rules",
    "word_code",
    "write_names",
]

FORMAT = 6
MAGIC = b"linnet names\n"
MAX_WORDS = 32
LONGEST_NAME = 0xFFFF  # bytes
SHOWN = 3  # names that cannot be found that a warning shows
CHUNK = 1 << 20  # keys that the filter takes at once
PREFERRED = 4  # bit of the scopes column
MASK = (1 << 64) - 1
MAX_WORD = 64  # characters; longer runs are sequences or noise, not words of a name
REMEMBERED = 1 << 20  # words, and hashes not yet merged into the vocabulary, that building holds
_RULES = (
    "abbreviations.py", "variants.py", "normalise.py", "tokens.py", "wordlists.py", "families.tsv", "words.tsv",
    "languages.py", "languages.tsv",
)  # fmt: skip

_ASCII_WORD = re.compile(rb"[a-z]+")

U64 = npt.NDArray[np.uint64]
COLUMNS = (
    "keys", "offsets", "names", "concepts", "sizes", "lengths", "scopes", "vocabulary", "uses", "filter", "text",
)  # fmt: skip


# --- words as numbers ------------------------------------------------------------------------------------------------


class Kind:
    """What a word is to the matcher; ``KNOWN`` words occur in some name of the table."""

    UNKNOWN, KNOWN, STOP, CONJUNCTION, TIE = range(5)


def word_code(surface: str, language: Language = ENGLISH) -> tuple[int, int]:
    """Return hash and `Kind` of a word as it stands in a text or a name, before anyone asks whether it is known.

    Stop words have the hash 0, so that they vanish from sums; so do words too long to be in a name.

    >>> word_code("renal") == word_code("Kidneys"), word_code("of")
    (True, (0, 2))
    """
    if len(surface) > MAX_WORD:
        return 0, Kind.UNKNOWN
    if language.is_stopword(surface):
        return 0, Kind.STOP
    forms, conjunctions = language.form(singular(surface)).split(), language.conjunctions
    kind = Kind.CONJUNCTION if forms[0] in conjunctions else Kind.TIE if forms[0] in language.ties else Kind.UNKNOWN
    return sum(_hash("and" if form in conjunctions else language.family(form)) for form in forms) & MASK, kind


@functools.lru_cache(maxsize=1 << 16)
def _hash(family: str) -> int:
    return int.from_bytes(hashlib.blake2b(family.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def in_sorted(values: U64, among: U64) -> npt.NDArray[np.bool_]:
    """Return which of `values` (n,) are in a sorted array of at least one."""
    places = np.searchsorted(among, values)
    places[places == len(among)] = 0
    found: npt.NDArray[np.bool_] = among[places] == values
    return found


def name_codes(text: str, codes: dict[str, tuple[int, int]], language: Language = ENGLISH) -> list[int]:
    """Return the hashes of the words of a name that are looked up; `codes` remembers words of this language."""
    found = language.words(without_short_forms(text))
    return [code for code, kind in [_code(word, codes, language) for word in found] if kind != Kind.STOP]


def _code(word: str, codes: dict[str, tuple[int, int]], language: Language) -> tuple[int, int]:
    code = codes.get(word)
    if code is None:
        if len(codes) >= REMEMBERED:
            codes.clear()  # the frequent words are soon back
        code = codes[word] = word_code(word, language)
    return code


@functools.cache
def rules() -> str:
    """Return a digest of the rules by which words are hashed: a table made under others is stale."""
    digest = hashlib.blake2b(digest_size=8)
    for module in _RULES:
        digest.update((resources.files("linnet.text") / module).read_bytes())
    return digest.hexdigest()


class Words:
    """The hashes of words, sorted, and how often each was met; complete after `count`."""

    def __init__(self) -> None:
        self.codes: U64 = np.empty(0, np.uint64)
        self.uses: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._met = array("Q")

    def add(self, hashes: Iterable[int]) -> None:
        """Take the words of one name."""
        self._met.extend(hashes)
        if len(self._met) >= REMEMBERED:
            self.count()

    def count(self) -> None:
        """Count what was taken."""
        met, self._met = self._met, array("Q")
        codes, uses = np.unique(np.frombuffer(met or b"", np.uint64), return_counts=True)
        self.join(codes, uses)

    def join(self, codes: U64, uses: npt.NDArray[np.int64]) -> None:
        """Add the counts of other words; a word that is left with none is forgotten."""
        both, place = np.unique(np.concatenate([self.codes, codes]), return_inverse=True)
        total = np.zeros(len(both), np.int64)
        np.add.at(total, place, np.concatenate([self.uses, uses]))
        self.codes, self.uses = both[total > 0], total[total > 0]


# --- the table -------------------------------------------------------------------------------------------------------


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
    key; ``longest`` is the most words of a name, and ``language`` says by whose rules words are hashed.
    """

    def __init__(self, stored: Stored, language: Language = ENGLISH) -> None:
        self.language = language
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
    def of(cls, kb: KnowledgeBase, language: Language = ENGLISH) -> NameTable:
        """Return the table of the names of `kb` in a language, made beside it if need be.

        Raises:
            KnowledgeBaseError: the table cannot be written anywhere, or no name is in this language.
        """
        table = NamesFile(kb, language).current()
        if language.code and not len(table):
            tags = Counter(name.language or "none" for name in kb.names())
            there = ", ".join(f"{tag} ({count:,})" for tag, count in tags.most_common())
            raise KnowledgeBaseError(f"{kb.path}: no name has the language {language.code!r}; there are {there}")
        if language.code:
            _warn_of_nameless(kb, table)
        return table

    @classmethod
    def of_names(cls, names: Iterable[KbName], language: Language = ENGLISH) -> NameTable:
        """Return a table of names that stand in no knowledge base, in a temporary file."""
        with tempfile.TemporaryFile() as file:
            writer = ArraysWriter(file, MAGIC)
            return cls(writer.finish(write_names(names, writer, language)), language)

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

    def words(self) -> Iterator[str]:
        """Yield the words of all names in lower case, some of them often."""
        starts, text = np.sort(self.offsets.astype(np.int64)), self.text.tobytes().lower()
        for first in range(0, len(starts), CHUNK >> 4):
            borders = starts[first : first + (CHUNK >> 4) + 1].tolist()
            borders += [len(text)] if first + (CHUNK >> 4) >= len(starts) else []
            names = (text[start:end] for start, end in itertools.pairwise(borders))
            yield from {word.decode() for word in _ASCII_WORD.findall(b"\n".join(names))}

    def entry(self, row: int) -> Entry:
        """Return row `row` of the table."""
        start = int(self.offsets[row])
        text = self.text[start : start + int(self.sizes[row])].tobytes().decode("utf-8", "surrogatepass")
        scope = int(self.scopes[row])
        return Entry(int(self.names[row]), int(self.concepts[row]), scope & ~PREFERRED, bool(scope & PREFERRED), text)

    def after(self, row: int) -> int:
        """Return the first row behind `row` that has another key."""
        return int(np.searchsorted(self.keys, self.keys[row], side="right"))


def _warn_of_nameless(kb: KnowledgeBase, table: NameTable) -> None:
    """Warn where most concepts have no name in the language of a table: nothing finds them."""
    there, code = int(kb.info["concepts"]), table.language.code
    if (left := there - len(np.unique(table.concepts))) > there / 2:
        said = f"{left:,} of {there:,} concepts have no name with the language {code!r} or none, and are not found"
        warn(f"{kb.path}: {said}; without language={code} all names are, by the rules of English")


class NamesFile(SideFile[NameTable]):
    """The table of the names of a knowledge base in a language, in its file."""

    WHAT = "table of names"
    SUFFIX = "names"
    MAGIC = MAGIC
    ARRAYS = COLUMNS
    ANEW = 0.2

    def __init__(self, kb: KnowledgeBase, language: Language = ENGLISH) -> None:
        self.language = language
        options = {"language": language.code} if language.code else None
        super().__init__(kb, options, rules={"format": FORMAT, "rules": rules()})

    def write(
        self, writer: ArraysWriter, concepts: Sequence[int] | None, earlier: Earlier[NameTable] | None
    ) -> dict[str, Any]:
        """Write the columns, of names read from the knowledge base and of entries that stay."""
        start = writer.file.tell()
        names = (name for name in self.kb.names(concepts) if self.language.has(name.language))
        raw, words = _collect(names, writer.file, self.language)
        if earlier is not None:
            raw = _joined(raw, words, earlier, writer, start)
        return _finish(writer, raw, words)

    def read(self, stored: Stored) -> NameTable:
        """Return the table over the columns of a file."""
        return NameTable(stored, self.language)


def write_names(names: Iterable[KbName], writer: ArraysWriter, language: Language = ENGLISH) -> dict[str, Any]:
    """Write the columns of a table of names, and return what the header shall tell."""
    return _finish(writer, *_collect(names, writer.file, language))


def _finish(writer: ArraysWriter, raw: dict[str, Any], words: Words) -> dict[str, Any]:
    """Write all columns behind the texts, and return what the header shall tell."""
    writer.claim("text", np.uint8)
    longest, bits = int(raw["lengths"].max(initial=0)), max(16, (len(raw["keys"]) * 16).bit_length())
    for column, values in _sorted(raw):
        writer.put(column, values)
        if column == "keys":
            writer.put("filter", _filter(values, bits))
    writer.put("vocabulary", words.codes)
    writer.put("uses", words.uses.astype(np.uint32))
    return {"longest": longest, "bits": bits}


def _collect(names: Iterable[KbName], file: IO[bytes], language: Language) -> tuple[dict[str, Any], Words]:
    """Write the texts of `names` to `file`; return the other columns in the order given, and the words.

    A name with a compound that may be written as one word is there twice.
    """
    raw = {column: array(code) for column, code in _ARRAYS.items()}
    met = Words()
    codes: dict[str, tuple[int, int]] = {}
    skipped: list[str] = []
    count, offset = 0, 0
    for name in _both_ways(names, language) if language.compound else names:
        hashes = name_codes(name.text, codes, language)
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


def _both_ways(names: Iterable[KbName], language: Language) -> Iterator[KbName]:
    for name in names:
        yield name
        joined = language.joined(name.text)
        if joined != name.text:
            yield name._replace(text=joined)


def _joined(
    new: dict[str, Any], words: Words, earlier: Earlier[NameTable], writer: ArraysWriter, start: int
) -> dict[str, Any]:
    """Return the columns of new entries, whose texts begin at `start`, and of those that stay; count their words."""
    old, stay = earlier
    shift = writer.file.tell() - start
    writer.file.write(old.text.data)  # texts that nobody points at any more go with the next building anew
    columns: dict[str, Any] = {}
    for column in _ARRAYS:
        kept = getattr(old, column)[stay]
        columns[column] = np.concatenate([new[column], kept + np.uint64(shift) if column == "offsets" else kept])
    order = np.argsort(columns["names"], kind="stable")  # as all names come
    gone = Words()
    codes: dict[str, tuple[int, int]] = {}
    for row in np.flatnonzero(~stay):
        gone.add(name_codes(old.entry(int(row)).text, codes, old.language))
    gone.count()
    words.join(old.vocabulary, old.uses.astype(np.int64))
    words.join(gone.codes, -gone.uses)
    return {column: values[order] for column, values in columns.items()}


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
        why = f'hold nothing but signs and words such as "at", or more than {MAX_WORDS} words'
        shown = ", ".join(repr(text[:60]) for text in skipped)
        warn(f"{count:,} names {why}, and cannot be found in text: {shown}")
