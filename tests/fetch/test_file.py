from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import sqlite3
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web_server import Answer, Handler, Server, file, serving, status

from linnet import __version__
from linnet.errors import LinnetError
from linnet.fetch.file import Fetched, fetch
from linnet.fetch.web import Limits, WebError, check_url

BODY = bytes(range(256)) * 4000  # a megabyte that holds every byte
HASTY = Limits(timeout=5, tries=3, pause=0, queue=0.5)
NO_RETRY = Limits(timeout=5, tries=1)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "downloads" / "hp.obo"


def names(path: Path) -> set[str]:
    return {item.name for item in path.parent.iterdir()} - {f".{path.name}.lock"}


def done(path: Path) -> set[str]:
    return {path.name, f".{path.name}.json"}


# --- the good ways ---------------------------------------------------------------------------------------------------


def test_a_file_is_fetched_and_described(server: Server, path: Path) -> None:
    url = server.say("/hp.obo", file(BODY, modified="Mon, 02 Nov 2026 10:00:00 GMT"))
    seen: list[tuple[int, int | None]] = []
    got = fetch(url, path, progress=lambda there, total: seen.append((there, total)))
    assert path.read_bytes() == BODY
    assert got == Fetched(path, url, hashlib.sha256(BODY).hexdigest(), got.at, '"one"', "Mon, 02 Nov 2026 10:00:00 GMT")
    assert got.fresh
    assert names(path) == done(path)
    assert seen[-1] == (len(BODY), len(BODY))
    assert [there for there, _ in seen] == sorted(there for there, _ in seen)
    assert server.heads("User-Agent") == [f"linnet/{__version__}"]
    assert server.heads("Accept-Encoding") == ["identity"]


def test_what_has_not_changed_is_not_fetched_again(server: Server, path: Path) -> None:
    for number, state in enumerate(({"etag": '"a"'}, {"etag": "", "modified": "Mon, 02 Nov 2026 10:00:00 GMT"})):
        target = path.with_name(f"{number}.obo")
        url = server.say(f"/{number}", file(BODY, **state))  # type: ignore[arg-type]
        first = fetch(url, target)
        before = target.stat().st_mtime_ns
        again = fetch(url, target)
        assert again == first
        assert not again.fresh
        assert target.stat().st_mtime_ns == before


def test_what_has_changed_is(server: Server, path: Path) -> None:
    url = server.say("/hp.obo", file(b"old", etag='"old"'), file(b"new", etag='"new"'))
    assert fetch(url, path).sha256 != fetch(url, path).sha256
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path, note: path.write_bytes(b"changed by hand"),
        lambda path, note: note.unlink(),
        lambda path, note: note.write_text("[" * 100_000),
        lambda path, note: note.write_bytes(b"\xff\xfe{}"),
        lambda path, note: note.write_text(json.dumps({**json.loads(note.read_text()), "etag": '"x"\r\nEvil: 1'})),
        lambda path, note: note.write_text(json.dumps({**json.loads(note.read_text()), "sha256": 7})),
    ],
    ids=["file", "no note", "deep note", "binary note", "header injected", "wrong type"],
)
def test_a_file_changed_by_hand_is_fetched_anew(server: Server, path: Path, spoil: Any) -> None:
    url = server.say("/hp.obo", file(BODY))
    fetch(url, path)
    spoil(path, path.with_name(".hp.obo.json"))
    fetch(url, path)
    assert path.read_bytes() == BODY
    assert server.heads("If-None-Match")[1] is None
    assert server.heads("Evil") == [None, None]


def test_another_address_is_another_file(server: Server, path: Path) -> None:
    fetch(server.say("/a/hp.obo", file(b"a")), path)
    path.chmod(0o600)
    fetch(server.say("/b/hp.obo", file(b"b")), path)
    assert path.read_bytes() == b"b"
    assert path.stat().st_mode & 0o777 == 0o600, "who may read it stays as it was"


def test_redirects_and_proxies(server: Server, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.say("/moved/hp.obo", file(BODY))
    url = server.say("/hp.obo", status(302, b"gone there", Location="/moved/hp.obo"))
    assert fetch(url, path).url == url
    assert path.read_bytes() == BODY
    monkeypatch.setenv("http_proxy", server.url(""))
    server.say("http://terms.example.org/doid.obo", file(b"by proxy"))
    fetch("http://terms.example.org/doid.obo", path)
    assert path.read_bytes() == b"by proxy"


def test_gzip_stays_as_served(server: Server, path: Path) -> None:
    def answer(handler: Handler) -> None:
        handler.begin(200, 5, Content_Encoding="gzip")
        handler.wfile.write(b"\x1f\x8b\x08\x00\x00")

    fetch(server.say("/hp.obo", answer), path)
    assert path.read_bytes() == b"\x1f\x8b\x08\x00\x00"


def test_no_length_and_chunks(server: Server, path: Path) -> None:
    def endless(handler: Handler) -> None:
        handler.begin(200, None)
        handler.wfile.write(b"until the end")

    def chunks(handler: Handler) -> None:
        handler.begin(200, None, Transfer_Encoding="chunked")
        handler.wfile.write(b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")

    totals: list[int | None] = []
    fetch(server.say("/a", endless), path, progress=lambda _, total: totals.append(total))
    assert path.read_bytes() == b"until the end"
    assert set(totals) == {None}
    fetch(server.say("/b", chunks), path)
    assert path.read_bytes() == b"one two"


def test_an_empty_file_is_a_file(server: Server, path: Path) -> None:
    fetch(server.say("/a", file(b"")), path)
    assert path.read_bytes() == b""


# --- broken off and taken up again -----------------------------------------------------------------------------------


def test_the_next_call_goes_on(server: Server, path: Path) -> None:
    url = server.say("/hp.obo", file(BODY, cut=300_000), file(BODY))
    with pytest.raises(WebError, match=r"ended after 300,000 of 1,024,000 bytes; gave up after 1 tries; 300,000 bytes"):
        fetch(url, path, limits=NO_RETRY)
    assert names(path) == {".hp.obo.part", ".hp.obo.part.json"}
    seen: list[int] = []
    got = fetch(url, path, progress=lambda there, _: seen.append(there))
    assert path.read_bytes() == BODY
    assert server.heads("Range") == [None, "bytes=300000-"]
    assert server.heads("If-Range") == [None, '"one"']
    assert min(seen) > 300_000
    assert got.etag == '"one"'
    assert names(path) == done(path)


def test_one_call_tries_several_times(server: Server, path: Path) -> None:
    url = server.say("/hp.obo", file(BODY, cut=1000), file(BODY, cut=1000), file(BODY))
    fetch(url, path, limits=HASTY)
    assert path.read_bytes() == BODY
    assert server.heads("Range") == [None, "bytes=1000-", "bytes=2000-"]


def test_a_connection_cut_within_a_chunk_goes_on(server: Server, path: Path) -> None:
    def chunks(handler: Handler) -> None:
        handler.begin(200, None, Transfer_Encoding="chunked", ETag='"one"')
        handler.wfile.write(b"400\r\n" + BODY[:1000])

    fetch(server.say("/hp.obo", chunks, file(BODY)), path, limits=HASTY)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize(
    "second",
    [
        file(BODY, ranges=False),
        file(BODY, etag='"two"'),
        file(BODY, etag="", modified="Mon, 02 Nov 2026 10:00:00 GMT"),
    ],
    ids=["server without ranges", "file changed", "no etag any more"],
)
def test_where_going_on_is_impossible_it_begins_anew(server: Server, path: Path, second: Answer) -> None:
    url = server.say("/hp.obo", file(b"something quite different", cut=9), second)
    fetch(url, path, limits=HASTY)
    assert path.read_bytes() == BODY


def wrong_range(handler: Handler) -> None:
    handler.begin(206, 3, Content_Range="bytes 0-2/3")
    handler.wfile.write(b"abc")


def other_file(handler: Handler) -> None:
    handler.begin(206, 3, Content_Range="bytes 9-11/12", ETag='"two"')
    handler.wfile.write(b"abc")


def longer_file(handler: Handler) -> None:
    handler.begin(206, 3, Content_Range=f"bytes 9-{len(BODY) + 9}/{len(BODY) + 10}")
    handler.wfile.write(b"abc")


@pytest.mark.parametrize(
    "second",
    [
        status(416, Content_Range="bytes */3"),
        status(416, Content_Range="bytes */9"),
        wrong_range,
        other_file,
        longer_file,
        status(206, b"abc", Content_Range="nonsense"),
        status(206, b"abc", Content_Range=f"bytes {'9' * 5000}-{'9' * 5000}/{'9' * 5000}"),
    ],
    ids=[
        "416",
        "whole, but shorter than it was",
        "another range",
        "another file's range",
        "a longer file's range",
        "unreadable range",
        "endless numbers",
    ],
)
def test_ranges_that_do_not_fit_begin_anew(server: Server, path: Path, second: Answer) -> None:
    url = server.say("/hp.obo", file(BODY, cut=9), second, file(BODY))
    fetch(url, path, limits=HASTY)
    assert path.read_bytes() == BODY
    assert server.heads("Range") == [None, "bytes=9-", None]


def test_a_range_of_unknown_whole(server: Server, path: Path) -> None:
    def rest(handler: Handler) -> None:
        handler.begin(206, 3, Content_Range="bytes 9-11/*")
        handler.wfile.write(b"abc")

    fetch(server.say("/hp.obo", file(b"123456789abc", cut=9), rest), path, limits=HASTY)
    assert path.read_bytes() == b"123456789abc"


def test_a_range_of_unknown_whole_that_breaks_off(server: Server, path: Path) -> None:
    def chunks(handler: Handler) -> None:
        handler.begin(200, None, Transfer_Encoding="chunked", ETag='"one"')
        handler.wfile.write(b"400\r\n" + BODY[:9])

    def rest(handler: Handler) -> None:
        handler.begin(206, None, Content_Range=f"bytes 9-{len(BODY) - 1}/*", Transfer_Encoding="chunked")
        handler.wfile.write(b"3\r\n" + BODY[9:12] + b"\r\n0\r\n\r\n")

    for number, first in enumerate((file(BODY, cut=9), chunks)):
        fetch(server.say(f"/{number}", first, rest, file(BODY)), path, limits=HASTY)
        assert path.read_bytes() == BODY
    assert server.heads("Range") == [None, "bytes=9-", "bytes=12-"] * 2


def test_a_part_that_is_whole_is_taken(server: Server, path: Path) -> None:
    url = server.say("/hp.obo", file(BODY))
    path.parent.mkdir()
    path.with_name(".hp.obo.part").write_bytes(BODY)
    note = {"url": url, "etag": '"one"', "size": str(len(BODY))}
    path.with_name(".hp.obo.part.json").write_text(json.dumps(note))
    assert fetch(url, path).etag == '"one"'
    assert path.read_bytes() == BODY
    assert server.asked == [], "nothing is sent twice"
    assert names(path) == done(path)


@pytest.mark.parametrize("state", [{"etag": 'W/"weak"'}, {"etag": ""}])
def test_without_a_firm_state_nothing_is_joined(server: Server, path: Path, state: dict[str, str]) -> None:
    url = server.say("/hp.obo", file(BODY, cut=9, **state), file(BODY, **state))  # type: ignore[arg-type]
    with pytest.raises(WebError, match=r"gave up after 1 tries$"):
        fetch(url, path, limits=NO_RETRY)
    assert names(path) == set()
    fetch(url, path)
    assert server.heads("Range") == [None, None]
    assert path.read_bytes() == BODY


def test_a_date_alone_is_a_state(server: Server, path: Path) -> None:
    state = {"etag": 'W/"weak"', "modified": "Mon, 02 Nov 2026 10:00:00 GMT"}
    url = server.say("/hp.obo", file(BODY, cut=9, **state), file(BODY, **state))  # type: ignore[arg-type]
    fetch(url, path, limits=HASTY)
    assert server.heads("If-Range") == [None, "Mon, 02 Nov 2026 10:00:00 GMT"]
    assert path.read_bytes() == BODY


def test_a_part_of_another_address_is_not_used(server: Server, path: Path) -> None:
    with pytest.raises(WebError):
        fetch(server.say("/a", file(b"aaaaaaaaaa", cut=5)), path, limits=NO_RETRY)
    fetch(server.say("/b", file(BODY)), path)
    assert path.read_bytes() == BODY
    assert server.heads("Range") == [None, None]


@settings(max_examples=15)
@given(body=st.binary(min_size=1, max_size=5000), cuts=st.lists(st.integers(1, 2000), max_size=6))
def test_however_often_it_breaks_off_the_bytes_are_right(body: bytes, cuts: list[int], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("cuts")
    with serving() as server:
        url = server.say("/x", *[file(body, cut=cut) for cut in cuts], file(body))
        got = fetch(url, folder / "x", limits=Limits(timeout=5, tries=len(cuts) + 1, pause=0))
    assert (folder / "x").read_bytes() == body
    assert got.sha256 == hashlib.sha256(body).hexdigest()


# --- faults of the network -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status(404), r"there is no such file \(404 Not Found\)"),
        (status(410), "there is no such file"),
        (status(403), r"does not give it to a program \(403 Forbidden\)"),
        (status(500), r"busy or broken \(500 Internal Server Error\); gave up after 3 tries"),
        (status(418), "answered 418"),
        (status(204), "answered 204"),
        (status(429, Retry_After="3600"), "asks to wait 3,600 seconds"),
        (status(429, Retry_After="9" * 5000), "asks to wait 999,999,999,999 seconds"),
        (status(503, Retry_After="0"), "gave up after 3 tries"),
        (status(503, Retry_After="Mon, 02 Nov 2099 10:00:00 GMT"), "gave up after 3 tries"),
        (status(304), "unchanged which it never gave"),
        (status(200, b"\n <!DOCTYPE html><title>Are you a robot?"), "a web page instead of the file"),
        (status(200, b"\xef\xbb\xbf<HTML>"), "a web page instead of the file"),
        (status(302, Location="file:///etc/passwd"), "redirects to 'file:///etc/passwd', which is not followed"),
        (status(301, Location="ftp://example.org/x"), "not followed"),
        (status(307, Location="data:text/plain,x"), "not followed"),
        (status(308, Location="http://[::1"), "not followed"),
        (
            status(302, Location="http://user:secret@127.0.0.1/"),
            r"to 'http://\*\*\*@127.0.0.1/', which is not followed",
        ),
        (status(302, Location="http://a..b/"), "not followed"),
        (status(302), "redirects to '', which is not followed"),
        (status(302, Location="/hp.obo"), "redirects in a circle or too often"),
    ],
)
def test_what_servers_say_is_explained(server: Server, path: Path, answer: Answer, said: str) -> None:
    with pytest.raises(WebError, match=said) as caught:
        fetch(server.say("/hp.obo", answer), path, limits=HASTY)
    assert str(caught.value).startswith(server.url("/hp.obo"))
    assert caught.value.missing == ("no such file" in said)
    assert not path.exists()


def test_a_redirect_with_blanks_and_letters_outside_ascii(server: Server, path: Path) -> None:
    raw = "/für alle/a%20b.obo".encode().decode("latin-1")  # as http.server writes headers
    server.say("/f%C3%BCr%20alle/a%20b.obo", file(BODY))
    assert fetch(server.say("/old", status(302, Location=raw)), path).path.read_bytes() == BODY


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "0.0.0.0"])
def test_the_web_leads_nobody_to_this_machine(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    near = server.url("/private").replace("127.0.0.1", host)
    server.say("/private", file(BODY))
    server.say(near, file(BODY))  # as a proxy would be asked for it
    monkeypatch.setenv("http_proxy", server.url(""))
    server.say("http://terms.example.org/hp.obo", status(302, Location=near))
    with pytest.raises(WebError, match=rf"redirects to {near} on this machine or its own link: not followed"):
        fetch("http://terms.example.org/hp.obo", path, limits=HASTY)
    assert not path.exists()


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1%eth0", "::ffff:127.0.0.1", "::ffff:169.254.1.1"])
def test_what_is_near(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    import http.client
    import io
    import urllib.request

    from linnet.fetch.web import _Redirects

    def found(host: str, *_: object, **__: object) -> list[Any]:
        return [(0, 0, 0, "", ("203.0.113.7" if host == "example.org" else address, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    headers = http.client.HTTPMessage()
    headers["Location"] = "http://names.example.org/hp.obo"
    request = urllib.request.Request("http://example.org/hp.obo")
    with pytest.raises(WebError, match=r"on this machine or its own link: not followed"):
        _Redirects().http_error_302(request, io.BytesIO(), 302, "Found", headers)


def test_a_chain_of_redirects_ends(server: Server, path: Path) -> None:
    for number in range(20):
        server.say(f"/{number}", status(302, Location=f"/{number + 1}"))
    with pytest.raises(WebError, match="too often"):
        fetch(server.url("/0"), path)
    assert len(server.asked) < 12


def test_a_server_is_waited_for_as_long_as_it_asks(server: Server, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("linnet.fetch.file.time.sleep", slept.append)
    url = server.say("/hp.obo", status(429, Retry_After="7"), status(503), status(503), file(BODY))
    fetch(url, path, limits=Limits(timeout=5))
    assert slept == [7, 2, 4]


def slow(handler: Handler) -> None:
    handler.begin(200, 10, ETag='"one"')
    handler.wfile.write(b"12345")
    handler.wfile.flush()
    time.sleep(1)


def test_silence_ends_and_is_resumed(server: Server, path: Path) -> None:
    url = server.say("/hp.obo", slow, file(b"1234567890"))
    with pytest.raises(WebError, match=r"no answer for 0\.2 seconds.* 5 bytes are kept"):
        fetch(url, path, limits=Limits(timeout=0.2, tries=1))
    fetch(url, path)
    assert path.read_bytes() == b"1234567890"


def test_a_trickle_ends_and_is_resumed(server: Server, path: Path) -> None:
    def trickle(handler: Handler) -> None:
        handler.begin(200, len(BODY), ETag='"one"')
        for place in range(100):
            handler.wfile.write(BODY[place : place + 1])
            handler.wfile.flush()
            time.sleep(0.02)

    url = server.say("/hp.obo", trickle, file(BODY))
    with pytest.raises(WebError, match=r"hardly sends anything any more \([0-9]+ bytes in 0 seconds\); .*are kept"):
        fetch(url, path, limits=Limits(timeout=5, tries=1, crawl=0.1))
    fetch(url, path)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize(
    "page",
    [b"<!doctype html><title>Log in</title>", b"<?xml version='1.0'?>\n<html><head/></html>", b"\n <HEAD>" * 100],
)
def test_a_page_is_known_however_it_is_cut(server: Server, path: Path, page: bytes) -> None:
    def bytewise(handler: Handler) -> None:
        handler.begin(200, None, Transfer_Encoding="chunked", ETag='"one"')
        for place in range(len(page)):
            handler.wfile.write(b"1\r\n" + page[place : place + 1] + b"\r\n")
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")

    with pytest.raises(WebError, match="a web page instead of the file"):
        fetch(server.say("/a", bytewise), path)
    assert names(path) == set(), "nothing of it can be gone on with"
    with pytest.raises(WebError, match="a web page instead of the file"):
        fetch(server.say("/b", file(page, cut=3), file(page)), path, limits=HASTY)


def drip(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(100):
        handler.wfile.write(b"X")
        handler.wfile.flush()
        time.sleep(0.02)


def flood_of_answers(handler: Handler) -> None:
    handler.wfile.write((b"HTTP/1.1 100 Continue\r\nX: " + b"x" * 60_000 + b"\r\n\r\n") * 5)


def flood_of_trailers(handler: Handler) -> None:
    handler.begin(200, None, Transfer_Encoding="chunked")
    handler.wfile.write(b"1\r\na\r\n0\r\n" + (b"X: " + b"x" * 60_000 + b"\r\n") * 5)


@pytest.mark.parametrize("answer", [drip, flood_of_answers, flood_of_trailers])
def test_headers_without_end(server: Server, path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    monkeypatch.setattr("linnet.fetch.web.HEAD_SECONDS", 0.2)
    with pytest.raises(WebError, match=r"its headers do not end: [0-9,]+ bytes in [0-9]+ seconds"):
        fetch(server.say("/hp.obo", answer), path, limits=NO_RETRY)


def garbage(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0-OpenSSH\r\n")


def hang_up(handler: Handler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("answer", [garbage, hang_up])
def test_no_web_server(server: Server, path: Path, answer: Answer) -> None:
    with pytest.raises(WebError, match=r"the connection was cut \(.+\); gave up after 3 tries"):
        fetch(server.say("/hp.obo", answer), path, limits=HASTY)


def test_refused_unknown_and_insecure(server: Server, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}/hp.obo"
    with pytest.raises(WebError, match=r"refuses the connection; is the server running"):
        fetch(closed, path)
    with pytest.raises(WebError, match="no secure connection"):
        fetch(server.url("/hp.obo").replace("http:", "https:"), path)

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(WebError, match=r"the host nowhere.invalid is not found"):
        fetch("https://nowhere.invalid/hp.obo", path)


def test_the_network_unreachable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", unreachable)
    with pytest.raises(WebError, match=r"cannot be reached .Network is unreachable.; is there a network"):
        fetch("http://127.0.0.1/hp.obo", path)


def test_a_certificate_nobody_trusts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def untrusted(*_: object, **__: object) -> None:
        error = ssl.SSLCertVerificationError(1, "certificate verify failed")
        error.verify_message = "self-signed certificate"
        raise error

    monkeypatch.setattr(socket, "create_connection", untrusted)
    with pytest.raises(
        WebError, match=r"not trusted \(self-signed certificate\); where a proxy opens TLS, set SSL_CERT_"
    ):
        fetch("https://127.0.0.1/hp.obo", path)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/hp.obo",
        "data:,x",
        "hp.obo",
        "",
        "https://",
        "https://exa mple.org/x",
        "https://example.org/ä",
        "https://example.org:99999/x",
        "https://[::1/x",
        "https://example.org/\r\nEvil: 1",
        "https://user:secret@example.org/x",
        "ftp://user:secret@example.org/x",
        "https://user:secret@example.org/a b",
        "https://user:se/secret@example.org/x",
        "https://user:secret@example.org:99999/x",
        "https://user:secret@exa\u2100mple.org/x",
        "https:user:secret@example.org",
        "http://a..b/x",
        "https://.example.org/x",
        f"https://{'a' * 64}.org/x",
    ],
)
def test_addresses_that_are_none(path: Path, url: str) -> None:
    with pytest.raises(LinnetError) as caught:
        fetch(url, path)
    assert "secret" not in str(caught.value)
    assert not path.parent.exists()


@given(st.text() | st.text().map("https://".__add__))
def test_any_text_as_an_address_is_an_address_or_an_error(text: str) -> None:
    try:
        assert check_url(text) == text
    except LinnetError:
        return
    assert text.startswith("http") or text.lower().startswith("http")


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "Https"])
def test_from_https_never_back_to_http(scheme: str) -> None:
    import http.client
    import io
    import urllib.request

    from linnet.fetch.web import _Redirects

    headers = http.client.HTTPMessage()
    headers["Location"] = "http://example.org/hp.obo"
    request = urllib.request.Request(f"{scheme}://example.org/hp.obo")
    with pytest.raises(WebError, match=r"from https to http://example.org/hp.obo"):
        _Redirects().http_error_302(request, io.BytesIO(), 302, "Found", headers)


@pytest.mark.parametrize(
    "proxy",
    [
        "http://user:secret@a..b:3128",
        "http://user:secret@127.0.0.1:secret",
        "http:/user:secret@127.0.0.1:3128",
        "http://user:secret@127.0.0.1:1",
        "user:secret@127.0.0.1:1",
    ],
)
def test_proxies_that_are_none(path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(WebError, match=r"the address of the proxy .* is none|refuses the connection") as caught:
        fetch("http://example.org/hp.obo", path)
    assert "secret" not in str(caught.value)


# --- checks, sizes, disks --------------------------------------------------------------------------------------------


def test_checksums(server: Server, path: Path) -> None:
    right, wrong = hashlib.sha256(BODY).hexdigest(), "0" * 64
    url = server.say("/hp.obo", file(b"old", etag='"old"'), file(BODY))
    fetch(url, path)
    with pytest.raises(LinnetError, match=f"has the sha256 {right}, expected {wrong}; it was set aside as .*rejected"):
        fetch(url, path, sha256=wrong)
    assert path.read_bytes() == b"old"
    assert names(path) == {*done(path), "hp.obo.rejected"}
    fetch(url, path, sha256=right.upper())
    assert path.read_bytes() == BODY
    count = len(server.asked)
    assert not fetch(url, path, sha256=right).fresh
    assert len(server.asked) == count, "what is there need not be asked for"
    with pytest.raises(LinnetError, match="expected 64 hexadecimal digits"):
        fetch(url, path, sha256="d41d8cd98f00b204e9800998ecf8427e")


def test_a_check_sets_aside(server: Server, path: Path) -> None:
    def check(part: Path) -> None:
        raise LinnetError(f"is {part.read_text()}")

    fetch(server.say("/a", file(b"good")), path)
    with pytest.raises(WebError, match="/b: is bad; it was set aside as"):
        fetch(server.say("/b", file(b"bad")), path, check=check)
    assert path.read_bytes() == b"good"


def test_too_large(server: Server, path: Path) -> None:
    def unsaid(handler: Handler) -> None:
        handler.begin(200, None, ETag='"one"')
        handler.wfile.write(BODY)

    limits = Limits(timeout=5, size=1000)
    with pytest.raises(WebError, match=r"has 1,024,000 bytes, more than the limit of 1,000"):
        fetch(server.say("/a", file(BODY)), path, limits=limits)
    with pytest.raises(WebError, match="is larger than the limit of 1,000 bytes"):
        fetch(server.say("/b", unsaid), path, limits=limits)
    assert names(path) == set()
    with pytest.raises(LinnetError, match="at least one try"):
        fetch(server.url("/a"), path, limits=Limits(tries=0))


def test_a_full_disk_keeps_what_came(server: Server, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    fetch(server.say("/old", file(b"old")), path)
    url = server.say("/hp.obo", file(BODY))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LinnetError, match=r"no space left in .*goes on where it stopped"):
            fetch(url, path)
    assert path.read_bytes() == b"old"
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 5}))
        with pytest.raises(LinnetError, match=r"no space left in .* for 1,024,000 bytes"):
            fetch(server.say("/more", file(BODY)), path)


def test_folders_that_take_nothing(server: Server, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.say("/hp.obo", file(BODY))
    path.parent.write_text("a file")
    with pytest.raises(LinnetError, match="set LINNET_HOME"):
        fetch(url, path)
    path.parent.unlink()
    path.mkdir(parents=True)
    with pytest.raises(LinnetError, match=r"hp\.obo: cannot be written .Is a directory.; set LINNET_HOME"):
        fetch(url, path)
    path.with_name(".x.lock").mkdir()
    with pytest.raises(LinnetError, match="LINNET_HOME"):
        fetch(url, path.with_name("x"))


# --- two at once -----------------------------------------------------------------------------------------------------


def test_two_at_once_fetch_it_once(server: Server, path: Path) -> None:
    url = server.say("/hp.obo", file(BODY))
    found: list[Fetched] = []
    threads = [threading.Thread(target=lambda: found.append(fetch(url, path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == BODY
    assert sorted(got.fresh for got in found) == [False, False, False, True]
    assert names(path) == done(path)


def test_who_waits_too_long_is_told(server: Server, path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path.with_name(".hp.obo.lock"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    url = server.say("/hp.obo", file(BODY))
    with pytest.raises(LinnetError, match="another process is still fetching it"):
        fetch(url, path, limits=HASTY)
    other.close()  # as the system does when a process ends, however it ends
    fetch(url, path, limits=HASTY)


def test_a_lock_file_that_is_none(server: Server, path: Path) -> None:
    path.parent.mkdir()
    path.with_name(".hp.obo.lock").write_text("not SQLite " * 100)
    with pytest.raises(LinnetError, match="cannot be locked"):
        fetch(server.say("/hp.obo", file(BODY)), path)


def test_ctrl_c_keeps_what_came(server: Server, path: Path) -> None:
    def stop(_there: int, _total: int | None) -> None:
        raise KeyboardInterrupt

    url = server.say("/hp.obo", file(BODY))
    with pytest.raises(KeyboardInterrupt):
        fetch(url, path, progress=stop)
    assert path.with_name(".hp.obo.part").stat().st_size > 0
    fetch(url, path)
    assert path.read_bytes() == BODY
    assert server.heads("Range")[1] is not None
