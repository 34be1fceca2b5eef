from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention
from linnet.errors import PipelineError
from linnet.kb import KnowledgeBase
from linnet.rerank.counts import Counts
from linnet.rerank.features import FEATURES, GROUPS, PLAIN, Floats, Known, columns_of, further, table
from linnet.rerank.lexicon import GREEK, Lexicon, name_words
from linnet.text.normalise import basic

from .conftest import document


@pytest.fixture(scope="module")
def known(mesh: KnowledgeBase, corpus: list[Document]) -> Known:
    return Known.of(Lexicon.build(mesh), Counts.of(corpus, mesh))


def asked(mesh: KnowledgeBase, *texts: str, rows: list[int] | None = None, types: tuple[str, ...] = ()) -> Document:
    doc = document(0, [(text, "MESH:1") for text in texts]).spans_only()
    rows = list(range(len(mesh))) if rows is None else rows
    scores = np.linspace(1, 0.5, len(rows), dtype=np.float32)
    found = Candidates(np.array(rows, np.int32), scores, kb=mesh.version)
    mentions = tuple(replace(m, candidates=found, types=types) for m in doc.mentions or ())
    return replace(doc, mentions=mentions, sentences=(), abbreviations=())


def tables(docs: list[Document], known: Known, parts: tuple[str, ...] = ()) -> list[Floats]:
    columns, lengths = table(docs, known, parts)
    assert len(columns) == lengths.sum()
    return np.split(columns, np.cumsum(lengths)[:-1]) if len(lengths) else []


def column(doc: Document, known: Known, name: str, mention: int = 0) -> dict[int, float]:
    candidates = (doc.mentions or ())[mention].candidates
    assert candidates is not None
    values = tables([doc], known)[mention][:, FEATURES.index(name)]
    return dict(zip(candidates.rows.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("text", ["type II diabetes", "diabetes", "renal cancers", "β-carotene", "zebra", "1", "!"])
def test_the_share_of_words_against_a_slow_reference(mesh: KnowledgeBase, known: Known, text: str) -> None:
    lexicon = known.lexicon

    def weight(words: set[str]) -> float:
        return sum(
            float(lexicon.weights[found[0]]) if len(found := lexicon.text(w).words) else float(lexicon.weights[-1])
            for w in words
        )

    def apart(words: set[str]) -> set[str]:
        return {w for w in words if len(w) == 1 or w in GREEK or any(map(str.isdigit, w))}

    doc, ours = asked(mesh, text), set(name_words(text))
    found, gaps = column(doc, known, "f1"), column(doc, known, "f1_gap")
    exact = column(doc, known, "exact")
    missing, extra = column(doc, known, "apart_missing"), column(doc, known, "apart_extra")
    means = column(doc, known, "f1_mean")
    for row in range(len(mesh)):
        concept = mesh[row]
        names = [set(name_words(n.text)) for n in concept.names] if concept.replaced_by is None else []
        keys = [basic(n.text) for n in concept.names] if concept.replaced_by is None else []
        shares = [2 * weight(n & ours) / max(weight(n) + weight(ours), 1e-6) for n in names]
        gaps_apart = [(len(apart(ours) - apart(n)), len(apart(n) - apart(ours))) for n in names]
        worth = [s - 0.05 * ((m > 0) + (e > 0)) + (k == basic(text))
                 for s, (m, e), k in zip(shares, gaps_apart, keys, strict=True)]  # fmt: skip
        if not names:
            assert found[row] == 0
            continue
        best = max(range(len(names)), key=lambda i: worth[i])
        assert found[row] == pytest.approx(shares[best], abs=1e-5)
        assert (missing[row], extra[row]) == gaps_apart[best]
        assert means[row] == pytest.approx(sum(shares) / len(shares), abs=1e-5)
        assert exact[row] == (basic(text) in keys)
    assert max(gaps.values()) == 0


def test_numbers_tell_types_apart(mesh: KnowledgeBase, known: Known) -> None:
    doc = asked(mesh, "diabetes mellitus type II")
    one, two = mesh.row("MESH:2"), mesh.row("MESH:3")
    extra, missing = column(doc, known, "apart_extra"), column(doc, known, "apart_missing")
    assert (extra[two], missing[two]) == (0, 0)
    assert (extra[one], missing[one]) == (1, 1)


def test_what_training_said(mesh: KnowledgeBase, known: Known) -> None:
    doc = asked(mesh, "Sugar sickness", "zebra")
    row = mesh.row("MESH:1")
    alias = column(doc, known, "alias_query")
    assert alias[row] > -0.1
    assert max(value for other, value in alias.items() if other != row) < -3
    assert column(doc, known, "alias_found") == {other: float(other == row) for other in range(len(mesh))}
    assert column(doc, known, "seen score")[row] == column(doc, known, "score")[row]
    assert set(column(doc, known, "seen score", 1).values()) == {0.0}


def test_without_its_own_document_nothing_was_said(mesh: KnowledgeBase) -> None:
    said = [document(0, [("sugar sickness", "MESH:1")])]
    counts = Counts.of(said, mesh)
    known = Known.of(Lexicon.build(mesh), counts)
    doc = asked(mesh, "sugar sickness")
    assert max(column(doc, known, "alias_found").values()) == 1
    own = known.minus(counts)
    nothing = Known.of(known.lexicon, Counts())
    for group in ("aliases",):
        for name in GROUPS[group]:
            assert column(doc, own, name) == column(doc, nothing, name), name
            assert set(column(doc, own, f"seen {name}").values()) == {0.0}
    assert column(doc, own, "prior") == column(doc, nothing, "prior")


def test_the_document_votes(mesh: KnowledgeBase, known: Known) -> None:
    doc = asked(mesh, "NIDDM", "it")
    child, parent, sibling = mesh.row("MESH:3"), mesh.row("MESH:1"), mesh.row("MESH:2")
    assert column(doc, known, "elsewhere", 1)[child] == 1
    assert column(doc, known, "child_elsewhere", 1)[parent] == 1
    assert column(doc, known, "sibling_elsewhere", 1)[sibling] == 1
    alone = asked(mesh, "NIDDM", "NIDDM")  # the same name is no other witness
    assert set(column(alone, known, "elsewhere").values()) == {0.0}


def test_mention_types_speak_when_given(mesh: KnowledgeBase, known: Known) -> None:
    disease, other = mesh.row("OMIM:9"), mesh.row("MESH:8")
    typed = column(asked(mesh, "cold", types=("Disease",)), known, "kind_of_mention")
    assert typed[disease] > typed[other]
    assert set(column(asked(mesh, "cold"), known, "kind_of_mention").values()) == {0.0}
    assert set(column(asked(mesh, "cold", types=("Gene",)), known, "kind_of_mention").values()) == {0.0}


def test_a_fusion_tells_what_names_and_what_vectors_say(mesh: KnowledgeBase, known: Known) -> None:
    doc = asked(mesh, "cold", rows=[2, 0, 1])
    assert set(column(doc, known, "dense").values()) == {0.0}
    [mention] = doc.mentions or ()
    assert mention.candidates is not None
    given = {"ngram": np.array([0.1, 0.5, 0.3], np.float32), "dense": np.array([0.8, 0.2, 0.6], np.float32)}
    fused = replace(doc, mentions=(replace(mention, candidates=replace(mention.candidates, features=given)),))
    assert column(fused, known, "score") == pytest.approx({2: 0.1, 0: 0.5, 1: 0.3})
    assert column(fused, known, "dense") == pytest.approx({2: 0.8, 0: 0.2, 1: 0.6})
    assert column(fused, known, "dense_gap") == pytest.approx({2: 0.0, 0: -0.6, 1: -0.2})
    assert column(fused, known, "dense_rank") == pytest.approx({2: 0.0, 0: np.log(3), 1: np.log(2)})


@settings(max_examples=40)
@given(
    texts=st.lists(st.text(min_size=1, max_size=20).filter(str.strip), min_size=1, max_size=4),
    order=st.permutations(range(12)),
)
def test_any_text_and_any_order(mesh: KnowledgeBase, known: Known, texts: list[str], order: list[int]) -> None:
    rows = list(range(len(mesh)))
    one, other = asked(mesh, *texts), asked(mesh, *texts)
    shuffled = [row for row in order if row < len(rows)]
    moved = tuple(
        replace(m, candidates=m.candidates.take(np.array(shuffled))) if m.candidates else m
        for m in other.mentions or ()
    )
    for mine, theirs in zip(tables([one], known), tables([replace(other, mentions=moved)], known), strict=True):
        assert np.isfinite(mine).all()
        assert mine.shape == (len(rows), len(FEATURES))
        assert np.array_equal(mine[shuffled], theirs)


def test_no_mentions_and_no_candidates(mesh: KnowledgeBase, known: Known) -> None:
    assert tables([replace(Document.of("x"), mentions=(), abbreviations=())], known) == []
    doc = Document("a", "fever", abbreviations=(), mentions=(Mention(0, 5, candidates=Candidates.none(mesh.version)),))
    [found] = tables([doc], known)
    assert found.shape == (0, len(FEATURES))


scores = st.lists(st.floats(-1, 1, width=32), min_size=12, max_size=12)


@settings(max_examples=20)
@given(bm25=scores, earlier=scores)
def test_parts_of_a_fusion_add_columns_and_change_no_other(
    mesh: KnowledgeBase, known: Known, bm25: list[float], earlier: list[float]
) -> None:
    doc = asked(mesh, "type II diabetes")
    [mention] = doc.mentions or ()
    assert mention.candidates is not None
    given = {"bm25": bm25, "earlier": earlier, "dense": bm25, "exact": earlier}
    features = {name: np.array(values[: len(mesh)], np.float32) for name, values in given.items()}
    found = replace(mention.candidates, features=features)
    doc = replace(doc, mentions=(replace(mention, candidates=found),))
    parts = further(features)
    assert parts == ("bm25", "earlier")
    [plain], [more] = tables([doc], known), tables([doc], known, parts)
    names = columns_of(parts)
    assert len(set(names)) == len(names) == more.shape[1]
    assert np.array_equal(more[:, [names.index(name) for name in FEATURES]], plain)
    for part in parts:
        mine = features[part]
        assert np.array_equal(more[:, names.index(f"fused {part}")], mine)
        assert np.array_equal(more[:, names.index(f"fused {part}_gap")], mine - mine.max())
        above = [sum(other > value for other in mine) for value in mine]
        assert more[:, names.index(f"fused {part}_rank")] == pytest.approx(np.log1p(above))
    with pytest.raises(PipelineError, match="the scores of ngram-2 in a fusion, which candidates lack: link with"):
        table([doc], known, ["bm25", "ngram-2"])


def test_a_column_has_one_name() -> None:
    assert len(set(FEATURES)) == len(FEATURES) == 2 * len(PLAIN)


WORDS = ("diabetes", "NIDDM", "cold", "it", "renal", "cancer", "type 2", "zebra", "sugar sickness")


@settings(max_examples=40)
@given(st.data())
def test_many_documents_at_once_are_as_each_mention_list_alone(
    mesh: KnowledgeBase, known: Known, data: st.DataObject
) -> None:
    texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)
    rows = st.lists(st.integers(-1, len(mesh) - 1), max_size=len(mesh), unique=True)
    kinds = st.sampled_from(((), ("Disease",), ("Gene",), ("Gene", "Disease")))
    docs = [
        asked(mesh, *data.draw(texts), rows=data.draw(rows), types=data.draw(kinds))
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    together = tables(docs, known)
    apart = [columns for doc in docs for columns in tables([doc], known)]
    assert [some.tobytes() for some in together] == [some.tobytes() for some in apart]
