"""Files that are taken home over HTTP: what stands in them beside the mentions."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from linnet.annotate.api.workbench import Workbench
from linnet.annotate.tables import assignment, now
from linnet.annotate.worker import Worker
from linnet.data import Mention
from linnet.errors import KnowledgeBaseError
from linnet.home import kb_folder
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from tests.annotate.api import Person, Site
from tests.conftest import CONCEPTS


@pytest.fixture(scope="module")
def called() -> KnowledgeBase:
    """The small knowledge base, by the name ``exported`` under LINNET_HOME."""
    kb_folder().mkdir(parents=True, exist_ok=True)
    return build(CONCEPTS, kb_folder() / "exported.kb", sources=[{"vocabulary": "test"}])


@pytest.mark.slow
@pytest.mark.parametrize("format", ["jsonl", "pubtator", "brat", "xlsx"])
def test_documents_of_one_id_are_told_apart(site: Site, root: Person, format: str) -> None:
    project = site.project(root)
    [first] = root.upload(project, ("a.txt", b"Seizures one."))["added"]
    again = root.upload(project, ("a.txt", b"Fits two."), ("b.txt", b"Fever."))
    second, other = again["added"]
    assert again["same_id"] == [second]
    assert root.upload(project, ("c.txt", b"Ague."))["same_id"] == []
    answer = root.ask("GET", f"/projects/{project}/exports/{format}")
    assert json.loads(answer.headers["linnet-left-out"])["document ids changed"] == 1
    name = answer.headers["content-disposition"].partition("filename=")[2].strip('"')
    copy = site.project(root)
    root.upload(copy, (name, answer.content))
    names = {one["ext_id"].rpartition("/")[2] for one in root.get(f"/projects/{copy}/documents")["documents"]}
    assert names == {"a", "a#2", "b", "c"}
    for id in (first, other):
        root.ask("DELETE", f"/projects/{project}/documents/{id}", 204)
    answer = root.ask("GET", f"/projects/{project}/exports/{format}")
    assert "document ids changed" not in json.loads(answer.headers["linnet-left-out"])


def test_a_table_for_spreadsheets_has_names_and_assertions(
    site: Site, root: Person, called: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = site.project(root, kb="exported")
    [doc] = root.post(f"/projects/{project}/pastes", {"text": "No short finger."})["added"]
    site.predict(project, doc, Mention(3, 15, concepts=("HP:0009381",), assertion="negated"))
    [stream] = root.post(f"/projects/{project}/assignments", {"documents": [doc], "users": [root.user]})["assignments"]
    [one] = root.work(stream)["pred"]
    root.command(stream, "accept", one["id"])
    root.command(stream, "create", parts=[[9, 15]], concepts=["HP:0001250"])

    def row(text: str) -> tuple[str, str]:
        content = root.ask("GET", f"/projects/{project}/exports/csv").content.decode("utf-8-sig")
        [found] = [one for one in csv.DictReader(content.splitlines()) if one["text"] == text]
        return found["names"], found["assertion"]

    assert [row("short finger"), row("finger")] == [(called["HP:0009381"].name, "negated"), ("Seizure", "")]
    line = root.ask("GET", f"/projects/{project}/exports/jsonl").text
    assert [one.get("assertion") for one in json.loads(line)["mentions"]] == ["negated", None]

    def gone(_bench: Any, name: str) -> KnowledgeBase:
        raise KnowledgeBaseError(f"{name} is gone")

    monkeypatch.setattr(Workbench, "kb_named", gone)
    assert row("short finger") == ("", "negated")  # decisions can be taken home all the same


def test_what_somebody_drew_and_never_began_is_free_in_a_copy_too(site: Site, root: Person) -> None:
    project, copy = site.project(root), site.project(root)
    alice = site.member(root, project, "annotator", "alice")
    root.post(f"/projects/{project}/pastes", {"text": "Ague."})
    [stream] = alice.post(f"/projects/{project}/samples", {"n": 1})["assignments"]
    with site.store.write() as db:
        db.execute(assignment.update().where(assignment.c.id == stream).values(lease=now(db, -1.0)))
    history = root.ask("GET", f"/projects/{project}/history").json()
    root.ask("POST", f"/projects/{copy}/history", 201, json=history)
    assert len(root.post(f"/projects/{copy}/samples", {"n": 1})["assignments"]) == 1
    history["streams"][0]["lease"] = "tomorrow"
    said = root.ask("POST", f"/projects/{copy}/history", 422, json=history).text
    assert "lease" in said


def test_a_job_writes_decisions_while_their_knowledge_base_is_away(site: Site, root: Person) -> None:
    made = build(CONCEPTS, kb_folder() / "away.kb", sources=[{"vocabulary": "test"}])
    project = site.project(root, kb="away")
    root.post(f"/projects/{project}/pastes", {"text": "Ague."})
    made.close()
    made.path.unlink()
    id = root.post(f"/projects/{project}/jobs", {"kind": "export", "args": {"format": "csv"}}, 202)["id"]
    worker = Worker(site.store, site.folder, kinds=("export",))
    while worker.work():
        pass
    job = root.get(f"/jobs/{id}")
    assert (job["state"], "without the names of concepts" in job["log_tail"]) == ("succeeded", True)


@pytest.mark.parametrize("part", ["bytes=5-9", "bytes=9999-", "bytes=9-5"])
def test_a_file_made_anew_is_sent_whole_and_does_not_stay(site: Site, root: Person, part: str) -> None:
    """A part of it might be of another file than the parts before: somebody may have decided meanwhile."""
    project = site.project(root)
    root.upload(project, ("a.txt", b"Seizures."))
    path = f"/projects/{project}/exports/jsonl"
    whole = root.ask("GET", path)
    again = root.ask("GET", path, 200, headers={"Range": part})
    assert (again.content, again.headers["accept-ranges"]) == (whole.content, "none")
    assert not list((site.folder / "downloads").iterdir())
