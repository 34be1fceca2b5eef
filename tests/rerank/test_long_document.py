"""A document of 40 pages: every mention is reranked, and what is in memory at once stays small."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from linnet.data import Concept, Document, Mention, Name
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.nn.sequences import Sequences
from linnet.pipeline import Abbreviations, Sentences
from linnet.reporter import Reporter, reporting
from linnet.rerank.cross_encoder import CrossEncoder
from linnet.rerank.cross_network import CrossNetwork
from linnet.retrieve.ngram import Ngram
from linnet.text.packing import Packing
from linnet.text.token_batches import CPU_TOKENS
from tests.rerank.long_document import joined
from tests.tiny_models import tiny_bert

MENTIONS = 2_000
WORDS = ("cold", "warm", "wind", "water")
NAMES = ("cold wind", "cold water", "warm wind", "warm water")
SENTENCE = "All that time there was a {} here. "


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    words = [*WORDS, *SENTENCE.lower().replace(".", "").split()]
    return str(tiny_bert(tmp_path_factory.mktemp("bert") / "tiny", words=words, layers=1, size=8, window=256))


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    concepts = (Concept(f"X:{number}", (Name(name),)) for number, name in enumerate(NAMES))
    return build(concepts, tmp_path_factory.mktemp("kb") / "x.kb")


def abstracts() -> list[Document]:
    """Documents of ten sentences with a mention each."""
    docs = []
    for number in range(250):
        text, mentions = "", []
        for place in range(10):
            sentence = SENTENCE.format(word := WORDS[(number + place) % len(WORDS)])
            start = len(text) + sentence.index(word)
            mentions.append(Mention(start, start + len(word), source="gold"))
            text += sentence
        docs.append(Document(f"d{number}", text, mentions=tuple(mentions)))
    return docs


@pytest.fixture(scope="module")
def long(kb: KnowledgeBase) -> Document:
    doc = joined(abstracts(), MENTIONS)
    assert len(doc.mentions or ()) == MENTIONS
    assert {doc.surface(mention) for mention in doc.mentions or ()} == set(WORDS)
    [found] = Ngram(kb=kb, k=2)(Abbreviations()(Sentences()([doc])))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["multi", "passage", "document"])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_long_document_is_read_some_at_a_time(
    kb: KnowledgeBase, bert: str, long: Document, packing: Packing, isolated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = 0
    forward = CrossNetwork.forward

    def watched(self: CrossNetwork, batch: Sequences) -> torch.Tensor:
        nonlocal largest
        largest = max(largest, batch.ids.numel(), batch.mask.numel() // batch.ids.shape[1] if isolated else 0)
        return forward(self, batch)

    monkeypatch.setattr(CrossNetwork, "forward", watched)
    cross = CrossEncoder(kb=kb, encoder=bert, packing=packing, isolated=isolated, top_k=2, use_first_stage_scores=False)
    cross.trained = True
    told: list[tuple[int, int]] = []
    with reporting(Reporter(lambda _what, done, total: told.append((done, total)))):
        [done] = cross([long])
    for mention in done.mentions or ():
        assert mention.candidates is not None
        assert set(mention.candidates.features) >= {"before"}
    assert 0 < largest <= CPU_TOKENS
    pairs = sum(len(mention.candidates or ()) for mention in long.mentions or ())
    assert told[-1] == (pairs, pairs)
    assert len(told) > 10
    assert told == sorted(told)


def test_the_documents_of_a_long_one_are_its_passages() -> None:
    docs = abstracts()[:3]
    doc = joined(docs, 25)
    assert [doc.text[passage.start : passage.end] for passage in doc.passages] == [f"{one.text}\n" for one in docs]
    assert len(doc.mentions or ()) == 25


@pytest.mark.data
def test_the_long_document_that_is_measured(data: Path) -> None:
    from linnet.corpora.catalog import read_corpus

    doc = joined(read_corpus("bc5cdr", split="dev", data=data), MENTIONS)
    assert (len(doc.text), len(doc.mentions or ())) == (142_512, MENTIONS)
