"""The page that `write_html` makes, as a person with a browser meets it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from linnet.corpora.html import write_html
from linnet.corpora.notebook import html
from linnet.data import Candidates, Concept, Document, Mention, Name, Span
from linnet.errors import UnknownConceptError

from .chromium import Browser, Page, backgrounds

pytestmark = pytest.mark.browser

CONCEPTS = [
    Concept("HP:0000001", (Name("All"),)),
    Concept("HP:0000707", (Name("Nervous system"),), parents=("HP:0000001",)),
    Concept("HP:0000152", (Name("Head or neck"),), parents=("HP:0000001",)),
    Concept(
        "HP:0001250", (Name("Seizure"), Name("Fit")), definition="Too much firing at once.", parents=("HP:0000707",)
    ),
    Concept("HP:0000175", (Name("Cleft palate"),), definition="A gap in the roof of the mouth. " * 30),
    Concept("HP:0001251", (Name("Ataxia"),), parents=("HP:0000707",)),
    Concept("HP:0000268", (Name("Dolichocephaly"),), parents=("HP:0000152",)),
]


class Fake:
    """Seven concepts."""

    version = "v1"

    def __getitem__(self, row: int, /) -> Concept:
        return CONCEPTS[row]

    def row(self, id: str, /) -> int:
        for row, concept in enumerate(CONCEPTS):
            if concept.id == id:
                return row
        raise UnknownConceptError(id)


def linked(start: int, end: int, row: int, probability: float | None = None, **more: object) -> Mention:
    candidates = Candidates(np.array([row, 5, -1], np.int32), np.array([0.9, 0.25, 0.125], np.float32), kb="v1")
    fields = {"concepts": (CONCEPTS[row].id,), "candidates": candidates, "probability": probability, **more}
    return Mention(start, end, **fields)  # type: ignore[arg-type]


ATTACK = "<script>document.title = 'gone'</script><img src=x onerror=alert(1)> </script>\x00 \u202e"
DOCS = [
    Document(
        "first",
        "Seizures, ataxia; no cleft palate. Fits again.",
        mentions=(
            linked(0, 8, 3, 0.81, calibration="joint"),
            linked(10, 16, 5, 0.4),
            linked(21, 33, 4, 0.999),
            Mention(21, 26, concepts=()),
            linked(0, 33, 6, parts=(Span(0, 8), Span(27, 33)), source="user"),
        ),
    ),
    Document("attack <b>", ATTACK, mentions=(linked(0, 8, 3, 0.9),)),
    Document("wide \U0001f9e0", "\U0001f600 \u0645\u0631\u064a\u0636 ataxia", mentions=(linked(7, 13, 5),)),
    Document("empty", "", mentions=()),
    Document("untouched", "Seizures."),
    Document(
        "edges",
        ("seizure " * 12 + "\n") * 60,
        mentions=tuple(linked(i * 8 + i // 12, i * 8 + i // 12 + 7, 4, 0.7) for i in range(720)),
    ),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    with path.open("w", encoding="ascii") as file:
        write_html(DOCS, file, kb=Fake(), title="Notes & <i>more</i>", notice=["Pipeline: dictionary"])
    return path


def body(page: Page) -> str:
    return str(page.js("document.querySelector('#text').textContent"))


def test_opens_with_its_notices(page: Page) -> None:
    assert page.js("document.title") == "Notes & <i>more</i>"
    assert "‘no cleft palate’ is still marked as cleft palate" in page.text("header")
    assert "version v1" in page.text("header")
    page.js("document.querySelector('details').open = true")
    assert "Pipeline: dictionary" in page.text("header")
    assert body(page) == DOCS[0].text
    assert page.text("#summary") == "5 mentions"
    assert page.js("document.querySelectorAll('*').length") < 250


def test_hover_shows_the_concept_and_the_card_can_be_entered(page: Page) -> None:
    assert page.text("#card") == ""
    page.hover("[data-seg='2']")
    card = page.text("#card")
    for fact in ("Ataxia", "HP:0001251", "40%", "not calibrated", "No definition"):
        assert fact in card
    page.hover("[data-seg='0']")
    card = page.text("#card")
    for fact in ("Seizure", "Too much firing at once.", "Also called", "Fit", "81%", "Nervous system"):
        assert fact in card
    assert "No concept (NIL)" in card
    assert "Also marked here" in card
    page.hover("#card .others")  # across the gap and with time to hide
    page.js("new Promise((done) => setTimeout(done, 500))")
    assert "Seizure" in page.text("#card")
    page.click("#card .others button")
    assert "Dolichocephaly" in page.text("#card h3")
    assert "marked by a person" in page.text("#card")
    assert page.js("[...document.querySelectorAll('.on')].map((e) => e.textContent).join('|')") == "Seizures|palate"
    page.hover("h1")
    page.press("Escape")
    assert page.text("#card") == ""


def test_a_notebook_shows_the_text_first(browser: Browser, tmp_path: Path) -> None:
    for docs, shown in ((DOCS[:1], "none"), (DOCS[:2], "block")):
        target = tmp_path / f"{shown}.html"
        # without its sandbox, which would keep the test out as well
        drawn = re.sub('sandbox="[^"]*"', "", html(docs, kb=Fake()))  # type: ignore[arg-type]
        target.write_text(f"<!DOCTYPE html>{drawn}", encoding="ascii")
        page = browser.open(target)
        inside = "document.querySelector('iframe').contentDocument"
        assert page.js(f"{inside}.querySelector('#text').textContent") == DOCS[0].text
        assert page.js(f"{inside}.body.classList.contains('framed')")
        assert page.js(f"getComputedStyle({inside}.querySelector('nav')).display") == shown
        top = "getBoundingClientRect().top"
        assert page.js(f"{inside}.querySelector('#text').{top} < {inside}.querySelector('header').{top}")
        assert page.complaints() == []
        page.close()


def test_terminologies_have_colours_of_their_own(browser: Browser, tmp_path: Path) -> None:
    marked = (
        Mention(0, 8, concepts=("HP:0001250",), terminology="hpo"),
        Mention(0, 8, concepts=("MESH:D012640",), terminology="mesh", types=("Disease",)),
        Mention(13, 26, concepts=("MESH:D010634",), terminology="mesh", types=("Chemical",)),
    )
    target = tmp_path / "page.html"
    with target.open("w", encoding="ascii") as file:
        write_html([Document("d", "Seizures, on phenobarbital.", mentions=marked)], file, kb=Fake(), title="t")
    page = browser.open(target)
    assert page.js("document.querySelector('#colour').value") == "terminology"
    legend = [line.strip() for line in page.text("#legend").splitlines()]
    assert [line for line in legend if line][:2] == ["hpo (1)", "mesh (2)"]
    strokes = page.js("document.querySelector('[data-seg]').style.backgroundImage")
    assert strokes.count("repeating-linear-gradient") == 2, "a line for each, one below the other"
    page.hover("[data-seg='0']")
    card = page.text("#card")
    assert "Also marked here" in card
    assert "Terminology" in card
    assert "(mesh)" in card or "(hpo)" in card, "where the other one is from"
    assert page.js("document.querySelector('#said').hidden"), "nothing is said by rules here"
    page.close()


LETTER = """Dear colleague,

thank you for seeing this lady, who has had seizures since she was a child and
whose mother has ataxia. There was no cleft palate. If she has another
seizure, call.
- Ataxia
- Seizure?
"""


def said(word: str, concept: str, assertion: str, nth: int = 1) -> Mention:
    start = -1
    for _ in range(nth):
        start = LETTER.index(word, start + 1)
    return Mention(start, start + len(word), concepts=(concept,), assertion=assertion)  # type: ignore[arg-type]


MARKED = (
    said("seizures", "HP:0001250", "affirmed"),
    said("ataxia", "HP:0001251", "family"),
    said("cleft palate", "HP:0000175", "negated"),
    said("seizure", "HP:0001250", "hypothetical", 2),
    said("Ataxia", "HP:0001251", "affirmed"),
    said("Seizure", "HP:0001250", "uncertain"),
)


@pytest.fixture
def letters(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    target = tmp_path / "page.html"
    docs = [Document("letter", LETTER, mentions=MARKED), Document("note", "Fits.", mentions=(linked(0, 4, 3),))]
    with target.open("w", encoding="ascii") as file:
        write_html(docs, file, kb=Fake(), title="Letters")
    page = browser.open(target)
    yield page
    page.close()


def test_what_the_text_says_is_shown_and_filtered(letters: Page) -> None:
    marks = letters.js("[...document.querySelectorAll('.seg.apart')].map((one) => one.dataset.mark).join()")
    assert marks == "family,no,if,maybe"
    assert "negated (1)" in letters.text("#legend")
    rows = letters.js("[...document.querySelectorAll('#found tr')].map((one) => one.innerText)")
    assert ["negated" in row or "relative" in row or "come" in row or "uncertain" in row for row in rows] == [
        *(False,) * 2,
        *(True,) * 4,
    ]
    assert not letters.js("document.querySelector('#said').hidden")
    letters.js("document.querySelector('#assertion').value = 'affirmed'")
    letters.js("document.querySelector('#assertion').dispatchEvent(new Event('change'))")
    bright = letters.js("[...document.querySelectorAll('.seg:not(.dim)')].map((one) => one.textContent).join()")
    assert bright == "seizures,Ataxia"
    letters.press("n")
    letters.press("n")
    assert letters.text("#card h3") == "Ataxia"
    assert letters.complaints() == []


def test_lines_that_were_wrapped_by_hand_are_joined(letters: Page) -> None:
    lines = letters.js("document.querySelector('#text').textContent").split("\n")
    assert lines[2].endswith("If she has another seizure, call.")
    assert lines[3:5] == ["- Ataxia", "- Seizure?"]
    assert lines[0] == "Dear colleague,"


def test_all_documents_are_printed(letters: Page) -> None:
    letters.js("window.print = () => { window.printed = document.querySelector('#batch').textContent; }")
    letters.click("#print-all")
    printed = letters.js("window.printed")
    assert "Dear colleague" in printed
    assert "Fits." in printed
    assert letters.text("#name") == "letter"


def test_a_filter_leaves_no_other_document_open(letters: Page) -> None:
    letters.click("#filter")
    letters.type("note")
    assert letters.text("#name") == "note"


def test_a_pinned_card_stays_until_escape(page: Page) -> None:
    page.click("[data-seg='2']")
    page.hover("h1")
    page.js("new Promise((done) => setTimeout(done, 500))")
    assert "Ataxia" in page.text("#card h3")
    page.press("Escape")
    assert page.text("#card") == ""


def test_links_are_plain_and_tell_no_referrer(page: Page) -> None:
    page.click("[data-seg='0']")
    link = page.js("(() => { const a = document.querySelector('#card a'); return [a.href, a.rel, a.textContent]; })()")
    assert link == ["https://hpo.jax.org/browse/term/HP:0001250", "noreferrer noopener", "HP:0001250"]


def test_keys_walk_through_mentions_and_documents(page: Page) -> None:
    heads = []
    for key in "njnnnnpk":
        page.press(key)
        heads.append(page.text("#card h3"))
    order = ["Dolichocephaly", "Seizure", "Ataxia", "Cleft palate", "No concept (NIL)"]
    assert heads == [*order, "No concept (NIL)", "Cleft palate", "Ataxia"]
    assert page.js("document.activeElement.textContent") == "ataxia"
    assert page.js("document.activeElement.ariaExpanded") == "true"
    assert "Ataxia, 40% not calibrated. Mention 3 of 5" in page.js("document.querySelector('#live').textContent")
    page.press("Enter")
    assert page.js("document.activeElement.id") == "card"
    page.press("Escape")
    assert page.js("document.activeElement.textContent") == "ataxia"
    assert page.text("#card") == ""
    page.press("ArrowRight")
    assert page.text("#name") == "attack <b>"
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    assert page.text("#name") == "first"
    page.press("?")
    assert page.js("document.querySelector('#help').open") is True
    page.press("Escape")
    assert page.js("document.querySelector('#help').open") is False


def test_tab_reaches_mentions_and_shows_their_card(page: Page) -> None:
    page.js("document.querySelector('#next').focus()")
    page.press("Tab")
    assert page.text("#card h3") == "Dolichocephaly"
    page.press("Tab")
    assert page.text("#card h3") == "Ataxia"


def test_filter_finds_documents_by_concept_and_synonym(page: Page) -> None:
    page.press("/")
    page.type("fit")
    assert page.text("#documents-count") == "2 of 6"
    assert page.js("[...document.querySelectorAll('#documents bdi:first-child')].map((e) => e.textContent)") == [
        "first",
        "attack <b>",
    ]
    assert "Seizure" in page.text("#found")
    assert "Ataxia" not in page.text("#found")
    page.press("Escape")
    assert page.text("#documents-count") == "6"
    assert "Ataxia" in page.text("#found")
    page.press("/")
    page.type("untou")
    page.press("Enter")
    assert page.text("#name") == "untouched"
    assert "not been looked at yet" in page.text("#found-more")


def test_threshold_dims_only_predictions_below_it(page: Page) -> None:
    def move(percent: int) -> None:
        page.js(f"threshold.value = {percent}; threshold.dispatchEvent(new Event('input'))")

    def dimmed() -> object:
        return page.js("[...document.querySelectorAll('.seg.dim')].map((e) => e.textContent)")

    assert dimmed() == []
    move(60)
    assert dimmed() == ["ataxia"]
    assert page.text("#below").startswith("1 of 5 below")
    assert page.text("tr.faint .jump") == "Ataxia"
    for _ in range(3):
        page.press("n")
    assert page.text("#card h3") == "Cleft palate"
    move(0)
    assert dimmed() == []


def test_the_table_jumps_to_the_first_mention(page: Page) -> None:
    page.js("[...document.querySelectorAll('.jump')].find((b) => b.textContent === 'Cleft palate').click()")
    assert page.text("#card h3") == "Cleft palate"
    assert page.js("document.querySelector('.seg.on').textContent") == "cleft"


def test_text_is_shown_literally(page: Page) -> None:
    page.press("ArrowRight")
    assert body(page) == ATTACK.replace("\x00", "\u2400")
    assert page.js("document.querySelectorAll('#text script, #text img').length") == 0
    assert page.js("document.title") == "Notes & <i>more</i>"
    page.press("ArrowRight")
    assert page.text(".seg") == "ataxia"
    page.press("ArrowRight")
    assert page.text("#text") == "This document has no text."
    assert page.text("#found-more") == "No mentions were found in this document."


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 700), (900, 320)])
def test_the_card_never_leaves_the_window(browser: Browser, path: Path, width: int, height: int) -> None:
    page = browser.open(path, width=width, height=height)
    page.js("location.hash")
    for _ in range(5):
        page.press("ArrowRight")
    outside = page.js("""(() => {
      const wrong = [];
      for (let i = 0; i < 720; i += 7) {
        const seg = document.querySelectorAll(".seg")[i];
        seg.scrollIntoView({ block: ["start", "center", "end"][i % 3] });
        const at = seg.getClientRects()[0];
        seg.dispatchEvent(new MouseEvent("mouseover", { bubbles: true, clientY: at.top + 1 }));
        const box = document.querySelector("#card").getBoundingClientRect();
        const inside = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
        const clear = innerHeight < 400 || box.top >= at.bottom || box.bottom <= at.top;
        if (!inside || !clear || box.height < 100) wrong.push([i, box.left, box.top, box.right, box.bottom]);
      }
      return wrong;
    })()""")
    assert outside == []
    assert page.js("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.slow
def test_many_mentions_and_deep_nesting_render(browser: Browser, tmp_path: Path) -> None:
    text = "ataxia of gait " * 14_000  # 210 kB on one line
    many = tuple(linked(i * 21, i * 21 + 20, 5, 0.5) for i in range(9_000))
    deep = tuple(Mention(i, 15_000 - i, concepts=()) for i in range(1_000))
    path = tmp_path / "many.html"
    with path.open("w", encoding="utf-8") as file:
        write_html([Document("many", text, mentions=many + deep)], file, kb=Fake(), title="many")
    page = browser.open(path)
    assert page.text("#summary") == "10,000 mentions"
    assert page.js("document.querySelector('#text').textContent.length") == len(text)
    page.press("n")
    assert page.text("#card h3") == "No concept (NIL)"  # the longest of those that start here
    page.hover("[data-seg='1999']")
    assert page.text("#card h3") == "Ataxia"
    assert page.complaints() == []
    page.close()


@pytest.mark.slow
def test_a_thousand_documents_keep_the_page_small(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "thousand.html"
    docs = [Document(f"note-{i}", "ataxia " * 40, mentions=(linked(0, 6, 5, 0.5),)) for i in range(1_000)]
    with path.open("w", encoding="utf-8") as file:
        write_html(docs, file, kb=Fake(), title="thousand")
    page = browser.open(path)
    assert page.js("document.querySelectorAll('#documents button').length") == 1_000
    assert page.js("document.querySelectorAll('#text *').length") == 1
    page.press("/")
    page.type("note-777")
    page.press("Enter")
    assert page.text("#name") == "note-777"
    assert page.js("location.hash") == "#778"
    page.close()


def test_dark_theme_follows_the_system(browser: Browser, path: Path) -> None:
    assert backgrounds(browser, path) == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]


def test_a_narrow_window_opens_at_its_top_with_the_text_before_the_controls(browser: Browser, path: Path) -> None:
    page = browser.open(path, width=390, height=700)
    assert page.js("scrollY") == 0
    page.press("ArrowRight")
    assert page.js("scrollY") == 0
    tops = page.js("['main', 'nav'].map((e) => document.querySelector(e).getBoundingClientRect().top)")
    assert tops[0] < tops[1]
    page.close()


def test_print_leaves_out_the_controls(page: Page) -> None:
    page.press("n")
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.text("nav") == page.text("#card") == page.text("#help-button") == ""
    assert "Ataxia" in page.text("aside")
    assert "negated" in page.text("header")
