"""What is refused when it is asked for, and what stays readable although a file of the server is gone."""

from __future__ import annotations

from typing import Any

import pytest

from linnet.home import kb_folder
from linnet.kb.build import build
from tests.annotate.api import Person, Site
from tests.conftest import CONCEPTS


@pytest.mark.parametrize(
    ("kind", "args", "status", "problem"),
    [
        ("train", {"recipe": "nope"}, 422, "there is no recipe 'nope': it neither comes with Linnet nor is it a file"),
        ("train", {"base": "m-none"}, 404, "has no model m-none"),
        ("predict", {"recipe": "nope"}, 422, "there is no recipe 'nope'"),
        ("predict", {"model": "m-none"}, 404, "has no model m-none"),
        ("predict", {"documents": [99999]}, 404, "has no document 99999"),
        ("export", {"format": "foo"}, 422, "no files of format 'foo' are written; there are jsonl"),
    ],
)
def test_jobs_that_cannot_be_done_do_not_wait(
    site: Site, root: Person, kind: str, args: dict[str, Any], status: int, problem: str
) -> None:
    project = site.project(root)
    answer = root.post(f"/projects/{project}/jobs", {"kind": kind, "args": args}, status)
    assert problem in answer["detail"]
    assert str(site.folder) not in answer["detail"]
    assert root.get(f"/projects/{project}/jobs") == []


def test_documents_and_formats_that_there_are(site: Site, root: Person) -> None:
    project = site.project(root)
    added = root.post(f"/projects/{project}/pastes", {"text": "Fits."})["added"]
    orders = (("predict", {"documents": added, "recipe": "dictionary"}), ("export", {"format": "history"}))
    for kind, args in orders:
        root.post(f"/projects/{project}/jobs", {"kind": kind, "args": args}, 202)


def test_a_project_whose_knowledge_base_is_gone_can_be_mended(site: Site, root: Person) -> None:
    kb_folder().mkdir(parents=True, exist_ok=True)
    file = kb_folder() / "passing.kb"
    build(CONCEPTS, file, sources=[{"vocabulary": "test"}])
    project = site.project(root, kb="passing")
    file.unlink()
    found = root.ask("GET", f"/projects/{project}")
    assert (found.json()["kb"], found.json()["kb_version"]) == ("passing", "")
    assert "cannot open the knowledge base passing: No such file" in found.json()["kb_problem"]
    refused = root.ask("PATCH", f"/projects/{project}", 422, json={"kb": "passing"}, headers={"If-Match": '"0"'})
    for answer in (found, refused):
        assert str(kb_folder()) not in answer.text
    agreement = root.get(f"/projects/{project}/agreement")
    assert (agreement["kb"], agreement["annotators"]) == ("", [])
    assert len(root.get(f"/projects/{project}/conjuncts?text=breast and ovarian cancer")["readings"]) > 0
    headers = {"If-Match": found.headers["etag"]}
    mended = root.ask("PATCH", f"/projects/{project}", json={"kb": ""}, headers=headers).json()
    assert (mended["kb"], mended["kb_problem"]) == ("", "")


def test_a_change_without_a_version_is_told_how_to_name_it(site: Site, root: Person) -> None:
    answer = root.ask("PATCH", f"/projects/{site.project(root)}", 428, json={"blind": False})
    assert answer.json()["detail"] == "say which version you have read: send its ETag in the header If-Match"
