"""A workbench as a process, and tabs of Debian's Chromium, which Playwright drives."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from linnet.kb import KnowledgeBase
from tests.browser.chromium import find_chromium

if TYPE_CHECKING:  # where an extra is not installed, this file must load all the same
    from playwright.sync_api import Browser

    from tests.browser.workbench.site import Person, Site
    from tests.browser.workbench.tab import Tab

# a process that draws, and one that waits for the next page, would cost each tab an eighth more
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-features=SpareRendererForSitePerProcess,HttpsUpgrades,MediaRouter,OptimizationHints,PaintHolding,Translate",
)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of this folder; its loop ends with them, since other tests have loops of their own."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-browser")
    pytest.importorskip("axe_playwright_python", reason="axe is not installed: make test-browser")
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium on the search path; set CHROMIUM to one to test the workbench")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def site(chromium: Browser, kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A workbench with a small knowledge base and a worker, which tests share: each makes people of its own."""
    from tests.annotate.served import serving
    from tests.browser.workbench.site import KB, Site

    kbs = Path(os.environ["LINNET_HOME"]) / "kb"
    kbs.mkdir(parents=True, exist_ok=True)
    shutil.copy(kb.path, kbs / f"{KB}.kb")
    with serving(tmp_path_factory.mktemp("workbench"), "--worker") as (_, port, link):
        made = Site(port, link)
        made.begin()
        yield made


@pytest.fixture
def tabs(chromium: Browser, site: Site) -> Iterator[Callable[..., Tab]]:
    """Return what opens a tab in a browser of its own; after the test all of them must have stayed silent."""
    from tests.browser.workbench.tab import Tab

    opened: list[Tab] = []

    def open_tab(**options: Any) -> Tab:
        opened.append(Tab(chromium, site, **options))
        return opened[-1]

    yield open_tab
    for tab in opened:
        tab.close()
    assert [complaint for tab in opened for complaint in tab.complaints] == []


@pytest.fixture
def tab(tabs: Callable[..., Tab]) -> Tab:
    """A tab that nobody has signed in to."""
    return tabs()


@pytest.fixture
def me(site: Site) -> Person:
    """An administrator, whose projects are nobody else's."""
    return site.person("Ada", admin=True)


@pytest.fixture
def mine(tab: Tab, me: Person) -> Tab:
    """A tab that an administrator has signed in to."""
    tab.sign_in(me)
    return tab
