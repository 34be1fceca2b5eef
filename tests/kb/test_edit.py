from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import Concept, Name
from linnet.detect.name_table import NameTable
from linnet.errors import KnowledgeBaseError, LinnetWarning
from linnet.kb import KnowledgeBase
from linnet.kb import build as kb_build
from linnet.kb.build import build
from linnet.kb.edit import Edit
from linnet.kb.file import concept_hash, journal
from linnet.kb.rows import RowWriter
from tests.growth import LINEAR, deep, growth, noted

edit = KnowledgeBase.edit


@pytest.fixture
def path(kb: KnowledgeBase, tmp_path: Path) -> Path:
    return Path(shutil.copy(kb.path, tmp_path / "mine.kb"))


def named(id: str, *parents: str, names: Sequence[str] = ()) -> Concept:
    return Concept(id, tuple(map(Name, names or (f"name of {id}",))), parents=parents)


def fresh_version(kb: KnowledgeBase) -> str:
    """The version as DESIGN defines it, from scratch."""
    total = 0
    with closing(sqlite3.connect(kb.path)) as connection:
        rows = connection.execute("SELECT concept, row FROM names WHERE concept >= 0 ORDER BY concept, position, row")
        names = {row: [name for _, name in lot] for row, lot in itertools.groupby(rows.fetchall(), itemgetter(0))}
    for row, concept in enumerate(kb.concepts()):
        total += (
            concept_hash(row, concept, names.get(row, ()))
            if row < len(kb)
            else concept_hash(-1, Concept(concept.id, replaced_by=concept.replaced_by))
        )
    return f"{total % 2**64:016x}"


def check(path: Path) -> KnowledgeBase:
    """Check that the file agrees with itself, and with one built anew from what it holds; return it."""
    kb = KnowledgeBase.open(path)
    assert kb.version == fresh_version(kb) == kb.history[-1]["version"]
    concepts = list(kb.concepts())
    live = [concept for concept in concepts if concept.replaced_by is None]
    counts = {"concepts": len(live), "names": sum(len(c.names) for c in live), "retired": len(concepts) - len(live)}
    assert {key: int(kb.info[key]) for key in counts} == counts
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        used = "SELECT concept FROM parents WHERE parent IN (SELECT row FROM concepts WHERE retired)"
        assert not connection.execute(used).fetchall(), "nothing lies below a tombstone"
    if not live:
        return kb
    with tempfile.TemporaryDirectory() as folder:
        gone = [replace(concept, parents=()) for concept in concepts if concept.replaced_by is not None]
        same_answers(kb, build([*live, *gone], f"{folder}/fresh.kb"), live)
    return kb


def same_answers(kb: KnowledgeBase, fresh: KnowledgeBase, live: list[Concept]) -> None:
    assert kb.types() == fresh.types()
    assert [kb[kb.row(concept.id)] for concept in live] == live
    ids = [concept.id for concept in kb.concepts()]
    assert [id in kb and kb.id(kb.row(id)) for id in ids] == [id in fresh and fresh.id(fresh.row(id)) for id in ids]
    words = {word for concept in live for name in concept.names for word in [name.text, *name.text.split()]}
    for text in [*ids, *words, *(f"{word} name" for word in words)]:
        found = [{hit.id: (hit.tier, hit.name) for hit in base.search(text, limit=99)} for base in (kb, fresh)]
        assert found[0] == found[1], text
    for norm in {word.lower() for word in words}:
        hits = [sorted((base.id(name.concept), name.text) for name in base.find(norm)) for base in (kb, fresh)]
        assert hits[0] == hits[1]
    for concept in live:
        below = [
            {base.id(row) for row in range(len(base)) if row in base.mask(under=[concept.id])} for base in (kb, fresh)
        ]
        assert below[0] == below[1]
    names = [
        sorted((base.id(n.concept), n.text, n.scope, n.language, n.source, n.preferred) for n in base.names())
        for base in (kb, fresh)
    ]
    assert names[0] == names[1]


# --- what the edits do -----------------------------------------------------------------------------------------------


def test_a_new_concept_gets_the_next_row(path: Path) -> None:
    old = KnowledgeBase.open(path)
    new = Concept(
        "X:3",
        (Name("Heat rash"), Name("Miliaria", "broad", "la", "s")),
        ("Disease", "New type"),
        "Small red spots.",
        ("X:2", "X:1"),
        ("Y:1",),
    )
    with edit(path) as change:
        change.add(new)
    assert change.counts == {"added": 1, "changed": 0}
    kb = check(path)
    assert (kb.row("X:3"), kb[10], len(kb)) == (10, new, 11)
    assert [hit.tier for hit in kb.search("miliar")] == ["prefix"]
    assert [hit.id for hit in kb.search("rash heat")] == ["X:3"]
    assert kb.types()["New type"] == 1
    assert [kb.id(row) for row in kb.ancestors(10)] == ["X:1", "X:2"]
    assert [name.row for name in kb.names()][:16] == list(range(16))
    assert [entry["version"] for entry in kb.history] == [old.version, kb.version]
    assert kb.history[1]["action"] == "added 1"


def test_adding_to_a_known_concept_takes_nothing_away(path: Path) -> None:
    more = Concept(
        "HP:0001250",
        (Name("Fit"), Name("Fits", "exact"), Name("Fits", "exact", "de"), Name("Fit", "broad"), Name(" ")),
        ("Disease", "Neurology"),
        "Another definition.",
        ("X:1", "HP:0000118"),
        ("UMLS:C0036572", "UMLS:C1"),
    )
    with edit(path) as change:
        change.add(more)
    assert change.counts == {"changed": 1}
    kb = check(path)
    assert kb[kb.row("HP:0001250")] == Concept(
        "HP:0001250",
        (
            Name("Seizure"),
            Name("Epileptic seizure"),
            Name("Fits", "related"),
            Name("Fit"),
            Name("Fits", "exact", "de"),
        ),
        ("Phenotype", "Neurology", "Disease"),
        "An event of abnormal electrical activity in the brain.",
        ("HP:0000118", "X:1"),
        ("UMLS:C0036572", "UMLS:C1"),
    )
    with edit(path) as change:
        change.add(Concept("X:1", definition="Low temperature."))
    kb = check(path)
    assert kb[kb.row("X:1")].definition == "Low temperature."


def test_what_is_known_already_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    old = KnowledgeBase.open(path)
    with edit(path) as change:
        for concept in list(old.concepts()):
            change.add(concept)
        change.cite({"vocabulary": "nothing new"})
    assert not +change.counts
    assert path.read_bytes() == before
    assert next(old.concepts()).id == "HP:0000118"


def test_replacing_is_exact_and_names_keep_their_rows(path: Path) -> None:
    old = KnowledgeBase.open(path)
    row = old.row("HP:0001250")
    new = Concept("HP:0001250", (Name("Fits", "related"), Name("Attack"), Name("Seizure")), ("Disease",), "", ("X:1",))
    with edit(path) as change:
        change.replace(new)
    kb = check(path)
    assert kb[row] == new
    assert [kb.name_row(row, text) for text in ("Seizure", "Epileptic seizure", "Fits", "Attack")] == [1, -1, 3, 16]
    assert kb.name(2) == Name("Epileptic seizure"), "saved candidates can still say which name it was"
    assert [hit.id for hit in kb.search("epileptic seizure") if hit.tier == "exact"] == []
    with edit(path) as change:
        change.replace(old_concept := Concept("HP:0001250", (Name("Epileptic seizure"),)))
        change.replace(replace(old_concept, names=(Name("Attack"), Name("Attack"))))
    kb = check(path)
    assert [name.row for name in kb.find("attack")] == [16, 17]
    with edit(path) as change:
        change.replace(replace(old_concept, names=(Name("Attack"),)))
    assert [name.row for name in check(path).find("attack")] == [16], "the same rows for the same names"
    with edit(path) as change:
        change.replace(list(build_concepts(kb.path.parent))[1])
    again = check(path)
    assert again.version == old.version
    assert list(again.names()) == list(KnowledgeBase.open(again.path.parent / "origin.kb").names())


def build_concepts(folder: Path) -> Iterator[Concept]:
    from tests.conftest import CONCEPTS

    yield from build(CONCEPTS, folder / "origin.kb").concepts()


def test_a_retired_concept_is_found_nowhere_and_leads_on(path: Path) -> None:
    with edit(path) as change:
        change.retire("HP:0001250", "HP:0000118")
        change.retire("X:1")
    assert change.counts == {"retired": 2, "changed": 1}
    kb = check(path)
    assert kb.row("HP:0001250") == kb.row("HP:0009998") == 0
    assert "X:1" not in kb
    assert kb[kb.row("HP:0002069")].parents == ("HP:0000118",), "children move up"
    assert kb[1].replaced_by == "HP:0000118"
    assert [hit.id for hit in kb.search("epileptic")] == []
    assert [hit.id for hit in kb.search("cold")] == ["X:2"]
    assert kb.info["retired"] == "5"
    assert repr(kb).endswith("concepts=8)"), "as `linnet kb info` counts them"


def test_what_was_retired_can_live_again(path: Path) -> None:
    old = KnowledgeBase.open(path)
    names = list(old.names())
    with edit(path) as change:
        change.retire("X:1", "X:2")
    with edit(path) as change:
        change.add(Concept("X:1"))
        change.add(named("HP:0009997", "X:1"))
    assert change.counts == {"restored": 2, "changed": 0}
    kb = check(path)
    assert (kb.row("X:1"), kb.row("HP:0009997")) == (8, 10)
    assert [name for name in kb.names() if name.concept < 10] == names
    with edit(path) as change:
        change.retire("HP:0009997")
    assert check(path).history[-1]["action"] == "retired 1"


def test_merging_gives_all_to_one(path: Path) -> None:
    with edit(path) as change:
        change.add(Concept("X:3", (Name("Chill"),), ("Disease",), "Cold.", ("HP:0000118",), ("Y:1",)))
        change.add(named("X:4", "X:3", "X:2"))
        change.merge("X:2", "X:3")
    assert change.counts == {"added": 2, "merged": 1, "changed": 1}
    kb = check(path)
    assert kb[kb.row("X:3")] == Concept(
        "X:2", (Name("Cold"), Name("Common cold"), Name("Chill")), ("Disease",), "Cold.", ("HP:0000118",), ("Y:1",)
    )
    assert kb[kb.row("X:4")].parents == ("X:2",)
    assert [hit.id for hit in kb.search("chill")] == ["X:2"]


@pytest.mark.parametrize(("kept", "other"), [("A", "C"), ("C", "A"), ("B", "C"), ("C", "B"), ("A", "D"), ("D", "A")])
def test_merging_along_a_line_makes_no_circle(tmp_path: Path, kept: str, other: str) -> None:
    path = build(
        [named("T"), named("A", "T"), named("B", "A"), named("C", "B"), named("D", "C", "A")], tmp_path / "a.kb"
    ).path
    with edit(path) as change:
        change.merge(kept, other)
    kb = check(path)
    assert all(kb.id(0) in {kb.id(row) for row in kb.ancestors(kb.row(id))} for id in "ABCD")
    assert kb.row(other) == kb.row(kept)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.integers(0, 11), max_size=3), min_size=2, max_size=12))
def test_who_is_above_whom_is_what_a_walk_up_finds(hierarchy: list[set[int]]) -> None:
    parents = [{above % row for above in some} if row else set() for row, some in enumerate(hierarchy)]
    walked: list[set[int]] = []
    for row, some in enumerate(parents):
        walked.append({row}.union(*(walked[above] for above in some)))
    with tempfile.TemporaryDirectory() as folder:
        made = build(
            [named(f"T:{row}", *(f"T:{above}" for above in some)) for row, some in enumerate(parents)], f"{folder}/a.kb"
        )
        with closing(sqlite3.connect(made.path)) as connection:
            rows = RowWriter(connection, made.path)
            for high, low in itertools.product(range(len(parents)), repeat=2):
                assert rows.is_above(high, low) == (high in walked[low])


def test_parents_and_successors_may_come_later(path: Path) -> None:
    with edit(path) as change:
        change.add(named("N:1", "N:2", "HP:0009998", "X:1"))
        change.add(Concept("N:0", (Name("Old"),), replaced_by="N:1"))
        change.add(Concept("X:1", replaced_by="N:2"))
        change.add(named("N:2"))
    kb = check(path)
    assert kb[kb.row("N:1")].parents == ("HP:0001250", "N:2"), "X:1 was retired in favour of N:2"
    assert kb.row("X:1") == kb.row("N:2")
    assert kb.row("N:0") == kb.row("N:1")
    assert change.counts == {"added": 2, "retired": 1, "retired ids": 1, "changed": 0}
    with edit(path) as change:
        change.add(Concept("N:0", replaced_by="X:2"))
        change.add(Concept("X:1", replaced_by="X:2"))
        change.add(Concept("HP:0009999", replaced_by=""))
    assert change.counts == {"redirected": 2, "changed": 0}
    assert check(path).row("N:0") == 9


def test_unknown_parents_are_left_out_with_a_warning(path: Path) -> None:
    with (
        pytest.warns(LinnetWarning, match=r"2 parents are not in mine\.kb and were left out, for example 'Q:1'"),
        edit(path) as change,
    ):
        change.add(named("N:1", "Q:2", "X:1", "Q:1"))
    kb = check(path)
    assert kb[kb.row("N:1")].parents == ("X:1",)


def test_what_was_retired_in_favour_of_a_concept_is_not_its_parent(path: Path) -> None:
    with edit(path) as change:
        change.add(Concept("HP:0001250", parents=("HP:0009999",)))
        change.add(named("N:1", "HP:0009999"))
    kb = check(path)
    assert kb[1].parents == ("HP:0000118",)
    assert kb[10].parents == ("HP:0001250",)


def test_sources_are_cited(path: Path) -> None:
    with edit(path) as change:
        change.add(named("N:1"))
        change.cite({"vocabulary": "obo", "licence": "CC0"})
    assert check(path).sources == [{"vocabulary": "test"}, {"vocabulary": "obo", "licence": "CC0"}]


def test_a_dry_run_counts_and_keeps_nothing(path: Path) -> None:
    before = path.read_bytes()
    with edit(path, dry_run=True) as change:
        change.add(named("N:1"))
        change.retire("X:1")
    assert change.counts == {"added": 1, "retired": 1, "changed": 0}
    assert path.read_bytes() == before


def test_the_name_table_follows(path: Path) -> None:
    with edit(path) as change:
        change.replace(Concept("X:2", (Name("Rhinitis"), Name("Common cold"))))
        change.add(Concept("X:1", (Name("Low temperature"),)))
    table = NameTable.of(KnowledgeBase.open(path))
    entries = [table.entry(row) for row in range(len(table))]
    preferred = {entry.concept: entry.text for entry in entries if entry.preferred}
    assert (preferred[8], preferred[9], len(preferred)) == ("Cold", "Rhinitis", 10)


def test_changes_since_a_version(path: Path) -> None:
    versions = [KnowledgeBase.open(path).version]
    edits: list[Callable[[Edit], None]] = [
        lambda change: change.add(named("N:1", "X:1")),
        lambda change: change.retire("X:1", "X:2"),
        lambda change: change.merge("X:2", "HP:0001631"),
        lambda change: change.add(Concept("N:9", replaced_by="X:2")),
    ]
    for work in edits:
        with edit(path) as change:
            work(change)
        versions.append(check(path).version)
    kb = KnowledgeBase.open(path)
    since = [kb.changed_since(version).tolist() for version in versions]
    assert since == [[7, 8, 9, 10], [7, 8, 9, 10], [7, 9], [], []]
    assert [entry["changed"] for entry in kb.history] == [0, 1, 2, 2, 0]
    assert kb.changed_since(kb.version).dtype == "int64"
    with pytest.raises(KnowledgeBaseError, match=r"mine\.kb never had the version 'abc'.*build from it anew"):
        kb.changed_since("abc")


# --- any sequence of edits, against a slow and obvious model ----------------------------------------------------------

IDS = [f"I:{number}" for number in range(6)]
some_ids = st.sampled_from(IDS)
NAMES = st.builds(
    Name, st.sampled_from(["renal name", "Name", "kidney", "β", "+"]), st.sampled_from(["exact", "related"])
)
CONCEPTS = st.builds(
    Concept,
    some_ids,
    st.lists(NAMES, min_size=1, max_size=3).map(tuple),
    st.lists(st.sampled_from("AB"), max_size=2, unique=True).map(tuple),
    st.sampled_from(["", "def"]),
    st.lists(some_ids, max_size=2, unique=True).map(tuple),
    st.lists(st.sampled_from(["Y:1", "Y:2"]), max_size=2, unique=True).map(tuple),
)
RETIRED = st.builds(lambda old, new: Concept(old, replaced_by=new), some_ids, some_ids | st.just(""))
EDITS = st.one_of(
    st.tuples(st.just("add"), CONCEPTS),
    st.tuples(st.just("add"), RETIRED),
    st.tuples(st.just("replace"), CONCEPTS),
    st.tuples(st.just("retire"), some_ids, some_ids | st.just("")),
    st.tuples(st.just("merge"), some_ids, some_ids),
)


class RefusedError(Exception):
    pass


def set_aside(ids: Sequence[str], own: str) -> list[str]:
    return [id for id in ids if id != own]


class Model:
    """What a knowledge base holds, without rows: live concepts, and retired ids with what they were."""

    def __init__(self, live: dict[str, Concept], gone: dict[str, str], tombs: dict[str, Concept]) -> None:
        self.live, self.gone, self.tombs = dict(live), dict(gone), dict(tombs)
        self.waiting: list[tuple[str, str]] = []
        self.unknown: list[tuple[str, str]] = []

    def copy(self) -> Model:
        return Model(self.live, self.gone, self.tombs)

    def resolve(self, id: str) -> str | None:
        seen: set[str] = set()
        while id not in self.live:
            if id in seen or not self.gone.get(id):
                return None
            seen.add(id)
            id = self.gone[id]
        return id

    def settle(self, lot: list[tuple[str, str]]) -> list[tuple[str, str]]:
        missing = []
        for child, parent in lot:
            end = self.resolve(parent)
            if end is None:
                missing.append((child, parent))
            elif end != child or parent == child:
                for place in (self.live, self.tombs):
                    if child in place:
                        parents = dict.fromkeys((*place[child].parents, end))
                        place[child] = replace(place[child], parents=tuple(parents))
        return missing

    def now(self) -> None:
        self.unknown += self.settle(self.waiting)
        self.waiting = []

    def add(self, concept: Concept) -> None:
        id = concept.id
        if concept.replaced_by is not None:
            if id in self.live:
                self.bury(id, concept.replaced_by)
            elif id not in self.gone or concept.replaced_by:
                self.gone[id] = concept.replaced_by
            return
        self.waiting += [(id, parent) for parent in concept.parents]
        if id not in self.live and id not in self.tombs:
            self.gone.pop(id, None)
            self.live[id] = replace(concept, parents=())
            return
        if id in self.tombs:
            self.live[id] = self.tombs.pop(id)
            del self.gone[id]
        self.live[id] = self.united(self.live[id], concept)

    @staticmethod
    def united(one: Concept, other: Concept) -> Concept:
        names = list(one.names)
        for name in other.names:
            if all((name.text, name.language) != (had.text, had.language) for had in names):
                names.append(name)
        return replace(
            one,
            names=tuple(names),
            types=tuple(dict.fromkeys((*one.types, *other.types))),
            definition=one.definition or other.definition,
            xrefs=tuple(dict.fromkeys((*one.xrefs, *other.xrefs))),
        )

    def replace(self, concept: Concept) -> None:
        self.need(concept.id)
        self.now()
        self.unknown = [(child, parent) for child, parent in self.unknown if child != concept.id]
        self.live[concept.id] = replace(concept, parents=())
        self.waiting += [(concept.id, parent) for parent in concept.parents]

    def need(self, *ids: str) -> None:
        if any(id not in self.live for id in ids):
            raise RefusedError

    def retire(self, id: str, successor: str) -> None:
        self.need(id, *([successor] if successor else []))
        if id == successor:
            raise RefusedError
        self.bury(id, successor)

    def swap(self, old: str, new: Callable[[str], tuple[str, ...]]) -> None:
        for place in (self.live, self.tombs):
            for id, concept in place.items():
                if old in concept.parents:
                    parents = [
                        p
                        for parent in concept.parents
                        for p in (set_aside(new(id), id) if parent == old else (parent,))
                    ]
                    place[id] = replace(concept, parents=tuple(dict.fromkeys(parents)))

    def bury(self, id: str, successor: str) -> None:
        self.now()
        above = tuple(set_aside(self.live[id].parents, id))
        self.swap(id, lambda _: above)
        self.tombs[id] = self.live.pop(id)
        self.gone[id] = successor

    def above(self, id: str) -> set[str]:
        found: set[str] = set()
        queue = [id]
        while queue:
            at = queue.pop()
            concept = self.live.get(at) or self.tombs[at]
            queue += set(concept.parents) - found
            found |= set(concept.parents)
        return found

    def merge(self, kept: str, other: str) -> None:
        self.need(kept, other)
        if kept == other:
            raise RefusedError
        self.now()
        one, two = self.united(self.live[kept], self.live[other]), self.live[other]
        going = [parent for parent in two.parents if parent != kept and kept not in self.above(parent)]
        mine = [parent for parent in one.parents if parent != other]
        self.live[kept] = replace(one, parents=tuple(dict.fromkeys((*mine, *going))))
        above = self.above(kept)
        self.swap(other, lambda child: two.parents if child in above else (kept,))
        self.bury(other, kept)

    def end(self) -> None:
        self.unknown = self.settle(self.unknown)
        self.unknown += self.settle(self.waiting)
        self.waiting = []
        if any(id in self.above(id) for id in self.live):
            raise RefusedError
        for first, id in self.gone.items():
            seen = {first}
            at = id
            while at and at not in self.live:
                if at in seen or at not in self.gone:
                    raise RefusedError
                seen.add(at)
                at = self.gone[at]


@pytest.mark.slow
@settings(max_examples=60)
@given(lots=st.lists(st.lists(EDITS, min_size=1, max_size=6), min_size=1, max_size=4))
def test_any_edits_do_what_the_model_does(
    lots: list[list[tuple[object, ...]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = [named("I:0"), named("I:1", "I:0"), Concept("I:5", (Name("gone"),), replaced_by="I:0")]
    path = build(first, tmp_path_factory.mktemp("any") / "a.kb").path
    model = Model({concept.id: concept for concept in first[:2]}, {"I:5": "I:0"}, {})
    names: dict[int, Name] = {}
    for lot in lots:
        before = path.read_bytes()
        after = model.copy()
        refused = False
        try:
            with warnings.catch_warnings(), edit(path) as change:
                warnings.simplefilter("ignore", LinnetWarning)
                for verb, *values in lot:
                    apply(change, after, str(verb), values)
        except KnowledgeBaseError as error:
            refused = True
            assert "circle" in str(error) or "cyclic" in str(error) or "not in a.kb" in str(error)
            with pytest.raises(RefusedError):
                after.end()
            assert path.read_bytes() == before
        if not refused:
            after.end()
            model = after
        kb = check(path)
        assert {c.id: c for c in kb.concepts() if c.replaced_by is None} == model.live
        assert {c.id: c.replaced_by for c in kb.concepts() if c.replaced_by is not None} == model.gone
        for row, name in names.items():
            assert kb.name(row) == name, "rows of names are never reused"
        names |= {name.row: kb.name(name.row) for name in kb.names()}


def apply(change: Edit, model: Model, verb: str, values: list[object]) -> None:
    try:
        getattr(model, verb)(*values)
    except RefusedError:
        with pytest.raises(KnowledgeBaseError):
            getattr(change, verb)(*values)
    else:
        getattr(change, verb)(*values)


# --- what is refused -------------------------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[Edit], None], str]] = [
    (lambda change: change.retire("HP:0001251"), r"no concept 'HP:0001251' in mine\.kb; did you mean 'HP:000"),
    (lambda change: change.retire("hp_0001250"), r"no concept 'hp_0001250' in mine\.kb; did you mean 'HP:0001250'\?"),
    (lambda change: change.retire(""), r"no concept '' in mine\.kb$"),
    (lambda change: change.retire("\ud800"), r"no concept '\\ud800'"),
    (lambda change: change.retire("X:1", "HP:0009999"), "'HP:0009999' is retired in mine.kb; it leads to 'HP:0001250'"),
    (lambda change: change.retire("X:1", "HP:0009997"), "'HP:0009997' is retired in mine.kb; `linnet kb add --id`"),
    (lambda change: change.retire("X:1", "X:1"), "'X:1' cannot be its own successor"),
    (lambda change: change.retire("HP:0009999"), "is retired in mine.kb; it leads to 'HP:0001250': name that"),
    (lambda change: change.merge("X:1", "X:1"), "'X:1' cannot be merged with itself"),
    (lambda change: change.merge("X:1", "Q:1"), "no concept 'Q:1'"),
    (lambda change: change.add(Concept("N:1")), "concept 'N:1' has no name"),
    (lambda change: change.add(Concept("", (Name("a"),), origin="f:2")), "^f:2: a concept without an id"),
    (lambda change: change.add(Concept("N:1", (Name("a\ud800"),))), r"'a\\ud800' contains a lone surrogate"),
    (lambda change: change.add(Concept("X:1", replaced_by="\ud800")), "lone surrogate"),
    (lambda change: change.replace(Concept("X:1")), "concept 'X:1' has no name"),
    (lambda change: change.replace(named("N:1")), "no concept 'N:1'"),
    (lambda change: change.replace(Concept("X:1", (Name("a"),), replaced_by="")), "use retire"),
]


@pytest.mark.parametrize(("work", "message"), REFUSED)
def test_refused_at_once_and_the_rest_goes_on(path: Path, work: Callable[[Edit], None], message: str) -> None:
    with edit(path) as change:
        with pytest.raises(KnowledgeBaseError, match=message):
            work(change)
        change.add(named("N:9"))
    assert change.counts == {"added": 1, "changed": 0}
    assert check(path).row("N:9") == 10


REFUSED_AT_THE_END: list[tuple[Callable[[Edit], None], str]] = [
    (lambda change: change.add(Concept("X:1", parents=("X:1",))), "cyclic parents: X:1 -> X:1$"),
    (lambda change: change.add(Concept("HP:0000118", parents=("HP:0002069",))), "cyclic parents: (HP:\\d+ -> ){3}HP:"),
    (
        lambda change: change.add(Concept("N:1", replaced_by="N:2", origin="f:1")),
        "f:1: retired concept 'N:1' is replaced by 'N:2', which is not in mine.kb",
    ),
    (
        lambda change: change.add(Concept("HP:0009997", replaced_by="HP:0009997")),
        "'HP:0009997' is replaced in a circle",
    ),
]


@pytest.mark.parametrize(("work", "message"), REFUSED_AT_THE_END)
def test_refused_at_the_end_leaves_all_as_it_was(path: Path, work: Callable[[Edit], None], message: str) -> None:
    before = path.read_bytes()
    with pytest.raises(KnowledgeBaseError, match=message), edit(path) as change:
        change.add(named("N:9"))
        work(change)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["mine.kb"]


def test_long_circles_are_cut_short(tmp_path: Path) -> None:
    path = build([named("C:0"), *(named(f"C:{i}", f"C:{i - 1}") for i in range(1, 30))], tmp_path / "a.kb").path
    with (
        pytest.raises(KnowledgeBaseError, match=r"cyclic parents: C:0 -> C:29 -> .*… \(20 more\) -> C:0$"),
        edit(path) as change,
    ):
        change.add(Concept("C:0", parents=("C:29",)))


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("chains")
    return {levels: deep(folder / f"{levels}.kb", levels).path for levels in (10_000, 100_000)}


@pytest.mark.parametrize(
    "work",
    [
        lambda change, levels: change.merge("C:1", f"C:{levels - 1}"),
        lambda change, levels: change.merge(f"C:{levels - 1}", "C:1"),
        lambda change, levels: change.add(named("N:1", f"C:{levels - 1}")),
        lambda change, levels: [change.add(named(f"N:{i}", f"N:{i + 1}")) for i in range(levels // 50)],
    ],
    ids=["lowest", "highest", "leaf", "chain"],
)
@pytest.mark.filterwarnings("ignore:1 parents are not in")
def test_time_grows_with_the_levels_not_with_their_square(
    chains: dict[int, Path], work: Callable[[Edit, int], None]
) -> None:
    def run(levels: int) -> None:
        with edit(chains[levels], dry_run=True) as change:
            work(change, levels)

    assert growth(run, 100_000) < LINEAR


def test_so_does_the_time_to_tell_a_circle(chains: dict[int, Path]) -> None:
    def run(levels: int) -> None:
        message = rf"cyclic parents: C:0 -> C:{levels - 1} -> .* \({levels - 10} more\) -> C:0$"
        with pytest.raises(KnowledgeBaseError, match=message), edit(chains[levels]) as change:
            change.add(Concept("C:0", parents=(f"C:{levels - 1}",)))

    assert growth(run, 100_000) < LINEAR


def test_a_new_chain_is_gone_through_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, RowWriter, "run")
    with edit(path) as change:
        for i in range(1000):
            change.add(named(f"N:{i}", *([f"N:{i + 1}"] if i < 999 else [])))
            change.add(Concept(f"O:{i}", replaced_by=f"O:{i + 1}" if i < 999 else "N:0"))
    assert KnowledgeBase.open(path).row("O:0") == KnowledgeBase.open(path).row("N:0")
    assert len(asked) < 60 * 1000


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("mine"), sqlite3.OperationalError("mine")])
def test_an_error_inside_changes_nothing(path: Path, error: BaseException) -> None:
    before = path.read_bytes()
    with pytest.raises(type(error)), edit(path) as change:
        change.add(named("N:9"))
        raise error
    assert path.read_bytes() == before


def test_after_a_failed_write_nothing_is_kept(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(KnowledgeBaseError, match="no such table"), edit(path) as change:
        change.add(named("N:9"))
        with pytest.raises(KnowledgeBaseError, match="no such table"):
            change._rows.run("DELETE FROM nowhere")
    assert path.read_bytes() == before
    with pytest.raises(KnowledgeBaseError, match="closed"):
        change.add(named("N:9"))


def test_what_cannot_be_edited(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for name in ("a.txt", "none.kb"):
        with pytest.raises(KnowledgeBaseError), edit(tmp_path / name):
            pass


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM info WHERE key = 'names'",
        "UPDATE info SET value = 'zz' WHERE key = 'version'",
        "UPDATE info SET value = '[' WHERE key = 'sources'",
        "UPDATE info SET value = '[7]' WHERE key = 'sources'",
        "DROP TABLE retired",
        "UPDATE names SET text = x'ff'",
        "UPDATE names SET scope = 99",
        "UPDATE concepts SET definition = CAST(x'ff' AS TEXT)",
        "UPDATE concepts SET row = 1 << 40 WHERE row = 0",
    ],
)
def test_a_damaged_file_is_not_edited(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    again = r"mine\.kb( is damaged|: cannot be read).*; build it again"
    with pytest.raises(KnowledgeBaseError, match=again), edit(path) as change:
        change.add(Concept("X:1", (Name("Heat"),)))


# --- several at once -------------------------------------------------------------------------------------------------


def test_who_has_it_open_is_told(path: Path) -> None:
    reader, quiet = KnowledgeBase.open(path), KnowledgeBase.open(path)
    assert reader.search("cold")
    with edit(path) as change:
        change.add(named("N:9"))
        assert [hit.id for hit in reader.search("cold")] == ["X:1", "X:2"], "until it is finished"
        assert "N:9" not in reader
    questions: list[Callable[[KnowledgeBase], object]] = [
        lambda base: base.search("cold"),
        lambda base: base[0],
        lambda base: base.row("X:1"),
        lambda base: list(base.names()),
    ]
    for ask in questions:
        for base in (reader, quiet):
            with pytest.raises(KnowledgeBaseError, match=r"has changed: version .* start again with it"):
                ask(base)
    assert KnowledgeBase.open(path).row("N:9") == 10


def test_writing_that_leaves_the_version_is_no_change(path: Path) -> None:
    reader = KnowledgeBase.open(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    assert [hit.id for hit in reader.search("cold")] == ["X:1", "X:2"]


def test_the_second_editor_waits_and_then_says_so(path: Path) -> None:
    with edit(path) as change:
        change.add(named("N:1"))
        with (
            pytest.raises(KnowledgeBaseError, match=r"cannot be changed: somebody else is .* \(waited 0.1 s\)"),
            edit(path, wait=0.1),
        ):
            pass
    begun = threading.Event()

    def first() -> None:
        with edit(path) as one:
            one.add(named("N:2"))
            begun.set()
            threading.Event().wait(0.3)

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait()
    with edit(path) as two:
        two.add(named("N:3", "N:2"))
    thread.join()
    assert check(path).row("N:3") == 12


def test_an_edit_waits_for_those_who_read(path: Path) -> None:
    reading = KnowledgeBase.open(path).names()
    next(reading)
    before = path.read_bytes()
    with (
        pytest.raises(KnowledgeBaseError, match="somebody else is editing or reading it"),
        edit(path, wait=0.1) as change,
    ):
        change.add(named("N:1"))
    assert len(list(reading)) == 15
    assert path.read_bytes() == before


def test_building_waits_for_an_edit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_build, "BUILD_WAIT", 0.1)
    with edit(path) as change:
        change.add(named("N:1"))
        with pytest.raises(KnowledgeBaseError, match="somebody else is editing or reading it"):
            build([named("N:2")], path)
    assert "N:1" in check(path)
    assert [file.name for file in path.parent.iterdir()] == ["mine.kb"]


def test_an_edit_that_waited_for_a_file_built_anew_edits_the_new_one(path: Path) -> None:
    old = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    old.execute("BEGIN IMMEDIATE")

    def work() -> None:
        with edit(path) as change:
            change.add(named("N:1"))

    thread = threading.Thread(target=work)
    thread.start()
    threading.Event().wait(0.2)
    made = build([named("B:1")], path.with_name("new.kb")).path
    made.replace(path)
    old.rollback()
    old.close()
    thread.join()
    assert check(path).row("N:1") == 1


# --- killed, or no room ----------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from linnet.kb import file as kb_file
from linnet.data import Concept, Name
from linnet.kb import KnowledgeBase
kb_file.CACHE = int(sys.argv[2])
with KnowledgeBase.edit(sys.argv[1]) as change:
    for number in range(3000):
        change.add(Concept(f"N:{number}", (Name(f"new name {number}"),), parents=("X:1",)))
    change.retire("X:2", "X:1")
    change.finish()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill(path: Path, cache: int) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(cache)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert journal(path).exists()


@pytest.mark.slow
@pytest.mark.parametrize("cache", [0, 1 << 18], ids=["half written", "nothing written"])
def test_a_killed_edit_changes_nothing(path: Path, cache: int) -> None:
    before, version = path.read_bytes(), KnowledgeBase.open(path).version
    kill(path, cache)
    assert (path.read_bytes() == before) == (cache > 0)
    kb = KnowledgeBase.open(path)
    assert (kb.version, path.read_bytes()) == (version, before)
    assert not (cache == 0 and journal(path).exists())
    check(path)
    kill(path, cache)
    with edit(path) as change:
        change.add(named("N:1"))
    assert check(path).row("N:1") == 10
    kill(path, cache)
    assert len(build([named("B:1")], path)) == 1
    assert not (cache == 0 and journal(path).exists()), "it would be played back into the new file"
    check(path)


@contextmanager
def as_somebody_else(folder: Path) -> Iterator[None]:
    """Read in a folder that may not be written to; root, who may always, becomes nobody for the time."""
    user = os.geteuid()
    folder.chmod(0o555)
    try:
        if user == 0:
            os.seteuid(65534)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


@pytest.fixture
def shared(path: Path) -> Iterator[Path]:
    """The knowledge base in a folder that everybody may read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copy(path, folder))


def test_a_read_only_folder_is_read_while_another_edits(shared: Path) -> None:
    with edit(shared) as change:
        change.add(named("N:1"))
        with as_somebody_else(shared.parent):
            assert "N:1" not in KnowledgeBase.open(shared)
    with as_somebody_else(shared.parent):
        assert "N:1" in KnowledgeBase.open(shared)
        with pytest.raises(KnowledgeBaseError, match="cannot be written: "), edit(shared) as change:
            change.add(named("N:2"))


def test_an_edit_killed_before_it_was_written_down_is_no_matter(shared: Path) -> None:
    version = KnowledgeBase.open(shared).version
    kill(shared, cache=1 << 18)
    with as_somebody_else(shared.parent):
        assert KnowledgeBase.open(shared).version == version


def test_a_killed_edit_of_a_file_that_a_link_leads_to(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, left = KnowledgeBase.open(path).version, tmp_path / "left" / "release.kb"
    left.parent.mkdir()
    monkeypatch.setattr("linnet.kb.file.CACHE", 0)
    with edit(path, dry_run=True) as change:
        for number in range(9):
            change.add(named(f"N:{number}"))
        shutil.copy(path, left)
        shutil.copy(journal(path), journal(left))
    link = tmp_path / "link.kb"
    link.symlink_to(left)
    assert KnowledgeBase.open(link).version == version
    assert not journal(link).exists()
    check(left)


@pytest.mark.slow
def test_a_killed_edit_in_a_read_only_folder(shared: Path) -> None:
    version = KnowledgeBase.open(shared).version
    kill(shared, cache=0)
    journal(shared).chmod(0o644)
    with as_somebody_else(shared.parent):
        with pytest.warns(LinnetWarning, match="an edit was interrupted and cannot be undone there; a copy"):
            kb = KnowledgeBase.open(shared)
        assert (kb.version, kb.path, [hit.id for hit in kb.search("cold")]) == (version, shared, ["X:1", "X:2"])
        copy = kb.file
        assert copy.exists()
        del kb
        gc.collect()
        assert not copy.parent.exists()
    journal(shared).chmod(0o600)
    if os.geteuid() == 0:
        with as_somebody_else(shared.parent), pytest.raises(KnowledgeBaseError, match="an edit was interrupted"):
            KnowledgeBase.open(shared)
    assert check(shared).version == version


FULL = """
import resource, sys
from linnet.data import Concept, Name
from linnet.errors import KnowledgeBaseError
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
path, verb = sys.argv[1:]
concepts = [Concept(f"N:{number}", (Name(f"new name {number}" * 9),)) for number in range(5000)]
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    if verb == "build":
        build(concepts, path)
    else:
        with KnowledgeBase.edit(path) as change:
            for concept in concepts:
                change.add(concept)
except KnowledgeBaseError as error:
    sys.stdout.write(str(error))
"""


@pytest.mark.parametrize("verb", ["edit", "build"])
def test_a_full_disk_leaves_all_as_it_was(path: Path, verb: str) -> None:
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", FULL, str(path), verb], capture_output=True, text=True, check=True)
    assert "mine.kb: cannot be written: " in done.stdout
    assert KnowledgeBase.open(path).path == path
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["mine.kb"]


def test_a_journal_of_somebody_at_work_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, **more | {"timeout": 0.1}))
    with closing(connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE info SET value = value || '.'")
        with pytest.raises(KnowledgeBaseError, match="is being changed by somebody else; try again"):
            KnowledgeBase.open(path)
        other.rollback()
    assert KnowledgeBase.open(path)


def test_nothing_stays_below_a_concept_that_was_its_own_parent(tmp_path: Path) -> None:
    concepts = [Concept("I:0", (Name("old"),)), Concept("I:1", (Name("child"),), parents=("I:0",))]
    path = build(concepts, tmp_path / "own.kb").path
    with KnowledgeBase.edit(path) as edit:
        edit.add(Concept("I:0", parents=("I:0",)))
        edit.add(Concept("I:0", replaced_by=""))
    kb = check(path)
    assert kb[kb.row("I:1")].parents == ()
