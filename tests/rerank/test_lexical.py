from __future__ import annotations

import json
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linnet.checksums import LIST
from linnet.corpora.catalog import read_corpus
from linnet.data import Candidates, Concept, Document, Mention, Name
from linnet.detect.gold import Gold
from linnet.errors import DataError, FormatError, KnowledgeBaseError, LinnetWarning, PipelineError, RecipeError
from linnet.fit.fitting import CrossFitted
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Fuse, Pipeline, fused_names
from linnet.pipeline.component import Step
from linnet.recipes import config, saving
from linnet.rerank import lexical
from linnet.rerank.lexical import Lexical
from linnet.retrieve.bm25 import Bm25
from linnet.retrieve.earlier import Earlier
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram
from linnet.retrieve.types import Types

from .conftest import CONCEPTS, document

# one concept of the fixtures is named "+/-", which the n-gram index says when it is built
pytestmark = pytest.mark.filterwarnings("ignore:.*hold no letter and no digit")


def before(kb: KnowledgeBase) -> Pipeline:
    return Gold() >> Ngram(kb=kb)


def trained(kb: KnowledgeBase, docs: list[Document], **keywords: object) -> Lexical:
    part = Lexical(kb=kb, **keywords)  # type: ignore[arg-type]
    list(part.fit(docs, (), before=before(kb), kb=kb, args={}))
    return part


@pytest.fixture(scope="module")
def ranker(mesh: KnowledgeBase, corpus: list[Document]) -> Lexical:
    return trained(mesh, corpus)


def candidates(rows: list[int], scores: list[float], version: str) -> Candidates:
    return Candidates(np.array(rows, np.int32), np.array(scores, np.float32), kb=version)


def linked(part: Lexical, kb: KnowledgeBase, *texts: str) -> list[Candidates]:
    doc = document(99, [(text, "MESH:1") for text in texts]).spans_only()
    [out] = (before(kb) >> part)([doc])
    return [mention.candidates for mention in out.mentions or () if mention.candidates is not None]


def test_what_it_learned(mesh: KnowledgeBase, ranker: Lexical) -> None:
    for text, id in (("sugar sickness", "MESH:1"), ("cold", "OMIM:9"), ("renal disease", "MESH:4")):
        [found] = linked(ranker, mesh, text)
        if text == "sugar sickness":  # shares no n-gram with a name of its concept that is worth anything
            assert mesh.row(id) in found.rows
        else:
            assert mesh.id(int(found.rows[0])) == id


def test_scores_are_probabilities_and_the_earlier_score_is_kept(mesh: KnowledgeBase, ranker: Lexical) -> None:
    doc = document(99, [("type 2 diabetes", "MESH:3")]).spans_only()
    [first] = before(mesh)([doc])
    [second] = ranker([first])
    [old], [new] = first.mentions or (), second.mentions or ()
    assert old.candidates is not None
    assert new.candidates is not None
    assert float(new.candidates.scores.sum()) == pytest.approx(1)
    assert set(new.candidates.rows.tolist()) == set(old.candidates.rows.tolist())
    kept = dict(zip(new.candidates.rows.tolist(), new.candidates.features["retrieval"].tolist(), strict=True))
    assert kept == dict(zip(old.candidates.rows.tolist(), old.candidates.scores.tolist(), strict=True))
    assert new.candidates == new.candidates.sorted()


def test_nil_comes_last(mesh: KnowledgeBase, ranker: Lexical) -> None:
    doc = document(99, [("cold", "OMIM:9")]).spans_only()
    found = candidates([-1, mesh.row("OMIM:9")], [0.9, 0.2], mesh.version)
    doc = replace(doc, abbreviations=(), mentions=tuple(replace(m, candidates=found) for m in doc.mentions or ()))
    [mention] = ranker([doc])[0].mentions or ()
    assert mention.candidates is not None
    assert mention.candidates.rows.tolist() == [mesh.row("OMIM:9"), -1]
    assert mention.candidates.scores.tolist() == [1, 0]


def test_candidates_of_another_version_are_refused(mesh: KnowledgeBase, ranker: Lexical) -> None:
    doc = document(99, [("cold", "OMIM:9")]).spans_only()
    found = candidates([0], [1], "other")
    doc = replace(doc, abbreviations=(), mentions=tuple(replace(m, candidates=found) for m in doc.mentions or ()))
    with pytest.raises(PipelineError, match="version other cannot be reranked"):
        ranker([doc])


def test_it_has_to_be_trained(mesh: KnowledgeBase) -> None:
    with pytest.raises(PipelineError, match="has not been trained: run linnet train"):
        linked(Lexical(kb=mesh), mesh, "cold")


def test_wrong_keywords(mesh: KnowledgeBase) -> None:
    with pytest.raises(RecipeError, match="unknown kind of columns 'alias'; did you mean 'aliases'") as caught:
        Lexical(kb=mesh, omit=("alias",), mentions=0, penalty=0.0)
    assert "must be at least 1" in str(caught.value)
    assert "penalty: 0.0 must be a number above 0" in str(caught.value)


def test_a_penalty_that_is_given_is_not_chosen(mesh: KnowledgeBase, corpus: list[Document], ranker: Lexical) -> None:
    assert ranker.model is not None
    assert ranker.fitted_penalty is not None
    models = {}
    for penalty in (ranker.fitted_penalty, 1000.0):
        part = Lexical(kb=mesh, penalty=penalty)
        assert len(list(part.fit(corpus, (), before=before(mesh), kb=mesh, args={}))) == 1
        assert part.model is not None
        assert part.fitted_penalty == penalty
        models[penalty] = part.model.weights
    assert models[ranker.fitted_penalty].tolist() == ranker.model.weights.tolist()
    assert abs(models[1000.0]).sum() < abs(ranker.model.weights).sum()


def test_steps_and_few_mentions(mesh: KnowledgeBase, corpus: list[Document]) -> None:
    part = Lexical(kb=mesh)
    with pytest.warns(LinnetWarning, match="lexical was trained on 6 mentions"):
        steps = list(part.fit(corpus[:2], (), before=before(mesh), kb=mesh, args={}))
    assert all(isinstance(step, Step) and step.losses["nll"] >= 0 for step in steps)
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    with pytest.raises(DataError, match="no mention of the training documents has a right candidate"):
        list(Lexical(kb=mesh).fit([], (), before=before(mesh), kb=mesh, args={}))
    lost = document(1, [("zzzz", "MESH:404")])
    with pytest.raises(DataError, match="no mention"):
        list(Lexical(kb=mesh).fit([lost], (), before=before(mesh), kb=mesh, args={}))


def test_few_mentions_may_be_asked_for(mesh: KnowledgeBase, corpus: list[Document]) -> None:
    part = Lexical(kb=mesh, mentions=10)
    known, lists = part.examples(corpus, before=before(mesh), kb=mesh)
    assert 10 <= int(part._sample(lists).sum()) < len(lists)
    assert sum(known.counts.concepts.values()) == 90  # counts are made of all


def test_training_twice_gives_the_same(mesh: KnowledgeBase, corpus: list[Document], ranker: Lexical) -> None:
    again = trained(mesh, corpus)
    assert again.model is not None
    assert ranker.model is not None
    assert again.model.weights.tolist() == ranker.model.weights.tolist()


def test_gold_types_are_let_through_where_the_detector_asks(mesh: KnowledgeBase, corpus: list[Document]) -> None:
    part = Lexical(kb=mesh)
    typed = Gold(types=True) >> Ngram(kb=mesh)
    _, with_types = part.examples(corpus, before=typed, kb=mesh)
    _, without = part.examples(corpus, before=before(mesh), kb=mesh)
    assert not np.array_equal(with_types.table, without.table)


def test_abbreviations_are_learned_from_where_no_earlier_part_asks_for_them(mesh: KnowledgeBase) -> None:
    text = "Sugar sickness (SS) is known. SS was treated."
    doc = Document("a", text, mentions=(Mention(30, 32, source="gold", concepts=("MESH:1",)),))
    known, _ = Lexical(kb=mesh).examples([doc], before=Gold() >> Ngram(kb=mesh, long_forms=False), kb=mesh)
    assert known.counts.names == {"ss": {mesh.row("MESH:1"): 1}, "sugar sickness": {mesh.row("MESH:1"): 1}}


def test_it_is_saved(mesh: KnowledgeBase, corpus: list[Document], ranker: Lexical, tmp_path: Path) -> None:
    saving.save(Pipeline(*(before(mesh) >> ranker).parts, kb=mesh), tmp_path / "saved")
    again = config.load(tmp_path / "saved")
    docs = [doc.spans_only() for doc in corpus[:5]]
    assert again(docs) == (before(mesh) >> ranker)(docs)


def test_parts_of_a_fusion_are_heard_by_name(
    mesh: KnowledgeBase, corpus: list[Document], ranker: Lexical, tmp_path: Path
) -> None:
    exact, bm25, ngram = Exact(kb=mesh), Bm25(kb=mesh), Ngram(kb=mesh)
    fusion = Gold() >> Types(kb=mesh, of=[Fuse([exact, bm25, ngram])]) >> Earlier(kb=mesh)
    part = Lexical(kb=mesh)
    assert fused_names(fusion) == []  # what the last retriever passes on is not promised
    fusion = Pipeline(*fusion.parts[:-1])
    assert fused_names(fusion) == ["exact", "bm25", "ngram"]
    list(part.fit(corpus, (), before=CrossFitted(fusion, list, {}), kb=mesh, args={}))
    assert part.parts == ("bm25",)
    assert ranker.model is not None
    assert part.parameters == ranker.parameters + 6
    docs = [doc.spans_only() for doc in corpus[:5]]
    whole = fusion >> part
    saving.save(Pipeline(*whole.parts, kb=mesh), tmp_path / "saved")
    assert config.load(tmp_path / "saved")(docs) == whole(docs)
    with pytest.raises(PipelineError, match="trained with the scores of bm25 in a fusion, which candidates lack"):
        (before(mesh) >> part)(docs)
    without = Lexical(kb=mesh, omit=("retrieval",))
    list(without.fit(corpus, (), before=fusion, kb=mesh, args={}))
    assert without.parameters == ranker.parameters - 6
    damaged = tmp_path / "saved" / "2-lexical" / "model.json"
    for parts, said in (([], "has other columns"), ("bm25", "has other columns"), (3, "no weights")):
        damaged.write_text(json.dumps({**json.loads(damaged.read_text()), "parts": parts}))
        with pytest.raises(FormatError, match=said):
            Lexical.load(_copied(damaged, tmp_path / said), kb=mesh)


def _copied(path: Path, folder: Path) -> Path:
    """Return a copy of a part's folder without its checksums."""
    shutil.copytree(path.parent, folder, dirs_exist_ok=True)
    (folder / LIST).unlink(missing_ok=True)
    return folder


def test_columns_that_were_saved_before_parts_were_heard(mesh: KnowledgeBase, ranker: Lexical, tmp_path: Path) -> None:
    ranker.save(tmp_path)
    saved = json.loads((tmp_path / "model.json").read_text())
    assert saved.pop("parts") == []
    (tmp_path / "model.json").write_text(json.dumps(saved))
    assert linked(Lexical.load(tmp_path, kb=mesh), mesh, "cold") == linked(ranker, mesh, "cold")


def test_columns_cannot_change_after_training(
    mesh: KnowledgeBase, corpus: list[Document], ranker: Lexical, tmp_path: Path
) -> None:
    fewer = trained(mesh, corpus, omit=("heads",))
    for name, part in (("all", ranker), ("fewer", fewer)):
        saving.save(Pipeline(*(before(mesh) >> part).parts, kb=mesh), tmp_path / name)
    with pytest.raises(
        RecipeError, match=r"omit: \['designators'\], but it was trained with \['heads'\]; train it again"
    ):
        config.load(tmp_path / "fewer", changes=['lexical.omit=["designators"]'])  # as many columns, but others
    with pytest.raises(RecipeError, match=r"omit: \['heads'\], but it was trained with \[\]"):
        config.load(tmp_path / "all", changes=['lexical.omit=["heads"]'])
    docs = [doc.spans_only() for doc in corpus[:5]]
    same = config.load(tmp_path / "fewer", changes=['lexical.omit=["heads"]'])
    assert same(docs) == (before(mesh) >> fewer)(docs)


def test_another_knowledge_base_is_refused(mesh: KnowledgeBase, ranker: Lexical, tmp_path: Path) -> None:
    ranker.save(tmp_path / "a")
    other = build(CONCEPTS[:4], tmp_path / "other.kb")
    with pytest.raises(KnowledgeBaseError, match="train it again"):
        Lexical.load(tmp_path / "a", kb=other)


@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")
def test_a_merged_concept_hands_on_what_names_meant(
    mesh: KnowledgeBase, corpus: list[Document], tmp_path: Path
) -> None:
    path = shutil.copy(mesh.path, tmp_path / "mesh.kb")
    ranker = trained(KnowledgeBase.open(path), corpus)
    saving.save(Pipeline(*(before(ranker.kb) >> ranker).parts, kb=ranker.kb), tmp_path / "saved")
    with KnowledgeBase.edit(path) as edit:
        edit.add(Concept("N:1", (Name("Upper respiratory infection"),)))
        edit.merge("N:1", "OMIM:9")
    edited = KnowledgeBase.open(path)
    [doc] = config.load(tmp_path / "saved", kb=edited)([document(99, [("cold", "N:1")]).spans_only()])
    [loaded] = [mention.candidates for mention in doc.mentions or () if mention.candidates is not None]
    assert edited.id(int(loaded.rows[0])) == "N:1"
    assert linked(ranker.rebound(edited), edited, "cold") == [loaded]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": {"score": {"weight": 1, "mean": 0, "scale": 1}}}, "other columns"),
        ({"features": 3}, "no weights"),
        ({"features": None}, "no weights"),
    ],
)
def test_damaged_weights(
    mesh: KnowledgeBase, ranker: Lexical, tmp_path: Path, change: dict[str, object], said: str
) -> None:
    ranker.save(tmp_path / "a")
    path = tmp_path / "a" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FormatError, match=said):
        Lexical.load(tmp_path / "a", kb=mesh)


def test_weights_that_are_no_numbers(mesh: KnowledgeBase, ranker: Lexical, tmp_path: Path) -> None:
    ranker.save(tmp_path / "a")
    path = tmp_path / "a" / "model.json"
    path.write_text(re.sub(r'"weight": [^,]*', '"weight": NaN', path.read_text(), count=1))
    with pytest.raises(FormatError, match=r"model\.json: a weight is no finite number"):
        Lexical.load(tmp_path / "a", kb=mesh)
    saved = json.loads(path.read_text())
    path.write_text(json.dumps({**saved, "features": list(saved["features"])}))
    with pytest.raises(FormatError, match="no weights that this Linnet can use"):
        Lexical.load(tmp_path / "a", kb=mesh)


@pytest.mark.slow
@pytest.mark.data
def test_ncbi_disease_without_aliases_in_the_index(data: Path, tmp_path: Path) -> None:
    from linnet.vocabularies import read_vocabulary

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        kb = build(read_vocabulary("medic", data / "kb" / "medic_2012-07-06_biosyn.txt.gz"), tmp_path / "medic.kb")
        train = list(read_corpus("ncbi_disease", split="train", data=data))[:100]
        dev = list(read_corpus("ncbi_disease", split="dev", data=data))[:50]
    part = trained(kb, train)
    blind = [doc.spans_only() for doc in dev]
    right = [0, 0]
    retrieved = before(kb)(blind)
    for doc, one, two in zip(dev, retrieved, part(retrieved), strict=True):
        for gold, first, second in zip(doc.mentions or (), one.mentions or (), two.mentions or (), strict=True):
            for at, mention in enumerate((first, second)):
                if mention.candidates is not None and len(mention.candidates) and gold.concepts:
                    right[at] += kb.id(int(mention.candidates.rows[0])) == gold.concepts[0]
    assert right[1] > right[0] + 20


def test_a_prior_is_what_few_documents_stay_close_to(
    mesh: KnowledgeBase, corpus: list[Document], tmp_path: Path
) -> None:
    without, held = trained(mesh, corpus), trained(mesh, corpus, prior="bc5cdr", penalty=1e9)
    shipped = json.loads((lexical.PRIORS / "bc5cdr.json").read_text())["features"]
    assert held.model is not None
    assert held.model.weights == pytest.approx([one["weight"] for one in shipped.values()], abs=1e-3)
    without.save(tmp_path / "own")
    again = trained(mesh, corpus, prior=str(tmp_path / "own" / "model.json"), penalty=1e9)
    assert without.model is not None
    assert again.model is not None
    assert again.model.weights == pytest.approx(without.model.weights, abs=1e-3)
    again.save(tmp_path / "moved")
    shutil.rmtree(tmp_path / "own")  # what was learned needs the prior no more
    assert Lexical.load(tmp_path / "moved", kb=mesh).model is not None
    with pytest.raises(RecipeError, match="'bc5cd' is neither a file nor one of bc5cdr"):
        trained(mesh, corpus, prior="bc5cd")


def test_columns_that_a_prior_lacks_begin_with_nothing(
    mesh: KnowledgeBase, corpus: list[Document], tmp_path: Path
) -> None:
    (tmp_path / "model.json").write_text('{"features": {"exact": {"weight": 2, "mean": 0.5, "scale": 0.25}}}')
    held = trained(mesh, corpus, prior=str(tmp_path / "model.json"), penalty=1e9)
    assert held.model is not None
    weights = dict(zip(held._used(), held.model.weights, strict=True))
    assert weights.pop("exact") == pytest.approx(2)
    assert set(np.round([*weights.values()], 3)) == {0.0}
    (tmp_path / "model.json").write_text('{"features": {"exact": {"weight": 2}}}')
    with pytest.raises(FormatError, match="no weights that this Linnet can use"):
        trained(mesh, corpus, prior=str(tmp_path / "model.json"))


def test_many_documents_at_once_are_as_each_alone(
    mesh: KnowledgeBase, ranker: Lexical, corpus: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = before(mesh)([doc.spans_only() for doc in corpus])
    alone = [ranker.rerank([doc])[0] for doc in docs]
    assert ranker.rerank(docs) == alone
    monkeypatch.setattr(lexical, "BLOCK", 1)
    assert ranker.rerank(docs) == alone
