"""What makes packages and describes them: archives looked through, the container's file, licences, the changelog."""

from __future__ import annotations

import doctest
import io
import re
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tools import changelog, licence_list
from tools.licence_list import SECTIONS, canonical, chosen, licence_of, listed, pinned
from tools.licences import PARTS
from tools.packages import container
from tools.packages.__main__ import environments
from tools.packages.container import copied, read
from tools.packages.contents import faults_of_sdist, faults_of_wheel, included, pyproject, tracked

import linnet
from linnet.cli.diagnosis import CORE, EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT: Mapping[str, Any] = {
    "name": "linnet",
    "license": "Apache-2.0",
    "license-files": ["LICENSE"],
    "optional-dependencies": {"serve": ["fastapi"]},
    "scripts": {"linnet": "linnet.cli:main"},
}
METADATA = """Metadata-Version: 2.4
Name: linnet
Version: 1.2.0
License-Expression: Apache-2.0
Provides-Extra: serve
Description-Content-Type: text/markdown
"""
INFO = "linnet-1.2.0.dist-info"
GOOD = {
    "linnet/__init__.py": "a = 1\n",
    "linnet/recipes/shipped/hpo.toml": "kb = 'hpo'\n",
    f"{INFO}/METADATA": METADATA,
    f"{INFO}/licenses/LICENSE": "free\n",
    f"{INFO}/entry_points.txt": "[console_scripts]\nlinnet = linnet.cli:main\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Path]:
    """The files of a small working tree."""
    for name, content in {"src/linnet/__init__.py": "a = 1\n", "recipes/hpo.toml": "kb = 'hpo'\n"}.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True)
        path.write_text(content, encoding="utf-8")
    return tracked(tmp_path / "tree")


# --- the archives ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"linnet/__init__.py": None}, ["lacks linnet/__init__.py"]),
        ({"linnet/__init__.py": "a = 2\n"}, ["linnet/__init__.py is not what it is in the tree"]),
        ({"linnet/notes.txt": "Mrs M."}, ["holds linnet/notes.txt, which git does not know there"]),
        ({"tests/letter.txt": "Dear"}, ["holds tests/letter.txt, which git does not know there"]),
        ({f"{INFO}/licenses/LICENSE": None}, ["licences [] instead of ['LICENSE']"]),
        ({f"{INFO}/entry_points.txt": None}, ["entry_points.txt does not name the command linnet"]),
        (
            {f"{INFO}/METADATA": METADATA.replace("serve", "server").replace("1.2.0", "1.3.0")},
            ["Version is ['1.3.0'] instead of ['1.2.0']", "Provides-Extra is ['server'] instead of ['serve']"],
        ),
    ],
    ids=["good", "lacks", "differs", "more", "tests", "licence", "command", "metadata"],
)
def test_faults_of_a_wheel_are_named(
    changes: dict[str, str | None], told: list[str], tree: dict[str, Path], tmp_path: Path
) -> None:
    wheel = tmp_path / "linnet-1.2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in {**GOOD, **changes}.items():
            if content is not None:
                archive.writestr(name, content)
    assert faults_of_wheel(wheel, tree, PROJECT, "1.2.0") == [f"{wheel.name}: {fault}" for fault in told]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"src/linnet/__init__.py": None}, ["lacks src/linnet/__init__.py"]),
        ({"secrets.txt": "x"}, ["holds secrets.txt, which git does not know there"]),
        ({"PKG-INFO": "Name: other\n"}, ["its metadata are not those of the wheel"]),
    ],
    ids=["good", "lacks", "more", "metadata"],
)
def test_faults_of_a_source_archive_are_named(
    changes: dict[str, str | None], told: list[str], tree: dict[str, Path], tmp_path: Path
) -> None:
    good = {"src/linnet/__init__.py": "a = 1\n", "PKG-INFO": METADATA}
    sdist = tmp_path / "linnet-1.2.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for name, content in {**good, **changes}.items():
            if content is not None:
                entry = tarfile.TarInfo(f"linnet-1.2.0/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content.encode()))
    found = faults_of_sdist(sdist, tree, ["src"], METADATA.encode())
    assert found == [f"{sdist.name}: {fault}" for fault in told]


def test_the_source_archive_has_what_its_tests_read() -> None:
    include = included(pyproject(ROOT))
    assert [name for name in include if not (ROOT / name).exists()] == []
    left_out = {name.partition("/")[0] for name in tracked(ROOT)} - {*include, "pyproject.toml", ".gitignore"}
    assert left_out <= {".ci", ".dockerignore"} or not (ROOT / ".git").exists()


def test_the_source_archive_takes_nothing_from_folders_of_the_same_name() -> None:
    patterns = pyproject(ROOT)["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [one for one in patterns if not one.startswith("/")] == [], "of a folder notes/docs, too"


def test_the_system_s_python_and_another_are_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = {"3.11": [Path("/opt/3.11"), Path("/usr/bin/python3.11")], "3.12": [Path("/opt/3.12")]}
    monkeypatch.setattr("tools.packages.__main__.installed", lambda version: here.get(version, []))
    wheel = tmp_path / "linnet-1.2.0-py3-none-any.whl"
    assert [step.args[1] for step in environments(wheel, tmp_path, everything=False)] == [  # type: ignore[attr-defined]
        Path("/usr/bin/python3.11"),
        Path("/opt/3.12"),
    ]
    assert "Python 3.13: left out, not on this machine\n/opt/3.11: left out" in capsys.readouterr().out
    assert len(environments(wheel, tmp_path, everything=True)) == 3


# --- the container ---------------------------------------------------------------------------------------------------


def test_the_container_runs_without_rights_and_copies_what_is_there() -> None:
    first, last = read((ROOT / "Containerfile").read_text(encoding="utf-8"))
    for stage in (first, last):
        assert re.fullmatch(r"python:3\.1[123]-slim-[a-z]+", stage.base), "named by version"
        assert not stage.told("ADD"), "fetches what nobody checked"
    user, _, group = last.told("USER")[-1].partition(":")
    assert int(user) > 0, "root, or a name that an orchestrator cannot check"
    assert int(group) > 0
    assert last.steps.index(("USER", f"{user}:{group}")) < [name for name, _ in last.steps].index("ENTRYPOINT")
    assert not last.told("RUN"), "what is installed comes from the first stage"
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    for names, _ in copied(first):
        for name in names:
            assert (ROOT / name).exists()
            assert f"!{name}" in ignored, "left out of what is sent to the build"
    assert {rest.split()[1] for rest in last.told("COPY") if rest.startswith("--from") and "--chown" not in rest} == {
        "/opt/linnet"
    }, "the code belongs to root"


def test_the_container_starts_the_server_of_the_docs() -> None:
    _, last = read((ROOT / "Containerfile").read_text(encoding="utf-8"))
    assert last.told("EXPOSE") == ["8421"]
    assert "http://127.0.0.1:8421/health" in last.told("HEALTHCHECK")[0]
    assert '"--without-keys"' not in last.told("CMD")[0]
    assert last.variables()["LINNET_HOME"] == "/var/lib/linnet"


# --- licences --------------------------------------------------------------------------------------------------------


def test_each_requirement_has_a_licence() -> None:
    found = listed()
    assert set(CORE) <= set(found["core"])
    named = {canonical(name) for extra in EXTRAS.values() for name in extra.packages}
    assert named <= {name for section in found.values() for name in section}


def test_versions_of_the_licences_are_those_that_are_installed_together() -> None:
    for section, (_, constraints) in SECTIONS.items():
        assert set(listed()[section]) & set(pinned(constraints)), section
    assert set(listed()["core"]) <= set(pinned("constraints.txt"))


def test_licences_are_read_from_metadata() -> None:
    assert licence_of({"license_expression": "MIT OR Apache-2.0", "license": "MIT"}) == "MIT OR Apache-2.0"
    assert (
        licence_of({"license": "MIT License\n\nCopyright", "classifier": ["License :: OSI Approved :: BSD License"]})
        == "BSD"
    )
    assert licence_of({"license": "UNKNOWN"}) == "not stated"
    report = {
        "install": [{"metadata": {"name": name, "license": "MIT"}} for name in ("linnet", "A.B_c", "nvidia-nccl-cu12")]
    }
    assert chosen(report) == {"a-b-c": "MIT"}


def test_what_others_wrote_is_listed() -> None:
    """A file with somebody else's licence in its head has a line of its own."""
    own = {part.files for part in PARTS if "*" not in part.files}
    for path in (ROOT / "src").rglob("*"):
        if path.suffix in (".js", ".css", ".html", ".svg"):
            head = path.read_text(encoding="utf-8")[:2000]
            assert path.relative_to(ROOT).as_posix() in own or not re.search("@license|copyright", head, re.IGNORECASE)
    for part in PARTS:
        assert any(ROOT.glob(part.files)), part.files


@pytest.mark.parametrize("module", [changelog, container, licence_list], ids=lambda module: module.__name__)
def test_examples_of_the_tools_run(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


# --- releases and community ------------------------------------------------------------------------------------------


def test_the_changelog_is_by_release() -> None:
    assert changelog.faults((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), linnet.__version__) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# Changelog\n\n## 0.1.0 - 2026-01-01\n\n### Added\n\n* A.\n", "begins without ## Unreleased"),
        ("# Changelog\n\n## Unreleased\n\n### New\n\n* A.\n", "Unreleased: New is none of Added"),
        ("# Changelog\n\n## Unreleased\n\n### Fixed\n\n", "Unreleased: nothing under Fixed"),
        ("# Changelog\n\n## Unreleased\n\n## v1\n\n### Added\n\n* A.\n", "v1: not VERSION - YYYY-MM-DD"),
        ("# Changelog\n\n## Unreleased\n\n## 9.0.0 - 2026-01-01\n\n### Added\n\n* A.\n", "9.0.0 - 2026-01-01 is newer"),
        (
            "# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-01-01\n\n### Added\n\n* A.\n## 0.2.0 - 2026-02-01\n",
            "releases are not from the newest",
        ),
    ],
)
def test_faults_of_a_changelog_are_named(text: str, told: str) -> None:
    assert any(fault.startswith(told) for fault in changelog.faults(text, "0.2.0"))


def test_a_release_is_made_once() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(r"^## Unreleased\n+### ", text, re.MULTILINE):  # as on the day of a release
        text = text.replace("## Unreleased\n", "## Unreleased\n\n### Fixed\n\n* A fault.\n", 1)
    made = changelog.release(text, "99.0.0", "2026-03-01")
    assert changelog.faults(made, "99.0.0") == []
    assert made.index("## Unreleased") < made.index("## 99.0.0 - 2026-03-01")
    with pytest.raises(ValueError, match="has been released"):
        changelog.release(made, "99.0.0", "2026-03-02")


def test_pages_name_targets_and_programs_that_there_are() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / ".github").rglob("*.*")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"(?:`|^)make ([a-z][a-z -]*?)(?:`|$| {2,}| [A-Z]+=)", text, re.MULTILINE):
            for target in line.split():
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"
        for module in re.findall(r"python -m (tools\.[\w.]+)", text):
            place = ROOT / module.replace(".", "/")
            assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), f"{page.name}: {module}"


def test_the_citation_is_that_of_the_package() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([\w-]+): ?(.*)$", text, re.MULTILINE))
    assert {"cff-version", "message", "title", "authors"} <= set(fields), "what the schema requires"
    assert (fields["cff-version"], fields["version"]) == ("1.2.0", linnet.__version__)
    assert fields["license"] in pyproject(ROOT)["project"]["license"]


def test_every_form_asks_not_to_paste_texts_of_patients() -> None:
    forms = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert {path.stem for path in forms} == {"bug", "feature", "link"}
    for path in forms:
        text = path.read_text(encoding="utf-8")
        assert "**Never paste texts of patients" in text
        assert re.search(r"nothing here comes from the text of a patient\.\n +required: true", text, re.IGNORECASE)
        assert [
            key for key in ("name:", "description:", "body:") if not re.search(rf"^{key}", text, re.MULTILINE)
        ] == []
