"""The columns by which a mention's candidates are compared, all of them from names, counts and the document's mentions.

`FEATURES` names them in order; `columns_of` adds those of further retrievers in a fusion. Nothing here looks at gold
answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnet.data import Candidates, Document
from linnet.errors import PipelineError
from linnet.rerank.counts import Counts, bag
from linnet.rerank.lexicon import Lexicon, Text
from linnet.text.normalise import basic
from linnet.text.queries import query_texts

__all__ = ["FEATURES", "GROUPS", "SEEN", "Floats", "Known", "columns_of", "further", "table"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]

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
COMPARED = (*GROUPS["names"], *GROUPS["designators"], *GROUPS["heads"], "names")  # what comparing names gives
PLACES_COMPARED = [PLACE[name] for name in COMPARED]
SMOOTHING = 0.1  # added to counts before their logarithm
BY_NAME, BY_VECTOR = "ngram", "dense"  # features of a fusion
HEARD = (BY_NAME, BY_VECTOR, "exact")  # have columns of their own: equal names are seen as such
OF_PART = ("", "_gap", "_rank")  # columns of any other part of a fusion
FEW = 256  # candidates that are faster compared with each other than sorted
SURE = 0.9  # a retrieval score from which the first candidate is taken for what is meant
MOST_APART = 2  # beyond it, systematic names with many locants would all be wrong
APART = 0.05  # what agreement in numbers and letters is worth beside the share of words when the best name is chosen


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


def table(doc: Document, known: Known, parts: Sequence[str] = ()) -> list[Floats]:
    """Return for each mention of a document float32 (candidates, features); the document needs abbreviations.

    NIL, of which nothing is known here, has zeros. `parts` are further parts of a fusion, whose scores are columns.

    Raises:
        PipelineError: candidates lack the scores of such a part.
    """
    mentions = doc.mentions or ()
    surfaces = [doc.surface(mention) for mention in mentions]
    queries = query_texts(doc)
    keys = [basic(query) for query in queries]
    lists = [_real(mention.candidates) for mention in mentions]
    matcher = _Matcher(known.lexicon)
    tables = []
    for place, candidates in enumerate(lists):
        columns = np.zeros((len(PLAIN) + len(OF_PART) * len(parts), len(candidates)), np.float32)
        if len(candidates):
            query, surface = queries[place], surfaces[place]
            _retrieval(columns, candidates)
            _parts(columns[len(PLAIN) :], candidates, parts)
            matcher.put(columns, candidates.rows, query, surface)
            _aliases(columns, candidates.rows, (keys[place], basic(surface), bag(query)), known.counts)
            _popularity(columns, candidates.rows, known, mentions[place].types)
        tables.append(columns)
    _document(tables, lists, keys, known)
    out = []
    for columns, key, mention in zip(tables, keys, mentions, strict=True):
        seen = any(known.counts.names.get(key, {}).values())
        out.append(_all(np.concatenate([columns, columns * np.float32(seen)]).T, mention.candidates))
    return out


def _real(candidates: Candidates | None) -> Candidates:
    """Return the candidates that are concepts."""
    candidates = Candidates.none() if candidates is None else candidates
    real = candidates.rows >= 0
    return candidates if real.all() else candidates.take(np.flatnonzero(real))


def _all(columns: Floats, candidates: Candidates | None) -> Floats:
    """Return the rows of concepts among rows of zeros for NIL."""
    if candidates is None or len(columns) == len(candidates):
        return columns
    whole = np.zeros((len(candidates), columns.shape[1]), np.float32)
    whole[candidates.rows >= 0] = columns
    return whole


def _put(columns: Floats, **values: npt.ArrayLike) -> None:
    for name, value in values.items():
        columns[PLACE[name]] = value


def _retrieval(columns: Floats, candidates: Candidates) -> None:
    """Put the scores of a retriever of names, and of one by vectors where a fusion has both."""
    features = candidates.features
    scores = features.get(BY_NAME, features.get("retrieval", candidates.scores))
    _put(columns, score=scores, score_gap=scores - scores.max(), rank=np.log1p(_ranks(scores)))
    if (dense := features.get(BY_VECTOR)) is not None:
        _put(columns, dense=dense, dense_gap=dense - dense.max(), dense_rank=np.log1p(_ranks(dense)))


def _parts(columns: Floats, candidates: Candidates, parts: Sequence[str]) -> None:
    """Put the scores of further parts of a fusion."""
    for place, part in enumerate(parts):
        scores = candidates.features.get(part)
        if scores is None:
            raise PipelineError(
                f"lexical was trained with the scores of {part} in a fusion, which candidates lack: "
                "link with the retrievers it was trained behind, or train it again"
            )
        own = columns[len(OF_PART) * place :]
        own[0], own[1], own[2] = scores, scores - scores.max(), np.log1p(_ranks(scores))


def _ranks(scores: Floats) -> Ints:
    if len(scores) < FEW:
        ranks: Ints = (scores[None, :] > scores[:, None]).sum(axis=1)
        return ranks
    return np.searchsorted(np.sort(-scores), -scores)


# --- names -----------------------------------------------------------------------------------------------------------


class _Matcher:
    """Compares texts with all names of candidates; equal questions within one document are answered once."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        # weights of the words that are asked for, zero elsewhere: filled and emptied for each text
        self.asked = np.zeros(len(lexicon.words) + 1, np.float32)
        self.apart = np.zeros(len(lexicon.words) + 1, np.int16)
        self.texts: dict[str, Text] = {}
        self.answered: dict[tuple[str, str, bytes], Floats] = {}

    def put(self, columns: Floats, rows: Rows, query: str, surface: str) -> None:
        """Fill the columns of names."""
        key = (query, surface, rows.tobytes())
        if key not in self.answered:
            texts = [self.texts.setdefault(text, self.lexicon.text(text)) for text in (query, surface)]
            self.asked[texts[0].words] = self.lexicon.weights[texts[0].words]
            self.apart[texts[0].words] = self.lexicon.apart[texts[0].words]
            values = self._compare(rows, *texts)
            self.asked[texts[0].words] = 0
            self.apart[texts[0].words] = 0
            self.answered[key] = np.array([np.broadcast_to(values[name], len(rows)) for name in COMPARED], np.float32)
        columns[PLACES_COMPARED] = self.answered[key]

    def _compare(self, rows: Rows, query: Text, surface: Text) -> dict[str, npt.ArrayLike]:
        lexicon = self.lexicon
        names, of, starts = _ranges(lexicon.concept_starts[rows], lexicon.concept_starts[rows + 1])
        first_words = lexicon.name_starts[names[starts]]
        places, _, ahead = _ranges(first_words, lexicon.name_starts[lexicon.concept_starts[rows + 1]])
        words = lexicon.name_words[places]
        word_starts = lexicon.name_starts[names] - (first_words - ahead)[of]
        shared = np.add.reduceat(self.asked[words], word_starts)
        apart = np.add.reduceat(self.apart[words], word_starts) if query.apart else np.zeros(len(names), np.int16)
        missing, extra = query.apart - apart, lexicon.name_apart[names] - apart
        f1 = 2 * shared / (query.weight + lexicon.weight[names])
        exact = lexicon.keys[names] == query.key
        worth = f1 - APART * (missing > 0) - APART * (extra > 0) + exact
        best = _firsts(worth >= np.maximum.reduceat(worth, starts)[of], starts)
        any_exact = np.logical_or.reduceat(exact, starts)
        best_f1 = f1[best]
        heads = lexicon.heads[names[best]]
        return {
            "f1": best_f1,
            "f1_gap": best_f1 - best_f1.max(),
            "f1_mean": np.add.reduceat(f1, starts) / np.diff(np.append(starts, len(names))),
            "f1_preferred": f1[starts],
            "covered": shared[best] / query.weight,
            "covering": shared[best] / lexicon.weight[names[best]],
            "exact": any_exact,
            "exact_share": any_exact / max(int(any_exact.sum()), 1),
            "verbatim": np.logical_or.reduceat(lexicon.raws[names] == query.raw, starts),
            "preferred": exact[starts],
            "scope": lexicon.scopes[names[best]],
            "surface_exact": np.logical_or.reduceat(lexicon.keys[names] == surface.key, starts),
            "apart_missing": missing[best],
            "apart_extra": np.minimum(extra[best], MOST_APART),
            "head_found": self._holds(names[best], query.head),
            "head_meant": (heads >= 0) & (self.asked[np.maximum(heads, 0)] > 0),
            "names": np.log(np.diff(np.append(starts, len(names)))),
        }

    def _holds(self, names: Ints, word: int) -> npt.ArrayLike:
        """Say which names hold a word."""
        if word < 0:
            return 0.0
        places, _, starts = _ranges(self.lexicon.name_starts[names], self.lexicon.name_starts[names + 1])
        return np.logical_or.reduceat(self.lexicon.name_words[places] == word, starts)


def _firsts(chosen: npt.NDArray[np.bool_], starts: Ints) -> Ints:
    """Return the first chosen element of each list; every list has one."""
    places = np.flatnonzero(chosen)
    return places[np.searchsorted(places, starts)]


def _ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return all numbers of some ranges, which range each is of, and where each range begins among the numbers."""
    lengths = ends - begins
    firsts = np.cumsum(lengths) - lengths
    of = np.repeat(np.arange(len(begins)), lengths)
    return np.arange(len(of)) + (begins - firsts)[of], of, firsts


# --- counts ----------------------------------------------------------------------------------------------------------


def _aliases(columns: Floats, rows: Rows, texts: tuple[str, str, str], counts: Counts) -> None:
    query, surface, words = texts
    for name, found in (
        ("alias_query", counts.names.get(query)),
        ("alias_surface", counts.names.get(surface)),
        ("alias_bag", counts.bags.get(words)),
    ):
        values, total = _counted(found, rows)
        _put(columns, **{name: np.log((values + SMOOTHING) / (total + 1))})
        if name == "alias_query":
            _put(columns, alias_count=np.log1p(values), alias_found=values > 0)


def _counted(found: Counter[int] | None, rows: Rows) -> tuple[Floats, int]:
    """Return how often each of `rows` was counted, and how often any row was."""
    values = np.zeros(len(rows), np.float32)
    for row, count in (found or {}).items():
        values[rows == row] = count
    return values, sum((found or {}).values())


def _popularity(columns: Floats, rows: Rows, known: Known, mention_types: Sequence[str]) -> None:
    lexicon, counts = known.lexicon, known.counts
    prior = np.fromiter((counts.concepts.get(row, 0) for row in rows.tolist()), np.float32, len(rows))
    types, of, _ = _ranges(lexicon.type_starts[rows], lexicon.type_starts[rows + 1])
    kinds = lexicon.types[types]
    by_type = [known.by_type[kind] for kind in mention_types if kind in known.by_type]
    _put(
        columns,
        prior=np.log(prior + 0.5),
        prior_found=prior > 0,
        prefix=known.prefixes[lexicon.prefixes[rows]],
        kind=_best(known.kinds, kinds, of, len(rows)),
        children=np.log1p(lexicon.children[rows]),
    )
    if by_type:
        _put(columns, kind_of_mention=np.max([_best(shares, kinds, of, len(rows)) for shares in by_type], axis=0))


def _best(shares: Floats, kinds: Rows, of: Ints, count: int) -> Floats:
    """Return for each candidate the share of the most frequent of its types, or of having none."""
    best = np.full(count, -np.inf, np.float32)
    np.maximum.at(best, of, shares[kinds])
    return np.where(np.isfinite(best), best, shares[-1])


# --- the document ----------------------------------------------------------------------------------------------------


def _document(tables: Sequence[Floats], lists: Sequence[Candidates], keys: Sequence[str], known: Known) -> None:
    """Say of each candidate whether other names in the document, at first sight, mean it or a neighbour of it."""
    guesses = {(key, _first_sight(columns, found)) for columns, found, key in zip(tables, lists, keys, strict=True)}
    votes = Counter(row for _, row in guesses if row >= 0)
    lexicon = known.lexicon
    for columns, candidates, key in zip(tables, lists, keys, strict=True):
        own = {row for other, row in guesses if other == key}
        others = {row: count - (row in own) for row, count in votes.items() if count > (row in own)}
        if not others or not len(candidates):
            continue
        rows = candidates.rows
        counted, _ = _counted(Counter(others), rows)
        others_rows = np.fromiter(others, np.int64, len(others))
        starts = lexicon.parent_starts
        theirs = lexicon.parents[_ranges(starts[others_rows], starts[others_rows + 1])[0]]
        places, of, _ = _ranges(starts[rows], starts[rows + 1])
        parents = lexicon.parents[places]
        _put(
            columns,
            elsewhere=counted > 0,
            elsewhere_count=np.log1p(counted),
            parent_elsewhere=_any(np.isin(parents, others_rows), of, len(rows)),
            child_elsewhere=np.isin(rows, theirs),
            sibling_elsewhere=_any(np.isin(parents, theirs), of, len(rows)),
        )


def _any(values: npt.NDArray[np.bool_], of: Ints, count: int) -> Floats:
    return (np.bincount(of, values, minlength=count) > 0).astype(np.float32)


def _first_sight(columns: Floats, candidates: Candidates) -> int:
    """Return the row that a mention most likely means by itself, -1 if nothing is sure enough."""
    if not len(candidates):
        return -1
    counts = columns[PLACE["alias_count"]]
    if counts.any():
        return _lowest(candidates, counts)
    exact = columns[PLACE["exact_share"]]
    if exact.max() == 1:
        return _lowest(candidates, exact)
    scores = columns[PLACE["score"]]
    return _lowest(candidates, scores) if scores.max() > SURE else -1


def _lowest(candidates: Candidates, values: Floats) -> int:
    """Return the lowest row of the highest value, whatever the order of the candidates."""
    return int(candidates.rows[values == values.max()].min())
