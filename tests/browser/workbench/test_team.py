"""Two readers and a curator: nobody sees others' work before both are done, and conflicts are settled."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.browser.workbench.site import NOTES, Person
from tests.browser.workbench.tab import Tab
from tests.browser.workbench.test_document import live, predict, press, saved, show, standing

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCREENS = ("", "/concepts", "/concepts/HP:0001250", "/models", "/adjudicate", "/team")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_every_screen_is_open_to_all(me: Person, tabs: Callable[..., Tab], width: int, scheme: str) -> None:
    project = me.project(*NOTES)
    predict(me, project)
    me.draw(project)
    tab = tabs(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab.sign_in(me)
    for path in SCREENS:
        tab.open(f"#/p/{project}{path}")
        tab.page.wait_for_timeout(500)
        assert tab.faults() == [], path
        assert tab.wide() == [], path
        if width == 1280 and scheme == "light":
            tab.picture(path.strip("/").replace("/", "-").replace(":", "-") or "project")
    tab.open("#/settings")
    assert tab.faults() == []
    assert tab.wide() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_and_wide_spacing_lose_nothing(me: Person, tabs: Callable[..., Tab], scheme: str) -> None:
    project = me.project(NOTES[0])
    predict(me, project)
    [assignment] = me.take(project)
    tab = tabs(viewport={"width": 1280, "height": 800}, color_scheme=scheme, forced_colors="active")
    tab.sign_in(me)
    page = show(tab, project, assignment)
    page.evaluate(
        """() => { for (const one of document.querySelectorAll('*')) { one.style.setProperty('letter-spacing', '.12em');
          one.style.setProperty('word-spacing', '.16em'); } }"""
    )
    assert tab.wide() == []
    page.locator(".lane.pred").first.wait_for(state="attached")
    lines = page.evaluate("() => getComputedStyle(document.querySelector('.lane.pred')).textDecorationStyle")
    assert lines == "dashed"  # without colours the line tells the layer


def test_readers_are_blind_until_both_are_done(me: Person, tabs: Callable[..., Tab]) -> None:
    project = me.project(NOTES[0], settings={"annotators": 2})
    predict(me, project)
    alice, bob = me.invite(project, name="Alice"), me.invite(project, name="Bob")
    [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    first, second = me.give(project, [document], alice, bob)
    hers, his = tabs(), tabs()
    hers.sign_in(alice)
    his.sign_in(bob)
    heard: list[str] = []
    his.page.on("response", lambda answer: heard.append(answer.url))
    one, other = show(hers, project, first), show(his, project, second)
    press(one, "a", "a", "c")
    one.get_by_role("dialog").wait_for()
    one.keyboard.type("taint-of-alice")
    press(one, "Control+Enter")
    saved(one)
    press(other, "r", "r", "a", "a", "a")
    saved(other)
    assert "taint-of-alice" not in other.content()
    assert "Alice" not in other.content()
    hidden = other.goto(f"/#/p/{project}/a/{first}")
    assert hidden is None or hidden.ok
    his.wait_until_said("no such assignment")
    assert not [url for url in heard if url.endswith(f"/assignments/{first}/events")]


def test_a_curator_settles_what_two_readers_see_differently(me: Person, tabs: Callable[..., Tab]) -> None:
    project = me.project(NOTES[0], settings={"annotators": 2})
    predict(me, project)
    alice, bob = me.invite(project, name="Alice"), me.invite(project, name="Bob")
    [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    work = me.give(project, [document], alice, bob)
    for person, assignment, keys in zip((alice, bob), work, ("aaaaa", "raaau"), strict=True):
        tab = tabs()
        tab.sign_in(person)
        page = show(tab, project, assignment)
        press(page, *keys)
        saved(page)
        press(page, "Control+Enter")
        page.wait_for_url(re.compile(rf"#/p/{project}$"))
    tab = tabs()
    tab.sign_in(me)
    [judged] = me.ask(
        "POST", f"/projects/{project}/assignments", {"documents": [document], "users": [me.user], "kind": "adjudicate"}
    )["assignments"]
    merged = len(live(me, judged))
    assert merged == 3  # what both say alike
    page = tab.open(f"#/p/{project}/adjudicate/{judged}")
    page.get_by_text(re.compile(r"conflict", re.IGNORECASE)).first.wait_for()
    assert tab.faults() == []
    tab.picture("adjudicate")
    assert "Alice" not in page.locator("main").inner_text()
    page.locator("[data-keys~=adjudicate]").first.focus()
    press(page, "1")
    page.wait_for_timeout(500)
    press(page, "1")
    page.wait_for_timeout(800)
    assert len(standing(me, judged)) == merged + 2  # that of a reader who has ruled it out is ruled out
    press(page, "z")
    page.wait_for_timeout(800)
    assert len(standing(me, judged)) == merged + 1
    press(page, "c")
    page.get_by_role("dialog").get_by_label("Comment").wait_for()
    assert tab.faults() == []
    press(page, "Escape", "Control+Enter")
    page.get_by_role("dialog", name="Some conflicts are open").wait_for()
    assert tab.faults() == []
