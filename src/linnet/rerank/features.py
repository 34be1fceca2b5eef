"""The columns by which a mention's candidates are compared, all of them from names, counts and the document's mentions.

`FEATURES` names them in order; `columns_of` adds those of further retrievers in a fusion. Nothing here looks at gold
answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document
from linnet.errors import PipelineError
from linnet.rerank.asked import Asked, Bools, Floats, Ints, Rows, is_among, pairs, ranges
from linnet.rerank.compared import COMPARED, compare
from linnet.rerank.counts import Counts, bag
from linnet.rerank.lexicon import Lexicon
from linnet.text.normalise import basic

__all__ = ["FEATURES", "GROUPS", "SEEN", "Floats", "Known", "columns_of", "further", "table"]

# Columns by ingredient: what ``omit`` of `linnet.rerank.lexical.Lexical` takes away together.
GROUPS: dict[str, tuple[str, ...]] = {
    "retrieval": ("score", "score_gap", "rank"),
    "dense": ("dense", "dense_gap", "dense_rank"),
    "names": (
        "f1", "f1_gap", "f1_mean", "f1_preferred", "covered", "covering", "exact", "exact_share", "verbatim",
        "preferred", "scope", "surface_exact",
    ),
    "designators": ("apart_missing", "apart_extra"),
    "heads": ("head_found", "head_meant"),
    "aliases": ("alias_query", "alias_surface", "alias_bag", "alias_count", "alias_found"),
    "popularity": ("prior", "prior_found", "prefix", "kind", "names", "children"),
    "mention types": ("kind_of_mention",),
    "document": ("elsewhere", "elsewhere_count", "parent_elsewhere", "child_elsewhere", "sibling_elsewhere"),
}  # fmt: skip
PLAIN = tuple(name for names in GROUPS.values() for name in names)
SEEN = "seen "
FUSED = "fused "
# Each column stands twice: for all mentions, and for those whose text was counted; what is said of a name elsewhere
# matters more than what it looks like, and a linear model has to be told.
FEATURES = (*PLAIN, *(SEEN + name for name in PLAIN))
PLACE = {name: place for place, name in enumerate(PLAIN)}
PLACES_COMPARED = [PLACE[name] for name in COMPARED]
SMOOTHING = 0.1  # added to counts before their logarithm
BY_NAME, BY_VECTOR = "ngram", "dense"  # features of a fusion
HEARD = (BY_NAME, BY_VECTOR, "exact")  # have columns of their own: equal names are seen as such
OF_PART = ("", "_gap", "_rank")  # columns of any other part of a fusion
SURE = 0.9  # a retrieval score from which the first candidate is taken for what is meant
NOTHING: Counter[int] = Counter()


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of concepts before a mention is seen: names and neighbours, counts, and shares made of them.

    ``kinds`` and ``prefixes`` float32 (types), (prefixes): logarithms of shares among the counted mentions; ``by_type``
    gives the same of ``kinds`` for each mention type.
    """

    lexicon: Lexicon
    counts: Counts
    kinds: Floats
    prefixes: Floats
    by_type: dict[str, Floats]

    @classmethod
    def of(cls, lexicon: Lexicon, counts: Counts) -> Known:
        """Return what follows from counts."""
        prefixes = np.zeros(int(lexicon.prefixes.max(initial=-1)) + 1)
        for row, count in counts.concepts.items():
            prefixes[lexicon.prefixes[row]] += count
        by_type = {kind: _shares(lexicon, rows) for kind, rows in counts.types.items()}
        return cls(lexicon, counts, _shares(lexicon, counts.concepts), _log_shares(prefixes), by_type)

    def minus(self, counts: Counts) -> Known:
        """Return the same without some counts; shares over all mentions stay, for a document hardly moves them."""
        return Known(self.lexicon, self.counts.minus(counts), self.kinds, self.prefixes, self.by_type)


def _shares(lexicon: Lexicon, rows: Counter[int]) -> Floats:
    kinds = np.zeros(int(lexicon.types.max(initial=-1)) + 2)  # the last is for concepts without a type
    for row, count in rows.items():
        own = lexicon.types[lexicon.type_starts[row] : lexicon.type_starts[row + 1]]
        kinds[own if len(own) else -1] += count
    return _log_shares(kinds)


def _log_shares(counts: npt.NDArray[np.float64]) -> Floats:
    shares: Floats = np.log((counts + SMOOTHING) / (counts.sum() + SMOOTHING)).astype(np.float32)
    return shares


def further(names: Iterable[str]) -> tuple[str, ...]:
    """Return those parts of a fusion, by name, that have no columns in `FEATURES`.

    >>> further(["exact", "ngram", "dense", "bm25"])
    ('bm25',)
    """
    return tuple(name for name in names if name not in HEARD)


def columns_of(parts: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of all columns, in order: `FEATURES`, and those of further parts of a fusion.

    >>> [name for name in columns_of(["bm25"]) if name not in FEATURES][:3]
    ['fused bm25', 'fused bm25_gap', 'fused bm25_rank']
    """
    plain = (*PLAIN, *(f"{FUSED}{part}{what}" for part in parts for what in OF_PART))
    return (*plain, *(SEEN + name for name in plain))


def table(docs: Sequence[Document], known: Known, parts: Sequence[str] = ()) -> tuple[Floats, Ints]:
    """Return float32 (candidates, features) of all mentions of documents, and how many candidates each mention has.

    The documents need abbreviations. NIL, of which nothing is known here, has zeros. What is said of one document does
    not depend on the others. `parts` are further parts of a fusion, whose scores are columns.

    Raises:
        PipelineError: candidates lack the scores of such a part.
    """
    asked = Asked.by(docs)
    columns = np.zeros((len(PLAIN) + len(OF_PART) * len(parts), len(asked.rows)), np.float32)
    if len(asked.rows):
        _retrieval(columns, asked)
        _parts(columns[len(PLAIN) :], asked, parts)
        columns[PLACES_COMPARED] = compare(asked, known.lexicon)
        _aliases(columns, asked, known.counts)
        _popularity(columns, asked, known)
        _document(columns, asked, known.lexicon)
    seen = np.array([any(known.counts.names.get(one.key, {}).values()) for one in asked.questions], np.float32)
    columns = np.concatenate([columns, columns * seen[asked.of]])
    if not asked.real.all():
        whole = np.zeros((len(columns), len(asked.real)), np.float32)
        whole[:, asked.real] = columns
        columns = whole
    return columns.T, asked.lengths


def _put(columns: Floats, **values: npt.ArrayLike) -> None:
    for name, value in values.items():
        columns[PLACE[name]] = value


def _retrieval(columns: Floats, asked: Asked) -> None:
    """Put the scores of a retriever of names, and of one by vectors where a fusion has both."""
    names, vectors = ([PLACE[name] for name in GROUPS[kind]] for kind in ("retrieval", "dense"))
    columns[names] = _scores(asked, lambda one: one.features.get(BY_NAME, one.features.get("retrieval", one.scores)))
    if any(BY_VECTOR in one.candidates.features for one in asked.questions):
        columns[vectors] = _scores(asked, lambda one: one.features.get(BY_VECTOR, np.zeros(len(one), np.float32)))


def _parts(columns: Floats, asked: Asked, parts: Sequence[str]) -> None:
    """Put the scores of further parts of a fusion."""
    for place, part in enumerate(parts):
        if any(part not in one.candidates.features for one in asked.questions):
            raise PipelineError(
                f"lexical was trained with the scores of {part} in a fusion, which candidates lack: "
                "link with the retrievers it was trained behind, or train it again"
            )
        own = columns[len(OF_PART) * place :][: len(OF_PART)]
        own[:] = _scores(asked, lambda one: one.features[part])  # noqa: B023 - called at once


def _scores(asked: Asked, value: Callable[[Candidates], Floats]) -> Floats:
    """Return scores, how far they are from the best of their mention, and their ranks (3, candidates)."""
    scores = asked.column(value)
    return np.array([scores, scores - asked.most(scores)[asked.of], np.log1p(asked.ranks(scores))], np.float32)


# --- counts ----------------------------------------------------------------------------------------------------------


def _aliases(columns: Floats, asked: Asked, counts: Counts) -> None:
    for name, found in (
        ("alias_query", [counts.names.get(one.key, NOTHING) for one in asked.questions]),
        ("alias_surface", [counts.names.get(basic(one.surface), NOTHING) for one in asked.questions]),
        ("alias_bag", [counts.bags.get(bag(one.query), NOTHING) for one in asked.questions]),
    ):
        values = asked.counted(found)
        totals = np.array([sum(one.values()) for one in found], np.float32)
        _put(columns, **{name: np.log((values + SMOOTHING) / (totals + 1)[asked.of])})
        if name == "alias_query":
            _put(columns, alias_count=np.log1p(values), alias_found=values > 0)


def _popularity(columns: Floats, asked: Asked, known: Known) -> None:
    lexicon, rows = known.lexicon, asked.rows
    prior = asked.counted([known.counts.concepts], np.zeros(len(rows), np.int64))
    types, of, _ = ranges(lexicon.type_starts[rows], lexicon.type_starts[rows + 1])
    kinds = lexicon.types[types]
    _put(
        columns,
        prior=np.log(prior + 0.5),
        prior_found=prior > 0,
        prefix=known.prefixes[lexicon.prefixes[rows]],
        kind=_best(known.kinds, kinds, of, len(rows)),
        children=np.log1p(lexicon.children[rows]),
    )
    for some in {one.types for one in asked.questions}:
        shares = [_best(known.by_type[kind], kinds, of, len(rows)) for kind in some if kind in known.by_type]
        if shares:
            theirs = np.array([one.types == some for one in asked.questions])[asked.of]
            columns[PLACE["kind_of_mention"], theirs] = np.max(shares, axis=0)[theirs]


def _best(shares: Floats, kinds: Rows, of: Ints, count: int) -> Floats:
    """Return for each candidate the share of the most frequent of its types, or of having none."""
    best = np.full(count, -np.inf, np.float32)
    np.maximum.at(best, of, shares[kinds])
    return np.where(np.isfinite(best), best, shares[-1])


# --- the document ----------------------------------------------------------------------------------------------------


def _document(columns: Floats, asked: Asked, lexicon: Lexicon) -> None:
    """Say of each candidate whether other names in the document, at first sight, mean it or a neighbour of it."""
    names = [(one.document, one.key) for one in asked.questions]
    guesses: dict[tuple[int, str], Counter[int]] = {name: Counter() for name in names}
    for name, row in zip(names, _first_sight(columns, asked).tolist(), strict=True):
        guesses[name] |= Counter([row] if row >= 0 else [])
    votes: dict[int, Counter[int]] = {document: Counter() for document, _ in names}
    for (document, _), rows in guesses.items():
        votes[document] += rows
    others = {name: votes[name[0]] - rows for name, rows in guesses.items()}
    numbers = {name: number for number, name in enumerate(others)}
    of = np.array([numbers[name] for name in names])[asked.of]
    counted = asked.counted([*others.values()], of)
    meant = pairs([*others.values()])[:2]
    places, owners, _ = ranges(lexicon.parent_starts[meant[1]], lexicon.parent_starts[meant[1] + 1])
    above = meant[0][owners], lexicon.parents[places].astype(np.int64)
    places, child, _ = ranges(lexicon.parent_starts[asked.rows], lexicon.parent_starts[asked.rows + 1])
    parents = of[child], lexicon.parents[places]
    _put(
        columns,
        elsewhere=counted > 0,
        elsewhere_count=np.log1p(counted),
        parent_elsewhere=_any(is_among(meant, parents), child, len(of)),
        child_elsewhere=is_among(above, (of, asked.rows)),
        sibling_elsewhere=_any(is_among(above, parents), child, len(of)),
    )


def _any(values: Bools, of: Ints, count: int) -> Floats:
    return (np.bincount(of, values, minlength=count) > 0).astype(np.float32)


def _first_sight(columns: Floats, asked: Asked) -> Ints:
    """Return the row that each mention most likely means by itself, -1 if nothing is sure enough.

    Of several it is the lowest row, whatever the order of the candidates.
    """
    counts, exact, scores = (columns[PLACE[name]] for name in ("alias_count", "exact_share", "score"))
    counted, matched, near = asked.most(counts) > 0, asked.most(exact) == 1, asked.most(scores) > SURE
    values = np.where(counted[asked.of], counts, np.where(matched[asked.of], exact, scores))
    best = values == asked.most(values)[asked.of]
    rows = np.minimum.reduceat(np.where(best, asked.rows, np.iinfo(np.int32).max), asked.starts)
    return np.where(counted | matched | near, rows, -1)
