"""Retrieval by exact names: what a mention says, normalised, is a name of the candidate."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Name
from linnet.errors import RecipeError
from linnet.kb import KbName, KnowledgeBase, Mask
from linnet.pipeline.learner import made_once
from linnet.retrieve.queries import TextRetriever
from linnet.text.normalise import basic
from linnet.text.variants import STOPWORDS, family

__all__ = ["Exact"]

# How far a name of each scope may be trusted to mean its concept.
SCOPE_SCORES = {"exact": 1.0, "narrow": 0.9, "related": 0.8, "broad": 0.7}
OTHER_CASE = 0.98  # the same name but for case, hyphens, accents or Greek letters
OTHER_WORDS = 0.9  # the same but for the order and form of words
LEVELS = ("case", "basic", "family")


@dataclass(kw_only=True)
class Exact(TextRetriever):
    """Candidates are the concepts with a name equal to the mention's text (or to the long form it abbreviates).

    Args:
        kb: the knowledge base.
        k: how many candidates at most.
        level: ``case`` compares character by character, ``basic`` the form of `linnet.text.normalise.basic`,
            ``family`` the words in any order, stop words left out, related words (`linnet.text.variants.family`) equal.

    The score is 1 for the very name, less for other case or punctuation, less again for other words, and less for names
    of weaker scope. Texts without letters and digits are equal to nothing.
    """

    kb: KnowledgeBase
    k: int = 64
    level: Literal["case", "basic", "family"] = "basic"

    def __post_init__(self) -> None:
        problems = [] if self.k >= 1 else [f"k: {self.k} must be at least 1"]
        problems += [] if self.level in LEVELS else [f"level: {self.level!r} is none of {', '.join(LEVELS)}"]
        if problems:
            raise RecipeError("exact", problems)

    def _candidates(self, text: str, mask: Mask | None) -> Candidates:
        best: dict[int, tuple[float, int]] = {}
        for row, concept, name in self._named(basic(text)):
            score = self._score(name, text)
            if score and (mask is None or concept in mask) and score > best.get(concept, (0.0, 0))[0]:
                best[concept] = (score, row)
        found = Candidates(
            rows=np.array(list(best), np.int32),
            scores=np.array([score for score, _ in best.values()], np.float32),
            names=np.array([row for _, row in best.values()], np.int32),
            kb=self.kb.version,
        )
        return found.sorted().top(self.k)

    def _named(self, norm: str) -> Iterator[tuple[int, int, Name | KbName]]:
        """Yield the names that may be meant by a text in normal form: name row, concept row and name."""
        if not norm:
            return
        if self.level != "family":
            yield from ((name.row, name.concept, name) for name in self.kb.find(norm))
            return
        key = _key(norm)
        keys, rows, concepts = self._families
        same = slice(*np.searchsorted(keys, [_digest(key), _digest(key) + 1]))
        for row, concept in zip(rows[same].tolist(), concepts[same].tolist(), strict=True):
            name = self.kb.name(row)
            if _key(basic(name.text)) == key:  # digests of different words may be the same
                yield row, concept, name

    def _score(self, name: Name | KbName, text: str) -> float:
        if name.text == text:
            return SCOPE_SCORES[name.scope]
        if self.level == "case":
            return 0.0
        alike = self.level == "basic" or basic(name.text) == basic(text)
        return SCOPE_SCORES[name.scope] * (OTHER_CASE if alike else OTHER_WORDS)

    @made_once
    def _families(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Digests of the word families of all names, ascending, with rows of names and concepts; built at first use."""
        keys, rows, concepts = array("q"), array("i"), array("i")
        for name in self.kb.names():
            if norm := basic(name.text):
                keys.append(_digest(_key(norm)))
                rows.append(name.row)
                concepts.append(name.concept)
        digests = np.array(keys, np.int64)
        order = np.argsort(digests, kind="stable")
        return digests[order], np.array(rows, np.int32)[order], np.array(concepts, np.int32)[order]


def _key(norm: str) -> str:
    """Return the families of the words of a name in normal form, in the order of the alphabet.

    Stop words are left out, but for letters ("vitamin A"), and where there is nothing else.
    """
    words = norm.split()
    telling = [word for word in words if len(word) == 1 or word not in STOPWORDS]
    return " ".join(sorted(family(word) for word in telling or words))


def _digest(key: str) -> int:
    """Return 62 bits of a hash, which an int64 holds, and its successor too."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2
