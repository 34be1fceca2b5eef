"""Bundles: packed, installed from a file by one command, linked with; what is wrong with an archive is refused."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import tarfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import Run, run

import linnet
from linnet.data import Concept, Document, Mention, Name
from linnet.detect.dictionary import Dictionary
from linnet.errors import FormatError, KnowledgeBaseError, LinnetError, LinnetWarning
from linnet.fit import packing
from linnet.fit.hub_push import gather
from linnet.fit.packing import pack
from linnet.home import kb_named, pipelines_folder
from linnet.kb import KnowledgeBase
from linnet.kb.build import build
from linnet.pipeline import Pipeline
from linnet.pipeline.decide import Decide
from linnet.recipes import saving
from linnet.recipes.bundle import Contents, digest_of, install
from linnet.recipes.side_by_side import several_of

__all__ = ["run"]

TEXT = "Funny turns after aspirin."


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))


@pytest.fixture
def signs(tmp_path: Path, kb: KnowledgeBase) -> Path:
    """A trained folder: a dictionary that has learned one name, on a knowledge base that is called small."""
    kb_named("small").parent.mkdir(parents=True)
    shutil.copy(kb.path, kb_named("small"))
    kb = KnowledgeBase.open("small")
    doc = Document("t", "Funny turns.", mentions=(Mention(0, 11, source="gold", concepts=("HP:0001250",)),))
    dictionary = Dictionary(kb=kb, aliases=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinnetWarning)
        list(dictionary.fit([doc], (), before=Pipeline(), kb=kb, args={}))
    saving.save(Pipeline(dictionary, Decide(kb=kb), kb=kb), tmp_path / "signs")
    return tmp_path / "signs"


@pytest.fixture
def both(tmp_path: Path, signs: Path) -> Path:
    """A folder of two trained folders that link side by side."""
    drugs = build([Concept("MESH:D001241", (Name("Aspirin"),), ("Chemical",))], kb_named("drugs"), name="drugs")
    folder = tmp_path / "both"
    folder.mkdir()
    signs.rename(folder / "signs")
    saving.save(Pipeline(Dictionary(kb=drugs), Decide(kb=drugs), kb=drugs), folder / "drugs")
    (folder / "several.toml").write_text('of = ["drugs", "signs"]\n')
    (folder / "card.md").write_text("# both\n\nOf both.\n")
    return folder


@pytest.fixture
def archive(tmp_path: Path, both: Path) -> Path:
    """The bundle of both, and a home where nothing is."""
    pack(both, tmp_path / "both.tar.gz", name="both")
    (tmp_path / "home").rename(tmp_path / "home of the maker")
    return tmp_path / "both.tar.gz"


def found(pipeline: Pipeline) -> set[tuple[str, tuple[str, ...] | None, str]]:
    [doc] = pipeline(TEXT)
    return {(doc.surface(mention), mention.concepts, mention.terminology) for mention in doc.mentions or ()}


BOTH = {("Funny turns", ("HP:0001250",), "small"), ("aspirin", ("MESH:D001241",), "drugs")}


def test_one_command_installs_a_file_and_its_name_links(archive: Path, run: Run, tmp_path: Path) -> None:
    done = run("pull", archive, "--sha256", digest_of(archive))
    assert done.code == 0, done.err
    assert done.out.strip() == str(pipelines_folder() / "both")
    assert "a pipeline: --pipeline both" in done.err
    assert found(linnet.load("both")) == BOTH
    linked = run("link", TEXT, "--pipeline", "both", "-q")
    assert "HP:0001250" in linked.out
    assert "MESH:D001241" in linked.out
    assert linnet.load("both").name == "both"
    again = run("pull", archive)
    assert (again.code, again.out) == (0, done.out), "what is there, and the same, stays"
    assert len(list(kb_named("x").parent.glob("*.kb"))) == 2


def test_one_of_several_is_loaded_by_name(archive: Path, run: Run) -> None:
    install(archive)
    [doc] = linnet.load("both/signs")(TEXT)
    assert [mention.concepts for mention in doc.mentions or ()] == [("HP:0001250",)]
    refused = run("link", TEXT, "--pipeline", "both", "--set", "decide.threshold=0.5")
    assert refused.code == 2
    assert "load both/drugs or both/signs" in refused.err


def test_options_hold_for_each_of_several(archive: Path, run: Run, tmp_path: Path) -> None:
    install(archive)
    (tmp_path / "forms.tsv").write_text("form\tmeaning\nASA\taspirin\nFT\tseizure\n")
    options = (
        "--pipeline",
        "both",
        "--only",
        "affirmed",
        "--abbreviations",
        tmp_path / "forms.tsv",
        "--to",
        "csv",
        "-q",
    )
    linked = run("link", "No funny turns. ASA given for FT.", *options)
    assert linked.code == 0, linked.err
    rows = linked.out.splitlines()[1:]
    assert [("MESH:D001241" in row, "HP:0001250" in row) for row in rows] == [(True, False), (False, True)]


def test_a_bundle_of_one(signs: Path, tmp_path: Path) -> None:
    contents = pack(signs, tmp_path / "one.tar.gz", name="one", with_kb=False)
    assert not any(name.startswith("kb/") for name in contents.files)
    done = install(tmp_path / "one.tar.gz", output=tmp_path / "new")
    assert (done.path, done.missing) == (tmp_path / "new", {})
    [doc] = linnet.load(tmp_path / "new")(TEXT)
    assert [mention.concepts for mention in doc.mentions or ()] == [("HP:0001250",)]


def test_a_missing_knowledge_base_is_named(signs: Path, tmp_path: Path, run: Run) -> None:
    pack(signs, tmp_path / "one.tar.gz", name="one", with_kb=False)
    kb_named("small").unlink()
    assert "needs the knowledge base small, version" in run("pull", tmp_path / "one.tar.gz").err
    with pytest.raises(KnowledgeBaseError):
        linnet.load("one")


def test_a_knowledge_base_of_that_name_stays(archive: Path) -> None:
    build([Concept("X:1", (Name("Other"),))], kb_named("small"))
    done = install(archive)
    assert "X:1" in KnowledgeBase.open("small")
    assert done.kbs["small"].stem.startswith("small-")
    assert found(linnet.load("both")) == BOTH


def test_a_knowledge_base_that_was_installed_and_edited_stays(archive: Path) -> None:
    build([Concept("X:1", (Name("Other"),))], kb_named("small"))
    first = install(archive).kbs["small"]
    with KnowledgeBase.edit(first) as change:
        change.add(Concept("X:9", (Name("Mine"),)))
    again = install(archive).kbs["small"]
    assert "X:9" in KnowledgeBase.open(first)
    assert again.stem == f"{first.stem}-2"
    assert install(archive).kbs["small"] == again


def test_an_installation_that_died_leaves_no_half_of_a_knowledge_base_and_no_folder_for_ever(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where kb/ is on another disk, and a file is copied there."""
    left = tmp_path / "home" / ".install-dead"
    (left / "whole").mkdir(parents=True)
    os.utime(left, (0, 0))

    def copied(source: Path, target: Path) -> None:
        Path(target).write_bytes(source.read_bytes()[:-1])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(shutil, "move", copied)
        with pytest.raises(OSError, match="No space"):
            install(archive)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["kb"]
    assert not list(kb_named("small").parent.iterdir())
    assert install(archive).kbs["small"] == kb_named("small")


def test_another_pipeline_of_that_name_stays(archive: Path, tmp_path: Path, run: Run) -> None:
    install(archive)
    (pipelines_folder() / "both" / "card.md").write_text("mine")
    refused = run("pull", archive)
    assert refused.code == 2
    assert "is there already, with other files, and is not replaced" in refused.err
    assert run("pull", archive, "-o", tmp_path / "new").code == 0


def test_names_of_recipes_and_folders_win(signs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(signs, tmp_path / "hpo.tar.gz", name="hpo")
    with pytest.raises(LinnetError, match="hpo is the name of a recipe"):
        install(tmp_path / "hpo.tar.gz")
    pack(signs, tmp_path / "signs.tar.gz", name="signs")
    install(tmp_path / "signs.tar.gz")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "signs" / "pipeline.toml").unlink()
    with pytest.raises(LinnetError):  # the folder that is here
        linnet.load("signs")


def test_names_that_are_none_are_not_packed(signs: Path, tmp_path: Path) -> None:
    for name in ("../signs", "", "signs of ward 7"):
        with pytest.raises(LinnetError, match="cannot be the name of a file"):
            pack(signs, tmp_path / "signs.tar.gz", name=name)


def test_equal_files_give_an_equal_archive(both: Path, tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("a.tar.gz", "b.tar.gz"))
    for path in (first, second):
        pack(both, path, name="both")
    assert first.read_bytes() == second.read_bytes()


def test_two_may_pack_the_same_archive_at_once(signs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, own, beside = tmp_path / "signs.tar.gz", packing._entry, tmp_path / "signs.tar.gz.part"
    beside.write_text("somebody's own")

    def entry(name: str, size: int) -> tarfile.TarInfo:
        monkeypatch.setattr(packing, "_entry", own)
        pack(signs, archive, name="signs")  # the other one begins later and is done earlier
        return own(name, size)

    monkeypatch.setattr(packing, "_entry", entry)
    pack(signs, archive, name="signs")
    assert install(archive).name == "signs"
    assert beside.read_text() == "somebody's own"
    assert not list(tmp_path.glob(".signs.tar.gz.*"))


def test_a_licensed_terminology_is_not_packed(tmp_path: Path) -> None:
    kb = build([Concept("UMLS:C0036572", (Name("Seizure"),))], kb_named("mine"))
    saving.save(Pipeline(Dictionary(kb=kb), Decide(kb=kb), kb=kb), tmp_path / "mine")
    with pytest.raises(LinnetError, match="UMLS"):
        pack(tmp_path / "mine", tmp_path / "mine.tar.gz", name="mine")
    assert not (tmp_path / "mine.tar.gz").exists()
    pack(tmp_path / "mine", tmp_path / "mine.tar.gz", name="mine", yes=True)
    assert "UMLS" in gather(tmp_path / "mine.tar.gz").concerns[0], "whoever pushes it is told again"


# --- archives that are not to be trusted -----------------------------------------------------------------------------


def files_of(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as opened:
        return {one.name: opened.extractfile(one).read() for one in opened.getmembers()}  # type: ignore[union-attr]


def write(archive: Path, files: Mapping[str, bytes]) -> Path:
    with tarfile.open(archive, "w:gz") as made:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return archive


def relisted(files: Mapping[str, bytes], path: Path, **changes: object) -> dict[str, bytes]:
    """Return files with a list that is true of them, but for some changes."""
    made = write(path, {name: data for name, data in files.items() if name != "linnet.json"})
    with tarfile.open(made) as opened:
        names = opened.getnames()
    parts = {name: hashlib.sha256(files[name]).hexdigest() for name in names}
    told = {**json.loads(files["linnet.json"]), "files": parts, **changes}
    return {**files, "linnet.json": json.dumps(told).encode()}


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "pipeline/../../out.txt", "a\\..\\out.txt"])
def test_names_that_lead_out_are_refused(name: str, archive: Path, tmp_path: Path) -> None:
    evil = write(tmp_path / "evil.tar.gz", relisted({**files_of(archive), name: b"x"}, tmp_path / "x.tar.gz"))
    with pytest.raises(FormatError, match="refused as unsafe"):
        install(evil)
    assert not list(tmp_path.rglob("out.txt"))
    assert not pipelines_folder().exists()


def test_links_are_refused(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as made:
        entry = tarfile.TarInfo("pipeline/card.md")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(entry)
    with pytest.raises(FormatError, match="is a link"):
        install(tmp_path / "evil.tar.gz")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pipeline/0-dictionary/state.pkl", "a pickle"),
        ("kb/other.kb", "no part of a bundle"),
        ("notes.txt", "no part of a bundle"),
    ],
)
def test_files_that_are_no_part_are_refused(name: str, says: str, archive: Path, tmp_path: Path) -> None:
    files = {**files_of(archive), name: b"x"}
    with pytest.raises(FormatError, match="is not in its list"):
        install(write(tmp_path / "evil.tar.gz", files))
    with pytest.raises(FormatError, match=says):
        install(write(tmp_path / "evil.tar.gz", relisted(files, tmp_path / "x.tar.gz")))
    assert not pipelines_folder().exists()


def test_damage_is_refused(archive: Path, tmp_path: Path, run: Run) -> None:
    files = files_of(archive)
    changed = {**files, "pipeline/signs/pipeline.toml": files["pipeline/signs/pipeline.toml"] + b"\n"}
    with pytest.raises(FormatError, match=r"pipeline.toml: its SHA-256 is"):
        install(write(tmp_path / "changed.tar.gz", changed))
    del changed["pipeline/signs/pipeline.toml"]
    with pytest.raises(FormatError, match="is in its list, and not in the archive"):
        install(write(tmp_path / "less.tar.gz", changed))
    del files["linnet.json"]
    with pytest.raises(FormatError, match="no bundle of Linnet's"):
        install(write(tmp_path / "unlisted.tar.gz", files))
    (tmp_path / "half.tar.gz").write_bytes(archive.read_bytes()[:3000])
    refused = run("pull", tmp_path / "half.tar.gz")
    assert refused.code == 2
    assert "fetch or copy it again" in refused.err
    refused = run("pull", archive, "--sha256", "0" * 64)
    assert refused.code == 2
    assert "ask who gave it" in refused.err
    assert "there is no such file" in run("pull", "models/nothing.tar.gz").err
    assert not pipelines_folder().exists()


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "pipeline", "name": "a", "files": {}, "kbs": {}},
        {"kind": "bundle", "name": "../a", "files": {}, "kbs": {}},
        {"kind": "bundle", "name": "a", "files": {}, "kbs": {"../a": "1"}},
        {"kind": "bundle", "name": "a", "files": [], "kbs": {}},
        {"kind": "bundle", "name": "a", "files": {"pipeline/../../x": "0"}, "kbs": {}},
    ],
)
def test_lists_that_are_none(told: object, tmp_path: Path) -> None:
    (tmp_path / "linnet.json").write_text(json.dumps(told))
    with pytest.raises(FormatError):
        Contents.read(tmp_path / "linnet.json")


@pytest.mark.parametrize("text", ["of = 1", "of = ['a']", "of = ['../a', 'b']", "of = ['a', 'b']", "of ="])
def test_lists_of_folders_that_are_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "several.toml").write_text(text)
    with pytest.raises(FormatError):
        several_of(tmp_path)
