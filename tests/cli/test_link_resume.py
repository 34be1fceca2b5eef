"""``linnet link`` goes on after an interruption: the result is, byte for byte, that of a job that ran through."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from linnet.data import Document
from linnet.kb import KnowledgeBase
from linnet.scale.resumable import Unfinished

from .conftest import Run

COUNT = 200  # documents: three batches of 64 and some
# undoes what a shell does to jobs in its background, which ignore Ctrl-C and hand that on
LISTENING = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('linnet', run_name='__main__', alter_sys=True)"
)
OUTPUTS = ("out.jsonl", "out.jsonl.gz", "out.csv", "out.pubtator", "out.xml", "out.json", "out.conll", "out")
Change = Callable[[], None]


def written(path: Path, count: int, *, words: int, others: int = 0) -> Path:
    text = "Seizures and cleft palate. " * words + "Nothing else was seen. " * others
    path.write_text("".join(json.dumps({"id": f"n{i}", "text": f"{text}{i}"}) + "\n" for i in range(count)))
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return written(tmp_path / "notes.jsonl", COUNT, words=1)


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Change]:
    """Interrupt the job by Ctrl-C in a certain batch; what is returned takes that back."""
    keep = Unfinished.keep

    def prepare(batch: int) -> Change:
        batches = 0

        def interrupted(self: Unfinished, given: Sequence[Document], linked: Sequence[Document]) -> None:
            nonlocal batches
            batches += 1
            if batches == batch:
                raise KeyboardInterrupt
            keep(self, given, linked)

        monkeypatch.setattr(Unfinished, "keep", interrupted)
        return lambda: monkeypatch.setattr(Unfinished, "keep", keep)

    return prepare


def content(path: Path) -> dict[str, bytes]:
    """Return the files that an output is made of."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files if file.is_file()}


def test_an_error_that_the_same_command_would_meet_again_is_to_be_mended(
    run: Run, recipe: Path, notes: Path, tmp_path: Path
) -> None:
    with notes.open("a") as out:
        out.write('{"id": "|", "text": "Fits."}\n')
    done = run("link", notes, "--pipeline", recipe, "-o", tmp_path / "out.pubtator")
    assert (done.code, "PubTator has no place for an id" in done.err) == (2, True)
    assert "192 documents are finished: fix this, then run the same command to resume" in done.err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::linnet.errors.LinnetWarning")  # of what CoNLL has no place for
@pytest.mark.parametrize(("name", "page"), [*((name, False) for name in OUTPUTS), ("out.jsonl", True), ("out", True)])
def test_it_goes_on_where_it_was(
    run: Run, recipe: Path, notes: Path, tmp_path: Path, interrupt: Callable[[int], Change], name: str, page: bool
) -> None:
    def linked(folder: Path) -> Any:
        more = ["--to", "brat"] if name == "out" else []
        more += ["--html", str(folder / "page.html")] if page else []
        return run("link", notes, "--pipeline", recipe, "-o", folder / name, *more)

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    assert linked(whole).code == 0
    go_on = interrupt(4)
    done = linked(parts)
    assert (done.code, "Traceback" in done.err) == (130, False)
    assert "192 documents are finished: run the same command to resume" in done.err
    assert [path.name for path in parts.iterdir()] == [f"{name}.unfinished"], "no half of an output"
    go_on()
    done = linked(parts)
    assert (done.code, "resuming after 192 finished documents" in done.err) == (0, True)
    assert content(parts) == content(whole)
    assert {path.name for path in parts.iterdir()} == {name, *(["page.html"] if page else [])}


def test_a_page_alone(run: Run, recipe: Path, tmp_path: Path, interrupt: Callable[[int], Change]) -> None:
    notes = written(tmp_path / "notes.jsonl", 70, words=1)
    whole = run("link", "-q", notes, "--pipeline", recipe, "--html", tmp_path / "whole.html")
    go_on = interrupt(2)
    assert run("link", notes, "--pipeline", recipe, "--html", tmp_path / "page.html").code == 130
    assert (tmp_path / "page.html.unfinished").is_dir()
    go_on()
    done = run("link", notes, "--pipeline", recipe, "--html", tmp_path / "page.html")
    assert "resuming after 64 finished documents" in done.err
    assert done.out == whole.out
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "whole.html").read_bytes()


def test_documents_are_compared_and_not_their_files(
    run: Run, recipe: Path, notes: Path, tmp_path: Path, interrupt: Callable[[int], Change]
) -> None:
    out, whole = tmp_path / "out.csv", tmp_path / "whole.csv"
    go_on = interrupt(3)
    assert "128 documents are finished" in run("link", notes, "--pipeline", recipe, "-o", out).err
    moved = notes.rename(tmp_path / "moved.jsonl")
    go_on()
    go_on = interrupt(2)
    assert "resuming after 128 finished documents" in run("link", moved, "--pipeline", recipe, "-o", out).err
    go_on()
    written(moved, COUNT, words=2)
    done = run("link", moved, "--pipeline", recipe, "-o", out)
    assert "the documents are not those of before: all are linked afresh" in done.err
    run("link", "-q", moved, "--pipeline", recipe, "-o", whole)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--set", "decide.threshold=0.5"), "was made with another pipeline: all documents are linked afresh"),
        (("--keep-gold",), "another choice of --keep-gold"),
        (("--to", "jsonl"), "another format"),
    ],
)
def test_another_job_begins_afresh(
    run: Run, recipe: Path, notes: Path, tmp_path: Path, interrupt: Callable[[int], Change], more: Any, said: str
) -> None:
    go_on = interrupt(3)
    run("link", notes, "--pipeline", recipe, "-o", tmp_path / "out.csv")
    go_on()
    done = run("link", notes, "--pipeline", recipe, "-o", tmp_path / "out.csv", *more)
    assert (done.code, said in done.err, "going on" in done.err) == (0, True, False), done.err
    run("link", "-q", notes, "--pipeline", recipe, "-o", tmp_path / "whole.csv", *more)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_another_knowledge_base(
    run: Run, recipe: Path, notes: Path, tmp_path: Path, kb: KnowledgeBase, interrupt: Callable[[int], Change]
) -> None:
    command = ("link", notes, "--pipeline", recipe, "-o", tmp_path / "out.csv")
    go_on = interrupt(3)
    run(*command)
    go_on()
    copy = tmp_path / "other.kb"
    copy.write_bytes(kb.path.read_bytes())
    assert run("kb", "add", copy, "--id", "X:77", "--name", "a new one").code == 0
    assert "another version of the knowledge base" in run(*command, "--kb", copy).err


def test_afresh_if_asked_for(
    run: Run, recipe: Path, notes: Path, tmp_path: Path, interrupt: Callable[[int], Change]
) -> None:
    command = ("link", notes, "--pipeline", recipe, "-o", tmp_path / "out.csv")
    go_on = interrupt(3)
    run(*command)
    go_on()
    done = run(*command, "--fresh")
    assert (done.code, "going on" in done.err) == (0, False)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == COUNT * 2 + 1


def test_a_fault_in_the_input_is_mended_and_the_rest_is_linked(run: Run, recipe: Path, tmp_path: Path) -> None:
    notes, out = written(tmp_path / "notes.jsonl", COUNT, words=1), tmp_path / "out.jsonl"
    text = notes.read_text()
    notes.write_text(text.replace('{"id": "n195"', '{"id": n195"'))
    done = run("link", notes, "--pipeline", recipe, "-o", out)
    assert (done.code, "notes.jsonl:196" in done.err) == (2, True)
    assert "192 documents are finished" in done.err
    notes.write_text(text)
    assert "resuming after 192 finished documents" in run("link", notes, "--pipeline", recipe, "-o", out).err
    assert len(out.read_text().splitlines()) == COUNT


def test_standard_input_and_output_have_nothing_to_go_on_with(
    run: Run, recipe: Path, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("kept")

    monkeypatch.setattr("linnet.scale.resumable.keeping", never)
    assert run("link", "-q", notes, "--pipeline", recipe, "--to", "jsonl").out.count("\n") == COUNT
    assert run("link", "-q", notes, "--pipeline", recipe, "-o", "/dev/null", "--to", "csv").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(notes.read_bytes())))
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    assert run("link", "-q", "-", "--from", "jsonl", "--pipeline", recipe, "-o", out, "--html", page).code == 0
    assert len(out.read_text().splitlines()) == COUNT * 2 + 1
    assert page.exists()


def test_what_is_kept_is_no_input(run: Run, recipe: Path, notes: Path, tmp_path: Path) -> None:
    place = tmp_path / "out.csv.unfinished"
    place.mkdir()
    (place / "documents").write_text("half")
    done = run("link", place / "documents", "--pipeline", recipe, "-o", tmp_path / "out.csv")
    assert (done.code, "is read as input" in done.err) == (2, True)


def test_formats_and_places_are_refused_before_anything_is_linked(run: Run, recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x.txt").write_text("mine")
    for more, said in (
        (("-o", tmp_path / "used", "--to", "brat"), "holds 'x.txt' already"),
        (("-o", tmp_path / "used", "--to", "csv"), "is a folder"),
        (("--to", "brat"), "cannot go to standard output"),
        (("-o", tmp_path / "o.x", "--to", "text"), "cannot be written"),
    ):
        done = run("link", tmp_path / "none.txt", "--pipeline", recipe, *more)
        assert (done.code, said in done.err) == (2, True), done.err


# --- as a process ----------------------------------------------------------------------------------------------------


def process(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LISTENING, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kept(place: Path) -> int:
    """Return how many batches are finished."""
    try:
        return max(0, (place / "progress").read_bytes().count(b"\n") - 1)
    except OSError:
        return 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "second"), [("out.jsonl", signal.SIGINT), ("out.xml", signal.SIGTERM)])
def test_killed_and_interrupted(run: Run, recipe: Path, tmp_path: Path, name: str, second: signal.Signals) -> None:
    source = written(tmp_path / "many.jsonl", 150, words=1, others=400)  # 22 in a batch
    out = tmp_path / name
    place = Path(f"{out}.unfinished")
    codes = []
    for batches, stop in ((2, signal.SIGKILL), (4, second)):
        running = process("link", source, "--pipeline", recipe, "-o", out)
        while kept(place) < batches and running.poll() is None:
            time.sleep(0.002)
        running.send_signal(signal.SIGSTOP)
        other = run("link", source, "--pipeline", recipe, "-o", out)
        assert (other.code, "another process is linking to it" in other.err) == (2, True)
        running.send_signal(stop)
        running.send_signal(signal.SIGCONT)
        _, err = running.communicate(timeout=60)
        codes.append(running.returncode)
        assert "Traceback" not in err
        assert ("documents are finished: run the same command to resume" in err) == (stop != signal.SIGKILL)
        assert not out.exists()
    assert codes == [-signal.SIGKILL, {signal.SIGINT: 130, signal.SIGTERM: 143}[second]]
    assert re.search(
        r"resuming after [1-9][0-9]* finished documents", run("link", source, "--pipeline", recipe, "-o", out).err
    )
    whole = tmp_path / f"whole{out.suffix}"
    assert run("link", "-q", source, "--pipeline", recipe, "-o", whole).code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {source.name, recipe.name, whole.name, out.name}
