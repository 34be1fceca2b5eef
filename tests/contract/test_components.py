"""One contract for every component that recipes can name, and for pipelines of them."""

from __future__ import annotations

import atexit
import copy
import functools
import importlib.util
import json
import math
import pickle
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.chat_server import Chat
from tests.tiny_models import tiny_bert, tiny_spacy, tiny_token_classifier

from linnet.data import Concept, Document, Mention, Name, Span
from linnet.detect.conjuncts import Conjuncts
from linnet.detect.consistent import Consistent
from linnet.detect.dictionary import Dictionary
from linnet.detect.flair import Flair
from linnet.detect.gold import Gold
from linnet.detect.hf_tagger import HfTagger
from linnet.detect.linkable import Linkable
from linnet.detect.spacy import Spacy
from linnet.detect.tagger import Tagger
from linnet.errors import KnowledgeBaseError, LinnetWarning, PipelineError
from linnet.evaluate.cost import cost
from linnet.fit.plan import parts_of
from linnet.joint.collective import Collective
from linnet.joint.hierarchical import Hierarchical
from linnet.kb import KnowledgeBase
from linnet.pipeline import Abbreviations, Allow, Component, Fuse, Pipeline, Sentences, Stage, Union
from linnet.pipeline.context import Context
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.recipes.config import COMPONENTS
from linnet.rerank.cross_encoder import CrossEncoder
from linnet.rerank.endpoint import Endpoint
from linnet.rerank.lexical import Lexical
from linnet.retrieve.bm25 import Bm25
from linnet.retrieve.dense import Dense
from linnet.retrieve.earlier import Earlier
from linnet.retrieve.exact import Exact
from linnet.retrieve.generate import Generate
from linnet.retrieve.ngram import Ngram
from linnet.retrieve.types import Types

Make = Callable[[KnowledgeBase], Component]
Learner = TypeVar("Learner", Collective, CrossEncoder, Dense, Dictionary, Flair, Hierarchical, Lexical, Tagger)


@functools.cache
def folder(name: str) -> Path:
    """Return a folder that is removed at the end."""
    made = Path(tempfile.mkdtemp(prefix=name))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


Taught = TypeVar("Taught", Tagger, Collective, Hierarchical)


@functools.cache
def tiny() -> str:
    """Return the folder of an encoder of a few weights, made once a process."""
    return str(tiny_bert(folder("tiny-bert") / "bert", layers=1))


@functools.cache
def classifier() -> str:
    """Return the folder of a token classifier, made once a process."""
    labels = ("O", "B-Sign", "I-Sign")
    says = {"short": "B-Sign", "stature": "I-Sign", "seizures": "B-Sign", "seizure": "B-Sign", "cleft": "B-Sign"}
    return str(tiny_token_classifier(folder("classifier") / "bert", labels, says=says))


@functools.cache
def spacy_pipeline() -> str:
    """Return the folder of a spaCy pipeline, made once a process."""
    return str(tiny_spacy(folder("spacy") / "pipeline"))


def trained(part: Learner, kb: KnowledgeBase, **args: object) -> Learner:
    """Return a part trained on a few mentions."""
    texts = ("Epileptic seizures", "short fingers", "small stature", "a common cold")
    ids = ("HP:0001250", "HP:0009381", "HP:0004322", "X:2")
    docs = [
        Document(f"t{place}", text, mentions=(Mention(0, len(text), source="gold", concepts=(id,)),))
        for place, (text, id) in enumerate(zip(texts * 5, ids * 5, strict=True))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        list(part.fit(docs, (), before=Pipeline(Ngram(kb=kb)), kb=kb, args=args))
    return part


def taught(part: Taught, kb: KnowledgeBase, **args: object) -> Taught:
    """Return a part trained to be sure about the mentions in the texts of this test."""
    docs = []
    for place, text in enumerate((*TEXTS, "x y")):
        spans = [found.span() for found in re.finditer("(?i)seizures?", text)]
        mentions = tuple(Mention(*span, source="gold", types=("Sign",), concepts=("HP:0001250",)) for span in spans)
        docs.append(Document(f"t{place}", text, mentions=mentions))
    list(part.fit(docs, (), before=Pipeline(), kb=kb, args={"epochs": 60, "lr": 5e-3, **args}))
    return part


def reloaded(part: Learner, kb: KnowledgeBase) -> Learner:
    """Return a part as it is loaded, which may be run by something else than it was trained with."""
    place = folder(f"part-{type(part).__name__}") / "saved"
    part.save(place)
    return type(part).load(place, kb=kb)


def collective(kb: KnowledgeBase, **keywords: Any) -> Collective:
    """Return a collective dual encoder trained to be sure about the mentions in the texts of this test."""
    return taught(Collective(kb=kb, encoder=tiny(), **keywords), kb, positive="preferred", mined=0, epochs=30)


def hierarchical(kb: KnowledgeBase, **keywords: Any) -> Hierarchical:
    """Return a hierarchical model trained to be sure about the mentions in the texts of this test."""
    part = Hierarchical(kb=kb, encoder=tiny(), lstm=16, **keywords)
    return taught(part, kb, positive="preferred", mined=0, nil_weight=1.0, epochs=40)


# A component is registered in config.COMPONENTS and here, or the first test fails.
CASES: dict[str, list[Make]] = {
    "abbreviations": [lambda kb: Abbreviations()],
    "bm25": [lambda kb: Bm25(kb=kb), lambda kb: Bm25(kb=kb, k=2, k1=0.0, definitions=False, long_forms=False)],
    "collective": [
        lambda kb: collective(kb, k=5),
        lambda kb: collective(kb, mode="bio", dictionary=False, shared=False, window=16),
        lambda kb: collective(kb, overlaps="nested", pooling="ends", names="preferred"),
        lambda kb: trained(Collective(kb=kb, encoder=tiny(), mode="gold", name_pooling="cls"), kb, epochs=1),
    ],
    "conjuncts": [lambda kb: Conjuncts(kb=kb)],
    "consistent": [lambda kb: Consistent(), lambda kb: Consistent(abbreviations=False, min_probability=0.0)],
    "context": [lambda kb: Context(), lambda kb: Context(headings="keep", only=["affirmed", "negated"])],
    "cross_encoder": [
        lambda kb: trained(CrossEncoder(kb=kb, encoder=tiny()), kb, epochs=1),
        lambda kb: reloaded(trained(CrossEncoder(kb=kb, encoder=tiny(), backend="onnx"), kb, epochs=1), kb),
        lambda kb: trained(CrossEncoder(kb=kb, encoder=tiny(), packing="document", isolated=True), kb, epochs=1),
        lambda kb: trained(
            CrossEncoder(kb=kb, encoder=tiny(), packing="multi", use_first_stage_scores=False), kb, loss="pairs"
        ),
    ],
    "decide": [
        lambda kb: Decide(kb=kb),
        lambda kb: Decide(kb=kb, threshold=0.6, fold=False),
        lambda kb: Decide(kb=kb, nil="drop"),
    ],
    "dense": [
        lambda kb: Dense(kb=kb, encoder=tiny(), k=5),
        lambda kb: Dense(kb=kb, encoder=tiny(), shared=False, pooling="cls", name_pooling="cls", names="preferred"),
        lambda kb: Dense(kb=kb, encoder=tiny(), pooling="mean", name_pooling="mean", context=False, markers=False),
    ],
    "dictionary": [
        lambda kb: Dictionary(kb=kb),
        lambda kb: Dictionary(kb=kb, overlaps="all", types=["Neurology"]),
        lambda kb: trained(Dictionary(kb=kb, aliases=True, min_precision=0.3), kb),
        lambda kb: trained(Dictionary(kb=kb, overlaps="all", min_precision=0.6), kb),
    ],
    "earlier": [lambda kb: Earlier(kb=kb)],
    "endpoint": [
        lambda kb: Endpoint(kb=kb, model="any", threshold=1.0),
        lambda kb: Endpoint(kb=kb, model="any", threshold=1.0, candidates=1, keep=False, calls=9999, tokens=10**9),
    ],
    "exact": [
        lambda kb: Exact(kb=kb),
        lambda kb: Exact(kb=kb, k=1, level="case"),
        lambda kb: Exact(kb=kb, level="family"),
    ],
    "flair": [
        lambda kb: trained(Flair(words=8, characters=8, hidden=8), kb, epochs=3, batch=4),
        lambda kb: trained(Flair(words=8, characters=0, hidden=8, min_probability=0.2), kb, epochs=3),
    ],
    "fuse": [
        lambda kb: Exact(kb=kb) | Ngram(kb=kb, k=3),
        lambda kb: Fuse([Bm25(kb=kb), Ngram(kb=kb)], method="weighted", weights=(0.25, 0.75)),
        lambda kb: Fuse([Exact(kb=kb), Bm25(kb=kb)], method="interleaved"),
    ],
    "generate": [
        lambda kb: Generate(kb=kb, encoder=tiny(), beams=8, k=5),
        lambda kb: Generate(kb=kb, encoder=tiny(), prompt="", context=False, plain=True, shared="fewest"),
    ],
    "gold": [lambda kb: Gold(), lambda kb: Gold(types=True)],
    "hf_tagger": [
        lambda kb: HfTagger(model=classifier()),
        lambda kb: HfTagger(
            model=classifier(), types={"Sign": "Phenotype"}, aggregation="average", min_probability=0.2
        ),
    ],
    "hierarchical": [
        lambda kb: hierarchical(kb, k=5),
        lambda kb: hierarchical(kb, variant="pt_single", rows="plain", context="sentences"),
        lambda kb: hierarchical(kb, variant="pt_multi", rows="names", dictionary=False, context="none", window=16),
        lambda kb: hierarchical(kb, variant="pt_hierarchical", decoding="labels", shortcuts=False, layers=1),
        lambda kb: hierarchical(kb, variant="pt_hierarchical", rows="plain", residual=False),
        lambda kb: trained(
            Hierarchical(kb=kb, encoder=tiny(), variant="pe_single", find=False, names="preferred"), kb, epochs=1
        ),
    ],
    "lexical": [lambda kb: trained(Lexical(kb=kb), kb), lambda kb: trained(Lexical(kb=kb, omit=("aliases",)), kb)],
    "linkable": [
        lambda kb: Linkable([Dictionary(kb=kb), Ngram(kb=kb)]),
        lambda kb: Linkable([HfTagger(model=classifier()), Fuse([Exact(kb=kb), Ngram(kb=kb)])], min_score=0.3),
    ],
    "ngram": [lambda kb: Ngram(kb=kb), lambda kb: Ngram(kb=kb, k=2, ngram_range=(3, 3), min_df=2)],
    "sentences": [lambda kb: Sentences()],
    "tagger": [
        lambda kb: taught(Tagger(kb=kb, encoder=tiny()), kb),
        lambda kb: reloaded(taught(Tagger(kb=kb, encoder=tiny(), backend="onnx"), kb), kb),
        lambda kb: taught(Tagger(kb=kb, encoder=tiny(), dictionary=False, scheme="BIO", decoding="crf", lstm=4), kb),
    ],
    "spacy": [
        lambda kb: Spacy(model=spacy_pipeline()),
        lambda kb: Spacy(model=spacy_pipeline(), types={"SIGN": "Phenotype"}),
    ],
    "types": [
        lambda kb: Types(kb=kb, of=[Ngram(kb=kb)], allow={"Sign": ("Phenotype",), "Disease": ("Disease",)}),
        lambda kb: Types(kb=kb, of=[Fuse([Exact(kb=kb), Ngram(kb=kb)])], allow={"Sign": "Phenotype"}, prefer=True),
    ],
    "union": [
        lambda kb: Dictionary(kb=kb) | Dictionary(kb=kb, overlaps="all"),
        lambda kb: Union([HfTagger(model=classifier()), Dictionary(kb=kb)], overlaps="longest"),
        lambda kb: Union([Dictionary(kb=kb, overlaps="all"), HfTagger(model=classifier())], overlaps="first"),
    ],
}
PIPELINES: dict[str, Make] = {
    "dictionary-decide": lambda kb: Dictionary(kb=kb) >> Decide(kb=kb),
    "gold-fused-decide": lambda kb: Gold() >> (Exact(kb=kb) | Ngram(kb=kb)) >> Decide(kb=kb, threshold=0.01),
    "hf_tagger-types-decide": lambda kb: (
        HfTagger(model=classifier()) >> Types(kb=kb, of=[Ngram(kb=kb)], allow={"Sign": ("Phenotype",)}) >> Decide(kb=kb)
    ),
    "nested-union": lambda kb: (
        Union([Dictionary(kb=kb), Union([Dictionary(kb=kb, overlaps="all")])])
        >> Fuse([Fuse([Exact(kb=kb)]), Ngram(kb=kb)], constant=10.0)
        >> Decide(kb=kb)
    ),
}
# Components of libraries that are not part of every environment; `make test-flair` makes one with flair.
LIBRARIES = {"flair": "flair", "spacy": "spacy"}
MISSING = {name for name, library in LIBRARIES.items() if importlib.util.find_spec(library) is None}
ALL = [(name, make) for name, makes in CASES.items() if name not in MISSING for make in makes] + list(PIPELINES.items())

TEXTS = (
    "Short stature and recurrent seizures; no cleft palate.",
    "",
    "Atrial septal defect (ASD) was closed. The ASD had been small. Short fingers and toes.",
    "Nothing to see here.",
    " \n\t ",
    "Cold, cold and a common cold. 😀 癫痫 Fits\u200b!",
    "Seizure",
    "EPILEPTIC SEIZURES of tonic-clonic type",
    "short \ud800 stature\0 seizure",
)


@functools.cache
def chat() -> Chat:
    """A language model that chooses the last of the candidates, for as long as the process lives."""
    server = Chat(lambda request: request["messages"][1]["content"].splitlines()[-2].partition(".")[0])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(autouse=True)
def _endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_ENDPOINT", chat().url)


MADE: dict[int, bytes] = {}


def component_at(place: int, kb: KnowledgeBase) -> Component:
    """Return a component that nobody else has; what takes a training is made once, and copied for all others."""
    if place in MADE:
        copied: Component = pickle.loads(MADE[place])
        return copied
    made = ALL[place][1](kb)
    MADE[place] = pickle.dumps(made)
    return made


@pytest.fixture(params=range(len(ALL)), ids=[f"{name}-{place}" for place, (name, _) in enumerate(ALL)])
def component(request: pytest.FixtureRequest, kb: KnowledgeBase) -> Component:
    """A component of its own for each test."""
    return component_at(request.param, kb)


def blind(component: Component) -> bool:
    """Whether gold detection is part of it, which refuses to see answers."""
    return isinstance(component, Gold) or (
        isinstance(component, Pipeline) and any(isinstance(part, Gold) for part in component.parts)
    )


def documents(component: Component, kb: KnowledgeBase) -> list[Document]:
    """Return documents that bring what `component` needs, with mentions of people among them."""
    docs = []
    for number, text in enumerate(TEXTS):
        mentions = [
            Mention(at, at + 7, id=f"u{at}", source="user", concepts=None if blind(component) else ("X:1",))
            for at in [text.find("seizure")]
            if at >= 0
        ]
        mentions += (
            [Mention(0, 13, id="g", source="gold", concepts=None if blind(component) else ())] if number == 0 else []
        )
        if "mentions" in component.needs and text.strip():
            end = len(text.split()[0])
            mentions += [Mention(0, end), Mention(0, len(text), parts=(Span(0, 1), Span(len(text) - 1, len(text))))]
        keep = mentions or "mentions" in component.needs
        docs.append(Document(f"d{number}", text, mentions=tuple(mentions) if keep else None))
    if component.needs & {"sentences", "abbreviations"}:
        docs = Sentences()(docs)
    if "abbreviations" in component.needs:
        docs = Abbreviations()(docs)
    if "candidates" in component.needs or isinstance(component, Earlier):
        docs = Pipeline(Exact(kb=kb))(docs)
    return Decide(kb=kb)(docs) if "concepts" in component.needs else docs


def holds(doc: Document, name: str) -> bool:
    """Whether a document has what a component says it gives; for mentions of people it need not."""
    if name in ("sentences", "abbreviations", "mentions"):
        return getattr(doc, name) is not None
    return all(getattr(mention, name) is not None for mention in doc.mentions or () if mention.source == "pred")


def settled(doc: Document) -> list[Mention]:
    """The mentions of people, without the suggestions and signals that components may add."""
    people = [mention for mention in doc.mentions or () if mention.source != "pred"]
    people = [m if m.concepts is not None else replace(m, concepts=None) for m in people]
    return sorted((replace(m, candidates=None, signals={}) for m in people), key=lambda m: (m.start, m.end, m.id))


def test_every_component_has_a_case_that_makes_it(kb: KnowledgeBase) -> None:
    assert set(CASES) == set(COMPONENTS), "give the new component a case in CASES"
    assert all(CASES.values())
    for place, (name, _) in enumerate(ALL):
        if name in CASES:
            made = type(component_at(place, kb))
            assert f"{made.__module__}:{made.__qualname__}" == COMPONENTS[name]


def test_it_is_a_component(component: Component) -> None:
    assert isinstance(component, Component)
    assert isinstance(component.needs, frozenset)
    assert isinstance(component.gives, frozenset)
    assert component.gives


def test_same_ids_and_texts_come_out(component: Component, kb: KnowledgeBase) -> None:
    docs = documents(component, kb)
    out = component(docs)
    assert isinstance(out, list)
    assert [(doc.id, doc.text) for doc in out] == [(doc.id, doc.text) for doc in docs]
    assert [doc.meta for doc in out] == [doc.meta for doc in docs]


def test_an_empty_batch(component: Component) -> None:
    assert component([]) == []
    assert component(()) == []


def test_documents_without_mentions_and_without_text(component: Component) -> None:
    docs = [Document("a", "", mentions=(), sentences=(), abbreviations=()), Document("b", "x y", (), (), (), ())]
    out = component(docs)
    assert [doc.mentions for doc in out] == [(), ()]


def test_what_it_needs_is_asked_for(component: Component) -> None:
    lacking = [Document("bare", "Seizure")]
    if component.needs:
        with pytest.raises(PipelineError, match="'bare'"):
            component(lacking)
    else:
        assert len(component(lacking)) == 1


def agree(some: Sequence[Document], others: Sequence[Document]) -> None:
    """Check that documents hold the same, and candidates with scores as equal as sums in another order are.

    How a network rounds depends on what else is in its batch, and in bfloat16 it rounds to three digits.
    """
    for one, other in zip(some, others, strict=True):
        for left, right in zip(one.mentions or (), other.mentions or (), strict=True):
            assert replace(left, candidates=None, signals={}) == replace(right, candidates=None, signals={})
            if left.candidates is None or right.candidates is None:
                assert left.candidates is right.candidates
                continue
            scores = dict(zip(right.candidates.rows.tolist(), right.candidates.scores.tolist(), strict=True))
            for row, score in zip(left.candidates.rows.tolist(), left.candidates.scores.tolist(), strict=True):
                assert score == pytest.approx(scores.get(row, right.candidates.scores[-1]), abs=0.02)


def test_batches_agree(component: Component, kb: KnowledgeBase) -> None:
    docs = documents(component, kb)
    together = component(docs)
    for size in (1, 2, 8):
        pieces = [docs[start : start + size] for start in range(0, len(docs), size)]
        found = [doc for piece in pieces for doc in component(piece)]
        if isinstance(component, (Collective, CrossEncoder, Dense, Flair, Generate, Hierarchical, Tagger)):
            agree(found, together)
        else:
            assert found == together, size


def test_the_same_twice(component: Component, kb: KnowledgeBase) -> None:
    docs = documents(component, kb)
    assert component(docs) == component(docs) == component(tuple(docs))


def test_again_on_its_own_output(component: Component, kb: KnowledgeBase) -> None:
    if blind(component):
        pytest.skip("refuses answers, its own included")
    once = component(documents(component, kb))
    assert component(once) == once


def test_documents_that_go_in_are_not_changed(component: Component, kb: KnowledgeBase) -> None:
    docs = documents(component, kb)
    before = copy.deepcopy(docs)
    component(docs)
    assert docs == before


def test_what_it_gives_is_there(component: Component, kb: KnowledgeBase) -> None:
    for doc in component(documents(component, kb)):
        for name in component.gives:
            assert holds(doc, name), (doc.id, name)


def test_people_keep_what_they_did(component: Component, kb: KnowledgeBase) -> None:
    docs = documents(component, kb)
    for doc, out in zip(docs, component(docs), strict=True):
        before, after = settled(doc), settled(out)
        if blind(component):  # nothing is answered there yet, so an answer may be suggested
            after = [replace(m, concepts=None, probability=None, calibration="") for m in after]
        assert after == before
        theirs = {mention.spans for mention in before}
        if "mentions" not in component.needs:
            assert not [m for m in out.mentions or () if m.source == "pred" and m.spans in theirs]


def test_predicted_mentions_have_ids_and_lie_inside(component: Component, kb: KnowledgeBase) -> None:
    if "mentions" not in component.gives:
        pytest.skip("finds no mentions")
    for doc in component(documents(component, kb)):
        ids = [mention.id for mention in doc.mentions or ()]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        assert list(doc.mentions or ()) == sorted(doc.mentions or (), key=lambda m: (m.start, -m.end, m.parts, m.id))


def test_candidates_are_ordered_and_of_this_knowledge_base(component: Component, kb: KnowledgeBase) -> None:
    for doc in component(documents(component, kb)):
        for mention in doc.mentions or ():
            if mention.candidates is not None:
                assert mention.candidates == mention.candidates.sorted()
                assert mention.candidates.kb == kb.version
                assert len(set(mention.candidates.rows.tolist())) == len(mention.candidates)


def test_allow_is_kept_to(component: Component, kb: KnowledgeBase) -> None:
    if "candidates" not in component.gives:
        pytest.skip("makes no candidates")
    if "candidates" in component.needs:
        pytest.skip("reorders candidates that kept to it when they were retrieved")
    allow = Allow(types=("Disease", "Neurology"))
    mask = allow.mask(kb)
    docs = [replace(doc, mentions=tuple(replace(m, candidates=None) for m in doc.mentions))
            if doc.mentions is not None else doc for doc in documents(component, kb)]  # fmt: skip
    if isinstance(component, Earlier):  # has nothing to keep to it where no mention has any
        docs = Exact(kb=kb)(Abbreviations()(Sentences()(docs)))
    rows = {
        row
        for doc in component(docs, allow=allow)
        for mention in doc.mentions or ()
        if mention.candidates is not None
        for row in mention.candidates.rows.tolist()
    }
    assert rows
    assert all(row in mask for row in rows)


def test_a_saved_pipeline_agrees(component: Component, kb: KnowledgeBase, tmp_path: Path) -> None:
    pipeline = Pipeline(component, kb=kb)
    saving.save(pipeline, tmp_path / "saved")
    docs = documents(component, kb)
    want = pipeline(docs)
    assert config.load(tmp_path / "saved")(docs) == want
    again = config.load(tmp_path / "saved", kb=kb)
    assert repr(again) == repr(pipeline)
    saving.save(again, tmp_path / "twice")
    assert (tmp_path / "twice" / "pipeline.toml").read_text() == (tmp_path / "saved" / "pipeline.toml").read_text()


def test_documents_and_components_pickle(component: Component, kb: KnowledgeBase) -> None:
    docs = documents(component, kb)
    out = component(docs)
    assert pickle.loads(pickle.dumps(out)) == out
    moved: Component = pickle.loads(pickle.dumps(component))
    assert moved(pickle.loads(pickle.dumps(docs))) == out


def test_what_was_learned_is_counted(component: Component, kb: KnowledgeBase, tmp_path: Path) -> None:
    measured = cost(lambda: Pipeline(component), documents(component, kb), repeats=1)
    saving.save(Pipeline(component, kb=kb), tmp_path / "saved")
    weights = 0
    for path in (tmp_path / "saved").rglob("*.safetensors"):
        with path.open("rb") as file:  # the length of the header, and the header
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        weights += sum(math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__")
    for path in (tmp_path / "saved").rglob("model.json"):
        weights += len(json.loads(path.read_text())["features"])
    assert measured.parameters == weights + (2 if getattr(component, "weights", None) else 0)


def test_rebound_it_answers_as_if_it_were_loaded(component: Component, kb: KnowledgeBase, tmp_path: Path) -> None:
    saving.save(Pipeline(component, kb=kb), tmp_path / "saved")
    path = shutil.copy(kb.path, tmp_path / "copy.kb")
    before = config.load(tmp_path / "saved", kb=path)
    assert before.kb is not None
    before(documents(before.parts[0], before.kb))
    with KnowledgeBase.edit(path) as change:
        change.add(Concept("X:1", (Name("Seizure"),), ("Sign",)))
        change.merge("HP:0004322", "HP:0009381")
        change.retire("HP:0000175", "HP:0000118")
    edited = KnowledgeBase.open(path)
    after = before.rebound(edited)
    assert after.kb is edited
    for part, other in zip(parts_of(before), parts_of(after), strict=True):
        assert isinstance(part, Stage)
        assert isinstance(other, Stage)
        assert other.linked_kb in (None, edited)
        assert other.made.get("network") is part.made.get("network")
    docs = documents(after.parts[0], edited)
    agree(after(docs), config.load(tmp_path / "saved", kb=edited)(docs))
    with pytest.raises(KnowledgeBaseError, match="has changed"):
        before.kb.types()


@pytest.mark.parametrize(
    "make",
    [make for name in ("bm25", "dense", "dictionary", "exact", "fuse", "types", "union") for make in CASES[name]],
)
def test_files_beside_the_knowledge_base_are_told(make: Make, kb: KnowledgeBase, tmp_path: Path) -> None:
    shutil.copy(kb.path, tmp_path / "copy.kb")
    component = make(KnowledgeBase.open(tmp_path / "copy.kb"))
    assert isinstance(component, Stage)
    component(documents(component, kb))
    assert {tmp_path / "copy.kb", *component.index_files} == set(tmp_path.iterdir())


def test_mentions_are_not_given_to_the_wrong_documents(kb: KnowledgeBase) -> None:
    pipeline = PIPELINES["dictionary-decide"](kb)
    docs = [Document(f"d{i}", text) for i, text in enumerate(TEXTS)]

    def answers(some: Sequence[Document]) -> dict[str, list[tuple[str, tuple[str, ...] | None]]]:
        return {doc.id: [(doc.surface(m), m.concepts) for m in doc.mentions or ()] for doc in pipeline(some)}

    found = answers(docs)
    assert found == answers(docs[::-1])
    assert ("cleft palate", ("HP:0000175",)) in found["d0"]
    assert ("Short stature", ("HP:0004322",)) in found["d0"]
    assert ("ASD", ("HP:0001631",)) in found["d2"]
