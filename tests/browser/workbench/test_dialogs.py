"""Every dialog can be read by everybody: axe finds nothing serious in any of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.workbench.site import NOTES, Person
from tests.browser.workbench.test_document import predict

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.workbench.tab import Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# the screen, the buttons that lead to the dialog, and its name
DIALOGS = (
    ("", ["Settings"], "Settings of"),
    ("", ["Settings", "Archive the project"], "Archive this project?"),
    ("", ["Guidelines"], "Guidelines"),
    ("", ["Paste text"], "Paste a text"),
    ("", ["Erase texts…", "Erase.*note-1"], "Erase the text of note-1?"),
    ("/team", ["Remove.*Bob"], "from the project?"),
    ("/team#New concepts", ["Decline.*floppy"], "Decline “floppy baby”"),
    ("/team#New concepts", ["Map to a concept.*floppy"], "Which concept is “floppy baby”?"),
    ("", ["Find an action"], "Find an action"),
    ("", ["Show all keys"], "Keys"),
    ("/settings", ["Switch off single letters"], "Switch off all single letters and digits?"),
    ("/settings", ["All back to default"], "All keys back to what they were?"),
    ("/settings", ["Revoke.*pipeline"], "Revoke “pipeline”?"),
    ("/projects", ["New project"], "New project"),
    ("/projects", ["Disable.*Bob"], "Disable Bob"),
    ("/projects", ["Make administrator.*Bob"], "Make an administrator: Bob"),
)


def go(page: Page, project: int, screen: str) -> None:
    """Go to a screen, and wait until it is drawn."""
    path, _, part = screen.partition("#")
    page.evaluate("location.hash = '#/'")
    page.get_by_role("heading", name="Projects").first.wait_for()
    hash = {"/settings": "#/settings", "/projects": "#/"}.get(path, f"#/p/{project}{path}")
    page.evaluate("(hash) => { location.hash = hash; }", hash)
    page.locator("main :is(.panel, form)").first.wait_for()
    if part:
        page.get_by_role("tab", name=part).press("Enter")


def test_every_dialog_is_open_to_all(me: Person, tabs: Callable[..., Tab]) -> None:
    project = me.project(*NOTES)
    predict(me, project)
    bob = me.invite(project, name="Bob")
    me.ask("POST", "/tokens", {"name": "pipeline", "scopes": ["read"]})
    version = me.ask("GET", f"/projects/{project}")["kb_version"]
    me.ask("POST", f"/kb/{version}/propose?project={project}", {"name": "floppy baby"})
    tab = tabs(color_scheme="dark")
    tab.sign_in(me)
    page = tab.page
    for screen, buttons, name in DIALOGS:
        go(page, project, screen)
        for words in buttons:
            label = words.replace("Bob", re.escape(bob.name))
            page.get_by_role("button", name=re.compile(label)).last.press("Enter")
        page.get_by_role("dialog", name=name.replace("Bob", bob.name)).last.wait_for()
        assert tab.faults() == [], name
        for _ in buttons:
            page.keyboard.press("Escape")
        page.locator("dialog").first.wait_for(state="detached")


def test_dialogs_of_files_and_roles(mine: Tab, me: Person, tmp_path: Path) -> None:
    project = me.project(NOTES[0])
    me.invite(project, role="admin", name="Other")  # a project keeps an admin
    history = tmp_path / "history.jsonl"
    history.write_text("{}\n", encoding="utf-8")
    page = mine.open(f"#/p/{project}")
    page.locator("#history-file").first.set_input_files(history)
    page.get_by_role("dialog", name="Bring in a history?").wait_for()
    assert mine.faults() == []
    page.keyboard.press("Escape")
    go(page, project, "/team")
    page.get_by_label(f"Role of {me.name}").select_option("annotator")
    page.get_by_role("dialog", name="Give up your own role?").wait_for()
    assert mine.faults() == []
    page.keyboard.press("Escape")
