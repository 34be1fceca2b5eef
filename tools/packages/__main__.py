"""``make dist``: build wheel and source archive, look through them, install and use them where nothing else is.

``python -m tools.packages`` installs the wheel on two Pythons, ``--all`` on each that is here; it then also resolves
every extra, installs from the source archive, runs the wheel by pipx, and builds and runs the container's steps.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tools.licence_list import LISTED, SECTIONS, chosen, listed, write_list
from tools.packages.container import rehearse
from tools.packages.contents import faults_of_sdist, faults_of_wheel, included, metadata_of, pyproject, tracked
from tools.packages.places import ROOT, PackageError, links, make_environment, pip_into, run, try_wheel
from tools.pythons import installed

OUTPUT = ROOT / "dist"
VERSIONS = ("3.12", "3.11", "3.13")  # the first is the one that no other test runs where several are installed
SYSTEM = Path("/usr")
APART = {"flair": "constraints-flair.txt"}  # extras that do not go with the versions of the others


def main(arguments: Sequence[str]) -> int:
    """Do all steps; 1 if one fails, with what failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every Python, the extras, pipx, the container's steps")
    parser.add_argument("--licences", action="store_true", help="only write the list of packages and their licences")
    options = parser.parse_args(arguments)
    everything = options.all
    try:
        wheel, sdist = build()
        if options.licences:
            update_licences(wheel)
            return 0
        check(wheel, sdist)
        with tempfile.TemporaryDirectory() as made:
            steps = [*environments(wheel, Path(made), everything=everything)]
            if everything:
                steps += further(wheel, sdist, Path(made))
            with ThreadPoolExecutor(2) as pool:
                for line in pool.map(lambda step: step(), steps):
                    say(line)
    except PackageError as error:
        say(f"FAILED: {error}")
        return 1
    return 0


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def build() -> tuple[Path, Path]:
    """Build both archives into ``dist/`` and return them: wheel, source archive."""
    for old in OUTPUT.glob("linnet-*"):
        old.unlink()
    run([sys.executable, "-m", "hatchling", "build", "-d", OUTPUT], ROOT)
    [wheel], [sdist] = OUTPUT.glob("linnet-*.whl"), OUTPUT.glob("linnet-*.tar.gz")
    return wheel, sdist


def check(wheel: Path, sdist: Path) -> None:
    """Compare both with the tree and with each other, and ask twine.

    Raises:
        PackageError: what is wrong.
    """
    told, files, version = pyproject(ROOT), tracked(ROOT), wheel.name.split("-")[1]
    faults = faults_of_wheel(wheel, files, told["project"], version)
    faults += faults_of_sdist(sdist, files, included(told), metadata_of(wheel))
    if faults:
        raise PackageError("\n".join(faults))
    run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], ROOT)
    with tempfile.TemporaryDirectory() as made:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
        run([*pip, "--no-build-isolation", sdist, "-w", made], ROOT)
        if (Path(made) / wheel.name).read_bytes() != wheel.read_bytes():
            raise PackageError(f"{sdist.name} builds another wheel than the tree does")
    for path in (wheel, sdist):
        say(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB, as the tree and its metadata say")


def environments(wheel: Path, folder: Path, *, everything: bool) -> list[Callable[[], str]]:
    """Return a step for each Python: the system's and one other, or each; say which versions are left out."""
    found = {version: installed(version) for version in VERSIONS}
    for version in sorted(version for version, paths in found.items() if not paths):
        say(f"Python {version}: left out, not on this machine")
    paths = [path for version in VERSIONS for path in found[version]]
    systems = [path for path in paths if path.is_relative_to(SYSTEM)]
    chosen = paths if everything else [*systems[:1], *(path for path in paths if path not in systems)][:2]
    for path in (path for path in paths if path not in chosen):
        say(f"{path}: left out, `make dist-all` takes it")
    return [partial(_environment, wheel, path, folder / str(number)) for number, path in enumerate(chosen)]


def _environment(wheel: Path, python: Path, folder: Path) -> str:
    folder.mkdir()
    return try_wheel(wheel, python, folder)


def further(wheel: Path, sdist: Path, folder: Path) -> list[Callable[[], str]]:
    """Return the steps that ``--all`` adds."""
    extras = pyproject(ROOT)["project"]["optional-dependencies"]
    return [
        *(partial(resolve, wheel, extra) for extra in extras),
        partial(from_source, sdist, folder / "source"),
        partial(by_pipx, wheel, folder / "pipx"),
        partial(container, folder / "container"),
    ]


def resolve(wheel: Path, extra: str) -> str:
    """Let pip choose the packages of an extra, and install none.

    Raises:
        PackageError: there is no such choice, or it holds a package that the list of licences lacks.
    """
    constraints = APART.get(extra, "constraints.txt")
    packages = chosen(report(wheel, extra, constraints))
    known = {name for section in listed().values() for name in section}
    if extra != "dev" and (lacks := sorted(packages.keys() - known)):
        raise PackageError(f"linnet[{extra}]: no licence of {', '.join(lacks)}: run make licences, then make docs")
    return f"linnet[{extra}]: {len(packages)} packages with {constraints}"


def report(wheel: Path, extras: str, constraints: str) -> dict[str, Any]:
    """Return what pip would install, in its own form."""
    command: list[str | Path] = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "-qq"]
    with tempfile.TemporaryDirectory() as made:
        output = Path(made) / "report.json"
        run(
            [*command, "--constraint", constraints, "--report", output, f"{wheel}[{extras}]" if extras else wheel], ROOT
        )
        told: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return told


def update_licences(wheel: Path) -> None:
    """Write the list of packages and licences anew from what pip chooses now."""
    extras = [name for name in pyproject(ROOT)["project"]["optional-dependencies"] if name not in {"dev", *APART}]
    wanted = {"core": "", "extras": ",".join(extras), "flair": "flair"}
    write_list(report(wheel, wanted[section], constraints) for section, (_, constraints) in SECTIONS.items())
    say(f"{LISTED.relative_to(ROOT)}: written; make docs makes the page of it")


def from_source(sdist: Path, folder: Path) -> str:
    """Install from the source archive alone and link."""
    folder.mkdir()
    made = make_environment(Path(sys.base_prefix) / "bin" / "python3", folder / "environment")
    pip_into(made, "--constraint", ROOT / "constraints.txt", sdist)
    (folder / "elsewhere").mkdir()
    links(made.parent / "linnet", folder / "elsewhere", sdist.name.removesuffix(".tar.gz").split("-")[1])
    return f"{sdist.name}: installed and linked"


def by_pipx(wheel: Path, folder: Path) -> str:
    """Run the command by pipx, in folders of its own."""
    folder.mkdir()
    variables = {**os.environ, "PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    command: list[str | Path] = [sys.executable, "-m", "pipx", "run", "--spec", wheel, "linnet", "--version"]
    return f"pipx run --spec {wheel.name} linnet --version: {run(command, folder, variables).strip()}"


def container(folder: Path) -> str:
    """Look through the Containerfile and do its steps."""
    run([Path(sys.executable).parent / "hadolint", "Containerfile"], ROOT)
    paths = [path for version in VERSIONS for path in installed(version)]
    python = next((path for path in paths if path.is_relative_to(SYSTEM)), paths[0])  # other users may run it
    folder.mkdir()
    folder.parent.chmod(0o755)
    return rehearse(python, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
