"""Empty environments with Linnet installed from its wheel, and what it must do there without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = "Seizures and renal cysts."
CONCEPTS = ("HP:0001250", "HP:0000107")


class PackageError(Exception):
    """Something that a package must do and does not: what, and what was said instead."""


def run(command: Sequence[str | Path], folder: Path, variables: dict[str, str] | None = None) -> str:
    """Run a command in a folder and return what it prints.

    Raises:
        PackageError: it fails.
    """
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        shown = " ".join(map(str, command))
        raise PackageError(f"{shown}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def pip_into(python: Path, *arguments: str | Path) -> None:
    """Install into an environment that has no pip of its own: Debian's Python makes none without python3-venv."""
    quiet = ("--disable-pip-version-check", "--no-python-version-warning", "--quiet", "--quiet")
    run([sys.executable, "-m", "pip", "--python", python, *quiet, "install", "--no-compile", *arguments], ROOT)


def make_environment(python: Path, folder: Path) -> Path:
    """Make an environment with nothing in it and return its Python."""
    run([python, "-m", "venv", "--without-pip", folder], folder.parent)
    return folder / "bin" / "python"


def without_network(home: Path) -> tuple[list[str], dict[str, str]]:
    """Return what stands before a command, and its variables, so that no network can be reached.

    A namespace of its own where the system allows it, and everywhere a hook that refuses addresses of others.
    """
    variables = {
        "HOME": str(home),
        "LINNET_HOME": str(home / "linnet"),
        "PATH": os.defpath,
        "PYTHONPATH": str(ROOT / "tests" / "offline"),
        "LANG": "C.UTF-8",
    }
    apart = ["unshare", "--map-root-user", "--net"]
    allowed = shutil.which("unshare") and subprocess.run([*apart, "true"], capture_output=True, check=False)
    return apart if allowed and not allowed.returncode else [], variables


def try_wheel(wheel: Path, python: Path, folder: Path) -> str:
    """Install a wheel where nothing else is, build the HPO and link a sentence; return a line for the report.

    Args:
        wheel: with the versions of constraints.txt.
        python: an installed Python.
        folder: an empty one, outside the tree.
    """
    began = time.monotonic()
    made = make_environment(python, folder / "environment")
    pip_into(made, "--constraint", ROOT / "constraints.txt", wheel)
    (folder / "elsewhere").mkdir()
    version = wheel.name.split("-")[1]
    links(made.parent / "linnet", folder / "elsewhere", version)
    where = run([made, "-I", "-c", "import linnet; print(linnet.__file__)"], folder / "elsewhere").strip()
    if not Path(where).is_relative_to(folder):
        raise PackageError(f"{python}: Linnet comes from {where}")
    told = run([made, "--version"], folder).strip()
    return f"{told} ({python}): installed, HPO built and linked without a network in {time.monotonic() - began:.0f} s"


def links(linnet: Path, folder: Path, version: str) -> None:
    """Let a command ``linnet`` say its version, build the HPO and link a sentence, in a folder and with no network.

    Raises:
        PackageError: one of these fails or says something else.
    """
    apart, variables = without_network(folder)
    said = run([*apart, linnet, "--version"], folder, variables).strip()
    if said != f"linnet {version}":
        raise PackageError(f"linnet --version says {said!r} instead of 'linnet {version}'")
    run([*apart, linnet, "kb", "build", "--from", "hpo", "--quiet"], folder, variables)
    found = run([*apart, linnet, "link", "--quiet", TEXT, "--html", "page.html"], folder, variables)
    if lacks := [concept for concept in CONCEPTS if concept not in found]:
        raise PackageError(f"linnet link does not find {', '.join(lacks)} in {TEXT!r}:\n{found}")
    if "Renal cyst" not in (folder / "page.html").read_text(encoding="utf-8"):
        raise PackageError("linnet link --html writes a page without the concepts")
