"""Two models on the same documents: what counts, for whom, and what neither may have learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from linnet.annotate.journal import last_number
from linnet.annotate.runs import add_model, add_predictions, end_run, new_id, start_run
from linnet.annotate.tables import document, model
from linnet.codec import dumps
from linnet.data import Document, Mention
from tests.annotate.releases import a_release

if TYPE_CHECKING:
    from tests.annotate.api import Person, Site

TEXT = "No seizures, short stature, gout."


def said(*found: tuple[int, int, str]) -> tuple[Mention, ...]:
    return tuple(Mention(start, end, concepts=(concept,)) for start, end, concept in found)


def with_model(
    site: Site, project: int, id: int, *mentions: Mention, learned: set[tuple[int, int]] | None = None
) -> str:
    """Add a model that predicts mentions of a document."""
    made = new_id("m")
    with site.store.write() as db:
        text = str(db.scalar(sa.select(document.c.text).where(document.c.id == id)))
        add_model(db, project, f"models/{made}", 0, learned or set(), card={"dev": 1e-9}, id=made)
        run = start_run(db, project, model=made)
        add_predictions(db, run, id, Document("d", text, mentions=mentions))
        end_run(db, run)
    return made


def read_document(owner: Person, project: int) -> int:
    """Upload a document and read it: two mentions are right, and nothing else is one."""
    owner.upload(project, ("a.txt", TEXT.encode()))
    stream = owner.post(f"/projects/{project}/samples", {"n": 1})["assignments"][0]
    seq = owner.work(stream)["seq"]
    made = [
        owner.made("create", parts=[[3, 11]], concepts=[], nil="not in KB"),
        owner.made("create", parts=[[13, 26]], concepts=[], nil="not in KB"),
        owner.made("done"),
    ]
    owner.send(stream, seq, 200, *made)
    return int(owner.work(stream)["document"])


def test_models_are_compared_where_people_have_read(site: Site) -> None:
    owner = site.person(admin=True)
    project = site.project(owner)
    id = read_document(owner, project)
    right = tuple(Mention(start, end, concepts=()) for start, end in ((3, 11), (13, 26)))
    a = with_model(site, project, id, right[0], *said((28, 32, "X:1")))
    b = with_model(site, project, id, *right)
    found = owner.get(f"/projects/{project}/compare", params={"a": a, "b": b})
    counts = [found[key] for key in ("documents", "both_right", "fixed", "broke", "both_wrong")]
    assert counts == [1, 1, 2, 0, 0]
    assert [(one["parts"], one["a"], one["b"], one["gold"]) for one in found["examples"]] == [
        ([[13, 26]], None, [], []),
        ([[28, 32]], ["X:1"], None, None),
    ]


def test_a_mention_that_readers_did_not_link_says_nothing_of_concepts(site: Site) -> None:
    owner = site.person(admin=True)
    project = site.project(owner)
    [id] = owner.upload(project, ("a.txt", TEXT.encode()))["added"]
    [stream] = owner.post(f"/projects/{project}/samples", {"n": 1})["assignments"]
    owner.command(stream, "create", parts=[[3, 11]])
    owner.command(stream, "done")
    a, b = with_model(site, project, id, *said((3, 11, "X:1"))), with_model(site, project, id)
    found = owner.get(f"/projects/{project}/compare", params={"a": a, "b": b})
    assert (found["both_right"], found["fixed"], found["broke"], found["both_wrong"]) == (0, 0, 1, 0)


def test_the_adjudication_given_back_last_is_what_is_right(site: Site) -> None:
    owner = site.person(admin=True)
    project = site.project(owner)
    id = read_document(owner, project)
    a, b = with_model(site, project, id), with_model(site, project, id, *said((13, 26, "X:1")))
    judges = [site.member(owner, project, "curator") for _ in range(2)]
    judged = {"documents": [id], "users": [one.user for one in judges], "kind": "adjudicate"}
    streams = owner.post(f"/projects/{project}/assignments", judged)["assignments"]
    for judge, stream, concepts in zip(judges, streams, ([], ["X:1"]), strict=True):
        [mention] = [one["id"] for one in judge.work(stream)["decided"] if one["parts"] == [[13, 26]]]
        judge.command(stream, "link", mention, concepts=concepts)
        judge.command(stream, "done")
        found = owner.get(f"/projects/{project}/compare", params={"a": a, "b": b})
        assert (found["fixed"], found["both_wrong"]) == ((1, 1) if concepts else (0, 2))


def test_a_document_that_a_model_has_learned_from_does_not_count(site: Site) -> None:
    owner = site.person(admin=True)
    project = site.project(owner)
    id = read_document(owner, project)
    a = with_model(site, project, id)
    b = with_model(site, project, id, learned={(id, owner.user)})
    found = owner.get(f"/projects/{project}/compare", params={"a": a, "b": b})
    assert found["documents"] == 0


def test_what_somebody_may_not_see_does_not_count(site: Site) -> None:
    owner = site.person(admin=True)
    project = site.project(owner, settings={"annotators": 2})
    peer = site.member(owner, project, "annotator")
    id = read_document(owner, project)
    a, b = with_model(site, project, id), with_model(site, project, id)
    assert owner.get(f"/projects/{project}/compare", params={"a": a, "b": b})["documents"] == 1
    assert peer.get(f"/projects/{project}/compare", params={"a": a, "b": b})["documents"] == 0
    owner.ask("GET", f"/projects/{project}/compare", 404, params={"a": a, "b": "m000000000000"})


def test_gold_that_nobody_had_begun_is_learned_from_too(site: Site) -> None:
    owner = site.person(admin=True)
    project = site.project(owner)
    gold = dumps(Document("a", TEXT, mentions=(Mention(3, 11, source="gold", concepts=("X:1",)),)))
    [id] = owner.upload(project, ("a.jsonl", gold.encode()))["added"]
    guess = Mention(3, 11, concepts=("X:1",), probability=0.9, calibration="joint")
    a, b = (with_model(site, project, id, guess) for _ in range(2))
    [stream] = owner.post(f"/projects/{project}/samples", {"n": 1})["assignments"]
    owner.command(stream, "done")

    def counted() -> tuple[int, object]:
        found = owner.get(f"/projects/{project}/compare", params={"a": a, "b": b})
        return found["documents"], owner.get(f"/projects/{project}/stopping")["calibration"]

    assert counted()[0] == 1  # they were trained before it came
    assert counted()[1] is not None
    with site.store.write() as db:
        db.execute(model.update().where(model.c.id.in_([a, b])).values(data_to_event=last_number(db)))
    assert counted() == (0, None)


def test_concepts_that_were_retired_are_compared_as_their_successors(site: Site) -> None:
    owner = site.person(admin=True)
    with a_release(site, owner) as (project, release):
        [id] = owner.post(f"/projects/{project}/pastes", {"text": "Gout."})["added"]
        [stream] = owner.post(f"/projects/{project}/samples", {"n": 1})["assignments"]
        owner.command(stream, "create", parts=[[0, 4]], concepts=["X:9"])
        owner.command(stream, "done")
        release()
        guesses = (Mention(0, 4, concepts=(id,), probability=0.9, calibration="joint") for id in ("X:9", "Y:1"))
        a, b = (with_model(site, project, id, guess) for guess in guesses)
        found = owner.get(f"/projects/{project}/compare", params={"a": a, "b": b})
        assert (found["both_right"], found["broke"], found["fixed"], found["both_wrong"]) == (1, 0, 0, 0)
        [found] = owner.get(f"/projects/{project}/stopping")["calibration"]["bins"]
        assert found["accuracy"] == 1.0  # of the last run, which says Y:1
