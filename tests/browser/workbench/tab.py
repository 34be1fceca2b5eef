"""A tab of a browser with the workbench in it: it has to stay silent, to ask nobody else, and to be open to all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.annotate.api.access import PREFIX
from tests.browser.workbench.site import Person, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route

PATIENCE = 15_000  # milliseconds: machines of continuous integration are slow
SERIOUS = ("serious", "critical")
PICTURES = "LINNET_SCREENSHOTS"  # the environment variable of the folder that pictures are kept in
WIDTHS, THEMES = ((1280, 800), (380, 800)), ("light", "dark")
LOGGED = "Failed to load resource"  # what Chromium itself writes of every answer above 399, expected or not
FAILED = "status of 5"  # of the server itself, which is never expected
CAUGHT = f"{PREFIX}/caught"  # an address that only a test answers
# all that the page has loaded; an event for each of its sixty files would cost more than the page itself
ASKED = "performance.getEntriesByType('resource').map((one) => one.name)"
# elements that stick out of the window, and of nothing that scrolls by itself, if the page has to be scrolled sideways
WIDE = """() => {
  const within = (one) => {
    for (let above = one.parentElement; above !== document.body && above; above = above.parentElement) {
      if (getComputedStyle(above).overflowX !== 'visible') return true;
    }
    return false;
  };
  return document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll('*')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !within(one))
    .map((one) => one.outerHTML.replaceAll(/<!--.*?-->/gs, '').slice(0, 160));
}"""


class Tab:
    """A tab in a browser of its own: nobody else's cookies, and nothing remembered."""

    def __init__(self, browser: Browser, site: Site, **options: Any) -> None:
        self.site, self.complaints = site, list[str]()
        self.context: BrowserContext = browser.new_context(base_url=site.url, reduced_motion="reduce", **options)
        self.context.set_default_timeout(PATIENCE)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("crash", lambda _page: self.complaints.append("the page has crashed"))

    def _heard(self, message: ConsoleMessage) -> None:
        """Keep what the console shows; Chromium writes of every answer above 399 there, and of other servers."""
        of_interface = PREFIX in str(dict(message.location).get("url", ""))
        expected = of_interface and message.text.startswith(LOGGED) and FAILED not in message.text
        if message.type in ("error", "warning", "assert") and not expected:
            self.complaints.append(f"console: {message.type}: {message.text} {message.location}")

    def close(self) -> None:
        """Close the tab and its browser; what it has complained of is kept."""
        if not self.page.is_closed():
            self._look_for_others()
        self.context.close()

    def _look_for_others(self) -> None:
        """Keep what was asked of other servers since the page was loaded."""
        own = (f"{self.site.url}/", "data:", "blob:")
        asked = self.page.evaluate(ASKED)
        self.complaints += [f"asked another server: {one}" for one in asked if not one.startswith(own)]

    # --- going somewhere ---------------------------------------------------------------------------------------------

    def open(self, hash: str = "#/") -> Page:
        """Open an address within the workbench, afresh."""
        if self.page.url != "about:blank":
            self._look_for_others()
            self.page.goto("about:blank")  # or only what stands behind the hash would change
        self.page.goto(f"/{hash}")
        self.page.wait_for_selector("h1")
        return self.page

    def sign_in(self, person: Person, hash: str = "#/") -> Page:
        """Take over the session that somebody has as a program, and open an address; test_entrance.py types."""
        name, _, value = person.keys["Cookie"].partition("=")
        self.context.add_cookies([{"name": name, "value": value, "url": self.site.url}])
        return self.open(hash)

    def intercept(self, address: str, answer: Callable[[Route], object]) -> None:
        """Have a test answer what the page asks for from now on.

        Chromium says that it does so a moment before its pages do: what they ask in between goes to the server unseen.
        """
        self.page.route(address, answer)
        self.page.route(CAUGHT, lambda route: route.fulfill(body="caught"))
        self.page.wait_for_function("async (address) => (await (await fetch(address)).text()) === 'caught'", arg=CAUGHT)

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def said(self) -> str:
        """All that screen readers are told just now, by live regions and alerts."""
        told = self.page.locator("[aria-live], [role=alert], [role=status]").all_text_contents()
        return " ".join(" ".join(told).split())

    def wait_until_said(self, words: str) -> None:
        """Wait until a live region says these words; case counts as little as for who hears them."""
        heard = self.page.locator("[aria-live], [role=alert], [role=status]")
        heard.filter(has_text=re.compile(re.escape(words), re.IGNORECASE)).first.wait_for(state="attached")

    def faults(self, *, without: tuple[str, ...] = ()) -> list[str]:
        """Return what axe finds that is serious, but for these rules."""
        from axe_playwright_python.base import AXE_SCRIPT

        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)  # a debugger's way in, which the page's policy does not close
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['impact']}: {one['id']}: {node['target']} {node['html'][:200]}"
            for one in found["violations"]
            if one["impact"] in SERIOUS and one["id"] not in without
            for node in one["nodes"]
        ]

    def wide(self) -> list[str]:
        """Return what makes the page wider than its window, but for what scrolls by itself."""
        found: list[str] = self.page.evaluate(WIDE)
        return found

    def picture(self, name: str) -> None:
        """Keep pictures of what is shown, in both themes and two widths, if somebody wants to look at them."""
        folder = os.environ.get(PICTURES)
        if not folder:
            return
        Path(folder).mkdir(parents=True, exist_ok=True)
        before = self.page.viewport_size
        for width, height in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": height})
            for theme in THEMES:
                self.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                self.page.screenshot(path=Path(folder) / f"{name}-{theme}-{width}.png")
        self.page.emulate_media(color_scheme="light")
        if before is not None:
            self.page.set_viewport_size(before)
