"""The Python client, at a real server on this machine: the same documents as the pipeline here."""

from __future__ import annotations

import http.client
import json
import logging
import pickle
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import linnet
from linnet.cli import main
from linnet.codec import with_ids
from linnet.data import Document
from linnet.errors import LinnetError, PipelineError, RecipeError
from linnet.kb import KnowledgeBase
from linnet.pipeline import Allow, Pipeline, remote_http
from linnet.pipeline.remote import Remote, RemotePipeline
from linnet.pipeline.remote_http import RemoteError
from linnet.recipes.linking import link_given
from linnet.reporter import Reporter, reporting
from linnet.scale.job_key import made_of
from linnet.serve.app import make_app
from linnet.serve.keys import Keys
from linnet.serve.linking import Linking
from linnet.serve.settings import Settings
from tests.serve.conftest import Scripted, wait
from tests.serve.running import running

KEY = "0123456789abcdef"
TEXTS = ["Short stature and seizures.", "No cleft palate.", "A cold.", "", "Short fingers and toes."]
NOTES = Path(linnet.__file__).parent / "demo" / "notes"


@pytest.fixture(scope="module")
def port(local: Pipeline) -> object:
    with running(make_app(Linking({"small": local, "other": local}), Keys({"me": KEY}))) as found:
        yield found


def load(port: int, name: str = "", **more: object) -> RemotePipeline:
    loaded = linnet.load(f"http://127.0.0.1:{port}{name}", **{"api_key": KEY, **more})  # type: ignore[arg-type]
    assert isinstance(loaded, RemotePipeline)
    return loaded


def test_it_gives_what_the_local_pipeline_gives(port: int, local: Pipeline, kb: KnowledgeBase) -> None:
    remote = load(port, "#other", kb=kb)
    notes = list(linnet.read(NOTES))
    assert len(notes) == 12
    for given in (TEXTS, TEXTS[0], notes, notes[0], local(notes)):
        assert remote(given) == remote.link(given) == local(given)
    assert list(remote.stream(notes, batch=5)) == list(local.stream(notes))
    under = Allow(under=("HP:0001250",))
    assert remote(TEXTS, allow=under) == local(TEXTS, allow=under)
    assert (remote.needs, remote.gives) == (local.needs, local.gives)
    [doc] = remote("Seizures.")
    assert [remote.names(mention) for mention in doc.mentions or ()] == [("Seizure",)]
    assert Pipeline(remote, linnet.Context())("No fits.") == local("No fits.")
    remote.close()
    assert remote("Fits.") == local("Fits.")


def test_without_the_knowledge_base_candidates_have_ids(port: int, local: Pipeline, kb: KnowledgeBase) -> None:
    remote = load(port)
    [here], [there] = local(TEXTS[0]), remote(TEXTS[0])
    for one, other in zip(here.mentions or (), there.mentions or (), strict=True):
        assert one.candidates is not None
        assert with_ids(one.candidates, kb) == other.candidates
    assert remote(there) == remote([there])  # they go there and back as they are
    mention = linnet.Mention(0, 4, concepts=("HP:0009999", "HP:1"))
    assert remote.names(mention) == ("Seizure", "HP:1")


def test_the_terminal_shows_what_a_server_has_linked(
    port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_API_KEY", KEY)
    monkeypatch.setattr("sys.argv", ["linnet", "link", TEXTS[0], "--pipeline", f"http://127.0.0.1:{port}"])
    with pytest.raises(SystemExit, match="0"):
        main()
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("seizures", "affirmed", "HP:0001250", "1.00*"))
    assert not any(word in shown for word in ("name", "terminology")), "the server's knowledge base is not here"


def test_given_mentions_are_the_matter_of_the_server(port: int, kb: KnowledgeBase) -> None:
    with pytest.raises(LinnetError, match="finds mentions itself: let the server link with a pipeline for given ones"):
        link_given(load(port, kb=kb))


def test_threads_share_it(port: int, local: Pipeline, kb: KnowledgeBase) -> None:
    remote = load(port, kb=kb)
    with ThreadPoolExecutor(8) as pool:
        assert [doc for [doc] in pool.map(remote, TEXTS * 20)] == local(TEXTS * 20)


def test_the_key_is_written_nowhere(port: int, tmp_path: Path) -> None:
    remote = load(port)
    assert KEY not in repr(remote) + repr(remote.parts) + json.dumps(made_of(remote))
    with pytest.raises(LinnetError):
        linnet.save(remote, tmp_path / "saved")
    assert pickle.loads(pickle.dumps(Remote("http://localhost"))) == Remote("http://localhost")


def test_what_is_refused_is_said(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_API_KEY", raising=False)
    with pytest.raises(RemoteError, match=r"status 401.*give api_key, or set LINNET_API_KEY"):
        load(port, api_key=None)
    monkeypatch.setenv("LINNET_API_KEY", KEY)
    assert load(port, api_key=None)("Fits.")
    with pytest.raises(RemoteError, match=r"has no pipeline 'small2'; it has: small, other"):
        load(port, "#small2")
    with pytest.raises(RemoteError, match=r"status 413.*at most 1,000,000"):
        load(port)("x" * 1_000_001)
    with pytest.raises(RemoteError, match="no semantic type 'Phenotyp'"):
        load(port)("Fits.", allow=Allow(types=("Phenotyp",)))
    with pytest.raises(PipelineError, match="types, ids and under"):
        load(port)("Fits.", allow=Allow(also=(Allow(types=("Disease",)),)))
    with pytest.raises(RecipeError, match="cannot be changed from here"):
        linnet.load(f"http://127.0.0.1:{port}", changes=["ngram.k=3"])
    with pytest.raises(LinnetError, match="is no web address"):
        linnet.load("http://")
    with pytest.raises(RemoteError, match="status 404"):
        load(port, "/nothing")


def test_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    remote = Remote(f"http://127.0.0.1:{port}", patience=0.5)
    with pytest.raises(RemoteError, match="does not answer"):
        remote([Document.of("Fits.")])
    told = list[str]()
    remote = Remote(f"http://127.0.0.1:{port}", patience=1)
    monkeypatch.setattr(remote_http, "SILENT", 0)
    with reporting(Reporter(warn=told.append)), pytest.raises(RemoteError, match="is it running"):
        remote.service.ask("GET", "/health")
    assert len(told) == 1, "who waits is told once"
    assert "is it running?; asking again for up to " in told[0]
    with pytest.raises(RemoteError, match="is it running"):
        remote.service.ask("GET", "/health", patience=0)


def test_https_where_there_is_none(port: int) -> None:
    with pytest.raises(RemoteError, match="does it speak https"):
        Remote(f"https://127.0.0.1:{port}", patience=0.1).service.ask("GET", "/health")


@pytest.mark.slow
def test_it_comes_again_when_it_is_told_to(local: Pipeline, kb: KnowledgeBase) -> None:
    gate = threading.Event()
    scripted = Scripted(local, lambda text: wait(gate))
    linking = Linking({"small": scripted}, Settings(requests=2))
    with running(make_app(linking)) as port, ThreadPoolExecutor(2) as pool:
        remote = load(port, kb=kb)
        first = pool.submit(remote, "Fits.")
        while not scripted.calls:
            time.sleep(0.005)
        second = pool.submit(remote, "A cold.")  # half of the requests are for others: it is refused, and comes again
        while 'linnet_requests_total{route="/link",status="429"} 1.0' not in linking.metrics.text().decode():
            time.sleep(0.005)
        gate.set()
        assert (first.result(), second.result()) == (local("Fits."), local("A cold."))


def test_a_server_that_starts_again_loses_nothing(local: Pipeline, kb: KnowledgeBase) -> None:
    with running(make_app(Linking({"small": local}))) as port:
        remote = load(port, kb=kb)
        assert remote("Fits.") == local("Fits.")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(remote, "A cold.")
        time.sleep(0.3)
        with running(make_app(Linking({"small": local})), port):
            assert asked.result() == local("A cold.")


@pytest.mark.slow
def test_what_was_accepted_is_answered_when_the_server_stops(local: Pipeline, kb: KnowledgeBase) -> None:
    scripted = Scripted(local, lambda text: time.sleep(0.3))
    with ThreadPoolExecutor(4) as pool:
        with running(make_app(Linking({"small": scripted}))) as port:
            remote = load(port, kb=kb)
            asked = [pool.submit(remote, text) for text in TEXTS[:4]]
            while not scripted.calls:
                time.sleep(0.005)
            time.sleep(0.1)
        assert [one.result() for one in asked] == [local(text) for text in TEXTS[:4]]


def test_a_client_that_is_stuck_or_gone_stops_nobody(local: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    head = b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    with running(make_app(Linking({"small": local}, Settings(read=0.2)))) as port:
        stuck, gone = (socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(2))
        with stuck, caplog.at_level(logging.ERROR):
            stuck.sendall(head)
            gone.sendall(head)
            gone.close()
            assert load(port)("Fits.")
            answer = http.client.HTTPResponse(stuck)
            answer.begin()
            assert (answer.status, answer.headers["Connection"]) == (408, "close")
            assert b"did not come within 0.2 s" in answer.read()
            assert stuck.recv(1) == b""
    assert caplog.text == ""


@pytest.mark.slow
def test_nothing_is_linked_for_a_client_that_has_gone(local: Pipeline) -> None:
    gate = threading.Event()
    scripted = Scripted(local, lambda text: wait(gate) if text == "first" else None)
    linking = Linking({"small": scripted})
    with running(make_app(linking)) as port, ThreadPoolExecutor(2) as pool:
        first = pool.submit(load(port), "first")
        until(lambda: scripted.calls)
        gone = http.client.HTTPConnection("127.0.0.1", port)
        gone.request("POST", "/link", json.dumps({"text": "gone"}))
        until(lambda: linking._open.total() == 2)
        gone.close()
        until(lambda: linking._open.total() == 1)  # what it had of the limits is free at once
        last = pool.submit(load(port), "last")
        until(lambda: linking._open.total() == 2)
        gate.set()
        assert [*first.result(), *last.result()] == local(["first", "last"])
    assert scripted.calls == [["first"], ["last"]]


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.slow
def test_a_client_that_takes_nothing_is_given_up(local: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    body = json.dumps({"texts": ["Seizures. " * 2_000] * 10}).encode()
    head = (
        f"POST /link HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    linking = Linking({"small": local}, Settings(write=0.2))
    with running(make_app(linking)) as port, socket.create_connection(("127.0.0.1", port), timeout=10) as deaf:
        deaf.sendall(head.encode() + body)
        while "took nothing of its answer" not in caplog.text:
            time.sleep(0.02)
        assert load(port)("Fits.")
