"""Decisions on their way: none is lost, doubled, put over another's, or given to a mention that nobody looked at."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from linnet.annotate.api.access import PREFIX
from tests.browser.workbench.site import NOTES, PASSWORD, Person
from tests.browser.workbench.tab import Tab
from tests.browser.workbench.test_document import live, predicted, press, saved, select, show, standing, words, work

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COMMANDS = "**/assignments/*/commands"


def answer_commands(tab: Tab, status: int, type: str, body: str) -> None:
    """Have commands answered by somebody between, as proxies do, until nobody does any more (`unroute`)."""
    tab.intercept(COMMANDS, lambda route: route.fulfill(status=status, content_type=type, body=body))


@pytest.mark.parametrize(
    ("status", "type", "body"),
    [
        (500, "application/problem+json", json.dumps({"type": "/problems/failed", "detail": "It failed"})),
        (403, "text/html", "<p>Blocked</p>"),
        (200, "text/html", "<form>Sign in to the hospital's network</form>"),
        (200, "application/json", "{}"),
        (503, "text/plain", "later"),
    ],
)
def test_what_may_pass_loses_nothing(mine: Tab, me: Person, status: int, type: str, body: str) -> None:
    page, _, assignment = work(me, mine, NOTES[0])
    answer_commands(mine, status, type, body)
    press(page, "a")
    page.get_by_text("1 waiting").wait_for()
    page.unroute(COMMANDS)
    saved(page)  # at the next attempt
    assert len(live(me, assignment)) == 1
    mine.complaints = [one for one in mine.complaints if f"status of {status}" not in one]


def test_a_session_that_another_tab_began_is_taken_over(mine: Tab, me: Person) -> None:
    page, _, assignment = work(me, mine, NOTES[0])
    mine.context.request.post(f"{PREFIX}/session", data={"name": me.name, "password": PASSWORD})
    press(page, "a", "r")
    saved(page)
    assert [one["state"] for one in standing(me, assignment)] == ["live", "rejected"]


def decide(me: Person, assignment: int, op: str, *mentions: str) -> None:
    """Decide as another window does."""
    seq = me.ask("GET", f"/assignments/{assignment}")["seq"]
    for mention in mentions:
        command = {"id": str(uuid.uuid4()), "op": op, "mention": mention}
        me.ask("POST", f"/assignments/{assignment}/commands", {"commands": [command]}, **{"If-Match": f'"{seq}"'})
        seq = me.ask("GET", f"/assignments/{assignment}")["seq"]


def test_each_decision_that_others_changed_is_asked_about(mine: Tab, me: Person) -> None:
    page, _, assignment = work(me, mine, NOTES[0])
    first, second, *_ = [one["id"] for one in me.ask("GET", f"/assignments/{assignment}")["pred"]]
    page.context.set_offline(True)
    press(page, "r", "r")
    page.get_by_text("2 waiting").wait_for()
    decide(me, assignment, "accept", first, second)
    page.context.set_offline(False)
    for surface in ("Seizures", "Short stature"):
        page.get_by_role("heading", name=f"You have changed “{surface}”").wait_for()
        page.get_by_role("button", name="Keep the other one").press("Enter")
    saved(page)
    assert [one["state"] for one in standing(me, assignment)] == ["live", "live"]


def test_what_was_seen_before_counts_and_not_what_was_read_since(mine: Tab, me: Person) -> None:
    page, project, assignment = work(me, mine, NOTES[0])
    first = me.ask("GET", f"/assignments/{assignment}")["pred"][0]["id"]
    mine.intercept(COMMANDS, lambda route: route.abort())
    press(page, "r")
    page.get_by_text("1 waiting").wait_for()
    decide(me, assignment, "accept", first)
    page.wait_for_timeout(1500)  # the screen hears of it
    page.unroute(COMMANDS)
    mine.open(f"#/p/{project}/a/{assignment}")  # and is opened anew
    page.get_by_role("heading", name="You have changed").wait_for()
    with page.expect_response(COMMANDS):
        press(page, "Enter")  # mine
    saved(page)
    assert [one["state"] for one in standing(me, assignment)] == ["rejected"]


def test_own_decisions_are_nobody_elses(mine: Tab, me: Person) -> None:
    """One decision after the other on the same mention, while somebody changes another one, is no conflict."""
    page, _, assignment = work(me, mine, NOTES[0])
    last = me.ask("GET", f"/assignments/{assignment}")["pred"][-1]["id"]
    page.context.set_offline(True)
    press(page, "n", "p", "u", "k", "u", "k", "r")
    page.get_by_text("3 waiting").wait_for()
    decide(me, assignment, "accept", last)
    page.context.set_offline(False)
    saved(page)
    assert page.get_by_role("dialog").count() == 0
    assert sorted(one["state"] for one in standing(me, assignment)) == ["live", "rejected"]


def test_two_tabs_keep_what_each_has_not_sent(mine: Tab, me: Person) -> None:
    page, project, assignment = work(me, mine, NOTES[0])
    other = page.context.new_page()
    other.goto(page.url)
    other.locator(".text:focus .passage").first.wait_for()
    page.context.set_offline(True)
    press(page, "r")
    press(other, "n", "a")
    other.get_by_text("1 waiting").wait_for()
    other.close(run_before_unload=False)
    page.goto("about:blank")
    page.context.set_offline(False)
    show(mine, project, assignment)
    saved(page)
    assert sorted(one["state"] for one in standing(me, assignment)) == ["live", "rejected"]


def test_a_conflict_of_a_document_that_was_left_names_it(mine: Tab, me: Person) -> None:
    project = predicted(me, *NOTES)
    documents = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    first, second, _ = me.give(project, documents, me)
    page = show(mine, project, first)
    mention = me.ask("GET", f"/assignments/{first}")["pred"][0]["id"]
    page.context.set_offline(True)
    press(page, "r")
    decide(me, first, "accept", mention)
    page.evaluate("hash => { location.hash = hash; }", f"#/p/{project}/a/{second}")
    page.context.set_offline(False)
    page.get_by_role("heading", name="You have changed “Seizures” in “note-1”").wait_for()
    press(page, "Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    page.wait_for_timeout(1000)
    assert [one["state"] for one in standing(me, first)] == ["rejected"]
    assert standing(me, second) == []
    mine.complaints = [one for one in mine.complaints if "ERR_INTERNET_DISCONNECTED" not in one]


def test_a_mention_that_is_gone_gets_no_concept_of_another(mine: Tab, me: Person) -> None:
    page, _, assignment = work(me, mine, NOTES[0])
    first = me.ask("GET", f"/assignments/{assignment}")["pred"][0]["id"]
    press(page, "/")
    page.locator(".picker [role=option]").first.wait_for()
    decide(me, assignment, "reject", first)
    mine.wait_until_said("is gone")
    press(page, "Enter")
    page.wait_for_timeout(500)
    assert live(me, assignment) == []


def test_after_the_last_one_digits_are_about_what_is_shown(mine: Tab, me: Person) -> None:
    page, _, _ = work(me, mine, NOTES[1])
    count = page.locator(".list-panel [role=option]").count()
    press(page, *"r" * (count - 1))
    mine.wait_until_said("1 of 1")
    assert page.locator(".list-panel [role=option]").count() == 1


def test_reject_goes_to_the_next_one(mine: Tab, me: Person) -> None:
    page, _, _ = work(me, mine, NOTES[0])
    names = page.locator(".list-panel [role=option] .words").all_inner_texts()
    press(page, "r")
    current = page.locator(".list-panel [role=option][aria-selected=true] .words")
    current.filter(has_text=names[1]).wait_for()
    press(page, "x")
    current.filter(has_text=names[2]).wait_for()


def test_keys_are_about_what_is_selected(mine: Tab, me: Person) -> None:
    text = "Seizures and a common cold since birth."
    page, _, assignment = work(me, mine, ("selected", text))
    select(page, "birth")
    press(page, "r")
    mine.wait_until_said("Words are selected")
    press(page, "/")
    page.keyboard.type("short stat")
    page.locator(".picker [role=option]").filter(has_text="Short stature").first.wait_for()
    press(page, "Enter")
    page.locator("mark.user").wait_for()
    saved(page)
    assert words(me, assignment, text) == ["birth"]
    [made] = live(me, assignment)
    assert made["concepts"] == ["HP:0004322"]


def test_a_selection_within_a_mention_stays(mine: Tab, me: Person) -> None:
    text = "No seizures."
    page, _, assignment = work(me, mine, ("within", text))
    box = page.locator("mark").first.bounding_box()
    assert box
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_text("Selected.").wait_for()
    page.wait_for_timeout(500)
    assert page.get_by_text("Selected.").count() == 1
    press(page, "Escape")
    assert standing(me, assignment) == []


def test_what_stands_behind_a_dialog_rests(mine: Tab, me: Person) -> None:
    project = predicted(me, *NOTES)
    first, second, *_ = me.take(project)
    page = show(mine, project, first)
    press(page, "a")
    saved(page)
    press(page, "Control+Enter", "Control+Enter", "z")
    assert page.get_by_role("dialog").count() == 1
    press(page, "Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    assert len(live(me, first)) == 1
    states = {
        one["assignment"]: one["state"] for one in me.ask("GET", f"/projects/{project}/assignments")["assignments"]
    }
    assert (states[first], states[second]) == ("open", "open")


def test_the_stream_comes_back(mine: Tab, me: Person) -> None:
    broken = [2]

    def answer(route: Route) -> None:
        if broken[0]:
            broken[0] -= 1
            route.fulfill(status=429, content_type="text/html", body="later")
        else:
            route.continue_()

    mine.context.route("**/stream*", answer)
    page, _, assignment = work(me, mine, NOTES[0])
    first = me.ask("GET", f"/assignments/{assignment}")["pred"][0]["id"]
    count = page.locator(".list-panel [role=option]").count()
    decide(me, assignment, "reject", first)
    page.locator(f".list-panel [role=option]:nth-child({count - 1}):last-child").wait_for()


def test_a_document_that_cannot_be_opened_says_why(mine: Tab, me: Person) -> None:
    project = me.project(NOTES[0])
    page = mine.open(f"#/p/{project}/a/987654")
    page.get_by_role("heading", name="The document cannot be opened").wait_for()
    page.get_by_role("link", name="Back to the project").press("Enter")
    page.get_by_role("heading", name="Project", exact=False, level=1).wait_for()


def test_small_screens_show_the_mention_with_the_focus(me: Person, tabs: Callable[..., Tab]) -> None:
    tab = tabs(viewport={"width": 380, "height": 700})
    tab.sign_in(me)
    page, _, _ = work(me, tab, ("long", "Well. " * 300 + "Seizures and short stature."))
    press(page, "n", "p")
    page.wait_for_timeout(300)
    top = page.evaluate("document.querySelector('mark.focused, .focused').getBoundingClientRect().top")
    assert 0 <= top < 700
