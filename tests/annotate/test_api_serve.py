"""``linnet serve`` as a process: the first link, a stream that is open when it stops, what is there afterwards."""

from __future__ import annotations

import errno
import http.client
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from linnet.annotate.api.access import PREFIX
from linnet.errors import LinnetError, how_to_install
from linnet.kb import KnowledgeBase
from linnet.serve.server import bind
from tests.annotate.served import ask, make_hpo, serving


@pytest.mark.slow
def test_the_server_from_first_start_to_second(tmp_path: Path) -> None:
    with serving(tmp_path / "site") as (process, port, link):
        me = ask(port, "POST", "/session/password", {"link": link, "password": "correct horse battery"})
        keys = {"Cookie": me["cookie"], "X-CSRF-Token": me["csrf"]}
        project = ask(port, "POST", "/projects", {"name": "notes"}, **keys)["project"]
        stream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        stream.request("GET", f"{PREFIX}/projects/{project}/stream", headers=keys)
        listening = stream.getresponse()
        assert listening.status == 200
        assert listening.readline() == b"retry: 2000\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0  # the open stream does not hold it up
        listening.close()
        stream.close()
    with serving(tmp_path / "site") as (_, port, link):
        assert link == ""
        assert ask(port, "GET", f"/projects/{project}", Cookie=me["cookie"])["name"] == "notes"
    assert (tmp_path / "site").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_backup_while_the_server_runs(tmp_path: Path) -> None:
    archive = tmp_path / "b.zip"
    words = [sys.executable, "-m", "linnet", "serve"]
    with serving(tmp_path / "site") as (_, port, link):
        me = ask(port, "POST", "/session/password", {"link": link, "password": "correct horse battery"})
        keys = {"Cookie": me["cookie"], "X-CSRF-Token": me["csrf"]}
        project = ask(port, "POST", "/projects", {"name": "notes"}, **keys)["project"]
        doc = ask(port, "POST", f"/projects/{project}/pastes", {"text": "Seizures."}, **keys)["added"][0]
        subprocess.run([*words, "backup", archive, "--data", tmp_path / "site"], check=True)
        ask(port, "POST", f"/projects/{project}/pastes", {"text": "Later."}, **keys)
    subprocess.run([*words, "restore", archive, "--data", tmp_path / "again"], check=True)
    with serving(tmp_path / "again") as (_, port, link):
        assert link == ""
        assert ask(port, "GET", "/me", Cookie=me["cookie"])["status"] == 401
        me = ask(port, "POST", "/session", {"name": "admin", "password": "correct horse battery"})
        found = ask(port, "GET", f"/projects/{project}/documents", Cookie=me["cookie"])["documents"]
        assert [one["document"] for one in found] == [doc]


def test_without_the_extra_the_command_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "linnet.serve.server", raising=False)
    done = CliRunner().invoke(importlib.import_module("linnet.cli.main").app, ["serve", "--data", str(tmp_path)])
    assert how_to_install("serve") in str(done.exception)


@pytest.mark.parametrize("module", ["sqlalchemy", "fastapi", "anyio"])
def test_without_the_extra_at_all(tmp_path: Path, module: str) -> None:
    hidden = f"import sys; sys.modules[{module!r}] = None; from linnet.cli.main import run; run()"
    command = [sys.executable, "-c", hidden, "serve", "--data", str(tmp_path / "new")]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"needs {module}, which is not installed: {how_to_install('serve')}" in done.stderr


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        ("127.0.0.1", "port {} of 127.0.0.1 is in use: choose another one with --port"),
        ("256.1.1.1", "there is no address '256.1.1.1': choose another one with --host"),
    ],
)
def test_where_it_cannot_listen_nothing_is_made_or_started(tmp_path: Path, host: str, problem: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        with pytest.raises(LinnetError, match=re.escape(problem.format(port))):
            serve("--data", str(tmp_path / "site"), "--host", host, "--port", port)
    assert list(tmp_path.iterdir()) == []


def test_addresses_that_this_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(host: str, port: int, **_: Any) -> list[Any]:
        addresses = ["192.0.2.1", "127.0.0.1"] if host == "both" else ["192.0.2.1"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    def create(address: tuple[str, int], **more: Any) -> socket.socket:
        if address[0] == "192.0.2.1":
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return made(address, **more)

    made = socket.create_server
    monkeypatch.setattr(socket, "getaddrinfo", named)
    monkeypatch.setattr(socket, "create_server", create)
    with bind("both", 0) as sockets:
        assert [one.getsockname()[0] for one in sockets] == ["127.0.0.1"]
    with pytest.raises(LinnetError, match="one is no address of this machine"), bind("one", 0):
        pass


def test_a_file_is_no_folder_for_a_workbench(tmp_path: Path) -> None:
    (tmp_path / "notes.tsv").write_text("x")
    with pytest.raises(LinnetError, match=r"notes\.tsv is a file: name the folder of a workbench"):
        serve("--data", str(tmp_path / "notes.tsv"), "--port", "0")


@pytest.mark.slow
def test_a_demo_is_under_the_home_and_asks_for_no_password(
    tmp_path: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_hpo(kb, tmp_path)
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    for _ in range(2):  # the second start finds what the first one has made
        with serving(None, "--demo") as (process, port, link):
            assert link == ""
            assert ask(port, "GET", "/ping")["demo"] is True
            me = ask(port, "POST", "/session/demo", {})
            [project] = ask(port, "GET", "/projects", Cookie=me["cookie"])
            assert project["name"] == "Demo"
            evil = ask(port, "POST", "/session/demo", {}, Host=f"evil.example:{port}")
            assert evil["type"] == "/problems/host"
            path, until = f"/projects/{project['project']}/jobs", time.monotonic() + 60
            while ask(port, "GET", path, Cookie=me["cookie"])[0]["state"] != "succeeded" and time.monotonic() < until:
                time.sleep(0.1)
            assert [one["state"] for one in ask(port, "GET", path, Cookie=me["cookie"])] == ["succeeded"]
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert process.stdout is not None
            assert "the demo asks for no password" in process.stdout.read()
    assert (tmp_path / "demo-workbench").stat().st_mode & 0o077 == 0
    with serving(tmp_path / "demo-workbench") as (_, port, link):  # it becomes one of people with passwords
        assert ask(port, "POST", "/session/demo", {})["status"] == 404
        assert (
            ask(port, "POST", "/session/password", {"link": link, "password": "correct horse battery"})["name"] == "you"
        )
    with pytest.raises(LinnetError, match="start it without --demo"):
        serve("--demo", "--port", "0")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--host", "0.0.0.0"), "--demo asks for no password, so it listens at this machine alone: leave out --host"),
        (("--oidc", "provider.toml"), "--demo has one user, who needs no password: leave out --oidc"),
        (("backup", "x"), "options stand behind the command: linnet serve backup"),
    ],
)
def test_a_demo_is_for_this_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], problem: str
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    with pytest.raises(LinnetError, match=re.escape(problem)):
        serve("--demo", *(() if "backup" in options else ("--port", "0")), *options)
    assert list(tmp_path.iterdir()) == []


def serve(*options: str) -> None:
    """Run the command in this process, where it is to fail."""
    done = CliRunner().invoke(importlib.import_module("linnet.cli.main").app, ["serve", *options])
    assert done.exception is not None
    raise done.exception


@pytest.mark.slow
def test_a_worker_beside_the_server_works_and_goes_with_it(tmp_path: Path) -> None:
    with serving(tmp_path / "site", "--worker") as (process, port, link):
        me = ask(port, "POST", "/session/password", {"link": link, "password": "correct horse battery"})
        keys = {"Cookie": me["cookie"], "X-CSRF-Token": me["csrf"]}
        project = ask(port, "POST", "/projects", {"name": "notes"}, **keys)["project"]
        ask(port, "POST", f"/projects/{project}/pastes", {"text": "Fits."}, **keys)
        first = worker_of(process.pid)
        os.kill(first, signal.SIGKILL)
        job = ask(port, "POST", f"/projects/{project}/jobs", {"kind": "export"}, **keys)["id"]
        until = time.monotonic() + 60
        while ask(port, "GET", f"/jobs/{job}", **keys)["state"] != "succeeded" and time.monotonic() < until:
            time.sleep(0.1)
        assert ask(port, "GET", f"/jobs/{job}", **keys)["state"] == "succeeded"
        second = worker_of(process.pid)
        assert second != first
        process.kill()  # without a chance to say so
        process.wait()
        while Path(f"/proc/{second}/exe").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{second}/exe").exists()


def worker_of(server: int) -> int:
    """Return the process that a server has started."""
    until = time.monotonic() + 60
    children = Path(f"/proc/{server}/task")
    while time.monotonic() < until:
        found = [pid for task in children.iterdir() for pid in (task / "children").read_text().split()]
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError("no worker was started")


def test_no_part_of_an_answer_waits_for_word_of_another() -> None:
    with bind("127.0.0.1", 0) as [listening], socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
