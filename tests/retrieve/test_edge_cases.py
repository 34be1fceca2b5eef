"""What docs/retrieval.md says of every retriever where it gets odd, line by line."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.data import Abbreviation, Candidates, Concept, Document, Mention, Name, Span
from linnet.detect.gold import Gold
from linnet.errors import KnowledgeBaseError, UnknownConceptError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Allow, Fuse, Pipeline, Retriever
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.retrieve.bm25 import Bm25
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram

pytestmark = pytest.mark.filterwarnings("ignore:2 names hold no letter and no digit")  # of NAMES: "+/-" and "?"
LONG = "dog " * 3_000
NAMES: dict[str, tuple[str, ...]] = {
    "X:renal": ("renal failure", "Renal Failure"),
    "X:twin": ("renal failure",),
    "X:other": ("renal cyst",),
    "X:c": ("C",),
    "X:beta": ("β",),
    "X:diabetes": ("糖尿病",),
    "X:sugar": ("糖",),
    "X:plus": ("+/-", "?"),
    "X:unit": ("Ångström",),
    "X:blood": ("Αιμορραγία",),
    "X:the": ("the",),
    "X:dog": (LONG,),
    "X:fibrosis": ("fibrosis",),
}
RETRIEVERS: dict[str, Callable[[KnowledgeBase], Retriever]] = {
    "exact": lambda kb: Exact(kb=kb),
    "exact-case": lambda kb: Exact(kb=kb, level="case"),
    "exact-family": lambda kb: Exact(kb=kb, level="family"),
    "bm25": lambda kb: Bm25(kb=kb),
    "ngram": lambda kb: Ngram(kb=kb),
    "ngram-names": lambda kb: Ngram(kb=kb, word_boundaries=False, sublinear_tf=False),
    "ngram-ends": lambda kb: Ngram(kb=kb, char_side="separate", char_count=6),
    "fuse-rank": lambda kb: Fuse([Exact(kb=kb), Ngram(kb=kb), Bm25(kb=kb)]),
    "fuse-weighted": lambda kb: Fuse([Exact(kb=kb), Ngram(kb=kb)], method="weighted", weights=(0.2, 0.8)),
    "fuse-interleaved": lambda kb: Fuse([Ngram(kb=kb), Bm25(kb=kb)], method="interleaved"),
}
BREAK_TIES = ("fuse-rank", "fuse-interleaved")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(concepts(), tmp_path_factory.mktemp("edge") / "edge.kb")


def concepts() -> list[Concept]:
    old = Concept("X:old", (Name("worn kidneys"),), replaced_by="X:renal")
    live = [
        Concept(id, tuple(map(Name, names)), ("letter" if len(names[0]) == 1 else "word",))
        for id, names in NAMES.items()
    ]
    return [*live, old]


@pytest.fixture(params=RETRIEVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def retriever(name: str, small: KnowledgeBase) -> Retriever:
    return RETRIEVERS[name](small)


def found(retriever: Retriever, text: str, allow: Allow | None = None) -> Candidates:
    doc = Document("d", text, mentions=(Mention(0, len(text)),), abbreviations=())
    [[candidates]] = retriever.retrieve([doc], allow=allow)
    assert candidates == candidates.sorted()
    assert len(set(candidates.rows.tolist())) == len(candidates)
    assert ((candidates.scores > 0) & (candidates.scores <= 1)).all()
    return candidates


def ids(retriever: Retriever, text: str, allow: Allow | None = None) -> list[str]:
    kb: KnowledgeBase = retriever.of[0].kb if isinstance(retriever, Fuse) else retriever.kb  # type: ignore[attr-defined]
    return [kb.id(row) for row in found(retriever, text, allow).rows.tolist()]


def test_ties_go_by_row_and_equal_names_by_place(name: str, retriever: Retriever) -> None:
    assert ids(retriever, "renal failure")[:2] == ["X:renal", "X:twin"]
    candidates = found(retriever, "renal failure")
    assert (candidates.scores[0] == candidates.scores[1]) is not (name in BREAK_TIES)
    assert candidates.names is not None
    assert candidates.names[0] == 0  # of "renal failure" and "Renal Failure", the first


@pytest.mark.parametrize("text", ["+/-", "?", " ", "\u200b", "\ud800", "…"])
def test_nothing_is_like_a_text_without_letters_and_digits(retriever: Retriever, text: str) -> None:
    assert ids(retriever, text) == []


def test_names_without_letters_and_digits_are_never_found(retriever: Retriever) -> None:
    everything = {id for names in NAMES.values() for text in names for id in ids(retriever, text)}
    assert everything == NAMES.keys() - {"X:plus"}


def test_a_mention_without_candidates_is_nil(retriever: Retriever, small: KnowledgeBase) -> None:
    linker = retriever >> Decide(kb=small)
    [out] = linker([Document("d", "?", mentions=(Mention(0, 1),), abbreviations=())])
    [mention] = out.mentions or ()
    assert (mention.concepts, mention.probability) == ((), None)


@pytest.mark.parametrize("text", ["C", "β", "糖"])
def test_names_of_one_character(retriever: Retriever, text: str) -> None:
    assert ids(retriever, text)[0] == {"C": "X:c", "β": "X:beta", "糖": "X:sugar"}[text]


def test_short_names_need_short_ngrams(small: KnowledgeBase) -> None:
    assert ids(Ngram(kb=small, ngram_range=(3, 4)), "C") == ["X:c"]  # " c " with its borders
    assert ids(Ngram(kb=small, ngram_range=(4, 5)), "C") == []


@pytest.mark.parametrize("text", ["beta", "BETA", "Β"])  # the last is Greek
def test_a_greek_letter_alone_is_its_name(name: str, retriever: Retriever, text: str) -> None:
    assert ids(retriever, text)[:1] == ([] if name == "exact-case" else ["X:beta"])


@pytest.mark.parametrize("text", ["αιμορραγια", "ΑΙΜΟΡΡΑΓΊΑ"])
def test_greek_words_are_compared_without_case_and_accents(name: str, retriever: Retriever, text: str) -> None:
    assert ids(retriever, text) == ([] if name == "exact-case" else ["X:blood"])
    assert ids(retriever, "aimorragia")[:1] != ["X:blood"]


def test_chinese_is_one_word_between_blanks(name: str, retriever: Retriever) -> None:
    assert ids(retriever, "糖尿病")[0] == "X:diabetes"
    partly = name.startswith(("ngram", "fuse"))
    assert ids(retriever, "糖尿") == (["X:diabetes", "X:sugar"] if partly else [])


@pytest.mark.parametrize(
    "text", [unicodedata.normalize("NFD", "Ångström"), "ÅNGSTRÖM", "ａｎｇｓｔｒｏｍ", "Ång\u00adström"]
)
def test_forms_of_unicode_are_one(name: str, retriever: Retriever, text: str) -> None:
    assert ids(retriever, text)[:1] == ([] if name == "exact-case" else ["X:unit"])


def test_long_mentions_are_looked_up_whole(name: str, retriever: Retriever) -> None:
    assert ids(retriever, LONG)[0] == "X:dog"
    assert ids(retriever, "x" * 10_000) == []
    shared = ids(retriever, "renal " * 2_000)
    assert shared == [] if name.startswith("exact") else {"X:renal", "X:twin", "X:other"} <= set(shared)


@pytest.mark.parametrize("kind", [Exact, Bm25, Ngram])
@pytest.mark.parametrize("k", [13, 14, 100_000])
def test_k_larger_than_the_knowledge_base(small: KnowledgeBase, kind: type[Exact | Bm25 | Ngram], k: int) -> None:
    candidates = found(kind(kb=small, k=k), "renal failure")
    assert candidates == found(kind(kb=small), "renal failure")
    assert len(candidates) < len(small)  # what shares nothing is no candidate


@pytest.mark.parametrize("kind", [Exact, Bm25, Ngram])
def test_k_counts_what_is_allowed(small: KnowledgeBase, kind: type[Exact | Bm25 | Ngram]) -> None:
    retriever = kind(kb=small, k=1)
    assert ids(retriever, "renal failure") == ["X:renal"]
    assert ids(retriever, "renal failure", Allow(ids=("X:twin",))) == ["X:twin"]


def test_a_fusion_keeps_what_any_of_its_parts_has(small: KnowledgeBase) -> None:
    assert len(found(Fuse([Ngram(kb=small, k=1), Bm25(kb=small, k=3)]), "renal")) == 3


def test_nothing_allowed(retriever: Retriever) -> None:
    for text in ("renal failure", "C", "?"):
        assert ids(retriever, text, Allow(ids=())) == []
        assert ids(retriever, text, Allow(types=())) == []
        assert ids(retriever, text, Allow(types=("letter",), ids=("X:renal",))) == []


def test_what_is_allowed_is_checked(retriever: Retriever) -> None:
    with pytest.raises(KnowledgeBaseError, match="no semantic type 'lettre'; did you mean 'letter'"):
        ids(retriever, "C", Allow(types=("lettre",)))
    with pytest.raises(UnknownConceptError, match="no concept 'X:none'"):
        ids(retriever, "C", Allow(ids=("X:none",)))


def test_retired_concepts(retriever: Retriever) -> None:
    assert ids(retriever, "worn kidneys")[:1] != ["X:renal"]  # its names went with it
    assert ids(retriever, "renal failure", Allow(ids=("X:old",))) == ["X:renal"]  # its successor


def test_equal_mentions_have_equal_candidates(retriever: Retriever) -> None:
    docs = [
        Document(id, "renal failure, renal failure", mentions=(Mention(0, 13), Mention(15, 28)), abbreviations=())
        for id in ("a", "b", "a")
    ]
    lists = [candidates for some in retriever.retrieve(docs) for candidates in some]
    assert lists == [found(retriever, "renal failure")] * 6


def test_parts_of_a_mention_are_joined_and_are_no_abbreviation(retriever: Retriever) -> None:
    text = "renal or liver failure"
    doc = Document("d", text, mentions=(Mention(0, 22, parts=(Span(0, 5), Span(15, 22))),), abbreviations=())
    assert retriever.retrieve([doc]) == [[found(retriever, "renal failure")]]
    defined = Document("d", "renal failure (RF)", mentions=(Mention(15, 17),), abbreviations=(RF,))
    assert retriever.retrieve([defined]) == [[found(retriever, "renal failure")]]
    apart = Document("d", "renal failure (RF)", mentions=(Mention(15, 17, parts=(R, F)),), abbreviations=(RF,))
    assert retriever.retrieve([apart]) == [[found(retriever, "R F")]]


RF = Abbreviation(Span(15, 17), Span(0, 13))
R, F = Span(15, 16), Span(16, 17)


def test_an_edit_of_the_knowledge_base(name: str, tmp_path: Path) -> None:
    before = build(concepts(), tmp_path / "edited.kb")
    opened = RETRIEVERS[name](before)
    first = found(opened, "renal failure")
    with KnowledgeBase.edit(before.path) as edit:
        edit.retire("X:renal", successor="X:twin")
    after = KnowledgeBase.open(before.path)
    again = found(RETRIEVERS[name](after), "renal failure")
    assert (after.id(int(again.rows[0])), again.kb) == ("X:twin", after.version)
    try:
        assert found(opened, "renal failure") == first  # what was open goes on, with rows of its own version
    except KnowledgeBaseError as error:
        assert "has changed" in str(error)  # or says so
    with pytest.raises(KnowledgeBaseError, match="has changed"):
        before.name(0)


def test_what_was_saved_before_an_edit(name: str, tmp_path: Path) -> None:
    before = build(concepts(), tmp_path / "edited.kb")
    saving.save(Pipeline(RETRIEVERS[name](before), kb=before), tmp_path / "saved")
    assert config.load(tmp_path / "saved").kb is not None
    with KnowledgeBase.edit(before.path) as edit:
        edit.retire("X:twin")
    after = config.load(tmp_path / "saved")
    [linked] = after([Document("d", "renal failure", mentions=(Mention(0, 13),))])
    [mention] = linked.mentions or ()
    assert mention.candidates is not None
    assert after.kb is not None
    assert "X:twin" not in {after.kb.id(int(row)) for row in mention.candidates.rows}
    missing = build(list(concepts())[:2], tmp_path / "missing.kb")
    with pytest.raises(KnowledgeBaseError, match=f"version {before.version} of .*: train it again, or give"):
        config.load(tmp_path / "saved", kb=missing)


def test_abbreviations_may_be_looked_up_as_they_stand(small: KnowledgeBase) -> None:
    doc = Document("d", "renal failure (RF)", mentions=(Mention(15, 17),), abbreviations=(RF,))
    for retriever in (Ngram(kb=small, long_forms=False), Bm25(kb=small, long_forms=False)):
        assert retriever.retrieve([doc]) == [[found(retriever, "RF")]]


def test_what_gives_aliases(small: KnowledgeBase) -> None:
    def gold(text: str, *answers: tuple[str, ...]) -> Document:
        mention = Mention(0, len(text), source="gold", concepts=answers[0], alternatives=answers[1:])
        return Document(text, text, mentions=(mention,))

    ngram = Ngram(kb=small)
    train = [
        gold("worn out", ("X:old",)),  # retired: the alias is its successor's
        gold("either way", ("X:c",), ("X:beta",)),
        gold("both ways", ("X:c", "X:beta")),
        gold("no way", ()),
        gold("elsewhere", ("Y:1",)),
    ]
    list(ngram.fit(train, (), before=Gold(), kb=small, args={}))
    assert [(text, small.id(row)) for text, row in ngram.learned.keys] == [
        ("either way", "X:c"),
        ("worn out", "X:renal"),
    ]
    candidates = found(ngram, "worn out")
    assert candidates.names is not None
    assert (small.id(int(candidates.rows[0])), int(candidates.names[0])) == ("X:renal", -1)


def test_two_files_of_one_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = build(concepts(), tmp_path / "a" / "edge.kb")
    two = build([concept for concept in concepts() if concept.id != "X:renal"][:-1], tmp_path / "b" / "edge.kb")
    assert ids(RETRIEVERS[name](one), "renal failure")[0] == "X:renal"
    assert ids(RETRIEVERS[name](two), "renal failure")[0] == "X:twin"
    shutil.copy(two.path, one.path)  # the index beside it is of another version now
    assert ids(RETRIEVERS[name](KnowledgeBase.open(one.path)), "renal failure")[0] == "X:twin"
