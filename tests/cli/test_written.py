"""``linnet link -o`` replaces what it wrote itself, and nothing that a hand has changed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from linnet.cli.written import refuse_changed, remember

from .conftest import Run

pytestmark = pytest.mark.usefixtures("home")

REFUSED = "is there already, and was changed since Linnet wrote it, or is another's"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.txt"
    path.write_text("Seizures and cleft palate.")
    return path


@pytest.mark.parametrize("name", ["found.csv", "found.jsonl", "found.jsonl.gz", "found.xlsx"])
def test_what_nobody_changed_is_replaced(run: Run, recipe: Path, note: Path, tmp_path: Path, name: str) -> None:
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    out = tmp_path / name
    for _ in range(2):
        assert run("link", "-q", note, "--pipeline", recipe, "-o", out).code == 0
    moved = shutil.move(out, tmp_path / f"moved-{name}")
    assert run("link", "-q", note, "--pipeline", recipe, "-o", moved).code == 0


def test_what_a_hand_changed_stays(run: Run, recipe: Path, note: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "found.csv", tmp_path / "found.html"
    command = ("link", "-q", note, "--pipeline", recipe, "-o", out, "--html", page)
    assert run(*command).code == 0
    for changed in (out, page):
        whole = changed.read_bytes()
        changed.write_bytes(whole + b"\n")
        done = run(*command)
        assert (done.code, f"{changed}: {REFUSED}" in done.err) == (2, True)
        assert changed.read_bytes() == whole + b"\n"
        assert not list(tmp_path.glob("*.unfinished"))
        assert run(*command, "--overwrite").code == 0
        assert changed.read_bytes() == whole


def test_one_output_is_replaced_if_the_other_failed(
    run: Run, recipe: Path, note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    command = ("link", "-q", note, "--pipeline", recipe, "-o", tmp_path / "a.xlsx", "--html", tmp_path / "a.html")
    with monkeypatch.context() as full:
        full.setattr("linnet.text.workbook.LAST_ROW", 2)
        assert run(*command).code == 2
    assert (tmp_path / "a.html").exists()
    assert run(*command).code == 0


def test_a_missing_package_is_told_before_anything_is_linked(
    run: Run, recipe: Path, note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("openpyxl", "openpyxl.cell"):
        monkeypatch.setitem(sys.modules, module, None)
    out, page = tmp_path / "a.xlsx", tmp_path / "a.html"
    done = run("link", note, "--pipeline", recipe, "-o", out, "--html", page)
    assert (done.code, "needs openpyxl" in done.err, page.exists()) == (2, True, False)


def test_what_others_wrote_stays(run: Run, recipe: Path, note: Path, tmp_path: Path) -> None:
    out = tmp_path / "notes.csv"
    out.touch()
    assert run("link", "-q", note, "--pipeline", recipe, "-o", out).code == 0, "an empty file holds nothing to lose"
    out.write_text("mine\n")
    done = run("link", "-q", note, "--pipeline", recipe, "-o", out)
    assert (done.code, "--overwrite" in done.err, out.read_text()) == (2, True, "mine\n")


def test_what_cannot_be_noted_is_told(run: Run, recipe: Path, note: Path, tmp_path: Path, home: Path) -> None:
    home.write_text("no folder")
    out = tmp_path / "found.csv"
    done = run("link", note, "--pipeline", recipe, "-o", out)
    assert (done.code, "to replace" in done.err, "--overwrite" in done.err) == (0, True, True)
    assert run("link", note, "--pipeline", recipe, "-o", out).code == 2
    assert run("link", note, "--pipeline", recipe, "-o", out, "--overwrite").code == 0


def test_a_checksum_that_a_full_disk_took_half_of_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    (tmp_path / "written").write_text("0f3a")
    (tmp_path / "out.jsonl").write_text("{}")
    remember(tmp_path / "out.jsonl")
    refuse_changed(tmp_path / "out.jsonl")
