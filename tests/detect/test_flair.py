from __future__ import annotations

import importlib.util
import logging
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.corpora.catalog import read_corpus
from linnet.data import Document, Mention, Span
from linnet.detect.flair import Flair
from linnet.errors import (
    DataError,
    FormatError,
    LinnetError,
    MissingExtraError,
    PipelineError,
    RecipeError,
    how_to_install,
)
from linnet.fit.fitting import Done, Progress, train
from linnet.fit.plan import tasks
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline, Sentences
from linnet.pipeline.decide import Decide
from linnet.recipes import config
from linnet.retrieve.ngram import Ngram
from linnet.vocabularies.corpus_concepts import read_corpus_concepts

needs_flair = pytest.mark.skipif(importlib.util.find_spec("flair") is None, reason="needs flair: make test-flair")
logger = logging.getLogger("linnet.tests")

SIGNS = {"short stature": "HP:0004322", "seizures": "HP:0001250", "cleft palate": "HP:0000175"}
FRAMES = ("He has {}.", "No {} were seen in the child.", "The mother reported {} at birth.", "{}, since the age of 3.")


def taught() -> list[Document]:
    """Sentences with one sign each, and one without."""
    docs: list[Document] = []
    for frame in FRAMES:
        for sign, id in SIGNS.items():
            text = frame.format(sign)
            at = text.find(sign)
            mention = Mention(at, at + len(sign), types=("Phenotype",), source="gold", concepts=(id,))
            docs.append(Document(f"t{len(docs)}", text, mentions=(mention,)))
    return [*docs, Document("none", "Nothing else was seen.", mentions=())]


def real(split: str, count: int) -> list[Document]:
    """Abstracts of BC5CDR where they are, else the sentences above."""
    if folder := os.environ.get("LINNET_DATA"):
        docs = read_corpus("bc5cdr", split=split, data=folder)
        return [doc for doc, _ in zip(docs, range(count), strict=False)]
    return taught()


def tiny() -> Flair:
    return Flair(words=16, characters=16, hidden=32)


def learn(part: Flair, docs: Sequence[Document], **args: object) -> Flair:
    list(part.fit(docs, docs, before=None, kb=None, args={"epochs": 25, "batch": 4, "lr": 0.3, **args}))  # type: ignore[arg-type]
    return part


def answers(docs: Sequence[Document]) -> list[set[tuple[Span, tuple[str, ...]]]]:
    return [{(m.span, m.types) for m in doc.mentions or ()} for doc in docs]


def f1(gold: Sequence[Document], found: Sequence[Document]) -> float:
    pairs = list(zip(answers(gold), answers(found), strict=True))
    right = sum(len(ours & theirs) for theirs, ours in pairs)
    return 2 * right / max(sum(len(ours) + len(theirs) for theirs, ours in pairs), 1)


def linked_right(gold: Sequence[Document], found: Sequence[Document]) -> int:
    """How many mentions have the span and the concepts of one of gold."""
    wanted = [{(m.span, m.concepts) for m in doc.mentions or ()} for doc in gold]
    return sum(
        (m.span, m.concepts) in ours for ours, doc in zip(wanted, found, strict=True) for m in doc.mentions or ()
    )


def test_without_flair_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for run in (lambda: Flair().detect([]), lambda: learn(Flair(), [])):
        with pytest.raises(
            MissingExtraError, match=re.escape(f"{how_to_install('flair')} - in an environment of its own")
        ):
            run()


def test_keywords_are_checked() -> None:
    with pytest.raises(RecipeError, match=r"(?s)words: -1.*hidden: 0.*min_probability: 2"):
        Flair(words=-1, hidden=0, min_probability=2)
    with pytest.raises(RecipeError, match="would see nothing"):
        Flair(words=0, characters=0)


@needs_flair
def test_it_learns_links_and_is_kept(tmp_path: Path) -> None:
    """Ten abstracts are learned by heart: what a tagger that is put together and trained rightly can do at least."""
    docs = real("train", 10)
    kb = build(read_corpus_concepts(docs), tmp_path / "corpus.kb")
    pipeline = Pipeline(Flair(words=50, characters=64, hidden=64), Ngram(kb=kb, k=8), Decide(kb=kb), kb=kb)
    told = {"part": "flair", "epochs": 40, "batch": 4, "patience": 9, "dropout": 0.0}
    start = time.process_time()
    steps = list(train(pipeline, tasks(pipeline, [told], source="test"), docs, docs, output=tmp_path / "out"))
    seconds = time.process_time() - start
    progress = [step.step for step in steps if isinstance(step, Progress)]
    assert isinstance(steps[-1], Done)
    linked = config.load(tmp_path / "out", kb=kb)
    bare = [doc.bare() for doc in docs]
    found = linked(bare)
    score, best = f1(docs, found), max(step.score or 0.0 for step in progress)
    mentions = [mention for doc in found for mention in doc.mentions or ()]
    right = linked_right(docs, found)
    logger.info(
        "flair: %d documents learned by heart in %.0f s of one core, %d epochs; span F1 %.3f, %d of %d linked right",
        *(len(docs), seconds, len(progress), score, right, len(mentions)),
    )
    assert score >= 0.9
    assert score == pytest.approx(best, abs=0.03), "the best weights are kept"
    assert progress[-1].losses["crf"] < progress[0].losses["crf"] / 4
    assert right > len(mentions) / 2
    assert all(0 < mention.signals["detect"] <= 1 for mention in mentions)
    assert not list((tmp_path / "out").rglob("*.pt"))
    trained, kept = pipeline.parts[0], linked.parts[0]
    assert isinstance(trained, Flair)
    assert isinstance(kept, Flair)
    read = Sentences()(bare)
    assert kept.detect(read) == trained.detect(read), "saved and read again it answers the same, confidences included"


@needs_flair
def test_it_finds_what_it_was_taught() -> None:
    docs = taught()
    part = learn(tiny(), docs)
    [out] = part(Sentences()([Document("d", "The child has seizures. No \ud800 cleft palate was seen.")]))
    assert {out.surface(m) for m in out.mentions or ()} >= {"seizures"}
    assert f1(docs, part(Sentences()([doc.bare() for doc in docs]))) > 0.9
    untyped = [replace(doc, mentions=tuple(replace(m, types=()) for m in doc.mentions or ())) for doc in docs]
    [other] = learn(tiny(), untyped)(Sentences()([docs[0].bare()]))
    assert all(mention.types == () for mention in other.mentions or ())


@needs_flair
def test_the_same_seed_gives_the_same_tagger() -> None:
    docs = Sentences()([doc.bare() for doc in taught()])
    one, same = (learn(tiny(), taught(), epochs=2).detect(docs) for _ in range(2))
    assert one == same


@needs_flair
def test_language_models_learn_from_a_short_text() -> None:
    docs = taught() * 8
    part = learn(Flair(words=0, characters=16, hidden=8), docs, epochs=1)
    text = " ".join(doc.text for doc in docs)
    for made in part.network.tagger.embeddings.embeddings:  # Flair turns the text round for the second
        perplexity, chance = float(made.lm.calculate_perplexity(text)), len(made.lm.dictionary)
        assert perplexity < chance / 2


@needs_flair
def test_embeddings_of_a_folder(tmp_path: Path) -> None:
    from linnet.detect.flair_model import read_embeddings, write_language_model

    made = learn(tiny(), taught(), epochs=1)
    made.save(tmp_path / "saved")
    kept = tmp_path / "saved" / "model" / "embeddings"
    assert len(read_embeddings(kept)) == 3
    again = learn(Flair(embeddings=str(kept), hidden=8), taught(), epochs=1)
    again.save(tmp_path / "again")
    for name in ("words.txt", "forward.safetensors", "backward.json"):  # they do not learn any more
        assert (tmp_path / "again" / "model" / "embeddings" / name).read_bytes() == (kept / name).read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(LinnetError, match=r"expected words.txt, forward.json or backward.json$"):
        read_embeddings(other)
    model = made.network.tagger.embeddings.embeddings[1].lm
    model.save(other / "forward.pt")
    with pytest.raises(LinnetError, match=r"\.pt files are converted first"):
        read_embeddings(other)
    write_language_model(model, other)
    (other / "words.txt").write_text("2 3\nseizures 1 2 3\npalate 4 5 6\n", encoding="utf-8")
    words, forward = read_embeddings(other)
    assert words.embedding.weight.tolist() == [[1, 2, 3], [4, 5, 6], [0, 0, 0]]
    assert forward.lm.is_forward_lm
    (other / "words.txt").write_text("seizures 1 2\npalate 4 x\n", encoding="utf-8")
    with pytest.raises(FormatError, match="line 2: expected a word and numbers"):
        read_embeddings(other)


@needs_flair
def test_what_goes_wrong(tmp_path: Path, kb: KnowledgeBase) -> None:
    with pytest.raises(PipelineError, match="run linnet train"):
        Flair().detect([])
    with pytest.raises(DataError, match="no mention in the training documents"):
        learn(tiny(), [Document("d", "Nothing.", mentions=())])
    with pytest.raises(RecipeError, match=r"(?s)lr: .*epoch: unknown field; did you mean 'epochs'"):
        learn(tiny(), taught(), epoch=3, lr=0)
    learn(tiny(), taught(), epochs=1).save(tmp_path / "saved")
    (tmp_path / "saved" / "model" / "tagger.safetensors").write_bytes(b"")
    with pytest.raises(FormatError, match="train the pipeline again"):
        Flair.load(tmp_path / "saved").detect([])
