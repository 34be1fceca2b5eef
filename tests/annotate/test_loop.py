"""The whole loop over HTTP on BC5CDR: two annotators and a curator, two rounds, a model between them, exports, imports.

``LINNET_LOOP=full`` trains the tagger as the recipe bc5cdr/tagger says, which takes long. Other tests
do more then, too.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from linnet.annotate.store import open_store
from linnet.annotate.worker import Worker
from linnet.corpora import write
from linnet.corpora.splits import split_documents
from linnet.data import Document
from linnet.recipes.config import read_recipe
from tests.annotate.api import Person, Site
from tests.annotate.loop import Reader, exported, known_in, one_each, said
from tests.annotate.test_api_whole import folds

COUNT = 100
BOTH, ALONE, SECOND = 10, 14, 4  # documents of two readers, of one of them, of each in the second round
RECIPE = """
[[pipeline]]
use = "tagger"
encoder = "{encoder}"

[[pipeline]]
use = "ngram"
k = 16

[[pipeline]]
use = "lexical"

[[pipeline]]
use = "decide"

[[train]]
part = "tagger"
epochs = {epochs}
batch = 8
lr = {rate}

[[train]]
part = "ngram"

[[train]]
part = "lexical"

[[train]]
part = "decide"
"""
FIGURES = ("span.exact.raw", "link.nominal", "end_to_end.nominal")


@dataclass
class Loop:
    """A project of three people on real documents."""

    site: Site
    root: Person
    project: int
    alice: Reader
    bob: Reader
    curator: Reader
    docs: list[int]

    @property
    def readers(self) -> tuple[Reader, Reader]:
        return self.alice, self.bob

    def work_off(self) -> None:
        """Do all jobs there are."""
        worker = Worker(self.site.store, self.site.folder)
        while worker.work():
            pass

    def job(self, kind: str, **args: Any) -> Any:
        asked = self.root.post(f"/projects/{self.project}/jobs", {"kind": kind, "args": args}, 202)
        self.work_off()
        job = self.root.get(f"/jobs/{asked['id']}")
        assert job["state"] == "succeeded", job["log_tail"]
        return job

    def give(self, docs: list[int], *users: Person, kind: str = "annotate") -> list[int]:
        body = {"documents": docs, "users": [one.user for one in users], "kind": kind}
        return list(self.curator.person.post(f"/projects/{self.project}/assignments", body)["assignments"])


def uploaded(docs: list[Document], path: Path) -> tuple[str, bytes]:
    write([doc.bare() for doc in docs], path, format="jsonl")
    return path.name, path.read_bytes()


@pytest.fixture
def loop(tmp_path: Path, data: Path) -> Any:
    kb = read_recipe("bc5cdr/lexical").open_kb(data=data)
    assert kb is not None
    gold = [
        replace(doc, mentions=one_each([known_in(kb, one) for one in doc.mentions or ()]))
        for doc in split_documents("bc5cdr", split="train", data=data)
    ][:COUNT]
    store = open_store(tmp_path / "site")
    site = Site(store, tmp_path / "site")
    root = site.person("root", admin=True)
    project = site.project(root, kb=kb.path.stem, settings={"annotators": 2, "untrained": "dictionary"})
    people = [site.member(root, project, role, name) for role, name in
              (("annotator", "alice"), ("annotator", "bob"), ("curator", "carol"))]  # fmt: skip
    half = COUNT // 2
    files = [uploaded(gold[:half], tmp_path / "one.jsonl"), uploaded(gold[half:], tmp_path / "two.jsonl")]
    added = root.upload(project, *files, ("broken.xml", b"<collection>"), ("empty.jsonl", b""))
    assert len(added["added"]) == COUNT
    assert {fault["file"] for fault in added["errors"]} >= {"broken.xml"}
    assert root.upload(project, *files)["added"] == []
    known = {doc.id: doc for doc in gold}
    concepts = sorted({id for doc in gold for one in doc.mentions or () for id in one.concepts or ()})
    readers = [
        Reader(person, project, known, number < 2, random.Random(number), concepts)
        for number, person in enumerate(people)
    ]
    alice, bob, carol = readers
    yield Loop(site, root, project, alice, bob, carol, added["added"])
    store.close()


def recipe_in(folder: Path, words: list[str]) -> dict[str, str]:
    """Return what to train: a tagger that is small enough for a test, or the one that is published."""
    if os.environ.get("LINNET_LOOP") == "full":
        return {"recipe": "bc5cdr/tagger"}
    from tests.tiny_models import tiny_bert

    encoder = tiny_bert(folder / "tiny", words=words, layers=1, size=64)
    recipes = folder / "recipes"
    recipes.mkdir()
    (recipes / "small.toml").write_text(RECIPE.format(encoder=encoder, epochs=12, rate=3e-3))
    return {"recipe": "small"}


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")  # of the terminologies
def test_two_rounds_with_a_model_between(loop: Loop, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert loop.job("predict")["result"]["documents"] == COUNT
    first_round(loop)
    words = sorted({word.lower() for doc in loop.alice.gold.values() for word in doc.text.split() if word.isalpha()})
    trained = loop.job("train", **recipe_in(loop.site.folder, words))["result"]
    if trained["worse"]:  # than the dictionary, from so few documents: somebody may decide otherwise
        loop.root.post(f"/models/{trained['model']}/use", {}, 202)
        loop.work_off()
    models = loop.root.get(f"/projects/{loop.project}/models")
    assert models["in_use"] == trained["model"]
    assert loop.root.get(f"/models/{trained['model']}")["metrics"]["measures"]
    second_round(loop, trained["model"])
    agreement_and_adjudication(loop)
    exports_and_imports(loop, tmp_path)


def first_round(loop: Loop) -> None:
    for reader in loop.readers:
        asked = reader.person.post(f"/projects/{loop.project}/samples", {"n": 1})
        assert asked["strategy"] == "stratified"  # the project is cold
        reader.annotate(asked["assignments"])
    free = [doc for doc in loop.docs if doc not in busy(loop)]
    loop.give(free[:BOTH], *(reader.person for reader in loop.readers))
    for number, reader in enumerate(loop.readers):
        reader.annotate(open_work(reader))
        begin = BOTH + number * ALONE
        assert reader.annotate(loop.give(free[begin : begin + ALONE], reader.person)) > ALONE
        assert reader.models == {None}


def open_work(reader: Reader) -> list[int]:
    mine = reader.person.get(f"/projects/{reader.project}/assignments")["assignments"]
    return [one["assignment"] for one in mine if one["state"] == "open"]


def busy(loop: Loop) -> set[int]:
    shown = loop.curator.person.get(f"/projects/{loop.project}/assignments?mine=false&limit=1000")["assignments"]
    return {one["document"] for one in shown}


def second_round(loop: Loop, model: str) -> None:
    for reader in loop.readers:
        reader.models.clear()
        reader.annotate(reader.draw(SECOND))
        assert reader.models <= {model, None}  # documents that a peer has taught it show the run before
    assert model in loop.alice.models | loop.bob.models


def agreement_and_adjudication(loop: Loop) -> None:
    before = loop.curator.person.get(f"/projects/{loop.project}/agreement?samples=50")
    figures = before["overall"]["figures"]
    assert 0.5 < figures["span.exact.raw"]["value"] < 1
    assert 0.5 < figures["link.nominal"]["value"] < 1
    assert len(before["annotators"]) == 2
    shown = loop.curator.person.get(f"/projects/{loop.project}/assignments?mine=false&limit=1000")["assignments"]
    twice = [one["document"] for one in shown]
    double = sorted({id for id in twice if twice.count(id) == 2})
    assert len(double) >= BOTH
    loop.curator.annotate(loop.give(double, loop.curator.person, kind="adjudicate"))


def exports_and_imports(loop: Loop, folder: Path) -> None:
    lead, gold = loop.curator.person, loop.curator.gold
    whole = {doc.id: doc for doc in exported(lead, loop.project, "jsonl", folder / "x.jsonl")}
    assert len(whole) == COUNT
    shown = lead.get(f"/projects/{loop.project}/assignments?mine=false&limit=1000")["assignments"]
    judged = {one["ext_id"] for one in shown if one["kind"] == "adjudicate"}
    assert all(said(whole[id]) == said(gold[id]) for id in judged)  # the curator makes no mistakes
    for format, suffix in (("bioc", "xml"), ("pubtator", "txt"), ("texoo", "json")):
        found = {doc.id: doc for doc in exported(lead, loop.project, format, folder / f"x.{suffix}")}
        assert set(found) == set(whole)
        assert all(spans(found[id]) == spans(whole[id]) for id in whole), format
        again = loop.site.project(loop.root)
        sent = (folder / f"x.{suffix}").read_bytes()
        read_in = loop.root.ask(
            "POST", f"/projects/{again}/uploads", 201, files=[("files", (f"x.{suffix}", sent))], data={"format": format}
        ).json()
        assert (len(read_in["added"]), read_in["errors"]) == (COUNT, []), format
    elsewhere(loop, folder)


def spans(doc: Document) -> set[Any]:
    return {(places, concepts) for places, _, concepts in said(doc)}


def elsewhere(loop: Loop, folder: Path) -> None:
    """Bring the history into another workbench: the same decisions stand there."""
    history = loop.curator.person.ask("GET", f"/projects/{loop.project}/history").content
    store = open_store(folder / "elsewhere")
    try:
        site = Site(store, folder / "elsewhere")
        root = site.person("root", admin=True)
        project = site.project(root)
        path = f"/projects/{project}/history"
        events = sum(len(stream["events"]) for line in history.splitlines() for stream in json.loads(line)["streams"])
        assert root.ask("POST", path, 201, content=history).json() == {"events": events}
        assert root.ask("POST", path, 201, content=history).json() == {"events": 0}
        assert named(root, project) == named(loop.root, loop.project)
        assert root.ask("GET", path).content == history
        there = exported(root, project, "jsonl", folder / "there.jsonl")
        here = exported(loop.root, loop.project, "jsonl", folder / "here.jsonl")
        assert there == [without_assertions(doc) for doc in here]  # those are of predictions, which stay where they are
    finally:
        store.close()


def without_assertions(doc: Document) -> Document:
    return replace(doc, mentions=doc.mentions and tuple(replace(one, assertion="") for one in doc.mentions))


def named(person: Person, project: int) -> list[str]:
    """Return what stands in all assignments, with the names of their authors."""
    names = {one["user"]: one["name"] for one in person.get("/users")}
    found = [json.loads(one) for one in folds(person, project)]
    return sorted(json.dumps([kind, names[user], *rest], sort_keys=True) for kind, user, *rest in found)
