from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from linnet.detect.dictionary import Dictionary
from linnet.kb import KnowledgeBase
from linnet.pipeline import Pipeline
from linnet.recipes.saving import save

from .conftest import Run

NOTE = "Seizures."


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "my notes" / "a.txt"
    path.parent.mkdir()
    path.write_text(NOTE)
    return path


@pytest.mark.parametrize("option", ["-o", "--html"])
def test_what_is_read_is_never_overwritten(run: Run, recipe: Path, note: Path, option: str) -> None:
    for source in (note, note.parent, note.parent / "*.txt"):
        done = run("link", source, "--pipeline", recipe, option, note, "--to", "jsonl")
        assert done.code == 2
        assert "is read as input" in done.err
        assert note.read_text() == NOTE
    done = run("link", note.parent, "--pipeline", recipe, option, note.parent / "out.jsonl", "--to", "jsonl")
    assert "out.jsonl lies in a folder that is read as input" in done.err, "the next run would read its own output"


@pytest.fixture
def trained(tmp_path: Path, kb: KnowledgeBase) -> Path:
    """A trained folder over the small knowledge base."""
    save(Pipeline(Dictionary(kb=kb), kb=kb), tmp_path / "trained")
    return tmp_path / "trained"


@pytest.mark.parametrize("option", ["-o", "--html", "--metrics"])
def test_what_links_is_never_overwritten(
    run: Run, recipe: Path, trained: Path, kb: KnowledgeBase, tmp_path: Path, option: str
) -> None:
    with_kb = Path(shutil.copy(kb.path, tmp_path / "mine.kb"))
    for pipeline, place, said in (
        (recipe, recipe, "is a recipe"),
        (recipe, with_kb, "is a database"),
        (trained, trained / "pipeline.toml", "belongs to the trained pipeline"),
        (trained, trained / "0-dictionary" / "config.json", "belongs to the trained pipeline"),
        (recipe, trained / "card.md", "belongs to the trained pipeline"),
        (trained, trained / "new.jsonl", "is read as input"),
    ):
        before = place.read_bytes() if place.exists() else None
        done = run("link", NOTE, "--pipeline", pipeline, "--kb", with_kb, option, place, "--to", "jsonl")
        assert (done.code, said in done.err) == (2, True), done.err
        assert (place.read_bytes() if place.exists() else None) == before


def test_what_other_commands_read_is_never_overwritten(
    run: Run, recipe: Path, kb: KnowledgeBase, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"id": "1", "text": "Fits", "mentions": [{"start": 0, "end": 4, "source": "gold"}]}\n')
    recipe = recipe.rename(tmp_path / "best.toml")
    before = {path: path.read_bytes() for path in (recipe, gold, kb.path)}
    for command in (
        ("corpus", "convert", gold, gold, "--to", "gsc"),
        ("corpus", "convert", gold, kb.path, "--to", "gsc"),
        ("evaluate", gold, gold, "--metrics", kb.path),
        ("kb", "subset", kb.path, "-o", kb.path, "--type", "Disease"),
        ("kb", "diff", kb.path, kb.path, "--corpus", gold, "--to", gold),
        ("train", recipe, "-o", tmp_path / "new", "--set", f'corpus="{tmp_path}"', "--metrics", recipe),
        ("tune", recipe, "-o", tmp_path, "--corpus", tmp_path),
        ("reproduce", recipe, "-o", tmp_path / "new", "--docs", recipe),
        ("bench", "kb", "--kb", tmp_path / "none.kb", "--concepts", "9", "--json", recipe),
    ):
        done = run(*command)
        assert done.code == 2, command
        assert any(said in done.err for said in ("is read as input", "is a recipe", "is a database")), done.err
        assert {path: path.read_bytes() for path in before} == before, command


def test_places_that_lead_nowhere(run: Run, recipe: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for command in (
        ("link", circle, "--pipeline", recipe),
        ("link", circle, "--pipeline", recipe, "-o", circle, "--to", "jsonl"),
        ("link", NOTE, "--pipeline", circle),
        ("corpus", "stats", circle),
        ("train", recipe, "-o", circle),
        ("link", NOTE, "--pipeline", recipe, "-o", "a\0b", "--to", "jsonl"),
        ("kb", "export", kb.path, "-o", "a\0b.tsv"),
        ("kb", "subset", kb.path, "--types", "Disease", "-o", "a\0b"),
    ):
        done = run(*command)
        assert (done.code, done.err.startswith("linnet: error: ")) == (2, True), (command, done.err)


def test_two_outputs_need_two_places(run: Run, recipe: Path, tmp_path: Path) -> None:
    place = tmp_path / "out.html"
    done = run("link", NOTE, "--pipeline", recipe, "-o", place, "--to", "jsonl", "--html", place)
    assert (done.code, "written twice" in done.err, place.exists()) == (2, True, False)


def test_paths_with_blanks_are_paths(run: Run, recipe: Path, note: Path) -> None:
    for source in (note, note.parent / "*.txt", f"{note.parent}/**/*"):
        done = run("link", "-q", source, "--pipeline", recipe, "--to", "jsonl")
        assert json.loads(done.out)["id"] == "a"
    for source in (note.parent / "b.txt", note.parent / "*.jsonl", "my notes/letter.docx"):
        done = run("link", source, "--pipeline", recipe)
        assert done.code == 2, source
        assert str(source) in done.err


def test_texts_that_look_a_little_like_paths_are_texts(run: Run, recipe: Path) -> None:
    for text in ("Seizures and/or fits?", "Seizures [two]\nfits/absences.txt", "Seizures", "x" * 5000):
        assert run("link", "-q", text, "--pipeline", recipe, "--to", "jsonl").code == 0


def test_words_that_are_likely_mistakes(
    run: Run, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "letters").mkdir()
    monkeypatch.chdir(tmp_path)
    done = run("link", "Patient", "with", "short", "stature", "--pipeline", recipe)
    assert (done.code, done.out) == (2, "")
    assert 'for one text write linnet link "Patient with short stature"' in done.err
    done = run("link", "letters2", "--pipeline", recipe)
    assert (done.code, "there is no such file; did you mean 'letters'?" in done.err) == (0, True)
    for texts in (["Seizures"], ["Seizures", "and fits"]):
        assert run("link", *texts, "--pipeline", recipe).err == ""


def test_a_text_that_looks_like_a_path_is_told_how_to_be_one(run: Run, recipe: Path) -> None:
    done = run("link", "CKD/HTN/T2DM", "--pipeline", recipe)
    assert (done.code, "no such file; if it is a text: echo CKD/HTN/T2DM | linnet link -" in done.err) == (2, True)
    assert "echo" not in run("link", "notes/none.txt", "--pipeline", recipe).err


def test_a_text_that_is_typed(run: Run, recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = os.openpty()
    os.write(keyboard, b"Seizures.\n\x04")
    with os.fdopen(terminal, encoding="utf-8") as typed, os.fdopen(keyboard, "wb"):
        monkeypatch.setattr(sys, "stdin", typed)
        done = run("link", "-", "--pipeline", recipe, "--to", "jsonl")
    assert json.loads(done.out)["text"] == "Seizures.\n"
    assert done.err.count("end it with Ctrl-D") == 1


def test_an_empty_text_is_no_folder(run: Run, recipe: Path) -> None:
    assert "empty text" in run("link", "", "--pipeline", recipe).err


def test_the_same_file_name_in_two_folders(run: Run, recipe: Path, tmp_path: Path) -> None:
    for name in ("p1", "p2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text(NOTE)
    done = run("link", "-q", tmp_path / "p1/note.txt", tmp_path / "p2/note.txt", "--pipeline", recipe, "--to", "jsonl")
    ids = [json.loads(line)["id"] for line in done.out.splitlines()]
    assert len(set(ids)) == 2
    assert all(id.endswith("note") for id in ids)


def test_files_left_out_are_named(run: Run, recipe: Path, note: Path) -> None:
    for name in ("b.md", "c.docx", "README"):
        (note.parent / name).write_text("x")
    done = run("link", note.parent, "--pipeline", recipe)
    assert "files that were not read, as their endings are not known: 3" in done.err
    assert "plain text" in done.err
    assert "no suffix (1)" in done.err


def test_a_missing_mention_is_said(run: Run, tmp_path: Path, recipe: Path) -> None:
    only = tmp_path / "only.toml"
    only.write_text(recipe.read_text().replace('[[pipeline]]\nuse = "dictionary"\n', ""))
    done = run("link", NOTE, "--pipeline", only)
    assert (done.code, "the input has no mentions" in done.err) == (2, True)
    found = tmp_path / "found.toml"
    found.write_text(recipe.read_text().split('[[pipeline]]\nuse = "decide"')[0])
    assert "(not linked)" in run("link", NOTE, "--pipeline", found).out


def test_markup_and_control_characters_are_shown_harmlessly(run: Run, recipe: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(
        json.dumps({"id": "[/x]\x1b[31m", "text": NOTE}) + "\n" + json.dumps({"id": "\x1b]0;y\x07", "text": ""})
    )
    done = run("link", path, "--pipeline", recipe)
    assert done.code == 0
    assert "[/x]" in done.out
    assert "\x1b" not in done.out


def test_a_full_disk_is_said(run: Run, recipe: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = run("link", NOTE, "--pipeline", recipe, "-o", "/dev/full", "--to", "jsonl")
    assert (done.code, "/dev/full: cannot be written: No space left" in done.err) == (2, True)


def test_sigterm_leaves_no_half_file(recipe: Path, tmp_path: Path) -> None:
    source = tmp_path / "many.jsonl"
    source.write_text("".join(f'{{"id":"{i}","text":"{"Seizures and cleft palate. " * 200}"}}\n' for i in range(4000)))
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "linnet", "link", str(source), "--pipeline", str(recipe), "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("out.jsonl.unfinished/*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 143
    # what was finished, if anything, waits for the next run; the output is there whole or not at all
    assert {path.name for path in tmp_path.iterdir()} - {"out.jsonl.unfinished"} == {"many.jsonl", "small.toml"}


def test_pipelines_that_are_given_mentions_pass_over_documents_without(
    run: Run, kb: KnowledgeBase, tmp_path: Path
) -> None:
    recipe, source = tmp_path / "given.toml", tmp_path / "notes.jsonl"
    recipe.write_text('[[pipeline]]\nuse = "gold"\n[[pipeline]]\nuse = "exact"\n[[pipeline]]\nuse = "decide"\n')
    marked = {"id": "a", "text": NOTE, "mentions": [{"start": 0, "end": 8, "source": "gold"}]}
    bare = {"id": "b", "text": NOTE}
    source.write_text(f"{json.dumps(marked)}\n{json.dumps(bare)}\n")
    done = run("link", source, "--pipeline", recipe, "--kb", kb.path, "--to", "jsonl")
    assert done.code == 0
    assert [len(json.loads(line)["mentions"]) for line in done.out.splitlines()] == [1, 0]
    assert "1 of 2 documents have no mentions and were not linked" in done.err
    source.write_text(f"{json.dumps(bare)}\n")
    done = run("link", source, "--pipeline", recipe, "--kb", kb.path, "--to", "jsonl")
    assert (done.code, done.out) == (2, "")
    assert "the input has no mentions" in done.err
    assert "--detect dictionary" in done.err


def test_a_name_that_blanks_tear_is_told(run: Run, recipe: Path, note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(note.parent.parent)
    for words in (["my", "notes"], ["my", "notes/a.txt"]):
        done = run("link", *words, "--pipeline", recipe)
        assert (done.code, f'into quotation marks: "{" ".join(words)}"' in done.err) == (2, True)
