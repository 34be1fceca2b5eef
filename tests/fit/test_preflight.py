"""What documents cannot teach is said before anything is trained."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.detect.gold import Gold
from linnet.errors import LinnetError, MissingExtraError, RecipeError, how_to_install
from linnet.fit.plan import Task
from linnet.fit.preflight import check_teachable
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.rerank.lexical import Lexical
from linnet.retrieve.ngram import Ngram

SEIZURE = Mention(0, 8, source="gold", concepts=("HP:0001250",))
DOC = Document("1", "Seizures.", mentions=(SEIZURE,))
FOREIGN = replace(DOC, mentions=(replace(SEIZURE, concepts=("XX:1",)),))


@pytest.fixture
def pipeline(kb: KnowledgeBase) -> Pipeline:
    return Pipeline(Gold(), Ngram(kb=kb), Decide(kb=kb), kb=kb)


DECIDE = [Task((2,), "decide")]


@pytest.mark.parametrize(
    ("docs", "dev", "problem"),
    [
        ([], [DOC], "no documents to train on"),
        ([DOC, DOC], [DOC], "'1' occurs twice"),
        ([replace(DOC, mentions=None)], [DOC], "none of the 1 training documents has a mention"),
        (
            [FOREIGN],
            [DOC],
            r'0 of 1 linked mentions of the training .* lacks XX:1, its ids begin with "HP", .*; are .*other',
        ),
        ([DOC], [FOREIGN] * 50, "0 of 50 linked mentions of the dev documents"),
        ([replace(DOC, mentions=(replace(SEIZURE, concepts=None),))], [DOC], "no mention .* has a concept"),
    ],
)
def test_refused(pipeline: Pipeline, docs: list[Document], dev: list[Document], problem: str) -> None:
    with pytest.raises(LinnetError, match=problem):
        check_teachable(pipeline, DECIDE, docs, dev)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse file names that are no UTF-8")
def test_a_knowledge_base_that_no_folder_can_name_is_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.kb"))
    shutil.copy(kb.path, path)
    odd = KnowledgeBase.open(path)
    with pytest.raises(LinnetError, match="its path is no UTF-8: rename it"):
        check_teachable(Pipeline(Gold(), Ngram(kb=odd), Decide(kb=odd), kb=odd), DECIDE, [DOC], [DOC])


@pytest.mark.parametrize("dev", [[], [replace(DOC, mentions=())], [FOREIGN]])
def test_dev_documents_with_few_mentions_are_no_reason_to_refuse(pipeline: Pipeline, dev: list[Document]) -> None:
    check_teachable(pipeline, DECIDE, [DOC], dev)


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (["D01", "D02", "D03", "D04"], "its ids are such as D01, D02, D03; are"),
        (["A:1", "B:1", "C:1", "D:1", "D02"], 'its ids begin with "A", "B", "C", ...; are'),
    ],
)
def test_ids_of_a_large_knowledge_base_are_not_listed(tmp_path: Path, ids: list[str], problem: str) -> None:
    made = build([Concept(id, (Name(f"name of {id}"),)) for id in ids], tmp_path / "x.kb")
    with pytest.raises(LinnetError, match=re.escape(problem)):
        check_teachable(Pipeline(Gold(), Ngram(kb=made), Decide(kb=made), kb=made), DECIDE, [FOREIGN], [FOREIGN])


def test_few_known_concepts_are_warned_of(pipeline: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    docs = [DOC, replace(FOREIGN, id="2"), replace(FOREIGN, id="3")]
    with caplog.at_level(logging.WARNING):
        check_teachable(pipeline, DECIDE, docs, [DOC])
    assert "1 of 3 linked mentions" in caplog.text


def test_dev_documents_among_the_training_documents_are_told(
    pipeline: Pipeline, caplog: pytest.LogCaptureFixture
) -> None:
    other = replace(DOC, id="2", text=f"{DOC.text} Alone.")
    with caplog.at_level(logging.WARNING):
        check_teachable(pipeline, DECIDE, [DOC], [other])
        assert not caplog.text
        check_teachable(pipeline, DECIDE, [DOC], [other, replace(DOC, id="3", text=f"{DOC.text}\n")])
    assert "1 of the 2 dev documents have the text of a training document" in caplog.text


def test_what_needs_no_dev_documents_is_not_asked_for_them(pipeline: Pipeline) -> None:
    check_teachable(pipeline, [Task((1,), "ngram")], [DOC], [])
    check_teachable(Pipeline(Gold()), [], [replace(DOC, mentions=(replace(SEIZURE, concepts=None),))], [])


def test_a_missing_library_is_told_before_anything_is_trained(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: Decide) -> None:
        raise MissingExtraError("torch", extra="neural", wanted_by="decide")

    monkeypatch.setattr(Decide, "require_libraries", missing)
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("neural"))):
        check_teachable(pipeline, DECIDE, [DOC], [DOC])


def test_a_missing_prior_is_told_before_anything_is_trained(kb: KnowledgeBase) -> None:
    reranked = Pipeline(Gold(), Ngram(kb=kb), Lexical(kb=kb, prior="nothere"), kb=kb, name="mine.toml")
    with pytest.raises(RecipeError, match=r"mine\.toml: 1 problem\n  pipeline\[2\]\.prior: 'nothere' is neither"):
        check_teachable(reranked, [Task((1,), "ngram"), Task((2,), "lexical")], [DOC], [DOC])
    reranked.parts[2].prior = "bc5cdr"  # type: ignore[attr-defined]
    check_teachable(reranked, [Task((1,), "ngram"), Task((2,), "lexical")], [DOC], [DOC])


def test_no_documents_are_needed_where_names_alone_teach(kb: KnowledgeBase) -> None:
    pytest.importorskip("torch")
    from linnet.retrieve.dense import Dense

    names = Pipeline(Gold(), Dense(kb=kb), kb=kb)
    check_teachable(names, [Task((1,), "dense", {"stage": "align"})], (), ())
    with pytest.raises(LinnetError, match="no documents to train on"):
        check_teachable(names, [Task((1,), "dense")], (), ())
