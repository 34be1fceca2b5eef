"""The dictionary over the Human Phenotype Ontology, and what it reaches on the GSC+ development abstracts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from linnet.corpora.gsc import read
from linnet.data import Document
from linnet.detect.dictionary import Dictionary
from linnet.errors import LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.context import Context
from linnet.vocabularies.hpo import read_hpo
from linnet.vocabularies.obo import read_obo


@pytest.fixture(scope="module")
def hpo(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        return build(read_hpo(), tmp_path_factory.mktemp("hpo") / "hpo.kb")


def link(kb: KnowledgeBase, text: str) -> dict[str, str]:
    """Return id -> surface of the findings in a text."""
    [doc] = Pipeline(Dictionary(kb=kb, types=("Phenotypic abnormality",)))([Document.of(text)])
    return {kb.id(int(m.candidates.rows[0])): doc.surface(m) for m in doc.mentions or () if m.candidates}


@pytest.mark.slow
def test_hpo(hpo: KnowledgeBase) -> None:
    text = "Patient with short stature, hypertelorism and recurrent seizures; no cleft palate."
    linked = link(hpo, text)
    assert {"HP:0004322", "HP:0000316", "HP:0001250", "HP:0000175"} <= set(linked)
    assert linked["HP:0000175"] == "cleft palate"


NORMAL = """\
Alert and orientated. Moving all four limbs. Chest clear. Heart sounds normal. Abdomen soft. Testes descended.
Passing urine and opening bowels normally. Eating and drinking well, keeps food down. Taking feeds. Weight steady.
Pupils equal and reactive. Tone, power, reflexes and sensation normal. Walking independently with a normal gait.
He sees people at church, remembers names and enjoys football. Problems with the landlord. Mood euthymic, good insight.
Obs: HR 78, BP 128/76, sats 98% on air, temp 36.8. CRP <5, Na 139, K 4.2. ECG: sinus rhythm. Echo: good LV function.
Meds: aspirin 75mg od, alfacalcidol 0.5 mcg od, omeprazole 20 mg om, timolol OD, paracetamol 1 g qds.
Das Kind ist altersgerecht entwickelt. Herztöne rein, Lunge frei, Abdomen weich. Guter AZ, Appetit gut, Gang sicher."""


@pytest.mark.slow
def test_what_is_normal_is_no_finding(hpo: KnowledgeBase) -> None:
    options = {"types": ("Phenotypic abnormality",), "short_forms": "clinical", "informal": True, "typos": True}
    dictionary = Dictionary(kb=hpo, **options)  # type: ignore[arg-type]
    [doc] = (Pipeline(dictionary) >> Context())([Document.of(NORMAL)])
    assert [doc.surface(mention) for mention in doc.mentions or () if mention.assertion == "affirmed"] == []


def scores(kb: KnowledgeBase, docs: Sequence[Document], **options: object) -> tuple[float, float]:
    """Return micro F1 of the concepts of documents and of spans with concepts, gold in `docs`."""
    pipeline = Pipeline(Dictionary(kb=kb, types=("Phenotypic abnormality",), **options))  # type: ignore[arg-type]
    counts = np.zeros((2, 3))
    for gold, predicted in zip(docs, pipeline([doc.bare() for doc in docs]), strict=True):
        wanted = {(m.start, m.end, kb.row(id)) for m in gold.mentions or () for id in m.concepts or ()}
        found = {(m.start, m.end, int(m.candidates.rows[0])) for m in predicted.mentions or () if m.candidates}
        ids, found_ids = {row for _, _, row in wanted}, {row for _, _, row in found}
        counts[0] += len(ids & found_ids), len(ids), len(found_ids)
        counts[1] += len(wanted & found), len(wanted), len(found)
    document, span = 2 * counts[:, 0] / (counts[:, 1] + counts[:, 2])
    return float(document), float(span)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("release", "overlaps", "document", "span"),
    [
        ("2017", "longest", 0.74, 0.65), ("2017", "all", 0.71, 0.64),
        ("today", "longest", 0.717, 0.63), ("today", "all", 0.679, 0.608),
    ],
)  # fmt: skip
def test_gsc_plus(
    data: Path, tmp_path: Path, hpo: KnowledgeBase, release: str, overlaps: str, document: float, span: float
) -> None:
    docs = list(read(data / "corpora/gsc_plus/GSCplus_dev_gold.tsv.gz"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        if release == "2017":
            hpo = build(read_obo(data / "kb/hp_2017-03.obo.gz", types="branch"), tmp_path / "hpo.kb")
    reached = scores(hpo, docs, overlaps=overlaps)
    assert reached[0] >= document
    assert reached[1] >= span
