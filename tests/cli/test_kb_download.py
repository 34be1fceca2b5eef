from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnet.cli import kb_download
from tests.web_server import Server, file, serving, status

from .conftest import Run

OBO = b"format-version: 1.2\n\n[Term]\nid: DOID:4\nname: disease\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("http_proxy", raising=False)
    with serving() as made:
        monkeypatch.setenv("LINNET_MIRROR", made.url(""))
        yield made


def test_download_and_build(run: Run, home: Path, server: Server) -> None:
    server.say("/doid.obo", file(OBO))
    done = run("kb", "build", "--from", "doid", "--download")
    assert done.code == 0, done.err
    assert "1 concepts" in done.out
    assert "doid.obo: 0.0 of 0.0 MB fetched" in done.err
    assert (home / "kb" / "doid.kb").is_file()
    info = run("kb", "info", "doid").out
    assert server.url("/doid.obo") in info
    assert "CC0" in info
    done = run("kb", "build", "--from", "doid", "--download", "-q", "-o", "again")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (home / "kb" / "again.kb").is_file()


def test_another_address_and_a_checksum_that_differs(run: Run, home: Path, server: Server) -> None:
    url = server.say("/somewhere/do.obo", file(OBO))
    assert run("kb", "build", "--from", "doid", "--download", "--url", url).code == 0
    before = (home / "kb" / "doid.kb").read_bytes()
    done = run("kb", "build", "--from", "doid", "--download", "--url", url, "--sha256", "0" * 64)
    assert done.code == 2
    assert "expected 0000" in done.err
    assert (home / "kb" / "doid.kb").read_bytes() == before


def test_a_page_instead_of_data(run: Run, home: Path, server: Server) -> None:
    server.say("/CTD_diseases.tsv.gz", status(200, b"<!DOCTYPE html>captcha"))
    done = run("kb", "build", "--from", "medic", "--download")
    assert done.code == 2
    assert "https://ctdbase.org/downloads/" in done.err
    assert "linnet kb build CTD_diseases.tsv.gz --from ctd -o medic" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--download",), "name what to download"),
        (("--from", "umls", "--download"), "umls cannot be downloaded"),
        (("mine.obo", "--from", "doid", "--download"), "leave out mine.obo"),
        (("--from", "doid", "--from", "hpo", "--download", "--url", "https://example.org/x"), "work with one --from"),
        (("--from", "doid", "--from", "hpo", "--download"), "no such file"),
        (("--from", "hpo", "--url", "https://example.org/hp.obo"), "need --download"),
        (("--from", "hpo", "--sha256", "0" * 64), "need --download"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Run, home: Path, server: Server, arguments: tuple[str, ...], said: str
) -> None:
    done = run("kb", "build", *arguments)
    assert done.code == 2
    assert said in done.err


def test_nothing_is_asked_without_download(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", never)
    monkeypatch.setattr(socket, "getaddrinfo", never)
    (tmp_path / "doid.obo").write_bytes(OBO)
    assert run("kb", "build", tmp_path / "doid.obo", "--from", "obo", "-o", "mine").code == 0


def test_bars_on_a_terminal(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    server.say("/doid.obo", file(OBO))
    [source] = kb_download.download_sources(["doid"], [], urls=[], sha256=[], quiet=False)
    assert source.path == tmp_path / "downloads" / "doid.obo"
