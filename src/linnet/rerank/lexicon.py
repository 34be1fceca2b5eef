"""The names and neighbourhood of every concept of a knowledge base as arrays, for features of many candidates at once.

Words are `linnet.text.variants.family` names, so that "renal" and "kidney" are one word; numbers are brought to one
form ("type II" is "type 2"). What is kept of a text is its hash: an index of millions of names is a few arrays, saved
as ``.npy`` and opened memory-mapped.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linnet.data import SCOPES, Concept
from linnet.errors import FormatError
from linnet.kb import KnowledgeBase
from linnet.text.normalise import basic
from linnet.text.variants import family

__all__ = ["Lexicon", "Text", "is_apart", "load_arrays", "name_words", "save_arrays", "text_key"]

ROMAN = {"ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "i": "1", "v": "5"}
GREEK = frozenset(("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda"))
# What ends the noun that a name is about: "deficiency of biotinidase", "epilepsy with myoclonus".
TURN = re.compile(r"[,;(\[]|\s(?:of|in|with|without|due|by|from|caused|associated|type)\s")


def text_key(text: str) -> int:
    """Return a hash of 63 bits."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def is_apart(word: str) -> bool:
    """Say whether a word tells members of one family apart: a number, a single letter, a Greek letter.

    >>> [is_apart(word) for word in ("2", "c", "beta", "il6", "kidney")]
    [True, True, True, True, False]
    """
    return len(word) == 1 or word in GREEK or any(map(str.isdigit, word))


@functools.lru_cache(maxsize=1 << 16)
def _word(word: str) -> str:
    word = ROMAN.get(word, word)
    return word if is_apart(word) else family(word)


def name_words(name: str) -> list[str]:
    """Return the words of a name as they are compared.

    >>> name_words("Kidney disease, type II"), name_words("renal diseases 2")
    (['kidney', 'disease', 'type', '2'], ['kidney', 'disease', '2'])
    """
    return [_word(word) for word in basic(name).split()]


def _head(name: str) -> str:
    """Return the word that a name is about: the last before a comma, a bracket or a preposition."""
    turn = TURN.search(name, 1)
    found = name_words(name[: turn.start()]) if turn else []
    return (found or name_words(name) or [""])[-1]


@dataclass(frozen=True)
class Text:
    """What a mention says, in the terms of a `Lexicon`.

    ``words`` int64, those the lexicon knows; ``weight`` of all of them, known or not; ``apart`` says how many of all
    words tell family members apart (numbers, single letters, Greek letters); ``key`` and ``raw`` are hashes of the
    normal form and of the very text; ``head`` is -1 if the lexicon does not know it.
    """

    words: npt.NDArray[np.int64]
    weight: float
    apart: int
    head: int
    key: int
    raw: int


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Arrays over the words, names and concepts (rows) of one knowledge base; ``x_starts`` delimit lists of ``x``.

    ``words`` int64 (words): sorted hashes; ``weights`` float32 (words + 1): inverse document frequencies over concepts;
    ``apart`` bool (words + 1): see `is_apart`. ``name_words`` int32 and ``name_starts`` int64 (names + 1): the words of
    each name; the number ``len(words)`` stands for "no word at all", so that no list is empty. ``keys`` and ``raws``
    int64, ``heads`` int32, ``weight`` float32, ``name_apart`` int16 (names): see `Text`; ``scopes`` int8 (names).
    ``concept_starts`` int64 (rows + 1): the names of each concept. ``types``, ``parents`` int32 with their starts,
    ``children`` and ``prefixes`` int32 (rows).
    """

    words: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    apart: npt.NDArray[np.bool_]
    name_words: npt.NDArray[np.int32]
    name_starts: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]
    raws: npt.NDArray[np.int64]
    heads: npt.NDArray[np.int32]
    scopes: npt.NDArray[np.int8]
    weight: npt.NDArray[np.float32]
    name_apart: npt.NDArray[np.int16]
    concept_starts: npt.NDArray[np.int64]
    types: npt.NDArray[np.int32]
    type_starts: npt.NDArray[np.int64]
    parents: npt.NDArray[np.int32]
    parent_starts: npt.NDArray[np.int64]
    children: npt.NDArray[np.int32]
    prefixes: npt.NDArray[np.int32]

    @classmethod
    def build(cls, kb: KnowledgeBase) -> Lexicon:
        """Return the lexicon of a knowledge base: one pass over its concepts."""
        building = _Building(len(kb))
        rows = {concept.id: row for row, concept in enumerate(_by_row(kb))}
        for concept in _by_row(kb):
            building.add(concept, rows)
        return building.done()

    def text(self, name: str) -> Text:
        """Return a text in the terms of this lexicon."""
        found = list(dict.fromkeys(name_words(name)))
        *_, head = known = self._known([*found, _head(name)])
        known = known[:-1]
        unseen = len(known) - int(np.count_nonzero(known >= 0))
        weight = float(self.weights[known[known >= 0]].sum()) + unseen * float(self.weights[-1])
        apart = sum(map(is_apart, found))
        return Text(known[known >= 0], max(weight, 1e-6), apart, int(head), text_key(basic(name)), text_key(name))

    def _known(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of words, -1 for those not in any name."""
        keys = np.fromiter(map(text_key, words), np.int64, len(words))
        places = np.minimum(np.searchsorted(self.words, keys), max(len(self.words) - 1, 0))
        found = self.words[places] == keys if len(self.words) else np.zeros(len(keys), np.bool_)
        return np.where(found, places, -1).astype(np.int64)

    def save(self, folder: Path) -> None:
        """Write the arrays into `folder`."""
        save_arrays(folder, {field.name: getattr(self, field.name) for field in dataclasses.fields(self)})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open the arrays that `save` wrote, memory-mapped."""
        return cls(**load_arrays(folder, [field.name for field in dataclasses.fields(cls)]))


def save_arrays(folder: Path, arrays: dict[str, Any]) -> None:
    """Write arrays as ``<name>.npy``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)


def load_arrays(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """Open the arrays that `save_arrays` wrote, memory-mapped.

    Raises:
        FormatError: one of them is missing or damaged.
    """
    arrays: dict[str, Any] = {}
    for name in names:
        path = folder / f"{name}.npy"
        try:
            with path.open("rb") as file:
                np.lib.format.read_magic(file)
                shape, _, kind = np.lib.format.read_array_header_1_0(file)
            # what holds nothing cannot be mapped; what is longer than its file is not
            # as a plain array: slices of an np.memmap take several times as long
            arrays[name] = (
                np.empty(shape, kind) if 0 in shape else np.asarray(np.lib.format.open_memmap(path, mode="r"))
            )
        except Exception as error:  # a header is parsed as Python, and whatever its parser raises comes out
            raise FormatError(path, f"cannot be read: {error}; train the pipeline again") from error
    return arrays


def _by_row(kb: KnowledgeBase) -> Iterable[Concept]:
    """Return the concepts of all rows, retired ones as empty lines."""
    for row, concept in zip(range(len(kb)), kb.concepts(), strict=False):
        yield concept if concept.replaced_by is None else Concept(f"\0{row}")


class _Building:
    """A lexicon as it grows."""

    def __init__(self, rows: int) -> None:
        self.numbers: dict[str, int] = {}
        self.frequency: Counter[int] = Counter()
        self.lists = {
            name: array("l") for name in ("name_words", "types", "parents", "keys", "raws", "heads", "scopes")
        }
        self.starts = {name: array("l", [0]) for name in ("name", "concept", "type", "parent")}
        self.type_numbers: dict[str, int] = {}
        self.prefix_numbers: dict[str, int] = {}
        self.prefixes = array("l")
        self.rows = rows

    def add(self, concept: Concept, rows: dict[str, int]) -> None:
        seen: set[int] = set()
        for name in concept.names or ():
            found = [self.numbers.setdefault(word, len(self.numbers)) for word in dict.fromkeys(name_words(name.text))]
            seen.update(found)
            head = self.numbers.get(_head(name.text), -2)
            self._name(found, (text_key(basic(name.text)), text_key(name.text), head, SCOPES.index(name.scope)))
        if not concept.names:
            self._name([], (-1, -1, -2, 0))
        self.frequency.update(seen)
        self.starts["concept"].append(len(self.lists["keys"]))
        self._list("type", [self.type_numbers.setdefault(kind, len(self.type_numbers)) for kind in concept.types])
        self._list("parent", [rows[parent] for parent in concept.parents if parent in rows])
        prefix = concept.id.partition(":")[0]
        self.prefixes.append(self.prefix_numbers.setdefault(prefix, len(self.prefix_numbers)))

    def _name(self, words: list[int], values: tuple[int, int, int, int]) -> None:
        self.lists["name_words"].extend(words or [-1])
        self.starts["name"].append(len(self.lists["name_words"]))
        for what, value in zip(("keys", "raws", "heads", "scopes"), values, strict=True):
            self.lists[what].append(value)

    def _list(self, what: str, values: list[int]) -> None:
        self.lists[f"{what}s"].extend(values)
        self.starts[what].append(len(self.lists[f"{what}s"]))

    def done(self) -> Lexicon:
        """Return the arrays, words sorted by their hash."""
        words = list(self.numbers)
        keys = np.fromiter(map(text_key, words), np.int64, len(words))
        order = np.argsort(keys, kind="stable")
        place = np.empty(len(words) + 2, np.int32)
        place[order] = np.arange(len(words))
        place[-2:] = -2, len(words)  # what is numbered -2 is no word, -1 the word of nameless concepts
        frequency = np.array([self.frequency[number] for number in order.tolist()], np.float64)
        weights = np.log((self.rows + 1) / (np.append(frequency, 0) + 1)).astype(np.float32)
        lists = {name: np.array(values, np.int64) for name, values in self.lists.items()}
        starts = {f"{name}_starts": np.array(values, np.int64) for name, values in self.starts.items()}
        name_words = place[lists["name_words"]]
        kept = np.append(weights[:-1], np.float32(0))  # the word of nameless concepts weighs nothing in names
        begins = starts["name_starts"][:-1]
        weight = np.add.reduceat(kept[name_words], begins)
        apart = np.array([is_apart(words[number]) for number in order.tolist()] + [False], np.bool_)
        return Lexicon(
            words=keys[order],
            weights=weights,
            apart=apart,
            name_apart=np.add.reduceat(apart[name_words].astype(np.int16), begins),
            name_words=name_words,
            keys=lists["keys"],
            raws=lists["raws"],
            heads=place[lists["heads"]],
            scopes=lists["scopes"].astype(np.int8),
            weight=np.maximum(weight, 1e-6).astype(np.float32),
            types=lists["types"].astype(np.int32),
            parents=lists["parents"].astype(np.int32),
            children=np.bincount(lists["parents"], minlength=self.rows).astype(np.int32),
            prefixes=np.array(self.prefixes, np.int32),
            **starts,
        )
