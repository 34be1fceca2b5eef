"""Concepts that the knowledge base lacks: who proposes, who decides, who learns of it, and what they are good for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from linnet.annotate.api.access import PREFIX
from linnet.annotate.people import change_settings
from linnet.annotate.proposals import decide, proposals_seen, propose
from linnet.annotate.worker import Worker
from linnet.codec import dumps
from linnet.data import Document, Mention
from linnet.errors import DataError
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from tests.annotate.api import Person, Site
from tests.annotate.desk import Desk
from tests.conftest import CONCEPTS


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    """The small knowledge base, by the name ``small`` under LINNET_HOME."""
    kb_folder().mkdir(parents=True, exist_ok=True)
    return build(CONCEPTS, kb_folder() / "small.kb", sources=[{"vocabulary": "test"}])


@pytest.fixture
def project(site: Site, root: Person, kb: KnowledgeBase) -> int:
    return site.project(root, kb="small")


TAIL = {"name": "Curled tail", "types": ["Phenotype"], "parent": "HP:0000118", "note": "Seen in mice."}


def put(person: Person, kb: KnowledgeBase, project: int, status: int = 201, **body: Any) -> Any:
    return person.ask("POST", f"/kb/{kb.version}/propose?project={project}", status, json=TAIL | body).json()


def say(person: Person, project: int, id: str, state: str, status: int = 200, **more: str) -> Any:
    return person.post(f"/projects/{project}/proposals/{id}/decision", {"state": state, **more}, status)


def test_from_proposal_to_export(site: Site, root: Person, kb: KnowledgeBase, project: int) -> None:
    alice, curator = site.member(root, project, "annotator", "alice"), site.member(root, project, "curator")
    made = put(alice, kb, project)
    assert (made["state"], made["new"], made["by"], made["parent"]) == ("open", "", alice.name, "HP:0000118")
    search = f"/kb/{kb.version}/search?q=tail&late=false&project={project}"
    assert alice.get(search)["hits"] == []
    names = f"/kb/{kb.version}/concepts?id=NEW:1&project={project}"
    unknown = alice.ask("GET", names)
    # a browser that kept this would not learn the name
    assert (unknown.json(), unknown.headers["cache-control"]) == ([], "no-store")
    assert say(curator, project, made["id"], "accepted", why="yes")["new"] == "NEW:1"
    assert [one["name"] for one in alice.get(names)] == ["Curled tail"]
    [hit] = alice.get(search)["hits"]
    assert (hit["id"], hit["tier"], hit["types"], hit["above"]) == ("NEW:1", "all words", ["Phenotype"], [])
    card = alice.get(f"/kb/{kb.version}/concepts/NEW:1?project={project}")
    assert (card["name"], card["definition"], card["parents"][0]["id"]) == ("Curled tail", TAIL["note"], "HP:0000118")
    alice.ask("GET", f"/kb/{kb.version}/concepts/NEW:1", 404)
    site.person().ask("GET", f"/kb/{kb.version}/concepts/NEW:1?project={project}", 404)
    [event] = [one for one in root.get(f"/projects/{project}/events")["events"] if one["kind"] == "concept"]
    assert (event["actor"], event["after"]) == (curator.name, {"concept": "NEW:1", "now": ""})

    [doc] = root.post(f"/projects/{project}/pastes", {"text": "A curled tail."})["added"]
    given = {"documents": [doc], "users": [alice.user]}
    [work] = root.post(f"/projects/{project}/assignments", given)["assignments"]
    alice.command(work, "create", parts=[[2, 13]], concepts=["NEW:1"], types=["Phenotype"])
    alice.command(work, "done")
    for format in ("jsonl", "pubtator", "bioc", "texoo"):
        assert "NEW:1" in root.ask("GET", f"/projects/{project}/exports/{format}").text
    assert alice.get(search)["hits"][0]["used"] == 1
    job = root.post(f"/projects/{project}/jobs", {"kind": "export", "args": {"format": "pubtator"}}, 202)["id"]
    while root.get(f"/jobs/{job}")["state"] == "queued":
        assert Worker(site.store, site.folder, kinds=("export",)).work()
    [new] = root.get(f"/jobs/{job}")["result"]["new_concepts"]
    assert (new["id"], new["name"], new["replaced_by"]) == ("NEW:1", "Curled tail", None)

    assert say(root, project, made["id"], "mapped", concept="HP:0009999")["concept"] == "HP:0001250"
    assert alice.get(search)["hits"] == []
    assert alice.get(f"/kb/{kb.version}/concepts/NEW:1?project={project}")["id"] == "HP:0001250"


def test_what_is_refused(site: Site, root: Person, kb: KnowledgeBase, project: int) -> None:
    alice, viewer = site.member(root, project, "annotator"), site.member(root, project, "viewer")
    for wrong in ({"name": ""}, {"name": "?!"}, {"types": ["Phenotyp"]}, {"name": "a\0b"}, {"more": 1}):
        put(alice, kb, project, 422, **wrong)
    put(alice, kb, project, 404, parent="HP:1")
    put(viewer, kb, project, 403)
    put(site.person(), kb, project, 404)
    alice.ask("POST", f"/kb/{kb.version}/propose", 404, json=TAIL)
    assert site.stranger().post(f"{PREFIX}/kb/{kb.version}/propose?project={project}", json=TAIL).status_code == 401
    made = put(alice, kb, project)
    assert put(alice, kb, project, name=" curled  TAIL")["id"] == made["id"]
    say(alice, project, made["id"], "accepted", 403)
    say(root, project, "none", "accepted", 404)
    say(root, site.project(root), made["id"], "accepted", 404)
    say(root, project, made["id"], "mapped", 422)
    say(root, project, made["id"], "accepted", 422, concept="HP:0001250")
    say(root, project, made["id"], "mapped", 404, concept="HP:1")
    say(root, project, made["id"], "declined", why="too rare")
    say(root, project, made["id"], "accepted", 422)
    [mine] = alice.get(f"/projects/{project}/proposals")
    assert (mine["state"], mine["why"]) == ("declined", "too rare")
    bare = site.project(root)
    other = put(root, kb, bare, parent="")
    say(root, bare, other["id"], "mapped", 422, concept="HP:0001250")


def test_nobody_learns_what_peers_propose(site: Site, root: Person, kb: KnowledgeBase, project: int) -> None:
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    ids = [put(alice, kb, project, name=name)["id"] for name in ("First", "Second", "Third")]
    his = put(bob, kb, project, name="His")["id"]
    path = f"/projects/{project}/proposals"
    assert [one["id"] for one in bob.get(path)] == [his]
    assert {one["id"] for one in root.get(path)} == {*ids, his}
    say(root, project, ids[0], "declined")
    say(root, project, ids[1], "mapped", concept="HP:0001250")
    assert say(root, project, ids[2], "accepted")["new"] == "NEW:1"  # no number tells of the others
    seen = {one["id"]: one for one in bob.get(path)}
    assert seen.keys() == {his, ids[2]}
    assert alice.name not in json.dumps(seen)
    log = bob.get(f"/projects/{project}/events")["events"]
    assert [one["after"] for one in log if one["kind"] == "concept"] == [{"concept": "NEW:1", "now": ""}]


def test_numbers_are_given_as_they_are_accepted(desk: Desk) -> None:
    bob = desk.colleague()
    with desk.store.write() as db:
        made = [propose(db, desk.project, desk.user, name, kb="v")["id"] for name in ("a", "b")]
        assert [decide(db, desk.project, id, desk.user, "accepted")["number"] for id in reversed(made)] == [1, 2]
        with pytest.raises(DataError, match="accepted already"):
            decide(db, desk.project, made[0], desk.user, "declined")
        hers = propose(db, desk.project, desk.user, "c", kb="v")["id"]
        assert hers not in {one["id"] for one in proposals_seen(db, desk.project, bob.user)}
        change_settings(db, desk.project, 0, {"blind": False})
        assert hers in {one["id"] for one in proposals_seen(db, desk.project, bob.user)}


def test_an_id_that_uploaded_gold_has_is_given_to_no_other_concept(
    site: Site, root: Person, kb: KnowledgeBase, project: int
) -> None:
    """``NEW:1`` of another project came with a file: it is not what is accepted here."""
    mentions = (Mention(0, 4, source="gold", concepts=("X:1",), alternatives=(("NEW:1",),)),)
    file = dumps(Document("a", "Toes.", mentions=mentions)).encode()
    assert root.upload(project, ("a.jsonl", file))["errors"] == []
    assert say(root, project, put(root, kb, project)["id"], "accepted")["new"] == "NEW:2"
    other = site.project(root, kb="small")
    assert say(root, other, put(root, kb, other)["id"], "accepted")["new"] == "NEW:1"
    told = root.upload(other, ("a.jsonl", file), ("b.txt", b"NEW:1"))
    [error] = told["errors"]
    assert (error["file"], error["done"], len(told["added"])) == ("a", "kept", 2)
    assert "GOLD names NEW:1, which is 'Curled tail' in this project" in error["message"]
