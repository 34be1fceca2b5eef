"""A browser for all pages, and a page that must stay silent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .chromium import Browser, Page, find_chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium on the search path; set CHROMIUM to one to test the page")
    with Browser(executable, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    """The file `path`, which every module of tests writes."""
    page = browser.open(path)
    yield page
    # whatever a test did, the page stayed silent and asked the network for nothing
    assert page.complaints() == []
    assert page.requests() == [path.as_uri()]
    page.close()
