"""Pipelines that go on with a knowledge base that was edited answer as those that are loaded with it."""

from __future__ import annotations

import random
import shutil
import string
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from linnet.data import Concept, Document, Mention, Name
from linnet.detect.dictionary import Dictionary
from linnet.detect.gold import Gold
from linnet.errors import DataError, KnowledgeBaseError, LinnetWarning, RecipeError
from linnet.fit.plan import parts_of
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.kb.edit import Edit
from linnet.pipeline import Allow, Fuse, Pipeline, Stage
from linnet.pipeline.aliases import Aliases
from linnet.pipeline.component import Fits
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.rerank.lexical import Lexical
from linnet.retrieve.dense import Dense
from linnet.retrieve.exact import Exact
from linnet.retrieve.ngram import Ngram
from linnet.retrieve.types import Types
from tests.tiny_models import tiny_bert

pytestmark = pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")

PARTS = (
    "renal",
    "cyst",
    "short",
    "finger",
    "cardiac",
    "pain",
    "type",
    "of",
    "chronic",
    "left",
    "skin",
    "lesion",
    "b12",
)
TYPES = ("Disease", "Sign", "Chemical")
CONCEPTS, DOCUMENTS = 250, 40


def name_of(chance: random.Random) -> Name:
    words = [*chance.sample(PARTS, chance.randint(1, 3)), "".join(chance.choices(string.ascii_lowercase, k=2))]
    return Name(" ".join(words), chance.choice(("exact", "related", "broad")))


def concept(chance: random.Random, id: str, others: Sequence[str] = ()) -> Concept:
    names = tuple(dict.fromkeys(name_of(chance) for _ in range(chance.randint(1, 4))))
    parents = tuple(chance.sample(others, 1)) if others else ()
    return Concept(id, names, (chance.choice(TYPES),), definition=name_of(chance).text, parents=parents)


def documents(chance: random.Random, kb: KnowledgeBase, names: Sequence[tuple[str, str]]) -> list[Document]:
    """Return documents with gold mentions, some in words that the knowledge base lacks."""
    docs = []
    for number in range(DOCUMENTS):
        text, mentions = "Seen:", []
        for id, name in chance.sample(names, 4):
            surface = name if chance.random() < 0.7 else f"{name.split()[-1]} thing"
            mentions.append(Mention(len(text) + 1, len(text) + 1 + len(surface), source="gold", concepts=(id,)))
            text += f" {surface},"
        docs.append(Document(f"d{number}", text, mentions=tuple(mentions)))
    return docs


def change(chance: random.Random, edit: Edit, live: list[str], known: set[str], number: int) -> None:
    """Make one edit: what was learned of is retired with a successor alone, for else nothing can be loaded."""
    what, id = chance.choice(("add", "names", "rename", "retire", "merge")), chance.choice(live)
    if what == "add" or len(live) < CONCEPTS // 2:
        live.append(f"N:{number}")
        edit.add(concept(chance, live[-1], live[:5]))
    elif what == "names":
        edit.add(Concept(id, (name_of(chance),), (chance.choice(TYPES),)))
    elif what == "rename":
        edit.replace(concept(chance, id))
    else:
        live.remove(id)
        if what == "merge":
            edit.merge(other := chance.choice(live), id)
        else:
            other = chance.choice(live) if id in known or chance.random() < 0.5 else ""
            edit.retire(id, other)
        if id in known:
            known.add(other)


def fitted(pipeline: Pipeline, docs: Sequence[Document], kb: KnowledgeBase) -> Pipeline:
    for place, part in enumerate(pipeline.parts):
        assert isinstance(part, Stage)
        for some in (*part.inner, part):
            if isinstance(some, Fits) and isinstance(some, (Dictionary, Dense, Lexical, Ngram, Decide)):
                before = Pipeline(*pipeline.parts[:place])
                args = {"epochs": 1, "seed": 1} if isinstance(some, Dense) else {}
                with suppress(DataError):  # random weights find nothing that probabilities could be fitted to
                    list(some.fit(docs[: DOCUMENTS // 2], docs[DOCUMENTS // 2 :], before=before, kb=kb, args=args))
    return pipeline


def linkers(kb: KnowledgeBase, bert: str) -> Iterator[Pipeline]:
    yield Dictionary(kb=kb, aliases=True, min_precision=0.1) >> Decide(kb=kb)
    yield Gold() >> Fuse([Ngram(kb=kb), Exact(kb=kb)]) >> Lexical(kb=kb) >> Decide(kb=kb)
    yield Gold() >> Dense(kb=kb, encoder=bert, k=5, tokens=16, name_tokens=16) >> Decide(kb=kb)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    chance = random.Random(7)
    made = build((concept(chance, f"C:{number}") for number in range(CONCEPTS)), tmp_path / "mine.kb")
    return made.path


@pytest.mark.parametrize(("edits", "every"), [(60, 20), pytest.param(400, 40, marks=pytest.mark.slow)])
def test_after_random_edits_answers_are_those_of_a_loaded_one(
    path: Path, tmp_path: Path, edits: int, every: int
) -> None:
    chance = random.Random(edits)
    kb = KnowledgeBase.open(path)
    names = [(found.id, name.text) for found in kb.concepts() for name in found.names][: CONCEPTS // 2]
    docs = documents(chance, kb, names)
    ids = [found.id for found in kb.concepts()]
    known = {id for doc in docs for mention in doc.mentions or () for id in mention.concepts or ()}
    bert = str(tiny_bert(tmp_path / "bert", words=PARTS, layers=1, size=16))
    bound = [fitted(pipeline, docs, kb) for pipeline in linkers(kb, bert)]
    for number, pipeline in enumerate(bound):
        saving.save(pipeline, tmp_path / f"saved-{number}")
    networks = [part.made["network"] for pipeline in bound for part in parts_of(pipeline) if isinstance(part, Dense)]
    for step in range(0, edits, every):
        with KnowledgeBase.edit(path) as edit:
            for number in range(step, step + every):
                change(chance, edit, ids, known, number)
        kb = KnowledgeBase.open(path)
        bound = [pipeline.rebound(kb) for pipeline in bound]
        texts = [
            *(doc.spans_only() for doc in docs[:5]),
            *(doc.spans_only() for doc in documents(chance, kb, names)[:5]),
        ]
        for number, pipeline in enumerate(bound):
            given = texts if number else [doc.bare() for doc in texts]
            assert pipeline(given) == config.load(tmp_path / f"saved-{number}", kb=kb)(given), (step, number)
    kept = [part.made["network"] for pipeline in bound for part in parts_of(pipeline) if isinstance(part, Dense)]
    assert all(one is other for one, other in zip(kept, networks, strict=True))


def test_what_a_network_has_made_is_kept_where_it_can_be(path: Path, tmp_path: Path) -> None:
    kb = KnowledgeBase.open(path)
    bert = str(tiny_bert(tmp_path / "bert", words=PARTS, layers=1, size=16))
    dense = Dense(kb=kb, encoder=bert, k=5)
    dense.learned = Aliases.counted({("d", ("odd pain", kb.row("C:1"))): 2, ("d", ("odd skin", kb.row("C:3"))): 1})
    names, aliases, network = dense.names_index, dense.alias_vectors, dense.network
    with KnowledgeBase.edit(path) as edit:
        edit.add(Concept("N:1", (Name("renal pain"),)))
        edit.merge("C:2", "C:1")
    kb = KnowledgeBase.open(path)
    again = dense.rebound(kb)
    assert again.network is network
    assert again.names_index is not names
    assert again.learned.keys == (("odd pain", kb.row("C:2")), ("odd skin", kb.row("C:3")))
    assert again.alias_vectors is aliases
    assert dense.names_index is names


def test_what_a_part_asks_of_the_knowledge_base_is_asked_again(path: Path) -> None:
    typed = Types(kb=KnowledgeBase.open(path), of=[Exact(kb=KnowledgeBase.open(path))], allow={"Sign": "Sign"})
    with KnowledgeBase.edit(path) as edit:
        for found in list(typed.kb.concepts()):
            if "Sign" in found.types:
                edit.replace(replace(found, types=("Disease",), parents=()))
    with pytest.raises(RecipeError, match=r"allow\.Sign: mine\.kb has no semantic type 'Sign'"):
        typed.rebound(KnowledgeBase.open(path))


@pytest.mark.parametrize("make", [lambda kb: Pipeline(Dictionary(kb=kb)), lambda kb: Fuse([Exact(kb=kb)])])
def test_another_knowledge_base_is_refused(make: Callable[[KnowledgeBase], Stage], path: Path, tmp_path: Path) -> None:
    other = build([Concept("C:1", (Name("fever"),))], tmp_path / "other.kb")
    with pytest.raises(
        KnowledgeBaseError, match=r"other\.kb \(version .*\) is not the knowledge base of .* with edits"
    ):
        make(KnowledgeBase.open(path)).rebound(other)
    older = KnowledgeBase.open(shutil.copy(path, tmp_path / "older.kb"))
    with KnowledgeBase.edit(path) as edit:
        edit.retire("C:1")
    with pytest.raises(KnowledgeBaseError, match="with edits"):
        make(KnowledgeBase.open(path)).rebound(older)


def test_what_is_no_longer_there_is_named(path: Path) -> None:
    kb = KnowledgeBase.open(path)
    concept = kb["C:3"]
    surface = concept.names[0]
    doc = Document("d", surface.text, mentions=(Mention(0, len(surface.text), source="gold", concepts=("C:3",)),))
    ngram = Ngram(kb=kb)
    list(ngram.fit([doc], [], before=Gold(), kb=kb, args={}))
    limited = Pipeline(Exact(kb=kb), allow=Allow(ids=("C:3",)))
    with KnowledgeBase.edit(path) as edit:
        edit.retire("C:3")
    edited = KnowledgeBase.open(path)
    with pytest.warns(LinnetWarning, match=r"mine\.kb retired .* what was learned of them is left out: 1 \(C:3\)"):
        assert len(ngram.rebound(edited).learned) == 0
    assert len(ngram.learned) == 1
    gone = ngram.rebound(edited)
    with pytest.raises(KnowledgeBaseError, match=r"allow.ids: mine\.kb has no concept 'C:3'"):
        limited.rebound(edited)
    with KnowledgeBase.edit(path) as edit:
        edit.add(concept)
    back = gone.rebound(KnowledgeBase.open(path))
    assert (back.learned.keys, len(back.without(["d"]).rebound(back.kb).learned)) == (ngram.learned.keys, 0)


@pytest.mark.parametrize("successor", ["", "C:5"])
def test_what_is_loaded_while_a_concept_is_retired_is_back_when_it_lives_again(
    path: Path, tmp_path: Path, successor: str
) -> None:
    kb = KnowledgeBase.open(path)
    concept = kb["C:3"]
    learned = Aliases.counted({("d", ("odd pain", kb.row("C:3"))): 2, ("d", ("odd skin", kb.row("C:4"))): 1})
    learned.save(tmp_path / "aliases.jsonl", kb)
    with KnowledgeBase.edit(path) as edit:
        edit.retire("C:3", successor)
    retired = KnowledgeBase.open(path)
    loaded = Aliases.load(tmp_path / "aliases.jsonl", retired)
    assert [retired.id(row) for _, row in loaded.keys] == [*([successor] if successor else []), "C:4"]
    assert loaded.keys == learned.rebound(retired).keys
    with KnowledgeBase.edit(path) as edit:
        edit.add(concept)
    again = loaded.rebound(KnowledgeBase.open(path))
    assert (again.keys, again.counts) == (learned.keys, learned.counts)


def test_parts_without_a_knowledge_base_stay(kb: KnowledgeBase) -> None:
    gold = Gold()
    assert gold.rebound(kb) is gold
    pipeline = replace(Decide(kb=kb)).rebound(kb)
    assert pipeline.kb is kb
