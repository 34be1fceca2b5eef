from __future__ import annotations

import copy
import errno
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import linnet
from linnet.data import Candidates, Document, Mention
from linnet.detect.dictionary import Dictionary
from linnet.detect.gold import Gold
from linnet.detect.linkable import Linkable
from linnet.errors import DataError, FormatError, LinnetError, RecipeError
from linnet.fit.fitting import CrossFitted, Done, Progress, cross_fit, fit_part, train
from linnet.fit.plan import Task, tasks, without_calibration
from linnet.fit.store import Finished, alone, corpus_version
from linnet.fit.unseen import enough_dev, fold_of
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Fuse, Pipeline, Reranker, Retriever, Stage, Step
from linnet.pipeline.component import blind
from linnet.pipeline.confidence import FEATURES, Confidence
from linnet.pipeline.decide import Decide
from linnet.recipes import config
from linnet.retrieve.bm25 import Bm25
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram


@dataclass(kw_only=True)
class Learner(Retriever):
    """Remembers which documents it was trained on, and says so in its scores."""

    kb: KnowledgeBase
    k: int = 1
    seen: frozenset[str] = field(default=frozenset(), init=False)
    runs: list[int] = field(default_factory=list, init=False)

    def retrieve(self, docs: Sequence[Document], /, *, allow: Allow | None = None) -> list[list[Candidates]]:
        return [[self._candidates(doc) for _ in doc.mentions or ()] for doc in docs]

    def _candidates(self, doc: Document) -> Candidates:
        leaks = float(doc.id in self.seen)
        return Candidates(np.zeros(1, np.int32), np.array([leaks], np.float32), kb=self.kb.version)

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Any,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        self.seen = frozenset(doc.id for doc in train)
        self.runs.append(len(train))
        yield Step(1, 1)

    def save(self, folder: Path) -> None:
        super().save(folder)
        (folder / "seen.json").write_text(json.dumps(sorted(self.seen)))

    @classmethod
    def load(cls, folder: Path, *, kb: KnowledgeBase | None = None, partly: bool = False) -> Self:
        loaded = super().load(folder, kb=kb, partly=partly)
        loaded.seen = frozenset(json.loads((folder / "seen.json").read_text()))
        return loaded


@dataclass(kw_only=True)
class Forgetful(Learner):
    """The same, which can leave documents out without being trained again."""

    def without(self, documents: Iterable[str]) -> Self:
        fewer = copy.copy(self)
        fewer.seen = self.seen - frozenset(documents)
        return fewer


@dataclass(kw_only=True)
class Network(Learner):
    """One that takes long to train, and can leave documents out of some of what it knows."""

    FOLDS: ClassVar[int] = 2
    names: frozenset[str] = field(default=frozenset(), init=False)

    def _candidates(self, doc: Document) -> Candidates:
        found = super()._candidates(doc)
        return replace(found, scores=found.scores + np.float32(doc.id in self.names))

    def fit(self, train: Sequence[Document], dev: Any, /, *, before: Any, kb: Any, args: Any) -> Iterator[Step]:
        yield from super().fit(train, dev, before=before, kb=kb, args=args)
        self.names = self.seen

    def with_network(self, other: Network) -> Network:
        made = copy.copy(self)
        made.seen = other.seen
        return made

    def without(self, documents: Iterable[str]) -> Network:
        fewer = copy.copy(self)
        fewer.names = self.names - frozenset(documents)
        return fewer


@dataclass(kw_only=True)
class Watcher(Reranker):
    """Learns nothing but what reaches it."""

    kb: KnowledgeBase
    leaks: float = field(default=-1, init=False)
    documents: int = field(default=0, init=False)
    linked: int = field(default=0, init=False)
    answers: int = field(default=0, init=False)
    args: Mapping[str, Any] = field(default_factory=dict, init=False)
    fails: bool = field(default=False, init=False)

    def rerank(self, docs: Sequence[Document], /) -> list[list[Candidates]]:
        return [[m.candidates or Candidates.none() for m in doc.mentions or ()] for doc in docs]

    @classmethod
    def check(cls, args: Mapping[str, Any]) -> None:
        """Take any."""

    def fit(
        self,
        train: Sequence[Document],
        dev: Sequence[Document],
        /,
        *,
        before: Any,
        kb: KnowledgeBase,
        args: Mapping[str, Any],
    ) -> Iterator[Step]:
        if self.fails:
            raise KeyboardInterrupt
        out = before([doc.spans_only() for doc in train])
        assert [doc.id for doc in out] == [doc.id for doc in train]
        mentions = [m for doc in out for m in doc.mentions or ()]
        found = [m.candidates for m in mentions if m.candidates]
        self.leaks = sum(float(some.features.get("network", some.scores)[0]) for some in found)  # inside a fusion
        self.documents, self.linked, self.args = len(out), len(found), args
        assert before([Document("new", "x", mentions=())])[0].id == "new"
        yield Step(1, 1, losses={"leaks": self.leaks})


@dataclass(kw_only=True)
class Resuming(Watcher):
    """Leaves a checkpoint behind, and says how many it found."""

    NETWORK = True

    def fit(self, train: Any, dev: Any, /, *, before: Any, kb: Any, args: Mapping[str, Any]) -> Iterator[Step]:
        folder = Path(args["checkpoints"])
        folder.mkdir(exist_ok=True)
        kept = len(list(folder.iterdir()))
        (folder / str(kept)).touch()
        yield Step(kept)
        if self.fails:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, made in (
        ("learner", Learner),
        ("forgetful", Forgetful),
        ("watcher", Watcher),
        ("resuming", Resuming),
        ("network", Network),
    ):
        monkeypatch.setitem(config.COMPONENTS, name, f"{made.__module__}:{made.__qualname__}")


@pytest.fixture
def docs() -> list[Document]:
    mention = Mention(0, 7, source="gold", concepts=("HP:0001250",))
    return [Document(f"d{n}", "Seizure.", mentions=(mention,)) for n in range(23)]


def pipeline(kb: KnowledgeBase, first: Any, watcher: Watcher | None = None) -> Pipeline:
    return Pipeline(Gold(), first, watcher or Watcher(kb=kb), Decide(kb=kb), kb=kb)


def run(made: Pipeline, docs: Sequence[Document], folder: Path, **keywords: Any) -> list[Progress | Done]:
    return list(train(made, tasks(made, [], source="r"), docs, (), output=folder, **keywords))


@pytest.mark.parametrize("kind", [Learner, Forgetful])
def test_no_part_sees_what_an_earlier_one_learned_of_the_same_document(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, kind: type[Learner]
) -> None:
    first = kind(kb=kb)
    watcher = Watcher(kb=kb)
    run(pipeline(kb, first, watcher), docs, tmp_path / "out", folds=5)
    assert watcher.leaks == 0
    assert watcher.documents == len(docs)
    assert first.seen == {doc.id for doc in docs}  # the part itself was trained on all
    assert first.runs[0] == len(docs)


@pytest.mark.parametrize("kind", [Learner, Forgetful])
def test_no_part_sees_what_one_that_stays_has_learned_of_the_same_document(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, kind: type[Learner]
) -> None:
    first, watcher = kind(kb=kb), Watcher(kb=kb)
    first.seen = frozenset(doc.id for doc in docs)
    stays = [Task((1,), "learner" if kind is Learner else "forgetful")]
    todo = [Task((2,), "watcher")]
    list(train(pipeline(kb, first, watcher), todo, docs, (), output=tmp_path / "out", folds=5, learned=stays))
    assert watcher.leaks == 0
    assert first.seen == {doc.id for doc in docs}
    assert len(docs) not in first.runs


@pytest.mark.parametrize("kind", [Learner, Forgetful])
def test_parts_of_linkable_learn_behind_each_other(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, kind: type[Learner]
) -> None:
    first, inside, behind = kind(kb=kb), Watcher(kb=kb), Watcher(kb=kb)
    linkable = Linkable([Dictionary(kb=kb), first, inside], min_score=0.0)
    run(Pipeline(linkable, behind, Decide(kb=kb), kb=kb), docs, tmp_path / "out", folds=5)
    assert (inside.linked, inside.leaks) == (behind.linked, behind.leaks) == (len(docs), 0)
    assert first.seen == {doc.id for doc in docs}


def test_documents_that_nobody_has_annotated_teach_nothing(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen_on: list[list[str]] = []

    def fit(_self: Any, _train: Any, dev: Sequence[Document], /, *, before: Any, kb: Any, args: Any) -> Iterator[Step]:
        chosen_on.append([doc.id for doc in before(blind(dev, before))])
        yield Step(1, 1)

    monkeypatch.setattr(Decide, "fit", fit)
    text = Document("text", "Nobody has read this.")
    made = pipeline(kb, Learner(kb=kb))
    todo = tasks(made, [{"part": part} for part in ("learner", "watcher", "decide")], source="r")
    list(train(made, todo, [*docs[3:], text], [text, *docs[:3]], output=tmp_path / "made", folds=5))
    assert made.parts[2].documents == 20  # type: ignore[attr-defined]
    assert sorted(*chosen_on) == sorted(doc.id for doc in docs)  # of few dev documents decide learns, and of others


def test_without_dev_documents_probabilities_are_learned_from_cross_fitted_answers(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores: list[list[float]] = []

    def fit(_self: Any, _train: Any, dev: Sequence[Document], /, *, before: Any, kb: Any, args: Any) -> Iterator[Step]:
        mentions = [mention for doc in before([doc.spans_only() for doc in dev]) for mention in doc.mentions or ()]
        scores.append([float(mention.candidates.scores[0]) for mention in mentions if mention.candidates])
        yield Step(1, 1)

    monkeypatch.setattr(Decide, "fit", fit)
    many = [replace(docs[0], id=f"dev{number}") for number in range(50)]
    for number, dev in enumerate(((), docs[:3], many)):
        made = pipeline(kb, Learner(kb=kb))
        todo = tasks(made, [{"part": "learner"}, {"part": "decide"}], source="r")
        list(train(made, todo, docs[3:], dev, output=tmp_path / str(number), folds=5))
    assert scores == [[0.0] * 20, [0.0] * 23, [0.0] * 50]


def test_dev_documents_that_are_numbered_as_training_documents_are_others(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path
) -> None:
    dev = [replace(docs[0], id=f"d{number}", text=f"Seizure {number}.") for number in range(50)]
    made = pipeline(kb, Learner(kb=kb))
    todo = tasks(made, [{"part": "learner"}, {"part": "decide"}], source="r")
    with pytest.raises(DataError, match="decide: cannot calibrate"):  # which it says of dev documents alone
        list(train(made, todo, docs, dev, output=tmp_path / "out", folds=5))
    assert made.parts[1].runs == [len(docs)]  # type: ignore[attr-defined]


def test_what_nothing_can_answer_for_unseen_is_not_calibrated_on(kb: KnowledgeBase, docs: list[Document]) -> None:
    made = pipeline(kb, Network(kb=kb))
    [task] = tasks(made, [{"part": "decide"}], source="r")
    [network] = tasks(made, [{"part": "network"}], source="r")
    by_heart = replace(network, args={"cross_fit": False})
    halves = [[doc for doc in docs if fold_of(doc.id, 10) % 2 == half] for half in range(2)]
    for earlier, given, learned in (
        ([network], docs, docs),
        ([], docs[:1], docs[:1]),  # nothing has learned
        ([by_heart], docs, []),
        ([network], halves[0], []),  # all of them lie in the half that the other network has not seen
        ([network], docs[:1], []),
    ):
        assert enough_dev(made, task, given, [], earlier=earlier, folds=10) == learned


@pytest.mark.parametrize(("threshold", "answers"), [(0.0, ["learner"]), ("f1", ["learner", "decide"])])
def test_what_calibrates_alone_changes_no_answer(kb: KnowledgeBase, threshold: Any, answers: list[str]) -> None:
    made = Pipeline(Gold(), Learner(kb=kb), Decide(kb=kb, threshold=threshold), kb=kb)
    todo = tasks(made, [{"part": "learner"}, {"part": "decide"}], source="r")
    assert [task.name for task in without_calibration(made, todo)] == answers


def test_parts_that_can_leave_documents_out_are_not_trained_again(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path
) -> None:
    first = Forgetful(kb=kb)
    run(pipeline(kb, first), docs, tmp_path / "a", folds=5)
    assert first.runs == [23]
    other = Learner(kb=kb)
    run(pipeline(kb, other), docs, tmp_path / "b", folds=5)
    assert other.runs[0] == 23
    assert sum(other.runs[1:]) == 4 * 23  # copies share the list: five trainings on four fifths


@pytest.mark.parametrize("inside", [False, True])
def test_networks_are_trained_again_for_few_parts_of_the_documents(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, caplog: pytest.LogCaptureFixture, inside: bool
) -> None:
    caplog.set_level("INFO", "linnet")
    network, watcher = Network(kb=kb), Watcher(kb=kb)
    run(pipeline(kb, Fuse([network]) if inside else network, watcher), docs, tmp_path / "out", folds=5)
    assert watcher.leaks == 0
    assert network.runs[0] == sum(network.runs[1:]) == 23
    assert len(network.runs) == 3
    assert network.seen == network.names == {doc.id for doc in docs}
    assert "network: trained again without part 2 of 2 of the documents" in caplog.text


class Counted(Stage):
    """A part that is trained again, and counts how often."""

    def __init__(self, name: str, folds: int) -> None:
        self.name, self.kb = name, None
        setattr(self, "FOLDS", folds)  # noqa: B010 - each of its own
        self.runs: list[frozenset[str]] = []

    def __call__(self, docs: Sequence[Document], /, *, allow: Any = None) -> list[Document]:
        return list(docs)

    def fit(self, train: Sequence[Document], dev: Any, /, *, before: Any, kb: Any, args: Any) -> Iterator[Step]:
        self.runs.append(frozenset(doc.id for doc in train))
        before(list(train))
        yield Step(step=1)

    def with_network(self, other: Counted) -> Counted:
        return other

    def without(self, documents: Iterable[str]) -> Counted:
        return self


def test_networks_behind_networks_are_trained_again_once() -> None:
    parts = [Counted("dense", 2), Counted("lexical", 5), Counted("cross", 2), Counted("last", 2)]
    docs = [Document(f"d{number}", "x", mentions=()) for number in range(60)]
    chain: Any = Pipeline(*parts)
    done = [Task((place,), part.name) for place, part in enumerate(parts)]
    for place, task in enumerate(done):
        list(fit_part(chain, task, docs, (), done=done[:place]))
    # each again whenever another one behind it is trained: but not once more for each part of the documents of that
    assert [len(part.runs) for part in parts] == [1 + 3 * 2, 1 + 2 * 5, 1 + 2, 1]


def test_a_part_may_be_told_not_to_be_trained_again() -> None:
    parts = [Counted("tagger", 2), Counted("ngram", 2), Counted("lexical", 2)]
    docs = [Document(f"d{number}", "x", mentions=()) for number in range(60)]
    done = [Task((0,), "tagger", {"cross_fit": False}), Task((1,), "ngram"), Task((2,), "lexical")]
    chain: Any = Pipeline(*parts)
    for place, task in enumerate(done):
        list(fit_part(chain, task, docs, (), done=done[:place]))
    assert [len(part.runs) for part in parts] == [1, 1 + 2, 1]


class Silent(Counted):
    """A network that says nothing of leaving documents out."""

    NETWORK = True

    def without(self, documents: Iterable[str]) -> None:  # type: ignore[override]
        return None


@pytest.mark.parametrize(("asked", "times"), [(True, 2), (3, 3), (10, 10)])
def test_a_table_says_how_often_a_network_is_trained_again(asked: bool | int, times: int) -> None:
    silent, last = Silent("silent", 2), Counted("last", 2)
    docs = [Document(f"d{number}", "x", mentions=()) for number in range(60)]
    chain, done = Pipeline(silent, last), [Task((0,), "silent", {"cross_fit": asked}), Task((1,), "last")]
    for place, task in enumerate(done):
        list(fit_part(chain, task, docs, (), done=done[:place]))
    again = silent.runs[1:]
    assert len(again) == times
    assert sorted(id for run in again for id in {doc.id for doc in docs} - run) == sorted(doc.id for doc in docs)


@pytest.mark.parametrize("folds", [0, 2])
def test_networks_are_trained_again_as_often_as_they_say_or_refused(folds: int) -> None:
    silent, last = Silent("silent", folds), Counted("last", 2)
    docs = [Document(f"d{number}", "x", mentions=()) for number in range(60)]
    chain, done = Pipeline(silent, last), [Task((place,), name) for place, name in enumerate(("silent", "last"))]
    list(fit_part(chain, done[0], docs, (), done=[]))
    training = fit_part(chain, done[1], docs, (), done=done[:1])
    if folds:
        list(training)
        assert len(silent.runs) == 1 + folds
        return
    with pytest.raises(
        LinnetError, match="silent is a network that does not declare how often it may be trained again"
    ):
        list(training)
    assert len(silent.runs) == 1


def test_the_names_of_a_network_are_left_out_fold_by_fold(kb: KnowledgeBase, docs: list[Document]) -> None:
    network = Network(kb=kb)
    list(network.fit(docs, (), before=Gold(), kb=kb, args={}))
    made = cross_fit(Pipeline(Gold(), network, kb=kb), [Task((1,), "network")], docs, folds=5)
    assert isinstance(made, CrossFitted)
    for fold, of in enumerate(made.folds):
        part = of.parts[1]
        assert isinstance(part, Network)
        own = {doc.id for doc in docs if fold_of(doc.id, 5) == fold}
        assert part.names == {doc.id for doc in docs} - own
        assert part.seen == {doc.id for doc in docs if fold_of(doc.id, 5) % 2 != fold % 2}


@pytest.mark.parametrize("kind", [Learner, Forgetful])
def test_parts_of_a_fusion_are_trained_too(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, kind: type[Learner]
) -> None:
    watcher = Watcher(kb=kb)
    made = pipeline(kb, Fuse([Exact(kb=kb), Fuse([kind(kb=kb)])]), watcher)
    done = [news for news in run(made, docs, tmp_path / "out", folds=3) if isinstance(news, Done)]
    assert [news.part for news in done] == [config.name_of(kind(kb=kb)), "watcher"]
    loaded: Any = config.load(tmp_path / "out", kb=kb).parts[1]
    assert len(loaded.of[1].of[0].seen) == 23


def test_what_a_fold_learned_is_what_it_would_have_learned_alone(kb: KnowledgeBase) -> None:
    surfaces = ("Seizure", "stature", "fits", "fainting")
    docs = [
        Document(f"d{n}", f"{surface}.", mentions=(Mention(0, len(surface), source="gold", concepts=(id,)),))
        for n in range(24)
        for surface, id in [(surfaces[n % 4], ("HP:0001250", "HP:0004322")[n % 3 == 0])]
    ]
    ngram = Ngram(kb=kb, prior=1.0)
    fuse = Fuse([Exact(kb=kb), ngram], method="weighted", weights=(0.2, 0.8))
    list(ngram.fit(docs, (), before=Gold(), kb=kb, args={}))
    done = [Task((1, 0, 1), "ngram"), Task((1, 0), "fuse"), Task((1,), "fuse")]  # as if all of them were trained
    made = cross_fit(Pipeline(Gold(), Fuse([fuse]), kb=kb), done, docs, folds=4)
    for doc in docs:
        alone = Ngram(kb=kb, prior=1.0)
        rest = [other for other in docs if fold_of(other.id, 4) != fold_of(doc.id, 4)]
        list(alone.fit(rest, (), before=Gold(), kb=kb, args={}))
        want = Pipeline(Gold(), Fuse([replace(fuse, of=[Exact(kb=kb), alone])]), kb=kb)
        assert made([doc.spans_only()]) == want([doc.spans_only()])


def test_what_is_not_trained_again_is_shared_by_the_folds(kb: KnowledgeBase, docs: list[Document]) -> None:
    words, ngram = Bm25(kb=kb), Ngram(kb=kb)
    list(ngram.fit(docs, (), before=Gold(), kb=kb, args={}))
    inner = Fuse([words, Learner(kb=kb)])
    done = [Task((1,), "ngram"), Task((2, 1), "learner")]
    made = cross_fit(Pipeline(Gold(), ngram, inner, kb=kb), done, docs, folds=4)
    assert isinstance(made, CrossFitted)
    for fold in made.folds:
        _, retriever, fused = fold.parts
        assert isinstance(retriever, Ngram)
        assert retriever.index is ngram.index  # opened, or built, once
        assert isinstance(fused, Fuse)
        assert fused is not inner
        assert fused.of[0] is words
        assert fused.of[1] is not inner.of[1]


def test_documents_of_no_fold_are_answered_by_the_whole(kb: KnowledgeBase, docs: list[Document]) -> None:
    first = Forgetful(kb=kb)
    list(first.fit(docs, (), before=Gold(), kb=kb, args={}))
    before = cross_fit(Pipeline(Gold(), first, kb=kb), [Task((1,), "forgetful")], docs[:10], folds=4)
    assert isinstance(before, CrossFitted)
    out = before([doc.spans_only() for doc in docs])
    leaks = [float(m.candidates.scores[0]) for doc in out for m in doc.mentions or () if m.candidates is not None]
    assert leaks == [0.0] * 10 + [1.0] * 13
    assert before.needs == {"mentions"}
    assert "candidates" in before.gives


def test_the_folder_links(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    made = pipeline(kb, Forgetful(kb=kb, k=3))
    news = run(made, docs, tmp_path / "out", about=("corpus: small",))
    assert [item.part for item in news if isinstance(item, Progress)] == ["forgetful", "watcher"]
    loaded = config.load(tmp_path / "out", kb=kb)
    blind = [doc.spans_only() for doc in docs]
    assert loaded(blind) == made(blind)
    card = (tmp_path / "out" / "card.md").read_text()
    assert "corpus: small" in card
    assert f"23, version {corpus_version(docs)}" in card
    assert kb.version in card
    assert [path.name for path in tmp_path.iterdir()] == ["out"]  # what was kept in between is gone


@pytest.mark.parametrize("uses", [True, False])
def test_the_folder_says_what_it_was_trained_and_chosen_on(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uses: bool
) -> None:
    for part in (Forgetful, Watcher):
        monkeypatch.setattr(part, "USES_DEV", uses)
    made = pipeline(kb, Forgetful(kb=kb))
    dev = [Document("dev", "Another seizure.", mentions=()), replace(docs[0], id="both")]
    for _ in train(made, tasks(made, (), source="test"), docs, dev, output=tmp_path / "out"):
        pass
    blind = [doc.spans_only() for doc in (docs[0], *dev)]
    found = [doc.meta.get("seen") for doc in config.load(tmp_path / "out", kb=kb)(blind)]
    assert found == ["train", "dev" if uses else None, "train"]
    counts = "2, 1 of them training documents too, version"
    said = f"dev documents, which chose or calibrated forgetful, watcher: {counts} {corpus_version(dev)}"
    assert (said in (tmp_path / "out" / "card.md").read_text()) == uses


def test_an_interrupted_training_goes_on(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    first, watcher = Forgetful(kb=kb), Watcher(kb=kb)
    watcher.fails = True
    with pytest.raises(KeyboardInterrupt):
        run(pipeline(kb, first, watcher), docs, tmp_path / "out")
    assert first.runs == [23]
    again, watcher = Forgetful(kb=kb), Watcher(kb=kb)
    news = run(pipeline(kb, again, watcher), docs, tmp_path / "out")
    assert again.runs == []  # it was kept
    assert [(item.part, item.kept) for item in news if isinstance(item, Done)] == [
        ("forgetful", True),
        ("watcher", False),
    ]
    assert watcher.leaks == 0


def test_a_kept_part_that_is_damaged_is_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    decide = Decide(kb=kb)
    decide.confidence, decide.calibration = Confidence(np.arange(float(len(FEATURES)))), "joint"
    Finished(tmp_path / "parts", key="k").keep("1-decide", decide.save, seconds=1.0)
    path = tmp_path / "parts" / "1-decide" / "learned.json"
    path.write_text(path.read_text().replace("8.0", "9.0"))
    with pytest.raises(FormatError, match=r"learned\.json: is missing or damaged"):
        Decide.load(path.parent, kb=kb)


def test_a_part_that_was_interrupted_goes_on_from_its_checkpoints(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path
) -> None:
    def steps(*, fails: bool, used: Sequence[Document]) -> list[int]:
        part = Resuming(kb=kb)
        part.fails = fails
        made, told = Pipeline(Gold(), Exact(kb=kb), part, kb=kb), []
        try:
            for news in train(made, [Task((2,), "resuming")], used, (), output=tmp_path / "out"):
                told += [news.step.step] if isinstance(news, Progress) else []
        except KeyboardInterrupt:
            pass
        return told

    assert steps(fails=True, used=docs) == [0]
    assert steps(fails=True, used=docs) == [1]
    assert steps(fails=True, used=docs[1:]) == [0]  # of another training
    assert steps(fails=False, used=docs[1:]) == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_time_of_interrupted_attempts_counts(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    part = Resuming(kb=kb)
    made = Pipeline(Gold(), Exact(kb=kb), part, kb=kb)
    part.fails = True
    with pytest.raises(KeyboardInterrupt):
        list(train(made, [Task((2,), "resuming")], docs, (), output=tmp_path / "out"))
    with (tmp_path / "out.parts" / "curve.csv").open("a", encoding="utf-8") as curve:
        curve.write("" if curve.tell() else "part,step,epoch,seconds,metric,value\n")
        curve.write("resuming,1,1,1000.00,nll,0.5\n")
    part.fails = False
    *_, done = train(made, [Task((2,), "resuming")], docs, (), output=tmp_path / "out")
    assert isinstance(done, Done)
    assert 1000 <= done.seconds < 1100


def test_of_several_processes_the_first_writes(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    made = pipeline(kb, Forgetful(kb=kb))
    news = run(made, docs, tmp_path / "out")
    assert [item.part for item in news if isinstance(item, Done)] == ["forgetful", "watcher"]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("RANK", "0")
    watcher = Watcher(kb=kb)
    watcher.fails = True
    with pytest.raises(KeyboardInterrupt):
        run(pipeline(kb, Forgetful(kb=kb), watcher), docs, tmp_path / "out")
    monkeypatch.setenv("RANK", "1")  # finds what the first one has finished, and leaves it there
    other = Forgetful(kb=kb)
    news = run(pipeline(kb, other), docs, tmp_path / "out")
    assert [(item.part, item.kept) for item in news if isinstance(item, Done)] == [
        ("forgetful", True),
        ("watcher", False),
    ]
    assert other.runs == []
    assert [path.name for path in (tmp_path / "out.parts").iterdir() if path.is_dir()] == ["1-forgetful"]
    run(pipeline(kb, Forgetful(kb=kb)), docs[:9], tmp_path / "out")  # of another training
    assert (tmp_path / "out.parts" / "finished.json").exists()


def test_two_trainings_do_not_remove_each_others_parts(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "new" / "out"
    with alone(output):
        with pytest.raises(LinnetError, match="another process trains into it"):
            linnet.train(Gold() >> Ngram(kb=kb), docs, output=output)
        monkeypatch.setenv("RANK", "1")
        with alone(output):  # one of the processes that train together
            pass
    monkeypatch.delenv("RANK")
    linnet.train(Gold() >> Ngram(kb=kb), docs, output=output)
    assert list(output.parent.iterdir()) == [output]


def test_parts_of_another_training_are_of_no_use(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    watcher = Watcher(kb=kb)
    watcher.fails = True
    with pytest.raises(KeyboardInterrupt):
        run(pipeline(kb, Forgetful(kb=kb), watcher), docs, tmp_path / "out")
    (tmp_path / "out.parts" / "note.txt").write_text("left behind")
    for other, some in ((Forgetful(kb=kb, k=2), docs), (Forgetful(kb=kb), docs[:-1])):
        with pytest.raises(KeyboardInterrupt):
            run(pipeline(kb, other, watcher), some, tmp_path / "out")
        assert other.runs == [len(some)]
    (tmp_path / "out.parts" / "finished.json").write_text("{")
    with pytest.raises(LinnetError, match="not JSON"):
        run(pipeline(kb, Forgetful(kb=kb)), docs, tmp_path / "out")
    shutil.rmtree(tmp_path / "out.parts")
    run(pipeline(kb, Forgetful(kb=kb)), docs, tmp_path / "out")


def test_what_is_no_training_is_left_alone(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    (tmp_path / "out.parts").mkdir()
    (tmp_path / "out.parts" / "notes.txt").write_text("mine")
    with pytest.raises(LinnetError, match=r"out\.parts is reserved for finished parts but contains something else"):
        run(pipeline(kb, Forgetful(kb=kb)), docs, tmp_path / "out")
    assert (tmp_path / "out.parts" / "notes.txt").read_text() == "mine"


class Full(Forgetful):
    """Finds no room on the disk, as often as it is asked to save itself."""

    def save(self, folder: Path) -> None:
        super().save(folder)
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_no_half_of_a_pipeline(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setitem(config.COMPONENTS, "forgetful", f"{Full.__module__}:{Full.__qualname__}")
    made = pipeline(kb, Full(kb=kb))
    if there:
        (tmp_path / "out").mkdir()
    with pytest.raises(LinnetError, match=r"out\.parts cannot be written: No space left on device; make room"):
        list(train(made, [Task((1,), "forgetful")], docs, (), output=tmp_path / "out"))
    with pytest.raises(LinnetError, match="cannot be written"):  # it is saved with the whole, too
        list(train(made, [], docs, (), output=tmp_path / "out"))
    assert (tmp_path / "out").exists() is there
    assert not there or not list((tmp_path / "out").iterdir())
    monkeypatch.setattr(Full, "save", Forgetful.save)
    list(train(made, [], docs, (), output=tmp_path / "out"))
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"pipeline.toml", "card.md", "0-gold"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_pipeline_that_was_half_put_into_its_folder_is_put_there_again(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the folder is another drive, which may be full."""
    output, move = tmp_path / "out", shutil.move

    def filled(source: Path, target: Path) -> None:
        if source.name == "pipeline.toml":
            raise shutil.Error([(source, target, "No space left on device"), (source, target, "as before")])
        move(source, target)

    output.mkdir()
    monkeypatch.setattr(shutil, "move", filled)
    with pytest.raises(LinnetError, match=r"out cannot be written: No space left on device; make room and run"):
        run(pipeline(kb, Forgetful(kb=kb)), docs, output)
    monkeypatch.setattr(shutil, "move", move)
    with pytest.raises(LinnetError, match="exists and is not empty"):  # another training
        run(pipeline(kb, Forgetful(kb=kb, k=2)), docs, output)
    again = Forgetful(kb=kb)
    run(pipeline(kb, again), docs, output)
    assert again.runs == []
    assert len(config.load(output, kb=kb).parts) == 4
    assert not [path for path in output.rglob("*") if path.parent.name == path.name]  # no folder within itself
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_card_names_files_that_are_no_utf_8(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    run(pipeline(kb, Forgetful(kb=kb)), docs, tmp_path / "out", about=("corpus: caf\udce9",))
    assert "corpus: caf\\udce9\n" in (tmp_path / "out" / "card.md").read_text()


def test_the_folder_one_stands_in(
    kb: KnowledgeBase, docs: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run(pipeline(kb, Forgetful(kb=kb)), docs, Path())
    assert "pipeline.toml" in [path.name for path in Path.cwd().iterdir()]
    assert len(config.load(tmp_path / "here", kb=kb).parts) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_what_is_to_be_trained(kb: KnowledgeBase) -> None:
    made = pipeline(kb, Fuse([Forgetful(kb=kb), Exact(kb=kb)]))
    assert [(task.name, task.place) for task in tasks(made, [], source="r")] == [
        ("forgetful", (1, 0)),
        ("watcher", (2,)),
    ]
    named = tasks(made, [{"part": "decide"}, {"part": "watcher", "lr": 0.1}], source="r")
    assert [(task.name, dict(task.args)) for task in named] == [("decide", {}), ("watcher", {"lr": 0.1})]
    with pytest.raises(RecipeError) as caught:
        tasks(made, [{"part": "exact"}, {"part": "watchr"}, {}], source="r.toml")
    assert "train[0].part: 'exact' does not name a part that learns" in str(caught.value)
    assert "did you mean 'watcher'?" in str(caught.value)
    assert "train[2].part: None" in str(caught.value)


def test_parts_without_arguments_refuse_them(kb: KnowledgeBase) -> None:
    with pytest.raises(RecipeError, match=r"train\[0\]\.k: unknown field"):
        tasks(pipeline(kb, Forgetful(kb=kb)), [{"part": "decide", "k": 3}], source="r")


def test_arguments_reach_the_part(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    watcher = Watcher(kb=kb)
    made = pipeline(kb, Forgetful(kb=kb), watcher)
    list(train(made, tasks(made, [{"part": "watcher", "lr": 0.1}], source="r"), docs, (), output=tmp_path / "a"))
    assert watcher.args == {"lr": 0.1}


def test_what_cannot_be_trained(kb: KnowledgeBase, docs: list[Document], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    made = pipeline(kb, Forgetful(kb=kb))
    with pytest.raises(LinnetError, match="exists and is not empty"):
        run(made, docs, tmp_path / "full")
    with pytest.raises(LinnetError, match="no documents to train on"):
        run(made, [], tmp_path / "a")
    with pytest.raises(LinnetError, match="'d0' occurs twice"):
        run(made, [*docs, docs[0]], tmp_path / "a")
