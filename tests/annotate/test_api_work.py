"""Work over HTTP: uploads, commands with their versions, samples, candidates, streams, exports."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from linnet.annotate.housekeeping import DOWNLOADS
from linnet.annotate.models import use
from linnet.annotate.runs import add_model
from linnet.annotate.tables import job as jobs
from linnet.annotate.worker import Worker
from linnet.data import Concept, Mention, Name
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.recipes.config import load
from linnet.recipes.saving import save
from linnet.vocabularies.update import update
from tests.annotate.api import Person, Site, listen
from tests.annotate.desk import AGAIN, DOC, FITS, GUESSES, TEXT
from tests.annotate.releases import a_release
from tests.conftest import CONCEPTS

PUBTATOR = "7|t|Seizures\n7|a|Fits and more.\n7\t0\t8\tSeizures\tPhenotype\tHP:0001250\n\n"
BROKEN = '{"id": "1", "text": "Seizures."}\n{"id": "2", "text": "Fits.", "mentions": [{"start": 0, "end": 90}]}\n'


@pytest.fixture(scope="module")
def named_kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The small knowledge base, by the name ``small`` under LINNET_HOME."""
    kb_folder().mkdir(parents=True, exist_ok=True)
    return build(CONCEPTS, kb_folder() / "small.kb", sources=[{"vocabulary": "test"}])


def packed(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


# --- uploads ---------------------------------------------------------------------------------------------------------


def test_good_documents_are_kept_and_faults_named(site: Site, root: Person) -> None:
    project = site.project(root)
    files = (("a.txt", b"Seizures."), ("b.pubtator", PUBTATOR.encode()), ("c.jsonl", BROKEN.encode()))
    told = root.upload(project, *files, ("d.xml", b"<odd/>"), ("e.txt", b"a\0b"), ("f.txt", b""))
    names = [one["ext_id"] for one in root.get(f"/projects/{project}/documents")["documents"]]
    assert names == ["a", "7", "1", "f"]
    assert {one["file"]: one["line"] for one in told["errors"]}["c.jsonl"] == 2
    assert {one["file"]: one["done"] for one in told["errors"]} == {
        "c.jsonl": "left out", "d.xml": "left out", "e.txt": "left out", "f.txt": "kept",
    }  # fmt: skip
    assert not any("/tmp" in one["message"] for one in told["errors"])
    assert root.get(f"/projects/{project}/uploads")["uploads"][0]["errors"] == told["errors"]


def test_the_same_bytes_twice_add_nothing(site: Site, root: Person) -> None:
    project = site.project(root)
    first = root.upload(project, ("b.pubtator", PUBTATOR.encode()))
    again = root.upload(project, ("b.pubtator", PUBTATOR.encode()))
    assert (len(first["added"]), again["added"], again["there"]) == (1, [], 1)
    pasted = [root.post(f"/projects/{project}/pastes", {"text": "Fits 🧠."}) for _ in range(2)]
    assert [len(one["added"]) for one in pasted] == [1, 0]


def test_archives_are_unpacked_with_care(site: Site, root: Person) -> None:
    project = site.project(root)
    archive = packed(**{"x/1.txt": "Seizures.", "y/1.txt": "Fits.", "z/2.pubtator": PUBTATOR})
    assert len(root.upload(project, ("notes.zip", archive))["added"]) == 3
    names = {one["ext_id"] for one in root.get(f"/projects/{project}/documents")["documents"]}
    assert names == {"notes.zip/x/1", "notes.zip/y/1", "7"}
    for bad in (packed(**{"../out.txt": "a"}), b"PK\x03\x04 no zip", packed(**{"bomb.txt": "a" * 10})[:-9]):
        told = root.upload(project, ("bad.zip", bad))
        assert (told["added"], len(told["errors"])) == ([], 1)


def test_files_of_brat_come_in_pairs_whatever_their_names(site: Site, root: Person) -> None:
    project = site.project(root)
    pair = (("n.txt", b"Seizures."), ("n.ann", b"T1\tPhenotype 0 8\tSeizures\n"))
    told = root.upload(project, *pair, ("../../etc/passwd", b"Fits."), ("a\nb.txt", b"Short stature."))
    assert len(told["added"]) == 3, told


def test_an_upload_in_a_format_that_is_none(site: Site, root: Person) -> None:
    project = site.project(root)
    root.upload(project, ("a.txt", b"Seizures."), status=422, format="pubtatr")
    root.ask("POST", f"/projects/{project}/uploads", 422, data={"format": "text"})
    root.upload(project, ("a.txt", b" " * 3_000_000), status=413)


def test_documents_come_by_the_page_and_can_be_erased(site: Site, root: Person) -> None:
    project = site.project(root)
    for number in range(5):
        root.post(f"/projects/{project}/pastes", {"text": f"Seizures {number}."})
    page = root.get(f"/projects/{project}/documents?limit=3")
    rest = root.get(f"/projects/{project}/documents?limit=3&after={page['next']}")
    assert (len(page["documents"]), len(rest["documents"]), rest["next"]) == (3, 2, None)
    place = f"/projects/{project}/documents/{page['documents'][0]['document']}"
    read = root.ask("GET", place)
    assert read.json()["text"] == "Seizures 0."
    root.ask("GET", place, 304, headers={"If-None-Match": read.headers["etag"]})
    root.ask("GET", f"/projects/{site.project(root)}/documents/{page['documents'][0]['document']}", 404)
    root.ask("DELETE", place, 204)
    erased = root.ask("GET", place, headers={"If-None-Match": read.headers["etag"]}).json()
    assert (erased["text"], erased["redacted"], erased["sha256"]) == ("", True, read.json()["sha256"])


# --- commands --------------------------------------------------------------------------------------------------------


@pytest.fixture
def work(site: Site, root: Person) -> tuple[Person, int, int]:
    """Alice with a document that a model has gone through: she, the project, the assignment."""
    project = site.project(root)
    alice = site.member(root, project, "annotator", "alice")
    [doc] = root.post(f"/projects/{project}/pastes", {"text": TEXT, "name": DOC.id})["added"]
    site.predict(project, doc, *GUESSES)
    given = {"documents": [doc], "users": [alice.user]}
    return alice, project, root.post(f"/projects/{project}/assignments", given)["assignments"][0]


def test_commands_have_a_version(work: tuple[Person, int, int]) -> None:
    alice, _, stream = work
    read = alice.ask("GET", f"/assignments/{stream}")
    assert read.headers["etag"] == '"0"'
    pred = {tuple(one["parts"][0]): one["id"] for one in read.json()["pred"]}
    accept = alice.made("accept", pred[tuple(FITS)])
    alice.send(stream, None, 428, accept)
    alice.send(stream, 99, 422, accept)
    done = alice.send(stream, 0, 200, accept)
    assert (done.json()["seq"], done.json()["rebased"], done.headers["etag"]) == (1, False, '"1"')
    assert alice.send(stream, 0, 200, accept).json() == done.json()  # a replay, whatever version it says
    other = alice.send(stream, 0, 200, alice.made("reject", pred[tuple(AGAIN)])).json()
    assert (other["seq"], other["rebased"]) == (2, True)
    link = alice.made("link", pred[tuple(FITS)], concepts=["HP:0004322"])
    conflict = alice.send(stream, 0, 409, link).json()
    assert (conflict["type"], conflict["seq"]) == ("/problems/conflict", 2)
    [three] = conflict["conflicts"]
    assert (three["command"], three["actor"]) == (link["id"], alice.name)
    assert {"yours", "theirs", "base"} <= three.keys()
    alice.send(stream, 2, 200, link)
    refused = alice.send(stream, 3, 422, alice.made("accept", "m:none")).json()
    assert refused["type"] == "/problems/refused"
    alice.send(stream, 3, 422, {**accept, "op": "reject"})
    events = alice.get(f"/assignments/{stream}/events?after=1&limit=1")
    assert ([one["seq"] for one in events["events"]], events["next"]) == ([2], 2)


def test_bulk_acts_are_counted_first(work: tuple[Person, int, int]) -> None:
    alice, _, stream = work
    all_sure = alice.made("accept_over", p=0.7)
    assert alice.post(f"/assignments/{stream}/preview", all_sure, 200) == {"changes": 2}
    assert alice.work(stream)["seq"] == 0
    assert len(alice.send(stream, 0, 200, all_sure).json()["mentions"]) == 2
    assert alice.command(stream, "undo")["seq"] == 4
    alice.post(f"/assignments/{stream}/preview", alice.made("spread", "m:none"), 422)


def test_nobody_writes_into_others_work(site: Site, root: Person, work: tuple[Person, int, int]) -> None:
    alice, project, stream = work
    curator, bob = site.member(root, project, "curator"), site.member(root, project, "annotator")
    assert curator.send(stream, 0, 403, alice.made("done")).json()["type"] == "/problems/not-yours"
    bob.send(stream, 0, 404, alice.made("done"))
    bob.post(f"/assignments/{stream}/preview", alice.made("done"), 404)
    doc = alice.work(stream)["document"]
    given = {"documents": [doc], "kind": "shared"}
    [shared] = curator.post(f"/projects/{project}/assignments", given)["assignments"]
    bob.command(shared, "create", parts=[list(FITS)])
    viewer = site.member(root, project, "viewer")
    curator.post(f"/projects/{project}/assignments", {"documents": [doc], "users": [viewer.user]}, 422)
    curator.post(f"/projects/{project}/assignments", {"documents": [doc]}, 422)
    curator.post(f"/projects/{project}/assignments", {"documents": [10**6], "users": [bob.user]}, 404)


# --- samples, knowledge bases, candidates ----------------------------------------------------------------------------


def test_what_others_were_given_since_is_in_no_queue(site: Site, root: Person) -> None:
    project = site.project(root, settings={"lease_hours": 1e-9})
    root.upload(project, ("a.txt", b"Seizures."))
    [mine] = root.post(f"/projects/{project}/samples", {"n": 1})["assignments"]
    assert [one["assignment"] for one in root.get(f"/projects/{project}/assignments")["assignments"]] == [mine]
    ada = site.member(root, project, "annotator")
    [hers] = ada.post(f"/projects/{project}/samples", {"n": 1})["assignments"]
    ada.command(hers, "done")
    assert root.get(f"/projects/{project}/assignments")["assignments"] == []
    progress = root.get(f"/projects/{project}/progress")
    assert (progress["mine"], progress["seen"]) == ({}, {"done": 1})
    assert root.command(mine, "done", status=422)["detail"].endswith("others have read it since: draw anew")


def test_what_was_erased_is_in_no_queue_and_no_count(site: Site, root: Person) -> None:
    project = site.project(root)
    docs = root.upload(project, ("a.txt", b"Seizures."), ("b.txt", b"Fits."), ("c.txt", b"Ague."))["added"]
    given = root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [root.user]})["assignments"]
    root.command(given[1], "done")
    for id in docs[:2]:
        root.ask("DELETE", f"/projects/{project}/documents/{id}", 204)
    assert [one["assignment"] for one in root.get(f"/projects/{project}/assignments")["assignments"]] == given[2:]
    counts = {"documents": 1, "mine": {"open": 1}, "seen": {"open": 1}}
    assert root.get(f"/projects/{project}/progress") == counts
    refused = root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [root.user]}, 422)
    assert refused["detail"] == f"the text of document {docs[0]} was erased"


def test_samples_are_leased(site: Site, root: Person) -> None:
    project = site.project(root, settings={"annotators": 1})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    for number in range(5):
        [doc] = root.post(f"/projects/{project}/pastes", {"text": f"Seizures {number}."})["added"]
        site.predict(project, doc)
    first = alice.post(f"/projects/{project}/samples", {"n": 3, "seed": 1})
    assert (first["strategy"], len(first["assignments"]), first["cold_start"]["links_left"]) == ("stratified", 3, 50)
    second = bob.post(f"/projects/{project}/samples", {"n": 3})
    assert len(second["assignments"]) == 2
    assert bob.post(f"/projects/{project}/samples", {"n": 3})["assignments"] == []
    bob.post(f"/projects/{project}/samples", {"strategy": "best"}, 422)
    mine = alice.get(f"/projects/{project}/assignments")["assignments"]
    assert [one["assignment"] for one in mine] == first["assignments"]
    assert all(one["lease"] for one in mine)
    assert "random" not in json.dumps([mine, alice.work(first["assignments"][0])])


@pytest.mark.slow
def test_two_read_what_two_should_read(site: Site, root: Person) -> None:
    project = site.project(root, settings={"annotators": 2, "lease_hours": 1e-9})
    alice, bob, carol = (site.member(root, project, "annotator", name) for name in ("alice", "bob", "carol"))
    root.post(f"/projects/{project}/pastes", {"text": "Seizures."})
    [a], [b] = (one.post(f"/projects/{project}/samples", {"n": 9})["assignments"] for one in (alice, bob))
    for person, stream in ((alice, a), (bob, b)):
        person.command(stream, "create", parts=[[0, 8]])
    assert carol.post(f"/projects/{project}/samples", {"n": 9})["assignments"] == []


def test_search_and_tree(root: Person, named_kb: KnowledgeBase) -> None:
    assert "small" in root.get("/kb")["names"]
    version = root.get("/kb/small")["version"]
    assert root.get(f"/kb/{version}")["types"]["Neurology"] == 2
    found = root.get(f"/kb/{version}/search", params={"q": "seizure", "types": ["Neurology"]})
    assert found["hits"][0] == {
        "id": "HP:0001250", "name": "Seizure", "matched": "Seizure", "tier": "exact",
        "types": ["Phenotype", "Neurology"], "used": 0, "above": ["Phenotypic abnormality"],
        "definition": "An event of abnormal electrical activity in the brain.",
    }  # fmt: skip
    below = root.get(f"/kb/{version}/search", params={"q": "seizure", "under": ["HP:0001250"]})["hits"]
    assert {one["id"] for one in below} == {"HP:0001250", "HP:0002069"}
    root.ask("GET", f"/kb/{version}/search", 422, params={"q": "seizure", "types": ["Neurologie"]})
    old = root.get(f"/kb/{version}/concepts/HP:0009999")
    assert (old["id"], old["children"], old["parents"][0]["id"]) == ("HP:0001250", 1, "HP:0000118")
    tree = root.get(f"/kb/{version}/concepts/HP:0000118/children", params={"limit": 2})
    assert (len(tree["children"]), tree["next"]) == (2, 2)
    root.ask("GET", f"/kb/{version}/concepts/X:9", 404)


def test_candidates_of_a_fresh_span(site: Site, root: Person, named_kb: KnowledgeBase) -> None:
    project = site.project(root, kb="small")
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "A short finger."})["added"]
    ask = {"document": doc, "parts": [[2, 14]], "limit": 3}
    answer = root.post(f"/projects/{project}/candidates", ask, 200)
    assert answer["kb"] == named_kb.version
    assert answer["candidates"][0]["id"] == "HP:0009381"
    assert len(answer["candidates"]) <= 3
    root.post(f"/projects/{project}/candidates", {**ask, "parts": [[2, 140]]}, 422)
    root.post(f"/projects/{site.project(root)}/candidates", ask, 409)
    root.post(f"/projects/{site.project(root, kb='small')}/candidates", ask, 404)


def test_coordinations_are_taken_apart(site: Site, root: Person, named_kb: KnowledgeBase) -> None:
    ask = {"params": {"text": "short finger and thumb"}}
    for project in (site.project(root, kb="small"), site.project(root)):
        found = root.get(f"/projects/{project}/conjuncts", **ask)["readings"]
        assert [[one["words"] for one in way] for way in found] == [["short finger", "short thumb"]]
        assert found[0][1]["parts"] == [[0, 5], [17, 22]]
    assert root.get(f"/projects/{project}/conjuncts", params={"text": "seizures"}) == {"readings": []}
    root.ask("GET", f"/projects/{project}/conjuncts", 422)
    site.person("carol").ask("GET", f"/projects/{project}/conjuncts", 404, **ask)


def test_concepts_whose_ids_hold_slashes_are_found(site: Site, root: Person) -> None:
    kb_folder().mkdir(parents=True, exist_ok=True)
    concepts = [Concept("X/1", (Name("Gout"),)), Concept("http://ex.org/2", (Name("Ague"),), parents=("X/1",))]
    path = f"/kb/{build(concepts, kb_folder() / 'slashes.kb').version}/concepts"
    assert root.get(f"{path}/http:%2F%2Fex.org%2F2")["name"] == "Ague"
    assert root.get(f"{path}/X%2F1")["children"] == 1
    assert [one["id"] for one in root.get(f"{path}/X%2F1/children")["children"]] == ["http://ex.org/2"]
    root.ask("GET", f"{path}/X%2F2", 404)


def test_words_are_looked_for_in_other_open_documents(site: Site, root: Person, named_kb: KnowledgeBase) -> None:
    project = site.project(root, kb="small")
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    texts = (
        "Seizure, a 50% fall.",
        "One Seizure and a Seizure.",
        "Seizures alone.",
        "Done: Seizure.",
        "A 50% fall. 505 fall",
    )
    docs = [root.post(f"/projects/{project}/pastes", {"text": text})["added"][0] for text in texts]
    here, two, _, done, fall = root.post(
        f"/projects/{project}/assignments", {"documents": docs, "users": [alice.user]}
    )["assignments"]
    root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [bob.user]})
    alice.command(done, "done")
    made = alice.command(here, "create", parts=[[0, 7]], concepts=["HP:0001250"])
    seizure = made["mentions"][0]["id"]
    path = f"/assignments/{here}/elsewhere"
    [found] = alice.get(path, params={"mention": seizure})["documents"]
    assert (found["assignment"], found["changes"], found["before"], found["words"]) == (two, 2, "One ", "Seizure")
    alice.command(two, "spread", surface="Seizure", concepts=["HP:0001250"], types=["Sign"])
    assert alice.get(path, params={"mention": seizure}) == {"documents": []}
    made = alice.command(here, "create", parts=[[11, 19]], concepts=[])
    [found] = alice.get(path, params={"mention": made["mentions"][0]["id"]})["documents"]  # % is no wildcard
    assert (found["assignment"], found["changes"]) == (fall, 1)
    made = alice.command(here, "create", parts=[[9, 10]])
    alice.ask("GET", path, 422, params={"mention": made["mentions"][0]["id"]})  # what it means is not known yet
    alice.ask("GET", path, 422, params={"mention": "m:none"})
    bob.ask("GET", path, 404, params={"mention": seizure})


def test_the_last_mentions_of_a_concept_are_shown(site: Site, root: Person, named_kb: KnowledgeBase) -> None:
    project = site.project(root, kb="small", settings={"annotators": 2})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    docs = [root.post(f"/projects/{project}/pastes", {"text": text})["added"][0] for text in ("A Seizure.", "No fits.")]
    first, second = root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [alice.user]})[
        "assignments"
    ]
    alice.command(first, "create", parts=[[2, 9]], concepts=["HP:0001250"])
    alice.command(second, "create", parts=[[3, 7]], concepts=["HP:0001250", "HP:0009381"])
    alice.command(first, "create", parts=[[0, 1]], concepts=["HP:0009381"])
    ask = {"params": {"concept": "HP:0001250"}}
    found = alice.get(f"/projects/{project}/mentions", **ask)
    assert found["count"] == 2
    assert [tuple(one.values()) for one in found["mentions"]] == [
        (second, docs_name(alice, project, docs[1]), "No ", "fits", "."),
        (first, docs_name(alice, project, docs[0]), "A ", "Seizure", "."),
    ]
    assert len(alice.get(f"/projects/{project}/mentions", params={**ask["params"], "limit": 1})["mentions"]) == 1
    assert alice.get(f"/projects/{project}/mentions", params={"concept": "HP:000125%"})["count"] == 0
    assert bob.get(f"/projects/{project}/mentions", **ask) == {"count": 0, "mentions": []}  # a blind project
    site.person("carol").ask("GET", f"/projects/{project}/mentions", 404, **ask)


def docs_name(person: Person, project: int, document: int) -> str:
    return str(person.get(f"/projects/{project}/documents/{document}")["ext_id"])


def test_mentions_have_the_types_of_their_concepts(site: Site, root: Person, named_kb: KnowledgeBase) -> None:
    """Who accepts a suggestion and who marks the same by hand agree."""
    project = site.project(root, kb="small", settings={"annotators": 2})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "Seizure."})["added"]
    types = tuple(named_kb["HP:0001250"].types)
    site.predict(project, doc, Mention(0, 7, types=types, concepts=("HP:0001250",), probability=0.9))
    given = {"documents": [doc], "users": [alice.user, bob.user]}
    hers, his = root.post(f"/projects/{project}/assignments", given)["assignments"]
    alice.command(hers, "accept", mention=alice.work(hers)["open"][0])
    bob.command(his, "create", parts=[[0, 7]])
    bob.command(his, "link", mention=bob.work(his)["decided"][0]["id"], concepts=["HP:0001250"])
    for person, stream in ((alice, hers), (bob, his)):
        assert [one["types"] for one in person.work(stream)["decided"]] == [list(types)]
        person.command(stream, "done")
    [line] = root.ask("GET", f"/projects/{project}/exports/jsonl").text.splitlines()
    assert [one["types"] for one in json.loads(line)["mentions"]] == [list(types)]


def test_types_follow_a_concept_unless_somebody_chose_them(site: Site, root: Person, named_kb: KnowledgeBase) -> None:
    project = site.project(root, kb="small")
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "Short finger, or hand."})["added"]
    given = {"documents": [doc], "users": [root.user]}
    [stream] = root.post(f"/projects/{project}/assignments", given)["assignments"]
    seizure, finger = (list(named_kb[id].types) for id in ("HP:0001250", "HP:0009381"))
    assert seizure != finger

    def types(command: Any) -> Any:
        return command["mentions"][0]["value"]["types"]

    made = root.command(stream, "create", parts=[[0, 12]], concepts=["HP:0001250"])
    key = made["mentions"][0]["id"]
    assert types(made) == seizure
    assert types(root.command(stream, "link", key, concepts=["HP:0009381"])) == finger
    assert types(root.command(stream, "link", key, concepts=["HP:0001250"], types=["Body part"])) == ["Body part"]
    assert types(root.command(stream, "link", key, concepts=["HP:0009381"])) == ["Body part"]


def test_concepts_that_nobody_has_are_refused(site: Site, root: Person, named_kb: KnowledgeBase) -> None:
    project = site.project(root, kb="small")
    docs = root.upload(project, ("a.pubtator", PUBTATOR.replace("HP:0001250", "X:7").encode()))["added"]
    [stream] = root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [root.user]})["assignments"]
    told = root.command(stream, "create", status=422, parts=[[0, 8]], concepts=["HP:9999999"])
    assert "no concept 'HP:9999999'" in told["detail"]
    root.command(stream, "create", status=422, parts=[[0, 8]], concepts=["HP:0001250"], alternatives=[["HP:9999999"]])
    root.command(stream, "create", status=422, parts=[[0, 8]], concepts=["HP:0001250"], nil="not in KB")
    root.command(stream, "create", parts=[[9, 13]], concepts=["X:7"])  # as in GOLD
    new = root.post(f"/kb/{named_kb.version}/propose?project={project}", {"name": "Hitchhiker toe"})["id"]
    root.post(f"/projects/{project}/proposals/{new}/decision", {"state": "accepted"}, 200)
    root.command(stream, "create", parts=[[14, 17]], concepts=["NEW:1"])
    (kb_folder() / "small.kb").rename(kb_folder() / "away.kb")
    try:
        root.command(stream, "create", parts=[[18, 22]], concepts=["HP:0001250"])  # nobody's work waits for a file
    finally:
        (kb_folder() / "away.kb").rename(kb_folder() / "small.kb")


@pytest.mark.parametrize(
    "said",
    [
        {"concepts": ["MESH:D1 (x)"]},
        {"concepts": [], "meta": {"nil": "CUI-less"}},
        {"concepts": ["X:1"], "types": ["T" * 300]},
        {"concepts": [f"X:{number}" for number in range(70)]},
    ],
)
def test_what_gold_says_is_looked_for_elsewhere_though_no_command_may_say_it(
    site: Site, root: Person, said: dict[str, Any]
) -> None:
    project = site.project(root)
    gold = {"id": "d", "text": "Seizures.", "mentions": [{"start": 0, "end": 8, "source": "gold", **said}]}
    docs = root.upload(project, ("d.jsonl", json.dumps(gold).encode()), ("e.txt", b"Other Seizures."))["added"]
    given = root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [root.user]})["assignments"]
    found = root.get(f"/assignments/{given[0]}/elsewhere", params={"mention": "g1"})["documents"]
    assert [(one["assignment"], one["words"], one["changes"]) for one in found] == [(given[1], "Seizures", 1)]
    [mark] = root.work(given[0])["gold"]
    assert mark["nil"] == ("other" if "meta" in said else "")
    root.command(given[0], "done")
    assert "CUI-less" in root.ask("GET", f"/projects/{project}/exports/jsonl").text or "meta" not in said


def test_long_mentions_are_looked_for_elsewhere(site: Site, root: Person) -> None:
    project = site.project(root)
    words = ("Seizures and fits " * 3000).strip()
    docs = root.upload(project, ("a.txt", words.encode()), ("b.txt", f"{words} and {words.lower()}".encode()))["added"]
    given = root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [root.user]})["assignments"]
    root.command(given[0], "create", "all", parts=[[0, len(words)]], concepts=["X:1"])
    found = root.get(f"/assignments/{given[0]}/elsewhere", params={"mention": "all"})["documents"]
    assert [(one["assignment"], one["changes"]) for one in found] == [(given[1], 1)]


def test_an_adjudication_begins_with_what_all_say(site: Site, root: Person) -> None:
    project = site.project(root, settings={"annotators": 2})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    curator = site.member(root, project, "curator")
    docs = root.upload(project, ("a.pubtator", PUBTATOR.encode()))["added"]
    given = {"documents": docs, "users": [alice.user, bob.user]}
    streams = root.post(f"/projects/{project}/assignments", given)["assignments"]
    judged = {"documents": docs, "users": [curator.user], "kind": "adjudicate"}
    root.post(f"/projects/{project}/assignments", judged, 422)  # nobody is done
    for person, stream, concept in zip((alice, bob), streams, ("HP:1", "HP:2"), strict=True):
        person.command(stream, "delete", mention="g1")
        root.post(f"/projects/{project}/assignments", judged, 422)  # somebody is in the middle of it
        person.command(stream, "create", parts=[[9, 13]], concepts=["HP:7"])
        person.command(stream, "create", parts=[[18, 22]], concepts=[concept])
        person.command(stream, "done")
    root.post(f"/projects/{project}/assignments", {**judged, "users": [alice.user]}, 422)  # no curator
    carol = site.member(root, project, "curator", "carol")
    root.post(f"/projects/{project}/assignments", {"documents": docs, "users": [carol.user]})
    told = root.post(f"/projects/{project}/assignments", {**judged, "users": [carol.user]}, 422)
    assert "still read" in told["detail"]  # what peers say would be shown to who reads it blindly
    [work] = root.post(f"/projects/{project}/assignments", judged)["assignments"]
    assert root.post(f"/projects/{project}/assignments", judged)["assignments"] == [work]
    decided = curator.work(work)["decided"]
    assert [(one["parts"], one["concepts"], one["state"]) for one in decided] == [
        ([[0, 8]], ["HP:0001250"], "deleted"), ([[9, 13]], ["HP:7"], "live"),
    ]  # fmt: skip
    curator.command(work, "undo")  # nothing of the curator's own
    assert curator.work(work)["decided"] == decided
    told = curator.command(work, "done", status=409)
    assert told["left"] == [{"parts": [[18, 22]], "text": told["left"][0]["text"]}]
    assert "readers still differ on" in told["detail"]
    assert curator.work(work)["state"] == "open"
    curator.command(work, "create", parts=[[18, 22]], concepts=["HP:2"])
    curator.command(work, "undo")
    curator.command(work, "redo")
    curator.command(work, "done")
    [line] = curator.ask("GET", f"/projects/{project}/exports/jsonl").text.splitlines()
    assert [one["concepts"] for one in json.loads(line)["mentions"]] == [["HP:7"], ["HP:2"]]
    events = curator.ask("GET", f"/projects/{project}/history").content
    elsewhere = site.project(root)
    root.ask("POST", f"/projects/{elsewhere}/history", None, content=events)
    assert root.ask("GET", f"/projects/{elsewhere}/exports/jsonl").text.splitlines() == [line]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["left", "views", "disabled"])
def test_who_can_work_no_more_holds_up_nobody(site: Site, root: Person, how: str) -> None:
    """A document that somebody began is drawn by another, and can be settled; who comes back is as blind as before."""
    project = site.project(root, settings={"annotators": 2})
    alice, bob, carol = (site.member(root, project, "annotator", name) for name in ("alice", "bob", "carol"))
    viewer = site.member(root, project, "viewer")
    [doc] = root.upload(project, ("a.txt", b"Seizures and fits."))["added"]
    given = {"documents": [doc], "users": [alice.user, bob.user]}
    hers, his = root.post(f"/projects/{project}/assignments", given)["assignments"]
    alice.command(hers, "create", parts=[[0, 8]], concepts=["HP:1"])
    alice.command(hers, "done")
    bob.command(his, "create", parts=[[13, 17]], concepts=["HP:1"])
    membership = f"/projects/{project}/members/{bob.user}"
    judged = {"documents": [doc], "users": [root.user], "kind": "adjudicate"}
    assert "still read" in root.post(f"/projects/{project}/assignments", judged, 422)["detail"]
    assert carol.post(f"/projects/{project}/samples", {"n": 1})["assignments"] == []
    viewer.ask("GET", f"/assignments/{hers}", 404)
    if how == "disabled":
        root.ask("PATCH", f"/users/{bob.user}", json={"disabled": True})
    elif how == "left":
        root.ask("DELETE", membership, 204)
    else:
        root.ask("PUT", membership, json={"role": "viewer"})
        bob.ask("GET", f"/assignments/{hers}", 404)
    viewer.ask("GET", f"/assignments/{hers}", 200)
    root.post(f"/projects/{project}/assignments", judged)
    [third] = carol.post(f"/projects/{project}/samples", {"n": 1})["assignments"]
    viewer.ask("GET", f"/assignments/{hers}", 404)
    carol.command(third, "done")
    if how == "disabled":
        root.ask("PATCH", f"/users/{bob.user}", json={"disabled": False})
    else:
        root.ask("PUT", membership, json={"role": "annotator"})
    if how != "disabled":  # whose tokens have ended
        bob.ask("GET", f"/assignments/{hers}", 404)
        bob.command(his, "done")
        bob.ask("GET", f"/assignments/{hers}", 200)


def test_an_adjudication_is_given_back_when_all_is_settled(site: Site, root: Person) -> None:
    """A decision at the place settles a difference, "no mention" too; what readers agree on settles nothing."""
    project = site.project(root, settings={"annotators": 2})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    docs = root.upload(project, ("a.txt", b"Seizures and fits, fever, or a rash."))["added"]
    given = {"documents": docs, "users": [alice.user, bob.user]}
    hers, his = root.post(f"/projects/{project}/assignments", given)["assignments"]
    for person, stream in ((alice, hers), (bob, his)):
        person.command(stream, "create", "both", parts=[[13, 17]], concepts=["HP:0001250"])
        person.command(stream, "create", "unsure", parts=[[31, 35]], concepts=["HP:0001250"])
    alice.command(hers, "create", "long", parts=[[0, 17]], concepts=["HP:0001250"])  # around what both have
    alice.command(hers, "unsure", "unsure")
    bob.command(his, "create", "fever", parts=[[19, 24]], concepts=["HP:0001250"])
    for person, stream in ((alice, hers), (bob, his)):
        person.command(stream, "done")
    judged = {"documents": docs, "users": [root.user], "kind": "adjudicate"}
    [work] = root.post(f"/projects/{project}/assignments", judged)["assignments"]

    def left() -> list[str]:
        return [one["text"] for one in root.command(work, "done", status=409)["left"]]

    assert left() == ["Seizures and fits", "fever", "rash"]
    root.command(work, "create", parts=[[19, 24]], concepts=["HP:0004322"])  # whatever its address
    root.command(work, "create", parts=[[31, 35]], concepts=["HP:0001250"])
    assert left() == ["Seizures and fits"]
    root.command(work, "create", "no", parts=[[0, 17]], concepts=["HP:0001250"])
    root.command(work, "delete", "no")
    root.command(work, "done")
    assert root.work(work)["state"] == "done"


def test_gold_that_nobody_touched_is_no_agreement(site: Site, root: Person) -> None:
    project = site.project(root, settings={"annotators": 2})
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    docs = root.upload(project, ("a.pubtator", PUBTATOR.encode()))["added"]
    given = {"documents": docs, "users": [alice.user, bob.user]}
    for person, stream, part in zip(
        (alice, bob), root.post(f"/projects/{project}/assignments", given)["assignments"], ([9, 13], [18, 22]),
        strict=True,
    ):  # fmt: skip
        person.command(stream, "create", parts=[part], concepts=["HP:7"])
        person.command(stream, "done")
    found = root.get(f"/projects/{project}/agreement")
    assert found["overall"]["figures"]["span.exact.raw"]["value"] == 0
    assert root.get(f"/projects/{project}/stopping")["missed_by_both"][0]["missed"] == 1  # 2 · 2 / 1 - 1 - 2


def test_recipes_are_listed_with_those_of_the_workbench(site: Site, root: Person) -> None:
    folder = site.folder / "recipes"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ward.toml").write_text('description = "Ours"\n[[pipeline]]\nuse = "dictionary"\n')
    (folder / "broken.toml").write_text("[[pipeline]]\nuse = 7\n")
    found = root.get("/recipes")
    assert found["ward"] == "Ours"
    assert "dictionary" in found
    assert "bc5cdr/tagger" not in found
    assert "broken.toml" in found["broken"]
    assert str(site.folder) not in json.dumps(found)


def test_a_knowledge_base_that_was_edited_is_opened_again(site: Site, root: Person) -> None:
    made = build([Concept("X:8", (Name("Ague"),))], kb_folder() / "edited.kb")
    project = site.project(root, kb="edited")
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "Acute gout."})["added"]
    before = root.get("/kb/edited")["version"]
    with KnowledgeBase.edit(made.path) as change:
        change.add(Concept("X:4711", (Name("Gout"),)))
    after = root.get("/kb/edited")["version"]
    assert after != before
    for version in (before, after):
        assert root.get(f"/kb/{version}/concepts/X:4711")["name"] == "Gout"
    ask = {"document": doc, "parts": [[6, 10]]}
    assert root.post(f"/projects/{project}/candidates", ask, 200)["candidates"][0]["id"] == "X:4711"
    made.close()
    made.path.unlink()


def test_a_project_follows_its_knowledge_base_to_the_next_release(site: Site, root: Person) -> None:
    made = build([Concept("X:8", (Name("Ague"),)), Concept("X:9", (Name("Gout"),))], kb_folder() / "ours.kb")
    concepts = (
        Concept("X:8", (Name("Fever"),)),
        Concept("Y:1", (Name("Gouty arthritis"),)),
        Concept("X:9", replaced_by="Y:1"),
    )
    release = build(concepts, kb_folder() / "ours-2.kb")
    project = site.project(root, kb="ours")
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "Gouty arthritis."})["added"]
    before = root.get("/kb/ours")["version"]
    assert root.get(f"/kb/{before}/concepts/X:9")["name"] == "Gout"
    update(made.path, release)
    assert root.get("/kb/ours")["version"] not in (before, release.version)
    assert root.get(f"/kb/{before}/concepts/X:9")["name"] == "Gouty arthritis"
    ask = {"document": doc, "parts": [[0, 15]]}
    assert root.post(f"/projects/{project}/candidates", ask, 200)["candidates"][0]["id"] == "Y:1"
    for one in (made, release):
        one.close()
        one.path.unlink()


def test_a_model_that_learned_from_a_peer_gives_no_candidates(
    site: Site, root: Person, named_kb: KnowledgeBase
) -> None:
    project = site.project(root, kb="small")
    alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "A short finger."})["added"]
    given = {"documents": [doc], "users": [alice.user, bob.user]}
    hers, his = root.post(f"/projects/{project}/assignments", given)["assignments"]
    save(load("dictionary", kb=named_kb), site.folder / "models" / "learned")
    with site.store.write() as db:
        model = add_model(db, project, "models/learned", 0, {(doc, bob.user)})
        use(db, project, model)
    ask, path = {"document": doc, "parts": [[2, 14]]}, f"/projects/{project}/candidates"
    assert bob.post(path, ask, 200)["model"] == model
    assert alice.post(path, ask, 200)["model"] is None
    for one, stream in ((alice, hers), (bob, his)):
        one.command(stream, "done")
    assert alice.post(path, ask, 200)["model"] == model


# --- jobs, streams, files --------------------------------------------------------------------------------------------


def test_jobs_are_asked_for_and_cancelled(site: Site, root: Person) -> None:
    project = site.project(root)
    job = root.post(f"/projects/{project}/jobs", {"kind": "train", "args": {"parts": "linker"}}, 202)
    assert (job["state"], job["args"]["parts"]) == ("queued", "linker")
    root.post(f"/projects/{project}/jobs", {"kind": "train", "args": {"part": "linker"}}, 422)
    root.ask("GET", f"/jobs/{job['id']}/file", 404)
    assert root.get(f"/jobs/{job['id']}") == job
    assert root.post(f"/jobs/{job['id']}/cancel", {}, 202)["state"] == "cancelled"
    assert [one["id"] for one in root.get(f"/projects/{project}/jobs")] == [job["id"]]
    root.post(f"/projects/{project}/jobs", {"kind": "mine-bitcoin"}, 422)
    root.ask("GET", "/models/none", 404)


def test_how_much_a_model_has_learned_from_is_not_for_blind_annotators(site: Site, root: Person) -> None:
    project = site.project(root)
    alice = site.member(root, project, "annotator")
    job = root.post(f"/projects/{project}/jobs", {"kind": "train"}, 202)["id"]
    card = {"recipe": "x", "documents": {"train": 4711}, "held_out": ["4711"]}
    metrics = {"mentions": 4711, "in_use": {"mentions": 4711}}
    with site.store.write() as db:
        model = add_model(db, project, "models/m", 0, set(), card=card, metrics=metrics)
        db.execute(jobs.update().where(jobs.c.id == job).values(log_tail="4711 documents to learn from"))
    paths = [f"/projects/{project}/jobs", f"/jobs/{job}", f"/projects/{project}/models", f"/models/{model}"]
    assert all("4711" in root.ask("GET", path).text for path in paths)
    assert not any("4711" in alice.ask("GET", path).text for path in paths)
    assert alice.get(f"/models/{model}")["card"] == {"recipe": "x"}
    root.ask("PATCH", f"/projects/{project}", json={"blind": False}, headers={"If-Match": '"0"'})
    assert all("4711" in alice.ask("GET", path).text for path in paths)


def test_a_measure_on_few_documents_has_no_interval(site: Site, root: Person) -> None:
    project = site.project(root)
    figure = {"strict.f1": {"value": 0.9, "low": 0.9, "high": 0.9}}
    for documents, ends in ((4, (None, None)), (5, (0.9, 0.9))):
        metrics = {"documents": documents, "measures": figure, "in_use": {"documents": documents, "measures": figure}}
        with site.store.write() as db:
            model = add_model(db, project, "models/m", 0, set(), metrics=metrics)
        told = root.get(f"/models/{model}")["metrics"]
        assert [one["measures"]["strict.f1"]["value"] for one in (told, told["in_use"])] == [0.9, 0.9]
        for one in (told, told["in_use"]):
            assert (one["measures"]["strict.f1"]["low"], one["measures"]["strict.f1"]["high"]) == ends


def test_an_export_is_for_who_asked_for_it(site: Site, root: Person) -> None:
    project = site.project(root)
    curator = site.member(root, project, "curator")
    root.post(f"/projects/{project}/pastes", {"text": "Fits."})
    job = curator.post(f"/projects/{project}/jobs", {"kind": "export", "args": {"format": "jsonl"}}, 202)["id"]
    while curator.get(f"/jobs/{job}")["state"] == "queued":
        assert Worker(site.store, site.folder, kinds=("export",)).work()
    assert curator.get(f"/jobs/{job}")["result"]["documents"] == 1
    assert "Fits." in curator.ask("GET", f"/jobs/{job}/file").text
    assert root.get(f"/jobs/{job}")["result"] is None
    root.ask("GET", f"/jobs/{job}/file", 404)


def test_an_upload_says_that_an_erased_text_does_not_come_back(site: Site, root: Person) -> None:
    project = site.project(root)
    [doc] = root.upload(project, ("a.txt", b"Fits."))["added"]
    root.ask("DELETE", f"/projects/{project}/documents/{doc}", 204)
    again = root.upload(project, ("a.txt", b"Fits."), ("b.txt", b"Gout."))
    assert (len(again["added"]), again["there"], again["there_otherwise"]) == (1, 0, [])
    [error] = again["errors"]
    assert (error["file"], error["done"]) == ("a", "left out")
    assert "was erased in this project" in error["message"]


def test_files_with_an_erased_text_are_gone(site: Site, root: Person) -> None:
    project = site.project(root)
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "Fits."})["added"]
    job = root.post(f"/projects/{project}/jobs", {"kind": "export"}, 202)["id"]
    while root.get(f"/jobs/{job}")["state"] == "queued":
        assert Worker(site.store, site.folder, kinds=("export",)).work()
    file = site.folder / root.get(f"/jobs/{job}")["result"]["file"]
    assert file.is_file()
    root.ask("DELETE", f"/projects/{project}/documents/{doc}", 204)
    root.ask("GET", f"/jobs/{job}/file", 404)
    assert not file.parent.exists()


def test_the_stream_tells_what_happens(site: Site, root: Person, work: tuple[Person, int, int]) -> None:
    alice, project, stream = work

    def happen() -> None:
        alice.command(stream, "create", parts=[list(FITS)])
        alice.command(stream, "comment", text="is this right?")
        root.post(f"/projects/{project}/jobs", {"kind": "predict"}, 202)
        alice.command(stream, "done")

    told = listen(alice, project, during=happen)
    assert told.startswith("retry: 2000\n\n")
    kinds = [line.removeprefix("event: ") for line in told.splitlines() if line.startswith("event: ")]
    assert set(kinds) == {"mention", "comment", "job", "assignment"}
    assert "is this right?" not in told  # events hold no text
    ids = ids_in(told)
    again = listen(alice, project, last=ids[0])
    assert ids_in(again) == ids[1:]
    assert "event: reset" not in again  # she sees the same assignments as before
    assert "event: reset" in listen(alice, project, last=int(ids[0].split("-")[0]))  # who knows what she saw then?
    assert "event: reset" in listen(alice, project, last=10**12)


def ids_in(told: str) -> list[str]:
    return [line[4:] for line in told.splitlines() if line.startswith("id: ")]


def test_a_stream_that_is_resumed_says_that_more_is_to_be_seen(
    site: Site, root: Person, work: tuple[Person, int, int]
) -> None:
    alice, project, stream = work
    bob = site.member(root, project, "annotator", "bob")
    [doc] = [one["document"] for one in root.get(f"/projects/{project}/documents")["documents"]]
    [his] = root.post(f"/projects/{project}/assignments", {"documents": [doc], "users": [bob.user]})["assignments"]
    told = listen(alice, project, during=lambda: alice.command(stream, "create", parts=[list(FITS)]))
    bob.command(his, "create", parts=[list(FITS)])
    assert "event: reset" not in listen(alice, project, last=ids_in(told)[-1])
    seq = root.ask("GET", f"/projects/{project}").headers["etag"]
    root.ask("PATCH", f"/projects/{project}", json={"blind": False}, headers={"If-Match": seq})
    told = listen(alice, project, last=ids_in(told)[-1])
    assert "event: reset" in told
    assert "event: reset" not in listen(alice, project, last=ids_in(told)[-1])


def test_the_stream_ends_with_the_membership(site: Site, root: Person, work: tuple[Person, int, int]) -> None:
    alice, project, _ = work
    told = listen(alice, project, during=lambda: root.ask("DELETE", f"/projects/{project}/members/{alice.user}", 204))
    assert "event: member" not in told
    alice.ask("GET", f"/projects/{project}/stream", 404)


@pytest.mark.parametrize("format", ["jsonl", "pubtator", "bioc", "texoo", "brat"])
def test_files_come_out_and_go_in_again(site: Site, root: Person, format: str) -> None:
    project, other = site.project(root), site.project(root)
    [doc] = root.upload(project, ("b.pubtator", PUBTATOR.encode()))["added"]
    [stream] = root.post(f"/projects/{project}/assignments", {"documents": [doc], "users": [root.user]})["assignments"]
    root.command(stream, "create", parts=[[9, 13]], types=["Phenotype"], concepts=["HP:0001250"])
    root.command(stream, "done")
    file = root.ask("GET", f"/projects/{project}/exports/{format}")
    assert list((site.folder / DOWNLOADS).iterdir()) == []  # what was sent is gone
    said: dict[str, Any] = {} if format == "brat" else {"format": format}
    name = file.headers["content-disposition"].split('"')[1]
    [added] = root.upload(other, (name, file.content), **said)["added"]
    [copy] = root.post(f"/projects/{other}/assignments", {"documents": [added], "users": [root.user]})["assignments"]
    spans = sorted(tuple(one["parts"][0]) for one in root.work(copy)["gold"])
    assert spans == [(0, 8), (9, 13)]
    assert {one["concepts"][0] for one in root.work(copy)["gold"]} == {"HP:0001250"}


def test_what_an_export_leaves_out_is_counted(site: Site, root: Person) -> None:
    project = site.project(root)
    root.post(f"/projects/{project}/pastes", {"text": "Fits."})
    header = root.ask("GET", f"/projects/{project}/exports/gsc").headers["linnet-left-out"]
    assert json.loads(header)


@pytest.mark.parametrize("name", ["ü/../x", "PMID:1", 'a<b>|"?*'])
def test_names_that_are_no_file_names_do_not_hold_up_brat(site: Site, root: Person, name: str) -> None:
    project = site.project(root)
    root.post(f"/projects/{project}/pastes", {"text": "Fits.", "name": name})
    file = root.ask("GET", f"/projects/{project}/exports/brat")
    other = site.project(root)
    root.upload(other, ("notes.zip", file.content))
    assert [one["ext_id"] for one in root.get(f"/projects/{other}/documents")["documents"]] == [name]


def test_readers_who_mean_the_same_agree_whatever_release_they_had(site: Site, root: Person) -> None:
    """One linked before the release, one after it: agreement, exports, adjudications, and hints take it as one."""
    with a_release(site, root, settings={"annotators": 2}) as (project, release):
        alice, bob = (site.member(root, project, "annotator", name) for name in ("alice", "bob"))
        [doc] = root.post(f"/projects/{project}/pastes", {"text": "Gout and ague."})["added"]
        given = {"documents": [doc], "users": [alice.user, bob.user]}
        hers, his = root.post(f"/projects/{project}/assignments", given)["assignments"]
        for person, stream, gout in ((alice, hers, "X:9"), (bob, his, "Y:1")):
            person.command(stream, "create", parts=[[0, 4]], concepts=[gout])
            person.command(stream, "create", parts=[[9, 13]], concepts=["X:8"])
            person.command(stream, "done")
            if person is alice:
                release()
        assert root.get(f"/projects/{project}/agreement")["overall"]["figures"]["link.nominal"]["value"] == 1.0
        [line] = root.ask("GET", f"/projects/{project}/exports/jsonl").text.splitlines()
        assert [one["concepts"] for one in json.loads(line)["mentions"]] == [["X:9"], ["X:8"]]
        judged = {"documents": [doc], "users": [root.user], "kind": "adjudicate"}
        [stream] = root.post(f"/projects/{project}/assignments", judged)["assignments"]
        assert len(root.work(stream)["decided"]) == 2
        root.command(stream, "done")  # nothing is left to settle
        ask = {"document": doc, "parts": [[0, 4]]}
        [used] = alice.post(f"/projects/{project}/candidates", ask, 200)["used"]
        assert (used["id"], used["name"], used["count"]) == ("Y:1", "Gout", 2)  # her own, and the adjudicated
        assert alice.get(f"/projects/{project}/mentions", params={"concept": "Y:1"})["count"] == 2


def test_what_a_proposal_has_become_is_what_is_compared_and_offered(
    site: Site, root: Person, named_kb: KnowledgeBase
) -> None:
    project = site.project(root, kb="small", settings={"annotators": 2})
    bob = site.member(root, project, "annotator", "bob")
    proposed = root.post(f"/kb/{named_kb.version}/propose?project={project}", {"name": "Hitchhiker toe"})
    decision = f"/projects/{project}/proposals/{proposed['id']}/decision"
    root.post(decision, {"state": "accepted"}, 200)
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "Hitchhiker toe, seizures."})["added"]
    given = {"documents": [doc], "users": [root.user, bob.user]}
    mine, his = root.post(f"/projects/{project}/assignments", given)["assignments"]
    for person, stream, concept in ((root, mine, "NEW:1"), (bob, his, "HP:0004322")):
        person.command(stream, "create", parts=[[0, 14]], concepts=[concept], types=["Phenotype"])
        person.command(stream, "create", parts=[[16, 24]], concepts=["HP:0001250"], types=["Phenotype"])
        person.command(stream, "done")

    def offered() -> Any:
        ask = {"document": doc, "parts": [[0, 14]]}
        return [(one["id"], one["name"]) for one in root.post(f"/projects/{project}/candidates", ask, 200)["used"]]

    def agreed() -> Any:
        [line] = root.ask("GET", f"/projects/{project}/exports/jsonl").text.splitlines()
        alpha = root.get(f"/projects/{project}/agreement")["overall"]["figures"]["link.nominal"]["value"]
        return len(json.loads(line)["mentions"]), alpha == 1.0

    assert (offered(), agreed()) == ([("NEW:1", "Hitchhiker toe")], (1, False))
    root.post(decision, {"state": "mapped", "concept": "HP:0004322"}, 200)
    assert (offered(), agreed()) == ([("HP:0004322", named_kb["HP:0004322"].name)], (2, True))
