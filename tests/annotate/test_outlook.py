"""Whether reading on pays: from what the store holds, against sums by hand; and nothing of a peer's open work."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import sqlalchemy as sa

from linnet.annotate.drawing import draw_documents
from linnet.annotate.journal import last_number
from linnet.annotate.outlook import outlook
from linnet.annotate.people import set_role
from linnet.annotate.runs import add_model, add_predictions, end_run, start_run
from linnet.annotate.stopping import Signal
from linnet.annotate.store import Store
from linnet.annotate.tables import document
from linnet.data import Document, Mention
from tests.annotate.api import Person, Site

GOUT = "HP:0001250"
WORDS = "gout ague"
P = 0.75  # of each prediction: of two in a document, half an error is expected


def mention(start: int, end: int, p: float = P) -> Mention:
    return Mention(start, end, types=("Phenotype",), concepts=(GOUT,), probability=p, calibration="joint")


def uploaded(root: Person, project: int, count: int) -> list[int]:
    files = [(f"n{number}.txt", f"{WORDS} {number}".encode()) for number in range(count)]
    return [int(id) for id in root.upload(project, *files)["added"]]


def predict(store: Store, project: int, ids: list[int], *mentions: Mention, model: str | None = None) -> None:
    """Store one run over all documents."""
    with store.write() as db:
        if model is not None:
            card, metrics = {"kb": ""}, {"measure": "strict.f1", "measures": {"strict.f1": {"value": 0.5}}}
            add_model(db, project, f"models/{model}", 1, set(), card=card, metrics=metrics, id=model)
        run = start_run(db, project, model=model)
        for id, text in db.execute(sa.select(document.c.id, document.c.text).where(document.c.id.in_(ids))).all():
            add_predictions(db, run, id, Document(str(id), text, mentions=mentions))
        end_run(db, run)


def read(person: Person, stream: int, *, wrong: bool) -> None:
    """Say what the model says, without the second mention if that is `wrong`, and that the document is done."""
    for start, end in [(0, 4)] if wrong else [(0, 4), (5, 9)]:
        person.command(stream, "create", parts=[[start, end]], types=["Phenotype"], concepts=[GOUT], ms=60_000)
    person.command(stream, "done")


@pytest.mark.slow
def test_errors_left_are_those_of_the_difference_estimator(site: Site, root: Person) -> None:
    project = site.project(root)
    ids = uploaded(root, project, 20)
    predict(site.store, project, ids, mention(0, 4), mention(5, 9))
    drawn = draw_documents(site.store, project, root.user, 8, strategy="random", seed=4).assignments
    before = root.get(f"/projects/{project}/stopping")
    assert (before["errors_left"], before["unread"]) == (None, 12)
    for number, stream in enumerate(drawn[:6]):
        read(root, stream, wrong=number < 2)
    found = root.get(f"/projects/{project}/stopping")
    # two are drawn and not read: neither read nor unread; 18 · 0.5 + 18 / 6 · (2 · 0.5 - 4 · 0.5) - 2 = 4
    assert found["errors_left"]["value"] == pytest.approx(4.0)
    assert found["errors_left"]["random"] == 6
    assert found["errors_left"]["low"] < 4 < found["errors_left"]["high"]
    assert found["unread"] == 12
    signal = found["signals"][0]
    assert (signal["name"], signal["reached"]) == ("errors left", False)
    assert signal["numbers"]["mentions"] == 10 + 12 * 2  # two of those that were read are no mentions
    more = draw_documents(site.store, project, root.user, 4, strategy="random", seed=5).assignments
    for stream in (*drawn[6:], *more):
        read(root, stream, wrong=False)
    found = root.get(f"/projects/{project}/stopping")
    assert (found["errors_left"]["random"], found["unread"]) == (12, 8)  # both rounds
    uploaded(root, project, 30)  # the first 20 are there
    assert root.get(f"/projects/{project}/stopping")["unread"] == 8  # the pool of the last round


def stopping_after(site: Site, root: Person, count: int, *, wrong: bool) -> dict[str, Any]:
    """Return what is said of a project of six documents of which so many, drawn by chance, are read."""
    project = site.project(root)
    predict(site.store, project, uploaded(root, project, 6), mention(0, 4), mention(5, 9))
    for stream in draw_documents(site.store, project, root.user, count, strategy="random").assignments:
        read(root, stream, wrong=wrong)
    found: dict[str, Any] = root.get(f"/projects/{project}/stopping")
    return found


def test_where_all_is_read_nothing_is_said_of_errors(site: Site, root: Person) -> None:
    found = stopping_after(site, root, 6, wrong=True)
    assert (found["errors_left"], found["unread"]) == (None, 0)
    assert "errors left" not in [one["name"] for one in found["signals"]]


def test_documents_that_came_since_are_not_read(site: Site, root: Person) -> None:
    """Nothing was drawn from them: to say that nothing is unread, and no error left, would be wrong."""
    project = site.project(root)
    predict(site.store, project, uploaded(root, project, 6), mention(0, 4), mention(5, 9))
    for stream in draw_documents(site.store, project, root.user, 6, strategy="random").assignments:
        read(root, stream, wrong=False)
    uploaded(root, project, 7)  # the first 6 are there
    found = root.get(f"/projects/{project}/stopping")
    assert (found["errors_left"], found["unread"]) == (None, None)


def test_few_documents_give_no_interval(site: Site, root: Person) -> None:
    found = stopping_after(site, root, 2, wrong=False)
    assert (found["errors_left"]["low"], found["errors_left"]["high"]) == (None, None)
    assert found["signals"][0]["value"] is None


def test_models_are_compared_on_what_nobody_has_read(site: Site, root: Person) -> None:
    project = site.project(root)
    ids = uploaded(root, project, 6)
    for number in range(5):
        predict(site.store, project, ids, mention(0, 4), mention(5, 9), model=f"m{project}-{number}")
    [stream] = draw_documents(site.store, project, root.user, 1, strategy="random").assignments
    read(root, stream, wrong=False)
    with site.store.read() as db:
        _, stable, gain = outlook(db, project, root.user, gain=0.1).signals
    assert (stable.value, stable.reached, stable.numbers["rounds"]) == (1.0, True, 3)
    assert gain == Signal("expected gain", None, 0.1, reached=False, numbers={"points": 0.0})
    predict(site.store, project, ids, mention(5, 9), model=f"m{project}-5")
    with site.store.read() as db:
        stable = outlook(db, project, root.user, gain=0.1).signals[1]
    assert stable.value is not None
    assert stable.value < 0.99
    assert not stable.reached


def test_readers_who_both_read_tell_what_both_missed(site: Site, root: Person) -> None:
    project = site.project(root, settings={"annotators": 2})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    ids = uploaded(root, project, 3)
    predict(site.store, project, ids, mention(0, 4), mention(5, 9))
    for person in (alice, bob):
        for number, stream in enumerate(person.post(f"/projects/{project}/samples", {"n": 3})["assignments"]):
            read(person, stream, wrong=person is bob and number == 0)
    [pair] = root.get(f"/projects/{project}/stopping")["missed_by_both"]
    assert (pair["annotators"], pair["documents"]) == ([alice.name, bob.name], 3)
    assert pair["there"] == pytest.approx(7 * 6 / 6 - 1)
    assert math.isclose(pair["missed"], 0.0, abs_tol=1e-9)


def test_open_work_of_peers_does_not_show(site: Site, root: Person) -> None:
    """A curator who has a document to do as well is not told what others found there."""
    project = site.project(root)
    alice, lead = site.member(root, project, "annotator", "alice"), site.member(root, project, "curator")
    ids = uploaded(root, project, 8)
    predict(site.store, project, ids, mention(0, 4), mention(5, 9))
    streams = alice.post(f"/projects/{project}/samples", {"n": 6, "strategy": "random"})["assignments"]
    docs = [alice.work(stream)["document"] for stream in streams]
    for stream in streams:
        read(alice, stream, wrong=True)
    seen = lead.get(f"/projects/{project}/stopping")
    assert seen["errors_left"]["random"] == 6
    lead.post(f"/projects/{project}/assignments", {"documents": docs, "users": [lead.user]})
    hidden = lead.get(f"/projects/{project}/stopping")
    assert hidden["errors_left"] is None
    assert alice.name not in json.dumps(hidden)
    with site.store.write() as db:
        set_role(db, project, lead.user, "viewer")
    lead.ask("GET", f"/projects/{project}/stopping", 403)


def test_a_curve_is_of_one_measure(site: Site, root: Person) -> None:
    """Of models that find mentions alone another measure tells than of those that link them, too."""
    project = site.project(root)
    [id] = uploaded(root, project, 1)
    [stream] = draw_documents(site.store, project, root.user, 1, strategy="random").assignments
    curve = []
    for number in range(5):
        root.command(stream, "create", parts=[[0, 4]], concepts=[f"X:{number}"], ms=60_000)
        with site.store.write() as db:
            measure = "recognition.strict.f1" if number < 3 else "strict.f1"
            metrics = {"measure": measure, "measures": {measure: {"value": 0.5}}}
            add_model(db, project, "models/x", last_number(db), set(), metrics=metrics)
        curve.append(root.get(f"/projects/{project}/stopping")["signals"][-1]["numbers"]["points"])
    assert (id, curve) == (id, [1, 2, 3, 1, 2])
