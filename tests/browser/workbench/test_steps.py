"""Steps of the plan that no other module takes: keys one by one, the pointer, a queue, blindness, markup, access."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from linnet.annotate.api.access import PREFIX
from linnet.data import Concept, Name
from linnet.kb.build import build
from tests.browser.workbench.site import NOTES, Person, Site
from tests.browser.workbench.tab import Tab
from tests.browser.workbench.test_document import give, live, predict, press, saved, select, show, standing, words, work

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Response

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Mark = tuple[int, int, str]
GO = "(hash) => { location.hash = hash; }"


@pytest.fixture(scope="module")
def me(site: Site) -> Person:
    """One administrator for all tests here: a password takes long to hash, and each test makes projects of its own."""
    return site.person("Emmy", admin=True)


@pytest.fixture(scope="module")
def ready(me: Person) -> tuple[int, int]:
    """A project with a suggestion or two, for tests that decide nothing, and the assignment of its document."""
    project = me.project(NOTES[0])
    predict(me, project)
    return project, me.take(project)[0]


@pytest.fixture
def mine(tab: Tab, me: Person) -> Tab:
    """A tab that has her session."""
    enter(tab, me)
    return tab


def enter(tab: Tab, person: Person) -> None:
    """Give a tab the session that somebody has as a program."""
    name, _, value = person.keys["Cookie"].partition("=")
    tab.context.add_cookies([{"name": name, "value": value, "url": tab.site.url}])


def marked(me: Person, *docs: tuple[str, str, Sequence[Mark]]) -> tuple[int, list[int]]:
    """Return a project whose documents came with mentions, and assignments of all of them."""
    project = me.project()
    for name, text, marks in docs:
        made = [{"start": start, "end": end, "source": "gold", "concepts": [id]} for start, end, id in marks]
        line = json.dumps({"id": name, "text": text, "mentions": made})
        me.ask("POST", f"/projects/{project}/pastes", {"name": f"{name}.jsonl", "text": line, "format": "jsonl"})
    return project, me.take(project)


def plain(me: Person, tab: Tab, text: str) -> tuple[Page, int]:
    """Open a document without mentions."""
    project = me.project(("plain", text))
    [assignment] = me.take(project)
    return show(tab, project, assignment), assignment


def option(page: Page) -> Locator:
    """Return the row of the mention with the focus."""
    return page.locator(".list-panel [role=option][aria-selected=true]")


def current(page: Page) -> str:
    """Return the words of the mention with the focus."""
    return str(option(page).locator(".words").inner_text()).strip()


# --- keys -------------------------------------------------------------------------------------------------------------


def test_a_suggestion_is_said_with_its_probability(mine: Tab, me: Person) -> None:
    page, _, assignment = work(me, mine, NOTES[1])
    press(page, "n", "p")
    told = "cleft palate, predicted, Cleft palate, about 99 percent, not calibrated"
    mine.wait_until_said(f"1 of 3, {told}")
    assert str(option(page).get_attribute("aria-label")).lower() == told.lower()
    press(page, "a")
    saved(page)
    assert [one["kind"] for one in me.ask("GET", f"/assignments/{assignment}/events")["events"]] == ["accept"]


def test_keys_go_from_mention_to_mention(mine: Tab, me: Person) -> None:
    text = "Severe left heart failure, gout and fever."
    nested = [(7, 25, "HP:0001631"), (12, 25, "HP:0000175"), (12, 17, "HP:0004322")]
    project, [assignment] = marked(me, ("gold", text, [*nested, (27, 31, "X:2"), (36, 41, "X:1")]))
    page = show(mine, project, assignment)
    steps = {
        "End": "fever", "Home": "left heart failure", "j": "heart failure", "k": "left heart failure", "l": "heart",
        " ": "gout", "n": "fever", "p": "gout",
    }  # fmt: skip
    for key, wanted in steps.items():
        press(page, key)
        assert current(page) == wanted, key
    assert standing(me, assignment) == []
    press(page, "Home", "l", "l")
    assert current(page) == "heart failure"
    press(page, "a")
    saved(page)
    [confirmed] = standing(me, assignment)
    assert (confirmed["source"], confirmed["state"]) == ("gold", "live")
    assert page.locator(".list-panel [role=option]").filter(has_text="G✓").count() == 1


def test_the_caret_goes_by_words_and_sentences(mine: Tab, me: Person) -> None:
    text = "Cafe\u0301 🧠 visit. Then a cold and a common cold. Cold again."
    page, assignment = plain(me, mine, text)
    keys = ("Right", "Right", "Left", "Down", "Down", "Up")
    for key, wanted in zip(keys, ("🧠", "visit", "🧠", "Then", "Cold", "Then"), strict=True):
        press(page, f"Arrow{key}")
        page.wait_for_function("(word) => document.getElementById('polite').textContent === word", arg=wanted)
    press(page, "f", *"co", "ArrowDown", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft")
    page.locator(".side-panel h2", has_text="“cold”").wait_for()
    press(page, "Enter")
    page.locator(".candidates .candidate").nth(1).wait_for()
    first = page.locator(".candidates code").first.inner_text()
    press(page, "Enter")
    saved(page)
    [made] = live(me, assignment)
    place = text.index("cold.")
    assert (made["parts"], made["concepts"]) == ([[place, place + 4]], [first])


def test_a_digit_takes_the_candidate_of_its_row(mine: Tab, me: Person) -> None:
    page, assignment = plain(me, mine, "A cold.")
    select(page, "cold")
    press(page, "Enter")
    page.locator(".candidates .candidate").nth(1).wait_for()
    second = page.locator(".candidates code").nth(1).inner_text()
    press(page, "2")
    saved(page)
    assert [one["concepts"] for one in live(me, assignment)] == [[second]]


def test_both_edges_move_and_escape_puts_them_back(mine: Tab, me: Person) -> None:
    text = "mild left heart failure today"
    page, assignment = plain(me, mine, text)
    select(page, "left", 1)
    press(page, "Enter")
    saved(page)
    press(page, "e", "ArrowRight", "Shift+ArrowLeft")
    mine.wait_until_said("mild left heart failure")
    press(page, "Escape")
    assert words(me, assignment, text) == ["left heart"]
    press(page, "e", "ArrowRight", "Shift+ArrowLeft", "Enter")
    saved(page)
    assert words(me, assignment, text) == ["mild left heart failure"]


def test_letters_are_text_in_the_field_and_keys_in_the_list(mine: Tab, me: Person) -> None:
    page, assignment = plain(me, mine, "A cold, seizures and short stature.")
    select(page, "sei")
    press(page, "/")
    field, rows = page.locator(".finder-words"), page.locator(".picker [role=option]")
    page.locator(".finder-words:focus").wait_for()
    page.keyboard.type("5-fluorouracil 0ub")
    assert field.input_value() == "5-fluorouracil 0ub"
    field.fill("seizure")
    rows.nth(1).wait_for()
    assert str(rows.first.get_attribute("aria-label")).startswith("1, Seizure, HP:0001250")  # what is exact comes first
    press(page, "ArrowDown", "ArrowRight")
    page.get_by_role("treeitem", name="Tonic-clonic seizure").wait_for()
    press(page, "ArrowLeft", "i")
    page.locator(".picker-card", has_text="abnormal electrical activity").wait_for()
    press(page, "Escape")
    page.locator(".picker-card").wait_for(state="detached")
    press(page, "b")
    page.locator(".finder-under", has_text="below Seizure").wait_for()
    page.locator(".finder-words:focus").wait_for()
    press(page, "Shift+Tab")
    page.locator(".finder-types:focus").wait_for()
    press(page, "Tab")
    rows.nth(1).wait_for()
    press(page, "ArrowDown", "/")
    page.locator(".finder-words:focus").wait_for()
    press(page, "ArrowDown", "2")
    saved(page)
    assert [one["concepts"] for one in live(me, assignment)] == [["HP:0002069"]]
    for keys, wanted in ((["u"], "unsure"), (["0", "n"], "nil")):
        press(page, "/")
        rows.first.wait_for()
        press(page, "ArrowDown", *keys)
        page.locator(".picker").wait_for(state="detached")
        page.locator(".text:focus").wait_for()
        saved(page)
        assert live(me, assignment)[0][wanted]
    press(page, "/", "Escape")
    page.locator(".text:focus").wait_for()
    assert len(live(me, assignment)) == 1


def test_keys_of_a_document(mine: Tab, me: Person) -> None:
    marks = [(0, 5, "X:2")]
    project, [first, second] = marked(me, ("one", "Colds and fits.", marks), ("two", "Fever and gout.", marks))
    page = show(mine, project, first)
    press(page, "i")
    page.locator("linnet-card", has_text="Common cold").wait_for()
    press(page, "i")
    page.locator("linnet-card").wait_for(state="detached")
    press(page, "t")
    page.get_by_role("dialog").get_by_label("Type", exact=True).fill("Symptom")
    press(page, "Enter")
    saved(page)
    assert standing(me, first)[0]["types"] == ["Symptom"]
    page.keyboard.down("h")
    page.locator(".text.hide-marks").wait_for()
    page.keyboard.up("h")
    page.locator(".text.hide-marks").wait_for(state="detached")
    press(page, "v")
    page.get_by_role("checkbox", name="USER").uncheck()  # what somebody has changed
    press(page, "Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator(".text mark").wait_for(state="detached")
    for key, there in ((".", second), (",", first)):
        press(page, key)
        page.wait_for_url(re.compile(rf"/a/{there}$"))
        page.locator(".text:focus .passage").first.wait_for()


def test_keys_go_to_screens_and_panels(mine: Tab, ready: tuple[int, int]) -> None:
    project, assignment = ready
    page = show(mine, project, assignment)
    for key, panel in (("F6", "Candidates"), ("F6", "Mentions"), ("F6", "Text"), ("Shift+F6", "Mentions")):
        press(page, key)
        assert str(page.evaluate("() => document.activeElement.getAttribute('aria-label')")).startswith(panel)
    # a field has the focus where concepts are searched: the panel beside it leads out
    for keys, path in (("gq", ""), ("gk", "/concepts"), ("gt", "/models"), ("gj", "/adjudicate"), ("gm", "/team")):
        press(page, "F6", *keys)
        page.wait_for_url(re.compile(rf"#/p/{project}{path}$"))
        page.locator("h1").first.wait_for()
        if path == "/concepts":  # the field takes the focus once it is drawn
            page.wait_for_function("() => document.activeElement.matches('input')")
    press(page, *"ga")
    page.wait_for_url(re.compile(rf"/a/{assignment}$"))


def test_all_actions_are_in_the_sheet_and_in_the_palette(mine: Tab, ready: tuple[int, int]) -> None:
    project, assignment = ready
    page = show(mine, project, assignment)
    table = page.evaluate("async () => (await import('/keys.js')).TABLE.map((one) => [one.context, one.label])")
    press(page, "?")
    sheet = page.get_by_role("dialog", name="Keys")
    assert sheet.locator("td").all_inner_texts() == [label for _, label in table]
    press(page, "Escape")
    found = offered(page)
    press(page, "/")
    page.locator(".picker [role=option]").first.wait_for()
    found |= offered(page)
    mine.open(f"#/p/{project}").locator(".queue-panel").wait_for()
    found |= offered(page)
    # those of adjudications are looked for where one is on the screen
    left = {label for context, label in table if context != "adjudicate" and label not in found}
    assert left == {"Find an action"}
    page = show(mine, project, assignment)
    press(page, "Control+k")
    page.keyboard.type("last mention")
    press(page, "Enter")
    page.locator(".list-panel [aria-selected=true]", has_text="fits").wait_for()


def offered(page: Page) -> set[str]:
    """Return the actions that the palette offers now."""
    press(page, "Control+k")
    palette = page.get_by_role("dialog", name="Find an action")
    found = set(palette.locator("[role=option] > span:first-child").all_inner_texts())
    press(page, "Escape")
    palette.wait_for(state="detached")
    return found


def test_keys_are_changed_and_switched_off(mine: Tab, me: Person) -> None:
    project, [assignment] = marked(me, ("gold", "Colds and fits.", [(0, 5, "X:2"), (10, 14, "HP:0001250")]))
    page = mine.open("#/settings")
    page.locator("summary", has_text="Decide").press("Enter")
    more = page.locator("[data-add=accept]")
    for key, told in (("Home", "Home is “First mention” already"), ("F9", "F9 does it now")):
        more.press("Enter")
        press(page, key)
        mine.wait_until_said(told)
    page = show(mine, project, assignment)
    press(page, "F9")
    saved(page)
    assert len(live(me, assignment)) == 1
    page = mine.open("#/settings")
    page.get_by_role("button", name="Switch off single letters").press("Enter")
    press(page, "Enter")
    mine.wait_until_said("are switched off")
    page = show(mine, project, assignment)
    press(page, *"aurx1")
    press(page, "Control+Enter")  # which is no single letter
    page.get_by_role("dialog", name="Some mentions are undecided").wait_for()
    assert len(standing(me, assignment)) == 1


# --- the pointer ------------------------------------------------------------------------------------------------------

BOX = """([start, end]) => { const {view} = document.querySelector('linnet-annotate');
  const {left, right, top, bottom} = view.rangeOf(start, end).getBoundingClientRect();
  return [left, right, (top + bottom) / 2]; }"""


def drag(page: Page, start: int, end: int) -> None:
    left, right, y = page.evaluate(BOX, [start, end])
    page.mouse.move(left + 1, y)
    page.mouse.down()
    page.mouse.move(right - 1, y, steps=4)
    page.mouse.up()


def click(page: Page, at: int, *held: str) -> None:
    left, _, y = page.evaluate(BOX, [at, at + 1])
    for key in held:
        page.keyboard.down(key)
    page.mouse.click(left + 2, y)
    for key in held:
        page.keyboard.up(key)


def chosen(page: Page, wanted: str) -> None:
    """Wait until these words are selected."""
    page.locator(".side-panel", has_text="Selected.").locator("h2", has_text=f"“{wanted}”").wait_for()


def test_the_pointer_selects(mine: Tab, me: Person) -> None:
    text = "Recurrent fits, at night and by day."
    page, assignment = plain(me, mine, text)
    drag(page, 10, 16)
    chosen(page, "fits")  # without comma and blank
    page.keyboard.down("Control")
    drag(page, 19, 24)
    page.keyboard.up("Control")
    chosen(page, "fits … night")
    press(page, "Enter")
    saved(page)
    assert words(me, assignment, text) == ["fits … night"]
    click(page, 25)
    click(page, 33, "Shift")
    chosen(page, "and by day")
    press(page, "Escape", "v")
    page.get_by_label("Selections snap to words").uncheck()
    press(page, "Escape")
    drag(page, 2, 7)
    chosen(page, "curre")
    drag(page, 15, 18)
    chosen(page, "at")  # blanks go all the same


def test_the_pointer_reaches_mentions_within_mentions(mine: Tab, me: Person) -> None:
    nested = [(7, 25, "HP:0001631"), (12, 25, "HP:0000175"), (12, 17, "HP:0004322")]
    project, [assignment] = marked(me, ("gold", "Severe left heart failure.", nested))
    page = show(mine, project, assignment)
    for wanted in ("heart", "heart failure", "left heart failure", "heart"):
        click(page, 13)
        assert current(page) == wanted


def test_a_finger_selects_and_decides(me: Person, tabs: Callable[..., Tab]) -> None:
    tab = tabs(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    enter(tab, me)
    text = "Recurrent fits, at night."
    page, assignment = plain(me, tab, text)
    # a long press is the system's: what reaches the page is that words are selected, without a pointer that is let go
    page.evaluate(
        """([start, end]) => { const {view} = document.querySelector('linnet-annotate');
          getSelection().addRange(view.rangeOf(start, end)); }""",
        [10, 14],
    )
    chosen(page, "fits")
    page.get_by_role("toolbar").get_by_role("button", name="Accept").first.tap()
    saved(page)
    assert words(me, assignment, text) == ["fits"]


# --- a queue ----------------------------------------------------------------------------------------------------------


def test_time_and_count_are_shown_after_some_documents(mine: Tab, me: Person) -> None:
    project = me.project(*((f"note-{number}", f"{number}: seizures.") for number in range(5)))
    predict(me, project)
    works = me.draw(project, 5)
    page = show(mine, project, works[0])
    for number in range(1, 5):
        select(page, "sei")
        press(page, "Enter", "u")  # decided, whether it came with a suggestion or not
        press(page, "Control+Enter")
        page.wait_for_url(re.compile(rf"/a/{works[number]}$"))
        page.locator(".text:focus .passage").first.wait_for()
    press(page, *"gq")
    page.get_by_text(re.compile(r"1 document to read, about \d+ min")).wait_for()
    page.get_by_role("region", name="Progress").get_by_text("4 of 5 documents done").first.wait_for()


MEANT = {"Seizures": "HP:0001250", "common cold": "X:2", "Short stature": "HP:0004322"}
SENTENCES = ("Seizures at night. ", "A common cold. ", "Short stature. ")  # of which the dictionary is not equally sure
FILLED = "Nothing else was found that day. "


def readings() -> list[tuple[str, str]]:
    """Return notes that differ in mentions for their length."""
    said = [[SENTENCES[(number + at) % 3] for at in range(4 + number % 4)] for number in range(32)]
    return [(f"note {number}", "".join(some) + FILLED * (number % 5)) for number, some in enumerate(said)]


def test_the_queue_is_ordered_by_expected_errors(mine: Tab, me: Person) -> None:
    project = me.project(settings={"strategy": "random"})
    lines = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in readings())
    me.ask("POST", f"/projects/{project}/pastes", {"name": "notes.jsonl", "text": lines, "format": "jsonl"})
    predict(me, project)
    page = mine.open(f"#/p/{project}")
    page.get_by_label("How many").fill("18")
    page.get_by_role("button", name="Get documents").press("Enter")
    mine.wait_until_said(
        "Drawn: by chance. The project is at its start: the model chooses once there are 50 more links"
    )
    texts = dict(readings())
    for number, one in enumerate(me.ask("GET", f"/projects/{project}/assignments")["assignments"]):
        found = [(each.span(), id) for name, id in MEANT.items() for each in re.finditer(name, texts[one["ext_id"]])]
        made = [{"op": "create", "parts": [list(place)], "concepts": [id]} for place, id in found]
        right = made if number % 6 else made[1:]  # a few suggestions are wrong: else there is nothing to estimate
        give(me, one["assignment"], *right, {"op": "done"})
    page.get_by_role("button", name="Settings").press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is read next").select_option("expected_error")
    dialog.get_by_role("button", name="Save the settings").press("Enter")
    dialog.wait_for(state="detached")
    page.get_by_label("How many").fill("10")
    page.get_by_role("button", name="Get more documents").press("Enter")
    mine.wait_until_said("Drawn: expected errors per minute. The probabilities are calibrated, on")
    names = page.locator(".queue-list .doc-name")
    names.nth(9).wait_for()
    everything = me.ask("GET", f"/projects/{project}/assignments")["assignments"]
    waiting = [one for one in everything if one["state"] == "open"]
    assert names.all_inner_texts() == [one["ext_id"] for one in waiting]
    values = [value for one in waiting if (value := expected(me, project, one["assignment"])) is not None]
    assert falling(values) >= len(waiting) - 2  # a fifth is drawn by chance, and stands anywhere
    page.get_by_role("button", name="Estimate again").press("Enter")
    shown = page.get_by_role("region", name="Progress")
    shown.get_by_text(re.compile(r"\(95 %: \d+ to \d+\)")).wait_for()
    shown.get_by_text("in 4 documents").wait_for()


def expected(me: Person, project: int, assignment: int) -> float | None:
    """Return the expected errors a minute, by hand: Σ (1 − p) in 5 s, and 42 ms a character, and 4 s a mention."""
    read = me.ask("GET", f"/assignments/{assignment}")
    if not read["pred"]:
        return None  # drawn by chance, to be read without suggestions
    length = len(me.ask("GET", f"/projects/{project}/documents/{read['document']}")["text"])
    minutes = (5_000 + 42 * length + 4_000 * len(read["pred"])) / 60_000
    return float(sum(1 - one["p"] for one in read["pred"]) / minutes)


def falling(values: Sequence[float]) -> int:
    """Return how many of these are in falling order, at most, where others are left out."""
    longest: list[int] = []
    for at, value in enumerate(values):
        before = [longest[place] for place in range(at) if values[place] >= value]
        longest.append(1 + max(before, default=0))
    return max(longest, default=0)


# --- several people ---------------------------------------------------------------------------------------------------

HEARD = "() => { window.heard = []; new MutationObserver(() => window.heard.push(assertive.textContent))"


def test_a_conflict_shows_three_values_and_is_said_at_once(mine: Tab, me: Person) -> None:
    page, _, assignment = work(me, mine, NOTES[0])
    page.evaluate(HEARD + ".observe(document.getElementById('assertive'), {childList: true}); }")
    [first, second, *_] = [one["id"] for one in me.ask("GET", f"/assignments/{assignment}")["pred"]]
    press(page, "n", "a", "z")
    mine.wait_until_said("Undone")
    saved(page)
    assert page.evaluate("() => window.heard") == []  # what goes well interrupts nobody
    press(page, "Home")
    page.context.set_offline(True)
    press(page, "r")
    page.get_by_text("1 waiting").wait_for()
    page.wait_for_function("() => window.heard.some((one) => one.includes('your decisions are kept here'))")
    give(me, assignment, {"op": "accept", "mention": first}, {"op": "accept", "mention": second})
    page.context.set_offline(False)
    mine.wait_until_said("You have changed “Seizures”")
    dialog = page.get_by_role("dialog")
    said = dict(zip(dialog.locator("dt").all_inner_texts(), dialog.locator("dd").all_inner_texts(), strict=True))
    assert said == {
        "Before": "as it was suggested, or nothing",
        "You, in another tab": "Seizures: Seizure",
        "You, here": "rejected",
    }


def test_nothing_of_another_reader_is_sent(me: Person, tabs: Callable[..., Tab]) -> None:
    project = me.project(NOTES[0], settings={"annotators": 2})
    alice, bob = me.invite(project, name="Alice"), me.invite(project, name="Bob")
    [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    hers, his = me.give(project, [document], alice, bob)
    tab = tabs()
    enter(tab, bob)
    told = told_to(tab.page)
    answers: list[Response] = []
    tab.page.on("response", lambda answer: answers.append(answer) if PREFIX in answer.url else None)
    page = show(tab, project, his)
    give(alice, hers, {"op": "create", "parts": [[37, 50]], "concepts": ["X:1"]}, {"op": "comment", "text": "taint"})
    give(alice, hers, {"op": "done"})
    [mark] = live(alice, hers)
    select(page, "birth")
    press(page, "Enter")
    saved(page)
    press(page, *"gq")
    page.get_by_text("0 of 2 readings done").wait_for()  # hers does not count before his is done
    for _ in range(50):  # the stream comes a moment later
        if any("assignment" in one for one in told):
            break
        page.wait_for_timeout(100)
    assert {one["assignment"] for one in told if "assignment" in one} == {his}
    bodies = [body_of(one) for one in answers if not one.url.endswith("/stream")]
    assert sum(map(bool, bodies)) > len(bodies) / 2
    sent = [json.dumps(told), page.content(), *bodies]
    for secret in ("taint", mark["id"], f'"assignment":{hers}', f'"id":{hers},'):
        assert not [text for text in sent if secret in text], secret


def body_of(answer: Response) -> str:
    """Return the body of an answer, "" if the browser holds it no more: it keeps so many bytes of all its pages."""
    from playwright.sync_api import Error  # not installed where these tests are skipped

    try:
        body: str = answer.text()
    except Error:
        return ""
    return body


def told_to(page: Page) -> list[dict[str, Any]]:
    """Return a list that takes up what the stream tells a page."""
    heard: list[dict[str, Any]] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.eventSourceMessageReceived", lambda event: heard.append(json.loads(event["data"])))
    return heard


def disputed(me: Person) -> tuple[int, int]:
    """Return a project and an adjudication with four conflicts."""
    project = me.project(NOTES[0], settings={"annotators": 2})
    readers = [me.invite(project, name=name) for name in ("Alice", "Bob")]
    [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    for person, assignment, concept in zip(
        readers, me.give(project, [document], *readers), ("HP:0001250", "X:2"), strict=True
    ):
        places = ([0, 8], [22, 35], [37, 50], [55, 65])
        made = ({"op": "create", "parts": [place], "concepts": [concept]} for place in places)
        give(person, assignment, *made, {"op": "done"})
    asked = {"documents": [document], "users": [me.user], "kind": "adjudicate"}
    return project, int(me.ask("POST", f"/projects/{project}/assignments", asked)["assignments"][0])


def test_four_conflicts_are_settled_by_keys_and_pointer(mine: Tab, me: Person) -> None:
    project, assignment = disputed(me)
    for width in (320, 1920):
        mine.page.set_viewport_size({"width": width, "height": 900})
        page = mine.open(f"#/p/{project}/adjudicate/{assignment}")
        page.locator(".text:focus").wait_for()
        assert mine.wide() == []
    assert mine.faults() == []
    table = page.evaluate("async () => (await import('/keys.js')).TABLE.filter((one) => one.context === 'adjudicate')")
    assert {one["label"] for one in table} <= offered(page)
    page.get_by_text("0 of 4 conflicts settled").wait_for()
    press(page, "1", "2", "/")
    page.keyboard.type("short toe")
    page.locator(".picker [role=option]").filter(has_text="Short toe").first.wait_for()
    press(page, "Enter")
    page.get_by_text("3 of 4 conflicts settled").wait_for()
    page.locator(".answer.right").get_by_role("button").click()
    page.get_by_text("4 of 4 conflicts settled").wait_for()
    saved(page)
    left, right, other, last = (one["concepts"] for one in sorted(live(me, assignment), key=lambda one: one["parts"]))
    assert {*left, *right} == {"HP:0001250", "X:2"}  # which reader stands on the left is left to chance
    assert (other, last) == (["HP:0001831"], right)
    press(page, "Control+Enter")
    page.wait_for_url(re.compile(r"/adjudicate$"))
    assert me.ask("GET", f"/assignments/{assignment}")["state"] == "done"


# --- what others type -------------------------------------------------------------------------------------------------

BAD = "<img src=x onerror=globalThis.harm=1>"
HARM = "() => [globalThis.harm, document.querySelectorAll('img[src=x], [onerror]').length]"


@pytest.fixture(scope="module")
def bad_kb(site: Site) -> str:
    """A knowledge base whose concept is called like markup."""
    path = Path(os.environ["LINNET_HOME"]) / "kb" / "bad.kb"
    build([Concept("B:1", (Name(f"{BAD} pain"), Name("ache")), (BAD,), f"{BAD} means pain")], path)
    return path.stem


def test_markup_stays_text(tab: Tab, site: Site, bad_kb: str) -> None:
    person = site.person(BAD, admin=True)
    project = int(person.ask("POST", "/projects", {"name": f"{BAD} {bad_kb}", "kb": bad_kb})["project"])
    enter(tab, person)
    page = tab.open(f"#/p/{project}")
    page.get_by_role("button", name="Paste text").press("Enter")
    page.get_by_label("Text", exact=True).fill(f"An ache, and {BAD} pain.")
    page.get_by_label("Name", exact=True).fill(BAD)
    page.get_by_role("button", name="Add the text").press("Enter")
    tab.wait_until_said("1 new")
    page.get_by_role("button", name="Guidelines").press("Enter")
    page.get_by_role("button", name="Write them").press("Enter")
    page.get_by_label("as Markdown").fill(f"# {BAD}")
    assert tab.faults() == []
    page.get_by_role("button", name="Save as version 1").press("Enter")
    page.locator(".guideline", has_text=BAD).wait_for()
    assert page.evaluate(HARM) == [None, 0]
    annotate(tab, project, person.take(project)[0])
    page.keyboard.press("Escape")
    for path, place in (("", ".queue-panel"), ("/concepts/B:1", ".card-name"), ("/team", "table")):
        page.evaluate(GO, f"#/p/{project}{path}")
        page.locator(place, has_text=BAD).first.wait_for()
        assert page.evaluate(HARM) == [None, 0], path
    page.get_by_role("tab", name="Event log").press("Enter")
    page.locator("table.log", has_text=BAD).wait_for()
    assert page.evaluate(HARM) == [None, 0]


def annotate(tab: Tab, project: int, assignment: int) -> None:
    """Meet such a concept, and write such a comment."""
    page = show(tab, project, assignment)
    assert BAD in page.locator(".text").inner_text()
    assert BAD in page.title()
    select(page, "ach")
    press(page, "Enter")
    page.locator(".candidates", has_text=BAD).wait_for()
    press(page, "1")
    saved(page)
    press(page, "c")
    page.keyboard.type(BAD)
    press(page, "Control+Enter")
    page.locator(".comment", has_text=BAD).wait_for()
    press(page, "i")
    page.locator("linnet-card", has_text=BAD).wait_for()
    press(page, "g", "d")
    page.get_by_role("dialog").locator(".guideline", has_text=BAD).wait_for()
    press(page, "Escape", "/")
    page.keyboard.type("ache")
    page.locator(".picker [role=option]", has_text=BAD).wait_for()
    assert page.evaluate(HARM) == [None, 0]


# --- access -----------------------------------------------------------------------------------------------------------

SCREENS = {
    "annotate": "/a/{}", "project": "", "concepts": "/concepts/HP:0001250", "models": "/models",
    "adjudicate": "/adjudicate", "team": "/team",
}  # fmt: skip
# targets below 24 pixels, but for links within a sentence and for what a label of that size stands for (WCAG 2.5.8)
SMALL = """() => [...document.querySelectorAll(
    'a[href], button, input, select, textarea, summary, [role=option], [role=tab]')]
  .filter((one) => one.checkVisibility() && !one.closest('.unseen, .skip, p') && !one.matches('label > input'))
  .filter((one) => { const box = one.getBoundingClientRect(); return box.width < 24 || box.height < 24; })
  .map((one) => one.outerHTML.slice(0, 160))"""
# the distances of WCAG 1.4.12, as a reader's own style sheet sets them
SPACED = """(yes) => { const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }
    p { margin-bottom: 2em !important }`);
  document.adoptedStyleSheets = yes ? [sheet] : []; }"""
# text that is cut off, but for definitions, which details show whole
CUT = """() => [...document.querySelectorAll('body *')]
  .filter((one) => one.checkVisibility() && one.innerText && !one.closest('.unseen, .skip, .definition'))
  .filter((one) => { const style = getComputedStyle(one), hides = (way) => ['hidden', 'clip'].includes(way);
    return hides(style.overflowX) && one.scrollWidth > one.clientWidth + 1
      || hides(style.overflowY) && one.scrollHeight > one.clientHeight + 1; })
  .map((one) => one.outerHTML.slice(0, 160))"""


def visit(page: Page, ready: tuple[int, int], screen: str) -> None:
    """Go to a screen of a project, as a link does."""
    project, assignment = ready
    page.evaluate(GO, f"#/p/{project}{SCREENS[screen].format(assignment)}")
    page.locator(f"main.{screen} :is(.panel, .passage)").first.wait_for()
    page.wait_for_timeout(200)


@pytest.mark.parametrize("width", [1280, 320])
def test_screens_can_be_hit_and_spaced(
    me: Person, tabs: Callable[..., Tab], ready: tuple[int, int], width: int
) -> None:
    tab = tabs(viewport={"width": width, "height": 800})
    enter(tab, me)
    page = tab.open("#/")
    for screen in SCREENS:
        page.evaluate(SPACED, False)
        visit(page, ready, screen)
        assert page.evaluate(SMALL) == [], screen
        page.evaluate(SPACED, True)
        assert page.evaluate(CUT) == [], screen
        assert tab.wide() == [], screen


def test_names_hold_what_is_written(mine: Tab, ready: tuple[int, int]) -> None:
    from axe_playwright_python.base import AXE_SCRIPT

    page = mine.open("#/")
    page.evaluate(AXE_SCRIPT)
    for screen in SCREENS:
        visit(page, ready, screen)
        rule = {"runOnly": {"type": "rule", "values": ["label-content-name-mismatch"]}}
        assert page.evaluate("(rule) => axe.run(document, rule)", rule)["violations"] == [], screen


@pytest.mark.parametrize(("width", "scheme"), [(1920, "light"), (320, "dark")])
def test_a_document_on_wide_and_narrow_screens(
    me: Person, tabs: Callable[..., Tab], ready: tuple[int, int], width: int, scheme: str
) -> None:
    tab = tabs(viewport={"width": width, "height": 800}, color_scheme=scheme)
    enter(tab, me)
    page = show(tab, *ready)
    assert tab.faults() == []
    assert tab.wide() == []
    assert page.evaluate("() => [document.documentElement.lang, document.querySelector('.text').lang]") == ["en", "und"]
    lines = """() => { const text = document.querySelector('.text'), probe = document.createElement('span');
      probe.textContent = '0'.repeat(80); text.append(probe);
      const {width} = probe.getBoundingClientRect(); probe.remove();
      return text.getBoundingClientRect().width / width; }"""
    assert page.evaluate(lines) <= 1.001  # eighty characters in a line at most


def test_nothing_moves_for_who_wants_no_motion(mine: Tab) -> None:
    page = mine.open("#/")
    moving = """async () => { (await import('/base.js')).toast('There'); await new Promise(requestAnimationFrame);
      return document.getAnimations().length; }"""
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) > 0


STOP = """() => { const one = document.activeElement, box = one.getBoundingClientRect(), shares = [.1, .5, .9];
  const places = shares.flatMap((x) => shares.map((y) => [box.left + box.width * x, box.top + box.height * y]));
  const seen = places.some(([x, y]) => { const there = document.elementFromPoint(x, y); return one.contains(there); });
  const name = one.getAttribute('aria-label') || one.innerText || one.id;
  return one === document.body ? null : [name, seen && getComputedStyle(one).outlineStyle !== 'none']; }"""


def test_the_focus_is_seen_wherever_tab_leads(mine: Tab, ready: tuple[int, int]) -> None:
    page = mine.open("#/")
    for screen in ("annotate", "project"):
        visit(page, ready, screen)
        page.evaluate("document.querySelector('.brand').focus({focusVisible: true})")
        stops: list[list[Any]] = []
        while (stop := page.evaluate(STOP)) and len(stops) < 60:
            stops.append(stop)
            press(page, "Tab")
        assert stops[0][0] == "Linnet"
        assert 20 < len(stops) < 60, screen  # it ends
        assert [name for name, seen in stops if not seen] == [], screen


def test_the_focus_stays_where_mentions_go(mine: Tab, me: Person) -> None:
    page, _, _ = work(me, mine, NOTES[0])
    names = page.locator(".list-panel [role=option] .words").all_inner_texts()
    for place, mentions in ((".text", names[1]), (".list-panel [role=listbox]", names[2])):
        page.locator(place).focus()
        press(page, "x")
        option(page).locator(".words", has_text=mentions).wait_for()
        assert page.locator(f"{place}:focus").count() == 1
    reject = page.get_by_role("toolbar").get_by_role("button", name="Reject")
    reject.press("Enter")
    option(page).locator(".words", has_text=names[3]).wait_for()
    assert reject.evaluate("(one) => one === document.activeElement")


def test_dialogs_are_open_to_all(mine: Tab, me: Person) -> None:
    project = me.project(NOTES[0])
    version = me.ask("GET", f"/projects/{project}")["kb_version"]
    proposal = {"name": "odd gait", "types": [], "parent": "", "note": ""}
    me.ask("POST", f"/kb/{version}/propose?project={project}", proposal)
    page = mine.open("#/")
    for hash, tabbed, buttons in (
        ("#/", "", ["New project"]),
        (f"#/p/{project}", "", ["Settings", "Paste text"]),
        (f"#/p/{project}/concepts", "", ["Propose"]),
        (f"#/p/{project}/team", "New concepts", ["Decline", "Map"]),
        ("#/settings", "", ["Switch off single"]),
    ):
        page.evaluate(GO, hash)
        if tabbed:
            page.get_by_role("tab", name=tabbed).press("Enter")
        for name in buttons:
            button = page.get_by_role("button", name=name).first
            button.press("Enter")
            page.get_by_role("dialog").get_by_role("button").nth(1).wait_for()
            assert mine.faults() == [], name
            assert mine.wide() == [], name
            press(page, "Escape")
            page.get_by_role("dialog").wait_for(state="detached")
            assert button.evaluate("(one) => one === document.activeElement"), name


def test_the_pointer_goes_on_with_shift_and_exactly_with_alt(mine: Tab, me: Person) -> None:
    page, _ = plain(me, mine, "Recurrent fits, at night and by day.")
    drag(page, 25, 28)
    chosen(page, "and")
    click(page, 33, "Shift")
    chosen(page, "and by day")
    click(page, 20, "Shift")
    chosen(page, "night and by day")
    press(page, "Escape")
    page.keyboard.down("Alt")
    drag(page, 25, 27)
    page.keyboard.up("Alt")
    chosen(page, "an")


def test_buttons_that_go_leave_the_focus_in_the_text(mine: Tab, me: Person) -> None:
    page, _, _ = work(me, mine, NOTES[0])
    acts, edges = page.get_by_role("toolbar"), page.get_by_role("group", name="Edges")
    for name in ("Keep", "Cancel"):
        acts.get_by_role("button", name="Edges").press("Enter")
        edges.get_by_role("button", name=name).press("Enter")
        page.locator(".text:focus").wait_for()
    press(page, "r")
    page.get_by_text("1 mention ruled out").press("Enter")
    page.get_by_role("button", name="Bring back").press("Enter")
    page.locator(".text:focus").wait_for()
    press(page, "z")
    page.get_by_role("button", name="Close the message").first.press("Enter")
    page.locator(".text:focus").wait_for()


def test_marks_that_the_palette_hides_stay_hidden_until_it_shows_them(mine: Tab, ready: tuple[int, int]) -> None:
    page = show(mine, *ready)
    for hidden in (1, 0):
        page.get_by_role("banner").get_by_role("button", name="Find an action").press("Enter")
        page.keyboard.type("hide marks")
        press(page, "Enter")
        page.locator("dialog").wait_for(state="detached")
        page.wait_for_timeout(100)
        assert page.locator(".text.hide-marks").count() == hidden


@pytest.mark.parametrize(("width", "height"), [(380, 600), (1000, 500)])
def test_buttons_below_hide_nothing_that_has_the_focus(
    me: Person, tabs: Callable[..., Tab], ready: tuple[int, int], width: int, height: int
) -> None:
    tab = tabs(viewport={"width": width, "height": height})
    enter(tab, me)
    page = show(tab, *ready)
    page.evaluate("document.querySelector('.brand').focus({focusVisible: true})")
    for key in ("Tab", "Shift+Tab"):
        for _ in range(40):
            press(page, key)
            stop = page.evaluate(STOP)
            if not stop:
                break
            assert stop[1], stop[0]


def test_rows_of_a_long_list_have_their_number(mine: Tab, me: Person) -> None:
    marks = [(4 * at, 4 * at + 3, "X:1") for at in range(400)]
    project, [assignment] = marked(me, ("long", "ill " * 400, marks))
    page = show(mine, project, assignment)
    press(page, "End")
    row = option(page)
    assert [row.get_attribute(f"aria-{name}") for name in ("posinset", "setsize")] == ["400", "400"]


def test_escape_keeps_the_words_of_a_comment(mine: Tab, ready: tuple[int, int]) -> None:
    page = show(mine, *ready)
    press(page, "c")
    page.get_by_role("dialog").get_by_role("textbox").fill("Ask her mother.")
    press(page, "Escape")
    page.locator(".text:focus").wait_for()
    press(page, "c")
    assert page.get_by_role("dialog").get_by_role("textbox").input_value() == "Ask her mother."
