"""Who is let in."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.errors import LinnetError
from linnet.serve.keys import read_keys
from tests.serve.conftest import Made

KEY, OTHER = "0123456789abcdef-one", "0123456789abcdef-two"


def test_keys_of_a_file_and_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text(f"# of the wards\nward {KEY}\n\n{OTHER}\n")
    monkeypatch.setenv("LINNET_API_KEYS", "fedcba9876543210,  night fedcba9876543211")
    keys = read_keys(tmp_path / "keys")
    assert len(keys) == 4
    assert [keys.owner(key) for key in (KEY, OTHER, "fedcba9876543210", "fedcba9876543211", "")] == [
        "ward", "key 2", "key 3", "night", None,
    ]  # fmt: skip
    assert KEY not in repr(vars(keys))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no key"), ("short\n", "at least 16 characters"), (f"a b {KEY}\n", "a name before it or none"),
        (f"a {KEY}\na {OTHER}\n", "two keys of 'a'"), ("ä" * 20, "at least 16 characters"),
    ],
)  # fmt: skip
def test_files_that_hold_none(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "keys").write_text(content)
    with pytest.raises(LinnetError, match=said):
        read_keys(tmp_path / "keys")


def test_who_has_no_key_is_told_so(made: Made) -> None:
    client = made(keys=[KEY, OTHER])
    wrong: list[dict[bytes, bytes]] = [
        {}, {b"Authorization": b"Bearer x"}, {b"Authorization": b"Basic " + KEY.encode()}, {b"X-API-Key": b"\xc3\xa9"}
    ]  # fmt: skip
    for sent in wrong:
        answer = client.post("/link", json={"text": "Fits."}, headers=sent)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        told = client.get("/metrics", headers=sent)
        given = {b"Bearer x", b"\xc3\xa9"} & set(sent.values())
        assert (told.status_code, "none of the server's" in told.json()["detail"]) == (401, bool(given))
    for headers in ({"Authorization": f"Bearer {KEY}"}, {"X-API-Key": OTHER}):
        assert client.post("/link", json={"text": "Fits."}, headers=headers).status_code == 200
    assert client.get("/health").status_code == client.get("/openapi.json").status_code == 200


def test_without_keys_for_this_machine_alone(made: Made) -> None:
    client, open_one = made(), made(everybody=True)
    evil = {"Host": "evil.example"}
    refused = client.post("/link", json={"text": "Fits."}, headers=evil)
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/host")
    assert client.post("/link", json={"text": "Fits."}, headers={"Host": "127.0.0.1:80"}).status_code == 200
    assert open_one.post("/link", json={"text": "Fits."}, headers=evil).status_code == 200
