"""The documentation site, opened from its files: it searches, follows the system, and asks nobody for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .chromium import Browser, Page

SITE = Path(__file__).parents[2] / "build" / "site"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="there is no site: make site"),
]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """What opens a page of the site; after the test it has loaded files alone, and complained of nothing."""
    pages = []

    def open_page(name: str, *, width: int = 1280) -> Page:
        pages.append(browser.open(SITE / name, width=width))
        return pages[-1]

    yield open_page
    for page in pages:
        assert [
            address for address in page.requests() if not address.startswith(("file:", "data:", "blob:", "about:"))
        ] == []
        assert page.complaints() == []
        page.close()


def test_search_finds_without_a_server(opened: Callable[..., Page]) -> None:
    page = opened("index.html")
    page.click(".md-search__input")
    page.type("threshold")
    page.wait("document.querySelectorAll('.md-search-result__link').length > 0", 20)
    assert page.js(
        "[...document.querySelectorAll('.md-search-result__link')].every(link => link.href.startsWith('file:'))"
    )


@pytest.mark.parametrize("name", ["index.html", "benchmarks.html", "reference/python.html"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_no_wider_than_the_window(name: str, width: int, opened: Callable[..., Page]) -> None:
    page = opened(name, width=width)
    assert page.js("document.documentElement.scrollWidth") <= width


def test_colours_are_those_of_the_system(browser: Browser) -> None:
    seen = []
    for dark in (False, True):
        page = browser.open(SITE / "index.html", dark=dark)
        page.wait(f"document.body.dataset.mdColorScheme === '{'slate' if dark else 'default'}'")
        seen.append(page.js("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert seen[0] != seen[1]
