"""Slices of a corpus that are hard for different reasons: masks over the gold mentions of a `Linked` table.

`SLICES` says what each of them is and what it needs beside the documents. Surfaces are compared in the form of
`linnet.text.normalise.basic`, as written: abbreviations are not written out. The concepts of a mention are those of
its first answer that names any (``concepts``, then ``alternatives``), as live ids; NIL mentions are in no slice of
concepts.

The ``genbioel.*`` slices are those that Yuan et al. 2022 tabulate after Varma et al. 2021. That paper writes
abbreviations out before it counts words and looks mentions up; here texts stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from linnet.data import Document, Mention
from linnet.errors import DataError
from linnet.evaluate.linked import Linked
from linnet.evaluate.seen import POPULAR, TrainingMentions
from linnet.kb import KnowledgeBase
from linnet.kb.successors import row_of, successor
from linnet.text.abbreviations import find_abbreviations
from linnet.text.normalise import basic
from linnet.text.sentences import split_sentences
from linnet.text.short_forms import ShortForms

__all__ = ["SLICES", "Slice", "slices"]

Bools = npt.NDArray[np.bool_]
Need = Literal["", "train", "kb"]


class Slice(NamedTuple):
    """What a slice holds, and what must be given for it: ``train``, ``kb``, or nothing more."""

    needs: Need
    says: str


SLICES: Mapping[str, Slice] = {
    "seen-mention": Slice("train", "the surface occurs as a training mention"),
    "unseen-mention": Slice("train", "the surface does not occur as a training mention"),
    "seen-concept": Slice("train", "every concept has a training mention"),
    "zero-shot": Slice("train", "a concept has no training mention"),
    "seen-pair": Slice("train", "the surface was annotated with every concept in training"),
    "frequency.0": Slice("train", "the rarest concept has no training mention"),
    "frequency.1": Slice("train", "the rarest concept has one training mention"),
    "frequency.2-5": Slice("train", "the rarest concept has 2 to 5 training mentions"),
    "frequency.6-20": Slice("train", "the rarest concept has 6 to 20 training mentions"),
    "frequency.>20": Slice("train", "the rarest concept has more than 20 training mentions"),
    "homonym": Slice("kb", "the surface is a name of two or more concepts"),
    "exact-name": Slice("kb", "the surface is a name of a concept of an accepted answer"),
    "not-exact-name": Slice("kb", "the surface is not a name of any concept of an accepted answer"),
    "similarity.1": Slice("kb", "the surface has the character trigrams of a name of its concept"),
    "similarity.0.8": Slice("kb", "the nearest name has a Jaccard similarity of trigrams of 0.8 or more, below 1"),
    "similarity.0.5": Slice("kb", "the nearest name has a Jaccard similarity of trigrams of 0.5 or more, below 0.8"),
    "similarity.0": Slice("kb", "the nearest name has a Jaccard similarity of trigrams below 0.5, or there is none"),
    "abbreviation": Slice("", "the mention is a short form that the document defines"),
    "nested": Slice("", "the mention lies inside another one, or another one inside it"),
    "discontinuous": Slice("", "the mention has several parts"),
    "composite": Slice("", "the answer names several concepts"),
    "words.1": Slice("", "the surface is one word; words are separated by blanks"),
    "words.2": Slice("", "the surface is two words"),
    "words.3": Slice("", "the surface is three words"),
    "words.4+": Slice("", "the surface is four words or more"),
    "genbioel.single-word": Slice("", "words.1"),
    "genbioel.multi-word": Slice("", "more than one word"),
    "genbioel.unseen-mention": Slice("train", "unseen-mention"),
    "genbioel.unseen-concept": Slice("train", "zero-shot"),
    "genbioel.popular-concept": Slice("train", f"every concept is one of the {POPULAR} most frequent in training"),
    "genbioel.not-direct-match": Slice("kb", "not-exact-name"),
}


def slices(
    linked: Linked, *, kb: KnowledgeBase | None, train: Sequence[Document] | TrainingMentions | None = None
) -> dict[str, Bools]:
    """Return the slices in the order of `SLICES`, then ``type.T`` for each type T of a gold mention, by name.

    Every mask is bool (mentions,) over all rows of `linked`, whatever a protocol counts.

    Args:
        linked: gold mentions with their documents, as `Linked.of` makes it.
        kb: maps retired ids and gives names; None = the slices that need it are left out.
        train: documents with gold mentions, or their sum; None = the slices that need it are left out.

    Raises:
        DataError: `linked` was made without its documents.

    >>> gold = Document("a", "Atrial septal defect (ASD).", mentions=(Mention(0, 20, concepts=("HP:1",)),
    ...                 Mention(22, 25, concepts=("HP:1",))))
    >>> found = slices(Linked.of([(gold, gold)], kb=None), kb=None)
    >>> found["abbreviation"].tolist(), found["words.3"].tolist(), "zero-shot" in found
    ([False, True], [True, False], False)
    """
    if len(linked.texts) != len(linked.documents):
        raise DataError("slices need the documents of the mentions: make the table with Linked.of")
    live = successor(kb)
    surfaces = [linked.texts[at].surface(mention) for at, mention in zip(linked.doc.tolist(), linked.gold, strict=True)]
    norms = _map_once(basic, surfaces)
    concepts = [_concepts(mention, live) for mention in linked.gold]
    found = _of_texts(linked, surfaces, concepts)
    if train is not None:
        found |= _of_train(
            train if isinstance(train, TrainingMentions) else TrainingMentions.of(train, kb=kb), norms, concepts
        )
    if kb is not None:
        found |= _of_names(kb, norms, concepts, [_accepted(mention, live) for mention in linked.gold])
    return {name: found[name] for name in SLICES if name in found} | _of_types(linked)


def _concepts(mention: Mention, live: Callable[[str], str]) -> tuple[str, ...]:
    answer = next(filter(None, (mention.concepts, *mention.alternatives)), ())
    return tuple(dict.fromkeys(map(live, answer)))


def _accepted(mention: Mention, live: Callable[[str], str]) -> frozenset[str]:
    return frozenset(live(id) for answer in (mention.concepts or (), *mention.alternatives) for id in answer)


def _map_once(function: Callable[[str], str], texts: Sequence[str]) -> list[str]:
    """Return the values of `function`, each text looked at once: corpora repeat themselves."""
    known = {text: function(text) for text in set(texts)}
    return [known[text] for text in texts]


def _column(values: Iterable[object]) -> Bools:
    return np.fromiter(map(bool, values), np.bool_)


# --- from the documents ----------------------------------------------------------------------------------------------


def _of_texts(linked: Linked, surfaces: Sequence[str], concepts: Sequence[tuple[str, ...]]) -> dict[str, Bools]:
    words = np.array([len(surface.split()) for surface in surfaces], np.int64)
    rows = np.searchsorted(linked.doc, np.arange(len(linked.documents) + 1))  # rows of a document follow each other
    short, nested = np.zeros(len(linked), np.bool_), np.zeros(len(linked), np.bool_)
    for doc, first, last in zip(linked.texts, rows.tolist(), rows[1:].tolist(), strict=False):
        if first < last:
            short[first:last] = _short(doc, linked.gold[first:last])
            nested[first:last] = _nested(linked.gold[first:last], doc.mentions or ())
    return {
        "abbreviation": short,
        "nested": nested,
        "discontinuous": _column(mention.parts for mention in linked.gold),
        "composite": _column(len(ids) > 1 for ids in concepts),
        "words.1": words == 1,
        "words.2": words == 2,
        "words.3": words == 3,
        "words.4+": words >= 4,
        "genbioel.single-word": words == 1,
        "genbioel.multi-word": words > 1,
    }


def _short(doc: Document, mentions: Sequence[Mention]) -> list[bool]:
    """Return which mentions are short forms; abbreviations that were not looked for yet are looked for here."""
    borders = [start for start, _ in doc.sentences or ()]
    abbreviations = doc.abbreviations
    if abbreviations is None:
        sentences = split_sentences(doc.text) if "(" in doc.text or "[" in doc.text else ()
        abbreviations = find_abbreviations(doc.text, sentences)
        borders = borders or [start for start, _ in sentences]
    forms = ShortForms(doc.text, abbreviations)
    return [
        bool(forms)
        and not mention.parts
        and forms.meaning(doc.text, mention.start, mention.end, borders=borders) is not None
        for mention in mentions
    ]


def _nested(mentions: Sequence[Mention], others: Sequence[Mention]) -> list[bool]:
    """Return which hulls lie inside the hull of one of `others`, or around one, and are not the same."""
    spans = sorted({other.span for other in others}, key=lambda span: (span.start, -span.end))
    within: set[tuple[int, int]] = set()
    around: set[tuple[int, int]] = set()
    opened: list[tuple[int, int]] = []
    for span in spans:  # what begins earlier, or is longer, comes first: only that can hold this one
        opened = [other for other in opened if other[1] > span.start]
        holding = [other for other in opened if other[1] >= span.end]
        around.update(holding)
        if holding:
            within.add(span)
        opened.append(span)
    return [mention.span in within or mention.span in around for mention in mentions]


def _of_types(linked: Linked) -> dict[str, Bools]:
    rows: dict[str, list[int]] = {}
    for at, mention in enumerate(linked.gold):
        for kind in mention.types:
            rows.setdefault(kind, []).append(at)
    found = {f"type.{kind}": np.zeros(len(linked), np.bool_) for kind in sorted(rows)}
    for kind, own in rows.items():
        found[f"type.{kind}"][own] = True
    return found


# --- from training documents -----------------------------------------------------------------------------------------


def _of_train(seen: TrainingMentions, norms: Sequence[str], concepts: Sequence[tuple[str, ...]]) -> dict[str, Bools]:
    known = _column(norm in seen.surfaces for norm in norms)
    counts = np.array([min((seen.concepts.get(id, 0) for id in ids), default=-1) for ids in concepts], np.int64)
    popular = seen.popular()
    pairs = (ids and all((norm, id) in seen.pairs for id in ids) for norm, ids in zip(norms, concepts, strict=True))
    return {
        "seen-mention": known,
        "unseen-mention": ~known,
        "seen-concept": counts > 0,
        "zero-shot": counts == 0,
        "seen-pair": _column(pairs),
        "frequency.0": counts == 0,
        "frequency.1": counts == 1,
        "frequency.2-5": (counts >= 2) & (counts <= 5),
        "frequency.6-20": (counts >= 6) & (counts <= 20),
        "frequency.>20": counts > 20,
        "genbioel.unseen-mention": ~known,
        "genbioel.unseen-concept": counts == 0,
        "genbioel.popular-concept": _column(ids and popular.issuperset(ids) for ids in concepts),
    }


# --- from the names of concepts --------------------------------------------------------------------------------------


def _of_names(
    kb: KnowledgeBase,
    norms: Sequence[str],
    concepts: Sequence[tuple[str, ...]],
    accepted: Sequence[frozenset[str]],
) -> dict[str, Bools]:
    owners = {norm: {kb.id(name.concept) for name in kb.find(norm)} if norm else set() for norm in set(norms)}
    exact = _column(not owners[norm].isdisjoint(ids) for norm, ids in zip(norms, accepted, strict=True))
    named = _column(ids for ids in concepts)
    names = _Trigrams(kb)
    near = np.array([names.similarity(norm, ids) for norm, ids in zip(norms, accepted, strict=True)], np.float64)
    return {
        "homonym": _column(len(owners[norm]) > 1 for norm in norms),
        "exact-name": exact,
        "not-exact-name": named & ~exact,
        "similarity.1": named & (near == 1),
        "similarity.0.8": named & (near >= 0.8) & (near < 1),
        "similarity.0.5": named & (near >= 0.5) & (near < 0.8),
        "similarity.0": named & (near < 0.5),
        "genbioel.not-direct-match": named & ~exact,
    }


class _Trigrams:
    """Jaccard similarity between a surface and the nearest name of concepts, in sets of character trigrams."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._names: dict[str, list[frozenset[str]]] = {}
        self._known: dict[tuple[str, str], float] = {}

    def similarity(self, norm: str, ids: Iterable[str]) -> float:
        """Return the similarity of the nearest name of any of the concepts, 0 where there is none."""
        return max((self._nearest(norm, id) for id in ids), default=0.0)

    def _nearest(self, norm: str, id: str) -> float:
        found = self._known.get((norm, id))
        if found is None:
            ours = _trigrams(norm)
            shares = ((len(ours & name), len(ours) + len(name)) for name in self._of(id))
            found = self._known[norm, id] = max((both / (all_ - both) for both, all_ in shares if both), default=0.0)
        return found

    def _of(self, id: str) -> list[frozenset[str]]:
        if id not in self._names:
            row = row_of(self.kb)(id)
            names = () if row is None else self.kb.names([row])
            self._names[id] = [_trigrams(norm) for norm in dict.fromkeys(basic(name.text) for name in names) if norm]
        return self._names[id]


def _trigrams(norm: str) -> frozenset[str]:
    padded = f" {norm} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))
