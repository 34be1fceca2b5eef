"""What leads of a team look at: agreement, the log of events, files that are taken home; and signing out."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from linnet.corpora import read
from tests.annotate.bench_of_jobs import make_kb
from tests.browser.workbench.site import Person, Site
from tests.browser.workbench.tab import Tab
from tests.browser.workbench.test_document import give, live, predict

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ILL = "ills"  # the knowledge base
SAID = ("heart pain", "liver failure", "brain swelling", "skin cancer", "heart pain", "lung cancer")
NOTE = ("six", " ".join(f"She had {one}." for one in SAID))
OTHER = {1: "kidney failure", 4: "heart failure"}  # what the second reader thinks of two of them
FORMATS = {"jsonl": "jsonl", "bioc": "bioc", "pubtator": "pubtator", "texoo": "texoo"}


@pytest.fixture
def ills(site: Site) -> None:
    """The knowledge base under the server's LINNET_HOME."""
    path = Path(os.environ["LINNET_HOME"]) / "kb" / f"{ILL}.kb"
    if not path.exists():
        make_kb(path)


@pytest.fixture
def read_by_two(me: Person, ills: None) -> tuple[int, list[int]]:
    """A project whose one document two have read, and their assignments; they differ in two of six links."""
    project = me.project(NOTE, kb=ILL, settings={"annotators": 2})
    predict(me, project)
    people = [me.invite(project, name=name) for name in ("Alice", "Bob")]
    [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    work = me.give(project, [document], *people)
    version = me.ask("GET", f"/projects/{project}")["kb_version"]
    for person, assignment, differs in zip(people, work, ({}, OTHER), strict=True):
        found = person.ask("GET", f"/assignments/{assignment}")
        for number, one in enumerate(sorted(found["pred"], key=lambda one: one["parts"])):
            decided: dict[str, Any] = {"op": "accept"}
            if number in differs:
                hits = person.ask("GET", f"/kb/{version}/search?{urlencode({'q': differs[number]})}")["hits"]
                decided = {"op": "link", "concepts": [hits[0]["id"]]}
            give(person, assignment, {**decided, "mention": one["id"], "kb": version, "seen": {"run": found["run"]}})
        give(person, assignment, {"op": "done"})
    return project, work


def alpha(pairs: Sequence[tuple[str, str]]) -> float:
    """Return Krippendorff's α of two readers who have judged all units, for nominal values."""
    counts = Counter(value for pair in pairs for value in pair)
    n = sum(counts.values())
    expected = 1 - sum(count * (count - 1) for count in counts.values()) / (n * (n - 1))
    return 1 - sum(one != other for one, other in pairs) / len(pairs) / expected


def test_agreement_is_what_it_is_by_hand(me: Person, mine: Tab, read_by_two: tuple[int, list[int]]) -> None:
    project, work = read_by_two
    links = [
        [one["concepts"][0] for one in sorted(live(me, assignment), key=lambda one: one["parts"])]
        for assignment in work
    ]
    pairs = list(zip(*links, strict=True))
    assert sum(one != other for one, other in pairs) == len(OTHER)
    page = mine.open(f"#/p/{project}/team")
    page.get_by_role("tab", name="Agreement").press("Enter")
    shown = page.locator(".headline div").filter(has_text="Concepts, α nominal").locator("b")
    shown.wait_for()
    assert shown.inner_text() == f"{alpha(pairs):.2f}".lstrip("0")
    assert page.locator(".headline div").filter(has_text="Same place (F1)").locator("b").inner_text() == "1.00"
    page.get_by_role("cell", name="liver failure", exact=True).wait_for()  # what was confused with what
    assert mine.faults() == []
    mine.picture("agreement")


def test_the_log_says_who_did_what_and_cannot_be_changed(
    me: Person, mine: Tab, read_by_two: tuple[int, list[int]]
) -> None:
    project, _ = read_by_two
    page = mine.open(f"#/p/{project}/team")
    page.get_by_role("tab", name="Event log").press("Enter")
    table = page.locator("table.log")
    table.wait_for()
    assert table.locator("button, input, select, a, [contenteditable]").count() == 0
    bob = next(one["name"] for one in me.ask("GET", f"/projects/{project}/members") if one["name"].startswith("Bob"))
    page.get_by_label("Person").select_option(bob)
    page.get_by_label("What was done").select_option(label="linked")
    rows = table.locator("tbody tr")
    assert rows.count() == len(OTHER)
    first = rows.last.inner_text()  # the newest comes first
    assert bob in first
    assert re.search(r"“liver failure”.*a suggestion.*kidney failure.*kb [0-9a-f]{8}", first, re.DOTALL)
    assert mine.faults() == []
    mine.picture("log")


def folds(me: Person, project: int) -> list[str]:
    """Return what stands in all assignments of a project, without numbers of the database."""
    shown = me.ask("GET", f"/projects/{project}/assignments?mine=false")["assignments"]
    works = [me.ask("GET", f"/assignments/{one['assignment']}") for one in shown]
    return sorted(json.dumps([one["kind"], one["state"], one["decided"]], sort_keys=True) for one in works)


def taken(page: Page, button: str, folder: Path) -> Path:
    """Press a button that saves a file, and return it."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).press("Enter")
    path = folder / str(download.value.suggested_filename)
    download.value.save_as(path)
    return path


def test_all_is_taken_home_and_brought_in_elsewhere(
    me: Person, mine: Tab, read_by_two: tuple[int, list[int]], tmp_path: Path
) -> None:
    project, _ = read_by_two
    page = mine.open(f"#/p/{project}")
    mine.page.on("filechooser", lambda _: None)
    agreed = {text for number, text in enumerate(SAID) if number not in OTHER}
    for option, format in FORMATS.items():
        page.get_by_role("region", name="Export").get_by_label("Format").select_option(option)
        path = taken(page, "Save the documents", tmp_path)
        [doc] = read(path, format=format)
        assert agreed <= {doc.surface(one) for one in doc.mentions or ()}, format
    history = taken(page, "Save the whole history", tmp_path)
    other = me.project(kb=ILL)
    page = mine.open(f"#/p/{other}")
    with page.expect_event("filechooser") as chooser:
        page.get_by_role("button", name="Bring in a history…").press("Enter")
    chooser.value.set_files(history)
    page.get_by_role("dialog").get_by_text("What is there already is left as it is").wait_for()
    page.keyboard.press("Enter")
    mine.wait_until_said("events added")
    assert folds(me, other) == folds(me, project)
    assert mine.faults() == []


def test_who_has_signed_out_is_shown_nothing_by_the_back_button(
    me: Person, mine: Tab, read_by_two: tuple[int, list[int]]
) -> None:
    project, _ = read_by_two
    page = mine.open(f"#/p/{project}/team")
    mine.open(f"#/p/{project}")
    page.get_by_role("heading", level=1).wait_for()
    page.get_by_role("button", name="Sign out").press("Enter")
    page.get_by_role("heading", name="Sign in to Linnet").wait_for()
    page.go_back()
    page.wait_for_timeout(1000)
    page.get_by_role("heading", name="Sign in to Linnet").wait_for()
    seen: Any = page.content()
    assert NOTE[0] not in page.locator("body").inner_text()
    assert "Alice" not in seen
