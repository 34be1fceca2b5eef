"""Where parts of the workbench meet: people who follow each other in a tab, slow answers, odd addresses, long lines."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from linnet.annotate.api.access import PREFIX
from tests.browser.workbench.site import NOTES, PASSWORD, Person
from tests.browser.workbench.tab import Tab
from tests.browser.workbench.test_document import predict, press, saved, show, standing, work

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOST = "async () => { const {api} = await import('/api.js'); await api.get('/me').catch(() => {}); }"
UNLOAD = """() => { const event = new Event('beforeunload', {cancelable: true}); dispatchEvent(event);
  return event.defaultPrevented; }"""
KEY = """(key) => { const event = new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true});
  document.body.dispatchEvent(event); return event.defaultPrevented; }"""
GO = "(hash) => { location.hash = hash; }"
LEAVE = """() => new Promise((done) => {
  const screen = document.querySelector('linnet-annotate');
  addEventListener('hashchange', () => { screen.refresh(); done(screen.kb); }, {once: true});
  location.hash = '#/settings';
})"""
COMPARED = """async ([project, id]) => {
  const shown = document.createElement('linnet-compare');
  const example = {document: 1, parts: [[0, 4]], a: null, b: [], gold: [id]};
  Object.assign(shown, {project, models: [{id: 1}, {id: 2}]});
  shown.found = {a: 1, b: 2, documents: 1, fixed: 0, broke: 1, both_right: 0, examples: [example], texts: {}};
  document.body.append(shown);
  await shown.updateComplete;
  return [...shown.querySelectorAll('td')].map((one) => one.innerText);
}"""
PAUSE = 5_500  # milliseconds, a little more than names.js waits after a failure


# --- who sits there ---------------------------------------------------------------------------------------------------


def lose(tab: Tab) -> None:
    """End the session behind the page's back, and let the page find out."""
    tab.context.clear_cookies()
    tab.page.evaluate(LOST)
    tab.page.get_by_label("Name").wait_for()


def enter(page: Page, person: Person) -> None:
    page.get_by_label("Name").fill(person.name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    page.locator("header.top", has_text=person.name).wait_for()


def test_who_comes_next_finds_nothing_in_memory(mine: Tab, me: Person) -> None:
    project = me.project(*NOTES)
    you = me.invite(project, "annotator", "Rosalind")
    page = mine.open(f"#/p/{project}/team")
    page.get_by_role("tab", name="Event log").click()
    page.locator("td", has_text="uploaded").first.wait_for()
    page.evaluate("() => { window.stays = true; }")
    lose(mine)
    enter(page, me)
    page.get_by_role("tab", name="Event log").wait_for()
    assert page.evaluate("() => window.stays") is True  # the same person goes on
    assert page.get_by_role("tab", name="Event log").get_attribute("aria-selected") == "true"
    lose(mine)
    enter(page, you)
    page.get_by_role("tab", name="Members").wait_for()
    assert page.evaluate("() => window.stays") is None
    assert page.get_by_role("tab", name="Members").get_attribute("aria-selected") == "true"  # what she chose is hers


def test_dialogs_end_with_the_session(mine: Tab, me: Person) -> None:
    page, *_ = work(me, mine, NOTES[0])
    press(page, "v")
    page.get_by_role("dialog").wait_for()
    lose(mine)
    assert page.locator("dialog").count() == 0
    assert page.evaluate("() => document.activeElement.name") == "name"


def test_signing_out_takes_a_connection(mine: Tab, me: Person) -> None:
    page, _, assignment = work(me, mine, NOTES[0])
    assert page.evaluate(UNLOAD) is False
    out = page.get_by_role("button", name="Sign out", exact=True)
    page.context.set_offline(True)
    press(page, "a")
    page.get_by_text("1 waiting").wait_for()
    assert page.evaluate(UNLOAD) is True
    out.click()
    page.get_by_role("dialog").get_by_text("until you sign in here again").wait_for()
    assert mine.faults() == []
    page.get_by_role("button", name="Cancel").click()
    out.click()
    page.get_by_role("button", name="Sign out all the same").click()
    mine.wait_until_said("You are still signed in: there is no connection")
    assert page.locator(".text").count() == 1
    page.context.set_offline(False)
    saved(page)
    assert len(standing(me, assignment)) == 1
    out.click()
    page.get_by_role("heading", name="Sign in to Linnet").wait_for()
    assert page.context.request.get(f"{PREFIX}/me").status == 401


def test_two_alarms_at_once_are_both_read(mine: Tab, me: Person) -> None:
    page, *_ = work(me, mine, NOTES[0])
    page.evaluate(
        "async () => { const {say} = await import('/base.js'); say('One is lost', true); say('Two are', true); }"
    )
    mine.wait_until_said("One is lost. Two are")
    page.wait_for_timeout(600)  # by now it has been read
    page.evaluate("async () => { const {say} = await import('/base.js'); say('Three are', true); }")
    mine.wait_until_said("Three are")
    assert "Two are" not in mine.said


def test_a_new_role_is_seen_while_annotating(me: Person, tabs: Callable[..., Tab]) -> None:
    project = me.project(NOTES[0])
    predict(me, project)
    you = me.invite(project, "annotator", "Rosalind")
    documents = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    [assignment] = me.give(project, documents, you)
    tab = tabs()
    tab.sign_in(you)
    page = show(tab, project, assignment)
    page.get_by_text("(annotator)").wait_for()
    me.ask("PUT", f"/projects/{project}/members/{you.user}", {"role": "curator"})
    page.get_by_text("(curator)").wait_for()
    assert page.locator("nav").get_by_role("link", name="Team").count() == 1
    assert page.locator(".text:focus").count() == 1  # nothing else moved


# --- addresses --------------------------------------------------------------------------------------------------------


def test_addresses_of_concepts_are_taken_as_they_are(mine: Tab, me: Person) -> None:
    project = me.project(NOTES[0])
    for typed, meant in (
        ("50%", "50%"),
        ("00012345678901234567", "00012345678901234567"),
        ("HP%3A0001250", "HP:0001250"),
    ):
        page = mine.open(f"#/p/{project}/concepts/{typed}")
        page.locator("linnet-concepts").wait_for()
        assert page.evaluate("() => document.querySelector('linnet-concepts').concept") == meant
    page.get_by_text("Seizure").first.wait_for()


def test_a_slow_answer_does_not_bring_back_the_project_before(mine: Tab, me: Person) -> None:
    slow, fast = me.project(NOTES[0]), me.project(NOTES[1])
    page = mine.open("#/")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    mine.intercept(f"**{PREFIX}/projects/{slow}", hold)
    page.evaluate(GO, f"#/p/{slow}")
    page.get_by_text("Opening the project").wait_for()
    page.evaluate(GO, f"#/p/{fast}")
    page.locator(".project-screen").wait_for()
    assert held
    with page.expect_response(f"**{PREFIX}/projects/{slow}"):
        held[0].continue_()
    page.wait_for_timeout(300)
    assert page.evaluate("async () => (await import('/base.js')).state.project.project") == fast
    assert page.locator(".project-screen").count() == 1


def test_names_are_asked_for_again_after_a_failure(mine: Tab, me: Person) -> None:
    project = me.project(NOTES[0])
    page = mine.open(f"#/p/{project}")
    asked: list[Route] = []

    def refuse(route: Route) -> None:
        asked.append(route)
        route.abort()

    name = """async (project) => { const {learn, nameOf} = await import('/names.js');
      const kb = (await import('/base.js')).state.project.kb_version, id = 'HP:0001250';
      return [await learn(kb, project, [id]), nameOf(kb, id)]; }"""
    mine.intercept("**/concepts?*", refuse)
    assert page.evaluate(name, project) == [False, "HP:0001250"]
    assert page.evaluate(name, project) == [False, "HP:0001250"]
    assert len(asked) == 1  # not again and again
    page.unroute("**/concepts?*")
    page.wait_for_timeout(PAUSE)
    assert page.evaluate(name, project) == [True, "Seizure"]
    assert page.evaluate(name, project) == [False, "Seizure"]


# --- adjudication -----------------------------------------------------------------------------------------------------


def read_differently(me: Person) -> tuple[int, int]:
    """Return a project and an adjudication with two conflicts: readers link the same words otherwise."""
    project = me.project(NOTES[0], settings={"annotators": 2})
    [document] = [one["document"] for one in me.ask("GET", f"/projects/{project}/documents")["documents"]]
    readers = [me.invite(project, name=name) for name in ("Alice", "Bob")]
    works = me.give(project, [document], *readers)
    for person, assignment, concept in zip(readers, works, ("HP:0001250", "HP:0004322"), strict=True):
        marks = [{"op": "create", "parts": [part], "concepts": [concept]} for part in ([0, 8], [22, 35])]
        acts: list[dict[str, Any]] = [*marks, {"op": "done"}]
        sent = [{"id": str(uuid.uuid4()), **one} for one in acts]
        person.ask("POST", f"/assignments/{assignment}/commands", {"commands": sent}, **{"If-Match": '"0"'})
    given = {"documents": [document], "users": [me.user], "kind": "adjudicate"}
    return project, int(me.ask("POST", f"/projects/{project}/assignments", given)["assignments"][0])


def judge(tab: Tab, project: int, assignment: int) -> Page:
    page = tab.open(f"#/p/{project}/adjudicate/{assignment}")
    page.locator(".text:focus").wait_for()
    assert page.locator(".conflicts [role=option]").count() == 2
    return page


def test_undo_passes_over_what_was_settled_alike_in_another_window(
    mine: Tab, me: Person, tabs: Callable[..., Tab]
) -> None:
    project, assignment = read_differently(me)
    page = judge(mine, project, assignment)
    press(page, "1")
    saved(page)
    assert len(standing(me, assignment)) == 1
    others = tabs()
    others.sign_in(me)
    other = judge(others, project, assignment)
    page.context.set_offline(True)
    press(other, "1")
    saved(other)
    press(page, "1")  # the same, which the server has already
    page.get_by_text("1 waiting").wait_for()
    page.context.set_offline(False)
    saved(page)
    assert len(standing(me, assignment)) == 2
    trail = f"() => JSON.parse(localStorage.getItem('linnet.{me.user}.judged.{assignment}')).past.length"
    assert page.evaluate(trail) == 1


# --- the text ---------------------------------------------------------------------------------------------------------


def test_a_screen_knows_its_project_while_it_is_left(mine: Tab, me: Person) -> None:
    page, _, _ = work(me, mine, NOTES[0])
    assert page.evaluate(LEAVE)  # an answer that was on its way arrives when the project is not open any more


def test_what_two_models_say_is_shown_in_words(mine: Tab, me: Person) -> None:
    project = me.project(*NOTES)
    page = mine.open(f"#/p/{project}")
    page.get_by_role("heading", level=1).wait_for()
    nothing, outside, right = page.evaluate(COMPARED, [project, "HP:0001250"])
    assert ("nothing here" in nothing, "not in the knowledge base" in outside) == (True, True)
    assert right in ("Seizure", "HP:0001250")  # its name, once that was read


def test_finding_a_word_leaves_fields_alone(mine: Tab, me: Person) -> None:
    page, _, assignment = work(me, mine, NOTES[0])
    find = "() => document.querySelector('linnet-annotate').caret.find(() => { window.ended = true; })"
    press(page, "/")
    field = page.locator("linnet-picker input").first
    field.wait_for()
    field.focus()
    page.evaluate(find)
    page.keyboard.type("toni")
    assert field.input_value() == "toni"
    assert page.evaluate("() => window.ended") is True
    press(page, "Escape", "Escape")
    page.locator(".text:focus").wait_for()
    press(page, "f")
    page.locator(".list-panel [role=option]").first.click()
    press(page, "a")  # accepts, and finds nothing
    saved(page)
    assert len(standing(me, assignment)) == 1
    page.locator(".text").focus()
    page.evaluate(find)
    assert page.evaluate(KEY, "s") is True
    page.evaluate(find)
    page.evaluate(GO, "#/settings")
    page.get_by_role("heading", name="Settings", exact=True).wait_for()
    assert page.evaluate(KEY, "s") is False


def test_long_lines_are_cut_between_words(mine: Tab, me: Person) -> None:
    """What is shown is the text, without a line more than it has; a mention over a cut stands on both sides of it."""
    words = "A seizure 🧠 and short stature; " * 300
    texts = [words, "🧠" * 4100, "x" + "🧠" * 4100, "short\n" + words + "\n\nshort", "x" * 3999 + "\n\n\nend", ""]
    page = mine.open("#/")
    found: list[Any] = page.evaluate(
        """async (texts) => { const {Offsets, TextView} = await import('/text.js');
          const box = document.createElement('div'); box.className = 'text'; document.body.append(box);
          const found = texts.map((text) => { const offsets = new Offsets(text), view = new TextView(box, offsets);
            const at = view.passages[1]?.[0] ?? 0, point = offsets.point(at), end = Math.min(offsets.length, point + 9);
            const parts = [[Math.max(0, point - 12), end]];
            view.draw([{id: 'm', layer: 'user', concepts: null, parts}]);
            return {text: box.textContent, passages: view.passages, range: view.rangeOf(...parts[0]).toString(),
              said: offsets.slice(...parts[0]), looks: [...box.children].map((one) => getComputedStyle(one).display),
              marked: [...box.querySelectorAll('mark')].map((one) => one.textContent),
              back: view.pointOf(box.children[box.children.length - 1], 0)}; });
          box.remove(); return found; }""",
        texts,
    )
    for text, one in zip(texts, found, strict=True):
        assert one["text"] == text
        units = text.encode("utf-16-le")
        passages = [units[2 * start : 2 * end].decode("utf-16-le") for start, end in one["passages"]]  # no half pairs
        assert "".join(passages) == text
        assert one["range"] == one["said"]
        for passage, after, look in zip(passages, [*passages[1:], ""], one["looks"], strict=True):
            within = after and not passage.endswith("\n")
            assert look == "inline" or not within
            assert not (within and " " in text) or passage[-1].isspace()
    assert len(found[0]["marked"]) == 2
    assert "".join(found[0]["marked"]) == found[0]["said"]
    assert found[3]["looks"] == ["block", *["inline"] * (len(found[3]["looks"]) - 2), "block"]


def test_a_selection_keeps_no_lonely_bracket(mine: Tab, me: Person) -> None:
    page = mine.open("#/")
    found = page.evaluate(
        """async (texts) => { const {Offsets, snapped, wordsOf} = await import('/text.js');
          return texts.map((text) => { const offsets = new Offsets(text);
            return offsets.slice(...snapped(wordsOf(offsets), offsets, 0, offsets.length)); }); }""",
        [
            "(toes)",
            "((toes)),",
            "“short toes”.",
            '"toes"',
            "(left) toes",
            "(a) and (b)",
            "(a (b) c)",
            "(toes",
            "[a)",
            ")",
            "constructor)",
        ],
    )
    wanted = ["toes", "toes", "short toes", "toes", "(left) toes", "(a) and (b", "a (b) c", "(toes", "[a", ")"]
    assert found == [*wanted, "constructor"]


def test_what_is_not_perfect_is_not_called_so(mine: Tab) -> None:
    page = mine.page
    page.goto("/")
    shares = page.evaluate(
        "async () => { const {share} = await import('/base.js'); return [1, .997, .994, 0, -.2, null].map(share); }"
    )
    assert shares == ["1.00", ".99", ".99", ".00", "-.20", "–"]
