"""Push and pull of trained folders and knowledge bases, against a Hub on this machine."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run, run
from tests.hub_server import TOKEN, Hub, hub

import linnet
from linnet.data import Concept, Document, Mention, Name
from linnet.detect.dictionary import Dictionary
from linnet.errors import FormatError, LinnetError, LinnetWarning
from linnet.fit.packing import pack
from linnet.home import kb_named
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.confidence import FEATURES, Confidence
from linnet.pipeline.decide import Decide
from linnet.recipes import config, saving
from linnet.recipes.hub import Manifest, Repository, pull

huggingface_hub = pytest.importorskip("huggingface_hub", reason="the extra hub is not installed")

__all__ = ["run"]

# of the client, which warns of its own way to upload
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kb: KnowledgeBase) -> None:
    """A home with the small knowledge base, and a client that keeps to this machine."""
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    kb_named("small").parent.mkdir(parents=True)
    shutil.copy(kb.path, kb_named("small"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub() as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        yield made


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A trained folder: a dictionary with an alias learned, calibrated, with a curve and more than one small file."""
    kb = KnowledgeBase.open("small")
    doc = Document("t", "Funny turns.", mentions=(Mention(0, 11, source="gold", concepts=("HP:0001250",)),))
    dictionary, decide = Dictionary(kb=kb, aliases=True), Decide(kb=kb)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        list(dictionary.fit([doc], (), before=Pipeline(), kb=kb, args={}))
    decide.confidence, decide.calibration = Confidence(np.arange(float(len(FEATURES)))), "joint"
    pipeline = Pipeline(dictionary, decide, kb=kb)
    pipeline.seen = pipeline.seen.with_documents(train=[doc])
    folder = tmp_path / "trained"
    saving.save(pipeline, folder)
    (folder / "curve.csv").write_text(
        "part,step,epoch,seconds,metric,value\ndecide,1,1,0.5,dev score,0.75\ndecide,0,0,2.00,seconds,2\n"
    )
    (folder / "curve-dev-score.svg").write_text("<svg>" + " " * 3000 + "</svg>")
    return folder


def test_a_pushed_folder_is_loaded_by_name(trained: Path, server: Hub, run: Run, tmp_path: Path) -> None:
    done = run("push", trained, "ward/letters", "--license", "apache-2.0")
    assert done.code == 0, done.err
    assert "/commit/" in done.out
    assert "1 texts" in done.err
    made = server.repositories["models", "ward/letters"]
    assert made.private
    assert server.stored, "large files go by LFS"
    files = made.commits[made.head]
    assert {"pipeline.toml", "card.md", "seen.json", "curve-dev-score.svg", "linnet.json", "README.md"} < set(files)
    link = linnet.load("hf:ward/letters")
    [doc] = link("She had funny turns.")
    [mention] = doc.mentions or ()
    assert (doc.surface(mention), mention.concepts, mention.calibration) == ("funny turns", ("HP:0001250",), "joint")
    asked = len(server.asked)
    assert linnet.load("hf:ward/letters")("x")
    assert len(server.asked) == asked, "what is kept needs no network"
    found = run("link", "She had funny turns.", "--pipeline", "hf:ward/letters", "-q")
    assert "HP:0001250" in found.out


def test_its_card_has_front_matter_and_figures(trained: Path, server: Hub, run: Run) -> None:
    config_ = trained / "0-dictionary" / "config.json"
    config_.write_text(json.dumps({**json.loads(config_.read_text()), "encoder": "someone/encoder@main"}))
    shown = run("push", trained, "ward/letters", "--license", "mit", "--dry-run", "-q")
    assert shown.code == 0, shown.err
    assert server.asked == []
    lines = [line.strip() for line in shown.out.splitlines()]
    front = lines[lines.index("---") :]
    assert front[: front.index("---", 1) + 1] == [
        "---",
        'library_name: "linnet"',
        'pipeline_tag: "token-classification"',
        'tags: ["linnet", "entity-linking", "biomedical"]',
        'license: "mit"',
        'base_model: ["someone/encoder"]',
        "---",
    ]
    assert "| parts | dictionary, decide |" in lines
    assert "| best dev score of decide while it was trained | 0.7500 |" in lines
    assert "![curve-dev-score.svg](curve-dev-score.svg)" in lines
    assert "## Dictionary >> Decide" in lines, "what training wrote"
    card = huggingface_hub.RepoCard("\n".join(front))
    assert card.data.to_dict()["license"] == "mit"


def test_a_revision_stays_what_it_was(trained: Path, server: Hub, run: Run, tmp_path: Path) -> None:
    run("push", trained, "ward/letters")
    made = server.repositories["models", "ward/letters"]
    first = made.tags["v1"] = made.head
    assert run("pull", "ward/letters").code == 0
    (trained / "curve-dev-score.svg").unlink()
    run("push", trained, "ward/letters")
    assert "curve-dev-score.svg" not in made.commits[made.head], "what is no longer there is removed"
    assert Repository.of("ward/letters").kept == tmp_path / "home" / "hub" / "ward" / "letters" / first
    assert made.head in run("pull", "ward/letters").out
    assert Repository.of("ward/letters").kept != Repository.of(f"ward/letters@{first}").kept
    linnet.load("hf:ward/letters@v1")
    refused = run("pull", "ward/letters@v9")
    assert refused.code == 2
    assert "no such revision" in refused.err


def test_a_folder_of_that_very_name_wins(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:ward").mkdir()
    trained.rename(tmp_path / "hf:ward" / "letters")
    assert linnet.load("hf:ward/letters").name == "hf:ward/letters"


def test_a_kb_goes_and_comes(server: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("push", "small", "ward/small-kb", "--public")
    assert done.code == 0, done.err
    assert "no licence is recorded" in done.err
    assert not server.repositories["datasets", "ward/small-kb"].private
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.delenv("HF_TOKEN")
    assert run("pull", "ward/small-kb").code == 0
    assert len(KnowledgeBase.open("small")) == 10
    assert run("pull", "ward/small-kb").code == 0, "the same one may be there"
    with KnowledgeBase.edit("small") as change:
        change.add(Concept("X:9", (Name("Nine"),)))
    refused = run("pull", "ward/small-kb")
    assert refused.code == 2
    assert "is not replaced" in refused.err
    assert run("pull", "ward/small-kb", "-o", tmp_path / "other.kb").code == 0
    with pytest.raises(LinnetError, match="is a knowledge base, not a pipeline"):
        monkeypatch.setenv("LINNET_HOME", str(tmp_path / "third"))
        linnet.load("hf:ward/small-kb")


def test_a_bundle_goes_and_comes(
    trained: Path, server: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(trained, tmp_path / "turns-1.tar.gz", name="turns")
    done = run("push", tmp_path / "turns-1.tar.gz", "ward/turns", "--license", "mit")
    assert done.code == 0, done.err
    made = server.repositories["models", "ward/turns"]
    files = made.commits[made.head]
    assert set(files) - {".gitattributes"} == {"README.md", "linnet.json", "turns-1.tar.gz"}
    assert "## Dictionary >> Decide" in files["README.md"].decode()
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "elsewhere"))
    pulled = run("pull", "ward/turns")
    assert "a pipeline: --pipeline hf:ward/turns" in pulled.err
    asked = len(server.asked)
    [doc] = linnet.load("hf:ward/turns")("She had funny turns.")
    assert [mention.concepts for mention in doc.mentions or ()] == [("HP:0001250",)], "it brought its terminology"
    assert len(server.asked) == asked
    assert "name a commit" in run("pull", "ward/turns", "--sha256", "0").err


def test_a_licensed_terminology_asks_for_yes(server: Hub, run: Run, tmp_path: Path) -> None:
    concept = Concept("UMLS:C0036572", (Name("Seizure"),))
    build([concept], tmp_path / "mine.kb", sources=[{"vocabulary": "table"}])
    build([Concept("X:1", (Name("Cold"),))], tmp_path / "snomed.kb", sources=[{"vocabulary": "snomed"}])
    for name, says in (("mine.kb", "UMLS"), ("snomed.kb", "SNOMED CT")):
        refused = run("push", tmp_path / name, "ward/kb")
        assert refused.code == 2
        assert says in refused.err
        assert "add --yes" in refused.err
    assert server.asked == []
    assert run("push", tmp_path / "mine.kb", "ward/kb", "--yes").code == 0


def test_what_is_not_of_the_folder_is_not_pushed(trained: Path, server: Hub, run: Run) -> None:
    for name in ("notes.txt", "0-dictionary/letters.jsonl", "training/state.npy", ".env"):
        path = trained / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("Mrs Doe, 1 Main Street")
        refused = run("push", trained, "ward/letters", "--yes")
        assert refused.code == 2
        assert f"{path}: is not of the trained pipeline" in refused.err
        path.unlink()
    (trained / "training").rmdir()
    (trained / "card.md").rename(trained.parent / "card.md")
    (trained / "card.md").symlink_to(trained.parent / "card.md")
    assert "is a link" in run("push", trained, "ward/letters").err
    (trained / "card.md").unlink()
    assert "no trained folder" in run("push", trained, "ward/letters").err
    assert server.asked == []


def test_a_damaged_folder_and_one_of_an_unknown_terminology(trained: Path, server: Hub, run: Run) -> None:
    kb_named("small").unlink()
    assert "is not here, so its licence is not known" in run("push", trained, "ward/letters").err
    learned = next((trained / "0-dictionary").glob("*.jsonl"), trained / "0-dictionary" / "learned.json")
    learned.write_text(learned.read_text() + " ")
    assert "missing or damaged" in run("push", trained, "ward/letters", "--yes").err


def test_a_public_repository_is_not_taken_for_a_private_one(trained: Path, server: Hub, run: Run) -> None:
    assert run("push", trained, "ward/letters", "--public").code == 0
    made = server.repositories["models", "ward/letters"]
    refused = run("push", trained, "ward/letters")
    assert refused.code == 2
    assert "is public at the Hub" in refused.err
    assert len(made.commits) == 2
    made.private = True
    pushed = run("push", trained, "ward/letters", "--public")
    assert (pushed.code, "ward/letters was private at the Hub, and stays so" in pushed.err) == (0, True)


def test_files_that_are_not_what_the_list_says(trained: Path, server: Hub, run: Run, tmp_path: Path) -> None:
    run("push", trained, "ward/letters")
    made = server.repositories["models", "ward/letters"]
    files = made.commits[made.head]
    files["pipeline.toml"] += b"\n"
    refused = run("pull", "ward/letters", "-o", tmp_path / "new")
    assert refused.code == 2
    assert "pipeline.toml: its SHA-256 is" in refused.err
    assert not (tmp_path / "new").exists()
    del files["linnet.json"]
    assert "was not made by linnet push" in run("pull", "ward/letters").err


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "C:x", "a\\b", "", "linnet.json"])
def test_lists_that_lead_out_of_the_repository(name: str, tmp_path: Path) -> None:
    (tmp_path / "linnet.json").write_text(json.dumps({"kind": "pipeline", "files": {name: "0"}}))
    with pytest.raises(FormatError, match="no list of Linnet's"):
        Manifest.read(tmp_path / "linnet.json")


def test_without_permission_or_network(trained: Path, server: Hub, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("push", trained, "ward/letters")
    monkeypatch.setenv("HF_TOKEN", "hf_of_somebody_else")
    for refused in (run("pull", "ward/letters"), run("pull", "ward/nothing"), run("push", trained, "ward/more")):
        assert refused.code == 2
        assert "does not show or open it to you" in refused.err
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(LinnetError, match="the Hub cannot be reached"):
        linnet.load("hf:ward/letters")
    with pytest.raises(LinnetError, match=r"the Hub cannot be reached.*What was pulled elsewhere can be copied"):
        pull(Repository.of("ward/letters"))
    unsent = run("push", trained, "ward/letters")
    assert unsent.code == 2
    assert "the Hub cannot be reached" in unsent.err
    assert "push it again later" in " ".join(unsent.err.split())


@pytest.mark.parametrize(
    "name",
    ["letters", "hf:letters", "a/b/c", "a/../b", "a b/c", "a/b@", "hf:", "a/.", "./a", "a/b@/etc", "a/b@."],
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(LinnetError, match="no name at the Hub"):
        Repository.of(name)


def test_only_commits_are_folders(server: Hub, trained: Path, run: Run, tmp_path: Path) -> None:
    run("push", trained, "ward/letters")
    made = server.repositories["models", "ward/letters"]
    odd = Repository("ward/letters", "odd")
    (odd.folder / "odd").mkdir(parents=True)
    assert odd.kept is None
    odd.remember("../../..")
    assert odd.kept is None
    made.tags["odd"] = "../../../found"
    made.commits["../../../found"] = made.commits[made.head]
    assert "for the commit: is it one?" in run("pull", "ward/letters@odd").err
    assert not (tmp_path / "home" / "found").exists()


def test_the_page_is_true(
    trained: Path, server: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "hub.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    trained.rename(tmp_path / "my-pipeline")
    shutil.copy(kb_named("small"), kb_named("mine"))
    [commands] = re.findall(r"^```\n((?:linnet .*\n)+)```", page, re.MULTILINE)
    for line in commands.splitlines():
        done = run(*shlex.split(line, comments=True)[1:])
        assert done.code == 0, (line, done.err)
    assert KnowledgeBase.open("terms.kb").version == KnowledgeBase.open("mine").version
    found: dict[str, Any] = {}
    for python in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        exec(compile(python, "docs/hub.md", "exec"), found)
    assert found["doc"].mentions
    assert run("pull", "mine-1.tar.gz").code == 0
    [toml] = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "tagger.toml").write_text(toml)
    assert config.read_recipe("tagger.toml").pipeline[0]["use"] == "hf_tagger"
