"""``make test-elsewhere``: the fast tests in other folders, as another user, in another language, on other Pythons.

Each place is a copy of the working tree, without the real data. All run at once, so that each has a part of the
processor only: they also show what a slow machine does. A place that cannot be had here is named, with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.pythons import candidates

ROOT = Path(__file__).parents[1]
NOBODY = 65534
TOOLS = ("hypothesis", "pytest", "pytest-xdist", "obonet")  # of the tests, where no network is installed
VERSIONS = ("3.13", "3.12")
WORKERS = "2"  # processes of each place: one would leave a core idle once lint is done
# what is computed depends neither on user nor on language, time zone or width, and takes most of the time
ROOMS = (
    "bench", "contract", "detect", "evaluate", "fit", "index", "joint", "nn", "pipeline", "rerank", "retrieve", "train",
)  # fmt: skip
COMPUTED = (
    *(f"tests/{room}" for room in ROOMS), *(f"src/linnet/{room}" for room in ROOMS),
    "tests/cli/test_cross.py", "tests/cli/test_train_networks.py",
)  # fmt: skip
# of the workbench what has to do with files, folders, times and processes
WORKBENCH = ("backup", "documents", "exports", "housekeeping", "jobs", "reading", "store", "web_files")
# the same everywhere
SAME = ("tests/test_architecture.py", "tests/test_fuzz.py", "tests/test_packages.py", "tests/test_rebinding.py")
BROWSER = ("tests/browser",)  # what a page does there is the browser's business, not Python's
# without the extras these are skipped for the most part, and what is left of them is the same on every Python
SKIPPED = ("tests/bench", "tests/contract", "tests/joint", "tests/nn", "tests/train")


def other_tests() -> tuple[str, ...]:
    """Return the tests of the workbench that are not among those named above."""
    found = sorted((ROOT / "tests" / "annotate").glob("test_*.py"))
    return tuple(f"tests/annotate/{path.name}" for path in found if path.stem.removeprefix("test_") not in WORKBENCH)


@dataclass(frozen=True)
class Place:
    """Where the tests run.

    Args:
        name: for the report.
        folder: the copy's, below a temporary folder.
        variables: of its environment, beside the search path and a home.
        as_nobody: as another user, if this one may become another.
        other: run by another version of Python, without the extras.
        without: files and folders of tests that are left out.
    """

    name: str
    folder: str
    variables: Mapping[str, str] = field(default_factory=dict)
    as_nobody: bool = False
    other: bool = False
    without: tuple[str, ...] = ()


PLACES = (
    Place(
        "another user, no locale, Kolkata, 40 columns",
        "Größe 2/linnet",
        {"LANG": "C", "TZ": "Asia/Kolkata", "COLUMNS": "40", "OMP_NUM_THREADS": "1"},
        as_nobody=True,
        without=COMPUTED + SAME + BROWSER + other_tests(),
    ),
    Place(
        "another Python without extras, St. John's, 200 columns, eight threads",
        "linnet/linnet",
        {"LANG": "C.UTF-8", "TZ": "America/St_Johns", "COLUMNS": "200", "OMP_NUM_THREADS": "8"},
        other=True,
        without=SAME + SKIPPED + BROWSER,
    ),
)


def main() -> int:
    """Run the tests in all places; 0 if they pass in all that can be had."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        print("the files that git knows are copied: install git, and run this in a clone", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        root.chmod(0o755)
        begun = [(place, begin(place, root / str(number))) for number, place in enumerate(PLACES)]
        return max([finish(place, running) for place, running in begun])


def begin(place: Place, home: Path) -> tuple[subprocess.Popen[bytes], Path, float] | str:
    """Start the tests of one place; return the process, its log and the time, or why there is no such place here."""
    tree = home / place.folder
    copy_tree(tree)
    found = other_python(home) if place.other else same_python(home, as_nobody=place.as_nobody)
    if found is None:
        return f"no Python {' or '.join(VERSIONS)}" if place.other else "no Python that another user may run"
    variables = {
        **place.variables, "HOME": str(home), "PATH": f"{found.parent}{os.pathsep}{os.defpath}",
        "PYTHONPATH": str(tree / "src"), "TMPDIR": str(home / "tmp"),
    }  # fmt: skip
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)  # tests become another user for a moment
    command = [str(found), "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-n", WORKERS]
    command += ["--dist=worksteal", "--hypothesis-profile=elsewhere", *(f"--ignore={one}" for one in place.without)]
    command += ["-k", "not postgresql"]  # a server of its own knows nothing of the place
    user = None
    if place.as_nobody and os.geteuid() == 0:
        user = NOBODY
        for path in (home, *home.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    log = home / "log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            command, cwd=tree, env=variables, stdout=output, stderr=output, user=user, group=user,
            extra_groups=None if user is None else [],
        )  # fmt: skip
    return running, log, time.monotonic()


def finish(place: Place, running: tuple[subprocess.Popen[bytes], Path, float] | str) -> int:
    """Wait for the tests of a place and print how they went, in full if they failed."""
    if isinstance(running, str):
        print(f"{place.name}: left out, {running}", flush=True)
        return 0
    process, log, began = running
    code = process.wait()
    told = log.read_text(encoding="utf-8", errors="replace")
    print(told if code else told.rstrip().splitlines()[-1])
    print(f"{place.name}: {'FAILED' if code else 'passed'} after {(time.monotonic() - began) / 60:.1f} min", flush=True)
    return int(code != 0)  # below 0 where a signal ended it, as for want of memory


def copy_tree(target: Path) -> None:
    """Copy the files of the working tree that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def same_python(home: Path, *, as_nobody: bool) -> Path | None:
    """Return a Python of this version with the packages of this environment, which another user may run."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for path in candidates(version):
        if not as_nobody or runs_as_nobody(path):
            made = home / "venv"
            subprocess.run([path, "-m", "venv", "--without-pip", made], check=True)
            site = made / "lib" / f"python{version}" / "site-packages"
            (site / "packages.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
            return made / "bin" / "python"
    return None


def other_python(home: Path) -> Path | None:
    """Return a Python of another version with Linnet's own requirements and the tools of the tests."""
    path = next((path for version in VERSIONS for path in candidates(version)), None)
    if path is None or sys.version_info[:2] == (3, 13):
        return None
    made = home / "venv"
    subprocess.run([path, "-m", "venv", made], check=True)
    pip: list[str | Path] = [made / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    tree = next(home.glob("*/linnet/pyproject.toml")).parent
    subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", "--editable", tree, *TOOLS], check=True)
    return made / "bin" / "python"


def runs_as_nobody(path: Path) -> bool:
    """Return whether another user may run a program and read the packages of this environment."""
    if os.geteuid() != 0:
        return True
    code = f"import os; os.listdir({sysconfig.get_path('purelib')!r})"
    try:
        done = subprocess.run(
            [path, "-c", code], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
