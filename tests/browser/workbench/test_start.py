"""The first hour of a team: the link of the first start, a project, people, good and broken files, work for two."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.kb import KnowledgeBase
from tests.annotate.served import serving
from tests.browser.workbench.site import KB, PASSWORD, Person, Site
from tests.browser.workbench.tab import Tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GOOD, DRAWN = 30, 10
SENTENCES = ("Seizures since birth.", "Short stature.", "Cleft palate was repaired.", "No fits this year.")


@pytest.fixture
def first(chromium: Browser, kb: KnowledgeBase, tmp_path: Path) -> Iterator[Site]:
    """A server that was started for the first time."""
    kbs = Path(os.environ["LINNET_HOME"]) / "kb"
    kbs.mkdir(parents=True, exist_ok=True)
    shutil.copy(kb.path, kbs / f"{KB}.kb")
    with serving(tmp_path / "site") as (_, port, link):
        yield Site(port, link)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Thirty notes, a file of no text, and one that breaks off in its second line."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(GOOD - 1):
        words = " ".join(SENTENCES[: 1 + number % len(SENTENCES)])
        (folder / f"note-{number:02}.txt").write_text(f"Visit {number}. {words}\n", encoding="utf-8")
    (folder / "latin.txt").write_bytes("Größe: short stature.\n".encode("latin-1"))
    last = json.dumps({"id": "from-jsonl", "text": "Seizures at night."})
    (folder / "broken.jsonl").write_text(f'{last}\n{{"id": "half", "text": "Sei\n', encoding="utf-8")
    return sorted(folder.iterdir())


def set_password(page: Page) -> None:
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Projects", level=1).wait_for()


def invite(page: Page, name: str) -> str:
    """Invite somebody on the page of projects; return the address of the link."""
    page.get_by_label("Invite somebody by name").fill(name)
    page.keyboard.press("Enter")
    field = page.get_by_label(f"Link for {name}")
    field.wait_for()
    link: str = field.input_value()
    page.get_by_role("button", name="I have it").press("Enter")
    return link


def make_project(tab: Tab) -> int:
    tab.intercept("**/api/v1/kb", lambda route: route.fulfill(json={"names": [KB]}))  # other tests may have made more
    page = tab.page
    page.get_by_role("button", name="New project").press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Make the project").press("Enter")
    dialog.get_by_text("Give the project a name.").wait_for()
    dialog.get_by_label("Name", exact=True).fill("Ward 7")
    page.wait_for_function("kb => document.querySelector('#new-kb').value === kb", arg=KB)  # the only one
    dialog.get_by_text("10 concepts").wait_for()
    for kb, recipe in (("hpo", "own_letters"), (KB, "own_lexical")):
        dialog.get_by_label("Knowledge base").fill(kb)
        dialog.get_by_label("Knowledge base").press("Tab")
        page.wait_for_function("recipe => document.querySelector('#new-recipe').value === recipe", arg=recipe)
    dialog.get_by_label("Knowledge base").fill("nosuch")
    dialog.get_by_label("Knowledge base").press("Tab")
    dialog.get_by_text("The server has no knowledge base “nosuch”").wait_for()
    dialog.get_by_label("Knowledge base").fill(KB)
    dialog.get_by_label("Knowledge base").press("Tab")
    dialog.get_by_text("✓").wait_for()
    dialog.locator("summary").press("Enter")
    dialog.get_by_label("People who read each document").fill("2")
    dialog.get_by_role("button", name="Make the project").press("Enter")
    page.wait_for_url("**/#/p/*")
    page.get_by_role("heading", name="There are no documents yet").wait_for()
    return int(page.url.rpartition("/")[2])


def upload(page: Page, files: list[Path]) -> str:
    """Upload files as the key does, and return what is said of them."""
    with page.expect_event("filechooser") as chooser:
        page.keyboard.press("u")
    chooser.value.set_files(files)
    report = page.locator(".upload-results")
    report.wait_for()
    told: str = report.inner_text()
    return told


def test_from_the_first_link_to_documents_of_two(chromium: Browser, first: Site, files: list[Path]) -> None:
    tab = Tab(chromium, first)
    tab.page.on("filechooser", lambda _: None)  # from the first on: without it, choosers of a busy browser get lost
    page = tab.open(f"#link={first.link}")
    set_password(page)
    links = [invite(page, name) for name in ("Alice", "Bob")]
    assert tab.faults() == []
    project = make_project(tab)

    told = upload(page, files)
    assert f"{GOOD} new" in told
    assert re.search(r"broken\.jsonl.*line 2", told)
    assert re.search(r"latin\.txt", told)
    assert tab.faults() == []
    tab.picture("upload-broken")
    page.get_by_role("button", name="Close this report").press("Enter")
    again = upload(page, files)
    assert "0 new" in again
    assert f"{GOOD} were there already" in again

    page = tab.open(f"#/p/{project}/team")
    for name in ("Alice", "Bob"):
        page.get_by_label("Add a person").fill(name)
        page.keyboard.press("Enter")
        page.get_by_role("rowheader", name=name).wait_for()
    assert tab.faults() == []

    read: list[set[int]] = []
    others: list[Tab] = []
    for name, link in zip(("Alice", "Bob"), links, strict=True):
        other = Tab(chromium, first)
        others.append(other)
        page = other.open(f"#{link.partition('#')[2]}")
        set_password(page)
        page.get_by_role("link", name="Ward 7").press("Enter")
        page.get_by_role("heading", name="Ward 7", level=1).wait_for()
        page.get_by_role("button", name="Get documents").wait_for()
        page.locator(".queue-panel:focus").wait_for()
        page.keyboard.press("d")
        other.wait_until_said(f"{DRAWN} new documents")
        other.wait_until_said("by chance")  # there is no model that could choose
        assert page.get_by_role("button", name="Invite").count() == 0
        work = other.context.request.get(f"/api/v1/projects/{project}/assignments").json()["assignments"]
        read.append({one["document"] for one in work})
        order = [one["ext_id"] for one in work]  # what the server drew first is read first
        assert page.locator(".queue-list .doc-name").all_inner_texts() == order
        assert name in page.locator("header.top").inner_text()
    assert [len(some) for some in read] == [DRAWN, DRAWN]
    assert read[0] & read[1]  # two are to read each: documents that one has come first
    for one in (tab, *others):
        one.close()
        assert one.complaints == []


def test_an_erased_text_does_not_come_back(me: Person, mine: Tab, tmp_path: Path) -> None:
    project = me.project(("note-1", "Seizures."))
    [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    me.ask("DELETE", f"/projects/{project}/documents/{document}")
    note = tmp_path / "note-1.txt"
    note.write_text("Seizures.")
    mine.page.on("filechooser", lambda _: None)
    page = mine.open(f"#/p/{project}")
    page.get_by_role("heading", level=1).wait_for()
    told = upload(page, [note])
    assert told.startswith("Nothing was added.")
    assert "was erased in this project" in told
    assert mine.faults() == []
    mine.picture("upload-erased")
