"""The files of the screens, read as text: colours that can be told apart, one key an action, nothing from elsewhere."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

import linnet.annotate

WEB = Path(linnet.annotate.__file__).parent / "web"
LAYERS = ("gold", "user", "pred", "unsure", "conflict")
TEXT, GRAPHICS = 4.5, 3.0  # WCAG 2.2: 1.4.3 and 1.4.11


def variables() -> dict[str, tuple[str, str]]:
    """Return the colours of the style sheets by name, light and dark."""
    sheets = "".join(path.read_text("utf-8") for path in sorted(WEB.glob("*.css")))
    found = re.findall(r"--([a-z-]+): light-dark\((#[0-9A-Fa-f]{6}), ?(#[0-9A-Fa-f]{6})\)", sheets)
    return {name: (light, dark) for name, light, dark in found}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_marks_can_be_read_and_told_from_the_page(theme: int) -> None:
    found = {name: pair[theme] for name, pair in variables().items()}
    for layer in LAYERS:
        assert contrast(found["ink"], found[f"{layer}-fill"]) >= TEXT
        assert contrast(found[layer], found["page"]) >= TEXT  # of the letter behind a mention too
        assert contrast(found[layer], found[f"{layer}-fill"]) >= TEXT
        assert contrast(found[layer], found["panel"]) >= GRAPHICS


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(theme: int) -> None:
    found = {name: pair[theme] for name, pair in variables().items()}
    for ground in ("page", "panel", "raised"):
        for ink in ("ink", "quiet", "blue", "good", "bad", "warn"):
            assert contrast(found[ink], found[ground]) >= TEXT, (ink, ground)
        assert contrast(found["edge"], found[ground]) >= GRAPHICS
    assert contrast(found["on-blue"], found["blue"]) >= TEXT


def test_lines_of_layers_differ_without_colour() -> None:
    sheet = (WEB / "marks.css").read_text("utf-8")
    looks = {
        re.search(rf"\.lane\.{layer} {{ ([^}}]*)}}", sheet)[1].replace(f"var(--{layer})", "")  # type: ignore[index]
        for layer in LAYERS
    }
    assert len(looks) == len(LAYERS)


def keys() -> list[tuple[str, str, list[str]]]:
    """Return context, action and keys of the table."""
    rows = re.findall(r"^  row\('([^']*)', '([^']*)', '([^']*)',", (WEB / "keys.js").read_text("utf-8"), re.MULTILINE)
    return [(context, action, [key for key in given.split("  ") if key]) for context, action, given in rows]


def test_a_key_means_one_thing() -> None:
    table = keys()
    assert len({action for _, action, _ in table}) == len(table) > 50
    together = [
        {"anywhere", "mentions", "decide", "edges", "create", "spread", "history", "document"},
        {"anywhere", "project"},
        {"anywhere", "adjudicate", "history", "document"},
        {"anywhere", "picker"},
    ]
    for contexts in together:
        own = [(action, given) for context, action, given in table if context in contexts]
        for (one, mine), (other, theirs) in combinations(own, 2):
            clash = [(a, b) for a in mine for b in theirs if a == b or a.startswith(f"{b} ") or b.startswith(f"{a} ")]
            assert not clash, (one, other)


def test_no_key_is_one_of_the_browser() -> None:
    taken = re.compile(r"Ctrl\+([ntw]|\d)|Alt\+(ArrowLeft|\d)|Shift\+ ")
    assert not [key for _, _, given in keys() for key in given if taken.fullmatch(key)]


def own_files() -> list[Path]:
    return [path for path in sorted(WEB.iterdir()) if path.suffix in (".js", ".css", ".html") and path.name != "lit.js"]


def test_nothing_comes_from_elsewhere_and_no_markup_is_made_of_text() -> None:
    for path in own_files():
        text = path.read_text("utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|unsafeHTML", text), (
            path.name
        )
        assert not re.search(r"<[a-z][^>`]*\sstyle=", text), f"{path.name}: the server's policy forbids style in markup"


def test_every_module_that_is_imported_is_there() -> None:
    for path in own_files():
        text = path.read_text("utf-8")
        named = re.findall(r"""(?:from|import) '\./([^']+)'""", text) if path.suffix == ".js" else []
        named += re.findall(r'(?:href|src)="([^"#:]+)"', text) if path.suffix == ".html" else []
        assert [name for name in named if not (WEB / name).is_file()] == [], path.name


def test_what_is_not_ours_has_its_licence() -> None:
    assert "BSD" in (WEB / "lit.LICENSE.txt").read_text("utf-8")
