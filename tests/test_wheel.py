"""A wheel holds everything that linking needs, outside the tree."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel unpacked, as pip would."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.slow
def test_it_links_outside_the_tree(site: Path, tmp_path: Path) -> None:
    code = (
        "import linnet, linnet.recipes.config\n"
        f"assert linnet.__file__.startswith({str(site)!r}), linnet.__file__\n"
        f"assert str(linnet.recipes.config.recipes()['hpo']).startswith({str(site)!r})\n"
        "from linnet.cli import main; main()"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ["PYTHONPATH"]])}
    arguments = ["link", "-q", "Seizures and renal cysts.", "--html", "page.html"]
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "HP:0001250" in done.stdout
    assert "HP:0000107" in done.stdout
    assert "Renal cyst" in (tmp_path / "page.html").read_text()


def test_it_is_typed_and_carries_its_licence(site: Path) -> None:
    assert (site / "linnet" / "py.typed").is_file()
    assert list(site.glob("linnet-*.dist-info/licenses/LICENSE"))


def test_the_screens_of_the_workbench_and_the_notes_of_its_demo_are_in_it(site: Path) -> None:
    for folder in ("annotate/web", "demo/notes"):
        there = {path.name for path in (ROOT / "src" / "linnet" / folder).iterdir()}
        assert len(there) > 10
        assert {path.name for path in (site / "linnet" / folder).iterdir()} == there
