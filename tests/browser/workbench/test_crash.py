"""The server is killed while somebody decides: what it has acknowledged is there, what it has not comes after, once."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.kb import KnowledgeBase
from tests.annotate.served import serving
from tests.browser.workbench.site import KB, Site
from tests.browser.workbench.tab import Tab
from tests.browser.workbench.test_document import live, press, saved, select, show, words

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTE = ("twelve", "One two three four five six seven eight nine ten eleven twelve.")
FIRST = ("one", "thr", "fiv", "sev")  # words by their first letters, marked before the server dies, or while it does
THEN = ("nin", "ele", "twe")  # marked while it is away


def test_nothing_is_lost_or_doubled(chromium: Browser, kb: KnowledgeBase, tmp_path: Path) -> None:
    kbs = Path(os.environ["LINNET_HOME"]) / "kb"
    kbs.mkdir(parents=True, exist_ok=True)
    shutil.copy(kb.path, kbs / f"{KB}.kb")
    acknowledged: list[str] = []
    with serving(tmp_path / "site") as (process, port, link):
        site = Site(port, link)
        site.begin()
        me = site.root
        project = me.project(NOTE)
        [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
        [assignment] = me.give(project, [document], me)
        tab = Tab(chromium, site)

        def note(answer: Response) -> None:
            if answer.url.endswith("/commands") and answer.ok:
                sent = json.loads(answer.request.post_data or "{}")
                acknowledged.extend(one["mention"] for one in sent["commands"])

        tab.page.on("response", note)
        tab.sign_in(me)
        page = show(tab, project, assignment)
        for letters in FIRST:
            mark(page, letters)
        process.kill()  # as soon as the last one is on its way
        process.wait()
        for letters in THEN:
            mark(page, letters)
        page.get_by_text("waiting").first.wait_for()
        assert page.locator("mark.user").count() == len(FIRST + THEN)
    with serving(tmp_path / "site", port=port):
        saved(page)
        found = words(me, assignment, NOTE[1])
        assert found == ["One", "three", "five", "seven", "nine", "eleven", "twelve"]
        stored = [one["mention"] for one in me.ask("GET", f"/assignments/{assignment}/events")["events"]]
        assert set(acknowledged) <= set(stored)
        assert len(stored) == len(set(stored)) == len(FIRST + THEN)
        show(tab, project, assignment)
        assert len(live(me, assignment)) == page.locator("mark.user").count() == len(FIRST + THEN)
        tab.close()
    away = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "INCOMPLETE_CHUNKED")
    assert [one for one in tab.complaints if not any(word in one for word in away)] == []


def mark(page: Page, letters: str) -> None:
    """Mark a word that is found by its first letters, without a concept."""
    select(page, letters)
    press(page, "Enter")
    page.locator(".text:focus").wait_for()
