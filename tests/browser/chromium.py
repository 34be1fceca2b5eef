"""A headless Chromium for tests: the DevTools protocol over a pair of pipes, with nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Browser", "Page", "backgrounds", "find_chromium"]

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
TIMEOUT = 20.0  # seconds for one answer
# Chromium reads commands from descriptor 3 and writes answers to 4; high numbers first, lest one overwrite the other
LAUNCH = """
import os, sys
reader, writer = int(sys.argv[1]), int(sys.argv[2])
os.dup2(reader, 100); os.dup2(writer, 101)
os.dup2(100, 3); os.dup2(101, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "Escape": 27, "Enter": 13, "Tab": 9}


def find_chromium() -> str | None:
    """Return the path of a Chromium, from ``$CHROMIUM`` or the search path, or None."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


class Browser:
    """A running Chromium; a context manager that ends it."""

    def __init__(self, executable: str, profile: Path) -> None:
        command_reader, self._commands = os.pipe()
        self._answers, answer_writer = os.pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", LAUNCH, str(command_reader), str(answer_writer)),
                *(executable, *FLAGS, f"--user-data-dir={profile}"),
            ],
            pass_fds=(command_reader, answer_writer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_reader)
        os.close(answer_writer)
        self._buffer = bytearray()
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(TIMEOUT)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            os.close(self._commands)
            os.close(self._answers)

    def call(self, method: str, *, session: str | None = None, **parameters: Any) -> Any:
        """Send one command and return its result; events that come before it are kept."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        while True:
            answer = self._receive(f"an answer to {method}")
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str, session: str) -> None:
        """Wait until the event `method` of `session` has come; it is then forgotten."""
        while True:
            for position, event in enumerate(self.events):
                if event.get("method") == method and event.get("sessionId") == session:
                    del self.events[position]
                    return
            self.events.append(self._receive(method))

    def _receive(self, awaited: str) -> dict[str, Any]:
        deadline = time.monotonic() + TIMEOUT
        while (end := self._buffer.find(b"\0")) < 0:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._answers, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError(f"Chromium sent nothing more while waiting for {awaited}")
            self._buffer += chunk
        message: dict[str, Any] = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        return message

    def open(self, path: Path, *, width: int = 1280, height: int = 800, dark: bool = False) -> Page:
        """Open the file `path` in a new tab and wait until it has loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session=session)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", session=session, **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session=session, features=[scheme])
        self.call("Page.navigate", session=session, url=path.as_uri())
        self.wait_for("Page.loadEventFired", session)
        return Page(self, target, session)


class Page:
    """One tab."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self.browser, self.target, self.session = browser, target, session

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command to this tab."""
        return self.browser.call(method, session=self.session, **parameters)

    def close(self) -> None:
        """Close the tab."""
        self.browser.call("Target.closeTarget", targetId=self.target)

    def js(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, as JSON can hold it."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """Return the visible text of the first element that matches, "" if there is none or it is hidden."""
        found = self.js(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                        " return e && e.checkVisibility() ? e.innerText : ''; })()")  # fmt: skip
        return str(found)

    def wait(self, condition: str, seconds: float = 5.0) -> None:
        """Wait until a JavaScript expression holds."""
        deadline = time.monotonic() + seconds
        while not self.js(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {condition}")
            time.sleep(0.02)

    def point(self, selector: str) -> tuple[float, float]:
        """Return the middle of the first box of an element, scrolled into view, in CSS pixels."""
        x, y = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'nearest'}); const b = e.getClientRects()[0];"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return float(x), float(y)

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Send one mouse event: ``mouseMoved``, ``mousePressed`` or ``mouseReleased``."""
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def hover(self, selector: str) -> None:
        """Move the pointer onto an element."""
        self.mouse("mouseMoved", *self.point(selector))

    def click(self, selector: str) -> None:
        """Move the pointer onto an element and click."""
        x, y = self.point(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def press(self, key: str) -> None:
        """Press and release a key: a character or one of `KEYS`."""
        code: dict[str, Any] = {"windowsVirtualKeyCode": KEYS[key]} if key in KEYS else {"text": key}
        if key == "Enter":
            code["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        """Press one key after another."""
        for key in text:
            self.press(key)

    def screenshot(self, path: Path) -> None:
        """Write what the tab shows as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _events(self, *methods: str) -> list[dict[str, Any]]:
        return [
            event["params"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event.get("method") in methods
        ]

    def complaints(self) -> list[str]:
        """Return everything the console shows: messages, uncaught exceptions, violations of the security policy."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event) for event in self._events(*kinds)]

    def requests(self) -> list[str]:
        """Return the URLs of everything the tab asked for."""
        return [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]


def backgrounds(browser: Browser, path: Path) -> list[str]:
    """Return the colours of the page where the system is light, and where it is dark."""
    colours = []
    for dark in (False, True):
        page = browser.open(path, dark=dark)
        colours.append(str(page.js("getComputedStyle(document.body).backgroundColor")))
        page.close()
    return colours
