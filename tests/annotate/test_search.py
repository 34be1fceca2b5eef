"""Concept search while annotating: tiers in their order, what a project adds, and what nobody learns of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.annotate import uses as uses_module
from linnet.annotate.api.aside import Aside
from linnet.annotate.api.workbench import MOST_OPEN, Settings, Workbench
from linnet.annotate.blind import may_hint
from linnet.annotate.documents import redact
from linnet.annotate.people import change_settings
from linnet.annotate.problems import BusyError
from linnet.annotate.runs import add_model
from linnet.annotate.searching import LATE, TIERS, Hit, Search, Sources, search
from linnet.annotate.uses import KEPT, Use, Uses, concepts_for
from linnet.data import Concept, Name
from linnet.detect.gold import Gold
from linnet.errors import KnowledgeBaseError, UnknownConceptError
from linnet.home import kb_folder
from linnet.index.name_vectors import NameVectors
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.retrieve.ngram_file import NgramFile
from linnet.retrieve.ngram_index import NgramIndex
from linnet.retrieve.ngram_text import Analysis
from tests.annotate.api import Person, Site
from tests.annotate.desk import AGAIN, FITS, HANDS, Desk


def concept(id: str, *names: str, types: tuple[str, ...] = (), parents: tuple[str, ...] = ()) -> Concept:
    return Concept(id, tuple(map(Name, names)), types, f"What {names[0]} is.", parents)


CONCEPTS = (
    concept("X:1", "Heart attack", "Myocardial infarction", types=("Disease",), parents=("X:9",)),
    concept("X:2", "Heart attack, old", types=("Finding",), parents=("X:1",)),
    concept("X:3", "Attack of the heart", types=("Disease",)),
    concept("X:4", "Hart attacks", types=("Animal",)),
    concept("X:5", "Panic attack", types=("Disease",)),
    concept("X:6", "Heart attack alarm", types=("Device",)),
    concept("X:7", "Cardiac arrest", types=("Disease",)),
    concept("X:9", "Heart disease", types=("Disease",)),
    Concept("X:0", (Name("MI"),), replaced_by="X:1"),
)


@pytest.fixture(scope="module")
def hearts(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build(list(CONCEPTS), tmp_path_factory.mktemp("search") / "hearts.kb")


@pytest.fixture(scope="module")
def index(hearts: KnowledgeBase) -> NgramIndex:
    return NgramFile(hearts, Analysis()).current()


def arrest(_text: str, count: int) -> list[tuple[int, int]]:
    """Find "Cardiac arrest" and "Heart attack", whatever is looked for."""
    return [(6, 8), (0, 1)][:count]


@pytest.fixture(scope="module")
def full(index: NgramIndex) -> Sources:
    """Everything that can be searched: uses, new concepts, similar names, a meaning."""
    uses = {
        Use("X:7", "heart attack"): 2,
        Use("X:0", "mi"): 1,
        Use("X:1", ""): 1,
        Use("NEW:1", "x"): 4,
        Use("Y", ""): 1,
    }
    new = (concept("NEW:1", "Heart attack of the week", parents=("X:9",)), Concept("NEW:2", (), replaced_by="X:1"))
    return Sources(uses=uses, new=new, similar=index, nearest=arrest)


def found(kb: KnowledgeBase, sources: Sources, text: str, **more: Any) -> list[tuple[str, str]]:
    return [(hit.id, hit.tier) for hit in search(kb, Search(text=text, **more), sources)]


def test_tiers_stand_in_order(hearts: KnowledgeBase, full: Sources) -> None:
    assert found(hearts, full, "heart attack") == [
        ("X:1", "exact"), ("X:7", "used here"), ("X:2", "prefix"), ("X:6", "prefix"), ("NEW:1", "prefix"),
        ("X:3", "all words"), ("X:4", "similar"), ("X:5", "any word"), ("X:9", "any word"),
    ]  # fmt: skip
    assert found(hearts, full, "x:0") == [("X:1", "id"), ("X:7", "by meaning")]
    assert found(hearts, full, "new:1", late=False) == [("NEW:1", "id")]
    assert found(hearts, full, "?!", late=False) == []


def test_a_hit_says_how_it_was_found(hearts: KnowledgeBase, full: Sources) -> None:
    first, second = search(hearts, Search(text="heart attack", limit=2), full)
    assert first == Hit(0, "X:1", "Heart attack", "Heart attack", "exact", ("Disease",), 2)
    assert second == Hit(6, "X:7", "Cardiac arrest", "heart attack", "used here", ("Disease",), 2)
    [new] = search(hearts, Search(text="week", late=False), full)
    assert (new.row, new.matched, new.used) == (None, "Heart attack of the week", 4)
    [meant] = search(hearts, Search(text="mi", late=False), full)
    assert (meant.id, meant.matched, meant.tier) == ("X:1", "mi", "used here")


def test_what_is_misspelt_is_found(hearts: KnowledgeBase, full: Sources) -> None:
    assert found(hearts, full, "myocardail infraction")[0] == ("X:1", "similar")
    assert found(hearts, Sources(), "myocardail infraction") == []
    assert "similar" not in dict.fromkeys(tier for _, tier in found(hearts, full, "hx"))


def test_filters_hold_in_all_tiers(hearts: KnowledgeBase, full: Sources) -> None:
    diseases = found(hearts, full, "heart attack", types=["Disease"])
    assert [id for id, _ in diseases] == ["X:1", "X:7", "X:3", "X:5", "X:9"]
    below = found(hearts, full, "heart attack", under=["X:9"])
    assert [id for id, _ in below] == ["X:1", "X:2", "NEW:1", "X:9"]
    assert found(hearts, full, "heart attack", under=["X:9"], types=["Finding"]) == [("X:2", "prefix")]
    with pytest.raises(KnowledgeBaseError):
        found(hearts, full, "heart", types=["Diseases"])
    with pytest.raises(UnknownConceptError):
        found(hearts, full, "heart", under=["X:10"])


def test_expected_types_come_first_in_their_tier(hearts: KnowledgeBase, full: Sources) -> None:
    assert found(hearts, full, "heart attack", first=["Device"])[1:4] == [
        ("X:7", "used here"), ("X:6", "prefix"), ("X:2", "prefix"),
    ]  # fmt: skip
    only = found(hearts, full, "heart attack", first=["Device"], types=["Finding"])
    assert only == [("X:2", "prefix")]
    assert found(hearts, full, "heart attack", limit=1, first=["Device"]) == [("X:1", "exact")]


@given(text=st.text("heartck mipx:0 ", min_size=1, max_size=14), limit=st.integers(1, 9), first=st.booleans())
def test_late_tiers_are_appended(hearts: KnowledgeBase, full: Sources, text: str, limit: int, first: bool) -> None:
    options: dict[str, Any] = {"limit": limit, "first": ["Finding"] if first else []}
    whole, quick = found(hearts, full, text, **options), found(hearts, full, text, late=False, **options)
    assert whole[: len(quick)] == quick
    assert len({id for id, _ in whole}) == len(whole) <= limit
    tiers = [TIERS.index(tier) for _, tier in whole]
    assert tiers == sorted(tiers)
    assert not {tier for _, tier in quick} & set(LATE)
    assert whole == found(hearts, full, text, **options)


# --- what is in use --------------------------------------------------------------------------------------------------


def counted(uses: Uses, desk: Desk, user: int | None = None) -> dict[Use, int]:
    with desk.store.read() as db:
        return dict(uses.count(db, desk.project, desk.user if user is None else user))


GOLD_USES = {Use("HP:0001250", "seizures"): 1, Use("HP:0004322", "short stature"): 1}


def test_uses_follow_decisions(desk: Desk) -> None:
    uses = Uses()
    assert counted(uses, desk) == GOLD_USES
    desk.do("create", "a", parts=[FITS], concepts=["HP:1"])
    desk.do("create", "b", parts=[AGAIN], concepts=["HP:1", "HP:2"])
    desk.do("create", "c", parts=[HANDS], concepts=[])
    desk.do("accept", "g1")  # GOLD is counted already
    both = {Use("HP:1", "fits"): 1, Use("HP:1", ""): 1, Use("HP:2", ""): 1}
    assert counted(uses, desk) == GOLD_USES | both
    desk.do("unsure", "b")
    desk.do("link", "a", concepts=["HP:3"])
    assert counted(uses, desk) == GOLD_USES | {Use("HP:3", "fits"): 1}
    desk.do("delete", "a")
    assert counted(uses, desk) == GOLD_USES == counted(Uses(), desk)


def test_words_of_an_erased_text_are_forgotten(desk: Desk) -> None:
    uses = Uses()
    desk.do("create", "a", parts=[FITS], concepts=["HP:1"])
    assert Use("HP:1", "fits") in counted(uses, desk)
    with desk.store.write() as db:
        redact(db, desk.document, desk.user)
    assert counted(uses, desk) == {Use("HP:1", ""): 1, Use("HP:0001250", ""): 1, Use("HP:0004322", ""): 1}


def test_what_could_not_be_counted_is_not_counted_twice(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    uses, read = Uses(), uses_module._read

    def broken(db: Any, sources: Any) -> Any:
        yield from read(db, sources)
        raise BusyError("busy")

    with monkeypatch.context() as patch:
        patch.setattr(uses_module, "_read", broken)
        with pytest.raises(BusyError):
            counted(uses, desk)
    assert counted(uses, desk) == GOLD_USES


def test_a_blind_peers_choices_are_not_counted(desk: Desk) -> None:
    uses, bob = Uses(), desk.colleague()
    bob.do("create", "a", parts=[FITS], concepts=["HP:1"])
    bob.do("done")
    assert Use("HP:1", "fits") not in counted(uses, desk)
    assert Use("HP:1", "fits") in counted(uses, desk, bob.user)
    desk.do("done")
    assert Use("HP:1", "fits") not in counted(uses, desk)  # on whatever document: it would tell how Bob links
    with desk.store.write() as db:
        change_settings(db, desk.project, 0, {"blind": False})
    assert Use("HP:1", "fits") in counted(uses, desk)
    with desk.store.write() as db:
        change_settings(db, desk.project, 1, {"blind": True})
    assert counted(uses, desk) == GOLD_USES


def test_counts_of_few_are_kept(desk: Desk) -> None:
    uses = Uses()
    for user in range(10**6, 10**6 + KEPT + 5):
        assert counted(uses, desk, user) == GOLD_USES
    assert len(uses._kept) == KEPT


def test_what_a_surface_was_linked_to() -> None:
    uses = {Use("X:1", "fits"): 1, Use("X:2", "fits"): 3, Use("X:3", ""): 9}
    assert concepts_for(uses, "FITS.") == [("X:2", 3), ("X:1", 1)]
    assert concepts_for(uses, "…") == []


# --- over HTTP -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def named() -> KnowledgeBase:
    """The concepts above, by the name ``hearts`` under LINNET_HOME."""
    kb_folder().mkdir(parents=True, exist_ok=True)
    return build(list(CONCEPTS), kb_folder() / "hearts.kb")


def asked(person: Person, kb: KnowledgeBase, q: str, status: int = 200, **more: Any) -> Any:
    return person.ask("GET", f"/kb/{kb.version}/search", status, params={"q": q, **more})


def ready(site: Site, kb: KnowledgeBase) -> None:
    """Wait until the index of names is open."""
    assert site.app.state.workbench.similar(kb).ready.wait(30)


def test_an_answer_is_kept_only_when_it_is_whole(site: Site, root: Person, named: KnowledgeBase) -> None:
    first = asked(root, named, "hart atack")
    ready(site, named)
    whole = asked(root, named, "hart atack")
    assert whole.json()["missing"] == []
    assert whole.json()["hits"][0]["tier"] == "similar"
    assert "immutable" in whole.headers["cache-control"]
    assert ("immutable" in first.headers["cache-control"]) == (first.json()["missing"] == [])
    assert "immutable" in asked(root, named, "heart", late=False).headers["cache-control"]


def test_a_project_adds_what_its_people_chose(site: Site, root: Person, named: KnowledgeBase) -> None:
    project = site.project(root, kb="hearts")
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "An MI again."})["added"]
    given = {"documents": [doc], "users": [alice.user, bob.user]}
    hers, _ = root.post(f"/projects/{project}/assignments", given)["assignments"]
    alice.command(hers, "create", parts=[[3, 5]], concepts=["X:7"])
    mine = asked(alice, named, "mi", project=project)
    assert mine.headers["cache-control"] == "no-store"
    [hit] = [one for one in mine.json()["hits"] if one["tier"] == "used here"]
    assert (hit["id"], hit["matched"], hit["used"], hit["definition"]) == ("X:7", "mi", 1, "What Cardiac arrest is.")
    before = asked(bob, named, "cardiac", project=project).json()
    assert [one["used"] for one in before["hits"]] == [0] * len(before["hits"])
    assert "used here" not in {one["tier"] for one in before["hits"]}
    asked(site.person(), named, "mi", 404, project=project)
    asked(bob, named, "mi", 404, project=10**6)
    asked(bob, named, "mi", 422, projct=project)


def test_parents_of_a_hit(root: Person, named: KnowledgeBase) -> None:
    hits = {one["id"]: one["above"] for one in asked(root, named, "heart attack").json()["hits"]}
    assert (hits["X:2"], hits["X:1"], hits["X:9"]) == (["Heart attack", "Heart disease"], ["Heart disease"], [])


def test_what_cannot_be_opened_is_done_without(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> int:
        raise KnowledgeBaseError("no room")

    aside = Aside(fail)
    assert aside.ready.wait(5)
    assert aside.value is None
    assert "no room" in caplog.text


def test_hints_for_words(site: Site, root: Person, named: KnowledgeBase) -> None:
    project = site.project(root)
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "An MI, then another MI."})["added"]
    given = {"documents": [doc], "users": [root.user]}
    [work] = root.post(f"/projects/{project}/assignments", given)["assignments"]
    for parts, id in (([[3, 5]], "X:7"), ([[20, 22]], "Y:1")):
        root.command(work, "create", parts=parts, concepts=[id])
    root.ask("PATCH", f"/projects/{project}", json={"kb": "hearts"}, headers={"If-Match": '"0"'})  # which has no Y:1
    told = root.post(f"/projects/{project}/candidates", {"document": doc, "parts": [[3, 5]]}, 200)
    assert told["used"] == [
        {"id": "X:7", "name": "Cardiac arrest", "count": 1}, {"id": "Y:1", "name": "Y:1", "count": 1},
    ]  # fmt: skip


def test_a_project_without_this_knowledge_base_has_words_alone(site: Site, root: Person, named: KnowledgeBase) -> None:
    ready(site, named)
    answer = asked(root, named, "heart", project=site.project(root)).json()
    assert answer["missing"] == []
    assert {one["used"] for one in answer["hits"]} == {0}


# --- by meaning ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_meaning_needs_vectors_that_are_there(hearts: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from linnet.annotate.nearest import nearest_of
    from linnet.retrieve.dense import Dense
    from tests.tiny_models import tiny_bert

    bert = str(tiny_bert(tmp_path / "bert", layers=1))
    dense = Dense(kb=hearts, encoder=bert)
    pipeline = Pipeline(dense, kb=hearts)
    assert nearest_of(Pipeline(Gold(), kb=hearts)) is None
    assert nearest_of(pipeline) is None
    assert isinstance(dense.names_index, NameVectors)  # which makes them
    nearest = nearest_of(pipeline)
    assert nearest is not None
    found_rows = search(hearts, Search(text="heart attack"), Sources(nearest=nearest))
    assert [hit.tier for hit in found_rows][-1] in LATE
    assert list(nearest("heart attack", 1)) == [(0, 0)]
    assert list(nearest("\u200b", 1)) == []


def test_a_model_that_learned_from_peers_gives_no_hints(desk: Desk) -> None:
    bob = desk.colleague()
    with desk.store.write() as db:
        mine = add_model(db, desk.project, "models/a", 0, {(desk.document, desk.user)})
        ours = add_model(db, desk.project, "models/b", 0, {(desk.document, desk.user), (desk.document, bob.user)})
        assert may_hint(db, desk.project, mine, desk.user)
        assert not may_hint(db, desk.project, ours, desk.user)
        change_settings(db, desk.project, 0, {"blind": False})
        assert may_hint(db, desk.project, ours, desk.user)


def test_meaning_is_searched_when_it_is_open(
    site: Site, root: Person, named: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(site.store, Settings(site.folder))
    monkeypatch.setitem(vars(site.app.state)["_state"], "workbench", bench)
    monkeypatch.setattr("linnet.annotate.api.workbench.nearest_of", lambda _pipeline: arrest)
    project = site.project(root, kb="hearts")
    asked(root, named, "zzyzx", project=project)
    opened = bench.nearest(None, "dictionary", bench.kb_of(named.version))
    assert opened.ready.wait(30)
    assert bench.similar(bench.kb_of(named.version)).ready.wait(30)
    answer = asked(root, named, "zzyzx", project=project).json()
    assert answer["missing"] == []
    assert [(one["id"], one["tier"]) for one in answer["hits"]] == [("X:7", "by meaning"), ("X:1", "by meaning")]
    assert asked(root, named, "zzyzx", project=project, late=False).json()["hits"] == []


def test_only_so_many_are_kept_open(site: Site, named: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Workbench(site.store, Settings(site.folder))
    monkeypatch.setattr(bench, "linker", lambda *_: Pipeline(Gold()))
    first = bench.nearest(None, "recipe 0", named)
    assert bench.nearest(None, "recipe 0", named) is first
    for number in range(1, MOST_OPEN + 1):
        bench.nearest(None, f"recipe {number}", named)
    again = bench.nearest(None, "recipe 0", named)
    assert again is not first
    assert again.ready.wait(5)
    assert again.value is None


def test_what_an_edit_has_ended_is_not_kept_open(
    site: Site, named: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 2
    monkeypatch.setattr("linnet.annotate.api.workbench.MOST_INDEXES", most)
    bench, versions = Workbench(site.store, Settings(site.folder)), [named.version]
    made = build(list(CONCEPTS), named.path.with_name("edited.kb"))
    for number in range(most + 1):
        with KnowledgeBase.edit(made.path) as change:
            change.add(concept(f"X:{100 + number}", f"name {number}"))
        current = bench.kb_named("edited")
        assert bench.similar(current).ready.wait(30)
        assert bench.kb_of(versions[-1]).version in (current.version, named.version)
        versions.append(current.version)
    assert set(bench._kbs) == {"edited", f"version {versions[0]}", f"version {versions[-2]}"}
    assert list(bench._similar) == versions[-most:]
    made.close()
    made.path.unlink()
