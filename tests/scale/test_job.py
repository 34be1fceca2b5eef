"""Jobs of shards: the same bytes however they are made, and what is told of what goes wrong."""

from __future__ import annotations

import gzip
import json
import logging
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from linnet.corpora import read
from linnet.data import Document
from linnet.errors import FormatError, LinnetError
from linnet.home import hold
from linnet.scale.job import Job, Told, run
from linnet.scale.units import Inputs, Unit, units_of
from tests.scale.parts import Inline, marking, notes, seen


def job(source: Path | Inputs, out: Path, **options: Any) -> Job:
    inputs = source if isinstance(source, Inputs) else Inputs((str(source),))
    return Job(inputs, out, marking, {"pipeline": 1}, **{"gather": Inline, "size": 50, **options})


class StopError(Exception):
    """What interrupts a job in these tests."""


def stopped(of: Job, *, at: int) -> None:
    """Interrupt a job once so many documents are done."""

    def tell(told: Told) -> None:
        if told.counts["documents"] >= at:
            raise StopError

    with pytest.raises(StopError):
        run(of, tell=tell)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return notes(tmp_path / "notes", 420, files=3)


@pytest.fixture
def whole(source: Path, tmp_path: Path) -> dict[str, bytes]:
    run(job(source, tmp_path / "whole"))
    return seen(tmp_path / "whole")


def test_shards_hold_all_documents_in_order(source: Path, tmp_path: Path) -> None:
    told = run(job(source, tmp_path / "out"))
    assert (told.counts["documents"], told.counts["mentions"]) == (420, 420)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["finished"]
    assert [shard["documents"] for shard in manifest["shards"]] == [50] * 8 + [20]
    docs = list(read(tmp_path / "out"))
    assert [doc.id for doc in docs] == [f"d{number}" for number in range(420)]
    assert docs[7].mentions
    assert (tmp_path / "out" / "errors.jsonl").read_bytes() == b""


@pytest.mark.parametrize("workers", [2, 5])
def test_any_number_of_workers_makes_the_same(
    source: Path, whole: dict[str, bytes], tmp_path: Path, workers: int
) -> None:
    run(job(source, tmp_path / "out", workers=workers))
    assert seen(tmp_path / "out") == whole


def test_all_cores_are_used_where_there_is_work_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linnet.scale.job.processors", lambda: 8)
    of = job(notes(tmp_path / "notes", 3), tmp_path / "out")
    sizes = {(): 1, (10_000,): 1, (5 << 20, 1 << 20): 6, (99 << 20,): 8, (0, 0): 8}
    assert {units: of.crew([Unit(0, size=size) for size in units]) for units in sizes} == sizes
    assert replace(of, workers=3, most=2).crew([]) == 3
    assert replace(of, most=2).crew([Unit(0, size=99 << 20)]) == 2


@pytest.mark.parametrize("at", [50, 200, 420])
def test_an_interrupted_job_goes_on(source: Path, whole: dict[str, bytes], tmp_path: Path, at: int) -> None:
    out = tmp_path / "out"
    stopped(job(source, out, workers=2), at=at)
    assert not json.loads((out / "manifest.json").read_text())["finished"]
    told = run(job(source, out))
    assert told.before >= at
    assert seen(out) == whole
    again = run(job(source, out))
    assert (again.before, again.seconds) == (420, 0.0), "nobody is called where nothing is left"
    assert seen(out) == whole


@pytest.mark.parametrize("seed", range(5))
def test_workers_that_die_cost_nothing(source: Path, whole: dict[str, bytes], tmp_path: Path, seed: int) -> None:
    lose = random.Random(seed).sample(range(1, 12), 4)
    told = run(job(source, tmp_path / "out", workers=1 + seed % 3, gather=partial(Inline, lose=lose)))
    assert told.lost >= 3
    assert seen(tmp_path / "out") == whole


def test_large_files_of_lines_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = notes(tmp_path / "notes", 420)
    [one] = units_of(Inputs((str(source),)), 50)
    assert one.span is None
    run(job(source, tmp_path / "whole"))
    monkeypatch.setattr("linnet.scale.units.MOST", 100)
    monkeypatch.setattr("linnet.corpora.jsonl.CHUNK", 77)
    units = list(units_of(Inputs((str(source),)), 50))
    assert len(units) == 9
    assert sum(unit.size for unit in units) == (source / "part0.jsonl").stat().st_size
    run(job(source, tmp_path / "cut", workers=2))
    parts = [path.read_bytes() for path in sorted((tmp_path / "cut").glob("shard-*"))]
    assert parts == [path.read_bytes() for path in sorted((tmp_path / "whole").glob("shard-*"))]


def test_a_packed_file_is_shared_by_workers(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 300) / "part0.jsonl"
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    for workers in (1, 3):
        run(job(packed, tmp_path / f"out{workers}", workers=workers))
    assert seen(tmp_path / "out1") == seen(tmp_path / "out3")
    assert [doc.id for doc in read(tmp_path / "out3")] == [f"d{number}" for number in range(300)]


def test_many_small_files_are_one_unit(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(120):
        (folder / f"{number:03}.txt").write_text(f"Fits {number}.")
    assert [len(unit.files) for unit in units_of(Inputs((str(folder),)), 50)] == [50, 50, 20]
    run(job(Inputs((str(folder), Document.of("Fits.", id="one"))), tmp_path / "out"))
    assert [doc.id for doc in read(tmp_path / "out")] == [*(f"{number:03}" for number in range(120)), "one"]


# --- what goes wrong -------------------------------------------------------------------------------------------------


def errors(out: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (out / "errors.jsonl").read_text().splitlines()]


def test_documents_that_fail_are_told(tmp_path: Path) -> None:
    folder = notes(tmp_path / "notes", 200)
    text = (folder / "part0.jsonl").read_text()
    text = text.replace("Fits of rage 7.", "This fails.").replace("Fits of rage 133.", "It fails again.")
    (folder / "part0.jsonl").write_text(text.replace('{"id":"d60","text"', '{"id":"d60","txt"'))
    told = run(job(folder, tmp_path / "out"))
    assert (told.counts["documents"], told.counts["errors"]) == (197, 3)
    path = str(folder / "part0.jsonl")
    found = errors(tmp_path / "out")
    assert [one.get("document") for one in found] == ["d7", None, "d133"]
    assert found[0] == {"document": "d7", "source": path, "reason": "ValueError: a word that fails"}
    assert f"{path}:61: " in found[1]["reason"]
    assert len(list(read(tmp_path / "out"))) == 197
    run(job(folder, tmp_path / "three", workers=3))
    assert seen(tmp_path / "three") == seen(tmp_path / "out")


def test_a_pipeline_that_fails_always_stops_the_job(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 60, word="It fails")
    with pytest.raises(LinnetError, match=r"all 50 documents of shard-000000-000000 fail.*a word that fails"):
        run(job(source, tmp_path / "out"))


def test_a_file_that_cannot_be_read_is_told(source: Path, tmp_path: Path) -> None:
    (source / "part1.jsonl").write_bytes(gzip.compress((source / "part1.jsonl").read_bytes())[:-30])
    told = run(job(source, tmp_path / "out"))
    assert told.counts["documents"] >= 280
    [found] = errors(tmp_path / "out")
    assert "gzip file" in found["reason"]
    (tmp_path / "none").mkdir()
    with pytest.raises(FormatError, match="holds no file"):
        run(job(tmp_path / "none", tmp_path / "other"))


def test_a_link_that_leads_nowhere_is_one_bad_file(source: Path, tmp_path: Path) -> None:
    (source / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    assert run(job(source, tmp_path / "out")).counts["documents"] == 420
    [found] = errors(tmp_path / "out")
    assert found["source"].endswith("gone.jsonl")


def test_a_job_that_reads_nothing_is_not_done(source: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no JSON\n")
    for _ in range(2):
        with pytest.raises(LinnetError, match=r"no document could be read or linked: .*bad\.jsonl"):
            run(job(bad, tmp_path / "out"))
        assert not json.loads((tmp_path / "out" / "manifest.json").read_text())["finished"]
        assert len(errors(tmp_path / "out")) == 1
    assert run(job(source, tmp_path / "out")).counts["documents"] == 420


def test_time_left_does_not_go_below_zero(source: Path, tmp_path: Path) -> None:
    left: list[float] = []
    run(job(source, tmp_path / "out", workers=5, size=140), tell=lambda told: left.append(told.left or 0.0))
    assert min(left) >= 0.0


def test_ids_that_come_twice_are_told(source: Path, tmp_path: Path) -> None:
    notes(tmp_path / "more", 10)
    told = run(job(Inputs((str(source), str(tmp_path / "more"))), tmp_path / "out"))
    assert told.counts["twice"] == 10
    assert len(found := errors(tmp_path / "out")) == 10
    assert found[0] == {
        "document": "d0",
        "source": "shard-000000-000008.jsonl",
        "reason": "a document of this id is in shard-000000-000000.jsonl too",
    }


@pytest.mark.parametrize("damage", ["cut", "other", "gone"])
def test_a_damaged_shard_is_linked_again(
    source: Path, whole: dict[str, bytes], tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    run(job(source, out))
    path = sorted(out.glob("shard-*"))[3]
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-1], "other": data.replace(b"rage", b"page"), "gone": b""}[damage])
    if damage == "gone":
        path.unlink()
    told = run(job(source, out))
    assert told.before == 370
    assert f"{path.name} is damaged, or gone: it is linked again" in caplog.text
    assert seen(out) == whole


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: data + b'{"unit": 9', lambda data: data + b"\0"]
)
def test_a_torn_journal_loses_only_its_end(source: Path, whole: dict[str, bytes], tmp_path: Path, damage: Any) -> None:
    out = tmp_path / "out"
    stopped(job(source, out), at=200)
    journal = out / ".job" / "journal"
    journal.write_bytes(damage(journal.read_bytes()))
    (out / ".job" / "ids").write_bytes((out / ".job" / "ids").read_bytes() + b"torn")
    run(job(source, out))
    assert seen(out) == whole
    run(job(source, out, workers=2))
    assert seen(out) == whole


def test_another_job_is_refused(source: Path, whole: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    stopped(job(source, out), at=100)
    with pytest.raises(LinnetError, match=r"with another number of documents a shard: .*--fresh"):
        run(job(source, out, size=60))
    other = Job(Inputs((str(source),)), out, marking, {"pipeline": 2}, size=50, gather=Inline)
    with pytest.raises(LinnetError, match="with another pipeline"):
        run(other)
    with pytest.raises(LinnetError, match="with another input"):
        run(job(notes(tmp_path / "others", 420), out))
    run(job(source, out, format="parquet", fresh=True))
    assert not list(out.glob("*.jsonl*")) or (out / "errors.jsonl").read_bytes() == b""
    run(job(source, out, fresh=True))
    assert seen(out) == whole
    (out / ".job" / "journal").write_text("nothing")
    with pytest.raises(LinnetError, match="its journal is damaged"):
        run(job(source, out))


@pytest.mark.parametrize(
    ("change", "interrupted"), [("mended", False), ("mended", True), ("new", False), ("gone", False)]
)
def test_of_changed_input_only_what_changed_is_linked_again(
    tmp_path: Path, change: str, interrupted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    source, out = notes(tmp_path / "notes", 9, files=9), tmp_path / "out"
    bad, good = source / "part4.jsonl", (source / "part4.jsonl").read_bytes()
    bad.write_bytes(b"\xff" + good)
    assert run(job(source, out, size=2)).counts["errors"] == 1
    if change == "mended":
        bad.write_bytes(good)
    elif change == "new":
        (source / "part9.jsonl").write_text('{"id":"new","text":"More."}\n')
    else:
        (source / "part8.jsonl").unlink()
    if interrupted:
        stopped(job(source, out, size=2), at=0)
    told = run(job(source, out, size=2))
    assert "files of the input have changed since: of 5 finished parts, 4 stay" in caplog.text
    assert told.before == 7, "units of two files, and one that could not be read"
    run(job(source, tmp_path / "whole", size=2))
    assert seen(out) == seen(tmp_path / "whole")
    assert run(job(source, out, size=2)).before == told.counts["documents"]


def test_what_is_no_job_is_not_written_to(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(FormatError, match=r"holds 'mine.txt' already"):
        run(job(source, tmp_path / "out"))
    with pytest.raises(LinnetError, match="as jsonl or parquet, not as 'csv'"):
        run(job(source, tmp_path / "other", format="csv"))
    for workers in (0, -1):
        with pytest.raises(LinnetError, match="at least 1 worker"):
            run(job(source, tmp_path / "other", workers=workers))


def test_two_do_not_lead_the_same_job(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(job(source, out))
    held = hold(out / ".job" / "lock")
    with pytest.raises(LinnetError, match="another process is linking to it"):
        run(job(source, out))
    assert held is not None
    held.close()
    run(job(source, out))


def test_what_an_ended_run_still_writes_goes_nowhere(source: Path, whole: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    stopped(job(source, out), at=100)
    (out / ".job" / "run-old").mkdir()
    (out / "shard-000099-000000.jsonl").write_text("of another run\n")
    run(job(source, out))
    assert not list((out / ".job").glob("run-*"))
    assert seen(out) == whole


def test_a_folder_that_is_not_finished_says_so(source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stopped(job(source, tmp_path / "out"), at=100)
    assert len(list(read(tmp_path / "out"))) >= 100
    assert "is not finished" in caplog.text


# --- tables ----------------------------------------------------------------------------------------------------------


def test_shards_as_tables(source: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, workers in (("out", 1), ("two", 2)):
        run(job(source, tmp_path / name, format="parquet", workers=workers))
    assert seen(tmp_path / "out") == seen(tmp_path / "two")
    rows = [row for path in sorted((tmp_path / "out").glob("shard-*")) for row in parquet.read_table(path).to_pylist()]
    assert len(rows) == 420
    assert (rows[3]["document"], rows[3]["text"], rows[3]["concepts"]) == ("d3", "Fits", "X:1")
    docs = [one for path in sorted((tmp_path / "out").glob("doc*")) for one in parquet.read_table(path).to_pylist()]
    assert docs[5] == {"document": "d5", "text": "Fits of rage 5.", "meta": "{}", "mentions": 1}
    assert Counter(len(row) for row in rows) == {16: 420}


def test_messages_of_readers_are_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linnet")
    folder = notes(tmp_path / "notes", 10)
    (folder / "empty.jsonl").write_text("")
    told = run(job(folder, tmp_path / "out"))
    assert [message.partition(": ")[2] for message in told.said] == ["is empty, it gives no documents"]
