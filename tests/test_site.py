"""The documentation site: pages of the repository's Markdown, all in the navigation. `make test-site` opens them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from tools import site_hooks
from tools.site_hooks import for_the_site, loaded_from_elsewhere, offered

import linnet

ROOT = Path(__file__).parents[1]


def test_examples_of_the_hooks_run() -> None:
    done = doctest.testmod(site_hooks)
    assert done.attempted > 0
    assert done.failed == 0


def test_each_page_is_in_the_navigation() -> None:
    [nav] = re.findall(r"^nav:\n(.*)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    listed = re.findall(r"[\w/-]+\.md", nav)
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages = {page for page in pages if not page.startswith("decisions/")}
    made = {"contributing.md", "changelog.md", "decisions.md", "reference/index.md"}
    assert sorted(listed) == sorted(pages | made), "mkdocs.yml lists each page of docs once"


def test_the_python_page_has_all_names() -> None:
    assert sorted(offered()) == sorted(linnet.__all__)


def test_links_in_code_stay() -> None:
    text = "```\n[a](../src/x.py)\n```\n[b](../src/x.py) ![c](images/c.png) [d](https://example.org) [e](#f)\n"
    assert for_the_site(text, "docs/a.md", "a.md") == text.replace("[b](../src/x.py)", "b (`src/x.py`)")


def test_pages_in_folders_and_of_the_root() -> None:
    assert for_the_site("[a](../linking.md)", "docs/decisions/0001.md", "decisions/0001.md") == "[a](../linking.md)"
    assert for_the_site("[a](../../CONTRIBUTING.md)", "docs/x/y.md", "x/y.md") == "[a](../contributing.md)"
    assert for_the_site("[`link.py`](src/link.py)", "CHANGELOG.md", "changelog.md") == "`src/link.py`"


@pytest.mark.parametrize(
    ("loads", "html"),
    [
        (True, '<script src="https://unpkg.com/x"></script>'),
        (True, '<link rel="stylesheet" href="https://fonts.googleapis.com/css">'),
        (True, "<img alt='' src=//example.org/x.png>"),
        (True, "<style>body {background: url(http://example.org/x.png)}</style>"),
        (False, '<a href="https://example.org">there</a><img src="images/x.png"><script src="a.js"></script>'),
        (False, '<link rel="canonical" href="https://example.org">'),
    ],
)
def test_what_loads_from_elsewhere(tmp_path: Path, loads: bool, html: str) -> None:
    (tmp_path / "a.html").write_text(html, encoding="utf-8")
    assert bool(loaded_from_elsewhere(tmp_path)) == loads


def test_figures_of_families_are_those_of_the_benchmarks() -> None:
    rows = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "families" / "index.md").read_text(encoding="utf-8")
    figures = re.findall(r"^\| `([\w/]+)`.*\| (0\.\d+) \|$", page, re.MULTILINE)
    assert len(figures) == 6
    for recipe, accuracy in figures:
        [row] = re.findall(rf"^\| `{recipe}` \| `bc5cdr:dev` \| [^|]+\| (0\.\d+) ", rows, re.MULTILINE)
        assert row == accuracy, recipe
    for recipe, f1 in re.findall(r"`(bc5cdr/\w+)` (0\.\d+)", page):
        assert re.search(rf"^\| `{recipe}` \| .*\| {f1} ", rows, re.MULTILINE), recipe
