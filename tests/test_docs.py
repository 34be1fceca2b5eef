"""The documents are tested: their Python runs, the reference is what the code says, links lead somewhere."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import linnet
from linnet.corpora import FORMATS

ROOT = Path(__file__).parents[1]
PHENOTYPES = [
    linnet.Concept(id, (linnet.Name(name),), parents=("HP:0000118",))
    for id, name in (("HP:0001250", "Seizure"), ("HP:0004322", "Short stature"), ("HP:0000175", "Cleft palate"))
]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.slow
def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_python_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    pages = (ROOT / "README.md", ROOT / "docs" / "python.md")
    blocks = [
        block
        for page in pages
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(blocks) == 9
    # one block reads documents of the reader's own; these stand in for them
    (tmp_path / "annotated").mkdir()
    mention = '{"start":0,"end":13,"source":"gold","concepts":["HP:0004322"]}'
    (tmp_path / "annotated" / "1.jsonl").write_text(
        f'{{"id":"1","text":"Short stature, seizures.","mentions":[{mention}]}}\n', encoding="utf-8"
    )
    script = "import warnings; warnings.simplefilter('ignore')\n" + "\n".join(blocks)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Short stature ('HP:0004322',)" in done.stdout
    assert (tmp_path / "my-pipeline" / "pipeline.toml").is_file()


@pytest.mark.slow
def test_docs_edit_a_knowledge_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    page = (ROOT / "docs" / "terminologies.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n((?:linnet .*\n)+)```", page, re.MULTILINE)
    [block] = [block for block in blocks if "linnet kb add" in block]
    commands = re.sub("^linnet", f"{shlex.quote(sys.executable)} -m linnet", block, flags=re.MULTILINE)
    done = subprocess.run(["sh", "-ec", commands], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "Febrile state" in done.stdout, "the difference names it"


def examples(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", examples("formats.md"))
def test_examples_of_formats_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ".spacy" in example:
        pytest.importorskip("spacy", reason="the extra spacy is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/formats.md", "exec"), {})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*more than one replaced_by:linnet.errors.LinnetWarning")
@pytest.mark.parametrize(("page", "extras"), [("spacy.md", ["spacy"]), ("notebooks.md", ["pandas", "pyarrow"])])
def test_examples_of_a_page_run_one_after_the_other(
    page: str, extras: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in extras:
        pytest.importorskip(name, reason=f"{name} is not installed")
    if page == "spacy.md":
        importlib.import_module("linnet.serve.spacy_component")  # the entry point of an installed Linnet does this
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in examples(page):
        exec(compile(example, f"docs/{page}", "exec"), names)
    shown = capsys.readouterr().out
    for said in {
        "spacy.md": ["cleft palate HP:0000175 Cleft palate 1.0 negated", "('seizures', 'SIGN', 'HP:0001250')"],
        "notebooks.md": ["Short stature    1"],
    }[page]:
        assert said in shown


def test_each_format_is_described() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert [name for name in FORMATS if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_public_names_exist() -> None:
    for name in linnet.__all__:
        assert getattr(linnet, name).__doc__
    assert set(linnet.__all__) <= set(dir(linnet))
    with pytest.raises(AttributeError, match="linnnet"):
        linnet.linnnet  # noqa: B018


def test_examples_of_serving_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    pytest.importorskip("prometheus_client", reason="the extra serve is not installed")
    from linnet.serve.app import make_app
    from linnet.serve.linking import Linking
    from tests.serve.running import running

    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    [example] = examples("serving.md")
    [asked] = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    kb = linnet.build([linnet.Concept("HP:0000118", (linnet.Name("Abnormality"),)), *PHENOTYPES], tmp_path / "hpo.kb")
    with running(make_app(Linking({"hpo": linnet.load("dictionary", kb=kb)}))) as port:
        found: dict[str, list[linnet.Document]] = {}
        exec(compile(example.replace("8421", str(port)), "docs/serving.md", "exec"), found)
        assert [len(doc.mentions or ()) for doc in found["docs"]] == [1, 1]
        if shutil.which("curl"):
            told = subprocess.run(
                ["sh", "-ec", asked.replace("8421", str(port))], capture_output=True, text=True, check=True
            ).stdout
            assert "problem" not in told
            assert told.count('"HP:0001250"') >= 3
            assert [doc.text for doc in linnet.read(tmp_path / "found.jsonl")] == ["Seizures.", "No cleft palate."]
