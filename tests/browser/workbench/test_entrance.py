"""Coming in: the first page, the one-time link, wrong passwords, the list of projects; and what is served at all."""

from __future__ import annotations

import http.client
from collections.abc import Callable

import pytest

from linnet.annotate.api.access import PREFIX
from tests.browser.workbench.site import NOTES, PASSWORD, Person, Site
from tests.browser.workbench.tab import Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WRONG = 6  # attempts until a name has to wait


def test_the_first_page_is_silent_and_asks_for_name_and_password(tab: Tab) -> None:
    page = tab.open()
    page.get_by_label("Name").wait_for()
    assert page.get_by_label("Password", exact=True).get_attribute("type") == "password"
    assert page.locator("h1").count() == 1
    assert page.title().endswith("Linnet")
    assert tab.faults() == []
    tab.picture("signin")


def test_a_tab_complains_of_failures_and_of_other_servers(tabs: Callable[..., Tab]) -> None:
    """What all other tests of screens rely on; the page's policy, which would not let it ask, is switched off."""
    tab = tabs(bypass_csp=True)
    page = tab.open()
    tab.intercept("**/session", lambda route: route.fulfill(status=500))
    with page.expect_console_message():
        page.evaluate(f"fetch('{PREFIX}/session')")
    other = tab.site.url.replace("localhost", "127.0.0.1")
    # which refuses to be shown elsewhere: it was asked all the same
    page.evaluate(f"fetch('{other}/icon.svg', {{mode: 'no-cors'}}).catch(() => null)")
    tab.open()
    said, tab.complaints = tab.complaints, []
    assert any("status of 500" in one for one in said), said
    assert f"asked another server: {other}/icon.svg" in said


def test_a_link_sets_a_password_once(site: Site, tab: Tab, tabs: Callable[..., Tab]) -> None:
    name, link = site.invitation("Grace")
    page = tab.open(f"#link={link}")
    page.get_by_label("Password", exact=True).wait_for()
    assert tab.faults() == []
    tab.picture("link")
    page.get_by_label("Password", exact=True).fill("a new long password")
    page.get_by_label("The same password again").fill("a new long password")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Projects", level=1).wait_for()
    assert link not in page.url  # a secret has no business in the history
    assert name in page.locator("header.top").inner_text()

    again = tabs()
    page = again.open(f"#link={link}")
    page.get_by_label("Password", exact=True).fill("another long password")
    page.get_by_label("The same password again").fill("another long password")
    page.keyboard.press("Enter")
    again.wait_until_said("used before")
    again.picture("link-used")
    page = again.open()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill("a new long password")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Projects", level=1).wait_for()


def test_wrong_passwords_are_told_and_then_have_to_wait(site: Site, tab: Tab) -> None:
    person = site.person("Mary")
    page, statuses = tab.open(), list[int]()
    page.on("response", lambda answer: statuses.append(answer.status) if answer.url.endswith("/session") else None)
    for attempt in range(WRONG):
        page.get_by_label("Name").fill(person.name)
        page.get_by_label("Password", exact=True).fill(f"wrong {attempt}")
        with page.expect_response("**/session"):
            page.keyboard.press("Enter")
        tab.wait_until_said("no user has this name" if statuses[-1] == 401 else "too many failed attempts")
        if statuses[-1] == 429:
            break
    assert statuses[-1] == 429
    assert statuses[:-1] == [401] * (len(statuses) - 1)
    assert PASSWORD not in page.content()
    assert tab.faults() == []
    tab.picture("signin-wait")


def test_projects_are_listed(me: Person, mine: Tab) -> None:
    me.project(*NOTES)
    page = mine.open()
    page.get_by_role("heading", name="Projects", level=1).wait_for()
    page.get_by_role("link", name="Project", exact=False).first.wait_for()
    assert page.locator("h1").count() == 1
    assert mine.faults() == []
    assert mine.wide() == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert mine.wide() == []
    mine.picture("projects")


def test_two_people_see_what_is_theirs(site: Site, me: Person, tabs: Callable[..., Tab]) -> None:
    project = me.project(*NOTES)
    you = me.invite(project, "annotator", "Rosalind")
    hidden = site.person("Barbara", admin=True).project(*NOTES[:1])
    first, second = tabs(), tabs()
    for tab, person in ((first, me), (second, you)):
        page = tab.sign_in(person)
        page.locator(f"a[href='#/p/{project}']").first.wait_for()
        assert page.locator(f"a[href='#/p/{hidden}']").count() == 0
        assert person.name in page.locator("header.top").inner_text()


@pytest.mark.parametrize(
    "path", ["/../pages.py", "/%2e%2e/pages.py", "/..%2fapi%2fpages.py", "//etc/passwd", "/web/app.js"]
)
def test_a_path_that_leads_out_finds_nothing(site: Site, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    connection.request("GET", path)  # sent as it is
    answer = connection.getresponse()
    assert answer.status == 404
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert b"import" not in answer.read()
    connection.close()
