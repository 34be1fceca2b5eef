"""Damaged files of every format, from the fuzzer's corpus, as uploads: refused or read in part, and nothing is lost."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tools.fuzz.mutations import mutated
from tools.fuzz.seeds import Files, Target, targets

from linnet.corpora.formats import READABLE
from tests.annotate.api import Person, Site

KNOWN = {target.name: target for target in targets()}
FILES = [KNOWN[name] for name in READABLE if name in KNOWN]
ARCHIVES = [target for name, target in KNOWN.items() if name.startswith("archive/")]
NAMES = ("../../etc/passwd", "a\x00b.txt", "C:\\x\\y.xml", "." * 300, "Ü" * 300 + ".json", "", "con.txt", "x.tar.gz")


def sent(person: Person, project: int, files: Files, format: str | None) -> int:
    """Upload files, and return the status, which may not be a mistake of the server's."""
    parts = [("files", (name, content)) for name, content in files.items()]
    data = {} if format is None else {"format": format}
    answer = person.ask("POST", f"/projects/{project}/uploads", None, files=parts, data=data)
    assert answer.status_code == 201 or 400 <= answer.status_code < 500, answer.text
    told = answer.json()
    assert answer.status_code == 201 or {"type", "title", "status"} <= set(told)
    assert not any("/tmp" in one["message"] for one in told.get("errors", ()) if "message" in one)
    return int(answer.status_code)


def standing(person: Person, project: int) -> dict[int, str]:
    """Return the hashes of all documents, by number."""
    listed = person.get(f"/projects/{project}/documents?limit=1000")["documents"]
    return {one["document"]: one["sha256"] for one in listed}


def fuzzed(site: Site, root: Person, target: Target, format: str | None, count: int) -> None:
    project = site.project(root)
    before = root.post(f"/projects/{project}/pastes", {"text": "Seizures."})["added"]
    kept: dict[int, str] = {}
    for number in range(count):
        rng = random.Random(f"upload {target.name} {number}")
        files = mutated(rng.choice(target.seeds), rng)
        sent(root, project, files, format if rng.random() < 0.7 else None)
        now = standing(root, project)
        assert kept.items() <= now.items()  # whatever comes, what was there stays
        kept = now
    assert set(before) <= kept.keys()
    shown = [root.get(f"/projects/{project}/documents/{id}") for id in list(kept)[:20]]
    assert all(len(one["text"]) == one["length"] for one in shown)
    assert root.ask("GET", f"/projects/{project}/exports/jsonl", 200).text.count("\n") == len(kept)


def test_no_format_is_left_out() -> None:
    assert {target.name for target in FILES} == set(READABLE)
    assert len(ARCHIVES) > 3


@pytest.mark.parametrize("target", FILES, ids=lambda target: target.name)
def test_damaged_files(site: Site, root: Person, target: Target) -> None:
    fuzzed(site, root, target, target.name, 4)


@pytest.mark.slow
@pytest.mark.parametrize("target", [*FILES, *ARCHIVES], ids=lambda target: target.name)
def test_many_damaged_files(site: Site, root: Person, target: Target) -> None:
    fuzzed(site, root, target, target.name if target in FILES else None, 30)


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_meant_to_break_out(site: Site, root: Person, name: str) -> None:
    project = site.project(root)
    sent(root, project, {name: b"Seizures."}, None)
    assert len(standing(root, project)) <= 1


def test_half_a_surrogate_pair_in_one_document_of_a_file(site: Site, root: Person) -> None:
    project = site.project(root)
    odd: list[dict[str, Any]] = [
        {"meta": {"ward": "\ud800"}},
        {"mentions": [{"start": 0, "end": 4, "concepts": ["X:\ud800"], "source": "pred"}]},
    ]
    lines = [json.dumps({"id": f"n{number}", "text": "Fits.", **more}) for number, more in enumerate([*odd, {}])]
    told = root.upload(project, ("notes.jsonl", "\n".join(lines).encode()), format="jsonl")
    assert [one["message"][:24] for one in told["errors"]] == [f"document 'n{n}' has half a" for n in (0, 1)]
    [id] = told["added"]
    assert root.get(f"/projects/{project}/documents/{id}")["ext_id"] == "n2"
