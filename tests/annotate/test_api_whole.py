"""The loop over HTTP: two annotators, a curator, another workbench; and nobody sees a peer's open work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from linnet.annotate.api.access import ACCESS, PREFIX
from linnet.annotate.api.app import routes_of
from tests.annotate.api import Person, Site, listen
from tests.annotate.desk import AGAIN, FITS, GUESSES, TEXT
from tests.annotate.test_api_access import path_of

TAINT = "TAINT:4711"


def taint(person: Person, stream: int) -> None:
    """Leave a mark wherever a decision can leave one."""
    made = person.command(
        stream, "create", f"{TAINT}.m", parts=[list(AGAIN)], types=[TAINT], concepts=[TAINT], kb=TAINT
    )
    assert TAINT in json.dumps(made)
    person.command(stream, "link", f"{TAINT}.m", concepts=[], nil="not in KB")
    person.command(stream, "comment", text=f"{TAINT} comment")
    person.command(stream, "link", f"{TAINT}.m", concepts=[TAINT])


def answers(person: Person, ids: dict[str, Any]) -> str:
    """Return what every route answers somebody, with everything that can be put into its path."""
    paths = [f"/projects/{ids['project']}/exports/{format}" for format in ("jsonl", "pubtator", "bioc", "texoo")]
    paths.append(f"/projects/{ids['project']}/assignments?mine=false")
    for key in ACCESS:
        method, route = key.split()
        if method == "GET" and not route.endswith("/stream"):
            paths.append(path_of(route, ids))
    told = [person.ask("GET", path, None).text for path in paths]
    command = {"commands": [person.made("done")]}
    headers = {"If-Match": '"0"'}
    told.append(
        person.ask("POST", f"/assignments/{ids['assignment']}/commands", None, json=command, headers=headers).text
    )
    return "\n".join(told)


@pytest.mark.slow
def test_blind_work_is_nowhere_before_both_are_done(site: Site, root: Person) -> None:
    project = site.project(root)
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    lead, viewer = site.member(root, project, "curator"), site.member(root, project, "viewer")
    [doc] = root.post(f"/projects/{project}/pastes", {"text": TEXT})["added"]
    site.predict(project, doc, *GUESSES)
    given = {"documents": [doc], "users": [alice.user, bob.user, lead.user]}
    hers, his, leads = root.post(f"/projects/{project}/assignments", given)["assignments"]
    job = root.post(f"/projects/{project}/jobs", {"kind": "export"}, 202)["id"]
    ids = {"project": project, "document": doc, "assignment": hers, "user": alice.user, "job": job, "model": "none"}
    told = listen(bob, project, during=lambda: taint(alice, hers))
    assert TAINT not in told
    assert TAINT not in listen(bob, project, last=0)
    watchers = (bob, viewer, lead)  # the curator has the document to do as well
    for person in watchers:
        sampled = person.ask("POST", f"/projects/{project}/samples", None, json={"n": 3}).text
        assert TAINT not in answers(person, ids) + sampled, person.name
    assert TAINT not in json.dumps(bob.work(his))
    assert TAINT in answers_of(alice, hers)
    for person in watchers:
        assert (
            person.ask("GET", f"/assignments/{hers}", 404).json()
            == person.ask("GET", "/assignments/99999999", 404).json()
        )
    alice.command(hers, "done")
    bob.ask("GET", f"/assignments/{hers}", 404)
    bob.command(his, "done")
    lead.command(leads, "done")
    for person in (bob, lead, viewer):
        assert TAINT in answers_of(person, hers)


def answers_of(person: Person, stream: int) -> str:
    return "".join(person.ask("GET", f"/assignments/{stream}{more}").text for more in ("", "/events"))


@pytest.mark.slow
def test_a_project_from_beginning_to_end(site: Site, root: Person) -> None:
    """Upload, sample, annotate, done, adjudicate, export, import elsewhere: the same decisions are there."""
    project = site.project(root, settings={"annotators": 2})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    curator = site.member(root, project, "curator")
    curator.post(f"/projects/{project}/guidelines", {"md": "# Findings, not diseases"})
    notes = [(f"note-{number}.txt", f"Note {number}. {TEXT}".encode()) for number in range(3)]
    docs = root.upload(project, *notes, ("bad.json", b"{"))
    assert (len(docs["added"]), [one["file"] for one in docs["errors"]]) == (3, ["bad.json"])
    for doc in docs["added"]:
        site.predict(project, doc)
    shift = len("Note 0. ")
    for person, concept in ((alice, "HP:0001250"), (bob, "HP:0004322")):
        for stream in person.post(f"/projects/{project}/samples", {"n": 3})["assignments"]:
            both = [[FITS.start + shift, FITS.end + shift]]
            person.command(stream, "create", parts=both, concepts=["HP:0001250"], types=["Phenotype"], surface="fits")
            person.command(stream, "create", parts=[[shift, shift + 8]], concepts=[concept], ms=900)
            person.command(stream, "done")
    [work] = curator.post(
        f"/projects/{project}/assignments",
        {"documents": docs["added"][:1], "users": [curator.user], "kind": "adjudicate"},
    )["assignments"]
    curator.command(work, "create", parts=[[shift, shift + 8]], concepts=["HP:0002069"])
    curator.command(work, "done")
    exported = curator.ask("GET", f"/projects/{project}/exports/jsonl").text.splitlines()
    concepts = [[one["concepts"] for one in json.loads(line)["mentions"]] for line in exported]
    settled = [["HP:0002069"], ["HP:0001250"]]  # the second one both readers had
    assert concepts == [settled, [["HP:0001250"]], [["HP:0001250"]]]  # the rest is in dispute
    log = curator.get(f"/projects/{project}/events?limit=1000")["events"]
    assert {one["guideline"] for one in log if one["assignment"]} == {1}
    assert {one["actor"] for one in log} == {root.name, alice.name, bob.name, curator.name}

    told = curator.get(f"/projects/{project}/agreement?samples=20")
    figures = told["overall"]["figures"]
    assert told["annotators"] == sorted([alice.name, bob.name])
    assert figures["span.exact.raw"]["value"] == 1  # they differ on the concept alone
    assert figures["link.nominal"]["value"] < 1
    assert curator.get(f"/projects/{project}/progress") == {"documents": 3, "mine": {}, "seen": {"done": 6}}

    history = curator.ask("GET", f"/projects/{project}/history")
    other = site.project(root)
    path = f"/projects/{other}/history"
    assert root.ask("POST", path, 201, content=history.content).json() == {
        "events": sum(bool(e["assignment"]) for e in log)
    }
    assert root.ask("POST", path, 201, content=history.content).json() == {"events": 0}
    assert folds(root, other) == folds(root, project)
    assert root.ask("GET", f"/projects/{other}/exports/jsonl").text.splitlines() == exported


def folds(person: Person, project: int) -> list[str]:
    """Return what stands in all assignments of a project, without numbers of the database."""
    shown = person.get(f"/projects/{project}/assignments?mine=false")["assignments"]
    works = [person.work(one["assignment"]) for one in shown]
    return sorted(
        json.dumps([work["kind"], work["user"], work["state"], work["decided"]], sort_keys=True) for work in works
    )


def test_the_description_names_every_route(site: Site) -> None:
    described = site.stranger().get(PREFIX + "/openapi.json").json()
    found = {
        f"{method.upper()} {path.removeprefix(PREFIX)}"
        for path, methods in described["paths"].items()
        for method in methods
    }
    assert found == {rule.replace(":path", "") for rule in ACCESS if not rule.startswith("HEAD ")}


def test_the_description_names_what_is_in_each_path(site: Site) -> None:
    described = site.stranger().get(PREFIX + "/openapi.json").json()
    for path, methods in described["paths"].items():
        wanted = set(re.findall(r"{(\w+)}", path))
        for method, what in methods.items():
            assert {one["name"] for one in what.get("parameters", ()) if one["in"] == "path"} == wanted, (method, path)


def test_requests_of_the_docs_have_the_fields_that_there_are(site: Site) -> None:
    page = (Path(__file__).parents[2] / "docs" / "workbench.md").read_text(encoding="utf-8")
    asked = re.findall(r"ask (?:-X (\w+) )?\"?\$API(/[^ \"?`]*)[^`\n]*? -d '([^']*)'", page)
    assert len(asked) > 10
    for method, path, body in asked:
        takes: list[Any] = [
            route.dependant.body_params[0].field_info.annotation
            for name, route in routes_of(site.app)
            if name == (method or "POST") and route.path_regex.match(PREFIX + path) and route.dependant.body_params
        ]
        assert takes, (method, path)
        TypeAdapter(takes[0]).validate_python(json.loads(body.replace("…", "1")))  # of an id that is cut short
