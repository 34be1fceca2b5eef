"""The demo, as somebody meets it who has typed one command: no password, notes to read, predictions in them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.annotate.demo import DRAWN
from linnet.kb import KnowledgeBase
from tests.annotate.served import ask, make_hpo, serving
from tests.browser.workbench.site import Site
from tests.browser.workbench.tab import Tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def demo(kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A demo under a LINNET_HOME of its own, whose ``hpo`` is a small one, once it is predicted."""
    make_hpo(kb, tmp_path)
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    with serving(None, "--demo") as (_, port, _link):
        cookie, until = ask(port, "POST", "/session/demo", {})["cookie"], time.monotonic() + 60
        while ask(port, "GET", "/projects/1/jobs", Cookie=cookie)[0]["state"] != "succeeded":
            assert time.monotonic() < until
            time.sleep(0.1)
        yield Site(port, "")


def test_whoever_opens_the_page_is_in(chromium: Browser, demo: Site) -> None:
    tab = Tab(chromium, demo)
    page = tab.open()
    page.get_by_role("heading", name="Projects", level=1).wait_for()
    assert "you" in page.locator("header.top").inner_text()
    page.get_by_role("link", name="Demo", exact=True).click()
    page.wait_for_url("**/#/p/1")
    page.get_by_role("heading", name="Demo", level=1).wait_for()
    work = tab.context.request.get("/api/v1/projects/1/assignments").json()["assignments"]
    assert len(work) == DRAWN
    assert tab.faults() == []
    tab.picture("demo")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    page.evaluate("location.hash = '#/p/1/models'")  # as the browser's own way back
    page.get_by_role("heading", name="Training and models").wait_for()
    assert page.locator("dialog[open]").count() == 0
    tab.close()
    assert tab.complaints == []
