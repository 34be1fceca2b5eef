"""The page that `linnet.evaluate.page` makes, as a person with a browser meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.evaluate import About, Comparison, Figure, Report
from linnet.evaluate.page import ERRORS, write_page
from linnet.evaluate.report import Bin, Confusion, Reliability, Wrong

from .chromium import Browser, Page, backgrounds

pytestmark = pytest.mark.browser

ATTACK = "</script><script>document.title = 'gone'</script><img src=x onerror=alert(1)> <!-- {{data}} \x00\u202e"


def wrong(number: int, kind: str, surface: str, **more: object) -> Wrong:
    values: dict[str, object] = {
        "kind": kind, "document": f"doc-{number}", "start": 10, "end": 10 + len(surface), "surface": surface,
        "before": "the patient had ", "after": " for a week", "gold": ("HP:0001250",), "gold_names": ("Seizure",),
        "predicted": ("HP:0002069",), "predicted_names": ("Tonic-clonic seizure",), "rank": 2, "probability": 0.75,
    }  # fmt: skip
    return Wrong.model_validate({**values, **more})


def report(system: str, value: float, errors: tuple[Wrong, ...]) -> Report:
    def figure(of: float) -> Figure:
        return Figure(value=of, low=of - 0.05, high=of + 0.05, above=of * 100, below=100)

    kinds: dict[str, int] = {}
    for error in errors:
        kinds[error.kind] = kinds.get(error.kind, 0) + 1
    recalls = {f"in-kb.recall@{k}": figure(value + k / 1000) for k in (1, 2, 5, 10, 20, 64)}
    return Report(
        about=About(system=system, corpus="c:dev", corpus_hash="0f" * 32, kb="hpo", kb_version="v1"),
        documents=2,
        measures={"in-kb.accuracy@1": figure(value), **recalls, "strict.f1": figure(value)},
        slices={"nested": figure(value), "words.1": figure(value / 2), "words.2": figure(0.1)},
        reliability=Reliability(
            of="given-span", ece=0.1, brier=0.2, aurc=0.1, answers=9,
            bins=(Bin(confidence=0.5, accuracy=0.6, count=9),),
            risk_coverage=((0.5, 0.1), (1.0, 0.2)),
        ),
        kinds=kinds,
        wrong=errors,
        confusions=(
            Confusion(
                gold=("HP:0001250",), predicted=("X:1",), gold_names=("Seizure",), predicted_names=(ATTACK,), count=3
            ),
        ),
    )  # fmt: skip


FIRST = (
    wrong(0, "misranked", "fits", slices=("nested", "words.1")),
    wrong(1, "missed", "convulsions", predicted=(), predicted_names=(), rank=0, probability=None, slices=("words.1",)),
    wrong(2, "misranked", ATTACK, document=ATTACK),
)
SYSTEMS = (report("exact", 0.6, FIRST), report("ngram <b>", 0.8, (wrong(5, "parent", "spells"),)))
CHANCE = Comparison(measure="strict.f1", a="exact", b="ngram <b>", difference=-0.2, test="t", p=0.01, adjusted=0.02)


def written(path: Path, *systems: Report) -> Path:
    with path.open("w", encoding="ascii") as file:
        write_page(systems, file, comparisons=[CHANCE] if len(systems) > 1 else [])
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("page") / "two.html", *SYSTEMS)


def choose(page: Page, select: str, value: str) -> None:
    page.js(f"{select}.value = {value!r}; {select}.dispatchEvent(new Event('change'))")


def listed(page: Page) -> list[str]:
    found = page.js("[...document.querySelectorAll('#list .what bdi:first-child')].map((e) => e.textContent)")
    return list(found)


@pytest.mark.slow
def test_figures_curves_and_slices_are_drawn(page: Page) -> None:
    assert page.text("h1") == "exact · ngram <b>"
    assert "knowledge base hpo (v1)" in page.text("header p")
    assert "0.600 [0.550, 0.650]" in page.text("#tables")
    assert "exact − ngram <b>" in page.text("#tables")
    assert page.js("document.querySelectorAll('#charts svg').length") == 3
    assert page.js("document.querySelector('#charts circle title').textContent") == "exact, first 1: 0.601"
    assert page.js("document.querySelectorAll('#bars svg').length") == 6
    assert page.text("#bars h3") == "words"
    assert float(str(page.js("document.querySelector('#bars rect.range').getAttribute('width')"))) == pytest.approx(10)
    assert "0f0f" in page.text("#about")


def test_errors_are_filtered_by_kind_slice_and_text(page: Page) -> None:
    assert len(listed(page)) == 3
    choose(page, "kind", "missed")
    assert listed(page) == ["convulsions"]
    choose(page, "kind", "")
    choose(page, "slice", "nested")
    assert listed(page) == ["fits"]
    choose(page, "kind", "missed")
    assert page.text("#list") == "No error fits these filters."
    choose(page, "kind", "")
    choose(page, "slice", "")
    page.press("/")
    page.type("DOC-1")
    assert listed(page) == ["convulsions"]
    assert page.text("#errors-count") == "1 of 3"
    page.press("Enter")
    assert page.text("#detail h3") == "missed"
    page.press("Escape")
    page.press("Escape")
    assert len(listed(page)) == 3


def test_an_error_opens_in_its_context(page: Page) -> None:
    page.click("#list li:nth-child(1)")
    assert page.text("#detail .context") == "…the patient had fits for a week…"
    assert page.text("#detail mark") == "fits"
    for fact in (
        "Seizure HP:0001250",
        "Tonic-clonic seizure HP:0002069",
        "gold is candidate 2",
        "0.750",
        "doc-0 10–14",
    ):
        assert fact in page.text("#detail")


def test_keys_walk_through_the_errors(page: Page) -> None:
    heads = []
    for key in "jjkjjj":
        page.press(key)
        heads.append(page.js("document.querySelector('[aria-current]').dataset.place"))
    assert heads == ["0", "1", "0", "1", "2", "2"]
    page.press("Escape")
    assert page.js("document.querySelector('[aria-current]')") is None
    page.js("document.querySelector('#list').focus()")
    page.press("Enter")
    assert page.js("document.activeElement.id") == "detail"
    assert page.text("#detail h3") == "misranked"


def test_an_error_says_where_it_was_found_and_what_was_not(browser: Browser, tmp_path: Path) -> None:
    errors = (
        wrong(0, "boundary", "bad \U0001f912 fits", found=(16, 20), rank=0),
        wrong(1, "missed", "convulsions", predicted=(), predicted_names=(), rank=0, probability=None),
    )
    page = browser.open(written(tmp_path / "one.html", report("one", 0.5, errors)), width=390)
    assert [line.split(" \u2192 ")[1] for line in page.text("#list").splitlines() if "\u2192" in line] == [
        "Tonic-clonic seizure",
        "not found",
    ]
    page.press("j")
    assert "fits 16\u201320" in page.text("#detail")
    assert "candidate" not in page.text("#detail")
    [times, gold, answered] = page.text("#confused tbody tr").split("\t")
    assert (times, gold) == ("3", "Seizure HP:0001250")
    assert answered.endswith("X:1")
    page.close()


def test_systems_can_be_switched(page: Page) -> None:
    choose(page, "system", "1")
    assert listed(page) == ["spells"]
    assert page.js("[...document.querySelectorAll('#kind option')].map((e) => e.textContent)") == [
        "all (1)",
        "parent (1)",
    ]


def test_text_is_shown_literally(page: Page) -> None:
    page.click("#list li:nth-child(3)")
    assert page.js("document.querySelector('#detail mark').textContent") == ATTACK
    assert page.js("document.querySelectorAll('main script, main img, main b').length") == 0
    assert page.js("document.title") == "exact · ngram <b>: evaluation"


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_width_scrolls_the_page_sideways(browser: Browser, path: Path, width: int) -> None:
    page = browser.open(path, width=width)
    page.press("j")
    assert page.js("document.documentElement.scrollWidth") <= width
    page.close()


def test_dark_theme_follows_the_system(browser: Browser, path: Path) -> None:
    assert backgrounds(browser, path) == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]


@pytest.mark.slow
def test_many_errors_keep_the_page_small_and_it_says_so(browser: Browser, tmp_path: Path) -> None:
    many = tuple(wrong(number, "misranked", f"mention {number}") for number in range(ERRORS + 500))
    path = written(tmp_path / "many.html", report("many", 0.5, many))
    assert path.stat().st_size < 4_000_000
    page = browser.open(path)
    assert page.text("#errors-count") == "4,000 of 4,000 kept on this page; 4,500 in all"
    assert page.js("document.querySelectorAll('#list li').length") == 200
    page.press("/")
    page.type("mention 3999")
    assert listed(page) == ["mention 3999"]
    assert page.text("#system-label") == ""
    page.close()


def test_a_report_of_nothing_opens(browser: Browser, tmp_path: Path) -> None:
    page = browser.open(written(tmp_path / "none.html", Report(about=About(system="none"), documents=0)))
    assert page.text("#list") == "No errors."
    assert page.text("#slices-note") == "none"
    assert page.complaints() == []
    page.close()
