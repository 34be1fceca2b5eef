"""The queue: who gets a job, for how long, what a worker that lost it can still write, cancelling, trying again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from linnet.annotate import held as module
from linnet.annotate import predicting
from linnet.annotate.documents import add_documents, document_of, redact, row_of
from linnet.annotate.held import CancelledError, Held, StoppedError
from linnet.annotate.jobs import (
    Job,
    LostError,
    Timing,
    ask_to_cancel,
    beat,
    claim,
    end,
    enqueue,
    fail,
    find,
    give_back,
    jobs_of,
    note,
)
from linnet.annotate.journal import lock
from linnet.annotate.people import add_project, add_user
from linnet.annotate.problems import NotFoundError
from linnet.annotate.runs import add_predictions, start_run
from linnet.annotate.store import Store
from linnet.annotate.tables import job as table
from linnet.annotate.tables import now
from linnet.annotate.worker import WORK, Worker, explain
from linnet.data import Document
from linnet.detect.gold import Gold
from linnet.errors import DataError, TrainingError
from linnet.pipeline import Pipeline
from tests.annotate.desk import Desk, fresh

QUICK = Timing(lease=0.6, beat=0.1, look=0.02, grace=0.1, told=0.5, idle=0.02, backoff=0.1)


@pytest.fixture
def project(store: Store) -> int:
    """A project, and no jobs of other tests."""
    with store.write() as db:
        db.execute(table.delete())
        return add_project(db, fresh("project"), add_user(db, fresh("dora")))


def ask(store: Store, project: int, **more: Any) -> int:
    with store.write() as db:
        return enqueue(db, project, more.pop("kind", "export"), **more)


def look(store: Store, id: int) -> Job:
    with store.read() as db:
        return find(db, id)


def get(store: Store, worker: str = "w", timing: Timing = QUICK) -> Job:
    job = claim(store, worker, timing)
    assert job is not None
    return job


def wait_for(said: Callable[[], bool]) -> None:
    """Wait until something is so; a busy machine may take seconds for what takes none."""
    until = time.monotonic() + 10
    while not said():
        assert time.monotonic() < until
        time.sleep(0.01)


# --- asking ----------------------------------------------------------------------------------------------------------


def test_the_clock_can_be_ahead(store: Store) -> None:
    with store.read() as db:
        times = [str(db.scalar(sa.select(now(db, ahead)))) for ahead in (-90061.5, -1, 0, 0.5, 3600)]
    assert times == sorted(times)
    assert len(set(times)) == 5


def test_a_job_remembers_the_last_event_there_was(store: Store, project: int) -> None:
    job = look(store, ask(store, project, kind="train", args={"parts": "ner"}))
    assert job.args["parts"] == "ner"
    assert job.args["to"] == job.data_to_event is not None
    assert job.to_json()["state"] == "queued"


@pytest.mark.parametrize(
    ("kind", "args", "said"),
    [
        ("trian", {}, "no kind of job; there are train, predict, export"),
        ("train", {"parts": "all"}, "parts: expected 'ner', 'linker' or 'both', found 'all'"),
        ("train", {"epoch": 3}, "epoch: unknown field"),
        ("train", {"to": 10**30}, "is still to come"),
        ("export", {"to": 10**9}, "event 1000000000 is still to come"),
    ],
)
def test_wrong_orders_are_refused(store: Store, project: int, kind: str, args: dict[str, Any], said: str) -> None:
    with store.write() as db, pytest.raises(DataError, match=said):
        enqueue(db, project, kind, args)


def test_there_is_no_other_job(store: Store) -> None:
    with store.read() as db, pytest.raises(NotFoundError, match="no job 123456"):
        find(db, 123456)


# --- claiming --------------------------------------------------------------------------------------------------------


def test_the_oldest_of_the_highest_priority_comes_first(store: Store, project: int) -> None:
    first, second, urgent = ask(store, project), ask(store, project), ask(store, project, priority=5)
    assert [get(store).id for _ in range(3)] == [urgent, first, second]
    assert claim(store, "w", QUICK) is None
    with store.read() as db:
        assert [job.id for job in jobs_of(db, project)] == [urgent, second, first]


def test_a_worker_takes_only_its_kinds(store: Store, project: int) -> None:
    ask(store, project, kind="train")
    assert claim(store, "w", QUICK, ["predict", "export"]) is None


def test_two_workers_never_run_the_same_job(store: Store, project: int) -> None:
    ids = [ask(store, project) for _ in range(24)]
    taken: list[int] = []

    def work(name: str) -> None:
        while (job := claim(store, name, Timing())) is not None:
            taken.append(job.id)

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == ids


# --- leases ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_lease_that_is_extended_does_not_end(store: Store, project: int) -> None:
    id = ask(store, project)
    with Held(store, get(store), QUICK):
        time.sleep(2 * QUICK.lease)
        assert claim(store, "other", QUICK) is None
    wait_for(lambda: claim(store, "other", QUICK) is not None)
    assert look(store, id).attempt == 2


def test_a_stale_worker_changes_nothing(store: Store, project: int) -> None:
    ask(store, project)
    old = get(store, "old", replace(QUICK, lease=-1))
    new = get(store, "new")
    assert (old.id, old.attempt, new.attempt) == (new.id, 1, 2)
    writes: list[Callable[[sa.Connection], object]] = [
        lambda db: beat(db, old, QUICK),
        lambda db: note(db, old, {"step": 7}),
        lambda db: end(db, old, "succeeded", {}),
        lambda db: fail(db, old, {}, again=True, timing=QUICK),
        lambda db: give_back(db, old),
    ]
    for write in writes:
        with pytest.raises(LostError, match="no longer that of old, attempt 1"), store.write() as db:
            write(db)
    assert look(store, new.id) == new


def test_the_same_attempt_of_another_worker_is_another(store: Store, project: int) -> None:
    ask(store, project)
    old = get(store, "old")
    with store.write() as db:
        give_back(db, old)
    new = get(store, "new")
    assert new.attempt == old.attempt == 1
    with pytest.raises(LostError), store.write() as db:
        note(db, old, {"step": 7})


def test_work_hears_that_its_lease_has_ended(store: Store, project: int) -> None:
    id = ask(store, project)
    with Held(store, get(store), replace(QUICK, beat=0.05)) as held:
        with store.write() as db:
            db.execute(table.update().where(table.c.id == id).values(worker="somebody else"))
        with pytest.raises(LostError):
            endless(held, Path())


def test_a_job_that_kills_its_workers_fails(store: Store, project: int) -> None:
    id = ask(store, project)
    for _ in range(QUICK.attempts):
        get(store, timing=replace(QUICK, lease=-1))
    assert claim(store, "w", QUICK) is None
    job = look(store, id)
    assert (job.state, job.attempt) == ("failed", 3)
    assert "stopped without a word, 3 times" in job.log_tail


# --- progress --------------------------------------------------------------------------------------------------------


def test_progress_is_told_at_most_twice_a_second(store: Store, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    id = ask(store, project)
    written: list[dict[str, Any]] = []

    def counted(db: sa.Connection, job: Job, values: Any) -> None:
        written.append(dict(values))
        note(db, job, values)

    monkeypatch.setattr(module, "note", counted)
    with Held(store, get(store), QUICK) as held:
        start = time.monotonic()
        for step in range(200):
            held.tell(step=step, of=200, loss=1 / (step + 1))
            held.say(f"line {step}")
            time.sleep(0.004)
        most = 1 + (time.monotonic() - start) / 0.5
        with held.writing():
            pass
    assert 2 <= len(written) <= most + 1
    job = look(store, id)
    assert (job.step, job.of, job.loss) == (199, 200, 0.005)
    assert job.log_tail.splitlines()[-1].endswith("line 199")
    assert len(job.log_tail.splitlines()) == 40


def test_lines_that_no_database_holds_are_mended(store: Store, project: int) -> None:
    id = ask(store, project)
    with Held(store, get(store), QUICK) as held:
        held.say("a\0b \ud800 " + "x" * 600)
        with held.writing():
            pass
    assert look(store, id).log_tail[9:18] == "a b ? xxx"


def test_a_log_that_was_erased_does_not_come_back(store: Store, project: int) -> None:
    id = ask(store, project)
    held = Held(store, get(store), QUICK)
    held.say("cannot read 'Jane Roe has fits'")
    held.tell(step=1)
    assert "Jane Roe" in look(store, id).log_tail
    with store.write() as db:
        db.execute(table.update().where(table.c.id == id).values(log_tail=""))
    held.say("next")
    with held.writing() as db:
        end(db, held.job, "failed", held.news(db))
    assert [line[9:] for line in look(store, id).log_tail.splitlines()] == ["next"]


def test_news_that_could_not_be_stored_stays(store: Store, project: int) -> None:
    id = ask(store, project)
    held = Held(store, get(store), replace(QUICK, told=-1e9))
    held.say("one")
    with pytest.raises(RuntimeError), held.writing():
        held.say("two")
        raise RuntimeError
    held.tell(step=2)
    job = look(store, id)
    assert ([line[9:] for line in job.log_tail.splitlines()], job.step) == (["one", "two"], 2)


def test_an_erasing_and_a_job_do_not_wait_for_each_other(desk: Desk) -> None:
    with desk.store.write() as db:
        db.execute(table.delete())
        [other] = add_documents(db, desk.project, desk.user, [Document("other", "She has fits.")]).new
        run = start_run(db, desk.project)
        enqueue(db, desk.project, "predict")
    held, began, failed = Held(desk.store, get(desk.store), QUICK), threading.Event(), list[Exception]()

    def erase() -> None:
        began.wait(5)
        try:
            with desk.store.write() as db:
                redact(db, desk.document, desk.user)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=erase)
    thread.start()
    with held.writing() as db:
        began.set()
        time.sleep(0.3)
        add_predictions(db, run, other, Document("other", "She has fits."))
    thread.join(10)
    assert failed == []
    with desk.store.read() as db:
        assert row_of(db, desk.document)["redacted"]


def test_a_text_that_is_just_being_erased_fails_no_prediction(desk: Desk) -> None:
    with desk.store.write() as db:
        db.execute(table.delete())
        run = start_run(db, desk.project)
        enqueue(db, desk.project, "predict")
        doc = document_of(row_of(db, desk.document))
    held, failed = Held(desk.store, get(desk.store), QUICK), list[Exception]()

    def store_it() -> None:
        try:
            predicting._store(held, Pipeline(Gold()), run, desk.document, doc)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=store_it)
    with desk.store.write() as db:
        lock(db)
        thread.start()
        time.sleep(0.3)
        redact(db, desk.document, desk.user)
    thread.join(10)
    assert failed == []


# --- the end ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(store: Store, project: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Worker]:
    """Return a function that asks for a job and has a worker whose work is as given."""

    def made(work: Callable[[Held, Path], None]) -> Worker:
        monkeypatch.setitem(WORK, "export", work)
        return Worker(store, tmp_path, timing=QUICK)

    return made


def endless(held: Held, data: Path) -> None:
    while True:
        held.tell(step=1)
        time.sleep(0.01)


def test_a_waiting_job_is_cancelled_at_once(store: Store, project: int) -> None:
    id = ask(store, project)
    with store.write() as db:
        assert ask_to_cancel(db, id).state == "cancelled"
        assert ask_to_cancel(db, id).state == "cancelled"
    assert claim(store, "w", QUICK) is None


@pytest.mark.slow
@pytest.mark.parametrize("deaf", [False, True])
def test_a_running_job_is_cancelled_before_a_long_step_ends(
    store: Store, project: int, run: Callable[..., Worker], deaf: bool
) -> None:
    heard = threading.Event()

    def work(held: Held, data: Path) -> None:
        if deaf:  # a step that takes long
            heard.wait(60)
        endless(held, data)

    id, worker = ask(store, project), run(work)
    worker.timing = Timing(idle=0.02)  # as it is in real life
    worker.start()
    wait_for(lambda: look(store, id).state == "running")
    with store.write() as db:
        ask_to_cancel(db, id)
    wait_for(lambda: look(store, id).state == "cancelled")
    heard.set()
    worker.stop()
    assert look(store, id).ended is not None


def test_what_a_cancelled_job_still_writes_is_refused(store: Store, project: int) -> None:
    id = ask(store, project)
    with Held(store, get(store), QUICK) as held:
        with store.write() as db:
            ask_to_cancel(db, id)
        wait_for(lambda: look(store, id).state == "cancelled")
        with pytest.raises(CancelledError):
            held.check()
        with pytest.raises(LostError), held.writing():
            pytest.fail("it must not come here")


def test_a_cancelled_job_of_a_dead_worker_is_over(store: Store, project: int) -> None:
    id = ask(store, project)
    get(store, timing=replace(QUICK, lease=-1))
    with store.write() as db:
        ask_to_cancel(db, id)
    assert claim(store, "w", QUICK) is None
    assert look(store, id).state == "cancelled"


@pytest.mark.parametrize("left", ["failed", "given back"])
def test_a_cancelled_job_is_not_queued_again(store: Store, project: int, left: str) -> None:
    id = ask(store, project)
    held = get(store)
    with store.write() as db:
        ask_to_cancel(db, id)
    with store.write() as db:
        if left == "failed":
            fail(db, held, {}, again=True, timing=QUICK)
        else:
            give_back(db, held)
    job = look(store, id)
    assert (job.state, job.ended is None) == ("cancelled", False)


def test_failures_wait_longer_each_time_and_end(store: Store, project: int, run: Callable[..., Worker]) -> None:
    def work(held: Held, data: Path) -> None:
        raise RuntimeError("the moon is full")

    id, worker = ask(store, project), run(work)
    worker.timing = replace(QUICK, backoff=5.0)
    waits = []
    for attempt in (1, 2):
        assert worker.work()
        job = look(store, id)
        assert (job.state, job.attempt) == ("queued", attempt)
        assert not worker.work()
        with store.write() as db:
            waits.append([job.not_before > db.scalar(sa.select(now(db, ahead))) for ahead in (4, 14)])  # type: ignore[operator]
            db.execute(table.update().values(not_before=None))
    assert waits == [[True, False], [True, True]]
    assert worker.work()
    job = look(store, id)
    assert job.state == "failed"
    assert "RuntimeError: the moon is full" in job.log_tail
    assert job.ended is not None


@pytest.mark.parametrize(
    ("error", "said", "again"),
    [
        (OSError(28, "No space left on device"), "make room and ask for the job again", False),
        (MemoryError(), "take a smaller batch", False),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "take a smaller batch", False),
        (TrainingError("tagger: step 3: the loss is nan; try a smaller learning rate"), "the loss is nan", False),
        (DataError("wrong"), "wrong", False),
        (RuntimeError("bug"), "RuntimeError: bug", True),
    ],
)
def test_what_people_can_mend_is_said_and_not_tried_again(error: Exception, said: str, again: bool) -> None:
    told = explain(error, Path("data"))
    assert said in told[0]
    assert told[1] == again


def test_a_full_disk_is_found_behind_other_errors() -> None:
    error = DataError("cannot be written")
    error.__cause__ = OSError(28, "No space left on device")
    assert "is full" in explain(error, Path("data"))[0]


def test_a_worker_that_stops_gives_its_job_back(store: Store, project: int, run: Callable[..., Worker]) -> None:
    id, worker = ask(store, project), run(endless)
    worker.start()
    wait_for(lambda: look(store, id).state == "running")
    worker.stop()
    job = look(store, id)
    assert (job.state, job.attempt) == ("queued", 0)


def test_work_that_is_stopped_says_so(store: Store, project: int) -> None:
    ask(store, project)
    stop = threading.Event()
    with Held(store, get(store), QUICK, stop) as held:
        held.check()
        stop.set()
        with pytest.raises(StoppedError):
            held.check()
