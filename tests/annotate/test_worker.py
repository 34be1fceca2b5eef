"""Workers at work: models that people's decisions make, predictions, files, and what a kill leaves behind."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import linnet
from linnet.annotate import exporting, training
from linnet.annotate.acts import Command
from linnet.annotate.assignments import assign
from linnet.annotate.commands import apply
from linnet.annotate.documents import redact
from linnet.annotate.exports import export_project
from linnet.annotate.held import Held
from linnet.annotate.jobs import Job, ask_to_cancel
from linnet.annotate.journal import check
from linnet.annotate.models import model_row, models_of, project_row, use
from linnet.annotate.people import add_user, change_settings
from linnet.annotate.problems import NotFoundError
from linnet.annotate.runs import add_model
from linnet.annotate.store import Store
from linnet.annotate.tables import job as job_table
from linnet.annotate.tables import predicted, prediction, run
from linnet.annotate.worker import WORK
from linnet.data import Document
from linnet.fit.fitting import Progress
from linnet.pipeline.component import Step
from tests.annotate.bench_of_jobs import Bench, documents, make_kb
from tests.annotate.desk import fresh

WEIGHTS = (".json", ".jsonl", ".npy", ".npz", ".toml")


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_kb(tmp_path_factory.mktemp("kb") / "ills.kb")


@pytest.fixture
def bench(store: Store, where: str, tmp_path: Path, kb: Path) -> Bench:
    with store.write() as db:
        db.execute(job_table.delete())
    return Bench.open(store, where, tmp_path / "data", kb)


def weights(folder: Path) -> dict[str, str]:
    """Return a hash of each file that holds something learned."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in WEIGHTS and path.name != "checksums.json")
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def finished(bench: Bench, job: int, seconds: float = 60.0) -> Job:
    end = time.monotonic() + seconds
    while (found := bench.job(job)).state not in ("succeeded", "failed", "cancelled"):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def fake(monkeypatch: pytest.MonkeyPatch, *steps: Step) -> None:
    """Have trainings tell `steps` and write nothing."""

    def made(*args: Any, **more: Any) -> Any:
        for step in steps:
            yield Progress("part", step)
            time.sleep(0.02)

    monkeypatch.setattr(training, "train_into", made)


# --- training --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_is_trained_scored_used_and_predicts(bench: Bench) -> None:
    job = bench.do("train", user=bench.user)
    assert job.state == "succeeded", job.log_tail
    with bench.store.read() as db:
        row = model_row(db, bench.project, job.result["model"])
        assert project_row(db, bench.project)["model"] == row["id"]
        assert check(db, bench.project) == []
    figure = row["metrics"]["measures"]["strict.f1"]
    assert figure["low"] <= figure["value"] == job.score <= figure["high"]
    assert row["data_to_event"] == job.data_to_event == job.args["to"]
    assert row["card"]["recipe"] == "own_lexical"
    assert row["card"]["documents"] == {"train": 10, "dev": 2}
    assert len(row["card"]["held_out"]) == 2
    assert f"2 to measure on ({', '.join(row['card']['held_out'])})" in job.log_tail
    assert "lexical: trained in" in job.log_tail

    bench.worker().work()
    told = bench.job(job.result["predict"])
    assert told.state == "succeeded", told.log_tail
    assert told.result["documents"] == 12
    link = linnet.load(bench.data / row["path"])
    assert {m.concepts for m in link("She had hearty pain.")[0].mentions or ()} == {("X:0",)}

    # the linker alone: what finds mentions stays as it was
    again = bench.do("train", {"parts": "linker"})
    assert again.state == "succeeded", again.log_tail
    with bench.store.read() as db:
        [new, old] = models_of(db, bench.project)
    assert (new["parent"], old["id"]) == (row["id"], row["id"])
    before, after = (weights(bench.data / one["path"]) for one in (old, new))
    kept = [name for name in before if name.startswith("0-dictionary/")]
    assert [before[name] for name in kept] == [after[name] for name in kept] != []
    assert "dictionary: trained" not in again.log_tail

    # and back, by one call
    with bench.store.write() as db:
        use(db, bench.project, old["id"], bench.user)
        assert project_row(db, bench.project)["model"] == old["id"]
        with pytest.raises(NotFoundError, match="has no model m0"):
            use(db, bench.project, "m0")


def test_nothing_to_learn_from_is_said(store: Store, where: str, tmp_path: Path, kb: Path) -> None:
    with store.write() as db:
        db.execute(job_table.delete())
    empty = Bench.open(store, where, tmp_path, kb, count=0)
    job = empty.do("train")
    assert job.state == "failed"
    assert "nobody has annotated a document yet" in job.log_tail
    empty.upload(documents(1))
    assert "recipe '../secret'" in empty.do("train", {"recipe": "../secret"}).log_tail


def test_minutes_are_those_of_networks(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    parts = ("tagger", "ngram", "lexical", "decide")
    used = "".join(f'[[pipeline]]\nuse = "{part}"\n' for part in parts)
    learned = "".join(f'[[train]]\npart = "{part}"\n' for part in parts[:3])
    (bench.data / "recipes").mkdir(parents=True)
    (bench.data / "recipes" / "net.toml").write_text(used + learned)
    seen: list[Any] = []

    def made(_: Any, todo: Any, *args: Any, **more: Any) -> Any:
        seen.extend(todo)
        yield Progress("part", Step(1, 1, {"nll": float("nan")}))

    monkeypatch.setattr(training, "train_into", made)
    assert bench.do("train", {"recipe": "net", "minutes": 2.5}).state == "failed"
    assert {task.name: task.args.get("max_minutes") for task in seen} == {"tagger": 2.5, "ngram": None, "lexical": None}


def test_a_loss_that_is_no_number_ends_the_training(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, Step(1, 9, {"nll": 0.5}), Step(2, 9, {"nll": float("nan")}))
    job = bench.do("train")
    assert (job.state, job.attempt, job.loss) == ("failed", 1, 0.5)
    assert "step 2: the loss is nan; try a smaller learning rate" in job.log_tail


def test_a_full_disk_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **more: Any) -> Any:
        yield Progress("part", Step(1, 9))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training, "train_into", full)
    job = bench.do("train")
    assert (job.state, job.attempt) == ("failed", 1)
    assert "is full: make room and ask for the job again" in job.log_tail


def test_a_training_is_cancelled_in_the_middle(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, *(Step(n, 1000) for n in range(1, 1000)))
    job, worker = bench.ask("train"), bench.worker()
    thread = threading.Thread(target=worker.work)
    thread.start()
    while bench.job(job).step == 0:
        time.sleep(0.01)
    parts = bench.data / "models" / f"{bench.job(job).checkpoint}.parts"
    parts.mkdir(parents=True)
    with bench.store.write() as db:
        ask_to_cancel(db, job)
    thread.join(2)
    assert bench.job(job).state == "cancelled"
    assert not parts.exists()


def test_what_is_cancelled_between_two_steps_is_said_to_be(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def work(held: Held, _data: Path) -> None:
        with held.store.write() as db:
            ask_to_cancel(db, held.job.id)
        finished(bench, held.job.id)  # longer than a cancelled job is waited for
        with held.writing():
            pass

    monkeypatch.setitem(WORK, "train", work)
    with caplog.at_level(logging.INFO):
        job = bench.do("train")
    assert job.state == "cancelled"
    assert f"job {job.id} was cancelled" in caplog.text
    assert "no longer that of" not in caplog.text


@pytest.mark.parametrize(("low", "used"), [(1.01, False), (0.9, True)])
def test_a_model_is_not_used_if_it_is_worse_beyond_the_interval(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, low: float, used: bool
) -> None:
    with bench.store.write() as db:
        old = add_model(db, bench.project, "models/old", 0, set())
        use(db, bench.project, old)
    figures = iter([{"value": 1.0, "low": 1.0, "high": 1.0}, {"value": 1.02, "low": low, "high": 1.1}])
    monkeypatch.setattr(training, "_fit", lambda held, plan, data, folder: None)
    monkeypatch.setattr(training, "load", lambda *args, **more: linnet.Pipeline(linnet.Gold()))
    monkeypatch.setattr(training, "load_model", lambda *args: linnet.Pipeline(linnet.Gold()))
    monkeypatch.setattr(
        training, "score", lambda *args: {"documents": 2, "measures": {"all.accuracy@1": next(figures)}}
    )
    while bench.worker().work():  # the predictions of a model without a folder fail
        pass
    job = bench.do("train", {"recipe": "own_lexical"})
    assert job.state == "succeeded", job.log_tail
    assert (job.result["used"], job.result["worse"]) == (used, not used)
    with bench.store.read() as db:
        assert (project_row(db, bench.project)["model"] == old) is not used
        row = model_row(db, bench.project, job.result["model"])
    assert row["metrics"]["in_use"]["model"] == old


@pytest.mark.slow
def test_a_model_takes_the_place_of_one_that_its_knowledge_base_has_left(bench: Bench, tmp_path: Path) -> None:
    first = bench.do("train").result["model"]
    release = make_kb(tmp_path / "ills.kb", more=("syndrome",))
    with bench.store.write() as db:
        assert change_settings(db, bench.project, project_row(db, bench.project)["seq"], {"kb": str(release)})
    job = bench.do("train")
    assert job.state == "succeeded", job.log_tail
    assert f"{first}, in use, cannot be measured" in job.log_tail
    assert job.result["used"]


def test_a_first_model_is_compared_with_what_predicts_without_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    perfect = {name: {"value": 1.0, "low": 1.0, "high": 1.0} for name in ("strict.f1", "all.accuracy@1")}
    useless = {name: {"value": 0.1, "low": 0.0, "high": 0.2} for name in perfect}
    figures = iter([useless, perfect])
    monkeypatch.setattr(training, "score", lambda *args: {"documents": 2, "measures": next(figures)})
    job = bench.do("train")
    assert "measuring the untrained recipe" in job.log_tail
    assert (job.state, job.result["used"], job.result["worse"]) == ("succeeded", False, True)
    with bench.store.read() as db:
        assert project_row(db, bench.project)["model"] is None
        metrics = model_row(db, bench.project, job.result["model"])["metrics"]
    assert metrics["in_use"] == {"model": None, "documents": 2, "measures": perfect}


def killed_and_resumed(bench: Bench, kill: int) -> tuple[Job, dict[str, str]]:
    job = bench.ask("train", {"use": False})
    first = bench.process(kill)
    _, said = first.communicate(timeout=60)
    assert first.returncode == -9, said
    assert bench.job(job).state == "running"
    second = bench.process()
    done = finished(bench, job)
    second.communicate(timeout=60)
    assert done.state == "succeeded", done.log_tail
    return done, weights(bench.data / "models" / done.result["model"])


def unbroken(bench: Bench) -> dict[str, str]:
    done = bench.do("train", {"use": False})
    return weights(bench.data / "models" / done.result["model"])


@pytest.mark.slow
def test_a_killed_training_resumes_with_the_same_weights(bench: Bench) -> None:
    job, found = killed_and_resumed(bench, 5)
    assert job.attempt == 2
    assert "dictionary: kept, trained" in job.log_tail
    assert found == unbroken(bench)
    assert len([name for name in found if name.startswith("3-lexical/")]) >= 3
    assert list((bench.data / "models").glob("*.parts")) == []


@pytest.mark.slow
def test_trainings_that_are_killed_at_any_moment_come_to_the_same(bench: Bench) -> None:
    """Twenty of them with ``LINNET_LOOP=full``, else as many as continuous integration has time for."""
    wanted, chance = unbroken(bench), random.Random(5)
    for _ in range(20 if os.environ.get("LINNET_LOOP") == "full" else 2):
        job = bench.ask("train", {"use": False})
        process = bench.process()
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 3.0))
        process.kill()
        process.communicate()
        if bench.job(job).state != "succeeded":
            bench.process().communicate(timeout=120)
        done = finished(bench, job)
        assert done.state == "succeeded", done.log_tail
        assert weights(bench.data / "models" / done.result["model"]) == wanted


# --- predictions -----------------------------------------------------------------------------------------------------


def count(bench: Bench, key: str) -> int:
    with bench.store.read() as db:
        return int(db.scalar(sa.select(sa.func.count()).select_from(predicted).where(predicted.c.run == key)) or 0)


def said(bench: Bench, of: int) -> list[Any]:
    """Return all predictions of a project."""
    with bench.store.read() as db:
        mine = sa.select(prediction).join(run, run.c.id == prediction.c.run).where(run.c.project == of)
        return [tuple(row) for row in db.execute(mine.order_by(prediction.c.document, prediction.c.id))]


@pytest.mark.slow
def test_predictions_survive_a_kill_and_are_not_made_twice(
    bench: Bench, store: Store, where: str, tmp_path: Path, kb: Path
) -> None:
    other = Bench.open(store, where, tmp_path / "data", kb, count=2)
    assert other.do("predict").state == "succeeded"
    theirs = said(other, other.project)
    job = bench.ask("predict")
    first = bench.process(6)  # the sixth document is not stored any more
    first.communicate(timeout=60)
    assert first.returncode == -9
    key = bench.job(job).checkpoint
    assert key is not None
    assert count(bench, key) == 5
    before = said(bench, bench.project)
    second = bench.process()
    done = finished(bench, job)
    second.communicate(timeout=60)
    assert done.result == {"run": key, "model": None, "documents": 7, "skipped": 0}
    assert (count(bench, key), done.attempt) == (12, 2)
    after = said(bench, bench.project)
    assert [row for row in after if row in before] == before
    assert said(other, other.project) == theirs != []


@pytest.mark.slow
def test_new_documents_join_the_run_of_their_model(bench: Bench) -> None:
    trained = bench.do("train", {"use": False})
    model = trained.result["model"]
    first = bench.do("predict", {"model": model, "documents": bench.upload(documents(2, 50))})
    assert first.result["documents"] == 2
    bench.upload(documents(1, 60))
    second = bench.do("predict", {"model": model})
    assert second.result["run"] == first.result["run"]
    assert second.result["documents"] == 13
    with bench.store.read() as db:
        assert db.scalar(sa.select(run.c.state).where(run.c.id == first.result["run"])) == "done"


def test_documents_without_mentions_cannot_be_linked_alone(bench: Bench) -> None:
    recipes = bench.data / "recipes"
    recipes.mkdir(parents=True)
    (recipes / "given.toml").write_text('[[pipeline]]\nuse = "gold"\n\n[[pipeline]]\nuse = "ngram"\n')
    bench.upload([Document("bare", "No mention.")])
    job = bench.do("predict", {"recipe": "given"})
    assert job.state == "succeeded", job.log_tail
    assert (job.result["documents"], job.result["skipped"]) == (12, 1)


# --- exports ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["jsonl", "pubtator", "brat", "history"])
def test_a_file_and_its_manifest(bench: Bench, format: str) -> None:
    job = bench.do("export", {"format": format})
    assert job.state == "succeeded", job.log_tail
    path = bench.data / job.result["file"]
    manifest = json.loads((path.parent / "manifest.json").read_text())
    assert manifest["sha256"] == job.result["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert manifest["documents"] == 12
    if format == "brat":
        with zipfile.ZipFile(path) as packed:
            assert "case-3.ann" in packed.namelist()
    elif format != "history":
        with bench.store.read() as db:
            ours = export_project(db, bench.project)
        assert [doc.text for doc in linnet.read(path)] == [doc.text for doc in ours]


def test_a_text_that_is_erased_meanwhile_is_in_no_file(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    [id] = bench.upload([Document("open", "He has heart pain.")])

    def slow(*args: Any, **more: Any) -> Any:
        count = linnet.write(*args, **more)
        with bench.store.write() as db:
            redact(db, id, bench.user)
        return count

    monkeypatch.setattr(exporting, "write", slow)
    job = bench.do("export")
    assert (job.state, "was erased while" in job.log_tail) == ("failed", True)
    assert not (bench.data / "exports" / str(job.id)).exists()


def test_a_format_that_there_is_not(bench: Bench) -> None:
    assert "unknown corpus format 'jsnol'" in bench.do("export", {"format": "jsnol"}).log_tail


def test_who_may_see_nothing_of_others_gets_nothing_of_them(bench: Bench) -> None:
    ids = bench.upload([Document("open", "He has heart pain.")])
    with bench.store.write() as db:
        work = assign(db, ids[0], bench.user)
        stranger = add_user(db, fresh("stranger"))
    apply(bench.store, work, bench.user, [Command(id=fresh("c"), op="create", parts=((7, 17),))], 0)
    mine, theirs = (
        bench.do("export", {"format": "history"}, user=user).result["sha256"] for user in (bench.user, stranger)
    )
    assert mine != theirs


# --- the thread ------------------------------------------------------------------------------------------------------


def test_a_worker_in_a_thread_does_what_is_asked(bench: Bench) -> None:
    worker = bench.worker()
    worker.start()
    try:
        assert finished(bench, bench.ask("export")).state == "succeeded"
    finally:
        worker.stop()
