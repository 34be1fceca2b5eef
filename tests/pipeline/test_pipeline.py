from __future__ import annotations

import itertools
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Candidates, Document, Mention, Span, mention_id
from linnet.detect.conjuncts import Conjuncts
from linnet.detect.consistent import Consistent
from linnet.detect.dictionary import Dictionary
from linnet.detect.gold import Gold
from linnet.errors import FormatError, LinnetWarning, PipelineError
from linnet.kb import KnowledgeBase
from linnet.pipeline import (
    PROPERTIES,
    Abbreviations,
    Allow,
    Component,
    Detector,
    Fuse,
    Pipeline,
    Reranker,
    Retriever,
    Sentences,
    Stage,
    Step,
    Union,
)
from linnet.pipeline.component import Seen, align, merge
from linnet.pipeline.decide import Decide
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram

TEXT = "Seizure and cold."


@dataclass(kw_only=True)
class Words(Detector):
    """Finds the words it is given."""

    words: Sequence[str] = ("Seizure",)
    types: tuple[str, ...] = ()
    seen: list[int] = field(default_factory=list)

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Mention]]:
        self.seen.append(len(docs))
        return [
            [
                Mention(doc.text.index(w), doc.text.index(w) + len(w), types=self.types)
                for w in self.words
                if w in doc.text
            ]
            for doc in docs
        ]


@dataclass(kw_only=True)
class Fixed(Retriever):
    """Gives every mention the same candidates."""

    found: Candidates

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        return [[self.found for _ in doc.mentions or ()] for doc in docs]


@dataclass
class Backwards(Reranker):
    def rerank(self, docs: Sequence[Document], /) -> list[list[Candidates]]:
        return [
            [replace(m.candidates, rows=m.candidates.rows[::-1]) for m in doc.mentions or () if m.candidates]
            for doc in docs
        ]


@dataclass
class Custom(Stage):
    """A component that declares what the test wants."""

    wants: frozenset[str] = frozenset()
    makes: frozenset[str] = frozenset()
    loses: frozenset[str] = frozenset()

    @property
    def needs(self) -> frozenset[str]:
        return self.wants

    @property
    def gives(self) -> frozenset[str]:
        return self.makes

    @property
    def drops(self) -> frozenset[str]:
        return self.loses - self.makes

    def __call__(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[Document]:
        return list(docs)


def fixed(rows: Sequence[int], kb: str = "v", names: Sequence[int] | None = None) -> Fixed:
    scores = [1 - 0.1 * place for place in range(len(rows))]
    return Fixed(found=Candidates(rows, scores, names=names, kb=kb))  # type: ignore[arg-type]


def spans(doc: Document) -> list[tuple[Span, ...]]:
    return [mention.spans for mention in doc.mentions or ()]


# --- composing -------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_put_in_front(kb: KnowledgeBase) -> None:
    def names(pipeline: Pipeline) -> list[str]:
        return [type(part).__name__ for part in pipeline.front]

    assert names(Words() >> Exact(kb=kb)) == ["Sentences", "Abbreviations"]
    assert names(Pipeline(Sentences(), Words(), Exact(kb=kb))) == ["Sentences", "Abbreviations"]
    assert names(Pipeline(Abbreviations(), Words(), Exact(kb=kb))) == ["Sentences"]
    assert names(Pipeline(Sentences(), Abbreviations(), Words(), Exact(kb=kb))) == []
    assert names(Pipeline(Custom(frozenset({"sentences"})))) == ["Sentences"]
    assert names(Words() >> Custom()) == []
    pipeline = Words() >> Exact(kb=kb)
    assert pipeline.needs == frozenset()
    assert pipeline.gives == {"mentions", "candidates"}
    assert repr(pipeline) == "Words >> Exact"
    assert (Exact(kb=kb) >> Decide(kb=kb)).needs == {"mentions"}
    assert isinstance(pipeline, Component)


def test_the_order_is_checked(kb: KnowledgeBase) -> None:
    with pytest.raises(PipelineError, match="Exact needs mentions, which only the later Words gives: put Words before"):
        Exact(kb=kb) >> Words()
    with pytest.raises(PipelineError, match="Decide needs candidates, which only the later Exact gives"):
        Pipeline(Words(), Decide(kb=kb), Exact(kb=kb))
    with pytest.raises(PipelineError, match="Exact needs abbreviations, which only the later Abbreviations gives"):
        Words() >> Exact(kb=kb) >> Abbreviations()


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.frozensets(st.sampled_from(PROPERTIES[2:5]))] * 3), max_size=5))
def test_a_pipeline_is_refused_exactly_when_something_comes_too_late_or_was_dropped(
    declared: list[tuple[frozenset[str], frozenset[str], frozenset[str]]],
) -> None:
    late = dropped = False
    for place, (wants, _, _) in enumerate(declared):
        for name in wants:
            said = [
                name in makes for _, makes, loses in declared[:place] if name in makes | loses
            ]  # the last one counts
            # what itself waits for mentions, such as a part that takes them apart, cannot be what gives them first
            given_later = any(name in makes - needed for needed, makes, _ in declared[place + 1 :])
            late |= (not said or not said[-1]) and given_later
            dropped |= bool(said) and not said[-1]
    if late or dropped:
        with pytest.raises(PipelineError, match=r"which only the later|which do not hold after"):
            Pipeline(*itertools.starmap(Custom, declared))
        return
    pipeline = Pipeline(*itertools.starmap(Custom, declared))
    last = {name: [name in makes for _, makes, loses in declared if name in makes | loses] for name in PROPERTIES}
    assert pipeline.gives == {name for name, said in last.items() if said and said[-1]}
    assert pipeline.drops == {name for name, said in last.items() if said and not said[-1]}
    wanted = set().union(*(wants for wants, _, _ in declared))
    firsts = {n for n in wanted if not any(n in m for _, m, _ in declared)}
    assert firsts <= pipeline.needs <= wanted


def test_what_no_longer_holds_is_refused_when_composed(kb: KnowledgeBase) -> None:
    found = Dictionary(kb=kb)
    assert found.drops == {"concepts"}
    assert Words().drops == {"candidates", "concepts"}
    assert (found | Words()).drops == {"candidates", "concepts"}
    assert (found | Dictionary(kb=kb)).drops == {"concepts"}
    assert Exact(kb=kb).drops == Decide(kb=kb).drops == frozenset()
    for between in (Consistent(), Conjuncts(kb=kb)):
        with pytest.raises(PipelineError) as caught:
            found >> between >> Decide(kb=kb)
        name = type(between).__name__
        assert str(caught.value) == (
            f"Decide needs candidates, which do not hold after {name}: put a retriever (earlier | ngram keeps those "
            f"that are there and finds others) between {name} and Decide"
        )
        pipeline = found >> between
        assert pipeline.gives == {"mentions"}
        assert pipeline.drops == {"candidates", "concepts"}
        assert (pipeline >> Exact(kb=kb) >> Decide(kb=kb)).gives == {"mentions", "candidates", "concepts"}
    with pytest.raises(PipelineError, match="Decide needs candidates, which do not hold after Words"):
        Exact(kb=kb) >> Decide(kb=kb) >> (Words() >> Decide(kb=kb))


def test_pipelines_of_pipelines_are_flat(kb: KnowledgeBase) -> None:
    inner = Pipeline(Words(), Exact(kb=kb), name="inner", kb=kb)
    pipeline = inner >> Decide(kb=kb)
    assert [type(part).__name__ for part in pipeline.parts] == ["Words", "Exact", "Decide"]
    assert pipeline.kb is kb
    assert (Words() >> (Exact(kb=kb) >> Decide(kb=kb))).parts[1:] == pipeline.parts[1:]


def test_what_a_pipeline_has_seen_stays_with_it_and_is_said_of_documents(kb: KnowledgeBase) -> None:
    learned, chosen, other = (Document.of(text) for text in ("Seizure.", "Cold.", "Fever."))
    link = Words() >> Exact(kb=kb)
    link.seen = Seen().with_documents(train=[learned], dev=[learned, chosen]).with_documents(dev=[learned])
    for made in (
        link,
        link >> Decide(kb=kb),
        link.with_parts([Words(), Exact(kb=kb)]),
        pickle.loads(pickle.dumps(link)),
    ):
        found = made([replace(doc, id="a", meta={"ward": 1}) for doc in (learned, chosen, other)])
        assert [doc.meta for doc in found] == [{"ward": 1, "seen": "train"}, {"ward": 1, "seen": "dev"}, {"ward": 1}]


def test_a_seen_text_is_seen_with_other_blanks_and_by_its_older_key() -> None:
    text = "Fever.\nNo cough.\n"
    copies = [Document("a", one) for one in (text, "Fever.\r\nNo cough.", "Fever. No  cough.\n\n")]
    new = Seen().with_documents(train=[Document("b", text)])
    assert [doc.meta.get("seen") for doc in new.note(copies)] == ["train"] * 3
    old = Seen({Document.of(text).id: "train"})
    assert [doc.meta.get("seen") for doc in old.note(copies)] == ["train", None, None]


@dataclass
class Forgetful(Reranker):
    """Answers for the first documents or mentions alone."""

    docs: int | None = None
    mentions: int | None = None

    def rerank(self, docs: Sequence[Document], /) -> list[list[Candidates]]:
        lists = [[mention.candidates for mention in doc.mentions or ()][: self.mentions] for doc in docs]
        return lists[: self.docs]  # type: ignore[return-value]


@dataclass(kw_only=True)
class Short(Fixed):
    """Retrieves for the first documents alone."""

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        return super().retrieve(docs, allow=allow)[1:]


def test_answers_of_another_number_than_asked_for_name_the_component(kb: KnowledgeBase) -> None:
    docs = [Document(id, TEXT) for id in ("a", "b")]
    found = Words(words=("Seizure", "cold")) >> Exact(kb=kb)
    with pytest.raises(PipelineError, match="Forgetful returned 1 items for the 2 mentions of document 'a'"):
        (found >> Forgetful(mentions=1))(docs)
    with pytest.raises(PipelineError, match="Forgetful returned 1 lists for 2 documents, from 'a' on"):
        (found >> Forgetful(docs=1))(docs)
    short = Short(found=Candidates(np.array([1], np.int32), np.array([1.0], np.float32)))
    for part in (short, Exact(kb=kb) | short):
        with pytest.raises(PipelineError, match="Short returned 1 lists for 2 documents"):
            (Words() >> part)(docs)


@dataclass(kw_only=True)
class Says(Detector):
    """Answers whatever it is told to."""

    answer: Any

    def detect(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Any:
        return self.answer


@dataclass(kw_only=True)
class SaysCandidates(Retriever):
    """Answers whatever it is told to."""

    answer: Any

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> Any:
        return self.answer


def test_answers_of_another_kind_than_asked_for_name_the_component(kb: KnowledgeBase) -> None:
    for answer, said in (
        (None, "Says returned no list but NoneType: a list for each document"),
        (iter([[]]), "Says returned no list but list_iterator"),
        ([None], "Says returned no list but NoneType for document 'a'"),
        ([[(0, 5)]], r"Says returned tuple for document 'a': linnet\.Mention is expected"),
    ):
        for part in (Says(answer=answer), Says(answer=answer) | Words()):
            with pytest.raises(PipelineError, match=said):
                (part >> Exact(kb=kb))([Document("a", TEXT)])
    for item in (None, [1, 2]):
        for links in (SaysCandidates(answer=[[item]]), Exact(kb=kb) | SaysCandidates(answer=[[item]])):
            with pytest.raises(PipelineError, match=r"SaysCandidates returned \w+ for document .*linnet\.Candidates"):
                (Words(words=("cold",)) >> links)([Document("a", TEXT)])


def test_what_is_no_component_is_refused(kb: KnowledgeBase) -> None:
    for wrong, name in ((Decide, "Decide"), ("decide", "str"), (None, "NoneType")):
        with pytest.raises(PipelineError, match=f"^{name} is no component"):
            Words() >> wrong  # type: ignore[operator]


def test_wrong_kinds_of_fusion(kb: KnowledgeBase) -> None:
    exact, decide = Exact(kb=kb), Decide(kb=kb)
    wrong: list[tuple[Any, Any]] = [(exact, Words()), (Words(), exact), (decide, decide), (exact, "x")]
    for one, other in [*wrong, (Words() >> exact, exact)]:
        with pytest.raises(PipelineError, match="only retrievers and detectors can be fused"):
            one | other
    kinds: list[tuple[Any, str]] = [(Fuse, "retriever"), (Union, "detector")]
    for make, role in kinds:
        for parts in ([], [decide], [exact, Words()]):
            with pytest.raises(PipelineError, match=f"puts {role}s together; .* is no {role}"):
                make(parts)
    with pytest.raises(PipelineError, match="constant -1 must be"):
        Fuse([exact], constant=-1)
    for union in (Words() | Words(), Words() | Words() | Words()):
        with pytest.raises(PipelineError, match="only retrievers"):
            union | exact
    with pytest.raises(PipelineError, match="only retrievers"):
        (exact | exact) | Words()


# --- running ---------------------------------------------------------------------------------------------------------


def test_one_text_or_document_or_several(kb: KnowledgeBase) -> None:
    link = Pipeline(Words(), kb=kb)
    doc = Document.of(TEXT)
    for given_docs in (TEXT, doc, [TEXT], (doc,)):
        [found] = link(given_docs)
        assert (found.text, found.id, len(found.mentions or ())) == (TEXT, doc.id, 1)
    assert [found.text for found in link([TEXT, Document.of("Fits.")])] == [TEXT, "Fits."]
    assert link([]) == []
    for wrong in (3, Path("a.txt"), [Path("a.txt")]):
        with pytest.raises(PipelineError, match=r"takes text or documents, no .*: linnet.read reads files"):
            link(wrong)  # type: ignore[arg-type]
    for missing in (None, [TEXT, None], [TEXT, float("nan")]):
        with pytest.raises(PipelineError, match=r"no (NoneType|float): leave out what has no text"):
            link(missing)  # type: ignore[arg-type]


def test_paths_of_files_are_no_texts(kb: KnowledgeBase, tmp_path: Path) -> None:
    link = Pipeline(Words(), kb=kb)
    paths = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    for path in paths:
        Path(path).write_text(TEXT)
    calls: list[Callable[[], object]] = [lambda: link(paths[0]), lambda: link(paths), lambda: list(link.stream(paths))]
    for call in calls:
        with pytest.warns(LinnetWarning, match=r"a\.txt' is linked as a text, but is a file: linnet.read") as told:
            call()
        assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        link([str(tmp_path / "missing.txt"), str(tmp_path), "a\0b", TEXT * 50])


def test_components_take_documents_alone(kb: KnowledgeBase) -> None:
    for part in (Words(), Exact(kb=kb)):
        for wrong in (TEXT, [TEXT], Document.of(TEXT), [Document.of(TEXT), None]):
            with pytest.raises(PipelineError, match=r"takes a list of documents: give \[linnet.Document.of"):
                part(wrong)  # type: ignore[arg-type]


def test_texts_are_streamed_and_no_keys_are_taken_for_texts(kb: KnowledgeBase) -> None:
    link = Pipeline(Words(), kb=kb)
    assert list(link.stream([TEXT, Document("x", TEXT)])) == link([TEXT, Document("x", TEXT)])
    pandas = pytest.importorskip("pandas", reason="the extra frames is not installed")
    frame = pandas.DataFrame({"text": [TEXT]})
    assert link(frame.text) == link([TEXT])
    keyed: tuple[Any, ...] = ({"a": TEXT}, frame)
    for wrong in keyed:
        for call in (link, lambda docs: list(link.stream(docs))):
            with pytest.raises(PipelineError, match=r"no (dict|DataFrame): give a list of texts"):
                call(wrong)


def test_the_names_of_a_mention(kb: KnowledgeBase) -> None:
    link = Pipeline(Words(), kb=kb)
    assert link.names(Mention(0, 4, concepts=("HP:0009999", "X:2", "Y:9"))) == ("Seizure", "Cold", "Y:9")
    assert link.names(Mention(0, 4)) == link.names(Mention(0, 4, concepts=())) == ()
    assert Pipeline(Words()).names(Mention(0, 4, concepts=("X:2",))) == ("X:2",)
    with pytest.raises(PipelineError, match=r"not of 'X:2': kb\[id\].name is that of a concept"):
        link.names("X:2")  # type: ignore[arg-type]


def test_needs_are_checked_before_any_work(kb: KnowledgeBase) -> None:
    docs = [Document("a", TEXT, mentions=()), Document("b", TEXT)]
    cases: list[tuple[Stage, list[Document], str]] = [
        (fixed([0]), docs, "Fixed needs mentions, document 'b' has none: mark them, or put a detector in front"),
        (Backwards(), [Document("c", TEXT, mentions=(Mention(0, 7),))], "Backwards needs candidates, document 'c'"),
        (Abbreviations(), docs, "Abbreviations needs sentences, document 'a'"),
        (Exact(kb=kb) >> Decide(kb=kb), docs, "Pipeline needs mentions, document 'b'"),
        (Pipeline(Custom(frozenset({"types"}))), docs, "Pipeline needs types, document 'b'"),
        (Pipeline(Custom(frozenset({"concepts"}))), [Document("c", TEXT, mentions=(Mention(0, 7),))], "needs concepts"),
    ]
    for component, given_docs, message in cases:
        with pytest.raises(PipelineError, match=message):
            component(given_docs)
    assert Pipeline(Custom(frozenset({"types"})))(docs[:1]) == docs[:1]


def test_rerankers_keep_everything_else() -> None:
    doc = Document("d", TEXT, mentions=(Mention(0, 7, id="T1", source="user"),))
    [out] = (fixed([3, 5]) >> Backwards())([doc])
    assert out.mentions is not None
    assert out.mentions[0].candidates is not None
    assert out.mentions[0].candidates.rows.tolist() == [5, 3]
    assert replace(out, mentions=(replace(out.mentions[0], candidates=None),)) == doc


def test_streams_are_lazy() -> None:
    taken = 0

    def source() -> Iterator[Document]:
        nonlocal taken
        for number in itertools.count():
            taken += 1
            yield Document(str(number), TEXT)

    words = Words()
    stream = Pipeline(words).stream(source(), batch=3)
    assert taken == 0
    assert [next(stream).id for _ in range(4)] == ["0", "1", "2", "3"]
    assert (taken, words.seen) == (6, [3, 3])
    assert [doc.id for doc in Pipeline(words).stream([Document("x", "")], batch=64)] == ["x"]
    assert list(Pipeline(words).stream([])) == []
    with pytest.raises(PipelineError, match="batch 0 must be at least 1"):
        list(Pipeline(words).stream([Document("x", "")], batch=0))


def test_allow_reaches_every_part(kb: KnowledgeBase) -> None:
    pipeline = Words(words=["cold"]) >> (Exact(kb=kb) | Ngram(kb=kb)) >> Decide(kb=kb)

    def answer(**conditions: Any) -> Mention:
        [doc] = pipeline([Document("d", TEXT)], allow=Allow(**conditions))
        assert doc.mentions is not None
        return doc.mentions[0]

    assert answer(types=("Disease",)).concepts == ("X:2",)
    assert answer(types=("Temperature",)).concepts == ("X:1",)
    [doc] = pipeline.stream([Document("d", TEXT)], allow=Allow(ids=("X:2",)))
    assert doc.mentions is not None
    assert doc.mentions[0].concepts == ("X:2",)


def test_sentences_and_abbreviations_stay_where_they_are() -> None:
    fresh = Document("a", "Atrial septal defect (ASD). It closed.")
    done = Document("b", "One. Two.", sentences=(), abbreviations=())
    out = Pipeline(Sentences(), Abbreviations())([fresh, done])
    assert out[1] is done
    assert (len(out[0].sentences or ()), len(out[0].abbreviations or ())) == (2, 1)
    assert Sentences()([done]) == [done]


# --- people's work ---------------------------------------------------------------------------------------------------


def test_peoples_mentions_stay_and_predictions_yield() -> None:
    gold = Mention(0, 7, id="T1", source="gold", concepts=("X:9",), types=("A",))
    user = Mention(12, 16, id="T2", source="user")
    old = Mention(8, 11, id="p1")
    doc = Document("d", TEXT, mentions=(user, old, gold))
    [out] = Words(words=["Seizure", "cold", "and"])([doc])
    assert out.mentions is not None
    assert [mention.source for mention in out.mentions] == ["gold", "pred", "user"]
    assert (out.mentions[0], out.mentions[2]) == (gold, user)
    assert out.mentions[1].id == mention_id("d", [Span(8, 11)])
    [inside] = Words(words=["Seiz"])([doc])
    assert spans(inside) == [(Span(0, 7),), (Span(0, 4),), (Span(12, 16),)]  # another span, another mention


def test_ids_are_deterministic_and_duplicates_go() -> None:
    doc = Document("d", TEXT)
    one, two = Words()([doc]), Words()([doc])
    assert one == two
    assert Words()([Document("e", TEXT)])[0].mentions != one[0].mentions
    found = [Mention(0, 7, types=("A",), signals={"detect": 0.5}), Mention(0, 7, types=("A",)), Mention(0, 7)]
    merged = merge(doc, found).mentions or ()
    assert len(merged) == 2
    assert any(mention.signals == {"detect": 0.5} for mention in merged)
    assert merge(doc, []) == replace(doc, mentions=())


def test_ids_that_stand_twice_lose_no_mention() -> None:
    found = [Mention(0, 7, id="T1"), Mention(12, 16, id="T1"), Mention(0, 7, id="T1")]
    assert spans(merge(Document("d", TEXT), found)) == [(Span(0, 7),), (Span(12, 16),)]


# --- fusing ----------------------------------------------------------------------------------------------------------


def test_union_keeps_the_earlier_of_equal_mentions() -> None:
    first, second = Words(words=["Seizure"], types=("A",)), Words(words=["Seizure", "cold"], types=("A",))
    union = first | second
    assert isinstance(union, Union)
    [out] = union([Document("d", TEXT)])
    assert spans(out) == [(Span(0, 7),), (Span(12, 16),)]
    other = Words(words=["Seizure"], types=("B",))
    [both] = (first | other)([Document("d", TEXT)])
    assert [mention.types for mention in both.mentions or ()] in ([("A",), ("B",)], [("B",), ("A",)])
    assert len((union | other).of) == 3  # type: ignore[attr-defined]
    [given_one] = (Gold() | Words())([Document("d", TEXT, mentions=(Mention(0, 7, id="T1"),))])
    assert [mention.id for mention in given_one.mentions or ()] == ["T1"]


def test_union_has_one_rule_for_what_overlaps() -> None:
    short, long = Words(words=["cold"], types=("A",)), Words(words=["a cold", "Seizure"], types=("B",))
    text = "Seizure of a cold"

    def surfaces(*of: Detector, overlaps: Any, mentions: tuple[Mention, ...] | None = None) -> list[str]:
        [out] = Union(of, overlaps=overlaps)([Document("d", text, mentions=mentions)])
        return [text[m.start : m.end] for m in out.mentions or ()]

    assert surfaces(short, long, overlaps="all") == ["Seizure", "a cold", "cold"]
    assert surfaces(short, long, overlaps="longest") == surfaces(long, short, overlaps="first") == ["Seizure", "a cold"]
    assert surfaces(short, long, overlaps="first") == ["Seizure", "cold"]
    both = Words(words=["cold", "a cold"])
    assert surfaces(both, overlaps="longest") == surfaces(both, short, overlaps="first") == ["a cold", "cold"]
    user = (Mention(11, 15, id="u", source="user"),)
    assert surfaces(short, long, overlaps="longest", mentions=user) == ["Seizure", "a cold", "a co"]
    assert surfaces(long, Gold(), overlaps="longest", mentions=user) == ["Seizure", "a co"]
    with pytest.raises(PipelineError, match="overlaps is 'shortest', expected all, longest or first"):
        Union([short], overlaps="shortest")  # type: ignore[arg-type]
    joined = Union([short], overlaps="first") | long
    assert isinstance(joined, Union)
    assert joined.overlaps == "first"
    assert len(joined.of) == 2


def test_union_needs_what_any_and_gives_what_all() -> None:
    union = Union([Gold(), Words()])
    assert union.needs == union.gives == {"mentions"}


def test_fusion_by_reciprocal_rank() -> None:
    doc = Document("d", TEXT, mentions=(Mention(0, 7),))
    fuse = fixed([7, 5, 3], names=[70, -1, 30]) | fixed([5, 9]) | fixed([5, 7], names=[50, 71])
    assert isinstance(fuse, Fuse)
    assert len(fuse.of) == 3
    [[found]] = fuse.retrieve([doc])
    want = {5: (61 / 62 + 1 + 1) / 3, 7: (1 + 61 / 62) / 3, 9: 61 / 62 / 3, 3: 61 / 63 / 3}
    assert found.rows.tolist() == list(want)
    assert found.scores.tolist() == pytest.approx(list(want.values()))
    assert found.names is not None
    assert found.names.tolist() == [50, 70, -1, 30]
    assert found.kb == "v"
    [[flat]] = Fuse([fixed([1, 2]), fixed([2, 1])], constant=0).retrieve([doc])
    assert (flat.rows.tolist(), flat.scores.tolist()) == ([1, 2], [0.75, 0.75])
    with pytest.raises(PipelineError, match=r"several knowledge base versions cannot be fused: \['v', 'w'\]"):
        Fuse([fixed([1]), fixed([1], kb="w")]).retrieve([doc])
    assert (fixed([1]) | Exact.__new__(Exact)).needs == {"mentions", "abbreviations"}


# --- comparing -------------------------------------------------------------------------------------------------------


def pairs(gold: list[tuple[str, int]], predicted: list[tuple[str, int]]) -> list[tuple[int | None, int | None]]:
    def doc(items: list[tuple[str, int]]) -> Document:
        return Document("d", "x" * 20, mentions=tuple(Mention(at, at + 1, id=id) for id, at in items))

    one, other = doc(gold), doc(predicted)

    def place(mentions: Sequence[Mention] | None, mention: Mention | None) -> int | None:
        return next((i for i, m in enumerate(mentions or ()) if m is mention), None)

    return [(place(one.mentions, left), place(other.mentions, right)) for left, right in align(one, other)]


def test_align() -> None:
    assert pairs([("a", 0), ("b", 5)], [("b", 5), ("a", 0)]) == [(0, 1), (1, 0)]
    assert pairs([("a", 0)], [("z", 0)]) == [(0, 0)]  # by span
    assert pairs([("a", 0)], [("a", 3)]) == [(0, None), (None, 0)]  # an id alone is no match
    assert pairs([("a", 0), ("b", 0)], [("b", 0), ("z", 0)]) == [(0, 1), (1, 0)]  # the id goes first
    assert pairs([("a", 0), ("b", 0)], [("b", 0)]) == [(0, None), (1, 0)]
    assert pairs([("", 0), ("", 0)], [("", 0), ("", 0), ("", 0)]) == [(0, 0), (1, 1), (None, 2)]
    assert pairs([], [("a", 0), ("b", 1)]) == [(None, 0), (None, 1)]
    assert align(Document("d", "x"), Document("d", "x")) == []


ITEMS = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(0, 3)), max_size=6)


@settings(deadline=None)
@given(ITEMS, ITEMS)
def test_align_is_one_to_one(gold: list[tuple[str, int]], predicted: list[tuple[str, int]]) -> None:
    found = pairs(gold, predicted)
    assert [left for left, _ in found if left is not None] == list(range(len(gold)))
    assert sorted(right for _, right in found if right is not None) == list(range(len(predicted)))
    for left, right in found:
        if left is not None and right is not None:
            assert gold[left][1] == predicted[right][1]
    unpaired = {gold[left][1] for left, right in found if left is not None and right is None}
    assert not unpaired & {predicted[right][1] for left, right in found if left is None and right is not None}


# --- small things ----------------------------------------------------------------------------------------------------


def test_settings_are_the_keywords(kb: KnowledgeBase, tmp_path: Path) -> None:
    exact = Exact(kb=kb, k=3)
    assert exact.config() == {"k": 3, "level": "basic"}
    exact.save(tmp_path / "deep" / "exact")
    assert Exact.load(tmp_path / "deep" / "exact", kb=kb) == exact
    assert Sentences.load(_saved(Sentences(), tmp_path), kb=kb) == Sentences()
    assert (Exact(kb=kb) >> Decide(kb=kb)).config() == {}


def _saved(stage: Stage, folder: Path) -> Path:
    stage.save(folder / type(stage).__name__)
    return folder / type(stage).__name__


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "config.json: cannot be read: No such file"),
        ("{", "config.json: not JSON"),
        ("[]", "holds no JSON object"),
        ('{"kk": 3}', "unexpected keyword argument 'kk'.*; save the pipeline again"),
    ],
)
def test_damaged_settings(kb: KnowledgeBase, tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(FormatError, match=message):
        Exact.load(tmp_path, kb=kb)


def test_allow_and_step_are_plain_records() -> None:
    assert Allow(types=["a", "b"], ids="X:1") == Allow(types=("a", "b"), ids=("X:1",))  # type: ignore[arg-type]
    assert hash(Allow(types=["a"])) == hash(Allow(types=("a",)))  # type: ignore[arg-type]
    assert Allow(types=()) != Allow()
    assert Step(1) == Step(step=1, losses={})
