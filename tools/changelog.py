"""The changelog by release: what its form is, and a release made of what is unreleased.

``python -m tools.changelog release [DATE]`` gives what stands under *Unreleased* the version of the package and a date,
today's if none is given.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from linnet import __version__

PATH = Path(__file__).parents[1] / "CHANGELOG.md"
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
OPEN = "Unreleased"
RELEASE = re.compile(r"(\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})")


def faults(text: str, version: str) -> list[str]:
    r"""Return what is wrong with a changelog: https://keepachangelog.com, versions in order, none beyond the package's.

    >>> faults("# Changelog\n\n## Unreleased\n\n### Added\n\n* A.\n\n## 0.1.0 - 2026-02-30\n", "0.2.0")
    ['0.1.0 - 2026-02-30: no such day', '0.1.0 - 2026-02-30: nothing is said of it']
    """
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    titles = [part.partition("\n")[0] for part in parts]
    found = [] if head.startswith("# Changelog\n") and titles[:1] == [OPEN] else [f"begins without ## {OPEN}"]
    released: list[tuple[tuple[int, ...], str]] = []
    for title, part in zip(titles, parts, strict=True):
        if (told := RELEASE.fullmatch(title)) and _is_day(told[2]):
            released.append((_number(told[1]), told[2]))
        elif title != OPEN:
            found.append(f"{title}: no such day" if told else f"{title}: not VERSION - YYYY-MM-DD")
        found += [f"{title}: {fault}" for fault in _faults_of(part, empty=title == OPEN)]
    if released != sorted(released, reverse=True) or len({number for number, _ in released}) != len(released):
        found.append("releases are not from the newest to the oldest")
    if released and released[0][0] > _number(version):
        found.append(f"{titles[1]} is newer than the package, {version}")
    return found


def release(text: str, version: str, day: str) -> str:
    r"""Return a changelog whose unreleased part is the one of a version.

    >>> print(release("# Changelog\n\n## Unreleased\n\n### Fixed\n\n* A.\n", "0.2.0", "2026-03-01"))
    # Changelog
    <BLANKLINE>
    ## Unreleased
    <BLANKLINE>
    ## 0.2.0 - 2026-03-01
    <BLANKLINE>
    ### Fixed
    <BLANKLINE>
    * A.
    <BLANKLINE>

    Raises:
        ValueError: nothing is unreleased, the version has been released, or the result is no changelog.
    """
    if re.search(rf"^## {re.escape(version)} ", text, re.MULTILINE):
        raise ValueError(f"{version} has been released: change __version__ in src/linnet/__init__.py first")
    made = text.replace(f"## {OPEN}\n", f"## {OPEN}\n\n## {version} - {day}\n", 1)
    if wrong := faults(made, version):
        raise ValueError("; ".join(wrong))
    return made


def _faults_of(part: str, *, empty: bool) -> list[str]:
    _, *sections = re.split(r"^### ", part, flags=re.MULTILINE)
    kinds = [section.partition("\n")[0] for section in sections]
    found = [f"{kind} is none of {', '.join(KINDS)}" for kind in kinds if kind not in KINDS]
    found += [f"{kind} comes twice" for kind in dict.fromkeys(kinds) if kinds.count(kind) > 1]
    found += [f"nothing under {kind}" for kind, section in zip(kinds, sections, strict=True) if "\n* " not in section]
    return found if kinds or empty else [*found, "nothing is said of it"]


def _is_day(told: str) -> bool:
    try:
        dt.date.fromisoformat(told)
    except ValueError:
        return False
    return True


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def main(arguments: Sequence[str]) -> int:
    """Make the release in CHANGELOG.md."""
    if arguments[:1] != ["release"] or len(arguments) > 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    day = arguments[1] if len(arguments) == 2 else dt.datetime.now(tz=dt.UTC).date().isoformat()
    try:
        text = release(PATH.read_text(encoding="utf-8"), __version__, day)
    except ValueError as error:
        sys.stderr.write(f"CHANGELOG.md: {error}\n")
        return 1
    PATH.write_text(text, encoding="utf-8")
    sys.stdout.write(f"CHANGELOG.md: {__version__} of {day}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
